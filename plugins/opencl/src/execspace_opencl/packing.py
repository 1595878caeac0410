"""Text of the function that packs the arguments of a launch: no loop and no test at run time."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from execspace import HOST, ScalarType, ViewType
from execspace.contract.dtypes import dtype_of
from execspace_compiler.codegen.cfamily.entries import Field
from execspace_compiler.launch.arguments import (
    head_lines,
    large_text,
    names_used,
    overlap_text,
    range_lines,
    scratch_lines,
    shape_lines,
    units_text,
    value_texts,
)
from execspace_compiler.launch.device_text import DeviceText
from execspace_compiler.mapping.thread_blocks import Blocks
from execspace_compiler.passes.contiguous import Linear

from .memory import WORD, addresses
from .space import OpenCL


@dataclass(frozen=True)
class Text:
    """A function `call(bounds, args)`, and what it needs beside `launch`."""

    source: str
    scope: dict[str, Any]


MOST_UNITS = 1 << 31  # of the usual text of a GPU


def caller_text(
    text: DeviceText,
    space: OpenCL,
    watched: bool,
    disjoint: bool,
    blocks: Blocks | None,
    linear: Linear | None,
    scratch: bool,
    size_of_team: int = 1,
) -> Text:
    """The hot path of a launch: bounds and arguments to a packed record and buffers."""
    lowered, entry = text.lowered, text.entry
    spec = lowered.spec
    types = (*spec.arguments, *spec.out)
    lines = ["def call(bounds, args, launch=launch, pack=pack, refuse=refuse, limits=limits):"]
    lines += head_lines(lowered)
    size, narrow = "None", "False"
    if blocks is not None:
        lines += shape_lines(blocks)
        lines.append("    units = gx")
        size, narrow = "((gx * bx, gy * by, gz * bz), (bx, by, bz))", "not form & 1"
    else:
        lines.append(f"    units = {units_text(spec, text.order, space.flat)}")
        if space.flat:
            narrow = f"units < {MOST_UNITS}"
    lines += range_lines(text, linear)
    if spec.policy.kind == "team":
        lines += scratch_lines(scratch)
    overlap = f"not ({overlap_text(lowered)})" if disjoint else "False"
    small = f"not ({large_text(lowered, size_of_team)})" if space.flat else "False"
    lines.append(f"    variant = ({narrow}, {overlap}, {small}, False)")
    if linear is not None:  # in the usual text only
        lines.append("    if in_line and variant[0] and variant[2]: variant = (*variant[:3], True)")
    memory = "(w0, w1)" if spec.policy.kind == "team" else "(0, 0)"
    lines.append(f"    how = units, {size}, variant, {memory}")
    on_host = [n for n in entry.buffers if _is_on_host(types[n])]
    lent = [] if space.takes_addresses else on_host
    if any(f.what == "items" for f in entry.fields):
        lines.append("    items = launch.sizes(units)[0][0]")
    values = [v for f in entry.fields for v in _value(f, types, on_host, lent)]
    if lent:
        # A record cannot hold complex numbers as one; places count what is packed.
        place = {}
        position = 0
        for f in entry.fields:
            if f.what == "first":
                place[f.argument] = position
            position += len(_value(f, types, on_host, lent))
        views = ", ".join(f"({place[n]}, a{n})" for n in entry.buffers)
        lines.append(f"    values = [{', '.join(values)}]")
        lines.append(f"    return launch.run_on_host(how, values, pack, [{views}])")
    else:
        buffers = ", ".join(
            f"addresses[a{n}.data_ptr & {-WORD}]" if n in on_host else f"a{n}.allocation.owner"
            for n in entry.buffers
        )
        run = "run_watched" if watched else "run_blocking" if on_host else "run"
        lines.append(f"    try: record = pack({', '.join(values)})")
        lines.append("    except wrong as error: raise OverflowError(str(error)) from None")
        lines.append(f"    return launch.{run}(how, record, [{buffers}])")
    scope = {
        **names_used(lowered), "pack": struct.Struct(entry.format).pack, "addresses": addresses,
    }  # fmt: skip
    return Text("\n".join(lines), scope)


def _is_on_host(type: ViewType | ScalarType) -> bool:
    return isinstance(type, ViewType) and type.memory == HOST.name


def _value(field: Field, types: Sequence[Any], on_host: list[int], lent: list[int]) -> list[str]:
    """Expressions of a number of the record; two for a complex one."""
    n = field.argument
    if field.what != "first":
        return value_texts(field)
    if n in lent:
        return ["0"]  # known when the buffer is there
    dtype = dtype_of(types[n].dtype)
    size = 1 if dtype.fields is not None else dtype.itemsize
    if n in on_host:
        return [f"(a{n}.data_ptr & {WORD - 1}) // {size}" if size < WORD else "0"]
    return [f"(a{n}.data_ptr - a{n}.allocation.pointer) // {size}"]

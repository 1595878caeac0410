"""Text of the function that packs the arguments of a launch: no loop and no test at run time."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from execspace import HOST, LaunchSpec, ScalarType, ViewType
from execspace.copying import may_overlap
from execspace.dtypes import dtype_of
from execspace.parallel_reduce import check_shape
from execspace_compiler.pipeline import Lowered, check_limits
from execspace_compiler.printers.cfamily.entries import Entry, Field
from execspace_compiler.results import result_shape

from .memory import WORD, addresses
from .space import OpenCLSpace


@dataclass(frozen=True)
class Text:
    """A function `call(bounds, args)`, and what it needs beside `launch`."""

    source: str
    scope: dict[str, Any]


def caller_text(
    lowered: Lowered,
    entry: Entry,
    order: tuple[int, ...],
    space: OpenCLSpace,
    pairs: Sequence[tuple[int, int]],
    watched: bool,
) -> Text:
    """The hot path of a launch: bounds and arguments to a packed record and buffers.

    `pairs` are the arguments that the usual program takes for Views which do not overlap.
    """
    spec, limits, name = lowered.spec, lowered.limits, lowered.kernel.name
    rank = spec.policy.rank
    bounds = [f"b{n}" for n in range(rank * (3 if spec.policy.tiled else 2))]
    types = (*spec.arguments, *spec.out)
    names = [f"a{n}" for n in range(len(types))]
    lines = ["def call(bounds, args, launch=launch, pack=pack, refuse=refuse, limits=limits):"]
    lines.append(f"    {', '.join(bounds)}, = bounds")
    if names:
        lines.append(f"    {', '.join(names)}, = args")
    for n, _, low, high in limits:
        lines.append(f"    if not {low} <= a{n} <= {high}: refuse(limits, args)")
    shape = result_shape(spec)
    if shape is not None and spec.out and spec.out[0].rank:
        view = f"a{len(spec.arguments)}"
        lines.append(f"    if {view}.shape != {shape}: refuse_shape(name, {view}, {shape})")
    lines.append(f"    units = {_units(spec, order, space.flat)}")
    overlap = " or ".join(f"may_overlap(a{n}, a{m})" for n, m in pairs) or "False"
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
        lines.append(f"    return launch.run_on_host(units, values, pack, [{views}], {overlap})")
    else:
        buffers = ", ".join(
            f"addresses[a{n}.data_ptr & {-WORD}]" if n in on_host else f"a{n}.allocation.owner"
            for n in entry.buffers
        )
        run = "run_watched" if watched else "run_blocking" if on_host else "run"
        lines.append(f"    try: record = pack({', '.join(values)})")
        lines.append("    except wrong as error: raise OverflowError(str(error)) from None")
        lines.append(f"    return launch.{run}(units, record, [{buffers}], {overlap})")
    scope = {
        "pack": struct.Struct(entry.format).pack, "limits": limits,
        "refuse": partial(check_limits, name), "name": name, "refuse_shape": check_shape,
        "wrong": struct.error, "may_overlap": may_overlap, "addresses": addresses,
    }  # fmt: skip
    return Text("\n".join(lines), scope)


def _is_on_host(type: ViewType | ScalarType) -> bool:
    return isinstance(type, ViewType) and type.memory == HOST.name


def _units(spec: LaunchSpec, order: tuple[int, ...], flat: bool) -> str:
    """Number of units from the bounds; nothing where any extent is."""
    rank = spec.policy.rank
    extents = [f"(b{rank + d} - b{d})" for d in range(rank)]
    some = " and ".join(f"b{d} < b{rank + d}" for d in range(rank))
    if spec.policy.tiled:
        tiles = [f"b{2 * rank + d}" for d in range(rank)]
        numbers = [f"-(-{e} // {t})" for e, t in zip(extents, tiles, strict=True)]
        total = " * ".join([*numbers, *(tiles if flat else [])])
    else:
        dims = range(rank) if flat else order[: min(rank - 1, 2) + 1]
        total = " * ".join(extents[d] for d in dims)
    return f"{total} if {some} else 0"


def _value(field: Field, types: Sequence[Any], on_host: list[int], lent: list[int]) -> list[str]:
    """Expressions of a number of the record; two for a complex one."""
    n, d = field.argument, field.dimension
    match field.what:
        case "bound":
            return [f"b{n}"]
        case "units" | "items":
            return [field.what]
        case "first":
            if n in lent:
                return ["0"]  # known when the buffer is there
            dtype = dtype_of(types[n].dtype)
            size = 1 if dtype.fields is not None else dtype.itemsize
            if n in on_host:
                return [f"(a{n}.data_ptr & {WORD - 1}) // {size}" if size < WORD else "0"]
            return [f"(a{n}.data_ptr - a{n}.allocation.pointer) // {size}"]
        case "stride":
            return [f"a{n}.strides[{d}]"]
        case "extent":
            return [f"a{n}.shape[{d}]"]
    if field.type.kind == "c":
        return [f"complex(a{n}).real", f"complex(a{n}).imag"]
    return [f"a{n}"]

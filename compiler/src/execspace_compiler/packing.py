"""Text of the function that packs the arguments of a launch for a device: what backends share.

A launch costs the host about as much as this function, so all that is known when the kernel is
compiled is written out: no loop and no test of types at run time. In the text `b0` ... are bounds
and `a0` ... arguments, those of `out` last.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import partial
from typing import Any

from execspace import LaunchSpec, ViewType
from execspace.copying import may_overlap
from execspace.dtypes import dtype_of
from execspace.parallel_reduce import check_shape

from .devices import long_offsets
from .mapping import scale
from .overlap import pairs_to_check
from .pipeline import Lowered, check_limits
from .printers.cfamily.entries import Entry, Field
from .results import result_shape


def head_lines(lowered: Lowered) -> list[str]:
    """Lines that take bounds and arguments apart and check what must be checked at each launch."""
    spec = lowered.spec
    bounds = [f"b{n}" for n in range(spec.policy.rank * (3 if spec.policy.tiled else 2))]
    names = [f"a{n}" for n in range(len(spec.arguments) + len(spec.out))]
    lines = [f"    {', '.join(bounds)}, = bounds"]
    if names:
        lines.append(f"    {', '.join(names)}, = args")
    for n, _, low, high in lowered.limits:
        lines.append(f"    if not {low} <= a{n} <= {high}: refuse(limits, args)")
    shape = result_shape(spec)
    if shape is not None and spec.out and spec.out[0].rank:
        view = f"a{len(spec.arguments)}"
        lines.append(f"    if {view}.shape != {shape}: refuse_shape(name, {view}, {shape})")
    return lines


def units_text(
    spec: LaunchSpec, order: Sequence[int], flat: bool, block: tuple[int, ...] | None = None
) -> str:
    """Expression of the number of units, from the bounds; nothing where any extent is.

    In blocks they are those of whole blocks.
    """
    rank = spec.policy.rank
    extents = [f"(b{rank + d} - b{d})" for d in range(rank)]
    some = " and ".join(f"b{d} < b{rank + d}" for d in range(rank))
    if block is not None:
        total = " * ".join(f"-(-{e} // {n}) * {n}" for e, n in zip(extents, block, strict=True))
    elif spec.policy.tiled:
        tiles = [f"b{2 * rank + d}" for d in range(rank)]
        numbers = [f"-(-{e} // {t})" for e, t in zip(extents, tiles, strict=True)]
        total = " * ".join([*numbers, *(tiles if flat else [])])
    else:
        dims = range(rank) if flat else order[: min(rank - 1, 2) + 1]
        total = " * ".join(extents[d] for d in dims)
    return f"{total} if {some} else 0"


def overlap_text(lowered: Lowered, scans: bool = False) -> str:
    """Expression of whether Views overlap that the usual text takes for disjoint ones.

    With `scans` that of a parallel_scan takes some, too.
    """
    arguments = lowered.body.parameters[lowered.leading :]
    pairs = ((arguments.index(a), arguments.index(b)) for a, b in pairs_to_check(lowered, scans))
    return " or ".join(f"may_overlap(a{n}, a{m})" for n, m in pairs) or "False"


def large_text(lowered: Lowered) -> str:
    """Expression of whether places in Views, or bounds, may exceed 31 bits.

    See `small` of `devices.device_text`.
    """
    tests = []
    rank = lowered.spec.policy.rank
    if rank > 1:
        tests.append(f"({' | '.join(f'b{n}' for n in range(2 * rank))}) >> 31")
    types = (*lowered.spec.arguments, *lowered.spec.out)
    for n in long_offsets(lowered):
        t = types[n]
        assert isinstance(t, ViewType)
        # An allocation is as long as all Views of it reach.
        tests.append(f"a{n}.allocation.nbytes >= {dtype_of(t.dtype).itemsize << 31}")
    return " or ".join(tests) or "False"


class _Scales(dict[tuple[int, ...], tuple[int, ...]]):
    """Factor and shift of each of several extents, made once."""

    most = 4096

    def __missing__(self, extents: tuple[int, ...]) -> tuple[int, ...]:
        if len(self) >= self.most:
            self.clear()
        # Of more units than 2^31 another text runs, which does not look at them.
        fitting = (n if 0 < n < 1 << 31 else 1 for n in extents)
        made = self[extents] = tuple(x for n in fitting for x in scale(n))
        return made


_scales = _Scales()


def scale_lines(entry: Entry, rank: int, block: tuple[int, ...] | None = None) -> list[str]:
    """Lines that look up what replaces divisions by extents, where a text takes that."""
    dims = [f.dimension for f in entry.fields if f.what == "scale"]
    if not dims:
        return []
    dims = sorted(dims)
    targets = ", ".join(f"f{d}, s{d}" for d in dims)
    extents = ", ".join(
        f"b{rank + d} - b{d}" if block is None else f"-((b{d} - b{rank + d}) // {block[d]})"
        for d in dims
    )
    return [f"    {targets}, = scales[{extents},]"]


def value_texts(field: Field) -> list[str]:
    """Expressions of a number of the record; two for a complex one. Not of places in buffers."""
    n, d = field.argument, field.dimension
    match field.what:
        case "bound":
            return [f"b{n}"]
        case "units" | "items" | "tiles" | "epoch":
            return [field.what]
        case "scale":
            return [f"f{d}"]
        case "shift":
            return [f"s{d}"]
        case "stride":
            return [f"a{n}.strides[{d}]"]
        case "extent":
            return [f"a{n}.shape[{d}]"]
    if field.type.kind == "c":
        return [f"complex(a{n}).real", f"complex(a{n}).imag"]
    return [f"a{n}"]


def names_used(lowered: Lowered) -> dict[str, Any]:
    """What the names in these pieces mean."""
    name = lowered.kernel.name
    return {
        "limits": lowered.limits, "refuse": partial(check_limits, name), "name": name,
        "refuse_shape": check_shape, "may_overlap": may_overlap, "wrong": struct.error,
        "scales": _scales,
    }  # fmt: skip

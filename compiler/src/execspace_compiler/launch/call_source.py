"""Source of the function that packs the arguments of a launch for a device, for all backends.

This function is most of a launch's cost on the host, so everything known when the kernel is
compiled is written out: no loops and no type tests at run time. In the source, `b0` ... are bounds
and `a0` ... arguments, those of `out` last.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import partial
from typing import Any

from execspace import LaunchSpec, ViewType
from execspace.contract.dtypes import dtype_of
from execspace.launch.arguments import check_shape
from execspace.views.deep_copy import may_overlap

from .. import ir
from ..analysis.extents import extents_used
from ..analysis.overlap import pairs_to_check
from ..codegen.cfamily.entries import Field
from ..ir.types import Scalar
from ..mapping.block_geometry import ALIGNED
from ..mapping.loops import scale
from ..mapping.thread_blocks import Blocks
from ..passes.contiguous import ContiguousBody
from ..passes.narrowing import LIMIT, is_profitable
from ..passes.pipeline import check_limits
from ..passes.private_sums import CALLS, EACH, elements
from ..reductions.results import result_shape
from ..typing.lowered import Lowered
from .device_code import DeviceCode, long_offsets

MOST_UNITS = 1 << 31  # for the usual source with one call per work-item


def head_lines(lowered: Lowered) -> list[str]:
    """Lines that unpack bounds and arguments, and do the checks needed at each launch."""
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


def shape_lines(blocks: Blocks) -> list[str]:
    """Lines that look up grid and block of the range: see `block_geometry.Geometry`."""
    rank = blocks.rank
    key = [f"b{rank + d} - b{d}" for d in range(rank)]
    if blocks.tiled:
        key += [f"b{2 * rank + d}" for d in range(rank)]
    else:
        key.append(f"b{blocks.dims[0]} & {ALIGNED - 1}")
    numbers = "".join(f", m{n}" for n in range(len(blocks.parameters)))
    return [f"    form, gx, gy, gz, bx, by, bz{numbers} = shapes[{', '.join(key)},]"]


def tile_lines(spec: LaunchSpec) -> list[str]:
    """Lines that cut a tile to the range, for numbered calls: those beyond it are numbered, too."""
    rank = spec.policy.rank
    if not spec.policy.tiled:
        return []
    return [
        f"    b{2 * rank + d} = min(b{2 * rank + d}, b{rank + d} - b{d} or 1)" for d in range(rank)
    ]


def units_expression(spec: LaunchSpec, order: Sequence[int], flat: bool) -> str:
    """Expression of the number of units, from the bounds; 0 if any extent is 0."""
    rank = spec.policy.rank
    if not flat and spec.policy.chunk_size > 1:
        return f"-(-b1 // {spec.policy.chunk_size})"
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


def overlap_expression(lowered: Lowered, patterns: Sequence[str]) -> str:
    """Expression of whether Views overlap that the usual source assumes to be disjoint.

    `patterns`: see `written_pairs`.
    """
    return _overlap(_numbered_pairs(lowered, patterns)) or "False"


def _numbered_pairs(lowered: Lowered, patterns: Sequence[str]) -> list[tuple[int, int]]:
    arguments = lowered.body.parameters[lowered.leading :]
    found = pairs_to_check(lowered, patterns)
    return [(arguments.index(a), arguments.index(b)) for a, b in found]


def _overlap(pairs: Sequence[tuple[int, int]]) -> str:
    return " or ".join(f"may_overlap(a{n}, a{m})" for n, m in pairs)


def private_expression(lowered: Lowered, numbers: Sequence[int]) -> str:
    """Expression of whether groups add to copies of Views; see `private_sums`.

    Of a View that a kernel stores or reads under another name as well there must be no copy.
    """
    spec = lowered.spec
    pairs = _numbered_pairs(lowered, (spec.pattern,))
    overlap = _overlap([p for p in pairs if not set(numbers).isdisjoint(p)])
    tests = [f"units >= {CALLS}"]
    for n in numbers:
        t = spec.arguments[n]
        assert isinstance(t, ViewType)
        most = elements(dtype_of(t.dtype), len(numbers))
        tests.append(f"0 < a{n}.size <= {most} and a{n}.size * {EACH} <= units")
        tests.append(f"a{n}.span_is_contiguous")
    return " and ".join([*tests, *[f"not ({overlap})"] * bool(overlap)])


def large_expression(lowered: Lowered, size: int = 1) -> str:
    """Expression of whether offsets in Views, or bounds, may exceed 31 bits.

    See `Variant.small`. `size`: threads of a team.
    """
    tests = []
    rank = lowered.spec.policy.rank
    if rank > 1:
        tests.append(f"({' | '.join(f'b{n}' for n in range(2 * rank))}) >> 31")
    types = (*lowered.spec.arguments, *lowered.spec.out)
    for n in long_offsets(lowered):
        t = types[n]
        assert isinstance(t, ViewType)
        # All Views of an allocation are within it.
        tests.append(f"a{n}.allocation.nbytes >= {dtype_of(t.dtype).itemsize << 31}")
    if is_profitable(lowered.functions):
        tests += _beyond(lowered, size)
    return " or ".join(tests) or "False"


def _beyond(lowered: Lowered, size: int) -> list[str]:
    """Expressions of whether a bound, an integer argument or an extent is beyond
    `narrowing.LIMIT`, or the number of threads of all teams."""
    rank = lowered.spec.policy.rank
    most = LIMIT // size
    tests = [f"not -{LIMIT} <= b{d} <= b{rank + d} <= {most}" for d in range(rank)]
    parameters = lowered.body.parameters[lowered.leading :]
    used = {e.name for e in ir.walk_expressions(lowered.body.body) if isinstance(e, ir.Var)}
    extents = extents_used(lowered.functions)[lowered.body.name]
    for n, (t, p) in enumerate(zip(lowered.spec.arguments, parameters, strict=False)):
        if isinstance(p.type, Scalar):
            if p.type.name == "int64" and p.name in used:
                tests.append(f"not -{LIMIT} <= a{n} <= {LIMIT}")
        elif p.name in extents and isinstance(t, ViewType) and t.rank:
            tests.append(f"max(a{n}.shape) > {LIMIT}")
    return tests


class Ranges(dict[tuple[int, ...], tuple[Any, ...]]):
    """A cache of numbers for flat launches, by the extents of the range.

    Factor and shift of each dimension in `scaled`, then the strides of an array that is contiguous
    in the order of calls.
    """

    most = 4096

    def __init__(self, order: Sequence[int], scaled: Sequence[int]) -> None:
        super().__init__()
        self.order, self.scaled = tuple(order), tuple(scaled)

    def __missing__(self, extents: tuple[int, ...]) -> tuple[Any, ...]:
        if len(self) >= self.most:
            self.clear()
        # For more than 2^31 units another source runs, which does not use them.
        fitting = [n if 0 < n < 1 << 31 else 1 for n in extents]
        strides = [1] * len(extents)
        for faster, d in zip(self.order[:0:-1], self.order[-2::-1], strict=True):
            strides[d] = strides[faster] * extents[faster]
        scales = [x for d in self.scaled for x in scale(fitting[d])]
        made = self[extents] = (*scales, tuple(strides))
        return made


def ranges_of(code: DeviceCode) -> Ranges:
    """The table for a launch."""
    scaled = sorted(f.dimension for f in code.entry.fields if f.what == "scale")
    return Ranges(code.order, scaled)


def range_lines(code: DeviceCode, contiguous: ContiguousBody | None) -> list[str]:
    """Lines that look up the numbers of a flat launch, in `ranges`.

    They set `contiguous`: whether all Views of `contiguous` are contiguous in the order of calls.
    """
    entry, rank = code.entry, code.lowered.spec.policy.rank
    dims = sorted(f.dimension for f in entry.fields if f.what == "scale")
    if not dims and contiguous is None:
        return []
    targets = "".join(f"f{d}, s{d}, " for d in dims)
    extents = ", ".join(f"b{rank + d} - b{d}" for d in range(rank))
    lines = [f"    {targets}line = ranges[{extents},]"]
    if contiguous is not None:
        strides = " == ".join(f"a{n}.strides" for n in contiguous.arguments)
        low = " | ".join(f"b{d}" for d in range(rank))
        lines.append(f"    contiguous = line == {strides} and not ({low})")
    return lines


def value_expressions(field: Field) -> list[str]:
    """Expressions of a number in the record; two if it is complex. Not for offsets in buffers."""
    n, d = field.argument, field.dimension
    match field.what:
        case "bound":
            return [f"b{n}"]
        case "units" | "items" | "tiles" | "epoch":
            return [field.what]
        case "scratch":
            return [f"w{n}"]
        case "number":
            return [f"m{n}"]
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
    if field.type.kind == "b":  # which of NumPy's is no integer
        return [f"1 if a{n} else 0"]
    return [f"a{n}"]


def names_used(lowered: Lowered) -> dict[str, Any]:
    """Globals of this source."""
    name = lowered.kernel.name
    return {
        "limits": lowered.limits, "refuse": partial(check_limits, name), "name": name,
        "refuse_shape": check_shape, "may_overlap": may_overlap, "wrong": struct.error,
    }  # fmt: skip

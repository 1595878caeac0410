"""Reductions over MDRangePolicy of ranks 2 to 6 beside a flat range, code by hand, and libraries.

    python -m benchmarks.seeds.mdrange_reductions [--space NAME] [--record FILE] [--quick]
                                                  [--only WORD] [--turns N] [--largest BITS]

Future work of the talk "Improving the Efficiency of Kokkos Multi-Dimensional Range Policy for GPUs"
(2026): sums, maxima, MinLoc, dot products and several results at once, of 2^12 to 2^28 elements in
both layouts, with iterate="left" and "right" and as the space chooses. All contestants reduce the
same memory to a number on the host. "ranks" has all layouts and orders, "sizes" sums of rank 3,
"operations" all reductions. By hand are CUDA C++ with one and with two passes, and C with OpenMP.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import execspace as es
from benchmarks.common.optional import cupy_on_device, library
from benchmarks.common.turns import Contestant, Maker
from benchmarks.seeds import setting as s
from benchmarks.seeds.reduction_kernels import ELEMENT, LOCATED, PRODUCT, THREE, fill

PERIOD = 65537  # a prime; elements repeat with it, multiples of 1/64 whose sums are exact
LEAST = -1.0  # the one element that is negative
FLAT = "flat range"
ORDERS = ("auto", "right", "left")
BLOCKS_PER_UNIT = (4, 8, 16)
THREADS, UNROLL = 256, {"float64": 4, "float32": 8}  # as in reductions.cu
RANKS = (2, 3, 4, 5, 6)

Numbers = tuple[float, ...]


@dataclass(frozen=True)
class Operation:
    """A reduction.

    Attributes
    ----------
    hand : str
        Its name in reductions.cu and reductions.c.
    kernels : dict
        By rank.
    reducer : object
        What `parallel_reduce` gets.
    library : callable
        ``library(numpy_or_cupy, x, y)``: numbers, the place of the least element as the last one.
    dtype : str
    arrays : int
        1 or 2.
    rtol : float
        Sums of float64 are exact here.
    """

    hand: str
    kernels: dict[int, Any]
    reducer: Any
    library: Callable[[Any, Any, Any], Any]
    dtype: str = "float64"
    arrays: int = 1
    rtol: float = 0.0


OPERATIONS = {
    "sum": Operation("sum", ELEMENT, es.Sum, lambda m, x, y: (x.sum(),)),
    "sum float32": Operation(
        "sum_float32", ELEMENT, es.Sum(dtype=es.float32), lambda m, x, y: (x.sum(),), "float32",
        rtol=2e-3,
    ),
    "sum float32 in float64": Operation(
        "sum_float32_wide", ELEMENT, es.Sum, lambda m, x, y: (x.sum(dtype=m.float64),), "float32",
    ),
    "max": Operation("max", ELEMENT, es.Max, lambda m, x, y: (x.max(),)),
    "minloc": Operation("minloc", LOCATED, es.MinLoc, lambda m, x, y: _least(x)),
    "three": Operation(
        "three", THREE, (es.Sum, es.Sum, es.Max), lambda m, x, y: (x.sum(), m.dot(x, x), x.max()),
    ),
    "dot": Operation("dot", PRODUCT, es.Sum, lambda m, x, y: (m.dot(x, y),), arrays=2),
}  # fmt: skip


def _least(x: Any) -> Any:
    place = int(x.argmin())
    return x[place], place


def shape_of(bits: int, rank: int, layout: str) -> tuple[int, ...]:
    """Extents, powers of two, of 2^bits elements; the contiguous ones are the largest."""
    each, more = divmod(bits, rank)
    extents = tuple(2 ** (each + (d < more)) for d in range(rank))
    return extents if layout == "left" else extents[::-1]


class Memory:
    """Elements of one type and number, and what their reductions give."""

    def __init__(self, setting: s.Setting, bits: int, dtype: str) -> None:
        self.n, self.dtype, self.setting = 2**bits, dtype, setting
        random = np.random.default_rng(7)
        self.tables = [random.integers(1, 1024, PERIOD) / 64.0 for _ in "xy"]
        self.place = self.n * 5 // 8 + 3
        policy = es.RangePolicy(self.n, space=setting.space)
        self.x, self.y = (setting.view(self.n, dtype, label) for label in "xy")
        for view, table, place in zip((self.x, self.y), self.tables, (self.place, -1), strict=True):
            on_space = setting.copied(table.astype(dtype), "table")
            es.parallel_for(
                policy, fill, view, on_space, place, np.dtype(dtype).type(LEAST), label="fill"
            )
        setting.space.fence()

    def right(self, operation: str) -> Numbers:
        """The exact results."""
        x, y = self.tables
        at = self.place % PERIOD
        match operation:
            case "max":
                return (float(max(x[: self.n])),)
            case "minloc":
                return LEAST, float(self.place)
            case "three":
                squares = self._total(x * x) - x[at] ** 2 + LEAST**2
                return self._total(x) - x[at] + LEAST, squares, float(max(x[: self.n]))
            case "dot":
                return (self._total(x * y) - x[at] * y[at] + LEAST * y[at],)
        return (self._total(x) - x[at] + LEAST,)

    def _total(self, table: Any) -> float:
        whole, rest = divmod(self.n, PERIOD)
        return float(whole * table.sum() + table[:rest].sum())


def _agree(found: Any, right: Numbers, rtol: float) -> None:
    assert len(found) >= len(right), found
    for one, expected in zip(found, right, strict=False):
        assert abs(float(one) - expected) <= rtol * abs(expected), f"{found}, not {right}"


def _numbers(result: Any, operation: str, shape: tuple[int, ...], layout: str) -> Sequence[Any]:
    """What a launch returns, with a place counted in memory."""
    if operation == "minloc":
        place = result.loc if isinstance(result.loc, tuple) else (result.loc,)
        order = "F" if layout == "left" else "C"
        return result.val, int(np.ravel_multi_index(tuple(place), shape, order=order))  # type: ignore[call-overload]
    return result if isinstance(result, tuple) else (result,)


def ours(
    name: str, memory: Memory, operation: str, rank: int, layout: str, **options: Any
) -> Contestant:
    """execspace over a range of a rank."""
    what, space = OPERATIONS[operation], memory.setting.space
    shape = shape_of(memory.n.bit_length() - 1, rank, layout) if rank > 1 else (memory.n,)
    views = [s.over_memory(v, shape, layout) for v in (memory.x, memory.y)[: what.arrays]]
    policy: Any = es.RangePolicy(memory.n, space=space)
    if rank > 1:
        policy = es.MDRangePolicy(shape, space=space, **options)
    call = partial(
        es.parallel_reduce, policy, what.kernels[rank], *views, reducer=what.reducer, label=name
    )

    def check() -> dict[str, Any]:
        found = _numbers(call(), operation, shape, layout)
        _agree(found, memory.right(operation), what.rtol)
        return {"shape": list(shape)}

    return Contestant(name, call, space.fence, check)


def by_cuda(memory: Memory, operation: str) -> Contestant:
    """CUDA C++ by hand: the fastest of several grids, with one pass and with two."""
    cupy, what, n = cupy_on_device(), OPERATIONS[operation], memory.n
    module = s.cuda_module("reductions")
    parts_, finish, one = (
        module.get_function(f"{what.hand}_{end}") for end in ("parts", "finish", "one")
    )
    pinned = cupy.cuda.alloc_pinned_memory(64)
    out = np.frombuffer(pinned, np.float64, 3)
    to, count = np.uint64(pinned.ptr), np.int64(n)
    x, y = s.device_array(memory.x), s.device_array(memory.y)
    units = cupy.cuda.Device().attributes["MultiProcessorCount"]
    most = max(1, -(-n // (THREADS * UNROLL[what.dtype])))
    parts, ticket = cupy.zeros(3 * max(BLOCKS_PER_UNIT) * units), cupy.zeros(1, cupy.uint32)
    synchronize = cupy.cuda.get_current_stream().synchronize

    def two_passes(blocks: int) -> Any:
        parts_((blocks,), (THREADS,), (x, y, count, parts))
        finish((1,), (THREADS,), (parts, np.int32(blocks), to))
        synchronize()
        return out

    def one_pass(blocks: int) -> Any:
        one((blocks,), (THREADS,), (x, y, count, parts, ticket, to))
        synchronize()
        return out

    calls = {}
    for per_unit in BLOCKS_PER_UNIT:
        blocks = min(most, per_unit * units)
        for name, passes in (("one pass", one_pass), ("two passes", two_passes)):
            calls[f"{name}, {blocks} blocks"] = partial(passes, blocks)
    for name, way in calls.items():
        out[:] = np.nan
        found = way()
        right = memory.right(operation)
        try:
            _agree(found[: len(right)], right, what.rtol)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from None
    best = s.fastest(calls, synchronize)
    keep = (x, y, parts, ticket, pinned)

    def call(kept: Any = keep, run: Any = calls[best]) -> float:
        return float(run()[0])

    return Contestant(s.CUDA, call, synchronize, lambda: {"variant": best})


def by_c(memory: Memory, operation: str) -> Contestant:
    """C with OpenMP, on as many threads, called through ctypes."""
    what = OPERATIONS[operation]
    function = getattr(s.c_library("reductions"), what.hand)
    import ctypes

    out = np.zeros(3)
    call = partial(
        function, s.address(memory.x), s.address(memory.y), ctypes.c_long(memory.n),
        ctypes.c_int(s.threads_of(memory.setting)), s.address(out),
    )  # fmt: skip

    def check() -> None:
        call()
        _agree(out, memory.right(operation), what.rtol)

    return Contestant(s.C, call, lambda: None, check)


def by_library(title: str, memory: Memory, operation: str) -> Contestant:
    """NumPy's or CuPy's functions, and their numbers as Python's."""
    what = OPERATIONS[operation]
    module = library(title.lower())
    if title == s.CUPY:
        x, y = s.device_array(memory.x), s.device_array(memory.y)
    else:
        x, y = s.on_host(memory.x), s.on_host(memory.y)

    def call() -> list[float]:
        return [float(one) for one in what.library(module, x, y)]

    def check() -> None:
        _agree(call(), memory.right(operation), max(what.rtol, 1e-12))

    return Contestant(title, call, lambda: None, check)


def others(memory: Memory, operation: str) -> dict[str, Maker]:
    """The flat range, code by hand, and a library."""
    makers: dict[str, Maker] = {FLAT: partial(ours, FLAT, memory, operation, 1, "right")}
    kind = memory.setting.kind
    if kind == "cuda":
        makers[s.CUDA] = partial(by_cuda, memory, operation)
        makers[s.CUPY] = partial(by_library, s.CUPY, memory, operation)
    else:
        if kind == "host":
            makers[s.C] = partial(by_c, memory, operation)
        makers[s.NUMPY] = partial(by_library, s.NUMPY, memory, operation)
    return makers


class Cases:
    """All cases; elements are kept from one case to the next if both have as many."""

    def __init__(self, bench: s.Bench, largest: int) -> None:
        self.bench, self.setting, self.largest = bench, bench.setting, largest
        self.kept: Memory | None = None

    def memory(self, bits: int, dtype: str) -> Memory:
        """Elements."""
        if self.kept is None or (self.kept.n, self.kept.dtype) != (2**bits, dtype):
            self.kept = None  # gives its memory back first
            self.kept = Memory(self.setting, bits, dtype)
        return self.kept

    def case(
        self, name: str, bits: int, operation: str, rank: int, layout: str, orders: Any
    ) -> None:
        """One case, if it was asked for."""
        if not self.setting.wants(name):
            return
        what = OPERATIONS[operation]
        memory = self.memory(bits, what.dtype)
        makers: dict[str, Maker] = {}
        for order in orders:
            title = s.OURS if order == "auto" else f"{s.OURS}, {order}"
            options = {} if order == "auto" else {"iterate": order}
            makers[title] = partial(ours, title, memory, operation, rank, layout, **options)
        makers |= others(memory, operation)
        nbytes = memory.n * np.dtype(what.dtype).itemsize * what.arrays
        self.bench.measure(name, makers, nbytes)

    def run(self) -> None:
        """Ranks, sizes, operations."""
        large = min(26, self.largest)
        for rank in RANKS:
            for layout in ("right", "left"):
                name = f"ranks: sum, rank {rank}, {layout}, 2^{large}"
                self.case(name, large, "sum", rank, layout, ORDERS)
        for bits in range(12, self.largest + 1, 2):
            self.case(f"sizes: sum, rank 3, 2^{bits}", bits, "sum", 3, "right", ("auto",))
        by_dtype = sorted(OPERATIONS, key=lambda name: OPERATIONS[name].dtype)[::-1]
        for operation in (name for name in by_dtype if name != "sum"):
            for rank in RANKS:
                name = f"operations: {operation}, rank {rank}, 2^{large}"
                self.case(name, large, operation, rank, "right", ("auto",))
        for bits in sorted({n for n in (12, 18, self.largest) if n <= self.largest} - {large}):
            for operation in (name for name in by_dtype if name != "sum"):
                name = f"operations: {operation}, rank 3, 2^{bits}"
                self.case(name, bits, operation, 3, "right", ("auto",))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write a file if asked to; 1 if somebody failed or was wrong."""
    parser = s.options_parser(__doc__)
    parser.add_argument(
        "--largest", type=int, help="log2 of the most elements (28 on CUDA, 24 elsewhere)"
    )
    setting, options = s.setting_of(parser, arguments)
    largest = options.largest or (28 if setting.kind == "cuda" else 24)
    if not 12 <= largest <= 32:
        parser.error(f"--largest: expected 12 to 32, got {largest}")
    bench = s.Bench(setting)
    Cases(bench, 12 if setting.quick else largest).run()
    return bench.finish(options.record, f"Reductions on {setting.space.name}", largest=largest)


if __name__ == "__main__":
    sys.exit(main())

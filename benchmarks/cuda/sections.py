"""What the CUDA benchmark measures: cases of execspace, each with its peers.

A section is a function of the timing and of the arrays; SECTIONS has them by name.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import execspace as es
from benchmarks.common import device_kernels as k
from benchmarks.cuda.arrays import (
    GREATEST,
    A,
    Arrays,
    array_check,
    item_of,
    number_check,
    peer,
    read,
)
from benchmarks.cuda.computing import compute
from benchmarks.cuda.copies import copy
from benchmarks.cuda.element_types import types
from benchmarks.cuda.launches import first, launch
from benchmarks.cuda.orders import order
from benchmarks.cuda.scattering import scatter
from benchmarks.cuda.stencils import stencil
from benchmarks.cuda.timing import Bench, Call, Contestant


def triad(bench: Bench, d: Arrays) -> None:
    """z = x + a * y, rank 1."""
    xyz, peers, check = (d.x, d.y, d.z), d.peers, d.check_z(d.x + A * d.y)
    makers: dict[str, Callable[[], Any]] = {
        "hand-written": lambda: peers.triad(A, *xyz),
        "CuPy ElementwiseKernel": lambda: peers.triad_elementwise(A, *xyz),
        "torch.add": lambda: peers.triad_torch(A, *xyz),
        "Triton": lambda: peers.triad_triton(A, *xyz),
    }
    ours = lambda: partial(es.parallel_for, d.policy(), k.triad, A, *d.views)  # noqa: E731
    contestants = [Contestant("triad rank 1", ours, check, d.poison, ours=True)]
    contestants += [Contestant(name, make, check, d.poison) for name, make in makers.items()]
    bench.kernels(24 * d.n, contestants)


def shapes(edge: int) -> dict[int, tuple[int, ...]]:
    """For each rank a shape of edge**6 elements."""
    e = edge
    return {
        2: (e**3, e**3),
        3: (e**2, e**2, e**2),
        4: (e**2, e, e, e**2),
        5: (e, e, e, e, e**2),
        6: (e, e, e, e, e, e),
    }


def mdrange(bench: Bench, d: Arrays) -> None:
    """The triad over ranks 2 to 6 in both layouts, against rank 1 by hand."""
    m = d.edge**6
    flat = [array[:m] for array in (d.x, d.y, d.z)]
    check = d.check_z(flat[0] + A * flat[1])
    hand = Contestant("hand-written, rank 1", lambda: d.peers.triad(A, *flat), check, d.poison)
    for rank, shape in shapes(d.edge).items():
        for layout in ("left", "right"):

            def ours(rank: int = rank, shape: Any = shape, layout: str = layout) -> Call:
                policy = es.MDRangePolicy((0,) * rank, shape, space=d.space)
                return partial(es.parallel_for, policy, k.TRIADS[rank], A, *d.shaped(shape, layout))

            name = f"triad rank {rank} {layout}"
            bench.kernels(24 * m, [Contestant(name, ours, check, d.poison, ours=True), hand])


# -- reductions ------------------------------------------------------------------------------------


def reduce(bench: Bench, d: Arrays) -> None:
    """Dot product, maximum, minimum with its place, accurate sum, sum over rank 3."""
    cupy, total = d.cupy, float(d.host_x.sum())
    dot = float(d.host_x @ d.host_y)
    bench.kernels(
        16 * d.n,
        [
            _ours("dot to a View", d, k.product, 2, dot),
            _hand("hand-written", d, "dot", dot),
            peer("torch.dot", lambda: _torch(d, "dot", 2), dot),
            peer("cupy.dot", lambda: partial(cupy.dot, d.x, d.y), dot),
        ],
    )
    name = "dot to a Python float"
    make = lambda: partial(es.parallel_reduce, d.policy(), k.product, *d.views[:2])  # noqa: E731
    bench.kernels(
        16 * d.n,
        [
            Contestant(name, make, number_check(dot), ours=True),
            peer("hand-written", lambda: d.peers.reduction_to_python("dot", d.x, d.y), dot),
            peer("torch.dot(...).item()", lambda: item_of(_torch(d, "dot", 2)), dot),
            peer("cupy.dot(...).item()", lambda: item_of(partial(cupy.dot, d.x, d.y)), dot),
        ],
    )
    bench.kernels(
        8 * d.n,
        [
            _ours("max", d, k.element, 1, GREATEST, reducer=es.Max),
            _hand("hand-written", d, "max", GREATEST),
            peer("torch.max", lambda: _torch(d, "max", 1), GREATEST),
            peer("cupy.max", lambda: partial(cupy.max, d.x), GREATEST),
        ],
    )
    bench.kernels(
        8 * d.n,
        [
            _min_loc(d),
            peer("torch.argmin", lambda: _torch(d, "argmin", 1), d.least_at),
            peer("cupy.argmin", lambda: partial(cupy.argmin, d.x), d.least_at),
        ],
    )
    bench.kernels(
        8 * d.n,
        [
            _ours("accurate sum", d, k.element, 1, total, reducer=es.Sum(accuracy="high")),
            _hand("hand-written, plain", d, "sum", total),
            peer("torch.sum, plain", lambda: _torch(d, "sum", 1), total),
            peer("cupy.sum, plain", lambda: partial(cupy.sum, d.x), total),
        ],
    )
    for layout in ("left", "right"):
        _sum3(bench, d, layout)


def _ours(
    name: str, d: Arrays, kernel: Any, inputs: int, expected: float, **options: Any
) -> Contestant:
    """A reduction of execspace to a View."""

    def make() -> Call:
        views = d.views[:inputs]
        return partial(es.parallel_reduce, d.policy(), kernel, *views, out=d.out, **options)

    return Contestant(name, make, number_check(expected, d.read_out), d.poison_out, ours=True)


def _min_loc(d: Arrays) -> Contestant:
    def make() -> Call:
        x, out = d.views[0], (d.out, d.place)
        return partial(
            es.parallel_reduce, d.policy(), k.element_and_place, x, reducer=es.MinLoc, out=out
        )

    check = number_check(float(d.least_at), lambda _: read(d.place))
    return Contestant("MinLoc", make, check, d.poison_out, ours=True)


def _sum3(bench: Bench, d: Arrays, layout: str) -> None:
    shape, m = shapes(d.edge)[3], d.edge**6
    total = float(d.host_x[:m].sum())

    def ours() -> Call:
        policy = es.MDRangePolicy((0, 0, 0), shape, space=d.space)
        return partial(
            es.parallel_reduce, policy, k.element3, d.shaped(shape, layout)[0], out=d.out
        )

    check = number_check(total, d.read_out)
    bench.kernels(
        8 * m,
        [
            Contestant(f"sum rank 3 {layout}", ours, check, d.poison_out, ours=True),
            _hand("hand-written, rank 1", d, "sum", total, m),
        ],
    )


def _hand(name: str, d: Arrays, kind: str, expected: float, m: int | None = None) -> Contestant:
    """A reduction by hand, to a number on the device."""
    out = d.cupy.zeros(())
    make = lambda: d.peers.reduction(kind, d.x[:m], d.y[:m], out)  # noqa: E731
    check = number_check(expected, lambda _: out.get())
    return Contestant(name, make, check, lambda: out.fill(np.nan))


def _torch(d: Arrays, function: str, inputs: int) -> Call:
    tensors = [d.peers.tensor(array) for array in (d.x, d.y)[:inputs]]
    return partial(getattr(d.peers.torch, function), *tensors)


# -- scans and atomic operations
# ------------------------------------------------------------------------


def scan(bench: Bench, d: Arrays) -> None:
    """Prefix sums of x in z. Peers are inclusive; the exclusive one moves as many bytes."""
    host = np.cumsum(d.host_x)
    total, prefix = float(host[-1]), d.cupy.asarray(host)
    inclusive = d.check_z(prefix)
    in_place = prefix.copy()  # whose content is what CUB has last made of it

    def torch() -> Call:
        return partial(d.peers.torch.cumsum, d.peers.tensor(d.x), 0, out=d.peers.tensor(d.z))

    def copied() -> None:
        in_place[...] = d.x

    def cub_check(_: Any) -> None:
        assert bool((in_place == prefix).all()), "elements are wrong"

    peers = [
        Contestant("torch.cumsum", torch, inclusive, d.poison),
        Contestant(
            "cupy.cumsum", lambda: partial(d.cupy.cumsum, d.x, out=d.z), inclusive, d.poison
        ),
        Contestant("CUB in place", lambda: d.peers.cub_scan(in_place), cub_check, copied),
    ]
    exclusive = d.check_z(prefix - d.x)
    for name, kernel, right in (
        ("exclusive scan", k.exclusive, exclusive),
        ("inclusive scan", k.inclusive, inclusive),
    ):

        def ours(kernel: Any = kernel) -> Call:
            x, _, z = d.views
            return partial(es.parallel_scan, d.policy(), kernel, x, z, out=d.out)

        def check(result: Any, right: Any = right) -> None:
            right(result)
            assert d.read_out() == total, f"total: expected {total!r}, got {d.read_out()!r}"

        bench.kernels(16 * d.n, [Contestant(name, ours, check, d.poison, ours=True), *peers])


def atomics(bench: Bench, d: Arrays) -> None:
    """Histograms of random keys: one atomic addition for each. Bytes are those of the keys."""
    host = np.random.default_rng(2).integers(0, 2**20, d.n, dtype=np.int32)
    for bins in (2**20, 1024):
        host &= bins - 1
        expected, keys = np.bincount(host, minlength=bins), d.cupy.asarray(host)
        library = [
            Contestant(
                "torch.bincount",
                lambda keys=keys, bins=bins: partial(
                    d.peers.torch.bincount, d.peers.tensor(keys), minlength=bins
                ),
                array_check(expected, lambda result: result.cpu().numpy()),
            ),
            Contestant(
                "cupy.bincount",
                lambda keys=keys, bins=bins: partial(d.cupy.bincount, keys, minlength=bins),
                array_check(expected, lambda result: result.get()),
            ),
        ]
        for dtype in ("int32", "float64"):
            _count(bench, d, keys, d.cupy.zeros(bins, dtype), expected, library)


def _count(
    bench: Bench, d: Arrays, keys: Any, counters: Any, expected: np.ndarray, library: list[Any]
) -> None:
    def ours() -> Call:
        return partial(es.parallel_for, d.policy(), k.count, d.view(keys), d.view(counters))

    check = array_check(expected, lambda _: counters.get())
    clear = lambda: counters.fill(0)  # noqa: E731
    name = f"histogram {counters.size} {counters.dtype.name}"
    hand = lambda: d.peers.counts(keys, counters)  # noqa: E731
    own = Contestant(name, ours, check, clear, ours=True)
    bench.kernels(
        4 * d.n, [own, Contestant("hand-written atomicAdd", hand, check, clear), *library]
    )


SECTIONS: dict[str, Callable[[Bench, Arrays], None]] = {
    "triad": triad,
    "mdrange": mdrange,
    "reduce": reduce,
    "scan": scan,
    "types": types,
    "stencil": stencil,
    "compute": compute,
    "atomics": atomics,
    "scatter": scatter,
    "launch": launch,
    "first": first,
    "copy": copy,
    "order": order,
}

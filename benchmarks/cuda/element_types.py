"""The section `types`: every element type and rank, of streams, reductions and scans.

Beside execspace run PyTorch, CUB and kernels by hand, which move up to 16 bytes by an access. Data
are zeros, but for a hundred ones, so that sums and prefixes are exact in every type and order; the
second operand has small integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import execspace as es
from benchmarks.cuda import hand_types
from benchmarks.cuda.arrays import Arrays, all_equal
from benchmarks.cuda.cub import Cub
from benchmarks.cuda.timing import Bench, Call, Contestant, NotThere

BYTES = 2**28  # of an array
TYPES = (
    "int8", "uint8", "int16", "float16", "int32", "float32", "int64", "float64", "complex64",
    "complex128",
)  # fmt: skip
# Rows of a few thousand elements; the fastest extent is odd times a power of two.
INNER = {1: (), 2: (12288,), 3: (96, 1536), 4: (12, 24, 384)}
FACTOR = 3
ONES = 100


@es.kernel
def add1(i, x, y, z):
    z[i] = x[i] + y[i]


@es.kernel
def add2(i, j, x, y, z):
    z[i, j] = x[i, j] + y[i, j]


@es.kernel
def add3(i, j, k, x, y, z):
    z[i, j, k] = x[i, j, k] + y[i, j, k]


@es.kernel
def add4(i, j, k, p, x, y, z):
    z[i, j, k, p] = x[i, j, k, p] + y[i, j, k, p]


@es.kernel
def triad1(i, x, y, z):
    z[i] = x[i] + FACTOR * y[i]


@es.kernel
def triad2(i, j, x, y, z):
    z[i, j] = x[i, j] + FACTOR * y[i, j]


@es.kernel
def triad3(i, j, k, x, y, z):
    z[i, j, k] = x[i, j, k] + FACTOR * y[i, j, k]


@es.kernel
def triad4(i, j, k, p, x, y, z):
    z[i, j, k, p] = x[i, j, k, p] + FACTOR * y[i, j, k, p]


@es.kernel
def element1(i, x):
    return x[i]


@es.kernel
def element2(i, j, x):
    return x[i, j]


@es.kernel
def element3(i, j, k, x):
    return x[i, j, k]


@es.kernel
def element4(i, j, k, p, x):
    return x[i, j, k, p]


@es.kernel
def inclusive(i, prefix, final, x, z):
    if final:
        z[i] = prefix + x[i]
    return x[i]


STREAMS = {"add": (add1, add2, add3, add4), "triad": (triad1, triad2, triad3, triad4)}
ELEMENTS = (element1, element2, element3, element4)


@dataclass(frozen=True)
class Data:
    """Operands of one type and rank: on the host, CuPy's, and Views of the space."""

    arrays: Arrays
    dtype: str
    shape: tuple[int, ...]
    host: tuple[np.ndarray, np.ndarray]
    flat: tuple[Any, Any, Any]
    views: tuple[es.View, es.View, es.View]

    @property
    def size(self) -> int:
        """Elements of an array."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of an array."""
        return self.size * np.dtype(self.dtype).itemsize

    def policy(self) -> es.RangePolicy | es.MDRangePolicy:
        """A range over all elements."""
        space = self.arrays.space
        if len(self.shape) == 1:
            return es.RangePolicy(0, self.size, space=space)
        return es.MDRangePolicy((0,) * len(self.shape), self.shape, space=space)

    def poison(self) -> None:
        """Leave no right element in either result."""
        self.flat[2].fill(77)
        es.deep_copy(self.views[2], 77)

    def check_z(self, expected: Any) -> Callable[[Any], None]:
        """Whether z of execspace is the expected CuPy array."""

        def check(_: Any) -> None:
            found = np.empty(self.shape, self.dtype)
            es.deep_copy(found, self.views[2])
            all_equal(self.arrays.cupy.asarray(found).reshape(-1), expected)

        return check

    def check_flat(self, expected: Any) -> Callable[[Any], None]:
        """The same for the others."""
        return lambda _: all_equal(self.flat[2], expected)


def data(d: Arrays, dtype: str, rank: int) -> Data:
    """Operands in new memory."""
    inner = INNER[rank]
    row = math.prod(inner)
    outer = BYTES // np.dtype(dtype).itemsize // row
    shape = (outer, *inner)
    random = np.random.default_rng(1)
    x = np.zeros(outer * row, dtype)
    x[random.choice(x.size, ONES, replace=False)] = 1
    y = random.integers(0, 8, x.size, dtype=np.int8).astype(dtype)
    views = tuple(
        es.View(shape, dtype, space=d.space, label=name, initialize=False) for name in "xyz"
    )
    for view, array in zip(views, (x, y), strict=False):
        es.deep_copy(view, array.reshape(shape))
    cupy = d.cupy
    flat = (cupy.asarray(x), cupy.asarray(y), cupy.zeros(x.size, dtype))
    return Data(d, dtype, shape, (x, y), flat, views)  # type: ignore[arg-type]


def types(bench: Bench, d: Arrays) -> None:
    """Every element type: add and triad, maximum and sum of ranks 1 to 4, inclusive scan."""
    cub = Cub(d.cupy, TYPES)
    for dtype in TYPES:
        if dtype == "float16" and not d.space.capabilities.float16:
            continue  # as of OpenCL on NVIDIA's GPUs
        for rank in INNER:
            operands = data(d, dtype, rank)
            for name in STREAMS:
                bench.kernels(3 * operands.nbytes, list(_streams(operands, name)))
            if np.dtype(dtype).kind != "c":
                bench.kernels(operands.nbytes, list(_reductions(operands, "max", cub)))
            bench.kernels(operands.nbytes, list(_reductions(operands, "sum", cub)))
            if rank == 1:
                bench.kernels(2 * operands.nbytes, list(_scans(operands, cub)))
            del operands
            d.cupy.get_default_memory_pool().free_all_blocks()


def _title(operands: Data, name: str) -> str:
    return f"{name} {operands.dtype} rank {len(operands.shape)}"


def _streams(o: Data, name: str) -> Iterator[Contestant]:
    x, y, z = o.flat
    factor = 1 if name == "add" else FACTOR
    expected = x + np.dtype(o.dtype).type(factor) * y

    def ours() -> Call:
        return partial(es.parallel_for, o.policy(), STREAMS[name][len(o.shape) - 1], *o.views)

    def torch() -> Call:
        u, v, w = (o.arrays.peers.tensor(a) for a in o.flat)
        return partial(o.arrays.peers.torch.add, u, v, alpha=factor, out=w)

    title = _title(o, name)
    yield Contestant(title, ours, o.check_z(expected), o.poison, ours=True)
    flat = o.check_flat(expected)
    hand = lambda: hand_types.streams(o.arrays.cupy, o.dtype, factor, x, y, z)  # noqa: E731
    yield Contestant("hand-written, rank 1", hand, flat, o.poison)
    yield Contestant("torch.add", torch, flat, o.poison)


def _reductions(o: Data, name: str, cub: Cub) -> Iterator[Contestant]:
    host = o.host[1] if name == "max" else o.host[0]
    array = o.flat[1] if name == "max" else o.flat[0]
    view = o.views[1] if name == "max" else o.views[0]
    expected = complex(host.max() if name == "max" else ONES)
    reducer = es.Max if name == "max" else es.Sum
    kernel = ELEMENTS[len(o.shape) - 1]
    policy = o.policy()
    result = np.asarray(es.parallel_reduce(policy, kernel, view, reducer=reducer)).dtype
    kept = np.dtype(o.dtype) if name == "max" else result
    out = es.View((), kept, space=o.arrays.space, label="out")

    def ours() -> Call:
        return partial(es.parallel_reduce, policy, kernel, view, reducer=reducer, out=out)

    def check(found: Any) -> None:
        got = complex(found)
        assert got == expected, f"expected {expected}, got {got}"

    def check_out(_: Any) -> None:
        found = np.zeros((), kept)
        es.deep_copy(found, out)
        check(found[()])

    def torch() -> Call:
        return partial(getattr(o.arrays.peers.torch, name), o.arrays.peers.tensor(array))

    def by_cub() -> Call:
        return cub.reduction(name, array)

    yield Contestant(_title(o, name), ours, check_out, lambda: es.deep_copy(out, 55), ours=True)
    yield Contestant("CUB", by_cub, lambda _: check(cub.result(name, array)))
    yield Contestant(f"torch.{name}", torch, lambda t: check(t.item()))
    if np.dtype(o.dtype).kind != "c":
        made = hand_types.Reductions(o.arrays.cupy, o.dtype, name)
        yield Contestant("hand-written", lambda: made.calls(array), lambda _: check(made.result()))


def _scans(o: Data, cub: Cub) -> Iterator[Contestant]:
    x, _, z = o.flat
    expected = o.arrays.cupy.asarray(np.cumsum(o.host[0], dtype=np.float64).astype(o.dtype))

    total = es.View((), o.dtype, space=o.arrays.space, label="total")

    def ours() -> Call:
        # With out= the total stays on the device, as the others' does, so no launch is waited for.
        return partial(es.parallel_scan, o.policy(), inclusive, o.views[0], o.views[2], out=total)

    def torch() -> Call:
        if o.dtype == "float16":
            raise NotThere("sums of float16 in float16")
        u, w = o.arrays.peers.tensor(x), o.arrays.peers.tensor(z)
        return partial(o.arrays.peers.torch.cumsum, u, 0, dtype=u.dtype, out=w)

    yield Contestant(_title(o, "scan"), ours, o.check_z(expected), o.poison, ours=True)
    flat = o.check_flat(expected)
    yield Contestant("CUB", lambda: cub.scan(x, z), flat, o.poison)
    yield Contestant("torch.cumsum", torch, flat, o.poison)

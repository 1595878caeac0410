"""Data of the kernels: as much as the scalar form takes some milliseconds for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

import execspace as es
from benchmarks.lanes import kernels

REALS = ("float64", "float32")
SEED = 5374857


@dataclass(frozen=True)
class Case:
    """A kernel with a range and arguments.

    Attributes
    ----------
    name : str
    kernel : Any
    lower, upper : tuple of int
        The range.
    arguments : tuple
        Views and numbers, as the kernel has them.
    written : tuple of int
        Which arguments the kernel stores into.
    extents : tuple of int
        What loops in C are given beside them.
    tolerance : float
        Greatest difference of a result to that of the scalar form, in units of rounding of the
        greatest result; 0: none, to the bit.
    share : float
        Of results that may differ more: where rounding decides a branch.
    """

    name: str
    kernel: Any
    lower: tuple[int, ...]
    upper: tuple[int, ...]
    arguments: tuple[Any, ...]
    written: tuple[int, ...] = (0,)
    extents: tuple[int, ...] = ()
    tolerance: float = 0.0
    share: float = 0.0

    @property
    def integers(self) -> bool:
        """Whether no floating number is stored, nor decides what is."""
        return self.tolerance == 0.0 and self.share == 0.0

    def policy(self, space: es.ExecutionSpace, lanes: int | None = None) -> Any:
        """The range on a space."""
        if len(self.upper) == 1:
            return es.RangePolicy(self.lower[0], self.upper[0], space=space, lanes=lanes)
        return es.MDRangePolicy(self.lower, self.upper, space=space, lanes=lanes)

    def arrays(self) -> list[np.ndarray[Any, Any]]:
        """What the kernel stores into."""
        return [np.asarray(self.arguments[n]) for n in self.written]

    def disagreement(
        self, found: list[np.ndarray[Any, Any]], expected: list[np.ndarray[Any, Any]]
    ) -> dict[str, Any]:
        """How results differ; AssertionError if by more than they may."""
        same = all(a.tobytes() == b.tobytes() for a, b in zip(found, expected, strict=True))
        if same:
            return {"same_to_the_bit": True}
        worst, share = 0.0, 0.0
        for a, b in zip(found, expected, strict=True):
            real = b.dtype.kind == "f"
            unit = np.finfo(b.dtype).eps * np.abs(b).max() if real else 1.0
            with np.errstate(invalid="ignore"):
                off = np.abs(a.astype(np.float64) - b.astype(np.float64)) / unit
            beyond = ~(off <= self.tolerance)
            share = max(share, float(beyond.mean()))
            worst = max(worst, float(off.max()))
        assert share <= self.share, (
            f"wrong: {100 * share:.3g} % of the results differ by more than {self.tolerance:g} "
            f"units of rounding, the worst by {worst:.3g}"
        )
        return {"same_to_the_bit": False, "units_of_rounding": worst, "share_beyond": share}


def _view(values: Any, space: es.ExecutionSpace) -> es.View:
    values = np.ascontiguousarray(values)
    made = es.View(values.shape, values.dtype, space=space)
    np.asarray(made)[...] = values
    return made


def nbody(real: str, space: es.ExecutionSpace) -> Case:
    n = 1536
    rng = np.random.default_rng(1)
    position = _view(rng.normal(size=(n, 3)).astype(real), space)
    mass = _view(rng.random(n).astype(real), space)
    arguments = (_view(np.zeros((n, 3), real), space), position, mass, 0.01)
    return Case("nbody", kernels.nbody, (0,), (n,), arguments, (0,), (n,), 500)


def mandelbrot(real: str, space: es.ExecutionSpace) -> Case:
    rows, columns, limit = 160, 240, 200
    re = _view(np.linspace(-2.0, 0.5, columns, dtype=real), space)
    im = _view(np.linspace(-1.2, 1.2, rows, dtype=real), space)
    steps = _view(np.zeros((rows, columns), np.int32), space)
    arguments = (steps, re, im, limit)
    return Case(
        "mandelbrot", kernels.mandelbrot, (0, 0), (rows, columns), arguments, (0,), (columns,),
        share=0.01,
    )  # fmt: skip


def black_scholes(real: str, space: es.ExecutionSpace) -> Case:
    n = 131072
    rng = np.random.default_rng(2)
    bounds = ((5.0, 30.0), (5.0, 30.0), (0.25, 10.0))
    given = [_view(rng.uniform(a, b, n).astype(real), space) for a, b in bounds]
    prices = [_view(np.zeros(n, real), space) for _ in range(2)]
    arguments = (*prices, *given)
    return Case("black_scholes", kernels.black_scholes, (0,), (n,), arguments, (0, 1), (), 64)


def ray_tracer(real: str, space: es.ExecutionSpace) -> Case:
    rows, columns, count = 96, 128, 36
    rng = np.random.default_rng(3)
    vector, sphere = (
        (kernels.Vector64, kernels.Sphere64) if real == "float64"
        else (kernels.Vector32, kernels.Sphere32)
    )  # fmt: skip
    spheres: np.ndarray[Any, Any] = np.zeros(count, sphere.dtype)
    spheres["centre"]["x"], spheres["centre"]["y"] = rng.uniform(-4, 4, (2, count))
    spheres["centre"]["z"] = rng.uniform(6, 12, count)
    spheres["radius"], spheres["mirror"] = rng.uniform(0.3, 1.1, count), rng.uniform(0, 1, count)
    camera = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], vector.dtype)
    light = np.array([tuple(np.array([1.0, 2.0, -2.0]) / 3.0)], vector.dtype)
    records = []
    for values, kind in ((spheres, sphere), (camera, vector), (light, vector)):
        records.append(es.View(len(values), kind, space=space))
        np.asarray(records[-1])[...] = values
    across = _view(np.linspace(-0.6, 0.6, columns, dtype=real), space)
    down = _view(np.linspace(0.45, -0.45, rows, dtype=real), space)
    image = _view(np.zeros((rows, columns), real), space)
    return Case(
        "ray_tracer", kernels.ray_tracer, (0, 0), (rows, columns),
        (image, *records, across, down), (0,), (columns, count), 1e4, 0.01,
    )  # fmt: skip


def lj(real: str, space: es.ExecutionSpace) -> Case:
    """Atoms near the points of a cubic lattice; those within the cutoff and a skin are listed."""
    edge, cutoff, skin = 18, 2.5, 0.3
    spacing = 0.8442 ** (-1 / 3)  # of Lennard-Jones' liquid as benchmarks have it
    rng = np.random.default_rng(4)
    grid = np.stack(np.meshgrid(*[np.arange(edge)] * 3, indexing="ij"), -1)
    at = spacing * (grid + rng.uniform(-0.1, 0.1, grid.shape))
    number = np.arange(edge**3).reshape((edge,) * 3)
    found: list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]] = []
    for shift in product(range(-3, 4), repeat=3):
        here = tuple(slice(max(0, -s), edge - max(0, s)) for s in shift)
        there = tuple(slice(max(0, s), edge - max(0, -s)) for s in shift)
        near = np.linalg.norm(at[here] - at[there], axis=-1) < cutoff + skin
        if any(shift):
            found.append((number[here][near], number[there][near]))
    own, other = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.lexsort((other, own))
    own, other = own[order], other[order]
    count = np.bincount(own, minlength=edge**3)
    neighbours = np.zeros((edge**3, count.max()), np.int32)
    neighbours[own, np.arange(own.size) - (np.cumsum(count) - count)[own]] = other
    arguments = (
        _view(np.zeros((edge**3, 3), real), space), _view(at.reshape(-1, 3).astype(real), space),
        _view(count.astype(np.int32), space), _view(neighbours, space), cutoff**2,
    )  # fmt: skip
    return Case("lj", kernels.lj, (0,), (edge**3,), arguments, (0,), (int(count.max()),), 500)


def eigen3(real: str, space: es.ExecutionSpace) -> Case:
    n = 16384
    a = np.random.default_rng(5).normal(size=(n, 3, 3))
    matrices = _view((a + a.transpose(0, 2, 1)).astype(real), space)
    arguments = (_view(np.zeros((n, 3), real), space), matrices)
    return Case("eigen3", kernels.eigen3, (0,), (n,), arguments, (0,), (), 200)


def lbm(real: str, space: es.ExecutionSpace) -> Case:
    rows = columns = 354
    rng = np.random.default_rng(6)
    weights = np.array([w for *_, w in kernels.D2Q9])[:, None, None]
    old = _view((weights * rng.uniform(0.9, 1.1, (9, rows, columns))).astype(real), space)
    arguments = (_view(np.zeros((9, rows, columns), real), space), old, 1.2)
    return Case(
        "lbm", kernels.lbm, (1, 1), (rows - 1, columns - 1), arguments, (0,), (rows, columns), 64
    )


def ising(real: str, space: es.ExecutionSpace) -> Case:
    rows = columns = 512
    spins = np.random.default_rng(7).choice(np.array([-1, 1], np.int8), (rows, columns))
    accept = np.exp(-2 * 0.4406868 * np.arange(-4, 5, 2)).astype(real)  # at the critical point
    arguments = (_view(spins, space), _view(accept, space), 1, 17)
    return Case(
        "ising", kernels.ising, (0, 0), (rows, columns // 2), arguments, (0,), (rows, columns)
    )


def spmv(real: str, space: es.ExecutionSpace) -> Case:
    n = 98304
    rng = np.random.default_rng(8)
    count = rng.integers(4, 29, n)
    first = np.concatenate([[0], np.cumsum(count)])
    row = np.repeat(np.arange(n), count)
    columns = np.clip(row + rng.integers(-2000, 2000, row.size), 0, n - 1)
    columns = columns[np.lexsort((columns, row))]
    arguments = (
        _view(np.zeros(n, real), space), _view(first.astype(np.int32), space),
        _view(columns.astype(np.int32), space), _view(rng.random(row.size).astype(real), space),
        _view(rng.random(n).astype(real), space),
    )  # fmt: skip
    return Case("spmv", kernels.spmv, (0,), (n,), arguments, (0,), (), 16)


def smith_waterman(real: str, space: es.ExecutionSpace) -> Case:
    n = 1024
    rng = np.random.default_rng(9)
    first = rng.integers(0, 4, (n, kernels.LENGTH)).astype(np.uint8)
    changed = rng.random(first.shape) < 0.3
    second = np.where(changed, rng.integers(0, 4, first.shape), first).astype(np.uint8)
    arguments = (_view(np.zeros(n, np.int32), space), _view(first, space), _view(second, space))
    return Case("smith_waterman", kernels.smith_waterman, (0,), (n,), arguments)


def random(real: str, space: es.ExecutionSpace) -> Case:
    n, darts = 16384, 16
    kernel = kernels.darts64 if real == "float64" else kernels.darts32
    arguments = (_view(np.zeros(n, real), space), SEED, darts)
    return Case("random", kernel, (0,), (n,), arguments, share=1e-3)


def integer_hash(real: str, space: es.ExecutionSpace) -> Case:
    n, rounds = 65536, 32
    kind, kernel = (np.uint64, kernels.hash64) if real == "float64" else (np.uint32, kernels.hash32)
    arguments = (_view(np.zeros(n, kind), space), _view(np.arange(n, dtype=kind), space), rounds)
    return Case("integer_hash", kernel, (0,), (n,), arguments)


CASES: dict[str, Callable[[str, es.ExecutionSpace], Case]] = {
    made.__name__: made
    for made in (
        nbody, mandelbrot, black_scholes, ray_tracer, lj, eigen3, lbm, ising, spmv,
        smith_waterman, random, integer_hash,
    )
}  # fmt: skip

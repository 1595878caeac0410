"""The section `compute`: kernels whose arithmetic decides, beside the same kernels by hand.

Mandelbrot's set, an integer hash, the naive product of two matrices, gravity of all pairs, and
products of complex 3 x 3 matrices with vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import execspace as es
from benchmarks.cuda.arrays import Arrays
from benchmarks.cuda.hand_computing import CPP, PAIRS, Hand
from benchmarks.cuda.timing import Bench, Call, Contestant

EDGE, LIMIT = 4096, 1000  # of the picture
HASHED, ROUNDS = 1 << 26, 16
MATRIX = 2048
BODIES = 1 << 16
SITES = 1 << 21


@es.kernel
def mandelbrot(i, j, left, top, step, limit, out):
    """Steps before the orbit of a point leaves the disc of radius two."""
    cr = left + step * j
    ci = top + step * i
    zr = cr
    zi = ci
    count = 0
    while count < limit and zr * zr + zi * zi <= 4.0:
        next_zr = zr * zr - zi * zi + cr
        zi = 2.0 * zr * zi + ci
        zr = next_zr
        count += 1
    out[i, j] = count


@es.kernel
def hashed(i, rounds, x, out):
    """Rounds of the finisher of MurmurHash3."""
    h = x[i]
    for _ in range(rounds):
        h ^= h >> es.uint32(16)
        h *= es.uint32(0x85EBCA6B)
        h ^= h >> es.uint32(13)
        h *= es.uint32(0xC2B2AE35)
        h ^= h >> es.uint32(16)
    out[i] = h


@es.kernel
def product(i, j, a, b, c):
    """One element of a product of matrices."""
    total = c.dtype(0)
    for k in range(a.shape[1]):
        total += a[i, k] * b[k, j]
    c[i, j] = total


@es.kernel
def gravity(i, x, y, z, m, softening, ax, ay, az):
    """The pull of all bodies on one."""
    xi = x[i]
    yi = y[i]
    zi = z[i]
    fx = ax.dtype(0)
    fy = ax.dtype(0)
    fz = ax.dtype(0)
    for j in range(x.shape[0]):
        dx = x[j] - xi
        dy = y[j] - yi
        dz = z[j] - zi
        distance = 1.0 / np.sqrt(dx * dx + dy * dy + dz * dz + softening)
        pull = m[j] * distance * distance * distance
        fx += pull * dx
        fy += pull * dy
        fz += pull * dz
    ax[i] = fx
    ay[i] = fy
    az[i] = fz


@es.kernel
def links(i, u, v, w):
    """A complex 3 x 3 matrix times a vector, of each site."""
    for r in range(3):
        total = u[r, 0, i] * v[0, i]
        total += u[r, 1, i] * v[1, i]
        total += u[r, 2, i] * v[2, i]
        w[r, i] = total


class Work:
    """Arrays on the device, and contestants that fill some of them."""

    def __init__(self, bench: Bench, d: Arrays) -> None:
        self.bench, self.arrays, self.cupy = bench, d, d.cupy
        self.random = np.random.default_rng(3)
        self.hand = Hand(d.cupy)

    def uniform(self, shape: tuple[int, ...], dtype: str) -> Any:
        """Numbers from 0 to 1 as an array of CuPy."""
        numbers = self.random.random(shape)
        if dtype.startswith("complex"):
            numbers = numbers + 1j * self.random.random(shape)
        return self.cupy.asarray(numbers, dtype=dtype)

    def compare(
        self,
        name: str,
        nbytes: int,
        launch: Callable[[Callable[[Any], es.View]], Call],
        by_hand: Callable[[], dict[str, Call]],
        results: list[Any],
        tolerance: float,
        others: float = 0.0,
    ) -> None:
        """Both, where the first call by hand says what the results are.

        All but a share of `others` must be within `tolerance` of the largest.
        """
        next(iter(by_hand().values()))()
        expected = [array.copy() for array in results]

        def check(_: Any) -> None:
            for found, wanted in zip(results, expected, strict=True):
                bound = tolerance * float(abs(wanted).max())
                wrong = int((abs(found - wanted) > bound).sum())
                assert wrong <= others * wanted.size, f"{wrong} of {wanted.size} are wrong"

        def poison() -> None:
            for array in results:
                array.fill(7)

        own = Contestant(name, lambda: launch(self.arrays.view), check, poison, ours=True)
        self.bench.kernels(nbytes, [own, Contestant("hand-written", by_hand, check, poison)])

    def line(self, n: int) -> es.RangePolicy:
        """A range of n."""
        return es.RangePolicy(0, n, space=self.arrays.space)

    def plane(self, rows: int, columns: int) -> es.MDRangePolicy:
        """A range over a matrix."""
        return es.MDRangePolicy((0, 0), (rows, columns), space=self.arrays.space)


def compute(bench: Bench, d: Arrays) -> None:
    """Kernels whose arithmetic or whose many reads decide. Bytes are those that must move."""
    work = Work(bench, d)
    for dtype in CPP:
        _mandelbrot(work, dtype)
    _hashed(work)
    for dtype in CPP:
        _product(work, dtype)
    for dtype in CPP:
        _gravity(work, dtype)
    for dtype in PAIRS:
        _links(work, dtype)


def _mandelbrot(w: Work, dtype: str) -> None:
    kind = np.dtype(dtype).type
    out = w.cupy.zeros((EDGE, EDGE), np.int32)
    corner = (kind(-2.0), kind(-1.25), kind(2.5 / EDGE))
    # Whether a multiplication and an addition are one moves points of the border by some steps.
    w.compare(
        f"Mandelbrot {dtype}",
        4 * EDGE**2,
        lambda view: partial(
            es.parallel_for, w.plane(EDGE, EDGE), mandelbrot, *corner, LIMIT, view(out)
        ),
        lambda: w.hand.plane(
            f"mandelbrot<{CPP[dtype]}>", EDGE, EDGE,
            *corner, np.int32(LIMIT), out, np.int32(EDGE), np.int32(EDGE),
        ),
        [out],
        0.0,
        1e-3,
    )  # fmt: skip


def _hashed(w: Work) -> None:
    x = w.cupy.arange(HASHED, dtype=np.uint32)
    out = w.cupy.zeros(HASHED, np.uint32)
    w.compare(
        "integer hash",
        8 * HASHED,
        lambda view: partial(es.parallel_for, w.line(HASHED), hashed, ROUNDS, view(x), view(out)),
        lambda: w.hand.line("hashed", HASHED, np.int32(ROUNDS), x, out),
        [out],
        0.0,
    )


def _product(w: Work, dtype: str) -> None:
    a, b = (w.uniform((MATRIX, MATRIX), dtype) for _ in range(2))
    c = w.cupy.zeros_like(a)
    w.compare(
        f"matrix product {dtype}",
        3 * a.nbytes,
        lambda view: partial(
            es.parallel_for, w.plane(MATRIX, MATRIX), product, view(a), view(b), view(c)
        ),
        lambda: w.hand.plane(f"product<{CPP[dtype]}>", MATRIX, MATRIX, a, b, c, np.int32(MATRIX)),
        [c],
        1e-5,
    )


def _gravity(w: Work, dtype: str) -> None:
    bodies = [w.uniform((BODIES,), dtype) for _ in range(4)]
    pulls = [w.cupy.zeros(BODIES, dtype) for _ in range(3)]
    softening = np.dtype(dtype).type(1e-3)
    w.compare(
        f"gravity {dtype}",
        7 * bodies[0].nbytes,
        lambda view: partial(
            es.parallel_for, w.line(BODIES), gravity,
            *map(view, bodies), softening, *map(view, pulls),
        ),
        lambda: w.hand.line(f"gravity<{CPP[dtype]}>", BODIES, *bodies, softening, *pulls),
        pulls,
        1e-4,
    )  # fmt: skip


def _links(w: Work, dtype: str) -> None:
    u, v = w.uniform((3, 3, SITES), dtype), w.uniform((3, SITES), dtype)
    out = w.cupy.zeros_like(v)
    w.compare(
        f"complex 3 x 3 {dtype}",
        u.nbytes + v.nbytes + out.nbytes,
        lambda view: partial(es.parallel_for, w.line(SITES), links, view(u), view(v), view(out)),
        lambda: w.hand.line(f"links<{PAIRS[dtype]}>", SITES, u, v, out),
        [out],
        1e-5,
    )

"""What the benchmark of multi-dimensional ranges measures: kernels, shapes, right results.

Shapes and operations are those of Kokkos' own benchmarks of MDRangePolicy, whose published figures
are in kokkos.py. Elements repeat with a period that has no divisor in common with any
extent, so what an array of any size should hold follows from one small table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

import execspace as es
from benchmarks.common.device_kernels import TRIADS, element, element3

Table = npt.NDArray[np.float64]

S = 2.718281828  # of set, scale and triad
FIFTH, SEVENTH, NINTH = 0.2, 1.0 / 7.0, 1.0 / 9.0
PERIOD = 65537  # a prime
OUTSIDE = -1.0  # what the output holds where no kernel may write

# -- kernels: inputs first, the output last --------------------------------------------------------


@es.kernel
def set2(i, j, s, c):
    c[i, j] = s


@es.kernel
def set3(i, j, k, s, c):
    c[i, j, k] = s


@es.kernel
def set4(i, j, k, m, s, c):
    c[i, j, k, m] = s


@es.kernel
def set5(i, j, k, m, n, s, c):
    c[i, j, k, m, n] = s


@es.kernel
def set6(i, j, k, m, n, p, s, c):
    c[i, j, k, m, n, p] = s


@es.kernel
def copy2(i, j, a, c):
    c[i, j] = a[i, j]


@es.kernel
def copy3(i, j, k, a, c):
    c[i, j, k] = a[i, j, k]


@es.kernel
def copy4(i, j, k, m, a, c):
    c[i, j, k, m] = a[i, j, k, m]


@es.kernel
def copy5(i, j, k, m, n, a, c):
    c[i, j, k, m, n] = a[i, j, k, m, n]


@es.kernel
def copy6(i, j, k, m, n, p, a, c):
    c[i, j, k, m, n, p] = a[i, j, k, m, n, p]


@es.kernel
def scale2(i, j, s, a, c):
    c[i, j] = s * a[i, j]


@es.kernel
def scale3(i, j, k, s, a, c):
    c[i, j, k] = s * a[i, j, k]


@es.kernel
def scale4(i, j, k, m, s, a, c):
    c[i, j, k, m] = s * a[i, j, k, m]


@es.kernel
def scale5(i, j, k, m, n, s, a, c):
    c[i, j, k, m, n] = s * a[i, j, k, m, n]


@es.kernel
def scale6(i, j, k, m, n, p, s, a, c):
    c[i, j, k, m, n, p] = s * a[i, j, k, m, n, p]


@es.kernel
def add2(i, j, a, b, c):
    c[i, j] = a[i, j] + b[i, j]


@es.kernel
def add3(i, j, k, a, b, c):
    c[i, j, k] = a[i, j, k] + b[i, j, k]


@es.kernel
def add4(i, j, k, m, a, b, c):
    c[i, j, k, m] = a[i, j, k, m] + b[i, j, k, m]


@es.kernel
def add5(i, j, k, m, n, a, b, c):
    c[i, j, k, m, n] = a[i, j, k, m, n] + b[i, j, k, m, n]


@es.kernel
def add6(i, j, k, m, n, p, a, b, c):
    c[i, j, k, m, n, p] = a[i, j, k, m, n, p] + b[i, j, k, m, n, p]


@es.kernel
def five_point(i, j, b, a):
    a[i, j] = FIFTH * (b[i, j] + b[i + 1, j] + b[i - 1, j] + b[i, j + 1] + b[i, j - 1])


@es.kernel
def seven_point(i, j, k, b, a):
    a[i, j, k] = SEVENTH * (
        b[i, j, k]
        + b[i + 1, j, k] + b[i - 1, j, k]
        + b[i, j + 1, k] + b[i, j - 1, k]
        + b[i, j, k + 1] + b[i, j, k - 1]
    )  # fmt: skip


@es.kernel
def nine_point(i, j, k, m, b, a):
    a[i, j, k, m] = NINTH * (
        b[i, j, k, m]
        + b[i + 1, j, k, m] + b[i - 1, j, k, m]
        + b[i, j + 1, k, m] + b[i, j - 1, k, m]
        + b[i, j, k + 1, m] + b[i, j, k - 1, m]
        + b[i, j, k, m + 1] + b[i, j, k, m - 1]
    )  # fmt: skip


@es.kernel
def update(i, j, b, a):
    a[i, j] += 2.0 * b[i, j]


@es.kernel
def transpose(i, j, b, a):
    a[i, j] = b[j, i]


STREAM: dict[str, dict[int, Any]] = {
    "set": {2: set2, 3: set3, 4: set4, 5: set5, 6: set6},
    "copy": {2: copy2, 3: copy3, 4: copy4, 5: copy5, 6: copy6},
    "scale": {2: scale2, 3: scale3, 4: scale4, 5: scale5, 6: scale6},
    "add": {2: add2, 3: add3, 4: add4, 5: add5, 6: add6},
    "triad": TRIADS,
}
STENCILS: dict[int, Any] = {2: five_point, 3: seven_point, 4: nine_point}
FLAT_SUM = element  # the sum of rank 3 over a flat range of the same memory

# -- cases -----------------------------------------------------------------------------------------

GROUPS = ("stream", "stencil", "update", "transpose", "sum")
LAYOUTS = ("left", "right")
INPUTS = {"set": 0, "copy": 1, "scale": 1, "add": 2, "triad": 2}  # others have one
SCALAR = ("set", "scale", "triad")
FACTORS = {2: FIFTH, 3: SEVENTH, 4: NINTH}
# float64 that a call must move, each 8 bytes; what a stencil reads again comes from caches
MOVED = {"set": 1, "copy": 2, "scale": 2, "add": 3, "triad": 3, "stencil": 2, "update": 3,
         "transpose": 2, "sum": 1}  # fmt: skip


@dataclass(frozen=True)
class Sizes:
    """Extents: N of arrays of N^6 elements, of stencils by rank, of squares."""

    edges: tuple[int, ...]
    stencils: dict[int, tuple[int, ...]]
    squares: tuple[int, ...]


DEVICE = Sizes((22, 24), {2: (8192,), 3: (512,), 4: (96,)}, (16384,))
HOST = Sizes((12, 16), {2: (512, 4096), 3: (64, 256), 4: (22, 64)}, (512, 4096))  # cache, DRAM
QUICK = Sizes((6,), {2: (130,), 3: (34,), 4: (10,)}, (192,))


@dataclass(frozen=True)
class Expected:
    """What the output should hold at each place in memory.

    Attributes
    ----------
    table : float64 array of length PERIOD
        Element p of the memory is ``table[p % PERIOD]``.
    rtol : float
        0.0 is equality.
    transposed : bool
        Element ``(i, j)`` of the memory is instead that of place ``(j, i)``.
    """

    table: Table
    rtol: float = 0.0
    transposed: bool = False


@dataclass(frozen=True)
class Case:
    """One operation over one shape in one layout.

    Attributes
    ----------
    group, operation, layout : str
    shape : tuple of int
    size : str
        The shape in short: "24^6".
    kernel : Kernel
        Takes the scalar if there is one, then the inputs, then the output (a sum has none).
    """

    group: str
    operation: str
    layout: str
    shape: tuple[int, ...]
    size: str
    kernel: Any

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def name(self) -> str:
        if self.group == "stencil":
            return f"{self.rank}-D {2 * self.rank + 1}-point {self.layout} {self.size}"
        rank = f" rank {self.rank}" if self.group in ("stream", "sum") else ""
        return f"{self.operation}{rank} {self.layout} {self.size}"

    @property
    def inputs(self) -> int:
        """Number of Views that the kernel only reads."""
        return INPUTS.get(self.operation, 1)

    @property
    def scalar(self) -> bool:
        return self.operation in SCALAR

    @property
    def border(self) -> int:
        """Width of the rim that the kernel leaves alone."""
        return 1 if self.group == "stencil" else 0

    @property
    def bounds(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Lower and upper bounds of the range."""
        return (self.border,) * self.rank, tuple(n - self.border for n in self.shape)

    @property
    def elements(self) -> int:
        """Elements of an array."""
        return prod(self.shape)

    @property
    def calls(self) -> int:
        """Calls of the kernel in a launch."""
        return prod(n - 2 * self.border for n in self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes that a launch must move."""
        return 8 * self.calls * MOVED.get(self.operation, 2)

    @property
    def extents(self) -> tuple[int, ...]:
        """The shape as it is in memory, the contiguous dimension first."""
        return self.shape if self.layout == "left" else self.shape[::-1]

    @property
    def starts_with(self) -> Table | None:
        """What the output holds before a launch; None: OUTSIDE."""
        return TABLES[1] if self.operation == "update" else None

    @cached_property
    def expected(self) -> Expected:
        """What the output holds after a launch, computed by NumPy."""
        a, b = TABLES
        match self.operation:
            case "set":
                return Expected(np.full(PERIOD, S))
            case "copy":
                return Expected(a)
            case "scale":
                return Expected(S * a)
            case "add":
                return Expected(a + b)
            case "triad":
                # A compiler may contract it to one rounding where NumPy has two. All terms are
                # positive, so the two results differ by less than 2^-51 of either.
                return Expected(a + S * b, rtol=2.0**-51)
            case "update":
                return Expected(b + 2.0 * a)  # exact, contracted or not
            case "transpose":
                return Expected(a, transposed=True)
        total, step = a.copy(), 1
        for n in self.extents:
            total += np.roll(a, -step) + np.roll(a, step)
            step *= n
        return Expected(FACTORS[self.rank] * total)  # sums are exact; one product, one rounding

    @property
    def total(self) -> float:
        """The sum of the first input, exact in any order."""
        whole, rest = divmod(self.elements, PERIOD)
        return float(whole * TABLES[0].sum() + TABLES[0][:rest].sum())


def _tables() -> tuple[Table, Table]:
    """Two times PERIOD multiples of 1/64, above 0 and below 16, whose sums are exact."""
    random = np.random.default_rng(1)
    first, second = (random.integers(1, 1024, PERIOD) / 64.0 for _ in range(2))
    return first, second


TABLES = _tables()


def stream_shapes(n: int) -> dict[int, tuple[int, ...]]:
    """For each rank a shape of n^6 elements, in the order of layout left."""
    return {
        2: (n**3, n**3),
        3: (n**2, n**2, n**2),
        4: (n**2, n**2, n, n),
        5: (n**2, n, n, n, n),
        6: (n,) * 6,
    }


def _shaped(shape: tuple[int, ...], layout: str) -> tuple[int, ...]:
    """Reversed for layout right, so that both layouts are the same in memory."""
    return shape if layout == "left" else shape[::-1]


def cases_on_same_views(sizes: Sizes, only: Sequence[str] = ()) -> Iterator[list[Case]]:
    """All cases that were asked for; those of one list work on the same Views.

    `only` has names of groups, or a group and a text that the case's name contains, such as
    "stream:triad"; empty is all.
    """
    for found in _all(sizes):
        wanted = [case for case in found if _wanted(case, only)]
        if wanted:
            yield wanted


def _wanted(case: Case, only: Sequence[str]) -> bool:
    parts = [text.partition(":") for text in only]
    return not only or any(g == case.group and text.strip() in case.name for g, _, text in parts)


def _all(sizes: Sizes) -> Iterator[list[Case]]:
    for n in sizes.edges:
        for rank, left in stream_shapes(n).items():
            for layout in LAYOUTS:
                shape = _shaped(left, layout)
                yield [
                    Case("stream", operation, layout, shape, f"{n}^6", kernels[rank])
                    for operation, kernels in STREAM.items()
                ]
    for rank, extents in sizes.stencils.items():
        for n in extents:
            for layout in LAYOUTS:
                size = f"{n}^{rank}"
                yield [Case("stencil", "stencil", layout, (n,) * rank, size, STENCILS[rank])]
    for n in sizes.squares:
        for name, kernel in (("update", update), ("transpose", transpose)):
            for layout in LAYOUTS:
                yield [Case(name, name, layout, (n, n), f"{n}^2", kernel)]
    for n in sizes.edges:
        for layout in LAYOUTS:
            shape = _shaped(stream_shapes(n)[3], layout)
            yield [Case("sum", "sum", layout, shape, f"{n}^6", element3)]

"""StencilMatrix: a matrix whose rows are the points of a grid, with elements for their neighbours.

Neither a row map nor columns are stored: where an element stands follows from the extents of the
grid, so a product reads values and vectors alone. Kokkos Kernels has `spmv_struct` for products of
such matrices, which takes the graph all the same.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

import execspace as es

from ..arguments import MANY, as_view, check_not_waited_for, first, is_int64, on_space, shown
from ..errors import MatrixError
from . import ports
from .crs import CrsMatrix, StaticCrsGraph
from .elements import check_floats, check_numbers
from .matrix import Matrix
from .rows import offsets_for, summed

__all__ = ["StencilMatrix"]

_STREAMS = 9  # that hosts read side by side without loss
Steps = tuple[tuple[int, int, int], ...]
Extents = tuple[int, int, int]
STEPS: Steps = tuple((i, j, k) for i, j, k in product((-1, 0, 1), repeat=3))


class StencilMatrix(Matrix):
    """A square matrix of a stencil on a grid, of 3 points in one dimension, 5 or 9 in two, 7 or 27
    in three.

    Parameters
    ----------
    values : View or array, shape (n, points) or (points,)
        Of each grid point, the elements for its neighbours, by ascending columns; those for
        neighbours beyond the border are not read. Of shape (points,) if all points have the same.
        Real or complex floating-point numbers; they may change.
    extents : sequence of 1 to 3 int
        Of the grid, whose last dimension is the fastest: point (i, j) is row i * extents[1] + j.
        n is their product.
    space : str or ExecutionSpace, optional
        Copy values to its memory if it does not reach them.

    Raises
    ------
    MatrixError
        If values and extents do not fit, or there is no such stencil.

    Attributes
    ----------
    values : View
        In any layout. `from_crs` makes what the space likes best: "left", where elements for one
        step lie side by side, so that neighbouring rows are read together; but "right" for 27
        points on hosts, which read few streams at a time. Transposes want "left" there, too.
    extents : tuple of int
    points : int
        Elements of a row in the interior.
    shape : (int, int)

    Examples
    --------
    >>> from execspace_kernels import sparse
    >>> S = sparse.StencilMatrix([-1.0, 2.0, -1.0], extents=(4,))
    >>> (S @ [1.0, 1.0, 1.0, 1.0]).to_numpy().tolist()
    [1.0, 0.0, 0.0, 1.0]
    """

    _instead = (
        "For a copy take StencilMatrix(execspace.array(S.values), S.extents). Pickle "
        "S.values.to_numpy() and S.extents, and make a StencilMatrix of them where they arrive."
    )

    def __init__(
        self,
        values: Any,
        extents: Sequence[int],
        *,
        space: str | es.ExecutionSpace | None = None,
    ) -> None:
        self._extents = _grid(extents)
        elements = as_view(values, "values", space)
        points = elements.shape[-1] if elements.rank else 0
        _steps(len(self.extents), points)
        n = prod(self.extents)
        if elements.shape not in ((n, points), (points,)):
            raise MatrixError(
                f"values has shape {elements.shape}; expected ({n}, {points}), a row for each "
                f"point of a grid of {self.extents}, or ({points},)."
            )
        check_floats(elements)
        self._values = on_space(elements, space)
        self._ready: dict[Any, Any] = {}  # launches of products, for Views like those that came

    @classmethod
    def from_crs(
        cls,
        A: CrsMatrix | Any,
        extents: Sequence[int],
        *,
        space: str | es.ExecutionSpace | None = None,
    ) -> StencilMatrix:
        """The same matrix as one that has exactly the elements of a stencil. Blocks.

        Parameters
        ----------
        A : CrsMatrix, or a sparse matrix of another library
            Whose columns ascend in each row; read.
        extents : sequence of 1 to 3 int
            Of the grid.
        space : str or ExecutionSpace, optional
            Where to run, and whose memory gets the values.

        Raises
        ------
        MatrixError
            If `A` is no such matrix: the message has the first row that is not.
        """
        check_not_waited_for("StencilMatrix.from_crs")
        A, grid = ports.as_crs(A), _grid(extents)
        check_numbers("StencilMatrix", A)
        n = prod(grid)
        if A.shape != (n, n):
            raise MatrixError(
                f"StencilMatrix: A is {A.shape[0]} x {A.shape[1]}, and a grid of {grid} has {n} "
                f"points; expected {n} x {n}."
            )
        where = es.space_for(A.row_map, A.entries, A.values, space=space)
        d = len(grid)
        longest = 1 + sum(min(e, 3) - 1 for e in grid)  # row of a star
        steps = _steps(d, 2 * d + 1 if A.graph.longest() <= longest else 3**d)
        whole, form = _whole(grid), _form(d, len(steps))
        bad = first(n, where, _differs, A.row_map, A.entries, *whole, form)
        if bad is not None:
            begin, end = A.row_map[bad : bad + 2].to_numpy()
            raise MatrixError(
                f"StencilMatrix: row {bad} has entries in columns "
                f"{A.entries[begin:end].to_numpy().tolist()}; expected "
                f"{_columns(bad, grid, steps)}, those of a stencil of {len(steps)} points on a "
                f"grid of {grid}."
            )
        layout = "left" if where.concurrency > MANY or len(steps) <= _STREAMS else "right"
        values = es.View((n, len(steps)), A.dtype, label="values", space=where, layout=layout)
        every = es.RangePolicy(n, space=where)
        es.parallel_for(every, _taken, A.row_map, A.values, values, *whole, form)
        return cls(values, grid)

    @property
    def values(self) -> es.View:
        """The elements. Others of the same shape can be assigned."""
        return self._values

    @values.setter
    def values(self, values: Any) -> None:
        elements = as_view(values, "values")
        if elements.shape != self._values.shape:
            raise MatrixError(
                f"values has shape {elements.shape}; expected {self._values.shape}, as before."
            )
        check_floats(elements)
        self._values = elements

    @property
    def extents(self) -> tuple[int, ...]:
        """Extents of the grid."""
        return self._extents

    @property
    def points(self) -> int:
        """Elements of a row in the interior."""
        return self.values.shape[-1]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns: both the number of grid points."""
        n = prod(self.extents)
        return n, n

    @property
    def dtype(self) -> np.dtype[Any]:
        """That of the values."""
        return self.values.dtype

    @property
    def nnz(self) -> int:
        """Number of elements whose neighbours are there."""
        return sum(
            prod(max(e - abs(s), 0) for e, s in zip(_whole(self.extents), step, strict=True))
            for step in self.steps
        )

    @property
    def steps(self) -> Steps:
        """Where the neighbours are, in three dimensions, of which the first may have one point."""
        return _steps(len(self.extents), self.points)

    @property
    def form(self) -> str:
        """The stencil, as kernels know it."""
        return _form(len(self.extents), self.points)

    @property
    def grid(self) -> Extents:
        """Extents in three dimensions."""
        return _whole(self.extents)

    @property
    def space(self) -> es.ExecutionSpace:
        """Where functions run on it that name no space."""
        return es.space_for(self.values)

    @property
    def T(self) -> StencilMatrix:
        """The transpose, a new matrix of the same grid, stencil and layout of values."""
        source, space = self.values, self.space
        layout = "left" if source.rank == 2 and source.layout == "left" else "right"
        values = es.View(
            source.shape, self.dtype, label="values", space=space, layout=layout, initialize=False
        )
        if source.rank == 1:
            every = es.RangePolicy(self.points, space=space)
            es.parallel_for(every, _reversed, source, values, label="transpose")
        else:
            every = es.RangePolicy(self.shape[0], space=space)
            es.parallel_for(
                every, _transposed, source, values, *self.grid, self.form, label="transpose"
            )
        return StencilMatrix(values, self.extents)

    def to_crs(self) -> CrsMatrix:
        """The matrix by rows. Blocks."""
        check_not_waited_for("StencilMatrix.to_crs")
        space, n, nnz = self.space, self.shape[0], self.nnz
        every = es.RangePolicy(n, space=space)
        counts = es.View(n, np.int32, label="counts", space=space, initialize=False)
        es.parallel_for(every, _counted, counts, *self.grid, self.form)
        row_map, _ = summed(counts, offsets_for(nnz, None), space)
        entries, values = (
            es.View(nnz, dtype, label=label, space=space, initialize=False)
            for dtype, label in ((offsets_for(n, None), "entries"), (self.dtype, "values"))
        )
        es.parallel_for(every, _given, row_map, entries, values, self.values, *self.grid, self.form)
        return CrsMatrix.of(StaticCrsGraph(row_map, entries, n, check=False), values)

    def __copy__(self) -> StencilMatrix:
        return StencilMatrix(self.values, self.extents)

    def to_space(self, space: str | es.ExecutionSpace) -> StencilMatrix:
        """The same matrix in memory that a space reaches; what it reaches already is shared."""
        return StencilMatrix(self.values, self.extents, space=space)

    def to_numpy(self) -> Any:
        """All elements, zeros as well, as a NumPy array. Blocks."""
        return self.to_crs().to_numpy()

    def __repr__(self) -> str:
        where = self.values.memory_space.name
        return (
            f"<StencilMatrix of {self.points} points of {self.dtype}, grid {self.extents}, "
            f"memory={where}>"
        )


def _grid(extents: Any) -> tuple[int, ...]:
    try:
        found = tuple(operator.index(e) for e in extents)
    except TypeError:
        found = ()
    if not 1 <= len(found) <= 3 or min(found) < 0:
        raise MatrixError(f"extents={shown(extents)}; expected 1 to 3 numbers of grid points.")
    if not all(map(is_int64, (*found, prod(found)))):
        raise MatrixError(
            f"extents={shown(extents)}; expected grid points that an int64 can count."
        )
    return found


def _whole(extents: tuple[int, ...]) -> Extents:
    i, j, k = (1,) * (3 - len(extents)) + extents
    return i, j, k


def _steps(rank: int, points: int) -> Steps:
    """The stencil of so many points, by ascending columns; MatrixError if there is none."""
    every = [s for s in STEPS if not any(s[: 3 - rank])]
    star = [s for s in every if sum(map(abs, s)) <= 1]
    for steps in (star, every):
        if len(steps) == points:
            return tuple(steps)
    sizes = " or ".join(str(n) for n in sorted({len(star), len(every)}))
    raise MatrixError(
        f"values are for stencils of {points} points; expected {sizes} in {rank} dimensions."
    )


def _form(rank: int, points: int) -> str:
    return f"{'star' if points == 2 * rank + 1 else 'box'} {rank}"


def _columns(row: int, extents: tuple[int, ...], steps: Steps) -> list[int]:
    """The columns of a row of the matrix of a stencil."""
    grid = _whole(extents)
    i, j, k = (int(p) for p in np.unravel_index(row, grid))
    places = [(i + a, j + b, k + c) for a, b, c in steps]
    inside = [p for p in places if all(0 <= q < e for q, e in zip(p, grid, strict=True))]
    return [(i * grid[1] + j) * grid[2] + k for i, j, k in inside]


# -- kernels --------------------------------------------------------------------------------------
# Grids have extents m x n x p; loops over steps unroll, and leave out those that a stencil,
# `form`, does not have.


@es.function
def is_step(a: Any, b: Any, c: Any, form: Any) -> Any:
    """Whether a stencil has a step."""
    if form == "box 3":
        return True
    elif form == "box 2":
        return a == 0
    elif form == "star 3":
        return abs(a) + abs(b) + abs(c) <= 1
    elif form == "star 2":
        return a == 0 and abs(b) + abs(c) <= 1
    else:
        return a == 0 and b == 0


@es.function
def place(a: Any, b: Any, c: Any, form: Any) -> Any:
    """Which element of a row is that of a step."""
    if form == "box 3":
        return 9 * a + 3 * b + c + 13
    elif form == "box 2":
        return 3 * b + c + 4
    elif form == "star 3":
        return 3 * a + 2 * b + c + 3
    elif form == "star 2":
        return 2 * b + c + 2
    else:
        return c + 1


@es.function
def is_inside(i: Any, j: Any, k: Any, m: Any, n: Any, p: Any) -> Any:
    """Whether there is such a grid point."""
    return 0 <= i < m and 0 <= j < n and 0 <= k < p


@es.function
def element(values: Any, row: Any, s: Any) -> Any:
    """The value of a row for a step."""
    if values.rank == 1:
        return values[s]
    else:  # which is not compiled then
        return values[row, s]


def _differs(row: int, row_map: Any, entries: Any, m: Any, n: Any, p: Any, form: Any) -> Any:
    i = row // (n * p)
    j = row // p % n
    k = row % p
    at = row_map[row]
    end = row_map[row + 1]
    same = True
    for a in (-1, 0, 1):
        for b in (-1, 0, 1):
            for c in (-1, 0, 1):
                if is_step(a, b, c, form) and is_inside(i + a, j + b, k + c, m, n, p):
                    same = same and at < end and entries[at] == row + (a * n + b) * p + c
                    at += 1
    return m * n * p if same and at == end else row


def _taken(
    row: int, row_map: Any, elements: Any, values: Any, m: Any, n: Any, p: Any, form: Any
) -> None:
    i = row // (n * p)
    j = row // p % n
    k = row % p
    at = row_map[row]
    for a in (-1, 0, 1):
        for b in (-1, 0, 1):
            for c in (-1, 0, 1):
                if is_step(a, b, c, form) and is_inside(i + a, j + b, k + c, m, n, p):
                    values[row, place(a, b, c, form)] = elements[at]
                    at += 1


def _reversed(s: int, source: Any, values: Any) -> None:
    values[s] = source[values.extent(0) - 1 - s]


def _transposed(row: int, source: Any, values: Any, m: Any, n: Any, p: Any, form: Any) -> None:
    i = row // (n * p)
    j = row // p % n
    k = row % p
    for a in (-1, 0, 1):
        for b in (-1, 0, 1):
            for c in (-1, 0, 1):
                if is_step(a, b, c, form):
                    at = place(a, b, c, form)
                    values[row, at] = 0
                    if is_inside(i + a, j + b, k + c, m, n, p):
                        other = row + (a * n + b) * p + c
                        values[row, at] = source[other, place(-a, -b, -c, form)]


def _counted(row: int, counts: Any, m: Any, n: Any, p: Any, form: Any) -> None:
    i = row // (n * p)
    j = row // p % n
    k = row % p
    count = 0
    for a in (-1, 0, 1):
        for b in (-1, 0, 1):
            for c in (-1, 0, 1):
                if is_step(a, b, c, form) and is_inside(i + a, j + b, k + c, m, n, p):
                    count += 1
    counts[row] = count


def _given(
    row: int, row_map: Any, entries: Any, elements: Any, values: Any, m: Any, n: Any, p: Any,
    form: Any,
) -> None:  # fmt: skip
    i = row // (n * p)
    j = row // p % n
    k = row % p
    at = row_map[row]
    for a in (-1, 0, 1):
        for b in (-1, 0, 1):
            for c in (-1, 0, 1):
                if is_step(a, b, c, form) and is_inside(i + a, j + b, k + c, m, n, p):
                    entries[at] = row + (a * n + b) * p + c
                    elements[at] = element(values, row, place(a, b, c, form))
                    at += 1

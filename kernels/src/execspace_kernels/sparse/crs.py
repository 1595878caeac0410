"""CrsMatrix: a sparse matrix by rows, as in Kokkos Kernels; and its graph.

Row `i` has the entries `row_map[i] <= k < row_map[i + 1]`: element `values[k]` of column
`entries[k]`. What is found out about a graph once, such as its longest row, it keeps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np

import execspace as es

from ..arguments import (
    as_view,
    at_once,
    check_not_waited_for,
    count_of,
    elements_of,
    first,
    indices,
    on_space,
    reaching,
    shown,
)
from ..errors import MatrixError
from . import ports
from .elements import check_elements, is_record, zero
from .matrix import Matrix, Shared

__all__ = ["CrsMatrix", "StaticCrsGraph"]


class StaticCrsGraph(Shared):
    """Which elements of a matrix are stored, by rows. It does not change.

    Parameters
    ----------
    row_map : View or array of int32 or int64, shape (num_rows + 1,)
        Where the entries of each row begin; the last one is the number of all.
    entries : View or array of int32 or int64, shape (nnz,)
        The column of each.
    num_cols : int
    check : bool, default True
        Look whether all of it is valid, which reads it once and blocks. Functions rely on it.
    space : str or ExecutionSpace, optional
        Copy what this space does not reach to its memory; without it all is used where it lies.

    Raises
    ------
    MatrixError
        If `row_map` descends or does not fit to `entries`, or a column lies outside; it says where.
    ViewError
        If one of them has another rank or dtype.

    Attributes
    ----------
    row_map, entries : View, read-only
    num_rows, num_cols, nnz : int

    Notes
    -----
    Kokkos: https://kokkos.org/kokkos-core-wiki/API/containers/StaticCrsGraph.html
    """

    _instead = (
        "Pickle row_map and entries, each by to_numpy(), and num_cols, and make a StaticCrsGraph "
        "of them where they arrive."
    )

    def __init__(
        self,
        row_map: Any,
        entries: Any,
        num_cols: int,
        *,
        check: bool = True,
        space: str | es.ExecutionSpace | None = None,
    ) -> None:
        starts = indices(row_map, "row_map", space)
        columns = indices(entries, "entries", space)
        self._extents = starts.shape[0] - 1, count_of(num_cols, "num_cols", 0), columns.shape[0]
        if self.num_rows < 0:
            raise MatrixError("row_map is empty; expected one element more than there are rows.")
        if self.nnz > np.iinfo(starts.dtype).max:
            raise MatrixError(
                f"row_map is of {starts.dtype}, which cannot count {self.nnz} entries; expected "
                f"int64."
            )
        self._views = on_space(starts, space).readonly(), on_space(columns, space).readonly()
        self._known: dict[Any, Any] = {}
        self._is_pending = False
        if check:
            self._check()

    def _check(self) -> None:
        if not self._is_map():
            raise MatrixError(_what_is_wrong(elements_of(self.row_map), self.nnz))
        bad = self._outside()
        if bad is not None:
            row = int(np.searchsorted(elements_of(self.row_map), bad, "right")) - 1
            column = int(elements_of(self.entries[bad : bad + 1])[0])
            raise MatrixError(
                f"entries: row {row} has an entry in column {column}; expected 0 to "
                f"{self.num_cols - 1}, for there are {self.num_cols} columns."
            )

    def _is_map(self) -> bool:
        """Whether the row map is one."""
        rows = self.num_rows + 1
        return first(rows, self._where, _descends, self.row_map, self.nnz) is None

    def _outside(self) -> int | None:
        """The first entry whose column lies outside, if there is one."""
        return first(self.nnz, self._where, _is_outside, self.entries, self.num_cols)

    @property
    def _where(self) -> es.ExecutionSpace:
        """Where it is looked at."""
        return reaching(self.row_map, self.entries)

    def pending(self) -> StaticCrsGraph:
        """Itself; what fills it is recorded, if a graph of launches is, and has not run yet."""
        self._is_pending = es.is_recorded()
        return self

    def check_settled(self, what: str) -> None:
        """Raise LaunchError where it is looked at while what fills it is only recorded."""
        if self._is_pending and es.is_recorded():
            raise es.LaunchError(
                f"{what}: it has to look at {self!r}, which is made in this recording and has no "
                f"entries yet. Make the matrix before, outside of `with graph:`."
            )

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return self._extents[0]

    @property
    def num_cols(self) -> int:
        """Number of columns."""
        return self._extents[1]

    @property
    def nnz(self) -> int:
        """Number of entries."""
        return self._extents[2]

    @property
    def row_map(self) -> es.View:
        """Where each row begins, and the number of all entries."""
        return self._views[0]

    @property
    def entries(self) -> es.View:
        """The column of each entry."""
        return self._views[1]

    def is_same(self, other: StaticCrsGraph) -> bool:
        """Whether both are of the same memory, so that matrices of them have the same places."""
        return self is other or (
            self._extents == other._extents
            and self.row_map == other.row_map
            and self.entries == other.entries
        )

    @property
    def space(self) -> es.ExecutionSpace:
        """Where functions run on it that name no space."""
        return es.space_for(self.row_map, self.entries)

    def kept(self, key: Any, make: Callable[[], Any]) -> Any:
        """What `make()` found out about it once."""
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def longest(self) -> int:
        """Entries of the longest row. Blocks the first time."""
        return self.most_in(1)

    def most_in(self, rows: int) -> int:
        """Most entries that so many rows have together, from a multiple of that number on. Blocks
        the first time. MatrixError unless that number is 1 or more."""
        rows = count_of(rows, "most_in: rows", 1)
        self.check_settled("lengths of rows")

        def most() -> int:
            if not self.num_rows:
                return 0
            blocks = es.RangePolicy(-(-self.num_rows // rows), space=self._where)
            return int(
                at_once(es.parallel_reduce, blocks, _entries_of, self.row_map, rows, reducer=es.Max)
            )

        found: int = self.kept(("most", rows), most)
        return found

    def diagonal_places(self, space: es.ExecutionSpace) -> es.View:
        """Which entry of each row is that of the diagonal; -1 where there is none, or several.
        Kept, for each space."""
        self.check_settled("places of the diagonal")

        def places() -> es.View:
            rows, kind = es.RangePolicy(self.num_rows, space=space), self.row_map.dtype
            at = es.View(self.num_rows, kind, label="at", space=space, initialize=False)
            at_once(es.parallel_for, rows, _diagonal_at, self.row_map, self.entries, at)
            return at

        found: es.View = self.kept(("diagonal", space), places)
        return found

    def is_sorted(self) -> bool:
        """Whether the columns of each row ascend, none twice. Blocks the first time."""
        self.check_settled("order of columns")

        def ascend() -> bool:
            rows = self.num_rows
            return first(rows, self._where, _unsorted, self.row_map, self.entries) is None

        found: bool = self.kept("sorted", ascend)
        return found

    def __copy__(self) -> StaticCrsGraph:
        return self  # it does not change

    def __repr__(self) -> str:
        return f"<StaticCrsGraph {self.num_rows} x {self.num_cols}, {self.nnz} entries>"


class OfGraph(Matrix, ABC):
    """What matrices of a graph have in common, whether it is one of elements or of blocks."""

    @classmethod
    def of(
        cls,
        graph: StaticCrsGraph,
        values: Any,
        *,
        space: str | es.ExecutionSpace | None = None,
    ) -> Self:
        """A matrix of a graph that there is already."""
        if not isinstance(graph, StaticCrsGraph):
            raise MatrixError(
                f"{cls.__name__}.of: expected a StaticCrsGraph, got {type(graph).__name__!r}."
            )
        made = object.__new__(cls)
        made._set(graph, values, space)
        return made

    def _set(self, graph: StaticCrsGraph, values: Any, space: Any) -> None:
        self._graph = graph
        self._values = self._checked(values, space)
        self._ready: dict[Any, Any] = {}  # launches of products, for Views like those that came

    @abstractmethod
    def _checked(self, values: Any, space: Any) -> es.View:
        """Values that fit the graph, and those that there were; MatrixError for others."""

    @property
    def graph(self) -> StaticCrsGraph:
        """Which elements, or blocks, are stored."""
        return self._graph

    @property
    def values(self) -> es.View:
        """The elements, or blocks. Others of the same number and size can be assigned."""
        return self._values

    @values.setter
    def values(self, values: Any) -> None:
        self._values = self._checked(values, None)

    @property
    def dtype(self) -> np.dtype[Any]:
        """That of the values."""
        return self.values.dtype

    @property
    def row_map(self) -> es.View:
        """Where each row begins."""
        return self.graph.row_map

    @property
    def entries(self) -> es.View:
        """The column of each value."""
        return self.graph.entries

    @property
    def space(self) -> es.ExecutionSpace:
        """Where functions run on it that name no space."""
        return es.space_for(self.row_map, self.entries, self.values)

    def __copy__(self) -> Self:
        return self.of(self.graph, self.values)

    def to_space(self, space: str | es.ExecutionSpace) -> Self:
        """The same matrix in memory that a space reaches; what it reaches already is shared."""
        graph = StaticCrsGraph(
            self.row_map, self.entries, self.graph.num_cols, check=False, space=space
        )
        return self.of(graph, self.values, space=space)


class CrsMatrix(OfGraph):
    """A sparse matrix by rows.

    Parameters
    ----------
    row_map, entries
        As of `StaticCrsGraph`.
    values : View or array, shape (nnz,)
        The elements: real or complex floating-point numbers, not integers; or records of a class
        of `execspace.Record` with + and *, of which `Class(0)` is the zero. They may change.
    shape : (int, int)
        Rows and columns.
    check, space
        As of `StaticCrsGraph`.

    Raises
    ------
    MatrixError, ViewError
        As `StaticCrsGraph`; and if shape or number of values do not fit.

    Attributes
    ----------
    graph : StaticCrsGraph
    values : View
    shape : (int, int)

    Examples
    --------
    >>> from execspace_kernels import sparse
    >>> A = sparse.CrsMatrix([0, 1, 3], [1, 0, 1], [2.0, 1.0, 3.0], shape=(2, 2))
    >>> A.nnz, (A @ [1.0, 10.0]).to_numpy().tolist()
    (3, [20.0, 31.0])
    """

    _instead = (
        "For a copy take CrsMatrix.of(A.graph, execspace.array(A.values)). Pickle "
        "sparse.to_scipy(A), and take sparse.as_crs of that where it arrives."
    )

    def __init__(
        self,
        row_map: Any,
        entries: Any,
        values: Any,
        shape: tuple[int, int],
        *,
        check: bool = True,
        space: str | es.ExecutionSpace | None = None,
    ) -> None:
        rows, columns = shape_of(shape)
        graph = StaticCrsGraph(row_map, entries, columns, check=False, space=space)
        if graph.num_rows != rows:
            raise MatrixError(
                f"row_map has {graph.num_rows + 1} elements; expected {rows + 1}, one more than "
                f"shape={shape} has rows."
            )
        if check:
            graph._check()
        self._set(graph, values, space)

    def _checked(self, values: Any, space: Any) -> es.View:
        graph = self._graph
        elements = as_view(values, "values", space)
        if elements.shape != (graph.nnz,):
            raise MatrixError(
                f"values has shape {elements.shape}; expected ({graph.nnz},), one for each entry."
            )
        elements = on_space(elements, space)
        check_elements(elements)
        return elements

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.graph.num_rows, self.graph.num_cols

    @property
    def nnz(self) -> int:
        """Number of stored elements."""
        return self.graph.nnz

    @property
    def T(self) -> CrsMatrix:
        """The transpose, a new matrix."""
        made: CrsMatrix = ports.transpose(self)
        return made

    def to_numpy(self) -> Any:
        """All elements, zeros as well, as a NumPy array. Blocks."""
        check_not_waited_for("CrsMatrix.to_numpy")
        starts, columns = self.row_map.to_numpy(), self.entries.to_numpy()
        rows = np.repeat(np.arange(self.shape[0]), np.diff(starts))
        values = self.values.to_numpy()
        if is_record(self.dtype):
            dense = np.full(self.shape, zero(self.dtype), self.dtype)
            for i, j, value in zip(rows, columns, values, strict=True):
                dense[i, j] = dense[i, j] + value
            return dense
        dense = np.zeros(self.shape, self.dtype)
        np.add.at(dense, (rows, columns), values)
        return dense

    def __repr__(self) -> str:
        rows, columns = self.shape
        where = self.values.memory_space.name
        return f"<CrsMatrix {rows} x {columns} of {self.dtype}, {self.nnz} entries, memory={where}>"


def shape_of(shape: Any) -> tuple[int, int]:
    """Rows and columns; MatrixError for what is no such pair."""
    try:
        rows, columns = shape
    except (TypeError, ValueError):
        raise MatrixError(f"shape={shown(shape)}; expected (rows, columns).") from None
    return count_of(rows, "shape: rows", 0), count_of(columns, "shape: columns", 0)


def _what_is_wrong(starts: Any, nnz: int) -> str:
    """What is wrong with a row map."""
    if starts[0] != 0:
        return f"row_map begins with {starts[0]}; expected 0."
    down = np.flatnonzero(np.diff(starts) < 0)
    if down.size:
        row = int(down[0])
        return (
            f"row_map: row {row} begins at {starts[row]} and ends at {starts[row + 1]}; expected "
            f"numbers that do not descend."
        )
    return f"row_map ends with {starts[-1]}, and there are {nnz} entries; expected the same."


# -- kernels --------------------------------------------------------------------------------------


def _descends(i: int, row_map: Any, nnz: Any) -> Any:
    n = row_map.extent(0)
    if i == 0 and row_map[0] != 0:
        return i
    if i == n - 1:
        return n if row_map[i] == nnz else i
    return n if row_map[i] <= row_map[i + 1] else i


def _is_outside(k: int, entries: Any, columns: Any) -> Any:
    return entries.extent(0) if 0 <= entries[k] < columns else k


def _entries_of(block: int, row_map: Any, rows: Any) -> Any:
    last = row_map.extent(0) - 1
    return row_map[min((block + 1) * rows, last)] - row_map[block * rows]


def _diagonal_at(i: int, row_map: Any, entries: Any, at: Any) -> None:
    count = 0
    for k in range(row_map[i], row_map[i + 1]):
        if entries[k] == i:
            at[i] = k
            count += 1
    if count != 1:
        at[i] = -1


def _unsorted(i: int, row_map: Any, entries: Any) -> Any:
    n = row_map.extent(0) - 1
    for k in range(row_map[i] + 1, row_map[i + 1]):
        if entries[k - 1] >= entries[k]:
            return i
    return n

"""Which rows and columns are taken of a matrix, and what their new numbers are.

A slice of columns needs no memory. Others are looked up in an array of all columns, where these are
not many more than there are entries, or else found in those that are taken, in ascending order. So
memory is in proportion to the selection and the entries.

Products of matrices, which take memory for each column, take those that have entries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import execspace as es

from ..arguments import first, indices, on_space, shown
from ..decisions import decided
from ..errors import MatrixError
from .crs import StaticCrsGraph
from .rows import runs_of

__all__ = ["Columns", "is_wide", "new_number", "numbered_anew", "numbered_back", "rows_of"]

Selection = slice | es.View | Any
_FEW = 4096  # columns of which an array is always made
_MANY = 1 << 20  # columns that no product takes memory for, unless there are entries
_SPARSE = 8  # as many columns as entries
_TIMES = 4  # as many columns as selected ones and entries, up to which one is made


def rows_of(selection: Selection, extent: int, space: es.ExecutionSpace) -> es.View:
    """Numbers of rows, all within a matrix."""
    if isinstance(selection, slice):
        numbers = _range_of(selection, extent, "rows")
        return _numbers(len(numbers), numbers.start, numbers.step, space)
    return _inside(selection, extent, "rows", space)


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns that are taken.

    Attributes
    ----------
    width : int
        How many.
    ascend : bool
        Whether their numbers do.
    args : tuple
        For `new_number`.
    """

    width: int
    ascend: bool
    args: tuple[Any, ...]

    @classmethod
    def of(cls, selection: Selection, extent: int, nnz: int, space: es.ExecutionSpace) -> Columns:
        """Those of a selection of a matrix of so many columns and entries. MatrixError if one lies
        outside or comes twice."""
        none = es.View(0, np.int64, label="columns", space=space)
        if isinstance(selection, slice):
            numbers = _range_of(selection, extent, "columns")
            step = abs(numbers.step)
            ascend = numbers.step > 0 or len(numbers) < 2
            kind = "shift" if step == 1 else "slice"
            decided("submatrix", "slice", "columns are a slice")
            width = len(numbers)
            sign = 1 if numbers.step > 0 else -1
            return cls(width, ascend, (none, none, numbers.start, step, sign, width, kind))
        chosen = _inside(selection, extent, "columns", space)
        width = chosen.shape[0]
        every = es.RangePolicy(width, space=space)
        if extent <= _FEW + _TIMES * (width + nnz):
            decided("submatrix", "map", "the matrix has few columns for its entries")
            new, keys, kind = es.full(extent, -1, np.int64, space=space), none, "map"
            es.parallel_for(every, _renumber, chosen, new)
            _check_once(chosen, first(width, space, _is_taken, chosen, new))
        else:
            decided("submatrix", "search", "the matrix has many more columns than entries")
            keys, new = es.array(chosen, np.int64, space=space), _numbers(width, 0, 1, space)
            kind = "search"
            es.sort_by_key(keys, new, space=space)
            _check_once(keys, first(width, space, _is_as_before, keys))
        ascend = first(width, space, _descends, chosen) is None
        return cls(width, ascend, (keys, new, 0, 1, 1, width, kind))


def _range_of(selection: slice, extent: int, what: str) -> range:
    try:
        return range(*selection.indices(extent))
    except (TypeError, ValueError) as error:
        raise MatrixError(f"submatrix: {what}={shown(selection)}: {error}.") from None


def _numbers(count: int, start: int, step: int, space: es.ExecutionSpace) -> es.View:
    made = es.View(count, np.int64, label="numbers", space=space, initialize=False)
    es.parallel_for(es.RangePolicy(count, space=space), _numbered, made, start, step)
    return made


def _inside(selection: Any, extent: int, what: str, space: es.ExecutionSpace) -> es.View:
    """Numbers of rows or columns; MatrixError for one that is outside."""
    chosen = on_space(indices(selection, f"submatrix: {what}", space), space)
    bad = first(chosen.shape[0], space, _is_outside, chosen, extent)
    if bad is not None:
        number = int(chosen[bad : bad + 1].to_numpy()[0])
        raise MatrixError(
            f"submatrix: {what}[{bad}] is {number}; expected 0 to {extent - 1}, for the matrix has "
            f"{extent} {what}."
        )
    return chosen


def _check_once(columns: es.View, twice: int | None) -> None:
    """Raise MatrixError for the place of a column that comes again."""
    if twice is not None:
        number = int(columns[twice : twice + 1].to_numpy()[0])
        raise MatrixError(
            f"submatrix: column {number} comes more than once; expected each once at most. Rows "
            f"may: take those of the transpose."
        )


# -- far more columns than entries ----------------------------------------------------------------


def is_wide(graph: StaticCrsGraph) -> bool:
    """Whether something for each column is too much, and numbers for those with entries pay."""
    return graph.num_cols > max(_MANY, _SPARSE * graph.nnz)


def numbered_anew(
    graph: StaticCrsGraph, space: es.ExecutionSpace
) -> tuple[StaticCrsGraph, es.View]:
    """The graph with new numbers for columns with entries, in their order; and these. Blocks."""
    keys = es.array(graph.entries, np.int64, space=space)
    columns, starts, order = runs_of(keys, space)
    entries = es.View(graph.nnz, graph.entries.dtype, label="entries", space=space)
    every = es.RangePolicy(columns.shape[0], space=space)
    es.parallel_for(every, _number_run, starts, order, entries)
    return StaticCrsGraph(graph.row_map, entries, columns.shape[0], check=False), columns


def numbered_back(
    graph: StaticCrsGraph, columns: es.View, num_cols: int, space: es.ExecutionSpace
) -> StaticCrsGraph:
    """A graph of such numbers with the columns themselves."""
    n = graph.nnz
    entries = es.View(n, graph.entries.dtype, label="entries", space=space, initialize=False)
    es.parallel_for(es.RangePolicy(n, space=space), _column_of, graph.entries, columns, entries)
    return StaticCrsGraph(graph.row_map, entries, num_cols, check=False)


# -- kernels --------------------------------------------------------------------------------------


@es.function
def new_number(
    column: Any, keys: Any, new: Any, start: Any, step: Any, sign: Any, width: Any, kind: Any
) -> Any:
    """The new number of a column, -1 if it is not taken."""
    if kind == "map":
        return new[column]
    elif kind == "search":
        at = es.lower_bound(keys, np.int64(column))
        found = np.int64(-1)
        if at < keys.extent(0):
            if keys[at] == column:
                found = new[at]
        return found
    else:
        distance = (np.int64(column) - start) * sign
        place = distance
        if kind == "slice":
            place = distance // step
        inside = 0 <= place < width and place * step == distance
        return place if inside else np.int64(-1)


def _number_run(c: int, starts: Any, order: Any, entries: Any) -> None:
    for t in range(starts[c], starts[c + 1]):
        entries[order[t]] = c


def _column_of(k: int, numbers: Any, columns: Any, entries: Any) -> None:
    entries[k] = columns[numbers[k]]


def _numbered(k: int, chosen: Any, start: Any, step: Any) -> None:
    chosen[k] = start + k * step


def _is_outside(k: int, chosen: Any, extent: Any) -> Any:
    return chosen.extent(0) if 0 <= chosen[k] < extent else k


def _renumber(k: int, chosen: Any, new: Any) -> None:
    es.atomic_max(new, chosen[k], k)


def _is_taken(k: int, chosen: Any, new: Any) -> Any:
    return chosen.extent(0) if new[chosen[k]] == k else k


def _is_as_before(k: int, keys: Any) -> Any:
    n = keys.extent(0)
    if k == 0:
        return n
    return k if keys[k - 1] == keys[k] else n


def _descends(k: int, chosen: Any) -> Any:
    n = chosen.extent(0)
    if k == 0:
        return n
    return k if chosen[k] <= chosen[k - 1] else n

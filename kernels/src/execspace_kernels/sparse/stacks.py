"""Matrices one below the other, or side by side, as one matrix. Nothing is counted: the numbers of
their entries are known, so launches alone make it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

import execspace as es

from ..decisions import only
from ..errors import MatrixError
from .crs import CrsMatrix, StaticCrsGraph
from .elements import dtype_of_sum
from .foreign import as_crs
from .rows import made, offsets_for

__all__ = ["hstack", "vstack"]

Space = str | es.ExecutionSpace | None


def vstack(matrices: Sequence[CrsMatrix | Any], *, space: Space = None) -> CrsMatrix:
    """Matrices one below the other, a new one.

    Parameters
    ----------
    matrices : sequence of CrsMatrix, or sparse matrices of other libraries
        One or more, of as many columns each; read. Dtypes are the common ones.
    space : str or ExecutionSpace, optional

    Raises
    ------
    MatrixError
        If there are none, or they do not fit.

    Notes
    -----
    Asynchronous where the space is.
    """
    parts = _stacked(matrices, "vstack", 1)
    only("vstack", "rows")
    where, offsets, columns, dtype = _common(parts, parts[0].shape[1], space)
    m, nnz = sum(A.shape[0] for A in parts), sum(A.nnz for A in parts)
    row_map = es.View(m + 1, offsets, label="row_map", space=where)
    entries, values = made(nnz, columns, dtype, where)
    row = at = 0
    for A in parts:
        rows, size = A.shape[0], A.nnz
        every = es.RangePolicy(rows, space=where)
        es.parallel_for(every, _moved, row_map[row : row + rows + 1], A.row_map, at)
        each = es.RangePolicy(size, space=where)
        end = at + size
        es.parallel_for(
            each, _copied, entries[at:end], values[at:end], A.entries, A.values, label="vstack"
        )
        row, at = row + rows, end
    graph = StaticCrsGraph(row_map, entries, parts[0].shape[1], check=False)
    return CrsMatrix.of(graph.pending(), values)


def hstack(matrices: Sequence[CrsMatrix | Any], *, space: Space = None) -> CrsMatrix:
    """Matrices side by side, a new one. As `vstack`, of as many rows each."""
    parts = _stacked(matrices, "hstack", 0)
    only("hstack", "rows")
    n = sum(A.shape[1] for A in parts)
    where, offsets, columns, dtype = _common(parts, n, space)
    m, nnz = parts[0].shape[0], sum(A.nnz for A in parts)
    row_map = es.View(m + 1, offsets, label="row_map", space=where)
    entries, values = made(nnz, columns, dtype, where)
    for A in parts:
        es.parallel_for(es.RangePolicy(m + 1, space=where), _added, row_map, A.row_map)
    at = es.View(m, offsets, label="at", space=where, initialize=False)
    rows = es.RangePolicy(m, space=where)
    es.parallel_for(rows, _begun, row_map, at)
    left = 0
    for A in parts:
        es.parallel_for(
            rows, _appended, A.row_map, A.entries, A.values, at, entries, values, left,
            label="hstack",
        )  # fmt: skip
        left += A.shape[1]
    return CrsMatrix.of(StaticCrsGraph(row_map, entries, n, check=False).pending(), values)


def _stacked(matrices: Any, what: str, axis: int) -> list[CrsMatrix]:
    """Matrices that are as long along an axis."""
    if not isinstance(matrices, list | tuple) or not matrices:
        raise MatrixError(f"{what}: expected a list of one or more matrices, got {matrices!r}.")
    parts = [as_crs(A) for A in matrices]
    for number, A in enumerate(parts):
        if A.shape[axis] != parts[0].shape[axis]:
            raise MatrixError(
                f"{what}: matrix {number} is {A.shape[0]} x {A.shape[1]}, and the first one is "
                f"{parts[0].shape[0]} x {parts[0].shape[1]}; expected as many "
                f"{('rows', 'columns')[axis]}."
            )
    return parts


def _common(
    parts: list[CrsMatrix], num_cols: int, space: Space
) -> tuple[es.ExecutionSpace, Any, Any, Any]:
    """The space, and dtypes of offsets, columns and values."""
    views = [view for A in parts for view in (A.row_map, A.entries, A.values)]
    offsets = offsets_for(sum(A.nnz for A in parts), None)
    least = offsets_for(max(num_cols - 1, 0), None)
    return (
        es.space_for(*views, space=space),
        np.result_type(offsets, *(A.row_map.dtype for A in parts)),
        np.result_type(least, *(A.entries.dtype for A in parts)),
        reduce(partial(dtype_of_sum, what="stack"), (A.dtype for A in parts)),
    )


# -- kernels --------------------------------------------------------------------------------------


def _moved(i: int, row_map: Any, own: Any, by: Any) -> None:
    row_map[i + 1] = own[i + 1] + by


def _copied(k: int, entries: Any, values: Any, own_entries: Any, own_values: Any) -> None:
    entries[k] = own_entries[k]
    values[k] = own_values[k]


def _added(i: int, row_map: Any, own: Any) -> None:
    row_map[i] += own[i]


def _begun(i: int, row_map: Any, at: Any) -> None:
    at[i] = row_map[i]


def _appended(
    i: int, row_map: Any, entries: Any, values: Any, at: Any, to_entries: Any, to_values: Any,
    left: Any,
) -> None:  # fmt: skip
    to = at[i]
    for k in range(row_map[i], row_map[i + 1]):
        to_entries[to] = np.int64(entries[k]) + left
        to_values[to] = values[k]
        to += 1
    at[i] = to

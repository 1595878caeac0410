"""Parts of matrices: rows and columns, triangles, large elements, diagonal blocks.

Each is made in two passes, a work item for each row: one counts its entries, one writes them. So
what is left of a row has the order that it had.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

import execspace as es

from ..arguments import (
    check_apart,
    check_not_waited_for,
    check_takes,
    number_of,
    result,
    shown,
)
from ..decisions import only
from ..errors import MatrixError
from .crs import CrsMatrix, StaticCrsGraph
from .elements import check_numbers
from .foreign import as_crs
from .rows import made, offsets_for, sort, summed
from .selections import Columns, Selection, new_number, rows_of

__all__ = [
    "block_diagonal",
    "drop",
    "extract_blocks",
    "submatrix",
    "tril",
    "triu",
]

Space = str | es.ExecutionSpace | None


def submatrix(
    A: CrsMatrix | Any, rows: Selection, columns: Selection = slice(None), *, space: Space = None
) -> CrsMatrix:
    """Some rows and columns of a matrix, a new one: `A[rows, :][:, columns]` of SciPy.

    Parameters
    ----------
    A : CrsMatrix, or a sparse matrix of another library
        Read.
    rows : slice, or View, array or list of int32 or int64
        The rows, in this order; one may come several times.
    columns : as rows, optional
        The columns, in this order, none twice; all if not given.
    space : str or ExecutionSpace, optional

    Returns
    -------
    CrsMatrix
        Entries of a row have the order that they have in A; but where columns are taken in another
        one and rows of A ascend, they ascend here, too.

    Raises
    ------
    MatrixError
        If a row or column lies outside, or a column comes twice; the message names it.
    ViewError
        If rows or columns are of another rank or dtype.

    Notes
    -----
    Blocks, for the number of entries must be known. Takes memory in proportion to rows, columns
    and entries that are taken, and to the entries of A, not to its columns.
    """
    check_not_waited_for("submatrix")
    A = as_crs(A)
    where = es.space_for(A.row_map, A.entries, A.values, space=space)
    m, n = A.shape
    chosen = rows_of(rows, m, where)
    count = chosen.shape[0]
    taken = Columns.of(columns, n, A.nnz, where)
    every = es.RangePolicy(count, space=where)
    counts = es.View(count, np.int64, label="counts", space=where, initialize=False)
    es.parallel_for(every, _count_chosen, A.row_map, A.entries, chosen, counts, *taken.args)
    # Rows that come several times may have more entries together than the row map can count.
    row_map, nnz = summed(counts, np.int64, where)
    offsets = np.result_type(A.row_map.dtype, offsets_for(nnz, None))
    row_map = es.array(row_map, offsets, space=where)
    entries, values = made(nnz, A.entries.dtype, A.dtype, where)
    es.parallel_for(
        every, _take_chosen, A.row_map, A.entries, A.values, chosen, row_map, entries, values,
        *taken.args, label="submatrix",
    )  # fmt: skip
    found = CrsMatrix.of(StaticCrsGraph(row_map, entries, taken.width, check=False), values)
    return sort(found) if not taken.ascend and A.graph.is_sorted() else found


def tril(A: CrsMatrix | Any, k: int = 0, *, space: Space = None) -> CrsMatrix:
    """The elements of A on and below a diagonal, a new matrix. Blocks.

    Parameters
    ----------
    A : CrsMatrix, or a sparse matrix of another library
    k : int, default 0
        The diagonal: that of elements (i, i + k).
    space : str or ExecutionSpace, optional
    """
    return _kept(A, "tril", "below", k, space)


def triu(A: CrsMatrix | Any, k: int = 0, *, space: Space = None) -> CrsMatrix:
    """The elements of A on and above a diagonal, a new matrix. Blocks. As `tril`."""
    return _kept(A, "triu", "above", k, space)


def drop(A: CrsMatrix | Any, tolerance: float = 0.0, *, space: Space = None) -> CrsMatrix:
    """The matrix without elements of an absolute value of `tolerance` or less, a new one. Blocks.

    Parameters
    ----------
    A : CrsMatrix, or a sparse matrix of another library
    tolerance : float, default 0.0
        0 drops stored zeros only. NaN is kept.
    space : str or ExecutionSpace, optional

    Raises
    ------
    MatrixError
        If `tolerance` is no number of 0 or more.
    """
    real = isinstance(tolerance, int | float | np.floating | np.integer)
    if not real or not tolerance >= 0:
        raise MatrixError(f"drop: tolerance={shown(tolerance)}; expected a number of 0 or more.")
    tolerance = number_of(tolerance, "drop: tolerance")
    return _kept(A, "drop", "large", float(tolerance), space)


def _kept(A: CrsMatrix | Any, what: str, which: str, bound: Any, space: Space) -> CrsMatrix:
    """The elements that meet a condition."""
    check_not_waited_for(what)
    A = as_crs(A)
    if which == "large":
        check_numbers(what, A)
    if which != "large" and (isinstance(bound, bool) or not isinstance(bound, int | np.integer)):
        raise MatrixError(f"{what}: k={shown(bound)}; expected an integer.")
    if which != "large":
        bound = max(-A.shape[0], min(int(bound), A.shape[1]))  # beyond these all are the same
    where = es.space_for(A.row_map, A.entries, A.values, space=space)
    only(what, "rows")
    m, n = A.shape
    every = es.RangePolicy(m, space=where)
    counts = es.View(m, A.row_map.dtype, label="counts", space=where, initialize=False)
    es.parallel_for(every, _count_kept, A.row_map, A.entries, A.values, counts, bound, which)
    row_map, nnz = summed(counts, A.row_map.dtype, where)
    entries, values = made(nnz, A.entries.dtype, A.dtype, where)
    es.parallel_for(
        every, _take_kept, A.row_map, A.entries, A.values, row_map, entries, values, bound, which,
        label=what,
    )  # fmt: skip
    return CrsMatrix.of(StaticCrsGraph(row_map, entries, n, check=False), values)


def block_diagonal(
    A: CrsMatrix | Any, block: int, *, out: es.View | Any = None, space: Space = None
) -> es.View:
    """The blocks on the main diagonal, all of one size, with their zeros.

    Parameters
    ----------
    A : CrsMatrix, or a sparse matrix of another library
        n x n; elements at one place are added.
    block : int
        Rows of a block; divides n.
    out : View or array, shape (n / block, block, block), optional
    space : str or ExecutionSpace, optional

    Returns
    -------
    View, shape (n / block, block, block)
        `out`, or a new one.

    Raises
    ------
    MatrixError
        If A is not square, or `block` does not divide its extents.
    ViewError
        If `out` does not fit, or overlaps A.

    Notes
    -----
    Asynchronous where the space is.
    """
    A = as_crs(A)
    check_numbers("block_diagonal", A)
    m, n = A.shape
    whole = isinstance(block, int | np.integer) and not isinstance(block, bool) and block >= 1
    if m != n or not whole or m % block:
        raise MatrixError(
            f"block_diagonal: block={shown(block)} for a matrix of {m} x {n}; expected a square "
            f"matrix, and a number of rows that divides its own. Blocks of other sizes: "
            f"extract_blocks."
        )
    size = int(block)
    used = [A.row_map, A.entries, A.values]
    where = es.space_for(*used, *([] if out is None else [_as_out(out)]), space=space)
    shape = m // size, size, size
    found = result(out, "block_diagonal", shape, A.dtype, where, A.values)
    check_takes("block_diagonal", found, A.dtype)
    if out is not None:
        check_apart(
            "block_diagonal", found, the_values=A.values, row_map=A.row_map, entries=A.entries
        )
    only("block_diagonal", "rows")
    es.parallel_for(
        es.RangePolicy(m, space=where), _of_blocks, A.row_map, A.entries, A.values, found, size,
        label="block_diagonal",
    )  # fmt: skip
    return found


def _as_out(out: Any) -> es.View:
    if isinstance(out, list | tuple):
        raise es.ViewError(
            f"block_diagonal: out is a {type(out).__name__}; expected a View or an array."
        )
    return out if isinstance(out, es.View) else es.view_of(out, label="block_diagonal: out")


def extract_blocks(
    A: CrsMatrix | Any, starts: Sequence[int], *, space: Space = None
) -> list[CrsMatrix]:
    """The blocks on the main diagonal as sparse matrices.

    Parameters
    ----------
    A : CrsMatrix, or a sparse matrix of another library
        n x n; read.
    starts : sequence of int, shape (number of blocks + 1,)
        Where blocks begin: from 0 to n, ascending. It is read on the host.
    space : str or ExecutionSpace, optional

    Returns
    -------
    list of CrsMatrix
        They share the memory of all; columns count from the begin of a block.

    Raises
    ------
    MatrixError
        If A is not square, or `starts` no such numbers.

    Notes
    -----
    Blocks, for the numbers of entries must be known. Takes three launches, however many blocks
    there are. Kokkos Kernels: `kk_extract_diagonal_blocks_crsmatrix_sequential`.
    """
    check_not_waited_for("extract_blocks")
    A = as_crs(A)
    m, n = A.shape
    try:
        bounds = np.asarray(starts.to_numpy() if isinstance(starts, es.View) else starts)
        good = bounds.ndim == 1 and bounds.size > 0 and bounds.dtype.kind in "iu"
        good = good and bounds[0] == 0 and bounds[-1] == n and bool(np.all(np.diff(bounds) >= 0))
    except (ValueError, OverflowError):
        good = False
    if m != n or not good:
        raise MatrixError(
            f"extract_blocks: starts={shown(starts)} for a matrix of {m} x {n}; expected a square "
            f"matrix, and numbers that ascend from 0 to its extent."
        )
    where = es.space_for(A.row_map, A.entries, A.values, space=space)
    only("extract_blocks", "rows")
    bounds = bounds.astype(np.int64)
    at = es.array(bounds, space=where)
    count = bounds.size - 1
    every = es.RangePolicy(m, space=where)
    counts = es.View(m, A.row_map.dtype, label="counts", space=where, initialize=False)
    es.parallel_for(every, _count_own, A.row_map, A.entries, at, counts)
    offsets, nnz = summed(counts, A.row_map.dtype, where)
    entries, values = made(nnz, A.entries.dtype, A.dtype, where)
    maps = es.View(m + count, A.row_map.dtype, label="row_map", space=where, initialize=False)
    ends = es.View(count + 1, np.int64, label="ends", space=where, initialize=False)
    es.parallel_for(
        every, _take_own, A.row_map, A.entries, A.values, at, offsets, maps, entries, values,
        label="extract_blocks",
    )  # fmt: skip
    es.parallel_for(es.RangePolicy(count + 1, space=where), _end, at, offsets, maps, ends)
    last = ends.to_numpy().tolist()
    return [
        CrsMatrix.of(
            StaticCrsGraph(
                maps[int(low) + b : int(high) + b + 1], entries[last[b] : last[b + 1]],
                int(high - low), check=False,
            ),
            values[last[b] : last[b + 1]],
        )
        for b, (low, high) in enumerate(itertools.pairwise(bounds))
    ]  # fmt: skip


# -- kernels --------------------------------------------------------------------------------------


def _count_chosen(
    i: int, row_map: Any, entries: Any, rows: Any, counts: Any, keys: Any, new: Any, start: Any,
    step: Any, sign: Any, width: Any, kind: Any,
) -> None:  # fmt: skip
    count = 0
    for k in range(row_map[rows[i]], row_map[rows[i] + 1]):
        column = new_number(entries[k], keys, new, start, step, sign, width, kind)
        count += 1 if column >= 0 else 0
    counts[i] = count


def _take_chosen(
    i: int, row_map: Any, entries: Any, values: Any, rows: Any, to_map: Any, to_entries: Any,
    to_values: Any, keys: Any, new: Any, start: Any, step: Any, sign: Any, width: Any, kind: Any,
) -> None:  # fmt: skip
    at = to_map[i]
    for k in range(row_map[rows[i]], row_map[rows[i] + 1]):
        column = new_number(entries[k], keys, new, start, step, sign, width, kind)
        if column >= 0:
            to_entries[at] = column
            to_values[at] = values[k]
            at += 1


@es.function
def _is_kept(i: Any, column: Any, value: Any, bound: Any, which: Any) -> Any:
    if which == "below":
        return np.int64(column) - i <= bound
    elif which == "above":
        return np.int64(column) - i >= bound
    else:
        return not abs(value) <= bound  # which keeps NaN


def _count_kept(
    i: int, row_map: Any, entries: Any, values: Any, counts: Any, bound: Any, which: Any
) -> None:
    count = 0
    for k in range(row_map[i], row_map[i + 1]):
        count += 1 if _is_kept(i, entries[k], values[k], bound, which) else 0
    counts[i] = count


def _take_kept(
    i: int, row_map: Any, entries: Any, values: Any, to_map: Any, to_entries: Any, to_values: Any,
    bound: Any, which: Any,
) -> None:  # fmt: skip
    at = to_map[i]
    for k in range(row_map[i], row_map[i + 1]):
        if _is_kept(i, entries[k], values[k], bound, which):
            to_entries[at] = entries[k]
            to_values[at] = values[k]
            at += 1


def _of_blocks(i: int, row_map: Any, entries: Any, values: Any, found: Any, size: Any) -> None:
    b = i // size
    for j in range(size):
        found[b, i % size, j] = 0
    for k in range(row_map[i], row_map[i + 1]):
        column = np.int64(entries[k])
        if column // size == b:
            found[b, i % size, column % size] += values[k]


@es.function
def _block_with(i: Any, at: Any) -> Any:
    """The block with row i: the last one that begins there or before."""
    return es.upper_bound(at, np.int64(i)) - 1


def _count_own(i: int, row_map: Any, entries: Any, at: Any, counts: Any) -> None:
    b = _block_with(i, at)
    count = 0
    for k in range(row_map[i], row_map[i + 1]):
        count += 1 if at[b] <= entries[k] < at[b + 1] else 0
    counts[i] = count


def _take_own(
    i: int, row_map: Any, entries: Any, values: Any, at: Any, offsets: Any, maps: Any,
    to_entries: Any, to_values: Any,
) -> None:  # fmt: skip
    b = _block_with(i, at)
    to = offsets[i]
    maps[i + b] = to - offsets[at[b]]
    for k in range(row_map[i], row_map[i + 1]):
        if at[b] <= entries[k] < at[b + 1]:
            to_entries[to] = entries[k] - at[b]
            to_values[to] = values[k]
            to += 1


def _end(b: int, at: Any, offsets: Any, maps: Any, ends: Any) -> None:
    ends[b] = offsets[at[b]]
    if b < at.extent(0) - 1:
        maps[at[b + 1] + b] = offsets[at[b + 1]] - offsets[at[b]]

"""A product and the dot that follows it in one pass: what an iteration of CG wants.

p^H A p of the rows of a rank is a sum over own columns, found while ghosts are under way, and one
over ghosts, so rows need not be read again once ghosts are there.
"""

from __future__ import annotations

from typing import Any

import execspace as es
from execspace_kernels.arguments import MANY
from execspace_kernels.solvers.columns import product
from execspace_kernels.solvers.operators import has_short_rows

from .products import spmv, with_ghosts
from .storage import Stored

__all__ = ["apply_dot"]


def apply_dot(A: Stored, x: es.View, y: es.View, dot: es.View) -> None:
    """y = A x, and dot[()] = the real part of the sum of conj(x) y over the rows here.

    As `spmv` of Views of shape (n,) with rows and columns divided alike; it can be recorded.
    """
    matrix = A._own if A._whole is None else A._whole
    assert matrix is not None
    by_rows = A.space.concurrency <= MANY or has_short_rows(matrix)
    fits = x.shape == (A.columns.size,) and y.shape == (A.rows.size,)
    if not by_rows or not fits:  # of what does not fit, it says why
        spmv(A, x, y)
        _summed(A, A.rows.size, _dot, x, y, dot, out=dot, label="spmv x.y")
        return
    if A._whole is not None:
        _rows(A, matrix, with_ghosts(A, x), y, dot)
        return
    exchange = A._exchange(x)
    if exchange is None:
        _rows(A, matrix, x, y, dot)
        return
    exchange.start(x)
    try:
        some = A._ghost_rows.shape[0] > 0
        own = A._partial(dot) if some else dot
        _rows(A, matrix, x, y, own)
    finally:
        ghosts = exchange.finish()
    if some:
        graph = A._ghost
        _summed(
            A, A._ghost_rows.shape[0], _ghosts_dot, A._ghost_rows, graph.row_map, graph.entries,
            graph.values, ghosts, x, y, own, out=dot, label="spmv ghosts, x.y",
        )  # fmt: skip


def _rows(A: Stored, matrix: Any, x: es.View, y: es.View, dot: es.View) -> None:
    _summed(
        A, A.rows.size, _rows_dot, matrix.row_map, matrix.entries, matrix.values, x, y, dot,
        out=dot, label="spmv, x.y",
    )  # fmt: skip


def _summed(A: Stored, n: int, kernel: Any, *args: Any, out: es.View, label: str) -> None:
    every = es.RangePolicy(n, space=A.space)
    es.parallel_reduce(every, kernel, *args, reducer=es.Sum(dtype=out.dtype), out=out, label=label)


# -- kernels --------------------------------------------------------------------------------------
# `like` is a View of the sum, for its dtype. Own elements of a rank come first in x.


@es.function
def _row(i: Any, row_map: Any, entries: Any, values: Any, x: Any) -> Any:
    total = 0
    for n in range(row_map[i], row_map[i + 1]):
        total += values[n] * x[entries[n]]
    return total


def _rows_dot(i: int, row_map: Any, entries: Any, values: Any, x: Any, y: Any, like: Any) -> Any:
    total = _row(i, row_map, entries, values, x)
    y[i] = total
    return product(x[i], total, like).real


def _ghosts_dot(
    k: int, rows: Any, row_map: Any, entries: Any, values: Any, ghosts: Any, x: Any, y: Any,
    own: Any,
) -> Any:  # fmt: skip
    total = _row(k, row_map, entries, values, ghosts)
    y[rows[k]] = y[rows[k]] + total
    found = product(x[rows[k]], total, own).real
    if k == 0:
        found += own[()]
    return found


def _dot(i: int, x: Any, y: Any, like: Any) -> Any:
    return product(x[i], y[i], like).real

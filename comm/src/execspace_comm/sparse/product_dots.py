"""A product and the dot that follows it in one pass: what an iteration of CG wants.

p^H A p of the rows of a rank is a sum over own columns, found while ghosts are under way, and one
over ghosts, so rows need not be read again once ghosts are there.
"""

from __future__ import annotations

from typing import Any

import execspace as es
from execspace_kernels.arguments import MANY
from execspace_kernels.solvers.columns import product

from .products import spmv
from .storage import Stored

__all__ = ["apply_dot"]

_SHORT = 8  # entries of a row, up to which a work item for each row is as good on devices


def apply_dot(A: Stored, x: es.View, y: es.View, dot: es.View) -> None:
    """y = A x, and dot[()] = the real part of the sum of conj(x) y over the rows here.

    As `spmv` of Views of shape (n,) with rows and columns divided alike; it can be recorded.
    """
    matrix = A._own if A._whole is None else A._whole
    assert matrix is not None
    few = A.space.concurrency <= MANY or matrix.nnz <= _SHORT * matrix.shape[0]
    if not few or x.rank != 1 or x.shape[0] != A.columns.size or y.shape[0] != A.rows.size:
        spmv(A, x, y)
        _summed(A, A.rows.size, _dot, x, y, dot, out=dot, label="spmv x.y")
        return
    if A._whole is not None:
        exchange, full = A._exchange_in_order(x)
        if exchange is None:
            full = x
        else:
            exchange.start(x)
            es.deep_copy(full[: A.columns.size], x, instance=A.space)
            exchange.finish()
        _rows(A, matrix, full, y, dot)
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


def _rows_dot(
    i: int, row_map: Any, entries: Any, values: Any, x: Any, y: Any, like: Any
) -> Any:  # fmt: skip
    total = 0
    for n in range(row_map[i], row_map[i + 1]):
        total += values[n] * x[entries[n]]
    y[i] = total
    return product(x[i], total, like).real


def _ghosts_dot(
    k: int, rows: Any, row_map: Any, entries: Any, values: Any, ghosts: Any, x: Any, y: Any,
    own: Any,
) -> Any:  # fmt: skip
    total = 0
    for n in range(row_map[k], row_map[k + 1]):
        total += values[n] * ghosts[entries[n]]
    y[rows[k]] = y[rows[k]] + total
    found = product(x[rows[k]], total, own).real
    if k == 0:
        found += own[()]
    return found


def _dot(i: int, x: Any, y: Any, like: Any) -> Any:
    return product(x[i], y[i], like).real

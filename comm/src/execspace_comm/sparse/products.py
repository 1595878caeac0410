"""spmv: products of a matrix over ranks with vectors over ranks."""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es
from execspace_kernels import sparse

from ..errors import CommError
from .storage import Stored

__all__ = ["add_ghosts", "product_dtype", "spmv", "with_ghosts"]


def spmv(
    A: Stored,
    x: es.View | Any,
    out: es.View | Any = None,
    alpha: Any = 1.0,
    beta: Any = 0.0,
    *,
    algorithm: str = "auto",
) -> es.View:
    """y = beta y + alpha A x, of which each rank has and gets its rows. Collective.

    Parameters
    ----------
    A : DistributedCrsMatrix
    x : View or array, shape (A.columns.size,) or (A.columns.size, k)
        This rank's elements; read. Of the same dtype and number of columns on all ranks; layouts
        and spaces may differ.
    out : View or array, shape (A.rows.size,) or (A.rows.size, k), optional
        y, which must not overlap `x`. Read if `beta` is not 0. Without it a new View of the common
        dtype.
    alpha, beta : number
        The same on all ranks.
    algorithm : str
        Of `execspace_kernels.sparse.spmv`, for the rows of this rank.

    Returns
    -------
    View
        `out`, or the new one.

    Raises
    ------
    CommError
        If x or `out` does not fit, or there is a `beta` without `out`.
    MatrixError, ViewError, SpaceAccessError
        As `execspace_kernels.sparse.spmv`.

    Notes
    -----
    Blocks until what x needs is packed, and then for messages, unless NCCL carries them; the
    product itself is asynchronous where the space is. It can be recorded for a graph on the space
    of the matrix, if x and `out` are Views: submissions are collective then, and block as it does.

    While ghosts are under way, rows are multiplied with the elements of x that this rank has; then
    rows that have ghosts get the rest. So the sum of such a row is that of its own columns, in the
    order of the row, and after it that of its ghosts, in the same order: fixed, but another one
    than on one rank. A matrix made with ``overlap=False`` waits for the ghosts first, and sums rows
    as they are stored: y is, bit for bit, what one rank computes with the same algorithm of these
    whose sums are in the order of rows, "rows" and "stream".
    """
    source = _vector(A, x, "x", A.columns.size)
    y = _result(A, source, out, beta)
    if A._whole is not None:
        full = with_ghosts(A, source)
        return _multiplied(A, A._whole, full, y, alpha, beta, algorithm)
    own, exchange = A._own, A._exchange(source)
    assert own is not None
    if exchange is None:
        return _multiplied(A, own, source, y, alpha, beta, algorithm)
    exchange.start(source)
    try:
        _multiplied(A, own, source, y, alpha, beta, algorithm)
    finally:
        ghosts = exchange.finish()
    add_ghosts(A, ghosts, y, alpha)
    return y


def with_ghosts(A: Stored, x: es.View) -> es.View:
    """All elements of x that rows need as they are stored: those of this rank, then the ghosts."""
    exchange, full = A._exchange_in_order(x)
    if exchange is None:
        return x
    exchange.start(x)
    try:
        es.deep_copy(full[: A.columns.size], x, instance=A.space)
    finally:
        exchange.finish()
    found: es.View = full
    return found


def _multiplied(
    A: Stored, part: Any, x: es.View, y: es.View, alpha: Any, beta: Any,
    algorithm: str,
) -> es.View:  # fmt: skip
    return sparse.spmv(
        part, x, out=y, alpha=alpha, beta=beta, algorithm=algorithm, vendor=False, space=A.space
    )


def add_ghosts(A: Stored, ghosts: es.View, y: es.View, alpha: Any) -> None:
    """y += alpha G g for the rows that have ghosts."""
    rows, graph = A._ghost_rows, A._ghost
    if not rows.shape[0]:
        return
    is_plain = y.dtype.kind == "V" and alpha == 1
    how = "plain" if is_plain else "scaled"
    every: Any = es.RangePolicy(rows.shape[0], space=A.space)
    kernel: Any = _add
    if y.rank == 2:
        every = es.MDRangePolicy((rows.shape[0], y.shape[1]), space=A.space)
        kernel = _add_columns
    es.parallel_for(
        every, kernel, rows, graph.row_map, graph.entries, graph.values, ghosts, y, alpha, how,
        label="spmv ghosts",
    )  # fmt: skip


def _vector(A: Stored, given: Any, name: str, length: int) -> es.View:
    view = given if type(given) is es.View else A.comm._view(given, f"spmv: {name}")
    if view.rank not in (1, 2) or view.shape[0] != length:
        raise CommError(
            f"spmv: {name} is View '{view.label}' of shape {view.shape}; expected ({length},) or "
            f"({length}, k), the elements of this rank of {A!r}."
        )
    return view


def _result(A: Stored, x: es.View, out: Any, beta: Any) -> es.View:
    shape = (A.rows.size, *x.shape[1:])
    if out is None:
        if beta != 0:
            raise CommError(
                f"spmv: beta={beta!r} without out=; expected out, which beta multiplies, or beta=0."
            )
        layout = x.layout if x.rank == 2 and x.layout != "stride" and x.mapping is None else None
        return es.View(
            shape, product_dtype(A.dtype, x.dtype), label="spmv", space=A.space, layout=layout,
            initialize=False,
        )  # fmt: skip
    view = _vector(A, out, "out", A.rows.size)
    if view.shape != shape or view.is_readonly:
        raise CommError(
            f"spmv: out is View '{view.label}' of shape {view.shape}"
            f"{', read-only' if view.is_readonly else ''}; expected {shape}, and one that can be "
            f"written."
        )
    return view


def product_dtype(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    """Of elements of a matrix times those of a vector."""
    from execspace_kernels.sparse.elements import dtype_of_product

    return dtype_of_product(a, b, "spmv")


# -- kernels --------------------------------------------------------------------------------------
# `how` is "plain" for records, whose class need not have products with numbers.


@es.function
def _zero(y: Any) -> Any:
    if isinstance(y[0], es.Record):
        return y.dtype.type(0)
    return 0


@es.function
def _times(factor: Any, total: Any, how: Any) -> Any:
    if how == "plain":
        return total
    return factor * total


def _add(
    k: int, rows: Any, row_map: Any, entries: Any, values: Any, ghosts: Any, y: Any, alpha: Any,
    how: Any,
) -> None:  # fmt: skip
    total = _zero(y)
    for n in range(row_map[k], row_map[k + 1]):
        total += values[n] * ghosts[entries[n]]
    y[rows[k]] = y[rows[k]] + _times(alpha, total, how)


def _add_columns(
    k: int, j: int, rows: Any, row_map: Any, entries: Any, values: Any, ghosts: Any, y: Any,
    alpha: Any, how: Any,
) -> None:  # fmt: skip
    total = _zero(y[rows[k], :])
    for n in range(row_map[k], row_map[k + 1]):
        total += values[n] * ghosts[entries[n], j]
    y[rows[k], j] = y[rows[k], j] + _times(alpha, total, how)

"""LU factors with partial pivots of one dense matrix, and systems that are solved with them.

Right-looking by blocks of columns: a team factors a panel, its exchanges of rows are made in all
other columns, and a triangular solve and a product update what is left. Small matrices are one
panel. Golub and Van Loan, "Matrix Computations", 4th edition, 3.4 and 3.2.11.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..arguments import Space, choice, is_device
from ..batched import serial
from ..batched.elements import magnitude, zero_of
from ..batched.pivots import Largest
from ..blas.gemm import gemm
from ..blas.operands import check_apart, check_square, runs_along
from ..blas.triangles import trsm
from ..decisions import decided
from ..vendors import chosen_vendor
from .conditional import copy_of, keep
from .operands import (
    changed,
    check_alike,
    check_pivots,
    columns_of,
    matrix,
    new_info,
    one_team,
    pivots_of,
    right_sides,
    shapes_of,
)

__all__ = ["gesv", "getrf", "getrs"]

MODES = ("N", "T", "H")
_SMALL = 64  # rows and columns of a matrix that is one panel, and that a column is solved at once
_PANEL = 32  # columns of a panel of others
_COLUMNS = 64  # in which a work item of a host exchanges rows


def getrf(
    A: Any, *, vendor: bool | None = None, space: Space = None
) -> tuple[es.View, es.View]:  # fmt: skip
    """A = P L U with partial pivots, in place; LAPACK's getrf.

    Parameters
    ----------
    A : View or array, shape (m, n)
        float32, float64, complex64 or complex128, in any layout and with any strides. Read and
        written: U in the upper triangle, L below it, whose diagonal is 1.
    vendor : bool, optional
        True: the routine of a vendor's library, which is taken without being asked for where it
        was measured to be faster. False: never.
    space : str or ExecutionSpace, optional
        Where to run; as for a launch if not given.

    Returns
    -------
    pivots : View, shape (min(m, n),), int32
        Row k was exchanged with row pivots[k], counted from 0 on.
    info : View, shape (), int32
        0, or the number of the first pivot, from 1 on, that is 0; the factors are there all the
        same.

    Raises
    ------
    MatrixError
        If `vendor` is True and there is no routine for it: it says why.
    ViewError
        If `A` is no matrix of such numbers, or read-only.
    SpaceAccessError

    Notes
    -----
    Asynchronous where the space is, except for libraries of hosts. Results have the same bits in
    each run on a space.

    LAPACK: https://www.netlib.org/lapack/explore-html/
    """
    A = changed(A, "getrf: A")
    where = es.space_for(A, space=space)
    pivots = es.View(min(A.shape), np.int32, label="pivots", space=where, initialize=False)
    info = new_info(where)
    library = chosen_vendor("getrf", vendor, where, lambda: shapes_of(A), A, pivots, info)
    if library is not None:
        library.getrf(A, pivots, info)
    else:
        _factor("getrf", A, pivots, info, where)
    return pivots, info


def getrs(
    A: Any, pivots: Any, B: Any, mode: str = "N", *, vendor: bool | None = None,
    space: Space = None,
) -> es.View:  # fmt: skip
    """B = op(P L U)^-1 B with what `getrf` made, in place.

    Parameters
    ----------
    A : View or array, shape (n, n)
        The factors. Read.
    pivots : View or array of int32 or int64, shape (n,)
        Read.
    B : View or array, shape (n,) or (n, k)
        Of the same type as `A`. Read and written.
    mode : {"N", "T", "H"}
        op(A) is A, its transpose, or the conjugate of that.
    vendor, space
        As those of `getrf`.

    Returns
    -------
    View
        `B`.

    Raises
    ------
    MatrixError
        If `mode` is not known, `A` is not square, a pivot is no row, or `vendor` is True and there
        is no routine for it.
    ViewError
        If shapes or types do not fit, or `B` is read-only or overlaps `A` or `pivots`.
    SpaceAccessError

    Notes
    -----
    Asynchronous where the space is, except for libraries of hosts. Pivots of 0 are not looked for:
    they give infinities and NaN. Row numbers are looked at in memory of the host; elsewhere those
    that are none exchange nothing.
    """
    choice(mode, "getrs: mode", MODES)
    A = matrix(A, "getrs: A", space)
    check_square(A, "getrs")
    p = pivots_of(pivots, "getrs: pivots", A, space)
    out = right_sides(B, "getrs: B", A.shape[0])
    columns = columns_of(out)
    check_alike("getrs", A=A, B=columns)
    check_apart("getrs: B", columns, A=A, pivots=p)
    where = es.space_for(A, p, columns, space=space)
    if p.memory_space is es.HOST and not es.is_recorded():
        check_pivots(p, where)
    library = chosen_vendor(
        "getrs", vendor, where, lambda: shapes_of(A), A, p, columns, mode
    )  # fmt: skip
    if library is not None:
        library.getrs(A, p, columns, mode)
    elif columns.size:
        _solve(A, p, None, columns, mode, where)
    return out


def gesv(
    A: Any, B: Any, *, vendor: bool | None = None, space: Space = None
) -> tuple[es.View, es.View]:  # fmt: skip
    """B = A^-1 B, in place; of A are left its factors.

    Parameters
    ----------
    A : View or array, shape (n, n)
        float32, float64, complex64 or complex128. Read and written.
    B : View or array, shape (n,) or (n, k)
        Of the same type. Read and written; as it was where A is singular.
    vendor, space
        As those of `getrf`.

    Returns
    -------
    pivots : View, shape (n,), int32
    info : View, shape (), int32
        As of `getrf`.

    Raises
    ------
    MatrixError
        If `A` is not square, or `vendor` is True and there is no routine for it.
    ViewError
        If shapes or types do not fit, or `A` or `B` is read-only or overlaps the other one.
    SpaceAccessError

    Notes
    -----
    As of `getrf`.
    """
    A = changed(A, "gesv: A")
    check_square(A, "gesv")
    columns = columns_of(right_sides(B, "gesv: B", A.shape[0]))
    check_alike("gesv", A=A, B=columns)
    check_apart("gesv: B", columns, A=A)
    where = es.space_for(A, columns, space=space)
    pivots = es.View(A.shape[0], np.int32, label="pivots", space=where, initialize=False)
    info = new_info(where)
    library = chosen_vendor(
        "gesv", vendor, where, lambda: shapes_of(A), A, columns, pivots, info
    )  # fmt: skip
    if library is not None:
        library.gesv(A, columns, pivots, info)
    else:
        _factor("gesv", A, pivots, info, where)
        if columns.size:
            _solve(A, pivots, info, columns, "N", where)
    return pivots, info


def _factor(
    what: str, A: es.View, pivots: es.View, info: es.View, space: es.ExecutionSpace
) -> None:  # fmt: skip
    m, n = A.shape
    if not m or not n:
        es.deep_copy(info, 0, instance=space)
        return
    if max(m, n) <= _SMALL:
        decided(what, "panel", f"there are no more than {_SMALL} rows and columns")
        _factor_panel(A, pivots, info, 0, space)
        return
    decided(what, "blocks", f"there are more than {_SMALL} rows or columns")
    for first in range(0, min(m, n), _PANEL):
        last = min(first + _PANEL, m, n)
        exchanges = es.subview(pivots, (first, last))
        _factor_panel(es.subview(A, (first, m), (first, last)), exchanges, info, first, space)
        for others in ((0, first), (last, n)):
            _exchange(es.subview(A, slice(None), others), exchanges, first, space)
        if last < n:
            right = es.subview(A, (first, last), (last, n))
            diagonal = es.subview(A, (first, last), (first, last))
            trsm(diagonal, right, out=right, vendor=False, unit_diagonal=True, space=space)
            below = es.subview(A, (last, m), (first, last))
            gemm(below, right, out=es.subview(A, (last, m), (last, n)), alpha=-1, beta=1,
                 vendor=False, space=space)  # fmt: skip


def _factor_panel(
    A: es.View, pivots: es.View, info: es.View, first: int, space: es.ExecutionSpace
) -> None:
    policy = one_team(space)
    if policy is None:
        one = es.RangePolicy(1, space=space)
        es.parallel_for(one, _panel_by_one, A, pivots, info, first, label="getrf panel")
    else:
        along = runs_along(A)
        es.parallel_for(policy, _panel, A, pivots, info, first, along, label="getrf panel")


def _exchange(
    B: es.View, pivots: es.View, first: int, space: es.ExecutionSpace, forward: str = "yes"
) -> None:
    """Exchange rows of B from the first one on, by the pivots in their order or backwards."""
    if B.shape[1]:
        wide = 1 if is_device(space) else _COLUMNS
        blocks = es.RangePolicy(-(-B.shape[1] // wide), space=space)
        es.parallel_for(blocks, _rows, B, pivots, first, wide, forward, label="getrf rows")


def _solve(
    A: es.View, pivots: es.View, info: es.View | None, B: es.View, mode: str,
    space: es.ExecutionSpace,
) -> None:  # fmt: skip
    if A.shape[0] <= _SMALL:
        decided("getrs", "columns", f"there are no more than {_SMALL} rows")
        each = es.RangePolicy(B.shape[1], space=space)
        mode = "T" if mode == "H" and A.dtype.kind == "f" else mode  # which is compiled once
        es.parallel_for(each, _column, A, pivots, info, B, mode, label="getrs columns")
        return
    decided("getrs", "blocks", f"there are more than {_SMALL} rows")
    X = B if info is None else copy_of(B, space)
    if mode == "N":
        _exchange(X, pivots, 0, space)
        trsm(A, X, out=X, vendor=False, unit_diagonal=True, space=space)
        trsm(A, X, out=X, vendor=False, uplo="U", space=space)
    else:
        trsm(A, X, out=X, vendor=False, uplo="U", mode=mode, space=space)
        trsm(A, X, out=X, vendor=False, mode=mode, unit_diagonal=True, space=space)
        _exchange(X, pivots, 0, space, "no")
    if info is not None:
        keep(B, X, info, space)


# -- kernels --------------------------------------------------------------------------------------


def _panel(team: Any, A: Any, pivots: Any, info: Any, first: Any, along: Any) -> None:
    m, n = A.extent(0), A.extent(1)
    failed = 0
    for k in range(min(m, n)):
        _, at = es.parallel_reduce(
            es.TeamThreadRange(team, k, m),
            lambda i: (magnitude(A, A[i, k]), np.int32(i)),  # noqa: B023
            reducer=Largest,
        )
        at = max(at, np.int32(k))  # of NaN alone none is the largest
        if es.single(es.PerTeam(team)):
            pivots[k] = first + at
        if at != k:
            for j in es.TeamThreadRange(team, n):
                kept = zero_of(A) + A[k, j]
                A[k, j] = A[at, j]
                A[at, j] = kept
            team.barrier()
        pivot = zero_of(A) + A[k, k]
        if pivot == 0:
            if failed == 0:
                failed = k + 1
        elif along == "left":
            # Each thread has the same rows in all of these loops.
            for i in es.TeamThreadRange(team, k + 1, m):
                A[i, k] = A[i, k] / pivot
            for j in range(k + 1, n):
                for i in es.TeamThreadRange(team, k + 1, m):
                    A[i, j] -= A[i, k] * A[k, j]
        else:
            for i in es.TeamThreadRange(team, k + 1, m):
                factor = A[i, k] / pivot
                A[i, k] = factor
                for j in range(k + 1, n):
                    A[i, j] -= factor * A[k, j]
        team.barrier()
    if es.single(es.PerTeam(team)):
        _tell(info, failed, first)


def _panel_by_one(_: int, A: Any, pivots: Any, info: Any, first: Any) -> None:
    failed = serial.getrf(A, pivots)
    for k in range(pivots.extent(0)):
        pivots[k] += first
    _tell(info, failed, first)


@es.function
def _tell(info: Any, failed: Any, first: Any) -> None:
    """The first panel that failed is that of `info`."""
    if first == 0:
        info[()] = failed
    elif failed > 0 and info[()] == 0:
        info[()] = first + failed


def _rows(c: int, B: Any, pivots: Any, first: Any, wide: Any, forward: Any) -> None:
    n = pivots.extent(0)
    begin = c * wide
    end = min(begin + wide, B.extent(1))
    for step in range(n):
        k = step if forward == "yes" else n - 1 - step
        at = pivots[k]
        if at != first + k:
            for j in range(begin, end):
                kept = zero_of(B) + B[first + k, j]
                B[first + k, j] = B[at, j]
                B[at, j] = kept


def _column(j: int, A: Any, pivots: Any, info: Any, B: Any, mode: Any) -> None:
    is_done = True
    if info is not None:
        is_done = info[()] == 0
    if is_done:
        serial.getrs(A, pivots, B[:, j : j + 1], mode)

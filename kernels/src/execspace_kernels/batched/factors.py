"""Factors of batches, and triangular solves and inverses, called from outside of kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import execspace as es

from ..arguments import (
    INDICES,
    as_view,
    check_apart,
    check_takes,
    choice,
    has_teams,
    is_device,
    result,
)
from ..decisions import decided
from ..errors import MatrixError
from . import columns, eliminations, serial, vectors
from .products import on_triangles
from .views import batch, check_square, check_writable, new, pivots_of, right_sides

__all__ = ["gesv", "getrf", "getrs", "inverse", "lu", "potrf", "trsm", "trtri"]


_ALGORITHMS = ("columns", "registers", "rows", "vectors")  # for some matrices, on some spaces


def trsm(
    A: es.View | Any,
    B: es.View | Any,
    *,
    alpha: complex = 1.0,
    side: str = "L",
    uplo: str = "L",
    mode: str = "N",
    diag: str = "N",
    algorithm: str = "auto",
    space: str | es.ExecutionSpace | None = None,
) -> es.View:
    """B = alpha op(A)^-1 B, or alpha B op(A)^-1, for each triangular A of a batch, in place.

    Arguments, result and errors are those of `batched.trmm`. Nothing is tested: zeros on the
    diagonal make infinities and NaN. Asynchronous where the space is.
    """
    return on_triangles("trsm", A, B, alpha, side, uplo, mode, diag, algorithm, space)


def trtri(
    A: es.View | Any,
    *,
    uplo: str = "L",
    diag: str = "N",
    info: es.View | Any = None,
    algorithm: str = "auto",
    space: str | es.ExecutionSpace | None = None,
) -> es.View:
    """A = A^-1 for each triangular matrix of a batch, in place.

    Parameters
    ----------
    A : View or array, shape (batch, n, n)
        Only the triangle `uplo` is read and written, with `diag` "U" without its diagonal.
    uplo : {"L", "U"}
    diag : {"N", "U"}
    info : View or array of int32 or int64, shape (batch,), optional
        Written, see below. Without it a new View of int32.
    algorithm : {"auto", "serial", "columns", "vectors"}
    space : str or ExecutionSpace, optional

    Returns
    -------
    View, shape (batch,)
        `info`: 0 for each matrix, or the number of the first column, from 1 on, whose diagonal
        element is 0: such a matrix is not changed.

    Raises
    ------
    ViewError, MatrixError, SpaceAccessError

    Notes
    -----
    Asynchronous where the space is.
    """
    choice(uplo, "trtri: uplo", ("L", "U"))
    choice(diag, "trtri: diag", ("N", "U"))
    A, n, where, info = _in_place("trtri", A, True, info, space)
    by_columns = columns.fits(n, n, n)
    chosen = _chosen("trtri", algorithm, "columns" if by_columns else None, where, A)
    if chosen == "vectors" and A.size:
        vectors.invert(A, info, uplo, diag, where)
    elif chosen == "columns":
        columns.triangle("invert", A, A, info, 1.0, "L", uplo, "N", diag, where)
    else:
        _each("trtri", where, A.shape[0], _trtri, A, info, uplo, diag)
    return info


def lu(
    A: es.View | Any,
    *,
    info: es.View | Any = None,
    algorithm: str = "auto",
    space: str | es.ExecutionSpace | None = None,
) -> es.View:
    """A = L U without pivots for each matrix of a batch, in place; the diagonal of L is 1.

    Parameters
    ----------
    A : View or array, shape (batch, m, n)
        Read and written. Matrices that need no pivots, such as diagonally dominant ones.
    info : View or array of int32 or int64, shape (batch,), optional
        Written, see below. Without it a new View of int32.
    algorithm : {"auto", "serial", "registers", "rows", "vectors"}
        "serial": a work item for each matrix. "registers": the same, on devices, with the matrix in
        registers. "rows": a team for each, whose threads have rows in registers. "vectors": on
        hosts, a work item for each group of interleaved matrices, see `gemm`.
    space : str or ExecutionSpace, optional

    Returns
    -------
    View, shape (batch,)
        `info`: 0 for each matrix, or the number of the first pivot, from 1 on, that is 0.

    Raises
    ------
    ViewError, MatrixError, SpaceAccessError

    Notes
    -----
    Asynchronous where the space is.
    """
    A, _, where, info = _in_place("lu", A, False, info, space)
    _factors("lu", A, None, info, "L", algorithm, where, lambda: _each(
        "lu", where, A.shape[0], _lu, A, info
    ))  # fmt: skip
    return info


def getrf(
    A: es.View | Any,
    *,
    pivots: es.View | Any = None,
    info: es.View | Any = None,
    algorithm: str = "auto",
    space: str | es.ExecutionSpace | None = None,
) -> tuple[es.View, es.View]:
    """A = P L U with partial pivots for each matrix of a batch, in place; LAPACK's getrf.

    Parameters
    ----------
    A : View or array, shape (batch, m, n)
        Read and written.
    pivots : View or array of int32 or int64, shape (batch, min(m, n)), optional
        Row k of a matrix was exchanged with row pivots[b, k], counted from 0 on. Without it a new
        View of int32.
    info : View or array of int32 or int64, shape (batch,), optional
        Written, see below. Without it a new View of int32.
    algorithm, space
        As of `lu`.

    Returns
    -------
    pivots : View
    info : View, shape (batch,)
        0 for each matrix, or the number of the first pivot, from 1 on, that is 0.

    Raises
    ------
    ViewError, MatrixError, SpaceAccessError

    Notes
    -----
    Asynchronous where the space is.
    """
    A, _, where, info = _in_place("getrf", A, False, info, space)
    p = pivots_of("getrf", pivots, A, where, is_read=False)
    _factors("getrf", A, p, info, "L", algorithm, where, lambda: _each(
        "getrf", where, A.shape[0], _getrf, A, p, info
    ))  # fmt: skip
    return p, info


def potrf(
    A: es.View | Any,
    *,
    uplo: str = "L",
    info: es.View | Any = None,
    algorithm: str = "auto",
    space: str | es.ExecutionSpace | None = None,
) -> es.View:
    """A = L L^H, or U^H U with uplo "U", for each Hermitian matrix of a batch, in place.

    Parameters
    ----------
    A : View or array, shape (batch, n, n)
        Only the triangle `uplo` is read and written.
    uplo : {"L", "U"}
    info : View or array of int32 or int64, shape (batch,), optional
        Written, see below. Without it a new View of int32.
    algorithm : {"auto", "serial", "registers", "vectors"}
    space : str or ExecutionSpace, optional

    Returns
    -------
    View, shape (batch,)
        `info`: 0 for each matrix, or the number of the first row, from 1 on, which shows that it is
        not positive definite.

    Raises
    ------
    ViewError, MatrixError, SpaceAccessError

    Notes
    -----
    Asynchronous where the space is.
    """
    choice(uplo, "potrf: uplo", ("L", "U"))
    A, _, where, info = _in_place("potrf", A, True, info, space)
    _factors("potrf", A, None, info, uplo, algorithm, where, lambda: _each(
        "potrf", where, A.shape[0], _potrf, A, info, uplo
    ))  # fmt: skip
    return info


def getrs(
    A: es.View | Any,
    pivots: es.View | Any,
    B: es.View | Any,
    *,
    mode: str = "N",
    space: str | es.ExecutionSpace | None = None,
) -> es.View:
    """B = op(P L U)^-1 B with what `getrf` made, for each matrix of a batch, in place.

    Parameters
    ----------
    A : View or array, shape (batch, n, n)
        Read.
    pivots : View or array, shape (batch, n)
        Read.
    B : View or array, shape (batch, n, k)
        Read and written.
    mode : {"N", "T", "H"}
    space : str or ExecutionSpace, optional

    Returns
    -------
    View
        `B`.

    Raises
    ------
    ViewError, MatrixError, SpaceAccessError

    Notes
    -----
    Asynchronous where the space is; a work item for each column.
    """
    choice(mode, "getrs: mode", ("N", "T", "H"))
    A, B = batch(A, "getrs: A"), batch(B, "getrs: B", is_changed=True)
    where = right_sides("getrs", A, B, space)
    p = pivots_of("getrs", pivots, A, where, is_read=True)
    if B.size and vectors.suits(where, A, B):
        vectors.solve("getrs", A, p, p, B, mode, where)
        return B
    es.parallel_for(
        es.MDRangePolicy((B.shape[0], B.shape[2]), space=where), _getrs, A, p, B, mode,
        label="batched getrs",
    )  # fmt: skip
    return B


def gesv(
    A: es.View | Any, B: es.View | Any, *, space: str | es.ExecutionSpace | None = None
) -> tuple[es.View, es.View]:
    """B = A^-1 B for each matrix of a batch, in place; of A are left its factors.

    Parameters
    ----------
    A : View or array, shape (batch, n, n)
        Read and written.
    B : View or array, shape (batch, n, k)
        Read and written; as it was where a matrix is singular.
    space : str or ExecutionSpace, optional

    Returns
    -------
    pivots : View, shape (batch, n), int32
    info : View, shape (batch,), int32
        As of `getrf`.

    Raises
    ------
    ViewError, MatrixError, SpaceAccessError

    Notes
    -----
    Asynchronous where the space is; two launches.
    """
    A, B = (batch(v, f"gesv: {n}", is_changed=True) for v, n in ((A, "A"), (B, "B")))
    where = right_sides("gesv", A, B, space)
    pivots, info = getrf(A, space=where)
    if B.size and vectors.suits(where, A, B):
        vectors.solve("gesv", A, pivots, info, B, "N", where)
        return pivots, info
    es.parallel_for(
        es.MDRangePolicy((B.shape[0], B.shape[2]), space=where), _solve, A, pivots, info, B,
        label="batched gesv",
    )  # fmt: skip
    return pivots, info


def inverse(
    A: es.View | Any,
    *,
    out: es.View | Any = None,
    space: str | es.ExecutionSpace | None = None,
) -> tuple[es.View, es.View]:
    """The inverse of each matrix of a batch; of A are left its factors.

    Parameters
    ----------
    A : View or array, shape (batch, n, n)
        Read and written.
    out : View or array, shape (batch, n, n), optional
        Written; NaN where a matrix is singular. Without it a new View in the layout of `A`.
    space : str or ExecutionSpace, optional

    Returns
    -------
    inverses : View
    info : View, shape (batch,), int32
        As of `getrf`.

    Raises
    ------
    ViewError, MatrixError, SpaceAccessError

    Notes
    -----
    Asynchronous where the space is; two launches.
    """
    A = batch(A, "inverse: A")
    check_square("inverse", A)
    used = (A,) if out is None else (A, as_view(out, "inverse: out"))
    where = es.space_for(*used, space=space)
    if out is None:
        made = new(A.shape, A.dtype, "inverse", where, A)
    else:
        made = result(out, "inverse", A.shape, A.dtype, where, A)
        check_takes("inverse", made, A.dtype)
        check_apart("inverse", made, A=A)
    pivots, info = getrf(A, space=where)
    if A.size and vectors.suits(where, A, made):
        vectors.solve("inverse", A, pivots, info, made, "N", where)
        return made, info
    es.parallel_for(
        es.MDRangePolicy(A.shape[::2], space=where), _invert, A, pivots, info, made,
        label="batched inverse",
    )  # fmt: skip
    return made, info


def _in_place(
    what: str, A: Any, is_square: bool, info: Any, space: Any
) -> tuple[es.View, int, es.ExecutionSpace, es.View]:
    """The View, its rows, the space, and what tells of failures."""
    A = batch(A, f"{what}: A", is_changed=True)
    if is_square:
        check_square(what, A)
    check_writable(what, "A", A)
    if info is None:
        where = es.space_for(A, space=space)
        found = es.View(A.shape[0], np.int32, label="info", space=where, initialize=False)
        return A, int(A.shape[1]), where, found
    found = as_view(info, f"{what}: info")
    where = es.space_for(A, found, space=space)
    if found.shape != A.shape[:1] or found.dtype not in INDICES:
        raise es.ViewError(
            f"{what}: info is View '{found.label}' of {found.dtype} and shape {found.shape}; "
            f"expected int32 or int64 and {A.shape[:1]}."
        )
    check_writable(what, "info", found)
    return A, int(A.shape[1]), where, found


def _chosen(
    what: str, algorithm: str, on_devices: str | None, space: es.ExecutionSpace, A: es.View
) -> str:
    """ "serial", or what hosts or devices have for such matrices."""
    on_hosts = "vectors" if vectors.suits(space, A) else None
    if algorithm != "auto":
        known = ("auto", "serial", *filter(None, (on_devices, on_hosts)))
        if algorithm in _ALGORITHMS and algorithm not in known:
            raise MatrixError(
                f"{what}: algorithm={algorithm!r} is not for matrices of {A.shape[1]} x "
                f"{A.shape[2]} of {A.dtype} in layout '{A.layout}' on space '{space.name}'; "
                f"expected {', '.join(map(repr, known[:-1]))} or {known[-1]!r}."
            )
        choice(algorithm, f"{what}: algorithm", known)
        if algorithm not in ("serial", "vectors") and not has_teams(space):
            raise MatrixError(
                f"{what}: algorithm={algorithm!r}, but space '{space.name}' has no teams; expected "
                f"'serial' or 'auto'."
            )
        chosen, why = algorithm, "it was asked for"
    elif on_hosts:
        chosen, why = on_hosts, vectors.WHY
    elif on_devices is None:
        chosen, why = "serial", "there is no other for such matrices"
    elif not is_device(space):
        chosen, why = "serial", f"space '{space.name}' runs few work items at once"
    else:
        chosen, why = on_devices, f"space '{space.name}' runs many work items at once"
    decided(f"batched.{what}", chosen, why)
    return chosen


def _factors(
    what: str, A: es.View, pivots: es.View | None, info: es.View, uplo: str, algorithm: str,
    space: es.ExecutionSpace, by_work_items: Callable[[], None],
) -> None:  # fmt: skip
    chosen = _chosen(what, algorithm, eliminations.way(what, A, space), space, A)
    if not A.shape[0]:
        return
    if chosen == "serial" or not A.size:
        by_work_items()
    elif chosen == "vectors":
        vectors.factor(what, A, pivots, info, uplo, space)
    else:
        eliminations.factor(what, chosen, A, pivots, info, uplo, space)


def _each(what: str, space: es.ExecutionSpace, number: int, kernel: Any, *args: Any) -> None:
    every = es.RangePolicy(number, space=space)
    es.parallel_for(every, kernel, *args, label=f"batched {what}, serial")


# -- kernels --------------------------------------------------------------------------------------


def _trtri(b: int, A: Any, info: Any, uplo: Any, diag: Any) -> None:
    info[b] = serial.trtri(A[b, :, :], uplo, diag)


def _lu(b: int, A: Any, info: Any) -> None:
    info[b] = serial.lu(A[b, :, :])


def _getrf(b: int, A: Any, pivots: Any, info: Any) -> None:
    info[b] = serial.getrf(A[b, :, :], pivots[b, :])


def _potrf(b: int, A: Any, info: Any, uplo: Any) -> None:
    info[b] = serial.potrf(A[b, :, :], uplo)


def _getrs(b: int, j: int, A: Any, pivots: Any, B: Any, mode: Any) -> None:
    serial.getrs(A[b, :, :], pivots[b, :], B[b, :, j : j + 1], mode)


def _solve(b: int, j: int, A: Any, pivots: Any, info: Any, B: Any) -> None:
    if info[b] == 0:
        serial.getrs(A[b, :, :], pivots[b, :], B[b, :, j : j + 1])


def _invert(b: int, j: int, A: Any, pivots: Any, info: Any, out: Any) -> None:
    for i in range(A.extent(1)):
        out[b, i, j] = (1 if i == j else 0) if info[b] == 0 else np.nan
    if info[b] == 0:
        serial.getrs(A[b, :, :], pivots[b, :], out[b, :, j : j + 1])

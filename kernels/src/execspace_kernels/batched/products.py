"""Products of batches: `gemm`, `gemv`, `trmm`, called from outside of kernels."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

import execspace as es

from ..arguments import (
    as_view,
    check_apart,
    check_beta,
    check_takes,
    choice,
    has_teams,
    is_device,
    largest_team,
    number_of,
    result,
)
from ..decisions import decided
from ..errors import MatrixError
from . import columns, serial, team, vectors
from .views import batch, check_square, check_writable, new, same_batch

__all__ = ["gemm", "gemv", "trmm"]

MODES = ("N", "T", "C", "H")
ALGORITHMS = ("auto", "serial", "team", "columns", "vectors")
_FEW = 16  # rows or columns that a work item does by itself on a device
_THREADS = 128  # of a team for a matrix


def gemm(
    A: es.View | Any,
    B: es.View | Any,
    *,
    out: es.View | Any = None,
    alpha: complex = 1.0,
    beta: complex = 0.0,
    mode_a: str = "N",
    mode_b: str = "N",
    algorithm: str = "auto",
    space: str | es.ExecutionSpace | None = None,
) -> es.View:
    """C = beta C + alpha op(A) op(B), for each matrix of a batch.

    Parameters
    ----------
    A, B : View or array, shape (batch, m, k) and (batch, k, n)
        Of real or complex floats, in any layout, `Interleaved` included; read. Of shape
        (batch, k, m) and (batch, n, k) for modes "T" and "H".
    out : View or array, shape (batch, m, n), optional
        C. Read only where `beta` is not 0. Without it a new View in the layout of `A`.
    alpha, beta : number
        Complex ones for complex `out` only.
    mode_a, mode_b : {"N", "T", "C", "H"}
        op(A) is A, its transpose, its conjugate, or the transpose of that.
    algorithm : {"auto", "serial", "team", "columns", "vectors"}
        "serial": a work item for each matrix, `batched.serial.gemm`. "team": a team for each,
        `batched.team.gemm`. "columns": A in scratch memory and each column of B in the registers of
        a thread; up to 32 rows and columns. "vectors": a work item for each group of interleaved
        matrices, with vectors whose lanes are these; on hosts, for float32 and float64, where A, B
        and C have one `Interleaved` layout and dtype. "auto" takes the last two where it can:
        "columns" on devices only.
    space : str or ExecutionSpace, optional
        Where to run; as for a launch if not given.

    Returns
    -------
    View
        `out`, or the new one.

    Raises
    ------
    ViewError
        If ranks, shapes or numbers of matrices do not fit, elements are no floats, `out` is
        read-only, real for a complex product, or overlaps A or B.
    MatrixError
        If a mode or algorithm is not known, or not for this product.
    SpaceAccessError

    Notes
    -----
    Asynchronous where the space is. Sums are in the order of k. Each shape is compiled at its first
    call for "columns" and "vectors".
    Kokkos Kernels: https://kokkos.org/kokkos-kernels/docs/
    """
    choice(mode_a, "gemm: mode_a", MODES)
    choice(mode_b, "gemm: mode_b", MODES)
    choice(algorithm, "gemm: algorithm", ALGORITHMS)
    A, B = batch(A, "gemm: A"), batch(B, "gemm: B")
    number = same_batch("gemm", A=A, B=B)
    m, k = A.shape[1:] if mode_a in "NC" else A.shape[:0:-1]
    inner, n = B.shape[1:] if mode_b in "NC" else B.shape[:0:-1]
    if inner != k:
        raise es.ViewError(
            f"gemm: op(A) has {k} columns and op(B) {inner} rows; expected the same number."
        )
    used = (A, B) if out is None else (A, B, as_view(out, "gemm: out"))
    where = es.space_for(*used, space=space)
    alpha, beta = number_of(alpha, "gemm: alpha"), number_of(beta, "gemm: beta")
    check_beta("gemm", out, beta)
    dtype = _scaled(_common(A, B), alpha, beta)
    C = _target("gemm", out, (number, m, n), dtype, where, A)
    if out is not None:
        check_apart("gemm", C, A=A, B=B)
    fits = columns.fits(m, k, n)
    by_vectors = vectors.suits(where, A, B, C)
    chosen = _chosen("gemm", algorithm, where, fits, max(m, n, k), by_vectors)
    if not C.size:
        return C
    if chosen == "vectors":
        vectors.multiply(A, B, C, m, k, alpha, beta, mode_a, mode_b, where)
        return C
    if chosen == "columns":
        columns.multiply(A, B, C, m, k, alpha, beta, mode_a, mode_b, where)
    elif chosen == "team":
        es.parallel_for(
            _teams(number, where), _gemm_by_team, A, B, C, alpha, beta, mode_a, mode_b,
            label="batched gemm, team",
        )  # fmt: skip
    else:
        es.parallel_for(
            es.RangePolicy(number, space=where), _gemm, A, B, C, alpha, beta, mode_a, mode_b,
            label="batched gemm, serial",
        )  # fmt: skip
    return C


def gemv(
    A: es.View | Any,
    x: es.View | Any,
    *,
    out: es.View | Any = None,
    alpha: complex = 1.0,
    beta: complex = 0.0,
    mode: str = "N",
    space: str | es.ExecutionSpace | None = None,
) -> es.View:
    """y = beta y + alpha op(A) x, for each matrix and vector of a batch.

    Parameters
    ----------
    A : View or array, shape (batch, m, n)
        Read.
    x : View or array, shape (batch, n)
        Read; (batch, m) for modes "T" and "H".
    out : View or array, shape (batch, m), optional
        y. Read only where `beta` is not 0. Without it a new View in the layout of `x`.
    alpha, beta, mode, space
        As of `gemm`.

    Returns
    -------
    View
        `out`, or the new one.

    Raises
    ------
    ViewError, MatrixError, SpaceAccessError
        As `gemm`.

    Notes
    -----
    Asynchronous where the space is; a work item for each element of y, or on hosts for each group
    of interleaved matrices, where all dtypes are the same.
    """
    choice(mode, "gemv: mode", MODES)
    A, x = batch(A, "gemv: A"), batch(x, "gemv: x", 2)
    number = same_batch("gemv", A=A, x=x)
    m, n = A.shape[1:] if mode in "NC" else A.shape[:0:-1]
    if x.shape[1] != n:
        raise es.ViewError(f"gemv: x has vectors of {x.shape[1]}; expected {n}, as op(A) columns.")
    used = (A, x) if out is None else (A, x, as_view(out, "gemv: out"))
    where = es.space_for(*used, space=space)
    alpha, beta = number_of(alpha, "gemv: alpha"), number_of(beta, "gemv: beta")
    check_beta("gemv", out, beta)
    dtype = _scaled(_common(A, x), alpha, beta)
    y = _target("gemv", out, (number, m), dtype, where, x)
    if out is not None:
        check_apart("gemv", y, A=A, x=x)
    if vectors.suits(where, A) and A.dtype == x.dtype == y.dtype and y.size:
        vectors.multiply_vectors(A, x, y, alpha, beta, mode, where)
        return y
    es.parallel_for(
        es.MDRangePolicy((number, m), space=where), _gemv, A, x, y, alpha, beta, mode,
        label="batched gemv",
    )  # fmt: skip
    return y


def trmm(
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
    """B = alpha op(A) B, or alpha B op(A), for each triangular A of a batch, in place.

    Parameters
    ----------
    A : View or array, shape (batch, n, n)
        Only the triangle `uplo` is read.
    B : View or array, shape (batch, n, k), or (batch, k, n) with side "R"
        Read and written.
    alpha : number
    side : {"L", "R"}
        Of B where op(A) is.
    uplo : {"L", "U"}
        The lower or the upper triangle.
    mode : {"N", "T", "C", "H"}
    diag : {"N", "U"}
        With "U" the diagonal is not read, and 1.
    algorithm, space
        As of `gemm`.

    Returns
    -------
    View
        `B`.

    Raises
    ------
    ViewError, MatrixError, SpaceAccessError
        As `gemm`.

    Notes
    -----
    Asynchronous where the space is.
    """
    return on_triangles("trmm", A, B, alpha, side, uplo, mode, diag, algorithm, space)


def on_triangles(
    what: str, A: Any, B: Any, alpha: Any, side: str, uplo: str, mode: str, diag: str,
    algorithm: str, space: Any,
) -> es.View:  # fmt: skip
    """`trmm` or `trsm`."""
    for value, name, known in (
        (side, "side", ("L", "R")), (uplo, "uplo", ("L", "U")), (mode, "mode", MODES),
        (diag, "diag", ("N", "U")), (algorithm, "algorithm", ALGORITHMS),
    ):  # fmt: skip
        choice(value, f"{what}: {name}", known)
    A = batch(A, f"{what}: A")
    target: es.View = batch(B, f"{what}: B", is_changed=True)
    B = target
    number, n = same_batch(what, A=A, B=B), check_square(what, A)
    own, k = B.shape[1:] if side == "L" else B.shape[:0:-1]
    if own != n:
        raise es.ViewError(
            f"{what}: B has matrices of {B.shape[1]} x {B.shape[2]}; expected {n} "
            f"{'rows' if side == 'L' else 'columns'}, as A."
        )
    check_writable(what, "B", B)
    check_apart(what, B, A=A)
    where = es.space_for(A, B, space=space)
    alpha = number_of(alpha, f"{what}: alpha")
    check_takes(what, B, _scaled(_common(A, B), alpha))
    by_vectors = vectors.suits(where, A, B)
    chosen = _chosen(what, algorithm, where, columns.fits(n, n, k), max(n, k), by_vectors)
    if not B.size:
        return target
    args = A, B, alpha, side, uplo, mode, diag
    act = "multiply" if what == "trmm" else "solve"
    if chosen == "vectors":
        vectors.triangle(act, A, B, alpha, side, uplo, mode, diag, where)
    elif chosen == "columns":
        columns.triangle(act, A, B, None, alpha, side, uplo, mode, diag, where)
    elif chosen == "team":
        kernel: Any = _trmm_by_team if what == "trmm" else _trsm_by_team
        es.parallel_for(_teams(number, where), kernel, *args, label=f"batched {what}, team")
    else:
        kernel = _trmm if what == "trmm" else _trsm
        every = es.RangePolicy(number, space=where)
        es.parallel_for(every, kernel, *args, label=f"batched {what}, serial")
    return target


def _common(A: es.View, B: es.View) -> np.dtype[Any]:
    """The dtype of products of elements; NumPy takes its time, and mostly they are alike."""
    return A.dtype if A.dtype == B.dtype else np.result_type(A.dtype, B.dtype)


def _scaled(dtype: np.dtype[Any], *numbers: Any) -> np.dtype[Any]:
    """The dtype of multiples of elements."""
    if any(isinstance(n, complex | np.complexfloating) for n in numbers):
        return np.result_type(dtype, np.complex64)
    return dtype


def _target(
    what: str, out: Any, shape: tuple[int, ...], dtype: Any, space: es.ExecutionSpace, like: es.View
) -> es.View:
    if out is None:
        return new(shape, dtype, what, space, like)
    found = result(out, what, shape, dtype, space, like)
    check_takes(what, found, np.dtype(dtype))
    return found


@lru_cache(maxsize=256)
def _teams(number: int, space: es.ExecutionSpace) -> es.TeamPolicy:
    """A team for each matrix."""
    size = 1
    if is_device(space):
        size = min(_THREADS, largest_team(space))
    return es.TeamPolicy(number, size, space=space)


def _chosen(
    what: str, algorithm: str, space: es.ExecutionSpace, fits: bool, largest: int, by_vectors: bool
) -> str:
    """The algorithm; MatrixError for one that is not for this."""
    if algorithm == "columns" and not fits:
        raise MatrixError(
            f"{what}: algorithm='columns' is for up to 32 rows and columns, and at least 1, of "
            f"which not many more are for each column; expected 'serial', 'team' or 'auto'."
        )
    if algorithm == "vectors" and not by_vectors:
        raise MatrixError(
            f"{what}: algorithm='vectors' is for hosts, and for float32 or float64 in one layout "
            f"'Interleaved' of 2 to 64 matrices; expected 'serial', 'team' or 'auto'."
        )
    if algorithm in ("team", "columns") and not has_teams(space):
        raise MatrixError(
            f"{what}: algorithm={algorithm!r}, but space '{space.name}' has no teams; expected "
            f"'serial' or 'auto'."
        )
    if algorithm != "auto":
        chosen, why = algorithm, "it was asked for"
    elif by_vectors:
        chosen, why = "vectors", vectors.WHY
    elif not is_device(space):
        chosen, why = "serial", f"space '{space.name}' runs few work items at once"
    elif fits:
        chosen, why = "columns", "matrices have up to 32 rows and columns"
    elif largest > _FEW:
        chosen, why = "team", f"matrices have more than {_FEW} rows or columns"
    else:
        chosen, why = "serial", "matrices are small"
    decided(f"batched.{what}", chosen, why)
    return chosen


# -- kernels --------------------------------------------------------------------------------------


def _gemm(b: int, A: Any, B: Any, C: Any, alpha: Any, beta: Any, mode_a: Any, mode_b: Any) -> None:
    serial.gemm(A[b, :, :], B[b, :, :], C[b, :, :], alpha, beta, mode_a, mode_b)


def _gemm_by_team(
    member: Any, A: Any, B: Any, C: Any, alpha: Any, beta: Any, mode_a: Any, mode_b: Any
) -> None:
    b = member.league_rank
    team.gemm(member, A[b, :, :], B[b, :, :], C[b, :, :], alpha, beta, mode_a, mode_b)


def _gemv(b: int, i: int, A: Any, x: Any, y: Any, alpha: Any, beta: Any, mode: Any) -> None:
    if mode == "N" or mode == "C":
        serial.gemv(A[b, i : i + 1, :], x[b, :], y[b, i : i + 1], alpha, beta, mode)
    else:
        serial.gemv(A[b, :, i : i + 1], x[b, :], y[b, i : i + 1], alpha, beta, mode)


def _trmm(b: int, A: Any, B: Any, alpha: Any, side: Any, uplo: Any, mode: Any, diag: Any) -> None:
    serial.trmm(A[b, :, :], B[b, :, :], alpha, side, uplo, mode, diag)


def _trmm_by_team(
    member: Any, A: Any, B: Any, alpha: Any, side: Any, uplo: Any, mode: Any, diag: Any
) -> None:
    b = member.league_rank
    team.trmm(member, A[b, :, :], B[b, :, :], alpha, side, uplo, mode, diag)


def _trsm(b: int, A: Any, B: Any, alpha: Any, side: Any, uplo: Any, mode: Any, diag: Any) -> None:
    serial.trsm(A[b, :, :], B[b, :, :], alpha, side, uplo, mode, diag)


def _trsm_by_team(
    member: Any, A: Any, B: Any, alpha: Any, side: Any, uplo: Any, mode: Any, diag: Any
) -> None:
    b = member.league_rank
    team.trsm(member, A[b, :, :], B[b, :, :], alpha, side, uplo, mode, diag)

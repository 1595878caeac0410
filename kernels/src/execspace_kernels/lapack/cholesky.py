"""Cholesky's factors of one Hermitian matrix, and systems that are solved with them.

Right-looking by blocks: a block of the diagonal is factored, a triangular solve gives what is below
it, and a product updates the triangle that is left. The upper triangle of A is the lower one of its
transpose. Golub and Van Loan, "Matrix Computations", 4th edition, 4.2.
"""

from __future__ import annotations

from typing import Any

import execspace as es

from ..arguments import Space, choice
from ..batched import serial
from ..batched import team as of_team
from ..blas.operands import check_apart, check_square
from ..blas.rank_k import herk
from ..blas.triangles import trsm
from ..decisions import decided
from ..vendors import chosen_vendor
from .conditional import copy_of, keep
from .operands import (
    TRIANGLES,
    by_one_team,
    changed,
    check_alike,
    columns_of,
    matrix,
    new_info,
    right_sides,
    shapes_of,
)

__all__ = ["posv", "potrf", "potrs"]

_SMALL = 64  # rows of a matrix that is one block
_BLOCK = 32  # rows of a block of others


def potrf(
    A: Any, uplo: str = "L", *, vendor: bool | None = None, space: Space = None
) -> es.View:  # fmt: skip
    """A = L L^H, or U^H U with uplo "U", in place; LAPACK's potrf.

    Parameters
    ----------
    A : View or array, shape (n, n)
        float32, float64, complex64 or complex128, in any layout and with any strides; Hermitian.
        Only the triangle `uplo` is read and written, and of its diagonal the real parts count.
    uplo : {"L", "U"}
    vendor : bool, optional
        True: the routine of a vendor's library, which is taken without being asked for where it
        was measured to be faster. False: never.
    space : str or ExecutionSpace, optional
        Where to run; as for a launch if not given.

    Returns
    -------
    View, shape (), int32
        `info`: 0, or the number of the first row, from 1 on, which shows that A is not positive
        definite. What is in the triangle is of no use then.

    Raises
    ------
    MatrixError
        If `uplo` is not known, `A` is not square, or `vendor` is True and there is no routine for
        it.
    ViewError
        If `A` is no matrix of such numbers, or read-only.
    SpaceAccessError

    Notes
    -----
    Asynchronous where the space is, except for libraries of hosts. Results have the same bits in
    each run on a space.

    LAPACK: https://www.netlib.org/lapack/explore-html/
    """
    choice(uplo, "potrf: uplo", TRIANGLES)
    A = changed(A, "potrf: A")
    check_square(A, "potrf")
    where = es.space_for(A, space=space)
    info = new_info(where)
    library = chosen_vendor("potrf", vendor, where, lambda: shapes_of(A), A, info, uplo)
    if library is not None:
        library.potrf(A, info, uplo)
    else:
        _factor("potrf", A, info, uplo, where)
    return info


def potrs(
    A: Any, B: Any, uplo: str = "L", *, vendor: bool | None = None, space: Space = None
) -> es.View:  # fmt: skip
    """B = A^-1 B with the factor that `potrf` made, in place.

    Parameters
    ----------
    A : View or array, shape (n, n)
        Of which the triangle `uplo` is the factor. Read.
    B : View or array, shape (n,) or (n, k)
        Of the same type as `A`. Read and written.
    uplo, vendor, space
        As those of `potrf`.

    Returns
    -------
    View
        `B`.

    Raises
    ------
    MatrixError
        As of `potrf`.
    ViewError
        If shapes or types do not fit, or `B` is read-only or overlaps `A`.
    SpaceAccessError

    Notes
    -----
    Asynchronous where the space is, except for libraries of hosts.
    """
    choice(uplo, "potrs: uplo", TRIANGLES)
    A = matrix(A, "potrs: A", space)
    check_square(A, "potrs")
    out = right_sides(B, "potrs: B", A.shape[0])
    columns = columns_of(out)
    check_alike("potrs", A=A, B=columns)
    check_apart("potrs: B", columns, A=A)
    where = es.space_for(A, columns, space=space)
    library = chosen_vendor(
        "potrs", vendor, where, lambda: shapes_of(A), A, columns, uplo
    )  # fmt: skip
    if library is not None:
        library.potrs(A, columns, uplo)
    elif columns.size:
        _solve(A, None, columns, uplo, where)
    return out


def posv(
    A: Any, B: Any, uplo: str = "L", *, vendor: bool | None = None, space: Space = None
) -> es.View:  # fmt: skip
    """B = A^-1 B for a Hermitian, positive definite A, in place; of A is left its factor.

    Parameters
    ----------
    A : View or array, shape (n, n)
        As of `potrf`. Read and written.
    B : View or array, shape (n,) or (n, k)
        Of the same type. Read and written; as it was where A is not positive definite.
    uplo, vendor, space
        As those of `potrf`.

    Returns
    -------
    View, shape (), int32
        `info`, as of `potrf`.

    Raises
    ------
    MatrixError
        As of `potrf`.
    ViewError
        If shapes or types do not fit, or `A` or `B` is read-only or overlaps the other one.
    SpaceAccessError

    Notes
    -----
    As of `potrf`.
    """
    choice(uplo, "posv: uplo", TRIANGLES)
    A = changed(A, "posv: A")
    check_square(A, "posv")
    columns = columns_of(right_sides(B, "posv: B", A.shape[0]))
    check_alike("posv", A=A, B=columns)
    check_apart("posv: B", columns, A=A)
    where = es.space_for(A, columns, space=space)
    info = new_info(where)
    library = chosen_vendor(
        "posv", vendor, where, lambda: shapes_of(A), A, columns, info, uplo
    )  # fmt: skip
    if library is not None:
        library.posv(A, columns, info, uplo)
    else:
        _factor("posv", A, info, uplo, where)
        if columns.size:
            _solve(A, info, columns, uplo, where)
    return info


def _factor(
    what: str, A: es.View, info: es.View, uplo: str, space: es.ExecutionSpace
) -> None:  # fmt: skip
    n, L = A.shape[0], A if uplo == "L" else A.T
    if not n:
        es.deep_copy(info, 0, instance=space)
        return
    if n <= _SMALL:
        decided(what, "block", f"there are no more than {_SMALL} rows")
        _factor_block(L, info, 0, space)
        return
    decided(what, "blocks", f"there are more than {_SMALL} rows")
    for first in range(0, n, _BLOCK):
        last = min(first + _BLOCK, n)
        diagonal = es.subview(L, (first, last), (first, last))
        _factor_block(diagonal, info, first, space)
        if last < n:
            below = es.subview(L, (last, n), (first, last))
            trsm(diagonal, below, out=below, vendor=False, side="R", mode="H", space=space)
            herk(below, out=es.subview(L, (last, n), (last, n)), alpha=-1, beta=1, vendor=False,
                 space=space)  # fmt: skip


def _factor_block(L: es.View, info: es.View, first: int, space: es.ExecutionSpace) -> None:
    by_one_team(space, _block, _block_by_one, L, info, first, label="potrf block")


def _solve(
    A: es.View, info: es.View | None, B: es.View, uplo: str, space: es.ExecutionSpace
) -> None:  # fmt: skip
    if A.shape[0] <= _SMALL:
        decided("potrs", "columns", f"there are no more than {_SMALL} rows")
        each = es.RangePolicy(B.shape[1], space=space)
        es.parallel_for(each, _column, A, info, B, uplo, label="potrs columns")
        return
    decided("potrs", "blocks", f"there are more than {_SMALL} rows")
    X = B if info is None else copy_of(B, space)
    for mode in ("N", "H") if uplo == "L" else ("H", "N"):
        trsm(A, X, out=X, vendor=False, uplo=uplo, mode=mode, space=space)
    if info is not None:
        keep(B, X, info, space)


# -- kernels --------------------------------------------------------------------------------------


def _block(team: Any, L: Any, info: Any, first: Any) -> None:
    is_going = True
    if first > 0:
        is_going = info[()] == 0
    team.barrier()  # all have read it
    if is_going:
        failed = of_team.potrf(team, L)
        if es.single(es.PerTeam(team)):
            info[()] = first + failed if failed > 0 else 0


def _block_by_one(_: int, L: Any, info: Any, first: Any) -> None:
    is_going = True
    if first > 0:
        is_going = info[()] == 0
    if is_going:
        failed = serial.potrf(L)
        info[()] = first + failed if failed > 0 else 0


def _column(j: int, A: Any, info: Any, B: Any, uplo: Any) -> None:
    is_done = True
    if info is not None:
        is_done = info[()] == 0
    if is_done:
        serial.potrs(A, B[:, j : j + 1], uplo)

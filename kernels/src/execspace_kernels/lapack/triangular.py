"""The inverse of one triangular matrix.

By blocks of columns in order: what is below a block of the diagonal is solved for with that block
and with the triangle that is left, neither of which is inverted yet. The upper triangle of A is the
lower one of its transpose. Higham, "Accuracy and Stability of Numerical Algorithms", 14.2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..arguments import Space, check_bool, choice, is_device
from ..batched import serial
from ..batched import team as of_team
from ..blas.operands import check_square
from ..blas.triangles import trsm
from ..decisions import decided
from ..vendors import chosen_vendor
from .conditional import copy_of, keep
from .operands import TRIANGLES, by_one_team, changed, new_info, shapes_of

__all__ = ["trtri"]

_SMALL = 64  # rows of a matrix that is one block on hosts
_BLOCK = 32  # rows of other blocks, which devices copy to scratch memory


def trtri(
    A: Any, uplo: str = "L", unit_diagonal: bool = False, *, vendor: bool | None = None,
    space: Space = None,
) -> es.View:  # fmt: skip
    """A = A^-1 of a triangular matrix, in place; LAPACK's trtri.

    Parameters
    ----------
    A : View or array, shape (n, n)
        float32, float64, complex64 or complex128, in any layout and with any strides. Only the
        triangle `uplo` is read and written.
    uplo : {"L", "U"}
    unit_diagonal : bool
        Whether the diagonal is one, and neither read nor written.
    vendor : bool, optional
        True: the routine of a vendor's library, which is taken without being asked for where it
        was measured to be faster. False: never.
    space : str or ExecutionSpace, optional
        Where to run; as for a launch if not given.

    Returns
    -------
    View, shape (), int32
        `info`: 0, or the number of the first column, from 1 on, whose diagonal element is 0: then
        A is not changed.

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
    choice(uplo, "trtri: uplo", TRIANGLES)
    is_unit = check_bool(unit_diagonal, "trtri: unit_diagonal")
    A = changed(A, "trtri: A")
    check_square(A, "trtri")
    where = es.space_for(A, space=space)
    info = new_info(where)
    library = chosen_vendor(
        "trtri", vendor, where, lambda: shapes_of(A), A, info, uplo, is_unit
    )  # fmt: skip
    if library is not None:
        library.trtri(A, info, uplo, is_unit)
    else:
        _invert(A if uplo == "L" else A.T, info, is_unit, where)
    return info


def _invert(L: es.View, info: es.View, is_unit: bool, space: es.ExecutionSpace) -> None:
    n, diag = L.shape[0], "U" if is_unit else "N"
    if not n:
        es.deep_copy(info, 0, instance=space)
        return
    small = _BLOCK if is_device(space) else _SMALL
    if n <= small:
        decided("trtri", "block", f"there are no more than {small} rows")
        _invert_block(L, info, diag, space)
        return
    decided("trtri", "blocks", f"there are more than {small} rows")
    of_block, X = new_info(space), copy_of(L, space)
    if is_unit:
        es.deep_copy(info, 0, instance=space)
    else:
        rows = es.RangePolicy(n, space=space)
        es.parallel_reduce(rows, _zero, L, n, reducer=es.Min, out=info, label="trtri zeros")
        es.parallel_for(es.RangePolicy(1, space=space), _settle, info, n, label="trtri info")
    for first in range(0, n, _BLOCK):
        last = min(first + _BLOCK, n)
        diagonal = es.subview(X, (first, last), (first, last))
        if last < n:
            below = es.subview(X, (last, n), (first, last))
            trsm(diagonal, below, out=below, alpha=-1, side="R", unit_diagonal=is_unit,
                 vendor=False, space=space)  # fmt: skip
            rest = es.subview(X, (last, n), (last, n))
            trsm(rest, below, out=below, vendor=False, unit_diagonal=is_unit, space=space)
        _invert_block(diagonal, of_block, diag, space)
    keep(L, X, info, space, "L")


def _invert_block(L: es.View, info: es.View, diag: str, space: es.ExecutionSpace) -> None:
    by_one_team(space, _block, _block_by_one, L, info, diag, label="trtri block")


# -- kernels --------------------------------------------------------------------------------------


def _zero(i: int, L: Any, n: Any) -> Any:
    """The number of a row whose diagonal element is 0."""
    return np.int32(i + 1 if L[i, i] == 0 else n + 1)


def _settle(_: int, info: Any, n: Any) -> None:
    if info[()] > n:
        info[()] = 0


def _block(team: Any, L: Any, info: Any, diag: Any) -> None:
    failed = of_team.trtri(team, L, "L", diag)
    if es.single(es.PerTeam(team)):
        info[()] = failed


def _block_by_one(_: int, L: Any, info: Any, diag: Any) -> None:
    info[()] = serial.trtri(L, "L", diag)

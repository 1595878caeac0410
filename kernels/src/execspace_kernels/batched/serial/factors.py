"""Factors of small matrices by one thread, and what is solved with them, for use in kernels.

Names and meanings are LAPACK's; pivots are counted from 0 on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..elements import magnitude, own, zero_of
from .products import set_identity
from .triangles import trsm

__all__ = [
    "geqrf",
    "gesv",
    "getrf",
    "getrs",
    "inverse",
    "lu",
    "ormqr",
    "potrf",
    "potrs",
    "swap_rows",
]


@es.function
def swap_rows(A: Any, k: Any, other: Any) -> None:
    """Exchange two rows, of which the second one is not before the first."""
    for i in range(k + 1, A.extent(0)):  # so that subscripts of arrays in registers are constants
        if i == other:
            for j in range(A.extent(1)):
                kept = zero_of(A) + A[k, j]
                A[k, j] = A[i, j]
                A[i, j] = kept


@es.function
def _eliminate(A: Any, k: Any) -> Any:
    """Subtract multiples of row k from those below; whether its pivot is 0, so that none is."""
    is_zero = A[k, k] == 0
    if not is_zero:
        for i in range(k + 1, A.extent(0)):
            factor = A[i, k] / A[k, k]
            A[i, k] = factor
            for j in range(k + 1, A.extent(1)):
                A[i, j] -= factor * A[k, j]
    return is_zero


@es.function
def lu(A: Any) -> Any:
    """A = L U without pivots, in place; the diagonal of L is 1.

    Returns 0, or the number of the first pivot, from 1 on, that is 0. For matrices that need no
    pivots, such as diagonally dominant ones.
    """
    info = 0
    for k in range(min(A.extent(0), A.extent(1))):
        is_zero = _eliminate(A, k)
        if is_zero and info == 0:
            info = k + 1
    return info


@es.function
def getrf(A: Any, pivots: Any) -> Any:
    """A = P L U with partial pivots, in place; the diagonal of L is 1.

    Row k was exchanged with row `pivots[k]`, a vector of integers, as of SciPy's lu_factor. Returns
    0, or the number of the first pivot, from 1 on, that is 0.
    """
    info = 0
    for k in range(min(A.extent(0), A.extent(1))):
        at = k
        largest = magnitude(A, A[k, k])
        for i in range(k + 1, A.extent(0)):
            found = magnitude(A, A[i, k])
            if found > largest:
                largest = found
                at = i
        pivots[k] = at
        swap_rows(A, k, at)
        is_zero = _eliminate(A, k)
        if is_zero and info == 0:
            info = k + 1
    return info


@es.function
def getrs(A: Any, pivots: Any, B: Any, mode: Any = "N") -> None:
    """B = op(P L U)^-1 B with what `getrf` made; of modes "N", "T" and "H"."""
    n = A.extent(0)
    if mode == "N":
        for k in range(n):
            swap_rows(B, k, pivots[k])
        trsm(A, B, diag="U")
        trsm(A, B, uplo="U")
    else:
        trsm(A, B, uplo="U", mode=mode)
        trsm(A, B, mode=mode, diag="U")
        for q in range(n):
            swap_rows(B, n - 1 - q, pivots[n - 1 - q])


@es.function
def gesv(A: Any, pivots: Any, B: Any) -> Any:
    """B = A^-1 B; of A are left its factors, as of `getrf`. Returns what that returns; B is as it
    was if that is not 0."""
    info = getrf(A, pivots)
    if info == 0:
        getrs(A, pivots, B)
    return info


@es.function
def inverse(A: Any, pivots: Any, out: Any) -> Any:
    """out = A^-1; of A are left its factors. Returns what `getrf` returns; `out` is not written if
    that is not 0."""
    info = getrf(A, pivots)
    if info == 0:
        set_identity(out)
        getrs(A, pivots, out)
    return info


@es.function
def potrf(A: Any, uplo: Any = "L") -> Any:
    """A = L L^H, or U^H U with uplo "U", in place, of a Hermitian A; Cholesky's factors.

    Only the triangle `uplo` is read and written. Returns 0, or the number of the first row, from 1
    on, which shows that A is not positive definite: rows before are done then.
    """
    info = 0
    for k in range(A.extent(0)):
        square = zero_of(A) + A[k, k]
        for q in range(k):
            value = A[k, q] if uplo == "L" else A[q, k]
            square -= value * np.conj(value)
        if info == 0:
            if not square.real > 0:  # NaN is not, either
                info = k + 1
            else:
                root = np.sqrt(square.real)
                A[k, k] = root
                for i in range(k + 1, A.extent(0)):
                    if uplo == "L":
                        total = zero_of(A) + A[i, k]
                        for q in range(k):
                            total -= A[i, q] * np.conj(A[k, q])
                        A[i, k] = total / root
                    else:
                        total = zero_of(A) + A[k, i]
                        for q in range(k):
                            total -= np.conj(A[q, k]) * A[q, i]
                        A[k, i] = total / root
    return info


@es.function
def potrs(A: Any, B: Any, uplo: Any = "L") -> None:
    """B = A^-1 B with the factor that `potrf` made."""
    if uplo == "L":
        trsm(A, B)
        trsm(A, B, mode="H")
    else:
        trsm(A, B, uplo="U", mode="H")
        trsm(A, B, uplo="U")


@es.function
def _reflect(A: Any, tau: Any, k: Any, B: Any, first: Any, mode: Any) -> None:
    """Apply the reflector k of A, or with mode "H" its conjugate transpose, to columns of B."""
    factor = own(tau[k], mode)
    for j in range(first, B.extent(1)):
        total = zero_of(B) + B[k, j]
        for i in range(k + 1, A.extent(0)):
            total += np.conj(A[i, k]) * B[i, j]
        total *= factor
        B[k, j] -= total
        for i in range(k + 1, A.extent(0)):
            B[i, j] -= A[i, k] * total


@es.function
def geqrf(A: Any, tau: Any) -> None:
    """A = Q R, in place: R in the upper triangle, below it the reflectors whose product Q is, with
    their factors `tau`, as LAPACK's geqrf has them."""
    for k in range(min(A.extent(0), A.extent(1))):
        largest = magnitude(A, A[k, k])
        below = largest - largest  # 0, or NaN
        for i in range(k + 1, A.extent(0)):
            below = max(below, magnitude(A, A[i, k]))
        largest = max(largest, below)
        is_real = True
        if A.dtype.kind == "c":
            is_real = A[k, k].imag == 0
        if below == 0 and is_real:
            tau[k] = 0
        else:
            # Squares of scaled elements neither overflow nor vanish.
            total = zero_of(A).real
            for i in range(k, A.extent(0)):
                scaled = A[i, k] / largest
                total += (scaled * np.conj(scaled)).real
            norm = largest * np.sqrt(total)
            pivot = zero_of(A) + A[k, k]
            end = -norm if pivot.real >= 0 else norm
            tau[k] = (end - pivot) / end
            for i in range(k + 1, A.extent(0)):
                A[i, k] = A[i, k] / (pivot - end)
            A[k, k] = end
            _reflect(A, tau, k, A, k + 1, "H")


@es.function
def ormqr(A: Any, tau: Any, B: Any, mode: Any = "N") -> None:
    """B = Q B, or Q^H B with mode "H", or "T" for real numbers, with what `geqrf` made."""
    n = min(A.extent(0), A.extent(1))
    for q in range(n):
        if mode == "N":
            _reflect(A, tau, n - 1 - q, B, 0, "N")
        else:
            _reflect(A, tau, q, B, 0, "H")

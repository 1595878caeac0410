"""Triangular solves and inverses of small matrices by one thread, for use in kernels."""

from __future__ import annotations

from typing import Any

import execspace as es

from ..elements import element, is_lower, zero_of

__all__ = ["trsm", "trsv", "trtri"]


@es.function
def trsv(A: Any, b: Any, uplo: Any = "L", mode: Any = "N", diag: Any = "N") -> None:
    """b = op(A)^-1 b for a triangular A, in place.

    Of A the triangle `uplo` is read, with `diag` "U" not its diagonal, which is 1 then. Nothing is
    tested: zeros on the diagonal make infinities and NaN.
    """
    n = A.extent(0)
    low = is_lower(uplo, mode)
    for s in range(n):
        i = s if low else n - 1 - s
        total = zero_of(b) + b[i]
        for k in range(0 if low else i + 1, i if low else n):
            total -= element(A, i, k, mode) * b[k]
        if diag == "N":
            total /= element(A, i, i, mode)
        b[i] = total


@es.function
def trsm(
    A: Any, B: Any, alpha: Any = 1, side: Any = "L", uplo: Any = "L", mode: Any = "N",
    diag: Any = "N",
) -> None:  # fmt: skip
    """B = alpha op(A)^-1 B, or alpha B op(A)^-1 with side "R", for a triangular A, in place.

    Of A the triangle `uplo` is read, with `diag` "U" not its diagonal, which is 1 then. Nothing is
    tested: zeros on the diagonal make infinities and NaN.
    """
    n = A.extent(0)
    low = is_lower(uplo, mode)
    if side == "L":
        for j in range(B.extent(1)):
            for s in range(n):
                i = s if low else n - 1 - s
                total = alpha * B[i, j]
                for k in range(0 if low else i + 1, i if low else n):
                    total -= element(A, i, k, mode) * B[k, j]
                if diag == "N":
                    total /= element(A, i, i, mode)
                B[i, j] = total
    else:
        for i in range(B.extent(0)):
            for s in range(n):
                j = n - 1 - s if low else s
                total = alpha * B[i, j]
                for k in range(j + 1 if low else 0, n if low else j):
                    total -= B[i, k] * element(A, k, j, mode)
                if diag == "N":
                    total /= element(A, j, j, mode)
                B[i, j] = total


@es.function
def trtri(A: Any, uplo: Any = "L", diag: Any = "N") -> Any:
    """A = A^-1 for a triangular A, in place; the other triangle is neither read nor written.

    Returns 0, or the number of the first column, from 1 on, whose diagonal element is 0: then A is
    not changed. LAPACK's trtri.
    """
    n = A.extent(0)
    info = 0
    if diag == "N":
        for q in range(n):
            if A[n - 1 - q, n - 1 - q] == 0:
                info = n - q
    if info == 0:
        for t in range(n):
            j = n - 1 - t if uplo == "L" else t
            if diag == "N":
                A[j, j] = 1 / A[j, j]
            # The column j is multiplied by the inverse that there is already.
            for s in range(t):
                i = n - 1 - s if uplo == "L" else s
                total = zero_of(A) + A[i, j]
                if diag == "N":
                    total *= A[i, i]
                for k in range(j + 1 if uplo == "L" else i + 1, i if uplo == "L" else j):
                    total += A[i, k] * A[k, j]
                if diag == "N":
                    A[i, j] = -total * A[j, j]
                else:
                    A[i, j] = -total
    return info

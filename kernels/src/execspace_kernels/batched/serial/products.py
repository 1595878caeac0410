"""Copies and products of small matrices by one thread, for use in kernels."""

from __future__ import annotations

from typing import Any

import execspace as es

from ..elements import common_cols, common_rows, element, is_lower, num_cols, num_rows, own, zero_of

__all__ = ["axpy", "copy", "dot", "fill", "gemm", "gemv", "scal", "set_identity", "trmm"]


@es.function
def fill(A: Any, value: Any) -> None:
    """A = value in all elements of a matrix."""
    for i in range(A.extent(0)):
        for j in range(A.extent(1)):
            A[i, j] = value


@es.function
def set_identity(A: Any) -> None:
    """A = I; A may have more rows than columns, or less."""
    for i in range(A.extent(0)):
        for j in range(A.extent(1)):
            A[i, j] = 1 if i == j else 0


@es.function
def copy(A: Any, B: Any, mode: Any = "N") -> None:
    """B = op(A), which must not overlap."""
    for i in range(common_rows(A, mode, B)):
        for j in range(common_cols(A, mode, B)):
            B[i, j] = element(A, i, j, mode)


@es.function
def scal(alpha: Any, A: Any) -> None:
    """A = alpha A, of a matrix."""
    for i in range(A.extent(0)):
        for j in range(A.extent(1)):
            A[i, j] = alpha * A[i, j]


@es.function
def axpy(alpha: Any, x: Any, y: Any) -> None:
    """y = y + alpha x, of vectors."""
    for i in range(y.extent(0)):
        y[i] += alpha * x[i]


@es.function
def dot(x: Any, y: Any, mode: Any = "C") -> Any:
    """The sum of x[i] y[i], of which x is conjugated in mode "C"; not in mode "N"."""
    total = zero_of(x) * zero_of(y)
    for i in range(x.extent(0)):
        total += own(x[i], mode) * y[i]
    return total


@es.function
def gemv(A: Any, x: Any, y: Any, alpha: Any = 1, beta: Any = 0, mode: Any = "N") -> None:
    """y = beta y + alpha op(A) x.

    Where `beta` is 0, y is not read. It must not overlap A or x.
    """
    for i in range(num_rows(A, mode)):
        total = zero_of(y)
        for k in range(num_cols(A, mode)):
            total += element(A, i, k, mode) * x[k]
        if beta == 0:
            y[i] = alpha * total
        else:
            y[i] = alpha * total + beta * y[i]


@es.function
def gemm(
    A: Any, B: Any, C: Any, alpha: Any = 1, beta: Any = 0, mode_a: Any = "N", mode_b: Any = "N"
) -> None:
    """C = beta C + alpha op(A) op(B).

    Where `beta` is 0, C is not read. It must not overlap A or B.
    """
    for i in range(common_rows(A, mode_a, C)):
        for j in range(common_cols(B, mode_b, C)):
            total = zero_of(C)
            for k in range(num_cols(A, mode_a)):
                total += element(A, i, k, mode_a) * element(B, k, j, mode_b)
            if beta == 0:
                C[i, j] = alpha * total
            else:
                C[i, j] = alpha * total + beta * C[i, j]


@es.function
def trmm(
    A: Any, B: Any, alpha: Any = 1, side: Any = "L", uplo: Any = "L", mode: Any = "N",
    diag: Any = "N",
) -> None:  # fmt: skip
    """B = alpha op(A) B, or alpha B op(A) with side "R", for a triangular A, in place.

    Of A the triangle `uplo` is read, with `diag` "U" not its diagonal, which is 1 then. Sums begin
    on the diagonal.
    """
    n = A.extent(0)
    low = is_lower(uplo, mode)
    if side == "L":
        for j in range(B.extent(1)):
            for s in range(n):
                i = n - 1 - s if low else s  # rows that are read later stay as they are
                total = zero_of(B) + B[i, j]
                if diag == "N":
                    total *= element(A, i, i, mode)
                for r in range(i if low else n - 1 - i):
                    k = i - 1 - r if low else i + 1 + r
                    total += element(A, i, k, mode) * B[k, j]
                B[i, j] = alpha * total
    else:
        for i in range(B.extent(0)):
            for s in range(n):
                j = s if low else n - 1 - s
                total = zero_of(B) + B[i, j]
                if diag == "N":
                    total *= element(A, j, j, mode)
                for r in range(n - 1 - j if low else j):
                    k = j + 1 + r if low else j - 1 - r
                    total += B[i, k] * element(A, k, j, mode)
                B[i, j] = alpha * total

"""How kernels store elements of a product: scaled, of a triangle, or of a Hermitian matrix."""

from __future__ import annotations

from typing import Any

import execspace as es

__all__ = ["counts", "stored"]


@es.function
def counts(i: Any, j: Any, part: Any) -> Any:
    """Whether element (i, j) is of a part of the matrix: "all", "lower" or "upper"."""
    if part == "lower":
        return j <= i
    elif part == "upper":
        return i <= j
    else:
        return True


@es.function
def stored(
    C: Any, i: Any, j: Any, total: Any, alpha: Any, beta: Any, how: Any, part: Any, hermitian: Any
) -> None:  # fmt: skip
    """C = alpha total, or that and beta C, where the element counts; the diagonal of a Hermitian
    matrix is real. "put" and "more" are without alpha and beta, which are 1."""
    if counts(i, j, part):
        if how == "set":
            C[i, j] = alpha * total
        elif how == "add":
            C[i, j] = alpha * total + beta * C[i, j]
        elif how == "put":
            C[i, j] = total
        else:
            C[i, j] = total + C[i, j]
        if hermitian == "yes":
            if i == j:
                C[i, j] = C[i, j].real

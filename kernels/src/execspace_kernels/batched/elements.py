"""Elements of matrices within kernels: of op(A), and of triangles.

`mode` is "N", "T", "C" or "H": op(A) is A, its transpose, its conjugate, or the transpose of that.
`uplo` is "L" or "U": the triangle of A that is read. All of these are known when a kernel is
compiled, so that nothing is left of the conditions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

__all__ = [
    "common_cols",
    "common_rows",
    "element",
    "is_lower",
    "magnitude",
    "num_cols",
    "num_rows",
    "own",
    "zero_of",
]


@es.function
def own(value: Any, mode: Any) -> Any:
    """A number, or its conjugate in modes "C" and "H"."""
    if isinstance(value, es.Record):
        return value.conjugate() if mode == "C" or mode == "H" else value.copy()
    if mode == "C" or mode == "H":
        return np.conj(value)
    return value


@es.function
def element(A: Any, i: Any, j: Any, mode: Any) -> Any:
    """That of op(A) in row i and column j."""
    return own(A[i, j] if mode == "N" or mode == "C" else A[j, i], mode)


@es.function
def num_rows(A: Any, mode: Any) -> Any:
    """Rows of op(A)."""
    return A.extent(0) if mode == "N" or mode == "C" else A.extent(1)


@es.function
def num_cols(A: Any, mode: Any) -> Any:
    """Columns of op(A)."""
    return A.extent(1) if mode == "N" or mode == "C" else A.extent(0)


@es.function
def common_rows(A: Any, mode: Any, B: Any) -> Any:
    """Rows of op(A) and of B: a constant if one of both knows it, so that loops are unrolled."""
    return num_rows(A, mode) if B.static_extent(0) == 0 else B.extent(0)


@es.function
def common_cols(A: Any, mode: Any, B: Any) -> Any:
    """Columns of op(A) and of B, a constant if one of both knows it."""
    return num_cols(A, mode) if B.static_extent(1) == 0 else B.extent(1)


@es.function
def is_lower(uplo: Any, mode: Any) -> Any:
    """Whether op(A) is a lower triangle."""
    return (uplo == "L") == (mode == "N" or mode == "C")


@es.function
def zero_of(A: Any) -> Any:
    """Zero of the type of a matrix or vector, for sums."""
    return A.dtype.type(0)


@es.function
def magnitude(A: Any, value: Any) -> Any:
    """What pivots are chosen by: LAPACK's |re| + |im| for complex elements of A."""
    if A.dtype.kind == "c":
        return abs(value.real) + abs(value.imag)
    return abs(value)

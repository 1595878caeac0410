"""Products and triangular solves of blocks of a matrix, in place.

A work item computes a tile of a product in registers; solves go through blocks of rows, of which
it takes some columns.
"""

from __future__ import annotations

from typing import Any

import execspace as es

from ..arguments import is_device, static
from ..batched.elements import zero_of
from ..blas.elements import conjugate
from ..blas.operands import runs_along

__all__ = ["gemm", "herk", "trsm"]

_HIGH, _WIDE = 4, 8  # a tile: sums that a work item has in registers
_ROWS = 32  # of a block of a triangle
_COLUMNS = 64  # that a work item of a host solves for
_TRANSPOSED = {"N": "T", "T": "N", "C": "H", "H": "C"}


def gemm(
    A: es.View, B: es.View, out: es.View, alpha: float = 1, beta: float = 0, mode_a: str = "N",
    mode_b: str = "N", *, space: es.ExecutionSpace,
) -> es.View:  # fmt: skip
    """C = beta C + alpha op(A) op(B) in `out`; asynchronous where the space is."""
    return _product(A, B, out, alpha, beta, mode_a, mode_b, "all", space)


def herk(
    A: es.View, out: es.View, alpha: float = 1, beta: float = 0, uplo: str = "L",
    *, space: es.ExecutionSpace,
) -> es.View:  # fmt: skip
    """C = beta C + alpha A A^H in one triangle of `out`; asynchronous where the space is."""
    return _product(A, A, out, alpha, beta, "N", "H", uplo, space)


def _product(
    A: es.View, B: es.View, C: es.View, alpha: float, beta: float, mode_a: str, mode_b: str,
    part: str, space: es.ExecutionSpace,
) -> es.View:  # fmt: skip
    if runs_along(C) == "left":  # by rows as well: C^T = op(B)^T op(A)^T
        A, B, mode_a, mode_b = B, A, _TRANSPOSED[mode_b], _TRANSPOSED[mode_a]
        target, part = C.T, {"L": "U", "U": "L"}.get(part, part)
    else:
        target = C
    left, right = (v.T if mode in ("T", "H") else v for v, mode in ((A, mode_a), (B, mode_b)))
    conjugates = (_conjugates(C, mode) for mode in (mode_a, mode_b))
    m, n = target.shape
    if m and n:
        tiles = es.MDRangePolicy((-(-m // _HIGH), -(-n // _WIDE)), space=space)
        es.parallel_for(
            tiles, _tile, left, right, target, target.dtype.type, alpha, beta, _HIGH, _WIDE,
            *conjugates, part != "U", part != "L", "set" if beta == 0 else "add",
            label="lapack product",
        )  # fmt: skip
    return C


def trsm(
    A: es.View, B: es.View, *, alpha: float = 1, side: str = "L", uplo: str = "L", mode: str = "N",
    unit_diagonal: bool = False, space: es.ExecutionSpace,
) -> es.View:  # fmt: skip
    """B = alpha op(A)^-1 B, or alpha B op(A)^-1, in place; asynchronous where the space is."""
    if side == "R":
        trsm(A, B.T, alpha=alpha, uplo=uplo, mode=_TRANSPOSED[mode], unit_diagonal=unit_diagonal,
             space=space)  # fmt: skip
        return B
    n, columns = B.shape
    if not n or not columns:
        return B
    flipped = mode in ("T", "H")
    M, lower = A.T if flipped else A, (uplo == "L") != flipped
    conj = _conjugates(A, mode)
    along = runs_along(B) if not is_device(space) else "left"
    wide = 1 if along == "left" else _COLUMNS
    firsts = range(0, n, _ROWS)
    for first in firsts if lower else reversed(firsts):
        last = min(first + _ROWS, n)
        es.parallel_for(
            es.RangePolicy(-(-columns // wide), space=space), _solve,
            es.subview(M, (first, last), (first, last)), es.subview(B, (first, last), slice(None)),
            alpha, wide, lower, unit_diagonal, conj, along, label="lapack solve",
        )  # fmt: skip
        left = (last, n) if lower else (0, first)
        if left[1] > left[0]:
            gemm(
                es.subview(M, left, (first, last)), es.subview(B, (first, last), slice(None)),
                es.subview(B, left, slice(None)), -1, alpha, "C" if conj == "yes" else "N",
                space=space,
            )  # fmt: skip
        alpha = 1  # all rows have been multiplied by it
    return B


def _conjugates(A: es.View, mode: str) -> str:
    return "yes" if mode in ("C", "H") and A.dtype.kind == "c" else "no"


# -- kernels --------------------------------------------------------------------------------------


def _tile(
    p: int, q: int, A: Any, B: Any, C: Any, kind: Any, alpha: Any, beta: Any, high: static,
    wide: static, conj_a: Any, conj_b: Any, below: Any, above: Any, how: Any,
) -> None:  # fmt: skip
    m, n = C.extent(0), C.extent(1)
    a = p * high
    b = q * wide
    # Whether elements below the diagonal count, and those above it.
    if (below and a + high > b) or (above and b + wide > a):
        sums = es.local(high * wide, kind)
        if a + high <= m and b + wide <= n:
            for k in range(A.extent(1)):
                for u in range(high):
                    left = conjugate(A[a + u, k], conj_a)
                    for v in range(wide):
                        sums[u * wide + v] += left * conjugate(B[k, b + v], conj_b)
        else:
            for k in range(A.extent(1)):
                for u in range(high):
                    left = conjugate(A[min(a + u, m - 1), k], conj_a)
                    for v in range(wide):
                        sums[u * wide + v] += left * conjugate(B[k, min(b + v, n - 1)], conj_b)
        for u in range(high):
            for v in range(wide):
                i = a + u
                j = b + v
                if i < m and j < n and (i == j or (below if j < i else above)):
                    if how == "set":
                        C[i, j] = alpha * sums[u * wide + v]
                    else:
                        C[i, j] = alpha * sums[u * wide + v] + beta * C[i, j]


def _solve(
    c: int, A: Any, B: Any, alpha: Any, wide: Any, lower: Any, unit: Any, conj: Any, along: Any
) -> None:  # fmt: skip
    n = B.extent(0)
    begin = c * wide
    end = min(begin + wide, B.extent(1))
    if along == "left":
        for j in range(begin, end):
            for i in range(n):
                B[i, j] = alpha * B[i, j]
            for step in range(n):
                k = step if lower else n - 1 - step
                solved = zero_of(B) + B[k, j]
                if not unit:
                    solved /= conjugate(A[k, k], conj)
                    B[k, j] = solved
                for t in range(n - 1 - step):
                    i = k + 1 + t if lower else t
                    B[i, j] -= conjugate(A[i, k], conj) * solved
    else:
        for step in range(n):
            i = step if lower else n - 1 - step
            for j in range(begin, end):
                B[i, j] = alpha * B[i, j]
            for t in range(step):
                k = t if lower else i + 1 + t
                factor = conjugate(A[i, k], conj)
                for j in range(begin, end):
                    B[i, j] -= factor * B[k, j]
            if not unit:
                pivot = conjugate(A[i, i], conj)
                for j in range(begin, end):
                    B[i, j] = B[i, j] / pivot

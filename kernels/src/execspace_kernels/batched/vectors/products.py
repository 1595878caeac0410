"""Products of interleaved matrices by vectors: tiles of the result are in registers."""

from __future__ import annotations

from typing import Any

import execspace as es

from ...arguments import static
from ...decisions import decided
from . import tiles as tile
from .operands import WHY, groups, memory, steps, tiles, width_of

__all__ = ["multiply", "multiply_vectors"]


def multiply(
    A: es.View, B: es.View, C: es.View, m: int, k: int, alpha: Any, beta: Any, mode_a: str,
    mode_b: str, space: es.ExecutionSpace,
) -> None:  # fmt: skip
    """C = beta C + alpha op(A) op(B), where op(A) is m x k."""
    n, number, width = C.shape[2], C.dtype.type, width_of(C)
    es.parallel_for(
        groups(C.shape[0], width, space), _multiply, memory(A), memory(B), memory(C),
        number(alpha), number(beta), m, k, n, *steps(A.shape[2], width, mode_a in "TH"),
        *steps(B.shape[2], width, mode_b in "TH"),
        *tiles(C.dtype, width, m, n, space, "products"), width, label="batched gemm, vectors",
    )  # fmt: skip


def multiply_vectors(
    A: es.View, x: es.View, y: es.View, alpha: Any, beta: Any, mode: str, space: es.ExecutionSpace
) -> None:
    """y = beta y + alpha op(A) x, of Views of rank 2 in any layout."""
    decided("batched.gemv", "vectors", WHY)
    number, m, width = y.dtype.type, y.shape[1], width_of(A)
    es.parallel_for(
        groups(A.shape[0], width, space), _multiply_vectors, memory(A), x, y, number(alpha),
        number(beta), m, x.shape[1], *steps(A.shape[2], width, mode in "TH"),
        *tiles(A.dtype, width, m, 1, space, "triangles"), width,
        label="batched gemv, vectors",
    )  # fmt: skip


# -- kernels --------------------------------------------------------------------------------------


def _multiply(
    g: int, A: Any, B: Any, C: Any, alpha: Any, beta: Any, m: static, k: static, n: static,
    a_row: static, a_column: static, b_row: static, b_column: static, rows: static,
    columns: static, rows_left: static, columns_left: static, width: static,
) -> None:  # fmt: skip
    whole = es.local((rows, columns, width), C.dtype)
    beside = es.local((rows, columns_left, width), C.dtype)
    below = es.local((rows_left, columns, width), C.dtype)
    corner = es.local((rows_left, columns_left, width), C.dtype)
    sizes = m, k, n
    a = g * (m * k * width), a_row, a_column
    b = g * (k * n * width), b_row, b_column
    c = g * (m * n * width), n * width, width
    for i in range(0, m - rows_left, rows):
        _rows(i, whole, beside, A, B, C, alpha, beta, sizes, a, b, c)
    if rows_left > 0:
        _rows(m - rows_left, below, corner, A, B, C, alpha, beta, sizes, a, b, c)


@es.function
def _rows(
    i: Any, whole: Any, last: Any, A: Any, B: Any, C: Any, alpha: Any, beta: Any, sizes: Any,
    a: Any, b: Any, c: Any,
) -> None:  # fmt: skip
    """Those of C from i on that tiles have; the last tile has the columns that are left."""
    n = sizes[2]
    for j in range(0, n - last.extent(1), whole.extent(1)):
        _tile(i, j, whole, A, B, C, alpha, beta, sizes, a, b, c)
    if last.extent(1) > 0:
        _tile(i, n - last.extent(1), last, A, B, C, alpha, beta, sizes, a, b, c)


@es.function
def _tile(
    i: Any, j: Any, acc: Any, A: Any, B: Any, C: Any, alpha: Any, beta: Any, sizes: Any, a: Any,
    b: Any, c: Any,
) -> None:  # fmt: skip
    T: Any = es.simd(C.dtype, acc.extent(2))
    at = c[0] + i * c[1] + j * c[2]
    tile.clear(T, acc)
    tile.products(
        T, acc, "+", A, a[0] + i * a[1], a[1], a[2], B, b[0] + j * b[2], b[1], b[2], 0, sizes[1]
    )
    if beta == 0:
        tile.store(T, acc, alpha, C, at, c[1], c[2])
    else:
        for r in range(acc.extent(0)):
            for s in range(acc.extent(1)):
                to = at + r * c[1] + s * c[2]
                (alpha * T.load(acc[r, s, :], 0) + beta * T.load(C, to)).store(C, to)


def _multiply_vectors(
    g: int, A: Any, x: Any, y: Any, alpha: Any, beta: Any, m: static, n: static, row: static,
    column: static, rows: static, _columns: static, rows_left: static, _columns_left: static,
    width: static,
) -> None:  # fmt: skip
    whole = es.local((rows, 1, width), y.dtype)
    last = es.local((rows_left, 1, width), y.dtype)
    a = g * (m * n * width), row, column
    for i in range(0, m - rows_left, rows):
        _elements(g, i, whole, A, x, y, alpha, beta, a)
    if rows_left > 0:
        _elements(g, m - rows_left, last, A, x, y, alpha, beta, a)


@es.function
def _elements(
    g: Any, i: Any, acc: Any, A: Any, x: Any, y: Any, alpha: Any, beta: Any, a: Any
) -> None:
    T: Any = es.simd(y.dtype, acc.extent(2))
    b = g * T.width
    there = T.first(y.extent(0) - b)
    at = a[0] + i * a[1]
    tile.clear(T, acc)
    for q in range(x.extent(1)):
        element = T.load(x[:, q], b, there)
        for r in range(acc.extent(0)):
            total = T.load(acc[r, 0, :], 0) + T.load(A, at + r * a[1] + q * a[2]) * element
            total.store(acc[r, 0, :], 0)
    for r in range(acc.extent(0)):
        total = alpha * T.load(acc[r, 0, :], 0)
        if beta == 0:
            total.store(y[:, i + r], b, there)
        else:
            (total + beta * T.load(y[:, i + r], b, there)).store(y[:, i + r], b, there)

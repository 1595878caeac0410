"""Triangles of interleaved matrices by vectors: `trmm`, `trsm` and `trtri`.

All of them are lower ones on the left: an upper triangle is a lower one from the last row and
column on, and B A is the transpose of A^T B^T. So only steps through memory differ.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ...arguments import static
from . import tiles as tile
from .operands import groups, memory, steps, tiles, width_of

__all__ = ["along", "along_rows", "invert", "on_left", "triangle"]


def triangle(
    what: str, A: es.View, B: es.View, alpha: Any, side: str, uplo: str, mode: str, diag: str,
    space: es.ExecutionSpace,
) -> None:  # fmt: skip
    """ "multiply" or "solve" B in place."""
    n, columns = A.shape[1], B.shape[2] if side == "L" else B.shape[1]
    is_transposed = (mode in "TH") != (side == "R")
    order = "up" if (uplo == "U") != is_transposed else "down"
    width = width_of(B)
    es.parallel_for(
        groups(B.shape[0], width, space), _triangle, memory(A), memory(B), B.dtype.type(alpha), n,
        columns, *steps(n, width, is_transposed), *steps(B.shape[2], width, side == "R"),
        *tiles(B.dtype, width, n, columns, space, "triangles"), width, what, order, diag,
        label=f"batched triangle, {what}",
    )  # fmt: skip


def invert(A: es.View, info: es.View, uplo: str, diag: str, space: es.ExecutionSpace) -> None:
    """A = A^-1 in place."""
    n, width = A.shape[1], width_of(A)
    es.parallel_for(
        groups(A.shape[0], width, space), _invert, memory(A), info, n,
        *tiles(A.dtype, width, n, n, space, "triangles"), width, uplo, diag,
        label="batched trtri, vectors",
    )  # fmt: skip


# -- kernels --------------------------------------------------------------------------------------


def _triangle(
    g: int, A: Any, B: Any, alpha: Any, n: static, columns: static, a_row: static,
    a_column: static, b_row: static, b_column: static, rows: static, across: static,
    rows_left: static, across_left: static, width: static, what: Any, order: Any, diag: Any,
) -> None:  # fmt: skip
    whole = es.local((rows, across, width), B.dtype)
    beside = es.local((rows, across_left, width), B.dtype)
    below = es.local((rows_left, across, width), B.dtype)
    corner = es.local((rows_left, across_left, width), B.dtype)
    sizes = n, columns
    a = along(order, g * (n * n * width), n, a_row, a_column)
    b = along_rows(order, g * (n * columns * width), n, b_row, b_column)
    on_left(what, whole, beside, below, corner, A, B, alpha, sizes, a, b, diag)


@es.function
def along(order: Any, first: Any, n: Any, row: Any, column: Any) -> Any:
    """Where a triangle begins, and the steps from there: "up" from its last row and column on."""
    if order == "up":
        return first + (n - 1) * (row + column), -row, -column
    return first, row, column


@es.function
def along_rows(order: Any, first: Any, n: Any, row: Any, column: Any) -> Any:
    """The same of n rows, whose columns keep their order."""
    if order == "up":
        return first + (n - 1) * row, -row, column
    return first, row, column


@es.function
def on_left(
    what: Any, whole: Any, beside: Any, below: Any, corner: Any, A: Any, B: Any, alpha: Any,
    sizes: Any, a: Any, b: Any, diag: Any,
) -> None:  # fmt: skip
    """B = alpha A B, or with "solve" alpha A^-1 B, of a lower triangle A."""
    n = sizes[0]
    left = below.extent(0)
    if what == "solve":
        for i in range(0, n - left, whole.extent(0)):
            _rows(what, i, whole, beside, A, B, alpha, sizes[1], a, b, diag)
        if left > 0:
            _rows(what, n - left, below, corner, A, B, alpha, sizes[1], a, b, diag)
    else:  # rows that are read later stay as they are
        if left > 0:
            _rows(what, n - left, below, corner, A, B, alpha, sizes[1], a, b, diag)
        for s in range(whole.extent(0), n - left + 1, whole.extent(0)):
            _rows(what, n - left - s, whole, beside, A, B, alpha, sizes[1], a, b, diag)


@es.function
def _rows(
    what: Any, i: Any, whole: Any, last: Any, A: Any, B: Any, alpha: Any, columns: Any, a: Any,
    b: Any, diag: Any,
) -> None:  # fmt: skip
    """Those of B from i on that tiles have; the last tile has the columns that are left."""
    T: Any = es.simd(B.dtype, whole.extent(2))
    factors = es.local((whole.extent(0), whole.extent(2)), B.dtype)  # for elements of the diagonal
    corner = a[0] + i * (a[1] + a[2])
    for r in range(whole.extent(0)):
        if diag == "U":
            T(1).store(factors[r, :], 0)
        elif what == "solve":
            (1 / T.load(A, corner + r * (a[1] + a[2]))).store(factors[r, :], 0)
        else:
            T.load(A, corner + r * (a[1] + a[2])).store(factors[r, :], 0)
    for j in range(0, columns - last.extent(1), whole.extent(1)):
        _tile(what, T, i, j, whole, factors, A, B, alpha, a, b, diag)
    if last.extent(1) > 0:
        _tile(what, T, i, columns - last.extent(1), last, factors, A, B, alpha, a, b, diag)


@es.function
def _tile(
    what: Any, T: Any, i: Any, j: Any, acc: Any, factors: Any, A: Any, B: Any, alpha: Any, a: Any,
    b: Any, diag: Any,
) -> None:  # fmt: skip
    row = a[0] + i * a[1]
    top = b[0] + j * b[2]
    at = top + i * b[1]
    if what == "solve":
        tile.load(T, acc, alpha, B, at, b[1], b[2])
        tile.products(T, acc, "-", A, row, a[1], a[2], B, top, b[1], b[2], 0, i)
        for r in range(acc.extent(0)):
            tile.substitute(T, acc, r, A, row + r * a[1] + i * a[2], a[2])
            if diag == "N":
                for s in range(acc.extent(1)):
                    total = T.load(acc[r, s, :], 0) * T.load(factors[r, :], 0)
                    total.store(acc[r, s, :], 0)
        tile.store(T, acc, 1, B, at, b[1], b[2])
    else:
        tile.load(T, acc, 1, B, at, b[1], b[2])
        for q in range(acc.extent(0)):
            r = acc.extent(0) - 1 - q
            for s in range(acc.extent(1)):
                total = T.load(acc[r, s, :], 0)
                if diag == "N":
                    total *= T.load(factors[r, :], 0)
                for p in range(r):
                    total += T.load(A, row + r * a[1] + (i + p) * a[2]) * T.load(acc[p, s, :], 0)
                total.store(acc[r, s, :], 0)
        tile.products(T, acc, "+", A, row, a[1], a[2], B, top, b[1], b[2], 0, i)
        tile.store(T, acc, alpha, B, at, b[1], b[2])


def _invert(
    g: int, A: Any, info: Any, n: static, rows: static, _columns: static, left: static,
    _columns_left: static, width: static, uplo: Any, diag: Any,
) -> None:  # fmt: skip
    T: Any = es.simd(A.dtype, width)
    whole = es.local((rows, 2, width), A.dtype)
    last = es.local((left, 2, width), A.dtype)
    J: Any = es.simd("int32", width)
    a = along("down" if uplo == "L" else "up", g * (n * n * width), n, n * width, width)
    found = J(0)
    if diag == "N":
        for q in range(n):
            k = n - 1 - q if uplo == "L" else q  # LAPACK's first column is the last one of others
            zero = T.load(A, a[0] + k * (a[1] + a[2])) == 0
            found = np.where(zero, J(n - q), found)
    found.store(info, g * width, J.first(info.extent(0) - g * width))
    for i in range(0, n - left, rows):
        _inverted_rows(i, whole, A, found == 0, a, diag)
    if left > 0:
        _inverted_rows(n - left, last, A, found == 0, a, diag)


@es.function
def _inverted_rows(i: Any, acc: Any, A: Any, changes: Any, a: Any, diag: Any) -> None:
    """Rows of the inverse from i on, where those before them are there.

    Columns come from left to right, so that what is overwritten is not read again.
    """
    T: Any = es.simd(A.dtype, acc.extent(2))
    base = a[0]
    corner = base + i * (a[1] + a[2])
    across = a[1] + a[2]
    if diag == "N":
        for r in range(acc.extent(0)):
            pivot = T.load(A, corner + r * across)
            np.where(changes, 1 / pivot, pivot).store(A, corner + r * across)
    for j in range(0, i, 2):
        row, top = base + i * a[1], base + j * a[2]
        for r in range(acc.extent(0)):
            entry = T.load(A, row + r * a[1] + j * a[2])
            if diag == "N":
                entry *= T.load(A, base + j * across)
            entry.store(acc[r, 0, :], 0)
            T(0).store(acc[r, 1, :], 0)
            other = T.load(A, row + r * a[1] + (j + 1) * a[2])
            # The second column begins a row below the first one.
            if diag == "N":
                (other * T.load(A, base + (j + 1) * across)).store(acc[r, 1, :], 0)
            else:
                other.store(acc[r, 1, :], 0)
            under = T.load(A, base + (j + 1) * a[1] + j * a[2])
            (T.load(acc[r, 0, :], 0) + other * under).store(acc[r, 0, :], 0)
        tile.products(T, acc, "+", A, row, a[1], a[2], A, top, a[1], a[2], j + 2, i)
        for r in range(acc.extent(0)):
            for s in range(2):
                total = T.load(acc[r, s, :], 0)
                for p in range(r):
                    entry = T.load(A, row + r * a[1] + (i + p) * a[2])
                    total += entry * T.load(acc[p, s, :], 0)
                if diag == "N":
                    total *= T.load(A, corner + r * across)
                (-total).store(acc[r, s, :], 0)
        for r in range(acc.extent(0)):
            for s in range(2):
                to = row + r * a[1] + (j + s) * a[2]
                total = T.load(acc[r, s, :], 0)
                if diag == "N":
                    total = np.where(changes, total, T.load(A, to))
                total.store(A, to)
    for j in range(acc.extent(0)):
        for r in range(j + 1, acc.extent(0)):
            to = corner + r * a[1] + j * a[2]
            old = T.load(A, to)
            total = old
            if diag == "N":
                total *= T.load(A, corner + j * across)
            for p in range(j + 1, r):
                entry = T.load(A, corner + r * a[1] + p * a[2])
                total += entry * T.load(A, corner + p * a[1] + j * a[2])
            if diag == "N":
                total = np.where(changes, -total * T.load(A, corner + r * across), old)
                total.store(A, to)
            else:
                (-total).store(A, to)

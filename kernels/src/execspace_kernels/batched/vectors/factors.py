"""Factors of interleaved matrices by vectors, and systems that are solved with them.

Each matrix of a group exchanges rows on its own. What a matrix keeps when it fails is what
it keeps elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ...arguments import static
from ...decisions import decided
from .. import serial
from . import tiles as tile
from .operands import WHY, groups, memory, steps, tiles, width_of
from .triangles import along, along_rows, on_left

__all__ = ["factor", "solve"]

_BY_MASKS = 8  # rows that are exchanged by masks
_WHOLE = 8  # columns that are eliminated one by one; of more, so many of a tile


def factor(
    what: str, A: es.View, pivots: es.View | None, info: es.View, uplo: str,
    space: es.ExecutionSpace,
) -> None:  # fmt: skip
    """ "lu", "getrf" or "potrf" of A in place."""
    batch, m, n = A.shape
    width = width_of(A)
    of = tiles(A.dtype, width, m, n, space, "triangles")
    label = f"batched {what}, vectors"
    if what == "potrf":
        es.parallel_for(
            groups(batch, width, space), _factor_definite, memory(A), info, n,
            *steps(n, width, uplo == "U"), of.rows, width, label=label,
        )  # fmt: skip
        return
    exchanges = info if pivots is None else pivots  # which only "getrf" stores
    es.parallel_for(
        groups(batch, width, space), _eliminate, memory(A), exchanges, info, m, n,
        n if n <= _WHOLE else of.rows, *of, width, what, label=label,
    )  # fmt: skip


def solve(
    what: str, A: es.View, pivots: es.View, info: es.View, B: es.View, mode: str,
    space: es.ExecutionSpace,
) -> None:  # fmt: skip
    """B = op(A)^-1 B with what `eliminate` made.

    "getrs" takes no notice of `info`. Where it is not 0, "gesv" leaves B as it is, and "inverse",
    for which B is the identity, makes it NaN.
    """
    decided(f"batched.{what}", "vectors", WHY)
    batch, n, columns = B.shape
    width = width_of(B)
    es.parallel_for(
        groups(batch, width, space), _solve, memory(A), memory(B), pivots, info, A, B, n, columns,
        *tiles(B.dtype, width, n, columns, space, "triangles"), width, mode, what,
        label=f"batched {what}, vectors",
    )  # fmt: skip


# -- kernels --------------------------------------------------------------------------------------


def _eliminate(
    g: int, A: Any, pivots: Any, info: Any, m: static, n: static, panel: static, rows: static,
    columns: static, rows_left: static, columns_left: static, width: static, what: Any,
) -> None:  # fmt: skip
    T: Any = es.simd(A.dtype, width)
    J: Any = es.simd("int32", width)
    b = g * width
    there = J.first(info.extent(0) - b)
    a = b * m * n, n * width, width
    whole = es.local((rows, columns, width), A.dtype)
    beside = es.local((rows, columns_left, width), A.dtype)
    below = es.local((rows_left, columns, width), A.dtype)
    corner = es.local((rows_left, columns_left, width), A.dtype)
    found = J(0)
    others = es.local(width, es.int32)
    for first in range(0, n, panel):
        end = min(first + panel, n)
        if first > 0:
            if (found != 0).any():
                _update_some(T, A, a, m, first, end)
            else:
                for i in range(0, m - rows_left, rows):
                    _update(i, whole, beside, A, a, first, end, n)
                if rows_left > 0:
                    _update(m - rows_left, below, corner, A, a, first, end, n)
        for k in range(first, min(end, m)):
            if what == "getrf":
                place = _pivots(T, J, A, a, m, k)
                place.store(pivots[:, k], b, there)
                _exchange(T, place, others, A, a, k, m, n)
            top = a[0] + k * a[1]
            pivot = T.load(A, top + k * a[2])
            is_zero = pivot == 0
            found = np.where(is_zero & (found == 0), J(k + 1), found)
            reciprocal = 1 / pivot
            for i in range(k + 1, m):
                row = a[0] + i * a[1]
                entry = T.load(A, row + k * a[2])
                factor = entry * reciprocal
                np.where(is_zero, entry, factor).store(A, row + k * a[2])
                for j in range(k + 1, end):
                    old = T.load(A, row + j * a[2])
                    changed = old - factor * T.load(A, top + j * a[2])
                    np.where(is_zero, old, changed).store(A, row + j * a[2])
    found.store(info, b, there)


@es.function
def _pivots(T: Any, J: Any, A: Any, a: Any, m: Any, k: Any) -> Any:
    """The row of the largest element in column k, from row k on; NaN is none."""
    largest = abs(T.load(A, a[0] + k * a[1] + k * a[2]))
    place = J(k)
    for i in range(k + 1, m):
        size = abs(T.load(A, a[0] + i * a[1] + k * a[2]))
        is_larger = size > largest
        largest = np.where(is_larger, size, largest)
        place = np.where(is_larger, J(i), place)
    return place


@es.function
def _exchange(T: Any, place: Any, others: Any, A: Any, a: Any, k: Any, m: Any, n: Any) -> None:
    """Exchange row k of each matrix with the one in its place, which is not before it.

    By masks all rows of all matrices move, which takes less time for few rows: where each matrix
    moves its own, no processor foresees whether it has to.
    """
    if m <= _BY_MASKS:
        for i in range(k + 1, m):
            for j in range(n):
                one, two = a[0] + k * a[1] + j * a[2], a[0] + i * a[1] + j * a[2]
                x, y = T.load(A, one), T.load(A, two)
                np.where(place == i, y, x).store(A, one)
                np.where(place == i, x, y).store(A, two)
    else:
        place.store(others, 0)
        for lane in range(others.extent(0)):
            if others[lane] != k:
                row, other = a[0] + k * a[1] + lane, a[0] + others[lane] * a[1] + lane
                for j in range(n):
                    kept = A[row + j * a[2]]
                    A[row + j * a[2]] = A[other + j * a[2]]
                    A[other + j * a[2]] = kept


@es.function
def _update(i: Any, acc: Any, last: Any, A: Any, a: Any, first: Any, end: Any, n: Any) -> None:
    """Subtract from rows of some columns, from i on, what the columns before these are to."""
    for j in range(first, end - acc.extent(1) + 1, acc.extent(1)):
        _update_tile(i, j, acc, A, a, first)
    if last.extent(1) > 0:
        if end == n:
            _update_tile(i, n - last.extent(1), last, A, a, first)


@es.function
def _update_tile(i: Any, j: Any, acc: Any, A: Any, a: Any, first: Any) -> None:
    T: Any = es.simd(A.dtype, acc.extent(2))
    row, top = a[0] + i * a[1], a[0] + j * a[2]
    at = row + j * a[2]
    tile.load(T, acc, 1, A, at, a[1], a[2])
    tile.products(T, acc, "-", A, row, a[1], a[2], A, top, a[1], a[2], 0, min(i, first))
    if i < first:
        for r in range(acc.extent(0)):
            tile.substitute(T, acc, r, A, row + r * a[1] + i * a[2], a[2])
    tile.store(T, acc, 1, A, at, a[1], a[2])


@es.function
def _update_some(T: Any, A: Any, a: Any, m: Any, first: Any, end: Any) -> None:
    """The same where pivots are 0: nothing is subtracted for these."""
    for i in range(m):
        for j in range(first, end):
            total = T.load(A, a[0] + i * a[1] + j * a[2])
            for q in range(min(i, first)):
                x = T.load(A, a[0] + i * a[1] + q * a[2])
                y = T.load(A, a[0] + q * a[1] + j * a[2])
                is_zero = T.load(A, a[0] + q * (a[1] + a[2])) == 0
                total = np.where(is_zero, total, total - x * y)
            total.store(A, a[0] + i * a[1] + j * a[2])


def _factor_definite(
    g: int, A: Any, info: Any, n: static, row: static, column: static, rows: static, width: static
) -> None:
    T: Any = es.simd(A.dtype, width)
    J: Any = es.simd("int32", width)
    b = g * width
    a = b * n * n
    whole = es.local((rows, 1, width), A.dtype)
    single = es.local((1, 1, width), A.dtype)
    found = J(0)
    for k in range(n):
        diagonal = a + k * (row + column)
        tile.load(T, single, 1, A, diagonal, row, column)
        _subtract(T, single, A, a, k, k, row, column)
        square = T.load(single[0, 0, :], 0)
        found = np.where((found == 0) & ~(square > 0), J(k + 1), found)  # NaN is not, either
        goes_on = found == 0
        root = np.sqrt(square)
        np.where(goes_on, root, T.load(A, diagonal)).store(A, diagonal)
        whole_end = n - (n - k - 1) % rows
        for i in range(k + 1, whole_end, rows):
            _column(T, whole, A, a, i, k, row, column, 1 / root, goes_on)
        for i in range(whole_end, n):
            _column(T, single, A, a, i, k, row, column, 1 / root, goes_on)
    found.store(info, b, J.first(info.extent(0) - b))


@es.function
def _subtract(T: Any, acc: Any, A: Any, a: Any, i: Any, k: Any, row: Any, column: Any) -> None:
    """From rows from i on their products with row k, as far as that is done."""
    tile.products(
        T, acc, "-", A, a + i * row, row, column, A, a + k * row, column, 0, 0, k
    )  # fmt: skip


@es.function
def _column(
    T: Any, acc: Any, A: Any, a: Any, i: Any, k: Any, row: Any, column: Any, factor: Any,
    changes: Any,
) -> None:  # fmt: skip
    """Elements of column k, from row i on."""
    at = a + i * row + k * column
    tile.load(T, acc, 1, A, at, row, column)
    _subtract(T, acc, A, a, i, k, row, column)
    for r in range(acc.extent(0)):
        new = T.load(acc[r, 0, :], 0) * factor
        np.where(changes, new, T.load(A, at + r * row)).store(A, at + r * row)


def _solve(
    g: int, A: Any, B: Any, pivots: Any, info: Any, all_A: Any, all_B: Any, n: static,
    columns: static, rows: static, across: static, rows_left: static, across_left: static,
    width: static, mode: Any, what: Any,
) -> None:  # fmt: skip
    T: Any = es.simd(B.dtype, width)
    J: Any = es.simd("int32", width)
    b = g * width
    there = J.first(pivots.extent(0) - b)
    if what != "getrs":
        if (J.load(info, b, there) != 0).any():
            for m in range(b, min(b + width, all_B.extent(0))):
                if what == "inverse":
                    for i in range(n):
                        for j in range(n):
                            all_B[m, i, j] = (1 if i == j else 0) if info[m] == 0 else np.nan
                if info[m] == 0:
                    serial.getrs(all_A[m, :, :], pivots[m, :], all_B[m, :, :])
            return
    whole = es.local((rows, across, width), B.dtype)
    beside = es.local((rows, across_left, width), B.dtype)
    below = es.local((rows_left, across, width), B.dtype)
    corner = es.local((rows_left, across_left, width), B.dtype)
    others = es.local(width, np.int32)
    sizes = n, columns
    a, row = b * n * n, n * width
    down = b * n * columns, columns * width, width
    up = along_rows("up", down[0], n, down[1], down[2])
    if what == "inverse":
        for i in range(n):
            for j in range(n):
                T(1 if i == j else 0).store(B, down[0] + i * down[1] + j * width)
    if mode == "N":
        for k in range(n):
            place = J.load(pivots[:, k], b, there, other=k)
            _exchange(T, place, others, B, down, k, n, columns)
        first, second = (a, row, width), along("up", a, n, row, width)
        on_left("solve", whole, beside, below, corner, A, B, 1, sizes, first, down, "U")
        on_left("solve", whole, beside, below, corner, A, B, 1, sizes, second, up, "N")
    else:
        first, second = (a, width, row), along("up", a, n, width, row)
        on_left("solve", whole, beside, below, corner, A, B, 1, sizes, first, down, "N")
        on_left("solve", whole, beside, below, corner, A, B, 1, sizes, second, up, "U")
        for q in range(n):
            k = n - 1 - q
            place = J.load(pivots[:, k], b, there, other=k)
            _exchange(T, place, others, B, down, k, n, columns)

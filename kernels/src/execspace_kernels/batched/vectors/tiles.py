"""Parts of matrices in registers, within kernels: `acc` is a private array of rows, columns, lanes.

Matrices are rank-1 memory with the place of their first element, and steps from row to row and from
column to column. Loops over the extents of `acc` are unrolled, and its elements are registers then.
"""

from __future__ import annotations

from typing import Any

import execspace as es

__all__ = ["clear", "load", "products", "store", "substitute"]


@es.function
def clear(T: Any, acc: Any) -> None:
    """acc = 0."""
    for r in range(acc.extent(0)):
        for s in range(acc.extent(1)):
            T(0).store(acc[r, s, :], 0)


@es.function
def load(T: Any, acc: Any, factor: Any, C: Any, c: Any, row: Any, column: Any) -> None:
    """acc = factor C."""
    for r in range(acc.extent(0)):
        for s in range(acc.extent(1)):
            (factor * T.load(C, c + r * row + s * column)).store(acc[r, s, :], 0)


@es.function
def products(
    T: Any, acc: Any, sign: Any, A: Any, a: Any, a_row: Any, a_column: Any, B: Any, b: Any,
    b_row: Any, b_column: Any, first: Any, end: Any,
) -> None:  # fmt: skip
    """acc += A B, or acc -= A B with sign "-", of columns of A and rows of B from `first` on."""
    for q in range(first, end):
        for r in range(acc.extent(0)):
            x = T.load(A, a + r * a_row + q * a_column)
            for s in range(acc.extent(1)):
                y = T.load(B, b + q * b_row + s * b_column)
                total = T.load(acc[r, s, :], 0)
                if sign == "-":
                    (total - x * y).store(acc[r, s, :], 0)
                else:
                    (total + x * y).store(acc[r, s, :], 0)


@es.function
def substitute(T: Any, acc: Any, r: Any, A: Any, a: Any, column: Any) -> None:
    """Subtract from row r of acc those before it, times elements of A from `a` on."""
    for p in range(r):
        x = T.load(A, a + p * column)
        for s in range(acc.extent(1)):
            total = T.load(acc[r, s, :], 0) - x * T.load(acc[p, s, :], 0)
            total.store(acc[r, s, :], 0)


@es.function
def store(T: Any, acc: Any, factor: Any, C: Any, c: Any, row: Any, column: Any) -> None:
    """C = factor acc."""
    for r in range(acc.extent(0)):
        for s in range(acc.extent(1)):
            (factor * T.load(acc[r, s, :], 0)).store(C, c + r * row + s * column)

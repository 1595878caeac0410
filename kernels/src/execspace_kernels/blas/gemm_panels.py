"""Products of matrices on hosts, after Goto and van de Geijn (https://doi.org/10.1145/1356052.1356053).

A and B are copied to panels of a few rows, or columns, which registers hold tiles of; a work item
computes a block of C from panels that stay in its caches. Panels of float32, float64 and integers
are multiplied by vectors, of others by numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..arguments import static
from .elements import conjugate
from .stored import stored

__all__ = ["multiply"]

_ROWS = 4  # of a panel of A
_VECTORS = 3  # columns of a panel of B, in vectors; in numbers as many as rows
_BYTES = 64  # of a vector where compilers make it of numbers
_TALL, _ACROSS = 24, 8  # panels that a block of C has of A and B
_SPAN = 256  # columns of A that are gone through before others
_EACH = 4  # blocks for each work item that runs at once


def multiply(
    what: str, A: es.View, B: es.View, C: es.View, kind: np.dtype[Any], alpha: Any, beta: Any,
    space: es.ExecutionSpace, conj_a: str, conj_b: str, part: str, hermitian: str,
) -> None:  # fmt: skip
    """C = beta C + alpha A B; C runs along rows; the parameters are those of
    `matrix_products.multiply`."""
    depth, width = A.shape[1], 0
    if _has_vectors(kind, C.dtype, alpha, beta):
        width = max(_BYTES if space.capabilities.vector_bytes < 16 else 1,
                    space.capabilities.vector_bytes) // kind.itemsize  # fmt: skip
    columns = _VECTORS * width or _ROWS
    left = _panels(what, A, _ROWS, kind, space, conj_a)
    right = _panels(what, B.T, columns, kind, space, conj_b)
    tall, across = _block(left.shape[0], right.shape[0], space)
    # Sums that C cannot hold stay in registers until they are whole.
    span = _SPAN if C.dtype == kind else max(depth, 1)
    blocks = -(-left.shape[0] // tall) * -(-right.shape[0] // across)
    how = "set" if beta == 0 else "add"
    policy = es.RangePolicy(blocks, space=space)
    label = f"{what} panels"
    if width:
        es.parallel_for(
            policy, _block_of_vectors, left, right, C, kind.type, width, depth, tall, across,
            span, part, alpha, beta, how, label=label,
        )  # fmt: skip
    else:
        es.parallel_for(
            policy, _block_of_numbers, left, right, C, kind.type, _ROWS, depth, tall, across, span,
            part, hermitian, alpha, beta, how, label=label,
        )  # fmt: skip


def _has_vectors(kind: np.dtype[Any], stored: np.dtype[Any], alpha: Any, beta: Any) -> bool:
    is_complex = stored.kind == "c" or any(map(np.iscomplexobj, (alpha, beta)))
    return not is_complex and kind.name in (
        "float32", "float64", "int32", "int64", "uint32", "uint64"
    )  # fmt: skip


def _panels(
    what: str, A: es.View, rows: int, kind: np.dtype[Any], space: es.ExecutionSpace, conj: str
) -> es.View:
    """Panels of so many rows, one column after the other, what is missing with zeros."""
    number = -(-A.shape[0] // rows)
    panels = es.View(
        (number, A.shape[1] * rows), kind, label="panels", space=space, layout="right",
        initialize=False,
    )  # fmt: skip
    es.parallel_for(
        es.RangePolicy(number, space=space), _pack, A, panels, kind.type, rows, conj,
        label=f"{what}, panels",
    )  # fmt: skip
    return panels


def _block(rows: int, columns: int, space: es.ExecutionSpace) -> tuple[int, int]:
    """Panels that a block has of A and B: fewer where there would be too few blocks."""
    tall, across = min(_TALL, max(rows, 1)), min(_ACROSS, max(columns, 1))
    enough = _EACH * space.concurrency if space.concurrency > 1 else 1
    while -(-rows // tall) * -(-columns // across) < enough and tall * across > 1:
        if tall > across:
            tall = (tall + 1) // 2
        else:
            across = (across + 1) // 2
    return tall, across


# -- kernels --------------------------------------------------------------------------------------


def _pack(b: int, A: Any, panels: Any, kind: Any, rows: static, conj: Any) -> None:
    m = A.extent(0)
    if (b + 1) * rows <= m:
        for k in range(A.extent(1)):
            for r in range(rows):
                panels[b, k * rows + r] = conjugate(kind(A[b * rows + r, k]), conj)
    else:
        for k in range(A.extent(1)):
            for r in range(rows):
                value = kind(0)
                if b * rows + r < m:
                    value = conjugate(kind(A[b * rows + r, k]), conj)
                panels[b, k * rows + r] = value


@es.function
def _is_needed(i: Any, j: Any, rows: Any, columns: Any, part: Any) -> Any:
    """Whether a tile has elements that count."""
    if part == "lower":
        return j < i + rows
    elif part == "upper":
        return i < j + columns
    else:
        return True


def _block_of_vectors(
    block: int, A: Any, B: Any, C: Any, kind: Any, width: static, depth: Any, tall: Any,
    across: Any, span: Any, part: Any, alpha: Any, beta: Any, how: Any,
) -> None:  # fmt: skip
    T = es.simd(kind, width)
    down = (A.extent(0) + tall - 1) // tall
    above = block % down * tall
    left = block // down * across
    for begin in range(0, max(depth, 1), span):
        end = min(begin + span, depth)
        for b in range(left, min(left + across, B.extent(0))):
            q = B[b, :]
            for a in range(above, min(above + tall, A.extent(0))):
                i, j = 4 * a, b * (3 * width)
                if _is_needed(i, j, 4, 3 * width, part):
                    p = A[a, :]
                    c00, c01, c02 = T(0), T(0), T(0)
                    c10, c11, c12 = T(0), T(0), T(0)
                    c20, c21, c22 = T(0), T(0), T(0)
                    c30, c31, c32 = T(0), T(0), T(0)
                    for k in range(begin, end):
                        b0 = T.load(q, k * (3 * width))
                        b1 = T.load(q, k * (3 * width) + width)
                        b2 = T.load(q, k * (3 * width) + 2 * width)
                        x = T(p[4 * k])
                        c00, c01, c02 = c00 + x * b0, c01 + x * b1, c02 + x * b2
                        x = T(p[4 * k + 1])
                        c10, c11, c12 = c10 + x * b0, c11 + x * b1, c12 + x * b2
                        x = T(p[4 * k + 2])
                        c20, c21, c22 = c20 + x * b0, c21 + x * b1, c22 + x * b2
                        x = T(p[4 * k + 3])
                        c30, c31, c32 = c30 + x * b0, c31 + x * b1, c32 + x * b2
                    _store_row(T, C, i, j, c00, c01, c02, alpha, beta, how, begin, part)
                    _store_row(T, C, i + 1, j, c10, c11, c12, alpha, beta, how, begin, part)
                    _store_row(T, C, i + 2, j, c20, c21, c22, alpha, beta, how, begin, part)
                    _store_row(T, C, i + 3, j, c30, c31, c32, alpha, beta, how, begin, part)


@es.function
def _store_row(
    T: Any, C: Any, i: Any, j: Any, u: Any, v: Any, w: Any, alpha: Any, beta: Any, how: Any,
    begin: Any, part: Any,
) -> None:  # fmt: skip
    """A row of a tile: of the first columns of A, or of more."""
    if i < C.extent(0):
        row = C[i, :]
        if part == "all" and j + 3 * T.width <= C.extent(1):
            if begin > 0:
                (T.load(row, j) + alpha * u).store(row, j)
                (T.load(row, j + T.width) + alpha * v).store(row, j + T.width)
                (T.load(row, j + 2 * T.width) + alpha * w).store(row, j + 2 * T.width)
            elif how == "set":
                (alpha * u).store(row, j)
                (alpha * v).store(row, j + T.width)
                (alpha * w).store(row, j + 2 * T.width)
            else:
                (beta * T.load(row, j) + alpha * u).store(row, j)
                (beta * T.load(row, j + T.width) + alpha * v).store(row, j + T.width)
                (beta * T.load(row, j + 2 * T.width) + alpha * w).store(row, j + 2 * T.width)
        else:
            _store_some(T, row, i, j, u, alpha, beta, how, begin, part)
            _store_some(T, row, i, j + T.width, v, alpha, beta, how, begin, part)
            _store_some(T, row, i, j + 2 * T.width, w, alpha, beta, how, begin, part)


@es.function
def _store_some(
    T: Any, row: Any, i: Any, j: Any, u: Any, alpha: Any, beta: Any, how: Any, begin: Any, part: Any
) -> None:  # fmt: skip
    """The lanes that count."""
    last = min(i + 1, row.extent(0)) if part == "lower" else row.extent(0)
    mask = T.first(last - j)
    if part == "upper":
        mask = mask & ~T.first(i - j)
    if begin > 0:
        (T.load(row, j, mask) + alpha * u).store(row, j, mask)
    elif how == "set":
        (alpha * u).store(row, j, mask)
    else:
        (beta * T.load(row, j, mask) + alpha * u).store(row, j, mask)


def _block_of_numbers(
    block: int, A: Any, B: Any, C: Any, kind: Any, rows: static, depth: Any, tall: Any,
    across: Any, span: Any, part: Any, hermitian: Any, alpha: Any, beta: Any, how: Any,
) -> None:  # fmt: skip
    m, n = C.extent(0), C.extent(1)
    down = (A.extent(0) + tall - 1) // tall
    above = block % down * tall
    left = block // down * across
    for begin in range(0, max(depth, 1), span):
        end = min(begin + span, depth)
        for b in range(left, min(left + across, B.extent(0))):
            for a in range(above, min(above + tall, A.extent(0))):
                if _is_needed(a * rows, b * rows, rows, rows, part):
                    sums = es.local((rows, rows), kind)
                    for k in range(begin, end):
                        for u in range(rows):
                            x = A[a, k * rows + u]
                            for v in range(rows):
                                sums[u, v] += x * B[b, k * rows + v]
                    for u in range(rows):
                        for v in range(rows):
                            i = a * rows + u
                            j = b * rows + v
                            if i < m and j < n:
                                if begin == 0:
                                    stored(C, i, j, sums[u, v], alpha, beta, how, part, hermitian)
                                else:
                                    stored(C, i, j, sums[u, v], alpha, 1, "add", part, hermitian)

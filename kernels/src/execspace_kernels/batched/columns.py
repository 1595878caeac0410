"""Products and triangular solves of batches on spaces that run many work items at once.

A team takes some matrices, each of them as many threads as B has columns. A is in scratch memory,
from which all threads of a matrix read the same element at a time; each has its column of B in
registers. With op(A) on the right of B it is rows of B that threads have.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import execspace as es

from ..arguments import largest_team, static
from .elements import is_lower, own

__all__ = ["fits", "multiply", "triangle"]

_MOST = 32  # rows and columns
_THREADS = 128  # of a team, and up to four times as many so that warps are whole
_SCRATCH = 65536  # bytes
_AT_ONCE = 4  # rows of a column
_SIDE_BY_SIDE = 32  # matrices, where the same element of each lies side by side


def fits(m: int, k: int, n: int) -> bool:
    """Whether A of m x k is small enough, and n columns are enough threads to load it."""
    return max(m, k, n) <= _MOST and min(m, k, n) >= 1 and -(-m * k // n) <= 2 * _MOST


class _Shape(NamedTuple):
    """How many matrices a team has, and in what order its threads take them.

    `each` elements of A are loaded by a thread; `pad` elements between matrices make those of a
    warp lie in different banks.
    """

    policy: es.TeamPolicy
    matrices: int
    each: int
    pad: int
    order: str


def _shape(A: es.View, m: int, k: int, n: int, space: es.ExecutionSpace) -> _Shape:
    by_matrices = A.layout == "left" or A.mapping is not None
    return _found(A.shape[0], by_matrices, A.dtype.itemsize, m, k, n, space)


@lru_cache(maxsize=256)
def _found(
    batch: int, by_matrices: bool, itemsize: int, m: int, k: int, n: int, space: es.ExecutionSpace
) -> _Shape:
    room = min(_SCRATCH, int(es.TeamPolicy(1, space=space).scratch_size_max(0)) // 2)
    most = max(1, min(largest_team(space) // n, room // (m * k * itemsize + itemsize)))
    if by_matrices:
        count = _SIDE_BY_SIDE
    else:
        enough = (g for g in (4, 8, 16, 32, 64, 128) if g * n >= _THREADS)
        count = next(g for g in enough if -g * n % 32 <= g * n // 12)  # few threads of warps idle
    count = min(count, most)
    return _Shape(
        es.TeamPolicy(-(-batch // count), count * n, space=space), count, -(-m * k // n),
        0 if by_matrices else 1 - m * k % 2, "matrices" if by_matrices else "elements",
    )  # fmt: skip


def multiply(
    A: es.View, B: es.View, C: es.View, m: int, k: int, alpha: Any, beta: Any, mode_a: str,
    mode_b: str, space: es.ExecutionSpace,
) -> None:  # fmt: skip
    """C = beta C + alpha op(A) op(B), where op(A) is m x k."""
    n = C.shape[2]
    shape = _shape(A, m, k, n, space)
    es.parallel_for(
        shape.policy, _multiply, A, B, C, m, k, n, shape.matrices, shape.each, shape.pad,
        shape.order, alpha, beta, mode_a, mode_b, label="batched gemm, columns",
    )  # fmt: skip


def triangle(
    what: str, A: es.View, B: es.View, info: es.View | None, alpha: Any, side: str, uplo: str,
    mode: str, diag: str, space: es.ExecutionSpace,
) -> None:  # fmt: skip
    """ "solve" or "multiply" B in place; "invert" A, which is B then, and say where it cannot."""
    k = A.shape[1]
    n = B.shape[2] if side == "L" else B.shape[1]
    shape = _shape(A, k, k, n, space)
    es.parallel_for(
        shape.policy, _triangle, A, B, A if info is None else info, k, n, shape.matrices,
        shape.each, shape.pad, shape.order, alpha, what, side, uplo, mode, diag,
        label=f"batched triangle, {what}",
    )  # fmt: skip


# -- kernels --------------------------------------------------------------------------------------


@es.function
def _load(
    part: Any, A: Any, first: Any, last: Any, t: Any, size: Any, columns: Any, count: Any,
    threads: Any, order: Any,
) -> None:  # fmt: skip
    """Some elements of the team's matrices, of so many each, to the registers of a thread."""
    for c in range(part.extent(0)):
        f = c * threads + t
        if (c + 1) * threads > count * size:
            f = min(f, count * size - 1)
        of = f // size if order == "elements" else f % count
        e = f % size if order == "elements" else f // count
        part[c] = A[min(first + of, last), e // columns, e % columns]


@es.function
def _store(at: Any, part: Any, t: Any, size: Any, count: Any, threads: Any, order: Any) -> None:
    """What `_load` brought, to scratch memory. Without a branch where none is needed: compilers
    move a load behind it, and threads would wait for one after the other."""
    for c in range(part.extent(0)):
        f = c * threads + t
        if (c + 1) * threads <= count * size or f < count * size:
            if order == "elements":
                at[f // size, f % size] = part[c]
            else:
                at[f // count, f % count] = part[c]


@es.function
def _raw(at: Any, g: Any, e: Any, order: Any) -> Any:
    """Element `e` of a matrix."""
    return at[g, e] if order == "elements" else at[e, g]


@es.function
def _op(at: Any, g: Any, i: Any, k: Any, rows: Any, columns: Any, mode: Any, order: Any) -> Any:
    """That of op(A) in row i and column k."""
    e = i * columns + k if mode == "N" or mode == "C" else k * rows + i
    return own(_raw(at, g, e, order), mode)


def _multiply(
    team: Any, A: Any, B: Any, C: Any, m: static, k: static, n: static, count: static,
    each: static, pad: static, order: Any, alpha: Any, beta: Any, mode_a: Any, mode_b: Any,
) -> None:  # fmt: skip
    last = C.extent(0) - 1
    first = team.league_rank * count
    t = team.team_rank
    g = t // n if order == "elements" else t % count
    j = t % n if order == "elements" else t // count
    shape = (count, m * k + pad) if order == "elements" else (m * k, count)
    at = team.scratch(shape, A.dtype)
    part = es.local(each, A.dtype)
    column = es.local(k, C.dtype)
    b = min(first + g, last)
    wide = k if mode_a == "N" or mode_a == "C" else m
    _load(part, A, first, last, t, m * k, wide, count, count * n, order)
    for q in range(k):
        if mode_b == "N" or mode_b == "C":
            column[q] = own(B[b, q, j], mode_b)
        else:
            column[q] = own(B[b, j, q], mode_b)
    _store(at, part, t, m * k, count, count * n, order)
    team.barrier()
    for start in range(0, m, _AT_ONCE):
        # Sums of several rows do not wait for each other.
        totals = es.local(_AT_ONCE, C.dtype)
        for q in range(k):
            for r in range(_AT_ONCE):
                i = min(start + r, m - 1)
                totals[r] += _op(at, g, i, q, m, k, mode_a, order) * column[q]
        for r in range(_AT_ONCE):
            i = start + r
            if i < m and first + g <= last:
                if beta == 0:
                    C[b, i, j] = alpha * totals[r]
                else:
                    C[b, i, j] = alpha * totals[r] + beta * C[b, i, j]


def _triangle(
    team: Any, A: Any, B: Any, info: Any, n: static, columns: static, count: static, each: static,
    pad: static, order: Any, alpha: Any, what: Any, side: Any, uplo: Any, mode: Any, diag: Any,
) -> None:  # fmt: skip
    last = B.extent(0) - 1
    first = team.league_rank * count
    t = team.team_rank
    g = t // columns if order == "elements" else t % count
    j = t % columns if order == "elements" else t // count
    shape = (count, n * n + pad) if order == "elements" else (n * n, count)
    at = team.scratch(shape, A.dtype)
    part = es.local(each, A.dtype)
    column = es.local(n, B.dtype)
    b = min(first + g, last)
    _load(part, A, first, last, t, n * n, n, count, count * columns, order)
    for q in range(n):
        if what == "invert":
            column[q] = 1 if q == j else 0
        elif side == "L":
            column[q] = alpha * B[b, q, j]
        else:
            column[q] = alpha * B[b, j, q]
    _store(at, part, t, n * n, count, count * columns, order)
    team.barrier()
    found = 0
    if what == "invert" and diag == "N":
        for q in range(n):
            if _raw(at, g, (n - 1 - q) * (n + 1), order) == 0:
                found = n - q
        team.barrier()
        if order == "elements":  # each thread has one of the reciprocals, which all multiply by
            at[g, j * (n + 1)] = 1 / at[g, j * (n + 1)]
        else:
            at[j * (n + 1), g] = 1 / at[j * (n + 1), g]
        team.barrier()
    # A row x of B times op(A) is the transpose of op(A) times a column.
    low = is_lower(uplo, mode) == (side == "L")
    for s in range(n):
        # Each element changes those that do not wait for each other.
        p = s if low == (what != "multiply") else n - 1 - s
        if what == "solve" and diag == "N":
            column[p] = column[p] / _op(at, g, p, p, n, n, mode, order)
        if what == "invert" and diag == "N":
            column[p] = column[p] * _raw(at, g, p * (n + 1), order)
        for q in range(p + 1 if low else 0, n if low else p):
            if side == "L":
                entry = _op(at, g, q, p, n, n, mode, order)
            else:
                entry = _op(at, g, p, q, n, n, mode, order)
            if what == "multiply":
                column[q] += entry * column[p]
            else:
                column[q] -= entry * column[p]
        if what == "multiply" and diag == "N":
            column[p] = column[p] * _op(at, g, p, p, n, n, mode, order)
    if what == "invert":
        if first + g <= last:
            if j == 0:
                info[b] = found
            if found == 0:
                for q in range(n):
                    inside = q >= j if uplo == "L" else q <= j
                    if inside and (diag == "N" or q != j):
                        A[b, q, j] = column[q]
    elif first + g <= last:
        for q in range(n):
            if side == "L":
                B[b, q, j] = column[q]
            else:
                B[b, j, q] = column[q]

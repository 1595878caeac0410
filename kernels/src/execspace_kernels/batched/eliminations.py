"""Factors of batches on spaces that run many work items at once.

Small matrices are in registers, one for each thread, and come and go through scratch memory as they
lie. Of larger ones each row is in the registers of a thread: a team of at most a warp has a matrix,
and reads the row of the pivot, which is not moved until the end, in scratch memory.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

import execspace as es

from ..arguments import has_teams, largest_team, static
from . import rows as rows_of_team
from . import serial

__all__ = ["factor", "way"]

_IN_REGISTERS, _BY_ROWS = 800, 648  # bytes of a matrix at most; where there are teams of rows, too
_MOST_ROWS = 32  # of a matrix
_ROWS, _LONG_ROWS = 384, 256  # bytes of the rows of a thread; where one of them has more than 128
_THREADS = 64
_SCRATCH = 49152  # bytes of a team


def way(what: str, A: es.View, space: es.ExecutionSpace) -> str | None:
    """The algorithm for such matrices, if there is one here."""
    m, n = A.shape[1:]
    if m != n or n < 1 or not has_teams(space):
        return None
    has_rows = what in ("getrf", "lu") and n <= _MOST_ROWS
    if n * n * max(A.dtype.itemsize, 4) <= (_BY_ROWS if has_rows else _IN_REGISTERS):
        return "registers"
    return "rows" if has_rows else None


def factor(
    what: str, how: str, A: es.View, pivots: es.View | None, info: es.View, uplo: str,
    space: es.ExecutionSpace,
) -> None:  # fmt: skip
    """ "lu", "getrf" or "potrf" of A in place."""
    batch, n, _ = A.shape
    exchanges = info if pivots is None else pivots  # which only "getrf" stores
    if how == "rows":
        policy, size, each = _teams_of_rows(batch, n, A.dtype.itemsize, space)
        number = np.float64 if A.dtype in (np.float64, np.complex128) else np.float32
        word = np.int64 if number is np.float64 else np.int32
        least = float(np.finfo(A.dtype).smallest_normal)
        es.parallel_for(
            policy, _rows, A, exchanges, info, n, size, each, what, number, word, least,
            label=f"batched {what}, rows",
        )  # fmt: skip
        return
    order = "matrices" if A.layout == "left" or A.mapping is not None else "elements"
    policy, size = _threads(batch, n * n * A.dtype.itemsize, space)
    es.parallel_for(
        policy, _registers, A, exchanges, info, n, size, 1 - n % 2, order, what, uplo,
        label=f"batched {what}, registers",
    )  # fmt: skip


@lru_cache(maxsize=256)
def _teams_of_rows(
    batch: int, n: int, itemsize: int, space: es.ExecutionSpace
) -> tuple[es.TeamPolicy, int, int]:
    """A team for each matrix, its threads, and the rows of each of these."""
    each, most = 1, _ROWS if n * itemsize <= 128 else _LONG_ROWS
    while 2 * each * n * itemsize <= most:
        each *= 2
    size = 1
    while size * each < n:
        size *= 2
    size = min(size, largest_team(space))
    return es.TeamPolicy(batch, size, space=space), size, -(-n // size)


@lru_cache(maxsize=256)
def _threads(batch: int, nbytes: int, space: es.ExecutionSpace) -> tuple[es.TeamPolicy, int]:
    """Teams with a matrix for each thread, and how many there are."""
    size = min(_THREADS, largest_team(space))
    while size > 1 and size * nbytes > _SCRATCH:
        size //= 2
    return es.TeamPolicy(-(-batch // size), size, space=space), size


# -- kernels --------------------------------------------------------------------------------------


def _registers(
    team: Any, A: Any, pivots: Any, info: Any, n: static, size: static, pad: static, order: Any,
    what: Any, uplo: Any,
) -> None:  # fmt: skip
    last = A.extent(0) - 1
    first = team.league_rank * size
    t = team.team_rank
    b = min(first + t, last)
    own = es.local((n, n), A.dtype)
    exchanges = es.local(n, np.int32)
    shape = (size, n * n + pad) if order == "elements" else (1, 1)
    at = team.scratch(shape, A.dtype)
    if order == "elements":
        part = es.local(n * n, A.dtype)
        for c in range(n * n):
            f = c * size + t
            part[c] = A[min(first + f // (n * n), last), f % (n * n) // n, f % n]
        for c in range(n * n):
            f = c * size + t
            at[f // (n * n), f % (n * n)] = part[c]
        team.barrier()
        for i in range(n):
            for j in range(n):
                own[i, j] = at[t, i * n + j]
    else:
        for i in range(n):
            for j in range(n):
                own[i, j] = A[b, i, j]
    found = 0
    if what == "getrf":
        found = serial.getrf(own, exchanges)
    elif what == "lu":
        found = serial.lu(own)
    else:
        found = serial.potrf(own, uplo)
    if first + t <= last:
        info[b] = found
        if what == "getrf":
            for k in range(n):
                pivots[b, k] = exchanges[k]
    if order == "elements":
        for i in range(n):
            for j in range(n):
                at[t, i * n + j] = own[i, j]
        team.barrier()
        for c in range(n * n):
            f = c * size + t
            if first + f // (n * n) <= last:
                A[first + f // (n * n), f % (n * n) // n, f % n] = at[f // (n * n), f % (n * n)]
    elif first + t <= last:
        for i in range(n):
            for j in range(n):
                A[b, i, j] = own[i, j]


def _rows(
    team: Any, A: Any, pivots: Any, info: Any, n: static, threads: static, each: static, what: Any,
    real: Any, word: Any, least: Any,
) -> None:  # fmt: skip
    b = team.league_rank
    t = team.team_rank
    # Two numbers at a time: rows of the threads of a team begin in different banks, and so do
    # those of the teams of a warp.
    wide = n + (2 - n) % 4
    at = team.scratch(n * wide + (18 - n * wide % 16) % 16, A.dtype)
    part = es.local(-(-n * n // threads), A.dtype)
    for c in range(-(-n * n // threads)):
        f = c * threads + t
        if (c + 1) * threads > n * n:
            f = min(f, n * n - 1)
        part[c] = A[b, f // n, f % n]
    for c in range(-(-n * n // threads)):
        f = c * threads + t
        if (c + 1) * threads <= n * n or f < n * n:  # see `columns`
            at[f // n * wide + f % n] = part[c]
    team.barrier()
    rows = es.local((each, n), A.dtype)
    places = es.local(each, np.int32)  # where rows are to be; before k they are done
    for r in range(each):
        i = r * threads + t
        places[r] = i if i < n else -1
        for k in range(n):
            rows[r, k] = at[min(i, n - 1) * wide + k]
    exchanges = es.local(each, np.int32)
    team.barrier()
    found = rows_of_team.eliminate(team, A, rows, places, exchanges, at, what, real, word, least)
    for r in range(each):
        if r * threads + t < n:
            for k in range(n):
                at[places[r] * wide + k] = rows[r, k]
            if what == "getrf":
                pivots[b, r * threads + t] = exchanges[r]
    if t == 0:
        info[b] = found
    team.barrier()
    for c in range(-(-n * n // threads)):
        f = c * threads + t
        if (c + 1) * threads <= n * n or f < n * n:  # see `columns`
            A[b, f // n, f % n] = at[f // n * wide + f % n]

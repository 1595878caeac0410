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
from . import serial
from .elements import magnitude, zero_of
from .pivots import Largest

__all__ = ["factor", "way"]

_MOST_IN_REGISTERS = 10  # rows; for elements of 8 bytes
_MOST_ROWS = 32  # of a team
_THREADS = 64
_SCRATCH = 49152  # bytes of a team


def way(what: str, A: es.View, space: es.ExecutionSpace) -> str | None:
    """The algorithm for such matrices, if there is one here."""
    m, n = A.shape[1:]
    if m != n or n < 1 or not has_teams(space):
        return None
    if n * A.dtype.itemsize <= _MOST_IN_REGISTERS * 8:
        return "registers"
    most = min(_MOST_ROWS, largest_team(space))
    return "rows" if what in ("getrf", "lu") and n <= most else None


def factor(
    what: str, how: str, A: es.View, pivots: es.View | None, info: es.View, uplo: str,
    space: es.ExecutionSpace,
) -> None:  # fmt: skip
    """ "lu", "getrf" or "potrf" of A in place."""
    batch, n, _ = A.shape
    exchanges = info if pivots is None else pivots  # which only "getrf" stores
    if how == "rows":
        es.parallel_for(
            _teams_of_rows(batch, n, space), _rows, A, exchanges, info, n, 1 - n % 2, what,
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
def _teams_of_rows(batch: int, n: int, space: es.ExecutionSpace) -> es.TeamPolicy:
    size = 8
    while size < n:
        size *= 2
    return es.TeamPolicy(batch, min(size, largest_team(space)), space=space)


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
    team: Any, A: Any, pivots: Any, info: Any, n: static, pad: static, what: Any
) -> None:  # fmt: skip
    b = team.league_rank
    t = np.int32(team.team_rank)
    at = team.scratch((n, n + pad), A.dtype)
    row = es.local(n, A.dtype)
    for f in es.TeamThreadRange(team, n * n):
        at[f // n, f % n] = A[b, f // n, f % n]
    team.barrier()
    mine = min(t, n - 1)
    for k in range(n):
        row[k] = at[mine, k]
    team.barrier()
    place = t  # where the row is to be
    is_done = t >= n
    found = 0
    for k in range(n):
        at_pivot = np.int32(k)
        if what == "getrf":
            own = -1.0 if is_done else np.float64(magnitude(A, row[k]))
            _, at_pivot = team.reduce((own, place), reducer=Largest)
            at_pivot = max(at_pivot, np.int32(k))
        is_pivot = (place == at_pivot) & (not is_done)
        if is_pivot:
            for q in range(k, n):
                at[0, q] = row[q]
            if what == "getrf":
                pivots[b, k] = at_pivot
        team.barrier()
        pivot = zero_of(A) + at[0, k]
        if is_pivot:
            place = np.int32(k)
            is_done = True
        elif place == k:
            place = at_pivot
        if pivot == 0:
            if found == 0:
                found = k + 1
        elif not is_done:
            factor = row[k] / pivot
            row[k] = factor
            for q in range(k + 1, n):
                row[q] -= factor * at[0, q]
        team.barrier()
    if t < n:
        for k in range(n):
            at[place, k] = row[k]
    if t == 0:
        info[b] = found
    team.barrier()
    for f in es.TeamThreadRange(team, n * n):
        A[b, f // n, f % n] = at[f // n, f % n]

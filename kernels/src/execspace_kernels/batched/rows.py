"""Eliminations with the rows of a matrix in the registers of the members of a team.

A member has `each` rows: that of its rank, and every team_size-th after it. Only the row of the
pivot is in scratch memory, where all read it. Rows do not move: each knows the place that it will
have in the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from .elements import element, is_lower, magnitude, zero_of

__all__ = ["eliminate", "factors", "fit", "trsv"]

_MOST = 32  # rows


@es.function
def eliminate(
    team: Any, A: Any, rows: Any, places: Any, exchanges: Any, at: Any, what: Any, real: Any,
    word: Any, least: Any,
) -> Any:  # fmt: skip
    """Factors of the rows, `what` is "lu" or "getrf"; the number of the first pivot that is zero.

    `rows` (each, n), `places` and `exchanges` (each,) are private, and `at` is scratch memory for
    a row of `A.dtype`; `word` is the integer of the size of `real`, the type of magnitudes, and
    `least` the smallest normal number of it. All members get the same result.
    """
    t = team.team_rank
    threads = team.team_size
    found = 0
    for k in range(rows.extent(1)):
        at_pivot = np.int32(k)
        if what == "getrf":
            # Magnitudes are in the order of their bits, which threads exchange with less work.
            largest = word(-1)
            owns = es.local(rows.extent(0), word)
            for r in range(rows.extent(0)):
                size = real(magnitude(A, rows[r, k]))
                owns[r] = size.view(word) if (places[r] >= k) & (size == size) else word(-1)
                largest = max(largest, owns[r])
            largest = team.reduce(largest, reducer=es.Max)
            first = np.int32(rows.extent(1))
            for r in range(rows.extent(0)):
                if owns[r] == largest:
                    first = min(first, places[r])
            first = team.reduce(first, reducer=es.Min)
            at_pivot = max(first, np.int32(k))  # of NaN alone none is the largest
            for r in range(rows.extent(0)):
                if r * threads + t == k:
                    exchanges[r] = at_pivot
        for r in range(rows.extent(0)):
            if places[r] == at_pivot:
                for q in range(k - k % 2, rows.extent(1)):  # whole pairs
                    at[q] = rows[r, q]
                places[r] = np.int32(k)
            elif places[r] == k:
                places[r] = at_pivot
        team.barrier()
        pivot = zero_of(A) + at[k]
        if pivot == 0:
            if found == 0:
                found = k + 1
        else:
            # As LAPACK does, by the inverse where that does not overflow.
            is_normal = real(magnitude(A, pivot)) >= least
            inverse = zero_of(A) + 1
            if is_normal:
                inverse = inverse / pivot
            for r in range(rows.extent(0)):
                if places[r] > k:
                    factor = rows[r, k] * inverse
                    if not is_normal:
                        factor = rows[r, k] / pivot
                    rows[r, k] = factor
                    for q in range(k + 1, rows.extent(1)):
                        rows[r, q] -= factor * at[q]
        team.barrier()
    return found


@es.function
def fit(A: Any) -> Any:
    """Whether a row of such a matrix can be in the registers of a member; a constant."""
    return (
        1 < A.static_extent(0) <= _MOST
        and A.static_extent(0) == A.static_extent(1)
        and (A.dtype.kind == "f" or A.dtype.kind == "c")
        and A.dtype.itemsize >= 4
    )


@es.function
def _least(A: Any) -> Any:
    """The smallest normal number of a matrix that fits: inverses of smaller ones may overflow."""
    if A.dtype == np.float64 or A.dtype == np.complex128:
        return np.float64(2.0**-1022)
    return np.float32(2.0**-126)


@es.function
def factors(team: Any, A: Any, pivots: Any, what: Any) -> Any:
    """LU of a matrix by at least as many members as rows, as `eliminate` does."""
    n = A.extent(0)
    t = team.team_rank
    rows = es.local((1, A.extent(0)), A.dtype)
    places = es.local(1, np.int32)
    exchanges = es.local(1, np.int32)
    at = team.scratch(A.extent(0), A.dtype)
    places[0] = t if t < n else -1
    for k in range(A.extent(0)):
        rows[0, k] = A[min(t, n - 1), k]
    if A.dtype == np.float64 or A.dtype == np.complex128:
        found = eliminate(
            team, A, rows, places, exchanges, at, what, np.float64, np.int64, _least(A)
        )
    else:
        found = eliminate(
            team, A, rows, places, exchanges, at, what, np.float32, np.int32, _least(A)
        )
    if t < n:
        for k in range(A.extent(0)):
            A[places[0], k] = rows[0, k]
        if what == "getrf":
            pivots[t] = exchanges[0]
    team.barrier()
    return found


@es.function
def trsv(team: Any, A: Any, b: Any, uplo: Any, mode: Any, diag: Any) -> None:
    """Substitution with a triangle of a matrix by at least as many members as rows."""
    low = is_lower(uplo, mode)
    n = A.extent(0)
    t = min(team.team_rank, n - 1)
    row = es.local(A.extent(0), A.dtype)
    for k in range(A.extent(0)):
        row[k] = element(A, t, k, mode)
    pivot = zero_of(A) + 1
    if diag == "N":
        pivot = element(A, t, t, mode)
    is_normal = magnitude(A, pivot) >= _least(A)
    inverse = (zero_of(A) + 1) / pivot
    own = zero_of(b) + b[t]
    for s in range(A.extent(0)):
        k = s if low else A.extent(0) - 1 - s
        mine = own
        if diag == "N":
            mine = own * inverse
            if not is_normal:
                mine = own / pivot
        solved = team.broadcast(mine, k)
        if t == k:
            own = solved
        elif (t > k) == low:
            own -= row[k] * solved
    team.barrier()  # all have read
    if team.team_rank < n:
        b[t] = own
    team.barrier()

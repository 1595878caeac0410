"""The elements of products of sparse matrices, summed by teams in scratch memory.

A team has a hash table of the entries of C, which are known then: a row of more entries than a
table holds is that of several teams, each of which looks up where in the rows of B its columns
begin. If its own columns lie near each other it has bits of the columns between instead of a table,
and counts them. Rows of B are added one after the other, in the order of the entries of A, so sums
have the same bits in each run.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import execspace as es

from ..arguments import static
from .rows import begin_of
from .segments import bits_set
from .spgemm_devices import MOST_THREADS, Rows
from .spgemm_hosts import coefficient, diagonal_of, own_of

__all__ = ["Tables"]

_TABLE = 4096  # places of the largest table, of which two thirds are taken at most
_SPAN = 1 << 16  # columns that have bits, if the entries of a team lie so near
_AHEAD = 8  # rows of B whose begins are read before any of them is added


def _room(space: es.ExecutionSpace) -> int:
    """Bytes of scratch memory for tables."""
    return int(es.TeamPolicy(1, space=space).scratch_size_max(0)) // 8 * 7 - MOST_THREADS * 32


class _Part(NamedTuple):
    """Teams of one launch: how each finds its entries, places for sums, words of bits; the row of
    each, and its first entry of C."""

    table: str
    places: int
    words: int
    row: es.View
    start: es.View


class Tables:
    """The teams that sum elements."""

    def __init__(self, row_map: es.View, entries: es.View, rows: Rows) -> None:
        self.rows = rows
        self.parts: list[_Part] = []
        if not rows.shared:
            return
        room = _room(rows.space)  # for values of 16 bytes
        self.largest, span = _TABLE, _SPAN
        while self.largest > 512 and self.largest * (entries.dtype.itemsize + 16) > room:
            self.largest //= 2
        self.most = self.largest // 3 * 2
        while span > 1024 and span // 4 + self.most * 16 > room:
            span //= 2
        low = -1
        for places in (64, 256, self.largest):
            found = self._teams(row_map, places, low)
            low = places // 3 * 2
            if found is None:
                continue
            if places < self.largest:
                self.parts.append(_Part("hash", places, 1, *found))
                continue
            count, row, start = _near_first(*found, row_map, entries, low, span, rows.space)
            if count:
                words = span // 32 + 1
                self.parts.append(_Part("bits", self.most, words, row[:count], start[:count]))
            if count < row.shape[0]:
                self.parts.append(_Part("hash", places, 1, row[count:], start[count:]))

    def _teams(self, row_map: es.View, places: int, low: int) -> tuple[es.View, es.View] | None:
        """Rows and first entries of teams for tables of a size; the largest take parts of rows."""
        rows, space = self.rows, self.rows.space
        every = es.RangePolicy(rows.shared, space=space)
        nothing = es.View(0, np.int64, label="teams", space=space)
        args = rows.list, rows.merged, row_map, low, places // 3 * 2
        last = places == self.largest
        n = int(es.parallel_scan(every, _team_of, *args, nothing, nothing, "count", last))
        if not n:
            return None
        row, start = _pair(n, space)
        es.parallel_scan(every, _team_of, *args, row, start, "fill", last)
        return row, start

    def sum(self, *views: Any) -> None:
        """All elements of C."""
        size = self.rows.size()
        for table, places, words, row, start in self.parts:
            is_small = table == "hash" and places < self.largest
            whole, most = ("yes", places // 3 * 2) if is_small else ("no", self.most)
            es.parallel_for(
                es.TeamPolicy(row.shape[0], size, space=self.rows.space), _sum, row, start,
                *views, most, whole, places if table == "hash" else 1, places, words, _AHEAD,
                table, label=f"spgemm {table}, {places} places",
            )  # fmt: skip


def _pair(n: int, space: es.ExecutionSpace) -> tuple[es.View, es.View]:
    row, start = (
        es.View(n, np.int64, label=label, space=space, initialize=False)
        for label in ("rows", "starts")
    )
    return row, start


def _near_first(
    row: es.View, start: es.View, row_map: es.View, entries: es.View, most: int, span: int,
    space: es.ExecutionSpace,
) -> tuple[int, es.View, es.View]:  # fmt: skip
    """How many teams have columns that lie so near each other; the teams, with those first."""
    n = row.shape[0]
    rows, starts = _pair(n, space)
    count = es.parallel_scan(
        es.RangePolicy(n, space=space), _is_near, row, start, row_map, entries, most, span, rows,
        starts,
    )  # fmt: skip
    return int(count), rows, starts


# -- kernels --------------------------------------------------------------------------------------


def _team_of(
    t: int, before: Any, final: Any, rows: Any, merged: Any, row_map: Any, low: Any, high: Any,
    row: Any, start: Any, what: Any, last: Any,
) -> Any:  # fmt: skip
    i = rows[merged + t]
    n = row_map[i + 1] - row_map[i]
    count = 0
    if n > low and (last or n <= high):
        count = (n + high - 1) // high
    if what == "fill" and final:
        for c in range(count):
            row[before + c] = i
            start[before + c] = row_map[i] + c * high
    return np.int64(count)


def _is_near(
    t: int, before: Any, final: Any, row: Any, start: Any, row_map: Any, entries: Any, most: Any,
    span: Any, rows: Any, starts: Any,
) -> Any:  # fmt: skip
    last = min(start[t] + most, np.int64(row_map[row[t] + 1])) - 1
    fits = np.int64(entries[last]) - entries[start[t]] < span
    if final:
        at = before if fits else rows.extent(0) - 1 - (t - before)
        rows[at] = row[t]
        starts[at] = start[t]
    return 1 if fits else 0


@es.function
def _begin_at(column: Any, places: Any) -> Any:
    """The place to begin with for a column; a power of two is the number of places."""
    return (np.int64(column) * 40503) & (places - 1)


@es.function
def _slot(
    keys: Any, bits: Any, firsts: Any, column: Any, places: Any, base: Any, table: Any
) -> Any:
    """Where the sum of a column is."""
    if table == "bits":
        at = np.int64(column) - base
        below = (np.uint32(1) << np.uint32(at & 31)) - np.uint32(1)
        return np.int64(firsts[at >> 5] + bits_set(bits[at >> 5] & below))
    at = _begin_at(column, places)
    while keys[at] != column:
        at = (at + 1) & (places - 1)
    return at


@es.function
def _insert(keys: Any, column: Any, places: Any) -> None:
    free = keys.dtype(-1)
    at = _begin_at(column, places)
    while es.atomic_compare_exchange(keys, at, free, column) != free:
        at = (at + 1) & (places - 1)


@es.function
def _mark(
    q: Any, q_begin: Any, q_end: Any, entries: Any, base: Any, bits: Any, firsts: Any
) -> None:
    """The word of an entry that is the first one in it."""
    word = (np.int64(entries[q]) - base) >> 5
    if q == q_begin or (np.int64(entries[q - 1]) - base) >> 5 != word:
        firsts[word] = q - q_begin
        found = np.uint32(0)
        r = q
        at = np.int64(entries[q]) - base
        while r < q_end and at >> 5 == word:
            found |= np.uint32(1) << np.uint32(at & 31)
            r += 1
            if r < q_end:
                at = np.int64(entries[r]) - base
        bits[word] = found


def _sum(
    team: Any, row: Any, start: Any, a_map: Any, a: Any, a_values: Any, b_map: Any, b: Any,
    b_values: Any, row_map: Any, entries: Any, values: Any, own: Any, omega: Any, how: Any,
    kind: Any, most: Any, whole: Any, keyed: static, places: static, words: static,
    at_once: static, table: Any,
) -> None:  # fmt: skip
    keys = team.scratch(keyed, entries.dtype)
    bits = team.scratch(words, np.uint32)
    firsts = team.scratch(words, np.int32)
    sums = team.scratch(places, values.dtype)
    lows = team.scratch(team.team_size, np.int64)
    highs = team.scratch(team.team_size, np.int64)
    scales = team.scratch(team.team_size, kind)
    i = row[team.league_rank]
    mine = own_of(i, own, how)
    diagonal = diagonal_of(a_values, mine, how)  # which comes while the table is filled
    q_begin = start[team.league_rank]
    q_end = min(q_begin + most, np.int64(row_map[i + 1]))
    lowest = np.int64(entries[q_begin])
    beyond = np.int64(entries[q_end - 1]) + 1
    base = lowest // 32 * 32
    for s in es.TeamThreadRange(team, places):
        if table == "hash":
            keys[s] = -1
        sums[s] = values.dtype.type(0)
    if table == "bits":
        for s in es.TeamThreadRange(team, int((beyond - base + 31) // 32)):
            bits[s] = 0
    team.barrier()
    for q in es.TeamThreadRange(team, q_begin, q_end):
        if table == "hash":
            _insert(keys, entries[q], places)
        else:
            _mark(q, q_begin, q_end, entries, base, bits, firsts)
    team.barrier()
    step = omega / diagonal
    end = a_map[i + 1]
    for k in range(a_map[i], end, team.team_size):
        count = min(team.team_size, end - k)
        for t in es.TeamThreadRange(team, count):  # what all wait for is read at once
            j = a[k + t]
            low = b_map[j] + np.int64(0)
            high = b_map[j + 1] + np.int64(0)
            if whole == "no":
                low = begin_of(b, low, high, lowest)
                high = begin_of(b, low, high, beyond)
            lows[t] = low
            highs[t] = high
            scales[t] = coefficient(a_values, k + t, mine, step, how)
        team.barrier()
        for first in range(0, count, at_once):
            # The begins of some rows of B are read before any of them is added.
            columns = es.local(at_once, entries.dtype)
            terms = es.local(at_once, values.dtype)
            for r in range(at_once):
                columns[r] = -1
                if first + r < count:
                    p = lows[first + r] + team.team_rank
                    if p < highs[first + r]:
                        columns[r] = b[p]
                        terms[r] = scales[first + r] * b_values[p]
            for r in range(at_once):
                if columns[r] >= 0:
                    at = _slot(keys, bits, firsts, columns[r], places, base, table)
                    sums[at] += terms[r]
                team.barrier()
                if first + r < count and lows[first + r] + team.team_size < highs[first + r]:
                    t = first + r
                    for p in es.TeamThreadRange(team, lows[t] + team.team_size, highs[t]):
                        at = _slot(keys, bits, firsts, b[p], places, base, table)
                        sums[at] += scales[t] * b_values[p]
                    team.barrier()
        team.barrier()
    for q in es.TeamThreadRange(team, q_begin, q_end):
        if table == "bits":
            values[q] = sums[q - q_begin]
        else:
            values[q] = sums[_slot(keys, bits, firsts, entries[q], places, base, table)]

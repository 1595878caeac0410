"""Products of sparse matrices on spaces that run many work items at once.

Rows of few products are merged, a work item for each: the rows of B ascend, and so does what comes
of them. Other rows have a team. Where their entries are it finds in bitmaps of parts of the columns
in scratch memory; elements it sums as in `spgemm_tables`. Methods by the products of a row are of
Deveci, Trott and Rajamanickam, "Multithreaded sparse matrix-matrix multiplication for many-core and
GPU architectures", Parallel Computing 78, 2018.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..arguments import largest_team, static
from .crs import StaticCrsGraph
from .rows import begin_of
from .segments import bits_set
from .spgemm_hosts import coefficient, diagonal_of, own_of

MOST_MERGED = 8  # rows of B
_MOST_PRODUCTS = 128  # of a row that is merged
_WIDTH = 1 << 17  # columns of a bitmap
MOST_THREADS = 256  # of a team


class Rows:
    """Which rows are merged, and which have teams."""

    def __init__(
        self, a: StaticCrsGraph, prefix: es.View, products: int, space: es.ExecutionSpace
    ) -> None:
        self.space, self.slots = space, max(1, min(a.longest(), MOST_MERGED))
        m = a.num_rows
        every = es.RangePolicy(m, space=space)
        self.merged, self.shared = m, 0
        self.list = es.View(m, np.int64, label="rows", space=space, initialize=False)
        if m:
            self.merged = int(
                es.parallel_scan(
                    every, _listed, a.row_map, prefix, self.list, self.slots, label="spgemm rows"
                )
            )
            self.shared = m - self.merged
        self.are_all_merged = "yes" if self.merged == m else "no"
        self.mean = products / max(1, a.nnz)  # for each entry of A, for the size of teams

    def size(self) -> int:
        """Threads of a team, which add a row of B at once."""
        most = largest_team(self.space)
        wanted = 32
        while wanted < min(self.mean, MOST_THREADS):
            wanted *= 2
        while wanted > most:
            wanted //= 2
        return wanted


def structure(
    a: StaticCrsGraph, b: StaticCrsGraph, rows: Rows, first: es.View, entries: es.View, what: str
) -> None:
    """ "count" the entries of each row, or "fill" them in."""
    if rows.merged:
        es.parallel_for(
            es.RangePolicy(rows.merged, space=rows.space), _merge_structure, rows.list, a.row_map,
            a.entries, b.row_map, b.entries, first, entries, b.num_cols, what,
            rows.are_all_merged, rows.slots, label=f"spgemm merge, {what}",
        )  # fmt: skip
    if rows.shared:
        width = min(_WIDTH, -(-b.num_cols // 32) * 32)
        lanes = min(5, max(0, round(rows.mean).bit_length() - 1))
        size = min(128, largest_team(rows.space))
        es.parallel_for(
            es.TeamPolicy(rows.shared, size, space=rows.space), _bitmap, rows.list, rows.merged,
            a.row_map, a.entries, b.row_map, b.entries, first, entries, b.num_cols, width // 32,
            lanes, what, label=f"spgemm bitmaps, {what}",
        )  # fmt: skip


def merge(rows: Rows, *views: Any) -> None:
    """The elements of rows that are merged."""
    if rows.merged:
        es.parallel_for(
            es.RangePolicy(rows.merged, space=rows.space), _merge, rows.list, *views,
            rows.are_all_merged, rows.slots, label="spgemm merge",
        )  # fmt: skip


# -- kernels --------------------------------------------------------------------------------------


def _listed(
    i: int, before: Any, final: Any, a_map: Any, products: Any, rows: Any, slots: Any
) -> Any:
    few = a_map[i + 1] - a_map[i] <= slots and products[i + 1] - products[i] <= _MOST_PRODUCTS
    if final:
        if few:
            rows[before] = i
        else:
            rows[rows.extent(0) - 1 - (i - before)] = i
    return 1 if few else 0


def _merge_structure(
    t: int, rows: Any, a_map: Any, a: Any, b_map: Any, b: Any, first: Any, entries: Any,
    num_cols: Any, what: Any, every: Any, slots: static,
) -> None:  # fmt: skip
    i = t if every == "yes" else rows[t]
    begin = a_map[i]
    n = a_map[i + 1] - begin
    heads = es.local(slots, np.int64)
    ends = es.local(slots, np.int64)
    columns = es.local(slots, np.int64)
    for s in range(slots):
        columns[s] = num_cols
        if s < n:
            j = a[begin + s]
            heads[s] = b_map[j]
            ends[s] = b_map[j + 1]
            if heads[s] < ends[s]:
                columns[s] = b[heads[s]]
    count = 0
    at = 0
    if what == "fill":
        at = first[i]
    least = np.int64(0)
    while least < num_cols:
        least = np.int64(num_cols)
        for s in range(slots):
            least = min(least, columns[s])
        if least < num_cols:
            if what == "fill":
                entries[at] = least
                at += 1
            count += 1
            for s in range(slots):
                if columns[s] == least:
                    heads[s] += 1
                    columns[s] = num_cols
                    if heads[s] < ends[s]:
                        columns[s] = b[heads[s]]
    if what == "count":
        first[i] = count


def _merge(
    t: int, rows: Any, a_map: Any, a: Any, a_values: Any, b_map: Any, b: Any, b_values: Any,
    row_map: Any, entries: Any, values: Any, own: Any, omega: Any, how: Any, kind: Any,
    every: Any,
    slots: static,
) -> None:  # fmt: skip
    i = t if every == "yes" else rows[t]
    begin = a_map[i]
    n = a_map[i + 1] - begin
    heads = es.local(slots, np.int64)
    ends = es.local(slots, np.int64)
    columns = es.local(slots, np.int64)
    scales = es.local(slots, kind)
    mine = own_of(i, own, how)
    step = omega / diagonal_of(a_values, mine, how)
    for s in range(slots):
        columns[s] = -1
        if s < n:
            j = a[begin + s]
            heads[s] = b_map[j]
            ends[s] = b_map[j + 1]
            scales[s] = coefficient(a_values, begin + s, mine, step, how)
            if heads[s] < ends[s]:
                columns[s] = b[heads[s]]
    for q in range(row_map[i], row_map[i + 1]):
        column = entries[q]
        total = values.dtype.type(0)
        for s in range(slots):
            if columns[s] == column:
                total += scales[s] * b_values[heads[s]]
                heads[s] += 1
                columns[s] = -1
                if heads[s] < ends[s]:
                    columns[s] = b[heads[s]]
        values[q] = total


def _bitmap(
    team: Any, rows: Any, merged: Any, a_map: Any, a: Any, b_map: Any, b: Any, first: Any,
    entries: Any, num_cols: Any, words: Any, lanes: Any, what: Any,
) -> None:  # fmt: skip
    i = rows[merged + team.league_rank]
    begin = a_map[i]
    end = a_map[i + 1]
    bits = team.scratch(words, np.uint32)
    least = es.parallel_reduce(
        es.TeamThreadRange(team, begin, end),
        lambda k: np.int64(b[b_map[a[k]]]) if b_map[a[k]] < b_map[a[k] + 1] else np.int64(num_cols),
        reducer=es.Min,
    )
    most = es.parallel_reduce(
        es.TeamThreadRange(team, begin, end),
        lambda k: np.int64(b[b_map[a[k] + 1] - 1]) if b_map[a[k]] < b_map[a[k] + 1] else -1,
        reducer=es.Max,
    )
    total = np.int64(0)
    if what == "fill":
        total += first[i]
    low = least // 32 * 32
    whole = most - low < words * 32
    while low <= most:
        here = min(words, (most - low) // 32 + 1)
        for w in es.TeamThreadRange(team, here):
            bits[w] = 0
        team.barrier()
        for q in es.TeamThreadRange(team, (end - begin) << lanes):  # so many for an entry of A
            j = a[begin + (q >> lanes)]
            p = np.int64(b_map[j])
            stop = np.int64(b_map[j + 1])
            if not whole:
                p = begin_of(b, p, stop, low)
                stop = begin_of(b, p, stop, low + here * 32)
            p += q & ((1 << lanes) - 1)
            while p < stop:
                c = b[p] - low
                es.atomic_or(bits, c >> 5, np.uint32(1) << np.uint32(c & 31))
                p += 1 << lanes
        team.barrier()
        if what == "count":
            total += es.parallel_reduce(
                es.TeamThreadRange(team, here), lambda w: np.int64(bits_set(bits[w]))
            )
        else:
            each = (here + team.team_size - 1) // team.team_size
            mine = min(team.team_rank * each, here)
            stop = min(mine + each, here)
            found = np.int64(0)
            for w in range(mine, stop):
                found += np.int64(bits_set(bits[w]))
            at = total + team.scan(found)
            total += team.reduce(found)
            for w in range(mine, stop):
                left = bits[w]
                while left != np.uint32(0):
                    lowest = left & (~left + np.uint32(1))
                    entries[at] = low + w * 32 + bits_set(lowest - np.uint32(1))
                    at += 1
                    left ^= lowest
        team.barrier()
        low += here * 32
    if what == "count" and es.single(es.PerTeam(team)):
        first[i] = total

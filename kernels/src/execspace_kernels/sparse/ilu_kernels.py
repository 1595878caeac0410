"""Kernels of incomplete factors: a row, and how rows follow each other.

L has no diagonal, in U it is the first element of each row; columns ascend in both.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import execspace as es

from .rows import begin_of


def count_lower(i: int, before: Any, final: Any, row_map: Any, entries: Any, starts: Any) -> Any:
    """The row map of the strictly lower part."""
    count = 0
    for k in range(row_map[i], row_map[i + 1]):
        count += 1 if entries[k] < i else 0
    if final:
        starts[i + 1] = before + count
    return count


def split(
    i: int, row_map: Any, entries: Any, low_map: Any, up_map: Any, lower: Any, upper: Any
) -> None:
    """The entries of both parts, and the row map of the upper one."""
    up = row_map[i] - low_map[i]
    up_map[i + 1] = row_map[i + 1] - low_map[i + 1]
    low = low_map[i]
    for k in range(row_map[i], row_map[i + 1]):
        if entries[k] < i:
            lower[low] = entries[k]
            low += 1
        else:
            upper[up] = entries[k]
            up += 1


def places(
    i: int, row_map: Any, entries: Any, low_map: Any, lower: Any, up_map: Any, upper: Any,
    found: Any,
) -> None:  # fmt: skip
    """Where entries of a matrix go: of L counted from -1 down, of U from 0 up."""
    p = low_map[i]
    q = up_map[i]
    for k in range(row_map[i], row_map[i + 1]):
        if entries[k] < i:
            while lower[p] < entries[k]:
                p += 1
            found[k] = -1 - np.int64(p)
        else:
            while upper[q] < entries[k]:
                q += 1
            found[k] = q


def put(k: int, values: Any, places: Any, low: Any, up: Any) -> None:
    """Values of a matrix to their places."""
    if places[k] < 0:
        low[-1 - places[k]] = values[k]
    else:
        up[places[k]] = values[k]


@es.function
def factorised(
    i: Any, low_map: Any, lower: Any, low: Any, up_map: Any, upper: Any, up: Any
) -> None:
    """Row i, when those of its entries in L are done."""
    for k in range(low_map[i], low_map[i + 1]):
        h = lower[k]
        pivot = low[k] / up[up_map[h]]
        low[k] = pivot
        p = k + 1  # both go along row i, as q goes along row h
        r = up_map[i]
        for q in range(up_map[h] + 1, up_map[h + 1]):
            j = upper[q]
            if j < i:
                while p < low_map[i + 1] and lower[p] < j:
                    p += 1
                if p < low_map[i + 1] and lower[p] == j:
                    low[p] -= pivot * up[q]
            else:
                while r < up_map[i + 1] and upper[r] < j:
                    r += 1
                if r < up_map[i + 1] and upper[r] == j:
                    up[r] -= pivot * up[q]


def in_order(
    one: int, marks: Any, low_map: Any, lower: Any, low: Any, up_map: Any, upper: Any, up: Any
) -> None:
    """All rows, one after the other. Where a row has a column, marks tell: zeros before and after,
    else as `places`, but from 1 up for U."""
    for i in range(low_map.extent(0) - 1):
        for k in range(low_map[i], low_map[i + 1]):
            marks[lower[k]] = -1 - np.int64(k)
        for k in range(up_map[i], up_map[i + 1]):
            marks[upper[k]] = k + 1
        for k in range(low_map[i], low_map[i + 1]):
            h = lower[k]
            pivot = low[k] / up[up_map[h]]
            low[k] = pivot
            for q in range(up_map[h] + 1, up_map[h + 1]):
                mark = marks[upper[q]]
                if mark > 0:
                    up[mark - 1] -= pivot * up[q]
                elif mark < 0:
                    low[-1 - mark] -= pivot * up[q]
        for k in range(low_map[i], low_map[i + 1]):
            marks[lower[k]] = 0
        for k in range(up_map[i], up_map[i + 1]):
            marks[upper[k]] = 0


def of_level(
    r: int, order: Any, low_map: Any, lower: Any, low: Any, up_map: Any, upper: Any, up: Any
) -> None:
    """One row of a level."""
    factorised(order[r], low_map, lower, low, up_map, upper, up)


@es.function
def found_in(columns: Any, j: Any, begin: Any, end: Any) -> Any:
    """Where column j is from `begin` to below `end`, or `end`."""
    low = begin_of(columns, begin, end, j)
    return low if low < end and columns[low] == j else end


def of_level_by_teams(
    team: Any, begin: Any, order: Any, low_map: Any, lower: Any, low: Any, up_map: Any, upper: Any,
    up: Any,
) -> None:  # fmt: skip
    """One row of a level; threads share the elements that one of its entries changes."""
    i = order[begin + team.league_rank]
    low_end = low_map[i + 1]
    up_end = up_map[i + 1]
    for k in range(low_map[i], low_end):
        h = lower[k]
        pivot = low[k] / up[up_map[h]]
        team.barrier()  # all have read what one stores
        if es.single(es.PerTeam(team)):
            low[k] = pivot
        for q in es.TeamThreadRange(team, up_map[h] + 1, up_map[h + 1]):
            j = upper[q]
            if j < i:
                p = found_in(lower, j, k + 1, low_end)
                if p < low_end:
                    low[p] -= pivot * up[q]
            else:
                r = found_in(upper, j, up_map[i], up_end)
                if r < up_end:
                    up[r] -= pivot * up[q]
        team.barrier()


def is_no_pivot(i: int, row_map: Any, values: Any) -> Any:
    """Whether the first element of a row is zero or not finite."""
    size = abs(values[row_map[i]])
    return row_map.extent(0) - 1 if size > 0 and math.isfinite(size) else i

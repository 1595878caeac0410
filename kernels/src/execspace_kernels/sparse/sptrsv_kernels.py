"""Kernels of triangular solves: a row, and how rows follow each other.

`place` says where rows have their diagonal element: "last", "first", "any", or "none" for those
that store none. `unit` is "yes" where it counts as one whatever is stored, `conj` "yes" for
conjugates, `by` "picks" where element k is values[picks[k]], for transposes, else "values".
"""

from __future__ import annotations

from typing import Any

import execspace as es

from .elements import conjugated

BLOCK = 8  # vectors that are solved for at once


@es.function
def element(values: Any, picks: Any, k: Any, by: Any, conj: Any) -> Any:
    """Element k of op(A)."""
    if by == "picks":
        return conjugated(values[picks[k]], conj)
    return conjugated(values[k], conj)


@es.function
def solved(
    i: Any, row_map: Any, entries: Any, values: Any, picks: Any, b: Any, x: Any, place: Any,
    unit: Any, by: Any, conj: Any,
) -> None:  # fmt: skip
    """One row of one vector, by one work item."""
    total = b[i]
    if place == "any":
        diagonal = 0
        for k in range(row_map[i], row_map[i + 1]):
            if entries[k] == i:
                diagonal += element(values, picks, k, by, conj)
            else:
                total -= element(values, picks, k, by, conj) * x[entries[k]]
        if unit == "yes":
            x[i] = total
        else:
            x[i] = total / diagonal
    else:
        first = row_map[i] + (1 if place == "first" else 0)
        last = row_map[i + 1] - (1 if place == "last" else 0)
        for k in range(first, last):
            total -= element(values, picks, k, by, conj) * x[entries[k]]
        if unit == "yes":
            x[i] = total
        else:
            at = row_map[i] if place == "first" else last
            x[i] = total / element(values, picks, at, by, conj)


@es.function
def solved_by_lanes(
    team: Any, i: Any, row_map: Any, entries: Any, values: Any, picks: Any, b: Any, x: Any,
    place: Any, unit: Any, by: Any, conj: Any,
) -> None:  # fmt: skip
    """The same by the lanes of a thread."""
    if place == "any":
        total = es.parallel_reduce(
            es.ThreadVectorRange(team, row_map[i], row_map[i + 1]),
            lambda k: element(values, picks, k, by, conj) * x[entries[k]] if entries[k] != i else 0,
        )
        if unit == "yes":
            x[i] = b[i] - total
        else:
            diagonal = es.parallel_reduce(
                es.ThreadVectorRange(team, row_map[i], row_map[i + 1]),
                lambda k: element(values, picks, k, by, conj) if entries[k] == i else 0,
            )
            x[i] = (b[i] - total) / diagonal
    else:
        first = row_map[i] + (1 if place == "first" else 0)
        last = row_map[i + 1] - (1 if place == "last" else 0)
        total = es.parallel_reduce(
            es.ThreadVectorRange(team, first, last),
            lambda k: element(values, picks, k, by, conj) * x[entries[k]],
        )
        if unit == "yes":
            x[i] = b[i] - total
        else:
            at = row_map[i] if place == "first" else last
            x[i] = (b[i] - total) / element(values, picks, at, by, conj)


def in_order(
    one: int, row_map: Any, entries: Any, values: Any, picks: Any, b: Any, x: Any, way: Any,
    place: Any, unit: Any, by: Any, conj: Any,
) -> None:  # fmt: skip
    """All rows, one after the other; upwards or downwards."""
    n = x.extent(0)
    for t in range(n):
        i = t if way == "up" else n - 1 - t
        solved(i, row_map, entries, values, picks, b, x, place, unit, by, conj)


def in_order_of_several(
    part: int, row_map: Any, entries: Any, values: Any, picks: Any, b: Any, x: Any, share: Any,
    way: Any, place: Any, unit: Any, by: Any, conj: Any,
) -> None:  # fmt: skip
    """All rows of some vectors: each row is read once, whatever their number."""
    n = x.extent(0)
    low = part * share
    high = min(low + share, x.extent(1))
    totals = es.local(BLOCK, x.dtype)
    for t in range(n):
        i = t if way == "up" else n - 1 - t
        whole = low + (high - low) // BLOCK * BLOCK
        if place != "any":
            first = row_map[i] + (1 if place == "first" else 0)
            last = row_map[i + 1] - (1 if place == "last" else 0)
            for j in range(low, whole, BLOCK):
                for c in range(BLOCK):
                    totals[c] = b[i, j + c]
                for k in range(first, last):
                    value = element(values, picks, k, by, conj)
                    source = entries[k]
                    for c in range(BLOCK):
                        totals[c] -= value * x[source, j + c]
                if unit == "yes":
                    for c in range(BLOCK):
                        x[i, j + c] = totals[c]
                else:
                    at = row_map[i] if place == "first" else last
                    diagonal = element(values, picks, at, by, conj)
                    for c in range(BLOCK):
                        x[i, j + c] = totals[c] / diagonal
        else:
            whole = low
        for j in range(whole, high):
            solved(i, row_map, entries, values, picks, b[:, j], x[:, j], place, unit, by, conj)


def of_level(
    r: int, order: Any, row_map: Any, entries: Any, values: Any, picks: Any, b: Any, x: Any,
    place: Any, unit: Any, by: Any, conj: Any,
) -> None:  # fmt: skip
    """One row of a level."""
    solved(order[r], row_map, entries, values, picks, b, x, place, unit, by, conj)


def of_level_of_several(
    r: int, j: int, order: Any, row_map: Any, entries: Any, values: Any, picks: Any, b: Any, x: Any,
    place: Any, unit: Any, by: Any, conj: Any,
) -> None:  # fmt: skip
    """One row of a level, for one of several vectors."""
    solved(order[r], row_map, entries, values, picks, b[:, j], x[:, j], place, unit, by, conj)


def of_level_by_teams(
    team: Any, begin: Any, end: Any, order: Any, row_map: Any, entries: Any, values: Any,
    picks: Any, b: Any, x: Any, place: Any, unit: Any, by: Any, conj: Any,
) -> None:  # fmt: skip
    """As many rows of a level as the team has threads."""
    first = begin + team.league_rank * team.team_size
    last = min(first + team.team_size, end)
    for r in es.TeamThreadRange(team, first, last):
        solved_by_lanes(
            team, order[r], row_map, entries, values, picks, b, x, place, unit, by, conj
        )


def of_chain(
    team: Any, begin: Any, end: Any, starts: Any, order: Any, row_map: Any, entries: Any,
    values: Any, picks: Any, b: Any, x: Any, place: Any, unit: Any, by: Any, conj: Any,
) -> None:  # fmt: skip
    """Levels `begin` to `end` - 1 by one team."""
    for level in range(begin, end):
        for r in es.TeamThreadRange(team, starts[level], starts[level + 1]):
            solved_by_lanes(
                team, order[r], row_map, entries, values, picks, b, x, place, unit, by, conj
            )
        team.barrier()


def of_chain_of_several(
    team: Any, begin: Any, end: Any, starts: Any, order: Any, row_map: Any, entries: Any,
    values: Any, picks: Any, b: Any, x: Any, place: Any, unit: Any, by: Any, conj: Any,
) -> None:  # fmt: skip
    """The same by a team for each vector."""
    j = team.league_rank
    for level in range(begin, end):
        for r in es.TeamThreadRange(team, starts[level], starts[level + 1]):
            solved_by_lanes(
                team, order[r], row_map, entries, values, picks, b[:, j], x[:, j], place, unit, by,
                conj,
            )  # fmt: skip
        team.barrier()


@es.function
def wait_for(i: Any, row_map: Any, entries: Any, done: Any) -> None:
    """Until all rows that row i needs are done."""
    for k in range(row_map[i], row_map[i + 1]):
        if entries[k] != i:
            while es.atomic_load(done, entries[k]) == 0:
                pass


def when_ready(
    r: int, done: Any, order: Any, row_map: Any, entries: Any, values: Any, picks: Any, b: Any,
    x: Any, place: Any, unit: Any, by: Any, conj: Any,
) -> None:  # fmt: skip
    """One row as soon as those that it needs are done."""
    i = order[r]
    wait_for(i, row_map, entries, done)
    solved(i, row_map, entries, values, picks, b, x, place, unit, by, conj)
    es.atomic_store(done, i, 1)


def when_ready_of_several(
    r: int, done: Any, order: Any, row_map: Any, entries: Any, values: Any, picks: Any, b: Any,
    x: Any, place: Any, unit: Any, by: Any, conj: Any,
) -> None:  # fmt: skip
    """The same for several vectors."""
    i = order[r]
    wait_for(i, row_map, entries, done)
    for j in range(x.extent(1)):
        solved(i, row_map, entries, values, picks, b[:, j], x[:, j], place, unit, by, conj)
    es.atomic_store(done, i, 1)


# -- what is looked for ---------------------------------------------------------------------------


def beyond(i: int, row_map: Any, entries: Any, side: Any) -> Any:
    """Whether the row has an entry in the other triangle."""
    n = row_map.extent(0) - 1
    for k in range(row_map[i], row_map[i + 1]):
        if entries[k] > i if side == "lower" else entries[k] < i:
            return i
    return n


def lacks_diagonal(i: int, row_map: Any, entries: Any) -> Any:
    """Whether the row stores no diagonal element."""
    for k in range(row_map[i], row_map[i + 1]):
        if entries[k] == i:
            return row_map.extent(0) - 1
    return i


def has_diagonal(i: int, row_map: Any, entries: Any) -> Any:
    """Whether the row stores a diagonal element."""
    for k in range(row_map[i], row_map[i + 1]):
        if entries[k] == i:
            return i
    return row_map.extent(0) - 1


def has_it_elsewhere(i: int, row_map: Any, entries: Any, place: Any) -> Any:
    """Whether the diagonal element is not the last, or first, of the row, or there are more."""
    at = row_map[i] if place == "first" else row_map[i + 1] - 1
    for k in range(row_map[i], row_map[i + 1]):
        if (entries[k] == i) != (k == at):
            return i
    return i if row_map[i] == row_map[i + 1] else row_map.extent(0) - 1


def is_singular(i: int, row_map: Any, entries: Any, values: Any) -> Any:
    """Whether the diagonal element of the row is zero."""
    total = 0
    for k in range(row_map[i], row_map[i + 1]):
        if entries[k] == i:
            total += values[k]
    return i if total == 0 else row_map.extent(0) - 1

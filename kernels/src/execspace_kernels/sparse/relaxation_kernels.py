"""Kernels of Jacobi's and Gauss and Seidel's methods: rows of one vector.

`at` has the place of each diagonal element, see `StaticCrsGraph.diagonal_places`, and `inverse`
the inverse of each. Sweeps by colours need no inverse, for they read the whole row anyway.
"""

from __future__ import annotations

import math
from typing import Any

import execspace as es


@es.function
def diagonal_of(i: Any, row_map: Any, entries: Any, values: Any, at: Any) -> Any:
    """A diagonal element; several are added."""
    total = 0
    if at[i] >= 0:
        total += values[at[i]]
    else:
        for k in range(row_map[i], row_map[i + 1]):
            if entries[k] == i:
                total += values[k]
    return total


def inverted(i: int, row_map: Any, entries: Any, values: Any, at: Any, inverse: Any) -> None:
    """The inverse of a diagonal element."""
    inverse[i] = 1 / diagonal_of(i, row_map, entries, values, at)


def has_no_inverse(i: int, row_map: Any, entries: Any, values: Any, at: Any, most: Any) -> Any:
    """Whether a diagonal element, or its inverse, is zero or not finite; `most` is the greatest
    number of its type."""
    total = diagonal_of(i, row_map, entries, values, at)
    if total == 0 or not math.isfinite(abs(total)):
        return i
    return row_map.extent(0) - 1 if abs(1 / total) <= most else i


@es.function
def residual(i: Any, row_map: Any, entries: Any, values: Any, b: Any, x: Any) -> Any:
    """Element i of b - A x."""
    total = b[i]
    for k in range(row_map[i], row_map[i + 1]):
        total -= values[k] * x[entries[k]]
    return total


@es.function
def relaxed(
    i: Any, row_map: Any, entries: Any, values: Any, at: Any, b: Any, x: Any, omega: Any
) -> None:
    """Row i solved for x[i], as far as omega says."""
    left = residual(i, row_map, entries, values, b, x)
    x[i] += omega * (1 / diagonal_of(i, row_map, entries, values, at)) * left


def of_colour(
    r: int, order: Any, row_map: Any, entries: Any, values: Any, at: Any, b: Any, x: Any, omega: Any
) -> None:
    """A row of a colour: no other one reads what it stores."""
    relaxed(order[r], row_map, entries, values, at, b, x, omega)


def of_colour_of_several(
    r: int, j: int, order: Any, row_map: Any, entries: Any, values: Any, at: Any, b: Any, x: Any,
    omega: Any,
) -> None:  # fmt: skip
    """The same for one of several vectors."""
    relaxed(order[r], row_map, entries, values, at, b[:, j], x[:, j], omega)


@es.function
def relaxed_by_lanes(
    team: Any, i: Any, row_map: Any, entries: Any, values: Any, at: Any, b: Any, x: Any, omega: Any
) -> None:
    """`relaxed`, by the lanes of a thread."""
    total = es.parallel_reduce(
        es.ThreadVectorRange(team, row_map[i], row_map[i + 1]),
        lambda k: values[k] * x[entries[k]],
    )
    x[i] += omega * (1 / diagonal_of(i, row_map, entries, values, at)) * (b[i] - total)


def of_colour_by_teams(
    team: Any, begin: Any, end: Any, order: Any, row_map: Any, entries: Any, values: Any, at: Any,
    b: Any, x: Any, omega: Any,
) -> None:  # fmt: skip
    """As many rows of a colour as the team has threads, each by the lanes of one."""
    first = begin + team.league_rank * team.team_size
    for r in es.TeamThreadRange(team, first, min(first + team.team_size, end)):
        relaxed_by_lanes(team, order[r], row_map, entries, values, at, b, x, omega)


@es.function
def start(
    i: Any, row_map: Any, entries: Any, values: Any, inverse: Any, b: Any, x: Any, r: Any, g: Any,
    omega: Any, initial: Any,
) -> None:  # fmt: skip
    """The residual, and the first correction of two stages: Jacobi's."""
    if initial == "zero":
        r[i] = b[i]
        x[i] = 0
    else:
        r[i] = residual(i, row_map, entries, values, b, x)
    g[i] = omega * inverse[i] * r[i]


@es.function
def inner(
    i: Any, row_map: Any, entries: Any, values: Any, inverse: Any, r: Any, g: Any, h: Any,
    omega: Any, way: Any, last: Any,
) -> None:  # fmt: skip
    """The next correction, from those of rows before, or behind; the last one is added to x."""
    total = r[i]
    for k in range(row_map[i], row_map[i + 1]):
        if entries[k] < i if way == "forward" else entries[k] > i:
            total -= values[k] * g[entries[k]]
    if last == "yes":
        h[i] += omega * inverse[i] * total
    else:
        h[i] = omega * inverse[i] * total


def start_one(
    i: int, row_map: Any, entries: Any, values: Any, inverse: Any, b: Any, x: Any, r: Any, g: Any,
    omega: Any, initial: Any,
) -> None:  # fmt: skip
    """`start` of one vector."""
    start(i, row_map, entries, values, inverse, b, x, r, g, omega, initial)


def start_several(
    i: int, j: int, row_map: Any, entries: Any, values: Any, inverse: Any, b: Any, x: Any, r: Any,
    g: Any, omega: Any, initial: Any,
) -> None:  # fmt: skip
    """`start` of one of several vectors."""
    start(i, row_map, entries, values, inverse, b[:, j], x[:, j], r[:, j], g[:, j], omega, initial)


def inner_one(
    i: int, row_map: Any, entries: Any, values: Any, inverse: Any, r: Any, g: Any, h: Any,
    omega: Any, way: Any, last: Any,
) -> None:  # fmt: skip
    """`inner` of one vector."""
    inner(i, row_map, entries, values, inverse, r, g, h, omega, way, last)


def inner_several(
    i: int, j: int, row_map: Any, entries: Any, values: Any, inverse: Any, r: Any, g: Any, h: Any,
    omega: Any, way: Any, last: Any,
) -> None:  # fmt: skip
    """`inner` of one of several vectors."""
    inner(i, row_map, entries, values, inverse, r[:, j], g[:, j], h[:, j], omega, way, last)


def add_one(i: int, g: Any, x: Any) -> None:
    """x += g."""
    x[i] += g[i]


def add_several(i: int, j: int, g: Any, x: Any) -> None:
    """x += g of one of several vectors."""
    x[i, j] += g[i, j]


def scaled_one(i: int, inverse: Any, b: Any, x: Any, omega: Any) -> None:
    """x = omega b / diagonal."""
    x[i] = omega * inverse[i] * b[i]


def scaled_several(i: int, j: int, inverse: Any, b: Any, x: Any, omega: Any) -> None:
    """x = omega b / diagonal of one of several vectors."""
    x[i, j] = omega * inverse[i] * b[i, j]

"""Products with several vectors whose rows are read once for several of them.

Sums of up to eight vectors are in registers, in the order of the row. On spaces that run few work
items at once one takes a row with all vectors where their elements lie side by side (layout right).
Of those that lie one after the other (left) it takes four, which are on as many lines of a cache:
more would displace each other where the number of rows is a multiple of a large power of two.

Devices want neighbours in memory for neighbouring work items: of vectors that lie one after the
other these have a row each, with all vectors; of those side by side each has two vectors of a row.
"""

from __future__ import annotations

from typing import Any

import execspace as es

from ..arguments import MANY
from .crs import StaticCrsGraph
from .elements import conjugated, keep
from .spmv_teams import Launch

__all__ = ["four_products", "one_product", "several"]

_FOUR = 4
_THREADS = 128  # of a team on a device, lanes included


def several(
    graph: StaticCrsGraph, order: es.View | None, x: es.View, y: es.View,
    space: es.ExecutionSpace, how: str, conj: str, label: str,
) -> Launch:  # fmt: skip
    """The launch of a product with the rows of a graph and all columns of x.

    Parameters
    ----------
    order : View, optional
        Which value is that of each entry; they lie as entries do without it.
    """
    m, columns = y.shape
    is_device = space.concurrency > MANY
    if is_device and x.layout != "left" and isinstance(space, es.SupportsTeams):
        return _by_lanes(graph, order, y, space, how, conj, label)
    if x.layout == "left" and not is_device:
        every: Any = es.MDRangePolicy((m, -(-columns // _FOUR)), iterate="left", space=space)
        kernel: Any = _some
    else:
        every, kernel = es.RangePolicy(m, space=space), _all
    row_map, entries = graph.row_map, graph.entries
    places, turned = (entries, "no") if order is None else (order, "yes")

    def launch(A: Any, x: es.View, y: es.View, alpha: Any, beta: Any) -> None:
        es.parallel_for(
            every, kernel, row_map, entries, A.values, places, x, y, alpha, beta, how, conj, turned,
            label=label,
        )  # fmt: skip

    return launch


def _by_lanes(
    graph: StaticCrsGraph, order: es.View | None, y: es.View, space: es.ExecutionSpace, how: str,
    conj: str, label: str,
) -> Launch:  # fmt: skip
    """A lane for two columns of a row."""
    m, columns = y.shape
    limits = space.team_limits()  # type: ignore[attr-defined]
    lanes = 1
    while 2 * lanes < columns and 2 * lanes <= limits.vector_length_max:
        lanes *= 2
    rows = max(1, min(_THREADS, int(limits.team_size_max)) // lanes)
    policy = es.TeamPolicy(-(-m // rows), rows, vector_length=lanes, space=space)
    row_map, entries = graph.row_map, graph.entries
    places, turned = (entries, "no") if order is None else (order, "yes")

    def launch(A: Any, x: es.View, y: es.View, alpha: Any, beta: Any) -> None:
        es.parallel_for(
            policy, _pairs, rows, row_map, entries, A.values, places, x, y, alpha, beta, how, conj,
            turned, label=label,
        )  # fmt: skip

    return launch


# -- kernels --------------------------------------------------------------------------------------
# `turned` is "yes" where values lie in the order `order`, else "no".


@es.function
def _element(values: Any, order: Any, k: Any, conj: Any, turned: Any) -> Any:
    if turned == "yes":
        return conjugated(values[order[k]], conj)
    else:
        return conjugated(values[k], conj)


@es.function
def one_product(
    i: Any, j: Any, row_map: Any, entries: Any, values: Any, order: Any, x: Any, conj: Any,
    turned: Any,
) -> Any:  # fmt: skip
    """An element of op(A) x."""
    total = 0
    for k in range(row_map[i], row_map[i + 1]):
        total += _element(values, order, k, conj, turned) * x[entries[k], j]
    return total


@es.function
def _two_products(
    i: Any, j: Any, row_map: Any, entries: Any, values: Any, order: Any, x: Any, conj: Any,
    turned: Any,
) -> Any:  # fmt: skip
    a = 0
    b = 0
    for k in range(row_map[i], row_map[i + 1]):
        value = _element(values, order, k, conj, turned)
        at = entries[k]
        a += value * x[at, j]
        b += value * x[at, j + 1]
    return a, b


@es.function
def four_products(
    i: Any, j: Any, row_map: Any, entries: Any, values: Any, order: Any, x: Any, conj: Any,
    turned: Any,
) -> Any:  # fmt: skip
    """Elements of op(A) x in four columns from j on, so that a row is read once for all of them."""
    a = 0
    b = 0
    c = 0
    d = 0
    for k in range(row_map[i], row_map[i + 1]):
        value = _element(values, order, k, conj, turned)
        at = entries[k]
        a += value * x[at, j]
        b += value * x[at, j + 1]
        c += value * x[at, j + 2]
        d += value * x[at, j + 3]
    return a, b, c, d


@es.function
def _eight_products(
    i: Any, j: Any, row_map: Any, entries: Any, values: Any, order: Any, x: Any, conj: Any,
    turned: Any,
) -> Any:  # fmt: skip
    a = 0
    b = 0
    c = 0
    d = 0
    e = 0
    f = 0
    g = 0
    h = 0
    for k in range(row_map[i], row_map[i + 1]):
        value = _element(values, order, k, conj, turned)
        at = entries[k]
        a += value * x[at, j]
        b += value * x[at, j + 1]
        c += value * x[at, j + 2]
        d += value * x[at, j + 3]
        e += value * x[at, j + 4]
        f += value * x[at, j + 5]
        g += value * x[at, j + 6]
        h += value * x[at, j + 7]
    return a, b, c, d, e, f, g, h


@es.function
def _keep_four(
    row: Any, j: Any, a: Any, b: Any, c: Any, d: Any, alpha: Any, beta: Any, how: Any
) -> None:
    keep(row, j, a, alpha, beta, how)
    keep(row, j + 1, b, alpha, beta, how)
    keep(row, j + 2, c, alpha, beta, how)
    keep(row, j + 3, d, alpha, beta, how)


@es.function
def _up_to_four(
    i: Any, j: Any, row_map: Any, entries: Any, values: Any, order: Any, x: Any, y: Any, alpha: Any,
    beta: Any, how: Any, conj: Any, turned: Any,
) -> None:  # fmt: skip
    if j + 4 <= y.extent(1):
        a, b, c, d = four_products(i, j, row_map, entries, values, order, x, conj, turned)
        _keep_four(y[i, :], j, a, b, c, d, alpha, beta, how)
    else:
        t = j
        if j + 2 <= y.extent(1):
            a, b = _two_products(i, j, row_map, entries, values, order, x, conj, turned)
            keep(y[i, :], j, a, alpha, beta, how)
            keep(y[i, :], j + 1, b, alpha, beta, how)
            t += 2
        if t < y.extent(1):
            total = one_product(i, t, row_map, entries, values, order, x, conj, turned)
            keep(y[i, :], t, total, alpha, beta, how)


def _all(
    i: int, row_map: Any, entries: Any, values: Any, order: Any, x: Any, y: Any, alpha: Any,
    beta: Any, how: Any, conj: Any, turned: Any,
) -> None:  # fmt: skip
    eights = y.extent(1) // 8 * 8
    for j in range(0, eights, 8):
        a, b, c, d, e, f, g, h = _eight_products(
            i, j, row_map, entries, values, order, x, conj, turned
        )
        _keep_four(y[i, :], j, a, b, c, d, alpha, beta, how)
        _keep_four(y[i, :], j + 4, e, f, g, h, alpha, beta, how)
    for j in range(eights, y.extent(1), 4):
        _up_to_four(i, j, row_map, entries, values, order, x, y, alpha, beta, how, conj, turned)


def _some(
    i: int, b: int, row_map: Any, entries: Any, values: Any, order: Any, x: Any, y: Any, alpha: Any,
    beta: Any, how: Any, conj: Any, turned: Any,
) -> None:  # fmt: skip
    _up_to_four(i, 4 * b, row_map, entries, values, order, x, y, alpha, beta, how, conj, turned)


def _pairs(
    team: Any, rows: Any, row_map: Any, entries: Any, values: Any, order: Any, x: Any, y: Any,
    alpha: Any, beta: Any, how: Any, conj: Any, turned: Any,
) -> None:  # fmt: skip
    first = team.league_rank * rows
    for i in es.TeamThreadRange(team, first, min(first + rows, y.extent(0))):
        for b in es.ThreadVectorRange(team, (y.extent(1) + 1) // 2):
            j = 2 * b
            if j + 1 < y.extent(1):
                a, c = _two_products(i, j, row_map, entries, values, order, x, conj, turned)
                keep(y[i, :], j, a, alpha, beta, how)
                keep(y[i, :], j + 1, c, alpha, beta, how)
            else:
                total = one_product(i, j, row_map, entries, values, order, x, conj, turned)
                keep(y[i, :], j, total, alpha, beta, how)

"""Rows of the algorithms of C++ that change no elements, and of all of them in teams."""

from __future__ import annotations

import numpy as np

import execspace as es
from execspace import algorithms as alg
from parity.algorithms import STD, numbers, odd
from parity.table import row


@row(STD, "all_of, any_of, none_of", "assert alg.all_of(a, lambda v: v < 6)")
def conditions(space: es.ExecutionSpace) -> None:
    a = es.array(numbers())
    assert alg.all_of(a, lambda v: v < 6)
    assert alg.any_of(a, odd) and not alg.none_of(a, odd) and not alg.all_of(a, odd)
    assert alg.none_of(a[:0], odd) and alg.all_of(a[:0], odd) and not alg.any_of(a[:0], odd)


@row(STD, "count, count_if", "assert alg.count(a, 3) == (x == 3).sum()")
def count(space: es.ExecutionSpace) -> None:
    x = numbers()
    a = es.array(x)
    assert alg.count(a, 3) == (x == 3).sum()
    assert alg.count_if(a, odd) == (x % 2).sum()


@row(STD, "find, find_if, find_if_not", "assert alg.find(a, 3) == x.index(3)")
def find(space: es.ExecutionSpace) -> None:
    x = numbers().tolist()
    a = es.array(x)
    assert alg.find(a, 3) == x.index(3) and alg.find(a, 99) == 200
    assert alg.find_if(a, odd) == next(k for k, v in enumerate(x) if v % 2)
    assert alg.find_if_not(a, odd) == next(k for k, v in enumerate(x) if v % 2 == 0)


@row(STD, "adjacent_find", "assert alg.adjacent_find(a) == expected")
def adjacent_find(space: es.ExecutionSpace) -> None:
    x = numbers()
    a = es.array(x)
    expected = int(np.flatnonzero(x[1:] == x[:-1])[0])
    assert alg.adjacent_find(a) == expected
    assert alg.adjacent_find(a, lambda v, w: v == 5 and w == 0) < 200


@row(STD, "search, find_end", "assert alg.search(a, a[120:124]) == places[0]")
def search(space: es.ExecutionSpace) -> None:
    x = numbers() % 2
    a = es.array(x)
    places = [k for k in range(197) if (x[k : k + 4] == x[120:124]).all()]
    assert alg.search(a, a[120:124]) == places[0]
    assert alg.find_end(a, a[120:124]) == places[-1]


@row(STD, "search_n", "assert alg.search_n(a, 3, 1) == expected")
def search_n(space: es.ExecutionSpace) -> None:
    x = numbers() % 2
    a = es.array(x)
    expected = next(k for k in range(198) if (x[k : k + 3] == 1).all())
    assert alg.search_n(a, 3, 1) == expected and alg.search_n(a, 200, 1) == 200


@row(STD, "find_first_of", "assert alg.find_first_of(a, es.array([9, 4])) == x.index(4)")
def find_first_of(space: es.ExecutionSpace) -> None:
    x = numbers().tolist()
    a = es.array(x)
    assert alg.find_first_of(a, es.array([9, 4])) == x.index(4)


@row(STD, "equal, mismatch", "assert alg.mismatch(a, b) == 150")
def equal(space: es.ExecutionSpace) -> None:
    x = numbers()
    a, b = es.array(x), es.array(np.where(np.arange(200) < 150, x, -1))
    assert alg.mismatch(a, b) == 150
    assert not alg.equal(a, b) and alg.equal(a[:150], b[:150]) and not alg.equal(a, a[:9])
    assert alg.equal(a, b, lambda v, w: w in (v, -1))


@row(STD, "lexicographical_compare", "assert alg.lexicographical_compare(a, b)")
def lexicographical_compare(space: es.ExecutionSpace) -> None:
    a, b = es.array([1, 2, 3]), es.array([1, 2, 4, 0])
    assert alg.lexicographical_compare(a, b)
    assert alg.lexicographical_compare(a[:2], a) and not alg.lexicographical_compare(a, a)
    assert alg.lexicographical_compare(b, a, lambda v, w: v > w)


@row(STD, "is_partitioned, partition_point", "assert alg.partition_point(a, odd) == 3")
def partitions(space: es.ExecutionSpace) -> None:
    a = es.array([1, 3, 5, 2, 4])
    assert alg.is_partitioned(a, odd) and not alg.is_partitioned(es.array([1, 2, 3]), odd)
    assert alg.partition_point(a, odd) == 3


@row(STD, "is_sorted, is_sorted_until", "assert alg.is_sorted_until(a) == 3")
def is_sorted(space: es.ExecutionSpace) -> None:
    a = es.array([1, 4, 4, 2, 9])
    assert alg.is_sorted_until(a) == 3
    assert not alg.is_sorted(a) and alg.is_sorted(a[:3])
    assert alg.is_sorted(a[2:4], lambda v, w: v > w)


@row(STD, "min_element, max_element, minmax_element", "low, high = alg.minmax_element(a)")
def extremes(space: es.ExecutionSpace) -> None:
    """The first of equal ones; the last of equal greatest ones for minmax_element."""
    x = numbers()
    a = es.array(x)
    low, high = alg.minmax_element(a)
    assert low == x.argmin() and high == 199 - x[::-1].argmax()
    assert alg.min_element(a) == x.argmin() and alg.max_element(a) == x.argmax()
    assert alg.min_element(a, lambda v, w: v > w) == x.argmax()


@row(STD, "reduce", "assert alg.reduce(a, 10) == 10 + x.sum()")
def reduce(space: es.ExecutionSpace) -> None:
    x = numbers()
    a = es.array(x)
    assert alg.reduce(a, 10) == 10 + x.sum()
    assert alg.reduce(a, 0, lambda v, w: v ^ w) == np.bitwise_xor.reduce(x)


@row(STD, "transform_reduce", "assert alg.transform_reduce(a, a) == (x * x).sum()")
def transform_reduce(space: es.ExecutionSpace) -> None:
    x = numbers()
    a = es.array(x)
    assert alg.transform_reduce(a, a) == (x * x).sum()
    assert alg.transform_reduce(a, 1, es.Sum, lambda v: v - 2) == 1 + (x - 2).sum()
    assert alg.transform_reduce(a, a, 0, es.Max, lambda v, w: v + w) == 10


@row(STD, "begin, end, distance", "assert alg.find(a[10:20], 5) < len(a[10:20])")
def positions(space: es.ExecutionSpace) -> None:
    """Ranges are parts of Views, positions integers, distances differences."""
    x = numbers().tolist()
    a = es.array(x)
    assert alg.find(a[10:20], 5) < len(a[10:20])
    assert alg.find(a[10:20], 5) == x.index(5, 10) - 10
    column = es.array(np.arange(12).reshape(4, 3))[:, 1]
    assert alg.max_element(column) == 3 and alg.reduce(column) == 22


@row(STD, "In teams: those that do not modify", "found[row, 0] = T.find(team, mine, 3)")
def in_teams(space: es.ExecutionSpace) -> None:
    """TestStdAlgorithmsTeam..., a row for each team; all threads get the same."""
    T = alg.team

    def kernel(team, x, found):
        row = team.league_rank
        mine = x[row, :]
        found[row, 0] = T.find(team, mine, 3)
        found[row, 1] = T.count_if(team, mine, odd)
        found[row, 2] = T.any_of(team, mine, odd)
        found[row, 3] = T.adjacent_find(team, mine)
        found[row, 4] = T.equal(team, mine, x[0, :])
        found[row, 5] = T.search(team, mine, x[row, 5:8])

    x = numbers().reshape(5, 40)
    found = es.View((5, 6), es.int64)
    es.parallel_for(es.TeamPolicy(5, "auto"), kernel, es.array(x), found)
    for k, line in enumerate(x.tolist()):
        expected = [
            line.index(3),
            sum(v % 2 for v in line),
            1,
            next((i for i in range(39) if line[i] == line[i + 1]), 40),
            k == 0,
            next(i for i in range(38) if line[i : i + 3] == line[5:8]),
        ]
        assert found[k, :].to_numpy().tolist() == expected


@row(STD, "In teams: those that modify", "n = T.copy_if(team, mine, own, odd)")
def modifying_in_teams(space: es.ExecutionSpace) -> None:
    T = alg.team

    def kernel(team, x, out, lengths):
        row = team.league_rank
        mine = x[row, :]
        own = team.scratch(x.extent(1), es.int64)
        n = T.copy_if(team, mine, own, odd)
        T.reverse(team, own[:n])
        m = T.unique(team, own[:n])
        T.fill(team, out[row, :], -1)
        T.copy(team, own[:m], out[row, :m])
        T.for_each(team, mine, lambda v: v + 100)
        if es.single(es.PerTeam(team)):
            lengths[row] = m

    x = numbers().reshape(5, 40)
    a, out, lengths = es.array(x), es.full((5, 40), 0, es.int64), es.View(5, es.int64)
    es.parallel_for(es.TeamPolicy(5, "auto"), kernel, a, out, lengths)
    for k, line in enumerate(x.tolist()):
        kept = [v for v in line if v % 2][::-1]
        kept = [v for i, v in enumerate(kept) if i == 0 or kept[i - 1] != v]
        assert out[k, :].to_numpy().tolist() == kept + [-1] * (40 - len(kept))
        assert lengths.to_numpy()[k] == len(kept)
    assert (a.to_numpy() == x + 100).all()


@row(STD, "In teams: of order and partitions", "at = T.max_element(team, mine)")
def order_in_teams(space: es.ExecutionSpace) -> None:
    T = alg.team

    def kernel(team, x, found):
        row = team.league_rank
        mine = x[row, :]
        at = T.max_element(team, mine)
        low, high = T.minmax_element(team, mine)
        sorted_until = T.is_sorted_until(team, mine)
        parted = T.is_partitioned(team, mine, odd)
        if es.single(es.PerTeam(team)):
            found[row, 0], found[row, 1], found[row, 2] = at, low, high
            found[row, 3], found[row, 4] = sorted_until, parted

    x = numbers().reshape(5, 40)
    found = es.View((5, 5), es.int64)
    es.parallel_for(es.TeamPolicy(5, "auto"), kernel, es.array(x), found)
    for k, line in enumerate(x):
        until = next((i + 1 for i in range(39) if line[i + 1] < line[i]), 40)
        expected = [line.argmax(), line.argmin(), 39 - line[::-1].argmax(), until, 0]
        assert found[k, :].to_numpy().tolist() == expected


@row(STD, "In teams: of numbers", "T.inclusive_scan(team, mine, out[row, :])")
def numbers_in_teams(space: es.ExecutionSpace) -> None:
    T = alg.team

    def kernel(team, x, out, sums):
        row = team.league_rank
        mine = x[row, :]
        T.inclusive_scan(team, mine, out[row, :])
        total = T.reduce(team, mine)
        squares = T.transform_reduce(team, mine, mine)
        if es.single(es.PerTeam(team)):
            sums[row, 0], sums[row, 1] = total, squares

    x = numbers().reshape(5, 40)
    out, sums = es.View((5, 40), es.int64), es.View((5, 2), es.int64)
    es.parallel_for(es.TeamPolicy(5, "auto"), kernel, es.array(x), out, sums)
    assert (out.to_numpy() == np.cumsum(x, axis=1)).all()
    assert (sums.to_numpy() == np.stack([x.sum(1), (x * x).sum(1)], 1)).all()

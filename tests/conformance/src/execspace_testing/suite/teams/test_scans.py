"""Nested scans: prefixes in the order of the indices, whoever has them, and the total for all."""

from __future__ import annotations

import math

import numpy as np

import execspace as es
from execspace_testing import staged

from .shapes import every_shape, league, small_integers, two_shapes


def prefixes(team, x, exclusive, inclusive, by_lanes, totals):
    r = team.league_rank
    n = x.extent(1)

    def before(i, prefix, final):
        if final:
            exclusive[r, i] = prefix
        return x[r, i]

    def until(i, prefix, final):
        if final:
            inclusive[r, i] = prefix + x[r, i]
        return x[r, i]

    def of_lanes(i, prefix, final):
        if final:
            by_lanes[r, i] = prefix
        return x[r, i]

    by_threads = es.parallel_scan(es.TeamThreadRange(team, n), before)
    by_all = es.parallel_scan(es.TeamVectorRange(team, 3, n), until)
    by_one = 0
    if team.team_rank == team.team_size - 1:
        by_one = es.parallel_scan(es.ThreadVectorRange(team, n), of_lanes)
    by_one = team.reduce(by_one)
    if es.single(es.PerTeam(team)):
        totals[r, 0] = by_threads
        totals[r, 1] = by_all
        totals[r, 2] = by_one


@every_shape
def test_prefixes_of_threads_and_lanes(space, shape):
    """Exclusive and inclusive; lengths that no number of members divides."""
    policy = league(space, 3, shape)
    for n in (1, 97):
        x = np.random.default_rng(n).integers(-99, 100, (3, max(n, 4)))[:, :n].copy()
        exclusive, inclusive, by_lanes = (np.zeros_like(x) for _ in range(3))
        totals = np.zeros((3, 3), np.int64)
        staged.parallel_for(policy, prefixes, x, exclusive, inclusive, by_lanes, totals)
        sums = np.cumsum(x, 1)
        assert (exclusive == sums - x).all()
        assert (by_lanes == sums - x).all()
        assert (inclusive[:, 3:] == np.cumsum(x[:, 3:], 1)).all()
        assert (inclusive[:, :3] == 0).all()
        tail = x[:, 3:].sum(1)
        assert (totals == np.stack([x.sum(1), tail, x.sum(1)], 1)).all()


class Digits(es.Reducer):
    """Writes digits one after the other: associative, not commutative."""

    identity = (0, 1)

    def join(a, b):
        return a[0] * b[1] + b[0], a[1] * b[1]


def of_several(team, x, found, totals):
    def step(i, prefix, final):
        count, most, product, (digits, _) = prefix
        if final:
            found[i, 0] = count
            found[i, 1] = most
            found[i, 2] = product
            found[i, 3] = digits
        return 1, x[i], i + 1, (x[i], 10)

    count, most, product, (digits, _) = es.parallel_scan(
        es.TeamVectorRange(team, x.extent(0)), step, reducer=(es.Sum, es.Max, es.Prod, Digits)
    )
    if es.single(es.PerTeam(team)):
        for k, number in enumerate((count, most, product, digits)):
            totals[k] = number


def test_several_reducers_and_a_join_that_does_not_commute(space):
    digits = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7]
    found, totals = np.zeros((14, 4), np.int64), np.zeros(4, np.int64)
    x = np.array(digits)
    staged.parallel_for(league(space, 1), of_several, x, found, totals)
    for i, row in enumerate([*found.tolist(), totals.tolist()]):
        read = int("".join(map(str, [0, *digits[:i]])))
        most = max([np.iinfo(np.int64).min, *digits[:i]])
        assert row == [i, most, math.factorial(i), read]


def in_place(team, x, begin):
    r = team.league_rank

    def step(i, prefix, final):
        value = x[r, i]
        if final:
            x[r, i] = prefix
        return value

    for _ in range(2):
        es.parallel_scan(es.TeamThreadRange(team, begin, x.extent(1)), step)
        team.barrier()
        es.parallel_scan(es.TeamVectorRange(team, begin, x.extent(1)), step)
        team.barrier()


def test_scans_in_place_one_after_the_other(space):
    x = np.random.default_rng(2).integers(0, 10, (2, 41))
    expected = x.copy()
    staged.parallel_for(league(space, 2), in_place, x, 5)
    for _ in range(4):
        expected[:, 5:] = np.cumsum(expected[:, 5:], 1) - expected[:, 5:]
    assert (x == expected).all()


def compacted(team, x, kept, counts, sizes):
    """What is positive moves to the begin of its row; rows have a length of their own."""
    r = team.league_rank

    def step(i, prefix, final):
        wanted = x[r, i] > 0
        if final and wanted:
            kept[r, prefix] = x[r, i]
        return int(wanted)

    count = es.parallel_scan(es.TeamVectorRange(team, sizes[r]), step)
    team.barrier()
    for i in es.TeamVectorRange(team, count, kept.extent(1)):
        kept[r, i] = 0
    if es.single(es.PerTeam(team)):
        counts[r] = count


def test_compaction_of_rows_of_different_lengths(space):
    sizes = np.array([0, 1, 64, 40, 13])
    x = np.random.default_rng(6).integers(-5, 6, (5, 64)).astype(np.int32)
    kept, counts = np.full_like(x, -1), np.zeros(5, np.int64)
    staged.parallel_for(league(space, 5), compacted, x, kept, counts, sizes)
    for row, size, found, count in zip(x, sizes, kept, counts, strict=True):
        wanted = row[:size][row[:size] > 0]
        assert count == len(wanted)
        assert found.tolist() == [*wanted, *[0] * (64 - count)]


def of_rows(team, x, found):
    """Contributions that the lanes join: the sum of a row, then that of all rows before."""

    def row(i, prefix, final):
        total = es.parallel_reduce(es.ThreadVectorRange(team, x.extent(1)), lambda j: x[i, j])
        if final:
            for j in es.ThreadVectorRange(team, x.extent(1)):
                found[i, j] = prefix + x[i, j]
        return total

    total = es.parallel_scan(es.TeamThreadRange(team, x.extent(0)), row)
    for i in es.TeamThreadRange(team, x.extent(0)):
        found[i, 0] += total


@two_shapes
def test_a_scan_over_threads_with_ranges_over_lanes_in_it(space, shape):
    x, found = small_integers((21, 10)), np.zeros((21, 10))
    staged.parallel_for(league(space, 1, shape), of_rows, x, found)
    rows = x.sum(1)
    expected = x + (np.cumsum(rows) - rows)[:, None]
    expected[:, 0] += rows.sum()
    assert (found == expected).all()


def of_each_kind(team, x, y, z, found):
    def of_x(i, prefix, final):
        if final:
            x[i] += prefix
        return 1

    def of_y(i, prefix, final):
        value = y[i]
        if final:
            y[i] = prefix
        return value

    def of_z(i, prefix, final):
        value = z[i]
        if final:
            z[i] = prefix
        return value

    es.parallel_scan(es.TeamVectorRange(team, len(x)), of_x)
    everything = es.parallel_scan(es.TeamThreadRange(team, len(y)), of_y, reducer=es.LAnd)
    widest = es.parallel_scan(es.TeamVectorRange(team, len(z)), of_z, reducer=es.Max)
    if es.single(es.PerTeam(team)):
        found[0] = everything
        found[1] = widest


def test_scans_of_small_integers_truths_and_floats(space):
    x = np.zeros(50, np.int8)
    y = np.arange(50) < 30
    z = np.sin(np.arange(50)).astype(np.float32)
    expected = np.maximum.accumulate(z)
    found = np.zeros(2)
    staged.parallel_for(league(space, 1), of_each_kind, x, y, z, found)
    assert x.tolist() == list(range(50))
    assert y.tolist() == [i < 31 for i in range(50)]
    assert z.tolist() == [-math.inf, *expected[:-1].tolist()]
    assert found.tolist() == [0, expected[-1]]

"""Threads tell each other: reduce, scan, broadcast, and what one of them does for all."""

from __future__ import annotations

import numpy as np

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import needs_dtype, needs_order

from .shapes import every_shape, league, small_integers, told_by_threads, two_shapes


def exchange(team, x, found):
    r, me, n = team.league_rank, team.team_rank, team.team_size
    value = x[r, me % 13] + me
    found[r, me, 0] = team.reduce(value)
    found[r, me, 1] = team.scan(value)
    found[r, me, 2] = team.broadcast(value, n - 1)
    found[r, me, 3] = team.broadcast(value, r % n)
    found[r, me, 4] = team.reduce(value, es.Min)
    found[r, me, 5] = team.scan(value, es.Max)
    found[r, me, 6] = es.single(es.PerTeam(team), lambda: x[r, 12] * 2)
    found[r, me, 7] = n


@every_shape
def test_threads_tell_each_other(space, shape):
    x = np.random.default_rng(9).integers(-99, 100, (5, 13))
    found = told_by_threads(space, 5, 8)
    staged.parallel_for(league(space, 5, shape), exchange, x, found)
    size = found[0, 0, 7]
    assert (found[:, size:] == -1).all()
    for team in range(5):
        values = [int(x[team, thread % 13]) + thread for thread in range(size)]
        before = np.iinfo(np.int64).min
        for thread, row in enumerate(found[team, :size].tolist()):
            assert row == [
                sum(values),
                sum(values[:thread]),
                values[-1],
                values[team % size],
                min(values),
                max(values[:thread], default=before),
                x[team, 12] * 2,
                size,
            ]


class Digits(es.Reducer):
    """Writes digits one after the other: associative, not commutative."""

    identity = (0, 1)

    def join(a, b):
        return a[0] * b[1] + b[0], a[1] * b[1]


def in_order(team, found):
    me = team.team_rank
    digits, _ = team.reduce((me % 10, 10), Digits)
    before, _ = team.scan((me % 10, 10), reducer=Digits)
    found[me, 0] = digits
    found[me, 1] = before


@two_shapes
def test_values_are_joined_in_the_order_of_ranks(space, shape):
    """With a join that does not commute; sixteen digits fit into an integer of 64 bits."""
    needs_order(space)
    policy = league(space, 1, shape)
    size = policy.team_size
    found = np.zeros((size, 2), np.int64)
    staged.parallel_for(policy, in_order, found)
    digits = "".join(str(thread % 10) for thread in range(size))
    for thread, row in enumerate(found.tolist()):
        assert row == [int(digits), int("0" + digits[:thread])]


def several(team, x, found, places):
    r, me = team.league_rank, team.team_rank
    last = team.team_size - 1
    value, where = team.reduce((x[me], me), es.MaxLoc)
    total, least, both = team.reduce((x[me], x[me], me), (es.Sum, es.Min, es.MinMax))
    count, most = team.scan((1, x[me]), (es.Sum, es.Max))
    number, (flag, other) = team.broadcast((me + 1, (x[me] > 0, x[me] * 0.5)), last)
    found[r, me, 0] = value
    found[r, me, 1] = total
    found[r, me, 2] = least
    found[r, me, 3] = both.max_val
    found[r, me, 4] = most
    found[r, me, 5] = other
    places[r, me, 0] = where
    places[r, me, 1] = count
    places[r, me, 2] = number
    places[r, me, 3] = flag


def test_tuples_of_values(space):
    policy = league(space, 2)
    size = policy.team_size
    x = small_integers(size)
    found, places = np.zeros((2, size, 6)), np.zeros((2, size, 4), np.int64)
    staged.parallel_for(policy, several, x, found, places)
    for thread in range(size):
        most = max(x[:thread], default=-np.inf)
        row = [x.max(), x.sum(), x.min(), size - 1, most, x[-1] * 0.5]
        whole = [x.argmax(), thread, size, x[-1] > 0]
        for team in range(2):
            assert found[team, thread].tolist() == row
            assert places[team, thread].tolist() == whole


def of_kinds(team, z, k, f, found):
    me = team.team_rank
    last = team.broadcast(z[me], team.team_size - 1)
    total = team.reduce(z[me] + last)
    small = team.scan(k[me])
    single = team.reduce(f[me], es.Prod)
    truth = team.reduce(k[me] > 0, es.LAnd)
    found[me, 0] = last
    found[me, 1] = total
    found[me, 2] = small
    found[me, 3] = single
    found[me, 4] = 1 if truth else 0


def test_complex_numbers_small_integers_and_truths(space):
    needs_dtype(space, "complex128")
    policy = league(space, 1)
    size = policy.team_size
    rng = np.random.default_rng(2)
    z = small_integers(size) + 1j * small_integers(size, 1)
    k, f = np.full(size, 100, np.int8), rng.choice(np.array([0.5, 1, 2, -2], np.float32), size)
    found = np.zeros((size, 5), complex)
    staged.parallel_for(policy, of_kinds, z, k, f, found)
    assert (found[:, 0] == z[-1]).all()
    assert (found[:, 1] == z.sum() + size * z[-1]).all()
    assert (found[:, 2] == 100 * np.arange(size)).all()
    assert (found[:, 3] == f.prod()).all()
    assert (found[:, 4] == 1).all()


# -- what one member does for all -----------------------------------------------------------------


def once(team, x, counts):
    r, me = team.league_rank, team.team_rank
    if es.single(es.PerTeam(team)):
        x[r, 0] += 1
        counts[r] += 10
    team.barrier()
    whole, half = es.single(es.PerTeam(team), lambda: drawn(counts, r))
    mine = es.single(es.PerThread(team), lambda: me * whole)
    for i in es.TeamThreadRange(team, 1, x.extent(1)):
        if es.single(es.PerThread(team)):
            x[r, i] += whole + half
    total = team.reduce(mine)
    if es.single(es.PerTeam(team)):
        counts[r] += total


def drawn(counts, r):
    """A number that would be another one if more than one thread took it."""
    counts[r] += 1
    return counts[r], counts[r] * 0.5


def test_one_thread_does_it_for_its_team(space):
    policy = league(space, 3)
    x, counts = np.zeros((3, 40)), np.array([0, 100, 200])
    staged.parallel_for(policy, once, x, counts)
    whole = np.array([11, 111, 211])
    assert (x[:, 0] == 1).all()
    assert (x[:, 1:] == 1.5 * whole[:, None]).all()
    pairs = policy.team_size * (policy.team_size - 1) // 2
    assert (counts == whole + whole * pairs).all()


# -- one after the other --------------------------------------------------------------------------


def many_rounds(team, found):
    """Each collective is over before the next begins, whatever a thread does between them."""
    me, n = team.team_rank, team.team_size
    state = me + 1
    for step in range(30):
        for _ in range((me * 7 + step) % 5):
            state += 0
        total = team.reduce(state)
        before = team.scan(state)
        chosen = team.broadcast(before, step % n)
        state = (total + before * 3 + chosen * 5 + step) % 1009
    found[team.league_rank, me] = state


def test_many_collectives_one_after_the_other(space):
    policy = league(space, 7)
    size = policy.team_size
    found = np.zeros((7, size), np.int64)
    staged.parallel_for(policy, many_rounds, found)
    states = list(range(1, size + 1))
    for step in range(30):
        before = [sum(states[:thread]) for thread in range(size)]
        total, chosen = sum(states), before[step % size]
        states = [(total + b * 3 + chosen * 5 + step) % 1009 for b in before]
    assert (found == states).all()


def bisected(team, x, medians):
    """Kokkos' use case of finding a median: threads count what is below a guess."""
    r, n = team.league_rank, x.extent(1)
    low, high = -1024.0, 1024.0
    while high - low > 0.5:
        middle = (low + high) / 2
        below = es.parallel_reduce(es.TeamVectorRange(team, n), lambda i: int(x[r, i] < middle))
        if 2 * below <= n:
            low = middle
        else:
            high = middle
    nearest = es.parallel_reduce(
        es.TeamVectorRange(team, n),
        lambda i: x[r, i] if x[r, i] >= low else 1024.0,
        reducer=es.Min,
    )
    if es.single(es.PerTeam(team)):
        medians[r] = nearest


def test_medians_by_bisection(space):
    """Kokkos' use case median-finding."""
    x = np.random.default_rng(7).permuted(np.tile(np.arange(-50.0, 51.0), (4, 1)), axis=1)
    x[1] += 300
    x[2] *= -3
    x[3, :60] = -7
    medians = np.zeros(4)
    staged.parallel_for(league(space, 4), bisected, x, medians)
    assert medians.tolist() == np.median(x, 1).tolist()


def keep(found, r, k, value, quotient, rest):
    found[r, k, 0] = value
    found[r, k, 1] = quotient
    found[r, k, 2] = rest


def divide_what_is_told(team, x, found):
    """Floors of what is negative, though an identity or a first value is not."""
    r = team.league_rank
    total = es.parallel_reduce(es.ThreadVectorRange(team, 7), lambda k: x[r, k])
    least = es.parallel_reduce(es.ThreadVectorRange(team, 7), lambda k: x[r, k], reducer=es.Min)
    low, place = es.parallel_reduce(
        es.TeamThreadRange(team, 7), lambda k: (x[r, k], x[r, k]), reducer=es.MinLoc
    )
    part = es.parallel_reduce(
        es.TeamThreadRange(team, 7), lambda k: (False, x[r, k]), reducer=es.StdPartitionPoint
    )
    first = es.parallel_reduce(
        es.TeamThreadRange(team, 7), lambda k: (True, x[r, k]), reducer=es.FirstLoc
    )
    scanned = es.parallel_scan(es.TeamThreadRange(team, 7), lambda k, prefix, final: x[r, k])
    point = es.parallel_scan(
        es.ThreadVectorRange(team, 7),
        lambda k, prefix, final: (False, x[r, k]),
        reducer=es.StdPartitionPoint,
    )
    told = team.broadcast(x[r, 0], 0)
    alone = es.single(es.PerTeam(team), lambda: x[r, 1])
    before = team.scan(x[r, 2], es.Min)
    lower, upper = es.parallel_reduce(
        es.ThreadVectorRange(team, 7), lambda k: x[r, k], reducer=es.MinMax
    )
    if es.single(es.PerTeam(team)):
        keep(found, r, 0, total, total // 10, total % 10)
        keep(found, r, 1, least, least // 10, least % 10)
        keep(found, r, 2, low, low // 10, low % 10)
        keep(found, r, 3, place, place // 10, place % 10)
        keep(found, r, 4, part, part // 10, part % 10)
        keep(found, r, 5, first, first // 10, first % 10)
        keep(found, r, 6, scanned, scanned // 10, scanned % 10)
        keep(found, r, 7, point, point // 10, point % 10)
        keep(found, r, 8, told, told // 10, told % 10)
        keep(found, r, 9, alone, alone // 10, alone % 10)
        keep(found, r, 10, before, before // 10, before % 10)
        keep(found, r, 11, lower, lower // 10, lower % 10)
        keep(found, r, 12, upper, upper // 10, upper % 10)


@two_shapes
def test_nobody_takes_what_is_told_for_positive(space, shape):
    x = np.random.default_rng(10).integers(-99, 0, (3, 7))
    found = np.zeros((3, 13, 3), np.int64)
    staged.parallel_for(league(space, 3, shape), divide_what_is_told, x, found)
    for row, values in zip(found, x.tolist(), strict=True):
        least = min(values)
        right = [sum(values), least, least, least, least, least, sum(values), least, values[0],
                 values[1], row[10, 0], least, max(values)]  # fmt: skip
        assert row[10, 0] == np.iinfo(np.int64).max  # nobody stands before the first
        assert row.tolist() == [[v, v // 10, v % 10] for v in right]

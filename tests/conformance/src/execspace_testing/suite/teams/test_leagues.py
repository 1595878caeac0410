"""Launches of leagues: how many teams, in what chunks, what they contribute, and on which queue."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.at_once import at_once
from execspace_testing.sizes import fitting, interpreted

from .shapes import league, small_integers, two_shapes


def total_of(team, x):
    """The sum of the row of a team, through scratch."""
    r, n = team.league_rank, x.extent(1)
    held = team.scratch(n)
    for i in es.TeamVectorRange(team, n):
        held[i] = x[r, i]
    team.barrier()
    return es.parallel_reduce(es.TeamVectorRange(team, n), lambda i: held[n - 1 - i])


def store_row(team, x, seen):
    total = total_of(team, x)
    if es.single(es.PerTeam(team)):
        seen[team.league_rank] += total + team.league_rank


def stored_and_joined(team, x, seen):
    store_row(team, x, seen)
    return x[team.league_rank, 0]


# -- how many teams, and how they are handed out --------------------------------------------------


@pytest.mark.parametrize("chunk_size", [1, 2, 5])
def test_chunks_that_do_not_divide_the_league(space, chunk_size):
    for n in (0, 1, 4, 13):
        x, seen = small_integers((n, 19)), np.zeros(13)
        policy = league(space, n, chunk_size=chunk_size)
        assert staged.parallel_reduce(policy, stored_and_joined, x, seen) == x[:, 0].sum()
        assert seen[:n].tolist() == (x.sum(1) + np.arange(n)).tolist()
        assert (seen[n:] == 0).all()


def test_leagues_of_no_one_and_many_teams(space):
    for n in (0, 1, fitting(space, 30_011, 50)):
        x, seen = small_integers((n, 7)), np.zeros(n + 1)
        staged.parallel_for(league(space, n), store_row, x, seen)
        assert (seen[:n] == x.sum(1) + np.arange(n)).all()
        assert seen[n] == 0


def test_a_league_of_many_small_teams(space):
    """More teams than devices have blocks along the second dimension of a grid."""

    def mark(team, x):
        if es.single(es.PerTeam(team)):
            x[team.league_rank] += team.league_rank % 100 + 1

    n = fitting(space, 200_003, 500)
    x = np.zeros(n, np.int32)
    staged.parallel_for(league(space, n, (1, 1)), mark, x)
    assert (x == np.arange(n) % 100 + 1).all()


@dataclass
class Rows:
    """A functor: its methods are kernels, its Views and numbers are arguments."""

    x: es.View
    factor: float

    def scale(self, team, by: es.static):
        for j in es.TeamVectorRange(team, self.x.extent(1)):
            self.x[team.league_rank, j] *= self.factor * by
        team.barrier()
        if es.single(es.PerTeam(team)):
            self.x[team.league_rank, 0] = self.total(team.league_rank)

    def total(self, row):
        total = 0.0
        for j in range(self.x.extent(1)):
            total += self.x[row, j]
        return total


def test_methods_are_kernels_of_teams_on_the_default_space_too(space):
    x = small_integers((5, 12))
    rows = Rows(staged.view_on(space, x), 2.5)
    with es.use_space(league(space, 1).space):
        es.parallel_for(es.TeamPolicy(5), rows.scale, 4)
    expected = 10 * x
    expected[:, 0] = expected.sum(1)
    assert staged.fetch(rows.x).tolist() == expected.tolist()


# -- parallel_reduce over teams -------------------------------------------------------------------


def yax(team, A, x, y):
    """The product of Kokkos' tutorial."""
    row = team.league_rank
    s = es.parallel_reduce(es.TeamVectorRange(team, A.extent(1)), lambda e: A[row, e] * x[e])
    return y[row] * s


@two_shapes
def test_a_team_contributes_once_to_a_reduction(space, shape):
    for n in (0, 1, 33):
        A, x, y = small_integers((n, 40), 1), small_integers(40, 2), small_integers(n, 3)
        assert staged.parallel_reduce(league(space, n, shape), yax, A, x, y) == y @ A @ x


class Affine(es.Reducer):
    """Composition of x -> a * x + b, first come first applied, in wrapping integers."""

    identity = (1, 0)

    def join(f, g):
        return f[0] * g[0], f[1] * g[0] + g[1]


def contribute(team, x):
    r = team.league_rank
    total = es.parallel_reduce(es.TeamThreadRange(team, x.extent(1)), lambda i: x[r, i])
    if total < 0:
        return 0.0, total, (total, r), total, total > -50
    team.barrier()
    return team.reduce(1.0), total, (total, r), total, True


REDUCERS = (es.Max, es.Sum, es.MinLoc, es.MinMax, es.LAnd)


def test_several_reducers(space):
    x = small_integers((21, 18), 4)
    policy, sums = league(space, 21), x.sum(1)
    threads = policy.team_size if (sums >= 0).any() else 0
    wanted = (
        threads, sums.sum(), (sums.min(), sums.argmin()), (sums.min(), sums.max()),
        bool((sums > -50).all()),
    )  # fmt: skip
    assert staged.parallel_reduce(policy, contribute, x, reducer=REDUCERS) == wanted
    none = np.zeros((1, 3))
    found = staged.parallel_reduce(league(space, 0), contribute, none, reducer=REDUCERS)
    greatest = np.iinfo(np.int64).max
    assert found == (-math.inf, 0, (math.inf, greatest), (math.inf, -math.inf), True)


def test_results_that_stay_in_the_space(space):
    def pair(team):
        return team.league_rank + 0.5, team.reduce(1.0)

    policy = league(space, 21)
    most, total = es.View((), space=space), es.View((), space=space)
    assert es.parallel_reduce(policy, pair, reducer=(es.Max, es.Sum), out=(most, total)) is None
    assert (staged.fetch(most), staged.fetch(total)) == (20.5, 21 * policy.team_size)


# -- parallel_scan over teams ---------------------------------------------------------------------


def packed(team, prefix, final, x, packed, begins):
    """Rows are packed one after the other: where a team begins is what those before it have."""
    r, n = team.league_rank, x.extent(1)
    begin = prefix[0]
    count = es.parallel_reduce(es.TeamVectorRange(team, n), lambda i: int(x[r, i] > 0))
    if final:
        if es.single(es.PerTeam(team)):
            begins[r] = begin

        def step(i, before, last):
            if last and x[r, i] > 0:
                packed[begin + before] = x[r, i]
            return int(x[r, i] > 0)

        es.parallel_scan(es.TeamThreadRange(team, n), step)
    return count, r


def test_a_scan_over_teams(space):
    x = np.random.default_rng(8).integers(-3, 4, (29, 15))
    mask = x > 0
    out, begins = np.full(x.size, -1), np.zeros(29, np.int64)
    policy = league(space, 29)
    total, last = staged.parallel_scan(policy, packed, x, out, begins, reducer=(es.Sum, es.Max))
    assert (total, last) == (mask.sum(), 28)
    counts = mask.sum(1)
    assert begins.tolist() == (np.cumsum(counts) - counts).tolist()
    assert out.tolist() == [*x[mask].tolist(), *[-1] * (x.size - total)]


def composed(team, prefix, final, x, found):
    r = team.league_rank
    if final and team.team_rank == team.team_size - 1:
        found[r, 0], found[r, 1] = prefix
    return x[r] % 3 + 1, x[r]


def test_teams_are_scanned_in_order(space):
    """With a join that does not commute, and leagues of nothing and of one."""
    for n in (0, 1, fitting(space, 500, 60)):
        x = np.random.default_rng(n).integers(-9, 10, n)
        found = np.zeros((n, 2), np.int64)
        policy = league(space, n, (3, 1))
        total = staged.parallel_scan(policy, composed, x, found, reducer=Affine)
        a, b = 1, 0
        for row, v in zip(found.tolist(), x.tolist(), strict=True):
            assert [number % 2**64 for number in row] == [a, b]
            a, b = a * (v % 3 + 1) % 2**64, (b * (v % 3 + 1) + v) % 2**64
        assert (total[0] % 2**64, total[1] % 2**64) == (a, b)


# -- queues and memory ----------------------------------------------------------------------------


def blend(team, x, rounds):
    """All scratch of a team changes for a while, and only then comes back."""
    r, n = team.league_rank, x.extent(1)
    held, large = team.scratch(n), team.scratch(n, level=1)
    for i in es.TeamVectorRange(team, n):
        held[i] = x[r, i]
    team.barrier()
    for _ in range(rounds):
        for i in es.TeamVectorRange(team, n):
            large[i] = held[(i + 1) % n]
        team.barrier()
        for i in es.TeamVectorRange(team, n):
            held[i] = large[i]
        team.barrier()
    for i in es.TeamVectorRange(team, n):
        x[r, i] = held[i] + 1


def test_launches_in_flight_have_scratch_of_their_own(space):
    """On two queues at once, and one after the other on each."""
    queues, rounds = [space.instance(), space.instance()], fitting(space, 200, 5)
    views = [es.View((40, 64), space=space) for _ in queues]
    start = [small_integers((40, 64), seed) for seed in range(2)]
    policies = [league(queue, 40, (8, 4)) for queue in queues]
    for view, array in zip(views, start, strict=True):
        es.deep_copy(view, array)
    for _ in range(3):
        for policy, view in zip(policies, views, strict=True):
            es.parallel_for(policy, blend, view, rounds)
    for queue, view, array in zip(queues, views, start, strict=True):
        queue.fence()
        assert (staged.fetch(view) == np.roll(array, -3 * rounds, 1) + 3).all()


def test_threads_of_python_launch_teams_at_the_same_time(space):
    policy, rounds = league(space, 12, (8, 4)), 2 if interpreted(space) else 10

    def work(k):
        view, seen = es.View((12, 32), space=space), es.View(12, space=space)
        es.deep_copy(view, float(k))
        es.deep_copy(seen, 0.0)
        for _ in range(rounds):
            es.parallel_for(policy, blend, view, 3)
            es.parallel_for(policy, store_row, view, seen)
        return staged.fetch(view), staged.fetch(seen)

    for k, (view, seen) in enumerate(at_once(work)):
        assert (view == k + rounds).all()
        sums = sum(32 * (k + r) for r in range(1, rounds + 1))
        assert (seen == sums + rounds * np.arange(12)).all()


def moved_along(team, a, b):
    """`b` is a part of `a`, so what is stored into one is seen in the other after a barrier."""
    for i in es.TeamVectorRange(team, a.extent(0)):
        a[i] = i
    team.barrier()
    for k in range(3):
        if es.single(es.PerTeam(team)):
            a[k + 1] += b[k + 1]
        team.barrier()
    total = b[0] + b[1] + b[2]
    team.barrier()
    for i in es.TeamThreadRange(team, b.extent(0)):
        b[i] += total


def test_views_of_the_same_memory(space):
    a = staged.view_on(space, np.zeros(31))
    es.parallel_for(league(space, 1), moved_along, a, a[1:])
    expected = np.arange(31.0)
    for k in range(3):
        expected[k + 1] += expected[k + 2]
    expected[1:] += expected[1:4].sum()
    assert staged.fetch(a).tolist() == expected.tolist()

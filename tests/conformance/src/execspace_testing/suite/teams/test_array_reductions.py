"""Array reductions of teams: threads join into arrays of their own, which are joined."""

from __future__ import annotations

import math

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import needs_dtype, needs_teams

from .shapes import league, two_shapes

PER_TEAM = 37


@pytest.fixture
def space(space):
    needs_teams(space)
    return space


def residues(team, counts, x):
    for k in es.TeamThreadRange(team, PER_TEAM):
        counts[x[team.league_rank * PER_TEAM + k] % 4] += 1


@two_shapes
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
def test_kokkos_array_reduce_team(space, shape, dtype):
    needs_dtype(space, dtype)
    x = np.random.default_rng(1).integers(0, 1000, 6 * PER_TEAM)
    policy, sum_ = league(space, 6, shape), es.Sum(dtype, shape=4)
    found = staged.parallel_reduce(policy, residues, x, reducer=sum_)
    expected = [int((x % 4 == k).sum()) for k in range(4)]
    assert found.tolist() == expected and found.dtype == dtype
    out = staged.view_on(space, np.zeros(4, dtype))
    staged.parallel_reduce(policy, residues, x, reducer=sum_, out=out)
    assert staged.fetch(out).tolist() == expected


def greatest(team, most, x):
    def one(k):
        at = team.league_rank * PER_TEAM + k
        most[at % 2, x[at] % 3] = max(most[at % 2, x[at] % 3], x[at])

    es.parallel_for(es.TeamThreadRange(team, PER_TEAM), one)


@two_shapes
def test_arrays_of_several_dimensions(space, shape):
    x = np.random.default_rng(2).integers(0, 1000, 6 * PER_TEAM)
    found = staged.parallel_reduce(
        league(space, 6, shape), greatest, x, reducer=es.Max(es.int64, shape=(2, 3))
    )
    at = np.arange(len(x))
    for a in range(2):
        for b in range(3):
            assert found[a, b] == x[(at % 2 == a) & (x % 3 == b)].max()


class Product(es.Reducer):
    """Modulo a prime."""

    identity = 1
    shape = 3

    @staticmethod
    def join(a, b):
        return a * b % 1_000_003


def products(team, p):
    for k in es.TeamThreadRange(team, 5):
        p[k % 3] = p[k % 3] * (k + team.league_rank + 1) % 1_000_003


@two_shapes
def test_a_reducer_of_ones_own(space, shape):
    found = staged.parallel_reduce(league(space, 7, shape), products, reducer=Product)
    rows = [[k + r + 1 for r in range(7) for k in range(j, 5, 3)] for j in range(3)]
    assert found.tolist() == [math.prod(row) % 1_000_003 for row in rows]


def nothing(team, s):
    if team.league_rank > 100:
        s[0] += 1.0


def test_an_empty_league_and_teams_that_add_nothing(space):
    for n in (0, 3):
        found = es.parallel_reduce(es.TeamPolicy(n, space=space), nothing, reducer=es.Sum(shape=2))
        assert found.tolist() == [0.0, 0.0]


def test_what_is_refused(space):
    policy = es.TeamPolicy(2, space=space)
    with pytest.raises(es.LaunchError, match="at most 64"):
        es.parallel_reduce(policy, nothing, reducer=es.Sum(shape=65))

    class Root(es.Reducer):
        identity = 0.0
        shape = 2

        def join(self, a, b):
            return a + b

        def final(self, a):
            return math.sqrt(a)

    with pytest.raises(es.LaunchError, match="apply it to the result"):
        es.parallel_reduce(policy, nothing, reducer=Root)
    out = es.View(3, space=space)
    with pytest.raises(es.LaunchError, match="expected"):
        es.parallel_reduce(policy, nothing, reducer=es.Sum(shape=2), out=out)

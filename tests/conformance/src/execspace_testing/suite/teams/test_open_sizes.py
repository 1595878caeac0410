"""Sizes of teams that a policy leaves to the space: nested ranges of any length, scratch memory."""

from __future__ import annotations

import math

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged

from .shapes import league

OPEN = ("auto", "auto")
LENGTHS = [
    (0, 5),
    (1, 1),
    (3, 8),
    (5, 300),
    (17, 40),
    (33, 20),
    (64, 4),
    (100, 1),
    (2, 1000),
    (-4, 9),
]


def scaled_sums(team, A, y, sizes, n, m):
    """Scratch memory that takes next to nothing, and a sum over lanes for each of n threads."""
    factor = team.scratch(1)
    if es.single(es.PerTeam(team)):
        factor[0] = 2.0
        sizes[team.league_rank] = team.team_size
    team.barrier()
    for i in es.TeamThreadRange(team, n):
        total = es.parallel_reduce(es.ThreadVectorRange(team, m), lambda j: A[i, j])
        y[team.league_rank, i] = factor[0] * total


@pytest.mark.parametrize("options", [{}, {"chunk_size": 2}, {"launch_bounds": 48}])
def test_any_lengths(space, options):
    policy = league(space, 7, OPEN, **options)
    A = np.arange(100 * 1000.0).reshape(100, 1000) % 13
    for n, m in LENGTHS:
        y, sizes = np.zeros((7, 100)), np.zeros(7, np.int64)
        placed = [staged.place(space, a) for a in (A, y, sizes)]
        chosen = policy.team_size_recommended(scaled_sums, *placed, n, m)
        assert chosen <= policy.team_size_max(scaled_sums, *placed, n, m)
        expected = np.zeros((7, 100))
        expected[:, : max(n, 0)] = 2 * A[: max(n, 0), : max(m, 0)].sum(axis=1)
        for size in ("auto", chosen):  # a size that is recommended can be asked for
            given = league(space, 7, (size, "auto"), **options)
            y, sizes = np.zeros((7, 100)), np.zeros(7, np.int64)
            staged.parallel_for(given, scaled_sums, A, y, sizes, n, m)
            np.testing.assert_array_equal(y, expected)
            assert (sizes == chosen).all()


def reversed_rows(team, x, y, w):
    """Scratch memory that grows with the league's rows, and more of each thread."""
    n, r = x.extent(1), team.league_rank
    at, own = team.scratch(n), team.thread_scratch(w)
    for k in es.TeamVectorRange(team, n):
        at[k] = x[r, k]
    team.barrier()
    for i in es.TeamThreadRange(team, n):
        own[w - 1] = at[n - 1 - i]
        y[r, i] = own[w - 1]


@pytest.mark.parametrize("options", [{}, {"chunk_size": 2}])
@pytest.mark.parametrize("n", [3, 40, 200])
def test_scratch_that_is_scarce(space, options, n):
    policy = league(space, 3, OPEN, **options)
    x = np.arange(3.0 * n).reshape(3, n)
    for w in (1, 20, 273, 400):
        y = np.zeros((3, n))
        placed = staged.place(space, x), staged.place(space, y)
        try:
            most = policy.team_size_max(reversed_rows, *placed, w)
        except es.LaunchError:
            continue  # not even a team of one has room
        assert policy.team_size_recommended(reversed_rows, *placed, w) <= most
        staged.parallel_for(policy, reversed_rows, x, y, w)
        np.testing.assert_array_equal(y, x[:, ::-1])


def guarded(team, y, f, n):
    """Ranges whose lengths make sense only where a test allows it."""
    if f > 0.0 and f < 100.0:
        for i in es.TeamThreadRange(team, int(f)):
            y[team.league_rank, i] = 1
    if n >= 0 and n < 7:
        for i in es.TeamVectorRange(team, 1 << n):
            y[team.league_rank, 100 + i] = 2
        for i in es.TeamVectorRange(team, 64 >> n):
            y[team.league_rank, 200 + i] = 3


@pytest.mark.parametrize("f", [5.5, math.nan, math.inf, 1e300, np.float32(math.nan)])
@pytest.mark.parametrize("n", [3, -1, 2**40])
def test_lengths_that_a_test_guards(space, f, n):
    y = np.zeros((2, 300))
    staged.parallel_for(league(space, 2, OPEN), guarded, y, f, n)
    expected = np.zeros((2, 300))
    expected[:, :5] = 1 if f == 5.5 else 0
    if n == 3:
        expected[:, 100:108], expected[:, 200:208] = 2, 3
    np.testing.assert_array_equal(y, expected)

"""What is the same in all rounds of a loop compiles in no time to speak of, however it is made.

A compiler that follows each use of a number back to where it comes from, as some vectorisers do,
takes twice as long with each step of a hash. The reference is NumPy.
"""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import needs_teams

STEPS = 20


def mixed(v):
    for _ in range(STEPS):
        v = v ^ (v << 13)
        v = v ^ (v >> 7)
        v = v * 5 + (v & 3)
    return v


def first(x, i):
    return x[i, 0] - x[i, x.shape[1] - 1]


@es.kernel
def by_a_helper(i, x, y):
    for j in range(y.shape[1]):
        y[i, j] = mixed(first(x, i)) + j


@es.kernel
def in_place(i, x, y):
    for j in range(y.shape[1]):
        y[i, j] = mixed(x[i, 0]) + j


@es.kernel
def by_teams(team, x, y):
    i = team.league_rank
    for j in es.TeamThreadRange(team, y.shape[1]):
        y[i, j] = mixed(first(x, i)) + j


@es.kernel
def summed(i, x, y):
    total = 0
    for j in range(y.shape[1]):
        y[i, j] = total
        total += mixed(first(x, i)) + j
    return total


def numbers(rows=5, columns=70):
    return np.random.default_rng(3).integers(-(2**62), 2**62, (rows, columns))


def expected(v, columns):
    with np.errstate(all="ignore"):
        return mixed(v)[:, None] + np.arange(columns)


@pytest.mark.parametrize("how", ["range", "teams"])
def test_a_hash_of_what_a_helper_loads(space, how):
    x = numbers()
    y = np.zeros_like(x)
    if how == "range":
        staged.parallel_for(es.RangePolicy(len(x), space=space), by_a_helper, x, y)
    else:
        needs_teams(space)
        staged.parallel_for(es.TeamPolicy(len(x), 1, space=space), by_teams, x, y)
    np.testing.assert_array_equal(y, expected(x[:, 0] - x[:, -1], x.shape[1]))


def test_a_hash_in_a_reduction(space):
    x = numbers()
    y = np.zeros_like(x)
    found = staged.parallel_reduce(es.RangePolicy(len(x), space=space), summed, x, y)
    rows = expected(x[:, 0] - x[:, -1], x.shape[1])
    before = np.cumsum(rows, axis=1) - rows
    np.testing.assert_array_equal(y, before)
    assert found == rows.sum()


def test_a_hash_of_views_that_overlap(space):
    x = numbers()
    view = staged.view_on(space, x)
    right = expected(x[:, 0], x.shape[1] - 1)
    policy = es.RangePolicy(len(x), space=space)
    es.parallel_for(policy, in_place, view, es.subview(view, es.ALL, slice(1, None)))
    np.testing.assert_array_equal(staged.fetch(view)[:, 1:], right)

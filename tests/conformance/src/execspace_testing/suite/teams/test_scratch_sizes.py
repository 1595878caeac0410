"""`TeamPolicy.scratch_size`: bytes that a kernel asks for, as the launch counts them."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import needs_teams


@pytest.fixture(autouse=True)
def teams(space):
    needs_teams(space)


def windows(team, x, n):
    """A window of the team, one of each thread, and memory of level 1."""
    window = team.scratch(n)
    own = team.thread_scratch(4, es.float64)
    large = team.scratch((n, 8), es.float64, level=1)
    for k in es.TeamThreadRange(team, n):
        window[k] = x[k]
        large[k, 0] = x[k]
    own[0] = 1.0
    team.barrier()
    x[team.league_rank] = window[0] + large[1, 0] + own[0] - own[0]


def plain(team, x):
    if es.single(es.PerTeam(team)):
        x[team.league_rank] = team.league_rank


def test_a_kernel_without_scratch(space):
    x = staged.view_on(space, np.zeros(8), "x")
    for level in (0, 1):
        assert es.TeamPolicy(8, space=space).scratch_size(plain, x, level=level) == 0


@pytest.mark.parametrize("size", [1, 2, 4])
def test_it_is_counted_for_the_size_of_the_team(space, size):
    """Each piece begins at a multiple of 16 bytes, so these have no padding."""
    x = staged.view_on(space, np.zeros(64), "x")
    policy = es.TeamPolicy(8, size, space=space)
    for n in (2, 6, 40):
        assert policy.scratch_size(windows, x, n) == 8 * n + 32 * size
        assert policy.scratch_size(windows, x, n, level=1) == 64 * n


def test_open_sizes_are_those_of_the_launch(space):
    x = staged.view_on(space, np.zeros(64), "x")
    policy = es.TeamPolicy(8, space=space)
    size = policy.team_size_recommended(windows, x, 6)
    assert policy.scratch_size(windows, x, 6) == 8 * 6 + 32 * size


def test_of_a_reduction(space):
    x = staged.view_on(space, np.ones(64), "x")

    def total(team, x):
        at = team.scratch(team.team_size)
        at[team.team_rank] = x[team.league_rank]
        team.barrier()
        return at[0]

    policy = es.TeamPolicy(8, 2, space=space)
    assert policy.scratch_size(total, x, pattern="reduce") == 16
    assert policy.scratch_size(total, x, reducer=es.Max) == 16
    for ask in (policy.scratch_size, policy.team_size_max, policy.team_size_recommended):
        with pytest.raises(es.KernelTypeError, match="say so, with pattern='reduce' or pattern="):
            ask(total, x)


def test_pieces_are_rounded(space):
    x = staged.view_on(space, np.ones(64), "x")

    def nine(team, x):
        at = team.scratch(9)
        at[0] = x[0]

    assert es.TeamPolicy(8, 2, space=space).scratch_size(nine, x) == 80


def test_it_launches_nothing(space):
    x = staged.view_on(space, np.full(8, -1.0), "x")
    es.TeamPolicy(8, space=space).scratch_size(plain, x)
    es.fence()
    assert (staged.fetch(x) == -1).all()


def test_what_no_team_can_have_is_refused_as_by_the_launch(space):
    x = staged.view_on(space, np.zeros(64), "x")
    policy = es.TeamPolicy(8, 1, space=space)
    most = policy.scratch_size_max(0)
    for ask in (policy.scratch_size, lambda *a: es.parallel_for(policy, *a)):
        with pytest.raises(es.LaunchError, match="bytes of scratch at level 0"):
            ask(windows, x, most)


@pytest.mark.parametrize("level", [2, -1, 0.0, "0", None, True])
def test_other_levels_are_refused(space, level):
    x = staged.view_on(space, np.zeros(8), "x")
    with pytest.raises(es.PolicyError, match=r"^scratch_size: level=.*; expected 0 or 1\.$"):
        es.TeamPolicy(8, space=space).scratch_size(plain, x, level=level)

"""Who is there: ranks and sizes, how large teams may be, and what each thread does once."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import fitting, needs_atomic, needs_teams

from .shapes import every_shape, league, told_by_threads, two_shapes


def places(team, found):
    league_rank, team_rank = team.league_rank, team.team_rank
    found[league_rank, team_rank, 0] = league_rank
    found[league_rank, team_rank, 1] = team.league_size
    found[league_rank, team_rank, 2] = team_rank
    found[league_rank, team_rank, 3] = team.team_size


@every_shape
def test_each_thread_knows_its_place(space, shape):
    policy, found = league(space, 5, shape), told_by_threads(space, 5, 4)
    staged.parallel_for(policy, places, found)
    size = policy.team_size
    if size == "auto":
        size = policy.team_size_recommended(places, staged.place(space, found))
    expected = np.full_like(found, -1)
    for team in range(5):
        for thread in range(size):
            expected[team, thread] = team, 5, thread, size
    np.testing.assert_array_equal(found, expected)


def test_a_space_has_teams_or_says_so(space):
    """Whatever it has, a team of one thread and one lane is the least."""
    x = es.View(3, es.int64, space=space)
    policy = es.TeamPolicy(3, 1, 1, space=space)
    if not isinstance(space, es.SupportsTeams):
        with pytest.raises(es.PolicyError) as caught:
            es.parallel_for(policy, number, x)
        assert str(caught.value) == (
            f"Kernel 'number': space '{space.name}' has no teams, which a TeamPolicy needs; "
            f"launch it on another space, with space=."
        )
        return
    limits = space.team_limits()
    assert min(limits.team_size_max, limits.vector_length_max, limits.threads_max) >= 1
    assert limits.team_size_max <= limits.threads_max
    assert policy.vector_length_max() == limits.vector_length_max
    assert (policy.scratch_size_max(0), policy.scratch_size_max(1)) == limits.scratch
    assert min(limits.scratch) >= 0
    es.parallel_for(policy, number, x)
    assert staged.fetch(x).tolist() == [1, 2, 3]


def number(team, x):
    x[team.league_rank] = team.league_rank + 1


def test_a_team_of_the_size_of_the_space_s_limits_and_one_beyond(space):
    needs_teams(space)
    limits = space.team_limits()
    size, lanes = limits.team_size_max, limits.vector_length_max

    def launched(threads, lanes):
        x = np.zeros(2, np.int64)
        staged.parallel_for(es.TeamPolicy(2, threads, lanes, space=space), number, x)
        return x.tolist()

    assert launched(1, lanes) == [1, 2]
    with pytest.raises(es.PolicyError) as caught:
        launched(size + 1, 1)
    assert str(caught.value) == (
        f"Kernel 'number': team_size={size + 1}, and a team on space '{space.name}' has at most "
        f"{size} threads; give less, or 'auto'."
    )
    with pytest.raises(es.PolicyError) as caught:
        launched(1, 2 * lanes)
    assert str(caught.value) == (
        f"Kernel 'number': vector_length={2 * lanes}, and a thread on space '{space.name}' has at "
        f"most {lanes} lanes; give less, or 'auto'."
    )
    if size * lanes > limits.threads_max:
        with pytest.raises(es.PolicyError, match=f"make {size * lanes} lanes, and a team on space"):
            launched(size, lanes)


def greet(team, sizes):
    total = team.reduce(1)
    if es.single(es.PerTeam(team)):
        sizes[team.league_rank] = total


def test_the_largest_team_of_a_kernel_and_the_one_that_is_recommended(space):
    policy = league(space, 2, ("auto", 1))
    sizes = np.zeros(2, np.int64)
    placed = staged.place(space, sizes)
    most = policy.team_size_max(greet, placed)
    chosen = policy.team_size_recommended(greet, placed)
    assert 1 <= chosen <= most <= space.team_limits().team_size_max
    staged.parallel_for(policy, greet, sizes)
    assert sizes.tolist() == [chosen] * 2
    staged.parallel_for(es.TeamPolicy(2, most, 1, space=space), greet, sizes)
    assert sizes.tolist() == [most] * 2
    with pytest.raises(es.PolicyError, match=rf"team_size={most + 1}\b"):
        staged.parallel_for(es.TeamPolicy(2, most + 1, 1, space=space), greet, sizes)
    assert sizes.tolist() == [most] * 2


def test_launch_bounds_change_no_result(space):
    for shape in [(8, 4), ("auto", 4)]:
        policy = league(space, 3, shape, launch_bounds=32)  # which a team of 8 x 4 just fits
        sizes = np.zeros(3, np.int64)
        size = policy.team_size
        if size == "auto":
            size = policy.team_size_recommended(greet, staged.place(space, sizes))
        staged.parallel_for(policy, greet, sizes)
        assert sizes.tolist() == [size] * 3


# -- what each thread does once -------------------------------------------------------------------


def steps(team, x, counts, tickets):
    r, me = team.league_rank, team.team_rank
    x[r, me, 0] += 3
    x[r, me, 0] *= x[r, me, 0]
    es.atomic_add(counts, 0, 1)
    if es.single(es.PerThread(team)):
        es.atomic_add(counts, 1, 1)
    if es.single(es.PerTeam(team)):
        es.atomic_add(counts, 2, 1)
    ticket = es.atomic_fetch_add(counts, 3, 1)
    for _ in es.ThreadVectorRange(team, 21):
        es.atomic_add(tickets, ticket, 1)


@two_shapes
def test_each_thread_stores_once_whatever_its_lanes_are(space, shape):
    """What stands outside of loops over lanes is done once, and all lanes know what came of it."""
    needs_atomic(space, 4)
    policy, x = league(space, 4, shape), told_by_threads(space, 4, 1)
    counts = np.zeros(4, np.int32)
    threads = 4 * policy.team_size
    tickets = np.zeros(threads, np.int32)
    staged.parallel_for(policy, steps, x, counts, tickets)
    assert counts.tolist() == [threads, threads, 4, threads]
    assert (x[:, : policy.team_size] == 4).all()
    assert (x[:, policy.team_size :] == -1).all()
    assert (tickets == 21).all()


def test_each_thread_prints_once(space, capfd):
    def greeting(team):
        es.printf("thread %d of team %d\n", team.team_rank, team.league_rank)

    policy = league(space, 2, (3, 4))
    staged.parallel_for(policy, greeting)
    pairs = [(thread, team) for team in range(2) for thread in range(policy.team_size)]
    expected = [f"thread {thread} of team {team}" for thread, team in pairs]
    assert sorted(capfd.readouterr().out.splitlines()) == sorted(expected)


def checked(team, x, most):
    for i in es.TeamThreadRange(team, x.extent(1)):
        assert x[team.league_rank, i] < most, "too much"
    team.barrier()
    threads = team.reduce(1)
    if team.team_rank == 0:
        x[team.league_rank, 0] = threads


def test_a_failed_assertion_names_the_team(space):
    """It holds nobody up at the barrier, and the next launch does not suffer."""
    policy = league(space, 5, (3, 1))
    x = np.arange(50.0).reshape(5, 10)
    with pytest.raises(es.KernelAssertionError, match="failed: too much") as caught:
        staged.parallel_for(policy, checked, x, 49)
    assert "in kernel 'checked' at index 4\n" in str(caught.value)
    x = np.arange(50.0).reshape(5, 10)
    staged.parallel_for(policy, checked, x, 50)
    assert x[:, 0].tolist() == [policy.team_size] * 5


def test_members_of_large_teams_keep_large_private_arrays(space):
    """All members' arrays together are more than a stack of a host has room for."""

    @es.kernel
    def turn(team, out, n: es.static):
        own = es.local(n)
        for k in range(n):
            own[k] = team.team_rank + k
        team.barrier()
        other = team.reduce(own[n - 1], es.Max)
        out[team.league_rank, team.team_rank] = own[1] + other

    policy, n = league(space, 2, ("auto", 1)), fitting(space, 1500, 5)
    out = np.zeros((2, space.team_limits().team_size_max))
    size = policy.team_size_max(turn, staged.place(space, out), n)
    staged.parallel_for(es.TeamPolicy(2, size, 1, space=space), turn, out, n)
    np.testing.assert_array_equal(out[:, :size], [np.arange(size) + 1 + size - 1 + n - 1] * 2)

"""Barriers: what was stored before is seen after, in loops and helpers, and who leaves early."""

from __future__ import annotations

import numpy as np

import execspace as es
from execspace_testing import staged

from .shapes import league, told_by_threads, two_shapes


def rotate(team, x, sizes, rounds):
    """Each thread takes its neighbour's number, round by round."""
    r, me, n = team.league_rank, team.team_rank, team.team_size
    if es.single(es.PerTeam(team)):
        sizes[r] = n
    x[r, me, 0] = 10 * r + me
    team.barrier()
    for _ in range(rounds):
        taken = x[r, (me + 1) % n, 0]
        team.barrier()
        x[r, me, 0] = taken + 1000
        team.barrier()


@two_shapes
def test_stores_are_seen_after_a_barrier(space, shape):
    x, sizes, rounds = told_by_threads(space, 4, 1), np.zeros(4, np.int64), 7
    staged.parallel_for(league(space, 4, shape), rotate, x, sizes, rounds)
    size = sizes[0]
    assert (sizes == size).all()
    for team in range(4):
        taken = 10 * team + (np.arange(size) + rounds) % size + 1000 * rounds
        assert x[team, :size, 0].tolist() == taken.tolist()
    assert (x[:, size:] == -1).all()


def halves(team, x, how):
    """A sum by halves, as every textbook has it, where an argument and the league's rank decide."""
    r, me, n = team.league_rank, team.team_rank, x.extent(1)
    if how > 0:
        width = n // 2
        while width > 0:
            for i in es.TeamThreadRange(team, width):
                x[r, i] += x[r, i + width]
            team.barrier()
            width //= 2
    elif how == 0 and r % 2 == 0:
        team.barrier()
        if es.single(es.PerTeam(team)):
            x[r, 0] = -1
        team.barrier()
        if r == 2:
            team.barrier()
            x[r, 1 + me] = x[r, 0] - me
    else:
        team.barrier()


def test_barriers_under_conditions_that_all_threads_share(space):
    policy = league(space, 4)
    x = np.random.default_rng(1).integers(-9, 10, (4, 32))
    sums = x.sum(1)
    staged.parallel_for(policy, halves, x, 1)
    assert (x[:, 0] == sums).all()
    expected = x.copy()
    expected[[0, 2], 0] = -1
    expected[2, 1 : policy.team_size + 1] = -1 - np.arange(policy.team_size)
    staged.parallel_for(policy, halves, x, 0)
    assert (x == expected).all()
    staged.parallel_for(policy, halves, x, -1)
    assert (x == expected).all()


def leavers(team, x, last):
    """Whole teams go: before the first barrier, from within loops, or not at all."""
    r, me = team.league_rank, team.team_rank
    if r == 0:
        return
    team.barrier()
    for k in range(6):
        if k == 1:
            continue
        team.barrier()
        x[r, me] += 1
        if r == 1 and k == 3:
            return
        team.barrier()
        if k == last[r]:
            break
        for j in range(4):
            team.barrier()
            if j > r:
                break
            if r == 5 and k == 2:
                team.barrier()
                return
            x[r, me] += 10
            team.barrier()
    else:
        x[r, me] += 100
    team.barrier()
    x[r, me] += 1000


def left(r, last):
    """The same in plain Python."""
    x = 0
    if r == 0:
        return x
    for k in range(6):
        if k == 1:
            continue
        x += 1
        if r == 1 and k == 3:
            return x
        if k == last:
            break
        for j in range(4):
            if j > r:
                break
            if r == 5 and k == 2:
                return x
            x += 10
    else:
        x += 100
    return x + 1000


@two_shapes
def test_whole_teams_leave_loops_and_kernels_early(space, shape):
    policy = league(space, 7, shape)
    last = np.array([0, 9, 0, 4, 9, 9, 1])
    x = np.zeros((7, policy.team_size), np.int64)
    staged.parallel_for(policy, leavers, x, last)
    for team in range(7):
        assert set(x[team].tolist()) == {left(team, last[team])}


# -- helpers --------------------------------------------------------------------------------------


def moved(team, x, row, by):
    """A helper that waits: a row goes to the left, through what each thread remembers."""
    held = es.local(8, es.int64)
    n = x.extent(1)
    for i in es.TeamThreadRange(team, n):
        held[i // team.team_size] = x[row, (i + by) % n]
    team.barrier()
    for i in es.TeamThreadRange(team, n):
        x[row, i] = held[i // team.team_size]
    team.barrier()
    return by


def shifted(team, x, row, by):
    """With several ways out: at once, with what another helper says, and from within a loop."""
    if by == 0:
        return 0
    n = x.extent(1)
    if by < 0:
        return moved(team, x, row, n + by) - n
    count = 0
    while True:
        team.barrier()
        if count == by:
            return count
        count += moved(team, x, row, 1)


def shift_all(team, x, by, told):
    r = team.league_rank
    distance = shifted(team, x, r, by[r])
    if es.single(es.PerTeam(team)):
        told[r] = distance


def test_helpers_wait_and_return_from_several_places(space):
    by = np.array([0, 1, 2, 5, -1, -4, 0])
    x = np.tile(np.arange(8), (7, 1))
    told = np.zeros(7, np.int64)
    staged.parallel_for(league(space, 7), shift_all, x, by, told)
    assert told.tolist() == by.tolist()
    for row, distance in zip(x, by, strict=True):
        assert row.tolist() == np.roll(np.arange(8), -distance).tolist()


# -- what a thread keeps --------------------------------------------------------------------------


def kept(team, x, found):
    r, me, n = team.league_rank, team.team_rank, team.team_size
    number = me + 0.5
    flag = me % 2 == 0
    pair = (me, 2 * me)
    history = es.local((2, 3), es.float64)
    for k in range(3):
        history[0, k] = me * 10 + k
        history[1, k] = 0
    team.barrier()
    for k in range(3):
        x[r, me] = history[0, k] + number
        team.barrier()
        history[1, k] = x[r, n - 1 - me]
        number += 1
        flag = not flag
        pair = (pair[1], pair[0])
        team.barrier()
    team.barrier()
    for k in range(3):
        found[r, me, k] = history[1, k]
    found[r, me, 3] = number
    found[r, me, 4] = 1 if flag else 0
    found[r, me, 5] = pair[0]
    found[r, me, 6] = pair[1]


def test_variables_and_private_arrays_live_across_barriers(space):
    policy = league(space, 3)
    n = policy.team_size
    x, found = np.zeros((3, n)), np.zeros((3, n, 7))
    staged.parallel_for(policy, kept, x, found)
    for thread in range(n):
        other = n - 1 - thread
        row = [other * 10 + k + other + 0.5 + k for k in range(3)]
        row += [thread + 3.5, thread % 2, 2 * thread, thread]
        assert found[:, thread].tolist() == [row] * 3


def until_it_is_enough(team, x, goals):
    """What is read after a barrier is the same for all, and may decide for all."""
    r = team.league_rank
    while True:
        team.barrier()
        if x[r] >= goals[r]:
            break
        team.barrier()
        if es.single(es.PerTeam(team)):
            x[r] += 3
    team.barrier()
    if es.single(es.PerTeam(team)):
        x[r] *= 100


def test_threads_decide_by_what_one_of_them_has_stored(space):
    x, goals = np.array([0, 1, 50, 2]), np.array([7, 1, 9, 30])
    staged.parallel_for(league(space, 4), until_it_is_enough, x, goals)
    assert x.tolist() == [900, 100, 5000, 3200]

"""What no team can do is refused before anything runs, with the line and with what to write."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged

from .shapes import league


def barrier_under_a_condition(team, x):
    if team.team_rank == 0:
        team.barrier()


def barrier_in_a_range(team, x):
    for i in es.TeamThreadRange(team, 4):
        x[i] = 1
        team.barrier()


def barrier_in_a_loop_of_some(team, x):
    for _ in range(team.team_rank):
        team.barrier()


def barrier_after_some_have_left(team, x):
    if team.team_rank > 1:
        return
    team.barrier()


def barrier_in_a_helper(team, x):
    if x[team.team_rank] > 0:
        waiting(team)


def waiting(team):
    team.barrier()


def reduction_under_a_condition(team, x):
    if team.team_rank == 1:
        x[0] = es.parallel_reduce(es.TeamThreadRange(team, 4), lambda i: x[i])


def team_reduce_in_a_range(team, x):
    for i in es.TeamThreadRange(team, 4):
        x[i] = team.reduce(1.0)


def scan_of_some(team, x):
    if team.team_rank > 0:
        x[1] = team.scan(1.0)


def broadcast_of_some(team, x):
    if team.team_rank > 0:
        x[1] = team.broadcast(1.0, 0)


def ranks_of_a_broadcast(team, x):
    x[0] = team.broadcast(1.0, team.team_rank)


def bounds_of_a_scan(team, x):
    es.parallel_scan(es.TeamThreadRange(team, team.team_rank), lambda i, prefix, final: 1)


def lanes_of_a_scan_under_a_condition(team, x):
    for i in es.ThreadVectorRange(team, 4):
        x[i] = es.parallel_reduce(es.ThreadVectorRange(team, 4), lambda j: x[j])


def threads_in_threads(team, x):
    for i in es.TeamThreadRange(team, 4):
        for j in es.TeamThreadRange(team, 4):
            x[i] = j


def all_lanes_in_threads(team, x):
    for i in es.TeamThreadRange(team, 4):
        for j in es.TeamVectorRange(team, 4):
            x[i] = j


def lanes_in_all_lanes(team, x):
    for i in es.TeamVectorRange(team, 4):
        for j in es.ThreadVectorRange(team, 4):
            x[i] = j


def leaving_a_range(team, x):
    for i in es.TeamThreadRange(team, 4):
        if x[i] > 0:
            break


def returning_from_a_range(team, x):
    for i in es.ThreadVectorRange(team, 4):
        if x[i] > 0:
            return


def adding_in_a_range(team, x):
    s = 0.0
    for i in es.TeamThreadRange(team, 4):
        s += x[i]
    x[0] = s


def reading_after_a_range(team, x):
    for i in es.TeamVectorRange(team, 4):
        last = x[i]
    x[0] = last


def private_array_in_a_range(team, x):
    mine = es.local(4)
    for i in es.ThreadVectorRange(team, 4):
        mine[i] = x[i]
    x[0] = mine[0]


def private_array_in_all_lanes(team, x):
    mine = es.local(1)
    for i in es.TeamVectorRange(team, 4):
        mine[0] += x[i]
    x[0] = mine[0]


def range_of_floats(team, x):
    for i in es.TeamThreadRange(team, 4.0):
        x[i] = 1


def range_without_a_team(team, x):
    for i in es.TeamThreadRange(4, 8):
        x[i] = 1


def range_of_too_few_dimensions(team, x):
    for i, j in es.TeamThreadMDRange(team, 4):
        x[i] = j


def single_of_a_team(team, x):
    if es.single(team):
        x[0] = 1


def unknown_attribute(team, x):
    x[0] = team.size


def level_of_scratch(team, x):
    team.scratch(4, level=2)[0] = x[0]


def scan_of_a_grid(team, x):
    es.parallel_scan(es.TeamThreadMDRange(team, 2, 2), lambda i, j, prefix, final: 1)


def array_reduction(team, x):
    es.parallel_reduce(es.TeamThreadRange(team, 4), lambda i: x[i], reducer=es.Sum(shape=2))


FAULTS = (es.KernelTypeError, es.KernelSyntaxError)
DIFFERS = "the condition in line {} differs between them"
REFUSED = [
    (barrier_under_a_condition, f"not all threads of the team reach team.barrier(): {DIFFERS}"),
    (
        barrier_in_a_range,
        "not all threads of the team reach team.barrier(): it stands in the range over the "
        "threads of the team of line {}",
    ),
    (
        barrier_in_a_loop_of_some,
        "not all threads of the team reach team.barrier(): the rounds of the loop in line {} "
        "differ between them",
    ),
    (
        barrier_after_some_have_left,
        "not all threads of the team reach team.barrier(): ",
    ),
    (barrier_in_a_helper, f"not all threads of the team reach team.barrier(): {DIFFERS}"),
    (reduction_under_a_condition, "not all threads of the team reach a collective of the threads"),
    (team_reduce_in_a_range, "not all threads of the team reach a collective of the threads"),
    (scan_of_some, "not all threads of the team reach team.scan: "),
    (broadcast_of_some, "not all threads of the team reach a broadcast: "),
    (ranks_of_a_broadcast, "the threads of the team name different ranks in a broadcast"),
    (bounds_of_a_scan, "the threads of the team give a scan different bounds"),
    (lanes_of_a_scan_under_a_condition, "a range over the lanes of a thread within one over the"),
    (threads_in_threads, "a range over the threads of the team within one over the threads of the"),
    (all_lanes_in_threads, "a range over the team's members within one over the threads of the"),
    (lanes_in_all_lanes, "a range over the lanes of a thread within one over the team's members"),
    (leaving_a_range, "break in a loop over es.TeamThreadRange, whose iterations run at once"),
    (returning_from_a_range, "return in a loop over es.ThreadVectorRange"),
    (
        adding_in_a_range,
        "'s' is set in the loop over es.TeamThreadRange of line {}, whose iterations run at once, "
        "so it has no value here",
    ),
    (
        reading_after_a_range,
        "'last' is set in the loop over es.TeamVectorRange of line {}, whose iterations run at "
        "once, so it has no value here",
    ),
    (private_array_in_a_range, "a private array is changed in a range over lanes"),
    (private_array_in_all_lanes, "a private array is changed in a range over lanes"),
    (range_of_floats, "es.TeamThreadRange takes integers, got "),
    (range_without_a_team, "es.TeamThreadRange takes a team first, got "),
    (range_of_too_few_dimensions, "es.TeamThreadMDRange got 1 extent"),
    (single_of_a_team, "es.single takes es.PerTeam or es.PerThread, got "),
    (unknown_attribute, "a team has no attribute 'size'"),
    (level_of_scratch, "the level of scratch is 0 or 1, a constant"),
    (scan_of_a_grid, "es.parallel_scan over es.TeamThreadMDRange"),
    (array_reduction, "Sum joins arrays, which nested ranges cannot"),
]


@pytest.mark.parametrize(("kernel", "message"), REFUSED, ids=[k.__name__ for k, _ in REFUSED])
def test_what_a_team_cannot_do(space, kernel, message):
    x = np.ones(8)
    line = kernel.__code__.co_firstlineno + 1
    if kernel is adding_in_a_range:
        line += 1
    with pytest.raises(FAULTS) as caught:
        staged.parallel_for(league(space, 2, (4, 2)), kernel, x)
    assert message.format(line) in str(caught.value)
    assert "hint: " in str(caught.value)
    assert (x == 1).all()


def test_threads_of_a_team_return_one_value(space):
    """A team contributes once, to a reduction as to a scan, so its threads must agree."""

    def rank(team):
        return team.team_rank

    def scanned(team, prefix, final):
        return team.team_rank

    policy = league(space, 2, (4, 2))
    with pytest.raises(FAULTS, match="return different values, but a team contributes"):
        es.parallel_reduce(policy, rank)
    with pytest.raises(FAULTS, match="return different values, but a team contributes"):
        es.parallel_scan(policy, scanned)


def test_words_of_teams_in_kernels_of_ranges(space):
    """They need the handle of a team, which only kernels of a TeamPolicy have."""

    def kernel(i, x):
        for j in es.TeamThreadRange(i, 4):
            x[j] = 1

    league(space, 1)
    with pytest.raises(es.KernelTypeError, match="TeamThreadRange takes a team first, got"):
        staged.parallel_for(es.RangePolicy(4, space=space), kernel, np.zeros(4))

"""Kernels of teams that say what no team can do."""

from __future__ import annotations

import execspace as es

from .cases import F64, I64, case

TEAMS = es.TeamPolicy(2, 4)


def keep(mine, x, k):
    mine[k] = 1.0
    x[k] = 2.0


@case(F64, policy=TEAMS)
def attribute_that_no_team_has(team, x):
    x[0] = team.rank


@case(F64, policy=TEAMS)
def method_of_a_team_with_too_much(team, x):
    team.barrier(1)


@case(F64, policy=TEAMS)
def range_without_a_team(team, x):
    for k in es.TeamThreadRange(4):
        x[k] = 1.0


@case(F64, policy=TEAMS)
def range_of_too_many_bounds(team, x):
    for k in es.TeamThreadRange(team, 0, 4, 2):
        x[k] = 1.0


@case(F64, policy=TEAMS)
def range_of_several_indices_with_one(team, x):
    for k in es.TeamThreadMDRange(team, 4):
        x[k] = 1.0


@case(F64, policy=TEAMS)
def range_up_to_a_float(team, x):
    for k in es.TeamThreadRange(team, x[0]):
        x[k] = 1.0


@case(F64, policy=TEAMS)
def range_in_a_variable(team, x):
    threads = es.TeamThreadRange(team, 4)
    for k in threads:
        x[k] = 1.0


@case(F64, policy=TEAMS)
def return_in_a_nested_range(team, x):
    for k in es.TeamThreadRange(team, 4):
        if x[k] > 0:
            return


@case(F64, policy=TEAMS)
def break_in_a_nested_range(team, x):
    for k in es.TeamVectorRange(team, 4):
        if x[k] > 0:
            break


@case(F64, policy=TEAMS)
def sum_in_a_nested_range(team, x):
    total = 0.0
    for k in es.TeamThreadRange(team, 4):
        total += x[k]
    x[0] = total


@case(F64, policy=TEAMS)
def whose_of_nothing(team, x):
    if es.single(es.PerTeam(x)):
        x[0] = 1.0


@case(F64, policy=TEAMS)
def single_of_a_team(team, x):
    if es.single(team):
        x[0] = 1.0


@case(F64, policy=TEAMS)
def whose_in_a_variable(team, x):
    once = es.PerTeam(team)
    x[0] = es.single(once)


@case(F64, policy=TEAMS)
def broadcast_from_a_float(team, x):
    x[0] = team.broadcast(1.0, 0.5)


@case(F64, policy=TEAMS)
def broadcast_from_different_threads(team, x):
    x[0] = team.broadcast(1.0, team.team_rank)


@case(F64, policy=TEAMS)
def scratch_of_no_level(team, x):
    at = team.scratch(4, level=2)
    at[0] = x[0]


@case(F64, policy=TEAMS)
def scratch_of_no_rank(team, x):
    at = team.scratch(())
    at[()] = x[0]


@case(F64, policy=TEAMS)
def scratch_of_a_negative_extent(team, x):
    at = team.scratch((4, -1))
    at[0, 0] = x[0]


@case(F64, policy=TEAMS)
def scratch_up_to_a_float(team, x):
    at = team.scratch(x[0])
    at[0] = x[0]


@case(F64, policy=TEAMS)
def scratch_that_each_team_wants_another_size_of(team, x):
    at = team.scratch(team.league_rank + 1)
    at[0] = x[0]


@case(I64, policy=TEAMS)
def scratch_of_a_size_that_is_read(team, x):
    at = team.scratch(int(x[0]))
    at[0] = x[0]


@case(F64, policy=TEAMS)
def reducer_that_is_a_number(team, x):
    x[0] = es.parallel_reduce(es.TeamThreadRange(team, 4), lambda k: x[k], reducer=1.0)


@case(F64, policy=TEAMS)
def reducer_of_no_known_name(team, x):
    x[0] = es.parallel_reduce(es.TeamThreadRange(team, 4), lambda k: x[k], reducer="median")


@case(F64, policy=TEAMS)
def reducer_of_arrays_in_a_nested_range(team, x):
    join = es.Sum(shape=3)
    x[0] = es.parallel_reduce(es.TeamThreadRange(team, 4), lambda k: x[k], reducer=join)


@case(F64, policy=TEAMS)
def reducer_of_something_not_known_yet(team, x):
    x[0] = team.reduce(x[0], es.Sum(dtype=x))


@case(F64, policy=TEAMS)
def reducer_with_wrong_options(team, x):
    x[0] = team.reduce(x[0], es.Sum(colour="blue"))


@case(F64, policy=TEAMS)
def contribution_that_is_a_view(team, x):
    x[0] = es.parallel_reduce(es.TeamThreadRange(team, 4), lambda k: None)


@case(F64, policy=TEAMS)
def value_of_a_team_that_is_a_view(team, x):
    x[0] = team.reduce(x)


@case(F64, policy=TEAMS)
def nested_launch_with_an_unknown_option(team, x):
    x[0] = es.parallel_reduce(es.TeamThreadRange(team, 4), lambda k: x[k], out=x)


@case(F64, policy=TEAMS)
def nested_launch_of_a_number(team, x):
    x[0] = es.parallel_reduce(es.TeamThreadRange(team, 4), 1.0)


@case(F64, policy=TEAMS)
def nested_scan_over_several_indices(team, x):
    es.parallel_scan(es.TeamThreadMDRange(team, 2, 2), lambda i, j, before, final: 1.0)


@case(F64, policy=TEAMS)
def barrier_that_some_reach(team, x):
    if team.team_rank > 0:
        team.barrier()


@case(F64, policy=TEAMS)
def barrier_in_a_nested_range(team, x):
    for k in es.TeamThreadRange(team, 4):
        x[k] = 1.0
        team.barrier()


@case(F64, policy=TEAMS)
def barrier_after_some_have_left(team, x):
    if x[team.team_rank] > 0:
        return
    team.barrier()


@case(F64, policy=TEAMS)
def reduction_that_some_reach(team, x):
    for n in range(team.team_rank):
        x[n] = es.parallel_reduce(es.TeamVectorRange(team, 4), lambda k: x[k])


@case(F64, policy=TEAMS)
def threads_within_threads(team, x):
    for i in es.TeamThreadRange(team, 2):
        for j in es.TeamThreadRange(team, 2):
            x[i + j] = 1.0


@case(F64, policy=TEAMS)
def private_array_that_lanes_change(team, x):
    mine = es.local(4)
    for k in es.ThreadVectorRange(team, 4):
        mine[k] = x[k]
    x[0] = mine[0]


@case(F64, policy=TEAMS)
def scan_with_different_bounds(team, x):
    es.parallel_scan(es.TeamThreadRange(team, team.team_rank), lambda k, before, final: 1.0)


@case(F64, policy=TEAMS, reduce=True)
def contributions_that_differ(team, x):
    return x[team.team_rank]


@case(F64, policy=TEAMS)
def parameters_for_indices_of_a_range(i, j, x):
    x[i] = j


class Modulo(es.Reducer):
    identity = 0

    def __init__(self, m):
        self.m = m

    def join(self, a, b):
        return (a + b) % self.m


@case(F64, policy=TEAMS)
def reducer_of_ones_own_made_in_a_kernel(team, x):
    own = Modulo(7)
    x[0] = es.parallel_reduce(es.TeamThreadRange(team, 4), lambda k: k, reducer=own)


@case(F64, policy=TEAMS)
def reducer_of_ones_own_without_its_arguments(team, x):
    x[0] = es.parallel_reduce(es.TeamThreadRange(team, 4), lambda k: k, reducer=Modulo)


@case(F64, policy=TEAMS)
def keyword_of_single(team, x):
    if es.single(es.PerTeam(team), value=2.0):
        x[0] = 1.0


@case(F64, policy=TEAMS, reduce=True, reducer=es.Sum(shape=2))
def return_before_the_end_of_an_array_reduction(team, s, x):
    if team.league_rank == 1:
        return
    s[0] += x[0]


@case(F64, policy=TEAMS)
def range_of_nine_indices(team, x):
    for k in es.ThreadVectorMDRange(team, 1, 1, 1, 1, 1, 1, 1, 1, 2):
        x[0] = 1.0


@case(F64, policy=TEAMS)
def range_of_several_indices_with_a_tuple(team, x):
    for i, j in es.TeamThreadMDRange(team, (2, 3)):
        x[i] = j


@case(F64, policy=TEAMS)
def range_of_several_indices_without_a_team(team, x):
    for i, j in es.TeamThreadMDRange(3, 3):
        x[i] = j

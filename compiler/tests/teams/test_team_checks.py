"""What not all members of a team would reach, or do alike, is refused; the messages say why."""

from __future__ import annotations

import pytest

import execspace as es
from execspace import Kernel, KernelError, LaunchSpec, Sum, ViewType
from execspace.contract.argtypes import SCALAR_TYPES
from execspace.contract.launch_spec import policy_spec
from execspace_compiler import lower_kernel


def lowered(kernel, *arguments, pattern="for"):
    """A kernel of teams, for Views of rank 1 by their dtype, and numbers by their type."""
    types = [
        ViewType(a, 1, "right", 0, False, "host") if isinstance(a, str) else SCALAR_TYPES[a]
        for a in arguments
    ]
    reducer = None if pattern == "for" else Sum()
    spec = LaunchSpec(pattern, policy_spec("team", 1), tuple(types), reducer=reducer)
    return lower_kernel(Kernel(kernel), spec)


def refused(kernel, *arguments, **options):
    """Message of the fault, without the excerpt."""
    with pytest.raises(KernelError) as caught:
        lowered(kernel, *(arguments or ("float64",)), **options)
    return str(caught.value)


# -- barriers ---------------------------------------------------------------------------------


def test_a_barrier_under_a_condition_on_the_rank():
    def kernel(team, x):
        if team.team_rank > 1:
            team.barrier()

    message = refused(kernel)
    assert "not all threads of the team reach team.barrier(): the condition in line" in message
    assert "differs between them" in message


def test_a_barrier_in_a_loop_of_another_length_for_each_thread():
    def kernel(team, x):
        for _ in range(team.team_rank):
            team.barrier()

    assert "the rounds of the loop in line" in refused(kernel)


def test_a_while_whose_condition_the_body_makes_differ():
    def kernel(team, x):
        i = 0
        while i < 3:
            team.barrier()
            i += 1 + team.team_rank

    assert "the rounds of the loop in line" in refused(kernel)


def test_a_loop_that_some_leave():
    def kernel(team, x):
        for k in range(4):
            if k == team.team_rank:
                break
            team.barrier()

    assert "some of them leave the loop before" in refused(kernel)


def test_a_return_of_some_before_a_barrier():
    def kernel(team, x):
        if team.team_rank == 3:
            return
        team.barrier()

    assert "not all threads of the team reach team.barrier()" in refused(kernel)


def test_a_barrier_in_a_nested_range():
    def kernel(team, x):
        for _ in es.TeamThreadRange(team, 4):
            team.barrier()

    message = refused(kernel)
    assert "it stands in the range over the threads of the team of line" in message


def test_values_that_only_seem_to_differ():
    def kernel(team, x, n):
        scratch = team.scratch(1)
        if es.single(es.PerTeam(team)):
            scratch[0] = x[0]
        team.barrier()
        if scratch[0] > 0:  # all threads read the same number
            team.barrier()
        total = team.reduce(team.team_rank)
        for _ in range(total):
            team.barrier()
        rank = team.broadcast(team.team_rank, 0)
        while rank < n:
            team.barrier()
            rank += 1

    assert lowered(kernel, "float64", int).leading == 4


def test_helpers_are_looked_into():
    def wait(team):
        team.barrier()

    def kernel(team, x):
        if team.team_rank == 0:
            wait(team)

    assert "team.barrier()" in refused(kernel)


# -- collectives ------------------------------------------------------------------------------


def test_a_reduction_of_the_team_by_some():
    def kernel(team, x):
        if team.team_rank == 0:
            x[0] = es.parallel_reduce(es.TeamThreadRange(team, 3), lambda k: k)

    assert "a collective of the threads of the team" in refused(kernel)


def test_a_reduction_over_lanes_by_some_threads_is_fine():
    def kernel(team, x):
        if team.team_rank == 0:
            x[0] = es.parallel_reduce(es.ThreadVectorRange(team, 3), lambda k: k)

    assert lowered(kernel, "float64").leading == 4


def test_a_broadcast_from_different_threads():
    def kernel(team, x):
        x[0] = team.broadcast(1.0, team.team_rank)

    assert "name different ranks in a broadcast" in refused(kernel)


def test_a_scan_with_different_bounds():
    def kernel(team, x):
        es.parallel_scan(es.TeamThreadRange(team, team.team_rank), lambda k, before, final: 1)

    assert "give a scan different bounds" in refused(kernel)


def test_contributions_that_differ():
    def kernel(team, x):
        return x[team.team_rank]

    message = refused(kernel, pattern="reduce")
    assert "return different values, but a team contributes once" in message
    assert "team.reduce(value)" in message


# -- nested ranges ----------------------------------------------------------------------------


def test_ranges_of_threads_in_one_another():
    def kernel(team, x):
        for i in es.TeamThreadRange(team, 4):
            for j in es.TeamThreadRange(team, 4):
                x[i + j] = 1

    assert "a range over the threads of the team within one" in refused(kernel)


def test_break_and_return_in_a_nested_range():
    def leaves(team, x):
        for k in es.TeamThreadRange(team, 4):
            if x[k] > 0:
                break

    def returns(team, x):
        for k in es.TeamThreadRange(team, 4):
            if x[k] > 0:
                return

    assert "break in a loop over es.TeamThreadRange, whose iterations run at once" in refused(
        leaves
    )
    assert "return in a loop over es.TeamThreadRange" in refused(returns)


def test_a_sum_over_iterations_that_run_at_once():
    def kernel(team, x):
        total = 0.0
        for k in es.TeamThreadRange(team, 4):
            total += x[k]
        x[0] = total

    message = refused(kernel)
    assert "'total' is set in the loop over es.TeamThreadRange of line" in message
    assert "es.parallel_reduce" in message


def test_a_private_array_that_lanes_change():
    def kernel(team, x):
        mine = es.local(4)
        for k in es.ThreadVectorRange(team, 4):
            mine[k] = x[k]
        x[0] = mine[0]

    assert "a private array is changed in a range over lanes" in refused(kernel)


def test_a_range_in_a_variable():
    def kernel(team, x):
        threads = es.TeamThreadRange(team, 4)
        for k in threads:
            x[k] = 1

    assert "cannot be kept in a variable" in refused(kernel)


# -- scratch ----------------------------------------------------------------------------------


def test_sizes_that_are_not_known_before_the_launch():
    def by_league(team, x):
        at = team.scratch(team.league_rank + 1)
        at[0] = x[0]

    def by_element(team, x):
        at = team.scratch(int(x[0]))
        at[0] = x[0]

    def of_a_scan(team, before, final, x):
        at = team.scratch(before + 1)
        at[0] = x[0]
        return 1

    assert "the size of scratch is not known before the launch" in refused(by_league)
    assert "an element of View 'x' is read in the kernel" in refused(by_element)
    assert "not known before the launch" in refused(of_a_scan, pattern="scan")


def test_sizes_may_be_computed_step_by_step():
    def kernel(team, x, n):
        halo = 2 * n + 1
        extent = team.team_size + halo
        at = team.scratch((extent, x.extent(0)), es.float32)
        more = team.thread_scratch(at.extent(0) // 2)
        at[0, 0] = 1
        more[0] = 1

    assert lowered(kernel, "float64", int).leading == 4


def own_element(team, x):
    rank = team.league_rank
    return x[rank]


def first_of_scratch(team, x):
    at = team.scratch(4)
    for k in es.TeamThreadRange(team, 4):
        at[k] = x[k]
    team.barrier()
    return at[1]


@pytest.mark.parametrize("second", [own_element, first_of_scratch])
def test_a_helper_that_is_given_the_team_contributes_what_all_threads_have(second):
    def kernel(team, x):
        return own_element(team, x) + second(team, x)

    assert lowered(kernel, "float64", pattern="reduce").reduction is not None


def test_what_a_helper_computes_from_the_rank_differs():
    def of_rank(team, x):
        return x[team.team_rank]

    def kernel(team, x):
        return of_rank(team, x) + first_of_scratch(team, x)

    assert "the threads of the team return different values" in refused(kernel, pattern="reduce")

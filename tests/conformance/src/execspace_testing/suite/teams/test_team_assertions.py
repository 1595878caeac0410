"""Assertions of teams: what one guards is not done, nobody hangs, and other teams go on.

Each kernel stores at places that it has tested. One place lies outside of what it may touch, in an
array that is larger, so that a store there is seen and does no harm.
"""

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged

from .shapes import league

TEAMS, WIDTH, BAD, INDEX = 5, 16, 3, 1  # the team that fails, and the number of its index
MOST = TEAMS * WIDTH
SHAPES = pytest.mark.parametrize("shape", [(1, 1), (2, 1), (4, 4)], ids=lambda s: f"{s[0]}x{s[1]}")


def by_members(team, p, y, after):
    r, me = team.league_rank, team.team_rank
    if me == team.team_size - 1:
        at = p[r, 1]
        assert at < MOST
        y[at] += 1
    after[r, me] = 1


def checked(at):
    assert at < MOST, "too large"
    return at


def in_helpers(team, p, y, after):
    r, me = team.league_rank, team.team_rank
    if me == 0:
        y[checked(p[r, 1])] += 1
    after[r, me] = 1


def stored(team, p, y, k):
    at = p[team.league_rank, k]
    assert at < MOST
    y[at] += 1


def in_helpers_that_take_the_team(team, p, y, after):
    for k in es.TeamThreadRange(team, WIDTH):
        stored(team, p, y, k)
    after[team.league_rank, team.team_rank] = 1


def of_all_members(team, p, y, after):
    at = p[team.league_rank, 1]
    assert at < MOST
    es.atomic_add(y, at, 1)
    after[team.league_rank, team.team_rank] = 1


def in_plain_loops(team, p, y, after):
    r, me = team.league_rank, team.team_rank
    if me == 0:
        for _ in range(2):
            k = 0
            while k < WIDTH:
                assert p[r, k] < MOST
                y[p[r, k]] += 1
                k += 1
    after[r, me] = 1


def in_ranges_over_threads(team, p, y, after):
    r = team.league_rank
    for k in es.TeamThreadRange(team, WIDTH):
        assert p[r, k] < MOST
        y[p[r, k]] += 1
        assert y[p[r, k]] >= 0
        y[p[r, k]] += 1
    after[r, team.team_rank] = 1


def in_ranges_over_lanes(team, p, y, after):
    r = team.league_rank
    for i in es.TeamThreadRange(team, 2):
        for k in es.ThreadVectorRange(team, WIDTH // 2):
            at = p[r, i * (WIDTH // 2) + k]
            assert at < MOST
            y[at] += 1
        y[p[r, i * (WIDTH // 2) + 1]] += 1
    after[r, team.team_rank] = 1


def in_ranges_over_all_lanes(team, p, y, after):
    r = team.league_rank
    for k in es.TeamVectorRange(team, WIDTH):
        assert p[r, k] < MOST
        y[p[r, k]] += 1
    after[r, team.team_rank] = 1


def in_ranges_of_two_indices(team, p, y, after):
    r = team.league_rank
    for i, j in es.TeamVectorMDRange(team, 4, WIDTH // 4):
        k = i * 4 + j
        if k % 2 == 1:
            assert p[r, k] < MOST
        y[p[r, k]] += 1
    after[r, team.team_rank] = 1


def in_nested_functions(team, p, y, after):
    r = team.league_rank

    def body(k):
        assert p[r, k] < MOST
        y[p[r, k]] += 1

    es.parallel_for(es.TeamThreadRange(team, WIDTH), body)
    after[r, team.team_rank] = 1


def before_a_barrier(team, p, y, after):
    r, me = team.league_rank, team.team_rank
    if me == team.team_size - 1:
        assert p[r, 1] < MOST
        y[p[r, 1]] += 1
    team.barrier()
    y[p[r, me]] += 1
    after[r, me] = 1


def between_barriers_of_a_loop(team, p, y, after):
    r, me = team.league_rank, team.team_rank
    rounds = 0
    while rounds < 3:
        team.barrier()
        for k in es.TeamVectorRange(team, WIDTH):
            assert p[r, k] < MOST or rounds < 1
            y[p[r, k] if rounds > 0 else r * WIDTH + k] += 1
        if rounds == 7:
            break
        rounds += 1
    after[r, me] = 1


def under_a_condition_with_a_barrier(team, p, y, after):
    r, me = team.league_rank, team.team_rank
    if r > 0:
        assert p[r, 1] < MOST or me > 0
        team.barrier()
        y[p[r, me]] += 1
    else:
        y[p[r, me]] += 1
    after[r, me] = 1


def before_collectives(team, p, y, after):
    r, me = team.league_rank, team.team_rank
    at = p[r, me + 1] if me == 0 else p[r, 0]
    assert at < MOST
    total = team.reduce(at, es.Max)
    first = team.broadcast(at, 0)
    place = team.scan(1)
    es.atomic_add(y, first, 1)
    es.atomic_add(y, r * WIDTH + total % WIDTH, 1)
    es.atomic_add(y, r * WIDTH + place, 1)
    after[r, me] = 1


def in_nested_reductions(team, p, y, after):
    r = team.league_rank

    def place(k):
        at = p[r, k]
        assert at < MOST
        y[at] += 1
        return y[at]

    threads = es.parallel_reduce(es.TeamThreadRange(team, WIDTH // 2), place)
    lanes = es.parallel_reduce(es.TeamVectorRange(team, WIDTH // 2, WIDTH), place)
    if team.team_rank == 0:
        y[r * WIDTH] += threads + lanes
    after[r, team.team_rank] = 1


def in_nested_scans(team, p, y, after):
    r = team.league_rank

    def place(k, prefix, final):
        at = p[r, k]
        assert at < MOST
        if final:
            es.atomic_add(y, at, prefix)  # without the one that failed, two have one prefix
            es.atomic_add(y, r * WIDTH + prefix, 1)
        return 1

    es.parallel_scan(es.TeamThreadRange(team, WIDTH), place)
    es.parallel_scan(es.TeamVectorRange(team, WIDTH), place)
    after[r, team.team_rank] = 1


def in_scans_over_lanes(team, p, y, after):
    r = team.league_rank
    for i in es.TeamThreadRange(team, 2):

        def place(k, prefix, final):
            at = p[r, i * (WIDTH // 2) + k]
            assert at < MOST
            if final:
                y[at] += prefix
            return 1

        n = es.parallel_scan(es.ThreadVectorRange(team, WIDTH // 2), place)
        y[p[r, i * (WIDTH // 2) + n - 7]] += 1
    after[r, team.team_rank] = 1


def with_scratch(team, p, y, after):
    r = team.league_rank
    held = team.scratch(WIDTH, es.int64)
    for k in es.TeamThreadRange(team, WIDTH):
        held[k] = p[r, k]
        assert held[k] < MOST
    own = team.thread_scratch(2, es.int64, level=1)
    own[0] = 1
    team.barrier()
    for k in es.TeamThreadRange(team, WIDTH):
        y[held[k]] += own[0]
    after[r, team.team_rank] = 1


KERNELS = (
    by_members, in_helpers, in_helpers_that_take_the_team, of_all_members, in_plain_loops,
    in_ranges_over_threads, in_ranges_over_lanes, in_ranges_over_all_lanes,
    in_ranges_of_two_indices, in_nested_functions,
)  # fmt: skip
TOGETHER = (
    before_a_barrier, between_barriers_of_a_loop, under_a_condition_with_a_barrier,
    before_collectives, in_nested_reductions, in_nested_scans, with_scratch,
)  # fmt: skip


def run(launch, policy, kernel, bad):
    """What a launch leaves in `y` with what lies beside it, and in `after`; what it returns."""
    p = np.arange(MOST).reshape(TEAMS, WIDTH)
    if bad:
        p[BAD, INDEX] = MOST + 4
    whole = np.zeros(MOST + 8, np.int64)
    after = np.zeros((TEAMS, max(policy.team_size, WIDTH)), np.int64)
    found, error = None, None
    try:
        found = launch(policy, kernel, p, whole[:MOST], after)
    except es.KernelAssertionError as caught:
        error = str(caught)
    return whole, after, found, error


def check(space, launch, policy, kernel, together):
    """Run a kernel whose assertions hold, and where one fails."""
    size = policy.team_size
    expected, after, _, error = run(launch, policy, kernel, bad=False)
    assert error is None
    assert expected.any() and not expected[MOST:].any()
    assert (after.sum(1) == size).all()
    whole, after, _, error = run(launch, policy, kernel, bad=True)
    assert error is not None
    assert f"in kernel '{kernel.__name__}' at index {BAD}\n" in error
    assert not whole[MOST:].any()
    assert after[BAD].sum() <= (0 if together else size - 1)
    others = [r for r in range(TEAMS) if r != BAD]
    if space.name == "oracle":  # which stops at once
        others = others[:BAD]
    rows = np.s_[:MOST]
    np.testing.assert_array_equal(
        whole[rows].reshape(TEAMS, WIDTH)[others], expected[rows].reshape(TEAMS, WIDTH)[others]
    )
    assert (after[others].sum(1) == size).all()


@SHAPES
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_a_member_does_nothing_more(space, kernel, shape):
    check(space, staged.parallel_for, league(space, TEAMS, shape), kernel, together=False)


def test_lanes_of_a_thread_do_nothing_more_after_a_scan(space):
    policy = league(space, TEAMS, (2, 4))
    check(space, staged.parallel_for, policy, in_scans_over_lanes, together=False)


@SHAPES
@pytest.mark.parametrize("kernel", TOGETHER, ids=lambda k: k.__name__)
def test_a_team_leaves_at_the_next_place_where_all_wait(space, kernel, shape):
    check(space, staged.parallel_for, league(space, TEAMS, shape), kernel, together=True)


def counted(team, p, y, after):
    before_a_barrier(team, p, y, after)
    assert p[team.league_rank, 0] >= 0
    return team.league_rank, 1.0


@SHAPES
def test_reductions(space, shape):
    def launch(policy, kernel, *args):
        return staged.parallel_reduce(policy, kernel, *args, reducer=(es.Sum, es.Sum))

    check(space, launch, league(space, TEAMS, shape), counted, together=True)
    found = run(launch, league(space, TEAMS, shape), counted, bad=False)[2]
    assert found == (10, 5.0)


def placed(team, prefix, final, p, y, after):
    at = p[team.league_rank, 1]
    assert at < MOST or not final
    team.barrier()
    if final:
        es.atomic_add(y, at, 1 if prefix >= 0 else 0)  # which is not known where a team fails
        after[team.league_rank, team.team_rank] = 1
    return 1


@SHAPES
def test_scans(space, shape):
    check(space, staged.parallel_scan, league(space, TEAMS, shape), placed, together=True)

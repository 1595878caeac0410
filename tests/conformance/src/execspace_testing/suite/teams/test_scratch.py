"""Scratch memory: what a team or a thread has for itself, at both levels, and how much of it."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import fitting, needs_atomic, needs_dtype

from .shapes import every_shape, league, small_integers, two_shapes


def turned(team, x, sizes):
    """A row is turned round through scratch; what is beside it counts the threads."""
    r, n = team.league_rank, x.extent(1)
    held = team.scratch(n + 2 * team.team_size, es.float32)
    for i in es.TeamVectorRange(team, n):
        held[i] = x[r, i]
    held[n + 2 * team.team_rank] = 1.0
    held[n + 2 * team.team_rank + 1] = 2.0
    team.barrier()
    for i in es.TeamVectorRange(team, n):
        x[r, i] = held[n - 1 - i]
    count = 0.0
    for k in range(n, held.extent(0)):
        count += held[k]
    if team.team_rank == team.team_size - 1:
        sizes[r, 0] = count
        sizes[r, 1] = team.team_size


@every_shape
def test_threads_share_the_scratch_of_their_team(space, shape):
    x, sizes = small_integers((6, 75)), np.zeros((6, 2))
    expected = x[:, ::-1].copy()
    staged.parallel_for(league(space, 6, shape), turned, x, sizes)
    assert (x == expected).all()
    assert (sizes[:, 0] == 3 * sizes[:, 1]).all()
    assert (sizes[:, 1] == sizes[0, 1]).all()


def of_ranks(team, x, found):
    """One array of each rank and dtype, at both levels; odd sizes, so that each is aligned anew."""
    r, me = team.league_rank, team.team_rank
    line = team.scratch(7, es.int8)
    grid = team.scratch((3, x.extent(1)), es.complex128)
    small = team.scratch(5, es.int16, level=1)
    block = team.scratch((x.extent(1), 2, 3), dtype=es.float64, level=1)
    mine = team.thread_scratch(3, es.uint8)
    flags = team.thread_scratch((2, 2), es.int32, 1)
    for i in es.TeamVectorRange(team, 7):
        line[i] = i - 3
    for i in es.TeamThreadRange(team, 5):
        small[i] = -1000 * i
    for i in es.TeamThreadRange(team, 3):
        for j in es.ThreadVectorRange(team, x.extent(1)):
            grid[i, j] = x[r, j] + 1j * i
    for i, j, k in es.TeamVectorMDRange(team, x.extent(1), 2, 3):
        block[i, j, k] = x[r, i] * (10 * j + k)
    for i in es.ThreadVectorRange(team, 3):
        mine[i] = 200 + i + me
    for i, j in es.ThreadVectorMDRange(team, 2, 2):
        flags[i, j] = me * 100 + 10 * i + j
    team.barrier()
    lines = es.parallel_reduce(es.TeamThreadRange(team, 7), lambda i: line[i] * (i + 1))
    smalls = es.parallel_reduce(es.TeamVectorRange(team, 5), lambda i: small[i])
    grids = es.parallel_reduce(
        es.TeamVectorMDRange(team, 3, x.extent(1)), lambda i, j: grid[i, j] * (j + 1)
    )
    blocks = es.parallel_reduce(
        es.TeamVectorMDRange(team, x.extent(1), 2, 3), lambda i, j, k: block[i, j, k]
    )
    own = es.parallel_reduce(es.ThreadVectorRange(team, 3), lambda i: mine[i])
    flag = flags[0, 0] + flags[0, 1] + flags[1, 0] + flags[1, 1]
    most = team.reduce(own, es.Max)
    last = team.broadcast(flag, team.team_size - 1)
    if es.single(es.PerTeam(team)):
        found[r, 0] = lines
        found[r, 1] = smalls
        found[r, 2] = grids
        found[r, 3] = blocks
        found[r, 4] = most
        found[r, 5] = last


def test_several_arrays_of_any_rank_and_dtype_at_both_levels(space):
    needs_dtype(space, "complex128")
    policy = league(space, 3)
    x, found = small_integers((3, 11)), np.zeros((3, 6), complex)
    staged.parallel_for(policy, of_ranks, x, found)
    last = policy.team_size - 1
    for row, values in zip(found, x, strict=True):
        grid = 3 * (values @ np.arange(1, 12)) + 3j * 66
        assert row.tolist() == [
            28, -10_000, grid, values.sum() * 36, 603 + 3 * last, 400 * last + 22,
        ]  # fmt: skip


POINT = np.dtype([("n", "i2"), ("at", "f8", (2,)), ("z", "f4")], align=True)


def of_records(team, p):
    r, n = team.league_rank, p.extent(1)
    held = team.scratch(n, POINT)
    for i in es.TeamThreadRange(team, n):
        held[i].n = p[r, i].n
        held[i].at[0] = p[r, i].at[1]
        held[i].at[1] = p[r, i].at[0]
        held[i].z = 2.5 * i
    team.barrier()
    for i in es.TeamVectorRange(team, n):
        p[r, i].n = held[n - 1 - i].n
        p[r, i].at[0] = held[n - 1 - i].at[0]
        p[r, i].at[1] = held[n - 1 - i].at[1]
        p[r, i].z = held[n - 1 - i].z


def test_records_in_scratch(space):
    p = np.zeros((2, 9), POINT)
    p["n"] = np.arange(18).reshape(2, 9)
    p["at"] = small_integers((2, 9, 2))
    wanted = p[:, ::-1].copy()
    wanted["at"] = wanted["at"][..., ::-1].copy()
    wanted["z"] = 2.5 * np.arange(8, -1, -1)
    view = staged.view_on(space, p)
    es.parallel_for(league(space, 2), of_records, view)
    found = staged.fetch(view)
    for field in POINT.names:
        assert (found[field] == wanted[field]).all(), field


def rows_of(team, x, k):
    """Parts of scratch are given to helpers, which take Views as well."""
    held = team.scratch((4, x.extent(1)))
    for i in es.TeamThreadRange(team, 4):
        copied(team, held[i, :], x[k * i % 4, :])
    team.barrier()
    for i in es.TeamThreadRange(team, 4):
        copied(team, x[i, 1:], held[3 - i, :-1])
        if i == 2:
            copied(team, x[i, :1], held[i, 3:4])


def copied(team, to, source):
    for j in es.ThreadVectorRange(team, to.extent(0)):
        to[j] = source[j]


def test_parts_of_scratch_are_views(space):
    x = small_integers((4, 13))
    held = x[[0, 3, 2, 1]]
    expected = x.copy()
    expected[:, 1:] = held[::-1, :-1]
    expected[2, 0] = held[2, 3]
    staged.parallel_for(league(space, 1), rows_of, x, 3)
    assert (x == expected).all()


def counted(team, x, counts, bins):
    """The histogram of each team, in its own memory; then one atomic operation for each bin."""
    own = team.scratch(bins, counts.dtype)
    for b in es.TeamVectorRange(team, bins):
        own[b] = 0
    team.barrier()
    for i in es.TeamVectorRange(team, x.extent(1)):
        es.atomic_add(own, x[team.league_rank, i], 1)
    team.barrier()
    for b in es.TeamVectorRange(team, bins):
        es.atomic_add(counts, b, own[b])


def test_a_histogram_with_atomic_steps_in_scratch(space):
    needs_atomic(space, 4)
    teams = fitting(space, 200, 8)
    x = np.random.default_rng(3).integers(0, 10, (teams, 100))
    counts = np.zeros(10, np.int32)
    staged.parallel_for(league(space, teams), counted, x, counts, 10)
    assert counts.tolist() == np.bincount(x.ravel(), minlength=10).tolist()


def in_a_loop(team, x):
    """The same place in each round, so that it holds what the round before has left there."""
    r, n = team.league_rank, x.extent(1)
    for k in range(4):
        held = team.scratch(n)
        mine = team.thread_scratch(1, level=1)
        for i in es.TeamThreadRange(team, n):
            held[i] = x[r, i] if k == 0 else held[i] * 2 + k
        mine[0] = 1.0 if k == 0 else mine[0] + k
        team.barrier()
        if k == 3:
            for i in es.TeamThreadRange(team, n):
                x[r, i] = held[(i + 1) % n] + mine[0]
        team.barrier()


@two_shapes
def test_scratch_lives_as_long_as_its_team(space, shape):
    x = small_integers((5, 17))
    expected = np.roll(x * 8 + 11, -1, axis=1) + 7
    staged.parallel_for(league(space, 5, shape), in_a_loop, x)
    assert (x == expected).all()


# -- sizes ----------------------------------------------------------------------------------------


def sized(team, n, x, found):
    half = n // 2
    a = team.scratch((half, min(n, x.extent(0)) + 1), es.int64)
    b = team.scratch(max(team.league_size - 3, n % 3) * team.team_size, es.int32)
    c = team.thread_scratch(a.extent(1) - 1, es.int64, level=1)
    for i, j in es.TeamVectorMDRange(team, a.extent(0), a.extent(1)):
        a[i, j] = i * j
    for i in es.TeamThreadRange(team, b.extent(0)):
        b[i] = i
    for i in es.ThreadVectorRange(team, c.extent(0)):
        c[i] = team.team_rank
    team.barrier()
    if team.team_rank == team.team_size - 1:
        total = 0
        for i in range(a.extent(0)):
            for j in range(a.extent(1)):
                total += a[i, j]
        for i in range(b.extent(0)):
            total += b[i]
        for i in range(c.extent(0)):
            total += c[i] * 10_000
        found[team.league_rank] = total


def test_sizes_are_computed_of_what_is_known_before_the_launch(space):
    """Arguments, extents and the policy's sizes: other values need no other kernel."""
    policy = league(space, 5)
    threads = policy.team_size
    for n, extent in [(7, 3), (4, 9), (1, 2), (0, 1)]:
        found = np.zeros(5, np.int64)
        staged.parallel_for(policy, sized, n, np.zeros(extent), found)
        rows, columns = n // 2, min(n, extent) + 1
        length = max(2, n % 3) * threads
        expected = sum(i * j for i in range(rows) for j in range(columns)) + sum(range(length))
        expected += 10_000 * (threads - 1) * (columns - 1)
        assert found.tolist() == [expected] * 5, (n, extent)


def touched(team, x, n, m):
    x[team.league_rank] = 1.0
    team.scratch(n, es.int8)[0] = 1
    team.scratch(m, es.int8, level=1)[0] = 1


def summed(team, x, n, level: es.static, found):
    held = team.scratch((n, n), es.float32, level)
    for i in es.TeamThreadRange(team, n):
        held[i, i] = x[i]
    team.barrier()
    total = es.float32(0)
    for i in range(n):
        total += held[i, i]
    if team.team_rank == 0:
        found[team.league_rank] = total + 1


@pytest.mark.parametrize("level", [0, 1])
def test_scratch_of_no_elements(space, level):
    """Also in the first launch, and after launches with some."""
    x = small_integers(5).astype(np.float32)
    for n in (0, 5, 0):
        found = np.zeros(3, np.float32)
        staged.parallel_for(league(space, 3), summed, x, n, level, found)
        assert found.tolist() == [1 + x[:n].sum()] * 3


def test_what_exceeds_the_limits_is_refused_before_anything_runs(space):
    policy = league(space, 2)
    levels = policy.scratch_size_max(0), policy.scratch_size_max(1)
    x = np.zeros(2)
    for level, other in [(0, "Use level=1 for what is large, or fewer threads."),
                         (1, "Make it smaller, or use a View.")]:  # fmt: skip
        sizes = [16, 16]
        sizes[level] = levels[level] + 1
        wanted = (levels[level] + 16) // 16 * 16
        with pytest.raises(es.LaunchError) as caught:
            staged.parallel_for(policy, touched, x, *sizes)
        assert str(caught.value) == (
            f"Kernel 'touched': a team needs {wanted} bytes of scratch at level {level}; space "
            f"'{space.name}' has at most {levels[level]} bytes for a team. {other}"
        )
    with pytest.raises(es.LaunchError, match=r"would have the shape \(-1,\); expected extents of"):
        staged.parallel_for(policy, touched, x, 16, -1)
    assert x.tolist() == [0, 0]


def filled(team, x, n, m):
    small, large = team.scratch(n, es.int8), team.scratch(m, es.int8, level=1)
    for i in es.TeamVectorRange(team, max(n, m)):
        if i < n:
            small[i] = 1
        if i < m:
            large[i] = 2
    team.barrier()
    total = es.parallel_reduce(
        es.TeamVectorRange(team, max(n, m)),
        lambda i: (small[i] if i < n else 0) + (large[i] if i < m else 0),
    )
    if es.single(es.PerTeam(team)):
        x[team.league_rank] = total


def test_as_much_scratch_as_a_space_has(space):
    x = np.zeros(2)
    policy = league(space, 2)
    # Collectives may need a few bytes of level 0 for themselves.
    small = fitting(space, policy.scratch_size_max(0) * 7 // 8, 1000)
    large = fitting(space, min(policy.scratch_size_max(1), 1_000_000), 2000)
    staged.parallel_for(policy, filled, x, small, large)
    assert x.tolist() == [small + 2 * large] * 2


def passed_on(team, x, n):
    held = team.scratch(n, es.int64)
    for i in es.TeamVectorRange(team, n):
        held[i] = i + team.league_rank
    team.barrier()
    if es.single(es.PerTeam(team)):
        for i in range(n):
            x[team.league_rank] += held[i]


@pytest.mark.parametrize("shape", [(4, 1), (2, 4), (16, 2)])
def test_as_many_teams_side_by_side_as_scratch_allows(space, shape):
    """Small teams may share a group of threads; together they may need all that a group has."""
    teams = fitting(space, 96, 6)
    policy = league(space, teams, shape)
    most = policy.scratch_size_max(0) // 8
    for n in sorted({fitting(space, most // parts, 300) for parts in (1, 2, 3, 8, 32)}):
        x = np.zeros(teams, np.int64)
        staged.parallel_for(policy, passed_on, x, n)
        assert x.tolist() == [n * (n - 1) // 2 + n * r for r in range(teams)], n


def test_a_size_that_differs_between_teams_is_refused(space):
    def by_rank(team, x):
        team.scratch(team.league_rank + 1)[0] = x[0]

    def by_element(team, x):
        team.scratch(int(x[0]))[0] = x[0]

    def by_loop(team, x):
        for n in range(3):
            team.scratch(n + 1)[0] = x[0]

    for kernel in (by_rank, by_element, by_loop):
        with pytest.raises(es.KernelTypeError, match="scratch is not known before the launch"):
            staged.parallel_for(league(space, 2, (1, 1)), kernel, np.zeros(2))


# -- teams for which there is enough --------------------------------------------------------------


def growing(team, told, items_per_thread, more):
    at = team.scratch(team.team_size * items_per_thread + more, es.uint8)
    own = team.thread_scratch(3, es.uint8)
    own[2] = 1
    at[team.team_rank] = 1
    team.barrier()
    total = team.reduce(at[team.team_size - 1 - team.team_rank] + own[2])
    if es.single(es.PerTeam(team)):
        told[team.league_rank] = total


def of_each_thread(team, told, items_per_thread, more):
    own = team.thread_scratch((items_per_thread, 2), es.uint8)
    at = team.scratch(more + 1, es.uint8)
    own[items_per_thread - 1, 1] = 1
    total = 2 * team.reduce(int(own[items_per_thread - 1, 1]))
    if es.single(es.PerTeam(team)):
        at[0] = 1
        told[team.league_rank] = total


def in_steps(team, told, items_per_thread, more):
    pairs = (team.team_size + 1) // 2
    at = team.scratch(min(pairs * 2 * items_per_thread, 1 << 40) + max(more, 0), es.uint8)
    if es.single(es.PerTeam(team)):
        at[0] = 1
        told[team.league_rank] = 2 * team.team_size


def shrinking(team, told, items_per_thread, more):
    at = team.scratch(
        max(more * 40 // team.team_size, 1) + team.team_size * items_per_thread, es.uint8
    )
    if es.single(es.PerTeam(team)):
        at[0] = 1
        told[team.league_rank] = 2 * team.team_size


@pytest.mark.parametrize("kernel", [growing, of_each_thread, in_steps, shrinking])
def test_a_launch_works_with_the_largest_team_and_not_with_one_more(space, kernel):
    """Also where scratch memory grows with the team, in whatever way."""
    policy = league(space, 2, ("auto", 1))
    room = policy.scratch_size_max(0)
    most = {}
    for wanted in (3, 20):  # about so many threads share what there is
        told = np.zeros(2, np.int64)
        sizes = room // (wanted + 1), room // 100
        most[wanted] = size = policy.team_size_max(kernel, staged.place(space, told), *sizes)
        assert 1 <= size <= space.team_limits().team_size_max
        staged.parallel_for(es.TeamPolicy(2, size, 1, space=space), kernel, told, *sizes)
        assert told.tolist() == [2 * size] * 2
        one_more = es.TeamPolicy(2, size + 1, 1, space=space)
        with pytest.raises((es.LaunchError, es.PolicyError)):
            staged.parallel_for(one_more, kernel, told, *sizes)
    assert most[3] <= most[20] <= 64


def test_auto_takes_the_size_that_is_recommended_for_these_arguments(space):
    policy = league(space, 2, ("auto", 1))
    for items_per_thread in (1, 10, policy.scratch_size_max(0) // 3):
        told = np.zeros(2, np.int64)
        placed = staged.place(space, told)
        size = policy.team_size_recommended(growing, placed, items_per_thread, 5)
        assert size <= policy.team_size_max(growing, placed, items_per_thread, 5)
        staged.parallel_for(policy, growing, told, items_per_thread, 5)
        assert told.tolist() == [2 * size] * 2


def test_what_no_team_has_room_for_raises_as_the_launch_would(space):
    policy, told = league(space, 2, ("auto", 1)), np.zeros(2, np.int64)
    placed = staged.place(space, told)
    asked = policy.scratch_size_max(0) + 1
    for ask in (policy.team_size_max, policy.team_size_recommended):
        with pytest.raises(es.LaunchError, match="bytes of scratch at level 0; space"):
            ask(growing, placed, 1, asked)
    with pytest.raises(es.LaunchError, match="bytes of scratch at level 0; space"):
        staged.parallel_for(policy, growing, told, 1, asked)


def test_launch_bounds_limit_the_largest_team(space):
    policy, told = league(space, 2, ("auto", 1), launch_bounds=8), np.zeros(2, np.int64)
    size = policy.team_size_max(growing, staged.place(space, told), 1, 1)
    assert size <= 8
    bounded = es.TeamPolicy(2, size, 1, launch_bounds=8, space=space)
    staged.parallel_for(bounded, growing, told, 1, 1)
    assert told.tolist() == [2 * size] * 2

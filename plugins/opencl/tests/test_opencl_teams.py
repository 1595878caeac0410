"""Teams with the mapping of GPUs, on whatever device there is: members are work-items of a group.

The conformance kit tests each space as it is; on a processor each work-item does whole teams.
"""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es

SIZES = (1, 4, 7)


def moving_sum(team, x, y, halo):
    """Each team sums windows of its part of `x`, from a copy in scratch memory."""
    first = team.league_rank * team.team_size
    at = team.scratch(team.team_size + halo)
    for k in es.TeamThreadRange(team, at.extent(0)):
        at[k] = x[first + k]
    team.barrier()
    total = 0.0
    for k in range(halo + 1):
        total += at[team.team_rank + k]
    y[first + team.team_rank] = total


def sort_rows(team, rows):
    """Bitonic sort of a row of a power of two elements."""
    n = rows.extent(1)
    row = team.league_rank
    at = team.scratch(n, rows.dtype)
    for k in es.TeamThreadRange(team, n):
        at[k] = rows[row, k]
    team.barrier()
    size = 2
    while size <= n:
        step = size // 2
        while step > 0:
            for i in es.TeamThreadRange(team, n):
                other = i ^ step
                if other > i:
                    a, b = at[i], at[other]
                    if (a > b) == ((i & size) == 0):
                        at[i], at[other] = b, a
            team.barrier()
            step //= 2
        size *= 2
    for k in es.TeamThreadRange(team, n):
        rows[row, k] = at[k]


def collect(team, x, y, mode: es.static):
    """Collectives of the team, with scratch memory of level `mode`."""
    n, row = x.extent(1), team.league_rank
    at = team.scratch(n, es.int64, level=mode)
    mine = team.thread_scratch(2, es.int64, level=mode)

    def before(k, prefix, final):
        if final:
            at[k] = prefix
        return x[row, k]

    total = es.parallel_scan(es.TeamThreadRange(team, n), before)
    low = es.parallel_reduce(
        es.TeamVectorRange(team, n), lambda k: (x[row, k], k), reducer=es.MinLoc
    )
    mine[1] = team.scan(team.team_rank + 1)
    last = team.broadcast(mine[1], team.team_size - 1)
    team.barrier()
    for k in es.TeamThreadRange(team, n):
        y[row, k] = at[k]
    if es.single(es.PerTeam(team)):
        y[row, n] = total
        y[row, n + 1] = low[1]
        y[row, n + 2] = last
    return total


def device(array, space):
    made = es.View(array.shape, array.dtype, space=space)
    es.deep_copy(made, es.view_of(array))
    return made


def host(view):
    return np.asarray(es.create_mirror_view_and_copy("serial", view)).copy()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("chunk", ["auto", 3])
def test_scratch_and_barriers(flat_opencl, size, chunk):
    n, halo = 5 * size, 6
    x = np.arange(n + halo, dtype=float)
    y = es.View(n, space=flat_opencl)
    policy = es.TeamPolicy(5, size, chunk_size=chunk, space=flat_opencl)
    es.parallel_for(policy, moving_sum, device(x, flat_opencl), y, halo)
    assert np.array_equal(host(y), [x[i : i + halo + 1].sum() for i in range(n)])


@pytest.mark.parametrize("size", SIZES)
def test_barriers_in_loops(flat_opencl, size):
    rows = np.random.default_rng(3).integers(0, 1000, (3, 32)).astype(np.int32)
    view = device(rows, flat_opencl)
    es.parallel_for(es.TeamPolicy(3, size, space=flat_opencl), sort_rows, view)
    assert np.array_equal(host(view), np.sort(rows, axis=1))


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("size", SIZES)
def test_collectives(flat_opencl, size, level):
    x = np.random.default_rng(5).integers(0, 50, (4, 23))
    y = es.View((4, 26), es.int64, space=flat_opencl)
    policy = es.TeamPolicy(4, size, space=flat_opencl)
    total = es.parallel_reduce(policy, collect, device(x, flat_opencl), y, level)
    assert total == x.sum()
    sums = np.cumsum(x, axis=1)
    found = host(y)
    assert np.array_equal(found[:, :23], sums - x)
    assert np.array_equal(found[:, 23], sums[:, -1])
    assert np.array_equal(found[:, 24], x.argmin(axis=1))
    ranks = np.arange(size)
    assert (found[:, 25] == (ranks * (ranks + 1) // 2)[-1]).all()


@pytest.mark.parametrize("size", SIZES)
def test_a_scan_over_the_league(flat_opencl, size):
    def kernel(team, prefix, final, y):
        if final and es.single(es.PerTeam(team)):
            y[team.league_rank] = prefix
        return team.reduce(team.league_rank + 1)

    y = es.View(9, es.int64, space=flat_opencl)
    total = es.parallel_scan(es.TeamPolicy(9, size, space=flat_opencl), kernel, y)
    sums = np.cumsum(np.arange(1, 10) * size)
    assert total == sums[-1]
    assert np.array_equal(host(y), [0, *sums[:-1]])


def test_what_explain_says(flat_opencl):
    y = es.View(8, space=flat_opencl)
    x = es.View(14, space=flat_opencl)
    policy = es.TeamPolicy(2, 4, space=flat_opencl)
    told = es.explain(policy, moving_sum, x, y, 6).mapping
    assert list(told) == [
        "teams of 4 threads of 1 lanes, a work-item for each lane",
        "a team is a block of 4 threads",
        "vector_length was left open: no range over lanes goes along contiguous elements",
    ]


def test_a_thread_does_its_lanes_in_turn_and_explain_says_so(flat_opencl):
    x, y = es.View(14, space=flat_opencl), es.View(8, space=flat_opencl)
    es.deep_copy(x, np.arange(14.0))
    policy = es.TeamPolicy(2, 4, 8, space=flat_opencl)
    es.parallel_for(policy, moving_sum, x, y, 6)
    plain = es.View(8, space=flat_opencl)
    es.parallel_for(es.TeamPolicy(2, 4, 1, space=flat_opencl), moving_sum, x, plain, 6)
    assert host(y).tolist() == host(plain).tolist()
    told = es.explain(policy, moving_sum, x, y, 6).mapping
    assert list(told) == [
        "teams of 4 threads, a work-item for each: it does its 8 lanes one after the other, for "
        "the device has none",
        "a team is a block of 4 threads",
    ]
    most = policy.team_size_max(moving_sum, x, y, 6)
    assert most > flat_opencl.team_limits().team_size_max // 8  # lanes take no work-items


def test_scratch_beyond_the_memory_of_a_group(flat_opencl):
    limit = flat_opencl.team_limits().scratch[0]
    x, y = es.View(14, space=flat_opencl), es.View(8, space=flat_opencl)
    with pytest.raises(es.LaunchError, match=r"at level 0; space .* has at most \d+ bytes"):
        es.parallel_for(es.TeamPolicy(2, 4, space=flat_opencl), moving_sum, x, y, limit)


def test_teams_of_any_size_are_made_small_enough(flat_opencl):
    def own(team, y, n):
        mine = team.thread_scratch(n)
        for k in range(n):
            mine[k] = k
        total = team.reduce(mine[n - 1])
        if es.single(es.PerTeam(team)):
            y[0] = total / team.team_size
            y[1] = team.team_size

    limit = flat_opencl.team_limits().scratch[0]
    y = es.View(2, space=flat_opencl)
    policy = es.TeamPolicy(1, space=flat_opencl)
    sizes = []
    for n in (2, limit // 80, limit // 20):  # of 8 bytes: for as many threads, for ten, for two
        es.parallel_for(policy, own, y, n)
        last, size = host(y)
        assert last == n - 1
        sizes.append(int(size))
    assert sizes[0] == policy.team_size_recommended(own, y, 2) > sizes[1] > sizes[2] >= 1
    with pytest.raises(es.LaunchError, match="at level 0"):
        es.parallel_for(policy, own, y, limit)

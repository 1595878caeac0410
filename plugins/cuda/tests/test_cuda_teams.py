"""Teams on a GPU: lanes in warps, teams side by side in a block, shared memory and its limits.

The conformance kit shows what kernels mean; here is what only this mapping can get wrong.
"""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es

# Lanes within a warp; teams of less than a warp, of whole warps, and of neither; whole blocks.
SHAPES = [(1, 1), (3, 2), (8, 4), (1, 32), (5, 8), (32, 1), (33, 1), (24, 4), (20, 16), (96, 1)]


def on_device(cuda, array):
    view = es.View(array.shape, array.dtype, space=cuda)
    es.deep_copy(view, array)
    return view


def on_host(view):
    found = np.empty(view.shape, view.dtype)
    es.deep_copy(found, view)
    return found


def collect(team, x, y):
    """A row of `x`: prefix sums of all threads and of lanes, sums, extremes, once a thread."""
    row, n = team.league_rank, x.extent(1)
    at = team.scratch(n, es.int64)
    mine = team.thread_scratch(n, es.int64)

    def before(k, prefix, final):
        if final:
            at[k] = prefix
        return x[row, k]

    def beside(k, prefix, final):
        if final:
            mine[k] = prefix
        return x[row, k]

    total = es.parallel_scan(es.TeamVectorRange(team, n), before)
    again = es.parallel_scan(es.ThreadVectorRange(team, n), beside)
    low = es.parallel_reduce(
        es.TeamThreadRange(team, n), lambda k: (x[row, k], k), reducer=es.MinLoc
    )
    most = es.parallel_reduce(es.ThreadVectorRange(team, n), lambda k: x[row, k], reducer=es.Max)
    last = team.broadcast(team.scan(team.team_rank + 1), team.team_size - 1)
    es.atomic_add(y, (row, n), 1)  # once for each thread
    team.barrier()
    for k in es.TeamVectorRange(team, n):
        y[row, k] = at[k] - mine[k] if team.team_rank == 0 else 0
    if es.single(es.PerTeam(team)):
        y[row, n + 1] = total
        y[row, n + 2] = again
        y[row, n + 3] = low[1]
        y[row, n + 4] = most
        y[row, n + 5] = last
    return total


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: f"{s[0]}x{s[1]}")
@pytest.mark.parametrize("chunk", ["auto", 1, 3])
def test_collectives(cuda, shape, chunk):
    x = np.random.default_rng(1).integers(0, 90, (7, 75))
    view, y = on_device(cuda, x), es.View((7, 81), es.int64, space=cuda)
    policy = es.TeamPolicy(7, *shape, chunk_size=chunk, space=cuda)
    assert es.parallel_reduce(policy, collect, view, y) == x.sum()
    found = on_host(y)
    size = shape[0]
    assert (found[:, :75] == 0).all()
    assert (found[:, 75] == size).all()
    assert np.array_equal(found[:, 76], x.sum(axis=1))
    assert np.array_equal(found[:, 77], x.sum(axis=1))
    assert np.array_equal(found[:, 78], x.argmin(axis=1))
    assert np.array_equal(found[:, 79], x.max(axis=1))
    assert (found[:, 80] == size * (size - 1) // 2).all()


@pytest.mark.parametrize("shape", [(1, 1), (6, 4), (96, 1)], ids=lambda s: f"{s[0]}x{s[1]}")
def test_a_scan_over_the_league(cuda, shape):
    def kernel(team, prefix, final, y):
        if final and es.single(es.PerTeam(team)):
            y[team.league_rank] = prefix
        return es.parallel_reduce(es.TeamVectorRange(team, 10), lambda k: k + team.league_rank)

    y = es.View(5000, es.int64, space=cuda)
    total = es.parallel_scan(es.TeamPolicy(5000, *shape, space=cuda), kernel, y)
    sums = np.cumsum(45 + 10 * np.arange(5000))
    assert total == sums[-1]
    assert np.array_equal(on_host(y), [0, *sums[:-1]])


def turned(team, x, y, n, level: es.static):
    """Reverses parts of `x` through scratch memory."""
    at = team.scratch(n, es.float64, level=level)
    first = team.league_rank * n
    for k in es.TeamVectorRange(team, n):
        at[k] = x[first + k]
    team.barrier()
    for k in es.TeamVectorRange(team, n):
        y[first + k] = at[n - 1 - k]


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("n", [100, 20_000])  # more than the 48 KB that a block has unasked
def test_scratch_memory(cuda, level, n):
    x = np.arange(30.0 * n)
    view, y = on_device(cuda, x), es.View(30 * n, space=cuda)
    es.parallel_for(es.TeamPolicy(30, 64, 2, space=cuda), turned, view, y, n, level)
    assert np.array_equal(on_host(y).reshape(30, n), x.reshape(30, n)[:, ::-1])


def test_scratch_memory_of_many_teams(cuda):
    """Level 1 has room for the blocks that run at once; they go on with the next teams."""
    n, teams = 64, 30_000
    view = on_device(cuda, np.arange(float(n * teams)))
    y = es.View(n * teams, space=cuda)
    es.parallel_for(es.TeamPolicy(teams, 32, space=cuda), turned, view, y, n, 1)
    wanted = np.arange(float(n * teams)).reshape(teams, n)[:, ::-1]
    assert np.array_equal(on_host(y).reshape(teams, n), wanted)


def test_launches_under_way_have_scratch_of_their_own(cuda):
    n = 500
    streams = [cuda.instance() for _ in range(4)]
    views = [on_device(cuda, np.arange(20.0 * n) + s) for s in range(4)]
    found = [es.View(20 * n, space=cuda) for _ in streams]
    for _ in range(5):
        for s, x, y in zip(streams, views, found, strict=True):
            es.parallel_for(es.TeamPolicy(20, 64, space=s), turned, x, y, n, 1)
    es.fence()
    for x, y in zip(views, found, strict=True):
        assert np.array_equal(on_host(y).reshape(20, n), on_host(x).reshape(20, n)[:, ::-1])


def test_small_teams_with_much_scratch_memory(cuda):
    """Sixteen teams of 8 threads share a block by default, but not with 100 KB each."""
    n = 12_500
    x = np.arange(30.0 * n)
    view, y = on_device(cuda, x), es.View(30 * n, space=cuda)
    policy = es.TeamPolicy(30, 8, space=cuda)
    for part in (100, n, 100):
        es.parallel_for(policy, turned, view, y, part, 0)
        wanted = x[: 30 * part].reshape(30, part)[:, ::-1]
        assert np.array_equal(on_host(y)[: 30 * part].reshape(30, part), wanted)
    crowd = es.TeamPolicy(30, 8, chunk_size=16, space=cuda)
    with pytest.raises(es.LaunchError, match="at level 0"):  # who asks for 16 gets 16
        es.parallel_for(crowd, turned, view, y, n, 0)


def test_more_scratch_memory_than_a_block_can_have(cuda):
    x, y = es.View(10, space=cuda), es.View(10, space=cuda)
    most = cuda.team_limits().scratch[0]
    with pytest.raises(es.LaunchError, match=r"bytes of scratch at level 0; space 'cuda' has at"):
        es.parallel_for(es.TeamPolicy(1, 32, space=cuda), turned, x, y, most, 0)


def test_indices_beyond_what_is_computed_in_32_bits(cuda):
    def kernel(team, y, big):
        at = team.scratch(4, es.int64)
        for k in es.TeamThreadRange(team, 4):
            at[k] = (big + k) % 1000 + big * k
        team.barrier()
        for k in es.TeamThreadRange(team, 4):
            y[k] = at[k]

    y = es.View(4, es.int64, space=cuda)
    for big in (5, 1 << 27, (1 << 28) + 1, 1 << 40, -(1 << 28), -(1 << 40)):
        es.parallel_for(es.TeamPolicy(1, 4, space=cuda), kernel, y, big)
        assert on_host(y).tolist() == [(big + k) % 1000 + big * k for k in range(4)]


def test_what_explain_says(cuda):
    x, y = es.View(100, space=cuda), es.View(100, space=cuda)

    def told(*shape, **options):
        return es.explain(es.TeamPolicy(1, *shape, space=cuda, **options), turned, x, y, 9, 0)

    assert list(told(4, 2).mapping) == [
        "teams of 4 threads of 2 lanes, a work-item for each lane",
        "16 teams side by side in a block of 128 threads, 8 from one to the next",
        "outside of ranges over lanes the first lane of a thread stores for all",
    ]
    assert told(64, 1, chunk_size=3).mapping[1] == (
        "3 teams side by side in a block of 192 threads, 64 from one to the next"
    )
    assert told(50, 1, chunk_size=3).mapping[1] == "a block of 50 threads does 3 teams in a row"
    figures = told(256, 1).resource_usage["es_for"]
    assert figures["threads"] == 256
    assert figures["local"] == 0


def test_sizes_that_the_device_has_not(cuda):
    x, y = es.View(10, space=cuda), es.View(10, space=cuda)
    with pytest.raises(es.PolicyError, match="1024"):
        es.parallel_for(es.TeamPolicy(1, 2048, space=cuda), turned, x, y, 9, 0)
    with pytest.raises(es.PolicyError, match="vector_length"):
        es.parallel_for(es.TeamPolicy(1, 1, 64, space=cuda), turned, x, y, 9, 0)
    with pytest.raises(es.PolicyError, match="1024"):
        es.parallel_for(es.TeamPolicy(1, 64, 32, space=cuda), turned, x, y, 9, 0)

"""Kokkos' policies: ranges, ranges of several dimensions, and what lies beside them."""

from __future__ import annotations

import itertools
import re

import numpy as np

import execspace as es
from parity.table import absent, raises, row

RANGE, MDRANGE, OTHER = "3.1 RangePolicy", "3.2-3.3 MDRange", "3.5 Other"


def double(i, x):
    x[i] *= 2


@row(RANGE, "bounds, N, begin>end raises", "es.parallel_for(es.RangePolicy(2, 5), add_index, x)")
def bounds(space: es.ExecutionSpace) -> None:
    """Of TestRange and TestRangePolicyConstructors."""

    def add_index(i, x):
        x[i] += i

    x = es.zeros(8)
    es.parallel_for(es.RangePolicy(2, 5), add_index, x)
    es.parallel_for(8, add_index, x)
    assert x.to_numpy().tolist() == [0, 1, 4, 6, 8, 5, 6, 7]
    es.parallel_for(es.RangePolicy(5, 5), add_index, x)
    with raises(es.PolicyError, match="end"):
        es.RangePolicy(5, 4)
    with raises(es.PolicyError):
        es.RangePolicy(0, 2**63)
    assert es.parallel_reduce(es.RangePolicy(-3, 4), lambda i: i * i) == 28


@row(RANGE, "ChunkSize", 'es.RangePolicy(n, schedule="dynamic", chunk_size=16)')
def chunk_size(space: es.ExecutionSpace) -> None:
    n = 1000
    policy = es.RangePolicy(n, schedule="dynamic", chunk_size=16)
    assert policy.chunk_size == 16
    x = es.ones(n)
    es.parallel_for(policy, double, x)
    assert (x.to_numpy() == 2).all()
    assert es.parallel_reduce(policy, lambda i: i) == n * (n - 1) // 2


@row(RANGE, "auto chunk", 'policy = es.RangePolicy(1000, schedule="dynamic")')
def auto_chunk(space: es.ExecutionSpace) -> None:
    policy = es.RangePolicy(1000, schedule="dynamic")
    assert policy.chunk_size is None  # the space takes one that it thinks fit
    assert es.parallel_reduce(policy, lambda i: i) == 499500


@row(
    RANGE,
    "Schedule Static/Dynamic",
    'es.parallel_for(es.RangePolicy(n, schedule="dynamic"), collatz, steps)',
)
def schedules(space: es.ExecutionSpace) -> None:
    def collatz(i, steps):
        k, count = i + 1, 0
        while k != 1:
            k = k // 2 if k % 2 == 0 else 3 * k + 1
            count += 1
        steps[i] = count

    n = 200
    steps, same = es.zeros(n, es.int64), es.zeros(n, es.int64)
    es.parallel_for(es.RangePolicy(n, schedule="dynamic"), collatz, steps)
    es.parallel_for(es.RangePolicy(n, schedule="static"), collatz, same)
    assert steps.to_numpy()[[0, 1, 2, 6, 26]].tolist() == [0, 1, 7, 16, 111]
    assert (steps.to_numpy() == same.to_numpy()).all()


@row(RANGE, "IndexType", "es.RangePolicy(2**40, 2**40 + 3)")
def index_type(space: es.ExecutionSpace) -> None:
    """Indices have 64 bits; where bounds and Views allow it, compilers make 32 of them."""

    def last_bits(i, x):
        x[i % 8] = i

    x = es.zeros(8, es.int64)
    es.parallel_for(es.RangePolicy(2**40, 2**40 + 3), last_bits, x)
    assert x.to_numpy()[:4].tolist() == [2**40, 2**40 + 1, 2**40 + 2, 0]


@row(RANGE, "WorkTag", "es.parallel_for(4, functor.odd)")
def work_tag(space: es.ExecutionSpace) -> None:
    class Functor:
        def __init__(self) -> None:
            self.x = es.zeros(8)

        def even(self, i):
            self.x[2 * i] = 2.0

        def odd(self, i):
            self.x[2 * i + 1] = 1.0

        def total(self, i):
            return self.x[i]

    functor = Functor()
    es.parallel_for(4, functor.even)
    es.parallel_for(4, functor.odd)
    assert es.parallel_reduce(8, functor.total) == 12.0


@row(RANGE, "LaunchBounds", "es.RangePolicy(1000, launch_bounds=128)")
def launch_bounds(space: es.ExecutionSpace) -> None:
    x = es.ones(1000)
    es.parallel_for(es.RangePolicy(1000, launch_bounds=128), double, x)
    assert (x.to_numpy() == 2).all()
    with raises(es.PolicyError):
        es.RangePolicy(1000, launch_bounds=0)


@row(RANGE, "WorkItemProperty hints", 'es.RangePolicy(1000, work_items=("light", "irregular"))')
def work_item_hints(space: es.ExecutionSpace) -> None:
    """No result depends on them; where a space heeds one, `explain` says what it does."""
    x = es.ones(1000)
    es.parallel_for(es.RangePolicy(1000, work_items=("light", "irregular")), double, x)
    es.parallel_for(es.RangePolicy(1000, work_items="heavy"), double, x)
    assert (x.to_numpy() == 4).all()
    with raises(es.PolicyError):
        es.RangePolicy(1000, work_items=("light", "heavy"))


@row(RANGE, "DesiredOccupancy", "es.RangePolicy(1000, occupancy=33)")
def desired_occupancy(space: es.ExecutionSpace) -> None:
    x = es.ones(1000)
    es.parallel_for(es.RangePolicy(1000, occupancy=33), double, x)
    assert (x.to_numpy() == 2).all()
    with raises(es.PolicyError, match="percent"):
        es.RangePolicy(1000, occupancy=101)


@row(RANGE, "Cuda block size", "es.parallel_for(es.MDRangePolicy((1000,), tile=(64,)), double, x)")
def block_size(space: es.ExecutionSpace) -> None:
    """A tile is the block of a device, also in one dimension."""
    x = es.ones(1000)
    es.parallel_for(es.MDRangePolicy((1000,), tile=(64,)), double, x)
    assert (x.to_numpy() == 2).all()


@row(
    MDRANGE,
    "ranks 1-6, negative begins, tiles, both orders",
    "policy = es.MDRangePolicy(lower, upper, tile=tile, iterate=iterate)",
)
def ranks_tiles_and_orders(space: es.ExecutionSpace) -> None:
    kernels = (
        lambda a: a,
        lambda a, b: 2 * a + b,
        lambda a, b, c: 4 * a + 2 * b + c,
        lambda a, b, c, d: 8 * a + 4 * b + 2 * c + d,
        lambda a, b, c, d, e: 16 * a + 8 * b + 4 * c + 2 * d + e,
        lambda a, b, c, d, e, f: 32 * a + 16 * b + 8 * c + 4 * d + 2 * e + f,
    )
    for rank, kernel in enumerate(kernels, 1):
        lower, upper = (-2,) * rank, (2, 1, 3, 0, 1, 2)[:rank]
        expected = sum(kernel(*at) for at in itertools.product(*(range(-2, n) for n in upper)))
        for tile, iterate in ((None, "auto"), ((2,) * rank, "left"), ((3,) * rank, "right")):
            policy = es.MDRangePolicy(lower, upper, tile=tile, iterate=iterate)
            assert es.parallel_reduce(policy, kernel) == expected


@row(MDRANGE, "Iterate inner/outer", 'iterate=("left", "right")')
def iterate(space: es.ExecutionSpace) -> None:
    """Of tiles, and within them; no result depends on either."""

    def store(i, j, x):
        x[i, j] += 10 * i + j

    left_of_tiles = es.MDRangePolicy((6, 10), tile=(2, 4), iterate=("left", "right"))
    right_of_tiles = es.MDRangePolicy((6, 10), tile=(2, 4), iterate=("right", "left"))
    for policy in (left_of_tiles, right_of_tiles):
        x = es.zeros((6, 10))
        es.parallel_for(policy, store, x)
        assert (x.to_numpy() == np.add.outer(10 * np.arange(6), np.arange(10))).all()


@row(MDRANGE, "bounds checks", "es.MDRangePolicy((0, 3), (4, 2))")
def bounds_checks(space: es.ExecutionSpace) -> None:
    with raises(es.PolicyError, match="dimension 1"):
        es.MDRangePolicy((0, 3), (4, 2))
    with raises(es.PolicyError):
        es.MDRangePolicy((4, 4), tile=(0, 2))
    with raises(es.PolicyError):
        es.MDRangePolicy((2**32, 2**32))  # more indices than 64 bits count
    assert es.parallel_reduce(es.MDRangePolicy((0, 3), (4, 3)), lambda i, j: 1) == 0


@row(MDRANGE, "tile omitted / too large", "es.MDRangePolicy((50, 60), tile=(5000, 5000))")
def tile_too_large(space: es.ExecutionSpace) -> None:
    def add(i, j, x):
        x[i, j] += i - j

    x = es.zeros((50, 60))
    es.parallel_for(es.MDRangePolicy((50, 60)), add, x)
    es.parallel_for(es.MDRangePolicy((50, 60), tile=(5000, 5000)), add, x)
    assert (x.to_numpy() == 2 * np.subtract.outer(np.arange(50), np.arange(60))).all()


@row(
    MDRANGE,
    "tile_size_recommended / max_total_tile_size",
    "most = es.max_total_tile_size(space)",
)
def recommended_tile(space: es.ExecutionSpace) -> None:
    tile = es.default_tile(2, space=space)
    most = es.max_total_tile_size(space)
    assert tile is None or len(tile) == 2
    assert most is None or most >= 1
    policy = es.MDRangePolicy((50, 60), tile=tile)
    assert es.parallel_reduce(policy, lambda i, j: i * j) == 1225 * 1770


@row(MDRANGE, "CPU execution", "told = es.explain(policy, add, x)")
def cpu_execution(space: es.ExecutionSpace) -> None:
    def add(i, j, x):
        x[i, j] += 1.0

    policy, x = es.MDRangePolicy((30, 20), space="serial"), es.zeros((30, 20), space="serial")
    told = es.explain(policy, add, x)
    assert "in plain loops" in told.mapping[0] or "inside plain loops" in told.mapping[0]
    es.parallel_for(policy, add, x)
    assert (x.to_numpy() == 1).all()


@row(MDRANGE, "GPU execution", "es.MDRangePolicy((64, 64), tile=(4, 16))")
def gpu_execution(space: es.ExecutionSpace) -> None:
    def add(i, j, x):
        x[i, j] += 1.0

    x = es.zeros((64, 64))
    policy = es.MDRangePolicy((64, 64), tile=(4, 16))
    told = " ".join(es.explain(policy, add, x).mapping)
    if space.name.startswith(("cuda", "hip")):
        assert re.search("blocks of (4 x 16|16 x 4) x 1 threads", told)
    else:  # on OpenCL it depends on the mapping
        assert re.search("blocks of (4 x 16|16 x 4) x 1 threads|tiles: |one call after", told)
    es.parallel_for(policy, add, x)
    assert (x.to_numpy() == 1).all()


@row(MDRANGE, "Right on GPU", 'policy = es.MDRangePolicy((20, 30), iterate="right")')
def right_on_gpu(space: es.ExecutionSpace) -> None:
    """Whatever the order, the fastest dimension lies along x of the grid."""

    def store(i, j, x):
        x[i, j] = i - j

    x = es.zeros((20, 30), layout="right")
    policy = es.MDRangePolicy((20, 30), iterate="right")
    told = " ".join(es.explain(policy, store, x).mapping)
    assert "dimension 1" in told or "the last index fastest" in told
    es.parallel_for(policy, store, x)
    assert (x.to_numpy() == np.subtract.outer(np.arange(20), np.arange(30))).all()


@row(
    MDRANGE,
    "Old and new default tables CUDA, HIP; host",
    'es.default_tile(4, "left", table="kokkos-2026") == (16, 2, 2, 4)',
)
def default_tables(space: es.ExecutionSpace) -> None:
    old = {2: (16, 2), 3: (16, 2, 2), 5: (16, 2, 2, 2, 2), 6: (16, 2, 2, 2, 2, 1)}
    hip = {2: (16, 4), 3: (16, 4, 4), 4: (16, 4, 4, 1), 6: (16, 4, 4, 1, 1, 1)}
    for rank, tile in old.items():
        assert es.default_tile(rank, "left", table="kokkos") == tile
        assert es.default_tile(rank, "right", table="kokkos") == tile[::-1]
    for rank, tile in hip.items():
        assert es.default_tile(rank, "left", table="kokkos-hip") == tile
    assert es.default_tile(4, "left", table="kokkos-2026") == (16, 2, 2, 4)
    assert es.default_tile(3, "right", table="kokkos-2026") == (4, 2, 32)
    assert es.default_tile(6, "right", table="kokkos-2026-hip") == (1, 2, 2, 2, 4, 8)
    assert es.default_tile(3, "right", (7, 8, 9), table="kokkos-host") == (2, 2, 9)


# Tasks: Kokkos has removed them.

absent(OTHER, "WorkGraphPolicy", "`WorkGraphPolicy` and tasks")


@row(
    OTHER,
    "tags for size queries",
    'most = policy.team_size_max(kernel, x, pattern="reduce")',
)
def tags_for_size_queries(space: es.ExecutionSpace) -> None:
    def kernel(team, x):
        at = team.scratch(team.team_size)
        at[team.team_rank] = x[team.league_rank]
        team.barrier()
        return at[0]

    policy, x = es.TeamPolicy(10), es.ones(10)
    most = policy.team_size_max(kernel, x, pattern="reduce")
    few = policy.team_size_recommended(kernel, x, pattern="reduce")
    assert 1 <= few <= most
    assert es.parallel_reduce(es.TeamPolicy(10, few), kernel, x) == 10


@row(OTHER, "require/prefer", 'policy = policy.with_options(occupancy=33, work_items="light")')
def require_and_prefer(space: es.ExecutionSpace) -> None:
    policy, x = es.RangePolicy(1000), es.ones(1000)
    policy = policy.with_options(occupancy=33, work_items="light")
    assert policy.occupancy == 33 and policy.end == 1000
    es.parallel_for(policy, double, x)
    assert (x.to_numpy() == 2).all()
    assert policy.with_options(occupancy=None, work_items=None) == es.RangePolicy(1000)

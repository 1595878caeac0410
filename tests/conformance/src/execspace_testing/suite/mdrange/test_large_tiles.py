"""A tile may be as large as one likes, so that a program runs unchanged on every space.

Blocks of a device have 1024 threads or so, 64 along one axis, or fewer if a kernel needs many
registers. What they cannot hold they do in parts, and each index is still visited once.
"""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged

from .test_mappings import five_points, stencil


@es.kernel
def count1(i, seen):
    es.atomic_add(seen, i, 1)


@es.kernel
def count2(i, j, seen):
    es.atomic_add(seen, (i, j), 1)


@es.kernel
def count3(i, j, k, seen):
    es.atomic_add(seen, (i, j, k), 1)


@es.kernel
def count4(i, j, k, p, seen):
    es.atomic_add(seen, (i, j, k, p), 1)


@es.kernel
def total1(i, seen):
    return seen[i]


@es.kernel
def total2(i, j, seen):
    return seen[i, j]


KERNELS = {1: count1, 2: count2, 3: count3, 4: count4}
# Rank: extents of the View, then tiles that no device has, or few.
TILES = {
    1: ((2600,), [(1025,), (2100,), (10**6,)]),
    2: ((70, 90), [(64, 64), (65, 63), (1, 4096), (4096, 1), (1000, 1000), (10**9, 10**9)]),
    3: ((68, 9, 11), [(66, 2, 2), (2, 9, 66), (64, 64, 64), (128, 1, 1), (1, 1, 2048)]),
    4: ((9, 10, 7, 12), [(8, 8, 8, 8), (3, 5, 7, 11), (65, 1, 2, 1), (10**4,) * 4]),
}
CALLS = {1: (3,), 2: (2, 3), 3: (1, 2, 2), 4: (2, 1, 1, 2)}


def check(space, rank, **options):
    """Count how often each index is visited, within bounds that leave a border."""
    shape, tiles = TILES[rank]
    inside = (slice(1, -1),) * rank
    for tile in tiles:
        seen = es.View(shape, es.int64, space=space, label="seen")
        policy = es.MDRangePolicy(
            (1,) * rank, tuple(n - 1 for n in shape), tile=tile, space=space, **options
        )
        es.parallel_for(policy, KERNELS[rank], seen)
        expected = np.zeros(shape, int)
        expected[inside] = 1
        np.testing.assert_array_equal(staged.fetch(seen), expected, err_msg=f"tile={tile}")


@pytest.mark.parametrize("rank", TILES)
def test_each_index_is_visited_once_whatever_the_tile(space, rank):
    check(space, rank)


@pytest.mark.parametrize("rank", TILES)
def test_also_with_several_calls_of_a_thread(space, rank):
    check(space, rank, items_per_thread=CALLS[rank])


@pytest.mark.parametrize("iterate", ["left", "right"])
def test_also_in_the_order_of_the_policy(space, iterate):
    check(space, 3, iterate=iterate)


@pytest.mark.parametrize("options", [{}, {"items_per_thread": 2}], ids=str)
def test_neighbours_are_found_across_the_parts_of_a_tile(space, options):
    stencil(space, five_points, (70, 130), "right", tile=(64, 64), **options)


def test_a_tile_within_launch_bounds_that_no_device_has(space):
    check(space, 2, items_per_thread=(1, 2), launch_bounds=2**62)


def test_a_range_over_no_points(space):
    seen = es.View((5, 5), es.int64, space=space)
    es.parallel_for(es.MDRangePolicy((5, 0), tile=(999, 999), space=space), count2, seen)
    assert not staged.fetch(seen).any()


@pytest.mark.parametrize(
    ("kernel", "shape", "tile"),
    [
        (total1, (500,), (10**12,)),
        (total2, (30, 40), (64, 64)),
        (total2, (30, 40), (10**9, 10**9)),
        (total2, (0, 40), (10**9, 10**9)),
    ],
)
def test_sums_over_large_tiles(space, kernel, shape, tile):
    """Calls are numbered in the order of tiles: only those within the range are made."""
    values = np.arange(np.prod(shape)).reshape(shape)
    view = staged.view_on(space, values, "values")
    policy = es.MDRangePolicy(shape, tile=tile, space=space)
    assert es.parallel_reduce(policy, kernel, view) == values.sum()


def test_explain_says_how_a_large_tile_is_done(space):
    seen = es.View((70, 90), es.int64, space=space)
    policy = es.MDRangePolicy((70, 90), tile=(2**20, 2**20), space=space)
    told = "\n".join(es.explain(policy, count2, seen).mapping)
    if "blocks of" in told:
        assert f"tile ({2**20}, {2**20}) has {2**40} elements" in told

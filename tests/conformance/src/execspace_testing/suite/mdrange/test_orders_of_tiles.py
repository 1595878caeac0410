"""`iterate` of two orders: of tiles, and of indices within one. No result depends on either."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged

PAIRS = list(itertools.product(("left", "right", "auto"), repeat=2))
UPPER = {2: (9, 11), 3: (5, 6, 7), 4: (3, 4, 3, 5), 5: (2, 3, 2, 3, 4), 6: (2, 3, 2, 2, 1, 3)}
TILES = {2: (4, 2), 3: (2, 3, 2), 4: (2, 1, 2, 3), 5: (1, 2, 1, 2, 3), 6: (2, 2, 1, 2, 1, 2)}


@es.kernel
def mark2(i, j, A):
    A[i, j] += 1 + i + 10 * j


@es.kernel
def mark3(i, j, k, A):
    A[i, j, k] += 1 + i + 10 * j + 100 * k


@es.kernel
def mark4(i, j, k, p, A):
    A[i, j, k, p] += 1 + i + 10 * j + 100 * k + 1000 * p


@es.kernel
def mark5(i, j, k, p, q, A):
    A[i, j, k, p, q] += 1 + i + 10 * j + 100 * k + 1000 * p + 10**4 * q


@es.kernel
def mark6(i, j, k, p, q, r, A):
    A[i, j, k, p, q, r] += 1 + i + 10 * j + 100 * k + 1000 * p + 10**4 * q + 10**5 * r


MARKS = {2: mark2, 3: mark3, 4: mark4, 5: mark5, 6: mark6}


def marked(lower, upper):
    """What every index leaves that runs once."""
    out = np.zeros([u + 1 for u in upper], np.int64)
    inner = tuple(map(slice, lower, upper))
    places = np.indices(out.shape)[(slice(None), *inner)]
    out[inner] = 1 + sum(10**d * index for d, index in enumerate(places))
    return out


@pytest.mark.parametrize("iterate", PAIRS, ids="-".join)
@pytest.mark.parametrize("rank", UPPER)
def test_every_index_once(space, rank, iterate):
    upper = UPPER[rank]
    for lower, tile in (
        ((0,) * rank, TILES[rank]),
        ((1,) * rank, TILES[rank]),
        ((0,) * rank, None),
    ):
        A = np.zeros([u + 1 for u in upper], np.int64)
        policy = es.MDRangePolicy(lower, upper, tile=tile, iterate=iterate, space=space)
        staged.parallel_for(policy, MARKS[rank], A)
        np.testing.assert_array_equal(A, marked(lower, upper))


@pytest.mark.parametrize("iterate", [("left", "right"), ("right", "left")], ids="-".join)
@pytest.mark.parametrize("items", [(2, 1, 1), (1, 2, 2)])
def test_threads_with_several_calls(space, iterate, items):
    A = np.zeros((20, 21, 23), np.int64)
    policy = es.MDRangePolicy(
        (19, 20, 22), tile=(4, 4, 2), items_per_thread=items, iterate=iterate, space=space
    )
    staged.parallel_for(policy, mark3, A)
    np.testing.assert_array_equal(A, marked((0, 0, 0), (19, 20, 22)))


@pytest.mark.parametrize("iterate", PAIRS, ids="-".join)
@pytest.mark.parametrize("tile", [None, (4, 2)])
def test_reductions(space, iterate, tile):
    policy = es.MDRangePolicy((1, -2), (30, 17), tile=tile, iterate=iterate, space=space)
    expected = [(100 * i - 7 * j, (i, j)) for i in range(1, 30) for j in range(-2, 17)]
    assert staged.parallel_reduce(policy, lambda i, j: 100 * i - 7 * j) == sum(
        v for v, _ in expected
    )
    # Of equal values the least index counts, in whatever order they come.
    found = staged.parallel_reduce(policy, lambda i, j: ((i + j) % 5, i), reducer=es.MinLoc)
    assert tuple(found) == (0, 1)


def test_neighbours_that_are_read(space):
    """Blocks that the space chooses, numbered in another order than it would."""
    B = np.arange(34.0 * 70).reshape(34, 70) ** 2 % 101
    expected = B[:-2, 1:-1] + B[2:, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:]

    def around(i, j, A, B):
        A[i, j] = B[i, j + 1] + B[i + 2, j + 1] + B[i + 1, j] + B[i + 1, j + 2]

    for iterate in (("left", "right"), ("right", "left"), ("left", "auto")):
        A = np.zeros((32, 68))
        staged.parallel_for(es.MDRangePolicy((32, 68), iterate=iterate, space=space), around, A, B)
        np.testing.assert_array_equal(A, expected)


def test_a_pair_of_one_order_is_that_order(space):
    assert es.MDRangePolicy((2, 2), iterate=("left", "left"), space=space).iterate == "left"
    assert es.MDRangePolicy((2, 2), iterate=("auto", "right"), space=space).iterate == "right"
    assert es.MDRangePolicy((9,), iterate=("left", "right"), space=space).iterate == "right"


def test_a_scan_has_no_tiles_to_order(space):
    x = staged.view_on(space, np.ones((3, 3)), "x")
    policy = es.MDRangePolicy((3, 3), iterate=("left", "right"), space=space)
    with pytest.raises(es.PolicyError, match="cannot have an order of tiles"):
        es.parallel_scan(policy, lambda i, j, before, final: x[i, j])

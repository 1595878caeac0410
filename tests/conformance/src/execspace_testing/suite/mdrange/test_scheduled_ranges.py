"""The dynamic schedule of several dimensions: threads take rows or tiles one after another.

Every tuple of indices runs once; spaces that take no notice pass, too.
"""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import interpreted


@es.kernel
def mark2(i, j, visits):
    visits[i, j] += 1 + i + 1000 * j


@es.kernel
def mark3(i, j, k, visits):
    visits[i, j, k] += 1 + i + 1000 * j + 1000_000 * k


@pytest.mark.parametrize("iterate", ["auto", "left", "right"])
@pytest.mark.parametrize(
    ("lower", "upper", "tile"),
    [
        ((0, 0), (301, 203), None), ((2, 5), (299, 200), None), ((2, 5), (299, 200), (16, 7)),
        ((0, 3), (5, 3), None), ((0, 0, 0), (31, 43, 20), None),
        ((1, 2, 3), (30, 40, 19), (4, 8, 5)),
    ],
)  # fmt: skip
def test_every_tuple_once(space, lower, upper, tile, iterate):
    if interpreted(space):
        upper = tuple(min(u, low + 9) for low, u in zip(lower, upper, strict=True))
    visits = np.zeros([u + 2 for u in upper], np.int64)
    inner = tuple(map(slice, lower, upper))
    expected = np.zeros_like(visits)
    places = np.indices(visits.shape)[(slice(None), *inner)]
    expected[inner] = 1 + sum(1000**d * index for d, index in enumerate(places))
    policy = es.MDRangePolicy(
        lower, upper, tile=tile, iterate=iterate, schedule="dynamic", space=space
    )
    staged.parallel_for(policy, mark2 if len(lower) == 2 else mark3, visits)
    np.testing.assert_array_equal(visits, expected)


def test_sums_over_several_dimensions(space):
    n = 7 if interpreted(space) else 150
    for options in ({}, {"tile": (8, 16)}):
        policy = es.MDRangePolicy((3, -2), (n, n), schedule="dynamic", space=space, **options)
        found = staged.parallel_reduce(policy, lambda i, j: i * 1000 + j)
        assert found == sum(i * 1000 + j for i in range(3, n) for j in range(-2, n))

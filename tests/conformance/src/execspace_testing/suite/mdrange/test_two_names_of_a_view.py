"""Kernels that get one View, or overlapping ones, under two names.

Each call touches elements that no other call touches, so the result is what its statements say in
their order, whatever a device does to move several elements with one access.
"""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import interpreted

TYPES = ("int8", "int16", "int32", "float32", "float64")


def both(i, x, y):
    x[i] = 1
    if i % 3 == 0:
        y[i] = 2


def computed_place(i, x, y):
    x[i] = 1
    y[i * 1] = 2


def both_of_rows(i, j, x, y):
    x[i, j] = 1
    if j % 3 == 0:
        y[i, j] = 2


def both_and_count(i, x, y):
    x[i] = 1
    if i % 3 == 0:
        y[i] = 2
    return 1


def added_then_stored(i, x, y):
    if i < 64:
        es.atomic_add(x, i, 1)
        y[i] = 7


def added_then_read(i, x, y, z):
    if i < 64:
        es.atomic_add(x, i, 1)
        z[i] = y[i]


def exclusive(i, prefix, final, x, y):
    own = x[i]
    if final:
        y[i] = prefix
    return own


@pytest.mark.parametrize("dtype", TYPES)
def test_the_later_store_counts(space, dtype):
    n = 1000
    thirds = np.where(np.arange(n) % 3 == 0, 2, 1).astype(dtype)
    view = staged.place(space, np.zeros(n, dtype))
    es.parallel_for(es.RangePolicy(n, space=space), both, view, view)
    np.testing.assert_array_equal(staged.fetch(view), thirds)
    es.parallel_for(es.RangePolicy(n, space=space), computed_place, view, view)
    assert (staged.fetch(view) == 2).all()
    assert es.parallel_reduce(es.RangePolicy(n, space=space), both_and_count, view, view) == n
    np.testing.assert_array_equal(staged.fetch(view), thirds)


@pytest.mark.parametrize("dtype", TYPES)
def test_the_later_store_counts_in_two_dimensions(space, dtype):
    view = staged.place(space, np.zeros((7, 96), dtype))
    policy = es.MDRangePolicy((7, 96), space=space)
    es.parallel_for(policy, both_of_rows, view, view)
    expected = np.where(np.arange(96) % 3 == 0, 2, 1).astype(dtype)
    np.testing.assert_array_equal(staged.fetch(view), np.broadcast_to(expected, (7, 96)))


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_sums_that_are_stored_or_read_under_another_name(space, dtype):
    calls = 500 if interpreted(space) else 20_000  # enough for copies of small Views
    view, seen = (staged.place(space, np.zeros(64, dtype)) for _ in range(2))
    policy = es.RangePolicy(calls, space=space)
    es.parallel_for(policy, added_then_stored, view, view)
    assert (staged.fetch(view) == 7).all()
    es.parallel_for(policy, added_then_read, view, view, seen)
    assert (staged.fetch(view) == 8).all()
    assert (staged.fetch(seen) == 8).all()


@pytest.mark.parametrize("dtype", TYPES)
def test_a_scan_in_place_under_two_names(space, dtype):
    n = 1000
    given = np.arange(n) % 3 == 1
    view = staged.place(space, given.astype(dtype))
    es.parallel_scan(es.RangePolicy(100, space=space), exclusive, view, view)
    found = staged.fetch(view)
    np.testing.assert_array_equal(found[:100], np.cumsum(given[:100]) - given[:100])
    np.testing.assert_array_equal(found[100:], given[100:])


@pytest.mark.parametrize("dtype", ["int16", "uint16"])
def test_contributions_wider_than_what_they_are_read_from(space, dtype):
    def widened(i, prefix, final, x, y):
        if final:
            y[i] = prefix
        return to(x[i])

    to = getattr(es, dtype)
    given = (np.arange(3000) % 5).astype(np.int8)
    x, y = staged.place(space, given), staged.place(space, np.zeros(3000, dtype))
    total = es.parallel_scan(es.RangePolicy(3000, space=space), es.kernel(widened), x, y)
    assert total == given.sum()
    np.testing.assert_array_equal(staged.fetch(y), np.cumsum(given, dtype=np.int64) - given)

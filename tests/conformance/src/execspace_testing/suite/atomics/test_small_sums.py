"""Sums of many calls into few elements: devices may add to copies, and merge them at the end.

What a launch leaves must not depend on that: how many elements there are and calls, what the View
held before, and which elements no call adds to. NumPy adds up the same beside it.
"""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import interpreted

TYPES = ("int32", "uint32", "int64", "uint64", "float32", "float64")


@pytest.fixture
def calls(space):
    """Enough for copies to pay."""
    return 500 if interpreted(space) else 40_000


def add(i, keys, loads, bins):
    es.atomic_add(bins, keys[i], loads[i])


def add_and_take(i, keys, loads, bins):
    es.atomic_add(bins, keys[i], loads[i])
    es.atomic_sub(bins, 0, 1)


def through_trait(i, keys, loads, bins):
    bins[keys[i]] += loads[i]


def of_rows(i, j, keys, bins):
    es.atomic_add(bins, (keys[i, j], i % 3), 1)


def two(i, keys, counts, total):
    es.atomic_add(counts, keys[i], 1)
    es.atomic_add(total, (), 0.5)


def and_read(i, keys, loads, bins):
    """Of a View that is read, too, there is no copy."""
    if bins[keys[i]] >= 0:
        es.atomic_add(bins, keys[i], loads[i])


def keys_and_loads(dtype, targets, calls):
    random = np.random.default_rng(7)
    keys = random.integers(0, targets, calls, dtype=np.int32)
    return keys, random.integers(0, 4, calls).astype(dtype)


@pytest.mark.parametrize("targets", [1, 10, 1000, 5000])
@pytest.mark.parametrize("dtype", TYPES)
def test_sums_by_key(space, calls, dtype, targets):
    keys, loads = keys_and_loads(dtype, targets, calls)
    bins = staged.view_on(space, np.full(targets + 1, 3, dtype))  # no call adds to the last one
    policy = es.RangePolicy(calls, space=space)
    es.parallel_for(policy, add, staged.view_on(space, keys), staged.view_on(space, loads), bins)
    expected = np.bincount(keys, loads, targets + 1).astype(dtype) + np.array(3, dtype)
    np.testing.assert_array_equal(staged.fetch(bins), expected)


@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_additions_and_subtractions(space, calls, dtype):
    keys, loads = keys_and_loads(dtype, 10, calls)
    bins = staged.view_on(space, np.zeros(10, dtype))
    policy = es.RangePolicy(calls, space=space)
    arguments = staged.view_on(space, keys), staged.view_on(space, loads), bins
    for _ in range(2):
        es.parallel_for(policy, add_and_take, *arguments)
    expected = 2 * np.bincount(keys, loads, 10).astype(dtype)
    expected[0] -= 2 * calls
    np.testing.assert_array_equal(staged.fetch(bins), expected)


def test_a_view_with_the_atomic_trait(space, calls):
    keys, loads = keys_and_loads("float32", 64, calls)
    bins = staged.view_on(space, np.zeros(64, np.float32))
    es.parallel_for(
        es.RangePolicy(5, calls, space=space), through_trait,
        staged.view_on(space, keys), staged.view_on(space, loads), bins.with_traits("atomic"),
    )  # fmt: skip
    np.testing.assert_array_equal(staged.fetch(bins), np.bincount(keys[5:], loads[5:], 64))


@pytest.mark.parametrize("order", ["C", "F"])
def test_ranges_and_views_of_two_dimensions(space, order):
    keys = np.random.default_rng(1).integers(0, 10, (200, 150), dtype=np.int32)
    bins = staged.view_on(space, np.zeros((10, 3), np.int64, order=order))
    policy = es.MDRangePolicy((2, 1), (200, 150), space=space)
    es.parallel_for(policy, of_rows, staged.view_on(space, keys), bins)
    expected = np.zeros((10, 3), np.int64)
    rows = np.broadcast_to(np.arange(2, 200)[:, None] % 3, (198, 149))
    np.add.at(expected, (keys[2:, 1:], rows), 1)
    np.testing.assert_array_equal(staged.fetch(bins), expected)


def test_two_views_one_of_which_is_a_number(space, calls):
    keys, _ = keys_and_loads("int32", 10, calls)
    counts = staged.view_on(space, np.zeros(10, np.int32))
    total = staged.view_on(space, np.ones((), np.float64))
    es.parallel_for(
        es.RangePolicy(calls, space=space), two, staged.view_on(space, keys), counts, total
    )
    np.testing.assert_array_equal(staged.fetch(counts), np.bincount(keys, minlength=10))
    assert staged.fetch(total) == 1 + 0.5 * calls


def test_a_part_of_a_view(space, calls):
    """Rows of a View with gaps between them, and every second element."""
    keys, loads = keys_and_loads("int32", 10, calls)
    whole = np.zeros((4, 30), np.int32)
    bins = staged.view_on(space, whole)
    arguments = staged.view_on(space, keys), staged.view_on(space, loads)
    policy = es.RangePolicy(calls, space=space)
    es.parallel_for(policy, add, *arguments, es.subview(bins, 2, slice(7, 17)))
    es.parallel_for(policy, add, *arguments, es.subview(bins, 1, slice(1, 21, 2)))
    whole[2, 7:17] += np.bincount(keys, loads, 10).astype(np.int32)
    whole[1, 1:21:2] += np.bincount(keys, loads, 10).astype(np.int32)
    np.testing.assert_array_equal(staged.fetch(bins), whole)


def test_zeros_keep_their_sign_where_nothing_is_added(space, calls):
    keys = np.zeros(calls, np.int32)
    for dtype in ("float32", "float64"):
        bins = staged.view_on(space, np.full(3, -0.0, dtype))
        loads = staged.view_on(space, np.zeros(calls, dtype))
        es.parallel_for(
            es.RangePolicy(calls, space=space), add, staged.view_on(space, keys), loads, bins
        )
        assert list(np.signbit(staged.fetch(bins))) == [False, True, True]


def test_subnormal_numbers_are_added(space, calls):
    least = np.finfo(np.float32).smallest_subnormal
    keys, _ = keys_and_loads("float32", 8, calls)
    bins = staged.view_on(space, np.zeros(8, np.float32))
    loads = staged.view_on(space, np.full(calls, least, np.float32))
    es.parallel_for(
        es.RangePolicy(calls, space=space), add, staged.view_on(space, keys), loads, bins
    )
    expected = np.bincount(keys, minlength=8).astype(np.float32) * least
    np.testing.assert_array_equal(staged.fetch(bins), expected)


def taken(i, keys, loads, bins):
    es.atomic_sub(bins, keys[i], loads[i])


def asked(i, keys, loads, bins, found):
    found[i] = es.atomic_fetch_add(bins, keys[i], loads[i])


@pytest.mark.parametrize("kernel", [add, taken, asked], ids=lambda k: k.__name__)
@pytest.mark.parametrize("elements", [7, 100_000])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_that_pass_between_normal_and_subnormal_numbers(space, calls, dtype, elements, kernel):
    # Multiples of the smallest number below twice the least normal one are exact, and so are sums
    # of them in any order. Pairs of normal ones leave a subnormal one.
    info, random = np.finfo(dtype), np.random.default_rng(1)
    least, normal = info.smallest_subnormal, 1 << info.nmant
    count, many = calls // 2, calls // min(elements, calls) + 100
    keys = random.integers(0, elements, count, dtype=np.int32)
    more = random.integers(-(normal // many // 2), normal // many // 2, count)
    pairs = np.arange(0, count - 1, max(2, 4 * count // min(elements, count)))
    keys[pairs + 1] = keys[pairs]
    _, first = np.unique(keys[pairs], return_index=True)
    pairs = pairs[first]  # one for an element, so that sums stay below twice the normal number
    more[pairs], more[pairs + 1] = normal + 3, -normal - 1
    before = random.integers(0, 3, elements)
    sign = -1 if kernel is taken else 1
    expected = before.copy()
    np.add.at(expected, keys, sign * more)
    bins = staged.view_on(space, before.astype(dtype) * least)
    arrays = [staged.view_on(space, a) for a in (keys, more.astype(dtype) * least)]
    asked_for = [staged.view_on(space, np.zeros(count, dtype))] if kernel is asked else []
    es.parallel_for(es.RangePolicy(count, space=space), kernel, *arrays, bins, *asked_for)
    np.testing.assert_array_equal(staged.fetch(bins), expected.astype(dtype) * least)


def test_a_view_that_is_read_as_well(space, calls):
    keys, loads = keys_and_loads("int64", 10, calls)
    bins = staged.view_on(space, np.zeros(10, np.int64))
    es.parallel_for(
        es.RangePolicy(calls, space=space), and_read,
        staged.view_on(space, keys), staged.view_on(space, loads), bins,
    )  # fmt: skip
    np.testing.assert_array_equal(staged.fetch(bins), np.bincount(keys, loads, 10))

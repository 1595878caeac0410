"""Kokkos' reducers of extremes by a comparator of the user's."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import fitting, needs_dtype


@es.function
def nearer(a, b):
    return abs(a) < abs(b)


@es.function
def by_second(a, b):
    return a[1] < b[1]


def element(i, x):
    return x[i], i


def twice(i, x):
    return x[i], x[i], i, i


def pair(i, x):
    return (i * 1.0, x[i] % 7), i


def numbers(space, dtype):
    n = fitting(space, 1001, 101)
    return np.random.default_rng(5).integers(-50, 50, n).astype(dtype)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_the_first_least_and_the_first_greatest(space, dtype):
    needs_dtype(space, dtype)
    x = numbers(space, dtype)
    policy = es.RangePolicy(len(x), space=space)
    least = staged.parallel_reduce(
        policy, element, x, reducer=es.MinFirstLocCustomComparator(nearer)
    )
    at = int(np.argmin(abs(x)))
    assert (least.val, least.loc) == (x[at], at)
    most = staged.parallel_reduce(
        policy, element, x, reducer=es.MaxFirstLocCustomComparator(nearer)
    )
    at = int(np.argmax(abs(x)))
    assert (most.val, most.loc) == (x[at], at)


def test_both_with_the_first_and_the_last_location(space):
    x = numbers(space, "int64")
    found = staged.parallel_reduce(
        es.RangePolicy(len(x), space=space), twice, x,
        reducer=es.MinMaxFirstLastLocCustomComparator(nearer),
    )  # fmt: skip
    first = int(np.argmin(abs(x)))
    last = len(x) - 1 - int(np.argmax(abs(x)[::-1]))
    assert tuple(found) == (x[first], x[last], first, last)
    assert found.min_loc == first and found.max_val == x[last]


def test_operators_and_ufuncs_are_comparators(space):
    x = numbers(space, "int64")
    for less in (operator.lt, np.less):
        found = staged.parallel_reduce(
            es.RangePolicy(len(x), space=space), element, x,
            reducer=es.MinFirstLocCustomComparator(less),
        )  # fmt: skip
        assert found == (x.min(), int(np.argmin(x)))


def test_values_that_are_tuples(space):
    x = numbers(space, "int64")
    found = staged.parallel_reduce(
        es.RangePolicy(len(x), space=space), pair, x,
        reducer=es.MaxFirstLocCustomComparator(by_second),
    )  # fmt: skip
    at = int(np.argmax(x % 7))
    assert found.val == (float(at), x[at] % 7) and found.loc == at


def test_an_empty_range(space):
    found = staged.parallel_reduce(
        es.RangePolicy(0, space=space), element, np.zeros(1),
        reducer=es.MinFirstLocCustomComparator(nearer),
    )  # fmt: skip
    assert found == (0.0, np.iinfo(np.int64).max)


def test_what_is_no_comparator(space):
    with pytest.raises(es.LaunchError, match="expected a function of two values"):
        es.MinFirstLocCustomComparator(3)
    with pytest.raises(es.LaunchError, match="of 1 parameters: expected a function of two values"):
        es.MinFirstLocCustomComparator(lambda a: a > 0)
    with pytest.raises(es.KernelTypeError, match="takes a value and its location"):
        es.parallel_reduce(
            es.RangePolicy(3, space=space), lambda i: i,
            reducer=es.MinFirstLocCustomComparator(nearer),
        )  # fmt: skip


class Scaled(es.Reducer):
    """Its functions refer to the class itself."""

    zero = 0.0

    def identity(self, dtype):
        return Scaled.zero

    def join(self, a, b):
        return a + b + Scaled.zero


def test_reducers_may_refer_to_their_own_class(space):
    policy = es.RangePolicy(10, space=space)
    assert es.parallel_reduce(policy, lambda i: i * 1.0, reducer=Scaled) == 45.0
    assert es.parallel_reduce(policy, lambda i: i * 1.0, reducer=Scaled()) == 45.0

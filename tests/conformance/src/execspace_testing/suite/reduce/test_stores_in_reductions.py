"""A kernel of a reduction may store into Views, which may be one: as in CPython, call by call.

Spaces may compile it for Views that do not overlap; if they do, another plan runs, which gives
what the first one gives: the value, its dtype, or what is in `out`.
"""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import fitting, needs_dtype, needs_teams


def doubled(i, x, y):
    """What is read after the store is the new element, if both are one."""
    y[i] = 2.0 * x[i]
    return y[i] + x[i]


def rows(team, x, y):
    r = team.league_rank

    def element(k):
        y[r, k] = 2.0 * x[r, k]
        return y[r, k] + x[r, k]

    return es.parallel_reduce(es.TeamThreadRange(team, x.extent(1)), element)


def located(i, x, y):
    y[i] = 2.0 * x[i]
    return y[i] + x[i], i


def counted(i, a, x, y):
    y[i] = 2.0 * x[i]
    a[i % 3] += y[i] + x[i]


def both(space, values):
    return [staged.view_on(space, values.copy(), label) for label in "xy"]


def test_the_same_view_twice(space):
    n = fitting(space, 5000)
    values = np.arange(float(n))
    policy = es.RangePolicy(n, space=space)
    x, y = both(space, values)
    for _ in range(2):
        es.deep_copy(x, values)
        assert es.parallel_reduce(policy, doubled, x, y) == 3 * values.sum()
        np.testing.assert_array_equal(staged.fetch(x), values)
        assert es.parallel_reduce(policy, doubled, x, x) == 4 * values.sum()
        np.testing.assert_array_equal(staged.fetch(x), 2 * values)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "float32"])
def test_one_view_of_narrow_elements(space, dtype):
    needs_dtype(space, dtype)
    n = fitting(space, 5000)
    values = (np.arange(n) % 11).astype(dtype)
    x, _ = both(space, values)
    total = es.parallel_reduce(es.RangePolicy(n, space=space), doubled, x, x)
    assert total == 4.0 * values.sum(dtype=np.float64)
    np.testing.assert_array_equal(staged.fetch(x), 2 * values)


@pytest.mark.parametrize("shift", [0, 1, 3])
def test_parts_of_one_view(space, shift):
    """The Views overlap, though no element is in both unless the shift is 0."""
    n = fitting(space, 3000)
    whole = staged.view_on(space, np.arange(4.0 * n), "whole")
    policy = es.RangePolicy(n, space=space)
    x = np.arange(0.0, 4 * n, 4)
    total = es.parallel_reduce(policy, doubled, whole[::4], whole[shift::4])
    assert total == (4 if shift == 0 else 3) * x.sum()
    np.testing.assert_array_equal(staged.fetch(whole)[shift::4], 2 * x)


@pytest.mark.parametrize("same", [False, True])
def test_what_the_reducer_returns(space, same):
    n = fitting(space, 1000)
    x, y = both(space, np.arange(float(n)) - 17)
    policy = es.RangePolicy(n, space=space)
    found = es.parallel_reduce(policy, located, x, x if same else y, reducer=es.MinLoc)
    assert (found.val, found.loc) == ((4 if same else 3) * -17.0, 0)


@pytest.mark.parametrize("same", [False, True])
def test_results_in_views(space, same):
    n = fitting(space, 1000)
    values = np.arange(float(n))
    x, y = both(space, values)
    out = es.View((), label="out", space=space)
    policy = es.RangePolicy(n, space=space)
    assert es.parallel_reduce(policy, doubled, x, x if same else y, out=out) is None
    assert staged.fetch(out) == (4 if same else 3) * values.sum()


@pytest.mark.parametrize("same", [False, True])
def test_sums_of_arrays(space, same):
    n = fitting(space, 1000)
    values = np.arange(float(n))
    x, y = both(space, values)
    sums = es.Sum(np.float64, shape=3)
    policy = es.RangePolicy(n, space=space)
    found = es.parallel_reduce(policy, counted, x, x if same else y, reducer=sums)
    factor = 4 if same else 3
    assert found.tolist() == [factor * values[k::3].sum() for k in range(3)]


@pytest.mark.parametrize("same", [False, True])
def test_teams(space, same):
    needs_teams(space)
    values = np.arange(5.0 * 37).reshape(5, 37)
    x, y = both(space, values)
    changed = x if same else y
    found = es.parallel_reduce(es.TeamPolicy(5, space=space), rows, x, changed)
    assert found == (4 if same else 3) * values.sum()
    np.testing.assert_array_equal(staged.fetch(changed), 2 * values)


def test_an_assertion_that_fails_in_the_other_plan(space):
    """The launch that found the overlap raises what the other one raised."""

    @es.kernel
    def checked(i, x, y):
        y[i] = 2.0 * x[i]
        assert x[i] < 11.0, "too large"
        return y[i] + x[i]

    values = np.arange(6.0)
    x, y = both(space, values)

    def total(*views):
        found = es.parallel_reduce(es.RangePolicy(6, space=space), checked, *views)
        space.fence()
        return found

    assert total(x, y) == 3 * values.sum()
    with pytest.raises(es.KernelAssertionError, match="too large"):
        total(y, y)
    assert total(x, x) == 4 * values.sum()

"""Assertions that fail: which stores are made, and what the launch says.

What a range must hold afterwards comes from Python itself, which runs the kernel as a function.
"""

import re

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import needs_teams

N, ODD = 3000, 2500  # more calls than compilers look at together, and the one that fails


def before_the_store(i, x, at, y):
    assert x[i] > 0
    y[i] = 2 * x[i]


def guarding_a_load(i, x, at, y):
    assert 0 <= at[i] < len(x)
    assert x[at[i]] > -5, "a place that is there"
    y[i] = x[at[i]]


def after_a_store(i, x, at, y):
    y[i] = 2 * x[i]
    assert y[i] > 0
    y[i] += 1


def of_what_is_changed(i, x, at, y):
    assert x[i] > 0
    x[i] = x[i] / 2


def of_the_last_indices(i, x, at, y):
    place = 2 * i + 1
    assert place < 2 * ODD and i >= 0
    y[i] = 1


def of_an_index_in_the_middle(i, x, at, y):
    assert i != ODD
    y[i] = 1


def positive(v):
    assert v > 0
    return 2 * v


def twice_positive(v):
    w = positive(v)
    assert w < 100
    return positive(w)


def in_helpers(i, x, at, y):
    y[i] = x[i]
    y[i] = twice_positive(x[i]) + y[i]


def in_a_loop(i, x, at, y):
    for k in range(3):
        assert x[i] > k - 1
        y[i] += x[i]


def on_a_condition(i, x, at, y):
    if i == 7:
        return
    if i % 2 == 0:
        assert x[i] > 0
    y[i] = 1


KERNELS = (
    before_the_store, guarding_a_load, after_a_store, of_what_is_changed, of_the_last_indices,
    of_an_index_in_the_middle, in_helpers, in_a_loop, on_a_condition,
)  # fmt: skip


def data():
    x, at, y = np.arange(1, N + 1) % 7 + 2.0, np.arange(N)[::-1].copy(), np.zeros(N)
    return x, at, y


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_a_call_ends_where_an_assertion_fails_and_the_others_run(space, kernel):
    x, at, y = data()
    policy = es.RangePolicy(N if kernel is not of_the_last_indices else ODD, space=space)
    if kernel not in (of_the_last_indices, of_an_index_in_the_middle):
        staged.parallel_for(policy, kernel, *data())  # all hold
        x[ODD], at[ODD] = -1, 10**15
    expected = [a.copy() for a in (x, at, y)]
    failed = []
    for i in range(N):
        try:
            kernel(i, *expected)
        except AssertionError:
            failed.append(i)
    with pytest.raises(es.KernelAssertionError) as caught:
        staged.parallel_for(es.RangePolicy(N, space=space), kernel, x, at, y)
    first, last = failed[0], failed[-1]
    assert f"in kernel '{kernel.__name__}' at index {first}" in str(caught.value) or first < last
    places = failed if space.name == "oracle" else slice(None)  # which stops at once
    np.testing.assert_array_equal(y[places], expected[2][places])
    np.testing.assert_array_equal(x[places], expected[0][places])


def test_rows_and_narrow_types(space):
    def kernel(i, j, x, y):
        assert x[i, j] < 100, "too much"
        y[i, j] = x[i, j] + 1

    x, y = np.ones((3, N), np.int32), np.zeros((3, N), np.int32)
    x[1, ODD] = 100
    with pytest.raises(es.KernelAssertionError, match=rf"at indices \(1, {ODD}\)\n(.|\n)*too much"):
        staged.parallel_for(es.MDRangePolicy(x.shape, space=space), kernel, x, y)
    assert y[1, ODD] == 0
    if space.name != "oracle":
        assert y.sum() == 2 * (3 * N - 1)


def in_a_row(i, j, x, y, least):
    assert x[i, j] > least, "small"
    assert x[i, j + 1] != 5 or y[i, j] < 2, "next"
    y[i, j] = 2 * x[i, j] + y[i, j]


def changing_a_row(i, j, x, y, least):
    assert x[i, j] > least, "small"
    y[i, j] = x[i, j]
    x[i, j] = -x[i, j]
    assert y[i, j] != 3, "stored"


@pytest.mark.parametrize("kernel", [in_a_row, changing_a_row])
def test_rows_of_any_length(space, kernel):
    """The calls of a row are looked at together; each ends where Python would have ended it."""
    rng = np.random.default_rng(5)
    for width, failing in ((1, 1), (3, 1), (8, 0), (8, 2), (16, 1), (17, 3), (64, 1), (65, 40)):
        x, y = rng.integers(1, 5, (2, 6, width + 1)).astype(np.float64)
        y[0, 0] = 1.0
        x[rng.integers(0, 6, failing), rng.integers(0, width, failing)] = 0.0
        found, expected, errors = (x.copy(), y.copy()), (x.copy(), y.copy()), {}
        calls = [(i, j) for i in range(6) for j in range(width)]
        raised = None
        try:
            policy = es.MDRangePolicy((6, width), space=space)
            staged.parallel_for(policy, kernel, *found, 0)
            space.fence()
        except es.KernelAssertionError as error:
            raised = str(error)
        for i, j in calls:
            try:
                kernel(i, j, *expected, 0)
            except AssertionError as error:
                errors[i, j] = str(error).partition("\n")[0]
                if space.name == "oracle":
                    break
        assert (raised is not None) == bool(errors)
        for mine, python in zip(found, expected, strict=True):
            np.testing.assert_array_equal(mine, python)
        if raised is not None:
            at = tuple(map(int, re.search(r"at indices \((\d+), (\d+)\)", raised).groups()))
            assert f"assertion failed: {errors[at]}" in raised


def test_reductions_of_long_ranges(space):
    def kernel(i, x):
        assert x[i] > 0, "not positive"
        return x[i]

    x, policy = np.ones(N, np.float32), es.RangePolicy(N, space=space)
    assert staged.parallel_reduce(policy, kernel, x) == N
    assert staged.parallel_reduce(policy, kernel, x, reducer=es.Max) == 1
    x[ODD] = np.nan
    with pytest.raises(es.KernelAssertionError, match=f"at index {ODD}\n(.|\n)*not positive"):
        staged.parallel_reduce(policy, kernel, x)


def test_nested_ranges_of_teams(space):
    needs_teams(space)

    def kernel(team, x, y):
        for k in es.TeamThreadRange(team, 100):
            at = team.league_rank * 100 + k
            assert x[at] > 0, "not positive"
            y[at] = 2 * x[at]

    x, y = np.ones(N), np.zeros(N)
    policy = es.TeamPolicy(N // 100, space=space)
    staged.parallel_for(policy, kernel, x, y)
    assert y.sum() == 2 * N
    x[ODD] = -1
    with pytest.raises(es.KernelAssertionError, match=f"at index {ODD // 100}\n(.|\n)*not posit"):
        staged.parallel_for(policy, kernel, x, y)

"""Stencils of elements narrower than 8 bytes: devices may move a part of a row with one access.

What a launch does must not depend on where rows begin in memory, how long they are, and where the
range begins in them. Python runs the same kernels beside it.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import execspace as es
from execspace_testing import staged
from execspace_testing.drawn import drawn
from execspace_testing.sizes import needs_dtype

TYPES = ("int8", "uint8", "int16", "uint16", "int32", "float32")
ROOM = 9  # rows and columns of each View that lie outside of the part that a launch gets


def cross(i, j, a, b, c):
    a[i, j] = b[i - 1, j] + b[i + 1, j] + b[i, j - 1] + b[i, j + 1] - b[i, j]


def vertical(i, j, a, b, c):
    a[i, j] = b[i - 1, j] + b[i + 1, j] + b[i, j]


def added(i, j, a, b, c):
    a[i, j] += b[i - 1, j] - b[i, j]


def some(i, j, a, b, c):
    """Elements that no call stores keep their values."""
    x = b[i - 1, j] + b[i, j]
    if x > c[i, j]:
        a[i, j] = x


def both(i, j, a, b, c):
    a[i, j] = b[i - 1, j] + b[i, j]
    c[i, j] = b[i + 1, j] + b[i, j + 1]


def corners(i, j, a, b, c):
    """No call reads its own element."""
    a[i, j] = b[i - 1, j - 1] + b[i + 1, j + 1] + c[0, 0]


KERNELS = (cross, vertical, added, some, both, corners)


def across(i, j, k, a, b, c):
    a[i, j, k] = b[i - 1, j, k] + b[i, j + 1, k] + b[i, j, k - 1] + b[i, j, k]


def values(dtype, shape, seed):
    return np.random.default_rng(seed).integers(0, 100, shape).astype(dtype)


def check(space, kernel, dtypes, shape, corner, lower, order="C"):
    """Run a kernel on parts of Views that begin at a corner, and Python on the same of arrays.

    The range ends one before the end in each dimension.
    """
    whole = [n + ROOM for n in shape]
    arrays = [np.asarray(values(t, whole, n), order=order) for n, t in enumerate(dtypes)]
    views = [staged.view_on(space, a) for a in arrays]
    parts = tuple(slice(o, o + n) for o, n in zip(corner, shape, strict=True))
    bounds = [(min(low, n - 1), n - 1) for low, n in zip(lower, shape, strict=True)]
    policy = es.MDRangePolicy(*zip(*bounds, strict=True), space=space)
    es.parallel_for(policy, kernel, *(es.subview(v, *parts) for v in views))
    elements = [a[parts] for a in arrays]
    with np.errstate(over="ignore"):
        for at in itertools.product(*itertools.starmap(range, bounds)):
            kernel(*at, *elements)
    for n, (view, expected) in enumerate(zip(views, arrays, strict=True)):
        np.testing.assert_array_equal(staged.fetch(view), expected, f"View {n}")


@drawn(40)
@given(
    kernel=st.sampled_from(KERNELS),
    dtype=st.sampled_from(TYPES),
    shape=st.tuples(st.integers(2, 9), st.integers(2, 150)),
    corner=st.tuples(st.integers(0, 3), st.integers(0, 8)),
    lower=st.tuples(st.integers(1, 3), st.integers(1, 40)),
)
def test_rows_wherever_they_begin(space, kernel, dtype, shape, corner, lower):
    check(space, kernel, (dtype,) * 3, shape, corner, lower)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
def test_rows_that_are_multiples_of_an_access(space, kernel, dtype):
    """55 + 9 elements of 1 to 4 bytes."""
    for lower in (1, 4, 16):
        check(space, kernel, (dtype,) * 3, (5, 55), (0, 0), (1, lower))


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize("columns", [2103, 2100])
def test_rows_of_several_blocks(space, dtype, columns):
    for corner in (0, 1):
        check(space, cross, (dtype,) * 3, (4, columns), (1, corner), (1, 1))


@pytest.mark.parametrize("kernel", [cross, some], ids=lambda k: k.__name__)
@pytest.mark.parametrize(
    "dtypes", [("float32", "int8", "int16"), ("int32", "float32", "float32"),
               ("float64", "float32", "float32"), ("int16", "int8", "float64")],
)  # fmt: skip
def test_types_of_different_widths(space, kernel, dtypes):
    for corner in ((0, 0), (1, 3), (2, 8)):
        check(space, kernel, dtypes, (6, 71), corner, (1, 1))


def test_halves(space):
    needs_dtype(space, "float16")
    for columns in (55, 60):
        check(space, cross, ("float16",) * 3, (6, columns), (0, 0), (1, 1))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_three_dimensions_of_either_layout(space, dtype, order):
    for shape in ((7, 7, 55), (55, 6, 5), (4, 9, 70)):
        check(space, across, (dtype,) * 3, shape, (0, 0, 0), (1, 1, 1), order)


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_a_row_of_a_view_from_those_above_and_below(space, dtype):
    """The View that is stored into is the one that is read, at elements that no call stores."""
    x = values(dtype, (3, 100), 0)
    view = staged.view_on(space, x)
    es.parallel_for(es.MDRangePolicy((1, 3), (2, 98), space=space), vertical, view, view, view)
    with np.errstate(over="ignore"):
        x[1, 3:98] += x[0, 3:98] + x[2, 3:98]
    np.testing.assert_array_equal(staged.fetch(view), x)


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64"])
def test_two_halves_of_a_view(space, dtype):
    """They do not overlap, but what lies between their first and last elements does."""
    x = values(dtype, (20, 256), 0)
    view = staged.view_on(space, x)
    a, b = (es.subview(view, slice(0, 20), part) for part in (slice(0, 128), slice(128, 256)))
    policy = es.MDRangePolicy((1, 0), (19, 128), space=space)
    es.parallel_for(policy, vertical, a, b, b)
    with np.errstate(over="ignore"):
        x[1:19, :128] = x[:18, 128:] + x[2:, 128:] + x[1:19, 128:]
    np.testing.assert_array_equal(staged.fetch(view), x)


def stored_and_read(i, j, a, b, c):
    a[i, j] = b[i - 1, j] + b[i + 1, j]
    c[i, j] = a[i, j] + 1


@pytest.mark.parametrize("dtype", ["int16", "float32"])
def test_one_view_as_two_arguments(space, dtype):
    b = values(dtype, (20, 256), 1)
    view, read = staged.view_on(space, np.zeros_like(b)), staged.view_on(space, b)
    policy = es.MDRangePolicy((1, 1), (19, 255), space=space)
    es.parallel_for(policy, stored_and_read, view, read, view)
    expected = np.zeros_like(b)
    expected[1:19, 1:255] = b[:18, 1:255] + b[2:, 1:255] + 1
    np.testing.assert_array_equal(staged.fetch(view), expected)


def two_below(i, j, a, b, c):
    a[i + 2, j] = b[i + 1, j] + b[i + 3, j] + b[i + 2, j]


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_ranges_that_begin_below_zero(space, dtype):
    b = values(dtype, (20, 256), 1)
    view, read = staged.view_on(space, np.zeros_like(b)), staged.view_on(space, b)
    es.parallel_for(es.MDRangePolicy((-1, 0), (17, 256), space=space), two_below, view, read, read)
    expected = np.zeros_like(b)
    with np.errstate(over="ignore"):
        expected[1:19] = b[:18] + b[2:] + b[1:19]
    np.testing.assert_array_equal(staged.fetch(view), expected)


def wrapped(i, j, a, b, c):
    """Subscripts that count again from zero after 255."""
    a[i, j] = b[i - 1, j] + b[i + 1, j] + b[i - 1, es.uint8(j)] + c[es.uint8(j + 1), 0]


@pytest.mark.parametrize("dtype", ["int16", "float32"])
def test_subscripts_of_a_narrow_type(space, dtype):
    b = values(dtype, (6, 512), 1)
    c = values(dtype, (256, 1), 2)
    view = staged.view_on(space, np.zeros_like(b))
    policy = es.MDRangePolicy((1, 0), (5, 512), space=space)
    es.parallel_for(policy, wrapped, view, staged.view_on(space, b), staged.view_on(space, c))
    j = np.arange(512)
    expected = np.zeros_like(b)
    expected[1:5] = b[:4] + b[2:] + b[:4, j % 256] + c[(j + 1) % 256, 0]
    np.testing.assert_array_equal(staged.fetch(view), expected)

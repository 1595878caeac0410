"""Elements narrower than 8 bytes: devices may move several neighbours with one access.

What a launch does must not depend on that: where the elements begin in memory, how many there are,
what a call skips, and what lies before and behind them. Python runs the same kernels beside it.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import execspace as es
from execspace_testing import staged
from execspace_testing.drawn import drawn
from execspace_testing.sizes import needs_dtype

TYPES = ("int8", "uint8", "int16", "uint16", "int32", "float32", "float64")
ROOM = 11  # elements of each View that lie outside of the part that a launch gets


def add(i, a, b, c):
    a[i] = b[i] + c[i]


def add_in_place(i, a, b, c):
    a[i] += b[i]
    c[i] -= a[i]


def some(i, a, b, c):
    """Elements that no call stores keep their values."""
    if b[i] > c[i]:
        a[i] = b[i]


def either(i, a, b, c):
    x = b[i]
    if x > c[i]:
        a[i] = x
        return
    c[i] = x
    a[i] = c[i] - a[i]


def lazily(i, a, b, c):
    a[i] = b[i] if i % 3 else c[i]


def neighbours(i, a, b, c):
    a[i] = b[i - 1] + b[i] + b[i + 1]
    if c[i] > b[i]:
        c[i] = b[i]


def set_twice(i, a, b, c):
    a[i] = b[i]
    if c[i] > a[i]:
        a[i] = c[i]


def place(i, a, b, c):
    """The number of a call is known, too."""
    a[i] = b[i] * i


KERNELS = (add, add_in_place, some, either, lazily, neighbours, set_twice, place)


def values(dtype, count, seed):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 100, count).astype(dtype)


def check(space, kernel, dtypes, offsets, lower, count):
    """Run a kernel on parts of Views that begin at offsets, and Python on the same of arrays."""
    upper = count - 1 if kernel is neighbours else count
    arrays = [values(t, count + 2 * ROOM, n) for n, t in enumerate(dtypes)]
    views = [staged.view_on(space, a) for a in arrays]
    parts = [slice(o + 1, o + 1 + count) for o in offsets]
    es.parallel_for(
        es.RangePolicy(lower, upper, space=space), kernel,
        *(es.subview(v, p) for v, p in zip(views, parts, strict=True)),
    )  # fmt: skip
    elements = [a[p] for a, p in zip(arrays, parts, strict=True)]
    with np.errstate(over="ignore"):
        for i in range(lower, upper):
            kernel(i, *elements)
    for n, (view, expected) in enumerate(zip(views, arrays, strict=True)):
        np.testing.assert_array_equal(staged.fetch(view), expected, f"View {n}")


@drawn(40)
@given(
    kernel=st.sampled_from(KERNELS[:5]),
    dtype=st.sampled_from(TYPES),
    offsets=st.tuples(*[st.integers(0, 8)] * 3),
    same=st.booleans(),
    lower=st.integers(0, 9),
    count=st.integers(0, 70),
)
def test_parts_of_views_wherever_they_begin(space, kernel, dtype, offsets, same, lower, count):
    offsets = (offsets[0],) * 3 if same else offsets
    check(space, kernel, (dtype,) * 3, offsets, min(lower, count), count)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
def test_kernels_of_neighbouring_elements(space, kernel, dtype):
    first = kernel is neighbours  # which reads an element on either side
    for offset in (0, 1, 7):
        check(space, kernel, (dtype,) * 3, (offset,) * 3, int(first), 61)


@pytest.mark.parametrize(
    "dtypes", [("float32", "int8", "int16"), ("int8", "float32", "float32"),
               ("float64", "int8", "float32"), ("int16", "float64", "int8")],
)  # fmt: skip
def test_types_of_different_widths(space, dtypes):
    for offsets in ((0, 0, 0), (1, 1, 1), (2, 4, 0), (3, 1, 2)):
        check(space, some, dtypes, offsets, 0, 77)


def test_a_view_passed_three_times(space):
    """Each call reads and writes its own element only."""
    for dtype in ("int8", "float32"):
        x = values(dtype, 45, 0)
        view = staged.view_on(space, x)
        es.parallel_for(es.RangePolicy(45, space=space), add, view, view, view)
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(staged.fetch(view), x + x)


def stores_then_loads(i, a, b, c):
    a[i] = b[i] + c[i]
    c[i] = b[i] + a[i]


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
def test_a_view_under_two_names_is_read_after_it_was_written(space, dtype):
    x, y = values(dtype, 45, 0), values(dtype, 45, 1)
    first, second = (staged.view_on(space, v) for v in (x, y))
    es.parallel_for(es.RangePolicy(45, space=space), stores_then_loads, first, first, second)
    with np.errstate(over="ignore"):
        once = x + y
        np.testing.assert_array_equal(staged.fetch(first), once)
        np.testing.assert_array_equal(staged.fetch(second), once + once)


def tripled_where_positive(i, x):
    if x[i] > 0:
        x[i] = x[i] * 3


def added_to_twice(i, x):
    if x[i] > 0:
        x[i] += 1
        x[i] += x[i]


def asserted(i, x):
    assert x[i] > -128
    x[i] = x[i] * 3


@pytest.mark.parametrize("kernel", [tripled_where_positive, added_to_twice, asserted])
@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "float64"])
def test_an_element_that_is_changed_on_a_condition_is_changed_once(space, kernel, dtype):
    """Where the value that is stored is computed from the element itself."""
    needs_dtype(space, dtype)
    x = np.arange(-30, 41).astype(dtype)
    expected = x.copy()
    for i in range(len(x)):
        kernel(i, expected)
    staged.parallel_for(es.RangePolicy(len(x), space=space), kernel, x)
    np.testing.assert_array_equal(x, expected)


def add2(i, j, a, b, c):
    a[i, j] = b[i, j] + c[i, j]


def some2(i, j, a, b, c):
    if b[i, j] > c[i, j]:
        a[i, j] = b[i, j] + i - j


@pytest.mark.parametrize("kernel", [add2, some2], ids=lambda k: k.__name__)
@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
@pytest.mark.parametrize("shape", [(3, 5), (8, 16), (17, 33)])
def test_ranges_of_two_dimensions(space, kernel, dtype, shape):
    """Whole Views, and their insides, whose rows are further apart than they are long."""
    count = shape[0] * shape[1]
    for margin in (0, 1):
        arrays = [values(dtype, count, n).reshape(shape) for n in range(3)]
        views = [staged.view_on(space, a) for a in arrays]
        inside = (slice(margin, None), slice(margin, None))
        extents = tuple(n - margin for n in shape)
        es.parallel_for(
            es.MDRangePolicy(extents, space=space), kernel,
            *(es.subview(v, *inside) for v in views),
        )  # fmt: skip
        with np.errstate(over="ignore"):
            for i, j in np.ndindex(extents):
                kernel(i, j, *(a[inside] for a in arrays))
        for view, expected in zip(views, arrays, strict=True):
            np.testing.assert_array_equal(staged.fetch(view), expected)


def element(i, x):
    return x[i]


def weighted(i, x):
    return x[i] * 0.5 * i if i % 2 else x[i] * 1.0


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kernel", [element, weighted], ids=lambda k: k.__name__)
def test_reductions_do_not_depend_on_where_elements_begin(space, dtype, kernel):
    """Not even in their last bit."""
    for count in (0, 1, 15, 16, 17, 400):
        x = (values(dtype, count, 1) / 7).astype(dtype)
        found = set()
        for offset in range(9):
            whole = staged.view_on(space, np.concatenate([np.ones(offset, dtype), x, x[:3]]))
            part = es.subview(whole, slice(offset, offset + count))
            found.add(es.parallel_reduce(es.RangePolicy(count, space=space), kernel, part))
        assert len(found) == 1
        with np.errstate(over="ignore"):
            exact = sum(float(kernel(i, x)) for i in range(count))
        assert found.pop() == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("dtype", TYPES)
def test_extremes_of_parts(space, dtype):
    x = values(dtype, 333, 2)
    view = staged.view_on(space, x)
    for first, last in ((0, 333), (1, 333), (5, 330), (16, 17), (7, 15)):
        part = es.subview(view, slice(first, last))
        policy = es.RangePolicy(last - first, space=space)
        assert es.parallel_reduce(policy, element, part, reducer=es.Max) == x[first:last].max()
        assert es.parallel_reduce(policy, element, part, reducer=es.Min) == x[first:last].min()


def wrapped(i, a, b):
    """A subscript that counts again from zero after 255."""
    a[i] = b[i] + b[es.uint8(i)]


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_a_subscript_of_a_narrow_type(space, dtype):
    b = values(dtype, 512, 1)
    view = staged.view_on(space, np.zeros_like(b))
    es.parallel_for(es.RangePolicy(512, space=space), wrapped, view, staged.view_on(space, b))
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(staged.fetch(view), b + b[np.arange(512) % 256])

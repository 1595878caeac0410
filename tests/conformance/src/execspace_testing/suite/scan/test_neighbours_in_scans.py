"""Scans of elements that devices may move by several with one access, in long ranges.

A result depends neither on where elements begin in memory nor on how many there are. Sums of small
integers are exact, so NumPy tells every prefix.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import execspace as es
from execspace_testing import staged
from execspace_testing.drawn import drawn
from execspace_testing.sizes import fitting, needs_dtype

TYPES = ("int8", "uint8", "int16", "uint16", "float16", "int32", "uint32", "float32", "int64",
         "float64")  # fmt: skip
LONG = 1_300_003  # of bytes as many as several groups of a device share out more than once


def exclusive(i, prefix, final, x, y):
    if final:
        y[i] = prefix
    return x[i]


def inclusive(i, prefix, final, x, y):
    if final:
        y[i] = prefix + x[i]
    return x[i]


def held(i, prefix, final, x, y):
    """The contribution has a name, and is computed."""
    v = 2 * x[i]
    if final:
        y[i] = prefix + v
    return v


def neighbour(i, prefix, final, x, y):
    if final:
        y[i] = prefix - x[i + 1]
    return x[i]


def skipped(i, prefix, final, x, y):
    """Not every call stores."""
    if final and x[i] > 0:
        y[i] = prefix
    return x[i]


KERNELS = (exclusive, inclusive, held, neighbour, skipped)


def expected_of(kernel, x, y):
    """What NumPy makes of it: y and the total; x has one element more."""
    values = x[:-1].astype(np.float64) * (2 if kernel is held else 1)
    after = np.cumsum(values)
    before = after - values
    if kernel is neighbour:
        before = before - x[1:]
    found = after if kernel in (inclusive, held) else before
    if kernel is skipped:
        found = np.where(x[:-1] > 0, found, y)
    return found.astype(y.dtype), after[-1] if len(after) else 0


def check(space, kernel, dtypes, offsets, lower, count, density=1.0):
    """Run it on parts of Views that begin at offsets."""
    rng = np.random.default_rng(count)
    sparse = rng.random(count + 40) < density
    x = (rng.integers(0, 3, count + 40) * sparse).astype(dtypes[0])
    y = np.full(count + 40, 5, dtypes[1])
    views = [staged.view_on(space, a) for a in (x, y)]
    parts = [slice(o, o + count + 1) for o in offsets]
    total = es.parallel_scan(
        es.RangePolicy(lower, count, space=space), kernel,
        *(es.subview(v, p) for v, p in zip(views, parts, strict=True)),
    )  # fmt: skip
    own = x[parts[0]][lower:]
    there = slice(offsets[1] + lower, offsets[1] + count)
    y[there], expected = expected_of(kernel, own, y[there])
    assert total == expected
    np.testing.assert_array_equal(staged.fetch(views[1]), y)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
@pytest.mark.parametrize("dtype", TYPES)
def test_long_ranges(space, kernel, dtype):
    needs_dtype(space, dtype)
    for offsets in ((0, 0), (3, 3), (1, 2)):
        count = fitting(space, LONG // np.dtype(dtype).itemsize)
        check(space, kernel, (dtype, dtype), offsets, 0, count, 30 / count)


@drawn(30)
@given(
    kernel=st.sampled_from(KERNELS),
    dtypes=st.tuples(*[st.sampled_from(TYPES)] * 2),
    offsets=st.tuples(*[st.integers(0, 17)] * 2),
    same=st.booleans(),
    lower=st.integers(0, 20),
    count=st.integers(0, 40),
)
def test_parts_of_views_wherever_they_begin(space, kernel, dtypes, offsets, same, lower, count):
    for dtype in dtypes:
        needs_dtype(space, dtype)
    offsets = (offsets[0],) * 2 if same else offsets
    check(space, kernel, dtypes, offsets, min(lower, count), count)


@pytest.mark.parametrize(
    "dtypes", [("int8", "float32"), ("float32", "int8"), ("float64", "int16"), ("uint8", "int64")]
)
def test_types_of_different_widths(space, dtypes):
    count = fitting(space, 200_001)
    for offsets in ((0, 0), (2, 2), (5, 0)):
        check(space, inclusive, dtypes, offsets, 7, count, 20 / count)


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64"])
def test_in_place(space, dtype):
    def running(i, prefix, final, x):
        own = x[i]
        if final:
            x[i] = prefix + own
        return own

    count = fitting(space, 300_007)
    x = np.zeros(count, dtype)
    x[:: max(1, count // 50)] = 1
    view = staged.view_on(space, x)
    es.parallel_scan(es.RangePolicy(count, space=space), running, view)
    np.testing.assert_array_equal(staged.fetch(view), np.cumsum(x).astype(dtype))


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float16", "float32"])
@pytest.mark.parametrize("reducer", [es.Max, es.Min])
def test_running_extremes(space, dtype, reducer):
    needs_dtype(space, dtype)

    def running(i, best, final, x, y):
        if final:
            y[i] = best
        return x[i]

    count = fitting(space, 150_001)
    x = np.random.default_rng(3).integers(0, 120, count).astype(dtype)
    src, dst = staged.view_on(space, x), staged.view_on(space, np.zeros_like(x))
    policy = es.RangePolicy(1, count, space=space)
    total = es.parallel_scan(policy, running, src, dst, reducer=reducer)
    find = np.maximum if reducer is es.Max else np.minimum
    after = find.accumulate(x[1:])
    assert total == after[-1]
    np.testing.assert_array_equal(staged.fetch(dst)[2:], after[:-1])


def test_selected_bytes_side_by_side(space):
    """Contributions are truths, whose sum is a place."""

    def pick(i, at, final, x, y):
        wanted = x[i] > 60
        if final and wanted:
            y[at] = x[i]
        return wanted

    count = fitting(space, 200_001)
    x = np.random.default_rng(4).integers(0, 100, count).astype(np.uint8)
    src, dst = staged.view_on(space, x), staged.view_on(space, np.zeros_like(x))
    total = es.parallel_scan(es.RangePolicy(count, space=space), pick, src, dst)
    chosen = x[x > 60]
    assert total == len(chosen)
    np.testing.assert_array_equal(staged.fetch(dst)[:total], chosen)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_bits_are_the_same_wherever_elements_begin(space, dtype):
    """Although sums of such numbers depend on the order in which they are joined."""
    count = fitting(space, 200_001)
    x = np.random.default_rng(5).normal(size=count).astype(dtype)
    results = set()
    for offset, other in ((0, 0), (4, 4), (1, 1), (2, 1)):
        src = staged.view_on(space, np.concatenate([np.zeros(offset, dtype), x]))
        dst = staged.view_on(space, np.zeros(count + other, np.float64))
        total = es.parallel_scan(
            es.RangePolicy(count, space=space), inclusive,
            es.subview(src, slice(offset, None)), es.subview(dst, slice(other, None)),
        )  # fmt: skip
        results.add((total, staged.fetch(dst)[other:].tobytes()))
    assert len(results) == 1

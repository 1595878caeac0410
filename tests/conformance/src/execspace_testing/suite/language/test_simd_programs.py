"""Vectors of `es.simd`: reductions, conversions, types, and vectors in programs, as NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import execspace as es
from execspace_testing import staged
from execspace_testing.drawn import drawn

from .vectors import (
    FLOATS,
    INTEGERS,
    VECTORS,
    WIDTHS,
    numbers,
    run,
)

# -- reductions -----------------------------------------------------------------------------------


def halved(function, rows):
    """Lanes joined in the documented order."""
    while rows.shape[1] > 1:
        half = rows.shape[1] // 2
        rows = function(rows[:, :half], rows[:, half:])
    return rows[:, 0]


@pytest.mark.parametrize("width", [1, 2, 8, 64])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint64"])
def test_reductions(space, dtype, width):
    T = es.simd(dtype, width)

    @es.kernel(fma=False)
    def kernel(i, out, a):
        v = T.load(a, i * T.width)
        m = v > 2
        out[0, i] = v.sum()
        out[1, i] = v.prod()
        out[2, i] = v.min()
        out[3, i] = v.max()
        out[4, i] = v.sum(m)
        out[5, i] = v.prod(m)
        out[6, i] = v.min(m)
        out[7, i] = v.max(m)
        out[8, i] = (v * v + v).sum()

    a = np.random.default_rng(9).uniform(0, 5, VECTORS * width).astype(dtype)
    a[:width] = 1  # no lane is chosen
    out = np.zeros((9, VECTORS), dtype)
    run(space, kernel, out, a)
    rows = a.reshape(-1, width)
    if rows.dtype.kind == "f":
        least, most = -np.inf, np.inf
    else:
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    chosen = [np.where(rows > 2, rows, np.array(x, dtype)) for x in (0, 1, most, least)]
    joins = (np.add, np.multiply, np.minimum, np.maximum)
    with np.errstate(over="ignore"):
        right = [halved(f, rows) for f in joins]
        right += [halved(f, x) for f, x in zip(joins, chosen, strict=True)]
        right.append(halved(np.add, rows * rows + rows))
    np.testing.assert_array_equal(out, np.stack(right))


def test_least_and_greatest_with_nan(space):
    T = es.simd("float64", 4)

    @es.kernel
    def kernel(i, out, a):
        v = T.load(a, 4 * i)
        out[0, i], out[1, i] = v.min(), v.max()
        out[2, i], out[3, i] = v.min(~np.isnan(v)), v.max(~np.isnan(v))

    a = np.array([1.0, np.nan, 3.0, 2.0, np.inf, -np.inf, 0.5, 1.0, *[np.nan] * 4])
    out = np.zeros((4, 3))
    run(space, kernel, out, a, n=3)
    right = [[np.nan, -np.inf, np.nan], [np.nan, np.inf, np.nan],
             [1.0, -np.inf, np.inf], [3.0, np.inf, -np.inf]]  # fmt: skip
    np.testing.assert_array_equal(out, right)


# -- making and converting ------------------------------------------------------------------------


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_making_vectors(space, dtype, width):
    T = es.simd(dtype, width)

    @es.kernel
    def kernel(i, out, a):
        T(a[i]).store(out[0, :], i * T.width)
        T(3).store(out[1, :], i * T.width)
        T.iota().store(out[2, :], i * T.width)
        T.generate(lambda lane: lane * lane + a[i]).store(out[3, :], i * T.width)
        (T(2.75) + T.iota()).store(out[4, :], i * T.width)
        T(i).store(out[5, :], i * T.width)
        out[6, i] = T.width + T(a[i]).size

    a = np.arange(1, 7).astype(dtype)
    out = np.zeros((7, 6 * width), dtype)
    run(space, kernel, out, a)
    lanes, each = np.tile(np.arange(width), 6).astype(dtype), np.repeat(a, width)
    right = [each, 0 * each + 3, lanes, lanes * lanes + each,
             lanes + np.array(2.75).astype(dtype), each - 1, 0 * each]  # fmt: skip
    right[6][:6] = 2 * width
    np.testing.assert_array_equal(out, np.stack(right))


def doubled(i, x):
    V = es.simd(x.dtype, width=4)
    (2 * V.load(x, 4 * i)).store(x, 4 * i)


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_types_made_in_kernels(space, dtype):
    x = np.arange(24).astype(dtype)
    run(space, doubled, x)
    np.testing.assert_array_equal(x, 2 * np.arange(24))


def test_lanes(space):
    T = es.simd("float64", 4)

    @es.kernel
    def kernel(i, out, a):
        v = T.load(a, 4 * i)
        v = T.of(v[1], v[0], v[3], v[-2])
        v.store(out, 4 * i)

    a, out = np.arange(24.0), np.zeros(24)
    run(space, kernel, out, a)
    np.testing.assert_array_equal(out.reshape(-1, 2), a.reshape(-1, 2)[:, ::-1])


TYPES = tuple(es.simd(dtype, 4) for dtype in (*FLOATS, *INTEGERS))


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_conversions(space, dtype):
    T = es.simd(dtype, 4)

    @es.kernel
    def kernel(i, a, f32, f64, i32, i64, u32, u64):
        for out, U in zip((f32, f64, i32, i64, u32, u64), TYPES, strict=True):
            U(T.load(a, 4 * i)).store(out[0, :], 4 * i)
            U.load(a, 4 * i).store(out[1, :], 4 * i)
            T.load(a, 4 * i).store(out[2, :], 4 * i)

    if dtype in FLOATS:  # within the range of the integers
        a = np.linspace(0.0, 1e4, 24).astype(dtype)
    else:
        a = numbers(dtype, 24)
    found = [np.zeros((3, 24), t.dtype) for t in TYPES]
    run(space, kernel, a, *found)
    for out in found:
        np.testing.assert_array_equal(out, np.stack([a.astype(out.dtype)] * 3))


# -- in programs ----------------------------------------------------------------------------------


def polynomial(v, a, b):
    return (a * v + b) * v + 1.0


def both(v):
    return np.minimum(v, 0.0), v.max()


def test_vectors_in_helpers_branches_and_loops(space):
    T = es.simd("float64", 4)

    @es.kernel(fma=False)
    def kernel(i, out, x, sums):
        v = polynomial(T.load(x, 4 * i), T(2.0), 0.5)
        low, greatest = both(v)
        total = T(0)
        for k in range(3):
            if k == i % 3:
                total += v
            else:
                total = total - low
        while greatest > 8.0:
            greatest /= 2.0
            total *= 0.5
        total.store(out, 4 * i)
        sums[i] = total.sum() + greatest

    x = np.random.default_rng(10).normal(0, 2, 24)
    out, sums = np.zeros(24), np.zeros(6)
    run(space, kernel, out, x, sums)
    v = ((2 * x + 0.5) * x + 1).reshape(-1, 4)
    low, most = np.minimum(v, 0), v.max(1)
    right, ends = np.zeros((6, 4)), np.zeros(6)
    for i in range(6):
        total, greatest = np.zeros(4), most[i]
        for k in range(3):
            total = total + v[i] if k == i % 3 else total - low[i]
        while greatest > 8:
            greatest /= 2
            total = total * 0.5
        right[i] = total
        ends[i] = halved(np.add, total[None])[0] + greatest
    np.testing.assert_array_equal(out, right.reshape(-1))
    np.testing.assert_array_equal(sums, ends)


def test_sum_of_a_range_by_vectors(space):
    T = es.simd("int64", 4)

    def kernel(i, a):
        return (T.load(a, 4 * i) ** 2).sum()

    a = np.arange(400)
    found = staged.parallel_reduce(es.RangePolicy(100, space=space), kernel, a)
    assert found == (a * a).sum()


def test_native_widths_are_those_of_the_space(space):
    N = es.simd("float32")

    @es.kernel
    def kernel(i, out, a):
        for start in range(0, a.size, N.width):
            m = N.first(a.size - start)
            (2 * N.load(a, start, m)).store(out, start, m)
        out[a.size] = N.width

    a = np.arange(37, dtype=np.float32)
    out = np.zeros(38, np.float32)
    run(space, kernel, out, a, n=1)
    np.testing.assert_array_equal(out[:37], 2 * a)
    assert out[37] == N.on(space).width == max(1, space.capabilities.vector_bytes // 4)
    assert es.simd("float64", 8).on(space) == es.simd("float64", 8)


integers = st.integers(-(2**31), 2**31 - 1)


@drawn(15)
@given(a=st.lists(integers, min_size=8, max_size=8), b=st.lists(integers, min_size=8, max_size=8))
def test_drawn_integers(space, a, b):
    run(space, _mixed, out := np.zeros(16, np.int32), x := np.array(a, np.int32),
        y := np.array(b, np.int32), n=2)  # fmt: skip
    with np.errstate(all="ignore"):
        right = np.where(x < y, x // y, x % y) ^ (x * y)
    np.testing.assert_array_equal(out[:8], right)
    np.testing.assert_array_equal(out[8:], np.maximum(x, y) - np.minimum(x, y))


J4 = es.simd("int32", 4)


def _mixed(i, out, a, b):
    v, w = J4.load(a, 4 * i), J4.load(b, 4 * i)
    (np.where(v < w, v // w, v % w) ^ (v * w)).store(out, 4 * i)
    (np.maximum(v, w) - np.minimum(v, w)).store(out, 8 + 4 * i)

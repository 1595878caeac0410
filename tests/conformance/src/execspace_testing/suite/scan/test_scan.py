"""parallel_scan: prefixes of any associative join, exclusive and inclusive, with the total.

The kernel is called as ``kernel(i, ..., prefix, final, *args)`` and returns its contribution.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import execspace as es
from execspace_testing import staged
from execspace_testing.drawn import drawn
from execspace_testing.sizes import fitting, interpreted


@es.kernel
def exclusive(i, prefix, final, src, dst):
    if final:
        dst[i] = prefix
    return src[i]


@es.kernel
def inclusive(i, prefix, final, src, dst):
    if final:
        dst[i] = prefix + src[i]
    return src[i]


# -- the tutorial -------------------------------------------------------------------------------


def test_factorials(space):
    """Kokkos' tutorial exercise parallel_scan: 0! to 9!, as the products of what comes before."""
    factorials = np.zeros(10, np.int64)

    def times(i, prefix, final, out):
        if final:
            out[i] = prefix
        return i + 1

    with es.use_space(space):
        total = staged.parallel_scan(10, times, factorials, reducer=es.Prod)
    assert factorials.tolist() == [math.factorial(n) for n in range(10)]
    assert total == math.factorial(10)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 1000, 1_000_000])
def test_sizes(space, size):
    size = fitting(space, size, 200)
    src = np.random.default_rng(1).integers(-9, 10, size + 1)
    before, after = np.full(size + 1, -1), np.full(size + 1, -1)
    with es.use_space(space):
        total = staged.parallel_scan(size, exclusive, src, before)
        assert staged.parallel_scan(size, inclusive, src, after) == total
    sums = np.cumsum(src[:size])
    np.testing.assert_array_equal(after[:size], sums)
    np.testing.assert_array_equal(before[:size], sums - src[:size])
    assert total == src[:size].sum()
    assert (before[size], after[size]) == (-1, -1)


@pytest.mark.slow
def test_a_hundred_million(space):
    """Where indices of the parts need more than 32 bits in products with their number."""
    if interpreted(space):
        pytest.skip(f"space '{space.name}' takes hours")
    n = 10**8
    src = np.random.default_rng(1).integers(-9, 10, n, np.int8)
    dst = np.zeros(n, np.int32)
    with es.use_space(space):
        total = staged.parallel_scan(n, inclusive, src, dst)
    assert total == src.sum(dtype=np.int64)
    np.testing.assert_array_equal(dst, np.cumsum(src, dtype=np.int32))


@drawn(20)
@given(
    lower=st.integers(-500, 500),
    size=st.integers(0, 40_000),
    seed=st.integers(0, 99),
)
def test_any_range(space, lower, size, seed):
    """Around the size where threads take over, wherever the range begins."""
    size = fitting(space, size, 60)
    src = np.random.default_rng(seed).integers(-(2**63), 2**63 - 1, size + 1)
    dst = np.zeros(size, np.int64)

    def shifted(i, prefix, final, src, dst, lower):
        if final:
            dst[i - lower] = prefix
        return src[i - lower]

    with es.use_space(space):
        policy = es.RangePolicy(lower, lower + size)
        total = staged.parallel_scan(policy, shifted, src, dst, lower)
    sums = np.concatenate([[0], np.cumsum(src[:size])])  # wraps, as the kernel does
    np.testing.assert_array_equal(dst, sums[:-1])
    assert total == sums[-1]


def test_a_scan_in_place(space):
    """Each index reads its own element before it writes it."""
    n = fitting(space, 100_000)
    x = np.random.default_rng(2).integers(0, 9, n)
    expected = np.cumsum(x)

    def in_place(i, prefix, final, x):
        v = x[i]
        if final:
            x[i] = prefix + v
        return v

    with es.use_space(space):
        staged.parallel_scan(n, in_place, x)
    np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("form", ["expression", "variable", "stored before"])
def test_a_kernel_sees_its_contribution_to_the_bit(space, form):
    """Spaces may hand a contribution on from one call to the other; zeros keep their signs."""

    def expression(i, prefix, final, src, dst, sign):
        if final:
            dst[i] = prefix + src[i]
            sign[i] = math.copysign(1.0, src[i])
        return src[i]

    def variable(i, prefix, final, src, dst, sign):
        value = src[i]
        if final:
            dst[i] = prefix + value
            sign[i] = math.copysign(1.0, value)
        return value

    def stored_before(i, prefix, final, src, dst, sign):
        value = src[i]
        if final:
            sign[i] = math.copysign(1.0, src[i])
            src[i] = prefix + value
            dst[i] = src[i]
        return value

    kernel = {"expression": expression, "variable": variable}.get(form, stored_before)
    n = fitting(space, 10_000)
    values = np.where(np.arange(n) % 3 == 0, -0.0, np.arange(n) % 7 - 3.0)
    src = values.copy()
    dst, sign = np.zeros(n), np.zeros(n)
    total = staged.parallel_scan(es.RangePolicy(n, space=space), kernel, src, dst, sign)
    assert (sign == np.copysign(1.0, values)).all()
    assert (dst == values.cumsum()).all()
    assert total == values.sum()


def test_selected_elements_side_by_side(space):
    """What scans are for: each element that is kept finds its place."""
    n = fitting(space, 50_000)
    x = np.random.default_rng(3).normal(size=n)
    kept = np.zeros(n)

    def keep(i, place, final, x, kept):
        if final and x[i] > 0:
            kept[place] = x[i]
        return x[i] > 0

    with es.use_space(space):
        count = staged.parallel_scan(n, keep, x, kept)
    np.testing.assert_array_equal(kept[:count], x[x > 0])


# -- what is promised of final --------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 50, 60_001])
def test_final_is_true_once_for_each_index(space, size):
    size = fitting(space, size, 50)
    finals = np.zeros(size, np.int64)

    def count(i, prefix, final, finals):
        if final:
            es.atomic_add(finals, i, 1)
        return 1

    with es.use_space(space):
        assert staged.parallel_scan(size, count, finals) == size
    assert finals.tolist() == [1] * size


# -- ranges of more dimensions ----------------------------------------------------------------


@es.kernel
def count2(i, j, prefix, final, src, dst):
    if final:
        dst[i, j] = prefix
    return src[i, j]


@es.kernel
def count4(i, j, k, l, prefix, final, src, dst):  # noqa: E741
    if final:
        dst[i, j, k, l] = prefix
    return src[i, j, k, l]


@pytest.mark.parametrize(
    ("kernel", "rank", "iterate"),
    [(count2, 2, "auto"), (count2, 2, "left"), (count4, 4, "right")],
)
@drawn(8)
@given(data=st.data())
def test_rank_order(space, kernel, rank, iterate, data):
    """The last index fastest, or the first one with iterate="left", whatever the layout."""
    most = 4 if interpreted(space) else {2: 220, 4: 17}[rank]
    shape = [data.draw(st.integers(1, most)) for _ in range(rank)]
    lower = [data.draw(st.integers(0, min(2, n))) for n in shape]
    src = np.asfortranarray(np.random.default_rng(4).integers(-9, 10, shape))
    dst = np.zeros(shape, np.int64)
    with es.use_space(space):
        total = staged.parallel_scan(
            es.MDRangePolicy(lower, shape, iterate=iterate), kernel, src, dst
        )
    order = "F" if iterate == "left" else "C"
    block = tuple(slice(a, b) for a, b in zip(lower, shape, strict=True))
    row = src[block].ravel(order=order)
    sums = np.cumsum(row) - row
    np.testing.assert_array_equal(dst[block].ravel(order=order), sums)
    assert total == row.sum()


# -- any join -------------------------------------------------------------------------------------


class Affine(es.Reducer):
    """Composition of x -> a * x + b, first come first applied: not commutative."""

    identity = (1, 0)

    def join(f, g):
        return f[0] * g[0], f[1] * g[0] + g[1]


class MatrixProduct(es.Reducer):
    """Product of 2 x 2 matrices of wrapping integers."""

    identity = np.eye(2, dtype=np.int64)

    def join(a, b):
        return (
            (a[0][0] * b[0][0] + a[0][1] * b[1][0], a[0][0] * b[0][1] + a[0][1] * b[1][1]),
            (a[1][0] * b[0][0] + a[1][1] * b[1][0], a[1][0] * b[0][1] + a[1][1] * b[1][1]),
        )


class LastNonZero(es.Reducer):
    identity = 0

    def join(a, b):
        return a if b == 0 else b


def in_order(i, prefix, final, k, out):
    affine, matrix, last = prefix
    if final:
        out[i, 0] = affine[1]
        out[i, 1] = matrix[0][1]
        out[i, 2] = last
    v = k[i]
    return (v + 2, v), ((v, 1), (1, 0)), v


@drawn(8)
@given(size=st.integers(0, 40_000), seed=st.integers(0, 99), share=st.sampled_from([1e-3, 0.5]))
def test_joins_that_are_not_commutative(space, size, seed, share):
    """A recurrence, a product of matrices, and the last number that is not zero, in one scan."""
    size = fitting(space, size, 60)
    rng = np.random.default_rng(seed)
    k = np.where(rng.random(size + 1) < share, rng.integers(-9, 10, size + 1), 0)
    out = np.zeros((size + 1, 3), np.int64)
    with es.use_space(space):
        affine, matrix, last = staged.parallel_scan(
            size, in_order, k, out, reducer=(Affine, MatrixProduct, LastNonZero)
        )
    x, product, kept, rows = 0, ((1, 0), (0, 1)), 0, []
    for v in k[:size].tolist():
        rows.append((x, product[0][1], kept))
        x = (x * (v + 2) + v) % 2**64
        (a, b), (c, d) = product
        product = ((a * v + b) % 2**64, a), ((c * v + d) % 2**64, c)
        kept = v or kept
    rows.append((0, 0, 0))
    expected = np.array([[v % 2**64 for v in row] for row in rows], np.uint64)
    np.testing.assert_array_equal(out.astype(np.uint64), expected)
    assert (affine[1] % 2**64, int(matrix[0, 0]) % 2**64, last) == (x, product[0][0], kept)


def running(i, prefix, final, x, low, at):
    if final:
        low[i] = prefix.val
        at[i] = prefix.loc
    return x[i], i


def test_running_minimum_with_its_location(space):
    n = fitting(space, 20_000)
    x = np.random.default_rng(5).integers(0, 10**6, n).astype(float)
    low, at = np.zeros(n), np.zeros(n, np.int64)
    with es.use_space(space):
        least = staged.parallel_scan(n, running, x, low, at, reducer=es.MinLoc)
    np.testing.assert_array_equal(low[1:], np.minimum.accumulate(x)[:-1])
    assert (low[0], at[0]) == (math.inf, np.iinfo(np.int64).max)
    np.testing.assert_array_equal(x[at[1:]], low[1:])
    assert least == (x.min(), x.argmin())


def test_prefixes_know_their_fields_and_may_be_returned(space):
    """The type of the prefix follows from the contribution, which may follow from the prefix."""
    x = np.array([3.0, 1.0, 4.0, 1.0])
    seen = np.zeros(4)

    def spread(i, prefix, final, x, seen):
        width = prefix.max_val - prefix.min_val
        if final:
            seen[i] = width if i > 0 else prefix.max_loc - prefix.min_loc
        return x[i] + 0 * min(1.0, abs(width)), i

    with es.use_space(space):
        total = staged.parallel_scan(4, spread, x, seen, reducer=es.MinMaxLoc)
    assert seen.tolist() == [0.0, 0.0, 2.0, 3.0]
    assert total == (1.0, 4.0, 1, 2)


# -- totals, types, rounding ----------------------------------------------------------------------


def test_the_total_is_what_a_reduction_gives(space):
    """Up to rounding: each sum has its own order of additions."""
    n = fitting(space, 100_003)
    x = np.random.default_rng(6).normal(size=n)
    dst = np.zeros(n)
    with es.use_space(space):
        total = staged.parallel_scan(n, inclusive, x, dst)
        reduced = staged.parallel_reduce(n, lambda i, x: x[i], x)
    bound = 2 * n * 2.0**-53 * np.abs(x).sum()
    assert abs(total - reduced) <= bound
    assert np.abs(dst - np.cumsum(x)).max() <= bound
    assert abs(dst[-1] - total) <= bound


def test_prefixes_of_accuracy_high(space):
    """Small numbers survive between large ones that cancel."""
    n = fitting(space, 20_000)
    x = np.full(n, 1.0)
    x[1], x[n - 2] = 1e17, -1e17
    dst = np.zeros(n)
    with es.use_space(space):
        total = staged.parallel_scan(n, exclusive, x, dst, reducer=es.Sum(accuracy="high"))
    assert total == n - 2
    assert dst[[1, n - 1]].tolist() == [1.0, n - 3.0]


def test_narrow_scans_wrap_if_they_are_told_to(space):
    n = fitting(space, 20_000)
    x = np.full(n, 100, np.int8)
    wide, narrow = np.zeros(n, np.int64), np.zeros(n, np.int8)
    with es.use_space(space):
        assert staged.parallel_scan(n, inclusive, x, wide) == 100 * n
        total = staged.parallel_scan(n, inclusive, x, narrow, reducer=es.Sum(dtype=es.int8))
    sums = 100 * np.arange(1, n + 1)
    np.testing.assert_array_equal(wide, sums)
    np.testing.assert_array_equal(narrow, sums.astype(np.int8))
    assert total == narrow[-1]


class RootOfSum(es.Reducer):
    identity = 0.0

    def join(a, b):
        return a + b

    def final(a):
        return math.sqrt(a)


def test_only_the_total_takes_the_last_step(space):
    """`final` of the reducer makes the result; prefixes are what has been joined."""
    squares = np.array([9.0, 16.0, 144.0])
    dst = np.zeros(3)
    with es.use_space(space):
        assert staged.parallel_scan(3, exclusive, squares, dst, reducer=RootOfSum) == 13.0
        assert staged.parallel_scan(0, exclusive, squares, dst, reducer=RootOfSum) == 0.0
        assert staged.parallel_scan(0, exclusive, squares, dst, reducer=es.Min) == math.inf
    assert dst.tolist() == [0.0, 9.0, 25.0]


def test_the_total_into_a_view(space):
    x = np.arange(5.0)
    dst = np.zeros(5)
    with es.use_space(space):
        total = es.View((), es.float64, label="total")
        assert staged.parallel_scan(5, exclusive, x, dst, out=total) is None
        assert staged.fetch(total) == 10.0
    assert dst.tolist() == list(itertools.accumulate([0.0, 0.0, 1.0, 2.0, 3.0]))


@es.kernel
def inclusive_sum(i, prefix, final, x, o):
    if final:
        o[i] = prefix + x[i]
    return x[i]


def plus_element(i, prefix, final, x, o):
    if final:
        o[i] = prefix + x[i]
    return x[i]


@es.kernel
def in_a_helper(i, prefix, final, x, o):
    return plus_element(i, prefix, final, x, o)


class Added(es.Reducer):
    identity = 0

    def join(a, b):
        return a + b


@pytest.mark.parametrize("reducer", [es.Sum, es.Max, Added], ids=lambda r: r.__name__)
@pytest.mark.parametrize("kernel", [inclusive_sum, in_a_helper], ids=lambda k: k.name)
def test_a_prefix_may_have_a_type_that_meets_no_signed_integer(space, kernel, reducer):
    """What the prefix is taken for before the contributions are known must not matter."""
    x, o = np.arange(5, dtype=np.uint64), np.zeros(5, np.uint64)
    total = staged.parallel_scan(es.RangePolicy(5, space=space), kernel, x, o, reducer=reducer)
    before = [0, 0, 1, 2, 3] if reducer is es.Max else [0, 0, 1, 3, 6]
    assert o.tolist() == [p + k for p, k in zip(before, range(5), strict=True)]
    assert total == (4 if reducer is es.Max else 10)


def kept_from_both_ends(i, prefix, final, x, o):
    few = x[i + 1] - x[i] <= 2
    if final:
        if few:
            o[prefix] = i
        else:
            o[o.extent(0) - 1 - (i - prefix)] = i
    return 1 if few else 0


@pytest.mark.parametrize("n", [1, 300, 70_000])
def test_an_extent_that_only_the_last_pass_asks_for(space, n):
    """What computes contributions need not take what stores them."""
    n = min(n, 300) if space.name == "oracle" else n
    steps = np.random.default_rng(1).integers(0, 5, n)
    x, o = np.concatenate([[0], np.cumsum(steps)]), np.zeros(n, np.int64)
    kept = staged.parallel_scan(es.RangePolicy(n, space=space), kept_from_both_ends, x, o)
    few = np.flatnonzero(steps <= 2)
    assert kept == few.size
    assert o.tolist() == [*few, *np.flatnonzero(steps > 2)[::-1]]

"""The built-in reducers: each against NumPy, over ranges of every rank, with IEEE's special values.

Floating-point sums are compared within the error bound of any order of additions, everything else
to the bit.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import execspace as es
from execspace_testing import staged
from execspace_testing.drawn import drawn
from execspace_testing.sizes import fitting, interpreted, needs_dtype

LEAST, GREATEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


# -- each reducer alone -------------------------------------------------------------------------


def value(i, x):
    return x[i]


def bits(i, x):
    return int(x[i]) | 64


def located(i, x):
    return x[i], i


def condition(i, x):
    return x[i] > 0, i


def first(mask, none=GREATEST):
    return int(np.argmax(mask)) if mask.any() else none


def last(mask, none=LEAST):
    return int(mask.size - 1 - np.argmax(mask[::-1])) if mask.any() else none


# Kernel, what NumPy says of the same numbers, and the result of an empty range.
BUILT_IN = {
    es.Sum: (value, lambda x: x.sum(), 0.0),
    es.Prod: (value, lambda x: x.prod(), 1.0),
    es.Min: (value, lambda x: x.min(), math.inf),
    es.Max: (value, lambda x: x.max(), -math.inf),
    es.LAnd: (value, lambda x: bool(x.all()), True),
    es.LOr: (value, lambda x: bool(x.any()), False),
    es.BAnd: (bits, lambda x: int(np.bitwise_and.reduce(x.astype("i8") | 64)), -1),
    es.BOr: (bits, lambda x: int(np.bitwise_or.reduce(x.astype("i8") | 64)), 0),
    es.MinLoc: (located, lambda x: (x.min(), x.argmin()), (math.inf, GREATEST)),
    es.MaxLoc: (located, lambda x: (x.max(), x.argmax()), (-math.inf, GREATEST)),
    es.MinFirstLoc: (located, lambda x: (x.min(), x.argmin()), (math.inf, GREATEST)),
    es.MaxFirstLoc: (located, lambda x: (x.max(), x.argmax()), (-math.inf, GREATEST)),
    es.MinMax: (value, lambda x: (x.min(), x.max()), (math.inf, -math.inf)),
    es.MinMaxLoc: (
        located,
        lambda x: (x.min(), x.max(), x.argmin(), x.argmax()),
        (math.inf, -math.inf, GREATEST, GREATEST),
    ),
    es.MinMaxFirstLastLoc: (
        located,
        lambda x: (x.min(), x.max(), x.argmin(), last(x == x.max())),
        (math.inf, -math.inf, GREATEST, LEAST),
    ),
    es.FirstLoc: (condition, lambda x: first(x > 0), GREATEST),
    es.LastLoc: (condition, lambda x: last(x > 0), LEAST),
    es.StdIsPartitioned: (
        condition,
        lambda x: (last(x > 0), first(~(x > 0))),
        (LEAST, GREATEST),
    ),
    es.StdPartitionPoint: (condition, lambda x: first(~(x > 0)), GREATEST),
}


# The same contribution for each of so many reducers.
REPEATED = {
    (value, 7): lambda i, x: (x[i], x[i], x[i], x[i], x[i], x[i], x[i]),
    (bits, 2): lambda i, x: (bits(i, x), bits(i, x)),
    (located, 6): lambda i, x: ((x[i], i), (x[i], i), (x[i], i), (x[i], i), (x[i], i), (x[i], i)),
    (condition, 4): lambda i, x: (
        condition(i, x), condition(i, x), condition(i, x), condition(i, x)
    ),
}  # fmt: skip


@pytest.mark.parametrize("kernel", [value, bits, located, condition])
def test_each_reducer(space, kernel):
    """All reducers of what a kernel returns, in one launch each.

    Whole numbers, so that sums and products are exact; few of them, so that many are equal.
    """
    rows = {r: row[1:] for r, row in BUILT_IN.items() if row[0] is kernel}
    n = fitting(space, 40_001)
    x = np.random.default_rng(5).integers(-2, 4, n).astype(float)
    repeated = REPEATED[kernel, len(rows)]
    with es.use_space(space):
        empty = staged.parallel_reduce(0, repeated, x, reducer=tuple(rows))
        assert empty == tuple(identity for _, identity in rows.values())
        for size in (1, 2, 9, n):
            found = staged.parallel_reduce(size, repeated, x, reducer=tuple(rows))
            for got, (reducer, (numpy, _)) in zip(found, rows.items(), strict=True):
                assert got == numpy(x[:size]), reducer


def test_results_have_the_fields_of_kokkos_records(space):
    x = staged.place(space, np.array([3.0, 1.0, 4.0, 1.0, 5.0]))
    with es.use_space(space):
        least = staged.parallel_reduce(5, located, x, reducer=es.MinLoc)
        both = staged.parallel_reduce(5, located, x, reducer=es.MinMaxLoc)
        extremes = staged.parallel_reduce(5, value, x, reducer=es.MinMax)
        split = staged.parallel_reduce(5, lambda i: (x[i] > 2, i), reducer=es.StdIsPartitioned)
        assert staged.parallel_reduce(5, lambda i: (x[i] > 3, i), reducer=es.FirstLoc) == 2
        assert staged.parallel_reduce(5, value, x, reducer=es.LAnd) is True
    assert (least.val, least.loc) == (1.0, 1)
    assert both._fields == ("min_val", "max_val", "min_loc", "max_loc")
    assert [type(v) for v in both] == [float, float, int, int]
    assert (extremes.min_val, extremes.max_val) == (1.0, 5.0)
    assert (split.max_loc_true, split.min_loc_false) == (4, 1)


def test_minimum_with_its_location_in_three_dimensions(space):
    """The example of Kokkos' documentation of MinLoc with an MDRangePolicy: 5.0 at (2, 3, 1)."""
    A = np.full((4, 5, 3), 10.0)
    A[2, 3, 1] = 5.0
    A = staged.place(space, A)
    with es.use_space(space):
        least = staged.parallel_reduce(
            es.MDRangePolicy(A.shape), lambda i, j, k: (A[i, j, k], (i, j, k)), reducer=es.MinLoc
        )
    assert least == (5.0, (2, 3, 1))


# -- several at once, over all dtypes ------------------------------------------------------------

EVERY = (es.Sum, es.Prod, es.Min, es.Max, es.MinMax, es.LAnd, es.LOr, es.MinLoc, es.MaxLoc)


def every(i, x):
    v = x[i]
    return v, v, v, v, v, v, v, (v, i), (v, i)


@pytest.mark.parametrize("dtype", ["int8", "uint64", "bool"])
@drawn(15)
@given(size=st.integers(1, 40_000), seed=st.integers(0, 99))
def test_integers_agree_with_numpy(space, dtype, size, seed):
    """One launch, nine reducers; int8 is summed in 64 bits, and 64 bits wrap."""
    size = fitting(space, size, 60)
    if dtype == "bool":
        x = np.random.default_rng(seed).random(size) < 0.5 ** (seed % 3)
    else:
        limits = np.iinfo(dtype)
        x = np.random.default_rng(seed).integers(limits.min, limits.max, size, dtype, endpoint=True)
    with es.use_space(space):
        found = staged.parallel_reduce(size, every, x, reducer=EVERY)
    assert found == (
        x.sum(), x.prod(), x.min(), x.max(), (x.min(), x.max()), x.all(), x.any(),
        (x.min(), x.argmin()), (x.max(), x.argmax()),
    )  # fmt: skip


SPECIAL = [np.nan, np.inf, -np.inf, -0.0, 0.0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@drawn(25)
@given(
    size=st.integers(1, 40_000),
    seed=st.integers(0, 99),
    special=st.lists(st.tuples(st.sampled_from(SPECIAL), st.floats(0, 1)), max_size=4),
)
@example(size=40_000, seed=1, special=[(np.nan, 0.3), (np.nan, 0.8)])
@example(size=20_000, seed=1, special=[(np.inf, 0.1), (-np.inf, 0.9)])
def test_floats_agree_with_numpy(space, dtype, size, seed, special):
    """NaN, infinities and zeros of both signs at any place; a NaN wins, as in numpy.min."""
    size = fitting(space, size, 60)
    x = (1 + np.random.default_rng(seed).normal(size=size) / 100).astype(dtype)
    for number, place in special:
        x[int(place * (size - 1))] = number
    with es.use_space(space):
        total, product, *rest = staged.parallel_reduce(size, every, x, reducer=EVERY)
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        close(total, wide.sum(), size * np.abs(wide).sum())
        close(product, wide.prod(), size * abs(wide.prod()))
        wanted = [
            x.min(), x.max(), x.min(), x.max(), x.all(), x.any(),
            x.min(), x.argmin(), x.max(), x.argmax(),
        ]  # fmt: skip
    assert np.array_equal(flat(rest), wanted, equal_nan=True)  # zeros of either sign are equal


def flat(values):
    """The numbers of nested tuples, in order."""
    if not isinstance(values, tuple | list):
        return [values]
    return [number for v in values for number in flat(v)]


def close(got, expected, scale):
    """Equal, or as close as two orders of the same additions or products must be."""
    if np.isfinite(expected):
        assert abs(got - expected) <= 2 * 2**-53 * scale
    else:
        np.testing.assert_equal(got, expected)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers_add_and_multiply(space, dtype):
    needs_dtype(space, dtype)
    n = fitting(space, 20_001)
    z = np.exp(2j * np.pi * np.random.default_rng(2).random(n)).astype(dtype)
    placed = staged.place(space, z)
    with es.use_space(space):
        total, product, zero = staged.parallel_reduce(
            n,
            lambda i: (placed[i], placed[i], placed[i] - placed[i]),
            reducer=(es.Sum, es.Prod, es.LOr),
        )
    assert type(total) is complex
    assert abs(total - z.astype("c16").sum()) <= 2**-51 * n * n
    assert abs(product - z.astype("c16").prod()) <= 2**-50 * n
    assert zero is False


def test_a_dtype_makes_sums_narrow_and_they_wrap(space):
    n = fitting(space, 20_000)
    x = staged.place(space, np.full(n, 100, np.int8))
    with es.use_space(space):
        wide, narrow, product = staged.parallel_reduce(
            n,
            lambda i: (x[i], x[i], x[i]),
            reducer=(es.Sum, es.Sum(dtype=es.int8), es.Prod(dtype="uint16")),
        )
        assert staged.parallel_reduce(n, value, x, reducer=es.Sum(dtype=es.float32)) == 100.0 * n
    assert wide == 100 * n
    assert narrow == np.int64(100 * n).astype(np.int8)
    assert product == pow(100, n, 2**16)


def test_bits_of_every_integer_type(space):
    n = fitting(space, 20_001)
    k = np.random.default_rng(4).integers(0, 2**16, n).astype(np.uint16) | 0x0101
    mask = k > 300
    bits, large = staged.place(space, k), staged.place(space, mask)
    with es.use_space(space):
        common, any_of, all_true, one_true = staged.parallel_reduce(
            n,
            lambda i: (bits[i], bits[i], large[i], large[i]),
            reducer=(es.BAnd, es.BOr, es.BAnd, es.BOr),
        )
    assert common == np.bitwise_and.reduce(k)
    assert any_of == np.bitwise_or.reduce(k)
    assert (all_true, one_true) == (mask.all(), mask.any())


def test_a_tuple_of_one_reducer_gives_a_tuple_of_one(space):
    with es.use_space(space):
        assert staged.parallel_reduce(5, lambda i: (i,), reducer=(es.Max,)) == (4,)


# -- locations ----------------------------------------------------------------------------------


@drawn(20)
@given(data=st.data(), size=st.integers(1, 40_000))
def test_of_equal_values_the_first_or_last_location_is_kept(space, data, size):
    """Wherever threads meet; NaN counts as the extreme, so its first or last place is kept."""
    size = fitting(space, size, 60)
    x = np.ones(size)
    number = data.draw(st.sampled_from([0.0, 2.0, np.nan]))
    places = sorted(data.draw(st.sets(st.integers(0, size - 1), min_size=1, max_size=4)))
    x[places] = number
    with es.use_space(space):
        least, greatest, both = staged.parallel_reduce(
            size,
            lambda i, x: ((x[i], i), (x[i], i), (x[i], i)),
            x,
            reducer=(es.MinLoc, es.MaxLoc, es.MinMaxFirstLastLoc),
        )
    assert least.loc == x.argmin()
    assert greatest.loc == x.argmax()
    if number == number:
        wanted = (x.min(), x.max(), x.argmin(), last(x == x.max()))
    else:
        wanted = (np.nan, np.nan, places[0], places[-1])
    np.testing.assert_equal(tuple(both), wanted)


def ranked(i, weight, number):
    return (weight[i], number[i]), (weight[i], (-float(i), number[i]))


BOTH = (es.MinLoc, es.MinLoc)


def test_locations_need_not_be_the_index(space):
    """Numbers of any real type, here read from an array, and tuples in lexicographic order."""
    number = np.array([7, 3, 9, 5], np.uint8)
    weight = np.array([1.0, 0.5, 0.5, 0.5], np.float32)
    with es.use_space(space):
        by_number, by_pair = staged.parallel_reduce(4, ranked, weight, number, reducer=BOTH)
        nowhere, _ = staged.parallel_reduce(0, ranked, weight, number, reducer=BOTH)
    assert by_number == (0.5, 3)
    assert by_pair == (0.5, (-3.0, 5))
    assert nowhere == (math.inf, 255)


# -- ranges of every rank -----------------------------------------------------------------------


def mixed2(i, j, a):
    v = (7 * i + 5 * j) % a
    return v, (v, (i, j))


def mixed3(i, j, k, a):
    v = (7 * i + 5 * j + 3 * k) % a
    return v, (v, (i, j, k))


def mixed4(i, j, k, l, a):  # noqa: E741
    v = (7 * i + 5 * j + 3 * k + l) % a
    return v, (v, (i, j, k, l))


def mixed5(i, j, k, l, m, a):  # noqa: E741
    v = (7 * i + 5 * j + 3 * k + l + m) % a
    return v, (v, (i, j, k, l, m))


def mixed6(i, j, k, l, m, n, a):  # noqa: E741
    v = (7 * i + 5 * j + 3 * k + l + m + n) % a
    return v, (v, (i, j, k, l, m, n))


MIXED = {2: mixed2, 3: mixed3, 4: mixed4, 5: mixed5, 6: mixed6}
WALKS = [
    (2, {"iterate": "left"}),
    (3, {"iterate": "right", "tile": (3, 2, 5)}),
    (4, {"iterate": "left", "tile": (3, 1, 2, 2)}),
    (5, {"iterate": "right"}),
    (6, {"iterate": "left"}),
]


@pytest.mark.parametrize(("rank", "options"), WALKS)
@drawn(8)
@given(data=st.data())
def test_ranges_of_every_rank(space, rank, options, data):
    """With negative bounds; the first location is the same for every order and tile."""
    most = {2: 120, 3: 28, 4: 12, 5: 7, 6: 5}[rank] if not interpreted(space) else 3
    lower = [data.draw(st.integers(-9, -1)) for _ in range(rank)]
    upper = [a + data.draw(st.integers(0, most)) for a in lower]
    policy = es.MDRangePolicy(lower, upper, **options)
    with es.use_space(space):
        total, least = staged.parallel_reduce(policy, MIXED[rank], 13, reducer=(es.Sum, es.MinLoc))
    axes = [np.arange(a, b) for a, b in zip(lower, upper, strict=True)]
    grid = np.meshgrid(*axes, indexing="ij")
    v = sum(w * g for w, g in zip((7, 5, 3, 1, 1, 1), grid, strict=False)) % 13
    assert total == v.sum()
    if v.size:
        place = np.unravel_index(v.argmin(), v.shape)
        assert least == (v.min(), tuple(int(p) + a for p, a in zip(place, lower, strict=True)))
    else:
        assert least == (GREATEST, (GREATEST,) * rank)


# -- arrays -------------------------------------------------------------------------------------


@es.kernel
def powers(i, a):
    v = 1.0
    for j in range(4):
        a[j] += v
        v *= i


def test_sums_of_powers(space):
    """The example of Kokkos' documentation of reductions of arrays."""
    with es.use_space(space):
        sums = staged.parallel_reduce(100, powers, reducer=es.Sum(shape=4))
        nothing = staged.parallel_reduce(0, powers, reducer=es.Sum(shape=4))
    assert sums.tolist() == [100, 4950, 328350, 24502500]
    assert nothing.tolist() == [0, 0, 0, 0]


def test_an_array_reduction_counts(space):
    """A histogram by parts of the range, with two dimensions, integers and a View to read."""
    n = fitting(space, 30_000)
    k = np.random.default_rng(8).integers(0, 6, n)

    def count(i, a, k):
        a[k[i] // 3, k[i] % 3] += 1

    with es.use_space(space):
        counts = staged.parallel_reduce(n, count, k, reducer=es.Sum(shape=(2, 3), dtype=es.int32))
    assert counts.dtype == np.int32
    np.testing.assert_array_equal(counts, np.bincount(k, minlength=6).reshape(2, 3))


def test_array_reductions_of_other_joins(space):
    """The array starts at the identity, and the kernel joins into it as it sees fit."""
    n = fitting(space, 30_000)
    x = np.random.default_rng(9).normal(size=(n, 3))
    rows = staged.place(space, x)

    def greatest(i, a):
        for c in range(3):
            a[c] = max(a[c], rows[i, c])

    with es.use_space(space):
        found = staged.parallel_reduce(n, greatest, reducer=es.Max(shape=3))
        none = staged.parallel_reduce(0, greatest, reducer=es.Max(shape=3))
    np.testing.assert_array_equal(found, x.max(axis=0))
    assert none.tolist() == [-math.inf] * 3


# -- accuracy -----------------------------------------------------------------------------------


def exact(x):
    return float(sum(map(Fraction, x.tolist())))


def compensated_bound(x):
    """Error of a compensated sum, in any order: Ogita, Rump, Oishi, SISC 26 (2005), (4.10)."""
    eps = 2.0**-53
    return eps * abs(exact(x)) + (2 * x.size * eps) ** 2 * np.abs(x).sum()


def test_accuracy_high_carries_rounding_errors_along(space):
    """One large number swallows small ones, unless their rounding errors are kept."""
    n = fitting(space, 50_000, 500)
    x = np.full(n, 0.1)
    x[n // 3], x[n // 2] = 1e16, -1e16
    with es.use_space(space):
        normal = staged.parallel_reduce(n, value, x)
        high = staged.parallel_reduce(n, value, x, reducer=es.Sum(accuracy="high"))
    assert abs(high - exact(x)) <= compensated_bound(x) < 1e-5
    assert abs(normal - exact(x)) > 0.1


@drawn(20)
@given(size=st.integers(0, 40_000), seed=st.integers(0, 99), spread=st.integers(0, 30))
def test_accuracy_high_is_right_to_one_rounding(space, size, seed, spread):
    size = fitting(space, size, 100)
    rng = np.random.default_rng(seed)
    x = rng.random(max(size, 1)) * 10.0 ** rng.integers(-spread, spread + 1, max(size, 1))
    with es.use_space(space):
        high = staged.parallel_reduce(size, value, x, reducer=es.Sum(accuracy="high"))
    expected = exact(x[:size])
    assert abs(high - expected) <= np.spacing(expected)


def test_accuracy_high_where_fast_mathematics_is_allowed(space):
    """`fastmath` lets the compiler rearrange the kernel, not the compensation."""
    fast = es.kernel(value, fastmath=True)
    n = fitting(space, 50_000, 500)
    x = np.full(n, 0.1)
    x[1], x[n - 1] = 1e16, -1e16
    with es.use_space(space):
        high = staged.parallel_reduce(n, fast, x, reducer=es.Sum(accuracy="high"))
    assert abs(high - exact(x)) <= compensated_bound(x) < 1e-5


def test_accuracy_high_keeps_infinities(space):
    x = np.array([1.0, np.inf, 2.0])
    high = es.Sum(accuracy="high")
    with es.use_space(space):
        assert staged.parallel_reduce(3, value, x, reducer=high) == np.inf
        x[2] = -np.inf
        assert math.isnan(staged.parallel_reduce(3, value, x, reducer=high))


def test_accuracy_high_of_complex_numbers(space):
    needs_dtype(space, "complex128")
    z = np.array([1e16 + 1j, 1 - 1e16j, -1e16 + 1e16j])
    with es.use_space(space):
        total = staged.parallel_reduce(3, value, z, reducer=es.Sum(accuracy="high"))
    assert total == 1 + 1j

"""Random numbers where it does not matter which space makes them: values, distributions, refusals.

Every space gives the same numbers, which the conformance kit tests. All seeds are fixed, so each
test of a distribution passes always or never.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import execspace as es
from execspace_testing.suite.library.philox import POINTS, integer, uint64, words
from execspace_testing.suite.library.scaled import check_element_type


@given(st.tuples(*[st.integers(0, 2**32 - 1)] * 6))
@settings(max_examples=50, deadline=None)
def test_philox_agrees_with_integers_of_python(numbers):
    c0, c1, c2, c3, k0, k1 = numbers
    expected = words(k0 | k1 << 32, c0 | c1 << 32, (c2 | c3 << 32), 0)
    w = [int(x) for x in es.philox4x32(*numbers)]
    assert (w[0] | w[1] << 32, w[2] | w[3] << 32) == expected


# -- how seed, index and draw become a key and a counter ------------------------------------------


def test_floats_are_the_upper_bits():
    for point in POINTS:
        bits = uint64(*point)
        assert es.random_uint32(*point) == bits >> 32
        assert es.random_uniform(*point) == (bits >> 11) / 2**53
        assert es.random_uniform32(*point) == np.float32((bits >> 40) / 2**24)


def test_no_two_calls_share_their_bits():
    """Different seed, index or draw, or another family of functions: other numbers."""
    bits = [int(es.random_uint64(*point)) for point in POINTS]
    assert len(set(bits)) == len(POINTS)
    everything = -(2**63), 2**63 - 1
    integers = [int(es.random_integer(s, i, *everything, d)) % 2**64 for s, i, d in POINTS]
    normals = [float(es.random_normal(*point)) for point in POINTS]
    assert len({*bits, *integers}) == 2 * len(POINTS)
    assert len(set(normals)) == len(POINTS)


def test_normals_are_the_pair_of_box_and_muller():
    for seed, index, draw in POINTS:
        bits, turn = words(seed, index, draw // 2, 1)
        radius = math.sqrt(-2 * math.log((bits | 1) / 2**64))
        x, y = (f(2 * math.pi * (turn / 2**64)) for f in (math.cos, math.sin))
        expected = radius * (y if draw % 2 else x)
        assert es.random_normal(seed, index, draw) == pytest.approx(expected, rel=1e-13, abs=1e-14)


@pytest.mark.parametrize(
    ("low", "high"),
    [(0, 1), (0, 2), (-5, 6), (0, 3 * 2**61), (-(2**63), 2**63 - 1), (2**63 - 2, 2**63 - 1)],
)
def test_integers_are_scaled_exactly(low, high):
    for seed, index, draw in POINTS[::7]:
        got = es.random_integer(seed, index, low, high, draw)
        assert isinstance(got, np.int64)
        assert got == integer(seed, index, low, high, draw)


def test_an_empty_range_of_integers_gives_its_lower_bound():
    """On each space, too: the indices above include some below -3."""
    assert es.random_integer(1, 0, 5, 5) == 5
    assert es.random_integer(1, 0, 5, -5) == 5


@pytest.mark.parametrize("arguments", [(-1, 0), (2**64, 0), (0, 2**63), (0, 0, -1)])
def test_the_host_refuses_what_does_not_fit(arguments):
    with pytest.raises(OverflowError):
        es.random_uint64(*arguments)


# -- distributions --------------------------------------------------------------------------------

MANY = 200_000
NORMAL_CDF = np.vectorize(lambda x: 0.5 * math.erfc(-x / math.sqrt(2)))


def filled(shape, dtype=np.float64, seed=2024, *args, **options):
    """A NumPy array of random numbers, made on the default space."""
    out = np.zeros(shape, dtype)
    es.fill_random(out, seed, *args, **options)
    es.fence()
    return out


def kolmogorov_smirnov(x, cdf):
    """sqrt(n) times the greatest distance; above 1.95 with probability 0.001."""
    n, p = len(x), cdf(np.sort(x))
    steps = np.arange(n + 1) / n
    return math.sqrt(n) * max((steps[1:] - p).max(), (p - steps[:-1]).max())


def chi_square(counts):
    """Of equally probable bins, in standard deviations from its mean."""
    k, expected = counts.size, counts.sum() / counts.size
    return (((counts - expected) ** 2).sum() / expected - (k - 1)) / math.sqrt(2 * (k - 1))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("draw", [0, 1])
def test_uniform_numbers_are_uniform(dtype, draw):
    x = filled(MANY, dtype, draw=draw).astype(np.float64)
    assert 0 <= x.min() < 1e-4 and 1 - 1e-4 < x.max() < 1
    assert kolmogorov_smirnov(x, lambda v: v) < 1.95
    pairs, _, _ = np.histogram2d(x[::2], x[1::2], bins=32, range=((0, 1), (0, 1)))
    assert abs(chi_square(pairs)) < 3.5  # neighbours do not know of each other


@pytest.mark.parametrize("draw", [0, 1])  # a cosine and a sine
def test_normal_numbers_are_normal(draw):
    x = filled(MANY, distribution="normal", draw=draw)
    assert kolmogorov_smirnov(x, NORMAL_CDF) < 1.95
    # Moments within three standard errors: those of z, z**2, z**3 and z**4 are 1, 2, 15 and 96.
    for power, mean, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert (x**power).mean() == pytest.approx(mean, abs=3 * math.sqrt(variance / MANY))
    assert (np.abs(x) > 3).mean() == pytest.approx(0.0027, abs=0.0004)


@pytest.mark.parametrize(("low", "high"), [(0, 100), (-7, 6), (-(2**31), 2**31 - 1)])
def test_integers_are_uniform(low, high):
    x = filled(MANY, np.int32, 2024, low, high).astype(np.int64)
    assert low <= x.min() and x.max() < high
    bins = min(high - low, 100)
    counts = np.bincount((x - low) * bins // (high - low), minlength=bins)
    assert abs(chi_square(counts)) < 3.5
    if high - low <= 100:
        assert counts.min() > 0


def test_each_bit_is_fair():
    bits = np.unpackbits(filled(MANY // 8, np.uint64, 2024, 0, 2**64).view(np.uint8))
    by_position = bits.reshape(-1, 64).sum(axis=0)
    assert np.abs(by_position - MANY / 16).max() < 4 * math.sqrt(MANY / 32)


def test_seeds_draws_and_indices_give_numbers_that_do_not_correlate():
    sequences = [filled(MANY, seed=seed, draw=draw) for seed in (0, 1, 2**63) for draw in (0, 1, 2)]
    sequences += [np.roll(sequences[0], 1), filled(MANY, seed=0, start=2**40)]
    sequences += [filled(MANY, seed=0, draw=draw, distribution="normal") for draw in (0, 1, 2)]
    correlation = np.corrcoef(sequences) - np.eye(len(sequences))
    assert np.abs(correlation).max() < 4 / math.sqrt(MANY)
    _, cosine, sine = np.abs(correlation), *(np.square(s) for s in sequences[-3:-1])
    assert abs(np.corrcoef(cosine, sine)[0, 1]) < 4 / math.sqrt(MANY)


# -- fill_random ----------------------------------------------------------------------------------

OF_HIGH_RANK = (
    (2, 3, 2, 3), (2, 2, 3, 2, 2), (2, 2, 2, 3, 2, 2), (2, 1, 2, 3, 2, 2, 3),
    (2, 1, 2, 2, 2, 1, 3, 2),
)  # fmt: skip


@pytest.mark.parametrize("shape", OF_HIGH_RANK, ids=len)
def test_high_ranks(shape):
    """On one space, to save time: only the linear index is another. Policies end at rank 6."""
    expected = [es.random_uniform(9, n) for n in range(math.prod(shape))]
    A = es.View(shape, layout="left", space="oracle")
    es.fill_random(A, 9, space="oracle")
    assert np.asarray(A).ravel().tolist() == expected


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.uint64, np.bool_, np.complex128])
def test_more_element_types(dtype):
    check_element_type(dtype, "oracle")


@pytest.mark.parametrize("name", ["serial", "openmp", "oracle"])
def test_float16_is_below_the_bound(name):
    """A number that would be rounded up to the bound is the largest one below it."""
    x = np.zeros(3000, np.float16)
    es.fill_random(x, 9, space=name)
    assert x.max() == np.nextafter(np.float16(1), np.float16(0))


def test_normal_numbers_of_complex_type():
    c = np.zeros(20, np.complex128)
    es.fill_random(c, 9, distribution="normal", draw=4, space="oracle")
    z = [es.random_normal(9, n, 4) for n in range(40)]
    assert c.view(np.float64).tolist() == z


def test_draws_differ_and_parts_join():
    whole = filled(1000, start=5)
    assert not set(whole) & set(filled(1000, draw=1))
    assert not set(whole) & set(filled(1000, seed=2025))
    parts = [filled(400, start=5), filled(600, start=405)]
    assert np.array_equal(whole, np.concatenate(parts))


def test_the_upper_bound_is_excluded_where_rounding_would_reach_it():
    """Few float32 lie between these bounds, so low + width * u often rounds up to `high`."""
    low, high = np.float32(1000), np.float32(1000.001)
    x = filled(MANY, np.float32, 2024, low, high)
    assert x.min() == low
    assert x.max() == np.nextafter(high, low)


RECORD = np.dtype([("x", np.float64)])
BAD = [
    ({"distribution": "cauchy"}, np.float64, es.ViewError, "'cauchy' does not exist"),
    ({"low": 1, "high": 1}, np.float64, es.ViewError, "expected low < high"),
    ({"low": 2}, np.float32, es.ViewError, "low=2.0, high=1.0"),
    ({"low": math.nan}, np.float64, es.ViewError, "low=nan"),
    ({"high": math.inf}, np.float64, es.ViewError, "finite"),
    ({"high": 1e39}, np.float32, es.ViewError, "finite real number of that type"),
    ({"high": "1"}, np.float64, es.ViewError, "high='1'"),
    ({"high": 1j}, np.complex128, es.ViewError, "real number"),
    ({"low": -1e308, "high": 1e308}, np.float64, es.ViewError, "exceeds the largest float64"),
    ({"low": 1.0, "high": 1.0 + 1e-9}, np.float32, es.ViewError, "the same number in its type"),
    ({}, np.int32, es.ViewError, "need an upper bound"),
    ({"high": 2.5}, np.int32, es.ViewError, "high=2.5"),
    ({"low": 3, "high": 3}, np.int32, es.ViewError, "expected low < high"),
    ({"high": 257}, np.uint8, es.ViewError, "holds 0 to 255, got low=0, high=257"),
    ({"low": -1, "high": 5}, np.uint64, es.ViewError, "low=-1"),
    ({"high": 3}, np.bool_, es.ViewError, "holds 0 to 1"),
    ({"distribution": "normal"}, np.int32, es.DTypeError, "real or complex elements"),
    ({"distribution": "normal", "std": -1}, np.float64, es.ViewError, "std=-1.0"),
    ({"distribution": "normal", "low": 0}, np.float64, es.ViewError, "has no low"),
    ({"mean": 0}, np.float64, es.ViewError, "has no mean"),
    ({"seed": -1}, np.float64, es.ViewError, "0 <= seed < 18446744073709551616"),
    ({"seed": 2**64}, np.float64, es.ViewError, "seed 18446744073709551616"),
    ({"seed": 1.5}, np.float64, es.ViewError, "seed 1.5 for View 'A' is not an integer"),
    ({"draw": 2**62}, np.float64, es.ViewError, "draw 4611686018427387904"),
    ({"start": -1}, np.float64, es.ViewError, "start -1"),
    ({"start": 2**62}, np.float64, es.ViewError, "0 <= start <"),
    ({}, RECORD, es.DTypeError, "records"),
]


@pytest.mark.parametrize(("options", "dtype", "error", "message"), BAD, ids=lambda v: str(v)[:40])
def test_bad_arguments_are_refused(options, dtype, error, message):
    A = es.View(3, dtype, label="A")
    with pytest.raises(error, match="fill_random: ") as caught:
        es.fill_random(A, **{"seed": 1, **options})
    assert message in str(caught.value)


def test_read_only_views_are_refused():
    with pytest.raises(es.ViewError, match="'A' is read-only"):
        es.fill_random(es.View(3, label="A").readonly(), 1)
    with pytest.raises(TypeError, match="Cannot make a View of 'list'"):
        es.fill_random([1.0, 2.0], 1)

"""Roots, integrals, transforms and sampling, with functions as parts of kernels.

Factories that close over functions, nested functions and lambdas, `functools.partial`, functions
as launch arguments, private tables, `assert`. Checked against closed forms and NumPy.
"""

from __future__ import annotations

import cmath
import functools
import math

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import needs_dtype


# Simpson's rule as a reduction; the factory closes over the integrand.
def simpson(f, a, b, panels):
    h = (b - a) / panels

    def weighted(k):
        if k == 0 or k == panels:
            weight = 1
        else:
            weight = 4 if k % 2 else 2
        return weight * f(a + k * h) * h / 3

    return panels + 1, weighted


def cubic(x):
    return 4 * x**3 - 3 * x * x + 1


def bell(x):
    return math.exp(-x * x)


def test_simpsons_rule_with_captured_integrands(space):
    with es.use_space(space):
        exact_for_cubics = staged.parallel_reduce(*simpson(cubic, -1.0, 2.0, 2))
        gaussian = staged.parallel_reduce(*simpson(bell, -1.0, 1.0, 100))
        sine = staged.parallel_reduce(*simpson(math.sin, 0.0, math.pi, 100))
    assert exact_for_cubics == pytest.approx(9, rel=1e-14)
    assert gaussian == pytest.approx(math.sqrt(math.pi) * math.erf(1), rel=1e-8)
    assert sine == pytest.approx(2, rel=2e-8)


# Bisection of a function that is an argument of the launch.
def bisect(f, low, high, tolerance=1e-13):
    sign = f(low) < 0
    while high - low > tolerance:
        middle = 0.5 * (low + high)
        if (f(middle) < 0) == sign:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def power_minus(exponent, value, x):
    return x**exponent - value


@es.kernel
def find_roots(i, f, highs, roots):
    roots[i] = bisect(f, 0.0, highs[i])


@pytest.mark.parametrize(
    ("function", "root"),
    [
        (functools.partial(power_minus, 3, 2.0), 2 ** (1 / 3)),
        (lambda x: math.cos(x) - x, 0.7390851332151607),
        (lambda x: x * math.exp(x) - 1, 0.5671432904097838),
    ],
)
def test_bisection_of_functions_that_are_arguments(space, function, root):
    roots = np.zeros(3)
    with es.use_space(space):
        staged.parallel_for(3, find_roots, function, np.array([1.5, 2.0, 3.0]), roots)
    np.testing.assert_allclose(roots, root, atol=2e-13)


# Implied volatilities: nested functions that use names of the kernel around them.
def test_implied_volatilities_invert_the_prices(space):
    def cdf(x):
        return 0.5 * math.erfc(-x / math.sqrt(2))

    @es.kernel
    def implied(i, prices, strikes, years, out):
        strike, t = strikes[i], years[i]

        def call(volatility):
            d = (math.log(1 / strike) + 0.5 * volatility**2 * t) / (volatility * math.sqrt(t))
            return cdf(d) - strike * cdf(d - volatility * math.sqrt(t))

        excess = lambda volatility: call(volatility) - prices[i]  # noqa: E731
        out[i] = bisect(excess, 1e-3, 3.0, tolerance=1e-12)

    rng = np.random.default_rng(1)
    strikes, years = rng.uniform(0.8, 1.2, 12), rng.uniform(0.5, 2, 12)
    volatility, out = rng.uniform(0.2, 0.6, 12), np.zeros(12)
    spread = volatility * np.sqrt(years)
    d = (np.log(1 / strikes) + spread**2 / 2) / spread
    norm = np.vectorize(lambda x: math.erfc(-x / math.sqrt(2)) / 2)
    prices = norm(d) - strikes * norm(d - spread)
    with es.use_space(space):
        staged.parallel_for(12, implied, prices, strikes, years, out)
    np.testing.assert_allclose(out, volatility, rtol=1e-10)


# Romberg's method: a triangular table in private memory; an assertion that holds.
def test_romberg_tables_in_private_memory(space):
    @es.kernel
    def romberg(i, f, highs, out):
        table = es.local((7, 7), es.float64)
        low, high = 0.0, highs[i]
        assert high > low
        table[0, 0] = (high - low) * (f(low) + f(high)) / 2
        for n in range(1, 7):
            h = (high - low) / 2**n
            total = 0.0
            for k in range(1, 2**n, 2):
                total += f(low + k * h)
            table[n, 0] = table[n - 1, 0] / 2 + h * total
            factor = 1.0
            for m in range(1, n + 1):
                factor *= 4
                table[n, m] = (factor * table[n, m - 1] - table[n - 1, m - 1]) / (factor - 1)
        out[i] = table[6, 6]

    highs, out = np.array([0.5, 1.0, 2.0]), np.zeros(3)
    with es.use_space(space):
        staged.parallel_for(3, romberg, lambda x: 1 / (1 + x * x), highs, out)
    np.testing.assert_allclose(out, np.arctan(highs), rtol=1e-10)


# Golden sections (Kiefer 1953), with the helper marked as one.
def test_golden_section_search_with_a_marked_helper(space):
    @es.function
    def depth(x, centre):
        return (x - centre) ** 2 * (1 + 0.1 * x)

    @es.kernel
    def minimise(i, centres, out):
        ratio = (math.sqrt(5) - 1) / 2
        a, b = 0.0, 3.0
        c, d = b - ratio * (b - a), a + ratio * (b - a)
        while b - a > 1e-6:
            if depth(c, centres[i]) < depth(d, centre=centres[i]):
                b, d = d, c
                c = b - ratio * (b - a)
            else:
                a, c = c, d
                d = a + ratio * (b - a)
        out[i] = (a + b) / 2

    centres, out = np.array([0.5, 1.0, 2.5]), np.zeros(3)
    with es.use_space(space):
        staged.parallel_for(3, minimise, centres, out)
    np.testing.assert_allclose(out, centres, atol=1e-6)


# Cooley-Tukey, radix 2: bits in reverse order, then one launch of butterflies for each stage.
@es.kernel
def reverse_bits(i, bits, x, out):
    j = 0
    for b in range(bits):
        j |= ((i >> b) & 1) << (bits - 1 - b)
    out[j] = x[i]


@es.kernel
def butterfly(i, half, x):
    group, k = divmod(i, half)
    top = 2 * half * group + k
    twiddle = cmath.exp(complex(0, -math.pi * k / half))
    product = twiddle * x[top + half]
    x[top + half] = x[top] - product
    x[top] += product


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.complex128, 1e-13), (np.complex64, 3e-6)])
def test_fast_fourier_transform_agrees_with_numpy(space, dtype, tolerance):
    needs_dtype(space, dtype)
    bits, n = 6, 64
    rng = np.random.default_rng(2)
    x = (rng.normal(size=n) + 1j * rng.normal(size=n)).astype(dtype)
    out = np.zeros_like(x)
    with es.use_space(space):
        staged.parallel_for(n, reverse_bits, bits, x, out)
        for stage in range(bits):
            staged.parallel_for(n // 2, butterfly, 2**stage, out)
    np.testing.assert_allclose(out, np.fft.fft(x), rtol=0, atol=tolerance * 20)


# One coefficient of a discrete Fourier transform as a complex reduction.
def test_one_fourier_coefficient_as_a_complex_reduction(space):
    needs_dtype(space, np.complex128)
    values, frequency = np.random.default_rng(3).normal(size=50), 7
    x = staged.place(space, values)

    def term(k):
        return x[k] * np.exp(-2j * math.pi * frequency * k / 50)

    with es.use_space(space):
        found = staged.parallel_reduce(50, term)
    assert found == pytest.approx(np.fft.fft(values)[frequency], abs=1e-12)


# Sampling pi with a generator that is a function of the counter: integers to uniform floats.
def mixed(x):
    x = es.uint64(x) * 0x9E3779B97F4A7C15
    x = (x ^ x >> 32) * 0xD6E8FEB86659FD93
    x = (x ^ x >> 32) * 0xD6E8FEB86659FD93
    return x ^ x >> 32


@es.kernel
def in_the_quarter_disc(i):
    x = (mixed(2 * i + 1) >> 11) * 2.0**-53
    y = (mixed(2 * i + 2) >> 11) * 2.0**-53
    return x * x + y * y < 1


def test_sampling_pi_counts_the_same_points_as_whole_numbers_do(space):
    def uniform(n):
        n = n * 0x9E3779B97F4A7C15 % 2**64
        for _ in range(2):
            n = (n ^ n >> 32) * 0xD6E8FEB86659FD93 % 2**64
        return ((n ^ n >> 32) >> 11) / 2**53

    n = 2000
    exact = sum(uniform(2 * i + 1) ** 2 + uniform(2 * i + 2) ** 2 < 1 for i in range(n))
    with es.use_space(space):
        assert staged.parallel_reduce(n, in_the_quarter_disc) == exact
    assert 4 * exact / n == pytest.approx(math.pi, abs=0.11)  # three standard deviations


# Z-normalised distances of all pairs of windows, as in STUMPY: rolling sums.
@es.kernel
def nearest_window(i, t, m, exclusion, means, deviations, profile):
    best = np.inf
    for j in range(t.size - m + 1):
        if abs(i - j) <= exclusion:
            continue
        product = 0.0
        for k in range(m):
            product += t[i + k] * t[j + k]
        rho = (product - m * means[i] * means[j]) / (m * deviations[i] * deviations[j])
        distance = np.sqrt(2 * m * max(1 - rho, 0.0))
        best = np.fmin(best, distance)
    profile[i] = best


def test_the_matrix_profile_finds_a_planted_motif(space):
    m, rng = 8, np.random.default_rng(4)
    t = rng.normal(size=48)
    t[30 : 30 + m] = 3 * t[5 : 5 + m] + 2  # the same shape, at another scale
    windows = np.lib.stride_tricks.sliding_window_view(t, m)
    means, deviations = windows.mean(axis=1), windows.std(axis=1)
    profile = np.zeros(len(windows))
    with es.use_space(space):
        staged.parallel_for(len(windows), nearest_window, t, m, 2, means, deviations, profile)
    z = (windows - means[:, None]) / deviations[:, None]
    distances = np.linalg.norm(z[:, None] - z[None], axis=2)
    apart = np.abs(np.subtract.outer(np.arange(len(z)), np.arange(len(z))))
    distances[apart <= 2] = np.inf
    np.testing.assert_allclose(profile, distances.min(axis=1), atol=2e-6)
    assert set(np.argsort(profile)[:2]) == {5, 30}

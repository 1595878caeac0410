"""Special functions and finance, as scalar helpers with loops until convergence.

`while True` with a return, default and keyword arguments, long polynomials, complex logarithms.
Checked against published values, identities, and NumPy's polynomials.
"""

from __future__ import annotations

import cmath
import math

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import needs_dtype

# Black-Scholes with the polynomial of Abramowitz and Stegun 26.2.17, as in numba-examples.
TAIL = (0.319381530, -0.356563782, 1.781477937, -1.821255978, 1.330274429)


def density(x):
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def normal_cdf(x):
    t = 1 / (1 + 0.2316419 * abs(x))
    series = ((((TAIL[4] * t + TAIL[3]) * t + TAIL[2]) * t + TAIL[1]) * t + TAIL[0]) * t
    upper = density(x) * series
    return upper if x <= 0 else 1 - upper


@es.kernel
def black_scholes(i, call, put, price, strike, years, rate, volatility):
    sqrt_t = math.sqrt(years[i])
    d1 = math.log(price[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i]
    d1 /= volatility * sqrt_t
    d2 = d1 - volatility * sqrt_t
    discounted = strike[i] * math.exp(-rate * years[i])
    call[i] = price[i] * normal_cdf(d1) - discounted * normal_cdf(d2)
    put[i] = discounted * (1 - normal_cdf(d2)) - price[i] * (1 - normal_cdf(d1))


def test_black_scholes_prices_agree_with_the_error_function(space):
    rng = np.random.default_rng(1)
    price, strike = rng.uniform(5, 30, 60), rng.uniform(1, 100, 60)
    years = rng.uniform(0.25, 10, 60)
    price[0], strike[0], years[0] = 42, 40, 0.5  # Hull's example: 4.76 and 0.81
    call, put = np.zeros((2, 60))
    with es.use_space(space):
        staged.parallel_for(60, black_scholes, call, put, price, strike, years, 0.1, 0.2)
    assert (round(call[0], 2), round(put[0], 2)) == (4.76, 0.81)
    np.testing.assert_allclose(call - put, price - strike * np.exp(-0.1 * years), atol=1e-12)
    d1 = (np.log(price / strike) + 0.12 * years) / (0.2 * np.sqrt(years))
    cdf = np.vectorize(lambda x: math.erfc(-x / math.sqrt(2)) / 2)
    exact = price * cdf(d1) - strike * np.exp(-0.1 * years) * cdf(d1 - 0.2 * np.sqrt(years))
    np.testing.assert_allclose((call - exact) / (price + strike), 0, atol=7.5e-8)


# Normal quantiles (P. J. Acklam) with one step of Halley: three branches of polynomials.
def normal_quantile(p):
    if p < 0.02425 or p > 1 - 0.02425:
        q = math.sqrt(-2 * math.log(min(p, 1 - p)))
        x = (
            ((-7.784894002430293e-03 * q - 3.223964580411365e-01) * q - 2.400758277161838) * q
            - 2.549732539343734
        ) * q
        x = (x + 4.374664141464968) * q + 2.938163982698783
        x /= (
            (7.784695709041462e-03 * q + 3.224671290700398e-01) * q + 2.445134137142996
        ) * q * q + (3.754408661907416 * q + 1)
        if p > 0.5:
            x = -x
    else:
        q = p - 0.5
        r = q * q
        x = ((-3.969683028665376e01 * r + 2.209460984245205e02) * r - 2.759285104469687e02) * r
        x = (((x + 1.383577518672690e02) * r - 3.066479806614716e01) * r + 2.506628277459239) * q
        y = ((-5.447609879822406e01 * r + 1.615858368580409e02) * r - 1.556989798598866e02) * r
        x /= ((y + 6.680131188771972e01) * r - 1.328068155288572e01) * r + 1
    error = 0.5 * math.erfc(-x / math.sqrt(2)) - p
    u = error * math.sqrt(2 * math.pi) * math.exp(x * x / 2)
    return x - u / (1 + x * u / 2)


def test_normal_quantiles_invert_the_distribution(space):
    p = np.concatenate([np.linspace(0.001, 0.999, 41), [1e-12, 1 - 1e-9, 0.975]])
    x = np.zeros_like(p)

    def evaluate(i, p, x):
        x[i] = normal_quantile(p[i])

    with es.use_space(space):
        staged.parallel_for(len(p), evaluate, p, x)
    np.testing.assert_allclose([math.erfc(-v / math.sqrt(2)) / 2 for v in x], p, rtol=1e-13)
    assert x[-1] == pytest.approx(1.959963984540054, rel=1e-14)


# Kepler's equation by Newton's method, as in poliastro: default and keyword arguments.
def eccentric_anomaly(mean, ecc, tolerance=1e-14, most=50):
    e = mean if ecc < 0.8 else math.pi * (1 if mean >= 0 else -1)
    for _ in range(most):
        step = (e - ecc * math.sin(e) - mean) / (1 - ecc * math.cos(e))
        e -= step
        if abs(step) < tolerance:
            break
    return e


def test_keplers_equation_is_solved(space):
    @es.kernel
    def solve(i, j, means, eccs, exact, rough):
        exact[i, j] = eccentric_anomaly(means[i], eccs[j])
        rough[i, j] = eccentric_anomaly(means[i], ecc=eccs[j], most=1)

    means, eccs = np.linspace(-3, 3, 9), np.array([0.0, 0.3, 0.7, 0.97])
    exact, rough = np.zeros((2, 9, 4))
    with es.use_space(space):
        staged.parallel_for(es.MDRangePolicy((9, 4)), solve, means, eccs, exact, rough)
    residual = exact - eccs * np.sin(exact) - means[:, None]
    np.testing.assert_allclose(residual, 0, atol=4e-15)
    start = np.where(eccs < 0.8, means[:, None], np.copysign(np.pi, means)[:, None])
    once = start - (start - eccs * np.sin(start) - means[:, None]) / (1 - eccs * np.cos(start))
    np.testing.assert_allclose(rough, once, rtol=1e-13, atol=1e-14)


# Battin's hypergeometric function F(3, 1; 5/2; x), as in poliastro: while True with a return.
def battin(x):
    if x >= 1:
        return math.inf
    total = term = 1.0
    k = 0
    while True:
        term *= (3 + k) / (2.5 + k) * x
        if total + term == total:
            return total
        total += term
        k += 1


def test_hypergeometric_series_has_the_terms_of_the_gamma_function(space):
    def evaluate(i, x, found):
        found[i] = battin(x[i])

    x = np.array([0.0, 0.01, 0.25, 0.5, 0.75, 1.0])
    found = np.zeros(6)
    with es.use_space(space):
        staged.parallel_for(6, evaluate, x, found)
    assert found[0] == 1 and found[5] == math.inf
    series = [
        math.fsum(
            math.exp(math.lgamma(3 + k) - math.lgamma(3) + math.lgamma(2.5) - math.lgamma(2.5 + k))
            * v**k
            for k in range(400)
        )
        for v in x[1:5]
    ]
    np.testing.assert_allclose(found[1:5], series, rtol=1e-11)


# Elliptic integrals: Carlson's duplication (Numer. Algorithms 10, 1995) and Gauss' AGM.
def carlson_rf(x, y, z):
    while True:
        lam = math.sqrt(x * y) + math.sqrt(y * z) + math.sqrt(z * x)
        x, y, z = (x + lam) / 4, (y + lam) / 4, (z + lam) / 4
        mean = (x + y + z) / 3
        dx, dy = 1 - x / mean, 1 - y / mean
        dz = -dx - dy
        if max(abs(dx), abs(dy), abs(dz)) < 1e-3:
            e2, e3 = dx * dy - dz * dz, dx * dy * dz
            return (1 - e2 / 10 + e3 / 14 + e2 * e2 / 24 - 3 * e2 * e3 / 44) / math.sqrt(mean)


@es.kernel
def elliptic_k(i, m, by_agm, by_carlson):
    a, g = 1.0, math.sqrt(1 - m[i])
    while abs(a - g) > 1e-15 * a:
        a, g = (a + g) / 2, math.sqrt(a * g)
    by_agm[i] = math.pi / (a + g)
    by_carlson[i] = carlson_rf(0.0, 1 - m[i], 1.0)


def test_two_ways_to_the_complete_elliptic_integral(space):
    m = np.array([0.0, 0.5, 0.1, 0.8, 0.99])
    by_agm, by_carlson = np.full((2, 5), np.nan)
    with es.use_space(space):
        staged.parallel_for(5, elliptic_k, m, by_agm, by_carlson)
    published = [math.pi / 2, 1.8540746773013719, 3.6956373629898747]
    np.testing.assert_allclose(by_agm[[0, 1, 4]], published, rtol=1e-14)
    np.testing.assert_allclose(by_carlson, by_agm, rtol=1e-13)


# The digamma function: recurrence, then Bernoulli's asymptotic series, in Horner's form.
def digamma(x):
    shift = 0.0
    while x < 10:
        shift -= 1 / x
        x += 1
    y = 1 / (x * x)
    tail = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y * (1 / 132)))))
    return shift + math.log(x) - 0.5 / x - tail


def test_digamma_has_gausss_values(space):
    def evaluate(i, x, out):
        out[i] = digamma(x[i])

    gamma = 0.5772156649015329
    x = np.array([1, 0.5, 0.25, 2, 10, 30])
    found = np.zeros(6)
    with es.use_space(space):
        staged.parallel_for(6, evaluate, x, found)
    exact = [
        -gamma,
        -gamma - 2 * math.log(2),
        -gamma - math.pi / 2 - 3 * math.log(2),
        1 - gamma,
        sum(1 / k for k in range(1, 10)) - gamma,
        sum(1 / k for k in range(1, 30)) - gamma,
    ]
    np.testing.assert_allclose(found, exact, rtol=1e-13)


# The complex gamma function by Lanczos' series (g = 7, n = 9, Godfrey's coefficients).
LANCZOS = (
    0.99999999999980993,
    676.5203681218851,
    -1259.1392167224028,
    771.32342877765313,
    -176.61502916214059,
    12.507343278686905,
    -0.13857109526572012,
    9.9843695780195716e-6,
    1.5056327351493116e-7,
)


@es.kernel
def complex_gamma(i, z, out):
    w = z[i] - 1
    total = LANCZOS[0] + LANCZOS[1] / (w + 1) + LANCZOS[2] / (w + 2) + LANCZOS[3] / (w + 3)
    total += LANCZOS[4] / (w + 4) + LANCZOS[5] / (w + 5) + LANCZOS[6] / (w + 6)
    total += LANCZOS[7] / (w + 7) + LANCZOS[8] / (w + 8)
    t = w + 7.5
    out[i] = math.sqrt(2 * math.pi) * cmath.exp((w + 0.5) * cmath.log(t) - t) * total


def test_complex_gamma_fulfils_its_identities(space):
    needs_dtype(space, np.complex128)
    y = np.linspace(0.3, 5, 12)
    z = np.concatenate([[0.5, 5], 1j * y, 1 + 1j * y])
    out = np.zeros_like(z)
    with es.use_space(space):
        staged.parallel_for(len(z), complex_gamma, z, out)
    np.testing.assert_allclose(out[:2], [math.sqrt(math.pi), 24], rtol=1e-13)
    on_axis, shifted = out[2:14], out[14:]
    np.testing.assert_allclose(abs(on_axis) ** 2, np.pi / (y * np.sinh(np.pi * y)), rtol=1e-12)
    np.testing.assert_allclose(shifted, 1j * y * on_axis, rtol=1e-12)


# Bessel functions by the trapezoidal rule on Bessel's integral: a reduction over the angles.
@es.kernel
def bessel_integrand(k, n, order, x):
    theta = 2 * math.pi * k / n
    return math.cos(order * theta - x * math.sin(theta)) / n


def test_bessel_functions_have_their_tabulated_values(space):
    table = {(0, 1.0): 0.7651976865579666, (1, 1.0): 0.4400505857449335, (2, 5.0): 0.04656511627775}
    with es.use_space(space):
        for (order, x), value in table.items():
            found = staged.parallel_reduce(40, bessel_integrand, 40, order, x)
            assert found == pytest.approx(value, rel=1e-13, abs=2e-14)
        zero = staged.parallel_reduce(40, bessel_integrand, 40, 0, 2.404825557695773)
    assert abs(zero) < 1e-15


# Gauss-Legendre rules: Newton's method on a three-term recurrence, one root per index.
@es.kernel
def gauss_legendre(i, n, nodes, weights):
    x = math.cos(math.pi * (i + 0.75) / (n + 0.5))
    while True:
        p, previous = 1.0, 0.0
        for k in range(1, n + 1):
            p, previous = ((2 * k - 1) * x * p - (k - 1) * previous) / k, p
        slope = n * (x * p - previous) / (x * x - 1)
        step = p / slope
        x -= step
        if abs(step) < 1e-15:
            break
    nodes[n - 1 - i] = x
    weights[n - 1 - i] = 2 / ((1 - x * x) * slope * slope)


def test_gauss_legendre_rules_agree_with_numpy(space):
    n = 12
    nodes, weights = np.zeros((2, n))
    with es.use_space(space):
        staged.parallel_for(n, gauss_legendre, n, nodes, weights)
    x, w = np.polynomial.legendre.leggauss(n)
    np.testing.assert_allclose(nodes, x, rtol=0, atol=1e-14)
    np.testing.assert_allclose(weights, w, rtol=1e-12)

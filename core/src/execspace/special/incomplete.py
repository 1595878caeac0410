"""Incomplete gamma functions and exponential integrals of any integer order, of real numbers.

The lower one is a series where x < a + 1/2, the upper one a continued fraction elsewhere. Where a
is large and x near it Temme's expansion takes their place, whose length does not depend on a.

Sources: https://dlmf.nist.gov/8, sections 8.7, 8.9, 8.12 and 8.19; Temme, "The asymptotic expansion
of the incomplete gamma functions", SIAM J. Math. Anal. 10, 1979.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..kernels.language import function
from .gamma_real import exp1, gamma, stirling_rest
from .incomplete_fits import gammaln_rest, log_rest, temme


@function
def _factor(a: Any, x: Any) -> Any:
    """x**a exp(-x) / gamma(a + 1), of x > 0."""
    if a < 10.0:
        e = np.exp(-0.5 * x)  # the power is large where its square is subnormal
        value = np.power(x, a) * e * e if x < 1000.0 else 0.0 * a
        value /= gamma(a + 1.0) if a < 1.0 else a * gamma(a)
    else:
        value = np.exp(-a * _phase(a, x) - stirling_rest(a)) * 0.3989422804014327 / np.sqrt(a)
    return value


@function
def _phase(a: Any, x: Any) -> Any:
    """m - log(1 + m), m = (x - a) / a."""
    m = (x - a) / a
    if m > -0.4 and m < 0.6:
        value = m * m * log_rest(m)
    else:
        value = m - np.log1p(m) if m > -0.9 else m - np.log(x / a)
    return value


@function
def _series(a: Any, x: Any) -> Any:
    """1 + x / (a + 1) + x**2 / ((a + 1) (a + 2)) + ..."""
    least = 0.1 * np.finfo(x).eps
    term, total, k = x / x, x / x, a
    while term > least * total:
        k += 1.0
        term *= x / k
        total += term
    return total


@function
def _fraction(a: Any, x: Any) -> Any:
    """x**-a exp(x) gamma(a, x), by the continued fraction, from its end."""
    n = int(105.0 / x) + 16
    value = 2.0 * n + 3.0 + x - a
    for k in range(n, 0, -1):
        value = 2.0 * k + 1.0 + x - a + (k + 1.0) * (a - k - 1.0) / value
    return 1.0 / (x + 1.0 - a + (a - 1.0) / value)


@function
def _small(a: Any, x: Any) -> Any:
    """Q(a, x) of a <= 1 and x <= 1, which is small where a is."""
    least = 0.1 * np.finfo(x).eps
    term, total, k = -a, 0.0 * x, 0.0 * x
    while k < 500.0:
        k += 1.0
        term *= -x / k
        part = term / (a + k)
        total += part
        if abs(part) <= least * abs(total):
            break
    log = a * np.log(x) - a * gammaln_rest(a)
    return np.exp(log) * total - np.expm1(log)


@function
def _pair(a: Any, x: Any, upper: Any) -> Any:
    """Q(a, x) if `upper` is 1, P(a, x) if it is 0."""
    if a > 20.0 and abs(x - a) < 0.3 * a:
        # Q = erfc(eta sqrt(a / 2)) / 2 + rest, a eta**2 / 2 being a times the phase
        e = a * _phase(a, x)
        eta = np.copysign(np.sqrt(2.0 * e / a), x - a)
        root = np.copysign(np.sqrt(e), x - a)
        rest = np.exp(-e) * 0.3989422804014327 / np.sqrt(a) * temme(eta, 1.0 / a)
        if upper == 1:
            value = 0.5 * math.erfc(root) + rest
        else:
            value = 0.5 * math.erfc(-root) - rest
    elif a <= 1.0 and x <= 1.0:
        if upper == 1:
            value = _small(a, x)
        else:
            value = _factor(a, x) * _series(a, x)
    elif x < a + 0.5:
        p = _factor(a, x) * _series(a, x)
        value = 1.0 - p if upper == 1 else p
    else:
        q = _factor(a, x) * (a * _fraction(a, x))
        value = q if upper == 1 else 1.0 - q
    return value


@function
def _of_limits(a: Any, x: Any, upper: Any) -> Any:
    """The same of any two numbers."""
    if a > 0.0 and x > 0.0 and not math.isinf(a) and not math.isinf(x):
        value = _pair(a, x, upper)
    elif (a >= 0.0 and x > 0.0 and a != x) or (a > 0.0 and x == 0.0):
        lower = 1.0 if a < x else 0.0
        value = 1.0 - lower if upper == 1 else lower
    else:
        value = math.nan
    return value


@function
def gammainc(a: Any, x: Any) -> Any:
    """P(a, x)."""
    return _of_limits(a, x, 0)


@function
def gammaincc(a: Any, x: Any) -> Any:
    """Q(a, x)."""
    return _of_limits(a, x, 1)


# -- exponential integrals ------------------------------------------------------------------------


@function
def _expn_fraction(n: Any, x: Any) -> Any:
    """exp(x) En(x), x > 1, by the continued fraction, from its end."""
    value = 1.0 + 0.0 * x
    for k in range(int(90.0 / x) + 12, 0, -1):
        value = n + 2.0 * k + x - (k + 1.0) * (n + k) / value
    return 1.0 / (x + n - n / value)


@function
def _expn_series(n: Any, x: Any) -> Any:
    """En(x), n >= 2, 0 < x <= 1."""
    least = 0.1 * np.finfo(x).eps
    total, term, k, psi = (
        1.0 / (n - 1.0) + 0.0 * x,
        1.0 + 0.0 * x,
        0.0 * x,
        0.0 * x - 0.5772156649015329,
    )
    while k < 500.0:
        k += 1.0
        term *= -x / k
        psi += 1.0 / k
        part = term * (psi - np.log(x)) if k == n - 1.0 else term / (n - 1.0 - k)
        total += part
        if abs(part) <= least * abs(total):
            break
    return total


@function
def expn(n: Any, x: Any) -> Any:
    """En(x)."""
    if not (n >= 0.0 and x >= 0.0) or n != np.floor(n):
        value = math.nan * x
    elif x == 0.0:
        value = 1.0 / (n - 1.0) + x if n > 1.0 else math.inf
    elif math.isinf(x):
        value = 0.0 / x
    elif n == 0.0:
        value = np.exp(-x) / x
    elif n == 1.0:
        value = exp1(x)
    elif x > 1.0:
        value = np.exp(-x) * _expn_fraction(n, x)
    else:
        value = _expn_series(n, x)
    return value

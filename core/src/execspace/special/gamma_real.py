"""Gamma and its relatives, and exponential integrals, of real numbers.

Source: https://dlmf.nist.gov/5 and https://dlmf.nist.gov/6.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..kernels.language import function
from .other_fits import (
    digamma_high,
    digamma_mid,
    exp1_high,
    exp1_low,
    exp1_mid,
    expi_high,
    expi_low,
    expi_mid,
    expi_top,
)


@function
def gamma(x: Any) -> Any:
    """Gamma function."""
    if x < 0.0 and x == np.floor(x):
        value = math.nan
    elif x == 0.0 or abs(x) < 5.56268464626801e-309:  # Python raises where C gives an infinity
        value = np.copysign(math.inf, x)
    elif x > 171.6243769563027:  # the last one whose value is finite
        value = math.inf
    else:
        value = math.gamma(x)
    return value


@function
def gammaln(x: Any) -> Any:
    """Logarithm of its magnitude."""
    if (x <= 0.0 and x == np.floor(x)) or x > 2.5599833278516383e305:  # Python raises there
        value = math.inf
    else:
        value = math.lgamma(x)
    return value


@function
def digamma(x: Any) -> Any:
    """Derivative of its logarithm."""
    if x < 0.0:
        y = 1.0 - x
        r = x - np.rint(x)
        add = -3.141592653589793 / np.tan(3.141592653589793 * r) if r != 0.0 else math.nan
    else:
        y, add = x, 0.0
    if y < 1.0:
        add = -1.0 / y
        y += 1.0
    elif y > 2.0 and y < 3.0:
        y -= 1.0
        add += 1.0 / y
    if y <= 2.0:
        d = y - 1.4616317749023438 - 3.7006601859126265e-07
        value = d * digamma_mid(y) + add
    else:
        r = 1.0 / y
        value = np.log(y) - (0.5 * r + r * r * digamma_high(r * r)) + add
    if x == 0.0:
        value = -np.copysign(math.inf, x)
    return value


@function
def exp1(x: Any) -> Any:
    """E1."""
    if x <= 1.0:
        value = exp1_low(x) - np.log(x)
    elif x <= 4.0:
        value = np.exp(-x) * exp1_mid(1.0 / x) / x
    else:
        value = np.exp(-x) * exp1_high(1.0 / x) / x
    if x <= 0.0:
        value = math.inf if x == 0.0 else math.nan
    return value


@function
def expi(x: Any) -> Any:
    """Ei."""
    if x < 0.0:
        value = -exp1(-x)
    elif x <= 6.0:
        d = x - 0.37250709533691406 - 3.15444452571962e-07
        near = x > 0.2 and x < 0.7
        log = np.log1p(2.6845103508207075 * d) if near else np.log(2.6845103508207075 * x)
        value = log + d * expi_low(x)
    elif math.isinf(x):
        value = x
    else:
        r = 1.0 / x
        if x <= 12.0:
            p = expi_mid(r)
        elif x <= 24.0:
            p = expi_high(r)
        else:
            p = expi_top(r)
        e = np.exp(0.5 * x)  # its square overflows where the result does not yet
        value = e * p * r * e
    if x == 0.0:
        value = -math.inf
    return value


# -- beta -----------------------------------------------------------------------------------------


@function
def stirling_rest(x: Any) -> Any:
    """log(gamma(x)) less Stirling's formula, for x >= 10."""
    r = 1.0 / x
    t = r * r
    p = -0.0019175269175269176
    for c in (
        0.0008417508417508417, -0.0005952380952380953, 0.0007936507936507937,
        -0.002777777777777778, 0.08333333333333333,
    ):  # fmt: skip
        p = p * t + c
    return p * r


@function
def _betaln_large(a: Any, b: Any) -> Any:
    """betaln of 0 < a <= b, b >= 10; what is large cancels before it is computed."""
    s = a + b
    if a >= 10.0:
        rest = stirling_rest(a) + stirling_rest(b) - stirling_rest(s)
        value = (0.9189385332046728 - 0.5 * np.log(b)) + rest
        value += (a - 0.5) * np.log(a / s) - b * np.log1p(a / b)
    else:
        rest = stirling_rest(b) - stirling_rest(s)
        value = gammaln(a) + (rest - (s - 0.5) * np.log1p(a / b) + a - a * np.log(b))
    return value


@function
def _beta_large(a: Any, b: Any) -> Any:
    """beta of the same: powers in place of products of logarithms."""
    s = a + b
    if a >= 10.0:
        rest = stirling_rest(a) + stirling_rest(b) - stirling_rest(s)
        value = 2.5066282746310002 * np.exp(rest - b * np.log1p(a / b)) / np.sqrt(b)
        value *= np.power(a / s, a - 0.5)
    else:
        rest = stirling_rest(b) - stirling_rest(s)
        value = gamma(a) * np.exp(rest - ((s - 0.5) * np.log1p(a / b) - a)) * np.power(b, -a)
    return value


@function
def _beta_small(a: Any, b: Any) -> Any:
    """Quotient of gammas, a <= b."""
    s = a + b
    value = gamma(a) * (gamma(b) / gamma(s))
    if s > 1.0 and not math.isinf(value):
        lost = a - (s - b)  # the digits that the sum has lost count as often as gamma has digits
        value -= value * (lost * (np.log(s) - 0.5 / s))
    return value


@function
def _beta_positive(x: Any, y: Any) -> Any:
    """beta of two positive numbers."""
    a, b = np.minimum(x, y), np.maximum(x, y)  # NaN if either is
    if b >= 10.0:
        value = _beta_large(a, b)
    else:
        value = _beta_small(a, b)
    return value


@function
def _betaln_positive(x: Any, y: Any) -> Any:
    """Its logarithm."""
    a, b = np.minimum(x, y), np.maximum(x, y)
    if b >= 10.0:
        value = _betaln_large(a, b)
    else:
        value = np.log(_beta_small(a, b))
    return value


@function
def _parity(n: Any) -> Any:
    """1 of an even number, -1 of an odd one."""
    return 1.0 - 2.0 * abs(n - 2.0 * np.rint(0.5 * n))


@function
def _sine(x: Any) -> Any:
    """sin(pi x)."""
    n = np.rint(x)
    return _parity(n) * np.sin(3.141592653589793 * (x - n))


@function
def _is_pole(x: Any) -> Any:
    """Whether gamma is infinite there."""
    return x <= 0.0 and x == np.floor(x)


@function
def _reflected(a: Any, b: Any) -> Any:
    """beta of a <= b, a <= 0, as f (g beta(p, q))**e: p, q > 0, e, f, g.

    The gammas of numbers below 0 are reflected. Where one of the two is a pole, it cancels that of
    their sum if the other one is a whole number less than its distance from 1.
    """
    if _is_pole(a) or _is_pole(b):
        pole = a if _is_pole(a) else b
        other = b if _is_pole(a) else a
        p, q = (1.0 - pole) - other, other
        e, f, g = 1.0, _parity(other), 1.0
        if not (other > 0.0 and other == np.floor(other) and p > 0.0):
            p, q, f = 1.0 + 0.0 * pole, 1.0 + 0.0 * pole, math.inf
    elif b > 0.0 and a + b > 0.0:
        e, f, q = -1.0, 3.141592653589793 / _sine(a), a + b
        if a < -0.25:  # the same number, which underflows later
            p, g = -a, -a
        else:
            p, g = 1.0 - a, b
    else:
        m, n = np.rint(a), np.rint(b)
        wave = _parity(m) * _parity(n) * _sine((a - m) + (b - n))  # the sum itself is rounded
        f = abs(wave) / _sine(a) if wave == 0.0 else wave / _sine(a)
        if b > 0.0:
            p, q = b, 1.0 - (a + b)
            e, g = 1.0, 1.0
        else:
            p, q = 1.0 - a, 1.0 - b
            f *= 3.141592653589793 / _sine(b)
            e, g = -1.0, 1.0 - (a + b)
    return p, q, e, f, g


@function
def betaln(x: Any, y: Any) -> Any:
    """Logarithm of the magnitude of beta."""
    a, b = np.minimum(x, y), np.maximum(x, y)  # NaN if either is
    if a <= 0.0:
        p, q, e, f, g = _reflected(a, b)
        value = np.log(abs(f)) + e * (np.log(g) + _betaln_positive(p, q))
    else:
        value = _betaln_positive(a, b)
    return value


@function
def beta(x: Any, y: Any) -> Any:
    """gamma(x) gamma(y) / gamma(x + y)."""
    a, b = np.minimum(x, y), np.maximum(x, y)  # NaN if either is
    if a <= 0.0:
        p, q, e, f, g = _reflected(a, b)
        value = g * _beta_positive(p, q)
        value = f * value if e > 0.0 else f / value
    else:
        value = _beta_positive(a, b)
    return value

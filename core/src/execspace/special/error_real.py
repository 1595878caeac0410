"""Error functions of real numbers, and the normal distribution.

Powers exp(x**2) are those of two parts of x**2, of which the first, the square of a multiple of
1/16, is exact.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..kernels.language import function
from .other_fits import erfcx_of, erfinv_high, erfinv_low, erfinv_mid


@function
def exp_square(x: Any, sign: Any) -> Any:
    """exp(sign x**2), of a sign of either unit or half of it."""
    if abs(x) < 64.0:
        h = np.trunc(16.0 * x) * 0.0625
        return np.exp(sign * (h * h)) * np.exp(sign * ((x - h) * (x + h)))
    else:
        return np.exp(sign * (x * x))


@function
def erfcx(x: Any) -> Any:
    """exp(x**2) erfc(x)."""
    a = abs(x)
    value = erfcx_of(1.0 - 8.0 / (a + 4.0)) / (1.0 + 2.0 * a)
    if x < 0.0:
        value = 2.0 * exp_square(a, 1.0) - value
    return value


@function
def _inverse(w: Any) -> Any:
    """erfinv(x) / x, w = -log(1 - x**2)."""
    s = np.sqrt(w)
    if s < 2.5:
        value = erfinv_low(w)
    elif s < 4.0:
        value = erfinv_mid(s)
    else:
        value = s * erfinv_high(1.0 / s)
    return value


@function
def erfinv(x: Any) -> Any:
    """Inverse of erf."""
    if abs(x) < 1.0:
        value = x * _inverse(-np.log((1.0 - x) * (1.0 + x)))
    else:
        value = np.copysign(math.inf, x) if abs(x) == 1.0 else math.nan
    return value


@function
def erfcinv(x: Any) -> Any:
    """Inverse of erfc."""
    if x > 0.0 and x < 2.0:
        value = (1.0 - x) * _inverse(-np.log(x * (2.0 - x)))
    elif x == 0.0:
        value = math.inf
    else:
        value = -math.inf if x == 2.0 else math.nan
    return value


@function
def ndtr(x: Any) -> Any:
    """Distribution function of the normal distribution."""
    if x < -1.0:
        value = 0.5 * exp_square(x, -0.5) * erfcx(-0.7071067811865476 * x)
    else:
        value = 0.5 * math.erfc(-0.7071067811865476 * x)
    return value


@function
def log_ndtr(x: Any) -> Any:
    """Its logarithm."""
    if x < -1.0:
        value = np.log(0.5 * erfcx(-0.7071067811865476 * x)) - 0.5 * (x * x)
    else:
        value = np.log1p(-ndtr(-x))
    return value


@function
def ndtri(x: Any) -> Any:
    """Its inverse."""
    return 0.0 - 1.4142135623730951 * erfcinv(2.0 * x)  # 0.0 of 0.5, not -0.0


@function
def expit(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    e = np.exp(-abs(x))
    return (1.0 if x >= 0.0 else e) / (1.0 + e)


@function
def logit(x: Any) -> Any:
    """log(x / (1 - x))."""
    if x > 0.3 and x < 0.65:
        value = np.log1p((x - 0.5 + (x - 0.5)) / (1.0 - x))
    elif x > 0.0 and x < 1.0:
        value = np.log(x / (1.0 - x))
    elif x == 0.0:
        value = -math.inf
    else:
        value = math.inf if x == 1.0 else math.nan
    return value


@function
def xlogy(x: Any, y: Any) -> Any:
    """x log(y), 0 of an x of 0."""
    if x == 0.0 and y == y:
        value = 0.0 * x
    else:
        value = x * np.log(y) if y >= 0.0 else math.nan
    return value

"""Functions of floats, in the language of kernels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def sign(x: Any) -> Any:
    """As numpy.sign: the sign of a zero is 0.0, and of NaN NaN."""
    return 1 if x > 0 else -1 if x < 0 else 0 if x == 0 else x


def signbit(x: Any) -> Any:
    """As numpy.signbit: of a NaN, too."""
    return np.copysign(1.0, x) < 0


def hypot(x: Any, y: Any, z: Any) -> Any:
    """Length of a vector of three numbers, which does not overflow before its result does."""
    a, b, c = abs(x), abs(y), abs(z)
    if math.isinf(a) or math.isinf(b) or math.isinf(c):
        return math.inf
    most = max(a, max(b, c))
    if most == 0 or a != a or b != b or c != c:
        return a + b + c
    a, b, c = a / most, b / most, c / most
    return most * math.sqrt(a * a + b * b + c * c)


def remainder(x: Any, y: Any) -> Any:
    """As math.remainder, of IEEE 754: x less the nearest multiple of y; NaN for a y of zero."""
    if math.isinf(y) and math.isfinite(x):
        return x
    a, b = abs(x), abs(y)
    m = math.fmod(a, b)
    c = b - m
    r = m
    if m > c:
        r = -c
    elif m == c:
        r = m - 2 * math.fmod((a - m) / 2, b)
    return np.copysign(1.0, x) * r


def log(x: Any, base: Any) -> Any:
    """As math.log with a base."""
    return math.log(x) / math.log(base)


def modf(x: Any) -> Any:
    """As math.modf: the part behind the point, and that before it."""
    whole = np.trunc(x)
    rest = x - whole
    if math.isinf(x):
        rest = 0.0
    return np.copysign(rest, x), whole


def heaviside(x: Any, middle: Any) -> Any:
    """As numpy.heaviside."""
    return 0.0 if x < 0 else 1.0 if x > 0 else middle if x == 0 else x


def logaddexp(x: Any, y: Any) -> Any:
    """As numpy.logaddexp: log(exp(x) + exp(y)) without overflow."""
    return x + math.log(2.0) if x == y else max(x, y) + math.log1p(math.exp(-abs(x - y)))


def logaddexp2(x: Any, y: Any) -> Any:
    """As numpy.logaddexp2."""
    more = math.log1p(math.exp2(-abs(x - y))) / math.log(2.0)
    return x + 1.0 if x == y else max(x, y) + more


def sinc(x: Any) -> Any:
    """As numpy.sinc: sin(pi x) / (pi x), 1 at 0."""
    y = math.pi * (x if x != 0 else 1e-20)
    return math.sin(y) / y


def fdim(x: Any, y: Any) -> Any:
    """As execspace.fdim: the positive difference, NaN if either is."""
    return 0.0 if x <= y else x - y


def rsqrt(x: Any) -> Any:
    """As execspace.rsqrt."""
    return 1.0 / math.sqrt(x)


def rounded(x: Any, scale: Any) -> Any:
    """As numpy.round with digits behind the point."""
    return np.rint(x * scale) / scale


def rounded_before(x: Any, scale: Any) -> Any:
    """As numpy.round with digits before the point."""
    return np.rint(x / scale) * scale

"""Bessel functions of the orders 0 and 1, of real numbers: J, Y, I and K.

In each interval a function is a product of its zeros, a polynomial that has none, and what grows
or decays. A zero is given in two parts, of which the first is a multiple of 2**-20, so that x less
the first is exact near it, in float32 as well. From 8 on J and Y are those of Hankel's expansion.

Source: https://dlmf.nist.gov/10, sections 10.8, 10.17, 10.31 and 10.40.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..kernels.language import function
from .bessel_fits import (
    j0_low,
    j0_mid,
    j1_low,
    j1_mid,
    p0,
    p1,
    q0,
    q1,
    y0_low,
    y0_mid,
    y1_low,
    y1_mid,
)
from .modified_fits import (
    i0_high,
    i0_least,
    i0_low,
    i1_high,
    i1_least,
    i1_low,
    k0_high,
    k0_low,
    k0_mid,
    k1_high,
    k1_low,
    k1_mid,
)


@function
def _wave(c: Any, s: Any, x: Any) -> Any:
    """(c cos(x) + s sin(x)) / sqrt(pi x); 0 for an infinite x."""
    if math.isinf(x):
        return 0.0 * c
    else:
        return 0.5641895835477563 * (c * np.cos(x) + s * np.sin(x)) / np.sqrt(x)


@function
def j0(x: Any) -> Any:
    """J of order 0."""
    a = abs(x)
    if a < 4.0:
        d = a - 2.404825210571289 - 3.471244837061216e-07
        value = d * (a + 2.404825557695773) * j0_low(a * a)
    elif a < 8.0:
        d = a - 5.520077705383301 - 4.049030098683466e-07
        value = d * j0_mid(a)
    else:
        r = 8.0 / a
        p, q = p0(r * r), r * q0(r * r)
        value = _wave(p + q, p - q, a)
    return value


@function
def j1(x: Any) -> Any:
    """J of order 1."""
    a = abs(x)
    if a < 4.0:
        d = a - 3.8317060470581055 + 7.685059315313556e-08
        value = a * (d * (a + 3.8317059702075125) * j1_low(a * a))
    elif a < 8.0:
        d = a - 7.015586853027344 + 1.8321172499646294e-07
        value = d * (a - 3.8317059702075125) * j1_mid(a)
    else:
        r = 8.0 / a
        p, q = p1(r * r), r * q1(r * r)
        value = _wave(q - p, p + q, a)
    return np.copysign(1.0, x) * value


@function
def y0(x: Any) -> Any:
    """Y of order 0."""
    if x < 3.0:
        d = x - 0.8935766220092773 - 3.442698901778349e-07
        log = np.log1p(1.1190977808704887 * d) if x > 0.45 else np.log(1.1190977808704887 * x)
        z = x - 2.404825210571289 - 3.471244837061216e-07
        j = z * (x + 2.404825557695773) * j0_low(x * x)
        value = 0.6366197723675814 * log * j + d * (x + 0.8935769662791675) * y0_low(x * x)
    elif x < 8.0:
        value = (x - 3.95767879486084 + 3.755459819753743e-07) * (
            (x - 7.086050987243652 - 7.305812035387363e-08) * y0_mid(x)
        )
    else:
        r = 8.0 / x
        p, q = p0(r * r), r * q0(r * r)
        value = _wave(q - p, p + q, x)
    if x <= 0.0:
        value = -math.inf if x == 0.0 else math.nan
    return value


@function
def y1(x: Any) -> Any:
    """Y of order 1."""
    if x < 4.0:
        d = x - 2.197141647338867 + 3.21307850152351e-07
        log = np.log1p(0.4551368581312111 * d) if x > 1.1 else np.log(0.4551368581312111 * x)
        z = x - 3.8317060470581055 + 7.685059315313556e-08
        j = x * (z * (x + 3.8317059702075125) * j1_low(x * x))
        value = 0.6366197723675814 * log * j + d * (x + 2.197141326031017) * y1_low(x * x) / x
    elif x < 8.0:
        value = (x - 5.429680824279785 - 2.16514349976522e-07) * (
            (x - 8.5960054397583 - 4.285728681451796e-07) * y1_mid(x)
        )
    else:
        r = 8.0 / x
        p, q = p1(r * r), r * q1(r * r)
        value = _wave(-p - q, q - p, x)
    if x <= 0.0:
        value = -math.inf if x == 0.0 else math.nan
    return value


@function
def i0(x: Any) -> Any:
    """I of order 0."""
    a = abs(x)
    if a < 8.0:
        value = i0_low(a * a)
    elif math.isinf(a):
        value = a
    else:
        e = np.exp(0.5 * a)  # its square overflows where the result does not yet
        value = e * i0_high(1.0 / a) / np.sqrt(a) * e
    return value


@function
def i0e(x: Any) -> Any:
    """The same times exp(-abs(x))."""
    a = abs(x)
    if a < 8.0:
        value = np.exp(-a) * i0_low(a * a)
    else:
        value = i0_high(1.0 / a) / np.sqrt(a)
    return value


@function
def i1(x: Any) -> Any:
    """I of order 1."""
    a = abs(x)
    if a < 8.0:
        value = a * i1_low(a * a)
    elif math.isinf(a):
        value = a
    else:
        e = np.exp(0.5 * a)
        value = e * i1_high(1.0 / a) / np.sqrt(a) * e
    return np.copysign(1.0, x) * value


@function
def i1e(x: Any) -> Any:
    """The same times exp(-abs(x))."""
    a = abs(x)
    if a < 8.0:
        value = np.exp(-a) * (a * i1_low(a * a))
    else:
        value = i1_high(1.0 / a) / np.sqrt(a)
    return np.copysign(1.0, x) * value


@function
def _k0_least(x: Any) -> Any:
    return k0_low(x * x) - np.log(x) * i0_least(x * x)


@function
def _k1_least(x: Any) -> Any:
    return 1.0 / x + (np.log(x) * (x * i1_least(x * x)) + x * k1_low(x * x))


@function
def k0(x: Any) -> Any:
    """K of order 0."""
    if x <= 1.0:
        value = _k0_least(x)
    elif x <= 4.0:
        value = np.exp(-x) * k0_mid(1.0 / x) / np.sqrt(x)
    else:
        value = np.exp(-x) * k0_high(1.0 / x) / np.sqrt(x)
    if x <= 0.0:
        value = math.inf if x == 0.0 else math.nan
    return value


@function
def k0e(x: Any) -> Any:
    """The same times exp(x)."""
    if x <= 1.0:
        value = np.exp(x) * _k0_least(x)
    elif x <= 4.0:
        value = k0_mid(1.0 / x) / np.sqrt(x)
    else:
        value = k0_high(1.0 / x) / np.sqrt(x)
    if x <= 0.0:
        value = math.inf if x == 0.0 else math.nan
    return value


@function
def k1(x: Any) -> Any:
    """K of order 1."""
    if x <= 1.0:
        value = _k1_least(x)
    elif x <= 4.0:
        value = np.exp(-x) * k1_mid(1.0 / x) / np.sqrt(x)
    else:
        value = np.exp(-x) * k1_high(1.0 / x) / np.sqrt(x)
    if x <= 0.0:
        value = math.inf if x == 0.0 else math.nan
    return value


@function
def k1e(x: Any) -> Any:
    """The same times exp(x)."""
    if x <= 1.0:
        value = np.exp(x) * _k1_least(x)
    elif x <= 4.0:
        value = k1_mid(1.0 / x) / np.sqrt(x)
    else:
        value = k1_high(1.0 / x) / np.sqrt(x)
    if x <= 0.0:
        value = math.inf if x == 0.0 else math.nan
    return value

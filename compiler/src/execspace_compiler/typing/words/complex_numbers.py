"""Functions of complex numbers, in the language of kernels.

Kahan, Branch Cuts for Complex Elementary Functions, in The State of the Art in Numerical Analysis,
1987: signs of zeros tell the sides of branch cuts. `most` is a quarter of the greatest number.
"""

from __future__ import annotations

import cmath
import math
from typing import Any

import execspace as es

_LN2 = math.log(2.0)


@es.function(fma=False)
def _log_of_double(re: Any, im: Any) -> Any:
    """log(2 * abs(z)) of a large number."""
    return math.log(math.hypot(re / 2, im / 2)) + 2 * _LN2


@es.function(fma=False)
def asinh(z: Any, most: Any) -> Any:
    """As cmath.asinh."""
    if abs(z.real) > most or abs(z.imag) > most:
        re = math.copysign(_log_of_double(z.real, z.imag), z.real)
        return complex(re, math.atan2(z.imag, abs(z.real)))
    a = cmath.sqrt(complex(1 + z.imag, -z.real))
    b = cmath.sqrt(complex(1 - z.imag, z.real))
    re = math.asinh(a.real * b.imag - b.real * a.imag)
    return complex(re, math.atan2(z.imag, a.real * b.real - a.imag * b.imag))


@es.function(fma=False)
def asin(z: Any, most: Any) -> Any:
    """As cmath.asin."""
    w = asinh(complex(-z.imag, z.real), most)
    return complex(w.imag, -w.real)


@es.function(fma=False)
def acos(z: Any, most: Any) -> Any:
    """As cmath.acos."""
    if abs(z.real) > most or abs(z.imag) > most:
        im = -math.copysign(_log_of_double(z.real, z.imag), z.imag)
        return complex(math.atan2(abs(z.imag), z.real), im)
    a = cmath.sqrt(complex(1 - z.real, -z.imag))
    b = cmath.sqrt(complex(1 + z.real, z.imag))
    im = math.asinh(b.real * a.imag - b.imag * a.real)
    return complex(2 * math.atan2(a.real, b.real), im)


@es.function(fma=False)
def acosh(z: Any, most: Any) -> Any:
    """As cmath.acosh."""
    if abs(z.real) > most or abs(z.imag) > most:
        return complex(_log_of_double(z.real, z.imag), math.atan2(z.imag, z.real))
    a = cmath.sqrt(complex(z.real - 1, z.imag))
    b = cmath.sqrt(complex(z.real + 1, z.imag))
    re = math.asinh(a.real * b.real + a.imag * b.imag)
    return complex(re, 2 * math.atan2(a.imag, b.real))


@es.function(fma=False)
def atanh(z: Any, most: Any) -> Any:
    """As cmath.atanh; of 1 and -1 infinities."""
    sign = math.copysign(1.0, z.real)
    x, y = abs(z.real), sign * z.imag
    size = abs(y)
    re = 0 * x
    if x > math.sqrt(most) or size > math.sqrt(most):
        h = math.hypot(x / 2, y / 2)
        re = x / 4 / h / h
        if math.isinf(x) or math.isinf(y):
            re = 0.0
        im = -math.copysign(math.pi / 2, -y)
    elif x == 1 and size < 1 / math.sqrt(most):
        re = -math.log(math.sqrt(size) / math.sqrt(math.hypot(size, 2.0)))
        im = math.copysign(math.atan2(2.0, -size) / 2, y)
        if size == 0:
            im = y
    else:
        re = math.log1p(4 * x / ((1 - x) * (1 - x) + size * size)) / 4
        im = -math.atan2(-2 * y, (1 - x) * (1 + x) - size * size) / 2
    return complex(sign * re, sign * im)


@es.function(fma=False)
def atan(z: Any, most: Any) -> Any:
    """As cmath.atan."""
    w = atanh(complex(-z.imag, z.real), most)
    return complex(w.imag, -w.real)


def log10(z: Any, most: Any) -> Any:
    """As cmath.log10."""
    w = cmath.log(z)
    return complex(w.real / math.log(10.0), w.imag / math.log(10.0))


def log2(z: Any, most: Any) -> Any:
    """As numpy.log2."""
    w = cmath.log(z)
    return complex(w.real / _LN2, w.imag / _LN2)


def log_with_base(z: Any, base: Any) -> Any:
    """As cmath.log with a base."""
    return cmath.log(z) / cmath.log(base)


def phase(z: Any) -> Any:
    """As cmath.phase and numpy.angle."""
    return math.atan2(z.imag, z.real)


def polar(z: Any) -> Any:
    """As cmath.polar."""
    return abs(z), math.atan2(z.imag, z.real)


def rect(r: Any, phi: Any) -> Any:
    """As cmath.rect."""
    return complex(r * math.cos(phi), r * math.sin(phi))

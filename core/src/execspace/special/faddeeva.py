"""The Faddeeva function and the error functions of complex numbers.

The function is an integral along the real axis of an integrand with a pole. The trapezoidal rule,
with the residue added, is that integral to the last digits with 11 points, if they do not come
near the pole; so there are two rules, of points and of midpoints.

Source: Al Azah and Chandler-Wilde, "Computation of the complex error function using modified
trapezoidal rules", SIAM J. Numer. Anal. 59, 2021.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..kernels.language import function
from .complex_fits import erf_series, midpoint_sum, trapezoid_sum


@function
def _minus_square(x: Any, y: Any) -> tuple[Any, Any]:
    """exp(-z**2), z = x + i y, x >= 0, y >= 0: real and imaginary part.

    Each part of the exponent is one that is exact, of multiples of 1/16, and a small rest.
    """
    p, q = np.floor(16.0 * x) * 0.0625, np.floor(16.0 * y) * 0.0625
    f, g = x - p, y - q
    if x + y < 100.0:
        size = np.exp(q * q - p * p) * np.exp(g * (y + q) - f * (x + p))
    else:
        size = np.exp((y - x) * (y + x))
    if size == 0.0:  # of infinities, too, whose angle is not known
        re, im = size, size
    else:
        large, small = 2.0 * p * q, 2.0 * (p * g + f * y)
        c, s = np.cos(large), np.sin(large)
        d, t = np.cos(small), np.sin(small)
        re, im = size * (c * d - s * t), -size * (s * d + c * t)
    return re, im


@function
def _first_quadrant(x: Any, y: Any) -> tuple[Any, Any]:
    """w(x + i y), x >= 0, y >= 0: real and imaginary part."""
    # h = sqrt(pi / (n + 1)), 1 / h, pi / h, h / pi
    if np.finfo(x).bits == 32:
        per_h, turn, weight = 1.3819766, 4.3416075, 0.23032943
    else:
        per_h, turn, weight = 1.9544100476116797, 6.139960247678931, 0.16286750396763996
    if x + y > 10000.0:
        # i / (sqrt(pi) (z - 1 / (2 z))), of which the second term is 0 if z is infinite
        n = max(x, y)
        a, b = x / n, y / n
        d = a * a + b * b
        p, q = x - 0.5 * (a / d) / n, y + 0.5 * (b / d) / n
        n = max(p, q)
        a, b = p / n, q / n
        d = 1.772453850905516 * n * (a * a + b * b)
        re, im = b / d, a / d
        if math.isinf(x) or math.isinf(y):
            re, im = 0.0, 0.0
    else:
        u, v = (x - y) * (x + y), 2.0 * x * y
        part = x * per_h - np.floor(x * per_h)
        points = y < x and part >= 0.25 and part <= 0.75
        if points:
            s, t = trapezoid_sum(u, v)
            d = weight / (x * x + y * y)
            re, im = y * d - (x * t + y * s), x * d + (x * s - y * t)
        else:
            s, t = midpoint_sum(u, v)
            re, im = -(x * t + y * s), x * s - y * t
        if y < turn:
            p, q = _minus_square(x, y)
            size = np.exp(2.0 * turn * y)
            size = -size if points else size
            c = 1.0 + size * np.cos(6.283185307179586 * part)
            s = -size * np.sin(6.283185307179586 * part)
            d = 2.0 / (c * c + s * s)
            re += (p * c + q * s) * d
            im += (q * c - p * s) * d
    return re, im


@function
def _w(x: Any, y: Any) -> tuple[Any, Any]:
    """w(x + i y): real and imaginary part."""
    a, b = abs(x), abs(y)
    re, im = _first_quadrant(a, b)
    if y < 0.0:
        p, q = _minus_square(a, b)
        re, im = 2.0 * p - re, im - 2.0 * q
    return re, -im if x < 0.0 else im


@function
def _erf_and_erfc(z: Any) -> tuple[Any, Any]:
    """erf(z) and erfc(z)."""
    x, y = abs(z.real), z.imag
    side = -1.0 if z.real < 0.0 else 1.0
    if x * x + y * y < 1.0:
        erf = z * erf_series(-(z * z))
        erfc = 1.0 - erf
    else:
        # erfc is exp(-z**2) w(i z) in the right half-plane
        y = side * y
        p, q = _minus_square(x, abs(y))
        q = -q if y < 0.0 else q
        s, t = _w(-y, x)
        re, im = p * s - q * t, p * t + q * s
        erf = complex(side * (1.0 - re), -side * im)
        erfc = complex(2.0 - re if side < 0.0 else re, side * im)
    if z.real == 0.0:  # odd functions stay imaginary on the axis
        erf = complex(z.real, erf.imag)
        erfc = complex(1.0 - z.real, erfc.imag)
    return erf, erfc


@function
def wofz(z: Any) -> Any:
    """w(z)."""
    re, im = _w(z.real, z.imag)
    return complex(re, im)


@function
def wofz_real(x: Any) -> Any:
    """w of a real number."""
    re, im = _w(x, 0.0 * x)
    return complex(re, im)


@function
def erfcx(z: Any) -> Any:
    """exp(z**2) erfc(z), which is w(i z)."""
    re, im = _w(-z.imag, z.real)
    return complex(re, im)


@function
def erf(z: Any) -> Any:
    """erf(z)."""
    return _erf_and_erfc(z)[0]


@function
def erfc(z: Any) -> Any:
    """erfc(z)."""
    return _erf_and_erfc(z)[1]

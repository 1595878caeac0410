"""Bessel functions of the orders 0 and 1, of complex numbers: I, K, J, Y and Hankel's.

All of them are I and K of a number in the right half-plane. I is the series, Miller's backward
recurrence or Hankel's expansion; K is the series, or Cauchy's integral along its cut.

Source: https://dlmf.nist.gov/10, sections 10.27, 10.31, 10.34, 10.40 and 10.74(iv).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernels.language import function
from .complex_fits import (
    even_terms0,
    even_terms1,
    i0_series,
    i1_series,
    k0_integral,
    k0_series,
    k1_integral,
    k1_series,
    odd_terms0,
    odd_terms1,
)

if TYPE_CHECKING:
    static = Any  # calls give numbers, with which the functions compare it
else:
    from ..views.static import static


@function
def _exp(z: Any, sign: Any) -> Any:
    """exp(sign z)."""
    size = np.exp(sign * z.real)
    return complex(size * np.cos(z.imag), sign * size * np.sin(z.imag))


@function
def _i_right(z: Any, order: static) -> Any:
    """I of a number whose real part is not negative."""
    size = abs(z)
    if size < 1.5:
        t = 0.25 * (z * z)
        value = i0_series(t) if order == 0 else 0.5 * z * i1_series(t)
    elif size <= 25.0:
        # exp(z) = I0 + 2 I1 + 2 I2 + ...
        r = 2.0 / z
        after, now, total = 0.0 * z, 0.0 * z + 1e-30, 0.0 * z
        for k in range(int(1.7 * size) + 20, 0, -1):
            total = total + now
            after, now = now, after + k * (r * now)
        found = now if order == 0 else after
        value = found / (now + 2.0 * total) * _exp(z, 1.0)
    else:
        r = 1.0 / z
        t = r * r
        if order == 0:
            even, odd = even_terms0(t), r * odd_terms0(t)
        else:
            even, odd = even_terms1(t), r * odd_terms1(t)
        sign = 1.0 if (z.imag >= 0.0) == (order == 0) else -1.0
        small = _exp(z, -1.0) * (even + odd)
        grown = _exp(z, 1.0) * (even - odd) + complex(-sign * small.imag, sign * small.real)
        value = 0.3989422804014327 * grown / np.sqrt(z)
    return value


@function
def _k_right(z: Any, order: static) -> Any:
    """K of a number that is not 0 and whose real part is not negative."""
    if abs(z) < 1.5:
        t = 0.25 * (z * z)
        log = np.log(0.5 * z)
        if order == 0:
            value = k0_series(t) - (log + 0.5772156649015329) * i0_series(t)
        else:
            value = 1.0 / z + 0.5 * z * (log * i1_series(t) - 0.5 * k1_series(t))
    else:
        if order == 0:
            re, im = k0_integral(z.real, z.imag)
            sum_ = complex(1.2533141373155003 - re, -im)
        else:
            re, im = k1_integral(z.real, z.imag)
            sum_ = complex(1.2533141373155003 + re, im)
        value = sum_ * _exp(z, -1.0) / np.sqrt(z)
    return value


@function
def i(z: Any, order: static) -> Any:
    """I of any number."""
    if z.real < 0.0:
        value = _i_right(-z, order) if order == 0 else -_i_right(-z, order)
    else:
        value = _i_right(z, order)
    return value


@function
def k(z: Any, order: static) -> Any:
    """K of any number."""
    if z.real == 0.0 and z.imag == 0.0:
        value = complex(math.inf, 0.0)
    elif z.real < 0.0:
        value = _k_right(-z, order)
        grown = 3.141592653589793 * _i_right(-z, order)
        turned = complex(-grown.imag, grown.real)
        value = value if order == 0 else -value
        value = value - turned if z.imag >= 0.0 else value + turned
    else:
        value = _k_right(z, order)
    return value


# J, Y and Hankel's functions are found in the upper half-plane, where the first of Hankel's
# decays. Below it they are conjugates, and there the two of Hankel's change places.


@function
def _up(z: Any) -> Any:
    return z if z.imag >= 0.0 else z.conjugate()


@function
def _as_below(value: Any, z: Any) -> Any:
    return value if z.imag >= 0.0 else value.conjugate()


@function
def _j_up(z: Any, order: static) -> Any:
    found = _i_right(complex(z.imag, -z.real), order)
    value = found if order == 0 else complex(-found.imag, found.real)
    return value if z.imag != 0.0 else complex(value.real, 0.0 * value.real)


@function
def _h_up(z: Any, order: static) -> Any:
    found = 0.6366197723675814 * _k_right(complex(z.imag, -z.real), order)
    return complex(found.imag, -found.real) if order == 0 else -found


@function
def j(z: Any, order: static) -> Any:
    """J of any number."""
    return _as_below(_j_up(_up(z), order), z)


@function
def y(z: Any, order: static) -> Any:
    """Y of any number."""
    u = _up(z)
    if z.real == 0.0 and z.imag == 0.0:
        value = complex(-math.inf, 0.0)
    else:
        h = _h_up(u, order)
        rest = _j_up(u, order) - h
        value = complex(-rest.imag, rest.real)
        if z.imag == 0.0 and z.real > 0.0:
            value = complex(h.imag, 0.0 * h.imag)
    return _as_below(value, z)


@function
def hankel(z: Any, order: static, kind: static) -> Any:
    """Hankel's function of the first or second kind."""
    u = _up(z)
    if z.real == 0.0 and z.imag == 0.0:
        value = complex(math.nan, math.nan)
    else:
        value = _h_up(u, order)
    if (z.imag >= 0.0) != (kind == 1):
        value = 2.0 * _j_up(u, order) - value
    return _as_below(value, z)

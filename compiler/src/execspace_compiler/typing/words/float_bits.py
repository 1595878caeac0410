"""Functions of floats that look at their bits, in the language of kernels: one for each width.

`frexp` and `ldexp` are exact; the latter rounds once, as its result is.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def frexp64(x: Any) -> Any:
    """As math.frexp."""
    number, less = x, 0
    if abs(x) < 2.2250738585072014e-308:  # subnormal, or zero
        number, less = x * 18014398509481984.0, 54
    bits = number.view(np.int64)
    power = (bits >> 52) & 0x7FF
    if x == 0 or power == 0x7FF:
        return x, 0
    return ((bits & ~(0x7FF << 52)) | (1022 << 52)).view(np.float64), power - 1022 - less


def frexp32(x: Any) -> Any:
    """As numpy.frexp of a float32."""
    number, less = x, 0
    if abs(x) < 1.1754943508222875e-38:
        number, less = x * 33554432.0, 25
    bits = number.view(np.int32)
    power = (bits >> 23) & 0xFF
    if x == 0 or power == 0xFF:
        return x, 0
    return ((bits & ~(0xFF << 23)) | (126 << 23)).view(np.float32), power - 126 - less


def frexp16(x: Any) -> Any:
    """As numpy.frexp of a float16."""
    m, e = frexp32(np.float32(x))
    return np.float16(m), e


def ldexp64(x: Any, n: Any) -> Any:
    """As math.ldexp, but for overflow, which gives infinity."""
    y, left = x, min(max(n, -2200), 2200)
    while left > 1023:
        y, left = y * 8.98846567431158e307, left - 1023
    while left < -1022:  # by less than all bits of a number, so that it is rounded once
        y, left = y * 2.004168360008973e-292, left + 969
    return y * ((left + 1023) << 52).view(np.float64)


def ldexp32(x: Any, n: Any) -> Any:
    """As numpy.ldexp of a float32."""
    y, left = x, min(max(n, -400), 400)
    while left > 127:
        y, left = y * 1.7014118346046923e38, left - 127
    while left < -126:
        y, left = y * 1.9721522630525295e-31, left + 102
    return y * np.int32((left + 127) << 23).view(np.float32)


def ldexp16(x: Any, n: Any) -> Any:
    """As numpy.ldexp of a float16; exact in float32, where it is not less than all of them."""
    return np.float16(ldexp32(np.float32(x), n))


def nextafter64(x: Any, y: Any) -> Any:
    """As math.nextafter."""
    if x != x or y != y:
        return x + y
    if x == y:
        return y
    if x == 0:
        return np.copysign(5e-324, y)
    bits = x.view(np.int64)
    return (bits + (1 if (x < y) == (x > 0) else -1)).view(np.float64)


def nextafter32(x: Any, y: Any) -> Any:
    """As numpy.nextafter of float32."""
    if x != x or y != y:
        return x + y
    if x == y:
        return y
    if x == 0:
        return np.copysign(np.float32(1.401298464324817e-45), y)
    bits = x.view(np.int32)
    return (bits + np.int32(1 if (x < y) == (x > 0) else -1)).view(np.float32)


def nextafter16(x: Any, y: Any) -> Any:
    """As numpy.nextafter of float16."""
    if x != x or y != y:
        return x + y
    if x == y:
        return y
    if x == 0:
        return np.copysign(np.float16(6e-8), y)
    bits = x.view(np.int16)
    return np.int16(bits + (1 if (x < y) == (x > 0) else -1)).view(np.float16)


def spacing64(x: Any) -> Any:
    """As numpy.spacing."""
    return 5e-324 if x == 0 else nextafter64(x, np.copysign(math.inf, x)) - x


def spacing32(x: Any) -> Any:
    """As numpy.spacing of a float32."""
    if x == 0:
        return np.float32(1.401298464324817e-45)
    return nextafter32(x, np.copysign(np.float32(math.inf), x)) - x


def spacing16(x: Any) -> Any:
    """As numpy.spacing of a float16, which is not negative: to the next one upwards."""
    if math.isinf(x):
        return np.float16(math.nan)
    return nextafter16(x, np.float16(math.inf)) - x


def logb64(x: Any) -> Any:
    """As execspace.logb."""
    if x == 0:
        return -math.inf
    return abs(x) if not math.isfinite(x) else frexp64(x)[1] - 1.0


def logb32(x: Any) -> Any:
    """As execspace.logb of a float32."""
    if x == 0:
        return np.float32(-math.inf)
    return abs(x) if not math.isfinite(x) else frexp32(x)[1] - np.float32(1.0)


def logb16(x: Any) -> Any:
    """As execspace.logb of a float16."""
    return np.float16(logb32(np.float32(x)))

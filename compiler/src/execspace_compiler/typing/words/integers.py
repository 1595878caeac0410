"""Functions of integers, in the language of kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es


def sign(x: Any) -> Any:
    """As numpy.sign."""
    return 1 if x > 0 else -1 if x < 0 else x


def sign_unsigned(x: Any) -> Any:
    """As numpy.sign."""
    return min(x, 1)


def signbit(x: Any) -> Any:
    """As numpy.signbit."""
    return x < 0


def gcd(x: Any, y: Any) -> Any:
    """As math.gcd and numpy.gcd."""
    a, b = abs(x), abs(y)
    while b != 0:
        a, b = b, abs(a % b)
    return a


def lcm(x: Any, y: Any) -> Any:
    """As math.lcm and numpy.lcm."""
    divisor = gcd(x, y)
    return abs(x) // divisor * abs(y) if divisor != 0 else divisor


def bits(x: Any) -> Any:
    """As numpy.bitwise_count: how many bits of its absolute value are set."""
    return np.uint8(es.popcount(abs(x)))

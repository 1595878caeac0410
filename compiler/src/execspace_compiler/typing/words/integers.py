"""Functions of integers, in the language of kernels."""

from __future__ import annotations

from typing import Any

import numpy as np


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
    """As numpy.bitwise_count of an unsigned integer: how many of its bits are set.

    Warren, Hacker's Delight, section 5-1; compilers know it and take the processor's instruction.
    """
    v = np.uint64(x)
    v = v - ((v >> 1) & 0x5555555555555555)
    v = (v & 0x3333333333333333) + ((v >> 2) & 0x3333333333333333)
    v = (v + (v >> 4)) & 0x0F0F0F0F0F0F0F0F
    return np.uint8((v * 0x0101010101010101) >> 56)


def bits_of_absolute(x: Any) -> Any:
    """As numpy.bitwise_count of a signed integer: of its absolute value."""
    return bits(np.uint64(x) if x >= 0 else np.uint64(0) - np.uint64(x))

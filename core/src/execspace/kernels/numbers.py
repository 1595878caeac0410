"""Functions of floats that C and Kokkos have, and neither NumPy nor the math of all Pythons.

Here is what they mean in plain Python; compilers know their meaning by identity.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from ..base.brief import brief
from ..base.errors import LaunchError

__all__ = [
    "fdim",
    "fma",
    "logb",
    "rsqrt",
]


def _float_type(numbers: tuple[Any, ...], name: str) -> Any:
    """Type in which a function computes: float32, float64, or Python's float."""
    types: list[Any] = []
    for x in numbers:
        if not isinstance(x, int | float | np.integer | np.floating | np.bool_):
            raise LaunchError(
                f"{name}: got {brief(x)}, expected a real number; of a View or an array it is "
                f"called in a kernel."
            )
        types.append(x if isinstance(x, np.floating) else type(x)(0))
    if all(isinstance(x, int | float) for x in numbers):
        return float
    found = np.result_type(*types)
    return found.type if found.kind == "f" else np.float64


def fma(x: Any, y: Any, z: Any) -> Any:
    """``x * y + z``, rounded once: a fused multiply-add.

    Parameters
    ----------
    x, y, z : number
        Real; integers count as float64. Not of float16.

    Returns
    -------
    float of their common type

    Raises
    ------
    LaunchError
        If one of them is no real number, or of float16; in a kernel it is a KernelTypeError.

    Notes
    -----
    A function call, and slow, on processors without such an instruction. Without it a kernel
    may fuse as well, see the option `fma` of `es.kernel`, but does not have to. Kokkos:
    https://kokkos.org/kokkos-core-wiki/API/core/numerics/mathematical-functions.html

    Examples
    --------
    >>> import execspace as es
    >>> 0.1 * 10 - 1, es.fma(0.1, 10, -1)
    (0.0, 5.551115123125783e-17)
    """
    kind = _float_type((x, y, z), "fma")
    if kind is np.float16:
        raise LaunchError("fma: got float16, expected float32 or float64; convert: es.float32(x).")
    a, b, c = (float(kind(v)) for v in (x, y, z))
    if not (math.isfinite(a) and math.isfinite(b)) or a == 0 or b == 0:
        return kind(a * b + c)
    if not math.isfinite(c):
        return kind(c)
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    return kind(nearest(exact, 24 if kind is np.float32 else 53))


def nearest(exact: Fraction, digits: int) -> float:
    """The float of 24 or 53 binary digits that is nearest to a number; of two the even one."""
    sign, size = (-1.0, -exact) if exact < 0 else (1.0, exact)
    least = -149 if digits == 24 else -1074
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** exponent:
        exponent -= 1
    unit = max(exponent - digits + 1, least)
    whole = round(size / Fraction(2) ** unit)  # Python rounds to even
    greatest = 128 if digits == 24 else 1024
    if whole.bit_length() + unit > greatest:
        return sign * math.inf
    return sign * math.ldexp(whole, unit)


def fdim(x: Any, y: Any) -> Any:
    """``x - y`` where it is positive, else 0; NaN if either is.

    Parameters
    ----------
    x, y : number
        Real; integers count as float64.

    Returns
    -------
    float of their common type

    Raises
    ------
    LaunchError
        If one of them is no real number; in a kernel it is a KernelTypeError.

    Examples
    --------
    >>> import execspace as es
    >>> es.fdim(3.0, 1.0), es.fdim(1.0, 3.0)
    (2.0, 0.0)
    """
    kind = _float_type((x, y), "fdim")
    a, b = kind(x), kind(y)
    return kind(0) if a <= b else a - b


def rsqrt(x: Any) -> Any:
    """``1 / sqrt(x)``: an infinity of 0, NaN of a negative number.

    Parameters and errors are those of `fdim`.

    Examples
    --------
    >>> import execspace as es
    >>> es.rsqrt(4.0)
    0.5
    """
    kind = _float_type((x,), "rsqrt")
    a = kind(x)
    if a == 0:
        return kind(math.copysign(math.inf, a))
    return kind(1) / kind(math.sqrt(a)) if a > 0 else kind(math.nan)


def logb(x: Any) -> Any:
    """The exponent of a number as a float: ``floor(log2(abs(x)))``, exactly.

    Of 0 it is minus infinity, of infinities infinity. Parameters and errors are those of `fdim`.

    Examples
    --------
    >>> import execspace as es
    >>> es.logb(10.0), es.logb(0.125)
    (3.0, -3.0)
    """
    kind = _float_type((x,), "logb")
    a = abs(float(kind(x)))
    if a == 0 or not math.isfinite(a):
        return kind(-math.inf if a == 0 else a)
    return kind(math.frexp(a)[1] - 1)

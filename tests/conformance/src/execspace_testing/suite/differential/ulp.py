"""Mathematical functions: where they are sampled, their reference, and how far off they may be.

Spaces take these functions from different libraries, so they agree to a few units in the last
place (ULP) only. Bounds are the largest errors measured on x86-64 Linux against a reference of
more digits, rounded up, with one ULP more for other libraries.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
SAMPLES = 400


def _erf_like(name: str) -> Callable[[Array], Array]:
    plain = np.vectorize(getattr(math, name), otypes=[np.float64])
    return lambda x: plain(x.astype(np.float64)).astype(np.longdouble)


@dataclass(frozen=True, slots=True)
class Function:
    """A function of kernels.

    Attributes
    ----------
    text : str
        How a kernel calls it, of `x` and, where it has two operands, of `y`.
    reference : callable
        In NumPy's widest type.
    low, high : float
        Samples are spread evenly over this range.
    bounds : tuple of float
        Greatest error in ULP: of float32 and float64, or of complex64 and complex128.
    special : tuple of float
        Further samples.
    """

    text: str
    reference: Callable[..., Any]
    low: float
    high: float
    bounds: tuple[float, float]
    special: tuple[float, ...] = (0.0, -0.0, math.inf, -math.inf, math.nan)


_POSITIVE = (math.inf, math.nan, 1.0)
_NONE = (1.0,)

REAL: dict[str, Function] = {
    "cbrt": Function("np.cbrt(x)", np.cbrt, -50, 50, (2.5, 4)),
    "exp": Function("math.exp(x)", np.exp, -80, 80, (3, 2)),
    "exp2": Function("np.exp2(x)", np.exp2, -100, 100, (2, 2)),
    "expm1": Function("math.expm1(x)", np.expm1, -5, 5, (2, 2)),
    "log": Function("math.log(x)", np.log, 1e-6, 50, (2, 1.5), _POSITIVE),
    "log2": Function("np.log2(x)", np.log2, 1e-6, 50, (2, 1.5), _POSITIVE),
    "log10": Function("math.log10(x)", np.log10, 1e-6, 50, (2.5, 2), _POSITIVE),
    "log1p": Function("math.log1p(x)", np.log1p, -0.9, 5, (2.5, 2), (0.0, -0.0, math.inf)),
    "sin": Function("math.sin(x)", np.sin, -30, 30, (2, 1.5), (0.0, -0.0, math.nan)),
    "cos": Function("math.cos(x)", np.cos, -30, 30, (2, 1.5), (0.0, -0.0, math.nan)),
    "tan": Function("math.tan(x)", np.tan, -30, 30, (3, 2), (0.0, -0.0, math.nan)),
    "asin": Function("math.asin(x)", np.arcsin, -1, 1, (3, 2), (0.0, -0.0, math.nan)),
    "acos": Function("math.acos(x)", np.arccos, -1, 1, (3, 2), (0.0, -0.0, math.nan)),
    "atan": Function("math.atan(x)", np.arctan, -20, 20, (2, 1.5)),
    "sinh": Function("math.sinh(x)", np.sinh, -50, 50, (2.5, 2.5)),
    "cosh": Function("math.cosh(x)", np.cosh, -50, 50, (2.5, 2)),
    "tanh": Function("math.tanh(x)", np.tanh, -10, 10, (2.5, 2.5)),
    "asinh": Function("math.asinh(x)", np.arcsinh, -50, 50, (2, 2)),
    "acosh": Function("math.acosh(x)", np.arccosh, 1, 50, (2, 2), _POSITIVE),
    "atanh": Function("math.atanh(x)", np.arctanh, -0.99, 0.99, (2.5, 2.5), (0.0, -0.0, math.nan)),
    "erf": Function("math.erf(x)", _erf_like("erf"), -4, 4, (2, 1)),
    "erfc": Function("math.erfc(x)", _erf_like("erfc"), -4, 8, (4, 4)),
    "gamma": Function("math.gamma(x)", _erf_like("gamma"), 0.1, 30, (6, 5), _POSITIVE),
    "lgamma": Function("math.lgamma(x)", _erf_like("lgamma"), 2.5, 30, (3, 12), _POSITIVE),
    "atan2": Function("math.atan2(x, y)", np.arctan2, -5, 5, (3.5, 2)),
    "hypot": Function("math.hypot(x, y)", np.hypot, -50, 50, (1.5, 1.5)),
    "pow": Function("abs(x) ** y", lambda x, y: np.abs(x) ** y, -20, 20, (2, 2), _NONE),
    "math.pow": Function("math.pow(abs(x), y)", lambda x, y: np.abs(x) ** y, -20, 20, (2, 2),
                         _NONE),
    "degrees": Function("math.degrees(x)", np.degrees, -10, 10, (2, 2)),
    "radians": Function("math.radians(x)", np.radians, -700, 700, (2, 2)),
}  # fmt: skip

COMPLEX: dict[str, Function] = {
    "divide": Function("x / y", np.divide, -5, 5, (3.5, 3.5), _NONE),
    "abs": Function("abs(x)", np.abs, -5, 5, (2.5, 2.5), _NONE),
    "multiply": Function("x * y", np.multiply, -5, 5, (2.5, 2.5), _NONE),
    "pow": Function("x ** y", np.power, -3, 3, (16.5, 16.5), _NONE),
    "sqrt": Function("np.sqrt(x)", np.sqrt, -5, 5, (2.5, 2.5), _NONE),
    "exp": Function("np.exp(x)", np.exp, -5, 5, (3, 3), _NONE),
    "log": Function("np.log(x)", np.log, -5, 5, (2.5, 2.5), _NONE),
    "sin": Function("np.sin(x)", np.sin, -5, 5, (3, 3.5), _NONE),
    "cos": Function("np.cos(x)", np.cos, -5, 5, (3.5, 3), _NONE),
    "tan": Function("np.tan(x)", np.tan, -5, 5, (6, 5), _NONE),
    "sinh": Function("np.sinh(x)", np.sinh, -5, 5, (3, 3), _NONE),
    "cosh": Function("np.cosh(x)", np.cosh, -5, 5, (3.5, 3), _NONE),
    "tanh": Function("np.tanh(x)", np.tanh, -5, 5, (6, 6), _NONE),
}

TABLES = {
    "float16": REAL, "float32": REAL, "float64": REAL, "complex64": COMPLEX, "complex128": COMPLEX,
}  # fmt: skip

# Functions of float16 are rounded from a wider type; these are products with a rounded factor.
HALF, HALF_PRODUCTS = 1.0, 1.5


def bound(name: str, dtype: str) -> float:
    """Greatest error in ULP that is allowed."""
    if dtype == "float16":
        return HALF_PRODUCTS if name in ("degrees", "radians") else HALF
    single, double = TABLES[dtype][name].bounds
    return single if dtype in ("float32", "complex64") else double


def samples(function: Function, dtype: str) -> tuple[Array, Array]:
    """Operands: a grid with the special values at its end; the second one in another order."""
    grid = np.linspace(function.low, function.high, SAMPLES)
    grid[len(grid) - len(function.special) :] = function.special
    other = np.roll(grid[::-1], 7)
    if dtype.startswith("complex"):
        return (grid + 1j * np.roll(grid, 131)).astype(dtype), (
            other + 1j * np.roll(other, 57)
        ).astype(dtype)
    return grid.astype(dtype), other.astype(dtype)


def expected(function: Function, x: Array, y: Array) -> Array:
    """The reference for operands as they are after rounding to their type."""
    wide = np.clongdouble if x.dtype.kind == "c" else np.longdouble
    with np.errstate(all="ignore"):
        if "y" in function.text.split("(", 1)[-1] or function.text.startswith("x "):
            return np.asarray(function.reference(x.astype(wide), y.astype(wide)))
        return np.asarray(function.reference(x.astype(wide)))


def errors(result: Array, reference: Array) -> Array:
    """Distance from the reference in ULP of the result's type; infinite for a wrong special.

    Of complex numbers the distance in the plane, in ULP of the greater part.
    """
    if result.dtype.kind == "c":
        size = np.maximum(abs(reference.real), abs(reference.imag))
        distance = np.hypot(result.real - reference.real, result.imag - reference.imag)
        unit = np.spacing(size.astype(result.real.dtype))
        return np.asarray(distance / unit, np.float64)
    with np.errstate(all="ignore"):
        rounded = reference.astype(result.dtype)
        distance = abs(result.astype(np.longdouble) - reference) / abs(np.spacing(rounded))
    special = ~np.isfinite(rounded)
    right = (result == rounded) | (np.isnan(result) & np.isnan(rounded))
    zeros = (rounded == 0) & (result == 0) & (np.signbit(rounded) != np.signbit(result))
    distance = np.where(special | (result == rounded), np.where(right, distance, np.inf), distance)
    distance = np.where(special & right, 0.0, distance)
    return np.asarray(np.where(zeros, np.inf, distance), np.float64)

"""Elements of storage types, and which is nearest to a number, by looking at all of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

import execspace as es

NAMES = ("bfloat16", "float8_e4m3fn", "float8_e5m2")


def element_type(name: str) -> np.dtype[Any]:
    """The dtype of a storage type."""
    return np.dtype(getattr(es, name))


def word(name: str) -> np.dtype[Any]:
    """The integer type of its bits."""
    return np.dtype(f"uint{8 * element_type(name).itemsize}")


def every(name: str) -> npt.NDArray[Any]:
    """All elements, NaN and infinities included."""
    bits = word(name)
    return np.arange(np.iinfo(bits).max + 1, dtype=bits).view(element_type(name))


@cache
def _positive(name: str) -> tuple[npt.NDArray[Any], list[float]]:
    """Finite elements that are not negative, and what lies in the middle of neighbours."""
    with np.errstate(invalid="ignore"):
        numbers = every(name).astype(np.float64)
    sizes = numbers[(numbers >= 0) & np.isfinite(numbers) & ~np.signbit(numbers)]
    above = 2 * sizes[-1] - sizes[-2]  # where the next one would be
    middle = (sizes[1:] + sizes[:-1]) / 2
    return sizes, [*middle.tolist(), float(sizes[-1] + above) / 2]


def middles(name: str) -> npt.NDArray[np.float64]:
    """What lies half-way between neighbours, of either sign; float64 has all of them."""
    found = np.array(_positive(name)[1])
    return np.concatenate([found, -found])


def nearest(name: str, numbers: Iterable[Any]) -> npt.NDArray[Any]:
    """The elements nearest to real numbers, of two the even one; ml_dtypes says what is beyond."""
    sizes, limits = _positive(name)
    dtype = element_type(name)
    beyond = np.float32(np.inf).astype(dtype)
    found = np.zeros(0, dtype)
    out = []
    for number in (n.item() if isinstance(n, np.generic) else n for n in numbers):
        if number != number:
            out.append(np.float32(np.nan).astype(dtype))
            continue
        at = bisect_left(limits, abs(number))  # Python compares integers and floats exactly
        if at < len(limits) and limits[at] == abs(number) and at % 2:  # the bits of `at` are odd
            at += 1
        size = np.float32(sizes[at]).astype(dtype) if at < len(sizes) else beyond
        negative = number < 0 or (number == 0 and np.signbit(number))
        out.append(-size if negative else size)
    return np.array(out, dtype) if out else found


def same(name: str, found: npt.NDArray[Any], expected: npt.NDArray[Any]) -> None:
    """Equal to the bit; any NaN is as good as another."""
    assert found.dtype == expected.dtype == element_type(name)
    both = [np.where(is_nan(a), np.nan, a.astype(np.float32)) for a in (found, expected)]
    np.testing.assert_array_equal(*both)
    number = ~is_nan(expected)
    bits = word(name)
    np.testing.assert_array_equal(found.view(bits)[number], expected.view(bits)[number])


def is_nan(elements: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Which elements are NaN."""
    with np.errstate(invalid="ignore"):
        return np.isnan(elements.astype(np.float32))

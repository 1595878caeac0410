"""Inputs of generated kernels: for each element type two Views that combine its special values.

Element i of `x_T` is special value i // 14, element i of `y_T` special value i % 14, so that each
pair of special values stands at one index.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
FLOATS = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
ELEMENTS = ("bool", *INTEGERS, *FLOATS, *COMPLEX)

SPECIAL = 14
COUNT = SPECIAL * SPECIAL


def special_values(name: str) -> npt.NDArray[Any]:
    """The special values of an element type."""
    dtype = np.dtype(name)
    if dtype.kind == "b":
        return np.arange(SPECIAL) % 3 == 1
    if dtype.kind in "iu":
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        if dtype.kind == "i":
            values = [0, 1, -1, 2, -2, 3, -3, 7, -7, 5, least, least + 1, most - 1, most]
        else:
            bits = dtype.itemsize * 8
            values = [0, 1, 2, 3, 5, 7, 8, bits - 1, bits, 100, most // 2, most // 2 + 1,
                      most - 1, most]  # fmt: skip
        return np.array(values, dtype)
    if dtype.kind == "f":
        info = np.finfo(dtype)
        tiny, most = float(info.smallest_subnormal), float(info.max)
        values = [1.0, -1.5, 0.0, -0.0, np.nan, np.inf, -np.inf, tiny, -3 * tiny, 2.5, -7.25,
                  0.1, most, 3e9]  # fmt: skip
        with np.errstate(over="ignore"):  # float16 has no 3e9
            return np.array(values, dtype)
    real = np.dtype(f"float{dtype.itemsize * 4}")
    return _pairs(special_values(real.name), dtype)


def _pairs(parts: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Complex numbers from parts in two orders; set part by part, because 0 * inf is NaN."""
    values = np.zeros(len(parts), dtype)
    values.real = parts
    values.imag = np.roll(parts, 5)[::-1]
    return values


def input_array(name: str) -> npt.NDArray[Any]:
    """The input View of a name: `x_float32` and so on."""
    letter, _, element = name.partition("_")
    values = special_values(element)
    indices = np.arange(COUNT)
    return values[indices // SPECIAL if letter == "x" else indices % SPECIAL]

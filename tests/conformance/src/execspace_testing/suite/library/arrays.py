"""Arrays that are hard to order, and the order that they must get."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

import execspace as es
from execspace_testing.sizes import interpreted

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
NUMBERS = ("bool", *INTEGERS, *FLOATS)
SPECIAL = (np.nan, -np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -1.5)


def sortable(space, array):
    """Whether a space can sort an array: with a library, or with kernels that compute with it."""
    library = isinstance(space, es.SupportsSort)
    return array.dtype != np.float16 or library or space.capabilities.float16


def dtypes(space, few=("float64", "uint32")):
    """All dtypes where no kernel is compiled for each of them, else a few."""
    return NUMBERS if interpreted(space) or isinstance(space, es.SupportsSort) else few


def elements(dtype):
    """Numbers of a dtype, with many duplicates and the extremes among them."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return st.booleans()
    if kind.kind == "f":
        return st.sampled_from(SPECIAL) | st.floats(width=8 * kind.itemsize)
    limits = np.iinfo(kind)
    low, high = int(limits.min), int(limits.max)
    return st.integers(max(low, -2), 2) | st.sampled_from((low, high)) | st.integers(low, high)


@st.composite
def arrays(draw, dtypes=NUMBERS, most=24):
    """An array of rank 1: contiguous, with gaps, or backwards."""
    dtype = draw(st.sampled_from(dtypes))
    values = draw(st.lists(elements(dtype), max_size=most))
    return strided(np.array(values, dtype), draw(st.sampled_from((1, 1, 2, -1, -3))))


def strided(values, step):
    """The same elements, `step` apart in memory."""
    n = len(values)
    whole = np.zeros(n * abs(step), values.dtype)
    part = whole[::step][:n]
    part[...] = values
    return part


def order_of(keys, descending=False):
    """The permutation that sorts: Python's own stable sort, NaN greater than every number."""
    numbers = keys.tolist()

    def rank(k):
        return (True, 0) if numbers[k] != numbers[k] else (False, numbers[k])

    return sorted(range(len(numbers)), key=rank, reverse=descending)

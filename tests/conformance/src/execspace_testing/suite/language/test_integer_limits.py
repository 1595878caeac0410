"""At the limits of their types integers wrap at once, whatever is done with them afterwards.

Each operation's result is stored, widened, made a float and compared: a compiler that forgets to
wrap stores the right bits, and is wrong in the other three. The reference is NumPy.
"""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def values(dtype):
    """Numbers next to the limits of a type, and next to zero."""
    limits = np.iinfo(dtype)
    around = (limits.min, limits.min // 2, 0, limits.max // 2, limits.max)
    near = {n for middle in around for n in range(middle - 5, middle + 6)}
    return np.array([n for n in sorted(near) if limits.min <= n <= limits.max], dtype)


def keep(k, i, value, stored, wide, real, below):
    stored[k, i] = value
    wide[k, i] = es.int64(value)
    real[k, i] = es.float64(value)
    below[k, i] = value < 3


def times(a, factor):
    return a * factor


@es.kernel
def operations(i, stored, wide, real, below, a, b):
    x, y = a[i], b[i]
    keep(0, i, -x, stored, wide, real, below)
    keep(1, i, abs(x), stored, wide, real, below)
    keep(2, i, ~x + 1, stored, wide, real, below)
    keep(3, i, times(x, -1 if x < 0 else 1), stored, wide, real, below)
    keep(4, i, max(x, -x), stored, wide, real, below)
    keep(5, i, 0 - x, stored, wide, real, below)
    keep(6, i, x + y, stored, wide, real, below)
    keep(7, i, x - y, stored, wide, real, below)
    keep(8, i, x * y, stored, wide, real, below)
    keep(9, i, x // y, stored, wide, real, below)
    keep(10, i, x << 1, stored, wide, real, below)
    keep(11, i, x**3, stored, wide, real, below)
    keep(12, i, np.square(x), stored, wide, real, below)


def expected(a, b):
    """The same in NumPy."""
    factor = np.where(a < 0, a - a - 1, a - a + 1).astype(a.dtype)
    one = a.dtype.type(1)
    results = (-a, abs(a), ~a + one, a * factor, np.maximum(a, -a), 0 - a, a + b, a - b, a * b,
               a // b, a << one, a**3, np.square(a))  # fmt: skip
    assert all(r.dtype == a.dtype for r in results)
    return np.stack(results)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_results_are_of_their_type_whatever_uses_them(space, dtype):
    near = values(dtype)
    a, b = np.repeat(near, 3), np.resize(near[::-1], near.size * 3)
    with np.errstate(all="ignore"):
        right = expected(a, b)
    found = [np.zeros(right.shape, t) for t in (dtype, np.int64, np.float64, np.bool_)]
    staged.parallel_for(es.RangePolicy(a.size, space=space), operations, *found, a, b)
    with np.errstate(all="ignore"):
        for mine, reference in zip(
            found, (right, right.astype(np.int64), right.astype(np.float64), right < 3), strict=True
        ):
            np.testing.assert_array_equal(mine, reference)


@es.kernel
def conversions(i, stored, wide, real, below, a):
    keep(0, i, es.int16(-a[i]), stored, wide, real, below)
    keep(1, i, es.int16(abs(a[i])), stored, wide, real, below)
    keep(2, i, es.int16(0 - es.int64(a[i])), stored, wide, real, below)
    keep(3, i, es.int16(es.uint16(a[i])), stored, wide, real, below)
    keep(4, i, es.int16(~es.uint16(a[i]) + es.uint16(1)), stored, wide, real, below)


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "uint16"])
def test_conversions_to_16_bits_wrap_whatever_uses_them(space, dtype):
    a = np.concatenate([values("int16").astype(dtype), values(dtype)])
    with np.errstate(all="ignore"):
        right = np.stack([
            (-a).astype(np.int16), abs(a).astype(np.int16),
            (0 - a.astype(np.int64)).astype(np.int16), a.astype(np.int16), (-a).astype(np.int16),
        ])  # fmt: skip
    found = [np.zeros(right.shape, t) for t in (np.int16, np.int64, np.float64, np.bool_)]
    staged.parallel_for(es.RangePolicy(a.size, space=space), conversions, *found, a)
    for mine, reference in zip(
        found, (right, right.astype(np.int64), right.astype(np.float64), right < 3), strict=True
    ):
        np.testing.assert_array_equal(mine, reference)

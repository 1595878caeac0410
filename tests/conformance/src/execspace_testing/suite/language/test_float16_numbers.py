"""Every float16: functions and conversions of all 65536, conversions of what lies half-way.

The reference is NumPy, which rounds a float64 and an integer once. By way of the nearest float32
some would be rounded twice.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import execspace as es
from execspace_testing import staged
from execspace_testing.drawn import drawn
from execspace_testing.sizes import interpreted, needs_dtype

EVERY = np.arange(65536, dtype=np.uint16).view(np.float16)
INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def some(space, values, most=400):
    """The values; of those for a space that interprets kernels, some."""
    if not interpreted(space) or len(values) <= most:
        return values
    return np.random.default_rng(8).choice(values, most, replace=False)


def mapped(space, kernel, dtype, *arrays):
    """What a kernel stores for each element."""
    found = np.zeros(len(arrays[0]), dtype)
    staged.parallel_for(es.RangePolicy(len(found), space=space), kernel, found, *arrays)
    return found


def same(found, expected):
    """Equal numbers of one type, with the signs of zeros; any NaN is as good as another."""
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[number], np.signbit(expected)[number])


FUNCTIONS = {
    "neg": lambda x: -x,
    "abs": lambda x: abs(x),
    "sqrt": lambda x: np.sqrt(x),
    "floor": lambda x: np.floor(x),
    "ceil": lambda x: np.ceil(x),
    "trunc": lambda x: np.trunc(x),
    "rint": lambda x: np.rint(x),
    "square": lambda x: x * x,
    "reciprocal": lambda x: 1 / x,
    "third": lambda x: x / 3,
    "copysign": lambda x: np.copysign(np.float16(2), x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_exact_functions(space, name):
    needs_dtype(space, np.float16)
    function = FUNCTIONS[name]

    def kernel(i, o, x):
        o[i] = function(x[i])

    x = some(space, EVERY)
    with np.errstate(all="ignore"):
        expected = function(x)
    same(mapped(space, kernel, np.float16, x), expected)


def test_kinds_of_numbers(space):
    needs_dtype(space, np.float16)

    def kernel(i, o, x):
        kind = 1 if math.isnan(x[i]) else 0
        kind += 2 if math.isinf(x[i]) else 0
        kind += 4 if math.isfinite(x[i]) else 0
        o[i] = kind + (8 if x[i] else 0)

    x = some(space, EVERY)
    expected = np.isnan(x) + 2 * np.isinf(x) + 4 * np.isfinite(x) + 8 * (x != 0)
    assert mapped(space, kernel, np.int64, x).tolist() == expected.tolist()


# -- conversions --------------------------------------------------------------------------------


def converted(i, o, x):
    o[i] = x[i]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "bool"])
def test_conversions_to_wider_types(space, dtype):
    needs_dtype(space, np.float16)
    needs_dtype(space, dtype)
    x = some(space, EVERY)
    expected = x.astype(dtype)
    found = mapped(space, converted, dtype, x)
    np.testing.assert_array_equal(found, expected)
    same(found.real, expected.real)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_conversions_to_integers(space, dtype):
    needs_dtype(space, np.float16)
    limits = np.iinfo(dtype)
    x = EVERY[np.isfinite(EVERY)]
    wide = np.trunc(x.astype(np.float64))
    x = some(space, x[(wide >= float(limits.min)) & (wide <= float(limits.max))])
    np.testing.assert_array_equal(mapped(space, converted, dtype, x), x.astype(dtype))


def zeros(i, o, x, w):
    o[0, i], o[1, i] = i * 0.0, i * -0.0
    o[2, i], o[3, i] = math.copysign(0.0, x[i]), math.copysign(0.0, w)
    o[4, i] = x[i] if x[i] > 1 else i * 0.0


def test_numbers_that_a_compiler_knows_to_be_zero(space):
    needs_dtype(space, np.float16)
    needs_dtype(space, np.float64)
    o, x = np.ones((5, 4), np.float16), np.array([2.0, -1.0, 0.0, -0.0])
    staged.parallel_for(es.RangePolicy(4, space=space), zeros, o, x, -3.0)
    expected = [[0.0] * 4, [-0.0] * 4, [0.0, -0.0, 0.0, -0.0], [-0.0] * 4, [2.0, 0, 0, 0]]
    same(o, np.array(expected, np.float16))


def halfway():
    """Numbers between two neighbours among float16, in float64."""
    numbers = np.append(EVERY[:0x7C00].astype(np.float64), 65536.0)
    return (numbers[1:] + numbers[:-1]) / 2


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_conversions_from_wider_floats_are_rounded_once(space, dtype):
    needs_dtype(space, np.float16)
    needs_dtype(space, dtype)
    middle = halfway().astype(dtype)
    near = [middle, np.nextafter(middle, 0), np.nextafter(middle, np.inf)]
    if dtype == "float64":  # which float32 does not tell from the middle
        near += [middle * (1 + 2.0**-k) for k in (24, 25, 26, 40)]
        near += [middle * (1 - 2.0**-k) for k in (24, 25, 26, 40)]
    limits = np.finfo(dtype)
    drawn_ = 10.0 ** np.random.default_rng(2).uniform(-9, 6, 5000)
    known = np.array([0, np.nan, np.inf, limits.max, limits.tiny, limits.smallest_subnormal])
    x = np.concatenate([some(space, v, 60) for v in (*near, known, drawn_)]).astype(dtype)
    x = np.concatenate([x, -x])
    with np.errstate(all="ignore"):
        expected = x.astype(np.float16)
    same(mapped(space, converted, np.float16, x), expected)


@pytest.mark.parametrize("dtype", [*INTEGERS, "bool"])
def test_conversions_from_integers_are_rounded_once(space, dtype):
    needs_dtype(space, np.float16)
    if dtype == "bool":
        x = np.array([False, True])
    else:
        limits = np.iinfo(dtype)
        near = np.arange(max(limits.min, -70_000), min(limits.max, 70_000) + 1).astype(dtype)
        far = np.random.default_rng(4).integers(limits.min, limits.max, 1000, dtype, endpoint=True)
        ends = np.array([limits.min, limits.max], dtype)
        x = np.concatenate([some(space, near), some(space, far, 50), ends])
    with np.errstate(over="ignore"):
        expected = x.astype(np.float16)
    same(mapped(space, converted, np.float16, x), expected)


# -- operators ----------------------------------------------------------------------------------


def operators(i, o, a, b):
    x, y = a[i], b[i]
    o[0, i], o[1, i], o[2, i], o[3, i] = x + y, x - y, x * y, x / y
    o[4, i], o[5, i], o[6, i] = x // y, x % y, x * y + x
    o[7, i], o[8, i] = max(x, y), np.fmin(x, y)


def comparisons(i, o, a, b):
    x, y = a[i], b[i]
    o[0, i], o[1, i], o[2, i] = x < y, x <= y, x > y
    o[3, i], o[4, i], o[5, i] = x >= y, x == y, x != y


@drawn(20)
@given(seed=st.integers(0, 2**32 - 1), close=st.booleans())
def test_any_two_numbers(space, seed, close):
    needs_dtype(space, np.float16)
    rng = np.random.default_rng(seed)
    n = 50 if interpreted(space) else 20_000
    bits = rng.integers(0, 65536, n, np.uint16)
    others = bits + rng.integers(-3, 4, n).astype(np.uint16) if close else rng.permutation(bits)
    a, b = bits.view(np.float16), others.view(np.float16)
    a, b = (np.where(np.isnan(v), np.float16(np.nan), v) for v in (a, b))
    found, tests = np.zeros((9, n), np.float16), np.zeros((6, n), np.bool_)
    staged.parallel_for(es.RangePolicy(n, space=space), operators, found, a, b)
    staged.parallel_for(es.RangePolicy(n, space=space), comparisons, tests, a, b)
    with np.errstate(all="ignore"):
        greater = np.where(b > a, b, a)
        expected = [a + b, a - b, a * b, a / b, a // b, a % b, a * b + a, greater]
    for got, wanted in zip(found, expected, strict=False):
        same(got, wanted)
    np.testing.assert_array_equal(found[8], np.fmin(a, b))
    assert (tests == [a < b, a <= b, a > b, a >= b, a == b, a != b]).all()

"""Functions of NumPy and math beyond the usual ones: what CPython says, bit for bit where they are
exact."""

from __future__ import annotations

import math

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import needs_dtype

FLOATS = ["float32", "float64"]
INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def floats(dtype):
    """Numbers of all sizes, and special ones."""
    info = np.finfo(dtype)
    special = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, info.max, -info.max, info.tiny]
    special += [info.smallest_subnormal, 3 * info.smallest_subnormal, 0.5, 2.5, -3.5, 1e-3, 7.25]
    rng = np.random.default_rng(3)
    many = rng.normal(size=40) * 10.0 ** rng.integers(-30, 30, 40)
    return np.array([*special, *many], dtype)


def integers(dtype):
    info = np.iinfo(dtype)
    rng = np.random.default_rng(4)
    many = rng.integers(info.min, info.max, 40, dtype=dtype, endpoint=True)
    return np.array([0, 1, 2, 12, 18, 100, info.max, *many], dtype)


def agrees(space, kernel, *args):
    """Assert that a kernel leaves in its arrays what CPython does."""
    right = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    with np.errstate(all="ignore"):
        for i in range(len(args[0])):
            kernel(i, *right)
    found = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    staged.parallel_for(es.RangePolicy(len(args[0]), space=space), kernel, *found)
    for a, b in zip(found, right, strict=True):
        np.testing.assert_array_equal(a, b, strict=True)


@es.kernel
def signs(i, x, out, negative):
    out[i] = np.sign(x[i])
    negative[i] = np.signbit(x[i])


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_signs(space, dtype):
    needs_dtype(space, dtype)
    x = floats(dtype) if dtype in FLOATS else integers(dtype)
    agrees(space, signs, x, np.zeros_like(x), np.zeros(len(x), bool))


@es.kernel
def divisors(i, x, y, out):
    out[i, 0] = np.gcd(x[i], y[i])
    out[i, 1] = np.lcm(x[i] % 100, y[i] % 30)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_divisors_and_multiples(space, dtype):
    x = integers(dtype)
    agrees(space, divisors, x, x[::-1].copy(), np.zeros((len(x), 2), dtype))


@es.kernel
def counts(i, x, out):
    out[i] = np.bitwise_count(x[i])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_numbers_of_bits(space, dtype):
    x = np.concatenate([integers(dtype), np.array([np.iinfo(dtype).min], dtype)])
    agrees(space, counts, x, np.zeros(len(x), np.uint8))


@es.kernel
def of_many(i, x, out):
    out[i] = math.gcd(int(x[i]), 84, 126) + math.lcm(4, 6, 10) + math.gcd() + math.lcm(7)


def test_divisors_of_many_numbers(space):
    agrees(space, of_many, np.arange(50), np.zeros(50, np.int64))


@es.kernel
def taken_apart(i, x, fractions, powers, back, parts):
    m, e = np.frexp(x[i])
    fractions[i], powers[i] = m, e
    back[i] = np.ldexp(m, e)
    parts[i, 0], parts[i, 1] = np.modf(x[i])


@pytest.mark.parametrize("dtype", FLOATS)
def test_numbers_are_taken_apart_and_put_together(space, dtype):
    needs_dtype(space, dtype)
    x = floats(dtype)
    if not denormals(space, dtype):
        x = x[(abs(x) >= np.finfo(dtype).tiny) | (x == 0) | np.isnan(x)]
    args = (
        np.zeros_like(x),
        np.zeros(len(x), np.int64),
        np.zeros_like(x),
        np.zeros((len(x), 2), dtype),
    )
    agrees(space, taken_apart, x, *args)


def denormals(space, dtype):
    """Whether numbers below the least normal one are kept."""
    x = np.array([np.finfo(dtype).smallest_subnormal * 4])
    y = np.zeros(1, dtype)
    staged.parallel_for(es.RangePolicy(1, space=space), halved, x, y)
    return y[0] != 0


def halved(i, x, y):
    y[i] = x[i] * 0.5


@es.kernel
def scaled(i, x, n, out):
    out[i] = np.ldexp(x[i], n[i])


@pytest.mark.parametrize("dtype", FLOATS)
def test_powers_of_two_beyond_all_numbers(space, dtype):
    needs_dtype(space, dtype)
    x = floats(dtype)
    n = np.resize([0, 1, -1, 10, -30, 126, -127, 150, -160, 1000, -1100, 5000, -5000], len(x))
    if not denormals(space, dtype):
        n = n.clip(0)
        x = x[(abs(x) >= np.finfo(dtype).tiny) | (x == 0) | np.isnan(x)]
        n = n[: len(x)]
    agrees(space, scaled, x, n, np.zeros_like(x))


@es.kernel
def neighbours(i, x, y, out):
    out[i, 0] = np.nextafter(x[i], y[i])
    out[i, 1] = np.nextafter(x[i], np.inf)


@pytest.mark.parametrize("dtype", FLOATS)
def test_neighbours_of_numbers(space, dtype):
    needs_dtype(space, dtype)
    if not denormals(space, dtype):
        pytest.skip(f"space '{space.name}' takes numbers near zero for zero")
    x = floats(dtype)
    agrees(space, neighbours, x, x[::-1].copy(), np.zeros((len(x), 2), dtype))


@es.kernel(fma=False)
def remainders(i, x, y, out):
    out[i] = math.remainder(x[i], y[i])


def test_remainders(space):
    needs_dtype(space, "float64")
    x = np.array([5.0, -5.0, 7.5, 2.5, 3.5, -2.5, 1e300, 0.0, -0.0, 6.0, 1e-300])
    y = np.array([3.0, 3.0, 5.0, 1.0, 1.0, 1.0, 3.7, 2.0, 2.0, np.inf, 1e-301])
    agrees(space, remainders, x, y, np.zeros_like(x))


@es.kernel(fma=False)
def rounded(i, x, out):
    out[i, 0] = round(x[i], 2)
    out[i, 1] = np.round(x[i], 1)
    out[i, 2] = round(x[i], -2)


@pytest.mark.parametrize("dtype", FLOATS)
def test_digits(space, dtype):
    needs_dtype(space, dtype)
    x = np.array([2.675, -1.005, 0.125, 12345.678, -0.04, 1e20, 149.99, 250.0], dtype)
    agrees(space, rounded, x, np.zeros((len(x), 3), dtype))


@es.kernel
def lengths(i, x, out):
    out[i, 0] = math.hypot(x[i], 3.0, 4.0)
    out[i, 1] = math.hypot(x[i], x[i] * 2, x[i] * 3)
    out[i, 2] = math.log(abs(x[i]) + 2, 3)


def test_lengths_and_logarithms(space):
    needs_dtype(space, "float64")
    x = np.array([0.0, 1.5, -2.0, 1e200, 1e-200, 1e300, 12.0])
    found, right = np.zeros((7, 3)), np.zeros((7, 3))
    for i in range(7):
        lengths(i, x, right)
    staged.parallel_for(es.RangePolicy(7, space=space), lengths, x, found)
    np.testing.assert_allclose(found, right, rtol=1e-15)


@es.kernel
def facts(i, x, out):
    out[i, 0] = x[i] + np.finfo(np.float64).eps
    out[i, 1] = np.iinfo(np.int16).max
    out[i, 2] = np.finfo(x.dtype).max / 2


def test_facts_of_types_are_constants(space):
    needs_dtype(space, "float64")
    agrees(space, facts, np.arange(3.0), np.zeros((3, 3)))

"""Functions of NumPy and math beyond the usual ones: what CPython says, bit for bit where they are
exact."""

from __future__ import annotations

import cmath
import math
import operator

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import interpreted, needs_dtype

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


@es.kernel(fma=False)
def exact_numbers(i, x, y, z, out):
    out[i, 0] = es.fma(x[i], y[i], z[i])
    out[i, 1] = es.fma(x[i], 2, -z[i])
    out[i, 2] = es.fdim(x[i], y[i])
    out[i, 3] = es.logb(x[i])
    out[i, 4] = np.heaviside(x[i], y[i])
    out[i, 5] = np.spacing(x[i])
    out[i, 6] = es.rsqrt(x[i])


@pytest.mark.parametrize("dtype", FLOATS)
def test_numbers_of_kokkos(space, dtype):
    """A fused multiply-add is rounded once, also where the processor has none."""
    needs_dtype(space, dtype)
    if not denormals(space, dtype):
        pytest.skip(f"space '{space.name}' takes numbers near zero for zero")
    x = floats(dtype)
    y, z = x[::-1].copy(), np.roll(x, 5)
    one = np.array([1 + np.finfo(dtype).eps, 1 + np.finfo(dtype).eps], dtype)
    x, y, z = np.append(x, one), np.append(y, one), np.append(z, -(one * one))
    agrees(space, exact_numbers, x, y, z, np.zeros((len(x), 7), dtype))


@es.kernel
def operators(i, x, y, out):
    out[i, 0] = operator.add(x[i], y[i]) - np.multiply(x[i], y[i])
    out[i, 1] = np.less(x[i], y[i]) + 2 * operator.ge(x[i], y[i])
    out[i, 2] = np.logical_and(x[i], y[i]) + 2 * np.logical_xor(x[i], y[i])
    out[i, 3] = operator.neg(x[i]) + np.logical_not(y[i]) + operator.abs(y[i])


def test_operators_as_functions(space):
    x, y = np.array([0, 3, -7, 5]), np.array([2, 0, -7, 4])
    agrees(space, operators, x, y, np.zeros((4, 4), np.int64))


@es.kernel
def sums_of_exponentials(i, x, out):
    out[i, 0] = np.logaddexp(x[i], 2.0)
    out[i, 1] = np.logaddexp2(x[i], x[i] / 2)
    out[i, 2] = np.sinc(x[i])


def test_logarithms_of_sums(space):
    needs_dtype(space, "float64")
    x = np.array([0.0, 1.5, -2.0, 700.0, -800.0, 2.0, 1e-8, 3.25])
    found, right = np.zeros((8, 3)), np.zeros((8, 3))
    for i in range(8):
        sums_of_exponentials(i, x, right)
    staged.parallel_for(es.RangePolicy(8, space=space), sums_of_exponentials, x, found)
    np.testing.assert_allclose(found, right, rtol=4e-15, atol=1e-300)


def sides():
    """Complex numbers of all sizes, on both sides of all branch cuts."""
    sizes = [0.0, 1e-30, 1e-9, 0.3, 1.0, 1 + 1e-6, 2.0, 7.0, 1e9, 1e30]
    signs = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
    points = [complex(s * a, t * b) for a in sizes for b in sizes for s, t in signs]
    return np.array([z for z in points if abs(z) not in (0, 1)])


@es.kernel
def inverses(i, z, out):
    out[i, 0] = cmath.asin(z[i])
    out[i, 1] = cmath.acos(z[i])
    out[i, 2] = cmath.atan(z[i])
    out[i, 3] = cmath.asinh(z[i])
    out[i, 4] = cmath.acosh(z[i])
    out[i, 5] = cmath.atanh(z[i])
    out[i, 6] = cmath.log10(z[i])
    out[i, 7] = np.log2(z[i])
    out[i, 8] = cmath.phase(z[i]) + 1j * np.angle(z[i])
    size, angle = cmath.polar(z[i])
    out[i, 9] = complex(size, angle)
    out[i, 10] = cmath.log(z[i], 3)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_inverse_functions_of_complex_numbers(space, dtype):
    needs_dtype(space, "float64" if dtype == "complex128" else "float32")
    z = sides().astype(dtype)
    found, right = np.zeros((len(z), 11), dtype), np.zeros((len(z), 11), np.complex128)
    for i in range(len(z)):
        inverses(i, z.astype(np.complex128), right)
    staged.parallel_for(es.RangePolicy(len(z), space=space), inverses, z, found)
    size = np.finfo(dtype).eps * 40
    for k in range(11):
        for part in ("real", "imag"):
            ours, exact = getattr(found[:, k], part), getattr(right[:, k], part)
            near_one = k in (6, 7, 10) and part == "real"  # logarithms near 0
            least = np.finfo(dtype).eps if near_one else np.finfo(dtype).tiny / size
            np.testing.assert_allclose(ours, exact, rtol=size, atol=least, err_msg=f"{k} {part}")
            # the sides of branch cuts are told by the signs of zeros
            assert (np.signbit(ours) == np.signbit(exact))[abs(exact) > least].all()


def test_rect(space):
    needs_dtype(space, "float64")

    def kernel(i, out):
        out[i] = cmath.rect(2.0, 0.5 * i) + cmath.asin(0.25 * i) + np.arcsin(0.5 + 0.1j * i)

    found, right = np.zeros(4, complex), np.zeros(4, complex)
    for i in range(4):
        kernel(i, right)
    staged.parallel_for(es.RangePolicy(4, space=space), kernel, found)
    np.testing.assert_allclose(found, right, rtol=1e-14)


@es.kernel
def words_of_float16(i, x, y, out, powers):
    m, powers[i] = np.frexp(x[i])
    out[i, 0] = m
    out[i, 1] = np.ldexp(x[i], i % 90 - 45)
    out[i, 2] = np.spacing(x[i])
    out[i, 3] = es.logb(x[i])
    out[i, 4] = np.nextafter(x[i], y[i])


def test_float16_is_taken_apart_as_well(space):
    needs_dtype(space, "float16")
    x = np.arange(0, 65536, 1 if not interpreted(space) else 97, np.uint16).view(np.float16)
    y = np.full_like(x, 1.5)
    out, powers = np.zeros((len(x), 5), np.float16), np.zeros(len(x), np.int32)
    staged.parallel_for(es.RangePolicy(len(x), space=space), words_of_float16, x, y, out, powers)
    with np.errstate(all="ignore"):
        m, e = np.frexp(x)
        expected = (
            m, np.ldexp(x, np.arange(len(x)) % 90 - 45), np.spacing(x), [*map(es.logb, x)],
            np.nextafter(x, y),
        )  # fmt: skip
    for k, column in enumerate(expected):
        np.testing.assert_array_equal(out[:, k], np.array(column, np.float16))
    assert (powers == e)[np.isfinite(x)].all()

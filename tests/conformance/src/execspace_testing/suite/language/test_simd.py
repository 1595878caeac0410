"""Vectors of `es.simd`: operators, functions and masks, as NumPy's."""

from __future__ import annotations

import math

import numpy as np
import pytest

import execspace as es

from .vectors import (
    FLOATS,
    INTEGERS,
    VECTORS,
    WIDTHS,
    numbers,
    run,
    shuffled,
)

# -- operators ------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_arithmetic_of_floats(space, dtype, width):
    T = es.simd(dtype, width)

    @es.kernel(fma=False)
    def kernel(i, out, a, b):
        v, w = T.load(a, i * T.width), T.load(b, i * T.width)
        at = i * T.width
        (v + w).store(out[0, :], at)
        (v - w).store(out[1, :], at)
        (v * w).store(out[2, :], at)
        (v / w).store(out[3, :], at)
        (-v).store(out[4, :], at)
        (+v).store(out[5, :], at)
        (v**2 + w**3).store(out[6, :], at)
        (2 * v + 0.5).store(out[7, :], at)
        (1 / (w - 3.0)).store(out[8, :], at)
        v += w
        v *= 2
        v.store(out[9, :], at)
        (v // w).store(out[10, :], at)
        (w % 0.75).store(out[11, :], at)

    a = numbers(dtype, VECTORS * width)
    b = shuffled(numbers(dtype, VECTORS * width, 3))
    out = np.zeros((12, a.size), dtype)
    run(space, kernel, out, a, b)
    with np.errstate(all="ignore"):
        v = (a + b) * 2
        right = [a + b, a - b, a * b, a / b, -a, a, a * a + b * b * b, 2 * a + dtype_of(dtype, 0.5),
                 1 / (b - 3), v, v // b, b % dtype_of(dtype, 0.75)]  # fmt: skip
    np.testing.assert_array_equal(out, np.stack(right).astype(dtype))


def dtype_of(dtype, number):
    return np.dtype(dtype).type(number)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_arithmetic_of_integers(space, dtype, width):
    T = es.simd(dtype, width)

    @es.kernel
    def kernel(i, out, a, b, s):
        at = i * T.width
        v, w, shift = T.load(a, at), T.load(b, at), T.load(s, at)
        (v + w).store(out[0, :], at)
        (v - w).store(out[1, :], at)
        (v * w).store(out[2, :], at)
        (v // w).store(out[3, :], at)
        (v % w).store(out[4, :], at)
        (-v).store(out[5, :], at)
        (v & w).store(out[6, :], at)
        (v | w).store(out[7, :], at)
        (v ^ w).store(out[8, :], at)
        (~v).store(out[9, :], at)
        (v << shift).store(out[10, :], at)
        (v >> shift).store(out[11, :], at)
        (v**3 - 7).store(out[12, :], at)
        abs(v).store(out[13, :], at)
        (w**shift).store(out[14, :], at)
        v -= w
        v.store(out[15, :], at)

    n = VECTORS * width
    a, b = numbers(dtype, n), shuffled(numbers(dtype, n, 3))
    s = np.resize([0, 1, 5, 31, 32, 63, 64, 90], n).astype(dtype)
    out = np.zeros((16, n), dtype)
    run(space, kernel, out, a, b, s)
    with np.errstate(all="ignore"):
        right = [a + b, a - b, a * b, a // b, a % b, -a, a & b, a | b, a ^ b, ~a, a << s, a >> s,
                 a * a * a - dtype_of(dtype, 7), abs(a), b**s, a - b]  # fmt: skip
    np.testing.assert_array_equal(out, np.stack(right))


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "uint64"])
def test_comparisons_give_masks(space, dtype):
    T = es.simd(dtype, 4)

    @es.kernel
    def kernel(i, out, a, b):
        at = i * 4
        v, w = T.load(a, at), T.load(b, at)
        (v < w).store(out[0, :], at)
        (v <= w).store(out[1, :], at)
        (v > w).store(out[2, :], at)
        (v >= w).store(out[3, :], at)
        (v == w).store(out[4, :], at)
        (v != w).store(out[5, :], at)
        (v < 3).store(out[6, :], at)
        (w > 2).store(out[7, :], at)

    a, b = numbers(dtype, 24), numbers(dtype, 24)
    b[::3] = shuffled(b[::3])
    out = np.zeros((8, 24), bool)
    run(space, kernel, out, a, b)
    right = [a < b, a <= b, a > b, a >= b, a == b, a != b, a < 3, b > 2]
    np.testing.assert_array_equal(out, np.stack(right))


def test_operands_are_promoted_as_numbers_are(space):
    S, D, J = es.simd("float32", 4), es.simd("float64", 4), es.simd("int32", 4)

    @es.kernel(fma=False)
    def kernel(i, out, a, b, k, x):
        at = i * 4
        s, d, j = S.load(a, at), D.load(b, at), J.load(k, at)
        (s + d).store(out[0, :], at)
        (s * 0.1).store(out[1, :], at)
        (s * x[0]).store(out[2, :], at)
        (j / 3).store(out[3, :], at)
        (j + d).store(out[4, :], at)
        (s * i).store(out[5, :], at)
        np.sqrt(j * j).store(out[6, :], at)

    random = np.random.default_rng(0)
    a, b = random.normal(size=24).astype(np.float32), random.normal(size=24)
    k, x = np.arange(-9, 15, dtype=np.int32), np.array([0.1])
    out = np.zeros((7, 24))
    run(space, kernel, out, a, b, k, x)
    rows = np.repeat(np.arange(6), 4).astype(np.float32)
    right = [a + b, a * np.float32(0.1), a * x[0], k / 3, k + b, a * rows, abs(k)]
    np.testing.assert_array_equal(out, np.stack(right).astype(float))


# -- functions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [2, 8])
@pytest.mark.parametrize("dtype", FLOATS)
def test_exact_functions(space, dtype, width):
    T = es.simd(dtype, width)

    @es.kernel(fma=False)
    def kernel(i, out, flags, a, b):
        at = i * T.width
        v, w = T.load(a, at), T.load(b, at)
        abs(v).store(out[0, :], at)
        np.sqrt(v).store(out[1, :], at)
        np.floor(v).store(out[2, :], at)
        np.ceil(v).store(out[3, :], at)
        np.trunc(v).store(out[4, :], at)
        np.rint(v).store(out[5, :], at)
        np.copysign(np.where(np.isnan(v), 1.0, v), np.where(np.isnan(w), 1.0, w)).store(
            out[6, :], at
        )
        np.minimum(v, w).store(out[7, :], at)
        np.maximum(v, w).store(out[8, :], at)
        np.fmin(v, w).store(out[9, :], at)
        np.fmax(v, 0.25).store(out[10, :], at)
        np.clip(v, -1.0, 1.0).store(out[11, :], at)
        np.square(v).store(out[12, :], at)
        math.fabs(w).store(out[13, :], at)
        np.isnan(v).store(flags[0, :], at)
        np.isinf(v).store(flags[1, :], at)
        np.isfinite(v).store(flags[2, :], at)

    a = numbers(dtype, VECTORS * width)
    b = np.where(np.signbit(numbers(dtype, a.size, 5)), a - 1, a + 1)
    a[a == 0] = 0.5  # which zero a minimum is is not specified
    out, flags = np.zeros((14, a.size), dtype), np.zeros((3, a.size), bool)
    run(space, kernel, out, flags, a, b)
    with np.errstate(all="ignore"):
        sign = np.copysign(np.where(np.isnan(a), 1, a), np.where(np.isnan(b), 1, b))
        right = [abs(a), np.sqrt(a), np.floor(a), np.ceil(a), np.trunc(a), np.rint(a), sign,
                 np.minimum(a, b), np.maximum(a, b), np.fmin(a, b), np.fmax(a, 0.25),
                 np.clip(a, -1, 1), a * a, abs(b)]  # fmt: skip
    np.testing.assert_array_equal(out, np.stack(right).astype(dtype))
    np.testing.assert_array_equal(flags, np.stack([np.isnan(a), np.isinf(a), np.isfinite(a)]))


FUNCTIONS = (
    np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10, np.log1p, np.sin, np.cos, np.tan,
    np.arcsin, np.arccos, np.arctan, np.sinh, np.cosh, np.tanh, np.arcsinh, np.arctanh, np.cbrt,
)  # fmt: skip


def apply_all(out, v, at):
    for k, function in enumerate(FUNCTIONS):
        function(v).store(out[k, :], at)


@pytest.mark.parametrize("width", [4, 16])
@pytest.mark.parametrize("dtype", FLOATS)
def test_functions_give_what_they_give_for_numbers(space, dtype, width):
    """To the errors that are allowed."""
    T = es.simd(dtype, width)

    def kernel(i, out, a):
        apply_all(out, T.load(a, i * T.width), i * T.width)

    a = np.random.default_rng(4).uniform(0.01, 0.99, 3 * width).astype(dtype)
    out = np.zeros((len(FUNCTIONS), a.size), dtype)
    run(space, kernel, out, a, n=3)
    right = np.stack([function(a.astype(float)) for function in FUNCTIONS])
    np.testing.assert_allclose(out, right, rtol=5e-7 if dtype == "float32" else 2e-15)


@pytest.mark.parametrize("dtype", FLOATS)
def test_functions_of_two_numbers(space, dtype):
    T = es.simd(dtype, 4)

    def kernel(i, out, a, b):
        v, w = T.load(a, 4 * i), T.load(b, 4 * i)
        np.hypot(v, w).store(out[0, :], 4 * i)
        np.arctan2(v, w).store(out[1, :], 4 * i)
        (v**w).store(out[2, :], 4 * i)
        np.fmod(v, w).store(out[3, :], 4 * i)
        math.erf(v).store(out[4, :], 4 * i)

    a, b = np.random.default_rng(6).uniform(0.1, 4.0, (2, 24)).astype(dtype)
    out = np.zeros((5, 24), dtype)
    run(space, kernel, out, a, b)
    x, y = a.astype(float), b.astype(float)
    right = [np.hypot(x, y), np.arctan2(x, y), x**y, np.fmod(a, b), [math.erf(v) for v in x]]
    np.testing.assert_allclose(out, np.stack(right), rtol=1e-6 if dtype == "float32" else 4e-15)


# -- masks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1, 4, 16, 64])
def test_masks(space, width):
    T = es.simd("int32", width)

    @es.kernel
    def kernel(i, out, counts, a):
        at = i * T.width
        v = T.load(a, at)
        even, large = v % 2 == 0, v > 5
        (even & large).store(out[0, :], at)
        (even | large).store(out[1, :], at)
        (even ^ large).store(out[2, :], at)
        (~even).store(out[3, :], at)
        (even == large).store(out[4, :], at)
        (even != large).store(out[5, :], at)
        counts[0, i] = large.any()
        counts[1, i] = large.all()
        counts[2, i] = large.none()
        counts[3, i] = even.count()
        if large.any() and not large.all():
            counts[4, i] = 1
        counts[5, i] = large[0] + 2 * even[-1]

    n = VECTORS * width
    a = np.random.default_rng(7).integers(0, 12, n).astype(np.int32)
    a[:width], a[width : 2 * width] = 9, 2
    out, counts = np.zeros((6, n), bool), np.zeros((6, VECTORS), np.int64)
    run(space, kernel, out, counts, a)
    even, large = a % 2 == 0, a > 5
    right = [even & large, even | large, even ^ large, ~even, even == large, even != large]
    np.testing.assert_array_equal(out, np.stack(right))
    rows, evens = large.reshape(-1, width), even.reshape(-1, width)
    some, every = rows.any(1), rows.all(1)
    right = [some, every, ~some, evens.sum(1), some & ~every, rows[:, 0] + 2 * evens[:, -1]]
    np.testing.assert_array_equal(counts, np.stack(right).astype(np.int64))


def test_choices(space):
    T, J = es.simd("float64", 4), es.simd("int32", 4)

    @es.kernel
    def kernel(i, out, a, flag):
        v = T.load(a, 4 * i)
        np.where(v > 0, v, -v).store(out[0, :], 4 * i)
        np.where(v > 0, 1.0, v).store(out[1, :], 4 * i)
        np.where(v > 0, J(2), 0.5).store(out[2, :], 4 * i)
        np.where(flag[i], v, 0.0).store(out[3, :], 4 * i)
        np.where(J.iota() < 2, v, T(7)).store(out[4, :], 4 * i)
        T(v > 0).store(out[5, :], 4 * i)

    a = np.random.default_rng(8).normal(size=24)
    flag = np.arange(6) % 2 == 0
    out = np.zeros((6, 24))
    run(space, kernel, out, a, flag)
    first = np.tile([True, True, False, False], 6)
    right = [abs(a), np.where(a > 0, 1.0, a), np.where(a > 0, 2, 0.5),
             np.where(np.repeat(flag, 4), a, 0), np.where(first, a, 7), a > 0]  # fmt: skip
    np.testing.assert_array_equal(out, np.stack(right).astype(float))


def test_masks_of_the_first_lanes(space):
    T = es.simd("float32", 8)

    @es.kernel
    def kernel(i, out):
        T.first(i - 2).store(out[i, :], 0)

    out = np.zeros((13, 8), bool)
    run(space, kernel, out, n=13)
    np.testing.assert_array_equal(out, np.arange(8) < np.arange(-2, 11)[:, None])

"""Rows of vectors and of mathematics in kernels, against NumPy and math.

C's `round` of ties away from zero has no row: round, np.round and np.rint take the even neighbour.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import execspace as es
from parity.table import row

SIMD, NUMERICS = "1.3 SIMD", "1.6 Numerics"


@row(SIMD, "simd types, native width, constructors, generators", 'T = es.simd("float64", 4)')
def simd_types(space: es.ExecutionSpace) -> None:
    """TestSIMD_Construction, TestSIMD_GeneratorCtors."""
    T = es.simd("float64", 4)
    N = es.simd("float32")

    def kernel(i, out, widths):
        T.generate(lambda k: 10.0 * k).store(out, 0)
        T(2.5).store(out, 4)
        T.of(1.0, 2.0, 3.0, 5.0).store(out, 8)
        T(es.simd("int32", 4).iota()).store(out, 12)
        widths[0] = N.width

    out, widths = es.View(16), es.View(1, es.int64)
    es.parallel_for(1, kernel, out, widths)
    expected = [0, 10, 20, 30, *[2.5] * 4, 1, 2, 3, 5, 0, 1, 2, 3]
    assert out.to_numpy().tolist() == expected
    assert widths.to_numpy()[0] == N.on(space).width >= 1


@row(SIMD, "Arithmetic, shifts, bits", "((n << 2) ^ (n >> 1)).store(out, 4, T.first(4))")
def simd_operations(space: es.ExecutionSpace) -> None:
    """TestSIMD_MathOps, TestSIMD_ShiftOps."""
    T, F = es.simd("int64", 4), es.simd("float64", 4)

    def kernel(i, x, y, out, reals):
        n, m = T.load(x, 0), T.load(y, 0)
        (n * m - n + 3 * m).store(out, 0)
        ((n << 2) ^ (n >> 1)).store(out, 4, T.first(4))
        (n // m).store(out, 8)
        (F(n) / F(m)).store(reals, 0)
        (-abs(F(n)) + np.sqrt(F(m)) + np.exp(F(n) * 0)).store(reals, 4)

    n, m = np.array([7, -8, 9, 100]), np.array([2, 3, 4, 9])
    out, reals = es.View(12, es.int64), es.View(8)
    es.parallel_for(1, kernel, es.array(n), es.array(m), out, reals)
    expected = [*(n * m - n + 3 * m), *((n << 2) ^ (n >> 1)), *(n // m)]
    assert out.to_numpy().tolist() == expected
    np.testing.assert_allclose(
        reals.to_numpy(), [*(n / m), *(-abs(n) + np.sqrt(m) + 1)], rtol=1e-15
    )


@row(SIMD, "simd_mask: comparisons, all_of, any_of, none_of", "m = v > 1.5")
def simd_masks(space: es.ExecutionSpace) -> None:
    """TestSIMD_MaskOps."""
    T = es.simd("float64", 4)

    def kernel(i, x, out):
        v = T.load(x, 4 * i)
        m = v > 1.5
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = m.any(), m.all(), m.none(), m.count()
        out[i, 4] = ((m & (v < 3.5)) | ~m).count()

    x, out = np.arange(12.0), es.View((3, 5), es.int64)
    es.parallel_for(3, kernel, es.array(x - 1), out)
    expected = [[1, 0, 0, 1, 4], [1, 1, 0, 4, 1], [1, 1, 0, 4, 0]]
    assert out.to_numpy().tolist() == expected


@row(SIMD, "where, condition", "v = np.where(v < 0, 2 * v, v + 1)")
def simd_where(space: es.ExecutionSpace) -> None:
    """TestSIMD_WhereExpressions, TestSIMD_Condition."""
    T = es.simd("float64", 4)

    def kernel(i, x):
        v = T.load(x, 4 * i)
        v = np.where(v < 0, 2 * v, v + 1)
        v.store(x, 4 * i, v != 4)

    x = np.array([-1.0, 0, 3, -4, 5, -6, 7, 3])
    there = es.array(x)
    es.parallel_for(2, kernel, there)
    expected = np.where(x < 0, 2 * x, x + 1)
    assert (there.to_numpy() == np.where(expected == 4, x, expected)).all()


@row(SIMD, "copy_from, copy_to, gather_from, scatter_to", "T.gather(x, j).scatter(out, 7 - j)")
def simd_memory(space: es.ExecutionSpace) -> None:
    T, J = es.simd("float64", 4), es.simd("int64", 4)

    def kernel(i, x, out, rest):
        j = 2 * J.iota() + i
        T.gather(x, j).scatter(out, 7 - j)
        m = T.first(3 - i)
        T.load(x, 5 + i, m, other=-1.0).store(rest[i, :], 0)

    x = np.arange(8.0) + 10
    out, rest = es.View(8), es.View((2, 4))
    es.parallel_for(2, kernel, es.array(x), out, rest)
    assert (out.to_numpy() == x[::-1]).all()
    assert rest.to_numpy().tolist() == [[15, 16, 17, -1], [16, 17, -1, -1]]


@row(SIMD, "reduce, reduce_min, reduce_max, of a mask", "out[i, 0] = v.sum(v > 1)")
def simd_reductions(space: es.ExecutionSpace) -> None:
    """TestSIMD_Reductions."""
    T = es.simd("float64", 8)

    def kernel(i, x, out):
        v = T.load(x[i, :], 0)
        out[i, 0] = v.sum(v > 1)
        out[i, 1], out[i, 2], out[i, 3], out[i, 4] = v.sum(), v.prod(), v.min(), v.max()

    x = np.array([[1, 2, 3, 4, 5, 6, 7, 8], [-1, 2, -3, 1, 0.5, 2, 2, 4]])
    out = es.View((2, 5))
    es.parallel_for(2, kernel, es.array(x), out)
    sums = np.where(x > 1, x, 0).sum(1), x.sum(1), x.prod(1), x.min(1), x.max(1)
    assert (out.to_numpy() == np.stack(sums, 1)).all()


# -- mathematics ----------------------------------------------------------------------------------


def check(kernel: Any, expected: list[Any], *inputs: Any, rtol: float = 1e-13) -> None:
    """Launch `kernel(i, out, *inputs)`, whose `out[f, i]` is function f of numbers i."""
    arrays = [np.asarray(x) for x in inputs]
    out = es.View((len(expected), len(arrays[0])))
    es.parallel_for(len(arrays[0]), kernel, out, *map(es.array, arrays))
    for found, right in zip(out.to_numpy(), expected, strict=True):
        np.testing.assert_allclose(found, right, rtol=rtol, atol=1e-300)


def each(function: Callable[..., float], *inputs: Any) -> list[float]:
    """Of each number, on the host."""
    return [function(*map(float, x)) for x in zip(*inputs, strict=True)]


REAL = np.array([0.1, 0.5, 0.75, 1.0, 2.5, 7.25, 20.0])
OTHER = np.array([3.0, -0.25, 2.0, -1.5, 0.125, 1.75, -6.5])


@row(
    NUMERICS, "fabs, fmod, remainder, fmin, fmax, fdim, fma", "out[6, i] = es.fma(x[i], y[i], 0.5)"
)
def basic_functions(space: es.ExecutionSpace) -> None:
    def kernel(i, out, x, y):
        out[0, i] = math.fabs(y[i])
        out[1, i] = math.fmod(x[i], y[i])
        out[2, i] = math.remainder(x[i], y[i])
        out[3, i] = np.fmin(x[i], y[i])
        out[4, i] = np.fmax(x[i], np.nan)
        out[5, i] = es.fdim(x[i], y[i])
        out[6, i] = es.fma(x[i], y[i], 0.5)

    x, y = REAL, OTHER
    expected = [abs(y), np.fmod(x, y), each(math.remainder, x, y), np.fmin(x, y), x]
    check(kernel, [*expected, np.maximum(x - y, 0), x * y + 0.5], x, y, rtol=1e-15)


@row(NUMERICS, "exp, exp2, expm1, log, log2, log10, log1p", "out[2, i] = math.expm1(x[i])")
def exponentials(space: es.ExecutionSpace) -> None:
    def kernel(i, out, x):
        out[0, i] = math.exp(x[i])
        out[1, i] = math.exp2(x[i])
        out[2, i] = math.expm1(x[i])
        out[3, i] = math.log(x[i])
        out[4, i] = math.log2(x[i])
        out[5, i] = math.log10(x[i])
        out[6, i] = math.log1p(x[i])

    functions = (np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10, np.log1p)
    check(kernel, [f(REAL) for f in functions], REAL)


@row(NUMERICS, "pow, sqrt, cbrt, hypot of 2 and 3, rsqrt", "out[5, i] = es.rsqrt(x[i])")
def powers(space: es.ExecutionSpace) -> None:
    def kernel(i, out, x, y):
        out[0, i] = math.pow(x[i], y[i])
        out[1, i] = math.sqrt(x[i])
        out[2, i] = math.cbrt(y[i])
        out[3, i] = math.hypot(x[i], y[i])
        out[4, i] = math.hypot(x[i], y[i], 2.0)
        out[5, i] = es.rsqrt(x[i])

    x, y = REAL, OTHER
    roots = [x**y, np.sqrt(x), np.cbrt(y), np.hypot(x, y)]
    check(kernel, [*roots, np.sqrt(x * x + y * y + 4), 1 / np.sqrt(x)], x, y)


@row(NUMERICS, "sin, cos, tan, asin, acos, atan, atan2", "out[6, i] = math.atan2(y[i], x[i])")
def trigonometry(space: es.ExecutionSpace) -> None:
    def kernel(i, out, x, y):
        out[0, i], out[1, i], out[2, i] = math.sin(x[i]), math.cos(x[i]), math.tan(x[i])
        out[3, i], out[4, i] = math.asin(x[i] / 20), math.acos(x[i] / 20)
        out[5, i] = math.atan(y[i])
        out[6, i] = math.atan2(y[i], x[i])

    x, y = REAL, OTHER
    inverse = [np.arcsin(x / 20), np.arccos(x / 20), np.arctan(y), np.arctan2(y, x)]
    check(kernel, [np.sin(x), np.cos(x), np.tan(x), *inverse], x, y)


@row(NUMERICS, "sinh, cosh, tanh, asinh, acosh, atanh", "out[5, i] = math.atanh(x[i] / 21)")
def hyperbolic(space: es.ExecutionSpace) -> None:
    def kernel(i, out, x):
        out[0, i], out[1, i], out[2, i] = math.sinh(x[i]), math.cosh(x[i]), math.tanh(x[i])
        out[3, i] = math.asinh(x[i])
        out[4, i] = math.acosh(1 + x[i])
        out[5, i] = math.atanh(x[i] / 21)

    x = REAL
    inverse = [np.arcsinh(x), np.arccosh(1 + x), np.arctanh(x / 21)]
    check(kernel, [np.sinh(x), np.cosh(x), np.tanh(x), *inverse], x)


@row(NUMERICS, "erf, erfc, tgamma, lgamma", "out[2, i] = math.gamma(x[i])")
def error_and_gamma(space: es.ExecutionSpace) -> None:
    def kernel(i, out, x):
        out[0, i] = math.erf(x[i])
        out[1, i] = math.erfc(x[i])
        out[2, i] = math.gamma(x[i])
        out[3, i] = math.lgamma(x[i] + 2)

    x = REAL
    expected = [each(math.erf, x), each(math.erfc, x), each(math.gamma, x)]
    check(kernel, [*expected, each(math.lgamma, x + 2)], x, rtol=1e-12)


@row(NUMERICS, "ceil, floor, trunc, nearbyint, rint", "out[3, i] = np.rint(x[i])")
def nearest(space: es.ExecutionSpace) -> None:
    def kernel(i, out, x):
        out[0, i] = np.ceil(x[i])
        out[1, i] = np.floor(x[i])
        out[2, i] = np.trunc(x[i])
        out[3, i] = np.rint(x[i])

    x = np.array([-2.5, -1.5, -0.75, 0.5, 1.5, 2.25, 1e300])
    check(kernel, [np.ceil(x), np.floor(x), np.trunc(x), np.rint(x)], x, rtol=0)


@row(
    NUMERICS,
    "copysign, nextafter, logb, frexp, ldexp, modf",
    "out[1, i] = math.nextafter(x[i], y[i])",
)
def parts_of_numbers(space: es.ExecutionSpace) -> None:
    def kernel(i, out, x, y):
        out[0, i] = math.copysign(x[i], y[i])
        out[1, i] = math.nextafter(x[i], y[i])
        out[2, i] = es.logb(x[i])
        mantissa, exponent = math.frexp(x[i])
        out[3, i] = mantissa + 10 * exponent
        out[4, i] = math.ldexp(x[i], 5)
        fraction, whole = math.modf(y[i])
        out[5, i] = fraction + 100 * whole

    x, y = REAL, OTHER
    mantissas, exponents = np.frexp(x)
    fractions, wholes = np.modf(y)
    expected = [np.copysign(x, y), np.nextafter(x, y), np.floor(np.log2(x))]
    expected += [mantissas + 10 * exponents, np.ldexp(x, 5), fractions + 100 * wholes]
    check(kernel, expected, x, y, rtol=0)


@row(NUMERICS, "isfinite, isinf, isnan, signbit", "out[3, i] = np.signbit(x[i])")
def classification(space: es.ExecutionSpace) -> None:
    def kernel(i, out, x):
        out[0, i] = math.isfinite(x[i])
        out[1, i] = math.isinf(x[i])
        out[2, i] = math.isnan(x[i])
        out[3, i] = np.signbit(x[i])

    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -3.0])
    check(kernel, [np.isfinite(x), np.isinf(x), np.isnan(x), np.signbit(x)], x, rtol=0)


@row(
    NUMERICS,
    "cyl_bessel_j0 to k1, real",
    "out[0, i], out[1, i] = es.special.j0(x[i]), es.special.j1(x[i])",
)
def bessel(space: es.ExecutionSpace) -> None:
    """TestMathematicalSpecialFunctions; values at 1 and 2.5 are those of mpmath."""

    def kernel(i, out, x):
        out[0, i], out[1, i] = es.special.j0(x[i]), es.special.j1(x[i])
        out[2, i], out[3, i] = es.special.y0(x[i]), es.special.y1(x[i])
        out[4, i], out[5, i] = es.special.i0(x[i]), es.special.i1(x[i])
        out[6, i], out[7, i] = es.special.k0(x[i]), es.special.k1(x[i])

    expected = [
        [0.7651976865579666],
        [0.4400505857449335],
        [0.08825696421567697],
        [-0.7812128213002888],
        [1.2660658777520082],
        [0.5651591039924851],
        [0.42102443824070834],
        [0.6019072301972346],
    ]
    check(kernel, expected, [1.0], rtol=1e-14)


@row(
    NUMERICS,
    "cyl_bessel and cyl_hankel, complex",
    "out[4] = es.special.hankel1(0, z)",
)
def bessel_of_complex_numbers(space: es.ExecutionSpace) -> None:
    def kernel(i, out, at):
        z = at[i]
        out[0], out[1] = es.special.j0(z), es.special.y1(z)
        out[2], out[3] = es.special.i0(z), es.special.k1(z)
        out[4] = es.special.hankel1(0, z)
        out[5] = es.special.hankel2(1, z)

    out = es.View(6, es.complex128)
    es.parallel_for(1, kernel, out, es.array([1 + 1j]))
    expected = [
        0.9376084768060293 - 0.49652994760912213j,
        -0.6576945355913453 + 0.6298010039928845j,
        0.9376084768060293 + 0.49652994760912213j,
        0.0245683055237404 - 0.4597194738011894j,
        0.22744989480229475 - 0.0510554586730896j,
        1.2439613389157882 + 1.0227225644184332j,
    ]
    found = out.to_numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-14)


@row(NUMERICS, "expint1, erfcx, erf and erfc of complex numbers", "real[0] = es.special.exp1(x[i])")
def other_special_functions(space: es.ExecutionSpace) -> None:
    def kernel(i, real, out, x, z):
        real[0] = es.special.exp1(x[i])
        real[1] = es.special.erfcx(x[i])
        out[0], out[1] = es.special.erf(z[i]), es.special.erfc(z[i])
        out[2] = es.special.erfcx(z[i])

    real, out = es.View(2), es.View(3, es.complex128)
    es.parallel_for(1, kernel, real, out, es.array([1.0]), es.array([1 + 1j]))
    np.testing.assert_allclose(real.to_numpy(), [0.2193839343955203, 0.427583576155807], rtol=1e-14)
    erf = 1.3161512816979477 + 0.19045346923783469j
    erfcx = 0.30474420525691259 - 0.20821893820283163j
    np.testing.assert_allclose(out.to_numpy(), [erf, 1 - erf, erfcx], rtol=1e-14)


@row(NUMERICS, "numbers::pi_v, e_v, phi_v and others", "out[0, i] = math.pi + math.e")
def constants(space: es.ExecutionSpace) -> None:
    """TestMathematicalConstants: captured numbers of Python."""
    phi, ln2, inv_sqrt3 = (1 + math.sqrt(5)) / 2, math.log(2), 1 / math.sqrt(3)

    def kernel(i, out, x):
        out[0, i] = math.pi + math.e
        out[1, i] = np.euler_gamma * x[i]
        out[2, i] = phi * phi - phi + ln2
        out[3, i] = inv_sqrt3

    expected = [math.pi + math.e, np.euler_gamma, 1 + ln2, 3**-0.5]
    check(kernel, [[x] for x in expected], [1.0], rtol=1e-15)


@row(
    NUMERICS,
    "Bits: popcount, countl_zero, bit_width, rotl, byteswap, bit_cast and others",
    "out[0, i] = es.popcount(x[i])",
)
def bits(space: es.ExecutionSpace) -> None:
    """TestBitManipulationBuiltins: all 13 functions."""

    def kernel(i, out, x):
        out[0, i] = es.popcount(x[i])
        out[1, i], out[2, i] = es.countl_zero(x[i]), es.countl_one(x[i])
        out[3, i], out[4, i] = es.countr_zero(x[i]), es.countr_one(x[i])
        out[5, i] = es.bit_width(x[i])
        out[6, i] = es.has_single_bit(x[i])
        out[7, i], out[8, i] = es.bit_floor(x[i]), es.bit_ceil(x[i] >> es.uint32(1))
        out[9, i], out[10, i] = es.rotl(x[i], 3), es.rotr(x[i], 5)
        out[11, i] = es.byteswap(x[i])
        out[12, i] = es.bit_cast(es.bit_cast(x[i], es.float32), es.uint32) + x[i] * es.uint32(0)

    def expected(n: int) -> list[int]:
        text = f"{n:032b}"
        half = n >> 1
        return [
            text.count("1"),
            32 - len(text.lstrip("0")),
            32 - len(text.lstrip("1")),
            32 - len(text.rstrip("0")),
            32 - len(text.rstrip("1")),
            n.bit_length(),
            text.count("1") == 1,
            1 << n.bit_length() - 1 if n else 0,
            1 << (half - 1).bit_length() if half > 1 else 1,
            int(text[3:] + text[:3], 2),
            int(text[-5:] + text[:-5], 2),
            int.from_bytes(n.to_bytes(4, "big"), "little"),
            n,
        ]

    x = np.array([0, 1, 12, 0x3F800000, 0x80000000, 0xFF00FF03, 2**31 + 1], np.uint32)
    out = es.View((13, len(x)), es.uint32)
    es.parallel_for(len(x), kernel, out, es.array(x))
    assert out.to_numpy().T.tolist() == [expected(int(n)) for n in x]


@row(
    NUMERICS,
    "Numeric traits: epsilon, finite_max, norm_min, infinity, digits and others",
    "out[0, i] = np.finfo(x.dtype).eps",
)
def numeric_traits(space: es.ExecutionSpace) -> None:
    """TestNumericTraits: constants of a type, which is known when a kernel is compiled."""

    def kernel(i, out, x, n):
        out[0, i] = np.finfo(x.dtype).eps
        out[1, i] = np.finfo(x.dtype).max
        out[2, i] = np.finfo(x.dtype).min
        out[3, i] = np.finfo(x.dtype).tiny
        out[4, i] = np.finfo(x.dtype).nmant + 1
        out[5, i] = np.finfo(x.dtype).maxexp
        out[6, i] = np.iinfo(n.dtype).max
        out[7, i] = np.iinfo(n.dtype).min
        out[8, i] = math.inf

    for dtype in (np.float32, np.float64):
        info, integers = np.finfo(dtype), np.iinfo(np.int16)
        expected = [info.eps, info.max, info.min, info.tiny, info.nmant + 1, info.maxexp]
        expected += [integers.max, integers.min, np.inf]
        numbers = np.ones(1, dtype), np.ones(1, np.int16)
        check(kernel, [[float(x)] for x in expected], *numbers, rtol=0)


@row(NUMERICS, "reduction_identity", 'assert es.Min().identity("float64") == math.inf')
def reduction_identity(space: es.ExecutionSpace) -> None:
    assert es.Min().identity("float64") == math.inf
    assert es.Max().identity("int32") == -(2**31) and es.Sum().identity("int64") == 0
    assert es.Prod().identity("float64") == 1 and es.BAnd().identity("int64") == -1
    assert es.parallel_reduce(0, lambda i: i * 1.5, reducer=es.Min) == math.inf

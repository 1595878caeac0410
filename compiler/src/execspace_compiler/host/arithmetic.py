"""Python's arithmetic for Numba's generated source, where that of Numba or LLVM differs."""
# Types of Numba intrinsics are checked by Numba itself.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,no-any-return"

from __future__ import annotations

import math
import operator

import numpy as np
from numba import types
from numba.extending import intrinsic

from .linking import linked

inlined = linked(forceinline=True, error_model="numpy", nogil=True)


def _plain_division(name):
    @intrinsic
    def function(typingctx, a, b):
        def codegen(context, builder, sig, args):
            kind = "s" if a.signed else "u"
            return getattr(builder, f"{kind}{name}")(args[0], args[1])

        if isinstance(a, types.Integer) and a == b:
            return a(a, a), codegen
        return None

    return function


def _wrapping(name):
    # Numba's own operators have nsw, so LLVM may assume that signed integers never wrap.
    @intrinsic
    def function(typingctx, a, b):
        def codegen(context, builder, sig, args):
            return getattr(builder, name)(args[0], args[1])

        if isinstance(a, types.Integer) and isinstance(b, types.Integer):
            return types.int64(types.int64, types.int64), codegen
        return None

    return function


int_add, int_sub, int_mul = _wrapping("add"), _wrapping("sub"), _wrapping("mul")
truncdiv = _plain_division("div")
truncmod = _plain_division("rem")


@intrinsic
def frem(typingctx, a, b):
    """C's fmod: the remainder with the sign of a."""

    def codegen(context, builder, sig, args):
        return builder.frem(args[0], args[1])

    return (a(a, a), codegen) if isinstance(a, types.Float) and a == b else None


@inlined
def int_floordiv(a, b):
    """a // b of int64; 0 if b is 0, as in NumPy."""
    if b == 0:
        return 0
    if b == -1:  # the smallest integer divided by -1 traps
        return -a
    q = truncdiv(a, b)
    if (a ^ b) < 0 and q * b != a:
        q -= 1
    return q


@inlined
def int_mod(a, b):
    """a % b of int64, with the sign of b; 0 where b is 0."""
    if b == 0 or b == -1:
        return 0
    r = truncmod(a, b)
    if r != 0 and (r ^ b) < 0:
        r += b
    return r


@inlined
def uint_floordiv(a, b):
    """a // b of uint64; 0 where b is 0."""
    return b if b == 0 else truncdiv(a, b)


@inlined
def uint_mod(a, b):
    """a % b of uint64; 0 where b is 0."""
    return b if b == 0 else truncmod(a, b)


@inlined
def int_pow(a, b):
    """a ** b of 64-bit integers, wrapping; for b < 0 the truncated quotient 1 / a**-b."""
    one = a ^ a | True
    if b < 0:
        if a == 1:
            return one
        if a + one == 0:
            return a if b & 1 else one
        return a - a
    result = one
    while b != 0:
        if b & 1:
            result = int_mul(result, a)
        a = int_mul(a, a)
        b >>= 1
    return result


@inlined
def uint_pow(a, b):
    """a ** b of uint64, wrapping."""
    result = np.uint64(1)
    while b != 0:
        if b & np.uint64(1):
            result *= a
        a *= a
        b >>= np.uint64(1)
    return result


@inlined
def lshift(a, b):
    """a << b; 0 where b is not within the width."""
    return a << b if 0 <= b < 64 else a - a


@inlined
def rshift(a, b):
    """a >> b; 0 or -1 where b is not within the width."""
    if 0 <= b < 64:
        return a >> b
    return a - a if a >= 0 else ~(a - a)


def _float_division(cast):
    # The algorithm of Python's float_divmod, which NumPy uses, too.
    zero, one, half = cast(0.0), cast(1.0), cast(0.5)

    @inlined
    def floordiv(a, b):
        if b == zero:
            return a / b
        m = frem(a, b)
        q = (a - m) / b
        if m != zero and (b < zero) != (m < zero):
            q -= one
        if q == zero:
            return cast(math.copysign(zero, a / b))
        whole = cast(np.floor(q))
        if q - whole > half:
            whole += one
        return whole

    @inlined
    def mod(a, b):
        m = frem(a, b)
        if b == zero:
            return m
        if m == zero:
            return cast(math.copysign(zero, b))
        if (b < zero) != (m < zero):
            m += b
        return m

    return floordiv, mod


float64_floordiv, float64_mod = _float_division(np.float64)
float32_floordiv, float32_mod = _float_division(np.float32)


@inlined
def python_min(a, b):
    """Python's min(a, b)."""
    return b if b < a else a


@inlined
def python_max(a, b):
    """Python's max(a, b)."""
    return b if b > a else a


@inlined
def minimum(a, b):
    """numpy.minimum: NaN if either is."""
    return a if a < b or a != a else b


@inlined
def maximum(a, b):
    """numpy.maximum: NaN if either is."""
    return a if a > b or a != a else b


@inlined
def fmin(a, b):
    """numpy.fmin: the other operand if one is NaN."""
    return a if a <= b or b != b else b


@inlined
def fmax(a, b):
    """numpy.fmax: the other operand if one is NaN."""
    return a if a >= b or b != b else b


def _select(compare):
    @inlined
    def keep(v, k, c):
        return v if compare(v, k) else c

    @inlined
    def replace(v, k, c):
        return c if compare(v, k) else v

    return keep, replace


keep_lt, replace_lt = _select(operator.lt)
keep_le, replace_le = _select(operator.le)
keep_gt, replace_gt = _select(operator.gt)
keep_ge, replace_ge = _select(operator.ge)


def _complex_arithmetic(kind, part):
    zero, one = part(0.0), part(1.0)

    @inlined
    def mul(a, b):
        # Written out, so that multiply-add applies; infinities are not recovered as in C99.
        re = a.real * b.real - a.imag * b.imag
        im = a.real * b.imag + a.imag * b.real
        return kind(complex(re, im))

    @inlined
    def div(a, b):
        # Smith's method (Comm. ACM 5, 1962, algorithm 116), as in NumPy.
        size_re, size_im = abs(b.real), abs(b.imag)
        if size_re >= size_im:
            if size_re == zero and size_im == zero:
                return kind(complex(a.real / size_re, a.imag / size_re))
            ratio = b.imag / b.real
            scale = one / (b.real + b.imag * ratio)
            re = (a.real + a.imag * ratio) * scale
            return kind(complex(re, (a.imag - a.real * ratio) * scale))
        ratio = b.real / b.imag
        scale = one / (b.imag + b.real * ratio)
        re = (a.real * ratio + a.imag) * scale
        return kind(complex(re, (a.imag * ratio - a.real) * scale))

    huge, quarter, half, two = part(np.finfo(part).max) / part(4.0), part(0.25), part(0.5), part(2)

    @inlined
    def sqrt(z):
        # As C's csqrt: the larger part first, to avoid cancellation; scaled if the modulus would
        # overflow. For special values see C11, annex G.6.4.2.
        a, b = z.real, z.imag
        if a == zero and b == zero:
            return kind(complex(zero, b))
        if math.isinf(b):
            return kind(complex(part(math.inf), b))
        if a != a:
            return kind(complex(a, a))
        if math.isinf(a):
            rest = b - b  # NaN for a NaN
            if a < zero:
                return kind(complex(abs(rest), part(math.copysign(a, b))))
            return kind(complex(a, part(math.copysign(rest, b))))
        large = abs(a) > huge or abs(b) > huge
        if large:
            a *= quarter
            b *= quarter
        t = part(math.sqrt(half * (abs(a) + part(math.hypot(a, b)))))
        re, im = t, b / (two * t)
        if a < zero:
            re, im = abs(b) / (two * t), part(math.copysign(t, b))
        if large:
            re *= two
            im *= two
        return kind(complex(re, im))

    @inlined
    def power(a, b):
        # The C library returns NaN for 0j ** (1 + 1j); Python and NumPy return zero.
        if a.real == zero and a.imag == zero and b.real > zero:
            return kind(complex(zero, zero))
        return kind(a**b)

    return mul, div, sqrt, power


complex64_mul, complex64_div, complex64_sqrt, complex64_pow = _complex_arithmetic(
    np.complex64, np.float32
)
complex128_mul, complex128_div, complex128_sqrt, complex128_pow = _complex_arithmetic(
    np.complex128, np.float64
)

"""Every disagreement that was ever found, as a fixed and readable test.

A kernel is a Python function, so what it should give is found by calling it with NumPy arrays.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import needs_dtype

from .compare import same

exact = es.kernel(fma=False)


def both(space, kernel, outputs, *inputs):
    """Compare a kernel's outputs on a space with CPython's, bit by bit; returns them."""
    n = len(inputs[0])
    mine, python = ([np.zeros(n, dtype) for dtype in outputs] for _ in range(2))
    changed, kept = ([np.copy(a) for a in inputs] for _ in range(2))
    staged.parallel_for(es.RangePolicy(n, space=space), kernel, *mine, *changed)
    with np.errstate(all="ignore"):
        for i in range(n):
            kernel(i, *python, *kept)
    for a, b in zip([*mine, *changed], [*python, *kept], strict=True):
        assert same(a, b).all(), f"{kernel.name} on {space.name}: {a} is not {b}"
    return mine


# Casts to the type that a weak value had anyway left it weak: `es.int64(i) * float32` was a
# float32, and so was `es.float64(float(x)) * float32`.


@exact
def cast_weak(i, o, p, q, x):
    k = i + 16777217
    o[i] = es.int64(k) * x[i]
    p[i] = es.float64(float(x[i])) / (x[i] + x[i] + x[i])
    q[i] = x[i] + es.int64(k) * 3


def test_casts_make_weak_numbers_strong(space):
    both(space, cast_weak, (np.float64,) * 3, np.array([1, 0.1, 3e7], np.float32))


# The oracle printed complex constants by repr, which reads back without the sign of a zero real
# part, and not at all with an infinity or a NaN.

ODD = complex(-math.inf, math.nan)
NEGATIVE_ZERO = complex(-0.0, -0.0)


@exact
def complex_constants(i, o, p, q, z):
    o[i] = (-1j) * z[i]
    p[i] = NEGATIVE_ZERO
    q[i] = ODD


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_constants_keep_signs_and_infinities(space, dtype):
    needs_dtype(space, dtype)
    z = np.array([complex(a, b) for a in (0.0, -0.0) for b in (0.1, -0.1)], dtype)
    both(space, complex_constants, (dtype,) * 3, z)


# NumPy does not say which zero np.minimum(0.0, -0.0) is, and its answer depends on the type and
# the processor. The oracle took it over, so compiled spaces disagreed.


@exact
def extremes_of_zeros(i, o, p, q, r, a, b):
    o[i] = np.minimum(a[i], b[i])
    p[i] = np.maximum(a[i], b[i])
    q[i] = np.fmin(a[i], b[i])
    r[i] = np.fmax(a[i], b[i])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_zeros_of_numpys_extremes_have_the_same_sign_everywhere(space, dtype):
    a, b = np.array([0, 0, -0.0, -0.0], dtype), np.array([0, -0.0, 0, -0.0], dtype)
    results = []
    for where in (space, es.space("oracle")):
        o = [np.zeros(4, dtype) for _ in range(4)]
        staged.parallel_for(es.RangePolicy(4, space=where), extremes_of_zeros, *o, a, b)
        results.append(np.signbit(o))
    np.testing.assert_array_equal(*results)


# Where LLVM is told that signed integers do not overflow (nsw), as Numba does, what is derived from
# a result that has wrapped can be wrong: `v * v < 0` was false though v * v was negative.


@exact
def wrapped(i, o, p, q, r, v):
    product = v[i] * v[i]
    o[i] = product
    p[i] = math.copysign(3.0, v[i] * v[i])
    q[i] = 1 if v[i] * v[i] < 0 else 0
    r[i] = (1 if v[i] + 1 < v[i] else 0) + (2 if v[i] - 1 > v[i] else 0)


def test_what_follows_from_a_wrapped_integer(space):
    v = np.array([63**7, 3, -(2**63), 2**63 - 1])
    both(space, wrapped, (np.int64, np.float64, np.int64, np.int64), v)


# Sums and products of unsigned numbers that were cast to a signed type counted as never
# negative, though they wrap; `//` and `%` then rounded towards zero.


@exact
def wrapped_division(i, o, p, u, w):
    v = es.int32(u[i])
    o[i] = (v * v) // 3
    k = es.int64(w[i])
    p[i] = (k * k * 3 + k) % 7


def test_division_of_products_that_wrap(space):
    u = np.arange(65528, 65536).astype(np.uint16)
    w = np.arange(2**32 - 8, 2**32).astype(np.uint32)
    both(space, wrapped_division, (np.int64, np.int64), u, w)


# A call with effects was evaluated twice where its value is needed twice, and not at all where
# it is not needed.


def bump(A, i):
    A[i] += 1
    return A[i]


@exact
def twice(i, o, p, q, r, s, t, A):
    o[i] = 0 < bump(A, i) < 5
    p[i] = np.square(bump(A, i)) + bump(A, i) ** 2
    quotient, rest = divmod(bump(A, i), 3)
    q[i] = quotient * 10 + rest
    pair = (1, 2) if bump(A, i) > 0 else (3, 4)
    r[i] = pair[0] + pair[1]
    s[i] = bump(A, i) or 7
    for k in range(0, 8, bump(A, i)):
        t[i] += k


@exact
def dropped(i, o, p, q, r, A):
    o[i] = (bump(A, i), 5)[1]
    bump(A, i) + 1
    p[i] = math.isnan(bump(A, i))
    q[i] = bump(A, i) < 2**63
    r[i] = len((bump(A, i), 2))


@pytest.mark.parametrize("kernel", [twice, dropped])
def test_calls_with_effects_are_evaluated_once(space, kernel):
    outputs = kernel.fn.__code__.co_argcount - 2
    both(space, kernel, (np.int64,) * outputs, np.arange(6))


# Python evaluates the value of an assignment before the indices of its target; compiled spaces
# did it the other way round. Both arms of np.where are evaluated.


@exact
def order(i, o, p, A):
    o[bump(A, i) * 0 + i] = bump(A, i)
    p[i] = np.where(i > 2, bump(A, i), 100)


def test_order_of_evaluation(space):
    both(space, order, (np.int64, np.int64), np.arange(6))


# min and max joined the types of their operands two by two, so a literal was rounded to the type
# of the second operand (1e-40 is not a float32) before the third one widened it; and one that did
# not fit the second operand was refused.


@exact
def three_operands(i, o, p, x, y, k):
    o[i] = max(1e-40, x[i], y[i])
    p[i] = min(k[i], 300, i + 1000)


def test_min_and_max_convert_all_operands_to_the_common_type(space):
    x, y = np.array([-1, 2], np.float32), np.array([-2.0, 3.0])
    both(space, three_operands, (np.float64, np.int64), x, y, np.array([100, -7], np.int8))


def zero_to_complex_powers(i, z, w, o):
    o[i] = z[i] ** w[i]


def test_zero_to_a_complex_power(space):
    """As in Python: zero where the real part of the exponent is positive."""
    needs_dtype(space, np.complex128)
    z = np.array([0, 0, 2, 1j])
    w = np.array([1 + 1j, 2, 2, 2])
    o = np.zeros(4, np.complex128)
    with es.use_space(space):
        staged.parallel_for(4, zero_to_complex_powers, z, w, o)
    np.testing.assert_allclose(o, [0, 0, 4, -1], atol=1e-15)


# A helper that returns nothing but contains an assertion gave no number of a failed assertion at
# its end: the oracle raised a TypeError, and C compilers took what stood in the register.


def check_number(i, x):
    assert x[i] >= 0


def store_checked(i, x, o):
    if x[i] > 2:
        return
    check_number(i, x)
    o[i] = x[i]


@exact
def asserts_in_helpers(i, o, x):
    store_checked(i, x, o)


def test_assertions_that_hold_in_helpers_without_a_result(space):
    both(space, asserts_in_helpers, (np.float64,), np.arange(4.0))


def test_assertions_that_fail_in_helpers_without_a_result(space):
    with pytest.raises(es.KernelAssertionError, match="x\\[i\\] >= 0"):
        both(space, asserts_in_helpers, (np.float64,), np.array([0.0, 1.0, -1.0, 7.0]))


# The parts of a variable called r1 were taken for the compiler's own, whose types are found anew in
# each walk over a kernel, so that the walks never came to an end.


@exact
def names_like_temporaries(i, o, x):
    r1 = x[1:]
    t1 = (x[i], 2.0)
    r2 = (t1[1], 3.0)
    for k in range(2):
        r1 = x[k:]
    o[i] = r1[0] + t1[0] * r2[1]


def test_variables_may_be_called_like_temporaries(space):
    both(space, names_like_temporaries, (np.float64,), np.arange(4.0))


# The oracle could not return a bool that a reducer of one's own had joined: `not` of NumPy's bool
# is Python's.


class CountAndAny(es.Reducer):
    identity = (0, False)

    def join(a, b):
        return a[0] + b[0], a[1] or b[1]


@exact
def index_and_zero(i, x):
    return i, not x[i]


def test_reducers_may_join_negations(space):
    x = np.array([True, False, True])
    policy = es.RangePolicy(3, space=space)
    joined = staged.parallel_reduce(policy, index_and_zero, x, reducer=CountAndAny)
    assert joined == (3, True)


# The parts of complex(1e9, h) with a float16 h became float16 first, where 1e9 is infinite.


@exact
def complex_of_a_float16(i, o, h):
    o[i] = complex(1e9, h[i])


@exact
def complex_of_a_real_part(i, o, h):
    o[i] = complex(h[i], -7e4)


@pytest.mark.parametrize("kernel", [complex_of_a_float16, complex_of_a_real_part])
@pytest.mark.parametrize("result", [np.complex64, np.complex128])
def test_parts_of_a_complex_number_are_not_rounded_to_float16(space, kernel, result):
    if not (space.capabilities.float16 and space.capabilities.complex):
        pytest.skip(f"space '{space.name}' has no float16, or no complex numbers")
    both(space, kernel, (result,), np.array([0.5, -2.0, 65504.0], np.float16))

"""At the limits of their types integers wrap at once, whatever is done with them afterwards.

Each operation's result is stored, widened, made a float, compared and divided: a compiler that
forgets to wrap stores the right bits, and is wrong in the others. The reference is NumPy.
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


def keep(k, i, value, found):
    stored, wide, real, below, floor, rest = found
    stored[k, i] = value
    wide[k, i] = es.int64(value)
    real[k, i] = es.float64(value)
    below[k, i] = value < 3
    floor[k, i] = value // 3
    rest[k, i] = -0.25 % es.float64(value)


def uses(value):
    """The same of an array."""
    with np.errstate(all="ignore"):
        wide, real = value.astype(np.int64), value.astype(np.float64)
        return value, wide, real, value < 3, value // 3, np.mod(-0.25, real)


def times(a, factor):
    return a * factor


@es.kernel
def operations(i, stored, wide, real, below, floor, rest, a, b):
    x, y = a[i], b[i]
    found = stored, wide, real, below, floor, rest
    keep(0, i, -x, found)
    keep(1, i, abs(x), found)
    keep(2, i, ~x + 1, found)
    keep(3, i, times(x, -1 if x < 0 else 1), found)
    keep(4, i, x - y, found)
    keep(5, i, x * y, found)
    keep(6, i, x // y, found)
    keep(7, i, 0 - x if x < 0 else x, found)
    if x < 0:
        x = -x
    keep(8, i, x, found)


def expected(a, b):
    """The same in NumPy."""
    factor = np.where(a < 0, a - a - 1, a - a + 1).astype(a.dtype)
    one = a.dtype.type(1)
    results = (-a, abs(a), ~a + one, a * factor, a - b, a * b, a // b, abs(a), abs(a))
    assert all(r.dtype == a.dtype for r in results)
    return np.stack(results)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_results_are_of_their_type_whatever_uses_them(space, dtype):
    near = values(dtype)
    a, b = np.repeat(near, 3), np.resize(near[::-1], near.size * 3)
    with np.errstate(all="ignore"):
        right = expected(a, b)
    found = [np.zeros_like(use) for use in uses(right)]
    staged.parallel_for(es.RangePolicy(a.size, space=space), operations, *found, a, b)
    for mine, reference in zip(found, uses(right), strict=True):
        np.testing.assert_array_equal(mine, reference)


@es.kernel
def conversions(i, stored, wide, real, below, floor, rest, a):
    found = stored, wide, real, below, floor, rest
    keep(0, i, es.int16(-a[i]), found)
    keep(1, i, es.int16(abs(a[i])), found)
    keep(2, i, es.int16(~es.uint16(a[i]) + es.uint16(1)), found)


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "uint16"])
def test_conversions_to_16_bits_wrap_whatever_uses_them(space, dtype):
    a = np.concatenate([values("int16").astype(dtype), values(dtype)])
    with np.errstate(all="ignore"):
        right = np.stack([(-a).astype(np.int16), abs(a).astype(np.int16), (-a).astype(np.int16)])
    found = [np.zeros_like(use) for use in uses(right)]
    staged.parallel_for(es.RangePolicy(a.size, space=space), conversions, *found, a)
    for mine, reference in zip(found, uses(right), strict=True):
        np.testing.assert_array_equal(mine, reference)


@es.kernel
def extremes(i, o, a, b, c):
    x, y, z = a[i], b[i], c[i]
    o[0, i] = min(min(-x, y), z)
    o[1, i] = max(z, max(-x, -y))
    o[2, i] = min(y, 0 - (x + y), z)
    o[3, i] = np.maximum(np.maximum(~x + 1, y), z)
    o[4, i] = min(max(-x, y), -z)
    least = y if y < -x else -x
    o[5, i] = z if z < least else least
    most = -x
    for k in range(a.size):
        most = max(most, -a[k])
    o[6, i] = most
    o[7, i] = min(min(-abs(x), y), z)


def extremes_of_arrays(a, b, c):
    zero, one = a.dtype.type(0), a.dtype.type(1)
    return np.stack([
        np.minimum(np.minimum(-a, b), c),
        np.maximum(c, np.maximum(-a, -b)),
        np.minimum(np.minimum(b, zero - (a + b)), c),
        np.maximum(np.maximum(~a + one, b), c),
        np.minimum(np.maximum(-a, b), -c),
        np.minimum(c, np.minimum(b, -a)),
        np.full_like(a, np.max(-a)),
        np.minimum(np.minimum(-abs(a), b), c),
    ])  # fmt: skip


@pytest.mark.parametrize("dtype", INTEGERS)
def test_the_least_of_three_knows_signs(space, dtype):
    """Processors have instructions for it, some of which cannot negate."""
    near = values(dtype)
    a, b, c = (
        np.repeat(near, 9),
        np.resize(near[::-1], near.size * 9),
        np.resize(near, near.size * 9),
    )
    with np.errstate(all="ignore"):
        expected = extremes_of_arrays(a, b, c)
    found = np.zeros_like(expected)
    staged.parallel_for(es.RangePolicy(a.size, space=space), extremes, found, a, b, c)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_reductions_of_negatives(space, dtype):
    x = np.arange(-500, 1000, dtype=dtype)

    @es.kernel
    def negative(i, x):
        return -x[i]

    for reducer, expected in ((es.Min, -999), (es.Max, 500), (es.Sum, -374250)):
        policy = es.RangePolicy(x.size, space=space)
        assert staged.parallel_reduce(policy, negative, x, reducer=reducer) == expected


@es.kernel
def conditions(i, o, a, b):
    x, y = a[i], b[i]
    zero = x - x
    product = x * y
    o[0, i] = np.maximum(zero, product) != 0
    o[1, i] = np.maximum(product, zero) == zero
    o[2, i] = np.minimum(zero, product) == 0
    o[3, i] = np.minimum(product, zero) != zero
    o[4, i] = 1 if np.fmax(zero, product) else 0
    o[5, i] = max(zero, product) == product
    o[6, i] = min(product, zero) < product
    o[7, i] = (product if product > zero else zero) == zero
    o[8, i] = (zero if product > zero else product) == 0
    o[9, i] = np.minimum(x, y) == y
    o[10, i] = np.maximum(y, x) > x
    o[11, i] = np.maximum(zero, -x) == zero


def conditions_of_arrays(a, b):
    zero, product = a - a, a * b
    most, least = np.maximum(product, zero), np.minimum(product, zero)
    return np.stack([
        most != 0, most == 0, least == 0, least != 0, most != 0, most == product, least < product,
        most == 0, least == 0, np.minimum(a, b) == b, np.maximum(a, b) > a,
        np.maximum(-a, zero) == 0,
    ])  # fmt: skip


@pytest.mark.parametrize("dtype", INTEGERS)
def test_conditions_on_the_greater_of_two(space, dtype):
    """A processor may tell which it chose beside the choice, and for a part of a register only."""
    near = np.unique(np.concatenate([values(dtype), np.arange(0, 120, 9).astype(dtype)]))
    a, b = (x.ravel() for x in np.meshgrid(near, near))
    with np.errstate(all="ignore"):
        expected = conditions_of_arrays(a, b)
    found = np.zeros_like(expected)
    staged.parallel_for(es.RangePolicy(a.size, space=space), conditions, found, a, b)
    np.testing.assert_array_equal(found, expected)

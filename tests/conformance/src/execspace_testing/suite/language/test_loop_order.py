"""Rounds of a loop that come back to an element run one after the other.

Vectorisers take several rounds at once, and must see which rounds may meet. The loops here store
two rows of another View beside, whose distance is known at run time only: then compilers test for
overlaps at run time, and some of them forget what else they knew
(https://github.com/llvm/llvm-project/issues/69744). The reference is CPython.
"""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged

BINS, ROUNDS = 5, 99


def bins_of_data(i, x, by, h, o):
    for j in range(x.size):
        h[i, x[j] % 5] += 1
        o[0, j] = 3
        o[1, j] = 4


def bins_of_a_loop(i, x, by, h, o):
    for j in range(x.size):
        h[i, j // 20] += 1
        o[0, j] = 3
        o[1, j] = 4


def every_round_the_same(i, x, by, h, o):
    for j in range(x.size):
        h[i, by * j] += 1  # `by` is 0
        o[0, j] = 3
        o[1, j] = 4


def narrow_subscripts(i, x, by, h, o):
    for j in range(x.size):
        h[i, (es.uint8(j) * es.uint8(64)) // 64] += 1
        o[0, j] = 3
        o[1, j] = 4


def twice_in_a_round(i, x, by, h, o):
    for j in range(x.size):
        k = x[j] % 5
        h[i, k] += 1
        o[0, j] = 3
        o[1, j] = 4
        h[i, k] *= 2 if j % 16 == 0 else 1


def in_a_branch(i, x, by, h, o):
    for j in range(x.size):
        k = j % 2
        if x[j] > 7:
            k = x[j] % 5
        h[i, k] += 1
        o[0, j] = 3
        o[1, j] = 4


def one_after_the_other(i, x, by, h, o):
    for j in range(1, x.size):
        h[i, j] = h[i, j - 1] + 1
        o[0, j] = 3
        o[1, j] = 4


def at_a_distance(i, x, by, h, o):
    for j in range(x.size - 3):
        h[i, j + 3 + by] = h[i, j] + 1
        o[0, j] = 3
        o[1, j] = 4


def while_loop(i, x, by, h, o):
    j = 0
    while j < x.size:
        h[i, x[j] % 5] += 1
        o[0, j] = 3
        o[1, j] = 4
        j += 1


def carried_subscript(i, x, by, h, o):
    k = 0
    for j in range(x.size):
        h[i, k] += 1
        k = x[j] % 5
        o[0, j] = 3
        o[1, j] = 4


def short_loop_inside(i, x, by, h, o):
    for j in range(x.size):
        for k in range(1):
            h[i, (x[j] + k) % 5] += 1
        o[0, j] = 3
        o[1, j] = 4


def bump(h, i, k):
    h[i, k] += 1


def in_a_function(i, x, by, h, o):
    for j in range(x.size):
        bump(h, i, x[j] % 5)
        o[0, j] = 3
        o[1, j] = 4


def count(x, h, i, o):
    for j in range(x.size):
        bump(h, i, x[j] % 5)
        o[0, j] = 3
        o[1, j] = 4


def loop_in_a_function(i, x, by, h, o):
    count(x, h, i, o)


KERNELS = [
    bins_of_data, bins_of_a_loop, every_round_the_same, narrow_subscripts, twice_in_a_round,
    in_a_branch, one_after_the_other, at_a_distance, while_loop,
    carried_subscript, short_loop_inside, in_a_function, loop_in_a_function,
]  # fmt: skip


def data():
    return (np.arange(ROUNDS) // 4).astype(np.uint32)


DTYPES = ["int32", "float64"]
MORE = [pytest.param(t, marks=pytest.mark.slow) for t in ("int16", "float32", "int64", "complex64")]


@pytest.mark.parametrize("dtype", [*DTYPES, *MORE])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_rounds_see_what_earlier_ones_stored(space, kernel, dtype):
    rows = "float64" if np.dtype(dtype).itemsize < 8 else "float32"
    x, h, o = data(), np.zeros((2, ROUNDS), dtype), np.zeros((2, ROUNDS), rows)
    expected, stored = h.copy(), o.copy()
    staged.parallel_for(es.RangePolicy(1, space=space), es.kernel(kernel), x, 0, h, o)
    with np.errstate(over="ignore"):
        kernel(0, x, 0, expected, stored)
    np.testing.assert_array_equal(h, expected)
    np.testing.assert_array_equal(o, stored)


@pytest.mark.parametrize("dtype", [*DTYPES, *MORE[:2]])
def test_local_arrays_too(space, dtype):
    kind = np.dtype(dtype).type

    @es.kernel
    def kernel(i, x, h, o):
        bins = es.local(BINS, kind)
        for k in range(BINS):
            bins[k] = 0
        for j in range(x.size):
            bins[x[j] % 5] += 1
            o[0, j] = 3
            o[1, j] = 4
        for k in range(BINS):
            h[i, k] = bins[k]

    rows = "float64" if np.dtype(dtype).itemsize < 8 else "float32"
    x, h, o = data(), np.zeros((2, BINS), dtype), np.zeros((2, ROUNDS), rows)
    staged.parallel_for(es.RangePolicy(1, space=space), kernel, x, h, o)
    np.testing.assert_array_equal(h[0], np.bincount(x % 5, minlength=BINS))


@pytest.mark.parametrize("dtype", [*DTYPES, *MORE[:2]])
@pytest.mark.parametrize("pattern", ["range", "mdrange"])
def test_array_reductions_too(space, dtype, pattern):
    def histogram(i, s, x, o):
        s[x[i] % 5] += 1
        o[0, i] = 3
        o[1, i] = 4

    def histogram_of_rows(i, j, s, x, o):
        s[x[j] % 5] += 1
        o[0, j] = 3
        o[1, j] = 4

    rows = "float64" if np.dtype(dtype).itemsize < 8 else "float32"
    x, o = data(), np.zeros((2, ROUNDS), rows)
    if pattern == "range":
        policy, kernel = es.RangePolicy(ROUNDS, space=space), es.kernel(histogram)
    else:
        policy = es.MDRangePolicy((0, 0), (1, ROUNDS), space=space)
        kernel = es.kernel(histogram_of_rows)
    reducer = es.Sum(shape=BINS, dtype=getattr(es, dtype))
    found = staged.parallel_reduce(policy, kernel, x, o, reducer=reducer)
    np.testing.assert_array_equal(found, np.bincount(x % 5, minlength=BINS))
    np.testing.assert_array_equal(o, np.repeat([[3], [4]], ROUNDS, axis=1))

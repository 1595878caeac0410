"""Which of two zeros a choice takes: `min(0.0, -0.0)` is the first, and so is every choice by `<`.

A compiler that makes a minimum of a choice forgets that. The reference is CPython, which runs the
kernel as the function that it is; where NumPy leaves the sign open, it is the oracle.
"""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import needs_dtype

VALUES = [0.0, -0.0, 1.0, -1.5, np.nan, np.inf, -np.inf, 5e-324]


def choose(x, low):
    return x if x < low else low


def choices(i, o, a, b):
    x, y = a[i], b[i]
    o[0, i] = min(0, x)
    o[1, i] = min(0.0, -x)
    o[2, i] = max(-0.0, x)
    o[3, i] = min(x, y)
    o[4, i] = max(-x, y)
    o[5, i] = min(0.0, x * y)
    o[6, i] = x if x < 0 else 0.0
    o[7, i] = 0.0 if x >= 0.0 else x
    o[8, i] = x if x > 0 else -0.0
    o[9, i] = choose(x, 0.0)
    o[10, i] = -x if x < 0 else x
    o[11, i] = min(0.0, -abs(x))
    low = 0.0
    if x < low:
        low = x
    o[12, i] = low
    if y > x:
        o[13, i] = x
    else:
        o[13, i] = -0.0
    o[14, i] = min(x, 0.0, y)
    o[15, i] = x if x <= 0.0 else 0.0


def numpys_choices(i, o, a, b):
    x, y = a[i], b[i]
    o[0, i] = np.fmin(0, x)
    o[1, i] = np.fmax(-0.0, x)
    o[2, i] = np.minimum(0, x)
    o[3, i] = np.maximum(-0.0, -x)
    o[4, i] = np.fmin(x, y)
    o[5, i] = np.minimum(-x, y)
    o[6, i] = np.clip(x, 0.0, 1.0)
    o[7, i] = np.where(x < 0, x, 0.0)
    o[8, i] = np.maximum(-0.0, x - y)
    o[9, i] = np.fmin(-0.0, x + 1.0)


INNER = (
    lambda x: max(x, 0.0),
    lambda x: max(0.0, x),
    lambda x: min(x, 0.0),
    lambda x: min(-0.0, x),
    lambda x: np.fmax(x, 0.0),
    lambda x: np.fmin(x, 0.0),
    lambda x: np.maximum(0.0, x),
    lambda x: min(1.0, x),
    lambda x: abs(x),
    lambda x: -np.fabs(x),
    lambda x: np.copysign(x, 1.0),
)
OUTER = (
    lambda v: max(v, 0.0),
    lambda v: max(0.0, v),
    lambda v: min(v, 0.0),
    lambda v: min(0.0, v),
    lambda v: np.fmax(v, 0.0),
    lambda v: np.fmin(-0.0, v),
    lambda v: min(np.fmax(v, 0.0), 1.0),
    lambda v: min(1.0, v),
    lambda v: v if v >= 0.0 else 0.0,
    lambda v: 0.0 if v < 0.0 else v,
    lambda v: v if v < 0.0 else 0.0,
    lambda v: 1.0 if v >= 0.0 else 0.0,
    lambda v: 1.0 if not v < 0.0 else 0.0,
    lambda v: es.int64(np.fmin(np.fmax(v, 0.0), 100.0)),
)


def choices_of_choices(i, o, a):
    for n, inner in enumerate(INNER):
        v = inner(a[i])
        for m, outer in enumerate(OUTER):
            o[n, m, i] = outer(v)


def inputs(dtype):
    a, b = np.meshgrid(VALUES, VALUES)
    return a.ravel().astype(dtype), b.ravel().astype(dtype)


def assert_same(mine, reference):
    np.testing.assert_array_equal(mine, reference)
    numbers = ~np.isnan(reference)
    np.testing.assert_array_equal(np.signbit(mine)[numbers], np.signbit(reference)[numbers])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_choices_are_pythons(space, dtype):
    needs_dtype(space, dtype)
    a, b = inputs(dtype)
    found, reference = np.zeros((16, a.size), dtype), np.zeros((16, a.size), dtype)
    staged.parallel_for(es.RangePolicy(a.size, space=space), es.kernel(choices), found, a, b)
    with np.errstate(invalid="ignore"):
        for i in range(a.size):
            choices(i, reference, a, b)
    assert_same(found, reference)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_numpys_extremes_are_the_same_on_each_space(space, dtype):
    needs_dtype(space, dtype)
    a, b = inputs(dtype)
    found, reference = np.zeros((10, a.size), dtype), np.zeros((10, a.size), dtype)
    kernel = es.kernel(numpys_choices)
    staged.parallel_for(es.RangePolicy(a.size, space=space), kernel, found, a, b)
    staged.parallel_for(es.RangePolicy(a.size, space="oracle"), kernel, reference, a, b)
    assert_same(found, reference)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_choice_from_a_choice_is_both(space, dtype):
    """Both are the greater one, but differ in what they take of zeros and NaNs."""
    needs_dtype(space, dtype)
    a = np.array(VALUES, dtype)
    found = np.zeros((len(INNER), len(OUTER), a.size), dtype)
    reference = np.zeros_like(found)
    kernel = es.kernel(choices_of_choices)
    staged.parallel_for(es.RangePolicy(a.size, space=space), kernel, found, a)
    staged.parallel_for(es.RangePolicy(a.size, space="oracle"), kernel, reference, a)
    assert_same(found, reference)

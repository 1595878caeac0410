"""Which of two zeros a choice takes: `min(0.0, -0.0)` is the first, and so is every choice by `<`.

A compiler that makes a minimum of a choice forgets that. The reference is CPython, which runs the
kernel as the function that it is; where NumPy leaves the sign open, it is the oracle.
"""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged

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


def inputs(dtype):
    a, b = np.meshgrid(VALUES, VALUES)
    return a.ravel().astype(dtype), b.ravel().astype(dtype)


def assert_same(mine, reference):
    np.testing.assert_array_equal(mine, reference)
    numbers = ~np.isnan(reference)
    np.testing.assert_array_equal(np.signbit(mine)[numbers], np.signbit(reference)[numbers])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_choices_are_pythons(space, dtype):
    a, b = inputs(dtype)
    found, reference = np.zeros((16, a.size), dtype), np.zeros((16, a.size), dtype)
    staged.parallel_for(es.RangePolicy(a.size, space=space), es.kernel(choices), found, a, b)
    with np.errstate(invalid="ignore"):
        for i in range(a.size):
            choices(i, reference, a, b)
    assert_same(found, reference)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_numpys_extremes_are_the_same_on_each_space(space, dtype):
    a, b = inputs(dtype)
    found, reference = np.zeros((8, a.size), dtype), np.zeros((8, a.size), dtype)
    kernel = es.kernel(numpys_choices)
    staged.parallel_for(es.RangePolicy(a.size, space=space), kernel, found, a, b)
    staged.parallel_for(es.RangePolicy(a.size, space="oracle"), kernel, reference, a, b)
    assert_same(found, reference)

"""Reductions over arrays of several dtypes, each against NumPy: a first look at parallel_reduce."""

from __future__ import annotations

import math

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import fitting, needs_dtype


def value(i, x):
    return x[i]


def four_times(i, x, factors):
    return x[i], factors[i], x[i], x[i]


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float16", "float32", "bool"])
def test_reductions_agree_with_numpy(space, dtype):
    """A sum, a product, a minimum and a maximum in one launch; sums are those of 64 bits."""
    needs_dtype(space, dtype)
    numbers = np.random.default_rng(3).normal(size=1001) * 3
    x, factors = numbers.astype(dtype), (1 + numbers / 1000).astype(dtype)
    reducers = (es.Sum, es.Prod, es.Min, es.Max)
    with es.use_space(space):
        for n in (1, 7, 1001):
            found = staged.parallel_reduce(n, four_times, x, factors, reducer=reducers)
            for got, row, numpy in zip(
                found, (x, factors, x, x), (np.sum, np.prod, np.min, np.max), strict=True
            ):
                wide = row[:n].astype(np.float64) if dtype in ("float16", "float32") else row[:n]
                assert type(got) in (int, float, bool)
                assert math.isclose(got, numpy(wide), rel_tol=1e-12)


@pytest.mark.parametrize("reducer", [es.Min, es.Max])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_one_nan_makes_an_extreme_nan(space, reducer, dtype):
    needs_dtype(space, dtype)
    with es.use_space(space):
        for size in (3, fitting(space, 5000, 200)):
            x = np.arange(float(size)).astype(dtype)
            for at in (0, size // 2, size - 1):
                y = x.copy()
                y[at] = np.nan
                assert math.isnan(staged.parallel_reduce(size, value, y, reducer=reducer))

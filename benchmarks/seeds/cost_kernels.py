"""Kernels of costs.py: with and without assertions, and of Views that may overlap."""

from __future__ import annotations

import numpy as np

import execspace as es


@es.kernel
def triad(i, a, x, y, z):
    z[i] = x[i] + a * y[i]


@es.kernel
def triad_asserted(i, a, x, y, z):
    assert y[i] > 0
    z[i] = x[i] + a * y[i]


@es.kernel
def update(i, a, y, z):
    z[i] = z[i] + a * y[i]


@es.kernel
def copy(i, x, z):
    z[i] = x[i]


@es.kernel
def eight(i, x0, x1, x2, x3, x4, x5, x6, z):
    z[i] = x0[i] + x1[i] + x2[i] + x3[i] + x4[i] + x5[i] + x6[i]


@es.kernel
def cosines(i, a, x, y, times):
    """The loop of E3SM's issue 4640: a compiler that knows that x is not y computes one cosine."""
    for _ in range(times):
        y[i] = a * np.cos(x[i]) + y[i]


@es.kernel
def stencil(i, j, b, a):
    a[i, j] = 0.2 * (b[i, j] + b[i + 1, j] + b[i - 1, j] + b[i, j + 1] + b[i, j - 1])


@es.kernel
def stencil_asserted(i, j, b, a):
    assert b[i, j] > 0
    a[i, j] = 0.2 * (b[i, j] + b[i + 1, j] + b[i - 1, j] + b[i, j + 1] + b[i, j - 1])


@es.kernel
def product(i, offsets, columns, values, x, y):
    total = 0.0
    for k in range(offsets[i], offsets[i + 1]):
        total += values[k] * x[columns[k]]
    y[i] = total


@es.kernel
def product_asserted(i, offsets, columns, values, x, y):
    total = 0.0
    for k in range(offsets[i], offsets[i + 1]):
        column = columns[k]
        assert column >= 0 and column < x.extent(0)
        total += values[k] * x[column]
    y[i] = total


@es.kernel
def beyond(i, x):
    x[i + 1] = 1.0

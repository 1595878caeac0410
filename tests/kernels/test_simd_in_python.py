"""Kernels with vectors that are called as Python functions, and types of vectors at launches."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es

T = es.simd("float64", 4)
J = es.simd("int32", 4)


def test_native_widths():
    N = es.simd("float64")
    assert N.on("oracle") == es.simd("float64", 2)
    assert N.on(es.space("oracle")).width == 2
    assert es.simd("uint32").on("oracle").width == 4
    with es.use_space("oracle"):
        assert N.width == N(1.0).size == 2
    assert T.on("oracle") == T
    with pytest.raises(es.UnknownSpaceError):
        N.on(3)


def kernel(i, out, x, order):
    v = T.load(x, 4 * i)
    j = J.load(order, 4 * i)
    w = np.where(v > 1.0, np.sqrt(abs(v)), v * v - 2)
    w += T.gather(x, j) / (1 + T.iota())
    if (w > 1).any():
        w = w * (j % 3)
    w.store(out, 4 * i)
    out[i] = w.sum(v < 2) + w[1]


def test_a_kernel_that_is_called_gives_what_its_launch_gives():
    x = np.random.default_rng(1).normal(size=24)
    order = np.random.default_rng(2).permutation(24).astype(np.int32)
    called, launched = np.zeros(24), np.zeros(24)
    for i in range(6):
        kernel(i, called, x, order)
    es.parallel_for(es.RangePolicy(6, space="oracle"), kernel, launched, x, order)
    np.testing.assert_array_equal(called, launched)


def test_a_changed_type_is_noticed():
    V = T

    def width(i, out):
        out[i] = V.width

    out = np.zeros(1)
    for V in (T, J, es.simd("float64", 8), es.simd("float64")):
        es.parallel_for(es.RangePolicy(1, space="oracle"), width, out)
        assert out[0] == V.on("oracle").width


def times(i, out, V, factor):
    (factor * V.iota()).store(out, V.width * i)


@pytest.mark.parametrize("static", [False, True])
def test_types_are_arguments_that_are_constants(static):
    """As dtypes are, also without `es.static`."""
    kernel = es.kernel(times)
    if static:
        kernel = es.kernel(lambda i, out, V: times(i, out, V, 2.0))
    for V in (T, es.simd("int64", 2)):
        out = np.zeros(8)
        args = (out, V) if static else (out, V, 2.0)
        es.parallel_for(es.RangePolicy(8 // V.width, space="oracle"), kernel, *args)
        np.testing.assert_array_equal(out, 2 * np.tile(np.arange(V.width), 8 // V.width))

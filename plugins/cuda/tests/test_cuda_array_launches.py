"""Launches on CuPy's arrays that are known again: the same as by the long way, in CuPy's order."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import execspace as es
from execspace.views import interop

DTYPES = ["float64", "float32", "int32", "int8", "complex64", "float16"]


def on(cuda, n):
    return es.RangePolicy(n, space=cuda)


def double(i, j, x, y):
    y[i, j] = x[i, j] + x[i, j]


def total(i, x):
    return x[i]


def layouts(cupy, values):
    """Arrays with the same elements that lie in memory in several ways."""
    wide = cupy.zeros((values.shape[0], 2 * values.shape[1]), values.dtype)
    wide[:, ::2] = values
    return {
        "right": values.copy(), "left": cupy.asfortranarray(values), "apart": wide[:, ::2],
        "backwards": values[::-1].copy()[::-1], "a part": cupy.pad(values, 3)[3:-3, 3:-3],
    }  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_array_is_what_its_view_is_however_it_lies(cuda, cupy, dtype):
    policy = es.MDRangePolicy((3, 4), space=cuda)
    values = cupy.arange(12).reshape(3, 4).astype(dtype)
    kernel = es.kernel(double)
    for one in layouts(cupy, values):
        for other in layouts(cupy, values):
            for way in (one, one, one, other, one):
                x, y = layouts(cupy, values)[way], cupy.zeros((3, 4), dtype)
                es.parallel_for(policy, kernel, x, y)
                assert (y == values + values).all(), (one, other, way)


def test_nobody_asks_whose_an_array_is_that_is_known(cuda, cupy, monkeypatch):
    policy, x = es.RangePolicy(100, space=cuda), cupy.arange(100.0)
    kernel = es.kernel(total)
    for _ in range(4):
        assert es.parallel_reduce(policy, kernel, x) == 4950.0

    def asked(*given):
        raise AssertionError("the array was claimed")

    monkeypatch.setattr(interop, "_claimed", asked)
    for n in range(3):
        assert es.parallel_reduce(policy, kernel, x + n) == 4950.0 + 100 * n


def test_in_order_with_streams_of_cupy(cuda, cupy, delay):
    """On whichever stream is CuPy's current one at the launch."""
    policy = es.RangePolicy(1000, space=cuda)

    @es.kernel
    def add(i, x, s):
        x[i] += s

    x = cupy.zeros(1000)
    for _ in range(4):
        es.parallel_for(policy, add, x, 1.0)
    assert (x == 4.0).all()
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        delay(x)
        x[...] = 10.0
        es.parallel_for(policy, add, x, 1.0)
        y = x * 2.0
    stream.synchronize()
    assert (y == 22.0).all()


def test_numbers_that_do_not_fit_and_other_types(cuda, cupy):
    policy = es.RangePolicy(4, space=cuda)
    kernel = es.kernel(total)
    x = cupy.arange(4.0)
    for _ in range(4):
        assert es.parallel_reduce(policy, kernel, x) == 6.0
    assert es.parallel_reduce(policy, kernel, x.astype(np.int32)) == 6
    x.shape = 2, 2
    with pytest.raises(es.KernelTypeError):
        es.parallel_reduce(policy, kernel, x)
    with pytest.raises(es.ExecspaceError):
        es.parallel_reduce(policy, kernel, np.zeros(4))


def test_arrays_that_come_again_are_known_for_what_they_are_now(cuda, cupy):
    """The same object, another one where it was, and one that was given another shape."""

    def fill(i, x, value):
        x[i] = value

    for step in range(6):
        x = cupy.zeros(100)
        for turn in range(4):
            es.parallel_for(on(cuda, 100), fill, x, float(step + turn))
            assert (x.get() == step + turn).all()
        address = x.data.ptr
        del x
        y = cupy.zeros(200, "f4")  # often at the address that x had
        es.parallel_for(on(cuda, 200), fill, y, 3.0)
        assert (y.get() == 3.0).all() and y.data.ptr % 4 == 0 and address
        del y

    def rows(i, x):
        for j in range(x.shape[1]):
            x[i, j] = x.shape[0] * 100 + x.shape[1]

    z = cupy.zeros((6, 4), "i8")
    for shape in ((6, 4), (6, 4), (6, 4), (4, 6), (4, 6), (2, 12), (6, 4)):
        z.shape = shape
        es.parallel_for(on(cuda, shape[0]), rows, z)
        assert (z.get() == shape[0] * 100 + shape[1]).all()
    for _ in range(3):  # views of one memory, of several forms
        for part in (z, z[::2], z.T, z.view("u8"), z[:, 1:3]):
            es.parallel_for(on(cuda, part.shape[0]), rows, part)
            assert (part.get() == part.shape[0] * 100 + part.shape[1]).all()


def test_arrays_that_are_gone_are_not_kept(cuda, cupy):
    def fill(i, x, value):
        x[i] = value

    x = cupy.zeros(1000)
    gone = weakref.ref(x)
    for _ in range(4):
        es.parallel_for(on(cuda, 1000), fill, x, 1.0)
    es.fence()
    del x
    gc.collect()
    assert gone() is None

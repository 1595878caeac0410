"""Rows of containers, continued: pairs, timers, messages, complex numbers, numbers of 16 bits.

`Array` is a private array, es.local, or a tuple; `pair` a tuple.
"""

from __future__ import annotations

import time

import numpy as np

import execspace as es
from parity.containers import CONTAINERS
from parity.table import output, raises, row


@row(CONTAINERS, "Array", "t = es.local((2, 3), es.int64)")
def arrays(space: es.ExecutionSpace) -> None:
    """TestArray, TestArrayOps."""

    def kernel(i, out):
        t = es.local((2, 3), es.int64)
        for k in range(6):
            t[k // 3, k % 3] = i + k
        t[0, 0] += t[1, 2]
        out[i] = t[0, 0] * 100 + t[1, 0]

    out = es.View(4, es.int64)
    es.parallel_for(4, kernel, out)
    assert out.to_numpy().tolist() == [(2 * i + 5) * 100 + i + 3 for i in range(4)]


@row(CONTAINERS, "pair", "low, high = ordered(x[i], x[i + 1])")
def pair(space: es.ExecutionSpace) -> None:
    def ordered(a, b):
        return (a, b) if a < b else (b, a)

    def kernel(i, x, out):
        low, high = ordered(x[i], x[i + 1])
        both = (high, low)
        out[i] = 10 * both[0] + both[1]

    out = es.View(3, es.int64)
    es.parallel_for(3, kernel, es.array([3, 1, 2, 5]), out)
    assert out.to_numpy().tolist() == [31, 21, 52]


@row(CONTAINERS, "swap", "a[i], b[i] = b[i], a[i]")
def swap(space: es.ExecutionSpace) -> None:
    def kernel(i, a, b):
        a[i], b[i] = b[i], a[i]

    a, b = es.array([1, 2]), es.array([3, 4])
    es.parallel_for(2, kernel, a, b)
    assert a.to_numpy().tolist() == [3, 4] and b.to_numpy().tolist() == [1, 2]


@row(CONTAINERS, "Timer", "timer = es.Timer()")
def timer(space: es.ExecutionSpace) -> None:
    timer = es.Timer()
    time.sleep(0.01)
    assert 0.01 <= timer.seconds() < 60
    timer.reset()
    assert timer.seconds() < 0.01 * 100


PRINTS = r"""
import execspace as es

def kernel(i, x):
    if i == 1:
        es.printf("%d and %5.2f%%\n", i, x[i])

es.parallel_for(3, kernel, es.array([1.0, 2.5, 4.0]))
es.fence()
"""


@row(CONTAINERS, "printf", "assert output(PRINTS, space)")
def printf(space: es.ExecutionSpace) -> None:
    """TestPrintf, in a process of its own, for C prints."""
    assert output(PRINTS, space).strip() == "1 and  2.50%"


@row(CONTAINERS, "abort", 'assert x[i] >= 0, "x is negative"')
def abort(space: es.ExecutionSpace) -> None:
    """TestAbort; the process lives on."""

    def kernel(i, x):
        assert x[i] >= 0, "x is negative"
        x[i] += 1

    x = es.array([1.0, -1.0, 3.0])
    with raises(es.KernelAssertionError, "at index 1(.|\n)*x is negative"):
        es.parallel_for(3, kernel, x)
        space.fence()
    assert x.to_numpy()[1] == -1


@row(CONTAINERS, "min, max, minmax, clamp", "out[i, 2] = np.clip(x[i], -1.0, 2.0)")
def clamp(space: es.ExecutionSpace) -> None:
    """TestMinMaxClamp."""

    def kernel(i, x, out):
        out[i, 0] = min(x[i], 1.0, 3.0)
        out[i, 1] = max(x[i], 1.0)
        out[i, 2] = np.clip(x[i], -1.0, 2.0)

    x = np.array([-2.5, 0.5, 1.5, 4.0])
    out = es.View((4, 3))
    es.parallel_for(4, kernel, es.array(x), out)
    expected = [np.minimum(x, 1), np.maximum(x, 1), np.clip(x, -1, 2)]
    assert (out.to_numpy() == np.stack(expected, 1)).all()
    assert es.parallel_reduce(4, lambda i, x: x[i], es.array(x), reducer=es.MinMax) == (-2.5, 4)


def complex_numbers() -> tuple[np.ndarray, np.ndarray]:
    z = np.array([1.5 + 2.5j, -3 + 0.5j, 0.25 - 4j, -1 - 1j])
    return z, np.array([0.5 - 1j, 2 + 2j, -1.5 + 0.5j, 3 - 0.25j])


@row(CONTAINERS, "complex: arithmetic, comparison", "out[2, i] = z[i] * w[i] + 2 * z[i]")
def complex_arithmetic(space: es.ExecutionSpace) -> None:
    """TestComplex."""

    def kernel(i, z, w, out):
        out[0, i] = z[i] + w[i]
        out[1, i] = 1 - z[i]
        out[2, i] = z[i] * w[i] + 2 * z[i]
        out[3, i] = z[i] / w[i]
        out[4, i] = complex(z[i] == w[i], z[i] != w[i])
        out[5, i] = z[i].conjugate() * abs(w[i])

    z, w = complex_numbers()
    out = es.View((6, 4), es.complex128)
    es.parallel_for(4, kernel, es.array(z), es.array(w), out)
    found = out.to_numpy()
    assert (found[:2] == [z + w, 1 - z]).all() and (found[4] == 1j).all()
    np.testing.assert_allclose(found[2], z * w + 2 * z, rtol=1e-15)
    np.testing.assert_allclose(found[3], z / w, rtol=1e-15)
    np.testing.assert_allclose(found[5], z.conjugate() * abs(w), rtol=1e-15)


@row(CONTAINERS, "complex: real(), imag() that are stored to", "z.imag[i] += 2 * z.real[i]")
def complex_parts(space: es.ExecutionSpace) -> None:
    def kernel(i, z, x):
        z.real[i] = x[i]
        z.imag[i] += 2 * z.real[i]

    z = es.full(4, 1 + 1j)
    es.parallel_for(4, kernel, z, es.array(np.arange(4.0)))
    assert z.to_numpy().tolist() == [complex(k, 1 + 2 * k) for k in range(4)]


@row(
    CONTAINERS,
    "complex: sqrt, exp, log, pow, sin to atanh, log10, polar, arg",
    "out[7, i] = np.arctanh(z[i])",
)
def complex_functions(space: es.ExecutionSpace) -> None:
    def kernel(i, z, out):
        out[0, i] = np.sqrt(z[i])
        out[1, i] = np.exp(z[i])
        out[2, i] = np.log(z[i])
        out[3, i] = np.log10(z[i])
        out[4, i] = np.sin(z[i]) + np.cosh(z[i])
        out[5, i] = np.tan(z[i]) + np.tanh(z[i])
        out[6, i] = np.arcsin(z[i]) + np.arccosh(z[i])
        out[7, i] = np.arctanh(z[i])
        out[8, i] = np.arccos(z[i]) + np.arcsinh(z[i]) + np.arctan(z[i])
        out[9, i] = complex(np.angle(z[i]), abs(z[i]))
        out[10, i] = z[i] ** 2.5

    z, _ = complex_numbers()
    out = es.View((11, 4), es.complex128)
    es.parallel_for(4, kernel, es.array(z), out)
    expected = [
        np.sqrt(z),
        np.exp(z),
        np.log(z),
        np.log10(z),
        np.sin(z) + np.cosh(z),
        np.tan(z) + np.tanh(z),
        np.arcsin(z) + np.arccosh(z),
        np.arctanh(z),
        np.arccos(z) + np.arcsinh(z) + np.arctan(z),
        np.angle(z) + 1j * abs(z),
        z**2.5,
    ]
    np.testing.assert_allclose(out.to_numpy(), expected, rtol=1e-13)


@row(CONTAINERS, "complex: reductions and atomics", "es.atomic_add(total, 0, z[i])")
def complex_sums(space: es.ExecutionSpace) -> None:
    def kernel(i, z, total):
        es.atomic_add(total, 0, z[i])

    z = es.array(np.arange(100) * (1 - 2j))
    total = es.View(1, es.complex128)
    es.parallel_for(100, kernel, z, total)
    assert total.to_numpy()[0] == 4950 - 9900j
    assert es.parallel_reduce(100, lambda i, z: z[i], z) == 4950 - 9900j


@row(CONTAINERS, "half_t", "y[i] = es.float16(x[i] * x[i] + h[i])")
def half(space: es.ExecutionSpace) -> None:
    """TestHalfOperators, TestHalfConversion: each operation is rounded to float16."""

    def kernel(i, x, h, y):
        y[i] = es.float16(x[i] * x[i] + h[i])

    x = np.array([0.1, 1.5, -300.0, 2048.0, 6e-8])
    h = np.array([1.0, -0.25, 7.0, 1.0, 0.0], np.float16)
    y = es.View(5, es.float16)
    es.parallel_for(5, kernel, es.array(x), es.array(h), y)
    with np.errstate(over="ignore"):
        expected = (x * x + h).astype(np.float16)
    assert (y.to_numpy() == expected).all()
    es.parallel_for(5, lambda i, h, y: double(h, y, i), es.array(h), y)
    assert (y.to_numpy() == h + h * h - np.float16(3)).all()


def double(h, y, i):
    y[i] = h[i] + h[i] * h[i] - np.float16(3)


@row(CONTAINERS, "bhalf_t", "y = es.array(x, es.bfloat16)")
def bhalf(space: es.ExecutionSpace) -> None:
    def kernel(i, y):
        y[i] = 1.5 * y[i] + 0.25

    x = np.array([0.1, 1.0, 300.0, -2.75])
    y = es.array(x, es.bfloat16)
    rounded = x.astype(es.bfloat16).astype(np.float32)
    assert (y.to_numpy().astype(np.float32) == rounded).all()
    es.parallel_for(4, kernel, y)
    expected = (np.float32(1.5) * rounded + np.float32(0.25)).astype(es.bfloat16)
    assert (y.to_numpy() == expected).all()

"""Private arrays: how they are counted, and that their size costs the compiler nothing."""

from __future__ import annotations

import time

import numba

import execspace as es
from execspace_compiler.host import runtime
from execspace_compiler.ir.private_arrays import private_total


def test_an_array_is_counted_at_each_place_that_calls_its_function(lower):
    def inner(x):
        t = es.local(10)
        t[0] = x
        return t[0]

    def outer(x):
        t = es.local(5, es.float32)
        t[0] = inner(x)
        return t[0] + inner(x)

    def kernel(i, x):
        for _ in range(100):  # one array, that is cleared in each round
            t = es.local((2, 2), es.int8)
            t[1, 1] = 1
        x[i] = outer(x[i]) + inner(x[i])

    assert private_total(lower(kernel, "float64[1]").functions) == 4 + 20 + 3 * 80


def test_the_size_of_a_private_array_costs_the_compiler_nothing():
    """LLVM takes a value of many bytes apart; one of 8192 would take it 20 seconds."""
    started = time.process_time()

    @numba.njit(numba.float64(numba.float64, numba.int64))
    def kept(x, n):
        array = runtime.local_array(numba.float64, 8192)
        runtime.clear(array, 8192)
        runtime.store(array, n, x)
        return runtime.load(array, 1023)

    assert time.process_time() - started < 8
    assert kept(2.5, 1023) == 2.5
    assert kept(2.5, 1022) == 0.0

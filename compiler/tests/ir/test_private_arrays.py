"""Private arrays: how they are counted, and that their size costs the compiler nothing."""

from __future__ import annotations

import time

import numpy as np

import execspace as es
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

    def kernel(i, x, n):
        t = es.local(8000)
        t[n] = x[i]
        x[i] = t[1023]

    started, x = time.process_time(), np.full(3, 2.5)
    es.parallel_for(es.RangePolicy(3, space="serial"), kernel, x, 1023)
    assert time.process_time() - started < 8
    assert x.tolist() == [2.5] * 3
    es.parallel_for(es.RangePolicy(3, space="serial"), kernel, x, 1022)
    assert x.tolist() == [0.0] * 3

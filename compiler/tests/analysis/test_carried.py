"""Which loops are kept from vectorisers: those whose rounds may come back to an element.

All others must not be, or in-place updates would become slow.
"""

from __future__ import annotations

import numpy as np
import pytest
from cfamily_cases import CHUNKED, REDUCE, text

import execspace as es
from execspace_compiler.codegen.cfamily.dialect import CLANG_LOOP_IN_ORDER


def update(i, x, n, a, b):
    for j in range(x.size):
        a[i, j] += 2 * b[i, j]


def update_rows(i, x, n, a, b):
    for j in range(x.size):
        for k in range(x.size):
            a[j, k + 1] += b[i, j]


def counter(i, x, n, a, b):
    j = 0
    while j < n:
        a[i, j] += 1.0
        j += 2


def permuted(i, x, n, a, b):
    a[x[i], 0] += 1.0  # calls of a kernel are taken to be independent


def backwards(i, x, n, a, b):
    for j in range(x.size - 1, -1, -2):
        a[i, n - 3 * j] += 1.0


def sum_of_row(i, x, n, a, b):
    for j in range(x.size):
        a[i, 0] += b[i, j]


def gather(i, x, n, a, b):
    for j in range(x.size):
        a[i, j] = b[i, x[j]] + a[i, j]


def scatter(i, x, n, a, b):
    for j in range(x.size):
        a[i, x[j]] = b[i, j]


def row_of(A, i, k):
    A[i, k] += 1.0


def update_in_a_function(i, x, n, a, b):
    for j in range(x.size):
        row_of(a, i, j + 1)


@pytest.mark.parametrize(
    "kernel",
    [
        update,
        update_rows,
        counter,
        permuted,
        backwards,
        sum_of_row,
        scatter,
        gather,
        update_in_a_function,
    ],
    ids=lambda k: k.__name__,
)
def test_loops_that_may_be_vectorised(kernel):
    assert marked(kernel) == 0


def histogram(i, x, n, a, b):
    for j in range(x.size):
        a[i, x[j]] += 1.0


def columns(i, x, n, a, b):
    for j in range(x.size):  # this one
        for k in range(n):
            a[x[j], k] += b[i, k]


def atomics(i, x, n, a, b):
    h = es.local(8, np.int64)
    for k in range(8):
        h[k] = 0
    for j in range(n):
        es.atomic_add(h, x[j] % 8, 1)
    a[i, 0] = h[3]


def wrapping(i, x, n, a, b):
    for j in range(n):
        a[i, es.int32(j) * es.int32(65536) * es.int32(65536)] += 1.0


def may_be_left_out(i, x, n, a, b):
    j = 0
    for k in range(n):
        a[i, j] += 1.0
        if x[k] > 3:
            continue
        j += 1


def flattened(i, x, n, a, b):
    for j in range(x.size):  # this one, for n may be 0
        for k in range(n):
            x[j * n + k] *= 2


def by_hand(i, x, n, a, b):
    j = 0
    while j < n:
        a[i, j] += 1.0
        j += x[j]


def within(i, x, n, a, b):
    for _ in range(n):
        for k in range(x.size):
            row_of(a, i, x[k])


@pytest.mark.parametrize(
    ("kernel", "loops"),
    [
        (histogram, 1),
        (columns, 1),
        (flattened, 1),
        (by_hand, 1),
        (atomics, 1),
        (wrapping, 1),
        (may_be_left_out, 1),
        (within, 2),
    ],
    ids=lambda k: getattr(k, "__name__", ""),
)
def test_loops_whose_rounds_may_meet(kernel, loops):
    assert marked(kernel) == loops


def marked(kernel):
    arguments = ("int64[1]", int, "float64[2]", "float64[2]")
    lines = [s.strip() for s in text(kernel, *arguments, **CHUNKED).source.splitlines()]
    at = [n for n, line in enumerate(lines) if line == CLANG_LOOP_IN_ORDER]
    assert all(lines[n + 1].startswith(("for (", "while (")) for n in at)
    return len(at)


def counted(i, s, x):
    s[x[i]] += 1.0


def updated(i, s, x):
    x[i] += 1
    s[0] += x[i]


@pytest.mark.parametrize(("kernel", "times"), [(counted, 1), (updated, 0)])
def test_the_loop_over_a_range_of_an_array_reduction(kernel, times):
    reducer = es.Sum(shape=5, dtype=np.float64)
    source = text(kernel, "int64[1]", reducer=reducer, **REDUCE, **CHUNKED).source
    assert source.count(CLANG_LOOP_IN_ORDER) == times

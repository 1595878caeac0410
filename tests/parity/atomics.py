"""Rows of atomic operations: what many indices do to one element, and what each of them gets.

TestAtomicOperations has each operation in three forms, for all types.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import execspace as es
from parity.table import absent, row

ATOMICS = "1.7 Atomics"
INTEGERS = ("int32", "int64", "uint32", "uint64")
REALS = ("float32", "float64")
Array = npt.NDArray[Any]


def complex_types(space: es.ExecutionSpace) -> tuple[str, ...]:
    """Types of complex numbers; OpenCL exchanges 8 bytes at most."""
    return ("complex64", "complex128")[: space.capabilities.atomic_bytes // 8]


def numbers(dtype: str) -> tuple[Array, Array]:
    """Elements and operands, all positive."""
    rng = np.random.default_rng(8)
    return rng.integers(1, 1000, 50).astype(dtype), rng.integers(1, 20, 50).astype(dtype)


def check(kernel: Any, dtype: str, expected: list[Array], n: int = 50) -> None:
    """Launch `kernel(i, y, b)`: it makes of `y[0, f, i]` the elements that function f leaves, and
    stores into `y[1, f, i]` the value before the step, and into `y[2, f, i]` the one after it."""
    a, b = numbers(dtype)
    y = es.array(np.tile(a, (3, len(expected), 1)))
    es.parallel_for(n, kernel, y, es.array(b))
    found = y.to_numpy()
    for k, right in enumerate(expected):
        assert (found[0, k] == right).all(), (dtype, k, "left")
        assert (found[1, k] == a).all(), (dtype, k, "before")
        assert (found[2, k] == right).all(), (dtype, k, "after")


@row(ATOMICS, "atomic_load, atomic_store", "seen = es.atomic_load(flags, i)")
def load_store(space: es.ExecutionSpace) -> None:
    def kernel(i, flags, out):
        es.atomic_store(flags, i, 2 * i)
        seen = es.atomic_load(flags, i)
        out[i] = seen

    flags, out = es.View(100, es.int64), es.View(100, es.int64)
    es.parallel_for(100, kernel, flags, out)
    assert out.to_numpy().tolist() == flags.to_numpy().tolist() == list(range(0, 200, 2))


@row(ATOMICS, "atomic_exchange", "got[i] = es.atomic_exchange(x, 0, T(i))")
def exchange(space: es.ExecutionSpace) -> None:
    """TestAtomics: what one stored another one gets, so nothing is lost."""

    def kernel(i, x, got, T):
        got[i] = es.atomic_exchange(x, 0, T(i))

    for dtype in (*INTEGERS, *REALS, *complex_types(space)):
        x, got = es.full(1, 1000, dtype), es.View(1000, dtype)
        es.parallel_for(1000, kernel, x, got, getattr(es, dtype))
        found = [*got.to_numpy(), *x.to_numpy()]
        assert sorted(v.real for v in found) == list(range(1001)), dtype


@row(
    ATOMICS,
    "atomic_compare_exchange",
    "seen = es.atomic_compare_exchange(total, 0, old, hypot(old, x[i]))",
)
def compare_exchange(space: es.ExecutionSpace) -> None:
    """Any other step is a loop of it."""

    def hypot(a, b):
        return np.sqrt(a * a + b * b)

    def kernel(i, x, total):
        old = es.atomic_load(total, 0)
        while True:
            seen = es.atomic_compare_exchange(total, 0, old, hypot(old, x[i]))
            if seen == old:
                break
            old = seen

    x = np.arange(200.0)
    total = es.View(1)
    es.parallel_for(200, kernel, es.array(x), total)
    np.testing.assert_allclose(total.item(), np.linalg.norm(x), rtol=1e-13)


@row(
    ATOMICS,
    "atomic_add, fetch_add, add_fetch, and sub, inc, dec",
    "y[1, 0, i] = es.atomic_fetch_add(y, (1, 0, i), b[i])",
)
def add_sub(space: es.ExecutionSpace) -> None:
    def kernel(i, y, b):
        es.atomic_add(y, (0, 0, i), b[i])
        y[1, 0, i] = es.atomic_fetch_add(y, (1, 0, i), b[i])
        y[2, 0, i] = es.atomic_add_fetch(y, (2, 0, i), b[i])
        es.atomic_sub(y, (0, 1, i), b[i])
        y[1, 1, i] = es.atomic_fetch_sub(y, (1, 1, i), b[i])
        y[2, 1, i] = es.atomic_sub_fetch(y, (2, 1, i), b[i])
        es.atomic_inc(y, (0, 2, i))
        y[1, 2, i] = es.atomic_fetch_inc(y, (1, 2, i))
        y[2, 2, i] = es.atomic_inc_fetch(y, (2, 2, i))
        es.atomic_dec(y, (0, 3, i))
        y[1, 3, i] = es.atomic_fetch_dec(y, (1, 3, i))
        y[2, 3, i] = es.atomic_dec_fetch(y, (2, 3, i))

    for dtype in (*INTEGERS, *REALS, *complex_types(space)):
        a, b = numbers(dtype)
        one = a.dtype.type(1)
        check(kernel, dtype, [a + b, a - b, a + one, a - one])


@row(ATOMICS, "atomic_add by all to one element", "es.atomic_add(total, 0, i)")
def contention(space: es.ExecutionSpace) -> None:
    def kernel(i, total, places):
        es.atomic_add(total, 0, i)
        places[es.atomic_fetch_inc(total, 1)] = i

    total, places = es.View(2, es.int64), es.View(5000, es.int64)
    es.parallel_for(5000, kernel, total, places)
    assert total.to_numpy().tolist() == [5000 * 4999 // 2, 5000]
    assert sorted(places.to_numpy()) == list(range(5000))


@row(
    ATOMICS,
    "atomic_mul, atomic_div, atomic_mod in three forms",
    "y[2, 2, i] = es.atomic_mod_fetch(y, (2, 2, i), b[i])",
)
def mul_div_mod(space: es.ExecutionSpace) -> None:
    def kernel(i, y, b):
        es.atomic_mul(y, (0, 0, i), b[i])
        y[1, 0, i] = es.atomic_fetch_mul(y, (1, 0, i), b[i])
        y[2, 0, i] = es.atomic_mul_fetch(y, (2, 0, i), b[i])
        es.atomic_div(y, (0, 1, i), b[i])
        y[1, 1, i] = es.atomic_fetch_div(y, (1, 1, i), b[i])
        y[2, 1, i] = es.atomic_div_fetch(y, (2, 1, i), b[i])
        es.atomic_mod(y, (0, 2, i), b[i])
        y[1, 2, i] = es.atomic_fetch_mod(y, (1, 2, i), b[i])
        y[2, 2, i] = es.atomic_mod_fetch(y, (2, 2, i), b[i])

    for dtype in (*INTEGERS, *REALS):
        a, b = numbers(dtype)
        check(kernel, dtype, [a * b, a // b if dtype in INTEGERS else a / b, a % b])


@row(
    ATOMICS,
    "atomic_min, atomic_max in three forms",
    "y[1, 0, i] = es.atomic_fetch_min(y, (1, 0, i), b[i])",
)
def min_max(space: es.ExecutionSpace) -> None:
    def kernel(i, y, b):
        es.atomic_min(y, (0, 0, i), b[i])
        y[1, 0, i] = es.atomic_fetch_min(y, (1, 0, i), b[i])
        y[2, 0, i] = es.atomic_min_fetch(y, (2, 0, i), b[i])
        es.atomic_max(y, (0, 1, i), b[i])
        y[1, 1, i] = es.atomic_fetch_max(y, (1, 1, i), b[i])
        y[2, 1, i] = es.atomic_max_fetch(y, (2, 1, i), b[i])

    for dtype in (*INTEGERS, *REALS):
        a, b = numbers(dtype)
        check(kernel, dtype, [np.minimum(a, b), np.maximum(a, b)])


@row(
    ATOMICS,
    "atomic_and, atomic_or, atomic_xor, atomic_nand in three forms",
    "y[2, 3, i] = es.atomic_nand_fetch(y, (2, 3, i), b[i])",
)
def bitwise(space: es.ExecutionSpace) -> None:
    def kernel(i, y, b):
        es.atomic_and(y, (0, 0, i), b[i])
        y[1, 0, i] = es.atomic_fetch_and(y, (1, 0, i), b[i])
        y[2, 0, i] = es.atomic_and_fetch(y, (2, 0, i), b[i])
        es.atomic_or(y, (0, 1, i), b[i])
        y[1, 1, i] = es.atomic_fetch_or(y, (1, 1, i), b[i])
        y[2, 1, i] = es.atomic_or_fetch(y, (2, 1, i), b[i])
        es.atomic_xor(y, (0, 2, i), b[i])
        y[1, 2, i] = es.atomic_fetch_xor(y, (1, 2, i), b[i])
        y[2, 2, i] = es.atomic_xor_fetch(y, (2, 2, i), b[i])
        es.atomic_nand(y, (0, 3, i), b[i])
        y[1, 3, i] = es.atomic_fetch_nand(y, (1, 3, i), b[i])
        y[2, 3, i] = es.atomic_nand_fetch(y, (2, 3, i), b[i])

    for dtype in INTEGERS:
        a, b = numbers(dtype)
        check(kernel, dtype, [a & b, a | b, a ^ b, ~(a & b)])


@row(
    ATOMICS,
    "atomic_lshift, atomic_rshift in three forms",
    "y[1, 0, i] = es.atomic_fetch_lshift(y, (1, 0, i), b[i])",
)
def shifts(space: es.ExecutionSpace) -> None:
    def kernel(i, y, b):
        es.atomic_lshift(y, (0, 0, i), b[i])
        y[1, 0, i] = es.atomic_fetch_lshift(y, (1, 0, i), b[i])
        y[2, 0, i] = es.atomic_lshift_fetch(y, (2, 0, i), b[i])
        es.atomic_rshift(y, (0, 1, i), b[i])
        y[1, 1, i] = es.atomic_fetch_rshift(y, (1, 1, i), b[i])
        y[2, 1, i] = es.atomic_rshift_fetch(y, (2, 1, i), b[i])

    for dtype in INTEGERS:
        a, b = numbers(dtype)
        check(kernel, dtype, [a << b, a >> b])


class SuperScalar(es.Record):
    """That of TestAtomics: four numbers with operators."""

    a: es.float64 = 0.0
    b: es.float64 = 0.0
    c: es.float64 = 0.0
    d: es.int64 = 0

    def __add__(self, other):
        return SuperScalar(self.a + other.a, self.b + other.b, self.c + other.c, self.d + other.d)


@row(
    ATOMICS,
    "Any type that can be copied",
    "old[i] = es.atomic_exchange(x, 0, SuperScalar(i, 2 * i, 3 * i, 4 * i))",
)
def whole_records(space: es.ExecutionSpace) -> None:
    """TestAtomics of SuperScalar<4>: no record is half of one and half of another."""

    def kernel(i, x, old):
        old[i] = es.atomic_exchange(x, 0, SuperScalar(i, 2 * i, 3 * i, 4 * i))
        es.atomic_add(x, 1, SuperScalar(i, 1.0, 0.5, 2))
        seen = es.atomic_load(x, 2)
        while True:
            before = seen
            seen = es.atomic_compare_exchange(x, 2, before, before + SuperScalar(1.0, 0.0, 2.0, i))
            if seen == before:
                break

    x, old = es.full(3, SuperScalar()), es.full(300, SuperScalar())
    es.parallel_for(300, kernel, x, old)
    last, total, counted = x.to_numpy()
    records = [*old.to_numpy(), last]
    assert sorted(r.d for r in records) == [0, 0, *range(4, 1200, 4)]
    assert all((2 * r.a, 3 * r.a, 4 * r.a) == (r.b, r.c, r.d) for r in records)
    assert total == SuperScalar(44850.0, 300.0, 150.0, 600)
    assert counted == SuperScalar(300.0, 0.0, 600.0, 44850)


@row(
    ATOMICS,
    "Any step: desul's atomic_fetch_oper",
    "old[i] = es.atomic_fetch_oper(step, x, 0, i)",
)
def any_step(space: es.ExecutionSpace) -> None:
    def step(v, w):
        return v * 3 % 1001 if w % 2 else (v + 7) % 1001

    def kernel(i, x, old):
        old[i] = es.atomic_fetch_oper(step, x, 0, i)

    x, old = es.full(1, 1), es.View(200, es.int64)
    es.parallel_for(200, kernel, x, old)
    values = [*old.to_numpy().tolist(), x.item()]
    starts, ends = list(values[:-1]), [step(v, i) for i, v in enumerate(values[:-1])]
    assert sorted([*starts, values[-1]]) == sorted([*ends, 1])  # a chain from 1 to the last


absent(ATOMICS, "memory_fence, load_fence, store_fence", "Fences within kernels")

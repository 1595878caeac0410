"""Atomic functions: their results on every space, and that no other thread comes between."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import needs_atomic, needs_dtype, needs_threads

from .operations import DTYPES, results

# -- results ------------------------------------------------------------------------------------


def needs(space, dtype):
    """Skip where a space has no numbers of this type, or no atomic operation on a whole one."""
    needs_dtype(space, dtype)
    needs_atomic(space, np.dtype(dtype).itemsize)


def widest_complex(space):
    """The largest complex type that changes atomically as a whole."""
    return np.dtype("complex128" if space.capabilities.atomic_bytes >= 16 else "complex64")


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_operation_and_its_three_forms(space, dtype):
    needs(space, dtype)
    every = ("int32", "bool", "float64", "complex128")
    with es.use_space(space):
        results(dtype, staged.parallel_for, forms=3 if dtype in every else 1)


def exchanges(i, A, out, x):
    es.atomic_inc(A, 0)
    out[0] = es.atomic_fetch_inc(A, 0)
    out[1] = es.atomic_inc_fetch(A, 0)
    es.atomic_dec(A, 1)
    out[2] = es.atomic_fetch_dec(A, 1)
    out[3] = es.atomic_dec_fetch(A, 1)
    out[4] = es.atomic_exchange(A, 2, x[0])
    es.atomic_exchange(A, 2, x[1])
    out[5] = es.atomic_compare_exchange(A, 3, x[0], x[1])  # it is not x[0]: nothing happens
    out[6] = es.atomic_compare_exchange(A, 3, x[2], x[1])
    es.atomic_store(A, 4, x[2])
    out[7] = es.atomic_load(A, 5)


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float16", "float32", "complex128"])
def test_steps_by_one_exchanges_loads_and_stores(space, dtype):
    needs(space, dtype)
    A, out = np.arange(1, 7).astype(dtype), np.zeros(8, dtype)
    x = np.array([50, 60, 4], dtype)
    with es.use_space(space):
        staged.parallel_for(1, exchanges, A, out, x)
    assert A.tolist() == [4, np.array(-1).astype(dtype), 60, 60, 4, 6]
    minus = np.array(0).astype(dtype) - np.ones(1, dtype)[0:1]
    assert out.tolist() == [2, 4, 1, minus[0], 3, 4, 4, 6]


def test_compare_exchange_compares_bits(space):
    """So that a NaN can be exchanged, and zeros of different sign are different."""
    A = np.array([np.nan, 0.0, 1.0])

    def kernel(i, A, x):
        es.atomic_compare_exchange(A, 0, x[0], 7.0)
        es.atomic_compare_exchange(A, 1, x[1], 7.0)
        es.atomic_compare_exchange(A, 2, 1, 7.0)

    with es.use_space(space):
        staged.parallel_for(1, kernel, A, np.array([np.nan, -0.0]))
    assert A.tolist() == [7, 0, 7]


def bump(A, k):
    return es.atomic_add_fetch(A, k, 1)


def in_expressions(i, A, out):
    out[0] = A[0] + es.atomic_fetch_add(A, 0, 5) * 10 + A[0] * 100  # 1 + 10 + 600
    out[1] = es.atomic_add_fetch(A, bump(A, 1), 2) if A[1] == 0 else -1  # A[1] = 1, then 3
    out[2] = 1 if A[2] > 5 and bump(A, 2) > 0 else 0  # not evaluated
    out[3] = 1 if A[2] > 5 or bump(A, 2) > 0 else 0
    while es.atomic_add_fetch(A, 3, 1) < 10:
        out[4] += 1
    out[5] = bump(A, 4) - bump(A, 4) * 2  # 1 - 4
    A[5], A[6] = es.atomic_exchange(A, 6, 3), es.atomic_exchange(A, 5, 4)


def test_python_s_order_of_evaluation(space):
    A, out = np.array([1, 0, 0, 0, 0, 50, 60]), np.zeros(6, np.int64)
    with es.use_space(space):
        staged.parallel_for(1, in_expressions, A, out)
    assert out.tolist() == [611, 3, 0, 1, 9, -3]
    assert A.tolist() == [6, 3, 1, 10, 2, 60, 50]
    B, plain = np.array([1, 0, 0, 0, 0, 50, 60]), np.zeros(6, np.int64)
    in_expressions(0, B, plain)
    assert (A.tolist(), out.tolist()) == (B.tolist(), plain.tolist())


# -- the atomic trait ---------------------------------------------------------------------------


def every_assignment(i, n, f):
    n[0] += 3
    n[1] -= 3
    n[2] *= 3
    n[3] //= 3
    n[4] %= 3
    n[5] &= 3
    n[6] |= 3
    n[7] ^= 3
    n[8] <<= 3
    n[9] >>= 3
    f[0] += 0.5
    f[1] -= 0.5
    f[2] *= 0.5
    f[3] /= 0.5
    f[4] //= 0.5
    f[5] %= 0.75


def every_complex_assignment(i, z, n):
    z[0] += 1j
    z[1] -= 1j
    z[2] *= 1j
    z[3] /= 1j
    z[4] = z[5] + n[0]


def check_trait(space, kernel, *arrays):
    """A launch with atomic Views of arrays leaves what the kernel called as a function does."""
    views = [es.view_of(staged.place(space, a.copy())).with_traits("atomic") for a in arrays]
    kernel(0, *arrays)
    es.parallel_for(es.RangePolicy(1, space=space), kernel, *views)
    for view, expected in zip(views, arrays, strict=True):
        np.testing.assert_array_equal(staged.fetch(view), expected)


def test_of_a_view_with_the_trait_every_access_is_atomic(space):
    check_trait(space, every_assignment, np.full(10, 100), np.full(6, 8.0))


def test_of_a_complex_view_with_the_trait_every_access_is_atomic(space):
    needs_dtype(space, widest_complex(space))
    z = np.full(6, 2 + 2j, widest_complex(space))
    check_trait(space, every_complex_assignment, z, np.full(1, 100))


def test_records_hold_numbers_that_change_atomically(space):
    record = np.dtype({"names": ["z", "n", "w"], "formats": [widest_complex(space), "i4", "c8"],
                       "offsets": [0, 16, 24], "itemsize": 32})  # fmt: skip
    needs_dtype(space, widest_complex(space))
    start = np.zeros(3, record)
    start["w"] = -1j
    p = staged.view_on(space, start, "p")

    def kernel(i, p):
        p[i % 3].z += 1 + 1j
        p[i % 3].w *= 1j
        p[i % 3].n |= es.int32(1 << (i // 3))

    es.parallel_for(es.RangePolicy(12, space=space), kernel, p.with_traits("atomic"))
    found = staged.fetch(p)
    assert found["n"].tolist() == [15] * 3
    assert found["w"].tolist() == [-1j] * 3
    assert found["z"].tolist() == [4 + 4j] * 3


# -- no other thread comes between --------------------------------------------------------------


@pytest.fixture
def threads(space):
    """A space that runs several threads at once."""
    needs_threads(space)
    return space


MANY = 200_000  # steps of each test; each of the elements gets many of them


def together(i, ready):
    """The two halves of a range begin at the same time, or else one is over before the other."""
    if i == 0 or i == ready[1]:
        es.atomic_inc(ready, 0)
        for _ in range(20_000_000):
            if es.atomic_load(ready, 0) >= 2:
                break


def launch(threads, kernel, *args, n=MANY):
    ready = np.array([0, n // 2])
    staged.parallel_for(es.RangePolicy(n, space=threads), kernel, ready, *args)
    assert ready[0] == 2


def sums(i, ready, A, step):
    together(i, ready)
    es.atomic_add(A, i % 3, step)
    es.atomic_sub(A, 3, step)
    if i == 0:
        A[4] = 0


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d not in ("bool", "float16")])
def test_no_contribution_to_a_sum_is_lost(threads, dtype):
    needs_dtype(threads, dtype)
    number = np.dtype(dtype).type
    A, step = np.zeros(5, dtype), number(1 + 1j if np.dtype(dtype).kind == "c" else 1)
    launch(threads, sums, A, step)
    counts = np.bincount(np.arange(MANY) % 3).tolist()
    expected = (np.array([*counts, -MANY, 0]) * (step if number(1) != step else 1)).astype(dtype)
    np.testing.assert_array_equal(A, expected)


COUNTERS = 100  # so many that each counts less than 2048, which float16 can


def counts(i, ready, A):
    together(i, ready)
    es.atomic_add(A, i % COUNTERS, 1)
    es.atomic_sub(A, COUNTERS + i % COUNTERS, 1)


def test_no_contribution_to_a_sum_of_float16_is_lost(threads):
    needs(threads, "float16")
    A = np.zeros(2 * COUNTERS + 1, np.float16)
    launch(threads, counts, A)
    each = MANY // COUNTERS
    assert A.tolist() == [each] * COUNTERS + [-each] * COUNTERS + [0]


SOME = 2048  # steps of which two change the product, so that no order of them overflows


def powers(i, ready, A, factors):
    together(i, ready)
    es.atomic_mul(A, 0, factors[i % SOME])
    es.atomic_div(A, 1, factors[i % SOME])


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_no_factor_is_lost(threads, dtype):
    """Powers of two that cancel each other: the product is exactly one if all of them are in.

    Most factors are one, but such a step too would undo what came in between if it were not atomic.
    """
    needs(threads, dtype)
    factors = np.ones(SOME, dtype)
    factors[:2] = [2j, -0.5j] if "complex" in dtype else [2, 0.5]
    A = np.ones(2, dtype)
    assert MANY // SOME < 120 and MANY % SOME > 1  # 2^120 is a float32
    launch(threads, powers, A, factors)
    assert A.tolist() == [1, 1]


LANES = 64  # elements that all threads walk over at the same pace


def bits(i, ready, A, B):
    together(i, ready)
    k, n = i % LANES, i // LANES
    es.atomic_or(A, (0, k), 1 << n)
    es.atomic_and(A, (1, k), ~(1 << n))
    es.atomic_xor(A, (2, k), 1 << n)
    es.atomic_nand(A, (3, k), -1)  # inverts
    es.atomic_lshift(A, (4, k), 1)
    es.atomic_rshift(A, (5, k), 1)
    es.atomic_mul(B, k, 3)


def test_no_bit_is_lost(threads):
    rounds = 60
    for _ in range(100):
        A, B = np.zeros((6, LANES), np.int64), np.ones(LANES, np.uint64)
        A[1], A[4], A[5] = -1, 1, 1 << rounds
        launch(threads, bits, A, B, n=LANES * rounds)
        ones = (1 << rounds) - 1
        expected = np.array([ones, ~ones, ones, 0, 1 << rounds, 1])
        np.testing.assert_array_equal(A, np.repeat(expected[:, None], LANES, 1))
        np.testing.assert_array_equal(B, np.uint64(pow(3, rounds, 2**64)))


def extremes(i, ready, A, x):
    together(i, ready)
    es.atomic_max(A, i % 7, x[i])
    es.atomic_min(A, 7 + i % 7, x[i])


@pytest.mark.parametrize("dtype", ["int16", "float64"])
def test_no_extreme_is_lost(threads, dtype):
    x = np.random.default_rng(3).permutation(MANY).astype(dtype)
    A = np.repeat(np.array([0, 30_000], dtype), 7)
    launch(threads, extremes, A, x)
    parts = [x[k::7] for k in range(7)]
    least = [min(p.min(), 30_000) for p in parts]
    assert A.tolist() == [*(max(p.max(), 0) for p in parts), *least]


def tickets(i, ready, counters, seen):
    together(i, ready)
    seen[0, int(es.atomic_fetch_inc(counters, 0).real)] += 1
    seen[1, int(es.atomic_add_fetch(counters, 1, 1).real) - 1] += 1


@pytest.mark.parametrize("dtype", ["int32", "uint64", "float32", "float64", "complex128"])
def test_what_is_fetched_is_fetched_once(threads, dtype):
    """Every thread draws numbers from a counter: each number is drawn exactly once."""
    needs(threads, dtype)
    seen = np.zeros((2, MANY), np.int32)
    launch(threads, tickets, np.zeros(2, dtype), seen)
    assert (seen == 1).all()


def pass_on(i, ready, slot, got, ids):
    together(i, ready)
    got[i] = es.atomic_exchange(slot, 0, ids[i])


@pytest.mark.parametrize("dtype", ["int32", "float64", "complex64", "complex128"])
def test_an_exchange_neither_loses_nor_doubles(threads, dtype):
    needs(threads, dtype)
    slot, got = np.zeros(1, dtype), np.zeros(MANY, dtype)
    ids = np.arange(1, MANY + 1).astype(dtype)
    launch(threads, pass_on, slot, got, ids)
    everything = np.sort(np.append(got, slot).real)
    np.testing.assert_array_equal(everything, np.arange(MANY + 1))


def guarded(i, ready, lock, total):
    together(i, ready)
    while es.atomic_compare_exchange(lock, 0, 0, 1) != 0:
        pass
    total[0] += 1  # no atomic operation: the lock keeps the others out
    total[1] += total[0]
    es.atomic_store(lock, 0, 0)


@pytest.mark.parametrize("dtype", ["uint8", "int64"])
def test_a_lock_of_compare_exchange_and_store(threads, dtype):
    lock, total = np.zeros(1, dtype), np.zeros(2, np.int64)
    launch(threads, guarded, lock, total, n=MANY // 4)
    n = MANY // 4
    assert (lock[0], *total) == (0, n, n * (n + 1) // 2)


def no_halves(i, ready, slot, torn):
    together(i, ready)
    es.atomic_store(slot, 0, complex(i, i))
    z = es.atomic_load(slot, 0)
    if z.real != z.imag:
        es.atomic_inc(torn, 0)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_nobody_sees_half_of_a_number(threads, dtype):
    needs(threads, dtype)
    slot, torn = np.zeros(1, dtype), np.zeros(1, np.int64)
    launch(threads, no_halves, slot, torn)
    assert torn[0] == 0

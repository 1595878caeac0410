"""Kernels whose neighbouring indices part ways: the same answers in lanes, however many there are.

Hosts run neighbouring indices in the lanes of vectors; other spaces take no notice of `lanes=`. The
reference is CPython, which calls the kernel as the Python function that it is, index by index.
"""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged

N = 37  # no multiple of a number of lanes
LANES = (1, 4, 16)
MOST = 2**63 - 1


def numbers(dtype="int64", n=2 * N, seed=1):
    """Numbers from -9 to 9, of float types also fractions."""
    random = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return np.round(random.uniform(-9, 9, n), 2).astype(dtype)
    return random.integers(0 if np.dtype(dtype).kind == "u" else -9, 10, n).astype(dtype)


def agrees(space, kernel, *args, first=0, last=N, lanes=LANES, **options):
    """Assert that a kernel leaves in its arrays what CPython does."""
    right = copied(args)
    with np.errstate(all="ignore"):
        for i in range(first, last):
            kernel(i, *right)
    for number in lanes:
        found = copied(args)
        policy = es.RangePolicy(first, last, space=space, lanes=number, **options)
        staged.parallel_for(policy, kernel, *found)
        for a, b in zip(found, right, strict=True):
            np.testing.assert_array_equal(a, b, f"{number} lanes", strict=True)


def copied(args):
    return [a.copy() if isinstance(a, np.ndarray) else a for a in args]


# -- loops and branches ---------------------------------------------------------------------------


@es.kernel
def halvings(i, x, out):
    v, n = x[i], 0
    while v > 1 and n < 30:
        v = v // 2 if v % 2 == 0 else 3 * v + 1
        n += 1
    out[i] = n


@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16, 32, 64])
def test_each_lane_does_rounds_of_its_own(space, lanes):
    agrees(space, halvings, np.arange(1, 101), np.zeros(100, np.int64), last=100, lanes=[lanes])


@es.kernel
def below(i, x, out):
    v = 0
    for k in range(i, x[i + 9] % 7):
        v = 3 * v + k
    out[i + 9] = v


@pytest.mark.parametrize("count", [0, 1, 4, 5, 15, 16, 17])
def test_what_is_left_of_a_range_touches_no_other_element(space, count):
    for first in (-9, 0, 7):
        agrees(space, below, numbers(), np.full(60, -1), first=first, last=first + count)


@es.kernel
def ways_out(i, x, out):
    s = 0
    for a in range(x[i] % 7):
        for b in range(a, x[i + a] % 9):
            if (a + b + i) % 5 == 0:
                continue
            c = 0
            while c < b:
                c += 1
                if c * b % 7 == 3:
                    break
                if c > 4 + i % 3:
                    out[i, 1] = s
                    return
                s += c * a + b
            else:
                s += 7
            if s % 11 == 10:
                break
        else:
            s += 1000
            continue
        if s > 400 + i:
            break
    else:
        s += 5
    out[i, 0] = s


def test_break_continue_return_and_else(space):
    agrees(space, ways_out, numbers(), np.zeros((N, 2), np.int64))


@es.kernel
def left_behind(i, x, out):
    k = last = -1
    for k in range(i % 5):
        last = k
        if x[i] == k:
            break
        k += 10
    for r in range(6):
        w = r + i
        if w % 4 == 3 and x[i] < 2:
            w = 100
    out[i, 0], out[i, 1], out[i, 2] = k, last, w


def test_what_variables_of_loops_hold_behind_them(space):
    agrees(space, left_behind, numbers(), np.zeros((N, 3), np.int64))


@es.kernel
def long_steps(i, out):
    n = 0
    for k in range(MOST - i % 7, MOST):
        n += 1 + k % 2
    for k in range(i % 9 - MOST, -MOST, -1 - i % 2):
        n += 10_000 + k % 3
    if i >= 5:
        for _ in range(i - MOST - 1, i - MOST + 4):
            n += 10_000_000_000
    out[i] = n


def test_ranges_that_end_where_integers_do(space):
    agrees(space, long_steps, np.zeros(N, np.int64))


@es.kernel
def far_steps(i, ends, steps, out):
    n = 0
    for _ in range(0, ends[i], steps[i]):
        n += 1
    for _ in range(ends[i] - 1, ends[i], 2**62):
        n += 10
    for _ in range(-2, -ends[i], -steps[i]):
        n += 100
    for _ in range(-ends[i] + 7, -ends[i], -3):
        n += 1000
    out[i] = n


def test_steps_that_go_beyond_all_integers(space):
    ends = np.array([MOST, MOST - 1, MOST, 2**62 + 5, 17])
    steps = np.array([MOST - 10, MOST // 2, 2**62, 2**61, 5])
    agrees(space, far_steps, ends, steps, np.zeros(5, np.int64), last=5)


# -- what must not be computed --------------------------------------------------------------------


@es.kernel(fma=False)
def guarded(i, x, places, out):
    n, s = len(x), 0.0
    s += x[i + 1] if i + 1 < n else -1.0
    if (0 <= places[i] < n and x[places[i]] > 0) or (i + 5 < n and x[i + 5] > 1):
        s += 100
    k = i
    while k < n and x[k] < 4:
        s += x[k]
        k += 1
    while k > i - 9 and k >= 1 and x[k - 1] < 6:
        k -= 1
    out[i] = s + k


@pytest.mark.parametrize("dtype", ["int16", "float32", "float64"])
def test_a_subscript_behind_a_test_is_not_read(space, dtype):
    places = np.where(np.arange(N) % 3 == 0, 2**59, np.arange(N) - 2)
    agrees(space, guarded, numbers(dtype, N), places, np.zeros(N))


@es.kernel
def stored_within(i, x, y, places):
    if i % 5 == 1 or i > 30:
        return
    for k in range(-2, 3):
        if k == x[i] % 3 and 0 <= places[i] < len(y):
            y[places[i]] = x[i]
        elif 0 <= i + k * 2**50 < 7:
            y[i] = x[i] + 3


@pytest.mark.parametrize("dtype", ["bool", "float16", "float32", "complex128"])
def test_a_store_behind_a_test_is_not_done(space, dtype):
    places = np.where(np.arange(N) % 4 == 0, 2**59, np.arange(N))
    agrees(space, stored_within, numbers(), np.zeros(N, dtype), places)


@es.kernel
def of_integers(i, x, y, out, tests):
    a, b = x[i], y[i]
    out[i, 0] = a + b
    out[i, 1] = a - b
    out[i, 2] = a * b
    out[i, 3] = a // b
    out[i, 4] = a % b
    out[i, 5] = -a
    out[i, 6] = ~a
    out[i, 7] = (a & b) ^ (a | b)
    out[i, 8] = a << b
    out[i, 9] = a >> b
    out[i, 10] = (a << 3) + (a >> 2)
    out[i, 11] = abs(a)
    out[i, 12] = min(a, b)
    out[i, 13] = np.maximum(a, b)
    out[i, 14] = a // 7 + a % 5
    out[i, 15] = np.float64(a) / 3
    tests[i, 0] = a < b
    tests[i, 1] = a == b or a >= 5
    tests[i, 2] = not (a == b or a < b)
    tests[i, 3] = bool(a) == (b > 2)


@es.kernel(fma=False)
def of_floats(i, x, y, out, tests):
    a, b = x[i], y[i]
    out[i, 0] = a + b
    out[i, 1] = a - b
    out[i, 2] = a * b
    out[i, 3] = a / b
    out[i, 4] = a // b
    out[i, 5] = a % b
    out[i, 6] = -a
    out[i, 7] = abs(a)
    out[i, 8] = min(a, b)
    out[i, 9] = max(a, b)
    out[i, 10] = np.minimum(a, b)
    out[i, 11] = np.maximum(a, b)
    out[i, 12] = np.fmin(a, b)
    out[i, 13] = np.fmax(a, 0.0)
    out[i, 14] = np.sqrt(abs(a))
    out[i, 15] = np.floor(a) + np.ceil(b)
    out[i, 16] = np.trunc(a) - np.rint(b)
    out[i, 17] = np.copysign(a, b)
    out[i, 18] = a if b < a else 2
    tests[i, 0] = a < b
    tests[i, 1] = not a <= b
    tests[i, 2] = a != b or np.isnan(a)
    tests[i, 3] = np.isfinite(a) and np.isinf(b)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64",
                                   "uint64", "float32", "float64"])  # fmt: skip
def test_operations_on_numbers_of_each_type(space, dtype):
    x, y = numbers(dtype, 60), numbers(dtype, 60, seed=2)
    tests = np.zeros((60, 4), bool)
    if np.dtype(dtype).kind == "f":
        special = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5]
        x[:36], y[:36] = np.transpose(list(product(special, special)))
        agrees(space, of_floats, x, y, np.zeros((60, 19), dtype), tests, last=60)
        return
    limits = [np.iinfo(dtype).min, np.iinfo(dtype).max, 0, 1]
    x[:16], y[:16] = np.transpose(np.array(list(product(limits, limits)), dtype))
    agrees(space, of_integers, x, y, np.zeros((60, 16), dtype), tests, last=60)


@es.kernel
def divided(i, a, b, out):
    x, y = a[i], b[i]
    v, n = x, 0
    while v != y and n < i % 7:
        v = v // y + v % (y + 1) if y > 0 else v - 3
        v = min(v, x) ^ max(v, y)
        n += 1
    out[i, 0] = v
    out[i, 1] = x // y if y != 0 else 77
    out[i, 2] = x % y if y != 0 else x
    out[i, 3] = x << (n & 3) | x >> n


@pytest.mark.parametrize("dtype", ["int8", "uint32", "int64"])
def test_divisions_of_lanes_that_have_zeros(space, dtype):
    a, b = numbers(dtype, N), numbers(dtype, N, seed=2)
    a[:3], b[:3] = np.iinfo(dtype).min, np.iinfo(dtype).max
    agrees(space, divided, a, b, np.zeros((N, 4), dtype), lanes=(1, 8))


# -- functions, private arrays, records -----------------------------------------------------------


@es.function
def search(x, start, count):
    """The first number that is greater than 3 or zero, and where."""
    for k in range(count):
        if x[start + k] > 3:
            return k, x[start + k]
        if x[start + k] == 0:
            continue
        if k > 5:
            break
    else:
        return -1, count
    return -2, 2 * count


@es.kernel
def searches(i, x, out):
    a, b = search(x, i, 5)
    c, d = search(x, i, i % 9)
    e, f = search(x, 0, 3)  # the same for all
    g, h = 0, 0
    if i % 3 == 1:
        g, h = search(x, 0, i % 11)
    for k, v in enumerate((a, b, c, d, e, f, g, h)):
        out[i, k] = v


def test_a_function_with_several_results_and_returns(space):
    agrees(space, searches, numbers(), np.zeros((N, 8), np.int64))


@es.function
def fill(t, n, v):
    for k in range(n):
        t[k] = v + k


@es.kernel
def own_array(i, x, out, dtype):
    t = es.local(6, dtype)
    u = es.local((2, 3), dtype)
    for k in range(6):
        t[k] = x[i + k] % 7
    if x[i] > 0:
        fill(t, x[i] % 5, 3)
    for a in range(3 + i % 4):
        b = a
        while b > 0 and t[b - 1] > t[b]:
            t[b - 1], t[b] = t[b], t[b - 1]
            b -= 1
    fill(u[i % 2, :], 3, 1)
    u[x[i] % 2, i % 3] = t[3]
    for k in range(6):
        out[i, k] = t[k] + u[k % 2, k // 2]


@pytest.mark.parametrize("dtype", ["uint16", "int64", "float16", "float32"])
def test_a_private_array_of_each_lane(space, dtype):
    kind = getattr(es, dtype)
    agrees(space, own_array, numbers(), np.zeros((N, 6), dtype), kind, lanes=(1, 8))


PARTICLE = np.dtype(
    [("kind", np.int8), ("x", np.float64), ("v", np.float32, (3,)), ("z", np.complex64)]
)


@es.kernel(fma=False)
def records(i, x, p, q):
    for k in range(x[i] % 4):
        p[i].x += p[i].v[(i + k) % 3] * 2
        if p[i].kind > 3 or p[i].x > 8:
            return
        q[i] = p[i]
        q[i].z = q[i].z * 1j
    q[i].v[x[i] % 3] = x[i]
    q[i].kind = 1


def test_fields_of_records_that_are_not_aligned(space):
    p = np.zeros(N, PARTICLE)
    p["kind"], p["x"], p["z"] = numbers(n=N), numbers("float64", N), 1 + 2j
    p["v"] = numbers("float32", 3 * N).reshape(N, 3)
    right = p.copy().view(np.recarray), np.zeros(N, PARTICLE).view(np.recarray)
    for i in range(N):
        records(i, numbers(), *right)
    for lanes in LANES:
        found = p.copy(), np.zeros(N, PARTICLE)
        policy = es.RangePolicy(N, space=space, lanes=lanes)
        staged.parallel_for(policy, records, numbers(), *found)
        assert [a.tobytes() for a in found] == [a.tobytes() for a in right]


@es.kernel(fma=False)
def orbit(i, z, out):
    w, n = z[i], 0
    while abs(w.real) + abs(w.imag) < 4 and n < 20:
        w = w * w + z[i] if n % 3 else w / (z[i] + 1) - 1j
        n += 1
    out[i] = w.conjugate()


def test_complex_numbers(space):
    z = (numbers("float64") + 1j * numbers("float64", seed=3)) / 8
    agrees(space, orbit, z, np.zeros(N, complex))


# -- one lane after another -----------------------------------------------------------------------


@es.kernel
def counted(i, x, counts, greatest, found):
    for k in range(x[i] % 5):
        es.atomic_add(counts, k, i)
        if x[i] > 3 and k == 2:
            es.atomic_max(greatest, k, x[i] + i)
            break
    if x[i] < 0:
        found[i] = es.atomic_fetch_add(counts, 10 + i, x[i])
        return
    found[i] = es.atomic_exchange(counts, 10 + i, 3) + es.atomic_add_fetch(counts, 10 + i, 4)


def test_atomic_operations_of_lanes_that_are_on(space):
    counts = np.concatenate([np.zeros(10, np.int64), numbers(n=N)])
    agrees(space, counted, numbers(), counts, np.zeros(5, np.int64), np.zeros(N, np.int64))


@es.function
def checked(v, bad):
    for k in range(3):
        assert v + k != bad, "helper"
    return v + 1


@es.kernel
def asserts(i, x, out, bad):
    out[i, 0] = 1
    assert x[i] != 3, "three"
    for k in range(x[i] % 5):
        out[i, 1] = k + 1
        if k == 3:
            assert i % 7 != 0, "seven"
    out[i, 2] = checked(x[i], bad) if i % 2 else 4
    out[i, 3] = 1


@pytest.mark.parametrize("seed", range(4))
def test_an_assertion_names_a_lane_that_failed_and_ends_only_that(space, seed):
    x, bad = numbers(seed=seed), (100, 2)[seed % 2]
    x[x == 3] = 2 if seed < 2 else 3
    right, failed = np.zeros((N, 4), np.int64), {}
    for i in range(N):
        try:
            asserts(i, x, right, bad)
        except AssertionError as error:
            failed[i] = str(error).split()[0]
    for lanes in LANES:
        out = np.zeros((N, 4), np.int64)
        with pytest.raises(es.KernelAssertionError) as raised:
            staged.parallel_for(es.RangePolicy(N, space=space, lanes=lanes), asserts, x, out, bad)
        index = int(re.search(r"at index (\d+)", str(raised.value))[1])
        assert f"assertion failed: {failed[index]}" in str(raised.value)
        if space.name != "oracle":  # which stops at once
            np.testing.assert_array_equal(out, right)


# -- ranges and Views -----------------------------------------------------------------------------


@es.kernel
def rank_2(i, j, x, out):
    v, n = x[i, j], 0
    while v > 1 and n < 20 + i:
        v = v // 2 if v % 2 == 0 else 3 * v + 1
        n += 1
        if n == j + 7:
            break
    out[i, j] = 100 * v + n


@pytest.mark.parametrize("iterate", ["left", "right"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_and_tiles(space, iterate, order):
    x = np.asarray(np.arange(5 * 23).reshape(5, 23) * 7 % 50, order=order)
    right = np.zeros_like(x)
    for i, j in product(range(1, 5), range(1, 23)):
        rank_2(i, j, x, right)
    for lanes, tile in product((1, 8), (None, (4, 4))):
        out = np.zeros_like(x)
        options = {"iterate": iterate, "tile": tile, "lanes": lanes}
        policy = es.MDRangePolicy((1, 1), (5, 23), space=space, **options)
        staged.parallel_for(policy, rank_2, x, out)
        np.testing.assert_array_equal(out, right)


@pytest.mark.parametrize("part", [np.s_[::-1, 1], np.s_[5:105:3, 0], np.s_[110:5:-2, 2]])
def test_views_whose_elements_are_no_neighbours(space, part):
    x = np.abs(numbers(n=120 * 3)).reshape(120, 3)
    count = len(x[part])
    right = np.zeros(count, np.int64)
    for i in range(count):
        halvings(i, x[part], right)
    for lanes in LANES:
        out = np.zeros((count, 2), np.int64)
        policy = es.RangePolicy(count, space=space, lanes=lanes)
        staged.parallel_for(policy, halvings, x[part], out[:, 1])
        np.testing.assert_array_equal(out[:, 1], right)
        assert not out[:, 0].any()


@es.kernel
def grow(i, a, b):
    x, n = a[i], 0
    while x * x + 0.3 * n < 9 and n < 20:
        x = x * 1.25 + x * 0.3
        n += 1
    b[i] = x * 0.3 + a[i] * b[i]


@pytest.mark.parametrize("options", [{}, {"lanes": 4}, {"lanes": 16}], ids=str)
def test_fused_kernels_give_what_they_give_one_by_one(space, options):
    """To the bit, also where products and sums are one operation."""
    policy, results = es.RangePolicy(300, space=space, **options), []
    for fuse in (False, True):
        a, b, c = (staged.view_on(space, numbers("float64", 300, seed)) for seed in range(3))
        with es.Graph(space=space) as graph:
            es.parallel_for(policy, grow, a, b)
            es.parallel_for(policy, grow, b, c)
        graph.instantiate(fuse=fuse).submit()
        results.append([staged.fetch(v).tobytes() for v in (a, b, c)])
    assert results[0] == results[1]

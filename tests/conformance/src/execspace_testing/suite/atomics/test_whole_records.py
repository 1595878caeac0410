"""Atomic operations on whole records, and by any function: nobody sees half of a change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import fitting, needs_atomic, needs_dtype


class Count(es.Record):
    """A weight, and twice the number of what was counted; too large for any instruction."""

    weight: es.int64
    twice: es.int64 = 0
    kind: es.int16 = 0
    more: es.int64 = 7

    def __add__(self, other):
        return Count(
            self.weight + other.weight, self.twice + other.twice, self.kind | other.kind, self.more
        )

    def __sub__(self, other):
        return Count(self.weight - other.weight, self.twice, self.kind, self.more)

    def __lt__(self, other):
        return self.weight < other.weight


@pytest.fixture
def space(space):
    needs_dtype(space, "int64")
    needs_atomic(space, 4)
    return space


def records(space, n):
    """A View of so many, zero."""
    made = es.View(n, Count, space=space, label="counts")
    es.deep_copy(made, np.zeros(n, Count.dtype))
    return made


def add(i, counts, wrong):
    n = counts.extent(0)
    es.atomic_add(counts, i % (n - 1), Count(i, 2, 1 << (i % 3)))
    old = es.atomic_fetch_add(counts, n - 1, Count(1, 2))
    new = es.atomic_add_fetch(counts, n - 1, Count(1, 2))
    seen = es.atomic_load(counts, n - 1)
    for c in (old, new, seen):
        if c.twice != 2 * c.weight:
            es.atomic_inc(wrong, 0)


def test_records_are_added_as_a_whole(space):
    n = fitting(space, 3000)
    counts, wrong = records(space, 6), staged.view_on(space, [0])
    es.parallel_for(es.RangePolicy(n, space=space), add, counts, wrong)
    found = staged.fetch(counts)
    assert staged.fetch(wrong)[0] == 0
    assert found["weight"].tolist() == [*(sum(range(k, n, 5)) for k in range(5)), 2 * n]
    assert found["twice"].tolist() == [*(2 * len(range(k, n, 5)) for k in range(5)), 4 * n]
    assert found["kind"][:5].tolist() == [7] * 5


def exchange(i, counts, wrong, least):
    es.atomic_store(counts, 0, Count(i, 2 * i))
    old = es.atomic_exchange(counts, 0, Count(i + 1, 2 * i + 2))
    if old.twice != 2 * old.weight:
        es.atomic_inc(wrong, 0)
    es.atomic_max(least, 0, Count(i, 2 * i))
    es.atomic_min(least, 1, Count(-i, -2 * i))
    done = False
    while not done:
        seen = es.atomic_load(counts, 1)
        found = es.atomic_compare_exchange(counts, 1, seen, Count(seen.weight + 1, seen.twice + 2))
        done = found == seen


def test_exchanges_extremes_and_compare_and_swap(space):
    n = fitting(space, 1000)
    counts, least, wrong = records(space, 2), records(space, 2), staged.view_on(space, [0])
    es.parallel_for(es.RangePolicy(n, space=space), exchange, counts, wrong, least)
    assert staged.fetch(wrong)[0] == 0
    assert staged.fetch(counts)["weight"][1] == n and staged.fetch(counts)["twice"][1] == 2 * n
    assert staged.fetch(least)["weight"].tolist() == [n - 1, 1 - n]
    assert staged.fetch(least)["twice"].tolist() == [2 * n - 2, 2 - 2 * n]


def step(i, counts):
    counts[i % 3] += Count(1, 2)
    counts[3] -= Count(i)
    counts[4] = Count(5, 10)
    z = counts[4].copy()
    if z.twice != 2 * z.weight:
        es.atomic_max(counts, 0, Count(1 << 40))


def test_the_atomic_trait_is_for_whole_records_too(space):
    n = fitting(space, 999)
    counts = records(space, 5)
    es.deep_copy(counts, np.array([Count(0), Count(0), Count(0), Count(0), Count(5, 10)]))
    es.parallel_for(es.RangePolicy(n, space=space), step, counts.with_traits("atomic"))
    found = staged.fetch(counts)
    assert found["weight"].tolist() == [n // 3 + (k < n % 3) for k in range(3)] + [
        -sum(range(n)), 5
    ]  # fmt: skip


@es.function
def counted(counts, k, value):
    es.atomic_add(counts, k, value)


class Holder:
    """Has the View as an attribute, and calls helpers with parts of it."""

    def __init__(self, counts):
        self.counts = counts

    def run(self, i):
        counted(self.counts[1:], i % 2, Count(1))

        def inner(k):
            es.atomic_add(self.counts, k, Count(1))

        inner(1)


def test_in_helpers_methods_and_parts_of_views(space):
    """The same element is the same whichever View it is reached by."""
    n = fitting(space, 1000)
    counts = records(space, 3)
    es.parallel_for(es.RangePolicy(n, space=space), Holder(counts).run)
    assert staged.fetch(counts)["weight"].tolist() == [0, n + (n + 1) // 2, n // 2]


def of_two(i, j, counts):
    es.atomic_add(counts, (i % 2, j % 3), Count(1, 2))


@pytest.mark.parametrize("layout", ["left", "right"])
def test_views_of_several_dimensions(space, layout):
    counts = es.View((2, 3), Count, space=space, layout=layout)
    es.deep_copy(counts, np.zeros((2, 3), Count.dtype))
    es.parallel_for(es.MDRangePolicy((6, 9), space=space), of_two, counts)
    assert (staged.fetch(counts)["weight"] == 9).all()


def joined(i, counts):
    es.atomic_add(counts, 0, Count(1))
    return i


def scanned(i, prefix, final, counts):
    if final:
        es.atomic_add(counts, 1, Count(prefix))
    return 1


def test_in_reductions_and_scans(space):
    n = fitting(space, 500)
    counts = records(space, 2)
    assert es.parallel_reduce(es.RangePolicy(n, space=space), joined, counts) == sum(range(n))
    assert es.parallel_scan(es.RangePolicy(n, space=space), scanned, counts) == n
    assert staged.fetch(counts)["weight"].tolist() == [n, sum(range(n))]


def private(i, out):
    own = es.local(2, Count)
    own[1] = Count(3)
    es.atomic_add(own, 1, Count(i))
    out[i] = es.atomic_fetch_oper(lambda a, b: a + b, own, 1, Count(1)).weight


def test_private_arrays(space):
    out = staged.view_on(space, np.zeros(5, np.int64))
    es.parallel_for(es.RangePolicy(5, space=space), private, out)
    assert staged.fetch(out).tolist() == [3, 4, 5, 6, 7]


# -- any function ----------------------------------------------------------------------------------


@es.function
def saturated(a, b):
    return min(a + b, 100)


@es.function
def newest(a, b):
    return b if b.weight > a.weight else a


def by_function(i, numbers, counts, seen):
    es.atomic_fetch_oper(saturated, numbers, 0, 3)
    seen[i] = es.atomic_oper_fetch(lambda a, b: a + b, numbers, 1, 1)
    es.atomic_oper_fetch(newest, counts, 0, Count(i, 2 * i))


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint16", "float32", "float64", "float16"])
def test_any_function_of_an_element(space, dtype):
    needs_dtype(space, dtype)
    needs_atomic(space, np.dtype(dtype).itemsize)
    n = fitting(space, 900)
    numbers, counts = staged.view_on(space, [0, 0], dtype=dtype), records(space, 1)
    seen = staged.view_on(space, np.zeros(n, dtype))
    es.parallel_for(es.RangePolicy(n, space=space), by_function, numbers, counts, seen)
    assert staged.fetch(numbers).tolist() == [100, n]
    assert sorted(staged.fetch(seen).tolist()) == list(range(1, n + 1))
    assert staged.fetch(counts)[0]["twice"] == 2 * (n - 1)


def rotated(i, z):
    es.atomic_fetch_oper(lambda a, b: a * b, z, 0, z[1])


def test_a_function_of_complex_numbers(space):
    needs_dtype(space, "complex64")
    needs_atomic(space, 8)
    z = staged.view_on(space, [1, 1j], dtype="complex64")
    es.parallel_for(es.RangePolicy(101, space=space), rotated, z)
    assert staged.fetch(z)[0] == 1j


def test_the_host_does_the_same():
    """On an array, by one thread."""
    counts, x = np.array([Count(1), Count(2, 4)]), np.array([1.0, 2.0])
    assert es.atomic_fetch_add(counts, 0, Count(5, 1)) == Count(1)
    assert counts[0] == Count(6, 1)
    assert es.atomic_exchange(counts, 1, Count(9)) == Count(2, 4)
    assert es.atomic_compare_exchange(counts, 1, Count(8), Count(1)) == Count(9)
    assert es.atomic_compare_exchange(counts, 1, Count(9), Count(1)) == Count(9)
    assert es.atomic_load(counts, 1) == Count(1)
    assert es.atomic_max_fetch(counts, 1, Count(4)) == Count(4)
    es.atomic_store(counts, 1, Count(3, 3))
    assert counts[1] == Count(3, 3)
    assert es.atomic_oper_fetch(newest, counts, 1, Count(7)) == Count(7)
    assert es.atomic_fetch_oper(saturated, x, 1, 99.0) == 2.0 and x[1] == 100.0
    with pytest.raises(es.DTypeError, match="expected a Count"):
        es.atomic_store(counts, 0, 1.0)
    with pytest.raises(es.DTypeError, match="Make the dtype a class"):
        es.atomic_load(np.zeros(1, [("a", "f8"), ("b", "f8")]), 0)


# -- functions that do more than compute -----------------------------------------------------------


@es.function
def with_limit(a, b):
    assert b.weight < 50, "too heavy"
    return a + b


def launched(policy, kernel, *args):
    """Launch, and wait for what it raises."""
    es.parallel_for(policy, kernel, *args)
    es.fence()


def limited(i, counts):
    es.atomic_fetch_oper(with_limit, counts, 0, Count(i, 2))


def test_an_assertion_in_the_function_leaves_no_lock_behind(space):
    counts = records(space, 1)
    for _ in range(2):
        with pytest.raises(es.KernelAssertionError, match="too heavy"):
            launched(es.RangePolicy(100, space=space), limited, counts)
    counts = records(space, 1)
    es.parallel_for(es.RangePolicy(50, space=space), limited, counts)
    assert staged.fetch(counts)["weight"][0] == sum(range(50))


def one_in_the_other(i, counts):
    def outer(a, b):
        es.atomic_add(counts, 1 - i % 2, Count(0, 1))
        return a + b

    es.atomic_fetch_oper(outer, counts, i % 2, Count(1))


def test_a_function_may_change_records_itself(space):
    """Each of two records within a step on the other: nobody waits for ever. The function may be
    called more than once for a step."""
    n = fitting(space, 1000)
    counts = records(space, 2)
    es.parallel_for(es.RangePolicy(n, space=space), one_in_the_other, counts)
    found = staged.fetch(counts)
    assert found["weight"].tolist() == [(n + 1) // 2, n // 2]
    assert found["twice"][0] >= n // 2 and found["twice"][1] >= (n + 1) // 2


@dataclass
class Owner:
    counts: es.View

    def add(self, k, value):
        es.atomic_add(self.counts, k, value)
        return es.atomic_load(self.counts, k).weight


def by_method(i, owner):
    owner.add(0, Count(1))


def test_in_methods_of_dataclasses(space):
    counts = records(space, 1)
    es.parallel_for(es.RangePolicy(100, space=space), by_method, Owner(counts))
    assert staged.fetch(counts)["weight"][0] == 100


def in_rank_0(i, count):
    es.atomic_add(count, (), Count(1, 2))
    es.atomic_max(count, (), Count(0))


def test_views_of_rank_0(space):
    count = es.View((), Count, space=space)
    es.deep_copy(count, np.zeros((), Count.dtype))
    es.parallel_for(es.RangePolicy(10, space=space), in_rank_0, count)
    assert staged.fetch(count)["twice"] == 20

"""C++'s algorithms: NaN, long Views, operators, records, overlap, random lists, graphs."""

from __future__ import annotations

import operator
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import execspace as es
from execspace_testing import staged
from execspace_testing.drawn import drawn
from execspace_testing.sizes import fitting

A = es.algorithms
some = drawn(15)
NAN = float("nan")


def odd(v):
    return v % 2 == 1


def is_nan(v):
    return v != v


# -- NaN and zeros --------------------------------------------------------------------------------


def test_nan_equals_nothing_and_is_the_greatest(space):
    x = staged.view_on(space, [1.0, NAN, -0.0, NAN, 0.0], "x")
    assert A.find(x, NAN, space=space) == 5
    assert A.count(x, NAN, space=space) == 0
    assert A.find_if(x, is_nan, space=space) == 1
    assert A.find(x, 0.0, space=space) == 2
    assert not A.equal(x, x, space=space)
    assert A.mismatch(x, x, space=space) == 1
    assert A.unique_copy(x, staged.view_on(space, np.zeros(5)), space=space) == 5
    assert A.remove(x, NAN, space=space) == 5
    ordered = staged.view_on(space, [-np.inf, -0.0, 0.0, np.inf, NAN, NAN], "ordered")
    assert A.is_sorted(ordered, space=space)
    assert A.is_sorted_until(x, space=space) == 2
    assert A.lexicographical_compare(ordered[:4], ordered, space=space)
    assert not A.lexicographical_compare(ordered, ordered, space=space)
    assert A.lexicographical_compare(ordered[3:4], ordered[4:5], space=space)


def test_nan_is_an_extreme_as_in_numpy(space):
    values = np.array([3.0, NAN, 1.0, NAN, 9.0])
    x = staged.view_on(space, values, "x")
    assert A.min_element(x, space=space) == values.argmin() == 1
    assert A.max_element(x, space=space) == values.argmax() == 1
    assert A.minmax_element(x, space=space) == (1, 3)

    def numbers_first(a, b):
        return a < b or (b != b and a == a)

    assert A.min_element(x, numbers_first, space=space) == 2
    assert A.max_element(x, numbers_first, space=space) == 1
    assert A.minmax_element(x, numbers_first, space=space) == (2, 3)


# -- blocks and threads ---------------------------------------------------------------------------


def test_what_is_in_a_later_block_is_found(space, monkeypatch):
    monkeypatch.setattr("execspace.algorithms.std_arguments._BLOCK", 4)
    monkeypatch.setattr("execspace.algorithms.std_arguments._GROWTH", 2)
    n = 41
    for at in (0, 3, 4, 11, 12, 40):
        values = np.zeros(n, int)
        values[at] = 1
        x = staged.view_on(space, values, "x")
        assert A.find(x, 1, space=space) == at
        assert A.find_if_not(x, lambda v: v == 0, space=space) == at
        assert A.any_of(x, odd, space=space) and not A.none_of(x, odd, space=space)
        assert A.find_end(x, x[at : at + 1], space=space) == at
        assert A.search_n(x, n - at - 1, 0, space=space) == (0 if at >= n - at - 1 else at + 1)
        assert A.partition_point(x[at:], odd, space=space) == 1
    assert A.find(x[:40], 1, space=space) == 40
    assert not A.any_of(x[:40], odd, space=space)


def test_long_views(space):
    n = fitting(space, 70001)
    rng = np.random.default_rng(1)
    values = rng.integers(-50, 50, n)
    x, z = staged.view_on(space, values, "x"), staged.view_on(space, np.zeros(n, int), "z")
    assert A.reduce(x, space=space) == values.sum()
    assert A.count_if(x, odd, space=space) == (values % 2 == 1).sum()
    A.inclusive_scan(x, z, space=space)
    assert (staged.fetch(z) == np.cumsum(values)).all()
    A.inclusive_scan(x, z, lambda a, b: max(a, b), space=space)
    assert (staged.fetch(z) == np.maximum.accumulate(values)).all()
    A.exclusive_scan(x, x, 7, space=space)
    assert (staged.fetch(x) == np.cumsum(values) - values + 7).all()
    es.deep_copy(x, values)
    kept = A.copy_if(x, z, odd, space=space)
    assert (staged.fetch(z)[:kept] == values[values % 2 == 1]).all()
    kept = A.remove_if(x, odd, space=space)
    assert (staged.fetch(x)[:kept] == values[values % 2 == 0]).all()
    es.deep_copy(x, values)
    assert A.rotate(x, n // 3, space=space) == n - n // 3
    assert (staged.fetch(x) == np.roll(values, -(n // 3))).all()
    A.reverse(x, space=space)
    assert (staged.fetch(x) == np.roll(values, -(n // 3))[::-1]).all()


def first_digits(a, b):
    """Associative, and not commutative: the first one that is not zero."""
    return a if a != 0 else b


def test_scans_join_in_order(space):
    n = fitting(space, 20001)
    values = np.zeros(n, np.int32)
    values[n // 3] = 5
    values[n // 2] = 7
    x = staged.view_on(space, values, "x")
    A.inclusive_scan(x, x, first_digits, space=space)
    assert (staged.fetch(x) == np.where(np.arange(n) < n // 3, 0, 5)).all()


def times(a, b):
    return a * b % 10007


def by_last_digit(a, b):
    return a % 10 < b % 10


@pytest.mark.parametrize("n", [8191, 8192, 16389])  # parts that a thread of a host joins
def test_functions_join_parts(space, n):
    values = np.random.default_rng(n).integers(1, 10007, n)
    x = staged.view_on(space, values, "x")
    product = 3
    for v in values.tolist():
        product = product * v % 10007
    assert A.reduce(x, 3, times, space=space) == product
    assert A.transform_reduce(x, x, 0, operator.xor, operator.or_, space=space) == (
        np.bitwise_xor.reduce(values)
    )
    digits = values % 10
    least, greatest = digits.argmin(), digits.argmax()
    assert A.min_element(x, by_last_digit, space=space) == least
    assert A.max_element(x, by_last_digit, space=space) == greatest
    last = n - 1 - digits[::-1].argmax()
    assert A.minmax_element(x, by_last_digit, space=space) == (least, last)


def test_elements_move_by_parts(space, monkeypatch):
    monkeypatch.setattr("execspace.algorithms.std_arguments._CACHED", 8)
    n = 300
    for by in (1, 2, 5, 150, 299):
        x = staged.view_on(space, np.arange(n), "x")
        assert A.shift_left(x, by, space=space) == n - by
        assert staged.fetch(x)[: n - by].tolist() == list(range(by, n))
        es.deep_copy(x, np.arange(n))
        assert A.shift_right(x, by, space=space) == by
        assert staged.fetch(x)[by:].tolist() == list(range(n - by))
        es.deep_copy(x, np.arange(n))
        A.copy(x[by:], x[: n - by], space=space)
        A.copy_backward(x[: n - by], x, space=space)
        assert staged.fetch(x).tolist()[by:] == list(range(by, n))
        es.deep_copy(x, np.arange(n))
        assert A.remove_if(x, lambda v: v % 7 == 3, space=space) == n - 43
        assert staged.fetch(x)[: n - 43].tolist() == [v for v in range(n) if v % 7 != 3]
        es.deep_copy(x, np.arange(n) // 3)
        assert A.unique(x, space=space) == 100
        assert staged.fetch(x)[:100].tolist() == list(range(100))


# -- types, operators -----------------------------------------------------------------------------


def test_operators(space):
    values = np.array([3, 1, 4, 1, 5], np.int8)
    x, z = staged.view_on(space, values, "x"), staged.view_on(space, np.zeros(5, np.int64), "z")
    for op in (None, operator.add, np.add, es.Sum, es.Sum(dtype=es.int64)):
        assert A.reduce(x, 10, op, space=space) == 24
        A.exclusive_scan(x, z, 10, op, space=space)
        assert staged.fetch(z).tolist() == [10, 13, 14, 18, 19]
    assert A.reduce(x, None, es.Prod, space=space) == 60
    assert A.reduce(x, 9, np.maximum, space=space) == 9
    assert A.reduce(x, op=es.Min, space=space) == 1
    assert A.reduce(x, op=operator.or_, space=space) == 7
    assert A.reduce(x, op=operator.xor, space=space) == 3 ^ 4 ^ 5
    A.transform(x, z, z, operator.sub, space=space)
    assert staged.fetch(z).tolist() == [-7, -12, -10, -17, -14]
    assert A.find_if(x, lambda v: v > 3, space=space) == 2
    assert A.is_sorted(x[3:], operator.lt, space=space)


def test_types_of_totals(space):
    x = staged.view_on(space, np.full(3, 100, np.int8), "x")
    assert A.reduce(x, space=space) == 300
    assert A.reduce(x, 0.5, space=space) == 300.5
    assert A.reduce(x, op=lambda a, b: a + b, space=space) == 300 - 256  # in the type of elements
    assert A.reduce(x, 0.5, lambda a, b: a + b, space=space) == 300.5
    assert A.transform_reduce(x, 0, es.Sum, lambda v: v * 0.5, space=space) == 150
    z = staged.view_on(space, np.zeros(3, np.float32), "z")
    A.inclusive_scan(x, z, space=space)
    assert staged.fetch(z).tolist() == [100, 200, 300]
    c = staged.view_on(space, np.array([1j, 2.0]), "c")
    assert A.reduce(c, 1, space=space) == 3 + 1j
    assert A.transform_reduce(c, 0, None, abs, space=space) == 3
    assert A.reduce(c, op=lambda a, b: a * b, space=space) == 2j


def test_a_function_without_a_result_only_reads(space):
    x = staged.view_on(space, np.arange(5.0), "x")
    seen = staged.view_on(space, np.zeros(1), "seen")

    def add(v):
        es.atomic_add(seen, 0, v)

    A.for_each(x.readonly(), add, space=space)
    assert staged.fetch(seen).tolist() == [10]
    assert staged.fetch(x).tolist() == [0, 1, 2, 3, 4]


particle = np.dtype([("mass", "f8"), ("id", "i4")])


def heavy(p):
    return p.mass > 1


def test_records_are_looked_at_and_copied(space):
    values = np.array([(0.5, 1), (2.5, 2), (1.0, 3), (3.5, 4)], particle)
    x = staged.view_on(space, values, "x")
    y, z = (staged.view_on(space, np.zeros(4, particle), name) for name in "yz")
    assert A.find_if(x, heavy, space=space) == 1
    assert A.count_if(x, heavy, space=space) == 2
    assert A.any_of(x, heavy, space=space) and not A.is_partitioned(x, heavy, space=space)
    assert A.copy_if(x, y, heavy, space=space) == 2
    assert staged.fetch(y)[:2].tolist() == [(2.5, 2), (3.5, 4)]
    assert A.partition_copy(x, y, z, heavy, space=space) == (2, 2)
    assert staged.fetch(z)[:2].tolist() == [(0.5, 1), (1.0, 3)]
    A.rotate_copy(x, 1, y, space=space)
    assert staged.fetch(y)["id"].tolist() == [2, 3, 4, 1]
    A.copy(x[1:], x[:3], space=space)
    assert staged.fetch(x)["id"].tolist() == [2, 3, 4, 4]


def lighter(p, q):
    return p.mass < q.mass


def alike(p, q):
    return p.id // 2 == q.id // 2


def grow(p):
    p.mass += p.id


def weight(p):
    return 2 * p.mass


def test_records_are_what_functions_get(space):
    values = np.array([(0.5, 1), (1.0, 2), (2.5, 3), (0.0, 4)], particle)
    x = staged.view_on(space, values, "x")
    z = staged.view_on(space, np.zeros(4), "z")
    assert A.is_sorted_until(x, lighter, space=space) == 3
    assert A.adjacent_find(x, alike, space=space) == 1
    assert A.search(x, x[2:], alike, space=space) == 2
    assert A.equal(x, x, alike, space=space)
    assert A.lexicographical_compare(x[:1], x[1:], lighter, space=space)
    A.transform(x, z, weight, space=space)
    assert staged.fetch(z).tolist() == [1, 2, 5, 0]
    assert A.transform_reduce(x, 0, es.Max, weight, space=space) == 5
    A.transform_exclusive_scan(x, z, 1, None, weight, space=space)
    assert staged.fetch(z).tolist() == [1, 2, 4, 9]
    A.for_each(x, grow, space=space)
    assert staged.fetch(x)["mass"].tolist() == [1.5, 3, 5.5, 4]
    assert A.unique(x, alike, space=space) == 3
    assert staged.fetch(x)["id"][:3].tolist() == [1, 2, 4]
    assert A.remove_if(x[:3], lambda p: p.id == 2, space=space) == 2
    assert staged.fetch(x)["id"][:2].tolist() == [1, 4]
    assert A.shift_left(x, 1, space=space) == 3
    assert staged.fetch(x)["id"][0] == 4


@dataclass(frozen=True)
class Backwards(es.Layout):
    """No strides describe it, so it has no subviews on the host."""

    def offset(self, i, n):
        return n - 1 - i

    def span(self, n):
        return n


def test_views_with_a_layout_of_ones_own(space):
    x = es.View(7, es.int64, label="x", layout=Backwards(), space=space)
    z = es.View(7, es.int64, label="z", layout=Backwards(), space=space)
    es.deep_copy(x, np.arange(7))
    A.copy(x, z, space=space)
    A.reverse(z, space=space)
    assert staged.fetch(z).tolist() == [6, 5, 4, 3, 2, 1, 0]
    A.inclusive_scan(x, x, space=space)
    assert staged.fetch(x).tolist() == [0, 1, 3, 6, 10, 15, 21]
    assert A.remove_if(x, odd, space=space) == 3
    assert staged.fetch(x)[:3].tolist() == [0, 6, 10]
    assert A.shift_left(z, 2, space=space) == 5
    assert staged.fetch(z)[:5].tolist() == [4, 3, 2, 1, 0]


# -- overlap --------------------------------------------------------------------------------------


def test_copies_to_the_left_and_to_the_right(space):
    for begin, to in ((3, 0), (1, 0), (5, 4)):
        x = staged.view_on(space, np.arange(10), "x")
        n = 10 - begin
        A.copy(x[begin:], x[to : to + n], space=space)
        wanted = np.arange(10)
        wanted[to : to + n] = np.arange(begin, 10)
        assert staged.fetch(x).tolist() == wanted.tolist()
    x = staged.view_on(space, np.arange(10), "x")
    A.copy_backward(x[:7], x, space=space)
    assert staged.fetch(x).tolist() == [0, 1, 2, 0, 1, 2, 3, 4, 5, 6]
    A.copy(x[4::-1], x[5:], space=space)  # side by side
    assert staged.fetch(x).tolist() == [0, 1, 2, 0, 1, 1, 0, 2, 1, 0]
    A.copy(x[::2], x[1::2], space=space)  # interleaved
    assert staged.fetch(x).tolist() == [0, 0, 2, 2, 1, 1, 0, 0, 1, 1]
    A.copy_n(x, 2, x[3:], space=space)  # what overlaps is not copied
    assert staged.fetch(x).tolist() == [0, 0, 2, 0, 0, 1, 0, 0, 1, 1]
    turned = staged.view_on(space, np.arange(6), "turned")[::-1]
    A.copy(turned[2:], turned[:4], space=space)
    assert staged.fetch(turned).tolist() == [3, 2, 1, 0, 1, 0]


def test_what_cpp_forbids_is_refused(space):
    x = staged.view_on(space, np.arange(10), "x")
    for call in (
        lambda: A.copy(x[:7], x[3:], space=space),
        lambda: A.copy(x, x, space=space),
        lambda: A.copy(x[:5], x[::2], space=space),
        lambda: A.copy_backward(x[3:], x[:7], space=space),
        lambda: A.move(x[:7], x[2:], space=space),
        lambda: A.copy_if(x, x, odd, space=space),
        lambda: A.remove_copy(x[1:], x, 3, space=space),
        lambda: A.unique_copy(x[1:], x, space=space),
        lambda: A.partition_copy(x[:2], x[2:6], x[4:8], odd, space=space),
        lambda: A.transform(x[1:], x[:9], odd, space=space),
        lambda: A.transform(x[:9], x[1:], x[1:], lambda a, b: a, space=space),
        lambda: A.inclusive_scan(x[1:], x[:9], space=space),
        lambda: A.adjacent_difference(x[:9], x[1:], space=space),
        lambda: A.reverse_copy(x, x, space=space),
        lambda: A.rotate_copy(x[1:], 2, x, space=space),
        lambda: A.replace_copy(x[1:], x[:9], 1, 2, space=space),
        lambda: A.swap_ranges(x[:3], x[2:], space=space),
    ):
        with pytest.raises(es.ViewError, match=r"'x.*overlap in memory"):
            call()
    assert staged.fetch(x).tolist() == list(range(10))


# -- random Views ---------------------------------------------------------------------------------

lists = st.lists(st.integers(-3, 3), max_size=30)


@some
@given(values=lists, pattern=st.lists(st.integers(-3, 3), max_size=3), at=st.integers(0, 30))
def test_sequences_agree_with_lists(space, values, pattern, at):
    x = staged.view_on(space, values, "x", np.int64)
    p = staged.view_on(space, pattern, "p", np.int64)
    n, m = len(values), len(pattern)
    places = [i for i in range(n - m + 1) if values[i : i + m] == pattern]
    assert A.search(x, p, space=space) == min(places, default=n)
    assert A.find_end(x, p, space=space) == max(places, default=n)
    if pattern:
        equal = [i for i in range(n - m + 1) if values[i : i + m] == pattern[:1] * m]
        assert A.search_n(x, m, pattern[0], space=space) == min(equal, default=n)
    assert A.lexicographical_compare(x, p, space=space) == (values < pattern)
    assert A.lexicographical_compare(p, x, space=space) == (pattern < values)
    middle = min(at, n)
    A.rotate(x, middle, space=space)
    assert staged.fetch(x).tolist() == values[middle:] + values[:middle]
    assert A.shift_left(x, at, space=space) == max(n - at, 0)
    turned = (values[middle:] + values[:middle])[at:]
    assert staged.fetch(x).tolist()[: len(turned)] == turned


# -- graphs ---------------------------------------------------------------------------------------


def test_what_does_not_block_is_recorded(space):
    x = staged.view_on(space, np.arange(6), "x")
    z = staged.view_on(space, np.zeros(6, int), "z")
    with es.Graph(space) as graph:
        A.inclusive_scan(x, z, space=space)
        A.exclusive_scan(z, z, 0, lambda a, b: a + b, space=space)
        A.shift_left(z, 1, space=space)
        A.transform(z, z, lambda v: v + 1, space=space)
        A.reverse(z, space=space)
        with pytest.raises(es.LaunchError):
            A.find(x, 3, space=space)
    for _ in range(2):
        es.deep_copy(x, np.arange(6))
        graph.submit()
        assert staged.fetch(z).tolist()[1:] == [21, 11, 5, 2, 1]

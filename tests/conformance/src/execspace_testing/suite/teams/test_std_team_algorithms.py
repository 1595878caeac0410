"""Algorithms that a team does together: what they do called by the host, for every team size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged

from .shapes import league, two_shapes

T = es.algorithms.team


def odd(v):
    return v % 2 == 1


def close(a, b):
    return a // 2 == b // 2


def further(a, b):
    return abs(a - 3) > abs(b - 3)


def backwards(a, b):
    return a > b


def plus_one(v):
    return v + 1


def mean(a, b):
    return a + b // 2


def greater(a, b):
    return max(a, b)


def first_digits(a, b):
    """Associative, and not commutative."""
    return a if a != 0 else b


# What a thread finds goes to a row of `found`; `x` and `y` are data, and `z` is for output.


def conditions(team, x, y, z, found):
    found[0] = T.all_of(team, x, odd)
    found[1] = T.any_of(team, x, odd)
    found[2] = T.none_of(team, x, odd)
    found[3] = T.count(team, x, 1)
    found[4] = T.count_if(team, x, odd)


def host_conditions(k, x, y, z, found):
    A = es.algorithms
    found[:5] = [A.all_of(x, odd, **k), A.any_of(x, odd, **k), A.none_of(x, odd, **k),
                 A.count(x, 1, **k), A.count_if(x, odd, **k)]  # fmt: skip


def finding(team, x, y, z, found):
    found[0] = T.find(team, x, 1)
    found[1] = T.find_if(team, x, odd)
    found[2] = T.find_if_not(team, x, odd)
    found[3] = T.adjacent_find(team, x)
    found[4] = T.adjacent_find(team, x, close)
    found[5] = T.partition_point(team, x, lambda v: v < -9)
    found[6] = T.is_partitioned(team, x, odd)


def host_finding(k, x, y, z, found):
    A = es.algorithms
    found[:7] = [A.find(x, 1, **k), A.find_if(x, odd, **k), A.find_if_not(x, odd, **k),
                 A.adjacent_find(x, **k), A.adjacent_find(x, close, **k),
                 A.partition_point(x, lambda v: v < -9, **k),
                 A.is_partitioned(x, odd, **k)]  # fmt: skip


def sequences(team, x, y, z, found):
    found[0] = T.search(team, x, y[:2])
    found[1] = T.find_end(team, x, y[:2])
    found[2] = T.find_first_of(team, x, y[:2])
    found[3] = T.search_n(team, x, 2, 1)
    found[4] = T.equal(team, x, y)
    found[5] = T.mismatch(team, x, y)
    found[6] = T.mismatch(team, x, y, close)
    found[7] = T.lexicographical_compare(team, x, y)
    found[8] = T.equal(team, x, x)


def host_sequences(k, x, y, z, found):
    A = es.algorithms
    found[:9] = [A.search(x, y[:2], **k), A.find_end(x, y[:2], **k), A.find_first_of(x, y[:2], **k),
                 A.search_n(x, 2, 1, **k), A.equal(x, y, **k), A.mismatch(x, y, **k),
                 A.mismatch(x, y, close, **k), A.lexicographical_compare(x, y, **k),
                 True]  # fmt: skip


def order(team, x, y, z, found):
    found[0] = T.min_element(team, x)
    found[1] = T.max_element(team, x)
    found[2], found[3] = T.minmax_element(team, x)
    found[4] = T.min_element(team, x, further)
    found[5] = T.max_element(team, x, further)
    found[6], found[7] = T.minmax_element(team, x, further)
    found[8] = T.is_sorted(team, x)
    found[9] = T.is_sorted_until(team, x)
    found[10] = T.is_sorted_until(team, x, further)


def host_order(k, x, y, z, found):
    A = es.algorithms
    found[:11] = [A.min_element(x, **k), A.max_element(x, **k), *A.minmax_element(x, **k),
                  A.min_element(x, further, **k), A.max_element(x, further, **k),
                  *A.minmax_element(x, further, **k), A.is_sorted(x, **k),
                  A.is_sorted_until(x, **k), A.is_sorted_until(x, further, **k)]  # fmt: skip


def totals(team, x, y, z, found):
    found[0] = T.reduce(team, x)
    found[1] = T.reduce(team, x, 100)
    found[2] = T.reduce(team, x, 2, greater)
    found[3] = T.reduce(team, x, None, first_digits)
    found[4] = T.transform_reduce(team, x, 1, None, plus_one)
    found[5] = T.transform_reduce(team, x, 1, greater, plus_one)
    found[6] = T.transform_reduce(team, x, y)
    found[7] = T.transform_reduce(team, x, y, 5)
    found[8] = T.transform_reduce(team, x, y, 0, greater, mean)


def host_totals(k, x, y, z, found):
    A = es.algorithms
    nothing = len(x) == 0
    found[:9] = [A.reduce(x, **k), A.reduce(x, 100, **k), A.reduce(x, 2, greater, **k),
                 0 if nothing else A.reduce(x, None, first_digits, **k),
                 A.transform_reduce(x, 1, None, plus_one, **k),
                 A.transform_reduce(x, 1, greater, plus_one, **k), A.transform_reduce(x, y, **k),
                 A.transform_reduce(x, y, 5, **k),
                 A.transform_reduce(x, y, 0, greater, mean, **k)]  # fmt: skip


READING = [(conditions, host_conditions), (finding, host_finding), (sequences, host_sequences),
           (order, host_order), (totals, host_totals)]  # fmt: skip


def numbers(n, seed):
    return np.random.default_rng(seed + n).integers(0, 5, n)


def each_thread(team, body, x, y, z, found):
    """Each thread keeps what it found in a row of its own."""
    body(team, x, y, z, found[team.team_rank, :])


@pytest.mark.parametrize(("body", "host"), READING, ids=lambda f: f.__name__)
@two_shapes
def test_all_threads_find_the_same(space, shape, body, host):
    policy = league(space, 1, shape)
    threads = policy.team_size
    serial = {"space": "oracle"}
    for n in (0, 1, 2, 67):
        x, y, z = numbers(n, 1), numbers(n, 2), np.zeros(n + 2, int)
        wanted = np.zeros(12, int)
        host(serial, x, y, z, wanted)
        found = np.zeros((threads, 12), int)
        staged.parallel_for(policy, each_thread, body, x, y, z, found)
        assert (found == wanted).all(), (n, found, wanted)


# -- what is stored -------------------------------------------------------------------------------


@dataclass
class Case:
    """A call by a team, the same by the host, and how many elements of the row are specified."""

    name: str
    team: Callable[..., Any]
    host: Callable[..., Any]

    def __repr__(self) -> str:
        return self.name


A = es.algorithms
# fmt: off
WRITING = [
    Case("for_each", lambda t, x, y, z: T.for_each(t, x, plus_one),
         lambda s, x, y, z: A.for_each(x, plus_one, space=s)),
    Case("for_each_n", lambda t, x, y, z: T.for_each_n(t, x, len(x) // 2, plus_one),
         lambda s, x, y, z: A.for_each_n(x, len(x) // 2, plus_one, space=s)),
    Case("fill", lambda t, x, y, z: T.fill(t, x, 3), lambda s, x, y, z: A.fill(x, 3, space=s)),
    Case("fill_n", lambda t, x, y, z: T.fill_n(t, z, len(x), 3),
         lambda s, x, y, z: A.fill_n(z, len(x), 3, space=s)),
    Case("generate", lambda t, x, y, z: T.generate(t, x, plus_one),
         lambda s, x, y, z: A.generate(x, plus_one, space=s)),
    Case("generate_n", lambda t, x, y, z: T.generate_n(t, z, len(x), plus_one),
         lambda s, x, y, z: A.generate_n(z, len(x), plus_one, space=s)),
    Case("transform", lambda t, x, y, z: T.transform(t, x, z, plus_one),
         lambda s, x, y, z: A.transform(x, z, plus_one, space=s)),
    Case("transform_of_two", lambda t, x, y, z: T.transform(t, x, y, x, mean),
         lambda s, x, y, z: A.transform(x, y, x, mean, space=s)),
    Case("replace", lambda t, x, y, z: T.replace(t, x, 1, 9),
         lambda s, x, y, z: A.replace(x, 1, 9, space=s)),
    Case("replace_if", lambda t, x, y, z: T.replace_if(t, x, odd, 9),
         lambda s, x, y, z: A.replace_if(x, odd, 9, space=s)),
    Case("replace_copy", lambda t, x, y, z: T.replace_copy(t, x, z, 1, 9),
         lambda s, x, y, z: A.replace_copy(x, z, 1, 9, space=s)),
    Case("replace_copy_if", lambda t, x, y, z: T.replace_copy_if(t, x, z, odd, 9),
         lambda s, x, y, z: A.replace_copy_if(x, z, odd, 9, space=s)),
    Case("copy", lambda t, x, y, z: T.copy(t, x, z), lambda s, x, y, z: A.copy(x, z, space=s)),
    Case("copy_n", lambda t, x, y, z: T.copy_n(t, x, len(x) // 2, z),
         lambda s, x, y, z: A.copy_n(x, len(x) // 2, z, space=s)),
    Case("copy_backward", lambda t, x, y, z: T.copy_backward(t, x, z),
         lambda s, x, y, z: A.copy_backward(x, z, space=s)),
    Case("move", lambda t, x, y, z: T.move(t, x, z), lambda s, x, y, z: A.move(x, z, space=s)),
    Case("move_backward", lambda t, x, y, z: T.move_backward(t, x, z),
         lambda s, x, y, z: A.move_backward(x, z, space=s)),
    Case("reverse_copy", lambda t, x, y, z: T.reverse_copy(t, x, z),
         lambda s, x, y, z: A.reverse_copy(x, z, space=s)),
    Case("rotate_copy", lambda t, x, y, z: T.rotate_copy(t, x, len(x) // 3, z),
         lambda s, x, y, z: A.rotate_copy(x, len(x) // 3, z, space=s)),
    Case("reverse", lambda t, x, y, z: T.reverse(t, x), lambda s, x, y, z: A.reverse(x, space=s)),
    Case("rotate", lambda t, x, y, z: T.rotate(t, x, len(x) // 3),
         lambda s, x, y, z: A.rotate(x, len(x) // 3, space=s)),
    Case("shift_left", lambda t, x, y, z: T.shift_left(t, x, 3),
         lambda s, x, y, z: A.shift_left(x, 3, space=s)),
    Case("swap_ranges", lambda t, x, y, z: T.swap_ranges(t, x, y),
         lambda s, x, y, z: A.swap_ranges(x, y, space=s)),
    Case("iter_swap", lambda t, x, y, z: T.iter_swap(t, z, 0, z, 1),
         lambda s, x, y, z: A.iter_swap(z, 0, z, 1, space=s)),
    Case("copy_if", lambda t, x, y, z: T.copy_if(t, x, z, odd),
         lambda s, x, y, z: A.copy_if(x, z, odd, space=s)),
    Case("remove_copy", lambda t, x, y, z: T.remove_copy(t, x, z, 1),
         lambda s, x, y, z: A.remove_copy(x, z, 1, space=s)),
    Case("remove_copy_if", lambda t, x, y, z: T.remove_copy_if(t, x, z, odd),
         lambda s, x, y, z: A.remove_copy_if(x, z, odd, space=s)),
    Case("unique_copy", lambda t, x, y, z: T.unique_copy(t, x, z),
         lambda s, x, y, z: A.unique_copy(x, z, space=s)),
    Case("remove", lambda t, x, y, z: T.remove(t, x, 1),
         lambda s, x, y, z: A.remove(x, 1, space=s)),
    Case("remove_if", lambda t, x, y, z: T.remove_if(t, x, odd),
         lambda s, x, y, z: A.remove_if(x, odd, space=s)),
    Case("unique", lambda t, x, y, z: T.unique(t, x, close),
         lambda s, x, y, z: A.unique(x, close, space=s)),
    Case("partition_copy", lambda t, x, y, z: T.partition_copy(t, x, z, y, odd)[0],
         lambda s, x, y, z: A.partition_copy(x, z, y, odd, space=s)[0]),
    Case("inclusive_scan", lambda t, x, y, z: T.inclusive_scan(t, x, z),
         lambda s, x, y, z: A.inclusive_scan(x, z, space=s)),
    Case("inclusive_scan_by", lambda t, x, y, z: T.inclusive_scan(t, x, x, first_digits, 0),
         lambda s, x, y, z: A.inclusive_scan(x, x, first_digits, 0, space=s)),
    Case("exclusive_scan", lambda t, x, y, z: T.exclusive_scan(t, x, x, 5),
         lambda s, x, y, z: A.exclusive_scan(x, x, 5, space=s)),
    Case("exclusive_scan_by", lambda t, x, y, z: T.exclusive_scan(t, x, x, 1, greater),
         lambda s, x, y, z: A.exclusive_scan(x, x, 1, greater, space=s)),
    Case("transform_inclusive_scan",
         lambda t, x, y, z: T.transform_inclusive_scan(t, x, z, greater, plus_one),
         lambda s, x, y, z: A.transform_inclusive_scan(x, z, greater, plus_one, space=s)),
    Case("transform_exclusive_scan",
         lambda t, x, y, z: T.transform_exclusive_scan(t, x, z, 1, None, plus_one),
         lambda s, x, y, z: A.transform_exclusive_scan(x, z, 1, None, plus_one, space=s)),
    Case("adjacent_difference", lambda t, x, y, z: T.adjacent_difference(t, x, z, mean),
         lambda s, x, y, z: A.adjacent_difference(x, z, mean, space=s)),
    Case("sort", lambda t, x, y, z: T.sort(t, x), lambda s, x, y, z: es.sort(x, space=s)),
    Case("sort_by", lambda t, x, y, z: T.sort(t, z, backwards),
         lambda s, x, y, z: es.sort(z, less=backwards, space=s)),
]
# fmt: on
UNSPECIFIED = ("remove", "remove_if", "unique", "shift_left")  # behind what is kept


def returned(team, call, x, y, z, found):
    result = call(team, x, y, z)
    if result is not None:
        found[team.team_rank] = result


@pytest.mark.parametrize("case", WRITING, ids=repr)
@two_shapes
def test_a_team_stores_what_the_host_stores(space, shape, case):
    policy = league(space, 1, shape)
    for n in (0, 1, 2, 67):
        ours = [numbers(n, 1), numbers(n, 2), numbers(n + 2, 3)]
        wanted = [a.copy() for a in ours]
        found = np.full(policy.team_size, -1)
        staged.parallel_for(policy, returned, case.team, *ours, found)
        result = case.host("oracle", *wanted)
        assert set(found.tolist()) == {-1 if result is None else int(result)}, n
        if case.name in UNSPECIFIED:
            ours[0], wanted[0] = ours[0][:result], wanted[0][:result]
        for got, goal in zip(ours, wanted, strict=True):
            assert got.tolist() == goal.tolist(), (n, got, goal)


@two_shapes
def test_a_shift_to_the_right_leaves_the_front_open(space, shape):
    def shifted(team, x, found):
        found[team.team_rank] = T.shift_right(team, x, 3)

    policy = league(space, 1, shape)
    for n in (0, 2, 3, 4, 67):
        x, found = np.arange(n), np.full(policy.team_size, -1)
        staged.parallel_for(policy, shifted, x, found)
        begin = min(n, 3)
        assert set(found.tolist()) == {begin}
        assert x[begin:].tolist() == list(range(n))[: n - begin]


@two_shapes
def test_what_has_no_room_is_left_out(space, shape):
    def packed(team, x, y, z, found):
        found[0] = T.copy_if(team, x, y, odd)
        found[1], found[2] = T.partition_copy(team, x, y, z, odd)

    x, y, z = np.arange(20), np.zeros(3, int), np.zeros(2, int)
    found = np.zeros(3, int)
    staged.parallel_for(league(space, 1, shape), packed, x, y, z, found)
    assert found.tolist() == [10, 10, 10]
    assert y.tolist() == [1, 3, 5] and z.tolist() == [0, 2]


# -- sorting --------------------------------------------------------------------------------------


def sorted_rows(team, rows, keys, values):
    r = team.league_rank
    T.sort(team, rows[r, :])
    T.sort_by_key(team, keys[r, :], values[r, :], further)


@two_shapes
def test_each_team_sorts_a_row(space, shape):
    policy = league(space, 3, shape)
    for n in (1, 2, 3, 5, 8, 31, 64, 100):
        rng = np.random.default_rng(n)
        rows = rng.standard_normal((3, n))
        rows[0, : n // 4] = np.nan
        keys = np.array([rng.permutation(n) * 2 for _ in range(3)])  # no two as far from 3
        values = 10 * keys
        wanted = np.sort(rows, 1)
        by_key = [sorted(row, key=lambda k: -abs(k - 3)) for row in keys.tolist()]
        distances = [[abs(k - 3) for k in row] for row in by_key]
        staged.parallel_for(policy, sorted_rows, rows, keys, values)
        np.testing.assert_array_equal(rows, wanted)
        assert abs(keys - 3).tolist() == distances
        assert (values == 10 * keys).all()
        assert [sorted(row) for row in keys.tolist()] == [list(range(0, 2 * n, 2))] * 3


def sorted_in_scratch(team, x):
    own = team.scratch(len(x), es.float32)
    T.copy(team, x, own)
    T.sort(team, own, lambda a, b: a > b)
    T.copy(team, own, x)


@two_shapes
def test_scratch_memory_is_sorted(space, shape):
    x = np.random.default_rng(3).standard_normal(90).astype(np.float32)
    wanted = np.sort(x)[::-1]
    staged.parallel_for(league(space, 1, shape), sorted_in_scratch, x)
    np.testing.assert_array_equal(x, wanted)

"""Each algorithm of C++'s library against Python's lists: extents, element types, strides."""

# ruff: noqa: B905 (references stop at the shorter list)
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import interpreted

A = es.algorithms
ROOM = 3  # elements of the output behind what is stored
ANY = "?"  # an element that the algorithm does not specify


def odd(v):
    return v % 2 == 1


def close(a, b):
    return a // 2 == b // 2


def mean(a, b):
    return a + b // 2


def further(a, b):
    """Another order: by the distance to 3, the nearest last."""
    return abs(a - 3) > abs(b - 3)


def plus_one(v):
    return v + 1


@dataclass
class Case:
    """A call, with two Views of data and one for output, and what lists would become and give."""

    name: str
    call: Callable[..., Any]
    expected: Callable[..., Any]
    kinds: str = "biuf"

    def __repr__(self) -> str:
        return self.name


def first(found, n):
    return next((i for i, good in enumerate(found) if good), n)


def pairs(x):
    return list(pairwise(x))


def store(z, values):
    values = list(values)
    z[: len(values)] = values
    return len(values)


def kept(x, values):
    """What an algorithm in place leaves: values in front, and nothing that is known behind."""
    values = list(values)
    x[:] = values + [ANY] * (len(x) - len(values))
    return len(values)


def rows(x, same):
    return [v for i, v in enumerate(x) if i == 0 or not same(x[i - 1], v)]


def places(x, pattern):
    m = len(pattern)
    return [i for i in range(len(x) - m + 1) if x[i : i + m] == pattern]


def unsorted(x, before):
    return next((i + 1 for i, (a, b) in enumerate(pairs(x)) if before(b, a)), len(x))


def become(x, values):
    x[:] = values


def put(z, values):
    store(z, values)


def equals(a, b):
    return a == b


def replaced(x, z, holds, new):
    z[: len(x)] = [new if holds(v) else v for v in x]


def scanned(x, z, op, init=None):
    for i, v in enumerate(x):
        before = init if i == 0 else z[i - 1]
        z[i] = v if before is None else op(before, v)


def scanned_before(x, z, op, init):
    for i, v in enumerate(x):
        z[i] = init
        init = op(init, v)


def added(a, b):
    return a + b


def greater(a, b):
    return max(a, b)


def folded(values, op, init):
    for v in values:
        init = op(init, v)
    return init


def best(x, better):
    at = 0
    for i, v in enumerate(x):
        if better(v, x[at]):
            at = i
    return at


def swap_front(x, y):
    x[:], y[: len(x)] = y[: len(x)], x[:]


def turned(x, by):
    x[:] = x[by:] + x[:by]
    return len(x) - by


def split(x, y, z):
    m = [v for v in x if odd(v)]
    return store(z, m), store(y, [v for v in x if not odd(v)])


# fmt: off
CASES = [
    Case("all_of", lambda s, x, y, z: A.all_of(x, odd, space=s), lambda x, y, z: all(map(odd, x))),
    Case("any_of", lambda s, x, y, z: A.any_of(x, odd, space=s), lambda x, y, z: any(map(odd, x))),
    Case("none_of", lambda s, x, y, z: A.none_of(x, odd, space=s),
         lambda x, y, z: not any(map(odd, x))),
    Case("count", lambda s, x, y, z: A.count(x, 1, space=s), lambda x, y, z: x.count(1), "biufc"),
    Case("count_if", lambda s, x, y, z: A.count_if(x, odd, space=s),
         lambda x, y, z: sum(map(odd, x))),
    Case("find", lambda s, x, y, z: A.find(x, 1, space=s),
         lambda x, y, z: first((v == 1 for v in x), len(x)), "biufc"),
    Case("find_if", lambda s, x, y, z: A.find_if(x, odd, space=s),
         lambda x, y, z: first(map(odd, x), len(x))),
    Case("find_if_not", lambda s, x, y, z: A.find_if_not(x, odd, space=s),
         lambda x, y, z: first((not odd(v) for v in x), len(x))),
    Case("adjacent_find", lambda s, x, y, z: A.adjacent_find(x, space=s),
         lambda x, y, z: first((a == b for a, b in pairs(x)), len(x)), "biufc"),
    Case("adjacent_find_by", lambda s, x, y, z: A.adjacent_find(x, close, space=s),
         lambda x, y, z: first((close(a, b) for a, b in pairs(x)), len(x)), "iuf"),
    Case("find_first_of", lambda s, x, y, z: A.find_first_of(x, y[:2], space=s),
         lambda x, y, z: first((v in y[:2] for v in x), len(x)), "biufc"),
    Case("search", lambda s, x, y, z: A.search(x, y[:2], space=s),
         lambda x, y, z: min(places(x, y[:2]), default=len(x)), "biufc"),
    Case("find_end", lambda s, x, y, z: A.find_end(x, y[:2], space=s),
         lambda x, y, z: max(places(x, y[:2]), default=len(x)), "biufc"),
    Case("search_n", lambda s, x, y, z: A.search_n(x, 2, 1, space=s),
         lambda x, y, z: first((a == b == 1 for a, b in pairs(x)), len(x)), "biufc"),
    Case("equal", lambda s, x, y, z: A.equal(x, y, space=s), lambda x, y, z: x == y, "biufc"),
    Case("mismatch", lambda s, x, y, z: A.mismatch(x, y, space=s),
         lambda x, y, z: first((a != b for a, b in zip(x, y)), len(x)), "biufc"),
    Case("mismatch_by", lambda s, x, y, z: A.mismatch(x, y, close, space=s),
         lambda x, y, z: first((not close(a, b) for a, b in zip(x, y)), len(x)), "iuf"),
    Case("lexicographical_compare", lambda s, x, y, z: A.lexicographical_compare(x, y[:5], space=s),
         lambda x, y, z: x < y[:5]),
    Case("partition_point", lambda s, x, y, z: A.partition_point(x, lambda v: v < -9, space=s),
         lambda x, y, z: 0, "if"),
    Case("is_partitioned", lambda s, x, y, z: A.is_partitioned(x, odd, space=s),
         lambda x, y, z: not any(odd(v) for v in x[first((not odd(v) for v in x), len(x)):])),
    Case("is_sorted", lambda s, x, y, z: A.is_sorted(x, space=s), lambda x, y, z: x == sorted(x)),
    Case("is_sorted_until", lambda s, x, y, z: A.is_sorted_until(x, space=s),
         lambda x, y, z: unsorted(x, lambda a, b: a < b)),
    Case("is_sorted_until_by", lambda s, x, y, z: A.is_sorted_until(x, further, space=s),
         lambda x, y, z: unsorted(x, further), "if"),
    Case("min_element", lambda s, x, y, z: A.min_element(x, space=s),
         lambda x, y, z: best(x, lambda a, b: a < b)),
    Case("max_element", lambda s, x, y, z: A.max_element(x, space=s),
         lambda x, y, z: best(x, lambda a, b: a > b)),
    Case("minmax_element", lambda s, x, y, z: A.minmax_element(x, space=s),
         lambda x, y, z: (best(x, lambda a, b: a < b), best(x, lambda a, b: a >= b))),
    Case("min_element_by", lambda s, x, y, z: A.min_element(x, further, space=s),
         lambda x, y, z: best(x, further), "if"),
    Case("max_element_by", lambda s, x, y, z: A.max_element(x, further, space=s),
         lambda x, y, z: best(x, lambda a, b: further(b, a)), "if"),
    Case("minmax_element_by", lambda s, x, y, z: A.minmax_element(x, further, space=s),
         lambda x, y, z: (best(x, further), best(x, lambda a, b: not further(a, b))), "if"),
    Case("reduce", lambda s, x, y, z: A.reduce(x, space=s), lambda x, y, z: sum(x), "biufc"),
    Case("reduce_by", lambda s, x, y, z: A.reduce(x, 2, greater, space=s),
         lambda x, y, z: folded(x, greater, 2), "if"),
    Case("reduce_by_a_reducer", lambda s, x, y, z: A.reduce(x, 1, es.Max, space=s),
         lambda x, y, z: folded(x, greater, 1), "iuf"),
    Case("transform_reduce", lambda s, x, y, z: A.transform_reduce(x, 2, es.Sum, plus_one, space=s),
         lambda x, y, z: 2 + sum(v + 1 for v in x), "iufc"),
    Case("transform_reduce_of_two", lambda s, x, y, z: A.transform_reduce(x, y, space=s),
         lambda x, y, z: sum((a * b for a, b in zip(x, y))), "iufc"),
    Case("transform_reduce_of_two_by",
         lambda s, x, y, z: A.transform_reduce(x, y, 3, greater, mean, space=s),
         lambda x, y, z: folded(map(mean, x, y), greater, 3), "if"),
    Case("adjacent_difference", lambda s, x, y, z: A.adjacent_difference(x, z, space=s),
         lambda x, y, z: put(z, [*x[:1], *(b - a for a, b in pairs(x))]), "ifc"),
    Case("adjacent_difference_in_place",
         lambda s, x, y, z: A.adjacent_difference(x, x, mean, space=s),
         lambda x, y, z: become(x, [*x[:1], *(mean(b, a) for a, b in pairs(x))]), "iuf"),
    Case("for_each", lambda s, x, y, z: A.for_each(x, plus_one, space=s),
         lambda x, y, z: become(x, [v + 1 for v in x]), "iufc"),
    Case("for_each_n", lambda s, x, y, z: A.for_each_n(x, len(x) // 2, plus_one, space=s),
         lambda x, y, z: become(x, [v + (i < len(x) // 2) for i, v in enumerate(x)]), "iufc"),
    Case("fill", lambda s, x, y, z: A.fill(x, 1, space=s),
         lambda x, y, z: become(x, [1] * len(x)), "iufc"),
    Case("fill_n", lambda s, x, y, z: A.fill_n(z, len(x), 1, space=s),
         lambda x, y, z: put(z, [1] * len(x)), "iufc"),
    Case("generate", lambda s, x, y, z: A.generate(x, lambda: 1, space=s),
         lambda x, y, z: become(x, [1] * len(x)), "biufc"),
    Case("generate_n", lambda s, x, y, z: A.generate_n(z, len(x), lambda i: i % 5, space=s),
         lambda x, y, z: put(z, [i % 5 for i in range(len(x))]), "iufc"),
    Case("transform", lambda s, x, y, z: A.transform(x, z, plus_one, space=s),
         lambda x, y, z: put(z, [v + 1 for v in x]), "iufc"),
    Case("transform_in_place", lambda s, x, y, z: A.transform(x, y, x, mean, space=s),
         lambda x, y, z: become(x, list(map(mean, x, y))), "iuf"),
    Case("replace", lambda s, x, y, z: A.replace(x, 1, 0, space=s),
         lambda x, y, z: replaced(list(x), x, lambda v: v == 1, 0), "iufc"),
    Case("replace_if", lambda s, x, y, z: A.replace_if(x, odd, 0, space=s),
         lambda x, y, z: replaced(list(x), x, odd, 0), "iuf"),
    Case("replace_copy", lambda s, x, y, z: A.replace_copy(x, z, 1, 0, space=s),
         lambda x, y, z: replaced(x, z, lambda v: v == 1, 0), "iufc"),
    Case("replace_copy_if", lambda s, x, y, z: A.replace_copy_if(x, z, odd, 0, space=s),
         lambda x, y, z: replaced(x, z, odd, 0), "iuf"),
    Case("copy", lambda s, x, y, z: A.copy(x, z, space=s), lambda x, y, z: put(z, x), "biufc"),
    Case("copy_n", lambda s, x, y, z: A.copy_n(x, len(x) // 2, z, space=s),
         lambda x, y, z: put(z, x[:len(x) // 2]), "biufc"),
    Case("copy_backward", lambda s, x, y, z: A.copy_backward(x, z, space=s),
         lambda x, y, z: z.__setitem__(slice(ROOM, None), x), "biufc"),
    Case("move", lambda s, x, y, z: A.move(x, z, space=s), lambda x, y, z: put(z, x), "biufc"),
    Case("move_backward", lambda s, x, y, z: A.move_backward(x, z, space=s),
         lambda x, y, z: z.__setitem__(slice(ROOM, None), x), "biufc"),
    Case("reverse_copy", lambda s, x, y, z: A.reverse_copy(x, z, space=s),
         lambda x, y, z: put(z, x[::-1]), "biufc"),
    Case("rotate_copy", lambda s, x, y, z: A.rotate_copy(x, len(x) // 3, z, space=s),
         lambda x, y, z: put(z, x[len(x) // 3:] + x[:len(x) // 3]), "biufc"),
    Case("reverse", lambda s, x, y, z: A.reverse(x, space=s), lambda x, y, z: x.reverse(), "biufc"),
    Case("rotate", lambda s, x, y, z: A.rotate(x, len(x) // 3, space=s),
         lambda x, y, z: turned(x, len(x) // 3), "biufc"),
    Case("shift_left", lambda s, x, y, z: A.shift_left(x, 1, space=s),
         lambda x, y, z: kept(x, x[1:]), "biufc"),
    Case("shift_left_far", lambda s, x, y, z: A.shift_left(x, len(x) - len(x) // 3, space=s),
         lambda x, y, z: kept(x, x[len(x) - len(x) // 3:]), "biufc"),
    Case("shift_right", lambda s, x, y, z: A.shift_right(x, 1, space=s),
         lambda x, y, z: x.__setitem__(slice(None), [ANY, *x[:-1]]) or 1 if x else 0, "biufc"),
    Case("shift_right_far", lambda s, x, y, z: A.shift_right(x, 2 * len(x), space=s),
         lambda x, y, z: len(x), "biufc"),
    Case("swap_ranges", lambda s, x, y, z: A.swap_ranges(x, y, space=s),
         lambda x, y, z: swap_front(x, y), "biufc"),
    Case("iter_swap", lambda s, x, y, z: A.iter_swap(z, 0, z, len(z) - 1, space=s),
         lambda x, y, z: become(z, [z[-1], *z[1:-1], z[0]]), "biufc"),
    Case("copy_if", lambda s, x, y, z: A.copy_if(x, z, odd, space=s),
         lambda x, y, z: store(z, filter(odd, x))),
    Case("remove_copy", lambda s, x, y, z: A.remove_copy(x, z, 1, space=s),
         lambda x, y, z: store(z, [v for v in x if v != 1]), "biufc"),
    Case("remove_copy_if", lambda s, x, y, z: A.remove_copy_if(x, z, odd, space=s),
         lambda x, y, z: store(z, [v for v in x if not odd(v)])),
    Case("unique_copy", lambda s, x, y, z: A.unique_copy(x, z, space=s),
         lambda x, y, z: store(z, rows(x, equals)), "biufc"),
    Case("remove", lambda s, x, y, z: A.remove(x, 1, space=s),
         lambda x, y, z: kept(x, [v for v in x if v != 1]), "biufc"),
    Case("remove_if", lambda s, x, y, z: A.remove_if(x, odd, space=s),
         lambda x, y, z: kept(x, [v for v in x if not odd(v)])),
    Case("unique", lambda s, x, y, z: A.unique(x, space=s),
         lambda x, y, z: kept(x, rows(x, equals)), "biufc"),
    Case("unique_by", lambda s, x, y, z: A.unique(x, close, space=s),
         lambda x, y, z: kept(x, rows(x, close)), "iuf"),
    Case("partition_copy", lambda s, x, y, z: A.partition_copy(x, z, y, odd, space=s), split),
    Case("inclusive_scan", lambda s, x, y, z: A.inclusive_scan(x, z, space=s),
         lambda x, y, z: scanned(x, z, added), "iufc"),
    Case("inclusive_scan_in_place", lambda s, x, y, z: A.inclusive_scan(x, x, greater, 1, space=s),
         lambda x, y, z: scanned(list(x), x, greater, 1), "iuf"),
    Case("exclusive_scan", lambda s, x, y, z: A.exclusive_scan(x, z, 3, space=s),
         lambda x, y, z: scanned_before(x, z, added, 3), "iufc"),
    Case("exclusive_scan_in_place", lambda s, x, y, z: A.exclusive_scan(x, x, 2, greater, space=s),
         lambda x, y, z: scanned_before(list(x), x, greater, 2), "iuf"),
    Case("transform_inclusive_scan",
         lambda s, x, y, z: A.transform_inclusive_scan(x, z, es.Max, plus_one, 1, space=s),
         lambda x, y, z: scanned([v + 1 for v in x], z, greater, 1), "iuf"),
    Case("transform_exclusive_scan",
         lambda s, x, y, z: A.transform_exclusive_scan(x, z, 0, greater, plus_one, space=s),
         lambda x, y, z: scanned_before([v + 1 for v in x], z, greater, 0), "iuf"),
]
# fmt: on


def numbers(n, dtype, seed):
    """Small numbers, of which many are equal; so that no sum of them overflows 64 bits."""
    values = np.random.default_rng(seed + n).integers(0, 5, n)
    return values.astype(dtype)


def check(space, case, n, dtype, strided=False):
    step = 2 if strided else 1
    x, y = numbers(n, dtype, 1), numbers(n, dtype, 2)
    z = np.full(n + ROOM, 1, dtype)
    lists = [a.tolist() for a in (x, y, z)]
    whole = [np.repeat(a, step) for a in (x, y, z)]
    views = [staged.view_on(space, a, name)[::step] for a, name in zip(whole, "xyz", strict=True)]
    found = case.call(space, *views)
    wanted = case.expected(*lists)
    assert found == wanted, (case, n, dtype)
    space.fence()
    for view, values, before in zip(views, lists, whole, strict=True):
        got = staged.fetch(view).tolist()
        # Wrapped as the elements are that it was stored in.
        with np.errstate(all="ignore"):
            goal = [g if v is ANY else v for g, v in zip(got, values, strict=True)]
            goal = np.array(goal).astype(before.dtype).tolist() if goal else []
        assert got == goal, (case, n, dtype)


SIZES = (0, 1, 2, 100, 1000)
TYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
         "float32", "float64", "complex64", "complex128")  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_all_extents(space, case):
    for n in SIZES[:4] if interpreted(space) else SIZES:
        check(space, case, n, "float64")


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_all_types_and_elements_that_are_apart(space, case):
    """On spaces that compile one more type, since the rules of types are those of all kernels."""
    one = "complex64" if "c" in case.kinds else "int16"
    for dtype in TYPES if interpreted(space) else (one,):
        if np.dtype(dtype).kind in case.kinds:
            check(space, case, 21, dtype, strided=True)


def test_the_table_is_complete():
    names = set(A.__all__) - {"team", "argsort", "sort", "sort_by_key", "histogram", "fill_random",
                              "lower_bound", "upper_bound", "searchsorted"}  # fmt: skip
    assert all(any(case.name.startswith(name) for case in CASES) for name in names)

"""C++'s algorithms on records: moved, ordered by a function, filled and made."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import fitting, needs_dtype

A = es.algorithms
particle = np.dtype([("mass", "f4"), ("id", "i4"), ("v", "f4", (3,))])


def lighter(p, q):
    return p.mass < q.mass


def some(n=7):
    values = np.zeros(n, particle)
    values["mass"] = [3, 1, 4, 1, 5, 9, 2] if n == 7 else np.arange(n) * 7919 % 51
    values["id"] = np.arange(n)
    values["v"][:, 2] = np.arange(n)
    return values


def ids(view):
    found = staged.fetch(view)
    assert (found["v"][:, 2] == found["id"]).all()
    return found["id"].tolist()


def test_records_are_moved_in_place(space):
    x = staged.view_on(space, some(), "x")
    A.reverse(x, space=space)
    assert ids(x) == [6, 5, 4, 3, 2, 1, 0]
    assert A.rotate(x, 2, space=space) == 5
    assert ids(x) == [4, 3, 2, 1, 0, 6, 5]
    y = staged.view_on(space, some(), "y")
    A.swap_ranges(x[:3], y, space=space)
    assert (ids(x), ids(y)) == ([0, 1, 2, 1, 0, 6, 5], [4, 3, 2, 3, 4, 5, 6])
    A.iter_swap(x, 1, y, 6, space=space)
    A.iter_swap(y, 3, y, 3, space=space)
    assert (ids(x), ids(y)) == ([0, 6, 2, 1, 0, 6, 5], [4, 3, 2, 3, 4, 5, 1])


@pytest.mark.parametrize("n", [7, 255, 256, 257, 70_001])
def test_extremes_of_records(space, n):
    n = fitting(space, n)
    values = some(n)
    x = staged.view_on(space, values, "x")
    mass = values["mass"]
    least, greatest = mass.argmin(), mass.argmax()
    assert A.min_element(x, lighter, space=space) == least
    assert A.max_element(x, lighter, space=space) == greatest
    assert A.minmax_element(x, lighter, space=space) == (least, n - 1 - mass[::-1].argmax())
    assert A.min_element(x[:1], lighter, space=space) == 0 == A.max_element(x[:0], lighter)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("n", [1, 7, 1000])
def test_records_are_sorted_by_a_function(space, n, descending):
    values = some(n)
    key = -values["mass"] if descending else values["mass"]
    order = np.argsort(key, kind="stable").tolist()
    x, numbers = staged.view_on(space, values, "x"), staged.view_on(space, np.arange(n), "numbers")
    options = {"less": lighter, "descending": descending, "space": space}
    assert staged.fetch(es.argsort(x, **options)).tolist() == order
    es.sort(x, **options)
    assert ids(x) == order
    x = staged.view_on(space, values, "x")
    es.sort_by_key(x, numbers, **options)
    assert ids(x) == staged.fetch(numbers).tolist() == order


def test_all_elements_become_one_record(space):
    x = staged.view_on(space, some(), "x")
    A.fill_n(x, 2, some()[5], space=space)
    assert ids(x) == [5, 5, 2, 3, 4, 5, 6]
    A.fill(x, some()[1], space=space)
    assert ids(x) == [1] * 7
    with pytest.raises(es.DTypeError, match=r"fill: value=.* of records, dtype .*; expected a rec"):
        A.fill(x, np.zeros((), [("a", "f4")])[()], space=space)


class Pair(es.Record):
    """What functions return, unlike records of a plain dtype."""

    low: es.float32
    high: es.float32 = 0.0


def test_functions_make_records_of_classes(space):
    needs_dtype(space, "float32")
    x = es.full(5, Pair(0.0), space=space)
    A.generate(x, lambda i: Pair(i * 1.0, 10.0 - i), space=space)
    A.transform(x, x, lambda p: Pair(p.high, p.low), space=space)
    found = staged.fetch(x)
    assert found["high"].tolist() == [0, 1, 2, 3, 4]
    es.sort(x, less=lambda a, b: a.low < b.low, space=space)
    assert staged.fetch(x)["low"].tolist() == [6, 7, 8, 9, 10]

"""sort, argsort and sort_by_key with a comparator: by kernels on every space, and stable."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import execspace as es
from execspace_testing import staged
from execspace_testing.drawn import drawn
from execspace_testing.sizes import fitting

some = drawn(10)


def nearer(a, b):
    """By the distance to 3: many are equal."""
    return abs(a - 3) < abs(b - 3)


def distance(v):
    return abs(v - 3)


def smaller(a, b):
    return abs(a) < abs(b)


@some
@given(values=st.lists(st.integers(-9, 9), max_size=40), descending=st.booleans())
def test_equal_elements_keep_their_order(space, values, descending):
    if descending:
        order = sorted(range(len(values)), key=lambda i: -distance(values[i]))
    else:
        order = sorted(range(len(values)), key=lambda i: distance(values[i]))
    wanted = [values[i] for i in order]
    options = {"less": nearer, "descending": descending, "space": space}
    x = staged.view_on(space, values, "x", np.int64)
    rows = staged.view_on(space, np.arange(len(values)), "rows", np.int64)
    found = es.argsort(x, **options)
    space.fence()
    assert staged.fetch(found).tolist() == order
    es.sort_by_key(x, rows, **options)
    assert staged.fetch(x).tolist() == wanted and staged.fetch(rows).tolist() == order
    es.deep_copy(x, np.array(values, np.int64))
    es.sort(x, **options)
    assert staged.fetch(x).tolist() == wanted


def test_complex_numbers_and_parts(space):
    values = np.array([3 + 4j, 1j, -2, 0, 6, 0.5])
    x = staged.view_on(space, values, "x")
    es.sort(x, less=smaller, space=space)
    assert staged.fetch(x).tolist() == sorted(values.tolist(), key=abs)
    es.deep_copy(x, values)
    es.sort(x, less=smaller, descending=True, begin=1, end=5, space=space)
    wanted = [values[0], *sorted(values[1:5].tolist(), key=abs, reverse=True), values[5]]
    assert staged.fetch(x).tolist() == wanted
    assert es.algorithms.is_sorted(x[1:5], lambda a, b: abs(a) > abs(b), space=space)


def test_many_elements(space):
    n = fitting(space, 5000)
    values = np.random.default_rng(4).integers(-1000, 1000, n).astype(np.float32)
    x = staged.view_on(space, values, "x")
    es.sort(x, less=lambda a, b: a > b, space=space)
    assert (staged.fetch(x) == np.sort(values)[::-1]).all()

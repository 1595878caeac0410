"""sort, argsort and sort_by_key: NumPy's answers, from a space's library and from kernels alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import execspace as es
from execspace_testing import staged
from execspace_testing.drawn import drawn
from execspace_testing.sizes import interpreted

from .arrays import (
    FLOATS,
    NUMBERS,
    arrays,
    dtypes,
    order_of,
    sortable,
    strided,
)

some = drawn(40)
particle = np.dtype([("x", "f4"), ("id", "i8"), ("v", "f8", (2,))])


class NoLibrary:
    """What no space is an instance of."""


@pytest.fixture
def kernels(space, monkeypatch):
    """Each space, as if it had no library to sort with."""
    monkeypatch.setattr("execspace.algorithms.sorting.SupportsSort", NoLibrary)
    return space


def bits(array):
    """The elements byte by byte: two zeros differ, and so do two NaN."""
    return np.ascontiguousarray(array).tobytes()


# -- sort -----------------------------------------------------------------------------------------


@some
@given(x=arrays(), descending=st.booleans())
def test_sort_agrees_with_numpy(space, x, descending):
    assume(sortable(space, x))
    # Not bit by bit: numpy.sort itself makes (-0.0, -0.0) of (-0.0, 0.0) on some processors.
    expected = np.sort(x)[::-1] if descending else np.sort(x)
    assert staged.sort(x, descending=descending, space=space) is None
    np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nan_of_either_sign_is_greatest(space, dtype):
    """0/0 is a NaN with the sign bit on x86, and without it elsewhere."""
    keys = np.array([1, np.nan, -np.inf, -np.nan, np.nan, 0, -np.nan, np.inf, -np.nan], dtype)
    assert np.signbit(keys[3]) and not np.signbit(keys[1])
    for descending in (False, True):
        order = staged.argsort(keys, descending=descending, space=space)
        assert staged.fetch(order).tolist() == order_of(keys, descending)
    ordered = keys.copy()
    staged.sort(ordered, space=space)
    np.testing.assert_array_equal(ordered, np.sort(keys))


@some
@given(data=st.data(), descending=st.booleans())
def test_kernels_alone_sort_stably(kernels, data, descending):
    kinds = NUMBERS if interpreted(kernels) else ("float64", "uint64")
    values = np.array(data.draw(arrays(kinds)))  # one layout, so that few kernels are compiled
    expected = bits(values[order_of(values, descending)])
    staged.sort(values, descending=descending, space=kernels)
    assert bits(values) == expected


def test_kernels_alone_sort_any_number_of_elements(kernels):
    rng = np.random.default_rng(5)
    sizes = [*range(18), 31, 32, 33] + ([1000, 4097] if not interpreted(kernels) else [])
    for n in sizes:
        x = rng.integers(0, n // 2 + 1, n).astype(float)
        expected = np.sort(x)
        staged.sort(x, space=kernels)
        assert x.tolist() == expected.tolist(), n


def test_what_lies_between_the_elements_stays(kernels):
    table = np.arange(40.0).reshape(10, 4)[::-1].copy()
    A = staged.view_on(kernels, table, "A")
    es.sort(A[::2, 1], space=kernels)
    table[::2, 1] = sorted(table[::2, 1])
    assert staged.fetch(A).tolist() == table.tolist()


def test_a_part_is_sorted(space):
    A = staged.view_on(space, [5, 4, 3, 2, 1, 0], "A")
    es.sort(A, begin=1, end=4, space=space)
    assert staged.fetch(A).tolist() == [5, 2, 3, 4, 1, 0]
    es.sort(A, begin=3, descending=True, space=space)
    assert staged.fetch(A).tolist() == [5, 2, 3, 4, 1, 0]
    es.sort(A, end=2, space=space)
    assert staged.fetch(A).tolist() == [2, 5, 3, 4, 1, 0]
    es.sort(A, begin=6, space=space)  # an empty part
    assert staged.fetch(A).tolist() == [2, 5, 3, 4, 1, 0]


@dataclass(frozen=True)
class Backwards(es.Layout):
    """No strides describe it to a library, so it is sorted by kernels everywhere."""

    def offset(self, i, n):
        return n - 1 - i

    def span(self, n):
        return n


def test_views_with_a_layout_of_ones_own_are_sorted(space):
    with es.use_space(space):
        A = es.View(7, label="A", layout=Backwards())
        rows = es.View(7, label="rows", layout=Backwards())
        es.deep_copy(A, np.arange(7.0) * 3 % 7)
        es.deep_copy(rows, np.arange(7.0))
        assert staged.fetch(es.argsort(A)).tolist() == [0, 5, 3, 1, 6, 4, 2]
        es.sort_by_key(A, rows)
        assert staged.fetch(A).tolist() == list(range(7))
        assert staged.fetch(rows).tolist() == [0, 5, 3, 1, 6, 4, 2]
        es.sort(A, descending=True)
        assert staged.fetch(A).tolist() == list(range(6, -1, -1))


# -- argsort and sort_by_key ----------------------------------------------------------------------


@some
@given(data=st.data(), descending=st.booleans())
def test_argsort_is_stable(space, data, descending):
    keys = data.draw(arrays(dtypes(space)))
    before = bits(keys)
    order = staged.argsort(keys, descending=descending, space=space)
    assert order.dtype == np.int64
    assert staged.fetch(order).tolist() == order_of(keys, descending)
    assert bits(keys) == before


@some
@given(data=st.data(), descending=st.booleans())
def test_kernels_alone_argsort(kernels, data, descending):
    kinds = NUMBERS if interpreted(kernels) else ("float64",)
    keys = np.array(data.draw(arrays(kinds)))
    order = es.View(len(keys), es.int64, label="order", space=kernels)
    assert staged.argsort(keys, descending=descending, out=order, space=kernels) is order
    assert staged.fetch(order).tolist() == order_of(keys, descending)


@some
@given(data=st.data(), descending=st.booleans())
def test_rows_of_any_kind_follow_their_keys(space, data, descending):
    keys = data.draw(arrays(dtypes(space), most=12))
    if interpreted(space) and keys.dtype.kind in "iu":
        keys = keys.astype(np.int64)
    n = len(keys)
    order = order_of(keys, descending)
    flat = strided(np.arange(n, dtype=np.int32), 2)
    grid = np.arange(n * 6.0).reshape(n, 3, 2)[:, ::-1]
    records = np.zeros(n, particle)
    records["id"] = np.arange(n)
    records["v"] = np.arange(2 * n).reshape(n, 2)
    expected = [bits(a[order]) for a in (keys, flat, grid, records)]
    staged.sort_by_key(keys, flat, grid, records, descending=descending, space=space)
    assert [bits(a) for a in (keys, flat, grid, records)] == expected


def test_kernels_alone_move_rows_of_every_rank(kernels):
    rng = np.random.default_rng(2)
    n = 11
    keys = np.array([3.0, np.nan, 3, -0.0, 0.0, np.inf, 3, -1, np.nan, 7, -1])
    order = order_of(keys)
    values = [rng.normal(size=(n, *(2, 3, 1)[: rank - 1])) for rank in range(1, 5)]
    records = np.zeros(n, particle)
    records["id"] = np.arange(n)
    values.append(records)
    expected = [bits(v[order]) for v in (keys, *values)]
    staged.sort_by_key(keys, *values, space=kernels)
    assert [bits(v) for v in (keys, *values)] == expected


def test_columns_of_one_table_are_keys_and_values(space):
    table = staged.view_on(space, [[3.0, 30], [1, 10], [2, 20]], "table")
    es.sort_by_key(table[:, 0], table[:, 1], space=space)
    assert staged.fetch(table).tolist() == [[1, 10], [2, 20], [3, 30]]


def test_half_precision_is_sorted_by_libraries(space):
    x = np.array([1, np.nan, -2, 0.5], np.float16)
    if not sortable(space, x):
        pytest.skip(f"{space.name} sorts with kernels, and they cannot compute with float16")
    staged.sort(x, space=space)
    np.testing.assert_array_equal(x, np.array([-2, 0.5, 1, np.nan], np.float16))


def test_every_float_is_ordered_on_the_host(space):
    """The whole order of the special numbers, spelled out once."""
    for dtype in FLOATS[1:]:
        x = np.array([np.nan, np.inf, 1, 0, -1, -np.inf], dtype)
        staged.sort(x, space=space)
        np.testing.assert_array_equal(x, [-np.inf, -1, 0, 1, np.inf, np.nan])

"""Arguments of sorting, searching and histograms that are refused, and searching on the host.

What they do on a space is tested by the conformance kit.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import execspace as es
from execspace_testing.suite.library.arrays import arrays, elements

particle = np.dtype([("x", "f4"), ("id", "i8"), ("v", "f8", (2,))])
numbers = np.zeros(4)
whole = np.zeros(4, np.int64)


@settings(max_examples=40, deadline=None)
@given(x=arrays(), data=st.data())
def test_bounds_agree_with_numpy_on_the_host(x, data):
    table = es.view_of(np.sort(x))
    value = np.array(data.draw(elements(x.dtype)), x.dtype)[()]
    assert es.lower_bound(table, value) == np.searchsorted(np.sort(x), value, "left")
    assert es.upper_bound(table, value) == np.searchsorted(np.sort(x), value, "right")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: es.sort([1, 2]), TypeError, "sort: view is of type 'list'; expected a View or an"),
        (lambda: es.sort(np.zeros((2, 2))), es.ViewError, "has rank 2; expected rank 1"),
        (lambda: es.sort(np.zeros(())), es.ViewError, "has rank 0; expected rank 1"),
        (lambda: es.sort(np.zeros(2, "c8")), es.DTypeError, "holds complex64, which have no order"),
        (lambda: es.sort(np.zeros(2, particle)), es.DTypeError, "holds records, which have no ord"),
        (lambda: es.sort(np.zeros(2, "U3")), es.DTypeError, "sort: view: dtype .* cannot be an el"),
        (lambda: es.sort(es.view_of(numbers).readonly()), es.ViewError, "'' is read-only; copy it"),
        (lambda: es.sort(numbers, begin=3, end=2), es.ViewIndexError, "begin=3, end=2 is not a"),
        (lambda: es.sort(numbers, begin=-1), es.ViewIndexError, "expected 0 <= begin <= end <= 4"),
        (lambda: es.sort(numbers, end=5), es.ViewIndexError, "begin=0, end=5 is not a range"),
        (lambda: es.sort(numbers, end=1.5), es.ViewError, "end=1.5; expected integers"),
        (lambda: es.sort(numbers, space="nowhere"), es.UnknownSpaceError, "'nowhere'"),
        (lambda: es.argsort(numbers, out=np.zeros(4)), es.ViewError, "float64; expected shape .4,"),
        (lambda: es.argsort(numbers, out=np.zeros(3, "i8")), es.ViewError, "out is View .* shape"),
        (
            lambda: es.argsort(numbers.view("i8"), out=numbers.view("i8")),
            es.ViewError,
            "argsort: View 'keys of argsort' and View 'out of argsort' overlap in memory",
        ),
        (lambda: es.sort_by_key(numbers, np.zeros(3)), es.ViewError, "has 3 rows; expected 4, one"),
        (lambda: es.sort_by_key(numbers, np.zeros(())), es.ViewError, "rank 0 and so no rows"),
        (lambda: es.sort_by_key(numbers, numbers), es.ViewError, "overlap in memory; expected Vie"),
    ],
)  # fmt: skip
def test_bad_arguments_of_sorting_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: es.searchsorted(numbers, numbers, "middle"), es.ViewError, "side='middle'; expec"),
        (lambda: es.searchsorted(numbers, 1.0), TypeError, "values is of type 'float'; expected a"),
        (lambda: es.searchsorted(numbers, np.zeros((2, 2))), es.ViewError, "has rank 2; expect"),
        (lambda: es.searchsorted(np.zeros(2, "c16"), numbers), es.DTypeError, "holds complex128"),
        (lambda: es.searchsorted(numbers, numbers, out=np.zeros(4)), es.ViewError, "dtype int64"),
        (
            lambda: es.searchsorted(numbers, numbers.view("i8"), out=numbers.view("i8")),
            es.ViewError,
            "overlap in memory",
        ),
    ],
)  # fmt: skip
def test_bad_arguments_of_searchsorted_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: es.histogram([1, 2]), TypeError, "view is of type 'list'"),
        (lambda: es.histogram(np.zeros((2, 2))), es.ViewError, "has rank 2; expected rank 1"),
        (lambda: es.histogram(np.zeros(2, "c8")), es.DTypeError, "holds complex64"),
        (lambda: es.histogram(numbers, 0), es.ViewError, "bins=0; expected 1 or more"),
        (lambda: es.histogram(numbers, "auto"), es.ViewError, "bins='auto'; expected a number of"),
        (lambda: es.histogram(numbers, 2.5), es.ViewError, "bins=2.5; expected a number of bins"),
        (lambda: es.histogram(numbers, [1.0]), es.ViewError, "two or more edges"),
        (lambda: es.histogram(numbers, [[1], [2, 3]]), es.ViewError, "two or more edges"),
        (lambda: es.histogram(numbers, [2, 1]), es.ViewError, "edges that descend or are NaN"),
        (lambda: es.histogram(numbers, [0, math.nan]), es.ViewError, "edges that descend or are"),
        (lambda: es.histogram(numbers, [0, 1], (0, 1)), es.ViewError, "none beside edges"),
        (lambda: es.histogram(numbers, 2, 3), es.ViewError, "range=3; expected a pair of numbers"),
        (lambda: es.histogram(numbers, 2, (1, 0)), es.ViewError, "expected the lower end first"),
        (lambda: es.histogram(numbers, 2, (0, math.inf)), es.ViewError, "from 0 to inf; expected"),
        (lambda: es.histogram(numbers, 2, (math.nan, 1)), es.ViewError, "from nan to 1; expected"),
        (lambda: es.histogram(numbers, 9, (1, 1 + 1e-15)), es.ViewError, "9 bins from 1 to .* dif"),
        (lambda: es.histogram(numbers, 2, (-1e308, 1e308)), es.ViewError, "are finite; ask for"),
        (lambda: es.histogram(numbers, weights=np.zeros(3)), es.ViewError, "expected .4,., tha"),
        (lambda: es.histogram(numbers, weights=numbers > 0), es.DTypeError, "of bools; expected"),
        (lambda: es.histogram(numbers, 2, out=numbers[:2]), es.ViewError, "dtype float64; exp"),
        (lambda: es.histogram(whole, 4, (0, 1), out=whole), es.ViewError, "overlap in memory"),
        (lambda: es.histogram(numbers, es.view_of(numbers[:1])), es.ViewError, "of 1 elements"),
    ],
)  # fmt: skip
def test_bad_arguments_of_histogram_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_elements_without_a_finite_range_need_one(value):
    x = np.array([1.0, value], np.float32)
    with es.use_space("serial"):
        with pytest.raises(
            es.ViewError, match=r"the elements of View .* expected finite ends. Give"
        ):
            es.histogram(x)
        counts, _ = es.histogram(x, 1, (0.0, 2.0))
        es.fence()
    assert list(counts) == [1]

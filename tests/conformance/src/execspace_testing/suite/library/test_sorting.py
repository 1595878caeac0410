"""sort, argsort and sort_by_key: NumPy's answers, from a space's library and from kernels alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import execspace as es

from .arrays import (
    FLOATS,
    NUMBERS,
    KernelsOnly,
    arrays,
    on_device,
    on_host,
    order_of,
    sortable,
    strided,
)

some = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
particle = np.dtype([("x", "f4"), ("id", "i8"), ("v", "f8", (2,))])


@pytest.fixture
def kernels(space):
    """Each space, without a library to sort with."""
    return KernelsOnly(space)


def bits(array):
    """The elements byte by byte: two zeros differ, and so do two NaN."""
    return np.ascontiguousarray(array).tobytes()


def test_spaces_on_the_host_sort_with_numpy_and_others_with_kernels(space):
    assert isinstance(space, es.SupportsSort) == (space.name in ("serial", "openmp"))
    assert not isinstance(KernelsOnly(space), es.SupportsSort)


# -- sort -----------------------------------------------------------------------------------------


@some
@given(x=arrays(), descending=st.booleans())
def test_sort_agrees_with_numpy(space, x, descending):
    assume(sortable(space, x))
    # Not bit by bit: numpy.sort itself makes (-0.0, -0.0) of (-0.0, 0.0) on some processors.
    expected = np.sort(x)[::-1] if descending else np.sort(x)
    assert es.sort(x, descending=descending, space=space) is None
    es.fence()
    np.testing.assert_array_equal(x, expected)


@some
@given(data=st.data(), descending=st.booleans())
def test_kernels_alone_sort_stably(kernels, data, descending):
    dtypes = NUMBERS if kernels.name == "oracle" else ("float64", "uint64")
    values = np.array(data.draw(arrays(dtypes)))  # one layout, so that few kernels are compiled
    expected = bits(values[order_of(values, descending)])
    es.sort(values, descending=descending, space=kernels)
    es.fence()
    assert bits(values) == expected


def test_kernels_alone_sort_any_number_of_elements(kernels):
    rng = np.random.default_rng(5)
    sizes = [*range(18), 31, 32, 33] + ([1000, 4097] if kernels.name != "oracle" else [])
    for n in sizes:
        x = rng.integers(0, n // 2 + 1, n).astype(float)
        expected = np.sort(x)
        es.sort(x, space=kernels)
        es.fence()
        assert x.tolist() == expected.tolist(), n


def test_what_lies_between_the_elements_stays(kernels):
    table = np.arange(40.0).reshape(10, 4)[::-1].copy()
    column = table[::2, 1]
    others = table.copy()
    es.sort(column, space=kernels)
    es.fence()
    others[::2, 1] = sorted(others[::2, 1])
    assert table.tolist() == others.tolist()


def test_a_part_is_sorted(space):
    A = es.view_of(np.array([5, 4, 3, 2, 1, 0]), label="A")
    es.sort(A, begin=1, end=4, space=space)
    assert list(A) == [5, 2, 3, 4, 1, 0]
    es.sort(A, begin=3, descending=True, space=space)
    assert list(A) == [5, 2, 3, 4, 1, 0]
    es.sort(A, end=2, space=space)
    assert list(A) == [2, 5, 3, 4, 1, 0]
    es.sort(A, begin=6, space=space)  # an empty part
    assert list(A) == [2, 5, 3, 4, 1, 0]


@dataclass(frozen=True)
class Backwards(es.Layout):
    """No strides describe it to a library, so it is sorted by kernels everywhere."""

    def offset(self, i, n):
        return n - 1 - i

    def span(self, n):
        return n


def test_views_with_a_layout_of_ones_own_are_sorted():
    with es.use_space("serial"):
        A = es.View(7, label="A", layout=Backwards())
        rows = es.View(7, label="rows", layout=Backwards())
        for i in range(7):
            A[i], rows[i] = i * 3 % 7, i
        assert np.asarray(es.argsort(A)).tolist() == [0, 5, 3, 1, 6, 4, 2]
        es.sort_by_key(A, rows)
        assert [A[i] for i in range(7)] == list(range(7))
        assert [rows[i] for i in range(7)] == [0, 5, 3, 1, 6, 4, 2]
        es.sort(A, descending=True)
        assert [A[i] for i in range(7)] == list(range(6, -1, -1))


# -- argsort and sort_by_key ----------------------------------------------------------------------


@some
@given(keys=arrays(), descending=st.booleans())
def test_argsort_is_stable(space, keys, descending):
    assume(sortable(space, keys))
    before = bits(keys)
    order = es.argsort(keys, descending=descending, space=space)
    es.fence()
    assert order.dtype == np.int64
    assert np.asarray(order).tolist() == order_of(keys, descending)
    assert bits(keys) == before


@some
@given(data=st.data(), descending=st.booleans())
def test_kernels_alone_argsort(kernels, data, descending):
    dtypes = NUMBERS if kernels.name == "oracle" else ("float64",)
    keys = np.array(data.draw(arrays(dtypes)))
    order = es.View(len(keys), es.int64, label="order", space=kernels)
    assert es.argsort(keys, descending=descending, out=order, space=kernels) is order
    es.fence()
    assert np.asarray(order).tolist() == order_of(keys, descending)


@some
@given(keys=arrays(most=12), descending=st.booleans())
def test_rows_of_any_kind_follow_their_keys(space, keys, descending):
    assume(sortable(space, keys))
    if space.name == "oracle" and keys.dtype.kind in "iu":
        keys = keys.astype(np.int64)
    n = len(keys)
    order = order_of(keys, descending)
    flat = strided(np.arange(n, dtype=np.int32), 2)
    grid = np.arange(n * 6.0).reshape(n, 3, 2)[:, ::-1]
    records = np.zeros(n, particle)
    records["id"] = np.arange(n)
    records["v"] = np.arange(2 * n).reshape(n, 2)
    expected = [bits(a[order]) for a in (keys, flat, grid, records)]
    es.sort_by_key(keys, flat, grid, records, descending=descending, space=space)
    es.fence()
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
    es.sort_by_key(keys, *values, space=kernels)
    es.fence()
    assert [bits(v) for v in (keys, *values)] == expected


def test_columns_of_one_table_are_keys_and_values(space):
    table = np.array([[3.0, 30], [1, 10], [2, 20]])
    es.sort_by_key(table[:, 0], table[:, 1], space=space)
    es.fence()
    assert table.tolist() == [[1, 10], [2, 20], [3, 30]]


def test_half_precision_is_sorted_by_libraries(space):
    x = np.array([1, np.nan, -2, 0.5], np.float16)
    if not sortable(space, x):
        pytest.skip(f"{space.name} sorts with kernels, and they cannot compute with float16")
    es.sort(x, space=space)
    es.fence()
    np.testing.assert_array_equal(x, np.array([-2, 0.5, 1, np.nan], np.float16))


# -- where it runs --------------------------------------------------------------------------------


def test_on_a_device_nothing_blocks_and_nothing_leaves_it(fake, recorder):
    keys, rows = np.array([2.0, 3, 1, np.nan, 0]), np.arange(10).reshape(5, 2)
    x, y, z = on_device(keys, "x"), on_device(keys, "y"), on_device(rows, "z")
    recorder.copies.clear()
    with fake.held():
        es.sort(x, descending=True)
        es.sort_by_key(y, z)
        order = es.argsort(x)
        assert order.memory_space.name == "fake"
        assert fake.waiting
    assert all(place.endswith("@fake") for pair in recorder.copies for place in pair)
    assert {space for _, _, space in recorder.kernels} == {"fake"}
    np.testing.assert_array_equal(on_host(x), [np.nan, 3, 2, 1, 0])
    np.testing.assert_array_equal(on_host(y), [0, 1, 2, 3, np.nan])
    assert on_host(z) == rows[[4, 2, 0, 1, 3]].tolist()
    assert on_host(order) == [4, 3, 2, 1, 0]


def test_a_space_with_a_library_is_asked(recorder):
    class Library(KernelsOnly):
        calls = ()

        def compile(self, kernel, spec):
            raise AssertionError("no kernel is needed")

        def sort(self, view, descending):
            self.calls += (("sort", view.label, descending),)

        def argsort(self, keys, descending, out):
            self.calls += (("argsort", keys.label, descending),)
            np.asarray(out)[:] = [1, 0]

        def permute(self, view, order):
            self.calls += (("permute", view.label, np.asarray(order).tolist()),)

    space = Library(es.space("serial"))
    a, b = (es.view_of(np.zeros(2), label=label) for label in "ab")
    es.sort(a, space=space)
    es.argsort(a, descending=True, space=space)
    es.sort_by_key(a, b, space=space)
    assert space.calls == (
        ("sort", "a", False), ("argsort", "a", True), ("argsort", "a", False),
        ("permute", "a", [1, 0]), ("permute", "b", [1, 0]),
    )  # fmt: skip
    names = ["sort", "argsort", "argsort", "permute", "permute"]
    assert recorder.kernels == [("library", name, "serial") for name in names]
    es.sort(a[:1], space=space)  # nothing to do
    es.sort(a[:0], space=space)
    assert len(space.calls) == 5


def test_a_space_that_cannot_reach_a_view_is_refused(fake):
    x = es.View(3, label="x", space="fake")
    with pytest.raises(es.SpaceAccessError, match=r"sort: View 'x' is in memory space 'fake', whi"):
        es.sort(x, space="serial")
    with es.use_space("serial"), pytest.raises(es.SpaceAccessError, match="'serial' cannot reach"):
        es.argsort(x)
    with pytest.raises(es.SpaceAccessError, match="View 'value 0 of sort_by_key' is in"):
        es.sort_by_key(x, np.zeros(3), space="fake")


# -- arguments ------------------------------------------------------------------------------------

numbers = np.zeros(4)


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
        (lambda: es.sort(numbers, begin=3, end=2), es.ViewIndexError, "begin=3, end=2 is no range"),
        (lambda: es.sort(numbers, begin=-1), es.ViewIndexError, "expected 0 <= begin <= end <= 4"),
        (lambda: es.sort(numbers, end=5), es.ViewIndexError, "begin=0, end=5 is no range of View"),
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
def test_bad_arguments_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_every_float_is_ordered_on_the_host(space):
    """The whole order of the special numbers, spelled out once."""
    for dtype in FLOATS[1:]:
        x = np.array([np.nan, np.inf, 1, 0, -1, -np.inf], dtype)
        es.sort(x, space=space)
        es.fence()
        np.testing.assert_array_equal(x, [-np.inf, -1, 0, 1, np.inf, np.nan])

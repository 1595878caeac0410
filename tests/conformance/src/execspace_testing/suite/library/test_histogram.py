"""histogram: the counts and the edges of numpy.histogram, element by element."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import execspace as es

from .arrays import INTEGERS, on_device, on_host, strided

some = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def agree(x, bins, range=None, *, weights=None, space):
    """Compare counts and edges, to the last bit, and return the counts."""
    counts, edges = es.histogram(x, bins, range, weights=weights, space=space)
    es.fence()
    exact = x.astype(np.uint8) if x.dtype.kind == "b" else x
    expected, expected_edges = np.histogram(exact, bins, range, weights=weights)
    assert np.asarray(counts).tolist() == expected.tolist()
    assert counts.dtype == (np.int64 if weights is None else np.float64)
    np.testing.assert_array_equal(np.asarray(edges), expected_edges)
    assert edges.dtype == expected_edges.dtype
    return np.asarray(counts)


def near(edges):
    """Each edge, and its neighbours among the numbers of that dtype."""
    below, above = np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)
    return np.concatenate([edges, below, above, [np.nan, np.inf, -np.inf]]).astype(edges.dtype)


@some
@given(
    n=st.integers(1, 60),
    low=st.floats(-1e6, 1e6),
    width=st.floats(1e-3, 1e6),
    extra=st.lists(st.floats(-2e6, 2e6), max_size=10),
    data=st.data(),
)
def test_values_on_edges_fall_where_numpy_has_them(space, n, low, width, extra, data):
    dtype = np.dtype("float32") if space.name != "oracle" else data.draw(st.sampled_from("fd"))
    range = (low, low + width)
    try:
        edges = np.histogram_bin_edges(np.zeros(0, dtype), n, range)
    except ValueError:  # more bins than numbers: see below
        assume(False)
    x = np.concatenate([near(edges), np.array(extra, edges.dtype)])
    try:
        np.histogram(x, n, range)
    except IndexError:  # NumPy's own, where rounding to float32 moves a number two bins on
        assume(False)
    assert agree(x, n, range, space=space).sum() >= n


@some
@given(data=st.data(), n=st.integers(1, 20))
def test_integers_agree_with_numpy(space, data, n):
    dtype = np.dtype(data.draw(st.sampled_from(INTEGERS)) if space.name == "oracle" else "int64")
    range = data.draw(st.none() | st.tuples(st.integers(-3, 5), st.integers(6, 12)))
    # Without a range, bins around 2**53 would be narrower than the gaps between float64.
    most = 2**64 if range else 2**40
    low, high = max(np.iinfo(dtype).min, -most), min(np.iinfo(dtype).max, most)
    values = st.integers(0, 9) | st.integers(int(low), int(high))
    x = np.array(data.draw(st.lists(values, max_size=12)), dtype)
    agree(x, n, range, space=space)


@some
@given(
    edges=st.lists(st.integers(-4, 4) | st.sampled_from([math.inf, -math.inf]), min_size=2),
    values=st.lists(st.integers(-6, 6) | st.sampled_from([math.nan, math.inf, -math.inf])),
)
def test_edges_of_any_width(space, edges, values):
    """Edges may repeat: the bins between them are empty."""
    edges = np.sort(np.array(edges, np.float64))
    values = np.array(values, np.float32)
    agree(values, edges, space=space)


def test_edges_may_be_a_list_an_array_or_a_view(space):
    x = np.array([0.0, 1.0, 1.5, 2.0, 2.5, 7.0], np.float32)
    with es.use_space(space):
        edges = es.view_of(np.array([0.0, 1.0, 2.0]), label="edges")
        for bins in ([0.0, 1.0, 2.0], np.array([0.0, 1.0, 2.0]), edges):
            counts, used = es.histogram(x, bins)
            es.fence()
            assert np.asarray(counts).tolist() == [1, 3]
            assert np.asarray(used).tolist() == [0, 1, 2]
        assert used is edges
        for faulty in ([0.0, 2.0, 1.0], [0.0, np.nan, 1.0], [np.nan, np.nan]):
            with pytest.raises(es.ViewError, match="'edges', whose edges descend or are NaN"):
                es.histogram(x, es.view_of(np.array(faulty), label="edges"))


def test_the_range_is_that_of_the_elements(space):
    x = np.random.default_rng(4).normal(size=300).astype(np.float32)
    assert agree(x, 10, space=space).sum() == 300
    assert agree(x[:100], 7, space=space).sum() == 100
    assert agree(x[:0], 10, space=space).sum() == 0
    assert agree(np.full(5, 3, np.float32), 4, space=space).tolist() == [0, 0, 5, 0]


def test_bools_count_as_zero_and_one():
    agree(np.array([True, False, True]), 2, space="oracle")


def test_weights(space):
    x = np.array([0.0, 1, 1, 2, np.nan, 9], np.float32)
    for weights in (np.array([1, 2, 4, 8, 16, 32]), np.array([0.5, 0.25, 2, 1, 4, 8])):
        expected = agree(x, 2, (0, 2), weights=weights.astype(float), space=space)
        counts, _ = es.histogram(x, 2, (0, 2), weights=weights, space=space)
        es.fence()
        assert np.asarray(counts).tolist() == expected.tolist()


def test_many_elements_in_few_bins(space):
    """Counts are exact, however many threads count at the same time."""
    n = 200_000 if space.name != "oracle" else 500
    x = strided(np.random.default_rng(3).normal(size=n).astype(np.float32), -2)
    agree(x, 3, (-2.0, 2.0), space=space)


def test_on_a_device_it_does_not_block(fake, recorder):
    x = on_device(np.array([0.0, 1, 1, 2, np.nan, 9], np.float32), "x")
    recorder.copies.clear()
    with fake.held():
        counts, edges = es.histogram(x, 2, (0, 2))
        positions = es.searchsorted(edges, x)
        assert fake.waiting
    assert recorder.copies == [("histogram edges@fake", "source of deep_copy@host")]
    assert {v.memory_space.name for v in (counts, edges, positions)} == {"fake"}
    assert on_host(counts) == [1, 3]
    assert on_host(edges) == [0, 1, 2]
    assert on_host(positions) == [0, 1, 1, 2, 3, 3]


def test_out_is_overwritten(space):
    x = np.array([1.0, 2, 2, 3], np.float32)
    out = es.View(3, es.int64, label="out", space=space)
    es.deep_copy(out, 100)
    counts, _ = es.histogram(x, 3, out=out, space=space)
    es.fence()
    assert counts is out
    assert np.asarray(out).tolist() == [1, 2, 1]


numbers = np.zeros(4)
whole = np.zeros(4, np.int64)


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
def test_bad_arguments_are_named(call, error, message):
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

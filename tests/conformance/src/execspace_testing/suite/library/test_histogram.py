"""histogram: the counts and the edges of numpy.histogram, element by element."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import execspace as es
from execspace_testing import staged
from execspace_testing.drawn import drawn
from execspace_testing.sizes import fitting, interpreted

from .arrays import INTEGERS, strided

some = drawn(60)


def agree(x, bins, range=None, *, weights=None, space):
    """Compare counts and edges, to the last bit, and return the counts."""
    placed = None if weights is None else staged.place(space, weights)
    data = staged.place(space, x)
    counts, edges = es.histogram(data, bins, range, weights=placed, space=space)
    exact = x.astype(np.uint8) if x.dtype.kind == "b" else x
    expected, expected_edges = np.histogram(exact, bins, range, weights=weights)
    assert staged.fetch(counts).tolist() == expected.tolist()
    assert counts.dtype == (np.int64 if weights is None else np.float64)
    np.testing.assert_array_equal(staged.fetch(edges), expected_edges)
    assert edges.dtype == expected_edges.dtype
    return staged.fetch(counts)


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
    dtype = np.dtype(data.draw(st.sampled_from("fd")) if interpreted(space) else "float32")
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
    dtype = np.dtype(data.draw(st.sampled_from(INTEGERS)) if interpreted(space) else "int64")
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
    x = staged.view_on(space, np.array([0.0, 1.0, 1.5, 2.0, 2.5, 7.0], np.float32))
    with es.use_space(space):
        edges = staged.view_on(space, [0.0, 1.0, 2.0], "edges")
        for bins in ([0.0, 1.0, 2.0], np.array([0.0, 1.0, 2.0]), edges):
            counts, used = es.histogram(x, bins)
            assert staged.fetch(counts).tolist() == [1, 3]
            assert staged.fetch(used).tolist() == [0, 1, 2]
        assert used is edges
        for faulty in ([0.0, 2.0, 1.0], [0.0, np.nan, 1.0], [np.nan, np.nan]):
            with pytest.raises(es.ViewError, match="'edges', whose edges descend or are NaN"):
                es.histogram(x, staged.view_on(space, faulty, "edges"))


def test_the_range_is_that_of_the_elements(space):
    x = np.random.default_rng(4).normal(size=300).astype(np.float32)
    assert agree(x, 10, space=space).sum() == 300
    assert agree(x[:100], 7, space=space).sum() == 100
    assert agree(x[:0], 10, space=space).sum() == 0
    assert agree(np.full(5, 3, np.float32), 4, space=space).tolist() == [0, 0, 5, 0]


def test_bools_count_as_zero_and_one(space):
    agree(np.array([True, False, True]), 2, space=space)


def test_weights(space):
    x = np.array([0.0, 1, 1, 2, np.nan, 9], np.float32)
    for weights in (np.array([1, 2, 4, 8, 16, 32]), np.array([0.5, 0.25, 2, 1, 4, 8])):
        expected = agree(x, 2, (0, 2), weights=weights.astype(float), space=space)
        data, loads = staged.place(space, x), staged.place(space, weights)
        counts, _ = es.histogram(data, 2, (0, 2), weights=loads, space=space)
        assert staged.fetch(counts).tolist() == expected.tolist()


def test_many_elements_in_few_bins(space):
    """Counts are exact, however many threads count at the same time."""
    n = fitting(space, 200_000, 500)
    x = strided(np.random.default_rng(3).normal(size=n).astype(np.float32), -2)
    agree(x, 3, (-2.0, 2.0), space=space)


def test_out_is_overwritten(space):
    x = staged.view_on(space, np.array([1.0, 2, 2, 3], np.float32))
    out = es.View(3, es.int64, label="out", space=space)
    es.deep_copy(out, 100)
    counts, _ = es.histogram(x, 3, out=out, space=space)
    assert counts is out
    assert staged.fetch(out).tolist() == [1, 2, 1]

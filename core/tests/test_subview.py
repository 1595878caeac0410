"""Subviews: every slice of a View is what NumPy's slice of the same array is."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import execspace as es
from execspace.contract import layout as _layout


def filled(shape, layout="right"):
    """A View that counts its elements in row-major order."""
    A = es.View(shape, es.int64, label="A", layout=layout)
    np.asarray(A)[...] = np.arange(A.size).reshape(A.shape)
    return A


def test_subview_takes_integers_pairs_slices_and_all():
    A = filled((4, 5, 6))
    part = es.subview(A, es.ALL, 3, (2, 5))
    assert part.shape == (4, 3)
    assert np.array_equal(part, np.asarray(A)[:, 3, 2:5])
    assert np.array_equal(es.subview(A, slice(None, None, 2), ..., -1), np.asarray(A)[::2, :, -1])


def test_all_integers_make_a_view_of_rank_zero():
    A = filled((4, 5))
    element = es.subview(A, 2, 3)
    assert (element.shape, element[()]) == ((), 13)
    element[()] = -1
    assert A[2, 3] == -1


def test_subviews_share_memory():
    A = filled((4, 5))
    A[1:3, ::2][0, 1] = 99
    assert A[1, 2] == 99


@pytest.mark.parametrize(
    ("key", "layout"),
    [
        ((slice(None), slice(None), slice(None)), "right"),
        ((slice(1, 3), slice(None), slice(None)), "right"),
        ((1, slice(None), slice(None)), "right"),
        ((1, 2, slice(None)), "right"),
        ((slice(None), slice(1, 3), slice(None)), "stride"),
        ((slice(None), slice(None), 0), "stride"),
        ((slice(None, None, -1), slice(None), slice(None)), "stride"),
        ((slice(0, 0), slice(None), slice(None, None, 2)), "right"),  # empty: any layout fits
        ((0, 0, slice(1, 2)), "right"),
        ((slice(2, 3), slice(None), slice(None)), "right"),
    ],
)
def test_layout_of_a_subview(key, layout):
    assert filled((4, 5, 6))[key].layout == layout


def test_layout_left_survives_where_columns_do():
    A = filled((4, 5), layout="left")
    assert A[:, 2].layout == A[:, 1:3].layout == "left"
    assert A[1:3, :].layout == "stride"
    assert A[0, :].layout == "stride"


@pytest.mark.parametrize("pair", [(0, 6), (-1, 2), (3, 2), (6, 6)])
def test_a_pair_must_lie_within_its_dimension(pair):
    with pytest.raises(es.ViewIndexError, match="does not lie within dimension 0 of extent 5"):
        es.subview(es.View(5), pair)


def test_a_pair_is_two_integers():
    for pair in [(1,), (1, 2, 3), (1, 2.0), ("a", "b")]:
        with pytest.raises(es.ViewError, match="expected a pair of integers"):
            es.subview(es.View(5), pair)


def test_slices_are_clipped_as_in_python():
    A = filled(5)
    assert A[3:100].shape == (2,)
    assert A[-100:2].shape == (2,)
    assert A[4:1].shape == (0,)


def test_a_slice_of_step_zero_is_refused():
    with pytest.raises(ValueError, match="step cannot be zero"):
        es.View(5)[::0]


# -- properties ---------------------------------------------------------------------------------


@st.composite
def views_and_keys(draw):
    shape = draw(st.lists(st.integers(0, 6), min_size=1, max_size=5))
    layout = draw(st.sampled_from(["left", "right"]))
    bound = st.none() | st.integers(-8, 8)
    key = []
    for n in shape:
        step = st.none() | st.integers(-3, 3).filter(bool)
        choices = [st.builds(slice, bound, bound, step), st.just(es.ALL)]
        if n:
            choices.append(st.integers(-n, n - 1))
        key.append(draw(st.one_of(choices)))
    return tuple(shape), layout, tuple(key)


def as_numpy(key):
    return tuple(slice(None) if part is es.ALL else part for part in key)


def bounds_of(array):
    low, high = np.lib.array_utils.byte_bounds(array)
    return (high - low) // array.itemsize if array.size else 0


@settings(deadline=None, max_examples=200)
@given(views_and_keys())
def test_a_subview_is_numpys_slice(case):
    shape, layout, key = case
    A = filled(shape, layout)
    want = np.asarray(A)[(*as_numpy(key), ...)]
    got = es.subview(A, *key)
    assert got.shape == want.shape
    assert np.array_equal(got, want)
    assert got.span == bounds_of(want)
    assert got.span_is_contiguous == (got.span == want.size)
    if want.size:
        assert got.data_ptr == want.__array_interface__["data"][0]
        for n, ours, numpys in zip(got.shape, got.strides, want.strides, strict=True):
            assert n == 1 or ours * want.itemsize == numpys


@settings(deadline=None, max_examples=200)
@given(views_and_keys())
def test_the_layout_class_tells_the_truth(case):
    shape, layout, key = case
    part = es.subview(filled(shape, layout), *key)
    expected = {
        "right": _layout.right_strides(part.shape),
        "left": _layout.left_strides(part.shape),
    }
    if part.layout != "stride":
        for n, ours, regular in zip(part.shape, part.strides, expected[part.layout], strict=True):
            assert part.size == 0 or n == 1 or ours == regular
    elif part.size:
        array = np.asarray(part)
        assert not array.flags.c_contiguous
        assert not array.flags.f_contiguous
    unit = part.type.unit
    assert unit is None or part.shape[unit] < 2 or part.size == 0 or part.strides[unit] == 1


@settings(deadline=None, max_examples=150)
@given(views_and_keys(), st.data())
def test_subviews_compose(case, data):
    shape, layout, key = case
    A = filled(shape, layout)
    part = es.subview(A, *key)
    bound, step = st.integers(-4, 4), st.sampled_from([1, -2])
    second = tuple(data.draw(st.builds(slice, bound, bound, step)) for _ in part.shape)
    want = np.asarray(A)[as_numpy(key)][second]
    assert np.array_equal(es.subview(part, *second), want)


@settings(deadline=None, max_examples=100)
@given(views_and_keys(), st.integers(-100, 100))
def test_storing_through_a_key_changes_what_numpy_changes(case, value):
    shape, layout, key = case
    A, want = filled(shape, layout), np.array(filled(shape, layout))
    A[key] = value
    want[as_numpy(key)] = value
    assert np.array_equal(A, want)

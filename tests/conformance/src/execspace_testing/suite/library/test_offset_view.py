"""OffsetView: indices that begin elsewhere, in kernels of every rank and on the host."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import execspace as es
from execspace_testing import staged
from execspace_testing.drawn import drawn

some = drawn(20)


def rank1(i, a):
    a[i] += 3 * i
    es.atomic_add(a.view, a.place(i), 1)


def rank2(i, j, a):
    a[i, j] += 3 * i + 5 * j
    es.atomic_add(a.view, a.place(i, j), 1)


def rank3(i, j, k, a):
    a[i, j, k] += 3 * i + 5 * j + 7 * k
    es.atomic_add(a.view, a.place(i, j, k), 1)


def rank8(i, j, k, a):
    a[0, i, 1, j, 2, k, 3, 4] += 3 * i + 5 * j + 7 * k
    es.atomic_add(a.view, a.place(0, i, 1, j, 2, k, 3, 4), 1)


@pytest.mark.parametrize("dtype", [np.int32, np.float64])
@pytest.mark.parametrize(
    ("kernel", "begins", "shape"),
    [(rank1, (-3,), (7,)), (rank2, (-1, 10), (4, 3)), (rank3, (2, -2, 0), (2, 3, 4))],
)
def test_kernels_of_each_rank(space, kernel, begins, shape, dtype):
    a = es.OffsetView(begins, shape=shape, dtype=dtype, space=space)
    assert (a.shape, a.rank, a.size, a.dtype) == (shape, len(shape), np.prod(shape), dtype)
    ends = tuple(b + n for b, n in zip(begins, shape, strict=True))
    assert (a.begins, a.ends) == (begins, ends)
    for d in range(len(shape)):
        assert (a.begin(d), a.end(d), a.extent(d)) == (begins[d], ends[d], shape[d])
    a.view.fill(100)
    if len(shape) == 1:
        policy = es.RangePolicy(begins[0], ends[0], space=space)
    else:
        policy = es.MDRangePolicy(begins, ends, space=space)
    es.parallel_for(policy, kernel, a)
    indices = np.indices(shape) + np.reshape(begins, (-1, *[1] * len(shape)))
    expected = 101 + sum(f * x for f, x in zip((3, 5, 7), indices, strict=False))
    np.testing.assert_array_equal(staged.fetch(a.view), expected)


def test_rank_eight(space):
    begins = (0, -1, 1, -1, 2, -1, 3, 4)
    a = es.OffsetView(begins, tuple(b + (2 if b < 0 else 1) for b in begins), es.int64, space=space)
    es.parallel_for(es.MDRangePolicy((-1, -1, -1), (1, 1, 1), space=space), rank8, a)
    expected = [3 * i + 5 * j + 7 * k + 1 for i in (-1, 0) for j in (-1, 0) for k in (-1, 0)]
    assert staged.fetch(a.view).ravel().tolist() == expected


def rank4(i, a):
    a[i, 1, 0, 0] += 3 * i
    es.atomic_add(a.view, a.place(i, 1, 0, 0), 1)


def rank5(i, a):
    a[0, i, 1, 0, 0] += 3 * i
    es.atomic_add(a.view, a.place(0, i, 1, 0, 0), 1)


def rank6(i, a):
    a[0, 0, i, 1, 0, 0] += 3 * i
    es.atomic_add(a.view, a.place(0, 0, i, 1, 0, 0), 1)


def rank7(i, a):
    a[0, 0, 0, i, 1, 0, 0] += 3 * i
    es.atomic_add(a.view, a.place(0, 0, 0, i, 1, 0, 0), 1)


@pytest.mark.parametrize(("rank", "kernel"), [(4, rank4), (5, rank5), (6, rank6), (7, rank7)])
def test_ranks_between(space, rank, kernel):
    """One index runs from -2 to 2; the one after it is 1, which is the second of its dimension."""
    before = rank - 4
    begins, shape = (0,) * before + (-2, 0, 0, 0), (1,) * before + (5, 2, 1, 1)
    a = es.OffsetView(begins, shape=shape, dtype=es.int64, space=space)
    es.parallel_for(es.RangePolicy(-2, 3, space=space), kernel, a)
    found = staged.fetch(a.view).reshape(5, 2)
    assert found[:, 1].tolist() == [3 * i + 1 for i in range(-2, 3)]
    assert not found[:, 0].any()


def test_bounds_in_kernels(space):
    a = es.OffsetView((-2, 5), (2, 8), es.int64, space=space)

    def kernel(i, a):
        return a.begin(0) + 10 * a.end(0) + 100 * a.begin(1) + 1000 * a.end(1) + 10000 * a.extent(1)

    assert es.parallel_reduce(es.RangePolicy(1, space=space), kernel, a) == 38518


def test_of_an_existing_view(space):
    values = np.arange(12.0).reshape(3, 4)
    view = staged.view_on(space, values)
    a = es.OffsetView.of(view, (5, -4))
    assert a.view is view

    def total(i, a):
        found = 0.0
        for j in range(a.begin(1), a.end(1)):
            found += a[i, j]
        return found

    assert es.parallel_reduce(es.RangePolicy(5, 8, space=space), total, a) == values.sum()
    b = es.OffsetView((0, 0), (3, 4), space=space)
    es.deep_copy(b.view, a.view)
    assert staged.fetch(b.view).tolist() == values.tolist()


def test_the_host_indexes(space):
    a = es.OffsetView((-1, 10), (2, 14), es.int64, memory=es.HOST, label="a", space=space)
    a[-1, 10] = 7
    a[1, 13] = 9
    a[0, :] = [1, 2, 3, 4]
    assert a.view.to_numpy().tolist() == [[7, 0, 0, 0], [1, 2, 3, 4], [0, 0, 0, 9]]
    assert (a[0, 12], a[1, 13]) == (3, 9)
    row, column, part = a[0, :], a[:, 13], a[0:2, 11:14]
    assert (row.begins, row.ends, row[13]) == ((10,), (14,), 4)
    assert (column.begins, column[-1], column[1]) == ((-1,), 0, 9)
    assert (part.begins, part.shape, part[0, 0], part[1, 2]) == ((0, 0), (2, 3), 2, 9)
    assert a[-1:2, 10:12].begins == (-1, 0)  # the first is whole
    part[0, 0] = 50
    assert a[0, 11] == 50
    assert repr(a) == "<OffsetView 'a' int64 [-1:2, 10:14]>"


@some
@given(
    bounds=st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 3)), min_size=1, max_size=4),
    data=st.data(),
)
def test_parts_against_numpy(space, bounds, data):
    begins, shape = zip(*bounds, strict=True)
    a = es.OffsetView(begins, shape=shape, dtype=np.int64, memory=es.HOST, space=space)
    values = np.arange(a.size).reshape(shape)
    es.deep_copy(a.view, values)
    parts, plain, expected = [], [], []
    for b, n in bounds:
        first = data.draw(st.integers(0, n - 1))
        last = data.draw(st.integers(first, n))
        if data.draw(st.booleans()):
            parts.append(b + first)
            plain.append(first)
        else:
            parts.append(slice(b + first, b + last))
            plain.append(slice(first, last))
            expected.append(b if (first, last) == (0, n) else 0)
    found = a[tuple(parts)]
    if not expected:
        assert found == values[tuple(plain)]
    else:
        assert found.begins == tuple(expected)
        assert found.view.to_numpy().tolist() == values[tuple(plain)].tolist()


def test_what_is_refused(space):
    for options in ({}, {"ends": (1,), "shape": (1,)}):
        with pytest.raises(es.ViewError, match="ends and shape are both given, or neither"):
            es.OffsetView((0,), space=space, **options)
    with pytest.raises(es.ViewError, match=r"ends is \(1, 2\); expected 1 integers"):
        es.OffsetView((0,), (1, 2), space=space)
    with pytest.raises(es.ViewError, match=r"begins is \(0.5,\); expected 1 to 8 integers"):
        es.OffsetView((0.5,), (1,), space=space)
    with pytest.raises(es.ViewError, match=r"begins is .*; expected 1 to 8 integers"):
        es.OffsetView((0,) * 9, (1,) * 9, space=space)
    with pytest.raises(es.ViewError, match="dimension 1 begins at 3 and would end at 1"):
        es.OffsetView((0, 3), (1, 1), space=space)
    with pytest.raises(es.ViewError, match=r"begins is \(1, 2\); expected 1 integers"):
        es.OffsetView.of(es.View(3, space=space), (1, 2))
    with pytest.raises(es.ViewError, match="has rank 0; expected 1 to 8"):
        es.OffsetView.of(es.View((), space=space), ())
    a = es.OffsetView((-1, 10), (2, 14), memory=es.HOST, space=space)
    for index, message in (
        ((-2, 10), "index -2 is out of bounds for dimension 0; expected -1 to 1"),
        ((0, 14), "index 14 is out of bounds for dimension 1; expected 10 to 13"),
        (0, "1 indices are given; expected 2"),
        ((0, slice(9, 11)), "is no range of dimension 1; expected a slice within 10:14"),
        ((0, slice(10, 12, 2)), "without a step"),
        ((0, 10.0), "index 10.0 of dimension 1 is no integer"),
    ):
        with pytest.raises(es.ViewIndexError, match=message):
            a[index]
        with pytest.raises(es.ViewIndexError, match=message):
            a[index] = 1
    with pytest.raises(es.ReadOnlyError, match="attribute 'begins' is read-only"):
        a.begins = (0, 0)


def test_the_host_goes_through_it():
    a = es.OffsetView.of(np.arange(5, 8), 5)
    assert list(a) == [5, 6, 7] and len(a) == 3 and 6 in a


def test_kernels_give_an_index_for_each_dimension(space):
    a = es.OffsetView((-1, 10), (2, 14), space=space)
    with pytest.raises(es.KernelTypeError, match="of rank 2 is indexed by one integer"):
        es.parallel_for(es.RangePolicy(1, space=space), rank1, a)

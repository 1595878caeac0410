"""Elements in and out of Views in one call, whatever memory they are in."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es

KINDS = ["?", "i1", "u2", "i4", "u8", "f4", "f8", "c8", "c16"]


@pytest.fixture(autouse=True)
def in_use(space):
    """The space under test is the default one, so that no call names it."""
    with es.use_space(space):
        yield


def sample(shape, kind):
    return (np.arange(np.prod(shape)).reshape(shape) % 97 + 1).astype(kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(), (0,), (5,), (3, 4), (2, 0, 3), (2, 3, 4)])
@pytest.mark.parametrize("layout", [None, "right", "left"])
def test_what_goes_into_a_view_comes_out_again(space, kind, shape, layout):
    values = sample(shape, kind)
    A = es.array(values, layout=layout, label="A")
    assert (A.shape, A.dtype, A.label) == (shape, values.dtype, "A")
    assert A.memory_space.reachable_from(space)
    out = A.to_numpy()
    assert out.dtype == values.dtype
    assert np.array_equal(out, values)
    if out.size:
        out.fill(0)  # a copy: the View keeps its elements
        assert np.array_equal(A.to_numpy(), values)


@pytest.mark.parametrize("order", ["C", "F"])
def test_views_are_made_of_arrays_of_any_order_and_dtype(order):
    values = np.asarray(np.arange(12, dtype=np.int16).reshape(3, 4), order=order)
    assert np.array_equal(es.array(values[::2, ::-1]).to_numpy(), values[::2, ::-1])
    assert np.array_equal(es.array(values.T, es.float64).to_numpy(), values.T)
    with pytest.raises(es.DTypeError, match=r"without loss of kind"):
        es.array([1.5], es.int32)


def test_numbers_are_made_as_numpy_makes_them():
    for made, expected in [
        (es.zeros((2, 3), es.int8), np.zeros((2, 3), np.int8)),
        (es.ones((3, 2), es.complex64), np.ones((3, 2), np.complex64)),
        (es.full(4, 7), np.full(4, 7)),
        (es.full((2, 2), -0.5), np.full((2, 2), -0.5)),
        (es.full(3, True), np.full(3, True)),
        (es.arange(7), np.arange(7)),
        (es.arange(1, 2, 0.1), np.arange(1, 2, 0.1)),
        (es.arange(5, 0, -2, es.float32), np.arange(5, 0, -2, np.float32)),
        (es.linspace(0, 1, 7), np.linspace(0, 1, 7)),
        (es.linspace(0, 1, 4, endpoint=False), np.linspace(0, 1, 4, endpoint=False)),
    ]:
        found = made.to_numpy()
        assert found.dtype == expected.dtype
        assert np.array_equal(found, expected)


def test_views_like_others(space):
    A = es.array(sample((3, 4), "i4"), layout="left", label="A")
    for made, value in [(es.zeros_like(A), 0), (es.ones_like(A), 1), (es.full_like(A, 7), 7)]:
        assert (made.shape, made.dtype, made.layout, made.label) == (A.shape, A.dtype, "left", "A")
        assert made.memory_space is A.memory_space
        assert (made.to_numpy() == value).all()
    assert es.empty_like(A, es.float32, label="B").dtype == es.float32
    assert es.zeros_like(np.zeros(3, np.uint8)).memory_space.reachable_from(space)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layout", ["right", "left"])
def test_parts_of_views_take_numbers_arrays_and_views(kind, layout):
    a = sample((4, 5), kind)
    A = es.array(a, layout=layout, label="A")
    row, block = sample((5,), kind), sample((2, 1), kind)
    for key, value in [
        (slice(None), a[0, 0]),
        (0, row),
        (-1, row.tolist()),
        ((slice(1, 3), slice(None, None, 2)), block),
        ((slice(None), 2), a[1, 1]),
        (slice(3, 1, -1), a[:2]),
        (..., a[::-1].copy()),
        ((slice(2), slice(1, 4)), a[2:, 2:]),
    ]:
        a[key] = value
        A[key] = value
        assert np.array_equal(A.to_numpy(), a), key
        a[key] = 1
        A[key] = es.array(a[key])
        assert np.array_equal(A.to_numpy(), a), key
    B = es.array(row, label="B")
    A[1:3] = B  # repeated for each row, as NumPy does
    a[1:3] = row
    assert np.array_equal(A.to_numpy(), a)


def test_an_assignment_that_would_lose_something_is_refused():
    A = es.zeros((2, 3), es.int32, label="A")
    with pytest.raises(es.DTypeError, match=r"View 'A': a value of type float "):
        A[0] = 2.5
    with pytest.raises(es.DTypeError, match=r"View 'A': a value of type float64"):
        A[:] = np.ones(3)
    with pytest.raises(es.ViewError, match=r"\(2,\)"):
        A[:] = np.ones(2, np.int32)
    with pytest.raises(es.ViewError, match=r"\(4,\)"):
        A[:] = es.zeros(4, es.int32)
    with pytest.raises(es.ViewError, match=r"View 'A' is read-only"):
        A.readonly()[:] = 1
    assert not A.to_numpy().any()


def test_copies_share_nothing():
    A = es.array(sample((3, 4), "f8"), label="A")
    B, part = A.copy(), A[1:, ::2].copy(label="part")
    A.fill(0)
    assert np.array_equal(B.to_numpy(), sample((3, 4), "f8"))
    assert np.array_equal(part.to_numpy(), sample((3, 4), "f8")[1:, ::2])
    assert (B.label, part.label, B.layout) == ("A", "part", A.layout)
    assert B.memory_space is A.memory_space


def test_fill_and_item():
    A = es.zeros((2, 3), es.float32, label="A")
    A.fill(2)
    A[:, 1:].fill(0.5)
    assert A.to_numpy().tolist() == [[2, 0.5, 0.5]] * 2
    scalar = es.zeros((), es.int64)
    scalar[...] = 5
    assert scalar.item() == 5
    assert A[1:, 1:2].item() == 0.5
    with pytest.raises(es.ViewError, match="has 6 elements, and item"):
        A.item()


def test_views_in_other_shapes_share_the_elements():
    a = sample((4, 6), "i8")
    A = es.array(a, layout="right", label="A")
    assert np.array_equal(A.T.to_numpy(), a.T)
    for shape in [(24,), (-1,), (2, 2, 6), (4, 3, 2), (8, 3), (1, 24, 1)]:
        assert np.array_equal(A.reshape(shape).to_numpy(), a.reshape(shape))
    A.reshape(-1)[:6] = 0
    fixed = A.reshape(-1, es.static(2))  # whose extent kernels know
    assert fixed.shape == (12, 2) and fixed.static_extent(1) == 2 and not fixed.static_extent(0)
    assert A.reshape(12, 2).static_extent(1) == 0
    assert not A.to_numpy()[0].any()
    with pytest.raises(es.ViewError, match="do not lie in the order"):
        A.T.reshape(24)
    with pytest.raises(es.ViewError, match=r"24 elements, .* which shape \(5, 5\)"):
        A.reshape(5, 5)


def test_rows_are_views():
    A = es.array(sample((3, 4), "f8"), label="A")
    A[1].fill(0)
    assert [row.to_numpy().tolist() for row in A] == [[1, 2, 3, 4], [0] * 4, [9, 10, 11, 12]]


def test_to_a_space_copies_only_where_it_must(space):
    A = es.array(sample((5,), "f8"))
    assert A.to(space) is A
    host = A.to(es.HOST)
    assert (host is A) == A.memory_space.host_accessible
    assert np.array_equal(np.asarray(host), sample((5,), "f8"))
    assert np.array_equal(host.to(space).to_numpy(), sample((5,), "f8"))


def test_asarray_wraps_what_the_space_reaches(space):
    a = np.arange(4.0)
    A = es.asarray(a)
    assert A.memory_space.reachable_from(space)
    A.fill(1)
    A.to_numpy()
    assert (a == 1).all() == es.HOST.reachable_from(space)

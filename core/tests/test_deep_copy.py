"""deep_copy: the only way by which elements move."""

import enum

import numpy as np
import pytest

import execspace as es
from execspace.views.deep_copy import may_overlap


def counted(shape, dtype=es.float64, **options):
    A = es.View(shape, dtype, **options)
    np.asarray(A)[...] = np.arange(A.size).reshape(A.shape)
    return A


@pytest.mark.parametrize("source", ["left", "right"])
@pytest.mark.parametrize("destination", ["left", "right"])
def test_layouts_may_differ(source, destination):
    A, B = counted((3, 4), layout=source), es.View((3, 4), layout=destination)
    es.deep_copy(B, A)
    assert np.array_equal(A, B)


def test_subviews_leave_the_rest_alone():
    A, B = counted((4, 6), es.int64), es.View((4, 6), es.int64)
    es.deep_copy(B[1:3, ::2], A[::-2, 3:])
    want = np.zeros((4, 6), int)
    want[1:3, ::2] = np.asarray(A)[::-2, 3:]
    assert np.array_equal(B, want)


def test_arrays_on_either_side():
    A, values = counted(3), np.zeros(3)
    es.deep_copy(values, A)
    assert values.tolist() == [0, 1, 2]
    es.deep_copy(A, np.array([7.0, 8.0, 9.0]))
    assert list(A) == [7, 8, 9]


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.int8(2), True])
def test_a_number_fills(value):
    A = es.View((2, 3), layout="left")
    es.deep_copy(A[:, 1], value)
    assert np.asarray(A).tolist() == [[0, value, 0], [0, value, 0]]


def test_an_integer_enumeration_is_a_number():
    Phase = enum.IntEnum("Phase", ["SOLID", "LIQUID"])
    A = es.View(2, es.int32)
    es.deep_copy(A, Phase.LIQUID)
    assert list(A) == [2, 2]


@pytest.mark.parametrize(
    ("source", "destination"),
    [("bool", "int8"), ("int64", "float32"), ("float64", "float32"), ("float32", "complex64"),
     ("int64", "int16"), ("int64", "uint64"), ("uint8", "int8"), ("uint64", "float64")],
)  # fmt: skip
def test_the_kind_may_widen_and_integers_may_mix(source, destination):
    A, B = es.View(3, source), es.View(3, destination)
    np.asarray(A)[...] = [0, 1, 1]
    es.deep_copy(B, A)
    assert np.asarray(B).tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("source", "destination"),
    [("complex64", "float64"), ("float32", "int64"), ("float64", "bool"), ("int8", "bool")],
)
def test_the_kind_is_never_lost(source, destination):
    message = f"type {source} cannot be stored in View 'B' of dtype {destination} without loss"
    B = es.View(3, destination, label="B")
    with pytest.raises(TypeError, match=message):
        es.deep_copy(B, es.View(3, source))
    with pytest.raises(TypeError, match=message):
        es.deep_copy(B, np.dtype(source).type(1))


def test_python_numbers_lose_no_kind_either():
    A = es.View(2, es.int64, label="A")
    for value in (1.5, 1j):
        with pytest.raises(TypeError, match="cannot be stored in View 'A' of dtype int64"):
            es.deep_copy(A, value)


def test_an_integer_that_does_not_fit():
    with pytest.raises(es.ViewError, match="300 does not fit into View 'A' of dtype int8"):
        es.deep_copy(es.View(2, es.int8, label="A"), 300)


def test_shapes_must_be_equal():
    A, B = es.View((2, 3), label="A"), es.View((3, 2), label="B")
    with pytest.raises(es.ViewError, match=r"'A' has shape \(2, 3\), source View 'B' has \(3, 2\)"):
        es.deep_copy(A, B)
    with pytest.raises(es.ViewError, match="expected the same"):
        es.deep_copy(A, es.View((), label="s"))  # no broadcasting: fill with a number instead


def test_overlap_is_refused():
    A = counted(10, label="A")
    for source in (A[1:9], A[::-1][:8], A[:8][::-1]):
        with pytest.raises(es.ViewError, match="overlap in memory; copy through a third View"):
            es.deep_copy(A[:8], source)
    assert list(A) == list(range(10))


def test_interleaved_parts_do_not_overlap():
    A = counted(6)
    es.deep_copy(A[::2], A[1::2])
    assert list(A) == [1, 1, 3, 3, 5, 5]


def test_a_view_copied_onto_itself_is_left_alone(events):
    A = counted(4)
    events.clear()
    es.deep_copy(A, A)
    es.deep_copy(A[1:], A[1:])
    assert list(A) == [0, 1, 2, 3]
    assert events == []


def test_a_read_only_destination():
    values = np.zeros(3)
    values.flags.writeable = False
    with pytest.raises(es.ViewError, match=r"destination View .* is read-only"):
        es.deep_copy(values, 1.0)


def test_what_is_no_array():
    with pytest.raises(TypeError, match="Cannot make a View of 'list'"):
        es.deep_copy([0.0], es.View(1))
    with pytest.raises(TypeError, match="the source is None, of type 'NoneType'"):
        es.deep_copy(es.View(1), None)


def test_empty_views():
    A = es.View((0, 3))
    es.deep_copy(A, es.View((0, 3)))
    es.deep_copy(A, 1.0)
    assert A.size == 0


def test_memories_without_a_way_between_them_are_named(device, other_device):
    D, H = es.View(2, label="D", space=device), es.View(2, label="H", space=other_device)
    with pytest.raises(es.SpaceAccessError, match=r"'other' \(View 'H'\) to 'device' \(View 'D'\)"):
        es.deep_copy(D, H)


def test_copies_between_a_device_and_the_host(device):
    D, H = es.View(3, es.int32, space=device), es.View(3)
    es.deep_copy(D, np.arange(3, dtype=np.int32))
    es.deep_copy(H, D)
    assert list(H) == [0, 1, 2]


def test_copies_within_a_memory_that_the_host_cannot_reach(device):
    D = es.View(6, label="D", space=device)
    es.deep_copy(D, 2.0)
    es.deep_copy(D[3:], D[:3])
    es.deep_copy(D[1::2], D[::2])  # the extents overlap, the elements do not
    with pytest.raises(es.ViewError, match="overlap in memory"):
        es.deep_copy(D[1:], D[:-1])


def test_every_copy_is_announced(events):
    A, B = es.View(4, es.float32, label="A"), es.View(4, label="B")
    events.clear()
    es.deep_copy(B, A)
    es.deep_copy(A, 0)
    assert events == [
        ("on_copy_begin", ("B@host", "A@host", 32, "", 0)),
        ("on_copy_end", ()),
        ("on_copy_begin", ("A@host", "number", 16, "", 0)),
        ("on_copy_end", ()),
    ]


def test_whether_views_may_overlap():
    """Strided parts of an array reach beyond their own number of bytes, to either side."""
    block = np.arange(24.0)
    every_second, rest, backwards = (es.view_of(block[k]) for k in np.s_[::2, 14:, 20:8:-1])
    assert may_overlap(every_second, rest)
    assert may_overlap(backwards, es.view_of(block[9:11]))
    assert not may_overlap(es.view_of(block[:14]), rest)
    assert not may_overlap(es.view_of(block[5:5]), es.view_of(block))
    A = es.View(10)
    assert may_overlap(A[:6], A[5:]) and not may_overlap(A[:5], A[5:])
    assert not may_overlap(A, es.View(10))


@pytest.mark.parametrize(
    "value", [np.datetime64("2020"), np.timedelta64(1, "s"), np.str_("one"), np.bytes_(b"one")]
)
@pytest.mark.parametrize("dtype", ["int64", "complex128"])
def test_a_date_or_a_text_is_no_number(value, dtype):
    with pytest.raises(es.DTypeError, match=r"cannot be stored in View 'A' .*; expected a number"):
        es.deep_copy(es.View(3, dtype, label="A"), value)

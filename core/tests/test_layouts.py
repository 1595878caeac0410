"""Layouts: where the element of an index lies, who decides it, and what stays when a View is cut.

Left and right, strides that the caller gives, rows padded to cache lines, extents that are part of
the type, and layouts that are a mapping of the user's own.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import execspace as es
from execspace.contract.layout import layout_key, layout_of

ITEMS = ["int8", "int16", "float32", "float64", "complex128"]


def address(view, *indices):
    """Address of one element, found by cutting the View down to it."""
    return es.subview(view, *indices).data_ptr


def counted(shape, dtype=es.float64, **options):
    A = es.View(shape, dtype, **options)
    es.deep_copy(A, np.arange(A.size).reshape(A.shape).astype(A.dtype))
    return A


# -- left and right -----------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (4, 1, 3), (2, 3, 4, 5), (2,) * 8, (3, 0, 2)])
def test_left_and_right_are_the_orders_of_fortran_and_c(shape):
    for layout, order in (("left", "F"), ("right", "C")):
        A = es.View(shape, es.int16, layout=layout)
        numpys = np.zeros(shape, np.int16, order=order)
        assert A.layout == layout
        assert np.asarray(A).flags[f"{order}_CONTIGUOUS"]
        for n, ours, theirs in zip(shape, A.strides, numpys.strides, strict=True):
            assert n < 2 or A.size == 0 or ours * 2 == theirs
        assert A.span == A.size
        assert A.span_is_contiguous


def test_the_type_says_which_dimension_is_contiguous():
    assert es.View((2, 3), layout="right").type.unit == 1
    assert es.View((2, 3), layout="left").type.unit == 0
    assert es.View((2, 3), layout=(1, 2)).type.unit == 0
    assert es.View((2, 3), layout=(6, 2)).type.unit is None
    assert es.View(()).type.unit is None


def test_the_space_chooses_the_layout_that_nobody_names(plain):
    assert es.View((2, 3), space=plain).layout == "right"
    plain.default_layout = "left"
    assert es.View((2, 3), space=plain).layout == "left"
    with es.use_space(plain):
        assert es.View((2, 3)).layout == "left"
        assert es.View((2, 3), layout="right").layout == "right"


@pytest.mark.parametrize("layout", ["stride", "", "C", "LayoutLeft"])
def test_a_name_of_no_layout(layout):
    with pytest.raises(es.ViewError, match=rf"View 'A': layout '{layout}' does not exist"):
        es.View((2, 3), label="A", layout=layout)


# -- strides that are given ---------------------------------------------------------------------


def test_strides_are_given_in_elements():
    A = es.View((2, 3), es.int32, layout=(8, 2), label="A")
    assert (A.strides, A.layout, A.span) == ((8, 2), "stride", 13)
    assert not A.span_is_contiguous
    assert A.allocation.nbytes == 13 * 4
    A[1, 2] = 7
    assert np.asarray(A).strides == (32, 8)
    assert address(A, 1, 2) == A.data_ptr + 12 * 4
    assert A[1, 2] == 7


def test_strides_that_are_left_or_right_get_that_name():
    assert es.View((2, 3), layout=(3, 1)).layout == "right"
    assert es.View((2, 3), layout=(1, 2)).layout == "left"
    assert es.View((2, 3), layout=np.array([1, 2])).layout == "left"  # any sequence of integers
    assert es.View(4, layout=[1]).layout == "right"


def test_strides_in_any_order_of_dimensions():
    # The middle dimension is the fastest: no layout class, yet no gap.
    A = counted((2, 3, 4), layout=(3, 1, 6))
    assert A.layout == "stride"
    assert A.span_is_contiguous
    assert np.asarray(A)[1, 2, 3] == 23


@pytest.mark.parametrize(
    ("strides", "why"),
    [
        ((1, 1), "two elements"), ((3, 0), "two elements"), ((2, 1), "two elements"),
        ((-3, 1), "do not fit shape"), ((3,), "do not fit shape"), ((6, 3, 1), "do not fit shape"),
        ((3, 1.5), "do not fit shape"), (3, "do not fit shape"), ((), "do not fit shape"),
    ],
)  # fmt: skip
def test_strides_under_which_elements_would_share_memory_are_refused(strides, why):
    with pytest.raises(es.ViewError, match=rf"View 'A': .*{why}"):
        es.View((2, 3), label="A", layout=strides)


@settings(deadline=None, max_examples=150)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 30)), max_size=4))
def test_strides_that_are_taken_keep_elements_apart(dims):
    shape, strides = tuple(n for n, _ in dims), tuple(s for _, s in dims)
    offsets = sum(
        np.arange(n).reshape([-1 if d == k else 1 for k in range(len(dims))]) * s
        for d, (n, s) in enumerate(dims)
    )
    distinct = np.unique(offsets).size == np.prod(shape, dtype=int) or 0 in shape
    # Also refused is what is distinct by luck, such as (2, 3) with strides (3, 2): a proof would
    # cost more than the View.
    nested = sorted((s, n) for n, s in dims if n > 1)
    reach = [sum(t * (m - 1) for t, m in nested[:k]) for k in range(len(nested))]
    if 0 in shape or all(s > r for (s, _), r in zip(nested, reach, strict=True)):
        A = es.View(shape, es.int8, layout=strides)
        assert distinct
        assert A.span == (0 if 0 in shape else np.max(offsets) + 1)
    else:
        with pytest.raises(es.ViewError, match="share memory"):
            es.View(shape, es.int8, layout=strides)


@pytest.mark.parametrize(
    ("shape", "layout"),
    [((2**40, 2**40), None), ((0, 2**70), None), ((0, 2**40, 2**40), None), ((2**60,), None),
     ((2, 2), (2**62, 1)), ((1, 2), (2**70, 1))],
)  # fmt: skip
def test_what_no_address_reaches_is_refused_before_it_is_allocated(shape, layout):
    with pytest.raises(es.ViewError, match="exceeds the address space"):
        es.View(shape, label="A", layout=layout)


# -- alignment and padding ----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ITEMS)
@pytest.mark.parametrize("layout", ["left", "right"])
def test_padding_begins_every_row_at_a_cache_line(dtype, layout):
    A = es.View((5, 3, 7), dtype, layout=layout, padding=True)
    row = 0 if layout == "left" else 2
    others = [d for d in range(3) if d != row]
    for at in np.ndindex(*(A.shape[d] for d in others)):
        index = [0, 0, 0]
        for d, i in zip(others, at, strict=True):
            index[d] = i
        assert address(A, *index) % 64 == 0
    assert A.strides[row] == 1
    assert not A.span_is_contiguous
    assert A.allocation.nbytes == A.span * A.dtype.itemsize


def test_padding_keeps_values_apart():
    A = counted((3, 5), padding=True)
    assert A.strides == (8, 1)
    assert np.array_equal(np.asarray(A), np.arange(15.0).reshape(3, 5))


def test_rows_that_fill_cache_lines_need_no_padding():
    A = es.View((3, 16), padding=True)
    assert (A.strides, A.layout, A.span_is_contiguous) == ((16, 1), "right", True)


def test_padding_is_off_unless_asked_for():
    assert es.View((3, 5)).strides == (5, 1)


@pytest.mark.parametrize("shape", [(), (5,), (0, 5), (5, 0)])
def test_there_is_nothing_to_pad(shape):
    A = es.View(shape, padding=True)
    assert A.span == A.size


def test_records_are_padded_too():
    """No whole number of 24 bytes is 64, but 8 of them are 3 cache lines."""
    A = es.View((4, 3), np.dtype([("x", "f8", (3,))]), padding=True)
    assert A.strides == (8, 1)
    assert [address(A, i, 0) % 64 for i in range(4)] == [0] * 4


@pytest.mark.parametrize("layout", [(8, 1), [3, 1]])
def test_given_strides_are_not_padded(layout):
    with pytest.raises(es.ViewError, match="strides that are given cannot be padded"):
        es.View((2, 3), layout=layout, padding=True)


# -- static extents -----------------------------------------------------------------------------


def test_a_static_extent_is_part_of_the_type():
    A, B = es.View((4, es.static(3)), label="A"), es.View((4, 3))
    assert (A.shape, A.extent(1), A.strides) == ((4, 3), 3, (3, 1))
    assert [A.static_extent(d) for d in range(4)] == [0, 3, 0, 0]
    assert A.type.static == (None, 3)
    assert B.type.static == ()
    assert A.type is not B.type
    assert A.type is es.View((9, es.static(3))).type  # run-time extents are not
    assert A.type is not es.View((4, es.static(2))).type
    assert "static[None, 3]" in str(A.type)


def test_every_extent_may_be_static():
    assert es.View(es.static(3)).type.static == (3,)
    assert es.View((es.static(2), 5, es.static(3))).type.static == (2, None, 3)
    n = es.static(3)
    assert range(n) == range(3)  # it is an integer wherever one is expected


@pytest.mark.parametrize(
    ("key", "static"),
    [
        ((slice(None), slice(None)), (None, 3)),
        ((slice(1, 3), es.ALL), (None, 3)),
        ((2, slice(None)), (3,)),
        ((2, (0, 3)), (3,)),
        ((2, slice(0, 10)), (3,)),  # cut to the whole dimension
        ((2, slice(None, None, -1)), (3,)),  # turned around it is still 3
        ((slice(None), slice(1, None)), ()),
        ((slice(None), (0, 2)), ()),
        ((slice(None), 1), ()),
    ],
)
def test_subviews_keep_what_they_keep_whole(key, static):
    assert es.View((4, es.static(3)))[key].type.static == static


def test_a_static_extent_is_kept_by_other_names_of_the_elements():
    A = es.View((4, es.static(3)))
    assert A.readonly().type.static == A.with_traits("atomic").type.static == (None, 3)
    assert es.create_mirror(A).type.static == (None, 3)


def test_a_static_extent_must_be_one():
    with pytest.raises(es.ViewError, match="negative extent"):
        es.View((2, es.static(-1)))
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        es.static(2.5)


# -- layouts of one's own -----------------------------------------------------------------------


@dataclass(frozen=True)
class Tiled(es.Layout):
    """Square tiles, one after the other."""

    tile: int

    def span(self, n, m):
        t = self.tile
        return -(-n // t) * -(-m // t) * t * t

    def offset(self, i, j, n, m):
        t = self.tile
        return ((i // t) * ((m + t - 1) // t) + j // t) * t * t + i % t * t + j % t


@dataclass(frozen=True)
class Reversed(es.Layout):
    """Last element first."""

    def span(self, n):
        return n

    def offset(self, i, n):
        return n - 1 - i


class Turned(es.Layout):
    """Any shape whose elements come in right order, by a branch on the first index."""

    def span(self, *extents):
        return int(np.prod(extents))

    def offset(self, i, j, n, m):
        if i % 2:
            return i * m + m - 1 - j
        return i * m + j


def test_a_mapping_decides_where_elements_lie():
    A = es.View((5, 6), es.int64, label="A", layout=Tiled(4))
    assert (A.layout, A.mapping, A.span, A.size) == ("tiled", Tiled(4), 64, 30)
    assert A.allocation.nbytes == 64 * 8
    assert not A.span_is_contiguous
    for i, j in np.ndindex(5, 6):
        A[i, j] = 10 * i + j
    assert [[int(A[i, j]) for j in range(6)] for i in range(5)] == [
        [10 * i + j for j in range(6)] for i in range(5)
    ]
    row = es.HOST.host_array(A)  # all that was allocated, in the order of memory
    assert row[:8].tolist() == [0, 1, 2, 3, 10, 11, 12, 13]
    assert row[16] == 4  # the second tile


def test_negative_indices_and_bounds_are_those_of_the_view():
    A = es.View((5, 6), layout=Tiled(4), label="A")
    A[-1, -1] = 3.0
    assert A[4, 5] == 3.0
    with pytest.raises(es.ViewIndexError, match="index 6 is out of bounds for dimension 1"):
        A[0, 6]
    with pytest.raises(es.ViewIndexError):
        A[5, 0] = 1.0


@pytest.mark.parametrize("layout", [Tiled(4), Tiled(1), Tiled(100), Turned()])
def test_offsets_are_those_of_single_elements(layout):
    """They are found with whole arrays of indices, and one by one where there are branches."""
    A = es.View((5, 6), layout=layout)
    expected = [[layout.offset(i, j, 5, 6) for j in range(6)] for i in range(5)]
    assert A.offsets().tolist() == expected
    assert A.offsets().dtype == np.int64
    assert len(set(A.offsets().ravel().tolist())) == 30


@pytest.mark.parametrize("shape", [(1, 1), (0, 3), (3, 0), (1, 7)])
@pytest.mark.parametrize("layout", [Tiled(2), Turned()])
def test_offsets_of_small_and_empty_views(layout, shape):
    A = es.View(shape, layout=layout)
    assert A.offsets().shape == shape
    es.deep_copy(A, 1.0)
    B = es.View(shape)
    es.deep_copy(B, A)
    assert (np.asarray(B) == 1).all()


def test_storing_through_slices_follows_the_mapping():
    A = es.View((5, 6), es.int64, layout=Tiled(4))
    A[1:3, ::2] = [[1, 2, 3], [4, 5, 6]]
    A[-1, :] = 9
    B = es.View((5, 6), es.int64)
    es.deep_copy(B, A)
    want = np.zeros((5, 6))
    want[1:3, ::2] = [[1, 2, 3], [4, 5, 6]]
    want[-1] = 9
    assert np.array_equal(B, want)


def test_a_vector_iterates_in_the_order_of_its_indices():
    A = es.View(4, es.int64, layout=Reversed())
    for i in range(4):
        A[i] = i
    assert list(A) == [0, 1, 2, 3]
    assert es.HOST.host_array(A).tolist() == [3, 2, 1, 0]


@pytest.mark.parametrize("layout", [Tiled(4), Turned(), Tiled(3)])
@pytest.mark.parametrize("other", ["left", "right", (20, 2), Tiled(5)])
def test_deep_copy_goes_to_and_from_every_layout(layout, other):
    values = np.arange(30.0).reshape(5, 6)
    A, B = es.View((5, 6), layout=layout), es.View((5, 6), layout=other)
    es.deep_copy(A, values)
    assert A[3, 4] == values[3, 4]
    es.deep_copy(B, A)
    assert B[3, 4] == values[3, 4]
    back = np.zeros((5, 6))
    es.deep_copy(back, B)
    assert np.array_equal(back, values)


def test_filling_a_mapped_view_leaves_the_gaps_alone():
    A = es.View((5, 6), layout=Tiled(4))
    es.HOST.host_array(A)[:] = -1
    es.deep_copy(A, 2.0)
    row = es.HOST.host_array(A)
    assert (row == 2).sum() == 30
    assert (row == -1).sum() == 34


def test_a_mapped_view_has_no_subviews_but_itself():
    A = es.View((5, 6), label="A", layout=Tiled(4))
    assert A[:, :] == A
    assert es.subview(A, es.ALL, es.ALL) == A
    for part in ((slice(1, 3), 0), (0, es.ALL), ((0, 2), es.ALL)):
        with pytest.raises(es.ViewError, match=r"layout 'tiled', of which there are no subviews"):
            es.subview(A, *part)


def test_no_array_has_a_mapping():
    A = es.View((5, 6), label="A", layout=Tiled(4))
    with pytest.raises(es.ViewError, match="layout 'tiled', which no NumPy array has; copy"):
        np.asarray(A)
    with pytest.raises(es.ViewError, match="which no NumPy array has"):
        np.from_dlpack(A)


def test_the_mapping_is_part_of_the_type():
    A, B = es.View((5, 6), layout=Tiled(4)), es.View((7, 8), layout=Tiled(4))
    assert A.type is B.type  # equal layouts are one
    assert A.type is not es.View((5, 6), layout=Tiled(3)).type
    assert A.type is not es.View((5, 6)).type
    assert layout_of(A.type.layout) == Tiled(4)
    assert layout_of("right") is None
    assert layout_key(Tiled(4)) == layout_key(Tiled(4)) != layout_key(Tiled(3))


def test_a_layout_without_equality_is_like_itself_only():
    one, other = Turned(), Turned()
    assert layout_key(one) == layout_key(one) != layout_key(other)


def test_a_span_that_cannot_hold_the_elements():
    class Small(Tiled):
        def span(self, n, m):
            return n * m - 1

    with pytest.raises(es.ViewError, match=r"View 'A': .* spans 29 elements, too few for shape"):
        es.View((5, 6), label="A", layout=Small(4))


def test_a_layout_of_another_rank():
    with pytest.raises(es.ViewError, match=r"View 'A': Tiled\(tile=4\) has no span for \(5,\)"):
        es.View(5, label="A", layout=Tiled(4))


def test_a_layout_that_cannot_be_hashed():
    class Mutable(Turned):
        def __eq__(self, other):
            return isinstance(other, Mutable)

    before = es.live_allocations()
    with pytest.raises(es.ViewError, match="cannot be hashed; make it a frozen dataclass"):
        es.View((5, 6), layout=Mutable())
    assert es.live_allocations() == before


def test_a_layout_decides_on_its_padding_itself():
    with pytest.raises(es.ViewError, match="decides on its padding itself"):
        es.View((5, 6), layout=Tiled(4), padding=True)


def test_a_layout_must_say_where_elements_lie():
    class Half(es.Layout):
        def span(self, n):
            return n

    with pytest.raises(TypeError, match=r"abstract.*offset"):
        Half()


def test_records_in_a_mapped_view():
    A = es.View((3, 3), np.dtype([("x", "f8"), ("n", "i4")], align=True), layout=Tiled(2))
    A[2, 1].x = 2.5
    A[2, 1].n = 7
    assert (A[2, 1].x, A[2, 1]["n"]) == (2.5, 7)
    assert A[1, 2].x == 0


# -- identity -----------------------------------------------------------------------------------


def test_views_are_equal_if_they_are_the_same_part_of_the_same_memory():
    A = es.View((4, 6), label="A")
    same = [A[:, :], es.subview(A, es.ALL, es.ALL), A.readonly(), A.with_traits("atomic")]
    for B in same:
        assert B is not A
        assert A == B
        assert hash(A) == hash(B)
    assert len({A, *same}) == 1
    assert A[1:, :] == A[1:4, :]
    for other in (A[1:, :], A[:, 0], A[::-1, :], es.View((4, 6)), None):
        assert not A.__eq__(other)


def test_equality_compares_no_elements():
    A, B = es.View(3), es.View(3)
    assert A != B
    for other in (np.asarray(A), 3, [0, 0, 0]):
        with pytest.raises(es.ViewTypeError, match=r"'==' compares no elements; .*to_numpy\(\)"):
            other == A  # noqa: B015
    assert A != None  # noqa: E711
    assert A != "A"


def test_the_same_bytes_as_another_type_are_not_the_same_view():
    block = np.zeros(4)
    assert es.view_of(block) == es.view_of(block)
    assert es.view_of(block) != es.view_of(block.view(np.int64))
    assert es.view_of(block.reshape(2, 2)) != es.view_of(block.reshape(2, 2).T)


# -- the same memory with other properties --------------------------------------------------------


def test_readonly_is_a_const_view_of_the_same_elements():
    A = es.View((2, 3), label="A")
    C = A.readonly()
    assert (C.is_readonly, A.is_readonly) == (True, False)
    assert C.data_ptr == A.data_ptr
    assert A.use_count == 2
    assert C.type is not A.type
    assert C.readonly() == C
    A[0, 1] = 3
    assert C[0, 1] == 3


def test_nobody_writes_through_a_read_only_view():
    A = es.View((2, 3), label="A")
    C = A.readonly()
    writes = (
        lambda: C.__setitem__((0, 0), 1.0),
        lambda: C[0, :].__setitem__(0, 1.0),
        lambda: es.deep_copy(C, 1.0),
        lambda: es.deep_copy(C[1, :], np.zeros(3)),
    )
    for write in writes:
        with pytest.raises(es.ViewError, match="is read-only"):
            write()
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(C)[0, 0] = 1.0
    with pytest.raises(ValueError, match="WRITEABLE"):
        np.asarray(C).flags.writeable = True
    es.deep_copy(A, C[:, :])  # the same elements: nothing to do
    es.deep_copy(es.View((2, 3)), C)  # as a source it is fine


def test_records_of_a_read_only_view_are_read_only():
    A = es.View(2, np.dtype([("x", "f8"), ("v", "f4", (2,))]), label="A")
    with pytest.raises(ValueError, match="read-only"):
        A.readonly()[0].x = 1.0
    with pytest.raises(ValueError, match="read-only"):
        A.readonly()[0].v[1] = 1.0
    assert A[0].x == 0


def test_traits_are_properties_of_a_view_not_of_its_memory():
    A = es.View(3, label="A")
    B = A.with_traits("restrict", "atomic")
    assert A.traits == ()
    assert B.traits == ("atomic", "restrict")
    assert B.with_traits("random_access").traits == ("atomic", "random_access", "restrict")
    assert B == A
    assert B.type is not A.type
    assert B.type is A.with_traits("atomic", "restrict").type
    assert B[1:].traits == B.readonly().traits == B.traits  # subviews keep them
    assert str(B.type).endswith(",atomic,restrict]@host")


def test_a_trait_that_does_not_exist():
    with pytest.raises(es.ViewError, match="memory trait 'atomc' does not exist"):
        es.View(3).with_traits("restrict", "atomc")


def test_managed_is_what_execspace_allocated():
    A = es.View(3)
    assert A.is_managed
    assert A[1:].is_managed
    assert not es.view_of(np.zeros(3)).is_managed


# -- spans --------------------------------------------------------------------------------------


def test_span_of_subviews():
    A = es.View((4, 6))
    assert A[1:3, :].span == 12
    assert A[1:3, :].span_is_contiguous
    assert (A[:, 2].span, A[:, 2].span_is_contiguous) == (19, False)
    assert (A[::-1, ::-1].span, A[::-1, ::-1].span_is_contiguous) == (24, True)
    assert (A[0:0, :].span, A[0:0, :].span_is_contiguous) == (0, True)
    assert (A[1, 2:3].span, es.subview(A, 1, 2).span) == (1, 1)


def test_required_memory_is_the_span():
    for options in ({}, {"padding": True}, {"layout": (10, 1)}, {"layout": Tiled(4)}):
        A = es.View((5, 6), es.float32, **options)
        assert A.allocation.nbytes == A.span * 4


def test_a_vector_is_its_own_transpose():
    for layout in ("right", "left", (2,)):
        v = es.View(4, layout=layout)
        assert v == v.T
        assert v.T.type == v.type

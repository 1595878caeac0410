"""Views: what they are, what they hold, and how the host reads and writes them."""

import gc
import sys

import numpy as np
import pytest

import execspace as es
from execspace.contract.dtypes import NAMES

# -- creation -----------------------------------------------------------------------------------


@pytest.mark.parametrize("rank", range(9))
def test_rank_0_to_8(rank):
    shape = tuple(range(2, 2 + rank))
    A = es.View(shape, es.int8, label="A")
    assert (A.rank, A.ndim, A.shape) == (rank, rank, shape)
    assert A.size == A.span == np.prod(shape, dtype=int)


def test_an_integer_is_the_shape_of_a_vector():
    assert es.View(3).shape == (3,)
    assert es.View(np.int32(3)).shape == (3,)


@pytest.mark.parametrize("shape", [[2, 3], (np.int64(2), 3), range(2, 4)])
def test_any_sequence_of_integers_is_a_shape(shape):
    assert es.View(shape).shape == (2, 3)


class Elements:
    def __iter__(self):
        return iter((2, 3))


@pytest.mark.parametrize(
    "shape",
    [b"abc", bytearray(b"abc"), memoryview(b"abc"), "23", {2, 3}, {2: 3}, Elements(), None],
)  # fmt: skip
def test_what_happens_to_hold_integers_is_no_shape(shape):
    """Neither bytes nor sets are meant as one."""
    with pytest.raises(es.ViewError, match=r"View 'A': shape .* is not valid; expected an int"):
        es.View(shape, label="A")


@pytest.mark.parametrize("array", [np.array([2, 3]), np.array([[2, 3]]), np.array(2.5)])
def test_an_array_is_no_shape_and_the_error_says_how_to_copy_its_elements(array):
    with pytest.raises(es.ViewError, match=r"View 'A': expected a shape, .* es\.array\(a\)"):
        es.View(array, label="A")
    with pytest.raises(es.ViewError, match=r"got <View .* A\.copy\(\)"):
        es.View(es.array(array), label="A")


@pytest.mark.parametrize("extent", [-1, 2**63])
def test_a_static_extent_has_to_be_one(extent):
    with pytest.raises(es.ViewError, match="View 'A': shape"):
        es.View((2, es.static(extent)), label="A")


@pytest.mark.parametrize("shape", [2.5, "23", (2, 3.0), None, (2, (3,))])
def test_a_shape_that_is_no_sequence_of_integers_is_refused(shape):
    with pytest.raises(es.ViewError, match="expected an integer or a sequence of integers"):
        es.View(shape)


@pytest.mark.parametrize("name", NAMES)
def test_every_element_type_under_its_name(name):
    A = es.View(2, name)
    assert A.dtype == np.dtype(name)
    assert A.dtype == es.View(2, getattr(es, "bool_" if name == "bool" else name)).dtype


@pytest.mark.parametrize(
    ("python", "name"),
    [(bool, "bool"), (int, "int64"), (float, "float64"), (complex, "complex128")],
)
def test_python_types_are_element_types(python, name):
    assert es.View(2, python).dtype.name == name


def test_the_default_element_is_float64():
    assert es.View(1).dtype == es.float64


@pytest.mark.parametrize("spec", ["flaot64", "int65", object(), {"names": ["x"]}, "(2,", ["x"]])
def test_a_dtype_that_does_not_exist(spec):
    with pytest.raises(es.DTypeError, match=r"does not exist; expected one of bool, int8, .*"):
        es.View(2, spec)


@pytest.mark.parametrize("spec", [None, "U4", "datetime64[s]", object, np.longdouble, "V8"])
def test_a_dtype_that_no_view_can_hold(spec):
    with pytest.raises(es.DTypeError, match="cannot be an element of a View"):
        es.View(2, spec)


def test_a_foreign_byte_order_becomes_the_native_one():
    assert es.View(2, ">f8").dtype == np.dtype("f8")


def test_elements_are_zero_at_first():
    block = es.View(100_000, es.int64)
    block[:] = 7
    del block  # its pages may come back: they must be cleared
    assert not np.asarray(es.View(100_000, es.int64)).any()


def test_initialize_false_gives_a_view_of_the_same_kind():
    A, B = es.View((3, 4), initialize=False), es.View((3, 4))
    assert (A.shape, A.strides, A.type) == (B.shape, B.strides, B.type)


@pytest.mark.parametrize("n", [0, 1, 3, 1000])
@pytest.mark.parametrize("initialize", [True, False])
def test_memory_is_aligned_to_64_bytes(n, initialize):
    views = [es.View(n, es.int8, initialize=initialize) for _ in range(5)]
    assert [v.data_ptr % 64 for v in views] == [0] * 5


def test_an_empty_view():
    A = es.View((3, 0, 2))
    assert (A.size, A.span, A.nbytes, len(A)) == (0, 0, 0, 3)
    assert np.asarray(A).shape == (3, 0, 2)


def test_no_memory_left_names_the_view_and_its_size():
    with pytest.raises(MemoryError, match=r"View 'huge': cannot allocate 9,007,199,254,740,992 "):
        es.View(2**50, label="huge")


# -- what it says of itself ---------------------------------------------------------------------


def test_strides_count_elements():
    assert es.View((2, 3, 4), es.int16).strides == (12, 4, 1)
    assert es.View((2, 3, 4), es.int16, layout="left").strides == (1, 2, 6)
    assert es.View((2, 3, 4)).stride(1) == 4


def test_layout_right_is_the_default():
    assert es.View((2, 3)).layout == "right"


@pytest.mark.parametrize("layout", ["stride", "C", "Right"])
def test_layouts_have_names(layout):
    with pytest.raises(es.ViewError, match="does not exist; expected 'left', 'right', a sequence"):
        es.View((2, 3), layout=layout)


@pytest.mark.parametrize("strides", [1, (1,), (1, -2), (1.5, 1), (1, 1), (2, 1)])
def test_strides_must_fit_the_shape(strides):
    with pytest.raises(es.ViewError, match=r"do not fit shape|two elements of shape"):
        es.View((2, 3), layout=strides)


def test_extent_beyond_the_rank_is_one():
    A = es.View((2, 3))
    assert [A.extent(d) for d in range(4)] == [2, 3, 1, 1]


def test_nbytes_counts_elements_and_span_counts_gaps():
    column = es.View((4, 5), es.float32)[:, 0]
    assert (column.size, column.nbytes, column.span) == (4, 16, 16)
    assert not column.span_is_contiguous
    assert es.View((4, 5)).span_is_contiguous


def test_the_label_is_shared_by_subviews():
    A = es.View((4, 4), label="pressure")
    assert A.label == A[1:, :].label == "pressure"
    assert es.View(1).label == ""


def test_len_is_the_first_extent():
    assert len(es.View((5, 2))) == 5
    with pytest.raises(TypeError, match="View 's' has rank 0 and so no length"):
        len(es.View((), label="s"))


def test_a_vector_iterates_over_its_elements():
    A = es.View(3)
    A[:] = [1, 2, 3]
    assert list(A) == [1.0, 2.0, 3.0]
    with pytest.raises(TypeError, match="rank 0, and nothing to iterate over"):
        iter(es.View(()))


def test_a_matrix_iterates_over_its_rows():
    A = es.View((2, 3), label="A")
    for row in A:
        row[:] = [1, 2, 3]
    assert np.asarray(A).tolist() == [[1, 2, 3]] * 2
    assert all(isinstance(row, es.View) for row in A)


def test_plots_take_a_copy_or_say_that_the_host_cannot_read(device):
    """Matplotlib asks for `to_numpy` where it can; else the error names the View."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    figure, axes = pyplot.subplots()
    A = es.View((4, 3), label="D", space=device)
    with pytest.raises(es.SpaceAccessError, match="View 'D' is in memory space 'device'"):
        axes.imshow(A)
    assert [list(line.get_ydata()) for line in axes.plot(A[:, 0])] == [[0.0] * 4]
    axes.imshow(A.to_numpy())
    pyplot.close(figure)


def test_extents_labels_and_pointers():
    n = 7
    a = es.View((n, es.static(5)), label="A")
    assert a.extent(0) == n
    assert a.extent(1) == a.static_extent(1) == 5
    assert a.static_extent(0) == 0  # known at run time only
    assert a.data_ptr != 0
    assert a.label == "A"


# -- lifetime -----------------------------------------------------------------------------------


def test_use_count_follows_subviews():
    A = es.View((4, 4))
    assert A.use_count == 1
    row, block = A[1, :], A[1:3, 1:3]
    corner = block[0, :]
    assert A.use_count == row.use_count == corner.use_count == 4
    del row, corner
    assert A.use_count == 2
    assert block.use_count == 2


def test_another_name_for_a_view_is_no_further_use():
    A = es.View(2)
    same = A
    assert same is A
    assert A.use_count == 1


def test_memory_goes_with_the_last_subview():
    A = es.View(10, label="kept")
    part = A[2:4]
    del A
    assert ("host", 80, "kept") in es.live_allocations()
    del part
    gc.collect()
    assert all(label != "kept" for _, _, label in es.live_allocations())


def test_a_wrapped_array_is_no_allocation_of_ours():
    before = es.live_allocations()
    A = es.view_of(np.zeros(3))
    assert es.live_allocations() == before
    assert A.use_count == 1


def test_assignment_is_shallow():
    """A question of the Kokkos lectures: three names write one element; the last one counts."""
    a = es.View((4, es.static(5)), label="a")
    b = es.View((6, es.static(5)), label="b")
    a = b
    c = b[:, :]
    a[0, 2] = 1
    b[0, 2] = 2
    c[0, 2] = 3
    assert f"{a[0, 2]}" == "3.0"
    assert a.label == c.label == "b"
    assert [label for _, _, label in es.live_allocations()] == ["b"]  # that of a was freed
    assert b.use_count == 2


# -- host access --------------------------------------------------------------------------------


def test_elements_are_numpy_scalars():
    A = es.View((2, 2), es.float32)
    A[0, 1] = 2.5
    assert A[0, 1] == 2.5
    assert type(A[0, 1]) is np.float32


def test_negative_indices_count_from_the_end():
    A = es.View((2, 3), es.int64)
    A[-1, -2] = 4
    assert A[1, 1] == 4


def test_rank_zero_is_read_with_an_empty_index():
    A = es.View((), es.int32)
    A[()] = 3
    assert A[()] == 3
    A[...] = 4
    assert A[...] == 4


def test_storing_into_subviews():
    A = es.View((3, 4), es.int64)
    A[1, :] = 5
    A[:, -1] = [7, 8, 9]
    A[0, es.ALL] = es.view_of(np.arange(4))
    A[..., 0] = np.array([-1, -2, -3])
    assert np.asarray(A).tolist() == [[-1, 1, 2, 3], [-2, 5, 5, 8], [-3, 0, 0, 9]]


@pytest.mark.parametrize("key", [(2, 0), (-3, 0), (0, 3), (0, -4)])
def test_out_of_bounds_raises_when_reading_and_writing(key):
    A = es.View((2, 3), label="A")
    with pytest.raises(es.ViewIndexError, match="is out of bounds for dimension"):
        A[key]
    with pytest.raises(IndexError):
        A[key] = 1


@pytest.mark.parametrize("key", [(0, 0, 0), (0, ..., 0, 0), (..., ..., 0)])
def test_there_are_not_more_indices_than_dimensions(key):
    A = es.View((2, 3), label="A")
    with pytest.raises(es.ViewError, match="View 'A' has rank 2; expected 2 indices"):
        A[key]
    with pytest.raises(es.ViewError, match="has rank 2"):
        A[key] = 0


@pytest.mark.parametrize("key", [1, -1, slice(1, None), (slice(None), 2), (1, 0), (), ...])
def test_dimensions_that_a_subscript_leaves_out_are_whole(key):
    a = np.arange(24).reshape(2, 3, 4)
    A = es.view_of(a)
    assert np.array_equal(A[key], a[key])
    assert np.shares_memory(np.asarray(A[key]), a)
    A[key] = 7
    assert (a[key] == 7).all()
    assert np.count_nonzero(a == 7) >= a[key].size


@pytest.mark.parametrize("part", [1.0, "x", [0], np.array([0, 1]), True, np.True_])
def test_an_index_must_be_an_integer(part):
    with pytest.raises(es.ViewError, match="cannot index dimension 0"):
        es.View(3)[part]


def test_a_read_only_view_refuses_to_be_written():
    array = np.arange(3.0)
    array.flags.writeable = False
    A = es.view_of(array, label="const")
    assert A.is_readonly
    assert A[1:].is_readonly
    assert A[1] == 1.0
    assert not np.asarray(A).flags.writeable
    with pytest.raises(es.ViewError, match=r"View 'const' is read-only\."):
        A[0] = 2.0


def test_the_host_cannot_touch_device_memory(device):
    A = es.View((2, 2), label="A", space=device)
    assert A.space is device
    assert A.memory_space is device.memory_space
    assert A[0, :].shape == (2,)  # a subview touches no element
    for touch in (lambda: A[0, 0], lambda: np.asarray(A), lambda: A.__setitem__((0, 0), 1)):
        with pytest.raises(es.SpaceAccessError, match="View 'A' is in memory space 'device'"):
            touch()


# -- NumPy --------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["left", "right"])
def test_asarray_shares_memory(layout):
    A = es.View((2, 3), es.int32, layout=layout)
    array = np.asarray(A)
    assert (array.dtype, array.shape) == (A.dtype, A.shape)
    assert array.ctypes.data == A.data_ptr
    assert array.flags.c_contiguous == (layout == "right")
    array[1, 2] = 5
    assert A[1, 2] == 5


def test_an_array_outlives_its_view():
    A = es.View(1000, label="donor")
    A[:] = 3
    array = np.asarray(A)
    del A
    gc.collect()
    assert any(label == "donor" for _, _, label in es.live_allocations())
    assert array.sum() == 3000
    del array
    gc.collect()
    assert all(label != "donor" for _, _, label in es.live_allocations())


def test_array_with_another_dtype_is_an_explicit_copy():
    A = es.View(2, es.int64)
    array = np.asarray(A, dtype=np.float32)
    assert array.dtype == np.float32
    assert not np.shares_memory(array, np.asarray(A))
    with pytest.raises(ValueError, match="a change of dtype needs a copy"):
        np.asarray(A, dtype=np.float32, copy=False)


def test_array_copy_argument():
    A = es.View(2)
    assert np.shares_memory(np.array(A, copy=False), np.asarray(A))
    assert np.shares_memory(np.array(A, copy=None), np.asarray(A))
    assert not np.shares_memory(np.array(A, copy=True), np.asarray(A))


def test_numpy_functions_take_views():
    A = es.View(3)
    A[:] = [1, 2, 3]
    assert np.add(A, 1).tolist() == [2, 3, 4]
    assert np.sum(A) == 6


def test_host_access_leaves_no_cycle():
    A = es.View(2)
    A[0] = 1.0
    before = sys.getrefcount(A)
    np.asarray(A)
    assert sys.getrefcount(A) == before

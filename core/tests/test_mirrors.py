"""Mirrors, resize and realloc: what allocates and what copies, shown by counting the events.

Kokkos never makes a hidden copy. Every allocation and every copy is announced to profiling tools,
so a test can say exactly how many of each a call makes.
"""

import gc

import numpy as np
import pytest

import execspace as es


class Reversed(es.Layout):
    """Last element first."""

    def span(self, n):
        return n

    def offset(self, i, n):
        return n - 1 - i


def counted(shape, dtype=es.float64, **options):
    A = es.View(shape, dtype, **options)
    es.deep_copy(A, np.arange(A.size).reshape(A.shape).astype(A.dtype))
    return A


def names(events):
    return [name for name, _ in events]


@pytest.fixture
def moved(events):
    """How many allocations and copies there were since the last call."""

    def count():
        seen = names(events)
        events.clear()
        return seen.count("on_allocate"), seen.count("on_copy_begin")

    return count


# -- mirrors ------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["left", "right"])
def test_create_mirror_always_allocates_and_never_copies(moved, device, layout):
    for A in (es.View((2, 3), es.int32, label="A", layout=layout),
              es.View((2, 3), es.int32, label="A", layout=layout, space=device)):  # fmt: skip
        es.deep_copy(A, 7)
        moved()
        M = es.create_mirror(A)
        assert moved() == (1, 0)
        assert M.memory_space is es.HOST
        assert M.data_ptr != A.data_ptr
        assert (M.shape, M.dtype, M.layout, M.label) == (A.shape, A.dtype, layout, "A")
        assert (np.asarray(M) == 0).all()


def test_create_mirror_view_is_the_view_itself_where_the_host_reaches_it(moved):
    A = counted(4, label="A")
    moved()
    M = es.create_mirror_view(A)
    assert M is A
    es.deep_copy(M, A)  # so portable code copies, and on the host that costs nothing
    assert moved() == (0, 0)


def test_create_mirror_view_allocates_where_the_host_does_not_reach(moved, device):
    D = es.View(4, es.int32, label="D", space=device)
    es.deep_copy(D, 5)
    moved()
    H = es.create_mirror_view(D)
    assert moved() == (1, 0)
    assert H.memory_space is es.HOST
    assert list(H) == [0] * 4  # nothing was copied
    H[1] = 3
    es.deep_copy(D, H)
    assert moved() == (0, 1)
    back = es.create_mirror(D)
    es.deep_copy(back, D)
    assert list(back) == [0, 3, 0, 0]


def test_create_mirror_view_and_copy_copies_only_where_it_must(moved, device):
    A, D = counted(4), es.View(4, space=device)
    es.deep_copy(D, A)
    moved()
    assert es.create_mirror_view_and_copy(es.HOST, A) is A
    assert moved() == (0, 0)
    H = es.create_mirror_view_and_copy(es.HOST, D)
    assert moved() == (1, 1)
    assert list(H) == [0, 1, 2, 3]


def test_a_mirror_may_be_in_a_device(moved, device):
    A = counted((2, 3), es.float32, label="A")
    moved()
    D = es.create_mirror_view_and_copy(device, A)
    assert moved() == (1, 1)
    assert (D.space, D.memory_space, D.layout) == (device, device.memory_space, "right")
    assert es.create_mirror_view(D, where=device) is D
    assert es.create_mirror_view(D, where=device.memory_space) is D
    assert np.array_equal(es.create_mirror_view_and_copy(es.HOST, D), A)


def test_a_mirror_has_the_layout_of_its_view_whatever_the_space_prefers(device):
    device.default_layout = "left"
    A = counted((2, 3))
    assert es.create_mirror(A, where=device).layout == "right"
    assert es.create_mirror(A[:, ::2], where=device).layout == "left"  # nothing to keep
    assert es.create_mirror(A[:, ::2]).layout == "right"


def test_the_mirror_of_a_part_holds_the_part(device):
    D = es.View((4, 6), es.int32, space=device)
    es.deep_copy(D, np.arange(24, dtype=np.int32).reshape(4, 6))
    H = es.create_mirror_view_and_copy(es.HOST, D[::2, 1:3])
    assert np.asarray(H).tolist() == [[1, 2], [13, 14]]
    assert H.span_is_contiguous


def test_the_mirror_of_a_read_only_view():
    """A mirror is made to be written; where it aliases, it is read-only like the View."""
    C = counted(3).readonly()
    assert es.create_mirror_view(C) is C
    assert es.create_mirror_view_and_copy(es.HOST, C) is C
    M = es.create_mirror(C)
    assert not M.is_readonly
    es.deep_copy(M, C)
    assert list(M) == [0, 1, 2]


def test_the_mirror_of_a_mapped_view_is_mapped():
    A = counted(4, layout=Reversed())
    M = es.create_mirror(A)
    assert M.mapping is A.mapping
    es.deep_copy(M, A)
    assert list(M) == [0, 1, 2, 3]


def test_the_mirror_of_records(device):
    particle = np.dtype([("n", "i1"), ("x", "f8")], align=True)
    A = es.View(3, particle)
    A[1].x = 2.5
    D = es.create_mirror_view_and_copy(device, A)
    H = es.create_mirror_view_and_copy(es.HOST, D)
    assert H.dtype == particle
    assert (H[1].x, H[0].x) == (2.5, 0)


def test_mirrors_of_wrapped_arrays():
    values = np.arange(3.0)
    A = es.view_of(values)
    assert es.create_mirror_view(A) is A
    M = es.create_mirror(A)
    assert M.is_managed
    assert M.data_ptr != values.ctypes.data


@pytest.mark.parametrize("where", [None, 3, es.View])
def test_no_place_for_a_mirror(where):
    with pytest.raises(es.UnknownSpaceError, match="is not a space; expected a name such as"):
        es.create_mirror(es.View(2), where=where)


# -- resize -------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["left", "right"])
@pytest.mark.parametrize("shape", [(5, 7), (2, 2), (5, 2), (2, 7), (0, 4), (3, 4)])
def test_resize_keeps_the_common_block_and_zeroes_the_rest(layout, shape):
    A = counted((3, 4), es.int64, label="A", layout=layout)
    old = np.array(A)
    want = np.zeros(shape, int)
    n, m = min(3, shape[0]), min(4, shape[1])
    want[:n, :m] = old[:n, :m]
    es.resize(A, shape)
    assert (A.shape, A.layout, A.label, A.dtype) == (shape, layout, "A", es.int64)
    assert np.array_equal(A, want)


def test_resize_changes_this_view_and_no_other():
    A = counted(4, label="A")
    whole, part = A[:], A[1:3]
    old = A.data_ptr
    es.resize(A, 6)
    assert A.data_ptr != old
    assert list(A) == [0, 1, 2, 3, 0, 0]
    A[1] = -1
    assert list(whole) == [0, 1, 2, 3]  # the others keep the old memory
    assert list(part) == [1, 2]
    assert (A.use_count, whole.use_count) == (1, 2)


def test_resize_to_the_same_extents_does_nothing(moved):
    A = counted((2, 3))
    moved()
    pointer, type = A.data_ptr, A.type
    es.resize(A, [2, 3])
    assert moved() == (0, 0)
    assert (A.data_ptr, A.type) == (pointer, type)


def test_resize_allocates_once_and_copies_once(moved):
    A = counted((2, 3))
    moved()
    es.resize(A, (4, 3))
    assert moved() == (1, 1)


def test_the_old_memory_goes_when_nobody_has_it():
    A = counted(1000, label="A")
    es.resize(A, 10)
    gc.collect()
    assert es.live_allocations() == [("host", 80, "A")]


def test_resize_of_vectors_scalars_and_records():
    A = es.View((), label="A")
    A[()] = 2
    es.resize(A, ())
    assert A[()] == 2
    p = es.View(2, np.dtype([("n", "i1"), ("x", "f8")], align=True))
    p[1].x = 2.5
    es.resize(p, 3)
    assert np.asarray(p)["x"].tolist() == [0, 2.5, 0]


def test_resize_of_a_mapped_view():
    A = counted(4, es.int64, layout=Reversed())
    es.resize(A, 6)
    assert list(A) == [0, 1, 2, 3, 0, 0]
    es.resize(A, 2)
    assert list(A) == [0, 1]


def test_resize_in_a_device(moved, device):
    D = es.View((2, 3), space=device, label="D")
    es.deep_copy(D, np.arange(6.0).reshape(2, 3))
    moved()
    es.resize(D, (3, 2))
    assert moved() == (1, 1)
    assert (D.space, D.memory_space) == (device, device.memory_space)
    H = es.create_mirror_view_and_copy(es.HOST, D)
    assert np.asarray(H).tolist() == [[0, 1], [3, 4], [0, 0]]


def test_resize_keeps_traits():
    A = es.View(4).with_traits("atomic")
    es.resize(A, 6)
    assert A.traits == ("atomic",)


@pytest.mark.parametrize("change", [es.resize, es.realloc])
def test_static_extents_stay_whether_they_are_named_again_or_not(change):
    for shape in ((8, es.static(3)), (8, 3), [np.int32(8), np.int64(3)]):
        A = es.View((4, es.static(3)), layout="left").with_traits("atomic")
        kind = A.type
        change(A, shape)
        assert A.shape == (8, 3)
        assert A.type is kind  # so kernels that were compiled for it still are those to run


@pytest.mark.parametrize("change", [es.resize, es.realloc])
@pytest.mark.parametrize(
    ("shape", "why"),
    [
        ((4, 5), "static extent 1, .* stays 3; got 5"),
        ((4, es.static(5)), "static extent 1, .* stays 3; got 5"),
        ((8, 0), "static extent 1, .* stays 3; got 0"),
        ((es.static(4), 3), r"extent 0 that is not static, .* got es.static\(4\)"),
        ((es.static(8), es.static(3)), r"extent 0 that is not static, .* es.static\(8\)"),
    ],
)
def test_what_would_change_the_type_of_a_view_is_refused(change, shape, why, moved):
    A = counted((4, es.static(3)), label="A")
    kind, pointer = A.type, A.data_ptr
    moved()
    with pytest.raises(es.ViewError, match=f"{change.__name__}: View 'A' has an? {why}.*new View"):
        change(A, shape)
    assert (A.type, A.data_ptr, A.shape) == (kind, pointer, (4, 3))
    assert moved() == (0, 0)


def test_every_mirror_has_the_static_extents_the_traits_and_the_label_of_its_view(device):
    point = np.dtype([("x", "f8"), ("n", "i1")], align=True)
    for dtype in (es.float32, point):
        A = es.View((es.static(2), 4, es.static(3)), dtype, label="A", layout="left")
        A = A.with_traits("atomic", "random_access")
        for M in (
            es.create_mirror(A),
            es.create_mirror(A, where=device),
            es.create_mirror_view(A, where=device),
            es.create_mirror_view_and_copy(device, A),
            es.create_mirror_view_and_copy(es.HOST, es.create_mirror(A, where=device)),
        ):
            assert M.type.static == (2, None, 3)
            assert M.traits == A.traits == ("atomic", "random_access")
            assert (M.label, M.dtype, M.layout, M.shape) == ("A", A.dtype, "left", A.shape)


def test_mirrors_take_arrays(device, moved):
    a = np.arange(6.0).reshape(2, 3)
    assert np.shares_memory(np.asarray(es.create_mirror_view(a)), a)
    assert np.shares_memory(np.asarray(es.create_mirror_view_and_copy(es.HOST, a)), a)
    assert moved() == (0, 0)
    assert es.create_mirror(a).shape == (2, 3)
    D = es.create_mirror_view_and_copy(device, a)
    assert (D.memory_space, D.shape) == (device.memory_space, (2, 3))
    assert np.array_equal(es.create_mirror_view_and_copy(es.HOST, D), a)


@pytest.mark.parametrize("change", [es.resize, es.realloc])
@pytest.mark.parametrize("what", [np.zeros(3), [1, 2], None, bytearray(8)])
def test_only_views_change_their_extents(change, what):
    with pytest.raises(es.ViewTypeError, match=f"{change.__name__}: expected a View, got"):
        change(what, 4)


@pytest.mark.parametrize("change", [es.resize, es.realloc])
def test_the_rank_stays(change, moved):
    A = counted((2, 3), label="A")
    moved()
    with pytest.raises(es.ViewError, match=r"View 'A' has rank 2; expected 2 extents, got 1\."):
        change(A, 6)
    with pytest.raises(es.ViewError, match="negative extent"):
        change(A, (2, -1))
    assert moved() == (0, 0)
    assert (A.shape, A[1, 2]) == ((2, 3), 5)


@pytest.mark.parametrize("change", [es.resize, es.realloc])
@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: es.View((4, 4))[1:3, :], "is a part of another View"),
        (lambda: es.View((4, 4))[0, :], "is a part of another View"),
        (lambda: es.View((4, 4))[0:0, :], "is a part of another View"),
        (lambda: es.view_of(np.zeros((4, 4))), "wraps memory of somebody else"),
        (lambda: es.View((4, 4), layout=(10, 2)), "has strides of its own"),
        (lambda: es.View((4, 4)).readonly(), "is read-only"),
    ],
)
def test_views_that_keep_their_extents(change, make, why):
    A = make()
    shape = A.shape
    with pytest.raises(es.ViewError, match=f"{change.__name__}: View '' {why} and keeps its ext"):
        change(A, (9,) * A.rank)
    assert A.shape == shape


# -- realloc ------------------------------------------------------------------------------------


def test_realloc_drops_the_elements(moved):
    A = counted(4, label="A", layout="left")
    other = A[:]
    moved()
    es.realloc(A, 6)
    assert moved() == (1, 0)
    assert (list(A), A.label, A.layout) == ([0] * 6, "A", "left")
    assert list(other) == [0, 1, 2, 3]


def test_realloc_to_the_same_extents_zeroes_in_place(moved):
    for A in (counted(4), es.View(2, np.dtype([("n", "i1"), ("x", "f8")], align=True))):
        moved()
        pointer = A.data_ptr
        es.realloc(A, A.shape)
        assert moved() == (0, 1)  # the zeros; no memory is needed for them
        assert A.data_ptr == pointer
        assert (np.asarray(A) == np.zeros((), A.dtype)).all()


def test_realloc_without_initializing(moved):
    A = counted(4)
    moved()
    es.realloc(A, 4, initialize=False)
    assert moved() == (0, 0)
    assert list(A) == [0, 1, 2, 3]
    es.realloc(A, 5, initialize=False)
    assert moved() == (1, 0)
    assert A.shape == (5,)


def test_realloc_without_memory_leaves_the_view_as_it_was():
    A = counted(4, label="A")
    with pytest.raises(MemoryError, match="View 'A': cannot allocate"):
        es.realloc(A, 2**50)
    with pytest.raises(MemoryError):
        es.resize(A, 2**50)
    assert list(A) == [0, 1, 2, 3]


# -- nothing is hidden --------------------------------------------------------------------------


def test_looking_at_a_view_copies_nothing(moved):
    A = counted((4, 6), label="A")
    moved()
    array = np.asarray(A)
    again = np.from_dlpack(A)
    wrapped = es.view_of(array)
    parts = [A[1:, ::2], es.subview(A, 0, es.ALL), A.readonly(), A.with_traits("restrict")]
    assert moved() == (0, 0)
    array[2, 2] = -1
    for seen in (A, again, wrapped):
        assert seen[2, 2] == -1
    assert parts[0][1, 1] == -1


def test_arguments_of_launches_are_not_copied(moved, plain):
    A, values = counted(3, label="A"), np.zeros(3)

    def add(i, x, y, z):
        y[i] += x[i] + z[i]

    policy = es.RangePolicy(3, space=plain)
    moved()
    es.parallel_for(policy, add, A, values, A[::-1])
    es.parallel_reduce(policy, lambda i, x: x[i], values)
    assert moved() == (0, 0)
    assert values.tolist() == [2, 2, 2]


def test_host_access_is_no_copy(moved):
    A = counted((4, 6))
    moved()
    A[1, 2] = A[0, 1] + 1
    A[0, :] = 3
    len(A), A.shape, A.span, A.nbytes, A.use_count, repr(A), hash(A)
    assert moved() == (0, 0)


def test_a_dual_view_on_the_host_is_one_view(moved):
    D = es.DualView((2, 3), label="D")
    assert moved() == (1, 0)
    for side, other in (("host", "device"), ("device", "host")):
        D.modify(side)
        D.sync(other)
        assert not D.need_sync(other)
    assert moved() == (0, 0)


def test_every_allocation_and_every_copy_is_announced(events, device):
    A = counted(4, es.float32, label="A")
    events.clear()
    D = es.create_mirror_view_and_copy(device, A)
    assert events == [
        ("on_allocate", ("device", "A", 16)),
        ("on_copy_begin", ("A@device", "A@host", 16, "", 0)),
        ("on_copy_end", ()),
    ]
    events.clear()
    del D
    gc.collect()
    assert events == [("on_free", ("device", "A", 16))]

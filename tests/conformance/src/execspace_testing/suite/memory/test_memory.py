"""The first level: memory is allocated, filled, copied and given back, without any kernel.

Values are compared with NumPy's. A space whose memory the host reaches and one that it does not
reach must do the same; only access from the host differs.
"""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged

RECORD = np.dtype([("x", "f8"), ("n", "i2"), ("v", "f4", (2, 3)), ("flag", "?")])
ALIGNED = np.dtype([("kind", "i1"), ("at", [("x", "f8"), ("y", "f8")])], align=True)
DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "float32", "float64", "complex64", "complex128", RECORD, ALIGNED,
]  # fmt: skip
SHAPE = (4, 3, 5)


def samples(dtype, shape=SHAPE):
    """Bytes of no pattern as elements; a pattern could hide elements that went astray."""
    dtype = np.dtype(dtype)
    rng = np.random.default_rng(5)
    if dtype.fields is not None:
        values = np.zeros(shape, dtype)
        for name in dtype.names:
            field = values[name]
            field[...] = samples(field.dtype, field.shape)
        return values
    if dtype.kind in "fc":
        parts = rng.normal(size=(2, *shape))
        return (parts[0] + 1j * parts[1] if dtype.kind == "c" else parts[0]).astype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype, endpoint=True)


def same_bits(a, b):
    """Whether two arrays have the same bits; what lies between the fields of records is nothing."""
    if a.dtype.fields is not None:
        return all(same_bits(a[name], b[name]) for name in a.dtype.names)
    return a.tobytes() == b.tobytes()


LAYOUTS = {
    "right": {"layout": "right"},
    "left": {"layout": "left"},
    "with gaps": {"layout": (40, 2, 7)},
    "padded": {"padding": True},
}


def in_layout(name, dtype, **where):
    return es.View(SHAPE, dtype, label=name, **LAYOUTS[name], **where)


# -- allocation ---------------------------------------------------------------------------------


def test_every_memory_of_the_space_is_allocated_zeroed_and_freed(space):
    """Blocks that were written and dropped come back zeroed, and 64 bytes are the alignment."""
    assert space.memory_space in space.memory_spaces
    for memory in space.memory_spaces:
        for n in (1, 3, 1000, 100_000):
            for _ in range(3):
                view = es.View(n, es.int32, label="block", space=space, memory=memory)
                assert view.memory_space is memory
                assert memory.reachable_from(space)
                assert view.data_ptr % 64 == 0
                assert (memory.name, 4 * n, "block") in es.live_allocations()
                assert not staged.fetch(view).any(), memory
                es.deep_copy(view, -1)
                del view
                assert "block" not in [label for _, _, label in es.live_allocations()]


def test_views_of_this_space_are_in_its_own_memory(space):
    view = es.View(3, space=space)
    assert view.memory_space is space.memory_space
    with es.use_space(space):
        assert es.View(3).memory_space is space.memory_space


def test_memory_is_chosen_by_name_or_kind(space):
    for memory in space.memory_spaces:
        assert es.View(3, space=space, memory=memory.name).memory_space is memory
        for kind in memory.kinds:
            assert kind in es.View(3, space=space, memory=kind).memory_space.kinds
    with pytest.raises(es.SpaceError, match="has no memory 'texture'"):
        es.View(3, space=space, memory="texture")


def test_memory_that_is_not_initialized_can_be_filled(space):
    for memory in space.memory_spaces:
        view = es.View((3, 4), space=space, memory=memory, initialize=False)
        es.deep_copy(view, 1.5)
        assert (staged.fetch(view) == 1.5).all()


def test_labels_are_told(space):
    view = es.View((2, 3), es.float32, label="temperature", space=space)
    name, layout = space.memory_space.name, space.default_layout
    head = f"<View 'temperature' float32 (2, 3) layout={layout} memory={name}>"
    assert repr(view).splitlines()[0] == head
    assert (name, 24, "temperature") in es.live_allocations()


def test_a_view_shows_its_values_where_the_host_reads_them(space):
    view = es.View((2, 3), es.float32, label="A", space=space)
    es.deep_copy(view, 2.5)
    shown = repr(view).splitlines()[1:]
    if space.memory_space.host_accessible:
        assert shown == ["[[2.5 2.5 2.5]", " [2.5 2.5 2.5]]"]
        assert view._repr_html_().count(">2.5<") == 6
    else:
        assert shown == []
        assert "A.to_numpy()" in view._repr_html_()


def test_memory_is_freed_with_the_last_view_of_it(space):
    def alive():
        return "shared by three" in [label for _, _, label in es.live_allocations()]

    whole = es.View((4, 6), label="shared by three", space=space)
    row = whole[1, :]
    part = row[::2]
    assert whole.use_count == 3
    es.deep_copy(part, 3.0)
    del whole, row
    assert alive()
    assert staged.fetch(part).tolist() == [3.0, 3.0, 3.0]
    del part
    assert not alive()


def test_out_of_memory_names_the_view_and_does_no_harm(space):
    for memory in space.memory_spaces:
        for initialize in (True, False):
            with pytest.raises(MemoryError, match="View 'huge': cannot allocate 1,152,921,504,606"):
                es.View(2**57, label="huge", space=space, memory=memory, initialize=initialize)
        assert "huge" not in [label for _, _, label in es.live_allocations()]
        assert not staged.fetch(es.View(10, space=space, memory=memory)).any()


# -- copies -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d if isinstance(d, str) else "record")
def test_every_element_type_there_and_back(space, dtype):
    values = samples(dtype)
    for memory in space.memory_spaces:
        there = es.View(SHAPE, dtype, space=space, memory=memory)
        again = es.View(SHAPE, dtype, space=space, memory=memory)
        back = np.zeros(SHAPE, dtype)
        es.deep_copy(there, values)
        es.deep_copy(again, there)
        es.deep_copy(there, np.zeros((), dtype)[()])
        es.deep_copy(back, again)
        assert same_bits(back, values)
        assert same_bits(staged.fetch(there), np.zeros(SHAPE, dtype))


@pytest.mark.parametrize("source", LAYOUTS)
@pytest.mark.parametrize("target", LAYOUTS)
def test_every_layout_to_every_other(space, source, target):
    """From the host, within the space, and to the host."""
    for dtype in ("int16", "float64", RECORD):
        values = samples(dtype)
        here, back = (in_layout(name, dtype, memory=es.HOST) for name in (source, target))
        first, second = (in_layout(name, dtype, space=space) for name in (source, target))
        es.deep_copy(here, values)
        es.deep_copy(second, here)
        np.testing.assert_array_equal(staged.fetch(second), values)
        es.deep_copy(first, second)
        np.testing.assert_array_equal(staged.fetch(first), values)
        es.deep_copy(back, first)
        np.testing.assert_array_equal(np.asarray(back), values)


class Diagonals(es.Layout):
    """A mapping of a user's own: element (i, j) is on the diagonal i + j."""

    def span(self, n, m):
        return (n + m) * n

    def offset(self, i, j, n, m):
        return (i + j) * n + i


def test_layouts_of_ones_own(space):
    values = np.arange(20, dtype=np.int32).reshape(4, 5)
    a = es.View((4, 5), es.int32, layout=Diagonals(), space=space)
    b = es.View((4, 5), es.int32, layout=Diagonals(), space=space)
    plain = es.View((4, 5), es.int32, space=space)
    es.deep_copy(a, values)
    es.deep_copy(b, a)
    es.deep_copy(a, 7)
    assert (staged.fetch(a) == 7).all()
    es.deep_copy(plain, b)
    np.testing.assert_array_equal(staged.fetch(plain), values)
    es.resize(b, (5, 4))
    np.testing.assert_array_equal(staged.fetch(b), np.pad(values[:, :4], ((0, 1), (0, 0))))


PARTS = [
    np.s_[1:3, :, :], np.s_[:, ::2, :], np.s_[:, :, ::-1], np.s_[::-1, ::-1, ::-1], np.s_[2, :, :],
    np.s_[:, 1, 3], np.s_[-1, 0, :], np.s_[::-2, 1:, -1:0:-2], np.s_[0:0, :, :], np.s_[:, 2, ::-3],
]  # fmt: skip


@pytest.mark.parametrize("layout", ["right", "left", "with gaps"])
def test_parts_of_views_also_backwards(space, layout):
    """Copied in, within and out; what is not part of it stays as it was."""
    values, others = samples("int32"), samples("int32") ^ 0x55AA
    for part in PARTS:
        whole, host = in_layout(layout, "int32", space=space), values.copy()
        es.deep_copy(whole, values)
        out = np.zeros_like(values[part])
        es.deep_copy(out, whole[part])  # from a part
        np.testing.assert_array_equal(out, values[part])
        es.deep_copy(whole[part], np.ascontiguousarray(others[part]))  # to a part
        host[part] = others[part]
        np.testing.assert_array_equal(staged.fetch(whole), host)
        es.deep_copy(whole[part], -3)  # a number into a part
        host[part] = -3
        np.testing.assert_array_equal(staged.fetch(whole), host)
        source = in_layout("right", "int32", space=space)
        es.deep_copy(source, values)
        es.deep_copy(whole[part], source[part])  # from part to part
        host[part] = values[part]
        np.testing.assert_array_equal(staged.fetch(whole), host)


def random_part(rng, counts, extent):
    """A key that takes so many elements of each dimension, forwards or backwards."""
    key = []
    for count in counts:
        step = int(rng.integers(1, (extent - 1) // count + 1))
        start = int(rng.integers(0, extent - step * (count - 1)))
        part = range(start, extent, step)[:count]
        key.append(slice(start, part[-1] + 1, step))
        if rng.integers(2):
            before = part[0] - step
            key[-1] = slice(part[-1], before if before >= 0 else None, -step)
    return tuple(key)


def test_random_parts_of_two_views(space):
    """Whatever the strides of both, in either direction, and between element types."""
    rng = np.random.default_rng(11)
    extent = 7
    values = rng.integers(-99, 99, (extent,) * 3, np.int16)
    for _ in range(25):
        counts = rng.integers(1, 4, 3)
        here, there = (random_part(rng, counts, extent) for _ in range(2))
        layouts = [("right", "left", (100, 2, 14))[k] for k in rng.integers(0, 3, 2)]
        source = es.View(values.shape, es.int16, layout=layouts[0], space=space)
        target = es.View(values.shape, es.float32, layout=layouts[1], space=space)
        es.deep_copy(source, values)
        es.deep_copy(target[there], source[here])
        expected = np.zeros(values.shape, np.float32)
        expected[there] = values[here]
        np.testing.assert_array_equal(staged.fetch(target), expected, f"{here} to {there}")
        back = np.zeros(tuple(counts), np.float64)
        es.deep_copy(back, target[there])
        np.testing.assert_array_equal(back, values[here])


@pytest.mark.parametrize(
    ("source", "target"),
    [("int32", "float64"), ("float64", "float32"), ("bool", "int8"), ("float32", "complex128"),
     ("uint8", "int64"), ("int64", "int32"), ("complex128", "complex64"), ("int8", "uint16")],
)  # fmt: skip
def test_copies_convert_as_numpy_does(space, source, target):
    values = samples(source)
    expected = values.astype(target)
    first = es.View(SHAPE, source, layout="left", space=space)
    second = es.View(SHAPE, target, layout="right", space=space)
    es.deep_copy(first, values)
    es.deep_copy(second, first)  # within the space
    np.testing.assert_array_equal(staged.fetch(second), expected)
    es.deep_copy(second, 0)
    es.deep_copy(second, values)  # from the host
    np.testing.assert_array_equal(staged.fetch(second), expected)
    back = np.zeros(SHAPE, target)
    es.deep_copy(back, first)  # to the host
    np.testing.assert_array_equal(back, expected)


def test_copies_between_the_memories_of_the_space(space):
    values = samples("float32")
    for a in (*space.memory_spaces, es.HOST):
        for b in (*space.memory_spaces, es.HOST):
            source = es.View(SHAPE, es.float32, space=space, memory=a, layout="left")
            target = es.View(SHAPE, es.float32, space=space, memory=b, layout="right")
            es.deep_copy(source, values)
            es.deep_copy(target, source)
            np.testing.assert_array_equal(staged.fetch(target), values, f"{a} to {b}")


@pytest.mark.parametrize(
    ("dtype", "number"),
    [("float64", -0.0), ("float32", np.nan), ("float16", np.inf), ("int64", -(2**63)),
     ("uint64", np.uint64(2**64 - 1)), ("int8", -7), ("bool", True), ("complex64", 1 - 2j),
     ("complex128", 5)],
)  # fmt: skip
def test_numbers_fill_views(space, dtype, number):
    expected = np.full(7, number, dtype)
    view = es.View((7, 2), dtype, space=space)
    es.deep_copy(view, number)
    assert staged.fetch(view[:, 1]).tobytes() == expected.tobytes()
    scalar = es.View((), dtype, space=space)
    es.deep_copy(scalar, number)
    assert staged.fetch(scalar).tobytes() == expected[:1].tobytes()


def test_a_record_fills_a_view(space):
    particle = samples(RECORD)[1, 2, 3]
    view = es.View(5, RECORD, space=space)
    es.deep_copy(view[1:], particle)
    found = staged.fetch(view)
    assert (found[1:] == particle).all()
    assert found[0] == np.zeros((), RECORD)


@pytest.mark.parametrize("rank", range(9))
def test_every_rank(space, rank):
    shape = (2, 3, 1, 2, 3, 1, 2, 2)[:rank]
    values = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
    for layout in ("left", "right"):
        view = es.View(shape, es.float32, layout=layout, space=space)
        assert (view.rank, view.shape, view.size) == (rank, shape, values.size)
        es.deep_copy(view, values)
        np.testing.assert_array_equal(staged.fetch(view), values)


@pytest.mark.parametrize("shape", [0, (0, 3), (3, 0), (2, 0, 4)])
def test_empty_views_are_copied_and_filled(space, shape):
    a, b = es.View(shape, label="empty", space=space), es.View(shape, space=space)
    es.deep_copy(a, 1.0)
    es.deep_copy(b, a)
    es.deep_copy(a, np.ones(a.shape))
    assert staged.fetch(b).shape == a.shape
    assert a.size == 0


def test_large_views(space):
    """More than a copy that goes piece by piece moves at a time."""
    values = np.arange(3_000_001)
    view = es.View(values.shape, values.dtype, space=space)
    es.deep_copy(view, values)
    np.testing.assert_array_equal(staged.fetch(view), values)
    odd = staged.fetch(view[1::2])
    np.testing.assert_array_equal(odd, values[1::2])


def test_what_cannot_be_copied(space):
    view = es.View((2, 3), es.int32, label="v", space=space)
    with pytest.raises(es.ViewError, match="expected the same"):
        es.deep_copy(view, np.zeros((3, 2), np.int32))
    with pytest.raises(TypeError, match="cannot be stored in View 'v' of dtype int32"):
        es.deep_copy(view, es.View((2, 3), es.float64, space=space))
    with pytest.raises(TypeError, match="cannot be stored in View 'v' of dtype int32"):
        es.deep_copy(view, 1.5)
    with pytest.raises(es.ViewError, match="overlap in memory"):
        es.deep_copy(view[:, 1:], view[:, :2])
    with pytest.raises(es.ViewError, match="View 'v' is read-only"):
        es.deep_copy(view.readonly(), 1)
    es.deep_copy(view, view)  # which has nothing to do
    assert not staged.fetch(view.readonly()).any()


# -- access from the host -----------------------------------------------------------------------


def test_the_host_touches_what_it_reaches_and_nothing_else(space):
    for memory in space.memory_spaces:
        view = es.View(3, es.int32, label="v", space=space, memory=memory)
        if memory.host_accessible:
            view[1] = 5
            np.asarray(view)[2] = 6
            assert int(view[1]) == 5
            assert staged.fetch(view).tolist() == [0, 5, 6]
            continue
        why = f"View 'v' is in memory space '{memory.name}', which the host cannot"
        with pytest.raises(es.SpaceAccessError, match=why):
            view[0]
        with pytest.raises(es.SpaceAccessError, match=why):
            view[0] = 1
        with pytest.raises(es.SpaceAccessError, match=why):
            np.asarray(view)
        with pytest.raises(es.SpaceAccessError, match=why):
            view[1:][0]
        assert not staged.fetch(view).any()


# -- mirrors, DualView, other extents -----------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_mirrors(space, layout):
    values = samples("float32")
    view = in_layout(layout, es.float32, space=space)
    mirror = es.create_mirror(view)
    assert mirror.memory_space is es.HOST
    assert mirror.data_ptr != view.data_ptr
    assert (mirror.shape, mirror.dtype, mirror.label) == (view.shape, view.dtype, view.label)
    es.deep_copy(mirror, values)
    es.deep_copy(view, mirror)
    cheap = es.create_mirror_view(view)
    assert (cheap is view) == space.memory_space.host_accessible
    seen = es.create_mirror_view_and_copy(es.HOST, view)
    assert (seen is view) == space.memory_space.host_accessible
    np.testing.assert_array_equal(np.asarray(seen), values)
    placed = es.create_mirror_view_and_copy(space, mirror)
    assert placed.memory_space.reachable_from(space)
    np.testing.assert_array_equal(staged.fetch(placed), values)


def test_arrays_come_to_a_space_as_mirrors_do(space):
    for array in (samples("float32"), samples("int64").T, np.float64(2.5) * np.ones(())):
        placed = es.create_mirror_view_and_copy(space, array)
        assert placed.memory_space.reachable_from(space)
        assert (placed.shape, placed.dtype) == (array.shape, array.dtype)
        assert placed.is_managed == (not es.HOST.reachable_from(space))  # else over the array
        np.testing.assert_array_equal(staged.fetch(placed), array)


def test_dual_views_copy_what_is_newer(space):
    dual = es.DualView(4, es.int64, label="dual", space=space)
    assert dual.shares_memory == space.memory_space.host_accessible
    np.asarray(dual.h_view)[...] = [1, 2, 3, 4]
    dual.modify("host")
    assert dual.need_sync("device") != dual.shares_memory
    dual.sync("device")
    assert staged.fetch(dual.d_view).tolist() == [1, 2, 3, 4]
    es.deep_copy(dual.d_view[2:], 9)
    dual.modify("device")
    dual.sync("host")
    assert np.asarray(dual.h_view).tolist() == [1, 2, 9, 9]
    assert not dual.need_sync("host")
    dual.resize(6)
    dual.sync("host")
    assert staged.fetch(dual.d_view).tolist() == [1, 2, 9, 9, 0, 0]


@pytest.mark.parametrize("layout", ["right", "left"])
def test_resize_keeps_and_realloc_drops(space, layout):
    values = np.arange(12, dtype=np.int32).reshape(3, 4)
    view = es.View((3, 4), es.int32, label="v", layout=layout, space=space)
    es.deep_copy(view, values)
    row = view[1, :]
    es.resize(view, (5, 2))
    np.testing.assert_array_equal(staged.fetch(view), np.pad(values[:, :2], ((0, 2), (0, 0))))
    np.testing.assert_array_equal(staged.fetch(row), values[1])  # keeps the old memory
    es.realloc(view, (2, 2))
    assert not staged.fetch(view).any()
    assert (view.layout, view.memory_space) == (layout, space.memory_space)

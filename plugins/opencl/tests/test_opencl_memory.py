"""Memory of a device: buffers, copies in all directions, fills, and what tools are told of it."""

from __future__ import annotations

import gc
import itertools
import threading
from dataclasses import dataclass

import numpy as np
import pytest

import execspace as es

cl = pytest.importorskip("pyopencl", reason="pyopencl is not installed")

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "float16", "float32", "float64", "complex64", "complex128"]  # fmt: skip
PARTICLE = np.dtype([("x", "f8"), ("id", "i4"), ("charge", "i1")], align=True)
PACKED = np.dtype([("a", "i1"), ("b", "f8")])


@pytest.fixture
def device(opencl):
    """``device(shape, ...)``: a View in a buffer of the device."""

    def make(*args, **options):
        return es.View(*args, space=opencl, memory="device", **options)

    return make


def numbers(shape, dtype=np.float64):
    values = np.arange(1, 1 + int(np.prod(shape))).reshape(shape)
    return values % 2 == 1 if dtype == "bool" else values.astype(dtype)


def fetch(view):
    """The elements of a View, as a new array."""
    result = np.empty(view.shape, view.dtype)
    es.deep_copy(result, view)
    return result


@dataclass(frozen=True)
class Blocks(es.Layout):
    """Columns in blocks of four."""

    def offset(self, i, j, rows, columns):
        return (j // 4 * rows + i) * 4 + j % 4

    def span(self, rows, columns):
        return rows * ((columns + 3) // 4) * 4


def test_memory_kinds(opencl):
    buffer = es.View(3, label="b", space=opencl, memory="device")
    assert isinstance(opencl.device.buffers[buffer.allocation.pointer], cl.Buffer)
    assert buffer.memory_space is opencl.memory and not buffer.memory_space.host_accessible
    default = es.View(3, space=opencl)
    assert default.memory_space is (es.HOST if opencl.found.is_cpu else opencl.memory)
    for access in (np.asarray, lambda v: v[0], np.from_dlpack):
        with pytest.raises((es.SpaceAccessError, BufferError), match="opencl"):
            access(buffer)


def test_addresses_are_aligned_and_nobody_elses(device):
    views = [device(n) for n in (0, 1, 512, 513, 5)]
    starts = sorted((v.data_ptr, v.data_ptr + v.nbytes) for v in views)
    assert all(v.data_ptr % 64 == 0 for v in views)
    assert all(end < start for (_, end), (start, _) in itertools.pairwise(starts))
    assert starts[0][0] >= 1 << 56  # no address that a host has


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_goes_there_and_back(device, dtype):
    values = numbers((3, 5), dtype)
    there = device((3, 5), dtype)
    assert not fetch(there).any()  # zeros
    es.deep_copy(there, values)
    other = device((3, 5), dtype, layout="left")
    es.deep_copy(other, there)  # between layouts, on the device
    assert (fetch(other) == values).all()


@pytest.mark.parametrize("dtype", [PARTICLE, PACKED])
def test_records(device, dtype):
    values = np.zeros(6, dtype)
    for name in dtype.names:
        values[name] = np.arange(6)
    there = device(6, dtype)
    es.deep_copy(there, values)
    back = device(6, dtype)
    es.deep_copy(back[::-1], there)
    assert (fetch(back) == values[::-1]).all()
    es.deep_copy(there[1::2], values[3])  # fill
    values[1::2] = values[3]
    assert (fetch(there) == values).all()


@pytest.mark.parametrize("rank", range(9))
def test_ranks(device, rank):
    shape = (2, 3, 1, 2, 1, 2, 3, 2)[:rank]
    values = numbers(shape)
    for layout, other in (("right", "left"), ("left", "right")):
        there, again = device(shape, layout=layout), device(shape, layout=other)
        es.deep_copy(there, values)
        es.deep_copy(again, there)
        assert (fetch(again) == values).all()
        es.deep_copy(again, 7)
        assert (fetch(again) == 7).all()


PARTS = [
    np.s_[:, :],
    np.s_[::-1, :],
    np.s_[:, ::-1],
    np.s_[::-1, ::-1],
    np.s_[1:, ::2],
    np.s_[::-2, 1:4],
    np.s_[2:2, :],
    np.s_[2, ::-1],
    np.s_[::3, 0],
]
LAYOUTS = ["right", "left", (8, 1), (1, 5), (12, 2)]


@pytest.mark.parametrize("part", PARTS, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_parts_in_every_layout(device, layout, part):
    """Copies and fills change the part and nothing beside it."""
    values = numbers((5, 6))
    shape = values[part].shape
    whole = device((5, 6), layout=layout)
    es.deep_copy(whole, values)
    assert (fetch(whole[part]) == values[part]).all()

    host = numbers(shape) * 100
    es.deep_copy(whole[part], host)  # from the host
    values[part] = host
    assert (fetch(whole) == values).all()

    source = device((5, 6), layout="left")
    es.deep_copy(source, -numbers((5, 6)))
    es.deep_copy(whole[part], source[part])  # on the device
    values[part] = -numbers((5, 6))[part]
    assert (fetch(whole) == values).all()

    es.deep_copy(whole[part], 9.5)
    values[part] = 9.5
    assert (fetch(whole) == values).all()

    target = np.zeros((5, 6), order="F")
    es.deep_copy(es.view_of(target)[part], whole[part])  # to the host
    assert (target[part] == values[part]).all()
    assert np.count_nonzero(target) == values[part].size


def test_permuted_strides_on_both_sides(device):
    """Dimensions in another order than either layout, in one block."""
    array = numbers((4, 2, 3)).transpose(1, 2, 0)
    there = device((2, 3, 4), layout=tuple(s // 8 for s in array.strides))
    es.deep_copy(there, array)
    assert (fetch(there) == array).all()
    back = np.zeros((4, 2, 3)).transpose(1, 2, 0)
    es.deep_copy(back, there)
    assert (back == array).all()


def test_own_layouts(device):
    values = numbers((3, 6))
    blocks, plain = device((3, 6), layout=Blocks()), device((3, 6))
    es.deep_copy(blocks, values)
    es.deep_copy(plain, blocks)
    assert (fetch(plain) == values).all() and (fetch(blocks) == values).all()
    es.deep_copy(plain, 3)
    es.deep_copy(blocks, plain)
    assert (fetch(blocks) == 3).all()
    host = es.View((3, 6), memory=es.HOST, layout=Blocks())
    es.deep_copy(blocks, values)
    es.deep_copy(host, blocks)
    assert (np.array([[host[i, j] for j in range(6)] for i in range(3)]) == values).all()


@pytest.mark.parametrize(
    ("source", "target"),
    [("int32", "float64"), ("bool", "int8"), ("int64", "int16"), ("float64", "float32"),
     ("float32", "complex128"), ("float64", "float16")],
)  # fmt: skip
def test_conversions(device, source, target):
    values = numbers((2, 3), source)
    there, goal = device((2, 3), source), device((2, 3), target)
    es.deep_copy(there, values)
    for destination in (goal, host := np.zeros((2, 3), target)):
        es.deep_copy(destination, there)
    es.deep_copy(goal, there)
    assert (fetch(goal) == values.astype(target)).all() and (host == fetch(goal)).all()
    es.deep_copy(goal, values)  # straight from the host
    assert (fetch(goal) == values.astype(target)).all()


FILLS = [("bool", True), ("int8", -5), ("uint64", 2**64 - 1), ("float16", 0.5), ("float32", -0.0),
         ("float64", np.nan), ("complex64", 1 - 2j), ("complex128", 2j), ("int64", np.int8(3)),
         ("float64", True)]  # fmt: skip


@pytest.mark.parametrize(("dtype", "value"), FILLS)
def test_fill(device, dtype, value):
    whole = device(7, dtype)
    expected = np.zeros(7, dtype)
    for part in (np.s_[1:3], np.s_[::3], np.s_[5:3:-1]):
        es.deep_copy(whole[part], value)
        expected[part] = value
    assert fetch(whole).tobytes() == expected.tobytes()  # signs of zeros, too


def test_fill_refuses_what_does_not_fit(device):
    for value in (300, -129, np.int64(128)):
        with pytest.raises(es.ViewError, match="does not fit into View 'small' of dtype int8"):
            es.deep_copy(device(4, "int8", label="small"), value)
    with pytest.raises(TypeError, match="without loss of kind"):
        es.deep_copy(device(4, "int8"), 1.5)


def test_read_only_host_memory_is_a_source(device):
    values = numbers(4)
    values.flags.writeable = False
    there = device(4)
    es.deep_copy(there, values)
    assert (fetch(there) == values).all()


def test_tools_are_told_of_each_buffer_on_the_way(device, events):
    plain, left = device((3, 4), layout="right"), device((3, 4), layout="left")
    host, small = numbers((3, 4)), np.zeros((3, 4), np.float32)

    def staged(target, source):
        events.staged.clear()
        es.deep_copy(target, source)
        return events.staged

    assert staged(plain, host) == [] and staged(host, plain) == []  # as they lie
    assert staged(left, plain) == []  # between layouts of the device a kernel moves
    assert staged(left[1, :], plain[::-1, :][1, :]) == []
    assert staged(left, 1.0) == [] and staged(left[:, ::2], 1.0) == []
    assert staged(left, host) == [96] and staged(host, left) == [96]
    assert staged(plain[:, :3:2], host[:, ::2]) == [48]
    assert staged(small, plain) == [96]  # conversion to float32 is the host's
    assert staged(device((3, 4), "f4"), plain) == [96, 48]
    assert staged(left[0:0, :], host[0:0]) == []


def test_memory_that_cannot_be_had(device, opencl):
    keep = device(1000, label="keep")
    with pytest.raises(MemoryError, match=r"View 'huge': cannot allocate .*'keep' 8,000"):
        device(1 << 45, label="huge")
    es.deep_copy(keep, 2)
    assert es.parallel_reduce(es.RangePolicy(1000, space=opencl), lambda i, x: x[i], keep) == 2000


def test_drivers_that_refuse_a_block_only_when_it_is_used(device, monkeypatch):
    def refuse(*args, **options):
        raise cl.RuntimeError("clEnqueueMigrateMemObjects failed")

    monkeypatch.setattr(cl, "enqueue_migrate_mem_objects", refuse)
    with pytest.raises(MemoryError, match="View 'late'"):
        device(10_000, label="late", initialize=False)
    assert device(10, label="small", initialize=False).size == 10  # its first launch may say so


def test_small_views_wait_for_no_queue(device, opencl):
    """Results that are waited for later go to such: their launches must not block."""
    gate = cl.UserEvent(opencl.device.context)
    cl.enqueue_barrier(opencl.queue.handle, wait_for=[gate])
    try:
        view = device(10, initialize=False)
    finally:
        gate.set_status(cl.command_execution_status.COMPLETE)
    assert view.size == 10


def test_memory_goes_with_the_last_view(device, opencl):
    view = device(10, label="mine")
    part = view[2:4]
    del view
    mine = (opencl.memory.name, 80, "mine")
    assert mine in es.live_allocations()
    del part
    gc.collect()
    assert mine not in es.live_allocations()


def test_threads_copy_between_layouts_at_once(device):
    errors = []

    def work(seed):
        shape = (3 + seed, 4, 5)
        values = numbers(shape) * (seed + 1)
        a, b = device(shape, layout="left"), device(shape)
        for _ in range(20):
            es.deep_copy(a, values)
            es.deep_copy(b[:, ::-1, :], a)
            if not (fetch(b)[:, ::-1] == values).all():
                errors.append(seed)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors


def test_copies_on_an_instance_wait_for_what_was_launched_there(device, opencl):
    queue = opencl.instance()
    x, y = device(1000), device((10, 100), layout="left")
    es.fence()  # zeros are stored by the default instance
    es.deep_copy(x, 1.0, instance=queue)
    back = np.zeros(1000)
    es.deep_copy(back, x, instance=queue)
    es.deep_copy(y, back.reshape(10, 100), instance=queue)
    es.deep_copy(y[::2, :], 5.0, instance=queue)
    queue.fence()
    assert back.sum() == 1000 and fetch(y).sum() == 500 + 2500


def test_copies_on_an_instance_of_another_device_come_after_its_work(device, opencl):
    """Of another context, whose queues know nothing of this memory."""
    if not opencl.found.is_cpu:
        pytest.skip("no View is within reach of both")
    from execspace_opencl.space import space_of

    other = space_of(opencl.found.place).instance()
    there, host = device((10, 100), layout="left"), np.zeros((10, 100))
    es.deep_copy(there, host + 1, instance=other)
    es.deep_copy(host, there, instance=other)
    assert (host == 1).all()


def test_mirrors(device, opencl):
    there = device((4, 3), layout="left", label="A")
    mirror = es.create_mirror_view(there)
    assert mirror.memory_space is es.HOST and mirror.strides == there.strides
    np.asarray(mirror)[...] = numbers((4, 3))
    es.deep_copy(there, mirror)
    again = es.create_mirror_view_and_copy(opencl.memory, mirror)
    assert (
        isinstance(opencl.device.buffers[again.allocation.pointer], cl.Buffer)
        and (fetch(again) == numbers((4, 3))).all()
    )

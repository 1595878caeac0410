"""The memories of a GPU: kinds, copies between all of them, staging, and want of memory.

Lifetimes and the order of copies on instances are in test_cuda_lifetimes.py.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged

KINDS = ["device", "shared", "pinned", "host"]
RECORD = np.dtype([("x", "f8"), ("n", "i4"), ("v", "f4", (2,))])


@es.kernel
def twice(i, x):
    x[i] = 2.0 * x[i] + i


@es.kernel
def element(i, x):
    return x[i]


@dataclass(frozen=True)
class Diagonals(es.Layout):
    """Element (i, j) lies on the diagonal i + j."""

    def span(self, n, m):
        return (n + m) * n

    def offset(self, i, j, n, m):
        return (i + j) * n + i


def on(space, n):
    return es.RangePolicy(n, space=space)


def view(space, kind, shape, dtype="float64", **options):
    memory = es.HOST if kind == "host" else kind
    return es.View(shape, dtype, space=space, memory=memory, **options)


# -- kinds --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["device", "shared", "pinned"])
def test_kinds(cuda, kind):
    x = view(cuda, kind, 1000, label="x")
    assert kind in x.memory_space.kinds
    assert x.memory_space in cuda.memory_spaces
    assert x.memory_space.host_accessible == (kind != "device")
    assert x.data_ptr % 64 == 0
    es.deep_copy(x, 1.0)
    es.parallel_for(on(cuda, 1000), twice, x)
    assert es.parallel_reduce(on(cuda, 1000), element, x) == 2000 + 999 * 500
    np.testing.assert_array_equal(staged.fetch(x), 2.0 + np.arange(1000))


@pytest.mark.parametrize("kind", ["shared", "pinned"])
def test_the_host_and_kernels_work_on_one_memory(cuda, kind):
    x = view(cuda, kind, 1000)
    seen = np.asarray(x)
    assert seen.ctypes.data == x.data_ptr
    assert not seen.any()
    for k in range(1, 4):  # to and fro
        seen[:] = k
        es.parallel_for(on(cuda, 1000), twice, x)
        cuda.fence()
        np.testing.assert_array_equal(seen, 2.0 * k + np.arange(1000))
    x[5] = -1.0
    assert float(x[5]) == -1.0
    assert es.parallel_reduce(on(cuda, 6), element, x) == 6.0 * 5 + 10 - 1.0
    part = x[10:20]
    es.parallel_for(on(cuda, 10), twice, part)
    cuda.fence()
    np.testing.assert_array_equal(seen[10:20], 2 * (6.0 + np.arange(10, 20)) + np.arange(10))


@pytest.mark.parametrize("kind", ["device", "shared", "pinned"])
def test_memory_comes_back_zeroed(cuda, kind):
    for _ in range(3):
        x = view(cuda, kind, 5000)
        assert not staged.fetch(x).any()
        es.deep_copy(x, 3.0)
        del x


def test_memories_of_an_instance_are_those_of_its_space(cuda):
    queue = cuda.instance()
    assert queue.memory_spaces == cuda.memory_spaces
    for kind in ("device", "shared", "pinned"):
        x = view(queue, kind, 100)
        assert x.memory_space is view(cuda, kind, 1).memory_space
        es.parallel_for(on(queue, 100), twice, x)
        queue.fence()
        assert staged.fetch(x).tolist() == list(range(100))


# -- copies -------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", KINDS)
@pytest.mark.parametrize("source", KINDS)
def test_copies_between_all_memories(cuda, source, target):
    """The same layout, another one, parts backwards; blocking, and on an instance."""
    values = np.arange(60.0).reshape(5, 12)
    a = view(cuda, source, (5, 12), layout="right")
    same, other = (view(cuda, target, (5, 12), layout=name) for name in ("right", "left"))
    es.deep_copy(a, values)
    queue = cuda.instance()
    touches = "host" not in (source, target) or source != target
    for instance in (None, queue) if touches else (None,):
        es.deep_copy(same, -1.0)
        es.deep_copy(other, -1.0)
        es.deep_copy(same, a, instance=instance)
        es.deep_copy(other, a, instance=instance)
        queue.fence()
        np.testing.assert_array_equal(staged.fetch(same), values)
        np.testing.assert_array_equal(staged.fetch(other), values)
        es.deep_copy(other[::-1, :4], a[:, ::-3], instance=instance)
        queue.fence()
        expected = values.copy()
        expected[::-1, :4] = values[:, ::-3]
        np.testing.assert_array_equal(staged.fetch(other), expected)


@pytest.mark.parametrize("kind", ["device", "pinned"])
def test_copies_of_records_and_mapped_layouts(cuda, kind):
    values = np.zeros((5, 7), RECORD)
    values["x"] = np.arange(35).reshape(5, 7)
    values["n"] = -np.arange(35).reshape(5, 7)
    values["v"][..., 1] = 0.5
    a = view(cuda, kind, (5, 7), RECORD, layout=Diagonals())
    b = view(cuda, kind, (5, 7), RECORD, layout="left")
    es.deep_copy(a, values)
    es.deep_copy(b, a)
    back = np.zeros((5, 7), RECORD)
    es.deep_copy(back, b)
    np.testing.assert_array_equal(back, values)
    es.deep_copy(back, np.zeros((), RECORD)[()])
    es.deep_copy(back, a)
    np.testing.assert_array_equal(back, values)
    here = es.View((5, 7), RECORD, memory=es.HOST, layout=Diagonals())
    es.deep_copy(here, b)
    es.deep_copy(b, np.zeros((), RECORD)[()])
    es.deep_copy(b, here)
    np.testing.assert_array_equal(staged.fetch(b), values)


@pytest.mark.parametrize("rank", range(5, 9))
def test_parts_of_views_of_high_rank(cuda, rank):
    shape = (3, 2, 3, 2, 2, 3, 2, 3)[:rank]
    values = np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)
    part = (slice(None, None, -1), *[slice(None)] * (rank - 2), slice(0, 2))
    a = es.View(shape, es.int32, layout="left", space=cuda)
    b = es.View(shape, es.int64, layout="right", space=cuda)
    es.deep_copy(a, values)
    es.deep_copy(b[part], a[part])  # another dtype and layout
    expected = np.zeros(shape, np.int64)
    expected[part] = values[part]
    np.testing.assert_array_equal(staged.fetch(b), expected)
    back = np.zeros_like(values[part])
    es.deep_copy(back, a[part])
    np.testing.assert_array_equal(back, values[part])
    es.deep_copy(a[part], -back)
    values[part] = -values[part]
    np.testing.assert_array_equal(staged.fetch(a), values)
    es.deep_copy(a[part], 5)
    values[part] = 5
    np.testing.assert_array_equal(staged.fetch(a), values)


# -- staging ------------------------------------------------------------------------------------


def test_staging_is_told_where_the_host_has_elements_in_another_order_only(cuda, events):
    values, integers = np.ones((8, 6)), np.ones((8, 6), np.int32)
    right, left = (es.View((8, 6), layout=name, space=cuda) for name in ("right", "left"))
    others = [view(cuda, kind, (8, 6), layout="right") for kind in ("shared", "pinned")]
    direct = [
        (right, values), (values, right), (left, values.T.copy().T), (right[2:4, :], values[2:4]),
        (left, right), (right[::2, ::-1], left[1::2, :]), *[(o, right) for o in others],
        *[(left, o) for o in others], *[(o[:, ::2], left[:, :3]) for o in others],
    ]  # fmt: skip
    for target, source in direct:
        es.deep_copy(target, source)
        assert events.staged == [], (target, source)
    block, apart = values[:, :3].copy(), np.ones((8, 12))[:, ::2]
    for where, pairs in (
        ("cuda", ((left, values), (values, left), (right[:, :3], block), (block, left[:, ::2]))),
        ("cuda pinned", ((left, apart), (apart, left), (right, apart), (apart, right))),
    ):
        for target, source in pairs:
            es.deep_copy(target, source)
            nbytes = np.prod(source.shape) * 8
            assert events.staged == [(where, nbytes)], (target, source)
            events.staged.clear()
    es.deep_copy(right, integers)  # another dtype
    assert len(events.staged) == 1
    es.deep_copy(left, 2.5)
    assert len(events.staged) == 1


@pytest.mark.parametrize("instance", [False, True])
@pytest.mark.parametrize(
    ("shape", "dtypes"),
    [((101, 13), ("f8", "f8")), ((1300,), ("i4", "f8")), ((7, 3, 61), ("f4", "c16"))],
)
def test_copies_of_more_than_a_part(cuda, monkeypatch, shape, dtypes, instance):
    from execspace_gpu import transfers

    monkeypatch.setattr(transfers, "_PART", 1000)
    queue = cuda.instance() if instance else None
    first, second = map(np.dtype, dtypes)
    values = np.arange(int(np.prod(shape)), dtype=first).reshape(shape)
    x = es.View(shape, second, layout="left", space=cuda)
    es.deep_copy(x, values, instance=queue)
    back = np.zeros(shape, second)
    es.deep_copy(back, x, instance=queue)
    es.fence()
    np.testing.assert_array_equal(back, values)
    es.deep_copy(x[::-1, ...], values, instance=queue)
    es.deep_copy(back, x, instance=queue)
    es.fence()
    np.testing.assert_array_equal(back, values[::-1])
    mirrored = np.zeros((*shape[:-1], 2 * shape[-1]), second)[..., ::2]
    es.deep_copy(mirrored, x[::-1, ...], instance=queue)
    es.fence()
    np.testing.assert_array_equal(mirrored, values)


@pytest.mark.parametrize("direction", ["to the device", "to the host"])
def test_staging_takes_the_memory_of_a_few_parts_only(cuda, monkeypatch, events, direction):
    from execspace_gpu import transfers

    monkeypatch.setattr(transfers, "_PART", 10_000)
    values = np.ones((1000, 100))
    x = es.View((1000, 100), layout="left", space=cuda)
    before = dict(events.live)
    events.most = dict(before)
    es.deep_copy(*((x, values) if direction == "to the device" else (values, x)))
    for space, most in events.most.items():
        assert most - before.get(space, 0) <= 4 * 10_000, space


# -- want of memory -----------------------------------------------------------------------------


def test_out_of_memory_names_the_view_and_sizes(cuda):
    mine = es.View(1000, label="mine", space=cuda)
    expected = (
        r"View 'huge': cannot allocate 10,995,116,277,760 bytes in memory space 'cuda', where "
        r"\d+ Views hold [\d,]+ bytes; the largest are .*'mine' 8,000"
    )
    for initialize in (True, False):
        with pytest.raises(MemoryError, match=expected):
            es.View(10 * 2**40, es.int8, label="huge", space=cuda, initialize=initialize)
    es.parallel_for(on(cuda, 1000), twice, mine)
    assert staged.fetch(mine).tolist() == list(range(1000))


@es.kernel
def touch(i, x):
    x[i] = 1


def test_memory_held_by_instances_is_released_under_pressure(cuda, cupy):
    """Three Views that do not fit at once; each is dropped, but its instance still holds it."""
    gc.collect()
    cuda.fence()
    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    free, _ = cupy.cuda.runtime.memGetInfo()
    n, queue = int(free * 0.4), cuda.instance()
    try:
        for _ in range(4):
            x = es.View(n, es.int8, label="large", space=cuda, initialize=False)
            es.parallel_for(on(queue, 10), touch, x)
            del x
        assert "large" in [label for _, _, label in es.live_allocations()]
    finally:
        cuda.fence()
        pool.free_all_blocks()
    assert "large" not in [label for _, _, label in es.live_allocations()]


def test_memory_of_this_size_is_missing_for_good(cuda, cupy):
    """A View that somebody still has is not taken away; the program goes on without the new one."""
    gc.collect()
    cuda.fence()
    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    free, _ = cupy.cuda.runtime.memGetInfo()
    x = es.View(int(free * 0.6), es.int8, label="large", space=cuda, initialize=False)
    with pytest.raises(MemoryError, match=r"View 'second'.*'large'"):
        es.View(int(free * 0.6), es.int8, label="second", space=cuda, initialize=False)
    es.parallel_for(on(cuda, 10), touch, x)
    assert staged.fetch(x[:10]).tolist() == [1] * 10
    del x
    pool.free_all_blocks()


PROGRAM = """
import numpy as np
import execspace as es

@es.kernel
def add(i, total, x):
    total[i] += x[i]

space = es.space("cuda")
queue = space.instance()
total = es.View(1000, space=space)
for k in range(200):
    x = es.View(1000, label="x", space=space)
    es.deep_copy(x, float(k), instance=queue)
    es.parallel_for(es.RangePolicy(1000, space=queue), add, total, x)
    del x
queue.fence()
for k in range(200):
    x = es.View(1000, label="x", space=space)
    es.deep_copy(x, 1.0)
    es.parallel_for(es.RangePolicy(1000, space=space), add, total, x)
    del x
values = np.zeros(1000)
es.deep_copy(values, total)
print(set(values.tolist()) == {19900.0 + 200})
print(es.parallel_reduce(es.RangePolicy(1000, space=queue), lambda i: total[i]))
try:
    es.View(10 * 2**40, es.int8, label="huge", space=space)
except MemoryError as error:
    print(error)
"""


@pytest.mark.parametrize("pool", ["cupy", "async"])
def test_pools(cuda, python, pool):
    same, total, error = python(PROGRAM, EXECSPACE_CUDA_POOL=pool).splitlines()
    assert same == "True"
    assert total == str(20100.0 * 1000)
    assert error.startswith("View 'huge': cannot allocate 10,995,116,277,760 bytes in memory space")


def test_pools_that_do_not_exist(cuda, python):
    said = python(
        """
        import execspace as es
        try:
            es.space("cuda")
        except es.SpaceError as error:
            print(error)
        """,
        EXECSPACE_CUDA_POOL="fast",
    )
    assert said == "EXECSPACE_CUDA_POOL='fast' is not a pool; expected cupy or async.\n"

"""Copies of every size, alignment and order of dimensions; large blocks of pageable memory.

Which memories there are, and what is told of staging, is in test_cuda_memory.py.
"""

from __future__ import annotations

import gc
import itertools
import threading

import numpy as np
import pytest

import execspace as es
from execspace import profiling
from execspace_testing import staged

DTYPES = ["u1", "i2", "f4", "f8", "c16"]
MIB = 1 << 20


@es.kernel
def increase(i, x):
    x[i] += 1


@pytest.fixture
def ferry(cuda):
    """What carries large blocks; `trips` has the sizes that it carried."""
    from execspace_gpu import ferry as module

    found = module
    trips = []
    run = module._Trip.run

    def noted(self, helpers):
        trips.append(self.nbytes)
        run(self, helpers)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module._Trip, "run", noted)
        found.trips = trips
        yield found
    del found.trips


def numbers(n, seed=0):
    return np.random.default_rng(seed).integers(0, 256, n, dtype=np.uint8)


def in_bytes(n, space):
    return es.View(n, es.uint8, space=space)


# -- blocks of pageable memory --------------------------------------------------------------------


@pytest.mark.parametrize("instance", [False, True])
def test_blocks_of_all_sizes(cuda, ferry, instance):
    """About the borders of pieces, at odd addresses of both sides; nothing else is written."""
    queue = cuda.instance() if instance else None
    p, least = ferry.PIECE, ferry.LEAST
    for n in (least - 1, least, least + 1, 3 * p - 1, 3 * p, 3 * p + 1, 17 * p + 12_345, 40 * p):
        host, x = numbers(n + 64), in_bytes(n + 64, cuda)
        back = np.zeros(n + 64, np.uint8)
        for a, b in ((0, 0), (1, 3), (63, 32)):
            es.deep_copy(x, 0)
            back[...] = 0
            es.deep_copy(x[b : b + n], host[a : a + n], instance=queue)
            es.deep_copy(back[a : a + n], x[b : b + n], instance=queue)
            assert (back[a : a + n] == host[a : a + n]).all(), (n, a, b)
            assert not back[:a].any() and not back[a + n :].any()
            whole = staged.fetch(x)
            assert not whole[:b].any() and not whole[b + n :].any()
    assert len(ferry.trips) >= 2 * 3 * 7  # and what was fetched
    assert len(cuda.device.ferry._buffers) <= 8 + ferry.SPARE


def test_blocks_are_in_order_with_an_instance(cuda, ferry, delay):
    """Behind a kernel that takes its time, and before one that follows; then the same back."""
    queue, n = cuda.instance(), 20 * ferry.PIECE + 5
    x, policy = in_bytes(n, cuda), es.RangePolicy(n, space=queue)
    es.parallel_for(policy, increase, x)
    for size in (n, ferry.LEAST):  # of which the second fits into the buffers
        values = numbers(size)
        expected = values + np.uint8(1)
        delay.on(queue)
        es.deep_copy(x[:size], values, instance=queue)
        values[...] = 0  # the call has come back
        es.parallel_for(es.RangePolicy(size, space=queue), increase, x)
        found = np.zeros(size, np.uint8)
        es.deep_copy(found, x[:size], instance=queue)
        assert (found == expected).all()
    assert ferry.trips == [n, n, ferry.LEAST, ferry.LEAST]


def test_the_default_stream_is_in_order(cuda, cupy, ferry, side, delay):
    n = 10 * ferry.PIECE
    x, array = in_bytes(n, cuda), cupy.zeros(n, np.uint8)
    values = numbers(n)
    es.deep_copy(x, values)
    assert (cupy.asarray(x).get() == values).all()
    with side:
        delay(None)
        array += 7
        found = np.zeros(n, np.uint8)
        es.deep_copy(found, array)
    assert (found == 7).all()
    assert ferry.trips == [n, n]


@pytest.fixture
def side(cupy):
    """A stream of CuPy's that waits for no other."""
    return cupy.cuda.Stream(non_blocking=True)


def test_pinned_memory_goes_directly(cuda, cupy, ferry):
    import cupyx

    n = 3 * ferry.LEAST
    x = in_bytes(n, cuda)
    page_locked, registered = cupyx.empty_pinned(n, np.uint8), np.zeros(n, np.uint8)
    runtime = cupy.cuda.runtime
    runtime.hostRegister(registered.ctypes.data, n, 0)
    try:
        view = es.View(n, es.uint8, space=cuda, memory="pinned")
        shared = es.View(n, es.uint8, space=cuda, memory="shared")
        for k, memory in enumerate((page_locked, registered, view, np.asarray(view), shared)):
            np.asarray(memory)[...] = k + 1
            es.deep_copy(x, memory)
            np.asarray(memory)[...] = 0
            es.deep_copy(memory, x)
            assert (np.asarray(memory) == k + 1).all()
        assert ferry.trips == []
        # A part of registered memory, and what only ends in it, are not pageable either.
        es.deep_copy(x[: 2 * ferry.LEAST], registered[1 : 1 + 2 * ferry.LEAST])
        assert ferry.trips == []
    finally:
        runtime.hostUnregister(registered.ctypes.data)
    es.deep_copy(x, registered)
    assert ferry.trips == [n]


def test_read_only_arrays_and_fresh_memory(cuda, ferry):
    values = numbers(5 * ferry.PIECE)
    values.flags.writeable = False
    x = in_bytes(values.size, cuda)
    es.deep_copy(x, values)
    found = np.empty(values.size, np.uint8)  # whose pages are not there yet
    es.deep_copy(found, x)
    assert (found == values).all() and len(ferry.trips) == 2


def test_threads_that_copy_at_once(cuda, ferry):
    """On instances of their own and on the default stream, to and fro."""
    wrong = []

    def work(k):
        queue = cuda.instance() if k % 2 else None
        for n in range(6):
            size = 6 * ferry.PIECE + 1000 * k + n
            values, found = numbers(size, 100 * k + n), np.zeros(size, np.uint8)
            x = in_bytes(size, cuda)
            es.deep_copy(x, values, instance=queue)
            es.deep_copy(found, x, instance=queue)
            if not (found == values).all():
                wrong.append((k, n))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == [] and ferry.trips
    assert len(cuda.device.ferry._buffers) <= 8 + ferry.SPARE


def test_several_devices(cuda, second_cuda, ferry):
    values = numbers(6 * ferry.PIECE)
    for space in (cuda, second_cuda, cuda):
        x, found = in_bytes(values.size, space), np.zeros_like(values)
        es.deep_copy(x, values)
        es.deep_copy(found, x)
        assert (found == values).all()
    assert len(ferry.trips) == 6


class Copies(profiling.Tool):
    def __init__(self):
        self.copies, self.staged, self.allocated = [], [], []

    def on_copy_begin(self, destination, source, nbytes):
        self.copies.append((destination, source, nbytes))

    def on_staging(self, space, nbytes):
        self.staged.append(space)

    def on_allocate(self, space, label):
        self.allocated.append(label)


def test_tools_are_told_of_one_copy(cuda, ferry):
    n = 10 * ferry.PIECE
    x, values = es.View(n, es.uint8, space=cuda, label="x"), numbers(n)
    tool = profiling.attach(Copies())
    try:
        es.deep_copy(x, values)
    finally:
        profiling.detach(tool)
    assert tool.copies == [("x@cuda", "source of deep_copy@host", n)]
    assert tool.staged == tool.allocated == [] and ferry.trips == [n]


def test_ctrl_c_in_a_copy(cuda, python):
    """Whenever it comes: nothing is broken, and the next copies are right."""
    said = python(
        """
        import signal
        import numpy as np
        import execspace as es

        values = np.arange(1 << 25, dtype=np.float64)  # 256 MiB
        x = es.View(values.size, space="cuda")
        back = np.empty_like(values)
        es.deep_copy(x, values)
        es.deep_copy(back, x)
        queue, interrupted = es.space("cuda").instance(), 0
        for k in range(1, 41):
            instance = queue if k % 2 else None
            signal.signal(signal.SIGALRM, signal.default_int_handler)
            signal.setitimer(signal.ITIMER_REAL, 2e-4 * k)
            try:
                es.deep_copy(*((x, values) if k % 4 < 2 else (back, x)), instance=instance)
            except KeyboardInterrupt:
                interrupted += 1
            finally:
                try:
                    signal.setitimer(signal.ITIMER_REAL, 0)
                except KeyboardInterrupt:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            if k % 5 == 0:
                back[...] = 0
                es.deep_copy(x, values)
                es.deep_copy(back, x)
                assert (back == values).all()
        es.fence()
        print(interrupted)
        """
    )
    assert int(said) > 5


def test_children_of_a_process_that_copied(cuda, python):
    said = python(
        """
        import os, sys, warnings
        import numpy as np
        import execspace as es

        warnings.simplefilter("ignore", DeprecationWarning)  # forking with threads
        values = np.arange(1 << 22, dtype=np.float64)
        x = es.View(values.size, space="cuda")
        es.deep_copy(x, values)
        child = os.fork()
        if not child:
            try:
                es.deep_copy(x, values)
            except es.SpaceError as error:
                sys.exit(0 if "spawn" in str(error) else 1)
            sys.exit(2)
        assert os.waitpid(child, 0)[1] == 0
        back = np.empty_like(values)
        es.deep_copy(back, x)
        print((back == values).all())
        """
    )
    assert said == "True\n"


def test_programs_end_in_the_middle(cuda, python):
    """A daemon thread still copies, and exit functions do."""
    said = python(
        """
        import atexit, threading, time
        import numpy as np
        import execspace as es

        values = np.ones(1 << 22)
        x, y = (es.View(values.size, space="cuda") for _ in range(2))
        queue = es.space("cuda").instance()

        def last():
            back = np.zeros_like(values)
            es.deep_copy(back, y)
            print(back.sum() == values.size)

        def forever():
            while True:
                es.deep_copy(x, values, instance=queue)

        es.deep_copy(y, values)
        atexit.register(last)
        threading.Thread(target=forever, daemon=True).start()
        time.sleep(0.1)
        """
    )
    assert said == "True\n"


# -- elements in another order --------------------------------------------------------------------


def parts(rng, shape, dtype):
    """An array, and where a part of a shape is in it: with gaps, backwards, in any order."""
    order = rng.permutation(len(shape))
    steps = [int(rng.choice([1, 1, 1, 1, 2, -1])) for _ in shape]
    more = [int(rng.choice([0, 0, 1, 8])) for _ in shape]
    whole = [shape[d] * abs(steps[d]) + more[d] for d in order]
    array = rng.integers(0, 100, whole).astype(dtype).transpose(np.argsort(order))
    cut = tuple(
        slice(None, n * s, s) if s > 0 else slice(n * -s - 1, None, s)
        for n, s in zip(shape, steps, strict=True)
    )
    return array, cut


def on_device(array, space):
    """A View of the same strides as a dense array, with its elements."""
    order = sorted(range(array.ndim), key=lambda d: -array.strides[d])
    flat = np.ascontiguousarray(array.transpose(order))
    made = es.View(flat.shape, flat.dtype, layout="right", space=space)
    es.deep_copy(made, flat)
    import cupy

    return cupy.asarray(made).transpose(np.argsort(order))


@pytest.fixture(params=["in words", "one by one"])
def words(request, cuda, monkeypatch):
    """Elements are moved in words where they lie so, or as they are, as those of small Views."""
    from execspace_gpu import moving

    monkeypatch.setattr(moving, "LEAST", 0 if request.param == "in words" else 1 << 60)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sides", ["on the device", "to the device", "to the host", "pinned"])
def test_parts_in_any_order(cuda, cupy, words, dtype, sides):
    """Nothing but the elements is written; extents about those of tiles and squares."""
    rng = np.random.default_rng(len(sides))
    queue = cuda.instance()
    extents = [1, 2, 3, 7, 8, 9, 16, 31, 33, 64, 65, 130]
    for k in range(40):
        rank = int(rng.integers(1, 5))
        shape = [int(rng.choice(extents[: (12, 12, 10, 6)[rank - 1]])) for _ in range(rank)]
        (a, to), (b, at) = parts(rng, shape, dtype), parts(rng, shape, dtype)
        expected = a.copy()
        expected[to] = b[at]
        target, source = a, b
        if sides in ("on the device", "to the device", "pinned"):
            target = on_device(a, cuda)
        if sides in ("on the device", "to the host"):
            source = on_device(b, cuda)
        if sides == "pinned":
            import cupyx

            source = cupyx.empty_like_pinned(b)
            source[...] = b
        es.deep_copy(target[to], source[at], instance=queue if k % 2 else None)
        queue.fence()
        found = target if isinstance(target, np.ndarray) else target.get()
        np.testing.assert_array_equal(found, expected, err_msg=f"{shape} {to} {at}")


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("shape", [(1, 300, 520), (5, 129, 258), (3, 1024, 64)])
def test_transposes(cuda, words, size, shape):
    """From layout right to left; elements of all sizes, whole squares of them and what is left."""
    dtype = np.dtype({16: "c16"}.get(size, f"u{size}"))
    values = np.random.default_rng(0).integers(0, 256, (*shape, size), np.uint8)
    if size == 16:
        values[..., 7] = values[..., 15] = 0  # no NaN, which equals nothing
    values = values.view(dtype)[..., 0]
    right, left = (es.View(shape, dtype, layout=name, space=cuda) for name in ("right", "left"))
    es.deep_copy(right, values)
    es.deep_copy(left, right)
    np.testing.assert_array_equal(staged.fetch(left), values)
    es.deep_copy(right, 0)
    es.deep_copy(right, left)
    np.testing.assert_array_equal(staged.fetch(right), values)
    if shape[0] > 1:
        swapped = es.View((shape[0], shape[2], shape[1]), dtype, layout="right", space=cuda)
        import cupy

        es.deep_copy(swapped, cupy.asarray(right).transpose(0, 2, 1))
        np.testing.assert_array_equal(staged.fetch(swapped), values.transpose(0, 2, 1))


@pytest.mark.parametrize("layouts", list(itertools.product(["right", "left"], repeat=2)))
def test_large_arrays_in_parts(cuda, monkeypatch, layouts):
    """Of more than a part, and of more than the driver shall do: dense on the host, or not."""
    from execspace_gpu import transfers

    monkeypatch.setattr(transfers, "_PART", 8 * MIB)
    shape, (host, device) = (1500, 3001), layouts
    values = np.asarray(np.random.default_rng(0).normal(size=shape), order="CF"[host == "left"])
    x = es.View(shape, layout=device, space=cuda)
    for instance in (None, cuda.instance()):
        es.deep_copy(x, values, instance=instance)
        back = np.zeros_like(values)
        es.deep_copy(back, x, instance=instance)
        es.fence()
        np.testing.assert_array_equal(back, values)
        whole = np.zeros((shape[0], shape[1] + 1))
        es.deep_copy(whole[:, 1:], x, instance=instance)
        es.fence()
        np.testing.assert_array_equal(whole[:, 1:], values)
        assert not whole[:, 0].any()
        es.deep_copy(x, 0)
        es.deep_copy(x, whole[:, 1:], instance=instance)
        single = np.zeros(shape, np.float64)
        es.deep_copy(single, x, instance=instance)
        es.fence()
        np.testing.assert_array_equal(single, values)


def test_bits_of_all_floats_are_kept(cuda, words):
    """Of quiet and signalling NaN, and of subnormal numbers."""
    for dtype, bits in (("f4", "u4"), ("f8", "u8"), ("f2", "u2")):
        words = np.random.default_rng(0).integers(0, np.iinfo(bits).max, (60, 90), bits)
        x, y = (es.View((60, 90), dtype, layout=name, space=cuda) for name in ("right", "left"))
        es.deep_copy(x, words.view(dtype))
        es.deep_copy(y, x)
        es.deep_copy(x[:, ::2], y[:, 1::2])
        words[:, ::2] = words[:, 1::2]
        np.testing.assert_array_equal(staged.fetch(x).view(bits), words)


def test_memory_is_let_go(cuda, ferry):
    gc.collect()
    before = len(es.live_allocations())
    x = es.View((1000, 2000), layout="left", space=cuda)
    es.deep_copy(x, np.ones((1000, 2000)))
    es.deep_copy(np.zeros((1000, 2000)), x, instance=cuda.instance())
    del x
    es.fence()
    gc.collect()
    assert len(es.live_allocations()) == before

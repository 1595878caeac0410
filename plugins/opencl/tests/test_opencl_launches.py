"""Launches: what reaches the device, in which order, what stays alive, and what goes wrong."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest

import execspace as es

cl = pytest.importorskip("pyopencl", reason="pyopencl is not installed")

from execspace_opencl import device as devices  # noqa: E402
from execspace_opencl import program as programming  # noqa: E402
from execspace_opencl.host_memory import lend  # noqa: E402
from execspace_opencl.launch import OpenCLLaunch  # noqa: E402


@es.kernel
def axpy(i, a, x, y):
    y[i] += a * x[i]


@es.kernel
def load(i, x):
    return x[i]


@es.kernel
def checked(i, x):
    assert x[i] < 100, "too large"
    x[i] += 1


def buffer(space, n, value=0.0, **options):
    """A View in memory of the device, filled."""
    view = es.View(n, space=space, memory="device", **options)
    es.deep_copy(view, value)
    return view


def fetch(view):
    result = np.empty(view.shape, view.dtype)
    es.deep_copy(result, view)
    return result


def on(space, n):
    return es.RangePolicy(n, space=space)


class Counted:
    """Stands for a function or class and counts its calls."""

    def __init__(self, real):
        self.real, self.calls = real, 0

    def __call__(self, *args, **options):
        self.calls += 1
        return self.real(*args, **options)


class Watched:
    """Stands for a kernel of the driver and counts what is set."""

    def __init__(self, real):
        self.real, self.set = real, []

    def set_arg(self, position, value):
        self.set.append(position)
        self.real.set_arg(position, value)

    def _set_arg_buf(self, position, value):
        self.set.append(position)
        self.real._set_arg_buf(position, value)


@pytest.fixture
def programs(monkeypatch):
    """The programs that launches of the test make."""
    made = []
    real = programming.Program.__init__

    def init(self, *args, **options):
        real(self, *args, **options)
        made.append(self)

    monkeypatch.setattr(programming.Program, "__init__", init)
    return made


def drive(monkeypatch, enqueue):
    """Have kernels enqueued by a function."""
    monkeypatch.setattr(cl, "enqueue_nd_range_kernel", enqueue)
    monkeypatch.setattr(OpenCLLaunch, "again", staticmethod(enqueue))


def test_a_second_launch_sets_what_changed_and_allocates_nothing(opencl, programs, monkeypatch):
    @es.kernel
    def scale(i, a, x, y):
        y[i] = a * x[i]

    x, y, z = (buffer(opencl, 8, v) for v in (1.0, 2.0, 3.0))
    policy = on(opencl, 8)
    es.parallel_for(policy, scale, 2.0, x, y)
    assert es.parallel_reduce(policy, load, x) == 8.0
    (program, reduction) = programs[-2:]
    enqueue, driver = cl.enqueue_nd_range_kernel, Watched(program.kernels[0])
    program.kernels[0] = driver
    drive(monkeypatch, lambda q, k, *size: enqueue(q, getattr(k, "real", k), *size))
    monkeypatch.setattr(devices, "Buffer", made := Counted(devices.Buffer))
    monkeypatch.setattr(cl, "Buffer", plain := Counted(cl.Buffer))

    def changes(*args):
        driver.set.clear()
        es.parallel_for(policy, scale, *args)
        return driver.set

    assert changes(2.0, x, y) == []
    assert changes(3.0, x, y) == [0]  # the record of all numbers
    assert changes(3.0, x, z) == [2]  # one buffer
    assert es.parallel_reduce(policy, load, x) == 8.0
    assert made.calls == plain.calls == 0
    assert (fetch(z) == 3.0).all() and reduction.kernels


def test_sub_views_begin_inside_of_their_buffer(opencl):
    x, y = buffer(opencl, 20, 1.0), buffer(opencl, (4, 5))
    es.deep_copy(x, np.arange(20.0))
    es.parallel_for(on(opencl, 5), axpy, 1.0, x[10:15], y[2, :])
    es.parallel_for(on(opencl, 5), axpy, 1.0, x[19:9:-2], y[3, ::-1])
    expected = np.zeros((4, 5))
    expected[2] = np.arange(10, 15)
    expected[3] = np.arange(19, 9, -2)[::-1]
    assert (fetch(y) == expected).all()


def test_views_that_overlap_have_a_program_of_their_own(opencl, programs):
    """The usual one is compiled as if no store changed another View."""

    @es.kernel
    def shift(i, x, y):
        y[i] = x[i] + 1

    x, y = buffer(opencl, 20, 1.0), buffer(opencl, 20, 1.0)
    policy = on(opencl, 10)
    es.parallel_for(policy, shift, x[:10], y[:10])
    es.parallel_for(policy, shift, x[:10], x[10:])  # halves of one View are apart
    assert [p.code.source.count("*restrict ") for p in programs] == [2]
    es.parallel_for(policy, shift, x[:10], x[:10])
    es.parallel_for(policy, shift, x[:20:2], x[1::2])  # between each other; another type
    assert [p.code.source.count("*restrict ") for p in programs] == [2, 0, 2, 0]
    expected = np.ones(20)
    expected[10:] = 2
    expected[:10] = 2
    expected[1::2] = expected[::2] + 1
    assert (fetch(x) == expected).all() and (fetch(y)[:10] == 2).all()


def test_host_memory_is_used_in_place(opencl):
    if not opencl.found.is_cpu:
        pytest.skip("host memory is out of the reach of a GPU")
    x, y = np.arange(8.0), np.ones(24)
    es.parallel_for(on(opencl, 8), axpy, 2.0, x, y[::-3])
    expected = np.ones(24)
    expected[::-3] += 2 * x
    assert (y == expected).all()  # no fence: the launch returned when it was done
    there = buffer(opencl, 8, 1.0)
    es.parallel_for(on(opencl, 8), axpy, 1.0, there, x)  # both memories
    assert (x == np.arange(8.0) + 1).all()


def test_views_that_share_host_memory_share_a_buffer(opencl):
    block = np.arange(32.0)
    views = [es.view_of(a) for a in (block[4:12], block[20:8:-1], np.ones(3), block[24:30])]
    lent = lend(opencl.device, views)
    assert lent[0][0] is lent[1][0]
    assert len({id(b) for b, _ in lent}) == 3
    assert [first for _, first in lent] == [0, 16 * 8, 0, 0]
    assert lent[0][0].size == 17 * 8
    z = np.zeros(4, complex)
    views = [es.view_of(a) for a in (z, z.real, z.imag)]
    assert [first for _, first in lend(opencl.device, views)] == [0, 0, 8]


def test_overlapping_arguments(opencl):
    if not opencl.found.is_cpu:
        pytest.skip("host memory is out of the reach of a GPU")
    x = np.arange(10.0)
    es.parallel_for(on(opencl, 5), axpy, 1.0, x[:5], x[5:])  # side by side
    assert (x[5:] == np.arange(5, 10) + np.arange(5)).all()
    z = np.arange(5) + 1j * np.arange(5, 10)
    es.parallel_for(on(opencl, 5), axpy, 1.0, z.real, z.imag)  # interleaved
    assert (z.imag == np.arange(5, 10) + np.arange(5)).all()
    es.parallel_for(on(opencl, 5), axpy, 1.0, x[:5], x[:5])  # the same
    assert (x[:5] == 2 * np.arange(5)).all()


def test_read_only_arrays_are_lent_as_such(opencl):
    x, y = np.arange(4.0), np.zeros(4)
    x.flags.writeable = False
    (lent, _), _ = lend(opencl.device, [es.view_of(x), es.view_of(y)])
    assert lent.flags & cl.mem_flags.READ_ONLY
    if opencl.found.is_cpu:
        es.parallel_for(on(opencl, 4), axpy, 1.0, x, y)
        assert (y == x).all()


def test_no_indices_and_no_elements(opencl):
    nothing, some = buffer(opencl, 0), buffer(opencl, 4, 1.0)
    es.parallel_for(on(opencl, 0), axpy, 1.0, nothing, some)
    es.parallel_for(es.RangePolicy(3, 3, space=opencl), axpy, 1.0, some, some)
    assert es.parallel_reduce(on(opencl, 0), load, nothing) == 0.0
    assert (fetch(some) == 1).all()
    if opencl.found.is_cpu:
        es.parallel_for(on(opencl, 0), axpy, 1.0, np.zeros(0), np.zeros(0))
        assert es.parallel_reduce(on(opencl, 0), load, np.zeros((0,))) == 0.0


def test_results_in_memory_of_the_device(opencl):
    x, total = buffer(opencl, 1000, 2.0), es.View((), space=opencl, memory="device")
    es.parallel_reduce(on(opencl, 1000), load, x, out=total)
    es.parallel_for(on(opencl, 1000), axpy, 1.0, x, x)  # does not wait, nor disturb
    assert fetch(total) == 2000.0
    some = buffer(opencl, 3)
    es.parallel_reduce(on(opencl, 1000), load, x, out=es.subview(some, 1))
    assert fetch(some).tolist() == [0, 4000, 0]


def test_numbers_that_do_not_fit_name_the_argument(opencl):
    x = buffer(opencl, 4)
    with pytest.raises(es.LaunchError, match="'axpy': argument 0 is 9223372036854775808"):
        es.parallel_for(on(opencl, 4), axpy, 2**63, x, x)


def test_memory_of_a_dropped_view_lasts_as_long_as_its_launch_only(opencl):
    x, y = buffer(opencl, 1 << 16, 1.0), buffer(opencl, 1 << 16)
    es.fence()
    owner = weakref.ref(opencl.device.buffers[x.allocation.pointer])
    for _ in range(20):
        es.parallel_for(on(opencl, 1 << 16), axpy, 1.0, x, y)
    del x  # maybe still under way; the driver keeps the buffer until it is done
    gc.collect()
    assert owner() is None  # plans do not hold it
    fresh = buffer(opencl, 1 << 16, 7.0)
    assert (fetch(y) == 20).all()
    es.parallel_for(on(opencl, 1 << 16), axpy, 1.0, fresh, y)
    assert (fetch(y) == 27).all()


def test_host_memory_is_let_go(opencl):
    x = np.ones(64)
    array = weakref.ref(x)
    if opencl.found.is_cpu:
        es.parallel_for(on(opencl, 64), axpy, 1.0, x, x)
    del x
    gc.collect()
    assert array() is None


def test_launches_are_in_order_on_each_instance(opencl):
    first, second = opencl.instance(), opencl.instance()
    assert first.queue.handle.int_ptr != second.queue.handle.int_ptr != opencl.queue.handle.int_ptr
    assert first.memory is opencl.memory and first.name == opencl.name
    x = [buffer(opencl, 1000, 1.0) for _ in range(2)]
    y = [buffer(opencl, 1000) for _ in range(2)]
    es.fence()
    for n in range(30):
        for queue, a, b in zip((first, second), x, y, strict=True):
            es.parallel_for(on(queue, 1000), axpy, float(n), a, b)
            es.parallel_for(on(queue, 1000), axpy, 0.0, b, a)
    assert es.parallel_reduce(on(first, 1000), load, y[0]) == sum(range(30)) * 1000
    second.fence()
    assert (fetch(y[1]) == sum(range(30))).all()


def test_fences_wait_for_instances(opencl):
    """A queue that is held up by an event of the user: es.fence must come back after it."""
    queue = opencl.instance()
    x, y = buffer(opencl, 8, 1.0), buffer(opencl, 8)
    es.parallel_for(on(queue, 8), axpy, 1.0, x, y)
    es.fence()
    gate = cl.UserEvent(opencl.device.context)
    cl.enqueue_barrier(queue.queue.handle, wait_for=[gate])
    es.parallel_for(on(queue, 8), axpy, 1.0, x, y)  # returns: nothing has run yet
    done = threading.Event()
    waiter = threading.Thread(target=lambda: (opencl.fence(), done.set()))
    waiter.start()
    try:
        assert not done.wait(0.2)
    finally:
        gate.set_status(cl.command_execution_status.COMPLETE)
        waiter.join()
    assert (fetch(y) == 2).all()


def test_reductions_of_instances_have_scratch_memory_of_their_own(opencl, programs):
    queues = [opencl, opencl.instance(), opencl.instance()]
    x = [buffer(opencl, 5000, float(n + 1)) for n in range(3)]
    out = [es.View((), space=opencl, memory="device") for _ in queues]
    es.fence()
    for _ in range(10):
        for q, a, o in zip(queues, x, out, strict=True):
            es.parallel_reduce(on(q, 5000), load, a, out=o)
    es.fence()
    assert [float(fetch(o)) for o in out] == [5000.0, 10000.0, 15000.0]


def test_threads_launch_one_kernel_on_views_of_their_own(opencl):
    errors = []

    def work(seed):
        x, y = buffer(opencl, 500, float(seed)), buffer(opencl, 500)
        for n in range(20):
            es.parallel_for(on(opencl, 500), axpy, 1.0, x, y)
            if es.parallel_reduce(on(opencl, 500), load, y) != 500.0 * seed * (n + 1):
                errors.append((seed, n))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors


def test_assertions_name_the_index_and_keep_what_was_stored(opencl):
    there = buffer(opencl, 10, 1.0)
    es.parallel_for(on(opencl, 10), checked, there)
    es.deep_copy(there[7:8], 100.0)
    with pytest.raises(es.KernelAssertionError, match="too large"):
        es.parallel_for(on(opencl, 10), checked, there)
    assert fetch(there)[7] == 100.0
    if opencl.found.is_cpu:
        x = np.array([1.0, 100.0])
        with pytest.raises(es.KernelAssertionError, match="too large"):
            es.parallel_for(on(opencl, 2), checked, x)
        assert x[1] == 100.0


def test_kernels_print(opencl, capfd):
    @es.kernel
    def say(i, x):
        es.printf("item %d %d\n", i, x[i])

    es.parallel_for(on(opencl, 3), say, buffer(opencl, 3, 2, dtype=es.int32))
    assert sorted(capfd.readouterr().out.split("\n")) == ["", "item 0 2", "item 1 2", "item 2 2"]


def test_a_driver_that_fails_is_named_with_the_kernel(opencl, monkeypatch):
    x, y = buffer(opencl, 8, 1.0), buffer(opencl, 8)
    es.parallel_for(on(opencl, 8), axpy, 1.0, x, y)
    real = cl.enqueue_nd_range_kernel
    code = cl.status_code.INVALID_COMMAND_QUEUE

    def fail(*args):
        raise cl.RuntimeError(cl._cl._ErrorRecord("", code, "clEnqueueNDRangeKernel"))

    drive(monkeypatch, fail)
    for args in [(x, y), *([(np.ones(8), np.ones(8))] if opencl.found.is_cpu else [])]:
        with pytest.raises(es.SpaceError, match=r"Kernel 'axpy': the driver of device .* reports"):
            es.parallel_for(on(opencl, 8), axpy, 1.0, *args)
    code = cl.status_code.OUT_OF_RESOURCES
    with pytest.raises(MemoryError, match=r"Kernel 'axpy': device .* has not enough memory"):
        es.parallel_for(on(opencl, 8), axpy, 1.0, x, y)
    drive(monkeypatch, real)
    es.parallel_for(on(opencl, 8), axpy, 1.0, x, y)
    assert (fetch(y) == 2).all()


def test_large_local_arrays(opencl):
    @es.kernel
    def reverse(i, x):
        a = es.local(1024, es.float64)
        for k in range(1024):
            a[k] = x[k] * i
        x[1024 + i] = a[1023 - i]

    x = buffer(opencl, 2048)
    es.deep_copy(x[:1024], np.arange(1024.0))
    es.parallel_for(on(opencl, 1024), reverse, x)
    i = np.arange(1024)
    assert (fetch(x)[1024:] == (1023 - i) * i).all()


def test_the_mapping_of_gpus(flat_opencl, programs, monkeypatch):
    """All of the above in the other mapping; groups shrink to what a kernel can have."""
    monkeypatch.setattr(programming, "usage_of", lambda kernel, device: {"threads": 96})
    x, y = buffer(flat_opencl, 3001, 1.0), buffer(flat_opencl, 3001)
    es.parallel_for(on(flat_opencl, 3001), axpy, 3.0, x, y)
    assert (fetch(y) == 3).all()
    assert es.parallel_reduce(on(flat_opencl, 3001), load, y) == 9003.0
    assert "64" in programs[-1].code.source
    scanned = buffer(flat_opencl, 3001)

    def running(i, before, final, x, out):
        if final:
            out[i] = before
        return x[i]

    assert es.parallel_scan(on(flat_opencl, 3001), running, x, scanned) == 3001.0
    assert (fetch(scanned) == np.arange(3001)).all()


# -- programs that are precompiled ----------------------------------------------------------------


def test_launches_of_a_program_that_is_precompiled_compute_nothing(space, monkeypatch):
    """Ranges are empty, leagues too; this thread compiles."""
    from execspace.launch import prepare
    from execspace.launch.precompiling import Precompiler

    def fill(i, x):
        x[i] = 1.0

    def element(i, x):  # of this test, for its plans launch nothing
        return x[i]

    def team(t, x):
        x[t.league_rank] = 1.0

    def sums(i, before, final, x):
        if final:
            x[i] = before
        return 1

    x, total = buffer(space, 8, 3.0), buffer(space, (), 3.0)
    compiler = Precompiler(2)
    monkeypatch.setattr(prepare, "INSTEAD", None)  # which is put back at the end
    compiler.start()
    try:
        es.parallel_for(on(space, 8), fill, x)
        es.parallel_for(es.TeamPolicy(4, 2, space=space), team, x)
        assert es.parallel_reduce(on(space, 8), element, x) == 0.0
        assert es.parallel_reduce(on(space, 8), element, x, reducer=es.Min) == np.inf
        tiled = es.MDRangePolicy((4, 4), tile=(2, 2), space=space)
        assert es.parallel_reduce(tiled, lambda i, j: 1) == 0
        assert es.parallel_reduce(es.TeamPolicy(4, 2, space=space), lambda t: 1) == 0
        assert es.parallel_scan(on(space, 8), sums, x) == 0
        es.parallel_reduce(on(space, 8), element, x, out=total)
        es.fence()
    finally:
        compiler.finish()
        es.profiling.detach(compiler)
    assert fetch(x).tolist() == [3.0] * 8
    assert fetch(total) == 0.0
    assert len(compiler.compilations) == 8
    assert not any(c.error for c in compiler.compilations)

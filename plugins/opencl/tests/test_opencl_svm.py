"""Shared virtual memory: one address for host and device, used in turns without a copy."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

import execspace as es

cl = pytest.importorskip("pyopencl", reason="pyopencl is not installed")


def double(i, j, source, target):
    target[i, j] = 2 * source[i, j]


@pytest.fixture
def shared_space(opencl):
    """A device whose fine-grained shared memory the host may use."""
    if not any("shared" in m.kinds and m is not es.HOST for m in opencl.memory_spaces):
        pytest.skip(f"device {opencl.found} has no fine-grained shared virtual memory")
    return opencl


def shared(space, shape, **options):
    return es.View(shape, label="shared", space=space, memory="shared", **options)


def test_host_and_kernels_see_each_other_s_numbers(shared_space):
    a, b = shared(shared_space, (3, 4)), shared(shared_space, (3, 4), layout="left")
    assert not np.asarray(a).any()  # new Views are zero
    np.asarray(a)[...] = np.arange(12).reshape(3, 4)
    es.parallel_for(es.MDRangePolicy((3, 4), space=shared_space), double, a, b)
    es.fence()
    np.testing.assert_array_equal(np.asarray(b), 2 * np.arange(12).reshape(3, 4))
    assert a[2, 3] == 11


def test_parts_and_results(shared_space):
    a, total = shared(shared_space, (3, 4)), shared(shared_space, ())
    es.deep_copy(a, 1.0)
    rows = es.MDRangePolicy((2, 4), space=shared_space)
    es.parallel_for(rows, double, a[1:, :], a[1:, :])
    everything = es.MDRangePolicy((3, 4), space=shared_space)
    es.parallel_reduce(everything, lambda i, j: a[i, j], out=total)
    es.fence()
    assert total[()] == 4 + 2 * 8


def test_copies_to_and_from_every_other_memory(shared_space):
    values = np.arange(12.0).reshape(3, 4)
    a, b = shared(shared_space, (3, 4), layout="left"), shared(shared_space, (3, 4), dtype="f4")
    buffer, host = es.View((3, 4), space=shared_space, memory="device"), np.zeros((3, 4))
    es.deep_copy(a, values)
    es.deep_copy(buffer, a)
    es.deep_copy(b, buffer)
    es.deep_copy(host, b)
    np.testing.assert_array_equal(host, values)


@pytest.mark.parametrize("way", ["by the calling thread", "through a buffer"])
def test_copies_on_an_instance_come_after_its_kernels(shared_space, way):
    """A queue that is held up by an event of the user: the host must not read before."""
    queue = shared_space.instance()
    a, found = shared(shared_space, (3, 4)), np.zeros((3, 4))
    es.deep_copy(a, 1.0)
    gate = cl.UserEvent(shared_space.device.context)
    cl.enqueue_barrier(queue.queue.handle, wait_for=[gate])
    es.parallel_for(es.MDRangePolicy((3, 4), space=queue), double, a, a)
    opener = threading.Timer(0.2, gate.set_status, [cl.command_execution_status.COMPLETE])
    opener.start()
    if way == "through a buffer":
        buffer = es.View((3, 4), "f4", space=shared_space, memory="device")
        es.deep_copy(buffer, a, instance=queue)  # which converts
        queue.fence()
        es.deep_copy(found, buffer)
    else:
        es.deep_copy(found, a, instance=queue)
    opener.join()
    assert (found == 2).all()


def test_kernels_of_host_spaces_reach_it(shared_space):
    a = shared(shared_space, (3, 4))
    es.deep_copy(a, 1.0)
    es.parallel_for(es.MDRangePolicy((3, 4), space="serial"), double, a, a)
    assert (np.asarray(a) == 2).all()


def test_arrays_keep_the_memory(shared_space):
    array = np.asarray(shared(shared_space, (3, 4)))
    gc.collect()
    array[...] = 5  # the View is gone
    assert array.sum() == 60


def test_memory_is_freed_after_the_work_of_all_instances(shared_space):
    """A View that is dropped meanwhile is not handed out again, nor written by what comes late."""

    def settle(i, x):
        s = x[i]
        for _ in range(20_000):
            s = s * 0.5 + 0.5
        x[i] = s

    instance, n = shared_space.instance(), 3000
    for _ in range(3):
        x = shared(shared_space, n)
        es.parallel_for(es.RangePolicy(n, space=instance), settle, x)
        del x
        later = [shared(shared_space, n) for _ in range(4)]
        for view in later:
            np.asarray(view)[:] = 7.0
        instance.fence()
        assert all((np.asarray(view) == 7.0).all() for view in later)

"""Several GPUs: Views and launches on each, copies between them, and the current device."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged

N = 1000

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of the libraries
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


@es.kernel
def add(i, x, a):
    x[i] += a


@es.kernel
def axpy(i, a, x, y):
    y[i] += a * x[i]


@es.kernel
def element(i, x):
    return x[i]


@es.kernel
def late_add(i, x, start, rounds):
    value = start
    for _ in range(rounds):
        value = 0.5 * value + 1.0  # stays 2
    x[i] += value


def on(space, n=N):
    return es.RangePolicy(n, space=space)


# -- names, with one GPU too --------------------------------------------------------------------


def test_the_first_gpu_has_two_names(cuda):
    assert es.space("cuda:0") is cuda
    assert cuda.name == "cuda"
    assert cuda.memory_space.name == "cuda"


def test_gpus_that_are_not_there(cuda, cupy):
    count = cupy.cuda.runtime.getDeviceCount()
    for name in (str(count), "99", "x", "-1", "0.0"):
        with pytest.raises(es.SpaceError, match=rf"no device '{name}'; there are 0 \(.+\)"):
            es.space(f"cuda:{name}")
    assert next(s for s in es.spaces() if s.name == "cuda").usable


# -- two GPUs -----------------------------------------------------------------------------------


def test_views_and_launches_on_each(cuda, second_cuda):
    assert second_cuda.name == "cuda:1"
    for k, space in enumerate((cuda, second_cuda)):
        x = es.View(N, label="x", space=space)
        assert x.memory_space.name == space.name
        assert x.__dlpack_device__() == (2, k)
        es.parallel_for(on(space), add, x, 1.0 + k)
        assert es.parallel_reduce(on(space), element, x) == N * (1.0 + k)
        es.sort(x)
        assert (staged.fetch(x) == 1.0 + k).all()
        for kind in ("pinned", "shared"):
            y = es.View(N, space=space, memory=kind)
            es.parallel_for(on(space), add, y, 3.0)
            space.fence()
            assert (np.asarray(y) == 3.0).all()
        with pytest.raises(es.KernelAssertionError):
            es.parallel_for(on(space), refuse, x)


@es.kernel
def refuse(i, x):
    assert x[i] < 0.0


def test_a_launch_takes_views_of_one_gpu(cuda, second_cuda):
    x, y = es.View(N, label="here", space=cuda), es.View(N, label="there", space=second_cuda)
    with pytest.raises(es.SpaceAccessError, match="'there', is in memory space 'cuda:1', which "
                                                  "space 'cuda' cannot reach"):  # fmt: skip
        es.parallel_for(on(cuda), axpy, 1.0, x, y)
    with pytest.raises(es.SpaceAccessError, match="'here', is in memory space 'cuda', which "
                                                  "space 'cuda:1' cannot reach"):  # fmt: skip
        es.parallel_for(on(second_cuda), axpy, 1.0, x, y)
    with pytest.raises(es.SpaceAccessError):
        es.parallel_for(N, axpy, 1.0, x, y)  # on no space at all


def test_views_choose_their_gpu_if_nobody_names_a_space(cuda, second_cuda):
    x = es.View(N, space=second_cuda)
    es.parallel_for(N, add, x, 2.0)
    assert es.parallel_reduce(N, lambda i: x[i]) == 2.0 * N


@pytest.mark.parametrize("target", ["device", "shared", "pinned"])
@pytest.mark.parametrize("source", ["device", "shared", "pinned"])
def test_copies_from_one_gpu_to_the_other(cuda, second_cuda, source, target):
    """As a block, to another layout and dtype, parts backwards; either way; and in order."""
    values = np.arange(60.0).reshape(5, 12)
    for one, other in ((cuda, second_cuda), (second_cuda, cuda)):
        a = es.View((5, 12), layout="right", space=one, memory=source)
        es.deep_copy(a, values)
        for instance in (None, one.instance(), other.instance()):
            for layout, dtype in (("right", "f8"), ("left", "f8"), ("right", "c16")):
                b = es.View((5, 12), dtype, layout=layout, space=other, memory=target)
                es.fence()
                es.deep_copy(b, a, instance=instance)
                es.fence()
                np.testing.assert_array_equal(staged.fetch(b), values)
            b = es.View((5, 12), space=other, memory=target)
            es.fence()
            es.deep_copy(b[::-1, :4], a[:, ::-3], instance=instance)
            es.fence()
            np.testing.assert_array_equal(staged.fetch(b[::-1, :4]), values[:, ::-3])
            assert not staged.fetch(b[:, 4:]).any()


def test_copies_wait_for_what_both_gpus_do(cuda, second_cuda):
    x, y = es.View(N, space=cuda), es.View(N, space=second_cuda)
    for _ in range(2):
        es.deep_copy(x, 0.0)
        es.deep_copy(y, 0.0)
        es.parallel_for(on(cuda), late_add, x, 2.0, 5_000_000)
        es.parallel_for(on(second_cuda), late_add, y, 2.0, 5_000_000)
        es.deep_copy(y, x)
        es.parallel_for(on(second_cuda), add, y, 1.0)
        assert (staged.fetch(y) == 3.0).all()
    assert (staged.fetch(x) == 2.0).all()


def test_the_current_device_of_the_thread_stays(cuda, second_cuda, cupy):
    runtime = cupy.cuda.runtime
    before = runtime.getDevice()
    try:
        for current in (1, 0):
            runtime.setDevice(current)
            for space in (cuda, second_cuda, second_cuda.instance()):
                x = es.View(N, space=space)
                pinned = es.View(N, space=space, memory="pinned")
                shared = es.View(N, space=space, memory="shared")
                for y in (x, pinned, shared):
                    es.parallel_for(on(space), add, y, 1.0)
                    assert es.parallel_reduce(on(space), element, y) == N
                    es.deep_copy(np.zeros(N), y)
                    es.deep_copy(y, 2.0, instance=space)
                    es.sort(y, space=space)
                with pytest.raises(es.KernelAssertionError):
                    es.parallel_for(on(space), refuse, x)
                made = space.instance()
                es.parallel_for(on(made), lambda i, x: add(i, x, 1.0), x)
                made.fence()
                array = cupy.asarray(np.ones(3)) if current == space.number else None
                if array is not None:
                    es.parallel_for(on(space, 3), add, array, 1.0)
                capsule = x.__dlpack__()
                del x, y, pinned, shared, capsule, made
                es.fence()
                assert runtime.getDevice() == current, space
            a, b = es.View(N, space=cuda), es.View(N, es.float32, space=second_cuda)
            es.deep_copy(a, b)
            assert runtime.getDevice() == current
            with pytest.raises(MemoryError):
                es.View(10 * 2**40, es.int8, space=second_cuda)
            assert runtime.getDevice() == current
    finally:
        runtime.setDevice(before)


def test_pinned_memory_of_the_second_gpu_is_not_freed_too_early(second_cuda, delay):
    """Its default stream is waited for, not that of the thread's current device."""
    with second_cuda.current():
        delay(None)  # loads it there
        old = es.View(N, space=second_cuda, memory="pinned")
        delay(old, 5.0)
    del old  # the first device is current again
    new = [es.View(N, space=second_cuda, memory="pinned") for _ in range(5)]
    for x in new:
        np.asarray(x)[...] = 1.0
    es.fence()
    for x in new:
        assert (np.asarray(x) == 1.0).all()


def test_an_instance_of_the_second_gpu(cuda, second_cuda, delay):
    queue = second_cuda.instance()
    x, y = es.View(N, space=queue), es.View(N, space=second_cuda)
    es.parallel_for(on(queue), add, x, 1.0)
    es.parallel_for(on(queue), axpy, 2.0, x, y)
    queue.fence()
    with second_cuda.current():
        delay.on(queue, x, 10.0)
    for _ in range(70):
        es.parallel_for(on(queue), axpy, 1.0, x, y)
    found = np.zeros(N)
    es.deep_copy(found, y, instance=queue)
    queue.fence()
    assert (found == 702.0).all()
    assert es.parallel_reduce(on(queue), element, y) == 702.0 * N


# -- arrays of other libraries ------------------------------------------------------------------


def test_launches_and_graphs_go_on_while_another_gpu_is_current(second_cuda):
    """So many that the queue looks what it needs no longer keep."""
    for space in (second_cuda, second_cuda.instance()):
        x = es.zeros(N, space=second_cuda)
        second_cuda.fence()
        with es.Graph(space) as graph:
            es.parallel_for(on(space), add, x, 1.0)
        for _ in range(300):
            graph.submit()
            es.parallel_for(on(space), add, x, 1.0)
        space.fence()
        assert (staged.fetch(x) == 600.0).all()


def test_tensors_of_the_second_gpu(second_cuda, torch):
    x = torch.ones(N, dtype=torch.float64, device="cuda:1")
    view = es.view_of(x)
    assert view.space is second_cuda
    assert view.data_ptr == x.data_ptr()
    es.parallel_for(N, add, x, 1.0)
    assert es.parallel_reduce(N, lambda i: x[i]) == 2.0 * N
    with pytest.raises(es.SpaceAccessError):
        es.parallel_for(on("cuda"), add, x, 1.0)
    made = torch.from_dlpack(es.View(N, space=second_cuda))
    assert made.device == torch.device("cuda:1")


def test_streams_of_the_second_gpu(second_cuda, torch):
    def zeros():
        return torch.zeros(N, dtype=torch.float64, device="cuda:1")

    es.parallel_for(on(second_cuda), late_add, zeros(), 2.0, 5_000_000)
    x = zeros()
    torch.cuda.synchronize(1)
    with torch.cuda.device(1), torch.cuda.stream(torch.cuda.Stream(1)):
        torch.cuda._sleep(100_000_000)
        x.fill_(1.0)
        es.parallel_for(on(second_cuda), late_add, x, 2.0, 5_000_000)
        assert (x.cpu() == 3.0).all()


def test_copies_between_a_view_and_a_tensor_on_another_gpu(cuda, second_cuda, torch):
    """The tensor's stream is one of the other device."""
    view, x = es.View(N, space=cuda), torch.zeros(N, dtype=torch.float64, device="cuda:1")
    for instance in (None, cuda):
        with torch.cuda.device(1), torch.cuda.stream(torch.cuda.Stream(1)):
            torch.cuda._sleep(100_000_000)
            x.fill_(1.0)
            es.deep_copy(view, x, instance=instance)
            es.fence()
            assert (staged.fetch(view) == 1.0).all()
            es.deep_copy(view, 4.0)
            torch.cuda._sleep(100_000_000)
            x.fill_(1.0)
            es.deep_copy(x, view, instance=instance)
            assert (x.cpu() == 4.0).all()

"""Streams: launches and copies on arrays of other libraries come in the order that they stand in.

Each test puts a delay of some 50 ms on a stream that waits for no other one, so that what does not
wait for it comes too early and finds, or leaves, another number. Kernels are compiled before that.
"""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of the libraries
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

N = 100
ROUNDS = 5_000_000  # of two or three nanoseconds


@es.kernel
def late_add(i, x, start, rounds):
    """Adds 2, some milliseconds after it began."""
    value = start
    for _ in range(rounds):
        value = 0.5 * value + 1.0
    x[i] += value


@es.kernel
def element(i, x):
    return x[i]


def on(queue, n=N):
    return es.RangePolicy(n, space=queue)


def add_two(queue, x):
    es.parallel_for(on(queue), late_add, x, 2.0, ROUNDS)


class OnlyDLPack:
    """An array of a library that has DLPack and nothing else."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class OldInterface:
    """An array whose `__cuda_array_interface__` is of the time before streams."""

    def __init__(self, array):
        self.array = array

    @property
    def __cuda_array_interface__(self):
        names = ("shape", "typestr", "data", "strides")
        given = self.array.__cuda_array_interface__
        return {name: given.get(name) for name in names} | {"version": 2}


def as_is(array):
    return array


@pytest.fixture
def side(cupy):
    """A stream of CuPy's that waits for no other one."""
    return cupy.cuda.Stream(non_blocking=True)


@pytest.mark.parametrize("form", [as_is, OldInterface])
def test_launches_wait_for_cupys_stream_and_it_for_them(queue, cupy, side, delay, form):
    """`OldInterface` does not say which stream: the launch blocks."""
    add_two(queue, form(cupy.zeros(N)))  # compiles
    x = cupy.zeros(N)
    es.fence()
    with side:
        delay(x, 1.0)  # writes 1 at its end
        add_two(queue, form(x))
        assert (x.get() == 3.0).all()


@pytest.mark.parametrize("form", [as_is, OnlyDLPack, OldInterface])
def test_launches_wait_for_pytorchs_stream_and_it_for_them(queue, torch, form):
    add_two(queue, form(torch.zeros(N, dtype=torch.float64, device="cuda")))
    x = torch.zeros(N, dtype=torch.float64, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(100_000_000)
        x.fill_(1.0)
        add_two(queue, form(x))
        assert (x.cpu() == 3.0).all()


def test_a_view_made_before_takes_the_stream_of_each_launch(queue, torch):
    x = torch.zeros(N, dtype=torch.float64, device="cuda")
    for form in (as_is, OnlyDLPack):
        view = es.view_of(form(x))
        add_two(queue, view)
        torch.cuda.synchronize()
        es.fence()
        with torch.cuda.stream(torch.cuda.Stream()):
            torch.cuda._sleep(100_000_000)
            x.fill_(1.0)
            add_two(queue, view)
            assert (x.cpu() == 3.0).all(), form.__name__


def test_reductions_wait_for_the_arrays_stream(queue, cupy, side, delay):
    x, total = cupy.zeros(N), cupy.zeros(())
    assert es.parallel_reduce(on(queue), element, x) == 0.0
    es.parallel_reduce(on(queue), element, x, out=es.view_of(total))
    es.fence()
    with side:
        delay(x, 1.0)
        assert es.parallel_reduce(on(queue), element, x) == N
        delay(x, 2.0)
        es.parallel_reduce(on(queue), element, x, out=es.view_of(total))
        assert total.get() == 2 * N
        delay(x, 3.0)
        total.fill(7.0)  # in order: after what was written before, and before what comes
        assert es.parallel_reduce(on(queue), element, x) == 3 * N
        assert total.get() == 7.0


def test_two_arrays_on_streams_of_two_libraries(queue, cupy, torch, side, delay):
    @es.kernel
    def add_to(i, x, y):
        y[i] += x[i]

    x, y = cupy.zeros(N), torch.zeros(N, dtype=torch.float64, device="cuda")
    es.parallel_for(on(queue), add_to, x, y)
    es.fence()
    with side, torch.cuda.stream(torch.cuda.Stream()):
        delay(x, 1.0)
        torch.cuda._sleep(50_000_000)
        y.fill_(2.0)
        es.parallel_for(on(queue), add_to, x, y)
        delay(x, 100.0, 0)  # not before the launch has read it
        assert (y.cpu() == 3.0).all()


@pytest.mark.parametrize("form", [as_is, OnlyDLPack])
def test_copies_wait_for_pytorchs_stream_and_it_for_them(queue, torch, form):
    """To a View, from a View, with another layout, to the host, and a number."""
    x = torch.zeros((N, 2), dtype=torch.float64, device="cuda")
    view, other = es.View((N, 2), layout="right", space=queue), es.View((N, 2), space=queue)
    host = np.zeros((N, 2))
    for target in (view, other, host):
        es.deep_copy(target, form(x), instance=queue)
    es.deep_copy(form(x), other, instance=queue)
    es.fence()
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        for value, target in enumerate((view, other, host), 1):
            torch.cuda._sleep(50_000_000)
            x.fill_(value)
            es.deep_copy(target, form(x), instance=queue)
            x.fill_(-1.0)  # not before the copy has read it
            queue.fence()
            found = np.zeros((N, 2))
            es.deep_copy(found, target)
            assert (found == value).all(), value
        torch.cuda._sleep(50_000_000)
        x.fill_(-1.0)
        es.deep_copy(form(x), other, instance=queue)
        assert (x.cpu() == 2.0).all()
        torch.cuda._sleep(50_000_000)
        x.fill_(-1.0)
        es.deep_copy(form(x), 9.0, instance=queue)
        assert (x.cpu() == 9.0).all()


def test_copies_without_an_instance_wait_for_the_arrays_stream(cuda, cupy, side, delay):
    x, view = cupy.zeros(N), es.View(N, space=cuda)
    with side:
        delay(x, 1.0)
        es.deep_copy(view, x)
        delay(x, 2.0)
        found = np.zeros(N)
        es.deep_copy(found, x)
    assert (found == 2.0).all()
    es.deep_copy(found, view)
    assert (found == 1.0).all()


def test_sorting_waits_for_the_arrays_stream(queue, cupy, side, delay):
    x = cupy.asarray(np.arange(float(N))[::-1].copy())
    view = es.view_of(x)
    es.sort(view, space=queue)
    es.fence()
    with side:
        delay(x[: N // 2], 1000.0)
        es.sort(view, space=queue)
        found = x.get()
    assert found.tolist() == [*range(N // 2, N), *[1000.0] * (N // 2)]


def test_views_in_cupy_are_in_order_with_the_default_stream(cuda, cupy):
    """Both work on the legacy default stream, so no fence is needed between them."""
    view = es.View(N, space=cuda)
    array = cupy.asarray(view)
    add_two(cuda, view)
    es.fence()
    add_two(cuda, view)
    array *= 10.0
    add_two(cuda, view)
    assert (array.get() == 42.0).all()


def test_views_taken_by_dlpack_are_ready_on_the_takers_stream(cuda, torch):
    view = es.View(N, space=cuda)
    add_two(cuda, view)
    es.fence()
    with torch.cuda.stream(torch.cuda.Stream()):
        add_two(cuda, view)
        assert (torch.from_dlpack(view).cpu() == 4.0).all()


def test_arrays_that_are_dropped_at_once(queue, cupy, side, delay):
    """Their memory goes to nobody else before the launch is done with it."""
    total = es.View(N, space=queue)

    @es.kernel
    def add_late(i, total, x, start, rounds):
        value = start
        for _ in range(rounds):
            value = 0.5 * value + 1.0
        total[i] += x[i] * (value - 1.0)

    es.parallel_for(on(queue), add_late, total, cupy.zeros(N), 2.0, 1)
    es.fence()
    with side:
        for k in range(1, 6):
            x = cupy.empty(N)
            delay(x, float(k), 5)
            es.parallel_for(on(queue), add_late, total, x, 2.0, ROUNDS)
            del x
            other = cupy.empty(N)
            delay(other, -100.0, 0)
            del other
    found = np.zeros(N)
    es.deep_copy(found, total)
    assert (found == 15.0).all()


# -- waits that the program asks for --------------------------------------------------------------


def test_a_space_waits_for_a_stream_of_cupy(cupy, cuda):
    """CuPy writes on a stream of its own, late; an instance reads that without a fence."""
    queue, stream = cuda.instance(), cupy.cuda.Stream(non_blocking=True)
    x, total = es.View(N, space=cuda), es.View((), space=cuda)
    es.parallel_reduce(on(queue), element, x, out=total)
    other = es.View(N, space=cuda)
    late = cuda.instance()
    add_two(late, other)
    cuda.fence()
    for _ in range(3):
        add_two(late, other)
        late.order_before(stream)
        with stream:
            cupy.asarray(x)[...] = 3.0
        queue.wait_for(stream)
        es.parallel_reduce(on(queue), element, x, out=total)
        event = queue.record()
        assert not event.done
        event.wait()
        assert total.item() == 3 * N
        es.deep_copy(x, 0.0)


def test_a_stream_of_cupy_waits_for_a_space(cupy, cuda):
    queue, stream = cuda.instance(), cupy.cuda.Stream(non_blocking=True)
    x = es.View(N, space=cuda)
    add_two(queue, x)
    cuda.fence()
    es.deep_copy(x, 0.0)
    array = cupy.asarray(x)
    add_two(queue, x)
    queue.order_before(stream)
    with stream:
        found = array.sum()
    stream.synchronize()
    assert float(found) == 2 * N


def test_instances_wait_for_each_other_on_the_device(cuda):
    first, second = cuda.instance(), cuda.instance()
    x, y = es.View(N, space=cuda), es.View(N, space=cuda)

    @es.kernel
    def taken(i, x, y):
        y[i] = x[i]

    add_two(first, x)
    es.parallel_for(on(second), taken, x, y)
    cuda.fence()
    es.deep_copy(x, 0.0)
    add_two(first, x)
    event = first.record()
    second.wait_for(event)
    es.parallel_for(on(second), taken, x, y)
    assert not event.done  # the host has not waited
    second.fence()
    assert event.done
    assert set(y.to_numpy().tolist()) == {2.0}

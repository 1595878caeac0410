"""Independent queues of a space: order within each, waiting for them, lifetimes, and threads.

A space that runs everything in order gives itself as its only instance. Most of this then holds
by itself, but it must hold.
"""

from __future__ import annotations

import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import fitting
from execspace_testing.staged import seen_from_outside

N = 50


@es.kernel
def grind(i, x, rounds):
    """Takes its time; ends at 2 exactly, wherever it began."""
    for _ in range(rounds):
        x[i] = 0.5 * x[i] + 1.0


@es.kernel
def step(i, x, factor, shift):
    x[i] = factor * x[i] + shift


@es.kernel
def add(i, total, part, rounds):
    for _ in range(rounds):
        total[i] += part[i]


def on(queue, n=N):
    return es.RangePolicy(n, space=queue)


def keep_busy(queue, x):
    """A long launch and many short ones, for some milliseconds; `x` is `BUSY` when they are done.

    They show who does not wait. Where a launch keeps Python from running, only the many do.
    """
    es.parallel_for(on(queue), grind, x, fitting(queue, 100_000, 100))
    for _ in range(40):
        es.parallel_for(on(queue), step, x, 1.0, 1.0)


BUSY = 42.0


def test_an_instance_runs_kernels_on_the_memory_of_the_space(space):
    queue = space.instance()
    assert isinstance(queue, es.ExecutionSpace)
    assert type(queue) is type(space)
    assert queue.capabilities == space.capabilities
    assert queue.default_layout == space.default_layout
    x = es.View(N, label="x", space=space)
    assert x.memory_space.reachable_from(queue)
    assert es.View(N, space=queue).memory_space is x.memory_space
    es.parallel_for(on(queue), step, x, 1.0, 3.0)
    queue.fence()
    assert (staged.fetch(x) == 3).all()


def test_an_instance_is_the_default_space_where_it_is_used(space):
    x = es.View(N, space=space)
    with es.use_space(space.instance()) as queue:
        es.parallel_for(N, step, x, 1.0, 3.0)
        assert es.parallel_reduce(N, lambda i: x[i]) == 3 * N
    assert (seen_from_outside(space, x) == 3).all(), queue


def test_launches_on_an_instance_are_in_order(space):
    queue, x = space.instance(), es.View(N, space=space)
    keep_busy(queue, x)
    expected = BUSY
    for k in range(30):
        es.parallel_for(on(queue), step, x, -0.5, k)
        expected = -0.5 * expected + k
    queue.fence()
    assert (seen_from_outside(space, x) == expected).all()


def test_copies_with_an_instance_are_in_order(space):
    """Fill, launch, copy within the space, launch, copy to the host: a fence only at the end."""
    queue = space.instance()
    x, y, host = es.View(N, space=space), es.View((N, 3), space=space), np.zeros(N)
    start = np.arange(float(N))
    keep_busy(queue, x)  # whose result the next copy replaces
    es.deep_copy(x, start, instance=queue)
    es.parallel_for(on(queue), step, x, 2.0, 1.0)
    es.deep_copy(y, -1.0, instance=queue)
    es.deep_copy(y[:, 1], x, instance=queue)
    es.parallel_for(on(queue), step, y[:, 1], 1.0, 100.0)
    es.deep_copy(host, y[:, 1], instance=queue)
    es.deep_copy(x, 0.0, instance=queue)
    queue.fence()
    np.testing.assert_array_equal(host, 2 * start + 101)
    assert not seen_from_outside(space, x).any()
    assert (seen_from_outside(space, y)[:, [0, 2]] == -1).all()


@pytest.mark.parametrize("fence", ["of the space", "of all spaces", "deep_copy"])
def test_a_fence_waits_for_all_instances(space, fence):
    queues = [space, space.instance(), space.instance()]
    views = [es.View(N, space=space) for _ in queues]
    for queue, x in zip(queues, views, strict=True):
        keep_busy(queue, x)
    if fence == "of the space":
        space.fence()
    elif fence == "of all spaces":
        es.fence()
    else:  # without an instance it waits for everything
        es.deep_copy(es.View(1, space=space), 1.0)
    for x in views:
        assert (seen_from_outside(space, x) == BUSY).all()


def test_instances_work_side_by_side(space):
    first, second = space.instance(), space.instance()
    x, y = es.View(N, space=space), es.View(N, space=space)
    a = b = 0.0
    for k in range(20):
        es.parallel_for(on(first), step, x, 2.0, k)
        es.parallel_for(on(second), step, y, -1.0, k)
        a, b = 2 * a + k, -b + k
    first.fence()
    assert (seen_from_outside(space, x) == a).all()
    second.fence()
    assert (seen_from_outside(space, y) == b).all()


def test_a_fence_between_instances_orders_them(space):
    first, second = space.instance(), space.instance()
    x = es.View(N, space=space)
    expected = BUSY
    keep_busy(first, x)
    for k in range(6):
        (first, second)[k % 2].fence()
        es.parallel_for(on((second, first)[k % 2]), step, x, 3.0, k)
        expected = 3 * expected + k
    space.fence()
    assert (seen_from_outside(space, x) == expected).all()


# -- results ------------------------------------------------------------------------------------


def test_reductions_on_an_instance_see_what_it_did_before(space):
    queue, x = space.instance(), es.View(N, space=space)

    def term(i, x):
        return x[i]

    assert es.parallel_reduce(on(queue), term, x) == 0  # compiled, so that the next is at once
    keep_busy(queue, x)
    assert es.parallel_reduce(on(queue), term, x) == BUSY * N  # blocks: it is a number
    total = es.View((), space=space)
    es.parallel_for(on(queue), step, x, 0.0, 3.0)
    es.parallel_reduce(on(queue), term, x, out=total)  # does not
    es.parallel_for(on(queue), step, x, 0.0, -1.0)
    found = np.zeros(())
    es.deep_copy(found, total, instance=queue)
    queue.fence()
    assert found == 3 * N


def test_scans_on_an_instance_see_what_it_did_before(space):
    queue, x, y = space.instance(), es.View(N, space=space), es.View(N, space=space)

    def running(i, prefix, final, x, y):
        if final:
            y[i] = prefix
        return x[i]

    assert es.parallel_scan(on(queue), running, x, y) == 0
    keep_busy(queue, x)
    assert es.parallel_scan(on(queue), running, x, y) == BUSY * N
    queue.fence()
    np.testing.assert_array_equal(seen_from_outside(space, y), BUSY * np.arange(N))


def test_a_failed_assertion_is_raised_at_the_fence_at_the_latest(space):
    queue, x = space.instance(), es.View(N, space=space)

    def checked(i, x, least):
        assert i >= least, "too small"
        x[i] = 1.0

    def launch_and_wait(least):
        es.parallel_for(on(queue), checked, x, least)
        queue.fence()

    with pytest.raises(es.KernelAssertionError, match="too small"):
        launch_and_wait(1)
    launch_and_wait(0)  # the queue is none the worse for it
    assert (seen_from_outside(space, x) == 1).all()


# -- lifetimes ----------------------------------------------------------------------------------


def test_views_dropped_while_their_launch_is_under_way_stay_alive(space):
    """Their memory must not go to somebody else before the launch has read it."""
    queue, total = space.instance(), es.View(N, space=space)
    rounds = fitting(space, 2_000, 10)
    for k in range(1, 9):
        part = es.View(N, label="dropped", space=space)
        es.deep_copy(part, k, instance=queue)
        es.parallel_for(on(queue), add, total, part, rounds)
        del part
        other = es.View(N, label="dropped", space=space, initialize=False)
        es.deep_copy(other, -1e6, instance=space.instance())
        del other
    space.fence()
    gc.collect()
    assert (seen_from_outside(space, total) == 36 * rounds).all()
    assert "dropped" not in [label for _, _, label in es.live_allocations()]


def test_captured_views_and_results_may_be_dropped_too(space):
    queue, kept = space.instance(), es.View((), space=space)

    def launch(value):
        x, out = es.View(N, label="dropped", space=space), es.View((), space=space)
        es.deep_copy(x, value, instance=queue)
        es.parallel_reduce(on(queue), lambda i: x[i] * 2, out=out)
        es.deep_copy(kept, out, instance=queue)

    for value in (1.0, 5.0):
        launch(value)
        queue.fence()
        assert seen_from_outside(space, kept) == 2 * N * value


def test_an_instance_may_be_dropped_while_it_works(space):
    x = es.View(N, space=space)
    keep_busy(space.instance(), x)
    gc.collect()
    space.fence()
    assert (seen_from_outside(space, x) == BUSY).all()


# -- threads of Python --------------------------------------------------------------------------


def all_at_once(count, work):
    """Results of ``work(0)``, ``work(1)``, ..., each in a thread; they begin together."""
    gate = threading.Barrier(count)

    def run(k):
        gate.wait(timeout=60)
        return work(k)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def test_threads_launch_on_one_space_at_the_same_time(space):
    """The first of them compile at the same time, too."""

    @es.kernel
    def shifted(i, x, k):
        x[i] += k

    def work(k):
        x = es.View(N, space=space)
        for _ in range(20):
            es.parallel_for(on(space), shifted, x, k)
        found = [es.parallel_reduce(on(space), total_of, x) for _ in range(5)]
        return set(found), staged.fetch(x).tolist()

    for k, (totals, values) in enumerate(all_at_once(4, work)):
        assert totals == {20 * k * N}
        assert values == [20 * k] * N


def total_of(i, x):
    return x[i]


def test_threads_with_a_queue_each(space):
    def work(k):
        queue, x = space.instance(), es.View(N, space=space)
        es.deep_copy(x, float(k), instance=queue)
        for _ in range(10):
            es.parallel_for(on(queue), step, x, -1.0, 1.0)
        return es.parallel_reduce(on(queue), total_of, x)

    assert all_at_once(3, work) == [0.0, N, 2 * N]


def test_threads_allocate_copy_and_free_at_the_same_time(space):
    values = np.arange(200.0)

    def work(k):
        for _ in range(20):
            x, y = (es.View(200, label="of a thread", space=space) for _ in range(2))
            es.deep_copy(x, values + k)
            es.deep_copy(y, x)
            if not np.array_equal(staged.fetch(y), values + k):
                return False
        return True

    assert all_at_once(4, work) == [True] * 4
    assert "of a thread" not in [label for _, _, label in es.live_allocations()]

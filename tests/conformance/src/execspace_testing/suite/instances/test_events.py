"""Events, and waits of a space or instance for another one, without a fence between them.

Spaces that do everything in order pass by themselves; what is said here must hold all the same.
"""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import fitting
from execspace_testing.staged import seen_from_outside

N = 200


@es.kernel
def grind(i, x, rounds):
    """Takes its time; ends at 2 exactly, wherever it began."""
    for _ in range(rounds):
        x[i] = 0.5 * x[i] + 1.0


@es.kernel
def moved(i, x, y, shift):
    y[i] = x[i] + shift


def on(queue, n=N):
    return es.RangePolicy(n, space=queue)


def rounds_of(space):
    return fitting(space, 20_000, 60)


# -- events ---------


def test_an_event_is_done_when_somebody_has_waited(space):
    queue, x = space.instance(), es.View(N, space=space)
    es.parallel_for(on(queue), grind, x, rounds_of(space))
    event = queue.record()
    assert isinstance(event, es.Event)
    assert event.space is queue
    assert event.wait() is None
    assert event.done is True
    assert (seen_from_outside(space, x) == 2).all()
    event.wait()  # again, at once


def test_an_event_without_work_is_done_or_soon(space):
    event = space.instance().record()
    event.wait("nothing")
    assert event.done


def test_an_event_that_is_asked_becomes_done(space):
    if not isinstance(space, es.SupportsEvents) and space.capabilities.asynchronous:
        pytest.skip(f"space '{space.name}' cannot tell without waiting")
    queue, x = space.instance(), es.View(N, space=space)
    es.parallel_for(on(queue), grind, x, rounds_of(space))
    event = queue.record()
    until = time.monotonic() + 60
    while not event.done:
        assert time.monotonic() < until
        time.sleep(0.001)
    assert (seen_from_outside(space, x) == 2).all()


def test_a_fence_makes_events_done(space):
    queue, x = space.instance(), es.View(N, space=space)
    es.parallel_for(on(queue), grind, x, rounds_of(space))
    event = queue.record()
    queue.fence()
    if isinstance(space, es.SupportsEvents):
        assert event.done
    event.wait()
    assert event.done


def test_an_event_does_not_stand_for_what_comes_later(space):
    """Its work is done long before that; whoever waits for it sees that work at least."""
    queue = space.instance()
    x, y = es.View(N, space=space), es.View(N, space=space)
    es.parallel_for(on(queue), moved, x, x, 5.0)
    event = queue.record()
    es.parallel_for(on(queue), grind, y, rounds_of(space))
    event.wait()
    assert (seen_from_outside(space, x) == 5).all()
    queue.fence()
    assert (seen_from_outside(space, y) == 2).all()


def test_threads_wait_for_one_event(space):
    queue, x = space.instance(), es.View(N, space=space)
    es.parallel_for(on(queue), grind, x, rounds_of(space))
    event = queue.record()
    gate = threading.Barrier(4)

    def wait(_):
        gate.wait(timeout=60)
        event.wait()
        return event.done

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(wait, range(4))) == [True] * 4
    assert (seen_from_outside(space, x) == 2).all()


def test_tools_are_told_that_the_host_waits(space):
    if not isinstance(space, es.SupportsEvents):
        pytest.skip(f"space '{space.name}' has nothing to wait for, or fences")

    class Fences(es.profiling.Tool):
        def __init__(self):
            self.found = []

        def on_fence_begin(self, space, label):
            self.found.append((space, label))

    tool, queue, x = Fences(), space.instance(), es.View(N, space=space)
    with es.profile(tool):
        es.parallel_for(on(queue), grind, x, 10)
        queue.record().wait("results")
    assert (space.name, "results") in tool.found


# -- queues that wait for each other ---------


@pytest.mark.parametrize("what", ["space", "event", "order_before"])
def test_later_work_comes_after_that_of_another_instance(space, what):
    first, second = space.instance(), space.instance()
    x, y = es.View(N, space=space), es.View(N, space=space)
    rounds = rounds_of(space)
    for k in range(fitting(space, 10, 3)):
        es.parallel_for(on(first), grind, x, rounds)
        if what == "space":
            second.wait_for(first)
        elif what == "event":
            event = first.record()
            second.wait_for(event)
        else:
            first.order_before(second)
        es.parallel_for(on(second), moved, x, y, k)
        first.wait_for(second)  # the next round changes what is read
        es.parallel_for(on(first), moved, x, x, -100.0)
    space.fence()
    assert (staged.fetch(y) == 2 + k).all()
    assert (staged.fetch(x) == 2 - 100).all()


def test_a_chain_through_many_instances(space):
    queues = [space.instance() for _ in range(5)]
    x = es.View(N, space=space)
    es.deep_copy(x, 0.0)
    links = fitting(space, 200, 20)
    last = space
    for k in range(links):
        queue = queues[k % 5]
        queue.wait_for(last)
        es.parallel_for(on(queue), moved, x, x, 1.0)
        last = queue
    space.wait_for(last)
    assert es.parallel_reduce(on(space), lambda i: x[i]) == links * N


def test_one_waits_for_many_and_many_for_one(space):
    queues = [space.instance() for _ in range(4)]
    parts = [es.View(N, space=space) for _ in queues]
    total, copies = es.View(N, space=space), [es.View(N, space=space) for _ in queues]

    @es.kernel
    def add(i, total, part):
        total[i] += part[i]

    for queue, part in zip(queues, parts, strict=True):
        es.parallel_for(on(queue), grind, part, rounds_of(space))
    for queue, part in zip(queues, parts, strict=True):
        queues[0].wait_for(queue)  # of itself nothing need be waited for
        es.parallel_for(on(queues[0]), add, total, part)
    event = queues[0].record()
    for queue, made in zip(queues, copies, strict=True):
        queue.wait_for(event)
        es.parallel_for(on(queue), moved, total, made, 0.0)
    space.fence()
    assert all((staged.fetch(made) == 8).all() for made in copies)


def test_copies_are_ordered_too(space):
    first, second = space.instance(), space.instance()
    x, y = es.View(N, space=space), es.View(N, space=space)
    for k in range(5):
        es.parallel_for(on(first), grind, x, rounds_of(space))
        es.parallel_for(on(first), moved, x, x, float(k))
        second.wait_for(first)
        es.deep_copy(y, x, instance=second)
        first.wait_for(second)
        es.deep_copy(x, -1.0, instance=first)
    second.fence()
    assert (seen_from_outside(space, y) == 2 + k).all()


@pytest.mark.parametrize("other", ["serial", "oracle"])
def test_spaces_of_different_kinds(space, other):
    """The host waits for one of them; a fence of the other is then one of both."""
    try:
        host = es.space(other)
    except es.SpaceError:
        pytest.skip(f"space '{other}' is not installed")
    queue, x = space.instance(), es.View(N, space=space)
    es.parallel_for(on(queue), grind, x, rounds_of(space))
    host.wait_for(queue)
    host.fence()
    assert (seen_from_outside(space, x) == 2).all()
    queue.wait_for(host)
    queue.wait_for(host.record())
    host.order_before(queue)
    es.parallel_for(on(queue), moved, x, x, 1.0)
    queue.order_before(host)
    host.fence()
    assert (seen_from_outside(space, x) == 3).all()


def test_waiting_for_oneself_is_nothing(space):
    queue = space.instance()
    queue.wait_for(queue)
    queue.wait_for(queue.record())
    queue.order_before(queue)
    space.wait_for(space)


def test_threads_with_queues_that_wait_for_each_other(space):
    shared, x = space.instance(), es.View(N, space=space)
    es.parallel_for(on(shared), grind, x, rounds_of(space))
    event = shared.record()
    rounds = fitting(space, 20, 3)

    def work(k):
        queue, y = space.instance(), es.View(N, space=space)
        for r in range(rounds):
            queue.wait_for(event)
            es.parallel_for(on(queue), moved, x, y, k + r)
            event_here = queue.record()
        event_here.wait()
        return set(seen_from_outside(space, y).tolist())

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [{2.0 + k + rounds - 1} for k in range(4)]


# -- lifetimes ---------


def test_events_instances_and_views_may_be_dropped_while_work_is_queued(space):
    kept, last = es.View(N, space=space), space.instance()
    for k in range(10):
        queue, x = space.instance(), es.View(N, label="dropped", space=space)
        es.parallel_for(on(queue), grind, x, rounds_of(space))
        event = queue.record()
        del queue
        last.wait_for(event)
        es.parallel_for(on(last), moved, x, kept, float(k))
        del x, event
        gc.collect(0)
    last.fence()
    assert (seen_from_outside(space, kept) == 2 + k).all()
    space.fence()
    gc.collect()
    assert "dropped" not in [label for _, _, label in es.live_allocations()]


def test_an_event_outlives_its_instance(space):
    x = es.View(N, space=space)
    queue = space.instance()
    es.parallel_for(on(queue), grind, x, rounds_of(space))
    event = queue.record()
    del queue
    gc.collect(0)
    event.wait()
    assert (seen_from_outside(space, x) == 2).all()


# -- misuse ---------


@pytest.mark.parametrize("wrong", [None, 3, "serial", es.View, [], object()])
def test_what_nobody_can_wait_for(space, wrong):
    with pytest.raises(es.SpaceError, match=r"wait_for\(.*expected an ExecutionSpace, an es.Event"):
        space.wait_for(wrong)
    with pytest.raises(es.SpaceError, match=r"order_before\(.*expected an ExecutionSpace or a str"):
        space.order_before(wrong)


def test_an_event_is_nothing_that_work_could_be_before(space):
    with pytest.raises(
        es.SpaceError, match=r"order_before.*expected an ExecutionSpace or a stream"
    ):
        space.order_before(space.record())


def test_events_are_of_this_process(space):
    event = space.record()
    for give in (pickle.dumps, copy.copy):
        with pytest.raises(TypeError, match="a place in a queue of this process"):
            give(event)

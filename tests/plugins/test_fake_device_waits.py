"""Events, waits and futures on the pretend device of fake_device.py, which has no events itself.

A fence then does, which may wait for more than was asked for.
"""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

import execspace as es

SOURCE = (Path(__file__).parents[1] / "support" / "fake_device.py").read_text(encoding="utf-8")


@es.kernel
def scale(i, x, factor):
    x[i] *= factor


@es.kernel
def refuse(i, x):
    assert x[i] < 0, "x must be negative"


@es.kernel
def element(i, x):
    return x[i]


@pytest.fixture
def fake(fake_plugin):
    fake_plugin("fake", SOURCE)
    space = es.space("fake")
    yield space
    space.close()


# -- events of a space that has none of its own: a fence does -------------------------------------


def test_an_event_waits_by_a_fence(fake):
    class Fences(es.profiling.Tool):
        def __init__(self):
            self.found = []

        def on_fence_begin(self, space, queue, label):
            self.found.append((space, queue, label))

    tool = Fences()
    x = es.View(3, space=fake)
    es.parallel_for(es.RangePolicy(3, space=fake), scale, x, 2.0)
    assert not isinstance(fake, es.SupportsEvents)
    with fake.held():
        es.parallel_for(es.RangePolicy(3, space=fake), scale, x, 2.0)
        event = fake.record()
        assert fake.waiting  # it has not waited
        assert not event.done
    assert not event.done  # who is not asked cannot tell
    with es.profile(tool):
        event.wait("mine")
    assert event.done and not fake.waiting
    assert ("fake", 0, "mine") in tool.found


def test_queues_without_events_wait_by_the_host(fake):
    first, second = fake.instance(), fake.instance()
    x = es.View(3, space=fake)
    for wait in (
        lambda: second.wait_for(first),
        lambda: second.wait_for(first.record()),
        lambda: first.order_before(second),
        lambda: es.space("serial").wait_for(first),
    ):
        es.parallel_for(es.RangePolicy(3, space=first), scale, x, 2.0)
        wait()
        assert not first.waiting
    second.wait_for(es.space("serial"))  # has nothing to wait for
    assert not second.waiting


def test_what_a_launch_raises_is_raised_by_who_waits(fake):
    x = es.View(3, space=fake)
    es.parallel_for(es.RangePolicy(3, space=fake), refuse, x)
    event = fake.record()
    with pytest.raises(es.KernelAssertionError, match="x must be negative"):
        event.wait()
    event.wait()  # the queue is none the worse for it


class Stream:
    """Of a library, as CuPy's."""

    ptr = 0x30

    def __init__(self):
        self.waits = 0

    def synchronize(self):
        self.waits += 1


@pytest.mark.parametrize("name", ["fake", "serial"])
def test_for_streams_of_libraries_the_host_waits(fake, name):
    space, stream = es.space(name), Stream()
    space.wait_for(stream)
    assert stream.waits == 1
    x = es.View(3, space=fake)
    es.parallel_for(es.RangePolicy(3, space=fake), scale, x, 2.0)
    space.order_before(stream)
    assert stream.waits == 1
    if name == "fake":
        assert not fake.waiting


def test_a_stream_that_nobody_can_wait_for_is_refused(fake):
    class Bare:
        def __cuda_stream__(self):
            return 0, 0x30

    with pytest.raises(es.SpaceError, match="Space 'fake' has no streams itself, and the stream"):
        fake.wait_for(Bare())


# -- results that are waited for later ------------------------------------------------------------


def test_a_space_that_tells_no_results_blocks(fake):
    x = es.View(3, space=fake)
    es.deep_copy(x, 2.0)
    assert not isinstance(fake, es.TellsResults)
    later = es.parallel_reduce(es.RangePolicy(3, space=fake), element, x, blocking=False)
    assert not fake.waiting
    assert later.result() == 6.0 and type(later.result()) is float


@pytest.fixture
def telling(fake, monkeypatch):
    """The device, which says what reductions give."""
    from execspace_compiler.backend import result_of

    calls = []

    def told(self, kernel, spec):
        calls.append(kernel.name)
        return result_of(kernel, spec, self.memory_space)

    monkeypatch.setattr(type(fake), "result_of", told, raising=False)
    fake.told = calls
    return fake


def test_a_future_is_there_before_the_result(telling):
    x = es.View(3, space=telling)
    es.deep_copy(x, 2.0)
    policy = es.RangePolicy(3, space=telling)
    with telling.held():
        later = es.parallel_reduce(policy, element, x, blocking=False)
        both = es.parallel_reduce(
            policy, lambda i: (x[i], i), reducer=(es.Min, es.Max), blocking=False
        )
        assert telling.waiting and not later.done
    assert both.result() == (2.0, 2)
    assert later.result() == 6.0
    assert later.done


def test_a_kernel_is_looked_at_once(telling):
    policy = es.RangePolicy(3, space=telling)
    x = es.View(3, space=telling)
    compiled = telling.compiled
    for _ in range(3):
        es.parallel_reduce(policy, element, x, blocking=False).result()
    assert telling.told == ["element"]
    assert telling.compiled == compiled + 1


def test_a_future_that_is_dropped_leaves_its_view_to_the_launch(telling):
    x = es.View(3, space=telling)
    with telling.held():
        es.parallel_reduce(es.RangePolicy(3, space=telling), element, x, blocking=False)
        gc.collect()
        assert "es.Future" in [label for _, _, label in es.live_allocations()]
    telling.fence()
    gc.collect()
    assert "es.Future" not in [label for _, _, label in es.live_allocations()]


def test_what_the_work_raises_is_raised_by_the_result(telling):
    x = es.View(3, space=telling)

    def checked(i, x):
        assert x[i] < 0, "x must be negative"
        return x[i]

    later = es.parallel_reduce(es.RangePolicy(3, space=telling), checked, x, blocking=False)
    with pytest.raises(es.KernelAssertionError, match="x must be negative"):
        later.result()

"""es.Timer: as Kokkos' it fences nothing; its `with` block does, and so measures work."""

from __future__ import annotations

import threading
import time
from time import perf_counter

import pytest

import execspace as es


@pytest.fixture
def fences():
    """Labels of the fences of a test."""
    found = []

    class Listener(es.profiling.Tool):
        def on_fence_begin(self, space, label):
            found.append((space, label))

    with es.profile(Listener()):
        yield found


class Late:
    """A space whose work ends some time after its launch; `waited` is when each fence ended."""

    def __init__(self, plain):
        self.running, self.waited = [], []

        class Space(type(plain)):
            def synchronize(space, label=""):
                while self.running:
                    self.running.pop().join()
                self.waited.append(perf_counter())

        self.space = Space("late")
        es.parallel_for(es.RangePolicy(1, space=self.space), lambda i: None)  # it is given work

    def launch(self):
        self.running.append(threading.Thread(target=time.sleep, args=(0.1,)))
        self.running[-1].start()


def test_it_starts_when_it_is_made_and_when_it_is_reset():
    begin = perf_counter()
    timer = es.Timer()
    time.sleep(0.01)
    assert 0.01 <= timer.seconds() <= perf_counter() - begin
    begin = perf_counter()
    timer.reset()
    first = timer.seconds()
    assert 0 <= first <= timer.seconds() <= perf_counter() - begin


def test_by_itself_it_fences_nothing(plain, fences):
    late = Late(plain)
    timer = es.Timer()
    late.launch()
    timer.seconds(), timer.reset(), repr(timer)
    assert fences == late.waited == []
    late.space.fence()


def test_a_block_measures_its_work_and_not_what_was_launched_before(plain, fences):
    late = Late(plain)
    late.launch()
    with es.Timer("step") as timer:
        assert not late.running
        time.sleep(0.01)
        assert timer.seconds() >= 0.01
    assert 0.01 <= timer.seconds() <= perf_counter() - late.waited[0]
    assert fences == [("late", "Timer 'step' begins"), ("late", "Timer 'step' ends")]
    with es.Timer() as timer:
        begin = perf_counter()
        late.launch()
    assert not late.running
    assert timer.seconds() >= late.waited[-1] - begin >= 0.1
    assert fences[2:] == [("late", "Timer begins"), ("late", "Timer ends")]


def test_after_a_block_it_stands_until_it_is_reset():
    with es.Timer() as timer:
        pass
    measured = timer.seconds()
    time.sleep(0.01)
    assert timer.seconds() == measured
    timer.reset()
    time.sleep(0.01)
    assert timer.seconds() >= 0.01
    begin = perf_counter()
    with timer:
        pass
    assert timer.seconds() <= perf_counter() - begin


def test_a_block_that_raises_is_not_waited_for(plain, fences):
    late = Late(plain)
    timer = es.Timer()

    def fails():
        with timer:
            late.launch()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert late.running and len(fences) == 1
    assert timer.seconds() == timer.seconds()
    late.space.fence()


def test_its_repr_has_label_and_seconds():
    with es.Timer("step") as timer:
        assert repr(timer).startswith("<Timer 'step' ") and repr(timer).endswith(" s, running>")
    assert repr(timer) == f"<Timer 'step' {timer.seconds():.6g} s>"
    assert repr(es.Timer()).startswith("<Timer 0") or "e-" in repr(es.Timer())

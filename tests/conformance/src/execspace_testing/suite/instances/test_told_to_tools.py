"""What tools are told of any space: in pauses, through other tools, and of DualViews."""

from __future__ import annotations

import time

import pytest

import execspace as es
from execspace_testing.sizes import fitting


@es.kernel
def fill(i, x, value):
    x[i] = value


class Labels(es.profiling.Tool):
    """Launches by label, with their ends."""

    def __init__(self):
        self.begun, self.ended = {}, []

    def on_kernel_begin(self, label, id):
        self.begun[id] = label

    def on_kernel_end(self, id):
        self.ended.append(self.begun[id])


class Times(Labels):
    """Those of which the time was told, too."""

    device_times = True

    def __init__(self):
        super().__init__()
        self.times = {}

    def on_device_time(self, id, start, end):
        if id in self.begun:
            self.times[self.begun[id]] = start, end


class Sides(es.profiling.Tool):
    def __init__(self):
        self.told = []

    def on_dual_view_modify(self, label, side):
        self.told.append(("modify", label, side))

    def on_dual_view_sync(self, label, side, nbytes):
        self.told.append(("sync", label, side, nbytes))


class Launching:
    """Launches a kernel with a label; it is compiled already."""

    def __init__(self, space):
        n = fitting(space, 1000)
        self.policy = es.RangePolicy(n, space=space)
        self.x = es.View(n, space=space, label="x")
        self("first")
        space.fence()

    def __call__(self, label, value=1.0):
        es.parallel_for(self.policy, fill, self.x, value, label=label)


def has_times(space):
    return not space.capabilities.asynchronous or isinstance(space, es.TimesWork)


def test_launches_in_a_pause_are_not_told(space):
    launch = Launching(space)
    with es.profile(Labels()) as found:
        launch("before")
        with es.profiling.paused():
            launch("unheard")
            launch("unheard", 2.0)
            space.fence()
        launch("after")
    assert found["Labels"].ended == ["before", "after"]


@pytest.mark.parametrize("ends", ["after the pause", "in the pause"])
def test_times_of_launches_around_a_pause_are_told(space, ends):
    launch = Launching(space)
    before = time.perf_counter()
    with es.profile(Times()) as found:
        launch("before")
        es.profiling.pause()
        launch("unheard")
        space.fence()
        if ends == "after the pause":
            es.profiling.resume()
            launch("after")
    after = time.perf_counter()
    if ends == "in the pause":
        es.profiling.resume()
    expected = {"before", "after"} if ends == "after the pause" else {"before"}
    assert set(found["Times"].ended) == expected
    assert set(found["Times"].times) == (expected if has_times(space) else set())
    for start, end in found["Times"].times.values():
        assert before - 2e-3 <= start <= end <= after + 2e-3  # clocks differ by so much


def test_a_wrapper_tells_of_the_launches_that_it_wants(space):
    launch = Launching(space)

    class Even(es.profiling.Wrapper):
        def wants_launch(self, pattern, name, label, space):
            return label.startswith("even")

    inner = Times()
    with es.profile(Even(inner)) as found:
        for n in range(6):
            launch(f"odd {n}" if n % 2 else f"even {n}")
    expected = ["even 0", "even 2", "even 4"]
    assert inner.ended == expected
    assert sorted(inner.times) == (expected if has_times(space) else [])
    wrapper = found["Even"]
    assert (wrapper.launches, wrapper.passed) == (6, 3)


def test_changes_and_syncs_of_a_dual_view_are_told(space):
    n = fitting(space, 100)
    D = es.DualView(n, es.float64, label="D", space=space)
    with es.profile(Sides()) as found:
        D.modify("device")
        D.sync("device")  # it is the newer one
        D.sync("host")
        D.sync("host")
    copied = 0 if D.shares_memory else 8 * n
    assert found["Sides"].told == [("modify", "D", "device"), ("sync", "D", "host", copied)]

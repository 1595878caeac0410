"""Times of a device: each launch has one, in order on its queue, and told without a fence.

A space that is asynchronous should be `TimesWork`; of one that is not, core takes the times of the
calls. Clocks of host and device are compared within a millisecond at worst, which `SLACK` allows.
"""

from __future__ import annotations

import time
from itertools import pairwise

import pytest

import execspace as es
from execspace_testing.sizes import fitting

SLACK = 2e-3  # seconds


@es.kernel
def grind(i, x, rounds):
    for _ in range(rounds):
        x[i] = 0.5 * x[i] + 1.0


class Times(es.profiling.Tool):
    """When kernels ran, by their label, and on which queue."""

    device_times = True

    def __init__(self):
        self.begun, self.times, self.fences = {}, {}, 0

    def on_kernel_begin(self, label, queue, id):
        self.begun[id] = label, queue

    def on_device_time(self, id, start, end):
        if id in self.begun:
            assert self.begun[id] not in self.times, "told twice"
            self.times[self.begun[id]] = start, end

    def on_fence_begin(self):
        self.fences += 1


@pytest.fixture
def timed(space):
    """Spaces for which there are times; others say that they have none, and that is all."""
    if space.capabilities.asynchronous and not isinstance(space, es.TimesWork):
        pytest.skip(f"{space.name} is asynchronous and no TimesWork")
    return space


def test_launches_have_times_within_those_of_the_program(timed):
    x = es.View(64, space=timed, label="x")
    policy = es.RangePolicy(64, space=timed)
    es.parallel_for(policy, grind, x, 1)  # compiles
    timed.fence()
    tool = Times()
    before = time.perf_counter()
    with es.profile(tool):
        for n in range(4):
            es.parallel_for(policy, grind, x, fitting(timed, 20_000, 10), label=f"step {n}")
        unfenced = tool.fences
        es.parallel_reduce(policy, lambda i: 1, label="count")
    after = time.perf_counter()
    assert unfenced == 0
    times = [tool.times[f"step {n}", 0] for n in range(4)] + [tool.times["count", 0]]
    assert before - SLACK <= times[0][0]
    assert times[-1][1] <= after + SLACK
    for start, end in times:
        assert start < end
    for (_, end), (start, _) in pairwise(times):
        assert end <= start  # a queue does one thing after the other


def test_each_instance_has_a_queue_of_its_own_in_profiles(timed):
    first, second = timed.instance(), timed.instance()
    x = es.View(64, space=timed, label="x")
    tool = Times()
    with es.profile(tool):
        for n, queue in enumerate((timed, first, second)):
            es.parallel_for(es.RangePolicy(64, space=queue), grind, x, 3, label=f"grind {n}")
            queue.fence()
    different = len({id(timed), id(first), id(second)})
    assert len({queue for _, queue in tool.times}) == different
    assert len(tool.begun) == 3


def test_a_longer_kernel_takes_longer(timed):
    x = es.View(64, space=timed, label="x")
    policy = es.RangePolicy(64, space=timed)
    es.parallel_for(policy, grind, x, 1)
    rounds = fitting(timed, 200_000, 1000)
    tool = Times()
    with es.profile(tool):
        for n in range(3):
            es.parallel_for(policy, grind, x, rounds // 50, label=f"short {n}")
            es.parallel_for(policy, grind, x, rounds, label=f"long {n}")
    spent = {}
    for (label, _), (start, end) in tool.times.items():
        what = label.split()[0]
        spent[what] = min(spent.get(what, end - start), end - start)
    assert spent["short"] < spent["long"]

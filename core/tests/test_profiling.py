"""Profiling tools: told what runs, in order, and never able to break it."""

import gc

import pytest

import execspace as es
from execspace import profiling


def test_events_of_a_program_in_order(plain, events):
    with es.use_space(plain):
        x = es.View(2, es.float32, label="x")
        es.parallel_for(2, lambda i, x: None, x, label="FILL")
        es.parallel_reduce(2, lambda i, x: 1, x)
    del x
    gc.collect()
    (_, (*_, first)), (_, (*_, second)) = events[1], events[3]
    assert second == first + 1
    assert events == [
        ("on_allocate", ("host", "x", 8)),
        ("on_kernel_begin", ("parallel_for", "FILL", "plain", first)),
        ("on_kernel_end", (first,)),
        ("on_kernel_begin", ("parallel_reduce", "<lambda>", "plain", second)),
        ("on_kernel_end", (second,)),
        ("on_free", ("host", "x", 8)),
    ]


def test_a_launch_that_raises_still_ends(plain, events):
    def body(i):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        es.parallel_for(es.RangePolicy(1, space=plain), body)
    assert [name for name, _ in events] == ["on_kernel_begin", "on_kernel_end"]


def test_a_detached_tool_hears_nothing(events):
    tools = profiling.TOOLS
    assert len(tools) == 1
    profiling.detach(tools[0])
    profiling.detach(tools[0])  # once more is no error
    es.View(1)
    assert events == []


def test_attach_returns_the_tool():
    tool = profiling.Tool()
    try:
        assert profiling.attach(tool) is tool
        assert tool in profiling.TOOLS
    finally:
        profiling.detach(tool)
    assert tool not in profiling.TOOLS


def test_a_tool_that_raises_is_dropped_with_one_warning(plain, events):
    class Broken(profiling.Tool):
        def on_kernel_begin(self, pattern, name, space, launch):
            raise ValueError("no disk left")

    broken = profiling.attach(Broken())
    x = es.View(2)
    policy = es.RangePolicy(2, space=plain)
    message = (
        "Profiling tool 'Broken' raised in on_kernel_begin and was detached: "
        "ValueError: no disk left"
    )
    with pytest.warns(UserWarning, match=message):
        es.parallel_for(policy, lambda i, x: x.__setitem__(i, 1.0), x)
    for _ in range(2):  # warnings are errors here, so these two are silent
        es.parallel_for(policy, lambda i, x: x.__setitem__(i, 1.0), x)
    assert broken not in profiling.TOOLS
    assert list(x) == [1, 1]  # the program went on
    assert [name for name, _ in events].count("on_kernel_end") == 3  # and so did the other tool


def test_a_tool_may_implement_some_events_only():
    class Counter(profiling.Tool):
        allocated = 0

        def on_allocate(self, space, label, nbytes):
            self.allocated += nbytes

    counter = profiling.attach(Counter())
    es.View(4)
    profiling.detach(counter)
    assert counter.allocated == 32

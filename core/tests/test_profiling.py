"""Profiling tools: told what runs, in order, and never able to break it."""

import dataclasses
import gc
import inspect
import itertools
import re
import threading
from pathlib import Path

import pytest

import execspace as es
from execspace import profiling
from execspace.base import ports


def test_events_of_a_program_in_order(plain, events):
    space = type(plain)("in order")  # the first of its name: queue 0
    with es.use_space(space):
        x = es.View(2, es.float32, label="x")
        es.parallel_for(2, lambda i, x: None, x, label="FILL")
        es.parallel_reduce(2, lambda i, x: 1, x)
        es.deep_copy(x, 1.0, instance=space)
        space.fence("last")
    del x
    gc.collect()
    name = "<lambda>"
    assert events == [
        ("on_allocate", ("host", "x", 8)),
        ("on_kernel_begin", ("parallel_for", name, "FILL", "in order", 0)),
        ("on_kernel_end", ()),
        ("on_kernel_begin", ("parallel_reduce", name, name, "in order", 0)),
        ("on_kernel_end", ()),
        ("on_copy_begin", ("x@host", "number", 8, "in order", 0)),
        ("on_fence_begin", ("in order", 0, "deep_copy")),  # the host writes
        ("on_fence_end", ()),
        ("on_copy_end", ()),
        ("on_fence_begin", ("in order", 0, "last")),
        ("on_fence_end", ()),
        ("on_free", ("host", "x", 8)),
    ]


def test_an_end_has_the_number_of_its_beginning(plain):
    seen = []

    class Recorder(profiling.Tool):
        def on_any(self, event, arguments):
            seen.append((event, arguments.get("id")))

    with es.profile(Recorder()):
        for _ in range(2):
            es.parallel_for(es.RangePolicy(1, space=plain), lambda i: None)
        es.View(1)
    (_, a), (_, b), (_, c), (_, d), (_, e), (_, f) = seen
    assert a == b
    assert c == d
    assert e == f
    assert a < c < e


def test_a_policy_is_told_as_an_object(plain):
    seen = []

    class Policies(profiling.Tool):
        def on_kernel_begin(self, policy):
            seen.append(policy)

    square = es.MDRangePolicy((2, 3), space=plain)
    with es.profile(Policies()), es.use_space(plain):
        es.parallel_for(3, lambda i: None)
        es.parallel_for(square, lambda i, j: None)
    assert repr(seen[0]) == "RangePolicy(0, 3)"
    assert seen[1] is square


def test_a_launch_that_raises_still_ends(plain, events):
    def body(i):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        es.parallel_for(es.RangePolicy(1, space=plain), body)
    assert [name for name, _ in events] == ["on_kernel_begin", "on_kernel_end"]


# -- tools ----------------------------------------------------------------------------------------


def test_a_detached_tool_hears_nothing(events):
    tools = profiling.TOOLS
    assert len(tools) == 1
    profiling.detach(tools[0])
    profiling.detach(tools[0])  # once more is not an error
    es.View(1)
    assert events == []


def test_attach_returns_the_tool():
    tool = profiling.Tool()
    try:
        assert profiling.attach(tool) is tool
        assert tool in profiling.TOOLS
        with pytest.raises(es.ToolError, match="'Tool' is attached already"):
            profiling.attach(tool)
    finally:
        profiling.detach(tool)
    assert tool not in profiling.TOOLS


def test_a_tool_that_raises_is_dropped_with_one_warning(plain, events):
    class Broken(profiling.Tool):
        def on_kernel_begin(self, name):
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


def test_a_tool_takes_the_events_and_arguments_that_it_wants():
    class Counter:  # no base is needed
        allocated = 0

        def on_allocate(self, nbytes):
            self.allocated += nbytes

    counter = profiling.attach(Counter())
    es.View(4)
    profiling.detach(counter)
    assert counter.allocated == 32


def test_events_and_arguments_that_do_not_exist_are_refused():
    class Misspelt(profiling.Tool):
        def on_kernel_bgin(self):
            raise AssertionError("never called")

    class Curious(profiling.Tool):
        def on_allocate(self, nbytes, colour):
            raise AssertionError("never called")

    with pytest.raises(es.ToolError, match="'on_kernel_bgin', which is not an event; events: "):
        profiling.attach(Misspelt())
    with pytest.raises(es.ToolError, match=r"arguments that its event does not have: .*colour"):
        profiling.attach(Curious())
    assert not profiling.TOOLS


def test_tools_hear_of_an_event_in_the_order_in_which_they_came():
    heard = []

    def tool(name):
        class One(profiling.Tool):
            def on_event(self):
                heard.append(name)

        return One()

    first, second, third = map(profiling.attach, map(tool, "abc"))
    profiling.mark_event("now")
    profiling.detach(second)
    profiling.mark_event("now")
    profiling.detach(first)
    profiling.detach(third)
    assert heard == ["a", "b", "c", "a", "c"]


def test_tools_are_told_apart_whatever_they_say_of_equality():
    @dataclasses.dataclass
    class Counter:
        count: int = 0

        def on_event(self):
            self.count += 1

    first, second = Counter(), Counter()
    with es.profile(first), es.profile(second):
        profiling.mark_event("now")
    assert (first.count, second.count) == (1, 1)


def test_a_tool_may_want_nothing_but_all_events():
    class Everything:
        def __init__(self):
            self.seen = []

        def on_any(self, event):
            self.seen.append(event)

    with es.profile(Everything()) as found:
        profiling.mark_event("now")
    assert found["Everything"].seen == ["on_event"]


def test_what_looks_like_an_event_must_be_a_method():
    class Odd:
        on_event = 5

    with pytest.raises(es.ToolError, match="'Odd': on_event is not a method"):
        profiling.attach(Odd())


def test_errors_are_the_same_with_a_tool(plain):
    def overflow(bounds, args):
        raise OverflowError("int too big to convert")

    kernel = es.kernel(lambda i, a: None)
    policy = es.RangePolicy(1, space=plain)
    es.parallel_for(policy, kernel, 1)
    for plan in kernel.plans.values():
        plan.launch = overflow
    too_large = pytest.raises(es.LaunchError, match="argument 0 is 1180591620717411303424")
    with too_large:
        es.parallel_for(policy, kernel, 2**70)
    with es.profile(profiling.Tool()), too_large:
        es.parallel_for(policy, kernel, 2**70)


def test_a_profile_may_be_nested_in_itself():
    both = es.profile(profiling.Tool())
    with pytest.raises(es.ToolError, match="attached already"), both, both:
        raise AssertionError("never reached")
    assert not profiling.TOOLS


def test_the_documents_list_all_events_with_their_arguments():
    text = (Path(__file__).parents[2] / "docs" / "plugins.md").read_text()
    listed = dict(re.findall(r"`(on_\w+)\(([^)]*)\)`", text))
    for name, spec in vars(profiling.ToolSpecs).items():
        if name.startswith("on_"):
            _, *names = inspect.signature(spec).parameters
            assert [n for n in listed[name].split(", ") if n] == names


# -- regions --------------------------------------------------------------------------------------


def test_regions_are_nested_and_belong_to_a_thread(events):
    inside = []

    @profiling.region("solve")
    def solve():
        with profiling.region("step"):
            other = threading.Thread(target=lambda: inside.append(profiling.current_regions()))
            other.start()
            other.join()
            inside.append(profiling.current_regions())
            profiling.mark_event("half")

    solve()
    assert inside == [(), ("solve", "step")]
    assert profiling.current_regions() == ()
    assert events == [
        ("on_region_push", ("solve",)),
        ("on_region_push", ("step",)),
        ("on_event", ("half",)),
        ("on_region_pop", ("step",)),
        ("on_region_pop", ("solve",)),
    ]


def test_a_region_that_nobody_entered_cannot_be_left():
    with pytest.raises(es.ToolError, match="without a region; call push_region"):
        profiling.pop_region()
    with pytest.raises(es.ToolError, match=r"push_region\(3\); expected the name"):
        profiling.push_region(3)


# -- times of devices -----------------------------------------------------------------------------


class Times(profiling.Tool):
    device_times = True

    def __init__(self):
        self.begun, self.times = {}, {}

    def on_kernel_begin(self, label, queue, id):
        self.begun[id] = label, queue

    def on_device_time(self, id, start, end):
        self.times[self.begun[id]] = start, end


class Clocked:
    """A queue whose clock the test turns: what is marked at `now` is passed when `done` says so."""

    def __init__(self):
        self.now, self.done = 100.0, 0.0

    def mark(self):
        return self.now

    def time_of(self, mark):
        return mark if mark <= self.done else None


_spaces = itertools.count()


def make_clocked(plain, name=None):
    name = name or f"clocked{next(_spaces)}"

    class ClockedSpace(Clocked, type(plain)):
        capabilities = es.Capabilities(asynchronous=True)

        def __init__(self):
            Clocked.__init__(self)
            type(plain).__init__(self, name)

        def compile(self, kernel, spec):
            plan = super().compile(kernel, spec)
            inner = plan.launch

            def launch(bounds, args):
                self.now += 2.0  # that is how long all kernels take
                return inner(bounds, args)

            plan.launch = launch
            return plan

        def synchronize(self, label=""):
            super().synchronize(label)
            self.done = self.now

    return ClockedSpace()


def nothing(i):
    pass


def test_a_space_without_a_queue_gives_the_times_of_the_call(plain):
    with es.profile(Times()) as found:
        es.parallel_for(es.RangePolicy(3, space=plain), nothing, label="here")
    ((start, end),) = found["Times"].times.values()
    assert 0 < start < end


def test_times_of_a_device_are_told_when_its_queue_has_passed_them(plain):
    clocked = make_clocked(plain)
    policy = es.RangePolicy(1, space=clocked)
    tool = profiling.attach(Times())
    try:
        es.parallel_for(policy, nothing, label="a")
        es.parallel_for(policy, nothing, label="b")
        assert tool.times == {}
        clocked.done = 102.5  # the first is done; the next launch asks
        es.parallel_for(policy, nothing, label="c")
        assert tool.times == {("a", 0): (100.0, 102.0)}
        assert clocked.fences == []  # nothing was waited for
        profiling.wait_for_times()
        assert len(clocked.fences) == 1
    finally:
        profiling.detach(tool)
    assert tool.times == {
        ("a", 0): (100.0, 102.0), ("b", 0): (102.0, 104.0), ("c", 0): (104.0, 106.0),
    }  # fmt: skip


def test_the_end_of_profile_waits_for_times(plain):
    clocked = make_clocked(plain)
    with es.profile(Times()) as found:
        es.parallel_for(es.RangePolicy(1, space=clocked), nothing, label="a")
    assert len(clocked.fences) == 1
    assert found["Times"].times == {("a", 0): (100.0, 102.0)}


def test_tools_that_want_no_times_cost_no_marks(plain):
    clocked = make_clocked(plain)
    clocked.mark = None  # calling it would raise
    with es.profile(profiling.Tool()):
        es.parallel_for(es.RangePolicy(1, space=clocked), nothing)
    assert clocked.fences == []


def test_queues_are_told_apart_and_may_overlap(plain):
    first, second = make_clocked(plain, "two"), make_clocked(plain, "two")
    with es.profile(Times()) as found:
        for space in (first, second):
            es.parallel_for(es.RangePolicy(1, space=space), nothing, label="a")
    assert found["Times"].times == {("a", 0): (100.0, 102.0), ("a", 1): (100.0, 102.0)}


def test_work_within_work_is_told_as_it_was(plain):
    clocked = make_clocked(plain)
    with es.profile(Times()) as found:
        es.parallel_for(es.RangePolicy(1, space=clocked), nothing, label="before")
        with profiling.kernel_events("library", "sort", clocked):
            clocked.now += 1.0
            es.parallel_for(es.RangePolicy(1, space=clocked), nothing, label="inner")
    assert found["Times"].times == {
        ("before", 0): (100.0, 102.0), ("inner", 0): (103.0, 105.0), ("sort", 0): (102.0, 105.0),
    }  # fmt: skip


def test_a_tool_may_launch_kernels_when_it_is_told_of_one(plain):
    clocked = make_clocked(plain)
    policy = es.RangePolicy(1, space=clocked)

    class Curious(Times):
        def on_device_time(self, id, start, end):
            super().on_device_time(id, start, end)
            if len(self.begun) < 4:
                es.parallel_for(policy, nothing, label=f"again {len(self.begun)}")
                profiling.wait_for_times()

    with es.profile(Curious()) as found:
        es.parallel_for(policy, nothing, label="first")
    assert ("first", 0) in found["Curious"].times
    assert len(found["Curious"].begun) > 1


def test_threads_that_end_profiles_do_not_wait_for_each_other(plain):
    clocked = make_clocked(plain)
    policy = es.RangePolicy(1, space=clocked)

    class Leaves(Times):
        def on_device_time(self, id):
            profiling.detach(self)

    def work():
        for _ in range(50):
            with es.profile(Leaves()):
                es.parallel_for(policy, nothing)
                profiling.wait_for_times()

    threads = [threading.Thread(target=work, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)


def test_a_space_with_graphs_tells_of_their_launches(plain, events):
    space = type(plain)("with graphs")
    with profiling.graph_events("step", space, kernels=3):
        pass
    assert events == [("on_graph_begin", ("step", "with graphs", 0, 3)), ("on_graph_end", ())]


def test_a_device_that_cannot_tell_does_not_break_the_program(plain):
    clocked = make_clocked(plain)

    def time_of(mark):
        raise RuntimeError("the device fell off the bus")

    clocked.time_of = time_of
    with (
        pytest.warns(UserWarning, match="'clocked.*' cannot tell the times of its work.*fell off"),
        es.profile(Times()) as found,
    ):
        es.parallel_for(es.RangePolicy(1, space=clocked), nothing)
    assert found["Times"].times == {}


# -- choosing tools -------------------------------------------------------------------------------


class Summing(profiling.Tool):
    def __init__(self, path="sum.txt", depth=3, exact=False):
        self.options = path, depth, exact

    def report(self):
        return f"sum in {self.options[0]}\n"


@pytest.fixture
def tools(monkeypatch):
    entries = {"summing": es.ToolEntry("summing", Summing), "plain": es.ToolEntry("plain", Tool)}
    monkeypatch.setattr(ports.tool_entries, "_function", lambda name: entries)


class Tool(profiling.Tool):
    pass


@pytest.mark.parametrize(
    ("choice", "options"),
    [
        ("summing", ("sum.txt", 3, False)),
        ("summing:out.txt", ("out.txt", 3, False)),
        (r"summing:C:\out.txt:depth=5", (r"C:\out.txt", 5, False)),
        ("summing:exact=1:depth=4", ("sum.txt", 4, True)),
    ],
)
def test_options_follow_the_name_of_a_tool(tools, choice, options):
    with es.profile(choice) as found:
        assert found["summing"].options == options


def test_all_tools_report_in_turn(tools):
    with es.profile("plain", Summing("other.txt"), "summing") as found:
        pass
    assert str(found) == "sum in other.txt\n\nsum in sum.txt"


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("sumning", "'sumning' is not a profiling tool; installed tools: plain, summing. Did"),
        ("summing:width=3", "'summing' has no option 'width'; options: path, depth, exact"),
        ("summing:depth=deep", "'summing': option depth='deep'; expected a number"),
        ("summing:exact=maybe", "'summing': option exact='maybe'; expected 1 or 0"),
        ("plain:3", "'plain' has no option '3'; options: none"),
        (3, "3 is not a profiling tool; expected the name"),
    ],
)
def test_a_choice_that_makes_no_sense_is_explained(tools, choice, message):
    with pytest.raises(es.ToolError, match=re.escape(message)), es.profile(choice):
        raise AssertionError("never reached")


def test_the_same_tool_twice_is_refused(tools):
    with (
        pytest.raises(es.ToolError, match="given twice"),
        es.profile("summing", "summing"),
    ):
        raise AssertionError("never reached")


def test_a_tool_that_cannot_finish_is_named(tools):
    class Full(profiling.Tool):
        def finish(self):
            raise OSError("disk is full")

    with (
        pytest.warns(UserWarning, match="'Full' raised in finish: OSError: disk"),
        es.profile(Full()),
    ):
        pass


def test_a_tool_that_was_dropped_is_not_asked_to_finish():
    finished = []

    class Broken(profiling.Tool):
        def on_event(self):
            raise ValueError

        def finish(self):
            finished.append(self)

    with pytest.warns(UserWarning, match="was detached"), es.profile(Broken()):
        profiling.mark_event("now")
    assert finished == []

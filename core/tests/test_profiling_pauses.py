"""Pauses: launches are not told, but what began before a pause is told to its end."""

import threading

import pytest

import execspace as es
from execspace import profiling
from execspace.events import dispatch
from execspace.profiling import facts, listening


@pytest.fixture(autouse=True)
def not_paused():
    yield
    assert not listening.pauses


def names(events):
    found = [(name, *told) for name, told in events]
    events.clear()
    return found


def nothing(i):
    pass


def launch(space):
    es.parallel_for(es.RangePolicy(1, space=space), nothing)


def test_nothing_is_told_in_a_pause(plain, events):
    profiling.pause()
    assert profiling.TOOLS == ()  # so launches cost what they cost without tools
    launch(plain)
    with profiling.region("unheard"):
        profiling.mark_event("unheard")
        with profiling.Section("unheard"):
            es.View(1)
    profiling.resume()
    assert len(profiling.TOOLS) == 1
    assert names(events) == [("on_pause",), ("on_resume",)]
    launch(plain)
    assert [name for name, *_ in names(events)] == ["on_kernel_begin", "on_kernel_end"]


def test_pauses_nest(events):
    with profiling.paused(), profiling.paused():
        profiling.mark_event("unheard")
    with profiling.paused():
        with profiling.paused():
            pass
        profiling.mark_event("unheard")
    profiling.mark_event("heard")
    assert names(events) == [
        ("on_pause",), ("on_resume",), ("on_pause",), ("on_resume",), ("on_event", "heard"),
    ]  # fmt: skip


def test_a_pause_ends_with_its_block_and_each_call_of_a_function(events):
    @profiling.paused()
    def work():
        profiling.mark_event("unheard")

    work()
    with pytest.raises(ZeroDivisionError), profiling.paused():
        raise ZeroDivisionError
    work()
    assert [name for name, *_ in names(events)] == 3 * ["on_pause", "on_resume"]


def test_a_pause_that_nobody_began_cannot_end():
    with pytest.raises(es.ToolError, match=r"resume\(\) without a pause; call pause\(\) first"):
        profiling.resume()


def test_pauses_without_tools_do_nothing(plain):
    with profiling.paused():
        launch(plain)
        assert profiling.TOOLS == ()
    assert profiling.TOOLS == ()


def test_a_region_from_before_is_left_in_the_pause(events):
    profiling.push_region("outer")
    profiling.push_region("inner")
    profiling.pause()
    profiling.push_region("unheard")
    profiling.pop_region()
    profiling.pop_region()
    profiling.resume()
    profiling.pop_region()
    assert names(events) == [
        ("on_region_push", "outer"), ("on_region_push", "inner"), ("on_pause",),
        ("on_region_pop", "inner"), ("on_resume",), ("on_region_pop", "outer"),
    ]  # fmt: skip
    assert profiling.current_regions() == ()


def test_a_region_that_lasts_beyond_the_pause_begins_at_its_end():
    around = []

    class Regions(profiling.Tool):
        def on_region_push(self, name):
            around.append(("push", name, profiling.current_regions()))

        def on_region_pop(self, name):
            around.append(("pop", name, profiling.current_regions()))

    with es.profile(Regions()):
        profiling.pause()
        profiling.push_region("outer")
        profiling.push_region("inner")
        profiling.resume()
        profiling.pop_region()
        profiling.pop_region()
    assert around == [
        ("push", "outer", ("outer",)),
        ("push", "inner", ("outer", "inner")),
        ("pop", "inner", ("outer",)),
        ("pop", "outer", ()),
    ]


def test_another_thread_tells_of_its_region_with_the_next_one(events):
    entered, ended = threading.Event(), threading.Event()

    def work():
        profiling.push_region("theirs")
        entered.set()
        ended.wait(60)
        with profiling.region("next"):
            pass
        profiling.pop_region()

    thread = threading.Thread(target=work)
    with profiling.paused():
        thread.start()
        assert entered.wait(60)
    ended.set()
    thread.join()
    assert names(events)[2:] == [
        ("on_region_push", "theirs"), ("on_region_push", "next"), ("on_region_pop", "next"),
        ("on_region_pop", "theirs"),
    ]  # fmt: skip


def test_a_section_from_before_stops_in_the_pause(events):
    before, within = profiling.Section("before"), profiling.Section("within")
    before.start()
    with profiling.paused():
        before.stop()
        within.start()
    within.stop()
    assert names(events) == [
        ("on_section_start", "before"), ("on_pause",), ("on_section_stop", "before"),
        ("on_resume",),
    ]  # fmt: skip


def test_the_end_and_the_time_of_a_launch_come_in_the_pause(plain):
    seen = []

    class Times(profiling.Tool):
        device_times = True

        def on_kernel_begin(self, id):
            seen.append(("begin", id))

        def on_kernel_end(self, id):
            seen.append(("end", id))

        def on_device_time(self, id):
            seen.append(("time", id))

    with es.profile(Times()):
        with profiling.kernel_events("library", "sort", plain):
            profiling.pause()
            assert dispatch.TIMED == ()
            launch(plain)
        profiling.resume()
    id = seen[0][1]
    assert seen == [("begin", id), ("time", id), ("end", id)]


def test_metadata_is_told_in_a_pause(events):
    with profiling.paused():
        profiling.metadata("warm-up", True)
    assert ("on_metadata", "warm-up", True) in names(events)
    facts._declared.clear()


def test_a_tool_may_come_and_go_in_a_pause(plain):
    class Launches(profiling.Tool):
        count = 0

        def on_kernel_begin(self):
            self.count += 1

    with profiling.paused():
        with es.profile(Launches()) as gone:
            launch(plain)
        later = profiling.attach(Launches())
        with pytest.raises(es.ToolError, match="attached already"):
            profiling.attach(later)
        launch(plain)
    launch(plain)
    profiling.detach(later)
    assert (gone["Launches"].count, later.count) == (0, 1)


def test_a_profile_that_ends_in_a_pause_finishes_its_tools():
    finished = []

    class Ends(profiling.Tool):
        def finish(self):
            finished.append(self)

    with es.profile(Ends()) as found:
        profiling.pause()
    profiling.resume()
    assert finished == [found["Ends"]]
    assert profiling.TOOLS == ()


def test_a_tool_that_raises_when_it_is_paused_is_dropped():
    class Broken(profiling.Tool):
        def on_pause(self):
            raise ValueError("not now")

    broken = profiling.attach(Broken())
    with pytest.warns(UserWarning, match="'Broken' raised in on_pause and was detached"):
        profiling.pause()
    profiling.resume()
    assert broken not in profiling.TOOLS


def test_a_tool_that_comes_in_a_pause_is_told_of_it():
    class Pauses(profiling.Tool):
        def __init__(self):
            self.heard = []

        def on_pause(self):
            self.heard.append("pause")

        def on_resume(self):
            self.heard.append("resume")

    inner, outer = Pauses(), Pauses()
    profiling.pause()
    with es.profile(profiling.Wrapper(inner), outer):
        profiling.resume()
    assert inner.heard == outer.heard == ["pause", "resume"]


def test_what_has_begun_ends_whatever_other_threads_pause(plain):
    class Open(profiling.Tool):
        device_times = True

        def __init__(self):
            self.begun, self.ended, self.timed, self.depth = set(), set(), set(), {}

        def on_kernel_begin(self, id):
            self.begun.add(id)

        def on_kernel_end(self, id):
            self.ended.add(id)

        def on_device_time(self, id):
            self.timed.add(id)

        def on_region_push(self):
            me = threading.get_ident()
            self.depth[me] = self.depth.get(me, 0) + 1

        def on_region_pop(self):
            self.depth[threading.get_ident()] -= 1

    def work():
        for _ in range(300):
            with profiling.region("step"), profiling.region("within"):
                launch(plain)

    with es.profile(Open()) as found:
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            with profiling.paused():
                launch(plain)
        for thread in threads:
            thread.join()
        launch(plain)
    tool = found["Open"]
    assert tool.begun
    assert tool.ended == tool.begun
    assert tool.timed <= tool.begun
    assert set(tool.depth.values()) <= {0}

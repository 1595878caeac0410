"""The trace: what a program did as tracks. `Checked` reads a file, and is strict with it."""

import contextlib
import itertools
import threading
import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trace_format import Checked

import execspace as es
from execspace import profiling
from execspace_tools.trace import Trace
from execspace_tools.trace_file import Slice, Thread, nest


@pytest.fixture
def path(tmp_path):
    return tmp_path / "trace.json"


@contextlib.contextmanager
def traced(path, **options):
    """The tool within, and at the end what it says; read the file by `Checked(path)`."""
    with es.profile(Trace(str(path), **options)) as found:
        yield found["Trace"]


@es.kernel
def fill(i, x, value):
    x[i] = value


HOST = "MainThread"


# -- what a program did ---------------------------------------------------------------------------


def test_a_program_as_tracks(path):
    space = es.space("serial")
    with traced(path), es.profiling.region("solve"):
        x = es.View(1000, es.float64, label="x", space=space)
        es.parallel_for(es.RangePolicy(1000, space=space), fill, x, 1.0, label="FILL")
        es.profiling.mark_event("half")
        es.parallel_reduce(es.RangePolicy(1000, space=space), lambda i: x[i], label="SUM")
        es.deep_copy(x, 2.0)
        space.fence("done")
    trace = Checked(path)
    assert trace.processes() == ["host", "serial", "memory"]
    called = [name for name in trace.labels(HOST) if not name.startswith("compile")]
    assert called[:3] == ["solve", "FILL", "SUM"]
    assert "deep_copy" in called
    assert called[-1] == "fence: done"
    assert trace.labels("serial, queue 0") == ["FILL", "SUM"]
    assert trace.arrows == 2
    (event,) = (e for e in trace.events if e["ph"] == "i")
    assert event["name"] == "half"
    _, _, region_end = trace.tracks[HOST][0]
    assert all(end <= region_end for _, _, end in trace.tracks[HOST])


def test_what_a_slice_tells(path):
    space = es.space("serial")
    policy = es.RangePolicy(1000, space=space)
    x = es.View(1000, es.float64, label="x", space=space)
    with traced(path):
        es.parallel_for(policy, fill, x, 1.0, label="FILL")
        es.deep_copy(x, 2.0, instance=space)
    trace = Checked(path)
    launch, copy = (
        next(e for e in trace.slices[HOST] if e["name"] == name) for name in ("FILL", "deep_copy")
    )
    number = launch["args"].pop("id")
    assert launch["cat"] == "launch"
    assert launch["args"] == {
        "pattern": "parallel_for", "kernel": "fill", "space": "serial", "queue": 0,
        "policy": repr(policy),
    }  # fmt: skip
    work = trace.slices["serial, queue 0"][0]
    assert work["cat"] == "parallel_for"
    assert work["args"]["id"] == number
    assert copy["args"]["nbytes"] == 8000
    assert copy["args"]["destination"] == "x@host"


def test_compiling_is_a_slice_before_its_launch(path):
    space = es.space("serial")

    def never_seen_before(i, x):
        x[i] = 3

    x = es.View(10, es.int64, space=space)
    with traced(path), es.profiling.region("first"):
        es.parallel_for(es.RangePolicy(10, space=space), never_seen_before, x)
    trace = Checked(path)
    assert trace.labels(HOST) == ["first", "compile never_seen_before", "never_seen_before"]
    args = trace.slices[HOST][1]["args"]
    assert args["seconds"] > 0
    assert isinstance(args["cache hit"], bool)


@pytest.mark.parametrize("name", [r.name for r in es.spaces() if r.usable])
def test_work_of_every_space_has_a_track(path, name):
    space = es.space(name)
    memory = {"memory": space.memory_spaces[0]}
    with traced(path) as tool:
        x = es.View(20_000, es.float64, label="x", space=space, **memory)
        for n in range(5):
            es.parallel_for(es.RangePolicy(x.size, space=space), fill, x, float(n), label=f"L{n}")
        space.fence()
    trace = Checked(path)
    assert trace.labels(f"{name}, queue 0") == ["L0", "L1", "L2", "L3", "L4"]
    assert [n for n in trace.labels(HOST) if n.startswith("L")] == ["L0", "L1", "L2", "L3", "L4"]
    assert tool.written.untimed == 0


@pytest.mark.skipif(
    not any(r.usable for r in es.spaces() if r.name == "opencl"),
    reason="no OpenCL device: apt install pocl-opencl-icd",
)
def test_instances_have_tracks_of_their_own(path):
    opencl = es.space("opencl")
    first, second = opencl.instance(), opencl.instance()
    x, y = (
        es.View(100_000, es.float64, space=opencl, memory=opencl.memory_spaces[0]) for _ in "xy"
    )
    with traced(path):
        for n in range(4):
            es.parallel_for(es.RangePolicy(x.size, space=first), fill, x, float(n), label="one")
            es.parallel_for(es.RangePolicy(y.size, space=second), fill, y, float(n), label="two")
    trace = Checked(path)
    tracks = [name for name in trace.tracks if name.startswith("opencl")]
    assert all(name.startswith("opencl, instance ") for name in tracks)
    assert [trace.labels(name) for name in tracks] == [["one"] * 4, ["two"] * 4]
    queues = {e["args"]["queue"] for track in tracks for e in trace.slices[track]}
    assert len(queues) == 2


def test_threads_have_tracks_by_name(path):
    def work():
        with es.profiling.region("inner"):
            es.profiling.mark_event("here")

    with traced(path), es.profiling.region("outer"):
        for n in range(2):  # one after the other: their numbers may be the same
            thread = threading.Thread(target=work, name=f"worker {n}")
            thread.start()
            thread.join()
    trace = Checked(path)
    assert {name: trace.labels(name) for name in trace.tracks} == {
        HOST: ["outer"], "worker 0": ["inner"], "worker 1": ["inner"],
    }  # fmt: skip


# -- regions --------------------------------------------------------------------------------------


def test_regions_around_the_trace_are_in_it(path):
    with es.profiling.region("program"), es.profiling.region("phase"), traced(path):
        es.profiling.push_region("step")
        es.profiling.mark_event("now")
        es.profiling.pop_region()
    trace = Checked(path)
    assert trace.labels(HOST) == ["program", "phase", "step"]
    assert trace.tracks[HOST][0][1] == 0  # since the trace began, and to its end


def test_a_region_left_within_the_trace_began_before_it(path):
    es.profiling.push_region("program")
    es.profiling.push_region("phase")
    with traced(path):
        es.profiling.pop_region()
        es.profiling.pop_region()
        with es.profiling.region("after"):
            pass
    assert Checked(path).labels(HOST) == ["program", "phase", "after"]


def test_a_region_left_after_the_call_that_entered_it_is_cut():
    call = Slice("call", "launch", {}, 10, 50)
    region = Slice("region", "region", {}, 20, 90)
    inner = Slice("inner", "fence", {}, 30, 40)
    slices = [region, inner, call]
    assert nest(slices) == 1
    assert slices == [call, region, inner]
    assert (region.start, region.end) == (20, 50)
    assert region.args == {"cut": "at the end of call"}


# -- times of devices, made up --------------------------------------------------------------------


def begin(label, queue=0, space="gpu", pattern="parallel_for"):
    id = profiling.new_id()
    profiling.emit("on_kernel_begin", pattern, label, label, space, queue, None, id, lambda: None)
    return id


def launch(label, queue=0, **options):
    """A launch that returns at once; its number."""
    id = begin(label, queue, **options)
    profiling.emit("on_kernel_end", id)
    return id


def ran(id, start, end):
    profiling.emit("on_device_time", id, start, end)


def test_work_that_overlaps_on_two_queues(path):
    with traced(path):
        a, b = launch("a", 0), launch("b", 1)
        now = time.perf_counter()
        ran(a, now + 1.0, now + 3.0)
        ran(b, now + 2.0, now + 4.0)
    trace = Checked(path)
    assert trace.processes() == ["host", "gpu"]
    ((_, a_start, a_end),) = trace.tracks["gpu, queue 0"]
    ((_, b_start, b_end),) = trace.tracks["gpu, instance 1"]
    assert a_end - a_start == pytest.approx(2_000_000_000, abs=1)
    assert b_start - a_start == pytest.approx(1_000_000_000, abs=1)
    assert a_start < b_start < a_end < b_end
    assert all(end < a_start for _, _, end in trace.tracks[HOST])  # the launches returned long ago


def test_no_work_is_shown_before_its_launch(path):
    with traced(path) as tool:
        before = time.perf_counter() - 0.001
        ran(launch("a"), before, time.perf_counter() + 1.0)
    trace = Checked(path)  # arrows go forward
    (_, launched, _), (_, started, _) = trace.tracks[HOST][0], trace.tracks["gpu, queue 0"][0]
    assert launched == started
    assert trace.other["moved to their launch"] == 1
    assert trace.other["moved by at most (us)"] > 1000
    assert "microseconds at most: 1" in tool.report()


def test_what_one_thread_launches_on_a_queue_is_one_after_the_other(path):
    with traced(path):
        a, b, c = launch("a"), launch("b"), launch("c")
        now = time.perf_counter() + 1.0
        ran(a, now, now)  # too short for the device's clock
        ran(b, now, now + 2e-6)
        ran(c, now + 1e-6, now + 3e-6)
    assert Checked(path).labels("gpu, queue 0") == ["a", "b", "c"]


def test_what_a_library_launches_is_within_its_call(path):
    with traced(path):
        sort = begin("sort", pattern="library")
        pass_1 = launch("pass 1")
        profiling.emit("on_kernel_end", sort)
        now = time.perf_counter() + 1.0
        ran(pass_1, now + 1e-3, now + 2e-3)
        ran(sort, now, now + 3e-3)
    trace = Checked(path)
    assert trace.labels("gpu, queue 0") == trace.labels(HOST) == ["sort", "pass 1"]


def test_threads_that_run_kernels_on_one_space_at_a_time_get_a_track_each(path):
    both = threading.Barrier(2)

    def work(label):
        both.wait()
        id, start = begin(label, space="plain"), time.perf_counter()
        both.wait()
        ran(id, start, time.perf_counter())
        profiling.emit("on_kernel_end", id)

    with traced(path):
        threads = [threading.Thread(target=work, args=label) for label in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    trace = Checked(path)
    assert sorted(
        trace.labels("plain, queue 0") + trace.labels("plain, queue 0 (2)")
    ) == ["a", "b"]  # fmt: skip


def test_a_launch_without_a_device_time_is_on_the_host_only(path):
    with traced(path) as tool:
        launch("a")
    trace = Checked(path)
    assert trace.processes() == ["host"]
    assert trace.labels(HOST) == ["a"]
    assert trace.other["without device time"] == 1
    assert "no device time came: 1" in tool.report()


def test_a_launch_that_raises_is_on_the_host_only(path):
    space = es.space("serial")
    with traced(path) as tool:
        with pytest.raises(ValueError), profiling.kernel_events("library", "bad", space):
            raise ValueError
        try:
            raise KeyError
        except KeyError:
            with profiling.kernel_events("library", "good", space):
                pass
    trace = Checked(path)
    assert trace.labels(HOST) == ["bad", "good"]
    assert trace.slices[HOST][0]["args"]["raised"] == "ValueError"
    assert trace.labels("serial, queue 0") == ["good"]
    assert trace.other["raised"] == 1
    assert trace.other["without device time"] == 0
    assert "the call raised: 1" in tool.report()


def test_a_compilation_is_no_longer_than_there_was_time():
    thread = Thread("t", last=10)
    region = Slice("region", "region", {}, 100)
    done = Slice("done", "fence", {}, 200, 300)
    thread.slices += [region, done]
    assert thread.free_since(50) == 101  # within the region, and around what was done meanwhile
    assert thread.free_since(250) == 300
    assert thread.free_since(350) == 350
    assert Thread("new", last=10).free_since(5) == 10


# -- memory ---------------------------------------------------------------------------------------


def test_memory_is_counted_by_space_with_what_was_there_before(path):
    before = es.View(1000, es.uint8, label="before")
    elsewhere = sum(n for space, n, _ in es.live_allocations() if space == "host") - 1000
    with traced(path):
        x = es.View(500, es.uint8)
        del before, x
    counts = [e["args"]["live bytes"] for e in Checked(path).events if e["ph"] == "C"]
    assert [n - elsewhere for n in counts] == [1000, 1500, 500, 0]


# -- the file -------------------------------------------------------------------------------------


def test_what_is_over_the_limit_is_counted(path):
    with traced(path, limit=10) as tool:
        for _ in range(4):  # four events each: two slices, and the arrow's ends
            id = launch("a")
            ran(id, time.perf_counter(), time.perf_counter() + 1e-3)
        es.profiling.mark_event("later")
    trace = Checked(path)
    assert trace.labels(HOST) == ["a", "a"]
    assert trace.other["limit"] == 10
    assert trace.other["dropped"] == 3
    assert "the option `limit` allows no more: 3" in tool.report()


def test_a_compressed_file(tmp_path):
    path = tmp_path / "trace.json.gz"
    with traced(path), es.profiling.region("all"):
        pass
    assert path.read_bytes()[:2] == b"\x1f\x8b"
    assert Checked(path).labels(HOST) == ["all"]


def test_a_file_that_cannot_be_written_leaves_the_old_one(path, monkeypatch):
    path.write_text("old")

    def full(*args):
        raise OSError("disk is full")

    monkeypatch.setattr("execspace_tools.trace_file._other", full)
    with pytest.warns(UserWarning, match="raised in finish: OSError: disk is full"), traced(path):
        es.profiling.mark_event("now")
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]


def test_the_report_says_where_the_file_is_and_how_to_open_it(path):
    with traced(path) as tool:
        es.profiling.mark_event("now")
        assert "1 events so far" in tool.report()
    events = len(Checked(path).events)
    assert tool.report() == (
        f"trace: {events} events in '{path}'; open it at https://ui.perfetto.dev or in "
        "chrome://tracing"
    )


def test_labels_of_any_text(path):
    name = 'a "quoted" \\ label\n\u2207\u00b2 \U0001f30d'
    with traced(path), es.profiling.region(name):
        pass
    assert Checked(path).labels(HOST) == [name]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"path": "none/trace.json"}, "its folder does not exist"),
        ({"path": "."}, "is a folder; expected a file"),
        ({"limit": 0}, "limit=0; expected 1 or more"),
    ],
)
def test_options_that_make_no_sense_are_refused_at_once(tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(es.ToolError, match=message):
        Trace(**options)


def test_it_is_chosen_by_name_with_options(tmp_path):
    path = tmp_path / "named.json"
    with es.profile(f"trace:{path}:limit=7") as found:
        es.profiling.mark_event("now")
    assert found["trace"].limit == 7
    assert Checked(path).other["limit"] == 7


# -- any program ----------------------------------------------------------------------------------

SPANS = st.tuples(st.integers(-2000, 2000), st.integers(0, 3000))  # microseconds after the launch
LEAVES = st.one_of(
    st.tuples(st.just("launch"), st.integers(0, 2), st.none() | SPANS),
    st.tuples(st.just("call"), st.booleans()),
    st.tuples(st.just("event")),
    st.tuples(st.just("compile"), st.integers(0, 3000)),
    st.tuples(st.just("fence"), st.booleans()),
)
PROGRAMS = st.recursive(
    st.lists(LEAVES, max_size=5),
    lambda inner: st.lists(LEAVES | st.tuples(st.just("region"), inner), max_size=4),
    max_leaves=30,
)


def run(program, expected):
    """Do what a program says; count what it leaves on the host, and on devices."""
    for what, *rest in program:
        if what == "region":
            expected["host"] += 1
            with es.profiling.region("r"):
                run(rest[0], expected)
        elif what == "launch":
            queue, span = rest
            now = time.perf_counter()
            id = launch("k", queue)
            expected["host"] += 1
            if span is not None:
                expected["device"] += 1
                ran(id, now + span[0] * 1e-6, now + sum(span) * 1e-6)
        elif what == "call":  # of a space that is not asynchronous
            expected["host"] += 1
            expected["device"] += not rest[0]
            serial = es.space("serial")
            with contextlib.suppress(ValueError), profiling.kernel_events("library", "c", serial):
                if rest[0]:
                    raise ValueError
        elif what == "compile":
            expected["host"] += 1
            time.sleep(rest[0] * 1e-6)  # a compilation takes its time before it is told
            profiling.emit("on_compile", "k", "gpu", rest[0] * 1e-6, True)
        elif what == "fence":
            expected["host"] += 1
            es.space("serial").fence("f" if rest[0] else "")
        else:
            es.profiling.mark_event("e")


@settings(max_examples=60, deadline=None)
@given(st.lists(PROGRAMS, min_size=1, max_size=3))
def test_any_program_gives_a_file_that_viewers_take(tmp_path_factory, programs):
    path = tmp_path_factory.mktemp("any") / "trace.json"
    counts = [Counter() for _ in programs]
    with traced(path):
        threads = [
            threading.Thread(target=run, args=pair) for pair in zip(programs, counts, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    trace = Checked(path)
    total = sum(counts, Counter())
    host = [len(found) for name, found in trace.slices.items() if name.startswith("Thread")]
    assert sum(host) == total["host"]
    assert len(list(itertools.chain(*trace.slices.values()))) == total["host"] + total["device"]
    assert trace.arrows == total["device"]
    assert trace.other["cut"] == 0

"""What the tools make of sections, metadata, DualViews and pauses."""

import json

import pytest
from trace_format import Checked

import execspace as es
from execspace import profiling
from execspace.profiling import facts


@pytest.fixture(autouse=True)
def undeclared():
    """What tests declare is forgotten."""
    yield
    facts._declared.clear()


# -- sections -------------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", ["kernel-timer", "space-time-stack"])
def test_timers_add_up_sections_of_a_name(clock, tool):
    read, other = profiling.Section("read"), profiling.Section("read")
    compute = profiling.Section("compute")
    with es.profile(tool) as found:
        read.start()
        clock.now += 1.0
        compute.start()
        other.start()  # two of a name at a time
        clock.now += 2.0
        read.stop()
        clock.now += 4.0
        compute.stop()
        other.stop()
        with compute:
            clock.now += 0.5
    rows = [(r.name, r.calls, r.total, r.minimum, r.maximum) for r in found[tool].sections()]
    assert rows == [("read", 2, 9.0, 3.0, 6.0), ("compute", 2, 6.5, 0.5, 6.0)]
    report = str(found)
    assert "Sections, which may overlap" in report
    (line,) = (line.split() for line in report.splitlines() if line.startswith("read"))
    assert line == ["read", "2", "9.00", "s", "4.50", "s", "3.00", "s", "6.00", "s"]


@pytest.mark.parametrize("tool", ["kernel-timer", "space-time-stack"])
def test_a_section_that_is_not_stopped_ends_with_the_tool(clock, tool):
    section = profiling.Section("read")
    with es.profile(tool) as found:
        section.start()
        clock.now += 3.0
    section.stop()
    assert [(r.name, r.total) for r in found[tool].sections()] == [("read", 3.0)]


def test_a_report_without_sections_does_not_name_them(launches):
    with es.profile("kernel-timer", "space-time-stack") as found:
        launches.kernel("flux", 1.0)
    assert "Sections" not in str(found)
    assert "paused" not in str(found)


def test_a_trace_has_a_track_for_each_name_of_sections(tmp_path):
    path = tmp_path / "trace.json"
    read, other, compute = map(profiling.Section, ("read", "read", "compute"))
    with es.profile(f"trace:{path}"):
        with profiling.region("step"):
            read.start()
            other.start()
        compute.start()
        read.stop()
        other.stop()
        compute.stop()
        with read:
            pass
        other.start()
    other.stop()
    trace = Checked(path)
    assert trace.processes() == ["host", "sections"]
    assert trace.labels("read") == ["read", "read", "read"]
    assert trace.labels("read (2)") == ["read"]
    assert trace.labels("compute") == ["compute"]
    assert {e["args"]["id"] for e in trace.slices["compute"]} == {compute.id}


# -- metadata -------------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", ["space-time-stack", "memory-high-water", "memory-usage"])
def test_json_files_have_the_metadata(tmp_path, tool):
    path = tmp_path / "report.json"
    profiling.metadata("mesh", "coarse")
    with es.profile(f"{tool}:{path}"):
        profiling.metadata("steps", 20)
    found = json.loads(path.read_text())["metadata"]
    assert (found["mesh"], found["steps"], found["execspace"]) == ("coarse", 20, es.__version__)


def test_the_trace_has_the_metadata(tmp_path):
    path = tmp_path / "trace.json"
    with es.profile(f"trace:{path}"):
        es.parallel_for(es.RangePolicy(4, space="oracle"), lambda i: None)
        profiling.metadata("steps", 20)
    found = Checked(path).other["metadata"]
    assert found["steps"] == 20
    assert "oracle" in found["spaces"].split(", ")


def test_the_logger_prints_what_is_known_and_what_is_declared(capsys):
    profiling.metadata("mesh", "coarse one")
    with es.profile("logger:events=metadata"):
        before = capsys.readouterr().err
        profiling.metadata("steps", 20)
    assert f"metadata key=execspace value={es.__version__}\n" in before
    assert "metadata key=mesh value='coarse one'\n" in before
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("metadata key=steps value=20")


# -- DualViews ------------------------------------------------------------------------------------


def test_a_dual_view_in_the_log_and_in_the_trace(tmp_path, capsys):
    path = tmp_path / "trace.json"
    D = es.DualView(4, label="D", space="serial")
    with es.profile(f"trace:{path}", "logger:events=dual_view:match=D"):
        D.modify("host")
        D.sync("device")
    lines = [line.split(maxsplit=1)[1] for line in capsys.readouterr().err.splitlines()]
    assert lines == [
        "dual_view_modify label='D' side=host",
        "dual_view_sync label='D' side=device nbytes=0",
    ]
    moments = [(e["name"], e["args"]) for e in Checked(path).events if e["ph"] == "i"]
    assert moments == [
        ("DualView modify", {"label": "D", "side": "host"}),
        ("DualView sync", {"label": "D", "side": "device", "nbytes": 0}),
    ]


# -- pauses ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", ["kernel-timer", "space-time-stack"])
def test_reports_tell_of_pauses(launches, clock, tool):
    with es.profile(tool) as found:
        clock.now += 1.0
        with profiling.paused():
            clock.now += 2.0
        profiling.pause()
        clock.now += 4.0
    profiling.resume()
    assert found[tool].paused == 6.0
    assert "paused for 6.00 s of that; nothing of it is in this report" in str(found)


@pytest.mark.parametrize("tool", ["kernel-timer", "space-time-stack"])
def test_a_tool_that_comes_in_a_pause_knows_of_it(clock, tool):
    profiling.pause()
    with es.profile(tool) as found:
        clock.now += 2.0
        profiling.resume()
        clock.now += 1.0
    assert found[tool].paused == 2.0
    assert "paused for 2.00 s of that" in str(found)


def test_memory_is_right_after_a_pause(tmp_path):
    path = tmp_path / "trace.json"
    tools = ("memory-high-water", "space-time-stack", f"trace:{path}", "memory-usage:interval=0")
    with es.profile(*tools) as found:
        with profiling.region("setup"):
            a, b = es.View(1000, label="a"), es.View(2000, label="b")
        before = found["memory-high-water"].records()[0].current
        with profiling.paused():
            del a
            c = es.View(4000, label="c")
        after = found["memory-high-water"].records()[0].current
        del b
        last = found["memory-high-water"].records()[0].current
        usage = found["memory-usage"].records()[-1].views["host"]
        stack = found["space-time-stack"]._peaks["host"]
        assert stack.current == usage == last
        assert (("(while tools were paused)",), "c") in stack.held()
        assert (("setup",), "a") not in stack.held()
        assert (("setup",), "b") not in stack.held()
        del c
    assert after - before == 8 * (4000 - 1000)
    assert last - after == -8 * 2000
    counters = [e["args"]["live bytes"] for e in Checked(path).events if e["ph"] == "C"]
    assert after in counters
    assert counters[-1] == last - 8 * 4000


def test_a_view_that_is_counted_in_another_place_is_freed_all_the_same():
    with es.profile("space-time-stack") as found:
        with profiling.region("first"):
            x = es.View(1000, label="x")
        with profiling.region("second"):
            y = es.View(1000, label="x")
        with profiling.paused():
            del x
        stack = found["space-time-stack"]._peaks["host"]
        held = stack.current
        del y
        assert held - stack.current == 8000
        assert not any(label == "x" for _, label in stack.held())


def test_a_log_of_memory_says_that_it_has_a_gap():
    with es.profile("memory-events") as found, profiling.paused():
        es.View(1000, label="unheard")
    assert "tools were paused; what was allocated or freed meanwhile is not here" in str(found)

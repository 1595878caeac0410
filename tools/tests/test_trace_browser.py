"""Traces in the viewers that people open them with, in a real browser: nothing lost, no warning."""

import importlib.util
import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from matplotlib.image import imread

import execspace as es
from execspace import profiling
from execspace_tools.trace import Trace

SCRIPT = Path(__file__).parents[2] / "docs" / "trace_screenshot.py"


def load_script():
    spec = importlib.util.spec_from_file_location("trace_screenshot", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


script = load_script()
pytestmark = pytest.mark.skipif(bool(script.missing()), reason=script.missing())


@es.kernel
def fill(i, x, value):
    x[i] = value


def launch(label, queue, start, end):
    """Work of a device that is made up, and of which the times are known at once."""
    id = profiling.new_id()
    profiling.emit(
        "on_kernel_begin", "parallel_for", label, label, "gpu", queue, None, id, lambda: None
    )
    profiling.emit("on_kernel_end", id)
    profiling.emit("on_device_time", id, start, end)


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    """A program with all that a trace can have."""
    path = tmp_path_factory.mktemp("trace") / "trace.json.gz"
    serial = es.space("serial")
    with es.profile(Trace(str(path))), es.profiling.region("program"):
        x = es.View(5000, es.float64, label="x", space=serial)
        for n in range(20):
            with es.profiling.region("step"):
                es.parallel_for(es.RangePolicy(5000, space=serial), fill, x, float(n), label="FILL")
                es.deep_copy(x, 2.0, instance=serial)
        es.profiling.mark_event("half")
        for n in range(200):  # back to back, at nanoseconds of all kinds
            now = time.perf_counter()
            launch("first", 0, now + 1.0 + n * 1.0000007e-3, now + 1.0 + (n + 1) * 1.0000007e-3)
            launch("second", 1, now + 1.0 + n * 1.0000007e-3, now + 1.0 + (n + 0.5) * 1.0000007e-3)
        thread = threading.Thread(target=serial.fence, args=("of a thread",), name="worker")
        thread.start()
        thread.join()
        del x
    return path


@pytest.fixture(scope="module")
def browser():
    with script.started() as found:
        yield found


@pytest.fixture(scope="module")
def viewer(browser, trace):
    return browser.perfetto(trace)


def test_perfetto_takes_all_of_it_without_complaint(trace, viewer):
    found = viewer.model()
    assert found.complaints == []
    assert found == script.expected(trace)
    assert found.processes == {
        "host": ["MainThread", "worker"],
        "gpu": ["gpu, queue 0", "gpu, instance 1"],
        "serial": ["serial, queue 0"],
    }


def test_perfetto_shows_regions_around_launches(viewer):
    rows = viewer.query(
        "select distinct a.name, b.name, c.name from slice a join slice b on a.parent_id = b.id "
        "join slice c on b.parent_id = c.id where a.category in ('launch', 'copy')"
    )
    assert sorted(rows) == [["FILL", "step", "program"], ["deep_copy", "step", "program"]]


def test_perfetto_leads_from_a_launch_to_its_work(viewer):
    rows = viewer.query(
        "select a.name, a.category, b.name, b.category, count(*) from flow "
        "join slice a on slice_out = a.id join slice b on slice_in = b.id group by 1, 2, 3, 4"
    )
    assert sorted(rows) == [
        ["FILL", "launch", "FILL", "parallel_for", 20],
        ["deep_copy", "copy", "deep_copy", "copy", 20],
        ["first", "launch", "first", "parallel_for", 200],
        ["second", "launch", "second", "parallel_for", 200],
    ]


def test_perfetto_shows_queues_side_by_side(viewer):
    ((together,),) = viewer.query(
        "select count(*) from slice a join slice b on a.track_id != b.track_id "
        "and a.ts < b.ts + b.dur and b.ts < a.ts + a.dur "
        "where a.name = 'first' and a.category = 'parallel_for' "
        "and b.name = 'second' and b.category = 'parallel_for'"
    )
    assert together >= 200
    depths = viewer.query(
        "select distinct depth from slice where name = 'first' and category = 'parallel_for'"
    )
    assert depths == [[0]]  # none within another


def test_perfetto_shows_memory(viewer):
    rows = viewer.query(
        "select distinct process_counter_track.name, process.name from counter "
        "join process_counter_track on counter.track_id = process_counter_track.id "
        "join process using (upid)"
    )
    assert rows == [["host live bytes", "memory"]]
    values = [n for (n,) in viewer.query("select value from counter order by ts")]
    assert max(values) - values[-1] == 40_000


def test_the_viewer_of_chrome_takes_all_of_it_without_complaint(browser, trace):
    assert browser.tracing(trace) == script.expected(trace)


def test_slices_half_in_each_other_would_be_noticed(browser, tmp_path):
    path = tmp_path / "wrong.json"
    names = [
        {"ph": "M", "name": f"{what}_name", "pid": 1, "tid": tid, "args": {"name": what}}
        for what, tid in (("process", 0), ("thread", 7))
    ]
    slices = [
        {"ph": "X", "name": name, "cat": "c", "pid": 1, "tid": 7, "ts": ts, "dur": 10, "args": {}}
        for name, ts in (("a", 0), ("b", 5))
    ]
    path.write_text(json.dumps({"traceEvents": names + slices}))
    assert browser.perfetto(path).model().complaints


def test_the_picture_of_the_documentation(tmp_path):
    picture = tmp_path / "hillslope.png"
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--output", str(picture)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    height, width = imread(picture).shape[:2]
    assert (width, height) == tuple(script.SIZE.values())
    assert len({tuple(pixel) for pixel in imread(picture)[200:300:4, ::8].reshape(-1, 4)}) > 5

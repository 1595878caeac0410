"""Ranges of NVTX: pushed and popped for regions, started and ended for what may interleave."""

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import execspace as es
from execspace import profiling
from execspace_tools.nvtx_ranges import COLOURS, NvtxRanges

COMPILER = shutil.which("gcc") or shutil.which("cc")


class Domain:
    """Records what the package nvtx is asked for."""

    def __init__(self):
        self.calls, self.made, self.ranges = [], [], 0

    def get_event_attributes(self, message, color, category):
        self.made.append((message, category))
        return message

    def push_range(self, attributes):
        self.calls.append(("push", attributes))

    def pop_range(self):
        self.calls.append(("pop",))

    def start_range(self, attributes):
        self.ranges += 1
        self.calls.append(("start", attributes, self.ranges))
        return self.ranges

    def end_range(self, range_id):
        self.calls.append(("end", range_id))

    def mark(self, attributes):
        self.calls.append(("mark", attributes))


class Library:
    def __init__(self):
        self.domains = {}

    def get_domain(self, name):
        return self.domains.setdefault(name, Domain())


@pytest.fixture
def domain():
    """What is recorded while the tool is attached."""
    library = Library()
    with es.profile(NvtxRanges(library=library)):
        yield library.domains["execspace"]


def test_regions_nest_and_kernels_have_numbers(launches, domain):
    with profiling.region("step"):
        first, second = launches.begin("a"), launches.begin("b")
        launches.end(first)
        launches.end(second)
        profiling.mark_event("half way")
    assert domain.calls == [
        ("push", "step"), ("start", "a", 1), ("start", "b", 2), ("end", 1), ("end", 2),
        ("mark", "half way"), ("pop",),
    ]  # fmt: skip


def test_copies_fences_and_compilations(launches, domain):
    launches.copy("x@host", "y@far", 80, 0.1)
    profiling.emit("on_fence_begin", "far", 0, "", id := profiling.new_id())
    profiling.emit("on_fence_end", id)
    profiling.emit("on_compile", "flux", "far", 0.1, True)
    assert domain.calls == [
        ("start", "x@host -> y@far", 1), ("end", 1), ("start", "fence of far", 2), ("end", 2),
        ("mark", "flux loaded"),
    ]  # fmt: skip


def test_sections_have_numbers_and_dual_views_are_marked(domain):
    part = profiling.Section("part")
    with profiling.region("step"):
        part.start()
    profiling.emit("on_dual_view_modify", "D", "host")
    profiling.emit("on_dual_view_sync", "D", "device", 8)
    part.stop()
    assert domain.calls == [
        ("push", "step"), ("start", "part", 1), ("pop",), ("mark", "modify D on host"),
        ("mark", "sync D to device"), ("end", 1),
    ]  # fmt: skip
    assert all(category in COLOURS for _, category in domain.made)


def test_attributes_are_made_once(launches, domain):
    for _ in range(3):
        launches.kernel("flux", 1.0)
    launches.kernel("flux", 1.0, pattern="parallel_reduce")
    assert domain.made == [("flux", "parallel_for"), ("flux", "parallel_reduce")]


def test_a_region_from_before_the_tool_is_not_popped(domain):
    profiling.emit("on_region_pop", "early")
    assert domain.calls == []


def test_regions_of_threads_are_apart(domain):
    def other():
        profiling.emit("on_region_pop", "early")  # of this thread, none was pushed

    with profiling.region("mine"):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert domain.calls == [("push", "mine"), ("pop",)]


def test_what_is_open_ends_with_the_tool(launches):
    library = Library()
    with es.profile(NvtxRanges("mine", library)):
        launches.begin("a")
        profiling.push_region("r")
    profiling.pop_region()
    assert library.domains["mine"].calls[2:] == [("end", 1), ("pop",)]


def test_without_the_package_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "nvtx", None)
    with (
        pytest.raises(es.ToolError, match=r"pip install nvtx"),
        es.profile("nvtx"),
    ):
        raise AssertionError("never reached")


def test_the_real_package_takes_all_calls(launches):
    pytest.importorskip("nvtx", reason="pip install nvtx")
    with es.profile("nvtx:domain=tests"):
        with profiling.region("step"):
            es.parallel_for(es.RangePolicy(4, space="serial"), lambda i: None, label="nothing")
            es.deep_copy(es.View(4), 1.0)
            es.fence("here")
            profiling.mark_event("half way")
        launches.begin("unfinished")
    assert not profiling.TOOLS  # and it was not dropped before: that is a warning, so an error


RECORDED = """
import execspace as es

def nothing(i):
    pass

policy = es.RangePolicy(4, space="oracle")
with es.profile("nvtx"), es.profiling.region("step"):
    for _ in range(2):
        es.parallel_for(policy, nothing, label="flux")
    es.profiling.mark_event("half way")
    es.fence("here")
"""


@pytest.mark.skipif(not COMPILER, reason="no C compiler; install gcc")
def test_ranges_arrive_at_a_profiler(tmp_path):
    pytest.importorskip("nvtx", reason="pip install nvtx")
    library, program = tmp_path / "recorder.so", tmp_path / "program.py"
    source = Path(__file__).with_name("nvtx_recorder.c")
    subprocess.run([COMPILER, "-shared", "-fPIC", "-o", library, source], check=True)
    program.write_text(RECORDED)
    found = subprocess.run(
        [sys.executable, program],
        env={**os.environ, "NVTX_INJECTION64_PATH": str(library)},
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    lines = found.stdout.splitlines()
    assert lines[0] == "domain execspace"
    told = [line for line in lines[1:] if line.split()[0] != "category"]
    assert told == [
        "push step", "start flux #1 colour 0072b2", "end #1", "start flux #2 colour 0072b2",
        "end #2", "mark half way", "start here #3 colour d55e00", "end #3", "pop",
    ]  # fmt: skip
    assert {"category region", "category parallel_for", "category fence"} <= set(lines)

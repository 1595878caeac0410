"""Ranges of ROCTX: pushed and popped for regions, started and stopped for what may interleave."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import execspace as es
from execspace import profiling
from execspace_tools.roctx_ranges import RoctxRanges

COMPILER = shutil.which("gcc") or shutil.which("cc")


class Library:
    """Records what AMD's module is asked for; its functions return tuples, as that one's do."""

    def __init__(self, there=True):
        self.calls, self.ranges, self.there = [], 0, there

    def has_symbol(self, name):
        assert name == "roctxMarkA"
        return self.there

    def roctxRangePushA(self, message):
        self.calls.append(("push", message))
        return (0,)

    def roctxRangePop(self):
        self.calls.append(("pop",))
        return (0,)

    def roctxRangeStartA(self, message):
        self.ranges += 1
        self.calls.append(("start", message, self.ranges))
        return (self.ranges,)

    def roctxRangeStop(self, number):
        self.calls.append(("stop", number))

    def roctxMarkA(self, message):
        self.calls.append(("mark", message))


def test_what_is_a_range_and_what_is_a_mark(launches):
    library = Library()
    section = profiling.Section("part")
    with es.profile(RoctxRanges(library)):
        with profiling.region("step"):
            first, second = launches.begin("a"), launches.begin("b")
            launches.end(first)
            launches.end(second)
            profiling.mark_event("half way")
            section.start()
        launches.copy("x@host", "y@far", 80, 0.1)
        section.stop()
        profiling.emit("on_dual_view_sync", "D", "host", 8)
        profiling.emit("on_dual_view_modify", "D", "host")
    assert library.calls == [
        ("push", b"step"), ("start", b"a", 1), ("start", b"b", 2), ("stop", 1), ("stop", 2),
        ("mark", b"half way"), ("start", b"part", 3), ("pop",),
        ("start", b"x@host -> y@far", 4), ("stop", 4), ("stop", 3),
        ("mark", b"sync D to host"), ("mark", b"modify D on host"),
    ]  # fmt: skip


def test_a_label_is_text_for_c(launches):
    library = Library()
    with es.profile(RoctxRanges(library)):
        launches.begin("h\N{LATIN SMALL LETTER O WITH DIAERESIS}he\0x")
    assert library.calls[0] == ("start", b"h\xc3\xb6he x", 1)
    assert library.calls[1:] == [("stop", 1)]  # what is open ends with the tool


def test_without_the_package_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "rocm", None)
    with (
        pytest.raises(es.ToolError, match=r"pip install rocm-bindings-systems"),
        es.profile("roctx"),
    ):
        raise AssertionError("never reached")


def test_without_rocm_it_says_so():
    with pytest.raises(es.ToolError, match="no library roctx64 of ROCm; install ROCm, or set"):
        RoctxRanges(Library(there=False))


RECORDED = """
import execspace as es

def nothing(i):
    pass

policy = es.RangePolicy(4, space="oracle")
with es.profile("roctx"), es.profiling.region("step"):
    es.parallel_for(policy, nothing, label="flux")
    es.profiling.mark_event("half way")
    es.fence("here")
"""


@pytest.mark.skipif(not COMPILER, reason="no C compiler; install gcc")
def test_ranges_arrive_at_a_library(tmp_path):
    if importlib.util.find_spec("rocm") is None:
        pytest.skip("AMD's package; pip install rocm-bindings-systems")
    folder, program = tmp_path / "rocm" / "lib", tmp_path / "program.py"
    folder.mkdir(parents=True)
    source = Path(__file__).with_name("roctx_recorder.c")
    library = folder / "libroctx64.so"
    subprocess.run([COMPILER, "-shared", "-fPIC", "-o", library, source], check=True)
    program.write_text(RECORDED)
    found = subprocess.run(
        [sys.executable, program],
        env={**os.environ, "ROCM_PATH": str(folder.parent)},
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    told = [line for line in found.stdout.splitlines() if not line.startswith("mark nothing ")]
    assert told == [
        "push step", "start flux #1", "stop #1", "mark half way", "start here #2", "stop #2", "pop",
    ]  # fmt: skip
    assert found.stderr == ""

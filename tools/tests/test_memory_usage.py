"""Memory over time: the resident set of the process, and what Views hold."""

import builtins
import csv
import json
import re
import sys

import numpy as np
import pytest

import execspace as es
from execspace import profiling
from execspace_tools import memory_usage
from execspace_tools.memory_usage import MemoryUsage

LARGE = 40_000_000  # bytes, well above what else a process of tests does meanwhile


def test_what_is_allocated_and_touched_is_resident():
    with es.profile("memory-usage:interval=0") as found:
        profiling.mark_event("before")
        held = np.ones(LARGE // 8)
        profiling.mark_event("held")
        del held
        profiling.mark_event("after")
    _, before, held, after, *_ = (row.resident for row in found["memory-usage"].records())
    assert 0.9 * LARGE < held - before < 1.5 * LARGE
    assert 0.9 * LARGE < held - after < 1.5 * LARGE


def test_views_are_in_it_by_memory_space():
    kept = es.View(1000, label="from before", memory=es.HOST)
    with es.profile("memory-usage:interval=0") as found:
        x = es.View(2000, label="x", memory=es.HOST)
        del x
    rows = [row.views.get("host", 0) for row in found["memory-usage"].records()]
    assert rows[1] - rows[0] == 16000
    assert rows[2] == rows[0] >= kept.nbytes
    assert rows[-1] == rows[0]


def test_rows_are_an_interval_apart(launches, monkeypatch):
    class Clock:
        now = 100.0

        def perf_counter(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(memory_usage, "time", clock)
    tool = MemoryUsage(interval=1.0)
    with es.profile(tool):
        for step in (0.5, 0.5, 0.25, 0.25, 0.25, 0.25, 0.125):
            clock.now += step
            launches.kernel("flux", 1.0)
    assert [row.time for row in tool.records()] == [0.0, 1.0, 2.0, 2.125]


def test_a_long_series_is_thinned_out_and_keeps_its_ends(launches):
    tool = MemoryUsage(interval=0.0, limit=10)
    with es.profile(tool):
        for _ in range(100):
            launches.kernel("flux", 1.0)
    rows = tool.records()
    assert len(rows) <= 11
    times = [row.time for row in rows]
    assert times == sorted(times)
    assert max(rows, key=lambda r: r.resident).resident == tool._largest.resident


def test_the_series_goes_to_a_file(tmp_path):
    table, text = tmp_path / "usage.csv", tmp_path / "usage.json"
    for path in (table, text):
        with es.profile(f"memory-usage:{path}:interval=0") as found:
            x = es.View(100, label="x", memory=es.HOST)
            del x
        assert f"4 rows written to {path}" in str(found)
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert len(rows) == 4
    assert int(rows[1]["host"]) - int(rows[0]["host"]) == 800
    assert all(int(row["resident"]) > 1_000_000 for row in rows)
    document = json.loads(text.read_text())
    first, second = (row["views"].get("host", 0) for row in document["rows"][:2])
    assert second - first == 800
    # Linux counts pages in batches for each thread, so the two need not agree to the page.
    largest = max(row["resident"] for row in document["rows"])
    assert document["resident_peak"] > 0.95 * largest


def test_the_report_has_the_beginning_the_peak_and_the_end():
    with es.profile("memory-usage") as found:
        profiling.mark_event("now")
    lines = str(found).splitlines()
    assert lines[0] == "Memory over time"
    told = [line for line in lines if line.startswith("at ")]
    assert [line.split("  ")[0] for line in told] == [
        "at the beginning", "at its largest", "at last",
    ]  # fmt: skip


def elsewhere(monkeypatch):
    """As on a platform that has no such file."""
    opened = builtins.open

    def refuse(path, *args, **options):
        if path == "/proc/self/statm":
            raise FileNotFoundError(path)
        return opened(path, *args, **options)

    monkeypatch.setattr(builtins, "open", refuse)


def test_elsewhere_psutil_tells(monkeypatch):
    pytest.importorskip("psutil", reason="pip install psutil")
    elsewhere(monkeypatch)
    with es.profile("memory-usage:interval=0") as found:
        profiling.mark_event("now")
    assert all(row.resident > 1_000_000 for row in found["memory-usage"].records())


def test_without_either_it_says_what_to_install(monkeypatch):
    elsewhere(monkeypatch)
    monkeypatch.setitem(sys.modules, "psutil", None)
    with pytest.raises(es.ToolError, match="pip install psutil"), es.profile("memory-usage"):
        raise AssertionError("never reached")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("interval=-1", "interval=-1; expected seconds, 0 or more"),
        ("limit=3", "limit=3; expected 10 or more rows"),
        ("usage.txt", "expected a name that ends in .csv or .json"),
    ],
)
def test_options_are_checked(options, message):
    with (
        pytest.raises(es.ToolError, match=re.escape(message)),
        es.profile(f"memory-usage:{options}"),
    ):
        raise AssertionError("never reached")

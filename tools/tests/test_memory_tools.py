"""Memory: its high-water mark with what was there, and a log of each allocation and release."""

import csv
import gc
import json
import re

import pytest

import execspace as es
from execspace import profiling
from execspace_tools.memory_events import MemoryEvents
from execspace_tools.memory_high_water import HighWaterRecord, Holding, resident_peak
from execspace_tools.peaks import Peak


def of(found, space):
    return next(r for r in found["memory-high-water"].records() if r.space == space)


def up_and_down(launches):
    """300 bytes at the peak: a, and b twice; then c."""
    a = launches.allocate("a", 100)
    b = [launches.allocate("b", 100) for _ in range(2)]
    for id in b:
        launches.free(id, "b", 100)
    launches.allocate("c", 50)
    launches.allocate("d", 7, space="near")
    return a


def test_the_high_water_mark_has_what_was_in_use_then(launches):
    with es.profile("memory-high-water") as found:
        up_and_down(launches)
    assert of(found, "far") == HighWaterRecord(
        "far", 300, 150, 4, (Holding("b", 2, 200), Holding("a", 1, 100))
    )
    assert of(found, "near") == HighWaterRecord("near", 7, 7, 1, (Holding("d", 1, 7),))


def test_the_report_of_the_high_water_mark(launches, tmp_path):
    path = tmp_path / "memory.json"
    with es.profile(f"memory-high-water:{path}") as found:
        up_and_down(launches)
    report = str(found)
    assert re.search(r"^far +300 B +150 B +4$", report, re.MULTILINE)
    assert (
        """\
At the peak in far

label  allocations   size   share
─────────────────────────────────
b                2  200 B  66.7 %
a                1  100 B  33.3 %
"""
        in report
    )
    document = json.loads(path.read_text())
    (far,) = (space for space in document["spaces"] if space["space"] == "far")
    assert far["peak"] == 300
    assert far["at_peak"][0] == {"label": "b", "allocations": 2, "nbytes": 200}
    if resident_peak() is not None:
        assert document["resident_peak"] > 1 << 20
        assert re.search(r"with all that it loaded: [\d.]+ [MG]iB", report)


def test_a_limit_adds_the_rest_up(launches):
    with es.profile("memory-high-water:limit=1") as found:
        for label, size in (("a", 60), ("b", 30), ("c", 10)):
            launches.allocate(label, size)
    assert re.search(r"^a +1 +60 B  60\.0 %\nand 2 more +2 +40 B  40\.0 %$", str(found), re.M)


def test_a_view_without_a_label_is_called_that(launches):
    with es.profile("memory-high-water", "memory-events", "space-time-stack") as found:
        launches.allocate("", 60)
    assert str(found).count("(no label)") == 4  # the log shows it as still allocated, too


def test_a_higher_peak_replaces_a_lower_one():
    peak = Peak()
    peak.add("a", 10)
    peak.add("b", 10)
    peak.remove("b", 10)
    peak.add("c", 5)
    assert peak.at_peak() == [("a", 1, 10), ("b", 1, 10)]  # 20, and not the 15 of now
    peak.add("d", 6)
    assert (peak.peak, peak.current) == (21, 21)
    assert peak.at_peak() == [("a", 1, 10), ("d", 1, 6), ("c", 1, 5)]
    peak.remove("never seen", 100)
    assert peak.current == 21


def test_views_from_before_the_tool_count():
    x = es.View(1000, label="early")
    with es.profile("memory-high-water") as found:
        y = es.View(500, label="late")
        at_most = sum(size for space, size, _ in es.live_allocations() if space == "host")
        del x, y
        gc.collect()
    host = of(found, "host")
    assert host.peak == at_most
    assert {Holding("early", 1, 8000), Holding("late", 1, 4000)} <= set(host.at_peak)
    assert host.current == at_most - 12000
    assert host.allocations == 1


# -- the log --------------------------------------------------------------------------------------


def test_the_log_of_memory(launches, clock):
    with es.profile("memory-events:copies=1") as found:
        a = launches.allocate("a", 1024)
        clock.now += 0.5
        launches.allocate("b", 512)
        launches.copy("a@far", "b@far", 512, 0.1)
        profiling.emit("on_staging", "host", 256)
        launches.free(a, "a", 1024)
    told = [(e.time, e.event, e.space, e.nbytes, e.live, e.label)
            for e in found["memory-events"].records()]  # fmt: skip
    assert told == [
        (0.0, "allocate", "far", 1024, 1024, "a"),
        (0.5, "allocate", "far", 512, 1536, "b"),
        (0.5, "copy", "far", 512, 1536, "a@far -> b@far"),
        (0.5, "staging", "host", 256, 0, "buffer of a copy"),
        (0.5, "free", "far", 1024, 512, "a"),
    ]
    first, *_, last = found["memory-events"].records()
    assert first.id == last.id == a
    assert [e.label for e in found["memory-events"].still_allocated()] == ["b"]
    assert "still allocated at the end: 1 of 512 B in all" in str(found)


def test_the_log_of_real_views():
    with es.profile("memory-events") as found:
        x = es.View(16, label="x")
        kept = es.View(8, label="kept")
        es.deep_copy(x, 1.0)
        del x
        gc.collect()
    told = [(e.event, e.label, e.nbytes) for e in found["memory-events"].records()]
    assert told == [("allocate", "x", 128), ("allocate", "kept", 64), ("free", "x", 128)]
    (left,) = found["memory-events"].still_allocated()
    assert (left.label, left.space) == ("kept", kept.memory_space.name)


def test_a_view_from_before_the_tool_is_only_seen_to_go():
    x = es.View(16, label="x")
    with es.profile("memory-events") as found:
        del x
        gc.collect()
    ((event, live),) = ((e.event, e.live) for e in found["memory-events"].records())
    assert (event, live) == ("free", 0)


@pytest.mark.parametrize("ending", ["csv", "txt"])
def test_the_log_goes_to_a_file_while_the_program_runs(launches, tmp_path, ending):
    path = tmp_path / f"memory.{ending}"
    with es.profile(f"memory-events:{path}") as found:
        a = launches.allocate("a, or b", 2048)
        launches.free(a, "a, or b", 2048)
    assert found["memory-events"].records() == ()
    assert f"2 events written to {path}" in str(found)
    if ending == "csv":
        first, second = csv.DictReader(path.read_text().splitlines())
        assert (first["event"], first["nbytes"], first["live"]) == ("allocate", "2048", "2048")
        assert (second["event"], second["label"], second["live"]) == ("free", "a, or b", "0")
    else:
        head, first, second = path.read_text().splitlines()
        assert head.split() == ["time", "event", "space", "id", "nbytes", "live", "label"]
        assert first.endswith(f"allocate  far           {a:8}   2.00 KiB   2.00 KiB  a, or b")
        assert second.split()[1] == "free"


def test_a_log_without_a_file_has_a_limit(launches):
    with es.profile("memory-events:limit=2") as found:
        for _ in range(5):
            launches.allocate("a", 1)
    assert len(found["memory-events"].records()) == 2
    report = str(found)
    assert "and 3 more, beyond limit=2; path=FILE has all" in report
    assert "still allocated at the end: 5 of 5 B in all" in report
    assert report.endswith("and 3 more")


def test_garbage_collected_while_a_line_is_written(tmp_path):
    path = tmp_path / "memory.csv"
    tool = MemoryEvents(str(path))

    class Collecting:
        """A file during whose writing a View dies, as garbage collection may have it."""

        def __init__(self, file):
            self.file, self.done = file, False

        def write(self, text):
            if not self.done and "allocate" in text:
                self.done = True
                tool.on_free("far", "inner", 1, 7)
            self.file.write(text)

        def close(self):
            self.file.close()

    tool._file._file = Collecting(tool._file._file)
    tool.on_allocate("far", "outer", 1, 8)
    tool.finish()
    assert [row["event"] for row in csv.DictReader(path.read_text().splitlines())] == [
        "allocate",
        "free",
    ]


def test_the_report_tells_what_pools_keep():
    es.trim_pools()
    with es.profile("memory-high-water") as found:
        small = es.View(1000, memory=es.HOST)
        del small
        assert of(found, "host").kept == 8192
        assert "kept for later Views at the end: 8.00 KiB of host" in str(found)
        es.trim_pools()
        assert of(found, "host").kept == 0 and "kept for later" not in str(found)

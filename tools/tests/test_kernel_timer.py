"""The kernel timer: calls and times of each kernel, by space, pattern and label."""

import csv
import json

import pytest

import execspace as es
from execspace import profiling
from execspace_tools.kernel_timer import KernelRecord, KernelTimer


def some_launches(launches, clock):
    launches.kernel("flux", 0.3, start=100.0)
    launches.kernel("flux", 0.1, start=100.3)
    launches.kernel("norm", 0.1, start=100.4, pattern="parallel_reduce")
    launches.kernel("flux", 0.5, start=100.5, space="near")
    profiling.emit("on_compile", "flux", "far", 0.25, False)
    clock.now = 102.0


def test_a_row_for_each_space_pattern_and_label(launches, clock):
    with es.profile("kernel-timer") as found:
        some_launches(launches, clock)
    assert found["kernel-timer"].records() == (
        KernelRecord("near", "parallel_for", "flux", 1, 1, 0.5, 0.5, pytest.approx(50), 0.5, 0.5),
        KernelRecord(
            "far", "parallel_for", "flux", 2, 2, pytest.approx(0.4), pytest.approx(0.2),
            pytest.approx(40), pytest.approx(0.1), pytest.approx(0.3),
        ),
        KernelRecord(
            "far", "parallel_reduce", "norm", 1, 1, pytest.approx(0.1), pytest.approx(0.1),
            pytest.approx(10), pytest.approx(0.1), pytest.approx(0.1),
        ),
    )  # fmt: skip


def test_the_report(launches, clock):
    with es.profile("kernel-timer") as found:
        some_launches(launches, clock)
    assert (
        str(found)
        == """\
Kernels

label  space  pattern  calls   total  average    share     min     max
──────────────────────────────────────────────────────────────────────
flux   near   for          1  500 ms   500 ms   50.0 %  500 ms  500 ms
flux   far    for          2  400 ms   200 ms   40.0 %  100 ms  300 ms
norm   far    reduce       1  100 ms   100 ms   10.0 %  100 ms  100 ms
──────────────────────────────────────────────────────────────────────
all                        4  1.00 s           100.0 %

wall time 2.00 s, 50.0 % of it with kernels running
1 kernel compiled, or loaded from the cache, in 250 ms"""
    )


def test_kernels_that_overlap_cover_the_wall_once(launches, clock):
    with es.profile("kernel-timer") as found:
        launches.kernel("a", 1.0, start=100.0, queue=1)
        launches.kernel("a", 1.0, start=100.5, queue=2)
        clock.now = 103.0
    timer = found["kernel-timer"]
    assert timer.records()[0].total == 2.0
    assert (timer.busy, timer.wall) == (1.5, 3.0)


def test_a_launch_without_a_time_is_counted_and_said_so(launches, clock):
    with es.profile("kernel-timer") as found:
        launches.kernel("a", 0.5)
        for _ in range(2):
            launches.end(launches.begin("a"))
        launches.end(launches.begin("b"))
    a, b = found["kernel-timer"].records()
    assert (a.calls, a.timed, a.total, a.average) == (3, 1, 0.5, 0.5)
    assert (b.calls, b.timed, b.total, b.average, b.minimum) == (1, 0, 0.0, None, None)
    report = str(found)
    assert "3 launches on far without a time; the totals do not have them" in report
    (row,) = (line.split() for line in report.splitlines() if line.startswith("b "))
    assert row == ["b", "far", "for", "1", "-", "-", "0.0", "%", "-", "-"]


def test_times_may_come_long_after_the_launch(launches):
    with es.profile("kernel-timer") as found:
        first, second = launches.begin("a"), launches.begin("b")
        launches.end(first)
        launches.end(second)
        launches.time(second, 5.0, 6.0)
        launches.time(first, 3.0, 3.5)
    assert [(r.label, r.total) for r in found["kernel-timer"].records()] == [("b", 1.0), ("a", 0.5)]


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("total", "acb"), ("calls", "bca"), ("average", "acb"), ("min", "acb"), ("max", "acb"),
        ("label", "abc"),
    ],
)  # fmt: skip
def test_rows_are_sorted_by_any_column(launches, sort, order):
    with es.profile(f"kernel-timer:sort={sort}") as found:
        for label, calls in (("b", 3), ("c", 2), ("a", 1)):
            for _ in range(calls):
                launches.kernel(label, 0.1 if label == "b" else 1.0 / calls)
    assert "".join(r.label for r in found["kernel-timer"].records()) == order


def test_a_limit_shows_the_first_rows_and_the_rest_as_one(launches):
    with es.profile("kernel-timer:limit=1") as found:
        for label, length in (("a", 3.0), ("b", 0.5), ("c", 0.5)):
            launches.kernel(label, length)
    lines = [line.split() for line in str(found).splitlines()]
    assert lines[4][:5] == ["a", "far", "for", "1", "3.00"]
    assert lines[5] == ["and", "2", "more", "rows", "2", "1.00", "s", "25.0", "%"]
    assert lines[7] == ["all", "3", "4.00", "s", "100.0", "%"]


def test_copies_and_fences_have_tables_of_their_own(launches, clock):
    with es.profile("kernel-timer:copies=1:fences=1") as found:
        launches.copy("x@host", "y@far", 80, 0.25)
        launches.copy("a@b@host", "z@far", 80, 0.25, space="far")
        profiling.emit("on_fence_begin", "far", 0, "", id := profiling.new_id())
        clock.now += 2.0
        profiling.emit("on_fence_end", id)
    records = found["kernel-timer"].records()
    assert [(r.space, r.pattern, r.label, r.total) for r in records] == [
        ("", "deep_copy", "host -> far", 0.25),
        ("far", "deep_copy", "host -> far", 0.25),
        ("far", "fence", "(no label)", 2.0),
    ]
    report = str(found)
    assert "no kernel was launched" in report
    assert "host -> far  (blocks)      1  250 ms   250 ms   50.0 %" in report
    assert "(no label)  far        1  2.00 s   2.00 s  100.0 %" in report


def test_copies_and_fences_are_left_out_unless_asked_for(launches):
    with es.profile("kernel-timer") as found:
        launches.copy("x@host", "y@far", 80, 0.25)
        es.fence()
    assert found["kernel-timer"].records() == ()


@pytest.mark.parametrize("ending", ["csv", "json"])
def test_records_go_to_a_file(launches, tmp_path, ending):
    path = tmp_path / f"kernels.{ending}"
    with es.profile(f"kernel-timer:{path}:limit=1") as found:
        launches.kernel("a, or b", 0.5)
        launches.end(launches.begin("c"))
    assert str(found).endswith(f"written to {path}")
    if ending == "json":
        first, second = json.loads(path.read_text())
        assert second["average"] is None
    else:
        first, second = csv.DictReader(path.read_text().splitlines())
        assert second["average"] == ""
    assert (first["label"], float(first["total"]), int(first["calls"])) == ("a, or b", 0.5, 1)
    assert (second["label"], int(second["timed"])) == ("c", 0)
    assert list(tmp_path.iterdir()) == [path]  # nothing temporary is left


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("sort=length", "sort='length'; expected one of total, calls, average, min, max, label"),
        ("out.txt", "expected a name that ends in .csv or .json"),
        ("nowhere/out.csv", "in a folder that does not exist; make '.*nowhere' first"),
    ],
)
def test_options_are_checked_before_anything_runs(options, message):
    with pytest.raises(es.ToolError, match=message), es.profile(f"kernel-timer:{options}"):
        raise AssertionError("never reached")


def fill(i, x):
    x[i] = i


@pytest.mark.parametrize("name", ["serial", "openmp"])
def test_kernels_of_a_real_space(name):
    with es.profile("kernel-timer") as found, es.use_space(name):
        x = es.View(1000)
        for _ in range(3):
            es.parallel_for(1000, fill, x)
        es.parallel_reduce(1000, lambda i, x: x[i], x, label="sum")
        es.parallel_scan(1000, lambda i, prefix, final: i, label="offsets")
    timer = found["kernel-timer"]
    rows = {(r.pattern, r.label): r for r in timer.records()}
    assert {key: r.calls for key, r in rows.items()} == {
        ("parallel_for", "fill"): 3,
        ("parallel_reduce", "sum"): 1,
        ("parallel_scan", "offsets"): 1,
    }
    for row in rows.values():
        assert row.space == name and row.timed == row.calls
        assert 0 < row.minimum <= row.average <= row.maximum <= row.total
    assert 0 < timer.busy <= timer.wall
    assert sum(r.total for r in rows.values()) == pytest.approx(timer.busy)  # one after the other
    assert sum(r.share for r in rows.values()) == pytest.approx(100)


def test_kernels_of_an_asynchronous_space_with_two_queues():
    (found,) = (s for s in es.spaces() if s.name == "opencl")
    if not found.usable:
        pytest.skip(found.reason)
    first, second = es.space("opencl"), es.space("opencl").instance()
    with es.profile("kernel-timer") as found:
        x, y = es.View(1000, space=first), es.View(1000, space=first)
        for _ in range(3):
            es.parallel_for(es.RangePolicy(1000, space=first), fill, x)
            es.parallel_for(es.RangePolicy(1000, space=second), fill, y)
    timer = found["kernel-timer"]
    (row,) = timer.records()
    assert (row.space, row.label, row.calls, row.timed) == ("opencl", "fill", 6, 6)
    assert 0 < row.minimum <= row.maximum
    assert 0 < timer.busy <= min(timer.wall, row.total * 1.001)


def test_it_can_be_made_by_hand():
    with es.profile(KernelTimer(sort="label")) as found:
        es.parallel_for(es.RangePolicy(3, space="serial"), lambda i: None, label="nothing")
    assert [r.label for r in found["KernelTimer"].records()] == ["nothing"]

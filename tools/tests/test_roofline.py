"""The roofline: counted work and measured times of kernels, against measured roofs."""

import csv
import json
import os
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import execspace as es
from execspace import profiling
from execspace_tools import roofline, roofline_peaks
from execspace_tools.roofline import Roofline
from execspace_tools.roofline_peaks import Peaks, peaks_of

FAR = Peaks("far", "a device", 100e9, {"float64": 1000e9, "float32": 4000e9}, 1 << 30)


@pytest.fixture
def roofs(monkeypatch):
    """``roofs[space]``: roofs that are known without a measurement."""
    known = {"far": FAR}

    def find(space, say, anew, measuring):
        if space not in known:
            raise es.ToolError(f"The roofs of space '{space}' were not measured so far.")
        return known[space]

    monkeypatch.setattr(roofline, "peaks_of", find)
    return known


def launched(label, work, seconds, space="far"):
    """A launch of known work and time."""
    id = profiling.new_id()
    profiling.emit(
        "on_kernel_begin", "parallel_for", label, label, space, 0, None, id, lambda: work
    )
    if seconds is not None:
        profiling.emit("on_device_time", id, 1.0, 1.0 + seconds)
    profiling.emit("on_kernel_end", id)


def work(flops, moved, dtype="float64", **more):
    return es.Work(calls=1, flops={dtype: flops} if flops else {}, moved=moved, **more)


# -- against known roofs ---------------------------------------------------------------------------


def test_a_kernel_is_bound_by_the_roof_over_it(roofs):
    with es.profile("roofline") as found:
        launched("streams", work(1e9, 10_000_000_000), 0.2)  # at least 0.1 s for its bytes
        launched("computes", work(500e9, 1_000_000_000), 1.0)  # at least 0.5 s for its operations
    computes, streams = found["roofline"].records()
    assert (streams.bound, computes.bound) == ("memory", "compute")
    assert (streams.roof, computes.roof) == (pytest.approx(50), pytest.approx(50))
    assert streams.intensity == pytest.approx(0.1)
    assert (streams.gflops, streams.gbytes) == (pytest.approx(5), pytest.approx(50))


def test_each_dtype_has_a_roof_of_its_own(roofs):
    with es.profile("roofline") as found:
        launched("single", work(1000e9, 1, "float32"), 0.5)
        launched("double", work(1000e9, 1, "float64"), 2.0)
        launched("half", work(1000e9, 1, "float16"), 1.0)
    rows = {r.label: r for r in found["roofline"].records()}
    assert rows["single"].roof == pytest.approx(50)
    assert rows["double"].roof == pytest.approx(50)
    assert (rows["half"].roof, rows["half"].bound) == (None, "")  # nobody measured that


def test_launches_of_a_kernel_add_up(roofs):
    with es.profile("roofline") as found:
        launched("flux", work(1e9, 1_000_000_000), 0.1)
        launched("flux", work(3e9, 1_000_000_000), 0.1)
        launched("flux", None, 0.1)  # of work that is not known
        launched("flux", work(1e9, 1_000_000_000), None)  # of which no time came
    (flux,) = found["roofline"].records()
    assert (flux.calls, flux.timed) == (4, 2)
    assert (flux.flops, flux.moved, flux.seconds) == (4e9, 2e9, pytest.approx(0.2))
    assert "2 of the launches" in str(found)


def test_the_table_has_a_row_for_each_kernel(roofs):
    with es.profile("roofline") as found:
        launched("flux", work(2e9, 1 << 30), 0.1)
        launched("copy", work(0, 1 << 30), 0.1)
        launched("norm", work(2e9, 1 << 30, notes=("line 3: a guess",), exact=False), 0.1)
    lines = str(found).splitlines()
    head = "kernel  calls  time  flop  moved  flop/B  Gflop/s  GB/s  of roof  bound by"
    assert lines[2].split() == head.split()
    cells = {line.split()[0]: " ".join(line.split()[1:]) for line in lines[4:7]}
    assert cells["flux"] == "1 100 ms 2 G 1.00 GiB 1.86 20.0 10.7 10.7 % memory"
    assert cells["copy"] == "1 100 ms 0 1.00 GiB 0 0 10.7 10.7 % memory"
    assert cells["norm"].startswith("1 100 ms ~2 G ~1.00 GiB")
    text = str(found)
    assert "roofs of space 'far' (a device), measured: 100 GB/s, 1000 Gflop/s of float64" in text
    assert "norm: line 3: a guess" in text


def test_what_caches_did_is_said(roofs):
    with es.profile("roofline") as found:
        launched("small", work(1e3, 1_000_000), 1e-6)
        launched("waves", work(1e3, 1_000_000, functions={"sin": 10.0}), 1.0)
    assert "more than 100 %" in str(found)
    assert "mathematical functions are not counted as operations: waves" in str(found)


def test_without_roofs_the_counts_and_rates_come(roofs):
    with es.profile("roofline") as found:
        launched("flux", work(2e9, 1_000_000_000), 0.1, space="near")
    (flux,) = found["roofline"].records()
    assert (flux.gflops, flux.roof, flux.bound) == (pytest.approx(20), None, "")
    assert "The roofs of space 'near' were not measured so far." in str(found)


def test_roofs_that_a_busy_machine_gave_are_told_to_be_too_low(roofs):
    roofs["far"] = replace(FAR, busy=0.6)
    with es.profile("roofline") as found:
        launched("flux", work(2e9, 1 << 30), 0.1)
    assert "other programs used 60 % of the processors" in str(found)
    assert "measured again next time" in str(found)


def test_nothing_ran(roofs):
    with es.profile("roofline") as found:
        pass
    assert "no kernel was launched" in str(found)


# -- a program -------------------------------------------------------------------------------------


def triad(i, a, b, c, s):
    a[i] = b[i] + s * c[i]


def test_work_of_a_program_is_counted_and_its_results_stay_the_same(roofs):
    n = 1000
    a, b, c = np.zeros(n), np.arange(n, dtype=float), np.ones(n)
    policy = es.RangePolicy(n, space="serial")
    with es.profile("roofline") as found:
        es.parallel_for(policy, triad, a, b, c, 3.0)
        es.parallel_for(policy, triad, a, b, c, 3.0)
        total = es.parallel_reduce(policy, lambda i: a[i] * a[i], label="dot")
    assert total == np.dot(a, a) == np.dot(b + 3, b + 3)
    rows = {r.label: r for r in found["roofline"].records()}
    assert (rows["triad"].calls, rows["triad"].flops) == (2, 4 * n)
    assert rows["triad"].moved == 2 * 24 * n
    assert (rows["dot"].flops, rows["dot"].moved) == (2 * n, 8 * n)
    assert all(r.exact and r.seconds > 0 for r in rows.values())


def test_nothing_is_fenced_for_it(roofs):
    class Fences(es.profiling.Tool):
        count = 0

        def on_fence_begin(self):
            self.count += 1

    a, b, c = np.zeros(8), np.zeros(8), np.zeros(8)
    with es.profile("roofline", Fences()) as found:
        for _ in range(3):
            es.parallel_for(es.RangePolicy(8, space="serial"), triad, a, b, c, 3.0)
    assert found["Fences"].count == 0


# -- files -----------------------------------------------------------------------------------------


def test_records_go_to_a_file(roofs, tmp_path):
    as_json, as_csv = tmp_path / "r.json", tmp_path / "r.csv"
    with es.profile(Roofline(str(as_json))) as found:
        launched("flux", work(2e9, 1_000_000_000), 0.1)
    document = json.loads(as_json.read_text())
    assert document["kernels"][0]["gflops"] == pytest.approx(20)
    assert document["roofs"][0]["bandwidth"] == 100e9
    assert f"written to {as_json}" in str(found)
    with es.profile(f"roofline:path={as_csv}"):
        launched("flux", work(2e9, 1_000_000_000), 0.1)
    (row,) = csv.DictReader(as_csv.read_text().splitlines())
    assert (row["label"], row["bound"]) == ("flux", "memory")


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_figure(roofs, tmp_path, ending):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    path = tmp_path / f"r.{ending}"
    roofs["near"] = Peaks("near", "host", 10e9, {"float64": 50e9}, 1 << 30)
    with es.profile(f"roofline:plot={path}"):
        launched("flux", work(2e9, 1_000_000_000), 0.1)
        launched("norm", work(2e9, 1_000_000_000), 0.3, space="near")
        launched("copy", work(0, 1_000_000_000), 0.1)
    content = path.read_bytes()
    if ending == "png":
        assert content.startswith(b"\x89PNG")
        return
    text = content.decode()
    for label in ("flux", "norm", "float32: 4 Tflop/s", "memory: 100 GB/s", "memory: 10 GB/s"):
        assert f"<!-- {label} -->" in text
    assert "<!-- far (a device) -->" in text and "<!-- near (host) -->" in text  # the panels
    assert "or no time: copy" in text


def test_without_matplotlib_the_table_still_comes(roofs, tmp_path, monkeypatch):
    find = roofline.importlib.util.find_spec
    monkeypatch.setattr(
        roofline.importlib.util, "find_spec",
        lambda name: None if name == "matplotlib" else find(name),
    )  # fmt: skip
    path = tmp_path / "r.png"
    with pytest.warns(es.PluginWarning, match=re.escape("pip install matplotlib")):
        tool = Roofline(plot=str(path))
    with es.profile(tool) as found:
        launched("flux", work(2e9, 1_000_000_000), 0.1)
    assert "flux" in str(found) and not path.exists()


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("roofline:plot=figure.jpeg", "ends in .png or .svg or .pdf"),
        ("roofline:path=records.txt", "ends in .csv or .json"),
        ("roofline:plot=/nowhere/r.png", "a folder that does not exist"),
        ("roofline:peaks=0:anew=1", "choose one"),
    ],
)
def test_what_cannot_be_done_is_refused_before_the_program_runs(choice, message):
    with pytest.raises(es.ToolError, match=message), es.profile(choice):
        pass


# -- roofs -----------------------------------------------------------------------------------------

# Small Views and short launches: what they measure is not a roof, but how it is measured shows.
SMALL = """
from execspace_tools import roofline_peaks as p
p._FIRST, p._LEAST_BYTES, p._WATCHED, p._LONG_ENOUGH = 64, 24 << 7, 0.0, 0.0
p._cache_bytes, p._CHAINS, p._busy = lambda: 0, p._CHAINS[:1], lambda: {busy}
p.main({space!r})
"""


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Measurements are short, and kept in an empty folder; counts them."""
    monkeypatch.setenv("EXECSPACE_CACHE_DIR", str(tmp_path))
    run = subprocess.run
    asked = []

    def shorter(command, **options):
        if command[1:3] != ["-m", "execspace_tools.roofline_peaks"]:
            return run(command, **options)
        asked.append(command[3])
        return run(
            [
                sys.executable,
                "-c",
                SMALL.format(space=command[3], busy=os.environ.get("TEST_BUSY", "0.0")),
            ],
            **options,
        )

    monkeypatch.setattr(roofline_peaks.subprocess, "run", shorter)
    return asked


def test_roofs_are_measured_once_and_kept(small, tmp_path):
    said = []
    first = peaks_of("oracle", said.append)
    assert first.space == "oracle" and first.device
    assert first.bandwidth > 0 and first.nbytes == 24 << 7
    assert set(first.flops) == {"float64", "float32"} and all(first.flops.values())
    assert said == [
        "roofline: measuring the bandwidth and the peak of space 'oracle', once for each device "
        "and version ..."
    ]
    assert peaks_of("oracle", said.append) == first
    assert len(said) == len(small) == 1
    (path,) = (tmp_path / "tools").iterdir()
    path.write_text("{}")  # not what was written: measured again
    peaks_of("oracle", said.append)
    peaks_of("oracle", said.append, anew=True)
    assert len(small) == 3


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"\xff", b"[" * 100_000, b'{"format": 1, "flops": 3}', b'{"format": 1}']
)
def test_damaged_roofs_count_as_none(tmp_path, content):
    (tmp_path / "roofs.json").write_bytes(content)
    assert roofline_peaks._kept(tmp_path / "roofs.json") is None
    assert roofline_peaks._kept(tmp_path) is None


@pytest.mark.skipif(os.name != "posix", reason="no modes of this kind")
def test_the_cache_folder_is_made_for_the_user_alone(small, tmp_path, monkeypatch):
    monkeypatch.setenv("EXECSPACE_CACHE_DIR", str(tmp_path / "new"))
    before = os.umask(0o002)
    try:
        peaks_of("oracle")
    finally:
        os.umask(before)
    made = (tmp_path / "new", tmp_path / "new" / "tools")
    assert [path.stat().st_mode & 0o777 for path in made] == [0o700, 0o700]


def test_roofs_of_a_busy_machine_are_measured_again(small, monkeypatch):
    monkeypatch.setenv("TEST_BUSY", "0.5")
    assert peaks_of("oracle").busy == 0.5
    monkeypatch.delenv("TEST_BUSY")
    assert peaks_of("oracle").busy == 0.0
    peaks_of("oracle")
    assert len(small) == 2


def test_other_tools_do_not_see_the_measurement(small, capsys):
    events = []

    class Everything(es.profiling.Tool):
        def on_any(self, event):
            events.append(event)

    tool = Roofline()
    with es.profile(tool):
        es.parallel_for(es.RangePolicy(8, space="oracle"), triad, *np.zeros((3, 8)), 3.0)
    with es.profile(Everything()):
        (row,) = tool.records()
    assert not events and row.roof > 0
    assert "measuring" in capsys.readouterr().err


def test_roofs_that_are_not_there_are_only_measured_if_wanted(small):
    with es.profile("roofline:peaks=0") as found:
        es.parallel_for(es.RangePolicy(8, space="oracle"), triad, *np.zeros((3, 8)), 3.0)
    assert "The roofs of space 'oracle' were not measured so far." in str(found)
    assert not small


def test_a_measurement_that_fails_says_why(small):
    with pytest.raises(es.ToolError, match=r"space 'oracle:9' cannot be measured: .*no devices"):
        roofline_peaks._measured_apart("oracle:9")


def test_roofs_that_cannot_be_kept_are_told_with_a_warning(small, tmp_path, monkeypatch):
    (tmp_path / "tools").write_text("no folder")
    with pytest.warns(UserWarning, match="measured again next time"):
        assert peaks_of("oracle").bandwidth > 0

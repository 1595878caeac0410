"""The benchmark of latencies: it runs, its kernels by hand compile, and its chart is up to date."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import execspace as es

ROOT = Path(__file__).parents[2]


@pytest.fixture
def modules(monkeypatch):
    """``modules(name)`` imports a module of the benchmarks."""
    monkeypatch.syspath_prepend(ROOT)
    return lambda name: importlib.import_module(f"benchmarks.{name}")


def run(*arguments):
    command = [sys.executable, "-m", "benchmarks.latency.run", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)


def test_rows_are_timed_beside_those_of_others(tmp_path):
    file = tmp_path / "latency.json"
    done = run("--space", "serial", "--rounds", 1, "--only", "1000 kernels", "--json", file)
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads(file.read_text())
    assert record["devices"] == {"serial": record["machine"]["cpu"]}
    rows = {r["case"].removeprefix("1000 kernels, "): r for r in record["results"]}
    own = {"launches", "bound", "graph", "graph, fused"}
    assert {name for name, r in rows.items() if not r["peer"]} == own
    for name in own:
        assert 0 < rows[name]["min"] <= rows[name]["median"]
        assert rows[name]["over"].keys() == {
            r["case"] for r in record["results"] if r["peer"] and "median" in r
        }
    assert "median" in rows["NumPy: add"]
    assert "median" in rows["Numba: njit"] or rows["Numba: njit"]["not_there"]


def test_what_is_missing_or_wrong_is_said(modules, monkeypatch):
    rows, cases = modules("latency.rows"), modules("latency.run")
    absent = modules("common.optional")

    def wrong():
        raise AssertionError("1 became 2")

    def gone():
        raise absent.NotThere("abacus: not installed")

    made = [
        rows.Row("ours", lambda: None, group="g"),
        rows.Row("wrong", lambda: None, True, group="g", check=wrong),
        rows.attempt("gone", "g", gone),
        rows.Row("theirs", lambda: None, True, group="g"),
        rows.Row("another", lambda: None, True, group="h"),
    ]
    monkeypatch.setattr(cases, "rows", lambda space: made)
    found = {r["case"]: r for r in cases.measure("serial", "", 3)}
    assert found["wrong"]["error"] == "FAILED: AssertionError: 1 became 2"
    assert found["gone"]["not_there"] == "abacus: not installed"
    assert list(found["ours"]["over"]) == ["theirs"]
    table = cases._shown(list(found.values()))
    assert list(table.columns[2].cells)[1:3] == ["FAILED", "not there"]


def test_ratios_are_formed_round_by_round(modules):
    rows, cases = modules("latency.rows"), modules("latency.run")
    ours, theirs = rows.Row("a", int, group="g"), rows.Row("b", int, True, group="g")
    times = {"a": [1.0, 8.0, 3.0], "b": [2.0, 4.0, 1.0]}
    assert cases.over(ours, [ours, theirs], times) == {"b": 2.0}


@pytest.mark.parametrize("name", ["serial", "opencl"])
def test_launches_of_others_do_the_same(modules, name):
    """Those that are there on this machine; the check is that of the benchmark."""
    if not next(row.usable for row in es.spaces() if row.name == name):
        pytest.skip(f"{name} cannot be used here")
    peers = modules("latency.peers")
    made = [*peers.launches_on_hosts(), *peers.launches_on_cuda()]
    if name == "opencl":
        made = peers.launches_of_pyopencl(es.space(name))
    checked = [row for row in made if getattr(row, "check", None)]
    for row in checked:
        row.check()
    assert not [row.reason for row in made if getattr(row, "reason", "").startswith("FAILED")]


def test_kernels_by_hand_are_cuda(modules):
    nvrtc = pytest.importorskip("cupy_backends.cuda.libs.nvrtc", reason="CuPy is not installed")
    try:
        nvrtc.getVersion()
    except RuntimeError as error:
        pytest.skip(f"NVRTC is not installed: {error}")
    texts = {
        "triad": modules("latency.peers").CUDA_TRIAD,
        "advance": modules("latency.chains").CUDA_ADVANCE,
        "laplacian": modules("graphs.solver_peers").LAPLACIAN,
    }
    for name, text in texts.items():
        program = nvrtc.createProgram(text, f"{name}.cu", (), ())
        try:
            nvrtc.compileProgram(program, ("-arch=sm_90",))
            assert f".text.{name}\0".encode() in nvrtc.getCUBIN(program)
        except nvrtc.NVRTCError:
            pytest.fail(nvrtc.getProgramLog(program))
        finally:
            nvrtc.destroyProgram(program)


# -- the chart -------------------------------------------------------------------------------------


def test_chart_of_the_documentation_is_up_to_date(modules):
    """If this fails: python -m benchmarks.latency.chart."""
    chart = modules("latency.chart")
    panels = chart.panels_of_results()
    assert all(groups for _, groups in panels)
    assert chart.described(panels) in chart.PICTURE.read_text(encoding="utf-8")


def test_chart_is_the_same_again(modules, tmp_path):
    chart = modules("latency.chart")
    files = [tmp_path / "a.svg", tmp_path / "b.svg"]
    for file in files:
        assert chart.main([str(file)]) == 0
    assert files[0].read_bytes() == files[1].read_bytes()


def test_chart_shows_what_was_measured_in_both(modules):
    chart = modules("latency.chart")
    rows = [
        {"space": "cuda", "case": "View", "peer": False, "median": 2.0},
        {"space": "cuda", "case": "CuPy: zeros", "peer": True, "median": 4.0},
        {"space": "cuda", "case": "NumPy: zeros", "peer": True, "median": 1.0},
        {"space": "opencl", "case": "fence, idle", "peer": False, "median": 3.0},
        {"space": "cuda", "case": "CuPy: fill", "peer": True, "median": 4.0},
        {"space": "cuda", "case": "fill on an instance", "peer": False, "not_there": "no"},
    ]
    found = chart.bars({"results": rows}, "cuda")
    assert found == {
        "New, filled with zeros": [("View", True, 2.0), ("CuPy: zeros", False, 4.0)],
    }
    panel = chart.Panel("cuda on a GPU", "", "cuda")
    assert chart.described([(panel, found)]) == (
        "cuda on a GPU, New, filled with zeros, microseconds: "
        "execspace: View 2.00, CuPy: zeros 4.00."
    )

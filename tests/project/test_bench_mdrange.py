"""The benchmark of multi-dimensional ranges: it runs, it checks, and it reads Nsight Compute."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

import execspace as es

ROOT = Path(__file__).parents[2]
ONLY = ("stream:triad rank 2 left", "stencil:2-D 5-point right", "transpose:left", "sum:left")


@pytest.fixture
def modules(monkeypatch):
    """``modules(name)`` imports a module of `benchmarks.mdrange`."""
    monkeypatch.syspath_prepend(ROOT)
    return lambda name: importlib.import_module(f"benchmarks.mdrange.{name}")


def run(*arguments):
    command = [sys.executable, "-m", "benchmarks.mdrange.run", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)


def test_quick_run_writes_a_record_and_a_figure(tmp_path):
    file = tmp_path / "mdrange.json"
    only = [part for name in ONLY for part in ("--only", name)]
    done = run("--quick", "--space", "serial", "--rounds", 2, "--json", file, "--counters", *only)
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads(file.read_text())
    assert record["failures"] == {}
    assert record["counters"]["not_there"] in done.stdout
    cases = record["results"]["serial"]
    assert list(cases) == [
        "triad rank 2 left 6^6", "2-D 5-point right 130^2", "transpose left 192^2",
        "sum rank 3 left 6^6",
    ]  # fmt: skip
    triad = cases["triad rank 2 left 6^6"]
    assert (triad["shape"], triad["bytes"]) == ([216, 216], 24 * 6**6)
    own = triad["contestants"]["serial"]
    assert 0 < own["least_ms"] <= own["ms"]
    assert own["GB/s"] == pytest.approx(triad["bytes"] / own["ms"] / 1e6, rel=1e-4)
    assert "serial flat range" in cases["sum rank 3 left 6^6"]["contestants"]
    if record["machine"]["c_compiler"] is not None:
        assert all(found["over_hand_written"]["serial"] > 0 for found in cases.values())
    assert all(name in done.stdout for name in cases)
    height, width = imread(file.with_suffix(".png")).shape[:2]
    assert width > 1000 and height > 500


def test_space_that_is_not_there_fails(tmp_path):
    done = run("--quick", "--space", "abacus")
    assert done.returncode == 1
    assert "abacus FAILED: UnknownSpaceError" in done.stdout


def test_senseless_options_are_refused(modules, capsys, tmp_path):
    senseless = {
        "--only": "streams", "--edge": "2", "--rounds": "0", "--json": str(tmp_path / "no" / "a"),
    }  # fmt: skip
    for option, value in senseless.items():
        with pytest.raises(SystemExit) as caught:
            modules("run").options_of([option, value])
        assert caught.value.code == 2
        assert value in capsys.readouterr().err


# -- results are checked ---------------------------------------------------------------------------


@pytest.mark.parametrize("operation", ["add", "stencil", "transpose"])
def test_one_wrong_element_is_seen(modules, operation):
    cases, places = modules("cases"), modules("places")
    place = places.HostPlace(es.space("serial"), None)
    sizes = cases.Sizes((4,), {3: (7,)}, (9,))
    every = [case for found in cases.cases_on_same_views(sizes) for case in found]
    for case in (case for case in every if case.operation == operation):
        views = place.views([case])
        out = views[-1]
        place.reset(case, out)
        assert place.wrong(out, case) == case.calls  # nothing is written yet
        numpy_result(case, views)
        assert place.wrong(out, case) == 0
        inside = (case.border,) * case.rank
        for index in (inside, (0,) * case.rank):
            kept = out[index]
            out[index] = np.nextafter(kept, 99.0)
            assert place.wrong(out, case) == 1
            out[index] = kept


def numpy_result(case, views):
    """What a launch would do, written the other way: over whole arrays."""
    *inputs, out = (np.asarray(view) for view in views)
    if case.operation == "add":
        out[...] = inputs[0] + inputs[1]
    elif case.operation == "transpose":
        out[...] = inputs[0].T
    else:
        inner, b = (slice(1, -1),) * case.rank, inputs[0]
        total = b[inner].copy()
        for d in range(case.rank):
            for by in (-1, 1):
                total += np.roll(b, by, d)[inner]
        out[inner] = total * {2: 0.2, 3: 1 / 7, 4: 1 / 9}[case.rank]


def test_layouts_are_mirror_images(modules):
    cases = modules("cases")
    named = {
        (case.operation, case.rank, case.size, case.layout): case
        for found in cases.cases_on_same_views(cases.DEVICE)
        for case in found
    }
    assert len(named) == 2 * (2 * 5 * 5 + 3 + 2 + 2)
    for (operation, rank, size, layout), case in named.items():
        mirror = named[operation, rank, size, "left" if layout == "right" else "right"]
        assert case.shape == mirror.shape[::-1] and case.extents == mirror.extents
    assert named["triad", 4, "24^6", "left"].shape == (576, 576, 24, 24)


# -- kernels by hand -------------------------------------------------------------------------------


def test_kernels_by_hand_are_cuda(modules):
    nvrtc = pytest.importorskip("cupy_backends.cuda.libs.nvrtc", reason="CuPy is not installed")
    try:
        nvrtc.getVersion()
    except RuntimeError as error:
        pytest.skip(f"NVRTC is not installed: {error}")
    cases, peers = modules("cases"), modules("peers")
    program = nvrtc.createProgram(peers.device_text("cuda"), "kernels.cu", (), ())
    try:
        nvrtc.compileProgram(program, ("-arch=sm_90", "-std=c++17"))
        code = nvrtc.getCUBIN(program)
    except nvrtc.NVRTCError:
        pytest.fail(nvrtc.getProgramLog(program))
    finally:
        nvrtc.destroyProgram(program)
    for found in cases.cases_on_same_views(cases.DEVICE):
        for case in found:
            for variant in peers.variants(case):
                assert f".text.{variant.kernel}\0".encode() in code
                covered = np.prod([int(n) for n in variant.items])
                assert case.calls <= covered * (4 if "tile" in variant.kernel else 1)


# -- Nsight Compute --------------------------------------------------------------------------------

HEADER = (
    '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size",'
    '"Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"\n'
)
FIGURES = (
    ("dram__throughput.avg.pct_of_peak_sustained_elapsed", "%", "26.74"),
    ("gpu__time_duration.sum", "us", "1,234.5"),
    ("launch__registers_per_thread", "register/thread", "16"),
    ("sm__warps_active.avg.pct_of_peak_sustained_active", "%", "91.2"),
)


def ncu_text(figures=FIGURES, launches=2):
    lines = [
        f'"{n}","518","python3.12","127.0.0.1","es_for","1","7","(128, 1, 1)","({n + 1}, 1, 1)",'
        f'"0","9.0","Command line profiler metrics","{metric}","{unit}","{value}"\n'
        for n in range(launches)
        for metric, unit, value in figures
    ]
    before = "==PROF== Connected to process 518\nready\n==PROF== Profiling: 0%....100% - 4 passes\n"
    return before + HEADER + "".join(lines) + "==PROF== Disconnected\n"


def test_launches_are_told_apart_by_their_order(modules):
    first, second = modules("counters").parse(ncu_text())
    assert first == {
        "kernel": "es_for", "block": "(128, 1, 1)", "grid": "(1, 1, 1)", "registers": 16,
        "occupancy_%": 91.2, "throughput_%": 26.74, "ms": pytest.approx(1.2345),
    }  # fmt: skip
    assert second["grid"] == "(2, 1, 1)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("==ERROR== ERR_NVGPUCTRPERM\n", "no table"),
        (ncu_text(FIGURES[:2]), "es_for has no launch__registers_per_thread, sm__warps_active"),
        (ncu_text([*FIGURES[:3], (FIGURES[3][0], "%", "n/a")]), "sm__warps_active.* is 'n/a'"),
        (ncu_text([("gpu__time_duration.sum", "cycle", "12"), *FIGURES]), "a time in 'cycle'"),
    ],
)
def test_what_is_no_table_of_counters_is_refused(modules, text, message):
    with pytest.raises(ValueError, match=message):
        modules("counters").parse(text)


def test_probe_launches_one_case_each(modules):
    names = [case.name for case in modules("counters").probed(False, None)]
    assert names == [
        *(f"triad rank {rank} right 24^6" for rank in range(2, 7)),
        "2-D 5-point right 8192^2", "3-D 7-point right 512^3", "4-D 9-point right 96^4",
        "transpose right 16384^2",
    ]  # fmt: skip

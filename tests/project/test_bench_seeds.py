"""The benchmarks after published ones: they run, results are checked, and CUDA C++ compiles."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest

import execspace as es

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "benchmarks" / "seeds"


@pytest.fixture
def modules(monkeypatch):
    """``modules(name)`` imports a module of `benchmarks.seeds`."""
    monkeypatch.syspath_prepend(ROOT)
    return lambda name: importlib.import_module(f"benchmarks.seeds.{name}")


def results_of(module, path, *only):
    words = [part for word in only for part in ("--only", word)]
    arguments = ["--quick", "--space", "serial", "--record", str(path), *words]
    assert module.main(arguments) == 0
    record = json.loads(path.read_text())
    assert (record["quick"], record["turns"]) == (True, 2)
    return record["results"]["serial"]


def test_reductions_over_ranges(modules, tmp_path):
    only = "rank 4, left", "three, rank 3", "minloc, rank 2"
    found = results_of(modules("mdrange_reductions"), tmp_path / "reductions.json", *only)
    assert list(found) == [
        "ranks: sum, rank 4, left, 2^12", "operations: three, rank 3, 2^12",
        "operations: minloc, rank 2, 2^12",
    ]  # fmt: skip
    for case in found.values():
        own = case["execspace"]
        assert own["GB/s"] == pytest.approx(8 * 2**12 / own["ms"] / 1e6, abs=0.01)
        assert {"flat range", "NumPy"} <= own["over"].keys()
    assert found["ranks: sum, rank 4, left, 2^12"]["execspace"]["shape"] == [8] * 4


def test_tracers(modules, tmp_path):
    found = results_of(modules("tracer_phase"), tmp_path / "tracers.json", "72 levels")
    assert list(found) == ["tracers, 3 elements, 72 levels", "omega, 3 elements, 72 levels"]
    for case in found.values():
        assert case["execspace"]["over"]["flat range"] > 0


def test_costs(modules, tmp_path):
    only = "in place", "KiB", "stream"
    found = results_of(modules("costs"), tmp_path / "costs.json", *only)
    assert list(found) == [
        "overlap: in place, 2^8", "pinned: host to device, 8 KiB", "pinned: device to host, 8 KiB",
        "pinned: read by a kernel, 8 KiB", "asserts: stream", "bounds: stream",
    ]  # fmt: skip
    assert found["bounds: stream"]["with bounds"]["over"]["without"] > 0


@pytest.mark.parametrize("operation", ["sum", "max", "minloc", "three", "dot"])
def test_numbers_of_the_table_are_those_of_numpy(modules, operation):
    """What each contestant is compared with, of whole arrays."""
    reductions, setting = modules("mdrange_reductions"), modules("setting")
    serial = setting.Setting(es.space("serial"), "host", True, 1, ())
    memory = reductions.Memory(serial, 17, "float64")  # more than the table has
    x, y = np.asarray(memory.x), np.asarray(memory.y)
    right = {
        "sum": (x.sum(),), "max": (x.max(),), "minloc": (x.min(), x.argmin()), "dot": (x @ y,),
        "three": (x.sum(), (x * x).sum(), x.max()),
    }  # fmt: skip
    assert memory.right(operation) == right[operation]
    with pytest.raises(AssertionError, match="not"):
        reductions._agree([n + 1 / 64 for n in right[operation]], memory.right(operation), 0.0)


def test_the_limiter_keeps_mass_and_bounds(modules):
    tracers = modules("tracer_phase")
    state = tracers.state(2, 5)
    after = tracers.stepped(state)
    weight = np.repeat(state.mp[:, None], tracers.TRACERS, axis=0)
    free = state.q - tracers.DT * np.repeat(
        state.rmetdet[:, None, None], tracers.TRACERS, axis=1
    ).reshape(len(state.q), 1, -1) * tracers.divergence(
        state,
        *(
            (state.metdet[:, None, None] * state.q.reshape(2, tracers.TRACERS, 5, 16) * v[:, None])
            .reshape(state.q.shape)
            for v in (state.v0, state.v1)
        ),
    )  # fmt: skip
    np.testing.assert_allclose(
        (weight * after).sum(axis=2), (weight * free).sum(axis=2), rtol=1e-12
    )
    ratio = after / np.repeat(state.dp, tracers.TRACERS, axis=0)
    scale = 1e-12
    assert (ratio >= state.least[..., None] - scale).all()
    assert (ratio <= state.most[..., None] + scale).all()
    assert abs(after - free).max() > 0.01 * abs(free).max()  # it has something to do


def test_one_wrong_element_is_seen(modules):
    tracers, setting = modules("tracer_phase"), modules("setting")
    serial = setting.Setting(es.space("serial"), "host", True, 1, ())
    work = tracers.Work(serial, "omega", 2, 5)

    def wrong():
        np.asarray(work.out)[...] = work.right
        work.out[1, 15, 4] += 1e-9 * abs(work.right).max()

    with pytest.raises(AssertionError, match=r"somebody: .* apart at 0"):
        work.contestant("somebody", wrong, lambda: None).check()


@pytest.mark.parametrize(
    ("name", "options", "kernels"),
    [
        ("reductions", (), ["sum_one", "minloc_parts", "three_finish"]),
        ("tracers", ("-DLEVELS=72",), ["tracer_phase", "omega"]),
        ("costs", (), ["triad_plain", "cosines_restrict", "copy"]),
    ],
)
def test_kernels_by_hand_are_cuda(name, options, kernels):
    nvrtc = pytest.importorskip("cupy_backends.cuda.libs.nvrtc", reason="CuPy is not installed")
    try:
        nvrtc.getVersion()
    except RuntimeError as error:
        pytest.skip(f"NVRTC is not installed: {error}")
    text = (FOLDER / f"{name}.cu").read_text(encoding="utf-8")
    program = nvrtc.createProgram(text, f"{name}.cu", (), ())
    try:
        nvrtc.compileProgram(program, ("-arch=sm_90", "-std=c++17", *options))
        code = nvrtc.getCUBIN(program)
    except nvrtc.NVRTCError:
        pytest.fail(nvrtc.getProgramLog(program))
    finally:
        nvrtc.destroyProgram(program)
    for kernel in kernels:
        assert f".text.{kernel}\0".encode() in code


def test_senseless_options_are_refused(modules, capsys, tmp_path):
    senseless = {"--turns": "0", "--largest": "9", "--record": str(tmp_path / "no" / "a")}
    for option, value in senseless.items():
        with pytest.raises(SystemExit) as caught:
            modules("mdrange_reductions").main(["--quick", option, value])
        assert caught.value.code == 2
        assert option in capsys.readouterr().err

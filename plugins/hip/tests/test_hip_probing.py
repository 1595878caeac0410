"""Whether HIP can be used: each reason why not in its order, and what it tells the user to do."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from types import SimpleNamespace

import pytest

import execspace as es
from execspace_hip import probing
from execspace_hip.plugin import execspace_health_checks, execspace_register_spaces


class RuntimeFault(Exception):
    """As CuPy's CUDARuntimeError."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class Runtime:
    """CuPy's binding of the runtime on a machine that exists in this file only."""

    CUDARuntimeError = RuntimeFault

    def __init__(self, *devices, is_hip=True):
        self.devices, self.is_hip = devices, is_hip

    def getDeviceCount(self):
        for fault in self.devices:
            if isinstance(fault, Exception):
                raise fault
        return len(self.devices)

    def getDeviceProperties(self, number):
        return {"name": self.devices[number].encode()}


NO_DEVICE = RuntimeFault(100, "hipErrorNoDevice: no ROCm-capable device is detected")
REASONS = {
    "CuPy for CUDA": (
        Runtime("NVIDIA H200", is_hip=False),
        "the installed CuPy is the CUDA build, and only one can be installed",
        "uninstall it (pip uninstall cupy-cuda13x, or what 'pip list' shows) and pip install "
        "-e plugins/hip[rocm7]",
    ),
    "no device": (
        Runtime(NO_DEVICE),
        "there is no AMD GPU that this process may use (hipErrorNoDevice)",
        "look at HIP_VISIBLE_DEVICES, at 'rocminfo', and whether this user may open /dev/kfd",
    ),
    "all devices hidden": (
        Runtime(),
        "there is no AMD GPU that this process may use",
        "look at HIP_VISIBLE_DEVICES",
    ),
    "anything else": (
        Runtime(RuntimeFault(999, "hipErrorUnknown: unknown error")),
        "HIP does not start (hipErrorUnknown: unknown error)",
        "See what 'rocminfo' says",
    ),
}


@pytest.mark.parametrize("case", REASONS)
def test_each_reason_says_what_to_do(case):
    runtime, reason, todo = REASONS[case]
    found = probing.judge(runtime, lambda: None)  # what comes first is told first
    assert not found.usable
    assert reason in found.reason and todo in found.reason


def test_without_rocm_there_are_no_headers_for_cupys_own_kernels():
    found = probing.judge(Runtime("AMD Instinct MI300X"), lambda: None)
    assert not found.usable
    assert "neither hipcc nor ROCM_HOME" in found.reason and "set ROCM_HOME" in found.reason


def test_a_usable_machine_names_its_devices():
    devices = ["AMD Instinct MI300X"] * 3
    found = probing.judge(Runtime(*devices), lambda: "/opt/rocm")
    assert found == es.Probe(True, device="AMD Instinct MI300X and 2 more")


def test_rocm_is_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.setenv("ROCM_HOME", str(tmp_path))
    assert probing.find_hipcc() == str(tmp_path)
    monkeypatch.delenv("ROCM_HOME")
    hipcc = tmp_path / "hipcc"
    hipcc.write_text("#!/bin/sh\n")
    hipcc.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert probing.find_hipcc() == str(hipcc)


PROBE = """
import sys, types
{setup}
from execspace_hip.plugin import probe
found = probe()
print(found.usable, found.reason)
heavy = {{"cupy", "llvmlite", "execspace_gpu.space", "execspace_hip.space"}} & set(sys.modules)
assert not heavy, heavy
"""


def probed(tmp_path, setup):
    """What the probe says in a fresh interpreter whose CuPy is in `tmp_path`, if anywhere."""
    program = PROBE.format(setup=textwrap.dedent(setup))
    path = tmp_path / "program.py"
    path.write_text(program)
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_without_cupy(tmp_path):
    told = probed(tmp_path, "import importlib.util as u; u.find_spec = lambda name: None")
    assert told.startswith(
        "False CuPy is not installed; pip install -e plugins/hip[rocm7] in a checkout"
    )


def test_a_cupy_that_does_not_find_rocm_tells_which_library(tmp_path):
    api = tmp_path / "cupy_backends" / "cuda" / "api"
    api.mkdir(parents=True)
    for folder in (api, *list(api.parents)[:2]):
        (folder / "__init__.py").write_text("")
    (tmp_path / "cupy.py").write_text("")
    missing = "libamdhip64.so.7: cannot open shared object file: No such file or directory"
    message = f"\n===\nFailed to import CuPy.\n\nOriginal error:\n  ImportError: {missing}\n===\n"
    (api / "runtime.py").write_text(f"raise ImportError({message!r})")
    told = probed(tmp_path, f"sys.path.insert(0, {str(tmp_path)!r})")
    assert told.startswith(f"False CuPy cannot be imported (ImportError: {missing})")
    assert "LD_LIBRARY_PATH=/opt/rocm/lib" in told


def test_it_is_announced_and_never_chosen_where_it_cannot_run():
    row = next(s for s in es.spaces() if s.name == "hip")
    if row.usable:
        pytest.skip("this machine has an AMD GPU")
    assert row.reason and row.summary == "an AMD GPU (never run on one yet)"
    assert es.default_space().name != "hip"
    with pytest.raises(es.SpaceUnavailableError, match="'hip'"):
        es.space("hip")


def test_doctor_says_what_was_tested_and_what_never_was():
    rows = {row.name: row.check() for row in execspace_health_checks()}
    told = rows["HIP, what has been tested"]
    assert told.reason.startswith("never run on an AMD GPU")
    for words in ("compiled for", "executed on the host", "executed on NVIDIA through a shim"):
        assert words in told.reason
    assert "runs on AMD" not in told.reason


# -- ranks of a host ------------------------------------------------------------------------------

HIDING = ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")


@pytest.fixture
def devices(monkeypatch):
    """``devices(runtime)``: among which ranks of a host are divided on that machine."""
    for variable in HIDING:
        monkeypatch.delenv(variable, raising=False)

    def ask(runtime):
        monkeypatch.setitem(sys.modules, "cupy_backends.cuda.api", SimpleNamespace(runtime=runtime))
        (entry,) = execspace_register_spaces()
        return entry.devices()

    return ask


def test_ranks_are_divided_among_all_devices_that_are_seen(devices):
    assert devices(Runtime("gfx942", "gfx942", "gfx942")) == ("0", "1", "2")
    assert devices(Runtime("gfx942")) == ("0",)


@pytest.mark.parametrize("variable", HIDING)
def test_one_device_that_is_seen_because_others_are_hidden_may_be_the_rank_s_own(
    devices, monkeypatch, variable
):
    monkeypatch.setenv(variable, "3")
    assert devices(Runtime("gfx942")) == ()
    assert devices(Runtime("gfx942", "gfx942")) == ("0", "1")

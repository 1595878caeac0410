"""Whether CUDA can be used: each reason why not, and what it tells the user to do."""

from __future__ import annotations

import re
import subprocess
import sys
from types import SimpleNamespace

import pytest

import execspace as es
from execspace_cuda import probing
from execspace_cuda.plugin import execspace_health_checks, execspace_register_spaces


class RuntimeFault(Exception):
    """As CuPy's CUDARuntimeError."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class Runtime:
    """CuPy's binding of the runtime on a machine that exists in this file only.

    `devices` are their names, or the fault that counting them raises.
    """

    CUDARuntimeError = RuntimeFault

    def __init__(self, *devices, is_hip=False, driver=13000, built=13000):
        self.devices, self.is_hip, self.driver, self.built = devices, is_hip, driver, built

    def driverGetVersion(self):
        return self.driver

    def runtimeGetVersion(self):
        return self.built

    def getDeviceCount(self):
        for fault in self.devices:
            if isinstance(fault, Exception):
                raise fault
        return len(self.devices)

    def getDeviceProperties(self, number):
        return {"name": self.devices[number].encode()}


def fault(status, text):
    return RuntimeFault(status, text)


H200 = "NVIDIA H200"
REASONS = {
    "CuPy for ROCm": (
        Runtime("gfx942", is_hip=True),
        "the installed CuPy is the one for AMD's ROCm",
        "uninstall it and pip install -e plugins/cuda[cuda13] in a checkout",
    ),
    "no driver": (
        Runtime(driver=0),
        "no NVIDIA driver was found (libcuda.so.1)",
        "Install it, or start the container with access to GPUs (docker run --gpus all)",
    ),
    "a driver of an older CUDA": (
        Runtime(H200, driver=12040, built=13010),
        "the driver is too old: it has CUDA 12.4, and the installed CuPy was built for CUDA 13.1",
        "Upgrade the driver, or install CuPy for CUDA 12: pip install cupy-cuda12x",
    ),
    "the runtime refuses the driver": (
        Runtime(fault(35, "cudaErrorInsufficientDriver: insufficient")),
        "the driver is too old for the installed CuPy (cudaErrorInsufficientDriver",
        "Upgrade it",
    ),
    "no device": (
        Runtime(fault(100, "cudaErrorNoDevice: no CUDA-capable device is detected")),
        "there is no NVIDIA GPU that this process may use",
        "look at CUDA_VISIBLE_DEVICES and at 'nvidia-smi'",
    ),
    "all devices hidden": (
        Runtime(),
        "there is no NVIDIA GPU that this process may use",
        "look at CUDA_VISIBLE_DEVICES and at 'nvidia-smi'",
    ),
    "a forked process": (
        Runtime(fault(3, "cudaErrorInitializationError: initialization error")),
        "CUDA does not start (cudaErrorInitializationError",
        "start them with multiprocessing's 'spawn'",
    ),
    "anything else": (
        Runtime(fault(999, "cudaErrorUnknown: unknown error")),
        "CUDA does not start (cudaErrorUnknown: unknown error)",
        "See what 'nvidia-smi' says",
    ),
}


@pytest.mark.parametrize("case", REASONS)
def test_each_reason_says_what_to_do(case):
    runtime, reason, todo = REASONS[case]
    found = probing.judge(runtime)
    assert not found.usable
    assert reason in found.reason and todo in found.reason


@pytest.mark.parametrize(
    ("runtime", "device"),
    [
        (Runtime(H200), "NVIDIA H200"),
        (Runtime(H200, "NVIDIA L4"), "NVIDIA H200 and 1 more"),
        (Runtime(H200, H200, H200), "NVIDIA H200 and 2 more"),
        (Runtime(H200, driver=13020, built=13000), "NVIDIA H200"),
        (Runtime(H200, driver=13000, built=13020), "NVIDIA H200"),  # of one major version
        (Runtime(H200, driver=13000, built=12090), "NVIDIA H200"),
    ],
)
def test_a_usable_machine_names_its_devices(runtime, device):
    assert probing.judge(runtime) == es.Probe(True, device=device)


def test_without_cupy_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(probing, "find_spec", lambda name: None)
    for found in (probing.probe(), probing.check_compiler()):
        assert not found.usable
        assert found.reason.startswith("CuPy is not installed; pip install -e plugins/cuda[cuda13]")
        assert "for CUDA 12: [cuda12]" in found.reason


def test_a_cupy_that_cannot_be_imported(monkeypatch):
    monkeypatch.setattr(probing, "find_spec", lambda name: SimpleNamespace())
    monkeypatch.setitem(sys.modules, "cupy_backends.cuda.api", None)
    found = probing.probe()
    assert not found.usable
    assert re.search(
        r"CuPy cannot be imported \(.*cupy_backends.*\); reinstall it: pip", found.reason
    )


# -- ranks of a host ------------------------------------------------------------------------------

HIDING = ("CUDA_VISIBLE_DEVICES",)


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
    assert devices(Runtime(H200, H200, H200)) == ("0", "1", "2")
    assert devices(Runtime(H200)) == ("0",)


@pytest.mark.parametrize("variable", HIDING)
def test_one_device_that_is_seen_because_others_are_hidden_may_be_the_rank_s_own(
    devices, monkeypatch, variable
):
    monkeypatch.setenv(variable, "3")
    assert devices(Runtime(H200)) == ()
    assert devices(Runtime(H200, H200)) == ("0", "1")


# -- this machine ---------------------------------------------------------------------------------


@pytest.fixture
def reason(monkeypatch):
    """Why there is no CUDA here."""
    for name in ("DEFAULT", "PLUGINS"):
        monkeypatch.delenv(f"EXECSPACE_{name}", raising=False)
    found = probing.probe()
    if found.usable:
        pytest.skip(f"this machine has {found.device}")
    return found.reason


def test_a_machine_without_a_gpu_says_why(reason):
    assert re.match("CuPy is not installed|no NVIDIA driver|there is no NVIDIA GPU", reason)


def test_the_row_and_the_error_have_the_reason(reason):
    (row,) = [s for s in es.spaces() if s.name == "cuda"]
    assert (row.usable, row.reason) == (False, reason)
    for name in ("cuda", "cuda:1"):
        with pytest.raises(es.SpaceUnavailableError, match=re.escape(reason)):
            es.space(name)
    assert es.default_space().name != "cuda"


def test_the_compiler_works_without_a_gpu():
    pytest.importorskip("cupy_backends.cuda.libs.nvrtc", reason="CuPy is not installed")
    (check,) = execspace_health_checks()
    assert check.name == "CUDA compiler (NVRTC)"
    found = check.check()
    assert found.usable, found.reason
    assert re.fullmatch(r"NVRTC \d+\.\d+", found.reason)


IMPORTED = """
import sys
import execspace_cuda.plugin

def heavy():
    return {"cupy", "llvmlite", "numba", "pyopencl", "execspace_compiler"} & set(sys.modules)

assert not heavy() and "cupy_backends" not in sys.modules
from execspace_cuda.probing import probe
probe()
print(heavy())
"""


def test_looking_at_the_machine_imports_nothing_heavy():
    command = [sys.executable, "-W", "error", "-c", IMPORTED]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("set()\n", "")

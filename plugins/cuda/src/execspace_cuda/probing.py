"""A cheap look at the machine: can CUDA be used here, and if not, why and what to do.

Only CuPy's binding of the runtime is imported, not CuPy itself.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from execspace import Probe
from execspace_gpu.plugin import describe_devices

_INSTALL = (
    "pip install -e plugins/cuda[cuda13] in a checkout (for CUDA 12: [cuda12]; 'nvidia-smi' shows "
    "the version that the driver has)"
)
_NO_DEVICE, _OLD_DRIVER, _NOT_STARTED = 100, 35, 3  # of cudaError_t


def probe() -> Probe:
    """Kernels are compiled with CuPy's NVRTC and run by NVIDIA's driver."""
    if find_spec("cupy") is None:
        return Probe(False, f"CuPy is not installed; {_INSTALL}")
    try:
        from cupy_backends.cuda.api import runtime
    except Exception as error:
        return Probe(False, f"CuPy cannot be imported ({error}); reinstall it: {_INSTALL}")
    return judge(runtime)


def judge(runtime: Any) -> Probe:
    """What CuPy's binding of the runtime says of the machine."""
    if runtime.is_hip:
        return Probe(
            False,
            f"the installed CuPy is the one for AMD's ROCm, and only one can be installed; for "
            f"NVIDIA GPUs uninstall it and {_INSTALL}",
        )
    try:
        version = int(runtime.driverGetVersion())
        if version == 0:
            return Probe(
                False,
                "no NVIDIA driver was found (libcuda.so.1). Install it, or start the container "
                "with access to GPUs (docker run --gpus all)",
            )
        built = int(runtime.runtimeGetVersion())
        if version // 1000 < built // 1000:
            return Probe(
                False,
                f"the driver is too old: it has CUDA {_dotted(version)}, and the installed CuPy "
                f"was built for CUDA {_dotted(built)}. Upgrade the driver, or install CuPy for "
                f"CUDA {version // 1000}: pip install cupy-cuda{version // 1000}x",
            )
        count = int(runtime.getDeviceCount())
    except runtime.CUDARuntimeError as error:
        return Probe(False, _reason(error))
    if count == 0:
        return Probe(False, _NOTHING)
    return Probe(True, device=describe_devices(runtime, count))


_NOTHING = (
    "there is no NVIDIA GPU that this process may use. If there is one in the machine, look at "
    "CUDA_VISIBLE_DEVICES and at 'nvidia-smi'"
)


def _reason(error: Any) -> str:
    if error.status == _NO_DEVICE:
        return _NOTHING
    if error.status == _OLD_DRIVER:
        return f"the driver is too old for the installed CuPy ({error}). Upgrade it"
    if error.status == _NOT_STARTED:
        return (
            f"CUDA does not start ({error}). Processes that were forked from one that uses CUDA "
            f"cannot use it: start them with multiprocessing's 'spawn'"
        )
    return f"CUDA does not start ({error}). See what 'nvidia-smi' says"


def _dotted(version: int) -> str:
    return f"{version // 1000}.{version % 1000 // 10}"


def check_compiler() -> Probe:
    """A row of `execspace doctor`: whether NVRTC is there, and its version."""
    if find_spec("cupy") is None:
        return Probe(False, f"CuPy is not installed; {_INSTALL}")
    try:
        from .build import NVRTC

        NVRTC.compile('extern "C" __global__ void f(int *p) { *p = 1; }', ["-arch=sm_80"])
    except Exception as error:
        return Probe(False, f"NVRTC cannot be used ({error}); {_INSTALL}")
    return Probe(True, f"NVRTC {NVRTC.version()}")

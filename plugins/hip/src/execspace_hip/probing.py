"""A cheap look at the machine: can HIP be used here, and if not, why and what to do.

Only CuPy's binding of the runtime is imported, not CuPy itself.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from execspace import Probe
from execspace_gpu.plugin import describe_devices

INSTALL = (
    "pip install -e plugins/hip[rocm7] in a checkout (CuPy for ROCm 7; it needs ROCm itself, too)"
)
_NO_DEVICE = 100  # of hipError_t


def probe() -> Probe:
    """Kernels are compiled with hiprtc, through CuPy for ROCm, and run by AMD's driver."""
    if find_spec("cupy") is None:
        return Probe(False, f"CuPy is not installed; {INSTALL}")
    try:
        from cupy_backends.cuda.api import runtime
    except Exception as error:
        return Probe(
            False,
            f"CuPy cannot be imported ({cause_of(error)}). If it is the build for ROCm, install "
            f"the ROCm that it was built for, and let the loader find its libraries "
            f"(LD_LIBRARY_PATH=/opt/rocm/lib)",
        )
    return judge(runtime, find_hipcc)


def cause_of(error: BaseException) -> str:
    """The last line of an error of imports, which CuPy puts a page of advice before."""
    lines = [line.strip() for line in str(error).splitlines() if "Error: " in line]
    return lines[-1] if lines else str(error).strip().partition("\n")[0]


def find_hipcc() -> str | None:
    """Where ROCm is, as CuPy looks for it."""
    home = os.environ.get("ROCM_HOME")
    if home:
        return home
    return shutil.which("hipcc") or next((p for p in ("/opt/rocm",) if Path(p).is_dir()), None)


def judge(runtime: Any, rocm: Callable[[], str | None]) -> Probe:
    """What CuPy's binding of the runtime says of the machine; `rocm` finds the ROCm of CuPy."""
    if not runtime.is_hip:
        return Probe(
            False,
            f"the installed CuPy is the CUDA build, and only one can be installed; for AMD GPUs "
            f"uninstall it (pip uninstall cupy-cuda13x, or what 'pip list' shows) and {INSTALL}",
        )
    try:
        count = int(runtime.getDeviceCount())
    except runtime.CUDARuntimeError as error:
        if error.status != _NO_DEVICE:
            return Probe(False, f"HIP does not start ({error}). See what 'rocminfo' says")
        count = 0
    if count == 0:
        return Probe(
            False,
            "there is no AMD GPU that this process may use (hipErrorNoDevice). If there is one in "
            "the machine, look at HIP_VISIBLE_DEVICES, at 'rocminfo', and whether this user may "
            "open /dev/kfd (groups render and video)",
        )
    if rocm() is None:
        return Probe(
            False,
            "there is neither hipcc nor ROCM_HOME, and CuPy for ROCm compiles its own kernels "
            "with ROCm's headers. Install ROCm's hipcc, or set ROCM_HOME to where ROCm is",
        )
    return Probe(True, device=describe_devices(runtime, count))

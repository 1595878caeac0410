"""Whether MPI takes addresses of devices: asked of the library, and overruled by the environment.

There is no portable question. Open MPI tells by an extension that mpi4py does not have, but for
`ompi_info`; MPICH, Cray and MVAPICH by variables that turn it on. EXECSPACE_COMM_DEVICE_POINTERS=1
or 0 says it for the program; a wrong 1 ends in a crash within MPI.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from typing import Any

import execspace as es
from execspace.base import config

from .mpi import MPI
from .settings import DEVICE_POINTERS

__all__ = ["found", "takes"]

# Variables by which libraries are told to take addresses of devices.
_SWITCHES = (
    "MPICH_GPU_SUPPORT_ENABLED", "MPIR_CVAR_ENABLE_GPU", "MV2_USE_CUDA", "MV2_USE_ROCM",
    "I_MPI_OFFLOAD",
)  # fmt: skip
_KINDS = {2: "cuda", 3: "cuda", 13: "cuda", 10: "rocm", 11: "rocm"}  # DLPack's device types


@cache
def found() -> tuple[frozenset[str], str]:
    """Kinds of devices whose addresses MPI takes, "cuda" and "rocm", and how that is known."""
    chosen = config.get(DEVICE_POINTERS)
    if chosen is not None and chosen.strip():
        kinds = frozenset(_KINDS.values()) if config.get_bool(DEVICE_POINTERS) else ()
        return frozenset(kinds), f"EXECSPACE_COMM_DEVICE_POINTERS={chosen}"
    library = MPI.Get_library_version()
    if "Open MPI" in library:
        # MPIX_Query_cuda_support and its sibling, of Open MPI and what derives from it.
        kinds = frozenset(kind for kind in ("cuda", "rocm") if _asked(f"MPIX_Query_{kind}_support"))
        how = "MPIX_Query_cuda_support() and MPIX_Query_rocm_support()"
        return kinds, how
    on = [name for name in _SWITCHES if os.environ.get(name, "0") not in ("0", "")]
    if on and _gpu_built():
        return frozenset(_KINDS.values()), f"{on[0]}={os.environ[on[0]]}"
    return frozenset(), "no variable of this MPI library turns it on"


def _asked(name: str) -> bool:
    """What a function of the MPI library without parameters returns; False if it has none."""
    try:
        function = getattr(ctypes.CDLL(None), name, None) or getattr(_library(), name)
    except (OSError, AttributeError):
        return False
    function.restype = ctypes.c_int
    return bool(function())


def _library() -> Any:
    """mpi4py's extension, with what it is linked to."""
    return ctypes.CDLL(MPI.__file__)


def _gpu_built() -> bool:
    """Whether MPICH was built for GPUs: MPIR_CVAR_ENABLE_GPU is on by default and says nothing."""
    for kind in ("CUDA", "ZE", "HIP"):
        try:
            function = _library().MPIX_GPU_query_support
        except (OSError, AttributeError):
            return False
        answer = ctypes.c_int(0)
        if function({"CUDA": 0, "ZE": 1, "HIP": 2}[kind], ctypes.byref(answer)) == 0:
            if answer.value:
                return True
    return False


def takes(view: es.View) -> bool:
    """Whether MPI takes the address of a View whose memory the host cannot read."""
    kinds, _ = found()
    if not kinds:
        return False
    try:
        kind = _KINDS.get(view.__dlpack_device__()[0])
    except (BufferError, AttributeError):
        return False
    return kind in kinds

"""What execspace-kernels asks plugins for: libraries of NVIDIA for `cuda`, through CuPy."""

from __future__ import annotations

from typing import Any

import pluggy

hookimpl = pluggy.HookimplMarker("execspace_kernels")


@hookimpl
def execspace_kernels_vendor(space: Any) -> Any:
    """The library for a space of this plugin; None for others."""
    from .space import Cuda

    if not isinstance(space, Cuda):
        return None
    from execspace_gpu.lapack import CupyLapack

    return CupyLapack(space, "cuSPARSE, cuBLAS and cuSOLVER through CuPy")

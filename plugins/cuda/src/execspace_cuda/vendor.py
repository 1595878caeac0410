"""What execspace-kernels asks plugins for: cuSPARSE and cuBLAS for `cuda`, through CuPy."""

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
    from execspace_gpu.dense import CupyLinear

    return CupyLinear(space, "cuSPARSE and cuBLAS through CuPy")

"""The CUDA space: what a GPU space needs to know of NVIDIA's platform."""

from __future__ import annotations

from functools import cached_property

from execspace_compiler.backend import CUDA, gpu_tiles
from execspace_gpu.graph_functions import CUDA_GRAPHS
from execspace_gpu.space import GpuExecutionSpace

from .build import NVRTC
from .plugin import PROTOCOLS


class Cuda(GpuExecutionSpace):
    """Runs kernels on an NVIDIA GPU; see `execspace_gpu.space.GpuExecutionSpace`.

    Attributes
    ----------
    capability : str
        Compute capability: "90" for 9.0.
    """

    short = "cuda"
    title = "CUDA"
    dialect = CUDA
    tiles = gpu_tiles("cuda")
    compiler = NVRTC
    protocols = PROTOCOLS
    has_async_pool = True
    graph_names = CUDA_GRAPHS

    @cached_property
    def capability(self) -> str:
        return str(self.device.handle.compute_capability)

    @property
    def arch(self) -> str:
        return self.capability

"""The HIP space: what a GPU space needs to know of AMD's platform."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from cupy_backends.cuda.api import runtime

from execspace_compiler.backend import Dialect, Limits, hip
from execspace_gpu.compiling import compile_code
from execspace_gpu.graph_functions import HIP_GRAPHS
from execspace_gpu.occupancy import Residency
from execspace_gpu.program import Program
from execspace_gpu.space import GpuExecutionSpace

from .amdgpu.resource_usage import residency_of, resource_usage_of
from .amdgpu.targets import LDS, Target, hip_tiles, limits_of, target_of
from .build import HIPRTC
from .plugin import PROTOCOLS


class Hip(GpuExecutionSpace):
    """Runs kernels on an AMD GPU; see `GpuExecutionSpace`. It never did so yet."""

    short = "hip"
    title = "HIP"
    compiler = HIPRTC
    protocols = PROTOCOLS
    shared_always = LDS
    flat_block = Target.block
    graph_names = HIP_GRAPHS

    def __init__(self, number: int, parent: GpuExecutionSpace | None = None) -> None:
        super().__init__(number, parent)
        self.tiles = hip_tiles(self.short, self.dialect.lanes.count)

    @cached_property
    def _properties(self) -> dict[str, Any]:
        """Properties of the device; CuPy's names of its attributes are not those of CUDA."""
        return dict(runtime.getDeviceProperties(self.number))

    @cached_property
    def arch(self) -> str:
        return str(self._properties["gcnArchName"].decode())

    @cached_property
    def target(self) -> Target:
        """What the kind of GPU has."""
        return target_of(self.arch)

    @cached_property
    def dialect(self) -> Dialect:
        return hip(int(self._properties["warpSize"]))

    @cached_property
    def units(self) -> int:
        return int(self._properties["multiProcessorCount"])

    @property
    def threads_per_unit(self) -> int:
        return int(self._properties["maxThreadsPerMultiProcessor"])

    @cached_property
    def shared(self) -> int:
        return int(self._properties["sharedMemPerBlock"])

    @cached_property
    def limits(self) -> Limits:
        found = self._properties
        return limits_of(found["maxThreadsPerBlock"], found["maxThreadsDim"], found["maxGridSize"])

    @property
    def all_shared(self) -> int:
        return 0  # LDS is nothing but LDS

    def residency(self, program: Program, function: int, threads: int) -> Residency:
        """By the model of the target: CuPy has no such query of HIP."""
        registers, own = program.registers(function), program.own_shared(function)
        return residency_of(self.target, registers, own, threads)

    def resource_usage(self, program: Program, group: int) -> dict[str, dict[str, int]]:
        code = compile_code(program.code, self.compiler, self.arch, self.short, bytes).loaded
        return resource_usage_of(code, self.target)[0]

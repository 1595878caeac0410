"""A space that executes generated HIP source on an NVIDIA GPU, for tests.

The source is that for AMD GPUs with waves of 32 lanes, but for what NVIDIA's compiler needs in its
own way, such as conversions to int16; CUDA's head and `shim.cuh` say what its names are in CUDA.
So printers, mappings and the shared layer are run, and nothing of AMD's is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from execspace import ExecutionSpace, Probe, SpaceEntry, hookimpl
from execspace.base import config

NAME = "hip_on_nvidia"
config.declare(config.Variable("HIP_ON_NVIDIA_BLOCKING", "0", "1: wait for each kernel"))
SHIM = Path(__file__).with_name("shim.cuh")
HEADS = ("cuda.h", "cuda_bits.h", "cuda_atomics.h", "cuda_shuffle.h", "cuda_half.h")


def make(device: str | None) -> ExecutionSpace:
    """Factory of the space."""
    from execspace_compiler.codegen.cfamily.dialect import header
    from execspace_compiler.codegen.cfamily.hip import hip
    from execspace_compiler.codegen.cfamily.ptx import WORKAROUNDS
    from execspace_compiler.launch.device_code import DeviceCode
    from execspace_cuda.build import Nvrtc
    from execspace_cuda.space import Cuda
    from execspace_gpu.space import space_of
    from execspace_hip.amdgpu.targets import Target, hip_tiles

    class Shimmed(Nvrtc):
        """NVRTC on the source behind the shim."""

        title = "NVRTC with a shim"

        def options(self, code: DeviceCode, arch: str) -> list[str]:
            return [*super().options(code, arch), "-D_ES_SHIM"]

        def compile(self, source: str, options: Sequence[str]) -> bytes:
            names = "".join(map(header, HEADS)) + SHIM.read_text()
            return super().compile(f'{names}\n#line 1 "kernel.cu"\n{source}', options)

    class HipOnNvidia(Cuda):
        """As the HIP space on a device with waves of 32 lanes."""

        short = NAME
        title = "HIP through a shim"
        dialect = replace(hip(32), workarounds=WORKAROUNDS)
        tiles = hip_tiles(NAME, 32)
        compiler = Shimmed()
        flat_block = Target.block
        has_async_pool = False

    return space_of(HipOnNvidia, device)


def probe() -> Probe:
    """As CUDA."""
    from execspace_cuda.probing import probe as cuda

    return cuda()


@hookimpl
def execspace_register_spaces() -> Iterable[SpaceEntry]:
    """The space; it is never chosen unasked."""
    summary = "generated HIP source on an NVIDIA GPU, through a shim"
    yield SpaceEntry(NAME, make, (0, 1), -10, probe, summary)

"""What this distribution announces to execspace. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from execspace import HealthCheck, SpaceEntry, hookimpl
from execspace.base import config
from execspace_gpu.claiming import Protocols
from execspace_gpu.plugin import declare_blocking, space_entry, visible_devices

from .probing import check_compiler, probe

PROTOCOLS = Protocols(device=2, managed=13, legacy=1, interface=True)

_POOL = (
    "where Views on GPUs get memory: cupy (the allocator that CuPy uses), or async (the driver's "
    "stream-ordered pool)"
)
config.declare(config.Variable("CUDA_POOL", "cupy", _POOL))
declare_blocking("cuda", "a GPU")


@hookimpl
def execspace_register_spaces() -> Iterable[SpaceEntry]:
    """The `cuda` space; "cuda:1" is the second device that CUDA shows."""
    yield space_entry(
        "cuda", "execspace_cuda.space:Cuda", PROTOCOLS, probe,
        priority=30,
        summary="an NVIDIA GPU",
        devices=partial(visible_devices, "CUDA_VISIBLE_DEVICES"),
    )  # fmt: skip


@hookimpl
def execspace_health_checks() -> Iterable[HealthCheck]:
    """Whether kernels can be compiled, which needs no device."""
    yield HealthCheck("CUDA compiler (NVRTC)", check_compiler)

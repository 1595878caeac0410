"""What this distribution announces to execspace. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from execspace import ExecutionSpace, HealthCheck, SpaceEntry, hookimpl
from execspace.base import config
from execspace_gpu.claiming import Protocols, claimed_by

from .probing import check_compiler, probe

PROTOCOLS = Protocols(device=2, managed=13, legacy=1, interface=True)

config.declare(
    config.Variable(
        "CUDA_POOL",
        "cupy",
        "where Views on GPUs get memory: cupy (the allocator that CuPy uses), or async (the "
        "driver's stream-ordered pool)",
    )
)
config.declare(
    config.Variable(
        "CUDA_BLOCKING",
        "0",
        "1: wait for each kernel on a GPU, so that a fault is reported where it was launched",
    )
)


def make_cuda(device: str | None) -> ExecutionSpace:
    """Factory of the `cuda` entry."""
    from execspace_gpu.space import space_of

    from .space import Cuda

    return space_of(Cuda, device)


def claims(source: Any) -> str | None:
    """Name of the space for an array that is in memory of a GPU: "cuda" or "cuda:1"."""
    return claimed_by("cuda", source, PROTOCOLS)


@hookimpl
def execspace_register_spaces() -> Iterable[SpaceEntry]:
    """The `cuda` space; "cuda:1" is the second device that CUDA shows."""
    yield SpaceEntry(
        "cuda",
        factory=make_cuda,
        api_version=(0, 1),
        priority=30,
        probe=probe,
        summary="an NVIDIA GPU",
        claims=claims,
    )


@hookimpl
def execspace_health_checks() -> Iterable[HealthCheck]:
    """Whether kernels can be compiled, which needs no device."""
    yield HealthCheck("CUDA compiler (NVRTC)", check_compiler)

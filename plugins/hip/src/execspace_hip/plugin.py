"""What this distribution announces to execspace. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from execspace import HealthCheck, SpaceEntry, hookimpl
from execspace.base import config
from execspace_gpu.claiming import Protocols
from execspace_gpu.plugin import declare_blocking, space_entry, visible_devices

from .amdgpu import target
from .amdgpu.health import check_compiler, check_evidence
from .probing import probe

PROTOCOLS = Protocols(device=10, managed=None, legacy=0, interface=False)

# What hides GPUs from HIP, from ROCm below it, and from programs written for CUDA.
_HIDING = ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")

declare_blocking("hip", "an AMD GPU")
config.declare(
    config.Variable(
        "HIP_COMPILER",
        None,
        "path of the clang that compiles for a named target, as explain(target='gfx942') does; "
        "default: ROCm's, or the newest that is installed",
    )
)


@hookimpl
def execspace_register_spaces() -> Iterable[SpaceEntry]:
    """The `hip` space; "hip:1" is the second device that HIP shows."""
    yield space_entry(
        "hip", "execspace_hip.space:Hip", PROTOCOLS, probe,
        priority=25,
        summary="an AMD GPU (never run on one yet)",
        target=target,
        devices=partial(visible_devices, *_HIDING),
    )  # fmt: skip


@hookimpl
def execspace_health_checks() -> Iterable[HealthCheck]:
    """Whether kernels can be compiled, which needs no device, and what was tested."""
    yield HealthCheck("HIP compiler (hiprtc or clang)", check_compiler)
    yield HealthCheck("HIP, what has been tested", check_evidence)

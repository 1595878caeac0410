"""What this distribution announces to execspace. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from execspace import ExecutionSpace, HealthCheck, SpaceEntry, hookimpl
from execspace.base import config
from execspace_gpu.claiming import Protocols, claimed_by

from .probing import check_compiler, check_evidence, probe

PROTOCOLS = Protocols(device=10, managed=None, legacy=0, interface=False)

config.declare(
    config.Variable(
        "HIP_BLOCKING",
        "0",
        "1: wait for each kernel on an AMD GPU, so that a fault is reported where it was launched",
    )
)
config.declare(
    config.Variable(
        "HIP_COMPILER",
        None,
        "path of the clang that compiles for a named target, as explain(target='gfx942') does; "
        "default: ROCm's, or the newest that is installed",
    )
)


def make_hip(device: str | None) -> ExecutionSpace:
    """Factory of the `hip` entry."""
    from execspace_gpu.space import space_of

    from .space import Hip

    return space_of(Hip, device)


def claims(source: Any) -> str | None:
    """Name of the space for an array that is in memory of a GPU: "hip" or "hip:1"."""
    return claimed_by("hip", source, PROTOCOLS)


def target(name: str) -> ExecutionSpace | None:
    """What compiles for a kind of GPU such as "gfx942" and launches nothing."""
    if not name.startswith("gfx"):
        return None
    from .target_space import HipTarget

    return HipTarget(name)


@hookimpl
def execspace_register_spaces() -> Iterable[SpaceEntry]:
    """The `hip` space; "hip:1" is the second device that HIP shows."""
    yield SpaceEntry(
        "hip",
        factory=make_hip,
        api_version=(0, 1),
        priority=25,
        probe=probe,
        summary="an AMD GPU (never run on one yet)",
        claims=claims,
        target=target,
    )


@hookimpl
def execspace_health_checks() -> Iterable[HealthCheck]:
    """Whether kernels can be compiled, which needs no device, and what was tested."""
    yield HealthCheck("HIP compiler (hiprtc or clang)", check_compiler)
    yield HealthCheck("HIP, what has been tested", check_evidence)

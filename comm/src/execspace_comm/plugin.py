"""What the command `execspace doctor` asks of communication; spaces it has none."""

from __future__ import annotations

from collections.abc import Iterator

import execspace as es

from .settings import DEVICE_POINTERS

__all__ = ["execspace_health_checks"]


@es.hookimpl
def execspace_health_checks() -> Iterator[es.HealthCheck]:
    """A row on MPI, and one on NCCL."""
    assert DEVICE_POINTERS  # declared for `execspace info`
    from .health import mpi, nccl

    yield es.HealthCheck("MPI", mpi)
    yield es.HealthCheck("NCCL", nccl)

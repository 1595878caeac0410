"""The environment variables of this package, which `execspace info` lists."""

from __future__ import annotations

from execspace.base import config

__all__ = ["DEVICE_POINTERS"]

DEVICE_POINTERS = "COMM_DEVICE_POINTERS"

config.declare(
    config.Variable(
        DEVICE_POINTERS,
        None,
        "1: MPI takes addresses of devices; 0: it does not; default: as the MPI library tells",
    )
)

"""Which engine carries messages of devices: NCCL where every rank has a GPU to itself, else MPI."""

from __future__ import annotations

from typing import Any

import execspace as es

__all__ = ["nccl_reason"]

_KINDS = (2, 10)  # DLPack's CUDA and ROCm


def nccl_reason(comm: Any, space: es.ExecutionSpace) -> str:
    """Why NCCL cannot be used on a space; empty if it can. Collective; the same on all ranks."""
    mine = _own_reason(space)
    identity = "" if mine else _identity(space)
    found = comm._told_by_all((mine, identity), "NCCL")
    for rank, (reason, _) in enumerate(found):
        if reason:
            return reason if rank == comm.rank else f"on rank {rank} {reason}"
    seen: dict[str, int] = {}
    for rank, (_, who) in enumerate(found):
        if who in seen:
            return f"ranks {seen[who]} and {rank} share a GPU"
        seen[who] = rank
    return ""


def _own_reason(space: es.ExecutionSpace) -> str:
    memory = space.memory_space
    if getattr(space, "stream", None) is None or memory.host_accessible:
        return f"space '{space.name}' is none of a GPU with streams"
    try:
        probe = es.View(1, "uint8", space=space, initialize=False)
        if probe.__dlpack_device__()[0] not in _KINDS:
            return f"space '{space.name}' is none of CUDA or ROCm"
    except BufferError:
        return f"space '{space.name}' is none of CUDA or ROCm"
    try:
        from cupy.cuda import nccl

        nccl.get_version()
    except Exception as error:
        return f"CuPy has no NCCL here ({type(error).__name__}: {error})"
    return ""


def _identity(space: Any) -> str:
    """Which GPU it is, of all hosts."""
    import cupy

    with cupy.cuda.Device(space.number):
        found = cupy.cuda.runtime.getDeviceProperties(space.number)
    return str(found.get("uuid", b"") or cupy.cuda.runtime.deviceGetPCIBusId(space.number))

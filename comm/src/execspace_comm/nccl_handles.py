"""NCCL's own communicators: one for each communicator of MPI on a GPU, shared, and how they end.

To destroy one is collective, and waits for all graphs that have its operations. So the garbage
collector, which ranks run at different times, never does: those that nobody frees live on until
the process ends.
"""

from __future__ import annotations

import ctypes
import gc
from functools import cache
from typing import Any
from weakref import WeakSet

from cupy.cuda import nccl as library
from mpi4py import MPI

import execspace as es

from .base import CommBase
from .errors import CommError
from .waiting import told_by_all

__all__ = ["Handle", "handle_of", "release"]


class Handle:
    """A communicator of NCCL.

    Attributes
    ----------
    raw : cupy.cuda.nccl.NcclCommunicator
    users : int
        Objects that were given it, and have not released it.
    captured : WeakSet
        What graphs call: each lives as long as its graph.
    """

    def __init__(self, raw: Any) -> None:
        self.raw, self.users = raw, 0
        self.captured: WeakSet[Any] = WeakSet()


def handle_of(comm: CommBase, device: Any) -> Handle:
    """That of the ranks of a communicator, on a GPU of each. Collective; blocks."""
    kept = comm.mpi.Get_attr(_keyval())
    if not isinstance(kept, dict):
        kept = {}
        comm.mpi.Set_attr(_keyval(), kept)
    found: Handle | None = kept.get(device.id)
    if not all(told_by_all(comm.mpi, found is not None, "NCCL")) or found is None:
        with device:
            identity = comm.mpi.bcast(library.get_unique_id() if comm.rank == 0 else None)
            raw = library.NcclCommunicator(comm.size, identity, comm.rank)
        _reference(raw, +1)
        found = kept[device.id] = Handle(raw)
    found.users += 1
    return found


def release(comm: CommBase, device: Any, handle: Handle) -> None:
    """One uses it no more; the last one destroys it. Collective; blocks.

    Raises
    ------
    CommError
        On all ranks, if a graph or a halo of one has operations of it: NCCL would wait for it.
    """
    es.fence("nccl")
    if handle.users == 1:
        gc.collect()
    busy = told_by_all(comm.mpi, (handle.users == 1, len(handle.captured)), "NCCL")
    if all(is_last for is_last, _ in busy):
        for rank, (_, graphs) in enumerate(busy):
            if graphs:
                raise CommError(
                    f"free: rank {rank} has graphs or halos with {graphs} operations of NCCL, "
                    f"which would wait for them; drop them before (del)."
                )
        with device:
            handle.raw.destroy()
        _reference(handle.raw, -1)
        kept = comm.mpi.Get_attr(_keyval())
        if isinstance(kept, dict) and kept.get(device.id) is handle:
            del kept[device.id]
    handle.users -= 1


@cache
def _keyval() -> int:
    return int(MPI.Comm.Create_keyval())


def _reference(raw: Any, change: int) -> None:
    """Keep an object from being collected, also when the interpreter ends; or no more."""
    count = ctypes.pythonapi.Py_IncRef if change > 0 else ctypes.pythonapi.Py_DecRef
    count(ctypes.py_object(raw))

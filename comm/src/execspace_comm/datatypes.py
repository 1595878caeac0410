"""MPI's datatype of an element: its bytes, whatever it is, so that all dtypes can be sent.

What is joined is joined by this package, for MPI knows neither NaN nor float16 nor records.
"""

from __future__ import annotations

from typing import Any

from .mpi import MPI

__all__ = ["datatype_of", "memory_at"]

_known: dict[int, Any] = {1: MPI.BYTE}


def datatype_of(size: int) -> Any:
    """The committed datatype of so many bytes, so that counts are those of elements."""
    found = _known.get(size)
    if found is None:
        found = _known[size] = MPI.BYTE.Create_contiguous(size).Commit()
    return found


def memory_at(address: int, nbytes: int) -> Any:
    """Memory as mpi4py takes it, of the host or of a device; nothing is read."""
    return MPI.buffer.fromaddress(address, nbytes) if nbytes else MPI.BOTTOM

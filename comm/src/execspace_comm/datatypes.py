"""MPI's datatype of an element: its bytes, whatever it is, so that all dtypes can be sent.

What is joined is joined by this package, for MPI knows neither NaN nor float16 nor records.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .errors import CommError
from .mpi import MPI

__all__ = ["datatype_of", "grouped", "memory_at"]

_MOST = 2**31 - 1  # what a C int holds
_known: dict[int, Any] = {1: MPI.BYTE}


def datatype_of(size: int) -> Any:
    """The committed datatype of so many bytes, so that counts are those of elements."""
    found = _known.get(size)
    if found is None:
        found = _known[size] = MPI.BYTE.Create_contiguous(size).Commit()
    return found


def grouped(size: int, counts: Sequence[int]) -> tuple[Any, int]:
    """The datatype of one or more elements of so many bytes, and of how many, for counts that MPI
    has an int for: counts of it are those of elements divided by that number.

    Raises
    ------
    CommError
        If there are 2^31 elements or more, and no power of two divides all counts by enough.
    """
    total, group = sum(counts), 1
    while total // group > _MOST:
        group *= 2
    if group > 1 and any(count % group for count in counts):
        raise CommError(
            f"a message of {total} elements; expected fewer than 2^31, or numbers that {group} "
            f"divides, as MPI counts with 31 bits: send it in parts."
        )
    return datatype_of(size * group), group


def memory_at(address: int, nbytes: int) -> Any:
    """Memory as mpi4py takes it, of the host or of a device; nothing is read."""
    return MPI.buffer.fromaddress(address, nbytes) if nbytes else MPI.BOTTOM

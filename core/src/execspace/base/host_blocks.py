"""Blocks of memory of the host: small ones are kept when they are freed, for the next View.

To ask the system for memory, and NumPy for its address, takes longer than all the rest of making a
View. Larger blocks come from the system each time, for their pages are to lie where the first
kernel touches them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .array_interface import address_of

ALIGNMENT = 64  # bytes: a cache line, and the widest vector register
_LEAST = ALIGNMENT.bit_length() - 1
LARGEST = 1 << 16  # bytes of a block that is kept
_KEPT = 1 << 22  # bytes that are kept of one size
_Bytes = npt.NDArray[np.uint8]
_Free = list[tuple[_Bytes, int]]


class Block:
    """Memory that Views, and arrays over them, keep alive; then it is free for others.

    Attributes
    ----------
    bytes : ndarray of uint8
        All of it; at an address that is a multiple of 64.
    address : int
    """

    __slots__ = ("_free", "_most", "address", "bytes")

    def __init__(self, bytes: _Bytes, address: int, free: _Free, most: int) -> None:
        self.bytes = bytes
        self.address = address
        self._free = free
        self._most = most

    def __del__(self) -> None:
        free = self._free
        if len(free) < self._most:
            free.append((self.bytes, self.address))


class Kept(NamedTuple):
    """What a pool has: blocks that nobody uses, and their bytes."""

    blocks: int
    nbytes: int


class Blocks:
    """A pool of blocks of powers of two bytes. Threads need no lock: lists have their own."""

    def __init__(self) -> None:
        sizes = range(_LEAST, LARGEST.bit_length())
        self._free: dict[int, _Free] = {size: [] for size in sizes}

    def take(self, nbytes: int) -> Block:
        """A block of at least so many bytes, with whatever is in it.

        Raises
        ------
        MemoryError
        """
        size = _LEAST if nbytes <= ALIGNMENT else (nbytes - 1).bit_length()
        free = self._free[size]
        try:
            bytes, address = free.pop()
        except IndexError:
            bytes, address = aligned(1 << size)
        return Block(bytes, address, free, _KEPT >> size)

    def kept(self) -> Kept:
        """The blocks that nobody uses."""
        numbers = [(len(free), size) for size, free in self._free.items()]
        return Kept(sum(n for n, _ in numbers), sum(n << size for n, size in numbers))

    def trim(self) -> int:
        """Give all of these back to the system; returns their bytes."""
        freed = 0
        for size, free in self._free.items():
            while free:
                try:
                    free.pop()
                except IndexError:  # another thread took it
                    break
                freed += 1 << size
        return freed


def aligned(nbytes: int, make: Any = np.empty) -> tuple[_Bytes, int]:
    """New memory as an array of bytes whose address is a multiple of 64, and that address."""
    buffer = make(nbytes + ALIGNMENT, dtype=np.uint8)
    address = address_of(buffer)
    start = -address % ALIGNMENT
    return buffer[start : start + nbytes], address + start

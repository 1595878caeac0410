"""Blocks of memory: small ones are kept when they are freed, for the next View.

To ask a system or a driver for memory, and NumPy for its address, takes longer than all the rest of
making a View. Larger blocks come from there each time: of the host their pages are to lie where the
first kernel touches them, and drivers' own pools have few of them.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import config
from .array_interface import address_of

ALIGNMENT = 64  # bytes: a cache line, and the widest vector register
LARGEST = 1 << 16  # bytes of a block that is kept
_KEPT = 1 << 22  # bytes that are kept of one size
_Bytes = npt.NDArray[np.uint8]


class Kept(NamedTuple):
    """What a pool has: blocks that nobody uses, and their bytes."""

    blocks: int
    nbytes: int


class _Free(list[tuple[Any, int]]):
    """Blocks of one size that nobody uses, as what owns them and their addresses.

    `owners` has those of all blocks, used or not, by address: a block that goes in a cycle of
    references would take its owner with it, which the garbage collector then finalizes.
    """

    __slots__ = ("may_keep", "most", "owners")

    def __init__(
        self, most: int, may_keep: Callable[[], bool] | None, owners: dict[int, Any]
    ) -> None:
        self.most = most
        self.may_keep = may_keep
        self.owners = owners


class Block(tuple[Any, int, _Free]):
    """Memory that Views, and arrays over them, keep alive; then it is free for others.

    A tuple, for a class of its own attributes takes twice as long to make.

    Attributes
    ----------
    owner : object
        What the pool got it as: of the host an ndarray of uint8, of a device its buffer.
    address : int
    """

    __slots__ = ()
    owner: Any = property(itemgetter(0))
    address: Any = property(itemgetter(1))

    def __del__(self) -> None:
        owner, address, free = self
        if len(free) < free.most and (free.may_keep is None or free.may_keep()):
            free.append((owner, address))
        else:
            free.owners.pop(address, None)


class Blocks:
    """A pool of blocks of powers of two bytes. Threads need no lock: lists have their own.

    Parameters
    ----------
    make : callable
        So many bytes of new memory, at a multiple of 64, as their owner and their address.
    may_keep : callable, optional
        Asked when a block is freed: whether nothing works on it any more but what comes before
        all that its next owner does. It may wait until that is so.
    least : int, default 64
        Bytes of the smallest blocks, a power of two.
    """

    def __init__(
        self,
        make: Callable[[int], tuple[Any, int]],
        may_keep: Callable[[], bool] | None = None,
        *,
        least: int = ALIGNMENT,
    ) -> None:
        self._make = make
        self._least = least
        sizes = range(least.bit_length() - 1, LARGEST.bit_length())
        self._owners: dict[int, Any] = {}
        self._kept_of_none = _Free(0, None, self._owners)
        self._free = {size: _Free(_KEPT >> size, may_keep, self._owners) for size in sizes}

    def take(self, nbytes: int) -> Block:
        """A block of at least so many bytes, at most `LARGEST`, with whatever is in it.

        Raises
        ------
        Exception
            Of `make`.
        """
        least = self._least
        size = ((nbytes if nbytes > least else least) - 1).bit_length()
        free = self._free[size]
        try:
            owner, address = free.pop()
        except IndexError:
            return self._new_block(nbytes, size, free)
        return Block((owner, address, free))

    def _new_block(self, nbytes: int, size: int, free: _Free) -> Block:
        if config.get_bool("POOLS"):
            nbytes = 1 << size
        else:  # of its own size, so that sanitizers see where it ends
            nbytes, free = max(nbytes, 1), self._kept_of_none
        owner, address = self._make(nbytes)
        self._owners[address] = owner
        return Block((owner, address, free))

    def kept(self) -> Kept:
        """The blocks that nobody uses."""
        numbers = [(len(free), size) for size, free in self._free.items()]
        return Kept(sum(n for n, _ in numbers), sum(n << size for n, size in numbers))

    def trim(self) -> int:
        """Give all of these back to whom they came from; returns their bytes."""
        freed = 0
        for size, free in self._free.items():
            while free:
                try:
                    _, address = free.pop()
                    self._owners.pop(address, None)
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

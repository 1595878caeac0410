"""Blocks of memory: small ones are kept when they are freed, for the next View.

To ask a system or a driver for memory, and NumPy for its address, takes longer than all the rest of
making a View. Larger blocks come from there each time: of the host their pages are to lie where the
first kernel touches them, and drivers' own pools have few of them.
"""

from __future__ import annotations

from collections.abc import Callable
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


class _Block(int):
    """An address that is free for others when nobody has it any more.

    Each pool has a class of its own, whose `__del__` is that of the pool.
    """

    __slots__ = ()


Holder = npt.NDArray[np.object_]
"""What keeps a block in use: an array of nothing but the block, into which the garbage collector
does not look.

Of what is in a cycle of references it calls every `__del__` first, while the rest of the cycle may
yet use the memory, or stay alive. What an array holds is no part of the cycle to it, and goes when
the array does.
"""
_OBJECT = np.dtype(object)
_new_array = np.empty


class _Free(list[int]):
    """Addresses of blocks of one size that nobody uses; and the most that there may be."""

    __slots__ = ("most",)

    def __init__(self, most: int) -> None:
        self.most = most


_NONE = _Free(0)  # of blocks that are not kept


class Blocks:
    """A pool of blocks of powers of two bytes. Threads need no lock: lists and dicts have theirs.

    Parameters
    ----------
    make : callable
        So many bytes of new memory, at a multiple of 64, as their owner and their address.
    may_keep : callable, optional
        Asked when a block is freed: whether nothing works on it any more but what comes before
        all that its next owner does. It may wait until that is so.
    drop : callable, optional
        Called with the owner of a block that is not kept.
    least : int, default 64
        Bytes of the smallest blocks, a power of two.
    owners : dict of int to object, optional
        Gets the owners of all blocks, used or not, by their addresses.

    Attributes
    ----------
    owners : dict of int to object
    """

    def __init__(
        self,
        make: Callable[[int], tuple[Any, int]],
        may_keep: Callable[[], bool] | None = None,
        drop: Callable[[Any], None] | None = None,
        *,
        least: int = ALIGNMENT,
        owners: dict[int, Any] | None = None,
    ) -> None:
        self._make = make
        self._drop = drop
        self._least = least
        self.owners: dict[int, Any] = {} if owners is None else owners
        self._homes: dict[int, _Free] = {}  # of all blocks
        sizes = range(least.bit_length() - 1, LARGEST.bit_length())
        self._free = {size: _Free(_KEPT >> size) for size in sizes}
        homes, forget = self._homes, self._forget

        def __del__(block: _Block) -> None:
            free = homes[block]
            if len(free) < free.most and (may_keep is None or may_keep()):
                free.append(int(block))  # the number, not the block itself
            else:
                forget(int(block))

        members = {"__slots__": (), "__del__": __del__}
        self._kind: type[_Block] = type("_Block", (_Block,), members)

    def take(self, nbytes: int) -> tuple[Holder, int]:
        """What holds a block of at least so many bytes, with whatever is in it, and its address.

        Raises
        ------
        Exception
            Of `make`.
        """
        if nbytes > LARGEST:
            return self.single(nbytes)
        least = self._least
        size = ((nbytes if nbytes > least else least) - 1).bit_length()
        free = self._free[size]
        try:
            address = free.pop()
        except IndexError:
            if not config.get_bool("POOLS"):
                return self.single(nbytes)
            address = self._new(1 << size, free)
        holder = _new_array((), _OBJECT)
        holder[()] = self._kind(address)
        return holder, address

    def single(self, nbytes: int) -> tuple[Holder, int]:
        """The same of a block of its own size, where sanitizers see its end; it is not kept."""
        address = self._new(max(nbytes, 1), _NONE)
        holder = _new_array((), _OBJECT)
        holder[()] = self._kind(address)
        return holder, address

    def _new(self, nbytes: int, free: _Free) -> int:
        owner, address = self._make(nbytes)
        self.owners[address] = owner
        self._homes[address] = free
        return address

    def _forget(self, address: int) -> None:
        del self._homes[address]
        owner = self.owners.pop(address)
        if self._drop is not None:
            self._drop(owner)

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
                    address = free.pop()
                except IndexError:  # another thread took it
                    break
                self._forget(address)
                freed += 1 << size
        return freed


def aligned(nbytes: int, make: Any = np.empty) -> tuple[_Bytes, int]:
    """New memory as an array of bytes whose address is a multiple of 64, and that address."""
    buffer = make(nbytes + ALIGNMENT, dtype=np.uint8)
    address = address_of(buffer)
    start = -address % ALIGNMENT
    return buffer[start : start + nbytes], address + start

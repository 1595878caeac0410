"""MemoryPool: parts of a View that kernels allocate and give back at the same time.

The View is cut into superblocks. One that is in use has blocks of one size, a power of two; a word
says which size, and how many blocks are taken, and bits say which. Whoever wants a block raises the
count first, so that one of the bits is free for him; whoever gives one back lowers it last.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..base.dataclass import dataclass
from ..base.errors import ViewError
from ..base.readonly import ReadOnly
from ..contract.dtypes import int64, uint32
from ..contract.space import ExecutionSpace
from ..kernels.atomics import atomic_compare_exchange, atomic_load, atomic_store
from ..kernels.refusals import check_integer
from ..views.deep_copy import deep_copy
from ..views.view import View
from .arguments import chosen_space, whole

__all__ = [
    "MemoryPool",
]

_SHIFT = 24  # of the size within the word of a superblock; below it is the count
_COUNT = (1 << _SHIFT) - 1
_MOST_BLOCKS = 1 << (_SHIFT - 1)


class PoolUsage(NamedTuple):
    """What is taken of a `MemoryPool`; numbers of elements, but for the first and the last.

    Attributes
    ----------
    blocks : int
        That are allocated.
    allocated : int
        Of these blocks, each as large as the power of two that it has become.
    capacity : int
        Of the whole pool.
    free_superblocks : int
        Without any block, which serve whatever size is asked for.
    """

    blocks: int
    allocated: int
    capacity: int
    free_superblocks: int


@dataclass(eq=False)
class MemoryPool(ReadOnly):
    """Memory that kernels allocate: indices of a View, `data`, from which on elements are theirs.

    It is a dataclass of Views and numbers: pass it to a launch, and call `allocate` and
    `deallocate` in the kernel.

    Parameters
    ----------
    total : int
        Number of elements, which is rounded up to whole superblocks.
    dtype : dtype-like, default float64
        Of the elements.
    min_block, max_block : int
        Sizes in elements of the smallest and the largest block, powers of two. `max_block` is the
        superblock if not given.
    superblock : int, optional
        Elements of a superblock, a power of two. If not given, a thirty-second of `total` or so,
        but no less than `max_block` or 32 of the smallest blocks.
    label : str
    space : str or ExecutionSpace, optional
        Where the kernels run; the default space if not given.

    Attributes
    ----------
    data : View
        The elements of all blocks.
    min_block, max_block, superblock : int
    space : ExecutionSpace

    Raises
    ------
    ViewError
        If a size is no power of two, the sizes do not ascend, or `total` is no integer above zero.
    DTypeError
        If there are no elements of this type.
    SpaceError
        If there is no such space.

    Notes
    -----
    Nobody waits for another thread: a try fails only where another one has succeeded. What the last
    owner of a block wrote is seen by the next one. Elements of a new block are not zero.

    Kokkos: Kokkos::MemoryPool, Kokkos_MemoryPool.hpp. There sizes are bytes, and blocks pointers.

    Examples
    --------
    >>> import execspace as es
    >>> pool = es.MemoryPool(1000, es.int64, min_block=4, space="serial")
    >>> @es.kernel
    ... def sum_of_squares(i, pool):
    ...     at = pool.allocate(i + 1)
    ...     for k in range(i + 1):
    ...         pool.data[at + k] = k * k
    ...     total = 0
    ...     for k in range(i + 1):
    ...         total += pool.data[at + k]
    ...     pool.deallocate(at)
    ...     return total
    >>> es.parallel_reduce(es.RangePolicy(4, space="serial"), sum_of_squares, pool)
    20
    >>> pool.usage().blocks
    0
    """

    data: View
    _states: View
    _bits: View
    _hints: View
    min_block: int
    max_block: int
    superblock: int
    _words: int

    _fixed = frozenset(("data", "max_block", "min_block", "space", "superblock"))
    _instead = "Make a new MemoryPool"
    _for_kernels = ("allocate", "deallocate", "data")

    def __init__(
        self,
        total: int,
        dtype: npt.DTypeLike = np.float64,
        *,
        min_block: int = 32,
        max_block: int | None = None,
        superblock: int | None = None,
        label: str = "",
        space: str | ExecutionSpace | None = None,
    ) -> None:
        number = whole("MemoryPool", "total", total, 1)
        self.min_block = _power_of_two("min_block", min_block)
        largest = self.min_block if max_block is None else _power_of_two("max_block", max_block)
        if superblock is None:
            share = 1 << max(number // 32, 1).bit_length() - 1
            superblock = max(largest, min(share, 2**20 * self.min_block), 32 * self.min_block)
        self.superblock = _power_of_two("superblock", superblock)
        self.max_block = self.superblock if max_block is None else largest
        if not self.min_block <= self.max_block <= self.superblock:
            raise ViewError(
                f"MemoryPool: min_block is {self.min_block}, max_block {self.max_block} and "
                f"superblock {self.superblock}; expected that none is less than the one before."
            )
        if self.superblock // self.min_block > _MOST_BLOCKS:
            raise ViewError(
                f"MemoryPool: superblock is {self.superblock}, which is more than {_MOST_BLOCKS} "
                f"blocks of min_block={self.min_block}; expected a smaller superblock, or larger "
                f"blocks."
            )
        count = -(-number // self.superblock)
        self._words = max(self.superblock // self.min_block // 32, 1)
        self.space = chosen_space(space)
        self.data = View(count * self.superblock, dtype, label=label, space=self.space)
        self._states = View(count, uint32, label="MemoryPool.states", space=self.space)
        self._bits = View((count, self._words), uint32, label="MemoryPool.bits", space=self.space)
        self._hints = View(64, int64, label="MemoryPool.hints", space=self.space)

    def __repr__(self) -> str:
        return (
            f"<MemoryPool '{self.data.label}' {self.data.dtype.name} of {self.data.size} elements "
            f"in blocks from {self.min_block} to {self.max_block} on space '{self.space.name}'>"
        )

    # -- for kernels ------------------------------------------------------------------------------

    def allocate(self, size: Any, hint: Any = 0) -> Any:
        """A block of `size` elements or more; for kernels.

        Parameters
        ----------
        size : int
            Number of elements.
        hint : int, default 0
            Any integer. Work items with different hints look for a free block in different places.

        Returns
        -------
        int
            Index in `data` of the first element; -1 if there is no such block, or `size` is less
            than 1 or greater than `max_block`.
        """
        check_integer("size", size)
        check_integer("hint", hint)
        found = int64(-1)
        if 1 <= size <= self.max_block:
            kind = int64(0)
            while self.min_block << kind < size:
                kind += 1
            found = self._block_in_use(kind, hint)
            if found < 0:
                found = self._block_of_a_free_one(kind, hint)
            larger = kind + 1
            while found < 0 and self.min_block << larger <= self.max_block:
                found = self._block_in_use(larger, hint)
                larger += 1
        return found

    def deallocate(self, index: Any) -> Any:
        """Give a block back, by the index that `allocate` gave; for kernels.

        Returns
        -------
        bool
            Whether it was a block; otherwise nothing is changed.
        """
        check_integer("index", index)
        if index < 0 or index >= self.data.extent(0):
            return False
        s = int64(index) // self.superblock
        state = atomic_load(self._states, s)
        size = self.min_block << int64(state >> uint32(_SHIFT))
        within = int64(index) % self.superblock
        if state & uint32(_COUNT) == 0 or within % size != 0:
            return False
        block = within // size
        bit = uint32(1) << uint32(block % 32)
        word = atomic_load(self._bits, (s, block // 32))
        while word & bit != 0:
            seen = atomic_compare_exchange(self._bits, (s, block // 32), word, word & ~bit)
            if seen == word:
                self._lower_count(s)
                return True
            word = seen
        return False

    def _block_in_use(self, kind: Any, hint: Any) -> Any:
        """A block of a superblock that has blocks of this kind, -1 if there is none."""
        count = self._states.extent(0)
        most = uint32((self.superblock // self.min_block) >> kind)
        s = atomic_load(self._hints, kind)
        for _ in range(count):
            state = atomic_load(self._states, s)
            while self._has_room(state, kind, most):
                seen = atomic_compare_exchange(self._states, s, state, state + uint32(1))
                if seen == state:
                    return self._taken(s, kind, hint)
                state = seen
            s = (s + 1) % count
        return int64(-1)

    def _has_room(self, state: Any, kind: Any, most: Any) -> Any:
        taken = state & uint32(_COUNT)
        return int64(state >> uint32(_SHIFT)) == kind and taken > 0 and taken < most

    def _block_of_a_free_one(self, kind: Any, hint: Any) -> Any:
        """The first block of a superblock that has none, which gets blocks of this kind."""
        count = self._states.extent(0)
        s = atomic_load(self._hints, kind)
        mine = uint32(kind << _SHIFT) + uint32(1)
        most = uint32((self.superblock // self.min_block) >> kind)
        for _ in range(count):
            state = atomic_load(self._states, s)
            while state & uint32(_COUNT) == 0 or self._has_room(state, kind, most):
                new = mine if state & uint32(_COUNT) == 0 else state + uint32(1)
                seen = atomic_compare_exchange(self._states, s, state, new)
                if seen == state:
                    atomic_store(self._hints, kind, s)
                    return self._taken(s, kind, hint)
                state = seen
            s = (s + 1) % count
        return int64(-1)

    def _taken(self, s: Any, kind: Any, hint: Any) -> Any:
        """A block of a superblock of which one is free for whoever raised the count."""
        blocks = (self.superblock // self.min_block) >> kind
        words = (blocks + 31) // 32
        valid = uint32(0xFFFFFFFF)
        if blocks < 32:
            valid = (uint32(1) << uint32(blocks)) - uint32(1)
        w = int64(hint) % words
        while True:
            word = atomic_load(self._bits, (s, w))
            free = ~word & valid
            while free != 0:
                bit = free & (~free + uint32(1))
                seen = atomic_compare_exchange(self._bits, (s, w), word, word | bit)
                if seen == word:
                    block = 32 * w + int64(np.bitwise_count(bit - uint32(1)))
                    return s * self.superblock + block * (self.min_block << kind)
                word = seen
                free = ~word & valid
            w = (w + 1) % words

    def _lower_count(self, s: Any) -> None:
        state = atomic_load(self._states, s)
        while True:
            seen = atomic_compare_exchange(self._states, s, state, state - uint32(1))
            if seen == state:
                break
            state = seen

    # -- on the host ------------------------------------------------------------------------------

    def usage(self) -> PoolUsage:
        """What is taken: numbers of blocks, of elements, and of free superblocks. Blocks."""
        states = self._states.to_numpy().astype(np.int64)
        counts, kinds = states & _COUNT, states >> _SHIFT
        allocated = int((counts * (self.min_block << kinds)).sum())
        free = int((counts == 0).sum())
        return PoolUsage(int(counts.sum()), allocated, self.data.size, free)

    def reset(self) -> None:
        """Take all blocks back; in order with launches on the space."""
        for view in (self._states, self._bits, self._hints):
            deep_copy(view, 0, instance=self.space)


def _power_of_two(name: str, value: Any) -> int:
    number = whole("MemoryPool", name, value, 1)
    if number & (number - 1):
        raise ViewError(
            f"MemoryPool: {name} is {number}; expected a power of two, such as "
            f"{1 << number.bit_length()}."
        )
    return number

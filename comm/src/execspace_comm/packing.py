"""Packing of regions into messages, and out of them: one launch for all regions of a field.

A table has a row for each region: where it begins in the buffer and in the View, its extents and
the strides of the View. A work item finds its region by bisection, and its element by the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

import execspace as es

__all__ = ["Table", "flat"]


def flat(view: es.View) -> es.View:
    """The memory of a View in the order in which it lies, as a View of rank 1."""
    return view._over(
        view.allocation, view.data_ptr, view.dtype, (max(1, view.span),), (1,), "right", False,
        view.space,
    )  # fmt: skip


class Table:
    """Where the elements of regions of a View are, in a message and in the View.

    Attributes
    ----------
    count : int
        Elements of all regions.
    """

    def __init__(
        self,
        view: es.View,
        regions: Sequence[tuple[int, tuple[int, ...], tuple[int, ...]]],
        order: Sequence[int],
    ) -> None:
        """`regions`: of each, where it begins in the buffer, in elements; its first indices and
        its extents. `order`: dimensions from the slowest to the fastest of a message."""
        rows, first = [], 0
        for place, begin, shape in regions:
            count = prod(shape)
            if not count:
                continue
            offset = sum(b * s for b, s in zip(begin, view.strides, strict=True))
            extents = [shape[d] for d in order]
            strides = [view.strides[d] for d in order]
            rows.append([first, place, offset, *extents, *strides])
            first += count
        self.count, self.rows = first, len(rows)
        width = 3 + 2 * view.rank
        numbers = np.array(rows, np.int64).reshape(len(rows), width)
        # 32 bits where they suffice: divisions of 64 take GPUs several times as long.
        small = max(view.span, first, int(numbers.max(initial=0))) < 2**31
        kind = np.int32 if small else np.int64
        self.memory = flat(view)
        space = view.space or es.default_space()
        self.numbers = es.array(numbers.astype(kind), space=space, layout="right")
        self.kernel_pack, self.kernel_unpack = _KERNELS[view.rank]

    def pack(self, buffer: es.View, space: es.ExecutionSpace) -> None:
        """Copy elements of the regions into a buffer of their dtype; asynchronous."""
        if self.count:
            policy = es.RangePolicy(self.count, space=space)
            es.parallel_for(
                policy, self.kernel_pack, self.rows, self.numbers, self.memory, buffer,
                label="halo pack",
            )  # fmt: skip

    def unpack(self, buffer: es.View, space: es.ExecutionSpace) -> None:
        """The inverse of `pack`."""
        if self.count:
            policy = es.RangePolicy(self.count, space=space)
            es.parallel_for(
                policy, self.kernel_unpack, self.rows, self.numbers, self.memory, buffer,
                label="halo unpack",
            )  # fmt: skip


@es.function
def _row(k: Any, rows: Any, table: Any) -> Any:
    """The region that an element is in."""
    low = 0
    high = rows
    while high - low > 1:
        middle = (low + high) // 2
        if table[middle, 0] <= k:
            low = middle
        else:
            high = middle
    return low


def _made(rank: int) -> tuple[Any, Any]:
    """The kernels for Views of a rank."""

    @es.function
    def offset(k: Any, row: Any, table: Any) -> Any:
        rest = k - table[row, 0]
        found = table[row, 2]
        for back in range(rank):
            d = rank - 1 - back
            extent = table[row, 3 + d]
            found += (rest % extent) * table[row, 3 + rank + d]
            rest = rest // extent
        return found

    def pack(k: int, rows: Any, table: Any, memory: Any, buffer: Any) -> None:
        row = _row(k, rows, table)
        buffer[table[row, 1] + k - table[row, 0]] = memory[offset(k, row, table)]

    def unpack(k: int, rows: Any, table: Any, memory: Any, buffer: Any) -> None:
        row = _row(k, rows, table)
        memory[offset(k, row, table)] = buffer[table[row, 1] + k - table[row, 0]]

    return es.kernel(pack), es.kernel(unpack)


_KERNELS = {rank: _made(rank) for rank in range(1, 9)}

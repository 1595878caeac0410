"""Memory of the host in kernels, of a device that is the host's processor: nothing is copied.

Where the driver takes any address, kernels get it as it is. Otherwise a View is lent: a buffer lies
over its memory for the length of a launch.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyopencl as cl

from execspace import View
from execspace.contract.memory import bytes_at
from execspace.views.deep_copy import extent_of_bytes

from .device import Buffer, Device

WORD = 4  # atomic operations on bytes and shorts exchange the word that they are in


class _Address(cl.SVM):  # type: ignore[misc]
    """An address of the host as kernels take it; can be remembered without being kept."""

    __slots__ = ("__weakref__",)


@lru_cache(4096)
def address(start: int) -> _Address:
    """The argument for an address of the host, made once: what is there does not matter."""
    return _Address(bytes_at(start, 1))


def lend(device: Device, views: Sequence[View]) -> list[tuple[Buffer, int]]:
    """Buffers over host memory, for a device that is the host's processor.

    For each View its buffer, and the byte of its first element in it. Views that share memory
    share a buffer: OpenCL leaves open what two buffers over one memory show of each other.
    Nothing is copied where the driver takes host memory as it is.
    """
    ends = [_ends(v) for v in views]
    if len(views) == 1 and views[0].size:  # in half the time
        (view,), ((low, high),) = views, ends
        return [(_over(device, low, high, view.is_readonly), view.data_ptr - low)]
    lent: list[tuple[Buffer, int]] = [(device.nothing, 0)] * len(views)
    blocks: list[list[int]] = []
    end = 0
    for n in sorted((n for n, v in enumerate(views) if v.size), key=lambda n: ends[n]):
        if not blocks or ends[n][0] >= end:
            blocks.append([])
        blocks[-1].append(n)
        end = max(end, ends[n][1])
    for block in blocks:
        start = ends[block[0]][0]
        # Places count elements, so types whose elements do not line up need buffers of their own.
        apart = any((views[n].data_ptr - start) % unit_of(views[n].dtype) for n in block)
        for part in [[n] for n in block] if apart else [block]:
            low, high = ends[part[0]][0], max(ends[n][1] for n in part)
            buffer = _over(device, low, high, all(views[n].is_readonly for n in part))
            for n in part:
                lent[n] = buffer, views[n].data_ptr - low
    return lent


def give_back(queue: Any, buffer: Buffer) -> None:
    """Let the host see what kernels wrote into a buffer over its memory, once they are done."""
    mapped, _ = cl.enqueue_map_buffer(
        queue, buffer, cl.map_flags.READ, 0, (buffer.size,), np.uint8, is_blocking=False
    )
    mapped.base.release(queue)


def unit_of(dtype: np.dtype[Any]) -> int:
    """Bytes that places in a buffer count."""
    return 1 if dtype.fields is not None else dtype.itemsize


def _over(device: Device, low: int, high: int, readonly: bool) -> Buffer:
    flags = cl.mem_flags.READ_ONLY if readonly else cl.mem_flags.READ_WRITE
    block = bytes_at(low, high - low, readonly=readonly)
    return Buffer(device.context, flags | cl.mem_flags.USE_HOST_PTR, hostbuf=block)


def _ends(view: View) -> tuple[int, int]:
    low, high = extent_of_bytes(view)
    if unit_of(view.dtype) < WORD:
        low, high = low - low % WORD, high + -high % WORD
    return low, high

"""Memory of the host in kernels, of a device that is the host's processor: nothing is copied.

Where the driver takes any address, kernels get it as it is. Otherwise a View is lent: a buffer lies
over its memory for the length of a launch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyopencl as cl

from execspace import View
from execspace.views.deep_copy import extent_of_bytes

from .memory import Buffer, bytes_at

WORD = 4  # atomic operations on bytes and shorts exchange the word that they are in


class _Address(cl.SVM):  # type: ignore[misc]
    """An address of the host as kernels take it; can be remembered without being kept."""

    __slots__ = ("__weakref__",)


class _HostAddresses(dict[int, _Address]):
    """Arguments for addresses of the host, made once each: what is there does not matter."""

    most = 4096

    def __missing__(self, address: int) -> _Address:
        if len(self) >= self.most:
            self.clear()
        made = self[address] = _Address(bytes_at(address, 1, False))
        return made


addresses = _HostAddresses()


def lend(context: Any, views: list[View]) -> list[tuple[Buffer, int]]:
    """Buffers over host memory, for a device that is the host's processor.

    For each View its buffer, and the byte of its first element in it. Views that share memory
    share a buffer: OpenCL leaves open what two buffers over one memory show of each other.
    Views must not be empty. Nothing is copied where the driver takes host memory as it is.
    """
    ends = [_ends(v) for v in views]
    if len(views) == 1:
        return [_over(context, *ends[0], views)]
    found: list[Any] = [None] * len(views)
    rest = sorted(range(len(views)), key=lambda n: ends[n][0])
    while rest:
        low, high = ends[rest[0]]
        block = []
        for n in rest:
            if ends[n][0] >= high:
                break
            block.append(n)
            high = max(high, ends[n][1])
        rest = rest[len(block) :]
        # Places count elements, so types whose elements do not line up need buffers of their own.
        if any((views[n].data_ptr - low) % _unit(views[n]) for n in block):
            for n in block:
                found[n] = _over(context, *ends[n], [views[n]])
            continue
        buffer, _ = _over(context, low, high, [views[n] for n in block])
        for n in block:
            found[n] = buffer, views[n].data_ptr - low
    return found


def _over(context: Any, low: int, high: int, views: list[View]) -> tuple[Buffer, int]:
    readonly = all(v.is_readonly for v in views)
    flags = cl.mem_flags.READ_ONLY if readonly else cl.mem_flags.READ_WRITE
    block = bytes_at(low, high - low, readonly)
    buffer = Buffer(context, flags | cl.mem_flags.USE_HOST_PTR, hostbuf=block)
    return buffer, views[0].data_ptr - low


def _unit(view: View) -> int:
    """Bytes that places in a buffer count."""
    return 1 if view.dtype.fields is not None else view.dtype.itemsize


def _ends(view: View) -> tuple[int, int]:
    low, high = extent_of_bytes(view)
    if _unit(view) < WORD:
        low, high = low - low % WORD, high + -high % WORD
    return low, high


class Lent:
    """A View of the host whose elements kernels find in a buffer."""

    __slots__ = ("allocation", "view")

    def __init__(self, view: View, buffer: Buffer, first: int) -> None:
        self.view = view
        self.allocation = _LentBlock(view.data_ptr - first, view.allocation.nbytes, buffer)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.view, name)


@dataclass(slots=True)
class _LentBlock:
    """Its allocation. Each View has one, so whether Views overlap is asked of their addresses."""

    pointer: int
    nbytes: int
    owner: Buffer
    managed: bool = False

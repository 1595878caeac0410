"""Parcels: what of a View MPI is given. Its own memory where that will do, else a buffer.

A message has the elements in the order of indices, the last one fastest, whatever the layout of
the Views at its two ends. A View whose memory has that order and that MPI can address is sent as
it lies. All others go through a staging buffer, in pinned memory where the space has such, and are
packed and unpacked by `deep_copy`, which on devices launches kernels; tools are told by
`on_staging`.
"""

from __future__ import annotations

from collections import defaultdict
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

import execspace as es
from execspace.views.interop import view_over

from .datatypes import memory_at

__all__ = ["Carrier", "Parcel"]

_MOST_KEPT = 1 << 28  # bytes of staging buffers that nobody uses


class Staging:
    """Staging buffers of a communicator, kept for the next message of their size."""

    def __init__(self) -> None:
        self._free: dict[tuple[str, int], list[tuple[es.View, es.Event | None]]] = defaultdict(list)
        self._bytes = 0

    def take(self, nbytes: int, space: es.ExecutionSpace | None) -> es.View:
        """A buffer of at least so many bytes which the host can address."""
        size = 1 << max(8, (max(1, nbytes) - 1).bit_length())
        kind = "" if space is None else space.name
        found = self._free[kind, size]
        for n, (buffer, event) in enumerate(found):
            if event is None or event.done:
                del found[n]
                self._bytes -= size
                return buffer
        return _buffer(size, space)

    def give(self, buffer: es.View, space: es.ExecutionSpace | None, event: Any) -> None:
        """Take a buffer back, which may be used again after an event."""
        if self._bytes + buffer.nbytes > _MOST_KEPT:
            if event is not None:
                event.wait()  # a copy from the buffer may be under way
            return
        kind = "" if space is None else space.name
        self._bytes += buffer.nbytes
        self._free[kind, buffer.nbytes].append((buffer, event))

    def trim(self) -> None:
        """Drop all that are kept."""
        for found in self._free.values():
            for _, event in found:
                if event is not None:
                    event.wait("comm")
        self._free.clear()
        self._bytes = 0


def _buffer(size: int, space: es.ExecutionSpace | None) -> es.View:
    if space is not None:
        for memory in space.memory_spaces:
            if memory.host_accessible and "pinned" in memory.kinds:
                return _kept(size, memory, space)
    return _kept(size, es.HOST, None)


def _kept(size: int, memory: es.MemorySpace, space: es.ExecutionSpace | None) -> es.View:
    """Bytes that count as the library's own, not as a View of the program's."""
    block = memory.allocate(size, "staging", False)
    kind = np.dtype(np.uint8)
    return view_over("staging", block.pointer, kind, (size,), (1,), False, memory, block, space)


class Carrier:
    """Makes parcels, for a communicator.

    Attributes
    ----------
    takes_devices : callable
        Of a View: whether MPI takes the address of its memory, though the host cannot read it.
    """

    def __init__(self, takes_devices: Any) -> None:
        self.takes_devices = takes_devices
        self.staging = Staging()

    def parcel(self, view: es.View, space: es.ExecutionSpace | None, host: bool = False) -> Parcel:
        """The parcel of a View, in order with launches on a space; `host`: numbers are computed
        from it, so the host must reach it."""
        where = view.space if space is None else space
        plain = view.mapping is None and in_order(view.shape, view.strides)
        reached = view.memory_space.host_accessible or (
            not host and view.size > 0 and self.takes_devices(view)
        )
        return Parcel(self, view, where, staged=not (plain and reached))


def in_order(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether elements lie side by side in the order of their indices."""
    step = 1
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1 and stride != step:
            return not prod(shape)
        step *= extent
    return True


class Parcel:
    """A View with the memory that MPI reads or writes for it.

    Attributes
    ----------
    view : View
    space : ExecutionSpace or None
        In whose order it is read and written.
    buffer : View or None
        Of bytes, where it is staged.
    """

    __slots__ = ("_carrier", "_typed", "address", "buffer", "space", "view")

    def __init__(
        self, carrier: Carrier, view: es.View, space: es.ExecutionSpace | None, staged: bool
    ) -> None:
        self._carrier, self.view, self.space = carrier, view, space
        self.buffer: es.View | None = None
        self.address = view.data_ptr
        if staged and view.size:
            self.buffer = carrier.staging.take(view.nbytes, space)
            self.address = self.buffer.data_ptr
            part = es.subview(self.buffer, slice(0, view.nbytes))
            self._typed = part.view(view.dtype).reshape(view.shape)

    @property
    def memory(self) -> Any:
        """The memory, as mpi4py takes it."""
        return memory_at(self.address, self.view.nbytes)

    @property
    def array(self) -> npt.NDArray[Any]:
        """The memory as an array of rank 1, of the host."""
        view = self.view if self.buffer is None else self._typed
        return np.asarray(view).reshape(-1)

    def fill(self) -> None:
        """Have the elements of the View in the memory, for MPI to read. Blocks until they are."""
        if self.buffer is not None:
            es.profiling.emit("on_staging", self.buffer.memory_space.name, self.view.nbytes)
            es.deep_copy(self._typed, self.view, instance=self.space)
        self.settle()

    def settle(self) -> None:
        """Wait for what was launched, after which MPI may read or write the memory."""
        if self.space is not None:
            self.space.record().wait("comm")

    def clear(self) -> None:
        """Have the memory free for MPI to write: no launch reads or writes it. May block."""
        if self.buffer is None:
            self.settle()

    def store(self) -> None:
        """Bring what MPI has written into the View, in order with the space; may not block."""
        if self.buffer is not None:
            es.profiling.emit("on_staging", self.buffer.memory_space.name, self.view.nbytes)
            es.deep_copy(self.view, self._typed, instance=self.space)

    def drop(self, used: bool = False) -> None:
        """Give the buffer back; `used`: a copy from it may be under way."""
        if self.buffer is not None:
            event = self.space.record() if used and self.space is not None else None
            self._carrier.staging.give(self.buffer, self.space, event)
            self.buffer = None

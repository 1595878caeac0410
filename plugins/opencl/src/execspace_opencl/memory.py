"""Memories of an OpenCL device: buffers, and shared virtual memory where it is fine-grained.

A buffer has no address that a program can see. Views get one all the same, from a range that
nothing else uses: differences of addresses are what is ever needed of them. Coarse-grained shared
memory, which must be mapped for each access of the host, is not offered.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import pyopencl as cl

from execspace import Allocation, ExecutionSpace, HostSpace, MemorySpace, View
from execspace.base.blocks import ALIGNMENT, LARGEST, Blocks, Kept
from execspace.contract.memory import bytes_at, new_allocation, out_of_memory

from .device import Buffer, Device, DeviceSpace
from .drivers.ending import remember_object
from .transfers import Transfers, fill_block

_PAGE = 4096
_ZERO = np.zeros((), np.uint8)


class _Addresses:
    """Hands out ranges of numbers, far from all addresses of the host."""

    def __init__(self) -> None:
        self._next = 1 << 56
        self._lock = threading.Lock()

    def take(self, nbytes: int) -> int:
        with self._lock:
            start = self._next
            self._next += -(-(nbytes + 1) // _PAGE) * _PAGE
            return start


_handed_out = _Addresses()


class BufferMemory(MemorySpace):
    """Buffers of one device."""

    kinds = frozenset(("device",))

    def __init__(self, device: Device) -> None:
        self.name = device.name
        self.device = device
        self._transfers = Transfers(device)
        # Blocks are in order with the default queue: with further ones none is kept.
        self._blocks = Blocks(
            self._new, lambda: not device.has_further_queues, owners=device.buffers
        )

    def allocate(self, nbytes: int, label: str, initialize: bool) -> Allocation:
        size = max(nbytes, 1)
        if size > self.device.handle.global_mem_size:  # some drivers find out late
            raise out_of_memory(label, nbytes, self)
        queue = self.device.default.handle
        try:
            holder, address = self._blocks.take(size)
            buffer = self.device.buffers[address]
            if initialize:
                done = fill_block(queue, buffer, _ZERO, 0, size)
                if self.device.has_further_queues:  # which would not wait for this one
                    done.wait()
            elif size > LARGEST:  # drivers find out that there is no memory when it is first used
                flags = cl.mem_migration_flags.CONTENT_UNDEFINED
                cl.enqueue_migrate_mem_objects(queue, [buffer], flags).wait()
        except cl.Error as error:
            raise out_of_memory(label, nbytes, self) from error
        return new_allocation(address, nbytes, label, self, holder, True)

    def _new(self, nbytes: int) -> tuple[Buffer, int]:
        return self.device.buffer(nbytes), _handed_out.take(nbytes)

    def kept(self) -> Kept:
        return self._blocks.kept()

    def trim(self) -> int:
        return self._blocks.trim()

    def reaches(self, other: MemorySpace) -> bool:
        return other is self or other.host_accessible

    def copy(self, dst: View, src: View, instance: ExecutionSpace | None) -> None:
        with self._in_turn(instance) as queue:
            if dst.size:
                self._transfers.copy(dst, src, queue)

    def fill(self, dst: View, value: Any, instance: ExecutionSpace | None) -> None:
        with self._in_turn(instance) as queue:
            if dst.size:
                self._transfers.fill(dst, value, queue)

    @contextmanager
    def _in_turn(self, instance: ExecutionSpace | None) -> Iterator[Any]:
        """The queue of an instance, or the default one, waited for; no other thread's meanwhile."""
        queue, waits = self.device.default, True
        if isinstance(instance, DeviceSpace) and instance.device is self.device:
            queue, waits = instance.queue, False
        elif instance is not None:  # of another space: this comes after its work
            instance.fence("deep_copy")
        with queue.turn:
            yield queue.handle
            if waits:
                queue.handle.finish()


class _Shared(cl.SVMAllocation):  # type: ignore[misc]
    """An allocation that plans can refer to without keeping it."""

    __slots__ = ("__weakref__",)


class SharedMemory(HostSpace):
    """Fine-grained shared virtual memory of one device: one address for host and device.

    Kernels and the host may use such a View in turns without any copy; `fence` lies between them.
    """

    kinds = frozenset(("shared",))

    def __init__(self, device: Device) -> None:
        self.name = f"{device.name} svm"
        self.device = device
        self._blocks = Blocks(self._new, lambda: False, self._freed, owners=device.buffers)

    def allocate(self, nbytes: int, label: str, initialize: bool) -> Allocation:
        size = max(nbytes, 1)
        try:
            holder, address = self._blocks.single(size)
        except (cl.MemoryError, cl.RuntimeError, cl.LogicError) as error:
            raise out_of_memory(label, nbytes, self) from error
        if initialize:
            bytes_at(address, size)[...] = 0
        return new_allocation(address, nbytes, label, self, holder, True)

    def _new(self, nbytes: int) -> tuple[_Shared, int]:
        flags = cl.svm_mem_flags.READ_WRITE | cl.svm_mem_flags.SVM_FINE_GRAIN_BUFFER
        made = _Shared(self.device.context, nbytes, ALIGNMENT, flags)
        remember_object(made)
        return made, int(made.svm_ptr)

    def _freed(self, owner: _Shared, suppress: Any = suppress) -> None:
        """After all work so far, which may use it."""
        with suppress(Exception):  # lost, or at the program's end
            self.device.free(owner)

    def reaches(self, other: MemorySpace) -> bool:
        return other.host_accessible

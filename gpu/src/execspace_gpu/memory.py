"""Memory of a GPU: of the device, managed, pinned on the host, and that of other libraries' arrays.

Memory of the device comes from pools that are in order with the default stream: what is freed while
a kernel still uses it is handed out again only to work that comes after. Instances are not in that
order and hold the Views of their launches until those are done.
"""

from __future__ import annotations

import contextlib
from functools import partial
from typing import Any

import cupy
import numpy as np
import numpy.typing as npt
from cupy_backends.cuda.api import runtime

from execspace import Allocation, ExecutionSpace, MemorySpace, SpaceError, View
from execspace.base.blocks import LARGEST, Blocks, Kept
from execspace.base.storage_types import format_of
from execspace.contract.memory import array_over, bytes_at, new_allocation, out_of_memory

from .copiers import Copier, gpu_copier
from .device_space import DeviceSpace
from .devices import ERRORS_OR_MEMORY, is_out_of_memory
from .forks import remembered
from .interop import cupy_array
from .transfers import copy_view, fill_view


class GpuMemory(MemorySpace):
    """What the memories of a GPU have in common.

    Small blocks are kept in a pool that is in order with the default stream. `least`: bytes of the
    smallest, for drivers give no less.
    """

    least = 512

    def __init__(self, space: DeviceSpace, suffix: str = "") -> None:
        self.name = f"{space.name}{suffix}"
        self.space = space
        waits = self._waited if self.host_accessible else None
        self._blocks = Blocks(self._new, waits, least=self.least)
        space.device.pools.append(self._blocks)

    def kept(self) -> Kept:
        return self._blocks.kept()

    def trim(self) -> int:
        return self._blocks.trim()

    def _new(self, nbytes: int) -> tuple[Any, int]:
        """What owns so many bytes, and their address, from where the pool has them."""
        raise NotImplementedError

    def _waited(self) -> bool:
        """Let the default stream be done with a block, for the host may be the next to use it."""
        try:
            with self.space.current():
                runtime.streamSynchronize(self.space.stream)
        except Exception:  # lost, or at the program's end
            return False
        return True

    def in_order_with(self) -> ExecutionSpace | None:
        root = self.space.root
        return None if root.device.has_queues else root

    def reaches(self, other: MemorySpace) -> bool:
        return other.host_accessible or isinstance(other, GpuMemory)

    def copy(self, dst: View, src: View, instance: ExecutionSpace | None) -> None:
        copy_view(dst, src, instance)

    def fill(self, dst: View, value: Any, instance: ExecutionSpace | None) -> None:
        fill_view(self.space, dst, value, instance)

    def to_dlpack(self, view: View, **options: Any) -> Any:
        self._require_numbers(view)
        if view.is_readonly:
            raise BufferError(
                f"View '{view.label}' is read-only, which its receiver would not know"
            )
        with self.space.current(), self.space.stream_object:
            return cupy_array(view).__dlpack__(**options)

    def dlpack_device(self, view: View) -> tuple[int, int]:
        return (self.space.protocols.device, self.space.number)

    def cuda_array_interface(self, view: View) -> dict[str, Any] | None:
        if not self.space.protocols.interface:
            return None
        self._require_numbers(view)
        size = view.dtype.itemsize
        return {
            "version": 3,
            "shape": view.shape,
            "typestr": view.dtype.str,
            "strides": tuple(s * size for s in view.strides),
            "data": (view.data_ptr if view.size else 0, view.is_readonly),
            "stream": 1,  # the legacy default stream
        }

    def _require_numbers(self, view: View) -> None:
        if view.mapping is not None:
            raise BufferError(f"View '{view.label}' has layout {view.layout!r}, which no array has")
        if view.dtype.fields is not None:
            raise BufferError(f"View '{view.label}' holds records, which other libraries do not")
        if format_of(view.dtype) is not None:
            raise BufferError(
                f"View '{view.label}' is of {view.dtype.name}, which CuPy does not hand out"
            )

    def _failed(self, label: str, nbytes: int, error: Exception) -> Exception:
        if is_out_of_memory(error):
            return out_of_memory(label, nbytes, self)
        return self.space.fault(f"View '{label}'", error)


class DeviceMemory(GpuMemory):
    """Memory of the GPU itself, from CuPy's allocator, or from the driver's stream-ordered pool."""

    kinds = frozenset(("device",))

    def allocate(self, nbytes: int, label: str, initialize: bool) -> Allocation:
        device = self.space.device
        try:
            holder, pointer = self._blocks.take(nbytes)
            if initialize:
                with self.space.current():
                    runtime.memsetAsync(pointer, 0, nbytes or 1, self.space.stream)
            if device.has_further_queues:
                with self.space.current():
                    device.note_allocation()
        except ERRORS_OR_MEMORY as error:
            raise self._failed(label, nbytes, error) from error
        return remembered(new_allocation(pointer, nbytes, label, self, holder, True))

    def copier(self, dst: Any, src: Any) -> Copier | None:
        return gpu_copier(self, dst, src)

    def _new(self, nbytes: int) -> tuple[Any, int]:
        """Memory from the pool of CuPy or the driver, and its address."""
        space = self.space
        with space.current():
            if cupy.cuda.get_current_stream().ptr == space.stream:  # to make it so takes longer
                block = space.device.block(nbytes)
            else:
                with space.stream_object:
                    block = space.device.block(nbytes)
        return block, int(block.ptr)


class ForeignMemory(GpuMemory):
    """Memory of arrays of other libraries; their streams are in order with every launch."""

    kinds = frozenset[str]()

    def __init__(self, space: DeviceSpace) -> None:
        super().__init__(space, " (array)")

    def allocate(self, nbytes: int, label: str, initialize: bool) -> Allocation:
        raise SpaceError(
            f"View '{label}': memory '{self.name}' belongs to other libraries; allocate in "
            f"'{self.space.memory.name}'."
        )

    def reachable_from(self, space: ExecutionSpace) -> bool:
        return getattr(space, "foreign", None) is self


class ManagedMemory(GpuMemory):
    """One address for host and device, moved page by page to where it is used."""

    kinds = frozenset(("shared",))
    host_accessible = True
    least = LARGEST  # pages of other Views would move with it

    def __init__(self, space: DeviceSpace) -> None:
        super().__init__(space, " managed")

    def allocate(self, nbytes: int, label: str, initialize: bool) -> Allocation:
        space = self.space
        try:
            holder, pointer = self._blocks.take(nbytes)
            if initialize:
                with space.current():
                    runtime.memsetAsync(pointer, 0, nbytes or 1, space.stream)
                    runtime.streamSynchronize(space.stream)  # the host may look at once
        except ERRORS_OR_MEMORY as error:
            raise self._failed(label, nbytes, error) from error
        return remembered(new_allocation(pointer, nbytes, label, self, holder, True))

    def _new(self, nbytes: int) -> tuple[Any, int]:
        with self.space.current():
            block = self.space.device.allocate(cupy.cuda.malloc_managed, nbytes)
        return block, int(block.ptr)

    def host_array(self, view: View) -> npt.NDArray[Any]:
        return array_over(view, view.allocation.owner)

    def dlpack_device(self, view: View) -> tuple[int, int]:
        kind, number = cupy_array(view).__dlpack_device__()
        return int(kind), int(number)


class _HeldBlock:
    """A block of pinned memory, freed when no stream uses it any more."""

    def __init__(self, space: DeviceSpace, size: int) -> None:
        self.space = space
        self.block = cupy.cuda.PinnedMemory(size)
        self.ptr = int(self.block.ptr)

    def __del__(self) -> None:
        with contextlib.suppress(Exception), self.space.current():  # lost, or at the program's end
            runtime.streamSynchronize(self.space.stream)


class PinnedMemory(GpuMemory):
    """Memory of the host that the GPU reaches fast, and kernels by its address."""

    kinds = frozenset(("pinned",))
    host_accessible = True
    least = 4096  # a page

    def __init__(self, space: DeviceSpace) -> None:
        super().__init__(space, " pinned")

    def allocate(self, nbytes: int, label: str, initialize: bool) -> Allocation:
        try:
            holder, pointer = self._blocks.take(nbytes)
        except ERRORS_OR_MEMORY as error:
            raise self._failed(label, nbytes, error) from error
        if initialize:
            bytes_at(pointer, nbytes or 1, holder)[...] = 0
        return remembered(new_allocation(pointer, nbytes, label, self, holder, True))

    def _new(self, nbytes: int) -> tuple[Any, int]:
        with self.space.current():
            block = self.space.device.allocate(partial(_HeldBlock, self.space), nbytes)
        return block, block.ptr

    def host_array(self, view: View) -> npt.NDArray[Any]:
        return array_over(view, view.allocation.owner)

    def to_dlpack(self, view: View, **options: Any) -> Any:
        return np.asarray(view).__dlpack__(**{k: v for k, v in options.items() if k != "stream"})

    def dlpack_device(self, view: View) -> tuple[int, int]:
        return (1, 0)


class StagingMemory(PinnedMemory):
    """Pinned memory of short use, from CuPy's pool; whoever takes it holds it until streams are
    done with it."""

    kinds = frozenset[str]()

    def allocate(self, nbytes: int, label: str, initialize: bool) -> Allocation:
        try:
            with self.space.current():
                block = self.space.device.allocate(cupy.cuda.alloc_pinned_memory, max(nbytes, 1))
        except ERRORS_OR_MEMORY as error:
            raise self._failed(label, nbytes, error) from error
        return remembered(new_allocation(int(block.ptr), nbytes, label, self, block, True))

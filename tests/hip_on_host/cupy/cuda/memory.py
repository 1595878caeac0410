"""Memory of the device, managed and pinned, and pointers to it. What is freed is given back."""

from __future__ import annotations

from typing import Any

from cupy_backends.cuda.api.runtime import CUDARuntimeError
from pretended import machine
from pretended import memory as _host


class OutOfMemoryError(MemoryError):
    """There is not so much memory."""

    def __init__(self, size: int) -> None:
        super().__init__(
            f"Out of memory allocating {size:,} bytes (allocated so far: {_host.taken():,} bytes, "
            f"limit set to: {machine.memory():,} bytes)."
        )


class _Memory:
    """A block of memory that is its own."""

    kind = "device"

    def __init__(self, size: int) -> None:
        self.ptr = 0
        self.size = size
        if size:
            self.ptr = _host.allocate(size, self.kind)

    def __del__(self) -> None:
        if self.ptr:
            _host.release(self.ptr)

    def __int__(self) -> int:
        return self.ptr


class Memory(_Memory):
    """Of the device."""


class ManagedMemory(_Memory):
    """Of host and device."""

    kind = "managed"


class PinnedMemory(_Memory):
    """Of the host."""

    kind = "pinned"

    def __init__(self, size: int, flags: int = 0) -> None:
        super().__init__(size)


class UnownedMemory:
    """Memory of somebody else, who is kept alive."""

    def __init__(self, ptr: int, size: int, owner: Any, device_id: int = -1) -> None:
        self.ptr, self.size, self._owner, self.device_id = ptr, size, owner, device_id


class MemoryPointer:
    """A place in a block of memory, which it keeps."""

    def __init__(self, mem: Any, offset: int) -> None:
        self.mem = mem
        self.ptr = int(mem.ptr) + offset

    def __int__(self) -> int:
        return self.ptr

    def __add__(self, offset: int) -> MemoryPointer:
        return MemoryPointer(self.mem, self.ptr - self.mem.ptr + offset)


def _taken(kind: type[_Memory], size: int) -> MemoryPointer:
    try:
        return MemoryPointer(kind(size), 0)
    except CUDARuntimeError:
        raise OutOfMemoryError(size) from None


def alloc(size: int) -> MemoryPointer:
    """Memory of the device, of exactly so many bytes."""
    return _taken(Memory, size)


def malloc_managed(size: int) -> MemoryPointer:
    """Managed memory."""
    return MemoryPointer(ManagedMemory(size), 0)


def alloc_pinned_memory(size: int) -> MemoryPointer:
    """Pinned memory."""
    return MemoryPointer(PinnedMemory(size), 0)


class MemoryPool:
    """What CuPy's default pool tells; there is none behind it."""

    def malloc(self, size: int) -> MemoryPointer:
        return alloc(size)

    def free_all_blocks(self, stream: Any = None) -> None:
        """Nothing is kept."""

    def used_bytes(self) -> int:
        return _host.taken()

    def total_bytes(self) -> int:
        return _host.taken()

    def free_bytes(self) -> int:
        return 0


class PinnedMemoryPool:
    """The same of pinned memory."""

    def free_all_blocks(self) -> None:
        """Nothing is kept."""

    def n_free_blocks(self) -> int:
        return 0


class MemoryAsyncPool:
    """Exists in CuPy for ROCm, and cannot work."""

    def malloc(self, size: int) -> MemoryPointer:
        raise CUDARuntimeError(999)


_pool, _pinned_pool = MemoryPool(), PinnedMemoryPool()


def get_default_memory_pool() -> MemoryPool:
    return _pool


def get_default_pinned_memory_pool() -> PinnedMemoryPool:
    return _pinned_pool

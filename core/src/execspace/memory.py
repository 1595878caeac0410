"""Memory spaces: the contract that a backend's memory fulfils, and host memory itself.

Host memory belongs to core because host access (`A[i]`, `np.asarray(A)`) is core's own
promise; every host-parallel space shares it.
"""

from __future__ import annotations

import threading
import weakref
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import profiling

if TYPE_CHECKING:
    from .space import ExecutionSpace

ALIGNMENT = 64  # bytes: a cache line, and the widest vector register


class Allocation:
    """A block of memory that Views share; freed when the last of them is gone.

    Attributes
    ----------
    pointer : int
        Address of the first byte, in the address space of `memory_space`.
    nbytes : int
    label : str
    memory_space : MemorySpace
    owner : object
        Whatever keeps the memory alive: a buffer of the space, or a foreign array.
    managed : bool
        False for memory that execspace only wraps.
    """

    __slots__ = ("__weakref__", "label", "managed", "memory_space", "nbytes", "owner", "pointer")

    def __init__(
        self,
        pointer: int,
        nbytes: int,
        label: str,
        memory_space: MemorySpace,
        owner: object,
        managed: bool = True,
    ) -> None:
        self.pointer = pointer
        self.nbytes = nbytes
        self.label = label
        self.memory_space = memory_space
        self.owner = owner
        self.managed = managed


class MemorySpace(ABC):
    """A kind of memory. Backends subclass it; users see it as `A.memory_space`.

    must: `allocate`, `copy`, `fill`. should: `free`, where dropping `owner` does not free.
    may: `host_array`, for memory that the host can address.
    """

    name: str
    host_accessible: bool = False

    @abstractmethod
    def allocate(self, nbytes: int, label: str, initialize: bool) -> Allocation:
        """Allocate `nbytes` bytes, aligned to 64; must.

        Zero them if `initialize`, on the device and without a copy from the host. Raises
        MemoryError with the label and the size. May return before the zeros are there, as
        long as later work on the default instance sees them.
        """

    @abstractmethod
    def copy(self, dst: Any, src: Any) -> None:
        """Copy View `src` to View `dst` of the same shape, both in this space; must.

        Handles any pair of layouts and dtypes; blocks until done.
        """

    @abstractmethod
    def fill(self, dst: Any, value: Any) -> None:
        """Set every element of View `dst` to `value`; must. Blocks until done."""

    def free(self, allocation: Allocation) -> None:
        """Release an allocation; should, where dropping `allocation.owner` is not enough."""
        allocation.owner = None

    def host_array(self, view: Any) -> npt.NDArray[Any]:
        """NumPy array over the View's memory, without a copy; may.

        Only called where `host_accessible` is true.
        """
        raise NotImplementedError(f"memory space '{self.name}' has no host arrays")

    def reachable_from(self, space: ExecutionSpace) -> bool:
        """Whether kernels of `space` can address this memory; should be cheap."""
        return self in space.memory_spaces

    def __repr__(self) -> str:
        return f"<memory space '{self.name}'>"


class _Ledger:
    """Counts live managed allocations, so that tests can prove that nothing leaks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._live: dict[int, tuple[str, int, str]] = {}

    def add(self, allocation: Allocation) -> None:
        key = id(allocation)
        space, nbytes, label = (
            allocation.memory_space.name,
            allocation.nbytes,
            allocation.label,
        )
        with self._lock:
            self._live[key] = (space, nbytes, label)
        weakref.finalize(allocation, self._drop, key, space, label, nbytes).atexit = False
        if profiling.TOOLS:
            profiling.emit("on_allocate", space, label, nbytes)

    def _drop(self, key: int, space: str, label: str, nbytes: int) -> None:
        with self._lock:
            self._live.pop(key, None)
        if profiling.TOOLS:
            profiling.emit("on_free", space, label, nbytes)

    def live(self) -> list[tuple[str, int, str]]:
        with self._lock:
            return list(self._live.values())


_ledger = _Ledger()
track = _ledger.add


def live_allocations() -> list[tuple[str, int, str]]:
    """Managed allocations that are still alive, as (memory space, bytes, label)."""
    return _ledger.live()


class HostSpace(MemorySpace):
    """Ordinary memory of the host process, reachable by every host-parallel space."""

    name = "host"
    host_accessible = True

    def allocate(self, nbytes: int, label: str, initialize: bool) -> Allocation:
        # calloc hands out untouched zero pages, so each page lands on the NUMA node of the
        # thread that first writes it: first touch by the first kernel, not by the allocator.
        make = np.zeros if initialize else np.empty
        try:
            buffer = make(nbytes + ALIGNMENT, dtype=np.uint8)
        except (MemoryError, ValueError) as error:
            raise MemoryError(
                f"View '{label}': cannot allocate {nbytes:,} bytes of host memory "
                f"({sum(n for s, n, _ in live_allocations() if s == self.name):,} bytes are "
                f"allocated in {len(live_allocations())} Views)."
            ) from error
        address = buffer.__array_interface__["data"][0]
        return Allocation(address + -address % ALIGNMENT, nbytes, label, self, buffer)

    def copy(self, dst: Any, src: Any) -> None:
        np.copyto(self.host_array(dst), self.host_array(src), casting="unsafe")

    def fill(self, dst: Any, value: Any) -> None:
        self.host_array(dst)[...] = value

    def host_array(self, view: Any) -> npt.NDArray[Any]:
        # The array keeps the buffer alive, not the View: a View may hold it without a cycle.
        return np.asarray(ArrayInterface(view, view.allocation.owner))


class ArrayInterface:
    """Carries `__array_interface__` of a host View and keeps `base` alive with the array."""

    __slots__ = ("__array_interface__", "base")

    def __init__(self, view: Any, base: object) -> None:
        self.base = base
        itemsize = view.dtype.itemsize
        self.__array_interface__ = {
            "version": 3,
            "typestr": view.dtype.str,
            "shape": view.shape,
            "strides": tuple(s * itemsize for s in view.strides),
            "data": (view.data_ptr, view.readonly),
        }
        if view.dtype.fields is not None:
            self.__array_interface__["descr"] = view.dtype.descr


HOST = HostSpace()

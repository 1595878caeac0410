"""Memory spaces: the contract that a backend's memory fulfils, and host memory itself.

Host memory belongs to core because host access (`A[i]`, `np.asarray(A)`) is core's own
promise; every host-parallel space shares it.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base import config
from ..base.array_interface import ArrayInterface
from ..base.blocks import LARGEST, Blocks, Kept, aligned
from ..base.dlpack import capsule_of
from ..base.errors import ConfigError
from ..base.host_copies import Copier, host_copier
from ..base.readonly import MAY_CHANGE_CLASS, ReadOnly, assign, with_class
from ..base.storage_types import store
from ..events import dispatch
from .forward import ExecutionSpace

__all__ = [
    "HOST",
    "Allocation",
    "HostSpace",
    "MemorySpace",
    "live_allocations",
]


# Managed allocations that are alive: identity -> memory space, bytes, label, and the number of the
# event, 0 where no tool was told. Single operations of a dict need no lock.
_live: dict[int, tuple[str, int, str, int]] = {}
_new = object.__new__


def track(allocation: Allocation) -> None:
    """Count an allocation as alive until it is gone, and tell tools of both."""
    where, nbytes, label = allocation.memory_space.name, allocation.nbytes, allocation.label
    if not dispatch.TOOLS:
        _live[id(allocation)] = where, nbytes, label, 0
    else:
        number = dispatch.new_id()
        _live[id(allocation)] = where, nbytes, label, number
        dispatch.emit("on_allocate", where, label, nbytes, number)


class _AllocationParts:
    """The attributes of an Allocation; assigned while it is one, and then nowhere."""

    __slots__ = ("__weakref__", "label", "managed", "memory_space", "nbytes", "owner", "pointer")


class Allocation(ReadOnly, _AllocationParts):
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

    __slots__ = ()
    _fixed = frozenset(_AllocationParts.__slots__)
    _instead = "Views and kernels rely on it; make a new View"

    pointer: int
    nbytes: int
    label: str
    memory_space: MemorySpace
    owner: object
    managed: bool

    def __init__(
        self, pointer: int, nbytes: int, label: str, memory_space: MemorySpace, owner: object,
        managed: bool = True,
    ) -> None:  # fmt: skip
        assign(self, "pointer", pointer)
        assign(self, "nbytes", nbytes)
        assign(self, "label", label)
        assign(self, "memory_space", memory_space)
        assign(self, "owner", owner)
        assign(self, "managed", managed)

    # Of names of the module, none may be there any more when the interpreter ends.
    def __del__(
        self, pop: Any = _live.pop, id: Any = id, dispatch: Any = dispatch, sys: Any = sys
    ) -> None:
        gone = pop(id(self), None)
        if gone is not None and dispatch.TOOLS and not sys.is_finalizing():
            where, nbytes, label, number = gone
            dispatch.emit("on_free", where, label, nbytes, number or dispatch.new_id())


def new_allocation(
    pointer: int, nbytes: int, label: str, memory_space: MemorySpace, owner: object, managed: bool
) -> Allocation:
    """An Allocation, in half the time that its constructor takes."""
    made: Any = _new(_AllocationParts)
    made.pointer = pointer
    made.nbytes = nbytes
    made.label = label
    made.memory_space = memory_space
    made.owner = owner
    made.managed = managed
    if not MAY_CHANGE_CLASS:
        return with_class(made, Allocation)  # type: ignore[no-any-return]
    made.__class__ = Allocation
    return made  # type: ignore[no-any-return]


class MemorySpace(ABC):
    """A kind of memory. Backends subclass it; users see it as `A.memory_space`.

    must: `allocate`, `copy`, `fill`; dropping an allocation's `owner` frees it. may: `host_array`,
    for memory that the host can address; `reaches`; `to_dlpack`; `cuda_array_interface`.

    Attributes
    ----------
    name : str
    kinds : frozenset of str
        What users may call it in ``View(memory=...)``: of "device", "shared" (one address for
        host and device: managed memory, SVM), "pinned" (host memory that a device reaches fast)
        and "host".
    host_accessible : bool
    """

    name: str
    kinds: frozenset[str] = frozenset(("device",))
    host_accessible: bool = False

    @abstractmethod
    def allocate(self, nbytes: int, label: str, initialize: bool) -> Allocation:
        """Allocate `nbytes` bytes, aligned to 64; must.

        Zero them if `initialize`, on the device and without a copy from the host. Raises
        MemoryError with the label and the size. May return before the zeros are there, as
        long as later work on the default instance sees them.
        """

    @abstractmethod
    def copy(self, dst: Any, src: Any, instance: ExecutionSpace | None) -> None:
        """Copy View `src` to View `dst` of the same shape; must.

        One of them or both are in this space; the other one may be in any that `reaches`
        names. Handles any pair of layouts and dtypes. Blocks until done, or, with an instance,
        is in order with what was launched on it and may return before. Where elements must go
        through a buffer on the way, the buffer is reported: `profiling.emit("on_staging", ...)`.
        """

    @abstractmethod
    def fill(self, dst: Any, value: Any, instance: ExecutionSpace | None) -> None:
        """Set every element of View `dst` to `value`; must. Blocks, or is in order, as `copy`."""

    def in_order_with(self) -> ExecutionSpace | None:
        """The space after all of whose work, that of its instances too, `copy` and `fill` without
        an instance come anyhow: `deep_copy` need not fence it first; may."""
        return None

    def reaches(self, other: MemorySpace) -> bool:
        """Whether `copy` handles pairs of this space and `other`; may. By default the host."""
        return other is self or (other is HOST and self is not HOST)

    def copier(self, dst: Any, src: Any) -> Copier | None:
        """A short way of copies that come again and again; may.

        Each of the two is the type of a View, a `ViewType`, or the class of what is none: arrays,
        and numbers that fill. The function gets what `deep_copy` was given: `dst`, `src` and the
        instance or None. It either does all that `deep_copy` promises and returns True, or does
        nothing and returns False, for all else that is asked of a copy: other shapes, Views that
        may overlap, memory of another space of the same name, an instance that is not its own.
        Only called where no tool is told of copies; without an instance spaces are fenced before
        as for `copy`. Submissions of graphs call it, too, with the space of the graph. Asked once
        for each pair; PluginError for what is no function.
        """
        return None

    def kept(self) -> Kept:
        """Blocks that nobody uses, kept for later allocations; may, where there are any."""
        return Kept(0, 0)

    def trim(self) -> int:
        """Give the blocks of `kept` back to whom they came from; may. Returns their bytes."""
        return 0

    def host_array(self, view: Any) -> npt.NDArray[Any]:
        """NumPy array over the View's memory, without a copy; may.

        Only called where `host_accessible` is true.
        """
        raise NotImplementedError(f"memory space '{self.name}' has no host arrays")

    def to_dlpack(self, view: Any, **options: Any) -> Any:
        """DLPack capsule that keeps the allocation alive; may. Options as `__dlpack__` takes."""
        raise BufferError(f"memory space '{self.name}' does not export DLPack")

    def dlpack_device(self, view: Any) -> tuple[int, int]:
        """DLPack's device type and number; may."""
        raise BufferError(f"memory space '{self.name}' does not export DLPack")

    def cuda_array_interface(self, view: Any) -> dict[str, Any] | None:
        """The dictionary of ``__cuda_array_interface__``, or None; may."""
        return None

    def reachable_from(self, space: ExecutionSpace) -> bool:
        """Whether kernels of `space` can address this memory; should be cheap.

        By default those of the spaces that list it, and those that run on the host if it can.
        """
        spaces = space.memory_spaces
        return self in spaces or (self.host_accessible and HOST in spaces)

    def __repr__(self) -> str:
        return f"<memory space '{self.name}'>"


def live_allocations() -> list[tuple[str, int, str]]:
    """Managed allocations that are still alive, as (memory space, bytes, label)."""
    while True:
        try:
            return [allocation[:3] for allocation in _live.values()]
        except RuntimeError:  # one came or went meanwhile
            continue


def out_of_memory(label: str, nbytes: int, space: MemorySpace) -> MemoryError:
    """The exception for memory that cannot be had: what was asked for, and who has the rest."""
    mine = sorted(((n, name) for s, n, name in live_allocations() if s == space.name), reverse=True)
    largest = ", ".join(f"'{name}' {n:,}" for n, name in mine[:5])
    held = f"; the largest are {largest}" if mine else ""
    return MemoryError(
        f"View '{label}': cannot allocate {nbytes:,} bytes in memory space '{space.name}', where "
        f"{len(mine)} Views hold {sum(n for n, _ in mine):,} bytes{held}. Drop Views that are no "
        f"longer needed, or make this one smaller."
    )


_blocks = Blocks(aligned)


class HostSpace(MemorySpace):
    """Ordinary memory of the host process, reachable by every host-parallel space."""

    name = "host"
    kinds = frozenset(("host", "device", "shared", "pinned"))  # for a host space all are one
    host_accessible = True

    def __reduce__(self) -> str:
        return "HOST"  # there is one

    def allocate(self, nbytes: int, label: str, initialize: bool) -> Allocation:
        # calloc hands out untouched zero pages, so each page lands on the NUMA node of the
        # thread that first writes it: first touch by the first kernel, not by the allocator.
        try:
            if nbytes <= LARGEST:
                holder, address = _blocks.take(nbytes)
                if initialize:
                    _blocks.owners[address].fill(0)
                return new_allocation(address, nbytes, label, self, holder, True)
            buffer, address = aligned(nbytes, np.zeros if initialize else np.empty)
        except ConfigError:
            raise
        except (MemoryError, ValueError) as error:  # the latter of NumPy, for sizes beyond any
            raise out_of_memory(label, nbytes, self) from error
        return Allocation(address, nbytes, label, self, buffer)

    def copier(self, dst: Any, src: Any) -> Copier | None:
        return host_copier(dst, src) if self is HOST else None

    def kept(self) -> Kept:
        return _blocks.kept()

    def trim(self) -> int:
        return _blocks.trim()

    def copy(self, dst: Any, src: Any, instance: ExecutionSpace | None) -> None:
        if instance is not None:
            instance.fence("deep_copy")  # the calling thread copies: not before it is its turn
        if dst.mapping is None and src.mapping is None:
            store(self._whole(dst), ..., self._whole(src), dst.dtype)
            return
        elements, at = self._elements(dst)
        values, where = self._elements(src)
        store(elements, at, values[where], dst.dtype)

    def fill(self, dst: Any, value: Any, instance: ExecutionSpace | None) -> None:
        if instance is not None:
            instance.fence("deep_copy")
        if dst.mapping is None:
            store(self._whole(dst), ..., value, dst.dtype)
            return
        elements, at = self._elements(dst)
        store(elements, at, value, dst.dtype)

    def _whole(self, view: Any) -> npt.NDArray[Any]:
        """All elements of a View without a mapping, which keeps the array if others may have it."""
        found: npt.NDArray[Any] | None = view._host
        if found is None:
            found = self.host_array(view)
            if self is HOST and not config.is_portable():
                assign(view, "_host", found)
        return found

    def _elements(self, view: Any) -> tuple[npt.NDArray[Any], Any]:
        """An array and the index into it that gives the View's elements in its shape."""
        if view.mapping is None:
            return self.host_array(view), ...
        return self.host_array(view), view.offsets()

    def host_array(self, view: Any) -> npt.NDArray[Any]:
        # The array keeps the buffer alive, not the View: a View may hold it without a cycle.
        return array_over(view, view.allocation.owner)

    def to_dlpack(self, view: Any, **options: Any) -> Any:
        return capsule_of(np.asarray(view), **options)

    def dlpack_device(self, view: Any) -> tuple[int, int]:
        return (1, 0)


def array_over(view: Any, base: object) -> npt.NDArray[Any]:
    """NumPy array over a View's memory, which keeps `base` alive."""
    array = np.asarray(ArrayInterface(view, base))
    return array if array.dtype == view.dtype else array.view(view.dtype)


class _Bytes:
    """Carries `__array_interface__` of bytes at an address, and keeps `base` alive."""

    __slots__ = ("__array_interface__", "base")

    def __init__(self, address: int, nbytes: int, base: object, readonly: bool) -> None:
        self.base = base
        self.__array_interface__ = {
            "version": 3, "typestr": "|u1", "shape": (nbytes,), "data": (address, readonly),
        }  # fmt: skip


def bytes_at(
    address: int, nbytes: int, base: object = None, *, readonly: bool = False
) -> npt.NDArray[np.uint8]:
    """Memory of the host as an array of bytes, which keeps `base` alive."""
    return np.asarray(_Bytes(address, nbytes, base, readonly))


HOST = HostSpace()

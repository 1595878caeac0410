"""Shared virtual memory: one address for host and device, where a device has the fine-grained kind.

Kernels and the host may use such a View in turns without any copy; `fence` lies between them.
The coarse-grained kind, which must be mapped for each access of the host, is not offered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyopencl as cl

from execspace import HOST, Allocation, ExecutionSpace, MemorySpace, View
from execspace.contract.memory import array_over, out_of_memory

from .drivers.ending import remember_object
from .memory import bytes_at

if TYPE_CHECKING:
    from .space import OpenCL

_ALIGNMENT = 64


def has_svm(device: Any) -> bool:
    """Whether host and device may use the same allocation without mapping it."""
    return _has(device, cl.device_svm_capabilities.FINE_GRAIN_BUFFER)


def has_system_svm(device: Any) -> bool:
    """Whether kernels may use any memory of the host, whoever allocated it, by its address."""
    return _has(device, cl.device_svm_capabilities.FINE_GRAIN_SYSTEM)


def _has(device: Any, ability: int) -> bool:
    try:
        return bool(device.svm_capabilities & ability)
    except (cl.Error, AttributeError):  # a device of OpenCL 1
        return False


class _Shared(cl.SVMAllocation):  # type: ignore[misc]
    """An allocation that plans can refer to without keeping it."""

    __slots__ = ("__weakref__",)


class SharedMemory(MemorySpace):
    """Fine-grained shared virtual memory of one device."""

    kinds = frozenset(("shared",))
    host_accessible = True

    def __init__(self, space: OpenCL) -> None:
        self.name = f"{space.name} svm"
        self.space = space

    def allocate(self, nbytes: int, label: str, initialize: bool) -> Allocation:
        flags = cl.svm_mem_flags.READ_WRITE | cl.svm_mem_flags.SVM_FINE_GRAIN_BUFFER
        size = max(nbytes, 1)
        try:
            block = _Shared(self.space.context, size, _ALIGNMENT, flags, queue=self.space.queue)
            remember_object(block)
        except (cl.MemoryError, cl.RuntimeError, cl.LogicError) as error:
            raise out_of_memory(label, nbytes, self) from error
        if initialize:
            bytes_at(block.svm_ptr, size, False)[...] = 0
        return Allocation(block.svm_ptr, nbytes, label, self, block)

    def copy(self, dst: View, src: View, instance: ExecutionSpace | None) -> None:
        self.space.queue_of(instance).finish()  # the calling thread copies, when it is its turn
        HOST.copy(dst, src, None)

    def fill(self, dst: View, value: Any, instance: ExecutionSpace | None) -> None:
        self.space.queue_of(instance).finish()
        HOST.fill(dst, value, None)

    def reaches(self, other: MemorySpace) -> bool:
        return other.host_accessible

    def host_array(self, view: View) -> npt.NDArray[Any]:
        return array_over(view, view.allocation.owner)

    def to_dlpack(self, view: View, **options: Any) -> Any:
        return np.asarray(view).__dlpack__(**options)

    def dlpack_device(self, view: View) -> tuple[int, int]:
        return (1, 0)

"""Short ways of deep_copy: small blocks between memory of one GPU, or it and the host, and fills.

What is asked of a copy beyond that, `transfers` does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from cupy_backends.cuda.api import runtime

from execspace import ViewType
from execspace.base.array_interface import address_of
from execspace.views.deep_copy import is_one_block

from .devices import ERRORS
from .ferry import LEAST
from .moving import DEFAULT

if TYPE_CHECKING:
    from .device_space import DeviceSpace

Copier = Callable[[Any, Any, Any], bool]
_MOST = 1024  # shapes that are remembered
_LAYOUTS = frozenset(("right", "left", "stride"))


def gpu_copier(memory: Any, dst: Any, src: Any) -> Copier | None:
    """The function for types of Views, or classes of arrays and numbers; None if there is none.

    `memory` is that of the device; one of the two is in it.
    """
    ways = _Ways(memory)
    if isinstance(dst, ViewType) and dst.memory == memory.name:
        if dst.readonly or dst.layout not in _LAYOUTS:
            return None
        if isinstance(src, ViewType):
            if src.dtype != dst.dtype or src.layout not in _LAYOUTS:
                return None
            return {memory.name: ways.within, "host": ways.up}.get(src.memory)
        if src is np.ndarray:
            return ways.up_from_array
        if src is float and dst.dtype == "float64" and dst.rank == 1 and dst.unit == 0:
            return ways.fill
        return None
    if isinstance(src, ViewType) and src.memory == memory.name and src.layout in _LAYOUTS:
        if dst is np.ndarray:
            return ways.down_to_array
        if isinstance(dst, ViewType) and dst.memory == "host" and dst.layout in _LAYOUTS:
            return None if dst.readonly or src.dtype != dst.dtype else ways.down
    return None


class _Ways:
    """The functions; each does all or nothing, and says which.

    All ask `_is_current` before they touch the device, for `forks` replaces that.
    """

    def __init__(self, memory: Any) -> None:
        self._memory = memory
        self.space = memory.space
        self._sizes: dict[Any, int] = {}  # bytes of a block by shape and strides; 0 of no block

    def within(self, dst: Any, src: Any, instance: Any) -> bool:
        nbytes = self._block(dst, src)
        memory, to, source = self._memory, dst.data_ptr, src.data_ptr
        if not nbytes or (to < source + nbytes and source < to + nbytes):
            return False
        if dst.allocation.memory_space is not memory or src.allocation.memory_space is not memory:
            return False
        space = self.space if instance is None else self._own(instance)
        if space is None or not self._is_current():
            return False
        queue = space.queue
        try:
            if space.parent is not None:
                queue.await_allocations()
            runtime.memcpyAsync(to, source, nbytes, DEFAULT, space.stream)
            if space.parent is not None:
                queue.hold(dst, src)
            if instance is None:
                queue.synchronize()
        except ERRORS as error:
            raise space.fault("deep_copy", error) from error
        return True

    def up(self, dst: Any, src: Any, instance: Any) -> bool:
        nbytes = self._block(dst, src)
        return self._carried(dst, dst.data_ptr, src.data_ptr, nbytes, instance)

    def down(self, dst: Any, src: Any, instance: Any) -> bool:
        nbytes = self._block(dst, src)
        return self._carried(src, dst.data_ptr, src.data_ptr, nbytes, instance)

    def up_from_array(self, dst: Any, src: Any, instance: Any) -> bool:
        nbytes = self._block_of_array(dst, src)
        return self._carried(dst, dst.data_ptr, address_of(src), nbytes, instance)

    def down_to_array(self, dst: Any, src: Any, instance: Any) -> bool:
        if not dst.flags.writeable:
            return False
        nbytes = self._block_of_array(src, dst)
        return self._carried(src, address_of(dst), src.data_ptr, nbytes, instance)

    def fill(self, dst: Any, src: float, instance: Any) -> bool:
        space = self.space if instance is None else self._own(instance)
        if space is None or dst.allocation.memory_space is not self._memory:
            return False
        plan = space.fills.get(dst.type)
        if plan is None:
            return False
        plan.launch((0, dst.shape[0]), (dst, src))
        if instance is None:
            space.synchronize_stream("deep_copy")
        return True

    def _carried(self, view: Any, to: int, source: int, nbytes: int, instance: Any) -> bool:
        """Copy between the device and the host, and wait."""
        if not 0 < nbytes < LEAST or instance is not None:
            return False
        if view.allocation.memory_space is not self._memory or not self._is_current():
            return False
        space = self.space
        try:
            runtime.memcpy(to, source, nbytes, DEFAULT)
        except ERRORS as error:
            raise space.fault("deep_copy", error) from error
        space.queue.recent.clear()
        return True

    def _own(self, instance: Any) -> DeviceSpace | None:
        """An instance of this device; None if it is none."""
        space = self.space
        if type(instance) is type(space) and instance.device is space.device:
            found: DeviceSpace = instance
            return found
        return None

    def _is_current(self) -> bool:
        space: DeviceSpace = self.space
        return space.device.alone or int(runtime.getDevice()) == space.number

    def _block(self, a: Any, b: Any) -> int:
        """Bytes of two Views that are one block each, in one order; else 0."""
        shape = a.shape
        if shape != b.shape:
            return 0
        key = shape, a.strides, b.strides, a.dtype.itemsize
        found = self._sizes.get(key)
        return self._new_block(*key) if found is None else found

    def _block_of_array(self, view: Any, array: Any) -> int:
        """The same of a View and a NumPy array."""
        shape, dtype = view.shape, view.dtype
        if shape != array.shape or dtype != array.dtype or not array.flags.aligned:
            return 0
        key = shape, view.strides, array.strides, -dtype.itemsize
        found = self._sizes.get(key)
        if found is not None:
            return found
        size = dtype.itemsize
        if any(s % size for s in array.strides):
            return 0
        steps = tuple(s // size for s in array.strides)
        return self._new_block(shape, view.strides, steps, size, key)

    def _new_block(
        self,
        shape: tuple[int, ...],
        a: tuple[int, ...],
        b: tuple[int, ...],
        size: int,
        key: Any = None,
    ) -> int:
        nbytes = int(np.prod(shape)) * size if is_one_block(shape, a, b) else 0
        if len(self._sizes) >= _MOST:
            self._sizes.clear()
        self._sizes[key or (shape, a, b, size)] = nbytes
        return nbytes

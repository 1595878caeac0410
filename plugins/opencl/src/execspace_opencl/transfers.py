"""deep_copy on an OpenCL device: blocks of bytes by the driver, all other arrangements by a kernel.

Elements that lie in another order on the host pass through a buffer, and conversions and layouts
of one's own through the host; both are reported.
"""

from __future__ import annotations

import threading
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyopencl as cl

from execspace import View, profiling
from execspace.base.storage_types import as_stored, word_of
from execspace.contract.layout import right_strides
from execspace.contract.memory import bytes_at
from execspace.views.deep_copy import extent_of_bytes, host_elements, same_block

from .device import Device
from .program import build

_MOST_RANK = 8
_GROUP = 64  # work-items
_MOST_ITEMS = 1 << 24
_PATTERNS = (1, 2, 4, 8, 16)  # bytes that a driver repeats
_REGION = 1 << 30


class _Place(NamedTuple):
    """Where elements lie: their buffer, the byte of the first one, and strides in elements."""

    buffer: Any
    first: int
    strides: tuple[int, ...]

    @classmethod
    def of(cls, view: View) -> _Place:
        return cls(buffer_of(view), _first(view), view.strides)


class Transfers:
    """Moves elements between buffers of a device, and between them and the host."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._lock = threading.Lock()  # threads of the host share the kernel's arguments

    def copy(self, dst: View, src: View, queue: Any) -> None:
        """Copy between two Views that are not empty; blocks where one is the host's."""
        to_device, from_device = (not v.memory_space.host_accessible for v in (dst, src))
        if same_block(dst, src):
            _copy_block(dst, src, queue)
        elif to_device and from_device and _is_movable(dst, src):
            self._move(_Place.of(dst), _Place.of(src), dst, queue)
        elif not from_device:
            queue.finish()  # kernels that are under way may yet write the source
            self._write(dst, host_elements(src), queue)
        elif to_device:  # conversions and layouts of one's own are the host's
            self._write(dst, self._read(src, queue), queue)
        else:
            array = dst.memory_space.host_array(dst)
            values = as_stored(self._read(src, queue), dst.dtype)
            array[... if dst.mapping is None else dst.offsets()] = values

    def fill(self, dst: View, value: Any, queue: Any) -> None:
        """Set every element of a View that is not empty."""
        pattern = np.empty(1, dst.dtype)
        exact = isinstance(value, int | np.integer) and dst.dtype.kind in "iu"
        # OverflowError where it does not fit
        pattern[0] = int(value) if exact else as_stored(value, dst.dtype)
        if dst.mapping is not None:
            self._write(dst, np.broadcast_to(pattern[0], dst.shape), queue)
        elif dst.span_is_contiguous and dst.dtype.itemsize in _PATTERNS:
            first = extent_of_bytes(dst)[0] - dst.allocation.pointer
            fill_block(queue, buffer_of(dst), _bits(pattern), first, dst.nbytes)
        else:
            source = _Place(self._staged(pattern, queue), 0, (0,) * dst.rank)
            self._move(_Place.of(dst), source, dst, queue)

    def _read(self, src: View, queue: Any) -> npt.NDArray[Any]:
        """Elements of a View, in its shape."""
        profiling.emit("on_staging", self.device.name, src.nbytes)
        if src.mapping is not None:
            return _span(src, queue)[src.offsets()]
        values = np.empty(src.shape, src.dtype)
        staged = self.device.buffer(values.nbytes)
        self._move(_Place(staged, 0, right_strides(src.shape)), _Place.of(src), src, queue)
        cl.enqueue_copy(queue, _bits(values), staged, is_blocking=True)
        return values

    def _write(self, dst: View, values: npt.NDArray[Any], queue: Any) -> None:
        """Set the elements of a View to those of an array of its shape."""
        profiling.emit("on_staging", self.device.name, dst.nbytes)
        values = np.ascontiguousarray(as_stored(values, dst.dtype), dst.dtype)
        if dst.mapping is not None:
            span = _span(dst, queue)
            span[dst.offsets()] = values
            owner, first = buffer_of(dst), _first(dst)
            cl.enqueue_copy(queue, owner, _bits(span), dst_offset=first, is_blocking=True)
        else:
            source = _Place(self._staged(values, queue), 0, right_strides(dst.shape))
            self._move(_Place.of(dst), source, dst, queue)

    def _staged(self, array: npt.NDArray[Any], queue: Any) -> Any:
        staged = self.device.buffer(array.nbytes)
        cl.enqueue_copy(queue, staged, _bits(array), is_blocking=True)
        return staged

    def _move(self, dst: _Place, src: _Place, like: View, queue: Any) -> None:
        """Enqueue the kernel, for elements as many and as large as those of a View."""
        rows = np.zeros((3, _MOST_RANK), np.int64)
        rows[:, : like.rank] = like.shape, dst.strides, src.strides
        arrangement = np.append(rows, (like.rank, dst.first, src.first, like.dtype.itemsize))
        size = min(-(-like.size // _GROUP) * _GROUP, _MOST_ITEMS)
        with self._lock:
            self._kernel.set_args(arrangement, dst.buffer, src.buffer, np.int64(like.size))
            cl.enqueue_nd_range_kernel(queue, self._kernel, (size,), (_GROUP,))

    @cached_property
    def _kernel(self) -> Any:
        return build(self.device, _MOVE, []).loaded.es_move


# Copies elements byte by byte between any two strided arrangements.
_MOVE = f"""
typedef struct {{
    long extents[{_MOST_RANK}], to[{_MOST_RANK}], from[{_MOST_RANK}];
    long rank, dst, src, size;
}} _arrangement;
__kernel void es_move(
    const _arrangement a, __global uchar *dst, __global const uchar *src, long n
) {{
    for (long u = get_global_id(0); u < n; u += get_global_size(0)) {{
        long rest = u, to = 0, from = 0;
        for (int d = (int)a.rank - 1; d >= 0; --d) {{
            const long i = rest % a.extents[d];
            rest /= a.extents[d];
            to += i * a.to[d];
            from += i * a.from[d];
        }}
        __global uchar *p = dst + a.dst + to * a.size;
        __global const uchar *q = src + a.src + from * a.size;
        for (long k = 0; k < a.size; ++k) p[k] = q[k];
    }}
}}
"""


def _is_movable(dst: View, src: View) -> bool:
    """Whether the kernel knows the way: not of layouts of one's own, and it converts nothing."""
    return dst.mapping is None and src.mapping is None and dst.dtype == src.dtype


def buffer_of(view: View) -> Any:
    """The buffer that a View of the device lies in."""
    device = view.memory_space.device  # type: ignore[attr-defined]
    return device.buffers[view.allocation.pointer]


def _first(view: View) -> int:
    """Byte of a View's first element in the buffer of its allocation."""
    return view.data_ptr - view.allocation.pointer


def _bits(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array, of a storage type as integers: other arrays have no buffer for the driver."""
    return array.view(word_of(array.dtype))


def _span(view: View, queue: Any) -> npt.NDArray[Any]:
    """All that lies between the first and the last element of a View."""
    span = np.empty(view.span, view.dtype)
    owner, first = buffer_of(view), _first(view)
    cl.enqueue_copy(queue, _bits(span), owner, src_offset=first, is_blocking=True)
    return span


def _copy_block(dst: View, src: View, queue: Any) -> None:
    if src.memory_space.host_accessible:
        block = bytes_at(src.data_ptr, src.nbytes, readonly=True)
        cl.enqueue_copy(queue, buffer_of(dst), block, dst_offset=_first(dst), is_blocking=True)
    elif dst.memory_space.host_accessible:
        block = bytes_at(dst.data_ptr, dst.nbytes)
        cl.enqueue_copy(queue, block, buffer_of(src), src_offset=_first(src), is_blocking=True)
    else:
        places = {"src_offset": _first(src), "dst_offset": _first(dst)}
        cl.enqueue_copy(queue, buffer_of(dst), buffer_of(src), **places, byte_count=dst.nbytes)


def fill_block(queue: Any, buffer: Any, pattern: npt.NDArray[Any], first: int, nbytes: int) -> Any:
    """Repeat a pattern over a part of a buffer; the event of its end, for queues are in order.

    NVIDIA's driver hangs or loses the device where places beyond 2 GiB are filled. So large
    buffers are filled by regions, which begin where any device allows one to begin.
    """
    last = first + nbytes
    if last <= _REGION:
        return cl.enqueue_fill_buffer(queue, buffer, pattern, first, nbytes)
    for origin in range(first // _REGION * _REGION, last, _REGION):
        start, stop = max(first, origin), min(last, origin + _REGION)
        region = buffer.get_sub_region(origin, stop - origin)
        done = cl.enqueue_fill_buffer(queue, region, pattern, start - origin, stop - start)
    return done

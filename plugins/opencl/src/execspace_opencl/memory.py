"""Memory of an OpenCL device: buffers, and the kernel that moves elements between layouts.

A buffer has no address that a program can see. Views get one all the same, from a range that
nothing else uses: differences of addresses are what is ever needed of them.
"""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyopencl as cl

from execspace import Allocation, ExecutionSpace, MemorySpace, View, profiling
from execspace.contract.memory import out_of_memory
from execspace.views.deep_copy import extent_of_bytes, host_elements, same_block

from .build import program
from .drivers.ending import remember_object

if TYPE_CHECKING:
    from .space import OpenCL

_MOST_RANK = 8
_ALIGNMENT = 4096


class _Addresses:
    """Hands out ranges of numbers, far from all addresses of the host."""

    def __init__(self) -> None:
        self._next = 1 << 56
        self._lock = threading.Lock()

    def take(self, nbytes: int) -> int:
        with self._lock:
            start = self._next
            self._next += -(-(nbytes + 1) // _ALIGNMENT) * _ALIGNMENT
            return start


_handed_out = _Addresses()


class Buffer(cl.Buffer):  # type: ignore[misc]
    """A buffer that can be remembered without being kept: pyopencl's own has no weak references."""

    __slots__ = ("__weakref__",)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        remember_object(self)


class BufferMemory(MemorySpace):
    """Buffers of one device."""

    kinds = frozenset(("device",))

    def __init__(self, space: OpenCL) -> None:
        self.name = space.name
        self.space = space

    def allocate(self, nbytes: int, label: str, initialize: bool) -> Allocation:
        size = max(nbytes, 1)
        if size > self.space.device.global_mem_size:  # some drivers find out late
            raise out_of_memory(label, nbytes, self)
        try:
            buffer = Buffer(self.space.context, cl.mem_flags.READ_WRITE, size)
            if initialize:
                done = _fill(self.space.queue, buffer, np.zeros((), np.uint8), 0, size)
            else:  # drivers find out that there is no memory when it is first used
                done = cl.enqueue_migrate_mem_objects(
                    self.space.queue, [buffer], cl.mem_migration_flags.CONTENT_UNDEFINED
                )
            done.wait()  # an instance has a queue of its own, which would not wait for this one
        except cl.Error as error:
            raise out_of_memory(label, nbytes, self) from error
        return Allocation(_handed_out.take(size), nbytes, label, self, buffer)

    def reaches(self, other: MemorySpace) -> bool:
        return other is self or other.host_accessible

    def copy(self, dst: View, src: View, instance: ExecutionSpace | None) -> None:
        if not dst.size:
            return
        with self.space.in_turn(instance) as queue:
            if dst.memory_space is src.memory_space:
                self._within(dst, src, queue)
            elif dst.memory_space is self:
                self._from_host(dst, src, queue)
            else:
                self._to_host(dst, src, queue)
            if instance is None:
                queue.finish()

    def fill(self, dst: View, value: Any, instance: ExecutionSpace | None) -> None:
        with self.space.in_turn(instance) as queue:
            if dst.size:
                pattern = np.empty((), dst.dtype)
                if isinstance(value, int | np.integer) and dst.dtype.kind in "iu":
                    np.empty(1, dst.dtype)[0] = int(value)  # OverflowError where it does not fit
                pattern[...] = value
                if (
                    dst.span_is_contiguous
                    and dst.mapping is None
                    and dst.dtype.itemsize in _PATTERNS
                ):
                    first = place_of(dst) + extent_of_bytes(dst)[0] - dst.data_ptr
                    _fill(
                        queue, dst.allocation.owner, pattern, first, dst.size * dst.dtype.itemsize
                    )
                elif dst.mapping is not None:
                    self._write(dst, np.broadcast_to(pattern, dst.shape), queue)
                else:
                    row = np.empty(1, dst.dtype)
                    row[0] = value
                    source = self._upload(row, queue)
                    self._move(queue, dst, source, 0, (0,) * dst.rank)
            if instance is None:
                queue.finish()

    # -- ways of elements -----------------------------------------------------------------------

    def _within(self, dst: View, src: View, queue: Any) -> None:
        if dst.mapping is not None or src.mapping is not None or dst.dtype != src.dtype:
            # Conversions and layouts of one's own are the host's: through arrays there.
            values = np.empty(src.shape, src.dtype)
            self._read(values, src, queue)
            self._write(dst, values, queue)
            return
        if same_block(dst, src):
            cl.enqueue_copy(
                queue, dst.allocation.owner, src.allocation.owner, src_offset=place_of(src),
                dst_offset=place_of(dst), byte_count=dst.size * dst.dtype.itemsize,
            )  # fmt: skip
            return
        self._move(queue, dst, src.allocation.owner, place_of(src), src.strides)

    def _from_host(self, dst: View, src: View, queue: Any) -> None:
        if same_block(dst, src):
            cl.enqueue_copy(
                queue, dst.allocation.owner, bytes_at(src.data_ptr, src.nbytes, True),
                dst_offset=place_of(dst), is_blocking=True,
            )  # fmt: skip
            return
        self._write(dst, host_elements(src), queue)

    def _to_host(self, dst: View, src: View, queue: Any) -> None:
        if same_block(dst, src):
            cl.enqueue_copy(
                queue, bytes_at(dst.data_ptr, dst.nbytes, False), src.allocation.owner,
                src_offset=place_of(src), is_blocking=True,
            )  # fmt: skip
            return
        values = np.empty(src.shape, src.dtype)
        self._read(values, src, queue)
        if dst.mapping is None:
            dst.memory_space.host_array(dst)[...] = values
        else:
            dst.memory_space.host_array(dst)[dst.offsets()] = values

    def _write(self, dst: View, values: npt.NDArray[Any], queue: Any) -> None:
        """Elements of an array, in their logical order, through a buffer of the device."""
        profiling.emit("on_staging", self.name, dst.nbytes)
        converted = np.ascontiguousarray(values, dst.dtype)
        if dst.mapping is not None:
            span = np.empty(dst.span, dst.dtype)
            self._read_span(span, dst, queue)
            span[dst.offsets()] = converted
            self._write_span(dst, span, queue)
            return
        staged = self._upload(converted, queue)
        self._move(queue, dst, staged, 0, _row_major(dst.shape))

    def _read(self, values: npt.NDArray[Any], src: View, queue: Any) -> None:
        """Elements of a View, in their logical order, through a buffer of the device."""
        profiling.emit("on_staging", self.name, src.nbytes)
        if src.mapping is not None:
            span = np.empty(src.span, src.dtype)
            self._read_span(span, src, queue)
            values[...] = span[src.offsets()]
            return
        staged = Buffer(self.space.context, cl.mem_flags.READ_WRITE, values.nbytes)
        self.space.mover.run(
            queue, staged, 0, _row_major(src.shape), src.allocation.owner, place_of(src),
            src.strides, src.shape, src.dtype.itemsize,
        )  # fmt: skip
        cl.enqueue_copy(queue, values, staged, is_blocking=True)

    def _upload(self, array: npt.NDArray[Any], queue: Any) -> Any:
        staged = Buffer(self.space.context, cl.mem_flags.READ_WRITE, max(array.nbytes, 1))
        cl.enqueue_copy(queue, staged, array, is_blocking=True)
        return staged

    def _read_span(self, span: npt.NDArray[Any], view: View, queue: Any) -> None:
        cl.enqueue_copy(
            queue, span, view.allocation.owner, src_offset=place_of(view), is_blocking=True
        )

    def _write_span(self, view: View, span: npt.NDArray[Any], queue: Any) -> None:
        cl.enqueue_copy(
            queue, view.allocation.owner, span, dst_offset=place_of(view), is_blocking=True
        )

    def _move(
        self, queue: Any, dst: View, source: Any, first: int, strides: tuple[int, ...]
    ) -> None:
        self.space.mover.run(
            queue, dst.allocation.owner, place_of(dst), dst.strides, source, first, strides,
            dst.shape, dst.dtype.itemsize,
        )  # fmt: skip


_PATTERNS = (1, 2, 4, 8, 16)
_REGION = 1 << 30


def _fill(queue: Any, buffer: Any, pattern: npt.NDArray[Any], first: int, nbytes: int) -> Any:
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


def place_of(view: View) -> int:
    """Byte of a View's first element in the buffer of its allocation."""
    return view.data_ptr - view.allocation.pointer


def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    steps = itertools.accumulate(reversed(shape[1:]), lambda a, b: a * b, initial=1)
    return tuple(steps)[::-1][-len(shape) :] if shape else ()


class Mover:
    """A kernel that copies elements byte by byte between any two strided arrangements."""

    def __init__(self, context: Any) -> None:
        self.kernel = program(context, context.devices[0], _MOVE, []).es_move
        self.lock = threading.Lock()  # threads of the host share the kernel's arguments

    def run(
        self, queue: Any, dst: Any, dst_first: int, dst_strides: tuple[int, ...], src: Any,
        src_first: int, src_strides: tuple[int, ...], shape: tuple[int, ...], itemsize: int,
    ) -> None:  # fmt: skip
        """Enqueue the copy of an array; strides are in elements, places in bytes."""
        numbers = np.zeros(3 * _MOST_RANK + 4, np.int64)
        numbers[: len(shape)] = shape
        numbers[_MOST_RANK : _MOST_RANK + len(shape)] = dst_strides
        numbers[2 * _MOST_RANK : 2 * _MOST_RANK + len(shape)] = src_strides
        numbers[-4:] = len(shape), dst_first, src_first, itemsize
        count = int(np.prod(shape, dtype=np.int64))
        group = 64
        size = min(-(-count // group) * group, 1 << 24)
        with self.lock:
            self.kernel.set_args(numbers, dst, src, np.int64(count))
            cl.enqueue_nd_range_kernel(queue, self.kernel, (size,), (group,))


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


class _Block:
    """Bytes at an address, as NumPy takes them."""

    def __init__(self, address: int, nbytes: int, readonly: bool) -> None:
        self.__array_interface__ = {
            "version": 3, "typestr": "|u1", "shape": (nbytes,), "data": (address, readonly),
        }  # fmt: skip


def bytes_at(address: int, nbytes: int, readonly: bool) -> npt.NDArray[Any]:
    """Memory of the host as an array of bytes, which keeps nothing alive."""
    return np.asarray(_Block(address, nbytes, readonly))

"""deep_copy on a GPU: blocks of bytes by the copy engines, all other arrangements by kernels.

Elements that lie in another order or have another dtype are moved by a kernel on the device. Such
elements of the host go through a buffer, part by part, and that is reported: as a block through
memory of the device if they are one on the host, else through pinned memory, where the host packs
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import Any

import cupy
import numpy as np
from cupy_backends.cuda.api import runtime

import execspace as es
from execspace import HOST, ExecutionSpace, View, profiling
from execspace.base.dataclass import dataclass
from execspace.base.storage_types import as_stored
from execspace.views.deep_copy import extent_of_bytes, host_elements, same_block
from execspace.views.interop import view_over

from . import ferry, moving
from .arrangement import arranged, dense_parts, is_dense
from .device_space import DeviceSpace
from .devices import ERRORS
from .interop import in_order
from .moving import DEFAULT, move, put, put_again
from .workers import copy_array

_PART = 1 << 26  # bytes of a buffer that a rearranged copy takes at a time
_MOST_KEPT = 6  # Views of parts that are under way through pinned memory
_MOST_PARTS = 3  # that are under way through memory of the device


@dataclass
class _Queue:
    """Where a copy is queued, and what must live until it is done."""

    space: DeviceSpace
    kept: list[Any] = field(default_factory=list)

    def scratch(self, shape: tuple[int, ...], dtype: Any) -> View:
        """A View of the device for the time of the copy."""
        own = self.space
        made = View(
            shape, dtype, label="deep_copy", memory=own.memory, space=own, layout="right",
            initialize=False,
        )  # fmt: skip
        if own.parent is not None:
            own.queue.await_allocations()
        self.kept.append(made)
        return made

    def pinned(self, shape: tuple[int, ...], dtype: Any) -> View:
        """A View of pinned memory for the time of the copy."""
        made = View(
            shape, dtype, label="deep_copy", memory=self.space.staging, layout="right",
            initialize=False,
        )  # fmt: skip
        self.kept.append(made)
        return made


def copy_view(dst: View, src: View, instance: ExecutionSpace | None) -> None:
    """Copy between two Views of which at least one is in memory of a GPU."""
    if not dst.size:
        return
    a, b = _owner(dst), _owner(src)
    if _is_plain(dst, src, a, b):
        _copy_plain(a or b, dst, src, instance)  # type: ignore[arg-type]
        return
    if a is not None and b is not None and a.number != b.number:
        a = None if dst.memory_space.host_accessible else a
        b = None if src.memory_space.host_accessible else b
        if a is None and b is None:  # pinned or managed memory of two GPUs, which the host copies
            for view in (dst, src):
                view.memory_space.space.root.fence("deep_copy")  # type: ignore[attr-defined]
            HOST.copy(dst, src, None)
            return
    space: DeviceSpace = a or b  # type: ignore[assignment]
    with _queued(space, _own_queue(space, instance), (dst, src)) as queue:
        if a is not None and b is not None and a.number != b.number:
            _between_devices(queue, dst, src, a, b)
        elif _is_block(dst, src):
            _copy_block(queue.space, dst, src)
        elif a is not None and b is not None:
            move(queue.space, dst, src)
        elif a is not None:
            (_from_block if _is_block_of_host(src, dst) else _from_host)(queue, dst, src)
        else:
            (_to_block if _is_block_of_host(dst, src) else _to_host)(queue, dst, src)


def fill_view(space: DeviceSpace, dst: View, value: Any, instance: ExecutionSpace | None) -> None:
    """Set every element."""
    if not dst.size:
        return
    own = _own_queue(space, instance)
    if type(value) is float and put_again(own or space.root, dst, value):
        if own is None:
            space.root.synchronize_stream("deep_copy")
        return
    pattern = np.empty(1, dst.dtype)
    number = int(value) if isinstance(value, int) and dst.dtype.kind in "iu" else value
    pattern[0] = as_stored(number, dst.dtype)
    content = pattern.tobytes()
    is_of_bytes = content.count(content[:1]) == len(content) and dst.mapping is None
    is_of_bytes = is_of_bytes and dst.span_is_contiguous
    if not is_of_bytes and put(own or space.root, dst, pattern[0]):
        if own is None:
            space.root.synchronize_stream("deep_copy")
        return
    with _queued(space, own, (dst,)) as queue:
        if is_of_bytes:
            first, last = extent_of_bytes(dst)
            runtime.memsetAsync(first, content[0], last - first, queue.space.stream)
            return
        one = queue.scratch((1,) * dst.rank, dst.dtype)
        _copy_block(queue.space, one, es.view_of(pattern.reshape(one.shape)))
        repeated = view_over(
            "deep_copy", one.data_ptr, one.dtype, dst.shape, (0,) * dst.rank, True,
            one.memory_space, one, one.space,
        )  # fmt: skip
        move(queue.space, dst, repeated)


@contextmanager
def _queued(
    space: DeviceSpace, own: DeviceSpace | None, views: tuple[View, ...]
) -> Iterator[_Queue]:
    """The queue that a copy goes to: its `own`, in order, or the default one, waited for.

    Streams of arrays of other libraries are in order with it.
    """
    queue = _Queue(own or space.root)
    try:
        with queue.space.current():
            with in_order(queue.space, views, None if own is None else queue.kept):
                yield queue
            if own is None:
                runtime.streamSynchronize(queue.space.stream)
    except ERRORS as error:
        raise queue.space.fault("deep_copy", error) from error


def _own_queue(space: DeviceSpace, instance: ExecutionSpace | None) -> DeviceSpace | None:
    """The instance if it is one of the same device; another one is waited for, and the copy blocks,
    so that it comes after its work."""
    if isinstance(instance, DeviceSpace) and instance.number == space.number:
        return instance
    if instance is not None:
        instance.fence("deep_copy")
    return None


def _is_plain(dst: View, src: View, a: DeviceSpace | None, b: DeviceSpace | None) -> bool:
    """Whether a copy is one small block of bytes on one device, or between it and the host, and no
    other library knows of the memory."""
    if a is not None and b is not None and a is not b:
        return False
    own = {id(space.foreign) for space in (a, b) if space is not None}
    if id(dst.memory_space) in own or id(src.memory_space) in own:
        return False
    return dst.nbytes < ferry.LEAST and same_block(dst, src)


def _copy_plain(space: DeviceSpace, dst: View, src: View, instance: ExecutionSpace | None) -> None:
    own = _own_queue(space, instance)
    queue = (own or space.root).queue
    try:
        with space.current():
            if own is not None and own.parent is not None:
                queue.await_allocations()
            if own is not None:
                runtime.memcpyAsync(dst.data_ptr, src.data_ptr, src.nbytes, DEFAULT, queue.stream)
                queue.hold(dst, src)
            elif dst.memory_space is HOST or src.memory_space is HOST:
                runtime.memcpy(dst.data_ptr, src.data_ptr, src.nbytes, DEFAULT)  # which blocks
                queue.recent.clear()
            else:
                runtime.memcpyAsync(dst.data_ptr, src.data_ptr, src.nbytes, DEFAULT, queue.stream)
                queue.synchronize()
    except ERRORS as error:
        raise space.fault("deep_copy", error) from error


def _owner(view: View) -> DeviceSpace | None:
    """The space of the GPU that a View's memory belongs to; None for other memory."""
    space = getattr(view.memory_space, "space", None)
    return space if isinstance(space, DeviceSpace) else None


def _is_block(dst: View, src: View) -> bool:
    """Whether elements lie in one block on both sides, in the same order."""
    if same_block(dst, src):
        return True
    found = arranged(dst, src) if dst.nbytes >= moving.LEAST else None
    return found is not None and not found.axes and found.to == dst.data_ptr


def _copy_block(space: DeviceSpace, dst: View, src: View) -> None:
    to, source, nbytes = dst.data_ptr, src.data_ptr, src.nbytes
    if nbytes >= ferry.LEAST:
        carry = space.device.ferry.carry
        if _owner(src) is None and carry(space.stream, to, source, nbytes, True):
            return
        if _owner(dst) is None and carry(space.stream, source, to, nbytes, False):
            return
    runtime.memcpyAsync(to, source, nbytes, DEFAULT, space.stream)


def _is_block_of_host(host: View, device: View) -> bool:
    """Whether the host's side can go as it is, and the device rearrange it."""
    return host.dtype == device.dtype and device.mapping is None and is_dense(host)


def _blocks(queue: _Queue, host: View, device: View) -> Iterator[tuple[View, View, View]]:
    """Parts of a block of the host, the same of the device, and scratch of the device for each."""
    space = queue.space
    profiling.emit("on_staging", space.memory.name, host.nbytes)
    if host.nbytes <= _PART:
        yield host, device, _scratch_like(queue, host)
        return
    passed: list[Any] = []  # events, one after each part
    for ranges in dense_parts(host, _PART):
        if len(queue.kept) >= _MOST_PARTS:
            passed.pop(0).synchronize()
            del queue.kept[0]
        piece = es.subview(host, *ranges)
        yield piece, es.subview(device, *ranges), _scratch_like(queue, piece)
        passed.append(cupy.cuda.Event(disable_timing=True))
        passed[-1].record(space.stream_object)


def _scratch_like(queue: _Queue, host: View) -> View:
    """A View of the device whose elements lie as those of a block of the host."""
    flat = queue.scratch((host.size,), host.dtype)
    steps = tuple(s * host.dtype.itemsize for s in host.strides)
    return view_over(
        "deep_copy", flat.data_ptr, flat.dtype, host.shape, steps, False, flat.memory_space, flat,
        flat.space,
    )  # fmt: skip


def _from_block(queue: _Queue, dst: View, src: View) -> None:
    for source, target, arrived in _blocks(queue, src, dst):
        _copy_block(queue.space, arrived, source)
        move(queue.space, target, arrived)


def _to_block(queue: _Queue, dst: View, src: View) -> None:
    for target, source, packed in _blocks(queue, dst, src):
        move(queue.space, packed, source)
        _copy_block(queue.space, target, packed)


def _parts(dst: View, src: View) -> Iterator[tuple[View, View]]:
    """The copy in parts of at most `_PART` bytes, as far as Views can be parted."""
    whole = max(dst.nbytes, src.nbytes)
    if whole <= _PART or not dst.rank or dst.mapping is not None or src.mapping is not None:
        yield dst, src
        return
    longest = max(range(dst.rank), key=lambda d: dst.shape[d])
    rows = dst.shape[longest]
    step = max(1, rows * _PART // whole)
    for first in range(0, rows, step):
        piece: list[Any] = [es.ALL] * dst.rank
        piece[longest] = (first, min(first + step, rows))
        yield es.subview(dst, *piece), es.subview(src, *piece)


def _from_host(queue: _Queue, dst: View, src: View) -> None:
    space = queue.space
    profiling.emit("on_staging", space.pinned.name, dst.nbytes)
    runtime.streamSynchronize(space.stream)  # a copy that is under way may yet write the source
    for target, source in _parts(dst, src):
        if len(queue.kept) >= _MOST_KEPT:
            runtime.streamSynchronize(space.stream)
            queue.kept.clear()
        staged = queue.pinned(source.shape, target.dtype)
        copy_array(np.asarray(staged), as_stored(host_elements(source), staged.dtype))
        if same_block(target, staged):
            _copy_block(space, target, staged)
        else:
            arrived = queue.scratch(staged.shape, staged.dtype)
            _copy_block(space, arrived, staged)
            move(space, target, arrived)


def _to_host(queue: _Queue, dst: View, src: View) -> None:
    space = queue.space
    profiling.emit("on_staging", space.pinned.name, src.nbytes)
    last: tuple[View, View, Any, int] | None = None
    for target, source in _parts(dst, src):
        already = len(queue.kept)
        staged = queue.pinned(source.shape, source.dtype)
        if same_block(staged, source):
            _copy_block(space, staged, source)
        else:
            packed = queue.scratch(source.shape, source.dtype)
            move(space, packed, source)
            _copy_block(space, staged, packed)
        arrived = cupy.cuda.Event(disable_timing=True)
        arrived.record(space.stream_object)
        count = len(queue.kept) - already
        if last is not None:  # while this part is under way
            _unpack(queue, *last)
        last = target, staged, arrived, count
    if last is not None:
        _unpack(queue, *last)


def _unpack(queue: _Queue, target: View, staged: View, arrived: Any, kept: int) -> None:
    """What the host does with a part once it is there."""
    arrived.synchronize()
    host = target.memory_space.host_array(target)
    values = as_stored(np.asarray(staged), target.dtype)
    if target.mapping is None:
        copy_array(host, values)
    else:
        host[target.offsets()] = values
    del queue.kept[:kept]


def _between_devices(queue: _Queue, dst: View, src: View, a: DeviceSpace, b: DeviceSpace) -> None:
    """Copy between two GPUs: by the link between them where there is one, else by the driver.

    Blocks, for neither GPU's streams know of those of the other one.
    """
    a.root.fence("deep_copy")
    b.root.fence("deep_copy")
    if same_block(dst, src):
        _peer(queue.space, dst, src, a, b)
        return
    profiling.emit("on_staging", a.memory.name, src.nbytes)
    with b.current():
        packed = _Queue(b).scratch(src.shape, src.dtype)
        move(b, packed, src)
        runtime.streamSynchronize(b.stream)
    with a.current():
        arrived = _Queue(a).scratch(src.shape, src.dtype)
        _peer(queue.space, arrived, packed, a, b)
        move(a, dst, arrived)
        runtime.streamSynchronize(a.stream)


def _peer(space: DeviceSpace, dst: View, src: View, a: DeviceSpace, b: DeviceSpace) -> None:
    with space.current():
        runtime.memcpyPeerAsync(
            dst.data_ptr, a.number, src.data_ptr, b.number, src.nbytes, space.stream
        )
        runtime.streamSynchronize(space.stream)

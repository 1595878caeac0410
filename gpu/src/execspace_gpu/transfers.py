"""deep_copy on a GPU: blocks of bytes by the copy engines, all other arrangements by kernels.

Elements that lie in another order or have another dtype are moved by a kernel on the device. If the
host has them, they go through pinned memory, part by part, and that is reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from cupy_backends.cuda.api import runtime

import execspace as es
from execspace import HOST, ExecutionSpace, View, profiling
from execspace.base.storage_types import as_stored
from execspace.views.deep_copy import extent_of_bytes, host_elements, same_block
from execspace.views.interop import view_over

from .device_space import DeviceSpace
from .devices import ERRORS
from .interop import in_order

_DEFAULT = 4  # MemcpyDefault of the runtimes: the driver sees by the addresses where each is
_PART = 1 << 26  # bytes of pinned memory that a rearranged copy takes at a time
_MOST_KEPT = 6  # Views of parts that are under way


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
    if a is not None and b is not None and a.number != b.number:
        a = None if dst.memory_space.host_accessible else a
        b = None if src.memory_space.host_accessible else b
        if a is None and b is None:  # pinned or managed memory of two GPUs, which the host copies
            for view in (dst, src):
                view.memory_space.space.root.fence("deep_copy")  # type: ignore[attr-defined]
            HOST.copy(dst, src, None)
            return
    with _queued(a or b, instance, (dst, src)) as queue:  # type: ignore[arg-type]
        if a is not None and b is not None and a.number != b.number:
            _between_devices(queue, dst, src, a, b)
        elif same_block(dst, src):
            _copy_block(queue.space, dst, src)
        elif a is not None and b is not None:
            _move(queue.space, dst, src)
        elif a is not None:
            _from_host(queue, dst, src)
        else:
            _to_host(queue, dst, src)


def fill_view(space: DeviceSpace, dst: View, value: Any, instance: ExecutionSpace | None) -> None:
    """Set every element."""
    if not dst.size:
        return
    pattern = np.empty(1, dst.dtype)
    number = int(value) if isinstance(value, int) and dst.dtype.kind in "iu" else value
    pattern[0] = as_stored(number, dst.dtype)
    with _queued(space, instance, (dst,)) as queue:
        content = pattern.view(np.uint8)
        if dst.span_is_contiguous and dst.mapping is None and (content == content[0]).all():
            first, last = extent_of_bytes(dst)
            runtime.memsetAsync(first, int(content[0]), last - first, queue.space.stream)
            return
        one = queue.scratch((1,) * dst.rank, dst.dtype)
        _copy_block(queue.space, one, es.view_of(pattern.reshape(one.shape)))
        repeated = view_over(
            "deep_copy", one.data_ptr, one.dtype, dst.shape, (0,) * dst.rank, True,
            one.memory_space, one, one.space,
        )  # fmt: skip
        _move(queue.space, dst, repeated)


@contextmanager
def _queued(
    space: DeviceSpace, instance: ExecutionSpace | None, views: tuple[View, ...]
) -> Iterator[_Queue]:
    """The queue that a copy goes to: that of an instance, in order, or the default one, waited for.

    Streams of arrays of other libraries are in order with it.
    """
    own = None
    if isinstance(instance, DeviceSpace) and instance.number == space.number:
        own = instance
    if instance is not None and own is None:
        instance.fence("deep_copy")  # of another space: this copy comes after its work, and blocks
    queue = _Queue(own or space.root)
    try:
        with queue.space.current():
            with in_order(queue.space, views, None if own is None else queue.kept):
                yield queue
            if own is None:
                runtime.streamSynchronize(queue.space.stream)
    except ERRORS as error:
        raise queue.space.fault("deep_copy", error) from error


def _owner(view: View) -> DeviceSpace | None:
    """The space of the GPU that a View's memory belongs to; None for other memory."""
    space = getattr(view.memory_space, "space", None)
    return space if isinstance(space, DeviceSpace) else None


def _copy_block(space: DeviceSpace, dst: View, src: View) -> None:
    runtime.memcpyAsync(dst.data_ptr, src.data_ptr, src.nbytes, _DEFAULT, space.stream)


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
        np.asarray(staged)[...] = as_stored(host_elements(source), staged.dtype)
        if same_block(target, staged):
            _copy_block(space, target, staged)
        else:
            arrived = queue.scratch(staged.shape, staged.dtype)
            _copy_block(space, arrived, staged)
            _move(space, target, arrived)


def _to_host(queue: _Queue, dst: View, src: View) -> None:
    space = queue.space
    profiling.emit("on_staging", space.pinned.name, src.nbytes)
    for target, source in _parts(dst, src):
        staged = queue.pinned(source.shape, source.dtype)
        if same_block(staged, source):
            _copy_block(space, staged, source)
        else:
            packed = queue.scratch(source.shape, source.dtype)
            _move(space, packed, source)
            _copy_block(space, staged, packed)
        runtime.streamSynchronize(space.stream)
        host = target.memory_space.host_array(target)
        values = as_stored(np.asarray(staged), target.dtype)
        host[... if target.mapping is None else target.offsets()] = values
        queue.kept.clear()


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
        _move(b, packed, src)
        runtime.streamSynchronize(b.stream)
    with a.current():
        arrived = _Queue(a).scratch(src.shape, src.dtype)
        _peer(queue.space, arrived, packed, a, b)
        _move(a, dst, arrived)
        runtime.streamSynchronize(a.stream)


def _peer(space: DeviceSpace, dst: View, src: View, a: DeviceSpace, b: DeviceSpace) -> None:
    with space.current():
        runtime.memcpyPeerAsync(
            dst.data_ptr, a.number, src.data_ptr, b.number, src.nbytes, space.stream
        )
        runtime.streamSynchronize(space.stream)


# -- kernels that move elements -----------------------------------------------------------------


def _move1(i: int, dst: Any, src: Any) -> None:
    dst[i] = src[i]


def _move2(i: int, j: int, dst: Any, src: Any) -> None:
    dst[i, j] = src[i, j]


def _move3(i: int, j: int, k: int, dst: Any, src: Any) -> None:
    dst[i, j, k] = src[i, j, k]


def _move4(i: int, j: int, k: int, p: int, dst: Any, src: Any) -> None:
    dst[i, j, k, p] = src[i, j, k, p]


_MOVES = (_move1, _move2, _move3, _move4)


def _move(space: DeviceSpace, dst: View, src: View) -> None:
    """Launch a kernel that assigns each element."""
    if dst.rank == 0:
        _move(space, dst[None], src[None])
        return
    if dst.rank > len(_MOVES):
        if dst.mapping is not None or src.mapping is not None:
            raise es.ViewError(
                f"deep_copy: Views '{dst.label}' and '{src.label}' have rank {dst.rank}, and one "
                f"has a layout of the user's; on a GPU such Views are copied up to rank "
                f"{len(_MOVES)}. Copy through the host."
            )
        shortest = min(range(dst.rank), key=lambda d: dst.shape[d])
        for n in range(dst.shape[shortest]):
            part = tuple(n if d == shortest else es.ALL for d in range(dst.rank))
            _move(space, es.subview(dst, *part), es.subview(src, *part))
        return
    policy: Any = es.RangePolicy(dst.shape[0], space=space)
    if dst.rank > 1:
        policy = es.MDRangePolicy((0,) * dst.rank, dst.shape, space=space)
    es.parallel_for(policy, _MOVES[dst.rank - 1], dst, src, label="deep_copy")

"""Arrays of other libraries on the GPU: Views over them, and streams in order with theirs.

A launch on such a View waits for what the array's library has queued on its current stream, and
that stream waits for the launch: by events, without blocking the host. Where a library does not say
which stream it works on, DLPack asks it to be ready, and the launch blocks until it is done.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from operator import index
from typing import Any, NamedTuple

import cupy
import numpy as np
from cupy_backends.cuda.api import runtime

from execspace import View, ViewTypeError
from execspace.base.storage_types import word_of
from execspace.views.arrays import has_protocol, lazy
from execspace.views.interop import view_over

from .claiming import LEGACY, Protocols, stream_of
from .device_space import DeviceSpace
from .devices import on_device


class ForeignArray:
    """Keeps an array of another library alive, and knows the stream that its library works on."""

    __slots__ = ("__weakref__", "device", "imported", "protocols", "source")

    def __init__(
        self, source: Any, device: int, protocols: Protocols, imported: Any = None
    ) -> None:
        self.source, self.device, self.protocols = source, device, protocols
        self.imported = imported  # what DLPack made of it, if that was the way

    def stream(self) -> int | None:
        """The driver's handle of the library's current stream; None if nobody can tell."""
        found = stream_of(self.source, self.device, self.protocols)
        return 0 if found == LEGACY else found

    def make_ready(self, stream: int) -> None:
        """Have a library whose stream is not known order a stream of ours after its work."""
        give = getattr(self.source, "__dlpack__", None)
        if give is None:
            runtime.deviceSynchronize()
        else:
            give(stream=stream or self.protocols.legacy)


def wrap(space: DeviceSpace, source: Any, label: str) -> View:
    """A View over an array in memory of the GPU of `space`.

    Raises
    ------
    ViewTypeError, DTypeError, ViewError
    """
    imported = None
    try:
        if written := lazy(source):
            raise TypeError(f"its values are not those in its memory; call .{written} first")
        given = _interface(source) if space.protocols.interface else None
        if given is None:
            with space.current(), space.stream_object:
                imported = cupy.from_dlpack(source)
        found = _by_cupy(imported) if given is None else _by_interface(given)
    except Exception as error:  # from code of the object's class, or from CuPy
        at = f" ({label})" if label else ""
        name = f"{type(source).__module__}.{type(source).__name__}"
        raise ViewTypeError(f"Cannot make a View of {name}{at}: {error}") from error
    steps, size = found.strides, found.dtype.itemsize
    if steps is None:
        steps = tuple(size * math.prod(found.shape[d + 1 :]) for d in range(len(found.shape)))
    owner = ForeignArray(source, space.number, space.protocols, imported)
    return view_over(
        label, found.address, found.dtype, found.shape, steps, found.readonly, space.foreign, owner,
        space.root,
    )  # fmt: skip


def view_of_cupy(space: DeviceSpace, array: Any, label: str) -> View:
    """As `wrap`, of an array of CuPy's own class on the device of a space."""
    owner = ForeignArray(array, space.number, space.protocols)
    return view_over(
        label, int(array.data.ptr), array.dtype, array.shape, array.strides, False, space.foreign,
        owner, space.root,
    )  # fmt: skip


def _interface(source: Any) -> dict[str, Any] | None:
    """`__cuda_array_interface__` of an array that has it."""
    if not has_protocol(source, "__cuda_array_interface__"):
        return None
    found: dict[str, Any] = source.__cuda_array_interface__
    return found


class _Found(NamedTuple):
    """An array in memory; strides count bytes, without them it is in the order of C."""

    address: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    strides: tuple[int, ...] | None
    readonly: bool


def _by_interface(given: dict[str, Any]) -> _Found:
    """What `__cuda_array_interface__` says of an array."""
    if given.get("mask") is not None:
        raise ViewTypeError("it has a mask, which a View would lose; pass an array without one")
    address, readonly = given["data"]
    shape, steps = given["shape"], given.get("strides")
    return _Found(
        index(address),
        tuple(map(index, shape)),
        np.dtype(given["typestr"]),
        None if steps is None else tuple(map(index, steps)),
        bool(readonly),
    )


def _by_cupy(array: Any) -> _Found:
    """What CuPy found an array to be; the interface it has on some platforms only."""
    address = int(array.data.ptr) if array.size else 0
    strides = None if array.flags.c_contiguous else tuple(array.strides)
    return _Found(address, tuple(array.shape), array.dtype, strides, False)


# -- streams --------------------------------------------------------------------------------------


Stream = tuple[int, int]  # the driver's handle, and the number of its device


def before(space: DeviceSpace, views: Iterable[View]) -> list[Stream] | None:
    """Order a queue after what the libraries of foreign arrays have queued.

    Returns their streams for `after`: None if one of them is not known.
    """
    streams: list[Stream] = []
    unknown = False
    for view in views:
        owner = view.allocation.owner
        if not isinstance(owner, ForeignArray):
            continue
        stream = owner.stream()
        if stream is None:
            owner.make_ready(space.stream)
            unknown = True
        elif (stream, owner.device) not in streams:
            if (stream, owner.device) != (space.stream, space.number):
                streams.append((stream, owner.device))
                wait_on((space.stream, space.number), (stream, owner.device))
    return None if unknown else streams


def after(space: DeviceSpace, streams: list[Stream] | None) -> None:
    """Order the streams of foreign arrays after what was queued; block where one is not known."""
    if streams is None:
        runtime.streamSynchronize(space.stream)
    else:
        for stream in streams:
            wait_on(stream, (space.stream, space.number))


@contextmanager
def in_order(
    space: DeviceSpace, views: Sequence[View], kept: list[Any] | None = None
) -> Iterator[None]:
    """What a block queues on the stream of a space comes after what made its Views.

    The device is current. `kept` is held with the Views until the stream is done; None: nothing is
    held.
    """
    if space.parent is not None:
        space.queue.await_allocations()
    streams = before(space, views)
    try:
        yield
    finally:
        if kept is not None:
            space.queue.hold(views, kept)
    after(space, streams)


def wait_on(waiting: Stream, working: Stream) -> None:
    """Let a stream wait for what is queued on another one by now."""
    with on_device(working[1]):
        event = cupy.cuda.Event(disable_timing=True)
        runtime.eventRecord(event.ptr, working[0])
    with on_device(waiting[1]):
        runtime.streamWaitEvent(waiting[0], event.ptr)


# -- Views as arrays ------------------------------------------------------------------------------


def cupy_array(view: View) -> Any:
    """CuPy array over a View's memory, which it keeps alive; records are rows of bytes.

    CuPy lacks storage types, so elements of one are the integers of their bits.
    """
    size, shape, strides = view.dtype.itemsize, view.shape, view.strides
    dtype = word_of(view.dtype)
    steps = tuple(s * size for s in strides)
    if dtype.fields is not None:
        dtype, shape, steps = np.dtype(np.uint8), (*shape, size), (*steps, 1)
    number = view.memory_space.space.number  # type: ignore[attr-defined]
    block = cupy.cuda.UnownedMemory(view.data_ptr, max(view.span * size, 1), view, number)
    return cupy.ndarray(shape, dtype, cupy.cuda.MemoryPointer(block, 0), strides=steps)

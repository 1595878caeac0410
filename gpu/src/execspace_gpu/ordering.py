"""Waits between streams: of the spaces of a platform, and of CuPy, PyTorch and other libraries.

Streams wait for each other by events of the platform, also on several of its devices; the host
does not.
"""

from __future__ import annotations

from typing import Any

import cupy
from cupy_backends.cuda.api import runtime

from execspace import SpaceError
from execspace.base.brief import brief
from execspace.contract.ordering import Event

from .claiming import LEGACY
from .device_space import DeviceSpace
from .devices import ERRORS
from .interop import Stream, wait_on


class Orders:
    """The methods of `execspace.SupportsEvents` and `execspace.SupportsStreams`."""

    def record_event(self: DeviceSpace) -> Any:  # type: ignore[misc]  # a part of one
        try:
            with self.current():
                event = cupy.cuda.Event(disable_timing=True)
                event.record(self.stream_object)
        except ERRORS as error:
            raise self.fault("An event", error) from error
        return event

    def event_passed(self: DeviceSpace, handle: Any) -> bool:  # type: ignore[misc]
        try:
            return bool(handle.done)
        except ERRORS as error:
            raise self.fault("An event", error) from error

    def await_event(self: DeviceSpace, handle: Any) -> None:  # type: ignore[misc]
        try:
            handle.synchronize()
        except ERRORS as error:
            raise self.fault("An event", error) from error

    def wait_in_queue(self: DeviceSpace, event: Event) -> bool:  # type: ignore[misc]
        if not isinstance(event.space, DeviceSpace) or event.space.short != self.short:
            return False
        try:
            with self.current():
                runtime.streamWaitEvent(self.stream, event.handle.ptr)
        except ERRORS as error:
            raise self.fault("wait_for", error) from error
        return True

    def wait_for_stream(self: DeviceSpace, stream: Any) -> None:  # type: ignore[misc]
        theirs = handle_of(stream, self, "wait_for")
        try:
            wait_on((self.stream, self.number), theirs)
        except ERRORS as error:
            raise self.fault("wait_for", error) from error

    def hold_stream(self: DeviceSpace, stream: Any) -> None:  # type: ignore[misc]
        theirs = handle_of(stream, self, "order_before")
        try:
            wait_on(theirs, (self.stream, self.number))
        except ERRORS as error:
            raise self.fault("order_before", error) from error


def handle_of(stream: Any, space: DeviceSpace, what: str) -> Stream:
    """The driver's handle of a library's stream, and the number of its device.

    `what` is done with it. Of a stream that does not tell its device it is that of the space.

    Raises
    ------
    SpaceError
        If it has no handle, or one of another form.
    """
    found: Any = None
    try:
        if hasattr(stream, "__cuda_stream__"):
            # A method, or in early versions of the protocol an attribute.
            given = stream.__cuda_stream__
            version, found = given() if callable(given) else given
            if version != 0:
                raise ValueError(f"version {version} of __cuda_stream__ is not known, expected 0")
        else:
            found = stream.ptr if hasattr(stream, "ptr") else stream.cuda_stream
        handle = int(found)
    except (TypeError, ValueError) as error:
        raise SpaceError(
            f"Space '{space.name}': {what}({brief(stream)}): the stream has no handle ({error}); "
            f"expected one of CuPy or PyTorch, or an object whose __cuda_stream__ gives 0 and a "
            f"handle."
        ) from error
    number = space.number
    for name in ("device_id", "device_index"):  # of CuPy, where -1 is any; of PyTorch
        told = getattr(stream, name, None)
        if isinstance(told, int) and told >= 0:
            number = told
    return (0 if handle == LEGACY else handle), number

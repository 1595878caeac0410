"""Streams and events; work is done when it is queued."""

from __future__ import annotations

import threading
import time
from typing import Any, ClassVar

from cupy_backends.cuda.api import runtime

_thread = threading.local()


def _stack() -> list[Any]:
    if not hasattr(_thread, "streams"):
        _thread.streams = [Stream.null]
    found: list[Any] = _thread.streams
    return found


class Event:
    """An event."""

    def __init__(
        self, block: bool = False, disable_timing: bool = False, interprocess: bool = False
    ) -> None:
        self.ptr = runtime.eventCreateWithFlags(2 * disable_timing)

    def __del__(self) -> None:
        runtime.eventDestroy(self.ptr)

    @property
    def done(self) -> bool:
        return runtime.eventQuery(self.ptr) == 0

    def record(self, stream: Any = None) -> None:
        given = get_current_stream() if stream is None else stream
        runtime.eventRecord(self.ptr, given.ptr)
        self.recorded = time.perf_counter()

    def synchronize(self) -> None:
        runtime.eventSynchronize(self.ptr)


def get_elapsed_time(start_event: Event, end_event: Event) -> float:
    return 1e3 * (end_event.recorded - start_event.recorded)


class _Base:
    """What all streams can do; the current one of the thread within a block."""

    ptr = 0

    def __enter__(self) -> Any:
        _stack().append(self)
        return self

    def __exit__(self, *error: Any) -> None:
        _stack().pop()

    def use(self) -> Any:
        _stack()[-1] = self
        return self

    def synchronize(self) -> None:
        runtime.streamSynchronize(self.ptr)

    @property
    def done(self) -> bool:
        return runtime.streamQuery(self.ptr) == 0

    def record(self, event: Any = None) -> Any:
        event = Event() if event is None else event
        runtime.eventRecord(event.ptr, self.ptr)
        return event

    def wait_event(self, event: Any) -> None:
        runtime.streamWaitEvent(self.ptr, event.ptr)


class Stream(_Base):
    """A stream of its own, or the default one."""

    null: ClassVar[Any]

    def __init__(
        self, null: bool = False, non_blocking: bool = False, ptds: bool = False, priority: int = 0
    ) -> None:
        self.null_stream = null
        self.ptr = 0 if null else runtime.streamCreateWithFlags(int(non_blocking))

    def __del__(self) -> None:
        if self.ptr:
            runtime.streamDestroy(self.ptr)


class ExternalStream(_Base):
    """A stream that somebody else made."""

    def __init__(self, ptr: int, device_id: int = -1) -> None:
        self.ptr = ptr


Stream.null = Stream(null=True)


def get_current_stream(device_id: int = -1) -> Any:
    """That of the thread."""
    return _stack()[-1]

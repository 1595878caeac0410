"""When a stream passed a mark: events of the device, compared with the clock of the host.

The device tells the time between two events only, in milliseconds of 24 bits. So now and then an
event is recorded on an idle stream of its own, of which the host knows the time, and marks are
told from the last such base before them. Nothing waits for any other stream.
"""

from __future__ import annotations

import threading
import time
from typing import Any, NamedTuple

import cupy

_FRESH = 0.5  # seconds; clocks drift apart, and more of them would cost digits
_ATTEMPTS = 4


class _Base(NamedTuple):
    event: Any
    host: float


class Mark(NamedTuple):
    """An event in a stream, and the base that was the last one before it."""

    event: Any
    base: _Base


class Clock:
    """The clock of a device, which has to be the current one where a mark is made."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stream = cupy.cuda.Stream(non_blocking=True)
        self._base: _Base | None = None
        self._free: list[Any] = []  # events that were told

    def mark(self, stream: Any) -> Mark:
        """Record an event in a stream."""
        base = self._base
        if base is None or time.perf_counter() - base.host > _FRESH:
            base = self._new_base()
        try:
            event = self._free.pop()
        except IndexError:
            event = cupy.cuda.Event()
        event.record(stream)
        return Mark(event, base)

    def time_of(self, mark: Mark) -> float | None:
        """Seconds of `time.perf_counter` at which it was passed; None if it was not yet.

        Once told, the mark is used up.
        """
        if not mark.event.done:
            return None
        base = mark.base
        passed = base.host + 1e-3 * float(cupy.cuda.get_elapsed_time(base.event, mark.event))
        self._free.append(mark.event)
        return passed

    def _new_base(self) -> _Base:
        """The best of a few attempts: that in which the host was kept waiting the least."""
        with self._lock:
            best = None
            for _ in range(_ATTEMPTS):
                event = cupy.cuda.Event()
                before = time.perf_counter()
                event.record(self._stream)
                event.synchronize()
                after = time.perf_counter()
                if best is None or after - before < best[0]:
                    best = after - before, _Base(event, 0.5 * (before + after))
            assert best is not None
            self._base = best[1]
            return best[1]

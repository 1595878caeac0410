"""When a queue passed a mark: profiling times of markers, compared with the clock of the host.

A device has a clock of its own, which the driver tells for each event of a queue. Now and then a
marker in an idle queue, of which the host knows the time, says how far the two are apart.
"""

from __future__ import annotations

import threading
import time
from typing import Any, NamedTuple

import pyopencl as cl

_FRESH = 0.5  # seconds; clocks drift apart
_ATTEMPTS = 4
_DONE = cl.command_execution_status.COMPLETE


class Mark(NamedTuple):
    """A marker in a queue, and what is to be added to its time."""

    event: Any
    queue: Any
    offset: float


class Clock:
    """The clock of a device."""

    def __init__(self, context: Any, device: Any) -> None:
        self._lock = threading.Lock()
        timed = cl.command_queue_properties.PROFILING_ENABLE
        self._queue = cl.CommandQueue(context, device, properties=timed)
        self._offset = 0.0
        self._until = 0.0

    def mark(self, queue: Any) -> Mark:
        """Put a marker into a queue that was made with PROFILING_ENABLE."""
        if time.perf_counter() > self._until:
            self._compare()
        return Mark(cl.enqueue_marker(queue), queue, self._offset)

    def time_of(self, mark: Mark) -> float | None:
        """Seconds of `time.perf_counter` at which it was passed; None if it was not yet."""
        if mark.event.command_execution_status != _DONE:
            mark.queue.flush()  # so that the driver gets to it if nobody else asks
            return None
        return _seconds(mark.event) + mark.offset

    def _compare(self) -> None:
        """The best of a few attempts: that in which the host was kept waiting the least."""
        with self._lock:
            best = None
            for _ in range(_ATTEMPTS):
                before = time.perf_counter()
                event = cl.enqueue_marker(self._queue)
                event.wait()
                after = time.perf_counter()
                if best is None or after - before < best[0]:
                    best = after - before, 0.5 * (before + after) - _seconds(event)
            assert best is not None
            self._offset, self._until = best[1], time.perf_counter() + _FRESH


def _seconds(event: Any) -> float:
    return 1e-9 * float(event.profile.end)

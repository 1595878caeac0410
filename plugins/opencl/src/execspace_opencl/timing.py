"""When a queue passed a mark: profiling times of markers, compared with the clock of the host.

A device has a clock of its own, which the driver tells for each event of a queue. Now and then a
marker in an idle queue, of which the host knows the time, says how far the two are apart.
"""

from __future__ import annotations

import threading
import time
from typing import Any, NamedTuple

import pyopencl as cl

TIMED = cl.command_queue_properties.PROFILING_ENABLE
_FRESH = 0.5  # seconds; clocks drift apart
_ATTEMPTS = 4
_DONE = cl.command_execution_status.COMPLETE


class Mark(NamedTuple):
    """A marker in a queue, and what is to be added to its time."""

    event: Any
    queue: Any
    offset: float


class Clock:
    """The clock of a device.

    Parameters
    ----------
    context, device
        Of OpenCL.
    shared : bool
        One thing runs on the device at a time, whatever its queue, as on a processor: the clocks
        are only compared when somebody has waited for it.
    """

    def __init__(self, context: Any, device: Any, shared: bool) -> None:
        self._lock = threading.Lock()
        self._device, self._shared = device, shared
        self._queue = cl.CommandQueue(context, device, properties=TIMED)
        self._has_timer = True
        self._until = 0.0
        self._offset = 0.0
        self.compare()

    def mark(self, queue: Any) -> Mark:
        """Put a marker into a queue that was made with TIMED."""
        if not self._shared:
            self.compare()
        return Mark(cl.enqueue_marker(queue), queue, self._offset)

    def time_of(self, mark: Mark) -> float | None:
        """Seconds of `time.perf_counter` at which it was passed; None if it was not yet."""
        if mark.event.command_execution_status != _DONE:
            mark.queue.flush()  # so that the driver gets to it if nobody else asks
            return None
        return _seconds(mark.event) + mark.offset

    def compare(self) -> None:
        """See how far the clocks are apart, if the last time is a while ago.

        The best of a few attempts counts: that in which the host was kept waiting the least.
        """
        if time.perf_counter() < self._until:
            return
        with self._lock:
            attempts = [self._attempt() for _ in range(_ATTEMPTS)]
            self._offset = min(attempts)[1]
            self._until = time.perf_counter() + _FRESH

    def _attempt(self) -> tuple[float, float]:
        """How long it took, and the difference."""
        before = time.perf_counter()
        now = self._now()
        after = time.perf_counter()
        return after - before, 0.5 * (before + after) - now

    def _now(self) -> float:
        """The device's time: told by the driver without a wait, where it can do that; few can."""
        if self._has_timer:
            try:
                return 1e-9 * float(self._device.device_and_host_timer()[0])
            except (cl.Error, AttributeError):
                self._has_timer = False
        event = cl.enqueue_marker(self._queue)
        event.wait()
        return _seconds(event)


def _seconds(event: Any) -> float:
    return 1e-9 * float(event.profile.end)

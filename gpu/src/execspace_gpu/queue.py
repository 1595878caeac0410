"""A stream of a GPU, and what must stay alive until its work is done.

Streams of a device know nothing of each other but the `Order` that they share.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

import cupy
from cupy_backends.cuda.api import runtime

from execspace.base.free_threading import drop_oldest

from .devices import on_device

_MOST_HELD = 64  # launches of which Views are held before the stream is asked what is done
_MOST_LABELS = 64  # that the report of a fault may name


class Order:
    """What keeps the queues of a device, which is current, in order.

    Attributes
    ----------
    lock : RLock
        Reentrant for the garbage collector's sake.
    allocations : int
        Counts Views that queues must wait for; `allocated` is the event of the last.
    busy : set of Queue
        Those that hold Views, whether anybody still has them or not.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.allocations = 0
        self.allocated = cupy.cuda.Event(disable_timing=True)
        self.busy: set[Queue] = set()

    def note_allocation(self, queue: Queue) -> None:
        """Let the others wait for what a queue does for a new View."""
        with self.lock:
            self.allocated.record(queue.stream_object)
            self.allocations += 1


class Queue:
    """A stream of the current device.

    Parameters
    ----------
    order : Order
        Of the device.
    own : bool
        A stream that waits for no other one, not the legacy default stream.
    urgent : bool
        Its launches get free multiprocessors before those of others.

    Attributes
    ----------
    stream : int
        The driver's handle; 0 is the legacy default stream.
    recent : dict of str to None
        Kernels that were launched since the stream was last waited for.
    """

    def __init__(self, order: Order, own: bool, urgent: bool = False) -> None:
        self._order, self._number = order, runtime.getDevice()
        stream = cupy.cuda.Stream.null
        if own:
            # Of more than a device has, drivers take the highest.
            options = {"priority": -5} if urgent else {}
            stream = cupy.cuda.Stream(non_blocking=True, **options)
        self.stream_object: Any = stream
        self.stream = int(stream.ptr)
        self.recent: dict[str, None] = {}
        self._held: list[Any] = []
        self._done: deque[tuple[Any, list[Any]]] = deque()
        self._seen = -1

    def note(self, name: str) -> None:
        """Remember a launch with a label, of which there may be any number."""
        self.recent[name] = None
        while len(self.recent) > _MOST_LABELS:
            drop_oldest(self.recent)

    def synchronize(self) -> None:
        """Wait for the stream; blocks. Errors of the platform pass."""
        runtime.streamSynchronize(self.stream)
        self.recent.clear()

    def await_allocations(self) -> None:
        """Order the stream after the zeros of Views that were allocated since it last looked."""
        order = self._order
        if self._seen != order.allocations:
            with order.lock:
                seen = order.allocations
                runtime.streamWaitEvent(self.stream, order.allocated.ptr)
                self._seen = seen

    def hold(self, *things: Any) -> None:
        """Keep objects alive until the work that is queued now is done.

        The default stream needs it for memory that is not freed in order with it.
        """
        with self._order.lock:
            held = self._held
            held.append(things)
            self._order.busy.add(self)
            if len(held) < _MOST_HELD:
                return
            with on_device(self._number):
                event = cupy.cuda.Event(disable_timing=True)
                event.record(self.stream_object)
            self._held = []
            self._done.append((event, held))
            finished = []
            while len(self._done) > 1 and self._done[0][0].done:
                finished.append(self._done.popleft())
        del finished  # not under the lock: what is freed may run anything

    @property
    def holds(self) -> bool:
        """Whether anything is held."""
        return bool(self._held or self._done)

    def take_held(self) -> Any:
        """What is held; to be dropped when the stream is done."""
        with self._order.lock:
            held, self._held = self._held, []
            done, self._done = self._done, deque()
            self._order.busy.discard(self)
        return held, done

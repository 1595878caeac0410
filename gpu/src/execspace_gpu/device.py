"""A GPU of this process: what a space and all its instances share."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable
from contextlib import AbstractContextManager
from functools import cached_property
from typing import Any

import cupy
from cupy_backends.cuda.api import runtime

from .devices import Faults, on_device
from .program import Program
from .queue import Queue
from .timing import Clock


class GpuDevice:
    """A GPU.

    Attributes
    ----------
    number : int
        As the platform counts.
    handle : cupy.cuda.Device
    alone : bool
        The platform has no other one.
    programs : dict
        What is loaded.
    default : Queue
        On the legacy default stream.
    busy : set of Queue
        Those that hold Views, whether anybody still has them or not.
    allocations : int
        Counts Views that queues must wait for; `allocated` is the event of the last.
    lock : RLock
        Reentrant for the garbage collector's sake.
    """

    def __init__(self, number: int, short: str, title: str) -> None:
        self.number = number
        self.lock = threading.RLock()
        self.faults = Faults(number, short, title)
        self.handle = cupy.cuda.Device(number)
        self.alone = int(runtime.getDeviceCount()) == 1
        self.programs: dict[Any, Program] = {}
        self.allocations = 0
        self.busy: set[Queue] = set()
        self._queues: weakref.WeakSet[Queue] = weakref.WeakSet()
        with self.handle:
            self.allocated = cupy.cuda.Event(disable_timing=True)
            self.default = Queue(self, own=False)

    def new_queue(self) -> Queue:
        """A stream of its own."""
        with self.handle:
            made = Queue(self, own=True)
        with self.lock:
            self._queues.add(made)
        return made

    def queues(self) -> list[Queue]:
        """All of them, the default one first."""
        with self.lock:
            return list(dict.fromkeys((self.default, *self._queues, *self.busy)))

    def current(self) -> AbstractContextManager[None]:
        """Make the device that of the calling thread for the time of a block."""
        return on_device(self.number)

    def attribute(self, name: str) -> int:
        """An attribute of the device, by the name that CuPy has for it."""
        return int(self.handle.attributes[name])

    @cached_property
    def clock(self) -> Clock:
        """Tells when marks were passed; the device must be current when it is made."""
        return Clock()

    def fault(self, what: str, error: Any) -> Exception:
        """The exception for an error of the platform."""
        launches = [name for queue in self.queues() for name in list(queue.recent)]
        return self.faults.exception(what, error, launches)

    def note_allocation(self) -> None:
        """Let queues wait for what the default stream does for a new View."""
        with self.lock:
            self.allocated.record(self.default.stream_object)
            self.allocations += 1

    def synchronize(self, queues: Iterable[Queue]) -> None:
        """Wait for queues and let go of what they hold; blocks. Errors of the platform pass."""
        queues = list(queues)
        held = [queue.take_held() for queue in queues]
        with self.current():
            for queue in queues:
                runtime.streamSynchronize(queue.stream)
        del held
        for queue in queues:
            queue.recent.clear()

    def release_held(self) -> None:
        """Wait for all queues and let go of what they hold, for want of memory; blocks."""
        for queue in self.queues():
            held = queue.take_held()
            runtime.streamSynchronize(queue.stream)
            del held

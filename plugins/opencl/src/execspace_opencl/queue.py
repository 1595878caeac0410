"""A queue of a device: commands in order, and their times while a tool wants them."""

from __future__ import annotations

import threading
from contextlib import suppress
from functools import cached_property
from typing import Any

import pyopencl as cl

from .timing import TIMED, Clock, Mark


class Queue:
    """An in-order queue, of which another one takes the place while a tool wants times.

    Only events of a queue that keeps times have them, and each launch costs more there.

    Parameters
    ----------
    context : pyopencl.Context
    device : pyopencl.Device
    left : list
        Gets an event of the end of its work if it goes before that is done.

    Attributes
    ----------
    handle : pyopencl.CommandQueue
        Where work goes now.
    turn : RLock
        Held by a thread of the host for commands that belong together: meanwhile no other one
        enqueues any, and `handle` stays.
    """

    def __init__(self, context: Any, device: Any, left: list[Any]) -> None:
        self._left = left
        self._of = context, device
        self._plain = cl.CommandQueue(*self._of)
        self.handle: Any = self._plain
        self.turn = threading.RLock()

    def __del__(self, suppress: Any = suppress) -> None:  # of names none may be left at the end
        with suppress(Exception):  # lost, or at the program's end
            self._left.append(self.record())

    @cached_property
    def _timed(self) -> Any:
        return cl.CommandQueue(*self._of, properties=TIMED)

    def finish(self, timed: bool) -> None:
        """Wait for all work; blocks. `timed`: go on keeping times, if it does."""
        self.handle.finish()
        if not timed:
            self._go_on_with(self._plain)

    def record(self) -> Any:
        """An event after all work so far, which the driver is given now."""
        with self.turn:
            event = cl.enqueue_marker(self.handle)
            self.handle.flush()
        return event

    def wait_for(self, event: Any) -> None:
        """Work from now on comes after an event of a queue of the same context."""
        with self.turn:
            cl.enqueue_barrier(self.handle, wait_for=[event])

    def mark(self, clock: Clock) -> Mark:
        """Mark the end of all work so far, and keep times from now on."""
        with self.turn:
            self._go_on_with(self._timed)
            return clock.mark(self.handle)

    def _go_on_with(self, other: Any) -> None:
        """Work goes to the other queue from now on, in order with all before."""
        with self.turn:
            if self.handle is not other:
                before = cl.enqueue_marker(self.handle)
                self.handle.flush()
                cl.enqueue_barrier(other, wait_for=[before])
                self.handle = other

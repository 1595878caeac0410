"""A GPU of this process: what a space and all its instances share."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any

import cupy
from cupy_backends.cuda.api import runtime

from execspace.base.blocks import Blocks

from .devices import ERRORS_OR_MEMORY, Faults, is_out_of_memory, on_device
from .ferry import Ferry
from .program import Program
from .queue import Order, Queue
from .timing import Clock

_NOTHING = nullcontext()


class GpuDevice:
    """A GPU.

    Parameters
    ----------
    number : int
        As the platform counts.
    short, title : str
        As `GpuKind` has them.
    pool : callable
        Gives so many bytes of the device, in order with the current stream of CuPy.

    Attributes
    ----------
    handle : cupy.cuda.Device
    alone : bool
        The platform has no other one.
    programs : dict
        What is loaded.
    has_further_queues : bool
        Whether it ever had another queue than the default one.
    pools : list of Blocks
        Of its memories.
    default : Queue
        On the legacy default stream.
    ferry : Ferry
        Carries large blocks from and to memory of the host that is not pinned.
    """

    def __init__(self, number: int, short: str, title: str, pool: Callable[[int], Any]) -> None:
        self.number = number
        self.faults = Faults(number, short, title)
        self.handle = cupy.cuda.Device(number)
        self.alone = int(runtime.getDeviceCount()) == 1
        self.programs: dict[Any, Program] = {}
        self.ferry = Ferry(number)
        self.pools: list[Blocks] = []
        self._pool = pool
        self._queues: weakref.WeakSet[Queue] = weakref.WeakSet()
        self.has_further_queues = False
        with self.handle:
            self._order = Order()
            self.default = Queue(self._order, own=False)

    def new_queue(self, urgent: bool = False) -> Queue:
        """A stream of its own."""
        with self.handle:
            made = Queue(self._order, own=True, urgent=urgent)
            self.has_further_queues = True
            self.note_allocation()  # Views before it were not noted
        with self._order.lock:
            self._queues.add(made)
        return made

    def queues(self) -> list[Queue]:
        """All of them, the default one first."""
        order = self._order
        if not self.has_further_queues and not order.busy:
            return [self.default]
        with order.lock:
            return list(dict.fromkeys((self.default, *self._queues, *order.busy)))

    def working(self) -> list[Queue]:
        """Those that may have work: of streams of ours we know that they were waited for."""
        queues = self.queues()
        return (
            queues
            if len(queues) == 1
            else [q for q in queues if q is self.default or q.recent or q.holds]
        )

    @property
    def has_queues(self) -> bool:
        """Whether there may be work on other queues than the default one."""
        if not self.has_further_queues and not self._order.busy:
            return False
        return len(self.working()) > 1

    def current(self) -> AbstractContextManager[None]:
        """Make the device that of the calling thread for the time of a block."""
        return _NOTHING if self.alone else on_device(self.number)

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
        """Let queues wait for what the default stream does for a new View, if there are any."""
        if self.has_further_queues:
            self._order.note_allocation(self.default)

    def block(self, size: int) -> Any:
        """Bytes from the pool, in order with the current stream of CuPy; the device is current."""
        return self.allocate(self._pool, size)

    def allocate(self, take: Callable[[int], Any], size: int) -> Any:
        """Memory from where `take` has it; if there is none, free what is done with, and retry.

        The device is current. Errors of the platform pass.
        """
        try:
            return take(size)
        except ERRORS_OR_MEMORY as error:
            if not is_out_of_memory(error):
                raise
            self.release_held()  # Views that instances are done with
            for pool in self.pools:
                pool.trim()
            cupy.get_default_memory_pool().free_all_blocks()
            cupy.get_default_pinned_memory_pool().free_all_blocks()
            return take(size)

    def synchronize(self, queues: Iterable[Queue]) -> None:
        """Wait for queues and let go of what they hold; blocks. Errors of the platform pass."""
        queues = list(queues)
        held = [queue.take_held() for queue in queues if queue.holds]
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

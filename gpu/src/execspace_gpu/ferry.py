"""Blocks between pageable memory of the host and a device, through pinned buffers in turns.

The driver copies such memory in one thread. Here several threads do, each a piece at a time: into
a pinned buffer, from where the copy engine takes it while the thread goes on with the next one; or
the other way round.
"""

from __future__ import annotations

import ctypes
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import cupy
from cupy_backends.cuda.api import runtime

from .devices import ERRORS_OR_MEMORY
from .workers import Job, usable_threads

LEAST = 1 << 22  # bytes of a copy; the driver is as fast with less
PIECE = 1 << 21  # bytes of a buffer: enough for the copy engine, and several stay in the cache
SPARE = 4  # buffers beside one for each thread, which the copy engine reads meanwhile
_SLOW = 5e8  # bytes per second; less is no copy but the wait for other threads' Python
_SLOW_PIECES = 2

_DEFAULT = 4  # MemcpyDefault of the runtimes
_UNREGISTERED = 0  # type of memory that the runtime does not know
_INVALID = 1  # what some runtimes say of such memory instead


def is_pageable(address: int, nbytes: int) -> bool:
    """Whether memory of the host is none that the runtime made or was told of, at both ends."""
    return _is_unknown(address) and _is_unknown(address + nbytes - 1)


def _is_unknown(address: int) -> bool:
    try:
        return bool(runtime.pointerGetAttributes(address).type == _UNREGISTERED)
    except runtime.CUDARuntimeError as error:
        return getattr(error, "status", 0) == _INVALID


class _Buffer(NamedTuple):
    """Pinned memory, and the event after the last copy from or to it."""

    block: Any
    address: int
    event: Any


class Ferry:
    """The buffers of a device, which serve one copy at a time; made at the first need.

    A copy that finds them in use goes as the driver does it: it shall wait for no other stream.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self._lock = threading.Lock()
        self._buffers: tuple[_Buffer, ...] = ()
        self._stream: int | None = None  # of the last copy
        self._interrupted = False

    def carry(self, stream: int, device: int, host: int, nbytes: int, to_device: bool) -> bool:
        """Copy a block between addresses in order with a stream; the device is current.

        It comes back when memory of the host may be used again. False: nothing is done, and the
        driver has to. Errors of the platform pass.
        """
        if nbytes < LEAST or not is_pageable(host, nbytes):
            return False
        if not self._lock.acquire(blocking=False):
            return False
        try:
            if not self._ready(stream):
                return False
            self._interrupted = True
            threads = min(len(self._buffers) - SPARE, -(-nbytes // PIECE))
            trip = _Trip(self._number, stream, device, host, nbytes, to_device, self._buffers)
            trip.run(threads - 1)
            self._buffers = tuple(trip.free)  # the one that was used last is taken last
            self._interrupted = False
            return True
        finally:
            self._lock.release()

    def _ready(self, stream: int) -> bool:
        """Whether there are buffers, and nothing but work of the stream is under way with them."""
        if not self._buffers:
            try:
                self._buffers = tuple(_new_buffer() for _ in range(usable_threads() + SPARE))
            except ERRORS_OR_MEMORY:
                return False  # the driver needs none
        if self._interrupted:
            runtime.deviceSynchronize()
            self._interrupted = False
        elif stream != self._stream and not all(b.event.done for b in self._buffers):
            return False
        self._stream = stream
        return True


def _new_buffer() -> _Buffer:
    block = cupy.cuda.PinnedMemory(PIECE)
    return _Buffer(block, int(block.ptr), cupy.cuda.Event(disable_timing=True))


class _Trip:
    """One copy. Each thread takes the next piece, and the buffer that was used the longest ago."""

    def __init__(
        self,
        number: int,
        stream: int,
        device: int,
        host: int,
        nbytes: int,
        to_device: bool,
        buffers: tuple[_Buffer, ...],
    ) -> None:
        self.number, self.stream = number, stream
        self.device, self.host, self.nbytes = device, host, nbytes
        self.to_device = to_device
        self.free = deque(buffers)
        self.slow = 0

    def run(self, helpers: int) -> None:
        """Do it, with so many threads more."""
        number, carry = self.number, self._to_device if self.to_device else self._to_host
        job = Job(range(0, self.nbytes, PIECE), carry, lambda: runtime.setDevice(number))
        job.run(helpers, partial(self._watched, job, carry) if helpers else None)

    def _to_device(self, at: int) -> float:
        """Returns the seconds that the host copied."""
        size = min(PIECE, self.nbytes - at)
        buffer = self.free.popleft()
        runtime.eventSynchronize(buffer.event.ptr)
        begin = perf_counter()
        ctypes.memmove(buffer.address, self.host + at, size)
        end = perf_counter()
        runtime.memcpyAsync(self.device + at, buffer.address, size, _DEFAULT, self.stream)
        runtime.eventRecord(buffer.event.ptr, self.stream)
        self.free.append(buffer)
        return end - begin

    def _to_host(self, at: int) -> float:
        size = min(PIECE, self.nbytes - at)
        buffer = self.free.popleft()
        runtime.memcpyAsync(buffer.address, self.device + at, size, _DEFAULT, self.stream)
        runtime.eventRecord(buffer.event.ptr, self.stream)
        runtime.eventSynchronize(buffer.event.ptr)
        begin = perf_counter()
        ctypes.memmove(self.host + at, buffer.address, size)
        end = perf_counter()
        self.free.append(buffer)
        return end - begin

    def _watched(self, job: Job[int], carry: Callable[[int], float], at: int) -> None:
        """In the thread that asks: threads that wait for each other's Python are no help."""
        self.slow += carry(at) * _SLOW > min(PIECE, self.nbytes - at)
        if self.slow < _SLOW_PIECES:
            return
        for first in job.taken():
            size = min(PIECE, self.nbytes - first)
            pair = self.device + first, self.host + first
            to, source = pair if self.to_device else pair[::-1]
            runtime.memcpyAsync(to, source, size, _DEFAULT, self.stream)

"""When work really ran: marks in queues of asynchronous spaces, asked later when they were passed.

Nothing is fenced. What is not known yet is asked again after each launch.
"""

from __future__ import annotations

import threading
import time
import warnings
import weakref
from collections import deque
from functools import cache
from typing import Any, NamedTuple, Protocol, runtime_checkable

from . import dispatch

ExecutionSpace = Any  # which is made with this package

_lock = threading.RLock()


class _Running(NamedTuple):
    """Work that has begun: a mark in the queue, or the time on a space that has no marks."""

    space: ExecutionSpace | None
    mark: Any
    clock: float
    before: int = 0  # works of the space that had ended


class _Waiting(NamedTuple):
    id: int
    first: Any
    last: Any
    alone: bool  # nothing else began or ended within


@runtime_checkable
class TimesWork(Protocol):
    """An asynchronous space that can say when its work really ran, for profiling tools.

    It marks places in its queue and is asked later when the queue passed them. Neither waits.
    """

    def mark(self) -> Any:
        """Note a place in this queue, after all that is queued so far."""

    def time_of(self, mark: Any) -> float | None:
        """When the queue passed a mark, in seconds of `time.perf_counter`; None: it has not yet.

        A mark is not asked for again once it was told.
        The difference between two marks of a queue is as exact as the device can tell, also where
        the clocks of host and device are compared less exactly.
        """


# Work of each space or instance of which the times are not known yet, in order; it keeps the space.
_waiting: dict[ExecutionSpace, deque[_Waiting]] = {}
# When the last work of each ended that is known; and how many there were.
_until: weakref.WeakKeyDictionary[ExecutionSpace, float] = weakref.WeakKeyDictionary()
_ended: weakref.WeakKeyDictionary[ExecutionSpace, int] = weakref.WeakKeyDictionary()


@cache
def has_marks(kind: Any) -> bool:
    """Whether spaces of a class tell when their work ran."""
    return issubclass(kind, TimesWork)


def begin(space: ExecutionSpace | None) -> _Running | None:
    """Note that work is about to be queued; None where its time cannot be had."""
    kind: Any = type(space)
    if space is None or not has_marks(kind):
        if space is not None and space.capabilities.asynchronous:
            return None
        return _Running(None, None, time.perf_counter())
    try:
        return _Running(space, space.mark(), 0.0, _ended.get(space, 0))
    except Exception as error:  # the launch itself is going to say what is wrong
        _give_up(space, error)
        return None


def end(running: _Running, id: int) -> None:
    """Note that the work was queued, or on a space without marks that it is done."""
    space = running.space
    if space is None:
        dispatch.emit("on_device_time", id, running.clock, time.perf_counter())
        return
    try:
        mark = space.mark()
    except Exception as error:
        _give_up(space, error)
        return
    with _lock:
        ended = _ended.get(space, 0)
        work = _Waiting(id, running.mark, mark, ended == running.before)
        _ended[space] = ended + 1
        _waiting.setdefault(space, deque()).append(work)


class _Consent(threading.local):
    inside = False


_consent = _Consent()


def collect(most: int | None = None) -> None:
    """Tell of work of which the times are known by now, of each queue at most so many.

    Does not block. What a tool launches while it is told is told of later.
    """
    if not _waiting or _consent.inside:
        return
    found: list[tuple[int, float, float]] = []
    with _lock:
        for space, waiting in list(_waiting.items()):
            try:
                found += _known(space, waiting, len(waiting) if most is None else most)
            except Exception as error:
                _give_up(space, error)
            else:
                if not waiting:
                    _waiting.pop(space, None)
    _consent.inside = True
    try:  # not under the lock: tools do what they like
        for told in found:
            dispatch.emit("on_device_time", *told)
    finally:
        _consent.inside = False


def _known(space: Any, waiting: deque[_Waiting], most: int) -> list[tuple[int, float, float]]:
    """Take what is known, with its times, from the work of a queue."""
    found: list[tuple[int, float, float]] = []
    for _ in range(min(most, len(waiting))):
        id, first, last, alone = waiting[0]
        end = space.time_of(last)
        if end is None:
            break
        start = space.time_of(first)
        assert start is not None, "a queue passes its marks in order"
        waiting.popleft()
        # A queue does one thing after the other; clocks of devices are read less exactly than that.
        until = _until.get(space, start)
        start = max(start, until) if alone else start
        end = max(end, start)
        _until[space] = max(end, until)
        found.append((id, start, end))
    return found


def wait_for_times() -> None:
    """Wait for all work of which a tool wants the times, and tell it. Blocks.

    `execspace.profile` does so at the end of its block.
    """
    with _lock:
        spaces = list(_waiting)
    for space in spaces:
        space.fence("times of kernels for a profiling tool")
    collect()


def forget() -> None:
    """Drop what nobody wants to know any more."""
    with _lock:
        _waiting.clear()


def _give_up(space: ExecutionSpace, error: Exception) -> None:
    """Forget what is not known of a space that cannot tell any more, such as after a fault."""
    with _lock:
        lost = _waiting.pop(space, ())
    warnings.warn(
        f"Space '{space.name}' cannot tell the times of its work, and {len(lost)} launches remain "
        f"without: {type(error).__name__}: {error}",
        stacklevel=2,
    )

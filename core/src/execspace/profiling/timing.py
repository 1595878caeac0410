"""When work really ran: marks in queues of asynchronous spaces, asked later when they were passed.

Nothing is fenced. What is not known yet is asked again after each launch and each fence.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import profiling

if TYPE_CHECKING:
    from ..space import ExecutionSpace

_lock = threading.RLock()


class _Running(NamedTuple):
    """Work that has begun: a mark in the queue, or the time on a space that has no marks."""

    space: ExecutionSpace | None
    mark: Any
    clock: float


class _Waiting(NamedTuple):
    id: int
    first: Any
    last: Any


class _Queue:
    """Work of one space or instance of which the times are not known yet, in order."""

    def __init__(self, space: ExecutionSpace) -> None:
        self.space = space  # kept alive until its times are known
        self.waiting: deque[_Waiting] = deque()
        self.until = 0.0  # end of the last work that is known


_queues: dict[int, _Queue] = {}  # by the address of the space, which its queue keeps alive


def begin(space: ExecutionSpace | None) -> _Running | None:
    """Note that work is about to be queued; None where its time cannot be had."""
    from ..space import TimesWork  # which imports this package

    if space is None or (not space.capabilities.asynchronous and not isinstance(space, TimesWork)):
        return _Running(None, None, time.perf_counter())
    if not isinstance(space, TimesWork):
        return None
    try:
        return _Running(space, space.mark(), 0.0)
    except Exception as error:  # the launch itself is going to say what is wrong
        _give_up(space, error)
        return None


def end(running: _Running, id: int) -> None:
    """Note that the work was queued, or on a space without marks that it is done."""
    space = running.space
    if space is None:
        _emit(id, running.clock, time.perf_counter())
        return
    try:
        mark = space.mark()  # type: ignore[attr-defined]
    except Exception as error:
        _give_up(space, error)
        return
    with _lock:
        queue = _queues.setdefault(_key(space), _Queue(space))
        queue.waiting.append(_Waiting(id, running.mark, mark))


def collect() -> None:
    """Tell of all work of which the times are known by now. Does not block."""
    if not _queues:
        return
    with _lock:
        queues = list(_queues.items())
    for key, queue in queues:
        while True:
            with _lock:  # one thread asks, so that times are told in order
                if not queue.waiting:
                    if _queues.get(key) is queue:
                        del _queues[key]
                    break
                first = queue.waiting[0]
                try:
                    times = _times(queue, first)
                except Exception as error:
                    _give_up(queue.space, error)
                    break
                if times is None:
                    break
                queue.waiting.popleft()
                _emit(first.id, *times)


def _times(queue: _Queue, work: _Waiting) -> tuple[float, float] | None:
    space: Any = queue.space
    end = space.time_of(work.last)
    if end is None:
        return None
    start = space.time_of(work.first)
    assert start is not None, "a queue passes its marks in order"
    # A queue does one thing after the other; clocks of devices are read less exactly than that.
    start = max(start, queue.until)
    queue.until = max(end, start)
    return start, queue.until


def wait() -> None:
    """Wait for all work of which the times are wanted, and tell of them. Blocks."""
    with _lock:
        spaces = [queue.space for queue in _queues.values()]
    for space in spaces:
        space.fence("times of kernels for a profiling tool")
    collect()


def _emit(id: int, start: float, end: float) -> None:
    profiling.emit("on_device_time", id, start, end)


def _key(space: ExecutionSpace) -> int:
    return id(space)


def _give_up(space: ExecutionSpace, error: Exception) -> None:
    """Forget what is not known of a space that cannot tell any more, such as after a fault."""
    with _lock:
        lost = _queues.pop(_key(space), None)
    count = 0 if lost is None else len(lost.waiting)
    warnings.warn(
        f"Space '{space.name}' cannot tell the times of its work, {count} launches remain without "
        f"them: {type(error).__name__}: {error}",
        stacklevel=2,
    )

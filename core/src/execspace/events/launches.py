"""Events of what runs on a space: kernels, calls of libraries, graphs, copies and fences.

Only called where a tool is attached; the callers look first.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from . import dispatch, timing

ExecutionSpace = Any  # which is made with this package

# Spaces of this process by the names that they were asked for by; see `plugins.started`.
MADE: dict[str, ExecutionSpace] = {}
_lock = threading.Lock()
_queues: weakref.WeakKeyDictionary[ExecutionSpace, int] = weakref.WeakKeyDictionary()
_used: dict[str, int] = {}  # name of a space -> the number of its last instance


class _Fencing(threading.local):
    inside = False


_fencing = _Fencing()
AT_ONCE = 4  # times told after a launch: more than it adds, and never long


def queue_number(space: ExecutionSpace) -> int:
    """0 for a space itself; its instances count from 1 on, as they are used first."""
    found = _queues.get(space)
    if found is None:
        with _lock:
            found = _queues.get(space)
            if found is None:
                itself = MADE.get(space.name)
                firsts = (s for s, n in _queues.items() if s.name == space.name and n == 0)
                found = 0
                if (itself or next(firsts, space)) is not space:
                    found = _used.get(space.name, 0) + 1
                    _used[space.name] = found
                _queues[space] = found
    return found


def queue_of(space: ExecutionSpace) -> tuple[str, int]:
    """The name of a space, and which of its instances it is; see `queue_number`."""
    return space.name, queue_number(space)


@contextmanager
def kernel_events(pattern: str, name: str, space: ExecutionSpace) -> Iterator[None]:
    """Wrap work that is not a plan's, such as that of a library, in its begin and end events."""
    id = dispatch.new_id()
    dispatch.emit(
        "on_kernel_begin", pattern, name, name, space.name, queue_number(space), None, id, _unknown
    )
    with _ending("on_kernel_end", id, space):
        yield


def _unknown() -> None:
    return None


@contextmanager
def graph_events(label: str, space: ExecutionSpace, kernels: int) -> Iterator[None]:
    """Wrap the launch of a graph, for spaces that have them."""
    id = dispatch.new_id()
    dispatch.emit("on_graph_begin", label, space.name, queue_number(space), kernels, id)
    with _ending("on_graph_end", id, space):
        yield


@contextmanager
def copy_events(
    destination: str, source: str, nbytes: int, instance: ExecutionSpace | None
) -> Iterator[None]:
    """Wrap a deep_copy; without an instance it blocks, and its times are those of the call."""
    id = dispatch.new_id()
    where = ("", 0) if instance is None else (instance.name, queue_number(instance))
    dispatch.emit("on_copy_begin", destination, source, nbytes, *where, id)
    with _ending("on_copy_end", id, instance):
        yield


@contextmanager
def _ending(event: str, id: int, space: ExecutionSpace | None) -> Iterator[None]:
    """Time what runs within, if a tool wants that, and tell that it has ended."""
    running = timing.begin(space) if dispatch.TIMED else None
    try:
        yield
    finally:
        if running is not None:
            timing.end(running, id)
        dispatch.emit(event, id)
        timing.collect(AT_ONCE)


@contextmanager
def fence_events(space: ExecutionSpace, label: str) -> Iterator[None]:
    """Wrap a fence; one that it calls in turn is part of it."""
    if _fencing.inside:
        yield
        return
    id = dispatch.new_id()
    dispatch.emit("on_fence_begin", space.name, queue_number(space), label, id)
    _fencing.inside = True
    try:
        yield
    finally:
        _fencing.inside = False
        dispatch.emit("on_fence_end", id)

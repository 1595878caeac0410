"""Events of what runs on a space: kernels, calls of libraries, graphs, copies and fences.

Only called where a tool is attached; the callers look first.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from .. import profiling
from . import timing

if TYPE_CHECKING:
    from ..space import ExecutionSpace, Plan

_lock = threading.Lock()
_queues: weakref.WeakKeyDictionary[ExecutionSpace, int] = weakref.WeakKeyDictionary()
_used: dict[str, int] = {}  # name of a space -> the number of its last instance


class _Fencing(threading.local):
    inside = False


_fencing = _Fencing()
_AT_ONCE = 4  # times told after a launch: more than it adds, and never long


def queue_number(space: ExecutionSpace) -> int:
    """0 for a space itself; its instances count from 1 on, as they are used first."""
    found = _queues.get(space)
    if found is None:
        with _lock:
            found = _queues.get(space)
            if found is None:
                from ..selection import made  # which imports the contract, and that this package

                itself = made(space.name)
                firsts = (s for s, n in _queues.items() if s.name == space.name and n == 0)
                found = 0
                if (itself or next(firsts, space)) is not space:
                    found = _used.get(space.name, 0) + 1
                    _used[space.name] = found
                _queues[space] = found
    return found


def run_kernel(
    pattern: str,
    name: str,
    label: str | None,
    policy: Any,
    plan: Plan,
    bounds: tuple[int, ...],
    args: tuple[Any, ...],
) -> Any:
    """Launch a plan and tell the tools of it; `policy` is what the user gave."""
    from ..parallel import shown_policy  # which imports this module

    plan.ready(bounds, args)  # what it does once is no part of the launch
    id, space, policy = profiling.new_id(), plan.space, shown_policy(policy, bounds)
    work = partial(plan.work, bounds, args)
    profiling.emit(
        "on_kernel_begin", pattern, name, label or name, space.name, queue_number(space), policy,
        id, work,
    )  # fmt: skip
    running = timing.begin(space) if profiling.TIMED else None
    try:
        return plan.launch_as(label or name, bounds, args)
    finally:
        if running is not None:
            timing.end(running, id)
        profiling.emit("on_kernel_end", id)
        timing.collect(_AT_ONCE)


@contextmanager
def kernel_events(pattern: str, name: str, space: ExecutionSpace) -> Iterator[None]:
    """Wrap work that is no plan's, such as that of a library, in its begin and end events."""
    id = profiling.new_id()
    profiling.emit(
        "on_kernel_begin", pattern, name, name, space.name, queue_number(space), None, id, _unknown
    )
    with _ending("on_kernel_end", id, space):
        yield


def _unknown() -> None:
    return None


@contextmanager
def graph_events(label: str, space: ExecutionSpace, kernels: int) -> Iterator[None]:
    """Wrap the launch of a graph, for spaces that have them."""
    id = profiling.new_id()
    profiling.emit("on_graph_begin", label, space.name, queue_number(space), kernels, id)
    with _ending("on_graph_end", id, space):
        yield


@contextmanager
def copy_events(
    destination: str, source: str, nbytes: int, instance: ExecutionSpace | None
) -> Iterator[None]:
    """Wrap a deep_copy; without an instance it blocks, and its times are those of the call."""
    id = profiling.new_id()
    where = ("", 0) if instance is None else (instance.name, queue_number(instance))
    profiling.emit("on_copy_begin", destination, source, nbytes, *where, id)
    with _ending("on_copy_end", id, instance):
        yield


@contextmanager
def _ending(event: str, id: int, space: ExecutionSpace | None) -> Iterator[None]:
    """Time what runs within, if a tool wants that, and tell that it has ended."""
    running = timing.begin(space) if profiling.TIMED else None
    try:
        yield
    finally:
        if running is not None:
            timing.end(running, id)
        profiling.emit(event, id)
        timing.collect(_AT_ONCE)


@contextmanager
def fence_events(space: ExecutionSpace, label: str) -> Iterator[None]:
    """Wrap a fence; one that it calls in turn is part of it."""
    if _fencing.inside:
        yield
        return
    id = profiling.new_id()
    profiling.emit("on_fence_begin", space.name, queue_number(space), label, id)
    _fencing.inside = True
    try:
        yield
    finally:
        _fencing.inside = False
        profiling.emit("on_fence_end", id)

"""Under EXECSPACE_CHECK=portable: work that no fence has waited for yet, and what it may touch.

Hosts are done when a launch returns, devices are not. So each launch, and each copy in order with
an instance, leaves a mark on the memory of its Views until a fence; the host, and other instances,
are refused where there is one. Nothing here is called but under that check.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from . import config
from .array_interface import ArrayInterface, may_share
from .errors import SpaceAccessError
from .locks import new_rlock

Allocation = Any  # which are made with this package
ExecutionSpace = Any
View = Any
Queue = tuple[str, int]  # a space, and which of its instances: 0 is the space itself


class Touched(NamedTuple):
    """A View that work touches, what to call it ("argument 0, View 'x',"), and whether it may be
    written."""

    called: str
    view: View
    written: bool


class _Mark(NamedTuple):
    queue: Queue
    what: str
    place: ArrayInterface
    written: bool
    atomic: bool
    number: int  # of the work among that of its queue


Reached = dict[Queue, int]  # how much of the work of each queue is done at some moment

# How much work queues were given, and what they have waited for of that of others.
_given: Reached = {}
_waited: dict[Queue, Reached] = {}

# A mark for each queue and part of the memory. Nothing is kept alive: marks describe memory.
_marks: weakref.WeakKeyDictionary[Allocation, dict[Any, _Mark]] = weakref.WeakKeyDictionary()
_MOST = 1000  # marks of an allocation; the oldest are forgotten
_lock = new_rlock()  # reentrant: garbage collection may start while it is held


def watches(space: ExecutionSpace) -> bool:
    """Whether work of a space is pending until a fence: of a device, or of what stands for one.

    A space that kept memory of the host is done when a launch returns, unless it says otherwise.
    """
    if not config.is_portable():
        return False
    takes_host = any("host" in memory.kinds for memory in space.memory_spaces)
    return bool(space.capabilities.asynchronous) or not takes_host


@contextmanager
def work(
    who: str, queue: Queue, touched: Sequence[Touched], *, waits: bool = False
) -> Iterator[None]:
    """What runs within is given to a queue, and pending from then on.

    Parameters
    ----------
    who : str
        In messages: "kernel 'scale'".
    queue : (str, int)
    touched : sequence of Touched
    waits : bool, default False
        The host waits for it, so that nothing of this queue is pending when it is done.

    Raises
    ------
    SpaceAccessError
        If another queue may still be at work on one of the Views, and either of them writes it.
    """
    with _lock:
        for t in touched:
            _refuse_unordered(who, queue, t)
    yield
    with _lock:
        _given[queue] = number = _given.get(queue, 0) + 1
        if waits:
            passed(reached(queue))
            return
        for t in touched:
            view, place = t.view, ArrayInterface(t.view, None)
            marks = _marks.setdefault(view.allocation, {})
            key = queue, view.data_ptr, view.shape, view.strides, t.written
            marks.pop(key, None)  # the last one is told of
            if len(marks) >= _MOST:
                del marks[next(iter(marks))]
            marks[key] = _Mark(
                queue, who, place, t.written, "atomic" in view.traits, number
            )  # fmt: skip


def check_host_access(view: View, *, stores: bool) -> None:
    """Raise SpaceAccessError if work may still be under way on what the host is about to touch.

    Memory of the host may be read while a copy reads it. Shared memory may not: devices that move
    its pages do not let the host look meanwhile.
    """
    may_read = not stores and "host" in view.memory_space.kinds
    marks = _marks_on(view, lambda mark: mark.written or not may_read)
    mark = min(
        marks, key=lambda mark: not mark.written, default=None
    )  # what changes it comes first
    if mark is not None:
        does = "written" if mark.written else "read"
        raise SpaceAccessError(
            f"View '{view.label}' is {does} by {mark.what} on {_called(mark.queue)}, for which "
            f"nothing has waited: a device may still be at it. Call es.fence() before the host "
            f"uses the View (EXECSPACE_CHECK=portable)."
        )


def fenced(queue: Queue) -> None:
    """Nothing of a queue is pending any more; nor of its instances, if it is the space itself.

    Nor what they have waited for.
    """
    name, number = queue
    with _lock:
        queues = [queue] if number else [queue, *(q for q in _given if q[0] == name)]
        for one in queues:
            passed(reached(one))


def reached(queue: Queue) -> Reached:
    """What is done where a queue is done with all that it was given so far."""
    with _lock:
        return {**_waited.get(queue, {}), queue: _given.get(queue, 0)}


def ordered(queue: Queue, after: Reached) -> None:
    """What a queue is given from now on comes after other work."""
    with _lock:
        waited = _waited.setdefault(queue, {})
        for other, number in after.items():
            if other != queue:
                waited[other] = max(number, waited.get(other, 0))


def passed(what: Reached) -> None:
    """The host has seen that work is done."""
    with _lock:
        _drop(lambda mark: mark.number <= what.get(mark.queue, 0))


def fenced_all() -> None:
    """Nothing is pending any more."""
    with _lock:
        _marks.clear()


def _marks_on(view: View, matters: Callable[[_Mark], bool]) -> Iterator[_Mark]:
    """Those marks that matter of what has elements in common with a View."""
    with _lock:
        marks = [mark for mark in _marks.get(view.allocation, {}).values() if matters(mark)]
    place = ArrayInterface(view, None) if marks else None
    return (mark for mark in marks if place is not None and may_share(mark.place, place))


def _refuse_unordered(who: str, queue: Queue, t: Touched) -> None:
    atomic = "atomic" in t.view.traits

    waited = _waited.get(queue, {})

    def collides(mark: _Mark) -> bool:
        both_atomic = atomic and mark.atomic
        unordered = mark.queue != queue and mark.number > waited.get(mark.queue, 0)
        return unordered and (mark.written or t.written) and not both_atomic

    for mark in _marks_on(t.view, collides):
        does = "written" if mark.written else "read"
        first = f"K{who[1:]}" if who.startswith("kernel '") else who
        raise SpaceAccessError(
            f"{first}: {t.called} is {does} by {mark.what} on {_called(mark.queue)}, for which "
            f"nothing has waited: on a device the two may run at once. Call es.fence() between "
            f"them, or give both to one space or instance (EXECSPACE_CHECK=portable)."
        )


def _drop(done: Callable[[_Mark], bool]) -> None:
    for allocation, marks in list(_marks.items()):
        left = {key: mark for key, mark in marks.items() if not done(mark)}
        if left:
            _marks[allocation] = left
        else:
            del _marks[allocation]


def _called(queue: Queue) -> str:
    name, number = queue
    return f"instance {number} of space '{name}'" if number else f"space '{name}'"

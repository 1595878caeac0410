"""Events and the tools that are told of them, at the price of one `if` when there is none."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from itertools import count
from threading import RLock
from typing import Any

# What is told of launches. While a thread records a graph, its mark is among them, so that one `if`
# serves both.
TOOLS: tuple[Any, ...] = ()
TIMED: tuple[Any, ...] = ()  # those of them that want times of devices
# A tool, its method, and which arguments of the event that takes; None: all.
Call = tuple[Any, Callable[..., Any], tuple[int, ...] | None]
_calls: Mapping[str, tuple[Call, ...]] = {}
_detach: Callable[[Any], None]  # there is one as soon as there is a tool
_ids = count(1)
_marks: tuple[object, ...] = ()  # of recordings
# Without the GIL two threads may get one number. Reentrant, for what is freed meanwhile has events.
_counting: Any = RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_counting._at_fork_reinit)


def new_id() -> int:
    """A number that no other event of this process has."""
    with _counting:
        return next(_ids)


def publish(
    tools: tuple[Any, ...],
    timed: tuple[Any, ...],
    calls: Mapping[str, tuple[Call, ...]],
    detach: Callable[[Any], None],
) -> None:
    """Tell these tools of events from now on; `detach` is called with one that raises."""
    global TOOLS, TIMED, _calls, _detach
    _calls, _detach = calls, detach
    TIMED = timed
    with _counting:
        TOOLS = (*tools, *_marks)


def attached() -> tuple[Any, ...]:
    """The tools that events go to."""
    return tuple(t for t in TOOLS if type(t) is not _Mark)


class _Mark:
    """Stands among the tools while a graph is recorded; no event goes to it."""


def begin_recording() -> object:
    """Have launches look whether they are recorded, until `end_recording` of what this returns."""
    global TOOLS, _marks
    mark = _Mark()
    with _counting:
        _marks = (*_marks, mark)
        TOOLS = (*TOOLS, mark)
    return mark


def end_recording(mark: object) -> None:
    """End what `begin_recording` began."""
    global TOOLS, _marks
    with _counting:
        _marks = tuple(m for m in _marks if m is not mark)
        TOOLS = tuple(t for t in TOOLS if t is not mark)


def emit(event: str, *args: object) -> None:
    """Tell all tools of an event; one that raises is detached and named in a warning.

    Parameters
    ----------
    event : str
        Name of a method of `ToolSpecs`.
    *args
        All its arguments, in their order.
    """
    for tool, call, wanted in _calls.get(event, ()):
        try:
            if wanted is None:
                call(*args)
            else:
                call(*[args[n] for n in wanted])
        except Exception as error:  # a tool must never break the program that it watches
            if not any(t is tool for t, _, _ in _calls.get(event, ())):  # just detached
                continue
            _detach(tool)
            warnings.warn(
                f"Profiling tool {type(tool).__name__!r} raised in {event} and was detached: "
                f"{type(error).__name__}: {error}",
                stacklevel=2,
            )

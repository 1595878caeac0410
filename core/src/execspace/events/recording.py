"""What a thread does with launches and copies: nothing, or record them for a graph.

Launches look here only where `dispatch.TOOLS` is not empty, which a recording sees to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, Protocol

from . import dispatch


class Recorder(Protocol):
    """Takes what a program would run."""

    def launch(
        self, pattern: str, kernel: Any, plan: Any, policy: Any, bounds: tuple[int, ...],
        args: tuple[Any, ...], label: str | None,
    ) -> None:  # fmt: skip
        """A launch, whose result goes to Views."""

    def copy(self, target: Any, source: Any, instance: Any, casting: str) -> None:
        """A deep_copy; the source is a View or a number."""

    def call(self, name: str, function: Callable[[], object], instance: Any) -> None:
        """Work that is done as a whole, on an instance, by a function."""

    def enqueue(self, work: Any) -> None:
        """Work of a library on a stream, an `EnqueuedWork`."""

    def part(
        self, name: str, function: Callable[..., object], arguments: Mapping[str, Any]
    ) -> None:
        """What a function launches with these arguments, see `by_extents`."""

    def refuse(self, what: str, instead: str) -> Exception:
        """The exception for what no graph can have."""


_current: ContextVar[Recorder | None] = ContextVar("execspace_recording", default=None)


_active: dict[int, Recorder] = {}  # those whose recording has not ended


def current() -> Recorder | None:
    """Who records what this thread launches."""
    if not dispatch.TOOLS:
        return None
    found = _current.get()  # a task that was begun in a recording may outlive it
    return found if found is not None and id(found) in _active else None


@contextmanager
def recording(recorder: Recorder) -> Iterator[None]:
    """Give what this thread launches to a recorder."""
    mark = dispatch.begin_recording()
    before = _current.get()
    _active[id(recorder)] = recorder
    _current.set(recorder)
    try:
        yield
    finally:
        _active.pop(id(recorder), None)
        dispatch.end_recording(mark)
        _current.set(before)  # maybe of another context, as a generator's


def at_once() -> AbstractContextManager[None]:
    """Launch and copy at once, whoever records: for Views that are being made."""
    return _paused() if dispatch.TOOLS else _NOTHING


_NOTHING = nullcontext()


@contextmanager
def _paused() -> Iterator[None]:
    token = _current.set(None)
    try:
        yield
    finally:
        _current.reset(token)


def by_extents(name: str, function: Callable[..., object], /, **arguments: Any) -> None:
    """Call a function whose launches go by the extents of Views.

    A recording calls it, too, to record what it launches; and again once a View has got other
    memory, or one of the arguments is exchanged. Then it must check them as at first.
    """
    recorder = current()
    if recorder is None:
        function(**arguments)
    else:
        recorder.part(name, function, arguments)


def as_one(name: str, function: Callable[[], object], instance: Any) -> None:
    """Call a function that does work on an instance; a recording has each submission call it."""
    recorder = current()
    if recorder is None:
        function()
    else:
        recorder.call(name, function, instance)


def refuse_elements(view: Any, what: str) -> None:
    """Raise LaunchError for elements that the host reads or stores in a recording."""
    recorder = current()
    if recorder is not None:
        raise recorder.refuse(
            f"elements of View '{view.label}' would be {what} now, and not when the graph runs",
            f"let a kernel or es.deep_copy do it, or have them {what} outside of the recording",
        )


def refuse_waiting(what: str) -> None:
    """Raise LaunchError for a fence in a recording."""
    recorder = current()
    if recorder is not None:
        raise recorder.refuse(
            f"{what} has nothing to wait for: what is recorded does not run yet",
            "leave it out, for a graph keeps the order of what depends on each other, or wait when "
            "the graph was submitted",
        )

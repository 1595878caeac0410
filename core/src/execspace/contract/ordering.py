"""Events: a place in the work of a space, which the host and other spaces wait for.

What a space does for that is a Protocol, recognised by presence; without it a fence will do.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Protocol, final, runtime_checkable

from ..base import config, pending
from ..events import dispatch
from ..events.launches import fence_events, queue_of
from .forward import ExecutionSpace

__all__ = [
    "Event",
    "SupportsEvents",
    "SupportsStreams",
]

_DONE = object()
_BY_FENCE = object()


@final
class Event:
    """All that was launched on a space until `ExecutionSpace.record` made this.

    It keeps the space, and no View.

    Attributes
    ----------
    space : ExecutionSpace
        That recorded it.
    reached : mapping or None
        What is done with it, under EXECSPACE_CHECK=portable until the host has seen that.

    Notes
    -----
    Threads may wait for one at the same time. As cudaEvent_t:
    https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__EVENT.html
    """

    __slots__ = ("__weakref__", "_state", "reached", "space")

    def __init__(self, space: ExecutionSpace, waits: bool) -> None:
        self.space = space
        self._state: Any = _DONE
        if waits:
            kind: Any = type(space)
            self._state = space.record_event() if has_events(kind) else _BY_FENCE
        self.reached = pending.reached(queue_of(space)) if config.is_portable() else None

    @property
    def handle(self) -> Any:
        """None where there is nothing that a queue could wait for."""
        return None if self._state is _BY_FENCE or self._state is _DONE else self._state

    @property
    def is_settled(self) -> bool:
        """Whether it is known to be done; asks nobody."""
        return self._state is _DONE

    @property
    def done(self) -> bool:
        """Whether the work is done, as far as the space can tell without waiting; does not block.

        False of a space without `SupportsEvents` until somebody has waited for this event. Raises
        what the space raises if the work has failed, at the latest `wait` does.
        """
        if self._state is not _DONE:
            if self._state is _BY_FENCE or not self.space.event_passed(self._state):
                return False
            self._state = _DONE
        self._passed()
        return True

    def wait(self, label: str = "") -> None:
        """Wait until the work is done; blocks the host.

        Of a space without `SupportsEvents` it fences the space, and so waits for what was launched
        later, too. Tools are told of it as of a fence, with this label.
        """
        state = self._state
        if state is _BY_FENCE:
            self.space.fence(label)
        elif state is not _DONE:
            if not dispatch.TOOLS:
                self.space.await_event(state)
            else:
                with fence_events(self.space, label):
                    self.space.await_event(state)
        self._state = _DONE
        self._passed()

    def _passed(self) -> None:
        """The host has seen that it is done."""
        if self.reached is not None:
            pending.passed(self.reached)
            self.reached = None

    def __reduce__(self) -> Any:
        raise TypeError(f"{self!r} cannot be pickled: it is a place in a queue of this process.")

    def __repr__(self) -> str:
        return f"<event of execution space '{self.space.name}'>"


@runtime_checkable
class SupportsEvents(Protocol):
    """A space whose queue takes marks that host and queues wait for; of others `Event.wait` fences.

    Any thread may call these. `handle` is what `record_event` gave; it is dropped with its event.
    """

    def record_event(self) -> Any:
        """Note a place in this queue, after all that is queued so far; must not block."""

    def event_passed(self, handle: Any) -> bool:
        """Whether the queue has passed a place; must not block. Raises what the work raised."""

    def await_event(self, handle: Any) -> None:
        """Wait until the queue has passed a place; blocks, without the GIL."""

    def wait_in_queue(self, event: Event) -> bool:
        """Have what is launched here from now on come after an event of another space.

        False, and nothing is done, if this queue cannot wait for it: the host then does. Must not
        block.
        """


@cache  # a Protocol takes long to say so
def has_events(kind: Any) -> bool:
    """Whether spaces of a class are `SupportsEvents`."""
    return issubclass(kind, SupportsEvents)


@runtime_checkable
class SupportsStreams(Protocol):
    """A space that is in order with streams of other libraries; elsewhere the host waits.

    A stream is an object with `__cuda_stream__`, CuPy's with `ptr` or PyTorch's with
    `cuda_stream`. SpaceError for one that is not of the device's platform.
    """

    def wait_for_stream(self, stream: Any) -> None:
        """Have what is launched here from now on come after what a stream has been given."""

    def hold_stream(self, stream: Any) -> None:
        """Have what a stream is given from now on come after what was launched here."""

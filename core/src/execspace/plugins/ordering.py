"""What `wait_for` and `order_before` of spaces do: queues wait where they can, else the host."""

from __future__ import annotations

from typing import Any

from ..base import pending
from ..base.brief import brief
from ..base.errors import SpaceError
from ..contract.ordering import Event, SupportsStreams, has_events
from ..contract.space import ExecutionSpace
from ..events.launches import queue_of
from ..events.recording import refuse_waiting


def wait_for(later: ExecutionSpace, other: Any) -> None:
    """Have later work of a space come after that of another one, an event or a stream."""
    refuse_waiting("wait_for")
    if isinstance(other, ExecutionSpace):
        if other is not later:
            _order(later, other.record())
    elif isinstance(other, Event):
        if other.space is not later:
            _order(later, other)
    else:
        _check_stream(other, "wait_for")
        _wait_for_stream(later, other)


def order_before(first: ExecutionSpace, other: Any) -> None:
    """Have later work of a stream, or of another space, come after a space."""
    refuse_waiting("order_before")
    if isinstance(other, ExecutionSpace):
        wait_for(other, first)
        return
    _check_stream(other, "order_before")
    if isinstance(first, SupportsStreams):
        first.hold_stream(other)
    else:
        first.fence("order_before")


def _order(later: ExecutionSpace, event: Event) -> None:
    queue: Any = later
    able = event.handle is not None and has_events(type(later))
    if (able and queue.wait_in_queue(event)) or event.is_settled:
        # The host has not looked, so under EXECSPACE_CHECK=portable this queue alone knows.
        if event.reached is not None:
            pending.ordered(queue_of(later), event.reached)
    else:
        event.wait("wait_for")


def _check_stream(stream: Any, what: str) -> None:
    """Raise SpaceError for what is no stream of another library."""
    names = ("__cuda_stream__", "cuda_stream", "ptr")
    if isinstance(stream, Event | type) or not any(hasattr(stream, name) for name in names):
        event = ", an es.Event" if what == "wait_for" else ""
        raise SpaceError(
            f"{what}({brief(stream)}): expected an ExecutionSpace{event} or a stream of another "
            f"library, as cupy.cuda.get_current_stream() or torch.cuda.current_stream(); a space "
            f"is es.space(name)."
        )


def _wait_for_stream(space: ExecutionSpace, stream: Any) -> None:
    if isinstance(space, SupportsStreams):
        space.wait_for_stream(stream)
        return
    wait = getattr(stream, "synchronize", None)
    if not callable(wait):
        raise SpaceError(
            f"Space '{space.name}' has no streams itself, and the stream {brief(stream)} has no "
            f"synchronize() with which the host could wait; expected a stream of CuPy or PyTorch. "
            f"Wait for its work by means of its library."
        )
    wait()

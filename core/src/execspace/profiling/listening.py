"""Who listens: the tools that are attached, and whether they are paused; launches look elsewhere.

While tools are paused `dispatch.TOOLS` is empty, so that launches look no further, but what they
would call is still published: the end of what they heard the beginning of reaches them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..base.errors import ToolError
from ..base.locks import new_rlock
from ..events import dispatch
from ..events.dispatch import Call

lock = new_rlock()  # reentrant: what is freed meanwhile has events, and a tool may detach itself
_turn = new_rlock()  # of `hold` and `go_on`, so that tools hear of both in their order
pauses = 0  # calls of `pause` without their `resume`
_tools: tuple[Any, ...] = ()
_timed: tuple[Any, ...] = ()
_calls: Mapping[str, tuple[Call, ...]] = {}
_detach: Callable[[Any], None] | None = None  # there is one as soon as there was a tool


def attached() -> tuple[Any, ...]:
    """The tools that are attached, paused or not."""
    return _tools


def is_attached(tool: Any) -> bool:
    """Whether that very object is attached, paused or not."""
    return any(t is tool for t in _tools)


def is_timed(tool: Any) -> bool:
    """Whether that very object is attached and wants times of devices."""
    return any(t is tool for t in _timed)


def publish(
    tools: tuple[Any, ...],
    timed: tuple[Any, ...],
    calls: Mapping[str, tuple[Call, ...]],
    detach: Callable[[Any], None],
) -> None:
    """Tell these tools of events from now on, or from the end of the pause on."""
    global _tools, _timed, _calls, _detach
    with lock:
        _tools, _timed, _calls, _detach = tools, timed, calls, detach
        _update(pauses)


def hold() -> None:
    """Tell of nothing new, until each `hold` has its `go_on`."""
    global pauses
    with _turn:
        if not pauses:
            dispatch.emit("on_pause")
        with lock:  # in this order: where nobody is to be told, there is a pause to be seen
            pauses += 1
            _update(pauses)


def go_on() -> bool:
    """End what one `hold` began; whether tools hear again.

    Raises
    ------
    ToolError
        If there was none.
    """
    global pauses
    with _turn:
        if not pauses:
            raise ToolError(
                "resume() without a pause; call pause() first, once for each resume(), or use "
                "`with execspace.profiling.paused():`."
            )
        with lock:  # the other way round
            _update(pauses - 1)
            pauses -= 1
        if not pauses:
            dispatch.emit("on_resume")
        return not pauses


def _update(nested: int) -> None:
    if _detach is not None:
        shown = ((), ()) if nested else (_tools, _timed)
        dispatch.publish(*shown, _calls, _detach)

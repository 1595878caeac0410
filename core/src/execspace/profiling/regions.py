"""Regions of a program, nested, by thread; and moments that it marks."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ..base.brief import brief
from ..base.errors import ToolError
from ..events import dispatch
from . import listening


class _Regions(threading.local):
    def __init__(self) -> None:
        self.names: list[str] = []
        self.missed = 0  # innermost ones that were entered while tools were paused


_regions = _Regions()
_any_missed = False  # by any thread, ever: few programs pause, and others look no further


def push_region(name: str) -> None:
    """Enter a region of the program; tools show what runs in it below its name.

    Notes
    -----
    Kokkos: ``Kokkos::Profiling::pushRegion``,
    https://kokkos.org/kokkos-core-wiki/API/core/profiling/profiling.html
    """
    if not isinstance(name, str):
        raise ToolError(f"push_region({brief(name)}); expected the name of the region, a string.")
    if listening.pauses:
        _miss(name)
        return
    if _any_missed:
        catch_up()
    _regions.names.append(name)
    if dispatch.TOOLS:
        dispatch.emit("on_region_push", name)
    elif listening.pauses:  # since a moment ago
        _regions.names.pop()
        _miss(name)


def pop_region() -> None:
    """Leave the innermost region of this thread.

    Raises
    ------
    ToolError
        If the thread is in none.
    """
    names = _regions.names
    if not names:
        raise ToolError(
            "pop_region() without a region; call push_region(name) first in the same thread, or "
            "use `with execspace.profiling.region(name):`."
        )
    if _any_missed and _regions.missed:
        if listening.pauses:
            names.pop()
            _regions.missed -= 1
            return
        catch_up()
    name = names.pop()
    # Paused tools know the region as well, and would take it to be open for good.
    if dispatch.TOOLS or listening.pauses:
        dispatch.emit("on_region_pop", name)


def _miss(name: str) -> None:
    global _any_missed
    _any_missed = True
    _regions.names.append(name)
    _regions.missed += 1


def catch_up() -> None:
    """Tell tools of the regions that this thread entered while they were paused, and is in."""
    missed = _regions.missed
    if not missed:
        return
    names = _regions.names[-missed:]
    del _regions.names[-missed:]
    _regions.missed = 0
    for name in names:  # one after the other, for tools ask for the regions around
        _regions.names.append(name)
        if dispatch.TOOLS:
            dispatch.emit("on_region_push", name)


@contextmanager
def region(name: str) -> Iterator[None]:
    """A region for the time of a `with` block, or of each call of a function that it decorates.

    Examples
    --------
    >>> import execspace as es
    >>> with es.profiling.region("step"):
    ...     es.profiling.current_regions()
    ('step',)
    """
    push_region(name)
    try:
        yield
    finally:
        pop_region()


def current_regions() -> tuple[str, ...]:
    """Names of the regions that this thread is in, the outermost first."""
    return tuple(_regions.names)


def mark_event(name: str) -> None:
    """Mark a moment of the program, such as the start of an iteration."""
    if dispatch.TOOLS:
        dispatch.emit("on_event", name)

"""Regions of a program, nested, by thread; and moments that it marks."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ..base.brief import brief
from ..base.errors import ToolError
from ..events import dispatch


class _Regions(threading.local):
    def __init__(self) -> None:
        self.names: list[str] = []


_regions = _Regions()


def push_region(name: str) -> None:
    """Enter a region of the program; tools show what runs in it below its name.

    Notes
    -----
    Kokkos: ``Kokkos::Profiling::pushRegion``,
    https://kokkos.org/kokkos-core-wiki/API/core/profiling/profiling.html
    """
    if not isinstance(name, str):
        raise ToolError(f"push_region({brief(name)}); expected the name of the region, a string.")
    _regions.names.append(name)
    if dispatch.TOOLS:
        dispatch.emit("on_region_push", name)


def pop_region() -> None:
    """Leave the innermost region of this thread.

    Raises
    ------
    ToolError
        If the thread is in none.
    """
    if not _regions.names:
        raise ToolError(
            "pop_region() without a region; call push_region(name) first in the same thread, or "
            "use `with execspace.profiling.region(name):`."
        )
    name = _regions.names.pop()
    if dispatch.TOOLS:
        dispatch.emit("on_region_pop", name)


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

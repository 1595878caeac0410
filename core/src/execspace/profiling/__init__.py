"""Profiling: tools that are told what runs, at the price of one `if` when there is none.

A tool is an object with methods named after the events of `ToolSpecs`. A tool that raises is
dropped with one warning: a program behaves the same with and without tools. Tools are validated
and registered by pluggy; events then call the bound methods directly.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..events import dispatch
from ..events.dispatch import emit, new_id

if TYPE_CHECKING:
    from ..events.launches import graph_events, kernel_events
    from ..events.timing import wait_for_times
    from .facts import known_metadata, metadata
    from .pausing import pause, paused, resume
    from .regions import current_regions, mark_event, pop_region, push_region, region
    from .runs import Profile, profile
    from .sections import Section
    from .specs import ToolSpecs
    from .tools import Tool, attach, detach
    from .wrapping import Wrapper

__all__ = [
    "TOOLS",
    "Profile",
    "Section",
    "Tool",
    "ToolSpecs",
    "Wrapper",
    "attach",
    "current_regions",
    "detach",
    "emit",
    "graph_events",
    "kernel_events",
    "known_metadata",
    "mark_event",
    "metadata",
    "new_id",
    "pause",
    "paused",
    "pop_region",
    "profile",
    "push_region",
    "region",
    "resume",
    "wait_for_times",
]


# Loaded on first use: most programs have no tools.
_LAZY = {
    name: module
    for module, names in {
        "..events.launches": "graph_events kernel_events",
        "..events.timing": "wait_for_times",
        ".facts": "known_metadata metadata",
        ".pausing": "pause paused resume",
        ".regions": "current_regions mark_event pop_region push_region region",
        ".runs": "Profile profile",
        ".sections": "Section",
        ".specs": "ToolSpecs",
        ".tools": "Tool attach detach",
        ".wrapping": "Wrapper",
    }.items()
    for name in names.split()
}


def __getattr__(name: str) -> Any:
    """Load what is asked for; `TOOLS` and `TIMED`, the tools that are attached, as they are now."""
    if name in ("TOOLS", "TIMED"):
        return getattr(dispatch, name)
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(module, __name__), name)
    return found

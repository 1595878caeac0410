"""Profiling: tools that are told what runs, at the price of one `if` when there is none.

A tool is an object with methods named after the events of `ToolSpecs`. A tool that raises is
dropped with one warning: a program behaves the same with and without tools. Tools are validated
and registered by pluggy; events then call the bound methods directly.
"""

from __future__ import annotations

from typing import Any

from . import dispatch
from .dispatch import Tool, attach, detach, emit, new_id
from .launches import graph_events, kernel_events
from .regions import current_regions, mark_event, pop_region, push_region, region
from .runs import Profile, profile
from .specs import ToolSpecs
from .timing import wait_for_times

__all__ = [
    "TOOLS",
    "Profile",
    "Tool",
    "ToolSpecs",
    "attach",
    "current_regions",
    "detach",
    "emit",
    "graph_events",
    "kernel_events",
    "mark_event",
    "new_id",
    "pop_region",
    "profile",
    "push_region",
    "region",
    "wait_for_times",
]


def __getattr__(name: str) -> Any:
    """`TOOLS` and `TIMED`, the tools that are attached, as they are now."""
    if name in ("TOOLS", "TIMED"):
        return getattr(dispatch, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""Profiling: tools that are told what runs, at the price of one `if` when there is none.

A tool subclasses `Tool` and overrides what it wants. A tool that raises is dropped with one
warning: a program behaves the same with and without tools.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

TOOLS: tuple[Tool, ...] = ()
_launch_ids = itertools.count(1)


class Tool:
    """Base of profiling tools: every event is a method that does nothing.

    Times are the tool's own business. Sizes are in bytes.
    """

    def on_kernel_begin(self, pattern: str, name: str, space: str, launch: int) -> None:
        """A parallel_for, parallel_reduce or parallel_scan is about to be launched."""

    def on_kernel_end(self, launch: int) -> None:
        """The call of that number returned (asynchronous spaces may still be at work)."""

    def on_compile(self, kernel: str, space: str, seconds: float, from_disk: bool) -> None:
        """A kernel was made ready for a new combination of argument types."""

    def on_copy(self, destination: str, source: str, nbytes: int) -> None:
        """A deep_copy begins; the names are `label@memory space`."""

    def on_staging(self, space: str, nbytes: int) -> None:
        """A deep_copy goes through a buffer that it allocates in that memory space."""

    def on_allocate(self, space: str, label: str, nbytes: int) -> None:
        """A View's memory was allocated."""

    def on_free(self, space: str, label: str, nbytes: int) -> None:
        """A View's memory was released."""

    def on_fence(self, space: str, label: str) -> None:
        """The host waits for a space."""


def attach(tool: Tool) -> Tool:
    """Send events to `tool` from now on; returns it."""
    global TOOLS
    TOOLS = (*TOOLS, tool)
    return tool


def detach(tool: Tool) -> None:
    """Stop sending events to `tool`; no error if it was dropped before."""
    global TOOLS
    TOOLS = tuple(t for t in TOOLS if t is not tool)


def emit(event: str, *args: object) -> None:
    """Call `event` on every tool; one that raises is detached and named in a warning."""
    for tool in TOOLS:
        try:
            getattr(tool, event)(*args)
        except Exception as error:  # a tool must never break the program that it watches
            detach(tool)
            warnings.warn(
                f"Profiling tool {type(tool).__name__!r} raised in {event} and was detached: "
                f"{type(error).__name__}: {error}",
                stacklevel=2,
            )


@contextmanager
def kernel_events(pattern: str, name: str, space: str) -> Iterator[None]:
    """Wrap one launch in its begin and end events."""
    launch = next(_launch_ids)
    emit("on_kernel_begin", pattern, name, space, launch)
    try:
        yield
    finally:
        emit("on_kernel_end", launch)

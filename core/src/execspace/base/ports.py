"""Calls from lower floors to upper ones, each of which an upper floor provides.

Methods of kernels, policies and spaces offer what is built on top of them. They
are provided by `execspace/__init__.py`, and loaded when they are first called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Port:
    """A function that an upper floor provides, and that is loaded when it is first called."""

    __slots__ = ("_function", "_load", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._load: Callable[[], Callable[..., Any]] | None = None
        self._function: Callable[..., Any] | None = None

    def provide(self, load: Callable[[], Callable[..., Any]]) -> None:
        """Call what `load` gives from now on."""
        self._load, self._function = load, None

    def __call__(self, *args: Any, **options: Any) -> Any:
        if self._function is None:
            assert self._load is not None, f"nothing provides {self.name}"
            self._function = self._load()
        return self._function(*args, **options)


explain = Port("explain")  # for methods of kernels
planned = Port("planned")  # for methods of team policies
with_tuned = Port("with_tuned")  # a plan with what is tuned for it
replaced_tiles = Port("replaced_tiles")  # the table of a plugin for a space, or None
tool_entries = Port("tool_entries")  # profiling tools by name: all, or enough to have one
assign = Port("assign")  # for methods of Views, as those below
copied = Port("copied")
fill = Port("fill")
mirrored = Port("mirrored")
to_numpy = Port("to_numpy")
wait_for = Port("wait_for")  # for methods of spaces
order_before = Port("order_before")
has_short_tracebacks = Port("has_short_tracebacks")  # for errors in IPython
short_traceback = Port("short_traceback")  # the same: its lines
rich_message = Port("rich_message")  # an error as rich shows it
fence = Port("fence")  # wait for all started spaces

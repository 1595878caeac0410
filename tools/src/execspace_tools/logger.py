"""The logger: a line for each event as it happens, indented by the regions around it."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping
from typing import Any

from execspace import ToolError
from execspace.profiling import Tool, ToolSpecs, current_regions

from .output import Lines, check_path

EVENTS = tuple(
    name.removeprefix("on_")
    for name in vars(ToolSpecs)
    if name.startswith("on_") and name != "on_any"
)
# Arguments by which `match` looks at an event; the first is what the others are called by.
NAMED = ("label", "name", "kernel", "destination", "source")


class Logger(Tool):
    """Prints events.

    Parameters
    ----------
    path : str
        File to write to; empty: standard error.
    events : str
        Which events, separated by ``+`` or commas: names as in ``kernel_begin``, or the first word,
        ``kernel+copy``. Empty: all.
    match : str
        Regular expression that a label, or the name of a kernel or region, or one end of a copy
        must contain. The end of something is printed if its beginning is. Events without a label
        are then left out.
    """

    def __init__(self, path: str = "", events: str = "", match: str = "") -> None:
        self._wanted = _chosen(events)
        try:
            self._match = re.compile(match) if match else None
        except re.error as error:
            raise ToolError(
                f"Profiling tool 'logger': match={match!r} is not a regular expression: {error}."
            ) from None
        self.device_times = "device_time" in self._wanted
        self._lines = Lines(check_path("logger", path))
        self._lock = threading.RLock()
        self._begun: dict[int, set[str]] = {}  # id -> events that are still to come for it
        self._start = time.perf_counter()

    def on_metadata(self, key: str, value: str | int | float | bool) -> None:
        """Also what was known before it began, which `on_any` is not told."""
        self._print("metadata", {"key": key, "value": value})

    def on_any(self, event: str, arguments: Mapping[str, Any]) -> None:
        if event != "on_metadata":
            self._print(event.removeprefix("on_"), arguments)

    def _print(self, event: str, arguments: Mapping[str, Any]) -> None:
        if self._match is not None and not self._matches(event, arguments):
            return
        if event not in self._wanted:
            return
        depth = len(current_regions()) - (event == "region_push")
        self._lines.write(
            f"{time.perf_counter() - self._start:11.6f}  {'  ' * depth}{_line(event, arguments)}"
        )

    def _matches(self, event: str, arguments: Mapping[str, Any]) -> bool:
        assert self._match is not None
        id = arguments.get("id", 0)
        names = [str(arguments[n]) for n in NAMED if n in arguments]
        if not names:  # an end, or a time
            with self._lock:
                coming = self._begun.get(id, set())
                found = event in coming
                coming.discard(event)
                if not coming:
                    self._begun.pop(id, None)
            return found
        found = any(map(self._match.search, names))
        what, _, begins = event.rpartition("_")
        if found and begins == "begin":
            with self._lock:
                times = {"device_time"} if self.device_times and what != "fence" else set()
                self._begun[id] = {f"{what}_end"} | times
        return found

    def finish(self) -> None:
        self._lines.close()


def _chosen(events: str) -> frozenset[str]:
    """Names of events from the option.

    Raises
    ------
    ToolError
        If a word stands for none.
    """
    found: set[str] = set()
    for word in re.split(r"[+,\s]+", events.strip()) if events.strip() else EVENTS:
        word = word.removeprefix("on_")
        named = [e for e in EVENTS if e == word or e.startswith(f"{word}_")]
        if not named:
            raise ToolError(
                f"Profiling tool 'logger': events={events!r}; {word!r} is not an event. Events: "
                f"{', '.join(EVENTS)}; or the first word of several, such as 'kernel'."
            )
        found.update(named)
    return frozenset(found)


def _line(event: str, arguments: Mapping[str, Any]) -> str:
    """An event with its arguments; those that are only worth something to programs are left out."""
    parts = [event]
    if "id" in arguments:
        parts.append(f"#{arguments['id']}")
    if event == "device_time":
        parts.append(f"{(arguments['end'] - arguments['start']) * 1e6:.3f} us")
        return " ".join(parts)
    for name, value in arguments.items():
        if name in ("id", "work") or value is None or value == "":
            continue
        if isinstance(value, float):
            value = f"{value:.6f}"
        elif isinstance(value, str) and (name in NAMED or re.search(r"\s", value)):
            value = repr(value)
        parts.append(f"{name}={value}")
    return " ".join(parts)

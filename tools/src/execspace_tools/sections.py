"""Times of sections, which may overlap, and of pauses, for tools that tell where time went."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from execspace.profiling import Tool

from .tables import Table, seconds, table


@dataclass(frozen=True, slots=True)
class SectionRecord:
    """All runs of the sections of one name. Times are in seconds of the host.

    Attributes
    ----------
    name : str
    calls : int
        How often one was started.
    total, average, minimum, maximum : float
        Those that overlap each other count each for itself, so `total` may exceed the wall time.
    """

    name: str
    calls: int
    total: float
    average: float
    minimum: float
    maximum: float


@dataclass(slots=True)
class _Sum:
    """What is known so far of one name."""

    calls: int = 0
    total: float = 0.0
    minimum: float = float("inf")
    maximum: float = 0.0

    def add(self, length: float) -> None:
        self.calls += 1
        self.total += length
        self.minimum = min(self.minimum, length)
        self.maximum = max(self.maximum, length)


class Timed(Tool):
    """Base of tools that time sections, and know for how long they were paused."""

    def __init__(self) -> None:
        self._section_lock = threading.RLock()
        self._open_sections: dict[int, tuple[str, float]] = {}
        self._of_sections: dict[str, _Sum] = {}
        self.pauses = 0
        self._paused = 0.0
        self._paused_since: float | None = None

    def on_section_start(self, name: str, id: int) -> None:
        with self._section_lock:
            self._open_sections[id] = name, time.perf_counter()

    def on_section_stop(self, id: int) -> None:
        self._close(id, time.perf_counter())

    def on_pause(self) -> None:
        self.pauses += 1
        self._paused_since = time.perf_counter()

    def on_resume(self) -> None:
        if self._paused_since is not None:
            self._paused += time.perf_counter() - self._paused_since
        self._paused_since = None

    def close_sections(self) -> None:
        """End what is open: sections that run, and a pause."""
        now = time.perf_counter()
        with self._section_lock:
            for id in list(self._open_sections):
                self._close(id, now)
        if self._paused_since is not None:
            self.on_resume()

    def _close(self, id: int, now: float) -> None:
        with self._section_lock:
            found = self._open_sections.pop(id, None)
            if found is None:  # it was started before the tool came
                return
            name, start = found
            self._of_sections.setdefault(name, _Sum()).add(now - start)

    @property
    def paused(self) -> float:
        """Seconds in which tools were paused."""
        since = self._paused_since
        return self._paused + (0.0 if since is None else time.perf_counter() - since)

    def sections(self) -> tuple[SectionRecord, ...]:
        """A record for each name, the longest first; without what still runs."""
        with self._section_lock:
            found = [
                SectionRecord(n, s.calls, s.total, s.total / s.calls, s.minimum, s.maximum)
                for n, s in self._of_sections.items()
            ]
        return tuple(sorted(found, key=lambda r: (-r.total, r.name)))

    def section_lines(self) -> list[str]:
        """The table of sections for a report, with a line before it; nothing if there are none."""
        records = self.sections()
        return ["", "Sections, which may overlap", "", _table(records)] if records else []

    def pause_lines(self) -> list[str]:
        """A line on pauses; nothing if there were none."""
        if not self.pauses:
            return []
        return [f"paused for {seconds(self.paused)} of that; nothing of it is in this report"]


def _table(records: tuple[SectionRecord, ...]) -> Table:
    rows = [
        [r.name, str(r.calls), *map(seconds, (r.total, r.average, r.minimum, r.maximum))]
        for r in records
    ]
    return table(["section", "calls", "total", "average", "min", "max"], rows, ("section",))

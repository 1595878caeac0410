"""Memory over time: the resident set of the process beside what Views hold in each memory space."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any

from execspace import ToolError, live_allocations
from execspace.profiling import known_metadata

from .memory_high_water import resident_peak
from .output import as_csv, check_path, write_atomically
from .tables import Report, nbytes, table


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """Memory at one time.

    Attributes
    ----------
    time : float
        Seconds since the tool began.
    resident : int
        Bytes of the process's resident set.
    views : dict of str to int
        Memory space -> bytes that Views have in it.
    """

    time: float
    resident: int
    views: dict[str, int]


class MemoryUsage(Report):
    """A time series of memory, looked up where something happens.

    Parameters
    ----------
    path : str
        File for the series, as ``.csv`` or ``.json``.
    interval : float
        Seconds that two rows are apart at least; 0 has a row for each event.
    limit : int
        Rows that are kept. If there are more, every second one is dropped, the first, the last
        and the largest apart, and the interval becomes twice as long.

    Raises
    ------
    ToolError
        If the interval or the limit is out of range, the path's folder does not exist, or the
        platform cannot tell the resident set.

    Notes
    -----
    It looks at the beginning, at the end, and after allocations, releases, launches, copies, and
    at regions, sections and events of the program. What a program allocates in between shows with
    the next of these; nothing runs in the background. Views that come and go between two rows show
    in `memory-high-water`.

    After memory-usage of Kokkos Tools: https://github.com/kokkos/kokkos-tools
    """

    def __init__(self, path: str = "", interval: float = 0.01, limit: int = 100_000) -> None:
        if interval < 0:
            raise ToolError(
                f"Profiling tool 'memory-usage': interval={interval:g}; expected seconds, 0 or "
                f"more."
            )
        if limit < 10:
            raise ToolError(
                f"Profiling tool 'memory-usage': limit={limit}; expected 10 or more rows."
            )
        self._path = check_path("memory-usage", path, (".csv", ".json"))
        self._read = _reader()
        self._interval, self._limit = interval, limit
        self._lock = threading.RLock()  # a View that is freed meanwhile tells of it in this thread
        self._views: dict[str, int] = {}
        self._rows: list[UsageRecord] = []
        self._largest: UsageRecord | None = None
        self._start = time.perf_counter()
        self._last = self._start - interval
        self._count()
        self._look()

    # -- events ----------------------------------------------------------------------------------

    def on_allocate(self, space: str, nbytes: int) -> None:
        self._change(space, nbytes)

    def on_free(self, space: str, nbytes: int) -> None:
        self._change(space, -nbytes)

    def on_kernel_end(self) -> None:
        self._look()

    def on_graph_end(self) -> None:
        self._look()

    def on_copy_end(self) -> None:
        self._look()

    def on_region_push(self) -> None:
        self._look()

    def on_region_pop(self) -> None:
        self._look()

    def on_section_start(self) -> None:
        self._look()

    def on_section_stop(self) -> None:
        self._look()

    def on_event(self) -> None:
        self._look()

    def on_resume(self) -> None:
        self._count()
        self._look()

    def _count(self) -> None:
        """Take what Views have from core, which knows what this tool has not heard."""
        with self._lock:
            found = dict.fromkeys(self._views, 0)
            for space, size, _ in live_allocations():
                found[space] = found.get(space, 0) + size
            self._views = found

    def _change(self, space: str, nbytes: int) -> None:
        with self._lock:
            # What was freed while `_count` looked may be told twice.
            self._views[space] = max(0, self._views.get(space, 0) + nbytes)
            self._look()

    def _look(self, at_last: bool = False) -> None:
        now = time.perf_counter()
        if now - self._last < self._interval and not at_last:
            return
        with self._lock:
            self._last = now
            row = UsageRecord(now - self._start, self._read(), self._views.copy())
            self._rows.append(row)
            if self._largest is None or row.resident > self._largest.resident:
                self._largest = row
            if len(self._rows) > self._limit:
                first, *inner, last = self._rows
                kept = [r for n, r in enumerate(inner) if n % 2 or r is self._largest]
                self._rows = [first, *kept, last]
                self._interval *= 2

    # -- results ---------------------------------------------------------------------------------

    def records(self) -> tuple[UsageRecord, ...]:
        """All rows that are kept, in their order."""
        with self._lock:
            return tuple(self._rows)

    def finish(self) -> None:
        self._look(at_last=True)
        if not self._path:
            return
        rows = self.records()
        if self._path.lower().endswith(".json"):
            document: dict[str, Any] = {
                "metadata": known_metadata(),
                "resident_peak": resident_peak(),
                "rows": [asdict(row) for row in rows],
            }
            write_atomically(self._path, json.dumps(document, indent=1) + "\n")
            return
        spaces = sorted({space for row in rows for space in row.views})
        cells = [[r.time, r.resident, *(r.views.get(s, 0) for s in spaces)] for r in rows]
        write_atomically(self._path, as_csv([["time", "resident", *spaces], *cells]))

    def parts(self) -> list[str]:
        rows = self.records()
        largest = max(rows, key=lambda r: r.resident)
        shown = [("at the beginning", rows[0]), ("at its largest", largest), ("at last", rows[-1])]
        spaces = sorted({space for row in rows for space in row.views})
        cells = [
            [
                what,
                f"{r.time:.3f} s",
                nbytes(r.resident),
                *(nbytes(r.views.get(s, 0)) for s in spaces),
            ]
            for what, r in shown
        ]
        lines = [
            "Memory over time",
            "",
            table(["", "time", "resident", *(f"Views in {s}" for s in spaces)], cells, ()),
            "",
            f"{len(rows)} rows" + (f" written to {self._path}" if self._path else ""),
        ]
        peak = resident_peak()
        if peak is not None:
            lines.append(f"largest resident set of the process at any time: {nbytes(peak)}")
        return lines


def _reader() -> Callable[[], int]:
    """What tells the bytes of the resident set: Linux itself, elsewhere psutil.

    Raises
    ------
    ToolError
        If neither is there.
    """
    try:
        page = os.sysconf("SC_PAGE_SIZE")
        with open("/proc/self/statm", encoding="ascii") as file:
            file.read()
    except (AttributeError, OSError, ValueError):
        pass
    else:

        def of_linux() -> int:
            with open("/proc/self/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * page

        return of_linux
    try:
        psutil: Any = import_module("psutil")
    except ImportError as error:
        raise ToolError(
            "Profiling tool 'memory-usage' needs the package psutil on this platform; "
            "pip install psutil."
        ) from error
    process = psutil.Process()
    return lambda: int(process.memory_info().rss)

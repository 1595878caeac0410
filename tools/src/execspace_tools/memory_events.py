"""A log of Views' memory: each allocation and release, and what was never released.

Lines of a file are written as events come, so that they are there if the program dies.
"""

from __future__ import annotations

import threading
import time
from dataclasses import astuple, dataclass, fields

from .output import Lines, as_csv, check_path
from .tables import Report, Table, nbytes, table


@dataclass(frozen=True, slots=True)
class MemoryEvent:
    """One line of the log.

    Attributes
    ----------
    time : float
        Seconds since the tool began.
    event : str
        "allocate", "free", "staging" (a copy takes a buffer for its own time) or "copy".
    space : str
        Memory space.
    id : int
        Number of the allocation, or of the copy; 0 for a buffer.
    nbytes : int
    live : int
        Bytes in this memory space after it, of allocations since the tool began.
    label : str
        Of a copy ``source -> destination``.
    """

    time: float
    event: str
    space: str
    id: int
    nbytes: int
    live: int
    label: str


class MemoryEvents(Report):
    """A log of memory.

    Parameters
    ----------
    path : str
        File of the log: ``.csv``, with bytes and seconds as they are, or columns of text. Without
        one the log is part of the report.
    limit : int
        Lines that a report without a file has at most; it says how many there were beyond.
    copies : bool
        Also log deep copies.
    """

    def __init__(self, path: str = "", limit: int = 1000, copies: bool = False) -> None:
        self._path = check_path("memory-events", path)
        self._limit, self._copies = limit, copies
        self._comma = path.lower().endswith(".csv")
        self._file = Lines(path) if path else None
        self._lock = threading.RLock()
        self._kept: list[MemoryEvent] = []
        self._count = self._pauses = 0
        self._live: dict[int, MemoryEvent] = {}
        self._size: dict[str, int] = {}
        self._start = time.perf_counter()
        if self._file is not None:
            names = [f.name for f in fields(MemoryEvent)]
            self._file.write(as_csv([names]).rstrip("\n") if self._comma else _aligned(*names))

    # -- events ----------------------------------------------------------------------------------

    def on_allocate(self, space: str, label: str, nbytes: int, id: int) -> None:
        with self._lock:
            self._size[space] = self._size.get(space, 0) + nbytes
            self._live[id] = self._log("allocate", space, id, nbytes, label)

    def on_free(self, space: str, label: str, nbytes: int, id: int) -> None:
        with self._lock:
            if self._live.pop(id, None) is not None:  # else it is from before the tool began
                self._size[space] -= nbytes
            self._log("free", space, id, nbytes, label)

    def on_staging(self, space: str, nbytes: int) -> None:
        with self._lock:
            self._log("staging", space, 0, nbytes, "buffer of a copy")

    def on_copy_begin(self, destination: str, source: str, nbytes: int, id: int) -> None:
        if self._copies:
            with self._lock:
                space = destination.rpartition("@")[2]
                self._log("copy", space, id, nbytes, f"{source} -> {destination}")

    def on_pause(self) -> None:
        self._pauses += 1

    def _log(self, event: str, space: str, id: int, size: int, label: str) -> MemoryEvent:
        now = time.perf_counter() - self._start
        line = MemoryEvent(now, event, space, id, size, self._size.get(space, 0), label)
        self._count += 1
        if self._file is not None:
            text = as_csv([astuple(line)]).rstrip("\n") if self._comma else _aligned(*_cells(line))
            self._file.write(text)
        elif len(self._kept) < self._limit:
            self._kept.append(line)
        return line

    # -- results ---------------------------------------------------------------------------------

    def records(self) -> tuple[MemoryEvent, ...]:
        """The log, if it does not go to a file: its first `limit` lines."""
        with self._lock:
            return tuple(self._kept)

    def still_allocated(self) -> tuple[MemoryEvent, ...]:
        """Allocations since the tool began that were not released, in their order."""
        with self._lock:
            return tuple(self._live.copy().values())

    def finish(self) -> None:
        if self._file is not None:
            self._file.close()

    def parts(self) -> list[str]:
        head = [f.name for f in fields(MemoryEvent)]
        lines = ["Memory events", ""]
        if self._file is not None:
            lines.append(f"{self._count} events written to {self._path}")
        elif self._kept:
            lines.append(_table(head, self._kept))
            if self._count > len(self._kept):
                beyond = self._count - len(self._kept)
                lines.append(f"and {beyond} more, beyond limit={self._limit}; path=FILE has all")
        else:
            lines.append("none")
        if self._pauses:
            lines += ["", "tools were paused; what was allocated or freed meanwhile is not here"]
        live = self.still_allocated()
        total = sum(e.nbytes for e in live)
        lines += ["", f"still allocated at the end: {len(live)} of {nbytes(total)} in all"]
        if live:
            shown = live[: self._limit]
            lines += ["", _table(head, shown)]
            if len(shown) < len(live):
                lines.append(f"and {len(live) - len(shown)} more")
        return lines


def _cells(line: MemoryEvent) -> list[str]:
    seconds, size, live = f"{line.time:.6f}", nbytes(line.nbytes), nbytes(line.live)
    return [seconds, line.event, line.space, str(line.id), size, live, line.label or "(no label)"]


def _table(head: list[str], lines: list[MemoryEvent] | tuple[MemoryEvent, ...]) -> Table:
    return table(head, [_cells(line) for line in lines], ("label",), ("event", "space"))


def _aligned(time: str, event: str, space: str, id: str, size: str, live: str, label: str) -> str:
    """Columns of a log that is written while it goes on, so that no width is known beforehand."""
    return f"{time:>12}  {event:8}  {space:12}  {id:>8}  {size:>9}  {live:>9}  {label}".rstrip()

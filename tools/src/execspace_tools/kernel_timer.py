"""The kernel timer: how often each kernel ran and for how long, as rocprof's statistics tell it.

Times are those in which kernels ran on their device. They come by `on_device_time`; a launch of
which none came is counted as such, and the time of its call is not taken in its place.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from execspace import ToolError

from .busy_time import BusyTime
from .output import check_path, write_records
from .sections import Timed
from .tables import Report, Table, percent, seconds, table


@dataclass(frozen=True, slots=True)
class KernelRecord:
    """All launches of one kernel on one space. Times are in seconds.

    Attributes
    ----------
    space, pattern, label : str
        `pattern` is "parallel_for", "parallel_reduce", "parallel_scan", "library" or "graph"; of
        rows that are asked for "deep_copy" or "fence".
    calls : int
    timed : int
        Calls of which the time is known; the others count in `calls` only.
    total : float
    average, minimum, maximum : float or None
        Of one call; None if no time is known.
    share : float
        Percent of the time of all kernels; of copies of all copies, of fences of all fences.
    """

    space: str
    pattern: str
    label: str
    calls: int
    timed: int
    total: float
    average: float | None
    share: float
    minimum: float | None
    maximum: float | None


class _Sum:
    """What is known so far of one row."""

    __slots__ = ("calls", "maximum", "minimum", "timed", "total")

    def __init__(self) -> None:
        self.calls = 0
        self.timed = 0
        self.total = 0.0
        self.minimum = float("inf")
        self.maximum = 0.0

    def add(self, length: float) -> None:
        self.timed += 1
        self.total += length
        self.minimum = min(self.minimum, length)
        self.maximum = max(self.maximum, length)


def _known(value: float | None) -> float:
    return -1.0 if value is None else value


SORTS: dict[str, Callable[[KernelRecord], Any]] = {
    "total": lambda r: (-r.total, r.label),
    "calls": lambda r: (-r.calls, r.label),
    "average": lambda r: (-_known(r.average), r.label),
    "min": lambda r: (-_known(r.minimum), r.label),
    "max": lambda r: (-_known(r.maximum), r.label),
    "label": lambda r: (r.label, r.space, r.pattern),
}


class KernelTimer(Timed, Report):
    """A table of kernels, a row for each space, pattern and label.

    Parameters
    ----------
    path : str
        File for the records, as ``.csv`` or ``.json``. Its times are in seconds, not rounded.
    sort : str
        Column to sort by: total, calls, average, min, max or label.
    limit : int
        Rows to show; 0 shows all. The file has all of them.
    copies, fences : bool
        Also time deep copies and fences, in tables of their own. The time of a fence is that for
        which the host waits, and so is that of a copy that blocks.
    """

    device_times = True

    def __init__(
        self,
        path: str = "",
        sort: str = "total",
        limit: int = 0,
        copies: bool = False,
        fences: bool = False,
    ) -> None:
        if sort not in SORTS:
            raise ToolError(
                f"Profiling tool 'kernel-timer': sort={sort!r}; expected one of {', '.join(SORTS)}."
            )
        super().__init__()
        self._path = check_path("kernel-timer", path, (".csv", ".json"))
        self._sort, self._limit = SORTS[sort], limit
        self._copies, self._fences = copies, fences
        self._lock = threading.RLock()
        self._sums: dict[tuple[str, str, str], _Sum] = {}
        self._running: dict[int, tuple[str, str, str]] = {}
        self._fencing: dict[int, tuple[tuple[str, str, str], float]] = {}
        self._busy = BusyTime()
        self._compiled = 0
        self._compiling = 0.0
        self._start = time.perf_counter()
        self._end: float | None = None

    # -- events ----------------------------------------------------------------------------------

    def on_kernel_begin(self, pattern: str, label: str, space: str, id: int) -> None:
        self._begin((space, pattern, label), id)

    def on_graph_begin(self, label: str, space: str, id: int) -> None:
        self._begin((space, "graph", label), id)

    def on_copy_begin(self, destination: str, source: str, space: str, id: int) -> None:
        if self._copies:
            to, of = (end.rpartition("@")[2] for end in (destination, source))
            self._begin((space, "deep_copy", f"{of} -> {to}"), id)

    def on_device_time(self, id: int, start: float, end: float) -> None:
        with self._lock:
            key = self._running.pop(id, None)
            if key is not None:
                self._sums[key].add(end - start)
                if key[1] != "deep_copy":
                    self._busy.add(start, end)

    def on_fence_begin(self, space: str, label: str, id: int) -> None:
        if self._fences:
            with self._lock:
                key = space, "fence", label or "(no label)"
                self._sums.setdefault(key, _Sum()).calls += 1
                self._fencing[id] = key, time.perf_counter()

    def on_fence_end(self, id: int) -> None:
        now = time.perf_counter()
        with self._lock:
            key, start = self._fencing.pop(id, (None, now))
            if key is not None:
                self._sums[key].add(now - start)

    def on_compile(self, seconds: float) -> None:
        with self._lock:
            self._compiled += 1
            self._compiling += seconds

    def _begin(self, key: tuple[str, str, str], id: int) -> None:
        with self._lock:
            self._sums.setdefault(key, _Sum()).calls += 1
            self._running[id] = key

    # -- results ---------------------------------------------------------------------------------

    @property
    def wall(self) -> float:
        """Seconds from the start of the tool to its end, or to now."""
        return (time.perf_counter() if self._end is None else self._end) - self._start

    @property
    def busy(self) -> float:
        """Seconds in which at least one kernel ran."""
        with self._lock:
            return self._busy.seconds()

    def records(self) -> tuple[KernelRecord, ...]:
        """All rows: kernels, then copies and fences if they are timed; each sorted."""
        with self._lock:
            rows = list(self._sums.items())
        kinds = ("deep_copy", "fence")
        parts = [[r for r in rows if r[0][1] not in kinds]]
        parts += [[r for r in rows if r[0][1] == kind] for kind in kinds]
        found: list[KernelRecord] = []
        for part in parts:
            whole = sum(each.total for _, each in part)
            found += sorted((_record(key, each, whole) for key, each in part), key=self._sort)
        return tuple(found)

    def finish(self) -> None:
        self._end = time.perf_counter()
        self.close_sections()
        if self._path:
            write_records(self._path, self.records(), KernelRecord)

    def parts(self) -> list[str]:
        records = self.records()
        apart = {"deep_copy": "Copies", "fence": "Fences, in which the host waits"}
        kernels = [r for r in records if r.pattern not in apart]
        lines = ["Kernels", ""]
        if kernels:
            lines += [self._table(kernels), ""]
        covered = f", {percent(self.busy, self.wall)} of it with kernels running" if kernels else ""
        lines.append(f"wall time {seconds(self.wall)}{covered}")
        lines += self.pause_lines()
        if not kernels:
            lines.append("no kernel was launched")
        if self._compiled:
            lines.append(
                f"{_counted(self._compiled, 'kernel')} compiled, or loaded from the cache, in "
                f"{seconds(self._compiling)}"
            )
        untimed = [r for r in records if r.timed < r.calls]
        if untimed:
            number = sum(r.calls - r.timed for r in untimed)
            spaces = ", ".join(sorted({r.space for r in untimed}))
            lines.append(
                f"{_counted(number, 'launch', 'es')} on {spaces} without a time; the totals do "
                f"not have them"
            )
        for pattern, title in apart.items():
            part = [r for r in records if r.pattern == pattern]
            if part:
                lines += ["", title, "", self._table(part)]
        lines += self.section_lines()
        if self._path and self._end is not None:
            lines += ["", f"written to {self._path}"]
        return lines

    def _table(self, records: list[KernelRecord]) -> Table:
        """Rows of one kind; columns that say the same in all rows are left out."""
        shown = records[: self._limit] if self._limit > 0 else records
        head = "copy" if records[0].pattern == "deep_copy" else "label"
        columns: list[tuple[str, Callable[[KernelRecord], str]]] = [
            (head, lambda r: r.label),
            ("space", lambda r: r.space or "(blocks)"),
            ("pattern", lambda r: r.pattern.removeprefix("parallel_")),
            ("calls", lambda r: str(r.calls)),
            ("total", lambda r: seconds(r.total if r.timed else None)),
            ("average", lambda r: seconds(r.average)),
            ("share", lambda r: f"{r.share:.1f} %"),
            ("min", lambda r: seconds(r.minimum)),
            ("max", lambda r: seconds(r.maximum)),
        ]
        if records[0].pattern in ("deep_copy", "fence"):
            del columns[2]
        rows = [[cell(r) for _, cell in columns] for r in shown]
        if len(shown) < len(records):
            hidden = records[len(shown) :]
            rest = _together("and " + _counted(len(hidden), "more row"), hidden)
            rows.append(_of_sum(rest, columns))
        total = _of_sum(_together("all", records), columns)
        return table([name for name, _ in columns], rows, (head,), ("space", "pattern"), total)


def _record(key: tuple[str, str, str], found: _Sum, whole: float) -> KernelRecord:
    timed = bool(found.timed)
    return KernelRecord(
        *key,
        calls=found.calls,
        timed=found.timed,
        total=found.total,
        average=found.total / found.timed if timed else None,
        share=100 * found.total / whole if whole else 0.0,
        minimum=found.minimum if timed else None,
        maximum=found.maximum if timed else None,
    )


def _together(label: str, records: Iterable[KernelRecord]) -> KernelRecord:
    """Several rows as one."""
    rows = list(records)
    calls, timed = sum(r.calls for r in rows), sum(r.timed for r in rows)
    total, share = sum(r.total for r in rows), sum(r.share for r in rows)
    return KernelRecord("", "", label, calls, timed, total, None, share, None, None)


def _of_sum(
    record: KernelRecord, columns: list[tuple[str, Callable[[KernelRecord], str]]]
) -> list[str]:
    """Cells of a row that stands for several."""
    empty = ("space", "pattern", "average", "min", "max")
    return ["" if name in empty else cell(record) for name, cell in columns]


def _counted(number: int, word: str, plural: str = "s") -> str:
    return f"{number} {word}{'' if number == 1 else plural}"

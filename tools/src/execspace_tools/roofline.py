"""The roofline: how near each kernel comes to what its device could do at most.

Operations and bytes are counted from the kernels (`execspace.Work`), times are those in which they
ran on their device, and the roofs are measured once (roofline_peaks.py). As in Williams,
Waterman, Patterson: Roofline, Communications of the ACM 52 (2009).
"""

from __future__ import annotations

import importlib.util
import json
import sys
import threading
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict

from execspace import PluginWarning, ToolError, Work
from execspace.profiling import known_metadata

from .output import check_path, write_atomically, write_records
from .roofline_peaks import BUSY, Peaks, peaks_of
from .roofline_plot import draw
from .roofline_record import RooflineRecord
from .tables import Report, nbytes, seconds, table


class _Sum:
    """What is known so far of one row."""

    __slots__ = ("calls", "flops", "functions", "moved", "notes", "seconds", "timed")

    def __init__(self) -> None:
        self.calls = self.timed = 0
        self.moved = 0
        self.seconds = self.functions = 0.0
        self.flops: Counter[str] = Counter()
        self.notes: dict[str, None] = {}

    def add(self, work: Work, seconds: float) -> None:
        self.timed += 1
        self.seconds += seconds
        self.moved += work.moved
        self.functions += sum(work.functions.values())
        for dtype, number in work.flops.items():
            self.flops[dtype] += number  # type: ignore[assignment]  # of floats as well


Key = tuple[str, str]  # of a row: space and label


class Roofline(Report):
    """Kernels against the roofs of their device.

    Parameters
    ----------
    path : str
        File for the records, as ``.csv`` or ``.json``; the latter has the roofs, too.
    plot : str
        File for the figure, as ``.png``, ``.svg`` or ``.pdf``. It needs matplotlib.
    peaks : bool
        Measure the roofs of each space that was used, where they are not on disk. Without them
        only those are shown that are.
    anew : bool
        Measure them, whatever is on disk.

    Notes
    -----
    The roofs are measured when somebody asks for them: by the report, the records, or a file.
    """

    device_times = True

    def __init__(
        self, path: str = "", plot: str = "", peaks: bool = True, anew: bool = False
    ) -> None:
        if anew and not peaks:
            raise ToolError("Profiling tool 'roofline': anew=1 with peaks=0; choose one.")
        self._path = check_path("roofline", path, (".csv", ".json"))
        self._plot = check_path("roofline", plot, (".png", ".svg", ".pdf"))
        if plot and importlib.util.find_spec("matplotlib") is None:
            self._plot = ""
            warnings.warn(
                f"Profiling tool 'roofline': plot={plot!r} needs matplotlib, so only the table "
                f"comes. pip install matplotlib",
                PluginWarning,
                stacklevel=2,
            )
        self._measure, self._anew = peaks, anew
        self._lock, self._measuring = threading.RLock(), threading.RLock()
        self._sums: dict[Key, _Sum] = {}
        self._running: dict[int, tuple[Key, Work]] = {}
        self._peaks: dict[str, Peaks | None] = {}
        self._why: dict[str, str] = {}  # space -> why its roofs are not known
        self._ended = False

    # -- events -----------------------------------------------------------------------------------

    def on_kernel_begin(
        self, label: str, space: str, id: int, work: Callable[[], Work | None]
    ) -> None:
        counted = work()
        with self._lock:
            found = self._sums.setdefault((space, label), _Sum())
            found.calls += 1
            if counted is not None:
                self._running[id] = (space, label), counted
                if not counted.exact:
                    found.notes |= dict.fromkeys(counted.notes)

    def on_device_time(self, id: int, start: float, end: float) -> None:
        with self._lock:
            key, work = self._running.pop(id, (None, None))
            if key is not None and work is not None:
                self._sums[key].add(work, end - start)

    # -- results --------------------------------------------------------------------------------

    def peaks(self, space: str) -> Peaks | None:
        """The roofs of a space; None where they cannot be had.

        Parameters
        ----------
        space : str
            Its name.
        """
        with self._measuring:  # and not the other lock, which launches wait for
            if space not in self._peaks:
                try:
                    self._peaks[space] = peaks_of(space, _say, self._anew, self._measure)
                except ToolError as error:
                    self._peaks[space] = None
                    self._why[space] = str(error)
            return self._peaks[space]

    def records(self) -> tuple[RooflineRecord, ...]:
        """All rows, those that took longest first."""
        with self._lock:
            rows = [(key, found) for key, found in self._sums.items()]
        found = [self._record(key, each) for key, each in rows]
        return tuple(sorted(found, key=lambda r: (-r.seconds, r.space, r.label)))

    def _record(self, key: Key, found: _Sum) -> RooflineRecord:
        flops, time = float(sum(found.flops.values())), found.seconds
        peaks = self.peaks(key[0]) if time > 0 else None
        least = None if peaks is None else peaks.seconds(found.flops, found.moved)
        known = least is not None and max(least) > 0
        return RooflineRecord(
            *key,
            calls=found.calls,
            timed=found.timed,
            seconds=time,
            flops=flops,
            moved=found.moved,
            functions=found.functions,
            intensity=flops / found.moved if found.moved else None,
            gflops=flops / time / 1e9 if time > 0 else None,
            gbytes=found.moved / time / 1e9 if time > 0 else None,
            roof=100 * max(least) / time if known and least is not None else None,
            bound=("compute" if least[0] > least[1] else "memory") if known and least else "",
            exact=not found.notes,
            notes="; ".join(found.notes),
        )

    def finish(self) -> None:
        self._ended = True
        if not (self._path or self._plot):
            return
        records = self.records()
        if self._path.lower().endswith(".json"):
            roofs = [asdict(p) for p in self._peaks.values() if p is not None]
            document = {
                "metadata": known_metadata(),
                "kernels": [asdict(r) for r in records],
                "roofs": roofs,
            }
            write_atomically(self._path, json.dumps(document, indent=1) + "\n")
        elif self._path:
            write_records(self._path, records, RooflineRecord)
        if self._plot:
            draw(self._plot, records, [p for p in self._peaks.values() if p is not None])

    def parts(self) -> list[str]:
        records = self.records()
        lines = ["Roofline", ""]
        if not records:
            return [*lines, "no kernel was launched"]
        spaces = len({r.space for r in records}) > 1
        columns: list[tuple[str, Callable[[RooflineRecord], str]]] = [
            ("kernel", lambda r: r.label),
            ("space", lambda r: r.space),
            ("calls", lambda r: str(r.calls)),
            ("time", lambda r: seconds(r.seconds if r.timed else None)),
            ("flop", lambda r: _counted(r, r.flops, number)),
            ("moved", lambda r: _counted(r, r.moved, nbytes)),
            ("flop/B", lambda r: _digits(r.intensity)),
            ("Gflop/s", lambda r: _digits(r.gflops)),
            ("GB/s", lambda r: _digits(r.gbytes)),
            ("of roof", lambda r: "-" if r.roof is None else f"{r.roof:.1f} %"),
            ("bound by", lambda r: r.bound or "-"),
        ]
        if not spaces:
            del columns[1]
        rows = [[cell(r) for _, cell in columns] for r in records]
        lines += [
            table([name for name, _ in columns], rows, ("kernel", "space"), ("bound by",)),
            "",
        ]
        lines += [_told(peaks) for peaks in self._peaks.values() if peaks is not None]
        lines += self._why.values()
        lines += _remarks(records)
        if self._ended:
            lines += [f"written to {path}" for path in (self._path, self._plot) if path]
        return lines


def _say(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def _told(peaks: Peaks) -> str:
    """The roofs of a space in a sentence."""
    rates = ", ".join(f"{_digits(rate / 1e9)} Gflop/s of {d}" for d, rate in peaks.flops.items())
    text = (
        f"roofs of space '{peaks.space}' ({peaks.device}), measured: "
        f"{_digits(peaks.bandwidth / 1e9)} GB/s, {rates}"
    )
    if peaks.busy > BUSY:
        text += (
            f"; other programs used {100 * peaks.busy:.0f} % of the processors, so that is too "
            f"low, and is measured again next time"
        )
    return text


def _remarks(records: tuple[RooflineRecord, ...]) -> list[str]:
    """What a reader should know of the numbers."""
    lines = []
    if any(not r.exact for r in records):
        lines.append("~ is not exact:")
        lines += [f"  {r.label}: {r.notes}" for r in records if not r.exact]
    if any((r.roof or 0) > 100 for r in records):
        lines.append(
            "more than 100 %: what a launch moved was in caches from launches before, or the roofs "
            "are too low"
        )
    called = [r.label for r in records if r.functions]
    if called:
        lines.append(f"mathematical functions are not counted as operations: {', '.join(called)}")
    missing = sum(r.calls - r.timed for r in records)
    if missing:
        lines.append(f"{missing} of the launches without a time, or of work that is not known")
    return lines


def _counted(record: RooflineRecord, value: float, shown: Callable[[float], str]) -> str:
    """A count, marked if it is not exact."""
    if not record.timed:
        return "-"
    return shown(value) if record.exact else f"~{shown(value)}"


def number(value: float) -> str:
    """A count with three digits.

    Examples
    --------
    >>> number(0), number(950), number(20_480), number(3.2e12)
    ('0', '950', '20.5 k', '3.2 T')
    """
    for unit, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g}"


def _digits(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 999.5 else f"{value:#.3g}".rstrip(".") if value else "0"

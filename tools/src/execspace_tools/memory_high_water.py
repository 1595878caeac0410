"""Memory at its high-water mark: how much was in use in each memory space, and by what.

Also the largest resident set of the process, which has everything else in it, too.
"""

from __future__ import annotations

import json
import sys
import threading
from dataclasses import asdict, dataclass

from execspace import live_allocations, pools
from execspace.profiling import known_metadata

from .output import check_path, write_atomically
from .peaks import Peak
from .tables import Report, Table, nbytes, percent, table


@dataclass(frozen=True, slots=True)
class Holding:
    """Allocations of one label at the peak."""

    label: str
    allocations: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class HighWaterRecord:
    """One memory space.

    Attributes
    ----------
    space : str
    peak, current : int
        Bytes in use at the peak, and at the end.
    allocations : int
        How many were made while the tool watched.
    at_peak : tuple of Holding
        What was in use at the peak, the largest first.
    kept : int
        Bytes of freed blocks that are kept for later Views.
    """

    space: str
    peak: int
    current: int
    allocations: int
    at_peak: tuple[Holding, ...]
    kept: int = 0


class MemoryHighWater(Report):
    """The most memory that Views had at a time, by memory space.

    Parameters
    ----------
    path : str
        File for the records, as ``.json``.
    limit : int
        Labels to show of each memory space; 0 shows all.

    Notes
    -----
    What execspace has allocated counts, also before the tool began. Arrays of other libraries that
    are passed to kernels, and what pools of a device hold in reserve, do not.
    """

    def __init__(self, path: str = "", limit: int = 10) -> None:
        self._path = check_path("memory-high-water", path, (".json",))
        self._limit = limit
        self._lock = threading.RLock()
        self._peaks: dict[str, Peak] = {}
        for space, size, label in live_allocations():
            self._peaks.setdefault(space, Peak()).hold(label, size)

    def on_allocate(self, space: str, label: str, nbytes: int) -> None:
        with self._lock:
            self._peaks.setdefault(space, Peak()).add(label, nbytes)

    def on_free(self, space: str, label: str, nbytes: int) -> None:
        with self._lock:
            if space in self._peaks:
                self._peaks[space].remove(label, nbytes)

    def on_resume(self) -> None:
        """Count what there is: nothing was told of what came and went in the pause."""
        with self._lock:
            there: dict[str, list[tuple[str, int]]] = {space: [] for space in self._peaks}
            for space, size, label in live_allocations():
                there.setdefault(space, []).append((label, size))
            for space, entries in there.items():
                self._peaks.setdefault(space, Peak()).count_anew(entries)

    def records(self) -> tuple[HighWaterRecord, ...]:
        """A record for each memory space that was used, the largest peak first."""
        kept = {name: found.nbytes for name, found in pools().items()}
        with self._lock:
            found = [
                HighWaterRecord(
                    space, p.peak, p.current, p.allocations,
                    tuple(Holding(*h) for h in p.at_peak()), kept.get(space, 0),
                )
                for space, p in self._peaks.copy().items()
            ]  # fmt: skip
        return tuple(sorted(found, key=lambda r: (-r.peak, r.space)))

    def finish(self) -> None:
        if self._path:
            document = {
                "metadata": known_metadata(),
                "spaces": [asdict(record) for record in self.records()],
                "resident_peak": resident_peak(),
            }
            write_atomically(self._path, json.dumps(document, indent=1) + "\n")

    def parts(self) -> list[str]:
        records = self.records()
        lines = ["Memory of Views at its high-water mark", ""]
        if records:
            rows = [
                [r.space, nbytes(r.peak), nbytes(r.current), str(r.allocations)] for r in records
            ]
            lines.append(table(["memory space", "peak", "at the end", "allocations"], rows, ()))
        else:
            lines.append("no View was allocated")
        for record in records:
            if record.at_peak:
                lines += ["", f"At the peak in {record.space}", "", self._held(record)]
        kept = [f"{nbytes(r.kept)} of {r.space}" for r in records if r.kept]
        if kept:
            lines += ["", f"kept for later Views at the end: {', '.join(kept)}"]
        resident = resident_peak()
        told = "not known on this platform" if resident is None else nbytes(resident)
        lines += ["", f"largest resident set of the process, with all that it loaded: {told}"]
        return lines

    def _held(self, record: HighWaterRecord) -> Table:
        shown = record.at_peak[: self._limit] if self._limit > 0 else record.at_peak
        hidden = record.at_peak[len(shown) :]
        if hidden:
            rest = Holding(
                f"and {len(hidden)} more",
                sum(h.allocations for h in hidden),
                sum(h.nbytes for h in hidden),
            )
            shown = (*shown, rest)
        rows = [
            [
                h.label or "(no label)",
                str(h.allocations),
                nbytes(h.nbytes),
                percent(h.nbytes, record.peak),
            ]
            for h in shown
        ]
        return table(["label", "allocations", "size", "share"], rows, ("label",))


def resident_peak() -> int | None:
    """Bytes of the process's largest resident set so far; None where the platform cannot tell."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    found = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return found if sys.platform == "darwin" else found * 1024  # Linux counts in KiB

"""The most memory that was in use at a time in each memory space, and by what.

What is counted are the allocations of Views that execspace made and manages; of those from before
a tool began, the ledger of core tells.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Peak:
    """Memory of one memory space; `Hashable` is whatever a tool tells allocations apart by.

    Attributes
    ----------
    current, peak : int
        Bytes.
    allocations : int
        How many were made.
    """

    current: int = 0
    peak: int = 0
    allocations: int = 0
    _live: dict[Hashable, tuple[int, int]] = field(default_factory=dict)
    _at_peak: dict[Hashable, tuple[int, int]] | None = None  # None: what is live now

    def add(self, key: Hashable, nbytes: int) -> None:
        """An allocation was made."""
        self.allocations += 1
        self.hold(key, nbytes)

    def hold(self, key: Hashable, nbytes: int) -> None:
        """Count an allocation that somebody made before."""
        self.current += nbytes
        count, size = self._live.get(key, (0, 0))
        self._live[key] = count + 1, size + nbytes
        if self.current > self.peak:
            self.peak, self._at_peak = self.current, None

    def remove(self, key: Hashable, nbytes: int) -> bool:
        """An allocation was released; False, and nothing happens, if it was never counted."""
        count, size = self._live.get(key, (0, 0))
        if not count:
            return False
        if self._at_peak is None and nbytes:  # from here on it goes down: keep what there was
            self._at_peak = self._live.copy()
        self.current -= nbytes
        if count == 1:
            del self._live[key]
        else:
            self._live[key] = count - 1, size - nbytes
        return True

    def held(self) -> dict[Any, int]:
        """What is counted now, and how many allocations of each key."""
        return {key: count for key, (count, _) in self._live.items()}

    def count_anew(self, entries: Iterable[tuple[Hashable, int]]) -> None:
        """Take these for all allocations that there are: others came and went unheard."""
        before, self._live, self.current = self._live, {}, 0
        if self._at_peak is None:
            self._at_peak = before
        for key, nbytes in entries:
            self.hold(key, nbytes)

    def at_peak(self) -> list[tuple[Any, int, int]]:
        """What was live at the peak, the largest first: key, number of allocations, bytes."""
        found = (self._live if self._at_peak is None else self._at_peak).copy()
        rows = [(key, count, size) for key, (count, size) in found.items()]
        return sorted(rows, key=lambda row: (-row[2], str(row[0])))

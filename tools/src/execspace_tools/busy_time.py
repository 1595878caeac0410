"""For how much of the time at least one kernel ran, though kernels of several queues overlap."""

from __future__ import annotations

from operator import itemgetter


class BusyTime:
    """The length of the union of intervals, which come in any order.

    Of a long run the older half is added up now and then, so that memory is bounded. An interval
    that comes so late that its neighbours are added up already counts with its later part only;
    it would have to be `most` launches late.

    Examples
    --------
    >>> busy = BusyTime()
    >>> for start, end in ((0.0, 2.0), (5.0, 6.0), (1.0, 3.0)):
    ...     busy.add(start, end)
    >>> busy.seconds()
    4.0
    """

    def __init__(self, most: int = 100_000) -> None:
        self._most = most
        self._apart: list[tuple[float, float]] = []
        self._added_up = 0.0
        self._until = float("-inf")  # what is before is in `_added_up`

    def add(self, start: float, end: float) -> None:
        """Note that something ran from `start` to `end`."""
        start = max(start, self._until)
        if end > start:
            self._apart.append((start, end))
            if len(self._apart) >= self._most:
                self._merge()
                if len(self._apart) > self._most // 2:
                    half = len(self._apart) // 2
                    old, self._apart = self._apart[:half], self._apart[half:]
                    self._added_up += sum(b - a for a, b in old)
                    self._until = old[-1][1]

    def seconds(self) -> float:
        """The time in which something ran."""
        self._merge()
        return self._added_up + sum(end - start for start, end in self._apart)

    def _merge(self) -> None:
        merged: list[tuple[float, float]] = []
        for start, end in sorted(self._apart, key=itemgetter(0)):
            if merged and start <= merged[-1][1]:
                merged[-1] = merged[-1][0], max(end, merged[-1][1])
            else:
                merged.append((start, end))
        self._apart = merged

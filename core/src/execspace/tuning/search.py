"""The search for the fastest choice of a launch, by measurement.

Candidates are measured a few times, the best of a stage are refined by the next one, and at the end
the winner has to beat the default in pairs of launches, one beside the other. In doubt the default
stays.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import numpy as np

from ..base.dataclass import dataclass
from ..base.errors import ExecspaceError
from ..contract.records import Choice
from .choices import DEFAULT
from .launches import Launch, Saved

_FIRST = 3  # launches of a candidate
_MORE = 8  # launches of those that are near the best
_NEAR = 1.15  # times of the best that others may have to be measured again
_KEPT = 3  # choices of a stage that the next one refines
_PAIRS = (5, 25)  # launches of the winner and of the default beside each other: least and most
_FOR_PAIRS = 0.3  # share of the time for them
_GAIN = 1.02  # that the winner must have over the default, and in how many of the pairs:
_WON = 0.75


@dataclass(frozen=True, slots=True)
class Measured:
    """A candidate: the seconds of its fastest launch, or why it cannot be launched."""

    choice: Choice
    seconds: float
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found: medians of pairs of launches, and all that was measured before."""

    choice: Choice
    default_seconds: float
    seconds: float
    candidates: tuple[Measured, ...]
    complete: bool


Stages = Iterable[Callable[[Choice], Iterable[Choice]]]
Progress = Callable[[int, int, str], None]


class Search:
    """Measures launches of one kernel; `saved` makes each of them see the same numbers."""

    def __init__(self, launch: Launch, saved: Saved, limit: float, progress: Progress) -> None:
        self.launch, self.saved, self.progress = launch, saved, progress
        self._end = time.perf_counter() + limit
        self._until = self._end - _FOR_PAIRS * limit
        self.results: dict[Choice, Measured] = {}
        self.complete = True

    def run(self, stages: Stages) -> Found:
        """Search, and compare the winner with the default."""
        self._measure([DEFAULT])
        best = [DEFAULT]
        for stage in stages:
            self._measure([c for b in best for c in stage(b) if c not in self.results])
            best = self._best(_KEPT)
            self._again(best[0])
            best = self._best(_KEPT)
        winner = best[0]
        default, seconds, wins = self._pairs(winner)
        if not wins:
            winner, seconds = DEFAULT, default
        return Found(winner, default, seconds, tuple(self.results.values()), self.complete)

    def _best(self, count: int) -> list[Choice]:
        usable = [m for m in self.results.values() if not m.refused]
        return [m.choice for m in sorted(usable, key=lambda m: m.seconds)[:count]]

    def _measure(self, choices: list[Choice]) -> None:
        for n, choice in enumerate(choices):
            if choice != DEFAULT and time.perf_counter() > self._until:
                self.complete = False
                return
            self.results[choice] = self._sample(choice, _FIRST)
            best = self._best(1)
            told = f"{choice}"
            if best:
                told = f"best {1e3 * self.results[best[0]].seconds:.4g} ms: {best[0]}"
            self.progress(n + 1, len(choices), told)

    def _again(self, best: Choice) -> None:
        """Measure once more, and more often, what may be the best."""
        limit = _NEAR * self.results[best].seconds
        for m in [m for m in self.results.values() if not m.refused and m.seconds <= limit]:
            if time.perf_counter() > self._until:
                self.complete = False
                return
            self.results[m.choice] = self._sample(m.choice, _MORE)

    def _sample(self, choice: Choice, count: int) -> Measured:
        times = []
        try:
            self._once(choice)  # compiles, and fetches what it needs
            for _ in range(count):
                times.append(self._once(choice))
                if time.perf_counter() > self._until:
                    break
        except ExecspaceError as error:
            if choice == DEFAULT:  # as the launch itself would
                raise
            return Measured(choice, float("inf"), str(error))
        return Measured(choice, min(times))

    def _once(self, choice: Choice) -> float:
        self.saved.before_launch()
        return self.launch.time(choice)

    def _pairs(self, winner: Choice) -> tuple[float, float, bool]:
        """Medians of the default and of the winner, and whether that is not an accident."""
        if winner == DEFAULT:
            found = self.results[DEFAULT].seconds
            return found, found, False
        before, after = [], []
        least, most = _PAIRS
        for n in range(most):
            left = self._end - time.perf_counter()
            needed = self.results[DEFAULT].seconds + self.results[winner].seconds
            if left < max(1, least - n) * needed:
                if n >= least:
                    break
                self.complete = False  # in doubt the default stays
                found = self.results[DEFAULT].seconds
                return found, found, False
            order = (DEFAULT, winner) if n % 2 else (winner, DEFAULT)
            times = {choice: self._once(choice) for choice in order}
            before.append(times[DEFAULT])
            after.append(times[winner])
        ratios = [a / b for a, b in zip(before, after, strict=True)]
        won = sum(r > 1 for r in ratios) >= _WON * len(ratios)
        return _median(before), _median(after), won and _median(ratios) >= _GAIN


def _median(values: list[float]) -> float:
    return float(np.median(values))

"""Timing of one case: results are checked, the best kernel by hand is found, all take turns.

A turn is many launches in a row and a fence, on the clock of the host, for everybody alike.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import execspace as es
from benchmarks.common.paired import OURS, Contestant
from benchmarks.mdrange.cases import Case
from benchmarks.mdrange.kokkos import on_a100, on_h200
from benchmarks.mdrange.places import HAND, DevicePlace, Place

TRIALS = 3  # turns of each kernel by hand, of which the fastest competes
MOST = 20000  # calls in a turn


@dataclass(frozen=True)
class Effort:
    """How long to measure: turns of each contestant, and seconds of a turn and of a trial."""

    rounds: int
    turn: float = 20e-3
    trial: float = 3e-3


@dataclass
class Measured:
    """What is known of a case; places that had no room together are added one by one.

    Attributes
    ----------
    seconds : dict
        Of one call, turn by turn, by contestant: "cuda", "cuda hand-written", "cuda kokkos".
    notes : dict
        What else is known of each.
    apart : bool
        Spaces did not take turns with each other, for memory was short.
    """

    case: Case
    seconds: dict[str, list[float]] = field(default_factory=dict)
    notes: dict[str, dict[str, Any]] = field(default_factory=dict)
    apart: bool = False

    def over(self, name: str, other: str) -> float | None:
        """Median of the ratios of two contestants' times, turn by turn."""
        if name not in self.seconds or other not in self.seconds:
            return None
        pairs = zip(self.seconds[name], self.seconds[other], strict=True)
        return median(a / b for a, b in pairs)

    def record(self, places: Sequence[str]) -> dict[str, Any]:
        """What the JSON file says."""
        case = self.case
        contestants: dict[str, Any] = {}
        for name, notes in self.notes.items():
            contestants[name] = dict(notes)
            if name in self.seconds:
                times = self.seconds[name]
                contestants[name] |= {
                    "ms": 1e3 * median(times),
                    "least_ms": 1e3 * min(times),
                    "GB/s": case.nbytes / median(times) / 1e9,
                }
        ratios = {}
        for place in places:
            for name in self.seconds:
                ratio = self.over(name, label(place, HAND))
                if name.partition(" ")[0] == place and name != label(place, HAND) and ratio:
                    ratios[name] = ratio
        found: dict[str, Any] = {
            "group": case.group, "operation": case.operation, "rank": case.rank,
            "layout": case.layout, "shape": case.shape, "size": case.size, "bytes": case.nbytes,
            "contestants": contestants, "over_hand_written": ratios,
        }  # fmt: skip
        cuda, opencl = (_named(places, base) for base in ("cuda", "opencl"))
        if cuda and opencl and (ratio := self.over(opencl, cuda)):
            found["opencl_over_cuda"] = ratio
        if self.apart:
            found["apart"] = True
        if any(notes.get("on_device") for notes in self.notes.values()):
            found |= _kokkos(case)
        return found


def _kokkos(case: Case) -> dict[str, Any]:
    """Kokkos' figures for the same case, which are of other runs."""
    found: dict[str, Any] = {}
    measured = on_h200(case.operation, case.rank, case.size)
    if measured is not None:
        default, of_2026 = measured.figures(case.layout)
        found["kokkos_h200"] = {
            "unit": measured.unit,
            "default": default,
            "tiles_of_2026": of_2026,
            "over_hand_written_there": measured.time_over_hand(case.layout),
        }
    published = on_a100(case.operation, case.rank, case.layout, case.size)
    if published is not None:
        found["kokkos_a100_ms"] = published
    return found


def label(place: str, contestant: str) -> str:
    """How a contestant of a space is called in the record."""
    return place if contestant == OURS else f"{place} {contestant}"


def _named(places: Sequence[str], base: str) -> str | None:
    return next((p for p in places if p.partition(":")[0] == base), None)


class Bench:
    """Measures cases; `failures` has what went wrong in execspace."""

    def __init__(self, effort: Effort) -> None:
        self.effort = effort
        self.failures: dict[str, str] = {}
        self._chosen: dict[tuple[Any, ...], dict[str, Any]] = {}

    def measure(
        self,
        found: Measured,
        places: Sequence[Place],
        views: Mapping[str, Sequence[es.View]],
        rounds: int = 0,
    ) -> None:
        """Add what the contestants of some places take for a case, in so many turns of each."""
        case = found.case
        ready: dict[str, Contestant] = {}
        for place in places:
            own = views[place.name]
            for name, make in place.ours(case, own).items():
                full = label(place.name, name)
                notes = found.notes[full] = {"on_device": not place.is_host}
                try:
                    contestant = make()
                    check(place, case, own[-1], contestant)
                except Exception as error:  # the others are still worth measuring
                    notes["error"] = self.failures[f"{full}: {case.name}"] = _said(error)
                    found.seconds.pop(full, None)
                else:
                    ready[full] = contestant
            full = label(place.name, HAND)
            notes = found.notes[full] = {}
            try:
                best = self._best(place, case, own, notes)
            except Exception as error:
                notes["error"] = _said(error)
                found.seconds.pop(full, None)
            else:
                if best is not None:
                    ready[full] = best
        counts = {name: calls_of(c, self.effort.turn) for name, c in ready.items()}
        turns: dict[str, list[float]] = {name: [] for name in ready}
        for _ in range(rounds or self.effort.rounds):
            for name, contestant in ready.items():
                contestant.run()  # wakes threads and contexts that slept while others worked
                turns[name].append(contestant.measure(counts[name]))
        for name in ready:
            found.notes[name]["calls_per_turn"] = counts[name]
            found.seconds.setdefault(name, []).extend(turns[name])

    def _best(
        self, place: Place, case: Case, views: Sequence[es.View], notes: dict[str, Any]
    ) -> Contestant | None:
        """The fastest kernel by hand; searched once for both layouts of a device's case.

        None if there are none. All that are tried must be right.
        """
        candidates = place.hand(case, views)
        if not candidates:
            notes["not_there"] = "no C compiler"
            return None
        # Kernels for devices see the memory, in which the two layouts are the same.
        key = (place.name, case.operation, case.rank, case.size)
        known = self._chosen.get(key) if isinstance(place, DevicePlace) else None
        if known is None:
            for contestant in candidates.values():
                check(place, case, views[-1], contestant)
            known = self._chosen[key] = fastest(candidates, self.effort.trial)
        best = candidates[known["variant"]]
        check(place, case, views[-1], best)
        if len(candidates) > 1:
            notes |= known
        return best


def check(place: Place, case: Case, out: es.View, contestant: Contestant) -> None:
    """AssertionError if a contestant's result is wrong, or if a wrong one would not be seen."""
    who = f"{contestant.name} {contestant.detail}".strip()
    place.reset(case, out)
    if case.group == "sum":
        got = contestant.run()
        assert got == case.total, f"{who}: sum {got!r}, expected {case.total!r}"
        return
    seen = place.wrong(out, case)
    assert seen == case.calls, f"the check sees {seen} wrong elements of {case.calls} not set yet"
    contestant.run()
    wrong = place.wrong(out, case)
    assert wrong == 0, f"{who}: {wrong} of {case.elements} elements are wrong"


def calls_of(contestant: Contestant, seconds: float) -> int:
    """Calls in a row that take at least so long, up to MOST."""
    count = 1
    while True:
        took = max(count * contestant.measure(count), 1e-9)
        if took >= seconds / 2 or count == MOST:
            return max(1, min(MOST, math.ceil(1.05 * count * seconds / took)))
        count = min(MOST, math.ceil(count * min(10.0, max(2.0, seconds / took))))


def fastest(candidates: Mapping[str, Contestant], seconds: float) -> dict[str, Any]:
    """Which of some variants is the fastest, and the time of each in its best trial."""
    counts = {name: calls_of(c, seconds) for name, c in candidates.items()}
    tried = dict.fromkeys(candidates, math.inf)
    for _ in range(TRIALS if len(candidates) > 1 else 0):
        for name, contestant in candidates.items():
            tried[name] = min(tried[name], contestant.measure(counts[name]))
    return {
        "variant": min(tried, key=tried.__getitem__),
        "tried_ms": {name: 1e3 * t for name, t in tried.items()},
    }


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"

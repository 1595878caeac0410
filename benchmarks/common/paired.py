"""Paired timing: contestants take turns in one process, and ratios are formed turn by turn.

C is repeated by a loop in C; "C from Python" is the same function called through ctypes, which
pays for the trip out of the interpreter as execspace does. The rest is called from Python.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

OURS = "execspace"
C, C_FROM_PYTHON = "C", "C from Python"
NUMPY = "NumPy"
# Whom targets are about, the first of them that took part: rivals that are called from Python in
# turns with execspace. What the call itself costs has targets of its own (launch.py).
JUDGED = (C_FROM_PYTHON, C)

# A median this many times the least time means that something else used the cores.
UNSETTLED = 1.5


@dataclass(frozen=True)
class Contestant:
    """One implementation of a case.

    Attributes
    ----------
    name : str
        "execspace", "C", "C from Python", "Numba" or "NumPy".
    run : callable
        One call; returns the value of a reduction.
    measure : callable
        ``measure(repetitions)`` makes that many calls and returns seconds for one.
    detail : str
        Which of several variants this is.
    """

    name: str
    run: Callable[[], Any]
    measure: Callable[[int], float]
    detail: str = ""


def python_contestant(
    name: str, call: Callable[[], Any], detail: str = "", fence: Callable[[], None] | None = None
) -> Contestant:
    """A contestant that is called from a Python loop.

    `fence` waits for calls that return before they are done, once after all of a turn.
    """

    def run() -> Any:
        result = call()
        if fence is not None:
            fence()
        return result

    def measure(repetitions: int) -> float:
        started = perf_counter()
        for _ in range(repetitions):
            call()
        if fence is not None:
            fence()
        return (perf_counter() - started) / repetitions

    return Contestant(name, call if fence is None else run, measure, detail)


@dataclass
class Case:
    """One row of the table: what is computed, by whom, and how to check the result.

    Attributes
    ----------
    group, name : str
    contestants : list of Contestant
        The first is execspace.
    check : callable
        ``check(contestant)`` runs it once and raises AssertionError for a wrong result.
    in_cache : bool
    target : float or None
        Largest acceptable median ratio to C.
    """

    group: str
    name: str
    contestants: list[Contestant]
    check: Callable[[Contestant], None]
    in_cache: bool
    target: float | None = None


@dataclass
class Comparison:
    """Times of all contestants of a case, turn by turn."""

    group: str
    name: str
    target: float | None
    repetitions: int
    seconds: dict[str, list[float]]
    details: dict[str, str] = field(default_factory=dict)

    def ratios(self, other: str) -> list[float]:
        """Time of execspace over time of another, one for each turn."""
        pairs = zip(self.seconds[OURS], self.seconds[other], strict=True)
        return [ours / theirs for ours, theirs in pairs]

    @property
    def others(self) -> list[str]:
        """Names of the other contestants."""
        return [name for name in self.seconds if name != OURS]

    def median_ratio(self, other: str) -> float:
        return median(self.ratios(other))

    @property
    def judged(self) -> str | None:
        """The contestant that the target is about, if one took part."""
        return next((name for name in JUDGED if name in self.seconds), None)

    @property
    def unsettled(self) -> bool:
        """Whether other work on the machine disturbed C itself too much to judge."""
        times = self.seconds[self.judged or OURS]
        return median(times) > UNSETTLED * min(times)

    @property
    def within_target(self) -> bool | None:
        """Whether the median ratio to C is within the target; None where that is not known."""
        if self.target is None or self.judged is None or self.unsettled:
            return None
        return self.median_ratio(self.judged) <= self.target

    def record(self) -> dict[str, Any]:
        """What the JSON file says of it."""
        best = {name: min(times) for name, times in self.seconds.items()}
        return {
            "group": self.group,
            "case": self.name,
            "turns": len(self.seconds[OURS]),
            "calls_per_turn": self.repetitions,
            "seconds": {
                name: {"median": median(times), "min": best[name]}
                for name, times in self.seconds.items()
            },
            "execspace_over": {
                other: {
                    "median": self.median_ratio(other),
                    "min": min(self.ratios(other)),
                    "max": max(self.ratios(other)),
                    "of_best_times": best[OURS] / best[other],
                }
                for other in self.others
            },
            "variants": {name: text for name, text in self.details.items() if text},
            "target": self.target,
            "target_is_over": self.judged,
            "within_target": self.within_target,
            "unsettled": self.unsettled,
        }


@dataclass(frozen=True)
class Effort:
    """How long to measure: many short turns, so that some of them are undisturbed.

    `warmup` is the time in seconds for which a contestant works before its turn counts. Where
    each has threads of its own, waiting threads of the last one go on spinning for a while and
    would take the cores from the next.
    """

    turns: int
    seconds_per_turn: float
    max_turns_seconds: float
    warmup: float = 0.0


def compare(case: Case, effort: Effort) -> Comparison:
    """Check every contestant, then let them take turns: A B C A B C ...

    NumPy's turns come after all others': its BLAS has threads of its own, which go on spinning
    for some 30 ms after their work, so whoever came next would share a core with each.
    """
    contestants = [*case.contestants]
    for n, contestant in enumerate(case.contestants):
        case.check(contestant)
        if contestant.name == C and case.in_cache:
            called = python_contestant(C_FROM_PYTHON, contestant.run, contestant.detail)
            contestants.insert(n + 1, called)
    ours = contestants[0]
    guess = min(ours.measure(1) for _ in range(20 if case.in_cache else 3))
    repetitions = max(2, min(1000, math.ceil(effort.seconds_per_turn / guess)))
    seconds: dict[str, list[float]] = {c.name: [] for c in contestants}
    started = perf_counter()
    alone = [c for c in contestants if c.name == NUMPY]
    turns = 0
    while turns < effort.turns:
        for contestant in contestants:
            if contestant not in alone:
                _take_turn(contestant, repetitions, seconds, effort.warmup)
        turns += 1
        if turns >= 5 and perf_counter() - started > effort.max_turns_seconds:
            break
    for contestant in alone:
        for _ in range(turns):
            _take_turn(contestant, repetitions, seconds)
    details = {c.name: c.detail for c in contestants}
    return Comparison(case.group, case.name, case.target, repetitions, seconds, details)


def _take_turn(
    contestant: Contestant, repetitions: int, seconds: dict[str, list[float]], warmup: float = 0.0
) -> None:
    until = perf_counter() + warmup
    contestant.run()  # wakes sleeping threads and brings the data back to the caches
    while perf_counter() < until:
        contestant.run()
    seconds[contestant.name].append(contestant.measure(repetitions))


def fastest(candidates: Sequence[Contestant]) -> Contestant:
    """The fastest of several variants of one contestant, tried in turns."""
    if len(candidates) == 1:
        return candidates[0]
    best = [math.inf] * len(candidates)
    repetitions = max(1, min(200, math.ceil(1e-3 / candidates[0].measure(2))))
    for _ in range(5):
        for n, candidate in enumerate(candidates):
            best[n] = min(best[n], candidate.measure(repetitions))
    return candidates[int(np.argmin(best))]


def array_check(
    result: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]
) -> Callable[[Contestant], None]:
    """A check that a contestant writes `expected` into `result`."""

    def check(contestant: Contestant) -> None:
        result[...] = np.nan
        contestant.run()
        where = f"{contestant.name} {contestant.detail}".strip()
        np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12, err_msg=where)

    return check


def value_check(expected: float) -> Callable[[Contestant], None]:
    """A check that a contestant returns `expected`."""

    def check(contestant: Contestant) -> None:
        where = f"{contestant.name} {contestant.detail}".strip()
        np.testing.assert_allclose(contestant.run(), expected, rtol=1e-9, err_msg=where)

    return check

"""Timing on a CUDA device: contestants take turns, and each result is checked first.

What fails, or is not installed, is recorded as such and does not keep the others from being
measured. Kernels are timed with events on the legacy default stream, or on the clock of the host
where events miss them; launches and copies on that clock.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from benchmarks.common.optional import NotThere

TURN = 8e-3  # seconds of work in one turn, so that what a launch costs does not count
MOST = 200  # launches in a turn
PROBE = 50  # launches, enough for a fence not to count
HOST_TURN = 40e-3  # seconds of one on the host's clock, in which there is a fence
TRIALS = 3  # turns of each variant, of which the fastest then competes

Call = Callable[[], Any]


@dataclass(frozen=True)
class Contestant:
    """Somebody who does the work: a name, and how to get a call that does it once.

    `make` returns the call, or several variants by name, of which the fastest competes. `before`
    prepares a run that is checked; `check` gets what the call returned and raises AssertionError if
    the result is wrong. `ours` is execspace, whose name is that of the case. `bound` is work that
    nobody could do faster, which is listed and never counts as the best peer.
    """

    name: str
    make: Callable[[], Call | Mapping[str, Call]]
    check: Callable[[Any], None]
    before: Call | None = None
    ours: bool = False
    bound: bool = False


class Bench:
    """Times contestants; `results` has all that was measured, by case.

    `of_cuda`: the work of execspace is CUDA's, so that its events see it.
    """

    def __init__(self, rounds: int, fence: Call, of_cuda: bool = True) -> None:
        self.rounds, self.section, self.fence, self.of_cuda = rounds, "", fence, of_cuda
        self.results: dict[str, dict[str, Any]] = {}
        import cupy

        self.cuda: Any = cupy.cuda
        self.start, self.stop = cupy.cuda.Event(), cupy.cuda.Event()

    @property
    def faults(self) -> list[str]:
        """Cases in which execspace failed or was wrong."""
        return [name for name, found in self.results.items() if "error" in found]

    def wait(self) -> None:
        """Until all work is done."""
        self.fence()
        self.cuda.runtime.deviceSynchronize()

    # -- kinds of measurement ----------------------------------------------------------------------

    def kernels(self, nbytes: int, contestants: Sequence[Contestant]) -> None:
        """Time of work on the device: many launches in a row, between two events."""
        ready, outcome = self._prepare(contestants)
        counts = {c.name: self._repetitions(call) for c, call in ready}
        by_host = {c.name for c, call in ready if self._missed(c, call)}
        for c, call in ready:
            if c.name in by_host:
                counts[c.name] = max(1, round(HOST_TURN / self._fenced(call, PROBE)))
        turns: dict[str, list[float]] = {c.name: [] for c, _ in ready}
        for _ in range(self.rounds):
            for c, call in ready:
                count = counts[c.name]
                if c.name in by_host:
                    turns[c.name].append(self._fenced(call, count))
                else:
                    turns[c.name].append(self._events(call, count)[0])
        for name, found in turns.items():
            outcome[name] |= _times("ms", found, nbytes)
            if name in by_host:
                outcome[name]["clock"] = "host: events on the default stream missed the work"
        self._record(contestants, outcome, "ms", nbytes)

    def copies(self, nbytes: int, contestants: Sequence[Contestant]) -> None:
        """Time on the host of a copy, and of the wait for its end."""
        ready, outcome = self._prepare(contestants)
        counts = {c.name: self._repetitions(call) for c, call in ready}
        turns: dict[str, list[float]] = {c.name: [] for c, _ in ready}
        for _ in range(min(self.rounds, 7)):
            for c, call in ready:
                turns[c.name].append(self._waited(call, counts[c.name]))
        for name, found in turns.items():
            outcome[name] |= _times("ms", found, nbytes)
        self._record(contestants, outcome, "ms", nbytes)

    def launches(self, contestants: Sequence[Contestant], count: int = 1000) -> None:
        """Time on the host of one call of `count` in a row, none of which is waited for.

        A call that blocks is timed to its end.
        """
        ready, outcome = self._prepare(contestants)
        turns: dict[str, list[float]] = {c.name: [] for c, _ in ready}
        for _ in range(2 * self.rounds):
            for c, call in ready:
                turns[c.name].append(self._enqueued(call, count))
        for name, found in turns.items():
            outcome[name] |= _times("us", found, None)
        self._record(contestants, outcome, "us", None)

    def first(self, case: str, processes: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        """Record times that fresh processes took: "ms" of each, or "error"."""
        outcome: dict[str, dict[str, Any]] = {}
        for name, found in processes.items():
            errors = [one["error"] for one in found if "error" in one]
            outcome[name] = {"error": errors[0]} if errors else {}
            if not errors:
                outcome[name] |= _times("ms", [one["ms"] * 1e-3 for one in found], None)
            if any("from_disk" in one for one in found):
                outcome[name]["from_disk"] = [one.get("from_disk") for one in found]
        contestants = [
            Contestant(name, dict, lambda _: None, ours=name == "execspace") for name in outcome
        ]
        self._record(contestants, outcome, "ms", None, case)

    # -- one turn ----------------------------------------------------------------------------------

    def _events(self, call: Call, count: int) -> tuple[float, float]:
        """Seconds of one call: by events, and on the host's clock."""
        started = perf_counter()
        self.start.record()
        for _ in range(count):
            call()
        self.stop.record()
        self.stop.synchronize()
        self.fence()
        host = perf_counter() - started
        return self.cuda.get_elapsed_time(self.start, self.stop) * 1e-3 / count, host / count

    def _missed(self, c: Contestant, call: Call) -> bool:
        """Whether events, which see one stream, are far too close: the work is on another.

        They are not of another driver's work, as long as the device changes between the two.
        """
        if c.ours and not self.of_cuda:
            return True
        device, host = self._events(call, PROBE)
        return device < 0.5 * host

    def _fenced(self, call: Call, count: int) -> float:
        """Seconds of one call on the host's clock.

        Nothing of CUDA is called: where work is another driver's, such as OpenCL's, the device
        would change between their contexts again and again.
        """
        self.wait()
        call()
        self.fence()
        started = perf_counter()
        for _ in range(count):
            call()
        self.fence()
        return (perf_counter() - started) / count

    def _waited(self, call: Call, count: int) -> float:
        started = perf_counter()
        for _ in range(count):
            call()
            self.cuda.runtime.deviceSynchronize()
        return (perf_counter() - started) / count

    def _enqueued(self, call: Call, count: int) -> float:
        for _ in range(20):
            call()
        self.wait()
        started = perf_counter()
        for _ in range(count):
            call()
        seconds = (perf_counter() - started) / count
        self.wait()
        return seconds

    def _repetitions(self, call: Call) -> int:
        """Calls that fill a turn."""
        self.wait()
        started = perf_counter()
        call()
        self.wait()
        return max(1, min(MOST, round(TURN / (perf_counter() - started))))

    # -- before and after --------------------------------------------------------------------------

    def _prepare(
        self, contestants: Sequence[Contestant]
    ) -> tuple[list[tuple[Contestant, Call]], dict[str, dict[str, Any]]]:
        """Calls of all whose result is right, and for each what is known before timing."""
        ready: list[tuple[Contestant, Call]] = []
        outcome: dict[str, dict[str, Any]] = {}
        for c in contestants:
            known = outcome[c.name] = {}
            try:
                ready.append((c, self._checked(c, known)))
            except NotThere as reason:
                known["not_there"] = str(reason)
            except Exception as error:  # the others are still worth measuring
                known["error"] = f"{type(error).__name__}: {error}"
        return ready, outcome

    def _checked(self, c: Contestant, known: dict[str, Any]) -> Call:
        made = c.make()
        variants = made if isinstance(made, Mapping) else {"": made}
        for name, call in variants.items():
            if c.before is not None:
                c.before()
            result = call()
            self.wait()
            try:
                c.check(result)
            except AssertionError as error:
                raise AssertionError(f"{name or 'result'}: {error}") from None
        if len(variants) == 1:
            return next(iter(variants.values()))
        trials = {}
        for name, call in variants.items():
            count = self._repetitions(call)
            trials[name] = statistics.median(self._events(call, count)[0] for _ in range(TRIALS))
        best = min(trials, key=trials.__getitem__)
        known["variant"] = best
        known["tried_ms"] = {name: 1e3 * seconds for name, seconds in trials.items()}
        return variants[best]

    def _record(
        self,
        contestants: Sequence[Contestant],
        outcome: Mapping[str, dict[str, Any]],
        unit: str,
        nbytes: int | None,
        case: str | None = None,
    ) -> None:
        peers = {c.name: outcome[c.name] for c in contestants if not c.ours}
        rivals = [c.name for c in contestants if not c.ours and not c.bound]
        measured = {name: peers[name][unit] for name in rivals if unit in peers[name]}
        best = min(measured, key=measured.__getitem__, default=None)
        for c in contestants:
            if not c.ours:
                continue
            found: dict[str, Any] = {"section": self.section, **outcome[c.name]}
            if nbytes is not None:
                found["bytes"] = nbytes
            if best is not None:
                found["best_peer"] = best
                found[f"best_peer_{unit}"] = measured[best]
                if nbytes is not None:
                    found["best_peer_GB/s"] = peers[best]["GB/s"]
                if unit in found:
                    found["ratio"] = measured[best] / found[unit]
            found["peers"] = peers
            self.results[case or c.name] = found
            print(f"{case or c.name:32} {_line(outcome[c.name])}{_against(found)}")
        for name, found in peers.items():
            print(f"    {name:28} {_line(found)}")
        print(flush=True)


def _times(unit: str, seconds: Sequence[float], nbytes: int | None) -> dict[str, Any]:
    scale = {"ms": 1e3, "us": 1e6}[unit]
    median = statistics.median(seconds)
    found: dict[str, Any] = {unit: scale * median, f"least_{unit}": scale * min(seconds)}
    if nbytes is not None:
        found["GB/s"] = nbytes / median / 1e9
    return found


def _line(found: Mapping[str, Any]) -> str:
    """What the table says of one contestant."""
    if "not_there" in found:
        return f"not there: {found['not_there']}"
    if "error" in found:
        return f"FAILED: {found['error'].partition(chr(10))[0]}"
    unit = "ms" if "ms" in found else "us"
    text = f"{found[unit]:9.3f} {unit}"
    if "GB/s" in found:
        text += f" {found['GB/s']:7.0f} GB/s"
    if "variant" in found:
        text += f"  ({found['variant']})"
    if "clock" in found:
        text += f"  [clock of the {found['clock']}]"
    return text


def _against(found: Mapping[str, Any]) -> str:
    if "ratio" not in found:
        return ""
    return f"  {found['ratio']:.3f} x the speed of {found['best_peer']}"

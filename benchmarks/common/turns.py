"""Contestants of one case take turns, so that what else the machine does meets all alike.

Each turn is on the clock of the host, from the first call to the end of all work.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

from benchmarks.common.optional import NotThere

TURN = 20e-3  # seconds at least, so that neither the clock nor the wait counts
MOST = 1000  # calls in a turn


class Contestant(NamedTuple):
    """Who does the work. `call` may return before it is done, `wait` returns when it is.

    `check` is called once, before anything is timed: it runs the work and raises AssertionError if
    the result is wrong; what it returns is written beside the times. `before` prepares each turn.
    A call does the work `each` times; times are those of one.
    """

    name: str
    call: Callable[[], Any]
    wait: Callable[[], Any]
    check: Callable[[], dict[str, Any] | None]
    before: Callable[[], Any] | None = None
    each: int = 1
    about: dict[str, Any] = {}  # noqa: RUF012  # nobody changes it


Maker = Callable[[], Contestant]


def take_turns(
    makers: Mapping[str, Maker],
    rounds: int,
    calls: int | None = None,
    peers: Collection[str] = (),
    apart: bool = False,
) -> dict[str, dict[str, Any]]:
    """Times of all contestants in milliseconds; of one that failed or is not there, why.

    `calls` of a turn are as many as fill it if not given; `peers` are other libraries; `apart`:
    their turns come after all others', for they have threads that go on looking for work.
    """
    outcome: dict[str, dict[str, Any]] = {}
    ready: list[tuple[Contestant, int]] = []
    for name, make in makers.items():
        known = outcome[name] = {"peer": name in peers}
        try:
            c = make()
            known |= c.about | (c.check() or {})
            ready.append((c, calls or _calls(c)))
        except NotThere as reason:
            known["not_there"] = str(reason)
        except Exception as error:  # the others are still worth measuring
            known["error"] = f"{type(error).__name__}: {error}"
    turns: dict[str, list[float]] = {c.name: [] for c, _ in ready}
    after = [one for one in ready if apart and one[0].name in peers]
    for together in [[one for one in ready if one not in after], *([one] for one in after)]:
        for _ in range(rounds):
            for c, count in together:
                turns[c.name].append(_turn(c, count) / c.each)
    for (c, count), found in zip(ready, turns.values(), strict=True):
        outcome[c.name] |= {
            "ms": median(found) * 1e3, "least_ms": min(found) * 1e3, "calls": count,
            "turns_ms": [round(1e3 * t, 6) for t in found],
        }  # fmt: skip
    return outcome


def over(outcome: dict[str, dict[str, Any]], name: str, other: str) -> float | None:
    """Time of one over that of another: the median of the turns' ratios."""
    own, theirs = (outcome.get(n, {}).get("turns_ms") for n in (name, other))
    if not own or not theirs:
        return None
    ratio: float = median(a / b for a, b in zip(own, theirs, strict=True))
    return ratio


def peers_of(outcome: dict[str, dict[str, Any]]) -> Sequence[str]:
    """Names of the other libraries that were timed."""
    return [name for name, found in outcome.items() if found.get("peer") and "ms" in found]


def _turn(c: Contestant, count: int) -> float:
    if c.before is not None:
        c.before()
    c.wait()
    started = perf_counter()
    for _ in range(count):
        c.call()
    c.wait()
    return (perf_counter() - started) / count


def _calls(c: Contestant) -> int:
    _turn(c, 1)  # which may be the first one of its kind, and make what others find
    return max(1, min(MOST, round(TURN / _turn(c, 1))))

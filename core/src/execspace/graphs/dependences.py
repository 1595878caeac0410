"""What recorded launches depend on: those before that touch the same memory, if one of them writes.

Two launches that only read the same Views, or that have none in common, may run side by side.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..base.dataclass import dataclass
from ..contract.records import Effects
from ..views.deep_copy import extent_of_bytes
from ..views.view import View


@dataclass(frozen=True, slots=True)
class Touched:
    """Bytes that a launch may read, or write.

    Attributes
    ----------
    memory : object
        A managed allocation, which no other one overlaps; None for all other memory.
    low, high : int
        Addresses of the first byte and of the one past the last.
    writes : bool
    """

    memory: object
    low: int
    high: int
    writes: bool


def touched(effects: Effects | None, args: tuple[Any, ...]) -> list[Touched] | None:
    """What a launch touches; None if that is not known."""
    if effects is None:
        return None
    found = []
    for n, a in enumerate(args):
        if isinstance(a, View) and a.size and (n in effects.written or n in effects.read):
            own = a.allocation
            memory = own if own.managed else None
            found.append(Touched(memory, *extent_of_bytes(a), n in effects.written))
    return found


class Dependences:
    """Takes launches one after another, and tells which earlier ones each depends on."""

    def __init__(self) -> None:
        self._count = 0
        self._last_all: int | None = None  # the last that may touch anything
        self._since: dict[int, None] = {}  # launches after that, which no other one waits for
        self._of: dict[int, list[tuple[int, Touched]]] = {}

    def of(self, things: Iterable[Touched] | None) -> tuple[int, ...]:
        """Numbers of the launches that the next one depends on."""
        number = self._count
        self._count += 1
        if things is None:
            after = tuple(self._since) or _optional(self._last_all)
            self._last_all, self._since, self._of = number, {}, {}
            return after
        found: dict[int, None] = {}
        things = list(things)
        for t in things:
            for other, earlier in self._near(t):
                if (t.writes or earlier.writes) and t.low < earlier.high and earlier.low < t.high:
                    found[other] = None
        for t in things:
            known = self._of.setdefault(id(t.memory), [])
            if t.writes:  # what comes later waits for this one instead
                known[:] = [k for k in known if not (t.low <= k[1].low and k[1].high <= t.high)]
            known.append((number, t))
        for n in found:
            self._since.pop(n, None)
        self._since[number] = None
        return tuple(sorted(found)) or _optional(self._last_all)

    def _near(self, t: Touched) -> Iterator[tuple[int, Touched]]:
        """What may be in the same memory: arrays of others may lie in an allocation."""
        if t.memory is None:
            for known in self._of.values():
                yield from known
        else:
            yield from self._of.get(id(t.memory), ())
            yield from self._of.get(id(None), ())


def _optional(number: int | None) -> tuple[int, ...]:
    return () if number is None else (number,)

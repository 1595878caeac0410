"""Iteration domains: sets of index points at which a statement runs, and their size.

Conditions split boxes of points into smaller ones. A condition on several indices is kept with its
box, whose points are then counted one row at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from execspace.base.dataclass import dataclass

from .index_values import (
    EVALUATED,
    GREATEST,
    LEAST,
    Affine,
    AtLeast,
    Both,
    Compare,
    Derived,
    Equal,
    Not,
    Test,
    Value,
    evaluated,
    integer,
    names_in,
)

MOST_ROWS = 1 << 20  # counted one by one


@dataclass(frozen=True, slots=True)
class Box:
    """Points of a product of ranges, one for each index, at which `conditions` hold.

    `weight` is how much each point counts: less than one in a branch whose condition is unknown.
    """

    ranges: tuple[tuple[str, int, int], ...]  # name, first, one past the last
    conditions: tuple[AtLeast | Compare | Not, ...] = ()
    weight: Fraction = Fraction(1)

    def along(self, name: str, first: int, end: int) -> Box:
        """The box with one more index."""
        return replace(self, ranges=(*self.ranges, (name, first, end)))

    def scaled(self, factor: Fraction) -> Box:
        """The box with its weight multiplied."""
        return replace(self, weight=self.weight * factor)

    def limits(self, v: Value) -> tuple[int, int] | None:
        """Least and greatest possible value; None if not known."""
        return _limits(v, {n: (a, b - 1) for n, a, b in self.ranges})


Region = tuple[Box, ...]  # disjoint


def _limits(v: Value, ends: dict[str, tuple[int, int]]) -> tuple[int, int] | None:
    if isinstance(v, Affine):
        low = high = v.constant
        for name, factor in v.terms:
            a, b = (factor * end for end in ends[name])
            low, high = low + min(a, b), high + max(a, b)
        return low, high
    if not isinstance(v, Derived):
        return None
    found = [_limits(a, ends) for a in (v.args[1:] if v.op == "where" else v.args)]
    parts = [p for p in found if p is not None]
    if len(parts) < len(found):
        if v.op in ("mod", "truncmod") and (last := found[-1]) is not None and last[0] > 0:
            return 0, last[1] - 1
        return None
    lows, highs = zip(*parts, strict=True)
    if v.op in LEAST:
        return min(lows), min(highs)
    if v.op in GREATEST:
        return max(lows), max(highs)
    if v.op == "where":
        return min(lows), max(highs)
    if v.op == "neg":
        return -highs[0], -lows[0]
    if v.op in ("mod", "truncmod") and lows[1] > 0:
        whole = lows[0] >= 0 and highs[0] < lows[1]
        return parts[0] if whole else (0, highs[1] - 1)
    if v.op in ("add", "sub", "mul") or (v.op in ("floordiv", "truncdiv") and lows[1] > 0):
        corners = [int(EVALUATED[v.op](a, b)) for a in parts[0] for b in parts[1]]
        return min(corners), max(corners)
    return None


def where(box: Box, test: Test, holds: bool = True) -> Iterator[Box]:
    """The part of a box in which a test holds, or does not, as disjoint boxes."""
    match test:
        case bool():
            if test is holds:
                yield box
        case None:
            yield box.scaled(Fraction(1, 2))
        case Not():
            yield from where(box, test.test, not holds)
        case Both() if holds:
            for part in where(box, test.a):
                yield from where(part, test.b)
        case Both():
            yield from where(box, test.a, False)
            for part in where(box, test.a):
                yield from where(part, test.b, False)
        case Equal() if holds:
            for part in where(box, AtLeast(test.value)):
                yield from where(part, AtLeast(Affine((), 0).plus(test.value, -1)))
        case Equal():
            yield from where(box, AtLeast(test.value.plus(integer(1), -1)))
            yield from where(box, AtLeast(integer(-1).plus(test.value, -1)))
        case AtLeast():
            value = test.value if holds else integer(-1).plus(test.value, -1)
            found = _clipped(box, value)
            if found is not None:
                yield found
        case Compare():
            kept = test if holds else Not(test)
            yield replace(box, conditions=(*box.conditions, kept))


def _clipped(box: Box, value: Affine) -> Box | None:
    """The part of a box in which a sum is not negative; None if it is empty."""
    found = box.limits(value)
    assert found is not None
    if found[0] >= 0:
        return box
    if found[1] < 0:
        return None
    factors = dict(value.terms)
    ranges = []
    for name, first, end in box.ranges:
        factor = factors.get(name, 0)
        if factor:
            # The largest sum of the other terms bounds this one from below.
            most = found[1] - max(factor * first, factor * (end - 1))
            if factor > 0:
                first = max(first, -(most // factor))
            else:
                end = min(end, most // -factor + 1)
        ranges.append((name, first, end))
    more = () if len(factors) == 1 else (AtLeast(value),)
    return replace(box, ranges=tuple(ranges), conditions=(*box.conditions, *more))


# -- counting --------------------------------------------------------------------------------------


def count(box: Box) -> tuple[Fraction, bool]:
    """Weighted number of points of a box, and whether it is exact."""
    lengths = {n: max(0, b - a) for n, a, b in box.ranges}
    if 0 in lengths.values():
        return Fraction(0), True
    total, exact = box.weight, True
    rest = set(lengths)
    for names, conditions in groups(box):
        rest -= names
        number, precise = _rows(box, names, conditions)
        total, exact = total * number, exact and precise
    return total * prod(lengths[n] for n in rest), exact


def groups(box: Box) -> list[tuple[set[str], list[AtLeast | Compare | Not]]]:
    """Groups of indices connected by conditions, with these conditions."""
    found: list[tuple[set[str], list[AtLeast | Compare | Not]]] = []
    for c in box.conditions:
        names, conditions = set(names_in(c)), [c]
        for group in [g for g in found if g[0] & names]:
            found.remove(group)
            names, conditions = names | group[0], group[1] + conditions
        found.append((names, conditions))
    return found


def _rows(
    box: Box, names: set[str], conditions: Iterable[AtLeast | Compare | Not]
) -> tuple[Fraction, bool]:
    """Number of points of some indices: one of them has a closed form, others are enumerated."""
    ranges = {n: (a, b) for n, a, b in box.ranges if n in names}
    sums = [c.value for c in conditions if isinstance(c, AtLeast)]
    others = [c for c in conditions if not isinstance(c, AtLeast)]
    free = names - set().union(*map(names_in, others))
    inner = max(sorted(free), key=lambda n: ranges[n][1] - ranges[n][0], default="")
    outer = [n for n in ranges if n != inner]
    scale, arrays = Fraction(1), {}
    whole = prod(b - a for n, (a, b) in ranges.items() if n != inner)
    most = MOST_ROWS if whole <= MOST_ROWS else max(2, int(MOST_ROWS ** (1 / len(outer))))
    for d, n in enumerate(outer):
        a, b = ranges[n]
        at = np.arange(a, b, dtype=np.int64)
        if len(at) > most:  # an evenly spread sample
            at = a + ((2 * np.arange(most, dtype=np.int64) + 1) * (b - a)) // (2 * most)
            scale *= Fraction(b - a, most)
        arrays[n] = at.reshape([-1 if k == d else 1 for k in range(len(outer))])
    holds: Any = np.ones([1] * len(outer), bool)
    for c in others:
        holds = holds & evaluated(c, arrays)
    low, high = (ranges[inner][0], ranges[inner][1] - 1) if inner else (0, 0)
    first: Any = np.full([1] * len(outer), low, np.int64)
    last: Any = np.full([1] * len(outer), high, np.int64)
    for value in sums:
        factor = dict(value.terms).get(inner, 0)
        left = Affine(tuple(t for t in value.terms if t[0] != inner), value.constant)
        at_rest = evaluated(left, arrays)
        if factor > 0:
            first = np.maximum(first, -(at_rest // factor))
        elif factor < 0:
            last = np.minimum(last, at_rest // -factor)
        else:
            holds = holds & (at_rest >= 0)
    shape = [len(arrays[n].ravel()) for n in outer]
    numbers = np.where(holds, np.maximum(last - first + 1, 0), 0)
    return int(np.broadcast_to(numbers, shape).sum()) * scale, scale == 1

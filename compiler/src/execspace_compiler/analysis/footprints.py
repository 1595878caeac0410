"""How many places of a View a launch touches: what caches without limits would move once.

The places of an access are a box, with a step in each dimension, where its subscripts are sums of
multiples of indices. Boxes of several accesses are united exactly: neighbours in a stencil count
once. Of all other accesses the number of places has an upper bound.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, prod
from typing import NamedTuple

import numpy as np

from .index_sets import Box, Region, count, groups
from .index_values import Affine, Value, names_in

_MOST_CELLS = 1 << 20


class Steps(NamedTuple):
    """Numbers with the same distance between each two: the first, the distance, how many."""

    first: int
    step: int
    n: int


@dataclass(frozen=True, slots=True)
class Access:
    """Subscripts of a View at all points of a region; `extents` are those of its places."""

    subscripts: tuple[Value, ...]
    extents: tuple[int, ...]
    region: Region


@dataclass
class Footprint:
    """Places of one View that are read, or written, all of one size."""

    accesses: dict[Access, None] = field(default_factory=dict)
    asked: Fraction = Fraction(0)

    def add(self, access: Access, times: Fraction) -> None:
        """One more access, which asks so many times; one that was there touches nothing new."""
        self.accesses[access] = None
        self.asked += times

    def places(self, most: int) -> tuple[int, bool]:
        """How many there are, at most as many as the View has, and whether that is exact."""
        boxes: dict[tuple[Steps, ...], None] = {}
        others: dict[tuple[tuple[Value, ...], Box], tuple[int, bool]] = {}
        for access in self.accesses:
            for points in access.region:
                points = replace(points, weight=type(points.weight)(1))
                steps = _steps(access, points)
                if steps is None:
                    others[access.subscripts, points] = _bound(access, points)
                elif all(s.n for s in steps):
                    boxes[steps] = None
        total, exact = _united(list(boxes))
        if others:
            several = len(others) + len(boxes) > 1
            exact = exact and not several and all(precise for _, precise in others.values())
            total += sum(n for n, _ in others.values())
        return min(total, most, ceil(self.asked)), exact or total == 0


def _steps(access: Access, box: Box) -> tuple[Steps, ...] | None:
    """Places of an access as a box; None if they are none."""
    tied = set().union(*(names for names, _ in groups(box)))
    used: set[str] = set()
    found = []
    for subscript, extent in zip(access.subscripts, access.extents, strict=True):
        if not isinstance(subscript, Affine):
            return None
        names = names_in(subscript)
        if names & (used | tied):
            return None
        used |= names
        steps = _image(subscript, box)
        if steps is None:
            return None
        found.append(_inside(steps, extent))
    return tuple(found)


def _image(value: Affine, box: Box) -> Steps | None:
    """The numbers that a sum gives; None if they have several distances."""
    lengths = {n: (a, b - a) for n, a, b in box.ranges}
    first, step, n = value.constant, 0, 1
    for factor, name in sorted(((f, n) for n, f in value.terms), key=lambda t: abs(t[0])):
        start, length = lengths[name]
        if length <= 0:
            return Steps(0, 1, 0)
        first += factor * (start if factor > 0 else start + length - 1)
        if length == 1:
            continue
        factor = abs(factor)
        if step == 0:
            step, n = factor, length
        elif factor % step == 0 and factor // step <= n:
            n += factor // step * (length - 1)
        else:
            return None
    return Steps(first, step or 1, n)


def _inside(s: Steps, extent: int) -> Steps:
    """Those that lie within a View."""
    skipped = max(0, ceil(-s.first / s.step))
    first = s.first + skipped * s.step
    n = min(s.n - skipped, -((first - extent) // s.step))
    return Steps(first, s.step, max(0, n))


def _bound(access: Access, box: Box) -> tuple[int, bool]:
    """Most places that an access can touch in a box, and whether it touches as many."""
    known = all(isinstance(v, Affine) for v in access.subscripts)
    lengths = {n: b - a for n, a, b in box.ranges}
    room = 1
    for subscript, extent in zip(access.subscripts, access.extents, strict=True):
        limits = box.limits(subscript)
        low, high = (0, extent - 1) if limits is None else limits
        room *= max(0, min(high, extent - 1) - max(low, 0) + 1)
    names: set[str] = set()
    for v in access.subscripts:
        # What comes from data may differ from each point to the next.
        names |= names_in(v) if box.limits(v) is not None else set(lengths)
    whole = set(names)
    for tied, _ in groups(box):
        if tied & names:
            whole |= tied
    ranges = tuple(r for r in box.ranges if r[0] in whole)
    conditions = tuple(c for c in box.conditions if names_in(c) <= whole)
    points, precise = count(Box(ranges, conditions))
    number = min(room, ceil(points), prod(lengths[n] for n in names))
    alone = {
        v.terms[0][0] for v in access.subscripts if isinstance(v, Affine) and len(v.terms) == 1
    }
    return number, known and precise and whole == names == alone


def _united(boxes: list[tuple[Steps, ...]]) -> tuple[int, bool]:
    """Places in at least one of several boxes."""
    if len(boxes) < 2:
        return sum(prod(s.n for s in box) for box in boxes), True
    steps = []
    for along in zip(*boxes, strict=True):
        found = {s.step for s in along if s.n > 1} or {1}
        if len(found) > 1:
            return _around(boxes), False
        steps.append(found.pop())
    # Boxes that begin at different remainders of the step have nothing in common.
    classes = defaultdict(list)
    for box in boxes:
        pairs = [divmod(s.first, step) for s, step in zip(box, steps, strict=True)]
        ends = [(at, at + s.n) for (at, _), s in zip(pairs, box, strict=True)]
        classes[tuple(rest for _, rest in pairs)].append(ends)
    total, exact = 0, True
    for members in classes.values():
        number = _union(members)
        if number is None:
            low_high = zip(*members, strict=True)
            number = prod(max(b for _, b in d) - min(a for a, _ in d) for d in low_high)
            exact = False
        total += number
    return total, exact


def _around(boxes: list[tuple[Steps, ...]]) -> int:
    """At most as many places as the boxes have, and as the one around them has."""
    around = 1
    for along in zip(*boxes, strict=True):
        around *= max(s.first + s.step * (s.n - 1) for s in along) - min(s.first for s in along) + 1
    return min(around, sum(prod(s.n for s in box) for box in boxes))


def _union(boxes: list[list[tuple[int, int]]]) -> int | None:
    """Points in at least one of several boxes; None if there are too many pieces."""
    cuts = [sorted({end for ends in along for end in ends}) for along in zip(*boxes, strict=True)]
    if prod(len(c) - 1 for c in cuts) > _MOST_CELLS:
        return None
    covered = np.zeros([len(c) - 1 for c in cuts], bool)
    for box in boxes:
        covered[
            tuple(slice(c.index(a), c.index(b)) for (a, b), c in zip(box, cuts, strict=True))
        ] = True
    sizes = covered.astype(np.int64)
    for d, c in enumerate(cuts):
        sizes *= np.diff(c).reshape([-1 if k == d else 1 for k in range(len(cuts))])
    return int(sizes.sum())

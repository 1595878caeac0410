"""Number of distinct locations of a View that a launch accesses: the traffic of infinite caches.

The locations of an access are a box, with a step in each dimension, if its subscripts are affine in
the indices. The union of boxes of several accesses is exact: neighbours in a stencil count once.
For other accesses there is an upper bound.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import field, replace
from fractions import Fraction
from math import ceil, prod
from typing import NamedTuple

import numpy as np

from execspace.base.dataclass import dataclass

from .index_sets import Box, Region, count, groups
from .index_values import Affine, Value, names_in

_MOST_CELLS = 1 << 20


class Progression(NamedTuple):
    """An arithmetic progression: the first number, the step, the length."""

    first: int
    step: int
    n: int


@dataclass(frozen=True, slots=True)
class Access:
    """Subscripts of a View at all points of a region; `extents` are their bounds."""

    subscripts: tuple[Value, ...]
    extents: tuple[int, ...]
    region: Region


@dataclass
class Footprint:
    """Locations of one View that are read, or written, all of the same size."""

    accesses: dict[Access, None] = field(default_factory=dict)
    requested: Fraction = Fraction(0)

    def add(self, access: Access, times: Fraction) -> None:
        """Add an access that runs so many times; equal accesses touch the same locations."""
        self.accesses[access] = None
        self.requested += times

    def locations(self, most: int) -> tuple[int, bool]:
        """Number of locations, at most `most`, and whether it is exact."""
        boxes: dict[tuple[Progression, ...], None] = {}
        others: dict[tuple[tuple[Value, ...], Box], tuple[int, bool]] = {}
        for access in self.accesses:
            for points in access.region:
                points = replace(points, weight=type(points.weight)(1))
                progressions = _progressions(access, points)
                if progressions is None:
                    others[access.subscripts, points] = _bound(access, points)
                elif all(s.n for s in progressions):
                    boxes[progressions] = None
        total, exact = _united(list(boxes))
        if others:
            several = len(others) + len(boxes) > 1
            exact = exact and not several and all(precise for _, precise in others.values())
            total += sum(n for n, _ in others.values())
        return min(total, most, ceil(self.requested)), exact or total == 0


def _progressions(access: Access, box: Box) -> tuple[Progression, ...] | None:
    """Locations of an access as a box; None if they are not a box."""
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
        progressions = _image(subscript, box)
        if progressions is None:
            return None
        found.append(_inside(progressions, extent))
    return tuple(found)


def _image(value: Affine, box: Box) -> Progression | None:
    """The values of an affine sum in a box; None if they are not a progression."""
    lengths = {n: (a, b - a) for n, a, b in box.ranges}
    first, step, n = value.constant, 0, 1
    for factor, name in sorted(((f, n) for n, f in value.terms), key=lambda t: abs(t[0])):
        start, length = lengths[name]
        if length <= 0:
            return Progression(0, 1, 0)
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
    return Progression(first, step or 1, n)


def _inside(s: Progression, extent: int) -> Progression:
    """The part of a progression that is within a View."""
    skipped = max(0, ceil(-s.first / s.step))
    first = s.first + skipped * s.step
    n = min(s.n - skipped, -((first - extent) // s.step))
    return Progression(first, s.step, max(0, n))


def _bound(access: Access, box: Box) -> tuple[int, bool]:
    """Upper bound of the locations that an access touches in a box, and whether it is exact."""
    known = all(isinstance(v, Affine) for v in access.subscripts)
    lengths = {n: b - a for n, a, b in box.ranges}
    room = 1
    for subscript, extent in zip(access.subscripts, access.extents, strict=True):
        limits = box.limits(subscript)
        low, high = (0, extent - 1) if limits is None else limits
        room *= max(0, min(high, extent - 1) - max(low, 0) + 1)
    names: set[str] = set()
    for v in access.subscripts:
        # Values that depend on data may differ at each point.
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


def _united(boxes: list[tuple[Progression, ...]]) -> tuple[int, bool]:
    """Number of locations in the union of boxes."""
    if len(boxes) < 2:
        return sum(prod(s.n for s in box) for box in boxes), True
    progressions = []
    for along in zip(*boxes, strict=True):
        found = {s.step for s in along if s.n > 1} or {1}
        if len(found) > 1:
            return _around(boxes), False
        progressions.append(found.pop())
    # Boxes that begin at different remainders of the step are disjoint.
    classes = defaultdict(list)
    for box in boxes:
        pairs = [divmod(s.first, step) for s, step in zip(box, progressions, strict=True)]
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


def _around(boxes: list[tuple[Progression, ...]]) -> int:
    """Upper bound: the sum of the boxes, or the box around them."""
    around = 1
    for along in zip(*boxes, strict=True):
        around *= max(s.first + s.step * (s.n - 1) for s in along) - min(s.first for s in along) + 1
    return min(around, sum(prod(s.n for s in box) for box in boxes))


def _union(boxes: list[list[tuple[int, int]]]) -> int | None:
    """Number of points in the union of boxes; None if there are too many pieces."""
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

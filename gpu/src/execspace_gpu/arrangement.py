"""How the elements of two Views lie to each other, in as few dimensions as will do.

Nothing here knows of a device: addresses and steps are numbers, which count bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from execspace import View
from execspace.base.dataclass import dataclass

WORD = 8  # bytes that a thread moves at once; kernels reach the bandwidth with such words


class Axis(NamedTuple):
    """A dimension: its extent, and the steps along it at the destination and at the source."""

    extent: int
    to: int
    source: int


@dataclass(frozen=True)
class Arrangement:
    """Blocks of bytes that are moved, each as it is.

    Attributes
    ----------
    block : int
        Bytes of one: an element, or neighbours on both sides.
    to, source : int
        Addresses of the first one.
    axes : tuple of Axis
        From the smallest step at the destination to the largest; none if all is one block.
    """

    block: int
    to: int
    source: int
    axes: tuple[Axis, ...]

    @property
    def unit_axes(self) -> tuple[int, int] | None:
        """The axes along which blocks are the closest at the destination, and at the source, if
        these are two; blocks are then put in another order."""
        steps = [abs(a.source) or 1 << 63 for a in self.axes]
        nearest = steps.index(min(steps)) if steps else 0
        return (0, nearest) if nearest else None

    def in_words(self, most: int = WORD) -> Arrangement:
        """With blocks of so many bytes that are, and lie, as multiples of themselves."""
        word = most
        numbers = [self.block, self.to, self.source, *(s for a in self.axes for s in a[1:])]
        while any(n % word for n in numbers):
            word //= 2
        if word == self.block:
            return self
        return replace(self, block=word, axes=(Axis(self.block // word, word, word), *self.axes))

    def part(self, axis: int, first: int, last: int) -> Arrangement:
        """What lies between two places along an axis."""
        a = self.axes[axis]
        axes = (*self.axes[:axis], a._replace(extent=last - first), *self.axes[axis + 1 :])
        return replace(
            self, to=self.to + first * a.to, source=self.source + first * a.source, axes=axes
        )

    def without(self, axis: int, place: int) -> Arrangement:
        """What lies at a place along an axis."""
        found = self.part(axis, place, place + 1)
        return replace(found, axes=(*found.axes[:axis], *found.axes[axis + 1 :]))


def arranged(dst: View, src: View) -> Arrangement | None:
    """The copy between two Views of one shape and dtype that are not empty.

    None if one of them has a layout of the user's, or if elements of the destination are one.
    """
    if dst.mapping is not None or src.mapping is not None or dst.dtype != src.dtype:
        return None
    size = dst.dtype.itemsize
    axes = [
        Axis(n, to * size, source * size)
        for n, to, source in zip(dst.shape, dst.strides, src.strides, strict=True)
        if n > 1
    ]
    if any(a.to == 0 for a in axes):
        return None
    return simplified(size, dst.data_ptr, src.data_ptr, axes)


def simplified(block: int, to: int, source: int, axes: list[Axis]) -> Arrangement:
    """With as few axes as will do; all steps at the destination are positive then."""
    ahead: list[Axis] = []
    for a in axes:
        if a.to < 0:
            to += (a.extent - 1) * a.to
            source += (a.extent - 1) * a.source
            a = Axis(a.extent, -a.to, -a.source)
        ahead.append(a)
    ahead.sort(key=lambda a: (a.to, abs(a.source)))
    joined: list[Axis] = []
    for a in ahead:
        last = joined[-1] if joined else None
        if last is not None and (last.extent * last.to, last.extent * last.source) == a[1:]:
            joined[-1] = last._replace(extent=last.extent * a.extent)
        elif last is None and a[1:] == (block, block):
            block *= a.extent
        else:
            joined.append(a)
    return Arrangement(block, to, source, tuple(joined))


def is_dense(view: View) -> bool:
    """Whether the elements of a View lie in one block, in whatever order of dimensions."""
    ahead = all(s > 0 for n, s in zip(view.shape, view.strides, strict=True) if n > 1)
    return view.mapping is None and view.span_is_contiguous and ahead


def dense_parts(view: View, most: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Ranges of each dimension for parts of at most so many bytes, each of which is dense, too.

    The View is dense. Parts come in the order in which they lie in memory.
    """
    by_step = sorted(range(view.rank), key=lambda d: -view.strides[d])
    return _cut(view.shape, by_step, view.dtype.itemsize, most)


def _cut(
    shape: tuple[int, ...], by_step: list[int], size: int, most: int
) -> Iterator[tuple[tuple[int, int], ...]]:
    whole = size
    for n in shape:
        whole *= n
    slowest = next((d for d in by_step if shape[d] > 1), None)
    if whole <= most or slowest is None:
        yield tuple((0, n) for n in shape)
        return
    step = max(1, shape[slowest] * most // whole)
    for first in range(0, shape[slowest], step):
        last = min(first + step, shape[slowest])
        inner = (*shape[:slowest], last - first, *shape[slowest + 1 :])
        for part in _cut(inner, by_step, size, most):
            yield (*part[:slowest], (first, last), *part[slowest + 1 :])

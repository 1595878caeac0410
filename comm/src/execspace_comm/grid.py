"""How a range is divided among ranks: by how many in each dimension, and who has which indices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import prod

__all__ = [
    "Box", "Segment", "chosen_grid", "coordinates", "part", "part_of", "rank_at", "segments",
]  # fmt: skip

Box = tuple[tuple[int, ...], tuple[int, ...]]  # lower and upper bounds, the latter excluded


def part(extent: int, parts: int, which: int) -> tuple[int, int]:
    """Bounds of one of so many parts of an extent; the first ones have one index more."""
    least, more = divmod(extent, parts)
    begin = which * least + min(which, more)
    return begin, begin + least + (which < more)


def coordinates(rank: int, grid: Sequence[int]) -> tuple[int, ...]:
    """Where a rank is in a grid, the last dimension running fastest."""
    found = []
    for extent in reversed(grid):
        rank, at = divmod(rank, extent)
        found.append(at)
    return tuple(reversed(found))


def rank_at(at: Sequence[int], grid: Sequence[int]) -> int:
    """The inverse of `coordinates`."""
    rank = 0
    for place, extent in zip(at, grid, strict=True):
        rank = rank * extent + place
    return rank


@cache
def chosen_grid(size: int, extents: tuple[int, ...], fixed: tuple[int, ...]) -> tuple[int, ...]:
    """Ranks in each dimension: least work of the busiest rank, then least that is exchanged.

    `fixed` has a number for each dimension that is given, and 0 for those to be chosen. Of equal
    choices the one that divides earlier dimensions more is taken: their faces lie in one piece in
    row-major memory. () if there is none.
    """
    best: tuple[tuple[int, int, tuple[int, ...]], tuple[int, ...]] | None = None
    for grid in _factorisations(size, len(extents), fixed):
        largest = [-(-n // p) for n, p in zip(extents, grid, strict=True)]
        volume = prod(largest)
        faces = sum(volume // max(1, n) for n, p in zip(largest, grid, strict=True) if p > 1)
        rating = (volume, faces, tuple(-p for p in grid))
        if best is None or rating < best[0]:
            best = rating, grid
    return () if best is None else best[1]


def _factorisations(size: int, rank: int, fixed: Sequence[int]) -> Iterator[tuple[int, ...]]:
    if rank == 1:
        if fixed[0] in (0, size):
            yield (size,)
        return
    for first in [fixed[0]] if fixed[0] else range(1, size + 1):
        if size % first == 0:
            for rest in _factorisations(size // first, rank - 1, fixed[1:]):
                yield (first, *rest)


class Segment(tuple[int, int, int, int]):
    """Indices along a dimension that one coordinate of the grid has: `coordinate`, where they
    begin there (`source`) and here (`target`, both counted from the first own index), `length`."""

    __slots__ = ()

    @property
    def coordinate(self) -> int:
        """Of the grid, along the dimension."""
        return self[0]

    @property
    def source(self) -> int:
        """First index at its owner, whose first own index is 0."""
        return self[1]

    @property
    def target(self) -> int:
        """First index here, where the first own index is 0."""
        return self[2]

    @property
    def length(self) -> int:
        """How many indices."""
        return self[3]


@cache
def segments(
    extent: int, parts: int, which: int, low: int, high: int, periodic: bool
) -> tuple[tuple[Segment, bool], ...]:
    """Who has the indices of a part and of its halo, from the first to the last of them.

    Each with whether it is of the halo. Of a periodic range, indices outside are those that they
    repeat, maybe several times over. Of others they belong to the part that they adjoin.
    """
    begin, end = part(extent, parts, which)
    if begin == end:
        return ()
    found = []
    at = begin - low
    while at < end + high:
        place = at % extent if periodic else min(max(at, 0), extent - 1)
        owner = part_of(extent, parts, place)
        first, last = part(extent, parts, owner)
        if periodic:
            mine = begin <= at < end
            limit = end if mine else begin if at < begin else end + high
            length = min(limit - at, last - place)
        else:
            mine, place = owner == which, at
            length = min(end + high, last if last < extent else last + high) - at
        found.append((Segment((owner, place - first, at - begin, length)), not mine))
        at += length
    return tuple(found)


def part_of(extent: int, parts: int, index: int) -> int:
    """Which part has an index."""
    least, more = divmod(extent, parts)
    wide = more * (least + 1)
    if index < wide:
        return index // (least + 1)
    return more + (index - wide) // least

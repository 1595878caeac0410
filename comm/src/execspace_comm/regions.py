"""Regions of a halo: which elements a rank gets from each other rank, and gives to it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from .division import Division
from .errors import CommError
from .field import Widths
from .grid import Segment, coordinates, rank_at, segments

__all__ = ["REACHES", "Region", "gets", "gives"]

REACHES = ("faces", "edges", "corners")


class Region(NamedTuple):
    """A box of indices, counted from the first own index of a rank; `begin` may be negative."""

    begin: tuple[int, ...]
    shape: tuple[int, ...]


def most_outside(reach: str, rank: int) -> int:
    """In how many dimensions at once an index may be outside of the own ones.

    Raises
    ------
    CommError
        For what is not one of `REACHES`.
    """
    if reach not in REACHES:
        raise CommError(f"halo: reach={reach!r}; expected one of {', '.join(map(repr, REACHES))}.")
    return {"faces": 1, "edges": 2}.get(reach, rank)


def gets(d: Division, rank: int, widths: Widths, most: int) -> dict[int, list[Region]]:
    """For each rank that has some of the halo of `rank`, its regions there."""
    found: dict[int, list[Region]] = {}
    for owner, parts in _pieces(d, rank, widths, most):
        region = Region(tuple(p.target for p in parts), tuple(p.length for p in parts))
        found.setdefault(owner, []).append(region)
    return found


def gives(d: Division, rank: int, widths: Widths, most: int) -> dict[int, list[Region]]:
    """For each rank whose halo has indices of `rank`, the regions here, in the order in which
    `gets` has them there."""
    found: dict[int, list[Region]] = {}
    for other in sorted(_around(d, rank, widths)):
        for owner, parts in _pieces(d, other, widths, most):
            if owner == rank:
                region = Region(tuple(p.source for p in parts), tuple(p.length for p in parts))
                found.setdefault(other, []).append(region)
    return found


def _pieces(
    d: Division, rank: int, widths: Widths, most: int
) -> Iterator[tuple[int, tuple[Segment, ...]]]:
    """Pieces of the halo of a rank, each with who has it."""
    for pieces in product(*_along(d, rank, widths)):
        outside = sum(is_halo for _, is_halo in pieces)
        if 0 < outside <= most:
            parts = tuple(segment for segment, _ in pieces)
            yield rank_at([p.coordinate for p in parts], d.ranks), parts


def _along(d: Division, rank: int, widths: Widths) -> list[tuple[tuple[Segment, bool], ...]]:
    at = coordinates(rank, d.ranks)
    return [
        segments(n, p, c, low, high, periodic)
        for n, p, c, (low, high), periodic in zip(
            d.extents, d.ranks, at, widths, d.periodic, strict=True
        )
    ]


def _around(d: Division, rank: int, widths: Widths) -> set[int]:
    """Ranks whose halo may have indices of a rank."""
    at = coordinates(rank, d.ranks)
    near = []
    for n, p, c, (low, high), periodic in zip(
        d.extents, d.ranks, at, widths, d.periodic, strict=True
    ):
        near.append(
            [
                other
                for other in range(p)
                if any(
                    segment.coordinate == c
                    for segment, _ in segments(n, p, other, low, high, periodic)
                )
            ]
        )
    return {rank_at(place, d.ranks) for place in product(*near)}

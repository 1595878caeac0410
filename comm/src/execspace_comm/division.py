"""Division: who has which indices of a range of several dimensions."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from math import prod
from typing import Any, SupportsIndex

from .communicator import Comm, comm_of
from .errors import CommError
from .grid import Box, chosen_grid, coordinates, part, part_of, rank_at

__all__ = ["Division", "as_extents", "as_flags", "as_grid"]

MAX_RANK = 6
Flags = bool | Sequence[bool]


class Division:
    """What a `Decomposition` is without fields: see there."""

    def __init__(
        self,
        extents: int | Sequence[int],
        comm: Comm | Any = None,
        *,
        periodic: Flags = False,
        ranks: Sequence[int] | None = None,
    ) -> None:
        self.comm = comm_of(comm)
        self.extents = as_extents(extents)
        rank = len(self.extents)
        self.periodic = as_flags(periodic, rank)
        self.ranks = as_grid(ranks, self.extents, self.comm.size, "Decomposition")
        self.coordinates = coordinates(self.comm.rank, self.ranks)
        self.lower, self.upper = self.box(self.comm.rank)
        self.shape = tuple(b - a for a, b in zip(self.lower, self.upper, strict=True))

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.extents)

    @property
    def size(self) -> int:
        """Number of indices of this rank."""
        return prod(self.shape)

    def box(self, rank: int) -> Box:
        """Global lower and upper bounds of the box of a rank."""
        at = coordinates(rank, self.ranks)
        bounds = [part(n, p, c) for n, p, c in zip(self.extents, self.ranks, at, strict=True)]
        return tuple(a for a, _ in bounds), tuple(b for _, b in bounds)

    def owner(self, *index: int) -> int:
        """The rank that has an index.

        Raises
        ------
        CommError
            If it is outside of the range.
        """
        if len(index) != self.rank or not all(
            isinstance(i, SupportsIndex) and 0 <= operator.index(i) < n
            for i, n in zip(index, self.extents, strict=True)
        ):
            raise CommError(f"Decomposition of {self.extents} has no index {index}.")
        at = [part_of(n, p, i) for n, p, i in zip(self.extents, self.ranks, index, strict=True)]
        return rank_at(at, self.ranks)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Division) and (
            self.comm is other.comm
            and self.extents == other.extents
            and self.ranks == other.ranks
            and self.periodic == other.periodic
        )

    def __hash__(self) -> int:
        return hash((self.extents, self.ranks, self.periodic))

    def __repr__(self) -> str:
        def times(numbers: Sequence[int]) -> str:
            return " x ".join(map(str, numbers))

        return (
            f"<Decomposition of {times(self.extents)} over {times(self.ranks)} ranks; rank "
            f"{self.comm.rank} has {self.lower} to {self.upper}>"
        )


def as_grid(
    ranks: Any, extents: tuple[int, ...], size: int, what: str
) -> tuple[int, ...]:  # fmt: skip
    """Ranks in each dimension, chosen where 0 or nothing is given; CommError if there is none."""
    found: tuple[int, ...] = ()
    try:
        fixed = (0,) * len(extents) if ranks is None else tuple(map(operator.index, ranks))
    except TypeError:
        fixed = ()
    if len(fixed) == len(extents) and min(fixed) >= 0:
        found = chosen_grid(size, extents, fixed)
    if not found:
        raise CommError(
            f"{what}: ranks={ranks!r} for {len(extents)} dimensions and {size} ranks; expected a "
            f"number for each dimension, whose product is {size}; 0 is chosen."
        )
    return found


def as_extents(extents: Any) -> tuple[int, ...]:
    """Extents as a tuple; CommError for what is none."""
    given = extents if isinstance(extents, Sequence) else (extents,)
    try:
        found = tuple(operator.index(n) for n in given)
    except TypeError:
        found = ()
    if not 1 <= len(found) <= MAX_RANK or min(found) < 0:
        raise CommError(
            f"Decomposition: extents {extents!r}; expected 1 to {MAX_RANK} numbers, none negative."
        )
    return found


def as_flags(flags: Flags, rank: int) -> tuple[bool, ...]:
    """A flag for each dimension; CommError for what is none."""
    given = tuple(flags) if isinstance(flags, Sequence) else (flags,) * rank
    if len(given) != rank or any(not isinstance(f, bool) for f in given):
        raise CommError(
            f"Decomposition: periodic={flags!r}; expected True or False, or one of them for each "
            f"of {rank} dimensions."
        )
    return given

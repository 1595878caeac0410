"""Execution policies: where and over which indices a kernel runs. Values, never changed.

`bounds` and `key` are what a launch needs: the numbers, and what a compiled plan depends on.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .errors import PolicyError
from .selection import resolve
from .space import PolicySpec, policy_spec

if TYPE_CHECKING:
    from .space import ExecutionSpace

MAX_RANK = 6
ITERATE = ("auto", "left", "right")


def _integer(value: Any, what: str) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise PolicyError(f"{what} must be an integer, got {value!r}.") from None


def _integers(values: Any, what: str) -> tuple[int, ...]:
    try:
        parts = list(values)
    except TypeError:
        raise PolicyError(
            f"MDRangePolicy: {values!r} is no sequence; expected {what}, an integer, for each "
            f"dimension, for example MDRangePolicy((n, m))."
        ) from None
    return tuple(_integer(v, f"MDRangePolicy: {what}") for v in parts)


class RangePolicy:
    """Indices `begin <= i < end`.

    Parameters
    ----------
    begin, end : int
        One argument alone is the end, as in Python's range.
    space : str or ExecutionSpace, optional
        Where to run; the default space if not given.

    Raises
    ------
    PolicyError
        If a bound is no integer or `end < begin`.

    Notes
    -----
    Kokkos: https://kokkos.org/kokkos-core-wiki/API/core/policies/RangePolicy.html
    """

    __slots__ = ("bounds", "key", "space")

    bounds: tuple[int, ...]
    key: tuple[PolicySpec, ExecutionSpace | None]
    space: ExecutionSpace | None

    def __init__(
        self, begin: int, end: int | None = None, *, space: str | ExecutionSpace | None = None
    ) -> None:
        if end is None:
            begin, end = 0, begin
        first, last = _integer(begin, "RangePolicy: begin"), _integer(end, "RangePolicy: end")
        if last < first:
            raise PolicyError(
                f"RangePolicy: end {last} is less than begin {first}; for an empty range give "
                f"two equal bounds."
            )
        self.bounds = (first, last)
        self.space = None if space is None else resolve(space)
        self.key = (policy_spec("range", 1, nonnegative=first >= 0), self.space)

    @property
    def begin(self) -> int:
        """First index."""
        return self.bounds[0]

    @property
    def end(self) -> int:
        """One past the last index."""
        return self.bounds[1]

    def __repr__(self) -> str:
        return f"RangePolicy({self.begin}, {self.end}{_where(self.space)})"


class MDRangePolicy:
    """All index tuples between `lower` (inclusive) and `upper` (exclusive).

    Parameters
    ----------
    lower, upper : sequence of int
        One entry for each of 1 to 6 dimensions. `MDRangePolicy(upper)` starts at zero.
    tile : sequence of int, optional
        Extents of the blocks in which host spaces walk the range. By default they run plain
        loops over whole rows, which is faster unless a kernel reuses data across a block.
    iterate : {"auto", "left", "right"}
        Which index runs fastest: the first (left) or the last (right). "auto" follows the
        layout of the Views that the kernel touches.
    space : str or ExecutionSpace, optional

    Raises
    ------
    PolicyError
        If ranks differ or lie outside 1 to 6, an upper bound is below its lower one, a tile
        extent is not positive, or an option is not known.

    Notes
    -----
    Kokkos: https://kokkos.org/kokkos-core-wiki/API/core/policies/MDRangePolicy.html
    """

    __slots__ = ("bounds", "iterate", "key", "lower", "space", "tile", "upper")

    bounds: tuple[int, ...]
    key: tuple[PolicySpec, ExecutionSpace | None]

    def __init__(
        self,
        lower: Sequence[int],
        upper: Sequence[int] | None = None,
        *,
        tile: Sequence[int] | None = None,
        iterate: str = "auto",
        space: str | ExecutionSpace | None = None,
    ) -> None:
        if upper is None:
            self.upper = _integers(lower, "an upper bound")
            self.lower = (0,) * len(self.upper)
        else:
            self.lower = _integers(lower, "a lower bound")
            self.upper = _integers(upper, "an upper bound")
        rank = len(self.lower)
        if len(self.upper) != rank:
            raise PolicyError(
                f"MDRangePolicy: lower has {rank} entries and upper has {len(self.upper)}; "
                f"expected the same number."
            )
        if not 1 <= rank <= MAX_RANK:
            raise PolicyError(f"MDRangePolicy: rank {rank} is outside 1 to {MAX_RANK}.")
        for d, (a, b) in enumerate(zip(self.lower, self.upper, strict=True)):
            if b < a:
                raise PolicyError(
                    f"MDRangePolicy: upper bound {b} of dimension {d} is less than its lower "
                    f"bound {a}."
                )
        if iterate not in ITERATE:
            raise PolicyError(f"MDRangePolicy: iterate={iterate!r}; expected one of {ITERATE}.")
        self.iterate = iterate
        self.tile: tuple[int, ...] | None = None
        if tile is not None:
            self.tile = _integers(tile, "a tile extent")
            if len(self.tile) != rank or min(self.tile, default=0) < 1:
                raise PolicyError(
                    f"MDRangePolicy: tile {self.tile}; expected {rank} extents of at least 1."
                )
        self.space = None if space is None else resolve(space)
        self.bounds = self.lower + self.upper + (self.tile or ())
        spec = policy_spec("mdrange", rank, iterate, self.tile is not None, min(self.lower) >= 0)
        self.key = (spec, self.space)

    @property
    def rank(self) -> int:
        """Number of indices."""
        return len(self.lower)

    def __repr__(self) -> str:
        tile = f", tile={self.tile}" if self.tile else ""
        order = "" if self.iterate == "auto" else f", iterate={self.iterate!r}"
        return f"MDRangePolicy({self.lower}, {self.upper}{tile}{order}{_where(self.space)})"


def _where(space: ExecutionSpace | None) -> str:
    return "" if space is None else f", space={space.name!r}"


Policy = RangePolicy | MDRangePolicy

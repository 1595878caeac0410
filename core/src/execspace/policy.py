"""Execution policies: where and over which indices a kernel runs. Values, never changed.

`bounds` and `key` are what a launch needs: the numbers, and what a compiled plan depends on.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from .errors import PolicyError
from .selection import resolve
from .space import PolicySpec, policy_spec
from .tiles import MOST_PER_THREAD, named_tile

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


def _launch_bounds(value: Any, who: str) -> int:
    if value is None:
        return 0
    bounds = _integer(value, f"{who}: launch_bounds")
    if bounds < 1:
        raise PolicyError(f"{who}: launch_bounds={bounds}; expected at least one thread.")
    return bounds


class RangePolicy:
    """Indices `begin <= i < end`.

    Parameters
    ----------
    begin, end : int
        One argument alone is the end, as in Python's range.
    space : str or ExecutionSpace, optional
        Where to run; the default space if not given.
    launch_bounds : int, optional
        No block of threads of a device is larger (of reductions and scans: or than 32), so that its
        compiler may give each thread more registers. Host spaces have no such blocks and take no
        notice.

    Raises
    ------
    PolicyError
        If a bound is no integer, `end < begin`, or `launch_bounds` is not positive.

    Notes
    -----
    Kokkos: https://kokkos.org/kokkos-core-wiki/API/core/policies/RangePolicy.html
    """

    __slots__ = ("bounds", "key", "launch_bounds", "space")

    bounds: tuple[int, ...]
    key: tuple[PolicySpec, ExecutionSpace | None]
    space: ExecutionSpace | None

    def __init__(
        self,
        begin: int,
        end: int | None = None,
        *,
        space: str | ExecutionSpace | None = None,
        launch_bounds: int | None = None,
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
        self.launch_bounds = launch_bounds
        most = _launch_bounds(launch_bounds, "RangePolicy")
        spec = policy_spec("range", 1, nonnegative=first >= 0, launch_bounds=most)
        self.key = (spec, self.space)

    @property
    def begin(self) -> int:
        """First index."""
        return self.bounds[0]

    @property
    def end(self) -> int:
        """One past the last index."""
        return self.bounds[1]

    def __repr__(self) -> str:
        bounds = "" if self.launch_bounds is None else f", launch_bounds={self.launch_bounds}"
        return f"RangePolicy({self.begin}, {self.end}{bounds}{_where(self.space)})"


class MDRangePolicy:
    """All index tuples between `lower` (inclusive) and `upper` (exclusive).

    Parameters
    ----------
    lower, upper : sequence of int
        One entry for each of 1 to 6 dimensions. `MDRangePolicy(upper)` starts at zero.
    tile : sequence of int or str, optional
        Extents of the blocks in which a space goes through the range. On a device that is the
        shape of a block of threads: a thread for each element of the tile. On a host, the part of
        the range that one thread does at a time. By default a space chooses by what the kernel
        does, see `execspace.default_tile`. A name is that of a table of tiles, such as "kokkos"
        or "kokkos-2026"; it needs `iterate` to be "left" or "right".
    iterate : {"auto", "left", "right"}
        Which index runs fastest: the first (left) or the last (right). "auto" follows the
        layout of the Views that the kernel touches.
    per_thread : int or sequence of int, optional
        Calls of the kernel by one thread of a device, in each dimension: a tile of registers, for
        neighbours share what they load. It comes on top of `tile`: a block of threads does
        ``tile[d] * per_thread[d]`` elements. A number is for the dimension next to the fastest
        (of rank 1, for the only one). Host spaces, whose threads do whole rows, take no notice.
    launch_bounds : int, optional
        No block of threads of a device is larger (of reductions and scans: or than 32), so that its
        compiler may give each thread more registers. A tile must not be larger. Host spaces take
        no notice beyond that.
    space : str or ExecutionSpace, optional

    Raises
    ------
    PolicyError
        If ranks differ or lie outside 1 to 6, an upper bound is below its lower one, an extent
        of `tile` or `per_thread` is not positive, a thread would have more than 16 calls, a tile
        exceeds `launch_bounds`, or an option is not known. At the launch: if the tile has more
        elements than the device can have threads in a block, in all or along one of its axes.

    Notes
    -----
    Kokkos: https://kokkos.org/kokkos-core-wiki/API/core/policies/MDRangePolicy.html
    """

    __slots__ = (
        "bounds", "iterate", "key", "launch_bounds", "lower", "per_thread", "space", "tile",
        "upper",
    )  # fmt: skip

    bounds: tuple[int, ...]
    key: tuple[PolicySpec, ExecutionSpace | None]

    def __init__(
        self,
        lower: Sequence[int],
        upper: Sequence[int] | None = None,
        *,
        tile: Sequence[int] | str | None = None,
        iterate: str = "auto",
        per_thread: int | Sequence[int] | None = None,
        launch_bounds: int | None = None,
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
        if isinstance(tile, str):
            extents = [b - a for a, b in zip(self.lower, self.upper, strict=True)]
            self.tile, calls = named_tile(tile, iterate, extents)
            if per_thread is None and calls:
                per_thread = calls
        elif tile is not None:
            self.tile = _integers(tile, "a tile extent")
            if len(self.tile) != rank or min(self.tile, default=0) < 1:
                raise PolicyError(
                    f"MDRangePolicy: tile {self.tile}; expected {rank} extents of at least 1."
                )
        self.per_thread = _per_thread(per_thread, rank)
        self.launch_bounds = launch_bounds
        most = _launch_bounds(launch_bounds, "MDRangePolicy")
        if most and self.tile is not None and prod(self.tile) > most:
            raise PolicyError(
                f"MDRangePolicy: tile {self.tile} has {prod(self.tile)} elements, one for each "
                f"thread of a block, and launch_bounds={most} allows {most}; give a smaller tile."
            )
        self.space = None if space is None else resolve(space)
        self.bounds = self.lower + self.upper + (self.tile or ())
        tiled, nonnegative = self.tile is not None, min(self.lower) >= 0
        spec = policy_spec("mdrange", rank, iterate, tiled, nonnegative, self.per_thread, most)
        self.key = (spec, self.space)

    @property
    def rank(self) -> int:
        """Number of indices."""
        return len(self.lower)

    def __repr__(self) -> str:
        tile = f", tile={self.tile}" if self.tile else ""
        order = "" if self.iterate == "auto" else f", iterate={self.iterate!r}"
        calls = f", per_thread={self.per_thread}" if self.per_thread else ""
        bounds = "" if self.launch_bounds is None else f", launch_bounds={self.launch_bounds}"
        options = f"{tile}{order}{calls}{bounds}{_where(self.space)}"
        return f"MDRangePolicy({self.lower}, {self.upper}{options})"


def _per_thread(value: Any, rank: int) -> tuple[int, ...]:
    """As in `PolicySpec.per_thread`."""
    if value is None:
        return ()
    if isinstance(value, Iterable):
        calls = _integers(value, "a number of calls per thread")
        fitting = len(calls) == rank
    else:
        calls, fitting = (_integer(value, "MDRangePolicy: per_thread"),), True
    if not fitting or min(calls) < 1 or prod(calls) > MOST_PER_THREAD:
        raise PolicyError(
            f"MDRangePolicy: per_thread={value!r}; expected a number, or one for each of {rank} "
            f"dimensions, of at least 1 and at most {MOST_PER_THREAD} together."
        )
    return calls


def _where(space: ExecutionSpace | None) -> str:
    return "" if space is None else f", space={space.name!r}"


Policy = RangePolicy | MDRangePolicy

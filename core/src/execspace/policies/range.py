"""Execution policies: where and over which indices a kernel runs. Values, never changed.

`bounds` and `key` are what a launch needs: the numbers, and what a compiled plan depends on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from math import prod
from typing import Any, Self

from ..base.brief import brief
from ..base.errors import PolicyError
from ..base.flags import lanes_of
from ..base.free_threading import getter
from ..base.readonly import MAY_CHANGE_CLASS, ReadOnly, with_class
from ..contract.launch_spec import PolicySpec, policy_spec
from ..contract.space import ExecutionSpace
from ..contract.tiles import MOST_PER_THREAD
from ..plugins.selection import resolve
from .checks import (
    DYNAMIC,
    MOST,
    STATIC,
    as_integer,
    as_integers,
    checked_count,
    checked_launch_bounds,
    is_dynamic,
    on_space,
)
from .named_tiles import named_tile
from .usual import SELDOM, Value, keep

__all__ = [
    "MDRangePolicy",
    "RangePolicy",
]

MAX_RANK = 6
_USUAL = policy_spec("range", 1)
_AUTO = "auto"
_ranges: dict[tuple[Any, ...], RangePolicy] = {}  # by begin, end and space
_known_range = getter(_ranges)
_turn = count()
_boxes: dict[tuple[Any, ...], MDRangePolicy] = {}  # by lower, upper and space
_known_box = getter(_boxes)
ITERATE = ("auto", "left", "right")


class _RangeParts:
    """Attributes of a RangePolicy; assigned here, and then nowhere."""

    __slots__ = ("bounds", "key", "launch_bounds", "space")

    bounds: tuple[int, ...]
    key: tuple[PolicySpec, ExecutionSpace | None]
    launch_bounds: int | None
    space: ExecutionSpace | None


class RangePolicy(Value, ReadOnly, _RangeParts):
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
    schedule : {"static", "dynamic"}
        How indices come to threads. "static": each thread gets one part of the range, all of about
        the same length. "dynamic": threads take chunks one after another until none is left, for
        kernels whose work differs from index to index. Devices, which hand out blocks of threads
        in this way anyhow, and spaces with one thread take no notice. A scan is static.
    chunk_size : int, optional
        Indices of a chunk, of the dynamic schedule only. By default the space chooses.
    lanes : int, optional
        Neighbouring indices that a host runs in the lanes of a vector: a power of two up to 64,
        and 1 for none. By default what the kernel says, or what seems to be fastest. Devices, whose
        threads are lanes anyhow, take no notice.

    Raises
    ------
    PolicyError
        If a bound is not an integer, `end < begin`, `launch_bounds` or `chunk_size` is not
        positive, `schedule` is not known, `chunk_size` is given without the dynamic one, or
        `lanes` is no power of two.

    Notes
    -----
    In Kokkos these are ``Schedule<Dynamic>`` and ``ChunkSize``, which is allowed with
    ``Schedule<Static>``, too: chunks go round the threads then. Kokkos:
    https://kokkos.org/kokkos-core-wiki/API/core/policies/RangePolicy.html
    """

    __slots__ = ()
    _fixed = frozenset(_RangeParts.__slots__)

    def __new__(
        cls,
        begin: int,
        end: int | None = None,
        *,
        space: str | ExecutionSpace | None = None,
        launch_bounds: int | None = None,
        schedule: str = STATIC,
        chunk_size: int | None = None,
        lanes: int | None = None,
    ) -> Self:
        if end is None:
            begin, end = 0, begin
        plain = launch_bounds is chunk_size is lanes is None and schedule is STATIC
        plain = plain and type(begin) is type(end) is int and cls is RangePolicy
        if plain:
            try:
                known = _known_range((begin, end, space))
            except TypeError:  # a space that has no hash
                known = None
            if known is not None:
                return known  # type: ignore[no-any-return]
            if 0 <= begin <= end <= MOST:  # as most are
                usual: Any = object.__new__(_RangeParts)
                usual.bounds = begin, end
                usual.launch_bounds = None
                usual.space = where = None if space is None else resolve(space)
                usual.key = _USUAL, where
                if not MAY_CHANGE_CLASS:
                    usual = with_class(usual, cls)
                else:
                    usual.__class__ = cls
                if not next(_turn) & SELDOM:
                    keep(_ranges, (begin, end, space), usual)
                return usual  # type: ignore[no-any-return]
        first, last = as_integer(begin, "RangePolicy: begin"), as_integer(end, "RangePolicy: end")
        if last < first:
            raise PolicyError(
                f"RangePolicy: end {last} is less than begin {first}; for an empty range give "
                f"two equal bounds."
            )
        if last - first > MOST:
            checked_count("RangePolicy", (last - first,))
        most = checked_launch_bounds(launch_bounds, "RangePolicy")
        dynamic = schedule is not STATIC and is_dynamic(schedule, "RangePolicy")
        chunk = 0 if chunk_size is None else _chunk(chunk_size, dynamic, first, last)
        self: Any = object.__new__(_RangeParts)
        self.bounds = (first, last)
        self.space = None if space is None else resolve(space)
        self.launch_bounds = launch_bounds
        spec = policy_spec(
            "range", 1, nonnegative=first >= 0, launch_bounds=most, chunk_size=chunk,
            dynamic=dynamic, lanes=lanes_of(lanes, "RangePolicy", PolicyError),
        )  # fmt: skip
        self.key = (spec, self.space)
        if not MAY_CHANGE_CLASS or cls is not RangePolicy:
            self = with_class(self, cls)
        else:
            self.__class__ = cls
        return self  # type: ignore[no-any-return]

    def _arguments(self) -> tuple[Any, ...]:
        options = {
            "space": self.space, "launch_bounds": self.launch_bounds, "schedule": self.schedule,
            "chunk_size": self.chunk_size, "lanes": self.lanes,
        }  # fmt: skip
        return self.bounds, options

    @property
    def begin(self) -> int:
        """First index."""
        return self.bounds[0]

    @property
    def end(self) -> int:
        """One past the last index."""
        return self.bounds[1]

    @property
    def schedule(self) -> str:
        """How indices come to threads: "static" or "dynamic"."""
        return _schedule(self.key[0])

    @property
    def chunk_size(self) -> int | None:
        """Indices that a thread takes at a time; None: the space chooses."""
        return self.key[0].chunk_size or None

    @property
    def lanes(self) -> int | None:
        """Indices in the lanes of a vector of a host; None: the kernel or the space chooses."""
        return self.key[0].lanes or None

    def __repr__(self) -> str:
        bounds = "" if self.launch_bounds is None else f", launch_bounds={self.launch_bounds}"
        chunk = "" if self.chunk_size is None else f", chunk_size={self.chunk_size}"
        lanes = "" if self.lanes is None else f", lanes={self.lanes}"
        options = f"{bounds}{_shown_schedule(self.schedule)}{chunk}{lanes}{on_space(self.space)}"
        return f"RangePolicy({self.begin}, {self.end}{options})"


class _MDRangeParts:
    """Attributes of an MDRangePolicy."""

    __slots__ = (
        "bounds",
        "items_per_thread",
        "iterate",
        "key",
        "launch_bounds",
        "lower",
        "space",
        "tile",
        "upper",
    )  # fmt: skip

    bounds: tuple[int, ...]
    iterate: str
    key: tuple[PolicySpec, ExecutionSpace | None]
    launch_bounds: int | None
    lower: tuple[int, ...]
    items_per_thread: tuple[int, ...]
    space: ExecutionSpace | None
    tile: tuple[int, ...] | None
    upper: tuple[int, ...]


class MDRangePolicy(Value, ReadOnly, _MDRangeParts):
    """All index tuples between `lower` (inclusive) and `upper` (exclusive).

    Parameters
    ----------
    lower, upper : sequence of int
        One entry for each of 1 to 6 dimensions. `MDRangePolicy(upper)` starts at zero.
    tile : sequence of int or str, optional
        Extents of the blocks in which a space goes through the range. On a device that is the
        shape of a block of threads, with a thread for each element of the tile; a tile of more
        threads than the device has in a block, in all or along an axis, is done in parts by blocks
        that it has. On a host, the part of the range that one thread does at a time. By default a
        space chooses by what the kernel does, see `execspace.default_tile`. A name is that of a
        table of tiles, such as "kokkos" or "kokkos-2026"; it needs `iterate` to be "left" or
        "right".
    iterate : {"auto", "left", "right"}
        Which index runs fastest: the first (left) or the last (right). "auto" follows the
        layout of the Views that the kernel touches.
    items_per_thread : int or sequence of int, optional
        Calls of the kernel by one thread of a device, in each dimension: a tile of registers, for
        neighbours share what they load. It comes on top of `tile`: a block of threads does
        ``tile[d] * items_per_thread[d]`` elements. A number is for the dimension next to the
        fastest (of rank 1, for the only one). Host spaces, whose threads do whole rows, take no
        notice.
    launch_bounds : int, optional
        No block of threads of a device is larger (of reductions and scans: or than 32), so that its
        compiler may give each thread more registers. A tile must not be larger. Host spaces take
        no notice beyond that.
    schedule : {"static", "dynamic"}
        As of `RangePolicy`: whether each thread gets one part of the range, or threads take parts
        one after another, whole tiles where there are tiles. The space chooses how large they are.
    lanes : int, optional
        As of `RangePolicy`: neighbouring indices of the dimension that runs fastest that a host
        runs in the lanes of a vector.
    space : str or ExecutionSpace, optional

    Raises
    ------
    PolicyError
        If ranks differ or lie outside 1 to 6, an upper bound is below its lower one, an extent
        of `tile` or `items_per_thread` is not positive, a thread would have more than 16 calls, a
        tile exceeds `launch_bounds`, `lanes` is no power of two, or an option is not known.

    Notes
    -----
    Kokkos: https://kokkos.org/kokkos-core-wiki/API/core/policies/MDRangePolicy.html
    """

    __slots__ = ()
    _fixed = frozenset(_MDRangeParts.__slots__)

    def __new__(
        cls,
        lower: Sequence[int],
        upper: Sequence[int] | None = None,
        *,
        tile: Sequence[int] | str | None = None,
        iterate: str = "auto",
        items_per_thread: int | Sequence[int] | None = None,
        launch_bounds: int | None = None,
        schedule: str = STATIC,
        lanes: int | None = None,
        space: str | ExecutionSpace | None = None,
    ) -> Self:
        plain = tile is items_per_thread is launch_bounds is lanes is None and cls is MDRangePolicy
        plain = plain and iterate is _AUTO and schedule is STATIC
        if plain:
            try:
                known = _known_box((lower, upper, space))
            except TypeError:  # a list, or a space that has no hash
                known = None
            if known is not None and (
                (lower is known.lower and upper is known.upper) or _are_integers(lower, upper)
            ):
                return known  # type: ignore[no-any-return]
        if upper is None:
            last = as_integers(lower, "an upper bound")
            first = (0,) * len(last)
        else:
            first = as_integers(lower, "a lower bound")
            last = as_integers(upper, "an upper bound")
            if type(lower) is type(upper) is tuple and _are_integers(lower, upper):
                first, last = lower, upper  # which are known by identity, see above
        rank = len(first)
        if len(last) != rank:
            raise PolicyError(
                f"MDRangePolicy: lower has {rank} entries and upper has {len(last)}; "
                f"expected the same number."
            )
        if not 1 <= rank <= MAX_RANK:
            raise PolicyError(f"MDRangePolicy: rank {rank} is outside 1 to {MAX_RANK}.")
        for d, (a, b) in enumerate(zip(first, last, strict=True)):
            if b < a:
                raise PolicyError(
                    f"MDRangePolicy: upper bound {b} of dimension {d} is less than its lower "
                    f"bound {a}."
                )
        counts = [b - a for a, b in zip(first, last, strict=True)]
        if prod(counts) > MOST:
            checked_count("MDRangePolicy", counts)
        if not isinstance(iterate, str) or iterate not in ITERATE:
            raise PolicyError(
                f"MDRangePolicy: iterate={brief(iterate)}; expected one of {ITERATE}."
            )
        extents: tuple[int, ...] | None = None
        if isinstance(tile, str):
            extents, calls = named_tile(tile, iterate, counts)
            if items_per_thread is None and calls:
                items_per_thread = calls
        elif tile is not None:
            extents = as_integers(tile, "a tile extent")
            if len(extents) != rank or min(extents, default=0) < 1:
                raise PolicyError(
                    f"MDRangePolicy: tile {extents}; expected {rank} extents of at least 1."
                )
        if extents is not None:
            _check_tile(extents, first, last)
        calls = _per_thread(items_per_thread, rank)
        most = checked_launch_bounds(launch_bounds, "MDRangePolicy")
        if most and extents is not None and prod(extents) > most:
            raise PolicyError(
                f"MDRangePolicy: tile {extents} has {prod(extents)} elements, one for each "
                f"thread of a block, and launch_bounds={most} allows {most}; give a smaller tile."
            )
        dynamic = schedule is not STATIC and is_dynamic(schedule, "MDRangePolicy")
        self: Any = object.__new__(_MDRangeParts)
        self.lower, self.upper, self.tile = first, last, extents
        self.iterate, self.items_per_thread, self.launch_bounds = iterate, calls, launch_bounds
        self.space = None if space is None else resolve(space)
        self.bounds = first + last + (extents or ())
        tiled, nonnegative = extents is not None, min(first) >= 0
        spec = policy_spec(
            "mdrange", rank, iterate, tiled, nonnegative, calls, most, dynamic=dynamic,
            lanes=lanes_of(lanes, "MDRangePolicy", PolicyError),
        )  # fmt: skip
        self.key = (spec, self.space)
        if not MAY_CHANGE_CLASS or cls is not MDRangePolicy:
            self = with_class(self, cls)
        else:
            self.__class__ = cls
        if plain and type(lower) is tuple and (upper is None or type(upper) is tuple):
            keep(_boxes, (lower, upper, space), self)
        return self  # type: ignore[no-any-return]

    def _arguments(self) -> tuple[Any, ...]:
        calls = (
            self.items_per_thread[0]
            if len(self.items_per_thread) == 1
            else self.items_per_thread or None
        )
        options = {
            "tile": self.tile, "iterate": self.iterate, "items_per_thread": calls,
            "launch_bounds": self.launch_bounds, "schedule": self.schedule, "lanes": self.lanes,
            "space": self.space,
        }  # fmt: skip
        return (self.lower, self.upper), options

    @property
    def rank(self) -> int:
        """Number of indices."""
        return len(self.lower)

    @property
    def schedule(self) -> str:
        """How indices come to threads: "static" or "dynamic"."""
        return _schedule(self.key[0])

    @property
    def lanes(self) -> int | None:
        """Indices in the lanes of a vector of a host; None: the kernel or the space chooses."""
        return self.key[0].lanes or None

    def __repr__(self) -> str:
        tile = f", tile={self.tile}" if self.tile else ""
        order = "" if self.iterate == "auto" else f", iterate={self.iterate!r}"
        calls = f", items_per_thread={self.items_per_thread}" if self.items_per_thread else ""
        bounds = "" if self.launch_bounds is None else f", launch_bounds={self.launch_bounds}"
        schedule = _shown_schedule(self.schedule)
        lanes = "" if self.lanes is None else f", lanes={self.lanes}"
        options = f"{tile}{order}{calls}{bounds}{schedule}{lanes}{on_space(self.space)}"
        return f"MDRangePolicy({self.lower}, {self.upper}{options})"


def _are_integers(lower: Any, upper: Any) -> bool:
    """Whether tuples equal no others: True is 1, and so is 1.0."""
    for bounds in (lower, upper or ()):
        for n in bounds:
            if type(n) is not int:
                return False
    return True


def _chunk(value: Any, dynamic: bool, first: int, last: int) -> int:
    """As in `PolicySpec.chunk_size`, of a range `first <= i < last`."""
    size = as_integer(value, "RangePolicy: chunk_size")
    if size < 1:
        raise PolicyError(f"RangePolicy: chunk_size={size}; expected at least 1.")
    if not dynamic:
        raise PolicyError(
            f"RangePolicy: chunk_size={size} with the static schedule, in which each thread gets "
            f"one part of the range; give schedule='dynamic', too, or leave out chunk_size=."
        )
    if max(last, last - first) + size > MOST:
        raise PolicyError(
            f"RangePolicy: chunk_size={size} reaches beyond {MOST}, and kernels count in 64 bits; "
            f"give a smaller one."
        )
    return size


def _schedule(spec: PolicySpec) -> str:
    return DYNAMIC if spec.dynamic else STATIC


def _shown_schedule(schedule: str) -> str:
    """The schedule of a policy in its repr."""
    return "" if schedule == STATIC else f", schedule={schedule!r}"


def _check_tile(tile: tuple[int, ...], lower: tuple[int, ...], upper: tuple[int, ...]) -> None:
    """Raise PolicyError for a tile whose elements, or last index, 64 bits cannot hold."""
    furthest = zip(tile, lower, upper, strict=True)
    if prod(tile) > MOST or any(max(-a, b) + t > MOST for t, a, b in furthest):
        raise PolicyError(
            f"MDRangePolicy: tile {tile} reaches beyond {MOST}, and kernels count in 64 bits; give "
            f"a smaller tile."
        )


def _per_thread(value: Any, rank: int) -> tuple[int, ...]:
    """As in `PolicySpec.items_per_thread`."""
    if value is None:
        return ()
    if isinstance(value, Iterable):
        calls = as_integers(value, "a number of calls per thread")
        fitting = len(calls) == rank
    else:
        calls, fitting = (as_integer(value, "MDRangePolicy: items_per_thread"),), True
    if not fitting or min(calls) < 1 or prod(calls) > MOST_PER_THREAD:
        raise PolicyError(
            f"MDRangePolicy: items_per_thread={brief(value)}; expected a number, or one for each "
            f"of {rank} dimensions, of at least 1 and at most {MOST_PER_THREAD} together."
        )
    return calls


Policy = RangePolicy | MDRangePolicy

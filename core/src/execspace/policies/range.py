"""Execution policies: where and over which indices a kernel runs. Values, never changed.

`bounds` and `key` are what a launch needs: the numbers, and what a compiled plan depends on.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from math import prod
from typing import Any, Self

from ..base.errors import PolicyError
from ..base.flags import lanes_of
from ..base.free_threading import getter
from ..base.readonly import MAY_CHANGE_CLASS, ReadOnly, with_class
from ..contract.launch_spec import PolicySpec, policy_spec
from ..contract.space import ExecutionSpace
from ..plugins.selection import resolve
from .checks import (
    DYNAMIC,
    LEFT_OUT,
    MOST,
    STATIC,
    as_integer,
    as_integers,
    checked_count,
    checked_launch_bounds,
    on_space,
)
from .hints import Hints, WorkItems, as_hints, as_occupancy
from .named_tiles import named_tile
from .range_parameters import are_integers, check_tile, chunk_of, order_of, per_thread
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


class _RangeParts:
    """Attributes of a RangePolicy; assigned here, and then nowhere. `_hints` only if there are."""

    __slots__ = ("_hints", "bounds", "key", "launch_bounds", "space")

    _hints: Hints

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
    schedule : {"static", "dynamic"}, optional
        How indices come to threads. "static", as by default: each thread gets one part of the
        range, all of about the same length. "dynamic": threads take chunks one after another until
        none is left, for kernels whose work differs from index to index. Devices, which hand out
        blocks of threads in this way anyhow, and spaces with one thread take no notice. A scan is
        static.
    chunk_size : int, optional
        Indices of a chunk, of the dynamic schedule only. By default the space chooses.
    lanes : int, optional
        Neighbouring indices that a host runs in the lanes of a vector: a power of two up to 64,
        and 1 for none. By default what the kernel says, or what seems to be fastest. Devices, whose
        threads are lanes anyhow, take no notice.
    occupancy : int, optional
        Percent, 1 to 100, of the threads that a multiprocessor of a GPU keeps: fewer blocks are
        there at once, each with more of the cache. CUDA and HIP only; others take no notice.
    work_items : {"light", "heavy", "regular", "irregular"}, or a pair of two, optional
        What calls are like. "irregular": their work differs, so that hosts of several threads take
        the dynamic schedule unless `schedule` is given. "light", "heavy": of a `parallel_for`, GPUs
        take larger or smaller blocks than they would. Results do not depend on it.

    Raises
    ------
    PolicyError
        If a bound is not an integer, `end < begin`, `launch_bounds` or `chunk_size` is not
        positive, `schedule` or `work_items` is not known, `chunk_size` is given without the dynamic
        schedule, `lanes` is no power of two, or `occupancy` no percentage.

    Notes
    -----
    In Kokkos these are ``Schedule<Dynamic>`` and ``ChunkSize``, which is allowed with
    ``Schedule<Static>``, too: chunks go round the threads then; ``DesiredOccupancy``, and
    ``WorkItemProperty``. Kokkos:
    https://kokkos.org/kokkos-core-wiki/API/core/policies/RangePolicy.html
    """

    __slots__ = ()
    _fixed = frozenset(_RangeParts.__slots__)
    _positional = ("begin", "end")

    def __new__(
        cls,
        begin: int,
        end: int = LEFT_OUT,
        *,
        space: str | ExecutionSpace | None = None,
        launch_bounds: int | None = None,
        schedule: str | None = None,
        chunk_size: int | None = None,
        lanes: int | None = None,
        occupancy: int | None = None,
        work_items: WorkItems = None,
    ) -> Self:
        if end is LEFT_OUT:
            begin, end = 0, begin
        plain = launch_bounds is chunk_size is lanes is occupancy is None
        plain = plain and schedule is None and work_items is None
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
        hints = as_hints(work_items, schedule, "RangePolicy")
        chunk = 0 if chunk_size is None else chunk_of(chunk_size, hints.dynamic, first, last)
        self: Any = object.__new__(_RangeParts)
        self._hints = hints
        self.bounds = (first, last)
        self.space = None if space is None else resolve(space)
        self.launch_bounds = most or None
        spec = policy_spec(
            "range", 1, nonnegative=first >= 0, launch_bounds=most, chunk_size=chunk,
            dynamic=hints.dynamic, lanes=lanes_of(lanes, "RangePolicy", PolicyError),
            occupancy=as_occupancy(occupancy, "RangePolicy"), work_items=hints.spec,
        )  # fmt: skip
        self.key = (spec, self.space)
        if not MAY_CHANGE_CLASS or cls is not RangePolicy:
            self = with_class(self, cls)
        else:
            self.__class__ = cls
        return self  # type: ignore[no-any-return]

    def _arguments(self) -> tuple[Any, ...]:
        options = {
            "space": self.space, "launch_bounds": self.launch_bounds,
            "schedule": _named_schedule(self), "chunk_size": self.chunk_size, "lanes": self.lanes,
            "occupancy": self.occupancy, "work_items": self.work_items,
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
        hints = f"{lanes}{self._hints_shown()}"
        options = f"{bounds}{_shown_schedule(self)}{chunk}{hints}{on_space(self.space)}"
        return f"RangePolicy({self.begin}, {self.end}{options})"


class _MDRangeParts:
    """Attributes of an MDRangePolicy."""

    __slots__ = (
        "_hints",
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

    _hints: Hints
    bounds: tuple[int, ...]
    iterate: str | tuple[str, str]
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
    iterate : {"auto", "left", "right"}, or a pair of these
        Which index runs fastest: the first (left) or the last (right). "auto" follows the
        layout of the Views that the kernel touches. Of a pair the first one is the order of tiles
        ("auto": that within them), and the second one that within a tile. On a device the first
        one is which way blocks are numbered, also where the space chooses their shape.
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
    occupancy : int, optional
    work_items : {"light", "heavy", "regular", "irregular"}, or a pair of two, optional
        Both as of `RangePolicy`. Blocks have the shape of `tile` where it is given.
    space : str or ExecutionSpace, optional

    Raises
    ------
    PolicyError
        If ranks differ or lie outside 1 to 6, an upper bound is below its lower one, an extent
        of `tile` or `items_per_thread` is not positive, a thread would have more than 16 calls, a
        tile exceeds `launch_bounds`, `lanes` is no power of two, `occupancy` no percentage, or an
        option is not known. At the launch: of a scan with a pair of orders.

    Notes
    -----
    A pair is ``Rank<N, IterateOuter, IterateInner>`` of Kokkos:
    https://kokkos.org/kokkos-core-wiki/API/core/policies/MDRangePolicy.html
    """

    __slots__ = ()
    _fixed = frozenset(_MDRangeParts.__slots__)
    _positional = ("lower", "upper")

    def __new__(
        cls,
        lower: Sequence[int],
        upper: Sequence[int] = LEFT_OUT,
        *,
        tile: Sequence[int] | str | None = None,
        iterate: str | tuple[str, str] = "auto",
        items_per_thread: int | Sequence[int] | None = None,
        launch_bounds: int | None = None,
        schedule: str | None = None,
        lanes: int | None = None,
        occupancy: int | None = None,
        work_items: WorkItems = None,
        space: str | ExecutionSpace | None = None,
    ) -> Self:
        alone = upper is LEFT_OUT
        plain = tile is items_per_thread is launch_bounds is lanes is None and cls is MDRangePolicy
        plain = plain and iterate is _AUTO and schedule is None
        plain = plain and occupancy is None and work_items is None
        if plain:
            try:
                known = _known_box((lower, upper, space))
            except TypeError:  # a list, or a space that has no hash
                known = None
            if known is not None and (
                (lower is known.lower and upper is known.upper)
                or are_integers(lower, () if alone else upper)
            ):
                return known  # type: ignore[no-any-return]
        tuples = type(lower) is tuple and (alone or type(upper) is tuple)
        exact = tuples and are_integers(lower, () if alone else upper)
        if alone:
            last = as_integers(lower, "an upper bound")
            first = (0,) * len(last)
        else:
            if upper is None:
                raise PolicyError(
                    "MDRangePolicy: upper=None; expected an integer for each dimension. For a "
                    "range that begins at zeros give one bound alone."
                )
            first = as_integers(lower, "a lower bound")
            last = as_integers(upper, "an upper bound")
            if exact:
                first, last = lower, upper  # type: ignore[assignment]  # known by identity, above
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
        inner, outer = order_of(iterate, rank)
        extents: tuple[int, ...] | None = None
        if isinstance(tile, str):
            extents, calls = named_tile(tile, inner, counts)
            if items_per_thread is None and calls:
                items_per_thread = calls
        elif tile is not None:
            extents = as_integers(tile, "a tile extent")
            if len(extents) != rank or min(extents, default=0) < 1:
                raise PolicyError(
                    f"MDRangePolicy: tile {extents}; expected {rank} extents of at least 1."
                )
        if extents is not None:
            check_tile(extents, first, last)
        calls = per_thread(items_per_thread, rank)
        most = checked_launch_bounds(launch_bounds, "MDRangePolicy")
        if most and extents is not None and prod(extents) > most:
            raise PolicyError(
                f"MDRangePolicy: tile {extents} has {prod(extents)} elements, one for each "
                f"thread of a block, and launch_bounds={most} allows {most}; give a smaller tile."
            )
        self: Any = object.__new__(_MDRangeParts)
        self._hints = hints = as_hints(work_items, schedule, "MDRangePolicy")
        self.lower, self.upper, self.tile = first, last, extents
        self.iterate = (outer, inner) if outer else inner
        self.items_per_thread, self.launch_bounds = calls, most or None
        self.space = None if space is None else resolve(space)
        self.bounds = first + last + (extents or ())
        tiled, nonnegative = extents is not None, min(first) >= 0
        spec = policy_spec(
            "mdrange", rank, inner, tiled, nonnegative, calls, most, dynamic=hints.dynamic,
            lanes=lanes_of(lanes, "MDRangePolicy", PolicyError), outer=outer,
            occupancy=as_occupancy(occupancy, "MDRangePolicy"), work_items=hints.spec,
        )  # fmt: skip
        self.key = (spec, self.space)
        if not MAY_CHANGE_CLASS or cls is not MDRangePolicy:
            self = with_class(self, cls)
        else:
            self.__class__ = cls
        if plain and exact:
            keep(_boxes, (lower, upper, space), self)
        return self  # type: ignore[no-any-return]

    def _calls(self) -> int | tuple[int, ...] | None:
        """The option `items_per_thread` that gives the same: of one number, that number."""
        calls = self.items_per_thread
        return calls[0] if len(calls) == 1 else calls or None

    def _arguments(self) -> tuple[Any, ...]:
        options = {
            "tile": self.tile, "iterate": self.iterate, "items_per_thread": self._calls(),
            "launch_bounds": self.launch_bounds, "schedule": _named_schedule(self),
            "lanes": self.lanes, "occupancy": self.occupancy, "work_items": self.work_items,
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
        calls = f", items_per_thread={self._calls()}" if self.items_per_thread else ""
        bounds = "" if self.launch_bounds is None else f", launch_bounds={self.launch_bounds}"
        schedule = _shown_schedule(self)
        lanes = "" if self.lanes is None else f", lanes={self.lanes}"
        hints = f"{lanes}{self._hints_shown()}"
        options = f"{tile}{order}{calls}{bounds}{schedule}{hints}{on_space(self.space)}"
        return f"MDRangePolicy({self.lower}, {self.upper}{options})"


def _schedule(spec: PolicySpec) -> str:
    return DYNAMIC if spec.dynamic else STATIC


def _named_schedule(policy: RangePolicy | MDRangePolicy) -> str | None:
    """The schedule that a policy names, or None where the other one would be no other."""
    named = policy._hinted.schedule
    if named == STATIC and "irregular" not in policy._hinted.words:
        return None
    return named


def _shown_schedule(policy: RangePolicy | MDRangePolicy) -> str:
    """The schedule of a policy in its repr."""
    schedule = _named_schedule(policy)
    return "" if schedule is None else f", schedule={schedule!r}"


Policy = RangePolicy | MDRangePolicy

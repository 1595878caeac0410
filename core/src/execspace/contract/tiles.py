"""Tiles: the extents of the blocks in which a space goes through a range of several dimensions.

Data, not code. A space has a `TileTable`, a plugin may replace it, `default_tile` tells what is in
it, and tables that have a name can be asked for by it, those of Kokkos for comparison.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from math import prod
from typing import Protocol

from ..base import ports
from ..base.brief import brief
from ..base.dataclass import dataclass
from ..base.errors import PolicyError

__all__ = [
    "TileTable",
]

PACKED = "packed stencil"
ACCESS = ("stream", "stencil", PACKED, "transpose", "gather", "loop")
MOST_PER_THREAD = 16  # calls
MOST_DIMENSIONS = 6

Tiles = Mapping[str, Mapping[int, tuple[int, ...]]]


@dataclass(frozen=True)
class TileTable:
    """Tiles by a kernel's access pattern and the rank of its range.

    Attributes
    ----------
    name : str
        What users call it: ``MDRangePolicy(..., tile="name")``.
    tiles : mapping
        Access pattern -> rank -> extents, that of the fastest dimension first. Patterns are
        "stream" (each call touches elements of its own), "stencil" (neighbours are read),
        "packed stencil" (a stencil of elements of less than 8 bytes, of which a thread takes
        neighbours along the fastest dimension by one access: its calls there are as many as fill
        16 bytes; without an entry there are no packs),
        "transpose" (two Views whose contiguous dimensions differ; the second extent is that of
        the other one's), "gather" (places that are read from a View) and "loop" (neighbours share
        what they read in a loop, or how long it takes). 0 stands for the whole extent of the range.
        Where there is no entry, nothing is tiled.
    items_per_thread : mapping
        As `tiles`: calls of one thread in each dimension. Where there is no entry, one.
    space : str
        Name of the space whose own table this one replaces; none if empty.
    summary : str
        One line; where the table comes from.

    Raises
    ------
    PolicyError
        If a pattern is not known, extents are not as many integers as the rank, or a thread would
        have more than 16 calls.
    """

    name: str
    tiles: Tiles
    items_per_thread: Tiles = field(default_factory=dict)
    space: str = ""
    summary: str = ""

    def __post_init__(self) -> None:
        self._check("tile", self.tiles, 0)
        self._check("items_per_thread", self.items_per_thread, 1)
        if PACKED in self.items_per_thread:
            raise PolicyError(
                f"TileTable '{self.name}': items_per_thread has an entry for '{PACKED}', where a "
                f"thread runs the calls of a pack; give tiles alone."
            )
        for access, ranks in self.items_per_thread.items():
            for rank, calls in ranks.items():
                if prod(calls) > MOST_PER_THREAD:
                    raise PolicyError(
                        f"TileTable '{self.name}': items_per_thread {calls} gives a thread "
                        f"{prod(calls)} calls; expected at most {MOST_PER_THREAD}."
                    )
                if self.find(access, rank) is None:
                    raise PolicyError(
                        f"TileTable '{self.name}': items_per_thread has an entry for "
                        f"{brief(access)} of rank {rank}, and tiles has none; give both."
                    )

    def _check(self, what: str, table: Tiles, least: int) -> None:
        if not isinstance(table, Mapping) or not all(
            isinstance(ranks, Mapping) for ranks in table.values()
        ):
            raise PolicyError(
                f"TileTable '{self.name}': {what} {brief(table)}; expected a mapping of patterns "
                f"to mappings of ranks to extents."
            )
        for access, ranks in table.items():
            if access not in ACCESS:
                raise PolicyError(
                    f"TileTable '{self.name}': access pattern {brief(access)}; expected one of "
                    f"{ACCESS}."
                )
            for rank, extents in ranks.items():
                fitting = rank in range(1, MOST_DIMENSIONS + 1) and isinstance(extents, tuple)
                if not fitting or len(extents) != rank or not are_integers(extents, least):
                    raise PolicyError(
                        f"TileTable '{self.name}': {what} {brief(extents)} of rank {brief(rank)}; "
                        f"expected a tuple of as many integers of at least {least}, and a rank of "
                        f"1 to {MOST_DIMENSIONS}."
                    )

    def find(self, access: str, rank: int) -> tuple[int, ...] | None:
        """Extents, the fastest first; None where nothing is tiled."""
        return self.tiles.get(access, {}).get(rank)

    def find_per_thread(self, access: str, rank: int) -> tuple[int, ...]:
        """Calls of one thread, the fastest dimension first."""
        return self.items_per_thread.get(access, {}).get(rank, (1,) * rank)

    def _repr_html_(self) -> str:
        from ..base import html

        ranks = sorted({rank for table in self.tiles.values() for rank in table})
        rows = [[access, *(self._cell(access, rank) for rank in ranks)] for access in self.tiles]
        heads = ["", *(f"rank {rank}" for rank in ranks)]
        whose = self.space and f"of space '{self.space}'"
        note = "; ".join(t for t in (whose, self.summary, "the fastest dimension first") if t)
        title = f"Tiles '{self.name}'"
        if not ranks:
            return html.page(html.headline(title, self.summary))
        return html.page(html.table(heads, rows, title=title, note=note, row_names=True))

    def _cell(self, access: str, rank: int) -> str:
        """A tile as text, and the calls of a thread where they are more than one."""
        tile = " x ".join(map(str, self.find(access, rank) or ()))
        calls = self.find_per_thread(access, rank)
        return tile if prod(calls) == 1 else f"{tile}, {' x '.join(map(str, calls))} a thread"


def are_integers(values: Sequence[object], least: int) -> bool:
    """Whether all are integers of at least that."""
    return all(isinstance(v, int) and v >= least for v in values)


def _all(tiles: Mapping[int, tuple[int, ...]]) -> Tiles:
    return dict.fromkeys(ACCESS, tiles)


# What Kokkos uses whatever the kernel does. Of the release of 2026: pull request 8731.
KOKKOS = (
    TileTable(
        "kokkos",
        _all({2: (16, 2), 3: (16, 2, 2), 4: (16, 2, 2, 2), 5: (16, 2, 2, 2, 2),
              6: (16, 2, 2, 2, 2, 1)}),
        summary="Kokkos up to 5.0 on CUDA",
    ),
    TileTable(
        "kokkos-2026",
        _all({2: (64, 4), 3: (32, 2, 4), 4: (16, 2, 2, 4), 5: (16, 2, 4, 2, 1),
              6: (8, 4, 2, 2, 2, 1)}),
        summary="Kokkos of 2026 on CUDA, https://github.com/kokkos/kokkos/pull/8731",
    ),
    TileTable(
        "kokkos-hip",
        _all({2: (16, 4), 3: (16, 4, 4), 4: (16, 4, 4, 1), 5: (16, 4, 4, 1, 1),
              6: (16, 4, 4, 1, 1, 1)}),
        summary="Kokkos up to 5.0 on HIP",
    ),
    TileTable(
        "kokkos-2026-hip",
        _all({2: (64, 4), 3: (32, 2, 4), 4: (16, 4, 2, 2), 5: (16, 4, 2, 2, 1),
              6: (8, 4, 2, 2, 2, 1)}),
        summary="Kokkos of 2026 on HIP, https://github.com/kokkos/kokkos/pull/8731",
    ),
    TileTable(
        "kokkos-host",
        _all({rank: (0, *(2,) * (rank - 1)) for rank in range(2, MOST_DIMENSIONS + 1)}),
        summary="Kokkos on Serial, OpenMP and Threads: whole rows, 2 in all other dimensions",
    ),
)  # fmt: skip
NO_TILES = TileTable("none", {}, summary="nothing is tiled")
RESERVED = frozenset(t.name for t in (*KOKKOS, NO_TILES))


class _Tiled(Protocol):
    """What an `ExecutionSpace` says of its tiles."""

    @property
    def name(self) -> str: ...

    @property
    def tiles(self) -> TileTable: ...


def table_of(space: _Tiled) -> TileTable:
    """The table of a space: its own, or that of a plugin which replaces it; maybe `NO_TILES`."""
    own = space.tiles
    if own is NO_TILES:  # it takes tiles from policies only
        return NO_TILES
    replaced: TileTable | None = ports.replaced_tiles(space.name.partition(":")[0])
    return own if replaced is None else replaced


def by_dimension(fast_first: Sequence[int], iterate: str) -> tuple[int, ...]:
    """Extents by dimension of the policy, from those with the fastest first."""
    return tuple(fast_first) if iterate == "left" else tuple(reversed(fast_first))


def fitted(tile: Sequence[int], extents: Sequence[int]) -> tuple[int, ...]:
    """A tile for threads of a device, fitted to a range; both with the fastest dimension first.

    Threads beyond the end of a range do nothing. So a tile does not reach further than a short
    row does, and what the row leaves goes to the next dimensions. A tile whose first extent is a
    multiple of 32 takes a row of up to 128 as a whole, in multiples of 32.
    """
    threads, row = prod(tile), max(1, extents[0])
    if row < 32 or tile[0] % 32:
        first = min(tile[0], 1 << (row - 1).bit_length())
    else:
        whole = -(-row // 32) * 32
        first = whole if whole <= 128 else tile[0]
        covered = -(-row // first) * first
        if covered > 1.25 * row and covered > -(-row // 32) * 32:
            first = 32
    out = [min(first, threads)]
    left = threads // out[0]
    for n in range(1, len(tile)):
        most = left if n < 3 and (n == 1 or out[0] < tile[0]) else tile[n]
        out.append(max(1, min(most, left, 1 << (max(1, extents[n]) - 1).bit_length())))
        left //= out[-1]
    return tuple(out)


def fitted_tile(
    table: TileTable, rank: int, iterate: str, extents: Sequence[int], access: str
) -> tuple[int, ...] | None:
    """`ExecutionSpace.default_tile` of a device: a tile of its table, fitted to the range."""
    found = table.find(access, rank)
    if found is None:
        return None
    fast_first = by_dimension(extents, iterate)  # there and back it is the same
    whole = [t or max(1, n) for t, n in zip(found, fast_first, strict=True)]
    return by_dimension(fitted(whole, fast_first), iterate)

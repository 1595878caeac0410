"""Tables of tiles by their names, and what spaces say of tiles: their own, and the largest."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ..base.brief import brief
from ..base.errors import PolicyError
from ..contract.space import ExecutionSpace
from ..contract.tiles import ACCESS, KOKKOS, MOST_DIMENSIONS, TileTable, are_integers, by_dimension
from ..plugins.registry import find_tiles, registry
from ..plugins.selection import default_space, resolve
from .checks import as_integer

__all__ = [
    "default_tile",
    "max_total_tile_size",
]


def tile_tables() -> dict[str, TileTable]:
    """Tables that have a name: those of Kokkos, and those that plugins registered."""
    return {t.name: t for t in KOKKOS} | registry().tiles


def table_named(name: str) -> TileTable:
    """A table by its name.

    Raises
    ------
    PolicyError
        If there is none.
    """
    found = next((t for t in KOKKOS if t.name == name), None) or find_tiles(name)
    if found is None:
        known = ", ".join(sorted(tile_tables()))
        raise PolicyError(f"No table of tiles is named {brief(name)}; there are: {known}.")
    return found


def named_tile(
    name: str, iterate: str, extents: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Tile of a range and calls of a thread, by dimension, from the table of that name.

    They are those of stencils. No calls: one in each dimension.

    Raises
    ------
    PolicyError
        If there is no such table, it has nothing for this rank, or `iterate` is "auto": which
        dimension is the fastest must be known.
    """
    table, rank = table_named(name), len(extents)
    if iterate not in ("left", "right"):
        raise PolicyError(
            f"MDRangePolicy: tile={brief(name)} gives the fastest dimension another extent than "
            f"the others; say which it is: iterate='left' or iterate='right'."
        )
    found = table.find("stencil", rank)
    if found is None:
        raise PolicyError(
            f"Table of tiles '{name}' has none for stencils of rank {rank}; give extents."
        )
    tile = by_dimension(found, iterate)
    calls = by_dimension(table.find_per_thread("stencil", rank), iterate)
    whole = tuple(t or max(1, n) for t, n in zip(tile, extents, strict=True))
    return whole, calls if prod(calls) > 1 else ()


def default_tile(
    rank: int,
    iterate: str = "right",
    extents: Sequence[int] | None = None,
    *,
    space: str | ExecutionSpace | None = None,
    access: str = "stencil",
    table: str | None = None,
) -> tuple[int, ...] | None:
    """The tile that a space takes for a range, where the policy gives none.

    Parameters
    ----------
    rank : int
        Number of dimensions, 1 to 6.
    iterate : {"right", "left"}
        Which index runs fastest: the last (right), which is taken where nothing is said, or the
        first. A policy with the name of a table must say it.
    extents : sequence of int, optional
        Of the range, by dimension; devices fit tiles to them. Default: far longer than a tile.
    space : str or ExecutionSpace, optional
        Default: the default space.
    access : {"stencil", "stream", "transpose", "gather", "loop"}
        What the kernel does; `explain` says what a space found out about one.
    table : str, optional
        Look into the table of this name, such as "kokkos-2026", instead of the space's own.

    Returns
    -------
    tuple of int or None
        Extents by dimension: on a device those of a block of threads, on a host those of a part of
        the range. None: the range is not tiled. Devices then number the calls, hosts run loops
        over whole rows.

    Raises
    ------
    PolicyError
        If an argument is not one of these, or no table has this name.
    SpaceError
        If the space cannot be used.

    Notes
    -----
    As Kokkos' ``MDRangePolicy::tile_size_recommended``:
    https://kokkos.org/kokkos-core-wiki/API/core/policies/MDRangePolicy.html

    Examples
    --------
    >>> import execspace as es
    >>> es.default_tile(3, table="kokkos-2026", iterate="left")
    (32, 2, 4)
    >>> es.default_tile(3, space="serial") is None
    True
    """
    rank = as_integer(rank, "default_tile: rank")
    if not 1 <= rank <= MOST_DIMENSIONS:
        raise PolicyError(f"default_tile: rank {brief(rank)}; expected 1 to {MOST_DIMENSIONS}.")
    if iterate not in ("left", "right"):
        raise PolicyError(f"default_tile: iterate={brief(iterate)}; expected 'left' or 'right'.")
    if access not in ACCESS:
        raise PolicyError(f"default_tile: access={brief(access)}; expected one of {ACCESS}.")
    whole = (1 << 30,) * rank if extents is None else extents
    if not isinstance(whole, Sequence) or len(whole) != rank or not are_integers(whole, 0):
        raise PolicyError(
            f"default_tile: extents {brief(extents)}; expected {rank} integers of at least 0."
        )
    if table is not None:
        found = table_named(table).find(access, rank)
        if found is None:
            return None
        tile = by_dimension(found, iterate)
        return tuple(t or max(1, n) for t, n in zip(tile, whole, strict=True))
    target = default_space() if space is None else resolve(space)
    return target.default_tile(rank, iterate, whole, access)


def max_total_tile_size(space: str | ExecutionSpace | None = None) -> int | None:
    """Elements of the largest tile that a space runs as one block of threads.

    Parameters
    ----------
    space : str or ExecutionSpace, optional
        Default: the default space.

    Returns
    -------
    int or None
        Of a device the threads of its largest block, whose extents along single axes may be limited
        beyond that. None of a host, which runs a tile of any size as one part.

    Raises
    ------
    SpaceError
        If the space cannot be used.

    Notes
    -----
    A larger tile is no error: it is done in parts, as `explain` tells, and so it is where a kernel
    needs many registers. As Kokkos' ``MDRangePolicy::max_total_tile_size``:
    https://kokkos.org/kokkos-core-wiki/API/core/policies/MDRangePolicy.html

    Examples
    --------
    >>> import execspace as es
    >>> es.max_total_tile_size("serial") is None
    True
    """
    target = default_space() if space is None else resolve(space)
    return target.max_total_tile_size

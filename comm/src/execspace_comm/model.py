"""What a halo exchange will send on any number of ranks, computed without them.

The same arithmetic makes the messages of a `Halo`, so it is exact; `Comm.counting` counts them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from .division import as_extents, as_flags, as_grid
from .errors import CommError
from .field import as_widths
from .grid import coordinates, part
from .regions import gives, most_outside

__all__ = ["HaloTraffic", "halo_traffic"]


@dataclass(frozen=True)
class HaloTraffic:
    """An exchange as one rank sees it.

    Attributes
    ----------
    ranks : tuple of int
        In each dimension.
    own : int
        Indices of the rank.
    messages, nbytes : int
        That it sends to others.
    """

    ranks: tuple[int, ...]
    own: int
    messages: int
    nbytes: int


@dataclass(frozen=True)
class _Division:
    extents: tuple[int, ...]
    ranks: tuple[int, ...]
    periodic: tuple[bool, ...]


def halo_traffic(
    extents: int | Sequence[int],
    size: int,
    *,
    rank: int = 0,
    halo: Any = 1,
    itemsize: int = 8,
    periodic: bool | Sequence[bool] = False,
    reach: str = "corners",
    ranks: Sequence[int] | None = None,
) -> HaloTraffic:
    """What one rank of so many sends in an exchange; nobody need be there.

    Parameters
    ----------
    extents : int or sequence of int
        Global.
    size : int
        Number of ranks.
    rank : int
        Which of them.
    halo, periodic, reach, ranks
        As of `Decomposition` and `Halo`.
    itemsize : int
        Bytes of all fields at an index.

    Examples
    --------
    >>> import execspace_comm as escomm
    >>> escomm.halo_traffic((512, 512, 1024), 2, reach="faces").nbytes == 514 * 514 * 8
    True
    """
    shape = as_extents(extents)
    if size < 1 or not 0 <= rank < size:
        raise CommError(
            f"halo_traffic: rank={rank!r} of size={size!r}; expected a rank from 0, below the size."
        )
    grid = as_grid(ranks, shape, size, "halo_traffic")
    d: Any = _Division(shape, grid, as_flags(periodic, len(shape)))
    widths = as_widths(halo, len(shape))
    found = gives(d, rank, widths, most_outside(reach, len(shape)))
    found.pop(rank, None)
    bounds = [part(n, p, c) for n, p, c in zip(shape, grid, coordinates(rank, grid), strict=True)]
    indices = sum(prod(region.shape) for regions in found.values() for region in regions)
    return HaloTraffic(grid, prod(b - a for a, b in bounds), len(found), indices * itemsize)

"""The geometry of thread blocks: grid and block of a range, within the limits of a device.

It is found at the first launch of a shape and looked up at the next. A tile that no block can hold
is done in parts, by blocks that are as large as they can be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from execspace import ExecutionSpace
from execspace.base.dataclass import dataclass
from execspace.contract.tiles import PACKED, fitted, table_of

from .loops import scale
from .thread_blocks import Blocks

DEFAULT_THREADS = 256  # at most, in a block
ALIGNED = 32  # elements
_FEW = 8  # blocks along x
_MOST = 1 << 31  # extents and numbers of blocks below this fit in 32 bits


@dataclass(frozen=True)
class Limits:
    """Launch limits of a device.

    Attributes
    ----------
    threads : int
        Most threads in a block.
    block, grid : tuple of int
        Largest extents of a block in threads, and of the grid in blocks, along x, y and z.
    """

    threads: int
    block: tuple[int, int, int]
    grid: tuple[int, int, int]


Launch = tuple[int, ...]


class Geometry(dict[tuple[int, ...], Launch]):
    """A cache of grid and block for each range.

    Keys are its extents, and its tile, if it has one, else the lower bound along x modulo
    `ALIGNED`.

    Each value is a tuple of numbers: the source that it needs (bit 0: a wide one, bit 1: one for
    more threads than `usual`), the grid along x, y and z in blocks, none of which is 0 except for
    an empty range, the block along x, y and z in threads, and `Blocks.parameters`.
    """

    most = 4096

    def __init__(
        self,
        blocks: Blocks,
        tile_of: Callable[[tuple[int, ...]], tuple[int, ...]],
        limits: Limits,
        usual: int,
    ) -> None:
        super().__init__()
        self.blocks, self.tile_of, self.limits = blocks, tile_of, limits
        self.usual = usual

    def __missing__(self, key: tuple[int, ...]) -> Launch:
        if len(self) >= self.most:
            self.clear()
        blocks = self.blocks
        rank = blocks.rank
        extents = key[:rank]
        along_x = blocks.dims[0]
        tile = self.block(key)
        # Without a tile of the policy, blocks are aligned to rows of an array, or cache lines.
        before = 0 if blocks.tiled else key[rank]
        least = 0 if blocks.packing is None else before % blocks.packing.count
        if tile[along_x] % ALIGNED or not extents[along_x]:
            before = least
        threads = self._along_axes(tile)
        counts = self._counts(extents, tile, before)
        few = self._counts(extents, tile, least)[along_x]
        if few < min(_FEW, counts[along_x]):  # another block would cost more than alignment gains
            before, counts = least, self._counts(extents, tile, least)
        grid = self._along_axes(counts, blocks.grid)
        wide = any(g > most for g, most in zip(grid, self.limits.grid, strict=True))
        wide = wide or any(n >= _MOST for n in (*extents, *grid))
        if wide and before:
            before, counts = 0, self._counts(extents, tile, 0)
        form = wide | (prod(tile) > self.usual) << 1
        taken = [min(g, most) for g, most in zip(grid, self.limits.grid, strict=True)]
        if 0 in counts:
            taken = [0, 0, 0]
        numbers = []
        for n in blocks.parameters:
            value = before
            if n.what != "before":
                value = (counts if n.what == "blocks" else tile)[n.dimension]
            if n.part:
                value = scale(value if 0 < value < _MOST else 1)[n.part == "shift"]
            numbers.append(value)
        made = self[key] = (form, *taken, *threads, *numbers)
        return made

    def key_of(self, bounds: Sequence[int]) -> tuple[int, ...]:
        """The key of a range, from bounds as a plan's `launch` gets them."""
        rank = self.blocks.rank
        extents = (b - a for a, b in zip(bounds[:rank], bounds[rank : 2 * rank], strict=True))
        if self.blocks.tiled:
            return (*extents, *bounds[2 * rank :])
        return (*extents, bounds[self.blocks.dims[0]] & (ALIGNED - 1))

    def tile(self, key: tuple[int, ...]) -> tuple[int, ...]:
        """The tile of a range: the policy's, or the space's choice."""
        rank = self.blocks.rank
        return key[rank:] if self.blocks.tiled else self.tile_of(key[:rank])

    def block(self, key: tuple[int, ...]) -> tuple[int, ...]:
        """Threads of a block by dimension: the tile, or a part of it that a block can hold.

        Parts cover the range as tiles would, so where they end need not be where a tile does.
        """
        tile, dims = self.tile(key), self.blocks.dims
        if not self.exceeded(tile):
            return tile
        busy = self._busy(key)
        return _by_dimension(dims, _shortened([busy[d] for d in dims], self.limits))

    def parts(self, key: tuple[int, ...]) -> int:
        """Blocks for one tile, or for what the range has of it."""
        return prod(-(-n // b) for n, b in zip(self._busy(key), self.block(key), strict=True))

    def exceeded(self, tile: Sequence[int]) -> dict[str, int]:
        """Limits of a block that a tile exceeds: threads in "all", or along "x", "y" or "z"."""
        threads = (prod(tile), *self._along_axes(tile))
        most = (self.limits.threads, *self.limits.block)
        each = zip(("all", *"xyz"), threads, most, strict=True)
        return {where: limit for where, n, limit in each if n > limit}

    def _busy(self, key: tuple[int, ...]) -> tuple[int, ...]:
        """Extents of the threads of a tile that have something to do in the range."""
        calls = self.blocks.items_per_thread
        every = zip(self.tile(key), key, calls, strict=False)  # a key begins with the extents
        return tuple(min(t, max(1, -(-n // p))) for t, n, p in every)

    def _along_axes(self, values: Sequence[int], dims: Sequence[int] = ()) -> list[int]:
        """Products over the dimensions along x, y and z; by default those of a block."""
        dims = dims or self.blocks.dims
        return [prod(values[d] for d in part) for part in (dims[:1], dims[1:2], dims[2:])]

    def _counts(self, extents: Sequence[int], tile: Sequence[int], before: int) -> list[int]:
        """Blocks along each dimension."""
        whole = list(extents)
        whole[self.blocks.dims[0]] += before
        calls = self.blocks.items_per_thread
        return [-(-n // (t * p)) for n, t, p in zip(whole, tile, calls, strict=True)]


def tile_chooser(
    blocks: Blocks, space: ExecutionSpace, limits: Limits, larger: bool = False
) -> Callable[[tuple[int, ...]], tuple[int, ...]]:
    """A function from extents to the tile by dimension, for a policy without one; `larger`: of up
    to as many threads as a block has."""
    rank, dims = blocks.rank, blocks.dims
    pattern = blocks.pattern

    def choose(extents: tuple[int, ...]) -> tuple[int, ...]:
        ordered = [-(-extents[d] // blocks.items_per_thread[d]) for d in dims]
        # The first of `dims` is the fastest, whatever the order of the policy.
        found = space.default_tile(rank, "left", ordered, pattern)
        whole = table_of(space).find(pattern, rank) if pattern == PACKED else None
        # Packs make short rows of threads long enough: tiles with several rows share more.
        if whole is not None and all(0 < t <= n for t, n in zip(whole, ordered, strict=True)):
            found = whole
        if found is None:
            general = (64, 4, *(1,) * (rank - 2)) if rank > 1 else (128,)
            found = fitted(general, ordered)
        if larger:
            found = tuple(_lengthened(found, ordered, limits.threads))
        # Launch bounds, or a kernel of many registers, may allow fewer threads than the tile has.
        return _by_dimension(dims, _shortened(found, limits))

    return choose


def _lengthened(tile: Sequence[int], extents: Sequence[int], threads: int) -> list[int]:
    """A tile of up to so many threads, longer in the slower of the first two dimensions."""
    out = list(tile)
    for n in (1, 0):
        while n < len(out) and 2 * prod(out) <= threads and out[n] < extents[n]:
            out[n] *= 2
    return out


def _shortened(tile: Sequence[int], limits: Limits) -> list[int]:
    """A tile that a block can hold, from one that it may not; the fastest dimension first."""
    out = list(tile)
    rank = len(out)
    for axis, part in enumerate((slice(1), slice(1, 2), slice(2, rank))):
        while prod(out[part]) > limits.block[axis]:
            _halve(out, part)
    while prod(out) > limits.threads:
        # The fastest dimension last, so that accesses stay coalesced.
        _halve(out, slice(1, rank) if prod(out[1:]) > 1 else slice(1))
    return out


def _by_dimension(dims: Sequence[int], fast_first: Sequence[int]) -> tuple[int, ...]:
    """Extents by dimension of the policy."""
    found = dict(zip(dims, fast_first, strict=True))
    return tuple(found[d] for d in range(len(dims)))


def _halve(tile: list[int], part: slice) -> None:
    """Halve the largest extent of some dimensions; rows go on beginning at lines of the cache."""
    widest = max(range(*part.indices(len(tile))), key=lambda n: (tile[n], n))
    half = -(-tile[widest] // 2)
    if widest == 0 and half > ALIGNED:
        half += -half % ALIGNED
    tile[widest] = half

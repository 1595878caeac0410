"""Products of matrices on devices: a team for each block of C, which scratch memory and registers
share out.

A team goes through the columns of A and the rows of B some at a time: what comes next is read into
registers while what is in scratch memory is multiplied. Each thread has a tile of C in registers,
cut into pieces of as many neighbours as one load of 16 bytes has; the threads of a warp are a
rectangle, so that they read few words of scratch memory. Blocks whose rows are close run at about
the same time, and find what they share in the cache.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import execspace as es

from ..arguments import largest_team, static
from .elements import conjugate
from .operands import runs_along
from .stored import stored

__all__ = ["multiply"]

_PIECE = 16  # bytes that a thread loads at once
_NEAR = 8  # columns of A in scratch memory, twice
_GROUP = 16  # block rows that run side by side
_ITEMS = 2048  # work items that one processor of a device runs at once


class _Tile(NamedTuple):
    """A thread has `high` by `wide` elements of C, and a team `down` by `across` threads."""

    high: int
    wide: int
    down: int
    across: int

    @property
    def block(self) -> tuple[int, int]:
        """Rows and columns of C that a team has."""
        return self.high * self.down, self.wide * self.across


# By bytes of an element, from large blocks to small ones.
_TILES = {
    4: (_Tile(16, 8, 8, 16), _Tile(8, 4, 8, 16), _Tile(4, 2, 8, 16)),
    8: (_Tile(8, 8, 16, 8), _Tile(4, 4, 16, 8), _Tile(2, 2, 16, 8)),
    16: (_Tile(4, 8, 16, 8), _Tile(2, 4, 16, 8), _Tile(1, 2, 16, 8)),
}
_OF_ONE = _Tile(4, 4, 1, 1)  # where teams are small


def multiply(
    what: str, A: es.View, B: es.View, C: es.View, kind: np.dtype[Any], alpha: Any, beta: Any,
    space: es.ExecutionSpace, conj_a: str, conj_b: str, part: str, hermitian: str,
) -> None:  # fmt: skip
    """C = beta C + alpha A B; C runs along columns; the parameters are those of
    `matrix_products.multiply`."""
    tile = _tile(C.shape, kind, space)
    (high, wide, down, across), (rows, columns) = tile, tile.block
    pair = max(1, min(_PIECE // kind.itemsize, high, wide))
    teams = -(-C.shape[0] // rows) * -(-C.shape[1] // columns)
    lanes = (down, max(1, 32 // down)) if down * across >= 32 else (1, 1)
    if kind.itemsize == 4 and down * across >= 32:
        lanes = (8, 4)
    es.parallel_for(
        es.TeamPolicy(teams, down * across, space=space), _block, A, B, C, kind.type, high, wide,
        down, across, *lanes, _NEAR, pair, _GROUP, runs_along(A), runs_along(B), conj_a, conj_b,
        part, hermitian, alpha, beta, "set" if beta == 0 else "add",
        label=f"{what} teams",
    )  # fmt: skip


def _tile(shape: tuple[int, ...], kind: np.dtype[Any], space: es.ExecutionSpace) -> _Tile:
    """The largest tile with which all processors of a device have a block."""
    tiles = _TILES[min(max(kind.itemsize, 4), 16)]
    if largest_team(space) < tiles[0].down * tiles[0].across:
        return _OF_ONE
    for tile in tiles:
        rows, columns = tile.block
        if -(-shape[0] // rows) * -(-shape[1] // columns) >= space.concurrency // _ITEMS:
            return tile
    return tiles[-1]


# -- kernels --------------------------------------------------------------------------------------


def _block(
    team: Any, A: Any, B: Any, C: Any, kind: Any, high: static, wide: static, down: static,
    across: static, lanes_down: static, lanes_across: static, near: static, pair: static,
    group: Any, beside_a: Any, beside_b: Any, conj_a: Any, conj_b: Any, part: Any,
    hermitian: Any, alpha: Any, beta: Any, how: Any,
) -> None:  # fmt: skip
    m, n, depth = C.extent(0), C.extent(1), A.extent(1)
    t = team.team_rank
    rows = (m + high * down - 1) // (high * down)
    columns = (n + wide * across - 1) // (wide * across)
    g = team.league_rank // (group * columns)
    tall = min(group, rows - g * group)
    inside = team.league_rank - g * group * columns
    # The bounds, which hold anyway, let indices be of 32 bits.
    first = max(0, min((g * group + inside % tall) * (high * down), m - 1))
    left = max(0, min(inside // tall * (wide * across), n - 1))
    p = t % lanes_down + t // (lanes_down * lanes_across) % (down // lanes_down) * lanes_down
    q = t // lanes_down % lanes_across
    q += t // (lanes_down * lanes_across * (down // lanes_down)) * lanes_across
    end = depth
    if part == "lower":
        if left >= first + high * down:
            end = 0
    elif part == "upper":
        if first >= left + wide * across:
            end = 0
    of_a = team.scratch((2, near, high * down + pair), kind)
    of_b = team.scratch((2, near, wide * across + pair), kind)
    next_a = es.local(near * high // across, kind)
    next_b = es.local(near * wide // down, kind)
    sums = es.local((high, wide), kind)
    steps = (end + near - 1) // near
    for s in range(-1, steps):
        if s + 1 < steps:
            base = max(0, min((s + 1) * near, depth - 1))
            if base + near <= depth:
                for e in range(near * high // across):
                    f = e * (down * across) + t
                    r = f % (high * down) if beside_a == "left" else f // near
                    c = f // (high * down) if beside_a == "left" else f % near
                    next_a[e] = conjugate(kind(A[min(first + r, m - 1), base + c]), conj_a)
                for e in range(near * wide // down):
                    f = e * (down * across) + t
                    r = f % near if beside_b == "left" else f // (wide * across)
                    c = f // near if beside_b == "left" else f % (wide * across)
                    next_b[e] = conjugate(kind(B[base + r, min(left + c, n - 1)]), conj_b)
            else:
                for e in range(near * high // across):
                    f = e * (down * across) + t
                    r = f % (high * down) if beside_a == "left" else f // near
                    c = f // (high * down) if beside_a == "left" else f % near
                    row, column = min(first + r, m - 1), min(base + c, depth - 1)
                    next_a[e] = conjugate(kind(A[row, column]), conj_a)
                    if base + c >= depth:
                        next_a[e] = 0
                for e in range(near * wide // down):
                    f = e * (down * across) + t
                    r = f % near if beside_b == "left" else f // (wide * across)
                    c = f // near if beside_b == "left" else f % (wide * across)
                    row, column = min(base + r, depth - 1), min(left + c, n - 1)
                    next_b[e] = conjugate(kind(B[row, column]), conj_b)
                    if base + r >= depth:
                        next_b[e] = 0
        if s >= 0:
            now = s & 1
            x = es.local((2, high), kind)
            y = es.local((2, wide), kind)
            for u in range(high):
                x[0, u] = of_a[now, 0, p * pair + u % pair + u // pair * (pair * down)]
            for v in range(wide):
                y[0, v] = of_b[now, 0, q * pair + v % pair + v // pair * (pair * across)]
            for k in range(near):
                # What the next step needs comes while this one is multiplied.
                for u in range(high):
                    i = p * pair + u % pair + u // pair * (pair * down)
                    x[(k + 1) % 2, u] = of_a[now, (k + 1) % near, i]
                for v in range(wide):
                    j = q * pair + v % pair + v // pair * (pair * across)
                    y[(k + 1) % 2, v] = of_b[now, (k + 1) % near, j]
                for v in range(wide):
                    for u in range(high):
                        sums[u, v] += x[k % 2, u] * y[k % 2, v]
        if s + 1 < steps:
            then = (s + 1) & 1
            for e in range(near * high // across):
                f = e * (down * across) + t
                r = f % (high * down) if beside_a == "left" else f // near
                c = f // (high * down) if beside_a == "left" else f % near
                of_a[then, c, r] = next_a[e]
            for e in range(near * wide // down):
                f = e * (down * across) + t
                r = f % near if beside_b == "left" else f // (wide * across)
                c = f // near if beside_b == "left" else f % (wide * across)
                of_b[then, r, c] = next_b[e]
            team.barrier()
    for v in range(wide):
        for u in range(high):
            i = first + p * pair + u % pair + u // pair * (pair * down)
            j = left + q * pair + v % pair + v // pair * (pair * across)
            if i < m and j < n:
                stored(C, i, j, sums[u, v], alpha, beta, how, part, hermitian)

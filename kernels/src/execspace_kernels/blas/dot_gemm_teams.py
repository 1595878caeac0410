"""Products A^T B of tall matrices on devices, slab of rows by slab.

As in `gemm_teams`, rows come to registers while those before are multiplied out of scratch memory,
and each thread has a tile of C in registers; threads of a team that have the same tile share out
the rows. A^T A is symmetric, so there threads have the tiles of a triangle of C only, and the other
one is its mirror. Of more columns than a team has tiles for, blocks of C have teams of their own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import execspace as es

from ..arguments import largest_team, static
from .elements import conjugate
from .operands import is_same, runs_along

__all__ = ["multiply"]

_THREADS = 64  # of a team at least
_MOST_THREADS = 256
_BLOCK = 64  # columns of A, and of B, whose tiles one team has
_BYTES = 11520  # of rows that a team reads at once
_PIECE = 16  # bytes that a thread loads at once
_ITEMS = 512  # work items that a device runs at once, for each slab


class _Tiles(NamedTuple):
    """A thread has `high` columns of A and `wide` ones of B; so many `tiles` have a block of C,
    `down` by `across` or those of a triangle, for so many `threads`."""

    high: int
    wide: int
    down: int
    across: int
    tiles: int
    threads: int

    @property
    def groups(self) -> int:
        """Threads that have the same tile."""
        return max(self.threads // self.tiles, 1)


def multiply(
    A: es.View, B: es.View, kind: np.dtype[Any], space: es.ExecutionSpace, conj: str
) -> es.View:
    """The products of slabs of rows, of shape (k n, slabs)."""
    (m, k), n = A.shape, B.shape[1]
    most = min(_MOST_THREADS, largest_team(space))
    of, is_one = _tiles(k, n, kind, most, is_same(A, B))
    height, width = of.high * of.down, of.wide * of.across
    pair = max(1, min(_PIECE // kind.itemsize, of.high, of.wide))
    # Rows of scratch memory begin in different banks: for those who read several at once, and for
    # those who store columns.
    pad_a, pad_b = (8 if runs_along(v) == "right" else pair for v in (A, B))
    row = (height + pad_a + (0 if is_one else width + pad_b)) * kind.itemsize
    near = max(1, _BYTES // row // of.groups) * of.groups
    blocks = -(-k // height) * -(-n // width)
    slabs = max(1, min(space.concurrency // _ITEMS // max(blocks, 1), -(-m // near)))
    parts = es.View(
        (k * n, slabs), kind, label="parts", space=space, layout="right", initialize=False
    )
    if k and n:
        es.parallel_for(
            es.TeamPolicy(slabs * blocks, of.threads, space=space), _slab, A, B, parts, kind.type,
            *of[:5], of.groups, near, 1 if is_one else near, -(-near * height // of.threads),
            1 if is_one else -(-near * width // of.threads), pair, pad_a, pad_b, -(-m // slabs),
            slabs, runs_along(A), runs_along(B), "yes" if is_one else "no", conj,
            label="dot_gemm teams",
        )  # fmt: skip
    return parts


def _tiles(
    k: int, n: int, kind: np.dtype[Any], most: int, is_same: bool
) -> tuple[_Tiles, bool]:  # fmt: skip
    """What threads have of C, at most so many of them; and whether of a triangle of it."""
    most_high = 4 if kind.itemsize > 8 else 8
    high, wide = (min(most_high, 1 << max(c - 1, 0).bit_length()) for c in (k, n))
    down, across = (max(-(-min(c, _BLOCK) // t), 1) for c, t in ((k, high), (n, wide)))
    tiles = down * (down + 1) // 2
    is_one = is_same and k <= high * down and tiles <= most
    if is_one:
        wide, across = high, down
    else:
        while down * across > most:
            down, across = (max(v // 2, 1) for v in (down, across))
        tiles = down * across
    threads = min(_THREADS * -(-tiles // _THREADS), most)
    return _Tiles(high, wide, down, across, tiles, threads), is_one


# -- kernels --------------------------------------------------------------------------------------


def _slab(
    team: Any, A: Any, B: Any, parts: Any, kind: Any, high: static, wide: static, down: static,
    across: static, tiles: static, groups: static, near: static, near_of_b: static, each_a: static,
    each_b: static, pair: static, pad_a: static, pad_b: static, span: Any, slabs: Any,
    beside_a: Any, beside_b: Any, one: Any, conj: Any,
) -> None:  # fmt: skip
    m, k, n = A.extent(0), A.extent(1), B.extent(1)
    of_a = team.scratch((2, near, high * down + pad_a), kind)
    of_b = team.scratch((2, near_of_b, wide * across + pad_b), kind)
    found = team.scratch(tiles * groups, kind)
    t = team.team_rank
    tile = t % tiles
    group = t // tiles
    p = tile % down
    q = tile // down
    if one == "yes":
        # The tiles of the first column of the triangle, of the second one, and so on.
        p = tile
        q = 0
        for c in range(down):
            if q == c and p >= down:
                p = p - down + c + 1
                q = c + 1
    # The bounds, which hold anyway, let indices be of 32 bits.
    slab = team.league_rank % slabs
    block = team.league_rank // slabs
    blocks = (k + high * down - 1) // (high * down)
    left = max(0, min(block % blocks * (high * down), k - 1))
    right = max(0, min(block // blocks * (wide * across), n - 1))
    begin = max(0, min(slab * span, m))
    end = max(0, min(begin + span, m))
    sums = es.local((high, wide), kind)
    next_a = es.local(each_a, kind)
    next_b = es.local(each_b, kind)
    steps = (end - begin + near - 1) // near
    for s in range(-1, steps):
        if s + 1 < steps:
            first = max(0, min(begin + (s + 1) * near, m - 1))
            if first + near <= end:
                for e in range(each_a):
                    f = e * team.team_size + t
                    r = f % near if beside_a == "left" else f // (high * down)
                    c = f // near if beside_a == "left" else f % (high * down)
                    next_a[e] = A[min(first + r, m - 1), min(left + c, k - 1)]
                if one == "no":
                    for e in range(each_b):
                        f = e * team.team_size + t
                        r = f % near if beside_b == "left" else f // (wide * across)
                        c = f // near if beside_b == "left" else f % (wide * across)
                        next_b[e] = B[min(first + r, m - 1), min(right + c, n - 1)]
            else:
                for e in range(each_a):
                    f = e * team.team_size + t
                    r = f % near if beside_a == "left" else f // (high * down)
                    c = f // near if beside_a == "left" else f % (high * down)
                    next_a[e] = A[min(first + r, m - 1), min(left + c, k - 1)]
                    if first + r >= end:
                        next_a[e] = 0
                if one == "no":
                    for e in range(each_b):
                        f = e * team.team_size + t
                        r = f % near if beside_b == "left" else f // (wide * across)
                        c = f // near if beside_b == "left" else f % (wide * across)
                        next_b[e] = B[min(first + r, m - 1), min(right + c, n - 1)]
                        if first + r >= end:
                            next_b[e] = 0
        if s >= 0:
            if group < groups:
                now = s & 1
                x = es.local((2, high), kind)
                y = es.local((2, wide), kind)
                for u in range(high):
                    i = p * pair + u % pair + u // pair * (pair * down)
                    x[0, u] = of_a[now, group, i]
                for v in range(wide):
                    j = q * pair + v % pair + v // pair * (pair * across)
                    if one == "yes":
                        y[0, v] = of_a[now, group, j]
                    else:
                        y[0, v] = of_b[now, group, j]
                for h in range(near // groups):
                    # What the next step needs comes while this one is multiplied.
                    r = (h + 1) % (near // groups) * groups + group
                    for u in range(high):
                        i = p * pair + u % pair + u // pair * (pair * down)
                        x[(h + 1) % 2, u] = of_a[now, r, i]
                    for v in range(wide):
                        j = q * pair + v % pair + v // pair * (pair * across)
                        if one == "yes":
                            y[(h + 1) % 2, v] = of_a[now, r, j]
                        else:
                            y[(h + 1) % 2, v] = of_b[now, r, j]
                    for v in range(wide):
                        for u in range(high):
                            sums[u, v] += conjugate(x[h % 2, u], conj) * y[h % 2, v]
        if s + 1 < steps:
            then = (s + 1) & 1
            for e in range(each_a):
                f = e * team.team_size + t
                r = f % near if beside_a == "left" else f // (high * down)
                c = f // near if beside_a == "left" else f % (high * down)
                if f < near * (high * down):
                    of_a[then, r, c] = next_a[e]
            if one == "no":
                for e in range(each_b):
                    f = e * team.team_size + t
                    r = f % near if beside_b == "left" else f // (wide * across)
                    c = f // near if beside_b == "left" else f % (wide * across)
                    if f < near * (wide * across):
                        of_b[then, r, c] = next_b[e]
            team.barrier()
    for u in range(high):
        for v in range(wide):
            if group < groups:
                found[t] = sums[u, v]
            team.barrier()
            if group == 0:
                total = found[tile]
                for g in range(1, groups):
                    total += found[g * tiles + tile]
                i = left + p * pair + u % pair + u // pair * (pair * down)
                j = right + q * pair + v % pair + v // pair * (pair * across)
                if i < k and j < n:
                    parts[i * n + j, slab] = total
                    if one == "yes":
                        if i != j:
                            parts[j * n + i, slab] = conjugate(total, conj)
            team.barrier()

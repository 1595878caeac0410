"""Products of a tall matrix with itself, A^T A, for `dot_gemm` on devices.

They are symmetric, so threads have the tiles of a triangle of C only; the other one is its mirror.
As in `gemm_teams`, rows come to registers while those before are multiplied out of scratch memory.
Threads of a team that have the same tile share out the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..arguments import largest_team, static
from .elements import conjugate
from .operands import runs_along

__all__ = ["most_columns", "slabs_of_gram"]

_THREADS = 64  # of a team
_BYTES = 10240  # of rows that a team reads at once
_PIECE = 16  # bytes that a thread loads at once
_ITEMS = 512  # work items that a device runs at once, for each slab


def most_columns(space: es.ExecutionSpace, kind: np.dtype[Any]) -> int:
    """How many columns there may be, so that a team has a thread for each tile."""
    most = min(4 * _THREADS, largest_team(space))
    down = 1
    while (down + 1) * (down + 2) // 2 <= most:
        down += 1
    return min(down, 8) * _most_high(kind)


def slabs_of_gram(
    A: es.View, parts: Any, kind: np.dtype[Any], space: es.ExecutionSpace, conj: str
) -> es.View:
    """The products of slabs of rows, of shape (k k, slabs), from `parts(k k, slabs)`."""
    m, k = A.shape
    high = 1
    while high < min(k, _most_high(kind)):
        high *= 2
    down = -(-k // high)
    tiles = down * (down + 1) // 2
    threads = min(_THREADS * -(-tiles // _THREADS), largest_team(space))
    groups = max(1, threads // tiles)
    pair = max(1, min(_PIECE // kind.itemsize, high))
    # Rows of scratch memory begin in different banks: for those who read several at once, and for
    # those who store columns.
    pad = 8 if runs_along(A) == "right" else pair
    width = high * down + pad
    near = max(1, _BYTES // (width * kind.itemsize) // groups) * groups
    slabs = max(1, min(space.concurrency // _ITEMS, -(-m // near)))
    found: es.View = parts(k * k, slabs)
    es.parallel_for(
        es.TeamPolicy(slabs, threads, space=space), _slab, A, found, kind.type, high, down, tiles,
        groups, near, -(-near * high * down // threads), pair, pad, -(-m // slabs), runs_along(A),
        conj, label="dot_gemm gram",
    )  # fmt: skip
    return found


def _most_high(kind: np.dtype[Any]) -> int:
    return 4 if kind.itemsize > 8 else 8


def _slab(
    team: Any, A: Any, parts: Any, kind: Any, high: static, down: static, tiles: static,
    groups: static, near: static, each: static, pair: static, pad: static, span: Any, beside: Any,
    conj: Any,
) -> None:  # fmt: skip
    m, k = A.extent(0), A.extent(1)
    rows = team.scratch((2, near, high * down + pad), kind)
    found = team.scratch(tiles * groups, kind)
    t = team.team_rank
    tile = t % tiles
    group = t // tiles
    # The tiles of the first column of the triangle, of the second one, and so on.
    p = tile
    q = 0
    for c in range(down):
        if q == c and p >= down:
            p = p - down + c + 1
            q = c + 1
    sums = es.local((high, high), kind)
    coming = es.local(each, kind)
    slab = team.league_rank
    # The bounds, which hold anyway, let indices be of 32 bits.
    begin = max(0, min(slab * span, m))
    end = max(0, min(begin + span, m))
    steps = (end - begin + near - 1) // near
    for s in range(-1, steps):
        if s + 1 < steps:
            first = max(0, min(begin + (s + 1) * near, m - 1))
            for e in range(each):
                f = e * team.team_size + t
                r = f % near if beside == "left" else f // (high * down)
                c = f // near if beside == "left" else f % (high * down)
                coming[e] = A[min(first + r, m - 1), min(c, k - 1)]
                if first + r >= end:
                    coming[e] = 0
        if s >= 0:
            if group < groups:
                now = s & 1
                x = es.local((2, high), kind)
                y = es.local((2, high), kind)
                for u in range(high):
                    i = u % pair + u // pair * (pair * down)
                    x[0, u] = rows[now, group, p * pair + i]
                    y[0, u] = rows[now, group, q * pair + i]
                for h in range(near // groups):
                    # What the next step needs comes while this one is multiplied.
                    for u in range(high):
                        i = u % pair + u // pair * (pair * down)
                        r = (h + 1) % (near // groups) * groups + group
                        x[(h + 1) % 2, u] = rows[now, r, p * pair + i]
                        y[(h + 1) % 2, u] = rows[now, r, q * pair + i]
                    for v in range(high):
                        for u in range(high):
                            sums[u, v] += conjugate(x[h % 2, u], conj) * y[h % 2, v]
        if s + 1 < steps:
            then = (s + 1) & 1
            for e in range(each):
                f = e * team.team_size + t
                r = f % near if beside == "left" else f // (high * down)
                c = f // near if beside == "left" else f % (high * down)
                if f < near * (high * down):
                    rows[then, r, c] = coming[e]
            team.barrier()
    for u in range(high):
        for v in range(high):
            if group < groups:
                found[t] = sums[u, v]
            team.barrier()
            if group == 0:
                total = found[tile]
                for g in range(1, groups):
                    total += found[g * tiles + tile]
                i = p * pair + u % pair + u // pair * (pair * down)
                j = q * pair + v % pair + v // pair * (pair * down)
                if i < k and j < k:
                    parts[i * k + j, slab] = total
                    if i != j:
                        parts[j * k + i, slab] = conjugate(total, conj)
            team.barrier()

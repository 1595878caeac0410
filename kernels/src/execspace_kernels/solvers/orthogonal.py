"""Basis: vectors that GMRES makes orthogonal to each other, as the columns of a View.

The dots of a vector with all others are sums over pieces of rows, which are added in their order:
so they have the same bits in each run, and are one launch. On hosts a work item has a piece, whose
part of all vectors fits into its cache: it subtracts what the first dots say, and goes on to the
second ones while the piece is there. On devices a team has a piece of one dot.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from .columns import Columns, Vector, size_of

__all__ = ["Basis"]

_PIECE = 512  # rows of a piece on hosts
_PIECES = 256  # on devices


class Basis:
    """Up to m + 1 vectors. `w` is the next one, `ww` its square after `orthogonalise`.

    Attributes
    ----------
    V : View, shape (n, m + 1)
        The vectors, each with its elements side by side.
    dots, more : View, shape (m + 1,)
        What w had of each vector at first, and what was left of that.
    """

    def __init__(self, columns: Columns, m: int, w: Vector, ww: es.View, teams: bool) -> None:
        self.columns, self.w, self.ww, self.teams = columns, w.wide, ww, teams
        n, space = columns.n, columns.space
        self.V = es.View(
            (n, m + 1), columns.dtype, label="V", space=space, layout="left", initialize=False
        )
        self.piece = max(1, -(-n // _PIECES)) if teams else _PIECE
        self.pieces = -(-n // self.piece)
        self.dots, self.more = (
            es.zeros(m + 1, columns.scalar, space=space, label=label) for label in ("dots", "more")
        )
        self.parts = es.View(
            (self.pieces, m + 1), columns.scalar, label="parts", space=space, initialize=False
        )
        self.squares = es.View(
            self.pieces, columns.real, label="squares", space=space, initialize=False
        )
        self._each = es.RangePolicy(self.pieces, space=space)

    def vector(self, j: int) -> es.View:
        """One of them, of the rank that operators take."""
        found: es.View = self.V[:, j]
        return found

    def append(self, j: int, scale: es.View) -> None:
        """Vector j is w by `scale`."""
        self.columns.each(_scaled, _scaled, self.V, self.w, j, scale, label="gmres v")

    def orthogonalise(self, count: int) -> None:
        """Make w orthogonal to so many vectors: `dots`, `more` and `ww`."""
        each = es.RangePolicy(count, space=self.columns.space)
        if self.teams:
            self._by_teams(count, each)
            return
        es.parallel_for(
            self._each, _dots, self.V, self.w, count, self.piece, self.parts, label="gmres dots"
        )
        es.parallel_for(each, _added, self.parts, self.dots, label="gmres dots, all")
        es.parallel_for(
            self._each, _subtracted, self.V, self.w, count, self.piece, self.dots, self.parts,
            self.squares, "yes", label="gmres w -= V h, dots",
        )  # fmt: skip
        es.parallel_for(each, _added, self.parts, self.more, label="gmres dots, all")
        es.parallel_for(
            self._each, _subtracted, self.V, self.w, count, self.piece, self.more, self.parts,
            self.squares, "no", label="gmres w -= V h, w.w",
        )  # fmt: skip
        self.columns.numbers(_sum_of, self.squares, self.ww, label="gmres w.w, all")

    def _by_teams(self, count: int, each: Any) -> None:
        space = self.columns.space
        league = es.TeamPolicy(self.pieces * count, space=space)
        for found, label in ((self.dots, "gmres dots"), (self.more, "gmres dots again")):
            es.parallel_for(
                league, _dots_of_team, self.V, self.w, count, self.piece, self.parts, label=label
            )
            es.parallel_for(
                es.TeamPolicy(count, space=space), _added_by_team, self.parts, found,
                label="gmres dots, all",
            )  # fmt: skip
            self.columns.sum(
                _less, _less, self.V, self.w, count, found, out=self.ww, label="gmres w -= V h"
            )


# -- kernels --------------------------------------------------------------------------------------


def _scaled(i: int, V: Any, w: Any, j: Any, scale: Any) -> None:
    V[i, j] = w[i, 0] * scale[0]


@es.function
def _dot(V: Any, w: Any, k: Any, first: Any, last: Any) -> Any:
    """Four sums at a time, which do not wait for each other."""
    a = np.conj(V[first, k]) * 0 * w[first, 0]
    b = a
    c = a
    d = a
    even = first + (last - first) // 4 * 4
    for i in range(first, even, 4):
        a += np.conj(V[i, k]) * w[i, 0]
        b += np.conj(V[i + 1, k]) * w[i + 1, 0]
        c += np.conj(V[i + 2, k]) * w[i + 2, 0]
        d += np.conj(V[i + 3, k]) * w[i + 3, 0]
    for i in range(even, last):
        a += np.conj(V[i, k]) * w[i, 0]
    return (a + b) + (c + d)


def _dots(p: int, V: Any, w: Any, count: Any, piece: Any, parts: Any) -> None:
    first = p * piece
    last = min(first + piece, w.extent(0))
    for k in range(count):
        parts[p, k] = _dot(V, w, k, first, last)


def _subtracted(
    p: int, V: Any, w: Any, count: Any, piece: Any, dots: Any, parts: Any, squares: Any, again: Any
) -> None:
    first = p * piece
    last = min(first + piece, w.extent(0))
    for k in range(count):
        h = dots[k]
        for i in range(first, last):
            w[i, 0] -= V[i, k] * h
    if again == "yes":
        for k in range(count):
            parts[p, k] = _dot(V, w, k, first, last)
    else:
        total = 0.0
        for i in range(first, last):
            total += size_of(w[i, 0])
        squares[p] = total


def _added(k: int, parts: Any, dots: Any) -> None:
    total = 0
    for p in range(parts.extent(0)):
        total += parts[p, k]
    dots[k] = total


def _sum_of(_: int, squares: Any, ww: Any) -> None:
    total = 0.0
    for p in range(squares.extent(0)):
        total += squares[p]
    ww[0] = total


def _dots_of_team(team: Any, V: Any, w: Any, count: Any, piece: Any, parts: Any) -> None:
    p = team.league_rank // count  # teams side by side share a piece of w
    k = team.league_rank % count
    first = p * piece
    last = min(first + piece, w.extent(0))
    total = es.parallel_reduce(
        es.TeamVectorRange(team, first, last), lambda i: np.conj(V[i, k]) * w[i, 0]
    )
    if es.single(es.PerTeam(team)):
        parts[p, k] = total


def _added_by_team(team: Any, parts: Any, dots: Any) -> None:
    k = team.league_rank
    total = es.parallel_reduce(es.TeamVectorRange(team, 0, parts.extent(0)), lambda p: parts[p, k])
    if es.single(es.PerTeam(team)):
        dots[k] = total


def _less(i: int, V: Any, w: Any, count: Any, dots: Any) -> Any:
    total = 0
    for k in range(count):
        total += V[i, k] * dots[k]
    w[i, 0] -= total
    return size_of(w[i, 0])

"""Basis: vectors that GMRES makes orthogonal to each other, as the columns of a View.

The dots of a vector with all others are sums over pieces of rows, which are added in their order:
so they have the same bits in each run, and are one launch.

    pieces: for hosts. A team of one has a piece, whose part of all vectors fits into its cache: it
    subtracts what the first dots say, and goes on to the second ones while the piece is there.
    teams: for devices. A team has a piece of one dot.
    rows: for spaces without teams. A work item has a piece of one dot.
"""

from __future__ import annotations

from typing import Any

import execspace as es

from .columns import Columns, Vector, product, size_of

__all__ = ["Basis"]

_PIECE = 2048  # rows of a piece on hosts: 16 KiB of each vector
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

    def __init__(self, columns: Columns, m: int, w: Vector, ww: es.View, algorithm: str) -> None:
        self.columns, self.w, self.ww, self.algorithm = columns, w.wide, ww, algorithm
        n, space = columns.n, columns.space
        self.V = es.View(
            (n, m + 1), columns.dtype, label="V", space=space, layout="left", initialize=False
        )
        self.piece = _PIECE if algorithm == "pieces" else max(1, -(-n // _PIECES))
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

    def vector(self, j: int) -> es.View:
        """One of them, of the rank that operators take."""
        found: es.View = self.V[:, j]
        return found

    def append(self, j: int, scale: es.View) -> None:
        """Vector j is w by `scale`."""
        self.columns.each(_scaled, _scaled, self.V, self.w, j, scale, label="gmres v")

    def orthogonalise(self, count: int) -> None:
        """Make w orthogonal to so many vectors: `dots`, `more` and `ww`."""
        (self._by_pieces if self.algorithm == "pieces" else self._by_dots)(count)

    def _by_pieces(self, count: int) -> None:
        space = self.columns.space
        each, league = (
            es.RangePolicy(count, space=space),
            es.TeamPolicy(self.pieces, 1, space=space),
        )
        es.parallel_for(
            league, _dots_of_piece, self.V, self.w, count, self.piece, self.parts,
            label="gmres dots",
        )  # fmt: skip
        es.parallel_for(each, _added, self.parts, self.dots, label="gmres dots, all")
        self.columns.join(self.dots[:count], es.Sum)
        es.parallel_for(
            league, _subtracted, self.V, self.w, count, self.piece, self.dots, self.parts,
            self.squares, "yes", label="gmres w -= V h, dots",
        )  # fmt: skip
        es.parallel_for(each, _added, self.parts, self.more, label="gmres dots, all")
        self.columns.join(self.more[:count], es.Sum)
        es.parallel_for(
            league, _subtracted, self.V, self.w, count, self.piece, self.more, self.parts,
            self.squares, "no", label="gmres w -= V h, w.w",
        )  # fmt: skip
        self.columns.numbers(_sum_of, self.squares, self.ww, label="gmres w.w, all")
        self.columns.join(self.ww, es.Sum)

    def _by_dots(self, count: int) -> None:
        space = self.columns.space
        for found, label in ((self.dots, "gmres dots"), (self.more, "gmres dots again")):
            if self.algorithm == "teams":
                every: Any = es.TeamPolicy(self.pieces * count, space=space)
                each: Any = es.TeamPolicy(count, space=space)
                dots: Any = _dots_of_team
                added: Any = _added_by_team
            else:
                every = es.MDRangePolicy((self.pieces, count), space=space)
                each = es.RangePolicy(count, space=space)
                dots, added = _dots_of_item, _added
            es.parallel_for(every, dots, self.V, self.w, count, self.piece, self.parts, label=label)
            es.parallel_for(each, added, self.parts, found, label="gmres dots, all")
            self.columns.join(found[:count], es.Sum)
            self.columns.sum(
                _less, _less, self.V, self.w, count, found, out=self.ww, label="gmres w -= V h",
                join=found is self.more,
            )  # fmt: skip


# -- kernels --------------------------------------------------------------------------------------


def _scaled(i: int, V: Any, w: Any, j: Any, scale: Any) -> None:
    V[i, j] = w[i, 0] * scale[0]


@es.function
def _dot_of_piece(team: Any, V: Any, w: Any, k: Any, first: Any, last: Any, like: Any) -> Any:
    return es.parallel_reduce(
        es.TeamVectorRange(team, first, last), lambda i: product(V[i, k], w[i, 0], like)
    )


def _dots_of_piece(team: Any, V: Any, w: Any, count: Any, piece: Any, parts: Any) -> None:
    first = team.league_rank * piece
    last = min(first + piece, w.extent(0))
    for k in range(count):
        total = _dot_of_piece(team, V, w, k, first, last, parts)
        if es.single(es.PerTeam(team)):
            parts[team.league_rank, k] = total


def _subtracted(
    team: Any, V: Any, w: Any, count: Any, piece: Any, dots: Any, parts: Any, squares: Any,
    again: Any,
) -> None:  # fmt: skip
    first = team.league_rank * piece
    last = min(first + piece, w.extent(0))
    fours = count // 4 * 4
    for k in range(0, fours, 4):  # so that w is read and written a quarter as often
        a = dots[k]
        b = dots[k + 1]
        c = dots[k + 2]
        d = dots[k + 3]
        for i in es.TeamVectorRange(team, first, last):
            w[i, 0] -= V[i, k] * a + V[i, k + 1] * b + V[i, k + 2] * c + V[i, k + 3] * d
    for k in range(fours, count):
        h = dots[k]
        for i in es.TeamVectorRange(team, first, last):
            w[i, 0] -= V[i, k] * h
    team.barrier()
    if again == "yes":
        for k in range(count):
            total = _dot_of_piece(team, V, w, k, first, last, parts)
            if es.single(es.PerTeam(team)):
                parts[team.league_rank, k] = total
    else:
        square = es.parallel_reduce(
            es.TeamVectorRange(team, first, last), lambda i: size_of(w[i, 0], dots)
        )
        if es.single(es.PerTeam(team)):
            squares[team.league_rank] = square


def _dots_of_item(p: int, k: int, V: Any, w: Any, count: Any, piece: Any, parts: Any) -> None:
    total = 0
    for i in range(p * piece, min((p + 1) * piece, w.extent(0))):
        total += product(V[i, k], w[i, 0], parts)
    parts[p, k] = total


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
        es.TeamVectorRange(team, first, last), lambda i: product(V[i, k], w[i, 0], parts)
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
    return size_of(w[i, 0], dots)

"""Reductions of each column of a multi-vector, in both layouts and with any strides.

Columns are cut into slabs of rows, whose results a second launch joins in their order, so a result
has the same bits in each run. Where rows of a column lie side by side, a team takes a slab. Where
columns do, a work item of a host takes a slab with some columns at once, and work items of devices
take every so many rows each, so that neighbours read what lies side by side.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import execspace as es

from ..arguments import MANY, has_teams, static
from .operands import runs_along, teams
from .terms import finished, joined, term

__all__ = ["join_parts", "reduce_columns", "slabs_of"]

_ROWS = 8192  # of a slab
_NEAR = 32768  # bytes of a slab whose columns a host reads one after the other
_ITEMS = 65536  # work items of a device, where each takes rows far from each other
_EACH = 16  # rows that a work item takes at least
_WIDTH = 8  # columns that a work item of a host takes at once at most
_FEW = 64  # slabs that one work item joins


def reduce_columns(
    what: str,
    name: str,
    join: str,
    x: es.View,
    y: es.View | None,
    kind: np.dtype[Any],
    out: es.View,
    space: es.ExecutionSpace,
    finish: str = "value",
) -> None:
    """Reduce the terms of each column of x, in a dtype, by "sum", "max" or "min".

    A minimum begins with the number of rows. Names are those of `terms`.
    """
    n, k = x.shape
    slabs = slabs_of(x, space)
    parts = es.View(
        (slabs.number, k), kind, label="parts", space=space, layout="right", initialize=False
    )
    if slabs.by_teams and slabs.beside == "right" and join != "min":
        es.parallel_for(
            es.RangePolicy(slabs.number, space=space), _rows_beside, name, x, y, kind.type, join,
            _width(k), slabs.rows, parts, label=what,
        )  # fmt: skip
    elif slabs.by_teams:
        es.parallel_for(
            slabs.policy(k, space), _slab, name, x, y, kind.type, join, slabs.rows, slabs.at_once,
            slabs.number, parts, label=what,
        )  # fmt: skip
    else:
        es.parallel_for(
            slabs.policy(k, space), _rows_apart, name, x, y, kind.type, join, parts, label=what
        )
    join_parts(what, parts, join, out, space, finish, n)


def _width(columns: int) -> int:
    """Columns that a work item of a host has at once; those that are left over it takes alone."""
    for width in (_WIDTH, _WIDTH // 2):
        if columns % width == 0:
            return width
    return min(_WIDTH, 1 << (columns.bit_length() - 1)) if columns else 1


class Slabs(NamedTuple):
    """How columns are cut: into `number` slabs of `rows` for teams, which take `at_once` columns;
    or of every so many rows for work items."""

    number: int
    rows: int
    at_once: int
    beside: str
    by_teams: bool

    def policy(self, columns: int, space: es.ExecutionSpace) -> Any:
        """That of the launch over all slabs and columns."""
        if self.by_teams:
            return teams(self.number * -(-columns // self.at_once), self.rows, space)
        return es.MDRangePolicy((self.number, columns), iterate=self.beside, space=space)


def slabs_of(x: es.View, space: es.ExecutionSpace) -> Slabs:
    """How the columns of a View are cut."""
    n, k = x.shape
    is_device, beside = space.concurrency > MANY, "left" if k == 1 else runs_along(x)
    if not has_teams(space) or (is_device and beside == "right"):
        items = _ITEMS if is_device else 4 * space.concurrency
        count = max(1, min(items // max(k, 1), n // _EACH))
        return Slabs(count, -(-n // count), 1, beside, False)
    rows, at_once = min(_ROWS, max(n, 1)), 1
    if beside == "right":  # the columns of a slab are read one after the other
        rows = max(_FEW, min(rows, _NEAR // max(k * x.dtype.itemsize, 1)))
        at_once = max(k, 1)
    return Slabs(max(-(-n // rows), 1), rows, at_once, beside, True)


def join_parts(
    what: str, parts: es.View, join: str, out: es.View, space: es.ExecutionSpace,
    finish: str = "value", rows: int = 0,
) -> None:  # fmt: skip
    """Join what slabs have of each column, in their order."""
    slabs, k = parts.shape
    if slabs <= _FEW or space.concurrency <= MANY or not has_teams(space):
        es.parallel_for(
            es.RangePolicy(k, space=space), _joined_by_one, parts, join, finish, rows, out,
            label=f"{what}, parts",
        )  # fmt: skip
    else:
        es.parallel_for(
            teams(k, slabs, space), _joined_by_team, parts, parts.dtype.type, join, finish,
            rows, out, label=f"{what}, parts",
        )  # fmt: skip


# -- kernels --------------------------------------------------------------------------------------


def _rows_apart(
    s: int, j: int, name: Any, x: Any, y: Any, kind: Any, join: Any, parts: Any
) -> None:
    n = x.extent(0)
    total = kind(n) if join == "min" else kind(0)
    for i in range(s, n, parts.extent(0)):
        total = joined(total, term(name, x, y, i, j, kind), join)
    parts[s, j] = total


def _rows_beside(
    s: int, name: Any, x: Any, y: Any, kind: Any, join: Any, width: static, rows: Any, parts: Any
) -> None:  # fmt: skip
    first = s * rows
    last = min(first + rows, x.extent(0))
    whole = x.extent(1) // width * width
    for j in range(0, whole, width):
        totals = es.local(width, kind)
        for i in range(first, last):
            for q in range(width):
                totals[q] = joined(totals[q], term(name, x, y, i, j + q, kind), join)
        for q in range(width):
            parts[s, j + q] = totals[q]
    for j in range(whole, x.extent(1)):
        total = kind(0)
        for i in range(first, last):
            total = joined(total, term(name, x, y, i, j, kind), join)
        parts[s, j] = total


def _slab(
    team: Any, name: Any, x: Any, y: Any, kind: Any, join: Any, rows: Any, at_once: Any,
    slabs: Any, parts: Any,
) -> None:  # fmt: skip
    s = team.league_rank % slabs
    group = team.league_rank // slabs
    begin = s * rows
    end = min(begin + rows, x.extent(0))
    for j in range(group * at_once, min((group + 1) * at_once, x.extent(1))):
        _slab_of_column(team, name, x, y, j, begin, end, kind, join, s, parts)


@es.function
def _slab_of_column(
    team: Any, name: Any, x: Any, y: Any, j: Any, begin: Any, end: Any, kind: Any, join: Any,
    s: Any, parts: Any,
) -> None:  # fmt: skip
    if join == "sum":
        total = es.parallel_reduce(
            es.TeamVectorRange(team, begin, end),
            lambda i: term(name, x, y, i, j, kind),
            reducer=es.Sum(dtype=kind),
        )
    elif join == "max":
        total = es.parallel_reduce(
            es.TeamVectorRange(team, begin, end),
            lambda i: term(name, x, y, i, j, kind),
            reducer=es.Max,
        )
        total = np.maximum(total, kind(0))
    else:
        total = es.parallel_reduce(
            es.TeamVectorRange(team, begin, end),
            lambda i: term(name, x, y, i, j, kind),
            reducer=es.Min,
        )
        total = np.minimum(total, kind(x.extent(0)))
    if es.single(es.PerTeam(team)):
        parts[s, j] = total


def _joined_by_one(j: int, parts: Any, join: Any, finish: Any, n: Any, out: Any) -> None:
    total = parts[0, j]
    for s in range(1, parts.extent(0)):
        total = joined(total, parts[s, j], join)
    out[j] = finished(total, n, finish)


def _joined_by_team(
    team: Any, parts: Any, kind: Any, join: Any, finish: Any, n: Any, out: Any
) -> None:  # fmt: skip
    j = team.league_rank
    if join == "sum":
        total = es.parallel_reduce(
            es.TeamVectorRange(team, parts.extent(0)),
            lambda s: parts[s, j],
            reducer=es.Sum(dtype=kind),
        )
    elif join == "max":
        total = es.parallel_reduce(
            es.TeamVectorRange(team, parts.extent(0)), lambda s: parts[s, j], reducer=es.Max
        )
    else:
        total = es.parallel_reduce(
            es.TeamVectorRange(team, parts.extent(0)), lambda s: parts[s, j], reducer=es.Min
        )
    if es.single(es.PerTeam(team)):
        out[j] = finished(total, n, finish)

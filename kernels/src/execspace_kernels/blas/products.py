"""Products of dense matrices, or their triangles, with a vector: launches and kernels of gemv, trmv
and trsv.

A transpose is a View of the same elements, so kernels know no modes. Algorithms
    teams: a team takes four rows, which lie side by side in each row, and shares what it reads of
    the vector; long rows of few are cut into slabs.
    columns: elements lie side by side in each column. On devices a team takes as many rows as it
    has threads within a slab of columns, and has that part of the vector in scratch memory; on
    hosts a work item takes a block of rows that stays in its cache.
    rows: a work item for each row: for records, where there are no teams, and on devices for rows
    of few elements.
What slabs find is joined in their order, so results have the same bits in each run.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..arguments import MANY, has_teams, largest_team, static
from ..sparse.elements import is_record, keep, value_of, zero_of
from .elements import conjugate
from .operands import is_inexact, kind_of, product_dtype, runs_along, teams

__all__ = ["ALGORITHMS", "chosen", "multiply"]

ALGORITHMS = ("auto", "teams", "columns", "rows")
_ROWS = 4  # of a team
_TEAMS = 1024  # of a device, that it is busy with
_FEW = 32  # elements of a row that are too few for a team of a device
_SPAN = 2048  # columns of a slab at least
_AHEAD = 8  # elements that a thread loads before it adds any
_THREADS = 256  # of a team that takes a row with each
_SLABS = 512  # such teams of a device, that it is busy with
_SHORT = 128  # columns of a slab at least
_SCRATCH = 16384  # bytes of a vector
_TILE = 4096  # rows that a host's work item takes at most


def chosen(
    algorithm: str, B: es.View, kind: np.dtype[Any], space: es.ExecutionSpace
) -> tuple[str, str]:
    """The algorithm, and why."""
    if is_record(kind):
        return "rows", "elements are records"
    if algorithm != "auto":
        return algorithm, "it was asked for"
    if B.shape[1] > 1 and (B.shape[0] == 1 or runs_along(B) == "right"):
        if not has_teams(space):
            return "rows", f"space '{space.name}' has no teams"
        if space.concurrency > MANY and B.shape[1] < _FEW:
            return "rows", f"rows have less than {_FEW} elements"
        return "teams", "elements of a row lie side by side"
    if space.concurrency > MANY and not has_teams(space):
        return "rows", f"space '{space.name}' has no teams"
    return "columns", "elements of a column lie side by side"


def multiply(
    what: str, algorithm: str, B: es.View, x: es.View, y: es.View, alpha: Any, beta: Any,
    space: es.ExecutionSpace, conj: str = "no", shape: str = "all", unit: str = "no",
    how: str | None = None,
) -> None:  # fmt: skip
    """y = beta y + alpha B x.

    Parameters
    ----------
    algorithm : {"teams", "columns", "rows"}
    conj : {"yes", "no"}
        Whether B stands for its conjugate.
    shape : {"all", "lower", "upper"}
        The triangle that counts; the other one is not read.
    unit : {"yes", "no"}
        Whether its diagonal is one, and not read.
    how : str, optional
        That of `keep`.
    """
    how = how or ("set" if beta == 0 else "add")
    m = B.shape[0]
    kind = product_dtype(B.dtype, x.dtype, what)
    if kind_of(kind) == "f" and not is_inexact(kind):
        kind = np.dtype(np.float32)  # sums of bfloat16 and its like
    if algorithm == "rows":
        es.parallel_for(
            es.RangePolicy(m, space=space), _row, B, x, y, shape, unit, alpha, beta, how, conj,
            label=f"{what} rows",
        )  # fmt: skip
        return
    if algorithm == "teams":
        blocks = -(-m // _ROWS)
        slabs, span = _slabs(blocks, B.shape[1], _enough(_TEAMS, space))
        parts = _parts(slabs if slabs > 1 else 0, m, kind, space)
        es.parallel_for(
            teams(blocks * slabs, span, space), _rows_of_team, B, x, y, parts, kind.type,
            _ROWS, slabs, span, shape, unit, alpha, beta, how, conj, label=f"{what} teams",
        )  # fmt: skip
        if slabs == 1:
            return
    elif space.concurrency > MANY and has_teams(space):
        size = min(_THREADS, largest_team(space), max(32, 1 << (m - 1).bit_length()))
        most = _SCRATCH // x.dtype.itemsize
        blocks = -(-m // size)
        slabs, span = _slabs(blocks, B.shape[1], _SLABS * _THREADS // size, _SHORT, most)
        parts = _parts(slabs, m, kind, space)
        es.parallel_for(
            es.TeamPolicy(blocks * slabs, size, space=space), _rows_of_slab, B, x, parts, kind.type,
            most, _AHEAD, slabs, span, shape, unit, conj, label=f"{what} columns",
        )  # fmt: skip
    else:
        blocks = -(-m // _TILE)
        tile = -(-m // max(blocks, 1))  # so that none is much smaller
        slabs, span = _slabs(blocks, B.shape[1], _enough(_TEAMS, space))
        parts = _parts(slabs, m, kind, space)
        es.parallel_for(
            es.RangePolicy(blocks * slabs, space=space), _block_of_rows, B, x, parts, tile, slabs,
            span, shape, unit, conj, label=f"{what} columns",
        )  # fmt: skip
    es.parallel_for(
        es.RangePolicy(m, space=space), _joined, parts, y, alpha, beta, how,
        label=f"{what}, slabs",
    )  # fmt: skip


def _enough(many: int, space: es.ExecutionSpace) -> int:
    """Pieces of work that keep a space busy."""
    return many if space.concurrency > MANY else 4 * space.concurrency


def _slabs(
    pieces: int, columns: int, enough: int, least: int = _SPAN, most: int | None = None
) -> tuple[int, int]:
    """How many slabs columns are cut into, and columns of each: at least, and at most."""
    wanted = -(-enough // max(pieces, 1)) if pieces < enough else 1
    slabs = max(1, min(wanted, -(-columns // least)))
    if most is not None:
        slabs = max(slabs, -(-columns // most))
    return slabs, -(-columns // slabs)


def _parts(slabs: int, rows: int, kind: np.dtype[Any], space: es.ExecutionSpace) -> es.View:
    return es.View(
        (slabs, rows), kind, label="parts", space=space, layout="right", initialize=False
    )  # fmt: skip


# -- kernels --------------------------------------------------------------------------------------


@es.function
def _begin(i: Any, shape: Any, unit: Any) -> Any:
    """The first column of a row that counts."""
    if shape == "upper":
        return i + 1 if unit == "yes" else i
    return 0


@es.function
def _end(i: Any, n: Any, shape: Any, unit: Any) -> Any:
    """The column after the last one of a row that counts."""
    if shape == "lower":
        return i if unit == "yes" else i + 1
    return n


def _row(
    i: int, B: Any, x: Any, y: Any, shape: Any, unit: Any, alpha: Any, beta: Any, how: Any,
    conj: Any,
) -> None:  # fmt: skip
    total = zero_of(y)
    for j in range(_begin(i, shape, unit), _end(i, B.extent(1), shape, unit)):
        total += conjugate(value_of(B[i, j]), conj) * x[j]
    if unit == "yes":
        total += x[i]
    keep(y, i, total, alpha, beta, how)


@es.function
def _with_edge(
    since: Any, B: Any, x: Any, i: Any, common: Any, end: Any, shape: Any, unit: Any, conj: Any
) -> Any:
    """A sum, and what the row has beside the columns that all rows of a team have."""
    n = B.extent(1)
    total = since
    if shape == "lower":
        for j in range(end, _end(i, n, shape, unit)):
            total += conjugate(B[i, j], conj) * x[j]
    else:
        for j in range(_begin(i, shape, unit), common):
            total += conjugate(B[i, j], conj) * x[j]
    if unit == "yes":
        total += x[i]
    return total


def _rows_of_team(
    team: Any, B: Any, x: Any, y: Any, parts: Any, kind: Any, rows: Any, slabs: Any, span: Any,
    shape: Any, unit: Any, alpha: Any, beta: Any, how: Any, conj: Any,
) -> None:  # fmt: skip
    s = team.league_rank % slabs
    m, n = B.extent(0), B.extent(1)
    first = team.league_rank // slabs * rows
    second = min(first + 1, m - 1)
    third = min(first + 2, m - 1)
    last = min(first + 3, m - 1)
    common = _begin(last, shape, unit)
    end = _end(first, n, shape, unit)
    low = max(common, s * span)
    high = max(low, min(end, (s + 1) * span))
    sums = es.parallel_reduce(
        es.TeamVectorRange(team, low, high),
        lambda j: (
            conjugate(B[first, j], conj) * x[j],
            conjugate(B[second, j], conj) * x[j],
            conjugate(B[third, j], conj) * x[j],
            conjugate(B[last, j], conj) * x[j],
        ),
        reducer=(es.Sum(dtype=kind), es.Sum(dtype=kind), es.Sum(dtype=kind), es.Sum(dtype=kind)),
    )
    if es.single(es.PerTeam(team)):
        for q, total in enumerate(sums):
            i = first + q
            if i < m:
                whole = total
                if shape != "all":
                    if s == 0:
                        whole = _with_edge(total, B, x, i, common, end, shape, unit, conj)
                if slabs == 1:
                    keep(y, i, whole, alpha, beta, how)
                else:
                    parts[s, i] = whole


def _rows_of_slab(
    team: Any, B: Any, x: Any, parts: Any, kind: Any, most: static, ahead: static, slabs: Any,
    span: Any, shape: Any, unit: Any, conj: Any,
) -> None:  # fmt: skip
    m, n = B.extent(0), B.extent(1)
    s = team.league_rank % slabs
    first = s * span
    last = min(first + span, n)
    at = team.scratch(most, x.dtype)
    for j in es.TeamThreadRange(team, first, last):
        at[j - first] = x[j]
    team.barrier()
    row = team.league_rank // slabs * team.team_size + team.team_rank
    i = min(row, m - 1)
    low = max(_begin(i, shape, unit), first)
    high = min(_end(i, n, shape, unit), last)
    total = kind(0)
    whole = low
    if high > low:
        whole = low + (high - low) // ahead * ahead
    for j in range(low, whole, ahead):
        loaded = es.local(ahead, kind)
        for q in range(ahead):
            loaded[q] = conjugate(B[i, j + q], conj)
        for q in range(ahead):
            total += loaded[q] * at[j + q - first]
    for j in range(whole, high):
        total += conjugate(B[i, j], conj) * at[j - first]
    if unit == "yes":
        if s == 0:
            total += x[i]
    if row < m:
        parts[s, i] = total


def _block_of_rows(
    b: int, B: Any, x: Any, parts: Any, tile: Any, slabs: Any, span: Any, shape: Any, unit: Any,
    conj: Any,
) -> None:  # fmt: skip
    s = b % slabs
    first = b // slabs * tile
    last = min(first + tile, B.extent(0))
    low = s * span
    high = min(low + span, B.extent(1))
    for i in range(first, last):
        parts[s, i] = 0
    # Columns that all rows of the block have.
    begin = max(low, _begin(last - 1, shape, unit))
    end = min(high, _end(first, B.extent(1), shape, unit))
    whole = begin
    if end > begin:
        whole = begin + (end - begin) // 4 * 4
    for j in range(begin, whole, 4):
        p, q, r, t = x[j], x[j + 1], x[j + 2], x[j + 3]
        for i in range(first, last):
            parts[s, i] += (
                conjugate(B[i, j], conj) * p
                + conjugate(B[i, j + 1], conj) * q
                + conjugate(B[i, j + 2], conj) * r
                + conjugate(B[i, j + 3], conj) * t
            )
    for j in range(whole, end):
        p = x[j]
        for i in range(first, last):
            parts[s, i] += conjugate(B[i, j], conj) * p
    if shape == "lower":
        for j in range(max(low, _end(first, B.extent(1), shape, unit)), min(high, last)):
            p = x[j]
            for i in range(j + 1 if unit == "yes" else j, last):
                parts[s, i] += conjugate(B[i, j], conj) * p
    elif shape == "upper":
        for j in range(max(low, first), min(high, _begin(last - 1, shape, unit))):
            p = x[j]
            for i in range(first, j if unit == "yes" else j + 1):
                parts[s, i] += conjugate(B[i, j], conj) * p
    if unit == "yes":
        if s == 0:
            for i in range(first, last):
                parts[s, i] += x[i]


def _joined(i: int, parts: Any, y: Any, alpha: Any, beta: Any, how: Any) -> None:
    total = parts[0, i]
    for s in range(1, parts.extent(0)):
        total += parts[s, i]
    keep(y, i, total, alpha, beta, how)

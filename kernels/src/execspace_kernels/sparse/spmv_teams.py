"""Products of sparse matrices with vectors by teams, for devices.

The threads of a team take entries as they lie in memory, one beside the other, and keep what they
compute in scratch memory, of which rows are summed. CSR-Stream and CSR-Vector are of Greathouse and
Daga, "Efficient sparse matrix-vector multiplication on GPUs using the CSR storage format", SC14.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import execspace as es

from ..arguments import largest_team, static
from .crs import CrsMatrix
from .elements import conjugated, keep, product

# Measured on an H200: a thread loads some entries at once, and has no more of them.
_THREADS = 128  # of a team
_AT_ONCE = 7  # entries of a thread
_SHARE = 864  # entries of a team
_STEP = 32
_ROWS = 96  # of a team at most
_MANY_THREADS, _FEWER_ROWS = 256, 64  # of a team at most, for several vectors
_SCRATCH = 32768  # bytes

# Of a matrix, x, y, alpha and beta. `how` is "set" or "add", `conj` "yes" or "no".
Launch = Callable[[Any, es.View, es.View, Any, Any], None]


def is_skewed(A: CrsMatrix, itemsize: int) -> bool:
    """Whether some rows are too long for teams that take whole rows. Blocks the first time."""
    rows = _rows_of_a_team(A)
    return A.graph.most_in(rows) * itemsize > _SCRATCH


def _rows_of_a_team(A: CrsMatrix) -> int:
    mean = max(A.nnz // max(A.shape[0], 1), 1)
    rows = max(1, min(_ROWS, _SHARE // mean))
    return rows // _STEP * _STEP or rows  # whose first ones lie at the begin of a line of memory


def _at_most(threads: int, space: Any) -> int:
    """So many threads of a team, or as many as the space has."""
    return min(threads, largest_team(space))


def stream(
    A: CrsMatrix, x: es.View, y: es.View, space: es.ExecutionSpace, how: str, conj: str
) -> Launch:
    """A team for some rows."""
    m = A.shape[0]
    kind = np.result_type(A.dtype, x.dtype)
    itemsize = kind.itemsize
    if x.rank == 1:
        rows = _rows_of_a_team(A)
        most = A.graph.most_in(rows)
        capacity = max(1, min(most, _SCRATCH // itemsize))
        size = _at_most(_THREADS, space)
        kernel: Any = _rows_streamed
        own: Any = _AT_ONCE, kind.type, "all" if most <= capacity else "some"
    else:
        rows = max(1, min(_MANY_THREADS // x.shape[1] if x.shape[1] else 1, _FEWER_ROWS))
        unit = A.values.dtype.itemsize + A.entries.dtype.itemsize
        capacity = max(1, min(A.graph.most_in(rows), _SCRATCH // unit))
        size = _at_most(_MANY_THREADS, space)
        kernel = _rows_by_vectors
        own = ("left" if x.layout == "left" else "right",)
    policy = es.TeamPolicy(-(-m // rows), size, space=space)

    def launch(A: CrsMatrix, x: es.View, y: es.View, alpha: Any, beta: Any) -> None:
        es.parallel_for(
            policy, kernel, A.row_map, A.entries, A.values, x, y, rows, capacity, *own, alpha,
            beta, how, conj, label="spmv stream",
        )  # fmt: skip

    return launch


# -- kernels --------------------------------------------------------------------------------------


def _rows_streamed(
    team: Any, row_map: Any, entries: Any, values: Any, x: Any, y: Any, rows: Any, capacity: Any,
    at_once: static, kind: Any, fit: Any, alpha: Any, beta: Any, how: Any, conj: Any,
) -> None:  # fmt: skip
    first = team.league_rank * rows
    last = min(first + rows, y.extent(0))
    begin = row_map[first]
    end = row_map[last]
    products = team.scratch(capacity, kind)
    if fit == "all" or end - begin <= capacity:
        count = end - begin
        for c in range(team.team_rank, count, team.team_size * at_once):
            columns = es.local(at_once, entries.dtype)
            elements = es.local(at_once, kind)
            # All loads of one kind before any of the next, which wait for them.
            for q in range(at_once):
                k = c + q * team.team_size
                if k < count:
                    columns[q] = entries[begin + k]
                    elements[q] = values[begin + k]
            for q in range(at_once):
                k = c + q * team.team_size
                if k < count:
                    elements[q] = conjugated(elements[q], conj) * x[columns[q]]
            for q in range(at_once):
                k = c + q * team.team_size
                if k < count:
                    products[k] = elements[q]
        team.barrier()
        for i in es.TeamThreadRange(team, first, last):
            total = 0
            for k in range(row_map[i] - begin, row_map[i + 1] - begin):
                total += products[k]
            keep(y, i, total, alpha, beta, how)
    else:
        for i in range(first, last):
            total = es.parallel_reduce(
                es.TeamThreadRange(team, row_map[i], row_map[i + 1]),
                lambda k: product(values, entries, x, k, conj),
            )
            if es.single(es.PerTeam(team)):
                keep(y, i, total, alpha, beta, how)


def _rows_by_vectors(
    team: Any, row_map: Any, entries: Any, values: Any, x: Any, y: Any, rows: Any, capacity: Any,
    layout: Any, alpha: Any, beta: Any, how: Any, conj: Any,
) -> None:  # fmt: skip
    first = team.league_rank * rows
    last = min(first + rows, y.extent(0))
    begin = row_map[first]
    end = row_map[last]
    count = last - first
    columns = team.scratch(capacity, entries.dtype)
    elements = team.scratch(capacity, values.dtype)
    near = end - begin <= capacity
    if near:
        for k in es.TeamThreadRange(team, begin, end):
            columns[k - begin] = entries[k]
            elements[k - begin] = values[k]
        team.barrier()
    for q in es.TeamThreadRange(team, count * x.extent(1)):
        if layout == "left":  # neighbours are of one vector
            i = first + q % count
            j = q // count
        else:
            i = first + q // x.extent(1)
            j = q % x.extent(1)
        total = 0
        if near:
            for k in range(row_map[i] - begin, row_map[i + 1] - begin):
                total += conjugated(elements[k], conj) * x[columns[k], j]
        else:
            for k in range(row_map[i], row_map[i + 1]):
                total += conjugated(values[k], conj) * x[entries[k], j]
        keep(y[i, :], j, total, alpha, beta, how)

"""Products of sparse matrices with vectors by teams, for devices.

The threads of a team take entries as they lie in memory, one beside the other, and keep what they
compute in scratch memory, of which rows are summed. CSR-Stream and CSR-Vector are of Greathouse and
Daga, "Efficient sparse matrix-vector multiplication on GPUs using the CSR storage format", SC14;
equal shares of entries, whatever rows they are of, of Merrill and Garland, "Merge-based parallel
sparse matrix-vector multiplication", SC16.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import execspace as es

from .crs import CrsMatrix
from .elements import conjugated, keep, product

# Measured on an H200: a thread for some nine entries, and teams that are small.
_THREADS = 256  # of a team at most; devices launch any kernel with so many
_LEAST, _STEP = 64, 32
_ROWS = 64  # of a team at most
_SHARE = 864  # entries of a team
_AT_ONCE = 9  # of a thread
_SCRATCH = 32768  # bytes
_EVEN = 2048  # entries of a team, where teams have equal shares
_LONG = 32  # entries of a row in a team, above which the whole team sums it

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


def _size(entries: int, space: Any) -> int:
    """Threads of a team for so many entries."""
    wanted = round(entries / (_AT_ONCE * _STEP)) * _STEP
    return min(max(wanted, _LEAST), _most(space))


def _most(space: Any) -> int:
    """Threads of the largest team."""
    return min(_THREADS, int(space.team_limits().team_size_max))


def stream(
    A: CrsMatrix, x: es.View, y: es.View, space: es.ExecutionSpace, how: str, conj: str
) -> Launch:
    """A team for some rows."""
    m = A.shape[0]
    itemsize = y.dtype.itemsize
    if x.rank == 1:
        rows = _rows_of_a_team(A)
        most = A.graph.most_in(rows)
        capacity = max(1, min(most, _SCRATCH // itemsize))
        size = _size(min(rows * (A.nnz // max(m, 1)), capacity), space)
        kernel: Any = _rows_streamed
        last = "all" if most <= capacity else "some"
    else:
        rows = max(1, min(_THREADS // x.shape[1] if x.shape[1] else 1, _ROWS))
        unit = A.values.dtype.itemsize + A.entries.dtype.itemsize
        capacity = max(1, min(A.graph.most_in(rows), _SCRATCH // unit))
        size = _most(space)
        kernel = _rows_by_vectors
        last = "left" if x.layout == "left" else "right"
    policy = es.TeamPolicy(-(-m // rows), size, space=space)

    def launch(A: CrsMatrix, x: es.View, y: es.View, alpha: Any, beta: Any) -> None:
        es.parallel_for(
            policy, kernel, A.row_map, A.entries, A.values, x, y, rows, capacity, alpha, beta, how,
            conj, last, label="spmv stream",
        )  # fmt: skip

    return launch


def balanced(
    A: CrsMatrix, x: es.View, y: es.View, space: es.ExecutionSpace, how: str, conj: str
) -> Launch:
    """A team for so many entries, whatever rows they are of; then rows of several teams."""
    teams = -(-A.nnz // _EVEN)
    rows = A.graph.row_of_each(_EVEN)
    policy = es.TeamPolicy(teams, _most(space), space=space)
    each = es.RangePolicy(teams, space=space)

    def one(A: CrsMatrix, x: es.View, y: es.View, alpha: Any, beta: Any) -> None:
        heads = es.View(teams, y.dtype, label="heads", space=space, initialize=False)
        es.parallel_for(
            policy, _entries_shared, A.row_map, A.entries, A.values, x, y, rows, heads, _EVEN,
            _LONG, _EVEN // _LONG, alpha, beta, how, conj, label="spmv balanced",
        )  # fmt: skip
        es.parallel_for(
            each, _add_heads, A.row_map, rows, heads, y, _EVEN, alpha,
            label="spmv balanced, rows of several teams",
        )  # fmt: skip

    def several(A: CrsMatrix, x: es.View, y: es.View, alpha: Any, beta: Any) -> None:
        for j in range(y.shape[1]):
            one(A, x[:, j], y[:, j], alpha, beta)

    return one if y.rank == 1 else several


# -- kernels --------------------------------------------------------------------------------------


def _rows_streamed(
    team: Any, row_map: Any, entries: Any, values: Any, x: Any, y: Any, rows: Any, capacity: Any,
    alpha: Any, beta: Any, how: Any, conj: Any, fit: Any,
) -> None:  # fmt: skip
    first = team.league_rank * rows
    last = min(first + rows, y.extent(0))
    begin = row_map[first]
    end = row_map[last]
    products = team.scratch(capacity, y.dtype)
    if fit == "all" or end - begin <= capacity:
        for k in es.TeamThreadRange(team, begin, end):
            products[k - begin] = product(values, entries, x, k, conj)
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
    alpha: Any, beta: Any, how: Any, conj: Any, layout: Any,
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


def _entries_shared(
    team: Any, row_map: Any, entries: Any, values: Any, x: Any, y: Any, rows: Any, heads: Any,
    share: Any, long: Any, most_long: Any, alpha: Any, beta: Any, how: Any, conj: Any,
) -> None:  # fmt: skip
    b = team.league_rank
    begin = b * share
    end = min(begin + share, entries.extent(0))
    products = team.scratch(share, y.dtype)
    long_rows = team.scratch(most_long, np.int64)
    count = team.scratch(1, np.int32)
    if es.single(es.PerTeam(team)):
        count[0] = 0
    for k in es.TeamThreadRange(team, begin, end):
        products[k - begin] = product(values, entries, x, k, conj)
    team.barrier()
    first = rows[b]  # rows that begin here, and those without entries at the end
    last = rows[b + 1]
    for i in es.TeamThreadRange(team, first - 1, last):
        low = 0 if i < first else np.int64(row_map[i]) - begin  # or the rest of a row before
        high = min(np.int64(row_map[i + 1]), end) - begin if i >= 0 else np.int64(0)
        if high - low > long:
            long_rows[es.atomic_fetch_add(count, 0, 1)] = i
        else:
            total = 0
            for k in range(low, high):
                total += products[k]
            if i < first:
                heads[b] = total
            else:
                keep(y, i, total, alpha, beta, how)
    team.barrier()
    for t in range(count[0]):
        i = long_rows[t]
        low = 0 if i < first else np.int64(row_map[i]) - begin
        high = min(np.int64(row_map[i + 1]), end) - begin
        total = es.parallel_reduce(es.TeamThreadRange(team, low, high), lambda k: products[k])
        if es.single(es.PerTeam(team)):
            if i < first:
                heads[b] = total
            else:
                keep(y, i, total, alpha, beta, how)


def _add_heads(b: int, row_map: Any, rows: Any, heads: Any, y: Any, share: Any, alpha: Any) -> None:
    i = rows[b] - 1
    if b > 0 and row_map[i + 1] > b * share and rows[b - 1] - 1 != i:
        total = 0
        c = b
        while c < heads.extent(0) and rows[c] - 1 == i:
            total += heads[c]
            c += 1
        y[i] += alpha * total

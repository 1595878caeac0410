"""Products of sparse matrices with vectors by equal shares of entries, for rows of any lengths.

Who takes a share adds up products from one end of a row to the next, by the bits of `segments`. The
rows that end in it are stored; what it has of a row that began in an earlier share is a "head",
which a second launch adds to what the first share of that row has stored.

Of one vector a share is for a team as wide as a warp: threads have entries side by side, and sums
of segments are a scan for each entry of a thread. Of several vectors, which lie side by side, a
thread takes one column of 32 entries one after the other. Merrill and Garland, "Merge-based
parallel sparse matrix-vector multiplication", SC16, share out entries and rows; Liu and Vinter,
"CSR5", ICS 2015, sum segments by such bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..arguments import largest_team, static
from .crs import CrsMatrix
from .elements import conjugated, keep, product
from .segments import WORD, bits_set, segments_of, spans_of
from .spmv_teams import Launch

__all__ = ["balanced"]

# Measured on an H200.
_LANES = 32  # threads of a team for one vector
_EACH = 16  # entries of each of them
_THREADS = 128  # of a team for several vectors
_COLUMNS = 8  # that are taken at once
_AHEAD = 8  # entries, or heads, that are loaded before any is added


def balanced(
    A: CrsMatrix, x: es.View, y: es.View, space: es.ExecutionSpace, how: str, conj: str
) -> Launch:
    """A team for so many entries, whatever rows they are of; then rows of several teams."""
    make = _one if y.rank == 1 else _several
    return make(A, x, y, space, how, conj)


def _one(
    A: CrsMatrix, x: es.View, y: es.View, space: es.ExecutionSpace, how: str, conj: str
) -> Launch:
    lanes = _at_most(_LANES, space)
    share = lanes * _EACH
    shares = -(-A.nnz // share)
    kind = np.result_type(A.dtype, x.dtype)
    numbers = "complex" if kind.kind == "c" else "real"
    segments, policy = segments_of(A.graph, space), es.TeamPolicy(shares, lanes, space=space)
    rest = _Rest(A, share, y, kind, space, how)

    def launch(A: CrsMatrix, x: es.View, y: es.View, alpha: Any, beta: Any) -> None:
        heads = rest.heads()
        es.parallel_for(
            policy, _share, segments.ends, segments.before, segments.rows, A.row_map, A.entries,
            A.values, x, y, heads, lanes, _EACH, kind.type, numbers, alpha, beta, how, conj,
            label="spmv balanced",
        )  # fmt: skip
        rest.add(heads, y, alpha, beta)

    return launch


def _several(
    A: CrsMatrix, x: es.View, y: es.View, space: es.ExecutionSpace, how: str, conj: str
) -> Launch:
    columns = y.shape[1]
    at_once = 1
    while at_once < min(columns, _COLUMNS):
        at_once *= 2
    threads = max(_at_most(_THREADS, space), at_once)
    groups = threads // at_once
    share = WORD * groups
    shares, blocks = -(-A.nnz // share), -(-columns // at_once)
    kind = np.result_type(A.dtype, x.dtype)
    segments = segments_of(A.graph, space)
    policy = es.TeamPolicy(shares * blocks, threads, space=space)
    rest = _Rest(A, share, y, kind, space, how)

    def launch(A: CrsMatrix, x: es.View, y: es.View, alpha: Any, beta: Any) -> None:
        heads, beside = rest.heads(), x
        if x.layout != "right":  # so that the columns of a row are not on a line of memory each
            beside = es.View(
                x.shape, x.dtype, label="x", space=space, layout="right", initialize=False
            )
            es.deep_copy(beside, x, instance=space)
        es.parallel_for(
            policy, _share_of_columns, segments.ends, segments.before, segments.rows, A.row_map,
            A.entries, A.values, beside, y, heads, blocks, at_once, groups, _AHEAD, kind.type,
            alpha, beta, how, conj, label="spmv balanced",
        )  # fmt: skip
        rest.add(heads, y, alpha, beta)

    return launch


class _Rest:
    """What is left of a product when shares are done: rows of several shares, and empty ones."""

    def __init__(
        self, A: CrsMatrix, share: int, y: es.View, kind: np.dtype[Any],
        space: es.ExecutionSpace, how: str,
    ) -> None:  # fmt: skip
        self.shape, self.kind = (-(-A.nnz // share), *y.shape[1:]), kind
        self.space, self.how = space, how
        self.empty = segments_of(A.graph, space).empty
        self.spans = spans_of(A.graph, share, space)
        self.count = self.spans.count + self.empty.shape[0]
        self.policy: Any = es.RangePolicy(self.count, space=space)
        self.kernel: Any = _add_heads
        if y.rank == 2:
            beside = "left" if y.layout == "left" else "right"
            cells = (self.count, y.shape[1])
            self.policy = es.MDRangePolicy(cells, iterate=beside, space=space)
            self.kernel = _add_heads_of_columns

    def heads(self) -> es.View:
        """Of each share, not filled."""
        layout = "right" if len(self.shape) == 2 else None
        return es.View(
            self.shape, self.kind, label="heads", space=self.space, layout=layout,
            initialize=False,
        )  # fmt: skip

    def add(self, heads: es.View, y: es.View, alpha: Any, beta: Any) -> None:
        """Add heads to the rows where they belong, and scale rows without entries."""
        if self.count:
            spans = self.spans
            es.parallel_for(
                self.policy, self.kernel, spans.count, spans.rows, spans.first, spans.last,
                self.empty, heads, y, _AHEAD, alpha, beta, self.how,
                label="spmv balanced, rows of several teams",
            )  # fmt: skip


def _at_most(threads: int, space: Any) -> int:
    """So many threads of a team, or the largest power of two that the space has."""
    limit = largest_team(space)
    while threads > limit:
        threads //= 2
    return threads


class _Segment(es.Reducer):
    """Joins (whether a row ended, what was added since) of neighbours."""

    identity: Any = (0, 0.0)

    @staticmethod
    def join(a: Any, b: Any) -> Any:
        return a[0] | b[0], b[1] if b[0] != 0 else a[1] + b[1]


class _ComplexSegment(_Segment):
    identity = (0, 0j)


# -- kernels --------------------------------------------------------------------------------------


def _share(
    team: Any, ends: Any, before: Any, rows: Any, row_map: Any, entries: Any, values: Any, x: Any,
    y: Any, heads: Any, lanes: static, each: static, kind: Any, numbers: Any,
    alpha: Any, beta: Any, how: Any, conj: Any,
) -> None:  # fmt: skip
    b = team.league_rank
    begin = b * (lanes * each)
    n = entries.extent(0)
    t = np.int32(team.team_rank)
    products = es.local(each, kind)
    for c in range(each):
        k = begin + c * lanes + t
        products[c] = 0
        if k < n:
            products[c] = product(values, entries, x, k, conj)
    row = np.int32(before[begin // 32])  # of those with entries
    first = row
    has_head = row_map[rows[first]] < begin
    low = (np.uint32(1) << np.uint32(t)) - np.uint32(1)
    carry = kind(0)  # of the row that goes on
    # Without branches that all take, so that scans of several words overlap.
    for c in range(each):
        k = begin + c * lanes
        word = ends[k // 32]
        if lanes < 32:
            word = (word >> np.uint32(k % 32)) & ((np.uint32(1) << np.uint32(lanes)) - np.uint32(1))
        is_end = np.int32((word >> np.uint32(t)) & np.uint32(1))
        own = kind(0) if is_end != 0 else products[c]
        if numbers == "complex":
            since = team.scan((is_end, own), reducer=_ComplexSegment)
        else:
            since = team.scan((is_end, own), reducer=_Segment)
        if is_end != 0:
            total = since[1] + products[c]
            if since[0] == 0:
                total += carry
            at = row + bits_set(word & low)
            if has_head and at == first:
                heads[b] = total
            else:
                keep(y, rows[at], total, alpha, beta, how)
        left = own if is_end != 0 else since[1] + own
        ended, added = team.broadcast((since[0] | is_end, left), lanes - 1)
        carry = added if ended != 0 else carry + added
        row += bits_set(word)
    if t == 0 and row < rows.extent(0):
        i = rows[row]
        if row_map[i] < min(begin + lanes * each, n):  # it goes on
            if has_head and row == first:
                heads[b] = carry
            else:
                keep(y, i, carry, alpha, beta, how)


@es.function
def _sum_of(heads: Any, first: Any, last: Any, at_once: Any) -> Any:
    """Of heads from one to another, some of which are loaded at once."""
    total = heads[last]
    for b in range(first, last, at_once):
        for q in range(at_once):
            if b + q < last:
                total += heads[b + q]
    return total


def _add_heads(
    k: int, count: Any, rows: Any, first: Any, last: Any, empty: Any, heads: Any, y: Any,
    at_once: static, alpha: Any, beta: Any, how: Any,
) -> None:  # fmt: skip
    if k < count:
        y[rows[k]] += alpha * _sum_of(heads, first[k] + 1, last[k], at_once)
    else:
        keep(y, empty[k - count], 0, alpha, beta, how)


def _add_heads_of_columns(
    k: int, j: int, count: Any, rows: Any, first: Any, last: Any, empty: Any, heads: Any, y: Any,
    at_once: static, alpha: Any, beta: Any, how: Any,
) -> None:  # fmt: skip
    if k < count:
        y[rows[k], j] += alpha * _sum_of(heads[:, j], first[k] + 1, last[k], at_once)
    else:
        keep(y[empty[k - count], :], j, 0, alpha, beta, how)


@es.function
def _with_groups_before(
    total: Any, began_here: Any, t: Any, columns: Any, left: Any, has_end: Any
) -> Any:
    """The sum of a row with what groups before have of it, back to one where a row ended; and
    whether there was one."""
    g = t - columns
    while g >= 0 and began_here == 0:
        total += left[g]
        began_here = has_end[g]
        g -= columns
    return total, began_here


def _share_of_columns(
    team: Any, ends: Any, before: Any, rows: Any, row_map: Any, entries: Any, values: Any, x: Any,
    y: Any, heads: Any, blocks: Any, columns: static, groups: static, ahead: static,
    kind: Any, alpha: Any, beta: Any, how: Any, conj: Any,
) -> None:  # fmt: skip
    b = team.league_rank // blocks
    t = np.int32(team.team_rank)
    group = t // columns
    j = (team.league_rank % blocks) * columns + t % columns
    is_there = j < y.extent(1)
    from_column = min(j, y.extent(1) - 1)
    start = b * (32 * groups)
    begin = start + group * 32
    n = entries.extent(0)
    bits = ends[b * groups + group]
    row = np.int32(before[b * groups + group])
    total = kind(0)
    to_end = kind(0)  # of the row that began in an earlier group
    ended = np.int32(-1)
    for c in range(0, 32, ahead):
        products = es.local(ahead, kind)
        for q in range(ahead):
            k = begin + c + q
            products[q] = 0
            if k < n:
                products[q] = conjugated(values[k], conj) * x[entries[k], from_column]
        for q in range(ahead):
            total += products[q]
            if (bits & np.uint32(1)) != np.uint32(0):
                if ended < 0:
                    ended = row
                    to_end = total
                elif is_there:
                    keep(y[rows[row], :], j, total, alpha, beta, how)
                row += 1
                total = kind(0)
            bits = bits >> np.uint32(1)
    # What groups have of the row that goes on, and whether a row ended in them.
    left = team.scratch(team.team_size, kind)
    has_end = team.scratch(team.team_size, np.int32)
    left[t] = total
    has_end[t] = 1 if ended >= 0 else 0
    team.barrier()
    if ended >= 0:
        sum_of_row, began_here = _with_groups_before(to_end, 0, t, columns, left, has_end)
        i = rows[ended]
        if began_here == 0 and row_map[i] < start:
            if is_there:
                heads[b, j] = sum_of_row
        elif is_there:
            keep(y[i, :], j, sum_of_row, alpha, beta, how)
    if group == groups - 1 and row < rows.extent(0):
        sum_of_row, _ = _with_groups_before(total, has_end[t], t, columns, left, has_end)
        i = rows[row]
        if is_there and row_map[i] < min(start + 32 * groups, n):  # it goes on
            if row_map[i] < start:
                heads[b, j] = sum_of_row
            else:
                keep(y[i, :], j, sum_of_row, alpha, beta, how)

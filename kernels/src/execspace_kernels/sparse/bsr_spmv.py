"""Products of matrices of blocks with vectors.

Algorithms
    rows: a work item for each row of blocks, on hosts with several vectors at once; the size of
    blocks is a constant, so loops unroll.
    scalars: a work item for each row of elements; neighbours read neighbours in memory.
    stream: a team takes some rows of blocks; its threads compute the products as they lie in
    memory, into scratch memory, where rows are summed.
    gather: of transposes, as "rows" or "scalars", by the transpose of the graph of blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import execspace as es

from ..arguments import MANY, largest_team
from ..errors import MatrixError
from .bsr import BsrMatrix
from .elements import conjugated, keep
from .rows import transposed
from .spmv_teams import Launch

__all__ = ["BLOCK_ALGORITHMS", "product_of_blocks"]

BLOCK_ALGORITHMS = ("auto", "rows", "scalars", "stream", "gather")
_REGISTERS = 32  # sums that a work item of a host has at once
_UNROLLED = 8  # rows and columns of blocks that a work item takes as a whole
_LARGEST = 64
_FEW = 8  # elements a row, above which streaming pays
_SHARE = 1024  # elements of a team
_THREADS = 128  # of a team at most
_SCRATCH = 32768  # bytes


def product_of_blocks(
    algorithm: str,
    B: BsrMatrix,
    x: es.View,
    y: es.View,
    flipped: bool,
    space: es.ExecutionSpace,
    how: str,
    conj: str,
) -> tuple[str, str, Launch]:
    """The algorithm, why, and what launches a product with x and y, and others like them."""
    chosen, why = _chosen(algorithm, B, x, y, flipped, space)
    kind = _kind(B, x)
    r, c = B.block[::-1] if flipped else B.block
    if chosen == "stream":
        return chosen, why, _stream(B, x, y, space, how, conj)
    graph, order = B.graph, B.entries  # which is not read in an order
    if flipped:
        graph, order = transposed(B.graph, space)
    whole = chosen == "rows" or (chosen == "gather" and _by_rows(B, space))
    width = _width(r, x) if whole and space.concurrency <= MANY else 1
    items = graph.num_rows if whole else y.shape[0]
    every: Any = es.RangePolicy(items, space=space)
    if y.rank == 2:
        iterate = "left" if x.layout == "left" else "right"
        shape = items, -(-y.shape[1] // width)
        every = es.MDRangePolicy(shape, iterate=iterate if width > 1 else "auto", space=space)
    turn = "yes" if flipped else "no"
    if whole:
        kernel = _by_row(y.rank, r, c, width, kind, how, conj, turn)
    else:
        kernel = _by_scalar(y.rank, r, c, how, conj, turn)

    def launch(B: Any, x: es.View, y: es.View, alpha: Any, beta: Any) -> None:
        es.parallel_for(
            every, kernel, graph.row_map, graph.entries, B.values, order, x, y, alpha, beta,
            label=f"spmv {chosen} of blocks",
        )  # fmt: skip

    return chosen, why, launch


def _stream(B: BsrMatrix, x: es.View, y: es.View, space: Any, how: str, conj: str) -> Launch:
    """A team for some rows of blocks."""
    r, c = B.block
    m = B.graph.num_rows
    rows, kind = _rows_of_a_team(B), _kind(B, x)
    capacity = max(
        1, min(B.graph.most_in(rows) * r * c, _SCRATCH // np.result_type(B.dtype, x.dtype).itemsize)
    )
    size = min(_THREADS, largest_team(space))
    kernel = _by_team(r, c, kind, how, conj)
    policy = es.TeamPolicy(-(-m // rows), size, space=space)

    def one(B: Any, x: es.View, y: es.View, alpha: Any, beta: Any) -> None:
        es.parallel_for(
            policy, kernel, B.row_map, B.entries, B.values, x, y, rows, capacity, alpha, beta,
            label="spmv stream of blocks",
        )  # fmt: skip

    def several(B: Any, x: es.View, y: es.View, alpha: Any, beta: Any) -> None:
        for j in range(y.shape[1]):
            one(B, x[:, j], y[:, j], alpha, beta)

    return one if y.rank == 1 else several


def _kind(B: BsrMatrix, x: es.View) -> str:
    """What sums are of: the one dtype of both, or the common one."""
    return "one" if B.dtype == x.dtype else str(np.result_type(B.dtype, x.dtype))


def _width(r: int, x: es.View) -> int:
    """How many vectors a work item of a host takes for a row of blocks; see `spmv_columns`."""
    if x.rank == 1:
        return 1
    columns, most = x.shape[1], max(1, min(4 if x.layout == "left" else 8, _REGISTERS // r))
    if columns <= most:
        return max(1, columns)
    return most if columns % most == 0 else min(most, 4)


def _rows_of_a_team(B: BsrMatrix) -> int:
    """Rows of blocks that a team takes."""
    mean = max(B.nnz // max(B.graph.num_rows, 1), 1)
    return max(1, _SHARE // mean)


def _by_rows(B: BsrMatrix, space: es.ExecutionSpace) -> bool:
    """Whether a work item takes a row of blocks."""
    return space.concurrency <= MANY and max(B.block) <= _UNROLLED


def _chosen(
    algorithm: str, B: BsrMatrix, x: es.View, y: es.View, flipped: bool, space: es.ExecutionSpace
) -> tuple[str, str]:
    """The algorithm, and why; MatrixError for one that is not for this product."""
    if flipped:
        if algorithm not in ("auto", "gather"):
            raise MatrixError(
                f"spmv: algorithm={algorithm!r} is not for transposes; expected 'gather' or 'auto'."
            )
        return "gather", "it is a product with the transpose"
    r, c = B.block
    if algorithm == "gather":
        raise MatrixError(
            f"spmv: algorithm={algorithm!r} is for modes 'T' and 'H'; expected 'rows' or 'auto'."
        )
    if algorithm == "rows" and max(r, c) > _LARGEST:
        raise MatrixError(
            f"spmv: algorithm='rows' is for blocks of up to {_LARGEST} x {_LARGEST}, and these are "
            f"of {r} x {c}; expected 'scalars' or 'auto'."
        )
    if algorithm != "auto":
        return algorithm, "it was asked for"
    if _by_rows(B, space):
        return "rows", f"space '{space.name}' runs few work items at once, and blocks are small"
    if space.concurrency <= MANY:
        return "scalars", f"blocks have more than {_UNROLLED} rows or columns"
    if not isinstance(space, es.SupportsTeams):
        return "scalars", f"space '{space.name}' has no teams"
    if x.rank == 2:
        return "scalars", "there are several vectors"
    if B.nnz <= _FEW * B.shape[0]:
        return "scalars", f"rows have {_FEW} elements or fewer on the average"
    itemsize = np.result_type(B.dtype, x.dtype).itemsize
    if B.graph.most_in(_rows_of_a_team(B)) * r * c * itemsize > _SCRATCH:
        return "scalars", "some rows are too long for the memory of a team"
    return "stream", f"rows have more than {_FEW} elements on the average"


# -- kernels --------------------------------------------------------------------------------------
# Made for the size of blocks and the rest of what is known when they are compiled: captured numbers
# and strings cost a launch nothing, while static arguments and dtypes take it off the fast way.
# `how` is "set"
# or "add"; `conj` and `flipped` are "yes" or "no". Of a transpose `row_map` and `entries` are its
# own, `order` says where its blocks are, which are r x c when they are turned.


@es.function
def _element(values: Any, k: Any, i: Any, j: Any, conj: Any, flipped: Any) -> Any:
    if flipped == "yes":
        return conjugated(values[k, j, i], conj)
    return conjugated(values[k, i, j], conj)


@es.function
def _place(order: Any, k: Any, flipped: Any) -> Any:
    if flipped == "yes":
        return order[k]
    return k


@cache
def _by_row(
    rank: int, r: int, c: int, width: int, kind: str, how: str, conj: str, flipped: str
) -> Callable[..., None]:
    """The kernel of a row of blocks, with one vector, or so many at once of several."""

    def row(
        i: int, row_map: Any, entries: Any, values: Any, order: Any, x: Any, y: Any, alpha: Any,
        beta: Any,
    ) -> None:  # fmt: skip
        if kind == "one":
            totals = es.local(r, values.dtype)
        elif kind == "complex64":
            totals = es.local(r, es.complex64)
        elif kind == "complex128":
            totals = es.local(r, es.complex128)
        elif kind == "float32":
            totals = es.local(r, es.float32)
        else:
            totals = es.local(r, es.float64)
        for k in range(row_map[i], row_map[i + 1]):
            at = _place(order, k, flipped)
            left = np.int64(entries[k]) * c
            for b in range(c):
                for a in range(r):
                    totals[a] += _element(values, at, a, b, conj, flipped) * x[left + b]
        for a in range(r):
            keep(y, i * r + a, totals[a], alpha, beta, how)

    def rows(
        i: int, u: int, row_map: Any, entries: Any, values: Any, order: Any, x: Any, y: Any,
        alpha: Any, beta: Any,
    ) -> None:  # fmt: skip
        if kind == "one":
            totals = es.local(r * width, values.dtype)
        elif kind == "complex64":
            totals = es.local(r * width, es.complex64)
        elif kind == "complex128":
            totals = es.local(r * width, es.complex128)
        elif kind == "float32":
            totals = es.local(r * width, es.float32)
        else:
            totals = es.local(r * width, es.float64)
        v = u * width
        if v + width <= y.extent(1):
            for k in range(row_map[i], row_map[i + 1]):
                at = _place(order, k, flipped)
                left = np.int64(entries[k]) * c
                for b in range(c):
                    for a in range(r):
                        element = _element(values, at, a, b, conj, flipped)
                        for t in range(width):
                            totals[a * width + t] += element * x[left + b, v + t]
            for a in range(r):
                for t in range(width):
                    keep(y[i * r + a, :], v + t, totals[a * width + t], alpha, beta, how)
        else:
            for w in range(v, y.extent(1)):
                for a in range(r):
                    totals[a] = 0
                for k in range(row_map[i], row_map[i + 1]):
                    at = _place(order, k, flipped)
                    left = np.int64(entries[k]) * c
                    for b in range(c):
                        for a in range(r):
                            totals[a] += _element(values, at, a, b, conj, flipped) * x[left + b, w]
                for a in range(r):
                    keep(y[i * r + a, :], w, totals[a], alpha, beta, how)

    return row if rank == 1 else rows


@cache
def _by_scalar(rank: int, r: int, c: int, how: str, conj: str, flipped: str) -> Callable[..., None]:
    """The kernel of a row of elements, with one vector or several."""

    def scalar(
        q: int, row_map: Any, entries: Any, values: Any, order: Any, x: Any, y: Any, alpha: Any,
        beta: Any,
    ) -> None:  # fmt: skip
        i = q // r
        a = q % r
        total = 0
        for k in range(row_map[i], row_map[i + 1]):
            at = _place(order, k, flipped)
            left = np.int64(entries[k]) * c
            for b in range(c):
                total += _element(values, at, a, b, conj, flipped) * x[left + b]
        keep(y, q, total, alpha, beta, how)

    def scalars(
        q: int, v: int, row_map: Any, entries: Any, values: Any, order: Any, x: Any, y: Any,
        alpha: Any, beta: Any,
    ) -> None:  # fmt: skip
        i = q // r
        a = q % r
        total = 0
        for k in range(row_map[i], row_map[i + 1]):
            at = _place(order, k, flipped)
            left = np.int64(entries[k]) * c
            for b in range(c):
                total += _element(values, at, a, b, conj, flipped) * x[left + b, v]
        keep(y[q, :], v, total, alpha, beta, how)

    return scalar if rank == 1 else scalars


@cache
def _by_team(r: int, c: int, kind: str, how: str, conj: str) -> Callable[..., None]:
    """The kernel of a team."""

    def streamed(
        team: Any, row_map: Any, entries: Any, values: Any, x: Any, y: Any, rows: Any,
        capacity: Any, alpha: Any, beta: Any,
    ) -> None:  # fmt: skip
        first = team.league_rank * rows
        last = min(first + rows, row_map.extent(0) - 1)
        begin = row_map[first]
        count = np.int64(row_map[last] - begin) * (r * c)
        if kind == "one":
            products = team.scratch(capacity, values.dtype)
        elif kind == "complex64":
            products = team.scratch(capacity, es.complex64)
        elif kind == "complex128":
            products = team.scratch(capacity, es.complex128)
        elif kind == "float32":
            products = team.scratch(capacity, es.float32)
        else:
            products = team.scratch(capacity, es.float64)
        near = count <= capacity
        if near:
            for e in es.TeamThreadRange(team, int(count)):
                k = begin + e // (r * c)
                b = e % c
                left = np.int64(entries[k]) * c
                products[e] = conjugated(values[k, e // c % r, b], conj) * x[left + b]
            team.barrier()
        for q in es.TeamThreadRange(team, (last - first) * r):
            i = first + q // r
            a = q % r
            total = 0
            if near:
                for k in range(row_map[i] - begin, row_map[i + 1] - begin):
                    for b in range(c):
                        total += products[(k * r + a) * c + b]
            else:
                for k in range(row_map[i], row_map[i + 1]):
                    left = np.int64(entries[k]) * c
                    for b in range(c):
                        total += conjugated(values[k, a, b], conj) * x[left + b]
            keep(y, first * r + q, total, alpha, beta, how)

    return streamed

"""Products of stencils on grids with vectors.

Algorithms
    grid: one launch, whose work items look for each neighbour whether it is there. On devices that
    costs nothing beside the memory.
    edges: one launch over the interior, where all neighbours are, so that loops have no tests and
    compilers turn them into vector instructions; and one over the points at the border.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import execspace as es

from ..arguments import MANY
from .elements import conjugated, keep
from .spmv_teams import Launch
from .structured import StencilMatrix, element, is_inside, is_step, place

__all__ = ["STENCIL_ALGORITHMS", "product_of_stencils"]

_FEW = 10_000  # points of a grid that are not worth two launches
STENCIL_ALGORITHMS = ("auto", "grid", "edges")


def product_of_stencils(
    algorithm: str,
    S: StencilMatrix,
    x: es.View,
    y: es.View,
    flipped: bool,
    space: es.ExecutionSpace,
    how: str,
    conj: str,
) -> tuple[str, str, Launch]:
    """The algorithm, why, and what launches a product with x and y, and others like them."""
    grid, form, turn = S.grid, S.form, "yes" if flipped else "no"
    # A dimension that the grid does not have has no border: nothing steps along it.
    ghosts = [int(any(step[d] for step in S.steps)) for d in range(3)]
    ends = [e - g for e, g in zip(grid, ghosts, strict=True)]
    chosen, why = _chosen(algorithm, S.shape[0], space)
    several = y.shape[1:]
    if chosen == "grid":
        every = es.MDRangePolicy((*grid, *several), space=space)
        whole = _at_point(y.rank, form, "tested", how, conj, turn)

        def at_once(S: Any, x: es.View, y: es.View, alpha: Any, beta: Any) -> None:
            es.parallel_for(every, whole, S.values, x, y, *grid, alpha, beta, label="spmv grid")

        return chosen, why, at_once
    inner = [max(e - g, 0) for e, g in zip(ends, ghosts, strict=True)]
    high = [max(e, g) for e, g in zip(ends, ghosts, strict=True)]
    inside = es.MDRangePolicy((*ghosts, *(0 for _ in several)), (*high, *several), space=space)
    m, n, p = grid
    planes = (m - inner[0]) * n * p
    lines = inner[0] * (n - inner[1]) * p
    count = planes + lines + inner[0] * inner[1] * (p - inner[2])
    border: Any = es.RangePolicy(count, space=space)
    if several:
        border = es.MDRangePolicy((count, *several), space=space)
    in_interior = _at_point(y.rank, form, "all", how, conj, turn)
    at_border = _at_border(y.rank, form, how, conj, turn)

    def in_two(S: Any, x: es.View, y: es.View, alpha: Any, beta: Any) -> None:
        es.parallel_for(
            inside, in_interior, S.values, x, y, *grid, alpha, beta, label="spmv edges, interior"
        )
        es.parallel_for(
            border, at_border, S.values, x, y, *grid, *inner, planes, lines, alpha, beta,
            label="spmv edges",
        )  # fmt: skip

    return chosen, why, in_two


def _chosen(algorithm: str, points: int, space: es.ExecutionSpace) -> tuple[str, str]:
    if algorithm != "auto":
        return algorithm, "it was asked for"
    if space.concurrency > MANY:
        return "grid", f"space '{space.name}' hides tests behind memory, and launches cost time"
    if points < _FEW:
        return "grid", f"a second launch costs more than tests of {points} points"
    return "edges", f"loops of space '{space.name}' are faster without tests"


# -- kernels --------------------------------------------------------------------------------------
# Made for a stencil and the rest of what is known when they are compiled: captured numbers and
# strings cost a launch nothing, while static arguments and tuples take it off the fast way.
# `how` is "set" or "add",
# `conj` and `flipped` "yes" or "no"; `near` is "all" where all neighbours are there. The element of
# a transpose for a step is that of the neighbour for the step back. Loops over steps unroll.


@es.function
def _sum(
    i: Any, j: Any, k: Any, values: Any, x: Any, m: Any, n: Any, p: Any, conj: Any, flipped: Any,
    near: Any, form: Any,
) -> Any:  # fmt: skip
    row = (i * n + j) * p + k
    total = 0
    for a in (-1, 0, 1):
        part = 0  # a plane's: sums that do not wait for each other
        for b in (-1, 0, 1):
            for c in (-1, 0, 1):
                if is_step(a, b, c, form):
                    is_there = near == "all" or is_inside(i + a, j + b, k + c, m, n, p)
                    at = row + (a * n + b) * p + c if is_there else row
                    if flipped == "yes":
                        value = element(values, at, place(-a, -b, -c, form))
                    else:
                        value = element(values, row, place(a, b, c, form))
                    # Without a branch around them no load waits for another one.
                    product = conjugated(value, conj) * x[at]
                    part += product if is_there else 0
        total += part
    return total


@es.function
def _border(
    q: Any, m: Any, n: Any, p: Any, m_in: Any, n_in: Any, p_in: Any, planes: Any, lines: Any
) -> Any:
    """The q-th point at the border: of planes at the ends of i, of those of j within, of k."""
    low = (m - m_in + 1) // 2  # points before the interior
    if q < planes:
        i = q // (n * p)
        j = q // p % n
        k = q % p
        i += 0 if i < low else m_in
    elif q < planes + lines:
        t = q - planes
        i = low + t // ((n - n_in) * p)
        j = t // p % (n - n_in)
        k = t % p
        j += 0 if j < (n - n_in + 1) // 2 else n_in
    else:
        t = q - planes - lines
        i = low + t // (n_in * (p - p_in))
        j = (n - n_in + 1) // 2 + t // (p - p_in) % n_in
        k = t % (p - p_in)
        k += 0 if k < (p - p_in + 1) // 2 else p_in
    return i, j, k


@cache
def _at_point(
    rank: int, form: str, near: str, how: str, conj: str, flipped: str
) -> Callable[..., None]:
    """The kernel of a grid point, with one vector or several."""

    def point(
        i: int, j: int, k: int, values: Any, x: Any, y: Any, m: Any, n: Any, p: Any, alpha: Any,
        beta: Any,
    ) -> None:  # fmt: skip
        total = _sum(i, j, k, values, x, m, n, p, conj, flipped, near, form)
        keep(y, (i * n + j) * p + k, total, alpha, beta, how)

    def points(
        i: int, j: int, k: int, v: int, values: Any, x: Any, y: Any, m: Any, n: Any, p: Any,
        alpha: Any, beta: Any,
    ) -> None:  # fmt: skip
        total = _sum(i, j, k, values, x[:, v], m, n, p, conj, flipped, near, form)
        keep(y[(i * n + j) * p + k, :], v, total, alpha, beta, how)

    return point if rank == 1 else points


@cache
def _at_border(rank: int, form: str, how: str, conj: str, flipped: str) -> Callable[..., None]:
    """The kernel of a point at the border, with one vector or several."""

    def point(
        q: int, values: Any, x: Any, y: Any, m: Any, n: Any, p: Any, m_in: Any, n_in: Any,
        p_in: Any, planes: Any, lines: Any, alpha: Any, beta: Any,
    ) -> None:  # fmt: skip
        i, j, k = _border(q, m, n, p, m_in, n_in, p_in, planes, lines)
        total = _sum(i, j, k, values, x, m, n, p, conj, flipped, "tested", form)
        keep(y, (i * n + j) * p + k, total, alpha, beta, how)

    def points(
        q: int, v: int, values: Any, x: Any, y: Any, m: Any, n: Any, p: Any, m_in: Any, n_in: Any,
        p_in: Any, planes: Any, lines: Any, alpha: Any, beta: Any,
    ) -> None:  # fmt: skip
        i, j, k = _border(q, m, n, p, m_in, n_in, p_in, planes, lines)
        total = _sum(i, j, k, values, x[:, v], m, n, p, conj, flipped, "tested", form)
        keep(y[(i * n + j) * p + k, :], v, total, alpha, beta, how)

    return point if rank == 1 else points

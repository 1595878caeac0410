"""Kernels of solves with supernodes: a team for one, or for many in order.

Forward: what a supernode gives to rows below it lies in `given`, a place for each of its rows;
each row takes what is there for it in a fixed order.
"""

from __future__ import annotations

from typing import Any

import execspace as es


@es.function
def forward(
    team: Any, s: Any, firsts: Any, starts: Any, elements: Any, row_starts: Any, take_map: Any,
    takes: Any, given: Any, order: Any, b: Any, v: Any, known: Any, by: Any,
) -> None:  # fmt: skip
    """Supernode s of L; `known` is memory of the team."""
    first = firsts[s]
    width = firsts[s + 1] - first
    begin = row_starts[s]
    height = width + row_starts[s + 1] - begin
    base = starts[s]
    for c in es.TeamVectorRange(team, width):
        i = first + c
        total = b[order[i]]
        for k in range(take_map[i], take_map[i + 1]):
            total -= given[takes[k]]
        known[c] = total
    team.barrier()
    for r in es.TeamVectorRange(team, height):
        total = 0
        for c in range(width):
            if by == "rows":
                total += elements[base + r * width + c] * known[c]
            else:  # neighbours in memory are of neighbouring rows
                total += elements[base + c * height + r] * known[c]
        if r < width:
            v[first + r] = total
        else:
            given[begin + r - width] = total
    team.barrier()


@es.function
def product(
    team: Any, width: Any, behind: Any, base: Any, begin: Any, elements: Any, rows: Any, v: Any,
    known: Any,
) -> Any:  # fmt: skip
    """A row of a block of U, by the lanes of a thread."""
    own = es.parallel_reduce(
        es.ThreadVectorRange(team, width), lambda c: elements[base + c] * known[c]
    )
    others = es.parallel_reduce(
        es.ThreadVectorRange(team, behind),
        lambda k: elements[base + width + k] * v[rows[begin + k]],
    )
    return own + others


@es.function
def backward(
    team: Any, s: Any, firsts: Any, starts: Any, elements: Any, row_starts: Any, rows: Any,
    order: Any, v: Any, x: Any, known: Any,
) -> None:  # fmt: skip
    """Supernode s of U."""
    first = firsts[s]
    width = firsts[s + 1] - first
    begin = row_starts[s]
    behind = row_starts[s + 1] - begin
    for c in es.TeamVectorRange(team, width):
        known[c] = v[first + c]
    team.barrier()
    for r in es.TeamThreadRange(team, width):
        base = starts[s] + r * (width + behind)
        total = product(team, width, behind, base, begin, elements, rows, v, known)
        v[first + r] = total
        x[order[first + r]] = total
    team.barrier()


def forward_of_level(
    team: Any, begin: Any, widest: Any, blocks: Any, firsts: Any, starts: Any, elements: Any,
    row_starts: Any, take_map: Any, takes: Any, given: Any, order: Any, b: Any, v: Any, by: Any,
) -> None:  # fmt: skip
    """A supernode of a level."""
    known = team.scratch(widest, v.dtype)
    forward(
        team, blocks[begin + team.league_rank], firsts, starts, elements, row_starts, take_map,
        takes, given, order, b, v, known, by,
    )  # fmt: skip


def forward_of_chain(
    team: Any, begin: Any, end: Any, widest: Any, blocks: Any, firsts: Any, starts: Any,
    elements: Any, row_starts: Any, take_map: Any, takes: Any, given: Any, order: Any, b: Any,
    v: Any, by: Any,
) -> None:  # fmt: skip
    """Supernodes of some levels, one after the other."""
    known = team.scratch(widest, v.dtype)
    for at in range(begin, end):
        forward(
            team, blocks[at], firsts, starts, elements, row_starts, take_map, takes, given, order,
            b, v, known, by,
        )  # fmt: skip


def backward_of_level(
    team: Any, begin: Any, widest: Any, blocks: Any, firsts: Any, starts: Any, elements: Any,
    row_starts: Any, rows: Any, order: Any, v: Any, x: Any,
) -> None:  # fmt: skip
    """A supernode of a level."""
    known = team.scratch(widest, v.dtype)
    backward(
        team, blocks[begin + team.league_rank], firsts, starts, elements, row_starts, rows, order,
        v, x, known,
    )  # fmt: skip


def backward_of_chain(
    team: Any, begin: Any, end: Any, widest: Any, blocks: Any, firsts: Any, starts: Any,
    elements: Any, row_starts: Any, rows: Any, order: Any, v: Any, x: Any,
) -> None:  # fmt: skip
    """Supernodes of some levels, one after the other."""
    known = team.scratch(widest, v.dtype)
    for at in range(begin, end):
        backward(team, blocks[at], firsts, starts, elements, row_starts, rows, order, v, x, known)

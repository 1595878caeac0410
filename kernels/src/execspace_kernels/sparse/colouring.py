"""colour: numbers for the rows of a matrix, so that rows with an element in common differ.

Rows i and j have one in common if (i, j) or (j, i) is stored. On hosts rows take the least number
that is free in order. On devices all rows do at once that precede their neighbours without one in a
random order, until none is left: Jones and Plassmann, "A parallel graph coloring heuristic", SIAM
J. Sci. Comput. 1993. The random order is that of hashes, so the numbers are the same in each run.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..arguments import MANY, at_once, choice, first
from ..decisions import decided
from ..errors import MatrixError
from .crs import StaticCrsGraph
from .level_sets import LevelSets, by_number
from .rows import transposed

__all__ = ["Colouring", "colour"]

ALGORITHMS = ("auto", "greedy", "jones-plassmann")


class Colouring:
    """The colours of the rows of a matrix; made by `colour`.

    Attributes
    ----------
    colours : View of int32, shape (n,)
        From 0 to `number` - 1.
    number : int
    algorithm : {"greedy", "jones-plassmann"}
    why : str
        What made it this one.
    """

    def __init__(self, colours: es.View, number: int, algorithm: str, why: str) -> None:
        self.colours, self.number, self.algorithm, self.why = colours, number, algorithm, why

    def rows(self, dtype: Any, space: es.ExecutionSpace) -> LevelSets:
        """The rows by colours. Blocks."""
        made: LevelSets = at_once(_rows, self, dtype, space)
        return made

    def __repr__(self) -> str:
        return f"<Colouring of {self.colours.size} rows by {self.number} colours>"


def _rows(colouring: Colouring, dtype: Any, space: es.ExecutionSpace) -> LevelSets:
    with es.use_space(space):
        n = colouring.colours.size
        numbers = es.View(n, np.int64, label="colours", space=space, initialize=False)
        es.parallel_for(es.RangePolicy(n, space=space), _copied, colouring.colours, numbers)
        return by_number(numbers, colouring.number, dtype, space)


def colour(
    graph: StaticCrsGraph,
    *,
    algorithm: str = "auto",
    space: str | es.ExecutionSpace | None = None,
) -> Colouring:
    """Colour the rows of a square matrix.

    Parameters
    ----------
    graph : StaticCrsGraph
        `A.graph`; it need not be symmetric, and its rows not be sorted.
    algorithm : {"auto", "greedy", "jones-plassmann"}
        See the module. "greedy" is by one work item, which "auto" takes where few run at once.
    space : str or ExecutionSpace, optional

    Returns
    -------
    Colouring
        The same in each run, and on each space for one algorithm.

    Raises
    ------
    MatrixError
        If it is no graph, not square, or `algorithm` is not known.
    SpaceAccessError

    Notes
    -----
    Blocks.
    """
    if not isinstance(graph, StaticCrsGraph):
        raise MatrixError(f"colour: {type(graph).__name__!r} is no graph; expected A.graph.")
    choice(algorithm, "colour: algorithm", ALGORITHMS)
    graph.check_settled("colour")
    where = es.space_for(graph.row_map, graph.entries, space=space)
    if graph.num_rows != graph.num_cols:
        raise MatrixError(
            f"colour: the graph is {graph.num_rows} x {graph.num_cols}; expected a square one."
        )
    why = "it was asked for"
    if algorithm == "auto":
        few = where.concurrency <= MANY
        algorithm = "greedy" if few else "jones-plassmann"
        why = f"space '{where.name}' runs {'few' if few else 'many'} work items at once"
    made: Colouring = at_once(_coloured, graph, algorithm, why, where)
    decided("colour", algorithm, why)
    return made


def _coloured(
    graph: StaticCrsGraph, algorithm: str, why: str, space: es.ExecutionSpace
) -> Colouring:
    n = graph.num_rows
    with es.use_space(space):
        other, _ = transposed(graph, space)
        sides = "one" if _is_symmetric(graph, other, space) else "both"
        parts = graph.row_map, graph.entries, other.row_map, other.entries
        colours = es.full(n, -1, np.int32, label="colours", space=space)
        every = es.RangePolicy(n, space=space)
        if algorithm == "greedy":
            last = es.full(n + 1, -1, np.int64, label="last", space=space)
            one = es.RangePolicy(1, space=space)
            es.parallel_for(one, _greedy, *parts, colours, last, sides, label="colour greedy")
        else:
            peaks = es.View(n, np.int32, label="peaks", space=space, initialize=False)
            left = n
            label = "colour jones-plassmann"
            while left:
                es.parallel_for(every, _is_peak, *parts, colours, peaks, sides, label=label)
                left = int(
                    es.parallel_reduce(every, _taken, *parts, colours, peaks, sides, label=label)
                )
        number = int(es.parallel_reduce(every, _of, colours, reducer=es.Max)) + 1 if n else 0
    return Colouring(colours, number, algorithm, why)


def _is_symmetric(graph: StaticCrsGraph, other: StaticCrsGraph, space: es.ExecutionSpace) -> bool:
    """Whether a graph is surely that of its transpose, whose rows are sorted."""
    return (
        first(graph.num_rows, space, _differs, graph.row_map, other.row_map) is None
        and first(graph.nnz, space, _differs_at, graph.entries, other.entries) is None
    )


# -- kernels --------------------------------------------------------------------------------------
# `sides` is "both" where neighbours are in the graph and its transpose, "one" if these are equal.


def _of(i: int, colours: Any) -> Any:
    return colours[i]


def _copied(i: int, colours: Any, numbers: Any) -> None:
    numbers[i] = colours[i]


def _differs(i: int, one: Any, other: Any) -> Any:
    return i if one[i + 1] != other[i + 1] else one.extent(0) - 1


def _differs_at(k: int, one: Any, other: Any) -> Any:
    return k if one[k] != other[k] else one.extent(0)


@es.function
def _note(i: Any, row_map: Any, entries: Any, colours: Any, last: Any) -> None:
    """Row i is the last one that has neighbours of these colours."""
    for k in range(row_map[i], row_map[i + 1]):
        if colours[entries[k]] >= 0:
            last[colours[entries[k]]] = i


def _greedy(
    one: int, row_map: Any, entries: Any, other_map: Any, others: Any, colours: Any, last: Any,
    sides: Any,
) -> None:  # fmt: skip
    for i in range(colours.extent(0)):
        _note(i, row_map, entries, colours, last)
        if sides == "both":
            _note(i, other_map, others, colours, last)
        free = 0
        while last[free] == i:
            free += 1
        colours[i] = free


@es.function
def _hash(i: Any) -> Any:
    """A number between 0 and 2**32 for a row, by the finalizer of MurmurHash3."""
    h = np.uint32(i)
    h = (h ^ (h >> 16)) * np.uint32(0x85EBCA6B)
    h = (h ^ (h >> 13)) * np.uint32(0xC2B2AE35)
    return np.int64(h ^ (h >> 16))


@es.function
def _precedes(i: Any, row_map: Any, entries: Any, colours: Any) -> Any:
    """Whether a row comes before all neighbours without a colour."""
    mine = _hash(i)
    for k in range(row_map[i], row_map[i + 1]):
        j = entries[k]
        if j != i and colours[j] < 0:
            other = _hash(j)
            if other > mine or (other == mine and j > i):
                return False
    return True


def _is_peak(
    i: int, row_map: Any, entries: Any, other_map: Any, others: Any, colours: Any, peaks: Any,
    sides: Any,
) -> None:  # fmt: skip
    peak = colours[i] < 0 and _precedes(i, row_map, entries, colours)
    if sides == "both":
        peak = peak and _precedes(i, other_map, others, colours)
    peaks[i] = 1 if peak else 0


@es.function
def _met(i: Any, row_map: Any, entries: Any, colours: Any, base: Any) -> Any:
    """A bit for each of the colours base to base + 62 that neighbours have."""
    mask = np.int64(0)
    for k in range(row_map[i], row_map[i + 1]):
        at = colours[entries[k]] - base
        if 0 <= at < 63:
            mask |= np.int64(1) << at
    return mask


def _taken(
    i: int, row_map: Any, entries: Any, other_map: Any, others: Any, colours: Any, peaks: Any,
    sides: Any,
) -> Any:  # fmt: skip
    """No neighbour of a peak is one, so nobody stores what another one reads."""
    if peaks[i] == 0:
        return 1 if colours[i] < 0 else 0
    base = np.int64(0)
    free = np.int64(63)
    while free == 63:
        mask = _met(i, row_map, entries, colours, base)
        if sides == "both":
            mask |= _met(i, other_map, others, colours, base)
        free = np.int64(0)
        while free < 63 and (mask >> free) & 1 == 1:
            free += 1
        base += 63
    colours[i] = base - 63 + free
    return 0

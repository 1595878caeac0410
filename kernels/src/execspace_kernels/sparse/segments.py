"""Where rows end, in bits: for products that share out entries, whatever rows they are of.

A bit for each entry tells whether it is the last one of its row, and a number for each word of
bits how many rows end before it, of those that have entries. So who takes some entries, from any
place on, knows their rows without a search. The bits are those of Liu and Vinter, "CSR5: an
efficient storage format for cross-platform sparse matrix-vector multiplication", ICS 2015, whose
values lie in another order; here they stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import execspace as es

from ..arguments import at_once
from .crs import StaticCrsGraph

__all__ = ["WORD", "Segments", "Spans", "bits_set", "segments_of", "spans_of"]

WORD = 32  # entries of a word
_PADDED = 128  # words: the last share may be any number of entries up to so many words


@dataclass(frozen=True)
class Segments:
    """Of a graph.

    Attributes
    ----------
    ends : View of uint32
        A word for 32 entries; more words than there are entries for.
    before : View of integers
        How many of `rows` end before the first entry of each word.
    rows, empty : View of integers
        Rows with entries, and those without, each in ascending order.
    """

    ends: es.View
    before: es.View
    rows: es.View
    empty: es.View


@dataclass(frozen=True)
class Spans:
    """Rows that have entries in several shares.

    Attributes
    ----------
    count : int
    rows : View of integers, at least `count` of them
    first, last : View of int32
        The share where each begins, and where it ends.
    """

    count: int
    rows: es.View
    first: es.View
    last: es.View


def segments_of(graph: StaticCrsGraph, space: es.ExecutionSpace) -> Segments:
    """Those of a graph with entries, which keeps them. Blocks the first time."""
    graph.check_settled("ends of rows")
    made: Segments = graph.kept(("segments", space), lambda: at_once(_segments, graph, space))
    return made


def spans_of(graph: StaticCrsGraph, share: int, space: es.ExecutionSpace) -> Spans:
    """Those of shares of so many entries, a multiple of 32. Kept; blocks the first time."""
    segments = segments_of(graph, space)
    made: Spans = graph.kept(
        ("spans", share, space), lambda: at_once(_spans, graph, segments, share, space)
    )
    return made


def _segments(graph: StaticCrsGraph, space: es.ExecutionSpace) -> Segments:
    m = graph.num_rows
    kind = np.int32 if m < np.iinfo(np.int32).max else np.int64
    words = -(-graph.nnz // (WORD * _PADDED)) * _PADDED

    def of(n: int, label: str) -> es.View:
        return es.View(n, kind, label=label, space=space, initialize=False)

    rank = of(m + 1, "rank")
    every = es.RangePolicy(m + 1, space=space)
    count = es.parallel_scan(every, _rank, graph.row_map, rank)
    found = Segments(
        ends=es.zeros(words, np.uint32, label="ends", space=space),
        before=of(words, "before"),
        rows=of(count, "rows"),
        empty=of(m - count, "empty"),
    )
    es.parallel_for(
        es.RangePolicy(m, space=space), _list, graph.row_map, rank, found.ends, found.rows,
        found.empty,
    )  # fmt: skip
    every = es.RangePolicy(words, space=space)
    es.parallel_for(every, _count, graph.row_map, rank, found.before)
    space.fence()
    return found


def _spans(
    graph: StaticCrsGraph, segments: Segments, share: int, space: es.ExecutionSpace
) -> Spans:
    shares = -(-graph.nnz // share)
    rows = es.View(shares, segments.rows.dtype, label="rows", space=space, initialize=False)
    first, last = (
        es.View(shares, np.int32, label=label, space=space, initialize=False)
        for label in ("first", "last")
    )
    every = es.RangePolicy(shares, space=space)
    count = es.parallel_scan(
        every, _span, graph.row_map, segments.before, segments.rows, share, rows, first, last
    )
    return Spans(int(count), rows, first, last)


# -- kernels --------------------------------------------------------------------------------------


@es.function
def bits_set(word: Any) -> Any:
    """How many bits of an uint32 are 1."""
    word = word - ((word >> np.uint32(1)) & np.uint32(0x55555555))
    word = (word & np.uint32(0x33333333)) + ((word >> np.uint32(2)) & np.uint32(0x33333333))
    word = (word + (word >> np.uint32(4))) & np.uint32(0x0F0F0F0F)
    return np.int32((word * np.uint32(0x01010101)) >> np.uint32(24))


def _rank(i: int, before: Any, final: Any, row_map: Any, rank: Any) -> Any:
    if final:
        rank[i] = before
    return 1 if i < row_map.extent(0) - 1 and row_map[i + 1] > row_map[i] else 0


def _list(i: int, row_map: Any, rank: Any, ends: Any, rows: Any, empty: Any) -> None:
    at = rank[i]
    if rank[i + 1] > at:
        rows[at] = i
        last = row_map[i + 1] - 1
        es.atomic_or(ends, last // 32, np.uint32(1) << np.uint32(last % 32))
    else:
        empty[i - at] = i


def _count(word: int, row_map: Any, rank: Any, before: Any) -> None:
    before[word] = rank[es.upper_bound(row_map, word * 32) - 1]


def _span(
    share: int, found: Any, final: Any, row_map: Any, before: Any, rows: Any, size: Any,
    spanned: Any, first: Any, last: Any,
) -> Any:  # fmt: skip
    if share == 0:
        return 0
    i = rows[before[share * size // 32]]
    if row_map[i] >= share * size or row_map[i] < (share - 1) * size:
        return 0  # it begins here, or the first of its shares is another one
    if final:
        spanned[found] = i
        first[found] = share - 1
        last[found] = (row_map[i + 1] - 1) // size
    return 1

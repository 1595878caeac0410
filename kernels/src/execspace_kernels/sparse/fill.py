"""Where incomplete factors have entries: ILU(k), by levels of fill.

An entry of the matrix has level 0, one that arises from entries (i, h) and (h, j), h < i and h < j,
the sum of their levels and one; the least counts. Entries of one level after the other are found
for all rows at once: Saad, "Iterative methods for sparse linear systems", 2nd ed., section 10.3.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..arguments import first
from .crs import StaticCrsGraph
from .rows import columns_of, keys_of, offsets_for, row_map_of, row_numbers
from .sptrsv_kernels import lacks_diagonal

__all__ = ["filled"]


def filled(
    graph: StaticCrsGraph, level: int, offsets: Any, space: es.ExecutionSpace
) -> StaticCrsGraph:
    """The graph of both factors together, with all of the diagonal; its columns ascend. Blocks.

    Parameters
    ----------
    graph : StaticCrsGraph
        Square, its columns ascending in each row.
    level : int
        Greatest level of fill.
    offsets : dtype
        Of its row map, or int64 where that cannot count.
    """
    n = graph.num_rows
    if not level and first(n, space, lacks_diagonal, graph.row_map, graph.entries) is None:
        return graph
    with es.use_space(space):
        own = keys_of(row_numbers(graph, space), graph.entries, (n, n), space)
        diagonal = es.View(n, np.int64, label="keys", space=space, initialize=False)
        es.parallel_for(es.RangePolicy(n, space=space), _diagonal_key, diagonal)
        keys, levels = _joined(
            (own, diagonal), (es.zeros(graph.nnz, np.int32), es.zeros(n, np.int32)), space
        )
        greatest = 0
        for lev in range(1, level + 1):
            if lev > 2 * greatest + 1:  # two entries make one of their levels' sum and one
                break
            row_map = row_map_of(keys, n, n, np.int64, space)
            new = _arising(keys, levels, row_map, n, lev, space)
            if not new.size:
                continue  # higher levels may arise from others
            greatest = lev
            keys, levels = _joined((keys, new), (levels, es.full(new.size, lev, np.int32)), space)
        kind = np.result_type(offsets, offsets_for(keys.size, None))
        row_map = row_map_of(keys, n, n, kind, space)
        entries = columns_of(keys, n, graph.entries.dtype, space)
        return StaticCrsGraph(row_map, entries, n, check=False)


def _joined(
    keys: tuple[es.View, es.View], levels: tuple[es.View, es.View], space: es.ExecutionSpace
) -> tuple[es.View, es.View]:
    """Keys of both, sorted and each once, with the level that came first."""
    total = keys[0].size + keys[1].size
    both = es.View(total, np.int64, label="keys", space=space, initialize=False)
    level = es.View(total, np.int32, label="fill", space=space, initialize=False)
    for whole, parts in ((both, keys), (level, levels)):
        es.deep_copy(whole[: parts[0].size], parts[0], instance=space)
        es.deep_copy(whole[parts[0].size :], parts[1], instance=space)
    es.sort_by_key(both, level, space=space)
    every = es.RangePolicy(total, space=space)
    places = es.View(total, np.int64, label="places", space=space, initialize=False)
    count = int(es.parallel_scan(every, _place, both, places)) if total else 0
    kept = es.View(count, np.int64, label="keys", space=space, initialize=False)
    least = es.View(count, np.int32, label="fill", space=space, initialize=False)
    es.parallel_for(every, _keep, both, level, places, kept, least)
    return kept, least


def _arising(
    keys: es.View, levels: es.View, row_map: es.View, n: int, lev: int, space: es.ExecutionSpace
) -> es.View:
    """Keys of new entries of a level, some of them several times."""
    rows = es.RangePolicy(n, space=space)
    counts = es.View(n, np.int64, label="counts", space=space, initialize=False)
    none = es.View(0, np.int64, space=space)
    es.parallel_for(rows, _pairs, keys, levels, row_map, lev, counts, none, "count")
    starts = es.View(n, np.int64, label="starts", space=space, initialize=False)
    total = int(es.parallel_scan(rows, _offset, counts, starts)) if n else 0
    new = es.View(total, np.int64, label="keys", space=space, initialize=False)
    if total:
        es.parallel_for(rows, _pairs, keys, levels, row_map, lev, starts, new, "fill")
    return new


# -- kernels --------------------------------------------------------------------------------------


def _diagonal_key(i: int, keys: Any) -> None:
    keys[i] = np.int64(i) * keys.extent(0) + i


def _place(k: int, before: Any, final: Any, keys: Any, places: Any) -> Any:
    new = 1 if k == 0 or keys[k - 1] != keys[k] else 0
    if final:
        places[k] = before
    return new


def _keep(k: int, keys: Any, levels: Any, places: Any, kept: Any, least: Any) -> None:
    if k == 0 or keys[k - 1] != keys[k]:
        kept[places[k]] = keys[k]
        least[places[k]] = levels[k]  # sorting is stable: that of the part which was first


def _offset(i: int, before: Any, final: Any, counts: Any, starts: Any) -> Any:
    if final:
        starts[i] = before
    return counts[i]


def _pairs(
    i: int, keys: Any, levels: Any, row_map: Any, lev: Any, at: Any, new: Any, what: Any
) -> None:
    n = row_map.extent(0) - 1
    base = np.int64(i) * n
    end = row_map[i + 1]
    count = np.int64(0)
    place = np.int64(0) if what == "count" else at[i]
    k = row_map[i]
    while k < end and keys[k] - base < i:
        h = keys[k] - base
        wanted = lev - 1 - levels[k]
        if wanted >= 0:
            p = k + 1  # goes along row i, as q along row h
            for q in range(row_map[h], row_map[h + 1]):
                j = keys[q] - h * n
                if j > h and levels[q] == wanted:
                    while p < end and keys[p] < base + j:
                        p += 1
                    if p == end or keys[p] != base + j:
                        if what == "fill":
                            new[place] = base + j
                            place += 1
                        count += 1
        k += 1
    if what == "count":
        at[i] = count

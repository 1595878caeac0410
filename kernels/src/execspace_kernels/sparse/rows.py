"""Rows of matrices rearranged: sorted, merged, transposed; and diagonals.

All but the diagonal sort keys, row * columns + column, with the space's own library where it has
one; transposes on hosts count instead. Sorting is stable, so sums of elements at one place are the
same in each run.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

import execspace as es

from ..arguments import MANY, at_once, check_apart, check_not_waited_for, check_takes, result
from ..decisions import only
from ..errors import MatrixError
from . import ports
from .crs import CrsMatrix, StaticCrsGraph
from .elements import conjugated, is_record, value_of, zero_of

__all__ = ["diagonal", "sort", "sort_and_merge", "transpose"]

_PARTS = 8  # of rows, which threads of a host transpose by counting
_FULL = 4  # columns for each entry, above which their counts take longer than to sort entries


def sort(A: CrsMatrix) -> CrsMatrix:
    """A new matrix whose columns ascend in each row; elements at one place stay apart."""
    A = ports.as_crs(A)
    space = A.space
    A.graph.check_settled("sort")
    only("sort", "sort")
    keys = keys_of(row_numbers(A.graph, space), A.entries, A.shape, space)
    keys, values = _sorted(keys, es.array(A.values, space=space), prod(A.shape), space)
    entries = columns_of(keys, A.shape[1], A.entries.dtype, space)
    row_map = es.array(A.row_map, space=space)
    graph = StaticCrsGraph(row_map, entries, A.shape[1], check=False)
    return CrsMatrix.of(graph.pending(), values)


def sort_and_merge(A: CrsMatrix) -> CrsMatrix:
    """A new matrix whose columns ascend in each row, elements at one place added. Blocks."""
    check_not_waited_for("sort_and_merge")
    A = ports.as_crs(A)
    space = A.space
    only("sort_and_merge", "sort")
    keys = keys_of(row_numbers(A.graph, space), A.entries, A.shape, space)
    values = es.array(A.values, space=space)
    return from_keys(keys, values, A.shape, A.entries.dtype, A.row_map.dtype, space)


def transpose(A: CrsMatrix, *, conjugate: bool = False) -> CrsMatrix:
    """The transpose, a new matrix whose columns ascend in each row.

    Parameters
    ----------
    conjugate : bool, default False
        Complex values are conjugated as well, and records by their method `conjugate`.
    """
    A = ports.as_crs(A)
    space = A.space
    only("transpose", "sort")
    graph, order = transposed(A.graph, space)
    values = es.View(A.nnz, A.dtype, label="values", space=space, initialize=False)
    every = es.RangePolicy(A.nnz, space=space)
    conj = "yes" if conjugate and (A.dtype.kind == "c" or is_record(A.dtype)) else "no"
    es.parallel_for(every, _picked, values, A.values, order, conj)
    return CrsMatrix.of(graph, values)


ports.transpose = transpose


def transposed(graph: StaticCrsGraph, space: es.ExecutionSpace) -> tuple[StaticCrsGraph, es.View]:
    """The graph of the transpose, and for each of its entries which one it is here. Kept."""
    graph.check_settled("transpose")
    made: tuple[StaticCrsGraph, es.View] = graph.kept(
        ("transposed", space), lambda: at_once(_transposed, graph, space)
    )
    return made


def _transposed(graph: StaticCrsGraph, space: es.ExecutionSpace) -> tuple[StaticCrsGraph, es.View]:
    with es.use_space(space):
        m, n = graph.num_rows, graph.num_cols
        entries = es.View(graph.nnz, graph.entries.dtype, space=space, initialize=False)
        if m - 1 > np.iinfo(entries.dtype).max:
            raise MatrixError(
                f"transpose: entries are of {entries.dtype}, which cannot hold row {m - 1}; "
                f"expected int64."
            )
        parts = min(space.concurrency, _PARTS)
        if space.concurrency <= MANY and parts * n <= _FULL * graph.nnz:
            return _counted(graph, entries, parts, space)
        rows = row_numbers(graph, space)
        keys = keys_of(graph.entries, rows, (n, m), space)
        order = es.argsort(keys, space=space)
        every = es.RangePolicy(graph.nnz, space=space)
        es.parallel_for(every, _picked, entries, rows, order, "no")
        sorted_keys = es.View(graph.nnz, np.int64, space=space, initialize=False)
        es.parallel_for(every, _picked, sorted_keys, keys, order, "no")
        row_map = row_map_of(sorted_keys, n, m, graph.row_map.dtype, space)
        return StaticCrsGraph(row_map, entries, m, check=False), order


def _counted(
    graph: StaticCrsGraph, entries: es.View, parts: int, space: es.ExecutionSpace
) -> tuple[StaticCrsGraph, es.View]:
    """The transpose by counting: parts of the rows put their entries behind those of parts before.

    Gustavson, "Two fast algorithms for sparse matrices: multiplication and permuted transposition",
    ACM Transactions on Mathematical Software 4, 1978.
    """
    m, n = graph.num_rows, graph.num_cols
    places = es.zeros((parts, n), np.int64, label="places", space=space, layout="right")
    row_map = es.View(n + 1, graph.row_map.dtype, label="row_map", space=space, initialize=False)
    order = es.View(graph.nnz, np.int64, label="order", space=space, initialize=False)
    every, columns = es.RangePolicy(parts, space=space), es.RangePolicy(n + 1, space=space)
    es.parallel_for(every, _count_columns, graph.row_map, graph.entries, places)
    es.parallel_scan(columns, _place_columns, places, row_map)
    es.parallel_for(every, _put_columns, graph.row_map, graph.entries, places, entries, order)
    return StaticCrsGraph(row_map, entries, m, check=False), order


def diagonal(A: CrsMatrix, *, out: Any = None) -> es.View:
    """The elements of the main diagonal, zero where none is stored; several are added."""
    A = ports.as_crs(A)
    n = min(A.shape)
    space = A.space
    found = result(out, "diagonal", (n,), A.dtype, space, A.values)
    check_takes("diagonal", found, A.dtype)
    if out is not None:
        check_apart("diagonal", found, the_values=A.values, row_map=A.row_map, entries=A.entries)
    only("diagonal", "rows")
    es.parallel_for(
        es.RangePolicy(n, space=space), _diagonal, A.row_map, A.entries, A.values, found
    )
    return found


# -- by keys --------------------------------------------------------------------------------------


def row_numbers(graph: StaticCrsGraph, space: es.ExecutionSpace) -> es.View:
    """The row of each entry."""
    rows = es.View(graph.nnz, np.int64, label="rows", space=space, initialize=False)
    es.parallel_for(es.RangePolicy(graph.num_rows, space=space), _mark_rows, graph.row_map, rows)
    return rows


def keys_of(
    rows: es.View, columns: es.View, shape: tuple[int, int], space: es.ExecutionSpace
) -> es.View:
    """row * number of columns + column of each element, by which they are sorted."""
    num_rows, num_cols = shape
    if num_rows and num_cols > np.iinfo(np.int64).max // num_rows:
        raise MatrixError(
            f"a matrix of {num_rows} x {num_cols} has more places than an int64 can count, and its "
            f"elements are sorted by these; expected fewer rows or columns: take parts of it by "
            f"sparse.submatrix."
        )
    n = rows.shape[0]
    keys = es.View(n, np.int64, label="keys", space=space, initialize=False)
    es.parallel_for(es.RangePolicy(n, space=space), _key, rows, columns, num_cols, keys)
    return keys


def columns_of(keys: es.View, num_cols: int, dtype: Any, space: es.ExecutionSpace) -> es.View:
    """The column of each key."""
    n = keys.shape[0]
    entries = es.View(n, dtype, label="entries", space=space, initialize=False)
    es.parallel_for(es.RangePolicy(n, space=space), _column, keys, num_cols, entries)
    return entries


def row_map_of(
    keys: es.View, num_rows: int, num_cols: int, dtype: Any, space: es.ExecutionSpace
) -> es.View:
    """Where the rows of sorted keys begin."""
    row_map = es.View(num_rows + 1, dtype, label="row_map", space=space, initialize=False)
    every = es.RangePolicy(num_rows + 1, space=space)
    es.parallel_for(every, _begin, keys, num_cols, row_map)
    return row_map


def from_keys(
    keys: es.View,
    values: es.View,
    shape: tuple[int, int],
    columns: Any,
    offsets: Any,
    space: es.ExecutionSpace,
) -> CrsMatrix:
    """The matrix of keys and values, both of which are sorted here; equal keys are merged."""
    m, n = shape
    keys, values = _sorted(keys, values, prod(shape), space)
    count = keys.shape[0]
    places = es.View(count, np.int64, label="places", space=space, initialize=False)
    nnz = 0
    if count:
        every = es.RangePolicy(count, space=space)
        nnz = int(es.parallel_scan(every, _place, keys, places))
    entries = es.View(nnz, columns, label="entries", space=space, initialize=False)
    merged = es.View(nnz, values.dtype, label="values", space=space, initialize=False)
    kept = es.View(nnz, np.int64, label="keys", space=space, initialize=False)
    every = es.RangePolicy(count, space=space)
    es.parallel_for(every, _merge, keys, values, places, n, kept, entries, merged)
    row_map = row_map_of(kept, m, n, offsets_for(nnz, offsets), space)
    return CrsMatrix.of(StaticCrsGraph(row_map, entries, n, check=False), merged)


def _sorted(
    keys: es.View, values: es.View, bound: int, space: es.ExecutionSpace
) -> tuple[es.View, es.View]:
    """Both in the order of the keys, which are below a bound; stable.

    Where a key and its number fit into one integer, hosts sort those, in two thirds of the time.
    """
    count = keys.shape[0]
    bits = max(count - 1, 0).bit_length()
    if space.concurrency > MANY or bound << bits > 1 << 63:
        es.sort_by_key(keys, values, space=space)
        return keys, values
    every = es.RangePolicy(count, space=space)
    both, found = (
        es.View(count, dtype, label="sorted", space=space, initialize=False)
        for dtype in (np.int64, values.dtype)
    )
    es.parallel_for(every, _number, keys, bits, both)
    es.sort(both, space=space)
    es.parallel_for(every, _by_number, both, bits, values, keys, found)
    return keys, found


def runs_of(keys: es.View, space: es.ExecutionSpace) -> tuple[es.View, es.View, es.View]:
    """The different keys, ascending; where each begins in the order of all, and their number at the
    end; and that order, which is stable. Blocks."""
    total = keys.shape[0]
    order = es.argsort(keys, space=space)
    places = es.View(total, np.int64, label="places", space=space, initialize=False)
    every = es.RangePolicy(total, space=space)
    count = int(es.parallel_scan(every, _place_in_order, keys, order, places)) if total else 0
    kept, starts = (
        es.View(size, np.int64, label="starts", space=space) for size in (count, count + 1)
    )
    es.parallel_for(every, _begin_run, keys, order, places, kept, starts, count)
    return kept, starts, order


def merged_keys(
    keys: es.View, shape: tuple[int, int], columns: Any, offsets: Any, space: es.ExecutionSpace
) -> tuple[StaticCrsGraph, es.View, es.View]:
    """The graph of keys, each of which it has once; and order and starts of `runs_of`."""
    kept, starts, order = runs_of(keys, space)
    entries = columns_of(kept, shape[1], columns, space)
    row_map = row_map_of(kept, *shape, offsets, space)
    return StaticCrsGraph(row_map, entries, shape[1], check=False), order, starts


def merged_graph(
    graph: StaticCrsGraph, space: es.ExecutionSpace
) -> tuple[StaticCrsGraph, es.View, es.View]:
    """The graph with each entry once, columns ascending; and order and starts, for `sums_of`."""
    shape = graph.num_rows, graph.num_cols
    keys = keys_of(row_numbers(graph, space), graph.entries, shape, space)
    return merged_keys(keys, shape, graph.entries.dtype, graph.row_map.dtype, space)


def sums_of(
    values: es.View, order: es.View, starts: es.View, space: es.ExecutionSpace, wide: Any
) -> es.View:
    """The values of a merged graph; numbers are added in a wider type."""
    n = starts.shape[0] - 1
    kind = values.dtype if is_record(values.dtype) or is_record(wide) else wide
    sums = es.View(n, kind, label="values", space=space, initialize=False)
    every = es.RangePolicy(n, space=space)
    es.parallel_for(every, _sum_in_order, values, order, starts, sums, label="sums of entries")
    return sums


def summed(counts: es.View, offsets: Any, space: es.ExecutionSpace) -> tuple[es.View, int]:
    """The row map of rows that have so many entries each, and how many they have. Blocks."""
    m = counts.shape[0]
    row_map = es.View(m + 1, offsets, label="row_map", space=space)
    if not m:
        return row_map, 0
    rows = es.RangePolicy(m, space=space)
    return row_map, int(es.parallel_scan(rows, _offset, counts, row_map, label="sums of counts"))


def made(nnz: int, columns: Any, dtype: Any, space: es.ExecutionSpace) -> tuple[es.View, es.View]:
    """Places for entries and values."""
    entries, values = (
        es.View(nnz, kind, label=label, space=space, initialize=False)
        for kind, label in ((columns, "entries"), (dtype, "values"))
    )
    return entries, values


def offsets_for(nnz: int, wanted: Any) -> np.dtype[Any]:
    """The dtype of a row map."""
    least = np.dtype(np.int32) if nnz <= np.iinfo(np.int32).max else np.dtype(np.int64)
    try:
        kind = least if wanted is None else np.dtype(wanted)
    except TypeError:
        kind = None
    if kind not in (np.dtype(np.int32), np.dtype(np.int64)):
        raise MatrixError(f"offsets={wanted!r}; expected int32 or int64.")
    assert kind is not None
    if kind.itemsize < least.itemsize:
        raise MatrixError(f"offsets of int32 cannot count {nnz} entries; expected int64.")
    return kind


@es.function
def begin_of(columns: Any, low: Any, high: Any, column: Any) -> Any:
    """The first entry from `low` to below `high` whose column is not below one, or `high`."""
    while low < high:
        middle = (low + high) // 2
        if columns[middle] < column:
            low = middle + 1
        else:
            high = middle
    return low


# -- kernels --------------------------------------------------------------------------------------


def _number(k: int, keys: Any, bits: Any, both: Any) -> None:
    both[k] = (keys[k] << bits) | k


def _by_number(k: int, both: Any, bits: Any, values: Any, keys: Any, found: Any) -> None:
    keys[k] = both[k] >> bits
    found[k] = value_of(values[both[k] & ((1 << bits) - 1)])


def _count_columns(part: int, row_map: Any, entries: Any, places: Any) -> None:
    m = row_map.extent(0) - 1
    parts = places.extent(0)
    for k in range(row_map[part * m // parts], row_map[(part + 1) * m // parts]):
        places[part, entries[k]] += 1


def _place_columns(c: int, before: Any, final: Any, places: Any, row_map: Any) -> Any:
    count = 0
    if c < places.extent(1):
        for part in range(places.extent(0)):
            own = places[part, c]
            if final:
                places[part, c] = before + count
            count += own
    if final:
        row_map[c] = before
    return count


def _put_columns(
    part: int, row_map: Any, columns: Any, places: Any, entries: Any, order: Any
) -> None:
    m = row_map.extent(0) - 1
    parts = places.extent(0)
    for i in range(part * m // parts, (part + 1) * m // parts):
        for k in range(row_map[i], row_map[i + 1]):
            c = columns[k]
            at = places[part, c]
            places[part, c] = at + 1
            entries[at] = i
            order[at] = k


def _mark_rows(i: int, row_map: Any, rows: Any) -> None:
    for k in range(row_map[i], row_map[i + 1]):
        rows[k] = i


def _key(k: int, rows: Any, columns: Any, num_cols: Any, keys: Any) -> None:
    keys[k] = np.int64(rows[k]) * num_cols + columns[k]


def _column(k: int, keys: Any, num_cols: Any, entries: Any) -> None:
    entries[k] = keys[k] % num_cols


def _picked(k: int, to: Any, source: Any, order: Any, conj: Any) -> None:
    if conj == "yes":
        to[k] = conjugated(source[order[k]], "yes")
    else:
        to[k] = source[order[k]]


def _begin(i: int, keys: Any, num_cols: Any, row_map: Any) -> None:
    row_map[i] = es.lower_bound(keys, np.int64(i) * num_cols)


def _place(k: int, before: Any, final: Any, keys: Any, places: Any) -> Any:
    if final:
        places[k] = before
    return 1 if k == 0 or keys[k - 1] != keys[k] else 0


def _place_in_order(k: int, before: Any, final: Any, keys: Any, order: Any, places: Any) -> Any:
    new = 1 if k == 0 or keys[order[k - 1]] != keys[order[k]] else 0
    if final:
        places[k] = before + new - 1
    return new


def _begin_run(
    k: int, keys: Any, order: Any, places: Any, kept: Any, starts: Any, count: Any
) -> None:
    if k == 0:
        starts[count] = keys.extent(0)
    if k == 0 or places[k - 1] != places[k]:
        starts[places[k]] = k
        kept[places[k]] = keys[order[k]]


def _offset(i: int, before: Any, final: Any, counts: Any, row_map: Any) -> Any:
    if final:
        row_map[i + 1] = before + counts[i]
    return counts[i]


def _merge(
    k: int, keys: Any, values: Any, places: Any, num_cols: Any, kept: Any, entries: Any, merged: Any
) -> None:
    if k == 0 or keys[k - 1] != keys[k]:
        at = places[k]
        total = value_of(values[k])
        j = k + 1
        while j < keys.extent(0) and keys[j] == keys[k]:
            total += values[j]
            j += 1
        kept[at] = keys[k]
        entries[at] = keys[k] % num_cols
        merged[at] = total


def _sum_in_order(k: int, values: Any, order: Any, starts: Any, sums: Any) -> None:
    total = sums.dtype.type(0)
    for t in range(starts[k], starts[k + 1]):
        total += values[order[t]]
    sums[k] = total


def _diagonal(i: int, row_map: Any, entries: Any, values: Any, found: Any) -> None:
    total = zero_of(found)
    for k in range(row_map[i], row_map[i + 1]):
        if entries[k] == i:
            total += values[k]
    found[i] = total

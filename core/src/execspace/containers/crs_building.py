"""How kernels make a StaticCrsGraph: of counts, by a function, or as the transpose of another.

Rows are counted, the counts are summed up to where each row begins, and the rows are filled. The
names are those of Kokkos.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.brief import brief
from ..base.errors import DTypeError, LaunchError, ViewError
from ..base.flags import flag
from ..contract.dtypes import int64
from ..contract.space import ExecutionSpace
from ..kernels.atomics import atomic_add, atomic_fetch_add
from ..kernels.language import function
from ..kernels.refusals import holding, refuse
from ..launch.parallel import parallel_for
from ..launch.parallel_reduce import parallel_reduce, parallel_scan
from ..policies.range import RangePolicy
from ..views.deep_copy import deep_copy
from ..views.view import View
from .arguments import chosen_space, element_type, space_of, whole
from .crs_graph import StaticCrsGraph, check_entries, check_graph, integers

__all__ = [
    "count_and_fill_crs",
    "get_crs_row_map_from_counts",
    "get_crs_transpose_counts",
    "transpose_crs",
]


def get_crs_row_map_from_counts(
    counts: View | Any, *, space: str | ExecutionSpace | None = None
) -> View:
    """A new View of int64 that says where each row begins, and last the sum of all counts.

    Parameters
    ----------
    counts : View or array of integers, rank 1
        Number of entries of each row.
    space : str or ExecutionSpace, optional
        Where to run; where a launch on the View would if not given.

    Returns
    -------
    View of int64, one element more than `counts`
        Blocks until it is there.

    Raises
    ------
    ViewError, ViewTypeError, DTypeError
        If it is no View of integers of rank 1, or one of them is negative.

    Notes
    -----
    Kokkos: Kokkos_Crs.hpp, of the same name.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> es.get_crs_row_map_from_counts(np.array([2, 0, 1]), space="serial").to_numpy()
    array([0, 2, 2, 3])
    """
    what = "get_crs_row_map_from_counts"
    view = integers(what, "counts", counts)
    chosen = space_of(space, view)
    _check_counts(what, view, chosen)
    return _summed(view, chosen)[0]


def _check_counts(what: str, counts: View, space: ExecutionSpace) -> None:
    """Raise ViewError if a number of entries is negative."""
    if counts.dtype.kind == "i":
        policy = RangePolicy(counts.size, space=space)
        negative = int(parallel_reduce(policy, _is_negative, counts, label=what))
        if negative:
            raise ViewError(
                f"{what}: {negative} of {counts.size} counts are negative; expected numbers of "
                f"entries, 0 or more."
            )


def _summed(counts: View, space: ExecutionSpace) -> tuple[View, int]:
    """The row map of these counts, and their sum."""
    row_map = View(counts.size + 1, int64, label="row_map", space=space)
    policy = RangePolicy(counts.size + 1, space=space)
    total = parallel_scan(policy, _sum_up, counts, row_map, label="get_crs_row_map_from_counts")
    return row_map, int(total)


def get_crs_transpose_counts(crs: StaticCrsGraph, num_columns: int | None = None) -> View:
    """A new View of int64: how often each number from 0 to `num_columns` - 1 is an entry. Blocks.

    Parameters
    ----------
    crs : StaticCrsGraph
    num_columns : int, optional
        As many as rows if not given.

    Raises
    ------
    ViewError
        If an entry is negative, or not less than `num_columns`.

    Notes
    -----
    Kokkos: Kokkos_Crs.hpp, of the same name.
    """
    return _transpose_counts("get_crs_transpose_counts", crs, num_columns)


def _transpose_counts(what: str, crs: StaticCrsGraph, num_columns: int | None) -> View:
    check_graph(what, crs)
    columns = check_entries(what, crs, num_columns)
    counts = View(columns, int64, label="counts", space=crs.space)
    policy = RangePolicy(crs.num_entries, space=crs.space)
    parallel_for(policy, _count_entry, crs.entries, counts, label=what)
    return counts


def transpose_crs(
    crs: StaticCrsGraph, num_columns: int | None = None, *, sort: bool = True
) -> StaticCrsGraph:
    """A new graph in which row `j` has each `i` of whose row `j` is an entry. Blocks.

    Parameters
    ----------
    crs : StaticCrsGraph
    num_columns : int, optional
        How many rows the new one has; as many as the old one if not given, which fits a square
        matrix: give it where entries are numbers of another kind than rows.
    sort : bool, default True
        Sort the entries of each row, one work item for a row, so that each run has the same ones.
        Otherwise they are in the order in which threads came.

    Returns
    -------
    StaticCrsGraph
        With entries of the same type.

    Raises
    ------
    ViewError
        If an entry is negative, or not less than `num_columns`.
    DTypeError
        If entries are of a type that does not hold the numbers of all rows.

    Notes
    -----
    Kokkos: Kokkos_Crs.hpp, of the same name; there rows are not sorted.

    Examples
    --------
    >>> import execspace as es
    >>> graph = es.create_staticcrsgraph([[1, 2], [2], [0]], space="serial")
    >>> es.transpose_crs(graph).to_lists()
    [[2], [0], [0, 1]]
    """
    flag(sort, "sort", "transpose_crs", ViewError)
    check_graph("transpose_crs", crs)
    most = np.iinfo(crs.entries.dtype).max
    if crs.num_rows - 1 > most:
        raise DTypeError(
            f"transpose_crs: the graph has {crs.num_rows} rows, whose numbers are the entries of "
            f"the new one, but entries of {crs.entries.dtype.name} hold {most} at most; make a "
            f"graph with a wider type of entries."
        )
    counts = _transpose_counts("transpose_crs", crs, num_columns)
    row_map, total = _summed(counts, crs.space)
    entries = View(total, crs.entries.dtype, label="entries", space=crs.space)
    made = StaticCrsGraph(row_map, entries, space=crs.space)
    deep_copy(counts, 0, instance=crs.space)
    policy = RangePolicy(crs.num_rows, space=crs.space)
    parallel_for(policy, _transpose, crs, counts, made, label="transpose_crs")
    if sort:
        policy = RangePolicy(made.num_rows, space=crs.space)
        parallel_for(policy, _sort_row, made, label="transpose_crs")
    return made


def count_and_fill_crs(
    num_rows: int,
    function: Any,
    *,
    dtype: npt.DTypeLike = np.int64,
    space: str | ExecutionSpace | None = None,
) -> StaticCrsGraph:
    """A new graph whose rows a function in the language of kernels counts and fills. Blocks.

    Parameters
    ----------
    num_rows : int
    function : callable
        ``function(i, entries)`` returns the number of entries of row `i`. It is called with None
        for `entries` first, and then with the row, into which it stores them.
    dtype : dtype-like, default int64
        Of the entries.
    space : str or ExecutionSpace, optional
        The default space if not given.

    Raises
    ------
    ViewError, DTypeError
        If `num_rows` is no integer of 0 or more, the function returns a negative number, or `dtype`
        is no integer type.
    LaunchError, KernelError
        If it is no function, none that kernels can call, or returns no integer.

    Notes
    -----
    Kokkos: Kokkos_Crs.hpp, of the same name.

    Examples
    --------
    >>> import execspace as es
    >>> @es.function
    ... def divisors(i, entries):
    ...     n = 0
    ...     for d in range(1, i + 1):
    ...         if i % d == 0:
    ...             if entries is not None:
    ...                 entries[n] = d
    ...             n += 1
    ...     return n
    >>> es.count_and_fill_crs(7, divisors, space="serial").to_lists()
    [[], [1], [1, 2], [1, 3], [1, 2, 4], [1, 5], [1, 2, 3, 6]]
    """
    what = "count_and_fill_crs"
    rows = whole(what, "num_rows", num_rows)
    if not callable(function) or isinstance(function, type):
        raise LaunchError(
            f"{what}: function is {brief(function)}; expected a function(i, entries) in the "
            f"language of kernels, which returns the number of entries of row i."
        )
    goal = element_type(what, "dtype", dtype, "iu", "an integer type")
    chosen = chosen_space(space)
    counts = View(rows, int64, label="counts", space=chosen)
    policy = RangePolicy(rows, space=chosen)
    parallel_for(policy, _count_row, function, counts, label=what)
    _check_counts(what, counts, chosen)
    row_map, total = _summed(counts, chosen)
    entries = View(total, goal, label="entries", space=chosen)
    made = StaticCrsGraph(row_map, entries, space=chosen)
    parallel_for(policy, _fill_row, function, made, label=what)
    return made


def _is_negative(i: int, counts: Any) -> Any:
    return 1 if counts[i] < 0 else 0


def _sum_up(i: int, before: Any, final: Any, counts: Any, row_map: Any) -> Any:
    if final:
        row_map[i] = before
    return int64(counts[i]) if i < counts.extent(0) else 0


def _count_entry(k: int, entries: Any, counts: Any) -> None:
    atomic_add(counts, int64(entries[k]), 1)


def _transpose(i: int, crs: Any, counts: Any, made: Any) -> None:
    begin, end = crs.row(i)
    for k in range(begin, end):
        j = int64(crs.entries[k])
        made.entries[int64(made.row_map[j]) + atomic_fetch_add(counts, j, 1)] = i


def _sort_row(i: int, graph: Any) -> None:
    begin, end = graph.row(i)
    entries = graph.entries[begin:end]
    is_sorted = True
    for k in range(1, len(entries)):
        if entries[k] < entries[k - 1]:
            is_sorted = False
    if not is_sorted:
        _heap_sort(entries)


@function
def _heap_sort(entries: Any) -> None:
    n = len(entries)
    for k in range(n // 2 - 1, -1, -1):
        _sift(entries, k, n)
    for last in range(n - 1, 0, -1):
        entries[0], entries[last] = entries[last], entries[0]
        _sift(entries, 0, last)


@function
def _sift(entries: Any, start: Any, n: Any) -> None:
    """Let an element sink in a heap of `n` elements, until none below it is greater."""
    at = start
    while 2 * at + 1 < n:
        child = 2 * at + 1
        if child + 1 < n and entries[child] < entries[child + 1]:
            child += 1
        if entries[at] >= entries[child]:
            break
        entries[at], entries[child] = entries[child], entries[at]
        at = child


def _count_row(i: int, function: Any, counts: Any) -> None:
    count = function(i, None)
    if holding(int64, count) == "none":
        refuse("the function of count_and_fill_crs returns {}; expected an integer, the number of "
               "entries of row i", "return the count, also where entries is None", count,
        )  # fmt: skip
    else:
        counts[i] = count


def _fill_row(i: int, function: Any, graph: Any) -> None:
    begin, end = graph.row(i)
    function(i, graph.entries[begin:end])

"""spadd: C = alpha A + beta B, in two phases: where its entries are, and what they are.

Rows whose columns ascend, none twice, are merged, a work item for each row: once to count, once to
say for each entry of C which of A and which of B it is the sum of. Of others the entries are sorted
all together, and an entry of C is the sum of what lies side by side then. The second phase is one
launch over the entries of C; it can be done again whenever values have changed. The call that does
both at once merges rows of devices in scratch memory, of which a team stores them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..arguments import MANY, at_once, number_of
from ..decisions import Decision, decided
from ..errors import MatrixError
from ..vendors import chosen_vendor, shapes_of
from .crs import CrsMatrix, StaticCrsGraph
from .elements import check_method, dtype_of_sum, how_to_scale, is_record, scaled, zero_of
from .foreign import as_crs, of_library
from .phases import check_graph, check_handle, result_of
from .rows import keys_of, merged_keys, offsets_for, row_numbers, summed

__all__ = ["SpAddHandle", "spadd", "spadd_numeric", "spadd_symbolic"]

_ROWS = 128  # of a team, a thread for each
_SCRATCH = 32768  # bytes


class SpAddHandle:
    """Where the entries of a sum are; made by `spadd_symbolic`.

    Attributes
    ----------
    graph : StaticCrsGraph
        Of the sum; its columns ascend in each row.
    algorithm : {"merge", "sort"}
        What was done: "sort" where an input has rows whose columns do not ascend or come twice.
    why : str
    """

    def __init__(
        self,
        graph: StaticCrsGraph,
        decision: Decision,
        parts: tuple[es.View, es.View],
        graphs: tuple[StaticCrsGraph, StaticCrsGraph],
        space: es.ExecutionSpace,
    ) -> None:
        self.graph, self.space = graph, space
        self.algorithm, self.why = decision.algorithm, decision.why
        self._parts, self._graphs = parts, graphs

    def __repr__(self) -> str:
        return f"<SpAddHandle of {self.graph!r}, algorithm {self.algorithm!r}>"


def spadd(
    A: CrsMatrix | Any,
    B: CrsMatrix | Any,
    *,
    alpha: complex = 1.0,
    beta: complex = 1.0,
    vendor: bool | None = None,
    space: str | es.ExecutionSpace | None = None,
) -> CrsMatrix:
    """alpha A + beta B, a new matrix whose columns ascend in each row.

    Elements that cancel are stored as zeros; a vendor's library may leave them out, so that entries
    depend on values. Parameters, errors and what blocks are those of the two phases; `vendor` is
    that of `spmv`.

    Examples
    --------
    >>> from execspace_kernels import sparse
    >>> A = sparse.CrsMatrix([0, 1, 2], [0, 1], [1.0, 2.0], shape=(2, 2))
    >>> B = sparse.CrsMatrix([0, 2, 2], [0, 1], [3.0, 4.0], shape=(2, 2))
    >>> sparse.spadd(A, B, beta=10).to_numpy().tolist()
    [[31.0, 40.0], [0.0, 2.0]]
    """
    A, B = as_crs(A), as_crs(B)
    where, columns, offsets = _begun(A, B, space)
    alpha, beta = number_of(alpha, "spadd: alpha"), number_of(beta, "spadd: beta")
    library = chosen_vendor("spadd", vendor, where, lambda: shapes_of(A, B), A, B, alpha, beta)
    if library is not None:
        return of_library(library.spadd(A, B, alpha, beta), A.shape)
    decision = _decided(A.graph, B.graph)
    if decision.algorithm == "sort":
        handle = at_once(_sorted, A.graph, B.graph, columns, offsets, decision, where)
        return spadd_numeric(handle, A, B, alpha=alpha, beta=beta)
    # Both phases in one: nobody wants to know of which entries each is the sum.
    row_map, nnz = at_once(_counted, A.graph, B.graph, offsets, where)
    entries, values = (
        es.View(nnz, dtype, label=label, space=where, initialize=False)
        for dtype, label in ((columns, "entries"), (_dtype(A, B, alpha, beta), "values"))
    )
    views = (
        A.row_map, A.entries, A.values, B.row_map, B.entries, B.values, row_map, entries, values,
        A.shape[1], *_factors(values.dtype, alpha, beta), how_to_scale(values.dtype, alpha, beta),
    )  # fmt: skip
    capacity = _room_for_teams(A.graph, B.graph, entries, values, where)
    if capacity:
        es.parallel_for(
            es.TeamPolicy(-(-A.shape[0] // _ROWS), _ROWS, space=where), _merge_in_scratch, *views,
            _ROWS, capacity, label="spadd merge",
        )  # fmt: skip
    else:
        rows = es.RangePolicy(A.shape[0], space=where)
        es.parallel_for(rows, _merge, *views, label="spadd merge")
    graph = StaticCrsGraph(row_map, entries, A.shape[1], check=False)
    return CrsMatrix.of(graph.pending(), values)


def _room_for_teams(
    a: StaticCrsGraph, b: StaticCrsGraph, entries: es.View, values: es.View,
    space: es.ExecutionSpace,
) -> int:  # fmt: skip
    """Entries that the rows of a team have at most; 0 where rows are better for one work item."""
    if space.concurrency <= MANY or not isinstance(space, es.SupportsTeams):
        return 0
    if is_record(values.dtype) or space.team_limits().team_size_max < _ROWS:
        return 0
    most = a.most_in(_ROWS) + b.most_in(_ROWS)
    return most if most * (entries.dtype.itemsize + values.dtype.itemsize) <= _SCRATCH else 0


def _dtype(A: CrsMatrix, B: CrsMatrix, alpha: Any, beta: Any) -> np.dtype[Any]:
    dtype = dtype_of_sum(A.dtype, B.dtype, "spadd")
    if is_record(dtype):
        if how_to_scale(dtype, alpha, beta) != "plain":
            check_method("spadd", dtype, "alpha or beta", "__rmul__")
        return dtype
    complexes = (np.complex64 for x in (alpha, beta) if np.iscomplexobj(x))
    return np.result_type(dtype, *complexes)


def _factors(dtype: np.dtype[Any], *numbers: Any) -> tuple[Any, ...]:
    """alpha and beta in the type of the sum, in which all is computed."""
    return numbers if is_record(dtype) else tuple(map(dtype.type, numbers))


def spadd_symbolic(
    A: CrsMatrix | Any, B: CrsMatrix | Any, *, space: str | es.ExecutionSpace | None = None
) -> SpAddHandle:
    """Find where A + B has entries, whatever their values.

    Parameters
    ----------
    A, B : CrsMatrix, or a sparse matrix of another library
        Of one shape. Offsets and columns get the wider dtype of both.
    space : str or ExecutionSpace, optional

    Raises
    ------
    MatrixError
        If the shapes differ, or something is no sparse matrix.
    SpaceAccessError

    Notes
    -----
    Blocks, for the number of entries must be known.
    """
    A, B = as_crs(A), as_crs(B)
    where, columns, offsets = _begun(A, B, space)
    decision = _decided(A.graph, B.graph)
    make = _merged if decision.algorithm == "merge" else _sorted
    handle: SpAddHandle = at_once(make, A.graph, B.graph, columns, offsets, decision, where)
    return handle


def _decided(a: StaticCrsGraph, b: StaticCrsGraph) -> Decision:
    """How to add: rows in any order are sorted."""
    for graph in (a, b):
        graph.check_settled("spadd")
    for name, graph in (("A", a), ("B", b)):
        if not graph.is_sorted():
            why = f"columns of {name} do not ascend in each row, or come twice"
            return decided("spadd", "sort", why)
    return decided("spadd", "merge", "columns of both ascend in each row")


def _begun(
    A: CrsMatrix, B: CrsMatrix, space: str | es.ExecutionSpace | None
) -> tuple[es.ExecutionSpace, Any, Any]:
    """Where to add, and the dtypes of columns and offsets; raises for matrices that do not fit."""
    if A.shape != B.shape:
        raise MatrixError(
            f"spadd: A is {A.shape[0]} x {A.shape[1]} and B is {B.shape[0]} x {B.shape[1]}; "
            f"expected the same."
        )
    where = es.space_for(A.row_map, A.entries, B.row_map, B.entries, space=space)
    columns = np.result_type(A.entries.dtype, B.entries.dtype)
    offsets = np.result_type(A.row_map.dtype, B.row_map.dtype, offsets_for(A.nnz + B.nnz, None))
    return where, columns, offsets


def _merged(
    a: StaticCrsGraph, b: StaticCrsGraph, columns: Any, offsets: Any, decision: Decision,
    space: es.ExecutionSpace,
) -> SpAddHandle:  # fmt: skip
    rows = es.RangePolicy(a.num_rows, space=space)
    row_map, nnz = _counted(a, b, offsets, space)
    entries, left, right = (
        es.View(nnz, dtype, label=label, space=space, initialize=False)
        for dtype, label in (
            (columns, "entries"), (a.row_map.dtype, "left"), (b.row_map.dtype, "right")
        )
    )  # fmt: skip
    es.parallel_for(
        rows, _fill, a.row_map, a.entries, b.row_map, b.entries, row_map, entries, left, right,
        a.num_cols, label="spadd merge",
    )  # fmt: skip
    graph = StaticCrsGraph(row_map, entries, a.num_cols, check=False)
    return SpAddHandle(graph, decision, (left, right), (a, b), space)


def _counted(
    a: StaticCrsGraph, b: StaticCrsGraph, offsets: Any, space: es.ExecutionSpace
) -> tuple[es.View, int]:
    """The row map of a sum, and how many entries it has. Blocks."""
    m = a.num_rows
    rows = es.RangePolicy(m, space=space)
    counts = es.View(m, offsets, label="counts", space=space, initialize=False)
    es.parallel_for(
        rows, _count, a.row_map, a.entries, b.row_map, b.entries, counts, label="spadd count"
    )
    return summed(counts, offsets, space)


def _sorted(
    a: StaticCrsGraph, b: StaticCrsGraph, columns: Any, offsets: Any, decision: Decision,
    space: es.ExecutionSpace,
) -> SpAddHandle:  # fmt: skip
    shape = a.num_rows, a.num_cols
    total = a.nnz + b.nnz
    keys = es.View(total, np.int64, label="keys", space=space, initialize=False)
    for graph, part in ((a, keys[: a.nnz]), (b, keys[a.nnz :])):
        own = keys_of(row_numbers(graph, space), graph.entries, shape, space)
        es.deep_copy(part, own, instance=space)
    graph, order, starts = merged_keys(keys, shape, columns, offsets, space)
    return SpAddHandle(graph, decision, (starts, order), (a, b), space)


def spadd_numeric(
    handle: SpAddHandle,
    A: CrsMatrix | Any,
    B: CrsMatrix | Any,
    C: CrsMatrix | None = None,
    *,
    alpha: complex = 1.0,
    beta: complex = 1.0,
) -> CrsMatrix:
    """The values of C = alpha A + beta B.

    Parameters
    ----------
    handle : SpAddHandle
        Of matrices with the graphs that A and B have; they may have other values now.
    A, B : CrsMatrix, or a sparse matrix of another library
    C : CrsMatrix, optional
        What `spadd_numeric` returned for this handle: its values are replaced.
    alpha, beta : number

    Returns
    -------
    CrsMatrix
        `C`, or a new one of the common dtype.

    Raises
    ------
    MatrixError
        If A or B has another number of entries than the handle was made for, C has another graph,
        or is real where the sum is complex.

    Notes
    -----
    Asynchronous where the space is: one launch.
    """
    A, B = as_crs(A), as_crs(B)
    alpha, beta = (
        number_of(x, f"spadd_numeric: {name}") for x, name in ((alpha, "alpha"), (beta, "beta"))
    )
    check_handle("spadd_numeric", handle, SpAddHandle, "spadd_symbolic")
    for name, given, graph in zip("AB", (A, B), handle._graphs, strict=True):
        check_graph("spadd_numeric", name, given, graph, "spadd_symbolic")
    dtype = _dtype(A, B, alpha, beta)
    C = result_of("spadd_numeric", "sum", C, handle.graph, dtype, handle.space, A, B)
    kernel = _add if handle.algorithm == "merge" else _add_sorted
    es.parallel_for(
        es.RangePolicy(handle.graph.nnz, space=handle.space), kernel, *handle._parts, A.values,
        B.values, C.values, *_factors(C.dtype, alpha, beta), how_to_scale(C.dtype, alpha, beta),
        label="spadd",
    )  # fmt: skip
    return C


# -- kernels --------------------------------------------------------------------------------------


def _count(i: int, a_map: Any, a: Any, b_map: Any, b: Any, counts: Any) -> None:
    p = a_map[i]
    q = b_map[i]
    same = 0
    while p < a_map[i + 1] and q < b_map[i + 1]:
        left = a[p]
        right = b[q]
        same += 1 if left == right else 0
        p += 1 if left <= right else 0
        q += 1 if right <= left else 0
    counts[i] = (a_map[i + 1] - a_map[i]) + (b_map[i + 1] - b_map[i]) - same


def _fill(
    i: int, a_map: Any, a: Any, b_map: Any, b: Any, row_map: Any, entries: Any, left: Any,
    right: Any, num_cols: Any,
) -> None:  # fmt: skip
    p = a_map[i]
    q = b_map[i]
    a_end = a_map[i + 1]
    b_end = b_map[i + 1]
    for k in range(row_map[i], row_map[i + 1]):
        of_a = a[p] if p < a_end else num_cols  # beyond all columns
        of_b = b[q] if q < b_end else num_cols
        entries[k] = min(of_a, of_b)
        takes_a = of_a <= of_b
        takes_b = of_b <= of_a
        left[k] = p if takes_a else -1
        right[k] = q if takes_b else -1
        p += 1 if takes_a else 0
        q += 1 if takes_b else 0


# Both ways to a sum give the same bits: no compiler contracts a product and a sum in one of them.
_EXACT = es.kernel(fma=False)


@es.function
def _merged_row(
    i: Any, a_map: Any, a: Any, a_values: Any, b_map: Any, b: Any, b_values: Any, row_map: Any,
    entries: Any, values: Any, first: Any, num_cols: Any, alpha: Any, beta: Any, scaling: Any,
) -> None:  # fmt: skip
    """A row of the sum, in Views that begin with the entry `first` of it."""
    p = a_map[i]
    q = b_map[i]
    a_end = a_map[i + 1]
    b_end = b_map[i + 1]
    for k in range(row_map[i] - first, row_map[i + 1] - first):
        of_a = a[p] if p < a_end else num_cols  # beyond all columns
        of_b = b[q] if q < b_end else num_cols
        entries[k] = min(of_a, of_b)
        total = zero_of(values)
        if of_a <= of_b:
            total += scaled(alpha, a_values[p], scaling)
            p += 1
        if of_b <= of_a:
            total += scaled(beta, b_values[q], scaling)
            q += 1
        values[k] = total


@_EXACT
def _merge(
    i: int, a_map: Any, a: Any, a_values: Any, b_map: Any, b: Any, b_values: Any, row_map: Any,
    entries: Any, values: Any, num_cols: Any, alpha: Any, beta: Any, scaling: Any,
) -> None:  # fmt: skip
    _merged_row(
        i, a_map, a, a_values, b_map, b, b_values, row_map, entries, values, 0, num_cols, alpha,
        beta, scaling,
    )  # fmt: skip


@_EXACT
def _merge_in_scratch(
    team: Any, a_map: Any, a: Any, a_values: Any, b_map: Any, b: Any, b_values: Any, row_map: Any,
    entries: Any, values: Any, num_cols: Any, alpha: Any, beta: Any, scaling: Any, rows: Any,
    capacity: Any,
) -> None:  # fmt: skip
    """Rows of a team are stored together, so that neighbours are by neighbouring threads."""
    columns = team.scratch(capacity, entries.dtype)
    sums = team.scratch(capacity, values.dtype)
    begin = team.league_rank * rows
    end = min(begin + rows, row_map.extent(0) - 1)
    first = row_map[begin]
    for i in es.TeamThreadRange(team, begin, end):
        _merged_row(
            i, a_map, a, a_values, b_map, b, b_values, row_map, columns, sums, first, num_cols,
            alpha, beta, scaling,
        )  # fmt: skip
    team.barrier()
    for k in es.TeamThreadRange(team, row_map[end] - first):
        entries[first + k] = columns[k]
        values[first + k] = sums[k]


@_EXACT
def _add(
    k: int, left: Any, right: Any, a: Any, b: Any, c: Any, alpha: Any, beta: Any, scaling: Any
) -> None:
    total = zero_of(c)
    if left[k] >= 0:
        total += scaled(alpha, a[left[k]], scaling)
    if right[k] >= 0:
        total += scaled(beta, b[right[k]], scaling)
    c[k] = total


@_EXACT
def _add_sorted(
    k: int, starts: Any, order: Any, a: Any, b: Any, c: Any, alpha: Any, beta: Any, scaling: Any
) -> None:
    total = zero_of(c)
    n = a.extent(0)
    for t in range(starts[k], starts[k + 1]):
        if order[t] < n:
            total += scaled(alpha, a[order[t]], scaling)
        else:
            total += scaled(beta, b[order[t] - n], scaling)
    c[k] = total

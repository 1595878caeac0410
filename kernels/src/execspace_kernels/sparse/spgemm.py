"""spgemm: C = A B, in two phases, where its entries are and what they are; and a step of Jacobi's.

Algorithms
    dense: few workers, each with arrays of all columns, see `spgemm_hosts`.
    hash: rows of few products are merged; others have teams with tables in scratch memory, see
    `spgemm_devices` and `spgemm_tables`.
Where B has far more columns than entries, both see those that have entries, with new numbers.
Both sum in the order of A's entries, so they give the same bits in each run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import execspace as es

from ..arguments import (
    MANY,
    Space,
    at_once,
    check_not_recorded,
    choice,
    elements_of,
    first,
    in_turns,
    number_of,
)
from ..decisions import Decision, decided
from ..errors import MatrixError
from ..vendors import chosen_vendor, shapes_of
from . import ports, spgemm_devices, spgemm_hosts
from .crs import CrsMatrix, StaticCrsGraph
from .elements import check_numbers, dtype_of_product, is_record, zero
from .foreign import as_crs, of_library
from .phases import check_graph, check_handle, result_of
from .rows import merged_graph, offsets_for, summed, sums_of
from .selections import is_wide, numbered_anew, numbered_back
from .spgemm_tables import Tables

__all__ = ["SpGemmHandle", "spgemm", "spgemm_jacobi", "spgemm_numeric", "spgemm_symbolic"]

ALGORITHMS = ("auto", "dense", "hash")
_NONE, _SEVERAL = -1, -2  # entries of a row on the diagonal


class SpGemmHandle:
    """Where the entries of a product are; made by `spgemm_symbolic`.

    Attributes
    ----------
    graph : StaticCrsGraph
        Of the product; its columns ascend in each row.
    algorithm : {"dense", "hash"}
        What was done.
    why : str
    products : int
        Of two elements, which the product takes.
    """

    def __init__(
        self,
        graph: StaticCrsGraph,
        decision: Decision,
        products: int,
        graphs: tuple[StaticCrsGraph, StaticCrsGraph],
        merged: tuple[StaticCrsGraph, es.View, es.View] | None,
        sum_all: Callable[..., None],
        space: es.ExecutionSpace,
    ) -> None:
        self.graph, self.algorithm, self.why = graph, decision.algorithm, decision.why
        self.products, self.space = products, space
        self._graphs, self._merged, self._sum_all = graphs, merged, sum_all
        self._own: es.View | None = None
        self._none = es.View(0, np.int64, label="own", space=space)

    def own(self) -> es.View:
        """The first entry on the diagonal of each row of A; raises where there is none. Kept."""
        if self._own is None:
            a, space = self._graphs[0], self.space
            own = es.View(a.num_rows, np.int64, label="own", space=space, initialize=False)
            every = es.RangePolicy(a.num_rows, space=space)
            at_once(es.parallel_for, every, _own_entries, a.row_map, a.entries, own)
            bad = first(a.num_rows, space, _is_missing, own)
            if bad is not None:
                none = int(elements_of(own[bad : bad + 1])[0]) == _NONE
                raise MatrixError(
                    f"spgemm_jacobi: row {bad} of A has "
                    f"{'no entry' if none else 'several entries'} on the diagonal; expected one in "
                    f"each row."
                    f"{'' if none else ' sparse.sort_and_merge(A) adds those at one place.'}"
                )
            self._own = own
        return self._own

    @in_turns
    def run(
        self, A: CrsMatrix, B: CrsMatrix, C: CrsMatrix, own: es.View, omega: Any, how: str
    ) -> None:
        """Store the values of C."""
        if not self.graph.nnz:
            return
        values = B.values
        if self._merged is not None:
            _, order, starts = self._merged
            values = sums_of(values, order, starts, self.space, C.dtype)
        self._sum_all(A.values, values, C.values, own, omega, how)

    def __repr__(self) -> str:
        return f"<SpGemmHandle of {self.graph!r}, algorithm {self.algorithm!r}>"


def spgemm(
    A: CrsMatrix | Any,
    B: CrsMatrix | Any,
    *,
    algorithm: str = "auto",
    vendor: bool | None = None,
    space: Space = None,
) -> CrsMatrix:
    """The product A B, a new matrix whose columns ascend in each row.

    Elements that cancel are stored as zeros; a vendor's library may leave them out, so that entries
    depend on values. Parameters, errors and what blocks are those of the two phases; `vendor` is
    that of `spmv`.

    Examples
    --------
    >>> from execspace_kernels import sparse
    >>> A = sparse.CrsMatrix([0, 1, 2], [1, 0], [1.0, 2.0], shape=(2, 2))
    >>> sparse.spgemm(A, A).to_numpy().tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    """
    A, B = as_crs(A), as_crs(B)
    _check_shapes(A, B)
    where = es.space_for(A.row_map, A.entries, A.values, B.row_map, B.entries, B.values,
                         space=space)  # fmt: skip
    library = chosen_vendor(
        "spgemm", vendor, where, lambda: shapes_of(A, B), A, B, algorithm=algorithm
    )
    if library is not None:
        return of_library(library.spgemm(A, B), (A.shape[0], B.shape[1]))
    return spgemm_numeric(spgemm_symbolic(A, B, algorithm=algorithm, space=space), A, B)


ports.multiply_matrices = spgemm


def spgemm_symbolic(
    A: CrsMatrix | Any, B: CrsMatrix | Any, *, algorithm: str = "auto", space: Space = None
) -> SpGemmHandle:
    """Find where A B has entries, whatever their values.

    Parameters
    ----------
    A, B : CrsMatrix, or a sparse matrix of another library
        m x n and n x k; read. Columns of the product get the dtype of B's; offsets the wider one of
        both, int64 where it has to be. A row of B whose columns do not ascend, or come twice, is
        sorted and merged.
    algorithm : {"auto", "dense", "hash"}
        "dense": few workers, each with an array of all columns; for hosts. "hash": rows of few
        products are merged, others have teams with hash tables in scratch memory; for devices,
        and other spaces with teams.
    space : str or ExecutionSpace, optional

    Returns
    -------
    SpGemmHandle

    Raises
    ------
    MatrixError
        If the shapes do not fit, something is no sparse matrix, `algorithm` is not known, or the
        space has no teams for "hash".
    SpaceAccessError

    Notes
    -----
    Blocks, for the number of entries must be known.

    Deveci, Trott, Rajamanickam, "Multithreaded sparse matrix-matrix multiplication for many-core
    and GPU architectures", Parallel Computing 78, 2018. Kokkos Kernels:
    https://kokkos.org/kokkos-kernels/docs/API/sparse/spgemm_symbolic.html
    """
    A, B = as_crs(A), as_crs(B)
    choice(algorithm, "spgemm: algorithm", ALGORITHMS)
    _check_shapes(A, B)
    for matrix in (A, B):
        matrix.graph.check_settled("spgemm")
    where = es.space_for(A.row_map, A.entries, B.row_map, B.entries, space=space)
    name, why = _chosen(algorithm, where)
    if is_wide(B.graph):
        why += "; columns get numbers of their own, for B has many more than entries"
    decision = decided("spgemm", name, why)
    return at_once(_symbolic, A.graph, B.graph, decision, where)  # type: ignore[no-any-return]


def _check_shapes(A: CrsMatrix, B: CrsMatrix) -> None:
    if A.shape[1] != B.shape[0]:
        raise MatrixError(
            f"spgemm: A is {A.shape[0]} x {A.shape[1]} and B is {B.shape[0]} x {B.shape[1]}; "
            f"expected as many rows of B as columns of A."
        )


def _symbolic(
    a: StaticCrsGraph, b: StaticCrsGraph, decision: Decision, space: es.ExecutionSpace
) -> SpGemmHandle:
    with es.use_space(space):
        narrow, columns = (b, None) if not is_wide(b) else numbered_anew(b, space)
        merged = None if narrow.is_sorted() else merged_graph(narrow, space)
        used = narrow if merged is None else merged[0]
        m = a.num_rows
        rows = es.RangePolicy(m, space=space)
        products = es.View(m, np.int64, label="products", space=space, initialize=False)
        es.parallel_for(
            rows, _products, a.row_map, a.entries, used.row_map, products, label="spgemm products"
        )
        prefix, total = summed(products, np.int64, space)
        counts = es.View(m, np.int64, label="counts", space=space)
        make = _dense if decision.algorithm == "dense" else _hash
        count, fill, numeric = make(a, used, prefix, total, space)
        if total:
            count(counts)
        row_map64, nnz = summed(counts, np.int64, space)
        offsets = np.result_type(a.row_map.dtype, b.row_map.dtype, offsets_for(nnz, None))
        row_map = row_map64
        if offsets != row_map64.dtype:
            row_map = es.View(m + 1, offsets, label="row_map", space=space, initialize=False)
            es.deep_copy(row_map, row_map64, instance=space)
        entries = es.View(nnz, b.entries.dtype, label="entries", space=space, initialize=False)
        if nnz:
            fill(row_map, entries)
        found = StaticCrsGraph(row_map, entries, used.num_cols, check=False)
        graph = found if columns is None else numbered_back(found, columns, b.num_cols, space)
        graph._known["sorted"] = True
        return SpGemmHandle(graph, decision, total, (a, b), merged, numeric(found), space)


def _chosen(algorithm: str, space: es.ExecutionSpace) -> tuple[str, str]:
    """The algorithm, and why; MatrixError for one that the space cannot run."""
    has_teams = isinstance(space, es.SupportsTeams)
    if algorithm == "hash" and not has_teams:
        raise MatrixError(
            f"spgemm: algorithm='hash' takes teams, and space '{space.name}' has none; expected "
            f"'dense' or 'auto'."
        )
    if algorithm != "auto":
        return algorithm, "it was asked for"
    if not has_teams:
        return "dense", f"space '{space.name}' has no teams"
    if space.concurrency <= MANY:
        return "dense", f"space '{space.name}' runs few work items at once"
    return "hash", f"space '{space.name}' runs many work items at once"


def _dense(
    a: StaticCrsGraph, b: StaticCrsGraph, prefix: es.View, products: int, space: es.ExecutionSpace
) -> tuple[Any, Any, Any]:
    bounds = spgemm_hosts.workers_of(prefix, b.num_cols, space)
    found = spgemm_hosts.Structure(a, b, bounds, space)

    def numeric(graph: StaticCrsGraph) -> Any:
        kept: dict[Any, es.View] = {}

        def sum_all(
            a_values: es.View, b_values: es.View, values: es.View, own: es.View, omega: Any,
            how: str,
        ) -> None:  # fmt: skip
            sums = kept.get(values.dtype)
            if sums is None:
                shape = bounds.shape[0] - 1, b.num_cols
                sums = kept[values.dtype] = es.full(
                    shape, zero(values.dtype), values.dtype, label="sums", space=space
                )
            es.parallel_for(
                spgemm_hosts.each_worker(bounds, space), spgemm_hosts.dense, bounds, a.row_map,
                a.entries, a_values, b.row_map, b.entries, b_values, graph.row_map, graph.entries,
                values, sums, own, omega, how, label="spgemm dense",
            )  # fmt: skip

        return sum_all

    return found.count, found.fill, numeric


def _hash(
    a: StaticCrsGraph, b: StaticCrsGraph, prefix: es.View, products: int, space: es.ExecutionSpace
) -> tuple[Any, Any, Any]:
    rows = spgemm_devices.Rows(a, prefix, products, space)

    def count(counts: es.View) -> None:
        spgemm_devices.structure(a, b, rows, counts, counts, "count")

    def fill(row_map: es.View, entries: es.View) -> None:
        spgemm_devices.structure(a, b, rows, row_map, entries, "fill")

    def numeric(graph: StaticCrsGraph) -> Any:
        tables = Tables(graph.row_map, graph.entries, rows)

        def sum_all(
            a_values: es.View, b_values: es.View, values: es.View, own: es.View, omega: Any,
            how: str,
        ) -> None:  # fmt: skip
            views = (
                a.row_map, a.entries, a_values, b.row_map, b.entries, b_values, graph.row_map,
                graph.entries, values, own, omega, how,
                a_values.dtype if is_record(values.dtype) else values.dtype,
            )  # fmt: skip
            spgemm_devices.merge(rows, *views)
            tables.sum(*views)

        return sum_all

    return count, fill, numeric


def spgemm_numeric(
    handle: SpGemmHandle,
    A: CrsMatrix | Any,
    B: CrsMatrix | Any,
    C: CrsMatrix | None = None,
) -> CrsMatrix:
    """The values of C = A B.

    Parameters
    ----------
    handle : SpGemmHandle
        Of matrices with the graphs that A and B have; they may have other values now.
    A, B : CrsMatrix, or a sparse matrix of another library
    C : CrsMatrix, optional
        What `spgemm_numeric` returned for this handle: its values are replaced.

    Returns
    -------
    CrsMatrix
        `C`, or a new one of the common dtype.

    Raises
    ------
    MatrixError
        If A or B has another graph than the handle was made for, C has another graph, or is real
        where the product is complex.

    Notes
    -----
    Asynchronous where the space is. Elements are summed in the dtype of C.
    """
    A, B = as_crs(A), as_crs(B)
    C = _fitting("spgemm_numeric", handle, A, B, C, dtype_of_product(A.dtype, B.dtype, "spgemm"))
    handle.run(A, B, C, handle._none, 0.0, "product")
    return C


def spgemm_jacobi(
    A: CrsMatrix | Any,
    B: CrsMatrix | Any,
    omega: float,
    *,
    handle: SpGemmHandle | None = None,
    C: CrsMatrix | None = None,
    check: bool = True,
    algorithm: str = "auto",
    space: Space = None,
) -> CrsMatrix:
    """C = (I - omega D^-1 A) B, a step of Jacobi's iteration, in one pass; D is A's diagonal.

    What multigrid methods smooth their prolongations by. C has the entries of A B.

    Parameters
    ----------
    A : CrsMatrix, or a sparse matrix of another library
        n x n, with an entry on the diagonal of each row.
    B : CrsMatrix, or a sparse matrix of another library
        n x k.
    omega : number
    handle : SpGemmHandle, optional
        Of `spgemm_symbolic(A, B)`; without it that is called.
    C : CrsMatrix, optional
        What a call with this handle returned: its values are replaced.
    check : bool, default True
        Look whether there are zeros on the diagonal, which blocks, and cannot be recorded in a
        graph.
    algorithm, space
        As of `spgemm_symbolic`.

    Raises
    ------
    MatrixError
        As the two phases of `spgemm`; and if a diagonal is missing, comes twice, or is 0: it names
        the row.

    Notes
    -----
    Without a handle it blocks; the first call with one does.

    Deveci, Trott, Rajamanickam 2018. Kokkos Kernels:
    https://kokkos.org/kokkos-kernels/docs/API/sparse/spgemm_jacobi.html
    """
    A, B = as_crs(A), as_crs(B)
    omega = number_of(omega, "spgemm_jacobi: omega")
    if A.shape[0] != A.shape[1]:
        raise MatrixError(
            f"spgemm_jacobi: A is {A.shape[0]} x {A.shape[1]}; expected as many rows as columns."
        )
    if handle is None:
        handle = spgemm_symbolic(A, B, algorithm=algorithm, space=space)
    for matrix in (A, B):
        check_numbers("spgemm_jacobi", matrix)
    dtype = np.result_type(A.dtype, B.dtype)
    if np.iscomplexobj(omega):
        dtype = np.result_type(dtype, np.complex64)
    C = _fitting("spgemm_jacobi", handle, A, B, C, dtype)
    if check:
        check_not_recorded("spgemm_jacobi")
    own = handle.own()
    if check:
        bad = first(A.shape[0], handle.space, _is_zero, own, A.values)
        if bad is not None:
            raise MatrixError(
                f"spgemm_jacobi: the diagonal of A is 0 in row {bad}; expected no zeros."
            )
    handle.run(A, B, C, own, C.dtype.type(omega), "jacobi")  # computed in the type of C
    return C


def _fitting(
    what: str, handle: SpGemmHandle, A: CrsMatrix, B: CrsMatrix, C: CrsMatrix | None, dtype: Any
) -> CrsMatrix:
    """C, or a new one; MatrixError for matrices that do not fit the handle."""
    check_handle(what, handle, SpGemmHandle, "spgemm_symbolic")
    for name, given, graph in zip("AB", (A, B), handle._graphs, strict=True):
        check_graph(what, name, given, graph, "spgemm_symbolic")
    return result_of(what, "product", C, handle.graph, dtype, handle.space, A, B)


# -- kernels --------------------------------------------------------------------------------------


def _products(i: int, a_map: Any, a: Any, b_map: Any, products: Any) -> None:
    count = np.int64(0)
    for k in range(a_map[i], a_map[i + 1]):
        count += b_map[a[k] + 1] - b_map[a[k]]
    products[i] = count


def _own_entries(i: int, row_map: Any, entries: Any, own: Any) -> None:
    own[i] = _NONE
    for k in range(row_map[i], row_map[i + 1]):
        if entries[k] == i:
            own[i] = k if own[i] == _NONE else np.int64(_SEVERAL)


def _is_missing(i: int, own: Any) -> Any:
    return own.extent(0) if own[i] >= 0 else i


def _is_zero(i: int, own: Any, values: Any) -> Any:
    return own.extent(0) if values[own[i]] != 0 else i

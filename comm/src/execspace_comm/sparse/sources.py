"""Matrices over ranks of other sources: of one rank, of a function, of entries anywhere."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

import execspace as es
from execspace_kernels import sparse

from ..communicator import Comm
from ..errors import CommError, translated
from ..parts import agreed, attempt, ranks_of
from .matrix import DistributedCrsMatrix
from .partition import Partition, as_partition
from .splitting import Rows

__all__ = ["from_entries", "from_function", "from_root"]


def from_root(
    matrix: Any,
    *,
    root: int = 0,
    rows: Partition | str = "even",
    columns: Partition | None = None,
    comm: Comm | Any = None,
    **options: Any,
) -> DistributedCrsMatrix:
    """Divide a matrix that one rank has. Collective; blocks.

    Parameters
    ----------
    matrix : CrsMatrix, or sparse matrix of SciPy, CuPy or PyTorch
        On `root`; what others give does not matter.
    root : int
    rows : {"even", "entries"} or Partition
        As many rows for each rank; rows with about as many entries; or as given.
    columns : Partition, optional
        As of `DistributedCrsMatrix`; even for a matrix that is not square.
    comm : Comm or mpi4py.MPI.Intracomm, optional
    **options
        `space`, `overlap` and `engine` of `DistributedCrsMatrix`.

    Raises
    ------
    CommError
        On all ranks, if `matrix` is none, or does not fit.

    Examples
    --------
    >>> from execspace_comm import sparse
    >>> from execspace_kernels.sparse import CrsMatrix
    >>> whole = CrsMatrix([0, 1, 2], [0, 1], [2.0, 3.0], shape=(2, 2), space="serial")
    >>> sparse.from_root(whole, space="serial").shape
    (2, 2)
    """
    given = rows.comm if comm is None and isinstance(rows, Partition) else comm
    ranks = ranks_of(given)
    root = ranks._root(root, "from_root")
    arrays: Rows | None = None
    about: Any = None
    if ranks.rank == root:
        try:
            arrays, shape = _arrays_of(matrix)
            about = shape, arrays.values.dtype, arrays.entries.dtype
        except CommError as error:
            about = error
    with translated("from_root"):
        about = ranks.mpi.bcast(about, root)
    if isinstance(about, CommError):
        raise about
    shape, dtype, kind = about
    if isinstance(rows, str) and rows == "entries":
        rows = _divided(rows, shape[0], ranks, arrays, root)
    part, of_vectors = divided(rows, columns, shape, ranks, "from_root")
    lengths = np.zeros(part.size, np.int64)
    everything = np.diff(arrays.row_map) if arrays is not None else None
    _scattered(ranks, everything, lengths, root)
    row_map = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    entries, values = np.empty(int(row_map[-1]), kind), np.empty(int(row_map[-1]), dtype)
    _scattered(ranks, None if arrays is None else arrays.entries, entries, root)
    _scattered(ranks, None if arrays is None else arrays.values, values, root)
    return DistributedCrsMatrix(
        row_map, entries, values, rows=part, columns=of_vectors, comm=ranks, check=False, **options
    )


def divided(
    rows: Any, columns: Any, shape: tuple[int, int], comm: Comm, what: str
) -> tuple[Partition, Partition]:
    """What divides rows and columns of a matrix of a shape; CommError for what does not."""
    of_rows = _divided(rows, shape[0], comm, None, 0)
    square = columns is None and shape[0] == shape[1]
    chosen = of_rows if square else shape[1] if columns is None else columns
    of_columns = as_partition(chosen, comm, f"{what}: columns")
    if of_columns.n != shape[1]:
        raise CommError(
            f"{what}: columns={columns!r}; expected one of {shape[1]} columns, as the matrix has."
        )
    return of_rows, of_columns


def _divided(rows: Any, n: int, comm: Comm, arrays: Rows | None, root: int) -> Partition:
    if isinstance(rows, str) and rows == "entries":
        weights = None if arrays is None else np.diff(arrays.row_map)
        return Partition.balanced(weights, comm, root=root)
    if isinstance(rows, str) and rows != "even":
        raise CommError(f"rows={rows!r}; expected 'even', 'entries' or a Partition.")
    found = as_partition(n if isinstance(rows, str) else rows, comm, "rows")
    if found.n != n:
        raise CommError(f"rows={found!r}; expected one of {n} rows, which the matrix has.")
    return found


def _scattered(comm: Comm, whole: Any, own: npt.NDArray[Any], root: int) -> None:
    """Give each rank its part of an array."""
    comm.scatterv(None if whole is None else np.ascontiguousarray(whole, own.dtype), own, root)


def from_function(
    rows_of: Callable[[int, int], Any],
    rows: Partition | int,
    *,
    columns: Partition | int | None = None,
    comm: Comm | Any = None,
    dtype: npt.DTypeLike | None = None,
    **options: Any,
) -> DistributedCrsMatrix:
    """Make each rank's rows by a function. Collective; blocks.

    Parameters
    ----------
    rows_of : callable
        ``rows_of(begin, end)`` of this rank's rows, called once, also for none. It returns
        ``(row_map, entries, values)``, as of `DistributedCrsMatrix`; a sparse matrix of so many
        rows and all columns; or, as a generator does, yields ``(columns, values)`` of each row.
    rows : Partition or int
        Which rows ranks have; a number is divided evenly.
    columns, comm
        As of `DistributedCrsMatrix`.
    dtype : dtype-like, optional
        Of the matrix. By default the common one of what all ranks have.
    **options
        `space`, `overlap`, `engine` and `check` of `DistributedCrsMatrix`.

    Raises
    ------
    CommError
        On all ranks, if what the function returns is no such rows.

    Examples
    --------
    >>> from execspace_comm import sparse
    >>> def laplacian(begin, end):
    ...     for i in range(begin, end):
    ...         near = [j for j in (i - 1, i, i + 1) if 0 <= j < 10]
    ...         yield near, [2.0 if j == i else -1.0 for j in near]
    >>> sparse.from_function(laplacian, 10, space="serial").shape
    (10, 10)
    """
    given = rows.comm if comm is None and isinstance(rows, Partition) else comm
    ranks = ranks_of(given)
    part = as_partition(rows, ranks, "from_function: rows")
    wide = columns.n if isinstance(columns, Partition) else part.n if columns is None else columns

    def made() -> Rows:
        found = rows_of(part.lower, part.upper)
        if isinstance(found, tuple) and len(found) == 3:
            host = (a.to_numpy() if isinstance(a, es.View) else np.asarray(a) for a in found)
            return Rows(*host)
        if not hasattr(found, "shape"):
            return _listed(found)
        arrays, shape = _arrays_of(found)
        if shape != (part.size, wide):
            raise CommError(
                f"rows {part.lower} to {part.upper} are a matrix of {shape[0]} x {shape[1]}; "
                f"expected {part.size} x {wide}."
            )
        return arrays

    arrays = attempt(ranks, "from_function", made)
    row_map, entries = (
        a if a.dtype in (np.int32, np.int64) else a.astype(np.int64) for a in arrays[:2]
    )
    kind = _common(ranks, arrays.values.dtype, arrays.values.size) if dtype is None else dtype
    values = arrays.values.astype(kind, copy=False)
    return DistributedCrsMatrix(
        row_map, entries, values, rows=part, columns=columns, comm=ranks, **options
    )


def _common(comm: Comm, dtype: np.dtype[Any], count: int) -> np.dtype[Any]:
    """The dtype of all values; ranks without any say nothing."""
    with translated("from_function"):
        found = comm.mpi.allgather(dtype if count else None)
    said = [kind for kind in found if kind is not None]
    if not said:
        return dtype if dtype.kind in "fcV" else np.dtype(np.float64)
    if any(kind.kind == "V" for kind in said):
        first: np.dtype[Any] = said[0]
        return first
    common = np.result_type(*said)
    return common if common.kind in "fc" else np.dtype(np.float64)


def _listed(rows: Iterable[Any]) -> Rows:
    """Rows that come one by one."""
    lengths, entries, values = [0], [np.zeros(0, np.int64)], []
    for columns, numbers in rows:
        own, elements = np.asarray(columns, np.int64).reshape(-1), np.asarray(numbers).reshape(-1)
        if own.shape != elements.shape:
            raise CommError(
                f"row {len(lengths) - 1} of this rank has {own.size} columns and "
                f"{elements.size} values; expected as many."
            )
        lengths.append(own.size)
        entries.append(own)
        values.append(elements)
    joined = np.concatenate(values) if values else np.zeros(0)
    return Rows(np.cumsum(lengths, dtype=np.int64), np.concatenate(entries), joined)


def from_entries(
    rows: Any,
    columns: Any,
    values: Any,
    shape: tuple[Partition | int, Partition | int] | Partition | int,
    *,
    comm: Comm | Any = None,
    **options: Any,
) -> DistributedCrsMatrix:
    """Bring entries to the ranks that have their rows, as finite elements leave them. Collective.

    Parameters
    ----------
    rows, columns : View or array of integers, shape (count,)
        Global numbers, of any rows. Each rank has some entries, maybe none.
    values : View or array of real or complex floats, shape (count,)
        Of the same dtype on all ranks. Those at one place are added: of the first rank first, and
        of a rank in the order in which they are given.
    shape : Partition or int, or two of them
        Rows and columns; numbers are divided evenly. One of them is that of a square matrix.
    comm : Comm or mpi4py.MPI.Intracomm, optional
    **options
        `space`, `overlap` and `engine` of `DistributedCrsMatrix`.

    Raises
    ------
    CommError
        On all ranks, if entries of one are not valid.

    Notes
    -----
    Blocks. Columns ascend in each row.

    Examples
    --------
    >>> from execspace_comm import sparse
    >>> A = sparse.from_entries([0, 1], [1, 0], [1.0, 2.0], 2, space="serial")
    >>> A.shape
    (2, 2)
    """
    first, second = shape if isinstance(shape, tuple) else (shape, None)
    given = first.comm if comm is None and isinstance(first, Partition) else comm
    ranks = ranks_of(given)

    def checked() -> tuple[Partition, Partition, list[Any]]:
        of_rows = as_partition(first, ranks, "from_entries: shape")
        of_columns = as_partition(second, ranks, "from_entries: shape", of_rows)
        three = (rows, columns, values)
        arrays = [a.to_numpy() if isinstance(a, es.View) else np.asarray(a) for a in three]
        return of_rows, of_columns, arrays

    of_rows, of_columns, (*arrays, numbers) = attempt(ranks, "from_entries", checked)
    problem = _entries_problem(arrays, numbers, of_rows.n, of_columns.n)
    agreed(ranks, "from_entries", problem, {"values": str(numbers.dtype)}, numbers.size)
    there = of_rows.owner(arrays[0].astype(np.int64))
    order = np.argsort(there, kind="stable")
    kind = np.dtype([("row", "i8"), ("column", "i8"), ("value", numbers.dtype)])
    sent = np.empty(numbers.size, kind)
    for name, array in zip(kind.names or (), (*arrays, numbers), strict=True):
        sent[name] = array[order]
    counts = np.bincount(there, minlength=ranks.size).tolist()
    got, _ = ranks.alltoallv(sent, counts)
    found = _assembled(got.to_numpy(), of_rows)
    made = DistributedCrsMatrix(
        found.row_map, found.entries, found.values, rows=of_rows, columns=of_columns, comm=ranks,
        check=False, **options,
    )  # fmt: skip
    made._from = "from_entries, which brings entries to the ranks of their rows and adds some"
    return made


def _entries_problem(indices: list[Any], values: Any, n: int, m: int) -> str:
    for name, array, most in zip(("rows", "columns"), indices, (n, m), strict=True):
        if array.shape != values.shape or array.ndim != 1:
            return (
                f"{name} have shape {array.shape} and values {values.shape}; expected one "
                f"dimension, and the same."
            )
        if array.size and (array.dtype.kind not in "iu" or array.min() < 0 or array.max() >= most):
            return f"{name} are not all integers from 0 to {most - 1}."
    if values.dtype.kind not in "fc":
        return f"values are of {values.dtype}; expected real or complex floats."
    return ""


def _assembled(got: Any, rows: Partition) -> Rows:
    """Rows of entries in any order; those at one place are added in theirs."""
    order = np.lexsort((got["column"], got["row"]))  # which is stable
    row, column, value = (got[name][order] for name in ("row", "column", "value"))
    new = np.ones(row.size, bool)
    new[1:] = (row[1:] != row[:-1]) | (column[1:] != column[:-1])
    values = value[new]
    place = np.cumsum(new) - 1
    np.add.at(values, place[~new], value[~new])
    lengths = np.bincount(row[new] - rows.lower, minlength=rows.size)
    row_map = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    return Rows(row_map, column[new].astype(np.int64), values)


def _arrays_of(matrix: Any) -> tuple[Rows, tuple[int, int]]:
    """A matrix of any library as arrays of the host, and its shape; CommError for what is none."""
    try:
        found = sparse.as_crs(matrix)
    except (es.ExecspaceError, TypeError) as error:
        raise CommError(f"{error} Expected a sparse matrix.") from None
    arrays = (view.to_numpy() for view in (found.row_map, found.entries, found.values))
    rows, columns = (operator.index(n) for n in found.shape)
    return Rows(*arrays), (rows, columns)

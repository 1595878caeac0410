"""DistributedCrsMatrix: a sparse matrix of which each rank has some rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

import execspace as es
from execspace_kernels import sparse

from ..communicator import Comm
from ..errors import CommError
from ..parts import agreed, attempt, ranks_of
from .exchange import Plan
from .joining import Joiner
from .partition import Partition, as_partition
from .product_dots import apply_dot
from .products import spmv
from .splitting import Rows, renumbered, rows_problem
from .storage import Stored

__all__ = ["DistributedCrsMatrix"]


class DistributedCrsMatrix(Stored):
    """A sparse matrix by rows, which are divided among ranks as one contiguous range of each.

    Parameters
    ----------
    row_map : View or array of int32 or int64, shape (rows of this rank + 1,)
        Where the entries of each row begin, and their number.
    entries : View or array of int32 or int64, shape (nnz,)
        Global numbers of columns.
    values : View or array, shape (nnz,)
        Real or complex floating-point numbers, or records as of `execspace_kernels`; of the same
        dtype on all ranks.
    rows : Partition, optional
        Which rows each rank has; by default those that it is given.
    columns : Partition or int, optional
        How vectors are divided that the matrix is multiplied with: as `rows` if not given, for a
        square matrix; a number of columns is divided evenly.
    comm : Comm or mpi4py.MPI.Intracomm, optional
        That of `rows` if not given, else all ranks of the program.
    space : str or ExecutionSpace, optional
        Where the matrix is and products run; that of `values` if they are a View, else the default
        space. Spaces of ranks may differ.
    overlap : bool, default True
        Multiply with own columns while those of others are under way. False: products are summed in
        the order of `entries`, as one rank does it; see `spmv`.
    engine : {"auto", "mpi", "nccl"}
        What carries messages. "auto" takes NCCL where each rank has a GPU to itself.
    check : bool, default True
        Look whether arrays are valid.

    Attributes
    ----------
    rows, columns : Partition
    comm : Comm
    shape : (int, int)
        Rows and columns of all ranks together.
    dtype : numpy.dtype
    space : ExecutionSpace
    ghosts : numpy.ndarray of int64
        Global numbers of the columns that this rank's rows have and other ranks own, ascending.
    overlap : bool
    engine, why : str
        What carries messages, and why.

    Raises
    ------
    CommError
        On all ranks, if arrays of one are not valid, or ranks do not agree.

    Notes
    -----
    Collective, and blocks: arrays are copied to the host and split there, and ranks tell each other
    which elements they need, by an alltoallv of their numbers. Buffers and persistent requests are
    made at the first product with vectors of a dtype. `from_root`, `from_function`, `from_entries`
    and `from_matrix_market` make matrices of other sources.

    The division into a part of own columns and one of ghosts is that of PETSc's MPIAIJ: Balay,
    Gropp, McInnes, Smith, "Efficient management of parallelism in object-oriented numerical
    software libraries", 1997. Of Trilinos it has the row and domain maps.

    Examples
    --------
    >>> import execspace as es
    >>> from execspace_comm.sparse import DistributedCrsMatrix, Partition
    >>> p = Partition(4)
    >>> n = p.size
    >>> A = DistributedCrsMatrix(range(n + 1), p.range, [2.0] * n, rows=p, space="serial")
    >>> (A @ es.ones(n, space="serial")).to_numpy().tolist() == [2.0] * n
    True
    """

    def __init__(
        self,
        row_map: Any,
        entries: Any,
        values: Any,
        *,
        rows: Partition | None = None,
        columns: Partition | int | None = None,
        comm: Comm | Any = None,
        space: str | es.ExecutionSpace | None = None,
        overlap: bool = True,
        engine: str = "auto",
        check: bool = True,
    ) -> None:
        what = type(self).__name__
        given = rows.comm if comm is None and isinstance(rows, Partition) else comm
        self.comm = ranks_of(given)
        self.space = _space(space, values)

        def checked() -> Rows:
            return Rows(_indices(row_map), _indices(entries), _host(values))

        arrays = attempt(self.comm, what, checked)
        if rows is None:
            rows = Partition.of_sizes(max(arrays.length, 0), self.comm)

        def divided() -> tuple[Partition, Partition]:
            of_rows = as_partition(rows, self.comm, f"{what}: rows")
            return of_rows, as_partition(columns, self.comm, f"{what}: columns", of_rows)

        self.rows, self.columns = attempt(self.comm, what, divided)
        self.shape = self.rows.n, self.columns.n
        self.overlap = bool(overlap)
        self.dtype: np.dtype[Any] = arrays.values.dtype
        self._agree(what, arrays, check, engine)
        self.ghosts, local = renumbered(arrays.entries, self.columns.lower, self.columns.upper)
        self._plan = Plan(self.columns, self.ghosts, self.space, engine)
        self.engine, self.why = self._plan.engine, self._plan.why
        self._joiner = Joiner(self._plan, self.space)
        self._from = ""  # what has changed the order of entries
        self._places: tuple[es.View, es.View] | None = None  # of the two parts among all values
        self._store(arrays, local)

    def _agree(self, what: str, arrays: Rows, check: bool, engine: str) -> None:
        """CommError on all ranks, unless all have the same matrix."""
        problem = rows_problem(arrays, self.columns.n) if check else ""
        if not problem and arrays.length != self.rows.size:
            problem = (
                f"row_map has {arrays.length} rows; expected {self.rows.size}, of {self.rows!r}"
            )
        plain = self.dtype.kind in "fc" or self.dtype.fields is not None
        if not problem and not plain:
            problem = (
                f"values are of {self.dtype}; expected real or complex floats, as of "
                f"astype('float64'), or records"
            )
        about = {
            "rows": _digest(self.rows), "columns": _digest(self.columns),
            "values": str(self.dtype), "overlap": str(self.overlap), "engine": str(engine),
        }  # fmt: skip
        agreed(self.comm, what, problem, about, arrays.length)

    # -- what it does ------------------------------------------------------------------------------

    def apply(self, x: es.View | Any, *, out: es.View | Any = None) -> es.View:
        """A x, see `spmv`: what solvers of `execspace_kernels` call. Collective."""
        return spmv(self, x, out)

    def apply_dot(self, x: es.View, *, out: es.View, dot: es.View) -> None:
        """A x to `out`, and the real part of x^H A x of this rank's rows to `dot`, in one pass:
        what `cg` calls. Views of shape (n,) on the space of the matrix. Collective; it can be
        recorded, as `spmv`."""
        apply_dot(self, x, out, dot)

    is_recordable = True  # what solvers ask

    def __matmul__(self, x: Any) -> es.View:
        return spmv(self, x)

    __array_ufunc__ = None  # NumPy leaves `array @ matrix` to this class, which has none

    def update(self, values: es.View | Any) -> None:
        """Take other values, in the order in which they were given. Blocks for nothing but the
        first time; not collective.

        Parameters
        ----------
        values : View or array, shape (nnz,)
            Of this rank, in the order of `entries`, of the dtype of the matrix; read.

        Raises
        ------
        CommError
            If shape or dtype is another one, or the matrix was made of entries of any rows, as by
            `from_entries`. That of `from_root` has its entries by rows, as `CrsMatrix` does.
        """
        if self._from:
            raise CommError(
                f"update: the matrix is of {self._from}, so there is no order of entries; make "
                f"another one, or make it of rows."
            )
        view = self.comm._view(values, "update")
        if view.shape != (self.nnz,) or view.dtype != self.dtype:
            raise CommError(
                f"update: View '{view.label}' has shape {view.shape} and dtype {view.dtype}; "
                f"expected ({self.nnz},) and {self.dtype}."
            )
        if self._whole is not None:
            es.deep_copy(self._whole.values, view, instance=self.space)
        if self._own is None:
            return
        own, ghost = self._placed()
        parts = [(own, self._own.values)]
        if self._whole is None:
            parts.append((ghost, self._ghost.values))
        for places, part in parts:
            every = es.RangePolicy(part.shape[0], space=self.space)
            es.parallel_for(every, _take, places, view, part, label="matrix values")

    def _placed(self) -> tuple[es.View, es.View]:
        """Where values of own columns are among all, and those of ghosts. Kept."""
        if self._places is None:
            bits = np.unpackbits(self._is_ghost, count=self.nnz).astype(bool)
            kind = np.int32 if self.nnz < 2**31 else np.int64
            own, ghost = (
                es.array(np.flatnonzero(which).astype(kind), space=self.space, label="places")
                for which in (~bits, bits)
            )
            self._places = own, ghost
        return self._places

    # -- what it is --------------------------------------------------------------------------------

    def diagonal(self) -> es.View:
        """The elements of the main diagonal in the rows of this rank, of a square matrix.

        Raises
        ------
        CommError
            If rows and columns are not divided alike.
        """
        if self.rows != self.columns:
            raise CommError(
                f"diagonal: rows are divided by {self.rows.bounds.tolist()} and columns by "
                f"{self.columns.bounds.tolist()}; expected the same."
            )
        return sparse.diagonal(self.own)

    @property
    def own_rows(self) -> range:
        """The rows of this rank, as `execspace_kernels.solvers` asks for them."""
        return self.rows.range

    @property
    def join_over_ranks(self) -> Callable[[es.View, Any], None] | None:
        """What completes the sums of `execspace_kernels.solvers`; None on one rank alone."""
        return self._joiner.join if self.comm.size > 1 else None

    def __reduce__(self) -> Any:
        raise TypeError("DistributedCrsMatrix cannot be pickled: it is of this program's ranks.")


def _space(space: Any, values: Any) -> es.ExecutionSpace:
    if space is None:
        own = values.space if isinstance(values, es.View) else None
        return own or es.default_space()
    return es.space(space) if isinstance(space, str) else space


def _host(values: Any) -> npt.NDArray[Any]:
    """Elements as an array of the host."""
    return values.to_numpy() if isinstance(values, es.View) else np.asarray(values)


def _indices(given: Any) -> npt.NDArray[Any]:
    """The same of indices; of lists and ranges int64."""
    found = _host(given)
    return found if isinstance(given, es.View | np.ndarray) else found.astype(np.int64)


def _digest(partition: Partition) -> str:
    """What ranks compare of a partition."""
    return f"{partition.n}, by bounds of checksum {crc32(partition.bounds.tobytes()):x}"


# -- kernels --------------------------------------------------------------------------------------


def _take(k: int, places: Any, values: Any, part: Any) -> None:
    part[k] = values[places[k]]

"""Jacobi's method as a preconditioner; and what Gauss-Seidel shares with it: inverse diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..arguments import check_not_recorded, count_of, first, in_turns
from ..errors import MatrixError
from . import relaxation_kernels as kernels
from .crs import CrsMatrix
from .elements import check_numbers
from .foreign import as_crs
from .sptrsv import operands

__all__ = ["Jacobi"]


class Jacobi:
    """The inverse of the diagonal of a matrix, or some sweeps of Jacobi's method from zero.

    Parameters
    ----------
    A : CrsMatrix, or a sparse matrix of another library
        n x n; kept. One sweep needs the diagonal alone, as it was at the last `update`; several
        sweeps read A, diagonal included, at each `apply`.
    sweeps : int, default 1
    omega : float, default 1.0
        How far each sweep goes.
    space : str or ExecutionSpace, optional

    Raises
    ------
    MatrixError
        If A is not square, or a diagonal element is missing, zero, not finite, or so small that
        its inverse is not, with its row. Elements that change without `update` are not looked at.
    SpaceAccessError

    Notes
    -----
    Making one blocks.

    Examples
    --------
    >>> from execspace_kernels import sparse
    >>> A = sparse.CrsMatrix([0, 1, 3], [0, 0, 1], [2.0, 1.0, 4.0], shape=(2, 2))
    >>> sparse.Jacobi(A).apply([2.0, 8.0]).to_numpy().tolist()
    [1.0, 2.0]
    """

    def __init__(
        self,
        A: CrsMatrix | Any,
        sweeps: int = 1,
        omega: float = 1.0,
        *,
        space: str | es.ExecutionSpace | None = None,
    ) -> None:
        self.A = A = as_crs(A)
        check_numbers("jacobi", A)
        self.sweeps = count_of(sweeps, "jacobi: sweeps", 0)
        self.omega = check_omega(omega, "jacobi")
        self.space = es.space_for(A.row_map, A.entries, A.values, space=space)
        if A.shape[0] != A.shape[1]:
            raise MatrixError(f"jacobi: A is {A.shape[0]} x {A.shape[1]}; expected a square one.")
        self._inverse = inverse_diagonal(A, "jacobi", True, self.space, None)
        self._work: dict[Any, tuple[es.View, es.View]] = {}

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.A.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """That of the elements."""
        return self.A.dtype

    def update(self, A: CrsMatrix | Any) -> None:
        """Take the values that a matrix of the same graph has now. Blocks.

        Raises
        ------
        MatrixError
            For another graph, and as when making one; all stays as it was then.
        """
        A = as_crs(A)
        if not A.graph.is_same(self.A.graph):
            raise MatrixError(f"jacobi: A is {A!r}; expected one of the graph {self.A.graph!r}.")
        self._inverse = inverse_diagonal(A, "jacobi", True, self.space, self._inverse)
        self.A = A

    @in_turns
    def apply(self, b: es.View | Any, *, out: es.View | Any = None) -> es.View:
        """What the sweeps make of zeros.

        Parameters
        ----------
        b : View or array, shape (n,) or (n, k)
            One vector or several; read.
        out : View or array, shape (n,) or (n, k), optional
            Without it a new View of the common dtype. May be `b` itself for one sweep.

        Raises
        ------
        ViewError
            As `sptrsv_solve`.

        Notes
        -----
        Asynchronous where the space is; can be recorded.
        """
        source, x = operands("jacobi", self.A, b, out, self.space, apart=self.sweeps != 1)
        one = source.rank == 1
        scaled = kernels.scaled_one if one else kernels.scaled_several
        every = policy(source, self.space, 0, source.shape[0])
        if not self.sweeps:
            es.deep_copy(x, 0, instance=self.space)
            return x
        if self.sweeps > 1:  # so that all is of the elements that A has now
            self._inverse = inverse_diagonal(self.A, "jacobi", False, self.space, self._inverse)
        es.parallel_for(every, scaled, self._inverse, source, x, self.omega, label="jacobi")
        start = kernels.start_one if one else kernels.start_several
        add = kernels.add_one if one else kernels.add_several
        parts = self.A.row_map, self.A.entries, self.A.values, self._inverse
        for _ in range(self.sweeps - 1):
            r, g = self._vectors(x)
            es.parallel_for(
                every, start, *parts, source, x, r, g, self.omega, "given", label="jacobi"
            )
            es.parallel_for(every, add, g, x, label="jacobi")
        return x

    __call__ = apply

    def _vectors(self, x: es.View) -> tuple[es.View, es.View]:
        """Residual and correction."""
        key = x.shape, x.dtype
        if key not in self._work:
            self._work.clear()
            r, g = (
                es.View(x.shape, x.dtype, label=label, space=self.space, initialize=False)
                for label in ("residual", "correction")
            )
            self._work[key] = r, g
        return self._work[key]

    def __repr__(self) -> str:
        return f"<Jacobi of {self.A!r}, {self.sweeps} sweeps>"


def policy(b: es.View, space: es.ExecutionSpace, begin: int, end: int) -> Any:
    """Some rows of one vector, or of several."""
    if b.rank == 1:
        return es.RangePolicy(begin, end, space=space)
    return es.MDRangePolicy((begin, 0), (end, b.shape[1]), space=space)


def inverse_diagonal(
    A: CrsMatrix, what: str, check: bool, space: es.ExecutionSpace, into: es.View | None
) -> es.View:
    """The inverse of each diagonal element, in a View that there is already if it fits."""
    if check:
        check_inverses(A, what, space)
    if into is None or into.dtype != A.dtype:
        into = es.View(A.shape[0], A.dtype, label="inverse", space=space, initialize=False)
    es.parallel_for(
        es.RangePolicy(A.shape[0], space=space), kernels.inverted, A.row_map, A.entries, A.values,
        A.graph.diagonal_places(space), into, label=f"{what} diagonal",
    )  # fmt: skip
    return into


def check_inverses(A: CrsMatrix, what: str, space: es.ExecutionSpace) -> None:
    """Raise MatrixError for a diagonal element that rows cannot be divided by. Blocks."""
    check_not_recorded(what)
    most = float(np.finfo(A.dtype).max)
    row = first(
        A.shape[0], space, kernels.has_no_inverse, A.row_map, A.entries, A.values,
        A.graph.diagonal_places(space), most,
    )  # fmt: skip
    if row is None:
        return
    begin, end = map(int, A.row_map[row : row + 2].to_numpy())
    own = A.values[begin:end].to_numpy()[A.entries[begin:end].to_numpy() == row]
    how = f"a diagonal element of {own.sum()}" if own.size else "no diagonal element"
    raise MatrixError(
        f"{what}: row {row} has {how}; expected one that is finite and not 0, as is its inverse, "
        f"for rows are divided by them."
    )


def check_omega(omega: Any, what: str) -> float:
    """A finite real number greater than 0; MatrixError for all else."""
    if not isinstance(omega, int | float | np.floating) or not 0 < omega < np.inf:
        raise MatrixError(
            f"{what}: omega={omega!r}; expected a real number greater than 0, and finite."
        )
    return float(omega)

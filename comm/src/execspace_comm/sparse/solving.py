"""Solvers of `execspace_kernels` for matrices over ranks, on the space of the matrix."""

from __future__ import annotations

from typing import Any

import execspace as es
from execspace_kernels import solvers

from ..errors import CommError
from .matrix import DistributedCrsMatrix

__all__ = ["bicgstab", "cg", "chebyshev", "gmres"]


def cg(A: DistributedCrsMatrix, b: es.View | Any, **options: Any) -> solvers.Solution:
    """Solve A x = b by conjugate gradients, for a Hermitian positive definite A. Collective.

    Parameters
    ----------
    A : DistributedCrsMatrix
        Square, rows and columns divided alike.
    b : View or array, shape (A.rows.size,) or (A.rows.size, k)
        This rank's rows.
    **options
        `x0`, `out`, `M`, `rtol`, `atol`, `max_iterations`, `callback`, `check_every` and
        `raise_on_failure` of `execspace_kernels.solvers.cg`; of vectors this rank's rows, all else
        the same on all ranks. `M` acts on the rows of this rank, as
        ``execspace_kernels.sparse.Jacobi(A.own)`` does, or on those of all, as
        ``execspace_kernels.solvers.Chebyshev(A)``.

    Returns
    -------
    Solution
        x has the rows of this rank; all else is the same on all ranks.

    Raises
    ------
    CommError, MatrixError, ViewError, ConvergenceError
        As `execspace_kernels.solvers.cg`; on all ranks if they do not agree.

    Notes
    -----
    Blocks. It is `execspace_kernels.solvers.cg`, with ``space=A.space``. Sums are of each rank in
    the order of its space, and then from the first rank to the last: the same in each run on as
    many ranks.

    Examples
    --------
    >>> import execspace as es
    >>> from execspace_comm import sparse
    >>> def rows(begin, end):
    ...     for i in range(begin, end):
    ...         yield [i], [2.0]
    >>> A = sparse.from_function(rows, 5, space="serial")
    >>> sparse.cg(A, es.ones(A.rows.size, space="serial")).iterations
    1
    """
    return solvers.cg(A, b, **_with_space(A, options))


def bicgstab(A: DistributedCrsMatrix, b: es.View | Any, **options: Any) -> solvers.Solution:
    """Solve A x = b by BiCGSTAB, for any A; all else as of `cg`."""
    return solvers.bicgstab(A, b, **_with_space(A, options))


def gmres(A: DistributedCrsMatrix, b: es.View | Any, **options: Any) -> solvers.Solution:
    """Solve A x = b by GMRES, for any A; `restart` is an option, all else as of `cg`."""
    return solvers.gmres(A, b, **_with_space(A, options))


def chebyshev(A: DistributedCrsMatrix, b: es.View | Any, **options: Any) -> solvers.Solution:
    """Solve A x = b by Chebyshev's iteration; `bounds` is an option, all else as of `cg`."""
    return solvers.chebyshev(A, b, **_with_space(A, options))


def _with_space(A: DistributedCrsMatrix, options: dict[str, Any]) -> dict[str, Any]:
    if A.rows != A.columns:
        raise CommError(
            f"rows of {A!r} are divided by {A.rows.bounds.tolist()} and columns by "
            f"{A.columns.bounds.tolist()}; expected the same."
        )
    return {"space": A.space, **options}

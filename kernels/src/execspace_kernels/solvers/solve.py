"""cg, bicgstab, gmres, chebyshev: a solution by one call."""

from __future__ import annotations

from typing import Any

import execspace as es

from ..sparse import CrsMatrix
from .handle import prepare
from .method import Callback
from .solution import Solution

__all__ = ["bicgstab", "cg", "chebyshev", "gmres"]


def cg(
    A: CrsMatrix | Any,
    b: es.View | Any,
    *,
    x0: es.View | Any = None,
    out: es.View | Any = None,
    M: Any = None,
    rtol: float = 1e-8,
    atol: float = 0.0,
    max_iterations: int | None = None,
    callback: Callback | None = None,
    check_every: int | None = None,
    raise_on_failure: bool = False,
    algorithm: str = "auto",
    space: str | es.ExecutionSpace | None = None,
) -> Solution:
    """Solve A x = b by conjugate gradients, for a Hermitian positive definite A.

    Parameters
    ----------
    A : CrsMatrix, BsrMatrix, StencilMatrix, sparse matrix of SciPy, CuPy or PyTorch, object with \
`apply`, callable, or LinearOperator of SciPy
        n x n; read. `A.apply(x, out=y)`, or `A(x, y)`, launches what computes y = A x, for Views
        of the shape of `b`, and returns nothing or y. What it launches is recorded, so it is
        called once for many iterations, and each time if it cannot be recorded. A LinearOperator
        computes on the host, whose memory the space must have. It may be over ranks, see Notes.
    b : View or array, shape (n,) or (n, k)
        Read. Each column is a system with scalars of its own; one that is done is left as it is.
    x0 : View or array, of the shape of `b`, optional
        Where to begin; 0 if not given. Read.
    out : View or array, of the shape of `b`, optional
        Gets the answer, at the end: it may be `b` or `x0`. Without it a new View, of the common
        dtype of A, M and b.
    M : as A, optional
        Preconditioner: `M.apply(r, out=z)` computes z, about the solution of A z = r. Hermitian and
        positive definite.
    rtol, atol : float
        A column is done when ||r|| <= max(rtol ||b||, atol). r is what the iteration makes of it;
        ||b - A x||, which is computed once in the end, may differ from it by rounding. If it is
        more than ten times that, and than sqrt(eps) ||b||, the column has not converged.
    max_iterations : int, optional
        10 n if not given, at least 10 and at most 10000.
    callback : callable, optional
        `callback(iteration, norm)` after each check, with the norm of the residual, an array of
        them for (n, k). What it raises ends the solution.
    check_every : int, optional
        Iterations between two looks at the residual; 1 on hosts, 10 on devices. What is done beyond
        the end of a column changes neither the answer nor the history.
    raise_on_failure : bool
        Raise what `reason` says.
    algorithm : {"auto", "fused", "apply"}
        "fused": a launch does q = A p, a work item for each row, and adds p^H q. "apply": the
        product is that of `spmv`, or of the operator, and the dot comes after.
    space : str or ExecutionSpace, optional
        Where to run; as for a launch if not given.

    Returns
    -------
    Solution
        `converged` is False after breakdowns, and `reason` tells.

    Raises
    ------
    MatrixError
        If `A` or `M` is nothing to multiply with, of another size, or says that it runs on another
        space; if it returns another vector than y; an option is wrong; or ranks do not agree.
    ViewError
        If shapes do not fit, `out` is read-only, or real where the answer is complex.
    ConvergenceError
        If it has not converged, with `raise_on_failure`.
    SpaceAccessError

    Notes
    -----
    Blocks, so it cannot be recorded. Results are the same in each run on a space. Ctrl-C leaves
    `out` as it was.

    A column whose elements are far from 1 is solved by a power of two, which rounds nothing, so
    that no norm over- or underflows; `A` and `M` get vectors by that factor.

    Beside the matrix an iteration moves 10 elements of vectors a row, without M; a matrix of 27
    entries a row has 41 (in units of 8 bytes).

    An operator is over ranks if it has some rows of a larger one, whose others are those of other
    processes. It has a method `join_over_ranks(view, reducer)` then, which makes the elements of a
    View, few numbers in memory of the space or of the host, what those of all processes join to by
    `es.Sum` or `es.Max`: the same bits on each of them, in order with launches on the space. All of
    them call the solver with the same options; `b`, `x0`, `out` and the answer are the rows of the
    process, maybe none, and the rest of the solution is the same on all. `A.shape`, if there is
    one, is that of all rows; `A.own_rows`, if there is one, is the `range` of those here. `M` is
    applied to the rows here, and is of their size unless it is over ranks as well.

    What an operator over ranks launches is recorded, as that of others is, if it says
    ``is_recordable = True``: then `apply` and `join_over_ranks` do by `execspace.library_call`
    whatever is no launch, such as messages. Any operator may have
    ``apply_dot(x, out=y, dot=s)``, for x of shape (n,), which also has s, a View of rank 0, be the
    real part of x^H y, of the rows here, by launches or as `apply`: both in one pass.

    Hestenes and Stiefel, "Methods of conjugate gradients for solving linear systems", 1952.

    Examples
    --------
    >>> from execspace_kernels import solvers, sparse
    >>> A = sparse.CrsMatrix([0, 2, 4], [0, 1, 0, 1], [2.0, -1.0, -1.0, 2.0], shape=(2, 2))
    >>> solution = solvers.cg(A, [1.0, 1.0])
    >>> solution.converged, solution.x.to_numpy().tolist()
    (True, [1.0, 1.0])
    """
    handle = prepare("cg", A, b, M=M, algorithm=algorithm, space=space)
    return handle._solve(
        b, x0, out, rtol, atol, max_iterations, callback, check_every, raise_on_failure, False
    )


def bicgstab(
    A: CrsMatrix | Any,
    b: es.View | Any,
    *,
    x0: es.View | Any = None,
    out: es.View | Any = None,
    M: Any = None,
    rtol: float = 1e-8,
    atol: float = 0.0,
    max_iterations: int | None = None,
    callback: Callback | None = None,
    check_every: int | None = None,
    raise_on_failure: bool = False,
    algorithm: str = "auto",
    space: str | es.ExecutionSpace | None = None,
) -> Solution:
    """Solve A x = b by BiCGSTAB, for any A; M from the right.

    Parameters, results, errors and what blocks are those of `cg`; M need not be Hermitian. Two
    products an iteration.

    Notes
    -----
    Van der Vorst, "Bi-CGSTAB: a fast and smoothly converging variant of Bi-CG for the solution of
    nonsymmetric linear systems", 1992.
    """
    handle = prepare("bicgstab", A, b, M=M, algorithm=algorithm, space=space)
    return handle._solve(
        b, x0, out, rtol, atol, max_iterations, callback, check_every, raise_on_failure, False
    )


def gmres(
    A: CrsMatrix | Any,
    b: es.View | Any,
    *,
    restart: int = 30,
    x0: es.View | Any = None,
    out: es.View | Any = None,
    M: Any = None,
    rtol: float = 1e-8,
    atol: float = 0.0,
    max_iterations: int | None = None,
    callback: Callback | None = None,
    check_every: int | None = None,
    raise_on_failure: bool = False,
    algorithm: str = "auto",
    space: str | es.ExecutionSpace | None = None,
) -> Solution:
    """Solve A x = b by GMRES with restarts, for any A; M from the right.

    Parameters
    ----------
    restart : int
        Vectors that are kept, and orthogonalised against; then it begins anew with what it has.
    algorithm : {"auto", "pieces", "teams", "rows"}
        How dots with all vectors are done: some rows of all vectors at a time, as hosts do; or a
        team, or a work item, for some rows of one vector.
    A, b, x0, out, M, rtol, atol, max_iterations, callback, check_every, raise_on_failure, space
        As of `cg`, and so are results, errors and what blocks. Columns of `b` are solved one after
        the other, A and M get Views of shape (n,). The residuals are those of the unpreconditioned
        system.

    Notes
    -----
    Saad and Schultz, "GMRES: a generalized minimal residual algorithm for solving nonsymmetric
    linear systems", 1986.
    """
    handle = prepare("gmres", A, b, M=M, algorithm=algorithm, space=space, restart=restart)
    return handle._solve(
        b, x0, out, rtol, atol, max_iterations, callback, check_every, raise_on_failure, False
    )


def chebyshev(
    A: CrsMatrix | Any,
    b: es.View | Any,
    *,
    bounds: tuple[float, float] | None = None,
    x0: es.View | Any = None,
    out: es.View | Any = None,
    M: Any = None,
    rtol: float = 1e-8,
    atol: float = 0.0,
    max_iterations: int | None = None,
    callback: Callback | None = None,
    check_every: int | None = None,
    raise_on_failure: bool = False,
    algorithm: str = "auto",
    space: str | es.ExecutionSpace | None = None,
) -> Solution:
    """Solve A x = b by Chebyshev's iteration, for a Hermitian positive definite A.

    Parameters
    ----------
    bounds : (float, float), optional
        Of the eigenvalues of M A. Estimated by up to 100 steps of Lanczos if not given. Eigenvalues below
        the first one slow it down, those above the second one make it diverge.
    A, b, x0, out, M, rtol, atol, max_iterations, callback, check_every, raise_on_failure, algorithm, space
        As of `cg`, and so are results, errors and what blocks.

    Raises
    ------
    MatrixError
        Also if `bounds` are not, or cannot be estimated since A or M is not positive definite.

    Notes
    -----
    Golub and Varga, "Chebyshev semi-iterative methods, successive overrelaxation iterative methods,
    and second order Richardson iterative methods", 1961.
    """  # noqa: E501
    handle = prepare("chebyshev", A, b, M=M, algorithm=algorithm, space=space, bounds=bounds)
    return handle._solve(
        b, x0, out, rtol, atol, max_iterations, callback, check_every, raise_on_failure, False
    )

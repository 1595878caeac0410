"""Singular values and vectors of one dense matrix, by Jacobi's rotations from one side.

One team makes the columns orthogonal in one launch, so that nothing is read by the host to see
whether it is done; the lanes of a thread share the rows of two columns. A wide matrix is done as
the conjugate of its transpose. Columns that are zero then, and those of full matrices, are made by
a QR factorisation. Golub and Van Loan, "Matrix Computations", 4th edition, 8.6.3.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import execspace as es

from ..arguments import Space, check_bool, result
from ..batched.elements import magnitude, zero_of
from ..blas.operands import cells, real_of
from ..decisions import decided
from ..vendors import chosen_vendor
from .jacobi import lanes_of, pair, policy_of, put_in_order, rotation, turn
from .operands import matrix, shapes_of
from .qr import factor, form

__all__ = ["SVD", "svd"]

# Some ten sweeps are enough; columns of very different sizes that are almost parallel take some
# hundred.
_MOST_SWEEPS = 1000


class SVD(NamedTuple):
    """A = U diag(s) Vh."""

    U: es.View
    s: es.View
    Vh: es.View


def svd(
    A: Any, full_matrices: bool = True, compute_uv: bool = True, *, vendor: bool | None = None,
    space: Space = None,
) -> Any:  # fmt: skip
    """Singular values and vectors: A = U diag(s) Vh.

    Parameters
    ----------
    A : View or array, shape (m, n)
        float32, float64, complex64 or complex128, in any layout and with any strides. Read.
    full_matrices : bool
        Whether U and Vh are square; else they have k = min(m, n) columns and rows.
    compute_uv : bool
        Whether there are vectors at all.
    vendor : bool, optional
        True: the routine of a vendor's library, which is taken without being asked for where it
        was measured to be faster. False: never.
    space : str or ExecutionSpace, optional
        Where to run; as for a launch if not given.

    Returns
    -------
    U : View, shape (m, m) or (m, k)
    s : View, shape (k,)
        Singular values, real numbers in descending order.
    Vh : View, shape (n, n) or (k, n)
        A tuple with these names; only `s` is returned without `compute_uv`.

    Raises
    ------
    MatrixError
        If an option is not True or False, or `vendor` is True and there is no routine for it.
    ViewError
        If `A` is no matrix of such numbers.
    SpaceAccessError

    Notes
    -----
    Asynchronous where the space is, except for libraries. NaN in A makes NaN of all singular
    values. Ours takes one team for the whole matrix: it is meant for up to some 64 rows and
    columns, and is right but slow for others. Its results have the same bits in each run on a
    space.

    Names are those of `numpy.linalg.svd`; LAPACK's gesdd is what libraries of hosts do.
    """
    is_full = check_bool(full_matrices, "svd: full_matrices")
    with_vectors = check_bool(compute_uv, "svd: compute_uv")
    A = matrix(A, "svd: A", space)
    where = es.space_for(A, space=space)
    (m, n), k = A.shape, min(A.shape)
    s = es.View(k, real_of(A.dtype), label="s", space=where, initialize=False)
    U = Vh = None
    if with_vectors:
        U = result(None, "svd", (m, m if is_full else k), A.dtype, where, A)
        Vh = result(None, "svd", (n if is_full else k, n), A.dtype, where, A)
    library = chosen_vendor("svd", vendor, where, lambda: shapes_of(A), A, U, s, Vh)
    if library is not None:
        library.svd(A, U, s, Vh)
    else:
        _rotated(A, U, s, Vh, where)
    return s if U is None or Vh is None else SVD(U, s, Vh)


def _rotated(
    A: es.View, U: es.View | None, s: es.View, Vh: es.View | None, space: es.ExecutionSpace
) -> None:  # fmt: skip
    """The thin one of A, or of A^H where that has more rows, and what is to be added to it."""
    if not A.size:
        for Q in (U, Vh):
            if Q is not None and Q.size:
                es.parallel_for(cells(Q, space), _identity, Q, label="svd identity")
        return
    is_wide = A.shape[0] < A.shape[1]
    shape = A.shape[::-1] if is_wide else A.shape
    n = shape[1]
    W, X = (es.View(size, A.dtype, label=label, layout="left", space=space, initialize=False)
            for size, label in ((shape, "W"), ((n, n), "X")))  # fmt: skip
    flips = "yes" if is_wide else "no"
    es.parallel_for(cells(W, space), _copied, A, W, flips, label="svd copy")
    found = es.View(n, s.dtype, label="found", space=space, initialize=False)
    with_vectors = U is not None
    real = np.finfo(s.dtype)
    # The cosine of two columns that are orthogonal, that of LAPACK's gesvj; and the square of a
    # column that counts as zero, for less has no digits.
    tolerance = s.dtype.type(real.eps * np.sqrt(shape[0]))
    least = s.dtype.type(real.smallest_normal / real.eps)
    policy = policy_of(space, lanes_of(space))
    if policy is None:
        decided("svd", "one by one", f"space '{space.name}' has no teams")
        one = es.RangePolicy(1, space=space)
        es.parallel_for(
            one, _sweeps_by_one, W, X, found, tolerance, least, with_vectors, label="svd rotations"
        )
    else:
        decided("svd", "team", "it has no other; a team does all rotations")
        turns = es.View((n + 1) // 2, np.int32, label="turns", space=space, initialize=False)
        es.parallel_for(
            policy, _sweeps, W, X, found, turns, tolerance, least, with_vectors,
            label="svd rotations",
        )  # fmt: skip
    places = put_in_order(found, s, "descending", space)
    if U is None or Vh is None:
        return
    left, right = (Vh.T, U) if is_wide else (U, Vh.T)
    # W = left diag(s) right^H; of a wide matrix that is A^H, so it is Vh that is conjugated.
    es.parallel_for(
        cells(X, space), _put, X, places, right, "no" if is_wide else "yes", label="svd vectors"
    )  # fmt: skip
    _put_left(W, places, left, s, flips, space)


def _put_left(
    W: es.View, places: es.View, left: es.View, s: es.View, conj: str, space: es.ExecutionSpace
) -> None:
    """Columns of W in order, and columns that are orthogonal to these where there are none."""
    Q, more = (es.View(size, W.dtype, label="Q", layout="left", space=space, initialize=False)
               for size in (W.shape, left.shape))  # fmt: skip
    tau = es.View(W.shape[1], W.dtype, label="tau", space=space, initialize=False)
    es.parallel_for(cells(W, space), _put, W, places, left, "no", label="svd vectors")
    es.parallel_for(cells(W, space), _put, W, places, Q, "no", label="svd vectors")
    factor(Q, tau, space)
    form(Q, tau, more, space)
    es.parallel_for(
        cells(left, space), _completed, left, s, more, conj, label="svd completion"
    )  # fmt: skip


# -- kernels --------------------------------------------------------------------------------------


def _identity(i: int, j: int, Q: Any) -> None:
    Q[i, j] = 1 if i == j else 0


def _copied(i: int, j: int, A: Any, W: Any, flips: Any) -> None:
    W[i, j] = np.conj(A[j, i]) if flips == "yes" else A[i, j]


def _put(i: int, j: int, X: Any, places: Any, out: Any, conj: Any) -> None:
    out[i, places[j]] = np.conj(X[i, j]) if conj == "yes" else X[i, j]


def _completed(i: int, j: int, left: Any, s: Any, more: Any, conj: Any) -> None:
    value = zero_of(left)
    if j < s.extent(0) and s[j] != 0:
        value += left[i, j]
    else:
        value += more[i, j]
    left[i, j] = np.conj(value) if conj == "yes" else value


@es.function
def _square(a: Any) -> Any:
    return (a * np.conj(a)).real


@es.function
def _is_done(app: Any, aqq: Any, apq: Any, tolerance: Any, least: Any) -> Any:
    """Whether two columns are orthogonal, or one of them counts as zero. NaN is neither."""
    cosine = abs(apq) <= tolerance * (np.sqrt(app) * np.sqrt(aqq))
    return app <= least or aqq <= least or cosine


def _sweeps(
    team: Any, W: Any, X: Any, s: Any, turns: Any, tolerance: Any, least: Any, with_vectors: Any
) -> None:  # fmt: skip
    m, n = W.extent(0), W.extent(1)
    half = (n + 1) // 2
    largest = es.parallel_reduce(
        es.TeamVectorRange(team, m * n), lambda e: magnitude(W, W[e % m, e // m]), reducer=es.Max
    )
    if largest == 0:
        largest += 1
    for e in es.TeamVectorRange(team, m * n):
        W[e % m, e // m] = W[e % m, e // m] / largest
    for e in es.TeamVectorRange(team, n * n):
        X[e % n, e // n] = 1 if e % n == e // n else 0
    team.barrier()
    going = n > 1 and largest == largest
    sweep = 0
    while going and sweep < _MOST_SWEEPS:
        sweep += 1
        for t in es.TeamThreadRange(team, half):
            turns[t] = 0
        for round_ in range(n - 1 + n % 2):
            for t in es.TeamThreadRange(team, half):
                p, q = pair(t, round_, n)
                if q < n:
                    app = es.parallel_reduce(
                        es.ThreadVectorRange(team, m),
                        lambda i: _square(W[i, p]),  # noqa: B023
                    )
                    aqq = es.parallel_reduce(
                        es.ThreadVectorRange(team, m),
                        lambda i: _square(W[i, q]),  # noqa: B023
                    )
                    apq = es.parallel_reduce(
                        es.ThreadVectorRange(team, m),
                        lambda i: np.conj(W[i, p]) * W[i, q],  # noqa: B023
                    )
                    if not _is_done(app, aqq, apq, tolerance, least):
                        _, _, cosine, sine = rotation(app, aqq, apq)
                        for i in es.ThreadVectorRange(team, m):
                            turn(W, i, p, q, cosine, sine)
                        if with_vectors:
                            for i in es.ThreadVectorRange(team, n):
                                turn(X, i, p, q, cosine, sine)
                        turns[t] = 1
            team.barrier()
        going = es.parallel_reduce(es.TeamThreadRange(team, half), lambda t: turns[t]) > 0
    for j in es.TeamThreadRange(team, n):
        square = es.parallel_reduce(
            es.ThreadVectorRange(team, m),
            lambda i: _square(W[i, j]),  # noqa: B023
        )
        norm = _norm(square, least)
        s[j] = np.nan if going else norm * largest
        if norm != 0:
            for i in es.ThreadVectorRange(team, m):
                W[i, j] = W[i, j] / norm


@es.function
def _norm(square: Any, least: Any) -> Any:
    return square * 0 if square <= least else np.sqrt(square)


def _sweeps_by_one(
    _: int, W: Any, X: Any, s: Any, tolerance: Any, least: Any, with_vectors: Any
) -> None:  # fmt: skip
    m, n = W.extent(0), W.extent(1)
    largest = magnitude(W, W[0, 0])
    for i in range(m):
        for j in range(n):
            largest = np.maximum(largest, magnitude(W, W[i, j]))
    if largest == 0:
        largest += 1
    for i in range(m):
        for j in range(n):
            W[i, j] = W[i, j] / largest
    for i in range(n):
        for j in range(n):
            X[i, j] = 1 if i == j else 0
    going = n > 1 and largest == largest
    sweep = 0
    while going and sweep < _MOST_SWEEPS:
        going = False
        sweep += 1
        for p in range(n):
            for q in range(p + 1, n):
                app = zero_of(W).real
                aqq = zero_of(W).real
                apq = zero_of(W)
                for i in range(m):
                    app += _square(W[i, p])
                    aqq += _square(W[i, q])
                    apq += np.conj(W[i, p]) * W[i, q]
                if not _is_done(app, aqq, apq, tolerance, least):
                    going = True
                    _, _, cosine, sine = rotation(app, aqq, apq)
                    for i in range(m):
                        turn(W, i, p, q, cosine, sine)
                    if with_vectors:
                        for i in range(n):
                            turn(X, i, p, q, cosine, sine)
    for j in range(n):
        square = zero_of(W).real
        for i in range(m):
            square += _square(W[i, j])
        norm = _norm(square, least)
        s[j] = np.nan if going else norm * largest
        if norm != 0:
            for i in range(m):
                W[i, j] = W[i, j] / norm

"""Eigenvalues and eigenvectors of one Hermitian matrix, by Jacobi's rotations.

One team does all of it in one launch, so that nothing is read by the host to see whether it is
done. Of rotations that are at once each changes two rows and two columns; where those of two cross
they are four elements, which one thread computes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..arguments import Space, check_bool, choice, result
from ..batched.elements import zero_of
from ..blas.operands import cells, check_square, real_of
from ..decisions import decided
from ..vendors import chosen_vendor
from .jacobi import MOST_SWEEPS, pair, policy_of, put_in_order, rotation, turn
from .operands import TRIANGLES, matrix, shapes_of

__all__ = ["eigh"]


def eigh(
    A: Any, uplo: str = "L", eigvals_only: bool = False, *, vendor: bool | None = None,
    space: Space = None,
) -> Any:  # fmt: skip
    """Eigenvalues and eigenvectors of a Hermitian matrix: A V = V diag(w).

    Parameters
    ----------
    A : View or array, shape (n, n)
        float32, float64, complex64 or complex128, in any layout and with any strides. Only the
        triangle `uplo` is read, and of its diagonal the real parts.
    uplo : {"L", "U"}
    eigvals_only : bool
        Whether eigenvectors are left out.
    vendor : bool, optional
        True: the routine of a vendor's library, which is taken without being asked for where it
        was measured to be faster. False: never.
    space : str or ExecutionSpace, optional
        Where to run; as for a launch if not given.

    Returns
    -------
    w : View, shape (n,)
        Eigenvalues, real numbers in ascending order.
    V : View, shape (n, n)
        Eigenvectors in its columns, of length 1; only `w` is returned with `eigvals_only`.

    Raises
    ------
    MatrixError
        If `uplo` is not known, `A` is not square, or `vendor` is True and there is no routine for
        it.
    ViewError
        If `A` is no matrix of such numbers.
    SpaceAccessError

    Notes
    -----
    Asynchronous where the space is, except for libraries. NaN or infinities in A make NaN of all
    results. Ours takes one team for the whole matrix: it is meant for up to some 64 rows, and is
    right but slow for others. Its results have the same bits in each run on a space.

    Names are those of `scipy.linalg.eigh`; LAPACK's heevd is what libraries do.
    """
    choice(uplo, "eigh: uplo", TRIANGLES)
    only = check_bool(eigvals_only, "eigh: eigvals_only")
    A = matrix(A, "eigh: A", space)
    check_square(A, "eigh")
    where = es.space_for(A, space=space)
    n = A.shape[0]
    w = es.View(n, real_of(A.dtype), label="w", space=where, initialize=False)
    V = None if only else result(None, "eigh", A.shape, A.dtype, where, A)
    library = chosen_vendor("eigh", vendor, where, lambda: shapes_of(A), A, w, V, uplo)
    if library is not None:
        library.eigh(A, w, V, uplo)
    elif n:
        _rotated(A, w, V, uplo, where)
    return w if only else (w, V)


def _rotated(
    A: es.View, w: es.View, V: es.View | None, uplo: str, space: es.ExecutionSpace
) -> None:  # fmt: skip
    n = A.shape[0]
    H, X = (es.View((n, n), A.dtype, label=label, layout=layout, space=space, initialize=False)
            for label, layout in (("H", "right"), ("X", "left")))  # fmt: skip
    whole = cells(H, space)
    es.parallel_for(whole, _full, A, H, X, uplo, label="eigh full")
    found = es.View(n, w.dtype, label="found", space=space, initialize=False)
    with_vectors = V is not None
    policy = policy_of(space, 1)
    if policy is None:
        decided("eigh", "one by one", f"space '{space.name}' has no teams")
        one = es.RangePolicy(1, space=space)
        es.parallel_for(one, _sweeps_by_one, H, X, found, with_vectors, label="eigh rotations")
    else:
        decided("eigh", "team", "it has no other; a team does all rotations")
        half = (n + 1) // 2
        cosines = es.View(half, w.dtype, label="cosines", space=space, initialize=False)
        sines = es.View(half, A.dtype, label="sines", space=space, initialize=False)
        es.parallel_for(
            policy, _sweeps, H, X, found, cosines, sines, with_vectors, label="eigh rotations"
        )  # fmt: skip
    places = put_in_order(found, w, "ascending", space)
    if V is not None:
        es.parallel_for(whole, _vectors, X, places, V, label="eigh vectors")


# -- kernels --------------------------------------------------------------------------------------


def _full(i: int, j: int, A: Any, H: Any, X: Any, uplo: Any) -> None:
    is_stored = j < i if uplo == "L" else i < j
    if i == j:
        H[i, j] = A[i, j].real
        X[i, j] = 1
    else:
        H[i, j] = A[i, j] if is_stored else np.conj(A[j, i])
        X[i, j] = 0


@es.function
def _is_small(app: Any, aqq: Any, apq: Any) -> Any:
    """Whether it is lost in both elements of the diagonal."""
    size = abs(apq)
    return abs(app) + size == abs(app) and abs(aqq) + size == abs(aqq)


def _sweeps(
    team: Any, H: Any, X: Any, w: Any, cosines: Any, sines: Any, with_vectors: Any
) -> None:  # fmt: skip
    n = H.extent(0)
    half = (n + 1) // 2
    going = n > 1
    sweep = 0
    while going and sweep < MOST_SWEEPS:
        going = False
        sweep += 1
        for round_ in range(n - 1 + n % 2):
            for t in es.TeamThreadRange(team, half):
                p, q = pair(t, round_, n)
                cosines[t] = 1
                sines[t] = 0
                if q < n:
                    apq = zero_of(H) + H[p, q]
                    app = H[p, p].real
                    aqq = H[q, q].real
                    if not _is_small(app, aqq, apq):
                        _, _, cosine, sine = rotation(app, aqq, apq)
                        cosines[t] = cosine
                        sines[t] = sine
            team.barrier()
            turned = es.parallel_reduce(
                es.TeamThreadRange(team, half), lambda t: 1 if sines[t] != 0 else 0
            )
            if turned > 0:
                going = True
                for e in es.TeamThreadRange(team, half * half):
                    if e // half <= e % half:
                        _crossing(H, cosines, sines, e // half, e % half, round_)
                if with_vectors:
                    for e in es.TeamThreadRange(team, half * n):
                        t = e // n
                        p, q = pair(t, round_, n)
                        if q < n and sines[t] != 0:
                            turn(X, e % n, p, q, cosines[t], sines[t])
            team.barrier()
    for i in es.TeamThreadRange(team, n):
        w[i] = np.nan if going else H[i, i].real


@es.function
def _crossing(H: Any, cosines: Any, sines: Any, t: Any, u: Any, round_: Any) -> None:
    """Elements in the rows of pair t and the columns of pair u, from both sides; and those of the
    other triangle, so that both stay alike."""
    n = H.extent(0)
    p, q = pair(t, round_, n)
    r, s = pair(u, round_, n)
    if sines[t] != 0 or sines[u] != 0:
        # What is outside of the matrix is 0, and is not stored.
        pr = zero_of(H) + H[p, r]
        ps = zero_of(H)
        qr = zero_of(H)
        qs = zero_of(H)
        if s < n:
            ps += H[p, s]
        if q < n:
            qr += H[q, r]
        if s < n and q < n:
            qs += H[q, s]
        c, z = cosines[u], sines[u]
        left_p = c * pr - np.conj(z) * ps
        right_p = z * pr + c * ps
        left_q = c * qr - np.conj(z) * qs
        right_q = z * qr + c * qs
        c, z = cosines[t], sines[t]
        pr = c * left_p - z * left_q
        ps = c * right_p - z * right_q
        qr = np.conj(z) * left_p + c * left_q
        qs = np.conj(z) * right_p + c * right_q
        if t == u:
            H[p, r] = pr.real
            if q < n:
                H[q, s] = qs.real
                H[p, s] = pr * 0
                H[q, r] = pr * 0
        else:
            _store(H, p, r, pr)
            if s < n:
                _store(H, p, s, ps)
            if q < n:
                _store(H, q, r, qr)
            if s < n and q < n:
                _store(H, q, s, qs)


@es.function
def _store(H: Any, i: Any, j: Any, value: Any) -> None:
    H[i, j] = value
    H[j, i] = np.conj(value)


def _sweeps_by_one(_: int, H: Any, X: Any, w: Any, with_vectors: Any) -> None:
    n = H.extent(0)
    going = n > 1
    sweep = 0
    while going and sweep < MOST_SWEEPS:
        going = False
        sweep += 1
        for p in range(n):
            for q in range(p + 1, n):
                apq = zero_of(H) + H[p, q]
                app = H[p, p].real
                aqq = H[q, q].real
                if not _is_small(app, aqq, apq):
                    going = True
                    tangent, size, cosine, sine = rotation(app, aqq, apq)
                    for i in range(n):
                        if i != p and i != q:
                            turn(H, i, p, q, cosine, sine)
                            H[p, i] = np.conj(H[i, p])
                            H[q, i] = np.conj(H[i, q])
                        if with_vectors:
                            turn(X, i, p, q, cosine, sine)
                    H[p, p] = app - tangent * size
                    H[q, q] = aqq + tangent * size
                    H[p, q] = apq * 0
                    H[q, p] = apq * 0
    for i in range(n):
        w[i] = np.nan if going else H[i, i].real


def _vectors(i: int, j: int, X: Any, places: Any, V: Any) -> None:
    V[i, places[j]] = X[i, j]

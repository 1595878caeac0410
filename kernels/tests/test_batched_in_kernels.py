"""Functions of small matrices that kernels call: by one thread, by a team, by the lanes of a team.

NumPy and SciPy have the answers. A kernel is compiled once for all sizes; what modes and sides mean
is tried for each size, one after the other.
"""

import itertools

import numpy as np
import pytest
from batched_kernels import LEVELS
from batches import BATCH, close, numbers, op, solvable, solved, triangle, view

import execspace as es

linalg = pytest.importorskip("scipy.linalg")
SIZES = (0, 1, 2, 3, 5, 8)
# Each level with real or complex numbers, one thread with both.
CASES = pytest.mark.parametrize(
    ("run", "dtype"),
    [("serial", np.float64), ("serial", np.complex128), ("team", np.complex128),
     ("teamvector", np.float64)],
    indirect=["run"],
)  # fmt: skip


@pytest.fixture(params=LEVELS)
def run(request, space):
    """Launch the kernel of a function, of a level."""
    kernels = LEVELS[request.param]
    if request.param == "serial":
        policy = es.RangePolicy(BATCH, space=space)
    elif not isinstance(space, es.SupportsTeams):
        pytest.skip("the space has no teams")
    else:
        lanes = 2 if request.param == "teamvector" else 1
        policy = es.TeamPolicy(BATCH, min(3, space.team_limits().team_size_max), lanes, space=space)
    return lambda name, *args: es.parallel_for(policy, getattr(kernels, name), *args)


def info_of(space):
    return es.full(BATCH, 9, np.int32, space=space)


@CASES
def test_products(space, run, dtype):
    for m, k, n in ((1, 1, 1), (2, 3, 4), (5, 4, 3), (0, 2, 2), (2, 0, 3)):
        for modes in ("NN", "TH", "HC"):
            shapes = [s if mode in "NC" else s[::-1]
                      for mode, s in zip(modes, ((m, k), (k, n)), strict=True)]  # fmt: skip
            A, B = (numbers(i, BATCH, *s, dtype=dtype) for i, s in enumerate(shapes))
            C = numbers(3, BATCH, m, n, dtype=dtype)
            out = view(C, space)
            run("gemm", view(A, space), view(B, space), out, 2.0, 3.0, *modes)
            assert close(out.to_numpy(), 2 * op(A, modes[0]) @ op(B, modes[1]) + 3 * C)
    out = es.full((BATCH, 2, 2), np.nan, dtype, space=space)
    A = numbers(1, BATCH, 2, 2, dtype=dtype)
    run("gemm", view(A, space), view(A, space), out, 1.0, 0.0, "N", "N")
    assert close(out.to_numpy(), A @ A), "what is multiplied by 0 is not read"


@CASES
def test_vectors_and_copies(space, run, dtype):
    A, x, y = numbers(1, BATCH, 3, 4, dtype=dtype), *(
        numbers(i, BATCH, n, dtype=dtype) for i, n in enumerate((3, 4))
    )  # fmt: skip
    vx, vy, out = view(x, space), view(y, space), es.zeros((BATCH, 1), dtype, space=space)
    run("vectors", view(A, space), vx, vy, out, "H")
    expected = 2 * np.einsum("bij,bj->bi", op(A, "H"), x) - y
    assert close(vy.to_numpy(), expected) and close(vx.to_numpy(), 4 * x)
    assert close(out.to_numpy()[:, 0], (expected.conj() * expected).sum(axis=1))
    B, C = es.zeros((BATCH, 4, 3), dtype, space=space), es.zeros((BATCH, 4, 2), dtype, space=space)
    run("copies", view(A, space), B, C)
    assert close(B.to_numpy(), 2 * op(A, "H"))
    assert (C.to_numpy() == np.vstack([np.full((1, 2), 7.0), np.eye(3, 2)])).all()


@CASES
def test_triangles(space, run, dtype):
    cases = [("L", "L", "N", "N"), ("R", "U", "H", "N"), ("L", "U", "T", "U"), ("R", "L", "C", "U")]
    for side, uplo, mode, diag in cases:
        for n, k in ((1, 1), (3, 2), (5, 4), (0, 2), (2, 0)):
            A = solvable(n, n, dtype)
            B = numbers(2, BATCH, *((n, k) if side == "L" else (k, n)), dtype=dtype)
            T = op(triangle(A, uplo, diag), mode)
            out = view(B, space)
            run("trmm", view(A, space), out, side, uplo, mode, diag)
            assert close(out.to_numpy(), 1.5 * (T @ B if side == "L" else B @ T))
            out = view(B, space)
            run("trsm", view(A, space), out, side, uplo, mode, diag)
            assert close(out.to_numpy(), 1.5 * solved(T, B, side))
            x = numbers(3, BATCH, n, dtype=dtype)
            out = view(x, space)
            run("trsv", view(A, space), out, uplo, mode, diag)
            assert close(out.to_numpy(), solved(T, x[:, :, None], "L")[:, :, 0])


def test_inverses_of_triangles(space, run):
    for uplo, diag in itertools.product("LU", "NU"):
        for n in SIZES:
            A = solvable(n, n)
            if n > 2 and diag == "N":
                A[2, 1, 1] = 0
            out, info = view(A, space), info_of(space)
            run("trtri", out, info, uplo, diag)
            expected, failed = A.copy(), np.zeros(BATCH, int)
            inside = triangle(np.ones((n, n)), uplo) * (1 - np.eye(n) if diag == "U" else 1)
            for b in range(BATCH):
                if n > 2 and diag == "N" and b == 2:
                    failed[b] = 2
                else:
                    inverted = np.linalg.inv(triangle(A[b], uplo, diag))
                    expected[b] = np.where(inside == 1, inverted, A[b])
            assert close(out.to_numpy(), expected) and (info.to_numpy() == failed).all()


@CASES
def test_factors(space, run, dtype):
    for n in SIZES:
        A, B = numbers(n, BATCH, n, n, dtype=dtype), numbers(2, BATCH, n, 2, dtype=dtype)
        if n > 1:
            A[1, :, 1] = 0
        out, info = view(A, space), info_of(space)
        pivots = es.zeros((BATCH, n), np.int32, space=space)
        run("getrf", out, pivots, info)
        lapack = linalg.lapack.zgetrf if out.dtype.kind == "c" else linalg.lapack.dgetrf
        for b in range(BATCH if n else 0):
            factors, exchanges, failed = lapack(A[b])
            assert close(out.to_numpy()[b], factors) and info.to_numpy()[b] == failed
            assert (pivots.to_numpy()[b] == exchanges).all()
        regular = [b for b in range(BATCH) if b != 1 or n < 2]
        for mode in "NTH":
            X = view(B, space)
            run("getrs", out, pivots, X, mode)
            assert close(op(A[regular], mode) @ X.to_numpy()[regular], B[regular])
        inverses = es.zeros((BATCH, n, n), dtype, space=space)
        run("inverse", view(A, space), pivots, inverses, info)
        identity = np.broadcast_to(np.eye(n), A.shape)
        assert close(A[regular] @ inverses.to_numpy()[regular], identity[regular])
        dominant = solvable(n, n, dtype)
        out = view(dominant, space)
        run("lu", out, info)
        L, U = triangle(out.to_numpy(), "L", "U"), triangle(out.to_numpy(), "U")
        assert close(L @ U, dominant) and not info.to_numpy().any()


@CASES
def test_cholesky(space, run, dtype):
    for uplo, n in itertools.product("LU", SIZES):
        A = numbers(n, BATCH, n, n, dtype=dtype)
        A = A @ op(A, "H") + (n + 1) * np.eye(n)
        B, info = numbers(1, BATCH, n, 2, dtype=dtype), info_of(space)
        if n > 2:
            A[3, 2, 2] = -1
        out, X = view(A, space), view(B, space)
        run("cholesky", out, X, info, uplo)
        regular = [b for b in range(BATCH) if b != 3 or n < 3]
        F = triangle(out.to_numpy(), uplo)
        product = F @ op(F, "H") if uplo == "L" else op(F, "H") @ F
        assert close(product[regular], A[regular])
        assert close(A[regular] @ X.to_numpy()[regular], B[regular])
        assert info.to_numpy().tolist() == [3 if n > 2 and b == 3 else 0 for b in range(BATCH)]


@CASES
def test_orthogonal_factors(space, run, dtype):
    for m, n in ((1, 1), (3, 3), (5, 2), (2, 4), (8, 8), (0, 0)):
        A, B = numbers(m, BATCH, m, n, dtype=dtype), numbers(1, BATCH, m, 3, dtype=dtype)
        if n > 1:
            A[2] = 0
        out, tau = view(A, space), es.zeros((BATCH, min(m, n)), dtype, space=space)
        Q, QB = es.zeros((BATCH, m, m), dtype, space=space), view(B, space)
        run("qr", out, tau, Q, QB)
        found, q = out.to_numpy(), Q.to_numpy()
        assert close(q @ np.triu(found), A) and close(
            op(q, "H") @ q, np.broadcast_to(np.eye(m), q.shape)
        )
        assert close(QB.to_numpy(), op(q, "H") @ B)
        for b in range(BATCH if m else 0):
            (factors, scales), _ = linalg.qr(A[b], mode="raw")
            assert close(found[b], factors) and close(tau.to_numpy()[b], scales)


@pytest.mark.parametrize(
    ("run", "dtype"),
    [("serial", np.float64), ("serial", np.float32), ("team", np.float64)],
    indirect=["run"],
)
def test_spectra(space, run, dtype):
    for n in (1, 2, 3, 5):
        A = numbers(n, BATCH, n, n, dtype=dtype)
        S = A + op(A, "T")
        S[0] = np.diag(np.arange(n, 0, -1))
        w, V = es.zeros((BATCH, n), dtype, space=space), es.zeros((BATCH, n, n), dtype, space=space)
        run("eigh", view(S, space), w, V)
        values, vectors = w.to_numpy(), V.to_numpy()
        assert close(values, np.linalg.eigvalsh(S))
        assert close(vectors * values[:, None, :] @ op(vectors, "T"), S)
        A = numbers(n, BATCH, n + 1, n, dtype=dtype)
        A[1], A[2, :, -1], A[3] = 0, A[2, :, 0], 1e-30 * A[3]
        out = view(A, space)
        run("svd", out, w, V)
        U, s, V_ = out.to_numpy(), w.to_numpy(), V.to_numpy()
        assert close(s, np.linalg.svd(A)[1]) and close(U * s[:, None, :] @ op(V_, "T"), A)
        for found in (U, V_):
            assert close(op(found, "T") @ found, np.broadcast_to(np.eye(n), (BATCH, n, n)))

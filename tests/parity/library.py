"""Kokkos Kernels: dense, batched and sparse linear algebra of execspace_kernels."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import numpy as np
import scipy.linalg
import scipy.sparse

import execspace as es
import execspace_kernels
from execspace_kernels import MatrixError, batched, blas, lapack, solvers, sparse
from parity.table import absent, row

KERNELS = "6 Kokkos Kernels"
REST = "The rest of Kokkos Kernels"


def laplacian(n: int) -> scipy.sparse.csr_array:
    """Of five points, on a grid of n x n."""
    line = scipy.sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    eye = scipy.sparse.eye_array(n)
    return scipy.sparse.csr_array(scipy.sparse.kron(line, eye) + scipy.sparse.kron(eye, line))


def matrix(of: scipy.sparse.csr_array) -> sparse.CrsMatrix:
    """The same in memory of the default space."""
    parts = [es.array(part) for part in (of.indptr, of.indices, of.data)]
    return sparse.CrsMatrix(*parts, shape=of.shape)


def some(*shape: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).random(shape)


@row(KERNELS, "BLAS-like functions", "blas.gemv(A, x, out=y, alpha=2.0, beta=-1.0)")
def blas_like(space: es.ExecutionSpace) -> None:
    """Views in, Views out, and no state."""
    a, b = some(7, 5), some(5)
    A, x, y = es.array(a), es.array(b), es.ones(7)
    blas.gemv(A, x, out=y, alpha=2.0, beta=-1.0)
    np.testing.assert_allclose(y.to_numpy(), 2 * a @ b - 1, rtol=1e-14)
    X, sums = es.array(a), es.zeros(5)  # columns of a multi-vector
    blas.sum(X, out=sums)
    np.testing.assert_allclose(sums.to_numpy(), a.sum(axis=0), rtol=1e-14)


@row(KERNELS, "handles", "handle = sparse.sptrsv_symbolic(L)")
def handles(space: es.ExecutionSpace) -> None:
    lower = scipy.sparse.csr_array(scipy.sparse.tril(laplacian(5)))
    L, b = matrix(lower), es.ones(25)
    handle = sparse.sptrsv_symbolic(L)
    assert handle.algorithm and handle.why
    for _ in range(2):
        x = sparse.sptrsv_solve(handle, L, b)
        np.testing.assert_allclose(lower @ x.to_numpy(), 1.0, rtol=1e-13)


@row(KERNELS, "symbolic/numeric", "sparse.spgemm_numeric(handle, A, A, C)")
def symbolic_numeric(space: es.ExecutionSpace) -> None:
    """What was found of the graphs is used again when values have changed."""
    a = laplacian(6)
    A = matrix(a)
    handle = sparse.spgemm_symbolic(A, A)
    C = sparse.spgemm_numeric(handle, A, A)
    np.testing.assert_allclose(C.to_numpy(), (a @ a).toarray())
    es.deep_copy(A.values, 3.0 * a.data)
    sparse.spgemm_numeric(handle, A, A, C)
    np.testing.assert_allclose(C.to_numpy(), 9 * (a @ a).toarray())


@row(KERNELS, "TPL dispatch", "execspace_kernels.explain(blas.gemm, A, B, vendor=False)")
def tpl_dispatch(space: es.ExecutionSpace) -> None:
    A, B = es.array(some(9, 4)), es.array(some(4, 6, seed=2))
    told = execspace_kernels.explain(blas.gemm, A, B, vendor=False)
    assert str(told).startswith("gemm: ") and "vendor" not in str(told).split(",")[0]
    ours = blas.gemm(A, B, vendor=False)
    try:
        theirs = blas.gemm(A, B, vendor=True)
    except MatrixError as error:
        reason = str(error)
    else:
        np.testing.assert_allclose(ours.to_numpy(), theirs.to_numpy(), rtol=1e-13)
        return
    assert "vendor" in reason or "library" in reason


@row(KERNELS, "TPLs", "blas.gemm(a, b, vendor=True)")
def tpls(space: es.ExecutionSpace) -> None:
    """SciPy's BLAS and LAPACK on hosts, cuBLAS, cuSPARSE and cuSOLVER on `cuda`."""
    a, b = some(40, 30), some(30, 50, seed=2)
    with es.use_space("serial"):
        np.testing.assert_allclose(np.asarray(blas.gemm(a, b, vendor=True)), a @ b, rtol=1e-12)
        square, right = some(30, 30) + 30 * np.eye(30), some(30)
        lapack.gesv(square.copy(), right, vendor=True)
    lu = scipy.sparse.linalg.splu(scipy.sparse.csc_array(laplacian(6)))
    x = sparse.superlu(lu).solve(es.ones(36))  # SuperLU's factors, on any space
    np.testing.assert_allclose(laplacian(6) @ x.to_numpy(), 1.0, rtol=1e-12)


@row(KERNELS, "BLAS1", "blas.axpby(2.0, x, 0.5, y)")
def blas_1(space: es.ExecutionSpace) -> None:
    a, b = some(100) - 0.5, some(100, seed=2)
    x, y = es.array(a), es.array(b)
    assert math.isclose(blas.dot(x, y), a @ b, rel_tol=1e-12)
    assert math.isclose(blas.nrm1(x), abs(a).sum()) and blas.nrminf(x) == abs(a).max()
    assert math.isclose(blas.nrm2(x), np.linalg.norm(a))
    assert math.isclose(blas.nrm2_squared(x), a @ a)
    assert blas.iamax(x) == abs(a).argmax()
    weighted = blas.nrm2(blas.mult(0.0, es.zeros(100), 1.0, blas.reciprocal(y), x))  # nrm2w
    assert math.isclose(weighted, np.linalg.norm(a / b), rel_tol=1e-12)
    blas.axpby(2.0, x, 0.5, y)
    blas.scal(3.0, x, out=x)
    blas.swap(x, y)
    np.testing.assert_allclose(x.to_numpy(), 2 * a + 0.5 * b, rtol=1e-14)
    np.testing.assert_allclose(y.to_numpy(), 3 * a, rtol=1e-14)
    np.testing.assert_allclose(blas.abs(y).to_numpy(), abs(3 * a))
    turn = blas.rotg(3.0, 4.0)
    blas.rot(x, y, turn.c, turn.s)
    expected = 0.6 * (2 * a + 0.5 * b) + 0.8 * 3 * a
    np.testing.assert_allclose(x.to_numpy(), expected, rtol=1e-12, atol=1e-15)
    blas.fill(x, 2.0)
    assert blas.sum(x) == 200.0


@row(KERNELS, "BLAS2", 'blas.trsv(A, b, uplo="U")')
def blas_2(space: es.ExecutionSpace) -> None:
    a, v, w = some(8, 8) + 8 * np.eye(8), some(8, seed=2), some(8, seed=3)
    A, x, y = es.array(a), es.array(v), es.array(w)
    blas.ger(2.0, x, y, A)
    a += 2 * np.outer(v, w)
    np.testing.assert_allclose(A.to_numpy(), a, rtol=1e-13)
    for mode, op in (("N", a), ("T", a.T)):
        np.testing.assert_allclose(blas.gemv(A, x, mode=mode).to_numpy(), op @ v, rtol=1e-13)
    b = es.array(w)
    solved = blas.trsv(A, b, uplo="U")
    np.testing.assert_allclose(np.triu(a) @ solved.to_numpy(), w, rtol=1e-12)
    blas.syr2(1.5, x, y, A, uplo="U")
    a += np.triu(1.5 * (np.outer(v, w) + np.outer(w, v)))
    np.testing.assert_allclose(A.to_numpy(), a, rtol=1e-13)


@row(KERNELS, "BLAS3", 'blas.trsm(A, B, out=B, side="R", uplo="U")')
def blas_3(space: es.ExecutionSpace) -> None:
    a, b = some(6, 6) + 6 * np.eye(6), some(6, 6, seed=2)
    A, B = es.array(a), es.array(b)
    C = blas.gemm(A, B, alpha=2.0, mode_b="T")
    np.testing.assert_allclose(C.to_numpy(), 2 * a @ b.T, rtol=1e-13)
    np.testing.assert_allclose(blas.trmm(A, B).to_numpy(), np.tril(a) @ b, rtol=1e-13)
    blas.trsm(A, B, out=B, side="R", uplo="U")
    np.testing.assert_allclose(B.to_numpy() @ np.triu(a), b, rtol=1e-12)


@row(KERNELS, "LAPACK", "pivots, info = lapack.gesv(A, x)")
def lapack_(space: es.ExecutionSpace) -> None:
    a, b = some(20, 20), some(20, seed=2)
    A, x = es.array(a), es.array(b)
    pivots, info = lapack.gesv(A, x)
    assert info.item() == 0 and pivots.shape == (20,)
    np.testing.assert_allclose(a @ x.to_numpy(), b, rtol=1e-10)
    s = lapack.svd(es.array(a[:, :5]), compute_uv=False)
    np.testing.assert_allclose(s.to_numpy(), np.linalg.svd(a[:, :5], compute_uv=False))
    triangle = es.array(a + 5 * np.eye(20))
    assert lapack.trtri(triangle).item() == 0
    expected = np.linalg.inv(np.tril(a + 5 * np.eye(20)))
    np.testing.assert_allclose(np.tril(triangle.to_numpy()), expected, rtol=1e-10, atol=1e-14)


@row(
    KERNELS,
    "batched Serial/Team/TeamVector",
    "batched.team.gemm(team, A[b, :, :], B[b, :, :], C[b, :, :])",
    there="part",
    reason=REST,
)
def batched_levels(space: es.ExecutionSpace) -> None:
    """Band and tridiagonal matrices, UTV, and iterative solvers of batches are not there."""

    def by_threads(b, A, B, C):
        batched.serial.gemm(A[b, :, :], B[b, :, :], C[b, :, :])

    def by_teams(team, A, B, C):
        b = team.league_rank
        batched.team.gemm(team, A[b, :, :], B[b, :, :], C[b, :, :])

    def by_lanes(team, A, B, C):
        b = team.league_rank
        batched.teamvector.gemm(team, A[b, :, :], B[b, :, :], C[b, :, :])

    a, b = some(10, 4, 4) + 4 * np.eye(4), some(10, 4, 4, seed=2)
    A, B = es.array(a), es.array(b)
    for policy, kernel in (
        (10, by_threads),
        (es.TeamPolicy(10, 4), by_teams),
        (es.TeamPolicy(10, 4, 2), by_lanes),
    ):
        C = es.zeros((10, 4, 4))
        es.parallel_for(policy, kernel, A, B, C)
        np.testing.assert_allclose(C.to_numpy(), a @ b, rtol=1e-13)
    pivots, info = batched.gesv(A, B)
    assert not info.to_numpy().any() and pivots.shape == (10, 4)
    np.testing.assert_allclose(a @ B.to_numpy(), b, rtol=1e-11)


@row(KERNELS, "sparse formats, MM IO", "sparse.write_matrix_market(path, A)")
def formats(space: es.ExecutionSpace) -> None:
    a = laplacian(4)
    A = matrix(a)
    rows, columns = np.nonzero(a.toarray())
    coo = sparse.CooMatrix(
        es.array(rows), es.array(columns), es.array(a.toarray()[rows, columns]), (16, 16)
    )
    for other in (coo.to_crs(), sparse.to_bsr(A, 2), sparse.to_bsr(A, 2).to_crs()):
        np.testing.assert_array_equal(other.to_numpy(), a.toarray())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "laplacian.mtx")
        sparse.write_matrix_market(path, A)
        again = sparse.read_matrix_market(path)
    np.testing.assert_array_equal(again.to_numpy(), a.toarray())
    np.testing.assert_array_equal(sparse.transpose(A).to_numpy(), a.toarray().T)


@row(KERNELS, "spmv", "sparse.spmv(A, x, out=y, alpha=2.0, beta=-1.0, mode=mode)")
def spmv(space: es.ExecutionSpace) -> None:
    a = scipy.sparse.csr_array(scipy.sparse.random_array((40, 30), density=0.1, rng=3))
    A = matrix(a)
    for mode, op in (("N", a), ("T", a.T), ("C", a), ("H", a.T)):
        v, w = some(op.shape[1], 3), some(op.shape[0], 3, seed=2)
        x, y = es.array(v), es.array(w)
        sparse.spmv(A, x, out=y, alpha=2.0, beta=-1.0, mode=mode)
        np.testing.assert_allclose(y.to_numpy(), 2 * op @ v - w, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(
            sparse.spmv(A, es.array(v[:, 0]), mode=mode).to_numpy(), op @ v[:, 0], atol=1e-14
        )


@row(
    KERNELS,
    "spmv_struct",
    "grid = sparse.StencilMatrix([-1.0, -1.0, 4.0, -1.0, -1.0], extents=(6, 6))",
)
def spmv_struct(space: es.ExecutionSpace) -> None:
    grid = sparse.StencilMatrix([-1.0, -1.0, 4.0, -1.0, -1.0], extents=(6, 6))
    v = some(36)
    np.testing.assert_allclose((grid @ es.array(v)).to_numpy(), laplacian(6) @ v, atol=1e-14)


@row(KERNELS, "spgemm", "C = sparse.spgemm(A, B)")
def spgemm(space: es.ExecutionSpace) -> None:
    a = scipy.sparse.csr_array(scipy.sparse.random_array((50, 40), density=0.1, rng=3))
    b = scipy.sparse.csr_array(scipy.sparse.random_array((40, 60), density=0.1, rng=4))
    A, B = matrix(a), matrix(b)
    C = sparse.spgemm(A, B)
    np.testing.assert_allclose(C.to_numpy(), (a @ b).toarray(), atol=1e-14)


@row(KERNELS, "spgemm_jacobi", "C = sparse.spgemm_jacobi(A, B, 2 / 3)")
def spgemm_jacobi(space: es.ExecutionSpace) -> None:
    a = laplacian(5)
    b = scipy.sparse.csr_array(scipy.sparse.random_array((25, 8), density=0.2, rng=4))
    A, B = matrix(a), matrix(b)
    C = sparse.spgemm_jacobi(A, B, 2 / 3)
    expected = b.toarray() - 2 / 3 * (a @ b).toarray() / 4.0
    np.testing.assert_allclose(C.to_numpy(), expected, atol=1e-14)


@row(KERNELS, "spadd", "C = sparse.spadd(A, B, alpha=2.0, beta=3.0)")
def spadd(space: es.ExecutionSpace) -> None:
    a = scipy.sparse.csr_array(scipy.sparse.random_array((50, 40), density=0.1, rng=3))
    b = scipy.sparse.csr_array(scipy.sparse.random_array((50, 40), density=0.1, rng=4))
    A, B = matrix(a), matrix(b)
    C = sparse.spadd(A, B, alpha=2.0, beta=3.0)
    np.testing.assert_allclose(C.to_numpy(), (2 * a + 3 * b).toarray())


@row(KERNELS, "sptrsv", "sparse.sptrsv(U, b, lower=False)")
def sptrsv(space: es.ExecutionSpace) -> None:
    u = scipy.sparse.csr_array(scipy.sparse.triu(laplacian(8)))
    U, b = matrix(u), es.array(some(64, 2))
    x = sparse.sptrsv(U, b, lower=False)
    np.testing.assert_allclose(u @ x.to_numpy(), b.to_numpy(), rtol=1e-12)
    for algorithm in ("sequential", "levels", "chained"):
        handle = sparse.sptrsv_symbolic(U, lower=False, algorithm=algorithm)
        again = sparse.sptrsv_solve(handle, U, b)
        np.testing.assert_allclose(again.to_numpy(), x.to_numpy(), rtol=1e-12)


@row(KERNELS, "trsv/diag helpers", "blocks = sparse.block_diagonal(A, 3)")
def diagonals(space: es.ExecutionSpace) -> None:
    a = laplacian(3)
    A = matrix(a)
    np.testing.assert_array_equal(sparse.diagonal(A).to_numpy(), a.diagonal())
    blocks = sparse.block_diagonal(A, 3)
    assert blocks.shape == (3, 3, 3)
    for k, block in enumerate(blocks.to_numpy()):
        np.testing.assert_array_equal(block, a.toarray()[3 * k : 3 * k + 3, 3 * k : 3 * k + 3])
    x = sparse.sptrsv(sparse.tril(A), es.ones(9))
    np.testing.assert_allclose(np.tril(a.toarray()) @ x.to_numpy(), 1.0, rtol=1e-13)


@row(KERNELS, "gauss_seidel", 'M = sparse.GaussSeidel(A, sweeps=200, algorithm="coloured")')
def gauss_seidel(space: es.ExecutionSpace) -> None:
    a = laplacian(6)
    A, b = matrix(a), es.ones(36)
    M = sparse.GaussSeidel(A, sweeps=200, algorithm="coloured")
    np.testing.assert_allclose(a @ M.apply(b).to_numpy(), 1.0, rtol=1e-9)
    two_stage = sparse.GaussSeidel(A, sweeps=300, algorithm="two-stage", inner_sweeps=3)
    np.testing.assert_allclose(a @ two_stage.apply(b).to_numpy(), 1.0, rtol=1e-6)


@row(
    KERNELS,
    "spiluk, par_ilut, mdf, gmres",
    "solution = solvers.gmres(A, b, M=sparse.Ilu(A, level=1))",
    there="part",
    reason=REST,
)
def iluk_and_gmres(space: es.ExecutionSpace) -> None:
    a = laplacian(8) + scipy.sparse.csr_array(0.3 * scipy.sparse.eye_array(64, k=1))
    A, b = matrix(scipy.sparse.csr_array(a)), es.ones(64)
    solution = solvers.gmres(A, b, M=sparse.Ilu(A, level=1))
    assert solution.converged
    assert np.linalg.norm(a @ solution.x.to_numpy() - 1) < 1e-6
    assert solution.iterations < solvers.gmres(A, b).iterations


@row(KERNELS, "D1 colouring", "found = sparse.colour(A.graph)")
def colouring(space: es.ExecutionSpace) -> None:
    """Of the 15 x 25 grid of nine points of Kokkos Kernels' example."""
    near = scipy.sparse.diags_array([1.0] * 3, offsets=[-1, 0, 1], shape=(15, 15))
    far = scipy.sparse.diags_array([1.0] * 3, offsets=[-1, 0, 1], shape=(25, 25))
    a = scipy.sparse.csr_array(scipy.sparse.kron(near, far))
    A = matrix(a)
    found = sparse.colour(A.graph)
    colours = found.colours.to_numpy()
    rows, columns = a.nonzero()
    apart = rows != columns
    assert (colours[rows[apart]] != colours[columns[apart]]).all()
    assert 4 <= len(np.unique(colours)) <= 9


absent(KERNELS, "D2/bipartite colouring", REST)
absent(KERNELS, "MIS-2, coarsening", REST)
absent(KERNELS, "RCM, RCB, triangles", REST)
absent(KERNELS, "ODE", REST)


@row(
    KERNELS,
    "Hashmap, bitonic, radix, bounds",
    "es.algorithms.team.sort(team, own)",
    there="part",
    reason=REST,
)
def common(space: es.ExecutionSpace) -> None:
    """No radix sort of one's own; `es.sort` is the space's."""

    def kernel(team, x, places):
        own = team.scratch(x.extent(1), x.dtype)
        es.local_deep_copy(team, own, x[team.league_rank, :])
        es.algorithms.team.sort(team, own)
        es.local_deep_copy(team, x[team.league_rank, :], own)
        if es.single(es.PerTeam(team)):
            places[team.league_rank] = es.lower_bound(own, 50)

    a = np.random.default_rng(1).integers(0, 100, (5, 37))
    x, places = es.array(a), es.zeros(5, es.int64)
    es.parallel_for(es.TeamPolicy(5, 4), kernel, x, places)
    expected = np.sort(a, axis=1)
    assert (x.to_numpy() == expected).all()
    assert places.to_numpy().tolist() == [int((r < 50).sum()) for r in a]
    seen = es.UnorderedMap(100, es.int64)
    seen.insert_many(es.array(a.reshape(-1)))
    assert seen.size() == len(np.unique(a))

"""Iterative solvers, beside dense solutions and those of SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from linear_systems import METHODS, hermitian, skewed, solved
from sparse_numbers import DTYPES, numbers

import execspace as es
import execspace_kernels
from execspace_kernels import MatrixError, solvers, sparse

scipy_sparse = pytest.importorskip("scipy.sparse")
linalg = pytest.importorskip("scipy.sparse.linalg")

GENERAL = ("bicgstab", "gmres")


def is_single(dtype):
    return np.dtype(dtype) in (np.float32, np.complex64)


class Jacobi:
    """z = r / diagonal."""

    def __init__(self, S, space):
        self.weights = es.array(1 / S.diagonal(), space=space)
        self.calls = 0

    def apply(self, r, *, out):
        self.calls += 1
        if r.rank == 1:
            es.parallel_for(r.shape[0], divide, self.weights, r, out)
        else:
            es.parallel_for(es.MDRangePolicy(r.shape), divide_all, self.weights, r, out)
        return out


@es.kernel
def divide(i, w, r, z):
    z[i] = w[i] * r[i]


@es.kernel
def divide_all(i, j, w, r, z):
    z[i, j] = w[i] * r[i, j]


@es.kernel
def laplacian(i, x, y):
    n = x.extent(0)
    total = 2.5 * x[i]
    if i > 0:
        total -= x[i - 1]
    if i < n - 1:
        total -= x[i + 1]
    y[i] = total


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", METHODS)
def test_answers(space, name, dtype):
    if np.dtype(dtype).kind == "c" and not space.capabilities.complex:
        pytest.skip("no complex numbers here")
    n = 40
    S = skewed(n, dtype) if name in GENERAL else hermitian(n, dtype)
    rtol = 1e-5 if is_single(dtype) else 1e-10
    A = sparse.as_crs(S, space=space)
    for columns in ((), (1,), (5,)):
        b = numbers((n, *columns), dtype, 1)
        solution = getattr(solvers, name)(A, es.array(b, space=space), rtol=rtol)
        x = solution.x.to_numpy()
        assert solution.converged and solution.reason == "converged", solution.report()
        assert x.dtype == dtype and x.shape == b.shape
        assert np.abs(x - solved(S, b)).max() < 100 * rtol
        sizes = np.linalg.norm(b, axis=0)
        history = solution.history.reshape(-1, *columns)
        assert np.allclose(history[0], sizes, rtol=1e-5)
        counts = np.atleast_1d(solution.iterations)
        assert history.shape[0] == counts.max() + 1
        for j, count in enumerate(counts):
            norms = solution.history.reshape(history.shape[0], -1)[:, j]
            wanted = rtol * np.atleast_1d(sizes)[j]
            assert norms[count] <= wanted * 1.001 < norms[count - 1]
            assert np.isnan(norms[count + 1 :]).all()


@pytest.mark.parametrize("algorithm", ["fused", "apply"])
@pytest.mark.parametrize("name", ["cg", "bicgstab", "chebyshev"])
def test_both_ways_of_products(space, name, algorithm):
    S = hermitian(50)
    for columns in ((), (2,)):
        b = numbers((50, *columns))
        A = sparse.as_crs(S, space=space)
        told = execspace_kernels.explain(
            getattr(solvers, name), A, es.array(b, space=space), algorithm=algorithm
        )
        assert f"{name}: {algorithm}, for it was asked for" in str(told)
        assert np.abs(told.result.x.to_numpy() - solved(S, b)).max() < 1e-7


@pytest.mark.parametrize("restart", [3, 10])
@pytest.mark.parametrize("algorithm", ["pieces", "teams", "rows"])
def test_restarts_of_gmres(space, restart, algorithm):
    if algorithm != "rows" and not isinstance(space, es.SupportsTeams):
        pytest.skip("no teams here")
    n = 5000 if space.name != "oracle" else 60
    S = skewed(n)
    b = numbers(n)
    for M in (None, Jacobi(S, space)):
        solution = solvers.gmres(
            sparse.as_crs(S, space=space), es.array(b, space=space), restart=restart, M=M,
            algorithm=algorithm,
        )  # fmt: skip
        assert solution.converged and solution.iterations > restart
        assert np.linalg.norm(b - S @ solution.x.to_numpy()) <= 1.1e-8 * np.linalg.norm(b)


def test_iterations_are_those_of_scipy(space):
    S, b = hermitian(60), numbers(60)
    A, right = sparse.as_crs(S, space=space), es.array(b, space=space)
    for name in ("cg", "bicgstab"):
        counts = []
        theirs, failed = getattr(linalg, name)(S, b, rtol=1e-8, callback=counts.append)
        solution = getattr(solvers, name)(A, right)
        assert not failed and np.allclose(solution.x.to_numpy(), theirs, atol=1e-6)
        assert abs(solution.iterations - len(counts)) <= 1


@pytest.mark.parametrize("name", METHODS)
def test_preconditioners(space, name):
    n = 50 if space.name != "oracle" else 36
    D = scipy_sparse.diags_array(np.geomspace(1, 30, n))
    S = (D @ hermitian(n) @ D).tocsr()
    A = sparse.as_crs(S, space=space)
    for columns in ((), (3,)):
        b = numbers((n, *columns), seed=2)
        right = es.array(b, space=space)
        M = Jacobi(S, space)
        with_it = getattr(solvers, name)(A, right, M=M, rtol=1e-10)
        without = getattr(solvers, name)(A, right, rtol=1e-10, max_iterations=150)
        assert with_it.converged
        assert np.abs(with_it.x.to_numpy() - solved(S, b)).max() < 1e-5
        assert np.max(with_it.iterations) < np.max(without.iterations)
        again = getattr(solvers, name)(A, right, M=M, rtol=1e-10)
        assert np.array_equal(with_it.x.to_numpy(), again.x.to_numpy())


@pytest.mark.parametrize("name", METHODS)
def test_without_a_matrix(space, name):
    n = 50
    S, b = hermitian(n), numbers(n)

    def apply(x, y):
        es.parallel_for(x.shape[0], laplacian, x, y)

    class Operator:
        shape, dtype = (n, n), np.dtype(np.float64)

        def __init__(self):
            self.calls = 0

        def apply(self, x, *, out):
            self.calls += 1
            apply(x, out)

    operator = Operator()
    for A in (apply, operator):
        solution = getattr(solvers, name)(A, es.array(b, space=space), space=space)
        assert solution.converged
        assert np.abs(solution.x.to_numpy() - solved(S, b)).max() < 1e-6
    if name == "cg":
        assert operator.calls == 2  # it was recorded; and looked at in the end


def test_an_operator_that_cannot_be_recorded():
    S, b = hermitian(20), numbers(20)
    calls = []

    def apply(x, y):
        calls.append(1)
        np.asarray(y)[:] = S @ np.asarray(x)

    told = execspace_kernels.explain(solvers.cg, apply, b, space="serial")
    assert "cg step: launches, for an operator cannot be recorded" in str(told)
    solution = told.result
    assert solution.converged and len(calls) >= solution.iterations
    assert np.abs(solution.x.to_numpy() - solved(S, b)).max() < 1e-6


def test_matrices_and_arrays_of_scipy():
    S, b, x = hermitian(20), numbers(20), np.zeros(20)
    for matrix in (S, S.tocoo()):
        solution = solvers.cg(matrix, b, out=x, space="serial")
        assert solution.converged and np.abs(x - solved(S, b)).max() < 1e-6
    assert solvers.cg(S, [1] * 20, space="serial").x.dtype == np.float64


@pytest.mark.parametrize("name", METHODS)
def test_where_it_begins(space, name):
    S, b = hermitian(30), numbers(30)
    A, right = sparse.as_crs(S, space=space), es.array(b, space=space)
    exact = es.array(solved(S, b).real, space=space)
    solution = getattr(solvers, name)(A, right, x0=exact)
    assert solution.converged and solution.iterations == 0 and solution.history.shape == (1,)
    near = es.array(exact.to_numpy() + 1e-3, space=space)
    kept = near.to_numpy().copy()
    found = getattr(solvers, name)(A, right, x0=near)
    assert np.array_equal(near.to_numpy(), kept) and found.converged
    there = getattr(solvers, name)(A, right, x0=near, out=near)
    assert there.x is near and np.array_equal(near.to_numpy(), found.x.to_numpy())
    assert np.array_equal(right.to_numpy(), b)


@pytest.mark.parametrize("name", METHODS)
def test_zero(space, name):
    A = sparse.as_crs(hermitian(10), space=space)
    for x0 in (None, es.ones(10, space=space)):
        solution = getattr(solvers, name)(A, es.zeros(10, space=space), x0=x0)
        assert solution.converged and solution.iterations == 0
        assert not solution.x.to_numpy().any()
    both = np.stack([np.zeros(10), numbers(10)], axis=1)
    solution = getattr(solvers, name)(
        A, es.array(both, space=space), x0=es.ones((10, 2), space=space)
    )
    assert solution.converged and solution.iterations[0] == 0 < solution.iterations[1]
    assert np.abs(solution.x.to_numpy() - solved(hermitian(10), both)).max() < 1e-6


@pytest.mark.parametrize("name", METHODS)
def test_small_systems(space, name):
    solve = getattr(solvers, name)
    nothing = sparse.CrsMatrix([0], [], np.zeros(0), (0, 0), space=space)
    for shape in ((0,), (0, 2)):
        solution = solve(nothing, es.View(shape, space=space))
        assert solution.converged and solution.x.shape == shape
    one = sparse.CrsMatrix([0, 1], [0], [4.0], (1, 1), space=space)
    solution = solve(one, es.full(1, 2.0, space=space))
    assert solution.converged and np.allclose(solution.x.to_numpy(), [0.5])
    solution = solve(one, es.View((1, 0), space=space))
    assert solution.converged and solution.x.shape == (1, 0) and solution.report()


@pytest.mark.parametrize("name", METHODS)
def test_how_often_it_looks_changes_nothing(space, name):
    S, b = hermitian(40), numbers((40, 2))
    b[:, 1] = S @ np.eye(40)[3]  # done sooner or later than the other one
    A, right = sparse.as_crs(S, space=space), es.array(b, space=space)
    every = [getattr(solvers, name)(A, right, check_every=k, max_iterations=80)
             for k in (1, 7, 1000)]  # fmt: skip
    for other in every[1:]:
        assert np.array_equal(every[0].x.to_numpy(), other.x.to_numpy())
        assert np.array_equal(every[0].history, other.history, equal_nan=True)
        assert np.array_equal(every[0].iterations, other.iterations)


def test_callbacks(space):
    A = sparse.as_crs(hermitian(40), space=space)
    b = es.array(numbers(40), space=space)
    seen = []
    solution = solvers.cg(A, b, callback=lambda i, norm: seen.append((i, norm)), check_every=5)
    assert [i for i, _ in seen[:2]] == [5, 10] and seen[-1][0] == solution.iterations
    assert np.allclose([norm for _, norm in seen], solution.history[[i for i, _ in seen]])
    seen.clear()
    both = es.array(numbers((40, 2)), space=space)
    solvers.cg(A, both, callback=lambda i, norms: seen.append(norms.shape), max_iterations=3)
    assert set(seen) == {(2,)}


def test_bounds(space):
    S = hermitian(60)
    A, b = sparse.as_crs(S, space=space), es.array(numbers(60), space=space)
    handle = solvers.prepare("chebyshev", A, b)
    eigenvalues = np.linalg.eigvalsh(S.toarray())
    assert eigenvalues[-1] <= handle.bounds[1] <= 1.2 * eigenvalues[-1]
    assert 0.5 * eigenvalues[0] <= handle.bounds[0] <= 1.2 * eigenvalues[0]
    given = solvers.chebyshev(A, b, bounds=(eigenvalues[0], eigenvalues[-1]))
    assert given.converged and np.abs(given.x.to_numpy() - solved(S, b.to_numpy())).max() < 1e-6
    low = solvers.chebyshev(A, b, bounds=(0.1, 0.2))
    assert not low.converged and "NaN" in low.reason


def test_bounds_are_renewed(space):
    S = hermitian(20)
    A, b = sparse.as_crs(S.copy(), space=space), es.array(numbers(20), space=space)
    handle, given = (solvers.prepare("chebyshev", A, b, **o) for o in ({}, {"bounds": (0.4, 5.0)}))
    smoother = solvers.Chebyshev(A)
    handle.solve(b)
    smoother.apply(b)
    old, high = handle.bounds, smoother.bounds[1]
    es.deep_copy(A.values, 4 * S.data)
    assert not handle.solve(b).converged and handle.bounds == old
    for one in (handle, given, smoother):
        one.update()
    assert np.allclose(handle.bounds, np.multiply(4, old)) and given.bounds == (0.4, 5.0)
    assert np.abs(handle.solve(b).x.to_numpy() - solved(4 * S, b.to_numpy())).max() < 1e-6
    assert solvers.cg(A, b, M=smoother).converged and np.isclose(smoother.bounds[1], 4 * high)
    smoother.update(sparse.as_crs(S, space=space))
    smoother.apply(b)
    assert np.isclose(smoother.bounds[1], high)
    es.deep_copy(A.values, -S.data)
    kept = handle.bounds
    with pytest.raises(MatrixError, match="not positive definite"):
        handle.update()
    assert handle.bounds == kept


def test_a_handle(space):
    S = hermitian(30)
    A = sparse.as_crs(S.copy(), space=space)  # whose elements change
    for name in METHODS:
        options = {"restart": 5} if name == "gmres" else {}
        handle = solvers.prepare(name, A, es.zeros(30, space=space), **options)
        answers = []
        for seed in (1, 2):
            b = numbers(30, seed=seed)
            solution = handle.solve(es.array(b, space=space), max_iterations=100 * seed)
            assert solution.converged
            answers.append((solution.x, solved(S, b)))
        assert all(np.abs(x.to_numpy() - right).max() < 1e-6 for x, right in answers)
        assert name in repr(handle) and handle.algorithm
    handle = solvers.prepare("cg", A, es.zeros(30, space=space))
    es.deep_copy(A.values, 2 * A.values.to_numpy())
    b = es.array(numbers(30), space=space)
    assert np.allclose(handle.solve(b).x.to_numpy(), solved(2 * S, b.to_numpy()))
    A.values = es.array(3 * S.data, space=space)
    assert np.allclose(handle.solve(b).x.to_numpy(), solved(3 * S, b.to_numpy()))
    index = A.entries.dtype.itemsize
    passes = 10 if handle.algorithm == "fused" else 12
    assert handle.bytes_per_iteration == 88 * (8 + index) + 31 * index + passes * 30 * 8


def test_a_smoother(space):
    S = hermitian(50)
    A = sparse.as_crs(S, space=space)
    for columns in ((), (2,)):
        b = numbers((50, *columns))
        right = es.array(b, space=space)
        smoother = solvers.Chebyshev(A, degree=4, bounds=(0.4, 5.0))
        z = smoother.apply(right).to_numpy()
        steps = solvers.chebyshev(A, right, bounds=(0.4, 5.0), max_iterations=4)
        assert np.allclose(z, steps.x.to_numpy())
        estimated = solvers.Chebyshev(A)
        solution = solvers.cg(A, right, M=estimated)
        assert solution.converged and 4 <= estimated.bounds[1] <= 6
        assert np.max(solution.iterations) < np.max(solvers.cg(A, right).iterations)
    r, out = es.array(numbers(50), space=space), es.zeros(50, space=space)
    for smoother in (solvers.Chebyshev(A), solvers.Chebyshev(A, bounds=(1.0, 5.0))):
        with es.Graph(space) as graph:
            smoother.apply(r, out=out)
        for seed in (1, 2):
            es.deep_copy(r, numbers(50, seed=seed))
            graph.submit()
            assert np.allclose(out.to_numpy(), smoother.apply(r).to_numpy())
    with pytest.raises(es.ViewError, match="out overlaps r"):
        smoother.apply(r, out=r)


def test_results_are_the_same_each_time(space):
    A = sparse.as_crs(hermitian(300 if space.name != "oracle" else 30), space=space)
    b = es.array(numbers(A.shape[0]), space=space)
    for name in METHODS:
        found = [getattr(solvers, name)(A, b).x.to_numpy() for _ in range(2)]
        assert np.array_equal(*found)


def test_reports_and_plots(space):
    A = sparse.as_crs(hermitian(20), space=space)
    solution = solvers.cg(A, es.array(numbers((20, 2)), space=space))
    lines = solution.report().splitlines()
    assert lines[0] == "cg: 20 unknowns of float64, 2 right-hand sides" and len(lines) == 4
    assert lines[2].endswith("converged")
    pytest.importorskip("matplotlib")
    ax = solution.plot()
    assert [line.get_label() for line in ax.lines] == ["cg, column 0", "cg, column 1"]
    assert solvers.cg(A, es.ones(20, space=space)).plot(ax, "mine") is ax
    assert ax.lines[-1].get_label() == "mine"


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(n=st.integers(1, 12), seed=st.integers(0, 1000), columns=st.sampled_from([(), (2,)]))
def test_systems_of_any_kind(space, n, seed, columns):
    rng = np.random.default_rng(seed)
    half = rng.standard_normal((n, n)) * (rng.random((n, n)) < 0.5)
    S = scipy_sparse.csr_array(half @ half.T + np.eye(n))
    b = rng.standard_normal((n, *columns))
    with es.use_space(space):
        A, right = sparse.as_crs(S, space=space), es.array(b, space=space)
        for name in METHODS:
            solution = getattr(solvers, name)(A, right, rtol=1e-9, max_iterations=5000)
            left = b - S @ solution.x.to_numpy()
            assert solution.converged, solution.report()
            assert (np.linalg.norm(left, axis=0) <= 2e-9 * np.linalg.norm(b, axis=0)).all()


@pytest.mark.parametrize("offsets", [np.int32, np.int64])
@pytest.mark.parametrize("columns", [np.int32, np.int64])
def test_indices_of_both_sizes(space, offsets, columns):
    S = hermitian(20)
    A = sparse.CrsMatrix(
        S.indptr.astype(offsets), S.indices.astype(columns), S.data, (20, 20), space=space
    )
    for shape in ((20,), (20, 5)):
        solution = solvers.cg(A, es.ones(shape, space=space))
        assert np.abs(solution.x.to_numpy() - solved(S, np.ones(shape))).max() < 1e-6


def test_columns_that_lie_apart():
    S, b, out = hermitian(20), numbers((20, 6)), np.zeros((20, 6))
    for name in METHODS:
        solution = getattr(solvers, name)(
            S, b[:, ::2], x0=b[:, 1::2], out=out[:, 1::2], space="serial"
        )
        assert solution.converged and not out[:, ::2].any()
        assert np.abs(out[:, 1::2] - solved(S, b[:, ::2])).max() < 1e-6

"""Iterative solvers of systems whose numbers are so large, or small, that their squares are not."""

from __future__ import annotations

import numpy as np
import pytest
from linear_systems import METHODS, hermitian, solved
from sparse_numbers import numbers

import execspace as es
from execspace_kernels import solvers, sparse

scipy_sparse = pytest.importorskip("scipy.sparse")

MAKES = sparse.Jacobi, sparse.GaussSeidel, sparse.Ilu
BOUNDS = {"chebyshev": {"bounds": (0.4, 5.0)}}


@pytest.mark.parametrize("method", METHODS)
def test_a_power_of_two_changes_no_bit(space, method):
    n = 16
    # Kernels are the same for both.
    dtype, powers = (np.float32, (-110, 110)) if method == "cg" else (np.float64, (-900, 900))
    A = sparse.as_crs(hermitian(n, dtype), space=space)
    b = np.stack([numbers(n, dtype), numbers(n, dtype, 1), np.zeros(n, dtype)], axis=1)
    handle = solvers.prepare(method, A, es.array(b, space=space), **BOUNDS.get(method, {}))
    one = handle.solve(es.array(b, space=space), rtol=1e-5)
    x0 = numbers((n, 3), dtype, 2)
    begun = handle.solve(es.array(b, space=space), x0=es.array(x0, space=space), rtol=1e-5)
    assert one.converged and begun.converged
    for power in powers:
        factors = np.array([dtype(2.0**power), dtype(2.0**-power), 1], dtype)
        right, start = (es.array(v * factors, space=space) for v in (b, x0))
        for solution, other in (
            (one, handle.solve(right, rtol=1e-5)),
            (begun, handle.solve(right, x0=start, rtol=1e-5)),
        ):
            assert np.array_equal(solution.x.to_numpy() * factors, other.x.to_numpy())
            wide = factors.astype(np.float64)
            assert np.array_equal(solution.history * wide, other.history, equal_nan=True)
            assert np.array_equal(solution.tolerance * wide, other.tolerance)
            assert np.array_equal(solution.iterations, other.iterations)


def test_tolerances_and_norms_are_those_of_the_system(space):
    n = 16
    A, S = sparse.as_crs(hermitian(n), space=space), hermitian(n)
    b = numbers(n) * 1e-200
    seen = []
    solution = solvers.cg(
        A, es.array(b, space=space), atol=1e-204, rtol=0, check_every=1,
        callback=lambda _, norm: seen.append(norm),
    )  # fmt: skip
    assert solution.converged and solution.tolerance == 1e-204
    assert solution.history[-1] <= 1e-204 < solution.history[-2]
    assert seen == solution.history[1:].tolist()
    assert np.allclose(solution.x.to_numpy() * 1e200, solved(S, b * 1e200), atol=1e-3)
    assert np.isclose(solution.history[0], np.linalg.norm(b * 1e200) * 1e-200)


LONG = pytest.mark.exhaustive  # takes seconds to compile


@pytest.mark.parametrize("M", [None, *(pytest.param(make, marks=LONG) for make in MAKES)])
@pytest.mark.parametrize(
    "method", ["cg", *(pytest.param(name, marks=LONG) for name in METHODS[1:])]
)
def test_float16(space, method, M):
    if not (space.capabilities.float16 and space.capabilities.float64):
        pytest.skip("no float16 here, or sums are of float32")
    S = hermitian(16)  # SciPy has no float16
    A = sparse.CrsMatrix(S.indptr, S.indices, S.data.astype(np.float16), (16, 16), space=space)
    b = (1000 * numbers(16)).astype(np.float16)  # whose squares are infinite
    expected = solved(S, b.astype(np.float64))
    options = BOUNDS.get(method, {}) if M is None else {"M": M(A)}
    solution = getattr(solvers, method)(A, es.array(b, space=space), rtol=1e-2, **options)
    x = solution.x.to_numpy()
    assert solution.converged and x.dtype == np.float16
    assert np.abs(x - expected).max() < 0.03 * np.abs(x).max()


def test_gmres_takes_no_product_that_underflows_for_zero(space):
    b = es.array(numbers(16), space=space)
    for size in (1e-158, 1e-161, 1e-170):
        solution = solvers.gmres(sparse.as_crs(hermitian(16) * size, space=space), b)
        assert not solution.converged and "squares of products with A underflow" in solution.reason


def test_what_is_not_finite_is_told(space):
    A = sparse.as_crs(hermitian(4), space=space)
    for bad in (np.inf, -np.inf, np.nan):
        solution = solvers.cg(A, es.array([1e-300, bad, 1.0, 1.0], space=space))
        assert not solution.converged and "infinite or NaN" in solution.reason


def test_the_second_solution_allocates_nothing(space):
    A, b = sparse.as_crs(hermitian(16), space=space), es.full(16, 1e200, space=space)
    x = es.zeros(16, space=space)
    handle = solvers.prepare("cg", A, b)
    handle.solve(b, x0=x, out=x)

    class Allocations(es.profiling.Tool):
        def __init__(self):
            self.found = []

        def on_allocate(self, label):
            self.found.append(label)

    with es.profile(Allocations()) as told:
        assert handle.solve(b, x0=x, out=x).converged
    assert not told["Allocations"].found


@pytest.mark.parametrize("method", METHODS)
def test_squares_of_products_that_float32_has_not(space, method):
    if not space.capabilities.float64:
        pytest.skip("sums are of float32 there")
    n = 16
    b = numbers(n, np.float32)
    expected = solved(hermitian(n), b)
    for power in (-80, 70):  # GMRES took a product whose square is 0 for the exact answer
        S = hermitian(n, np.float32) * np.float32(2.0**power)
        bounds = {"bounds": (0.4 * 2.0**power, 5 * 2.0**power)} if method == "chebyshev" else {}
        solution = getattr(solvers, method)(
            sparse.as_crs(S, space=space), es.array(b, space=space), rtol=1e-5, **bounds
        )
        assert solution.converged
        x = solution.x.to_numpy().astype(np.float64) * 2.0**power
        assert np.abs(x - expected).max() < 1e-3

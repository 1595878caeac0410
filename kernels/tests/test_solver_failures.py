"""Iterative solvers that do not reach an answer, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from sparse_numbers import numbers

import execspace as es
from execspace_kernels import ConvergenceError, MatrixError, solvers, sparse

scipy_sparse = pytest.importorskip("scipy.sparse")
from linear_systems import METHODS, hermitian, solved  # noqa: E402  # needs SciPy


def test_iterations_that_do_not_suffice(space):
    A = sparse.as_crs(hermitian(40), space=space)
    b = es.array(numbers(40), space=space)
    for name in METHODS:
        solution = getattr(solvers, name)(A, b, max_iterations=3, check_every=2)
        assert not solution.converged and solution.iterations == 3
        assert solution.reason == "not converged: max_iterations reached"
        with pytest.raises(ConvergenceError, match=f"{name}: not converged") as caught:
            getattr(solvers, name)(A, b, max_iterations=3, raise_on_failure=True)
        assert caught.value.solution.iterations == 3
        assert getattr(solvers, name)(A, b, max_iterations=0).iterations == 0


def crs(dense, space):
    return sparse.as_crs(scipy_sparse.csr_array(np.array(dense, float)), space=space)


def test_breakdowns(space):
    b = es.array([1.0, 1.0], space=space)
    indefinite = crs([[1, 0], [0, -2]], space)
    assert "p^H A p <= 0" in solvers.cg(indefinite, b).reason
    with pytest.raises(MatrixError, match="not positive definite"):
        solvers.chebyshev(indefinite, b)
    assert "not positive" in solvers.cg(crs([[1, 0], [0, 2]], space), b, M=indefinite).reason
    turned = crs([[0, 1], [-1, 0]], space)
    assert "rho = 0" in solvers.bicgstab(turned, b).reason
    assert solvers.gmres(turned, b).converged
    singular = crs([[0, 1], [0, 0]], space)
    assert "singular" in solvers.gmres(singular, es.array([0.0, 1.0], space=space)).reason
    for name in METHODS:
        bad = es.array([np.nan, 1.0], space=space)
        options = {"bounds": (1.0, 2.0)} if name == "chebyshev" else {}
        solution = getattr(solvers, name)(crs([[1, 0], [0, 2]], space), bad, **options)
        assert not solution.converged and "NaN" in solution.reason
        solution = getattr(solvers, name)(crs([[np.nan, 1], [1, 2]], space), b, **options)
        assert not solution.converged and "NaN" in solution.reason
    both = solvers.cg(indefinite, es.array([[1.0, 1.0], [0.0, 1.0]], space=space))
    assert both.reasons[0] == "converged" and both.reason.startswith("column 1: breakdown")


def test_an_interruption(space):
    A = sparse.as_crs(hermitian(40), space=space)
    b, out = es.array(numbers(40), space=space), es.full(40, 7.0, space=space)
    handle = solvers.prepare("cg", A, b)

    def stop(iteration, norm):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        handle.solve(b, out=out, callback=stop)
    assert (out.to_numpy() == 7).all()
    assert handle.solve(b, out=out).converged
    assert np.allclose(out.to_numpy(), solved(hermitian(40), b.to_numpy()))


def test_nothing_is_recorded_of_what_blocks(space):
    A = sparse.as_crs(hermitian(10), space=space)
    b, out = es.ones(10, space=space), es.full(10, 7.0, space=space)
    with pytest.raises(es.LaunchError), es.Graph(space):
        solvers.cg(A, b, out=out)
    assert (out.to_numpy() == 7).all()


def test_what_is_refused(space):
    A, b = sparse.as_crs(hermitian(4), space=space), es.ones(4, space=space)
    cg = solvers.cg
    out = es.full(4, 7.0, space=space)
    wrong = [
        (MatrixError, lambda: cg(np.eye(4), b), "A is a 'ndarray'; expected a sparse matrix, an"),
        (MatrixError, lambda: cg(A, es.ones(3, space=space)), "A is 4 x 4; expected 3 x 3"),
        (MatrixError, lambda: cg(A, b, M=3), "M is a 'int'"),
        (es.ViewError, lambda: cg(A, es.ones((4, 1, 1), space=space)), "expected numbers of shape"),
        (es.ViewError, lambda: cg(A, b, x0=es.ones(3, space=space)), r"x0 is View.* \(4,\)"),
        (es.ViewError, lambda: cg(A, b, out=es.ones(3, space=space)), r"expected \(4,\)"),
        (es.ViewError, lambda: cg(A, b, out=out.readonly()), "which is read-only"),
        (es.ViewError, lambda: cg(A, es.ones((4, 2000), space=space)), "2000 columns; expected"),
        (MatrixError, lambda: cg(A, b, rtol=-1, out=out), "rtol=-1; expected 0 or more"),
        (MatrixError, lambda: cg(A, b, atol="0", out=out), "atol='0'; expected a number"),
        (MatrixError, lambda: cg(A, b, max_iterations=1.5, out=out), "max_iterations=1.5"),
        (MatrixError, lambda: cg(A, b, check_every=0, out=out), "check_every=0; expected"),
        (MatrixError, lambda: cg(A, b, callback=3), "callback=3; expected a function"),
        (MatrixError, lambda: cg(A, b, algorithm="best"), "algorithm='best'; expected 'auto'"),
        (MatrixError, lambda: cg(lambda x, y: None, b, algorithm="fused"), "is for matrices"),
        (MatrixError, lambda: solvers.gmres(A, b, restart=0), "restart=0; expected"),
        (MatrixError, lambda: solvers.gmres(A, b, algorithm="fused"), "expected 'auto', 'pieces'"),
        (MatrixError, lambda: solvers.chebyshev(A, b, bounds=(2, 1)), "0 < least < largest"),
        (MatrixError, lambda: solvers.chebyshev(A, b, bounds=3), r"bounds=3; expected \(least"),
        (MatrixError, lambda: solvers.prepare("lu", A, b), "method='lu'; expected one of cg"),
        (MatrixError, lambda: solvers.prepare("cg", A, b, restart=3), "cg has no option 'restart'"),
        (MatrixError, lambda: solvers.Chebyshev(A, 0), "degree=0; expected"),
    ]  # fmt: skip
    for error, call, message in wrong:
        with pytest.raises(error, match=message):
            call()
    assert (out.to_numpy() == 7).all()
    if space.capabilities.complex:
        right = es.ones(4, np.complex128, space=space)
        with pytest.raises(es.ViewError, match="the result is of complex128"):
            cg(A, right, out=out)
        with pytest.raises(es.ViewError, match="expected real numbers"):
            solvers.prepare("cg", A, b).solve(right)


def test_what_an_iteration_only_believes_has_not_converged():
    """Of a singular matrix, and with rounding that comes from a far initial guess."""
    singular = scipy_sparse.csr_array(np.diag([1.0, 0.0, 2.0]))
    found = solvers.gmres(singular, np.array([1.0, 1.0, 2.0]), space="serial")
    assert not found.converged
    assert "b - A x is not what the iteration made" in found.reason
    n = 40
    bands = [np.full(n, 2.5), -np.ones(n - 1), -np.ones(n - 1)]
    S = scipy_sparse.csr_array(scipy_sparse.diags_array(bands, offsets=[0, 1, -1]))
    b, x0 = np.ones((n, 2)), np.zeros((n, 2))
    x0[:, 1] = 1e20
    found = solvers.cg(S, b, x0=x0, space="serial")
    assert found.reasons[0] == "converged"
    assert not found.converged
    again = solvers.cg(S, b, x0=found.x, space="serial")
    assert again.converged
    assert np.linalg.norm(S @ again.x.to_numpy() - b) < 1e-6 * np.linalg.norm(b)

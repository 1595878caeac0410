"""What iterative solvers take as A and M, and refuse: matrices of other forms, and operators."""

from __future__ import annotations

import numpy as np
import pytest
from linear_systems import METHODS, hermitian, solved
from sparse_numbers import numbers

import execspace as es
from execspace_kernels import MatrixError, solvers, sparse

scipy_sparse = pytest.importorskip("scipy.sparse")
linalg = pytest.importorskip("scipy.sparse.linalg")
N = 12


def stencil(space):
    """The matrix of `hermitian`."""
    return sparse.StencilMatrix([-1.0, 2.5, -1.0], extents=(N,)).to_space(space)


@pytest.mark.parametrize("structure", ["stencil", "blocks"])
def test_elements_of_other_forms_may_change(space, structure):
    A = (
        stencil(space)
        if structure == "stencil"
        else sparse.to_bsr(sparse.as_crs(hermitian(N), space=space), 2)
    )
    A = A.to_space(space)
    for columns in ((), (2,)):
        if columns and space.name != "serial":
            continue  # takes seconds to compile
        b = numbers((N, *columns))
        right = es.array(b, space=space)
        handle = solvers.prepare("cg", A, right)
        old = A.values.to_numpy()
        for factor in (1, 3):
            es.deep_copy(A.values, factor * old)
            assert handle.algorithm == "apply" and handle.bytes_per_iteration > A.values.nbytes
            x = handle.solve(right).x.to_numpy()
            assert np.abs(x - solved(factor * hermitian(N), b)).max() < 1e-6
        A.values = es.array(old, space=space)
        x = handle.solve(right).x.to_numpy()
        assert np.abs(x - solved(hermitian(N), b)).max() < 1e-6


def test_matrices_of_scipy_whose_elements_change():
    b, S = numbers(N), hermitian(N)
    for form, is_seen in (("csr", True), ("bsr", True), ("csc", False)):
        matrix = S.tobsr((2, 2)) if form == "bsr" else S.asformat(form, copy=True)
        handle = solvers.prepare("cg", matrix, b, space="serial")
        matrix.data *= 4.0
        now = solved(4 * S if is_seen else S, b)
        assert np.abs(handle.solve(b).x.to_numpy() - now).max() < 1e-6


@pytest.mark.parametrize("method", METHODS)
def test_linear_operators_of_scipy(space, method):
    A, S = linalg.aslinearoperator(hermitian(N)), hermitian(N)
    inverse = linalg.aslinearoperator(scipy_sparse.diags_array(1 / S.diagonal()))
    b = es.array(numbers(N), space=space)
    solve = getattr(solvers, method)
    if not space.memory_space.host_accessible:
        with pytest.raises(MatrixError, match="which computes on the host, and space"):
            solve(A, b)
        return
    solution = solve(A, b, M=inverse)
    assert (
        solution.converged and np.abs(solution.x.to_numpy() - solved(S, b.to_numpy())).max() < 1e-6
    )
    if method == "cg":
        both = es.array(numbers((N, 2)), space=space)
        x = solve(A, both).x.to_numpy()
        assert np.abs(x - solved(S, both.to_numpy())).max() < 1e-6


def test_operators_that_are_refused(space):
    S, b = hermitian(N), es.ones(N, space=space)
    A, small = sparse.as_crs(S, space=space), sparse.as_crs(hermitian(3), space=space)

    class Returns:
        def apply(self, r, *, out):
            return es.zeros(N, space=space)

    class NoOut:
        def apply(self, r):
            return r

    wrong = [
        (lambda x, y: sparse.spmv(A, x), None, "A returned a 'View', and y is what counts"),
        (lambda x, y: np.ones(N), None, "A returned a 'ndarray', and y is what counts; expected"),
        (lambda x: x, None, r"A cannot be called as \(x, y\): too many positional arguments"),
        (A, Returns(), "M returned a 'View'"),
        (A, NoOut(), r"M\.apply cannot be called as \(x, out=y\)"),
        (linalg.aslinearoperator(np.eye(3)), None, f"A is 3 x 3; expected {N} x {N}"),
        (A, sparse.Jacobi(small), f"M is 3 x 3; expected {N} x {N}"),
        (A, sparse.Ilu(small), f"M is 3 x 3; expected {N} x {N}"),
        (A, solvers.Chebyshev(small), f"M is 3 x 3; expected {N} x {N}"),
    ]
    for operator, M, message in wrong:
        with pytest.raises(MatrixError, match=message):
            solvers.cg(operator, b, M=M)
    assert solvers.cg(lambda x, y: sparse.spmv(A, x, out=y), b).converged


def test_preconditioners_of_another_space(space):
    other = "openmp" if space.name == "serial" else "serial"
    try:
        es.space_for(space=other)
    except es.SpaceError:
        pytest.skip("there is no other space")
    S = hermitian(N)
    A, there = sparse.as_crs(S, space=space), sparse.as_crs(S, space=other)
    b = es.ones(N, space=space)
    for M in (
        sparse.Jacobi(there, space=other), sparse.GaussSeidel(there, space=other),
        sparse.Ilu(there, space=other), solvers.Chebyshev(there, space=other),
    ):  # fmt: skip
        with pytest.raises(MatrixError, match=f"cg: M runs on .*'{other}'.* and the solver on"):
            solvers.cg(A, b, M=M)


def test_preconditioners_say_what_they_are(space):
    A = sparse.as_crs(hermitian(N, np.float32), space=space)
    for make in (sparse.Jacobi, sparse.GaussSeidel, sparse.Ilu, solvers.Chebyshev):
        M = make(A, space=space)
        assert M.shape == (N, N) and M.dtype == np.float32 and M.space is space

"""What threads share: handles and preconditioners that have memory for their work."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import execspace as es
from execspace_kernels import MatrixError, solvers, sparse

scipy_sparse = pytest.importorskip("scipy.sparse")
N = 60


def matrix(space):
    D = scipy_sparse.diags_array([-1.0, 2.5, -1.0], offsets=[-1, 0, 1], shape=(N, N)).tocsr()
    return D, sparse.as_crs(D, space=space)


def levels(A):
    return lambda b: sparse.sptrsv(A, b, lower=True, algorithm="levels", space=A.space)


def solved(method, A, b):
    handle = solvers.prepare(method, A, b, space=A.space)
    return lambda v: handle.solve(v).x


USERS = {
    "cg": lambda A, L, b: solved("cg", A, b),
    "gmres": lambda A, L, b: solved("gmres", A, b),
    "sptrsv": lambda A, L, b: levels(L),
    "gauss_seidel": lambda A, L, b: sparse.GaussSeidel(A, 3, space=A.space).apply,
    "jacobi": lambda A, L, b: sparse.Jacobi(A, 3, space=A.space).apply,
    "ilu": lambda A, L, b: sparse.Ilu(A, space=A.space).apply,
    "chebyshev": lambda A, L, b: solvers.Chebyshev(A, space=A.space).apply,
}


@pytest.mark.parametrize("user", USERS)
def test_threads_get_their_own_answers(space, user):
    if space.name == "oracle":
        pytest.skip("its threads take turns anyway")
    _, A = matrix(space)
    ones = es.ones(N, space=space)
    call = USERS[user](A, sparse.tril(A), ones)
    one = call(ones).to_numpy()

    def several(number):
        with es.use_space(space):
            b = es.full(N, float(number), space=space)
            return [call(b).to_numpy() / number for _ in range(8)]

    with ThreadPoolExecutor(3) as pool:
        for found in pool.map(several, (1, 2, 4)):
            assert all(np.allclose(x, one, rtol=1e-7) for x in found)


def test_a_callback_cannot_call_its_own_handle(space):
    _, A = matrix(space)
    b = es.ones(N, space=space)
    handle = solvers.prepare("cg", A, b, space=space)
    with pytest.raises(MatrixError, match="the handle is solving already"):
        handle.solve(b, callback=lambda iteration, norm: handle.solve(b))
    assert handle.solve(b).converged


@pytest.mark.parametrize("make", [sparse.Jacobi, sparse.GaussSeidel])
def test_what_looks_at_elements_is_not_recorded(space, make):
    _, A = matrix(space)
    with es.Graph(space), pytest.raises(es.LaunchError, match="while a graph is recorded"):
        make(A, space=space)


def test_flags_and_results_that_are_lists(space):
    _, A = matrix(space)
    L = sparse.tril(A)
    with pytest.raises(MatrixError, match="lower='upper'; expected True or False"):
        sparse.sptrsv(L, es.ones(N, space=space), lower="upper")
    handle = sparse.gauss_seidel_symbolic(A, space=space)
    sparse.gauss_seidel_numeric(handle, A)
    with pytest.raises(es.ViewError, match="x is a list"):
        sparse.gauss_seidel_apply(handle, A, es.ones(N, space=space), [0.0] * N)

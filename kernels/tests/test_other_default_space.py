"""Functions that name a space, while the one in use does not reach their matrices."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_kernels import solvers, sparse

scipy_sparse = pytest.importorskip("scipy.sparse")


class Memory(es.MemorySpace):
    """That nobody else reaches."""

    name = "far memory"
    host_accessible = False

    def allocate(self, nbytes, alignment, label):
        raise AssertionError("nothing is to be allocated here")

    def deallocate(self, allocation):
        raise AssertionError

    def copy(self, *args, **options):
        raise AssertionError

    def fill(self, *args, **options):
        raise AssertionError


class Far(es.ExecutionSpace):
    """That runs nothing."""

    name = "far"

    @property
    def memory_space(self):
        return FAR

    def compile(self, kernel, spec):
        raise AssertionError("nothing is to be launched here")

    def synchronize(self, label=""):
        pass


FAR = Memory()
S = scipy_sparse.diags_array([-1.0, 2.5, -1.0], offsets=[-1, 0, 1], shape=(9, 9)).tocsr()


@pytest.fixture
def far():
    with es.use_space(Far()):
        yield


CALLS = {
    "spmv": lambda A, x: sparse.spmv(A, x, space="serial"),
    "transpose": lambda A, x: sparse.spmv(A, x, mode="T", space="serial"),
    "several": lambda A, x: sparse.spmv(A, np.ones((9, 3)), space="serial"),
    "spadd": lambda A, x: sparse.spadd(A, A, space="serial"),
    "spadd in two": lambda A, x: sparse.spadd_numeric(
        sparse.spadd_symbolic(A, A, space="serial"), A, A
    ),
    "spgemm": lambda A, x: sparse.spgemm(A, A, space="serial"),
    "stencil": lambda A, x: sparse.StencilMatrix.from_crs(A, (9,), space="serial"),
    "Jacobi": lambda A, x: sparse.Jacobi(A, space="serial").apply(x),
    "Gauss-Seidel": lambda A, x: sparse.GaussSeidel(A, space="serial").apply(x),
    "ILU": lambda A, x: sparse.Ilu(A, space="serial").apply(x),
    "CG": lambda A, x: solvers.cg(A, x, space="serial"),
    "GMRES": lambda A, x: solvers.gmres(A, x, M=sparse.Ilu(A, space="serial"), space="serial"),
    "Chebyshev": lambda A, x: solvers.chebyshev(A, x, space="serial"),
}


@pytest.mark.parametrize("what", CALLS)
def test_the_space_that_is_named_is_where_all_of_it_runs(far, what):
    A = sparse.CrsMatrix(S.indptr, S.indices, S.data, S.shape)  # looked at where it lies
    assert A.graph.longest() == 3 and A.graph.is_sorted()
    CALLS[what](A, np.ones(9))


def test_functions_that_name_none_say_what_is_wrong(far):
    A = sparse.CrsMatrix(S.indptr, S.indices, S.data, S.shape)
    with pytest.raises(es.SpaceAccessError, match="which space 'far' cannot reach"):
        sparse.spmv(A, np.ones(9))

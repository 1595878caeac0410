"""Functions that name a space, while the one in use does not reach their matrices."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_kernels import blas, solvers, sparse

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


def eye():
    return np.eye(9)


DENSE = {
    "axpby": lambda x: blas.axpby(1.0, x, 2.0, np.ones(9), space="serial"),
    "scal": lambda x: blas.scal(2.0, x, space="serial"),
    "rotg": lambda x: blas.rotg(np.array(3.0), np.array(4.0), space="serial"),
    "nrm2": lambda x: blas.nrm2(x, out=np.zeros(()), space="serial"),
    "dot of columns": lambda x: blas.dot(eye(), eye(), space="serial"),
    "nrm2 of columns": lambda x: blas.nrm2(eye(), out=np.zeros(9), space="serial"),
    "iamax of columns": lambda x: blas.iamax(eye(), space="serial"),
    "nothing": lambda x: blas.nrminf(x[:0], out=np.zeros(()), space="serial"),
    "gemv": lambda x: blas.gemv(eye(), x, vendor=False, space="serial"),
    "gemv T": lambda x: blas.gemv(eye(), x, mode="T", vendor=False, space="serial"),
    "ger": lambda x: blas.ger(1.0, x, x, eye(), space="serial"),
    "syr": lambda x: blas.syr(1.0, x, eye(), space="serial"),
    "trmv": lambda x: blas.trmv(eye(), x, out=x, vendor=False, space="serial"),
    "trsv": lambda x: blas.trsv(eye(), x, vendor=False, space="serial"),
    "dot_gemm": lambda x: blas.dot_gemm(eye(), eye(), vendor=False, space="serial"),
}


@pytest.mark.parametrize("what", DENSE)
def test_dense_functions_run_where_they_are_told_to(far, what):
    DENSE[what](np.ones(9))

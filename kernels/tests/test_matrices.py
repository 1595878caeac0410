"""What all matrices have: products by `@`, transposes, copies; and what is told of functions."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import execspace as es
from execspace_kernels import MatrixError, explain, sparse

scipy_sparse = pytest.importorskip("scipy.sparse")

A = [[2.0, 1.0, 0.0], [0.0, 3.0, 1.0], [0.0, 0.0, 4.0]]


@pytest.fixture(autouse=True)
def without_compilation():
    with es.use_space("oracle"):
        yield


def formats():
    """The same matrix in all formats."""
    crs = sparse.as_crs(scipy_sparse.csr_array(A))
    stencil = sparse.StencilMatrix([[9.0, 2.0, 1.0], [0.0, 3.0, 1.0], [0.0, 4.0, 9.0]], (3,))
    coo = sparse.CooMatrix([0, 0, 1, 1, 2], [0, 1, 1, 2, 2], [2.0, 1.0, 3.0, 1.0, 4.0], (3, 3))
    return crs, sparse.to_bsr(crs, 3), stencil, coo


def test_products():
    crs, bsr, stencil, coo = every = formats()
    square = np.array(A) @ A
    for matrix in (crs, bsr, stencil):
        assert np.array_equal((matrix @ np.ones(3)).to_numpy(), np.sum(A, axis=1))
        for other in (*every, scipy_sparse.csr_array(A)):
            product = matrix @ other
            assert type(product) is sparse.CrsMatrix and np.array_equal(product.to_numpy(), square)
    assert np.array_equal((crs @ [[1.0], [0.0], [0.0]]).to_numpy(), [[2.0], [0.0], [0.0]])
    assert all(np.array_equal(matrix.to_numpy(), A) for matrix in every)
    with pytest.raises(MatrixError, match=r"CooMatrix @ x: .*A = matrix\.to_crs\(\)"):
        coo @ np.ones(3)


def test_transposes():
    every = formats()
    for matrix in every:
        turned = matrix.T
        assert type(turned) is type(matrix) and turned.shape == (3, 3)
        assert np.array_equal(sparse.as_crs(turned).to_numpy(), np.transpose(A))
    assert every[3].T.rows is every[3].columns


def test_copies():
    crs, bsr, stencil, _ = every = formats()
    for matrix in (*every, crs.graph):
        other = copy.copy(matrix)
        assert type(other) is type(matrix) and repr(other) == repr(matrix)
        if matrix is not crs.graph:
            assert other is not matrix and other.values == matrix.values  # of the same memory
        for send in (copy.deepcopy, pickle.dumps):
            message = rf"^{type(matrix).__name__} cannot be pickled or deep-copied: its Views share"
            with pytest.raises(es.ViewTypeError, match=message):
                send(matrix)
    other = copy.copy(crs)
    other.values = es.zeros(crs.nnz)
    assert crs.to_numpy().any() and not (other @ np.ones(3)).to_numpy().any()
    # What the messages say instead.
    twin = sparse.CrsMatrix.of(crs.graph, es.array(crs.values))
    assert twin.values != crs.values and np.array_equal(twin.to_numpy(), A)
    assert sparse.as_crs(pickle.loads(pickle.dumps(sparse.to_scipy(crs)))).nnz == crs.nnz
    assert sparse.as_bsr(pickle.loads(pickle.dumps(sparse.to_scipy(bsr)))).block == bsr.block
    parts = pickle.loads(pickle.dumps((stencil.values.to_numpy(), stencil.extents)))
    assert sparse.StencilMatrix(*parts).nnz == stencil.nnz


def test_what_is_told():
    crs = formats()[0]
    turned = sparse.CrsMatrix([0, 2], [1, 0], [1.0, 2.0], (1, 2))
    row = sparse.CrsMatrix([0, 1], [1], [1.0], (1, 2))
    for call, told in (
        (lambda: sparse.spadd(crs, crs), "spadd: merge, for columns of both ascend in each row"),
        (lambda: sparse.spadd(row, turned), "spadd: sort, for columns of B do not ascend in each"),
        (lambda: sparse.spadd_symbolic(turned, row), "spadd: sort, for columns of A do not ascen"),
        (lambda: sparse.tril(crs), "tril: rows, for it has no other algorithm"),
        (lambda: crs.T, "transpose: sort, for it has no other algorithm"),
        (lambda: sparse.vstack([crs, crs]), "vstack: rows, for it has no other algorithm"),
        (lambda: crs.to_numpy(), "nothing was decided: no function that was called has several"),
    ):
        assert str(explain(call)).startswith(told)
    handle = sparse.spadd_symbolic(crs, crs)
    assert handle.algorithm == "merge" and handle.why == "columns of both ascend in each row"
    told = explain(sparse.spadd, crs, crs, vendor=True)
    assert str(told) == "spadd: SciPy, for it was asked for"

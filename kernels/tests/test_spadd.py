"""Sums of sparse matrices, in one call and in two phases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import execspace as es
from execspace_kernels import MatrixError, sparse

scipy_sparse = pytest.importorskip("scipy.sparse")


def test_a_sum_and_again_with_other_values(space, matrix):
    other = scipy_sparse.random_array(
        matrix.shape, density=0.1 if matrix.shape[0] and matrix.shape[1] else 0,
        rng=np.random.default_rng(8), format="csr",
    )  # fmt: skip
    A, B = sparse.as_crs(matrix, space=space), sparse.as_crs(other, space=space)
    handle = sparse.spadd_symbolic(A, B)
    assert handle.algorithm == "merge" and handle.graph.is_sorted()
    C = sparse.spadd_numeric(handle, A, B, alpha=2, beta=-3)
    assert np.allclose(C.to_numpy(), (2 * matrix - 3 * other).toarray())
    at_once = sparse.spadd(A, B, alpha=2, beta=-3)
    assert np.array_equal(at_once.to_numpy(), C.to_numpy()) and at_once.nnz == C.nnz
    es.deep_copy(B.values, 1.0)
    ones = other.copy()
    ones.data[:] = 1.0
    assert sparse.spadd_numeric(handle, A, B, C) is C
    assert np.allclose(C.to_numpy(), (matrix + ones).toarray())


rows = st.lists(st.lists(st.integers(0, 5), max_size=8), min_size=4, max_size=4)


def _matrix(columns, dtype):
    starts = np.cumsum([0, *map(len, columns)]).astype(np.int32)
    flat = np.array([c for row in columns for c in row], np.int32)
    return sparse.CrsMatrix(starts, flat, np.arange(1, len(flat) + 1).astype(dtype), (4, 6))


@given(rows, rows)
@settings(max_examples=60)
def test_rows_in_any_order_with_columns_that_come_twice(left, right):
    with es.use_space("serial"):
        A, B = _matrix(left, np.float32), _matrix(right, np.complex128)
        C = sparse.spadd(A, B, alpha=2.0, beta=1j)
        assert C.dtype == np.complex128 and C.graph.is_sorted()
        assert np.allclose(C.to_numpy(), 2.0 * A.to_numpy() + 1j * B.to_numpy())
        either = {(i, c) for m in (left, right) for i, row in enumerate(m) for c in row}
        assert C.nnz == len(either)


def test_what_is_refused(space):
    A = sparse.CrsMatrix([0, 1, 2], [1, 0], [2.0, 3.0], (2, 2), space=space)
    B = sparse.CrsMatrix([0, 2, 2], [0, 1], [2.0, 3.0], (2, 2), space=space)
    wide = sparse.CrsMatrix([0, 0, 0], [], np.zeros(0), (2, 3), space=space)
    handle = sparse.spadd_symbolic(A, B)
    with pytest.raises(MatrixError, match="A is 2 x 2 and B is 2 x 3; expected the same"):
        sparse.spadd(A, wide)
    with pytest.raises(MatrixError, match="the handle was made for another"):
        sparse.spadd_numeric(handle, A, wide)
    with pytest.raises(MatrixError, match="C has another graph than the handle"):
        sparse.spadd_numeric(handle, A, B, A)
    twin = sparse.CrsMatrix([0, 1, 2], [0, 1], [2.0, 3.0], (2, 2), space=space)
    with pytest.raises(MatrixError, match="the handle was made for another graph"):
        sparse.spadd_numeric(handle, A, twin)  # of as many entries
    with pytest.raises(MatrixError, match="handle=None; expected that of spadd_symbolic"):
        sparse.spadd_numeric(None, A, B)
    C = sparse.spadd_numeric(handle, A, B)
    with pytest.raises(MatrixError, match="the sum is complex, and C is of float64"):
        sparse.spadd_numeric(handle, A, B, C, alpha=1j)

"""Products of sparse matrices."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sparse_numbers import DTYPES, are_close

import execspace as es
import execspace_kernels
from execspace_kernels import MatrixError, sparse

scipy_sparse = pytest.importorskip("scipy.sparse")

close = partial(are_close, single=1e-5, double=1e-13)


def on(space, S):
    return sparse.as_crs(S).to_space(space)


def numbers(S, dtype, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(S.nnz)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.standard_normal(S.nnz)
    return scipy_sparse.csr_array((values.astype(dtype), S.indices, S.indptr), shape=S.shape)


def enough(space, S):
    """A part of the matrix where millions of steps take too long."""
    return S[:50, :50].tocsr() if space.name == "oracle" else S


def structure(S):
    """Where a product has entries, also those that cancel."""
    ones = scipy_sparse.csr_array((np.ones(S.nnz), S.indices, S.indptr), shape=S.shape)
    return ones


@pytest.mark.parametrize("algorithm", ["dense", "hash"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_product_with_the_transpose(space, matrix, algorithm, dtype):
    S = numbers(enough(space, matrix), dtype)
    T = scipy_sparse.csr_array(S.T)
    handle = sparse.spgemm_symbolic(on(space, S), on(space, T), algorithm=algorithm)
    assert handle.algorithm == algorithm
    A, B = on(space, S), on(space, T)
    C = sparse.spgemm(A, B, algorithm=algorithm)
    assert C.dtype == dtype
    assert close(C.to_numpy(), (S @ T).toarray())
    assert C.graph.is_sorted()
    expected = structure(S) @ structure(T)
    assert C.nnz == expected.nnz == handle.graph.nnz
    again = sparse.spgemm(A, B, algorithm=algorithm)
    assert np.array_equal(again.values.to_numpy(), C.values.to_numpy())


@pytest.mark.parametrize("algorithm", ["dense", "hash"])
def test_values_change(space, matrix, algorithm):
    S = numbers(enough(space, matrix), np.float64)
    T = scipy_sparse.csr_array(S.T)
    A, B = on(space, S), on(space, T)
    handle = sparse.spgemm_symbolic(A, B, algorithm=algorithm)
    C = sparse.spgemm_numeric(handle, A, B)
    es.deep_copy(A.values, 2.0)
    assert sparse.spgemm_numeric(handle, A, B, C) is C
    assert close(C.to_numpy(), (2 * structure(S) @ T).toarray())


@pytest.mark.parametrize("algorithm", ["dense", "hash"])
@given(data=st.data())
@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_rows_in_any_order_and_columns_twice(space, algorithm, data):
    m, n, k = (data.draw(st.integers(1, 9)) for _ in "mnk")

    def drawn(rows, columns):
        count = data.draw(st.integers(0, 40))
        some = [
            data.draw(st.lists(st.integers(0, most - 1), min_size=count, max_size=count))
            for most in (rows, columns)
        ]
        row, column = (np.asarray(numbers, dtype=np.int64) for numbers in some)
        row_map = np.searchsorted(np.sort(row), np.arange(rows + 1))
        values = np.arange(1.0, count + 1)
        dense = np.zeros((rows, columns))
        np.add.at(dense, (np.sort(row), column), values)
        return sparse.CrsMatrix(row_map, column, values, (rows, columns), space=space), dense

    (A, a), (B, b) = drawn(m, n), drawn(n, k)
    C = sparse.spgemm(A, B, algorithm=algorithm)
    assert np.allclose(C.to_numpy(), a @ b)
    assert C.graph.is_sorted()


@pytest.mark.parametrize("algorithm", ["dense", "hash"])
@pytest.mark.parametrize("offsets", [np.int32, np.int64])
@pytest.mark.parametrize("columns", [np.int32, np.int64])
def test_dtypes_of_graphs(space, algorithm, offsets, columns):
    S = scipy_sparse.random_array((40, 30), density=0.2, rng=np.random.default_rng(1)).tocsr()
    T = scipy_sparse.random_array((30, 50), density=0.2, rng=np.random.default_rng(2)).tocsr()
    A = sparse.CrsMatrix(
        S.indptr.astype(offsets), S.indices.astype(columns), S.data, S.shape, space=space
    )
    B = on(space, T)
    C = sparse.spgemm(A, B, algorithm=algorithm)
    assert close(C.to_numpy(), (S @ T).toarray())
    assert C.row_map.dtype == np.result_type(offsets, B.row_map.dtype)
    D = sparse.spgemm(on(space, scipy_sparse.csr_array(T.T)), sparse.transpose(A))
    assert close(D.to_numpy(), (S @ T).toarray().T)


@pytest.mark.parametrize("kept", [1.0, 0.99, 0.7])
def test_rows_that_repeat_those_before(space, kept):
    """Of bands, also of some with gaps, rows of the product are copied from the one before."""
    rng = np.random.default_rng(int(100 * kept))
    n = 40 if space.name == "oracle" else 300
    for offsets in ([0], [-1, 0, 1], [-17, -1, 0, 1, 17], [3], [-n + 1, n - 1]):
        bands = [np.ones(n - abs(o)) for o in offsets]
        S = scipy_sparse.coo_array(scipy_sparse.diags_array(bands, offsets=offsets))
        stays = rng.random(S.nnz) < kept
        rows, columns = (c[stays] for c in S.coords)
        S = scipy_sparse.csr_array((S.data[stays], (rows, columns)), shape=S.shape)
        T = S[rng.permutation(n)] if kept == 0.99 else S
        C = sparse.spgemm(on(space, S), on(space, T), algorithm="dense")
        assert close(C.to_numpy(), (S @ T).toarray())
        assert C.nnz == (structure(S) @ structure(T)).nnz and C.graph.is_sorted()


@pytest.mark.parametrize("algorithm", ["dense", "hash"])
def test_long_rows_that_are_shared_by_teams(space, algorithm):
    if space.name == "oracle":
        pytest.skip("too long for the oracle")
    rng = np.random.default_rng(5)
    S = scipy_sparse.csr_array(scipy_sparse.random_array((3, 400), density=0.9, rng=rng))
    T = scipy_sparse.csr_array(scipy_sparse.random_array((400, 300_000), density=2e-4, rng=rng))
    C = sparse.spgemm(on(space, S), on(space, T), algorithm=algorithm)
    expected = scipy_sparse.csr_array(S @ T)
    expected.sort_indices()
    assert np.array_equal(C.entries.to_numpy(), expected.indices)
    assert np.allclose(C.values.to_numpy(), expected.data)


@pytest.mark.parametrize("algorithm", ["dense", "hash"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_step_of_jacobi(space, algorithm, dtype):
    rng = np.random.default_rng(7)
    S = scipy_sparse.random_array((60, 60), density=0.1, rng=rng).tolil()
    S.setdiag(3.0)
    S = numbers(scipy_sparse.csr_array(S), dtype)
    T = numbers(scipy_sparse.random_array((60, 20), density=0.3, rng=rng).tocsr(), dtype)
    A, B = on(space, S), on(space, T)
    expected = T.toarray() - 0.6 * (S @ T).toarray() / S.diagonal()[:, None]
    C = sparse.spgemm_jacobi(A, B, 0.6, algorithm=algorithm)
    assert C.dtype == dtype
    assert close(C.to_numpy(), expected)
    handle = sparse.spgemm_symbolic(A, B, algorithm=algorithm)
    D = sparse.spgemm_jacobi(A, B, 0.6, handle=handle)
    assert sparse.spgemm_jacobi(A, B, 0.3, handle=handle, C=D, check=False) is D
    assert close(D.to_numpy(), T.toarray() / 2 + expected / 2)


def test_diagonals_that_jacobi_cannot_take(space):
    A = sparse.CrsMatrix([0, 1, 2], [0, 0], [1.0, 1.0], (2, 2), space=space)
    with pytest.raises(MatrixError, match="row 1 of A has no entry on the diagonal"):
        sparse.spgemm_jacobi(A, A, 1.0)
    A = sparse.CrsMatrix([0, 1, 2], [0, 1], [1.0, 0.0], (2, 2), space=space)
    with pytest.raises(MatrixError, match="diagonal of A is 0 in row 1"):
        sparse.spgemm_jacobi(A, A, 1.0)
    with pytest.raises(MatrixError, match="omega='much'; expected a number"):
        sparse.spgemm_jacobi(A, A, "much")
    wide = sparse.CrsMatrix([0, 1], [0], [1.0], (1, 2), space=space)
    with pytest.raises(MatrixError, match="A is 1 x 2; expected as many rows as columns"):
        sparse.spgemm_jacobi(wide, A, 1.0)


def test_errors(space):
    A = sparse.CrsMatrix([0, 1, 2], [1, 0], [1.0, 2.0], (2, 2), space=space)
    B = sparse.CrsMatrix([0, 1, 2, 3], [1, 0, 1], [1.0, 2.0, 3.0], (3, 2), space=space)
    with pytest.raises(MatrixError, match="A is 2 x 2 and B is 3 x 2"):
        sparse.spgemm(A, B)
    with pytest.raises(MatrixError, match="algorithm='quick'; expected 'auto'"):
        sparse.spgemm(A, A, algorithm="quick")
    handle = sparse.spgemm_symbolic(B, A)
    with pytest.raises(MatrixError, match=r"A is <CrsMatrix 2 x 2.*made for another graph"):
        sparse.spgemm_numeric(handle, A, A)
    with pytest.raises(MatrixError, match="expected that of spgemm_symbolic"):
        sparse.spgemm_numeric(None, A, A)
    with pytest.raises(MatrixError, match="C has another graph"):
        sparse.spgemm_numeric(handle, B, A, A)
    Z = sparse.CrsMatrix.of(A.graph, es.array(np.array([1j, 2]), space=space))
    C = sparse.spgemm_numeric(handle, B, A)
    with pytest.raises(MatrixError, match="the product is complex, and C is of float64"):
        sparse.spgemm_numeric(handle, B, Z, C)


def test_explain(space):
    A = on(space, scipy_sparse.eye_array(5, format="csr"))
    told = execspace_kernels.explain(sparse.spgemm, A, A, algorithm="dense")
    assert str(told) == "spgemm: dense, for it was asked for"


def test_values_in_a_graph(space):
    if not isinstance(space, es.SupportsTeams):
        pytest.skip("the space has no teams")
    S = numbers(
        scipy_sparse.random_array((30, 30), density=0.3, rng=np.random.default_rng(1)).tocsr(),
        np.float64,
    )
    A = on(space, S)
    handle = sparse.spgemm_symbolic(A, A)
    C = sparse.spgemm_numeric(handle, A, A)
    es.deep_copy(C.values, 0.0)
    with es.Graph(space) as graph:
        sparse.spgemm_numeric(handle, A, A, C)
    assert not C.values.to_numpy().any()
    graph.submit()
    assert close(C.to_numpy(), (S @ S).toarray())


def test_more_columns_than_memory():
    with es.use_space("oracle"):  # which compiles nothing
        n = 2**40
        A = sparse.CrsMatrix([0, 2, 3], [0, 1, 1], [1.0, 2.0, 3.0], (2, 2))
        columns = np.array([n - 1, 5, 7, n // 2, 5])  # which do not ascend
        B = sparse.CrsMatrix([0, 2, 5], columns, [1.0, 2.0, 3.0, 4.0, 5.0], (2, n))
        hashed = sparse.spgemm(A, B, algorithm="hash")
        told = execspace_kernels.explain(sparse.spgemm, A, B)
        C = told.result
        assert C.shape == (2, n) and C.graph.is_sorted()
        assert C.entries.to_numpy().tolist() == [5, 7, n // 2, n - 1, 5, 7, n // 2]
        assert C.values.to_numpy().tolist() == [12.0, 6.0, 8.0, 1.0, 15.0, 9.0, 12.0]
        assert np.array_equal(hashed.values.to_numpy(), C.values.to_numpy())
        assert "columns get numbers of their own, for B has many more than entries" in str(told)
        handle = sparse.spgemm_symbolic(A, B)
        D = sparse.spgemm_jacobi(A, B, 1.0, handle=handle)
        assert np.allclose(D.values.to_numpy(), [-10.0, -6.0, -8.0, 0.0, 0.0, 0.0, 0.0])
        es.deep_copy(A.values, 1.0)
        assert sparse.spgemm_numeric(handle, A, B, D) is D
        assert D.values.to_numpy().tolist() == [7.0, 3.0, 4.0, 1.0, 5.0, 3.0, 4.0]


def test_all_is_computed_in_the_type_of_the_result():
    """Of numbers of two types, and of columns that come twice."""

    def one(value, dtype):
        return sparse.CrsMatrix([0, 1], [0], np.array([value], dtype), (1, 1), space="serial")

    elements = np.array([1.0, 1e-8, -1.0], np.float32)
    twice = sparse.CrsMatrix([0, 3], [0, 0, 0], elements, (1, 1), space="serial")
    with es.use_space("serial"):
        product = sparse.spgemm(one(1.0, np.float64), twice, vendor=False).to_numpy()
        assert product == np.float64(np.float32(1e-8))
        narrow, wide = one(3.0, np.float32), one(1.0, np.float64)
        assert abs(sparse.spgemm_jacobi(narrow, wide, 0.1).to_numpy() - 0.9) < 1e-15
        found = sparse.spadd(one(1.0, np.float32), one(0.0, np.float64), alpha=0.1, vendor=False)
        assert found.to_numpy() == 0.1

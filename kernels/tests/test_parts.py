"""Parts of matrices, and matrices of parts; SciPy is the reference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import execspace as es
from execspace_kernels import MatrixError, explain, sparse

scipy_sparse = pytest.importorskip("scipy.sparse")


def same(found, expected):
    """Whether the matrices are equal, and the one that was made is valid."""
    sparse.CrsMatrix(found.row_map, found.entries, found.values, found.shape)  # looks
    return np.array_equal(found.to_numpy(), expected.toarray())


SELECTIONS = (
    slice(None), slice(1, None, 2), slice(None, None, -1), slice(3, 3), slice(-4, -1),
    [0, 2, 1], [4], [],
)  # fmt: skip


@pytest.mark.parametrize("rows", SELECTIONS, ids=str)
@pytest.mark.parametrize("columns", SELECTIONS, ids=str)
def test_rows_and_columns(space, rows, columns):
    S = scipy_sparse.random_array((9, 7), density=0.4, rng=np.random.default_rng(2)).tocsr()
    found = sparse.submatrix(sparse.as_crs(S, space=space), rows, columns)
    whole = [np.array(s, int) if isinstance(s, list) else s for s in (rows, columns)]
    assert same(found, S[whole[0], :][:, whole[1]]) and found.graph.is_sorted()


def test_parts_of_all_matrices(space, matrix):
    A = sparse.as_crs(matrix, space=space)
    m, n = A.shape
    rows = np.arange(m)[::-1] // 2
    assert same(sparse.submatrix(A, es.array(rows, space=space)), matrix[rows, :])
    for k in (-(2**70), -m, -1, 0, 2, n + 3):
        dense = matrix.toarray()
        near = int(np.clip(k, -m - 1, n + 1))
        for found, expected in (
            (sparse.tril(A, k), np.tril(dense, near)), (sparse.triu(A, k), np.triu(dense, near)),
        ):  # fmt: skip
            assert np.array_equal(found.to_numpy(), expected)
            assert found.entries.dtype == A.entries.dtype and found.row_map.dtype == A.row_map.dtype
    assert same(sparse.vstack([A, A]), scipy_sparse.vstack([matrix, matrix]))
    assert same(sparse.hstack([A, A, A]), scipy_sparse.hstack([matrix] * 3))


def test_elements_that_are_dropped(space):
    values = [0.0, -2.0, 1.0, np.nan, -0.0]
    A = sparse.CrsMatrix([0, 3, 5], [0, 1, 2, 0, 1], values, (2, 3), space=space)
    assert sparse.drop(A).values.to_numpy().tolist()[:2] == [-2.0, 1.0]
    assert sparse.drop(A).row_map.to_numpy().tolist() == [0, 2, 3]
    assert sparse.drop(A, 1).entries.to_numpy().tolist() == [1, 0]
    if space.capabilities.complex:
        C = sparse.CrsMatrix([0, 2], [0, 1], [3 + 4j, 1j], (1, 2), space=space)
        assert sparse.drop(C, 4.9).nnz == 1 and sparse.drop(C, 5).nnz == 0


def test_blocks_of_the_diagonal(space):
    S = scipy_sparse.random_array((12, 12), density=0.5, rng=np.random.default_rng(3)).tocsr()
    A, dense = sparse.as_crs(S, space=space), S.toarray()
    for block in (1, 3, 12):
        expected = [dense[i : i + block, i : i + block] for i in range(0, 12, block)]
        found = sparse.block_diagonal(A, block)
        assert np.array_equal(found.to_numpy(), expected)
        out = es.full(found.shape, np.nan, space=space)
        assert sparse.block_diagonal(A, block, out=out) is out
        assert np.array_equal(out.to_numpy(), expected)
    starts = [0, 0, 5, 6, 6, 12, 12]
    blocks = sparse.extract_blocks(A, starts)
    assert len(blocks) == 6
    for found, low, high in zip(blocks, starts[:-1], starts[1:], strict=True):
        assert same(found, S[low:high, low:high])
    both = sparse.extract_blocks(A, es.array([0, 12], space=space))
    assert len(both) == 1 and same(both[0], S)
    assert sparse.extract_blocks(sparse.submatrix(A, [], []), [0]) == []
    twice = sparse.CrsMatrix([0, 2], [0, 0], [1.0, 2.0], (1, 1), space=space)
    assert sparse.block_diagonal(twice, 1).to_numpy().tolist() == [[[3.0]]]


@given(st.data(), st.integers(1, 8), st.integers(1, 8))
def test_any_rows_and_columns(data, m, n):
    seed = data.draw(st.integers(0, 99))
    S = scipy_sparse.random_array((m, n), density=0.4, rng=np.random.default_rng(seed)).tocsr()
    rows = np.array(data.draw(st.lists(st.integers(0, m - 1), max_size=12)), np.int64)
    columns = np.array(data.draw(st.permutations(range(n)))[: data.draw(st.integers(0, n))], int)
    with es.use_space("serial"):
        found = sparse.submatrix(S, rows, columns)
        assert same(found, S[rows, :][:, columns])
        halves = sparse.submatrix(S, slice(m // 2)), sparse.submatrix(S, slice(m // 2, None))
        assert same(sparse.vstack(halves), S)
        left = sparse.submatrix(S, slice(None), slice(n // 2))
        right = sparse.submatrix(S, slice(None), slice(n // 2, None))
        assert same(sparse.hstack([left, right]), S)
        low, high = sparse.tril(S), sparse.triu(S, 1)
        assert np.array_equal(sparse.spadd(low, high).to_numpy(), S.toarray())


def test_dtypes_of_stacks(space):
    narrow = sparse.CrsMatrix(
        np.array([0, 1], np.int32), np.array([0], np.int32), np.ones(1, np.float32), (1, 1),
        space=space,
    )  # fmt: skip
    wide = sparse.CrsMatrix([0, 1], [0], [2.0], (1, 1), space=space)
    for stack in (sparse.vstack, sparse.hstack):
        found = stack([narrow, wide])
        dtypes = found.row_map.dtype, found.entries.dtype, found.dtype
        assert dtypes == (np.int64, np.int64, np.float64)
        assert stack([narrow]).row_map.dtype == np.int32


def test_what_is_recorded(space):
    """Functions that do not block."""
    A = sparse.CrsMatrix([0, 1, 2], [1, 0], [2.0, 3.0], (2, 2), space=space)
    out = es.zeros((1, 2, 2), space=space)
    with es.Graph(space) as graph:
        both = sparse.vstack([A, A])
        sparse.block_diagonal(A, 2, out=out)
    ready = graph.instantiate()
    ready.submit()
    es.fence()
    assert out.to_numpy().tolist() == [[[0.0, 2.0], [3.0, 0.0]]]
    assert both.to_numpy().tolist() == [[0.0, 2.0], [3.0, 0.0]] * 2


def test_what_is_refused(space):
    A = sparse.CrsMatrix([0, 1, 2], [1, 0], [2.0, 3.0], (2, 2), space=space)
    W = sparse.CrsMatrix([0, 1], [1], [2.0], (1, 3), space=space)
    wrong = [
        (MatrixError, lambda: sparse.submatrix(A, [0, 2]), r"rows\[1\] is 2; expected 0 to 1"),
        (MatrixError, lambda: sparse.submatrix(A, [-1]), r"rows\[0\] is -1; expected 0 to 1"),
        (MatrixError, lambda: sparse.submatrix(A, [0], [1, 1]), "column 1 comes more than once"),
        (MatrixError, lambda: sparse.submatrix(A, slice(0, 2, 0)), "slice step cannot be zero"),
        (MatrixError, lambda: sparse.submatrix(A, slice("a")), "slice indices must be integers"),
        (es.ViewError, lambda: sparse.submatrix(A, [0.5]), "rows: a list of float64; expected"),
        (MatrixError, lambda: sparse.tril(A, 0.5), "tril: k=0.5; expected an integer"),
        (MatrixError, lambda: sparse.triu(3), "expected a sparse matrix"),
        (MatrixError, lambda: sparse.drop(A, -1), "tolerance=-1; expected a number of 0 or more"),
        (MatrixError, lambda: sparse.drop(A, np.nan), "tolerance=nan; expected a number"),
        (MatrixError, lambda: sparse.drop(A, "a"), "tolerance='a'; expected a number"),
        (MatrixError, lambda: sparse.block_diagonal(A, 3), "block=3 for a matrix of 2 x 2"),
        (MatrixError, lambda: sparse.block_diagonal(A, 0), "block=0 for a matrix of 2 x 2"),
        (MatrixError, lambda: sparse.block_diagonal(W, 1), "expected a square matrix"),
        (es.ViewError, lambda: sparse.block_diagonal(A, 1, out=es.zeros(2, space=space)), "shape"),
        (es.ViewError, lambda: sparse.block_diagonal(A, 1, out=[1.0]), "out is a list; expected"),
        (MatrixError, lambda: sparse.extract_blocks(A, [0, 1]), "starts=.0, 1. for a matrix of 2"),
        (MatrixError, lambda: sparse.extract_blocks(A, [0, 2, 1, 2]), "ascend from 0 to its exte"),
        (MatrixError, lambda: sparse.extract_blocks(A, "ab"), "starts='ab' for a matrix of 2 x 2"),
        (MatrixError, lambda: sparse.extract_blocks(W, [0, 3]), "expected a square matrix"),
        (MatrixError, lambda: sparse.vstack([]), r"vstack: expected a list of one or more"),
        (MatrixError, lambda: sparse.vstack(A), "vstack: expected a list of one or more"),
        (MatrixError, lambda: sparse.vstack([A, W]), "matrix 1 is 1 x 3, .* as many columns"),
        (MatrixError, lambda: sparse.hstack([A, W]), "matrix 1 is 1 x 3, .* as many rows"),
    ]  # fmt: skip
    for kind, call, message in wrong:
        with pytest.raises(kind, match=message):
            call()


def test_columns_of_very_wide_matrices(space):
    """Of 2**40 columns no array is made, which would not fit into memory."""
    n = 2**40
    columns = np.array([5, n // 2, n - 1, 0, n // 2])
    A = sparse.CrsMatrix([0, 3, 5], columns, [1.0, 2.0, 3.0, 4.0, 5.0], (2, n), space=space)
    expected = np.array([[2.0, 0.0, 1.0], [5.0, 0.0, 0.0]])
    found = sparse.submatrix(A, slice(None), es.array(np.array([n // 2, 7, 5]), space=space))
    assert np.array_equal(found.to_numpy(), expected) and found.graph.is_sorted()
    found = sparse.submatrix(A, [1, 0], slice(n - 1, None, -(n // 2 - 1)))
    assert found.to_numpy().tolist() == [[0.0, 5.0, 0.0], [3.0, 2.0, 0.0]]
    found = sparse.submatrix(A, slice(None))
    assert found.shape == A.shape and found.entries.to_numpy().tolist() == columns.tolist()
    with pytest.raises(MatrixError, match="column 9 comes more than once"):
        sparse.submatrix(A, [0], [3, 9, 4, 9])
    with pytest.raises(
        MatrixError, match=r"columns\[1\] is 1099511627776; expected 0 to 109951162"
    ):
        sparse.submatrix(A, [0], [3, n])
    told = explain(sparse.submatrix, A, [0], [1])
    assert str(told) == "submatrix: search, for the matrix has many more columns than entries"

"""Matrices of dense blocks: how they come and go, and their products."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sparse_numbers import DTYPES, are_close, numbers

import execspace as es
from execspace_kernels import MatrixError, explain, sparse

scipy_sparse = pytest.importorskip("scipy.sparse")

close = partial(are_close, single=1e-4, double=1e-12, scaled=False)
MODES = {
    "N": lambda S: S, "T": lambda S: S.T, "C": lambda S: S.conj(), "H": lambda S: S.conj().T,
}  # fmt: skip


def blocks(rows, columns, block, dtype=np.float64, density=0.3):
    """A matrix of SciPy of random blocks, of which some rows have none."""
    rng = np.random.default_rng(7)
    graph = scipy_sparse.random_array((rows, columns), density=density, rng=rng, format="lil")
    graph[::4, :] = 0.0
    graph = scipy_sparse.csr_array(graph)
    data = numbers((graph.nnz, *block), dtype, 1)
    shape = rows * block[0], columns * block[1]
    return scipy_sparse.bsr_array((data, graph.indices, graph.indptr), shape=shape)


def needs(space, dtype):
    if np.dtype(dtype).kind == "c" and not space.capabilities.complex:
        pytest.skip("no complex numbers here")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("block", [(1, 1), (2, 3), (4, 4), (9, 2)])
def test_products(space, block, mode, dtype):
    needs(space, dtype)
    S = blocks(11, 7, block, dtype)
    B, op = sparse.as_bsr(S, space=space), MODES[mode](S)
    m, n = op.shape
    for columns in ((), (3,)):
        x, y = numbers((n, *columns), dtype, 2), numbers((m, *columns), dtype, 3)
        found = sparse.spmv(B, es.array(x, space=space), mode=mode)
        assert found.dtype == dtype and close(found.to_numpy(), op @ x)
        out = es.array(y, space=space)
        for _ in range(2):
            es.deep_copy(out, y)
            sparse.spmv(B, es.array(x, space=space), out=out, alpha=2, beta=-0.5, mode=mode)
            assert close(out.to_numpy(), 2 * (op @ x) - 0.5 * y)


@pytest.mark.parametrize("layout", ["right", "left"])
@pytest.mark.parametrize("algorithm", ["rows", "scalars", "stream"])
@pytest.mark.parametrize("block", [(1, 2), (3, 3), (10, 12)])
def test_algorithms(space, block, algorithm, layout):
    if algorithm == "stream" and not isinstance(space, es.SupportsTeams):
        pytest.skip("no teams here")
    S = blocks(13, 9, block, np.float32)
    B = sparse.as_bsr(S, space=space)
    for columns in ((), (4,)):
        x, y = numbers((S.shape[1], *columns), np.float64), numbers((S.shape[0], *columns), float)
        source = es.View(x.shape, layout=layout, space=space)
        es.deep_copy(source, x)
        out = es.array(y, space=space)
        told = explain(sparse.spmv, B, source, out=out, beta=2, mode="C", algorithm=algorithm)
        assert told.decisions[0].algorithm == algorithm
        assert np.allclose(out.to_numpy(), S.astype(float) @ x + 2 * y)


def test_any_number_of_vectors():
    """Hosts take up to eight of them at once for a row of blocks, whatever is left."""
    S = blocks(4, 3, (2, 3), np.float64)
    with es.use_space("oracle"):  # which compiles nothing
        B = sparse.as_bsr(S)
        for mode, op in (("N", S), ("T", S.T)):
            for k in (0, 1, 3, 6, 8, 11, 16):
                x = numbers((op.shape[1], k), np.float64)
                for layout in ("right", "left"):
                    found = sparse.spmv(B, es.array(x, layout=layout), mode=mode)
                    assert close(found.to_numpy(), op @ x)


PAIRS = [
    (np.float16, np.float32), (np.complex64, np.float32), (np.float32, np.float64),
    (np.complex64, np.float64),
]  # fmt: skip


@pytest.mark.parametrize("pair", PAIRS)
def test_mixed_dtypes(space, pair):
    needs(space, pair[0])
    if np.float16 in pair and not space.capabilities.float16:
        pytest.skip("no float16 here")
    S = blocks(6, 5, (2, 2), np.complex64 if pair[0] is np.complex64 else np.float32)
    teams = ("stream",) if isinstance(space, es.SupportsTeams) else ()
    for one, other in (pair, pair[::-1]):
        real = S.real if np.dtype(one).kind != "c" else S
        data = real.data.astype(one)
        B = sparse.BsrMatrix(S.indptr, S.indices, es.array(data, space=space), S.shape, space=space)
        x = numbers(S.shape[1], other)
        for algorithm in ("rows", "scalars", *teams):
            found = sparse.spmv(B, es.array(x, space=space), algorithm=algorithm).to_numpy()
            assert found.dtype == np.result_type(one, other)
            wide = scipy_sparse.bsr_array(
                (data.astype(complex), S.indices, S.indptr), shape=S.shape
            )
            assert np.allclose(found, wide @ x.astype(complex), rtol=1e-3, atol=1e-4)


def test_rows_of_blocks_too_long_for_the_memory_of_a_team(space):
    if not isinstance(space, es.SupportsTeams):
        pytest.skip("no teams here")
    n = 1100 if space.name != "oracle" else 520
    S = blocks(2, n, (4, 3), density=1.0)
    x = numbers(S.shape[1], float)
    found = sparse.spmv(sparse.as_bsr(S, space=space), es.array(x, space=space), algorithm="stream")
    assert close(found.to_numpy(), S @ x)


def test_matrices_by_rows_and_back(space, matrix):
    A = sparse.as_crs(matrix, space=space)
    m, n = A.shape
    sizes = [(r, c) for r in (1, 2, 3, 5) for c in (1, 2, 7) if m % r == 0 and n % c == 0]
    for block in sizes:
        B = sparse.to_bsr(A, block)
        expected = matrix.tobsr(block) if matrix.nnz and 0 not in matrix.shape else None
        assert (B.shape, B.block) == (matrix.shape, block)
        assert B.row_map.dtype == A.row_map.dtype and B.entries.dtype == A.entries.dtype
        assert np.array_equal(B.to_numpy(), matrix.toarray())
        for back in (B.to_crs(), sparse.as_crs(B)):
            assert back.nnz == B.nnz and back.graph.is_sorted()
            assert np.array_equal(back.to_numpy(), matrix.toarray())
            sparse.CrsMatrix(back.row_map, back.entries, back.values, back.shape)  # looks
        assert np.array_equal(B.T.to_numpy(), matrix.toarray().T)
        if expected is not None:
            assert B.graph.nnz == expected.data.shape[0]
            assert np.array_equal(B.row_map.to_numpy(), expected.indptr)


@given(st.integers(1, 3), st.integers(1, 3), st.data())
def test_any_elements_by_blocks(r, c, data):
    m, n = r * data.draw(st.integers(1, 4)), c * data.draw(st.integers(1, 4))
    places = st.tuples(st.integers(0, m - 1), st.integers(0, n - 1), st.integers(-9, 9))
    elements = sorted(data.draw(st.lists(places, max_size=20)), key=lambda e: e[0])
    row_map = np.searchsorted([e[0] for e in elements], np.arange(m + 1))
    with es.use_space("serial"):
        A = sparse.CrsMatrix(
            row_map.astype(np.int64), np.array([e[1] for e in elements], np.int32),
            np.array([e[2] for e in elements], float), (m, n),
        )  # fmt: skip
        B = sparse.to_bsr(A, (r, c))
        assert np.array_equal(B.to_numpy(), A.to_numpy())
        assert B.graph.is_sorted()
        assert B.graph.nnz == len({(e[0] // r, e[1] // c) for e in elements})


def test_matrices_of_scipy_and_pytorch(space):
    S = blocks(5, 4, (2, 3))
    B = sparse.as_bsr(S, space=space, check=True)
    back = sparse.to_scipy(B)
    assert back.format == "bsr" and back.blocksize == (2, 3) and abs(back - S).sum() == 0
    assert np.array_equal(sparse.as_crs(B).to_numpy(), S.toarray())
    with es.use_space("serial"):
        shared = sparse.as_bsr(S)
        assert np.asarray(shared.values).ctypes.data == S.data.ctypes.data
        assert sparse.as_bsr(shared) is shared


@pytest.mark.filterwarnings("ignore:Sparse")
def test_tensors_of_blocks(space):
    torch = pytest.importorskip("torch")
    S = blocks(5, 4, (2, 3))
    dense = torch.tensor(S.toarray())
    tensor = dense.to_sparse_bsr((2, 3))
    assert np.array_equal(sparse.as_bsr(tensor, space=space, check=True).to_numpy(), S.toarray())
    for one in (tensor, dense.to_sparse_bsc((2, 3)), dense.to_sparse_csc()):
        assert np.array_equal(sparse.as_crs(one, space=space).to_numpy(), S.toarray())
    with es.use_space("serial"):
        found = sparse.to_torch(sparse.as_bsr(tensor))
        assert found.layout is torch.sparse_bsr and torch.equal(found.to_dense(), dense)
        descending = sparse.BsrMatrix([0, 2], [1, 0], [[[1.0]], [[2.0]]], (1, 2))
        assert sparse.to_torch(descending).to_dense().tolist() == [[2.0, 1.0]]


def test_a_product_in_a_graph(space):
    B = sparse.BsrMatrix([0, 1], [0], [[[0.0, 2.0], [3.0, 0.0]]], (2, 2), space=space)
    x, y = es.ones(2, space=space), es.zeros(2, space=space)
    with es.Graph(space) as graph:
        sparse.spmv(B, x, out=y)
        es.deep_copy(x, y)
    ready = graph.instantiate()
    for _ in range(2):
        ready.submit()
    es.fence()
    assert x.to_numpy().tolist() == [6.0, 6.0]


def test_what_is_recorded(space):
    """What docs/sparse.md says that graphs take beside products."""
    B = sparse.BsrMatrix([0, 1], [0], [[[0.0, 2.0], [3.0, 0.0]]], (2, 2), space=space)
    A = sparse.CrsMatrix([0, 1, 2], [0, 0], [2.0, 3.0], (2, 2), space=space)
    x, y = es.ones(2, space=space), es.zeros(2, space=space)
    with es.Graph(space) as graph:
        made = B.to_crs(), B.T, sparse.transpose(A)
        found = sparse.diagonal(A)
        sparse.spmv(B, x, out=y, mode="T")
    ready = graph.instantiate()
    es.deep_copy(A.values, 5.0)
    ready.submit()
    es.fence()
    assert [m.to_numpy().tolist() for m in made] == [
        [[0.0, 2.0], [3.0, 0.0]], [[0.0, 3.0], [2.0, 0.0]], [[5.0, 5.0], [0.0, 0.0]],
    ]  # fmt: skip
    assert found.to_numpy().tolist() == [5.0, 0.0] and y.to_numpy().tolist() == [3.0, 2.0]


def test_parts_and_other_values(space):
    B = sparse.BsrMatrix([0, 1], [0], [[[1.0, 2.0]]], (1, 2), space=space)
    assert (B.nnz, B.block, B.shape, B.dtype) == (2, (1, 2), (1, 2), np.float64)
    assert repr(B).startswith("<BsrMatrix 1 x 2 of float64, 1 blocks of 1 x 2, memory=")
    assert (B @ es.ones(2, space=space)).to_numpy().tolist() == [3.0]
    B.values = es.ones((1, 1, 2), space=space)
    assert (B @ es.ones(2, space=space)).to_numpy().tolist() == [2.0]
    assert sparse.BsrMatrix.of(B.graph, B.values).graph is B.graph
    assert B.to_space(space).to_numpy().tolist() == [[1.0, 1.0]]
    with pytest.raises(MatrixError, match=r"expected \(1, 1, 2\), as before"):
        B.values = es.ones((1, 2, 1), space=space)


def test_what_is_refused(space):
    one = [[[1.0, 2.0]]]
    make = sparse.BsrMatrix
    A = sparse.CrsMatrix([0, 1, 2], [1, 0], [2.0, 3.0], (2, 2), space=space)
    B = make([0, 1], [0], one, (1, 2), space=space)
    large = sparse.to_bsr(A, 2)
    x, y = es.ones(2, space=space), es.zeros(1, space=space)
    wrong = [
        (MatrixError, lambda: make([0, 1], [0], [1.0], (1, 1)), "expected .number of blocks, rows"),
        (MatrixError, lambda: make([0, 1], [0], one, (1, 3)), "blocks are of 1 x 2; expected mult"),
        (MatrixError, lambda: make([0, 1], [0], one, (2, 2)), "row_map has 2 elements; expected 3"),
        (MatrixError, lambda: make([0, 2], [0, 0], one, (1, 2)), "expected 2 blocks, one for each"),
        (MatrixError, lambda: make([0, 1], [1], one, (1, 2)), "row 0 has an entry in column 1"),
        (MatrixError, lambda: make([0, 1], [0], [[[1, 2]]], (1, 2)), "values are of int64"),
        (MatrixError, lambda: make.of(3, one), "expected a StaticCrsGraph, got 'int'"),
        (MatrixError, lambda: sparse.to_bsr(A, 3), "block=3 for a matrix of 2 x 2"),
        (MatrixError, lambda: sparse.to_bsr(A, 0), "block=0; expected a number of 1 or more"),
        (MatrixError, lambda: sparse.to_bsr(A, "ab"), "block='ab'; expected a number of 1"),
        (MatrixError, lambda: sparse.to_bsr(A, (1, 2, 3)), "expected a number of 1 or more, or tw"),
        (MatrixError, lambda: sparse.as_bsr(A), "expected a BsrMatrix, or a sparse matrix of"),
        (MatrixError, lambda: sparse.spmv(B, x, algorithm="balanced"), "expected 'auto', 'rows'"),
        (MatrixError, lambda: sparse.spmv(B, x, algorithm="gather"), "is for modes 'T' and 'H'"),
        (MatrixError, lambda: sparse.spmv(large, x, mode="T", algorithm="rows"), "not for transp"),
        (es.ViewError, lambda: sparse.spmv(B, y), r"expected \(2,\) or \(2, k\)"),
        (es.ViewError, lambda: sparse.spmv(B, x, out=x[:1]), "out overlaps x in memory"),
    ]  # fmt: skip
    for kind, call, message in wrong:
        with pytest.raises(kind, match=message):
            call()

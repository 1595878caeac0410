"""Matrices by rows: what they are made of, how they come and go, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import execspace as es
from execspace_kernels import MatrixError, sparse

scipy_sparse = pytest.importorskip("scipy.sparse")


def test_a_matrix_and_its_parts(space):
    A = sparse.CrsMatrix([0, 2, 2, 3], [0, 2, 1], [1.0, 2.0, 3.0], shape=(3, 4), space=space)
    assert (A.shape, A.nnz, A.dtype) == ((3, 4), 3, np.float64)
    assert A.row_map.to_numpy().tolist() == [0, 2, 2, 3] and A.row_map.is_readonly
    assert A.entries.to_numpy().tolist() == [0, 2, 1] and A.entries.is_readonly
    assert A.to_numpy().tolist() == [[1, 0, 2, 0], [0, 0, 0, 0], [0, 3, 0, 0]]
    assert (A.graph.longest(), A.graph.most_in(2), A.graph.is_sorted()) == (2, 2, True)
    assert repr(A).startswith("<CrsMatrix 3 x 4 of float64, 3 entries")
    es.deep_copy(A.values, 5.0)
    B = sparse.CrsMatrix.of(A.graph, A.values)
    assert B.graph is A.graph and B.to_numpy().sum() == 15.0


def test_matrices_of_scipy_share_their_memory(matrix):
    with es.use_space("serial"):
        A = sparse.as_crs(matrix, check=True)
        assert np.asarray(A.values).ctypes.data == matrix.data.ctypes.data
        assert np.array_equal(A.to_numpy(), matrix.toarray())
        back = sparse.to_scipy(A)
        assert back.shape == matrix.shape and abs(back - matrix).sum() == 0


@pytest.mark.parametrize("form", ["csc", "coo", "lil", "dia", "bsr", "dok"])
def test_other_formats_are_converted(space, form):
    S = scipy_sparse.random_array((12, 9), density=0.3, rng=np.random.default_rng(1), format=form)
    assert np.array_equal(sparse.as_crs(S, space=space).to_numpy(), S.toarray())


@pytest.mark.filterwarnings("ignore:Sparse")  # PyTorch says that its matrices are new
def test_tensors_of_pytorch(space):
    torch = pytest.importorskip("torch")
    dense = np.diag([1.0, 2.0, 3.0]) + np.eye(3, k=1)
    tensor = torch.tensor(dense)
    for form in (tensor.to_sparse_csr(), tensor.to_sparse_coo(), tensor.to_sparse_csc()):
        A = sparse.as_crs(form, space=space)
        assert np.array_equal(A.to_numpy(), dense)
    with es.use_space("serial"):
        shared = sparse.as_crs(tensor.to_sparse_csr())
        assert np.array_equal(sparse.to_torch(shared).to_dense().numpy(), dense)
    with pytest.raises(MatrixError, match="expected a sparse tensor of 2 dimensions"):
        sparse.as_crs(tensor)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda c: c([0, 2, 1], [0], [1.0], (2, 2)), "row 1 begins at 2 and ends at 1"),
        (lambda c: c([1, 1, 1], [0], [1.0], (2, 2)), "row_map begins with 1; expected 0"),
        (lambda c: c([0, 1, 3], [0, 1], [1.0, 2.0], (2, 2)), "ends with 3, and there are 2"),
        (lambda c: c([0, 1, 2], [0, 5], [1.0, 2.0], (2, 2)), "row 1 has an entry in column 5"),
        (lambda c: c([0, 1, 2], [0, -1], [1.0, 2.0], (2, 2)), "row 1 has an entry in column -1"),
        (lambda c: c([0, 1], [0], [1.0], (2, 2)), "row_map has 2 elements; expected 3"),
        (lambda c: c([0, 1], [0], [1.0, 2.0], (1, 1)), r"values has shape \(2,\); expected \(1,\)"),
        (lambda c: c([0, 1], [0], [1], (1, 1)), "values are of int64; expected real or complex"),
        (lambda c: c([0, 1], [0], [1.0], (1, -1)), "columns=-1; expected a number of 0 or more"),
        (lambda c: c([0, 1], [0], [1.0], 1), r"shape=1; expected \(rows, columns\)"),
        (lambda c: c([], [], [], (0, 0)), "row_map is empty; expected one element more"),
    ],
)  # fmt: skip
def test_what_is_no_matrix_is_refused(space, make, message):
    with pytest.raises(MatrixError, match=message):
        make(lambda *given: sparse.CrsMatrix(*given, space=space))
    arrays = (np.int64, np.int64, None)  # of the host, whatever the space in use
    with pytest.raises(MatrixError, match=message):
        make(
            lambda *given: sparse.CrsMatrix(
                *(np.array(g, d) for g, d in zip(given, arrays, strict=False)), *given[3:]
            )
        )


def test_arrays_that_are_none_are_refused():
    with pytest.raises(es.ViewError, match="expected rank 1 and int32 or int64"):
        sparse.CrsMatrix(np.array([0.0, 1.0]), [0], [1.0], (1, 1))
    with pytest.raises(MatrixError, match="expected a sparse matrix, CrsMatrix or one of SciPy"):
        sparse.as_crs(np.eye(3))


def test_transposes_diagonals_and_order(space, matrix):
    A = sparse.as_crs(matrix, space=space)
    assert np.array_equal(sparse.transpose(A).to_numpy(), matrix.toarray().T)
    assert np.array_equal(A.T.T.to_numpy(), matrix.toarray())
    assert np.array_equal(sparse.diagonal(A).to_numpy(), matrix.diagonal())
    assert A.T.graph.is_sorted()
    C = sparse.as_crs((matrix * (1 + 2j)).tocsr(), space=space)
    assert np.array_equal(
        sparse.transpose(C, conjugate=True).to_numpy(), (matrix * (1 - 2j)).toarray().T
    )


@given(
    st.integers(1, 6).flatmap(
        lambda n: st.tuples(
            st.just(n),
            st.lists(
                st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), st.integers(-9, 9)),
                max_size=30,
            ),
        )
    )
)
def test_elements_in_any_order_are_added(drawn):
    n, elements = drawn
    dense = np.zeros((n, n))
    for row, column, value in elements:
        dense[row, column] += value
    rows, columns, values = ([e[d] for e in elements] for d in range(3))
    with es.use_space("serial"):
        found = sparse.CooMatrix(
            np.array(rows, np.int32), np.array(columns, np.int32), np.array(values, float), (n, n)
        ).to_crs()
        assert np.array_equal(found.to_numpy(), dense)
        assert found.graph.is_sorted() and found.nnz == len({e[:2] for e in elements})
        twice = sparse.CrsMatrix(
            np.array([0, *np.cumsum(np.bincount(np.array(rows, int), minlength=n))]),
            np.array(columns, np.int64)[np.argsort(rows, kind="stable")] if rows else [],
            np.array(values, float)[np.argsort(rows, kind="stable")] if rows else np.zeros(0),
            (n, n),
        )
        assert np.array_equal(sparse.sort_and_merge(twice).to_numpy(), dense)
        assert np.array_equal(sparse.sort(twice).to_numpy(), dense)


def test_elements_outside_are_named(space):
    with pytest.raises(MatrixError, match=r"element 1 is at \(0, 7\), outside of a matrix of 2"):
        sparse.CooMatrix([0, 0], [1, 7], [1.0, 2.0], (2, 2))
    with pytest.raises(MatrixError, match="expected the same number of each"):
        sparse.CooMatrix([0], [1, 1], [1.0], (2, 2))
    with pytest.raises(MatrixError, match="more places than an int64 can count"):
        sparse.CooMatrix([0], [0], [1.0], (2**40, 2**40)).to_crs()


def test_files_of_the_matrix_market(space, matrix, tmp_path):
    path = tmp_path / "m.mtx"
    A = sparse.as_crs(matrix, space=space)
    sparse.write_matrix_market(path, A, comment="a matrix")
    again = sparse.read_matrix_market(path, space=space)
    assert np.array_equal(again.to_numpy(), matrix.toarray()) and again.shape == matrix.shape


@pytest.mark.parametrize(
    ("text", "dense"),
    [
        ("coordinate real symmetric\n2 2 2\n1 1 4\n2 1 5\n", [[4, 5], [5, 0]]),
        ("coordinate real skew-symmetric\n2 2 1\n2 1 5\n", [[0, -5], [5, 0]]),
        ("coordinate complex hermitian\n2 2 1\n2 1 1 2\n", [[0, 1 - 2j], [1 + 2j, 0]]),
        ("coordinate pattern general\n2 3 2\n1 3\n2 1\n", [[0, 0, 1], [1, 0, 0]]),
        ("coordinate integer general\n1 2 2\n1 2 3\n1 2 4\n", [[0, 7]]),
        ("array real general\n2 2\n1\n2\n3\n4\n", [[1, 3], [2, 4]]),
    ],
)
def test_kinds_of_files(tmp_path, text, dense):
    path = tmp_path / "m.mtx"
    path.write_text(f"%%MatrixMarket matrix {text}")
    with es.use_space("serial"):
        assert np.array_equal(sparse.read_matrix_market(path).to_numpy(), np.array(dense))


def test_files_that_are_none(tmp_path):
    path = tmp_path / "none.mtx"
    path.write_text("no matrix\n")
    with pytest.raises(MatrixError, match=r"none.mtx' is no file of the Matrix Market"):
        sparse.read_matrix_market(path)
    with pytest.raises(OSError, match="missing"):
        sparse.read_matrix_market(tmp_path / "missing.mtx")


def test_what_a_matrix_was_checked_for_stays_so(space):
    A = sparse.CrsMatrix([0, 2, 3], [0, 1, 1], [2.0, 1.0, 3.0], (2, 2), space=space)
    for assign in (
        lambda: setattr(A.graph, "num_cols", 1),
        lambda: setattr(A.graph, "entries", A.entries),
        lambda: setattr(A, "graph", None),
    ):
        with pytest.raises(AttributeError):
            assign()
    with pytest.raises(MatrixError, match=r"values has shape \(1,\); expected \(3,\)"):
        A.values = es.ones(1, space=space)
    with pytest.raises(MatrixError, match="values are of int64"):
        A.values = es.array([1, 2, 3], space=space)
    A.values = es.ones(3, space=space)
    assert A.to_numpy().tolist() == [[1, 1], [0, 1]]


def test_results_that_would_be_lost_or_cut_are_refused(space):
    A = sparse.CrsMatrix([0, 1, 2], [1, 1], [2.7, 1.0], (2, 2), space=space)
    row_map = np.array([0, 2, 3])
    with es.use_space("serial"):
        B = sparse.CrsMatrix(row_map, [0, 1, 1], [2.0, 1.0, 3.0], (2, 2))
        with pytest.raises(es.ViewError, match="out overlaps row map in memory"):
            sparse.spmv(B, np.ones(2), out=row_map.view(np.float64)[1:])
        flat = np.lib.stride_tricks.as_strided(np.zeros(1), (2,), (0,))
        with pytest.raises(es.ViewError, match="whose elements lie at one place"):
            sparse.spmv(B, np.ones(2), out=flat)
        with pytest.raises(es.ViewError, match="out is a list; expected a View or an array"):
            sparse.spmv(B, np.ones(2), out=[0.0, 0.0])
    with pytest.raises(
        es.ViewError, match=r"out is View .* of int64, and the result is of float64"
    ):
        sparse.diagonal(A, out=es.View(2, es.int64, space=space))
    with pytest.raises(es.ViewError, match="out overlaps the values in memory"):
        sparse.diagonal(A, out=A.values)
    with pytest.raises(es.ViewError, match="row_map: a list of float64; expected integers"):
        sparse.CrsMatrix([0, 1.5, 2], [1, 1], [1.0, 1.0], (2, 2), space=space)
    with pytest.raises(MatrixError, match="columns is 2\\*\\*63 or more"):
        sparse.CrsMatrix([0, 1, 2], [1, 1], [1.0, 1.0], (2, 2**63), space=space)


def test_functions_take_matrices_of_scipy():
    S = scipy_sparse.csr_array(np.array([[0.0, 2.0], [1.0, 0.0]]))
    with es.use_space("serial"):
        for made in (sparse.transpose(S), sparse.sort(S).T, sparse.sort_and_merge(S.T)):
            assert made.to_numpy().tolist() == [[0.0, 1.0], [2.0, 0.0]]
        assert sparse.diagonal(S).to_numpy().tolist() == [0.0, 0.0]
        for call in (sparse.transpose, sparse.diagonal, sparse.to_scipy):
            with pytest.raises(MatrixError, match="expected a sparse matrix"):
                call(3)


@pytest.mark.filterwarnings("ignore:Sparse")
def test_matrices_that_pytorch_does_not_take_as_they_are():
    torch = pytest.importorskip("torch")
    with es.use_space("serial"):
        A = sparse.CrsMatrix(
            np.array([0, 2, 3]), np.array([1, 0, 1], np.int32), np.array([3.0, 2.0, 1.0])[::-1],
            (2, 2),
        )  # fmt: skip
        found = sparse.to_torch(A)
        assert isinstance(found, torch.Tensor)
        assert found.to_dense().tolist() == A.to_numpy().tolist() == [[2.0, 1.0], [0.0, 3.0]]


def test_files_that_cannot_be_written_say_so(tmp_path):
    S = scipy_sparse.eye_array(2, format="csr")
    with es.use_space("serial"):
        for path in (tmp_path / "missing" / "m.mtx", tmp_path):
            with pytest.raises(OSError):
                sparse.write_matrix_market(path, sparse.as_crs(S))
        for name in ("m.txt", "m.mtx.gz"):
            sparse.write_matrix_market(tmp_path / name, S)
            assert [p.name for p in tmp_path.iterdir()] == [name]
            again = sparse.read_matrix_market(tmp_path / name).to_numpy()
            assert again.tolist() == [[1.0, 0.0], [0.0, 1.0]]
            (tmp_path / name).unlink()

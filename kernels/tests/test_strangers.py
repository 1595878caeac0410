"""What people give who do not know the package: refused by name, or taken, and never a crash."""

from __future__ import annotations

import bz2
import gzip
import inspect
import io
import re

import numpy as np
import pytest

import execspace as es
import execspace_kernels
from execspace_kernels import MatrixError, sparse

scipy_sparse = pytest.importorskip("scipy.sparse")
BANNER = "%%MatrixMarket matrix "
ONE = f"{BANNER}coordinate real general\n1 1 1\n1 1 2\n"


def one():
    return sparse.CrsMatrix([0, 1, 2], [1, 0], [2.0, 3.0], (2, 2))


@pytest.mark.parametrize("shape", [(0, 0), (3, 0), (0, 3)])
@pytest.mark.parametrize("kind", ["array", "coordinate"])
def test_files_of_matrices_without_elements(space, tmp_path, shape, kind):
    """SciPy's reader ends the process at a dense one."""
    path = tmp_path / "m.mtx"
    count = " 0" if kind == "coordinate" else ""
    size = f"{shape[0]} {shape[1]}{count}"
    path.write_text(f"{BANNER}{kind} real general\n% nothing\n\n{size}\n")
    A = sparse.read_matrix_market(path, space=space)
    assert (A.shape, A.nnz) == (shape, 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("array real symmetric\n2 3\n1\n2\n3\n", "of 2 x 3 that is symmetric; expected a square"),
        ("coordinate real symmetric\n2 3 1\n2 1 5\n", "of 2 x 3 that is symmetric; expected a sq"),
        ("coordinate complex hermitian\n3 2 1\n2 1 5 1\n", "of 3 x 2 that is hermitian"),
        ("array real general\n-1 2\n", "has a matrix of -1 x 2; expected a size"),
        (f"array real general\n{2**40} {2**40}\n", "expected a size"),
        ("array real general\n", "is no file of the Matrix Market"),
        ("coordinate real general\n2 2 3\n1 1 2\n", "is no file of the Matrix Market: Truncated"),
    ],
)
def test_files_that_are_wrong(tmp_path, text, message):
    path = tmp_path / "wrong.mtx"
    path.write_text(BANNER + text)
    with pytest.raises(MatrixError, match=message) as caught:
        sparse.read_matrix_market(path)
    assert "wrong.mtx" in str(caught.value)


def test_files_that_are_compressed_whatever_their_names(space, tmp_path):
    for name, compress in (
        ("a.mtx.gz", gzip.compress), ("a.mtx", gzip.compress), ("b.mtx.bz2", bz2.compress),
        ("b.mtx", bz2.compress), ("c.mtx.gz", bytes), ("c.mtx", bytes),
    ):  # fmt: skip
        path = tmp_path / name
        path.write_bytes(compress(ONE.encode()))
        for given in (path, str(path), bytes(path)):
            assert sparse.read_matrix_market(given, space=space).to_numpy().tolist() == [[2.0]]
    (tmp_path / "cut.mtx.gz").write_bytes(gzip.compress(ONE.encode())[:-12])
    (tmp_path / "none.mtx.gz").write_bytes(b"\x1f\x8bnothing")
    for name in ("cut.mtx.gz", "none.mtx.gz"):
        with pytest.raises(MatrixError, match=name):
            sparse.read_matrix_market(tmp_path / name)


def test_what_is_no_path(tmp_path):
    with es.use_space("serial"):
        A = one()
        for path in (None, 3, io.BytesIO()):
            message = re.escape(f"path={path!r}; expected the path of a file")
            with pytest.raises(MatrixError, match=message):
                sparse.read_matrix_market(path)
            with pytest.raises(MatrixError, match=message):
                sparse.write_matrix_market(path, A)
        sparse.write_matrix_market(bytes(tmp_path / "m.mtx.gz"), A)
        read = sparse.read_matrix_market(bytes(tmp_path / "m.mtx.gz"))
        assert read.to_numpy().tolist() == A.to_numpy().tolist()
    for path in (tmp_path, tmp_path / "missing.mtx", bytes(tmp_path / "missing.mtx")):
        with pytest.raises(OSError, match=tmp_path.name):
            sparse.read_matrix_market(path)


def test_float16(tmp_path):
    dia = scipy_sparse.dia_array((np.ones((1, 1), np.float16), [0]), shape=(1, 1))
    with es.use_space("serial"):
        A = sparse.CrsMatrix([0, 1], [0], np.ones(1, np.float16), (1, 1))
        assert sparse.spmv(A, np.ones(1, np.float16)).to_numpy().tolist() == [1.0]
        for call in (
            lambda: sparse.to_scipy(A),
            lambda: sparse.write_matrix_market(tmp_path / "m.mtx", A),
            lambda: sparse.as_crs(dia),
        ):
            with pytest.raises(MatrixError, match=r"float16.*numpy\.float32"):
                call()
        A.values = es.array(A.values, np.float32)
        assert sparse.to_scipy(A).toarray().tolist() == [[1.0]]
        assert sparse.as_crs(dia.astype(np.float32)).nnz == 1


def test_lists_that_are_no_arrays(space):
    make = sparse.CrsMatrix
    for call, message in (
        (lambda: make([[0, 1]], [0], [1.0], (1, 1)), "row_map: View 'row_map' has rank 2"),
        (lambda: make([[0, 1], [2]], [0], [1.0], (1, 1)), "row_map: NumPy makes no array of this"),
        (lambda: make([0, 2**70], [0], [1.0], (1, 1)), "row_map: a list of object; expected inte"),
        (lambda: make([0, 1], [2**63], [1.0], (1, 1)), "entries: a list with 9223372036854775808"),
        (lambda: make([0, 1], ["a"], [1.0], (1, 1)), "entries: a list of <U1; expected integers"),
        (lambda: make([0, 1], [0], [[1.0], [1, 2]], (1, 1)), "values: NumPy makes no array of th"),
        (lambda: make(None, [0], [1.0], (1, 1)), "NoneType"),
    ):
        with pytest.raises((es.ViewError, es.ViewTypeError), match=message):
            call()


def test_numbers_and_words_that_are_none(space):
    A = one()
    coo = sparse.CooMatrix([0], [0], [1.0], (1, 1))
    for call, message in (
        (lambda: coo.to_crs(offsets="foo"), "offsets='foo'; expected int32 or int64"),
        (lambda: coo.to_crs(offsets=float), "expected int32 or int64"),
        (lambda: A.graph.most_in(0), "most_in: rows=0; expected a number of 1 or more"),
        (lambda: A.graph.most_in(-1), "most_in: rows=-1; expected a number of 1 or more"),
        (lambda: A.graph.most_in("a"), "most_in: rows='a'; expected a number of 1 or more"),
    ):
        with pytest.raises(MatrixError, match=message):
            call()


def test_integers_of_many_digits():
    with es.use_space("oracle"):  # which compiles nothing
        A, x, big = sparse.CrsMatrix([0, 1], [0], [1.0], (1, 1)), es.ones(1), 10**5000
        y = es.zeros(1)
        sparse.spmv(A, x, out=y, alpha=2)
        assert sparse.spmv(A, x, out=y, alpha=10**30).to_numpy().tolist() == [1e30]
        assert sparse.spadd(A, A, beta=-(2**64)).to_numpy().tolist() == [[1.0 - 2.0**64]]
        too_large = "is an integer of 16610 bits; expected a number that a float64 can hold"
        grid = [-1.0, 2.0, -1.0]
        for call, message in (
            (lambda: sparse.spmv(A, x, alpha=big), f"spmv: alpha {too_large}"),
            (lambda: sparse.spmv(A, x, out=y, alpha=big), f"spmv: alpha {too_large}"),
            (lambda: sparse.spmv(A, x, beta=-big), f"spmv: beta {too_large}"),
            (lambda: sparse.spadd(A, A, beta=big), f"spadd: beta {too_large}"),
            (lambda: sparse.spgemm_jacobi(A, A, big), f"spgemm_jacobi: omega {too_large}"),
            (lambda: sparse.drop(A, big), f"drop: tolerance {too_large}"),
            (
                lambda: sparse.drop(A, -big),
                "drop: tolerance=an integer of 16610 bits; expected a num",
            ),
            (lambda: sparse.to_bsr(A, big), "to_bsr: block=an integer of 16610 bits"),
            (
                lambda: sparse.block_diagonal(A, big),
                "block_diagonal: block=an integer of 16610 bits",
            ),
            (
                lambda: sparse.extract_blocks(A, [0, big]),
                "starts=a list with integers of thousands",
            ),
            (
                lambda: sparse.StencilMatrix(grid, (2**63,)),
                r"extents=\(9223372036854775808,\); expec",
            ),
            (lambda: sparse.StencilMatrix([1.0] * 5, (2**40, 2**40)), "that an int64 can count"),
            (lambda: sparse.StaticCrsGraph([0], [], big), r"num_cols is 2\*\*63 or more"),
            (lambda: A.graph.most_in(big), r"most_in: rows is 2\*\*63 or more"),
        ):
            with pytest.raises(MatrixError, match=message):
                call()
        with pytest.raises(es.ViewError, match="values: a list that NumPy makes objects of"):
            sparse.CrsMatrix([0, 1], [0], [big], (1, 1))


def test_help_names_the_algorithms():
    text = inspect.getdoc(sparse.spmv)
    assert "See the module" not in text
    for name in ("rows", "stream", "balanced", "gather", "scalars", "grid", "edges"):
        assert f'"{name}"' in text
    assert "not integers" in inspect.getdoc(sparse.CrsMatrix)


def test_matrices_of_others_are_checked_if_asked_for():
    broken = scipy_sparse.csr_array(np.eye(2))
    broken.indices[1] = 7
    with es.use_space("serial"), pytest.raises(MatrixError, match="row 1 has an entry in column 7"):
        sparse.as_crs(broken, check=True)


def test_a_matrix_that_is_made_in_a_recording_has_no_structure_yet(space):
    A = sparse.CrsMatrix([0, 2, 3], [0, 1, 1], [2.0, 1.0, 3.0], shape=(2, 2), space=space)
    x = es.ones(4, space=space)
    with es.Graph(space):
        V = sparse.vstack([A, A])
        for call in (
            lambda: sparse.spgemm(V, A),
            lambda: sparse.spmv(V, x, mode="T"),
            lambda: sparse.transpose(V),
            lambda: sparse.sort(V),
        ):
            with pytest.raises(es.LaunchError, match="made in this recording"):
                call()


def test_columns_of_stacks_beyond_int32(space):
    n = 1_500_000_000
    H = sparse.CrsMatrix(
        np.array([0, 1], np.int32), np.array([n - 1], np.int32), [1.0], shape=(1, n), space=space
    )
    assert sparse.hstack([H, H]).entries.to_numpy().tolist() == [n - 1, 2 * n - 1]


def test_numbers_of_sums_and_rounds(space):
    A = sparse.CrsMatrix([0, 1], [0], [1.0], shape=(1, 1), space=space)
    for wrong in ("a", None, [2.0]):
        with pytest.raises(MatrixError, match=r"alpha=.*expected a number"):
            sparse.spadd(A, A, alpha=wrong)
    for wrong in (0, "a", 1.5):
        with pytest.raises(MatrixError, match="rounds="):
            execspace_kernels.tune(sparse.spmv, A, [1.0], rounds=wrong)

"""What can be recorded for a graph: what the page says, and no more."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import execspace as es
from execspace_kernels import MatrixError, sparse

PAGE = Path(__file__).parents[2] / "docs" / "sparse.md"


def test_what_the_page_says(tmp_path):
    pytest.importorskip("scipy.sparse")
    with es.use_space("oracle"):  # which compiles nothing
        A = sparse.CrsMatrix([0, 1, 3], [0, 0, 1], [2.0, 1.0, 4.0], shape=(2, 2))
        B = sparse.CrsMatrix([0, 2, 3], [1, 0, 1], [1.0, 2.0, 3.0], shape=(2, 2))  # not sorted
        P, S = sparse.to_bsr(A, 2), sparse.StencilMatrix([-1.0, 2.0, -1.0], (2,))
        coo = sparse.CooMatrix([0], [1], [1.0], (2, 2))
        x, y = es.ones(2), es.zeros(2)
        add, multiply = sparse.spadd_symbolic(A, B), sparse.spgemm_symbolic(A, B)
        solve, factor = sparse.sptrsv_symbolic(A), sparse.ilu_symbolic(A)
        sparse.ilu_numeric(factor, A)
        relax = sparse.gauss_seidel_symbolic(A)
        sparse.gauss_seidel_numeric(relax, A)
        M = sparse.Jacobi(A)
        recorded = {
            "spmv": lambda: (sparse.spmv(A, x, out=y), sparse.spmv(A, x, mode="T"), S @ x, P @ x),
            "spadd": lambda: (sparse.spadd(A, A), sparse.spadd(A, B)),
            "spadd_numeric": lambda: sparse.spadd_numeric(add, A, B),
            "spgemm": lambda: sparse.spgemm(A, B),
            "spgemm_numeric": lambda: sparse.spgemm_numeric(multiply, A, B),
            "spgemm_jacobi": lambda: sparse.spgemm_jacobi(A, B, 0.5, check=False),
            "sort": lambda: sparse.sort(B),
            "transpose": lambda: sparse.transpose(B),
            "diagonal": lambda: sparse.diagonal(A),
            "block_diagonal": lambda: sparse.block_diagonal(A, 1),
            "vstack": lambda: sparse.vstack([A, B]),
            "hstack": lambda: sparse.hstack([A, B]),
            "sptrsv_solve": lambda: sparse.sptrsv_solve(solve, A, x, out=y, check=False),
            "gauss_seidel_numeric": lambda: sparse.gauss_seidel_numeric(relax, A, check=False),
            "gauss_seidel_apply": lambda: sparse.gauss_seidel_apply(relax, A, x, y),
            "ilu_numeric": lambda: sparse.ilu_numeric(factor, A, check=False),
            "ilu_apply": lambda: sparse.ilu_apply(factor, x, out=y),
            "T": lambda: (A.T, P.T, S.T),
            "to_crs": lambda: P.to_crs(),
            "apply": lambda: M.apply(x, out=y),
        }
        at_once = {
            "spadd_symbolic": lambda: sparse.spadd_symbolic(A, B),
            "spgemm_symbolic": lambda: sparse.spgemm_symbolic(A, B),
            "sptrsv_symbolic": lambda: sparse.sptrsv_symbolic(A),
            "gauss_seidel_symbolic": lambda: sparse.gauss_seidel_symbolic(A),
            "ilu_symbolic": lambda: sparse.ilu_symbolic(A),
            "colour": lambda: sparse.colour(A.graph),
        }
        refused = {
            "spgemm_jacobi": lambda: sparse.spgemm_jacobi(A, B, 0.5),
            "sort_and_merge": lambda: sparse.sort_and_merge(B),
            "submatrix": lambda: sparse.submatrix(A, [0]),
            "tril": lambda: sparse.tril(A),
            "triu": lambda: sparse.triu(A),
            "drop": lambda: sparse.drop(A),
            "extract_blocks": lambda: sparse.extract_blocks(A, [0, 1, 2]),
            "to_bsr": lambda: sparse.to_bsr(A, 2),
            "CooMatrix.to_crs": lambda: coo.to_crs(),
            "CooMatrix.to_numpy": lambda: coo.to_numpy(),
            "StencilMatrix.to_crs": lambda: S.to_crs(),
            "StencilMatrix.from_crs": lambda: sparse.StencilMatrix.from_crs(A, (2,)),
            "to_scipy": lambda: sparse.to_scipy(A),
            "CrsMatrix.to_numpy": lambda: A.to_numpy(),
            "BsrMatrix.to_numpy": lambda: P.to_numpy(),
            "read_matrix_market": lambda: sparse.read_matrix_market(tmp_path / "a.mtx"),
            "write_matrix_market": lambda: sparse.write_matrix_market(tmp_path / "a.mtx", A),
        }
        for calls in (recorded, at_once, refused):
            for name, call in calls.items():
                with es.Graph():
                    if calls is refused:
                        with pytest.raises(es.LaunchError, match=f"^{re.escape(name)} "):
                            call()
                    else:
                        call()
    paragraph = re.search(r"### What is recorded\n\n(.*?)\n#", PAGE.read_text("utf-8"), re.S)
    can, done = re.findall(
        r"(?:can be recorded|are done at once)[^:]*:(.*?)\.\n", paragraph[1], re.S
    )
    assert set(re.findall(r"`(\w+)`", can)) == {*recorded}
    assert set(re.findall(r"`(\w+)`", done)) == {*at_once}


def test_what_is_wrong_is_said_in_a_recording():
    with es.use_space("oracle"):
        A = sparse.CrsMatrix([0, 2, 3], [0, 0, 1], [2.0, 1.0, 4.0], shape=(2, 2))
        U = sparse.CrsMatrix([0, 2, 3], [0, 1, 1], [2.0, 1.0, 4.0], shape=(2, 2))
        for call, message in (
            (lambda: sparse.CrsMatrix([0, 1], [5], [1.0], (1, 2)), "row 0 has an entry in column"),
            (lambda: sparse.CrsMatrix([1, 1], [0], [1.0], (1, 2)), "row_map begins with 1"),
            (lambda: sparse.CooMatrix([0], [5], [1.0], (1, 2)), r"element 0 is at \(0, 5\)"),
            (lambda: sparse.sptrsv_symbolic(U), "row 0"),
            (lambda: sparse.spgemm_jacobi(A, U, 1.0, check=False), "row 0 of A has several"),
        ):
            with es.Graph(), pytest.raises(MatrixError, match=message):
                call()


def test_sums_in_a_graph():
    with es.use_space("serial") as space:
        A = sparse.CrsMatrix([0, 1, 3], [0, 0, 1], [2.0, 1.0, 4.0], shape=(2, 2))
        with es.Graph(space) as graph:
            C = sparse.spadd(A, A, beta=2.0)
            with pytest.raises(es.LaunchError, match=r"spadd: it has to look at .* made in this"):
                sparse.spadd(C, A)
        es.deep_copy(A.values, 1.0)
        graph.submit()
        assert C.to_numpy().tolist() == [[3.0, 0.0], [3.0, 3.0]]


def test_a_step_of_jacobi_in_a_graph(space):
    A = sparse.CrsMatrix([0, 1, 3], [0, 0, 1], [2.0, 1.0, 4.0], shape=(2, 2))
    handle = sparse.spgemm_symbolic(A, A)
    C = sparse.spgemm_jacobi(A, A, 1.0, handle=handle)
    first = C.to_numpy()
    es.deep_copy(C.values, 0.0)
    with es.Graph(space) as graph:
        with pytest.raises(es.LaunchError, match=r"^spgemm_jacobi .*check=False"):
            sparse.spgemm_jacobi(A, A, 1.0, handle=handle, C=C)
        sparse.spgemm_jacobi(A, A, 1.0, handle=handle, C=C, check=False)
    graph.submit()
    assert np.array_equal(C.to_numpy(), first) and first[1, 0] == -0.5
    twice = sparse.CrsMatrix([0, 2, 3], [0, 0, 1], [2.0, 1.0, 4.0], shape=(2, 2))
    message = r"row 0 of A has several entries on the diagonal.*sparse\.sort_and_merge\(A\)"
    with pytest.raises(MatrixError, match=message):
        sparse.spgemm_jacobi(twice, A, 1.0)
    merged = sparse.sort_and_merge(twice)
    assert sparse.spgemm_jacobi(merged, A, 1.0).to_numpy()[0, 0] == pytest.approx(0.0)

"""Products of dense matrices with vectors, and of tall ones with each other, beside NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from blas_arrays import DTYPES, LAYOUTS, duals, laid_out, needs, random, set_limits, sizes
from hypothesis import given
from hypothesis import strategies as st

import execspace as es
from execspace_kernels import MatrixError, blas, explain

MODES = {
    "N": lambda A: A, "T": lambda A: A.T, "C": lambda A: A.conj(), "H": lambda A: A.conj().T,
}  # fmt: skip
PIECES = {"_SPAN": 5, "_TILE": 8, "_THREADS": 8, "_SHORT": 5, "_SCRATCH": 112}
SMALL = {
    "products": PIECES, "dot_gemm": {"_ROWS": 7, "_FEW": 2},
    "dot_gemm_teams": {"_BLOCK": 8, "_BYTES": 300},
}  # fmt: skip


@pytest.fixture(params=["as it is", "in pieces", "device", "device in pieces"])
def form(request, space, monkeypatch):
    """Which form of the kernels runs."""
    small = SMALL if "pieces" in request.param else {}
    set_limits(monkeypatch, as_a_device="device" in request.param, **small)
    return request.param


def algorithms(space, *by_teams):
    return by_teams if isinstance(space, es.SupportsTeams) else ()


def close(view, expected, single=1e-4, double=1e-12):
    rtol = single if np.zeros(0, view.dtype).real.dtype == np.float32 else double
    return np.allclose(view.to_numpy(), expected, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("dtype", [*DTYPES, np.int64])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("mode", MODES)
def test_gemv(space, form, layout, mode, dtype):
    needs(space, dtype)
    some = sizes(space) if space.name != "oracle" else (0, 1, 9)
    for m in some:
        for n in {m, 7, 18} if m % 7 < 2 else {(5 * m) % 31}:
            A = random((m, n), dtype, 1)
            op = MODES[mode](A)
            x, y = random(op.shape[1], dtype, 2), random(op.shape[0], dtype, 3)
            B, v = laid_out(A, layout, space), laid_out(x, layout, space)
            for algorithm in ("auto", "columns", "rows", *algorithms(space, "teams")):
                options = {"mode": mode, "algorithm": algorithm, "vendor": False}
                found = blas.gemv(B, v, **options)
                assert found.dtype == dtype and close(found, op @ x), (algorithm, m, n)
                w = laid_out(y, layout, space)
                assert blas.gemv(B, v, out=w, alpha=2, beta=-3, **options) is w
                assert close(w, 2 * (op @ x) - 3 * y), (algorithm, m, n)


def test_gemv_of_two_types(space, form):
    needs(space, np.complex128)
    A, x = random((9, 6), np.float32, 1), random(6, np.complex128, 2)
    for layout in LAYOUTS:
        found = blas.gemv(laid_out(A, layout, space), es.array(x, space=space), alpha=1j)
        assert found.dtype == np.complex128 and close(found, 1j * (A @ x))
        narrow = es.zeros(9, np.float32, space=space)
        blas.gemv(laid_out(A, layout, space), es.ones(6, space=space), out=narrow)
        assert close(narrow, A.sum(axis=1))


def test_what_out_holds_does_not_count_if_beta_is_zero(space, form):
    A = random((5, 4), seed=1)
    for layout in LAYOUTS:
        for algorithm in ("columns", "rows", *algorithms(space, "teams")):
            out = es.full(5, np.nan, space=space)
            blas.gemv(laid_out(A, layout, space), es.ones(4, space=space), out=out,
                      algorithm=algorithm)  # fmt: skip
            assert close(out, A.sum(axis=1))


def test_results_have_the_same_bits_in_each_run(space, form):
    shape = (40, 33) if space.name != "oracle" else (8, 6)
    A, x = random(shape, seed=1), es.array(random(shape[1], seed=2), space=space)
    for layout in LAYOUTS:
        B = laid_out(A, layout, space)
        first, second = (blas.gemv(B, x, vendor=False).to_numpy() for _ in range(2))
        assert np.array_equal(first, second)
        first, second = (blas.dot_gemm(B, B, vendor=False).to_numpy() for _ in range(2))
        assert np.array_equal(first, second)


def test_what_explain_tells(space):
    A, x = es.ones((4, 40), space=space), es.ones(40, space=space)
    by_rows, by_columns = (laid_out(np.ones((4, 40)), way, space) for way in ("right", "left"))
    told = explain(blas.gemv, by_columns, x, vendor=False).decisions[0]
    assert str(told) == "gemv: columns, for elements of a column lie side by side"
    if isinstance(space, es.SupportsTeams):
        told = explain(blas.gemv, by_rows, x, vendor=False).decisions[0]
        assert str(told) == "gemv: teams, for elements of a row lie side by side"
    told = explain(blas.gemv, A, x, algorithm="rows").decisions[0]
    assert str(told) == "gemv: rows, for it was asked for"


def test_records(space):
    needs(space, np.float64)
    values, slopes = random((4, 3), np.int64, 1), random((4, 3), np.int64, 2)
    x, dx = random(3, np.int64, 3), random(3, np.int64, 4)
    A, v = es.array(duals(values, slopes), space=space), es.array(duals(x, dx), space=space)
    expected = duals(values @ x, values @ dx + slopes @ x)
    found = blas.gemv(A, v)
    assert np.array_equal(found.to_numpy()["value"], expected["value"])
    assert np.array_equal(found.to_numpy()["slope"], expected["slope"])
    blas.gemv(A, v, out=found, alpha=2.0, beta=1.0)
    assert np.array_equal(found.to_numpy()["slope"], 3 * expected["slope"])
    mixed = blas.gemv(A, es.array(x.astype(float), space=space))
    assert np.array_equal(mixed.to_numpy()["slope"], slopes @ x)
    with pytest.raises(MatrixError, match="mode 'H' of records Dual, whose class has no conjugate"):
        blas.gemv(A, es.array(duals(np.ones(4), 0.0), space=space), mode="H")


def test_faults_of_gemv(space):
    A, x = es.ones((3, 2), space=space), es.ones(2, space=space)
    with pytest.raises(es.ViewError, match=r"gemv: x: View .* expected \(3,\), for mode 'T' of"):
        blas.gemv(A, x, mode="T")
    with pytest.raises(MatrixError, match="gemv: mode='X'; expected 'N', 'T', 'C' or 'H'"):
        blas.gemv(A, x, mode="X")
    with pytest.raises(MatrixError, match="algorithm='fast'; expected"):
        blas.gemv(A, x, algorithm="fast")
    with pytest.raises(es.ViewError, match=r"gemv: A: View .* has rank 1, shape \(2,\); expected"):
        blas.gemv(x, x)
    with pytest.raises(es.ViewError, match=r"out is View .* of shape \(2,\); expected \(3,\)"):
        blas.gemv(A, x, out=es.ones(2, space=space))
    with pytest.raises(es.ViewError, match=r"gemv: out is View .* overlaps A in memory"):
        blas.gemv(A, x, out=A[:, 0])
    with pytest.raises(es.ViewError, match="result of complex128; expected complex numbers"):
        blas.gemv(A, x, out=es.ones(3, space=space), alpha=1j)
    square, both = es.ones((2, 2), space=space), es.ones(2, space=space)
    with pytest.raises(es.ViewError, match=r"gemv: out is View .* overlaps x in memory"):
        blas.gemv(square, both, out=both)


def test_vectors_may_be_columns_of_one_matrix(space):
    A, X = random((3, 3), seed=1), random((3, 4), seed=2)
    V = laid_out(X, "right", space)
    blas.gemv(es.array(A, space=space), V[:, 1], out=V[:, 2])
    expected = X.copy()
    expected[:, 2] = A @ X[:, 1]
    assert close(V, expected)


# -- dot_gemm -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*DTYPES, np.int64])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("algorithm", ["auto", "teams", "tiles"])
def test_dot_gemm(space, form, layout, dtype, algorithm):
    needs(space, dtype)
    if algorithm == "teams" and not isinstance(space, es.SupportsTeams):
        pytest.skip("no teams here")
    shapes = [(0, 2, 3), (40, 3, 5), (20, 13, 9), (17, 1, 7), (9, 0, 3)]
    if space.name == "oracle":
        shapes = [(0, 2, 3), (1, 1, 1), (9, 3, 5)]
    elif form == "as it is":
        shapes.append((70, 40, 70))
    other = LAYOUTS[(LAYOUTS.index(layout) + 1) % 3]
    for m, k, n in shapes:
        A, B, C = (random(s, dtype, i) for i, s in enumerate(((m, k), (m, n), (k, n))))
        a, b = laid_out(A, layout, space), laid_out(B, other, space)
        for mode in "TH":
            options = {"mode": mode, "algorithm": algorithm, "vendor": False}
            op = A.T if mode == "T" else A.conj().T
            found = blas.dot_gemm(a, b, **options)
            assert found.dtype == dtype and close(found, op @ B), (m, k, n)
            out = laid_out(C, layout, space)
            assert blas.dot_gemm(a, b, out=out, alpha=2, beta=-3, **options) is out
            assert close(out, 2 * (op @ B) - 3 * C), (m, k, n)
            assert close(blas.dot_gemm(a, a, **options), op @ A), (m, k, n)


@given(
    st.integers(0, 30), st.integers(0, 5), st.integers(0, 5), st.sampled_from(["teams", "tiles"])
)
def test_dot_gemm_of_any_sizes(m, k, n, algorithm):
    A, B = random((m, k), np.int64, 1), random((m, n), np.int64, 2)
    found = blas.dot_gemm(A, B, algorithm=algorithm, vendor=False, space="serial")
    assert np.array_equal(found.to_numpy(), A.T @ B)


def test_faults_of_dot_gemm(space):
    A = es.ones((4, 2), space=space)
    with pytest.raises(
        es.ViewError, match=r"A has shape \(4, 2\) and B \(3, 2\); expected as many"
    ):
        blas.dot_gemm(A, es.ones((3, 2), space=space))
    with pytest.raises(MatrixError, match="dot_gemm: mode='N'; expected 'T' or 'H'"):
        blas.dot_gemm(A, A, mode="N")
    with pytest.raises(es.ViewError, match=r"dot_gemm: out is View .* overlaps A in memory"):
        blas.dot_gemm(A, A, out=A[:2])
    with pytest.raises(es.ViewError, match=r"of shape \(2, 3\); expected \(2, 2\)"):
        blas.dot_gemm(A, A, out=es.ones((2, 3), space=space))
    records = es.array(duals(np.ones((4, 2)), 0.0), space=space)
    with pytest.raises(es.ViewError, match="is of records Dual; expected numbers"):
        blas.dot_gemm(records, A)


def test_recorded(space):
    A, x = es.ones((4, 4), space=space), es.ones(4, space=space)
    y, C = es.zeros(4, space=space), es.zeros((4, 4), space=space)
    blas.gemv(A, x, out=y, vendor=False)
    blas.dot_gemm(A, A, out=C, vendor=False)
    try:
        graph = es.Graph(space)
    except es.ExecspaceError:
        pytest.skip("no graphs here")
    with graph:
        blas.gemv(A, x, out=y)
        blas.dot_gemm(A, A, out=C)
    es.deep_copy(A, 2.0)
    graph.submit()
    assert y.to_numpy().tolist() == [8.0] * 4 and np.all(C.to_numpy() == 16.0)


@pytest.mark.parametrize("algorithm", ["auto", "teams", "columns", "rows"])
def test_sums_of_storage_types_are_of_float32(space, algorithm):
    """300 ones: bfloat16 has no 257, and a sum of them would end at 256."""
    if algorithm == "teams" and not isinstance(space, es.SupportsTeams):
        pytest.skip("the space has no teams")
    A = es.ones((2, 300), es.bfloat16, space=space)
    found = blas.gemv(A, es.ones(300, es.bfloat16, space=space), algorithm=algorithm)
    assert found.dtype == np.dtype(es.bfloat16)
    assert found.to_numpy().astype(np.float32).tolist() == [300.0, 300.0]
    L = es.ones((3, 3), es.float8_e5m2, space=space)
    ones = es.ones(3, es.float8_e5m2, space=space)
    assert blas.trmv(L, ones).to_numpy().astype(np.float32).tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(es.ViewError, match="expected real or complex floating-point numbers"):
        blas.trsv(L, ones)

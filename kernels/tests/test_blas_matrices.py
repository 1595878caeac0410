"""Products of dense matrices, and solves with triangles of them, beside NumPy."""

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
PIECES = {
    "gemm_panels": {"_TALL": 2, "_ACROSS": 2, "_SPAN": 5},
    "triangles": {"_ROWS": 4, "_COLUMNS": 4},
    "gemm_teams": {"_GROUP": 2},
}
# Shapes of C and the columns of A, beside blocks and panels: less, as many, and more.
SHAPES = ((0, 3, 2), (3, 0, 2), (4, 5, 0), (1, 1, 1), (24, 48, 16), (33, 70, 19), (130, 65, 40))
FEW_SHAPES = ((0, 3, 2), (4, 2, 0), (3, 5, 2))
TRIANGLES = {"L": np.tril, "U": np.triu}


@pytest.fixture(params=["as it is", "in pieces", "device"])
def form(request, space, monkeypatch):
    """Which form of the kernels runs."""
    set_limits(monkeypatch, as_a_device="device" in request.param,
               **(PIECES if "pieces" in request.param else {}))  # fmt: skip
    return request.param


def algorithms(space):
    by_teams = ("teams",) if isinstance(space, es.SupportsTeams) else ()
    return ("auto", "panels", "elements", *by_teams)


def is_close(found, expected, products=1):
    """To some roundings for each product of a sum."""
    eps = np.finfo(found.dtype).eps if found.dtype.kind in "fc" else 0.0
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    return np.abs(found - expected).max(initial=0.0) <= 8 * eps * scale * (products + 2)


# -- gemm -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*DTYPES, np.int64, np.int32])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("mode", MODES)
def test_gemm(space, form, layout, mode, dtype):
    needs(space, dtype)
    other = LAYOUTS[(LAYOUTS.index(layout) + 1) % 3]
    is_slow = space.name in ("oracle", "opencl")  # in steps, or to compile
    for count, (m, n, k) in enumerate(FEW_SHAPES if is_slow else SHAPES):
        a, b, c = (random(s, dtype, i) for i, s in enumerate(((m, k), (k, n), (m, n))))
        mode_b = "NTCH"[count % 4]
        A = laid_out(MODES[mode](a), layout, space)
        B = laid_out(MODES[mode_b](b), other, space)
        options = {"mode_a": mode, "mode_b": mode_b, "vendor": False}
        for algorithm in algorithms(space):
            found = blas.gemm(A, B, algorithm=algorithm, **options)
            assert found.dtype == dtype
            assert is_close(found.to_numpy(), a @ b, k), (algorithm, m, n, k)
            C = laid_out(c, layout, space)
            assert blas.gemm(A, B, out=C, alpha=2, beta=-3, algorithm=algorithm, **options) is C
            assert is_close(C.to_numpy(), 2 * (a @ b) - 3 * c, k), (algorithm, m, n, k)


def test_gemm_of_all_small_sizes(space, form):
    numbers = sizes(space) if space.name != "oracle" else (0, 2)
    for n in numbers:
        m, k = (7 * n) % 34, (11 * n + 3) % 34
        if space.name == "oracle":
            m, k = min(m, 3), min(k, 5)
        a, b = random((m, k), seed=1), random((k, n), seed=2)
        A, B = laid_out(a, "right", space), laid_out(b, "left", space)
        for algorithm in algorithms(space):
            found = blas.gemm(A, B, algorithm=algorithm, vendor=False)
            assert is_close(found.to_numpy(), a @ b, k), (algorithm, m, n, k)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 40), st.sampled_from(
    ["teams", "panels", "elements"]
))  # fmt: skip
def test_gemm_of_any_sizes(m, n, k, algorithm):
    A, B = random((m, k), np.int64, 1), random((k, n), np.int64, 2)
    found = blas.gemm(A, B, algorithm=algorithm, vendor=False, space="serial")
    assert np.array_equal(found.to_numpy(), A @ B)


def test_gemm_of_parts_of_one_matrix(space, form):
    whole = random((12, 12), seed=1)
    V = laid_out(whole, "right", space)
    for algorithm in algorithms(space):
        es.deep_copy(V, whole)
        blas.gemm(V[:4, :6], V[6:, 1:9:2], out=V[0:4, 8:12], algorithm=algorithm, vendor=False)
        expected = whole.copy()
        expected[0:4, 8:12] = whole[:4, :6] @ whole[6:, 1:9:2]
        assert is_close(V.to_numpy(), expected, 6), algorithm
    back = laid_out(whole, "left", space)[::-1, ::-1]
    found = blas.gemm(back, back, mode_b="T", vendor=False)
    assert is_close(found.to_numpy(), whole[::-1, ::-1] @ whole[::-1, ::-1].T, 12)


def test_gemm_of_two_types(space, form):
    needs(space, np.complex128)
    a, b = random((9, 6), np.float32, 1), random((6, 5), np.complex128, 2)
    A, B = es.array(a, space=space), es.array(b, space=space)
    for algorithm in algorithms(space):
        found = blas.gemm(A, B, alpha=1j, algorithm=algorithm)
        assert found.dtype == np.complex128 and is_close(found.to_numpy(), 1j * (a @ b), 6)
        real = es.array(b.real.copy(), space=space)
        narrow = es.zeros((9, 5), np.float32, space=space)
        blas.gemm(A, real, out=narrow, algorithm=algorithm)
        assert is_close(narrow.to_numpy(), a @ b.real, 6)


def test_sums_of_float16_are_of_float32(space, form):
    a = np.full((1, 3000), 0.1, np.float16)
    if space.name == "oracle":
        a = a[:, :8]
    A = es.array(a, space=space)
    expected = np.float16(np.float32(a[0, 0]) ** 2 * a.size)
    for algorithm in algorithms(space):
        found = blas.gemm(A, A, mode_b="T", algorithm=algorithm)
        assert found.dtype == np.float16
        assert abs(found.to_numpy()[0, 0] / expected - 1) < 2e-3, algorithm


def test_what_out_holds_does_not_count_if_beta_is_zero(space, form):
    a = random((5, 4), seed=1)
    A, ones = es.array(a, space=space), es.ones((4, 3), space=space)
    for algorithm in algorithms(space):
        out = es.full((5, 3), np.nan, space=space)
        blas.gemm(A, ones, out=out, algorithm=algorithm, vendor=False)
        assert is_close(out.to_numpy(), np.repeat(a.sum(axis=1)[:, None], 3, 1), 4)


def test_infinities_stay_in_their_rows_and_columns(space, form):
    a, b = np.ones((6, 5)), np.ones((5, 7))
    a[2, 3], b[1, 4] = np.inf, np.nan
    with np.errstate(invalid="ignore"):
        expected = a @ b
    A, B = es.array(a, space=space), es.array(b, space=space)
    for algorithm in algorithms(space):
        found = blas.gemm(A, B, algorithm=algorithm, vendor=False).to_numpy()
        assert np.array_equal(found, expected, equal_nan=True), algorithm


def test_results_have_the_same_bits_in_each_run(space, form):
    A = laid_out(random((40, 33) if space.name != "oracle" else (6, 5), seed=1), "right", space)
    for algorithm in algorithms(space):
        options = {"mode_b": "T", "algorithm": algorithm, "vendor": False}
        first, second = (blas.gemm(A, A, **options).to_numpy() for _ in range(2))
        assert np.array_equal(first, second)


def test_records(space):
    needs(space, np.float64)
    values, slopes = random((4, 3), np.int64, 1), random((4, 3), np.int64, 2)
    x, dx = random((3, 5), np.int64, 3), random((3, 5), np.int64, 4)
    A, B = es.array(duals(values, slopes), space=space), es.array(duals(x, dx), space=space)
    expected = duals(values @ x, values @ dx + slopes @ x)
    found = blas.gemm(A, B)
    for field in ("value", "slope"):
        assert np.array_equal(found.to_numpy()[field], expected[field])
    blas.gemm(A, B, out=found, alpha=2.0, beta=1.0)
    assert np.array_equal(found.to_numpy()["slope"], 3 * expected["slope"])
    with pytest.raises(MatrixError, match="mode_a 'H' of records Dual, whose class has no"):
        blas.gemm(A, es.array(duals(np.ones((4, 2)), 0.0), space=space), mode_a="H")
    with pytest.raises(es.ViewError, match=r"syrk: View .* is of records Dual; expected numbers"):
        blas.syrk(A)


def test_what_explain_tells(space):
    A = es.ones((40, 40), space=space)
    few = explain(blas.gemm, A[:4], A, vendor=False).decisions[0]
    assert str(few) == "gemm: elements, for there are not more than 32768 products of elements"
    told = explain(blas.gemm, A, A, vendor=False).decisions[0]
    many = isinstance(space, es.SupportsTeams) and space.concurrency > 64
    assert told.algorithm == ("teams" if many else "panels")
    told = explain(blas.gemm, A, A, algorithm="elements").decisions[0]
    assert str(told) == "gemm: elements, for it was asked for"


def test_faults_of_gemm(space):
    A, B = es.ones((3, 2), space=space), es.ones((2, 4), space=space)
    with pytest.raises(es.ViewError, match=r"op\(A\) has shape \(2, 3\) and op\(B\) \(2, 4\); exp"):
        blas.gemm(A, B, mode_a="T")
    with pytest.raises(MatrixError, match="gemm: mode_b='X'; expected 'N', 'T', 'C' or 'H'"):
        blas.gemm(A, B, mode_b="X")
    with pytest.raises(MatrixError, match="algorithm='fast'; expected"):
        blas.gemm(A, B, algorithm="fast")
    with pytest.raises(es.ViewError, match=r"gemm: B: View .* has rank 1, shape \(4,\); expected"):
        blas.gemm(A, B[0])
    with pytest.raises(es.ViewError, match=r"out is View .* of shape \(2, 2\); expected \(3, 4\)"):
        blas.gemm(A, B, out=es.ones((2, 2), space=space))
    square = es.ones((3, 3), space=space)
    with pytest.raises(es.ViewError, match=r"gemm: out is View .* overlaps B in memory"):
        blas.gemm(es.ones((3, 3), space=space), square, out=square)
    with pytest.raises(es.ViewError, match="result of complex128; expected complex numbers"):
        blas.gemm(A, B, out=es.ones((3, 4), space=space), alpha=1j)
    with pytest.raises(MatrixError, match="gemm: beta=1 without out=; expected out"):
        blas.gemm(A, B, beta=1)
    with pytest.raises(MatrixError, match="gemm: alpha=True; expected a number"):
        blas.gemm(A, B, alpha=True)
    with pytest.raises(MatrixError, match="gemm: alpha is View 'a'; expected a number"):
        blas.gemm(A, B, alpha=es.full((), 2.0, label="a", space=space))
    small = es.ones((2, 2), np.int8, space=space)
    with pytest.raises(MatrixError, match="the factor 300 does not fit elements of int8"):
        blas.gemm(small, small, alpha=300)
    signed, unsigned = (es.ones((2, 2), t, space=space) for t in (np.int64, np.uint64))
    with pytest.raises(es.ViewError, match="elements are of int64 and uint64, which no in"):
        blas.gemm(signed, unsigned)


# -- syrk and herk --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("uplo", TRIANGLES)
@pytest.mark.parametrize("mode", ["N", "T"])
@pytest.mark.parametrize("name", ["syrk", "herk"])
def test_rank_k(space, form, layout, uplo, mode, name, dtype):
    needs(space, dtype)
    function = getattr(blas, name)
    shapes = (
        ((0, 3), (1, 1), (5, 4)) if space.name == "oracle" else ((0, 3), (5, 0), (33, 40), (70, 9))
    )
    for n, k in shapes:
        a = random((n, k) if mode == "N" else (k, n), dtype, 1)
        X = a if mode == "N" else (a.T if name == "syrk" else a.conj().T)
        product = X @ (X.T if name == "syrk" else X.conj().T)
        c = random((n, n), dtype, 2)
        if name == "herk":
            c = c + c.conj().T
        counts = TRIANGLES[uplo](np.ones((n, n))) > 0
        options = {"uplo": uplo, "mode": "H" if (name, mode) == ("herk", "T") else mode}
        A = laid_out(a, LAYOUTS[(LAYOUTS.index(layout) + 1) % 3], space)
        for algorithm in algorithms(space):
            options |= {"algorithm": algorithm, "vendor": False}
            found = function(A, **options).to_numpy()
            assert is_close(found, np.where(counts, product, 0), k), (algorithm, n, k)
            C = laid_out(c, layout, space)
            assert function(A, out=C, alpha=2, beta=-3, **options) is C
            expected = np.where(counts, 2 * product - 3 * c, c)
            assert is_close(C.to_numpy(), expected, k), (algorithm, n, k)
            if name == "herk":
                assert np.all(np.diag(C.to_numpy()).imag == 0)


def test_faults_of_rank_k(space):
    A = es.ones((3, 2), space=space)
    with pytest.raises(MatrixError, match="syrk: mode='H'; expected 'N' or 'T'"):
        blas.syrk(A, mode="H")
    with pytest.raises(MatrixError, match="herk: mode='T'; expected 'N' or 'H'"):
        blas.herk(A, mode="T")
    with pytest.raises(MatrixError, match=r"herk: alpha=1j; expected a real number"):
        blas.herk(A, alpha=1j)
    with pytest.raises(es.ViewError, match=r"of shape \(2, 2\); expected \(3, 3\)"):
        blas.syrk(A, out=es.ones((2, 2), space=space))


# -- trmm and trsm --------------------------------------------------------------------------------


def triangle(n, dtype, uplo, unit):
    """A well-conditioned triangle; and what is stored, with NaN where nothing is read."""
    whole = random((n, n), dtype, 1) / max(n, 1)
    used = TRIANGLES[uplo](whole)
    np.fill_diagonal(used, 1 if unit else used.diagonal() + 2)
    stored = np.where(TRIANGLES[uplo](np.ones((n, n))) > 0, used, np.nan).astype(dtype)
    if unit:
        np.fill_diagonal(stored, np.nan)
    return used.astype(dtype), stored


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("uplo", TRIANGLES)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("side", ["L", "R"])
def test_triangles(space, form, layout, uplo, mode, side, dtype):
    needs(space, dtype)
    shapes = (
        ((0, 2), (1, 1), (5, 3)) if space.name == "oracle" else ((0, 2), (3, 0), (7, 4), (70, 33))
    )
    for n, k in shapes:
        for unit in (False, True):
            used, stored = triangle(n, dtype, uplo, unit)
            b = random((n, k) if side == "L" else (k, n), dtype, 2)
            A = laid_out(stored, layout, space)
            B = laid_out(b, LAYOUTS[(LAYOUTS.index(layout) + 1) % 3], space)
            op = MODES[mode](used)
            options = {"side": side, "uplo": uplo, "mode": mode, "unit_diagonal": unit}
            options |= {"vendor": False}
            found = blas.trmm(A, B, alpha=2, **options)
            assert found.dtype == dtype
            assert is_close(found.to_numpy(), 2 * (op @ b if side == "L" else b @ op), n)
            solved = blas.trsm(A, B, alpha=2, **options).to_numpy()
            assert is_close(op @ solved if side == "L" else solved @ op, 2 * b, 2 * n)
            assert blas.trsm(A, B, out=B, alpha=2, **options) is B
            assert np.array_equal(B.to_numpy(), solved)
            assert blas.trmm(A, B, out=B, alpha=0.5, **options) is B
            assert is_close(B.to_numpy(), b, 2 * n)


def test_infinities_of_a_product_with_a_triangle_stay_below(space, form):
    a, b = np.ones((40, 40)), np.ones((40, 3))
    if space.name == "oracle":
        a, b = a[:6, :6], b[:6]
    b[3, 1] = np.inf
    found = blas.trmm(es.array(a, space=space), es.array(b, space=space), vendor=False).to_numpy()
    expected = np.tril(a) @ np.ones_like(b)
    expected[3:, 1] = np.inf
    assert np.array_equal(found, expected)


def test_faults_of_triangles(space):
    A, B = es.ones((3, 3), space=space), es.ones((3, 2), space=space)
    for function in (blas.trmm, blas.trsm):
        what = function.__name__
        with pytest.raises(
            es.ViewError, match=rf"{what}: A has shape \(3, 3\) and B \(3, 2\); exp"
        ):
            function(A, B, side="R")
        with pytest.raises(MatrixError, match=f"{what}: side='X'; expected 'L' or 'R'"):
            function(A, B, side="X")
        with pytest.raises(MatrixError, match=f"{what}: A is of 3 x 2; expected a square matrix"):
            function(B, B)
        with pytest.raises(MatrixError, match=f"{what}: unit_diagonal='U'; expected True or False"):
            function(A, B, unit_diagonal="U")
        with pytest.raises(es.ViewError, match=rf"{what}: out is View .* overlaps A in memory"):
            function(A, B, out=A[:, :2])
    numbers = es.ones((2, 2), np.int64, space=space)
    assert blas.trmm(numbers, numbers).to_numpy().tolist() == [[1, 1], [2, 2]]
    with pytest.raises(es.ViewError, match="trsm: numbers are of int64; expected real or complex"):
        blas.trsm(numbers, numbers)


def test_recorded(space):
    A, C = es.array(np.tril(np.ones((4, 4))), space=space), es.zeros((4, 4), space=space)
    blas.gemm(A, A, out=C, vendor=False)
    blas.trmm(A, C, out=C, vendor=False)
    try:
        graph = es.Graph(space)
    except es.ExecspaceError:
        pytest.skip("no graphs here")
    with graph:
        blas.gemm(A, A, out=C)
        blas.trmm(A, C, out=C)
    es.deep_copy(C, 0.0)
    graph.submit()
    assert np.array_equal(C.to_numpy(), np.linalg.matrix_power(np.tril(np.ones((4, 4))), 3))

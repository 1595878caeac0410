"""Products with dense triangles, solves, and updates of matrices by vectors, beside NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from blas_arrays import DTYPES, LAYOUTS, duals, laid_out, needs, random, set_limits

import execspace as es
from execspace_kernels import MatrixError, blas

MODES = {
    "N": lambda A: A, "T": lambda A: A.T, "C": lambda A: A.conj(), "H": lambda A: A.conj().T,
}  # fmt: skip
PIECES = {
    "products": {"_SPAN": 5, "_TILE": 8, "_THREADS": 8, "_SHORT": 5, "_SCRATCH": 112},
    "triangular": {"_MOST_ROWS": 8},
}


@pytest.fixture(params=["as it is", "in pieces", "device", "device in pieces"])
def form(request, space, monkeypatch):
    """Which form of the kernels runs."""
    small = PIECES if "pieces" in request.param else {}
    set_limits(monkeypatch, as_a_device="device" in request.param, **small)
    return request.param


def close(view, expected, dtype=np.float64):
    rtol = 1e-4 if np.zeros(0, dtype).real.dtype == np.float32 else 1e-12
    return np.allclose(view.to_numpy(), expected, rtol=rtol, atol=rtol)


def some_of(space):
    return tuple(range(0, 34, 3)) if space.name != "oracle" else (0, 1, 9)


def triangle(A, uplo, unit):
    """The triangle that counts, and which elements are read."""
    keep = np.tril if uplo == "L" else np.triu
    off = (-1 if uplo == "L" else 1) if unit else 0
    read = keep(np.ones(A.shape, bool), off)
    return np.where(read, A, np.eye(A.shape[0]) if unit else 0).astype(A.dtype), read


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("uplo", ["L", "U"])
@pytest.mark.parametrize("mode", MODES)
def test_products_and_solves(space, form, layout, uplo, mode, dtype):
    needs(space, dtype)
    for n in some_of(space):
        A = random((n, n), dtype, 1) / 4 + 3 * np.eye(n, dtype=dtype)
        for unit in (False, True):
            part, read = triangle(A / (8 if unit else 1), uplo, unit)
            op, x = MODES[mode](part), random(n, dtype, 2)
            T = laid_out(np.where(read, part, np.nan), layout, space)
            v = laid_out(x, layout, space)
            options = {"uplo": uplo, "mode": mode, "unit_diagonal": unit, "vendor": False}
            found = blas.trmv(T, v, **options)
            assert found.dtype == dtype and close(found, op @ x, dtype), n
            assert close(blas.trsv(T, found, **options), x, dtype), n
            assert blas.trmv(T, v, out=v, **options) is v and close(v, op @ x, dtype), n
            assert blas.trsv(T, v, out=v, **options) is v and close(v, x, dtype), n


def test_blocks_of_solves(space):
    """More rows than a block has, in both layouts."""
    n = 150 if space.name != "oracle" else 70
    A = np.tril(random((n, n), seed=1)) / n + 2 * np.eye(n)
    b = random(n, seed=2)
    for layout in LAYOUTS:
        for uplo, op in (("L", A), ("U", A.T)):
            T = laid_out(op, layout, space)
            x = blas.trsv(T, es.array(b, space=space), uplo=uplo, vendor=False)
            assert np.allclose(op @ x.to_numpy(), b)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [*DTYPES, np.int64])
def test_updates(space, form, layout, dtype):
    needs(space, dtype)
    alpha = 2 - 1j if np.dtype(dtype).kind == "c" else 2
    for m in some_of(space):
        for n in {m, 5}:
            A, x, y = (random(s, dtype, i) for i, s in enumerate(((m, n), m, n)))
            for name, other in (("ger", y), ("geru", y), ("gerc", y.conj())):
                M = laid_out(A, layout, space)
                vectors = laid_out(x, layout, space), laid_out(y, layout, space)
                assert getattr(blas, name)(alpha, *vectors, M, vendor=False) is M
                assert close(M, A + alpha * np.outer(x, other), dtype), (name, m, n)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [*DTYPES, np.int64])
@pytest.mark.parametrize("uplo", ["L", "U"])
def test_updates_of_triangles(space, form, layout, dtype, uplo):
    needs(space, dtype)
    is_complex = np.dtype(dtype).kind == "c"
    alpha = 2 - 1j if is_complex else 2
    for n in some_of(space):
        A, x, y = (random(s, dtype, i) for i, s in enumerate(((n, n), n, n)))
        outside = ~triangle(A, uplo, False)[1]
        v, w = laid_out(x, layout, space), laid_out(y, layout, space)
        xy = alpha * np.outer(x, y.conj())
        for name, args, more in (
            ("syr", (alpha, v), alpha * np.outer(x, x)),
            ("syr2", (alpha, v, w), alpha * (np.outer(x, y) + np.outer(y, x))),
            ("her", (2, v), 2 * np.outer(x, x.conj())),
            ("her2", (alpha, v, w), xy + xy.conj().T),
        ):
            M = laid_out(A, layout, space)
            assert getattr(blas, name)(*args, M, uplo) is M
            expected = A + more
            if "her" in name and is_complex:
                expected[np.arange(n), np.arange(n)] = np.diag(expected).real
            expected[outside] = A[outside]
            assert close(M, expected, dtype), (name, n)


def test_records(space):
    needs(space, np.float64)
    A, x, y = duals(np.ones((2, 3)), 0.0), duals([1.0, 2.0], 1.0), duals([3.0, 4.0, 5.0], 0.0)
    M, v, w = (es.array(a, space=space) for a in (A, x, y))
    blas.ger(1, v, w, M)
    assert np.array_equal(M.to_numpy()["value"], 1 + np.outer([1, 2], [3, 4, 5]))
    assert np.array_equal(M.to_numpy()["slope"], np.outer([1, 1], [3, 4, 5]))
    square = es.array(duals(np.ones((2, 2)), 0.0), space=space)
    with pytest.raises(es.ViewError, match=r"trmv: View .* is of records Dual; expected numbers"):
        blas.trmv(square, v)
    with pytest.raises(es.ViewError, match="syr: there are records; expected numbers"):
        blas.syr(1, v, square)


def test_faults(space):
    A, x = es.ones((3, 3), space=space), es.ones(3, space=space)
    wide = es.ones((3, 4), space=space)
    for function in (blas.trmv, blas.trsv):
        name = function.__name__
        with pytest.raises(MatrixError, match=f"{name}: A is of 3 x 4; expected a square matrix"):
            function(wide, x)
        with pytest.raises(MatrixError, match=f"{name}: uplo='X'; expected 'L' or 'U'"):
            function(A, x, uplo="X")
        with pytest.raises(MatrixError, match="unit_diagonal='yes'; expected True or False"):
            function(A, x, unit_diagonal="yes")
        with pytest.raises(es.ViewError, match=r"shape \(4,\); expected \(3,\), for A of \(3, 3\)"):
            function(A, es.ones(4, space=space))
        with pytest.raises(es.ViewError, match="overlaps A in memory"):
            function(A, x, out=A[:, 1])
        both = es.ones(4, space=space)
        with pytest.raises(es.ViewError, match=r"overlaps [xb] in memory"):
            function(A, both[1:], out=both[:3])
    ints = es.ones((3, 3), np.int64, space=space)
    with pytest.raises(es.ViewError, match="trsv: numbers are of int64; expected real or complex"):
        blas.trsv(ints, es.ones(3, np.int64, space=space))
    with pytest.raises(MatrixError, match=r"her: alpha=1j; expected a real number"):
        blas.her(1j, x, A)
    with pytest.raises(MatrixError, match="syr: A is of 3 x 4; expected a square matrix"):
        blas.syr(1.0, x, wide)
    with pytest.raises(es.ViewError, match=r"ger: y: View .* expected \(4,\), for a matrix of 3 x"):
        blas.ger(1.0, x, x, wide)
    with pytest.raises(es.ViewError, match=r"ger: A is View .* overlaps x in memory"):
        blas.ger(1.0, A[0], x, A)
    with pytest.raises(
        es.ViewError, match=r"gerc: A: View .* is of float64, and the result of com"
    ):
        blas.gerc(1j, x, x, A)

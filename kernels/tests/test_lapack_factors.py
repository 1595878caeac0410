"""LU and Cholesky's factors, systems and inverses of triangles, as LAPACK tests them."""

from __future__ import annotations

import numpy as np
import pytest
from blas_arrays import DTYPES, LAYOUTS, laid_out, needs, random
from lapack_checks import CASES, FORMS, MODES, definite, exchanged, is_close, set_form, some_sizes

import execspace as es
from execspace_kernels import lapack

OURS = {"vendor": False}
IN_BLOCKS = pytest.mark.parametrize("form", ["blocks"], indirect=True)


@pytest.fixture(params=FORMS)
def form(request, space, monkeypatch):
    set_form(monkeypatch, request.param)
    return request.param


def lu_of(view):
    found = view.to_numpy()
    m, n = found.shape
    return np.tril(found[:, : min(m, n)], -1) + np.eye(m, min(m, n)), np.triu(found[: min(m, n)])


def check_lu(A, view, pivots, dtype):
    lower, upper = lu_of(view)
    order = pivots.to_numpy()
    assert order.dtype == np.int32 and order.shape == (min(A.shape),)
    assert (np.arange(order.size) <= order).all() and (order < max(A.shape[0], 1)).all()
    assert (np.abs(lower) <= 1.5).all()  # a pivot is the largest by |re| + |im|
    assert is_close(lower @ upper, exchanged(A, order), dtype, A), A.shape


def solves(op, found, B, dtype):
    """||op x - b|| / (n ||op|| ||x|| eps)."""
    return is_close(op @ found, B, dtype, op, found)


@pytest.mark.parametrize(("form", "layout", "dtype"), CASES, indirect=["form"])
def test_lu(space, form, layout, dtype):
    needs(space, dtype)
    for n in some_sizes(space, form):
        for m in {n, n + 5, max(n - 3, 0)}:
            A = random((m, n), dtype, n)
            view = laid_out(A, layout, space)
            pivots, info = lapack.getrf(view, **OURS)
            assert info.shape == () and info.dtype == np.int32 and info.item() == 0
            check_lu(A, view, pivots, dtype)
        A = random((n, n), dtype, n)
        factors = laid_out(A, layout, space)
        pivots, _ = lapack.getrf(factors, **OURS)
        B = random((n, 3), dtype, 1)
        X = laid_out(B, layout, space)
        for mode, of in MODES.items():
            es.deep_copy(X, B)
            assert lapack.getrs(factors, pivots, X, mode, **OURS) is X
            assert solves(of(A), X.to_numpy(), B, dtype), (n, mode)
        b = random(n, dtype, 2)
        x = laid_out(b, layout, space)
        found, info = lapack.gesv(laid_out(A, layout, space), x, **OURS)
        assert info.item() == 0 and (found.to_numpy() == pivots.to_numpy()).all()
        assert solves(A, x.to_numpy(), b, dtype), n


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_lu_in_all_forms(space, form, layout, dtype):
    test_lu(space, form, layout, dtype)


@IN_BLOCKS
def test_singular(space, form):
    for n, at in ((1, 0), (6, 2), (6, 5)):
        A, B = random((n, n), np.float64, n), random((n, 2), np.float64)
        A[:, at] = 0
        view, X = laid_out(A, "right", space), laid_out(B, "left", space)
        pivots, info = lapack.gesv(view, X, **OURS)
        assert info.item() == at + 1
        assert (X.to_numpy() == B).all()
        check_lu(A, view, pivots, np.float64)


@IN_BLOCKS
def test_nan(space, form):
    A = definite(9, np.float64)
    A[4, 2] = A[2, 4] = np.nan
    view, x = laid_out(A, "right", space), es.ones(9, space=space)
    lapack.gesv(view, x, **OURS)
    assert np.isnan(x.to_numpy()).all()
    assert lapack.potrf(laid_out(A, "right", space), **OURS).item() == 5
    assert lapack.potrf(laid_out(A, "left", space), "U", **OURS).item() == 5
    A = np.tril(A)
    view = laid_out(A, "left", space)
    assert lapack.trtri(view, **OURS).item() == 0
    assert np.isnan(view.to_numpy()[4:, 2]).all()


@pytest.mark.parametrize(("form", "layout", "dtype"), CASES, indirect=["form"])
def test_cholesky(space, form, layout, dtype):
    needs(space, dtype)
    for uplo, n in ((u, n) for u in "LU" for n in some_sizes(space, form)):
        keep = np.tril if uplo == "L" else np.triu
        A = definite(n, dtype, n)
        read = keep(np.ones((n, n), bool))
        stored = np.where(read, A, np.array(np.nan, dtype))
        view = laid_out(stored, layout, space)
        assert lapack.potrf(view, uplo, **OURS).item() == 0
        assert np.isnan(view.to_numpy()[~read]).all()
        factor = np.where(read, view.to_numpy(), 0)
        product = factor @ factor.conj().T if uplo == "L" else factor.conj().T @ factor
        assert is_close(product, A, dtype)
        B, b = random((n, 3), dtype, 1), random(n, dtype, 2)
        X, x = laid_out(B, layout, space), laid_out(b, layout, space)
        assert lapack.potrs(view, X, uplo, **OURS) is X
        assert solves(A, X.to_numpy(), B, dtype), n
        assert lapack.posv(laid_out(stored, layout, space), x, uplo, **OURS).item() == 0
        assert solves(A, x.to_numpy(), b, dtype), n
        for at in {0, n // 2, n - 1} if n else ():
            indefinite = stored.copy()
            indefinite[at, at] = -1
            es.deep_copy(x, b)
            view = laid_out(indefinite, layout, space)
            assert lapack.posv(view, x, uplo, **OURS).item() == at + 1
            assert (x.to_numpy() == b).all()


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_cholesky_in_all_forms(space, form, layout, dtype):
    test_cholesky(space, form, layout, dtype)


@pytest.mark.parametrize(("form", "layout", "dtype"), CASES, indirect=["form"])
def test_inverses_of_triangles(space, form, layout, dtype):
    needs(space, dtype)
    for uplo, n in ((u, n) for u in "LU" for n in some_sizes(space, form)):
        keep = np.tril if uplo == "L" else np.triu
        for unit in (False, True):
            off = (-1 if uplo == "L" else 1) if unit else 0
            read = keep(np.ones((n, n), bool), off)
            A = random((n, n), dtype, n) / (n if unit else 1) + (0 if unit else n * np.eye(n))
            view = laid_out(np.where(read, A, np.nan).astype(dtype), layout, space)
            assert lapack.trtri(view, uplo, unit, **OURS).item() == 0
            assert np.isnan(view.to_numpy()[~read]).all()
            T, inverse = (np.where(read, v, np.eye(n) if unit else 0) for v in (A, view.to_numpy()))
            assert is_close(T @ inverse, np.eye(n), dtype, T, inverse), (n, unit)
        for at in {0, n // 2, n - 1} if n else ():
            A = random((n, n), dtype, n)
            A[at, at] = A[n - 1, n - 1] = 0
            view = laid_out(A, layout, space)
            assert lapack.trtri(view, uplo, **OURS).item() == at + 1
            assert (view.to_numpy() == A).all()


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_inverses_of_triangles_in_all_forms(space, form, layout, dtype):
    test_inverses_of_triangles(space, form, layout, dtype)


@pytest.mark.parametrize(("n", "layout"), [(100, "right"), (200, "left")])
def test_large(space, n, layout):
    """In blocks as they are."""
    if space.name == "oracle":
        pytest.skip("each step is one of Python")
    dtype = np.dtype(np.float64)
    A, B, H = random((n, n), seed=1), random((n, 40), seed=2), definite(n, dtype, 3)
    view, X = laid_out(A, layout, space), laid_out(B, layout, space)
    pivots, info = lapack.gesv(view, X, **OURS)
    assert info.item() == 0 and solves(A, X.to_numpy(), B, dtype)
    check_lu(A, view, pivots, dtype)
    view, X = laid_out(H, layout, space), laid_out(B, layout, space)
    assert lapack.posv(view, X, **OURS).item() == 0
    assert solves(H, X.to_numpy(), B, dtype)
    if space.name == "serial":
        factor = np.tril(view.to_numpy())
        assert lapack.trtri(view, **OURS).item() == 0
        inverse = np.tril(view.to_numpy())
        assert is_close(factor @ inverse, np.eye(n), dtype, factor, inverse)
        H[70, 70] = -1
        assert lapack.potrf(laid_out(H, layout, space), "U", **OURS).item() == 71


@IN_BLOCKS
def test_same_bits(space, form):
    A = random((40 if space.name != "oracle" else 9, 9), np.float64, 1)
    found = []
    for _ in range(2):
        view = laid_out(A, "right", space)
        pivots, _ = lapack.getrf(view, **OURS)
        found.append((view.to_numpy().tobytes(), pivots.to_numpy().tobytes()))
    assert found[0] == found[1]


@IN_BLOCKS
def test_recorded(space, form):
    A, B = definite(7, np.float64), random((7, 2), np.float64)
    M, H, X, Y = (laid_out(v, "right", space) for v in (A, A, B, B))
    lapack.gesv(M, X, **OURS)  # compiles
    lapack.posv(H, Y, **OURS)
    try:
        graph = es.Graph(space)
    except es.ExecspaceError:
        pytest.skip("no graphs here")
    with graph:
        _, info = lapack.gesv(M, X)
        failed = lapack.posv(H, Y)
        lapack.trtri(H)
    for _ in range(2):
        for view, values in ((M, A), (H, A), (X, B), (Y, B)):
            es.deep_copy(view, values)
        graph.submit()
        assert info.item() == failed.item() == 0
        for found in (X, Y):
            assert solves(A, found.to_numpy(), B, np.float64)
        inverse = np.tril(H.to_numpy())
        assert is_close(inverse.T @ inverse @ A, np.eye(7), np.float64, A, np.linalg.inv(A))

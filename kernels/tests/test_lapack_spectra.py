"""Eigenvalues and singular values of a matrix, as LAPACK tests them."""

from __future__ import annotations

import numpy as np
import pytest
from blas_arrays import DTYPES, LAYOUTS, laid_out, needs, random
from lapack_checks import hermitian, is_close, is_orthogonal, set_form

import execspace as es
from execspace_kernels import MatrixError, lapack

OURS = {"vendor": False}
FORMS = ("as it is", "device", "without teams")
CASES = (
    ("as it is", "right", np.float64), ("device", "strided", np.float64),
    ("as it is", "left", np.complex64), ("without teams", "right", np.float32),
)  # fmt: skip
KINDS = ("random", "rank one", "graded", "diagonal", "zero")


@pytest.fixture(params=FORMS)
def form(request, space, monkeypatch):
    set_form(monkeypatch, request.param)
    return request.param


def some(space):
    """Sizes and kinds: all small ones; fewer where each step is one of Python."""
    sizes = (0, 1, 2, 5) if space.name == "oracle" else (*range(9), 17, 33)
    return [(n, kind) for n in sizes for kind in {"random", KINDS[n % len(KINDS)]}]


def changed(A, kind):
    """A matrix of some kind, Hermitian if the given one is."""
    scale = np.logspace(0, -6, max(A.shape, default=0)).astype(A.real.dtype)
    if kind == "rank one" and A.size:
        x = A[:, :1]
        y = x.conj().T if A.shape[0] == A.shape[1] else A[:1]
        return (x @ y).astype(A.dtype)
    if kind == "graded":
        return A * scale[: len(A), None] * scale[: A.shape[1]]
    if kind == "diagonal":
        return np.where(np.eye(*A.shape, dtype=bool), A, 0).astype(A.dtype)
    return A * 0 if kind == "zero" else A


def check_eigh(A, w, V, dtype):
    expected = np.linalg.eigvalsh(A)
    assert w.dtype == expected.dtype and (np.diff(w) >= 0).all()
    assert is_orthogonal(V, dtype)
    assert is_close(A @ V, V * w, dtype, A), A.shape
    assert is_close(np.diag(w), np.diag(expected), dtype, A)


def check_svd(A, found, dtype, is_full):
    U, s, Vh = (view.to_numpy() for view in found)
    m, n = A.shape
    k = min(m, n)
    assert U.shape == (m, m if is_full else k) and Vh.shape == (n if is_full else k, n)
    assert (s >= 0).all() and (np.diff(s) <= 0).all()
    assert is_orthogonal(U, dtype) and is_orthogonal(Vh.conj().T, dtype), A.shape
    bound = np.eye(max(m, n, 1)) * np.abs(A).sum(axis=0).max(initial=0.0)
    product = np.zeros((max(m, n),) * 2, A.dtype)
    product[:m, :n] = (U[:, :k] * s) @ Vh[:k] - A
    assert is_close(product, np.zeros_like(product), dtype, bound), A.shape
    values = np.zeros(max(m, n), s.dtype)
    values[:k] = s - np.linalg.svd(A, compute_uv=False)
    assert is_close(np.diag(values), np.diag(values * 0), dtype, bound)


@pytest.mark.parametrize(("form", "layout", "dtype"), CASES, indirect=["form"])
def test_eigh(space, form, layout, dtype):
    needs(space, dtype)
    for n, kind in some(space):
        A = changed(hermitian(n, dtype, n), kind)
        for uplo, keep in (("L", np.tril), ("U", np.triu)):
            stored = np.where(keep(np.ones((n, n), bool)), A, np.array(np.nan, dtype))
            view = laid_out(stored, layout, space)
            w, V = lapack.eigh(view, uplo, **OURS)
            check_eigh(A, w.to_numpy(), V.to_numpy(), dtype)
            assert np.array_equal(view.to_numpy(), stored, equal_nan=True)
        only = lapack.eigh(view, uplo, eigvals_only=True, **OURS)
        assert (only.to_numpy() == w.to_numpy()).all()


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_eigh_in_all_forms(space, form, layout, dtype):
    test_eigh(space, form, layout, dtype)


@pytest.mark.parametrize(("form", "layout", "dtype"), CASES, indirect=["form"])
def test_svd(space, form, layout, dtype):
    needs(space, dtype)
    for n, kind in some(space):
        for m in {n, n + 4, max(n - 3, 0)}:
            A = changed(random((m, n), dtype, n), kind)
            view = laid_out(A, layout, space)
            for is_full in (False, True):
                found = lapack.svd(view, is_full, **OURS)
                check_svd(A, found, dtype, is_full)
            assert (view.to_numpy() == A).all()
            only = lapack.svd(view, compute_uv=False, **OURS)
            assert (only.to_numpy() == found.s.to_numpy()).all()


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_svd_in_all_forms(space, form, layout, dtype):
    test_svd(space, form, layout, dtype)


@pytest.mark.parametrize("form", ["as it is", "without teams"], indirect=True)
def test_range(space, form):
    """Numbers near the ends of the range, and NaN."""
    for factor in (1e-280, 1e280):
        A = hermitian(5, np.float64) * factor
        view = laid_out(A, "right", space)
        w, V = (found.to_numpy() for found in lapack.eigh(view, **OURS))
        check_eigh(A / factor, w / factor, V, A.dtype)
        U, s, Vh = (found.to_numpy() for found in lapack.svd(view, **OURS))
        assert is_close((U * (s / factor)) @ Vh, A / factor, A.dtype)
    for at in ((0, 0), (3, 1), (4, 4)):
        A = hermitian(5, np.float64)
        A[at] = A[at[::-1]] = np.nan
        view = laid_out(A, "right", space)
        assert np.isnan(lapack.eigh(view, eigvals_only=True, **OURS).to_numpy()).all()
        assert np.isnan(lapack.svd(view, compute_uv=False, **OURS).to_numpy()).all()


def test_large(space):
    if space.name != "serial":
        pytest.skip("the same kernels as of small matrices")
    A = hermitian(100, np.float64)
    view = laid_out(A, "right", space)
    w, V = lapack.eigh(view, **OURS)
    check_eigh(A, w.to_numpy(), V.to_numpy(), A.dtype)
    check_svd(A, lapack.svd(view, **OURS), A.dtype, True)


@pytest.mark.parametrize("form", ["as it is"], indirect=True)
def test_recorded(space, form):
    A = hermitian(5, np.float64)
    M = laid_out(A, "right", space)
    lapack.eigh(M, **OURS)  # compiles
    lapack.svd(M, **OURS)
    try:
        graph = es.Graph(space)
    except es.ExecspaceError:
        pytest.skip("no graphs here")
    with graph:
        w, V = lapack.eigh(M)
        found = lapack.svd(M)
    for factor in (1, 2):
        es.deep_copy(M, A * factor)
        graph.submit()
        check_eigh(A * factor, w.to_numpy(), V.to_numpy(), A.dtype)
        check_svd(A * factor, found, A.dtype, True)


def test_faults(space):
    A, ints = es.ones((3, 4), space=space), es.ones((3, 3), np.int64, space=space)
    with pytest.raises(MatrixError, match="eigh: A is of 3 x 4; expected a square matrix"):
        lapack.eigh(A)
    with pytest.raises(MatrixError, match="eigh: uplo='X'; expected 'L' or 'U'"):
        lapack.eigh(A[:, :3], "X")
    with pytest.raises(MatrixError, match="eigh: eigvals_only=1; expected True or False"):
        lapack.eigh(A[:, :3], eigvals_only=1)
    with pytest.raises(MatrixError, match="svd: full_matrices='no'; expected True or False"):
        lapack.svd(A, "no")
    with pytest.raises(MatrixError, match="svd: compute_uv=None; expected True or False"):
        lapack.svd(A, compute_uv=None)
    for function in (lapack.eigh, lapack.svd):
        name = function.__name__
        with pytest.raises(es.ViewError, match=f"{name}: A: .* is of int64; expected float32, flo"):
            function(ints)
        with pytest.raises(es.ViewError, match=f"{name}: A: .* has rank 1, shape"):
            function(A[0])


def test_columns_of_very_different_sizes(space):
    """They are almost parallel after a few sweeps, and take many more."""
    n = 8 if space.name == "oracle" else 24
    values = np.random.default_rng(1).random((n, n)) * np.logspace(0, -90, n)[:, None]
    U, s, Vh = (v.to_numpy() for v in lapack.svd(es.array(values, space=space), vendor=False))
    for Q in (U, Vh.T):
        assert np.abs(Q.T @ Q - np.eye(n)).max() < 1e-13
    assert np.abs((U * s) @ Vh - values).max() < 1e-14 * s[0] * n

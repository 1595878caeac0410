"""QR factors of a matrix, and products with Q, as LAPACK tests them."""

from __future__ import annotations

import numpy as np
import pytest
from blas_arrays import DTYPES, LAYOUTS, laid_out, needs, random
from lapack_checks import CASES, FORMS, is_close, is_orthogonal, set_form, some_sizes

import execspace as es
from execspace_kernels import MatrixError, lapack

OURS = {"vendor": False}
IN_BLOCKS = pytest.mark.parametrize("form", ["blocks"], indirect=True)


@pytest.fixture(params=FORMS)
def form(request, space, monkeypatch):
    set_form(monkeypatch, request.param)
    return request.param


def factored(A, layout, space):
    """The reflectors, their factors, and Q with all columns."""
    view = laid_out(A, layout, space)
    tau = lapack.geqrf(view, **OURS)
    assert tau.shape == (min(A.shape),) and tau.dtype == A.dtype
    whole = laid_out(np.zeros((len(A), len(A)), A.dtype), layout, space)
    assert lapack.orgqr(view, tau, whole, **OURS) is whole
    return view, tau, whole.to_numpy()


def reflectors_of(A, tau):
    """Q by its definition: the product of I - tau v v^H."""
    Q = np.eye(len(A), dtype=A.dtype)
    for k, factor in enumerate(tau):
        v = np.where(np.arange(len(A)) > k, A[:, k], np.arange(len(A)) == k)
        Q = Q - factor * np.outer(Q @ v, v.conj())
    return Q


@pytest.mark.parametrize(("form", "layout", "dtype"), CASES, indirect=["form"])
def test_qr(space, form, layout, dtype):
    needs(space, dtype)
    for n in some_sizes(space, form):
        for m in {n, n + 5, max(n - 3, 0)}:
            A = random((m, n), dtype, n)
            view, tau, Q = factored(A, layout, space)
            found = view.to_numpy()
            assert is_orthogonal(Q, dtype), (m, n)
            assert is_close(Q @ np.triu(found), A, dtype), (m, n)
            if n < 9:
                assert is_close(reflectors_of(found, tau.to_numpy()), Q, dtype, np.eye(max(m, 1)))
            assert (np.diag(found).imag == 0).all() or m <= n  # the last one of a square stays
        thin = lapack.orgqr(view, tau, **OURS).to_numpy()
        assert is_close(thin, Q[:, : min(A.shape)], dtype, np.eye(max(m, 1)))
        B = random((m, 3), dtype, 1)
        X = laid_out(B, layout, space)
        for mode, of in (("N", Q), ("H", Q.conj().T)):
            es.deep_copy(X, B)
            assert lapack.ormqr(view, tau, X, mode, **OURS) is X
            assert is_close(X.to_numpy(), of @ B, dtype, B), (m, n, mode)


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_qr_in_all_forms(space, form, layout, dtype):
    test_qr(space, form, layout, dtype)


@IN_BLOCKS
def test_special_matrices(space, form):
    """Columns of zeros, which need no reflector; large and small numbers; NaN."""
    A = random((6, 5), seed=1)
    A[:, 1] = A[1:, 0] = 0
    view, tau, Q = factored(A, "right", space)
    assert tau.to_numpy()[0] == 0
    assert is_orthogonal(Q, A.dtype) and is_close(Q @ np.triu(view.to_numpy()), A, A.dtype)
    for factor in (1e-300, 1e300):
        B = random((6, 5), seed=2)
        view, tau, Q = factored(B * factor, "right", space)
        assert is_orthogonal(Q, B.dtype)
        assert is_close(Q @ np.triu(view.to_numpy() / factor), B, B.dtype)
    A[3, 0] = np.nan
    view = laid_out(A, "right", space)
    tau = lapack.geqrf(view, **OURS)
    assert np.isnan(tau.to_numpy()).all()
    assert np.isnan(np.triu(view.to_numpy())[np.triu(np.ones((6, 5), bool))]).all()


@pytest.mark.parametrize(("shape", "layout"), [((150, 100), "right"), ((100, 200), "left")])
def test_large(space, shape, layout):
    """In panels as they are."""
    if space.name != "serial":
        pytest.skip("panels of the same size are in other tests")
    A = random(shape, seed=1)
    view, _, Q = factored(A, layout, space)
    assert is_orthogonal(Q, A.dtype) and is_close(Q @ np.triu(view.to_numpy()), A, A.dtype)


@IN_BLOCKS
def test_recorded(space, form):
    A, b = random((7, 5), seed=1), random(7, seed=2)
    M, x = laid_out(A, "right", space), laid_out(b, "right", space)
    lapack.ormqr(M, lapack.geqrf(M, **OURS), x, "H", **OURS)  # compiles
    try:
        graph = es.Graph(space)
    except es.ExecspaceError:
        pytest.skip("no graphs here")
    with graph:
        tau = lapack.geqrf(M)
        lapack.ormqr(M, tau, x, "H")
        Q = lapack.orgqr(M, tau)
    for _ in range(2):
        es.deep_copy(M, A)
        es.deep_copy(x, b)
        graph.submit()
        assert is_close(Q.to_numpy() @ np.triu(M.to_numpy()[:5]), A, A.dtype)
        assert is_close(x.to_numpy()[:5], Q.to_numpy().T @ b, A.dtype, b)


def test_faults(space):
    A, tau = es.ones((4, 3), np.complex64, space=space), es.ones(3, np.complex64, space=space)
    x = es.ones(4, np.complex64, space=space)
    with pytest.raises(MatrixError, match="ormqr: mode='T' with complex numbers; expected 'N' or"):
        lapack.ormqr(A, tau, x, "T")
    with pytest.raises(MatrixError, match="ormqr: mode='C'; expected 'N', 'H' or 'T'"):
        lapack.ormqr(A, tau, x, "C")
    with pytest.raises(es.ViewError, match=r"ormqr: tau: View .* expected \(3,\), for A of \(4, 3"):
        lapack.ormqr(A, x, x)
    with pytest.raises(es.ViewError, match=r"ormqr: B: View .* expected \(4,\) or \(4, k\)"):
        lapack.ormqr(A, tau, tau)
    with pytest.raises(es.ViewError, match=r"ormqr: B is View .* overlaps A in memory"):
        lapack.ormqr(A, tau, A[:, 0])
    for columns in (2, 5):
        out = es.ones((4, columns), np.complex64, space=space)
        with pytest.raises(es.ViewError, match=r"orgqr: out: .* expected \(4, k\) with k from 3"):
            lapack.orgqr(A, tau, out)
    with pytest.raises(es.ViewError, match=r"orgqr: tau is View .* of float64, and A of complex64"):
        lapack.orgqr(A, es.ones(3, space=space))

"""Vendors' LAPACK: what it gives, which runs, and what is refused. On `cuda` cuSOLVER's."""

from __future__ import annotations

import numpy as np
import pytest
from blas_arrays import DTYPES, laid_out, needs, random
from lapack_checks import MODES, definite, exchanged, hermitian, is_close, is_orthogonal
from pretended_cusolver import vendor_on

import execspace as es
from execspace_kernels import MatrixError, explain, lapack, vendors

THEIRS = {"vendor": True}


@pytest.fixture(autouse=True)
def a_table_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("EXECSPACE_TUNING_DIR", str(tmp_path))


@pytest.fixture(params=["its own", "cuSOLVER, pretended"])
def vendor(request, space, monkeypatch):
    if request.param != "its own":
        if space.name != "serial":
            pytest.skip("pretended on serial")
        pytest.importorskip("cupy")
        found = vendor_on(space, monkeypatch)
        monkeypatch.setitem(vendors._VENDORS, id(space), (space, found))
        return found
    found = vendors.vendor_of(space)
    if found is None or found.refusal("eigh", *matrix_and_values(space)) is not None:
        pytest.skip("no library for this space")
    return found


def matrix_and_values(space):
    return es.ones((3, 3), space=space), es.ones(3, space=space), None, "L"


def asked(function, *args, **options):
    """The result of the vendor's routine; None if it says that it does not have this."""
    try:
        return function(*args, vendor=True, **options)
    except MatrixError as error:
        if "vendor=True, but " not in str(error):
            raise
        return None


SHAPES = ((7, 7), (1, 1), (9, 4), (4, 9), (1, 5), (5, 1))
every = pytest.mark.parametrize("dtype", DTYPES)
layouts = pytest.mark.parametrize("layout", ["right", "left", "strided", "gaps"])


def placed(values, layout, space):
    """As `laid_out`; "gaps": columns that have rows between them, as those of a submatrix."""
    if layout != "gaps":
        return laid_out(values, layout, space)
    shape = tuple(n + 2 for n in values.shape)
    inner = (slice(1, -1),) * len(shape)
    view = es.View(shape, values.dtype, layout="left" if len(shape) == 2 else None, space=space)
    es.deep_copy(view[inner], values)
    return view[inner]


@every
@layouts
def test_lu(space, vendor, layout, dtype):
    needs(space, dtype)
    for shape in SHAPES:
        A = random(shape, dtype, 1)
        view = placed(A, layout, space)
        pivots, info = lapack.getrf(view, **THEIRS)
        assert info.dtype == np.int32 and info.shape == () and info.item() == 0
        found, k = view.to_numpy(), min(shape)
        lower = np.tril(found[:, :k], -1) + np.eye(shape[0], k)
        product = lower @ np.triu(found[:k])
        assert is_close(product, exchanged(A, pivots.to_numpy()), dtype, A), shape
        if shape[0] != shape[1]:
            continue
        for B in (random(len(A), dtype, 2), random((len(A), 3), dtype, 3)):
            X = placed(B, layout, space)
            for mode, of in MODES.items():
                es.deep_copy(X, B)
                assert lapack.getrs(view, pivots, X, mode, **THEIRS) is X
                assert is_close(of(A) @ X.to_numpy(), B, dtype, A, X.to_numpy()), mode
            es.deep_copy(X, B)
            found, info = lapack.gesv(placed(A, layout, space), X, **THEIRS)
            assert info.item() == 0 and (found.to_numpy() == pivots.to_numpy()).all()
            assert is_close(A @ X.to_numpy(), B, dtype, A, X.to_numpy())
    A, X = np.ones((2, 2), dtype), placed(random((2, 1), dtype), layout, space)
    before = X.to_numpy()
    assert lapack.gesv(placed(A, layout, space), X, **THEIRS)[1].item() == 2
    assert (X.to_numpy() == before).all()


@every
@layouts
def test_triangles(space, vendor, layout, dtype):
    needs(space, dtype)
    for n in (1, 6):
        A, B = definite(n, dtype), random((n, 2), dtype, 1)
        for uplo, keep in (("L", np.tril), ("U", np.triu)):
            read = keep(np.ones((n, n), bool))
            stored = np.where(read, A, np.array(7, dtype))
            view, X = placed(stored, layout, space), placed(B, layout, space)
            assert lapack.potrf(view, uplo, **THEIRS).item() == 0
            assert (view.to_numpy()[~read] == 7).all()
            factor = np.where(read, view.to_numpy(), 0)
            product = factor @ factor.conj().T if uplo == "L" else factor.conj().T @ factor
            assert is_close(product, A, dtype)
            if asked(lapack.potrs, view, X, uplo) is not None:
                assert is_close(A @ X.to_numpy(), B, dtype, A, X.to_numpy())
                es.deep_copy(X, B)
                assert lapack.posv(placed(stored, layout, space), X, uplo, **THEIRS).item() == 0
                assert is_close(A @ X.to_numpy(), B, dtype, A, X.to_numpy())
                es.deep_copy(X, B)
                minus = placed(-stored, layout, space)
                assert lapack.posv(minus, X, uplo, **THEIRS).item() == 1
                assert (X.to_numpy() == B).all()
            assert lapack.potrf(placed(-stored, layout, space), uplo, **THEIRS).item() == 1
            for unit in (False, True):
                view = placed(stored / n, layout, space)
                assert lapack.trtri(view, uplo, unit, **THEIRS).item() == 0
                off = (-1 if uplo == "L" else 1) if unit else 0
                counts = keep(np.ones((n, n), bool), off)
                T, inverse = (
                    np.where(counts, v, np.eye(n) if unit else 0)
                    for v in (stored / n, view.to_numpy())
                )
                assert (view.to_numpy() == stored / n)[~counts].all()
                assert is_close(T @ inverse, np.eye(n), dtype, T, inverse)
            stored[n // 2, n // 2] = 0
            view = placed(stored, layout, space)
            assert lapack.trtri(view, uplo, **THEIRS).item() == n // 2 + 1
            assert (view.to_numpy() == stored).all()


@every
@layouts
def test_qr(space, vendor, layout, dtype):
    needs(space, dtype)
    for shape in SHAPES:
        A, B = random(shape, dtype, 1), random((shape[0], 3), dtype, 2)
        view, X = placed(A, layout, space), placed(B, layout, space)
        tau = lapack.geqrf(view, **THEIRS)
        whole = placed(np.zeros((len(A), len(A)), dtype), layout, space)
        assert lapack.orgqr(view, tau, whole, **THEIRS) is whole
        Q, thin = whole.to_numpy(), lapack.orgqr(view, tau, **THEIRS).to_numpy()
        assert is_orthogonal(Q, dtype) and is_orthogonal(thin, dtype), shape
        assert is_close(Q @ np.triu(view.to_numpy()), A, dtype), shape
        for mode, op in (("N", Q), ("H", Q.conj().T)):
            es.deep_copy(X, B)
            assert lapack.ormqr(view, tau, X, mode, **THEIRS) is X
            assert is_close(X.to_numpy(), op @ B, dtype, B), (shape, mode)
        ours = placed(A, layout, space)  # the same storage, to the signs
        assert is_close(tau.to_numpy(), lapack.geqrf(ours, vendor=False).to_numpy(), dtype)
        assert is_close(view.to_numpy(), ours.to_numpy(), dtype)


@every
@layouts
def test_spectra(space, vendor, layout, dtype):
    needs(space, dtype)
    for n in (1, 6):
        A = hermitian(n, dtype)
        for uplo, keep in (("L", np.tril), ("U", np.triu)):
            view = placed(keep(A), layout, space)
            w, V = (found.to_numpy() for found in lapack.eigh(view, uplo, **THEIRS))
            assert is_orthogonal(V, dtype) and is_close(A @ V, V * w, dtype, A)
            only = lapack.eigh(view, uplo, eigvals_only=True, **THEIRS).to_numpy()
            assert is_close(only, np.linalg.eigvalsh(A), dtype, A)
    for shape in SHAPES:
        A = random(shape, dtype, 1)
        view, k = placed(A, layout, space), min(shape)
        for is_full in (True, False):
            found = lapack.svd(view, is_full, **THEIRS)
            U, s, Vh = (part.to_numpy() for part in found)
            assert U.shape[1] == (shape[0] if is_full else k) and Vh.shape[1] == shape[1]
            assert is_orthogonal(U, dtype) and is_orthogonal(Vh.conj().T, dtype), shape
            assert is_close((U[:, :k] * s) @ Vh[:k], A, dtype)
        only = lapack.svd(view, compute_uv=False, **THEIRS).to_numpy()
        assert is_close(only, np.linalg.svd(A, compute_uv=False), dtype)


def test_nan(space, vendor):
    A = hermitian(5, np.float64)
    A[3, 1] = A[1, 3] = np.nan
    view = es.array(A, space=space)
    assert np.isnan(lapack.eigh(view, eigvals_only=True, **THEIRS).to_numpy()).all()
    assert np.isnan(lapack.svd(view, compute_uv=False, **THEIRS).to_numpy()).all()


def test_what_runs(space, vendor):
    """What was measured to be faster, what was asked for, and ours in graphs."""
    A, w = es.ones((300, 300), space=space), es.ones(300, space=space)
    for function in (lapack.getrf, lapack.geqrf):
        told = explain(function, A).decisions[0]
        preferred = vendor.is_preferred(function.__name__, A, w, None)
        assert (told.algorithm == vendor.library) == preferred
    small = es.ones((4, 4), space=space)
    assert explain(lapack.potrf, small, vendor=True).decisions[0].algorithm == vendor.library
    assert explain(lapack.potrf, small, vendor=False).decisions[0].algorithm != vendor.library
    with pytest.raises(MatrixError, match=r"vendor=True, but .*there are no elements"):
        lapack.getrf(es.ones((0, 3), space=space), vendor=True)
    try:
        graph = es.Graph(space)
    except es.ExecspaceError:
        pytest.skip("no graphs here")
    with graph, pytest.raises(MatrixError, match="not recorded in graphs"):
        lapack.getrf(small, vendor=True)

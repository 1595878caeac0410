"""Routines of vendors' libraries for dense vectors and matrices: what they give, and which runs."""

from __future__ import annotations

import numpy as np
import pytest
from blas_arrays import laid_out, needs, random
from pretended_cublas import linear_vendor_on

import execspace as es
import execspace_kernels
from execspace_kernels import MatrixError, blas, explain, vendors

MODES = {
    "N": lambda A: A, "T": lambda A: A.T, "C": lambda A: A.conj(), "H": lambda A: A.conj().T,
}  # fmt: skip


@pytest.fixture(autouse=True)
def a_table_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("EXECSPACE_TUNING_DIR", str(tmp_path))


@pytest.fixture(params=["its own", "cuBLAS, pretended"])
def vendor(request, space, monkeypatch):
    if request.param != "its own":
        if space.name != "serial":
            pytest.skip("pretended on serial")
        pytest.importorskip("cupy")
        found = linear_vendor_on(space, monkeypatch)
        monkeypatch.setitem(vendors._VENDORS, id(space), (space, found))
        return found
    found = vendors.vendor_of(space)
    if found is None or found.refusal("gemv", *matrix_and_vectors(space)) is not None:
        pytest.skip("no library for this space")
    return found


def matrix_and_vectors(space):
    A, x = es.ones((3, 3), layout="left", space=space), es.ones(3, space=space)
    return A, "N", x, es.ones(3, space=space), 1.0, 0.0


def asked(function, *args, **options):
    """The result of the vendor's routine; None if it says that it does not have this."""
    try:
        return function(*args, vendor=True, **options)
    except MatrixError as error:
        if "vendor=True, but " not in str(error):
            raise
        return None


def close(view, expected):
    rtol = 1e-4 if np.zeros(0, view.dtype).real.dtype == np.float32 else 1e-12
    return np.allclose(view.to_numpy(), expected, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("layout", ["right", "left", "strided"])
def test_products(space, vendor, dtype, layout):
    needs(space, dtype)
    A = random((7, 5), dtype, 1)
    M, found = laid_out(A, layout, space), 0
    for mode, of in MODES.items():
        op = of(A)
        x, y = random(op.shape[1], dtype, 2), random(op.shape[0], dtype, 3)
        v, w = es.array(x, space=space), es.array(y, space=space)
        if asked(blas.gemv, M, v, out=w, alpha=2.0, beta=-3.0, mode=mode) is not None:
            found += 1
            assert close(w, 2 * (op @ x) - 3 * y), mode
            es.deep_copy(w, np.nan)
            blas.gemv(M, v, out=w, mode=mode, vendor=True)
            assert close(w, op @ x), mode
    assert found >= (0 if layout == "strided" else 2)
    found = 0
    B, C = random((7, 4), dtype, 4), random((5, 4), dtype, 5)
    for mode in "TH":
        out = laid_out(C, layout, space)
        N = laid_out(B, layout, space)
        if asked(blas.dot_gemm, M, N, out=out, alpha=2.0, beta=-3.0, mode=mode) is not None:
            found += 1
            op = A.T if mode == "T" else A.conj().T
            assert close(out, 2 * (op @ B) - 3 * C)
    assert found >= (0 if layout == "strided" else 2 if M.dtype.kind == "f" else 1)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("layout", ["right", "left"])
def test_triangles_and_updates(space, vendor, dtype, layout):
    needs(space, dtype)
    A, x = random((6, 6), dtype, 1) + 4 * np.eye(6), random(6, dtype, 2)
    M, v = laid_out(A, layout, space), es.array(x, space=space)
    for mode, of in MODES.items():
        for uplo, part in (("L", np.tril(A)), ("U", np.triu(A))):
            for unit in (False, True):
                T = part - np.diag(np.diag(part)) + np.eye(6) if unit else part
                options = {"uplo": uplo, "mode": mode, "unit_diagonal": unit}
                y = asked(blas.trmv, M, v, **options)
                assert y is None or close(y, of(T) @ x)
                y = asked(blas.trsv, M, v, **options)
                assert y is None or np.allclose(of(T) @ y.to_numpy(), x)
    for name, y in (("ger", x), ("geru", x), ("gerc", x.conj())):
        N = laid_out(A, layout, space)
        if asked(getattr(blas, name), 2.0, v, v, N) is not None:
            assert close(N, A + 2 * np.outer(x, y)), name


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("layout", ["right", "left"])
def test_matrices(space, vendor, dtype, layout):
    """Modes, sides and triangles of all layouts, also of what is part of a larger matrix."""
    needs(space, dtype)
    a, b, c = random((7, 5), dtype, 1), random((5, 6), dtype, 2), random((7, 6), dtype, 3)
    done = set()
    for other in ("right", "left"):
        for mode_a, of_a in MODES.items():
            for mode_b, of_b in MODES.items():
                A, B = laid_out(of_a(a), layout, space), laid_out(of_b(b), other, space)
                C = laid_out(np.zeros((9, 8)).astype(dtype), layout, space)[1:8, 2:]
                es.deep_copy(C, c)
                modes = {"mode_a": mode_a, "mode_b": mode_b}
                if asked(blas.gemm, A, B, out=C, alpha=2.0, beta=-3.0, **modes) is not None:
                    done.add(mode_a + mode_b)
                    assert close(C, 2 * (a @ b) - 3 * c), modes
    assert len(done) == 16 or np.dtype(dtype).kind == "c"
    assert "NN" in done
    for name, mode in (("syrk", "N"), ("syrk", "T"), ("herk", "N"), ("herk", "H")):
        X = a if mode == "N" else MODES[mode](a)
        product = X @ (X.T if name == "syrk" else X.conj().T)
        for uplo, part in (("L", np.tril), ("U", np.triu)):
            for other in ("right", "left"):
                C = laid_out(np.zeros(product.shape, dtype), other, space)
                options = {"out": C, "alpha": 2.0, "uplo": uplo, "mode": mode}
                if asked(getattr(blas, name), laid_out(a, layout, space), **options) is not None:
                    done.add(name)
                    assert close(C, part(2 * product)), (name, options)
    T = random((7, 7), dtype, 4) / 7 + 2 * np.eye(7).astype(dtype)
    for mode, of in MODES.items():
        for uplo, part in (("L", np.tril), ("U", np.triu)):
            for side, rhs in (("L", c), ("R", c.T)):
                for other in ("right", "left"):
                    options = {"side": side, "uplo": uplo, "mode": mode}
                    M, X = laid_out(T, layout, space), laid_out(rhs, other, space)
                    op = of(part(T))
                    if asked(blas.trsm, M, X, out=X, alpha=2.0, **options) is not None:
                        done.add("trsm")
                        found = X.to_numpy()
                        back = op @ found if side == "L" else found @ op
                        assert np.allclose(back, 2 * rhs, rtol=1e-4, atol=1e-4), options
                    product = op @ rhs if side == "L" else rhs @ op
                    found = asked(blas.trmm, M, laid_out(rhs, other, space), **options)
                    assert found is None or close(found, product), options
    assert {"syrk", "trsm"} <= done


def test_which_matrices_are_refused(space, vendor):
    A = es.ones((6, 6), space=space)
    for given, why in (
        ((A[::2, ::2], A[:3]), r"A has strides .*; expected neighbours"),
        ((A, es.ones((6, 6), np.float32, space=space)), "expected one type"),
        ((A, A[:, :0]), "there are no elements"),
    ):
        with pytest.raises(MatrixError, match=f"vendor=True, but .*{why}"):
            blas.gemm(*given, vendor=True)
    with pytest.raises(MatrixError, match=r"vendor=True, but .*alpha is 0"):
        blas.gemm(A, A, alpha=0, vendor=True)


def test_numbers(space, vendor):
    x, y = random(9, seed=1), random(9, seed=2)
    v, w, out = es.array(x, space=space), es.array(y, space=space), es.zeros((), space=space)
    for function, args, expected in (
        (blas.dot, (v, w), x @ y), (blas.dotu, (v, w), x @ y),
        (blas.nrm2, (v,), np.linalg.norm(x)),
    ):  # fmt: skip
        found = asked(function, *args)
        if found is not None:
            assert np.isclose(found, expected) and not isinstance(found, np.generic)
            assert function(*args, out=out, vendor=True) is out
            assert np.isclose(out.item(), expected)
    refused = "float32" if asked(blas.dot, v, w) is not None else "it has no dot"
    with pytest.raises(MatrixError, match=rf"vendor=True, but .*{refused}"):
        blas.dot(*(es.ones(3, np.float32, space=space),) * 2, vendor=True)


def test_what_runs(space, vendor):
    """What was measured to be faster, what was asked for, and ours in graphs."""
    A, x = es.ones((4, 4), space=space), es.ones(4, space=space)
    told = explain(blas.gemv, A, x, vendor=True).decisions[0]
    assert told.algorithm == vendor.library and told.why == "it was asked for"
    assert explain(blas.gemv, A, x, vendor=False).decisions[0].algorithm != vendor.library
    tall = es.ones((50, 9), space=space)
    told = explain(blas.dot_gemm, tall, tall).decisions[0]
    is_left = tall.layout == "left"
    left = (tall, "T", tall, "N") if is_left else (tall.T, "N", tall.T, "T")
    assert (told.algorithm == vendor.library) == vendor.is_preferred(
        "dot_gemm", *left, es.ones((9, 9), layout="left", space=space), 1.0, 0.0
    )
    with pytest.raises(MatrixError, match="vendor=True with algorithm='rows'; expected 'auto'"):
        blas.gemv(A, x, vendor=True, algorithm="rows")
    with pytest.raises(MatrixError, match="alpha is 0"):
        blas.gemv(A, x, alpha=0.0, vendor=True)
    found = execspace_kernels.tune(blas.gemv, A, x, rounds=2)
    assert found.library == vendor.library
    told = explain(blas.gemv, A, x).decisions[0]
    assert (told.algorithm == vendor.library) == (found.choice == "vendor")


def test_recorded_calls_are_ours(space, vendor):
    A, x, y = (es.ones(s, space=space) for s in ((4, 4), 4, 4))
    blas.gemv(A, x, out=y, vendor=False)
    try:
        graph = es.Graph(space)
    except es.ExecspaceError:
        pytest.skip("no graphs here")
    with graph:
        blas.gemv(A, x, out=y)
        with pytest.raises(MatrixError, match="not recorded in graphs"):
            blas.gemv(A, x, out=y, vendor=True)
    es.deep_copy(y, 0.0)
    graph.submit()
    assert y.to_numpy().tolist() == [4.0] * 4

"""Functions of batches: every algorithm and layout gives what NumPy and SciPy give.

Device forms run here on spaces of the host as well.
"""

import numpy as np
import pytest
from batches import BATCH, LAYOUTS, close, fetch, numbers, op, solvable, solved, triangle, view

import execspace as es
from execspace_kernels import MatrixError, arguments, batched, explain

linalg = pytest.importorskip("scipy.linalg")
WAYS = ("auto", "serial", "team", "columns")


@pytest.fixture(params=LAYOUTS, ids=str)
def layout(request):
    return request.param


@pytest.fixture
def as_device(space, monkeypatch):
    """What "auto" takes on devices it takes here, too."""
    if not isinstance(space, es.SupportsTeams):
        pytest.skip("the space has no teams")
    monkeypatch.setattr(arguments, "MANY", 0)


@pytest.mark.parametrize("way", WAYS)
def test_gemm(space, layout, way):
    for m, k, n in ((3, 3, 3), (5, 2, 7)):
        for modes in ("NN", "TH"):
            shapes = [s if mode in "NC" else s[::-1]
                      for mode, s in zip(modes, ((m, k), (k, n)), strict=True)]  # fmt: skip
            A, B = (numbers(i, BATCH, *s) for i, s in enumerate(shapes))
            C = numbers(3, BATCH, m, n)
            out = view(C, space, layout)
            args = view(A, space, layout), view(B, space, layout)
            options = {"mode_a": modes[0], "mode_b": modes[1], "algorithm": way, "space": space}
            found = batched.gemm(*args, out=out, alpha=2, beta=3, **options)
            assert found is out
            assert close(fetch(out), 2 * op(A, modes[0]) @ op(B, modes[1]) + 3 * C)
            made = batched.gemm(*args, **options)
            assert made.layout == args[0].layout
            assert close(fetch(made), op(A, modes[0]) @ op(B, modes[1]))


def test_gemv(space, layout):
    A = numbers(1, BATCH, 3, 4, dtype=np.complex128)
    for mode in "NTCH":
        x = numbers(2, BATCH, op(A, mode).shape[2], dtype=np.complex128)
        y = batched.gemv(view(A, space, layout), view(x, space), mode=mode, space=space)
        assert close(fetch(y), np.einsum("bij,bj->bi", op(A, mode), x))


@pytest.mark.parametrize("way", WAYS)
def test_triangles(space, layout, way):
    for side, uplo, mode, diag in (("L", "L", "N", "N"), ("R", "U", "T", "U")):
        n, k = 5, 3
        A, B = solvable(1, n), numbers(2, BATCH, *((n, k) if side == "L" else (k, n)))
        T = op(triangle(A, uplo, diag), mode)
        options = {"alpha": 1.5, "side": side, "uplo": uplo, "mode": mode, "diag": diag,
                   "algorithm": way, "space": space}  # fmt: skip
        for function, expected in (
            (batched.trmm, T @ B if side == "L" else B @ T), (batched.trsm, solved(T, B, side)),
        ):  # fmt: skip
            out = view(B, space, layout)
            assert function(view(A, space, layout), out, **options) is out
            assert close(fetch(out), 1.5 * expected)


@pytest.mark.parametrize("n", [3, 12])
def test_factors_as_on_devices(space, layout, n, as_device):
    """Small matrices are in the registers of a thread, others in those of a team."""
    A = numbers(n, BATCH, n, n)
    A[1, :, 1] = 0
    out = view(A, space, layout)
    told = explain(batched.getrf, out, space=space)
    pivots, info = told.result
    if space.team_limits().team_size_max >= n:
        assert told.decisions[0].algorithm == ("registers" if n < 10 else "rows")
    for b in range(BATCH):
        factors, exchanges, failed = linalg.lapack.dgetrf(A[b])
        assert close(fetch(out)[b], factors) and info.to_numpy()[b] == failed
        assert (pivots.to_numpy()[b] == exchanges).all()
    dominant = solvable(n, n)
    out, info = view(dominant, space, layout), es.full(BATCH, 9, np.int64, space=space)
    assert batched.lu(out, info=info, space=space) is info and not info.to_numpy().any()
    assert close(triangle(fetch(out), "L", "U") @ triangle(fetch(out), "U"), dominant)
    for uplo in "LU":
        out, inverse = view(dominant @ op(dominant, "T"), space, layout), view(A, space, layout)
        assert not batched.potrf(out, uplo=uplo, space=space).to_numpy().any()
        F = triangle(fetch(out), uplo)
        product = F @ op(F, "T") if uplo == "L" else op(F, "T") @ F
        assert close(product, dominant @ op(dominant, "T"))
        inverse = view(dominant, space, layout)
        assert not batched.trtri(inverse, uplo=uplo, space=space).to_numpy().any()
        assert close(triangle(fetch(inverse), uplo), np.linalg.inv(triangle(dominant, uplo)))


def test_systems(space, layout):
    A, B = numbers(1, BATCH, 4, 4), numbers(2, BATCH, 4, 2)
    A[3] = 0
    X = view(B, space, layout)
    pivots, info = batched.gesv(view(A, space, layout), X, space=space)
    assert info.to_numpy().tolist() == [0, 0, 0, 1, 0]
    found = fetch(X)
    assert close(A[:3] @ found[:3], B[:3]) and (found[3] == B[3]).all()
    factors = view(A, space, layout)
    pivots, _ = batched.getrf(factors, space=space)
    for mode in "NT":
        X = view(B, space, layout)
        batched.getrs(factors, pivots, X, mode=mode, space=space)
        assert close(op(A, mode)[:3] @ fetch(X)[:3], B[:3])
    inverses, info = batched.inverse(view(A, space, layout), space=space)
    assert close(A[:3] @ fetch(inverses)[:3], np.broadcast_to(np.eye(4), (3, 4, 4)))
    assert np.isnan(fetch(inverses)[3]).all() and info.to_numpy()[3] == 1


def test_arrays_of_numpy():
    A, B, C = numbers(1, BATCH, 3, 3), numbers(2, BATCH, 3, 3), np.zeros((BATCH, 3, 3))
    with es.use_space("serial"):
        batched.gemm(A, B, out=C)
        assert close(C, A @ B)
        factors, info = A.copy(), np.full(BATCH, 9)
        pivots, found = batched.getrf(factors, info=info)
        assert not info.any() and (found.to_numpy() == info).all()
        batched.getrs(factors, pivots, C)
        assert close(C, B)
        batched.inverse(A.copy(), out=C)
        assert close(A @ C, np.broadcast_to(np.eye(3), A.shape))
        y = np.zeros((BATCH, 3))
        batched.gemv(A, B[:, 0], out=y)
        assert close(y, np.einsum("bij,bj->bi", A, B[:, 0]))


def test_sizes_that_are_nothing(space):
    for shape in ((0, 3, 3), (4, 0, 0)):
        A = es.zeros(shape, space=space)
        assert batched.gemm(A, A, space=space).shape == shape
        assert batched.trsm(A, es.zeros(shape, space=space), space=space).shape == shape
        assert batched.getrf(A, space=space)[1].shape == shape[:1]
        assert batched.trtri(A, space=space).shape == shape[:1]
    C = batched.gemm(es.ones((2, 3, 0), space=space), es.ones((2, 0, 4), space=space), space=space)
    assert not C.to_numpy().any() and C.shape == (2, 3, 4)


def test_kernels_put_them_together(space):
    """A factorisation and a solve in one launch, with all numbers in private arrays."""

    def solve(b, A, x, n: es.static):
        own = es.local((n, n), A.dtype)
        right = es.local(n, A.dtype)
        batched.serial.copy(A[b, :, :], own)
        for i in range(n):
            right[i] = x[b, i]
        if batched.serial.lu(own) == 0:
            batched.serial.trsv(own, right, "L", "N", "U")
            batched.serial.trsv(own, right, "U")
            for i in range(n):
                x[b, i] = right[i]

    A, b = solvable(1, 4), numbers(2, BATCH, 4)
    x = view(b, space)
    es.parallel_for(es.RangePolicy(BATCH, space=space), solve, view(A, space), x, 4)
    assert close(np.einsum("bij,bj->bi", A, fetch(x)), b)


def test_what_is_refused():
    A, B = es.ones((2, 3, 3), space="oracle"), es.ones((2, 3, 2), space="oracle")
    refused = [
        (lambda: batched.gemm(A, es.ones((3, 3, 3), space="oracle")), es.ViewError,
         "A has 2 matrices and B 3; expected the same number"),
        (lambda: batched.gemm(A, B, mode_b="T"), es.ViewError,
         r"op\(A\) has 3 columns and op\(B\) 2"),
        (lambda: batched.gemm(es.ones((3, 3), space="oracle"), B), es.ViewError,
         r"shape \(3, 3\); expected \(batch, m, n\)"),
        (lambda: batched.gemm(A, A, out=A), es.ViewError, "out overlaps A"),
        (lambda: batched.gemm(A, A, mode_a="X"), MatrixError, "mode_a='X'; expected 'N', 'T'"),
        (lambda: batched.gemm(A, A, algorithm="fast"), MatrixError, "algorithm='fast'; expected"),
        (lambda: batched.gemm(A, A, alpha=1j, out=es.ones((2, 3, 3), space="oracle")), es.ViewError,
         "of float64, and the result is of complex128"),
        (lambda: batched.trsm(B, A), MatrixError, "matrices of 3 x 2; expected square ones"),
        (lambda: batched.trsm(A, B, side="R"), es.ViewError, "expected 3 columns, as A"),
        (lambda: batched.trmm(A, B.readonly()), es.ViewError, "B is View '', which is read-only"),
        (lambda: batched.getrf(A, algorithm="blocks"), MatrixError, "algorithm='blocks'; expected"),
        (lambda: batched.getrf(A, pivots=np.zeros((2, 2), np.int32)), es.ViewError,
         r"expected int32 or int64 and \(2, 3\)"),
        (lambda: batched.potrf(A, info=np.zeros(3, np.int32)), es.ViewError,
         r"info is View 'potrf: info' of int32 and shape \(3,\); expected int32 or"),
        (lambda: batched.potrf(es.ones((2, 3, 3), np.int32, space="oracle")), es.ViewError,
         "is of int32; expected real or complex floats"),
        (lambda: batched.gemm(es.ones((2, 40, 40), space="oracle"),
                              es.ones((2, 40, 40), space="oracle"), algorithm="columns"),
         MatrixError, "algorithm='columns' is for up to 32 rows"),
        (lambda: batched.Interleaved(3), MatrixError, "width=3; expected a power of two"),
    ]  # fmt: skip
    for call, error, text in refused:
        with pytest.raises(error, match=text), es.use_space("oracle"):
            call()


def test_faults_that_would_lose_results(space):
    A = es.ones((2, 3, 3), space=space)
    for function, args in (
        (batched.lu, ()), (batched.potrf, ()), (batched.gesv, (es.ones((2, 3, 1), space=space),)),
    ):  # fmt: skip
        with pytest.raises(es.ViewError, match=r"A is a list, which cannot be changed in place"):
            function([[[1.0]]], *args)
    with pytest.raises(es.ViewError, match=r"trsm: B is a list, which cannot be changed"):
        batched.trsm(A, [[[1.0]]])
    with pytest.raises(MatrixError, match=r"gemm: beta=1.0 without out=; expected out"):
        batched.gemm(A, A, beta=1.0)


def test_widths_are_integers_of_any_kind():
    assert batched.Interleaved(np.int64(4)) == batched.Interleaved(4)
    for width in (0, -4, 6, 4.0, True):
        with pytest.raises(MatrixError, match=r"Interleaved: width=.*; expected a power of two"):
            batched.Interleaved(width)


def polar(b, A, R, at):
    U = es.local((3, 3), A.dtype)
    s = es.local(3, A.dtype)
    V = es.local((3, 3), A.dtype)
    batched.serial.copy(A[b, :, :], U)
    if batched.serial.svd(U, s, V) == 0:
        batched.serial.gemm(U, V, R[b, :, :], 1.0, 0.0, "N", "T")
        at[b] = 1


def transposed_factor(b, A, tau, B):
    batched.serial.geqrf(A[b, :, :], tau[b, :])
    batched.serial.ormqr(A[b, :, :], tau[b, :], B[b, :, :], "T")


def test_what_decompositions_return(space):
    values = numbers(1, 4, 3, 3)
    R, at = es.zeros((4, 3, 3), space=space), es.zeros(4, space=space)
    es.parallel_for(es.RangePolicy(4, space=space), polar, es.array(values, space=space), R, at)
    assert at.to_numpy().tolist() == [1.0] * 4
    U, _, Vh = np.linalg.svd(values)
    assert np.allclose(R.to_numpy(), U @ Vh)


def test_products_with_the_transpose_of_an_orthogonal_factor(space):
    values, right = numbers(1, 4, 5, 3), numbers(2, 4, 5, 2)
    A, B = es.array(values, space=space), es.array(right, space=space)
    tau = es.zeros((4, 3), space=space)
    es.parallel_for(es.RangePolicy(4, space=space), transposed_factor, A, tau, B)
    expected = np.linalg.qr(values)[0].transpose(0, 2, 1) @ right
    assert np.allclose(np.abs(B.to_numpy()[:, :3]), np.abs(expected))

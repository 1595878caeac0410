"""Gauss-Seidel, SOR and Jacobi, against loops of Python over the rows."""

from __future__ import annotations

import importlib
from functools import partial

import numpy as np
import pytest
from sparse_numbers import DTYPES, are_close, dominant

import execspace as es
import execspace_kernels
from execspace_kernels import MatrixError, sparse
from execspace_kernels.sparse import replay

scipy_sparse = pytest.importorskip("scipy.sparse")
module = importlib.import_module("execspace_kernels.sparse.gauss_seidel")
colouring = importlib.import_module("execspace_kernels.sparse.colouring")

close = partial(are_close, single=1e-4, double=1e-12)


def sweep(dense, b, x, order, omega):
    for i in order:
        x[i] += omega * (b[i] - dense[i] @ x) / dense[i, i]


def two_stages(dense, b, x, forward, omega, inner):
    d = dense.diagonal().reshape(-1, *(1,) * (b.ndim - 1))
    part = np.tril(dense, -1) if forward else np.triu(dense, 1)
    r = b - dense @ x
    g = omega * r / d
    for _ in range(inner):
        g = omega * (r - part @ g) / d
    x += g


@pytest.fixture(params=["as it is", "as a device"])
def way(request, monkeypatch):
    if request.param == "as a device":
        monkeypatch.setattr(module, "MANY", 0)
        monkeypatch.setattr(module, "_LONG", 2)
        monkeypatch.setattr(colouring, "MANY", 0)
        monkeypatch.setattr(replay, "_FEW", 1)


@pytest.mark.parametrize("direction", ["forward", "backward", "symmetric"])
@pytest.mark.parametrize("columns", [(), (3,)])
def test_sweeps_by_colours(space, matrix, direction, columns, way):
    S = dominant(matrix)
    dense, n = S.toarray(), S.shape[0]
    A = sparse.as_crs(S, space=space)
    handle = sparse.gauss_seidel_symbolic(A, algorithm="coloured", space=space)
    sparse.gauss_seidel_numeric(handle, A)
    colours = sparse.colour(A.graph, space=space)
    assert colours.number == handle.colours
    order = colours.rows(np.int64, space).order.to_numpy().tolist()
    b = np.random.default_rng(1).standard_normal((n, *columns))
    for initial in ("zero", "given"):
        for turn in range(3):
            expected = np.full_like(b, turn if initial == "given" else 0)
            x = es.full(b.shape, float(turn), space=space)
            for _ in range(2):
                if direction != "backward":
                    sweep(dense, b, expected, order, 1.1)
                if direction != "forward":
                    sweep(dense, b, expected, order[::-1], 1.1)
            found = sparse.gauss_seidel_apply(
                handle, A, es.array(b, space=space), x, sweeps=2, direction=direction, omega=1.1,
                initial=initial,
            )  # fmt: skip
            assert found is x and close(x.to_numpy(), expected)


@pytest.mark.parametrize("inner", [0, 1, 2])
@pytest.mark.parametrize("columns", [(), (3,)])
def test_sweeps_by_two_stages(space, matrix, inner, columns):
    S = dominant(matrix)
    dense, n = S.toarray(), S.shape[0]
    A = sparse.as_crs(S, space=space)
    b = np.random.default_rng(1).standard_normal((n, *columns))
    M = sparse.GaussSeidel(A, 2, algorithm="two-stage", inner_sweeps=inner, omega=0.9, space=space)
    expected = np.zeros_like(b)
    for _ in range(2):
        two_stages(dense, b, expected, True, 0.9, inner)
        two_stages(dense, b, expected, False, 0.9, inner)
    assert close(M.apply(es.array(b, space=space)).to_numpy(), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_and_values_that_change(space, dtype):
    if np.dtype(dtype).kind == "c" and not space.capabilities.complex:
        pytest.skip("no complex numbers here")
    S = dominant(scipy_sparse.random_array((40, 40), density=0.1, rng=np.random.default_rng(1)),
                 dtype)  # fmt: skip
    A = sparse.as_crs(S.copy(), space=space)
    b = np.arange(40.0).astype(dtype)
    source = es.array(b, space=space)
    made = [sparse.GaussSeidel(A, 30), sparse.GaussSeidel(A, 30, algorithm="two-stage"),
            sparse.Jacobi(A, 60)]  # fmt: skip
    for turn in range(1, 3):
        es.deep_copy(A.values, (S.data * turn).astype(dtype))
        for M in made:
            M.update(A)
            x = M.apply(source)
            assert x.dtype == dtype and close((S @ x.to_numpy() * turn).astype(dtype), b)


def test_jacobi(space, matrix):
    S = dominant(matrix)
    dense, n = S.toarray(), S.shape[0]
    A = sparse.as_crs(S, space=space)
    for b in (np.arange(float(n)), np.arange(2.0 * n).reshape(n, 2)):
        expected = np.zeros_like(b)
        d = dense.diagonal().reshape(-1, *(1,) * (b.ndim - 1))
        source = es.array(b, space=space)
        for sweeps in range(4):
            M = sparse.Jacobi(A, sweeps, 0.8)
            out = es.full(b.shape, 7.0, space=space)
            assert M.apply(source, out=out) is out and close(out.to_numpy(), expected)
            expected = expected + 0.8 * (b - dense @ expected) / d
        one = sparse.Jacobi(A, omega=0.5)(source, out=source)
        assert close(one.to_numpy(), 0.5 * b / d)


def test_in_a_graph(space):
    S = dominant(scipy_sparse.random_array((20, 20), density=0.2, rng=np.random.default_rng(7)))
    A = sparse.as_crs(S.copy(), space=space)
    for M in (
        sparse.GaussSeidel(A, 20), sparse.GaussSeidel(A, 20, algorithm="two-stage"),
        sparse.Jacobi(A, 40),
    ):  # fmt: skip
        b, x = es.ones(20, space=space), es.zeros(20, space=space)
        with es.Graph(space) as graph:
            es.deep_copy(b, 2.0)
            M.apply(b, out=x)
        graph.submit()
        es.fence()
        assert close(S @ x.to_numpy(), np.full(20, 2.0))


def test_elements_that_change_without_an_update(space):
    S = dominant(scipy_sparse.random_array((20, 20), density=0.2, rng=np.random.default_rng(7)))
    A = sparse.as_crs(S.copy(), space=space)
    b, x = es.ones(20, space=space), es.zeros(20, space=space)
    made = [
        partial(sparse.GaussSeidel, sweeps=2), partial(sparse.Jacobi, sweeps=3),
        partial(sparse.GaussSeidel, sweeps=2, algorithm="two-stage"),
    ]  # fmt: skip
    old = [make(A) for make in made]
    one = sparse.Jacobi(A)
    before = one.apply(b).to_numpy()
    for M in old:
        M.apply(b, out=x)
        M.apply(b, out=x)  # some of them replay what was recorded
    es.deep_copy(A.values, S.data * 5)
    for M, make in zip(old, made, strict=True):
        assert np.array_equal(M.apply(b, out=x).to_numpy(), make(A).apply(b).to_numpy())
    assert np.array_equal(one.apply(b).to_numpy(), before)  # has the diagonal of the last update
    one.update(A)
    assert close(one.apply(b).to_numpy(), before / 5)


def test_diagonals_in_several_entries(space):
    A = sparse.CrsMatrix([0, 3, 5], [0, 1, 0, 1, 0], [1.5, 1.0, 2.5, 3.0, 2.0], (2, 2), space=space)
    b = es.array([5.0, 5.0], space=space)
    for M in (
        sparse.Jacobi(A, 60), sparse.GaussSeidel(A, 30),
        sparse.GaussSeidel(A, 30, algorithm="two-stage"),
    ):  # fmt: skip
        assert close(M.apply(b).to_numpy(), [1.0, 1.0])
    assert close(sparse.Jacobi(A).apply(b).to_numpy(), [1.25, 5 / 3])


def test_diagonals_that_have_no_inverse(space):
    for dtype in (np.float64, np.float32):
        tiny = dtype(np.finfo(dtype).smallest_subnormal)
        for value in (np.nan, np.inf, -np.inf, tiny, 0.0):
            values = np.array([1.0, 1.0, value], dtype)
            A = sparse.CrsMatrix([0, 1, 3], [0, 0, 1], values, (2, 2), space=space)
            good = sparse.CrsMatrix.of(A.graph, es.ones(3, dtype, space=space))
            b = es.ones(2, dtype, space=space)
            for make, name in ((sparse.Jacobi, "jacobi"), (sparse.GaussSeidel, "gauss_seidel")):
                told = rf"{name}: row 1 has a diagonal element of .*; expected one that is finite"
                with pytest.raises(MatrixError, match=told):
                    make(A)
                M = make(good)
                with pytest.raises(MatrixError, match="row 1 has"):
                    M.update(A)
                assert close(M.apply(b).to_numpy(), make(good).apply(b).to_numpy())


def test_what_is_refused(space):
    A = sparse.CrsMatrix([0, 2, 4], [0, 1, 0, 1], [1.0, 1.0, 2.0, 2.0], (2, 2), space=space)
    other = sparse.CrsMatrix([0, 1, 2], [0, 1], [1.0, 1.0], (2, 2), space=space)
    wide = sparse.CrsMatrix([0, 0], [], np.zeros(0), (1, 2), space=space)
    zero = sparse.CrsMatrix([0, 1, 2], [0, 1], [1.0, 0.0], (2, 2), space=space)
    none = sparse.CrsMatrix([0, 1, 2], [0, 0], [1.0, 1.0], (2, 2), space=space)
    b, x = es.ones(2, space=space), es.zeros(2, space=space)
    new = sparse.gauss_seidel_symbolic(A)
    handle = sparse.gauss_seidel_symbolic(A)
    sparse.gauss_seidel_numeric(handle, A)

    def run(**options):
        return sparse.gauss_seidel_apply(handle, A, b, x, **options)

    wrong = [
        (MatrixError, lambda: sparse.GaussSeidel(zero), "row 1 has a diagonal element of 0"),
        (MatrixError, lambda: sparse.Jacobi(none), "jacobi: row 1 has no diagonal element"),
        (MatrixError, lambda: sparse.GaussSeidel(wide), "A is 1 x 2; expected a square matrix"),
        (MatrixError, lambda: sparse.Jacobi(wide), "A is 1 x 2; expected a square"),
        (MatrixError, lambda: sparse.GaussSeidel(A, algorithm="x"), "algorithm='x'; expected"),
        (MatrixError, lambda: sparse.GaussSeidel(A, inner_sweeps=-1), "inner_sweeps=-1; expected"),
        (MatrixError, lambda: sparse.GaussSeidel(A, 1.5), "sweeps=1.5; expected a number of 0"),
        (MatrixError, lambda: sparse.Jacobi(A, omega=0), "omega=0; expected a real number"),
        (MatrixError, lambda: sparse.Jacobi(A, omega=np.inf), "omega=inf; expected a real number"),
        (MatrixError, lambda: sparse.GaussSeidel(A, omega=np.nan), "omega=nan; expected a real"),
        (MatrixError, lambda: sparse.Jacobi(A).update(other), "jacobi: A is .*; expected one of"),
        (MatrixError, lambda: sparse.gauss_seidel_numeric(None, A), "handle=None; expected that"),
        (MatrixError, lambda: sparse.gauss_seidel_numeric(handle, other), "for another graph"),
        (MatrixError, lambda: sparse.gauss_seidel_apply(new, A, b, x), "no diagonal elements yet"),
        (MatrixError, lambda: run(direction="up"), "direction='up'; expected 'forward'"),
        (MatrixError, lambda: run(initial="x"), "initial='x'; expected 'zero' or 'given'"),
        (MatrixError, lambda: run(omega=1j), "omega=1j; expected a real number"),
        (es.ViewError, lambda: sparse.gauss_seidel_apply(handle, A, b, b), "out overlaps b"),
        (es.ViewError, lambda: sparse.Jacobi(A).apply(es.ones(3, space=space)), r"\(2,\) or"),
    ]  # fmt: skip
    for error, call, message in wrong:
        with pytest.raises(error, match=message):
            call()


def test_explain_tells_the_algorithm_and_why(space):
    A = sparse.CrsMatrix([0, 1, 2], [0, 1], [1.0, 1.0], (2, 2), space=space)
    told = execspace_kernels.explain(sparse.gauss_seidel_symbolic, A)
    assert str(told).endswith("gauss_seidel: coloured, for rows have 1 colours")
    told = execspace_kernels.explain(sparse.gauss_seidel_symbolic, A, algorithm="two-stage")
    assert str(told) == "gauss_seidel: two-stage, for it was asked for"

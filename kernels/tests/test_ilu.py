"""Incomplete factors, against the definition in plain Python."""

from __future__ import annotations

import importlib
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sparse_numbers import DTYPES, are_close, dominant

import execspace as es
import execspace_kernels
from execspace_kernels import MatrixError, sparse
from execspace_kernels.sparse import replay

scipy_sparse = pytest.importorskip("scipy.sparse")
fill = importlib.import_module("execspace_kernels.sparse.fill")
module = importlib.import_module("execspace_kernels.sparse.ilu")

close = partial(are_close, single=1e-4, double=1e-11)


def reference(S, level):
    """ILU(k) as in the book, row by row, on dense arrays."""
    n = S.shape[0]
    a = S.toarray().astype(np.result_type(S.dtype, np.float64))
    lev = np.full((n, n), 10**6)
    coo = S.tocoo()
    lev[coo.row, coo.col] = 0
    np.fill_diagonal(lev, 0)
    for i in range(n):
        for h in range(i):
            if lev[i, h] <= level:
                a[i, h] /= a[h, h]
                for j in range(h + 1, n):
                    if lev[h, j] <= level:
                        lev[i, j] = min(lev[i, j], lev[i, h] + lev[h, j] + 1)
                        a[i, j] -= a[i, h] * a[h, j]
        a[i, lev[i] > level] = 0
    return np.tril(a, -1), np.triu(a), lev <= level


@pytest.fixture(params=["as it is", "as a device"])
def way(request, monkeypatch):
    if request.param == "as a device":
        monkeypatch.setattr(module, "MANY", 0)
        monkeypatch.setattr(module, "_THREADS_OF_HOSTS", 0)
        monkeypatch.setattr(module, "_THREADS", 4)


@pytest.mark.parametrize("level", [0, 1, 2])
def test_factors(space, matrix, level, way):
    most = 24 if space.name == "oracle" else 70  # what fills up takes minutes
    matrix = matrix[:most, :most]
    S = dominant(matrix)
    low, up, pattern = reference(S, level)
    A = sparse.as_crs(S, space=space)
    b = np.random.default_rng(1).standard_normal((S.shape[0], 3))
    for algorithm in ("auto", "sequential", "levels"):
        handle = sparse.ilu_symbolic(A, level=level, algorithm=algorithm, space=space)
        L, U = sparse.ilu_numeric(handle, A)
        assert L is handle.L and L.nnz + U.nnz == pattern.sum()
        assert close(L.to_numpy(), low) and close(U.to_numpy(), up)
        for part in (b, b[:, 0]):
            x = sparse.ilu_apply(handle, es.array(part, space=space)).to_numpy()
            assert close((low + np.eye(len(low))) @ (up @ x), part)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_and_values_that_change(space, dtype, monkeypatch):
    if np.dtype(dtype).kind == "c" and not space.capabilities.complex:
        pytest.skip("no complex numbers here")
    monkeypatch.setattr(replay, "_FEW", 1)
    S = dominant(
        scipy_sparse.random_array((40, 40), density=0.1, rng=np.random.default_rng(1)), dtype
    )
    A = sparse.as_crs(S.copy(), space=space)
    M = sparse.Ilu(A, 1, algorithm="levels", space=space)
    b, x = es.ones(40, dtype, space=space), es.zeros(40, dtype, space=space)
    for turn in range(1, 4):
        es.deep_copy(A.values, (S.data * turn).astype(dtype))
        M.update(A)
        low, up, _ = reference(S * turn, 1)
        assert M.handle.U.dtype == dtype and close(M.handle.U.to_numpy(), up)
        assert M.apply(b, out=x) is x
        product = (low + np.eye(40)) @ (up @ x.to_numpy())
        assert close(product.astype(dtype), np.ones(40))


def test_all_levels_are_the_whole_factorisation(space):
    S = dominant(scipy_sparse.random_array((30, 30), density=0.1, rng=np.random.default_rng(5)))
    M = sparse.Ilu(sparse.as_crs(S, space=space), level=30)
    b = np.arange(30.0)
    assert close(S @ M.solve(es.array(b, space=space)).to_numpy(), b)
    assert close(S @ M(es.array(b, space=space)).to_numpy(), b)


def test_levels_that_add_nothing_are_not_looked_for(space, monkeypatch):
    calls = []
    arising = fill._arising
    monkeypatch.setattr(
        fill, "_arising", lambda *args: calls.append(args[4]) or arising(*args)
    )  # fmt: skip
    D = scipy_sparse.diags_array([-1.0, 3.0, -1.0], offsets=[-1, 0, 1], shape=(8, 8)).tolil()
    handle = sparse.ilu_symbolic(sparse.as_crs(D.tocsr(), space=space), level=10**6)
    assert calls == [1] and handle.lower.graph.nnz == 7  # a line fills nothing
    calls.clear()
    D[0, 7] = D[7, 0] = 1.0
    most = sparse.ilu_symbolic(sparse.as_crs(D.tocsr(), space=space), level=10**6)
    assert len(calls) <= 2 * 6 + 1
    _, _, pattern = reference(D.tocsr(), 10**5)
    assert most.lower.graph.nnz + most.upper.graph.nnz == pattern.sum()


def test_an_update_that_fails(space):
    A = sparse.CrsMatrix([0, 2, 4], [0, 1, 0, 1], [4.0, 1.0, 2.0, 3.0], (2, 2), space=space)
    b = es.array([5.0, 5.0], space=space)
    M = sparse.Ilu(A)
    for values in ([1.0, 1.0, 2.0, 2.0], [np.nan, 1.0, 2.0, 3.0]):
        singular = sparse.CrsMatrix.of(A.graph, values, space=space)
        with pytest.raises(MatrixError, match="the pivot of row"):
            M.update(singular)
        with pytest.raises(MatrixError, match=r"Ilu\.update, failed: the pivot of row"):
            M.apply(b)
    assert close(M.handle.U.to_numpy()[0, 1:], [1.0])  # to be looked at
    wide = sparse.CrsMatrix([0, 1, 2], [0, 1], [1.0, 1.0], (2, 2), space=space)
    M.update(A)
    with pytest.raises(MatrixError, match="another graph"):
        M.update(wide)
    assert close(M.apply(b).to_numpy(), [1.0, 1.0])  # nothing had been touched


rows = st.lists(st.lists(st.integers(0, 6), max_size=5), min_size=7, max_size=7)


@given(rows, st.integers(0, 3))
@settings(max_examples=60)
def test_rows_in_any_order_without_diagonals(rows, level):
    flat = [c for i, row in enumerate(rows) for c in [*row, i, *row]]
    starts = np.cumsum([0, *(2 * len(row) + 1 for row in rows)])
    values = [v for i, row in enumerate(rows) for v in [*(-1.0,) * len(row), 40.0, *row]]
    with es.use_space("serial"):
        A = sparse.CrsMatrix(starts, flat, values, (7, 7))
        S = scipy_sparse.coo_array((values, (np.repeat(np.arange(7), np.diff(starts)), flat)))
        S.resize((7, 7))
        M = sparse.Ilu(A, level)
        low, up, _ = reference(S.tocsr(), level)
        assert close(M.handle.L.to_numpy(), low) and close(M.handle.U.to_numpy(), up)


def test_in_a_graph(space):
    S = dominant(scipy_sparse.random_array((20, 20), density=0.2, rng=np.random.default_rng(7)))
    A = sparse.as_crs(S.copy(), space=space)
    M = sparse.Ilu(A, algorithm="levels")
    b, x = es.ones(20, space=space), es.zeros(20, space=space)
    with es.Graph(space) as graph:
        sparse.ilu_numeric(M.handle, A, check=False)
        M.apply(b, out=x)
    es.deep_copy(A.values, S.data * 2)
    graph.submit()
    es.fence()
    low, up, _ = reference(S * 2, 0)
    assert close((low + np.eye(20)) @ (up @ x.to_numpy()), np.ones(20))


def test_what_is_refused(space):
    A = sparse.CrsMatrix([0, 2, 4], [0, 1, 0, 1], [1.0, 1.0, 2.0, 2.0], (2, 2), space=space)
    other = sparse.CrsMatrix([0, 1, 2], [0, 1], [1.0, 1.0], (2, 2), space=space)
    wide = sparse.CrsMatrix([0, 0], [], np.zeros(0), (1, 2), space=space)
    hollow = sparse.CrsMatrix([0, 1, 2], [1, 0], [1.0, 1.0], (2, 2), space=space)
    handle = sparse.ilu_symbolic(A)
    b = es.ones(2, space=space)
    wrong = [
        (MatrixError, lambda: sparse.Ilu(A), "the pivot of row 1 is 0.0; expected a finite number"),
        (MatrixError, lambda: sparse.Ilu(hollow), "the pivot of row 0 is 0.0"),
        (MatrixError, lambda: sparse.Ilu(wide), "A is 1 x 2; expected a square matrix"),
        (MatrixError, lambda: sparse.Ilu(A, -1), "level=-1; expected a number of 0 or more"),
        (MatrixError, lambda: sparse.Ilu(A, 1.5), "level=1.5; expected"),
        (MatrixError, lambda: sparse.Ilu(A, algorithm="x"), "algorithm='x'; expected 'auto'"),
        (MatrixError, lambda: sparse.ilu_numeric(None, A), "handle=None; expected that of"),
        (MatrixError, lambda: sparse.ilu_apply(None, b), "handle=None; expected that of"),
        (MatrixError, lambda: sparse.ilu_numeric(handle, other), "was made for another graph"),
        (MatrixError, lambda: sparse.ilu_apply(handle, b), "no values yet; compute them by"),
        (MatrixError, lambda: handle.L, "no values yet"),
        (es.ViewError, lambda: sparse.Ilu(other).apply(es.ones(3, space=space)), r"\(2,\) or"),
    ]  # fmt: skip
    for error, call, message in wrong:
        with pytest.raises(error, match=message):
            call()


def test_explain_tells_the_algorithm_and_why(space):
    A = sparse.CrsMatrix([0, 1, 2], [0, 1], [1.0, 1.0], (2, 2), space=space)
    told = execspace_kernels.explain(sparse.ilu_symbolic, A, algorithm="levels")
    assert str(told).startswith("ilu: levels, for it was asked for\nsptrsv: ")

"""Solves with the factors of SuperLU."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from sparse_numbers import DTYPES

import execspace as es
import execspace_kernels
from execspace_kernels import MatrixError, sparse
from execspace_kernels.sparse import supernodes

scipy_sparse = pytest.importorskip("scipy.sparse")
linalg = pytest.importorskip("scipy.sparse.linalg")
module = importlib.import_module("execspace_kernels.sparse.supernodal")


@pytest.fixture(autouse=True)
def with_teams(space):
    if not isinstance(space, es.SupportsTeams):
        pytest.skip("no teams here")


@pytest.fixture(params=["as it is", "as a device"])
def way(request, monkeypatch):
    if request.param == "as a device":
        monkeypatch.setattr(module, "MANY", 0)
        monkeypatch.setattr(module, "_THREADS", 3)
        monkeypatch.setattr(module, "_LANES", 2)


def regular(matrix, dtype=np.float64):
    n = min(matrix.shape)
    S = scipy_sparse.csr_array(matrix[:n, :n])
    S.data[:] = np.random.default_rng(n).uniform(-1, 1, S.nnz)
    most = np.abs(S).sum(axis=1).max(initial=1)
    return scipy_sparse.csc_array(S + most * scipy_sparse.eye_array(n)).astype(dtype)


@pytest.mark.parametrize("order", ["NATURAL", "COLAMD", "MMD_AT_PLUS_A"])
def test_solves(space, matrix, order, way):
    S = regular(matrix)
    n = S.shape[0]
    if not n:
        pytest.skip("SuperLU wants rows")
    lu = linalg.splu(S, permc_spec=order)
    factors = sparse.superlu(lu, space=space)
    assert factors.shape == (n, n) and all(1 <= count <= n for count in factors.supernodes)
    for columns in ((), (3,)):
        b = np.random.default_rng(1).standard_normal((n, *columns))
        source = es.array(b, space=space)
        for _ in range(3):
            found = factors.solve(source)
            assert np.allclose(found.to_numpy(), lu.solve(b), rtol=1e-10, atol=1e-10)
        assert factors.apply(source, out=source) is source
        assert np.array_equal(source.to_numpy(), found.to_numpy())


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_that_pivoting_exchanges(space, dtype, way):
    if np.dtype(dtype).kind == "c" and not space.capabilities.complex:
        pytest.skip("no complex numbers here")
    n = 60
    rng = np.random.default_rng(3)
    S = scipy_sparse.random_array((n, n), density=0.1, rng=rng).tocsc() + scipy_sparse.csc_array(
        (rng.uniform(1, 2, n), (rng.permutation(n), np.arange(n))), shape=(n, n)
    )
    S = scipy_sparse.csc_array(S).astype(dtype)
    if np.dtype(dtype).kind == "c":
        S.data *= np.exp(1j * np.arange(S.nnz)).astype(dtype)
    lu = linalg.splu(S)
    assert lu.perm_r.tolist() != list(range(n))
    b = rng.standard_normal(n).astype(dtype)
    x = sparse.superlu(lu, space=space).solve(es.array(b, space=space))
    tolerance = 1e-3 if x.dtype in (np.float32, np.complex64) else 1e-10
    assert x.dtype == dtype
    assert np.allclose(S @ x.to_numpy(), b, rtol=tolerance, atol=tolerance)


def test_panels_are_the_factor(monkeypatch):
    for widest, zeros in ((1, 0.0), (3, 0.5), (32, 0.3), (32, 1.0)):
        monkeypatch.setattr(supernodes, "_WIDEST", widest)
        monkeypatch.setattr(supernodes, "_ZEROS", zeros)
        for n, density in ((1, 1.0), (50, 0.05), (50, 0.9)):
            rng = np.random.default_rng(n)
            L = scipy_sparse.tril(
                scipy_sparse.coo_array(
                    scipy_sparse.random_array((n, n), density=density, rng=rng).toarray()
                    + 2 * np.eye(n)
                ),
                -1,
            )
            L = scipy_sparse.csc_array(L + scipy_sparse.eye_array(n))
            L.sort_indices()
            panels = supernodes.panels_of(L.indptr, L.indices, L.data)
            dense = np.zeros((n, n))
            for s in range(len(panels)):
                first, last = panels.firsts[s : s + 2]
                assert 0 < last - first <= widest
                rows = panels.rows[panels.row_starts[s] : panels.row_starts[s + 1]]
                dense[np.r_[first:last, rows], first:last] = panels.panel(s)
            assert np.array_equal(dense, L.toarray())


def test_in_a_graph(space):
    S = regular(scipy_sparse.random_array((40, 40), density=0.1, rng=np.random.default_rng(4)))
    factors = sparse.superlu(linalg.splu(S), space=space)
    b, x = es.ones(40, space=space), es.zeros(40, space=space)
    with es.Graph(space) as graph:
        es.deep_copy(b, 2.0)
        factors.solve(b, out=x)
    graph.submit()
    es.fence()
    assert np.allclose(S @ x.to_numpy(), 2.0)


def test_what_is_refused(space):
    with pytest.raises(MatrixError, match="'list' has no factors; expected what"):
        sparse.superlu([], space=space)
    lu = linalg.splu(scipy_sparse.eye_array(3, format="csc"))
    told = execspace_kernels.explain(sparse.superlu, lu, space=space)
    assert str(told) == "superlu: supernodal, for factors of SuperLU have supernodes"
    with pytest.raises(es.ViewError, match=r"superlu: b: .* expected \(3,\) or \(3, k\)"):
        told.result.solve(es.ones(2, space=space))
    both = es.ones(4, space=space)
    with pytest.raises(es.ViewError, match="out overlaps b in memory"):
        told.result.solve(both[:3], out=both[1:])

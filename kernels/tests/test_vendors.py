"""Routines of vendors' libraries: which one runs, and what a plugin provides."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
import execspace_kernels
from execspace_kernels import MatrixError, explain, sparse, vendors

scipy_sparse = pytest.importorskip("scipy.sparse")


@pytest.fixture(autouse=True)
def a_table_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("EXECSPACE_TUNING_DIR", str(tmp_path))


@pytest.fixture
def vendor(space):
    found = vendors.vendor_of(space)
    if found is None:
        pytest.skip("no library for this space")
    return found


def matrices(space, dtype=np.float64):
    rng = np.random.default_rng(1)
    S = scipy_sparse.random_array((50, 40), density=0.2, rng=rng, dtype=dtype).tocsr()
    return S, sparse.as_crs(S).to_space(space)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("mode", ["N", "T"])
@pytest.mark.parametrize("columns", [(), (3,)])
def test_products(space, vendor, dtype, mode, columns):
    S, A = matrices(space, dtype)
    op = S if mode == "N" else S.T
    x, y = (np.random.default_rng(n).random((size, *columns)).astype(dtype)
            for n, size in enumerate(op.shape[::-1]))  # fmt: skip
    v, w = (es.View(a.shape, dtype, space=space, layout="left") for a in (x, y))
    es.deep_copy(v, x)
    es.deep_copy(w, y)
    told = explain(sparse.spmv, A, v, out=w, alpha=2.0, beta=3.0, mode=mode, vendor=True)
    assert told.decisions[0].algorithm == vendor.library
    assert np.allclose(w.to_numpy(), 2 * (op @ x) + 3 * y, rtol=1e-5)
    sparse.spmv(A, v, out=w, alpha=2.0, mode=mode, vendor=True)
    assert np.allclose(w.to_numpy(), 2 * (op @ x), rtol=1e-5)


def test_products_and_sums_of_matrices(space, vendor):
    S, A = matrices(space)
    T = scipy_sparse.csr_array(S.T)
    C = sparse.spgemm(A, sparse.as_crs(T).to_space(space), vendor=True)
    assert np.allclose(C.to_numpy(), (S @ T).toarray())
    assert C.graph.is_sorted()
    D = sparse.spadd(A, A, alpha=2.0, beta=3.0, vendor=True)
    assert np.allclose(D.to_numpy(), 5 * S.toarray())
    # What cancels we keep, and a library may not; without zeros both are alike.
    ours, theirs = (sparse.spadd(A, A, beta=-1.0, vendor=vendor) for vendor in (False, True))
    assert ours.nnz == A.nnz >= theirs.nnz
    assert sparse.drop(ours).nnz == sparse.drop(theirs).nnz == 0


def test_what_the_library_cannot_do_is_said(space, vendor):
    _, A = matrices(space, np.float32)
    x = es.ones(40, np.float32, space=space)
    wide = sparse.CrsMatrix(
        A.row_map.to_numpy().astype(np.int64), A.entries, A.values, A.shape, space=space
    )
    with pytest.raises(MatrixError, match=r"vendor=True, but .*expected"):
        sparse.spmv(wide, x, vendor=True)
    assert explain(sparse.spmv, wide, x).decisions[0].algorithm != vendor.library
    with pytest.raises(MatrixError, match="vendor=True with algorithm='rows'"):
        sparse.spmv(A, x, vendor=True, algorithm="rows")
    with pytest.raises(MatrixError, match="vendor='always'; expected True, False or None"):
        sparse.spmv(A, x, vendor="always")


def test_recorded_calls_are_ours(space, vendor):
    S, A = matrices(space)
    x, y = es.ones(40, space=space), es.zeros(50, space=space)
    sparse.spmv(A, x, out=y, vendor=True)
    with es.Graph(space) as graph:
        sparse.spmv(A, x, out=y)
        with pytest.raises(MatrixError, match="not recorded in graphs"):
            sparse.spmv(A, x, out=y, vendor=True)
    es.deep_copy(y, 0.0)
    graph.submit()
    assert np.allclose(y.to_numpy(), S @ np.ones(40))


def test_the_table(space, vendor):
    """What tune finds is what later calls take, whoever is the faster one here."""
    _, A = matrices(space)
    x = es.ones(40, space=space)
    found = execspace_kernels.tune(sparse.spmv, A, x, rounds=3)
    assert found.library == vendor.library
    assert found.choice == ("vendor" if found.vendor < found.ours else "ours")
    for choice in ("vendor", "ours"):
        key = next(iter(vendors._table()))
        vendors._keep(key, choice)
        vendors._TABLES.clear()  # as another process reads it
        A = matrices(space)[1]
        took = explain(sparse.spmv, A, x).decisions[0]
        assert (took.algorithm == vendor.library) == (choice == "vendor")
        assert explain(sparse.spmv, A, x, vendor=False).decisions[0].algorithm != vendor.library
    with pytest.raises(MatrixError, match="does not take vendor="):
        execspace_kernels.tune(sparse.transpose, A)
    with pytest.raises(MatrixError, match="leave vendor out"):
        execspace_kernels.tune(sparse.spmv, A, x, vendor=True)


def test_a_plugin(monkeypatch):
    """Of a plugin only the hook and the names of its methods are asked for."""

    class Mine:
        library = "my library"

        def __init__(self):
            self.calls = []

        def refusal(self, function, *args):
            return None if function == "spmv" else "it has only products"

        def is_preferred(self, function, *args):
            return True

        def spmv(self, A, x, y, alpha, beta, mode):
            self.calls.append((A.shape, alpha, beta, mode))
            es.deep_copy(y, 7.0)

    mine, space = Mine(), es.space("serial")

    class Plugin:
        @vendors.hookimpl(tryfirst=True)
        def execspace_kernels_vendor(self, space):
            return mine

    plugin = Plugin()
    vendors._plugins().register(plugin)
    monkeypatch.setattr(vendors, "_VENDORS", {})
    try:
        A = sparse.CrsMatrix([0, 1], [0], [1.0], (1, 1), space=space)
        told = explain(sparse.spmv, A, es.ones(1, space=space))
        assert str(told) == "spmv: my library, for it was measured to be faster for such matrices"
        assert mine.calls == [((1, 1), 1.0, 0.0, "N")]
        assert told.result.to_numpy().tolist() == [7.0]
        with pytest.raises(MatrixError, match="my library: it has only products"):
            sparse.spgemm(A, A, vendor=True)
    finally:
        vendors._plugins().unregister(plugin)

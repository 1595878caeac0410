"""What functions do on spaces that run many work items at once, on any space."""

from __future__ import annotations

import sys
from functools import partial

import numpy as np
import pytest
from sparse_numbers import are_close

import execspace as es
from execspace_kernels import sparse

scipy_sparse = pytest.importorskip("scipy.sparse")

close = partial(are_close, single=1e-5, double=1e-13)


@pytest.fixture
def device(space, monkeypatch):
    """The space, taken for a device."""
    if not isinstance(space, es.SupportsTeams):
        pytest.skip("no teams here")
    for name in ("spmv", "spmv_columns", "spadd", "spgemm"):
        monkeypatch.setattr(sys.modules[f"execspace_kernels.sparse.{name}"], "MANY", 0)
    with es.use_space(space):
        yield space


def lengths(name, rng):
    """Entries of rows."""
    return {
        "short": rng.integers(0, 9, 40),
        "longer": rng.integers(10, 40, 40),
        "some long": np.where(np.arange(40) % 13 == 5, 700, rng.integers(0, 5, 40)),
        "one": np.array([3000]),
        "most empty": np.where(np.arange(200) % 50 == 3, 3, 0),
    }[name]


def of_rows(counts, n, rng, dtype=np.float64):
    columns = [np.sort(rng.choice(n, count, replace=False)) for count in counts]
    values = rng.standard_normal(counts.sum())
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.standard_normal(counts.sum())
    parts = values.astype(dtype), np.concatenate(columns), np.cumsum([0, *counts])
    return scipy_sparse.csr_array(parts, shape=(len(counts), n))


@pytest.mark.parametrize("shape", ["short", "longer", "some long", "one", "most empty"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
def test_products(device, shape, dtype):
    """Several vectors side by side, and one after the other; as many as a power of two or not."""
    if np.dtype(dtype).kind == "c" and not device.capabilities.complex:
        pytest.skip("no complex numbers here")
    rng = np.random.default_rng(1)
    n = 3000 if device.name != "oracle" else 800
    S = of_rows(np.minimum(lengths(shape, rng), n), n, rng, dtype)
    A = sparse.as_crs(S, space=device)
    for columns, layout in (((), None), ((3,), "left"), ((3,), "right"), ((9,), "right")):
        x = rng.standard_normal((n, *columns)).astype(dtype)
        y = rng.standard_normal((S.shape[0], *columns)).astype(dtype)
        source = es.View(x.shape, dtype, layout=layout)
        es.deep_copy(source, x)
        for algorithm in ("auto", "rows", "stream", "balanced"):
            out = es.View(y.shape, dtype, layout=layout)
            es.deep_copy(out, y)
            sparse.spmv(A, source, out=out, alpha=0.5, beta=2, algorithm=algorithm)
            assert close(out.to_numpy(), S @ x / 2 + 2 * y), (algorithm, columns, layout)
        if columns:
            found = sparse.spmv(A, es.array(y, layout=layout), mode="T")
            assert close(found.to_numpy(), S.T @ y)


def test_sums_are_of_the_common_type_whatever_they_are_stored_in(device):
    A = sparse.CrsMatrix([0, 3], [0, 1, 2], [1.0, 2.0**-30, -1.0], (1, 3))
    for algorithm in ("rows", "stream", "balanced"):
        for columns in ((), (2,)):
            out = es.zeros((1, *columns), np.float32)
            sparse.spmv(A, es.ones((3, *columns)), out=out, algorithm=algorithm)
            assert np.all(out.to_numpy() == np.float32(2.0**-30)), (algorithm, columns)


@pytest.mark.parametrize("shape", ["short", "some long"])
def test_sums_of_matrices(device, shape):
    rng = np.random.default_rng(2)
    S, T = (of_rows(lengths(shape, rng), 900, rng) for _ in range(2))
    A, B = sparse.as_crs(S, space=device), sparse.as_crs(T, space=device)
    C = sparse.spadd(A, B, alpha=2.0, beta=-1.0, vendor=False)
    assert close(C.to_numpy(), (2 * S - T).toarray())
    assert C.graph.is_sorted()


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_rows_of_products_that_no_table_holds(device, dtype):
    """Columns that lie near each other have bits, others a table; few of them are merged."""
    if np.dtype(dtype).kind == "c" and not device.capabilities.complex:
        pytest.skip("no complex numbers here")
    if device.name == "oracle":
        pytest.skip("millions of steps")
    rng = np.random.default_rng(3)
    T = of_rows(np.full(400, 25), 200_000, rng, dtype)
    S = of_rows(np.array([400, 0, 40, 3, 12]), 400, rng, dtype)
    A, B = sparse.as_crs(S, space=device), sparse.as_crs(T, space=device)
    handle = sparse.spgemm_symbolic(A, B)
    assert handle.algorithm == "hash"
    C = sparse.spgemm_numeric(handle, A, B)
    expected = S @ T
    expected.sort_indices()
    assert np.array_equal(C.entries.to_numpy(), expected.indices)
    assert close(C.values.to_numpy(), expected.data)
    again = sparse.spgemm_numeric(handle, A, B)
    assert np.array_equal(C.values.to_numpy(), again.values.to_numpy())

"""Matrices of stencils on grids: made of others and back, and their products."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sparse_numbers import DTYPES, are_close, numbers

import execspace as es
from execspace_kernels import MatrixError, explain, sparse

scipy_sparse = pytest.importorskip("scipy.sparse")

close = partial(are_close, single=1e-4, double=1e-12, scaled=False)
MODES = {
    "N": lambda S: S, "T": lambda S: S.T, "C": lambda S: S.conj(), "H": lambda S: S.conj().T,
}  # fmt: skip
GRIDS = [
    ((12,), 3), ((1,), 3), ((2,), 3), ((5, 6), 5), ((5, 6), 9), ((1, 7), 5), ((7, 2), 9),
    ((3, 4, 5), 7), ((4, 3, 5), 27), ((2, 2, 3), 27), ((1, 1, 4), 7), ((3, 1, 3), 27),
    ((1, 1, 1), 7), ((0, 4), 5),
]  # fmt: skip


def stencil(extents, points, dtype=np.float64):
    """A matrix of SciPy with random elements."""
    n, d = int(np.prod(extents)), len(extents)
    rows, columns = [], []
    for row, at in enumerate(np.ndindex(*extents)):
        for step in itertools.product((-1, 0, 1), repeat=d):
            to = tuple(a + s for a, s in zip(at, step, strict=True))
            if points == 2 * d + 1 and sum(map(abs, step)) > 1:
                continue
            if all(0 <= t < e for t, e in zip(to, extents, strict=True)):
                rows.append(row)
                columns.append(int(np.ravel_multi_index(to, extents)))
    values = numbers(len(rows), dtype, 5)
    return scipy_sparse.csr_array((values, (rows, columns)), shape=(n, n))


@pytest.mark.parametrize(("extents", "points"), GRIDS)
def test_made_of_a_matrix_by_rows_and_back(space, extents, points):
    A = stencil(extents, points)
    S = sparse.StencilMatrix.from_crs(sparse.as_crs(A, space=space), extents)
    assert (S.shape, S.extents, S.nnz) == (A.shape, extents, A.nnz)
    if min(extents) >= 2:
        assert S.points == points
    back = S.to_crs()
    assert np.array_equal(back.row_map.to_numpy(), A.indptr)
    assert np.array_equal(back.entries.to_numpy(), A.indices)
    assert np.array_equal(back.values.to_numpy(), A.data)
    assert np.array_equal(sparse.as_crs(S).to_numpy(), S.to_numpy())
    if space.name == "serial":
        assert np.array_equal(S.T.to_numpy(), A.T.toarray())
        assert S.T.values.layout == S.values.layout


@pytest.mark.parametrize("mode", ["N", "T"])
@pytest.mark.parametrize("algorithm", ["grid", "edges"])
@pytest.mark.parametrize(("extents", "points"), GRIDS)
def test_products(space, extents, points, algorithm, mode):
    A = stencil(extents, points)
    S = sparse.StencilMatrix.from_crs(sparse.as_crs(A, space=space), extents)
    op = MODES[mode](A)
    for columns in ((), (3,)) if points < 27 else ((),):
        x, y = numbers((A.shape[1], *columns), float), numbers((A.shape[0], *columns), float, 3)
        source, out = es.array(x, space=space), es.array(y, space=space)
        given = {"out": out, "alpha": 2, "beta": -0.5, "mode": mode, "algorithm": algorithm}
        told = explain(sparse.spmv, S, source, **given)
        assert told.decisions[0].algorithm == algorithm and told.result is out
        assert close(out.to_numpy(), 2 * (op @ x) - 0.5 * y)
        es.deep_copy(out, y)
        sparse.spmv(S, source, **given)
        assert close(out.to_numpy(), 2 * (op @ x) - 0.5 * y)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("layout", ["right", "left"])
def test_dtypes_and_layouts(space, layout, mode, dtype):
    if np.dtype(dtype).kind == "c" and not space.capabilities.complex:
        pytest.skip("no complex numbers here")
    A = stencil((5, 4), 9, dtype)
    made = sparse.StencilMatrix.from_crs(sparse.as_crs(A, space=space), (5, 4))
    values = es.array(made.values, layout=layout, space=space)
    S, op = sparse.StencilMatrix(values, (5, 4)), MODES[mode](A)
    for columns in ((), (3,)):
        x = numbers((20, *columns), dtype, 2)
        source = es.array(x, layout=layout if columns else None, space=space)
        found = sparse.spmv(S, source, mode=mode)
        assert found.dtype == dtype and close(found.to_numpy(), op @ x)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=3), st.booleans())
def test_any_grid(extents, star):
    extents = tuple(extents)
    A = stencil(extents, 2 * len(extents) + 1 if star else 3 ** len(extents))
    x = numbers(A.shape[0], float)
    with es.use_space("serial"):
        S = sparse.StencilMatrix.from_crs(A, extents)
        for algorithm in ("grid", "edges"):
            assert close(sparse.spmv(S, x, algorithm=algorithm).to_numpy(), A @ x)
            assert close(sparse.spmv(S, x, mode="T", algorithm=algorithm).to_numpy(), A.T @ x)


def test_constant_coefficients(space):
    S = sparse.StencilMatrix([1.0, 2.0, 3.0, 4.0, 5.0], (3, 4), space=space)
    dense = S.to_numpy()
    assert dense[5].tolist() == [0, 1, 0, 0, 2, 3, 4, 0, 0, 5, 0, 0]
    x = numbers(12, float)
    for mode in ("N", "T"):
        found = sparse.spmv(S, es.array(x, space=space), mode=mode).to_numpy()
        assert close(found, (dense if mode == "N" else dense.T) @ x)


def test_values_beyond_the_border_are_not_read(space):
    values = np.ones((4, 3))
    values[0, 0] = values[3, 2] = np.nan
    S = sparse.StencilMatrix(es.array(values, space=space), [4])
    for mode in ("N", "T"):
        found = sparse.spmv(S, es.ones(4, space=space), mode=mode)
        assert found.to_numpy().tolist() == [2.0, 3.0, 3.0, 2.0]
    assert (S @ es.ones(4, space=space)).to_numpy().tolist() == [2.0, 3.0, 3.0, 2.0]
    S.values = es.zeros((4, 3), space=space)
    assert (S @ es.ones(4, space=space)).to_numpy().tolist() == [0.0] * 4
    assert repr(S.to_space(space)).startswith("<StencilMatrix of 3 points of float64, grid (4,)")


def test_a_product_in_a_graph(space):
    S = sparse.StencilMatrix([1.0, 2.0, 1.0], (3,), space=space)
    x, y = es.ones(3, space=space), es.zeros(3, space=space)
    with es.Graph(space) as graph:
        sparse.spmv(S, x, out=y)
        es.deep_copy(x, y)
    ready = graph.instantiate()
    for _ in range(2):
        ready.submit()
    es.fence()
    assert x.to_numpy().tolist() == [10.0, 14.0, 10.0]


def test_what_is_refused(space):
    A = sparse.as_crs(stencil((3, 4), 5), space=space)
    S = sparse.StencilMatrix.from_crs(A, (3, 4))
    make, x = sparse.StencilMatrix, es.ones(12, space=space)
    wrong = [
        (
            lambda: make.from_crs(A, (4, 3)),
            "row 0 has entries in columns .0, 1, 4.; expected .0, 1, 3",
        ),
        (lambda: make.from_crs(A, (12,)), r"row 0 has entries .* of a stencil of 3 points on a gr"),
        (lambda: make.from_crs(A, (5, 5)), r"A is 12 x 12, and a grid of \(5, 5\) has 25 points"),
        (lambda: make.from_crs(A, (1, 1, 3, 4)), "expected 1 to 3 numbers of grid points"),
        (lambda: make.from_crs(3, (4,)), "expected a sparse matrix"),
        (lambda: make([1.0] * 4, (4,)), "stencils of 4 points; expected 3 in 1 dimensions"),
        (lambda: make([1.0] * 4, (4, 4)), "stencils of 4 points; expected 5 or 9 in 2 dimensions"),
        (lambda: make(np.ones((3, 3)), (4,)), r"expected \(4, 3\), a row for each point of a grid"),
        (lambda: make([1, 2, 1], (4,)), "values are of int64; expected real or complex"),
        (lambda: make([1.0] * 3, "a"), "extents='a'; expected 1 to 3 numbers"),
        (lambda: make([1.0] * 3, -1), "extents=-1; expected 1 to 3 numbers"),
        (lambda: setattr(S, "values", np.ones(5)), r"expected \(12, 5\), as before"),
        (lambda: sparse.spmv(S, x, algorithm="rows"), "expected 'auto', 'grid' or 'edges'"),
    ]
    for call, message in wrong:
        with pytest.raises(MatrixError, match=message):
            call()
    with pytest.raises(es.ViewError, match="out overlaps the values in memory"):
        sparse.spmv(S, x, out=S.values[:, 0])

"""Solves with triangular matrices: all algorithms, in one call and in phases."""

from __future__ import annotations

import importlib
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sparse_numbers import DTYPES, are_close

import execspace as es
import execspace_kernels
from execspace_kernels import MatrixError, sparse
from execspace_kernels.sparse import level_sets, replay

scipy_sparse = pytest.importorskip("scipy.sparse")
linalg = pytest.importorskip("scipy.sparse.linalg")

module = importlib.import_module("execspace_kernels.sparse.sptrsv")  # not the function

close = partial(are_close, single=2e-5, double=1e-12)
ALGORITHMS = ("auto", "sequential", "levels", "chained", "syncfree")
MODES = {
    "N": lambda S: S, "T": lambda S: S.T, "C": lambda S: S.conj(), "H": lambda S: S.conj().T,
}  # fmt: skip


def triangle(matrix, lower=True, dtype=np.float64):
    """One triangle of a square part of a matrix, whose systems are easy to solve."""
    n = min(matrix.shape)
    S = scipy_sparse.coo_array(matrix[:n, :n])
    part = scipy_sparse.tril(S, -1) if lower else scipy_sparse.triu(S, 1)
    rng = np.random.default_rng(n)
    part.data = rng.uniform(-0.5, 0.5, part.nnz)
    part = part.tocsr()
    most = max(np.diff(part.indptr).max(initial=0), 1)
    part = (part / most + scipy_sparse.diags_array(rng.uniform(1, 2, n), shape=(n, n))).tocsr()
    part.sort_indices()
    part = part.astype(dtype)
    if np.dtype(dtype).kind == "c":
        part.data *= np.exp(1j * np.arange(part.nnz)).astype(dtype)
    return part


def numbers(shape, dtype, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def solution(S, b, lower, unit):
    if not b.size:
        return b
    return linalg.spsolve_triangular(S, b, lower=lower, unit_diagonal=unit)


def skip_without(space, dtype=np.float64, algorithm="auto"):
    if np.dtype(dtype).kind == "c" and not space.capabilities.complex:
        pytest.skip("no complex numbers here")
    if algorithm == "chained" and not isinstance(space, es.SupportsTeams):
        pytest.skip("no teams here")


@pytest.fixture(params=["as it is", "as a device"])
def way(request, monkeypatch):
    """Limits under which a host does what devices do, and chains are short."""
    if request.param == "as a device":
        monkeypatch.setattr(module, "MANY", 0)
        monkeypatch.setattr(level_sets, "MANY", 0)
        monkeypatch.setattr(level_sets, "NARROW", 6)
        monkeypatch.setattr(module, "_THREADS_OF_HOSTS", 0)
        monkeypatch.setattr(module, "_LONG", 2)
        monkeypatch.setattr(module, "_THREADS", 8)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_solves(space, matrix, algorithm, lower, way):
    skip_without(space, algorithm=algorithm)
    S = triangle(matrix, lower)
    A = sparse.as_crs(S, space=space)
    for unit in (False, True):
        handle = sparse.sptrsv_symbolic(
            A, lower=lower, unit_diagonal=unit, algorithm=algorithm, space=space
        )
        assert algorithm in ("auto", handle.algorithm) and handle.why
        for columns in ((), (3,)):
            b = numbers((S.shape[0], *columns), float, 2)
            source = es.array(b, space=space)
            found = sparse.sptrsv_solve(handle, A, source)
            assert close(found.to_numpy(), solution(S, b, lower, unit))
            again = sparse.sptrsv_solve(handle, A, source, out=source)  # in place
            assert again is source and close(source.to_numpy(), found.to_numpy())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", MODES)
def test_modes_and_dtypes(space, dtype, mode):
    skip_without(space, dtype)
    S = triangle(scipy_sparse.random_array((40, 40), density=0.2, rng=np.random.default_rng(1)),
                 dtype=dtype)  # fmt: skip
    b = numbers((40, 11), dtype)
    for algorithm in ALGORITHMS:
        if algorithm == "chained" and not isinstance(space, es.SupportsTeams):
            continue
        x = sparse.sptrsv(
            sparse.as_crs(S, space=space), es.array(b, space=space), mode=mode, algorithm=algorithm
        )
        assert x.dtype == dtype and close(MODES[mode](S) @ x.to_numpy(), b)


@pytest.mark.parametrize("offsets", [np.int32, np.int64])
@pytest.mark.parametrize("columns", [np.int32, np.int64])
def test_indices_of_both_sizes(space, offsets, columns):
    A = sparse.CrsMatrix(
        np.array([0, 1, 3], offsets), np.array([0, 0, 1], columns), [2.0, 1.0, 4.0], (2, 2),
        space=space,
    )  # fmt: skip
    for algorithm in ALGORITHMS[:3]:
        x = sparse.sptrsv(A, es.array([2.0, 9.0], space=space), algorithm=algorithm)
        assert x.to_numpy().tolist() == [1.0, 2.0]
    assert sparse.sptrsv(A, es.array([5.0, 8.0], space=space), mode="T").to_numpy()[0] == 1.5


def test_level_sets_are_the_same_by_queues(space, matrix, monkeypatch):
    S = triangle(matrix)
    found = []
    for many, narrow in ((10**9, 0), (0, 10**9), (0, 0), (0, 7)):
        monkeypatch.setattr(level_sets, "MANY", many)
        monkeypatch.setattr(level_sets, "NARROW", narrow)
        sets = level_sets.level_sets(sparse.as_crs(S, space=space).graph, True, space)
        found.append((sets.order.to_numpy().tolist(), sets.bounds))
        chains = list(sets.chains(7))
        assert [a for a, _ in chains[1:]] == [b for _, b in chains[:-1]]
        assert not chains or (chains[0][0], chains[-1][1]) == (0, len(sets))
    assert all(one == found[0] for one in found)


def test_values_may_change_and_launches_are_kept(space, monkeypatch):
    monkeypatch.setattr(replay, "_FEW", 1)
    S = triangle(scipy_sparse.random_array((50, 50), density=0.1, rng=np.random.default_rng(2)))
    A = sparse.as_crs(S.copy(), space=space)
    handle = sparse.sptrsv_symbolic(A, algorithm="levels", space=space)
    out = es.View(50, space=space)
    kept = es.array(numbers(50, float), space=space)
    for turn in range(1, 5):
        es.deep_copy(A.values, S.data * turn)
        b = numbers(50, float, turn)
        for source, target in ((es.array(b, space=space), None), (kept, out), (out, out)):
            es.deep_copy(source, b)
            x = sparse.sptrsv_solve(handle, A, source, out=target)
            assert close(x.to_numpy(), solution(S * turn, b, True, False))


rows = st.lists(st.lists(st.integers(0, 7), max_size=6), min_size=8, max_size=8)


@given(rows, st.booleans(), st.booleans(), st.sampled_from(ALGORITHMS))
@settings(max_examples=60)
def test_rows_in_any_order_with_columns_that_come_twice(rows, lower, unit, algorithm):
    """Diagonal elements lie anywhere, in parts, or are not stored where they count as one."""
    columns = [[c for c in row if (c <= i if lower else c >= i)] for i, row in enumerate(rows)]
    if not unit:
        columns = [[*row, i, *row] for i, row in enumerate(columns)]
    flat = np.array([c for row in columns for c in row], np.int32)
    starts = np.cumsum([0, *map(len, columns)])
    with es.use_space("serial"):
        A = sparse.CrsMatrix(starts, flat, 1.0 + np.arange(len(flat)) % 3, (8, 8))
        b = np.arange(1.0, 9.0)
        x = sparse.sptrsv(A, b, lower=lower, unit_diagonal=unit, algorithm=algorithm)
        dense = A.to_numpy()
        if unit:
            np.fill_diagonal(dense, 1.0)
        assert np.allclose(x.to_numpy(), np.linalg.solve(dense, b))


def test_the_same_to_the_bit(space):
    S = triangle(scipy_sparse.random_array((200, 200), density=0.1, rng=np.random.default_rng(3)))
    A, b = sparse.as_crs(S, space=space), es.array(numbers(200, float), space=space)
    for algorithm in ALGORITHMS[:3]:
        one, other = (sparse.sptrsv(A, b, algorithm=algorithm).to_numpy() for _ in "ab")
        assert np.array_equal(one, other)


def test_in_a_graph(space):
    A = sparse.CrsMatrix([0, 1, 3], [0, 0, 1], [2.0, 1.0, 4.0], (2, 2), space=space)
    for algorithm in ALGORITHMS:
        if algorithm == "chained" and not isinstance(space, es.SupportsTeams):
            continue
        b, x = es.array([2.0, 9.0], space=space), es.zeros(2, space=space)
        handle = sparse.sptrsv_symbolic(A, algorithm=algorithm, space=space)
        with es.Graph(space) as graph:
            sparse.sptrsv_solve(handle, A, b, out=x)
            es.deep_copy(b, x)
        ready = graph.instantiate()
        ready.submit()
        ready.submit()
        es.fence()
        assert x.to_numpy().tolist() == [0.5, 0.375]


def test_graphs_that_are_kept_in_a_graph(space, monkeypatch):
    monkeypatch.setattr(replay, "_FEW", 1)
    A = sparse.CrsMatrix([0, 1, 3], [0, 0, 1], [2.0, 1.0, 4.0], (2, 2), space=space)
    handle = sparse.sptrsv_symbolic(A, algorithm="levels", space=space)
    b, x, other = es.array([2.0, 9.0], space=space), es.zeros(2, space=space), es.zeros(2)
    for _ in range(3):
        sparse.sptrsv_solve(handle, A, b, out=x)  # one graph is kept for these
    with es.Graph(space) as graph:
        sparse.sptrsv_solve(handle, A, b, out=x)
        sparse.sptrsv_solve(handle, A, x, out=other)  # by copies
        es.deep_copy(b, other)
    ready = graph.instantiate()
    for _ in range(2):
        ready.submit()
    es.fence()
    assert np.allclose(other.to_numpy(), np.linalg.matrix_power(
        np.linalg.inv(np.array([[2.0, 0.0], [1.0, 4.0]])), 4) @ [2.0, 9.0])  # fmt: skip


def test_arrays_and_matrices_of_other_libraries():
    with es.use_space("serial"):
        S = scipy_sparse.csc_array(np.array([[2.0, 0.0], [1.0, 4.0]]))
        out = np.zeros(2)
        sparse.sptrsv(S, np.array([2.0, 9.0]), out=out)
        assert out.tolist() == [1.0, 2.0]
        assert sparse.sptrsv(S, [1, 9]).to_numpy().tolist() == [0.5, 2.125]


def test_what_is_refused(space):
    A = sparse.CrsMatrix([0, 1, 3], [0, 0, 1], [2.0, 1.0, 4.0], (2, 2), space=space)
    full = sparse.CrsMatrix([0, 2, 3], [0, 1, 1], [2.0, 1.0, 4.0], (2, 2), space=space)
    zero = sparse.CrsMatrix([0, 1, 3], [0, 0, 1], [2.0, 1.0, 0.0], (2, 2), space=space)
    none = sparse.CrsMatrix([0, 1, 2], [0, 0], [2.0, 1.0], (2, 2), space=space)
    wide = sparse.CrsMatrix([0, 0], [], np.zeros(0), (1, 2), space=space)
    handle = sparse.sptrsv_symbolic(A)
    b, x = es.ones(2, space=space), es.zeros(2, space=space)
    both = es.zeros(3, space=space)
    z = sparse.sptrsv
    wrong = [
        (MatrixError, lambda: z(full, b), "row 0 has an entry in column 1, which is in the upper"),
        (MatrixError, lambda: z(A, b, lower=False), r"row 1 .* column 0, .* lower=True for"),
        (MatrixError, lambda: z(zero, b), "row 1 has a diagonal element of 0; expected"),
        (MatrixError, lambda: z(none, b), "row 1 has no diagonal element; expected"),
        (MatrixError, lambda: z(wide, b), "A is 1 x 2; expected a square matrix"),
        (MatrixError, lambda: z(A, b, mode="X"), "mode='X'; expected 'N', 'T', 'C' or 'H'"),
        (MatrixError, lambda: z(A, b, algorithm="best"), "algorithm='best'; expected 'auto'"),
        (MatrixError, lambda: z(np.eye(2), b), "expected a sparse matrix"),
        (MatrixError, lambda: sparse.sptrsv_solve(None, A, b), "handle=None; expected that of"),
        (MatrixError, lambda: sparse.sptrsv_solve(handle, full, b), "made for another graph"),
        (es.ViewError, lambda: z(A, es.ones(3, space=space)), r"\(2,\) or \(2, k\)"),
        (es.ViewError, lambda: z(A, b, out=es.zeros(3, space=space)), r"expected \(2,\)"),
        (es.ViewError, lambda: z(A, b, out=x.readonly()), "which is read-only"),
        (es.ViewError, lambda: z(A, both[:2], out=both[1:]), "out overlaps b in memory"),
        (es.ViewError, lambda: z(A, b, out=A.values[:2]), "out overlaps the values"),
        (es.ViewError, lambda: z(A, b, out=es.zeros(2, np.int64, space=space)), "of int64"),
    ]  # fmt: skip
    for error, call, message in wrong:
        with pytest.raises(error, match=message):
            call()
    changed = sparse.CrsMatrix.of(A.graph, [0.0, 1.0, 1.0], space=space)
    with pytest.raises(MatrixError, match="row 0 has a diagonal element of 0"):
        sparse.sptrsv_solve(handle, changed, b, check=True)
    assert z(none, b, unit_diagonal=True).to_numpy().tolist() == [1.0, 0.0]
    if space.capabilities.complex:
        complex_ones = es.ones(2, np.complex128, space=space)
        with pytest.raises(es.ViewError, match="the result is of complex128"):
            z(A, complex_ones, out=x)


def test_explain_tells_the_algorithm_and_why(space):
    A = sparse.CrsMatrix([0, 1, 3], [0, 0, 1], [2.0, 1.0, 4.0], (2, 2), space=space)
    b = es.ones(2, space=space)
    for _ in range(2):
        told = execspace_kernels.explain(sparse.sptrsv, A, b, algorithm="levels")
        assert str(told) == "sptrsv: levels, for it was asked for"
    assert sparse.sptrsv_symbolic(A).levels == 2

"""Products of sparse matrices with vectors."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from sparse_numbers import DTYPES, are_close, numbers

import execspace as es
import execspace_kernels
from execspace_kernels import MatrixError, sparse

scipy_sparse = pytest.importorskip("scipy.sparse")

close = partial(are_close, single=1e-5, double=1e-13)
MODES = {
    "N": lambda S: S, "T": lambda S: S.T, "C": lambda S: S.conj(), "H": lambda S: S.conj().T,
}  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", MODES)
def test_products(space, matrix, mode, dtype):
    if np.dtype(dtype).kind == "c" and not space.capabilities.complex:
        pytest.skip("no complex numbers here")
    S = matrix.astype(dtype)
    S.data[:] = numbers(S.nnz, dtype, 1)
    A, op = sparse.as_crs(S, space=space), MODES[mode](S)
    m, n = op.shape
    for columns in ((), (3,)):
        x, y = numbers((n, *columns), dtype, 2), numbers((m, *columns), dtype, 3)
        found = sparse.spmv(A, es.array(x, space=space), mode=mode)
        assert found.dtype == dtype and close(found.to_numpy(), op @ x)
        out = es.array(y, space=space)
        given = sparse.spmv(A, es.array(x, space=space), out=out, alpha=2, beta=-0.5, mode=mode)
        assert given is out and close(out.to_numpy(), 2 * (op @ x) - 0.5 * y)


def test_any_number_of_vectors(space):
    """Hosts take eight, four, two of them at once, whatever is left."""
    S = scipy_sparse.random_array((23, 31), density=0.3, rng=np.random.default_rng(2)).tocsr()
    A = sparse.as_crs(S, space=space)
    ways = [("right", "N", S), ("left", "T", S.T), ("left", "N", S), ("right", "T", S.T)]
    for layout, mode, op in ways if space.name == "serial" else ways[:1]:
        m, n = op.shape
        for k in range(14 if layout == "right" else 6):
            x, y = numbers((n, k), float, 1), numbers((m, k), float, 2)
            source, out = es.array(x, layout=layout), es.array(y, layout=layout)
            sparse.spmv(A, source, out=out, alpha=2.0, beta=0.5, mode=mode)
            assert close(out.to_numpy(), 2 * (op @ x) + 0.5 * y)
    x = numbers((31, 9), float)
    few = sparse.as_crs(S[:1], space=space)  # a row for several threads
    assert close(sparse.spmv(few, es.array(x)).to_numpy(), S[:1] @ x)


@pytest.mark.parametrize("mode", ["N", "C"])
@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
@pytest.mark.parametrize("algorithm", ["stream", "balanced"])
def test_products_by_teams(space, matrix, mode, dtype, algorithm):
    if np.dtype(dtype).kind == "c" and not space.capabilities.complex:
        pytest.skip("no complex numbers here")
    if not isinstance(space, es.SupportsTeams):
        pytest.skip("no teams here")
    S = matrix.astype(dtype)
    S.data[:] = numbers(S.nnz, dtype, 1)
    A, op = sparse.as_crs(S, space=space), MODES[mode](S)
    for columns in ((), (1,), (5,)):
        for layout in ("right", "left"):
            x, y = numbers((S.shape[1], *columns), dtype), numbers((S.shape[0], *columns), dtype, 3)
            source = es.View(x.shape, dtype, layout=layout, space=space)
            out = es.array(y, space=space)
            es.deep_copy(source, x)
            sparse.spmv(A, source, out=out, beta=2, mode=mode, algorithm=algorithm)
            assert close(out.to_numpy(), op @ x + 2 * y)


def test_rows_of_many_teams(space):
    """Rows that begin, end and lie anywhere in the shares of teams, empty ones among them."""
    if not isinstance(space, es.SupportsTeams):
        pytest.skip("no teams here")
    lengths = [0, 0, 5000, 0, 1, 2047, 2048, 0, 4096, 3, 0, 0, 9000, 1, 1, 2046, 0]
    n = 9000
    rng = np.random.default_rng(6)
    columns = [np.sort(rng.choice(n, length, replace=False)) for length in lengths]
    S = scipy_sparse.csr_array(
        (rng.random(sum(lengths)), np.concatenate(columns), np.cumsum([0, *lengths])),
        shape=(len(lengths), n),
    )
    x = rng.random(n)
    A = sparse.as_crs(S, space=space, check=True)
    found = [
        sparse.spmv(A, es.array(x, space=space), algorithm=name).to_numpy()
        for name in ("rows", "stream", "balanced", "balanced")
    ]
    assert all(close(one, S @ x) for one in found)
    assert np.array_equal(found[2], found[3])


def test_rows_that_are_too_long_for_the_memory_of_a_team(space):
    if not isinstance(space, es.SupportsTeams):
        pytest.skip("no teams here")
    n = 9000 if space.name != "oracle" else 4200  # products of a row take more than 32 KiB
    S = scipy_sparse.lil_array((5, n))
    S[1, :] = numbers(n, float)
    S[3, 4] = 2.0
    x = numbers(n, float, 4)
    A = sparse.as_crs(S.tocsr(), space=space)
    found = sparse.spmv(A, es.array(x, space=space), algorithm="stream")
    assert close(found.to_numpy(), S @ x)


def test_what_out_holds_does_not_count_if_beta_is_zero(space):
    A = sparse.CrsMatrix([0, 1, 1], [0], [2.0], (2, 2), space=space)
    by_teams = ("stream", "balanced") if isinstance(space, es.SupportsTeams) else ()
    for algorithm in ("rows", *by_teams):
        out = es.full(2, np.nan, space=space)
        sparse.spmv(A, es.ones(2, space=space), out=out, algorithm=algorithm)
        assert out.to_numpy().tolist() == [2.0, 0.0]


@pytest.mark.parametrize("layout", ["right", "left"])
def test_several_vectors_keep_their_layout(space, layout):
    A = sparse.CrsMatrix([0, 2, 3], [0, 1, 1], [1.0, 2.0, 3.0], (2, 2), space=space)
    x = es.View((2, 4), layout=layout, space=space)
    es.deep_copy(x, np.arange(8.0).reshape(2, 4))
    y = A @ x
    assert y.layout == layout and y.shape == (2, 4)
    assert np.array_equal(y.to_numpy(), A.to_numpy() @ np.arange(8.0).reshape(2, 4))


@pytest.mark.parametrize("offsets", [np.int32, np.int64])
@pytest.mark.parametrize("columns", [np.int32, np.int64])
def test_indices_of_both_sizes(space, offsets, columns):
    A = sparse.CrsMatrix(
        np.array([0, 1, 3], offsets), np.array([1, 0, 1], columns), [1.0, 2.0, 3.0], (2, 2),
        space=space,
    )  # fmt: skip
    assert (A @ es.ones(2, space=space)).to_numpy().tolist() == [1.0, 5.0]
    assert A.T.row_map.dtype == offsets and A.T.entries.dtype == columns


def test_arrays_and_matrices_of_other_libraries():
    with es.use_space("serial"):
        S, x = scipy_sparse.eye_array(3, format="csr") * 2.0, np.arange(3.0)
        out = np.zeros(3)
        sparse.spmv(S, x, out=out)
        assert out.tolist() == [0.0, 2.0, 4.0]
        assert sparse.spmv(S.tocoo(), [1.0, 2.0, 3.0]).to_numpy().tolist() == [2.0, 4.0, 6.0]


def test_a_product_in_a_graph(space):
    A = sparse.CrsMatrix([0, 1, 2], [1, 0], [2.0, 3.0], (2, 2), space=space)
    x, y = es.ones(2, space=space), es.zeros(2, space=space)
    with es.Graph(space) as graph:
        sparse.spmv(A, x, out=y)
        es.deep_copy(x, y)
    ready = graph.instantiate()
    for _ in range(2):
        ready.submit()
    es.fence()
    assert x.to_numpy().tolist() == [6.0, 6.0]


def test_what_is_refused(space):
    A = sparse.CrsMatrix([0, 1, 2], [1, 0], [2.0, 3.0], (2, 2), space=space)
    x, real = es.ones(2, space=space), es.zeros(2, space=space)
    wrong = [
        (es.ViewError, lambda: sparse.spmv(A, es.ones(3, space=space)), r"\(2,\) or \(2, k\)"),
        (es.ViewError, lambda: sparse.spmv(A, x, out=es.zeros(3, space=space)), r"expected \(2,\)"),
        (es.ViewError, lambda: sparse.spmv(A, x, out=x), "out overlaps x in memory"),
        (es.ViewError, lambda: sparse.spmv(A, x, out=A.values), "out overlaps the values"),
        (es.ViewError, lambda: sparse.spmv(A, x, out=real.readonly()), "which is read-only"),
        (es.ViewError, lambda: sparse.spmv(A, x, out=real, alpha=1j), "alpha is complex, and out"),
        (es.ViewError, lambda: sparse.spmv(A, x, out=real, beta=1j), "beta is complex, and out"),
        (MatrixError, lambda: sparse.spmv(A, x, mode="X"), "mode='X'; expected 'N', 'T', 'C' or"),
        (MatrixError, lambda: sparse.spmv(A, x, algorithm="best"), "algorithm='best'; expected"),
        (MatrixError, lambda: sparse.spmv(A, x, algorithm="gather"), "is for modes 'T' and 'H'"),
        (MatrixError, lambda: sparse.spmv(A, x, mode="T", algorithm="rows"), "not for transposes"),
        (MatrixError, lambda: sparse.spmv(np.eye(2), x), "expected a sparse matrix"),
        (MatrixError, lambda: sparse.spmv(A, x, out=real, mode=[]), "mode=.*; expected 'N'"),
        (MatrixError, lambda: sparse.spmv(A, x, alpha=np.ones(2)), "alpha=.*; expected a number"),
        (MatrixError, lambda: sparse.spmv(A, x, out=real, beta="0"), "beta='0'; expected a number"),
    ]  # fmt: skip
    sparse.spmv(A, x, out=real)  # what is kept of it takes no notice of what is wrong
    for _ in range(2):
        for error, call, message in wrong:
            with pytest.raises(error, match=message):
                call()


@pytest.mark.parametrize("layout", ["right", "left"])
def test_several_vectors_of_no_elements(space, layout):
    A = sparse.CrsMatrix([0], [], np.zeros(0), (0, 4), space=space)
    x, y = (es.View((n, 5), layout=layout, space=space) for n in (4, 0))
    assert sparse.spmv(A, x, out=y) is y


def test_products_that_come_again(space):
    """A matrix keeps the launches of its products, for Views like those that came."""
    A = sparse.CrsMatrix([0, 1, 2], [1, 0], [2.0, 3.0], (2, 2), space=space)
    x, y = es.ones(2, space=space), es.zeros(2, space=space)
    for n in range(3):
        sparse.spmv(A, x, out=y, alpha=n, beta=1)
    assert y.to_numpy().tolist() == [6.0, 9.0]
    es.realloc(y, 3)
    with pytest.raises(es.ViewError, match=r"out is View '' of shape \(3,\); expected \(2,\)"):
        sparse.spmv(A, x, out=y, beta=1)
    single = es.zeros(2, np.float32, space=space)
    A.values = es.full(2, 5.0, space=space)
    for _ in range(2):
        sparse.spmv(A, x, out=single)
        assert single.to_numpy().tolist() == [5.0, 5.0]
    both = es.ones(4, space=space)
    for out in (both[1:3], both[:2]):
        with pytest.raises(es.ViewError, match="out overlaps x in memory"):
            sparse.spmv(A, both[:2], out=out)


def test_explain_tells_the_algorithm_and_why(space):
    S = scipy_sparse.diags_array([1.0, 2.0], offsets=[0, 1], shape=(40, 40)).tocsr()
    A = sparse.as_crs(S).to_space(space)
    x = es.ones(40, space=space)
    told = execspace_kernels.explain(sparse.spmv, A, x, mode="T", space=space)
    assert str(told) == "spmv: gather, for it is a product with the transpose"
    assert np.allclose(told.result.to_numpy(), S.T @ np.ones(40))
    again = execspace_kernels.explain(sparse.spmv, A, x, out=told.result, mode="T", space=space)
    assert again.decisions == told.decisions
    with pytest.raises(execspace_kernels.MatrixError, match="cannot be called"):
        execspace_kernels.explain(A)


def test_products_that_come_again_look_at_where_elements_lie():
    A = sparse.CrsMatrix([0, 2, 3], [0, 1, 1], [2.0, 1.0, 3.0], (2, 2), space="serial")
    x = es.array([1.0, 2.0], memory=es.HOST)
    apart = np.zeros((2, 3))[:, 0]
    at_one_place = np.lib.stride_tricks.as_strided(np.zeros(1), (2,), (0,))
    overlapping = np.lib.stride_tricks.as_strided(np.zeros(3), (2, 2), (8, 8))
    for _ in range(2):
        sparse.spmv(A, x, out=apart, space="serial")
        assert apart.tolist() == [4.0, 6.0]
        with pytest.raises(es.ViewError, match="lie at one place"):
            sparse.spmv(A, x, out=at_one_place, space="serial")
        with pytest.raises(es.ViewError, match="lie at one place"):
            sparse.spmv(A, np.ones((2, 2)), out=overlapping, space="serial")
        with pytest.raises(MatrixError, match=r"beta=.*expected a number"):
            sparse.spmv(A, x, out=apart, beta=np.array([1.0, 2.0]), space="serial")

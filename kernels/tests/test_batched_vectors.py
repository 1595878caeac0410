"""Batches whose matrices lie side by side: hosts compute a group of them at once, with vectors.

There are fewer matrices than two groups have; what fills the last group is NaN.
"""

import itertools

import numpy as np
import pytest
from batches import close, fetch, numbers, op, solvable, solved, triangle

import execspace as es
from execspace_kernels import MatrixError, batched, explain
from execspace_kernels.batched.vectors.operands import memory

linalg = pytest.importorskip("scipy.linalg")
BATCH = 5  # as those of `batches`
DTYPES = pytest.mark.parametrize("dtype", [np.float64, np.float32])


@pytest.fixture
def host(space):
    """A space of the host; what others do with this layout is tested with all layouts."""
    if space.name not in ("serial", "openmp", "oracle"):
        pytest.skip("the space is none of the host")
    return space


@pytest.fixture
def alone(host):
    """One without threads, for what threads do not change."""
    if host.name == "openmp":
        pytest.skip("as on serial")
    return host


def view(values, space, width=4):
    """A View with NaN beside its matrices."""
    made = es.View(values.shape, values.dtype, layout=batched.Interleaved(width), space=space)
    np.asarray(memory(made))[:] = np.nan
    es.deep_copy(made, np.ascontiguousarray(values))
    return made


def taken(space, function, *args, **options):
    """Call a function, which takes vectors; what it returns."""
    told = explain(function, *args, space=space, **options)
    assert {d.algorithm for d in told.decisions} == {"vectors"}
    return told.result


def same(found, expected):
    """Whether numbers are close, and others the same."""
    finite = np.isfinite(expected)
    assert np.array_equal(found[~finite], expected[~finite], equal_nan=True)
    return close(np.where(finite, found, 0), np.where(finite, expected, 0))


@DTYPES
def test_gemm(host, dtype):
    for m, k, n in ((1, 2, 3), (5, 3, 9)):
        for modes in ("NN", "TH"):
            shapes = [s if mode in "NC" else s[::-1]
                      for mode, s in zip(modes, ((m, k), (k, n)), strict=True)]  # fmt: skip
            A, B = (numbers(i, BATCH, *s, dtype=dtype) for i, s in enumerate(shapes))
            C = numbers(3, BATCH, m, n, dtype=dtype)
            out = view(C, host)
            options = {"out": out, "mode_a": modes[0], "mode_b": modes[1]}
            product = op(A, modes[0]) @ op(B, modes[1])
            taken(host, batched.gemm, view(A, host), view(B, host), alpha=2, beta=3, **options)
            assert close(fetch(out), 2 * product + 3 * C)
            es.deep_copy(out, np.nan)  # which is not read where beta is 0
            taken(host, batched.gemm, view(A, host), view(B, host), **options)
            assert close(fetch(out), product)


def test_widths(alone):
    A, B = numbers(1, BATCH, 3, 3), numbers(2, BATCH, 3, 3)
    for width in (2, 16, 64):
        made = taken(alone, batched.gemm, view(A, alone, width), view(B, alone, width))
        assert made.layout == "interleaved" and close(fetch(made), A @ B)


def test_gemv(alone):
    for mode, (m, n) in (("N", (5, 3)), ("T", (2, 6))):
        A = numbers(1, BATCH, m, n)
        x, y = numbers(2, BATCH, op(A, mode).shape[2]), numbers(3, BATCH, op(A, mode).shape[1])
        expected = np.einsum("bij,bj->bi", op(A, mode), x)
        out = es.array(y, space=alone)
        given = view(A, alone), es.array(x, space=alone)
        taken(alone, batched.gemv, *given, out=out, alpha=2, beta=3, mode=mode)
        assert close(out.to_numpy(), 2 * expected + 3 * y)
        assert close(taken(alone, batched.gemv, *given, mode=mode).to_numpy(), expected)


@pytest.mark.parametrize(
    "way", list(itertools.product("LR", "LU", "NT", "NU")), ids=lambda way: "".join(way)
)
def test_triangles(host, way):
    side, uplo, mode, diag = way
    n, k = 5, 3
    dtype = np.float32 if side == "R" else np.float64
    A = solvable(1, n, dtype)
    B = numbers(2, BATCH, *((n, k) if side == "L" else (k, n)), dtype=dtype)
    T = op(triangle(A, uplo, diag), mode).astype(dtype)
    options = {"side": side, "uplo": uplo, "mode": mode, "diag": diag, "alpha": 1.5}
    for function, expected in (
        (batched.trmm, T @ B if side == "L" else B @ T), (batched.trsm, solved(T, B, side)),
    ):  # fmt: skip
        out = view(B, host)
        taken(host, function, view(A, host), out, **options)
        assert close(fetch(out), 1.5 * expected)


@pytest.mark.parametrize("way", list(itertools.product("LU", "NU")), ids=lambda way: "".join(way))
def test_inverses_of_triangles(alone, way):
    uplo, diag = way
    for n in (1, 7):
        A = solvable(1, n)
        if diag == "N":
            A[1, n - 1, n - 1] = A[3, 0, 0] = 0
        out = view(A, alone)
        info = taken(alone, batched.trtri, out, uplo=uplo, diag=diag)
        assert info.to_numpy().tolist() == ([0, n, 0, 1, 0] if diag == "N" else [0] * BATCH)
        for b, failed in enumerate(info.to_numpy()):
            expected = A[b] if failed else linalg.lapack.dtrtri(A[b], uplo == "L", diag == "U")[0]
            assert close(fetch(out)[b], expected)


@DTYPES
def test_factors(host, dtype):
    """Of wide and of high matrices, too; more columns than are eliminated one by one."""
    for m, n in ((3, 2), (10, 11)):
        A = numbers(n, BATCH, m, n, dtype=dtype)
        A[1, :, 1] = 0
        out = view(A, host)
        pivots, info = taken(host, batched.getrf, out)
        lapack = linalg.get_lapack_funcs("getrf", dtype=dtype)
        for b in range(BATCH):
            factors, exchanges, failed = lapack(A[b])
            assert close(fetch(out)[b], factors) and info.to_numpy()[b] == failed
            assert (pivots.to_numpy()[b] == exchanges).all()
    A = solvable(9, 9, dtype)
    out = view(A, host)
    assert not taken(host, batched.lu, out).to_numpy().any()
    assert close(triangle(fetch(out), "L", "U") @ triangle(fetch(out), "U"), A)
    for uplo in "LU":
        out = view(A @ op(A, "T"), host)
        assert not taken(host, batched.potrf, out, uplo=uplo).to_numpy().any()
        F = triangle(fetch(out), uplo)
        assert close(F @ op(F, "T") if uplo == "L" else op(F, "T") @ F, A @ op(A, "T"))


def test_what_fails_is_as_of_one_work_item(alone):
    """Others of the group are not disturbed."""
    n = 10
    A = solvable(3, n)
    A = A @ op(A, "T")
    A[0, 2, 2], A[1, 9, 9], A[2, 4, 4], A[4, 3, 5] = 0, -1, np.nan, np.inf
    A[3, 6] = A[3, :, 6] = 0
    for function in (batched.lu, batched.getrf, batched.potrf):
        out, expected = view(A, alone), view(A, alone)
        found = taken(alone, function, out)
        wanted = function(expected, algorithm="serial", space=alone)
        assert same(fetch(out), fetch(expected))
        one, other = ((r,) if isinstance(r, es.View) else r for r in (found, wanted))
        for a, b in zip(one, other, strict=True):
            assert (a.to_numpy() == b.to_numpy()).all()


def test_systems(alone):
    """A singular matrix is left alone, with others of its group."""
    A, B = numbers(1, BATCH, 5, 5), numbers(2, BATCH, 5, 2)
    A[2] = 0
    others = [0, 1, 3, 4]
    X = view(B, alone)
    pivots, info = taken(alone, batched.gesv, factors := view(A, alone), X)
    assert info.to_numpy().tolist() == [0, 0, 1, 0, 0]
    found = fetch(X)
    assert close((A @ found)[others], B[others]) and (found[2] == B[2]).all()
    for mode in "NT":
        X = view(B, alone)
        taken(alone, batched.getrs, factors, pivots, X, mode=mode)
        assert close((op(A, mode) @ fetch(X))[others], B[others])
    inverses, info = taken(alone, batched.inverse, view(A, alone))
    found = fetch(inverses)
    assert np.isnan(found[2]).all() and info.to_numpy()[2] == 1
    assert close((A @ found)[others], np.broadcast_to(np.eye(5), (4, 5, 5)))


def test_arguments_with_elements_past_the_batch(host):
    """Neither pivots nor `info` are written beyond it: they are parts of larger arrays."""
    A = numbers(1, BATCH, 3, 3)
    pivots, info = np.full((8, 3), 9, np.int64), np.full(8, 9, np.int64)
    batched.getrf(view(A, host), pivots=pivots[:BATCH], info=info[:BATCH], space=host)
    assert (pivots[BATCH:] == 9).all() and (info[BATCH:] == 9).all() and not info[:BATCH].any()


def test_others_take_what_there_is(alone):
    """Layouts that differ, complex numbers, several dtypes, groups of one."""
    A, B = numbers(1, BATCH, 3, 3), numbers(2, BATCH, 3, 3)
    others = [
        (view(A, alone), es.array(B, space=alone)),
        (view(A, alone, 2), view(B, alone, 4)),
        (view(A, alone, 1), view(B, alone, 1)),
        (view(A + 0j, alone), view(B + 0j, alone)),
        (view(A, alone), view(B.astype(np.float32), alone)),
    ]
    for one, other in others:
        told = explain(batched.gemm, one, other, space=alone)
        assert told.decisions[0].algorithm != "vectors"
        assert close(fetch(told.result), fetch(one) @ fetch(other))
        with pytest.raises(MatrixError, match="algorithm='vectors' is for hosts"):
            batched.gemm(one, other, algorithm="vectors", space=alone)


def test_views_that_are_resized(alone):
    """Whether at once or in a graph, it is their new memory that is written."""
    A, out = view(numbers(1, BATCH, 2, 2), alone), view(np.zeros((BATCH, 2, 2)), alone)
    graph = es.Graph(space=alone)
    with graph:
        batched.gemm(A, A, out=out, space=alone)
    for number in (BATCH, 9):
        es.resize(A, (number, 2, 2))
        es.resize(out, (number, 2, 2))
        values = numbers(number, number, 2, 2)
        es.deep_copy(A, values)
        taken(alone, batched.gemm, A, A, out=out)
        assert close(fetch(out), values @ values)
    es.deep_copy(out, 0.0)
    graph.submit()
    es.fence()
    assert close(fetch(out)[:BATCH], (values @ values)[:BATCH])


def test_memory_lives_as_long_as_its_view():
    A = view(numbers(1, BATCH, 3, 3), es.space("oracle"))
    flat = memory(A)
    assert memory(A) is flat and flat.size == A.span and flat.data_ptr == A.data_ptr
    del A
    assert np.isnan(np.asarray(flat)).any()

"""BLAS 1 element by element, and rotations, beside NumPy and SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from blas_arrays import DTYPES, LAYOUTS, Dual, duals, laid_out, needs, random, sizes
from hypothesis import given
from hypothesis import strategies as st

import execspace as es
from execspace_kernels import MatrixError, blas


def shapes(space):
    return [(n,) for n in sizes(space)] + [(0, 3), (5, 0), (1, 1), (7, 3), (33, 2)]


def close(view, expected, dtype):
    rtol = {2: 1e-2, 4: 1e-5}.get(np.zeros(0, dtype).real.itemsize, 1e-13)
    return np.allclose(view.to_numpy(), expected, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("dtype", [*DTYPES, np.float16, np.int32])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_sums_of_multiples(space, dtype, layout):
    needs(space, dtype)
    for shape in shapes(space):
        x, y, z = (random(shape, dtype, seed) for seed in range(3))
        v, w, u = (laid_out(a, layout, space) for a in (x, y, z))
        assert blas.axpy(2, v, w) is w and close(w, 2 * x + y, dtype)
        blas.axpby(3, v, -2, w)
        assert close(w, 3 * x - 2 * (2 * x + y), dtype)
        es.deep_copy(w, y)
        blas.update(2, v, -1, w, 3, u)
        assert close(u, 2 * x - y + 3 * z, dtype)
        blas.mult(2, u, -1, v, w)
        assert close(u, 2 * (2 * x - y + 3 * z) - x * y, dtype)


@pytest.mark.parametrize("dtype", [*DTYPES, np.float16, np.int32])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_functions_of_one_vector(space, dtype, layout):
    needs(space, dtype)
    for shape in shapes(space):
        x, y = random(shape, dtype, 1), random(shape, dtype, 2)
        v, w = laid_out(x, layout, space), laid_out(y, layout, space)
        found = blas.scal(3, v)
        assert found.dtype == dtype and close(found, 3 * x, dtype)
        assert blas.scal(2, v, out=v) is v and close(v, 2 * x, dtype)
        es.deep_copy(v, x)
        sizes_of = blas.abs(v)
        assert sizes_of.dtype == np.abs(x).dtype and close(sizes_of, np.abs(x), dtype)
        if np.dtype(dtype).kind in "fc":
            assert close(blas.reciprocal(v), 1 / x, dtype)
        assert blas.swap(v, w) == (v, w)
        assert np.array_equal(v.to_numpy(), y) and np.array_equal(w.to_numpy(), x)
        assert blas.fill(v, 7) is v and np.all(v.to_numpy() == 7)


def test_what_is_there_does_not_count_if_its_factor_is_zero(space):
    x = es.ones(3, space=space)
    for zero in (0, 0.0, es.zeros((), space=space)):
        y = es.full(3, np.nan, space=space)
        blas.axpby(2.0, x, zero, y)
        assert y.to_numpy().tolist() == [2, 2, 2]
        y = es.full(3, np.nan, space=space)
        blas.update(1.0, x, 1.0, x, zero, y)
        assert y.to_numpy().tolist() == [2, 2, 2]
        y = es.full(3, np.nan, space=space)
        blas.mult(zero, y, 3.0, x, x)
        assert y.to_numpy().tolist() == [3, 3, 3]
    y = es.full(3, np.nan, space=space)
    blas.axpy(0.0, y, x)
    assert np.all(np.isnan(x.to_numpy()))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_factors_in_views(space, layout):
    """One for all columns, or one for each of them: nothing waits for them."""
    x, y = random((6, 3), seed=1), random((6, 3), seed=2)
    v = laid_out(x, layout, space)
    for factor in (np.array(3.0), np.array([1.0, -2.0, 0.0])):
        in_view = es.array(factor, space=space)
        w = laid_out(y, layout, space)
        blas.axpby(in_view, v, in_view, w)
        assert close(w, factor * x + factor * y, float)
        assert close(blas.scal(in_view, v), factor * x, float)
        blas.fill(w, in_view)
        assert close(w, np.broadcast_to(factor, y.shape), float)
    one = es.array(np.array(2.0), space=space)
    assert close(blas.scal(one, es.ones(4, space=space)), np.full(4, 2.0), float)
    w, u = laid_out(y, layout, space), laid_out(x, layout, space)
    blas.update(es.array([1.0, 2.0, 3.0], space=space), v, one, w, 0.5, u)
    assert close(u, np.array([1.0, 2.0, 3.0]) * x + 2 * y + 0.5 * x, float)
    with pytest.raises(es.ViewError, match=r"alpha: View .* has shape \(3,\); expected \(\)\."):
        blas.scal(es.ones(3, space=space), es.ones(4, space=space))


def test_one_vector_for_all_columns(space):
    a, x, y = random(7, seed=1), random((7, 4), seed=2), random((7, 4), seed=3)
    w = es.array(y, space=space)
    blas.mult(1.0, w, 2.0, es.array(a, space=space), es.array(x, space=space))
    assert close(w, y + 2 * a[:, None] * x, float)


def test_vectors_may_be_one_view_or_lie_between_each_other(space):
    x = random(8, seed=1)
    v = es.array(x, space=space)
    blas.axpby(2.0, v, 3.0, v)
    assert close(v, 5 * x, float)
    blas.mult(0, v, 1.0, v, v)
    assert close(v, 25 * x * x, float)
    blas.swap(v, v)
    assert close(v, 25 * x * x, float)
    A = random((6, 4), seed=2)
    for layout in ("right", "left"):
        M = laid_out(A, layout, space)
        blas.axpy(2.0, M[:, 0], M[:, 1])
        blas.swap(M[1, :], M[2, :])
        blas.scal(3.0, M[::2, :], out=M[1::2, :])
        expected = A.copy()
        expected[:, 1] += 2 * expected[:, 0]
        expected[[1, 2]] = expected[[2, 1]]
        expected[1::2] = 3 * expected[::2]
        assert close(M, expected, float)
        blas.axpy(1.0, M[:, :2], M[:, 2:])
        expected[:, 2:] += expected[:, :2]
        assert close(M, expected, float)


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 7), st.integers(0, 7), st.booleans())
def test_overlaps_are_found(step, other_step, first, second, of_columns):
    """What shares an element is refused; what lies between, with the same steps, is taken."""
    if of_columns:
        whole = np.zeros((5, 8))
        x, y = whole[:, first : first + 2], whole[:, second : second + 2]
        if x.shape != y.shape:
            return
    else:
        whole = np.zeros(40)
        x, y = (whole[f::s][:4] for f, s in ((first, step), (second, other_step)))
    same = x.ctypes.data == y.ctypes.data and x.strides == y.strides
    shares = np.shares_memory(x, y)
    if same or not (shares or step != other_step):
        blas.axpy(1.0, x, y, space="oracle")
    elif shares:
        with pytest.raises(es.ViewError, match="overlaps x in memory"):
            blas.axpy(1.0, x, y, space="oracle")


def test_arrays_of_others_are_taken_as_they_are(space):
    """What is written into them they have; of lists that are read a View is made."""
    if es.View(0, space=space).memory_space is not es.HOST:
        pytest.skip("the space does not compute in memory of the host")
    x, y, A = random(4, seed=1), random(4, seed=2), random((3, 4), seed=3)
    before, out = y.copy(), np.zeros(3)
    blas.axpy(2.0, x, y)
    assert np.allclose(y, 2 * x + before)
    blas.axpy(1.0, [1.0, 2.0, 3.0, 4.0], y)
    assert np.allclose(y, 2 * x + before + [1, 2, 3, 4])
    blas.gemv(A, x, out=out)
    assert np.allclose(out, A @ x)
    blas.swap(A[:, 0], A[:, 2])
    assert math.isclose(blas.dot(x, x[::-1]), x @ x[::-1])
    norm = np.zeros(())
    blas.nrm2(x, out=norm)
    assert math.isclose(norm, np.linalg.norm(x))


def test_tensors_are_taken_as_they_are(space):
    torch = pytest.importorskip("torch")
    if es.View(0, space=space).memory_space is not es.HOST:
        pytest.skip("the space does not compute in memory of the host")
    x, y = torch.arange(4.0, dtype=torch.float64), torch.ones(4, dtype=torch.float64)
    blas.axpy(2.0, x, y)
    assert y.tolist() == [1.0, 3.0, 5.0, 7.0] and blas.dot(x, y) == 34.0


def test_records(space):
    needs(space, float)
    x, y = duals([1.0, 2.0], [1.0, 0.0]), duals([3.0, 4.0], [0.0, 1.0])
    v, w = es.array(x, space=space), es.array(y, space=space)
    blas.axpy(1, v, w)
    assert np.array_equal(w.to_numpy()["value"], [4, 6])
    blas.axpby(2.0, v, 3, w)
    assert np.array_equal(w.to_numpy()["slope"], [5, 3])
    blas.mult(0, w, 1, v, es.array(y, space=space))
    assert np.array_equal(w.to_numpy()["value"], [3, 8])
    assert np.array_equal(w.to_numpy()["slope"], [3, 2])
    assert np.array_equal(blas.scal(2.0, v).to_numpy()["value"], [2, 4])
    blas.swap(v, w)
    assert np.array_equal(w.to_numpy()["value"], [1, 2])
    with pytest.raises(es.ViewError, match=r"abs: x: View .* is of records Dual; expected numbers"):
        blas.abs(v)
    with pytest.raises(es.ViewError, match="of float64, and the result of Dual; expected Dual"):
        blas.scal(1, v, out=es.ones(2, space=space))
    assert Dual(1.0).slope == 0


def test_faults(space):
    x, y = es.ones(3, space=space), es.ones(4, space=space)
    with pytest.raises(es.ViewError, match=r"axpy: x: View .* shape \(3,\); expected \(4,\), that"):
        blas.axpy(1.0, x, y)
    with pytest.raises(MatrixError, match="scal: alpha='two'; expected a number"):
        blas.scal("two", x)
    with pytest.raises(es.ViewError, match=r"alpha: View .* has shape \(2,\); expected \(\)"):
        blas.scal(es.ones(2, space=space), x)
    with pytest.raises(es.ViewError, match="result of complex128; expected complex numbers"):
        blas.axpy(1j, x, es.ones(3, space=space))
    with pytest.raises(es.ViewError, match="is of int64, and the result of float64; expected real"):
        blas.scal(0.5, es.ones(3, np.int64, space=space), out=es.ones(3, np.int64, space=space))
    with pytest.raises(es.ViewError, match="read-only"):
        blas.axpy(1.0, x, es.ones(3, space=space).readonly())
    with pytest.raises(es.ViewError, match="overlaps x in memory"):
        blas.axpy(1.0, y[1:], y[:-1])
    with pytest.raises(es.ViewError, match="axpy: y is a list; expected a View or an array"):
        blas.axpy(1.0, [1.0], [2.0])
    with pytest.raises(es.ViewError, match=r"has rank 3, shape \(1, 1, 1\); expected rank 1 or 2"):
        blas.scal(1.0, es.ones((1, 1, 1), space=space))
    with pytest.raises(es.ViewError, match="expected one dtype"):
        blas.swap(x, es.ones(3, np.float32, space=space))
    with pytest.raises(es.ViewError, match=r"reciprocal: x: View .* is of int64; expected real or"):
        blas.reciprocal(es.ones(3, np.int64, space=space))
    with pytest.raises(es.ViewError, match="is of bool; expected numbers"):
        blas.scal(2, es.ones(3, np.bool_, space=space))


# -- rotations ------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_rot(space, dtype, layout):
    needs(space, dtype)
    s = 0.8j if np.dtype(dtype).kind == "c" else 0.8
    for shape in [(n,) for n in sizes(space)[:7]] + [(4, 3)]:
        x, y = random(shape, dtype, 1), random(shape, dtype, 2)
        v, w = laid_out(x, layout, space), laid_out(y, layout, space)
        blas.rot(v, w, 0.6, s)
        assert close(v, 0.6 * x + s * y, dtype) and close(w, 0.6 * y - np.conj(s) * x, dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_rotg(space, dtype):
    """Numbers on the host and Views on the space, and what they do to vectors."""
    needs(space, dtype)
    some = [0.0, 3.0, -4.0, 1e200, 1e-200]
    if np.dtype(dtype).kind == "c":
        some = [0j, 3 - 1j, 4j, 1e200 + 1e200j]
    for a in some:
        for b in some:
            r, _, c, s = found = blas.rotg(a, b)
            assert np.isclose(c * c + abs(s) ** 2, 1) and np.isreal(c)
            assert np.isclose(abs(r), np.hypot(abs(a), abs(b)), rtol=1e-14)
            assert np.isclose(c * a + s * b, r)
            assert np.isclose(c * b - np.conj(s) * a, 0, atol=1e-14 * abs(r))
            v, w = (es.array(np.array(n, dtype), space=space) for n in (a, b))
            views = blas.rotg(v, w)
            assert views.r is v and views.z is w
            assert all(np.isclose(p.item(), q) for p, q in zip(views, found, strict=True))
    x, y = random(5, dtype, 1), random(5, dtype, 2)
    v, w = es.array(x, space=space), es.array(y, space=space)
    turned = blas.rotg(*(es.array(np.array(p[0], dtype), space=space) for p in (x, y)))
    blas.rot(v, w, turned.c, turned.s)
    assert np.isclose(w.to_numpy()[0], 0, atol=1e-14)
    assert np.isclose(v.to_numpy()[0], turned.r.item())


def test_rotg_takes_what_is_given(space):
    a, b, c, s = (es.full((), v, space=space) for v in (3.0, 4.0, 0.0, 0.0))
    assert blas.rotg(a, b, c, s).c is c
    assert (c.item(), s.item(), a.item()) == pytest.approx((0.6, 0.8, 5.0))
    with pytest.raises(MatrixError, match="b given as numbers, and others not; expected all to be"):
        blas.rotg(a, 1.0)
    with pytest.raises(MatrixError, match="c and s are given with numbers"):
        blas.rotg(1.0, 2.0, c, s)
    with pytest.raises(es.ViewError, match=r"rotg: a: View .* is of int64; expected real or compl"):
        blas.rotg(es.ones((), np.int64, space=space), es.ones((), np.int64, space=space))


def test_modified_rotations(space):
    scipy_blas = pytest.importorskip("scipy.linalg.blas")
    rng = np.random.default_rng(3)
    flags = set()
    for k in range(60):
        d1, d2, x1, y1 = (float(v) for v in rng.standard_normal(4) * 10.0 ** rng.integers(-9, 9, 4))
        d1 = abs(d1) if k < 50 else d1
        d2 = abs(d2) if k < 40 else d2
        y1 = 0.0 if k == 7 else y1
        theirs = scipy_blas.drotmg(d1, d2, x1, y1)
        found = blas.rotmg(d1, d2, x1, y1)
        flags.add(found.param[0])
        known = {-2: [], -1: [1, 2, 3, 4], 0: [2, 3], 1: [1, 4]}[int(found.param[0])]
        assert found.param[0] == theirs[0]
        assert np.allclose(found.param[known], theirs[known], rtol=1e-12)
        x, y = random(4, seed=1), random(4, seed=2)
        if k % 10 == 0:
            views = [es.array(np.array(v), space=space) for v in (d1, d2, x1, y1)]
            on_space = blas.rotmg(*views)
            assert np.allclose(on_space.param.to_numpy(), found.param, rtol=1e-12)
            assert math.isclose(views[0].item(), found.d1, rel_tol=1e-12)
            v, w = es.array(x, space=space), es.array(y, space=space)
            blas.rotm(v, w, on_space.param)
            expected = scipy_blas.drotm(x, y, theirs)
            assert close(v, expected[0], float) and close(w, expected[1], float)
    assert flags == {-2, -1, 0, 1}
    with pytest.raises(es.ViewError, match=r"rotm: param: View .* expected \(5,\)"):
        blas.rotm(es.ones(3, space=space), es.ones(3, space=space), es.ones(4, space=space))
    ints = es.ones(3, np.int64, space=space)
    with pytest.raises(es.ViewError, match=r"rotm: x: View .* is of int64; expected real or compl"):
        blas.rotm(ints, ints, es.ones(5, space=space))

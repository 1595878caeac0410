"""BLAS 1 that makes numbers of vectors, and of the columns of multi-vectors, beside NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from blas_arrays import DTYPES, LAYOUTS, Dual, duals, laid_out, needs, random, set_limits, sizes
from hypothesis import given
from hypothesis import strategies as st

import execspace as es
from execspace_kernels import blas

LESS = {"columns": {"_ROWS": 8, "_NEAR": 64, "_FEW": 2, "_EACH": 3, "_ITEMS": 20}}


@pytest.fixture(params=["as it is", "device", "device in pieces"])
def form(request, space, monkeypatch):
    """Which form of the kernels runs."""
    if request.param != "as it is":
        set_limits(monkeypatch, as_a_device=True, **(LESS if "pieces" in request.param else {}))
    return request.param


def expected_of(x, y):
    """What each function gives, in double precision."""
    x, y = (a.astype(np.complex128 if a.dtype.kind == "c" else np.float64) for a in (x, y))
    n = x.shape[0]
    return {
        "dot": (x.conj() * y).sum(axis=0),
        "dotu": (x * y).sum(axis=0),
        "sum": x.sum(axis=0),
        "nrm1": (np.abs(x.real) + np.abs(x.imag)).sum(axis=0),
        "nrm2": np.sqrt((np.abs(x) ** 2).sum(axis=0)),
        "nrm2_squared": (np.abs(x) ** 2).sum(axis=0),
        "nrminf": np.abs(x).max(axis=0, initial=0),
        "iamax": np.abs(x).argmax(axis=0) if n else np.full(x.shape[1:], -1),
    }


def shapes(space):
    some = sizes(space) if space.name != "oracle" else (0, 1, 9)
    return [(n,) for n in some] + [(0, 3), (4, 0), (1, 1), (9, 3), (40, 5)]


@pytest.mark.parametrize("dtype", [*DTYPES, np.float16, np.int16])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_numbers(space, form, dtype, layout):
    needs(space, dtype)
    for shape in shapes(space):
        x, y = random(shape, dtype, 1), random(shape, dtype, 2)
        v, w = laid_out(x, layout, space), laid_out(y, layout, space)
        for name, expected in expected_of(x, y).items():
            function = getattr(blas, name)
            args = (v, w) if name in ("dot", "dotu") else (v,)
            found = function(*args)
            assert np.shape(found) == shape[1:], name
            assert isinstance(found, int | float | complex | np.ndarray), name
            rtol = 1e-6 if dtype in (np.float16, np.float32, np.complex64) else 1e-13
            assert np.allclose(found, expected, rtol=rtol, atol=rtol), (name, shape)
            exact = name == "iamax" or (np.dtype(dtype).kind == "i" and name != "nrm2")
            kind = np.int64 if exact else np.asarray(expected).dtype
            if not space.capabilities.float64:
                continue
            out = es.View(shape[1:], kind, space=space)
            assert function(*args, out=out) is out
            assert np.allclose(out.to_numpy(), expected, rtol=rtol, atol=rtol), (name, shape)


def test_results_have_the_same_bits_in_each_run(space, form):
    n = 3000 if space.name != "oracle" else 100
    x, y = (es.array(random((n, 3), seed=s), space=space) for s in (1, 2))
    for name in ("dot", "nrm2", "sum"):
        args = (x, y) if name == "dot" else (x,)
        first, second = (getattr(blas, name)(*args) for _ in range(2))
        assert np.array_equal(first, second)


HARD = [
    [1e200, 1e200, 1.0], [1e-200, 1e-200], [5e-324], [1e308, 1e308 / 2], [1.0, 1e-170],
    [3e-160, 4e-160], [0.0, 0.0], [1e200, np.inf], [-np.inf, 1.0], [np.nan, 1e200],
    [np.nan, 1e-300], [np.nan, np.inf], [np.nan], [1e300] * 30, [1e-310] * 30, [1e170, 1e-170],
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(HARD)))
def test_norms_neither_overflow_nor_underflow(space, form, number):
    needs(space, np.float64)
    values = np.array(HARD[number])
    expected = np.nan if np.isnan(values).any() else math.hypot(*values)
    x = es.array(values, space=space)
    out = es.zeros((), space=space)
    found = [blas.nrm2(x), blas.nrm2(x, out=out).item()]
    for layout in LAYOUTS:
        columns = laid_out(np.stack([values, values[::-1]], axis=1), layout, space)
        both = es.zeros(2, space=space)
        found += [*blas.nrm2(columns), *blas.nrm2(columns, out=both).to_numpy()]
    if space.capabilities.complex and not np.isnan(values).any() and np.isfinite(values).all():
        turned = es.array(values * (0.6 + 0.8j), space=space)
        found += [blas.nrm2(turned), blas.nrm2(turned, out=out).item()]
    assert np.allclose(found, expected, rtol=1e-14, atol=5e-324, equal_nan=True)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=20))
def test_norms_of_anything(values):
    x = np.array(values, float)
    expected = math.hypot(*values)
    out = np.zeros(())
    blas.nrm2(x, out=out, space="oracle")
    for found in (blas.nrm2(x, space="oracle"), float(out)):
        assert math.isclose(found, expected, rel_tol=1e-14, abs_tol=1e-322)


def test_float32_and_integers_do_not_lose_digits(space):
    """Their sums are of 64 bits, and so is what is summed."""
    needs(space, np.float64)
    x = es.array(np.array([1e30, 1.0, -1e30], np.float32), space=space)
    large = es.array(np.full(3, 3e38, np.float32), space=space)
    assert math.isclose(blas.nrm2(large), math.sqrt(3) * 3e38, rel_tol=1e-6)
    assert math.isclose(blas.dot(large, large), 3 * 9e76, rel_tol=1e-6)
    assert blas.nrm2(es.array(np.array([1e-40], np.float32), space=space)) > 0
    assert blas.nrminf(x) == np.float32(1e30)
    whole = es.array(np.array([2**30, 2**30, -(2**31)], np.int32), space=space)
    assert blas.dot(whole, whole) == 2**60 + 2**60 + 2**62 and blas.sum(whole) == 0
    assert blas.nrminf(whole) == blas.nrm1(whole) // 2 == 2**31 and blas.iamax(whole) == 2
    assert blas.dot(whole, es.array([0.5, 0.5, 0.5], space=space)) == 0


def test_nan(space, form):
    x = np.array([[1.0, 2.0], [np.nan, 3.0], [5.0, 1.0], [np.nan, 3.0]])
    for layout in LAYOUTS:
        v = laid_out(x, layout, space)
        assert blas.iamax(v).tolist() == [1, 1]
        assert np.allclose(blas.nrminf(v), [np.nan, 3.0], equal_nan=True)
        assert blas.iamax(v[:, 0]) == 1 and math.isnan(blas.nrminf(v[:, 0]))
        assert math.isnan(blas.dot(v[:, 0], v[:, 1])) and math.isnan(blas.nrm1(v[:, 0]))


def test_records(space):
    needs(space, np.float64)
    x, y = duals(np.arange(6.0).reshape(3, 2), 1.0), duals(np.ones((3, 2)), 2.0)
    v, w = es.array(x, space=space), es.array(y, space=space)
    found = blas.dot(v[:, 0], w[:, 0])
    assert (found.value, found.slope) == (6.0, 15.0)
    out = es.View((), Dual, space=space)
    blas.sum(v[:, 1], out=out)
    assert out.item() == (9.0, 3.0)
    both = blas.dot(v, w)
    assert both["value"].tolist() == [6.0, 9.0] and both["slope"].tolist() == [15.0, 21.0]
    columns = es.View(2, Dual, space=space)
    assert blas.sum(v, out=columns).to_numpy()["value"].tolist() == [6.0, 9.0]
    with pytest.raises(
        es.ViewError, match=r"nrm2: x: View .* is of records Dual; expected numbers"
    ):
        blas.nrm2(v)


def test_faults(space):
    x = es.ones(3, space=space)
    with pytest.raises(es.ViewError, match=r"dot: y: View .* shape \(2,\); expected \(3,\), that"):
        blas.dot(x, es.ones(2, space=space))
    with pytest.raises(es.ViewError, match=r"sum: out: View .* shape \(1,\); expected \(\), a num"):
        blas.sum(x, out=es.ones(1, space=space))
    with pytest.raises(es.ViewError, match=r"shape \(3,\); expected \(2,\), one for each column"):
        blas.nrm2(es.ones((4, 2), space=space), out=es.ones(3, space=space))
    with pytest.raises(es.ViewError, match=r"iamax: out: View .* is of float64; expected integers"):
        blas.iamax(x, out=es.zeros((), space=space))
    with pytest.raises(
        es.ViewError, match=r"nrm2: out: View .* is of int64, and the result of flo"
    ):
        blas.nrm2(x, out=es.zeros((), np.int64, space=space))
    with pytest.raises(es.ViewError, match="overlaps what is read in memory"):
        blas.sum(x, out=es.subview(x, 0))
    with pytest.raises(es.ViewError, match="dot: out is a list; expected a View"):
        blas.dot(x, x, out=[0.0])


def test_recorded(space):
    """With out= they are recorded; without there is no number yet."""
    x, out = es.ones(4, space=space), es.zeros((), space=space)
    X, norms = es.ones((4, 2), space=space), es.zeros(2, space=space)
    for _ in range(2):  # so that all is compiled before
        blas.dot(x, x, out=out)
        blas.nrm2(X, out=norms)
    try:
        graph = es.Graph(space)
    except es.ExecspaceError:
        pytest.skip("no graphs here")
    with graph:
        blas.dot(x, x, out=out)
        blas.nrm2(X, out=norms)
        with pytest.raises(es.LaunchError, match="nrm2 without out looks at elements"):
            blas.nrm2(X)
    es.deep_copy(x, 2.0)
    es.deep_copy(X, 3.0)
    graph.submit()
    assert out.item() == 16.0 and norms.to_numpy().tolist() == [6.0, 6.0]

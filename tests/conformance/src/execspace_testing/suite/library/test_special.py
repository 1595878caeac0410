"""es.special in kernels: values of mpmath, limits, and types, on every space.

Errors are in units of the last place of the result's type, times what `special_values` says. Bounds
are the largest ones measured on x86-64 Linux, rounded up, with one more for other libraries.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import needs_dtype

from . import special_complex_values, special_values

INF, NAN = math.inf, math.nan

# Name -> bounds of float32 and float64.
REAL = {
    "j0": (3.5, 3.5), "j1": (4, 4), "y0": (3.5, 3.5), "y1": (3, 3), "i0": (4, 3.5), "i1": (4, 3),
    "i0e": (3.5, 3), "i1e": (3.5, 2.5), "k0": (3, 3), "k1": (3.5, 2.5), "k0e": (3.5, 2.5),
    "k1e": (3, 2.5), "erf": (2, 2), "erfc": (2, 2), "erfcx": (4, 3.5), "erfinv": (2.5, 2.5),
    "erfcinv": (2.5, 2.5), "ndtr": (4.5, 3), "log_ndtr": (4.5, 3.5), "ndtri": (3, 3),
    "expit": (3, 2.5), "logit": (2.5, 2), "xlogy": (2, 2), "gamma": (3, 3), "gammaln": (3, 4.5),
    "digamma": (5, 5), "beta": (20.5, 24), "betaln": (3, 4.5), "gammainc": (4, 5),
    "gammaincc": (3, 2.5), "exp1": (3, 3), "expi": (4.5, 3.5), "expn": (3, 3),
}  # fmt: skip
# Name -> bounds of complex64 and complex128.
COMPLEX = {
    "erf": (3.5, 3.5), "erfc": (4.5, 4), "erfcx": (3.5, 5.5), "wofz": (4, 4), "j0": (3.5, 4.5),
    "y0": (9, 6.5), "i0": (4.5, 4.5), "k0": (4.5, 4), "hankel1_0": (4, 5), "hankel2_0": (4, 4.5),
    "j1": (3.5, 4), "y1": (4.5, 5), "i1": (6, 10), "k1": (4, 5), "hankel1_1": (3.5, 4),
    "hankel2_1": (4.5, 3.5),
}  # fmt: skip


def function(name):
    """A function of es.special, of Hankel's one with its order: 'hankel1_0'."""
    kind, _, order = name.partition("_")
    if not kind.startswith("hankel"):
        return getattr(es.special, name)
    n = int(order)
    if kind == "hankel1":
        return lambda z: es.special.hankel1(n, z)
    return lambda z: es.special.hankel2(n, z)


def evaluated(space, f, *columns, out=None):
    """f of the elements of arrays, computed by a kernel."""
    args = [staged.view_on(space, c, f"arg{k}") for k, c in enumerate(columns)]
    found = es.View(len(columns[0]), out or columns[0].dtype, space=space, label="found")
    if len(args) == 1:
        es.parallel_for(es.RangePolicy(len(found), space=space), of_one, f, *args, found)
    else:
        es.parallel_for(es.RangePolicy(len(found), space=space), of_two, f, *args, found)
    return staged.fetch(found)


def of_one(i, f, x, found):
    found[i] = f(x[i])


def of_two(i, f, x, y, found):
    found[i] = f(x[i], y[i])


def worst(found, values, units):
    """The largest error; infinite if an infinity is wrong, or NaN is found."""
    real = found.real.dtype
    limits = np.finfo(real)
    with np.errstate(over="ignore"):
        infinite = np.isinf(values.astype(found.dtype))
    error = abs(found.astype(np.complex128) - values)
    # What is subnormal has fewer digits.
    error = error / (limits.eps * np.maximum(units, limits.tiny / limits.eps))
    error[infinite] = np.where(found[infinite] == values[infinite].astype(found.dtype), 0, INF)
    error[np.isnan(error)] = INF
    return error.max()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", REAL)
def test_values_of_real_numbers(space, name, dtype):
    needs_dtype(space, dtype)
    rows = np.array(special_values.VALUES[name])
    columns = [c.astype(np.float32).astype(dtype) for c in rows[:, :-2].T]
    found = evaluated(space, function(name), *columns)
    assert found.dtype == dtype
    assert worst(found, rows[:, -2], rows[:, -1]) <= REAL[name][dtype == "float64"]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", COMPLEX)
def test_values_of_complex_numbers(space, name, dtype):
    needs_dtype(space, dtype)
    x, y, *value, units = np.array(special_complex_values.VALUES[name]).T
    z = (x.astype(np.float32) + 1j * y.astype(np.float32)).astype(dtype)
    found = evaluated(space, function(name), z)
    assert worst(found, value[0] + 1j * value[1], units) <= COMPLEX[name][dtype == "complex128"]


def test_every_function_has_values():
    public = set(es.special.__all__) - {"psi", "hankel1", "hankel2", "wofz"}
    assert public == set(REAL) == set(special_values.VALUES)
    assert set(COMPLEX) == set(special_complex_values.VALUES)
    assert es.special.psi is es.special.digamma


# -- limits ---------------------------------------------------------------------------------------

POINTS = [0.0, -0.0, INF, -INF, NAN, -1.0]
LIMITS = {
    "j0": [1, 1, 0, 0, NAN, 0.7651976865579666],
    "j1": [0.0, -0.0, 0, 0, NAN, -0.4400505857449335],
    "y0": [-INF, -INF, 0, NAN, NAN, NAN],
    "y1": [-INF, -INF, 0, NAN, NAN, NAN],
    "i0": [1, 1, INF, INF, NAN, 1.2660658777520084],
    "i1": [0.0, -0.0, INF, -INF, NAN, -0.5651591039924851],
    "i0e": [1, 1, 0, 0, NAN, 0.46575960759364043],
    "i1e": [0.0, -0.0, 0.0, -0.0, NAN, -0.2079104153497085],
    "k0": [INF, INF, 0, NAN, NAN, NAN],
    "k1": [INF, INF, 0, NAN, NAN, NAN],
    "k0e": [INF, INF, 0, NAN, NAN, NAN],
    "k1e": [INF, INF, 0, NAN, NAN, NAN],
    "erf": [0.0, -0.0, 1, -1, NAN, -0.8427007929497149],
    "erfc": [1, 1, 0, 2, NAN, 1.8427007929497148],
    "erfcx": [1, 1, 0, INF, NAN, 5.008980080762283],
    "erfinv": [0.0, -0.0, NAN, NAN, NAN, -INF],
    "erfcinv": [INF, INF, NAN, NAN, NAN, NAN],
    "ndtr": [0.5, 0.5, 1, 0, NAN, 0.15865525393145705],
    "log_ndtr": [-0.6931471805599453, -0.6931471805599453, 0, -INF, NAN, -1.8410216450092636],
    "ndtri": [-INF, -INF, NAN, NAN, NAN, NAN],
    "expit": [0.5, 0.5, 1, 0, NAN, 0.2689414213699951],
    "logit": [-INF, -INF, NAN, NAN, NAN, NAN],
    "gamma": [INF, -INF, INF, NAN, NAN, NAN],
    "gammaln": [INF, INF, INF, INF, NAN, INF],
    "digamma": [-INF, INF, INF, NAN, NAN, NAN],
    "exp1": [INF, INF, 0, NAN, NAN, NAN],
    "expi": [-INF, -INF, INF, 0, NAN, -0.21938393439552026],
}  # fmt: skip
PAIR_LIMITS = {
    "xlogy": [(0, 0, 0), (0, INF, 0), (0, NAN, NAN), (1, -1, NAN), (2, 0, -INF), (NAN, 1, NAN)],
    "beta": [(0, 1, INF), (1, 1, 1), (NAN, 1, NAN), (2, 0, INF), (0, 2, INF), (-1, 3, INF),
             (-1, 1.5, INF), (-2, -1, INF), (-0.5, 0.5, -0.0), (-1.5, 0.5, 0.0)],
    "betaln": [(0, 1, INF), (1, 1, 0), (NAN, 1, NAN), (10, 0, INF), (-0.5, 0.5, -INF)],
    "gammainc": [(0, 1, 1), (1, 0, 0), (0, 0, NAN), (-1, 1, NAN), (1, -1, NAN), (1, INF, 1),
                 (INF, 1, 0), (INF, INF, NAN), (NAN, 1, NAN), (1, NAN, NAN)],
    "gammaincc": [(0, 1, 0), (1, 0, 1), (0, 0, NAN), (-1, 1, NAN), (1, -1, NAN), (1, INF, 0),
                  (INF, 1, 1), (INF, INF, NAN), (NAN, 1, NAN), (1, NAN, NAN)],
    "expn": [(0, 0, INF), (1, 0, INF), (3, 0, 0.5), (2, INF, 0), (3, -1, NAN), (-1, 1, NAN),
             (2, NAN, NAN), (1.5, 1, NAN)],
}  # fmt: skip


def assert_limits(found, expected):
    expected = np.array(expected, found.dtype)
    np.testing.assert_allclose(found, expected, rtol=30 * np.finfo(found.dtype).eps, atol=0)
    zeros = expected == 0
    assert (found[zeros] == 0).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", LIMITS)
def test_limits(space, name, dtype):
    needs_dtype(space, dtype)
    found = evaluated(space, function(name), np.array(POINTS, dtype))
    assert_limits(found, LIMITS[name])
    if name in ("j1", "i1", "i1e", "erf", "erfinv"):  # odd functions keep the sign of a zero
        assert np.signbit(found[:2]).tolist() == [False, True]


@pytest.mark.parametrize("name", PAIR_LIMITS)
def test_limits_of_pairs(space, name):
    needs_dtype(space, "float64")
    x, y, expected = np.array(PAIR_LIMITS[name], float).T
    assert_limits(evaluated(space, function(name), x, y), expected)


def test_inverses_end_at_both_ends(space):
    x = np.array([1.0, 2.0, 2.5], np.float32)
    assert_limits(evaluated(space, es.special.erfinv, x), [INF, NAN, NAN])
    assert_limits(evaluated(space, es.special.erfcinv, x), [0, -INF, NAN])
    assert_limits(evaluated(space, es.special.ndtri, x), [INF, NAN, NAN])
    assert_limits(evaluated(space, es.special.logit, x), [INF, NAN, NAN])


def test_cuts_belong_to_what_is_above(space):
    """On the negative real axis, whatever the sign of the zero, as SciPy has it."""
    needs_dtype(space, "complex128")
    z = np.array([complex(-1, 0.0), complex(-1, -0.0), complex(-1, 1e-300), complex(-1, -1e-300)])
    j, y, i, k = (
        0.7651976865579666, 0.08825696421567697, 1.2660658777520084, 0.42102443824070834,
    )  # fmt: skip
    for f, above in (
        (es.special.y0, complex(y, 2 * j)),
        (es.special.k0, complex(k, -math.pi * i)),
        (function("hankel1_0"), complex(-j, y)),
        (function("hankel2_0"), complex(3 * j, -y)),
    ):
        found = evaluated(space, f, z)
        np.testing.assert_allclose(found[:3], above, rtol=3e-15)
        assert abs(found[3] - above) > 0.1


def test_real_numbers_as_complex_ones(space):
    """Functions that are real on the axis have no imaginary part there."""
    needs_dtype(space, "complex128")
    x = np.array([0.25, 1.0, 3.0, 20.0, 50.0])
    for name in ("j0", "j1", "y0", "y1", "i0", "i1", "k0", "k1", "erf", "erfc", "erfcx"):
        found = evaluated(space, function(name), x.astype(complex))
        np.testing.assert_allclose(
            found.real, evaluated(space, function(name), x), rtol=1e-14, atol=2e-16
        )
        assert (abs(found.imag) <= 1e-18 * abs(found.real)).all(), name


def test_zero_and_infinity_of_complex_numbers(space):
    needs_dtype(space, "complex128")
    zero, far = np.zeros(1, complex), np.array([INF + 0j, complex(0, INF)])
    for name, expected in (("j0", 1), ("j1", 0), ("i0", 1), ("i1", 0), ("erf", 0), ("wofz", 1)):
        assert evaluated(space, function(name), zero)[0] == expected, name
    assert evaluated(space, es.special.y0, zero)[0].real == -INF
    assert evaluated(space, es.special.k0, zero)[0].real == INF
    assert (evaluated(space, es.special.wofz, far) == 0).all()


# -- types ----------------------------------------------------------------------------------------


def test_results_have_the_precision_of_the_argument(space):
    def bits(i, x, n, out):
        out[0] = np.finfo(es.special.j0(x[i])).bits
        out[1] = np.finfo(es.special.hankel1(1, x[i]).real).bits
        out[2] = np.finfo(es.special.beta(x[i], 0.5)).bits
        out[3] = np.finfo(es.special.expn(n[i], x[i])).bits
        out[4] = np.finfo(x[i] * es.special.erfcx(2) * es.special.k1(i + 1)).bits

    for dtype in ("float32", "float64"):
        needs_dtype(space, dtype)
        found = np.zeros(5, np.int32)
        x, n = np.ones(1, dtype), np.ones(1, np.int32)
        staged.parallel_for(es.RangePolicy(1, space=space), bits, x, n, found)
        assert found.tolist() == [8 * np.dtype(dtype).itemsize] * 5


def test_integers_count_as_float64(space):
    needs_dtype(space, "float64")
    for dtype in ("int32", "uint8", "bool"):
        x = np.array([0, 1, 3]).astype(dtype)
        found = evaluated(space, es.special.j0, x, out="float64")
        assert (found == evaluated(space, es.special.j0, x.astype(float))).all()


def test_float16_is_computed_in_float32(space):
    needs_dtype(space, "float16")
    x = np.linspace(-12, 12, 49).astype(np.float16)
    wide = evaluated(space, es.special.j0, x.astype(np.float32))
    assert (evaluated(space, es.special.j0, x) == wide.astype(np.float16)).all()
    y, half = abs(x) + np.float16(1), np.full_like(x, 0.5)
    wide = evaluated(space, es.special.beta, y.astype(np.float32), half.astype(np.float32))
    assert (evaluated(space, es.special.beta, y, half) == wide.astype(np.float16)).all()
    mixed = evaluated(space, es.special.beta, y, half.astype(np.float32), out="float32")
    assert (mixed == wide).all()


def test_another_order_is_refused(space):
    out = staged.view_on(space, np.zeros(1, np.complex64), "out")

    def third(i, out):
        out[i] = es.special.hankel1(2, es.float32(1.5))

    def launch():
        es.parallel_for(es.RangePolicy(1, space=space), third, out)
        es.fence()

    with pytest.raises(es.KernelTypeError, match="hankel1 has the orders 0 and 1, not 2"):
        launch()


def test_complex_numbers_are_refused_where_there_is_no_such_function(space):
    out = staged.view_on(space, np.zeros(1, np.complex64), "out")

    def scaled(i, out):
        out[i] = es.special.i0e(out[i])

    with pytest.raises(es.KernelTypeError, match="complex64"):
        es.parallel_for(es.RangePolicy(1, space=space), scaled, out)


def test_what_is_no_number_is_refused(space):
    x = staged.view_on(space, np.ones(1, np.float32), "x")
    for f in (es.special.j0, es.special.i0e, lambda z: es.special.hankel1(0, z).real):
        with pytest.raises(es.KernelTypeError, match="takes numbers, got View 'x'"):
            es.parallel_reduce(es.RangePolicy(1, space=space), lambda i, f, x: f(x), f, x)


def test_where_gamma_overflows(space):
    needs_dtype(space, "float64")
    x = np.array([171.6, 171.624, 171.625, 171.65, 172.0])
    found = evaluated(space, es.special.gamma, x)
    assert np.isfinite(found).tolist() == [True, True, False, False, False]
    assert [float(es.special.gamma(v)) == INF for v in x] == np.isinf(found).tolist()


# Of negative numbers, by mpmath.
BETAS = [
    (-0.5, 200.0, -50.03849833668388), (-0.5, 1000.0, -112.0577807623914),
    (-2.5, 500.0, -5238307.344941885), (172.0, -0.5, -46.389581382367915), (1.0, -2.0, -0.5),
    (2.0, -2.0, 0.5), (5.0, -12.0, -1 / 3960), (-1.5, 0.75, -0.5990701173677961),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_beta_of_negative_numbers(space, dtype):
    a, b, expected = (np.array(column) for column in zip(*BETAS, strict=True))
    a, b = a.astype(dtype), b.astype(dtype)
    most = 16 * float(np.finfo(dtype).eps)
    np.testing.assert_allclose(evaluated(space, es.special.beta, a, b), expected, most)
    logs = np.log(abs(expected))
    np.testing.assert_allclose(evaluated(space, es.special.betaln, a, b), logs, most, most)
    on_host = [es.special.beta(x, y) for x, y in zip(a, b, strict=True)]
    np.testing.assert_allclose(on_host, expected, most)


def test_arrays_of_rank_0_and_orders_on_the_host():
    assert es.special.j0(np.array(1.0)) == es.special.j0(1.0)
    assert es.special.erf(np.array(1, np.float32)).dtype == np.float32
    assert not np.signbit(es.special.ndtri(0.5))
    with pytest.raises(es.LaunchError, match=r"orders 0 and 1, not 2\.0;"):
        es.special.hankel1(2, 1.0)

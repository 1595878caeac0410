"""es.special on the host: SciPy's values over all magnitudes, types of results, refusals."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st

import execspace as es

# Errors are SciPy's as well: those of its Bessel functions of complex numbers, which come from
# AMOS, grow with the argument, and so do those of J and Y of real ones, hence 500.
REAL_ERROR, COMPLEX_ERROR = 4e-13, 1e-12

POSITIVE = st.floats(1e-300, 1e300) | st.floats(1e-3, 100)
ANY = POSITIVE | POSITIVE.map(lambda x: -x)
SMALL = st.floats(-25, 25)
UNIT = st.floats(1e-300, 1, exclude_max=True)
SIZES = st.floats(1e-3, 150)
REAL = {
    "j0": st.floats(-500, 500), "j1": st.floats(-500, 500),
    "y0": st.floats(1e-300, 500), "y1": st.floats(1e-300, 500),
    "i0": st.floats(-700, 700), "i1": st.floats(-700, 700), "i0e": ANY, "i1e": ANY,
    "k0": st.floats(1e-300, 700), "k1": st.floats(1e-300, 700),
    "k0e": POSITIVE, "k1e": POSITIVE,
    "erf": ANY, "erfc": st.floats(-10, 26), "erfcx": st.floats(-25, 1e300),
    "erfinv": st.floats(-1, 1), "erfcinv": UNIT | st.floats(1, 1.99),
    "ndtr": st.floats(-36, 10), "log_ndtr": st.floats(-1e100, 8), "ndtri": UNIT,
    "expit": st.floats(-700, 700), "logit": UNIT,
    "gamma": st.floats(1e-300, 170), "gammaln": POSITIVE, "digamma": POSITIVE,
    "exp1": st.floats(1e-300, 700), "expi": st.floats(-700, 700),
}  # fmt: skip
PAIRS = {
    "xlogy": (ANY, POSITIVE), "beta": (SIZES, SIZES), "betaln": (SIZES, SIZES),
    "gammainc": (SIZES, SIZES), "gammaincc": (SIZES, SIZES),
    "expn": (st.integers(0, 40), st.floats(1e-3, 600)),
}  # fmt: skip
COMPLEX = {
    "erf": scipy.special.erf, "erfc": scipy.special.erfc, "erfcx": scipy.special.erfcx,
    "wofz": scipy.special.wofz,
    "j0": lambda z: scipy.special.jv(0, z), "j1": lambda z: scipy.special.jv(1, z),
    "y0": lambda z: scipy.special.yv(0, z), "y1": lambda z: scipy.special.yv(1, z),
    "i0": lambda z: scipy.special.iv(0, z), "i1": lambda z: scipy.special.iv(1, z),
    "k0": lambda z: scipy.special.kv(0, z), "k1": lambda z: scipy.special.kv(1, z),
}  # fmt: skip
few = settings(max_examples=60, deadline=None, derandomize=True)


def assert_close(found, expected, error, least=0.0):
    assert abs(found - expected) <= error * max(abs(expected), least), (found, expected)


def least_of(name, *x):
    """What errors near zeros of a function are compared with."""
    if name in ("j0", "j1", "y0", "y1"):
        return 1 / np.sqrt(1 + abs(x[0]))
    return 1.0 if name in ("gammaln", "digamma", "betaln", "expi", "logit") else 1e-290


@pytest.mark.parametrize("name", REAL)
@few
@given(data=st.data())
def test_values_are_those_of_scipy(name, data):
    x = data.draw(REAL[name])
    found = getattr(es.special, name)(x)
    assert type(found) is float
    expected = float(getattr(scipy.special, name)(x))
    if np.isinf(expected):
        assert found == expected
    else:
        assert_close(found, expected, REAL_ERROR, least_of(name, x))


@pytest.mark.parametrize("name", PAIRS)
@few
@given(data=st.data())
def test_values_of_pairs_are_those_of_scipy(name, data):
    x, y = (data.draw(s) for s in PAIRS[name])
    found, expected = getattr(es.special, name)(x, y), float(getattr(scipy.special, name)(x, y))
    assert_close(found, expected, 5 * REAL_ERROR, max(least_of(name, x), 1e-200))


@pytest.mark.parametrize("name", COMPLEX)
@few
@given(size=st.floats(1e-3, 1) | st.floats(1, 25), angle=st.floats(-3.14, 3.14))
def test_values_of_complex_numbers_are_those_of_scipy(name, size, angle):
    z = complex(size * np.cos(angle), size * np.sin(angle))
    found, expected = getattr(es.special, name)(z), complex(COMPLEX[name](z))
    assert type(found) is complex
    if np.isfinite(expected):
        assert_close(found, expected, COMPLEX_ERROR, np.exp(abs(z.imag)) / (1 + size)
                     if name in ("j0", "j1", "y0", "y1") else 1e-250)  # fmt: skip


@few
@given(
    order=st.sampled_from([0, 1]), kind=st.sampled_from([1, 2]), x=st.floats(-40, 40),
    y=st.floats(-40, 40),
)  # fmt: skip
def test_hankel_functions_are_those_of_scipy(order, kind, x, y):
    z = complex(x, y) if abs(complex(x, y)) > 1e-3 else 1.0
    found = getattr(es.special, f"hankel{kind}")(order, z)
    expected = complex(getattr(scipy.special, f"hankel{kind}")(order, z))
    assert_close(
        found, expected, COMPLEX_ERROR, abs(scipy.special.jv(order, z)) if abs(z) < 9 else 0
    )


@few
@given(x=st.floats(1e-300, 1e-30) | st.floats(1e-30, 0.9))
def test_inverses_undo_each_other(x):
    y = es.special.erfcinv(x)
    # The slope of log(erfc) is about -2 y: an error of the argument counts so often.
    assert es.special.erfc(y) == pytest.approx(x, rel=1e-15 * (4 + 4 * y * y))
    p = es.special.ndtri(x)
    assert es.special.ndtr(p) == pytest.approx(x, rel=1e-15 * (4 + 4 * p * p))


@pytest.mark.parametrize("name", sorted({*es.special.__all__} - {"hankel1", "hankel2"}))
def test_what_kernels_of_the_oracle_compute(name):
    """The host has the same digits, up to those of the C library."""
    f, pairs = getattr(es.special, name), name in PAIRS
    x = np.linspace(0.02, 0.98, 25)
    out = np.zeros(25, complex if name == "wofz" else float)
    if pairs:

        def kernel(i, x, out):
            out[i] = f(2, x[i])
    else:

        def kernel(i, x, out):
            out[i] = f(x[i])

    es.parallel_for(es.RangePolicy(25, space="oracle"), kernel, x, out)
    expected = [f(2, float(v)) if pairs else f(float(v)) for v in x]
    np.testing.assert_allclose(out, expected, rtol=4e-15)


@pytest.mark.parametrize(
    ("x", "kind"),
    [(1, float), (True, float), (0.5, float), (1j, complex), (np.float32(1), np.float32),
     (np.float16(1), np.float16), (np.float64(1), np.float64), (np.int8(1), np.float64),
     (np.bool(True), np.float64), (np.complex64(1j), np.complex64),
     (np.complex128(1j), np.complex128)],
)  # fmt: skip
def test_results_have_the_type_of_the_number(x, kind):
    found = es.special.j0(x)
    assert type(found) is kind
    assert found == pytest.approx(complex(scipy.special.jv(0, complex(x))), rel=1e-3)


def test_pairs_have_their_common_type():
    beta = es.special.beta
    assert type(beta(np.float32(1), 2)) is type(beta(2.5, np.float32(1))) is np.float32
    assert type(beta(np.float32(1), np.float64(2))) is np.float64
    assert type(es.special.hankel1(0, np.float32(1))) is np.complex64
    assert type(es.special.hankel1(0, 1)) is complex
    assert type(es.special.wofz(np.float64(1))) is np.complex128


def test_no_number_warns_or_raises():
    """pytest makes errors of warnings."""
    for name in REAL:
        for x in (
            171.65,
            36.0,
            0.0,
            -0.0,
            np.inf,
            -np.inf,
            np.nan,
            1e308,
            -1e308,
            5e-324,
            -1.0,
            1.0,
            2.0,
        ):
            for kind in (float, np.float32):
                with np.errstate(all="ignore"):
                    given_ = kind(x)
                assert isinstance(getattr(es.special, name)(given_), kind)
    for name in COMPLEX:
        for z in (0j, complex(np.inf, 0), complex(0, -np.inf), complex(np.nan, 0), 1e308 + 1j):
            assert isinstance(getattr(es.special, name)(z), complex)
    assert np.isnan(es.special.hankel2(1, 0j).real)


@pytest.mark.parametrize("value", [np.zeros(3), [1.0], "1", None, np.longdouble(1)])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(
        es.DTypeError, match=r"es\.special\.k1: x is .* call it in a kernel: y\[i\]"
    ):
        es.special.k1(value)


def test_complex_numbers_are_refused_where_there_is_no_such_function():
    with pytest.raises(
        es.DTypeError, match=r"es\.special\.erfinv: x is 1j; expected a real number"
    ):
        es.special.erfinv(1j)
    with pytest.raises(es.DTypeError, match=r"es\.special\.beta: b is .*1j"):
        es.special.beta(1.0, b=np.complex64(1j))


def test_another_order_is_refused():
    for v in (2, 0.5, -1, 1j):
        with pytest.raises(es.LaunchError, match="hankel1 has the orders 0 and 1, not"):
            es.special.hankel1(v, 1.0)


def test_the_order_of_an_exponential_integral():
    """Its type does not count, and what is no integer gives NaN."""
    found = es.special.expn(np.int64(2), np.float32(1))
    assert type(found) is np.float32
    assert found == pytest.approx(scipy.special.expn(2, 1.0), rel=1e-6)
    assert es.special.expn(2.0, 1.0) == es.special.expn(2, 1.0)
    assert np.isnan(es.special.expn(1.5, 1.0))


def test_numbers_beyond_the_range_of_float64():
    with pytest.raises(es.DTypeError, match=r"x is 1000.*; expected a number of the range of fl"):
        es.special.j0(10**400)
    with pytest.raises(TypeError, match=r"es\.special\.beta\(.*missing a required argument: 'b'"):
        es.special.beta(1.0)


def test_functions_are_pickled_by_name_and_show_it():
    for name in es.special.__all__:
        f = getattr(es.special, name)
        assert pickle.loads(pickle.dumps(f)) is f
        assert f.__doc__ and repr(f) == f"<execspace.special.{f.__name__}>"


def test_the_package_is_loaded_on_first_use():
    code = (
        "import sys, execspace as es; assert 'execspace.special' not in sys.modules; "
        "es.special.j0; assert 'execspace.special' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

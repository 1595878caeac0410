"""Mathematical functions: prices of options after Black and Scholes, and softmax of rows.

Everybody evaluates the same formulas in the same loops, in float64 and in float32. "C fast" and
"Numba fast" may reassociate and take functions of lower accuracy (-ffast-math, fastmath=True), and
so may "execspace fast"; the target is about C as it is without.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import execspace as es
from benchmarks.common.c_loops import FAST_MATH, Function
from benchmarks.common.paired import C, Case, Contestant, python_contestant
from benchmarks.host.session import Session

TARGET = 1.05
RATE, VOLATILITY = 0.02, 0.3
DRIFT = RATE + 0.5 * VOLATILITY**2
OURS_FAST, C_FAST = "execspace fast", "C fast"
NUMBA, NUMBA_SERIAL = "Numba", "Numba one thread"
# Abramowitz and Stegun 26.2.17, the polynomial that benchmarks of option pricing use.
P1, P2, P3, P4, P5 = 0.319381530, -0.356563782, 1.781477937, -1.821255978, 1.330274429
COEFFICIENTS = (P1, P2, P3, P4, P5)
SLOPE, DENSITY, ROOT_HALF = 0.2316419, 0.3989422804014327, 0.7071067811865476
OPTIONS, OPTIONS_QUICK = 262144, 65536
ROWS = ((512, 512), (16384, 16))
ROWS_QUICK = ((256, 256), (4096, 16))

Array = np.ndarray[Any, Any]


@es.function
def normal_polynomial(d):
    """Cumulative normal distribution, to seven digits."""
    k = 1.0 / (1.0 + SLOPE * abs(d))
    tail = k * (P1 + k * (P2 + k * (P3 + k * (P4 + k * P5))))
    tail = DENSITY * math.exp(-0.5 * d * d) * tail
    return 1.0 - tail if d > 0.0 else tail


@es.function
def normal_erf(d):
    """Cumulative normal distribution, by the error function."""
    return 0.5 + 0.5 * math.erf(ROOT_HALF * d)


def black_scholes(i, normal, call, put, spot, strike, years):
    root = VOLATILITY * math.sqrt(years[i])
    first = (math.log(spot[i] / strike[i]) + DRIFT * years[i]) / root
    second = first - root
    paid = strike[i] * math.exp(-RATE * years[i])
    n1 = normal(first)
    n2 = normal(second)
    call[i] = spot[i] * n1 - paid * n2
    put[i] = paid * (1.0 - n2) - spot[i] * (1.0 - n1)


def softmax(i, y, x):
    top = x[i, 0]
    for j in range(1, x.extent(1)):
        top = max(top, x[i, j])
    for j in range(x.extent(1)):
        y[i, j] = math.exp(x[i, j] - top)
    total = y[i, 0]
    for j in range(1, x.extent(1)):
        total += y[i, j]
    scale = 1.0 / total
    for j in range(x.extent(1)):
        y[i, j] *= scale


@dataclass(frozen=True)
class Real:
    """A type of elements, and how C spells it and its functions."""

    dtype: Any
    c: str
    suffix: str

    def number(self, value: float) -> str:
        """A literal of C."""
        return f"{value!r}{self.suffix}"


REALS = (Real(np.float64, "double", ""), Real(np.float32, "float", "f"))
NORMALS = {"polynomial": normal_polynomial, "erf": normal_erf}


def function_cases(session: Session) -> Iterator[Callable[[], Case]]:
    """Makers of all cases."""
    for normal in NORMALS:
        for real in REALS:
            yield partial(_black_scholes, session, normal, real)
    for shape in ROWS_QUICK if session.quick else ROWS:
        for real in REALS:
            yield partial(_softmax, session, shape, real)


def _black_scholes(session: Session, normal: str, real: Real) -> Case:
    n = OPTIONS_QUICK if session.quick else OPTIONS
    views = session.views(5, (n,), dtype=real.dtype)
    call, put, spot, strike, years = arrays = [np.asarray(v) for v in views]
    for array, low, high in ((spot, 5.0, 30.0), (strike, 5.0, 30.0), (years, 0.25, 10.0)):
        array[...] = low + (high - low) * array
    policy = es.RangePolicy(n, space=session.space)
    contestants = _ours(session, black_scholes, policy, NORMALS[normal], *views)
    text = Function(
        "black_scholes", ("call", "put", "spot", "strike", "years"), ("n",),
        _c_black_scholes(normal, real), real.c, written=2,
    )  # fmt: skip
    contestants += _c(session, text, arrays, (n,))
    contestants += _numba(numba_black_scholes(normal, real), arrays)
    expected = np.empty((2, n))
    numpy_black_scholes(normal, *expected, *(a.astype(np.float64) for a in arrays[2:]))
    if normal == "polynomial":
        numpy_run = partial(numpy_black_scholes, normal, *arrays)
        contestants.append(python_contestant("NumPy", numpy_run))
    name = f"Black-Scholes {normal} {np.dtype(real.dtype).name}"
    check = _check((call, put), expected, 64 * np.finfo(real.dtype).eps, 30.0)
    return Case("functions", name, contestants, check, True, TARGET)


def _softmax(session: Session, shape: tuple[int, int], real: Real) -> Case:
    views = session.views(2, shape, dtype=real.dtype)
    y, x = arrays = [np.asarray(v) for v in views]
    x[...] = 20.0 * x - 10.0
    policy = es.RangePolicy(shape[0], space=session.space)
    contestants = _ours(session, softmax, policy, *views)
    text = Function("softmax", ("y", "x"), ("n", "m"), _c_softmax(real), real.c)
    contestants += _c(session, text, arrays, shape)
    contestants += _numba(numba_softmax(real), arrays)
    contestants.append(python_contestant("NumPy", partial(numpy_softmax, y, x)))
    expected = np.empty(shape)
    numpy_softmax(expected, x.astype(np.float64))
    name = f"softmax {shape[0]}x{shape[1]} {np.dtype(real.dtype).name}"
    check = _check((y,), (expected,), 64 * np.finfo(real.dtype).eps, 0.0)
    return Case("functions", name, contestants, check, True, TARGET)


def _ours(session: Session, kernel: Callable[..., None], *args: Any) -> list[Contestant]:
    """execspace, as it is and with fastmath."""
    plain = partial(es.parallel_for, args[0], es.kernel(kernel), *args[1:])
    fast = partial(es.parallel_for, args[0], es.kernel(kernel, fastmath=True), *args[1:])
    named = session.ours(fast)
    return [session.ours(plain), Contestant(OURS_FAST, named.run, named.measure)]


def _check(
    results: Sequence[Array], expected: Sequence[Array], rtol: float, scale: float
) -> Callable[[Contestant], None]:
    """A check of several arrays, with an error relative to the numbers that are subtracted."""

    def check(contestant: Contestant) -> None:
        for result in results:
            result[...] = np.nan
        contestant.run()
        for result, right in zip(results, expected, strict=True):
            np.testing.assert_allclose(
                result, right, rtol=rtol, atol=rtol * scale, err_msg=contestant.name
            )

    return check


def _c(
    session: Session, function: Function, arrays: Sequence[Array], integers: Sequence[int]
) -> list[Contestant]:
    if session.compiler is None:
        return []
    return [
        session.compiler.contestant(
            session.compiler.build([function], flags), function, arrays, 0.0, integers, name=name
        )
        for name, flags in ((C, ()), (C_FAST, FAST_MATH))
    ]


def _c_black_scholes(normal: str, real: Real) -> str:
    number, f = real.number, real.suffix
    half, one = number(0.5), number(1.0)
    drift = number(DRIFT)

    def distribution(at: str, to: str) -> str:
        if normal == "erf":
            return f"{real.c} {to} = {half} + {half} * erf{f}({number(ROOT_HALF)} * {at});"
        nested = number(COEFFICIENTS[-1])
        for c in COEFFICIENTS[-2::-1]:
            nested = f"({number(c)} + k * {nested})"
        return (
            f"{real.c} {to}; {{ {real.c} k = {one} / ({one} + {number(SLOPE)} * fabs{f}({at}));"
            f" {real.c} tail = {number(DENSITY)} * exp{f}(-{half} * {at} * {at}) * (k * {nested});"
            f" {to} = {at} > 0 ? {one} - tail : tail; }}"
        )

    return f"""\
#pragma omp parallel for
for (long i = 0; i < n; ++i) {{
    {real.c} root = {number(VOLATILITY)} * sqrt{f}(years[i]);
    {real.c} first = (log{f}(spot[i] / strike[i]) + {drift} * years[i]) / root;
    {real.c} second = first - root;
    {real.c} paid = strike[i] * exp{f}(-{number(RATE)} * years[i]);
    {distribution("first", "n1")}
    {distribution("second", "n2")}
    call[i] = spot[i] * n1 - paid * n2;
    put[i] = paid * ({one} - n2) - spot[i] * ({one} - n1);
}}
"""


def _c_softmax(real: Real) -> str:
    return f"""\
#pragma omp parallel for
for (long i = 0; i < n; ++i) {{
    {real.c} top = x[i * m], total = 0;
    for (long j = 1; j < m; ++j) top = x[i * m + j] > top ? x[i * m + j] : top;
    for (long j = 0; j < m; ++j) y[i * m + j] = exp{real.suffix}(x[i * m + j] - top);
    for (long j = 0; j < m; ++j) total += y[i * m + j];
    {real.c} scale = 1 / total;
    for (long j = 0; j < m; ++j) y[i * m + j] *= scale;
}}
"""


def _numba(loops: Callable[..., Any], arrays: Sequence[Array]) -> list[Contestant]:
    import numba

    options = {
        NUMBA: {"parallel": True},
        f"{NUMBA} fast": {"parallel": True, "fastmath": True},
        NUMBA_SERIAL: {},
        f"{NUMBA_SERIAL} fast": {"fastmath": True},
    }
    return [
        python_contestant(name, partial(numba.njit(**chosen)(loops), *arrays))
        for name, chosen in options.items()
    ]


def numba_black_scholes(normal: str, real: Real) -> Callable[..., Any]:
    """The loop for Numba, whose literals have the type of the elements."""
    import numba

    rate, volatility, drift = (real.dtype(v) for v in (RATE, VOLATILITY, DRIFT))
    a, b, c, d, e = (real.dtype(v) for v in COEFFICIENTS)
    slope, density, root_half = (real.dtype(v) for v in (SLOPE, DENSITY, ROOT_HALF))
    one, half = real.dtype(1.0), real.dtype(0.5)

    @numba.njit(inline="always")
    def by_polynomial(at: Any) -> Any:
        k = one / (one + slope * abs(at))
        tail = k * (a + k * (b + k * (c + k * (d + k * e))))
        tail = density * math.exp(-half * at * at) * tail
        return one - tail if at > 0 else tail

    @numba.njit(inline="always")
    def by_erf(at: Any) -> Any:
        return half + half * math.erf(root_half * at)

    distribution = by_erf if normal == "erf" else by_polynomial

    def loops(call: Array, put: Array, spot: Array, strike: Array, years: Array) -> None:
        for i in numba.prange(call.shape[0]):
            root = volatility * math.sqrt(years[i])
            first = (math.log(spot[i] / strike[i]) + drift * years[i]) / root
            paid = strike[i] * math.exp(-rate * years[i])
            n1 = distribution(first)
            n2 = distribution(first - root)
            call[i] = spot[i] * n1 - paid * n2
            put[i] = paid * (one - n2) - spot[i] * (one - n1)

    return loops


def numba_softmax(real: Real) -> Callable[..., Any]:
    """The loops for Numba."""
    import numba

    one = real.dtype(1.0)

    def loops(y: Array, x: Array) -> None:
        for i in numba.prange(x.shape[0]):
            top = x[i, 0]
            for j in range(1, x.shape[1]):
                top = max(top, x[i, j])
            for j in range(x.shape[1]):
                y[i, j] = math.exp(x[i, j] - top)
            total = y[i, 0]
            for j in range(1, x.shape[1]):
                total += y[i, j]
            scale = one / total
            for j in range(x.shape[1]):
                y[i, j] *= scale

    return loops


def numpy_black_scholes(
    normal: str, call: Array, put: Array, spot: Array, strike: Array, years: Array
) -> None:
    """The formulas as array expressions; the error function is math.erf, one call an element."""
    root = VOLATILITY * np.sqrt(years)
    first = (np.log(spot / strike) + DRIFT * years) / root
    paid = strike * np.exp(-RATE * years)
    n1, n2 = (_numpy_normal(normal, d) for d in (first, first - root))
    np.subtract(spot * n1, paid * n2, out=call)
    np.subtract(paid * (1.0 - n2), spot * (1.0 - n1), out=put)


def _numpy_normal(normal: str, d: Array) -> Array:
    if normal == "erf":
        return 0.5 + 0.5 * np.vectorize(math.erf, otypes=[np.float64])(ROOT_HALF * d)
    k = 1.0 / (1.0 + SLOPE * np.abs(d))
    tail = COEFFICIENTS[-1] * k
    for c in COEFFICIENTS[-2::-1]:
        tail = k * (c + tail)
    tail *= DENSITY * np.exp(-0.5 * d * d)
    return np.where(d > 0.0, 1.0 - tail, tail)


def numpy_softmax(y: Array, x: Array) -> None:
    """Softmax of the rows."""
    np.subtract(x, x.max(axis=1, keepdims=True), out=y)
    np.exp(y, out=y)
    y /= y.sum(axis=1, keepdims=True)

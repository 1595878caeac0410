"""Reductions beyond one number: a minimum with its place, four moments, and accurate sums."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numba
import numpy as np
from numba import prange

import execspace as es
from benchmarks.common.paired import OURS, Case, Contestant, python_contestant, value_check
from benchmarks.host.reduction import TARGET, c_reduction, element, length
from benchmarks.host.session import Session


@es.kernel
def located(i, x):
    return x[i], i


@es.kernel
def powers(i, x):
    v = x[i]
    return 1.0, v, v * v, v * v * v


@es.kernel
def moments(i, s, x):
    power = 1.0
    for k in range(4):
        s[k] += power
        power *= x[i]


def reducer_cases(session: Session) -> Iterator[Callable[[], Case]]:
    """Makers of all cases."""
    for in_cache in (True, False):
        yield partial(_minloc, session, in_cache)
        for array in (True, False):
            yield partial(_moments, session, in_cache, array)
        yield partial(_accurate, session, in_cache)


def _case(name: str, in_cache: bool, contestants: list[Contestant | None], expected: float) -> Case:
    took_part = [c for c in contestants if c is not None]
    where = "cache" if in_cache else "DRAM"
    check = value_check(expected)
    return Case("reduction", f"{name} {where}", took_part, check, in_cache, TARGET)


MINLOC = """\
    struct place { double value; long at; };
    #pragma omp declare reduction(least : struct place : \\
        omp_out = omp_in.value < omp_out.value || \\
            (omp_in.value == omp_out.value && omp_in.at < omp_out.at) ? omp_in : omp_out) \\
        initializer(omp_priv = (struct place){INFINITY, LONG_MAX})
    struct place best = {INFINITY, LONG_MAX};
    #pragma omp parallel for reduction(least : best)
    for (long i = 0; i < n0; ++i)
        if (x[i] < best.value) best = (struct place){x[i], i};
    result = best.at;
"""
MOMENTS = """\
    double sums[4] = {0.0, 0.0, 0.0, 0.0};
    #pragma omp parallel for reduction(+ : sums[:4])
    for (long i = 0; i < n0; ++i) {
        double power = 1.0;
        for (int k = 0; k < 4; ++k) { sums[k] += power; power *= x[i]; }
    }
    result = sums[0] + sums[1] + sums[2] + sums[3];
"""
NEUMAIER = """\
    double rest = 0.0;
    #pragma omp parallel reduction(+ : rest)
    {
        double sum = 0.0, error = 0.0;
        #pragma omp for
        for (long i = 0; i < n0; ++i) {
            const double t = sum + x[i];
            error += fabs(sum) >= fabs(x[i]) ? (sum - t) + x[i] : (x[i] - t) + sum;
            sum = t;
        }
        #pragma omp critical
        {
            const double t = result + sum;
            error += fabs(result) >= fabs(sum) ? (result - t) + sum : (sum - t) + result;
            result = t;
        }
        rest += error;
    }
    result += rest;
"""


@numba.njit(parallel=True)
def _numba_minloc(x: Any, parts: int) -> int:
    places = np.zeros((parts, 8), np.int64)
    for part in prange(parts):
        first = x.size * part // parts
        best, at = x[first], first
        for i in range(first + 1, x.size * (part + 1) // parts):
            if x[i] < best:
                best, at = x[i], i
        places[part, 0] = at
    found = places[0, 0]
    for part in range(1, parts):
        if x[places[part, 0]] < x[found]:
            found = places[part, 0]
    return found


@numba.njit(parallel=True)
def _numba_moments(x: Any) -> float:
    m0 = m1 = m2 = m3 = 0.0
    for i in prange(x.size):
        v = x[i]
        m0 += 1.0
        m1 += v
        m2 += v * v
        m3 += v * v * v
    return m0 + m1 + m2 + m3


def _minloc(session: Session, in_cache: bool) -> Case:
    (view,) = session.views(1, (length(session, in_cache),))
    x = np.asarray(view)
    policy = es.RangePolicy(0, x.size, space=session.space)
    launch = partial(es.parallel_reduce, policy, located, view, reducer=es.MinLoc)
    parts = numba.get_num_threads()
    contestants = [
        python_contestant(OURS, lambda: launch().loc),
        c_reduction(session, MINLOC, [x], "declare reduction"),
        python_contestant("Numba", partial(_numba_minloc, x, parts)),
        python_contestant("NumPy", x.argmin),
    ]
    return _case("MinLoc", in_cache, contestants, float(x.argmin()))


def _moments(session: Session, in_cache: bool, array: bool) -> Case:
    (view,) = session.views(1, (length(session, in_cache),))
    x = np.asarray(view)
    policy = es.RangePolicy(0, x.size, space=session.space)
    if array:
        launch = partial(es.parallel_reduce, policy, moments, view, reducer=es.Sum(shape=4))
    else:
        launch = partial(es.parallel_reduce, policy, powers, view, reducer=(es.Sum,) * 4)
    contestants = [
        python_contestant(OURS, lambda: sum(launch())),
        c_reduction(session, MOMENTS, [x], "reduction(+ : sums[:4])"),
        python_contestant("Numba", partial(_numba_moments, x)),
    ]
    name = "4 moments, array" if array else "4 moments, 4 reducers"
    return _case(name, in_cache, contestants, float(sum((x**k).sum() for k in range(4))))


def _accurate(session: Session, in_cache: bool) -> Case:
    """The detail of each contestant is its error; that of `math.fsum` is zero."""
    (view,) = session.views(1, (length(session, in_cache),))
    x = np.asarray(view)
    policy = es.RangePolicy(0, x.size, space=session.space)
    high = es.Sum(accuracy="high")
    exact = math.fsum(x)

    def detail(value: float) -> str:
        return f"error {abs(value - exact):.1e}"

    def contestant(name: str, call: Callable[[], Any]) -> Contestant:
        return python_contestant(name, call, detail(call()))

    ours = partial(es.parallel_reduce, policy, element, view)
    contestants: list[Contestant | None] = [contestant(OURS, partial(ours, reducer=high))]
    c = c_reduction(session, NEUMAIER, [x], "")
    if c is not None:
        contestants.append(Contestant(c.name, c.run, c.measure, f"Neumaier, {detail(c.run())}"))
    contestants.append(contestant("NumPy", x.sum))
    contestants.append(contestant("normal Sum", ours))
    if in_cache:
        contestants.append(contestant("math.fsum", partial(math.fsum, x)))
    return _case("accurate sum", in_cache, contestants, exact)

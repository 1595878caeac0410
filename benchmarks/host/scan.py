"""Scans: exclusive and inclusive prefix sums of a vector.

C is the fastest of three: two passes over one share a thread, the same with a first pass that may
be vectorised, and `#pragma omp scan`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numba
import numpy as np
from numba import prange

import execspace as es
from benchmarks.common.c_loops import Function
from benchmarks.common.paired import Case, Contestant, array_check, fastest, python_contestant
from benchmarks.host.session import Session

TARGET = 1.05
CACHE, DRAM, DRAM_QUICK = 131072, 2**24, 2**22


@es.kernel
def exclusive(i, prefix, final, a, b):
    if final:
        a[i] = prefix
    return b[i]


@es.kernel
def inclusive(i, prefix, final, a, b):
    if final:
        a[i] = prefix + b[i]
    return b[i]


STEPS = {
    "exclusive": ("a[i] = sum;", "sum += b[i];"),
    "inclusive": ("sum += b[i];", "a[i] = sum;"),
}
KERNELS = {"exclusive": exclusive, "inclusive": inclusive}


def scan_cases(session: Session) -> Iterator[Callable[[], Case]]:
    """Makers of all cases."""
    for kind in STEPS:
        for in_cache in (True, False):
            yield partial(_case, session, kind, in_cache)


def _case(session: Session, kind: str, in_cache: bool) -> Case:
    n = CACHE if in_cache else DRAM_QUICK if session.quick else DRAM
    views = session.views(2, (n,))
    a, b = (np.asarray(v) for v in views)
    b[...] = np.floor(b * 1024) / 1024  # their sums are exact, in whatever order
    policy = es.RangePolicy(0, n, space=session.space)
    ours = partial(es.parallel_scan, policy, KERNELS[kind], *views)
    contestants = [session.ours(ours)]
    if session.compiler is not None:
        contestants.append(_c_scan(session, kind, [a, b]))
    contestants.append(_numba_scan(kind, a, b))
    expected = np.cumsum(b)
    if kind == "exclusive":
        expected -= b
    contestants.append(python_contestant("NumPy", partial(_numpy_scan, kind, a, b)))
    name = f"{kind} {'cache' if in_cache else 'DRAM'}"
    return Case("scan", name, contestants, array_check(a, expected), in_cache, TARGET)


# -- C --------------------------------------------------------------------------------------------

TWO_PASSES = """\
    double totals[64 * 8];
    #pragma omp parallel
    {
        const long part = omp_get_thread_num(), parts = omp_get_num_threads();
        const long first = n0 * part / parts, last = n0 * (part + 1) / parts;
        double sum = 0.0;
        %(simd)s
        for (long i = first; i < last; ++i) sum += b[i];
        totals[8 * part] = sum;
        #pragma omp barrier
        sum = 0.0;
        for (long p = 0; p < part; ++p) sum += totals[8 * p];
        for (long i = first; i < last; ++i) {
            %(before)s
            %(after)s
        }
    }
"""
OMP_SCAN = """\
    double sum = 0.0;
    #pragma omp parallel for reduction(inscan, + : sum)
    for (long i = 0; i < n0; ++i) {
        %(before)s
        #pragma omp scan %(kind)s(sum)
        %(after)s
    }
"""
VARIANTS = {
    "two passes": (TWO_PASSES, ""),
    "two passes, simd": (TWO_PASSES, "#pragma omp simd reduction(+ : sum)"),
    "omp scan": (OMP_SCAN, ""),
}


def _c_scan(session: Session, kind: str, arrays: list[np.ndarray]) -> Contestant:
    assert session.compiler is not None
    before, after = STEPS[kind]
    functions = []
    for n, (text, simd) in enumerate(VARIANTS.values()):
        body = text % {"simd": simd, "kind": kind, "before": before, "after": after}
        functions.append(Function(f"scan_{n}", ("a", "b"), ("n0",), body))
    library = session.compiler.build(functions)
    return fastest(
        [
            session.compiler.contestant(library, f, arrays, 0.0, arrays[0].shape, name)
            for f, name in zip(functions, VARIANTS, strict=True)
        ]
    )


# -- Numba and NumPy ------------------------------------------------------------------------------


@numba.njit(parallel=True)
def _two_passes(a: Any, b: Any, parts: int, exclusive: bool) -> None:
    n = b.size
    totals = np.zeros((parts + 1, 8))
    for part in prange(parts):
        total = 0.0
        for i in range(n * part // parts, n * (part + 1) // parts):
            total += b[i]
        totals[part + 1, 0] = total
    for part in range(parts):
        totals[part + 1, 0] += totals[part, 0]
    for part in prange(parts):
        total = totals[part, 0]
        for i in range(n * part // parts, n * (part + 1) // parts):
            if exclusive:
                a[i] = total
            total += b[i]
            if not exclusive:
                a[i] = total


@numba.njit
def _one_pass(a: Any, b: Any, exclusive: bool) -> None:
    total = 0.0
    for i in range(b.size):
        if exclusive:
            a[i] = total
        total += b[i]
        if not exclusive:
            a[i] = total


def _numba_scan(kind: str, a: np.ndarray, b: np.ndarray) -> Contestant:
    first, threads = kind == "exclusive", numba.get_num_threads()
    candidates = [
        python_contestant("Numba", partial(_two_passes, a, b, threads, first), "two passes"),
        python_contestant("Numba", partial(_one_pass, a, b, first), "one thread"),
    ]
    for candidate in candidates:
        candidate.run()  # compiles
    return fastest(candidates)


def _numpy_scan(kind: str, a: np.ndarray, b: np.ndarray) -> None:
    if kind == "inclusive":
        np.cumsum(b, out=a)
    else:
        a[0] = 0.0
        np.cumsum(b[:-1], out=a[1:])

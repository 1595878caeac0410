"""Schedules: the dynamic one against the static one, where the work is uneven and where it is not.

Half of a picture of the Mandelbrot set, by rows and by points: nearly all of the work is in its
first rows, so that equal parts of the range are unequal work. C has OpenMP's dynamic schedule, and
is the faster of two sizes of chunks. What handing out costs shows a triad, whose work is even.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numba
import numpy as np
from numba import prange

import execspace as es
from benchmarks.common.c_loops import Function, nest
from benchmarks.common.paired import Case, Contestant, array_check, fastest, python_contestant
from benchmarks.host.session import Session

TARGET = 1.05
STATIC = "execspace static"
LIMIT = 200
SIZE, SIZE_QUICK = (512, 512), (192, 256)
S, CACHE = 1.5, 262144
CHUNKS = (None, 1, 16)  # rows

# Contraction would change when points near the set escape, so that results could not be compared.
UNCONTRACTED = ("-ffp-contract=off",)


@es.kernel(fma=False)
def row(i, limit, steps):
    for j in range(steps.extent(1)):
        x, y = -2.0 + 2.5 * j / steps.extent(1), 1.25 * i / steps.extent(0)
        re, im = x, y
        n = 0
        while n < limit and re * re + im * im <= 4.0:
            re, im = re * re - im * im + x, 2.0 * re * im + y
            n += 1
        steps[i, j] = n


@es.kernel(fma=False)
def point(p, limit, steps):
    i, j = p // steps.extent(1), p % steps.extent(1)
    x, y = -2.0 + 2.5 * j / steps.extent(1), 1.25 * i / steps.extent(0)
    re, im = x, y
    n = 0
    while n < limit and re * re + im * im <= 4.0:
        re, im = re * re - im * im + x, 2.0 * re * im + y
        n += 1
    steps[i, j] = n


@es.kernel
def triad(i, s, a, b, c):
    a[i] = b[i] + s * c[i]


C_TRIAD = "a[i0] = b[i0] + s * c[i0];"
C_ROW = """\
for (long j = 0; j < n1; ++j) {
    const double x = -2.0 + 2.5 * j / n1, y = 1.25 * i0 / n0;
    double re = x, im = y;
    long n = 0;
    while (n < limit && re * re + im * im <= 4.0) {
        const double next = re * re - im * im + x;
        im = 2.0 * re * im + y;
        re = next;
        ++n;
    }
    steps[i0 * n1 + j] = n;
}
"""


def numpy_steps(shape: tuple[int, int]) -> np.ndarray[Any, Any]:
    """All points at a time; those that have escaped are left out of further steps."""
    y, x = np.meshgrid(
        1.25 * np.arange(shape[0]) / shape[0], -2.0 + 2.5 * np.arange(shape[1]) / shape[1],
        indexing="ij",
    )  # fmt: skip
    x, y = x.ravel(), y.ravel()
    steps, at, re, im = np.full(x.size, float(LIMIT)), np.arange(x.size), x, y
    for n in range(LIMIT):
        inside = re * re + im * im <= 4.0
        steps[at[~inside]] = n
        at, re, im = at[inside], re[inside], im[inside]
        re, im = re * re - im * im + x[at], 2.0 * re * im + y[at]
    return steps.reshape(shape)


@numba.njit(parallel=True)
def numba_rows(limit, steps):
    for i in prange(steps.shape[0]):
        for j in range(steps.shape[1]):
            x, y = -2.0 + 2.5 * j / steps.shape[1], 1.25 * i / steps.shape[0]
            re, im = x, y
            n = 0
            while n < limit and re * re + im * im <= 4.0:
                re, im = re * re - im * im + x, 2.0 * re * im + y
                n += 1
            steps[i, j] = n


def schedule_cases(session: Session) -> Iterator[Callable[[], Case]]:
    """Makers of all cases."""
    for chunk in CHUNKS:
        yield partial(_rows, session, chunk)
    yield partial(_points, session)
    yield partial(_even, session)


def _launches(
    session: Session, indices: int, chunk: int | None, kernel: es.Kernel, *args: Any
) -> list[Contestant]:
    """execspace with the dynamic schedule, and with the static one."""
    options = {"space": session.space}
    dynamic = es.RangePolicy(indices, schedule="dynamic", chunk_size=chunk, **options)
    static = es.RangePolicy(indices, **options)
    ours = session.ours(partial(es.parallel_for, dynamic, kernel, *args))
    call = partial(es.parallel_for, static, kernel, *args)
    return [ours, python_contestant(STATIC, call, fence=es.space(session.space).fence)]


def _picture(session: Session) -> es.View:
    (steps,) = session.views(1, SIZE_QUICK if session.quick else SIZE)
    return steps


def _c_rows(session: Session, steps: np.ndarray[Any, Any]) -> list[Contestant]:
    if session.compiler is None:
        return []
    candidates = []
    for chunk in (1, 16):
        pragma = f"schedule(dynamic, {chunk})"
        body = nest((0,), C_ROW, pragma)
        function = Function("rows", ("steps",), ("n0", "n1", "limit"), body)
        library = session.compiler.build([function], UNCONTRACTED)
        integers = (*steps.shape, LIMIT)
        candidates.append(
            session.compiler.contestant(library, function, [steps], 0.0, integers, pragma)
        )
    return [fastest(candidates)]


def _rows(session: Session, chunk: int | None) -> Case:
    view = _picture(session)
    steps = np.asarray(view)
    contestants = [
        *_launches(session, view.extent(0), chunk, row, LIMIT, view),
        *_c_rows(session, steps),
        python_contestant("Numba", partial(numba_rows, LIMIT, steps)),
    ]
    name = "rows" if chunk is None else f"rows, chunks of {chunk}"
    check = array_check(steps, numpy_steps(view.shape))
    return Case("schedule", name, contestants, check, False, TARGET)


def _points(session: Session) -> Case:
    view = _picture(session)
    steps = np.asarray(view)
    contestants = [
        *_launches(session, view.size, None, point, LIMIT, view),
        *_c_rows(session, steps),
    ]
    check = array_check(steps, numpy_steps(view.shape))
    return Case("schedule", "points", contestants, check, False, TARGET)


def _even(session: Session) -> Case:
    views = session.views(3, (CACHE,))
    a, b, c = (np.asarray(v) for v in views)
    contestants = _launches(session, CACHE, None, triad, S, *views)
    if session.compiler is not None:
        function = Function("triad", ("a", "b", "c"), ("n0",), nest((0,), C_TRIAD, ""))
        library = session.compiler.build([function])
        contestants.append(
            session.compiler.contestant(library, function, [a, b, c], S, (CACHE,), "static")
        )
    return Case("schedule", "triad", contestants, array_check(a, b + S * c), True)

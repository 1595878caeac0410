"""Reductions: dot product and maximum of vectors, and the sum of a 3-D array.

The further ones, with locations, several values and compensation, are in reducers.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import execspace as es
from benchmarks.common.c_loops import Function, contiguous_index, loop_order, nest
from benchmarks.common.paired import OURS, Case, Contestant, python_contestant, value_check
from benchmarks.host.numba_loops import prange_function
from benchmarks.host.session import Session

TARGET = 1.05
DOT_IN_CACHE, MAX_IN_CACHE = 0.5, 0.33  # C may not reassociate, so its loops are not vectorised


@es.kernel
def product(i, x, y):
    return x[i] * y[i]


@es.kernel
def element(i, x):
    return x[i]


@es.kernel
def element3(i, j, k, x):
    return x[i, j, k]


CACHE, DRAM, DRAM_QUICK = 131072, 2**24, 2**22
CACHE3, DRAM3, DRAM3_QUICK = (51,) * 3, (256,) * 3, (161,) * 3


def reduction_cases(session: Session) -> Iterator[Callable[[], Case]]:
    """Makers of all cases."""
    for in_cache in (True, False):
        yield partial(_dot, session, in_cache)
        yield partial(_max, session, in_cache)
        for layout in ("right", "left"):
            yield partial(_sum3, session, layout, in_cache)


def _case(
    name: str,
    in_cache: bool,
    ours: Callable[[], Any],
    c: Contestant | None,
    numba: Callable[[], Any],
    numpy: Callable[[], Any],
    target: float = TARGET,
) -> Case:
    contestants = [
        python_contestant(OURS, ours),
        *([] if c is None else [c]),
        python_contestant("Numba", numba),
        python_contestant("NumPy", numpy),
    ]
    where = "cache" if in_cache else "DRAM"
    check = value_check(float(numpy()))
    return Case("reduction", f"{name} {where}", contestants, check, in_cache, target)


def length(session: Session, in_cache: bool) -> int:
    return CACHE if in_cache else DRAM_QUICK if session.quick else DRAM


def c_reduction(
    session: Session, body: str, arrays: list[np.ndarray], detail: str
) -> Contestant | None:
    if session.compiler is None:
        return None
    extents = tuple(f"n{d}" for d in range(arrays[0].ndim))
    function = Function("reduction", ("x", "y")[: len(arrays)], extents, body)
    library = session.compiler.build([function])
    return session.compiler.contestant(library, function, arrays, 0.0, arrays[0].shape, detail)


def _dot(session: Session, in_cache: bool) -> Case:
    n = length(session, in_cache)
    views = session.views(2, (n,))
    x, y = arrays = [np.asarray(v) for v in views]
    policy = es.RangePolicy(0, n, space=session.space)
    pragma = "reduction(+:result)"
    c = c_reduction(session, nest((0,), "result += x[i0] * y[i0];", pragma), arrays, pragma)
    loops = prange_function(
        "x, y", (0,), "r += x[i0] * y[i0]", shape_of="x", before="r = 0.0", result="r"
    )
    ours = partial(es.parallel_reduce, policy, product, *views)
    target = DOT_IN_CACHE if in_cache else TARGET
    return _case("dot", in_cache, ours, c, partial(loops, x, y), partial(np.dot, x, y), target)


def _max(session: Session, in_cache: bool) -> Case:
    n = length(session, in_cache)
    (view,) = session.views(1, (n,))
    x = np.asarray(view)
    policy = es.RangePolicy(0, n, space=session.space)
    pragma = "reduction(max:result)"
    body = "result = -INFINITY;\n" + nest((0,), "result = x[i0] > result ? x[i0] : result;", pragma)
    c = c_reduction(session, body, [x], pragma)
    loops = prange_function(
        "x", (0,), "r = max(r, x[i0])", shape_of="x", before="r = -1e300", result="r"
    )
    ours = partial(es.parallel_reduce, policy, element, view, reducer=es.Max)
    target = MAX_IN_CACHE if in_cache else TARGET
    return _case("max", in_cache, ours, c, partial(loops, x), x.max, target)


def _sum3(session: Session, layout: str, in_cache: bool) -> Case:
    shape = CACHE3 if in_cache else DRAM3_QUICK if session.quick else DRAM3
    (view,) = session.views(1, shape, layout)
    x = np.asarray(view)
    policy = es.MDRangePolicy((0, 0, 0), shape, space=session.space)
    order = loop_order(3, layout)
    pragma = "collapse(2) reduction(+:result)"
    at = contiguous_index(3, layout)
    c = c_reduction(session, nest(order, f"result += x[{at}];", pragma), [x], pragma)
    loops = prange_function(
        "x", order, "r += x[i0, i1, i2]", shape_of="x", before="r = 0.0", result="r"
    )
    ours = partial(es.parallel_reduce, policy, element3, view)
    return _case(f"sum 3-D {layout}", in_cache, ours, c, partial(loops, x), x.sum)

"""Triads over A[1:-1, 1:-1] and the like: subviews that keep a dimension of stride one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

import execspace as es
from benchmarks.common.c_loops import Function, collapses, loop_order, nest, strided_index
from benchmarks.common.paired import Case, Contestant, array_check, fastest, python_contestant
from benchmarks.host.numba_loops import prange_function
from benchmarks.host.session import Session
from benchmarks.host.triad import KERNELS, S, numpy_triad

TARGET = 1.15
CACHE = {2: (364, 364), 3: (53, 53, 53)}
DRAM = {2: (4098, 4098), 3: (258, 258, 258)}
DRAM_QUICK = {2: (2050, 2050), 3: (163, 163, 163)}


def subview_cases(session: Session) -> Iterator[Callable[[], Case]]:
    """Makers of all cases."""
    for rank in (2, 3):
        for layout in ("right", "left"):
            for in_cache in (True, False):
                yield partial(_case, session, rank, layout, in_cache)


def _case(session: Session, rank: int, layout: str, in_cache: bool) -> Case:
    shape = (CACHE if in_cache else DRAM_QUICK if session.quick else DRAM)[rank]
    inner = (slice(1, -1),) * rank
    views = [v[inner] for v in session.views(3, shape, layout)]
    arrays = [np.asarray(v) for v in views]
    a, b, c = arrays
    policy = es.MDRangePolicy((0,) * rank, a.shape, space=session.space)
    ours = partial(es.parallel_for, policy, KERNELS[rank - 1], S, *views)
    contestants = [session.ours(ours)]
    if session.compiler is not None:
        contestants.append(_c_triad(session, layout, views, arrays))
    at = ", ".join(f"i{d}" for d in range(rank))
    loops = prange_function(
        "s, a, b, c",
        loop_order(rank, layout),
        f"a[{at}] = b[{at}] + s * c[{at}]",
        shape_of="a",
    )
    contestants.append(python_contestant("Numba", partial(loops, S, a, b, c)))
    contestants.append(python_contestant("NumPy", partial(numpy_triad, a, b, c)))
    where = "cache" if in_cache else "DRAM"
    name = f"rank {rank} {layout} {where}"
    return Case("subview", name, contestants, array_check(a, b + S * c), in_cache, TARGET)


def _c_triad(
    session: Session, layout: str, views: list[es.View], arrays: list[np.ndarray]
) -> Contestant:
    assert session.compiler is not None
    shape = views[0].shape
    rank = len(shape)
    dims = range(rank)
    names = [f"n{d}" for d in dims] + [f"{array}_s{d}" for array in "abc" for d in dims]
    integers = [*shape, *(s for v in views for s in v.strides)]
    at = {array: strided_index(array, rank, layout) for array in "abc"}
    statement = f"a[{at['a']}] = b[{at['b']}] + s * c[{at['c']}];"
    variants = collapses(rank)
    functions = [
        Function(
            f"triad_{n}",
            ("a", "b", "c"),
            tuple(names),
            nest(loop_order(rank, layout), statement, pragma),
        )
        for n, pragma in enumerate(variants)
    ]
    library = session.compiler.build(functions)
    return fastest(
        [
            session.compiler.contestant(library, f, arrays, S, integers, pragma)
            for f, pragma in zip(functions, variants, strict=True)
        ]
    )

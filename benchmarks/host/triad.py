"""The triad a = b + s * c at ranks 1 to 6: what a loop nest costs beyond its memory traffic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

import execspace as es
from benchmarks.common.c_loops import Function, collapses, contiguous_index, loop_order, nest
from benchmarks.common.paired import Case, Contestant, array_check, fastest, python_contestant
from benchmarks.host.numba_loops import prange_function
from benchmarks.host.session import Session

S = 1.5
TARGET = 1.05


@es.kernel
def triad1(i, s, a, b, c):
    a[i] = b[i] + s * c[i]


@es.kernel
def triad2(i, j, s, a, b, c):
    a[i, j] = b[i, j] + s * c[i, j]


@es.kernel
def triad3(i, j, k, s, a, b, c):
    a[i, j, k] = b[i, j, k] + s * c[i, j, k]


@es.kernel
def triad4(i, j, k, m, s, a, b, c):
    a[i, j, k, m] = b[i, j, k, m] + s * c[i, j, k, m]


@es.kernel
def triad5(i, j, k, m, n, s, a, b, c):
    a[i, j, k, m, n] = b[i, j, k, m, n] + s * c[i, j, k, m, n]


@es.kernel
def triad6(i, j, k, m, n, p, s, a, b, c):
    a[i, j, k, m, n, p] = b[i, j, k, m, n, p] + s * c[i, j, k, m, n, p]


KERNELS = (triad1, triad2, triad3, triad4, triad5, triad6)

# About 2 MB an array (all three in the last level of most caches), 134 MB, and for quick runs
# 34 MB.
CACHE = ((262144,), (512, 512), (64,) * 3, (22,) * 4, (12,) * 5, (8,) * 6)
DRAM = ((2**24,), (4096, 4096), (256,) * 3, (64,) * 4, (28,) * 5, (16,) * 6)
DRAM_QUICK = ((2**22,), (2048, 2048), (161,) * 3, (45,) * 4, (21,) * 5, (13,) * 6)


def numpy_triad(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    np.multiply(c, S, out=a)
    np.add(a, b, out=a)


def triad_cases(session: Session) -> Iterator[Callable[[], Case]]:
    """Makers of all cases, so that one case's arrays are gone before the next one's come."""
    for rank in range(1, 7):
        for layout in ("right", "left"):
            if rank == 1 and layout == "left":
                continue
            for in_cache in (True, False):
                yield partial(_case, session, rank, layout, in_cache)


def _case(session: Session, rank: int, layout: str, in_cache: bool) -> Case:
    dram = DRAM_QUICK if session.quick else DRAM
    shape = (CACHE if in_cache else dram)[rank - 1]
    views = session.views(3, shape, layout)
    arrays = [np.asarray(v) for v in views]
    a, b, c = arrays
    policy = es.MDRangePolicy((0,) * rank, shape, space=session.space)
    ours = partial(es.parallel_for, policy, KERNELS[rank - 1], S, *views)
    contestants = [session.ours(ours)]
    if session.compiler is not None:
        contestants.append(_c_triad(session, layout, arrays))
    order = loop_order(rank, layout)
    at = ", ".join(f"i{d}" for d in range(rank))
    loops = prange_function("s, a, b, c", order, f"a[{at}] = b[{at}] + s * c[{at}]", shape_of="a")
    contestants.append(python_contestant("Numba", partial(loops, S, a, b, c)))
    contestants.append(python_contestant("NumPy", partial(numpy_triad, a, b, c)))
    where = "cache" if in_cache else "DRAM"
    name = f"rank {rank} {layout} {where}"
    return Case("triad", name, contestants, array_check(a, b + S * c), in_cache, TARGET)


def _c_triad(session: Session, layout: str, arrays: list[np.ndarray]) -> Contestant:
    assert session.compiler is not None
    shape = arrays[0].shape
    rank = len(shape)
    at = contiguous_index(rank, layout)
    extents = tuple(f"n{d}" for d in range(rank))
    variants = collapses(rank)
    functions = [
        Function(
            f"triad_{n}",
            ("a", "b", "c"),
            extents,
            nest(loop_order(rank, layout), f"a[{at}] = b[{at}] + s * c[{at}];", pragma),
        )
        for n, pragma in enumerate(variants)
    ]
    library = session.compiler.build(functions)
    return fastest(
        [
            session.compiler.contestant(library, f, arrays, S, shape, pragma)
            for f, pragma in zip(functions, variants, strict=True)
        ]
    )

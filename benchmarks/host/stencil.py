"""Heat steps: the 5-point stencil in 2-D and the 7-point one in 3-D, in cache and in DRAM."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

import execspace as es
from benchmarks.common.c_loops import Function, collapses, contiguous_index, loop_order, nest
from benchmarks.common.heat import HEAT
from benchmarks.common.paired import Case, Contestant, array_check, fastest, python_contestant
from benchmarks.host.numba_loops import prange_function
from benchmarks.host.session import Session

S = 0.1
TARGET = 1.05
CACHE = {2: (512, 512), 3: (64, 64, 64)}
DRAM = {2: (8192, 4096), 3: (256, 256, 256)}
DRAM_QUICK = {2: (2048, 2048), 3: (160, 160, 160)}


def numpy_heat(a: np.ndarray, b: np.ndarray) -> None:
    """The step as array expressions over shifted slices."""
    rank = b.ndim
    inner = (slice(1, -1),) * rank
    around = None
    for d in range(rank):
        for part in (slice(None, -2), slice(2, None)):
            moved = b[tuple(part if e == d else slice(1, -1) for e in range(rank))]
            around = moved.copy(order="K") if around is None else np.add(around, moved, out=around)
    assert around is not None
    around -= 2.0 * rank * b[inner]
    around *= S
    np.add(b[inner], around, out=a[inner])


def stencil_cases(session: Session) -> Iterator[Callable[[], Case]]:
    """Makers of all cases."""
    for rank in (2, 3):
        for layout in ("right", "left"):
            for in_cache in (True, False):
                yield partial(_case, session, rank, layout, in_cache)


def _shifts(rank: int) -> list[dict[int, int]]:
    return [{d: by} for d in range(rank) for by in (-1, 1)]


def _case(session: Session, rank: int, layout: str, in_cache: bool) -> Case:
    shape = (CACHE if in_cache else DRAM_QUICK if session.quick else DRAM)[rank]
    views = session.views(2, shape, layout)
    arrays = [np.asarray(v) for v in views]
    a, b = arrays
    policy = es.MDRangePolicy((1,) * rank, [n - 1 for n in shape], space=session.space)
    ours = partial(es.parallel_for, policy, HEAT[rank], S, *views)
    contestants = [session.ours(ours)]
    if session.compiler is not None:
        contestants.append(_c_heat(session, layout, arrays))
    at = [
        ", ".join(f"i{d} {shift[d]:+d}" if d in shift else f"i{d}" for d in range(rank))
        for shift in ({}, *_shifts(rank))
    ]
    around = " + ".join(f"b[{p}]" for p in at[1:])
    loops = prange_function(
        "s, a, b",
        loop_order(rank, layout),
        f"a[{at[0]}] = b[{at[0]}] + s * ({around} - {2.0 * rank} * b[{at[0]}])",
        shape_of="a",
        border=1,
    )
    contestants.append(python_contestant("Numba", partial(loops, S, a, b)))
    contestants.append(python_contestant("NumPy", partial(numpy_heat, a, b)))
    expected = np.empty_like(a)
    numpy_heat(expected, b)
    inner = (slice(1, -1),) * rank
    check = array_check(a[inner], expected[inner])
    size = "x".join(map(str, shape))
    where = "cache" if in_cache else "DRAM"
    name = f"{2 * rank + 1}-point {size} {layout} {where}"
    return Case("stencil", name, contestants, check, in_cache, TARGET)


def _c_heat(session: Session, layout: str, arrays: list[np.ndarray]) -> Contestant:
    assert session.compiler is not None
    shape = arrays[0].shape
    rank = len(shape)
    middle = contiguous_index(rank, layout)
    around = " + ".join(f"b[{contiguous_index(rank, layout, s)}]" for s in _shifts(rank))
    statement = f"a[{middle}] = b[{middle}] + s * ({around} - {2.0 * rank} * b[{middle}]);"
    variants = collapses(rank)
    functions = [
        Function(
            f"heat_{n}",
            ("a", "b"),
            tuple(f"n{d}" for d in range(rank)),
            nest(loop_order(rank, layout), statement, pragma, border=1),
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

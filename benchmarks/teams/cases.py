"""Teams: E3SM's F1, y A x, columns of an atmosphere, and short sorts, on a space of the host.

The kernels are those of examples/teams. C has strict sums, which are what a C compiler may make
of a loop; "C simd" was told that sums may be reordered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

import execspace as es
from benchmarks.common.c_loops import Function
from benchmarks.common.paired import OURS, Case, Contestant, fastest, python_contestant, value_check
from benchmarks.host.session import Session
from benchmarks.teams import loops as team_loops
from benchmarks.teams.kernels import bitonic, column, f1, yax

F1_TARGET, YAX_TARGET = 1 / 8, 1 / 4  # C may not reassociate sums, so it does not vectorise them
TARGET = 1.05
POINTS, REACH, BLOCK = 128000, 256, 1024
FLAT, C_SIMD = "execspace flat", "C simd"

Array = np.ndarray[Any, Any]


def team_cases(session: Session) -> Iterator[Callable[[], Case]]:
    """Makers of all cases."""
    yield partial(_f1, session)
    yield partial(_f1_flat, session)
    yield partial(_f1_without_arrays, session)
    for in_cache in (True, False):
        yield partial(_yax, session, in_cache)
    for in_cache in (True, False):
        yield partial(_column, session, in_cache)
    yield partial(_bitonic, session)


def _view(session: Session, array: Array) -> es.View:
    """A View with the elements of an array."""
    view = es.View(
        array.shape, array.dtype, space=session.space, memory=session.memory, layout="right"
    )
    np.asarray(view)[...] = array
    return view


def _c(
    session: Session,
    functions: Mapping[str, Function],
    arrays: Sequence[Array],
    integers: Sequence[int],
) -> dict[str, Contestant]:
    """C contestants, by the name of the variant; none without a compiler."""
    if session.compiler is None:
        return {}
    library = session.compiler.build(list(functions.values()))
    return {
        name: session.compiler.contestant(library, function, arrays, 0.0, integers, name)
        for name, function in functions.items()
    }


def _best(variants: Mapping[str, Contestant]) -> list[Contestant]:
    """The fastest C, if there is any."""
    return [fastest(list(variants.values()))] if variants else []


def _strict_and_simd(variants: dict[str, Contestant]) -> list[Contestant]:
    """The fastest C with strict sums, then the one that was told to reorder them."""
    simd = variants.pop("simd", None)
    told = [] if simd is None else [Contestant(C_SIMD, simd.run, simd.measure, simd.detail)]
    return [*_best(variants), *told]


def _check(
    outputs: Sequence[Array], expected: Sequence[Array], value: float | None = None
) -> Callable[[Contestant], None]:
    """A check of arrays, within 1e-12 of the greatest element, and of what is returned."""

    def check(contestant: Contestant) -> None:
        for output in outputs:
            output[...] = np.nan if output.dtype.kind == "f" else -1
        found = contestant.run()
        where = f"{contestant.name} {contestant.detail}".strip()
        for output, right in zip(outputs, expected, strict=True):
            apart = 1e-12 * float(abs(right).max())
            np.testing.assert_allclose(output, right, rtol=0, atol=apart, err_msg=where)
        if value is not None:
            np.testing.assert_allclose(found, value, rtol=1e-12, err_msg=where)

    return check


# -- F1 --------------------------------------------------------------------------------------------


def _f1(session: Session) -> Case:
    n, m = POINTS, REACH
    views = _view(session, f1.inputs(n)), _view(session, np.zeros(n))
    a, b = (np.asarray(v) for v in views)
    teams = es.TeamPolicy(-(-n // BLOCK), space=session.space)
    points = es.RangePolicy(0, n, space=session.space)
    c = _c(session, {"flat": team_loops.F1_FLAT, **team_loops.F1_BLOCKED}, [b, a], (n, m, BLOCK))
    flat = session.ours(partial(es.parallel_for, points, f1.flat, *views, n, m))

    def by_numpy() -> None:
        j = np.arange(-m, n + m)
        products = a[j % n] * (1 - abs(j) / m)
        np.sum(np.lib.stride_tricks.sliding_window_view(products, 2 * m + 1), axis=1, out=b)

    contestants = [
        session.ours(partial(es.parallel_for, teams, f1.blocked, *views, n, m, BLOCK)),
        *_strict_and_simd(c),
        Contestant(FLAT, flat.run, flat.measure),
        python_contestant("NumPy", by_numpy),
    ]
    check = _check([b], [f1.expected(n, m)])
    return Case("teams", "F1", contestants, check, True, F1_TARGET)


def _f1_flat(session: Session) -> Case:
    n, m = POINTS, REACH
    views = _view(session, f1.inputs(n)), _view(session, np.zeros(n))
    a, b = (np.asarray(v) for v in views)
    points = es.RangePolicy(0, n, space=session.space)
    ours = session.ours(partial(es.parallel_for, points, f1.flat, *views, n, m))
    c = _c(session, {"flat": team_loops.F1_FLAT}, [b, a], (n, m))
    check = _check([b], [f1.expected(n, m)])
    return Case("teams", "F1 flat", [ours, *_best(c)], check, True)


def _f1_without_arrays(session: Session) -> Case:
    n, m = POINTS, REACH
    teams = es.TeamPolicy(-(-n // BLOCK), space=session.space)
    ours = partial(es.parallel_reduce, teams, f1.without_arrays, n, m, BLOCK)
    c = _c(session, team_loops.F1_WITHOUT_ARRAYS, [np.zeros(1)], (n, m, BLOCK))
    contestants = [python_contestant(OURS, ours), *_strict_and_simd(c)]
    return Case("teams", "F1nd", contestants, value_check(f1.PUBLISHED), True)


# -- y A x -----------------------------------------------------------------------------------------

IN_CACHE, DRAM, DRAM_QUICK = (512, 512), (8192, 4096), (4096, 2048)


def _yax(session: Session, in_cache: bool) -> Case:
    shape = IN_CACHE if in_cache else DRAM_QUICK if session.quick else DRAM
    rows, columns = shape
    i, j = np.ogrid[:rows, :columns]
    matrix = _view(session, ((2 * i + 3 * j) % 7).astype(np.float64))
    vectors = [_view(session, v) for v in yax.vectors(*shape)]
    A, x, y = (np.asarray(v) for v in (matrix, *vectors))
    teams = es.TeamPolicy(rows, space=session.space)
    ours = partial(es.parallel_reduce, teams, yax.with_teams, matrix, *vectors)
    contestants = [
        python_contestant(OURS, ours),
        *_strict_and_simd(_c(session, team_loops.YAX, [y, A, x], shape)),
        python_contestant("NumPy", lambda: y @ (A @ x)),
    ]
    name = f"y A x {'cache' if in_cache else 'DRAM'}"
    target = YAX_TARGET if in_cache else TARGET
    return Case("teams", name, contestants, value_check(yax.expected(*shape)), in_cache, target)


# -- columns ---------------------------------------------------------------------------------------

ELEMENTS_IN_CACHE, ELEMENTS, ELEMENTS_QUICK = 40, 5400, 1200  # 5400 is 1 degree around the Earth
LEVELS = 72


def _column(session: Session, in_cache: bool) -> Case:
    elements = ELEMENTS_IN_CACHE if in_cache else ELEMENTS_QUICK if session.quick else ELEMENTS
    state = column.fields(elements, LEVELS)
    inputs = [_view(session, array) for array in state.inputs]
    outputs = [_view(session, np.zeros(array.shape)) for array in state.outputs]
    teams = es.TeamPolicy(elements, space=session.space)
    ours = partial(es.parallel_reduce, teams, column.columns, *inputs, *outputs)
    functions = team_loops.column(column.R, column.CP, column.G, column.TOP)
    arrays = [np.asarray(v) for v in (*outputs, *inputs)]
    c = _c(session, functions, arrays, (elements, column.POINTS, LEVELS))

    written = arrays[: len(outputs)]
    check = _check(written, state.outputs, state.energy)
    name = f"column {'cache' if in_cache else 'DRAM'}"
    contestants = [python_contestant(OURS, ours), *_best(c)]
    return Case("teams", name, contestants, check, in_cache)


# -- sorts -----------------------------------------------------------------------------------------

LENGTH, ARRAYS, ARRAYS_QUICK = 256, 4096, 1024


def _bitonic(session: Session) -> Case:
    numbers = bitonic.numbers(ARRAYS_QUICK if session.quick else ARRAYS, LENGTH)
    unsorted, output = _view(session, numbers), _view(session, np.zeros_like(numbers))
    rows, expected = np.asarray(output), np.sort(numbers, axis=1)
    teams = es.TeamPolicy(len(numbers), space=session.space)
    ours = partial(es.parallel_for, teams, bitonic.sort_rows, unsorted, output)
    c = _c(session, team_loops.BITONIC, [rows, np.asarray(unsorted)], numbers.shape)

    def by_numpy() -> None:
        rows[...] = numbers
        rows.sort(axis=1)

    contestants = [session.ours(ours), *_best(c), python_contestant("NumPy", by_numpy)]
    return Case("teams", f"bitonic sort of {LENGTH}", contestants, _check([rows], [expected]), True)

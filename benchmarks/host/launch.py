"""Host cost of a warm launch: the whole es.parallel_for with three Views, in microseconds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any

import numba
import numpy as np

import execspace as es
from benchmarks.common.c_loops import Function, nest
from benchmarks.host.session import Session

CALLS = 500
SMALL, FORKED = 64, 4096


@dataclass(frozen=True)
class Measurement:
    """A time that stands for itself, with its target, in one unit."""

    group: str
    name: str
    unit: str
    median: float
    min: float
    samples: int
    target: float | None = None

    @property
    def within_target(self) -> bool | None:
        return None if self.target is None else self.median <= self.target

    def record(self) -> dict[str, Any]:
        """What the JSON file says of it."""
        return {
            "group": self.group,
            "case": self.name,
            "unit": self.unit,
            "median": self.median,
            "min": self.min,
            "samples": self.samples,
            "target": self.target,
            "within_target": self.within_target,
        }


@es.kernel
def add(i, a, b, c):
    a[i] = b[i] + c[i]


def _numba_add(a, b, c):  # type: ignore[no-untyped-def]
    for i in range(a.shape[0]):
        a[i] = b[i] + c[i]


def _numba_parallel_add(a, b, c):  # type: ignore[no-untyped-def]
    for i in numba.prange(a.shape[0]):
        a[i] = b[i] + c[i]


def launch_cost(session: Session) -> Iterator[Measurement]:
    """Time of one call, from batches of calls; contestants take turns."""
    names = [row.name for row in es.spaces() if row.usable and row.name in ("serial", "openmp")]
    calls: dict[str, tuple[Callable[[], Any], float | None]] = {}
    small, large = session.views(3, (SMALL,)), session.views(3, (FORKED,))
    for name in names:
        policy = es.RangePolicy(0, SMALL, space=name)
        target = 2.0 if name == "serial" else 3.0
        calls[f"execspace {name}, {SMALL}"] = partial(es.parallel_for, policy, add, *small), target
    if "openmp" in names:
        policy = es.RangePolicy(0, FORKED, space="openmp")
        text = f"execspace openmp, {FORKED} (forks)"
        calls[text] = partial(es.parallel_for, policy, add, *large), 3.0
    plain, parallel = numba.njit(_numba_add), numba.njit(parallel=True)(_numba_parallel_add)
    for n, views in ((SMALL, small), (FORKED, large)):
        arrays = [np.asarray(v) for v in views]
        calls[f"Numba njit, {n}"] = partial(plain, *arrays), None
        calls[f"Numba prange, {n}"] = partial(parallel, *arrays), None
    arrays = [np.asarray(v) for v in small]
    calls[f"NumPy add, {SMALL}"] = partial(np.add, arrays[1], arrays[2], out=arrays[0]), None
    yield from _alternate(calls, 40 if session.quick else 200)
    if session.compiler is not None:
        yield from _c_fork(session, large)


def _alternate(
    calls: dict[str, tuple[Callable[[], Any], float | None]], turns: int
) -> Iterator[Measurement]:
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call, _ in calls.values():
        call()
    for _ in range(turns):
        for name, (call, _) in calls.items():
            for _ in range(20):
                call()
            started = perf_counter()
            for _ in range(CALLS):
                call()
            times[name].append((perf_counter() - started) / CALLS * 1e6)
    for name, (_, target) in calls.items():
        t = times[name]
        yield Measurement("launch", name, "us", median(t), min(t), len(t), target)


def _c_fork(session: Session, views: list[es.View]) -> Iterator[Measurement]:
    assert session.compiler is not None
    body = nest((0,), "a[i0] = b[i0] + c[i0];", "")
    function = Function("add", ("a", "b", "c"), ("n0",), body)
    library = session.compiler.build([function])
    arrays = [np.asarray(v) for v in views]
    c = session.compiler.contestant(library, function, arrays, 0.0, (FORKED,))
    c.measure(CALLS)
    t = [c.measure(CALLS) * 1e6 for _ in range(100)]
    name = f"C/OpenMP called from C, {FORKED} (forks)"
    yield Measurement("launch", name, "us", median(t), min(t), len(t))

"""Kokkos' patterns: for, reduce and scan, with what they reduce to."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import execspace as es
from parity.table import row

PATTERNS = "4.1 Patterns"


@row(PATTERNS, "parallel_for", 'es.parallel_for(1000, axpy, 2.0, x, y, label="axpy")')
def parallel_for(space: es.ExecutionSpace) -> None:
    def axpy(i, a, x, y):
        y[i] += a * x[i]

    x, y = es.array(np.arange(1000.0)), es.ones(1000)
    es.parallel_for(1000, axpy, 2.0, x, y, label="axpy")
    assert (y.to_numpy() == 2 * np.arange(1000.0) + 1).all()
    with es.profile("kernel-timer") as found:
        es.parallel_for(0, axpy, 2.0, x, y, label="nothing")  # tools are told, too
    assert [r.label for r in found["kernel-timer"].records()] == ["nothing"]


@row(PATTERNS, "parallel_reduce", "total = es.parallel_reduce(1000, lambda i: x[i] * x[i])")
def parallel_reduce(space: es.ExecutionSpace) -> None:
    """To a number, to a View, and to an array of NumPy; results are overwritten."""
    x = es.array(np.arange(1000.0))
    total = es.parallel_reduce(1000, lambda i: x[i] * x[i])
    assert total == 332833500.0
    to, array = es.full((), 7.0), np.full((), 7.0)
    es.parallel_reduce(1000, lambda i: x[i], out=to)
    es.parallel_reduce(1000, lambda i: x[i], out=array)
    assert to.item() == array == 499500.0
    assert es.parallel_reduce(0, lambda i: x[i]) == 0.0


@row(PATTERNS, "without result", "es.parallel_reduce(100, count, x)")
def without_result(space: es.ExecutionSpace) -> None:
    """What a reduction returns may be dropped."""

    def count(i, x):
        x[i] = 1.0
        return 1

    x = es.zeros(100)
    es.parallel_reduce(100, count, x)
    assert (x.to_numpy() == 1).all()


@row(
    PATTERNS,
    "multiple results",
    "es.parallel_reduce(1000, kernel, reducer=(es.Sum, es.Max, es.MinLoc, es.LAnd))",
)
def multiple_results(space: es.ExecutionSpace) -> None:
    def kernel(i):
        return i, 2.5 * i, (abs(i - 77), i), i >= 0

    total, most, least, all_of = es.parallel_reduce(
        1000, kernel, reducer=(es.Sum, es.Max, es.MinLoc, es.LAnd)
    )
    assert (total, most, least, all_of) == (499500, 2497.5, (0, 77), True)
    to = es.View((), es.int64), es.View(())
    es.parallel_reduce(10, lambda i: (i, 0.5 * i), reducer=(es.Sum, es.Max), out=to)
    assert [t.item() for t in to] == [45, 4.5]


@row(PATTERNS, "array reduction", "reducer=es.Sum(es.int64, shape=10)")
def array_reduction(space: es.ExecutionSpace) -> None:
    """Of TestReduce's arrays: each index adds to all elements; ranges, teams and within teams."""

    def sums(i, s):
        for k in range(10):
            s[k] += i * (k + 1)

    def by_teams(team, s):
        for i in es.TeamThreadRange(team, 10):
            for k in range(10):
                s[k] += (10 * team.league_rank + i) * (k + 1)

    expected = [499500 * (k + 1) for k in range(10)]
    found = es.parallel_reduce(1000, sums, reducer=es.Sum(es.int64, shape=10))
    assert found.tolist() == expected
    found = es.parallel_reduce(es.TeamPolicy(100, 4), by_teams, reducer=es.Sum(es.int64, shape=10))
    assert found.tolist() == expected


@row(PATTERNS, "parallel_scan", "total = es.parallel_scan(1000, exclusive, x)")
def parallel_scan(space: es.ExecutionSpace) -> None:
    """Of TestScan: n (n + 1) / 2, exclusive and inclusive."""

    def exclusive(i, prefix, final, x):
        if final:
            x[i] = prefix
        return i + 1

    def inclusive(i, prefix, final, x):
        if final:
            x[i] = prefix + i + 1
        return i + 1

    x, n = es.zeros(1000, es.int64), np.arange(1000)
    total = es.parallel_scan(1000, exclusive, x)
    assert total == 500500 and (x.to_numpy() == n * (n + 1) // 2).all()
    to = es.View((), es.int64)
    es.parallel_scan(1000, inclusive, x, out=to)
    assert to.item() == 500500 and (x.to_numpy() == (n + 1) * (n + 2) // 2).all()


@row(
    PATTERNS,
    "nested versions",
    "row = es.parallel_reduce(es.ThreadVectorRange(team, A.extent(1)), lambda j: A[i, j])",
)
def nested(space: es.ExecutionSpace) -> None:
    def kernel(team, A, before):
        for i in es.TeamThreadRange(team, A.extent(0)):
            row = es.parallel_reduce(es.ThreadVectorRange(team, A.extent(1)), lambda j: A[i, j])
            A[i, 0] = row
        team.barrier()

        def scanned(i, prefix, final):
            if final:
                before[i] = prefix
            return A[i, 0]

        es.parallel_scan(es.TeamThreadRange(team, A.extent(0)), scanned)

    a = np.arange(35.0).reshape(5, 7)
    A, before = es.array(a), es.zeros(5)
    es.parallel_for(es.TeamPolicy(1, 4, 2), kernel, A, before)
    sums = a.sum(axis=1)
    assert (before.to_numpy() == np.cumsum(sums) - sums).all()


@row(PATTERNS, "behaviour selection", "es.parallel_reduce(5, kernel, reducer=LeastMagnitude)")
def behaviour_selection(space: es.ExecutionSpace) -> None:
    """The sum by default, then what `reducer` says, built in or of one's own."""

    def kernel(i):
        return 3.0 * i - 5

    class LeastMagnitude(es.Reducer):
        identity = math.inf

        @staticmethod
        def join(a, b):
            return a if abs(a) <= abs(b) else b

    assert es.parallel_reduce(5, kernel) == 5.0
    assert es.parallel_reduce(5, kernel, reducer=es.Min) == -5.0
    assert es.parallel_reduce(5, kernel, reducer=LeastMagnitude) == 1.0


@row(PATTERNS, "init/join/final", "return math.sqrt(a)")
def init_join_final(space: es.ExecutionSpace) -> None:
    class Norm(es.Reducer):
        identity = 0.0  # Kokkos' init

        @staticmethod
        def join(a, b):
            return a + b

        @staticmethod
        def final(a):
            return math.sqrt(a)

    x = es.array([2.0, 3.0, 6.0])
    assert es.parallel_reduce(3, lambda i: x[i] * x[i], reducer=Norm) == 7.0


@row(PATTERNS, "determinism", "first = es.parallel_reduce(n, harmonic)")
def determinism(space: es.ExecutionSpace) -> None:
    """The same bits in each run, which Kokkos does not promise."""

    def harmonic(i):
        return 1.0 / (i + 1)

    n = 20_000
    first = es.parallel_reduce(n, harmonic)
    assert all(es.parallel_reduce(n, harmonic) == first for _ in range(5))
    assert math.isclose(first, math.fsum(1.0 / (i + 1) for i in range(n)), rel_tol=1e-12)


@dataclass
class Fields:
    """Twelve Views and as many numbers: a large functor."""

    views: tuple[es.View, ...]
    weights: tuple[float, ...]

    def weighted(self, i):
        total = 0.0
        for view, weight in zip(self.views, self.weights, strict=True):
            total += weight * view[i]
        return total


@row(PATTERNS, "large functors", "out[i] = fields.weighted(i)")
def large_functors(space: es.ExecutionSpace) -> None:
    def kernel(i, fields, out):
        out[i] = fields.weighted(i)

    views = tuple(es.full(50, float(k)) for k in range(12))
    fields, out = Fields(views, tuple(0.5 * k for k in range(12))), es.zeros(50)
    es.parallel_for(50, kernel, fields, out)
    assert (out.to_numpy() == sum(0.5 * k * k for k in range(12))).all()

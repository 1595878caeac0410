"""Kokkos' reducers, with the numbers of its unit tests."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

import execspace as es
from parity.table import raises, row

REDUCERS = "4.2 Reducers"


def numbers() -> tuple[np.ndarray, es.View]:
    """Some, of which no two are equal, and that are not in order."""
    values = (np.arange(1000) * 379) % 1009
    return values, es.array(values)


@row(REDUCERS, "Sum", "es.parallel_reduce(1000, lambda i: x[i], reducer=es.Sum)")
def sum_(space: es.ExecutionSpace) -> None:
    values, x = numbers()
    assert es.parallel_reduce(1000, lambda i: x[i], reducer=es.Sum) == values.sum()
    assert es.parallel_reduce(1000, lambda i: 0.5 * x[i]) == 0.5 * values.sum()
    assert es.parallel_reduce(0, lambda i: x[i], reducer=es.Sum) == 0


@row(REDUCERS, "Prod", "es.parallel_reduce(20, lambda i: i + 1, reducer=es.Prod)")
def prod(space: es.ExecutionSpace) -> None:
    assert es.parallel_reduce(20, lambda i: i + 1, reducer=es.Prod) == math.factorial(20)
    assert es.parallel_reduce(50, lambda i: 2.0, reducer=es.Prod) == 2.0**50


@row(REDUCERS, "Min", "es.parallel_reduce(1000, lambda i: x[i], reducer=es.Min)")
def min_(space: es.ExecutionSpace) -> None:
    values, x = numbers()
    assert es.parallel_reduce(1000, lambda i: x[i], reducer=es.Min) == values.min()
    assert es.parallel_reduce(0, lambda i: 0.5 * i, reducer=es.Min) == math.inf


@row(REDUCERS, "Max", "es.parallel_reduce(1000, lambda i: x[i], reducer=es.Max)")
def max_(space: es.ExecutionSpace) -> None:
    values, x = numbers()
    assert es.parallel_reduce(1000, lambda i: x[i], reducer=es.Max) == values.max()
    assert es.parallel_reduce(1000, lambda i: -1.0 - i, reducer=es.Max) == -1.0
    assert es.parallel_reduce(0, lambda i: 0.5 * i, reducer=es.Max) == -math.inf


@row(
    REDUCERS,
    "LAnd/LOr",
    "es.parallel_reduce(1000, lambda i: (x[i] > 0, x[i] > 1007), reducer=(es.LAnd, es.LOr))",
)
def land_lor(space: es.ExecutionSpace) -> None:
    values, x = numbers()
    both = es.parallel_reduce(1000, lambda i: (x[i] > 0, x[i] > 1007), reducer=(es.LAnd, es.LOr))
    assert both == (bool((values > 0).all()), bool((values > 1007).any()))
    assert es.parallel_reduce(1000, lambda i: x[i] >= 0, reducer=es.LAnd) is True


@row(
    REDUCERS,
    "BAnd/BOr",
    "es.parallel_reduce(1000, lambda i: (x[i] | 5, x[i] & 80), reducer=(es.BAnd, es.BOr))",
)
def band_bor(space: es.ExecutionSpace) -> None:
    values, x = numbers()
    both = es.parallel_reduce(1000, lambda i: (x[i] | 5, x[i] & 80), reducer=(es.BAnd, es.BOr))
    assert both == (np.bitwise_and.reduce(values | 5), np.bitwise_or.reduce(values & 80))


@row(
    REDUCERS,
    "MinLoc/MaxLoc",
    "es.parallel_reduce(1000, lambda i: (x[i], i), reducer=es.MinLoc)",
)
def min_loc_max_loc(space: es.ExecutionSpace) -> None:
    """Of equal ones it is the first, which Kokkos leaves open."""
    values, x = numbers()
    least = es.parallel_reduce(1000, lambda i: (x[i], i), reducer=es.MinLoc)
    most = es.parallel_reduce(1000, lambda i: (x[i], i), reducer=es.MaxLoc)
    assert (least.val, least.loc) == (values.min(), values.argmin())
    assert (most.val, most.loc) == (values.max(), values.argmax())
    ties = es.parallel_reduce(1000, lambda i: (i % 10, i), reducer=es.MaxLoc)
    assert ties == (9, 9)


@row(REDUCERS, "MinMax", "es.parallel_reduce(1000, lambda i: x[i], reducer=es.MinMax)")
def min_max(space: es.ExecutionSpace) -> None:
    values, x = numbers()
    found = es.parallel_reduce(1000, lambda i: x[i], reducer=es.MinMax)
    assert (found.min_val, found.max_val) == (values.min(), values.max())


@row(
    REDUCERS,
    "MinMaxLoc",
    "es.parallel_reduce(1000, lambda i: (x[i], i), reducer=es.MinMaxLoc)",
)
def min_max_loc(space: es.ExecutionSpace) -> None:
    values, x = numbers()
    found = es.parallel_reduce(1000, lambda i: (x[i], i), reducer=es.MinMaxLoc)
    assert (found.min_val, found.min_loc) == (values.min(), values.argmin())
    assert (found.max_val, found.max_loc) == (values.max(), values.argmax())


@row(
    REDUCERS,
    "MinFirstLoc/MaxFirstLoc",
    "es.parallel_reduce(1000, lambda i: (i % 7, i), reducer=es.MaxFirstLoc)",
)
def first_locations(space: es.ExecutionSpace) -> None:
    assert es.parallel_reduce(1000, lambda i: (i % 7, i), reducer=es.MaxFirstLoc) == (6, 6)
    assert es.parallel_reduce(1000, lambda i: (-(i % 7), i), reducer=es.MinFirstLoc) == (-6, 6)


@row(
    REDUCERS,
    "MinMaxFirstLastLoc",
    "es.parallel_reduce(1000, lambda i: (i % 7, i), reducer=es.MinMaxFirstLastLoc)",
)
def min_max_first_last_loc(space: es.ExecutionSpace) -> None:
    found = es.parallel_reduce(1000, lambda i: (i % 7, i), reducer=es.MinMaxFirstLastLoc)
    assert found == (0, 6, 0, 993)


@row(
    REDUCERS,
    "FirstLoc/LastLoc",
    "es.parallel_reduce(1000, lambda i: (x[i] > 1000, i), reducer=es.FirstLoc)",
)
def first_loc_last_loc(space: es.ExecutionSpace) -> None:
    values, x = numbers()
    large = np.flatnonzero(values > 1000)
    first = es.parallel_reduce(1000, lambda i: (x[i] > 1000, i), reducer=es.FirstLoc)
    last = es.parallel_reduce(1000, lambda i: (x[i] > 1000, i), reducer=es.LastLoc)
    assert (first, last) == (large[0], large[-1])


@row(
    REDUCERS,
    "StdIsPartitioned",
    "es.parallel_reduce(100, lambda i: (i < 30, i), reducer=es.StdIsPartitioned)",
)
def std_is_partitioned(space: es.ExecutionSpace) -> None:
    found = es.parallel_reduce(100, lambda i: (i < 30, i), reducer=es.StdIsPartitioned)
    assert (found.max_loc_true, found.min_loc_false) == (29, 30)


@row(
    REDUCERS,
    "StdPartitionPoint",
    "es.parallel_reduce(100, lambda i: (i < 30, i), reducer=es.StdPartitionPoint)",
)
def std_partition_point(space: es.ExecutionSpace) -> None:
    assert es.parallel_reduce(100, lambda i: (i < 30, i), reducer=es.StdPartitionPoint) == 30


@row(
    REDUCERS,
    "Loc of any type (tuple): 5.0 at (2,3,1)",
    "es.parallel_reduce(policy, lambda i, j, k: (x[i, j, k], (i, j, k)), reducer=es.MinLoc)",
)
def locations_of_any_type(space: es.ExecutionSpace) -> None:
    a = np.full((4, 5, 3), 10.0)
    a[2, 3, 1] = 5.0
    x, policy = es.array(a), es.MDRangePolicy((4, 5, 3))
    found = es.parallel_reduce(policy, lambda i, j, k: (x[i, j, k], (i, j, k)), reducer=es.MinLoc)
    assert found.val == 5.0 and found.loc == (2, 3, 1)


class Moments(NamedTuple):
    n: int
    sum: int
    squares: int
    cubes: int


@row(
    REDUCERS,
    "custom scalar type {100,4950,328350,24502500}",
    "return Moments(a.n + b.n, a.sum + b.sum, a.squares + b.squares, a.cubes + b.cubes)",
)
def custom_scalar_type(space: es.ExecutionSpace) -> None:
    class Together(es.Reducer):
        identity = Moments(0, 0, 0, 0)

        @staticmethod
        def join(a, b):
            return Moments(a.n + b.n, a.sum + b.sum, a.squares + b.squares, a.cubes + b.cubes)

    found = es.parallel_reduce(100, lambda i: Moments(1, i, i * i, i * i * i), reducer=Together)
    assert found == (100, 4950, 328350, 24502500)


@row(REDUCERS, "Reducer concept", "assert issubclass(es.Max, es.Reducer)")
def reducer_concept(space: es.ExecutionSpace) -> None:
    class SumOf(es.Reducer):
        """With parameters, and a join that is a method."""

        identity = 0.0

        def __init__(self, power: float) -> None:
            self.power = power

        def join(self, a, b):
            return a + b

        def final(self, a):
            return a ** (1 / self.power)

    assert issubclass(es.Max, es.Reducer)
    assert es.parallel_reduce(3, lambda i: (i + 1.0) ** 2, reducer=SumOf(2.0)) == math.sqrt(14)
    with raises(es.LaunchError):
        es.parallel_reduce(3, lambda i: i, reducer=math.fsum)


@row(REDUCERS, "...CustomComparator (3)", "reducer=es.MinFirstLocCustomComparator(nearer)")
def custom_comparators(space: es.ExecutionSpace) -> None:
    @es.function
    def nearer(a, b):
        return abs(a) < abs(b)

    values = np.array([7, -3, 9, 3, -9, 4])
    x = es.array(values)
    least = es.parallel_reduce(
        6, lambda i: (x[i], i), reducer=es.MinFirstLocCustomComparator(nearer)
    )
    most = es.parallel_reduce(
        6, lambda i: (x[i], i), reducer=es.MaxFirstLocCustomComparator(nearer)
    )
    both = es.parallel_reduce(
        6, lambda i: (x[i], x[i], i, i), reducer=es.MinMaxFirstLastLocCustomComparator(nearer)
    )
    assert (least, most) == ((-3, 1), (9, 2)) and both == (-3, -9, 1, 4)


@row(REDUCERS, "bool", "es.parallel_reduce(100, lambda i: i % 3 == 0)")
def bools(space: es.ExecutionSpace) -> None:
    assert es.parallel_reduce(100, lambda i: i % 3 == 0) == 34
    assert es.parallel_reduce(100, lambda i: i > 0, reducer=es.Min) is False
    assert es.parallel_reduce(100, lambda i: i > 0, reducer=es.Max) is True

"""Pairs: kernels and algorithms are given NumPy arrays, which a device does not reach."""

import numpy as np
from twins import (
    N,
    Pair,
    before,
    captured,
    counted,
    double,
    element,
    seen,
    unreachable,
    unreachable_by,
)

import execspace as es


def there(array):
    """The elements of an array where the default space reaches them."""
    return es.asarray(array)


class PassesAnArray(Pair):
    answer = (2.0, 2.0, 2.0, 2.0)
    raises = unreachable("Kernel 'double': argument 0, View", "argument 0 of double")

    def portable(self):
        a = np.ones(N)
        x = there(a)
        es.parallel_for(N, double, x)
        es.deep_copy(a, x)
        return a.tolist()

    def unportable(self):
        a = np.ones(N)
        es.parallel_for(N, double, a)
        return a.tolist()


class WrapsAnArray(Pair):
    answer = (2.0, 2.0, 2.0, 2.0)
    raises = unreachable("Kernel 'double': argument 0, View", "wrapped")

    def portable(self):
        x = there(np.ones(N))
        es.parallel_for(N, double, x)
        return seen(x)

    def unportable(self):
        x = es.view_of(np.ones(N), label="wrapped")
        es.parallel_for(N, double, x)
        return seen(x)


class PassesAMirror(Pair):
    answer = (0.0, 2.0, 4.0, 6.0)
    raises = unreachable(
        "Kernel 'double': argument 0, View", "x", advice="Copy it first: x.to('{space}')."
    )

    def portable(self):
        x = counted()
        h = x.to(es.HOST)
        es.parallel_for(N, double, x)
        es.deep_copy(h, x)
        return np.asarray(h).tolist()

    def unportable(self):
        x = counted()
        h = x.to(es.HOST)
        es.parallel_for(N, double, h)
        return np.asarray(h).tolist()


class CapturesAnArrayInAClosure(Pair):
    answer = 4.0
    raises = captured("taken", "a")

    def portable(self):
        return self.total(there(np.ones(N)))

    def unportable(self):
        return self.total(np.ones(N))

    def total(self, a):
        def taken(i):
            return a[i]

        return es.parallel_reduce(N, taken)


TABLE = np.array([1.0, 2.0, 3.0, 4.0])


class UsesAGlobalArray(Pair):
    answer = 10.0
    raises = captured("from_table", "TABLE")

    def portable(self):
        table = there(TABLE)

        def from_table(i):
            return table[i]

        return es.parallel_reduce(N, from_table)

    def unportable(self):
        def from_table(i):
            return TABLE[i]

        return es.parallel_reduce(N, from_table)


class KeepsAnArrayInAnObject(Pair):
    answer = 4.0
    raises = captured("mass", "masses")

    def portable(self):
        return es.parallel_reduce(N, Particles(there(np.ones(N))).mass)

    def unportable(self):
        return es.parallel_reduce(N, Particles(np.ones(N)).mass)


class Particles:
    def __init__(self, masses):
        self.masses = masses

    def mass(self, i):
        return self.masses[i]


class ReducesAnArray(Pair):
    answer = 6.0
    raises = unreachable("Kernel 'element': argument 0, View", "argument 0 of element")

    def portable(self):
        return es.parallel_reduce(N, element, there(np.arange(float(N))))

    def unportable(self):
        return es.parallel_reduce(N, element, np.arange(float(N)))


class ScansIntoAnArray(Pair):
    answer = (0.0, 1.0, 2.0, 3.0)
    raises = unreachable("Kernel 'before': argument 0, View", "argument 0 of before")

    def portable(self):
        a = np.empty(N)
        x = there(a)
        es.parallel_scan(N, before, x)
        es.deep_copy(a, x)
        return a.tolist()

    def unportable(self):
        a = np.empty(N)
        es.parallel_scan(N, before, a)
        return a.tolist()


@es.kernel
def ranks(team, x):
    x[team.league_rank] = team.league_rank * 1.0


class GivesAnArrayToTeams(Pair):
    answer = (0.0, 1.0, 2.0, 3.0)
    raises = unreachable("Kernel 'ranks': argument 0, View", "argument 0 of ranks")

    def portable(self):
        a = np.empty(N)
        x = there(a)
        es.parallel_for(es.TeamPolicy(N), ranks, x)
        es.deep_copy(a, x)
        return a.tolist()

    def unportable(self):
        a = np.empty(N)
        es.parallel_for(es.TeamPolicy(N), ranks, a)
        return a.tolist()


class SortsAnArray(Pair):
    answer = (1.0, 2.0, 3.0)
    raises = unreachable_by("sort", "view of sort")

    def portable(self):
        a = np.array([3.0, 1.0, 2.0])
        x = there(a)
        es.sort(x)
        es.deep_copy(a, x)
        return a.tolist()

    def unportable(self):
        a = np.array([3.0, 1.0, 2.0])
        es.sort(a)
        return a.tolist()


class FillsAnArrayWithRandomNumbers(Pair):
    answer = True
    raises = unreachable_by("fill_random", "destination of fill_random")

    def portable(self):
        x = es.View(N, label="x")
        es.fill_random(x, 7)
        return max(seen(x)) < 1.0

    def unportable(self):
        a = np.full(N, 2.0)
        es.fill_random(a, 7)
        return bool(a.max() < 1.0)


class SearchesInAnArray(Pair):
    answer = (0, 2)
    raises = unreachable_by("searchsorted", "sorted_view of searchsorted")

    def portable(self):
        return seen(es.searchsorted(counted(), there(np.array([0.0, 1.5]))))

    def unportable(self):
        return seen(es.searchsorted(np.arange(float(N)), np.array([0.0, 1.5])))


class CountsAnArray(Pair):
    answer = (2, 2)
    raises = unreachable_by("histogram", "view of histogram")

    def portable(self):
        counts, _ = es.histogram(counted(), 2, range=(0.0, 4.0))
        return seen(counts)

    def unportable(self):
        counts, _ = es.histogram(np.arange(float(N)), 2, range=(0.0, 4.0))
        return seen(counts)

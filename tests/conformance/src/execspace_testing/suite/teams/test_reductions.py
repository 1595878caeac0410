"""Nested reductions: threads and lanes join what they have, and each gets the result."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import needs_atomic, needs_dtype, needs_teams

from .shapes import every_shape, league, small_integers, told_by_threads, two_shapes

GREATEST = np.iinfo(np.int64).max


def sums(team, x, found):
    r, me = team.league_rank, team.team_rank
    n, m = x.extent(1), x.extent(2)

    def row(i):
        return es.parallel_reduce(es.ThreadVectorRange(team, m), lambda j: x[r, i, j])

    def part(i):
        return row(i) * (i + 1)

    found[r, me, 0] = es.parallel_reduce(es.TeamVectorRange(team, m), lambda j: x[r, 0, j])
    found[r, me, 1] = es.parallel_reduce(es.TeamThreadRange(team, 2, n), part)
    found[r, me, 2] = row(me % n)
    found[r, me, 3] = team.team_size


@every_shape
def test_every_member_gets_the_sum(space, shape):
    """Over all lanes, over threads and lanes one in the other, and over the lanes of a thread."""
    x = np.random.default_rng(1).integers(-99, 100, (3, 11, 37))
    found = told_by_threads(space, 3, 4)
    staged.parallel_for(league(space, 3, shape), sums, x, found)
    size = found[0, 0, 3]
    rows = x.sum(2)
    for team in range(3):
        for thread in range(size):
            assert found[team, thread].tolist() == [
                x[team, 0].sum(),
                rows[team, 2:] @ np.arange(3, 12),
                rows[team, thread % 11],
                size,
            ]
    assert (found[:, size:] == -1).all()


# -- reducers -------------------------------------------------------------------------------------

EVERY = (
    es.Sum, es.Prod, es.Min, es.Max, es.MinMax, es.LAnd, es.LOr, es.BAnd, es.BOr,
    es.MinLoc, es.MaxLoc, es.MinMaxLoc,
)  # fmt: skip


def every(v, i):
    """What each of them joins."""
    return v, v, v, v, v, v > -9, v > 8, int(v), int(v), (v, i), (v, i), (v, i)


def expected_of_every(x):
    return [
        x.sum(), x.prod(), x.min(), x.max(), x.min(), x.max(), (x > -9).all(), (x > 8).any(),
        np.bitwise_and.reduce(x.astype(int)), np.bitwise_or.reduce(x.astype(int)),
        x.min(), x.argmin(), x.max(), x.argmax(), x.min(), x.max(), x.argmin(), x.argmax(),
    ]  # fmt: skip


ALL_RANGES = [es.TeamThreadRange, es.TeamVectorRange, es.ThreadVectorRange]
all_ranges = pytest.mark.parametrize("nested", ALL_RANGES, ids=lambda word: word.__name__)


@all_ranges
def test_built_in_reducers(space, nested):
    """Twelve of them in one nested reduction, with the first of equal locations."""

    def kernel(team, x, found):
        r = team.league_rank
        total, product, least, most, both, all_of, any_of, ands, ors, low, high, ends = (
            es.parallel_reduce(
                nested(team, x.extent(1)), lambda i: every(x[r, i], i), reducer=EVERY
            )
        )
        if es.single(es.PerTeam(team)):
            for k, number in enumerate((
                total, product, least, most, both.min_val, both.max_val, all_of, any_of, ands,
                ors, low.val, low.loc, high.val, high.loc,
                ends.min_val, ends.max_val, ends.min_loc, ends.max_loc,
            )):  # fmt: skip
                found[r, k] = number

    n = 45
    x = np.random.default_rng(5).integers(-9, 10, (4, n)).astype(float)
    x[:, 20:] = np.where(x[:, 20:] < 0, -1, 1)  # so that products are exact
    x[:, :20] = np.where(x[:, :20] == 0, 1, x[:, :20])
    x[0] = 1
    found = np.full((4, 18), np.nan)
    staged.parallel_for(league(space, 4), kernel, x, found)
    for row, values in zip(found, x, strict=True):
        assert row.tolist() == expected_of_every(values)


def of_type(team, x, found):
    r = team.league_rank
    n = x.extent(1)
    total, product = es.parallel_reduce(
        es.TeamVectorRange(team, n), lambda i: (x[r, i], x[r, i]), reducer=(es.Sum, es.Prod)
    )
    mine = es.parallel_reduce(es.ThreadVectorRange(team, n), lambda i: x[r, i])
    if es.single(es.PerTeam(team)):
        found[r, 0] = total
        found[r, 1] = product
        found[r, 2] = mine


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32", "complex64"])
def test_sums_and_products_of_each_kind_of_number(space, dtype):
    """int8 is joined in 64 bits, and 64 bits wrap; the rest in its own type."""
    needs_dtype(space, dtype)
    rng = np.random.default_rng(4)
    x = rng.integers(-3, 4, (3, 29)).astype(dtype)
    if dtype == "complex64":
        x = rng.choice(np.array([1, 1j, -1, -1j], dtype), (3, 29))
    if dtype == "float32":
        x = rng.choice(np.array([-2, -1, 0.5, 1, 2], dtype), (3, 29))
    found = np.zeros((3, 3), {"int8": "i8"}.get(dtype, dtype))
    staged.parallel_for(league(space, 3), of_type, x, found)
    total = x.sum(1, found.dtype)
    assert (found[:, 0] == total).all()
    assert (found[:, 2] == total).all()
    assert (found[:, 1] == x.prod(1, found.dtype)).all()


def empty(team, n, found):
    total, least, where, parity = es.parallel_reduce(
        es.TeamThreadRange(team, n),
        lambda i: (1, 1.5, (1.5, i), i > 0),
        reducer=(es.Sum, es.Min, es.MaxLoc, es.LAnd),
    )
    if es.single(es.PerTeam(team)):
        found[0] = total
        found[1] = least
        found[2] = where.val
        found[3] = 1.0 if where.loc == GREATEST else 0.0
        found[4] = parity
        found[5] = es.parallel_reduce(
            es.ThreadVectorRange(team, n, n), lambda i: 3, reducer=es.Prod
        )
    grid = es.parallel_reduce(es.TeamVectorMDRange(team, n, 4), lambda i, j: 7.0)
    if es.single(es.PerTeam(team)):
        found[6] = grid


def test_ranges_with_nothing_in_them_give_identities(space):
    for n in (0, -3):
        found = np.full(7, np.nan)
        staged.parallel_for(league(space, 1), empty, n, found)
        assert found.tolist() == [0, math.inf, -math.inf, 1, 1, 1, 0]


def over_grids(team, x, found):
    r = team.league_rank
    n, m = x.extent(1), x.extent(2)
    by_threads = es.parallel_reduce(
        es.TeamThreadMDRange(team, n, m), lambda i, j: (x[r, i, j], (i, j)), reducer=es.MinLoc
    )
    by_all = es.parallel_reduce(
        es.TeamVectorMDRange(team, n, m),
        lambda i, j: (x[r, i, j], 100 * i + j),
        reducer=(es.Sum, es.Max),
    )
    by_lanes = es.parallel_reduce(
        es.ThreadVectorMDRange(team, n, m), lambda i, j: x[r, i, j] * (i - j)
    )
    if es.single(es.PerTeam(team)):
        found[r, 0] = by_threads.val
        found[r, 1] = by_threads.loc[0]
        found[r, 2] = by_threads.loc[1]
        found[r, 3] = by_all[0]
        found[r, 4] = by_all[1]
        found[r, 5] = by_lanes


def test_ranges_of_several_dimensions(space):
    x, found = small_integers((2, 7, 9)), np.zeros((2, 6))
    staged.parallel_for(league(space, 2), over_grids, x, found)
    i, j = np.indices((7, 9))
    for row, values in zip(found, x, strict=True):
        least = np.unravel_index(values.argmin(), values.shape)
        assert row.tolist() == [
            values.min(), *least, values.sum(), 608, (values * (i - j)).sum()
        ]  # fmt: skip


# -- reducers of one's own ------------------------------------------------------------------------


class Variance(es.Reducer):
    """Numbers, their sum, and that of their squares."""

    identity = (0, 0.0, 0.0)

    def join(a, b):
        return a[0] + b[0], a[1] + b[1], a[2] + b[2]

    def final(a):
        mean = a[1] / max(a[0], 1)
        return mean, a[2] / max(a[0], 1) - mean * mean


@dataclass
class Closest(es.Reducer):
    """The number that is closest to another, the lesser of two."""

    wanted: float
    identity = math.inf

    def join(self, a, b):
        left, right = abs(a - self.wanted), abs(b - self.wanted)
        if left == right:
            return min(a, b)
        return a if left < right else b


def test_reducers_of_ones_own_beside_built_in_ones(space):
    """States of several numbers, a last step, and an attribute that is read at each launch."""
    closest = Closest(2.5)

    def kernel(team, x, found):
        r = team.league_rank
        (mean, variance), near, most = es.parallel_reduce(
            es.TeamVectorRange(team, x.extent(1)),
            lambda i: ((1, x[r, i], x[r, i] ** 2), x[r, i], x[r, i]),
            reducer=(Variance, closest, es.Max),
        )
        if es.single(es.PerTeam(team)):
            for k, number in enumerate((mean, variance, near, most)):
                found[r, k] = number

    x, found = small_integers((3, 32), 8), np.zeros((3, 4))
    for wanted in (2.5, -7.5):
        closest.wanted = wanted
        staged.parallel_for(league(space, 3), kernel, x, found)
        for row, values in zip(found, x, strict=True):
            near = min(values, key=lambda v, wanted=wanted: (abs(v - wanted), v))
            assert row.tolist() == [values.mean(), values.var(), near, values.max()]


def narrow_and_exact(team, x, found):
    n = x.extent(0)
    narrow = es.parallel_reduce(
        es.TeamVectorRange(team, n), lambda i: x[i], reducer=es.Sum(dtype=es.float32)
    )
    exact = es.parallel_reduce(
        es.TeamThreadRange(team, n), lambda i: x[i], reducer=es.Sum(accuracy="high")
    )
    if es.single(es.PerTeam(team)):
        found[0] = narrow
        found[1] = exact


def test_options_of_reducers_within_a_kernel(space):
    needs_dtype(space, "float64")
    x, found = np.zeros(40), np.zeros(2)
    x[3], x[17] = 2.0**24, 1
    staged.parallel_for(league(space, 1), narrow_and_exact, x, found)
    assert found.tolist() == [2.0**24, 2.0**24 + 1]


# -- where reductions stand -----------------------------------------------------------------------


def ten_times(team, found):
    """The counts of Kokkos' guide: each thread adds what its team has joined, ten."""
    count = es.parallel_reduce(es.TeamThreadRange(team, 10), lambda i: 1)
    es.atomic_add(found, 0, count)
    if es.single(es.PerTeam(team)):
        es.atomic_add(found, 1, count)


@two_shapes
def test_each_thread_has_the_whole_sum(space, shape):
    """https://kokkos.org/kokkos-core-wiki/ProgrammingGuide/HierarchicalParallelism.html"""
    needs_atomic(space, 8)
    policy, found = league(space, 6, shape), np.zeros(2, np.int64)
    staged.parallel_for(policy, ten_times, found)
    assert found.tolist() == [6 * policy.team_size * 10, 6 * 10]


def norm(team, x, row):
    """A helper with a reduction of its own."""
    if x.extent(1) == 0:
        return 0.0
    return es.parallel_reduce(es.ThreadVectorRange(team, x.extent(1)), lambda j: x[row, j] ** 2)


def rows_in_turn(team, x, found):
    """Reductions over lanes: under conditions that differ between threads, and in loops."""
    n = x.extent(0)
    for i in es.TeamThreadRange(team, n):
        if i % 3 != 1:
            found[0, i] = norm(team, x, i)
        else:
            total = 0.0
            for k in range(i + 1):
                total += norm(team, x, k)
            found[0, i] = -total
    own = 0.0
    if team.team_rank == team.team_size - 1:
        own = norm(team, x, 1)
    found[1, team.team_rank % n] = team.reduce(own)


def test_reductions_over_lanes_under_conditions_and_in_loops(space):
    policy = league(space, 1)
    x, found = small_integers((13, 10)), np.zeros((2, 13))
    staged.parallel_for(policy, rows_in_turn, x, found)
    norms = (x * x).sum(1)
    expected = [norms[i] if i % 3 != 1 else -norms[: i + 1].sum() for i in range(13)]
    assert found[0].tolist() == expected
    assert set(found[1][: policy.team_size]) == {norms[1]}


def converging(team, x, rounds):
    """Reductions of the whole team in a loop that goes on as long as their result says."""
    r, n = team.league_rank, x.extent(1)
    count = 0
    largest = es.parallel_reduce(es.TeamVectorRange(team, n), lambda i: x[r, i], reducer=es.Max)
    while largest >= 1:
        for i in es.TeamVectorRange(team, n):
            x[r, i] /= 2
        team.barrier()
        count += 1
        largest = es.parallel_reduce(es.TeamVectorRange(team, n), lambda i: x[r, i], reducer=es.Max)
    if es.single(es.PerTeam(team)):
        rounds[r] = count


def test_reductions_of_a_team_decide_how_often_a_loop_goes_round(space):
    x, rounds = np.full((4, 30), 0.25), np.zeros(4, np.int64)
    x[np.arange(4), [0, 13, 17, 29]] = [0.5, 1, 100, 3]
    staged.parallel_for(league(space, 4), converging, x, rounds)
    assert rounds.tolist() == [0, 1, 7, 2]


def by_two(a, b):
    return a + b + 2 * a * b


class Twos(es.Reducer):
    identity = 0

    def join(a, b):
        return by_two(a, b)


class Weighted(es.Reducer):
    identity = 0

    def __init__(self, k):
        self.k = k

    def join(self, a, b):
        return a + b + self.k * a * b


THREES, FIVES = Weighted(3), Weighted(5)


@es.kernel
def several_joins(team, o):
    sums = (
        es.parallel_reduce(es.TeamThreadRange(team, 3), lambda k: k + 1, reducer=Twos),
        es.parallel_reduce(es.TeamThreadRange(team, 3), lambda k: k + 1, reducer=THREES),
        es.parallel_reduce(es.TeamThreadRange(team, 3), lambda k: k + 1, reducer=FIVES),
        team.reduce(team.league_rank + 1, FIVES),
    )
    if es.single(es.PerTeam(team)):
        for at, value in enumerate(sums):
            o[team.league_rank, at] = value


def test_nested_reductions_have_joins_of_their_own(space):
    """Each reduction of a kernel joins as its own reducer says, not as the first one's does."""
    needs_teams(space)
    o = np.zeros((1, 4), np.int64)
    staged.parallel_for(es.TeamPolicy(1, 1, space=space), several_joins, o)

    def joined(k):
        total = 0
        for value in (1, 2, 3):
            total += value + k * total * value
        return total

    assert o[0].tolist() == [joined(2), joined(3), joined(5), 1]


def sum_of_numbers(team, n, step):
    return es.parallel_reduce(es.TeamThreadRange(team, 0, n), lambda k: step * k + team.league_rank)


@pytest.mark.parametrize("threads", [3, 7, 31, 33, 100])
def test_sums_of_numbers_by_any_number_of_threads(space, threads):
    # Compilers find a formula for them, which may divide numbers of 128 bits by that number.
    needs_teams(space)
    limits = space.team_limits()
    policy = es.TeamPolicy(2, min(threads, limits.team_size_max), 1, space=space)
    for n, step in ((0, 1), (5, 1), (1000, 3), (33 * 7 + 1, -5)):
        expected = 2 * step * n * (n - 1) // 2 + n
        assert es.parallel_reduce(policy, sum_of_numbers, n, step) == expected

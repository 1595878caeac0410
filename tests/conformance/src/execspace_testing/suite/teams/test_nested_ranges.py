"""Nested ranges: threads and lanes share out the iterations of loops, and each is done once."""

from __future__ import annotations

import numpy as np

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import needs_atomic

from .shapes import every_shape, league, small_integers


def share(team, by_thread, by_lane, by_both, sizes):
    r = team.league_rank
    if es.single(es.PerTeam(team)):
        sizes[r] = team.team_size
    for i in es.TeamThreadRange(team, 2, by_thread.extent(1) - 1):
        by_thread[r, i] += team.team_rank + 1
    for i in es.TeamVectorRange(team, 1, by_lane.extent(1)):
        by_lane[r, i] += 10 * i
    for i in es.TeamThreadRange(team, by_both.extent(1)):
        first = 100 * i
        for j in es.ThreadVectorRange(team, by_both.extent(2)):
            by_both[r, i, j] += first + j


@every_shape
def test_every_iteration_is_done_once(space, shape):
    """Of a TeamThreadRange, thread r of n has the iterations r, r + n, r + 2n, ..."""
    by_thread, by_lane = np.zeros((3, 45)), np.zeros((3, 150))
    by_both, sizes = np.zeros((3, 7, 19)), np.zeros(3, np.int64)
    staged.parallel_for(league(space, 3, shape), share, by_thread, by_lane, by_both, sizes)
    expected = np.zeros(45)
    expected[2:44] = np.arange(42) % sizes[0] + 1
    assert (by_thread == expected).all()
    assert (by_lane[:, 1:] == 10 * np.arange(1, 150)).all()
    assert (by_lane[:, 0] == 0).all()
    assert (by_both == 100 * np.arange(7)[:, None] + np.arange(19)).all()


def share_tuples(team, by_thread, by_all, by_lanes):
    r = team.league_rank
    for i, j, k in es.TeamThreadMDRange(team, 3, 5, 4):
        by_thread[r, i, j, k] += 100 * i + 10 * j + k
    for place in es.TeamVectorMDRange(team, 6, 7):
        i, j = place
        by_all[r, i, j] += 10 * i + j
    for i in es.TeamThreadRange(team, by_lanes.extent(1)):
        for j, k in es.ThreadVectorMDRange(team, by_lanes.extent(2), 2):
            by_lanes[r, i, j, k] += 100 * i + 10 * j + k


def test_ranges_of_several_dimensions(space):
    by_thread, by_all = np.zeros((2, 3, 5, 4)), np.zeros((2, 6, 8))
    by_lanes = np.zeros((2, 5, 9, 2))
    staged.parallel_for(league(space, 2), share_tuples, by_thread, by_all, by_lanes)
    for found in (by_thread, by_lanes):
        i, j, k = np.indices(found.shape[1:])
        assert (found == 100 * i + 10 * j + k).all()
    i, j = np.indices((6, 7))
    assert (by_all[:, :, :7] == 10 * i + j).all()
    assert (by_all[:, :, 7] == 0).all()


def six_fold(team, x, n):
    for a, b, c, d, e, f in es.TeamVectorMDRange(team, 2, n, 2, 1, 2, 3):
        x[a, b, c, d, e, f] += 1 + f + 3 * e


def test_a_range_of_six_dimensions(space):
    x = np.zeros((2, 3, 2, 1, 2, 3))
    staged.parallel_for(league(space, 1), six_fold, x, 3)
    assert (x == 1 + np.arange(6).reshape(2, 3)).all()


def bounded(team, x, bounds):
    for i in es.TeamThreadRange(team, bounds[0], bounds[1]):
        x[0, 0, i] += 1
        for j in es.ThreadVectorRange(team, bounds[0], bounds[1]):
            x[1, i, j] += 1
    for i in es.TeamVectorRange(team, bounds[0], bounds[1]):
        x[2, 0, i] += 1
    for i, j in es.TeamVectorMDRange(team, bounds[1], bounds[0]):
        x[3, i, j] += 1


def test_bounds_that_are_read_and_ranges_that_are_empty(space):
    """An end below the begin, or negative extents, leave nothing to do."""
    policy = league(space, 1)
    for begin, end in [(3, 8), (0, 9), (5, 5), (7, 2), (-2, -5), (0, -3)]:
        x, expected = np.zeros((4, 9, 9)), np.zeros((4, 9, 9))
        staged.parallel_for(policy, bounded, x, np.array([begin, end]))
        if begin < end:
            expected[0, 0, begin:end] = expected[2, 0, begin:end] = 1
            expected[1, begin:end, begin:end] = 1
        expected[3, : max(end, 0), : max(begin, 0)] = 1
        assert (x == expected).all(), (begin, end)


# -- what stands in a range -----------------------------------------------------------------------


def sieve(team, x):
    for i in es.TeamThreadRange(team, x.extent(1)):
        if i % 3 == 0:
            continue
        divisor = 2
        while divisor * divisor <= i:
            if i % divisor == 0:
                break
            divisor += 1
        prime = divisor * divisor > i > 1
        for j in es.ThreadVectorRange(team, x.extent(2)):
            if j == 1:
                continue
            power = 1
            for _ in range(j):
                power *= i
            x[team.league_rank, i, j] = power if prime else -power


def test_continue_and_loops_within_a_range(space):
    """`continue` goes to the next iteration; `break` is for the plain loops within."""
    x = np.zeros((2, 30, 5), np.int64)
    staged.parallel_for(league(space, 2), sieve, x)
    for i in range(30):
        sign = 1 if i in (2, 5, 7, 11, 13, 17, 19, 23, 29) else -1
        row = [0] * 5 if i % 3 == 0 else [sign * i**j if j != 1 else 0 for j in range(5)]
        assert x[0, i].tolist() == x[1, i].tolist() == row


def polynomials(team, coefficients, values):
    row = team.league_rank
    for i in es.TeamVectorRange(team, values.extent(1)):
        powers = es.local(4)
        powers[0] = 1
        for k in range(1, 4):
            powers[k] = powers[k - 1] * i
        total = 0.0
        for k in range(4):
            total += powers[k] * coefficients[row, k]
        values[row, i] = total


def test_each_lane_has_its_own_variables_and_private_arrays(space):
    coefficients, values = small_integers((3, 4)), np.zeros((3, 50))
    staged.parallel_for(league(space, 3), polynomials, coefficients, values)
    assert (values == coefficients @ np.vander(np.arange(50.0), 4, increasing=True).T).all()


def scaled(i, j, x, factor):
    x[i, j] *= factor


def with_functions(team, x, factor):
    """The same three loops as calls of parallel_for."""
    n, m = x.shape

    def row(i):
        es.parallel_for(es.ThreadVectorRange(team, m), lambda j: scaled(i, j, x, factor))

    es.parallel_for(es.TeamThreadRange(team, n), row)
    team.barrier()
    es.parallel_for(es.TeamVectorMDRange(team, n, m), scaled, x, factor)
    team.barrier()

    def shift(j, amount):
        x[0, j] += amount

    es.parallel_for(es.TeamVectorRange(team, m), shift, 0.5)


def test_nested_parallel_for_takes_functions_as_a_launch_does(space):
    x = small_integers((9, 11))
    expected = x * 9
    expected[0] += 0.5
    staged.parallel_for(league(space, 1), with_functions, x, 3.0)
    assert (x == expected).all()


def column_of(team, x, row):
    """A helper with ranges of its own."""
    for i in es.TeamThreadRange(team, x.extent(1)):
        for j in es.ThreadVectorRange(team, x.extent(2)):
            x[row, i, j] += 1000


def layouts(team, a, b, c):
    column_of(team, a, team.league_rank)
    column_of(team, b, team.league_rank)
    for i in es.TeamThreadRange(team, a.extent(1)):
        for j in es.ThreadVectorRange(team, a.extent(2)):
            c[team.league_rank, i, j] = a[team.league_rank, i, j] + b[team.league_rank, i, j]


def test_views_of_any_layout_and_dtype(space):
    shape = (3, 5, 12)
    rng = np.random.default_rng(3)
    A, B = (rng.integers(-9, 10, shape) for _ in range(2))
    a = es.View(shape, es.int16, space=space, layout="left")
    b = es.View((3, 10, 12), es.float32, space=space)
    c = es.View(shape, es.int32, space=space, layout="left")
    es.deep_copy(a, np.asfortranarray(A.astype("i2")))
    es.deep_copy(b, np.repeat(B, 2, 1).astype("f4"))
    es.parallel_for(league(space, 3), layouts, a, b[:, ::2, :], c)
    np.testing.assert_array_equal(staged.fetch(c), A + B + 2000)
    expected = np.repeat(B, 2, 1)
    expected[:, ::2] += 1000
    np.testing.assert_array_equal(staged.fetch(b), expected)


def histogram(team, x, counts):
    for i in es.TeamThreadRange(team, x.extent(0)):
        for j in es.ThreadVectorRange(team, x.extent(1)):
            es.atomic_add(counts, (team.league_rank, x[i, j]), 1)


def test_atomic_steps_of_lanes(space):
    needs_atomic(space, 4)
    x = np.random.default_rng(1).integers(0, 7, (23, 17))
    counts = np.zeros((2, 7), np.int32)
    staged.parallel_for(league(space, 2), histogram, x, counts)
    assert counts.tolist() == [np.bincount(x.ravel(), minlength=7).tolist()] * 2

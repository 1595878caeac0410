"""Programs of teams: the exercises of Kokkos' tutorial, and what else teams are for.

SOURCES.md says where the algorithms come from.
"""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import interpreted

from ..teams.shapes import league

AUTO = ("auto", "auto")


# -- Kokkos' tutorial: y^T A x -------------------------------------------------------------------


def threads_only(team, A, x, y):
    """The exercise team_policy: a row for each team, its columns for the threads."""
    row = team.league_rank
    total = es.parallel_reduce(
        es.TeamThreadRange(team, A.extent(1)), lambda column: A[row, column] * x[column]
    )
    return y[row] * total


def with_lanes(team, A, x, y):
    """The exercise team_vector_loop: elements for teams, rows for threads, columns for lanes."""
    e = team.league_rank

    def of_row(row):
        total = es.parallel_reduce(
            es.ThreadVectorRange(team, A.extent(2)), lambda column: A[e, row, column] * x[e, column]
        )
        return y[e, row] * total

    return es.parallel_reduce(es.TeamThreadRange(team, A.extent(1)), of_row)


def with_scratch(team, A, x, y):
    """The exercise team_scratch_memory: the same, with a copy of x in fast memory."""
    e, columns = team.league_rank, A.extent(2)
    held = team.scratch(columns, x.dtype)
    if team.team_rank == 0:
        for column in es.ThreadVectorRange(team, columns):
            held[column] = x[e, column]
    team.barrier()

    def of_row(row):
        total = es.parallel_reduce(
            es.ThreadVectorRange(team, columns), lambda column: A[e, row, column] * held[column]
        )
        return y[e, row] * total

    return es.parallel_reduce(es.TeamThreadRange(team, A.extent(1)), of_row)


def ones(space, shape):
    made = es.View(shape, space=space)
    es.deep_copy(made, 1.0)
    return made


def answers(space, shape, launches):
    """Results of kernels with teams of some shapes: with ones everywhere, the elements of A."""
    policies = [(league(space, shape[0], sizes), kernel) for kernel, sizes in launches]
    *rows, columns = shape
    A, x, y = ones(space, shape), ones(space, (*rows[:-1], columns)), ones(space, rows)
    return {es.parallel_reduce(policy, kernel, A, x, y) for policy, kernel in policies}


def test_the_tutorial_s_team_policy(space):
    shape = (40, 25) if interpreted(space) else (4096, 1024)
    assert answers(space, shape, [(threads_only, AUTO)]) == {shape[0] * shape[1]}


BATCHES = [(with_lanes, AUTO), (with_lanes, (4, 8)), (with_scratch, AUTO), (with_scratch, (4, 8))]


def test_the_tutorial_s_batches(space):
    shape = (3, 6, 10) if interpreted(space) else (16, 256, 1024)
    assert answers(space, shape, BATCHES) == {np.prod(shape)}


@pytest.mark.slow
def test_the_tutorial_s_batches_in_their_full_size(space):
    """Two gigabytes."""
    if interpreted(space):
        pytest.skip(f"space '{space.name}' takes hours")
    assert answers(space, (1024, 256, 1024), BATCHES) == {268_435_456}


# -- sums of rows of sums --------------------------------------------------------------------------


def nested_sums(team, x, rows, planes):
    """What PyKokkos' tests of hierarchies compute: for each plane the sum of its rows' maxima."""
    e = team.league_rank

    def row(i):
        total = es.parallel_reduce(es.ThreadVectorRange(team, x.extent(2)), lambda j: x[e, i, j])
        most = es.parallel_reduce(
            es.ThreadVectorRange(team, x.extent(2)), lambda j: x[e, i, j], reducer=es.Max
        )
        rows[e, i] = total - most
        return most

    total = es.parallel_reduce(es.TeamThreadRange(team, x.extent(1)), row)
    if es.single(es.PerTeam(team)):
        planes[e] = total


def test_sums_of_rows_within_sums_of_planes(space):
    x = np.random.default_rng(1).integers(-99, 100, (9, 14, 31))
    rows, planes = np.zeros((9, 14), np.int64), np.zeros(9, np.int64)
    staged.parallel_for(league(space, 9, (4, 8)), nested_sums, x, rows, planes)
    assert (rows == x.sum(2) - x.max(2)).all()
    assert (planes == x.max(2).sum(1)).all()


# -- sorting ---------------------------------------------------------------------------------------


def bitonic_sort(team, a):
    """Batcher 1968: arrays of 256 numbers, each sorted by a team in its scratch."""
    row, n = team.league_rank, a.extent(1)
    held = team.scratch(n, a.dtype)
    for i in es.TeamVectorRange(team, n):
        held[i] = a[row, i]
    team.barrier()
    length = 2
    while length <= n:
        distance = length // 2
        while distance > 0:
            for pair in es.TeamVectorRange(team, n // 2):
                low = 2 * distance * (pair // distance) + pair % distance
                high = low + distance
                x, y = held[low], held[high]
                if (x > y) == (low & length == 0):
                    held[low] = y
                    held[high] = x
            team.barrier()
            distance //= 2
        length *= 2
    for i in es.TeamVectorRange(team, n):
        a[row, i] = held[i]


def test_teams_sort_arrays_of_256_numbers(space):
    count, n = (2, 64) if interpreted(space) else (100, 256)
    a = np.random.default_rng(2).integers(-(2**31), 2**31, (count, n)).astype(np.int32)
    a[0] = np.arange(n)[::-1] // 3
    expected = np.sort(a, axis=1)
    staged.parallel_for(league(space, count, (32, 4)), bitonic_sort, a)
    assert (a == expected).all()


# -- matrices --------------------------------------------------------------------------------------

TILE = 8


def tiled_product(team, A, B, C):
    """C = A B by tiles, as in every guide to GPUs: a tile of C for each team."""
    n, m, depth = C.extent(0), C.extent(1), A.extent(1)
    across = (m + TILE - 1) // TILE
    row, column = team.league_rank // across * TILE, team.league_rank % across * TILE
    a, b, c = team.scratch((TILE, TILE)), team.scratch((TILE, TILE)), team.scratch((TILE, TILE))
    for i, j in es.TeamVectorMDRange(team, TILE, TILE):
        c[i, j] = 0.0
    for start in range(0, depth, TILE):
        for i, j in es.TeamVectorMDRange(team, TILE, TILE):
            a[i, j] = A[row + i, start + j] if row + i < n and start + j < depth else 0.0
            b[i, j] = B[start + i, column + j] if start + i < depth and column + j < m else 0.0
        team.barrier()
        for i, j in es.TeamVectorMDRange(team, TILE, TILE):
            for k in range(TILE):
                c[i, j] += a[i, k] * b[k, j]
        team.barrier()
    for i, j in es.TeamVectorMDRange(team, TILE, TILE):
        if row + i < n and column + j < m:
            C[row + i, column + j] = c[i, j]


def test_matrices_are_multiplied_by_tiles(space):
    n, m, depth = (9, 10, 11) if interpreted(space) else (50, 43, 37)
    rng = np.random.default_rng(3)
    A, B = (rng.integers(-9, 10, s).astype(float) for s in ((n, depth), (depth, m)))
    C = np.full((n, m), np.nan)
    tiles = -(-n // TILE) * -(-m // TILE)
    staged.parallel_for(league(space, tiles, (8, 8)), tiled_product, A, B, C)
    assert (C == A @ B).all()


def factorise(team, A):
    """LU without pivoting of many matrices, each by a team (Golub and Van Loan, 3.2)."""
    e, n = team.league_rank, A.extent(1)
    for k in range(n - 1):
        for i in es.TeamVectorRange(team, k + 1, n):
            A[e, i, k] /= A[e, k, k]
        team.barrier()
        for i in es.TeamThreadRange(team, k + 1, n):
            for j in es.ThreadVectorRange(team, k + 1, n):
                A[e, i, j] -= A[e, i, k] * A[e, k, j]
        team.barrier()


def test_a_batch_of_matrices_is_factorised(space):
    """Of factors with whole numbers, so that each step is exact."""
    count, n = (2, 6) if interpreted(space) else (20, 24)
    rng = np.random.default_rng(4)
    lower = np.tril(rng.integers(-1, 2, (count, n, n)).astype(float), -1)
    upper = np.triu(rng.integers(-2, 3, (count, n, n)).astype(float), 1)
    upper += np.eye(n) * rng.choice([1.0, -1.0], (count, n))[:, None]
    A = (lower + np.eye(n)) @ upper
    staged.parallel_for(league(space, count, (4, 8)), factorise, A)
    np.testing.assert_array_equal(A, lower + upper)


def spmv(team, start, columns, values, x, y, rows_of_a_team):
    """A sparse matrix in CSR form: rows for threads, their elements for lanes."""
    first = team.league_rank * rows_of_a_team

    def element(k):
        return values[k] * x[columns[k]]

    for i in es.TeamThreadRange(team, first, min(first + rows_of_a_team, y.extent(0))):
        begin, end = start[i], start[i + 1]
        y[i] = es.parallel_reduce(es.ThreadVectorRange(team, begin, end), element)


def test_a_sparse_matrix_times_a_vector(space):
    n = 30 if interpreted(space) else 1003
    rng = np.random.default_rng(5)
    dense = np.where(rng.random((n, n)) < 0.05, rng.integers(-9, 10, (n, n)), 0).astype(float)
    dense[n // 2] = 0
    dense[3] = 1
    rows, columns = np.nonzero(dense)
    start = np.searchsorted(rows, np.arange(n + 1)).astype(np.int32)
    x, y = rng.integers(-9, 10, n).astype(float), np.full(n, np.nan)
    values, columns = dense[rows, columns], columns.astype(np.int32)
    policy = league(space, -(-n // 16), (4, 8))
    staged.parallel_for(policy, spmv, start, columns, values, x, y, 16)
    assert (y == dense @ x).all()


# -- a stencil -------------------------------------------------------------------------------------


def smoothed(team, a, b, n, m):
    """A triangular filter with a halo in scratch; a thread for each point."""
    held = team.scratch(team.team_size + 2 * m)
    first = team.league_rank * team.team_size - m
    for k in es.TeamThreadRange(team, held.extent(0)):
        held[k] = a[(first + k + n) % n]
    team.barrier()
    i = team.league_rank * team.team_size + team.team_rank
    if i < n:
        b[i] = es.parallel_reduce(
            es.ThreadVectorRange(team, 2 * m + 1),
            lambda k: held[team.team_rank + k] * (m - abs(k - m)),
        )


def test_a_filter_with_a_halo_in_scratch(space):
    n, m = 201, 7
    a = np.random.default_rng(6).integers(-99, 100, n).astype(float)
    b = np.zeros(n)
    threads = league(space, 1, (32, 2)).team_size
    policy = league(space, -(-n // threads), (threads, 2))
    staged.parallel_for(policy, smoothed, a, b, n, m)
    weights = m - np.abs(np.arange(-m, m + 1))
    expected = sum(w * np.roll(a, -k) for k, w in zip(range(-m, m + 1), weights, strict=True))
    assert (b == expected).all()

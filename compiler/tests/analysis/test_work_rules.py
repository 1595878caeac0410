"""Work of what depends on data, of teams, and of launches that nobody could run in a test."""

from __future__ import annotations

import numpy as np
import pytest
from counted_runs import on, same, view, work_and_run

import execspace as es
from execspace.launch.prepare import planned
from execspace_compiler.analysis.work import work_of

# -- what depends on data --------------------------------------------------------------------------


def spmv(i, row, column, value, x, y):
    total = 0.0
    for k in range(row[i], row[i + 1]):
        total += value[k] * x[column[k]]
    y[i] = total


def test_rows_of_a_sparse_matrix_are_taken_to_be_all_of_it():
    row = view(5, dtype="int32")
    es.deep_copy(row, np.array([0, 2, 3, 3, 7], "int32"))
    column = view(7, dtype="int64")
    es.deep_copy(column, np.array([0, 3, 1, 2, 1, 0, 3]))
    work, run = work_and_run(on(4), spmv, row, column, view(7), view(4), view(4))
    same(work, run, moved=False)
    assert work.total_flops == 14 and work.moved == run.moved
    assert not work.exact and "depends on data" in work.notes[0]


def chained(i, A, B):
    while A[i] > 1.0:
        A[i] *= 0.5
    if B[i] > 0:
        B[i] += 1.0
    for k in range(int(B[i])):
        A[i] -= k


def test_rules_for_what_depends_on_data_are_named(line):
    A, B = view(4), view(4)
    found = planned(on(4), chained, (A, B), "for", None)
    work = work_of(found.plan.lowered, found.bounds, (A, B))
    assert work.flops == {"float64": 4 * (1 + 0.5 + 1)}
    assert work.notes == (
        f"line {line(chained, 'while')}: a while loop is counted once",
        f"line {line(chained, 'if B')}: both arms of a condition on data count half",
        f"line {line(chained, 'for k')}: how often the loop over 'k' runs depends on data: counted "
        f"once",
    )
    assert not work.exact


def searched(i, A, x):
    for k in range(8):
        if A[k] > x:
            break
        A[k] += 1.0


def test_a_loop_that_may_be_left_early_counts_to_its_end():
    A = view(8)
    found = planned(on(2), searched, (A, 1.0), "for", None)
    work = work_of(found.plan.lowered, found.bounds, (A, 1.0))
    assert any("left early" in note for note in work.notes)


def gathered(i, A, at, B):
    B[i] = A[at[i]]


def test_places_from_data_count_once_each_and_at_most_all():
    A, at, B = view(3), view(8, dtype="int64"), view(8)
    found = planned(on(8), gathered, (A, at, B), "for", None)
    work = work_of(found.plan.lowered, found.bounds, (A, at, B))
    assert (work.loaded, work.moved) == (128, 3 * 8 + 64 + 64)
    assert "no box" in work.notes[0]


# -- teams -----------------------------------------------------------------------------------------


def row_sums(team, A, x, y):
    row = team.league_rank
    total = es.parallel_reduce(es.TeamThreadRange(team, A.extent(1)), lambda j: A[row, j] * x[j])
    if team.team_rank == 0:
        y[row] = total


@pytest.mark.parametrize("threads", [1, 4])
def test_what_threads_share_out_counts_once_for_a_team(threads):
    A, x, y = view(3, 7), view(7), view(3)
    policy = es.TeamPolicy(3, threads, space="oracle")
    found = planned(policy, row_sums, (A, x, y), "for", None)
    work = found.plan.work(found.bounds, (A, x, y))
    assert work.calls == 3 * threads
    # Each thread joins what it has, then the threads join what they have.
    assert work.flops == {"float64": 3 * (2 * 7 + threads - 1)}
    assert (work.loaded, work.stored) == (3 * 7 * 16, 3 * 8)
    assert work.moved == 8 * (21 + 7 + 3) and work.exact


def blocked(team, A):
    part = team.scratch(4, es.float64)
    for j in es.TeamThreadRange(team, 4):
        part[j] = A[team.league_rank, j]
    team.barrier()
    for j in es.TeamThreadRange(team, 4):
        for k in es.ThreadVectorRange(team, 2):
            A[team.league_rank, j] += part[3 - j] * k


def test_scratch_memory_is_no_memory():
    A = view(2, 4)
    found = planned(es.TeamPolicy(2, 2, space="oracle"), blocked, (A,), "for", None)
    work = found.plan.work(found.bounds, (A,))
    assert work.loaded == 8 * (8 + 16) and work.stored == 8 * 16 and work.moved == 128
    assert work.flops == {"float64": 2 * 4 * 2 * 2}


# -- large launches --------------------------------------------------------------------------------


def triangular(i, A, x, y):
    total = 0.0
    for j in range(i + 1):
        total += A[i, j] * x[j]
    y[i] = total / A[i, i]


def test_large_ranges_are_counted_and_not_run():
    """Conditions and triangular loops of a billion indices take no time that depends on them."""
    found = planned(on(8), triangular, (view(8, 8), view(8), view(8)), "for", None)
    work = work_of(found.plan.lowered, (0, 1 << 20), (view(8, 8), view(8), view(8)))
    n = 1 << 20
    assert work.total_flops == 2 * (n * (n + 1) // 2) + n


def test_beyond_a_million_rows_a_triangle_is_counted_at_some_of_them():
    args = view(8, 8), view(8), view(8)
    found = planned(on(8), triangular, args, "for", None)
    n = 1 << 24
    work = work_of(found.plan.lowered, (0, n), args)
    assert work.total_flops == pytest.approx(n * (n + 1) + n, rel=1e-6)
    assert any("evenly spread" in note for note in work.notes)


# -- spaces ----------------------------------------------------------------------------------------


@pytest.fixture(params=["serial", "openmp", "opencl", "cuda"])
def usable(request):
    """A space that can be used here."""
    rows = {row.name: row for row in es.spaces()}
    row = rows.get(request.param)
    if row is None or not row.usable:
        pytest.skip(f"no space '{request.param}'{'' if row is None else ': ' + row.reason}")
    return es.space(request.param)


def heat_of(space):
    A, B = (es.View((6, 7), space=space) for _ in range(2))
    return es.MDRangePolicy((1, 1), (5, 6), tile=(2, 4), space=space), across, (A, B), None


def sums_of(space):
    A, x, y = (es.View(shape, space=space) for shape in ((3, 7), 7, 3))
    return es.TeamPolicy(3, space=space), row_sums, (A, x, y), None


def own_square(i, x):
    return x[i] * x[i]


def norm_of(space):
    return es.RangePolicy(9, space=space), own_square, (es.View(9, space=space),), es.Sum()


def across(i, j, A, B):
    B[i, j] = A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1]


@pytest.mark.parametrize("launch", [heat_of, sums_of, norm_of])
def test_every_space_counts_the_same(usable, launch):
    policy, kernel, args, reducer = launch(usable)
    found = planned(policy, kernel, args, "for", reducer)
    work = found.plan.work(found.bounds, args)
    threads = found.plan.team_sizes().team_size if launch is sums_of else 1
    policy, kernel, others, reducer = launch(es.space("oracle"))
    oracle = planned(policy, kernel, others, "for", reducer)
    assert work == work_of(oracle.plan.lowered, oracle.bounds, others, threads)
    assert work.exact and work.moved > 0

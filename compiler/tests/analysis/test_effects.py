"""What a kernel does to its Views, as tuning has to know it."""

import numpy as np
import pytest

import execspace as es
from execspace.launch.prepare import planned


def effects(kernel, *args, policy=4, **options):
    policy = es.RangePolicy(policy, space="oracle") if isinstance(policy, int) else policy
    pattern, reducer = options.get("pattern", "for"), options.get("reducer")
    return planned(policy, kernel, args, pattern, reducer, options.get("out")).plan.effects


A, x, y = np.zeros((4, 5)), np.zeros(4), np.zeros(4)


def test_what_is_stored_is_written_and_what_is_loaded_is_read():
    def body(i, x, y):
        y[i] = x[i]

    found = effects(body, x, y)
    assert (found.written, found.read) == ({1}, {0})


def test_an_atomic_step_reads_and_writes():
    found = effects(lambda i, x: es.atomic_add(x, 0, 1.0), x)
    assert (found.written, found.read) == ({0}, {0})


@es.function
def put(view, i, value):
    view[i] = value


@es.function
def put_row(view, i, value):
    put(view[i, :], 0, value)


@es.function
def get(view, i):
    return view[i]


@es.function
def get_twice(view, i):
    return get(view, i) + get(view, i)


def test_a_view_that_a_helper_gets_counts_as_read_and_as_written_where_it_is_stored_into():
    """By the helper itself, by one that it calls, through a row; in kernels of teams, too."""

    def body(i, x, y, A):
        put(y, i, get_twice(x, i))
        put_row(A, i, get(x, 0))

    assert effects(body, x, y, A) == effects(body, x, y, A)
    assert effects(body, x, y, A).written == {1, 2}
    assert 0 in effects(body, x, y, A).read
    assert effects(lambda i, x: put(x, i, 1.0), x).written == {0}
    assert effects(lambda i, x: get_twice(x, i), x, reducer=es.Sum, pattern="reduce").written == (
        frozenset()
    )

    def of_teams(team, x, y):
        put(y, team.league_rank, get_twice(x, team.team_rank))

    policy = es.TeamPolicy(4, 1, space="oracle")
    assert effects(of_teams, x, y, policy=policy).written == {1}


def test_captured_views_and_results_come_after_the_arguments():
    captured = es.View(4, label="captured")

    def body(i, y):
        captured[i] = y[i]
        return 1.0

    found = effects(body, y, reducer=es.Sum, out=es.View((), label="out"))
    assert (found.written, found.read) == ({1, 2}, {0})


def test_prints_are_told():
    assert effects(lambda i: es.printf("%d\n", i)).prints
    assert not effects(lambda i: None).prints


# -- whether places in Views depend on the size of teams -----------------------------------------


def numbered(team, y):
    i = team.league_rank * team.team_size + team.team_rank
    y[i] = i


def guarded(team, y):
    i = team.league_rank * team.team_size + team.team_rank
    if i < y.extent(0):
        y[i] += 1.0


def shared_out(team, A):
    for k in es.TeamThreadRange(team, A.extent(1)):
        A[team.league_rank, k] = 1.0


def strided(team, A):
    for k in range(team.team_rank, A.extent(1), team.team_size):
        A[team.league_rank, k] = 1.0


def up_to_the_size(team, A):
    for k in range(team.team_size):
        A[team.league_rank, k] = 1.0


def scratch(team, A):
    part = team.scratch(team.team_size, es.float64)
    part[team.team_rank] = 1.0
    team.barrier()
    A[team.league_rank, 0] = part[0]


@pytest.mark.parametrize(
    ("kernel", "view", "expected"),
    [
        (numbered, y, True),
        (guarded, y, True),
        (up_to_the_size, A, True),
        (shared_out, A, False),
        (strided, A, False),
        (scratch, A, False),
    ],
)
def test_places_that_depend_on_the_size_of_teams(kernel, view, expected):
    policy = es.TeamPolicy(4, space="oracle")
    assert effects(kernel, view, policy=policy).team_sized is expected

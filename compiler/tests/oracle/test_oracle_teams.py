"""Teams on the oracle: what each statement means, and what may go wrong elsewhere is told."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import pytest

import execspace as es
from execspace_compiler.teams import checks

SIZES = [(1, 1), (3, 1), (4, 2)]
sizes = pytest.mark.parametrize(("threads", "lanes"), SIZES)


def league(teams, threads="auto", lanes="auto"):
    return es.TeamPolicy(teams, threads, lanes, space="oracle")


class Digits(es.Reducer):
    """Writes numbers one after the other: the order of joins shows."""

    identity = (0, 1)

    def join(a, b):
        return a[0] * b[1] + b[0], a[1] * b[1]


def digits(numbers):
    return int("0" + "".join(map(str, numbers)))


def owner(u, threads, lanes):
    """The thread that has iteration u of a range over all lanes."""
    return u % (threads * lanes) // lanes


def in_order_of_threads(count, threads, lanes=1):
    return sorted(range(count), key=lambda u: (owner(u, threads, lanes), u))


# -- nested ranges --------------------------------------------------------------------------------


@sizes
def test_iterations_are_shared_out(threads, lanes):
    def kernel(team, by_thread, by_lane, grid):
        for i in es.TeamThreadRange(team, 2, 11):
            by_thread[i] = team.team_rank
        for i in es.TeamVectorRange(team, 2, 11):
            by_lane[i] = team.team_rank
        for i, j, k in es.TeamVectorMDRange(team, 2, 3, 2):
            grid[i, j, k] = team.team_rank

    by_thread, by_lane, grid = np.full(12, -1), np.full(12, -1), np.full((2, 3, 2), -1)
    es.parallel_for(league(1, threads, lanes), kernel, by_thread, by_lane, grid)
    assert list(by_thread) == [-1, -1, *(u % threads for u in range(9)), -1]
    assert list(by_lane) == [-1, -1, *(owner(u, threads, lanes) for u in range(9)), -1]
    assert list(grid.ravel()) == [owner(u, threads, lanes) for u in range(12)]


def row_sum(team, A, i):
    return es.parallel_reduce(es.ThreadVectorRange(team, A.extent(1)), lambda j: A[i, j])


@sizes
def test_ranges_over_lanes_are_loops_of_a_thread(threads, lanes):
    def kernel(team, A, sums):
        for i in es.TeamThreadRange(team, A.extent(0)):
            for j in es.ThreadVectorRange(team, 1, A.extent(1)):
                if j == 2:
                    continue
                A[i, j] += 10 * i + j
            for j, k in es.ThreadVectorMDRange(team, 2, 2):
                A[i, 0] += 2 * j + k
            sums[i] = row_sum(team, A, i)

    A, sums = np.zeros((5, 4)), np.zeros(5)
    es.parallel_for(league(1, threads, lanes), kernel, A, sums)
    assert A.tolist() == [[6, 10 * i + 1, 0, 10 * i + 3] for i in range(5)]
    assert list(sums) == [20 * i + 10 for i in range(5)]


def test_ranges_may_be_empty():
    def kernel(team, n):
        total = es.parallel_reduce(es.TeamVectorMDRange(team, n, 3), lambda i, j: 1)
        return total + es.parallel_scan(es.TeamThreadRange(team, n), lambda i, prefix, final: 1)

    assert es.parallel_reduce(league(2, 3), kernel, 0) == 0
    assert es.parallel_reduce(league(2, 3), kernel, -4) == 0

    def counts(team, n, m):
        return es.parallel_reduce(es.TeamThreadMDRange(team, n, m), lambda i, j: 1)

    assert [es.parallel_reduce(league(1, 3), counts, *n) for n in ((2, 3), (-2, -3))] == [6, 0]


# -- what threads join ----------------------------------------------------------------------------


@sizes
def test_states_are_joined_in_order_of_threads(threads, lanes):
    def kernel(team, out):
        mine = es.parallel_reduce(es.TeamThreadRange(team, 9), lambda i: (i, 10), reducer=Digits)
        out[0] = mine[0]
        all_lanes = es.parallel_reduce(
            es.TeamVectorRange(team, 9), lambda i: (i, 10), reducer=Digits
        )
        out[1] = all_lanes[0]
        if team.team_rank == 0:
            one = es.parallel_reduce(
                es.ThreadVectorRange(team, 9), lambda i: (i, 10), reducer=Digits
            )
            out[2] = one[0]
        out[3] = team.reduce((team.team_rank + 1, 10), Digits)[0]

    out = np.zeros(4, np.int64)
    es.parallel_for(league(1, threads, lanes), kernel, out)
    assert list(out) == [
        digits(in_order_of_threads(9, threads)),
        digits(in_order_of_threads(9, threads, lanes)),
        12345678,
        digits(range(1, threads + 1)),
    ]


@sizes
def test_reducers_of_nested_ranges(threads, lanes):
    values = np.array([3.0, 9, 4, 9, 1, 5, 1])

    def kernel(team, values, out):
        n = values.extent(0)
        out[0] = es.parallel_reduce(
            es.TeamVectorRange(team, n), lambda i: values[i], reducer=es.Max
        )
        most = es.parallel_reduce(
            es.TeamThreadRange(team, n), lambda i: (values[i], i), reducer=es.MaxLoc
        )
        out[1] = most.loc
        count, least = es.parallel_reduce(
            es.TeamVectorRange(team, n),
            lambda i: (1, (values[i], i)),
            reducer=(es.Sum, es.MinLoc),
        )
        out[2], out[3], out[4] = count, least.val, least.loc
        out[5] = es.parallel_reduce(
            es.TeamThreadRange(team, n),
            lambda i: 1e16 if i == 0 else 1.0,
            reducer=es.Sum(accuracy="high"),
        )

    out = np.zeros(6)
    es.parallel_for(league(1, threads, lanes), kernel, values, out)
    assert list(out) == [9, 1, 7, 1, 4, 1e16 + 6]


@sizes
def test_scans_go_in_order_of_indices(threads, lanes):
    def kernel(team, by_thread, by_lane, by_one, totals):
        def first(i, prefix, final):
            if final:
                by_thread[i] = prefix[0]
            return i, 10

        def second(i, prefix, final):
            if final:
                by_lane[i] = prefix[0]
            return i, 10

        def third(i, prefix, final):
            if final:
                by_one[i] = prefix[0]
            return i, 10

        total = es.parallel_scan(es.TeamThreadRange(team, 1, 10), first, reducer=Digits)
        totals[0] = total[0]
        total = es.parallel_scan(es.TeamVectorRange(team, 1, 10), second, reducer=Digits)
        totals[1] = total[0]
        if team.team_rank == team.team_size - 1:
            total = es.parallel_scan(es.ThreadVectorRange(team, 1, 10), third, reducer=Digits)
            totals[2] = total[0]

    found = [np.zeros(10, np.int64) for _ in range(3)]
    totals = np.zeros(3, np.int64)
    es.parallel_for(league(1, threads, lanes), kernel, *found, totals)
    for prefixes in found:
        assert list(prefixes) == [0, *(digits(range(1, i)) for i in range(1, 10))]
    assert list(totals) == [123456789] * 3


@sizes
def test_a_scan_may_work_with_lanes_and_several_reducers(threads, lanes):
    def kernel(team, A, out):
        def row(i, prefix, final):
            total = es.parallel_reduce(es.ThreadVectorRange(team, A.extent(1)), lambda j: A[i, j])
            if final:
                out[i, 0], out[i, 1] = prefix
            return total, total

        total = es.parallel_scan(
            es.TeamThreadRange(team, A.extent(0)), row, reducer=(es.Sum, es.Max)
        )
        return total[0] + 100 * total[1]

    A, out = np.arange(10.0).reshape(5, 2), np.zeros((5, 2))
    assert es.parallel_reduce(league(1, threads, lanes), kernel, A, out) == 45 + 1700
    assert out.tolist() == [[0, -np.inf], [1, 1], [6, 5], [15, 9], [28, 13]]


def test_scans_of_members_and_broadcasts():
    def kernel(team, out):
        before = team.scan((team.team_rank + 1, 10), Digits)
        last = team.broadcast((before[0], 7.5), team.team_size - 1)
        out[team.team_rank] = before[0]
        return last[0] + last[1]

    out = np.zeros(4, np.int64)
    assert es.parallel_reduce(league(1, 4), kernel, out) == 123 + 7.5
    assert list(out) == [0, 1, 12, 123]


def test_once_for_a_team_or_a_thread():
    def kernel(team, x):
        if es.single(es.PerTeam(team)):
            x[0] += 1
        value, place = es.single(es.PerTeam(team), lambda: (x[0] + 1.5, 3))
        if es.single(es.PerThread(team)):
            x[team.team_rank + 1] = value * place
        return team.reduce(es.single(es.PerThread(team), lambda: team.team_rank))

    x = np.zeros(4)
    assert es.parallel_reduce(league(1, 3), kernel, x) == 3
    assert list(x) == [1, 7.5, 7.5, 7.5]


# -- the league -----------------------------------------------------------------------------------


@sizes
def test_a_team_contributes_once(threads, lanes):
    def kernel(team, values):
        mine = es.parallel_reduce(es.TeamVectorRange(team, 3), lambda i: values[i])
        return mine + team.league_rank, team.league_rank

    values = np.array([3.0, 4, 5])
    policy = league(5, threads, lanes)
    assert es.parallel_reduce(policy, kernel, values, reducer=es.MaxLoc) == (16, 4)
    assert es.parallel_reduce(policy, kernel, values, reducer=(es.Sum, es.Max)) == (70, 4)
    found = es.View((), space="serial"), es.View((), es.int64, space="serial")
    assert es.parallel_reduce(policy, kernel, values, reducer=(es.Sum, es.Max), out=found) is None
    assert (found[0][()], found[1][()]) == (70, 4)
    assert es.parallel_reduce(league(0), kernel, values, reducer=(es.Sum, es.Prod)) == (0, 1)


@sizes
def test_scans_over_the_league(threads, lanes):
    def kernel(team, prefix, final, sizes, starts):
        if final and team.team_rank == 0:
            starts[team.league_rank] = prefix[0]
        total = team.reduce(sizes[team.league_rank]) // team.team_size
        return total, 10

    sizes, starts = np.array([3, 1, 4, 1, 5]), np.zeros(5, np.int64)
    found = es.parallel_scan(league(5, threads, lanes), kernel, sizes, starts, reducer=Digits)
    assert found == (31415, 10**5)
    assert list(starts) == [0, 3, 31, 314, 3141]


def test_the_numbers_of_a_team():
    def kernel(team, found):
        found[team.league_rank, team.team_rank, 0] = team.league_size
        found[team.league_rank, team.team_rank, 1] = team.team_size

    found = np.zeros((2, 4, 2), np.int64)
    es.parallel_for(league(2), kernel, found)
    assert (found[..., 0] == 2).all()
    assert (found[..., 1] == 4).all()


# -- control flow ---------------------------------------------------------------------------------


def reversed_by(team, x, n, held):
    if n == 0:
        return 0.0
    for i in es.TeamThreadRange(team, n):
        held[i] = x[n - 1 - i]
    team.barrier()
    for i in es.TeamThreadRange(team, n):
        x[i] = held[i]
    team.barrier()
    return team.reduce(x[0])


@pytest.mark.parametrize("threads", [1, 3, 4])
def test_helpers_wait_for_the_team(threads):
    def kernel(team, x):
        held = team.scratch(x.extent(0))
        total = 0.0
        for n in range(x.extent(0)):
            total += reversed_by(team, x, n, held)
        return total

    x = np.arange(5.0)
    wanted, total = np.arange(5.0), 0.0
    for n in range(1, 5):
        wanted[:n] = wanted[:n][::-1].copy()
        total += threads * wanted[0]
    assert es.parallel_reduce(league(1, threads), kernel, x) == total
    assert list(x) == list(wanted)


def test_whole_teams_leave_early():
    def kernel(team, x):
        if team.league_rank % 2:
            return
        team.barrier()
        for round in range(5):
            if round == team.league_rank:
                break
            team.barrier()
            if es.single(es.PerTeam(team)):
                x[team.league_rank] += 1

    x = np.zeros(5)
    es.parallel_for(league(5, 3), kernel, x)
    assert list(x) == [0, 0, 2, 0, 4]


def test_private_arrays_are_those_of_a_thread():
    def kernel(team, x):
        mine = es.local(3)
        for k in range(3):
            mine[k] = team.team_rank + k
        es.atomic_add(mine, 2, 1.0)
        team.barrier()
        x[team.team_rank] = team.reduce(mine[0]) + 10 * mine[2]

    x = np.zeros(3)
    es.parallel_for(league(1, 3), kernel, x)
    assert list(x) == [33, 43, 53]


def test_printing_comes_in_order_of_teams_and_threads(capsys):
    def kernel(team):
        es.printf("%d.%d ", team.league_rank, team.team_rank)

    es.parallel_for(league(2, 3), kernel)
    assert capsys.readouterr().out == "0.0 0.1 0.2 1.0 1.1 1.2 "


# -- scratch memory -------------------------------------------------------------------------------

particle = np.dtype([("id", np.int32), ("v", np.float64, (2,)), ("z", np.complex128)], align=True)


@sizes
def test_scratch_memory(threads, lanes):
    def kernel(team, x, sums):
        held = team.scratch((x.extent(1), 2), es.float32)
        mine = team.thread_scratch(3, es.int16, level=1)
        for i in es.TeamThreadRange(team, x.extent(1)):
            held[i, 0] = x[team.league_rank, i]
        for k in es.ThreadVectorRange(team, 3):
            mine[k] = team.team_rank * (k + 1)
        team.barrier()
        for i in es.TeamThreadRange(team, x.extent(1)):
            x[team.league_rank, i] = held[x.extent(1) - 1 - i, 0] * 2
        total = es.parallel_reduce(es.ThreadVectorRange(team, 3), lambda k: mine[k])
        sums[team.league_rank, team.team_rank] = total

    x, sums = np.arange(10.0).reshape(2, 5), np.zeros((2, threads))
    es.parallel_for(league(2, threads, lanes), kernel, x, sums)
    assert x.tolist() == [[8, 6, 4, 2, 0], [18, 16, 14, 12, 10]]
    assert sums.tolist() == [[6 * r for r in range(threads)]] * 2


def test_scratch_memory_lasts_as_long_as_its_team():
    def kernel(team, x, again):
        for round in range(3):
            held = team.scratch(1)
            if round == 0 and (team.league_rank == 0 or not again):
                if team.team_rank == 0:
                    held[0] = 5.0
            team.barrier()
            if team.team_rank == 1:
                x[team.league_rank] += held[0]
            team.barrier()

    x = np.zeros(2)
    es.parallel_for(league(2, 3), kernel, x, False)
    assert list(x) == [15, 15]
    with pytest.raises(es.KernelError, match=r"at league_rank 1(.|\n)*is read before it was"):
        es.parallel_for(league(2, 3), kernel, x, True)


def test_records_in_scratch_memory():
    def kernel(team, found, x):
        held = team.scratch(4, particle)
        me, other = team.team_rank, team.team_size - 1 - team.team_rank
        held[me].id = me
        held[me].v[1] = me + 0.5
        held[me].z = 1j
        team.barrier()
        found[me].id = held[other].id
        x[me] = held[other].v[1]
        es.atomic_add(x, 4, held[other].z.imag)

    found, x = np.zeros(4, particle), np.zeros(5)
    es.parallel_for(league(1, 4), kernel, found, x)
    assert list(found["id"]) == [3, 2, 1, 0]
    assert list(x) == [3.5, 2.5, 1.5, 0.5, 4]


def unwritten(team, x):
    at = team.scratch(4, es.int32)
    if team.team_rank == 0:
        at[0] = 1
    team.barrier()
    x[0] = at[0]
    team.barrier()
    x[team.team_rank] = at[1]


def unwritten_by_itself(team, x):
    mine = team.thread_scratch((2, 2))
    if team.team_rank < 2:
        mine[1, 0] = 1.0
    x[team.team_rank] = mine[1, 0]


def unwritten_field(team, x):
    some = team.scratch(4, particle)
    some[team.team_rank].id = 1
    x[team.team_rank] = some[team.team_rank].v[1]


def unwritten_counter(team, x):
    count = team.scratch(1, es.int32)
    es.atomic_add(count, 0, 1)


def unwritten_unnamed(team, x):
    x[0] = team.scratch(1)[0]


@pytest.mark.parametrize(
    ("kernel", "what", "text"),
    [
        (unwritten, "element [1] of scratch 'at'", "x[team.team_rank] = at[1]"),
        (
            unwritten_by_itself, "element [1, 0] of scratch 'mine'",
            "x[team.team_rank] = mine[1, 0]",
        ),
        (
            unwritten_field, "byte 16 of element [0] of scratch 'some'",
            "x[team.team_rank] = some[team.team_rank].v[1]",
        ),
        (unwritten_counter, "element [0] of scratch 'count'", "es.atomic_add(count, 0, 1)"),
        (
            unwritten_unnamed, "element [0] of scratch 'team.scratch(1)'",
            "x[0] = team.scratch(1)[0]",
        ),
    ],
)  # fmt: skip
def test_scratch_memory_holds_nothing_at_first(kernel, what, text, line):
    with pytest.raises(es.KernelError) as error:
        es.parallel_for(league(1, 4), kernel, np.zeros(4))
    number = line(kernel, text)
    assert str(error.value) == (
        f"in kernel '{kernel.__name__}' at league_rank 0\n\n"
        f"{__file__}:{number}:5: {what} is read before it was written\n"
        f"{number:5d} |     {text}\n      |     {'^' * len(text)}\n"
        f"hint: store into all of it first, which holds anything at its begin; and put a "
        f"team.barrier() before reading what other threads store"
    )


def test_atomic_steps_that_need_nothing_of_the_past():
    def kernel(team, x):
        held = team.scratch(1)
        es.atomic_store(held, 0, 2.5)
        team.barrier()
        es.atomic_add(held, 0, 1.0)
        team.barrier()
        x[team.team_rank] = held[0]

    x = np.zeros(3)
    es.parallel_for(league(1, 3), kernel, x)
    assert list(x) == [5.5] * 3


def test_limits_of_scratch_memory():
    def small(team, n):
        team.scratch(n)[0] = 1.0

    def each(team, n):
        team.thread_scratch(n, es.int8, level=1)[0] = 1

    most = 1 << 20
    assert es.space("oracle").team_limits() == es.TeamLimits(1024, 1024, most, (most, 64 * most))
    es.parallel_for(league(1), small, most // 8)
    with pytest.raises(es.LaunchError) as error:
        es.parallel_for(league(1), small, most // 8 + 1)
    assert str(error.value) == (
        "Kernel 'small': a team needs 1048592 bytes of scratch at level 0; space 'oracle' has at "
        "most 1048576 bytes for a team. Use level=1 for what is large, or fewer threads."
    )
    es.parallel_for(league(1, 3), each, 21 * most)
    with pytest.raises(es.LaunchError, match=r"needs 88080384 bytes of scratch at level 1"):
        es.parallel_for(league(1, 4), each, 21 * most)
    with pytest.raises(es.LaunchError, match=r"would have the shape \(-1,\)"):
        es.parallel_for(league(1), small, -1)


# -- races ----------------------------------------------------------------------------------------


def write_write(team, x):
    x[2] = team.team_rank


def read_write(team, x):
    x[team.team_rank] = 1.0 + x[(team.team_rank + 1) % team.team_size]


def write_read(team, x):
    if team.team_rank == 0:
        x[1] = 5.0
    x[team.team_rank + 2] = x[1]


def write_read_of_scratch(team, x):
    at = team.scratch((2, team.team_size))
    at[1, team.team_rank] = 1.0
    x[team.team_rank] = at[1, max(team.team_rank - 1, 0)]


def added_and_read(team, x):
    es.atomic_add(x, 0, 1.0)
    x[1 + team.team_rank] = x[0]


def written_and_added(team, x):
    if team.team_rank == 0:
        x[0] = 1.0
    es.atomic_add(x, 0, 1.0)


def looked_and_written(team, x):
    if team.team_rank == 1:
        x[0] = 1.0
    else:
        x[1] = es.atomic_load(x, 0)


def written_and_looked(team, x):
    if team.team_rank == 0:
        x[0] = 1.0
    else:
        x[1] = es.atomic_load(x, 0)


def added_and_written(team, x):
    if team.team_rank == 1:
        x[0] = 1.0
    else:
        es.atomic_add(x, 0, 1.0)


def added_before_read(team, x):
    if team.team_rank == 0:
        es.atomic_add(x, 0, 1.0)
    else:
        x[1 + team.team_rank] = x[0]


def written_and_set(team, x):
    if team.team_rank == 0:
        x[0] = 1.0
    else:
        es.atomic_store(x, 0, 1.0)


def told_apart_by_a_helper(team, x):
    put(x, 3, team.team_rank)


def put(view, place, value):
    view[place] = value


def twice_the_same_and_then_another(team, x):
    x[0] = 1.0
    x[team.team_rank + 1] = x[0]
    if team.team_rank == 1:
        x[0] = 2.0


RACES = [
    (
        write_write, "writes element [2] of View 'x'", "wrote",
        "x[2] = team.team_rank", "x[2] = team.team_rank",
    ),
    (
        read_write, "writes element [1] of View 'x'", "read",
        "x[team.team_rank] = 1.0", "x[team.team_rank] = 1.0",
    ),
    (
        write_read, "reads element [1] of View 'x'", "wrote",
        "x[team.team_rank + 2] = x[1]", "x[1] = 5.0",
    ),
    (
        write_read_of_scratch, "reads element [1, 0] of scratch 'at'", "wrote",
        "x[team.team_rank] = at", "at[1, team.team_rank] = 1.0",
    ),
    (
        added_and_read, "atomically changes element [0] of View 'x'", "read",
        "es.atomic_add", "x[1 + team.team_rank] = x[0]",
    ),
    (
        written_and_added, "atomically reads element [0] of View 'x'", "wrote",
        "es.atomic_add", "x[0] = 1.0",
    ),
    (
        looked_and_written, "writes element [0] of View 'x'", "atomically read",
        "x[0] = 1.0", "x[1] = es.atomic_load",
    ),
    (
        written_and_looked, "atomically reads element [0] of View 'x'", "wrote",
        "x[1] = es.atomic_load", "x[0] = 1.0",
    ),
    (
        added_and_written, "writes element [0] of View 'x'", "atomically changed",
        "x[0] = 1.0", "es.atomic_add",
    ),
    (
        added_before_read, "reads element [0] of View 'x'", "atomically changed",
        "x[1 + team.team_rank] = x[0]", "es.atomic_add",
    ),
    (
        written_and_set, "atomically changes element [0] of View 'x'", "wrote",
        "es.atomic_store", "x[0] = 1.0",
    ),
    (
        told_apart_by_a_helper, "writes element [3] of View 'x'", "wrote", "", "",
    ),
    (
        twice_the_same_and_then_another, "writes element [0] of View 'x'", "wrote",
        "x[0] = 2.0", "x[0] = 1.0",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kernel", "does", "did", "here", "there"), RACES, ids=[r[0].__name__ for r in RACES]
)
def test_a_missing_barrier_is_told(kernel, does, did, here, there, line):
    with pytest.raises(es.KernelError) as error:
        es.parallel_for(league(2), kernel, np.zeros(8))
    inner = put if kernel is told_apart_by_a_helper else kernel
    here, there = line(inner, here or "view[place]"), line(inner, there or "view[place]")
    head, _, found, _, _, hint = str(error.value).splitlines()
    assert head == f"in kernel '{kernel.__name__}' at league_rank 0"
    assert hint == "hint: put a team.barrier() between the two"
    place, _, message = found.partition(": ")
    assert place.rpartition(":")[0] == f"{__file__}:{here}"
    assert message == f"race: thread 1 of the team {does}, which thread 0 {did} in line {there}"


def test_the_whole_message_of_a_race(line):
    with pytest.raises(es.KernelError) as error:
        es.parallel_for(league(2), write_read, np.zeros(8))
    number = line(write_read, "x[team.team_rank + 2] = x[1]")
    assert str(error.value) == (
        f"in kernel 'write_read' at league_rank 0\n\n"
        f"{__file__}:{number}:5: race: thread 1 of the team reads element [1] of View 'x', which "
        f"thread 0 wrote in line {number - 1}\n"
        f"{number:5d} |     x[team.team_rank + 2] = x[1]\n"
        f"      |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        f"hint: put a team.barrier() between the two"
    )


@pytest.mark.parametrize(
    "kernel", [r[0] for r in RACES if r[0] is not twice_the_same_and_then_another]
)
def test_one_thread_has_no_races(kernel):
    es.parallel_for(league(2, 1), kernel, np.zeros(8))


def by_barrier(team):
    team.barrier()


def by_reduction(team):
    team.reduce(1.0)


def by_nested_reduction(team):
    es.parallel_reduce(es.TeamVectorRange(team, 2), lambda i: i)


def by_scan(team):
    team.scan(1.0)


def by_broadcast(team):
    team.broadcast(1.0, 0)


@pytest.mark.parametrize(
    "wait", [by_barrier, by_reduction, by_nested_reduction, by_scan, by_broadcast]
)
def test_collectives_end_races(wait):
    def kernel(team, x):
        x[team.team_rank] = team.team_rank
        wait(team)
        other = x[(team.team_rank + 1) % team.team_size]
        wait(team)
        x[team.team_rank] = other

    x = np.zeros(4)
    es.parallel_for(league(2), kernel, x)
    assert list(x) == [1, 2, 3, 0]


def test_what_is_no_race():
    def kernel(team, x, y):
        x[0] = 7.0  # the same of all
        x[1 + team.team_rank] = x[0] + y[0]
        es.atomic_add(x, 6, 1.0)
        es.atomic_max(x, 6, 0.0)
        if es.atomic_compare_exchange(x, 7, 0.0, 1.0) == 0.0:
            x[5] = team.team_rank
        for k in range(3):
            x[1 + team.team_rank] += k

    x, y = np.zeros(8), np.ones(1)
    es.parallel_for(league(2), kernel, x, y)
    assert list(x) == [7, 11, 11, 11, 11, 0, 8, 1]


def test_views_of_the_same_memory():
    def kernel(team, x, y):
        x[team.team_rank] = 1.0
        x[4] = y[0]

    x = np.zeros(8)
    es.parallel_for(league(1), kernel, x, np.zeros(1))
    es.parallel_for(league(1), kernel, x, x[7:])
    with pytest.raises(
        es.KernelError, match=r"thread 1 of the team reads element \[0\] of View 'y'"
    ):
        es.parallel_for(league(1), kernel, x, x[:1])


def test_numbers_of_a_record_are_told_apart():
    def kernel(team, some, value):
        if team.team_rank == 0:
            some[1].id = 5
        some[1].z = 2.0
        if team.team_rank < 2:
            some[1].v[1] = value * team.team_rank

    some = np.zeros(2, particle)
    es.parallel_for(league(1), kernel, some, 0.0)
    assert (some[1]["id"], some[1]["z"]) == (5, 2)
    with pytest.raises(es.KernelError) as error:
        es.parallel_for(league(1), kernel, some, 1.0)
    wanted = "race: thread 1 of the team writes byte 16 of element [1] of View 'some', which thread"
    assert wanted in str(error.value)


def test_the_lanes_of_a_thread_do_not_race():
    def kernel(team, x):
        if team.team_rank == 1:
            for i in es.ThreadVectorRange(team, 4):
                x[0] = i
        team.barrier()
        for i in es.TeamVectorRange(team, 2):
            x[1] = i

    x = np.zeros(2)
    es.parallel_for(league(1, 4, 4), kernel, x)
    assert list(x) == [3, 1]


def scan_and_read(team, x, y, wait):
    def body(i, prefix, final):
        if final:
            y[i] = prefix
        return x[i]

    es.parallel_scan(es.TeamThreadRange(team, 4), body)
    if wait:
        team.barrier()
    x[4 + team.team_rank] = y[3 - team.team_rank]


def test_a_scan_ends_with_no_barrier():
    x, y = np.ones(8), np.zeros(4)
    es.parallel_for(league(1), scan_and_read, x, y, True)
    assert list(x[4:]) == [3, 2, 1, 0]
    with pytest.raises(es.KernelError, match=r"thread 2 .* writes element .* which thread 1 read"):
        es.parallel_for(league(1), scan_and_read, x, y, False)


def test_a_scan_begins_with_no_barrier():
    def kernel(team, x):
        x[team.team_rank] = 1.0
        es.parallel_scan(es.TeamThreadRange(team, 4), lambda i, prefix, final: x[3 - i])

    with pytest.raises(es.KernelError, match=r"thread 2 .* writes element .* which thread 1 read"):
        es.parallel_for(league(1), kernel, np.zeros(4))


# -- threads that do not come together ------------------------------------------------------------


@pytest.fixture
def unchecked(monkeypatch):
    """The compiler lets pass what it refuses: barriers that not all threads reach."""
    monkeypatch.setattr(checks, "check_team", lambda *args: None)


def three_ways(team, x):
    if team.team_rank > 2:
        team.barrier()
    elif team.team_rank == 0:
        return
    x[0] = team.reduce(1.0)


def one_leaves(team, x):
    if team.team_rank == 1:
        return
    team.barrier()


def one_goes_round_more_often(team, x):
    for _ in range(2 + team.team_rank // 3):
        team.barrier()


def test_threads_at_different_places(unchecked, line):
    with pytest.raises(es.KernelError) as error:
        es.parallel_for(league(2, 6), three_ways, np.zeros(8))
    last, first = line(three_ways, "team.reduce"), line(three_ways, "team.barrier")
    assert str(error.value) == (
        f"in kernel 'three_ways' at league_rank 0\n\n"
        f"not all threads of the team wait at the same place:\n"
        f"threads 1, 2 wait at {__file__}:{last}:12\n"
        f"{last:5d} |     x[0] = team.reduce(1.0)\n      |            ^^^^^^^^^^^^^^^^\n"
        f"threads 3-5 wait at {__file__}:{first}:9\n"
        f"{first:5d} |         team.barrier()\n      |         ^^^^^^^^^^^^^^\n"
        f"thread 0 has returned\n"
        f"hint: let all threads come to the same barriers and collectives, in the same order"
    )


def two_ways(team, x):
    if team.team_rank == 0:
        team.barrier()
    else:
        x[team.team_rank] = team.reduce(1.0)


def test_threads_that_all_wait(unchecked, line):
    with pytest.raises(es.KernelError) as error:
        es.parallel_for(league(1, 3), two_ways, np.zeros(3))
    first, last = line(two_ways, "team.barrier"), line(two_ways, "team.reduce")
    found = str(error.value).splitlines()
    assert found[3] == f"thread 0 waits at {__file__}:{first}:9"
    assert found[6] == f"threads 1, 2 wait at {__file__}:{last}:29"
    assert found[9].startswith("hint: ")


@pytest.mark.parametrize(
    ("kernel", "waiting", "gone"),
    [
        (one_leaves, "threads 0, 2, 3 wait at", "thread 1 has returned"),
        (one_goes_round_more_often, "thread 3 waits at", "threads 0-2 have returned"),
    ],
)
def test_threads_that_leave_the_others(unchecked, kernel, waiting, gone):
    with pytest.raises(es.KernelError) as error:
        es.parallel_for(league(1), kernel, np.zeros(8))
    lines = str(error.value).splitlines()
    assert lines[3].startswith(f"{waiting} {__file__}:")
    assert lines[-2] == gone
    es.parallel_for(league(1, 1), kernel, np.zeros(8))


def test_threads_return_different_values(unchecked):
    def kernel(team):
        return team.team_rank // 2, 1.5

    with pytest.raises(es.KernelError) as error:
        es.parallel_reduce(league(3), kernel, reducer=(es.Sum, es.Max))
    assert str(error.value) == (
        "in kernel 'kernel' at league_rank 0\n\n"
        "thread 0 of the team returns (0, 1.5) and thread 2 returns (1, 1.5), but a team "
        "contributes once\n"
        "hint: join what they have, and return that: return team.reduce(value)"
    )
    assert es.parallel_reduce(league(3, 2), kernel, reducer=(es.Sum, es.Max)) == (0, 1.5)


def from_one(team, x, ranks):
    x[0] = team.broadcast(1.0, ranks[team.team_rank])


def test_the_rank_of_a_broadcast(unchecked, line):
    number = line(from_one, "team.broadcast")
    with pytest.raises(es.KernelError) as error:
        es.parallel_for(league(1), from_one, np.zeros(1), np.array([2, 2, 0, 2]))
    assert str(error.value) == (
        f"in kernel 'from_one' at league_rank 0\n\n"
        f"{__file__}:{number}:12: the rank of a broadcast is 2 in thread 0 of the team and 0 in "
        f"thread 2\n"
        f"{number:5d} |     x[0] = team.broadcast(1.0, ranks[team.team_rank])\n"
        f"      |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        f"hint: give all threads the team_rank of the same one"
    )
    for rank in (4, -1):
        with pytest.raises(es.ViewIndexError, match=f"index {rank} is out of bounds"):
            es.parallel_for(league(1), from_one, np.zeros(1), np.array([rank] * 4))


def test_the_range_of_a_scan_differs(unchecked):
    def kernel(team):
        es.parallel_scan(
            es.TeamThreadRange(team, team.team_rank // 3, 4), lambda i, prefix, final: 1
        )

    with pytest.raises(es.KernelError) as error:
        es.parallel_for(league(1), kernel)
    assert "thread 0 of the team scans from 0 to 4 and thread 3 from 1 to 4" in str(error.value)


def test_both_passes_of_a_scan_contribute_the_same(line):
    def kernel(team, x):
        def in_place(i, prefix, final):
            if final:
                x[i] = prefix + 1
            return x[i]

        es.parallel_scan(es.TeamThreadRange(team, 8), in_place)

    with pytest.raises(es.KernelError) as error:
        es.parallel_for(league(1), kernel, np.ones(8))
    number = line(kernel, "parallel_scan")
    _, _, found, _, _, hint = str(error.value).splitlines()
    assert found == (
        f"{__file__}:{number}:9: the scan's function contributes 1.0 for index 1 where final is "
        f"false, and 2.0 where it is true"
    )
    assert hint == "hint: return the same in both passes: read what it depends on before storing"


def test_the_first_pass_of_a_scan_knows_no_prefix():
    def kernel(team, x):
        return es.parallel_scan(
            es.TeamThreadRange(team, 3),
            lambda i, prefix, final: x[i] if i < 2 else prefix + x[i],
        )

    message = "contributes 4.0 for index 2 where final is false, and 7.0 where it is true"
    with pytest.raises(es.KernelError, match=message.replace(".", r"\.")):
        es.parallel_reduce(league(1, 1), kernel, np.array([1.0, 2.0, 4.0]))


# -- other errors ---------------------------------------------------------------------------------


def test_an_index_out_of_bounds():
    def kernel(team, x):
        held = team.scratch(3)
        if team.league_rank == 1 and team.team_rank == 2:
            if x[0] > 0:
                x[9] = 1.0
            held[3] = 1.0

    for first, what in [
        (1.0, "View 'x': index 9 is out of bounds for dimension 0 of extent 4, at (9,)."),
        (0.0, "View 'held': index 3 is out of bounds for dimension 0 of extent 3, at (3,)."),
    ]:
        with pytest.raises(es.ViewIndexError) as error:
            es.parallel_for(league(2), kernel, np.full(4, first))
        assert str(error.value) == f"in kernel 'kernel' at league_rank 1, team_rank 2: {what}"


def test_assertions():
    def kernel(team, x):
        team.barrier()
        assert x[team.league_rank] < 3, "too much"

    es.parallel_for(league(2), kernel, np.array([1.0, 2.0]))
    with pytest.raises(es.KernelAssertionError, match=r"at index 1\n(.|\n)*failed: too much"):
        es.parallel_for(league(2), kernel, np.array([1.0, 3.0]))


# -- what it tells --------------------------------------------------------------------------------


def test_sizes_and_mapping():
    def kernel(team, x):
        team.barrier()
        x[team.league_rank] = 1.0

    x = np.zeros(2)
    assert league(2).team_size_recommended(kernel, x) == 4
    assert league(2, 7).team_size_max(kernel, x) == 1024
    assert league(2).vector_length_max() == 1024
    found = es.explain(es.TeamPolicy(2, 3, 2, space="oracle"), kernel, x)
    assert found.mapping == (
        "teams: one after the other, interpreted",
        "team size 3: threads take turns, each up to the next place where all of them do something "
        "together; races between two such places are errors",
        "vector length 2: a thread does what its lanes do, in order",
    )
    policy = es.TeamPolicy(2, 3, 2, chunk_size=2, launch_bounds=64, space="oracle")
    assert es.explain(policy, kernel, x).mapping[3:] == (
        "chunk_size and launch_bounds: without effect here, where teams run one by one",
    )
    assert "    yield 0, ()\n" in found.source


def traced(team, x):
    def body(i, prefix, final):
        return x[i]

    held = team.scratch(4)
    for i in es.TeamThreadRange(team, 4):
        held[i] = x[i]
    team.barrier()
    if team.league_rank > 0:
        x[0] = 1.0
    total = es.parallel_scan(es.TeamVectorRange(team, 4), body)
    team.barrier()
    x[1] = total


def test_debuggers_see_the_lines_of_the_source(line):
    seen = set()

    def trace(frame, event, argument):
        if frame.f_code.co_filename != __file__ or frame.f_code is launch.__code__:
            return None
        seen.add(frame.f_lineno)
        return trace

    def launch():
        es.parallel_for(policy, traced, x)

    x, policy = np.zeros(4), league(1)
    launch()  # compiled beforehand
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        launch()
    finally:
        sys.settrace(before)
    ran = ["team.scratch", "held[i]", "team.barrier", "parallel_scan", "return x[i]", "x[1] ="]
    assert {line(traced, text) for text in ran} <= seen
    assert line(traced, "x[0] = 1.0") not in seen
    first = line(traced, "def traced")
    assert seen <= set(range(first, line(traced, "x[1] =") + 1))


def test_every_thread_runs_each_iteration_once():
    def kernel(team, count):
        for i, j in es.TeamThreadMDRange(team, 3, 5):
            es.atomic_add(count, (0, i, j), 1)
        for i, j in es.TeamVectorMDRange(team, 3, 5):
            es.atomic_add(count, (1, i, j), 1)

    for threads, lanes in itertools.product((1, 2, 7, 32), (1, 4, 64)):
        count = np.zeros((2, 3, 5), np.int64)
        es.parallel_for(league(1, threads, lanes), kernel, count)
        assert (count == 1).all(), (threads, lanes)

"""Nested ranges of teams on hosts: in lanes of vectors, with an order of joins that no number of
lanes changes.

`expected` says that order once more, with NumPy.
"""

from itertools import pairwise

import numpy as np
import pytest

import execspace as es

LANES = (0, 1, 2, 4, 8, 16)


@pytest.fixture(params=LANES)
def lanes(request, monkeypatch):
    if request.param:
        monkeypatch.setenv("EXECSPACE_LANES", str(request.param))
    return request.param


def policy(teams, threads=1, lanes="auto"):
    return es.TeamPolicy(teams, threads, lanes, space="serial")


def expected(values, running=8):
    """A sum: groups that are joined by halves, and what is left one after the other."""
    whole = len(values) // running * running
    total = values.dtype.type(0)
    if whole:
        own = np.zeros(running, values.dtype)
        for k in range(0, whole, running):
            own += values[k : k + running]
        while len(own) > 1:
            own = own[: len(own) // 2] + own[len(own) // 2 :]
        total = total + own[0]
    for v in values[whole:]:
        total = total + v
    return total


@es.kernel(fma=False)
def vector_sums(team, x, starts, y):
    row = team.league_rank
    y[row] = es.parallel_reduce(
        es.ThreadVectorRange(team, starts[row], starts[row + 1]), lambda k: x[k]
    )


@es.kernel(fma=False)
def team_sums(team, x, starts, y):
    row = team.league_rank
    y[row] = es.parallel_reduce(
        es.TeamVectorRange(team, starts[row], starts[row + 1]), lambda k: x[k]
    )


@es.kernel(fma=False)
def thread_sums(team, x, starts, y):
    row = team.league_rank
    y[row] = es.parallel_reduce(
        es.TeamThreadRange(team, starts[row], starts[row + 1]), lambda k: x[k]
    )


LENGTHS = [0, 1, 2, 7, 8, 9, 15, 16, 23, 24, 40, 41, 100]


def rows(dtype):
    rng = np.random.default_rng(3)
    starts = np.concatenate(([0], np.cumsum(LENGTHS)))
    x = rng.standard_normal(starts[-1])
    if dtype.startswith("complex"):
        x = x + 1j * rng.standard_normal(len(x))
    return (x * 100).astype(dtype), starts


# Sums of float32 are joined in float64.
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "complex64", "int32"])
@pytest.mark.parametrize("kernel", [vector_sums, team_sums, thread_sums], ids=lambda k: k.name)
def test_the_order_of_a_nested_sum_is_that_of_its_definition(kernel, dtype, lanes):
    x, starts = rows(dtype)
    wide = x.astype({"f": "float64", "c": "complex128", "i": "int64"}[x.dtype.kind])
    y = np.zeros(len(LENGTHS), wide.dtype)
    es.parallel_for(policy(len(LENGTHS)), kernel, x, starts, y)
    np.testing.assert_array_equal(y, [expected(wide[a:b]) for a, b in pairwise(starts)])


@pytest.mark.parametrize("length", [1, 2, 4, 32])
def test_vector_length_is_how_many_numbers_are_joined_at_once(length, lanes):
    x, starts = rows("float64")
    y = np.zeros(len(LENGTHS))
    es.parallel_for(policy(len(LENGTHS), 1, length), vector_sums, x, starts, y)
    wanted = [expected(x[a:b], min(length, 8)) for a, b in pairwise(starts)]
    np.testing.assert_array_equal(y, wanted)


@es.kernel(fma=False)
def of_members(team, x, y):
    mine = es.parallel_reduce(
        es.ThreadVectorRange(team, x.extent(1)), lambda k: x[team.team_rank, k]
    )
    y[team.team_rank] = mine


def test_members_of_a_team_join_as_a_team_of_one_does(lanes):
    x = np.random.default_rng(5).standard_normal((3, 29))
    y = np.zeros(3)
    es.parallel_for(policy(1, 3), of_members, x, y)
    np.testing.assert_array_equal(y, [expected(row) for row in x])


@es.kernel(fma=False)
def shared_by_members(team, x, y):
    y[0] = es.parallel_reduce(es.TeamVectorRange(team, x.extent(0)), lambda k: x[k])


def test_members_have_blocks_of_as_many_iterations_as_lanes(lanes):
    """With two members of four lanes, block b belongs to member b mod 2."""
    x = np.random.default_rng(6).standard_normal(37)
    y = np.zeros(1)
    es.parallel_for(policy(1, 2, 4), shared_by_members, x, y)
    blocks = [x[k : k + 4] for k in range(0, 37, 4)]
    mine = []
    for member in range(2):
        total = 0.0
        for block in blocks[member::2]:
            for v in [expected(block, 4)] if len(block) == 4 else block:
                total = total + v
        mine.append(total)
    assert y[0] == mine[0] + mine[1]


def logistic(v, limit):
    count = 0
    while v < 1e6 and count < limit:
        v = v * v + 1.25
        count += 1
    return v, count


def in_branches(team, x, y, count):
    row = team.league_rank
    for k in es.ThreadVectorRange(team, x.extent(1)):
        if x[row, k] < 0:
            continue
        v, n = logistic(x[row, k], 12)
        y[row, k] = v
        es.atomic_add(count, (row,), n)


def in_turn(x):
    y, count = np.zeros_like(x), np.zeros(len(x), np.int64)
    for row in range(len(x)):
        for k in range(x.shape[1]):
            if x[row, k] >= 0:
                y[row, k], n = logistic(x[row, k], 12)
                count[row] += n
    return y, count


@pytest.mark.parametrize("threads", [1, 3])
def test_iterations_part_ways(lanes, threads):
    x = np.random.default_rng(7).standard_normal((5, 19))
    y, count = np.zeros_like(x), np.zeros(5, np.int64)
    es.parallel_for(policy(5, threads), es.kernel(in_branches, fma=False), x, y, count)
    wanted, rounds = in_turn(x)
    np.testing.assert_array_equal(y, wanted)
    np.testing.assert_array_equal(count, rounds * threads)  # each thread has the whole range


@es.kernel(fma=False)
def from_scratch(team, x, y):
    row, n = team.league_rank, x.extent(1)
    at = team.scratch(n)
    for k in es.TeamVectorRange(team, n):
        at[k] = x[row, n - 1 - k] * 2
    team.barrier()
    low, where = es.parallel_reduce(
        es.TeamVectorRange(team, n), lambda k: (at[k], k), reducer=es.MinLoc
    )
    total = es.parallel_reduce(es.TeamVectorRange(team, n), lambda k: at[k] - low)
    for k in es.TeamVectorRange(team, n):
        y[row, k] = at[k] - total if k != where else low


@pytest.mark.parametrize("threads", [1, 2])
def test_scratch_memory_and_several_ranges(lanes, threads):
    x = np.random.default_rng(8).standard_normal((4, 21))
    y = np.zeros_like(x)
    es.parallel_for(policy(4, threads, 4), from_scratch, x, y)
    wanted = np.zeros_like(x)
    es.parallel_for(es.TeamPolicy(4, threads, 4, space="oracle"), from_scratch, x, wanted)
    np.testing.assert_allclose(y, wanted, rtol=1e-14)
    assert (y == y.min(axis=1, keepdims=True)).any()


@es.kernel(fma=False)
def with_a_range_inside(team, x, y, z):
    def row(i):
        for k in es.ThreadVectorRange(team, x.extent(1)):
            y[i, k], _ = logistic(x[i, k], 12)
        return es.parallel_reduce(es.ThreadVectorRange(team, x.extent(1)), lambda k: x[i, k])

    z[0] = es.parallel_reduce(es.TeamThreadRange(team, x.extent(0)), row)


def test_iterations_with_ranges_inside_are_joined_one_after_the_other(lanes):
    x = np.random.default_rng(14).standard_normal((21, 13))
    y, z = np.zeros_like(x), np.zeros(1)
    es.parallel_for(policy(1), with_a_range_inside, x, y, z)
    total = 0.0
    for row in x:
        total = total + expected(row)
    assert z[0] == total
    np.testing.assert_array_equal(y, np.vectorize(lambda v: logistic(v, 12)[0])(x))


@es.kernel(fma=False)
def over_two(team, x, y):
    y[0] = es.parallel_reduce(
        es.ThreadVectorMDRange(team, x.extent(0), x.extent(1)), lambda i, j: x[i, j]
    )


def test_rows_of_a_range_over_two_indices_are_joined_by_themselves(lanes):
    x = np.random.default_rng(9).standard_normal((6, 11))
    y = np.zeros(1)
    es.parallel_for(policy(1), over_two, x, y)
    total = 0.0
    for row in x:
        if len(row) >= 8:
            total = total + expected(row[:8])
        for v in row[8:]:
            total = total + v
    assert y[0] == total


@es.kernel(fma=False)
def asserts(team, x, y):
    row = team.league_rank
    total = 0.0

    def checked(k):
        assert x[row, k] > 0
        return x[row, k]

    total = es.parallel_reduce(es.ThreadVectorRange(team, x.extent(1)), checked)
    y[row] = total


def test_assertions_are_told_and_the_sum_is_the_same(lanes):
    x = np.random.default_rng(10).random((3, 20)) + 1
    y = np.zeros(3)
    es.parallel_for(policy(3), asserts, x, y)
    np.testing.assert_array_equal(y, [expected(row) for row in x])
    x[1, 13] = -1
    with pytest.raises(es.KernelAssertionError, match="asserts"):
        es.parallel_for(policy(3), asserts, x, y)


@es.kernel(fma=False)
def with_private_array(team, x, y):
    row = team.league_rank
    w = es.local(3)
    for n in range(3):
        w[n] = x[row, n]
    y[row] = es.parallel_reduce(
        es.ThreadVectorRange(team, x.extent(1)), lambda k: x[row, k] * w[k % 3]
    )


def test_a_private_array_of_the_thread_is_read_by_all_iterations(lanes):
    x = np.random.default_rng(11).standard_normal((3, 20))
    y = np.zeros(3)
    es.parallel_for(policy(3), with_private_array, x, y)
    np.testing.assert_array_equal(y, [expected(row * row[np.arange(20) % 3]) for row in x])


def test_explain_tells_how_each_range_runs(monkeypatch):
    x, starts = rows("float64")
    given = x, starts, np.zeros(len(LENGTHS))
    where = f"range in line {vector_sums.fn.__code__.co_firstlineno + 3}: "
    told = es.explain(policy(len(LENGTHS)), vector_sums, *given).vectorisation
    (line,) = [t for t in told if "iterations at a time" in t]
    assert line.startswith(f"{where}8 iterations at a time in lanes: ")
    monkeypatch.setenv("EXECSPACE_LANES", "1")
    told = es.explain(policy(len(LENGTHS)), vector_sums, *given).vectorisation
    assert f"{where}not in lanes: one lane is asked for" in told


@es.kernel(fma=False)
def nested_scan(team, x, y, counts):
    row = team.league_rank

    def place(k, prefix, final):
        v, n = logistic(x[row, k], 9)
        if final:
            y[row, k] = prefix + n
            if n > 3:
                es.atomic_add(counts, (row,), 1)
        return v

    total = es.parallel_scan(es.ThreadVectorRange(team, x.extent(1)), place)
    y[row, x.extent(1)] = total


def test_prefixes_of_nested_scans_are_those_of_a_loop(lanes):
    x = np.random.default_rng(12).standard_normal((4, 21))
    y, counts = np.zeros((4, 22)), np.zeros(4, np.int64)
    es.parallel_for(policy(4), nested_scan, x, y, counts)
    wanted, number = np.zeros_like(y), np.zeros_like(counts)
    for row in range(4):
        prefix = 0.0
        for k in range(21):
            v, n = logistic(x[row, k], 9)
            wanted[row, k] = prefix + n
            number[row] += n > 3
            prefix += v
        wanted[row, 21] = prefix
    np.testing.assert_array_equal(y, wanted)
    np.testing.assert_array_equal(counts, number)
    told = es.explain(policy(4), nested_scan, x, y, counts).vectorisation
    assert any("at a time" in t for t in told) == (lanes != 1)


@es.kernel(fma=False)
def two_scans(team, x, y):
    """Tuples, and extremes; of several threads each has a part of the first one."""
    row = team.league_rank
    for k in es.TeamVectorRange(team, x.extent(1)):
        y[row, k] = x[row, k] * 2
    team.barrier()

    def pairs(k, prefix, final):
        v, n = logistic(x[row, k], 5)
        if final:
            y[row, k] += prefix[0] - prefix[1]
        return v, n * 0.5

    es.parallel_scan(es.TeamVectorRange(team, x.extent(1)), pairs, reducer=(es.Sum, es.Sum))
    team.barrier()

    es.parallel_scan(es.ThreadVectorRange(team, x.extent(1)), lambda k, p, f: x[row, k],
                     reducer=es.Max)  # fmt: skip


@pytest.mark.parametrize("threads", [1, 3])
def test_scans_of_tuples_and_extremes(lanes, threads):
    x = np.random.default_rng(13).standard_normal((3, 18))
    y, wanted = np.zeros((3, 18)), np.zeros((3, 18))
    es.parallel_for(policy(3, threads, 4), two_scans, x, y)
    es.parallel_for(es.TeamPolicy(3, threads, 4, space="oracle"), two_scans, x, wanted)
    np.testing.assert_array_equal(y, wanted)

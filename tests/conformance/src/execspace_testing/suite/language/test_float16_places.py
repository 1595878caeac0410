"""float16 wherever numbers are: arguments, captures, arrays, records, scratch, results, output."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import fitting, needs_atomic, needs_dtype, needs_teams

THIRD = np.float16(1 / 3)


@pytest.fixture(autouse=True)
def halves(space):
    needs_dtype(space, np.float16)


def numbers(n, seed=0):
    return np.random.default_rng(seed).normal(0, 4, n).astype(np.float16)


def test_arguments_and_captures(space):
    def kernel(i, x, a):
        x[i] = x[i] * a + THIRD + es.float16(0.1)

    x = numbers(100)
    expected = x * np.float16(0.7) + THIRD + np.float16(0.1)
    staged.parallel_for(es.RangePolicy(100, space=space), kernel, x, np.float16(0.7))
    np.testing.assert_array_equal(x, expected)


def test_local_arrays(space):
    def kernel(i, x):
        held = es.local(4, es.float16)
        for k in range(4):
            held[k] = x[i] / (k + 1)
        x[i] = held[0] + held[1] + held[2] + held[3]

    x = numbers(60)
    expected = x + x / np.float16(2) + x / np.float16(3) + x / np.float16(4)
    staged.parallel_for(es.RangePolicy(60, space=space), kernel, x)
    np.testing.assert_array_equal(x, expected)


RECORD = np.dtype([("n", "u1"), ("h", "f2"), ("v", "f2", (3,)), ("d", "f8")])  # h is not aligned


def test_records(space):
    needs_dtype(space, np.float64)

    def kernel(i, p):
        p[i].v[i % 3] += p[i].h * 2
        p[i].h = p[i].d

    p = np.zeros(9, RECORD)
    p["h"], p["d"], p["v"] = numbers(9), np.linspace(-3, 3, 9) / 7, numbers(27).reshape(9, 3)
    expected = p.copy()
    for i in range(9):
        expected[i]["v"][i % 3] += expected[i]["h"] * np.float16(2)
    expected["h"] = expected["d"]
    staged.parallel_for(es.RangePolicy(9, space=space), kernel, p)
    assert p.tobytes() == expected.tobytes()


def reversed_rows(team, x):
    r, n = team.league_rank, x.extent(1)
    held = team.scratch(n, es.float16)
    for i in es.TeamVectorRange(team, n):
        held[i] = x[r, i] * 3
    team.barrier()
    for i in es.TeamVectorRange(team, n):
        x[r, i] = held[n - 1 - i]


def test_scratch_and_sums_of_teams(space):
    needs_teams(space)

    def extremes(team, x, o):
        r = team.league_rank
        total, least = es.parallel_reduce(
            es.TeamVectorRange(team, x.extent(1)),
            lambda i: (x[r, i], x[r, i]),
            reducer=(es.Sum, es.Min),
        )
        if es.single(es.PerTeam(team)):
            o[r, 0], o[r, 1] = total, least

    x, o = np.round(numbers(5 * 37)).reshape(5, 37), np.zeros((5, 2), np.float16)
    expected = (x * np.float16(3))[:, ::-1].copy()
    policy = es.TeamPolicy(5, space=space)
    staged.parallel_for(policy, reversed_rows, x)
    np.testing.assert_array_equal(x, expected)
    staged.parallel_for(policy, extremes, x, o)
    np.testing.assert_array_equal(o[:, 0], x.astype(np.float64).sum(1).astype(np.float16))
    np.testing.assert_array_equal(o[:, 1], x.min(1))


def value(i, x):
    return x[i]


def test_reductions(space):
    """Sums are those of float64, so that they need no more digits than there are."""
    x = numbers(fitting(space, 30_000))
    n = es.RangePolicy(len(x), space=space)
    reducers = (es.Sum, es.Min, es.Max, es.MinMax, es.Sum(accuracy="high"))
    for at in (None, 17):
        if at is not None:
            x[at] = np.nan
        total, least, greatest, both, high = staged.parallel_reduce(
            n, lambda i, x: (x[i],) * 5, x, reducer=reducers
        )
        np.testing.assert_equal((least, greatest, *both), (x.min(), x.max()) * 2)
        np.testing.assert_allclose(total, x.astype(np.float64).sum(), rtol=1e-12)
        np.testing.assert_allclose(high, x.astype(np.float64).sum(), rtol=1e-12)
    nothing = es.RangePolicy(0, space=space)
    assert staged.parallel_reduce(nothing, value, x, reducer=es.Max) == -np.inf


def test_contributions_of_float64_are_rounded_once(space):
    needs_dtype(space, "float64")
    x = np.array([1 + 2.0**-11 + 2.0**-40])  # float32 would round it to the middle of two
    for reducer in (es.Max(dtype=es.float16), es.Min(dtype="float16"), es.Sum(dtype="float16")):
        found = staged.parallel_reduce(es.RangePolicy(1, space=space), value, x, reducer=reducer)
        assert found == np.float16(x[0]) == 1 + 2.0**-10


def test_locations(space):
    x = numbers(500)
    x[300] = x[400] = 60
    found = staged.parallel_reduce(
        es.RangePolicy(500, space=space), lambda i, x: (x[i], i), x, reducer=es.MaxLoc
    )
    assert tuple(found) == (60.0, 300)


def test_scans(space):
    def greatest(i, prefix, final, x, o):
        if final:
            o[i] = prefix
        return x[i]

    n = fitting(space, 20_000)
    x, o = numbers(n), np.zeros(n, np.float16)
    last = staged.parallel_scan(es.RangePolicy(n, space=space), greatest, x, o, reducer=es.Max)
    running = np.maximum.accumulate(x)
    assert last == running[-1]
    np.testing.assert_array_equal(o, np.append(np.float16(-np.inf), running[:-1]))


def test_a_function_of_float16_as_a_join(space):
    class Furthest(es.Reducer):
        identity = np.float16(0)

        def join(self, a, b):
            return b if abs(b) > abs(a) else a

    x = numbers(fitting(space, 9000))
    found = staged.parallel_reduce(
        es.RangePolicy(len(x), space=space), value, x, reducer=Furthest()
    )
    assert abs(found) == abs(x).max()


def test_atomic_extremes_of_many_numbers(space):
    needs_atomic(space, 2)

    def kernel(i, x, least):
        es.atomic_min(least, i % 3, x[i])
        es.atomic_max(least, 3 + i % 3, x[i])

    x = numbers(fitting(space, 9000) // 3 * 3)
    least = np.zeros(7, np.float16)
    staged.parallel_for(es.RangePolicy(len(x), space=space), kernel, x, least)
    rows = x.reshape(-1, 3)
    np.testing.assert_array_equal(least, [*rows.min(0), *rows.max(0), 0])


def test_printf(space, capfd):
    def kernel(i, x):
        es.printf("%g %.3f\n", x[i], x[i] / 3)

    staged.parallel_for(es.RangePolicy(1, space=space), kernel, np.array([0.1], np.float16))
    assert capfd.readouterr().out == "0.0999756 0.033\n"


def test_assertions(space):
    def kernel(i, x):
        assert x[i] < 3.5, "too large"
        x[i] = -x[i]

    x = np.linspace(0, 3, 50).astype(np.float16)
    expected = -x
    staged.parallel_for(es.RangePolicy(50, space=space), kernel, x)
    np.testing.assert_array_equal(x, expected)
    x[20] = 3.502
    with pytest.raises(AssertionError, match="too large"):
        staged.parallel_for(es.RangePolicy(50, space=space), kernel, x)

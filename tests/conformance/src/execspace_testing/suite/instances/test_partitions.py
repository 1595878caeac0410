"""partition_space: parts are spaces like the one that they are of, and compute side by side.

Where a space does everything in order its parts are the space itself; what is said here then holds
all the same.
"""

from __future__ import annotations

import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import fitting, needs_teams

N = 30_000  # enough for hosts to wake threads


def size_for(space):
    return fitting(space, N, 200)


@es.kernel
def scaled(i, factor, x, y):
    y[i] = factor * x[i]


@es.kernel
def value(i, x):
    return x[i]


@es.kernel
def running(i, prefix, final, x, y):
    if final:
        y[i] = prefix
    return x[i]


@es.kernel
def plane(i, j, x):
    x[i, j] += i - 2 * j


def two(space, weights=2):
    """Two parts, or the same one twice of a space with one thread."""
    if isinstance(space, es.Partitions) and space.concurrency < 2:
        return es.partition_space(space, 1) * 2
    return es.partition_space(space, weights)


def test_there_is_a_part_for_each_weight(space):
    for weights, count in ((1, 1), ([3], 1), (np.int64(1), 1), ((0.5,), 1)):
        assert len(es.partition_space(space, weights)) == count
    if isinstance(space, es.Partitions) and space.concurrency < 2:
        return
    for weights in ([2, 1], (0.1, 0.9), np.array([1.0, 1.0]), [Fraction(1, 3), 1], range(1, 3)):
        assert len(es.partition_space(space, weights)) == 2


def test_a_space_is_meant_by_its_name_too(space):
    (part,) = es.partition_space(space.name, 1)
    assert part.name == space.name


def test_parts_are_as_their_space(space):
    for part in two(space):
        assert isinstance(part, es.ExecutionSpace) and type(part) is type(space)
        assert part.name == space.name
        assert part.capabilities == space.capabilities
        assert part.default_layout == space.default_layout
        assert part.memory_spaces == space.memory_spaces
        assert 1 <= part.concurrency <= space.concurrency


def test_concurrency_is_shared_out_where_a_space_can(space):
    if not isinstance(space, es.Partitions):
        assert [p.concurrency for p in two(space)] == [space.concurrency] * 2
        return
    whole = space.concurrency
    parts = es.partition_space(space, whole)
    assert [p.concurrency for p in parts] == [1] * whole
    for count in range(1, min(whole, 5) + 1):
        found = [p.concurrency for p in es.partition_space(space, count)]
        assert sum(found) == whole and max(found) - min(found) <= 1
        uneven = [p.concurrency for p in es.partition_space(space, [1000.0, *[1] * (count - 1)])]
        assert sum(uneven) == whole and uneven[1:] == [1] * (count - 1)


def test_all_patterns_run_on_parts(space):
    n = size_for(space)
    values = np.arange(float(n))
    for k, part in enumerate(two(space), 2):
        x, y, total = es.View(n, space=part), es.View(n, space=part), es.View((), space=part)
        es.deep_copy(x, values, instance=part)
        on = es.RangePolicy(n, space=part)
        es.parallel_for(on, scaled, k, x, y)
        assert es.parallel_reduce(on, value, y) == k * values.sum()
        es.parallel_reduce(on, value, y, reducer=es.Max, out=total)
        assert es.parallel_scan(on, running, x, y) == values.sum()
        part.fence()
        assert total.item() == k * (n - 1)
        np.testing.assert_array_equal(
            staged.fetch(y), np.concatenate([[0.0], values.cumsum()[:-1]])
        )
        m = es.View((30, 40), space=part)
        es.parallel_for(es.MDRangePolicy((30, 40), tile=(8, 8), space=part), plane, m)
        part.fence()
        np.testing.assert_array_equal(
            staged.fetch(m), np.arange(30.0)[:, None] - 2 * np.arange(40.0)
        )


def test_teams_run_on_parts(space):
    needs_teams(space)

    @es.kernel
    def league(team, x):
        found = es.parallel_reduce(es.TeamThreadRange(team, 10), lambda i: i + team.league_rank)
        if team.team_rank == 0:
            x[team.league_rank] = found

    for part in two(space):
        x = es.View(50, es.int64, space=part)
        es.parallel_for(es.TeamPolicy(50, "auto", space=part), league, x)
        part.fence()
        np.testing.assert_array_equal(staged.fetch(x), 45 + 10 * np.arange(50))


def test_a_part_is_the_space_in_use(space):
    n = size_for(space)
    for part in two(space):
        with es.use_space(part):
            assert es.default_space() is part
            x = es.View(n)
            es.deep_copy(x, 2.0)
            assert es.parallel_reduce(n, value, x) == 2.0 * n


def test_dynamic_ranges_run_on_parts(space):
    n = size_for(space)
    for part in two(space):
        x, y = es.View(n, space=part), es.View(n, space=part)
        es.deep_copy(x, 1.0)
        es.parallel_for(
            es.RangePolicy(n, schedule="dynamic", chunk_size=16, space=part), scaled, 3, x, y
        )
        part.fence()
        assert (staged.fetch(y) == 3).all()


def test_a_part_may_be_divided_again(space):
    (part,) = es.partition_space(space, 1)
    again = es.partition_space(part, 1)
    n = size_for(space)
    x = es.View(n, space=again[0])
    es.deep_copy(x, 1.0)
    assert es.parallel_reduce(es.RangePolicy(n, space=again[0]), value, x) == n
    if isinstance(space, es.Partitions):
        assert again[0].concurrency == part.concurrency == space.concurrency


def test_reductions_of_a_part_repeat_bit_by_bit(space):
    n = size_for(space)
    values = np.sin(np.arange(float(n))) * 10.0 ** (np.arange(n) % 7)
    for part in two(space, [3, 1]):
        x = es.View(n, space=part)
        es.deep_copy(x, values)
        on = es.RangePolicy(n, space=part)
        assert len({es.parallel_reduce(on, value, x) for _ in range(20)}) == 1


def test_tools_tell_parts_apart(space):
    class Queues(es.profiling.Tool):
        def __init__(self):
            self.found = []

        def on_kernel_begin(self, space, queue):
            self.found.append((space, queue))

    parts = two(space)
    n = size_for(space)
    x = es.View(n, space=space)
    tool = Queues()
    with es.profile(tool):
        for part in parts:
            es.parallel_reduce(es.RangePolicy(n, space=part), value, x)
    assert {name for name, _ in tool.found} == {space.name}
    numbers = [number for _, number in tool.found]
    assert len(set(numbers)) == len({id(p) for p in parts})


def test_kernels_for_parts_are_explained(space):
    (part,) = es.partition_space(space, 1)
    found = scaled.explain(es.RangePolicy(10, space=part), 1.0, es.View(10, space=part),
                           es.View(10, space=part))  # fmt: skip
    assert found.space == space.name


# -- side by side ----------------------------------------------------------------------------------


def at_once(count, work):
    gate = threading.Barrier(count)

    def run(k):
        gate.wait(timeout=60)
        return work(k)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


@pytest.mark.parametrize("threads", [2, 5])
def test_parts_compute_side_by_side(space, threads):
    """Threads launch on two parts all the time; each has the results that it would have alone."""
    parts, n = two(space, [2, 1]), size_for(space)
    rounds = fitting(space, 60, 4)
    values = np.arange(float(n))

    def work(k):
        part = parts[k % 2]
        x, y = es.View(n, space=part), es.View(n, space=part)
        es.deep_copy(x, values, instance=part)
        on = es.RangePolicy(n, space=part)
        wrong = []
        for r in range(rounds):
            es.parallel_for(on, scaled, k + r, x, y)
            sum_ = es.parallel_reduce(on, value, y)
            both = es.parallel_reduce(on, value, y, reducer=es.Max)
            scan = es.parallel_scan(on, running, x, y)
            if (sum_, both, scan) != ((k + r) * values.sum(), (k + r) * (n - 1), values.sum()):
                wrong.append((k, r, sum_, both, scan))
        part.fence()
        last = staged.fetch(y)
        return wrong, bool((last[1:] == values.cumsum()[:-1]).all())

    assert at_once(threads, work) == [([], True)] * threads


def test_threads_divide_a_space_at_the_same_time(space):
    n = size_for(space)
    x = es.View(n, space=space)
    es.deep_copy(x, 1.0)

    def work(k):
        (part,) = es.partition_space(space, [k + 1.0])
        return es.parallel_reduce(es.RangePolicy(n, space=part), value, x)

    assert at_once(4, work) == [n] * 4


def test_parts_may_be_dropped_while_they_work(space):
    n = size_for(space)
    x, made = es.View(n, space=space), [es.View(n, space=space) for _ in range(2)]
    es.deep_copy(x, 1.0)
    for k in range(10):
        for part, y in zip(two(space), made, strict=True):
            es.parallel_for(es.RangePolicy(n, space=part), scaled, k, x, y)
        del part
        gc.collect(0)
        space.fence()
    assert all((staged.fetch(y) == 9).all() for y in made)


# -- misuse ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        (0, "weights=0; expected the number of parts, at least 1"),
        (-1, "weights=-1"),
        (True, "weights=True"),
        (2.5, "weights=2.5"),
        (None, "weights=None"),
        ("12", "weights='12'"),
        ([], r"weights=\[\]"),
        ([1, 0], "weight 1 is 0; expected .* positive numbers"),
        ([1, -2.0], "weight 1 is -2.0"),
        ([float("nan")], "weight 0 is nan"),
        ([1, float("inf")], "weight 1 is inf"),
        (["1"], "weight 0 is '1'"),
        ([True], "weight 0 is True"),
        ([10**400], "weight 0 is 1000"),
    ],
)
def test_weights_that_are_none_are_refused(space, weights, text):
    with pytest.raises(es.SpaceError, match=text):
        es.partition_space(space, weights)


def test_what_is_no_space_is_refused():
    with pytest.raises(es.UnknownSpaceError, match="None is not a space"):
        es.partition_space(None, 2)


def test_more_parts_than_a_space_has_threads_are_refused(space):
    if not isinstance(space, es.Partitions):
        pytest.skip(f"space '{space.name}' gives as many instances as one likes")
    with pytest.raises(es.SpaceError, match=r"is to be divided into \d+ parts; expected at most"):
        es.partition_space(space, space.concurrency + 1)


def test_parts_are_not_pickled(space):
    import pickle

    (part,) = es.partition_space(space, 1)
    if part is space:
        return
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(part)

"""Reductions and scans with ``blocking=False``: futures of what is returned otherwise."""

from __future__ import annotations

import copy
import gc
import math
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import fitting, needs_dtype, needs_teams

N = 500


@es.kernel
def grind(i, x, rounds):
    """Takes its time; ends at 2 exactly, wherever it began."""
    for _ in range(rounds):
        x[i] = 0.5 * x[i] + 1.0


@es.kernel
def value(i, x):
    return x[i]


@es.kernel
def with_place(i, x):
    return x[i], i


@es.kernel
def running(i, prefix, final, x, y):
    if final:
        y[i] = prefix
    return x[i]


@es.kernel
def counted(i, bins, x):
    bins[x[i] % 4] += 1


class Mean(es.Reducer):
    """A reducer with a last step and a value of several numbers."""

    identity = (0.0, 0)

    @staticmethod
    def join(a, b):
        return a[0] + b[0], a[1] + b[1]

    @staticmethod
    def final(a):
        return a[0] / max(a[1], 1)


class Array(es.Reducer):
    """Whose value is a small array, and the result with it."""

    identity = np.zeros(4, np.int64)

    @staticmethod
    def join(a, b):
        return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]


class Record(es.Reducer):
    """Whose value is a record."""

    identity = np.zeros((), [("least", np.float32), ("count", np.int32)])[()]

    @staticmethod
    def join(a, b):
        return min(a[0], b[0]), a[1] + b[1]


def on(space, n=N):
    return es.RangePolicy(n, space=space)


def numbers_on(space, dtype=np.float64, n=N):
    values = ((np.arange(n) * 37) % 101 - 50).astype(dtype)
    x = es.View(n, dtype, space=space)
    es.deep_copy(x, values)
    return x


def same(a, b):
    """Equal in value, in type, and in the types of all items."""
    assert type(a) is type(b), (a, b)
    if isinstance(a, tuple):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            same(one, other)
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype and a.shape == b.shape
        assert a.flags.writeable == b.flags.writeable
        np.testing.assert_array_equal(a, b)
    elif isinstance(a, float) and math.isnan(a):
        assert math.isnan(b)
    else:
        assert a == b
        assert not isinstance(a, np.void) or a.dtype == b.dtype


# -- the same results ---------

REDUCERS = [
    es.Sum, es.Prod, es.Min, es.Max, es.Sum(dtype=es.float32), (es.Sum,), (es.Min, es.Max),
    es.MinMax,
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "uint8", "complex128"])
@pytest.mark.parametrize("reducer", REDUCERS, ids=str)
def test_numbers(space, dtype, reducer):
    needs_dtype(space, dtype)
    if dtype == "complex128" and reducer not in (es.Sum, es.Prod, (es.Sum,)):
        pytest.skip("complex numbers have no order, and are not joined in float32")
    x = numbers_on(space, dtype)
    if isinstance(reducer, tuple):
        several = len(reducer)

        def contribution(i, x):
            return (x[i],) if several == 1 else (x[i], x[i])
    else:
        contribution = value
    args = (on(space), contribution, x)
    expected = es.parallel_reduce(*args, reducer=reducer)
    future = es.parallel_reduce(*args, reducer=reducer, blocking=False)
    assert isinstance(future, es.Future)
    same(future.result(), expected)
    assert future.done
    assert future.result() is future.result()


@pytest.mark.parametrize(
    "reducer",
    [es.MinLoc, es.MaxLoc, es.MinFirstLoc, es.MaxFirstLoc, es.MinMaxLoc, (es.MinLoc, es.MaxLoc)],
    ids=str,
)
def test_indices_of_numbers(space, reducer):
    x = numbers_on(space)

    def both(i, x):
        return (x[i], i), (x[i], i)

    args = (on(space), both if isinstance(reducer, tuple) else with_place, x)
    expected = es.parallel_reduce(*args, reducer=reducer)
    same(es.parallel_reduce(*args, reducer=reducer, blocking=False).result(), expected)


def test_truth_values(space):
    x = numbers_on(space)

    def conditions(i, x):
        return x[i] > -100, x[i] > 1000

    args = (on(space), conditions, x)
    found = es.parallel_reduce(*args, reducer=(es.LAnd, es.LOr), blocking=False).result()
    same(found, (True, False))
    same(es.parallel_reduce(*args, reducer=(es.LAnd, es.LOr)), (True, False))


@pytest.mark.parametrize("reducer", [Mean, Array, Record])
def test_reducers_of_ones_own(space, reducer):
    x = numbers_on(space, np.float32)

    def mean(i, x):
        return es.float64(x[i]), 1

    def several(i, x):
        return i, 1, 2 * i, -1

    def record(i, x):
        return x[i], es.int32(1)

    kernel = {Mean: mean, Array: several, Record: record}[reducer]
    expected = es.parallel_reduce(on(space), kernel, x, reducer=reducer)
    found = es.parallel_reduce(on(space), kernel, x, reducer=reducer, blocking=False)
    same(found.result(), expected)


def test_array_reductions(space):
    x = numbers_on(space, np.int64)
    es.parallel_for(on(space), lambda i: es.atomic_max(x, i, 0))
    args = (on(space), lambda i, bins: counted(i, bins, x))
    expected = es.parallel_reduce(*args, reducer=es.Sum(shape=4))
    future = es.parallel_reduce(*args, reducer=es.Sum(shape=4), blocking=False)
    same(future.result(), expected)
    future.result()[0] = -1  # it is the caller's own, as ever
    same(es.parallel_reduce(*args, reducer=es.Sum(shape=4), blocking=False).result(), expected)


def test_captured_views_and_ranges_of_several_dimensions(space):
    m = es.View((20, 30), space=space)
    es.deep_copy(m, 0.5)
    policy = es.MDRangePolicy((20, 30), space=space)
    later = es.parallel_reduce(policy, lambda i, j: m[i, j], blocking=False)
    same(later.result(), 300.0)


def test_empty_ranges(space):
    x = es.View(1, space=space)
    for reducer in (es.Sum, es.Min, (es.Max, es.Sum)):
        kernel = (lambda i: (x[i], x[i])) if isinstance(reducer, tuple) else (lambda i: x[i])
        found = es.parallel_reduce(on(space, 0), kernel, reducer=reducer, blocking=False)
        same(found.result(), es.parallel_reduce(on(space, 0), kernel, reducer=reducer))


def test_teams(space):
    needs_teams(space)

    def league(team):
        return es.parallel_reduce(es.TeamThreadRange(team, 10), lambda i: i + team.league_rank)

    policy = es.TeamPolicy(20, "auto", space=space)
    expected = es.parallel_reduce(policy, league)
    same(es.parallel_reduce(policy, league, blocking=False).result(), expected)


@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_scans(space, dtype):
    x, y = numbers_on(space, dtype), es.View(N, dtype, space=space)
    expected = es.parallel_scan(on(space), running, x, y)
    es.deep_copy(y, 0)
    later = es.parallel_scan(on(space), running, x, y, blocking=False)
    same(later.result(), expected)
    values = staged.fetch(x)
    np.testing.assert_array_equal(staged.fetch(y)[1:], values.cumsum()[:-1])


def test_arrays_of_the_host(space):
    """In, Out and InOut are copied as ever."""
    x, y = np.arange(10.0), np.zeros(10)

    def taken(i, x, y):
        y[i] = x[i]
        return x[i]

    later = es.parallel_reduce(on(space, 10), taken, es.In(x), es.Out(y), blocking=False)
    assert later.result() == 45.0
    space.fence()
    np.testing.assert_array_equal(y, x)


def test_labels_and_tools(space):
    class Kernels(es.profiling.Tool):
        def __init__(self):
            self.found = []

        def on_kernel_begin(self, pattern, label):
            self.found.append((pattern, label))

    x, tool = numbers_on(space), Kernels()
    with es.profile(tool):
        later = es.parallel_reduce(on(space), value, x, label="mine", blocking=False)
        same(later.result(), es.parallel_reduce(on(space), value, x))
    assert tool.found == [("parallel_reduce", "mine"), ("parallel_reduce", "value")]


# -- when they are done ---------


def test_a_future_sees_what_was_launched_before_and_nothing_later(space):
    queue = space.instance()
    x = es.View(N, space=space)
    rounds = fitting(space, 20_000, 60)
    es.parallel_reduce(on(queue), value, x, blocking=False).result()
    for k in range(5):
        es.parallel_for(on(queue), grind, x, rounds)
        later = es.parallel_reduce(on(queue), value, x, blocking=False)
        es.parallel_for(on(queue), lambda i: es.atomic_store(x, i, -1.0))
        again = es.parallel_reduce(on(queue), value, x, blocking=False)
        if k % 2:
            assert (again.result(), later.result()) == (-N, 2 * N)
        else:
            assert (later.result(), again.result()) == (2 * N, -N)


def test_many_futures_at_once(space):
    x = es.View(N, space=space)
    es.deep_copy(x, 1.0)

    def scaled(i, x, factor):
        return factor * x[i]

    count = fitting(space, 200, 20)
    futures = [
        es.parallel_reduce(on(space), scaled, x, float(k), blocking=False) for k in range(count)
    ]
    assert [f.result() for f in reversed(futures)] == [N * k for k in reversed(range(count))]


def test_a_future_that_is_asked_becomes_done(space):
    if not isinstance(space, es.SupportsEvents) and space.capabilities.asynchronous:
        pytest.skip(f"space '{space.name}' cannot tell without waiting")
    x = es.View(N, space=space)
    es.parallel_for(on(space), grind, x, fitting(space, 20_000, 60))
    later = es.parallel_reduce(on(space), value, x, blocking=False)
    until = time.monotonic() + 60
    while not later.done:
        assert time.monotonic() < until
        time.sleep(0.001)
    assert later.result() == 2 * N


def test_threads_ask_one_future(space):
    x = es.View(N, space=space)
    es.parallel_for(on(space), grind, x, fitting(space, 20_000, 60))

    def total(i, bins):
        bins[0] += x[i]

    later = es.parallel_reduce(on(space), total, reducer=es.Sum(shape=2), blocking=False)
    gate = threading.Barrier(4)

    def ask(_):
        gate.wait(timeout=60)
        return later.result()

    with ThreadPoolExecutor(4) as pool:
        first, *others = pool.map(ask, range(4))
    assert first.tolist() == [2 * N, 0]
    assert all(other is first for other in others)


def test_threads_launch_for_later_at_the_same_time(space):
    def work(k):
        queue, x = space.instance(), es.View(N, space=space)
        es.deep_copy(x, float(k), instance=queue)
        found = [es.parallel_reduce(on(queue), value, x, blocking=False) for _ in range(20)]
        return {f.result() for f in found}

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [{float(k * N)} for k in range(4)]


def test_futures_order_other_queues(space):
    """What is launched for later is a part of the work of its space."""
    first, second = space.instance(), space.instance()
    x, y = es.View(N, space=space), es.View(N, space=space)
    es.parallel_for(on(first), grind, x, fitting(space, 20_000, 60))
    later = es.parallel_scan(on(first), running, x, y, blocking=False)
    second.wait_for(first)
    assert es.parallel_reduce(on(second), value, y, reducer=es.Max) == 2.0 * (N - 1)
    assert later.result() == 2 * N


# -- lifetimes ---------


def test_futures_views_and_instances_may_be_dropped(space):
    for k in range(10):
        queue, x = space.instance(), es.View(N, label="dropped", space=space)
        es.parallel_for(on(queue), grind, x, fitting(space, 5_000, 60))
        later = es.parallel_reduce(on(queue), value, x, blocking=False)
        del queue, x
        if k % 2:
            del later
        else:
            assert later.result() == 2 * N
            del later
        gc.collect(0)
    space.fence()
    gc.collect()
    assert not {"dropped", "es.Future"} & {label for _, _, label in es.live_allocations()}


def test_a_result_that_was_read_keeps_no_memory(space):
    x = numbers_on(space)
    later = es.parallel_reduce(on(space), value, x, blocking=False)
    later.result()
    space.fence()
    assert "es.Future" not in [label for _, _, label in es.live_allocations()]


# -- out= ---------


def test_results_in_views_may_be_waited_for_too(space):
    x, total = numbers_on(space), es.View((), space=space)
    expected = es.parallel_reduce(on(space), value, x)
    later = es.parallel_reduce(on(space), value, x, out=total, blocking=False)
    assert later.result() is None
    assert later.done
    assert total.item() == expected


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int8", "bool_", "complex128"])
def test_the_item_of_a_result_waits_for_it(space, dtype):
    """`item` waits and copies, wherever a View of rank 0 is."""
    needs_dtype(space, dtype.rstrip("_"))
    number = np.dtype(dtype.rstrip("_"))
    x = es.View(N, number, space=space)
    es.deep_copy(x, number.type(1))
    reducer = es.LOr if dtype == "bool_" else es.Max if dtype == "int8" else es.Sum
    for memory in space.memory_spaces:
        total = es.View((), number, space=space, memory=memory)
        es.parallel_reduce(on(space), value, x, reducer=reducer, out=total)
        found = total.item()
        assert type(found) is type(number.type(1).item())
        assert found == (N if reducer is es.Sum else 1)


def test_the_item_of_a_record_is_a_tuple(space):
    x = numbers_on(space)
    found = es.View((), [("value", np.float64), ("place", np.int64)], space=space)
    es.parallel_reduce(on(space), with_place, x, reducer=es.MinLoc, out=found)
    assert found.item() == tuple(es.parallel_reduce(on(space), with_place, x, reducer=es.MinLoc))


# -- misuse ---------


@pytest.mark.parametrize("wrong", [None, 0, 1, "no", np.arange(2)])
def test_blocking_is_true_or_false(space, wrong):
    with pytest.raises(
        es.LaunchError, match=r"parallel_reduce: blocking=.*; expected True or False"
    ):
        es.parallel_reduce(on(space), lambda i: i + 1, blocking=wrong)


def test_bools_of_numpy_are_bools(space):
    assert es.parallel_reduce(on(space), lambda i: 1, blocking=np.True_) == N
    assert es.parallel_reduce(on(space), lambda i: 1, blocking=np.False_).result() == N


def test_faults_of_the_launch_are_raised_by_it(space):
    x = numbers_on(space)
    with pytest.raises(es.KernelTypeError):
        es.parallel_reduce(on(space), lambda i: (x[i], 1), blocking=False)
    with pytest.raises(es.LaunchError):
        es.parallel_reduce(on(space), value, x, reducer="no such reducer", blocking=False)
    with pytest.raises(es.LaunchError):
        es.parallel_reduce(on(space), value, x, out=es.View(3, space=space), blocking=False)


def test_an_assertion_fails_at_the_result_at_the_latest(space):
    x = numbers_on(space)

    def checked(i, x):
        assert x[i] < 20, "too large"
        return x[i]

    def launch_and_ask():
        return es.parallel_reduce(on(space), checked, x, blocking=False).result()

    with pytest.raises(es.KernelAssertionError, match="too large"):
        launch_and_ask()
    es.deep_copy(x, 1.0)
    assert launch_and_ask() == N


def test_within_a_kernel_there_is_none(space):
    needs_teams(space)

    def league(team, x):
        x[team.league_rank] = es.parallel_reduce(
            es.TeamThreadRange(team, 4), lambda i: i, blocking=False
        )

    with pytest.raises((es.KernelSyntaxError, es.KernelTypeError)):
        es.parallel_for(es.TeamPolicy(2, "auto", space=space), league, es.View(2, space=space))


def test_futures_are_of_this_process(space):
    later = es.parallel_reduce(on(space), lambda i: i, blocking=False)
    for give in (pickle.dumps, copy.copy):
        with pytest.raises(TypeError, match="is work of this process"):
            give(later)
    assert later.result() == N * (N - 1) // 2

"""Threads that a space brings itself: `execspace_compiler.host.fork.Fork`, as a plugin uses it."""

import gc
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import execspace as es
from execspace.base import config
from execspace_compiler.host.fork import Fork
from execspace_compiler.host.jit import compile_plan
from execspace_compiler.host.launcher import Launcher

N = 100_003


class PoolSpace(es.HostExecutionSpace):
    """A space whose parts run through a function that a test chooses."""

    name = "pool"

    def __init__(self, run, parts=4):
        self.launcher = Launcher("fork", parts, Fork(run))

    def compile(self, kernel, spec):
        return compile_plan(self, kernel, spec, self.launcher)


@pytest.fixture(scope="module")
def executor():
    with ThreadPoolExecutor(4) as made:
        yield made


@pytest.fixture
def pool(executor):
    return PoolSpace(lambda part, parts: list(executor.map(part, range(parts))))


@es.kernel
def square(i, x, y):
    y[i] = x[i] * x[i]


@es.kernel
def running(i, prefix, final, x, y):
    if final:
        y[i] = prefix
    return x[i]


@es.kernel
def element(i, x):
    return x[i]


def test_for_reduce_and_scan_on_a_thread_pool(pool):
    x, y = np.arange(N, dtype=np.int64), np.zeros(N, np.int64)
    policy = es.RangePolicy(N, space=pool)
    es.parallel_for(policy, square, x, y)
    assert np.array_equal(y, x * x)
    assert es.parallel_reduce(policy, element, x) == x.sum()
    assert es.parallel_scan(policy, running, x, y) == x.sum()
    assert np.array_equal(y, np.cumsum(x) - x)


def test_views_that_overlap(pool):
    x = np.arange(N, dtype=np.int64)
    es.parallel_for(es.RangePolicy(N, space=pool), square, x, x)
    assert np.array_equal(x, np.arange(N) ** 2)


def test_results_do_not_depend_on_the_order_of_parts(pool):
    x = np.random.default_rng(1).random(N)
    backwards = PoolSpace(lambda part, parts: [part(n) for n in reversed(range(parts))])
    a, b = (es.parallel_reduce(es.RangePolicy(N, space=s), element, x) for s in (pool, backwards))
    assert a == b


def test_parts_run_on_several_threads_at_once():
    barrier = threading.Barrier(4)
    names = []

    def run(part, parts):
        def work(n):
            barrier.wait(20)  # passes only if all four are under way
            part(n)
            names.append(threading.current_thread().name)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(parts)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()

    x, y = np.ones(N, np.int64), np.zeros(N, np.int64)
    es.parallel_for(es.RangePolicy(N, space=PoolSpace(run)), square, x, y)
    assert len(set(names)) == 4
    assert y.all()


def test_a_small_range_stays_on_the_calling_thread():
    space = PoolSpace(lambda part, parts: pytest.fail("asked for threads"))
    x, y = np.arange(3), np.zeros(3, int)
    es.parallel_for(es.RangePolicy(3, space=space), square, x, y)
    assert y.tolist() == [0, 1, 4]


def test_what_run_raises_is_raised_by_the_launch_and_the_next_one_works(executor):
    healthy = False

    def run(part, parts):
        part(0)
        if not healthy:
            raise OSError("no thread can be started")
        for n in range(1, parts):
            part(n)

    policy = es.RangePolicy(N, space=PoolSpace(run))
    x, y = np.ones(N, np.int64), np.zeros(N, np.int64)
    with pytest.raises(OSError, match="no thread can be started"):
        es.parallel_scan(policy, running, x, y)
    healthy = True
    assert es.parallel_scan(policy, running, x, y) == N


def test_a_run_that_leaves_out_a_part_is_an_error():
    space = PoolSpace(lambda part, parts: [part(n) for n in range(1, parts)])
    x = np.ones(N)
    with pytest.raises(es.LaunchError, match="ran 3 of the 4 parts"):
        es.parallel_reduce(es.RangePolicy(N, space=space), element, x)


def test_a_part_that_is_run_twice_is_an_error():
    space = PoolSpace(lambda part, parts: [part(0), part(0)])
    with pytest.raises(es.LaunchError, match=r"part\(0\) was called twice"):
        es.parallel_reduce(es.RangePolicy(N, space=space), element, np.ones(N))


def test_a_part_that_begins_after_its_launch_was_given_up_does_nothing():
    kept = []

    def run(part, parts):
        kept.append(part)
        raise KeyboardInterrupt

    y = np.zeros(N, np.int64)
    with pytest.raises(KeyboardInterrupt):
        es.parallel_for(es.RangePolicy(N, space=PoolSpace(run)), square, np.ones(N, np.int64), y)
    kept[0](2)  # the memory of its launch is gone
    assert not y.any()


@es.kernel
def slow(i, y):
    k = 1
    while k < 100_000:
        k += 1 + (k + i) % 2
    y[i] = k


def test_a_launch_that_fails_waits_for_the_parts_under_way():
    n = 4000
    y = np.zeros(n, np.int64)
    threads = []

    def run(part, parts):
        threads.append(threading.Thread(target=part, args=(1,)))
        threads[0].start()
        while not y[n // 4]:  # part 1 of 4 has begun
            time.sleep(0.001)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        es.parallel_for(es.RangePolicy(n, space=PoolSpace(run)), slow, y)
    assert y[n // 4 : n // 2].all()
    assert not y[: n // 4].any()
    threads[0].join()


def test_threads_may_launch_at_the_same_time(pool):
    x = np.arange(N, dtype=np.int64)
    policy = es.RangePolicy(N, space=pool)
    results = []

    def work(k):
        results.append([es.parallel_reduce(policy, element, x * k) for _ in range(10)])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(r[0] for r in results) == [int(x.sum()) * k for k in (1, 2, 3)]
    assert all(len(set(r)) == 1 for r in results)


def on_another_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


class Stealing:
    """A scheduler that does other work, if there is any, between the parts of a launch."""

    def __init__(self):
        self.work = None
        self.after = 0

    def __call__(self, part, parts):
        for n in range(parts):
            part(n)
            if self.work is not None and n == self.after:
                work, self.work = self.work, None
                work()


X = np.arange(N, dtype=np.int64)


def looped(space):
    y = np.zeros(N, np.int64)
    es.parallel_for(es.RangePolicy(N, space=space), square, X, y)
    return np.array_equal(y, X * X)


def reduced(space):
    return es.parallel_reduce(es.RangePolicy(N, space=space), element, X) == X.sum()


def scanned(space):
    y = np.zeros(N, np.int64)
    total = es.parallel_scan(es.RangePolicy(N, space=space), running, X, y)
    return total == X.sum() and np.array_equal(y, np.cumsum(X) - X)


def overlapped(space):
    x = X.copy()
    es.parallel_for(es.RangePolicy(N, space=space), square, x, x)
    return np.array_equal(x, X * X)


PATTERNS = [looped, reduced, scanned, overlapped]


@pytest.mark.parametrize("start", [lambda work: work(), on_another_thread], ids=["same", "other"])
@pytest.mark.parametrize("forks", [1, 2])
@pytest.mark.parametrize("inner", PATTERNS)
@pytest.mark.parametrize("outer", PATTERNS)
def test_run_may_launch(outer, inner, forks, start):
    stealing, results = Stealing(), []
    space = PoolSpace(stealing)
    other = space if forks == 1 else PoolSpace(Stealing())
    for stealing.after in (0, 3):  # the first and the last part
        stealing.work = lambda: start(lambda: results.append(inner(other)))
        results.append(outer(space))
    assert results == [True] * 4


def test_launches_in_launches_in_launches():
    results = []
    deeper = iter([reduced, looped, scanned, reduced])

    def run(part, parts):
        for n in range(parts):
            part(n)
            if n == 1 and (launched := next(deeper, None)):
                results.append(launched(space))

    space = PoolSpace(run)
    assert scanned(space)
    assert results == [True] * 4


@es.kernel
def checked(i, x):
    assert x[i] < 3, "too large"


def test_assertions_of_launches_in_launches_are_told_apart():
    small, large = np.ones(N, np.int64), np.full(N, 4)
    stealing = Stealing()
    policy = es.RangePolicy(N, space=PoolSpace(stealing))
    stealing.work = lambda: es.parallel_for(policy, checked, small)
    with pytest.raises(es.KernelAssertionError, match="too large"):
        es.parallel_for(policy, checked, large)
    stealing.work = lambda: es.parallel_for(policy, checked, large)
    with pytest.raises(es.KernelAssertionError, match="too large"):
        es.parallel_for(policy, checked, small)


class Broken(Exception):
    """What a launch fails with here; as an empty sequence it is false."""

    def __len__(self):
        return 0


def failing(part, parts):
    part(0)
    raise Broken


@pytest.mark.parametrize("inner", PATTERNS)
@pytest.mark.parametrize("outer", PATTERNS)
def test_a_failure_within_run_that_it_catches_is_not_the_launchs(outer, inner):
    stealing, caught = Stealing(), []

    def work():
        stealing.work = lambda: failing(lambda n: None, 4)
        with pytest.raises(Broken):
            inner(space)
        caught.append(True)

    stealing.work = work
    space = PoolSpace(stealing)
    assert outer(space)
    assert caught == [True]
    assert outer(space)


@pytest.mark.parametrize("forks", [1, 2])
def test_a_failure_within_run_that_it_passes_on_is_raised_once(forks):
    stealing = Stealing()
    space = PoolSpace(stealing)
    other = space if forks == 1 else PoolSpace(failing)

    def work():
        stealing.work = lambda: failing(lambda n: None, 4)
        reduced(other)

    stealing.work = work
    with pytest.raises(Broken):
        scanned(space)
    stealing.work = None
    assert scanned(space)


def test_a_launch_that_fails_after_one_within_it_keeps_its_own_failure():
    stealing, results = Stealing(), []

    def run(part, parts):
        stealing(part, parts)
        if len(results) == 1:
            results.append("failed")
            raise OSError("no thread can be started")

    space, other = PoolSpace(run), PoolSpace(Stealing())
    stealing.work = lambda: results.append(reduced(other))
    with pytest.raises(OSError, match="no thread can be started"):
        reduced(space)
    assert results == [True, "failed"]


def test_a_plan_keeps_the_fork_that_it_calls(executor):
    class Forgetful(es.HostExecutionSpace):
        name = "forgetful"

        def compile(self, kernel, spec):
            fork = Fork(lambda part, parts: list(executor.map(part, range(parts))))
            return compile_plan(self, kernel, spec, Launcher("fork", 4, fork))

    space = Forgetful()
    assert reduced(space)
    gc.collect()
    assert reduced(space)


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        (("threads",), ValueError, "'threads'.*expected one of 'serial', 'pool'"),
        (("serial", 0), ValueError, "parts=0; expected a whole number from 1 to 1024"),
        (("pool", -3), ValueError, "parts=-3; expected a whole number from 1 to 1024"),
        (("prange", 1025), ValueError, "parts=1025; .* about as many as there are threads"),
        (("fork", 100_000, Fork(print)), ValueError, "parts=100000; expected"),
        (("fork", 2.5, Fork(print)), TypeError, r"parts=2\.5; expected a whole number"),
        (("pool", "4"), TypeError, "parts='4'; expected a whole number"),
        (("serial", True), TypeError, "parts=True; expected a whole number"),
        (("pool", None), TypeError, "parts=None; expected a whole number"),
        (("fork", 2), ValueError, r"expected the Fork that .*Launcher\('fork', parts, Fork\(run\)"),
        (("serial", 1, Fork(print)), ValueError, "only 'fork' takes a Fork; leave it out"),
        (("fork", 4, print), TypeError, r"fork=<.*print>\): expected a Fork; wrap .* Fork\(run\)"),
        (("pool", 4, print), TypeError, "expected a Fork"),
    ],
)
def test_a_launcher_that_makes_no_sense_is_refused(given, kind, message):
    with pytest.raises(kind, match=f"Launcher.*{message}"):
        Launcher(*given)


def test_a_launcher_takes_integers_of_numpy():
    assert repr(Launcher("pool", np.int64(4))) == repr(Launcher("pool", 4))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_most_parts_that_a_launcher_takes(pattern):
    work = []

    def run(part, parts):
        work.append(parts)
        on_another_thread(lambda: [part(n) for n in range(parts)])

    assert pattern(PoolSpace(run, config.MOST_THREADS))
    assert work[0] >= config.MOST_THREADS


def test_a_fork_takes_a_function():
    with pytest.raises(TypeError, match="expected a function"):
        Fork(3)

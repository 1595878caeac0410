"""Threads of Python: launches of one plan at once, and threads that never touched CUDA before."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged

N = 1000
THREADS = 8


@es.kernel
def store(i, x, value):
    x[i] = value + i


@es.kernel
def scaled(i, x, factor):
    return x[i] * factor


@es.kernel
def checked(i, x, most):
    assert x[i] < most, "too large"
    x[i] += 1.0


@es.kernel
def running(i, prefix, final, x, y):
    if final:
        y[i] = prefix
    return x[i]


SUM = sum(range(N))


def on(queue, n=N):
    return es.RangePolicy(n, space=queue)


@pytest.fixture(autouse=True)
def often():
    """Threads change often, wherever they may."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


def in_a_thread(work):
    """What ``work()`` gives in a thread of its own."""
    results = []

    def run():
        try:
            results.append(work())
        except BaseException as error:
            results.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    assert results, "the thread hangs"
    if isinstance(results[0], BaseException):
        raise results[0]
    return results[0]


def all_at_once(work):
    """Results of ``work(0)``, ``work(1)``, ..., each in a fresh thread; they begin together."""
    gate = threading.Barrier(THREADS)

    def run(k):
        gate.wait(timeout=60)
        return work(k)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))


def test_one_plan_with_other_arguments_in_each_thread(queue):
    """Frames, scratch memory and results of one launch are not those of another."""

    def work(k):
        x, out = es.View(N, space=queue), es.View((), space=queue)
        right = []
        for n in range(50):
            es.parallel_for(on(queue), store, x, float(k))
            right.append(es.parallel_reduce(on(queue), scaled, x, n) == n * (SUM + k * N))
            es.parallel_reduce(on(queue), scaled, x, k, out=out)
            right.append(es.parallel_reduce(on(queue, 1), lambda i, o: o[()], out))
        return right

    for k, right in enumerate(all_at_once(work)):
        assert all(right[::2]), k
        assert set(right[1::2]) == {float(k * (SUM + k * N))}


def test_assertions_and_scans_in_each_thread(queue):
    def work(k):
        x, y = es.View(N, space=queue), es.View(N, space=queue)
        es.parallel_for(on(queue), store, x, float(k))
        raised = 0
        for n in range(10):
            try:
                es.parallel_for(on(queue), checked, x, 1e9 if n % 2 else float(k))
            except es.KernelAssertionError:
                raised += 1
        total = es.parallel_scan(on(queue), running, x, y)
        return raised, total, staged.fetch(y).tolist()

    for k, (raised, total, prefixes) in enumerate(all_at_once(work)):
        values = np.arange(N) + float(k + 5)
        assert raised == 5
        assert total == values.sum()
        assert prefixes == (np.cumsum(values) - values).tolist()


def test_allocations_copies_and_drops_in_each_thread(cuda):
    """Each with an instance of its own; all allocate from the default stream."""
    values = np.arange(200.0).reshape(20, 10)

    def work(k):
        queue = cuda.instance()
        for n in range(30):
            x = es.View((20, 10), layout="left", space=queue)
            y = es.View((20, 10), space=queue, layout="right")
            es.deep_copy(x, values + n, instance=queue)
            es.deep_copy(y[::-1, :], x, instance=queue)
            back = np.zeros((20, 10))
            es.deep_copy(back, y, instance=queue)
            queue.fence()
            if not np.array_equal(back[::-1], values + n):
                return n
        return None

    assert all_at_once(work) == [None] * THREADS


def test_one_instance_in_all_threads(cuda):
    """Views that are dropped at once stay alive until their launch is done, whoever waits."""
    queue = cuda.instance()
    total = es.View(N, es.int64, space=cuda)

    @es.kernel
    def collect(i, total, part):
        es.atomic_add(total, i, part[i])

    def work(k):
        for n in range(200):
            part = es.View(N, es.int64, space=queue)
            es.parallel_for(on(queue), store, part, k)
            es.parallel_for(on(queue), collect, total, part)
            del part
            if n % 50 == k:
                queue.fence()

    all_at_once(work)
    queue.fence()
    expected = 200 * (THREADS * np.arange(N) + sum(range(THREADS)))
    np.testing.assert_array_equal(staged.fetch(total), expected)


# -- fresh threads ------------------------------------------------------------------------------


def test_the_second_launch_of_a_plan_is_the_first_of_its_thread(queue):
    """Nothing was allocated in that thread: no context is current there."""
    x = es.View(N, space=queue)
    es.parallel_for(on(queue), store, x, 0.0)
    assert es.parallel_reduce(on(queue), scaled, x, 1.0) == SUM
    queue.fence()
    in_a_thread(lambda: es.parallel_for(on(queue), store, x, 1.0))
    assert in_a_thread(lambda: es.parallel_reduce(on(queue), scaled, x, 1.0)) == SUM + N
    in_a_thread(lambda: es.parallel_for(on(queue), checked, x, 1e9))
    in_a_thread(queue.fence)
    assert in_a_thread(lambda: staged.fetch(x)).tolist() == (np.arange(N) + 2.0).tolist()


@pytest.mark.parametrize("kind", ["device", "pinned", "shared"])
def test_the_first_use_of_cuda_in_a_thread(cuda, kind):
    def allocate():
        x = es.View(N, space=cuda, memory=kind)
        es.parallel_for(on(cuda), store, x, 3.0)
        return x

    x = in_a_thread(allocate)
    assert es.parallel_reduce(on(cuda), scaled, x, 1.0) == SUM + 3 * N

    def copy():
        back = np.zeros(N)
        es.deep_copy(back, x, instance=cuda.instance())
        return back

    cuda.fence()
    assert in_a_thread(copy).sum() == SUM + 3 * N
    in_a_thread(lambda: es.deep_copy(x, 1.0))
    assert (staged.fetch(x) == 1.0).all()
    in_a_thread(lambda: es.parallel_for(on(cuda), lambda i, x: store(i, x, 2.0), x))  # compiles
    assert es.parallel_reduce(on(cuda), scaled, x, 1.0) == SUM + 2 * N


def test_arrays_of_cupy_in_a_fresh_thread(queue, cupy):
    x = cupy.zeros(N)
    es.parallel_for(on(queue), store, x, 0.0)
    es.fence()
    in_a_thread(lambda: es.parallel_for(on(queue), store, x, 5.0))
    es.fence()
    assert x.get().tolist() == (np.arange(N) + 5.0).tolist()
    assert in_a_thread(lambda: es.parallel_reduce(on(queue), scaled, x, 1.0)) == SUM + 5 * N


PROGRAM = """
import threading
import numpy as np
import execspace as es

@es.kernel
def store(i, x, value):
    x[i] = value + i

sums = []

def work():
    x = es.View(100, space="cuda")
    es.parallel_for(es.RangePolicy(100, space="cuda"), store, x, 1.0)
    sums.append(es.parallel_reduce(es.RangePolicy(100, space="cuda"), lambda i, x: x[i], x))

threads = [threading.Thread(target=work) for _ in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(sums)  # by one thread: lines of several may end up in one another
"""


def test_the_space_is_started_by_threads(cuda, python):
    """The main thread has not touched CUDA."""
    assert python(PROGRAM) == f"{[5050.0] * 4}\n"

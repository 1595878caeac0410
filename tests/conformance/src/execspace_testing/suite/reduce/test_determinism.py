"""Reductions and scans give the same bits in every run, while another process wants a core.

Contributions are numbers whose sum depends on the order of additions, so another order would show.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from functools import reduce
from operator import add

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import interpreted

RUNS = 100


@pytest.fixture(scope="module", autouse=True)
def busy_cores():
    """A process for every second core, each of which computes all the time."""
    # They end with this process, however that ends.
    program = "import os\np = os.getppid()\nwhile os.getppid() == p:\n    sum(range(10_000))\n"
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    number = max((count or 1) // 2, 1)
    load = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(number)]
    yield
    for process in load:
        process.kill()
        process.wait()


def numbers(n):
    """Of both signs and of all magnitudes: no two orders of summation agree."""
    rng = np.random.default_rng(7)
    return rng.normal(size=n) * 10.0 ** rng.integers(-8, 8, n)


def bits(result):
    """The bytes of numbers, arrays and tuples of them."""
    if isinstance(result, tuple):
        return b"".join(map(bits, result))
    return np.asarray(result).tobytes()


def test_the_order_of_additions_shows(space):
    """Otherwise the tests of this file would show nothing."""
    x = numbers(sizes(space)[-1]).tolist()
    assert reduce(add, x) != reduce(add, x[::-1])


def check(run):
    first = bits(run())
    assert all(bits(run()) == first for _ in range(RUNS - 1))


def sizes(space):
    """Below and above the size at which threads share the work, and no multiple of theirs."""
    return (37, 150) if interpreted(space) else (1000, 60_001)


class Mean(es.Reducer):
    """A join of one's own, which rounds."""

    identity = (0, 0.0)

    def join(a, b):
        n = a[0] + b[0]
        return n, (a[0] * a[1] + b[0] * b[1]) / max(n, 1)


def several(i, x):
    return x[i], 1 + x[i] * 1e-12, x[i], (1, x[i]), (x[i], i)


SEVERAL = (es.Sum, es.Prod, es.Sum(accuracy="high"), Mean, es.MinMaxLoc)


def test_sums_products_and_joins_of_ones_own(space):
    with es.use_space(space):
        for n in sizes(space):
            x = staged.place(space, numbers(n))
            check(lambda n=n, x=x: staged.parallel_reduce(n, several, x, reducer=SEVERAL))


def test_array_reductions(space):
    def powers(i, a, x):
        v = x[i]
        for j in range(4):
            a[j] += v
            v *= 1.5 + x[i] * 1e-9

    with es.use_space(space):
        for n in sizes(space):
            x = staged.place(space, numbers(n))
            check(lambda n=n, x=x: staged.parallel_reduce(n, powers, x, reducer=es.Sum(shape=4)))


@pytest.mark.parametrize(
    "options",
    [{"iterate": "right"}, {"iterate": "left"}, {"tile": (8, 3)}],
    ids=["right", "left", "tiled"],
)
def test_policies(space, options):
    shape = (9, 11) if interpreted(space) else (311, 213)
    A = staged.place(space, numbers(shape[0] * shape[1]).reshape(shape))
    policy = es.MDRangePolicy(shape, **options)
    with es.use_space(space):
        check(lambda: staged.parallel_reduce(policy, lambda i, j: A[i, j]))


def running(i, prefix, final, x, sums):
    if final:
        sums[i] = prefix
    return x[i]


def test_scans_and_their_totals(space):
    def run(n, x):
        sums = staged.view_on(space, np.full(n, np.nan))
        total = staged.parallel_scan(n, running, x, sums)
        return staged.fetch(sums), total

    with es.use_space(space):
        for n in sizes(space):
            x = staged.place(space, numbers(n))
            check(lambda n=n, x=x: run(n, x))


def test_launches_from_several_threads(space):
    """Each has partial results of its own."""
    n = sizes(space)[-1]
    x = staged.place(space, numbers(n))
    found: list[bytes] = []

    def work():
        with es.use_space(space):
            for _ in range(5 if interpreted(space) else 25):
                found.append(bits(staged.parallel_reduce(n, several, x, reducer=SEVERAL)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 4 * (5 if interpreted(space) else 25)
    assert len(set(found)) == 1

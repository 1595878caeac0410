"""Eight threads make, cut, copy, change, launch on and drop Views for a few seconds.

Each thread knows what every element must be, so a mix-up of memory shows as a wrong number, and
what is forgotten shows in the list of live allocations.
"""

from __future__ import annotations

import gc
import sys
import threading
import time

import numpy as np
import pytest

import execspace as es

THREADS, SECONDS = 8, 3.0


@es.kernel
def axpy(i, a, x, y):
    y[i] += a * x[i]


@es.kernel
def total(i, x):
    return x[i]


def work(rng, space, shared):
    """One round; raises where a number is wrong."""
    n = int(rng.integers(1, 400))
    value = int(rng.integers(1, 1000))
    x = es.View(n, label=f"x{n}", space=space)
    A = es.View((n, 3), label="A", space=space, layout=("left", "right")[value % 2])
    assert not np.asarray(x).any(), "memory that is not zero"
    es.deep_copy(x, float(value))
    es.deep_copy(A[:, 1], x)
    column, rest = A[:, 1], A[:, ::2]
    del A
    y = es.View(n, label="y", space=space, initialize=False)
    es.deep_copy(y, shared[:n])
    es.parallel_for(es.RangePolicy(n, space=space), axpy, 2.0, column, y)
    assert es.parallel_reduce(es.RangePolicy(n, space=space), total, y) == n * (7 + 2 * value)
    assert not np.asarray(rest).any()
    es.resize(x, n + 5)
    assert x[n - 1] == value and x[n + 4] == 0
    mirror = es.create_mirror(y)
    es.deep_copy(mirror, y)
    back = np.from_dlpack(mirror)
    del mirror
    assert (back == 7 + 2 * value).all()
    with es.use_space(space):
        D = es.DualView(n, es.int32, label="D")
    D.h_view[n - 1] = value
    D.modify("host")
    D.sync("device")
    assert D.d_view[n - 1] == value
    assert column.use_count == 2
    cycle = [rest]
    cycle.append(cycle)  # only the collector finds this one


@pytest.mark.slow
@pytest.mark.parametrize(  # their Views are of the same memory
    "name", ["openmp", pytest.param("serial", marks=pytest.mark.exhaustive)]
)
def test_eight_threads_share_one_ledger(name):
    if name not in [s.name for s in es.spaces() if s.usable]:
        pytest.skip(f"{name} cannot be used here")
    space = es.space(name)
    shared = es.View(400, label="shared", space=space)
    es.deep_copy(shared, 7.0)
    work(np.random.default_rng(0), space, shared)  # compiles
    gc.collect()
    before = sorted(es.live_allocations())
    errors, rounds = [], [0] * THREADS
    end = time.monotonic() + SECONDS

    def run(number):
        rng = np.random.default_rng(number)
        try:
            while time.monotonic() < end and not errors:
                work(rng, space, shared)
                rounds[number] += 1
        except BaseException as error:
            errors.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=run, args=(k,), daemon=True) for k in range(THREADS)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(SECONDS + 60)
        assert not any(t.is_alive() for t in threads), "a thread hangs"
    finally:
        sys.setswitchinterval(interval)
    if errors:
        raise errors[0]
    assert min(rounds) > 0
    gc.collect()
    assert sorted(es.live_allocations()) == before
    assert shared.use_count == 1
    assert (np.asarray(shared) == 7).all()


def test_dropping_the_same_memory_in_many_threads():
    """The last of many subviews frees the memory, whichever thread it is in, and just once."""
    freed = []

    class Tool(es.profiling.Tool):
        def on_free(self, space, label, nbytes):
            freed.append(label)

    tool = es.profiling.attach(Tool())
    try:
        for n in range(50):
            A = es.View((16, 4), label=f"A{n}")
            parts = [[A[k, :]] for k in range(16)]
            del A
            gate = threading.Barrier(16)

            def drop(part, gate=gate):
                gate.wait()
                part.clear()

            threads = [threading.Thread(target=drop, args=(part,)) for part in parts]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
    finally:
        es.profiling.detach(tool)
    assert freed == [f"A{n}" for n in range(50)]

"""What is still under way when Python lets go of it: Views, instances, sources of copies.

A delay of some 50 ms keeps a stream busy while Views are dropped and their memory is handed out
again. If that is too early, either the old work finds new numbers, or it spoils the new Views.
"""

from __future__ import annotations

import gc

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged

N = 1000


@es.kernel
def add(i, total, part):
    total[i] += part[i]


@es.kernel
def store(i, x, value):
    x[i] = value


@es.kernel
def increase(i, x):
    x[i] += 1.0


def on(queue, n=N):
    return es.RangePolicy(n, space=queue)


def filled(queue, value, **options):
    """A View that an instance fills; nothing waits."""
    made = es.View(N, space=queue, **options)
    es.parallel_for(on(queue), store, made, value)
    return made


@pytest.fixture
def aside(cuda):
    """Another stream, that does not wait, with its kernels compiled."""
    other = cuda.instance()
    for kind in ("device", "pinned", "shared"):
        filled(other, 0.0, memory=kind)
    other.fence()
    return other


@pytest.mark.parametrize("kind", ["device", "pinned", "shared"])
def test_views_of_launches_under_way(queue, aside, delay, kind):
    """More launches than an instance holds before it looks at what is done."""
    total = es.View(N, space=queue)
    es.parallel_for(on(queue), add, total, filled(queue, 0.0, memory=kind))
    queue.fence()
    delay.on(queue)
    for k in range(200 if kind == "device" else 20):
        part = filled(queue, float(k), label="dropped", memory=kind)
        es.parallel_for(on(queue), add, total, part)
        del part
    # Filled aside, or after what is under way on the default stream, which hands out its memory.
    others = [filled(aside, -1.0, memory=kind) for _ in range(30)]
    queue.fence()
    aside.fence()
    count = 200 if kind == "device" else 20
    assert (staged.fetch(total) == sum(range(count))).all()
    for other in others:
        assert (staged.fetch(other) == -1.0).all()
    gc.collect()
    assert "dropped" not in [label for _, _, label in es.live_allocations()]


def test_views_captured_by_launches_under_way(cuda, aside, delay):
    queue, total = cuda.instance(), es.View(N, space=cuda)

    def launch(value):
        part = filled(queue, value)

        def body(i, total):
            total[i] += part[i]

        es.parallel_for(on(queue), body, total)

    launch(0.0)
    queue.fence()
    delay.on(queue)
    for k in range(1, 11):
        launch(float(k))
    others = [filled(aside, -1.0) for _ in range(10)]
    queue.fence()
    aside.fence()
    assert (staged.fetch(total) == 55.0).all()
    assert all((staged.fetch(other) == -1.0).all() for other in others)


def test_results_of_reductions_under_way(cuda, aside, delay):
    """Scratch memory of a plan serves one launch after the other, and `out` stays alive."""
    queue = cuda.instance()
    x, sums, kept = es.View(N, space=cuda), es.View(20, space=cuda), []
    for _ in range(2):
        es.deep_copy(sums, 0.0)
        delay.on(queue)
        for k in range(20):
            es.parallel_for(on(queue), store, x, float(k))
            out = es.View((), space=queue)
            es.parallel_reduce(on(queue), lambda i, x: x[i], x, out=out)
            es.deep_copy(es.subview(sums, k), out, instance=queue)
            del out
            kept.append(filled(aside, -1.0))
        queue.fence()
    assert staged.fetch(sums).tolist() == [N * float(k) for k in range(20)]


def test_views_that_are_sorted(cuda, aside):
    """Held until the sort is done, not until what was queued before it is."""
    queue, x = cuda.instance(), es.View(N, space=cuda)
    n = 1 << 27
    for warm in (True, False):
        large = es.View(N if warm else n, label="sorted", space=cuda)
        es.fill_random(large, 3, space=cuda)
        es.fence()
        for _ in range(63):  # the sort is the 64th, after which the instance looks
            es.parallel_for(on(queue), increase, x)
        es.sort(large, space=queue)
        del large
        for _ in range(65):
            es.parallel_for(on(queue), increase, x)
    other = es.View(n, label="new", space=cuda, initialize=False)
    es.parallel_for(on(aside, n), store, other, -1.0)
    aside.fence()
    queue.fence()
    assert es.parallel_reduce(on(cuda, n), lambda i, x: 0 if x[i] == -1.0 else 1, other) == 0


@pytest.mark.parametrize("first", [True, False])
def test_zeros_are_seen_by_the_first_kernel_of_an_instance(cuda, delay, first):
    """The default stream, which stores them, is busy."""
    queue = cuda.instance()
    warm = cuda if first else queue
    es.parallel_for(on(warm), increase, es.View(N, space=cuda))
    for _ in range(3):
        dirty = [es.View(N, space=cuda) for _ in range(5)]
        for d in dirty:
            es.deep_copy(d, 7.0)
        del dirty, d
        delay.on(cuda)
        found = [es.View(N, space=cuda) for _ in range(5)]
        for x in found:
            es.parallel_for(on(queue), increase, x)
        queue.fence()
        for x in found:
            assert (staged.fetch(x) == 1.0).all()


def test_memory_that_is_not_zeroed_is_free_of_older_work_too(cuda, delay):
    """What the default stream still does with memory comes before an instance that gets it."""
    queue = cuda.instance()
    es.parallel_for(on(queue), store, es.View(N, space=cuda), 0.0)
    queue.fence()
    old = [es.View(N, space=cuda) for _ in range(5)]
    for o in old:
        delay.on(cuda, o, 5.0, 20)
    del old, o
    new = [es.View(N, space=cuda, initialize=False) for _ in range(5)]
    for x in new:
        es.parallel_for(on(queue), store, x, 1.0)
    es.fence()
    for x in new:
        assert (staged.fetch(x) == 1.0).all()


def test_pinned_memory_that_the_default_stream_still_writes(cuda, delay):
    for _ in range(3):
        old = es.View(N, space=cuda, memory="pinned")
        delay.on(cuda, old, 5.0)
        del old
        new = [es.View(N, space=cuda, memory="pinned") for _ in range(5)]
        for x in new:
            np.asarray(x)[...] = 1.0
        es.fence()
        for x in new:
            assert (np.asarray(x) == 1.0).all()


# -- copies -------------------------------------------------------------------------------------


def test_copies_with_an_instance_do_not_wait_and_are_in_order(cuda, delay):
    queue = cuda.instance()
    a, b = (es.View(N, space=cuda, memory="pinned") for _ in range(2))
    x = es.View(N, space=cuda)
    es.parallel_for(on(queue), increase, x)
    queue.fence()
    np.asarray(a)[...] = 3.0
    delay.on(queue, milliseconds=300)
    es.deep_copy(x, a, instance=queue)
    es.parallel_for(on(queue), increase, x)
    es.deep_copy(b, x, instance=queue)
    assert not np.asarray(b).any()  # not yet: all calls came back at once
    queue.fence()
    assert (np.asarray(b) == 4.0).all()


def test_views_of_copies_under_way(cuda, aside, delay):
    """Pinned to device, device to device, device to pinned; all but the last dropped at once."""
    queue = cuda.instance()
    results = [es.View(N, space=cuda, memory="pinned") for _ in range(10)]
    filled(queue, 0.0)
    queue.fence()
    delay.on(queue)
    for k, result in enumerate(results):
        source = es.View(N, label="dropped", space=cuda, memory="pinned")
        np.asarray(source)[...] = k
        x, y = (es.View(N, label="dropped", space=cuda) for _ in range(2))
        es.deep_copy(x, source, instance=queue)
        es.deep_copy(y, x, instance=queue)
        es.deep_copy(result, y, instance=queue)
        del source, x, y
        other = es.View(N, space=cuda, memory="pinned")
        np.asarray(other)[...] = -1.0
        filled(aside, -1.0)
    queue.fence()
    aside.fence()
    for k, result in enumerate(results):
        assert (np.asarray(result) == k).all()
    gc.collect()
    assert "dropped" not in [label for _, _, label in es.live_allocations()]


def test_arrays_of_the_host_may_be_dropped_and_changed(cuda, delay):
    """Memory of the host that is not pinned is read before the call comes back."""
    queue = cuda.instance()
    views = [es.View((50, 20), layout="right", space=cuda) for _ in range(5)]
    views += [es.View((50, 20), layout="left", space=cuda) for _ in range(5)]
    for warm in (True, False):
        if not warm:
            delay.on(queue)
        for k, x in enumerate(views):
            values = np.full((50, 20), float(k))
            es.deep_copy(x, values, instance=queue)
            values[...] = -1.0
            del values
        queue.fence()
    for k, x in enumerate(views):
        assert (staged.fetch(x) == k).all()


def test_arrays_in_page_locked_memory_are_in_order(cuda, delay):
    """A copy to such an array comes back before it is done; the next one must wait for it."""
    cupyx = pytest.importorskip("cupyx", reason="CuPy is not installed")
    queue = cuda.instance()
    host = cupyx.zeros_pinned((50, 20))
    x = es.View((50, 20), layout="right", space=cuda)
    y = es.View((50, 20), layout="left", space=cuda)
    for value in (1.0, 2.0):  # compiles at first
        es.deep_copy(x, value)
        delay.on(queue)
        es.deep_copy(host, x, instance=queue)
        es.deep_copy(y, host, instance=queue)  # another layout: the host puts it in order
        queue.fence()
        assert (host == value).all()
        assert (staged.fetch(y) == value).all()


# -- instances ----------------------------------------------------------------------------------


def test_an_instance_that_is_dropped_is_waited_for(cuda, delay):
    """Nothing but its work is left of it."""
    x, found = es.View(N, space=cuda), es.View(N, space=cuda, memory="pinned")
    es.deep_copy(x, 3.0)
    queue = cuda.instance()
    delay.on(queue)
    es.deep_copy(found, x, instance=queue)
    del queue
    gc.collect()
    cuda.fence()
    assert (np.asarray(found) == 3.0).all()


def test_views_of_an_instance_that_is_dropped(cuda, cupy, aside, delay):
    result = es.View(N, space=cuda, memory="pinned")
    for warm in (True, False):
        x = filled(cuda, 4.0, label="dropped")
        cuda.fence()
        queue = cuda.instance()
        delay.on(queue, milliseconds=0 if warm else 100)
        es.deep_copy(result, x, instance=queue)
        del x, queue
        gc.collect()
        others = [filled(aside, -1.0) for _ in range(10)]
        aside.fence()
        cupy.cuda.Device().synchronize()
        assert (np.asarray(result) == 4.0).all()
        del others

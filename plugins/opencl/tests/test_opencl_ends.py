"""Forks of a process that has used OpenCL, and the end of a program while threads still launch."""

from __future__ import annotations

import os

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")

PARENT = """
    import gc, multiprocessing, os, signal, sys, threading, warnings
    import numpy as np
    import execspace as es

    warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12: forking with threads

    @es.kernel
    def double(i, x):
        x[i] *= 2

    def in_child(work):
        sys.stdout.flush()
        child = os.fork()
        if not child:
            signal.alarm(20)  # a child that hangs is killed
            work()
            sys.exit(0)
        _, status = os.waitpid(child, 0)
        assert status == 0, status
"""

USED = (
    PARENT
    + """
    space = es.space("opencl")
    policy = es.RangePolicy(1000, space=space)
    x = es.View(1000, space=space, memory="device", label="x")
    y = np.ones(1000)
    reachable = es.HOST.reachable_from(space)
    es.parallel_for(policy, double, x)
    if reachable:
        es.parallel_for(policy, double, y)
"""
)


def test_all_that_touches_the_device_says_in_a_child_to_spawn(opencl, python):
    out = python(
        USED
        + """
    has_shared = any("shared" in m.kinds for m in space.memory_spaces if m is not es.HOST)
    shared = has_shared and es.View(3, space=space, memory="shared")
    instance = space.instance()
    tried = {
        "launch": lambda: es.parallel_for(policy, double, x),
        "first launch": lambda: es.parallel_for(policy, lambda i, x: None, x),
        "launch on an instance": lambda: es.parallel_for(
            es.RangePolicy(9, space=instance), double, x
        ),
        "reduction": lambda: es.parallel_reduce(policy, lambda i, x: x[i], x),
        "View": lambda: es.View(3, space=space, memory="device"),
        "copy to": lambda: es.deep_copy(x, np.zeros(1000)),
        "copy from": lambda: es.deep_copy(np.zeros(1000), x),
        "fill": lambda: es.deep_copy(x, 1.0),
        "fence": space.fence,
        "fence of an instance": instance.fence,
        "instance": space.instance,
        "another name": lambda: es.space("opencl:0.0"),
        "sort": lambda: es.sort(x),
    }
    if reachable:
        tried["launch on the host's memory"] = lambda: es.parallel_for(policy, double, y)
    if shared is not False:
        tried["fill of shared memory"] = lambda: es.deep_copy(shared, 1.0)

    def try_all():
        for what, work in tried.items():
            try:
                work()
            except es.SpaceError as error:
                assert "multiprocessing's 'spawn'" in str(error), (what, error)
            else:
                raise AssertionError(what)
        print("tried", len(tried))

    in_child(try_all)
    es.parallel_for(policy, double, x)  # the parent goes on
    es.fence()
    """
    )
    assert out.startswith("tried 1")


def test_a_child_drops_what_it_inherits_and_uses_other_spaces(opencl, python):
    """Silently, though the parent forks while launches are under way on another thread."""
    out = python(
        USED
        + """
    stop = threading.Event()

    def launches():
        while not stop.is_set():
            es.parallel_for(policy, double, x)
            es.fence()

    def child():
        global x, space, policy, double
        z = np.ones(5)
        x = space = policy = None
        gc.collect()
        es.parallel_for(es.RangePolicy(5, space="oracle"), double, z)
        es.fence()
        copied = np.zeros(5)
        es.deep_copy(copied, z)
        assert copied.tolist() == [2.0] * 5
        double = None
        gc.collect()

    thread = threading.Thread(target=launches)
    thread.start()
    for _ in range(8):
        in_child(child)
    stop.set()
    thread.join()
    print("done")
    """
    )
    assert out == "done\n"


def test_the_children_of_a_pool_raise_and_do_not_hang(opencl, python):
    out = python(
        USED
        + """
    def work(n):
        try:
            es.parallel_for(policy, double, x)
        except es.SpaceError as error:
            return "spawn" in str(error)

    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map_async(work, range(4)).get(30))
    """
    )
    assert out == "[True, True, True, True]\n"


def test_a_child_of_a_process_that_only_imported_uses_the_device(opencl, python):
    out = python(
        PARENT
        + """
    def work():
        space = es.space("opencl")
        x = es.View(10, space=space, memory="device")
        es.deep_copy(x, 3.0)
        es.parallel_for(es.RangePolicy(10, space=space), double, x)
        found = np.zeros(10)
        es.deep_copy(found, x)
        print(found.sum())

    in_child(work)
    """
    )
    assert out == "60.0\n"


@pytest.mark.parametrize(
    "how",
    [
        "device",
        *(pytest.param(h, marks=pytest.mark.exhaustive) for h in ("host", "fence", "views")),
    ],
)
def test_a_program_ends_while_daemon_threads_use_the_device(opencl, python, how):
    """Without an abort of the driver, and without a word."""
    for _ in range(3):
        out = python(
            USED
            + f"""
    def work():
        while True:
            if {how!r} == "views":
                z = es.View(1000, space=space, memory="device")
                es.deep_copy(z, 1.0)
            else:
                es.parallel_for(policy, double, y if {how!r} == "host" and reachable else x)
            if {how!r} == "fence":
                es.fence()

    for _ in range(3):
        threading.Thread(target=work, daemon=True).start()
    threading.Event().wait(0.1)
    print("end")
    """
        )
        assert out == "end\n"

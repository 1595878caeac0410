"""Faults of kernels: who is named, what is lost, and what every later call says.

A fault takes the whole process's context along, so each is made in a process of its own.
"""

from __future__ import annotations

import textwrap

import pytest

import execspace as es
from execspace_testing import staged

PRELUDE = """
import os
import sys
import warnings
import numpy as np
import execspace as es

@es.kernel
def good(i, x):
    x[i] += 1.0

@es.kernel
def far(i, x):
    x[10**9 * i + 10**9] = 1.0  # terabytes away

@es.kernel
def far_sum(i, x):
    return x[10**9 * i + 10**9]

@es.kernel
def plain_sum(i, x):
    return x[i]

@es.kernel
def checked(i, x):
    assert x[i] >= 0.0, "negative"

@es.kernel
def late(i, x, start, rounds):
    value = start
    for _ in range(rounds):
        value = 0.5 * value + 1.0  # stays 2
    x[i] += value - 2.0

def on(n, where="cuda"):
    return es.RangePolicy(n, space=where)

def told(what, call):
    try:
        call()
    except Exception as error:
        print(f"{what}: {type(error).__name__}: {error}".replace("\\n", " "), flush=True)
    else:
        print(f"{what}: nothing was raised", flush=True)

x = es.View(1000, label="x", space="cuda")
"""


@pytest.fixture
def lines(cuda, python):
    """Run a program after the prelude; a dictionary of what `told` printed."""

    def run(program, **environment):
        output = python(PRELUDE + textwrap.dedent(program), **environment)
        return dict(line.split(": ", 1) for line in output.splitlines() if ": " in line)

    return run


def lost(found, *names):
    """Whether each of the calls said that the context is lost."""
    return {name: found[name] for name in names if "ContextLostError: " not in found[name]}


def test_a_fault_is_found_at_the_next_fence_and_all_is_lost(lines):
    found = lines("""
        es.parallel_for(on(1000), good, x)
        es.parallel_reduce(on(1000), plain_sum, x)
        es.fence()
        es.parallel_for(on(1000), far, x, label="AXPY")
        told("fence", es.fence)
        told("fence again", es.fence)
        told("launch", lambda: es.parallel_for(on(1000), good, x))
        told("labelled launch", lambda: es.parallel_for(on(1000), good, x, label="GOOD"))
        told("allocation", lambda: es.View(10, label="v", space="cuda"))
        told("no zeros", lambda: es.View(10, label="v", space="cuda", initialize=False))
        told("pinned", lambda: es.View(10, label="v", space="cuda", memory="pinned"))
        told("shared", lambda: es.View(10, label="v", space="cuda", memory="shared"))
        told("to the host", lambda: es.deep_copy(np.zeros(1000), x))
        told("fill", lambda: es.deep_copy(x, 1.0))
        told("reduction", lambda: es.parallel_reduce(on(1000), plain_sum, x))
    """)
    assert "ContextLostError: A fault of kernel 'far' (label 'AXPY')" in found["fence"]
    assert "illegal address" in found["fence"]
    assert "is lost" in found["fence"]
    assert "Start the program again" in found["fence"]
    assert len(found) == 11
    assert not lost(found, *found)
    assert all("AXPY" in text for text in found.values())  # each says what it began with
    assert "'good'" not in found["fence"], "it was launched before a fence that found no fault"


def test_calls_after_a_fault_that_take_other_ways(lines):
    """Compiling, kernels with assertions, instances, arrays of other libraries, sorting."""
    found = lines("""
        import cupy
        queue, array = es.space("cuda").instance(), cupy.zeros(1000)
        numbers = es.View(1000, es.int64, space="cuda")
        shared = es.View(1000, space="cuda", memory="shared")
        side = cupy.cuda.Stream(non_blocking=True)
        for where in ("cuda", queue):
            es.parallel_for(on(1000, where), checked, x)
            es.parallel_for(on(1000, where), good, x)
            es.parallel_for(on(1000, where), good, array)
        es.fence()
        es.parallel_for(on(1000), far, x)
        told("fence", es.fence)
        told("new kernel", lambda: es.parallel_for(on(1000), late, x, 2.0, 1))
        told("assertions", lambda: es.parallel_for(on(1000), checked, x))
        told("new instance", lambda: es.space("cuda").instance())
        told("launch on an instance", lambda: es.parallel_for(on(1000, queue), good, x))
        told("fence of an instance", queue.fence)
        told("copy on an instance", lambda: es.deep_copy(np.zeros(1000), x, instance=queue))
        told("fill on an instance", lambda: es.deep_copy(x, 2.0, instance=queue))
        told("sort", lambda: es.sort(x))
        told("copy of shared memory", lambda: es.deep_copy(np.zeros(1000), shared))
        def aside():
            with side:
                es.parallel_for(on(1000), good, array)
        told("array", aside)
    """)
    assert len(found) == 11
    assert not lost(found, *found)


def test_all_launches_since_the_last_fence_are_named(lines):
    found = lines("""
        es.parallel_for(on(1000), good, x, label="BEFORE")
        es.fence()
        es.parallel_for(on(1000), good, x, label="FIRST")
        es.parallel_for(on(1000), late, x, 2.0, 10)
        es.parallel_for(on(1000), far, x, label="SECOND")
        told("fence", es.fence)
    """)
    text = found["fence"]
    assert "one of the kernels" in text
    assert all(name in text for name in ("FIRST", "SECOND", "'late'")), text
    assert "BEFORE" not in text
    assert "EXECSPACE_CUDA_BLOCKING=1" in text


def test_a_result_that_was_waited_for_clears_those_before_it(lines):
    """A blocking reduction proves that all before it on its stream went well."""
    found = lines("""
        es.parallel_for(on(1000), good, x, label="FIRST")
        es.parallel_reduce(on(1000), plain_sum, x)
        es.parallel_for(on(1000), far, x, label="SECOND")
        told("fence", es.fence)
    """)
    assert "SECOND" in found["fence"]
    assert "FIRST" not in found["fence"]


def test_a_culprit_of_long_ago_is_still_named(lines):
    """Else the kernels that happened to be launched last would be blamed."""
    found = lines("""
        es.parallel_for(on(1000), good, x)
        es.fence()
        es.parallel_for(on(1), late, x, 2.0, 20_000_000)  # so that all are queued before it faults
        es.parallel_for(on(1000), far, x, label="CULPRIT")
        for _ in range(100):
            es.parallel_for(on(1000), good, x)
        told("fence", es.fence)
    """)
    assert "CULPRIT" in found["fence"]


def test_launches_that_block_name_the_culprit_only(lines):
    found = lines(
        """
        es.parallel_for(on(1000), good, x, label="FIRST")
        told("launch", lambda: es.parallel_for(on(1000), far, x, label="SECOND"))
        told("next", lambda: es.parallel_for(on(1000), good, x, label="THIRD"))
        """,
        EXECSPACE_CUDA_BLOCKING="1",
    )
    assert "ContextLostError: A fault of kernel 'far' (label 'SECOND')" in found["launch"]
    assert "FIRST" not in found["launch"]
    assert not lost(found, "next")


def test_a_reduction_that_blocks_raises_itself(lines):
    found = lines("""
        told("reduction", lambda: es.parallel_reduce(on(1000), far_sum, x))
        told("next", lambda: es.parallel_reduce(on(1000), plain_sum, x))
    """)
    assert "ContextLostError: A fault of kernel 'far_sum'" in found["reduction"]
    assert not lost(found, "next")


def test_a_fault_of_an_instance_is_found_by_the_space(lines):
    found = lines("""
        queue = es.space("cuda").instance()
        es.parallel_for(on(1000, queue), far, x, label="ASIDE")
        told("fence", es.space("cuda").fence)
        told("launch", lambda: es.parallel_for(on(1000), good, x))
    """)
    assert "ASIDE" in found["fence"]
    assert not lost(found, "fence", "launch")


def test_a_fault_is_found_by_a_launch_that_waits_for_an_array(lines):
    """An array whose stream nobody knows makes the launch block, and so find the fault."""
    found = lines("""
        import cupy

        class Plain:  # an array without a stream
            def __init__(self, array):
                self.array = array
                given = array.__cuda_array_interface__
                names = ("shape", "typestr", "data", "strides")
                self.given = {k: given[k] for k in names} | {"version": 2}

            @property
            def __cuda_array_interface__(self):
                return self.given

        told("launch", lambda: es.parallel_for(on(1000), far, Plain(cupy.zeros(1000))))
        told("next", es.fence)
    """)
    assert not lost(found, "launch", "next")
    assert "'far'" in found["launch"]


def test_memory_on_the_host_outlives_the_context(lines):
    """A program may still save what it has there."""
    found = lines("""
        pinned = es.View(10, label="saved", space="cuda", memory="pinned")
        pinned[3] = 7.0
        es.parallel_for(on(1000), far, x)
        told("fence", es.fence)
        print("element:", float(pinned[3]), np.asarray(pinned).sum())
    """)
    assert not lost(found, "fence")
    assert found["element"] == "7.0 7.0"


# -- what is not lost ---------------------------------------------------------------------------


def test_a_failed_assertion_leaves_the_context_usable(queue):
    @es.kernel
    def limited(i, x):
        assert x[i] < 5.0, "too large"
        x[i] += 1.0

    x = es.View(100, label="x", space=queue)
    policy = es.RangePolicy(100, space=queue)
    es.deep_copy(x[40:41], 5.0)
    for _ in range(2):
        with pytest.raises(es.KernelAssertionError, match="too large"):
            es.parallel_for(policy, limited, x)
    es.deep_copy(x, 1.0)
    es.parallel_for(policy, limited, x)
    assert (staged.fetch(x) == 2.0).all()
    assert es.parallel_reduce(policy, lambda i, x: x[i], x) == 200.0


def test_processes_that_are_forked_are_told_to_spawn(lines):
    found = lines("""
        es.parallel_for(on(1000), good, x)
        pinned = es.View(10, space="cuda", memory="pinned")
        es.fence()
        sys.stdout.flush()
        warnings.simplefilter("ignore")  # Python's own, of threads
        child = os.fork()
        if not child:
            try:
                told("launch", lambda: es.parallel_for(on(1000), good, x))
                told("new kernel", lambda: es.parallel_for(on(1000), late, x, 2.0, 1))
                told("allocation", lambda: es.View(10, space="cuda"))
                told("copy", lambda: es.deep_copy(np.zeros(1000), x))
                told("reduction", lambda: es.parallel_reduce(on(1000), plain_sum, x))
                told("fence", es.space("cuda").fence)
                es.fence()  # of what this process has launched: nothing
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        es.parallel_for(on(1000), good, x)
        print("parent:", es.parallel_reduce(on(1000), plain_sum, x))
    """)
    assert found.pop("parent") == "2000.0"
    assert len(found) == 6
    for call, text in found.items():
        assert text.startswith("SpaceError: "), f"{call}: {text}"
        assert "'spawn'" in text, f"{call}: {text}"

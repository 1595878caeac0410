"""Parts of the openmp space: which threads run them, and how many each gets."""

import os
import subprocess
import sys
import textwrap

import pytest

import execspace as es
from execspace_openmp.shares import shares_of
from execspace_openmp.threads import has_pool

RUNTIMES = [*(["pool"] if has_pool() else []), *(["libgomp"] if sys.platform == "linux" else [])]

# `whose(part)` are the threads that run a large range on a part of the space.
PARTS = """
    import ctypes
    import os
    import threading

    import numpy as np
    import execspace as es

    libc = ctypes.CDLL(None)
    libc.gettid.argtypes, libc.gettid.restype = [], ctypes.c_int
    libc.usleep.argtypes, libc.usleep.restype = [ctypes.c_uint], ctypes.c_int
    gettid, usleep = es.host_function(libc.gettid), es.host_function(libc.usleep)
    N = 40_000

    @es.kernel
    def who(i, x):
        x[i] = gettid()
        if i % 2000 == 0:
            usleep(200)  # so that nobody runs what is another thread's


    def whose(part):
        x = np.zeros(N, np.int32)
        es.parallel_for(es.RangePolicy(N, space=part), who, x)
        return set(x.tolist())


    @es.kernel
    def value(i, x):
        return x[i]
"""


@pytest.fixture
def python(tmp_path):
    """Runs a program with four threads in a fresh interpreter."""

    def run(program, **variables):
        found = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(PARTS) + textwrap.dedent(program)],
            env={
                **os.environ, "EXECSPACE_NUM_THREADS": "4", "EXECSPACE_CACHE_DIR": str(tmp_path),
                **variables,
            },
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert found.returncode == 0, found.stderr
        return found.stdout

    return run


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_parts_have_threads_of_their_own(python, runtime):
    """Two threads launch on two parts; nobody works for both."""
    program = """
    for weights, counts in (([1, 1], [2, 2]), ([3, 1], [3, 1])):
        parts = es.partition_space("openmp", weights)
        assert [p.concurrency for p in parts] == counts
        found = [set(), set()]

        def work(n):
            for _ in range(8):
                found[n] |= whose(parts[n])

        threads = [threading.Thread(target=work, args=(n,)) for n in (0, 1)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not found[0] & found[1], found
        assert [len(f) for f in found] == counts, found
    """
    python(program, EXECSPACE_OPENMP_RUNTIME=runtime)


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_parts_work_at_the_same_time(python, runtime):
    """Each waits for the other within its kernel, which only ends if both are under way."""
    program = """
    @es.kernel
    def meet(i, flags, own, other):
        if i == 0:
            es.atomic_store(flags, own, 1)
            while es.atomic_load(flags, other) == 0:
                usleep(100)

    parts = es.partition_space("openmp", 2)
    for _ in range(20):
        flags = np.zeros(2, np.int64)
        args = [(es.RangePolicy(N, space=p), meet, flags, n, 1 - n) for n, p in enumerate(parts)]
        threads = [threading.Thread(target=es.parallel_for, args=a) for a in args]
        for t in threads:
            t.start()
        for t in threads:
            t.join(60)
        assert flags.all()
    """
    python(program, EXECSPACE_OPENMP_RUNTIME=runtime)


@pytest.mark.skipif(not has_pool(), reason="there is no pool for this processor")
def test_the_same_threads_are_the_same_part(python):
    """A program that divides the space again and again starts no further threads."""
    program = """
    def tasks():
        return len(os.listdir("/proc/self/task"))

    for part in es.partition_space("openmp", [2, 1, 1]):
        whose(part)
    before = tasks()
    for _ in range(20):
        a, b, c = es.partition_space("openmp", [2, 1, 1])
        whose(a), whose(b), whose(c)
        (again,) = es.partition_space(a, 1)
        assert again is a
        left, right = es.partition_space(a, 2)
        assert left.concurrency == right.concurrency == 1 and right is not b
        whose(left), whose(right)
    assert tasks() == before
    assert es.partition_space("openmp", [2, 1, 1])[1] is es.partition_space("openmp", [4, 2, 2])[1]
    assert es.space("openmp").instance() is es.space("openmp") and a.instance() is a
    """
    python(program)


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_results_depend_on_the_number_of_threads_alone(python, runtime):
    program = """
    x = np.sin(np.arange(200_000.0))
    def total(space):
        return es.parallel_reduce(es.RangePolicy(len(x), space=space), value, x)
    a, b = es.partition_space("openmp", 2)
    (whole,) = es.partition_space("openmp", 1)
    assert total(a) == total(b)
    assert total(whole) == total("openmp")
    assert [total(a) for _ in range(50)] == [total(b)] * 50
    print(total(a).hex())
    """
    of_a_part = python(program, EXECSPACE_OPENMP_RUNTIME=runtime)
    of_two_threads = """
    x = np.sin(np.arange(200_000.0))
    print(es.parallel_reduce(es.RangePolicy(len(x), space="openmp"), value, x).hex())
    """
    assert python(of_two_threads, EXECSPACE_NUM_THREADS="2") == of_a_part


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_after_a_fork_parts_run_on_the_calling_thread(python, runtime):
    program = """
    x = np.sin(np.arange(200_000.0))
    parts = es.partition_space("openmp", [2, 1, 1])
    def totals(parts):
        return [es.parallel_reduce(es.RangePolicy(len(x), space=p), value, x) for p in parts]
    before = totals(parts)
    assert len(whose(parts[0])) == 2
    pid = os.fork()
    if not pid:
        code = 1
        try:
            assert totals(parts) == before
            assert whose(parts[0]) == {libc.gettid()}
            assert totals(es.partition_space("openmp", 4))  # such as were never used
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert totals(parts) == before
    """
    python(program, EXECSPACE_OPENMP_RUNTIME=runtime)


@pytest.mark.skipif(not has_pool(), reason="there is no pool for this processor")
def test_a_limit_of_threads_holds_for_all_parts_together(python):
    program = """
    first, second = es.partition_space("openmp", 2)
    assert (first.concurrency, second.concurrency) == (2, 2)
    assert [len(whose(p)) for p in (first, second, first, second)] == [2, 1, 2, 1]
    """
    python(program, OMP_THREAD_LIMIT="3")


@pytest.mark.skipif(not has_pool(), reason="there is no pool for this processor")
def test_parts_find_machine_code_of_each_other_on_disk(python):
    """The code is the same for whatever threads; it is loaded for each."""
    program = """
    class Compiled(es.profiling.Tool):
        found = []

        def on_compile(self, kernel, from_disk):
            self.found.append((kernel, from_disk))

    with es.profile(Compiled()):
        for part in es.partition_space("openmp", 2):
            whose(part)
    assert Compiled.found == [("who", False), ("who", True)], Compiled.found
    """
    python(program)


@pytest.mark.parametrize(
    ("weights", "threads", "expected"),
    [
        ([1.0], 7, [7]),
        ([1.0, 1.0], 7, [4, 3]),
        ([2.0, 1.0], 6, [4, 2]),
        ([0.7, 0.2, 0.1], 10, [7, 2, 1]),
        ([0.1, 0.1, 0.8], 4, [1, 1, 2]),
        ([1e-300, 1.0, 1e300], 3, [1, 1, 1]),
        ([1e300, 1e-300], 64, [63, 1]),
        ([1.0, 1.0, 1.0], 4, [2, 1, 1]),
        ([5.0, 3.0, 1.0], 8, [4, 3, 1]),
    ],
)
def test_threads_are_shared_out_by_the_largest_remainder(weights, threads, expected):
    assert shares_of(weights, threads) == expected


@pytest.mark.parametrize("threads", [1, 2, 3, 5, 8, 64])
def test_every_part_has_a_thread_and_every_thread_a_part(threads):
    for count in range(1, threads + 1):
        for weights in (
            [1.0] * count,
            [1.0 / (n + 1) for n in range(count)],
            [2.0**n for n in range(count)],
        ):
            found = shares_of(weights, threads)
            assert len(found) == count and sum(found) == threads and min(found) >= 1


def test_parts_of_the_portable_check_share_the_memory_of_their_space(python):
    program = """
    a, b = es.partition_space("openmp", 2)
    assert a.memory_spaces == b.memory_spaces == es.space("openmp").memory_spaces
    other = a.instance()
    assert other is not a and other.concurrency == 2
    x = es.View(N, space=a)
    es.deep_copy(x, 1.0)
    assert es.parallel_reduce(es.RangePolicy(N, space=b), value, x) == N
    assert es.parallel_reduce(es.RangePolicy(N, space=other), value, x) == N
    """
    python(program, EXECSPACE_CHECK="portable")


def test_more_parts_than_threads(python):
    program = """
    try:
        es.partition_space("openmp", 5)
    except es.SpaceError as error:
        print(error)
    """
    assert python(program) == (
        "Space 'openmp' has 4 threads here, but is to be divided into 5 parts; expected at most "
        "one part for each thread. Ask for fewer parts, or set EXECSPACE_NUM_THREADS, which is now "
        "4, before the space is first used.\n"
    )


def test_openmp_says_that_it_divides_its_threads():
    assert isinstance(es.space("openmp"), es.Partitions)
    assert not isinstance(es.space("serial"), es.Partitions)

"""The openmp space: threads, runtimes, forks, concurrent launches, and its cache on disk."""

import os
import re
import subprocess
import sys
import threading

import numpy as np
import pytest

import execspace as es
from execspace.base import config
from execspace_openmp.threads import OF_LIBGOMP, SPIN_COUNT, find_runtime, has_pool

N = 200_000  # large enough to wake the team


def usable_runtimes():
    """What can run the threads here."""
    linux = ["libgomp"] if sys.platform.startswith("linux") else []
    return [*(["pool"] if has_pool() else []), *linux, "prange"]


# The head of a program whose results are compared to the last bit.
RESULTS = """
    import numpy as np
    import execspace as es

    x = es.view_of(np.sin(np.arange(200_000.0)))
    y = es.View(x.shape)
    space = es.space("openmp")
    line = es.RangePolicy(1, x.size - 1, space=space)


    @es.kernel
    def smooth(i, x, y):
        y[i] = (x[i - 1] + x[i] + x[i + 1]) / 3.0


    @es.kernel
    def value(i, x):
        return x[i]


    @es.kernel
    def plane(i, j, x):
        return x[i * 400 + j] * (i - j)


    @es.kernel
    def running(i, prefix, final, x, y):
        if final:
            y[i] = prefix
        return x[i]


    def results():
        es.parallel_for(line, smooth, x, y)
        tiles = es.MDRangePolicy((500, 400), tile=(16, 32), space=space)
        sums = [es.parallel_reduce(line, value, y), es.parallel_reduce(tiles, plane, x)]
        sums.append(es.parallel_scan(line, running, x, y))
        sums.append(float(np.sum(y)))
        return " ".join(number.hex() for number in sums)
"""


@pytest.fixture
def openmp():
    return es.space("openmp")


@es.kernel
def total(i, x):
    return x[i]


@es.kernel
def scale(i, a, x, y):
    y[i] = a * x[i]


# -- how many threads ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ("3", None, 3),
        ("3", "5", 3),  # EXECSPACE_NUM_THREADS wins
        (None, "5", 5),
        (None, "4,2", 4),  # of nested levels, the outermost
        ("", " 6 ", 6),
    ],
)
def test_number_of_threads(monkeypatch, ours, theirs, expected):
    for name, value in [("EXECSPACE_NUM_THREADS", ours), ("OMP_NUM_THREADS", theirs)]:
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert config.thread_count() == expected


def test_without_a_wish_every_usable_core_has_a_thread(monkeypatch):
    monkeypatch.delenv("EXECSPACE_NUM_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(config.os, "sched_getaffinity", lambda pid: {0, 2, 5}, raising=False)
    assert config.thread_count() == 3


@pytest.mark.parametrize("variable", ["EXECSPACE_NUM_THREADS", "OMP_NUM_THREADS"])
def test_numba_s_threads_are_that_many_of_openmp(python, variable):
    program = """
        import numba
        import execspace as es
        space = es.space("openmp")
        print(space.concurrency, numba.threading_layer(), numba.config.NUMBA_NUM_THREADS)
        print(space.threading_runtime())
    """
    unset = {"EXECSPACE_NUM_THREADS": "", "OMP_NUM_THREADS": ""}
    chosen = {**unset, "EXECSPACE_OPENMP_RUNTIME": "prange", variable: "5"}
    assert python(program, **chosen).splitlines() == ["5 omp 5", "prange, Numba layer omp"]


@pytest.mark.parametrize("runtime", usable_runtimes())
def test_numba_is_loaded_only_where_its_threads_run_kernels(python, runtime):
    program = """
        import sys
        import execspace as es
        policy = es.RangePolicy(1_000_000, space="openmp")
        print(es.parallel_reduce(policy, lambda i: 1), "numba" in sys.modules)
        print(policy.space.threading_runtime())
    """
    found = python(program, EXECSPACE_OPENMP_RUNTIME=runtime).splitlines()
    assert found[0] == f"1000000 {runtime == 'prange'}"
    assert found[1].partition(",")[0] == runtime


def test_the_pool_needs_no_library_of_openmp(monkeypatch):
    for name in (*OF_LIBGOMP, "EXECSPACE_OPENMP_RUNTIME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("execspace_openmp.threads._has_gomp", lambda: False)
    if has_pool():
        assert find_runtime() == "pool"
        monkeypatch.setenv("EXECSPACE_OPENMP_RUNTIME", "pool")
        assert find_runtime() == "pool"
    if sys.platform.startswith("linux"):
        monkeypatch.setenv("EXECSPACE_OPENMP_RUNTIME", "libgomp")
        assert find_runtime() is None


@pytest.mark.parametrize("number", ["many", "0", "-3", "2.5", "1e3"])
def test_a_bad_number_of_threads_is_named(monkeypatch, fresh_selection, number):
    monkeypatch.setenv("EXECSPACE_NUM_THREADS", number)
    with pytest.raises(es.SpaceUnavailableError) as error:
        es.space("openmp")
    assert str(error.value) == (
        f"Space 'openmp' failed to start: ConfigError: EXECSPACE_NUM_THREADS='{number}' is not a "
        f"whole number of 1 or more. Choose another with EXECSPACE_DEFAULT or space=..."
    )


@pytest.mark.parametrize("variable", ["EXECSPACE_NUM_THREADS", "OMP_NUM_THREADS"])
@pytest.mark.parametrize("number", [config.MOST_THREADS + 1, 100_000])
def test_more_threads_than_any_host_has_are_refused(monkeypatch, fresh_selection, variable, number):
    monkeypatch.delenv("EXECSPACE_NUM_THREADS", raising=False)
    monkeypatch.setenv(variable, str(number))
    with pytest.raises(es.SpaceUnavailableError) as error:
        es.space("openmp")
    assert f"{variable}={number} is more than 1024 threads" in str(error.value)


def test_the_most_threads_reduce_numbers_and_arrays(python):
    program = """
        import numpy as np
        import execspace as es

        policy = es.RangePolicy(2_000_000, space="openmp")
        assert es.space("openmp").concurrency == 1024
        print(es.parallel_reduce(policy, lambda i: i))

        def count(i, found):
            found[i % 2048] += 1

        found = es.parallel_reduce(policy, count, reducer=es.Sum(shape=2048))
        print(int(found.min()), int(found.max()))
    """
    out = python(program, EXECSPACE_NUM_THREADS="1024").splitlines()
    assert out == [str(2_000_000 * 1_999_999 // 2), f"{2_000_000 // 2048} {2_000_000 // 2048 + 1}"]


def test_a_bad_runtime_is_named(monkeypatch, fresh_selection):
    monkeypatch.setenv("EXECSPACE_OPENMP_RUNTIME", "tbb")
    reason = "EXECSPACE_OPENMP_RUNTIME='tbb' is not a runtime; expected pool, libgomp or prange"
    with pytest.raises(es.SpaceUnavailableError, match=reason):
        es.space("openmp")
    assert reason in next(s for s in es.spaces() if s.name == "openmp").reason


# -- one result ---------------------------------------------------------------------------------


RUNTIMES = [
    pytest.param(runtime, marks=[pytest.mark.exhaustive] * (runtime == "prange"))
    for runtime in usable_runtimes()[1:]
]


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_results_do_not_depend_on_the_runtime_or_the_threads_granted(python, runtime):
    program = RESULTS + "\n    print(results())\n"
    four = {"EXECSPACE_NUM_THREADS": "4"}
    expected = python(program, **four, EXECSPACE_OPENMP_RUNTIME=usable_runtimes()[0])
    assert len(expected.split()) == 4
    chosen = {**four, "EXECSPACE_OPENMP_RUNTIME": runtime}
    assert python(program, **chosen) == expected
    if runtime == "libgomp":  # the pool's is in test_pool.py, and Numba's own counts itself
        assert python(program, **chosen, OMP_THREAD_LIMIT="1") == expected


def test_reductions_are_the_same_to_the_bit_50_times_under_load(openmp):
    x = es.View(N, es.float32, label="x")
    x[:] = np.random.default_rng(1).normal(size=N)
    policy = es.RangePolicy(0, N, space=openmp)
    done = threading.Event()

    def load():
        noise = np.ones(100_000)
        while not done.is_set():
            np.sqrt(noise, out=noise)

    workers = [threading.Thread(target=load) for _ in range(4)]
    for worker in workers:
        worker.start()
    try:
        results = {es.parallel_reduce(policy, total, x) for _ in range(50)}
    finally:
        done.set()
        for worker in workers:
            worker.join()
    assert len(results) == 1
    assert results.pop() == pytest.approx(np.sum(x, dtype=np.float64))


@pytest.mark.parametrize("n", [0, 1, 2, 7, N, N + 1])
def test_every_index_runs_once(openmp, n):
    x, y = es.View(n), es.View(n)
    x[:] = 1.0
    es.parallel_for(es.RangePolicy(0, n, space=openmp), scale, 3.0, x, y)
    assert np.array_equal(y, np.full(n, 3.0))


# -- threads and processes ----------------------------------------------------------------------


def test_eight_python_threads_launch_at_once(openmp):
    policy = es.RangePolicy(0, N, space=openmp)
    start = threading.Barrier(8)
    sums = {}

    def work(k):
        x, y = es.View(N), es.View(N)
        x[:] = 1.0
        start.wait(30)
        for _ in range(20):
            es.parallel_for(policy, scale, float(k), x, y)
            sums.setdefault(k, set()).add(es.parallel_reduce(policy, total, y))

    workers = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert sums == {k: {float(k * N)} for k in range(8)}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("runtime", usable_runtimes())
def test_a_forked_child_gets_the_same_results(python, runtime):
    program = (
        RESULTS
        + """
    import os, warnings
    warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12: forking with threads

    before = results()
    child = os.fork()
    if child == 0:
        same = results() == before
        os._exit(0 if same else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0, f"the child ended with status {status}"
    assert results() == before
    """
    )
    assert python(program, EXECSPACE_OPENMP_RUNTIME=runtime) == ""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize(
    "lock",
    [
        "execspace_compiler.cache.disk._lock", "execspace_compiler.cache.history._writing",
        "execspace_compiler.host.jit._lock", "execspace_compiler.host.jit._front_end",
        "llvmlite.binding.ffi.lib._lock",
    ],
)  # fmt: skip
def test_a_child_compiles_that_was_forked_while_another_thread_did(python, tmp_path, lock):
    program = f"""
        import os, pkgutil, signal, threading, warnings
        import execspace as es

        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12: forking with threads
        policy = es.RangePolicy(10, space="openmp")
        es.parallel_reduce(policy, lambda i: i * 3)
        lock = pkgutil.resolve_name("{lock}")
        taken, done = threading.Event(), threading.Event()

        def hold():
            with lock:
                taken.set()
                done.wait(60)

        thread = threading.Thread(target=hold)
        thread.start()
        taken.wait(60)
        child = os.fork()
        if child == 0:
            signal.alarm(30)
            os._exit(0 if es.parallel_reduce(policy, lambda i: i * 5) == 225 else 1)
        print(os.waitpid(child, 0)[1])
        done.set()
        thread.join()
    """
    assert python(program, EXECSPACE_CACHE_DIR=str(tmp_path / "cache")) == "0\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("moment", [0.0, 0.02, 0.1, 0.15, 0.25])
def test_a_child_launches_that_was_forked_during_the_first_launch(python, tmp_path, moment):
    """Another thread imports the compiler then, and Python's locks of imports are held."""
    program = f"""
        import os, signal, threading, time, warnings
        import execspace as es

        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12: forking with threads

        def first():
            es.parallel_reduce(es.RangePolicy(10, space="openmp"), lambda i: i * 3)

        thread = threading.Thread(target=first)
        thread.start()
        time.sleep({moment})
        child = os.fork()
        if child == 0:
            signal.alarm(30)
            found = es.parallel_reduce(es.RangePolicy(10, space="openmp"), lambda i: i * 5)
            os._exit(0 if found == 225 else 1)
        thread.join()
        print(os.waitpid(child, 0)[1])
    """
    assert python(program, EXECSPACE_CACHE_DIR=str(tmp_path / "cache")) == "0\n"


# -- the cache on disk --------------------------------------------------------------------------


def test_the_next_process_loads_kernels_from_disk(python, tmp_path):
    program = """
        import execspace as es

        class Compilations(es.profiling.Tool):
            def on_compile(self, kernel, space, seconds, from_disk):
                print(kernel, space, from_disk)

        es.profiling.attach(Compilations())

        def square(i):
            return i * i

        for _ in range(2):
            print(es.parallel_reduce(es.RangePolicy(10, space="openmp"), square))
    """
    cache = {"EXECSPACE_CACHE_DIR": str(tmp_path / "cache")}
    first, second = python(program, **cache), python(program, **cache)
    assert first.splitlines() == ["square openmp False", "285", "285"]
    assert second.splitlines() == ["square openmp True", "285", "285"]


def test_the_next_process_compiles_again_what_changed(python, tmp_path):
    program = """
        import os
        import execspace as es

        class Compilations(es.profiling.Tool):
            def on_compile(self, kernel, space, seconds, from_disk):
                print(from_disk, end=" ")

        class Parameters:
            alpha = float(os.environ["ALPHA"])

        es.profiling.attach(Compilations())

        def scaled(i):
            return Parameters.alpha * i

        def helper(i):
            return Parameters.alpha

        def helped(i):
            return helper(i)

        policy = es.RangePolicy(4, space="openmp")
        print(es.parallel_reduce(policy, scaled), es.parallel_reduce(policy, helped))
    """
    cache = {"EXECSPACE_CACHE_DIR": str(tmp_path / "cache")}
    assert python(program, **cache, ALPHA="1").split() == ["False", "False", "6.0", "4.0"]
    assert python(program, **cache, ALPHA="2").split() == ["False", "False", "12.0", "8.0"]
    assert python(program, **cache, ALPHA="1").split() == ["True", "True", "6.0", "4.0"]


# -- spinning -------------------------------------------------------------------------------------

LOADS = """
import os
import execspace as es

before = dict(os.environ)
es.space("openmp")
assert os.environ.get("GOMP_SPINCOUNT") == before.get("GOMP_SPINCOUNT")
"""


@pytest.mark.skipif("libgomp" not in usable_runtimes(), reason="looks at settings of libgomp")
@pytest.mark.parametrize(
    ("given", "expected"),
    [({}, SPIN_COUNT), ({"GOMP_SPINCOUNT": "77"}, "77"), ({"OMP_WAIT_POLICY": "passive"}, "0")],
)
def test_threads_that_wait_spin_briefly_unless_the_user_says_otherwise(tmp_path, given, expected):
    program = tmp_path / "program.py"
    program.write_text(LOADS)
    environment = {
        **os.environ,
        "OMP_DISPLAY_ENV": "verbose",
        "EXECSPACE_OPENMP_RUNTIME": "libgomp",
    }
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        environment.pop(name, None)
    found = subprocess.run(
        [sys.executable, str(program)], env=environment | given, capture_output=True, text=True,
        timeout=60, check=True,
    )  # fmt: skip
    assert re.search(rf"GOMP_SPINCOUNT = '{expected}'", found.stderr), found.stderr

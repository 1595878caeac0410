"""The pool of threads under openmp: every part once, whoever comes late, and who may not come.

Programs in a fresh interpreter call its C function with machine code of their own.
"""

import os
import subprocess
import sys
import textwrap

import llvmlite.binding as llvm
import pytest

from execspace import ConfigError
from execspace.base import config
from execspace_compiler import backend
from execspace_compiler.host import pool
from execspace_openmp import threads

here = pytest.mark.skipif(not threads.has_pool(), reason="there is no pool for this processor")

# `launch(threads, parts, fn)` runs parts that count themselves, or say which thread ran them.
POOL = """
    import ctypes
    import os
    import random
    import signal
    import threading
    import time

    import llvmlite.binding as llvm
    from execspace_compiler.host import pool

    CODE = '''
    @held = global i64 0
    @inside = global i64 0
    declare i64 @pthread_self()
    declare i32 @usleep(i32)

    define void @count(ptr %data, i64 %part) {
      %slot = getelementptr i64, ptr %data, i64 %part
      %old = atomicrmw add ptr %slot, i64 1 monotonic
      ret void
    }

    define void @whose(ptr %data, i64 %part) {
      %slot = getelementptr i64, ptr %data, i64 %part
      %me = call i64 @pthread_self()
      store i64 %me, ptr %slot
      %rc = call i32 @usleep(i32 2000)
      ret void
    }

    define void @hold(i32 %signal) {
      %n = atomicrmw add ptr @inside, i64 1 seq_cst
      br label %look
    look:
      %rc = call i32 @usleep(i32 1000)
      %held = load atomic i64, ptr @held seq_cst, align 8
      %over = icmp eq i64 %held, 0
      br i1 %over, label %end, label %look
    end:
      %m = atomicrmw sub ptr @inside, i64 1 seq_cst
      ret void
    }
    '''
    pool.start(1)
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(CODE), machine)
    engine.finalize_object()
    count, whose, hold = map(engine.get_function_address, ("count", "whose", "hold"))
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    run = kind(llvm.address_of_symbol(pool.ENTRY))

    def variable(name):
        return ctypes.c_int64.from_address(engine.get_global_value_address(name))

    def tasks():
        return set(map(int, os.listdir("/proc/self/task")))

    def launch(parts, function=count, times=1):
        data = (ctypes.c_int64 * max(parts, 1))()
        for _ in range(times):
            run(function, data, parts)
        return list(data)[:parts]
"""


@here
@pytest.mark.parametrize("threads_", [1, 2, 3, 16, 64])
def test_every_part_runs_once_whatever_their_number(python, threads_):
    program = f"""
    pool.start({threads_})
    random.seed(1)
    usual = [{threads_}, {threads_} + 1]
    for _ in range(500):
        parts = random.choice([*usual, *usual, random.randrange(200), 1, 0])
        assert launch(parts) == [1] * parts
    for parts in (1024, 1025, 1026, 5000):  # 1025 is what the pool spreads, 5000 the caller runs
        assert launch(parts) == [1] * parts
    """
    python(POOL + program)


@here
@pytest.mark.parametrize("times", [10_000, pytest.param(50_000, marks=pytest.mark.exhaustive)])
def test_tiny_launches_with_more_threads_than_cores_come_to_an_end(python, times):
    program = f"""
    for threads, spin in [(16, 0), (4, 2_000)]:
        pool.start(threads, spin)
        assert launch(threads, times={times}) == [{times}] * threads
    """
    python(POOL + program, timeout=120)


@here
def test_threads_that_launch_at_the_same_time_get_their_own_parts(python):
    program = """
    pool.start(4, 5_000)
    wrong = []

    def work(seed):
        own = random.Random(seed)
        for _ in range(300):
            parts, times = own.randrange(1, 9), own.randrange(1, 30)
            if launch(parts, times=times) != [times] * parts:
                wrong.append(parts)

    workers = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong
    """
    python(POOL + program)


@here
def test_other_threads_help_and_a_thread_keeps_its_part(python):
    program = """
    pool.start(2, 1_000_000_000)
    launch(2)
    time.sleep(0.05)
    found = [launch(2, whose) for _ in range(50)]
    me = threading.get_ident()
    assert all(first == me for first, _ in found)
    others = [second for _, second in found if second != me]
    assert len(set(others)) == 1 and len(others) > 10, others
    """
    python(POOL + program)


HELD = """
    before = tasks()
    pool.start(3, SPIN)
    launch(3)
    workers = tasks() - before
    assert len(workers) == 2
    libc = ctypes.CDLL(None)
    libc.signal(signal.SIGTRAP, ctypes.c_void_p(hold))
    variable("held").value = 1
    for worker in workers:
        assert libc.tgkill(os.getpid(), worker, signal.SIGTRAP) == 0
    while variable("inside").value < 2:
        time.sleep(0.001)
"""


@here
@pytest.mark.parametrize("spin", [0, 50_000, 10**12])
def test_the_caller_runs_what_held_up_threads_leave(python, spin):
    """The workers stay in a handler of a signal: awake or asleep, no launch waits for them."""
    program = """
    me = threading.get_ident()
    for parts in (2, 3, 4, 7):
        assert launch(parts, whose) == [me] * parts
    assert launch(3, times=1000) == [1000] * 3
    variable("held").value = 0
    for _ in range(1000):
        if len(set(launch(3, whose))) == 3:
            break
    else:
        raise AssertionError("no worker came back")
    """
    python(POOL + HELD.replace("SPIN", str(spin)) + program)


@here
def test_where_the_system_gives_no_threads_the_caller_runs_everything(python):
    program = """
    before = tasks()
    pool.start(8, stack=1 << 47)  # no address space has room for that
    assert launch(8, times=10) == [10] * 8
    assert tasks() == before
    pool.start(3)
    assert launch(3, times=10) == [10] * 3
    assert len(tasks() - before) == 2
    """
    python(POOL + program)


@here
def test_fewer_threads_may_be_asked_for_later(python):
    program = """
    before = tasks()
    pool.start(6)
    launch(6)
    assert len(tasks() - before) == 5
    pool.start(1)
    assert launch(5, whose) == [threading.get_ident()] * 5
    pool.start(2)
    for _ in range(20):
        assert len(set(launch(6, whose))) <= 2
    """
    python(POOL + program)


@here
def test_workers_take_no_signals_but_faults(python):
    program = """
    before = tasks()
    pool.start(2)
    while len(set(launch(2, whose))) < 2:  # a thread that begins has them all blocked
        pass
    (worker,) = tasks() - before
    with open(f"/proc/self/task/{worker}/status") as file:
        lines = file.read().splitlines()
    blocked = int(next(x for x in lines if x.startswith("SigBlk")).split()[1], 16)
    kept = {s for s in signal.Signals if not blocked >> (s - 1) & 1}
    assert {signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGALRM}.isdisjoint(kept)
    assert {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL} <= kept
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == set()  # the caller's is as it was
    """
    python(POOL + program)


@here
@pytest.mark.parametrize("state", ["asleep", "spinning", "in a launch"])
def test_a_forked_child_runs_everything_itself(python, state):
    """Even without being told of the fork, and if another thread launched at that moment."""
    program = f"""
    pool.start(4, {0 if state == "asleep" else 10**10})
    launch(4)
    over = threading.Event()

    def keep_launching():
        while not over.is_set():
            launch(4, times=100)

    other = threading.Thread(target=keep_launching)
    if {state == "in a launch"}:
        other.start()
    for _ in range(20):
        child = os.fork()
        if child == 0:
            os._exit(launch(5, times=100) != [100] * 5)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert launch(5, times=10) == [10] * 5
    over.set()
    if other.ident:
        other.join()
    """
    head = "\n    import warnings; warnings.simplefilter('ignore', DeprecationWarning)\n"
    python(POOL + head + program)


@here
@pytest.mark.parametrize("spin", [0, 10**12])
def test_a_process_ends_while_workers_wait(tmp_path, spin):
    program = tmp_path / "program.py"
    end = f"""
    pool.start(4, {spin})
    launch(4)
    threading.Thread(target=launch, args=(4, count, 10**9), daemon=True).start()
    """
    program.write_text(textwrap.dedent(POOL + end))
    found = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (found.returncode, found.stderr) == (0, "")


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_text_is_right_for_every_processor(machine):
    """The machine code waits politely, and calls nothing but the C library."""
    module = llvm.parse_assembly(pool.llvm_ir(machine))
    module.verify()
    called = {f.name for f in module.functions if f.is_declaration}
    pause = {"x86_64": "llvm.x86.sse2.pause", "aarch64": "llvm.aarch64.hint"}[machine]
    libc = {"pthread_create", "pthread_sigmask", "clock_gettime", "sched_getcpu", "syscall"}
    assert called == {pause, *libc}
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(f"{machine}-unknown-linux-gnu")
    code = target.create_target_machine(opt=2).emit_assembly(module)
    assert "__aarch64" not in code  # atomics in line
    assert {"x86_64": "pause", "aarch64": "yield"}[machine] in code


# -- which runtime there is ---------------------------------------------------------------------


@pytest.fixture
def unset(monkeypatch):
    """No variable says how threads run."""
    for name in (*threads.OF_LIBGOMP, "OMP_WAIT_POLICY", "OMP_THREAD_LIMIT", "OMP_STACKSIZE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("EXECSPACE_OPENMP_RUNTIME", raising=False)
    return monkeypatch


@here
def test_the_pool_is_the_runtime_unless_another_is_named(unset):
    assert threads.find_runtime() == "pool"
    for name in threads.RUNTIMES:
        unset.setenv("EXECSPACE_OPENMP_RUNTIME", name)
        assert threads.find_runtime() == name


@here
@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("OMP_PROC_BIND", "true", "libgomp"),
        ("OMP_PROC_BIND", "spread", "libgomp"),
        ("OMP_PROC_BIND", "FALSE", "pool"),  # as if unset
        ("OMP_PLACES", "cores", "libgomp"),
        ("OMP_PLACES", "", "pool"),
        ("GOMP_CPU_AFFINITY", "0-1", "libgomp"),
        ("GOMP_SPINCOUNT", "1000", "libgomp"),
        ("GOMP_STACKSIZE", "8M", "libgomp"),
        ("OMP_WAIT_POLICY", "passive", "pool"),
        ("OMP_NUM_THREADS", "2", "pool"),
        ("OMP_STACKSIZE", "8M", "pool"),
        ("OMP_THREAD_LIMIT", "1", "pool"),
    ],
)
def test_variables_that_only_libgomp_obeys_choose_it(unset, variable, value, expected):
    unset.setenv(variable, value)
    assert threads.find_runtime() == expected
    unset.setenv("EXECSPACE_OPENMP_RUNTIME", "pool")  # which has the last word
    assert threads.find_runtime() == "pool"


@pytest.mark.parametrize(("system", "machine"), [("darwin", "arm64"), ("linux", "riscv64")])
def test_a_system_without_a_pool_has_another_runtime(unset, system, machine):
    unset.setattr(sys, "platform", system)
    unset.setattr(threads.platform, "machine", lambda: machine)
    unset.setattr(threads, "_has_gomp", lambda: True)
    assert threads.find_runtime() == {"darwin": "prange", "linux": "libgomp"}[system]
    unset.setenv("EXECSPACE_OPENMP_RUNTIME", "pool")
    with pytest.raises(ConfigError, match="pool is for Linux on x86-64 and AArch64; expected"):
        threads.find_runtime()


@here
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, (2, pool.SPIN_NS, None)),
        ({"OMP_WAIT_POLICY": "PASSIVE"}, (2, 0, None)),
        ({"OMP_WAIT_POLICY": "active"}, (2, 1_000_000_000, None)),
        ({"OMP_THREAD_LIMIT": "1"}, (1, pool.SPIN_NS, None)),
        ({"OMP_THREAD_LIMIT": "9"}, (2, pool.SPIN_NS, None)),
        ({"OMP_STACKSIZE": "2M"}, (2, pool.SPIN_NS, 2 << 20)),
    ],
)
def test_the_pool_obeys_variables_of_openmp(unset, given, expected):
    found = []
    unset.setattr(backend, "start", lambda *numbers: found.append(numbers))
    unset.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    for name, value in given.items():
        unset.setenv(name, value)
    threads.start_pool(2)
    assert found == [expected]


@here
def test_more_threads_than_cores_do_not_spin(unset):
    found = []
    unset.setattr(backend, "start", lambda *numbers: found.append(numbers[:2]))
    unset.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    threads.start_pool(3)
    assert found == [(3, 0)]


def test_a_stack_of_openmp_in_bytes(monkeypatch):
    for text, size in [("", None), ("512k", 1 << 19), ("1024", 1 << 20), (" 2M ", 2 << 20)]:
        monkeypatch.setenv("OMP_STACKSIZE", text)
        assert config.check_openmp_stack() == size


# -- launchers whose threads nobody has started -------------------------------------------------

UNSTARTED = """
    import llvmlite.binding
    import execspace as es
    from execspace_compiler.backend import Launcher, compile_plan, start


    class Bare(es.HostExecutionSpace):
        name = "bare"

        def compile(self, kernel, spec):
            return compile_plan(self, kernel, spec, Launcher(LAUNCHER, 2))


    @es.kernel
    def number(i):
        return i


    policy = es.RangePolicy(200_000, space=Bare())
    for n in range(2):
        try:
            print(es.parallel_reduce(policy, number))
        except es.SpaceError as error:
            print(error)
    PROVIDE
    print(es.parallel_reduce(policy, number))
"""

PROVIDERS = [
    pytest.param("pool", "start(2)", marks=here),
    pytest.param(
        "libgomp",
        'llvmlite.binding.load_library_permanently("libgomp.so.1")',
        marks=pytest.mark.skipif(not threads._has_gomp(), reason="there is no libgomp"),
    ),
]


@pytest.mark.parametrize(("launcher", "call"), PROVIDERS)
def test_a_launcher_says_what_starts_its_threads(python, launcher, call):
    program = UNSTARTED.replace("LAUNCHER", repr(launcher)).replace("PROVIDE", call)
    for _ in range(2):  # compiled, and from the cache
        *refused, total = python(program).splitlines()
        assert len(refused) == 2
        for line in refused:
            assert f"Space 'bare' compiles for Launcher('{launcher}', 2)" in line
            assert f"{call} once, before its first compile_plan" in line
        assert int(total) == 200_000 * 199_999 // 2

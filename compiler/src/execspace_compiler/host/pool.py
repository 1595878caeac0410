"""A pool of threads for launches on Linux: builds pool.ll, and starts it for a number of threads.

Compiled kernels call its `execspace_pool_run` by name, so their machine code can be kept on disk.
"""

from __future__ import annotations

import ctypes
import pkgutil
import platform
import signal
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from execspace.base import config

if TYPE_CHECKING:
    import llvmlite.binding as llvm

ENTRY = "execspace_pool_run"

# How long a thread that waits looks for work before it sleeps. Longer than waking one takes on a
# virtual machine, or no launch would ever find the team awake.
SPIN_NS = 50_000

# A scan has one part more than there are threads.
_SLOTS = config.MOST_THREADS + 1


@dataclass(frozen=True)
class _Processor:
    """What the text needs to know: the number of the system call, and how to pause in a loop."""

    futex: int
    pause: str
    declared: str


_PROCESSORS = {
    "x86_64": _Processor(
        202, "call void @llvm.x86.sse2.pause()", "declare void @llvm.x86.sse2.pause()"
    ),
    "aarch64": _Processor(
        98, "call void @llvm.aarch64.hint(i32 1)", "declare void @llvm.aarch64.hint(i32)"
    ),
}


def text(machine: str) -> str:
    """The pool in LLVM's language, for a processor as `platform.machine` names it."""
    processor = _PROCESSORS[machine]
    data = pkgutil.get_data(__package__, "pool.ll")
    assert data is not None
    found = data.decode()
    for word, meant in [
        ("SLOTS", str(_SLOTS)), ("FUTEX", str(processor.futex)), ("  PAUSE", f"  {processor.pause}")
    ]:  # fmt: skip
        found = found.replace(word, meant)
    return f"{found}\n{processor.declared}\n"


_lock = threading.Lock()
_engine: llvm.ExecutionEngine | None = None  # imported where it is needed


def start(threads: int, spin_ns: int = SPIN_NS, stack: int | None = None) -> None:
    """Let launches of this process have so many threads, their callers among them.

    Threads are made when a launch first needs them. Those that there are stay as they are.

    Parameters
    ----------
    threads : int
        Most threads of a launch.
    spin_ns : int
        Nanoseconds that a thread which waits looks for work before it sleeps.
    stack : int or None
        Bytes of the stacks of threads to come, None: what threads have that say nothing.
    """
    global _engine
    with _lock:
        if _engine is None:
            from llvmlite.binding import add_symbol

            engine = _loaded()
            add_symbol(ENTRY, engine.get_function_address(ENTRY))
            # Its threads run this code until the process is gone: nobody may free it.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(engine))
            _engine = engine
        _describe_threads(stack)
        ctypes.c_int64.from_address(_global("spin")).value = spin_ns
        ctypes.c_int64.from_address(_global("threads")).value = threads


def _global(name: str) -> int:
    """Address of a variable of the pool."""
    assert _engine is not None
    return int(_engine.get_global_value_address(f"execspace_pool_{name}"))


def _loaded() -> llvm.ExecutionEngine:
    """The pool as machine code, compiled or from the cache."""
    import llvmlite
    import llvmlite.binding as llvm

    from ..cache import disk

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    source = text(platform.machine())
    machine = llvm.Target.from_default_triple().create_target_machine(opt=2, jit=True)
    entry = disk.key(source, llvmlite.__version__, machine.triple)
    path = disk.folder("numba") / f"{entry}.o"
    code = disk.read(path)
    if code is None:
        code = machine.emit_object(llvm.parse_assembly(source))
        disk.keep(path, code)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine


# Faults of the thread itself, which the system does not let anybody put off.
_FAULTS = ("SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT", "SIGTRAP", "SIGSYS")


def _describe_threads(stack: int | None) -> None:
    """Set what threads are made with: detached, their stacks, and no signals but for faults."""
    libc = ctypes.CDLL(None)
    attributes, blocked = (ctypes.c_void_p(_global(name)) for name in ("attributes", "blocked"))
    libc.pthread_attr_init(attributes)
    libc.pthread_attr_setdetachstate(attributes, 1)  # PTHREAD_CREATE_DETACHED
    if stack is None:
        usual = ctypes.c_size_t()
        libc.pthread_attr_getstacksize(attributes, ctypes.byref(usual))
        stack = max(usual.value, config.LEAST_STACK)
    page = 1 << 16  # sizes must be whole pages, on any processor
    libc.pthread_attr_setstacksize(attributes, ctypes.c_size_t(-(-stack // page) * page))
    libc.sigfillset(blocked)
    for name in _FAULTS:
        libc.sigdelset(blocked, getattr(signal, name))

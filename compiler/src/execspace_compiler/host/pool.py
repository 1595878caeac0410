"""Thread pools for launches on Linux: compiles pool.ll, and loads it once for each pool.

Compiled kernels call `execspace_pool_run` by name, so their machine code can be cached on disk.
Whose it is, that of the process or of another `Pool`, is settled when the code is loaded.
"""

from __future__ import annotations

import ctypes
import platform
import signal
from importlib import import_module
from typing import TYPE_CHECKING

from execspace.base import config
from execspace.base.dataclass import dataclass
from execspace.base.interrupts import held
from execspace.base.locks import new_rlock

from .beside import beside

if TYPE_CHECKING:
    import llvmlite.binding as llvm

ENTRY = "execspace_pool_run"

# How long a waiting thread spins before it sleeps. Longer than it takes to wake one on a virtual
# machine, or launches would never find the threads awake.
SPIN_NS = 50_000

# A scan has one more part than there are threads.
_SLOTS = config.MOST_THREADS + 1


@dataclass(frozen=True)
class _Processor:
    """Parameters of the LLVM IR: the number of the system call, and the pause of a spin loop."""

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


def llvm_ir(machine: str) -> str:
    """The pool in LLVM IR, for a processor as named by `platform.machine`."""
    processor = _PROCESSORS[machine]
    from importlib import resources  # which llvmlite has loaded

    found = resources.files(__package__).joinpath("pool.ll").read_text()
    for name, value in [
        ("SLOTS", str(_SLOTS)), ("FUTEX", str(processor.futex)), ("  PAUSE", f"  {processor.pause}")
    ]:  # fmt: skip
        found = found.replace(name, value)
    return f"{found}\n{processor.declared}\n"


_lock = new_rlock()  # who starts the first pool makes it
_shared: Pool | None = None  # that of the process
_code: bytes | None = None


class Pool:
    """Threads that run the parts of launches of their own; they last as long as the process.

    Parameters
    ----------
    threads : int
        Most threads of a launch, the caller among them.
    spin_ns, stack
        As for `start`.

    Attributes
    ----------
    run : int
        Address of its `execspace_pool_run`.
    """

    def __init__(self, threads: int, spin_ns: int = SPIN_NS, stack: int | None = None) -> None:
        with _lock:
            # Code that is loaded once more has variables of its own, and so threads of its own.
            self._engine = _loaded()
            self.run = int(self._engine.get_function_address(ENTRY))
            # Threads run this code until the process ends, so it must not be freed.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._engine))
            self.set(threads, spin_ns, stack)

    def set(self, threads: int, spin_ns: int, stack: int | None) -> None:
        """Set what `start` sets."""
        _describe_threads(self._variable("attributes"), self._variable("blocked"), stack)
        ctypes.c_int64.from_address(self._variable("spin")).value = spin_ns
        ctypes.c_int64.from_address(self._variable("threads")).value = threads

    def _variable(self, name: str) -> int:
        """Address of a variable of the pool."""
        return int(self._engine.get_global_value_address(f"execspace_pool_{name}"))


def start(threads: int, spin_ns: int = SPIN_NS, stack: int | None = None) -> None:
    """Set the number of threads for launches of this process, callers included.

    Threads are created when a launch first needs them. Existing ones are not changed.

    Parameters
    ----------
    threads : int
        Most threads of a launch.
    spin_ns : int
        Nanoseconds that a waiting thread spins before it sleeps.
    stack : int or None
        Bytes of the stacks of new threads; None: the default of threads.
    """
    global _shared
    with _lock:
        if _shared is None:
            from llvmlite.binding import add_symbol

            _shared = Pool(threads, spin_ns, stack)
            add_symbol(ENTRY, _shared.run)
        else:
            _shared.set(threads, spin_ns, stack)


def _loaded() -> llvm.ExecutionEngine:
    """A pool as machine code, compiled or from the cache."""
    global _code
    import llvmlite
    import llvmlite.binding as llvm

    from ..cache import disk

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    # Without optimisation: its text is written as it should run, and a launch takes as long, but
    # it compiles in 5 ms instead of 16.
    machine = llvm.Target.from_default_triple().create_target_machine(opt=0, jit=True)
    if _code is None:
        source = llvm_ir(platform.machine())
        parts = source, "not optimised", llvmlite.__version__, machine.triple
        _code = disk.of_text(parts, lambda: _compiled(source, machine))
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(_code))
    engine.finalize_object()
    return engine


def _compiled(source: str, machine: llvm.TargetMachine) -> bytes:
    """The machine code of a module.

    LLVM needs no GIL. So this thread imports the compiler meanwhile, which the first launch needs
    next: who has no pool in the cache has no kernels there.
    """
    import llvmlite.binding as llvm

    def compiled() -> bytes:
        return bytes(machine.emit_object(llvm.parse_assembly(source)))

    made: list[bytes] = []

    with beside(lambda: made.append(compiled())), held():
        import_module(f"{__package__}.building")
    return made[0] if made else compiled()


# Synchronous faults of the thread, which cannot be blocked.
_FAULTS = ("SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT", "SIGTRAP", "SIGSYS")


def _describe_threads(attributes_at: int, blocked_at: int, stack: int | None) -> None:
    """Set attributes of threads: detached, stack size, and all signals blocked except faults."""
    libc = ctypes.CDLL(None)
    attributes, blocked = ctypes.c_void_p(attributes_at), ctypes.c_void_p(blocked_at)
    libc.pthread_attr_init(attributes)
    libc.pthread_attr_setdetachstate(attributes, 1)  # PTHREAD_CREATE_DETACHED
    if stack is None:
        usual = ctypes.c_size_t()
        libc.pthread_attr_getstacksize(attributes, ctypes.byref(usual))
        stack = max(usual.value, config.LEAST_STACK)
    page = 1 << 16  # sizes must be multiples of the page size, on any processor
    libc.pthread_attr_setstacksize(attributes, ctypes.c_size_t(-(-stack // page) * page))
    libc.sigfillset(blocked)
    for name in _FAULTS:
        libc.sigdelset(blocked, getattr(signal, name))

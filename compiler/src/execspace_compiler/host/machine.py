"""The processor of this host, for LLVM: which one, and from LLVM IR to machine code in memory.

Machine code is kept as object files, so that it can be loaded in later processes.
"""

from __future__ import annotations

import ctypes
import os
import platform
import threading
import weakref
from functools import cache
from typing import TYPE_CHECKING, Any

from execspace import Capabilities
from execspace.base import config
from execspace.base.dataclass import dataclass
from execspace.base.free_threading import numbers
from execspace.base.locks import new_lock, open_in_children

from .named_processor import split, try_out

if TYPE_CHECKING:
    from llvmlite.binding import ModuleRef, TargetMachine

    from ..codegen.llvm import vector_functions
    from ..codegen.llvm.uniform_calls import Uniform
    from ..codegen.llvm.vector_math import VectorMath


def _llvm() -> Any:
    """llvmlite's binding, which is loaded when something is compiled or loaded first."""
    import llvmlite.binding as llvm

    # llvmlite holds it during each of its calls, and does not look after forked children.
    lock = getattr(getattr(llvm.ffi.lib, "_lock", None), "_lock", None)
    if lock is not None:
        open_in_children(lock)
    return llvm


@dataclass(frozen=True)
class Processor:
    """A processor as LLVM knows it.

    Attributes
    ----------
    name : str
    features : str
        Comma list such as "+avx2,-avx512f"; empty for what the name stands for.
    """

    name: str
    features: str

    def has(self, *features: str) -> bool:
        """Whether it is known to have features, by LLVM's names."""
        return {f"+{f}" for f in features} <= set(self.features.split(","))


@cache
def processor() -> Processor:
    """The processor that kernels are compiled for: this one, or that of EXECSPACE_CPU."""
    llvm = _llvm()
    chosen = config.get("CPU")
    if chosen:
        return Processor(*split(chosen))
    features = llvm.get_host_cpu_features()
    return Processor(llvm.get_host_cpu_name(), features.flatten())


# Major versions of LLVM that are known to have the options below. Of an unknown option LLVM ends
# the process, and nobody can ask it which ones it has.
_OPTIONS_KNOWN = range(20, 23)
# Processors keep decoded instructions by lines of 32 or 64 bytes. A loop whose branch lies in two
# of them is up to a tenth slower, so how fast it is would depend on where it happens to be.
_ALIGN_BRANCHES = "-x86-branches-within-32B-boundaries"
# What vectors of 8 numbers leave of a row is up to 7 numbers, one by one: of 62 a tenth of the
# time. Loops over narrower vectors take most of them; LLVM has these from vectors of 16 on.
_REMAINDERS = "-epilogue-vectorization-minimum-VF=8"
_options = new_lock()
_set = False


def _set_options(cpu: Processor) -> None:
    """Set options of LLVM that hold for this process."""
    global _set
    llvm = _llvm()
    with _options:
        if _set or platform.machine().lower() not in ("x86_64", "amd64"):
            return
        if llvm.llvm_version_info[0] in _OPTIONS_KNOWN:
            llvm.set_option("execspace", _ALIGN_BRANCHES)
            if cpu.has("avx512f"):
                llvm.set_option("execspace", _REMAINDERS)
        _set = True


_threads = threading.local()


def target_machine() -> TargetMachine:
    """LLVM's description of the processor, of the calling thread: it is not to be shared."""
    known: TargetMachine | None = getattr(_threads, "machine", None)
    if known is None:
        if config.get("CPU"):
            try_out(processor().name, processor().features)
        known = _threads.machine = _new_target_machine()
    return known


def _new_target_machine() -> TargetMachine:
    llvm = _llvm()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    cpu = processor()
    _set_options(cpu)
    target = llvm.Target.from_triple(llvm.get_process_triple())
    # JITLink puts all of a library into one piece of memory, so that addresses are near.
    model = "small" if _has_jitlink() else "jitdefault"
    return target.create_target_machine(
        cpu=cpu.name, features=cpu.features, opt=3, reloc="pic", codemodel=model, jit=True
    )


def _has_jitlink() -> bool:
    return os.name == "posix" and platform.machine().lower() in ("x86_64", "aarch64", "arm64")


def address_of(symbol: str) -> int:
    """Address of a symbol that this process or LLVM has, or 0."""
    return int(_llvm().address_of_symbol(symbol) or 0)


def has_wide_exchange() -> bool:
    """Whether code for this host has a 16-byte compare-and-swap."""
    kind = platform.machine().lower()
    if kind in ("x86_64", "amd64"):
        return processor().has("cx16")
    return kind in ("aarch64", "arm64")


def host_capabilities(dynamic_schedules: bool = True) -> Capabilities:
    """What kernels that are compiled for this host can do; `building.built` refuses the rest.

    Loads llvmlite, which knows the processor, so spaces ask when somebody asks them.

    Parameters
    ----------
    dynamic_schedules : bool
        Whether several threads run the parts of a launch.
    """
    widest = 16 if has_wide_exchange() else 8
    return Capabilities(
        float16=True, atomic_bytes=widest, dynamic_schedules=dynamic_schedules,
        vector_bytes=vector_bytes(),
    )  # fmt: skip


def vector_bytes() -> int:
    """Bytes of the widest vector registers; 16 where there are others than x86's."""
    cpu = processor()
    return 64 if cpu.has("avx512f") else 32 if cpu.has("avx") else 16


def has_cheap_masks() -> bool:
    """Whether code for this host has masked stores that are as cheap as others.

    AVX-512 has them. On some processors, those of AVX2 cost more than the rest of a loop.
    """
    return processor().has("avx512f", "avx512bw", "avx512dq", "avx512vl")


def versions() -> tuple[str, ...]:
    """What machine code depends on besides its text."""
    import llvmlite

    cpu = processor()
    return llvmlite.__version__, platform.machine(), cpu.name, cpu.features


def vector_math() -> VectorMath:
    """Vector versions of mathematical functions for the processor."""
    from ..codegen.llvm.vector_math import VectorMath

    cpu = processor()
    features = {f[1:] for f in cpu.features.split(",") if f.startswith("+")}
    if config.get("CPU"):
        features |= try_out(cpu.name, cpu.features)
    return VectorMath(frozenset(features), _vector_libraries)


def _vector_libraries() -> tuple[vector_functions.Library, ...]:
    from ..codegen.llvm.vector_functions import libraries

    return libraries()


def has_libraries(names: tuple[str, ...]) -> bool:
    """Whether there are libraries of vector functions, which this loads."""
    return set(names) <= {library.name for library in vector_math().libraries}


def _unlocked(name: str) -> Any:
    """A function of LLVM's without the lock that llvmlite holds while any of them runs.

    Modules have a context of their own here, and threads a target machine, so that several may be
    compiled at once.
    """
    function = getattr(_llvm().ffi.lib, name)
    return getattr(function, "_cfn", function)


def _parsed(text: str, context: Any) -> ModuleRef:
    machine = target_machine()
    module = _llvm().parse_assembly(text, context)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    return module


def optimised(text: str, linked: tuple[Uniform, ...] = (), lanes: bool = False) -> ModuleRef:
    """A module, optimised for the processor; `linked`: functions that it calls; `lanes`: its loops
    run in lanes already."""
    llvm = _llvm()
    machine = target_machine()
    context = llvm.create_context()
    module = _parsed(text, context)
    # At level 3 LLVM copies loops for tests that come out alike in all rounds, which takes half as
    # long again and makes no kernel in lanes faster.
    options = llvm.create_pipeline_tuning_options(speed_level=2 if lanes else 3)
    options.loop_vectorization = not lanes
    options.slp_vectorization = not lanes
    options.loop_interleaving = True
    options.loop_unrolling = True
    builder = llvm.create_pass_builder(machine, options)
    passes = builder.getModulePassManager()
    _unlocked("LLVMPY_RunNewModulePassManager")(passes, module, builder)
    if linked:
        lines = [line for line in str(module).splitlines() if " call " in line]
        for function in linked:
            vectors = tuple(f"@{name}(" for name in function.functions)
            called = any(v in line for line in lines for v in vectors)
            chosen = function.defined if called else function.unvectorised
            module.link_in(_parsed(chosen, context))
    return module


def assembly(module: ModuleRef) -> str:
    """The assembly of an optimised module, as text."""
    return _emitted(module, 0).decode()


def object_code(text: str, linked: tuple[Uniform, ...] = (), lanes: bool = False) -> bytes:
    """An object file of a module; arguments as those of `optimised`."""
    return _emitted(optimised(text, linked, lanes), 1)


def _emitted(module: ModuleRef, binary: int) -> bytes:
    ffi = _llvm().ffi
    with ffi.OutputString() as message:
        emit = _unlocked("LLVMPY_TargetMachineEmitToMemory")
        buffer = emit(target_machine(), module, binary, message)
        if not buffer:
            raise RuntimeError(str(message))
    try:
        size = ffi.lib.LLVMPY_GetBufferSize(buffer)
        return ctypes.string_at(ffi.lib.LLVMPY_GetBufferStart(buffer), size)
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


@cache
def _linker() -> Any:
    return _llvm().create_lljit_compiler(_new_target_machine(), use_jit_link=_has_jitlink())


_new_number = numbers()

# Functions of GCC's runtime library for integers of 128 bits, to which LLVM turns some sums of
# indices; 64-bit processors have no instructions for them, and LLVM no code of its own.
_WIDE_INTEGERS = ("__udivti3", "__umodti3", "__divti3", "__modti3")


@cache
def _wide_integers() -> dict[str, int]:
    """Addresses of those that there are; elsewhere they are in every process, or nowhere."""
    try:
        library = ctypes.CDLL("libgcc_s.so.1")
    except OSError:
        return {}
    found = (name for name in _WIDE_INTEGERS if hasattr(library, name))
    return {n: ctypes.cast(getattr(library, n), ctypes.c_void_p).value or 0 for n in found}


class Library:
    """Machine code in memory, as long as this object lives."""

    def __init__(self, code: bytes, exports: tuple[str, ...], imports: dict[str, int]) -> None:
        llvm = _llvm()
        if any(name.encode() in code for name in _WIDE_INTEGERS):
            imports = {**_wide_integers(), **imports}
        made = llvm.JITLibraryBuilder().add_current_process().add_object_img(code)
        for name in exports:
            made.export_symbol(name)
        for name, address in imports.items():
            made.import_symbol(name, address)
        self._tracker = made.link(_linker(), f"execspace{_new_number()}-{os.getpid()}")

    def address(self, name: str) -> int:
        """Address of an exported symbol."""
        return int(self._tracker[name])


class _Method(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_METH_FASTCALL = 0x80
_new = ctypes.pythonapi.PyCFunction_NewEx
_new.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
_new.restype = ctypes.py_object

# CPython looks at the flags of a function while it frees it, and its collector may have freed the
# owner before. So these are never given back, but used again, with the same flags. Each `append`
# and `pop` is one step for other threads, with the GIL and without it.
_methods: list[_Method] = []
_unused: list[_Method] = []


def built_in(address: int, owner: object) -> Any:
    """A built-in function of an entry at an address, which keeps `owner` alive."""
    try:
        method = _unused.pop()
    except IndexError:
        method = _Method(b"launch", None, _METH_FASTCALL, None)
        _methods.append(method)
    method.function = address
    function = _new(ctypes.addressof(method), owner, None)
    weakref.finalize(function, _unused.append, method).atexit = False
    return function

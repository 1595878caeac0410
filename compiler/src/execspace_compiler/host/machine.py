"""The processor of this host, for LLVM: which one, and from LLVM IR to machine code in memory.

Machine code is kept as object files, so that it can be loaded in later processes.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import platform
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from execspace.base import config

if TYPE_CHECKING:
    from llvmlite.binding import ModuleRef, TargetMachine


def _llvm() -> Any:
    """llvmlite's binding, which is loaded when something is compiled or loaded first."""
    import llvmlite.binding as llvm

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
        name, _, features = chosen.partition(",")
        return Processor(name.strip(), features.strip())
    features = llvm.get_host_cpu_features()
    return Processor(llvm.get_host_cpu_name(), features.flatten())


@cache
def target_machine() -> TargetMachine:
    """LLVM's description of the processor."""
    llvm = _llvm()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    cpu = processor()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(
        cpu=cpu.name, features=cpu.features, opt=3, reloc="pic", codemodel="jitdefault", jit=True
    )


def address_of(symbol: str) -> int:
    """Address of a symbol that this process or LLVM has, or 0."""
    return int(_llvm().address_of_symbol(symbol) or 0)


def versions() -> tuple[str, ...]:
    """What machine code depends on besides its text."""
    import llvmlite

    cpu = processor()
    return llvmlite.__version__, platform.machine(), cpu.name, cpu.features


def optimised(text: str) -> ModuleRef:
    """A module, optimised for the processor."""
    llvm = _llvm()
    machine = target_machine()
    module = llvm.parse_assembly(text)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = True
    options.slp_vectorization = True
    options.loop_interleaving = True
    options.loop_unrolling = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return module


def object_code(text: str) -> bytes:
    """An object file of a module."""
    return bytes(target_machine().emit_object(optimised(text)))


def assembly(text: str) -> str:
    """Assembly of a module, for people."""
    return str(target_machine().emit_assembly(optimised(text)))


@cache
def _linker() -> Any:
    return _llvm().create_lljit_compiler(target_machine())


_numbers = itertools.count()


class Library:
    """Machine code in memory, as long as this object lives."""

    def __init__(self, code: bytes, exports: tuple[str, ...], imports: dict[str, int]) -> None:
        llvm = _llvm()
        made = llvm.JITLibraryBuilder().add_current_process().add_object_img(code)
        for name in exports:
            made.export_symbol(name)
        for name, address in imports.items():
            made.import_symbol(name, address)
        self._tracker = made.link(_linker(), f"execspace{next(_numbers)}-{os.getpid()}")

    def address(self, name: str) -> int:
        """Address of an exported symbol."""
        return int(self._tracker[name])


_new = ctypes.pythonapi.PyCFunction_NewEx
_new.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
_new.restype = ctypes.py_object


def built_in(method: int, owner: object) -> Any:
    """A built-in function of a PyMethodDef at an address, which keeps `owner` alive."""
    return _new(method, owner, None)

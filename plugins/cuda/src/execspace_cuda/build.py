"""Compiles generated text with NVRTC, through the cache on disk, and loads it on a device.

Compiling needs no device. CuPy's own way of compiling is not taken: it flushes subnormal float32
numbers to zero.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import cupy
from cupy_backends.cuda.api import driver
from cupy_backends.cuda.libs import nvrtc

from execspace import BackendCompileError
from execspace_compiler import cache as disk
from execspace_compiler.devices import DeviceText


@cache
def compiler_version() -> str:
    """Version of NVRTC."""
    return ".".join(map(str, nvrtc.getVersion()))


@cache
def target(capability: str) -> tuple[str, bool]:
    """The option for a device of a compute capability such as "90"; whether it gives machine code.

    For a device that is newer than the compiler the text becomes PTX, which the driver translates.
    """
    known = nvrtc.getSupportedArchs()
    if int(capability) in known:
        return f"-arch=sm_{capability}", True
    older = [arch for arch in known if arch < int(capability)]
    if not older:
        raise BackendCompileError(
            f"NVRTC {compiler_version()} cannot compile for a device of compute capability "
            f"{capability[:-1]}.{capability[-1]}; the oldest that it knows is {min(known)}. "
            f"Install CuPy for an older CUDA."
        )
    return f"-arch=compute_{max(older)}", False


def options_for(text: DeviceText, capability: str) -> list[str]:
    """Options of the compiler for a text."""
    options = [target(capability)[0], "-std=c++17", "-w"]
    lowered = text.lowered
    # Both options are for the whole text: one strict function makes all of it so.
    if not lowered.kernel.fma or text.strict:
        options.append("-fmad=false")
    if lowered.kernel.fastmath and not text.strict:
        options.append("-use_fast_math")
    return options


def compile_text(source: str, options: Sequence[str]) -> bytes:
    """Machine code, or PTX, of a text.

    Raises
    ------
    CompileError
        If the compiler refuses it.
    """
    program = nvrtc.createProgram(source, _FILE, (), ())
    try:
        try:
            nvrtc.compileProgram(program, tuple(options))
        except nvrtc.NVRTCError:
            raise CompileError(nvrtc.getProgramLog(program)) from None
        if any(o.startswith("-arch=sm_") for o in options):
            return bytes(nvrtc.getCUBIN(program))
        found = nvrtc.getPTX(program)  # bytes or text, as the version of CuPy has it
        return found.encode() if isinstance(found, str) else bytes(found)
    finally:
        nvrtc.destroyProgram(program)


_FILE = "kernel.cu"
_FAULT = re.compile(r"^kernel\.cu\((\d+)\): (?:catastrophic )?error: (.*)", re.MULTILINE)


class CompileError(Exception):
    """NVRTC refused a text; the message is all that it said."""


@dataclass(frozen=True)
class Binary:
    """A compiled text.

    Attributes
    ----------
    code : bytes
    from_disk : bool
        It was compiled before.
    """

    code: bytes
    from_disk: bool


def binary(text: DeviceText, capability: str, again: bool = False) -> Binary:
    """Compile a text, or take what the cache on disk has of it unless `again`.

    Raises
    ------
    BackendCompileError
    """
    options = options_for(text, capability)
    folder = disk.folder("cuda")
    path = folder / f"{disk.key(text.source, *options, compiler_version())}.bin"
    if not again:
        try:
            return Binary(path.read_bytes(), True)
        except OSError:
            pass
    try:
        code = compile_text(text.source, options)
    except CompileError as error:
        log = str(error)
        faults = [(int(line), message) for line, message in _FAULT.findall(log)]
        who = f"NVRTC {compiler_version()} with {' '.join(options)}"
        raise BackendCompileError(text.complaint(faults, log, who)) from error
    disk.write(path, code)
    disk.limit_size(folder)
    return Binary(code, False)


_MOST_SHARED = 8  # the attribute of a function that is set
_ATTRIBUTES = {"threads": 0, "shared": 1, "constant": 2, "local": 3, "registers": 4}


@dataclass
class Program:
    """Kernels of a text, loaded on the current device.

    Attributes
    ----------
    text : DeviceText
    functions : list of int
        Handles of the driver, in the order of `text.entry.kernels`.
    from_disk : bool
    """

    text: DeviceText
    functions: list[int] = field(default_factory=list)
    from_disk: bool = False
    _module: Any = None

    @classmethod
    def load(cls, text: DeviceText, capability: str) -> Program:
        """Compile if need be, and load."""
        found = binary(text, capability)
        module = cupy.cuda.function.Module()
        try:
            module.load(found.code)
        except driver.CUDADriverError:
            if not found.from_disk:
                raise
            found = binary(text, capability, again=True)  # a damaged file
            module = cupy.cuda.function.Module()
            module.load(found.code)
        names = text.entry.kernels
        functions = [int(module.get_function(name).ptr) for name in names]
        return cls(text, functions, found.from_disk, module)

    def allow_shared(self, nbytes: int) -> None:
        """Let blocks ask for so many bytes of shared memory, their own included."""
        for function in self.functions:
            own = driver.funcGetAttribute(_ATTRIBUTES["shared"], function)
            driver.funcSetAttribute(function, _MOST_SHARED, nbytes - own)

    def figures(self) -> dict[str, dict[str, int]]:
        """Of each kernel: registers and bytes of local memory (spills and private arrays) of a
        thread, bytes of shared and constant memory of a block, and the largest block."""
        return {
            name: {what: driver.funcGetAttribute(n, f) for what, n in _ATTRIBUTES.items()}
            for name, f in zip(self.text.entry.kernels, self.functions, strict=True)
        }

"""NVRTC: which options a source gets, and its machine code or PTX. Needs no device."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from cupy_backends.cuda.libs import nvrtc

from execspace import BackendCompileError
from execspace_compiler.backend import DeviceCode
from execspace_gpu.compiling import Compiler
from execspace_gpu.runtime_compiler import compile_program

_FILE = "kernel.cu"
_FAULT = re.compile(r"^kernel\.cu\((\d+)\): (?:catastrophic )?error: (.*)", re.MULTILINE)

# From this version on it need not declare textures and the runtime's functions, which takes it as
# long as a small kernel does.
_MINIMAL = (12, 4)


@cache
def compiler_version() -> str:
    """Version of NVRTC."""
    return ".".join(map(str, nvrtc.getVersion()))


@cache
def target(capability: str) -> tuple[str, bool]:
    """The option for a device of a compute capability such as "90"; whether it gives machine code.

    For a device that is newer than the compiler the source becomes PTX, which the driver
    translates."""
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


class Nvrtc(Compiler):
    """NVIDIA's compiler; architectures are compute capabilities such as "90"."""

    title = "NVRTC"

    def version(self) -> str:
        return compiler_version()

    def options(self, code: DeviceCode, arch: str) -> list[str]:
        options = [target(arch)[0], "-std=c++17", "-w"]
        if nvrtc.getVersion() >= _MINIMAL:
            options.append("-minimal")
        lowered = code.lowered
        # Both options are for the whole source: one strict function makes all of it so.
        if not lowered.kernel.fma or code.strict:
            options.append("-fmad=false")
        if lowered.kernel.fastmath and not code.strict:
            options.append("-use_fast_math")
        return options

    def compile(self, source: str, options: Sequence[str]) -> bytes:
        def take(program: Any) -> bytes:
            if any(o.startswith("-arch=sm_") for o in options):
                return bytes(nvrtc.getCUBIN(program))
            found = nvrtc.getPTX(program)  # bytes or text, as the version of CuPy has it
            return found.encode() if isinstance(found, str) else bytes(found)

        return compile_program(source, _FILE, options, take)

    def faults(self, log: str) -> list[tuple[int, str]]:
        return [(int(line), message) for line, message in _FAULT.findall(log)]


NVRTC = Nvrtc()

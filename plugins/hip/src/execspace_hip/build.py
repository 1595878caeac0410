"""hiprtc: which options a source gets, and the code object made of it. Needs no device."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from cupy_backends.cuda.api import runtime
from cupy_backends.cuda.libs import nvrtc  # CuPy's name for hiprtc, too

from execspace_compiler.backend import DeviceCode
from execspace_gpu.compiling import CompileError, Compiler
from execspace_gpu.runtime_compiler import compile_program

from .amdgpu.code_object import whole
from .options import FINE_GRAINED, options_for

_FILE = "kernel.hip"
_FAULT = re.compile(r"kernel\.hip:(\d+):\d+: (?:fatal )?error: (.*)")


@cache
def compiler_version() -> str:
    """Version of HIP, such as "7.2.53211": CuPy's binding tells none of hiprtc's own."""
    version = int(runtime.runtimeGetVersion())
    return f"{version // 10_000_000}.{version // 100_000 % 100}.{version % 100_000}"


@cache
def _knows(option: str) -> bool:
    """Whether hiprtc takes an option."""
    try:
        HIPRTC.compile("// nothing", ["--offload-arch=gfx90a", option])
    except CompileError:
        return False
    return True


class Hiprtc(Compiler):
    """AMD's compiler; architectures are names such as "gfx942:sramecc+:xnack-"."""

    title = "hiprtc"

    def version(self) -> str:
        return compiler_version()

    def options(self, code: DeviceCode, arch: str) -> list[str]:
        return options_for(code, arch, _knows(FINE_GRAINED))

    def compile(self, source: str, options: Sequence[str]) -> bytes:
        def take(program: Any) -> bytes:
            return whole(bytes(nvrtc.getPTX(program)))

        return compile_program(source, _FILE, options, take)

    def faults(self, log: str) -> list[tuple[int, str]]:
        return [(int(line), message) for line, message in _FAULT.findall(log)]


HIPRTC = Hiprtc()

"""A kind of AMD GPU to compile for, on any machine that has a clang which knows it."""

from __future__ import annotations

from collections.abc import Sequence

from execspace_compiler.backend import DeviceCode, Dialect, Limits, hip
from execspace_gpu.compiling import Compiler
from execspace_gpu.occupancy import Residency
from execspace_gpu.target import ResourceUsage, TargetSpace

from ..options import options_for
from .code_object import read_code_object
from .offline import OfflineCompiler, faults, find_compiler
from .resource_usage import residency_of, resource_usage_of
from .targets import LDS, MOST_THREADS, Target, hip_tiles, limits_of, target_of

_FINE_GRAINED_SINCE = 21  # version of clang


class Clang(Compiler):
    """A clang of this machine as a compiler of texts."""

    def __init__(self, found: OfflineCompiler, arch: str) -> None:
        self.found, self.arch = found, arch
        self.title = "clang"

    def version(self) -> str:
        return self.found.version()

    def options(self, code: DeviceCode, arch: str) -> list[str]:
        return options_for(code, arch, int(self.version().partition(".")[0]) >= _FINE_GRAINED_SINCE)

    def compile(self, source: str, options: Sequence[str]) -> bytes:
        return self.found.compile(source, options, self.arch)

    def faults(self, log: str) -> list[tuple[int, str]]:
        return faults(log)


class HipTarget(TargetSpace):
    """Compiles for a kind of AMD GPU such as "gfx942".

    Raises
    ------
    BackendCompileError
        If nothing is known of it.
    SpaceUnavailableError
        If no compiler that knows it is installed.
    """

    short = "hip"
    title = "HIP"
    shared_always = LDS
    flat_block = Target.block

    def __init__(self, name: str) -> None:
        self.name = name
        self.target = target_of(name, known_only=True)
        self.tiles = hip_tiles(self.short, self.target.wave)
        self._compiler = Clang(find_compiler(name), name)

    @property
    def dialect(self) -> Dialect:
        return hip(self.target.wave)

    @property
    def compiler(self) -> Compiler:
        return self._compiler

    @property
    def arch(self) -> str:
        return self.name

    @property
    def limits(self) -> Limits:
        return limits_of(MOST_THREADS, (MOST_THREADS,) * 3, (2**31 - 1, 65536, 65536))

    @property
    def shared(self) -> int:
        return self.target.lds

    def residency(self, code: bytes, name: str, threads: int) -> Residency:
        k = read_code_object(code).kernels[name]
        return residency_of(self.target, k.vgprs, k.lds, threads, k.sgprs)

    def measure(self, device_code: DeviceCode, code: bytes) -> tuple[ResourceUsage, list[str]]:
        return resource_usage_of(code, self.target)

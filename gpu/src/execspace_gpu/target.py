"""A kind of GPU that is not there: kernels are compiled for it, and none is launched.

For `explain(target=...)`. A plugin makes its target of `TargetSpace`.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any

from execspace import HOST, Kernel, LaunchSpec, MemorySpace, Plan, SpaceUnavailableError, TeamSizes
from execspace.base.dataclass import dataclass
from execspace_compiler.backend import DeviceCode, Sources, cache

from .compiling import compile_code
from .kind import GpuKind
from .occupancy import Residency, describe_limit, limit_of

ResourceUsage = dict[str, dict[str, int]]


class TargetSpace(GpuKind):
    """Compiles for a kind of GPU; arguments are arrays of the host.

    must: what a `GpuKind` must, and `measure`.
    """

    @property
    def memory_space(self) -> MemorySpace:
        return HOST

    @abstractmethod
    def measure(self, device_code: DeviceCode, code: bytes) -> tuple[ResourceUsage, list[str]]:
        """What kernels use, as `Explanation.resource_usage`, and lines on how they run; must."""

    def residency(self, code: bytes, name: str, threads: int) -> Residency | None:
        """How many blocks of a compiled kernel run at once; may. None: it is not known."""
        return None

    def compile(self, kernel: Kernel, spec: LaunchSpec) -> TargetPlan:
        """Compile the usual text of a launch.

        Raises
        ------
        KernelSyntaxError, KernelTypeError
            For faults in the kernel.
        BackendCompileError
            If the compiler refuses the generated source, or does not know the target.
        """
        sources = Sources.of(self, self.traits, kernel, spec, self.name)
        code = sources.code(sources.usual)
        found = compile_code(code, self.compiler, self.arch, self.short, bytes)
        return TargetPlan(self, spec, sources, code, found)

    def synchronize(self, label: str = "") -> None:
        """Nothing runs here."""


@dataclass
class TargetPlan(Plan):
    """A compiled launch that cannot be launched; see `execspace.Plan`."""

    space: TargetSpace
    spec: LaunchSpec
    sources: Sources
    device_code: DeviceCode
    compiled: cache.Compiled[bytes]

    @property
    def code(self) -> bytes:
        """The machine code."""
        return self.compiled.loaded

    @property
    def source(self) -> str:
        """The generated source."""
        return self.device_code.source

    @cached_property
    def _measured(self) -> tuple[ResourceUsage, list[str]]:
        return self.space.measure(self.device_code, self.code)

    @property
    def resource_usage(self) -> ResourceUsage:
        """What the compiled kernels need."""
        return self._measured[0]

    @property
    def variables(self) -> dict[str, str]:
        """Types of all variables."""
        return self.sources.variables

    @property
    def cache(self) -> tuple[str, str]:
        """Key of the entry in the cache on disk, and whether it was found."""
        return self.compiled.describe(self.sources.original.kernel)

    def mapping(self, bounds: tuple[int, ...]) -> list[str]:
        """How it goes through a range, and how much of it runs at once."""
        return [*self.sources.mapping(bounds), *self._measured[1], *self._occupancy(bounds)]

    def _occupancy(self, bounds: tuple[int, ...]) -> list[str]:
        """What an occupancy of the policy comes to."""
        percent = self.spec.policy.occupancy
        if not percent:
            return []
        name, threads = self.device_code.entry.kernels[0], self.sources.threads_of(bounds)
        kernel = self.space.residency(self.code, name, threads)
        if kernel is None:
            return [f"occupancy={percent}: what it comes to is not known without a device"]
        return [describe_limit(percent, kernel, limit_of(percent, kernel))]

    def team_sizes(self) -> TeamSizes:
        """Of a TeamPolicy: what is chosen where the policy does not say."""
        assert self.sources.teams is not None
        return self.sources.teams.sizes(self.space.limits.threads)

    def launch(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        """Always an error."""
        raise SpaceUnavailableError(
            f"Target '{self.space.name}' compiles kernels and launches none; use it with "
            f"explain(target=...)."
        )

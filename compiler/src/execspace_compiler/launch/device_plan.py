"""The plan of a launch on a device, which backends return to core."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

from execspace import ExecutionSpace, Kernel, LaunchSpec, TeamSizes
from execspace.base.dataclass import dataclass

from ..typing.lowered import Lowered
from .device_launch import Call, DeviceLaunch
from .plan import DescribedPlan
from .sources import Sources


@dataclass
class DevicePlan(DescribedPlan):
    """A compiled launch on a device; see `execspace.Plan`.

    Attributes
    ----------
    lowered : Lowered
        The kernel; for a TeamPolicy, before lowering of teams.
    device_launch : DeviceLaunch
    """

    space: ExecutionSpace
    kernel: Kernel
    spec: LaunchSpec
    lowered: Lowered
    launch: Call
    device_launch: DeviceLaunch[Any]

    @classmethod
    def of(cls, kernel: Kernel, launch: DeviceLaunch[Any]) -> Self:
        """The plan of a launch."""
        lowered = launch.sources.original
        return cls(launch.space, kernel, lowered.spec, lowered, launch.caller(), launch)

    @property
    def source(self) -> str:
        """The generated source."""
        return self.device_launch.code.source

    @property
    def subscripts(self) -> Mapping[int, tuple[int | None, ...]] | None:
        """How its calls address Views; None also where one call does the work of all kernels that
        are fused, and what compilers contract in this one would depend on the others."""
        if self.device_launch.traits.flat and self.kernel.fma and not self.kernel.fastmath:
            from ..analysis.contraction import has_choice

            if has_choice(self.lowered):
                return None
        return super().subscripts

    @property
    def joining(self) -> str | None:
        """The order in which groups of work-items join what the kernel returns."""
        sources = self.device_launch.sources
        kernel = sources.kernel
        if kernel.contiguous is not None or kernel.blocks is not None:
            return None  # it depends on the Views of a launch
        packing = kernel.packing(sources.usual)
        count = 1 if packing is None else packing.count
        return f"{kernel.order}{self.spec.policy.outer} {sources.group} {count}"

    def mapping(self, bounds: tuple[int, ...]) -> list[str]:
        """The mapping of a range."""
        return self.device_launch.sources.mapping(bounds)

    @property
    def vectorisation(self) -> tuple[str, ...]:
        """Whether calls run in lanes, of what is a host."""
        return self.device_launch.sources.vectorisation()

    def team_sizes(self) -> TeamSizes:
        """Sizes for a TeamPolicy, chosen if the policy does not set them."""
        sources = self.device_launch.sources
        assert sources.teams is not None
        if sources.team is None:
            return replace(sources.teams.sizes(1), team_size_max=sources.most_threads())
        most = min(self.device_launch.traits.limits.threads, self.device_launch.usual.most_threads)
        return sources.teams.sizes(most)

    def team_size_max(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> int:
        """Threads of the largest team for which a launch with these arguments works."""
        launch, sources = self.device_launch, self.device_launch.sources
        scratch, most = sources.scratch_by_size(), sources.most_threads()
        if sources.team is None:
            return scratch.largest(most, bounds[1], args)

        def attempt(size: int) -> None:
            tried = Sources(self.space, launch.traits, sources.with_team_size(size))
            if not launch.traits.bounds_groups:  # known only after compilation
                tried = launch.with_sources(tried).sources
            tried.team_size_of(bounds, args)

        return scratch.largest(most, bounds[1], args, attempt)

    def team_size_recommended(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> int:
        """Threads of a team in such a launch."""
        return self.device_launch.sources_for(bounds, args).team_size_of(bounds, args)

    def scratch_size(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> tuple[int, int]:
        """Bytes that the kernel asks for, of a team in such a launch."""
        size = self.team_size_recommended(bounds, args)
        return self.device_launch.sources.scratch_by_size().found(size, bounds[1], args)

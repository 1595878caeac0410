"""Sizes of teams on hosts, where a thread runs whole teams: limits, and what plans say of them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from execspace import ExecutionSpace, LaunchSpec, Plan, SupportsTeams, TeamLimits, TeamSizes

if TYPE_CHECKING:
    from ..typing.lowered import Lowered
    from .sizes import ScratchBySize

# Scratch memory of level 0 should fit in the caches of a core.
HOST_TEAMS = TeamLimits(1024, 1024, 1 << 20, (1 << 20, 1 << 26))


def team_limits(space: ExecutionSpace) -> TeamLimits:
    """Team limits of a space that declares them; otherwise those of hosts."""
    return space.team_limits() if isinstance(space, SupportsTeams) else HOST_TEAMS


def most_threads(spec: LaunchSpec, lanes: int, threads_max: int, team_size_max: int) -> int:
    """Threads of the largest team with so many lanes, for any kernel."""
    lanes_of_team = min(threads_max, spec.policy.launch_bounds or threads_max)
    return max(1, min(team_size_max, lanes_of_team // lanes))


class HostTeamSizes(Plan):
    """A plan of a space whose threads run whole teams; its kernel is `lowered`."""

    lowered: Lowered

    _usual_size = 1

    def team_sizes(self) -> TeamSizes:
        """Sizes for a TeamPolicy, chosen if the policy does not set them."""
        policy, limits = self.spec.policy, team_limits(self.space)
        lanes = policy.vector_length or 1
        most = most_threads(self.spec, lanes, limits.threads_max, limits.team_size_max)
        size = policy.team_size or min(self._usual_size, most)
        return TeamSizes(size, lanes, policy.chunk_size or 1, most)

    def team_size_max(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> int:
        """Threads of the largest team for which a launch with these arguments works."""
        return self._scratch.largest(self.team_sizes().team_size_max, bounds[1], args)

    def team_size_recommended(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> int:
        """Threads of a team in such a launch."""
        size = self.team_sizes().team_size
        self._scratch.check(size, bounds[1], args)
        return size

    def scratch_size(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> tuple[int, int]:
        """Bytes that the kernel asks for, of a team in such a launch."""
        return self._scratch.found(self.team_size_recommended(bounds, args), bounds[1], args)

    @cached_property
    def _scratch(self) -> ScratchBySize:
        from .sizes import ScratchBySize  # needs the kernel in IR, so not for launches

        return ScratchBySize(self.lowered, self.space.name, team_limits(self.space).scratch)

"""Teams of a launch on a device: their mapping to groups of work-items, and their memory.

Members of a team are work-items of a group if each work-item runs one call of a kernel; if
work-items run contiguous parts of a range, as on CPUs, each runs whole teams.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from execspace import PolicyError, TeamLimits, TeamSizes
from execspace.base.dataclass import dataclass

from ..codegen.cfamily.dialect import Dialect
from ..ir import Var
from ..ir.diagnostics import Fault, Reporter
from ..teams.automatic_sizes import RangeLengths, default_sizes, range_lengths
from ..teams.device import DeviceTeam, device_team, shape_of
from ..teams.host_limits import HOST_TEAMS
from ..teams.host_teams import HostTeam, host_team
from ..teams.scratch_sizes import Sizes
from ..teams.single_thread import POOL
from ..typing.lowered import Lowered

POOL_BYTES = 1 << 26  # limit of a team's scratch memory at level 1

ScratchSizes = Callable[[int, tuple[Any, ...]], tuple[int, int]]


@dataclass(frozen=True)
class Room:
    """Limits of groups for teams.

    Attributes
    ----------
    threads : int
        Most threads of a group.
    single : bool
        A group has only one team.
    sizes : tuple of int, optional
        Threads of a team and lanes of a thread that were chosen for a launch.
    """

    threads: int
    single: bool = False
    sizes: tuple[int, int] | None = None


def device_team_limits(dialect: Dialect, threads: int, shared: int) -> TeamLimits:
    """Team limits of a device on which members of teams are work-items.

    `threads` and `shared` are the most threads of a group, and bytes of its memory.
    """
    scratch = (shared, POOL_BYTES)
    if dialect.lanes.count > 1:
        return TeamLimits(threads, dialect.lanes.count, threads, scratch)
    lanes = HOST_TEAMS.vector_length_max  # which a thread runs sequentially
    return TeamLimits(threads, lanes, threads * lanes, scratch)


class WorkItemTeams:
    """Teams whose members are work-items.

    Parameters
    ----------
    lowered : Lowered
    dialect : Dialect
    limits : TeamLimits
    space : str
        Its name, for messages.
    room : Room

    Attributes
    ----------
    lowered : Lowered
        The input of the printer.
    device : DeviceTeam
    size, lanes : int
        Threads of a team, and lanes of a thread.

    Raises
    ------
    PolicyError
        If teams of the policy's sizes do not fit.
    """

    pools: tuple[Var, ...] = ()

    def __init__(
        self, lowered: Lowered, dialect: Dialect, limits: TeamLimits, space: str, room: Room
    ) -> None:
        self.space, self.limits, self.policy = space, limits, lowered.spec.policy
        name = lowered.kernel.name
        most = min(room.threads, self.policy.launch_bounds or room.threads)
        self.width = dialect.lanes.count
        self.size, self.lanes = room.sizes or default_sizes(lowered, self.width, most)
        if self.size * (self.lanes if self.width > 1 else 1) > most:
            raise PolicyError(
                f"Kernel '{name}': team_size={self.size} and vector_length={self.lanes}; this "
                f"device launches the kernel with at most {most} threads in a block. Give a "
                f"smaller team_size, or team_size='auto'."
            )
        chunk = 1 if room.single or lowered.spec.pattern == "scan" else self.policy.chunk_size
        parts = bool(dialect.lanes.barrier)
        shape = shape_of(self.size, self.lanes, chunk, self.width, parts, most)
        reporter = Reporter(name)
        try:
            self.device: DeviceTeam = device_team(lowered, shape)
        except Fault as fault:
            reporter.add(fault)
            reporter.check()
        self.original, self.lowered = lowered, self.device.lowered
        self.room = Room(most, room.single, room.sizes)

    @property
    def group(self) -> int:
        """Threads of a group."""
        return self.device.shape.group

    @cached_property
    def with_smaller_teams(self) -> Room | None:
        """Limits with which a team has more scratch memory, or needs less; None if the policy sets
        all sizes."""
        if not self.device.uses(0):
            return None
        if self.device.shape.side_by_side > 1 and not self.policy.chunk_size:
            return Room(self.room.threads, True, self.room.sizes)
        if not self.policy.team_size and self.size > 1:
            single = not self.policy.chunk_size
            return Room(self.room.threads, single, (self.size // 2, self.lanes))
        return None

    @cached_property
    def ranges(self) -> RangeLengths | None:
        """What sizes of teams in a launch depend on; None if they are settled."""
        settled = self.room.single or self.room.sizes is not None
        return None if settled else range_lengths(self.original)

    def room_for(self, lengths: tuple[int, int], resident: int, most: int) -> Room:
        """Limits with sizes for a launch; see `RangeLengths.sizes`."""
        assert self.ranges is not None
        most = min(most, self.room.threads)
        sizes = self.ranges.sizes(lengths, (self.size, self.lanes), resident, self.width, most)
        return Room(self.room.threads, sizes=sizes)

    def sizes(self, threads: int) -> TeamSizes:
        """The sizes chosen; a group may have so many threads."""
        shape = self.device.shape
        most = threads // shape.lanes if self.policy.vector_length else threads
        return TeamSizes(self.size, self.lanes, shape.chunk, max(1, most))

    def scratch(self, group_memory: int) -> Sizes | None:
        """The check of a launch's scratch memory; None if it has none.

        `group_memory` are bytes of a group that are not for scratch memory.
        """
        if not self.device.layout:
            return None
        shared, outer = self.limits.scratch
        room = (shared - group_memory) // self.device.shape.side_by_side
        return self.device.sizes(self.space, (room, outer))


class WholeTeams:
    """Teams that each run on one work-item.

    Attributes
    ----------
    lowered : Lowered
        The input of the printer.
    pools : tuple of Var
        Pointers to scratch memory.
    """

    device: DeviceTeam | None = None
    group = 1
    with_smaller_teams: Room | None = None
    ranges: RangeLengths | None = None

    def __init__(self, lowered: Lowered, space: str) -> None:
        self.space, self.policy = space, lowered.spec.policy
        self.size, self.lanes = self.policy.team_size or 1, self.policy.vector_length or 1
        reporter = Reporter(lowered.kernel.name)
        try:
            self.host: HostTeam = host_team(lowered, self.size, self.lanes)
        except Fault as fault:
            reporter.add(fault)
            reporter.check()
        self.lowered = self.host.lowered
        self.pools: tuple[Var, ...] = (POOL,) if self.host.layout else ()

    def sizes(self, threads: int) -> TeamSizes:
        """The sizes chosen."""
        chunk = self.policy.chunk_size or 1
        return TeamSizes(self.size, self.lanes, chunk, HOST_TEAMS.team_size_max)

    def scratch(self, group_memory: int) -> ScratchSizes | None:
        """The check of a launch's scratch memory; None if it has none."""
        if not self.host.layout:
            return None
        sizes = self.host.sizes(self.space)
        return lambda league, args: (sum(sizes(league, args)), 0)


Teams = WorkItemTeams | WholeTeams

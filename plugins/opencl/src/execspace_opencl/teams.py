"""Teams on an OpenCL device: how they lie in groups of work-items, and the memory that they get.

On a device that is a CPU each work-item does whole teams, one after the other; elsewhere members
of a team are work-items of a group.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyopencl as cl

from execspace import PolicyError, TeamLimits, TeamSizes
from execspace_compiler.codegen.cfamily.dialect import Dialect
from execspace_compiler.ir import Var
from execspace_compiler.ir.diagnostics import Fault, Reporter
from execspace_compiler.teams.device import DeviceTeam, device_team, shape_of, usual_sizes
from execspace_compiler.teams.host_teams import HOST_TEAMS, HostTeam, host_team
from execspace_compiler.teams.scratch import Sizes
from execspace_compiler.teams.single_thread import POOL
from execspace_compiler.typing.lowered import Lowered

from .memory import Buffer
from .space import OpenCL

_POOL = 1 << 26  # bytes of scratch memory of a team at level 1


def limits_of(space: OpenCL, dialect: Dialect) -> TeamLimits:
    """What teams may have on a space."""
    if not space.flat:
        return HOST_TEAMS
    most = int(space.device.max_work_group_size)
    scratch = (int(space.device.local_mem_size), _POOL)
    if dialect.lanes > 1:
        return TeamLimits(most, dialect.lanes, most, scratch)
    lanes = HOST_TEAMS.vector_length_max  # which a thread does one after the other
    return TeamLimits(most, lanes, most * lanes, scratch)


class LocalMemory(cl.LocalMemory):  # type: ignore[misc]
    """Memory of a group; of a class of our own there are weak references."""


class Teams:
    """The teams of a launch.

    Attributes
    ----------
    lowered : Lowered
        What is printed.
    device : DeviceTeam or None
        Where members are work-items.
    pools : tuple of Var
        Where work-items do whole teams, of scratch memory.
    """

    def __init__(self, space: OpenCL, lowered: Lowered, dialect: Dialect, most: int) -> None:
        self.space, self.policy = space, lowered.spec.policy
        self.name = lowered.kernel.name
        self.device: DeviceTeam | None = None
        self.pools: tuple[Var, ...] = ()
        self.host: HostTeam | None = None
        self.most = most
        reporter = Reporter(self.name)
        try:
            if space.flat:
                self._on_device(lowered, dialect)
            else:
                size, lanes = self.policy.team_size or 1, self.policy.vector_length or 1
                self.host = host_team(lowered, size, lanes)
                self.sizes = (size, lanes)
        except Fault as fault:
            reporter.add(fault)
            reporter.check()
        if self.host is not None:
            self.lowered = self.host.lowered
            self.pools = (POOL,) if self.host.layout else ()
        self._local: dict[int, LocalMemory] = {}
        self._pool: Any = None

    def _on_device(self, lowered: Lowered, dialect: Dialect) -> None:
        policy = self.policy
        most = min(self.most, policy.launch_bounds or self.most)
        self.sizes = size, lanes = usual_sizes(lowered, dialect.lanes, most)
        if size * (lanes if dialect.lanes > 1 else 1) > most:
            raise PolicyError(
                f"Kernel '{self.name}': team_size={size} and vector_length={lanes}; this device "
                f"launches the kernel with at most {most} work-items in a group. Give a smaller "
                f"team_size, or team_size='auto'."
            )
        chunk = 1 if lowered.spec.pattern == "scan" else policy.chunk_size
        parts = bool(dialect.part_barrier)
        shape = shape_of(size, lanes, chunk, dialect.lanes, parts, most)
        self.device = device_team(lowered, shape)
        self.lowered = self.device.lowered

    @property
    def roomier(self) -> int | None:
        """Work-items of a group whose teams need less scratch memory; None where the policy says
        how large teams are."""
        size, _ = self.sizes
        if self.device is None or not self.device.uses(0) or self.policy.team_size or size == 1:
            return None
        return self.device.shape.items // 2

    def team_sizes(self, most: int) -> TeamSizes:
        """What was chosen; `most` work-items have room in a group."""
        size, lanes = self.sizes
        chunk = self.policy.chunk_size or 1
        if self.device is None:
            return TeamSizes(size, lanes, chunk, HOST_TEAMS.team_size_max)
        return TeamSizes(
            size, lanes, self.device.shape.chunk, max(1, most // self.device.shape.lanes)
        )

    def check(self, group_memory: int) -> Callable[[int, tuple[Any, ...]], tuple[int, int]] | None:
        """What finds the scratch memory of a launch; None where there is none."""
        name = self.space.name
        if self.host is not None:
            sizes = self.host.sizes(name)
            if not sizes.layout:
                return None
            return lambda league, args: (sum(sizes(league, args)), 0)
        assert self.device is not None
        if not self.device.layout:
            return None
        local, outer = self.space.team_limits().scratch
        found: Sizes = self.device.sizes(name, (local - group_memory, outer))
        return found

    def memory(self, first: int, second: int, items: int) -> tuple[Any, ...]:
        """Arguments of the kernels for so many bytes of a team and so many work-items."""
        if self.device is None:
            return (self._outer(first * items),) if self.pools else ()
        shape = self.device.shape
        found: list[Any] = []
        if self.device.uses(0):
            nbytes = max(first * shape.side_by_side, 16)
            if nbytes not in self._local:
                self._local[nbytes] = LocalMemory(nbytes)
            found.append(self._local[nbytes])
        if self.device.uses(1):
            found.append(self._outer(second * (items // shape.group) * shape.side_by_side))
        return tuple(found)

    def _outer(self, nbytes: int) -> Any:
        """Memory of the device that launches of this queue use one after the other."""
        if self._pool is None or self._pool.size < nbytes:
            flags = cl.mem_flags.READ_WRITE
            self._pool = Buffer(self.space.context, flags, max(nbytes, 16))
        return self._pool

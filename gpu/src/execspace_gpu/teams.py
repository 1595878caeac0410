"""Teams on a GPU: how they lie in blocks of threads, and the memory that they get."""

from __future__ import annotations

from execspace import PolicyError, TeamSizes
from execspace_compiler.codegen.cfamily.dialect import Dialect
from execspace_compiler.ir.diagnostics import Fault, Reporter
from execspace_compiler.teams.device import DeviceTeam, device_team, shape_of, usual_sizes
from execspace_compiler.teams.scratch import Sizes
from execspace_compiler.typing.lowered import Lowered


class Teams:
    """The teams of a launch.

    Attributes
    ----------
    lowered : Lowered
        What is printed.
    device : DeviceTeam
    """

    def __init__(
        self, lowered: Lowered, dialect: Dialect, space: str, scratch: tuple[int, int], most: int,
        alone: bool = False,
    ) -> None:  # fmt: skip
        self.space, self.scratch, self.policy = space, scratch, lowered.spec.policy
        name = lowered.kernel.name
        most = min(most, self.policy.launch_bounds or most)
        self.size, self.lanes = usual_sizes(lowered, dialect.lanes, most)
        if self.size * self.lanes > most:
            raise PolicyError(
                f"Kernel '{name}': team_size={self.size} and vector_length={self.lanes}; this "
                f"device launches the kernel with at most {most} threads in a block. Give a "
                f"smaller team_size, or team_size='auto'."
            )
        chunk = 1 if alone or lowered.spec.pattern == "scan" else self.policy.chunk_size
        parts = bool(dialect.part_barrier)
        shape = shape_of(self.size, self.lanes, chunk, dialect.lanes, parts, most)
        reporter = Reporter(name)
        try:
            self.device: DeviceTeam = device_team(lowered, shape)
        except Fault as fault:
            reporter.add(fault)
            reporter.check()
        self.lowered = self.device.lowered
        self.most, self.alone = most, alone

    @property
    def roomier(self) -> tuple[int, bool] | None:
        """Threads of a block, and whether it has but one team, that leave more scratch memory to a
        team, or need less; None where the policy leaves nothing open."""
        if not self.device.uses(0):
            return None
        if self.device.shape.side_by_side > 1 and not self.policy.chunk_size:
            return self.most, True
        if not self.policy.team_size and self.size > 1:
            return self.size * self.lanes // 2, True
        return None

    def team_sizes(self, most: int) -> TeamSizes:
        """What was chosen; a block may have `most` threads."""
        return TeamSizes(self.size, self.lanes, self.device.shape.chunk, max(1, most // self.lanes))

    def check(self, group_memory: int) -> Sizes | None:
        """What finds the scratch memory of a launch; None where there is none."""
        if not self.device.layout:
            return None
        shared, outer = self.scratch
        room = (shared - group_memory) // self.device.shape.side_by_side
        return self.device.sizes(self.space, (room, outer))

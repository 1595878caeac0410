"""What tuning tries on devices whose threads form blocks."""

from __future__ import annotations

from execspace import TeamLimits
from execspace.tuning import Stage, block_stages, extents_of, team_stages

from .mapping import index_order
from .pipeline import Lowered

_MOST_CHUNKS = 16  # teams that a block does in a row


def device_stages(
    lowered: Lowered, bounds: tuple[int, ...], most: int, limits: TeamLimits
) -> list[Stage]:
    """Stages for a launch with these bounds; `most` threads are in a block at most."""
    spec = lowered.spec
    if spec.policy.kind == "team":
        return team_stages(limits, spec.policy, _MOST_CHUNKS)
    fastest = index_order(lowered.body, spec)[-1]
    order = "right" if fastest == spec.policy.rank - 1 else "left"
    return block_stages(spec.pattern, spec.policy, extents_of(spec.policy, bounds), order, most)

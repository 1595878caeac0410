"""What tuning tries on devices whose threads form blocks."""

from __future__ import annotations

from typing import Any

from execspace import TeamLimits
from execspace.tuning import Stage, block_stages, extents_of, team_size_to_keep, team_stages

from ..analysis.effects import effects_of
from ..typing.lowered import Lowered
from .loops import index_order

_MOST_CHUNKS = 16  # teams that a block does in a row


def device_stages(plan: Any, bounds: tuple[int, ...], most: int, limits: TeamLimits) -> list[Stage]:
    """Stages for a launch of a plan with these bounds; `most` threads are in a block at most."""
    lowered: Lowered = plan.lowered
    spec = lowered.spec
    if spec.policy.kind == "team":
        keep = team_size_to_keep(plan, effects_of(lowered))
        return team_stages(limits, spec.policy, _MOST_CHUNKS, keep=keep)
    fastest = index_order(lowered.body, spec)[-1]
    order = "right" if fastest == spec.policy.rank - 1 else "left"
    return block_stages(spec.pattern, spec.policy, extents_of(spec.policy, bounds), order, most)

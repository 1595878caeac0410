"""Tuning candidates for devices with thread blocks."""

from __future__ import annotations

from typing import Any

from execspace import TeamLimits
from execspace.tuning import (
    CandidateGenerator,
    block_candidates,
    extents_of,
    team_candidates,
    team_size_to_keep,
)

from ..analysis.effects import effects_of
from ..typing.lowered import Lowered
from .loops import index_order

_MOST_CHUNKS = 16  # teams that a block runs sequentially


def device_candidates(
    plan: Any, bounds: tuple[int, ...], most: int, limits: TeamLimits
) -> list[CandidateGenerator]:
    """Generators of candidates for a launch with these bounds; blocks have up to `most` threads."""
    lowered: Lowered = plan.lowered
    spec = lowered.spec
    if spec.policy.kind == "team":
        keep = team_size_to_keep(plan, effects_of(lowered))
        return team_candidates(limits, spec.policy, _MOST_CHUNKS, keep=keep)
    fastest = index_order(lowered.body, spec)[-1]
    order = "right" if fastest == spec.policy.rank - 1 else "left"
    return block_candidates(spec.pattern, spec.policy, extents_of(spec.policy, bounds), order, most)

"""Tuning candidates for devices, whether their threads form blocks or do parts of a range."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from execspace.tuning import (
    CandidateGenerator,
    block_candidates,
    extents_of,
    host_candidates,
    team_candidates,
    team_size_to_keep,
)

from ..analysis.effects import effects_of
from ..typing.lowered import Lowered
from .loops import index_order

_MOST_CHUNKS = 16  # teams that a block runs sequentially


def device_candidates(plan: Any, bounds: tuple[int, ...]) -> list[CandidateGenerator]:
    """Generators of candidates for a launch of a `DevicePlan` with these bounds.

    Those of hosts where the mapping is not flat.
    """
    traits = plan.device_launch.traits
    if not traits.flat:
        return host_candidates(plan.space, plan, bounds)
    lowered: Lowered = plan.lowered
    spec = lowered.spec
    if spec.policy.kind == "team":
        keep = team_size_to_keep(plan, effects_of(lowered))
        # Lanes that a thread does one after the other need no measurement.
        limits = replace(traits.team_limits(), vector_length_max=traits.dialect.lanes.count)
        return team_candidates(limits, spec.policy, _MOST_CHUNKS, keep=keep)
    fastest = index_order(lowered.body, spec)[-1]
    order = "right" if fastest == spec.policy.rank - 1 else "left"
    extents = extents_of(spec.policy, bounds)
    # Larger tiles would be done in parts, as if smaller ones were given.
    launch = plan.device_launch
    most = min(launch.sources.most, launch.usual.most_threads)
    return block_candidates(spec.pattern, spec.policy, extents, order, most)

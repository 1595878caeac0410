"""Launches with events around them, where a tool is attached."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..contract.space import Plan
from ..events import dispatch, timing
from ..events.launches import AT_ONCE, queue_number
from ..policies.range import MDRangePolicy, RangePolicy
from ..policies.team import TeamPolicy


def run_kernel(
    pattern: str,
    name: str,
    label: str | None,
    policy: Any,
    plan: Plan,
    bounds: tuple[int, ...],
    args: tuple[Any, ...],
) -> Any:
    """Launch a plan and tell the tools of it; `policy` is what the user gave."""
    plan.ready(bounds, args)  # what it does once is not a part of the launch
    id, space, policy = dispatch.new_id(), plan.space, _shown_policy(policy, bounds)
    work = partial(plan.work, bounds, args)
    dispatch.emit(
        "on_kernel_begin", pattern, name, label or name, space.name, queue_number(space), policy,
        id, work,
    )  # fmt: skip
    running = timing.begin(space) if dispatch.TIMED else None
    try:
        return plan.launch_as(label or name, bounds, args)
    finally:
        if running is not None:
            timing.end(running, id)
        dispatch.emit("on_kernel_end", id)
        timing.collect(AT_ONCE)


def _shown_policy(policy: Any, bounds: tuple[int, ...]) -> Any:
    """The policy of a launch as tools see it: that of the user, who may have given a number."""
    if isinstance(policy, RangePolicy | MDRangePolicy | TeamPolicy):
        return policy
    return RangePolicy(bounds[0], bounds[1])

"""What all policies check of their arguments, and how they are shown."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from math import prod
from typing import Any

from ..base.brief import brief
from ..base.errors import PolicyError, shown
from ..contract.space import ExecutionSpace

STATIC, DYNAMIC = SCHEDULES = ("static", "dynamic")
LEFT_OUT: Any = ...  # the default of a bound, for which None is a mistake
LEAST, MOST = 1 - 2**63, 2**63 - 1  # what kernels count in


def as_integer(value: Any, what: str, expected: str = "an integer") -> int:
    """An integer of 64 bits; PolicyError for all else, also for a bool, which is a slip."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        raise PolicyError(f"{what} must be {expected}, got {brief(value)}.")
    if not LEAST <= number <= MOST:
        raise PolicyError(f"{what} is {shown(number)}; expected an integer from {LEAST} to {MOST}.")
    return number


def checked_count(who: str, extents: Iterable[int]) -> None:
    """Raise PolicyError for a range of more indices than 64 bits can count."""
    count = prod(extents)
    if count > MOST:
        raise PolicyError(
            f"{who} has {shown(count)} indices, and kernels count in 64 bits, up to {MOST}; "
            f"launch it in parts."
        )


def as_integers(values: Any, what: str) -> tuple[int, ...]:
    """Integers of an MDRangePolicy."""
    try:
        parts = list(values)
    except TypeError:
        raise PolicyError(
            f"MDRangePolicy: {brief(values)} is not a sequence; expected {what}, an integer, for "
            f"each dimension, for example MDRangePolicy((n, m))."
        ) from None
    return tuple(as_integer(v, f"MDRangePolicy: {what}") for v in parts)


def checked_launch_bounds(value: Any, who: str) -> int:
    """Threads that a block has at most, 0 for None."""
    if value is None:
        return 0
    bounds = as_integer(value, f"{who}: launch_bounds")
    if bounds < 1:
        raise PolicyError(f"{who}: launch_bounds={bounds}; expected at least one thread.")
    return bounds


def is_dynamic(schedule: Any, who: str) -> bool:
    """Whether a schedule is the dynamic one; PolicyError for what is none."""
    if not isinstance(schedule, str) or schedule not in SCHEDULES:
        raise PolicyError(f"{who}: schedule={brief(schedule)}; expected one of {SCHEDULES}.")
    return schedule == DYNAMIC


def on_space(space: ExecutionSpace | None) -> str:
    """The space of a policy in its repr."""
    return "" if space is None else f", space={space.name!r}"

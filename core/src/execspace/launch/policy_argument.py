"""What stands where a launch takes its policy: a policy, a number of indices, or a mistake."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..base.brief import brief
from ..base.errors import PolicyError, shown
from ..contract.launch_spec import policy_spec
from ..kernels.captures import is_array, scope_of
from ..policies.checks import MOST
from ..policies.range import MDRangePolicy, RangePolicy
from ..policies.team import TeamPolicy
from ..views.view import View

INT_KEY = (policy_spec("range", 1), None)


def policy_of(policy: Any, pattern: str) -> tuple[Any, tuple[int, ...]]:
    """Key and bounds of a policy, or of a number of indices."""
    if type(policy) is int:
        if not 0 <= policy <= MOST:
            raise wrong_count(f"parallel_{pattern}", policy)
        return INT_KEY, (0, policy)
    if type(policy) in (RangePolicy, MDRangePolicy, TeamPolicy):
        return policy.key, policy.bounds
    try:
        if isinstance(policy, bool):
            raise TypeError
        n = operator.index(policy)
    except TypeError:
        raise PolicyError(
            f"{_short_repr(policy)} is not a policy; expected an integer, es.RangePolicy, "
            f"es.MDRangePolicy or es.TeamPolicy.{_hint(policy)}"
        ) from None
    p = RangePolicy(n)
    return p.key, p.bounds


def _short_repr(value: Any) -> str:
    text = brief(value)
    return text if len(text) <= 80 else f"an object of type {type(value).__name__!r}"


def _hint(given: Any) -> str:
    """What somebody may have meant who gave this for a policy, as a sentence."""
    if isinstance(given, range):
        if given.step == 1:
            first, last = given.start, given.stop
            return f" Write {f'es.RangePolicy({first}, {last})' if first else last}."
        return (
            f" Policies have no step; write {len(given)}, and compute "
            f"{given.start} + {given.step} * i in the kernel."
        )
    if isinstance(given, tuple | list) and 1 <= len(given) <= 6:
        if all(isinstance(n, int | np.integer) for n in given):
            extents = ", ".join(map(str, given)) + ("," if len(given) == 1 else "")
            return f" Write es.MDRangePolicy(({extents}))."
    if isinstance(given, View) or is_array(given):
        return " Give the number of indices, such as A.shape[0], and the array as an argument."
    if scope_of(given) is not None:
        return " The policy comes first, then the kernel."
    return ""


def wrong_count(what: str, count: int) -> PolicyError:
    """What is wrong with a number of indices."""
    if count < 0:
        return PolicyError(f"{what} over {shown(count)} indices; expected 0 or more.")
    return PolicyError(
        f"{what} over {shown(count)} indices, and kernels count in 64 bits, up to {MOST}; launch "
        f"it in parts."
    )

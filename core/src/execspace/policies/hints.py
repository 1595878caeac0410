"""Options of policies that change how fast a launch is and no result: occupancy, work items.

A space is given those that it heeds; of the others `told` says that they do nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..base.brief import brief
from ..base.errors import PolicyError
from ..contract.launch_spec import PolicySpec, with_options
from ..contract.records import Capabilities
from ..contract.space import ExecutionSpace
from .checks import DYNAMIC, STATIC, as_integer, is_dynamic

WEIGHTS = ("light", "heavy")
REGULARITY = ("regular", "irregular")
WORK_ITEMS = (*WEIGHTS, *REGULARITY)
WorkItems = str | tuple[str, ...] | None


class Hints(NamedTuple):
    """What a policy says of its calls, and the schedule that it names, if it does."""

    words: tuple[str, ...]
    schedule: str | None

    @property
    def dynamic(self) -> bool:
        """Whether threads take parts one after another."""
        if self.schedule is None:
            return "irregular" in self.words
        return self.schedule == DYNAMIC

    @property
    def spec(self) -> str:
        """As in `PolicySpec.work_items` before `heeded`: "irregular" where the schedule is due to
        it."""
        settled = self.schedule is not None
        return " ".join(w for w in self.words if not (settled and w == "irregular"))


NO_HINTS = Hints((), None)


def as_occupancy(value: Any, who: str) -> int:
    """Percent, 0 for None; PolicyError for what is none."""
    if value is None:
        return 0
    percent = as_integer(value, f"{who}: occupancy")
    if isinstance(value, bool) or not 1 <= percent <= 100:
        raise PolicyError(
            f"{who}: occupancy={brief(value)}; expected percent, an integer from 1 to 100, or None "
            f"for as much as fits."
        )
    return percent


def as_hints(work_items: Any, schedule: Any, who: str) -> Hints:
    """What a policy says of its calls; PolicyError for what it cannot say."""
    if schedule is not None:
        schedule = DYNAMIC if is_dynamic(schedule, who) else STATIC
    if work_items is None:
        return NO_HINTS if schedule is None else Hints((), schedule)
    words = (work_items,) if isinstance(work_items, str) else work_items
    known = isinstance(words, tuple | list) and all(
        isinstance(w, str) and w in WORK_ITEMS for w in words
    )
    if not known or not words or any(len(set(words) & set(k)) > 1 for k in (WEIGHTS, REGULARITY)):
        raise PolicyError(
            f"{who}: work_items={brief(work_items)}; expected one of {WORK_ITEMS}, or a pair of "
            f"one of {WEIGHTS} and one of {REGULARITY}."
        )
    return Hints(tuple(w for w in WORK_ITEMS if w in words), schedule)


def shown(hints: Hints) -> WorkItems:
    """The option `work_items` that gives the same hints."""
    return hints.words[0] if len(hints.words) == 1 else hints.words or None


def heeded(spec: PolicySpec, pattern: str, space: Capabilities) -> PolicySpec:
    """A policy as a space gets it: without what it takes no notice of."""
    dynamic = spec.dynamic and space.dynamic_schedules and pattern != "scan"
    weighs = "work_items" in space.hints and pattern == "for" and spec.kind != "team"
    weight = next((w for w in WEIGHTS if weighs and w in spec.work_items.split()), "")
    chunk = spec.chunk_size if spec.kind == "team" or dynamic == spec.dynamic else 0
    occupancy = spec.occupancy if "occupancy" in space.hints else 0
    return with_options(
        spec, dynamic=dynamic, chunk_size=chunk, occupancy=occupancy, work_items=weight
    )


def told(policy: Any, got: PolicySpec, pattern: str, space: ExecutionSpace) -> list[str]:
    """Lines on what a policy hints and its space, which got the other one, does not heed; and on
    the schedule that follows from it."""
    nothing = f"space '{space.name}' takes no notice"
    wanted, hints = policy.key[0], policy._hinted
    lines = []
    if wanted.occupancy and not got.occupancy:
        lines.append(f"occupancy={wanted.occupancy}: {nothing}")
    if hints.schedule == DYNAMIC and not got.dynamic:
        lines.append(f"schedule='dynamic': {nothing}")
    for word in hints.words:
        why = _why_not(word, wanted, hints, got, pattern)
        if word in WEIGHTS and "work_items" not in space.capabilities.hints:
            why = nothing
        if why != HEEDED:
            lines.append(f"work_items='{word}': {why or nothing}")
    return lines


HEEDED = "heeded"


def _why_not(word: str, wanted: PolicySpec, hints: Hints, got: PolicySpec, pattern: str) -> str:
    """What a word comes to; empty if the space does nothing."""
    if word in WEIGHTS:
        if wanted.kind == "team":
            return "no effect on teams, whose blocks follow from their sizes"
        return HEEDED if pattern == "for" else f"no effect on a parallel_{pattern}"
    if word == "regular":
        return "as without it"
    if hints.schedule is not None:
        return f"no effect, for the policy has schedule='{hints.schedule}'"
    if pattern == "scan":
        return "no effect on a scan, which is static"
    return "schedule='dynamic', for the policy names none" if got.dynamic else ""

"""A launch that can be repeated with other choices, leaving its Views as they were."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from ..base.dataclass import dataclass
from ..contract.launch_spec import LaunchSpec, PolicySpec
from ..contract.records import Choice
from ..contract.space import ExecutionSpace, Plan
from ..events.timing import has_marks
from ..kernels.kernel import Kernel
from ..launch.locked import compiled_by
from ..policies.team import check_teams
from ..views.deep_copy import deep_copy, may_overlap
from ..views.view import View
from .choices import applied


class Plans:
    """The plan of a kernel and those for other options of its policy, each compiled once.

    Attributes
    ----------
    default : Plan
    kernel, spec
        What the default was made of.
    """

    def __init__(self, default: Plan, kernel: Kernel, spec: LaunchSpec) -> None:
        self.default, self.kernel, self.spec = default, kernel, spec
        self._made: dict[PolicySpec, Plan] = {spec.policy: default}

    def of(self, choice: Choice, bounds: tuple[int, ...]) -> tuple[Plan, tuple[int, ...]]:
        """The plan of a choice, and the bounds that it is launched with."""
        policy, with_choice = applied(self.spec.policy, bounds, choice)
        plan = self._made.get(policy)
        if plan is None:
            spec = replace(self.spec, policy=policy)
            if policy.kind == "team":
                check_teams(self.kernel.name, spec, self.default.space)
            plan = self._made[policy] = compiled_by(self.default.space, self.kernel, spec)
        return plan, with_choice


@dataclass(frozen=True)
class Launch:
    """A launch that can be repeated with other choices.

    Attributes
    ----------
    plans : Plans
    bounds : tuple of int
    arguments : tuple
        All of them: explicit, captured Views, Views of ``out=``.
    """

    plans: Plans
    bounds: tuple[int, ...]
    arguments: tuple[Any, ...]

    @property
    def space(self) -> ExecutionSpace:
        """The space that it runs on."""
        return self.plans.default.space

    @property
    def policy(self) -> PolicySpec:
        """The policy as the user gave it."""
        return self.plans.spec.policy

    def time(self, choice: Choice) -> float:
        """Seconds of one launch: those of the device where it tells, else of the call. Blocks."""
        plan, bounds = self.plans.of(choice, self.bounds)
        space: Any = self.space
        kind: type[ExecutionSpace] = type(space)
        if not has_marks(kind):
            before = time.perf_counter()
            plan.launch(bounds, self.arguments)
            if space.capabilities.asynchronous:
                space.fence("tuning")
            return time.perf_counter() - before
        first = space.mark()
        plan.launch(bounds, self.arguments)
        last = space.mark()
        space.fence("tuning")
        return float(space.time_of(last) - space.time_of(first))


class Saved:
    """Copies of the Views that a launch writes, so that every repetition sees the same numbers.

    Attributes
    ----------
    changes : bool
        A repetition would see other numbers, so Views are put back before each of them.

    Raises
    ------
    MemoryError
        If there is no memory for the copies.
    """

    def __init__(self, launch: Launch) -> None:
        effects = launch.plans.default.effects
        views = {n: a for n, a in enumerate(launch.arguments) if isinstance(a, View)}
        written = [v for n, v in views.items() if effects is None or n in effects.written]
        read = [v for n, v in views.items() if effects is None or n in effects.read]
        own = launch.space.memory_spaces
        self._copies: list[tuple[View, View]] = []
        self.changes = False
        for v in written:
            if v.is_readonly or not v.size or any(v is other for other, _ in self._copies):
                continue
            self.changes |= any(v is r or may_overlap(v, r) for r in read)
            memory = v.memory_space if v.memory_space in own else launch.space.memory_space
            copy = View(
                v.shape, v.dtype, label=f"{v.label} before tuning", memory=memory,
                layout=v.layout if v.layout in ("left", "right") else None, initialize=False,
            )  # fmt: skip
            deep_copy(copy, v)
            self._copies.append((v, copy))

    def before_launch(self) -> None:
        """Put back what the last launch has changed and the next one reads. Blocks."""
        if self.changes:
            self.restore()

    def restore(self) -> None:
        """Make all Views what they were. Blocks."""
        for view, copy in self._copies:
            deep_copy(view, copy)

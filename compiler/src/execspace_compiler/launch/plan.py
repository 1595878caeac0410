"""What plans tell `explain`, profiling tools and tuning from their kernel alone, on any device."""

from __future__ import annotations

from typing import Any

from execspace import Effects, Plan, Work

from ..analysis.effects import effects_of
from ..analysis.work import work_of
from ..typing.lowered import Lowered
from .variables import variables_of


class DescribedPlan(Plan):
    """A plan that has its kernel as `lowered`, which says what a launch does."""

    lowered: Lowered

    @property
    def effects(self) -> Effects:
        """Which Views it reads and writes, and whether it prints."""
        return effects_of(self.lowered)

    @property
    def variables(self) -> dict[str, str]:
        """Types of all variables."""
        return variables_of(self.lowered)

    def work(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> Work:
        """What a launch asks for, counted from its kernel."""
        teams = self.lowered.spec.policy.kind == "team"
        return work_of(self.lowered, bounds, args, self.team_sizes().team_size if teams else 0)

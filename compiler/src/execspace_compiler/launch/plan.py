"""What plans tell `explain`, profiling tools and tuning from their kernel alone, on any device."""

from __future__ import annotations

from typing import Any

from execspace import Effects, Work

from ..analysis.effects import effects_of
from ..analysis.work import work_of
from ..typing.lowered import Lowered
from .variables import variables_of


class TellsOfKernel:
    """Part of a plan that has its kernel as `lowered`, and of teams their `team_sizes`."""

    @property
    def effects(self) -> Effects:
        """Which Views it reads and writes, and whether it prints."""
        return effects_of(self._kernel)

    @property
    def variables(self) -> dict[str, str]:
        """Types of all variables."""
        return variables_of(self._kernel)

    def work(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> Work:
        """What a launch asks for, counted from its kernel."""
        plan: Any = self
        teams = self._kernel.spec.policy.kind == "team"
        return work_of(self._kernel, bounds, args, plan.team_sizes().team_size if teams else 0)

    @property
    def _kernel(self) -> Lowered:
        plan: Any = self
        found: Lowered = plan.lowered
        return found

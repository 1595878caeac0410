"""Properties of plans for `explain`, profiling tools and tuning that depend on the kernel alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from execspace import Effects, Plan, Work

if TYPE_CHECKING:
    from ..typing.lowered import Lowered

# Launches need none of this, so analyses are loaded when somebody asks.


class DescribedPlan(Plan):
    """A plan with its kernel as `lowered`, from which properties of launches follow."""

    lowered: Lowered

    @property
    def effects(self) -> Effects:
        """The Views that it reads and writes, and whether it prints."""
        from ..analysis.effects import effects_of

        return effects_of(self.lowered)

    @property
    def subscripts(self) -> Mapping[int, tuple[int | None, ...]] | None:
        """How its calls address Views."""
        from ..analysis.subscripts import subscripts_of

        return subscripts_of(self.lowered)

    @property
    def variables(self) -> dict[str, str]:
        """Types of all variables."""
        from .variables import variables_of

        return variables_of(self.lowered)

    def work(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> Work:
        """The work of a launch, counted from its kernel."""
        from ..analysis.work import work_of

        teams = self.lowered.spec.policy.kind == "team"
        return work_of(self.lowered, bounds, args, self.team_sizes().team_size if teams else 0)

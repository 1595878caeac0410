"""Plans that stand around another one: what they do not define is that plan's."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..contract.records import Effects, TeamSizes
from ..contract.space import Plan

if TYPE_CHECKING:
    from ..events.work import Work


class PlanAround(Plan):
    """All but the launch is the inner plan's; derive from it and define `launch` and `launch_as`.

    Attributes
    ----------
    inner : Plan
    """

    def __init__(self, inner: Plan) -> None:
        self.inner, self.space, self.spec = inner, inner.space, inner.spec

    def ready(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> None:
        """As `Plan.ready`."""
        self.inner.ready(bounds, args)

    def chosen(
        self, bounds: tuple[int, ...], args: tuple[Any, ...]
    ) -> tuple[Plan, tuple[int, ...], str]:
        """As `Plan.chosen`."""
        return self.inner.chosen(bounds, args)

    @property
    def effects(self) -> Effects | None:
        """As `Plan.effects`."""
        return self.inner.effects

    @property
    def order(self) -> tuple[int, ...]:
        """As `Plan.order`."""
        return self.inner.order

    def work(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> Work | None:
        """As `Plan.work`."""
        return self.inner.work(bounds, args)

    def team_sizes(self) -> TeamSizes:
        """As `Plan.team_sizes`."""
        return self.inner.team_sizes()

    def team_size_max(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> int:
        """As `Plan.team_size_max`."""
        return self.inner.team_size_max(bounds, args)

    def scratch_size(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> tuple[int, int]:
        """As `Plan.scratch_size`."""
        return self.inner.scratch_size(bounds, args)

    def team_size_recommended(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> int:
        """As `Plan.team_size_recommended`."""
        return self.inner.team_size_recommended(bounds, args)

    @property
    def source(self) -> str:
        """As `Plan.source`."""
        return self.inner.source

    def mapping(self, bounds: tuple[int, ...]) -> Sequence[str]:
        """As `Plan.mapping`."""
        return self.inner.mapping(bounds)

    @property
    def variables(self) -> Mapping[str, str]:
        """As `Plan.variables`."""
        return self.inner.variables

    @property
    def resource_usage(self) -> Mapping[str, Mapping[str, int]]:
        """As `Plan.resource_usage`."""
        return self.inner.resource_usage

    @property
    def vectorisation(self) -> Sequence[str]:
        """As `Plan.vectorisation`."""
        return self.inner.vectorisation

    @property
    def optimised(self) -> str:
        """As `Plan.optimised`."""
        return self.inner.optimised

    @property
    def assembly(self) -> str:
        """As `Plan.assembly`."""
        return self.inner.assembly

    @property
    def cache(self) -> tuple[str, str]:
        """As `Plan.cache`."""
        return self.inner.cache

    @property
    def kept(self) -> bool | None:
        """As `Plan.kept`."""
        return self.inner.kept


class PlanWithArguments(PlanAround):
    """Around a plan that takes other arguments: derive from it and define how they are put
    together, `launch` and `launch_as`."""

    @abstractmethod
    def given(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments of the inner plan."""

    @abstractmethod
    def number(self, inner: int) -> int | None:
        """Position of an argument of the inner plan among those of the program, if it is one."""

    def ready(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> None:
        """As `Plan.ready`."""
        self.inner.ready(bounds, self.given(args))

    def chosen(
        self, bounds: tuple[int, ...], args: tuple[Any, ...]
    ) -> tuple[Plan, tuple[int, ...], str]:
        """As `Plan.chosen`: this one."""
        return self, bounds, ""

    @property
    def effects(self) -> Effects | None:
        """As `Plan.effects`, by the program's arguments."""
        found = self.inner.effects
        if found is None:
            return None
        read, written = (
            frozenset(k for n in numbers if (k := self.number(n)) is not None)
            for numbers in (found.read, found.written)
        )
        return replace(found, read=read, written=written)

    def work(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> Work | None:
        """As `Plan.work`."""
        return self.inner.work(bounds, self.given(args))

    def team_size_max(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> int:
        """As `Plan.team_size_max`."""
        return self.inner.team_size_max(bounds, self.given(args))

    def scratch_size(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> tuple[int, int]:
        """As `Plan.scratch_size`."""
        return self.inner.scratch_size(bounds, self.given(args))

    def team_size_recommended(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> int:
        """As `Plan.team_size_recommended`."""
        return self.inner.team_size_recommended(bounds, self.given(args))

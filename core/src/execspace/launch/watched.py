"""Plans under EXECSPACE_CHECK=portable: a launch that lacks a fence raises; else it is pending.

Made on the cold path, around the plan of the space; without the check there are none.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from ..base import pending
from ..contract.records import Effects
from ..contract.space import Plan
from ..events.launches import queue_of
from ..views.view import View
from .plan_around import PlanAround


class WatchedPlan(PlanAround):
    """Launches as the plan that it is around, if nothing else may be at work on what it touches."""

    def __init__(self, inner: Plan, name: str) -> None:
        super().__init__(inner)
        self._name = name
        spec = inner.spec
        self._waits = spec.pattern != "for" and not spec.out

    def launch(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        """As `Plan.launch`."""
        with self._pending(self._name, args):
            return self.inner.launch(bounds, args)

    def launch_as(self, label: str, bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        """As `Plan.launch_as`."""
        with self._pending(label, args):
            return self.inner.launch_as(label, bounds, args)

    def _pending(self, name: str, args: tuple[Any, ...]) -> Any:
        touched = [t for n, a in enumerate(args) if type(a) is View and (t := self._touch(n, a))]
        return pending.work(f"kernel '{name}'", queue_of(self.space), touched, waits=self._waits)

    def _touch(self, n: int, view: View) -> pending.Touched | None:
        """What a launch does with an argument; None if nothing."""
        what = f"argument {n}, View" if n < len(self.spec.arguments) else "the result View of out=,"
        called = f"{what} '{view.label}',"
        effects = self._effects
        if effects is None:
            return pending.Touched(called, view, not view.is_readonly)
        if n in effects.written:
            return pending.Touched(called, view, True)
        return pending.Touched(called, view, False) if n in effects.read else None

    @cached_property
    def _effects(self) -> Effects | None:
        return self.inner.effects

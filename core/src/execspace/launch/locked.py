"""All plans of spaces are made here; those of kernels that change records atomically get locks.

Which kernels do is known when they are compiled, so a compiler says so, and is called again with a
spec that has the table of locks, as one argument more.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..contract.argtypes import ViewType
from ..contract.launch_spec import Capture, LaunchSpec
from ..contract.records import ReductionResult
from ..contract.space import ExecutionSpace, Plan, TellsResults
from ..kernels import locks
from ..kernels.kernel import Kernel
from ..views.view import View
from .plan_around import PlanWithArguments


def compiled_by(space: ExecutionSpace, kernel: Kernel, spec: LaunchSpec) -> Any:
    """What a space compiles a kernel to; a plan, if its plugin is right."""
    plan = _with_locks(space, kernel, spec)
    if spec.team_array and isinstance(plan, Plan):
        from .team_arrays import TeamArrayPlan  # loaded by kernels that have such

        return TeamArrayPlan(plan, spec)
    return plan


def result_by(space: TellsResults, kernel: Kernel, spec: LaunchSpec) -> ReductionResult:
    """What `TellsResults.result_of` says of such a launch."""
    try:
        result = space.result_of(kernel, spec)
    except locks.LocksWanted:
        result = space.result_of(kernel, _given(space, spec)[0])
    if spec.team_array:  # its elements have one type
        return replace(result, dtypes=result.dtypes[:1], shape=spec.team_array)
    return result


def _with_locks(space: ExecutionSpace, kernel: Kernel, spec: LaunchSpec) -> Any:
    try:
        return space.compile(kernel, spec)
    except locks.LocksWanted:
        pass  # not within it: faults of the second try are no consequence of the first
    given, table = _given(space, spec)
    plan = space.compile(kernel, given)
    return LockedPlan(plan, spec, table) if isinstance(plan, Plan) else plan


def _given(space: Any, spec: LaunchSpec) -> tuple[LaunchSpec, View]:
    """A spec with the locks of a space as its last argument, and the locks."""
    table = locks.table_of(space)
    assert isinstance(table.type, ViewType)
    capture = Capture(locks.TABLE, None, table.type, len(spec.arguments))
    arguments = (*spec.arguments, table.type)
    return replace(spec, arguments=arguments, captures=(*spec.captures, capture)), table


class LockedPlan(PlanWithArguments):
    """Launches as the plan that it is around, with the locks."""

    def __init__(self, inner: Plan, spec: LaunchSpec, table: Any) -> None:
        super().__init__(inner)
        self.spec = spec
        self._table = table
        self._position = len(spec.arguments)

    def given(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """With the table behind those of the program, before those of ``out=``."""
        n = self._position
        return (*args[:n], self._table, *args[n:])

    def number(self, inner: int) -> int | None:
        """None for the table."""
        return None if inner == self._position else inner - (inner > self._position)

    def launch(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        """As `Plan.launch`."""
        try:
            return self.inner.launch(bounds, self.given(args))
        except KeyboardInterrupt:
            self._let_go()
            raise

    def launch_as(self, label: str, bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        """As `Plan.launch_as`."""
        try:
            return self.inner.launch_as(label, bounds, self.given(args))
        except KeyboardInterrupt:
            self._let_go()
            raise

    def _let_go(self) -> None:
        """Free the locks that a kernel in plain Python held when it was interrupted."""
        if self._table.memory_space.host_accessible:
            self._table.memory_space.host_array(self._table)[...] = 0

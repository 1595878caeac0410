"""Plans that launch with tuned choices, and that tune where EXECSPACE_TUNE=1 asks for it."""

from __future__ import annotations

import threading
import warnings
from typing import Any

from ..base import config
from ..base.errors import ExecspaceError, LaunchError, PolicyError
from ..base.frames import program_level
from ..contract.launch_spec import LaunchSpec
from ..contract.records import Choice
from ..contract.space import Plan
from ..kernels.kernel import Kernel
from ..launch.plan_around import PlanAround
from ..views.view import View
from . import store
from .choices import DEFAULT, candidate_generators, extents_of, is_open
from .identity import device_name, kernel_key, shapes_of
from .launches import Launch, Plans
from .tuner import is_searching, keep_record, tune_launch

_MOST_SHAPES = 4096  # that a plan remembers
_SECONDS = 10.0  # of a search in a program that only runs

_Made = tuple[Plan, tuple[int, ...]]  # a plan, and what is added to the bounds


def wrapped(plan: Plan, kernel: Kernel, spec: LaunchSpec, report: bool) -> Plan:
    """The plan itself, or where something is tuned for it, or to be tuned, one around it."""
    if not is_open(spec.policy):
        return plan
    if config.get("TUNE") is not None:  # or `config.is_tuned` had said no
        return TunedPlan(plan, kernel, spec, searching=True)
    key = f"{kernel_key(kernel, spec)} "
    kept = store.records(device_name(plan.space)).items()
    if any(k.startswith(key) and (report or record.choice != DEFAULT) for k, record in kept):
        return TunedPlan(plan, kernel, spec, searching=False)
    return plan


class TunedPlan(PlanAround):
    """Launches with what is tuned for the class of shapes; else as the plan that it is around."""

    def __init__(self, plan: Plan, kernel: Kernel, spec: LaunchSpec, searching: bool) -> None:
        super().__init__(plan)
        self.kernel, self.spec, self.searching = kernel, spec, searching
        self._by_shape: dict[Any, _Made] = {}
        self._plans = Plans(plan, kernel, spec)
        self._device = device_name(plan.space)
        self._kernel_key = kernel_key(kernel, spec)

    def launch(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        """As `Plan.launch`."""
        plan, more = self._made(bounds, args)
        if plan is self.inner:
            return plan.launch(bounds, args)
        try:
            return plan.launch(bounds + more, args)
        except (LaunchError, PolicyError) as error:  # such as of scratch memory, before it runs
            self._refused(bounds, args, error)
            return self.inner.launch(bounds, args)

    def launch_as(self, label: str, bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        """As `Plan.launch_as`."""
        plan, more = self._made(bounds, args)
        if plan is self.inner:
            return plan.launch_as(label, bounds, args)
        try:
            return plan.launch_as(label, bounds + more, args)
        except (LaunchError, PolicyError) as error:
            self._refused(bounds, args, error)
            return self.launch(bounds, args)

    def ready(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> None:
        """Do now what the first launch with these bounds would do: look, or search."""
        self._made(bounds, args)

    def chosen(
        self, bounds: tuple[int, ...], args: tuple[Any, ...]
    ) -> tuple[Plan, tuple[int, ...], str]:
        """The plan of a launch, the bounds that it gets, and what was tuned; launches nothing."""
        record, shapes = self._record(bounds, args)
        if record is None:
            return self.inner, bounds, ""
        plan, more = self._with(bounds, record.choice)
        gain = record.default_seconds / record.seconds
        told = "the default is the best" if record.choice == DEFAULT else (
            f"{record.choice}, {gain:.2f} times as fast as the default"
        )  # fmt: skip
        return plan, bounds + more, f"tuned for {shapes} on {record.date}: {told}"

    def _key(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        if self.spec.policy.kind == "team":  # whose Views say how much there is to do
            return (bounds, *[a.shape for a in args if type(a) is View])
        return bounds

    def _made(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> _Made:
        key = self._key(bounds, args)
        found = self._by_shape.get(key)
        if found is None and is_searching():  # a kernel that copies Views for the search
            return self.inner, ()
        if found is None:
            if len(self._by_shape) >= _MOST_SHAPES:
                self._by_shape.clear()
            found = self._by_shape[key] = self._found(bounds, args)
        return found

    def _refused(self, bounds: tuple[int, ...], args: tuple[Any, ...], error: Exception) -> None:
        """Take the default for these bounds from now on, and say so."""
        self._by_shape[self._key(bounds, args)] = self.inner, ()
        self._warn(f"the tuned choice cannot be used here, and the default is taken ({error})")

    def _warn(self, what: str) -> None:
        warnings.warn(f"Kernel '{self.kernel.name}': {what}", stacklevel=program_level())

    def _record(
        self, bounds: tuple[int, ...], args: tuple[Any, ...]
    ) -> tuple[store.Record | None, str]:
        shapes = shapes_of(self.spec.policy, bounds, args)
        key = store.key_of(self._kernel_key, shapes)
        return store.records(self._device).get(key), shapes

    def _found(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> _Made:
        record, _ = self._record(bounds, args)
        if record is None and self.searching:
            record = self._searched(Launch(self._plans, bounds, args))
        return self._with(bounds, DEFAULT if record is None else record.choice)

    def _searched(self, launch: Launch) -> store.Record | None:
        """Tune a launch of a program that only wants to run: nothing may keep it from that."""
        if not worth_tuning(launch):
            return None
        if other_threads():
            self._warn("it is not tuned, because other threads run that might use its Views")
            return None
        try:
            record = tune_launch(launch, seconds=_SECONDS, keep=False).record
        except MemoryError as error:
            self._warn(f"it is not tuned, for want of memory for copies of its Views ({error})")
            return None
        try:
            keep_record(launch, record)
        except OSError as error:
            self._warn(
                f"what was tuned cannot be kept, and is lost when the process ends: {error}. Set "
                f"EXECSPACE_TUNING_DIR."
            )
        return record

    def _with(self, bounds: tuple[int, ...], choice: Choice) -> _Made:
        try:
            plan, with_choice = self._plans.of(choice, bounds)
        except ExecspaceError as error:
            self._warn(
                f"the tuned choice {choice} cannot be used, and the default is taken ({error}). "
                f"Tune it again: es.tune(...)."
            )
            return self.inner, ()
        return plan, with_choice[len(bounds) :]


def worth_tuning(launch: Launch) -> bool:
    """Whether there is something to choose, and it may be launched again and again.

    It may not if it prints, and an empty range tells nothing.
    """
    default = launch.plans.default
    if default.effects is not None and default.effects.prints:
        return False
    if not all(extents_of(launch.policy, launch.bounds)):
        return False
    return bool(candidate_generators(launch.space, default, launch.bounds))


def other_threads() -> bool:
    """Whether threads of the program run beside this one."""
    mine = threading.current_thread()
    return any(t is not mine and not t.daemon for t in threading.enumerate())

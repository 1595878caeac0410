"""What a thread launches as steps of a graph: recorded, or made anew once Views have changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from ..base.errors import LaunchError, SpaceError
from ..contract.space import ExecutionSpace, Plan
from ..events import recording
from ..kernels.kernel import Kernel
from ..launch.arguments import explain_large
from ..launch.bound import Bound
from .copies import copy_step
from .enqueued import EnqueuedWork
from .steps import Part, Step, name_of, within


class Recorder:
    """Makes steps of what a thread launches; see `events.recording.Recorder`.

    Parameters
    ----------
    who : object
        Whose steps they are, for messages.
    keep : callable
        Takes each step.
    """

    def __init__(self, who: object, space: ExecutionSpace, keep: Callable[[Step], object]) -> None:
        self.who, self._space, self._keep = who, space, keep

    def launch(
        self, pattern: str, kernel: Kernel, plan: Plan, policy: Any, bounds: tuple[int, ...],
        args: tuple[Any, ...], label: str | None,
    ) -> None:  # fmt: skip
        bound = Bound(kernel, plan, policy, bounds, args, label)
        self._keep(launch_step(self.who, self._space, bound, label, None))

    def copy(self, target: Any, source: Any, instance: ExecutionSpace | None, casting: str) -> None:
        check_space(self.who, self._space, instance, f"deep_copy into View '{target.label}'")
        self._keep(copy_step(self.who, self._space, target, source, None, None, casting))

    def call(
        self, name: str, function: Callable[[], object], instance: ExecutionSpace | None
    ) -> None:
        check_space(self.who, self._space, instance, name)
        self._keep(Step("call", name, None, function))

    def enqueue(self, work: EnqueuedWork) -> None:
        check_space(self.who, self._space, work.space, work.name)
        self._keep(Step("call", work.name, None, work))

    def part(
        self, name: str, function: Callable[..., object], arguments: Mapping[str, Any]
    ) -> None:
        made = LibraryCall(within(self.who, name), self._space, arguments, function)
        made.steps()
        self._keep(Step("call", name, None, made))

    def refuse(self, what: str, instead: str) -> LaunchError:
        return LaunchError(f"{self.who}, which is being recorded: {what}; {instead}.")


class LibraryCall(Part):
    """What a function of the library launches."""

    def __init__(
        self,
        who: str,
        space: ExecutionSpace,
        arguments: Mapping[str, Any],
        function: Callable[..., object],
    ) -> None:
        super().__init__(who, space, arguments)
        self._function = function

    def _with(self, arguments: dict[str, Any]) -> Self:
        return type(self)(self.who, self.space, arguments, self._function)

    def _fresh(self) -> Sequence[Step]:
        made: list[Step] = []
        with recording.recording(Recorder(self.who, self.space, made.append)):
            self._function(**self.arguments)
        return made


def launch_step(
    who: object,
    space: ExecutionSpace,
    bound: Bound,
    label: str | None,
    after: tuple[Step, ...] | None,
) -> Step:
    """The step of a launch; LaunchError if it returns a number."""
    name = bound.kernel.name
    check_space(who, space, bound.space, f"kernel '{name}'")
    explain_large(bound.kernel, bound.arguments)
    spec = bound.plan.spec
    if spec.pattern != "for" and not spec.out:
        raise LaunchError(
            f"{who}: parallel_{spec.pattern} of kernel '{name}' returns a number, which nobody "
            f"knows before the graph has run; give a View for it, out=es.View(()), and read that "
            f"when the graph was submitted."
        )
    return Step("launch", name_of(who, label, name), after, bound)


def check_space(who: object, mine: ExecutionSpace, space: ExecutionSpace | None, what: str) -> None:
    """Raise SpaceError for what runs on another space or instance than a graph."""
    if space is None or space is mine:
        return
    other = "another instance" if space.name == mine.name else "another space"
    raise SpaceError(
        f"{who}: {what} runs on {space!r}, {other}; expected {mine!r}. A graph has one space: "
        f"leave out space= and instance=, or make a graph for that one."
    )

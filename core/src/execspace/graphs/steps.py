"""What graphs are made of: steps, which nodes refer to, and parts, which are made anew.

Views change beneath a graph: `resize` and `realloc` give them other memory and other extents. A
launch of the user keeps its range; what the library launches goes by the extents of Views, so it
is a part, whose steps are made when it is recorded, and again when any View has got other memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Self

from ..base.brief import brief
from ..base.dataclass import dataclass
from ..base.errors import LaunchError
from ..contract.space import ExecutionSpace
from ..plugins.selection import use_space
from ..views.mirrors import Moves


class Step:
    """What a graph does at a node; nodes refer to their graph, which has steps alone.

    Attributes
    ----------
    kind : {"launch", "copy", "call", "host", "loop"}
    label : str
    after : tuple of Step, or None
    work : object
        A `Bound`, a `Part`, a function or a `Loop`; of a step of a part also the two sides of a
        copy.
    """

    def __init__(self, kind: str, label: str, after: tuple[Step, ...] | None, work: Any) -> None:
        self.kind, self.label, self.after, self.work = kind, label, after, work


@dataclass
class Definition:
    """What a graph and those that were made ready of it share.

    Attributes
    ----------
    version : int
        Counts what was added or exchanged.
    """

    space: ExecutionSpace
    label: str
    steps: list[Step] = field(default_factory=list)
    version: int = 0


class Part(ABC):
    """Steps that go by the extents of Views, made of named arguments."""

    def __init__(self, who: str, space: ExecutionSpace, arguments: Mapping[str, Any]) -> None:
        self.who, self.space, self.arguments = who, space, dict(arguments)
        self._made: tuple[int, tuple[Step, ...]] = -1, ()

    def steps(self) -> tuple[Step, ...]:
        """Its steps for the Views as they are now; raises what the function would."""
        moves = Moves.last
        if self._made[0] != moves:
            with use_space(self.space):
                self._made = moves, tuple(self._fresh())
        return self._made[1]

    @abstractmethod
    def _fresh(self) -> Sequence[Step]:
        """Its steps, made anew."""

    @abstractmethod
    def _with(self, arguments: dict[str, Any]) -> Self:
        """Another one, of other arguments."""

    def exchanged(self, arguments: Mapping[str, Any]) -> Self:
        """Another one, which has some of its arguments exchanged; raises as `steps`."""
        for name in arguments:
            if name not in self.arguments:
                known = ", ".join(f"'{n}'" for n in self.arguments) or "none"
                raise LaunchError(
                    f"{self.who}: no argument '{name}' can be exchanged; those that can are: "
                    f"{known}."
                )
        changed = self._with(self.arguments | dict(arguments))
        changed.steps()
        return changed


def walk(steps: Sequence[Step]) -> Iterator[Step]:
    """Steps, and those of loops among them."""
    for step in steps:
        yield step
        if step.kind == "loop":
            yield from walk(step.work.steps)


def expanded(steps: Sequence[Step]) -> Iterator[tuple[Step, Step]]:
    """Steps that run, of parts those that they have now; each with the step that it belongs to."""
    for step in steps:
        if isinstance(step.work, Part):
            yield from ((step, inner) for _, inner in expanded(step.work.steps()))
        else:
            yield step, step


def name_of(who: object, label: object, otherwise: str) -> str:
    """The label of a step; LaunchError if it is no text."""
    if label is not None and not isinstance(label, str):
        raise LaunchError(f"{who}: label={brief(label)}; expected a text.")
    return label or otherwise


def within(who: object, name: str) -> str:
    """A step in messages."""
    return f"'{name}' in graph '{getattr(who, 'label', who)}'"

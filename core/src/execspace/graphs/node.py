"""Nodes of a graph, and how a graph grows by them: `then` and its siblings, as in Kokkos."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import partial
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction, ismethod
from typing import Any

from ..base.brief import brief
from ..base.dataclass import dataclass
from ..base.errors import LaunchError
from ..contract.space import ExecutionSpace
from ..launch.bound import Bound
from ..views.deep_copy import may_overlap, share_elements
from ..views.view import View
from .copies import is_copy

__all__ = [
    "GraphNode",
    "when_all",
]


class Step:
    """What a graph does at a node; nodes refer to their graph, which has steps alone.

    Attributes
    ----------
    kind, label : str
    after : tuple of Step, or None
    work : object
        A `Bound`, what is copied, a function or a `Loop`.
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


class Grows(ABC):
    """What nodes can come after: a node, several of them, or the beginning of a graph."""

    @property
    @abstractmethod
    def graph(self) -> AnyGraph:
        """The graph."""

    @abstractmethod
    def _before(self) -> tuple[Step, ...]:
        """What must be done."""

    def then(self, policy: Any, kernel: Any, /, *args: Any, label: str | None = None) -> GraphNode:
        """Add a `parallel_for` that comes after this.

        Parameters and errors are those of `parallel_for`, and LaunchError where its policy has
        another space than the graph. Compiles the kernel and launches nothing.
        """
        return self.graph._bind(self._before(), policy, kernel, args, "for", None, None, label)

    def then_reduce(
        self,
        policy: Any,
        kernel: Any,
        /,
        *args: Any,
        out: Any,
        reducer: Any = None,
        label: str | None = None,
    ) -> GraphNode:
        """Add a `parallel_reduce` that comes after this, whose result goes to the View `out`."""
        return self.graph._bind(self._before(), policy, kernel, args, "reduce", reducer, out, label)

    def then_scan(
        self,
        policy: Any,
        kernel: Any,
        /,
        *args: Any,
        out: Any = None,
        reducer: Any = None,
        label: str | None = None,
    ) -> GraphNode:
        """Add a `parallel_scan` that comes after this; its total goes to the View `out`, which one
        must give: a graph returns no numbers."""
        return self.graph._bind(self._before(), policy, kernel, args, "scan", reducer, out, label)

    def then_copy(self, dst: Any, src: Any, /, *, label: str | None = None) -> GraphNode:
        """Add a `deep_copy` that comes after this; `src` is a View, an array or a number."""
        return self.graph._copy_after(self._before(), dst, src, label)

    def then_host(
        self, function: Callable[..., object], /, *args: Any, label: str | None = None
    ) -> GraphNode:
        """Add a call of a function by the thread that submits the graph, once all nodes that were
        added before it are done. `GraphExec.submit` then blocks until it has run."""
        return self.graph._host_after(self._before(), function, args, label)


class AnyGraph(Grows):
    """What nodes know of their graph."""

    definition: Definition

    @abstractmethod
    def _bind(
        self, after: tuple[Step, ...], policy: Any, kernel: Any, args: tuple[Any, ...],
        pattern: str, reducer: Any, out: Any, label: str | None,
    ) -> GraphNode:  # fmt: skip
        """Add a launch."""

    @abstractmethod
    def _copy_after(
        self, after: tuple[Step, ...], dst: Any, src: Any, label: str | None
    ) -> GraphNode:
        """Add a copy."""

    @abstractmethod
    def _host_after(
        self, after: tuple[Step, ...], function: Callable[..., object],
        args: tuple[Any, ...], label: str | None,
    ) -> GraphNode:  # fmt: skip
        """Add a call of a function."""


class GraphNode(Grows):
    """A launch, copy or call in a graph; `Graph` and `then` make them.

    Attributes
    ----------
    kind : {"launch", "copy", "call", "host", "loop"}
        A call is work of a library; a loop has nodes of its own.
    label : str
        That of the launch, or the name of its kernel.
    after : tuple of GraphNode, or None
        What must be done before; None for what was recorded: whatever it depends on.
    """

    def __init__(self, graph: AnyGraph, step: Step) -> None:
        self._graph, self._step = graph, step

    @property
    def graph(self) -> AnyGraph:
        return self._graph

    @property
    def kind(self) -> str:
        return self._step.kind

    @property
    def label(self) -> str:
        return self._step.label

    @property
    def after(self) -> tuple[GraphNode, ...] | None:
        after = self._step.after
        return None if after is None else tuple(GraphNode(self._graph, step) for step in after)

    def _before(self) -> tuple[Step, ...]:
        return (self._step,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GraphNode) and self._step is other._step

    def __hash__(self) -> int:
        return hash(self._step)

    def exchange(self, /, **arguments: Any) -> None:
        """Have later submissions use other Views, arrays or numbers in this launch, by the names of
        the kernel's parameters.

        Raises
        ------
        LaunchError
            If it is no launch, there is no such parameter, or the argument is not of the type
            that the launch was compiled for. Nothing is exchanged then.
        """
        work = self._step.work
        if not isinstance(work, Bound):
            raise LaunchError(
                f"{self} is no launch, so there is nothing to exchange; only arguments of kernels "
                f"can be."
            )
        changed = work.copy()
        changed.exchange(**arguments)
        if is_copy(changed.kernel):  # which goes through all of its Views
            check_exchanged(self, work.arguments, changed.arguments)
        self._step.work = changed
        self._graph.definition.version += 1  # what was instantiated looks at its launches again

    def __repr__(self) -> str:
        return f"<{self.kind} '{self.label}' in {self._graph!r}>"


class Several(Grows):
    """Nodes of one graph, and what comes after all of them; made by `when_all`."""

    def __init__(self, graph: AnyGraph, steps: tuple[Step, ...]) -> None:
        self._graph, self._steps = graph, steps

    @property
    def graph(self) -> AnyGraph:
        return self._graph

    def _before(self) -> tuple[Step, ...]:
        return self._steps


def when_all(*nodes: Grows) -> Grows:
    """What comes after all of some nodes: ``es.when_all(a, b).then(...)``.

    Raises
    ------
    LaunchError
        If there is none, or they are of different graphs.

    Notes
    -----
    Kokkos: https://kokkos.org/kokkos-core-wiki/ProgrammingGuide/Graph.html
    """
    if not nodes:
        raise LaunchError("when_all: expected one node or more, got none.")
    for n, node in enumerate(nodes):
        if not isinstance(node, Grows):
            raise LaunchError(
                f"when_all: argument {n} is {brief(node)}; expected a node of a graph, which "
                f"then(...) returns."
            )
    graph = nodes[0].graph
    for node in nodes:
        if node.graph is not graph:
            raise LaunchError(
                f"when_all: nodes of different graphs, {graph!r} and {node.graph!r}; expected "
                f"nodes of one."
            )
    before = dict.fromkeys(b for node in nodes for b in node._before())
    return Several(graph, tuple(before))


def check_exchanged(node: GraphNode, old: tuple[Any, ...], new: tuple[Any, ...]) -> None:
    """Raise LaunchError for Views that a copy cannot have in place of others."""
    if new[0].shape != old[0].shape or new[1].shape != old[1].shape:
        raise LaunchError(
            f"{node}: a copy of shape {old[0].shape} cannot have Views of shapes {new[0].shape} "
            f"and {new[1].shape}; expected the same."
        )
    if may_overlap(new[0], new[1]) and share_elements(new[0], new[1]):
        raise LaunchError(f"{node}: source and destination of a copy overlap; give others.")


def label_of(view: Any) -> str:
    """A View in the label of a copy."""
    return view.label or "a View" if isinstance(view, View) else brief(view)


def walk(steps: Sequence[Step]) -> Iterator[Step]:
    """Steps, and those of loops among them."""
    for step in steps:
        yield step
        if step.kind == "loop":
            yield from walk(step.work.steps)


def runs_nothing(function: Callable[..., object]) -> bool:
    """Whether a call of a function only makes what would run."""
    whole = function
    while isinstance(whole, partial):
        whole = whole.func
    called = whole if hasattr(whole, "__code__") or ismethod(whole) else type(whole).__call__
    kinds = (iscoroutinefunction, isgeneratorfunction, isasyncgenfunction)
    return any(kind(called) for kind in kinds)

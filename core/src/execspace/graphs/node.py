"""Nodes of a graph, and how a graph grows by them: `then` and its siblings, as in Kokkos."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction, ismethod
from typing import Any

from ..base.brief import brief
from ..base.errors import LaunchError
from ..launch.bound import Bound
from .steps import Definition, Part, Step

__all__ = [
    "GraphNode",
    "when_all",
]


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

    def then_copy(
        self, dst: Any, src: Any, /, *, label: str | None = None, casting: str = "same_kind"
    ) -> GraphNode:
        """Add a `deep_copy` that comes after this; `src` is a View, an array or a number."""
        return self.graph._copy_after(self._before(), dst, src, label, casting)

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
        self, after: tuple[Step, ...], dst: Any, src: Any, label: str | None, casting: str
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

        Those of a copy are `dst` and `src`, or `value` for a number; those of a function of the
        library are its own.

        Raises
        ------
        LaunchError
            If it is no launch, there is no such parameter, or the argument is not of the type
            that the launch was compiled for. Nothing is exchanged then.
        ViewError, DTypeError
            As the copy or the function of the library would. Nothing is exchanged then.
        """
        work = self._step.work
        changed: Bound | Part
        if isinstance(work, Part):
            changed = work.exchanged(arguments)
        elif isinstance(work, Bound):
            changed = work.copy()
            changed.exchange(**arguments)
        else:
            raise LaunchError(
                f"{self} is no launch, so there is nothing to exchange; only arguments of kernels, "
                f"copies and functions of the library can be."
            )
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


def runs_nothing(function: Callable[..., object]) -> bool:
    """Whether a call of a function only makes what would run."""
    whole = function
    while isinstance(whole, partial):
        whole = whole.func
    called = whole if hasattr(whole, "__code__") or ismethod(whole) else type(whole).__call__
    kinds = (iscoroutinefunction, isgeneratorfunction, isasyncgenfunction)
    return any(kind(called) for kind in kinds)

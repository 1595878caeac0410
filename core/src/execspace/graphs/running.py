"""Graphs that are ready to run: from nodes to a list of calls, which a submission makes in C.

Launches in a row become one call: the space's own graph where it has such, else a call for each.
What a space cannot have in a graph of its own runs between two of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from operator import call
from typing import TYPE_CHECKING, Any

from ..base import config
from ..base.locks import new_rlock
from ..contract.graphs import GraphLaunch, SupportsGraphs
from ..events import dispatch, recording
from ..events.launches import graph_events
from ..launch.arguments import explain_overflow
from ..launch.bound import Bound
from ..views.deep_copy import deep_copy
from ..views.view import View
from .dependences import Dependences, touched
from .fusing import Fusion
from .node import GraphNode

if TYPE_CHECKING:
    from .graph import Graph

__all__ = [
    "GraphExec",
]

Run = Callable[[], Any]


class GraphExec:
    """A graph that is ready to be submitted; made by `Graph.instantiate`.

    Attributes
    ----------
    graph : Graph
    fusion : sequence of str
        With ``fuse=True``: what was fused, and what stood in the way, in lines.
    """

    def __init__(self, graph: Graph, *, fuse: bool, temporary: Sequence[View]) -> None:
        self.graph = graph
        self._fuse = Fusion(graph, temporary) if fuse else None
        self._lock = new_rlock()
        self._made: dict[int, Run] = {}  # graphs of the space, by the number of their first node
        self._seen = -1
        self._run: Run = _nothing
        self._kernels = 0
        self._renew()

    @property
    def fusion(self) -> tuple[str, ...]:
        return () if self._fuse is None else tuple(self._fuse.lines)

    def submit(self) -> None:
        """Run the graph once, with the arguments that its launches have now.

        In order with what was launched on its space. Asynchronous where the space is, unless it
        has calls of host functions, conditions, or kernels that print or assert. Where it is
        recorded for another graph, that graph runs it.
        """
        if self._seen != self.graph.version:
            self._renew()
        if dispatch.TOOLS:
            self._told()
            return
        try:
            self._run()
        except OverflowError as error:
            self._explain(error)
            raise

    def _told(self) -> None:
        recorder = recording.current()
        if recorder is not None:
            recorder.call(self.graph.label, self.submit, self.graph.space)
            return
        with graph_events(self.graph.label, self.graph.space, self._kernels):
            self._run()

    def _explain(self, error: OverflowError) -> None:
        """Raise LaunchError for a Python integer that no argument of a kernel holds."""
        for node in self.graph.nodes:
            if isinstance(node._work, Bound):
                explain_overflow(node._work.kernel, node._work.arguments, error)

    # -- making -----------------------------------------------------------------------------------

    def _renew(self) -> None:
        with self._lock:
            seen = self.graph.version
            self._kernels = 0
            made: dict[int, Run] = {}
            self._run = _all(self._runs(self.graph.nodes, made))
            self._made, self._seen = made, seen

    def _runs(self, nodes: Sequence[GraphNode], made: dict[int, Run]) -> list[Run]:
        """What runs nodes, one after another."""
        runs: list[Run] = []
        for kind, group in groupby(nodes, lambda node: node.kind):
            together = list(group)
            if kind == "launch":
                runs += self._launches(together, made)
            else:
                runs += (self._other(node, made) for node in together)
        return runs

    def _other(self, node: GraphNode, made: dict[int, Run]) -> Run:
        space, work = self.graph.space, node._work
        if node.kind == "copy":
            target, source = work
            return lambda: deep_copy(target, source, instance=space)
        if node.kind == "host":

            def host() -> None:
                space.fence(f"host function of {self.graph.label}")
                work()

            return host
        if node.kind == "loop":
            run: Run = work.around(_all(self._runs(work.nodes, made)), space)
            return run
        run = work
        return run

    def _launches(self, nodes: list[GraphNode], made: dict[int, Run]) -> Iterator[Run]:
        """Launches in a row, as few calls as there can be."""
        space = self.graph.space
        in_turn = not isinstance(space, SupportsGraphs) or config.is_portable()
        launches = [_launch(node) for node in nodes]
        if self._fuse is not None:
            launches = self._fuse.fused(launches)
        elif not in_turn:
            launches = _with_dependences(nodes, launches)
        self._kernels += len(launches)
        if in_turn:
            yield _in_turn(launches)
            return
        assert isinstance(space, SupportsGraphs)
        chosen = [_chosen(one) for one in launches]
        first = 0
        for fits, group in groupby(chosen, lambda one: space.can_replay(one.plan)):
            part = list(group)
            if fits:
                key = (id(nodes[0]), first)
                run = space.instantiate(_numbered(part, first), self._made.get(hash(key)))
                made[hash(key)] = run
                yield run
            else:
                yield _in_turn(part)
            first += len(part)

    def __reduce__(self) -> Any:
        raise TypeError(f"{self} cannot be pickled: it holds memory and code of this process.")

    def __repr__(self) -> str:
        return f"<instantiated {repr(self.graph)[1:]}"


def _nothing() -> None:
    return None


def _all(runs: Sequence[Run]) -> Run:
    """One call for several."""
    if len(runs) == 1:
        return runs[0]
    listed = tuple(runs)
    consume = deque[Any](maxlen=0).extend
    return lambda: consume(map(call, listed))


def _in_turn(launches: Sequence[GraphLaunch]) -> Run:
    """Launches one after another, by a loop in C."""
    functions = tuple(one.plan.launch for one in launches)
    bounds, args = tuple(one.bounds for one in launches), tuple(one.args for one in launches)
    consume = deque[Any](maxlen=0).extend
    return lambda: consume(map(call, functions, bounds, args))


def _launch(node: GraphNode) -> GraphLaunch:
    bound: Bound = node._work
    return GraphLaunch(bound.plan, bound.bounds, bound.arguments, ())


def _with_dependences(
    nodes: Sequence[GraphNode], launches: Sequence[GraphLaunch]
) -> list[GraphLaunch]:
    """Launches, with the numbers of those that each comes after."""
    known, numbers = Dependences(), {node: n for n, node in enumerate(nodes)}
    effects = {id(one.plan): one.plan.effects for one in launches}
    found = []
    for node, one in zip(nodes, launches, strict=True):
        after = known.of(touched(effects[id(one.plan)], one.args))
        if node.after is not None:
            after = tuple(sorted(numbers[a] for a in node.after if a in numbers))
        found.append(GraphLaunch(one.plan, one.bounds, one.args, after))
    return found


def _chosen(one: GraphLaunch) -> GraphLaunch:
    """A launch of the plan that is tuned for it."""
    plan, bounds, _ = one.plan.chosen(one.bounds, one.args)
    return one if plan is one.plan else GraphLaunch(plan, bounds, one.args, one.after)


def _numbered(part: Sequence[GraphLaunch], first: int) -> list[GraphLaunch]:
    """Launches whose first one is number 0; those before it are done."""
    return [
        GraphLaunch(p.plan, p.bounds, p.args, tuple(a - first for a in p.after if a >= first))
        for p in part
    ]

"""Graphs that are ready to run: from nodes to a list of calls, which a submission makes in C.

Launches in a row become one call: the space's own graph where it has such, else a call for each.
What a space cannot have in a graph of its own runs between two of them.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, islice
from operator import call
from typing import Any

from ..base import config
from ..base.locks import new_rlock
from ..contract.graphs import GraphLaunch, SupportsGraphs
from ..events import dispatch, recording
from ..events.launches import graph_events
from ..launch.arguments import explain_overflow
from ..launch.bound import Bound
from ..views.deep_copy import deep_copy
from ..views.mirrors import Moves
from ..views.view import View
from .dependences import Dependences, touched
from .fusing import Fusion, Single
from .steps import Definition, Part, Step, expanded, walk

__all__ = [
    "GraphExec",
]

Run = Callable[[], Any]


class GraphExec:
    """A graph that is ready to be submitted; made by `Graph.instantiate`.

    Attributes
    ----------
    space : ExecutionSpace
    label : str
        Those of the graph.
    fusion : sequence of str
        With ``fuse=True``: what was fused, and what stood in the way, in lines.
    """

    def __init__(self, definition: Definition, *, fuse: bool, temporary: Sequence[View]) -> None:
        self._definition = definition
        self.space, self.label = definition.space, definition.label
        self._fuse = Fusion(temporary) if fuse else None
        self._lock = new_rlock()
        self._made: list[Run] = []  # graphs of the space
        self._seen = self._moves = -1
        self._run: Run = _nothing
        self._stretches: dict[int, _Stretch] = {}  # by their first step
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
        if self._is_stale():
            self._renew()
        try:
            if dispatch.TOOLS:
                self._told()
            else:
                self._run()
        except OverflowError as error:
            self._explain(error)
            raise

    def _told(self) -> None:
        recorder = recording.current()
        if recorder is not None:
            recorder.call(self.label, self.submit, self.space)
            return
        with graph_events(self.label, self.space, self._kernels):
            self._run()

    def _explain(self, error: OverflowError) -> None:
        """Raise LaunchError for a Python integer that no argument of a kernel holds."""
        for node in walk(self._definition.steps):
            if isinstance(node.work, Bound) and _has_large_numbers(node.work):
                explain_overflow(node.work.kernel, node.work.arguments, error)

    # -- making -----------------------------------------------------------------------------------

    def _is_stale(self) -> bool:
        return self._seen != self._definition.version or self._moves != Moves.last

    def _renew(self) -> None:
        with self._lock:
            seen, moves = self._definition.version, Moves.last
            self._kernels = 0
            if self._fuse is not None:
                self._fuse.forget()
                steps = [step for _, step in expanded(list(walk(self._definition.steps)))]
                # What libraries and functions of the host use, nobody tells.
                unknown = any(step.kind in ("call", "host") for step in steps)
                self._fuse.users = None if unknown else [(step, _used(step)) for step in steps]
            made: list[Run] = []
            self._run = _all(self._runs(self._definition.steps, made))
            self._made, self._seen, self._moves = made, seen, moves

    def _runs(self, steps: Sequence[Step], made: list[Run]) -> list[Run]:
        """What runs steps, one after another."""
        if not any(map(_calls, steps)):
            return self._between(steps, made)
        runs: list[Run] = []
        for calls, group in groupby(steps, _calls):
            together = list(group)
            if calls:
                runs += (self._other(step, made) for step in together)
                continue
            stretch = self._stretches.setdefault(id(together[0]), _Stretch())
            stretch.run = _all(self._between(together, made))
            runs.append(stretch)
        return runs

    def _between(self, steps: Sequence[Step], made: list[Run]) -> list[Run]:
        """What runs steps of which none calls a function of the host."""
        runs: list[Run] = []
        for kind, group in groupby(expanded(steps), lambda pair: pair[1].kind):
            together = list(group)
            if kind == "launch":
                runs += self._launches(together, made)
            else:
                runs += (self._other(step, made) for _, step in together)
        return runs

    def _other(self, step: Step, made: list[Run]) -> Run:
        space, work = self.space, step.work
        if step.kind == "copy":
            target, source = work
            return lambda: deep_copy(target, source, instance=space)
        if step.kind == "loop":
            run: Run = work.around(_all(self._runs(work.steps, made)), space)
            return run
        if not _calls(step):
            run = work
            return run
        label, waits, myself = self.label, step.kind == "host", weakref.ref(self)

        def called() -> None:
            if waits:
                space.fence(f"host function of {label}")
            work()
            graph = myself()
            # What it has exchanged, resized or reallocated is so for what comes after it.
            if graph is not None and graph._is_stale():
                graph._renew()

        return called

    def _launches(self, nodes: Sequence[tuple[Step, Step]], made: list[Run]) -> Iterator[Run]:
        """Launches in a row, as few calls as there can be."""
        space = self.space
        in_turn = not isinstance(space, SupportsGraphs) or config.is_portable()
        singles = [_single(step) for _, step in nodes]
        after = [()] * len(nodes) if in_turn else _dependences([o for o, _ in nodes], singles)
        launches = self._fused(singles, after)
        self._kernels += len(launches)
        if in_turn:
            yield _in_turn(launches)
            return
        assert isinstance(space, SupportsGraphs)
        first = 0
        for fits, group in groupby(launches, lambda one: space.can_replay(one.plan)):
            part = list(group)
            if fits:
                known = self._made[len(made)] if len(made) < len(self._made) else None
                made.append(space.instantiate(_numbered(part, first), known))
                yield made[-1]
            else:
                yield _in_turn(part)
            first += len(part)

    def _fused(
        self, singles: Sequence[Single], after: Sequence[tuple[int, ...]]
    ) -> list[GraphLaunch]:
        """Launches, of which some are one if they may be."""
        if self._fuse is None:
            return [
                GraphLaunch(s.plan, s.bounds, s.args, a)
                for s, a in zip(singles, after, strict=True)
            ]
        launches: list[GraphLaunch] = []
        place: dict[int, int] = {}  # number of a launch -> of what it is a part of
        for group in self._fuse.groups(singles):
            made = self._fuse.launches(group)
            sizes = [len(group.numbers)] if len(made) == 1 else [len(group.numbers) - 1, 1]
            numbers = iter(group.numbers)
            for one, size in zip(made, sizes, strict=True):
                own = list(islice(numbers, size))
                place |= dict.fromkeys(own, len(launches))
                others = {place[a] for n in own for a in after[n]} - {len(launches)}
                launches.append(GraphLaunch(one.plan, one.bounds, one.args, tuple(sorted(others))))
        return launches

    def explain(self) -> str:
        """What a submission runs: how many launches, and with ``fuse=True`` what was fused and what
        stood in the way, in lines."""
        lines = [f"{self.label}: {self._kernels} launches on '{self.space.name}'"]
        return "\n".join([*lines, *(f"  {line}" for line in self.fusion)])

    def __reduce__(self) -> Any:
        raise TypeError(f"{self} cannot be pickled: it holds memory and code of this process.")

    def __repr__(self) -> str:
        return f"<instantiated graph '{self.label}' on '{self.space.name}'>"


def _has_large_numbers(bound: Bound) -> bool:
    return any(type(a) is int and not -(2**63) <= a < 2**64 for a in bound.arguments)


class _Stretch:
    """Steps between two calls of functions, which may change what those after them use."""

    run: Run

    def __call__(self) -> None:
        self.run()


def _calls(step: Step) -> bool:
    """Whether a step calls a function that may do anything."""
    if step.kind == "loop":
        return any(map(_calls, step.work.steps))
    return step.kind in ("call", "host") and not isinstance(step.work, Part)


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


def _single(node: Step) -> Single:
    """The launch of a node, by the plan that is tuned for it."""
    bound: Bound = node.work
    plan, bounds = bound.plan, bound.bounds
    if not config.is_portable():
        plan, bounds, _ = plan.chosen(bounds, bound.arguments)
    return Single(bound.kernel.name, plan, bounds, bound.arguments, node)


def _used(node: Step) -> tuple[Any, ...]:
    """Views that a node uses, and other things."""
    work = node.work
    if isinstance(work, Bound):
        return work.arguments
    return work if isinstance(work, tuple) else (getattr(work, "flag", None),)


def _dependences(owners: Sequence[Step], singles: Sequence[Single]) -> list[tuple[int, ...]]:
    """For each launch of a step the numbers of those that it comes after."""
    known = Dependences()
    numbers: dict[Step, list[int]] = {}
    for n, owner in enumerate(owners):
        numbers.setdefault(owner, []).append(n)
    effects = {id(one.plan): one.plan.effects for one in singles}
    found = []
    for n, (owner, one) in enumerate(zip(owners, singles, strict=True)):
        after = known.of(touched(effects[id(one.plan)], one.args))
        if owner.after is not None:
            before = [m for step in owner.after for m in numbers.get(step, ())]
            after = tuple(sorted({*before, *(m for m in numbers[owner] if m < n)}))
        found.append(after)
    return found


def _numbered(part: Sequence[GraphLaunch], first: int) -> list[GraphLaunch]:
    """Launches whose first one is number 0; those before it are done."""
    return [
        GraphLaunch(p.plan, p.bounds, p.args, tuple(a - first for a in p.after if a >= first))
        for p in part
    ]

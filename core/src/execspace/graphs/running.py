"""Graphs that are ready to run: from nodes to a list of calls, which a submission makes.

Launches in a row become one call: the space's own graph where it has such, else a loop in C.
What a space cannot have in a graph of its own runs between two of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby, islice
from operator import call
from typing import Any

from ..base import config
from ..base.errors import DTypeError, SpaceAccessError, ViewError
from ..base.locks import new_rlock
from ..contract.graphs import GraphLaunch, SupportsGraphs
from ..contract.space import ExecutionSpace
from ..events import dispatch, recording
from ..events.launches import graph_events
from ..launch.bound import Bound
from ..views.deep_copy import deep_copy
from ..views.mirrors import Moves
from ..views.view import View
from .dependences import Dependences, touched
from .enqueued import EnqueuedWork
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
        fusion = Fusion(temporary) if fuse else None
        self._stretches: list[_Stretch] = []
        self._run = _all(self._runs(definition.steps, _Maker(definition, fusion)))
        for stretch in self._stretches:
            try:
                stretch.make()
            except (ViewError, DTypeError, SpaceAccessError):
                if stretch.steps[0] is definition.steps[0]:
                    raise
                # Of what comes later, Views may fit by then, or it may not be its turn at all.

    def _runs(self, steps: Sequence[Step], maker: _Maker) -> list[Run]:
        """What runs steps, one after another; all but stretches stays as it is."""
        runs: list[Run] = []
        for parts, group in groupby(steps, _parts):
            together = list(group)
            if not parts:
                stretch = _Stretch(together, maker)
                self._stretches.append(stretch)
                runs.append(stretch)
                continue
            for step in together:
                if step.kind == "loop":
                    body = _all(self._runs(step.work.steps, maker))
                    runs.append(step.work.around(body, self.space))
                else:
                    runs.append(_called(step, self.space, self.label))
        return runs

    @property
    def fusion(self) -> tuple[str, ...]:
        return tuple(line for stretch in self._stretches for line in stretch.lines)

    def submit(self) -> None:
        """Run the graph once, with the arguments that its launches have now.

        In order with what was launched on its space. Asynchronous where the space is, unless it
        has calls of host functions, conditions, or kernels that print or assert. Where it is
        recorded for another graph, that graph runs it.

        Raises
        ------
        ViewError, DTypeError
            If Views of a copy or a function of the library do not fit each other any more. What
            comes before it up to the last loop or function of the host has not run then, either.
        """
        if dispatch.TOOLS:
            self._told()
        else:
            self._run()

    def _told(self) -> None:
        recorder = recording.current()
        if recorder is not None:
            recorder.call(self.label, self.submit, self.space)
            return
        with graph_events(self.label, self.space, self._kernels()):
            self._run()

    def _kernels(self) -> int:
        return sum(stretch.kernels for stretch in self._stretches)

    def explain(self) -> str:
        """What a submission runs: how many launches, and with ``fuse=True`` what was fused and what
        stood in the way, in lines."""
        lines = [f"{self.label}: {self._kernels()} launches on '{self.space.name}'"]
        return "\n".join([*lines, *(f"  {line}" for line in self.fusion)])

    def __reduce__(self) -> Any:
        raise TypeError(f"{self} cannot be pickled: it holds memory and code of this process.")

    def __repr__(self) -> str:
        return f"<instantiated graph '{self.label}' on '{self.space.name}'>"


class _Stretch:
    """Steps in a row, made ready together: the begin of each is a call of the host, or a loop.

    Made anew where arguments were exchanged or Views have got other memory, when it is its turn:
    what comes before may have changed them.
    """

    __slots__ = ("_maker", "_run", "_stamp", "kernels", "lines", "made", "steps")

    def __init__(self, steps: Sequence[Step], maker: _Maker) -> None:
        self.steps, self._maker = steps, maker
        self.made: list[Run] = []  # graphs of the space
        self.lines: Sequence[str] = ()
        self.kernels = 0
        self._stamp: tuple[int, int] | None = None
        self._run: Run = _nothing

    def __call__(self) -> None:
        if self._stamp != (self._maker.definition.version, Moves.last):
            self.make()
        self._run()

    def make(self) -> None:
        """Make it ready for the Views and arguments as they are."""
        with self._maker.lock:
            stamp = self._maker.definition.version, Moves.last
            self._run = _all(self._maker.runs(self))
            self._stamp = stamp


class _Maker:
    """Makes stretches of a graph ready."""

    def __init__(self, definition: Definition, fuse: Fusion | None) -> None:
        self.definition, self.space = definition, definition.space
        self.lock = new_rlock()
        self._fuse = fuse

    def runs(self, stretch: _Stretch) -> list[Run]:
        """What runs the steps of a stretch, one after another."""
        if self._fuse is not None:
            self._fuse.forget()
            self._fuse.users = self._users()
        runs: list[Run] = []
        made: list[Run] = []
        kernels = 0
        for is_launched, group in groupby(expanded(stretch.steps), _is_launched):
            together = list(group)
            if is_launched:
                launches, after = self._launches(together)
                kernels += len(launches)
                runs += self._replayed(launches, after, stretch.made, made)
            else:
                runs += (_other(step, self.space) for _, step in together)
        stretch.made, stretch.kernels = made, kernels
        stretch.lines = () if self._fuse is None else tuple(self._fuse.lines)
        return runs

    def _users(self) -> list[tuple[Step, tuple[Any, ...]]] | None:
        """What uses Views; None where nobody tells: of libraries and functions of the host."""
        steps = list(walk(self.definition.steps))
        if any(step.kind in ("call", "host") for step in steps):
            return None
        return [(step, _used(step)) for step in steps]

    def _launches(self, nodes: Sequence[tuple[Step, Step]]) -> tuple[list[GraphLaunch], bool]:
        """Launches in a row, as few as there can be; and whether the space takes them in turn."""
        space = self.space
        in_turn = not isinstance(space, SupportsGraphs) or config.is_portable()
        singles = [_single(step, owner) for owner, step in nodes]
        after = [()] * len(nodes) if in_turn else _dependences([o for o, _ in nodes], singles)
        return self._fused(singles, after), in_turn

    def _replayed(
        self, launches: list[GraphLaunch], in_turn: bool, known: Sequence[Run], made: list[Run]
    ) -> Iterator[Run]:
        """What runs launches: graphs of the space, where it has such; it adds them to `made`."""
        space = self.space
        if in_turn:
            yield _in_turn(launches)
            return
        assert isinstance(space, SupportsGraphs)
        first = 0
        for fits, group in groupby(launches, lambda one: space.can_replay(one.plan)):
            part = list(group)
            if fits:
                before = known[len(made)] if len(made) < len(known) else None
                made.append(space.instantiate(_numbered(part, first), before))
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


def _other(step: Step, space: ExecutionSpace) -> Run:
    """What runs a step that is no launch."""
    if step.kind != "copy":
        run: Run = step.work
        return run
    target, source = step.work
    # It was checked when it was recorded.
    return lambda: deep_copy(target, source, instance=space, casting="unsafe")


def _called(step: Step, space: ExecutionSpace, label: str) -> Run:
    """A call of a function that may do anything."""
    work: Run = step.work
    if step.kind != "host":
        return work

    def called() -> None:
        space.fence(f"host function of {label}")
        work()

    return called


def _parts(step: Step) -> bool:
    """Whether what comes after a step is made ready by itself."""
    return step.kind in ("loop", "host") or (
        step.kind == "call" and not isinstance(step.work, Part | EnqueuedWork)
    )


def _is_launched(pair: tuple[Step, Step]) -> bool:
    """Whether a step is a launch, or what a graph can have as one."""
    step = pair[1]
    return step.kind == "launch" or isinstance(step.work, EnqueuedWork)


def _nothing() -> None:
    return None


def _all(runs: Sequence[Run]) -> Run:
    """One call for several."""
    if len(runs) == 1:
        return runs[0]
    listed = tuple(runs)

    def run() -> None:
        for one in listed:  # a loop in C would take a StopIteration for its own end
            one()

    return run


def _in_turn(launches: Sequence[GraphLaunch]) -> Run:
    """Launches one after another, by a loop in C."""
    if any(isinstance(one.plan, EnqueuedWork) for one in launches):  # which may raise anything
        return _all([partial(one.plan.launch, one.bounds, one.args) for one in launches])
    functions = tuple(one.plan.launch for one in launches)
    bounds, args = tuple(one.bounds for one in launches), tuple(one.args for one in launches)
    consume = deque[Any](maxlen=0).extend
    return lambda: consume(map(call, functions, bounds, args))


def _single(node: Step, owner: Step) -> Single:
    """The launch of a node, by the plan that is tuned for it."""
    if isinstance(node.work, EnqueuedWork):
        return Single(node.work.name, node.work, (), node.work.views, owner)
    bound: Bound = node.work
    plan, bounds = bound.plan, bound.bounds
    if not config.is_portable():
        plan, bounds, _ = plan.chosen(bounds, bound.arguments)
    return Single(bound.kernel.name, plan, bounds, bound.arguments, owner)


def _used(node: Step) -> tuple[Any, ...]:
    """Views that a node uses, and other things."""
    work = node.work
    if isinstance(work, Bound):
        return work.arguments
    if isinstance(work, Part):
        return tuple(work.arguments.values())
    return (getattr(work, "flag", None),)


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

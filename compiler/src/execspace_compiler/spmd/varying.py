"""Which values, branches and loops of a function are the same in all lanes, and which vary.

Neighbouring calls of a kernel run in the lanes of vectors. What does not depend on the index that
differs between them is uniform: one number for all lanes, one branch. A variable that lanes set
under a condition that varies, varies itself where they meet again.

R. Karrenberg and S. Hack, "Whole-Function Vectorization", CGO 2011, has such an analysis on SSA.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from execspace.base.dataclass import dataclass

from .. import ir
from ..ir import Stmt
from ..ir.marks import OWN
from ..ir.types import Pointer, Scalar, ViewTy, flat_scalars
from .counters import is_capture
from .steps import Found, Step, Unknown, joined, step_of

Body = tuple[int, int]
"""A body in a function: the statement that has it, and which one of it."""


class NotVectorised(Exception):
    """A kernel has no form for vectors; the text says why."""


@dataclass(frozen=True)
class Findings:
    """What is known of a function, for given steps of its parameters.

    Attributes
    ----------
    steps : dict of str to int or None
        Of variables and parameters; of private arrays 0 if there is one for all lanes.
    results : tuple of int or None
        Steps of the numbers that it returns.
    diverging : frozenset of int
        The ids of the If, For and While whose lanes part ways.
    returns : bool
        Some lanes may return before others.
    merged : frozenset of int
        The ids of statements that set a variable, or clear an array, that lanes which are off at
        this place still need.
    """

    steps: Mapping[str, Step]
    results: tuple[Step, ...]
    diverging: frozenset[int]
    returns: bool
    merged: frozenset[int]


class Program:
    """The functions of a kernel, which is the last one, and what is known of them."""

    def __init__(self, functions: Sequence[ir.Function]) -> None:
        self.functions = {f.name: f for f in functions}
        self.kernel = functions[-1]
        self.waits: dict[str, bool] = {}
        for f in functions:  # callees first
            self.waits[f.name] = self.may_wait(*f.body)
        self._known: dict[tuple[str, tuple[Step, ...]], Findings] = {}

    def findings(self, name: str, steps: tuple[Step, ...]) -> Findings:
        """What is known of a function whose parameters have these steps; those of Views are 0,
        and those of arrays of each lane None."""
        key = name, steps
        if key not in self._known:
            self._known[key] = _Function(self, self.functions[name], steps).findings()
        return self._known[key]

    def called(self, x: ir.Call, steps: Sequence[Step]) -> tuple[Step, ...]:
        """Steps of the results of a call."""
        f = self.functions[x.function]
        if f.external is not None:
            return (None,) * len(flat_scalars(f.result))
        return self.findings(x.function, tuple(steps)).results

    def may_wait(self, *body: Stmt) -> bool:
        """Whether statements read by an atomic operation what other calls may have written."""
        for s in ir.walk_statements(body):
            if isinstance(s, ir.Atomic) and s.name is not None:
                return True
        calls = (e for e in ir.walk_expressions(body) if isinstance(e, ir.Call))
        return any(self.waits[e.function] for e in calls)


@dataclass
class _Event:
    """A variable is set or read."""

    sets: bool
    body: tuple[Body, ...]
    at: int
    step: Found = 0


class _Function:
    """Finds out; what is not known to vary yet is taken for uniform, until nothing changes."""

    def __init__(self, program: Program, f: ir.Function, given: tuple[Step, ...]) -> None:
        self.program = program
        self.f = f
        self.steps: dict[str, Found] = {}
        for p, step in zip(f.parameters, given, strict=True):
            self.steps[p.name] = 0 if isinstance(p.type, Pointer) else step
        self.parameters = frozenset(self.steps)
        self.diverging: set[int] = set()
        self.returns = False
        self.merged: set[int] = set()
        self.results: list[Found] = [Unknown.YET] * len(flat_scalars(f.result))
        self.loops: list[tuple[int, int]] = []  # id of a loop, and how deep its body is
        self.events: dict[str, list[_Event]] = {}
        self.counters: dict[str, int] = {}  # loops of which they are
        self.read: dict[int, list[tuple[str, bool]]] = {}  # by the statement, see `names_of`
        # Loops in which lanes that are off stay off.
        self.lasting = {
            id(s)
            for s in ir.walk_statements(f.body)
            if isinstance(s, ir.For | ir.While)
            and not any(isinstance(t, ir.Continue) for t in ir.own_statements(s.body))
        }

    def findings(self) -> Findings:
        before: object = None
        while before != (now := self._state()):
            before = now
            self.events = {n: [_Event(True, (), 0)] for n in self.parameters}
            self.merged = set()
            self.body(self.f.body, ())
            for name, events in self.events.items():
                self.settle(name, events)
        self.check_order()
        steps = {n: None if isinstance(s, Unknown) else s for n, s in self.steps.items()}
        results = tuple(None if isinstance(s, Unknown) else s for s in self.results)
        if self.returns:
            results = (None,) * len(results)
        return Findings(
            steps, results, frozenset(self.diverging), self.returns, frozenset(self.merged)
        )

    def _state(self) -> object:
        return dict(self.steps), set(self.diverging), self.returns, list(self.results)

    def check_order(self) -> None:
        """Refuse what is right only if one call follows the other, as on spaces of one thread."""
        every = ir.walk_statements(self.f.body)
        read = {e.view.name for e in ir.walk_expressions(self.f.body) if isinstance(e, ir.Load)}
        for s in every:
            private = isinstance(s, ir.Store) and (
                s.view.name in self.f.locals or self.steps.get(s.view.name, 0) is None
            )
            if isinstance(s, ir.Store) and s.view.name in read and not private:
                places = (*s.indices, *(() if s.byte is None else (s.byte,)))
                if all(self.step(i) in (0, None) for i in places):
                    raise NotVectorised(
                        f"lanes may change the same elements of '{s.view.name}', which it reads"
                    )
            ends = isinstance(s, ir.For) and any(
                isinstance(t, ir.Break | ir.Return) for t in ir.walk_statements(s.body)
            )
            if (ends or isinstance(s, ir.While)) and self.program.may_wait(s):
                raise NotVectorised("it has atomic operations in a loop that may wait for others")

    # -- variables ------------------------------------------------------------------------------

    def step(self, e: ir.Expr) -> Found:
        return step_of(e, self.steps, self.called)

    def called(self, x: ir.Call) -> Found:
        found = self.called_with(x)
        return found[0] if found else 0

    def called_with(self, x: ir.Call) -> Sequence[Found]:
        """Steps of the results of a call."""
        f = self.program.functions[x.function]
        steps: list[Step] = []
        for p, a in zip(f.parameters, x.args, strict=True):
            found = 0 if isinstance(p.type, Pointer) else self.argument(a)
            if isinstance(found, Unknown):
                return [Unknown.YET] * len(flat_scalars(f.result))
            steps.append(found)
        return self.program.called(x, steps)

    def argument(self, a: ir.Expr) -> Found:
        if isinstance(a, ir.Var) and isinstance(a.type, ViewTy):
            return None if a.type.shape is not None else 0
        return self.step(a)

    def sets(self, name: str, body: tuple[Body, ...], at: Stmt, step: Found) -> None:
        self.event(name, _Event(True, body, id(at), step))

    def reads(self, body: tuple[Body, ...], s: Stmt) -> None:
        """Of a statement without those in it."""
        names = self.read.get(id(s))
        if names is None:
            names = self.read[id(s)] = _names_of(s)
        for name, passed in names:
            self.event(name, _Event(True, body, 0, None) if passed else _Event(False, body, 0))

    def event(self, name: str, event: _Event) -> None:
        self.events.setdefault(name, []).append(event)

    def settle(self, name: str, events: list[_Event]) -> None:
        """Find out whether lanes meet where a variable lives.

        If all its life is in one body, which begins by setting it, lanes need to agree there only.
        """
        home = events[0].body
        for e in events:
            if e.body is not home:
                home = _common(home, e.body)
        if not (events[0].sets and events[0].body == home):
            home = ()
        within = self.region(home)
        step = self.steps.get(name, Unknown.YET)
        for e in events:
            if not e.sets or (name in self.parameters and e is events[0]):
                continue
            step = joined(step, e.step)
            region = within if e.body is home else self.region(e.body)
            if region != within and not self.ends_with(region, within, e, events):
                step = None
                self.merged.add(e.at)
        self.steps[name] = step

    def ends_with(
        self, region: Body | None, within: Body | None, e: _Event, events: list[_Event]
    ) -> bool:
        """Whether lanes that have left a loop need nothing of what a variable is set to in it: all
        reads are in the loop, and lanes that are off in it come back behind it only."""
        if region is None or region[0] not in self.lasting:
            return False
        if self.region(e.body[: e.body.index(region)]) != within:
            return False
        return all(other.sets or region in other.body for other in events)

    def region(self, bodies: tuple[Body, ...]) -> Body | None:
        """The innermost body around some place that lanes do not enter together."""
        return next((b for b in reversed(bodies) if b[0] in self.diverging), None)

    # -- statements -----------------------------------------------------------------------------

    def body(self, body: tuple[Stmt, ...], at: tuple[Body, ...]) -> None:
        for s in body:
            self.statement(s, at)

    def statement(self, s: Stmt, at: tuple[Body, ...]) -> None:
        match s:
            case ir.While():
                inside = (*at, (id(s), 0))
                self.reads(inside, s)
                if self.step(s.test) != 0 and not isinstance(self.step(s.test), Unknown):
                    self.diverging.add(id(s))
                self.loop(s, inside)
            case ir.For():
                self.reads(at, s)
                start, stop, step = (self.step(x) for x in (s.start, s.stop, s.step))
                inside = (*at, (id(s), 0))
                if not any(isinstance(x, Unknown) for x in (start, stop, step)):
                    if start is None or start != stop or step != 0:
                        self.diverging.add(id(s))
                    self.sets(s.name, inside, s, start if step == 0 else None)
                else:
                    self.sets(s.name, inside, s, Unknown.YET)
                self.loop(s, inside)
            case ir.If():
                self.reads(at, s)
                if self.step(s.test) != 0 and not isinstance(self.step(s.test), Unknown):
                    self.diverging.add(id(s))
                self.body(s.body, (*at, (id(s), 0)))
                self.body(s.orelse, (*at, (id(s), 1)))
            case ir.Break() | ir.Continue():
                loop, depth = self.loops[-1]
                if self.region(at[depth:]) is not None:
                    self.diverging.add(loop)
            case ir.Return():
                self.reads(at, s)
                for n, e in enumerate(ir.expressions(s)):
                    self.results[n] = joined(self.results[n], self.step(e))
                if self.region(at) is not None:
                    self.returns = True
            case _:
                self.simple(s, at)

    def capture(self, s: ir.Assign, at: tuple[Body, ...]) -> None:
        """What lanes take with them from the loop before."""
        assert isinstance(s.value, ir.Var)
        own = s.value.name
        step = self.steps.get(own, Unknown.YET)
        self.sets(s.name, at, s, None if self.counters.get(own) in self.diverging else step)

    def loop(self, s: ir.For | ir.While, inside: tuple[Body, ...]) -> None:
        self.loops.append((id(s), len(inside)))
        self.body(s.body, inside)
        self.loops.pop()

    def simple(self, s: Stmt, at: tuple[Body, ...]) -> None:
        """A statement without others in it."""
        if isinstance(s, ir.Assign) and is_capture(s):
            self.capture(s, at)
            return
        if isinstance(s, ir.Assign) and OWN in s.name and self.loops:
            self.counters[s.name] = self.loops[-1][0]
        self.reads(at, s)
        match s:
            case ir.Assign():
                self.sets(s.name, at, s, self.step(s.value))
            case ir.Unpack():
                for name, step in zip(s.names, self.called_with(s.value), strict=True):
                    self.sets(name, at, s, step)
            case ir.Evaluate():
                if isinstance(s.value, ir.Call):
                    self.called_with(s.value)
            case ir.Clear():
                self.sets(s.array.name, at, s, 0)
            case ir.Store():
                if s.view.name in self.f.locals:
                    steps = [self.step(e) for e in ir.expressions(s)]
                    known = not any(isinstance(x, Unknown) for x in steps)
                    uniform = 0 if all(x == 0 for x in steps) else None
                    self.sets(s.view.name, at, s, uniform if known else Unknown.YET)
            case ir.Atomic():
                if s.name is not None:
                    self.sets(s.name, at, s, None)
            case ir.Print() | ir.Fail():
                pass
            case _:
                raise NotVectorised(f"it has a statement {type(s).__name__}")


def _names_of(s: Stmt) -> list[tuple[str, bool]]:
    """Variables and arrays that a statement reads, and whether it passes one to a function: that
    gets arrays of each lane."""
    found: list[tuple[str, bool]] = []
    for e in ir.subexpressions(*ir.expressions(s)):
        if isinstance(e, ir.Var):
            found.append((e.name, False))
        elif isinstance(e, ir.Load):
            found.append((e.view.name, False))
        elif isinstance(e, ir.Call):
            for a in e.args:
                if isinstance(a, ir.Var) and isinstance(a.type, ViewTy) and a.type.shape:
                    found.append((a.name, True))
    return found


def _common(a: tuple[Body, ...], b: tuple[Body, ...]) -> tuple[Body, ...]:
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return a[:n]


def scalar_types(f: ir.Function) -> dict[str, Scalar]:
    """Types of the numbers of a function by name."""
    named = {p.name: p.type for p in f.parameters} | f.locals
    return {n: t for n, t in named.items() if isinstance(t, Scalar)}

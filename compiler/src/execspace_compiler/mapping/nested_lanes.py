"""Nested ranges of teams on hosts: neighbouring iterations in lanes of vectors.

Iterations that join numbers do so in groups of as many as there are running values, whatever the
number of lanes, and those that are left over one after the other. So a result has the same bits on
every processor. Most ranges are short: nothing but the loops of whole groups costs them anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from execspace.base.dataclass import dataclass
from execspace.base.flags import MOST_LANES

from .. import ir
from ..ir import Assign, Call, Expr, For, If, Op, Stmt, Var, integer, op, var
from ..ir.rewriting import names_set_in
from ..ir.types import BOOL, INT64, Pointer, Scalar, ViewTy
from ..reductions.joins import State
from ..reductions.reduction import returned, returned_type
from ..reductions.running import Running, in_order
from ..spmd.choice import Choice, chosen
from ..spmd.varying import NotVectorised
from ..teams.failures import FAILS, FLAGS
from ..teams.ranges import Outer, Ranges, around
from ..teams.single_thread import joined
from .lanes import loop_in_lanes, whole_vectors

RUNNING = 8
"""Most running values: vectors of so many numbers hide the latency of an addition, and short ranges
have as many iterations."""


@dataclass(frozen=True)
class Processor:
    """What lanes depend on: features as LLVM names them, lanes that the user asks for (0: none),
    and whether products and sums are contracted."""

    features: frozenset[str]
    asked: int
    fma: bool


class LaneRanges(Ranges):
    """Writes ranges whose iterations run in lanes, where that is worth it.

    Attributes
    ----------
    choices : list of (int, Choice)
        How each range runs, with its line.
    """

    def __init__(
        self, functions: Sequence[ir.Function], count: int, processor: Processor
    ) -> None:  # fmt: skip
        super().__init__()
        self.known = {f.name: f for f in functions}
        self.count, self.processor = count, processor
        self.choices: list[tuple[int, Choice]] = []
        self.joins: dict[str, ir.Combine] = {}
        self.types: Mapping[str, object] = {}

    def begin(self, body: ir.Function) -> None:
        """Find what its ranges join."""
        self.types = {**{p.name: p.type for p in body.parameters}, **body.locals}
        for s in ir.walk_statements(body.body):
            if isinstance(s, ir.Combine):
                self.joins |= {v.name: s for v in s.states}

    def loop(
        self, s: ir.Split, outer: Sequence[Outer], name: str, first: Expr, last: Expr, step: Expr,
        body: tuple[Stmt, ...],
    ) -> list[Stmt]:  # fmt: skip
        """Loops over a range."""
        joins = self.joined(body)
        if joins is not None and joins.together is None:
            return super().loop(s, outer, name, first, last, step, tuple(in_order(body)))
        ordered = joins is not None and joins.together is not None and joins.together.ordered
        alone = any(isinstance(t, For) and t.nested for t in ir.walk_statements(body))
        if alone or self.count == 1 or not (isinstance(step, ir.Const) and step.value == 1):
            body = tuple(in_order(body)) if ordered else body
            return super().loop(s, outer, name, first, last, step, body)
        running = None if joins is None else self.running(joins)
        most = self.count if outer and len(s.names) == 1 else MOST_LANES  # of a block of a member
        choice, given = self.chosen(name, body, running, most)
        self.choices.append((s.loc.line, choice))
        form, label = choice.form, f"_r{len(self.choices)}"
        if form is None and not ordered:
            return super().loop(s, outer, name, first, last, step, body)
        begin, whole, end, index = (f"{n}{label}" for n in ("_begin", "_whole", "_end", "_i"))
        self.locals[index] = INT64
        if form is not None:
            self.functions += form.functions
        if running is None:
            assert form is not None
            inner = loop_in_lanes(self.locals, (var(index), *given), label, first, last, form)
            return [around(outer, inner, s)]
        self.locals |= {begin: INT64, whole: INT64, end: INT64, **running.locals()}
        groups: list[Stmt]
        if form is None:
            turn = running.joined(running.place(name, begin), body)
            groups = [For(name, var(begin), var(whole), step, tuple(turn), loc=s.loc)]
        else:
            groups = whole_vectors(self.locals, (var(index), *given), label, form, running)
        left = op("truncmod", op("sub", var(end), var(begin)), integer(running.count))
        some = (*running.reset(), *groups, *running.fold())
        row = (
            Assign(begin, first),
            Assign(end, last),
            Assign(whole, op("sub", var(end), left)),
            If(op("lt", var(begin), var(whole)), some),
            For(name, var(whole), var(end), step, tuple(in_order(body)), loc=s.loc),
        )
        return [around(outer, If(Op("lt", (first, last), BOOL), row), s)]

    def joined(self, body: tuple[Stmt, ...]) -> ir.Combine | None:
        """What joins the contributions of an iteration."""
        found = (self.joins.get(n) for n in names_set_in(body))
        return next((c for c in found if c and not c.states[0].name.startswith(FLAGS)), None)

    def running(self, joins: ir.Combine) -> Running:
        """The running values of a range."""
        together = joins.together
        assert together is not None
        pairs = zip(joins.states, together.identity, strict=True)
        states = tuple(State(v.name, _scalar(v.type), i) for v, i in pairs)

        def merge(others: tuple[Expr, ...]) -> list[Stmt]:
            return [joined(joins.states, joins.states, others, joins.merge)]

        return Running(states, self.count, together.ordered, merge, together.operations)

    def chosen(
        self, name: str, body: tuple[Stmt, ...], running: Running | None, most: int
    ) -> tuple[Choice, tuple[Expr, ...]]:
        """The form of an iteration, and the arguments behind its index."""
        processor, number = self.processor, len(self.choices)
        try:
            made, given = self.function(f"_range{number}", name, body, running)
        except NotVectorised as reason:
            return Choice(None, str(reason)), ()
        suffix = f"__range{number}_"
        functions = (*self.called(made), made)
        choice = chosen(
            functions, 0, processor.asked, processor.features, suffix, processor.fma, running,
            most=most, what="iterations",
        )  # fmt: skip
        return choice, given

    def called(self, f: ir.Function) -> list[ir.Function]:
        """The functions that one calls, callees first."""
        wanted = {f.name}
        for g in (f, *reversed(self.known.values())):
            if g.name in wanted:
                calls = (e for e in ir.walk_expressions(g.body) if isinstance(e, Call))
                wanted |= {e.function for e in calls}
        return [g for g in self.known.values() if g.name in wanted]

    def function(
        self, name: str, index: str, body: tuple[Stmt, ...], running: Running | None
    ) -> tuple[ir.Function, tuple[Expr, ...]]:
        """An iteration as a function of its index, of what it reads, and of the states that it
        joins to and returns; and the arguments for what it reads.

        Raises
        ------
        NotVectorised
            If it cannot be one.
        """
        states = () if running is None else tuple(s.var for s in running.states)
        set_ = {*names_set_in(body)} - {s.name for s in states}
        if any(isinstance(s, ir.Fail) for s in ir.walk_statements(body)) or any(
            n.startswith((*FLAGS, FAILS)) for n in set_
        ):
            raise NotVectorised("it has assertions")
        body = tuple(_without_continue(_inlined(s, self.known), states) for s in body)
        if running is not None and running.ordered:
            body = tuple(in_order(body))
        cleared = {s.array.name for s in ir.walk_statements(body) if isinstance(s, ir.Clear)}
        own = set_ | cleared | {index, *(s.name for s in states)}
        given: dict[str, Var] = {}
        for v in _variables(body):
            if v.name in own:
                continue
            if isinstance(v.type, ViewTy) and v.type.shape is not None:
                raise NotVectorised(f"it uses '{v.name}', a private array of the thread")
            if isinstance(v.type, Pointer):
                raise NotVectorised("it uses memory of its own")
            given.setdefault(v.name, _strong(v))
        locals_: dict[str, Scalar | ViewTy] = {}
        for n in (*set_, *cleared):
            type = self.types.get(n, self.locals.get(n, INT64))
            assert isinstance(type, Scalar | ViewTy)
            locals_[n] = type
        end = (returned(states),) if states else ()
        result = returned_type(states) if states else None
        parameters = (Var(index, INT64), *given.values(), *states)
        made = ir.Function(name, parameters, result, locals_, (*body, *end))
        return made, tuple(given.values())


def _scalar(type: object) -> Scalar:
    assert isinstance(type, Scalar)
    return type.strong


def _strong(v: Var) -> Var:
    return replace(v, type=v.type.strong) if isinstance(v.type, Scalar) else v


def _variables(body: tuple[Stmt, ...]) -> list[Var]:
    """Variables and Views that statements use."""
    found: list[Var] = []
    for e in ir.walk_expressions(body):
        if isinstance(e, Var):
            found.append(e)
        elif isinstance(e, ir.Load | ir.Extent):
            found.append(e.view)
    for s in ir.walk_statements(body):
        if isinstance(s, ir.Store | ir.Atomic):
            found.append(s.view)
    return found


def _without_continue(s: Stmt, states: tuple[Var, ...]) -> Stmt:
    """A statement whose iteration ends by a return."""
    if isinstance(s, ir.Continue):
        return returned(states) if states else ir.Return(None, s.loc)
    if isinstance(s, For | ir.While):
        return s
    bodies = (tuple(_without_continue(t, states) for t in b) for b in ir.bodies(s))
    return ir.with_bodies(s, tuple(bodies))


def _inlined(s: Stmt, known: Mapping[str, ir.Function]) -> Stmt:
    """A statement with the values of functions that are an expression in place of their calls, so
    that a product which they return is contracted with the sum that it is joined to."""

    def change(e: Expr) -> Expr:
        e = ir.with_operands(e, tuple(map(change, ir.operands(e))))
        f = known.get(e.function) if isinstance(e, Call) else None
        if f is None or f.external is not None or f.strict or len(f.body) != 1:
            return e
        assert isinstance(e, Call)
        value = f.body[0].value if isinstance(f.body[0], ir.Return) else None
        if not isinstance(value, ir.Expr) or not all(isinstance(a, Var | ir.Const) for a in e.args):
            return e
        return _substituted(value, {p.name: a for p, a in zip(f.parameters, e.args, strict=True)})

    s = ir.with_expressions(s, tuple(map(change, ir.expressions(s))))
    return ir.with_bodies(s, tuple(tuple(_inlined(t, known) for t in b) for b in ir.bodies(s)))


def _substituted(e: Expr, arguments: Mapping[str, Expr]) -> Expr:
    e = ir.with_operands(e, tuple(_substituted(a, arguments) for a in ir.operands(e)))
    if isinstance(e, Var):
        return arguments[e.name]
    if isinstance(e, ir.Load | ir.Extent):
        view = arguments[e.view.name]
        assert isinstance(view, Var)
        return replace(e, view=view)
    return e

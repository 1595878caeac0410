"""Nested ranges of teams on hosts: neighbouring iterations in lanes of vectors.

Iterations that join numbers do so in groups of as many as there are running values, whatever the
number of lanes, and those that are left over one after the other. So a result has the same bits on
every processor. Most ranges are short: nothing but the loops of whole groups costs them anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from execspace.base.flags import MOST_LANES

from .. import ir
from ..ir import Assign, Call, Expr, For, If, Op, Stmt, Var, integer, op, var
from ..ir.rewriting import names_set_in, rewritten
from ..ir.types import BOOL, INT64, Pointer, Scalar, ViewTy
from ..passes.scan_packing import with_constant
from ..passes.scan_parts import ScanParts
from ..reductions.joins import State
from ..reductions.reduction import returned, returned_type
from ..reductions.running import Running, in_order
from ..spmd.choice import Choice, Processor, chosen
from ..spmd.varying import NotVectorised
from ..teams.failures import FAILS, FLAGS
from ..teams.ranges import Outer, Ranges, around
from ..teams.single_thread import joined
from .lanes import Turns, loop_in_lanes, whole_vectors
from .scan_lanes import scan_choice, scan_in_lanes

RUNNING = 8
"""Most running values: vectors of so many numbers hide the latency of an addition, and short ranges
have as many iterations."""


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
        alone = any(isinstance(t, ir.Split | ir.ScanRange) for t in ir.walk_statements(s.body))
        if alone or self.count == 1 or not (isinstance(step, ir.Const) and step.value == 1):
            body = tuple(in_order(body)) if ordered else body
            return super().loop(s, outer, name, first, last, step, body)
        running = None if joins is None else self.running(joins)
        most = self.count if outer and len(s.names) == 1 else MOST_LANES  # of a block of a member
        if isinstance(first, ir.Const) and isinstance(last, ir.Const):
            length = max(2, int(last.value) - int(first.value))
            most = min(most, 1 << (length.bit_length() - 1))
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

    def scan(
        self, s: ir.ScanRange, body: tuple[Stmt, ...], probe: tuple[Stmt, ...], join: Stmt
    ) -> list[Stmt]:
        """The loop of a scan."""
        processor, number = self.processor, len(self.choices)
        try:
            parts, given = self.scan_parts(f"_range{number}", s, body, probe)
            called = self.called(parts.contribution, parts.rest)
            choice = scan_choice(parts, called, 0, processor, f"__range{number}")
        except NotVectorised as reason:
            choice, given = Choice(None, str(reason)), ()
        self.choices.append((s.loc.line, choice))
        if choice.form is None:
            return super().scan(s, body, probe, join)
        label = f"_r{len(self.choices)}"
        self.functions += choice.form.functions
        self.locals[f"_i{label}"] = INT64
        turns = Turns(tuple(v.name for v in s.own), (join,))
        passed = (var(f"_i{label}"), *given)
        return [
            scan_in_lanes(
                self.locals, passed, label, s.start, s.stop, choice.form, s.states, turns
            )
        ]  # fmt: skip

    def scan_parts(
        self, name: str, s: ir.ScanRange, body: tuple[Stmt, ...], probe: tuple[Stmt, ...]
    ) -> tuple[ScanParts, tuple[Expr, ...]]:
        """An iteration of a scan as two functions of the same, and the arguments for that."""
        nothing = {v.name: ir.Const(0, _scalar(v.type)) for v in s.states}

        def without_prefix(e: Expr) -> Expr:
            e = ir.with_operands(e, tuple(map(without_prefix, ir.operands(e))))
            return nothing.get(e.name, e) if isinstance(e, Var) else e

        probe = tuple(rewritten(t, without_prefix) for t in probe)
        probe, body = (self._with_constants(part, name) for part in (probe, body))
        both = (*self.given(s.name, probe, s.own), *self.given(s.name, body, s.states))
        given = {v.name: v for v in both}
        own = self.function(f"{name}_own", s.name, probe, given, (), s.own)
        rest = self.function(f"{name}_rest", s.name, body, given, s.states, ())
        return ScanParts(own, (), rest), tuple(given.values())

    def _with_constants(self, body: tuple[Stmt, ...], label: str) -> tuple[Stmt, ...]:
        """Statements whose calls with constant tests are those of functions without these."""

        def change(e: Expr) -> Expr:
            e = ir.with_operands(e, tuple(map(change, ir.operands(e))))
            if not isinstance(e, Call) or self.known[e.function].external is not None:
                return e
            f, name = self.known[e.function], e.function
            for p, a in zip(f.parameters, e.args, strict=True):
                fixed = p.name not in names_set_in(f.body)
                if fixed and isinstance(a, ir.Const) and a.type == BOOL:
                    name += f"{label}_{p.name}_{bool(a.value)}"
                    f = replace(with_constant(f, p, bool(a.value)), name=name)
            self.known[name] = f
            return replace(e, function=name)

        return tuple(rewritten(t, change) for t in body)

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
            states = () if running is None else tuple(s.var for s in running.states)
            if running is not None and running.ordered:
                body = tuple(in_order(body))
            given = {v.name: v for v in self.given(name, body, states)}
            made = self.function(f"_range{number}", name, body, given, states, states)
        except NotVectorised as reason:
            return Choice(None, str(reason)), ()
        suffix = f"__range{number}_"
        functions = (*self.called(made), made)
        choice = chosen(
            functions, 0, processor, suffix, running, most=most, what="iterations"
        )  # fmt: skip
        return choice.without_asking("iterations"), tuple(given.values())

    def called(self, *functions: ir.Function) -> list[ir.Function]:
        """The functions that some call, callees first."""
        wanted = {f.name for f in functions}
        for g in (*functions, *reversed(self.known.values())):
            if g.name in wanted:
                calls = (e for e in ir.walk_expressions(g.body) if isinstance(e, Call))
                wanted |= {e.function for e in calls}
        return [g for g in self.known.values() if g.name in wanted]

    def given(self, index: str, body: tuple[Stmt, ...], own: tuple[Var, ...]) -> list[Var]:
        """What an iteration reads, but for its index and for what it sets or gets as its own.

        Raises
        ------
        NotVectorised
            If it cannot be passed to a function.
        """
        found = []
        mine = _set(body) | {index, *(v.name for v in own)}
        for v in _variables(tuple(_inlined(s, self.known) for s in body)):
            if v.name in mine:
                continue
            if isinstance(v.type, ViewTy) and v.type.shape is not None:
                raise NotVectorised(f"it uses '{v.name}', a private array of the thread")
            if isinstance(v.type, Pointer):
                raise NotVectorised("it uses memory of its own")
            found.append(_strong(v))
        return found

    def function(
        self, name: str, index: str, body: tuple[Stmt, ...], given: Mapping[str, Var],
        last: tuple[Var, ...], results: tuple[Var, ...],
    ) -> ir.Function:  # fmt: skip
        """An iteration as a function of its index, of what it is given, and of further variables;
        it returns others.

        Raises
        ------
        NotVectorised
            If it cannot be one.
        """
        set_ = _set(body) - {v.name for v in last}
        if any(isinstance(s, ir.Fail) for s in ir.walk_statements(body)) or any(
            n.startswith((*FLAGS, FAILS)) for n in set_
        ):
            raise NotVectorised("it has assertions")
        results = tuple(map(_strong, results))
        body = tuple(_without_continue(_inlined(s, self.known), results) for s in body)
        locals_: dict[str, Scalar | ViewTy] = {}
        for n in set_:
            type = self.types.get(n, self.locals.get(n, INT64))
            assert isinstance(type, Scalar | ViewTy)
            locals_[n] = type
        end = (returned(results),) if results else ()
        result = returned_type(results) if results else None
        parameters = (Var(index, INT64), *given.values(), *map(_strong, last))
        return ir.Function(name, parameters, result, locals_, (*body, *end))


def _set(body: tuple[Stmt, ...]) -> set[str]:
    """Variables that statements set, and arrays that they clear."""
    cleared = {s.array.name for s in ir.walk_statements(body) if isinstance(s, ir.Clear)}
    return {*names_set_in(body)} | cleared


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

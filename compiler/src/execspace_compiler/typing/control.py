"""Typing of if and elif, and of loops: over ranges, over tuples, and while."""

from __future__ import annotations

from collections.abc import Sequence

from .. import ir
from ..frontend import hir
from ..ir.diagnostics import Fault, Loc, syntax_fault, type_fault
from ..ir.types import BOOL, INDEX, INT64, Scalar
from .assignments import AssignmentRules, joined
from .rules.teams import index_variables
from .values import NestedRange, TupleValue, Value, describe, is_view, part_name, scalar, type_of

_GROUP = 16  # tests of a chain of elif that nest in each other


class ControlRules(AssignmentRules):
    """Statements that hold others; FunctionTyper adds the rest.

    Attributes
    ----------
    unrolled : list of (str or None)
        For each loop around a statement the flag that a break sets, if the loop is unrolled.
    rounds : list of str
        Rounds of the loops over tuples that are being unrolled.
    """

    unrolled: list[str | None]
    rounds: list[str]

    def split_loop(self, s: hir.ForEach, items: NestedRange) -> None:
        """A for loop over a nested range."""
        for inner in hir.walk(s.body):
            if isinstance(inner, hir.Return):
                hint = "leave the kernel before or after the loop"
                raise syntax_fault(inner.loc, f"return in a loop over {items.word}", hint)
        if hir.breaks(s.body):
            hint = "skip what must not be done with if, or write a loop over range"
            message = f"break in a loop over {items.word}, whose iterations run at once"
            raise syntax_fault(s.loc, message, hint)
        names = index_variables(self, items)
        saved, self.out = self.out, []
        values: list[Value] = [ir.Var(n, INDEX, s.target.loc) for n in names]
        item = values[0] if len(values) == 1 else TupleValue(tuple(values))
        try:
            self.assign(s.target, item, s.loc, s.items.loc)
            body = self.out + self.body_of_loop(s.body)
        finally:
            self.out = saved
        self.nested_ranges[id(s)] = items.word
        self.out.append(ir.Split(items.level, names, items.starts, items.stops, tuple(body), s.loc))

    def branch(self, s: hir.If) -> None:
        """An if; where the test is a constant only one side is compiled."""
        test = self.test(s.test)
        outcome = self.decide(s, test)
        if outcome is not None:
            self.out += self.block(s.body if outcome else s.orelse)
            return
        body, orelse = self.block(s.body), self.block(s.orelse)
        self.out.append(ir.If(test, tuple(body), tuple(orelse), s.loc))

    def cases(self, s: hir.Cases) -> None:
        """A long chain of elif: which arm is taken is found first, a group of tests at a time, and
        then done, so that nothing nests deeply."""
        arms: list[tuple[list[ir.Stmt], ir.Expr, list[ir.Stmt]]] = []
        orelse: list[ir.Stmt] | None = None
        carried: list[ir.Stmt] = []
        for arm in s.arms:
            saved, self.out = self.out, carried
            try:
                test = self.test(arm.test)
            finally:
                emitted, self.out = self.out, saved
            outcome = self.decide(arm, test)
            carried = emitted if outcome is not None else []
            if outcome is False:
                continue
            body = self.block(arm.body)
            if outcome:
                orelse = body
                break
            arms.append((emitted, test, body))
        if orelse is None:
            orelse = self.block(s.orelse)
        if not arms:
            self.out += [*carried, *orelse]
            return
        last = ir.Const(len(arms), INDEX, s.loc)
        taken = ir.Var(self.temporary(INDEX), INDEX, s.loc)
        self.out.append(ir.Assign(taken.name, last, s.loc))
        for first in range(0, len(arms), _GROUP):
            inner: list[ir.Stmt] = carried if first + _GROUP >= len(arms) else []
            for n in reversed(range(first, min(first + _GROUP, len(arms)))):
                emitted, test, _ = arms[n]
                number = ir.Assign(taken.name, ir.Const(n, INDEX, s.loc), s.loc)
                inner = [*emitted, ir.If(test, (number,), tuple(inner), s.loc)]
            if first:
                untaken = ir.Op("eq", (taken, last), BOOL, s.loc)
                inner = [ir.If(untaken, tuple(inner), loc=s.loc)]
            self.out += inner
        self.out += _halved([*(body for _, _, body in arms), orelse], 0, taken, s.loc)

    def while_(self, s: hir.While) -> None:
        """A while loop; a test that needs statements moves into the loop."""
        saved, self.out = self.out, []
        try:
            test = self.test(s.test)
        finally:
            emitted, self.out = self.out, saved
        if self.decide(s, test) is False:  # as an if, it leaves its body out
            self.out += emitted
            return
        body = self.body_of_loop(s.body)
        if emitted:
            done = ir.If(ir.Op("not", (test,), BOOL, s.loc), (ir.Break(s.loc),), loc=s.loc)
            body, test = [*emitted, done, *body], ir.Const(True, BOOL, s.loc)
        self.out.append(ir.While(test, tuple(body), s.loc))

    def each(self, s: hir.ForEach) -> None:
        """A loop over a tuple: its body once for each item.

        Where it has a break or continue, each body is a loop of one round, which they leave; a
        break sets a flag that skips the bodies after it.
        """
        items = self.keep(self.value(s.items))
        if isinstance(items, NestedRange):
            self.split_loop(s, items)
            return
        if not isinstance(items, TupleValue):
            hint = "write for k in range(n), or for v in (a, b, c)"
            if is_view(items):
                hint = "loop over range(A.extent(0)) and index A in the loop"
            raise type_fault(
                s.items.loc,
                f"a for loop in a kernel runs over range(...) or a tuple, got {describe(items)}",
                hint,
            )
        flag = self.temporary(BOOL) if hir.breaks(s.body) else None
        if flag is not None:
            self.out.append(ir.Assign(flag, ir.Const(False, BOOL, s.loc), s.loc))
        several = self.of_several_kinds(s.target, items.items)
        for n, item in enumerate(items.items):
            saved, self.out = self.out, []
            self.rounds.append(f"{s.loc.line}_{s.loc.column}_{n}")
            outer = self.own
            self.own = {**outer, **{v: part_name(v, "_".join(self.rounds)) for v in several}}
            try:
                self.assign(s.target, item, s.loc, s.items.loc)
                once = self.out + self.body_of_loop(s.body, flag)
            finally:
                self.out, self.own = saved, outer
                self.rounds.pop()
            if hir.leaves(s.body):
                name = self.temporary(INDEX)
                zero, one = ir.Const(0, INDEX, s.loc), ir.Const(1, INDEX, s.loc)
                once = [ir.For(name, zero, one, one, tuple(once), loc=s.loc)]
            if flag is not None:
                going = ir.Op("not", (ir.Var(flag, BOOL, s.loc),), BOOL, s.loc)
                once = [ir.If(going, tuple(once), loc=s.loc)]
            self.out += once

    def of_several_kinds(self, target: hir.Expr, values: Sequence[Value]) -> list[str]:
        """Variables of a loop over a tuple whose values have no common type: functions, say.

        Each round of the loop has such a variable of its own, which code outside cannot read.
        """
        if isinstance(target, hir.Tuple):
            found = []
            for n, part in enumerate(target.items):
                if all(isinstance(v, TupleValue) and n < len(v.items) for v in values):
                    items = [v.items[n] for v in values if isinstance(v, TupleValue)]
                    found += self.of_several_kinds(part, items)
            return found
        if not isinstance(target, hir.Local):
            return []
        if all(isinstance(v, ir.Expr) and isinstance(v.type, Scalar) for v in values):
            return []
        try:
            types = [type_of(v, target.loc) for v in values]
            for type in types[1:]:
                types[0] = joined(types[0], type, target.name, target.loc)
        except Fault as fault:
            self.several[target.name] = fault.diagnostics[0].message
            return [target.name]
        return []

    def loop(self, s: hir.For) -> None:
        """A loop over range."""
        bounds = []
        for e, value in zip((s.start, s.stop, s.step), self.operands((s.start, s.stop, s.step)),
                            strict=True):  # fmt: skip
            bound = scalar(value, e.loc)
            if not bound.type.is_integer and bound.type.kind != "b":
                raise type_fault(
                    e.loc, f"range takes integers, got {bound.type}", "convert it with int(...)"
                )
            bounds.append(self.coerce(bound, INDEX))
        if isinstance(bounds[2], ir.Const) and bounds[2].value == 0:
            hint = "give a step of 1 or more, or of -1 or less"
            raise type_fault(s.step.loc, "the step of range is zero", hint)
        if not isinstance(bounds[2], ir.Const):
            # A step that turns out to be zero makes an empty loop: kernels cannot raise.
            start, stop, step = bounds
            moves = ir.Op("ne", (step, ir.Const(0, INDEX)), BOOL, s.step.loc)
            bounds[1] = ir.Select(moves, stop, start, INDEX, s.step.loc)
            bounds[2] = ir.Select(moves, step, ir.Const(1, INDEX), INDEX, s.step.loc)
        name = variable = self.own.get(s.name, s.name)
        self.widen(variable, INDEX, s.loc)
        type = self.scalar_type(variable)
        body: list[ir.Stmt] = []
        if type.strong != INT64 or s.name in {
            t.name for inner in hir.walk(s.body) for t in hir.targets(inner)
        }:
            # The counter is separate where the body changes the variable: range does not care.
            name = f"_k{s.loc.line}_{s.loc.column}"
            self.types[name] = INDEX
            body.append(ir.Assign(variable, self.coerce(ir.Var(name, INDEX), type), s.loc))
        body += self.body_of_loop(s.body)
        self.out.append(ir.For(name, bounds[0], bounds[1], bounds[2], tuple(body), loc=s.loc))


def _halved(bodies: Sequence[list[ir.Stmt]], first: int, number: ir.Var, loc: Loc) -> list[ir.Stmt]:
    """One of several bodies by its number, which counts from `first`."""
    if len(bodies) == 1:
        return bodies[0]
    half = len(bodies) // 2
    below = ir.Op("lt", (number, ir.Const(first + half, INDEX, loc)), BOOL, loc)
    yes = _halved(bodies[:half], first, number, loc)
    no = _halved(bodies[half:], first + half, number, loc)
    return [ir.If(below, tuple(yes), tuple(no), loc)]

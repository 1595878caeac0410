"""Loops in lanes: those that all lanes run together, and those that some leave before others."""

from __future__ import annotations

from dataclasses import replace

from .. import ir
from ..ir import Expr, Op, Stmt, Var
from ..ir.types import BOOL, INT64, UINT64, Scalar, Vector
from .statements import Loop, StatementWriter, has_return
from .steps import Step


class LoopWriter(StatementWriter):
    """Writes loops, and all else."""

    def loses_lanes(self, s: ir.For | ir.While) -> bool:
        """Whether lanes leave a loop before others."""
        leaves = self.known.returns and has_return(s.body)
        return leaves or id(s) in self.known.diverging

    def plain(self, s: ir.For | ir.While) -> tuple[Stmt, ...]:
        """The body of a loop that all lanes run together."""
        self.loops.append(None)
        with self.body() as inner:
            self.block(s.body)
        self.loops.pop()
        return tuple(inner)

    def iteration(self, s: ir.For | ir.While, active: Var, captures: list[ir.Assign]) -> None:
        """The body of a loop for the lanes in `active`, which then has those that go on."""
        again = None
        if any(isinstance(t, ir.Continue) for t in ir.own_statements(s.body)):
            again = self.held("again", self.none)
        body = self.held("body", active) if self._changes(s.body) else active
        self.loops.append(Loop(again, captures))
        self.mask = body
        self.block(s.body)
        self.loops.pop()
        on: Expr = body
        if again is not None:
            on = self.either(body, again)
        if on != active:
            self.out.append(ir.Assign(active.name, on))

    def _changes(self, body: tuple[Stmt, ...]) -> bool:
        """Whether lanes may leave the body of a loop."""
        leaves = any(isinstance(t, ir.Break | ir.Continue) for t in ir.own_statements(body))
        return leaves or (self.known.returns and has_return(body))

    def after(self, s: ir.For | ir.While, outer: Var) -> None:
        """Behind a loop all lanes are on again, but for those that have returned."""
        self.mask = outer
        if self.known.returns and has_return(s.body):
            assert self.left is not None
            self.out.append(ir.Assign(outer.name, self.without(outer, self.left)))

    def stop_if(self, test: Expr) -> None:
        self.out.append(ir.If(test, (ir.Break(),)))

    def nobody(self, mask: Expr) -> Expr:
        return Op("not", (self.any(mask),), BOOL)

    def while_loop(self, s: ir.While) -> None:
        """A loop while a test holds."""
        if not self.loses_lanes(s):
            with self.body() as before:
                test = self.same(s.test)
            if before:
                end = ir.If(Op("not", (test,), BOOL), (ir.Break(),))
                test, before = ir.Const(True, BOOL), [*before, end]
            self.out.append(ir.While(test, (*before, *self.plain(s)), s.loc, s.rolled))
            return
        outer, captures = self.mask, self.captures
        active = self.held("active", outer)
        with self.body() as inner:
            self.mask = active
            left: Expr | None = s.test
            if self._leading(s.test) is not None and self._changes(s.body):
                self.stop_if(self.nobody(active))
            while left is not None and (one := self._leading(left)) is not None:
                self.stop_if(Op("not", (self.same(one),), BOOL))
                left = left.args[1] if isinstance(left, Op) and one is not left else None
            if left is not None:
                self.go_on_if(self.spread(left), active, captures)
            self.iteration(s, active, captures)
        self.out.append(ir.While(ir.Const(True, BOOL), tuple(inner), s.loc, rolled=True))
        self.take(captures, active)
        self.after(s, outer)

    def _leading(self, test: Expr) -> Expr | None:
        """What of a test comes first and is the same for all lanes."""
        if self.step(test) == 0:
            return test
        if isinstance(test, Op) and test.op == "and" and self.step(test.args[0]) == 0:
            return test.args[0]
        return None

    def go_on_if(self, test: Expr, active: Var, captures: list[ir.Assign]) -> None:
        """Lanes for which a test does not hold leave a loop."""
        if captures:
            before = self.held("before", active)
        self.out.append(ir.Assign(active.name, self.both(active, test)))
        if captures:
            leaving = self.held("leaving", self.without(before, active))
            with self.body() as inner:
                self.take(captures, leaving)
            self.out.append(ir.If(self.any(leaving), tuple(inner)))
        self.stop_if(self.nobody(active))

    def for_loop(self, s: ir.For) -> None:
        """Python's `for ... in range(...)`."""
        steps = [self.step(e) for e in (s.start, s.stop, s.step)]
        counted = steps[0] is None or steps[0] != steps[1] or steps[2] != 0
        if counted:
            self.counted_loop(s, steps[0], steps[2])
            return
        varies = self.known.steps[s.name] is None
        start, stop, step = (self.same(e) for e in (s.start, s.stop, s.step))
        index = self.new("index", INT64) if varies or steps[0] != 0 else Var(s.name, INT64)
        if not self.loses_lanes(s) and not varies and steps[0] == 0:
            self.out.append(replace(s, body=self.plain(s)))
            return
        outer, masked, captures = self.mask, self.loses_lanes(s), self.captures
        active = self.held("active", outer) if masked else outer
        with self.body() as inner:
            if masked:
                self.stop_if(self.nobody(active))
            if index.name != s.name:
                if varies:
                    self.mask = active
                    self.assign(s.name, self.stepped(index, steps[0] or 0), s)
                else:
                    self.out.append(ir.Assign(s.name, index))
            if masked:
                self.iteration(s, active, captures)
            else:
                inner += self.plain(s)
        self.out.append(
            ir.For(index.name, start, stop, step, tuple(inner), loc=s.loc, rare=s.rare)
        )  # fmt: skip
        if masked:
            self.take(captures, active)
        self.after(s, outer)

    def counted_loop(self, s: ir.For, start: Step, step: Step) -> None:
        """A loop of which lanes do different numbers of iterations."""
        t, count_type = Vector("int64", lanes=self.lanes), Vector("uint64", lanes=self.lanes)
        first = self.held("start", self.spread(s.start) if start is None else self.same(s.start))
        by = s.step
        if not isinstance(by, ir.Const):
            by = self.held("step", self.same(by) if step == 0 else self.spread(by))
        begin = first if start is None else self.stepped(first, start)
        stop = self.held("stop", self.spread(s.stop))
        count = self.held("count", self.trip_count(begin, stop, by, count_type))
        outer, captures = self.mask, self.captures
        active = self.held("active", outer)
        k = self.new("k", INT64)
        with self.body() as inner:
            done = Op("broadcast", (Op("cast", (k,), UINT64),), count_type)
            self.go_on_if(Op("lt", (done, count), self.mask_type), active, captures)
            self.mask = active
            if self.known.steps[s.name] is not None:
                product = Op("mul", (k, _strong(by)), INT64)
                self.out.append(ir.Assign(s.name, Op("add", (first, product), INT64)))
            else:
                far = Op("broadcast", (k,), t)
                stride: Expr = by
                if not isinstance(by.type, Vector):
                    stride = Op("broadcast", (by,), t)
                at = Op("add", (begin, Op("mul", (far, stride), t)), t)
                self.assign(s.name, at, s)
            self.iteration(s, active, captures)
        most = ir.Const((1 << 63) - 1, INT64)
        zero, one = ir.Const(0, INT64), ir.Const(1, INT64)
        self.out.append(ir.For(k.name, zero, most, one, tuple(inner), loc=s.loc, rare=s.rare))
        self.after(s, outer)

    def trip_count(self, start: Expr, stop: Expr, by: Expr, t: Vector) -> Expr:
        """Iterations of each lane, without a sign: a step may be beyond all int64."""
        signed = Vector("int64", lanes=self.lanes)
        zero, one = ir.Const(0, t), ir.Const(1, t)

        def rounds(low: Expr, high: Expr, size: Expr | None) -> Expr:
            some = Op("lt", (low, high), self.mask_type)
            gap: Expr = Op("cast", (Op("sub", (high, low), signed),), t)
            if size is not None:
                last = Op("sub", (gap, one), t)
                gap = Op("add", (Op("truncdiv", (last, size), t), one), t)
            return Op("blend", (some, gap, zero), t)

        if isinstance(by, ir.Const):
            value = int(by.value)
            steps = None if abs(value) == 1 else ir.Const(abs(value), t)
            if value == 0:
                return zero
            return rounds(start, stop, steps) if value > 0 else rounds(stop, start, steps)
        if not isinstance(by.type, Vector):
            by = self.held("steps", Op("broadcast", (by,), signed))
        nothing = ir.Const(0, signed)
        up, down = (Op(c, (by, nothing), self.mask_type) for c in ("gt", "lt"))
        size = Op("blend", (up, by, Op("sub", (nothing, by), signed)), signed)
        some = Op("bitor", (up, down), self.mask_type)
        positive = self.held("size", Op("cast", (
            Op("blend", (some, size, ir.Const(1, signed)), signed),), t))  # fmt: skip
        found = Op("blend", (up, rounds(start, stop, positive), rounds(stop, start, positive)), t)
        return Op("blend", (some, found, zero), t)


def _strong(e: Expr) -> Expr:
    """A variable or a constant of index arithmetic, which may wrap here."""
    assert isinstance(e, Var | ir.Const) and isinstance(e.type, Scalar)
    return replace(e, type=e.type.strong)

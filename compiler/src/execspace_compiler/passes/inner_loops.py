"""Inner loops whose assertions are tested for a strip of iterations before these run.

Like a loop over calls, a loop within a call is not vectorised if it has early exits. But its
iterations are ordered: values that an assertion depends on must not change between iterations, and
if a failure ends the loop, only loads that are known to be in bounds may be speculated.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from .. import ir
from ..analysis.slopes import is_assertion, is_convex, out_of_bounds
from ..ir import Assign, Stmt, Var, integer, op
from ..ir.types import BOOL, INDEX, INT64, Scalar
from ..teams.failures import FAILS, FLAGS, is_unless_ended
from ..typing.lowered import Lowered
from .assertion_loops import STRIP, end_of_strip, in_turn, is_short
from .failure_predicates import FailurePredicates, contains_fail, names_in, read_by, stored_by
from .prechecks import Sound, bits_compared, is_unrolled, is_vectorisable


def with_tested_loops(lowered: Lowered, disjoint: bool, masks: bool) -> Lowered:
    """The kernel with such loops in strips, where that is possible and useful.

    `disjoint`: Views do not overlap. `masks`: masked loads are as cheap as others.
    """
    if lowered.prints:
        return lowered
    found = _Loops(lowered, disjoint, masks)
    body = found.block(lowered.body.body)
    if not found.made:
        return lowered
    changed = replace(lowered.body, body=body, locals=found.locals)
    return replace(lowered, functions=(*lowered.functions[:-1], *found.made.values(), changed))


_SHORT = 32  # iterations; for shorter loops, tests at the ends cost more than they save


class _Loops:
    """Changes the loops of a body.

    Attributes
    ----------
    made : dict
        Functions that the changed body calls, by name, callees first.
    locals : dict
        Variables of the changed body.
    """

    def __init__(self, lowered: Lowered, disjoint: bool, masks: bool) -> None:
        self.masks = masks
        self.body = lowered.body
        self.helpers = {f.name: f for f in lowered.functions[:-1]}
        self.disjoint = disjoint
        self.made: dict[str, ir.Function] = {}
        self.locals = dict(self.body.locals)
        self.number = 0

    def block(self, statements: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Statements with their loops rewritten."""
        found: list[Stmt] = []
        for s in statements:
            changed = self.in_strips(s) if isinstance(s, ir.For) else None
            inner = tuple(map(self.block, ir.bodies(s)))
            found += [ir.with_bodies(s, inner)] if changed is None else changed
        return tuple(found)

    def in_strips(self, loop: ir.For) -> list[Stmt] | None:
        """Statements that replace a loop; None if it is not changed."""
        if not isinstance(loop.step, ir.Const) or loop.step.value != 1:
            return None
        number = self.number + 1
        body = _leaving(loop.body)
        iteration = replace(
            self.body, name=f"{self.body.name}__round{number}", result=None, body=body,
            declared=None,
        )  # fmt: skip
        if not any(map(contains_fail, body)) or is_unrolled(loop) or not self._is_plain(iteration):
            return None
        sound = Sound(iteration, self.helpers)
        made = FailurePredicates(
            replace(iteration, body=_returning(body)), self.helpers, self.disjoint
        )
        tests = made.functions()
        ordered = any(map(contains_fail, loop.body))  # not distributed over members of a team
        if tests is None or not sound.complete:
            return None
        if not self._is_ahead(iteration, tests, made):
            return None
        ends: tuple[ir.Function, ...] = ()
        if ordered and any(read_by(ir.walk_expressions(t.body)) for t in tests):
            if self._has_recurrence(iteration) and (not self.masks or self._gathers(iteration)):
                return None
            # Loads of an iteration may be out of bounds if an earlier one fails.
            frame = replace(iteration, locals={**iteration.locals, **made.kept})
            there = out_of_bounds(frame, made.sliced(), loop.name, sound.names, ordered=True)
            if there is None:
                return None
            ends = (self._with_parameters(there, loop),)
        tests = tuple(self._with_parameters(t, loop) for t in tests)
        self.made |= {f.name: f for f in (*sound.helpers, *ends, *tests)}
        self.number = number
        return self._strips(loop, ends, tests, sound.body.body)

    def _is_plain(self, iteration: ir.Function) -> bool:
        """Whether a loop over such iterations may be vectorised, and is not left otherwise."""
        every = ir.walk_statements(iteration.body)
        leaves = sum(isinstance(s, ir.Return) for s in every)
        if any(isinstance(s, ir.For | ir.Break | ir.Evaluate) for s in every):
            return False
        return leaves == sum(map(is_assertion, every)) and is_vectorisable(iteration, self.helpers)

    def _is_ahead(
        self, iteration: ir.Function, tests: Collection[ir.Function], made: FailurePredicates
    ) -> bool:
        """Whether values that tests depend on are the same before earlier iterations have run."""
        found = [e for t in tests for e in ir.walk_expressions(t.body)]
        stored, read = stored_by(iteration.body, made.effectful), read_by(found)
        if stored & read or (stored and read and not self.disjoint):
            return False
        names = {n for s in ir.walk_statements(iteration.body) for n in ir.names_set(s)}
        return all(_is_new(n, iteration.body) for n in names & made.needed)

    def _has_recurrence(self, iteration: ir.Function) -> bool:
        """Whether iterations have a floating-point recurrence. LLVM keeps its order, so it is so
        slow that a branch costs less than tests beforehand, unless these take one comparison per
        vector and loads are contiguous."""
        names = {n for s in ir.walk_statements(iteration.body) for n in ir.names_set(s)}
        types = {n: self.body.locals.get(n) for n in names}
        carried = (n for n in names if not _is_new(n, iteration.body))
        return any(isinstance(t, Scalar) and t.kind in "fc" for t in map(types.get, carried))

    def _gathers(self, iteration: ir.Function) -> bool:
        """Whether an iteration loads from subscripts that it has computed or loaded."""
        names = {n for s in ir.walk_statements(iteration.body) for n in ir.names_set(s)}
        loads = (e for e in ir.walk_expressions(iteration.body) if isinstance(e, ir.Load))
        subscripts = ir.subexpressions(*(i for e in loads for i in e.indices))
        return bool(read_by(subscripts)) or not names.isdisjoint(names_in(subscripts))

    def _with_parameters(self, test: ir.Function, loop: ir.For) -> ir.Function:
        """A test with parameters for all values that it does not compute itself."""
        types = {p.name: p.type for p in self.body.parameters} | self.body.locals
        own = {n for s in ir.walk_statements(test.body) for n in ir.names_set(s)}
        used = names_in(ir.walk_expressions(test.body)) - own - {loop.name}
        given = tuple(Var(n, t) for n, t in types.items() if n in used)
        locals_ = {n: t for n, t in test.locals.items() if n in own}
        return replace(test, parameters=(Var(loop.name, INDEX), *given), locals=locals_)

    def _strips(
        self,
        loop: ir.For,
        ends: tuple[ir.Function, ...],
        tests: tuple[ir.Function, ...],
        sound: tuple[Stmt, ...],
    ) -> list[Stmt]:
        """The loop, strip by strip: tests, some of them only at its ends, then its iterations."""
        names = ("first", "last", "strip", "end")
        first, last, strip, end = (Var(f"_{n}_of{self.number}", INDEX) for n in names)
        failed = Var(f"_failed_of{self.number}", BOOL)
        self.locals |= {v.name: INT64 for v in (first, last, strip, end)} | {failed.name: BOOL}

        def each(body: tuple[Stmt, ...]) -> Stmt:
            # LLVM does not unroll a loop whose trip count it considers expensive to compute.
            stop = ir.Op("opaque", (end,), INT64)
            return replace(loop, start=strip, stop=stop, body=body)

        bits = bits_compared(tests, self.masks)

        def check(test: ir.Function) -> list[Stmt]:
            call = ir.Call(test.name, test.parameters, BOOL)
            if test not in ends and not is_convex(test, loop.name):
                return [ir.Failures((failed.name,), loop.name, strip, end, call, 0, True, bits)]
            record = Assign(failed.name, ir.Op("bitor", (failed, call), BOOL))
            at = (strip, op("sub", end, integer(1)))
            return [s for e in at for s in (Assign(loop.name, e), record)]

        strips: tuple[Stmt, ...] = (
            Assign(end.name, end_of_strip(strip, STRIP, last)),
            Assign(failed.name, ir.Const(False, BOOL) if ends else is_short(strip, end, bits)),
            *in_turn(failed, [check(t) for t in (*ends, *tests)]),
            ir.If(failed, (each(loop.body),), (each(sound),)),
        )
        walk: Stmt = ir.For(strip.name, first, last, integer(STRIP), strips, loc=loop.loc)
        if ends:
            few = op("lt", op("sub", last, first), integer(_SHORT))
            walk = ir.If(few, (replace(loop, start=first, stop=last),), (walk,))
        return [
            Assign(first.name, loop.start, loop.loc),
            Assign(last.name, loop.stop, loop.loc),
            walk,
        ]


def _leaving(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """An iteration in a team, which sets flags for failures, as one that ends at a failure."""
    found: list[Stmt] = []
    for s in body:
        names = ir.names_set(s)
        if isinstance(s, Assign) and s.name.startswith(FAILS):
            left = (ir.Fail(integer(1), (), s.loc), ir.Return(loc=s.loc))
            found.append(ir.If(s.value, left, loc=s.loc))
        elif isinstance(s, ir.If) and not s.orelse and is_unless_ended(s.test):
            found += _leaving(s.body)
        elif not names or not all(n.startswith(FLAGS) for n in names):
            found.append(ir.with_bodies(s, tuple(map(_leaving, ir.bodies(s)))))
    return tuple(found)


def _returning(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """An iteration as the body of a function."""
    return tuple(
        ir.Return(loc=s.loc) if isinstance(s, ir.Continue)
        else ir.with_bodies(s, tuple(map(_returning, ir.bodies(s))))
        for s in body
    )  # fmt: skip


def _is_new(name: str, body: tuple[Stmt, ...]) -> bool:
    """Whether each iteration sets a variable before it reads it."""
    for s in body:
        inside = ir.walk_statements((s,))
        if name in names_in(ir.walk_expressions((s,))):
            return False
        if any(name in ir.names_set(t) for t in inside):
            return isinstance(s, ir.Assign | ir.Unpack)
    return True

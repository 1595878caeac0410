"""Loops of a body whose assertions are tested for a strip of their rounds before these run.

As a loop over calls, a loop within a call is not vectorised if it may be left. Its rounds have an
order, though: what an assertion depends on must not change from one round to the next, and where a
failure ends the loop, only that is read ahead which is known to be there.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from .. import ir
from ..analysis.slopes import is_assertion, is_convex, out_of_bounds
from ..ir import Assign, Stmt, Var, integer, op
from ..ir.types import BOOL, INDEX, INT64, Scalar
from ..teams.failures import FAILS, NOTES, is_unless_ended
from ..typing.lowered import Lowered
from .assertion_loops import STRIP, in_turn, is_short
from .failure_predicates import Tests, contains_fail, names_in, read_by, stored_by
from .prechecks import Sound, bits_compared, is_unrolled, vectorises


def with_tested_loops(lowered: Lowered, disjoint: bool, masks: bool) -> Lowered:
    """The kernel with such loops in strips, wherever that is possible and of use.

    `disjoint`: Views do not overlap. `masks`: masked loads cost what others do.
    """
    if lowered.prints:
        return lowered
    found = _Loops(lowered, disjoint, masks)
    body = found.around(lowered.body.body)
    if not found.made:
        return lowered
    changed = replace(lowered.body, body=body, locals=found.locals)
    return replace(lowered, functions=(*lowered.functions[:-1], *found.made.values(), changed))


_SHORT = 32  # rounds, of which the ends are looked at first, that cost more so than they save


class _Loops:
    """Changes the loops of a body.

    Attributes
    ----------
    made : dict
        What the changed body calls, by name, callees first.
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

    def around(self, statements: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Statements with their loops changed."""
        found: list[Stmt] = []
        for s in statements:
            changed = self.in_strips(s) if isinstance(s, ir.For) else None
            inner = tuple(map(self.around, ir.bodies(s)))
            found += [ir.with_bodies(s, inner)] if changed is None else changed
        return tuple(found)

    def in_strips(self, loop: ir.For) -> list[Stmt] | None:
        """Statements in place of a loop; None if it stays as it is."""
        if not isinstance(loop.step, ir.Const) or loop.step.value != 1:
            return None
        number = self.number + 1
        body = _leaving(loop.body)
        rounds = replace(
            self.body, name=f"{self.body.name}__round{number}", result=None, body=body,
            declared=None,
        )  # fmt: skip
        if not any(map(contains_fail, body)) or is_unrolled(loop) or not self._is_plain(rounds):
            return None
        sound = Sound(rounds, self.helpers)
        made = Tests(replace(rounds, body=_returning(body)), self.helpers, self.disjoint)
        tests = made.functions()
        ordered = any(map(contains_fail, loop.body))  # not shared out among the members of a team
        if tests is None or not sound.complete:
            return None
        if not self._is_ahead(rounds, tests, made):
            return None
        ends: tuple[ir.Function, ...] = ()
        if ordered and any(read_by(ir.walk_expressions(t.body)) for t in tests):
            if self._adds_in_turn(rounds) and (not self.masks or self._gathers(rounds)):
                return None
            # What a round reads need not be there if one before it fails.
            frame = replace(rounds, locals={**rounds.locals, **made.kept})
            there = out_of_bounds(frame, made.sliced(), loop.name, sound.names, ordered=True)
            if there is None:
                return None
            ends = (self._with_parameters(there, loop),)
        tests = tuple(self._with_parameters(t, loop) for t in tests)
        self.made |= {f.name: f for f in (*sound.helpers, *ends, *tests)}
        self.number = number
        return self._strips(loop, ends, tests, sound.body.body)

    def _is_plain(self, rounds: ir.Function) -> bool:
        """Whether a loop over such rounds may be vectorised, and has no end but its own."""
        every = ir.walk_statements(rounds.body)
        leaves = sum(isinstance(s, ir.Return) for s in every)
        if any(isinstance(s, ir.For | ir.Break | ir.Evaluate) for s in every):
            return False
        return leaves == sum(map(is_assertion, every)) and vectorises(rounds, self.helpers)

    def _is_ahead(self, rounds: ir.Function, tests: Collection[ir.Function], made: Tests) -> bool:
        """Whether what tests depend on is the same before earlier rounds have run."""
        found = [e for t in tests for e in ir.walk_expressions(t.body)]
        stored, read = stored_by(rounds.body, made.effectful), read_by(found)
        if stored & read or (stored and read and not self.disjoint):
            return False
        names = {n for s in ir.walk_statements(rounds.body) for n in ir.names_set(s)}
        return all(_is_new(n, rounds.body) for n in names & made.needed)

    def _adds_in_turn(self, rounds: ir.Function) -> bool:
        """Whether a round goes on with a floating number of the one before: as LLVM keeps to the
        order, that takes so long that a branch beside it costs less than a test beforehand, unless
        that is one comparison a vector and the numbers come from places in a row."""
        names = {n for s in ir.walk_statements(rounds.body) for n in ir.names_set(s)}
        types = {n: self.body.locals.get(n) for n in names}
        carried = (n for n in names if not _is_new(n, rounds.body))
        return any(isinstance(t, Scalar) and t.kind in "fc" for t in map(types.get, carried))

    def _gathers(self, rounds: ir.Function) -> bool:
        """Whether a round reads memory at a place that it has computed or read before."""
        names = {n for s in ir.walk_statements(rounds.body) for n in ir.names_set(s)}
        loads = (e for e in ir.walk_expressions(rounds.body) if isinstance(e, ir.Load))
        places = ir.walk_expressions(tuple(Assign("_", i) for e in loads for i in e.indices))
        return bool(read_by(places)) or not names.isdisjoint(names_in(places))

    def _with_parameters(self, test: ir.Function, loop: ir.For) -> ir.Function:
        """A test that is given all that it does not compute itself."""
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
        """The loop, strip by strip: tests, of which some look at its ends only, then its rounds."""
        words = ("first", "last", "strip", "end")
        first, last, strip, end = (Var(f"_{w}_of{self.number}", INDEX) for w in words)
        failed = Var(f"_failed_of{self.number}", BOOL)
        self.locals |= {v.name: INT64 for v in (first, last, strip, end)} | {failed.name: BOOL}

        def each(body: tuple[Stmt, ...]) -> Stmt:
            # LLVM unrolls no loop whose number of rounds it knows to be costly to compute.
            stop = ir.Op("opaque", (end,), INT64)
            return replace(loop, start=strip, stop=stop, body=body)

        bits = bits_compared(tests, self.masks)

        def looked(test: ir.Function) -> list[Stmt]:
            call = ir.Call(test.name, test.parameters, BOOL)
            if test not in ends and not is_convex(test, loop.name):
                return [ir.Failures((failed.name,), loop.name, strip, end, call, 0, True, bits)]
            note = Assign(failed.name, ir.Op("bitor", (failed, call), BOOL))
            at = (strip, op("sub", end, integer(1)))
            return [s for e in at for s in (Assign(loop.name, e), note)]

        strips: tuple[Stmt, ...] = (
            Assign(end.name, op("min", op("add", strip, integer(STRIP)), last)),
            Assign(failed.name, ir.Const(False, BOOL) if ends else is_short(strip, end, bits)),
            *in_turn(failed, [looked(t) for t in (*ends, *tests)]),
            ir.If(failed, (each(loop.body),), (each(sound),)),
        )
        rounds: Stmt = ir.For(strip.name, first, last, integer(STRIP), strips, loc=loop.loc)
        if ends:
            few = op("lt", op("sub", last, first), integer(_SHORT))
            rounds = ir.If(few, (replace(loop, start=first, stop=last),), (rounds,))
        return [
            Assign(first.name, loop.start, loop.loc),
            Assign(last.name, loop.stop, loop.loc),
            rounds,
        ]


def _leaving(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """A round of a team, which notes its failures, as one that ends where an assertion fails."""
    found: list[Stmt] = []
    for s in body:
        names = ir.names_set(s)
        if isinstance(s, Assign) and s.name.startswith(FAILS):
            left = (ir.Fail(integer(1), (), s.loc), ir.Return(loc=s.loc))
            found.append(ir.If(s.value, left, loc=s.loc))
        elif isinstance(s, ir.If) and not s.orelse and is_unless_ended(s.test):
            found += _leaving(s.body)
        elif not names or not all(n.startswith(NOTES) for n in names):
            found.append(ir.with_bodies(s, tuple(map(_leaving, ir.bodies(s)))))
    return tuple(found)


def _returning(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """A round as the body of a function."""
    return tuple(
        ir.Return(loc=s.loc) if isinstance(s, ir.Continue)
        else ir.with_bodies(s, tuple(map(_returning, ir.bodies(s))))
        for s in body
    )  # fmt: skip


def _is_new(name: str, body: tuple[Stmt, ...]) -> bool:
    """Whether each round sets a variable before it reads it."""
    for s in body:
        inside = ir.walk_statements((s,))
        if name in names_in(ir.walk_expressions((s,))):
            return False
        if any(name in ir.names_set(t) for t in inside):
            return isinstance(s, ir.Assign | ir.Unpack)
    return True

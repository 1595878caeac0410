"""Statements in lanes: assignments, memory, branches, and leaving."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING

from execspace.base.dataclass import dataclass

from .. import ir
from ..ir import Expr, Op, Stmt, Var
from ..ir.types import INDEX, Vector, ViewTy, flat_scalars
from .counters import is_capture
from .expressions import Writer, is_little, lane
from .varying import Findings, NotVectorised

if TYPE_CHECKING:
    from .forms import Forms

_FEW = 4  # statements that are not worth a test whether any lane needs them


@dataclass
class Loop:
    """A loop whose lanes leave it, or its body, before others do; `again`: those that went on to
    the next iteration."""

    again: Var | None
    captures: list[ir.Assign]


class StatementWriter(Writer):
    """Writes statements.

    Attributes
    ----------
    loops : list
        Around the statement; None for those that all lanes run together.
    left : Var or None
        Lanes that have returned, if some may before others.
    results : tuple of Var
        What they return.
    """

    def __init__(self, forms: Forms, f: ir.Function, known: Findings, mask: Var) -> None:
        super().__init__(forms, known, mask)
        self.f = f
        self.loops: list[Loop | None] = []
        self.left: Var | None = None
        self.captures: list[ir.Assign] = []  # of the loop that is written next
        self.results: tuple[Var, ...] = ()

    @abstractmethod
    def for_loop(self, s: ir.For) -> None:
        """Python's `for ... in range(...)`."""

    @abstractmethod
    def loses_lanes(self, s: ir.For | ir.While) -> bool:
        """Whether lanes leave a loop before others."""

    @abstractmethod
    def while_loop(self, s: ir.While) -> None:
        """A loop while a test holds."""

    def block(self, body: tuple[Stmt, ...]) -> None:
        """Statements; what follows one that lanes may leave runs if any lane is left."""
        taken: list[Stmt] = []
        for n, s in enumerate(body):
            if isinstance(s, ir.Break | ir.Continue | ir.Return):
                self.statement(s)
                return
            if s in taken:
                continue
            if isinstance(s, ir.For | ir.While):
                self.captures = []
                if self.loses_lanes(s):
                    taken = list(takewhile(is_capture, body[n + 1 :]))
                    self.captures = [t for t in taken if isinstance(t, ir.Assign)]
            self.statement(s)
            if n + 1 < len(body) and self.may_leave(s):
                rest = tuple(t for t in body[n + 1 :] if t not in taken)
                with self.body() as inner:
                    self.block(rest)
                self.out.append(ir.If(self.any(self.mask), tuple(inner)))
                return

    def may_leave(self, *statements: Stmt) -> bool:
        """Whether lanes that enter statements may be off after them."""
        for s in statements:
            match s:
                case ir.Return() if self.known.returns:
                    return True
                case ir.Break() | ir.Continue() if self.loops and self.loops[-1] is not None:
                    return True
                case ir.For() | ir.While():
                    if self.known.returns and has_return(s.body):
                        return True
                case _:
                    if any(self.may_leave(*b) for b in ir.bodies(s)):
                        return True
        return False

    def statement(self, s: Stmt) -> None:
        match s:
            case ir.Assign():
                self.set(s.name, s.value, s)
            case ir.Unpack():
                self.unpack(s)
            case ir.Evaluate():
                self.evaluate(s)
            case ir.Store():
                self.store(s)
            case ir.Atomic():
                self.atomic(s)
            case ir.Clear():
                if id(s) in self.known.merged:
                    raise NotVectorised("an array is made anew for some lanes only")
                self.out.append(replace(s, array=self.view(s.array)))
            case ir.Fail():
                self.fail(s)
            case ir.Print():
                self.print(s)
            case ir.If():
                self.branch(s)
            case ir.For():
                self.for_loop(s)
            case ir.While():
                self.while_loop(s)
            case ir.Break():
                self.leave(s)
            case ir.Continue():
                self.leave(s)
            case ir.Return():
                self.result(s)
            case _:
                raise NotVectorised(f"it has a statement {type(s).__name__}")

    def set(self, name: str, value: Expr, s: Stmt) -> None:
        """Set a variable, of lanes that are on only if others still need theirs."""
        if self.known.steps[name] is not None:
            self.out.append(ir.Assign(name, self.same(value), s.loc))
            return
        self.assign(name, self.spread(value), s)

    def assign(self, name: str, new: Expr, s: Stmt) -> None:
        """Set a variable that varies to a vector."""
        t = new.type
        assert isinstance(t, Vector)
        if id(s) in self.known.merged:
            new = Op("blend", (self.mask, new, Var(name, t)), t)
        self.out.append(ir.Assign(name, new, s.loc))

    def unpack(self, s: ir.Unpack) -> None:
        """A call with several results."""
        f = self.forms.program.functions[s.value.function]
        steps = self.steps_of(s.value)
        kinds = flat_scalars(f.result)
        found = self.forms.program.called(s.value, steps)
        names: list[str] = []
        after: list[tuple[str, Var]] = []
        for name, t, step in zip(s.names, kinds, found, strict=True):
            if step is not None and self.known.steps[name] is not None:
                names.append(name)
                continue
            held = self.new("got", self.vector(t) if step is None else t)
            names.append(held.name)
            after.append((name, held))
        if f.external is not None:
            raise NotVectorised("it calls a host function with several results")
        called, args = self.arguments(s.value)
        call = replace(s.value, function=called, args=args)
        self.out.append(replace(s, names=tuple(names), value=call))
        rest = dict(zip(names, found, strict=True))
        for name, held in after:
            step = rest[held.name]
            self.assign(name, held if step is None else self.stepped(held, step), s)

    def evaluate(self, s: ir.Evaluate) -> None:
        """A call for what it does."""
        if not isinstance(s.value, ir.Call):
            return
        f = self.forms.program.functions[s.value.function]
        if f.external is not None:
            values = [self.for_turns(a) for a in s.value.args]

            def turn(k: Expr) -> list[Stmt]:
                args = tuple(lane(v, k) for v in values)
                assert isinstance(s.value, ir.Call)
                return [replace(s, value=replace(s.value, args=args))]

            self.each(turn)
            return
        name, args = self.arguments(s.value)
        self.out.append(replace(s, value=replace(s.value, function=name, args=args)))

    # -- memory ---------------------------------------------------------------------------------

    def store(self, s: ir.Store) -> None:
        """Assignment to elements."""
        view = self.view(s.view)
        of_lanes = isinstance(view.type, ViewTy) and view.type.lanes > 1
        places = (*s.indices, *(() if s.byte is None else (s.byte,)))
        if not of_lanes and all(self.step(e) == 0 for e in (*places, s.value)):
            self.out.append(ir.with_expressions(s, tuple(map(self.same, ir.expressions(s)))))
            return
        value = self.spread(s.value)
        indices = tuple(map(self.index, s.indices))
        byte = None if s.byte is None else self.index(s.byte)
        self.out.append(ir.Store(view, indices, value, s.loc, byte, self.mask))

    def atomic(self, s: ir.Atomic) -> None:
        """An atomic operation of one lane after another."""
        if s.view.name in self.f.locals:
            raise NotVectorised("it has atomic operations on a private array")
        given = [self.for_turns(e) for e in ir.expressions(s)]
        result = None if s.name is None else self.new("got", self.vector(s.type))
        one = None if s.name is None else self.new("one", s.type)

        def turn(k: Expr) -> list[Stmt]:
            new = ir.with_expressions(s, tuple(lane(v, k) for v in given))
            assert isinstance(new, ir.Atomic)
            if result is None or one is None:
                return [new]
            return [replace(new, name=one.name), self.put(result, k, one)]

        self.each(turn)
        if s.name is not None and result is not None:
            self.assign(s.name, result, s)

    # -- messages -------------------------------------------------------------------------------

    def fail(self, s: ir.Fail) -> None:
        """A failure of the first lane that is on."""
        k = self.held("lane", Op("first", (self.mask,), INDEX))
        values = tuple(lane(self.for_turns(e), k) for e in ir.expressions(s))
        self.out.append(ir.with_expressions(s, values))

    def print(self, s: ir.Print) -> None:
        """Output of one lane after another."""
        values = [self.for_turns(e) for e in ir.expressions(s)]
        self.each(lambda k: [ir.with_expressions(s, tuple(lane(v, k) for v in values))])

    # -- control --------------------------------------------------------------------------------

    def branch(self, s: ir.If) -> None:
        """A conditional statement."""
        if id(s) not in self.known.diverging:
            bodies: list[tuple[Stmt, ...]] = []
            for b in (s.body, s.orelse):
                with self.body() as inner:
                    self.block(b)
                bodies.append(tuple(inner))
            test = self.same(s.test)
            self.out.append(replace(s, test=test, body=bodies[0], orelse=bodies[1]))
            return
        leaves = self.may_leave(s)
        outer = self.mask
        test = self.spread(s.test)
        then = self.held("then", self.both(outer, test))
        orelse = None
        if s.orelse or leaves:
            orelse = self.held("else", self.without(outer, then))
        self.side(then, s.body, s.rare)
        if orelse is not None:
            self.side(orelse, s.orelse, False)
        self.mask = outer
        if leaves:
            assert orelse is not None
            self.out.append(ir.Assign(outer.name, self.either(then, orelse)))

    def side(self, mask: Var, body: tuple[Stmt, ...], rare: bool) -> None:
        """One side of a branch, if any lane takes it."""
        if not body:
            return
        self.mask = mask
        if _is_short(body):
            self.block(body)
            return
        with self.body() as inner:
            self.block(body)
        self.out.append(ir.If(self.any(mask), tuple(inner), rare=rare))

    def leave(self, s: ir.Break | ir.Continue) -> None:
        """Leave the innermost loop, or go on with it."""
        loop = self.loops[-1]
        if loop is None:
            self.out.append(s)
            return
        if isinstance(s, ir.Break):
            self.take(loop.captures, self.mask)
        if isinstance(s, ir.Continue):
            assert loop.again is not None
            self.out.append(ir.Assign(loop.again.name, self.either(loop.again, self.mask)))
        self.out.append(ir.Assign(self.mask.name, self.none))

    def take(self, captures: list[ir.Assign], mask: Expr) -> None:
        """Set what lanes of a mask take with them from a loop."""
        for s in captures:
            if self.known.steps[s.name] is not None:
                self.out.append(ir.Assign(s.name, self.same(s.value), s.loc))
                continue
            new = self.spread(s.value)
            t = new.type
            assert isinstance(t, Vector)
            self.out.append(ir.Assign(s.name, Op("blend", (mask, new, Var(s.name, t)), t), s.loc))

    def result(self, s: ir.Return) -> None:
        """Return from the function."""
        values = ir.expressions(s)
        given = tuple(
            self.spread(e) if step is None else self.same(e)
            for e, step in zip(values, self.known.results, strict=True)
        )
        if not self.known.returns:
            if s.value is None:
                self.out.append(s)
            else:
                self.out.append(replace(s, value=given if isinstance(s.value, tuple) else given[0]))
            return
        assert self.left is not None
        for held, value in zip(self.results, given, strict=True):
            assert isinstance(held.type, Vector)
            new = Op("blend", (self.mask, value, held), held.type)
            self.out.append(ir.Assign(held.name, new))
        self.out.append(ir.Assign(self.left.name, self.either(self.left, self.mask)))
        self.out.append(ir.Assign(self.mask.name, self.none))


def has_return(body: tuple[Stmt, ...]) -> bool:
    """Whether statements return from the function."""
    return any(isinstance(s, ir.Return) for s in ir.walk_statements(body))


def _is_short(body: tuple[Stmt, ...]) -> bool:
    """Whether statements take less time than to find out whether a lane needs them."""
    return len(body) <= _FEW and all(
        (
            isinstance(s, ir.Break | ir.Continue | ir.Return)
            and not any(not is_little(e) for e in ir.expressions(s))
        )
        or (isinstance(s, ir.Assign) and is_little(s.value))
        for s in body
    )

"""HIR -> typed IR: types of all locals by fix-point over the whole body.

Typing and building are one walk. It is repeated until no local changes its type, because a
loop may widen a variable that was read before; then a last walk reports faults.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from . import hir, ir
from .assigned import check_assigned
from .assignments import AssignmentRules, joined
from .diagnostics import Fault, Loc, Reporter, syntax_fault, type_fault
from .emission import Pending
from .modules import ModuleTyper, Signature, flat_scalars, has_effects
from .types import (
    BOOL,
    INDEX,
    INT64,
    Pointer,
    PromotionError,
    Scalar,
    TupleTy,
    Type,
    ViewTy,
    promote,
)
from .values import (
    FunctionValue,
    NestedRange,
    Obj,
    TeamTy,
    TeamValue,
    TupleValue,
    Value,
    ViewRef,
    describe,
    is_view,
    part_name,
    parts,
    rebuild,
    scalar,
    type_of,
)
from .variables import Declared

# Those of reductions do not end in an underscore, as parts of a user's variable `r1` do.
_TEMPORARY = re.compile(r"_t\d+|_r\d+_.*[^_]")
_GROUP = 16  # tests of a chain of elif that nest in each other
STATUS = "_status"  # parameter of a kernel with asserts: where a failure is noted
STATUS_PARAMETER = ir.Var(STATUS, Pointer(INT64))


def typer_of_module() -> ModuleTyper:
    """A ModuleTyper that types helpers with FunctionTyper."""

    def type_helper(
        function: hir.Function, types: tuple[tuple[str, Type], ...], reporter: Reporter
    ) -> tuple[ir.Function, Signature]:
        typer = FunctionTyper(module, function, types, reporter, returns=None)
        built = typer.run()
        fails = typer.fails and not typer.notes
        effects = has_effects(built, frozenset(effectful))
        if effects:
            effectful.add(built.name)
        result = typer.result
        assert result is None or isinstance(result, Scalar | TupleTy)
        return built, Signature(built.name, result, effects, fails)

    effectful: set[str] = set()
    module = ModuleTyper(type_helper)
    return module


class FunctionTyper(AssignmentRules):
    """Types one function.

    Parameters
    ----------
    types : sequence of (str, Type)
        Parameters, free variables included.
    returns : bool or None
        True: every path must return a value (a reduction). False: none may (a parallel_for).
        None: a helper, either way but the same on every path.
    rank : int
        How many of the first parameters are indices of the policy.
    array : bool
        The kernel of an array reduction, which returns nothing.
    """

    def __init__(
        self,
        module: ModuleTyper,
        function: hir.Function,
        types: Sequence[tuple[str, Type]],
        reporter: Reporter,
        returns: bool | None,
        rank: int = 0,
        array: bool = False,
    ) -> None:
        self.module = module
        self.array = array
        self.function = function
        self.reporter = reporter
        self.returns = returns
        self.name = module.name(function.name)
        assigned = {t.name for s in hir.walk(function.body) for t in hir.targets(s)}
        self.parameters: list[ir.Var] = []
        self.types = {}
        self.prologue: list[tuple[str, Type, str]] = []
        for name, type in types:
            # Parameters stay as they are; an assigned one gets a local of its own.
            own = (
                part_name(name, "in") if name in assigned and not isinstance(type, ViewTy) else name
            )
            value = rebuild(type, own, function.loc)
            for part, e in parts(value, own):
                self.parameters.append(ir.Var(part, e.type))
            if own != name:
                self.prologue.append((name, type, own))
            else:
                self.types[name] = type
        self.indices = tuple(ir.Var(p.name, p.type) for p in self.parameters[:rank])
        # The kernel of a team and its helpers: others wait for a member, so it cannot just leave.
        teams = [rebuild(t, n, function.loc) for n, t in self.types.items() if t == TeamTy()]
        self.team = next((t for t in teams if isinstance(t, TeamValue)), None)
        self.reductions = 0
        self.nested_ranges = {}
        self.temporaries = 0
        self.final = False
        self.unknown: dict[str, Loc] = {}  # variables that are read and never get a type
        self.torn: dict[str, Fault] = {}  # variables that are two things at once
        self.changed = False
        self.result: Type | None = None
        self.returns_nothing = False
        self.fails = False
        self.out = []
        self.own = {}
        self.several = {}
        self.decided = {}
        self.tested = set()
        self.unrolled: list[str | None] = []
        self.rounds: list[str] = []  # of loops over tuples that are being unrolled
        self.limits: dict[str, tuple[int, int]] = {}
        self.own_names = assigned | {n for n, _ in types}

    def run(self) -> ir.Function:
        """Type the function; faults go to the reporter."""
        self.changed = True
        while self.changed:  # it ends: types of variables only grow, and there are few to grow to
            self.changed = False
            self.walk()
        self.final = True
        body = tuple(self.walk())
        for fault in self.torn.values():
            self.reporter.add(fault)
        if not self.reporter.diagnostics:
            for variable, loc in self.unknown.items():
                name = loc.name(variable)
                message = f"'{name}' is used before it has a value"
                hint = f"assign '{name}' first; a kernel cannot change variables outside of it"
                self.reporter.add(syntax_fault(loc, message, hint))
        if not self.reporter.diagnostics:
            check_assigned(
                self.function, self.decided, self.known_names(), self.nested_ranges, self.reporter
            )
        own = {p.name for p in self.parameters}
        locals_: dict[str, Scalar | ViewTy] = {}
        for n, t in self.types.items():
            if n in own:
                continue
            if isinstance(t, Scalar):
                locals_[n] = t.strong
            elif isinstance(t, ViewTy):
                locals_[n] = t
        if (self.returns or self.result is not None) and not self.reporter.diagnostics:
            self.check_returns()
        parameters = tuple(self.parameters)
        if self.fails and self.indices and self.team is None:
            parameters += (STATUS_PARAMETER,)
        elif self.fails and not self.notes and self.result is None:
            # It returns no value of its own, but at its end, too, that no assertion failed.
            if not hir.always_returns(self.function.body, self.decided):
                loc = self.function.loc
                body = (*body, ir.Return(ir.Const(0, INT64, loc), loc))
        return ir.Function(
            self.name, parameters, self.result_type(), locals_, body, loc=self.function.loc,
            strict=self.function.strict, declared=self.declared(),
        )  # fmt: skip

    def declared(self) -> Declared:
        """The names of the source and their types."""
        function = self.function
        names = dict.fromkeys((*function.parameters, *self.types))
        free = set(function.free) - set(function.parameters)
        own = (n for n in names if n[0] != "_" and n not in free and n in self.types)
        return Declared(function.name, tuple((n, self.types[n]) for n in own))

    def walk(self) -> list[ir.Stmt]:
        """One walk over the body."""
        self.temporaries = self.reductions = 0
        self.nested_ranges = {}
        for name in [n for n in self.types if _TEMPORARY.fullmatch(n)]:
            if name not in self.own_names:
                del self.types[name]  # a temporary has the type of this walk alone
        self.out = []
        self.decided = {}
        self.tested = set()
        for name, type, own in self.prologue:
            self.bind(name, rebuild(type, own, self.function.loc), self.function.loc)
        start, self.out = self.out, []
        return start + self.block(self.function.body)

    def known_names(self) -> set[str]:
        """Variables that have a value when the function begins."""
        return {*self.function.parameters, *self.function.free}

    def check_returns(self) -> None:
        """Every path must return where one does."""
        if hir.always_returns(self.function.body, self.decided):
            return
        if self.returns:
            message = "not every path of this reduction kernel returns a contribution"
            hint = "return the contribution of each index, for example 0.0 where there is none"
        else:
            message = f"not every path of '{self.function.name}' returns a value"
            hint = "return a value at its end, too"
        self.reporter.add(syntax_fault(self.function.loc, message, hint))

    @property
    def notes(self) -> bool:
        """Whether failed assertions are noted here, and not told to a caller."""
        return bool(self.indices) or self.team is not None

    def result_type(self) -> Scalar | TupleTy | None:
        """Type of what the IR function returns."""
        scalars = tuple(s.strong for s in flat_scalars(self.result))
        if self.fails and not self.notes:
            scalars = (*scalars, INT64)
        if not scalars:
            return None
        return scalars[0] if len(scalars) == 1 else TupleTy(scalars)

    def narrowed(self, name: str, type: Scalar) -> None:
        """Remember what range an argument must lie in: NumPy, too, refuses what does not fit."""
        if self.final and self.indices and any(p.name == name for p in self.parameters):
            limits = np.iinfo(type.name)
            low, high = self.limits.get(name, (-(2**63), 2**63 - 1))
            self.limits[name] = (max(low, int(limits.min)), min(high, int(limits.max)))

    # -- statements -------------------------------------------------------------------------

    def block(self, statements: Sequence[hir.Stmt]) -> list[ir.Stmt]:
        """Statements of a body; one with a fault is reported and left out."""
        saved, self.out = self.out, []
        for s in statements:
            mark = len(self.out)
            try:
                self.statement(s)
                continue
            except Pending:  # of a variable that has a fault: the rest may have its own
                for e in hir.direct(s) if self.final else ():
                    self.undefined(e)
            except PromotionError as error:
                if self.final:
                    self.reporter.add(type_fault(s.loc, str(error), error.hint))
            except Fault as fault:
                if self.final:
                    self.reporter.add(fault)
            del self.out[mark:]
        found, self.out = self.out, saved
        return found

    def undefined(self, e: hir.Expr) -> None:
        """Report names in an expression that are not defined."""
        todo = [e]
        while todo:
            e = todo.pop()
            if isinstance(e, hir.Undefined):
                self.reporter.add(syntax_fault(e.loc, e.message, e.hint))
            parts = (e.test,) if isinstance(e, hir.Conditional) else hir.children(e)
            todo += reversed(parts)

    def statement(self, s: hir.Stmt) -> None:
        """Emit the IR of one statement."""
        match s:
            case hir.Assign():
                self.assign(s.target, self.value(s.value), s.loc, s.value.loc)
            case hir.Update():
                self.update(s)
            case hir.If():
                self.branch(s)
            case hir.Cases():
                self.cases(s)
            case hir.For():
                self.loop(s)
            case hir.ForEach():
                self.each(s)
            case hir.While():
                self.while_(s)
            case hir.Break():
                if self.unrolled and self.unrolled[-1] is not None:
                    flag = self.unrolled[-1]
                    self.out.append(ir.Assign(flag, ir.Const(True, BOOL, s.loc), s.loc))
                self.out.append(ir.Break(s.loc))
            case hir.Continue():
                self.out.append(ir.Continue(s.loc))
            case hir.Return():
                self.return_(s)
            case hir.Assert():
                self.assertion(s)
            case hir.Evaluate():
                value = self.value(s.value)
                if isinstance(value, ir.Call):
                    self.out.append(ir.Evaluate(value, s.loc))

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

    def body_of_loop(self, body: Sequence[hir.Stmt], flag: str | None = None) -> list[ir.Stmt]:
        """Statements of a loop's body; `flag` is what a break sets in an unrolled loop."""
        self.unrolled.append(flag)
        try:
            return self.block(body)
        finally:
            self.unrolled.pop()

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

    # -- leaving ------------------------------------------------------------------------------

    def return_(self, s: hir.Return) -> None:
        """Return from the function; the result type joins those of all returns."""
        value: Value = Obj(None, "None") if s.value is None else self.value(s.value)
        nothing = isinstance(value, Obj) and value.value is None
        if nothing and (self.returns or self.result is not None):
            raise type_fault(
                s.loc,
                "this path returns nothing, another returns a value"
                if not self.returns
                else "this path of a reduction kernel returns nothing",
                "return a value on every path"
                if not self.returns
                else "return the contribution of each index, for example 0.0 where there is none",
            )
        if self.returns is False and not nothing:
            if self.function.is_lambda:
                if isinstance(value, ir.Call):
                    self.out.append(ir.Evaluate(value, s.loc))
                return
            raise type_fault(
                s.loc,
                f"a kernel of {'an array reduction' if self.array else 'parallel_for'} returns "
                f"nothing, got {describe(value)}",
                "join it into the array, or leave out the shape of the reducer"
                if self.array
                else "store results in a View, or launch it with parallel_reduce",
            )
        if nothing:
            self.returns_nothing = True
            self.leave([], s.loc)
            return
        if self.returns_nothing:
            raise type_fault(
                s.loc,
                f"this path of '{self.function.name}' returns {describe(value)}, another returns "
                f"nothing",
                "return a value on every path, or on none",
            )
        assert s.value is not None
        joined = _join_results(self.result, _returned(value, s.value.loc), s.value.loc)
        if joined != self.result:
            self.result = joined
            self.changed = True
        numbers = [e for _, e in parts(value, "")]
        pairs = zip(numbers, flat_scalars(joined), strict=True)
        self.leave([self.coerce(e, t) for e, t in pairs], s.loc)

    def leave(self, values: list[ir.Expr], loc: Loc, code: ir.Expr | None = None) -> None:
        """Return numbers, and in a helper with asserts the number of the one that failed."""
        if self.fails and not self.notes:
            values = [*values, code or ir.Const(0, INT64, loc)]
        if not values:
            self.out.append(ir.Return(None, loc))
        elif len(values) == 1:
            self.out.append(ir.Return(values[0], loc))
        else:
            self.out.append(ir.Return(tuple(values), loc))

    def assertion(self, s: hir.Assert) -> None:
        """assert: a failure is noted, and this call of the kernel ends."""
        if not self.fails:
            self.fails = self.changed = True
        test = self.test(s.test)
        code = ir.Const(self.module.assertion(s.loc, s.message), INT64, s.loc)
        body = tuple(self.failure(code, s.loc))
        if isinstance(test, ir.Const):
            self.out += [] if test.value else body
            return
        self.out.append(ir.If(ir.Op("not", (test,), BOOL, s.loc), body, loc=s.loc))

    def failure(self, code: ir.Expr, loc: Loc) -> list[ir.Stmt]:
        """Statements that report a failed assertion and leave the function."""
        if self.team is not None:
            return [ir.Fail(code, (self.team.league_rank,), loc)]
        saved, self.out = self.out, []
        if self.indices:
            self.out.append(ir.Fail(code, self.indices, loc))
        zeros = [self.coerce(ir.Const(0, t.strong, loc), t) for t in flat_scalars(self.result)]
        self.leave(zeros, loc, code)
        found, self.out = self.out, saved
        return found


def _halved(bodies: Sequence[list[ir.Stmt]], first: int, number: ir.Var, loc: Loc) -> list[ir.Stmt]:
    """One of several bodies by its number, which counts from `first`."""
    if len(bodies) == 1:
        return bodies[0]
    half = len(bodies) // 2
    below = ir.Op("lt", (number, ir.Const(first + half, INDEX, loc)), BOOL, loc)
    yes = _halved(bodies[:half], first, number, loc)
    no = _halved(bodies[half:], first + half, number, loc)
    return [ir.If(below, tuple(yes), tuple(no), loc)]


def _returned(value: Value, loc: Loc) -> Type:
    """Type of what a helper returns: a number, or a tuple of such."""
    if isinstance(value, TupleValue):
        return TupleTy(tuple(_returned(v, loc) for v in value.items), value.names)
    if is_view(value) or isinstance(value, FunctionValue | ViewRef):
        raise type_fault(
            loc,
            f"cannot return {describe(value)}: only numbers and tuples of numbers are returned",
            "call it where it is needed"
            if isinstance(value, FunctionValue)
            else "return an element, or let the caller pass the View to store into",
        )
    e: ir.Expr = scalar(value, loc)
    return e.type


def _join_results(a: Type | None, b: Type, loc: Loc) -> Type:
    if a is None:
        return b
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        try:
            return promote(a, b)
        except PromotionError as error:
            message = f"this path returns {b}, another returns {a}: {error}"
            raise type_fault(loc, message, error.hint) from None
    if isinstance(a, TupleTy) and isinstance(b, TupleTy) and len(a.items) == len(b.items):
        pairs = zip(a.items, b.items, strict=True)
        names = a.names if a.names == b.names else ()
        return TupleTy(tuple(_join_results(x, y, loc) for x, y in pairs), names)
    raise type_fault(
        loc,
        f"this path returns {b}, another returns {a}",
        "return the same number of values on every path",
    )

"""HIR -> typed IR: types of all locals by fix-point over the whole body.

Typing and building are one walk. It is repeated until no local changes its type, because a
loop may widen a variable that was read before; then a last walk reports faults.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .. import ir
from ..frontend import hir
from ..ir import STATUS_PARAMETER, Declared
from ..ir.diagnostics import Loc, Reporter, syntax_fault, type_fault
from ..ir.types import (
    BOOL,
    INT64,
    PromotionError,
    Scalar,
    Signature,
    TupleTy,
    Type,
    ViewTy,
    flat_scalars,
    promote,
)
from .assignments import AssignmentRules
from .context import STATEMENTS, Context
from .control import ControlRules
from .definite_assignment import check_assigned
from .module import ModuleTyper, has_effects
from .rules.leaving import failure, leave
from .values import (
    FunctionValue,
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
)

# Those of reductions do not end in an underscore, as parts of a user's variable `r1` do.
_TEMPORARY = re.compile(r"_t\d+|_r\d+_.*[^_]")


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


class FunctionTyper(ControlRules):
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
        self.name = module.name(function.name)
        assigned = {t.name for s in hir.walk(function.body) for t in hir.targets(s)}
        parameters: list[ir.Var] = []
        own_types: dict[str, Type] = {}
        self.prologue: list[tuple[str, Type, str]] = []
        for name, type in types:
            # Parameters stay as they are; an assigned one gets a local of its own.
            own = (
                part_name(name, "in") if name in assigned and not isinstance(type, ViewTy) else name
            )
            value = rebuild(type, own, function.loc)
            for part, e in parts(value, own):
                parameters.append(ir.Var(part, e.type))
            if own != name:
                self.prologue.append((name, type, own))
            else:
                own_types[name] = type
        teams = [rebuild(t, n, function.loc) for n, t in own_types.items() if t == TeamTy()]
        super().__init__(
            module, function, reporter, own_types, parameters, rank=rank,
            team=next((t for t in teams if isinstance(t, TeamValue)), None), returns=returns,
            array=array, own_names=assigned | {n for n, _ in types},
        )  # fmt: skip

    def run(self) -> ir.Function:
        """Type the function; faults go to the reporter."""
        walks = 0
        self.changed = True
        while self.changed:
            self.changed = False
            self.walk()
            walks += 1
            # Each walk lets a type of at least one variable or result grow, and there are few to
            # grow to; a walk that grows nothing and says so would never end.
            assert walks <= 100 + 20 * len(self.types), f"types of '{self.name}' do not settle"
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

    def result_type(self) -> Scalar | TupleTy | None:
        """Type of what the IR function returns."""
        scalars = tuple(s.strong for s in flat_scalars(self.result))
        if self.fails and not self.notes:
            scalars = (*scalars, INT64)
        if not scalars:
            return None
        return scalars[0] if len(scalars) == 1 else TupleTy(scalars)

    # -- statements -------------------------------------------------------------------------

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
            leave(self, [], s.loc)
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
        leave(self, [self.coerce(e, t) for e, t in pairs], s.loc)

    def assertion(self, s: hir.Assert) -> None:
        """assert: a failure is noted, and this call of the kernel ends."""
        if not self.fails:
            self.fails = self.changed = True
        test = self.test(s.test)
        code = ir.Const(self.module.assertion(s.loc, s.message), INT64, s.loc)
        body = tuple(failure(self, code, s.loc))
        if isinstance(test, ir.Const):
            self.out += [] if test.value else body
            return
        self.out.append(ir.If(ir.Op("not", (test,), BOOL, s.loc), body, loc=s.loc))


@STATEMENTS.of(hir.Assign)
def _assign(cx: AssignmentRules, s: hir.Assign) -> None:
    cx.assign(s.target, cx.value(s.value), s.loc, s.value.loc)


@STATEMENTS.of(hir.Break)
def _break(cx: Context, s: hir.Break) -> None:
    if cx.unrolled and cx.unrolled[-1] is not None:
        flag = cx.unrolled[-1]
        cx.out.append(ir.Assign(flag, ir.Const(True, BOOL, s.loc), s.loc))
    cx.out.append(ir.Break(s.loc))


@STATEMENTS.of(hir.Continue)
def _continue(cx: Context, s: hir.Continue) -> None:
    cx.out.append(ir.Continue(s.loc))


@STATEMENTS.of(hir.Evaluate)
def _evaluate(cx: Context, s: hir.Evaluate) -> None:
    value = cx.value(s.value)
    if isinstance(value, ir.Call):
        cx.out.append(ir.Evaluate(value, s.loc))


STATEMENTS.of(hir.Update)(FunctionTyper.update)
STATEMENTS.of(hir.If)(FunctionTyper.branch)
STATEMENTS.of(hir.Cases)(FunctionTyper.cases)
STATEMENTS.of(hir.For)(FunctionTyper.loop)
STATEMENTS.of(hir.ForEach)(FunctionTyper.each)
STATEMENTS.of(hir.While)(FunctionTyper.while_)
STATEMENTS.of(hir.Return)(FunctionTyper.return_)
STATEMENTS.of(hir.Assert)(FunctionTyper.assertion)


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

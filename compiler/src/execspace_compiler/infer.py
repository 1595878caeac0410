"""HIR -> typed IR: types of all locals by fix-point over the whole body.

Typing and building are one walk. It is repeated until no local changes its type, because a
loop may widen a variable that was read before; then a last walk reports faults. Calls of
helper functions are typed per combination of argument types, each giving one IR function.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from . import hir, ir
from .assigned import check_assigned
from .calls import TupleValue, Value, describe, scalar
from .diagnostics import Fault, Loc, Reporter, syntax_fault, type_fault
from .expressions import ExpressionRules, Pending
from .frontend import lower
from .source import source_of
from .types import (
    BOOL,
    INDEX,
    INT64,
    PromotionError,
    Scalar,
    TupleTy,
    Type,
    ViewTy,
    promote,
)


@dataclass(frozen=True, slots=True)
class Signature:
    """Result of typing a function for given parameter types."""

    name: str
    result: Scalar | None


class ModuleTyper:
    """Types the functions of one launch; helpers are added as calls reach them."""

    def __init__(self, reporter: Reporter) -> None:
        self.reporter = reporter
        self.functions: list[ir.Function] = []
        self._done: dict[tuple[Any, ...], Signature] = {}
        self._active: list[FunctionType] = []
        self._names: set[str] = set()

    def name(self, wanted: str) -> str:
        """A function name that is not taken yet."""
        name, n = wanted, 1
        while name in self._names:
            n += 1
            name = f"{wanted}_{n}"
        self._names.add(name)
        return name

    def helper(self, fn: FunctionType, types: tuple[Type, ...], loc: Loc) -> Signature:
        """Type a helper function for a call."""
        key = (fn.__code__, id(fn), types)
        done = self._done.get(key)
        if done is not None:
            return done
        if any(f.__code__ is fn.__code__ for f in self._active):
            raise syntax_fault(
                loc, f"'{fn.__name__}' calls itself", "kernels cannot recurse; write a loop"
            )
        reporter = Reporter(fn.__name__)
        function = lower(source_of(fn), {}, reporter)
        if reporter.diagnostics:
            raise Fault(reporter.diagnostics[0])
        if len(function.parameters) != len(types):
            raise type_fault(
                loc,
                f"'{fn.__name__}' takes {len(function.parameters)} arguments, got {len(types)}",
            )
        self._active.append(fn)
        try:
            typer = FunctionTyper(self, function, types, reporter, returns=None)
            built = typer.run()
        finally:
            self._active.pop()
        if reporter.diagnostics:
            raise Fault(reporter.diagnostics[0])
        self.functions.append(built)
        signature = Signature(built.name, built.result)
        self._done[key] = signature
        return signature


class FunctionTyper(ExpressionRules):
    """Types one function.

    Parameters
    ----------
    returns : bool or None
        True: every path must return a value (a reduction). False: none may (a parallel_for).
        None: a helper, either way but the same on every path.
    """

    def __init__(
        self,
        module: ModuleTyper,
        function: hir.Function,
        types: Sequence[Type],
        reporter: Reporter,
        returns: bool | None,
    ) -> None:
        self.module = module
        self.function = function
        self.reporter = reporter
        self.returns = returns
        self.name = module.name(function.name)
        assigned = {
            t.name
            for s in hir.walk(function.body)
            for t in ([hir.Local(s.loc, s.name)] if isinstance(s, hir.For) else hir.targets(s))
        }
        self.parameters: list[ir.Var] = []
        self.types: dict[str, Type] = {}
        self.prologue: list[tuple[str, ir.Var]] = []
        for name, type in zip(function.parameters, types, strict=True):
            if name in assigned and isinstance(type, Scalar):
                # Parameters stay as they are; an assigned one gets a local of its own.
                parameter = ir.Var(f"{name}_in", type)
                self.prologue.append((name, parameter))
            else:
                parameter = ir.Var(name, type)
            self.parameters.append(parameter)
            self.types[name] = type
        self.view_names = {p.name for p in self.parameters if isinstance(p.type, ViewTy)}
        self.temporaries = 0
        self.final = False
        self.changed = False
        self.result: Scalar | None = None

    def run(self) -> ir.Function:
        """Type the function; faults go to the reporter."""
        check_assigned(self.function, self.reporter)
        for _ in range(100):
            self.changed = False
            self.temporaries = 0
            self.block(self.function.body)
            if not self.changed:
                break
        self.final = True
        self.temporaries = 0
        body = tuple(self.block(self.function.body))
        start = tuple(
            ir.Assign(name, self.coerce(parameter, self.scalar_type(name)), self.function.loc)
            for name, parameter in self.prologue
        )
        own = {p.name for p in self.parameters}
        local_types = {
            n: t.strong for n, t in self.types.items() if isinstance(t, Scalar) and n not in own
        }
        if (
            self.returns
            and not self.reporter.diagnostics
            and not hir.always_returns(self.function.body)
        ):
            self.reporter.add(
                syntax_fault(
                    self.function.loc,
                    "not every path of this reduction kernel returns a contribution",
                    "return the contribution of each index, for example 0.0 where there is none",
                )
            )
        result = self.result.strong if self.result is not None else None
        return ir.Function(
            self.name, tuple(self.parameters), result, local_types, start + body,
            loc=self.function.loc,
        )  # fmt: skip

    def scalar_type(self, name: str) -> Scalar:
        """Type of a local that is known to be a scalar."""
        type = self.types[name]
        assert isinstance(type, Scalar)
        return type

    # -- statements -------------------------------------------------------------------------

    def block(self, statements: Sequence[hir.Stmt]) -> list[ir.Stmt]:
        """Statements of a body; one with a fault is reported and left out."""
        out: list[ir.Stmt] = []
        for s in statements:
            try:
                out += self.statement(s)
            except Pending:
                continue
            except PromotionError as error:
                if self.final:
                    self.reporter.add(type_fault(s.loc, str(error)))
            except Fault as fault:
                if self.final:
                    self.reporter.add(fault)
        return out

    def statement(self, s: hir.Stmt) -> list[ir.Stmt]:
        """IR of one statement."""
        match s:
            case hir.Assign():
                return self.assign(s.target, self.value(s.value), s.loc)
            case hir.Update():
                return self.update(s)
            case hir.If():
                test = self.truth(self.number(s.test), s.test.loc)
                body, orelse = self.block(s.body), self.block(s.orelse)
                return [ir.If(test, tuple(body), tuple(orelse), s.loc)]
            case hir.For():
                return self.loop(s)
            case hir.While():
                test = self.truth(self.number(s.test), s.test.loc)
                return [ir.While(test, tuple(self.block(s.body)), s.loc)]
            case hir.Break():
                return [ir.Break(s.loc)]
            case hir.Continue():
                return [ir.Continue(s.loc)]
            case hir.Return():
                return self.return_(s)
            case hir.Evaluate():
                value = self.value(s.value)
                return [ir.Evaluate(value, s.loc)] if isinstance(value, ir.Call) else []

    def assign(self, target: hir.Expr, value: Value, loc: Loc) -> list[ir.Stmt]:
        """Assign a value to a variable, an element, or item by item to a tuple."""
        match target:
            case hir.Local():
                return self.bind(target.name, value, target.loc)
            case hir.Subscript():
                view, indices = self.element(target)
                return [self.store(view, indices, value, loc)]
            case hir.Tuple():
                if not isinstance(value, TupleValue):
                    raise type_fault(loc, f"cannot unpack {describe(value)}")
                if len(value.items) != len(target.items):
                    raise type_fault(
                        loc,
                        f"cannot unpack {len(value.items)} values into {len(target.items)} targets",
                    )
                # All values are taken before the first target changes: a, b = b, a.
                out: list[ir.Stmt] = []
                held: list[Value] = []
                for item in value.items:
                    before, kept = self.hold(item)
                    out += before
                    held.append(kept)
                for part, item in zip(target.items, held, strict=True):
                    out += self.assign(part, item, loc)
                return out
        raise type_fault(loc, "cannot assign to this")

    def hold(self, value: Value) -> tuple[list[ir.Stmt], Value]:
        """Put a value into temporaries that later assignments do not touch."""
        if isinstance(value, TupleValue):
            parts = [self.hold(item) for item in value.items]
            return [s for before, _ in parts for s in before], TupleValue(
                tuple(v for _, v in parts)
            )
        if isinstance(value, ir.Const) or not isinstance(value, ir.Expr):
            return [], value
        e = scalar(value, value.loc)
        self.temporaries += 1
        name = f"_t{self.temporaries}_{self.name}"
        self.types[name] = e.type
        return [ir.Assign(name, e, e.loc)], ir.Var(name, e.type, e.loc)

    def bind(self, name: str, value: Value, loc: Loc) -> list[ir.Stmt]:
        """Assign to a local variable, widening its type where needed."""
        if isinstance(value, TupleValue):
            self.widen(name, TupleTy(tuple(_type_of(v, loc) for v in value.items)), loc)
            out: list[ir.Stmt] = []
            held = [self.hold(item) for item in value.items]
            for before, _ in held:
                out += before
            for n, (_, item) in enumerate(held):
                out += self.bind(f"{name}_{n}_", item, loc)
            return out
        e = scalar(value, loc)
        self.widen(name, e.type, loc)
        return [ir.Assign(name, self.coerce(e, self.scalar_type(name)), loc)]

    def widen(self, name: str, type: Type, loc: Loc) -> None:
        """Join a type into a variable's type."""
        old = self.types.get(name)
        new = type if old is None else _join(old, type, name, loc)
        if new != old:
            self.types[name] = new
            self.changed = True

    def update(self, s: hir.Update) -> list[ir.Stmt]:
        """Augmented assignment; the indices of an element are evaluated once."""
        value = self.number(s.value)
        match s.target:
            case hir.Local():
                result = self.binary(s.op, self.number(s.target), value, s.loc)
                return self.bind(s.target.name, result, s.loc)
            case hir.Subscript():
                view, indices = self.element(s.target)
                before: list[ir.Stmt] = []
                kept: list[ir.Expr] = []
                for index in indices:
                    if isinstance(index, ir.Var | ir.Const) or _pure(index):
                        kept.append(index)
                    else:
                        more, held = self.hold(index)
                        before += more
                        kept.append(scalar(held, s.loc))
                old = self.load(view, tuple(kept), s.target.loc)
                result = self.binary(s.op, old, value, s.loc)
                return [*before, self.store(view, tuple(kept), result, s.loc)]
        raise type_fault(s.loc, "cannot assign to this")

    def store(self, view: ir.Var, indices: tuple[ir.Expr, ...], value: Value, loc: Loc) -> ir.Stmt:
        """Store into an element, converted to the element type."""
        type = view.type
        assert isinstance(type, ViewTy)
        if type.readonly:
            raise type_fault(loc, f"View '{view.name}' is read-only")
        e = scalar(value, loc)
        if e.type.kind == "c" and type.element.kind != "c":
            raise type_fault(
                loc,
                f"cannot store {e.type} into View '{view.name}' of {type.element}",
                "take its .real or abs() first",
            )
        return ir.Store(view, indices, self.coerce(e, type.element), loc)

    def loop(self, s: hir.For) -> list[ir.Stmt]:
        """A loop over range."""
        bounds = []
        for e in (s.start, s.stop, s.step):
            bound = self.number(e)
            if not bound.type.is_integer and bound.type.kind != "b":
                raise type_fault(
                    e.loc, f"range takes integers, got {bound.type}", "convert it with int(...)"
                )
            bounds.append(self.coerce(bound, INDEX))
        if isinstance(bounds[2], ir.Const) and bounds[2].value == 0:
            raise type_fault(s.step.loc, "the step of range is zero")
        if not isinstance(bounds[2], ir.Const):
            # A step that turns out to be zero makes an empty loop: kernels cannot raise.
            start, stop, step = bounds
            moves = ir.Op("ne", (step, ir.Const(0, INDEX)), BOOL, s.step.loc)
            bounds[1] = ir.Select(moves, stop, start, INDEX, s.step.loc)
            bounds[2] = ir.Select(moves, step, ir.Const(1, INDEX), INDEX, s.step.loc)
        self.widen(s.name, INDEX, s.loc)
        type = self.scalar_type(s.name)
        body: list[ir.Stmt] = []
        name = s.name
        if type.strong != INT64 or s.name in {
            t.name for inner in hir.walk(s.body) for t in hir.targets(inner)
        }:
            # The counter is separate where the body changes the variable: range does not care.
            name = f"_k{s.loc.line}_{s.loc.column}"
            self.types[name] = INDEX
            body.append(ir.Assign(s.name, self.coerce(ir.Var(name, INDEX), type), s.loc))
        body += self.block(s.body)
        return [ir.For(name, bounds[0], bounds[1], bounds[2], tuple(body), loc=s.loc)]

    def return_(self, s: hir.Return) -> list[ir.Stmt]:
        """Return from the function; the result type joins those of all returns."""
        if s.value is None:
            if self.returns or self.result is not None:
                raise type_fault(
                    s.loc,
                    "this path returns no value",
                    "a reduction kernel returns the contribution of each index",
                )
            return [ir.Return(None, s.loc)]
        value = self.value(s.value)
        if self.returns is False:
            if self.function.is_lambda:
                return [ir.Evaluate(value, s.loc)] if isinstance(value, ir.Call) else []
            raise type_fault(
                s.loc,
                f"a kernel of parallel_for returns nothing, this one returns {describe(value)}",
                "store results in a View, or launch it with parallel_reduce",
            )
        if isinstance(value, TupleValue):
            raise type_fault(
                s.loc,
                f"cannot return {describe(value)}: a kernel or helper returns one number",
                "launch one reduction for each value",
            )
        e = scalar(value, s.loc)
        joined = e.type if self.result is None else promote(self.result, e.type)
        if joined != self.result:
            self.result = joined
            self.changed = True
        return [ir.Return(self.coerce(e, joined), s.loc)]


def _pure(e: ir.Expr) -> bool:
    """Whether evaluating it twice gives the same even if a View changes in between."""
    return not isinstance(e, ir.Load | ir.Call) and all(_pure(a) for a in ir.operands(e))


def _type_of(value: Value, loc: Loc) -> Type:
    if isinstance(value, TupleValue):
        return TupleTy(tuple(_type_of(v, loc) for v in value.items))
    e: ir.Expr = scalar(value, loc)
    return e.type


def _join(a: Type, b: Type, name: str, loc: Loc) -> Type:
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        return promote(a, b)
    if isinstance(a, TupleTy) and isinstance(b, TupleTy) and len(a.items) == len(b.items):
        return TupleTy(tuple(_join(x, y, name, loc) for x, y in zip(a.items, b.items, strict=True)))
    raise type_fault(
        loc,
        f"'{name}' is a {a} in one place and a {b} in another",
        "use two variables",
    )

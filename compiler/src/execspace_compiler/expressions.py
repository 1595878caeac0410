"""Typing of expressions: names, operators and conditions.

Python evaluates from left to right and each operand once. Values are trees without side
effects where that is the same; where it is not (a helper that stores into a View, say),
statements are emitted, and what was evaluated before them is kept in temporaries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from execspace.captures import function_of

from . import hir, ir
from .diagnostics import Loc, syntax_fault, type_fault
from .names import Object
from .types import BOOL, PY_INT, PromotionError, Scalar, promote
from .values import (
    FunctionValue,
    Obj,
    TupleValue,
    Value,
    ViewRef,
    describe,
    is_view,
    scalar,
)
from .views import Place

if TYPE_CHECKING:
    pass

from .team_rules import TeamRules

_NUMBER = bool | int | float | complex | np.generic


class ExpressionRules(TeamRules):
    """Typing of expressions within a function; FunctionTyper adds statements."""

    # -- values -------------------------------------------------------------------------------

    def value(self, e: hir.Expr) -> Value:
        """Value of any expression."""
        match e:
            case hir.Constant():
                return self.constant(e.value, e.loc)
            case hir.Local():
                return self.variable(e.name, e.loc)
            case hir.Outer():
                return self.outer(e)
            case hir.Attribute():
                return self.read(self.member(e), e.loc)
            case hir.Subscript():
                return self.read(self.indexed(e), e.loc)
            case hir.Operation():
                return self.operation(e)
            case hir.Chain():
                return self.chain(e)
            case hir.Logical():
                return self.logical(e)
            case hir.Conditional():
                return self.conditional(e)
            case hir.Tuple():
                return TupleValue(tuple(self.operands(e.items)))
            case hir.Call():
                values = self.operands((e.function, *e.args, *(v for _, v in e.keywords)))
                args = values[1 : 1 + len(e.args)]
                rest = values[1 + len(e.args) :]
                keywords = {k: v for (k, _), v in zip(e.keywords, rest, strict=True)}
                return self.call(values[0], args, keywords, e.loc)
            case hir.Named():
                value = self.value(e.value)
                self.bind(e.name, value, e.loc)
                return self.variable(e.name, e.loc)
            case hir.Lambda():
                return self.nested(e)
            case hir.Undefined():
                raise syntax_fault(e.loc, e.message, e.hint)
        raise AssertionError(f"no value: {e}")

    def outer(self, e: hir.Outer) -> Value:
        """A captured constant, function or compile-time object."""
        value = e.value
        if value is Object:
            raise type_fault(
                e.loc,
                f"'{e.path}' is an object, of which a kernel knows the attributes only",
                f"use {e.path}.name, or pass what it holds as arguments",
            )
        path = tuple(e.path.split("."))
        return self._captured(value, e.path, e.names.full(path), e)

    def _captured(self, value: Any, path: str, full: str, e: hir.Outer) -> Value:
        """A captured constant by its path in the source and its full name among the captures."""
        function = function_of(value)
        if function is not None:
            definition = self.module.captured(function, e.names, f"{full}/")
            env = tuple((v, self.variable(v, e.loc)) for v in e.names.views_under(full))
            return FunctionValue(definition, env)
        if isinstance(value, _NUMBER):
            return self.constant(value, e.loc)
        if isinstance(value, tuple):
            items = (
                self._captured(v, f"{path}[{n}]", f"{full}[{n}]", e) for n, v in enumerate(value)
            )
            return TupleValue(tuple(items), tuple(getattr(value, "_fields", ())))
        return Obj(value, path)

    def member(self, e: hir.Attribute) -> Value | Place:
        """`base.name`: a field of a record, or what calls.py knows."""
        base = self.value(e.base)
        if isinstance(base, ViewRef) and base.field is not None:
            return self.field(base, e.name, e.loc)
        return self.attribute(base, e.name, e.loc)

    # -- operators ----------------------------------------------------------------------------

    def operation(self, e: hir.Operation) -> Value:
        """A unary or binary operator."""
        values = self.operands(e.args)
        if len(values) == 1:
            return self.unary(e.op, scalar(values[0], e.args[0].loc), e.loc)
        return self.compare_or_compute(e.op, values[0], values[1], e)

    def compare_or_compute(self, op: str, a: Value, b: Value, e: hir.Operation) -> Value:
        """An operator on two values: numbers, and for == and its like tuples and constants."""
        if op in ("is", "is_not"):
            if not (isinstance(a, Obj) and isinstance(b, Obj)):
                none = Obj(None, "None")
                if none in (a, b):  # a number, a View or a function is not None
                    return ir.Const(op == "is_not", BOOL, e.loc)
                raise type_fault(
                    e.loc,
                    f"'is' compares with None only, got {describe(a)} and {describe(b)}",
                    "compare numbers with ==",
                )
            return ir.Const((a.value is b.value) == (op == "is"), BOOL, e.loc)
        if isinstance(a, TupleValue) and isinstance(b, TupleValue) and op == "add":
            return TupleValue((*a.items, *b.items))
        for items, times in ((a, b), (b, a)):
            repeats = isinstance(times, ir.Const) and times.type == PY_INT and op == "mul"
            if isinstance(items, TupleValue) and isinstance(times, ir.Const) and repeats:
                return TupleValue(items.items * int(times.value))
        if op in ("in", "not_in"):
            return self._membership(op, a, b, e)
        if op in ("eq", "ne"):
            if isinstance(a, Obj) and isinstance(b, Obj):
                return ir.Const((a.value == b.value) == (op == "eq"), BOOL, e.loc)
            if Obj in (type(a), type(b)):
                return ir.Const(op == "ne", BOOL, e.loc)
            if isinstance(a, TupleValue) and isinstance(b, TupleValue):
                return self._equal_tuples(op, a, b, e)
        locs = [x.loc for x in e.args]
        return self.binary(op, scalar(a, locs[0]), scalar(b, locs[-1]), e.loc)

    def _membership(self, op: str, a: Value, b: Value, e: Any) -> Value:
        if isinstance(a, Obj) and isinstance(b, Obj) and isinstance(b.value, str):
            return ir.Const((str(a.value) in b.value) == (op == "in"), BOOL, e.loc)
        if not isinstance(b, TupleValue):
            hint = "compare with each number, joined with or"
            if is_view(b):
                hint = "compare with its elements in a loop over range"
            raise type_fault(e.loc, f"'in' needs a tuple, got {describe(b)}", hint)
        a = self.keep(a)
        result: Any = ir.Const(False, BOOL, e.loc)
        for item in b.items:
            result = self.either(result, self.compare_or_compute("eq", a, item, e), "or", e.loc)
        return result if op == "in" else self.unary("not", result, e.loc)

    def _equal_tuples(self, op: str, a: TupleValue, b: TupleValue, e: Any) -> Value:
        if len(a.items) != len(b.items):
            return ir.Const(op == "ne", BOOL, e.loc)
        result: Any = ir.Const(True, BOOL, e.loc)
        for x, y in zip(a.items, b.items, strict=True):
            result = self.either(result, self.compare_or_compute("eq", x, y, e), "and", e.loc)
        return result if op == "eq" else self.unary("not", result, e.loc)

    def chain(self, e: hir.Chain) -> Value:
        """`a < b < c`: the rest is evaluated only where the tests so far hold."""
        first, second = self.operands(e.args[:2])
        second = self.keep(second)
        return self._chained(e, 0, first, second)

    def _chained(self, e: hir.Chain, n: int, a: Value, b: Value) -> Value:
        pair = hir.Operation(e.loc, e.ops[n], e.args[n : n + 2])
        test: Any = self.compare_or_compute(e.ops[n], a, b, pair)
        if n + 1 == len(e.ops):
            return test  # type: ignore[no-any-return]
        if isinstance(test, ir.Const) and not test.value:
            return test
        saved, self.out = self.out, []
        try:
            following = self.value(e.args[n + 2])
            if n + 2 < len(e.ops):
                following = self.keep(following)
            rest = self._chained(e, n + 1, b, following)
        finally:
            emitted, self.out = self.out, saved
        if isinstance(test, ir.Const):
            self.out += emitted
            return rest
        return self._joined("and", test, emitted, rest, e.loc)

    def _joined(
        self, op: str, first: Any, emitted: list[ir.Stmt], second: Any, loc: Loc
    ) -> ir.Expr:
        """and/or of two bools, the second of which may need statements."""
        if not emitted:
            return self.either(first, second, op, loc)  # type: ignore[no-any-return]
        name = self.temporary(BOOL)
        self.out.append(ir.Assign(name, first, loc))
        test: ir.Expr = ir.Var(name, BOOL, loc)
        if op == "or":
            test = ir.Op("not", (test,), BOOL, loc)
        body = (*emitted, ir.Assign(name, second, loc))
        self.out.append(ir.If(test, body, loc=loc))
        return ir.Var(name, BOOL, loc)

    def logical(self, e: hir.Logical) -> Value:
        """and/or: of bools a bool, otherwise the deciding operand, as in Python."""
        return self._logical(e, 0)

    def _logical(self, e: hir.Logical, n: int) -> Value:
        value = self._operand(e.args[n])
        if n + 1 == len(e.args):
            return value  # type: ignore[no-any-return]
        if isinstance(value, ir.Const):
            # Decided at compile time: the rest is not even looked at.
            return self._logical(e, n + 1) if bool(value.value) == (e.op == "and") else value
        saved, self.out = self.out, []
        try:
            rest: Any = self._logical(e, n + 1)
        finally:
            emitted, self.out = self.out, saved
        if value.type == BOOL and rest.type == BOOL:
            return self._joined(e.op, value, emitted, rest, e.loc)
        common = self._common(value.type, rest.type, f"'{e.op}'", e.loc)
        value = self.keep(value)
        test = self.truth(value, e.loc)
        if e.op == "or":
            test = ir.Op("not", (test,), BOOL, e.loc)
        return self._choose(
            test, common, emitted, self.coerce(rest, common), [], self.coerce(value, common), e.loc
        )

    def _operand(self, e: hir.Expr) -> Any:
        value = self.value(e)
        if isinstance(value, Obj):  # a constant that is no number is as true as Python says
            return ir.Const(bool(value.value), BOOL, e.loc)
        return scalar(value, e.loc)

    def test(self, e: hir.Expr) -> ir.Expr:
        """Value of a condition."""
        return self.truth(self._operand(e), e.loc)

    def conditional(self, e: hir.Conditional) -> Value:
        """`a if test else b`; a constant test decides which side is compiled."""
        test = self.test(e.test)
        outcome = self.decide(e, test)
        if outcome is not None:
            return self.value(e.then if outcome else e.orelse)
        before, then = self.apart(e.then)
        otherwise, orelse = self.apart(e.orelse)
        places = (e.then.loc, e.orelse.loc)
        return self._select(test, before, then, otherwise, orelse, e.loc, places)

    def _common(self, a: Scalar, b: Scalar, what: str, loc: Loc) -> Scalar:
        try:
            return promote(a, b)
        except PromotionError as error:
            raise type_fault(loc, f"{what} of {a} and {b}: {error}", error.hint) from None

    def _select(
        self,
        test: ir.Expr,
        before: list[ir.Stmt],
        then: Value,
        otherwise: list[ir.Stmt],
        orelse: Value,
        loc: Loc,
        places: tuple[Loc, Loc],
    ) -> Value:
        if isinstance(then, TupleValue) and isinstance(orelse, TupleValue):
            if len(then.items) != len(orelse.items):
                raise type_fault(
                    loc,
                    f"cannot choose between {describe(then)} and {describe(orelse)}",
                    "give both the same number of items",
                )
            test = self.keep(test)
            if before or otherwise:
                self.out.append(ir.If(test, tuple(before), tuple(otherwise), loc))
            pairs = zip(then.items, orelse.items, strict=True)
            chosen = (self._select(test, [], a, [], b, loc, places) for a, b in pairs)
            return TupleValue(tuple(chosen), then.names if then.names == orelse.names else ())
        if type(then) is type(orelse) and isinstance(then, Obj | FunctionValue) and then == orelse:
            return then
        for value in (then, orelse):
            if not (isinstance(value, ir.Expr) and isinstance(value.type, Scalar)):
                hint = (
                    "choose between numbers; for the rest use if and else around whole statements"
                )
                if Obj(None, "None") in (then, orelse):
                    hint = "kernels compute with numbers; math.nan can stand for a missing one"
                raise type_fault(
                    loc, f"cannot choose between {describe(then)} and {describe(orelse)}", hint
                )
        a, b = scalar(then, places[0]), scalar(orelse, places[1])
        common = self._common(a.type, b.type, "the choice", loc)
        return self._choose(
            test, common, before, self.coerce(a, common), otherwise, self.coerce(b, common), loc
        )

    def _choose(
        self,
        test: ir.Expr,
        type: Scalar,
        before: list[ir.Stmt],
        then: Any,
        otherwise: list[ir.Stmt],
        orelse: Any,
        loc: Loc,
    ) -> ir.Expr:
        """One of two numbers of the same type, each with statements that compute it."""
        if not before and not otherwise:
            return ir.Select(test, then, orelse, type, loc)
        name = self.temporary(type)
        yes = (*before, ir.Assign(name, then, loc))
        no = (*otherwise, ir.Assign(name, orelse, loc))
        self.out.append(ir.If(test, yes, no, loc))
        return ir.Var(name, type, loc)

"""Typing of expressions: names, operators, conditions and calls of functions.

Python evaluates from left to right and each operand once. Values are trees without side
effects where that is the same; where it is not (a helper that stores into a View, say),
statements are emitted, and what was evaluated before them is kept in temporaries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import execspace
from execspace.captures import function_of

from . import hir, ir
from .diagnostics import Loc, syntax_fault, type_fault
from .functions import Captured, Definition, Nested
from .names import Object
from .ops import CALLEES
from .printing import conversions
from .types import BOOL, INT64, Scalar, TupleTy, Type, promote
from .values import (
    FunctionValue,
    Obj,
    TupleValue,
    Value,
    ViewRef,
    as_parameter,
    describe,
    is_view,
    parts,
    rebuild,
    scalar,
    type_of,
)
from .views import Place, ViewRules

if TYPE_CHECKING:
    from .modules import ModuleTyper

_NUMBER = bool | int | float | complex | np.generic


class Pending(Exception):
    """A variable is read whose type is not known yet; a later walk will know it."""


class ExpressionRules(ViewRules):
    """Typing of expressions within a function; FunctionTyper adds statements."""

    module: ModuleTyper
    types: dict[str, Type]
    out: list[ir.Stmt]
    decided: dict[int, bool]
    fails: bool
    name: str
    temporaries: int
    own_names: set[str]

    # -- emission -----------------------------------------------------------------------------

    def temporary(self, type: Type) -> str:
        """A new variable."""
        self.temporaries += 1
        while f"_t{self.temporaries}" in self.own_names:
            self.temporaries += 1
        name = f"_t{self.temporaries}"
        self.types[name] = type
        return name

    def keep(self, value: Any) -> Any:
        """Put a value into temporaries that later statements do not touch."""
        if isinstance(value, TupleValue):
            return TupleValue(tuple(self.keep(item) for item in value.items))
        if isinstance(value, ir.Const) or not isinstance(value, ir.Expr):
            return value
        if not isinstance(value.type, Scalar):
            return value
        name = self.temporary(value.type)
        self.out.append(ir.Assign(name, value, value.loc))
        return ir.Var(name, value.type, value.loc)

    def apart(self, e: hir.Expr) -> tuple[list[ir.Stmt], Value]:
        """A value, and the statements that compute it, which are not emitted."""
        saved, self.out = self.out, []
        try:
            value = self.value(e)
        finally:
            emitted, self.out = self.out, saved
        return emitted, value

    def operands(self, exprs: Sequence[hir.Expr]) -> list[Value]:
        """Values of several expressions, in Python's order of evaluation."""
        done: list[Value] = []
        for e in exprs:
            emitted, value = self.apart(e)
            if emitted:
                done = [self.keep(v) for v in done]
                self.out += emitted
            done.append(value)
        return done

    # -- values -------------------------------------------------------------------------------

    def number(self, e: hir.Expr) -> Any:
        """Value of an expression that must be a number."""
        return scalar(self.value(e), e.loc)

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
        raise type_fault(e.loc, "a slice stands in a subscript only")

    def bind(self, name: str, value: Value, loc: Loc) -> None:
        """Assign to a local variable."""
        raise NotImplementedError

    def variable(self, name: str, loc: Loc) -> Value:
        """Value of a local variable or parameter."""
        type = self.types.get(name)
        if type is None:
            if self.final:
                raise type_fault(loc, f"the type of '{name}' cannot be inferred")
            raise Pending
        return rebuild(type, name, loc)

    def outer(self, e: hir.Outer) -> Value:
        """A captured constant, function or compile-time object."""
        value = e.value
        if value is Object:
            raise type_fault(
                e.loc,
                f"'{e.path}' is an object; a kernel knows its attributes only",
                f"use {e.path}.name, or pass what it holds as arguments",
            )
        function = function_of(value)
        if function is not None:
            names = e.names
            path = tuple(e.path.split("."))
            definition = self.module.captured(function, names, names.full(path) + "/")
            views = names.views_of_helper(path)
            env = tuple((v, self.variable(v, e.loc)) for v in views)
            return FunctionValue(definition, env)
        return self._object(value, e.path, e.loc)

    def _object(self, value: Any, path: str, loc: Loc) -> Value:
        if isinstance(value, _NUMBER):
            return self.constant(value, loc)
        if isinstance(value, tuple):
            return TupleValue(tuple(self._object(v, path, loc) for v in value))
        return Obj(value, path)

    def member(self, e: hir.Attribute) -> Value | Place:
        """`base.name`: a field of a record, or what calls.py knows."""
        base = self.value(e.base)
        if isinstance(base, ViewRef) and base.field is not None:
            if e.name in ("shape", "size", "ndim", "rank", "dtype"):
                raise type_fault(e.loc, f"{base.field} has no attribute '{e.name}' in a kernel")
            return self.field(base, e.name, e.loc)
        return self.attribute(base, e.name, e.loc)

    # -- operators ----------------------------------------------------------------------------

    def operation(self, e: hir.Operation) -> Value:
        """A unary or binary operator."""
        values = self.operands(e.args)
        if len(values) == 1:
            return self.unary(e.op, scalar(values[0], e.args[0].loc), e.loc)
        return self.compare_or_compute(e.op, values[0], values[1], e)

    def compare_or_compute(
        self, op: str, a: Value, b: Value, e: hir.Operation | hir.Chain
    ) -> Value:
        """An operator on two values: numbers, and for == and its like tuples and constants."""
        if op in ("is", "is_not"):
            if not (isinstance(a, Obj) and isinstance(b, Obj)):
                none = Obj(None, "None")
                if none in (a, b):  # a number, a View or a function is not None
                    return ir.Const(op == "is_not", BOOL, e.loc)
                raise type_fault(e.loc, "'is' compares with None only", "compare numbers with ==")
            return ir.Const((a.value is b.value) == (op == "is"), BOOL, e.loc)
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
            raise type_fault(
                e.loc, f"'in' needs a tuple, got {describe(b)}", "write the comparisons out"
            )
        a = self.keep(a)
        result: Any = ir.Const(False, BOOL, e.loc)
        for item in b.items:
            result = self._either(result, self.compare_or_compute("eq", a, item, e), "or", e.loc)
        return result if op == "in" else self.unary("not", result, e.loc)

    def _equal_tuples(self, op: str, a: TupleValue, b: TupleValue, e: Any) -> Value:
        if len(a.items) != len(b.items):
            return ir.Const(op == "ne", BOOL, e.loc)
        result: Any = ir.Const(True, BOOL, e.loc)
        for x, y in zip(a.items, b.items, strict=True):
            result = self._either(result, self.compare_or_compute("eq", x, y, e), "and", e.loc)
        return result if op == "eq" else self.unary("not", result, e.loc)

    def _either(self, a: Any, b: Any, op: str, loc: Loc) -> Any:
        for x, y in ((a, b), (b, a)):
            if isinstance(x, ir.Const):
                return y if bool(x.value) == (op == "and") else x
        return ir.Op(op, (a, b), BOOL, loc)

    def chain(self, e: hir.Chain) -> Value:
        """`a < b < c`: the rest is evaluated only where the tests so far hold."""
        first, second = self.operands(e.args[:2])
        second = self.keep(second)
        return self._chained(e, 0, first, second)

    def _chained(self, e: hir.Chain, n: int, a: Value, b: Value) -> Value:
        test: Any = self.compare_or_compute(e.ops[n], a, b, e)
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
            return self._either(first, second, op, loc)  # type: ignore[no-any-return]
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
        common = promote(value.type, rest.type)
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
        if isinstance(test, ir.Const):
            self.decided[id(e)] = bool(test.value)
            return self.value(e.then if test.value else e.orelse)
        before, then = self.apart(e.then)
        otherwise, orelse = self.apart(e.orelse)
        return self._select(test, before, then, otherwise, orelse, e.loc)

    def _select(
        self,
        test: ir.Expr,
        before: list[ir.Stmt],
        then: Value,
        otherwise: list[ir.Stmt],
        orelse: Value,
        loc: Loc,
    ) -> Value:
        if isinstance(then, TupleValue) and isinstance(orelse, TupleValue):
            if len(then.items) != len(orelse.items):
                raise type_fault(
                    loc, f"cannot choose between {describe(then)} and {describe(orelse)}"
                )
            test = self.keep(test)
            if before or otherwise:
                self.out.append(ir.If(test, tuple(before), tuple(otherwise), loc))
            pairs = zip(then.items, orelse.items, strict=True)
            return TupleValue(tuple(self._select(test, [], a, [], b, loc) for a, b in pairs))
        if type(then) is type(orelse) and isinstance(then, Obj | FunctionValue) and then == orelse:
            return then
        a, b = scalar(then, loc), scalar(orelse, loc)
        common = promote(a.type, b.type)
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

    # -- functions ----------------------------------------------------------------------------

    def nested(self, e: hir.Lambda) -> FunctionValue:
        """A function defined here: its variables are read when it is called."""
        definition = self.module.nested(e.function)
        if not e.defaults:
            return FunctionValue(definition, None)
        values = self.operands([v for _, v in e.defaults])
        pairs = zip(e.defaults, values, strict=True)
        return FunctionValue(definition, tuple((f"={n}", self.keep(v)) for (n, _), v in pairs))

    def environment(self, fn: FunctionValue, loc: Loc) -> dict[str, Value]:
        """What a function captures, as it is now."""
        definition = fn.definition
        known = dict(fn.env or ())
        if isinstance(definition, Nested):
            self.module.enter(definition, "variables", loc)
            try:
                for name in definition.function.free:
                    if name not in known:
                        known[name] = self.closed(self.variable(name, loc), loc)
            finally:
                self.module.leave()
        return known

    def closed(self, value: Value, loc: Loc) -> Value:
        """A value that can leave this function: nested functions take their variables along."""
        if isinstance(value, TupleValue):
            return TupleValue(tuple(self.closed(v, loc) for v in value.items))
        if isinstance(value, FunctionValue):
            return FunctionValue(value.definition, tuple(self.environment(value, loc).items()))
        return value

    def function_call(
        self, fn: FunctionValue, args: Sequence[Value], keywords: dict[str, Value], loc: Loc
    ) -> Value:
        """Call of a helper or nested function; literals keep their weakness in it."""
        definition = fn.definition
        if isinstance(definition, Captured):
            callee = CALLEES.get(definition.scope.fn)
            if callee is not None:
                return self.call(Obj(definition.scope.fn, definition.name), args, keywords, loc)
        given = {n: self.closed(v, loc) for n, v in definition.bind(args, keywords, loc).items()}
        missing = [n for n in definition.all_parameters if n not in given]
        environment = self.environment(fn, loc)
        for name in missing:
            default = environment.pop(f"={name}", None)
            if default is not None:
                given[name] = default
            elif not (isinstance(definition, Captured) and definition.has_default(name)):
                raise type_fault(
                    loc,
                    f"'{definition.name}' takes {len(definition.positional)} arguments, "
                    f"got {len(args) + len(keywords)}",
                    f"'{name}' is missing",
                )
        function = definition.lowered(frozenset(n for n in missing if n not in given))
        values = {n: given[n] for n in function.parameters}
        values.update({n: environment[n] for n in function.free})
        return self._invoke(definition, function, values, loc)

    def _invoke(
        self, definition: Definition, function: hir.Function, values: dict[str, Value], loc: Loc
    ) -> Value:
        types = tuple((n, as_parameter(type_of(v, loc), n)) for n, v in values.items())
        signature = self.module.helper(definition, function, types, loc)
        flat = [e for n, v in values.items() for _, e in parts(v, n)]
        call = ir.Call(signature.name, tuple(flat), INT64, loc)
        results = signature.results()
        if signature.fails:
            results = (*results, INT64)
        if not results:
            self.out.append(ir.Evaluate(call, loc))
            return Obj(None, "None")
        if len(results) == 1:
            call = ir.Call(signature.name, tuple(flat), results[0].strong, loc)
            if not signature.effects and not signature.fails:
                typed = ir.Call(signature.name, tuple(flat), results[0], loc)
                return self._result(signature.result, [typed])
        names = [self.temporary(t) for t in results]
        if len(names) == 1:
            self.out.append(ir.Assign(names[0], call, loc))
        else:
            self.out.append(ir.Unpack(tuple(names), call, loc))
        found: list[ir.Expr] = [ir.Var(n, t, loc) for n, t in zip(names, results, strict=True)]
        if signature.fails:
            self.fails = True
            code = found.pop()
            failed = ir.Op("ne", (code, ir.Const(0, INT64, loc)), BOOL, loc)
            self.out.append(ir.If(failed, tuple(self.failure(code, loc)), loc=loc))
        return self._result(signature.result, found)

    def _result(self, type: Type | None, values: list[ir.Expr]) -> Value:
        if type is None:
            return Obj(None, "None")
        if isinstance(type, TupleTy):
            return TupleValue(tuple(self._result(t, values) for t in type.items))
        return values.pop(0)

    def failure(self, code: ir.Expr, loc: Loc) -> list[ir.Stmt]:
        """Statements that report a failed assertion and leave the function."""
        raise NotImplementedError

    # -- words of execspace -------------------------------------------------------------------

    def special_call(self, target: Any, args: Sequence[Value], loc: Loc) -> Value | None:
        """es.local, es.printf and es.subview; None for anything else."""
        if target is execspace.local:
            type = self.local_type(args, loc)
            name = self.module.local_array(self.name, loc)
            self.types[name] = type
            array = ir.Var(name, type, loc)
            self.out.append(ir.Clear(array, loc))
            return array
        if target is execspace.printf:
            text = args[0].value if args and isinstance(args[0], Obj) else None
            if not isinstance(text, str):
                raise type_fault(loc, "es.printf takes a constant format string first")
            numbers = [scalar(a, loc) for a in args[1:]]
            found = conversions(text, [n.type for n in numbers], loc)
            rest = iter(numbers)
            pieces: list[str | tuple[str, ir.Expr]] = []
            for piece, type_ in found:
                if type_ is None:
                    pieces.append(piece)
                else:
                    pieces.append((piece, self.coerce(next(rest), type_)))
            self.out.append(ir.Print(tuple(pieces), loc))
            self.module.prints = True
            return Obj(None, "None")
        if target is execspace.subview:
            if not args or not is_view(args[0]):
                raise type_fault(loc, "es.subview takes a View first")
            locs = [loc] * (len(args) - 1)
            return self.read(self.part_of(args[0], list(args[1:]), locs, loc), loc)
        return None

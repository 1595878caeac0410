"""Typing of expressions: names, elements, operators, conditions; calls.py has the rest."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from execspace import Kernel, View

from . import hir, ir
from .calls import CallRules, Obj, TupleValue, Value, describe, scalar
from .diagnostics import Loc, type_fault
from .types import BOOL, INDEX, TupleTy, Type, ViewTy, promote

if TYPE_CHECKING:
    from .infer import ModuleTyper


class Pending(Exception):
    """A variable is read whose type is not known yet; a later walk will know it."""


class ExpressionRules(CallRules):
    """Typing of expressions within a function; FunctionTyper adds statements."""

    module: ModuleTyper
    types: dict[str, Type]

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
                return self.attribute(self.value(e.base), e.name, e.loc)
            case hir.Subscript():
                return self.subscript(e)
            case hir.Operation():
                return self.operation(e)
            case hir.Logical():
                return self.logical(e)
            case hir.Conditional():
                return self.conditional(e)
            case hir.Tuple():
                return TupleValue(tuple(self.value(i) for i in e.items))
            case hir.Call():
                keywords = {k: self.value(v) for k, v in e.keywords}
                return self.call(
                    self.value(e.function), [self.value(a) for a in e.args], keywords, e.loc
                )

    def variable(self, name: str, loc: Loc) -> Value:
        """Value of a local variable or parameter."""
        type = self.types.get(name)
        if type is None:
            if self.final:
                raise type_fault(loc, f"the type of '{name}' cannot be inferred")
            raise Pending
        if isinstance(type, TupleTy):
            return TupleValue(
                tuple(self.variable(f"{name}_{n}_", loc) for n in range(len(type.items)))
            )
        return ir.Var(name, type, loc)

    def outer(self, e: hir.Outer) -> Value:
        """A captured constant or a compile-time object."""
        value = e.value
        if isinstance(value, bool | int | float | complex | np.generic):
            return self.constant(value, e.loc)
        if isinstance(value, tuple) and all(
            isinstance(v, bool | int | float | complex | np.generic) for v in value
        ):
            return TupleValue(tuple(self.constant(v, e.loc) for v in value))
        if isinstance(value, Kernel):
            value = value.fn
        return Obj(value, e.path)

    def element(self, e: hir.Subscript) -> tuple[ir.Var, tuple[ir.Expr, ...]]:
        """View and int64 indices of an element."""
        base = self.value(e.base)
        if not (isinstance(base, ir.Var) and isinstance(base.type, ViewTy)):
            hint = ""
            if isinstance(base, Obj) and isinstance(base.value, View | np.ndarray):
                hint = "a helper cannot capture a View; pass it as an argument"
            raise type_fault(e.loc, f"cannot index {describe(base)}", hint)
        if len(e.indices) != base.type.rank:
            raise type_fault(
                e.loc,
                f"View '{base.name}' has rank {base.type.rank}, got {len(e.indices)} "
                f"{'index' if len(e.indices) == 1 else 'indices'}",
                f"write {base.name}[{', '.join('ijklmnpq'[: base.type.rank])}]",
            )
        indices: list[ir.Expr] = []
        for d, part in enumerate(e.indices):
            index = self.number(part)
            if not index.type.is_integer:
                raise type_fault(
                    part.loc,
                    f"index {d} of View '{base.name}' is {index.type}, expected an integer",
                    "convert it with int(...)",
                )
            if isinstance(index, ir.Const) and index.value < 0:
                # Only a literal negative subscript counts from the end, as Python reads it.
                index = ir.Op("add", (ir.Extent(base, d, loc=part.loc), index), INDEX, part.loc)
            indices.append(self.coerce(index, INDEX))
        return base, tuple(indices)

    def subscript(self, e: hir.Subscript) -> Value:
        """`A[i, j]`, or an item of a tuple."""
        base = self.value(e.base)
        if isinstance(base, TupleValue):
            if len(e.indices) != 1:
                raise type_fault(e.loc, "a tuple takes one index")
            index = self.number(e.indices[0])
            if not isinstance(index, ir.Const):
                raise type_fault(e.loc, "the index of a tuple must be a constant")
            if not -len(base.items) <= index.value < len(base.items):
                raise type_fault(
                    e.loc, f"index {index.value} is outside a tuple of {len(base.items)}"
                )
            item: Value = base.items[int(index.value)]
            return item
        view, indices = self.element(e)
        return self.load(view, indices, e.loc)

    def load(self, view: ir.Var, indices: tuple[ir.Expr, ...], loc: Loc) -> ir.Expr:
        """Load of an element."""
        assert isinstance(view.type, ViewTy)
        return ir.Load(view, indices, view.type.element, loc)

    def operation(self, e: hir.Operation) -> Value:
        """A unary or binary operator."""
        args = [self.number(a) for a in e.args]
        if len(args) == 1:
            return self.unary(e.op, args[0], e.loc)
        return self.binary(e.op, args[0], args[1], e.loc)

    def logical(self, e: hir.Logical) -> Value:
        """and/or: of bools a bool, otherwise the deciding operand, as in Python."""
        values = [self.number(a) for a in e.args]
        result: Any = values[-1]
        for value in reversed(values[:-1]):
            if value.type == BOOL and result.type == BOOL:
                result = ir.Op(e.op, (value, result), BOOL, e.loc)
                continue
            common = promote(value.type, result.type)
            a, b = self.coerce(value, common), self.coerce(result, common)
            test = self.truth(value, e.loc)
            then, orelse = (b, a) if e.op == "and" else (a, b)
            result = ir.Select(test, then, orelse, common, e.loc)
        value_: Value = result
        return value_

    def conditional(self, e: hir.Conditional) -> Value:
        """`a if test else b`; tuples item by item."""
        test = self.truth(self.number(e.test), e.test.loc)
        return self.select(test, self.value(e.then), self.value(e.orelse), e.loc)

    def select(self, test: ir.Expr, then: Value, orelse: Value, loc: Loc) -> Value:
        """Choice between two values."""
        if isinstance(then, TupleValue) and isinstance(orelse, TupleValue):
            if len(then.items) != len(orelse.items):
                raise type_fault(
                    loc, f"cannot choose between {describe(then)} and {describe(orelse)}"
                )
            pairs = zip(then.items, orelse.items, strict=True)
            return TupleValue(tuple(self.select(test, a, b, loc) for a, b in pairs))
        a, b = scalar(then, loc), scalar(orelse, loc)
        common = promote(a.type, b.type)
        return ir.Select(test, self.coerce(a, common), self.coerce(b, common), common, loc)

    def helper_call(self, fn: FunctionType, args: Sequence[Value], loc: Loc) -> Value:
        """Call of a helper function; literals keep their weakness in it."""
        if self.module.helper is None:
            raise Pending
        types: list[Type] = []
        values: list[ir.Expr] = []
        for a in args:
            if isinstance(a, ir.Var) and isinstance(a.type, ViewTy):
                types.append(a.type)
                values.append(a)
            else:
                e = scalar(a, loc)
                types.append(e.type)
                values.append(e)
        signature = self.module.helper(fn, tuple(types), loc)
        if signature.result is None:
            raise type_fault(
                loc,
                f"'{fn.__name__}' returns nothing",
                "a helper returns one number; write results into a View in the kernel",
            )
        return ir.Call(signature.name, tuple(values), signature.result, loc)

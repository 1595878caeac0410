"""Typing of expressions: names, operators and conditions.

Python evaluates from left to right and each operand once. Values are trees without side
effects where that is the same; where it is not (a helper that stores into a View, say),
statements are emitted, and what was evaluated before them is kept in temporaries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from execspace.base.subclasses import fields_of, own_operator, own_reading
from execspace.kernels.captures import function_of

from .. import ir
from ..frontend import hir
from ..frontend.names import Object
from ..ir.diagnostics import Loc, syntax_fault, type_fault
from ..ir.types import BOOL, PY_INT
from .emission import Pending
from .values import FunctionValue, Obj, TupleValue, Value, ViewRef, describe, is_view, scalar
from .views import Place

if TYPE_CHECKING:
    pass

from .calls import own_code
from .choices import ChoiceRules


def _compares_itself(value: Any) -> bool:
    """Whether it is an object that may be equal to a number, as a Fraction is."""
    own: Any = type(value).__eq__
    plain = value is None or isinstance(value, str | bytes | type | np.dtype)
    return not plain and own is not object.__eq__


_NUMBER = bool | int | float | complex | np.generic


_MOST_ITEMS = 10_000


def _refuse_long(count: int, loc: Loc) -> None:
    """Code is written for each item of a tuple that a kernel makes."""
    if count > _MOST_ITEMS:
        raise type_fault(
            loc,
            f"the tuple has {count:,} items, more than {_MOST_ITEMS:,}",
            "keep the numbers in es.local or a View",
        )


class ExpressionRules(ChoiceRules):
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

    def outer(self, e: hir.Outer, field: bool = False) -> Value:
        """A captured constant, function or compile-time object; `field`: to read one of it."""
        value = e.value
        if value is Object:
            raise type_fault(
                e.loc,
                f"'{e.path}' is an object, of which a kernel knows the attributes only",
                f"use {e.path}.name, or pass what it holds as arguments",
            )
        path = tuple(e.path.split("."))
        if self.ruled_out and not e.names.is_watched(path):
            raise Pending  # Python has left it out of the bytecode; its type is not to be known
        own = own_reading if field else own_operator
        return self._captured(value, e.path, e.names.full(path), e, own)

    def _captured(
        self, value: Any, path: str, full: str, e: hir.Outer, own: Callable[[type], str | None]
    ) -> Value:
        """A captured constant by its path in the source and its full name among the captures."""
        function = function_of(value)
        if function is not None:
            definition = self.module.captured(function, e.names, f"{full}/")
            env = tuple((v, self.variable(v, e.loc)) for v in e.names.views_under(full))
            return FunctionValue(definition, env)
        if not isinstance(value, _NUMBER | tuple):
            return Obj(value, path)
        name = own(type(value))
        if name is not None:
            raise own_code(path, type(value), name, e.loc)
        if isinstance(value, _NUMBER):
            return self.constant(value, e.loc)
        items = (
            self._captured(v, f"{path}[{n}]", f"{full}[{n}]", e, own_operator)
            for n, v in enumerate(value)
        )
        return TupleValue(tuple(items), fields_of(value))

    def member(self, e: hir.Attribute) -> Value | Place:
        """`base.name`: a field of a record, or what calls.py knows."""
        base = (
            self.outer(e.base, field=True) if isinstance(e.base, hir.Outer) else self.value(e.base)
        )
        if isinstance(base, ViewRef) and base.field is not None:
            return self.field(base, e.name, e.loc)
        return self.attribute(base, e.name, e.loc)

    # -- operators ----------------------------------------------------------------------------

    def operation(self, e: hir.Operation) -> Value:
        """A unary or binary operator. Long sums, whose first operands nest, need no recursion."""
        chain = [e]
        while len(chain[-1].args) == 2 and isinstance(chain[-1].args[0], hir.Operation):
            chain.append(chain[-1].args[0])
        last = chain.pop()
        values = [] if last.op == "not" else self.operands(last.args)
        if not values:
            result = self.unary("not", self.test(last.args[0]), last.loc)
        elif len(values) == 1:
            result = self.unary(last.op, scalar(values[0], last.args[0].loc), last.loc)
        else:
            result = self.compare_or_compute(last.op, values[0], values[1], last)
        for n, outer in enumerate(reversed(chain)):
            emitted, right = self.apart(outer.args[1])
            if emitted:
                result = self.keep(result)
                self.out += emitted
            result = self.compare_or_compute(outer.op, self.settled(result, n), right, outer)
        return result

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
            _refuse_long(len(a.items) + len(b.items), e.loc)
            return TupleValue((*a.items, *b.items))
        for items, times in ((a, b), (b, a)):
            repeats = isinstance(times, ir.Const) and times.type == PY_INT and op == "mul"
            if isinstance(items, TupleValue) and isinstance(times, ir.Const) and repeats:
                _refuse_long(len(items.items) * times.value, e.loc)
                return TupleValue(items.items * times.value)
        if op in ("in", "not_in"):
            return self._membership(op, a, b, e)
        if op in ("eq", "ne"):
            if isinstance(a, Obj) and isinstance(b, Obj):
                if any(isinstance(v.value, list | dict | set | bytearray) for v in (a, b)):
                    raise type_fault(
                        e.loc,
                        f"whether {describe(a)} equals {describe(b)} may change unnoticed",
                        "compare before the launch, and let the kernel read the bool",
                    )
                return ir.Const((a.value == b.value) == (op == "eq"), BOOL, e.loc)
            for one in (a, b):
                if isinstance(one, Obj):
                    if _compares_itself(one.value):
                        raise type_fault(
                            e.loc,
                            f"{describe(a)} and {describe(b)} are compared by a class of Python",
                            "compare before the launch, or convert it to a number there",
                        )
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
        for n, item in enumerate(b.items):
            result = self.settled(result, n)
            result = self.either(result, self.compare_or_compute("eq", a, item, e), "or", e.loc)
        return result if op == "in" else self.unary("not", result, e.loc)

    def _equal_tuples(self, op: str, a: TupleValue, b: TupleValue, e: Any) -> Value:
        if len(a.items) != len(b.items):
            return ir.Const(op == "ne", BOOL, e.loc)
        result: Any = ir.Const(True, BOOL, e.loc)
        for n, (x, y) in enumerate(zip(a.items, b.items, strict=True)):
            result = self.settled(result, n)
            result = self.either(result, self.compare_or_compute("eq", x, y, e), "and", e.loc)
        return result if op == "eq" else self.unary("not", result, e.loc)

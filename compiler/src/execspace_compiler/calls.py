"""Typing rules of operators, conversions, attributes and calls: the rows of ops.py at work."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import execspace

from . import ir
from .diagnostics import Loc, syntax_fault, type_fault
from .ops import (
    BITWISE,
    CALLEES,
    COMPARISONS,
    COMPLEX_FUNCTIONS,
    OPERATOR_SIGNS,
    PYTHON_OPERATORS,
    Callee,
)
from .types import (
    BOOL,
    INDEX,
    INT64,
    PY_COMPLEX,
    PY_FLOAT,
    PY_INT,
    PYTHON_WEAK,
    UINT64,
    PromotionError,
    Scalar,
    arithmetic,
    as_float,
    promote,
    python_type,
    real_part,
    true_division,
)
from .values import (
    FunctionValue,
    Method,
    Obj,
    TupleValue,
    Value,
    ViewRef,
    describe,
    extent,
    is_view,
    scalar,
)


class CallRules:
    """Typing of everything but names and statements; FunctionTyper adds those."""

    final: bool

    def function_call(
        self, fn: FunctionValue, args: Sequence[Value], keywords: dict[str, Value], loc: Loc
    ) -> Value:
        """Call of a helper or nested function."""
        raise NotImplementedError

    def special_call(self, target: Any, args: Sequence[Value], loc: Loc) -> Value | None:
        """Call of a word of execspace itself; None if it is none."""
        raise NotImplementedError

    # -- constants and conversions ----------------------------------------------------------

    def constant(self, value: Any, loc: Loc) -> Value:
        """A literal or captured number; strings and None stay compile-time objects."""
        if value is None or isinstance(value, str):
            return Obj(value, repr(value))
        type = python_type(value)
        if type == PY_INT and not -(2**63) <= value < 2**64:
            raise type_fault(loc, f"the integer {value} does not fit into 64 bits")
        return ir.Const(value, type, loc)

    def coerce(self, e: Any, type: Scalar) -> Any:
        """Convert to a type, folding constants."""
        if e.type.strong == type.strong:
            if isinstance(e, ir.Const) and e.type == PY_INT and e.value >= 2**63:
                raise type_fault(
                    e.loc,
                    f"the constant {e.value} does not fit int64",
                    "write es.uint64(...) around it",
                )
            if isinstance(e, ir.Const) and e.type != type:
                return ir.Const(e.value, type, e.loc)
            return e
        if isinstance(e, ir.Const):
            return ir.Const(self._converted(e, type), type, e.loc)
        if isinstance(e, ir.Var) and e.type == PY_INT and type.is_integer:
            self.narrowed(e.name, type)
        return ir.Op("cast", (e,), type.strong, e.loc)

    def narrowed(self, name: str, type: Scalar) -> None:
        """A Python integer in a variable is converted to another integer type."""

    def _converted(self, e: ir.Const, type: Scalar) -> Any:
        dtype = np.dtype(type.name)
        if e.type.weak and isinstance(e.value, int) and type.is_integer:
            limits = np.iinfo(dtype)
            if not limits.min <= e.value <= limits.max:
                raise type_fault(
                    e.loc,
                    f"the constant {e.value} does not fit {type.strong}",
                    f"cast the other operand to a wider type, for example "
                    f"es.{'uint64' if e.value > 2**63 - 1 else 'int64'}(...)",
                )
        with np.errstate(all="ignore"):
            return np.asarray(e.value).astype(dtype).item()

    def truth(self, e: Any, loc: Loc) -> ir.Expr:
        """Truth value of a number."""
        if e.type == BOOL:
            return e  # type: ignore[no-any-return]
        if isinstance(e, ir.Const):
            return ir.Const(bool(e.value), BOOL, loc)
        zero = ir.Const(0, e.type, loc)
        return ir.Op("ne", (e, self.coerce(zero, e.type.strong)), BOOL, loc)

    # -- operators --------------------------------------------------------------------------

    def unary(self, op: str, a: Any, loc: Loc) -> Value:
        """-a, +a, ~a, not a."""
        if op == "not":
            test = self.truth(a, loc)
            if isinstance(test, ir.Const):
                return ir.Const(not test.value, BOOL, loc)
            return ir.Op("not", (test,), BOOL, loc)
        if a.type == BOOL:
            a = self.coerce(a, PY_INT)
        if op == "pos":
            return a  # type: ignore[no-any-return]
        if op == "invert" and not a.type.is_integer:
            raise type_fault(loc, f"~ needs an integer, got {a.type}")
        if isinstance(a, ir.Const) and a.type.weak:
            return ir.Const(PYTHON_OPERATORS[op](a.value), a.type, loc)
        return ir.Op(op, (a,), a.type, loc)

    def binary(self, op: str, a: Any, b: Any, loc: Loc) -> Value:
        """An operator on two numbers, with Python's meaning."""
        if (
            isinstance(a, ir.Const) and isinstance(b, ir.Const)
            and a.type.weak == b.type.weak == PYTHON_WEAK
        ):  # fmt: skip
            folded = self._fold(op, a, b, loc)
            if folded is not None:
                return folded
        try:
            if op in COMPARISONS:
                return self._compare(op, a, b, loc)
            if op == "truediv":
                return self._same(op, a, b, true_division(a.type, b.type), loc)
            if op in BITWISE:
                return self._bitwise(op, a, b, loc)
            if op == "pow":
                return self._power(a, b, loc)
            type = arithmetic(a.type, b.type)
        except PromotionError as error:
            sign = OPERATOR_SIGNS[op]
            raise type_fault(loc, f"'{sign}' of {a.type} and {b.type}: {error}") from None
        if op in ("floordiv", "mod") and type.kind == "c":
            raise type_fault(loc, f"'{OPERATOR_SIGNS[op]}' is not defined for complex numbers")
        if (
            op in ("floordiv", "mod")
            and isinstance(b, ir.Const)
            and b.value == 0
            and (type.is_integer)
        ):
            raise type_fault(loc, "integer division by zero")
        return self._same(op, a, b, type, loc)

    def _fold(self, op: str, a: ir.Const, b: ir.Const, loc: Loc) -> Value | None:
        try:
            value = PYTHON_OPERATORS[op](a.value, b.value)
        except ZeroDivisionError:
            raise type_fault(loc, "division by zero") from None
        except (OverflowError, ValueError, TypeError):
            return None
        return self.constant(value, loc)

    def _same(self, op: str, a: Any, b: Any, type: Scalar, loc: Loc) -> ir.Expr:
        return ir.Op(op, (self.coerce(a, type), self.coerce(b, type)), type, loc)

    def _compare(self, op: str, a: Any, b: Any, loc: Loc) -> Value:
        if a.type.kind == "c" or b.type.kind == "c":
            if op not in ("eq", "ne"):
                raise type_fault(loc, "complex numbers have no order", "compare abs(z)")
        for const, other in ((a, b), (b, a)):
            if isinstance(const, ir.Const) and const.type == PY_INT and other.type.is_integer:
                limits = np.iinfo(other.type.name)
                if not limits.min <= const.value <= limits.max:
                    # The comparison is decided, as it is in Python, whatever the other is.
                    less = (const is b) == (const.value > limits.max)
                    outcome = {"lt": less, "le": less, "gt": not less, "ge": not less,
                               "eq": False, "ne": True}[op]  # fmt: skip
                    return ir.Const(outcome, BOOL, loc)
        for x, y, flipped in ((a, b, False), (b, a, True)):
            signed = x.type.kind == "i" and not (isinstance(x, ir.Const) and x.value >= 0)
            if y.type.strong == UINT64 and signed and not isinstance(y, ir.Const):
                return self._compare_signs(op, x, y, flipped, loc)
        type = promote(a.type, b.type)
        if type.is_integer and type != UINT64 and PY_INT in (a.type, b.type):
            if not isinstance(a, ir.Const) and not isinstance(b, ir.Const):
                type = INT64  # exact, where the narrower type need not hold both
        return ir.Op(op, (self.coerce(a, type), self.coerce(b, type)), BOOL, loc)

    def _compare_signs(self, op: str, signed: Any, unsigned: Any, flipped: bool, loc: Loc) -> Value:
        """A signed number against a uint64, exactly: no common type holds both."""
        negative = ir.Op("lt", (signed, ir.Const(0, signed.type.strong, loc)), BOOL, loc)
        a, b = self.coerce(signed, UINT64), self.coerce(unsigned, UINT64)
        test = ir.Op(op, (b, a) if flipped else (a, b), BOOL, loc)
        if op == "ne" or op in (("gt", "ge") if flipped else ("lt", "le")):
            return ir.Op("or", (negative, test), BOOL, loc)
        return ir.Op("and", (ir.Op("not", (negative,), BOOL, loc), test), BOOL, loc)

    def _bitwise(self, op: str, a: Any, b: Any, loc: Loc) -> Value:
        type = promote(a.type, b.type)
        if op in ("lshift", "rshift"):
            type = arithmetic(a.type, b.type)
        if not type.is_integer and type != BOOL:
            raise type_fault(
                loc, f"'{OPERATOR_SIGNS[op]}' needs integers, got {a.type} and {b.type}"
            )
        return self._same(op, a, b, type, loc)

    def _power(self, a: Any, b: Any, loc: Loc) -> Value:
        type = arithmetic(a.type, b.type)
        if isinstance(b, ir.Const) and type.kind in "iufc":
            # Small powers are products on every space: exact where pow() need not be.
            if type.is_integer and b.value < 0:
                raise type_fault(
                    loc,
                    f"an integer to the power {b.value} is no integer",
                    "make the base a float: float(x) ** -1",
                )
            x = self.coerce(a, type)
            if b.value in (1, 2, 3, 4):
                square = ir.Op("mul", (x, x), type, loc)
                cube = ir.Op("mul", (square, x), type, loc)
                fourth = ir.Op("mul", (square, square), type, loc)
                powers: dict[int, Value] = {1: x, 2: square, 3: cube, 4: fourth}
                return powers[b.value]
            if b.value == 0.5 and type.is_float:
                return ir.Op("sqrt", (x,), type, loc)
        return self._same("pow", a, b, type, loc)

    # -- attributes -------------------------------------------------------------------------

    def attribute(self, base: Value, name: str, loc: Loc) -> Value:
        """`A.shape`, `A.size`, `z.real` and their like."""
        if is_view(base):
            return self._view_attribute(base, name, loc)
        if isinstance(base, ir.Expr) and isinstance(base.type, Scalar):
            if name in ("real", "imag"):
                return self._part(name, base, loc)
            if name == "conjugate":
                return Method(base, name)
        hint = ""
        if isinstance(base, Obj) and not isinstance(base.value, str | None):
            value = getattr(base.value, name, None)
            if isinstance(value, bool | int | float | complex | str | np.generic):
                return self.constant(value, loc)
            hint = "pass what it holds as arguments"
        raise type_fault(loc, f"{describe(base)} has no attribute '{name}' in a kernel", hint)

    def _view_attribute(self, base: Any, name: str, loc: Loc) -> Value:
        extents = self.extents(base, loc)
        if name == "shape":
            return TupleValue(extents)
        if name in ("rank", "ndim"):
            return ir.Const(len(extents), PY_INT, loc)
        if name == "size":
            size: ir.Expr = ir.Const(1, INDEX, loc)
            for e in extents:
                size = e if isinstance(size, ir.Const) else ir.Op("mul", (size, e), INDEX, loc)
            return size
        if name == "extent":
            return Method(base, name)
        if name == "dtype":
            type = base.base.type if isinstance(base, ViewRef) else base.type
            element = getattr(type, "element", None)
            if isinstance(element, Scalar):
                return Obj(np.dtype(element.name), f"{element}")
        raise type_fault(
            loc,
            f"{describe(base)} has no attribute '{name}' in a kernel",
            "kernels know shape, size, rank, dtype and extent(d)",
        )

    def extents(self, view: Any, loc: Loc) -> tuple[ir.Expr, ...]:
        """Extents of a View, a local array or a part of one."""
        if isinstance(view, ViewRef):
            return tuple(span.extent for span in view.spans)
        return tuple(extent(view, d, loc) for d in range(view.type.rank))

    def _part(self, name: str, z: Any, loc: Loc) -> Value:
        if z.type.kind == "c":
            return ir.Op(name, (z,), real_part(z.type), loc)
        value: Value = z if name == "real" else self.coerce(ir.Const(0, PY_INT, loc), z.type)
        return value

    # -- calls ------------------------------------------------------------------------------

    def call(
        self, function: Value, args: Sequence[Value], keywords: dict[str, Value], loc: Loc
    ) -> Value:
        """A call of anything that kernels can call."""
        if isinstance(function, FunctionValue):
            return self.function_call(function, args, keywords, loc)
        if isinstance(function, Method):
            return self._method(function, args, loc)
        if not isinstance(function, Obj):
            raise type_fault(loc, f"{describe(function)} cannot be called")
        target = function.value
        if target is execspace.local:
            args = [*args, *(v for k, v in keywords.items() if k == "dtype")]
            keywords = {k: v for k, v in keywords.items() if k != "dtype"}
        if keywords:
            raise syntax_fault(
                loc, f"'{function.path}' takes no keyword arguments in a kernel",
                "give the arguments by position",
            )  # fmt: skip
        special = self.special_call(target, args, loc)
        if special is not None:
            return special
        try:
            callee = CALLEES.get(target)
        except TypeError:
            callee = None
        if callee is not None:
            return self._known(callee, function.path, args, loc)
        if isinstance(target, type) and issubclass(target, np.generic):
            return self._cast(Scalar(np.dtype(target).name), function.path, args, loc)
        if isinstance(target, np.dtype) and target.fields is None:
            return self._cast(Scalar(target.name), function.path, args, loc)
        hint = "use a View to keep data" if target is list or target is dict else ""
        if target is print:
            hint = "print numbers with es.printf, or store them in a View"
        raise syntax_fault(loc, f"'{function.path}' cannot be called in a kernel", hint)

    def _method(self, method: Method, args: Sequence[Value], loc: Loc) -> Value:
        if method.name == "conjugate" and not args:
            return self._known(Callee("conj", "conj", (1,)), "conjugate", [method.owner], loc)
        extents = self.extents(method.owner, loc)
        d = args[0] if len(args) == 1 else None
        if not isinstance(d, ir.Const) or not isinstance(d.value, int) or d.value < 0:
            raise type_fault(loc, "extent takes one constant dimension")
        return extents[d.value] if d.value < len(extents) else ir.Const(1, PY_INT, loc)

    def _cast(self, type: Scalar, path: str, args: Sequence[Value], loc: Loc) -> Value:
        if len(args) != 1:
            raise type_fault(loc, f"the cast {path} takes 1 argument, got {len(args)}")
        e = scalar(args[0], loc)
        if e.type.kind == "c" and type.kind not in "cb":
            raise type_fault(loc, f"cannot cast {e.type} to {type}", "take its .real or abs()")
        if type == BOOL:
            return self.truth(e, loc)
        if e.type.weak and e.type.strong == type and not isinstance(e, ir.Const):
            return ir.Op("cast", (e,), type, loc)  # the same number, but no longer weak
        value: Value = self.coerce(e, type)
        return value

    def _known(self, callee: Callee, path: str, args: Sequence[Value], loc: Loc) -> Value:
        if callee.arity and len(args) not in callee.arity:
            expected = " or ".join(map(str, callee.arity))
            raise type_fault(loc, f"{path} takes {expected} arguments, got {len(args)}")
        if callee.rule == "len":
            return self._len(args[0], loc)
        if callee.rule == "fold":
            return self._fold_min_max(callee.op, path, args, loc)
        numbers = [scalar(a, loc) for a in args]
        rule = getattr(self, f"_rule_{callee.rule}")
        try:
            return rule(callee, path, numbers, loc)  # type: ignore[no-any-return]
        except PromotionError as error:
            raise type_fault(loc, f"{path}: {error}") from None

    def _len(self, value: Value, loc: Loc) -> Value:
        if isinstance(value, TupleValue):
            return ir.Const(len(value.items), PY_INT, loc)
        if is_view(value):
            extents = self.extents(value, loc)
            if extents:
                return extents[0]
        raise type_fault(loc, f"len takes a View or a tuple, got {describe(value)}")

    def _fold_min_max(self, op: str, path: str, args: Sequence[Value], loc: Loc) -> Value:
        items = args[0].items if len(args) == 1 and isinstance(args[0], TupleValue) else args
        if len(items) < 1 or (len(items) == 1 and items is args):
            raise type_fault(loc, f"{path} takes at least two numbers or a tuple")
        numbers = [scalar(i, loc) for i in items]
        type = functools.reduce(promote, (n.type for n in numbers))
        if type.kind == "c":
            raise type_fault(loc, "complex numbers have no order", "compare abs(z)")
        result = numbers[0]
        for n in numbers[1:]:
            result = self._same(op, result, n, type, loc)
        return result  # type: ignore[no-any-return]

    def _rule_float1(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        type = as_float(a[0].type)
        name = "abs" if callee.op == "fabs" else callee.op
        if type.kind == "c" and name not in COMPLEX_FUNCTIONS:
            raise type_fault(loc, f"{path} is not defined for {type}")
        if name in ("floor", "ceil", "trunc", "rint") and a[0].type.is_integer:
            return a[0]  # type: ignore[no-any-return]
        return ir.Op(name, (self.coerce(a[0], type),), type, loc)

    def _rule_float2(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        type = as_float(promote(a[0].type, a[1].type))
        if type.kind == "c":
            raise type_fault(loc, f"{path} is not defined for complex numbers")
        return self._same(callee.op, a[0], a[1], type, loc)

    def _rule_same2(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        type = promote(a[0].type, a[1].type)
        if type.kind == "c":
            raise type_fault(loc, "complex numbers have no order", "compare abs(z)")
        return self._same(callee.op, a[0], a[1], type, loc)

    def _rule_operator(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        return self.binary(callee.op, a[0], a[1], loc)

    def _rule_to_int(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        x = a[0]
        if x.type.kind == "c":
            raise type_fault(loc, f"{path} is not defined for {x.type}")
        if not x.type.is_float:
            return self.coerce(x, INDEX) if x.type == BOOL else x  # type: ignore[no-any-return]
        whole = ir.Op(callee.op, (x,), x.type, loc)
        return ir.Op("cast", (whole,), INDEX, loc)

    def _rule_predicate(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        if not a[0].type.is_float and a[0].type.kind != "c":
            return ir.Const(callee.op == "isfinite", BOOL, loc)
        return ir.Op(callee.op, (a[0],), BOOL, loc)

    def _rule_abs(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        x = self.coerce(a[0], PY_INT) if a[0].type == BOOL else a[0]
        if x.type.kind == "u":
            return x  # type: ignore[no-any-return]
        if isinstance(x, ir.Const) and x.type.weak and x.type.kind != "c":
            return ir.Const(abs(x.value), x.type, loc)
        return ir.Op("abs", (x,), real_part(x.type), loc)

    def _rule_part(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        return self._part(callee.op, a[0], loc)

    def _rule_conj(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        return ir.Op("conj", (a[0],), a[0].type, loc) if a[0].type.kind == "c" else a[0]

    def _rule_square(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        return self.binary("mul", a[0], a[0], loc)

    def _rule_scale(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        to_degrees = path.endswith(("degrees", "rad2deg"))
        factor = 180.0 / math.pi if to_degrees else math.pi / 180.0
        return self.binary("mul", self.coerce(a[0], as_float(a[0].type)),
                           ir.Const(factor, PY_FLOAT, loc), loc)  # fmt: skip

    def _rule_where(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        type = promote(a[1].type, a[2].type)
        test = self.truth(a[0], loc)
        return ir.Select(test, self.coerce(a[1], type), self.coerce(a[2], type), type, loc)

    def _rule_round(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        if len(a) == 2:
            raise type_fault(
                loc,
                "round to digits is not supported in a kernel",
                "scale, round, and scale back: round(x * 100) / 100",
            )
        return self._rule_to_int(callee, path, a, loc)

    def _rule_divmod(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        return TupleValue(
            (self.binary("floordiv", a[0], a[1], loc), self.binary("mod", a[0], a[1], loc))
        )

    def _rule_int(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        x = a[0]
        if x.type.kind == "c":
            raise type_fault(loc, f"cannot convert {x.type} to int", "take its .real first")
        if isinstance(x, ir.Const) and x.type.weak:
            return ir.Const(int(x.value), PY_INT, loc)
        if x.type.name == "uint64":
            return x  # type: ignore[no-any-return]
        if x.type.strong == INT64 and x.type.weak:
            return x  # type: ignore[no-any-return]
        return ir.Op("cast", (x,), INDEX, loc)

    def _rule_float(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        x = a[0]
        if x.type.kind == "c":
            raise type_fault(loc, f"cannot convert {x.type} to float", "take its .real first")
        if isinstance(x, ir.Const):
            return ir.Const(float(x.value), PY_FLOAT, loc)
        return ir.Op("cast", (x,), PY_FLOAT, loc)

    def _rule_bool(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        return self.truth(a[0], loc)

    def _rule_complex(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        re = a[0]
        im = a[1] if len(a) == 2 else ir.Const(0.0, PY_FLOAT, loc)
        if re.type.kind == "c":
            if len(a) == 2:
                raise type_fault(loc, "complex(re, im) takes real numbers")
            return re  # type: ignore[no-any-return]
        part = as_float(promote(re.type, im.type))
        if part.weak:
            type = PY_COMPLEX
        else:
            type = Scalar("complex64" if part.bits <= 32 else "complex128")
        return ir.Op("complex", (self.coerce(re, part), self.coerce(im, part)), type, loc)

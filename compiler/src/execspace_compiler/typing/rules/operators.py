"""Rules of constants, conversions and operators, by the tables of types.py and ops.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from execspace.contract.argtypes import plain_number

from ... import ir
from ...ir.diagnostics import Fault, Loc, type_fault
from ...ir.ops import BITWISE, COMPARISONS, OPERATOR_SIGNS, PYTHON_OPERATORS
from ...ir.types import (
    BOOL,
    INT64,
    PY_INT,
    PYTHON_WEAK,
    UINT64,
    PromotionError,
    Scalar,
    Vector,
    arithmetic,
    promote,
    python_type,
    real_part,
    true_division,
)
from ..context import Context
from ..values import Obj, Value

_BITS = "convert it with int(...); tests are joined with and, or, not"
PARTS = "take its .real, its .imag or abs() first"
_ZERO = "divide by something else; 0.0 gives an infinity or a NaN"


def no_order(numbers: Sequence[Any], loc: Loc) -> Fault:
    """The fault for complex numbers in an operation that needs an order."""
    types = " and ".join(str(n.type) for n in numbers)
    return type_fault(loc, f"complex numbers have no order, got {types}", "compare abs(z)")


def _too_wide(digits: str, loc: Loc) -> Fault:
    message = f"the integer {digits}does not fit into 64 bits"
    return type_fault(loc, message, "write it as a float, such as 1e30")


def _surely_wide(op: str, a: Any, b: Any) -> bool:
    """Whether a result has so many digits that computing it may take forever."""
    if not (isinstance(a, int) and isinstance(b, int)):
        return False
    if op == "lshift":
        return a != 0 and b > 64
    return op == "pow" and (abs(a).bit_length() - 1) * b > 64


def constant(value: Any, loc: Loc) -> Value:
    """A literal or captured number; strings and None stay compile-time objects."""
    if value is None or isinstance(value, str):
        return Obj(value, repr(value))
    if not isinstance(value, np.generic):
        value = plain_number(value)  # members of an IntEnum, say, whose repr is not a number
    type = python_type(value)
    if type == PY_INT and not -(2**63) <= value < 2**64:
        raise _too_wide(f"{value} " if abs(value) < 10**40 else "", loc)
    return ir.Const(value, type, loc)


def truth(cx: Context, e: Any, loc: Loc) -> ir.Expr:
    """Truth value of a number."""
    if isinstance(e.type, Vector):
        raise type_fault(
            loc,
            f"a {e.type} is neither true nor false, for its lanes may differ",
            "write mask.any() or mask.all(); masks are joined with &, | and ~",
        )
    if e.type == BOOL:
        return e  # type: ignore[no-any-return]
    if isinstance(e, ir.Const):
        return ir.Const(bool(e.value), BOOL, loc)
    zero = ir.Const(0, e.type, loc)
    return ir.Op("ne", (e, cx.coerce(zero, e.type.strong)), BOOL, loc)


def unary(cx: Context, op: str, a: Any, loc: Loc) -> Value:
    """-a, +a, ~a, not a."""
    if op == "not":
        test = truth(cx, a, loc)
        if isinstance(test, ir.Const):
            return ir.Const(not test.value, BOOL, loc)
        return ir.Op("not", (test,), BOOL, loc)
    if a.type == BOOL:
        a = cx.coerce(a, PY_INT)
    if op == "pos":
        return a  # type: ignore[no-any-return]
    if op == "invert" and not a.type.is_integer:
        raise type_fault(loc, f"'~' needs an integer, got {a.type}", _BITS)
    if isinstance(a, ir.Const) and a.type.weak:
        return constant(PYTHON_OPERATORS[op](a.value), loc)
    return ir.Op(op, (a,), a.type, loc)


def binary(cx: Context, op: str, a: Any, b: Any, loc: Loc) -> Value:
    """An operator on two numbers, with Python's meaning."""
    if (
        isinstance(a, ir.Const) and isinstance(b, ir.Const)
        and a.type.weak == b.type.weak == PYTHON_WEAK
    ):  # fmt: skip
        folded = _fold(op, a, b, loc)
        if folded is not None:
            return folded
    if op in ("eq", "ne") and all(isinstance(e, ir.Const) and e.type == BOOL for e in (a, b)):
        return ir.Const(PYTHON_OPERATORS[op](a.value, b.value), BOOL, loc)
    try:
        if op in COMPARISONS:
            return _compare(cx, op, a, b, loc)
        if op == "truediv":
            return same(cx, op, a, b, true_division(a.type, b.type), loc)
        if op in BITWISE:
            return _bitwise(cx, op, a, b, loc)
        if op == "pow":
            return _power(cx, a, b, loc)
        type = arithmetic(a.type, b.type)
    except PromotionError as error:
        sign = OPERATOR_SIGNS[op]
        message = f"'{sign}' of {a.type} and {b.type}: {error}"
        raise type_fault(loc, message, error.hint) from None
    if op in ("floordiv", "mod") and type.kind == "c":
        raise type_fault(
            loc,
            f"'{OPERATOR_SIGNS[op]}' is not defined for complex numbers, got {a.type} and {b.type}",
            PARTS,
        )
    if op in ("floordiv", "mod") and isinstance(b, ir.Const) and b.value == 0 and (type.is_integer):
        raise type_fault(loc, "integer division by zero", _ZERO)
    return same(cx, op, a, b, type, loc)


def _fold(op: str, a: ir.Const, b: ir.Const, loc: Loc) -> Value | None:
    if _surely_wide(op, a.value, b.value):
        raise _too_wide("", loc)
    try:
        value = PYTHON_OPERATORS[op](a.value, b.value)
    except ZeroDivisionError:
        raise type_fault(loc, "division by zero", _ZERO) from None
    except (OverflowError, ValueError, TypeError):
        return None
    return constant(value, loc)


def same(cx: Context, op: str, a: Any, b: Any, type: Scalar, loc: Loc) -> ir.Expr:
    """An operation on two numbers of one type."""
    return ir.Op(op, (cx.coerce(a, type), cx.coerce(b, type)), type, loc)


def _compare(cx: Context, op: str, a: Any, b: Any, loc: Loc) -> Value:
    if a.type.kind == "c" or b.type.kind == "c":
        if op not in ("eq", "ne"):
            raise no_order((a, b), loc)
    for const, other in ((a, b), (b, a)):
        if isinstance(const, ir.Const) and const.type == PY_INT and other.type.is_integer:
            limits = np.iinfo(other.type.name)
            if not limits.min <= const.value <= limits.max:
                # The comparison is decided as in Python, whatever the other value is.
                less = (const is b) == (const.value > limits.max)
                outcome = {"lt": less, "le": less, "gt": not less, "ge": not less,
                           "eq": False, "ne": True}[op]  # fmt: skip
                return always(outcome, other, loc)
    for x, y, flipped in ((a, b, False), (b, a, True)):
        signed = x.type.kind == "i" and not (isinstance(x, ir.Const) and x.value >= 0)
        if y.type.strong == UINT64 and signed and not isinstance(y, ir.Const):
            return _compare_signs(cx, op, x, y, flipped, loc)
    type = promote(a.type, b.type)
    if type.is_integer and type != UINT64 and PY_INT in (a.type, b.type):
        if not isinstance(a, ir.Const) and not isinstance(b, ir.Const):
            type = INT64  # exact, unlike the narrower type, which may not hold both
    return ir.Op(op, (cx.coerce(a, type), cx.coerce(b, type)), BOOL, loc)


def always(outcome: bool, number: Any, loc: Loc) -> ir.Expr:
    """A test whose outcome is decided by the type of a number. It is not a constant, since the
    type of an argument must not affect other types."""
    if number.type == BOOL:
        return ir.Op("eq" if outcome else "ne", (number, number), BOOL, loc)
    least = ir.Const(int(np.iinfo(number.type.name).min), number.type.strong, loc)
    return ir.Op("ge" if outcome else "lt", (number, least), BOOL, loc)


def _compare_signs(
    cx: Context, op: str, signed: Any, unsigned: Any, flipped: bool, loc: Loc
) -> Value:
    """A signed number against a uint64, exactly: no common type holds both."""
    negative = ir.Op("lt", (signed, ir.Const(0, signed.type.strong, loc)), BOOL, loc)
    a, b = cx.coerce(signed, UINT64), cx.coerce(unsigned, UINT64)
    test = ir.Op(op, (b, a) if flipped else (a, b), BOOL, loc)
    if op == "ne" or op in (("gt", "ge") if flipped else ("lt", "le")):
        return ir.Op("or", (negative, test), BOOL, loc)
    return ir.Op("and", (ir.Op("not", (negative,), BOOL, loc), test), BOOL, loc)


def _bitwise(cx: Context, op: str, a: Any, b: Any, loc: Loc) -> Value:
    type = promote(a.type, b.type)
    if op in ("lshift", "rshift"):
        type = arithmetic(a.type, b.type)
    if not type.is_integer and type != BOOL:
        hint = "write ** for a power" if op == "bitxor" else _BITS
        raise type_fault(
            loc, f"'{OPERATOR_SIGNS[op]}' needs integers, got {a.type} and {b.type}", hint
        )
    return same(cx, op, a, b, type, loc)


def _power(cx: Context, a: Any, b: Any, loc: Loc) -> Value:
    type = arithmetic(a.type, b.type)
    if isinstance(b, ir.Const) and type.kind in "iufc":
        # Small powers are products on every space: exact, while pow() may not be.
        if type.is_integer and b.value < 0:
            raise type_fault(
                loc,
                f"{a.type} to the power {b.value} is not an integer",
                f"make the base a float: float(...) ** {b.value}",
            )
        x = cx.coerce(a, type)
        if b.value in (1, 2, 3, 4):
            square = ir.Op("mul", (x, x), type, loc)
            cube = ir.Op("mul", (square, x), type, loc)
            fourth = ir.Op("mul", (square, square), type, loc)
            powers: dict[int, Value] = {1: x, 2: square, 3: cube, 4: fourth}
            return powers[b.value]
        if b.value == 0.5 and type.is_float:
            return ir.Op("sqrt", (x,), type, loc)
    return same(cx, "pow", a, b, type, loc)


def either(a: Any, b: Any, op: str, loc: Loc) -> Any:
    """and/or of two bools, either of which may be a constant."""
    for x, y in ((a, b), (b, a)):
        if isinstance(x, ir.Const):
            return y if bool(x.value) == (op == "and") else x
    return ir.Op(op, (a, b), BOOL, loc)


def part(cx: Context, name: str, z: Any, loc: Loc) -> Value:
    """The real or imaginary part of a number."""
    if z.type.kind == "c":
        return ir.Op(name, (z,), real_part(z.type), loc)
    value: Value = z if name == "real" else cx.coerce(ir.Const(0, PY_INT, loc), z.type)
    return value

"""Rules of records with operators and methods, see `es.Record`: calls of what the class defines.

Loaded by kernels that have such records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from execspace.contract.dtypes import dtype_of, record_class
from execspace.views.record import own_attribute

from ... import ir
from ...frontend import hir
from ...ir.diagnostics import Fault, Loc, type_fault
from ...ir.ops import OPERATOR_SIGNS
from ...ir.types import Scalar, element_of
from ..context import Call, Context
from ..value_queries import scalar
from ..value_types import describe
from ..values import FunctionValue, Method, Obj, TupleValue, Value, ViewRef
from .objects import function_and_first
from .operators import constant
from .records import is_atomic_record, own_class, record_value, value_if_own

# Operator -> name of its method, and the one of the right operand.
_METHODS = {
    **{op: (f"__{op}__", f"__r{op}__") for op in (
        "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift",
    )},
    **{f"bit{op}": (f"__{op}__", f"__r{op}__") for op in ("and", "or", "xor")},
    "lt": ("__lt__", "__gt__"), "le": ("__le__", "__ge__"), "gt": ("__gt__", "__lt__"),
    "ge": ("__ge__", "__le__"), "eq": ("__eq__", "__eq__"), "ne": ("__ne__", "__ne__"),
}  # fmt: skip


def made(
    cx: Context, cls: Any, args: Sequence[Value], keywords: Mapping[str, Value], loc: Loc
) -> TupleValue:
    """`Class(a, b)`: its numbers are converted to the types of the fields."""
    fields: tuple[str, ...] = cls.record_fields
    if not fields:
        raise type_fault(
            loc, f"record {cls.__name__} has no fields", "make a class that extends it"
        )
    known = f"its fields are {', '.join(fields)}"
    if len(args) > len(fields):
        raise type_fault(
            loc, f"record {cls.__name__} takes {len(fields)} values, got {len(args)}", known
        )
    given = dict(zip(fields, args, strict=False))
    for name, value in keywords.items():
        if name not in fields:
            raise type_fault(loc, f"record {cls.__name__} has no field '{name}'", known)
        if name in given:
            raise type_fault(loc, f"record {cls.__name__} gets two values for '{name}'", known)
        given[name] = value
    items: list[Value] = []
    for name in fields:
        dtype = cls.dtype.fields[name][0]
        if name not in given:
            if name not in cls.record_defaults:
                raise type_fault(loc, f"record {cls.__name__} gets no value for '{name}'", known)
            given[name] = _constant(cls.record_defaults[name], dtype, loc)
        items.append(_field(cx, given[name], dtype, f"{cls.__name__}.{name}", loc))
    return TupleValue(tuple(items), fields, cls)


def _constant(value: Any, dtype: Any, loc: Loc) -> Value:
    """The value of a field, or a record of such."""
    own = record_class(dtype)
    if own is None:
        kind = element_of(dtype)
        assert isinstance(kind, Scalar)
        number = value.item() if hasattr(value, "item") else value
        return ir.Const(number, Scalar("float32") if kind.storage else kind, loc)
    items = (_constant(value[n], own.dtype.fields[n][0], loc) for n in own.record_fields)
    return TupleValue(tuple(items), own.record_fields, own)


def _field(cx: Context, value: Value, dtype: Any, what: str, loc: Loc) -> Value:
    own = record_class(dtype)
    if own is not None:
        if own_class(value) is not own:
            raise type_fault(
                loc,
                f"{what} is a record {own.__name__}, got {describe(value)}",
                f"make one of it: {own.__name__}(...)",
            )
        return value_if_own(cx, value, loc)
    number = scalar(value, loc)
    kind = element_of(dtype)
    assert isinstance(kind, Scalar)
    if number.type.kind == "c" and kind.kind != "c":
        raise type_fault(
            loc, f"{what} is {kind}, got {number.type}", "take its .real or abs() first"
        )
    if kind.storage:
        cast = Obj(dtype_of(kind.storage), kind.storage)
        return cx.call(cast, (number,), {}, loc)
    if number.type.weak and number.type.strong == kind and not isinstance(number, ir.Const):
        return ir.Op("cast", (number,), kind, loc)  # the same number, but no longer weak
    found: Value = cx.coerce(number, kind)
    return found


# -- operators ----------------------------------------------------------------------------------


def operator(cx: Context, op: str, a: Value, b: Value, e: hir.Operation) -> Value | None:
    """An operator on two values, of which one is such a record; None for `is` and `in`, and where
    no class says what is equal."""
    if op not in _METHODS:
        return None
    left, right = own_class(a), own_class(b)
    method, reflected = _METHODS[op]
    if left is not None and (found := own_attribute(left, method)) is not None:
        return _called(cx, left, found, method, (a, b), e.loc)
    if right is not None and right is not left:
        if (found := own_attribute(right, reflected)) is not None:
            return _called(cx, right, found, reflected, (b, a), e.loc)
    if op in ("eq", "ne"):
        return None
    raise type_fault(
        e.loc,
        f"'{OPERATOR_SIGNS[op]}' is not defined for {_kind(a)} and {_kind(b)}",
        f"define {reflected if left is None else method} in class "
        f"{(right if left is None else left).__name__}",
    )


def _kind(value: Value) -> str:
    own = own_class(value)
    return describe(value) if own is None else f"record {own.__name__}"


def unary_operator(cx: Context, op: str, value: Value, loc: Loc) -> Value:
    """-a, +a and ~a of such a record."""
    own = own_class(value)
    found = own_attribute(own, f"__{op}__")
    if found is None:
        raise type_fault(
            loc,
            f"'{OPERATOR_SIGNS[op]}' is not defined for record {own.__name__}",
            f"define __{op}__ in class {own.__name__}",
        )
    return _called(cx, own, found, f"__{op}__", (value,), loc)


def absolute(cx: Context, call: Call) -> Value:
    """`abs(a)` of such a record."""
    [value] = call.positional()
    own = own_class(value)
    found = own_attribute(own, "__abs__")
    if found is None:
        raise type_fault(
            call.loc,
            f"abs is not defined for record {own.__name__}",
            f"define __abs__ in class {own.__name__}",
        )
    return _called(cx, own, found, "__abs__", (value,), call.loc)


# -- attributes and methods ---------------------------------------------------------------------


def attribute_of(cx: Context, owner: Value, own: Any, name: str, loc: Loc) -> Value:
    """A method, property or constant of such a record or of its class (`owner` is an Obj then)."""
    of_class = isinstance(owner, Obj)
    if name == "dtype":
        return Obj(own.dtype, f"{own.__name__}.dtype")
    found = own_attribute(own, name)
    if isinstance(found, property) and not of_class:
        if not isinstance(found.fget, FunctionType):
            raise _no_method(own, name, loc)
        return cx.call(FunctionValue(cx.module.method(found.fget), ()), (owner,), {}, loc)
    if isinstance(found, np.void):
        return _constant(found, found.dtype, loc)
    if isinstance(found, bool | int | float | complex | np.generic):
        return constant(found, loc)
    if isinstance(found, FunctionType | staticmethod | classmethod):
        return Method(owner, name)
    if found is None and name == "copy" and not of_class:
        return Method(owner, name)
    if found is not None and not isinstance(found, property):
        raise _no_method(own, name, loc)
    raise type_fault(
        loc,
        f"record {own.__name__} has no attribute '{name}'",
        f"its fields are {', '.join(own.record_fields)}",
    )


def method_call(cx: Context, own: Any, call: Call) -> Value:
    """A call of a method of such a record, or of its class."""
    owner, name = call.owner, call.name
    found = own_attribute(own, name)
    if found is None:
        if call.positional():
            raise type_fault(call.loc, "copy takes no arguments", "write .copy()")
        if isinstance(owner, ViewRef) and is_atomic_record(owner):
            from .atomic_steps import change_record  # loaded by kernels that have such

            return change_record(cx, "load", owner, (), "old", call.loc)
        return record_value(cx, owner, call.loc) if isinstance(owner, ViewRef) else owner
    found, first = function_and_first(found, owner, own)
    return _called(cx, own, found, name, (*first, *call.args), call.loc, call.keywords)


def _called(
    cx: Context, own: Any, found: Any, name: str, args: tuple[Value, ...], loc: Loc,
    keywords: Mapping[str, Value] | None = None,
) -> Value:  # fmt: skip
    if not isinstance(found, FunctionType):
        raise _no_method(own, name, loc)
    return cx.call(FunctionValue(cx.module.method(found), ()), args, keywords or {}, loc)


def _no_method(own: Any, name: str, loc: Loc) -> Fault:
    return type_fault(
        loc,
        f"'{name}' of record {own.__name__} is neither a number nor a Python function",
        "define it with def, for kernels compile its source",
    )

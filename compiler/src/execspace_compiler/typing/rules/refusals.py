"""What functions of execspace refuse: the message is theirs, the line is that of their caller."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import execspace
from execspace import Reducer
from execspace.kernels.refusals import (
    FUNCTION,
    FUNCTION_HINT,
    INTEGER,
    INTEGER_HINT,
    NUMBER,
    NUMBER_HINT,
    REAL,
    REAL_HINT,
    check_function,
    check_integer,
    check_number,
    holding,
    holding_of,
    refuse,
)

from ... import ir
from ...ir.diagnostics import Diagnostic, Fault
from ...ir.types import Scalar, Vector
from ..context import CALLS, Call, Context
from ..value_types import describe
from ..values import Chosen, FunctionValue, Method, Obj, StructValue, Value
from .bits import number_type


@CALLS.of(refuse)
def _refuse(cx: Context, call: Call) -> Value:
    message, hint, *values = call.positional()
    assert isinstance(message, Obj) and isinstance(hint, Obj)
    raise _fault(call, message.value, hint.value, *map(_said, values))


def _fault(call: Call, message: str, hint: str, *said: str) -> Fault:
    within = os.path.dirname(execspace.__file__)
    return Fault(Diagnostic(call.loc, message.format(*said), hint.format(*said), within=within))


@CALLS.of(check_integer)
def _check_integer(cx: Context, call: Call) -> Value:
    name, value = call.positional()
    if _held(np.dtype("int64"), value) == "none" and _held(np.dtype("uint64"), value) == "none":
        raise _fault(call, INTEGER, INTEGER_HINT, _said(name), _said(value))
    return Obj(None, "None")


@CALLS.of(check_function)
def _check_function(cx: Context, call: Call) -> Value:
    name, value = call.positional()
    given = value.value if isinstance(value, Obj) else None
    if isinstance(given, Reducer) or (isinstance(given, type) and issubclass(given, Reducer)):
        known = given.__name__ if isinstance(given, type) else type(given).__name__
        hint = "write what it joins two numbers with: lambda a, b: a + b"
        raise _fault(call, FUNCTION, hint, _said(name), f"the reducer {known}")
    is_object = isinstance(value, Obj) and (given is None or callable(given))
    if not (is_object or isinstance(value, FunctionValue | Method | StructValue | Chosen)):
        raise _fault(call, FUNCTION, FUNCTION_HINT, _said(name), _said(value))
    return Obj(None, "None")


@CALLS.of(check_number)
def _check_number(cx: Context, call: Call) -> Value:
    value, *real = call.positional()
    if _held(np.dtype("complex128"), value) == "none":
        raise _fault(call, NUMBER, NUMBER_HINT, _said(value))
    if real and _held(np.dtype("float64"), value) == "none":
        raise _fault(call, REAL, REAL_HINT, _said(value))
    return Obj(None, "None")


def _said(value: Value) -> str:
    kind = number_type(value)
    if kind is not None:
        return str(kind)
    if isinstance(value, ir.Const):
        return str(value.value)
    if isinstance(value, Obj) and isinstance(value.value, str):
        return repr(value.value)
    return describe(value)


@CALLS.of(holding)
def _holding(cx: Context, call: Call) -> Value:
    kind, value = call.positional()
    goal = number_type(kind)
    assert goal is not None  # functions of execspace name types
    return Obj(_held(np.dtype(goal.name), value), "what a type holds")


def _held(goal: np.dtype[Any], value: Value) -> str:
    own = value.type if isinstance(value, ir.Expr) else None
    if not isinstance(own, Scalar) or isinstance(own, Vector):
        return "none"
    if isinstance(value, ir.Const) and own.weak and own.kind in "iu" and goal.kind != "c":
        return holding(goal.type, value.value)
    if own.weak and own.kind == "f":  # it takes the precision of others
        return holding_of(goal, np.dtype("float16"))
    found = holding_of(goal, np.dtype(own.strong.name))
    return "weak" if found != "all" and own.weak and own.kind in "iu" else found

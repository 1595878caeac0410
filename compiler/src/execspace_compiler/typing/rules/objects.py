"""Attributes and methods of arguments that are instances of dataclasses."""

from __future__ import annotations

from inspect import getattr_static
from types import FunctionType
from typing import Any

import numpy as np

from ...ir.diagnostics import Loc, type_fault
from ..context import Call, Context
from ..value_types import describe
from ..values import FunctionValue, Method, Obj, StructValue, Value
from .operators import constant

_NUMBERS = bool | int | float | complex | np.generic


def attribute_of(cx: Context, owner: StructValue, name: str, loc: Loc) -> Value:
    """A field, or what the class defines: a method, a property or a constant."""
    if name in owner.names:
        return owner.items[owner.names.index(name)]
    for field in owner.constants:
        if field.name == name:
            return field.value
    found = getattr_static(owner.cls, name, None)
    if isinstance(found, property) and isinstance(found.fget, FunctionType):
        return cx.call(FunctionValue(cx.module.method(found.fget), ()), (owner,), {}, loc)
    if isinstance(found, FunctionType | staticmethod | classmethod):
        return Method(owner, name)
    if isinstance(found, _NUMBERS) and not isinstance(found, np.void):
        return constant(found, loc)
    if isinstance(found, str):
        return Obj(found, f"{owner.cls.__name__}.{name}")
    known = (*owner.names, *(c.name for c in owner.constants))
    raise type_fault(
        loc,
        f"{describe(owner)} has no attribute '{name}' in a kernel",
        f"its fields are {', '.join(known) or 'none'}",
    )


def function_and_first(found: Any, owner: Value, cls: type) -> tuple[Any, tuple[Value, ...]]:
    """What a class has under the name of a method, and what is passed before its arguments."""
    if isinstance(found, staticmethod):
        return found.__func__, ()
    if isinstance(found, classmethod):
        return found.__func__, (Obj(cls, cls.__name__),)
    return found, () if isinstance(owner, Obj) else (owner,)


def method_call(cx: Context, call: Call) -> Value:
    """A call of what the class defines."""
    owner, name = call.owner, call.name
    assert isinstance(owner, StructValue)
    found, first = function_and_first(getattr_static(owner.cls, name), owner, owner.cls)
    if not isinstance(found, FunctionType):
        raise type_fault(
            call.loc,
            f"'{name}' of {describe(owner)} is no Python function",
            "define it with def, for kernels compile its source",
        )
    function = FunctionValue(cx.module.method(found), ())
    return cx.call(function, (*first, *call.args), call.keywords, call.loc)

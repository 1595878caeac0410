"""Attributes and methods of arguments that are instances of dataclasses."""

from __future__ import annotations

from inspect import getattr_static
from types import FunctionType
from typing import Any

import numpy as np

from ...ir.diagnostics import Loc, syntax_fault, type_fault
from ..context import Call, Context
from ..value_types import describe
from ..values import FunctionValue, ItemOf, Method, Obj, StructValue, TupleValue, Value
from .operators import constant

_NUMBERS = bool | int | float | complex | np.generic


def attribute_of(cx: Context, owner: StructValue, name: str, loc: Loc) -> Value:
    """A field, or what the class defines: a method, a property or a constant."""
    if name in owner.names:
        return owner.items[owner.names.index(name)]
    for field in owner.constants:
        if field.name == name:
            return field.value
    _check_for_kernels(owner, name, loc)
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
    hint = f"its fields are {', '.join(known) or 'none'}"
    if hasattr(owner.cls, _FOR_KERNELS):
        hint = _told(owner)
    raise type_fault(loc, f"{describe(owner)} has no attribute '{name}' in a kernel", hint)


# What classes of execspace name the attributes by that are for kernels.
_FOR_KERNELS = "_for_kernels"


def _told(owner: StructValue) -> str:
    return f"kernels use {', '.join(getattr(owner.cls, _FOR_KERNELS))} of it"


def _check_for_kernels(owner: StructValue, name: str, loc: Loc) -> None:
    """Refuse what a class of execspace has for the host alone."""
    known = getattr(owner.cls, _FOR_KERNELS, None)
    if known is None or name in known or name.startswith("_"):
        return
    home = next((c for c in owner.cls.__mro__ if name in vars(c)), None)
    if home is not None and home.__module__.startswith("execspace."):
        raise type_fault(
            loc,
            f"'{name}' of {describe(owner)} is for the host, and stands in no kernel",
            f"take it before the launch, or after it; {_told(owner)}",
        )


def function_and_first(found: Any, owner: Value, cls: type) -> tuple[Any, tuple[Value, ...]]:
    """What a class has under the name of a method, and what is passed before its arguments."""
    if isinstance(found, staticmethod):
        return found.__func__, ()
    if isinstance(found, classmethod):
        return found.__func__, (Obj(cls, cls.__name__),)
    return found, () if isinstance(owner, Obj) else (owner,)


def item_of(owner: StructValue, keys: list[Any], loc: Loc) -> ItemOf:
    """`owner[key]`."""
    if any(isinstance(k, tuple) for k in keys):
        hint = "write a method that takes the bounds"
        raise syntax_fault(loc, f"{describe(owner)} takes no slices in a kernel", hint)
    return ItemOf(owner, keys[0] if len(keys) == 1 else TupleValue(tuple(keys)))


def call_method(
    cx: Context, owner: StructValue, name: str, args: tuple[Value, ...], loc: Loc
) -> Value:
    """What Python calls for an operator: `__getitem__`, `__len__` and their like; a class has
    another method for kernels under the name `kernel_getitem`."""
    found = getattr_static(owner.cls, f"kernel_{name.strip('_')}", None)
    if found is None:
        found = getattr_static(owner.cls, name, None)
    if not isinstance(found, FunctionType):
        what = {"__getitem__": "be indexed", "__setitem__": "have items assigned"}
        hint = f"give the class a method {name}, or index one of its fields: "
        hint += ", ".join(owner.names) or "it has none"
        if hasattr(owner.cls, _FOR_KERNELS):
            hint = _told(owner)
        can = what.get(name, f"be given to {name.strip('_')}()")
        raise type_fault(loc, f"{describe(owner)} cannot {can}", hint)
    return cx.call(FunctionValue(cx.module.method(found), ()), (owner, *args), {}, loc)


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

"""Rules of captures: constants, functions and compile-time objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from execspace import Record
from execspace.base.storage_types import format_of
from execspace.base.subclasses import fields_of, own_operator, own_reading
from execspace.kernels.captures import function_of

from ...frontend import hir
from ...frontend.names import Object
from ...ir.diagnostics import type_fault
from ..context import EXPRESSIONS, Context, Pending
from ..values import FunctionValue, Obj, TupleValue, Value
from .operators import constant
from .variables import variable

_NUMBER = bool | int | float | complex | np.generic


@EXPRESSIONS.of(hir.Outer)
def outer(cx: Context, e: hir.Outer, field: bool = False) -> Value:
    """A captured constant, function or compile-time object; `field`: one of its fields is read."""
    value = e.value
    if value is Object:
        raise type_fault(
            e.loc,
            f"'{e.path}' is an object, of which a kernel knows the attributes only",
            f"use {e.path}.name, or pass what it holds as arguments",
        )
    path = tuple(e.path.split("."))
    if cx.ruled_out and not e.names.is_watched(path):
        raise Pending  # not in the bytecode, so not captured, and its type is unknown
    own = own_reading if field else own_operator
    return _captured(cx, value, e.path, e.names.full(path), e, own)


def _captured(
    cx: Context, value: Any, path: str, full: str, e: hir.Outer, own: Callable[[type], str | None]
) -> Value:
    """A captured constant by its path in the source and its full name among the captures."""
    function = function_of(value)
    if function is not None:
        definition = cx.module.captured(function, e.names, f"{full}/")
        env = tuple((v, variable(cx, v, e.loc)) for v in e.names.views_under(full))
        return FunctionValue(definition, env)
    if not isinstance(value, _NUMBER | tuple):
        return Obj(value, path)
    if isinstance(value, Record):
        fields = value.record_fields
        found = (_captured(cx, value[f], f"{path}.{f}", f"{full}.{f}", e, own) for f in fields)
        return TupleValue(tuple(found), fields, type(value))
    if isinstance(value, np.generic) and format_of(value.dtype) is not None:
        value = np.float32(value)  # as an element is when it is read
    name = own(type(value))
    if name is not None:
        from .refused import own_code

        raise own_code(path, type(value), name, e.loc)
    if isinstance(value, _NUMBER):
        return constant(value, e.loc)
    items = (
        _captured(cx, v, f"{path}[{n}]", f"{full}[{n}]", e, own_operator)
        for n, v in enumerate(value)
    )
    return TupleValue(tuple(items), fields_of(value))

"""Rules of attributes: of Views, teams, numbers, tuples and objects."""

from __future__ import annotations

from typing import Any

import numpy as np

from execspace import Record as OwnRecord
from execspace import SimdType
from execspace.contract.dtypes import dtype_of, record_class

from ... import ir
from ...frontend import hir
from ...ir.diagnostics import Loc, type_fault
from ...ir.types import INDEX, PY_INT, Record, Scalar
from ..context import EXPRESSIONS, Context
from ..value_queries import extents, is_vector, is_view
from ..value_types import describe, shown
from ..values import (
    Chosen,
    FunctionValue,
    Method,
    Obj,
    Place,
    StructValue,
    TeamValue,
    TupleValue,
    Value,
    ViewPart,
    ViewRef,
)
from .captures import outer
from .memory import read
from .operators import binary, constant, part
from .records import field_of, own_class

_OF_INTEGERS = ("bit_count", "bit_length")


def _element_of_view(view: Any) -> Any:
    """Element type of a View or a part of one."""
    type: Any = view.base.type if isinstance(view, ViewRef) else view.type
    return type.element


def attribute(cx: Context, base: Value, name: str, loc: Loc) -> Value:
    """`A.shape`, `A.size`, `z.real` and their like."""
    if isinstance(base, Chosen):
        from .chosen import of_each_option  # loaded by kernels that have such

        found: Value = of_each_option(cx, base, lambda o: of_value(cx, o, name, loc), loc)
        return found
    if is_view(base):
        return _view_attribute(cx, base, name, loc)
    if isinstance(base, StructValue):
        from .objects import attribute_of as of_object  # loaded by kernels that get such

        return of_object(cx, base, name, loc)
    if isinstance(base, TeamValue):
        from .teams import team_attribute  # loaded by kernels of teams

        return team_attribute(base, name, loc)
    if is_vector(base) or (isinstance(base, Obj) and isinstance(base.value, SimdType)):
        from .simd_lanes import attribute as of_vector  # loaded by kernels that have such

        return of_vector(cx, base, name, loc)
    if isinstance(base, ir.Expr) and isinstance(base.type, Scalar):
        if name in ("real", "imag"):
            return part(cx, name, base, loc)
        if name in ("conjugate", "view") or (name in _OF_INTEGERS and base.type.is_integer):
            return Method(base, name)
    hint = "numbers have real, imag, conjugate() and view(), integers bit_count()"
    if isinstance(base, Obj) and isinstance(base.value, type) and issubclass(base.value, OwnRecord):
        from .own_records import attribute_of  # loaded by kernels that have such

        return attribute_of(cx, base, base.value, name, loc)
    if isinstance(base, Obj | FunctionValue):
        # Attributes of other objects may change without launches noticing.
        if isinstance(base, Obj) and isinstance(base.value, np.finfo | np.iinfo):
            fact = getattr(base.value, name, None)
            if isinstance(fact, int | float | np.number):
                return constant(fact, loc)
        if isinstance(base, Obj) and isinstance(base.value, np.dtype):
            value = getattr(base.value, name, None)
            if name == "type" and (base.value.names is None or record_class(base.value)):
                return Obj(record_class(base.value) or value, f"{base.path}.type")
            if isinstance(value, bool | int | float | complex | str | np.generic):
                return constant(value, loc)
        hint = "compute it before the launch"
        if isinstance(base, Obj) and not isinstance(base.value, str | None):
            hint = f"objects can be neither assigned nor passed on; read {base.path}.{name} itself"
    elif isinstance(base, TupleValue):
        if name in base.names:
            return base.items[base.names.index(name)]
        if base.own is not None:
            from .own_records import attribute_of  # loaded by kernels that have such

            return attribute_of(cx, base, base.own, name, loc)
        hint = "tuples have items and a len(...)"
        if base.names:
            hint = f"its fields are {', '.join(base.names)}"
    raise type_fault(loc, f"{describe(base)} has no attribute '{name}' in a kernel", hint)


def _view_attribute(cx: Context, base: Any, name: str, loc: Loc) -> Value:
    sizes = extents(base, loc)
    if name == "shape":
        return TupleValue(sizes)
    if name in ("rank", "ndim"):
        return ir.Const(len(sizes), PY_INT, loc)
    if name == "size":
        size: Value = sizes[0] if sizes else ir.Const(1, INDEX, loc)
        for e in sizes[1:]:
            size = binary(cx, "mul", size, e, loc)
        return size
    if name in ("extent", "static_extent"):
        return Method(base, name)
    if name in ("real", "imag") and getattr(_element_of_view(base), "kind", "") == "c":
        return ViewPart(base, name)
    if name == "dtype":
        element = _element_of_view(base)
        if isinstance(element, Scalar):
            return Obj(dtype_of(str(element)), f"{element}")
        if isinstance(element, Record) and element.own is not None:
            return Obj(element.own.dtype, element.own.__name__)  # type: ignore[attr-defined]
    hint = "kernels know shape, size, rank, dtype and extent(d)"
    if name == "dtype":
        hint = "use the name of the structured dtype itself"
    elif isinstance(_element_of_view(base), Record):
        hint = f"index it first: {shown(base)}[{', '.join('ijklmnpq'[: len(sizes)])}].{name}"
    raise type_fault(loc, f"{describe(base)} has no attribute '{name}' in a kernel", hint)


@EXPRESSIONS.of(hir.Attribute)
def _attribute(cx: Context, e: hir.Attribute) -> Value:
    return read(cx, member(cx, e), e.loc)


def member(cx: Context, e: hir.Attribute) -> Value | Place:
    """`base.name`: a field of a record, or an attribute."""
    base = outer(cx, e.base, field=True) if isinstance(e.base, hir.Outer) else cx.value(e.base)
    return of_value(cx, base, e.name, e.loc)


def of_value(cx: Context, base: Value, name: str, loc: Loc) -> Value | Place:
    """A field of a record, or an attribute."""
    if isinstance(base, ViewRef) and base.field is not None:
        own = own_class(base)
        if own is not None and name not in own.record_fields:
            from .own_records import attribute_of  # loaded by kernels that have such

            return attribute_of(cx, base, own, name, loc)
        return field_of(base, name, loc)
    return attribute(cx, base, name, loc)

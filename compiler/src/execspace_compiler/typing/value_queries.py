"""What rules ask of values: whether they are Views, vectors or numbers, and their extents."""

from __future__ import annotations

from collections.abc import Sequence
from types import BuiltinFunctionType, ModuleType
from typing import Any

import numpy as np

from .. import ir
from ..ir.diagnostics import Loc, counted, type_fault
from ..ir.types import (
    INDEX,
    Record,
    Scalar,
    SubArray,
    Vector,
    ViewTy,
)  # fmt: skip
from .value_types import (
    describe,
    parts,
    shown,
)
from .values import (
    FunctionValue,
    Method,
    Obj,
    Span,
    StructValue,
    TupleValue,
    Value,
    ViewRef,
)


def is_view(value: Value) -> bool:
    """Whether it can be indexed like a View."""
    if isinstance(value, ViewRef):
        return bool(value.spans) or value.field is not None
    return isinstance(value, ir.Var) and isinstance(value.type, ViewTy)


def whole(value: ir.Var) -> ViewRef:
    """A View as a ViewRef of all of it."""
    assert isinstance(value.type, ViewTy)
    return ViewRef(
        value,
        tuple(Span(ir.Const(0, INDEX), 1, extent(value, d)) for d in range(value.type.rank)),
    )


def extent(view: ir.Var, d: int, loc: Loc | None = None) -> ir.Expr:
    """Extent of a dimension of a View or local array."""
    assert isinstance(view.type, ViewTy)
    loc = loc or view.loc
    known = (view.type.shape or view.type.static or (None,) * view.type.rank)[d]
    if known is not None:
        return ir.Const(known, INDEX, loc)
    return ir.Extent(view, d, INDEX, loc)


def extents(view: Any, loc: Loc) -> tuple[ir.Expr, ...]:
    """Extents of a View, a local array or a part of one."""
    if isinstance(view, ViewRef):
        return tuple(span.extent for span in view.spans)
    return tuple(extent(view, d, loc) for d in range(view.type.rank))


def is_vector(value: Value) -> bool:
    """Whether it is a vector or a mask, see `es.simd`."""
    return isinstance(value, ir.Expr) and isinstance(value.type, Vector)


def refuse_vectors(value: Value, loc: Loc) -> None:
    """Refuse vectors, also in tuples, where only numbers can be."""
    for _, e in parts(value, ""):
        if is_vector(e):
            scalar(e, loc)


def indexable(value: Value) -> bool:
    """Whether a call of it was probably meant as indexing."""
    return is_view(value) or isinstance(value, TupleValue)


def scalar(value: Value, loc: Loc) -> Any:
    """The value as an expression of a number; a fault if it is not one."""
    if isinstance(value, ir.Expr) and isinstance(value.type, Scalar):
        if not isinstance(value.type, Vector):
            return value
    if isinstance(value, ir.Var) and value.loc.line:
        loc = value.loc  # the argument's, while `loc` is the whole call's
    raise type_fault(loc, f"expected a number, got {describe(value)}", _use(value))


def _use(value: Value) -> str:
    """How to get a number from another value, for hints."""
    if isinstance(value, ir.Expr) and isinstance(value.type, Vector):
        if value.type.name == "bool":
            return "take mask.any(), mask.all() or a lane, or choose by it: np.where(mask, a, b)"
        return "take a lane, v[0], or a reduction, v.sum(); T(v) converts vectors"
    match value:
        case ir.Var() if isinstance(value.type, ViewTy):
            index = ", ".join("ijklmnpq"[: value.type.rank])
            return f"index it: {shown(value)}[{index or '()'}]"
        case FunctionValue():
            return f"call it: {value.definition.name}(...)"
        case Method():
            return f"call it: {value.name}(...)"
        case StructValue() if value.items:
            used = getattr(value.cls, "_for_kernels", value.names)
            return f"take one of its fields: {', '.join(used)}"
        case TupleValue() if value.own is not None:
            return f"take one of its fields: {', '.join(value.names)}"
        case TupleValue():
            return "unpack it, or take one of its items by a constant index"
        case ViewRef() if isinstance(value.field, Record):
            return f"take one of its fields: {', '.join(n for n, _, _ in value.field.fields)}"
        case ViewRef() if isinstance(value.field, SubArray):
            return f"index it with {counted(len(value.field.shape), 'integer')}"
        case ViewRef():
            return "take its elements one by one, in a loop over range"
        case Obj():
            return _use_object(value.value, value.path)
    return ""


def _use_object(value: Any, path: str) -> str:
    if value is None:
        return "return a number from every helper; math.nan can stand for a missing one"
    if isinstance(value, str):
        return "text stands only in es.printf, asserts and comparisons with static parameters"
    if isinstance(value, BuiltinFunctionType | np.ufunc | type):
        return f"call it: {path}(...)"
    if isinstance(value, ModuleType):
        return f"take something from it: {path}.name"
    if isinstance(value, list | set | dict):
        return f"pass the numbers as a NumPy array or a View, not as a {type(value).__name__}"
    return f"take one of its attributes, {path}.name, or pass what it holds as arguments"


def constant_shape(values: Sequence[Value], loc: Loc) -> tuple[int, ...]:
    """Extents that are compile-time constants."""
    shape = []
    for v in values:
        constant = isinstance(v, ir.Const) and isinstance(v.value, int | np.integer)
        if not constant or isinstance(v.value, bool):  # type: ignore[union-attr]
            raise type_fault(
                loc,
                f"es.local needs a shape of constant integers, got {describe(v)}",
                "write the number, or a static extent such as A.extent(1), in the call itself, for "
                "a variable is no constant; or capture it, or mark the parameter with es.static",
            )
        if v.value < 0:  # type: ignore[union-attr]
            raise type_fault(
                loc,
                f"es.local got the negative extent {v.value}",  # type: ignore[union-attr]
                "give an extent of 0 or more",
            )
        shape.append(int(v.value))  # type: ignore[union-attr]
    return tuple(shape)

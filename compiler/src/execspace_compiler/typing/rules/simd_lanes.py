"""Rules of operators, functions and lanes of vectors, see `es.simd`.

What an operation on vectors means is what the rule of numbers says of one lane: the rule is asked
with a variable for the lane of each vector, and its answer becomes an expression of vectors.
Loaded by kernels that have vectors, as simd.py, which makes them, and simd_memory.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from execspace import SimdType

from ... import ir
from ...frontend import hir
from ...ir.diagnostics import Loc, type_fault
from ...ir.ops import OPERATOR_SIGNS, Callee
from ...ir.types import INT64, PY_INT, Vector
from ..context import Context
from ..value_queries import is_vector, scalar
from ..value_types import describe
from ..values import Method, Obj, Value
from .operators import binary, unary

_OF_MASKS = ("bitand", "bitor", "bitxor", "eq", "ne")
_LANEWISE = (
    "float1", "float2", "same2", "predicate", "whole", "operator", "abs", "square", "scale",
    "where", "clip",
)  # fmt: skip
Rule = Callable[[Context, Callee, str, list[Any], Loc], Value]
_INSTEAD = {"min": "np.minimum(a, b)", "max": "np.maximum(a, b)"}


def mask_of(lanes: int) -> Vector:
    """Type of masks of so many lanes."""
    return Vector("bool", lanes=lanes)


def width(cx: Context, t: SimdType) -> int:
    """Number of lanes of a type here."""
    return t.width_in(cx.module.vector_bytes)


def type_in(cx: Context, t: SimdType) -> Vector:
    """The compiler's type for a type of vectors."""
    return Vector(t.dtype.name, lanes=width(cx, t))


def spread(cx: Context, number: Any, lanes: int) -> ir.Expr:
    """A number in all lanes; it is computed once."""
    t = Vector(number.type.name, lanes=lanes)
    if isinstance(number, ir.Const):
        return ir.Const(number.value, t, number.loc)
    return ir.Op("broadcast", (cx.stable(number),), t, number.loc)


def lanewise(
    cx: Context, values: Sequence[Any], loc: Loc, compute: Callable[[list[Any]], Value]
) -> Any:
    """What `compute` makes of one lane of each vector and of numbers, for all lanes."""
    widths = {v.type.lanes: v for v in values if is_vector(v)}
    if len(widths) > 1:
        raise type_fault(
            loc,
            f"{' and '.join(describe(v) for v in widths.values())} do not mix",
            "all vectors and masks of an operation have as many lanes",
        )
    [lanes] = widths
    held: dict[str, Any] = {}
    row: list[Any] = []
    for n, v in enumerate(values):
        if is_vector(v):
            held[f"_lane{n}"] = v
            row.append(ir.Var(f"_lane{n}", v.type.lane, v.loc))
        else:
            row.append(scalar(v, loc))
    one: Any = compute(row)
    found = ir.subexpressions(one)
    for name, v in held.items():
        uses = sum(isinstance(e, ir.Var) and e.name == name for e in found)
        if uses > 1 and not isinstance(v, ir.Var | ir.Const):
            held[name] = cx.keep(v)

    def whole(e: Any) -> ir.Expr:
        if isinstance(e, ir.Var) and e.name in held:
            return held[e.name]  # type: ignore[no-any-return]
        inner = ir.subexpressions(e)
        if not any(isinstance(x, ir.Var) and x.name in held for x in inner):
            return spread(cx, e, lanes)
        if e.type.kind == "c":
            raise type_fault(
                loc, "a vector has no complex lanes", "use one vector of real and one of imag parts"
            )
        parts = tuple(map(whole, ir.operands(e)))
        t = Vector(e.type.name, lanes=lanes)
        if isinstance(e, ir.Select):
            return ir.Op("blend", parts, t, loc)
        assert isinstance(e, ir.Op)
        return ir.Op({"and": "bitand", "or": "bitor"}.get(e.op, e.op), parts, t, loc)

    return whole(one)


# -- operators and functions ----------------------------------------------------------------------


def operator(cx: Context, op: str, a: Value, b: Value, e: hir.Operation) -> Value:
    """An operator on two values of which one is a vector."""
    if op in ("in", "not_in"):
        raise type_fault(e.loc, f"'{OPERATOR_SIGNS[op]}' takes no vector, got {_both(a, b)}", _USE)
    if any(is_mask(v) for v in (a, b)) and op not in _OF_MASKS:
        raise type_fault(
            e.loc,
            f"'{OPERATOR_SIGNS[op]}' is not defined for masks, got {_both(a, b)}",
            "make numbers of a mask, T(mask), or choose by it: np.where(mask, a, b)",
        )
    found: Value = lanewise(cx, (a, b), e.loc, lambda row: binary(cx, op, row[0], row[1], e.loc))
    return found


_USE = "take a lane, v[0], or a reduction, v.sum() or mask.any()"


def _both(a: Value, b: Value) -> str:
    return f"{describe(a)} and {describe(b)}"


def is_mask(value: Value) -> bool:
    """Whether it is a vector of bools."""
    return is_vector(value) and value.type.name == "bool"  # type: ignore[union-attr]


def unary_operator(cx: Context, op: str, value: Any, loc: Loc) -> Value:
    """-v, +v, ~v, and ~mask."""
    if is_mask(value):
        if op == "invert":
            return ir.Op("not", (value,), value.type, loc)
        raise type_fault(
            loc,
            f"'{OPERATOR_SIGNS[op]}' is not defined for a mask, got {describe(value)}",
            "make numbers of it: T(mask)",
        )
    found: Value = lanewise(cx, (value,), loc, lambda row: unary(cx, op, row[0], loc))
    return found


def function(
    cx: Context, callee: Callee, path: str, args: Sequence[Any], loc: Loc, rule: Rule | None
) -> Value:
    """A function of the library on vectors; `rule` is that of its kind."""
    if rule is None or callee.rule not in _LANEWISE:
        instead = _INSTEAD.get(path, "a function of NumPy; to convert, call the type: T(v)")
        got = " and ".join(map(describe, args))
        raise type_fault(loc, f"{path} takes no vectors, got {got}", f"write {instead}")
    if callee.rule != "where" and any(map(is_mask, args)):
        raise type_fault(
            loc, f"{path} takes no masks, got {' and '.join(map(describe, args))}",
            "make numbers of a mask: T(mask)",
        )  # fmt: skip
    found: Value = lanewise(cx, args, loc, lambda row: rule(cx, callee, path, row, loc))
    return found


# -- lanes and attributes ---------------------------------------------------------------------


def lane(v: ir.Expr, k: int, loc: Loc) -> ir.Expr:
    """A lane of a vector."""
    t = v.type
    assert isinstance(t, Vector)
    return ir.Op("lane", (v, ir.Const(k, INT64, loc)), t.lane, loc)


def element(v: Any, keys: Sequence[Any], loc: Loc) -> ir.Expr:
    """`v[k]`."""
    k = keys[0] if len(keys) == 1 else None
    if not isinstance(k, ir.Const) or not k.type.is_integer:
        got = describe(k) if isinstance(k, ir.Expr) else "something else"
        raise type_fault(
            loc,
            f"the number of a lane must be a constant integer, got {got}",
            "store the vector in es.local or a View to index it",
        )
    if not -v.type.lanes <= k.value < v.type.lanes:
        raise type_fault(
            loc, f"lane {k.value} is outside a {v.type}", f"its lanes are 0 to {v.type.lanes - 1}"
        )
    return lane(v, int(k.value) % v.type.lanes, loc)


_METHODS = ("store", "scatter", "sum", "prod", "min", "max")
_MASK_METHODS = ("any", "all", "none", "count", "store", "scatter")
_TYPE_METHODS = ("load", "gather", "of", "generate", "iota", "first")


def attribute(cx: Context, base: Any, name: str, loc: Loc) -> Value:
    """Attributes of vectors and of their types."""
    if isinstance(base, Obj):
        t = base.value
        if name in _TYPE_METHODS:
            return Method(base, name)
        if name == "width":
            return ir.Const(width(cx, t), PY_INT, loc)
        if name == "dtype":
            return Obj(t.dtype, t.dtype.name)
        known = ("width", "dtype", *_TYPE_METHODS)
    else:
        if name in (_MASK_METHODS if is_mask(base) else _METHODS):
            return Method(base, name)
        if name == "size":
            return ir.Const(base.type.lanes, PY_INT, loc)
        if name == "dtype":
            return Obj(np.dtype(base.type.name), base.type.name)
        known = ("size", "dtype", *(_MASK_METHODS if is_mask(base) else _METHODS))
    raise type_fault(
        loc,
        f"{describe(base)} has no attribute '{name}' in a kernel",
        f"there are {', '.join(known)}",
    )

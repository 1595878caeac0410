"""Rules of Python's, math's and NumPy's functions, which the table CALLEES of ops.py lists."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import ir
from ...ir.diagnostics import Loc, type_fault
from ...ir.ops import COMPLEX_FUNCTIONS, Callee
from ...ir.types import (
    BOOL,
    INDEX,
    INT64,
    PY_FLOAT,
    PY_INT,
    PromotionError,
    as_float,
    complex_of,
    promote,
    real_part,
)
from ..context import Context, Rules
from ..value_queries import extents, is_vector, is_view, scalar
from ..value_types import describe
from ..values import StructValue, TupleValue, Value
from .operators import PARTS, always, binary, constant, no_order, part, same, truth, unary

# (Context, Callee, path, numbers, Loc) -> Value, by the name of the rule in CALLEES
LIBRARY: Rules[str, Value] = Rules("library function of kind")


_OF_BOOLS = {"and": "bitand", "or": "bitor", "ne": "ne"}


def library_call(cx: Context, callee: Callee, path: str, args: Sequence[Value], loc: Loc) -> Value:
    """A call of a function in CALLEES."""
    if callee.arity and len(args) not in callee.arity:
        expected = " or ".join(map(str, callee.arity))
        many = "" if callee.arity == (1,) else "s"
        hint = f"write {path}({', '.join('xyz'[: callee.arity[-1]])})"
        raise type_fault(
            loc, f"{path} takes {expected} argument{many} in a kernel, got {len(args)}", hint
        )
    if any(map(is_vector, args)):
        from .simd_lanes import function  # loaded by kernels that have such

        return function(cx, callee, path, args, loc, LIBRARY.find(callee.rule))
    if callee.rule == "len":
        return _len(cx, args[0], loc)
    if callee.rule == "fold":
        return _fold_min_max(cx, callee.op, path, args, loc)
    numbers = [scalar(a, loc) for a in args]
    rule = LIBRARY[callee.rule]
    try:
        return rule(cx, callee, path, numbers, loc)
    except PromotionError as error:
        types = " and ".join(str(n.type) for n in numbers)
        raise type_fault(loc, f"{path} of {types}: {error}", error.hint) from None


def _len(cx: Context, value: Value, loc: Loc) -> Value:
    if isinstance(value, StructValue):
        from .objects import call_method  # loaded by kernels that get such

        return call_method(cx, value, "__len__", (), loc)
    if isinstance(value, TupleValue):
        return ir.Const(len(value.items), PY_INT, loc)
    if is_view(value):
        sizes = extents(value, loc)
        if sizes:
            return sizes[0]
    got = describe(value)
    if is_view(value):
        got += " of rank 0"
    raise type_fault(
        loc, f"len takes a View or a tuple, got {got}", "of a View it is its first extent"
    )


def _fold_min_max(cx: Context, op: str, path: str, args: Sequence[Value], loc: Loc) -> Value:
    items = args[0].items if len(args) == 1 and isinstance(args[0], TupleValue) else args
    if len(items) < 1 or (len(items) == 1 and items is args):
        got = describe(args[0]) if args else "nothing"
        hint = f"write {path}(a, b)"
        if args and is_view(args[0]):
            hint = "loop over its elements, or launch parallel_reduce"
        raise type_fault(loc, f"{path} takes at least two numbers or a tuple, got {got}", hint)
    numbers = [scalar(i, loc) for i in items]
    try:
        type = functools.reduce(promote, (n.type for n in numbers))
    except PromotionError as error:
        types = " and ".join(str(n.type) for n in numbers)
        raise type_fault(loc, f"{path} of {types}: {error}", error.hint) from None
    if type.kind == "c":
        raise no_order(numbers, loc)
    result = numbers[0]
    for k, n in enumerate(numbers[1:]):
        result = same(cx, op, cx.limit_depth(result, k), n, type, loc)
    return result  # type: ignore[no-any-return]


@LIBRARY.of("float1")
def _float1(cx: Context, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
    type = as_float(a[0].type)
    name = "abs" if callee.op == "fabs" else callee.op
    if type.kind == "c" and name not in COMPLEX_FUNCTIONS:
        from .words import of_complex  # loaded by kernels that call any

        return of_complex(cx, name, path, cx.coerce(a[0], type), loc)
    return ir.Op(name, (cx.coerce(a[0], type),), type, loc)


@LIBRARY.of("whole")
def _whole(cx: Context, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
    return a[0] if a[0].type.is_integer else _float1(cx, callee, path, a, loc)


@LIBRARY.of("cfloat1")
def _cfloat1(cx: Context, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
    x = a[0]
    if x.type.kind != "c":  # cmath converts all arguments to complex
        x = cx.coerce(x, complex_of(as_float(x.type)))
    return _float1(cx, callee, path, [x], loc)


@LIBRARY.of("float2")
def _float2(cx: Context, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
    type = as_float(promote(a[0].type, a[1].type))
    if type.kind == "c":
        raise type_fault(loc, f"{path} is not defined for {type}", PARTS)
    return same(cx, callee.op, a[0], a[1], type, loc)


@LIBRARY.of("same2")
def _same2(cx: Context, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
    type = promote(a[0].type, a[1].type)
    if type.kind == "c":
        raise no_order(a, loc)
    return same(cx, callee.op, a[0], a[1], type, loc)


@LIBRARY.of("operator")
def _operator(cx: Context, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
    return binary(cx, callee.op, a[0], a[1], loc)


@LIBRARY.of("unary")
def _unary(cx: Context, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
    return unary(cx, callee.op, a[0], loc)


@LIBRARY.of("logical")
def _logical(cx: Context, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
    return binary(cx, _OF_BOOLS[callee.op], truth(cx, a[0], loc), truth(cx, a[1], loc), loc)


@LIBRARY.of("fma")
def _fma(cx: Context, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
    type = as_float(functools.reduce(promote, (x.type for x in a)))
    if type.kind == "c" or type.name == "float16":
        hint = "convert: es.float32(x)" if type.kind == "f" else PARTS
        raise type_fault(loc, f"{path} is not defined for {type}", hint)
    return ir.Op("fma", tuple(cx.coerce(x, type) for x in a), type, loc)


@LIBRARY.of("to_int")
def _to_int(cx: Context, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
    x = a[0]
    if x.type.kind == "c":
        raise type_fault(loc, f"{path} is not defined for {x.type}", PARTS)
    if not x.type.is_float:
        return cx.coerce(x, INDEX) if x.type == BOOL else x  # type: ignore[no-any-return]
    whole = ir.Op(callee.op, (x,), x.type, loc)
    return ir.Op("cast", (whole,), INDEX, loc)


@LIBRARY.of("predicate")
def _predicate(cx: Context, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
    if not a[0].type.is_float and a[0].type.kind != "c":
        return always(callee.op == "isfinite", a[0], loc)
    return ir.Op(callee.op, (a[0],), BOOL, loc)


@LIBRARY.of("abs")
def _abs(cx: Context, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
    x = cx.coerce(a[0], PY_INT) if a[0].type == BOOL else a[0]
    if x.type.kind == "u":
        return x  # type: ignore[no-any-return]
    if isinstance(x, ir.Const) and x.type.weak and x.type.kind != "c":
        return ir.Const(abs(x.value), x.type, loc)
    return ir.Op("abs", (x,), real_part(x.type), loc)


@LIBRARY.of("part")
def _part(cx: Context, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
    return part(cx, callee.op, a[0], loc)


@LIBRARY.of("conj")
def _conj(cx: Context, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
    return ir.Op("conj", (a[0],), a[0].type, loc) if a[0].type.kind == "c" else a[0]


@LIBRARY.of("is_complex")
def _is_complex(cx: Context, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
    """A constant, by which kernels choose between branches for real and complex numbers."""
    return ir.Const((a[0].type.kind == "c") == (callee.op == "complex"), BOOL, loc)


@LIBRARY.of("square")
def _square(cx: Context, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
    return binary(cx, "mul", a[0], a[0], loc)


@LIBRARY.of("scale")
def _scale(cx: Context, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
    factor = ir.Const(callee.factor, PY_FLOAT, loc)
    return binary(cx, "mul", cx.coerce(a[0], as_float(a[0].type)), factor, loc)


@LIBRARY.of("where")
def _where(cx: Context, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
    type = promote(a[1].type, a[2].type)
    test = truth(cx, a[0], loc)
    return ir.Select(test, cx.coerce(a[1], type), cx.coerce(a[2], type), type, loc)


@LIBRARY.of("round")
def _round(cx: Context, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
    return _to_int(cx, callee, path, a, loc)


@LIBRARY.of("clip")
def _clip(cx: Context, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
    type = functools.reduce(promote, (x.type for x in a))
    if type.kind == "c":
        raise no_order(a, loc)
    return same(cx, "minimum", same(cx, "maximum", a[0], a[1], type, loc), a[2], type, loc)


@LIBRARY.of("divmod")
def _divmod(cx: Context, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
    return TupleValue((binary(cx, "floordiv", a[0], a[1], loc), binary(cx, "mod", a[0], a[1], loc)))


@LIBRARY.of("int")
def _int(cx: Context, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
    x = a[0]
    if x.type.kind == "c":
        raise type_fault(loc, f"cannot convert {x.type} to int", "take its .real first")
    if isinstance(x, ir.Const) and x.type.weak:
        if not np.isfinite(x.value):
            raise type_fault(
                loc, f"cannot convert {x.value} to int", "integers have no infinity and no NaN"
            )
        return constant(int(x.value), loc)
    if x.type.name == "uint64":
        return x  # type: ignore[no-any-return]
    if x.type.strong == INT64 and x.type.weak:
        return x  # type: ignore[no-any-return]
    return ir.Op("cast", (x,), INDEX, loc)


@LIBRARY.of("float")
def _float(cx: Context, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
    x = a[0]
    if x.type.kind == "c":
        raise type_fault(loc, f"cannot convert {x.type} to float", "take its .real first")
    if isinstance(x, ir.Const):
        return ir.Const(float(x.value), PY_FLOAT, loc)
    return ir.Op("cast", (x,), PY_FLOAT, loc)


@LIBRARY.of("bool")
def _bool(cx: Context, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
    return truth(cx, a[0], loc)


@LIBRARY.of("complex")
def _complex(cx: Context, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
    re = a[0]
    im = a[1] if len(a) == 2 else ir.Const(0.0, PY_FLOAT, loc)
    if re.type.kind == "c":
        if len(a) == 2:
            raise type_fault(
                loc,
                f"complex(re, im) takes real numbers, got {re.type} and {im.type}",
                "write re + im * 1j",
            )
        return re  # type: ignore[no-any-return]
    type = complex_of(as_float(promote(re.type, im.type)))
    part = real_part(type)  # float32 for two float16, since the result is complex64
    return ir.Op("complex", (cx.coerce(re, part), cx.coerce(im, part)), type, loc)

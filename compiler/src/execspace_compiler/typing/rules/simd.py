"""Rules of making vectors, and of reductions of their lanes, see `es.simd`.

Loaded by kernels that have vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import execspace
from execspace import DTypeError, SimdType

from ... import ir
from ...ir.diagnostics import Loc, type_fault
from ...ir.types import BOOL, INDEX, INT64, Scalar, Vector
from ..context import CALLS, METHODS, Call, Context
from ..value_queries import is_vector, scalar
from ..value_types import describe
from ..values import Obj, Value
from .operators import constant
from .simd_lanes import is_mask, lane, lanewise, mask_of, spread, type_in, width

# -- types of vectors, where a kernel makes them: es.simd(x.dtype, 4)


@CALLS.of(execspace.simd)
def _simd(cx: Context, call: Call) -> Value:
    args = [v.value if isinstance(v, Obj | ir.Const) else v for v in call.args]
    keywords = {
        n: v.value if isinstance(v, Obj | ir.Const) else v for n, v in call.keywords.items()
    }
    make: Any = execspace.simd
    try:
        found = make(*args, **keywords)
    except (DTypeError, TypeError):
        given = (*call.args, *call.keywords.values())
        shown = (str(a.value) if isinstance(a, ir.Const) else describe(a) for a in given)
        got = " and ".join(shown) or "no arguments"
        raise type_fault(
            call.loc,
            f"es.simd takes a dtype and a constant width, got {got}",
            "dtypes are float32, float64, int32, int64, uint32, uint64; widths powers of two up to "
            "64",
        ) from None
    return Obj(found, repr(found))


# -- making vectors -------------------------------------------------------------------------------


def made(cx: Context, t: SimdType, call: Call) -> Value:
    """`T(value)`: a number in all lanes, or a vector converted."""
    args = call.positional()
    if len(args) != 1:
        raise type_fault(
            call.loc,
            f"{call.name} takes a number or a vector, got {len(args)} arguments",
            f"for numbers of several lanes write {call.name}.of(...)",
        )
    found: Value = converted(cx, args[0], type_in(cx, t), call.loc)
    return found


def converted(cx: Context, value: Any, t: Vector, loc: Loc) -> Any:
    """A number or vector as a vector of a type."""
    cx.module.vectors = True
    if not is_vector(value):
        return spread(cx, number(cx, value, t, loc), t.lanes)
    if value.type.lanes != t.lanes:
        raise type_fault(
            loc,
            f"{describe(value)} does not become a {t}",
            "a conversion keeps the number of lanes; take lanes one by one: v[0]",
        )
    return lanewise(cx, (value,), loc, lambda row: number(cx, row[0], t, loc))


def number(cx: Context, value: Value, t: Vector, loc: Loc) -> Any:
    """A number in the type of the lanes of a vector."""
    cast = Obj(np.dtype(t.name).type, f"es.{t.name}")
    return cx.call(cast, (value,), {}, loc)


def packed(cx: Context, numbers: Sequence[Any], t: Vector, loc: Loc) -> ir.Expr:
    """A vector of numbers, which have the type of its lanes."""
    cx.module.vectors = True
    return ir.Op("pack", tuple(numbers), t, loc)


def _type(call: Call) -> SimdType:
    owner = call.owner
    assert isinstance(owner, Obj) and isinstance(owner.value, SimdType)
    return owner.value


@METHODS.of("of")
def _of(cx: Context, call: Call) -> Value:
    t = type_in(cx, _type(call))
    args = call.positional()
    if len(args) != t.lanes:
        raise type_fault(
            call.loc,
            f"a {t} is made of as many numbers, got {len(args)} arguments",
            "give one for each lane, or one for all: T(value)",
        )
    return packed(cx, [number(cx, a, t, call.loc) for a in args], t, call.loc)


@METHODS.of("generate")
def _generate(cx: Context, call: Call) -> Value:
    t = type_in(cx, _type(call))
    args = call.positional()
    if len(args) != 1:
        raise type_fault(
            call.loc,
            f"generate takes a function of the number of a lane, got {len(args)} arguments",
            "write T.generate(lambda lane: ...)",
        )
    numbers = []
    for k in range(t.lanes):
        value = cx.call(args[0], (constant(k, call.loc),), {}, call.loc)
        numbers.append(cx.keep(number(cx, value, t, call.loc)))
    return packed(cx, numbers, t, call.loc)


@METHODS.of("iota")
def _iota(cx: Context, call: Call) -> Value:
    call.positional()
    t = type_in(cx, _type(call))
    return packed(cx, _lane_numbers(t, call.loc), t, call.loc)


def _lane_numbers(t: Vector, loc: Loc) -> list[ir.Expr]:
    kind = float if t.is_float else int
    return [ir.Const(kind(k), t.lane, loc) for k in range(t.lanes)]


@METHODS.of("first")
def _first(cx: Context, call: Call) -> Value:
    loc, lanes = call.loc, width(cx, _type(call))
    args = call.positional()
    n = scalar(args[0], loc) if len(args) == 1 else None
    if n is None or not n.type.is_integer:
        got = f"{len(args)} arguments" if n is None else str(n.type)
        raise type_fault(loc, f"first takes an integer, got {got}", "write T.first(int(n))")
    numbers = Vector("int64", lanes=lanes)
    count = spread(cx, cx.coerce(n, INDEX), lanes)
    iota = packed(cx, _lane_numbers(numbers, loc), numbers, loc)
    return ir.Op("lt", (iota, count), mask_of(lanes), loc)


# -- reductions -------------------------------------------------------------------------------


def given_mask(value: Any, lanes: int, loc: Loc) -> Any:
    """A mask that a method is given; a fault for all else."""
    if not is_mask(value) or value.type.lanes != lanes:
        raise type_fault(
            loc,
            f"expected a mask of {lanes} lanes, got {describe(value)}",
            "comparisons of vectors give masks, and T.first(n)",
        )
    return value


def _halved(cx: Context, op: str, v: Any, loc: Loc) -> ir.Expr:
    """Lanes joined: the first half with the second one, until one is left."""
    while v.type.lanes > 1:
        v = cx.keep(v)
        half = Vector(v.type.name, lanes=v.type.lanes // 2)
        v = ir.Op(op, tuple(ir.Op(part, (v,), half, loc) for part in ("low", "high")), half, loc)
    return lane(v, 0, loc)


@METHODS.of("sum", "prod", "min", "max")
def _reduced(cx: Context, call: Call) -> Value:
    v: Any = call.owner
    loc, args = call.loc, call.positional()
    ops = {"sum": "add", "prod": "mul", "min": "minimum", "max": "maximum"}
    if len(args) > 1:
        raise type_fault(
            loc, f"{call.name} takes a mask at most, got {len(args)} arguments", "give one mask"
        )
    if args:
        mask = given_mask(args[0], v.type.lanes, loc)
        identity = ir.Const(_identity(call.name, v.type), v.type, loc)
        v = ir.Op("blend", (mask, v, identity), v.type, loc)
    return _halved(cx, ops[call.name], v, loc)


def _identity(name: str, t: Scalar) -> Any:
    if name in ("sum", "prod"):
        return int(name == "prod")
    if t.is_float:
        return np.inf if name == "min" else -np.inf
    limits = np.iinfo(t.name)
    return int(limits.max if name == "min" else limits.min)


@METHODS.of("any", "all", "none", "count")
def _of_mask(cx: Context, call: Call) -> Value:
    call.positional()
    mask: Any = call.owner
    loc = call.loc
    if call.name == "count":
        return ir.Op("count", (mask,), INT64, loc)
    found = ir.Op("all" if call.name == "all" else "any", (mask,), BOOL, loc)
    return ir.Op("not", (found,), BOOL, loc) if call.name == "none" else found

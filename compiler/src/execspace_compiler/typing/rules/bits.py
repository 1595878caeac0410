"""Rules of bits: numbers seen as others with the same bits, and C++'s functions of <bit>."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import execspace
from execspace.contract.argtypes import SCALAR_TYPES
from execspace.contract.dtypes import NAMES

from ... import ir
from ...ir.diagnostics import Loc, counted, type_fault
from ...ir.types import BOOL, PY_INT, Scalar
from ..context import CALLS, METHODS, Call, Context
from ..value_queries import scalar
from ..value_types import describe
from ..values import Obj, Value

_WORDS = {16: Scalar("uint16"), 32: Scalar("uint32"), 64: Scalar("uint64")}


@METHODS.of("view")
def _view(cx: Context, call: Call) -> Value:
    args, loc = call.positional(), call.loc
    if len(args) != 1:
        message = f"view takes 1 argument, got {len(args)}"
        raise type_fault(loc, message, "write x.view(es.int64)")
    return _seen_as(cx, scalar(call.owner, loc), args[0], loc)


@CALLS.of(execspace.bit_cast)
def _bit_cast(cx: Context, call: Call) -> Value:
    args, loc = call.positional(), call.loc
    if len(args) != 2:
        message = f"es.bit_cast takes a number and a type, got {counted(len(args), 'argument')}"
        raise type_fault(loc, message, "write es.bit_cast(x, es.int64)")
    e = scalar(args[0], loc)
    return _seen_as(cx, cx.coerce(e, e.type.strong), args[1], loc)


def _seen_as(cx: Context, e: Any, type: Value, loc: Loc) -> Value:
    to = number_type(type)
    if e.type.kind not in "iuf" or e.type.weak:
        made = {"f": "es.float64(x)", "i": "es.int64(x)"}.get(e.type.kind)
        hint = "integers and floats of fixed types have view"
        hint += f": {made} is one" if made and e.type.weak else ""
        raise type_fault(loc, f"{describe(e)} has no view", hint)
    if to is None or to.kind not in "iuf" or to.itemsize != e.type.itemsize:
        bits = e.type.bits
        kinds = ("int", "uint", "float") if bits in _WORDS else ("int", "uint")
        names = ", ".join(f"es.{kind}{bits}" for kind in kinds)
        hint = f"give a type of as many bytes: {names}"
        got = describe(type) if to is None else str(to)
        raise type_fault(loc, f"cannot view {e.type} as {got}", hint)
    if to.is_float == e.type.is_float:
        return ir.Op("cast", (e,), to, loc) if to != e.type else e
    word = _WORDS[e.type.bits]
    if to.is_float:
        return ir.Op("bit_cast", (cx.coerce(e, word),), to, loc)
    found: Value = cx.coerce(ir.Op("bit_cast", (e,), word, loc), to)
    return found


def number_type(value: Value) -> Scalar | None:
    """That of `es.int64`, `np.int64` or `A.dtype`; None of what is no such type."""
    given = value.value if isinstance(value, Obj) else None
    if isinstance(given, np.dtype):
        return Scalar(given.name) if given.name in NAMES else None
    if not isinstance(given, type) or not issubclass(given, np.generic):
        return None
    name = given.__name__.rstrip("_")
    if name not in NAMES:  # np.longlong and the like have another name
        name = next((t.dtype for k, t in SCALAR_TYPES.items() if k is given), "")
    return Scalar(name) if name else None


# -- functions of C++'s <bit> --------------------------------------------------------------------


@METHODS.of("bit_count")
def _bit_count(cx: Context, call: Call) -> Value:
    """Of the absolute value, as those of Python and NumPy."""
    if call.positional():
        message = f"bit_count takes no arguments, got {len(call.args)}"
        raise type_fault(call.loc, message, "write n.bit_count()")
    x = scalar(call.owner, call.loc)
    return _whole(cx, _popcount(_unsigned(cx, ir.Op("abs", (x,), x.type, call.loc))))


@METHODS.of("bit_length")
def _bit_length(cx: Context, call: Call) -> Value:
    if call.positional():
        message = f"bit_length takes no arguments, got {len(call.args)}"
        raise type_fault(call.loc, message, "write n.bit_length()")
    x = scalar(call.owner, call.loc)
    return _whole(cx, _width(cx, _unsigned(cx, ir.Op("abs", (x,), x.type, call.loc))))


def _integer(call: Call, count: int) -> list[Any]:
    """The arguments of a function of integers."""
    args, loc = call.positional(), call.loc
    name = f"es.{call.target.__name__}"
    if len(args) != count:
        many = "s" if count > 1 else ""
        message = f"{name} takes {count} argument{many} in a kernel, got {len(args)}"
        raise type_fault(loc, message, f"write {name}({', '.join(('x', 'n')[:count])})")
    numbers = [scalar(a, loc) for a in args]
    for e in numbers:
        if not e.type.is_integer:
            hint = "the bits of a float are those of es.bit_cast(x, es.uint64)"
            raise type_fault(loc, f"{name} takes integers, got {describe(e)}", hint)
    return numbers


def _unsigned(cx: Context, x: Any) -> Any:
    """The bits of an integer as an unsigned one."""
    to = Scalar(f"uint{x.type.bits}")
    if isinstance(x, ir.Const):
        return ir.Const(int(x.value) % (1 << x.type.bits), to, x.loc)
    return cx.keep(cx.coerce(x, to))


def _whole(cx: Context, count: Any) -> Value:
    """A count as a Python int, which takes the type of what it meets: all types hold it."""
    return ir.Op("cast", (count,), PY_INT, count.loc)


def _popcount(u: Any) -> ir.Expr:
    return ir.Op("popcount", (u,), u.type, u.loc)


def _leading(u: Any) -> ir.Expr:
    return ir.Op("countl_zero", (u,), u.type, u.loc)


def _number(value: int, like: Any) -> ir.Expr:
    return ir.Const(value, like.type, like.loc)


def _size(u: Any) -> int:
    size: int = u.type.bits
    return size


def _not(u: Any) -> ir.Expr:
    return ir.Op("invert", (u,), u.type, u.loc)


def _less_one(u: Any) -> ir.Expr:
    return ir.Op("sub", (u, _number(1, u)), u.type, u.loc)


def _trailing(cx: Context, u: Any) -> ir.Expr:
    """Zeros below the lowest bit that is set: that many bits are set in it less one."""
    return _popcount(ir.Op("bitand", (_not(u), _less_one(u)), u.type, u.loc))


def _width(cx: Context, u: Any) -> ir.Expr:
    return ir.Op("sub", (_number(_size(u), u), _leading(u)), u.type, u.loc)


_COUNTS: dict[Any, Callable[[Context, Any], ir.Expr]] = {
    execspace.popcount: lambda cx, u: _popcount(u),
    execspace.countl_zero: lambda cx, u: _leading(u),
    execspace.countl_one: lambda cx, u: _leading(_not(u)),
    execspace.countr_zero: _trailing,
    execspace.countr_one: lambda cx, u: _trailing(cx, cx.keep(_not(u))),
    execspace.bit_width: _width,
}


@CALLS.of(*_COUNTS)
def _count(cx: Context, call: Call) -> Value:
    (x,) = _integer(call, 1)
    return _whole(cx, _COUNTS[call.target](cx, _unsigned(cx, x)))


@CALLS.of(execspace.has_single_bit)
def _has_single_bit(cx: Context, call: Call) -> Value:
    (x,) = _integer(call, 1)
    u = _unsigned(cx, x)
    return ir.Op("eq", (_popcount(u), _number(1, u)), BOOL, call.loc)


@CALLS.of(execspace.bit_floor, execspace.bit_ceil)
def _power_of_two(cx: Context, call: Call) -> Value:
    """Shifts by the width or more give 0, as is meant."""
    (x,) = _integer(call, 1)
    u, loc = _unsigned(cx, x), call.loc
    if call.target is execspace.bit_floor:
        shift = _less_one(_width(cx, u))  # of a zero the greatest number
        found: ir.Expr = ir.Op("lshift", (_number(1, u), shift), u.type, loc)
    else:
        shift = _width(cx, _less_one(u))
        power = ir.Op("lshift", (_number(1, u), shift), u.type, loc)
        small = ir.Op("lt", (u, _number(2, u)), BOOL, loc)
        found = ir.Select(small, _number(1, u), power, u.type, loc)
    result: Value = cx.coerce(found, x.type)
    return result


@CALLS.of(execspace.rotl, execspace.rotr)
def _rotate(cx: Context, call: Call) -> Value:
    """Two shifts, of which compilers make an instruction where there is one."""
    x, by = _integer(call, 2)
    u, loc = _unsigned(cx, x), call.loc
    most = _number(_size(u) - 1, u)
    if isinstance(by, ir.Const):
        by = ir.Const(int(by.value) % _size(u), u.type, loc)
    given = by if by.type == u.type else ir.Op("cast", (by,), u.type, loc)
    n = cx.keep(ir.Op("bitand", (given, most), u.type, loc))
    zero = _number(0, u)
    back = ir.Op("bitand", (ir.Op("sub", (zero, n), u.type, loc), most), u.type, loc)
    left, right = (n, back) if call.target is execspace.rotl else (back, n)
    parts = (ir.Op("lshift", (u, left), u.type, loc), ir.Op("rshift", (u, right), u.type, loc))
    result: Value = cx.coerce(ir.Op("bitor", parts, u.type, loc), x.type)
    return result


@CALLS.of(execspace.byteswap)
def _byteswap(cx: Context, call: Call) -> Value:
    """Halves change places, and so do halves of these."""
    (x,) = _integer(call, 1)
    u, loc = _unsigned(cx, x), call.loc
    step = 8
    while step < _size(u):
        ones = (1 << step) - 1
        mask = _number(sum(ones << k for k in range(0, _size(u), 2 * step)), u)
        by = _number(step, u)
        low = ir.Op("lshift", (ir.Op("bitand", (u, mask), u.type, loc), by), u.type, loc)
        high = ir.Op("bitand", (ir.Op("rshift", (u, by), u.type, loc), mask), u.type, loc)
        u = cx.keep(ir.Op("bitor", (low, high), u.type, loc))
        step *= 2
    result: Value = cx.coerce(u, x.type)
    return result

"""Indices, slices and pairs of bounds of one dimension of a View."""

from __future__ import annotations

from typing import Any

from ... import ir
from ...ir.diagnostics import Loc, type_fault
from ...ir.types import BOOL, INDEX, Scalar
from ..context import Context
from ..value_queries import extent, is_vector, scalar
from ..value_types import describe
from ..values import Span, Value
from .failing import bounded, checked_index


def base_index(
    cx: Context,
    dim: Span,
    key: Value,
    what: Value | str,
    number: int,
    direct: ir.Var | None,
    d: int,
    loc: Loc,
) -> ir.Expr:
    """Index into the base of one index of a View or subview."""
    number_given = isinstance(key, ir.Expr) and isinstance(key.type, Scalar)
    number_given = number_given and not is_vector(key)
    if not number_given or not key.type.is_integer:  # type: ignore[union-attr]
        hint = "index with integers, slices and es.ALL"
        if number_given:
            hint = "convert it with int(...)"
        if number_given and key.type == BOOL:  # type: ignore[union-attr]
            hint = "use if: kernels have no boolean masks"
        if is_vector(key):
            hint = "write T.gather(x, indices) or v.scatter(x, indices)"
        name = what if isinstance(what, str) else describe(what)
        raise type_fault(
            loc, f"index {number} of {name} is {describe(key)}, expected an integer", hint
        )
    index: Any = key
    if isinstance(index, ir.Const) and index.value < 0:
        # Only literal negative subscripts count from the end, as in Python.
        whole_extent = extent(direct, d, loc) if direct is not None else dim.extent
        index = add(whole_extent, ir.Const(int(index.value), INDEX, loc))
    index = cx.coerce(index, INDEX)
    if cx.module.checks_bounds:
        size = extent(direct, d, loc) if direct is not None else dim.extent
        shown = what if isinstance(what, str) else describe(what)
        index = checked_index(cx, index, size, f"the index of dimension {number} of {shown}", loc)
    if direct is not None:
        return index  # type: ignore[no-any-return]
    checked = ir.Op("bounded", (index, dim.extent), INDEX.strong, loc)
    return add(dim.start, times(checked, dim.step))


def add(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    """Sum of two indices."""
    for x, y in ((a, b), (b, a)):
        if isinstance(x, ir.Const) and x.value == 0:
            return y
    if isinstance(a, ir.Const) and isinstance(b, ir.Const):
        return ir.Const(a.value + b.value, INDEX, a.loc)
    return ir.Op("add", (a, b), INDEX, a.loc)


def times(a: ir.Expr, factor: int) -> ir.Expr:
    """An index times a constant."""
    if factor == 1:
        return a
    if isinstance(a, ir.Const):
        return ir.Const(a.value * factor, INDEX, a.loc)
    return ir.Op("mul", (a, ir.Const(factor, INDEX, a.loc)), INDEX, a.loc)


def sliced(cx: Context, dim: Span, ends: tuple[Any, ...], loc: Loc) -> Span:
    """`start:stop:step` of a dimension, with Python's rules for bounds out of range."""
    step = 1
    if ends[2] is not None:
        given = scalar(ends[2], loc)
        constant = isinstance(given, ir.Const) and given.type.is_integer
        if not constant or given.value == 0:
            got = "0" if constant else str(given.type)
            raise type_fault(
                loc,
                f"the step of a slice must be a constant integer other than zero, got {got}",
                "write the number, or mark the parameter with es.static",
            )
        step = int(given.value)
    if ends[0] is None and ends[1] is None and step == 1:
        return dim
    n = dim.extent
    low, high = (0, n) if step > 0 else (-1, add(n, ir.Const(-1, INDEX, loc)))
    bottom = ir.Const(low, INDEX, loc)
    top = high if isinstance(high, ir.Expr) else ir.Const(high, INDEX, loc)
    start = _bound(cx, ends[0], n, bottom, top, loc, default=bottom if step > 0 else top)
    stop = _bound(cx, ends[1], n, bottom, top, loc, default=top if step > 0 else bottom)
    return Span(
        add(dim.start, times(cx.stable(start), dim.step)),
        dim.step * step,
        cx.stable(_length(start, stop, step, loc)),
    )


def between(cx: Context, dim: Span, begin: Value, end: Value, loc: Loc) -> Span:
    """The pair (begin, end) of es.subview: 0 <= begin <= end <= extent."""
    ends: list[ir.Expr] = []
    most = dim.extent
    for value in (end, begin):
        e = scalar(value, loc)
        if not e.type.is_integer:
            raise type_fault(
                loc,
                f"a bound of a subview is {e.type}, expected an integer",
                "convert it with int(...)",
            )
        past = add(most, ir.Const(1, INDEX, loc))
        most = cx.stable(bounded(cx, cx.coerce(e, INDEX), past, "a bound of a subview", loc))
        ends.insert(0, most)
    length = ir.Op("sub", (ends[1], ends[0]), INDEX, loc)
    start = add(dim.start, times(ends[0], dim.step))
    return Span(start, dim.step, cx.stable(length))


def _bound(
    cx: Context,
    end: Value | None,
    n: ir.Expr,
    low: ir.Expr,
    high: ir.Expr,
    loc: Loc,
    default: ir.Expr,
) -> ir.Expr:
    if end is None:
        return default
    e = scalar(end, loc)
    if not e.type.is_integer:
        raise type_fault(
            loc,
            f"a bound of a slice is {e.type}, expected an integer",
            "convert it with int(...)",
        )
    constants = [x.value for x in (e, n, low, high) if isinstance(x, ir.Const)]
    if len(constants) == 4:
        i, size, least, most = map(int, constants)
        i = i + size if i < 0 else i
        return ir.Const(min(max(i, least), most), INDEX, loc)
    e = cx.stable(cx.coerce(e, INDEX))
    if not (isinstance(e, ir.Const) and e.value >= 0):
        negative = ir.Op("lt", (e, ir.Const(0, INDEX, loc)), BOOL, loc)
        e = cx.stable(ir.Select(negative, ir.Op("add", (e, n), INDEX, loc), e, INDEX, loc))
        e = ir.Op("max", (e, low), INDEX, loc)
    return cx.stable(ir.Op("min", (e, high), INDEX, loc))


def _length(start: ir.Expr, stop: ir.Expr, step: int, loc: Loc) -> ir.Expr:
    if isinstance(start, ir.Const) and isinstance(stop, ir.Const):
        return ir.Const(len(range(start.value, stop.value, step)), INDEX, loc)
    a, b = (stop, start) if step > 0 else (start, stop)
    distance: ir.Expr = a
    if not (isinstance(b, ir.Const) and b.value == 0):
        distance = ir.Op("sub", (a, b), INDEX, loc)
    if abs(step) > 1:
        size = ir.Const(abs(step), INDEX, loc)
        more = add(distance, ir.Const(abs(step) - 1, INDEX, loc))
        distance = ir.Op("floordiv", (more, size), INDEX, loc)
    if isinstance(start, ir.Const) and start.value == 0 and isinstance(stop, ir.Extent):
        return distance
    return ir.Op("max", (distance, ir.Const(0, INDEX, loc)), INDEX, loc)

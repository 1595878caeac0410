"""Assignments to parts of Views as a whole: x[i, :] = y[i, :], x[i, :] = 0.0, x[i, 1:] += y[i, 1:].

They become loops over the elements. Numbers, tuples, and Views and parts of the same extents are
assigned; of parts of one View that overlap the result is NumPy's, as if all were read first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import ir
from ...ir.diagnostics import Loc, type_fault
from ...ir.types import BOOL, INDEX, ViewTy
from ..context import Context
from ..value_queries import extents, is_view, scalar, whole
from ..value_types import describe
from ..values import Chosen, Place, Span, TupleValue, Value, ViewRef
from .chosen import for_each_option
from .failing import bounded
from .memory import read
from .slices import add
from .views import part_of

# Stores the second in the first, an element.
_Put = Callable[[Place | ViewRef, Value], None]


def assign_part(cx: Context, part: ViewRef, value: Value, loc: Loc, at: Loc, put: _Put) -> None:
    """Assign to all elements of a part of a View; `at` locates the value."""
    part = cx.keep(part)
    if isinstance(value, Chosen):
        each: Callable[[Value], None] = lambda v: assign_part(cx, part, v, loc, at, put)  # noqa: E731
        for_each_option(cx, value, each, loc)
    elif isinstance(value, TupleValue) and value.own is None:
        _assign_tuple(cx, part, value, loc, at, put)
    elif is_view(value) and not (isinstance(value, ViewRef) and value.field is not None):
        _copy(cx, part, value, loc, at, put)
    else:
        if not isinstance(value, ViewRef | TupleValue):  # records
            value = cx.keep(scalar(value, at))
        number = value

        def fill(keys: list[ir.Expr]) -> None:
            put(_element(cx, part, keys, loc), number)

        _loops(cx, part, _order(part), _sizes(part), loc, fill)


def _sizes(part: ViewRef) -> list[ir.Expr]:
    return [s.extent for s in part.spans]


def _order(part: ViewRef) -> list[int]:
    """Dimensions of a part from the outermost loop to the innermost."""
    assert isinstance(part.base.type, ViewTy)
    numbers = list(range(len(part.spans)))
    return numbers[::-1] if part.base.type.layout == "left" else numbers


def _element(cx: Context, view: Any, keys: Sequence[ir.Expr], loc: Loc) -> Place | ViewRef:
    return part_of(cx, view, list(keys), [loc] * len(keys), loc)


def _loops(
    cx: Context,
    part: ViewRef,
    order: Sequence[int],
    sizes: Sequence[ir.Expr],
    loc: Loc,
    body: Callable[[list[ir.Expr]], None],
    backward: bool = False,
) -> None:
    """Loops over the elements of a part; `body` gets their indices."""
    names = [cx.temporary(INDEX) for _ in order]
    keys: list[ir.Expr] = [ir.Var(n, INDEX, loc) for n in names]
    if backward:
        for d, n in enumerate(sizes):
            last = add(n, ir.Const(-1, INDEX, loc))
            keys[d] = ir.Op("sub", (last, keys[d]), INDEX, loc)
    with cx.collecting() as emitted:
        body(keys)
    zero, one = ir.Const(0, INDEX, loc), ir.Const(1, INDEX, loc)
    for d in reversed(order):
        emitted = [ir.For(names[d], zero, sizes[d], one, tuple(emitted), loc=loc)]
    cx.out += emitted


def _assign_tuple(
    cx: Context, part: ViewRef, value: TupleValue, loc: Loc, at: Loc, put: _Put
) -> None:
    """Assign the items of a tuple to the elements of a part of rank 1."""
    count = len(value.items)
    if len(part.spans) != 1:
        hint = "assign a tuple to each row: x[i, :] = (a, b)"
        raise type_fault(at, f"cannot assign {describe(value)} to {describe(part)}", hint)
    (size,) = _same(cx, _sizes(part), [ir.Const(count, INDEX, at)], part, value, at)
    held = [cx.keep(v) for v in value.items]
    if not isinstance(size, ir.Const):  # the oracle checks it where it is computed
        cx.keep(size)
    for k, item in enumerate(held):
        put(_element(cx, part, [ir.Const(k, INDEX, loc)], loc), item)


def _copy(cx: Context, part: ViewRef, value: Any, loc: Loc, at: Loc, put: _Put) -> None:
    """Copy the elements of a View or a part of one."""
    source = cx.keep(whole(value) if isinstance(value, ir.Var) else value)
    sizes, given = _sizes(part), list(extents(source, at))
    missing = len(sizes) - len(given)
    if missing < 0:
        raise type_fault(
            at,
            f"cannot assign {describe(value)} of rank {len(given)} to {describe(part)} of rank "
            f"{len(sizes)}",
            "assign parts of as many dimensions: x[i, :] = y[i, :]",
        )
    sizes[missing:] = _same(cx, sizes[missing:], given, part, value, at)

    def copy(keys: list[ir.Expr]) -> None:
        found = read(cx, _element(cx, source, keys[missing:], at), at)
        put(_element(cx, part, keys, loc), found)

    order = _order(part)
    back = _moves_up(part, source, order, loc, at) if part.base.name == source.base.name else None
    if back is None:
        _loops(cx, part, order, sizes, loc, copy)
        return
    with cx.collecting() as up:
        _loops(cx, part, order, sizes, loc, copy, backward=True)
    with cx.collecting() as down:
        _loops(cx, part, order, sizes, loc, copy)
    cx.out.append(ir.If(back, tuple(up), tuple(down), loc))


def _same(
    cx: Context, sizes: Sequence[ir.Expr], given: Sequence[ir.Expr], part: ViewRef, value: Value,
    at: Loc,
) -> list[ir.Expr]:  # fmt: skip
    """Extents that must be equal: constants are compared here, others by the oracle."""
    one = ir.Const(1, INDEX, at)
    found: list[ir.Expr] = []
    for own, other in zip(sizes, given, strict=True):
        if isinstance(own, ir.Const) and isinstance(other, ir.Const):
            if own.value != other.value:
                raise type_fault(
                    at,
                    f"cannot assign {describe(value)} to {describe(part)}: extents "
                    f"{other.value} and {own.value}",
                    "assign a number, or a part of the same extents",
                )
            found.append(own)
            continue
        what = "the extent of what is assigned"
        most = cx.stable(bounded(cx, other, add(own, one), what, at))
        found.append(cx.stable(bounded(cx, own, add(most, one), what, at)))
    return found


def _moves_up(
    part: ViewRef, source: ViewRef, order: Sequence[int], loc: Loc, at: Loc
) -> ir.Expr | None:
    """Whether elements move to higher indices of the part: then the last must be stored first.

    None if they never do.
    """
    form = [d.step if isinstance(d, Span) else None for d in part.dims]
    if form != [d.step if isinstance(d, Span) else None for d in source.dims]:
        raise type_fault(
            at,
            f"{describe(source)} is assigned to {describe(part)}, another form of part of the "
            "same View",
            "they may overlap: go through the elements in a loop over range, by way of es.local "
            "where the order matters",
        )
    zero = ir.Const(0, INDEX, loc)
    result: ir.Expr | None = None
    for n in reversed(order):
        to, by = part.spans[n], source.spans[n]
        ends = (to.start, by.start) if to.step > 0 else (by.start, to.start)
        if isinstance(ends[0], ir.Const) and isinstance(ends[1], ir.Const):
            if ends[0].value != ends[1].value:
                result = ir.Const(ends[0].value > ends[1].value, BOOL, loc)
            continue
        distance = ir.Op("sub", ends, INDEX, loc)
        up = ir.Op("gt", (distance, zero), BOOL, loc)
        if result is None:
            result = up
        else:
            same = ir.Op("eq", (distance, zero), BOOL, loc)
            result = ir.Op("or", (up, ir.Op("and", (same, result), BOOL, loc)), BOOL, loc)
    if isinstance(result, ir.Const):
        return result if result.value else None
    return result

"""Rules of loads and stores of vectors: a load or store of each lane, by the rules of elements.

So bounds, layouts, storage types and atomic Views are what they are for elements, and analyses need
not know vectors. The printer of hosts makes one access of those that are next to each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from execspace import SimdType

from ... import ir
from ...ir.diagnostics import Loc, type_fault
from ...ir.types import INDEX, INT64, Scalar, Vector, ViewTy
from ..context import METHODS, Call, Context
from ..value_queries import extents, is_vector, is_view, scalar
from ..value_types import describe
from ..values import Obj, Place, ViewRef
from .memory import load, store, writable
from .simd import converted, given_mask, number, packed
from .simd_lanes import lane, type_in
from .slices import add
from .views import part_of

_LANES = ("bool", "float32", "float64", "int32", "int64", "uint32", "uint64")


def _arguments(call: Call, names: Sequence[str], required: int) -> list[Any]:
    """Arguments by position or by name; None for those that are left out."""
    found: dict[str, Any] = dict(zip(names, call.args, strict=False))
    wrong = len(call.args) > len(names) or any(k not in names or k in found for k in call.keywords)
    found.update(call.keywords)
    if wrong or any(n not in found for n in names[:required]):
        raise type_fault(
            call.loc,
            f"{call.name} of a vector takes other arguments",
            f"its parameters are {', '.join(names)}",
        )
    return [found.get(n) for n in names]


def _places(cx: Context, view: Any, keys: Sequence[ir.Expr], call: Call) -> list[Place]:
    """The element of each lane."""
    loc = call.loc
    rank = len(extents(view, loc)) if is_view(view) else 0
    whole = isinstance(view, ir.Var) or (isinstance(view, ViewRef) and view.field is None)
    if rank != 1 or not whole:
        raise type_fault(
            loc,
            f"{call.name} of a vector takes a View of rank 1, got {describe(view)}",
            "a part of a View may have rank 1, such as A[i, :]",
        )
    found = [part_of(cx, view, [k], [loc], loc) for k in keys]
    places = [p for p in found if isinstance(p, Place)]
    if not places:
        raise type_fault(
            loc,
            f"{call.name} of a vector takes a View of numbers, got {describe(view)}",
            "read the fields of records one by one",
        )
    return places


def _keys(cx: Context, index: Any, lanes: int, call: Call) -> list[ir.Expr]:
    """The index of each lane: from one on, or those of a vector."""
    loc = call.loc
    if call.name in ("load", "store"):
        first = scalar(index, loc)
        if not first.type.is_integer:
            raise type_fault(
                loc, f"{call.name} takes an integer index, got {first.type}", "write int(...)"
            )
        if isinstance(first, ir.Const) and first.value < 0:
            raise type_fault(
                loc,
                f"{call.name} of a vector takes an index from the start, got the integer "
                f"{first.value}",
                "count from the start: x.size - 4",
            )
        first = cx.stable(cx.coerce(first, INDEX))
        return [add(first, ir.Const(k, INDEX, loc)) for k in range(lanes)]
    if not is_vector(index) or not index.type.is_integer or index.type.lanes != lanes:
        raise type_fault(
            loc,
            f"{call.name} takes a vector of {lanes} integers, got {describe(index)}",
            "convert it with a type of integers, J(v); elements in a row have load and store",
        )
    kept = cx.keep(index)
    return [lane(kept, k, loc) for k in range(lanes)]


@METHODS.of("load", "gather")
def _load(cx: Context, call: Call) -> Any:
    owner, loc = call.owner, call.loc
    assert isinstance(owner, Obj) and isinstance(owner.value, SimdType)
    t = type_in(cx, owner.value)
    what = "index" if call.name == "load" else "indices"
    view, index, mask, other = _arguments(call, ("view", what, "mask", "other"), 2)
    mask = None if mask is None else cx.keep(given_mask(mask, t.lanes, loc))
    places = _places(cx, view, _keys(cx, index, t.lanes, call), call)
    element = places[0].type
    direct = element.name in _LANES and not element.storage
    held = Vector(element.name, lanes=t.lanes) if direct else t
    rest: Any = None
    if mask is not None:
        given = ir.Const(0, INT64, loc) if other is None else other
        rest = cx.keep(converted(cx, given, held, loc))
    numbers: list[Any] = []
    for k, place in enumerate(places):
        with cx.collecting() as emitted:  # of atomic loads, and conversions of storage types
            x = number(cx, load(cx, place, loc), held, loc)
            if emitted and mask is not None:
                x = cx.keep(x)
        if mask is None:
            cx.out += emitted
            numbers.append(x)
        elif not emitted:
            chosen = lane(mask, k, loc)
            numbers.append(ir.Select(chosen, x, _lane_of(rest, k, loc), held.lane, loc))
        else:
            name = cx.temporary(held.lane)
            cx.out.append(ir.Assign(name, _lane_of(rest, k, loc), loc))
            body = (*emitted, ir.Assign(name, x, loc))
            cx.out.append(ir.If(lane(mask, k, loc), body, loc=loc))
            numbers.append(ir.Var(name, held.lane, loc))
    return converted(cx, packed(cx, numbers, held, loc), t, loc)


def _lane_of(v: Any, k: int, loc: Loc) -> ir.Expr:
    if isinstance(v, ir.Const) and isinstance(v.type, Vector):
        return ir.Const(v.value, v.type.lane, loc)
    return lane(v, k, loc)


@METHODS.of("store", "scatter")
def _store(cx: Context, call: Call) -> Obj:
    v: Any = call.owner
    loc = call.loc
    what = "index" if call.name == "store" else "indices"
    view, index, mask = _arguments(call, ("view", what, "mask"), 2)
    lanes = v.type.lanes
    mask = None if mask is None else cx.keep(given_mask(mask, lanes, loc))
    base = view.base if isinstance(view, ViewRef) else view
    if isinstance(base, ir.Var) and isinstance(base.type, ViewTy):
        writable(base, loc)
    places = _places(cx, view, _keys(cx, index, lanes, call), call)
    element: Scalar = places[0].type
    if element.name in _LANES and not element.storage:
        v = converted(cx, v, Vector(element.name, lanes=lanes), loc)
    v = cx.keep(v)
    for k, place in enumerate(places):
        with cx.collecting() as emitted:
            cx.out.append(store(cx, place, _lane_of(v, k, loc), loc, loc))
        cx.out += emitted if mask is None else [ir.If(lane(mask, k, loc), tuple(emitted), loc=loc)]
    return Obj(None, "None")

"""Rules of indexing: elements and parts of Views, and items of tuples."""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace
from execspace import ALL, View
from execspace.views.arrays import advice

from ... import ir
from ...frontend import hir
from ...ir.diagnostics import Loc, type_fault
from ...ir.types import INDEX, Record, Scalar, ViewTy, real_part
from ..context import CALLS, EXPRESSIONS, Call, Context
from ..value_queries import extents, is_vector, is_view, scalar, whole
from ..value_types import describe, shown
from ..values import (
    Chosen,
    Fixed,
    Obj,
    Place,
    Span,
    StructValue,
    TupleValue,
    Value,
    ViewPart,
    ViewRef,
)
from .memory import read
from .records import within
from .slices import base_index, between, sliced


def _holds_views(value: Any) -> bool:
    """Whether it is a View, or a container of Views, that a kernel cannot access."""
    if isinstance(value, list | tuple):
        return any(map(_holds_views, value))
    if isinstance(value, dict):
        return any(map(_holds_views, value.values()))
    return isinstance(value, View | np.ndarray)


@EXPRESSIONS.of(hir.Subscript)
def _subscript(cx: Context, e: hir.Subscript) -> Value:
    return read(cx, indexed(cx, e), e.loc)


def indexed(cx: Context, e: hir.Subscript) -> Value | Place:
    """`base[...]`: an element, a part of a View, or an item of a tuple."""
    slots: list[hir.Expr] = [e.base]
    for part in e.indices:
        slots += hir.children(part) if isinstance(part, hir.Slice) else (part,)
    values = cx.operands(slots)
    base = values[0]
    rest = iter(values[1:])
    keys: list[Value | tuple[Value | None, ...]] = []
    for part in e.indices:
        if isinstance(part, hir.Slice):
            ends = (part.start, part.stop, part.step)
            keys.append(tuple(None if x is None else next(rest) for x in ends))
        else:
            keys.append(next(rest))
    locs = [part.loc for part in e.indices]
    if len(keys) == 1 and isinstance(keys[0], TupleValue) and not isinstance(base, StructValue):
        locs = locs * len(keys[0].items)
        keys = list(keys[0].items)
    return _indexed(cx, base, keys, locs, e.loc)


def _indexed(cx: Context, base: Value, keys: list[Any], locs: list[Loc], loc: Loc) -> Value | Place:
    """A value that is indexed with one key for each dimension."""
    if isinstance(base, TupleValue):
        return _item(cx, base, keys, loc)
    if isinstance(base, StructValue):
        from .objects import item_of  # loaded by kernels that get such

        return item_of(base, keys, loc)
    if isinstance(base, ViewPart):
        return _part_of_number(_indexed(cx, base.view, keys, locs, loc), base.name, loc)
    if isinstance(base, Chosen):
        from .chosen import of_each_option  # loaded by kernels that have such

        kept = [tuple(map(cx.keep, k)) if isinstance(k, tuple) else cx.keep(k) for k in keys]
        found: Value | Place = of_each_option(
            cx, base, lambda o: _indexed(cx, o, kept, locs, loc), loc
        )
        return found
    if isinstance(base, ViewRef) and base.field is not None:
        return within(cx, base, keys, locs, loc)
    if is_vector(base):
        from .simd_lanes import element  # loaded by kernels that have such

        return element(base, keys, loc)
    if not is_view(base):
        hint = "index Views, local arrays, tuples and records only"
        if isinstance(base, Obj) and _holds_views(base.value):
            hint = (
                "pass the tuple as an argument of the launch, or make them attributes "
                "of an object whose method is the kernel"
            )
        elif isinstance(base, Obj) and isinstance(base.value, list | dict | set):
            kind = type(base.value).__name__
            hint = f"make it a tuple, a NumPy array or a View, not a {kind}"
        elif isinstance(base, Obj) and (text := advice(base.value)):
            hint = text[0].lower() + text[1:].rstrip(".").replace("x.", f"{base.path}.")
        raise type_fault(loc, f"cannot index {describe(base)}", hint)
    return part_of(cx, base, keys, locs, loc)


def _part_of_number(found: Any, name: str, loc: Loc) -> Value | Place:
    """The real or imaginary part of an element, or of a part of a View of complex numbers."""
    if not isinstance(found, Place):
        return ViewPart(found, name)
    part = real_part(found.type)
    start = ir.Const(part.itemsize if name == "imag" else 0, INDEX, loc)
    return Place(found.view, found.indices, start, part)


def _item(cx: Context, base: TupleValue, keys: list[Any], loc: Loc) -> Value:
    if len(keys) != 1:
        raise type_fault(
            loc, f"a tuple takes one index, got {len(keys)}", "write t[0][1] for nested tuples"
        )
    index = None if isinstance(keys[0], tuple) else keys[0]
    if isinstance(index, ir.Expr) and not isinstance(index, ir.Const) and not is_vector(index):
        if isinstance(index.type, Scalar) and index.type.is_integer:
            from .chosen import item_at  # loaded by kernels that have such

            return item_at(cx, base, index, loc)
    if not isinstance(index, ir.Const) or not isinstance(index.value, int | np.integer):
        got = "a slice" if index is None else describe(index)
        raise type_fault(
            loc,
            f"the index of a tuple must be an integer, got {got}",
            "name its items one by one, or keep the numbers in es.local or a View",
        )
    if not -len(base.items) <= index.value < len(base.items):
        raise type_fault(
            loc,
            f"index {index.value} is outside {describe(base)}",
            f"its indices are 0 to {len(base.items) - 1}" if base.items else "it has no items",
        )
    return base.items[int(index.value)]


def part_of(
    cx: Context, base: Value, keys: list[Any], locs: list[Loc], loc: Loc
) -> ViewRef | Place:
    """Index a View or subview with one key for each of its dimensions."""
    ref = whole(base) if isinstance(base, ir.Var) else base
    assert isinstance(ref, ViewRef) and isinstance(ref.base.type, ViewTy)
    spans = ref.spans
    if len(keys) != len(spans):
        name = shown(ref.base) if isinstance(base, ir.Var) else "part"
        row = ", ".join(["i", *[":"] * (len(spans) - 1)])
        parts = 0 < len(keys) < len(spans)
        more = f"; a part of it is {name}[{row}]" if parts else ""
        raise type_fault(
            loc,
            f"{describe(base)} has rank {len(spans)}, got {len(keys)} "
            f"{'index' if len(keys) == 1 else 'indices'}",
            f"write {name}[{', '.join('ijklmnpq'[: len(spans)]) or '()'}]{more}",
        )
    dims: list[Fixed | Span] = []
    number = 0
    for d, dim in enumerate(ref.dims):
        if isinstance(dim, Fixed):
            dims.append(dim)
            continue
        key, at = keys[number], locs[number]
        if isinstance(key, tuple):
            dims.append(sliced(cx, dim, key, at))
        elif isinstance(key, Obj) and key.value is ALL:
            dims.append(dim)
        elif isinstance(key, TupleValue) and len(key.items) == 2:
            dims.append(between(cx, dim, *key.items, at))
        else:
            direct = ref.base if isinstance(base, ir.Var) else None
            dims.append(Fixed(base_index(cx, dim, key, base, number, direct, d, at)))
        number += 1
    part = ViewRef(ref.base, tuple(dims))
    if part.spans:
        return part
    indices = tuple(d.index for d in dims if isinstance(d, Fixed))
    if ref.base.type.mapped:
        indices = (_mapped_offset(cx, ref.base, indices, loc),)
        dims = [Fixed(indices[0])]
    element = ref.base.type.element
    if isinstance(element, Record):
        return ViewRef(ref.base, tuple(dims), element, ir.Const(0, INDEX, loc))
    return Place(ref.base, indices, None, element)


def _mapped_offset(cx: Context, view: ir.Var, indices: tuple[ir.Expr, ...], loc: Loc) -> ir.Expr:
    """Offset of an element by the function of the View's layout."""
    sizes = extents(view, loc)
    inside = tuple(ir.Op("bounded", pair, INDEX, loc) for pair in zip(indices, sizes, strict=True))
    assert isinstance(view.type, ViewTy)
    from .helper_calls import layout_call  # loaded by kernels that call helpers

    value = layout_call(cx, view.type.layout, (*inside, *sizes), loc)
    e = scalar(value, loc)
    if not e.type.is_integer:
        raise type_fault(
            loc,
            f"the layout of {describe(view)} gives an offset of {e.type}, expected an integer",
            "return an integer from its method offset: write // instead of /",
        )
    return cx.coerce(e, INDEX)  # type: ignore[no-any-return]


@CALLS.of(execspace.subview)
def _subview(cx: Context, call: Call) -> Value:
    args, loc = call.positional(), call.loc
    if not args or not is_view(args[0]):
        got = describe(args[0]) if args else "no arguments"
        raise type_fault(
            loc,
            f"es.subview takes a View first, got {got}",
            "write es.subview(A, i, es.ALL), or A[i, :]",
        )
    locs = [loc] * (len(args) - 1)
    return read(cx, part_of(cx, args[0], list(args[1:]), locs, loc), loc)

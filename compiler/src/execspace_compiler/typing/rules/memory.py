"""Loads and stores of elements, which for Views with the atomic trait are atomic operations."""

from __future__ import annotations

from ... import ir
from ...ir.diagnostics import Loc, type_fault
from ...ir.types import Scalar, ViewTy
from ..context import Context
from ..value_queries import scalar
from ..value_types import describe, shown
from ..values import Chosen, ItemOf, Place, Value, is_atomic
from .atomic_elements import check_aligned, emit_atomic
from .storage import narrowed, widened


def load(cx: Context, place: Place, loc: Loc) -> ir.Expr:
    """The number at a place; loaded atomically from a View with the atomic trait."""
    if is_atomic(place):
        check_aligned(place, loc)
        found = emit_atomic(cx, "load", place, (), loc, "old")
        assert found is not None
        return found
    if place.type.storage:
        word = Scalar(place.type.name)
        bits = ir.Load(place.view, place.indices, word, loc, place.byte)
        return widened(cx, bits, place.type.storage, loc)
    return ir.Load(place.view, place.indices, place.type, loc, place.byte)


def read(cx: Context, found: Value | Place, loc: Loc) -> Value:
    """The number at a place; other values are returned unchanged."""
    if isinstance(found, Chosen):
        from .chosen import of_each_option  # loaded by kernels that have such

        value: Value = of_each_option(cx, found, lambda o: read(cx, o, loc), loc)
        return value
    if isinstance(found, ItemOf):
        from .objects import call_method  # loaded by kernels that get such

        return call_method(cx, found.owner, "__getitem__", (found.key,), loc)
    return load(cx, found, loc) if isinstance(found, Place) else found


def store(cx: Context, place: Place, value: Value, loc: Loc, at: Loc) -> ir.Stmt:
    """Store a number, converted to the type of the element; `at` locates the number."""
    e = scalar(value, at)
    if e.type.kind == "c" and place.type.kind != "c":
        what = f"{describe(place.view)} of {place.type}"
        if place.byte is not None:
            what = f"a field of {place.type} in {describe(place.view)}"
        hint = "take its .real or abs() first"
        raise type_fault(at, f"cannot store {e.type} into {what}", hint)
    if place.type.storage:
        if is_atomic(place):
            check_aligned(place, loc)
        bits = narrowed(cx, e, place.type.storage, at)
        return ir.Store(place.view, place.indices, bits, loc, place.byte)
    converted = cx.coerce(e, place.type)
    if is_atomic(place):
        check_aligned(place, loc)
        return ir.Atomic(
            None, "store", place.view, place.indices, place.type, (converted,), "old", loc,
            place.byte,
        )  # fmt: skip
    return ir.Store(place.view, place.indices, converted, loc, place.byte)


def writable(view: ir.Var, loc: Loc) -> None:
    """A fault for a read-only View."""
    if isinstance(view.type, ViewTy) and view.type.readonly:
        raise type_fault(
            loc,
            f"View '{shown(view)}' is read-only",
            "store into another View, or launch with a writable array (es.InOut, not es.In)",
        )

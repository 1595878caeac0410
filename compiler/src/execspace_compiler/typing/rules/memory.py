"""Loads and stores of elements, which for Views with the atomic trait are atomic operations."""

from __future__ import annotations

from ... import ir
from ...ir.diagnostics import Loc, type_fault
from ...ir.types import ViewTy
from ..context import Context
from ..values import Place, Value, describe, is_atomic, scalar, shown
from .atomics import atomic_step, check_aligned


def load(cx: Context, place: Place, loc: Loc) -> ir.Expr:
    """The number at a place; of a View with the atomic trait by an atomic operation."""
    if is_atomic(place):
        check_aligned(place, loc)
        found = atomic_step(cx, "load", place, (), loc, "old")
        assert found is not None
        return found
    return ir.Load(place.view, place.indices, place.type, loc, place.byte)


def read(cx: Context, found: Value | Place, loc: Loc) -> Value:
    """A place as the number that is there."""
    return load(cx, found, loc) if isinstance(found, Place) else found


def store(cx: Context, place: Place, value: Value, loc: Loc, at: Loc) -> ir.Stmt:
    """Store a number, which stands `at` a place, converted to the type of the element."""
    e = scalar(value, at)
    if e.type.kind == "c" and place.type.kind != "c":
        what = f"{describe(place.view)} of {place.type}"
        if place.byte is not None:
            what = f"a field of {place.type} in {describe(place.view)}"
        hint = "take its .real or abs() first"
        raise type_fault(at, f"cannot store {e.type} into {what}", hint)
    converted = cx.coerce(e, place.type)
    if is_atomic(place):
        check_aligned(place, loc)
        return ir.Atomic(
            None, "store", place.view, place.indices, place.type, (converted,), "old", loc,
            place.byte,
        )  # fmt: skip
    return ir.Store(place.view, place.indices, converted, loc, place.byte)


def writable(view: ir.Var, loc: Loc) -> None:
    """A fault for a View that kernels may not store into."""
    if isinstance(view.type, ViewTy) and view.type.readonly:
        raise type_fault(
            loc,
            f"View '{shown(view)}' is read-only",
            "store into another View, or launch with a writable array",
        )

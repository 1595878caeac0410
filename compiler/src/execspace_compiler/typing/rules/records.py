"""Fields of records, and elements of fields that are arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import ir
from ...ir.diagnostics import Loc, counted, type_fault
from ...ir.types import INDEX, Element, Record, Scalar, SubArray, ViewTy
from ..context import Context
from ..values import Fixed, Obj, Place, Span, TupleValue, Value, ViewRef
from .memory import load
from .slices import add, base_index


def field_of(base: ViewRef, name: str, loc: Loc) -> ViewRef | Place:
    """`p[i].name`."""
    record = base.field
    if isinstance(record, SubArray):
        hint = "give an index for each of its dimensions: p[i].a[k]"
        raise type_fault(loc, f"an array field has no attribute '{name}'", hint)
    assert isinstance(record, Record) and base.byte is not None
    for field_name, offset, type in record.fields:
        if field_name == name:
            byte = add(base.byte, ir.Const(offset, INDEX, loc))
            return _at(base, type, byte)
    raise type_fault(
        loc,
        f"{record} has no field '{name}'",
        f"its fields are {', '.join(n for n, _, _ in record.fields)}",
    )


def _at(base: ViewRef, type: Element, byte: ir.Expr) -> ViewRef | Place:
    if isinstance(type, Scalar):
        indices = tuple(d.index for d in base.dims if isinstance(d, Fixed))
        return Place(base.base, indices, byte, type)
    return ViewRef(base.base, base.dims, type, byte)


def within(
    cx: Context, base: ViewRef, keys: list[Any], locs: list[Loc], loc: Loc
) -> ViewRef | Place:
    """An element of a field that is an array, or `p[i]["name"]`."""
    type, byte = base.field, base.byte
    assert type is not None and byte is not None
    if isinstance(type, Record):
        key = keys[0] if len(keys) == 1 else None
        if isinstance(key, Obj) and isinstance(key.value, str):
            return field_of(base, key.value, loc)
        raise type_fault(
            loc,
            f"{type} is indexed by the name of a field",
            f"its fields are {', '.join(n for n, _, _ in type.fields)}",
        )
    assert isinstance(type, SubArray)
    if len(keys) != len(type.shape) or any(isinstance(k, tuple) for k in keys):
        slices = any(isinstance(k, tuple) for k in keys)
        got = "a slice" if slices else counted(len(keys), "index").replace("indexs", "indices")
        raise type_fault(
            loc,
            f"the field {type} takes {counted(len(type.shape), 'integer')}, got {got}",
            "take its elements one by one",
        )
    size = type.element.itemsize
    strides = [size * int(np.prod(type.shape[d + 1 :])) for d in range(len(keys))]
    for d, (key, n, stride) in enumerate(zip(keys, type.shape, strides, strict=True)):
        dim = Span(ir.Const(0, INDEX, loc), stride, ir.Const(n, INDEX, loc))
        byte = add(byte, base_index(cx, dim, key, str(type), d, None, d, locs[d]))
    return _at(base, type.element, byte)


def leaves(ref: ViewRef, loc: Loc) -> list[Place]:
    """The numbers that a record consists of."""
    assert ref.field is not None and ref.byte is not None
    if isinstance(ref.field, Record):
        inner = [(offset, type) for _, offset, type in ref.field.fields]
    else:
        element = ref.field.element  # type: ignore[union-attr]
        count = ref.field.itemsize // element.itemsize
        inner = [(n * element.itemsize, element) for n in range(count)]
    found: list[Place] = []
    for offset, type in inner:
        at = _at(ref, type, add(ref.byte, ir.Const(offset, INDEX, loc)))
        found += [at] if isinstance(at, Place) else leaves(at, loc)
    return found


# -- records with a class of their own, see `es.Record` -------------------------------------------


def own_class(value: Value) -> Any:
    """The class of a record with operators; None for all else."""
    if isinstance(value, TupleValue):
        return value.own
    if isinstance(value, ViewRef) and isinstance(value.field, Record):
        return value.field.own
    return None


def is_atomic_record(place: ViewRef) -> bool:
    """Whether it is a record of a class, whole, of a View whose accesses are all atomic."""
    assert isinstance(place.base.type, ViewTy)
    whole = isinstance(place.byte, ir.Const) and place.byte.value == 0
    same = place.field == place.base.type.element
    return "atomic" in place.base.type.traits and whole and same and own_class(place) is not None


def record_value(cx: Context, ref: ViewRef, loc: Loc) -> TupleValue:
    """The numbers of such a record, read now."""
    record = ref.field
    assert isinstance(record, Record) and ref.byte is not None
    items: list[Value] = []
    for _, offset, type in record.fields:
        at = _at(ref, type, add(ref.byte, ir.Const(offset, INDEX, loc)))
        items.append(load(cx, at, loc) if isinstance(at, Place) else record_value(cx, at, loc))
    return TupleValue(tuple(items), tuple(n for n, _, _ in record.fields), record.own)


def value_if_own(cx: Context, value: Value, loc: Loc) -> Value:
    """The value of an element of a class with operators, also in a tuple; all else unchanged."""
    if isinstance(value, ViewRef) and own_class(value) is not None:
        return record_value(cx, value, loc)
    if isinstance(value, TupleValue):
        return value.of(tuple(value_if_own(cx, item, loc) for item in value.items))
    return value


def own_value_hint(value: Value) -> str:
    """What to do where a value is wanted, and not an element."""
    return "" if own_class(value) is None else "return its value, .copy(), or the index"

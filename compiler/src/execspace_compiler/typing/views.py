"""Typing of indexing: elements, subviews, fields of records, and local arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from execspace import ALL, View
from execspace.base.errors import DTypeError
from execspace.contract.dtypes import as_dtype
from execspace.views.arrays import advice

from .. import ir
from ..frontend import hir
from ..ir.diagnostics import Loc, counted, type_fault
from ..ir.types import BOOL, INDEX, Element, Record, Scalar, SubArray, ViewTy, element_of
from .calls import CallRules
from .values import (
    Fixed,
    Obj,
    Span,
    TupleValue,
    Value,
    ViewRef,
    constant_shape,
    describe,
    extent,
    is_view,
    scalar,
    shown,
    whole,
)


@dataclass(frozen=True, slots=True)
class Place:
    """An element in memory: what a store needs."""

    view: ir.Var
    indices: tuple[ir.Expr, ...]
    byte: ir.Expr | None
    type: Scalar


def is_atomic(place: Place) -> bool:
    """Whether each access to it is atomic."""
    return isinstance(place.view.type, ViewTy) and "atomic" in place.view.type.traits


def _holds_views(value: Any) -> bool:
    """Whether it is a View, or a container of such, that a kernel cannot get at."""
    if isinstance(value, list | tuple):
        return any(map(_holds_views, value))
    if isinstance(value, dict):
        return any(map(_holds_views, value.values()))
    return isinstance(value, View | np.ndarray)


class ViewRules(CallRules):
    """Indexing; FunctionTyper adds names and statements."""

    out: list[ir.Stmt]

    def value(self, e: hir.Expr) -> Value:
        """Value of any expression."""
        raise NotImplementedError

    def operands(self, exprs: Sequence[hir.Expr]) -> list[Value]:
        """Values of several expressions, in Python's order of evaluation."""
        raise NotImplementedError

    # -- indices ----------------------------------------------------------------------------

    def indexed(self, e: hir.Subscript) -> Value | Place:
        """What `base[...]` stands for: an element, a part of a View, or an item of a tuple."""
        slots: list[hir.Expr] = [e.base]
        for part in e.indices:
            slots += hir.children(part) if isinstance(part, hir.Slice) else (part,)
        values = self.operands(slots)
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
        if isinstance(base, TupleValue):
            return self._item(base, keys, e.loc)
        if isinstance(base, ViewRef) and base.field is not None:
            return self._within(base, keys, locs, e.loc)
        if not is_view(base):
            hint = "index Views, local arrays, tuples and records only"
            if isinstance(base, Obj) and _holds_views(base.value):
                hint = (
                    "give each View a name of its own before the launch, or make them attributes "
                    "of an object whose method is the kernel"
                )
            elif isinstance(base, Obj) and isinstance(base.value, list | dict | set):
                kind = type(base.value).__name__
                hint = f"make it a tuple, a NumPy array or a View, not a {kind}"
            elif isinstance(base, Obj) and (text := advice(base.value)):
                hint = text[0].lower() + text[1:].rstrip(".").replace("x.", f"{base.path}.")
            raise type_fault(e.loc, f"cannot index {describe(base)}", hint)
        return self.part_of(base, keys, locs, e.loc)

    def _item(self, base: TupleValue, keys: list[Any], loc: Loc) -> Value:
        if len(keys) != 1:
            raise type_fault(
                loc, f"a tuple takes one index, got {len(keys)}", "write t[0][1] for nested tuples"
            )
        index = None if isinstance(keys[0], tuple) else keys[0]
        if not isinstance(index, ir.Const) or not isinstance(index.value, int | np.integer):
            got = "a slice" if index is None else describe(index)
            raise type_fault(
                loc,
                f"the index of a tuple must be a constant integer, got {got}",
                "unpack it, or keep the numbers in es.local or a View",
            )
        if not -len(base.items) <= index.value < len(base.items):
            raise type_fault(
                loc,
                f"index {index.value} is outside {describe(base)}",
                f"its indices are 0 to {len(base.items) - 1}" if base.items else "it has no items",
            )
        return base.items[int(index.value)]

    def part_of(self, base: Value, keys: list[Any], locs: list[Loc], loc: Loc) -> ViewRef | Place:
        """A View or subview with one key for each of its dimensions."""
        ref = whole(base) if isinstance(base, ir.Var) else base
        assert isinstance(ref, ViewRef) and isinstance(ref.base.type, ViewTy)
        spans = ref.spans
        if len(keys) != len(spans):
            name = shown(ref.base) if isinstance(base, ir.Var) else "part"
            row = ", ".join(["i", *[":"] * (len(spans) - 1)])
            parts = 0 < len(keys) < len(spans) and not ref.base.type.mapped
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
                dims.append(self._sliced(dim, key, at))
            elif isinstance(key, Obj) and key.value is ALL:
                dims.append(dim)
            elif isinstance(key, TupleValue) and len(key.items) == 2:
                dims.append(self._between(dim, *key.items, at))
            else:
                direct = ref.base if isinstance(base, ir.Var) else None
                dims.append(Fixed(self._place(dim, key, base, number, direct, d, at)))
            number += 1
        part = ViewRef(ref.base, tuple(dims))
        mapped = ref.base.type.mapped
        if part.spans:
            if mapped:
                raise type_fault(
                    loc,
                    f"{describe(ref.base)} has a layout of its own, of which there are no subviews",
                    "index single elements, or copy it with es.deep_copy before the launch",
                )
            return part
        indices = tuple(d.index for d in dims if isinstance(d, Fixed))
        if mapped:
            indices = (self.mapped_offset(ref.base, indices, loc),)
            dims = [Fixed(indices[0])]
        element = ref.base.type.element
        if isinstance(element, Record):
            return ViewRef(ref.base, tuple(dims), element, ir.Const(0, INDEX, loc))
        return Place(ref.base, indices, None, element)

    def _place(
        self,
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
        if not number_given or not key.type.is_integer:  # type: ignore[union-attr]
            hint = "index with integers, slices and es.ALL"
            if number_given:
                hint = "convert it with int(...)"
            if number_given and key.type == BOOL:  # type: ignore[union-attr]
                hint = "use if: kernels have no boolean masks"
            name = what if isinstance(what, str) else describe(what)
            raise type_fault(
                loc, f"index {number} of {name} is {describe(key)}, expected an integer", hint
            )
        index: Any = key
        if isinstance(index, ir.Const) and index.value < 0:
            # Only a literal negative subscript counts from the end, as Python reads it.
            whole_extent = extent(direct, d, loc) if direct is not None else dim.extent
            index = self.add(whole_extent, ir.Const(int(index.value), INDEX, loc))
        index = self.coerce(index, INDEX)
        if direct is not None:
            return index  # type: ignore[no-any-return]
        checked = ir.Op("bounded", (index, dim.extent), INDEX.strong, loc)
        return self.add(dim.start, self.times(checked, dim.step))

    def mapped_offset(self, view: ir.Var, indices: tuple[ir.Expr, ...], loc: Loc) -> ir.Expr:
        """Offset of an element by the function of the View's layout."""
        extents = self.extents(view, loc)
        inside = tuple(
            ir.Op("bounded", pair, INDEX, loc) for pair in zip(indices, extents, strict=True)
        )
        assert isinstance(view.type, ViewTy)
        value = self.layout_call(view.type.layout, (*inside, *extents), loc)
        e = scalar(value, loc)
        if not e.type.is_integer:
            raise type_fault(
                loc,
                f"the layout of {describe(view)} gives an offset of {e.type}, expected an integer",
                "return an integer from its method offset: write // instead of /",
            )
        return self.coerce(e, INDEX)  # type: ignore[no-any-return]

    def layout_call(self, layout: str, args: tuple[ir.Expr, ...], loc: Loc) -> Value:
        """Call of the function of a layout."""
        raise NotImplementedError

    def add(self, a: ir.Expr, b: ir.Expr) -> ir.Expr:
        """Sum of two indices."""
        for x, y in ((a, b), (b, a)):
            if isinstance(x, ir.Const) and x.value == 0:
                return y
        if isinstance(a, ir.Const) and isinstance(b, ir.Const):
            return ir.Const(a.value + b.value, INDEX, a.loc)
        return ir.Op("add", (a, b), INDEX, a.loc)

    def times(self, a: ir.Expr, factor: int) -> ir.Expr:
        """An index times a constant."""
        if factor == 1:
            return a
        if isinstance(a, ir.Const):
            return ir.Const(a.value * factor, INDEX, a.loc)
        return ir.Op("mul", (a, ir.Const(factor, INDEX, a.loc)), INDEX, a.loc)

    def _sliced(self, dim: Span, ends: tuple[Any, ...], loc: Loc) -> Span:
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
        low, high = (0, n) if step > 0 else (-1, self.add(n, ir.Const(-1, INDEX, loc)))
        bottom = ir.Const(low, INDEX, loc)
        top = high if isinstance(high, ir.Expr) else ir.Const(high, INDEX, loc)
        start = self._bound(ends[0], n, bottom, top, loc, default=bottom if step > 0 else top)
        stop = self._bound(ends[1], n, bottom, top, loc, default=top if step > 0 else bottom)
        return Span(
            self.add(dim.start, self.times(self.stable(start), dim.step)),
            dim.step * step,
            self.stable(self._length(start, stop, step, loc)),
        )

    def _between(self, dim: Span, begin: Value, end: Value, loc: Loc) -> Span:
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
            past = self.add(most, ir.Const(1, INDEX, loc))
            most = self.stable(ir.Op("bounded", (self.coerce(e, INDEX), past), INDEX, loc))
            ends.insert(0, most)
        length = ir.Op("sub", (ends[1], ends[0]), INDEX, loc)
        start = self.add(dim.start, self.times(ends[0], dim.step))
        return Span(start, dim.step, self.stable(length))

    def _bound(
        self, end: Value | None, n: ir.Expr, low: ir.Expr, high: ir.Expr, loc: Loc, default: ir.Expr
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
        e = self.stable(self.coerce(e, INDEX))
        if not (isinstance(e, ir.Const) and e.value >= 0):
            negative = ir.Op("lt", (e, ir.Const(0, INDEX, loc)), BOOL, loc)
            e = self.stable(ir.Select(negative, ir.Op("add", (e, n), INDEX, loc), e, INDEX, loc))
            e = ir.Op("max", (e, low), INDEX, loc)
        return self.stable(ir.Op("min", (e, high), INDEX, loc))

    def _length(self, start: ir.Expr, stop: ir.Expr, step: int, loc: Loc) -> ir.Expr:
        if isinstance(start, ir.Const) and isinstance(stop, ir.Const):
            return ir.Const(len(range(start.value, stop.value, step)), INDEX, loc)
        a, b = (stop, start) if step > 0 else (start, stop)
        distance: ir.Expr = a
        if not (isinstance(b, ir.Const) and b.value == 0):
            distance = ir.Op("sub", (a, b), INDEX, loc)
        if abs(step) > 1:
            size = ir.Const(abs(step), INDEX, loc)
            more = self.add(distance, ir.Const(abs(step) - 1, INDEX, loc))
            distance = ir.Op("floordiv", (more, size), INDEX, loc)
        if isinstance(start, ir.Const) and start.value == 0 and isinstance(stop, ir.Extent):
            return distance
        return ir.Op("max", (distance, ir.Const(0, INDEX, loc)), INDEX, loc)

    def stable(self, e: ir.Expr) -> ir.Expr:
        """The same number in a form that later statements cannot change."""
        if isinstance(e, ir.Const | ir.Extent):
            return e
        return self.keep(e)  # type: ignore[no-any-return]

    def keep(self, value: Any) -> Any:
        """Put a value into temporaries."""
        raise NotImplementedError

    # -- fields of records --------------------------------------------------------------------

    def field(self, base: ViewRef, name: str, loc: Loc) -> ViewRef | Place:
        """`p[i].name`."""
        record = base.field
        assert isinstance(record, Record) and base.byte is not None
        for field_name, offset, type in record.fields:
            if field_name == name:
                byte = self.add(base.byte, ir.Const(offset, INDEX, loc))
                return self._at(base, type, byte)
        raise type_fault(
            loc,
            f"{record} has no field '{name}'",
            f"its fields are {', '.join(n for n, _, _ in record.fields)}",
        )

    def _at(self, base: ViewRef, type: Element, byte: ir.Expr) -> ViewRef | Place:
        if isinstance(type, Scalar):
            indices = tuple(d.index for d in base.dims if isinstance(d, Fixed))
            return Place(base.base, indices, byte, type)
        return ViewRef(base.base, base.dims, type, byte)

    def _within(self, base: ViewRef, keys: list[Any], locs: list[Loc], loc: Loc) -> ViewRef | Place:
        """An element of a field that is an array, or `p[i]["name"]`."""
        type, byte = base.field, base.byte
        assert type is not None and byte is not None
        if isinstance(type, Record):
            key = keys[0] if len(keys) == 1 else None
            if isinstance(key, Obj) and isinstance(key.value, str):
                return self.field(base, key.value, loc)
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
            byte = self.add(byte, self._place(dim, key, str(type), d, None, d, locs[d]))
        return self._at(base, type.element, byte)

    # -- loads and stores ---------------------------------------------------------------------

    def load(self, place: Place, loc: Loc) -> ir.Expr:
        """The number at a place; of a View with the atomic trait by an atomic step."""
        if is_atomic(place):
            self.check_aligned(place, loc)
            found = self.atomic("load", place, (), loc, "old")
            assert found is not None
            return found
        return ir.Load(place.view, place.indices, place.type, loc, place.byte)

    def read(self, found: Value | Place, loc: Loc) -> Value:
        """A place as the number that is there."""
        return self.load(found, loc) if isinstance(found, Place) else found

    def store(self, place: Place, value: Value, loc: Loc, at: Loc) -> ir.Stmt:
        """Store a number, which stands `at` a place, converted to the type of the element."""
        e = scalar(value, at)
        if e.type.kind == "c" and place.type.kind != "c":
            what = f"{describe(place.view)} of {place.type}"
            if place.byte is not None:
                what = f"a field of {place.type} in {describe(place.view)}"
            hint = "take its .real or abs() first"
            raise type_fault(at, f"cannot store {e.type} into {what}", hint)
        converted = self.coerce(e, place.type)
        if is_atomic(place):
            self.check_aligned(place, loc)
            return ir.Atomic(
                None, "store", place.view, place.indices, place.type, (converted,), "old", loc,
                place.byte,
            )  # fmt: skip
        return ir.Store(place.view, place.indices, converted, loc, place.byte)

    def writable(self, view: ir.Var, loc: Loc) -> None:
        """A fault for a View that kernels may not store into."""
        if isinstance(view.type, ViewTy) and view.type.readonly:
            raise type_fault(
                loc,
                f"View '{shown(view)}' is read-only",
                "store into another View, or launch with a writable array",
            )

    def atomic(
        self, op: str, place: Place, values: Sequence[ir.Expr], loc: Loc, fetch: str | None = None
    ) -> ir.Expr | None:
        """Emit an atomic step on an element; its old or new value if wanted."""
        raise NotImplementedError

    def check_aligned(self, place: Place, loc: Loc, op: str = "") -> None:
        """A fault for a number within a record that no atomic step can change."""
        raise NotImplementedError

    def temporary(self, type: Any) -> str:
        """A new variable."""
        raise NotImplementedError

    def leaves(self, ref: ViewRef, loc: Loc) -> list[Place]:
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
            at = self._at(ref, type, self.add(ref.byte, ir.Const(offset, INDEX, loc)))
            found += [at] if isinstance(at, Place) else self.leaves(at, loc)
        return found

    # -- local arrays -------------------------------------------------------------------------

    def local_type(self, args: Sequence[Value], loc: Loc) -> ViewTy:
        """Type of `es.local(shape, dtype)`."""
        if not 1 <= len(args) <= 2:
            raise type_fault(
                loc,
                f"es.local takes a shape and a dtype, got {counted(len(args), 'argument')}",
                "write es.local(3) or es.local((3, 3), es.float32)",
            )
        given = args[0].items if isinstance(args[0], TupleValue) else (args[0],)
        shape = constant_shape(given, loc)
        element: Element = Scalar("float64")
        if len(args) == 2:
            wanted: Any = args[1].value if isinstance(args[1], Obj) else None
            try:
                element = element_of(as_dtype(wanted))
            except DTypeError:
                got = repr(wanted) if isinstance(wanted, str) else describe(args[1])
                raise type_fault(
                    loc, f"es.local needs a dtype, got {got}", "write es.float64 or the like"
                ) from None
        assert not isinstance(element, SubArray)
        unit = len(shape) - 1 if shape else None
        return ViewTy(element, len(shape), "right", unit, False, shape)

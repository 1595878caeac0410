"""Rules of assignments: to variables, elements, records and tuples of these."""

from __future__ import annotations

from ... import ir
from ...frontend import hir
from ...ir.diagnostics import Loc, type_fault
from ...ir.ops import ATOMICS, OPERATOR_SIGNS
from ...ir.types import Record, ViewTy
from ..context import STATEMENTS, Context
from ..value_queries import is_vector, is_view, scalar
from ..value_types import describe, parts
from ..values import Chosen, ItemOf, Place, TupleValue, Value, ViewRef, is_atomic
from .atomic_elements import check_aligned, emit_atomic, of_element
from .attributes import member
from .binary_operators import compare_or_compute
from .memory import load, read, store, writable
from .operators import binary
from .records import is_atomic_record, leaves, own_class, value_if_own
from .variables import bind
from .views import indexed
from .whole_parts import assign_part

_SIGNS = frozenset(OPERATOR_SIGNS)
_Target = Place | ViewRef | Chosen | ItemOf


@STATEMENTS.of(hir.Assign)
def _assign(cx: Context, s: hir.Assign) -> None:
    assign(cx, s.target, cx.value(s.value), s.loc, s.value.loc)


def assign(cx: Context, target: hir.Expr, value: Value, loc: Loc, at: Loc) -> None:
    """Assign to a variable, an element, or item by item to a tuple; `at` locates the value."""
    match target:
        case hir.Local():
            bind(cx, target.name, value, target.loc)
            return
        case hir.Subscript() | hir.Attribute():
            with cx.collecting() as emitted:
                place = _place_of(cx, target)
            if emitted:  # Python evaluates the value first
                value = cx.keep(value)
                cx.out += emitted
            put(cx, place, value, loc, at)
            return
        case hir.Tuple():
            count = len(target.items)
            if not isinstance(value, TupleValue):
                hint = "unpack a tuple, or assign each variable on its own"
                if is_view(value):
                    hint = "assign the elements one by one: a, b = x[0], x[1]"
                raise type_fault(at, f"cannot unpack {describe(value)} into {count} targets", hint)
            if len(value.items) != count:
                raise type_fault(
                    at,
                    f"cannot unpack {describe(value)} into {count} targets",
                    "give one target for each item",
                )
            # All values are read before the first target changes: a, b = b, a.
            held = [cx.keep(item) for item in value.items]
            for part, item in zip(target.items, held, strict=True):
                assign(cx, part, item, loc, at)
            return
    raise AssertionError(f"no target: {target}")


def _place_of(cx: Context, target: hir.Subscript | hir.Attribute) -> _Target:
    """The element, record or part of a View that a target denotes."""
    found = indexed(cx, target) if isinstance(target, hir.Subscript) else member(cx, target)
    for one in found.options if isinstance(found, Chosen) else (found,):
        if isinstance(one, Place | ViewRef):
            writable(one.view if isinstance(one, Place) else one.base, target.loc)
    if isinstance(found, Place | ViewRef | ItemOf):
        return found
    if isinstance(found, Chosen) and isinstance(found.options[0], Place | ViewRef | ItemOf):
        return found
    if isinstance(target, hir.Subscript) and isinstance(found, ir.Op) and found.op == "lane":
        raise type_fault(
            target.loc,
            "cannot assign to a lane of a vector, which is a value",
            "choose lanes by a mask, np.where(mask, a, v), or make a vector: T.of(...)",
        )
    if isinstance(target, hir.Subscript):
        raise type_fault(
            target.loc,
            "cannot assign to an item of a tuple: tuples are fixed",
            "make a new tuple, or use es.local for a private array",
        )
    hint = "store into a View, or use a local variable; a record that is no element is made anew"
    if target.name in ("real", "imag"):
        hint = f"write z.{target.name}[i] = ... of a View; make a number anew: complex(x, z.imag)"
    raise type_fault(target.loc, f"cannot assign to the attribute '{target.name}'", hint)


def put(cx: Context, place: _Target, value: Value, loc: Loc, at: Loc) -> None:
    """Store a number in an element, a record in a record, or either in each of a part."""
    if isinstance(place, Chosen) or isinstance(value, Chosen):
        _put_chosen(cx, place, value, loc, at)
        return
    if isinstance(place, ItemOf):
        from .objects import call_method  # loaded by kernels that get such

        call_method(cx, place.owner, "__setitem__", (place.key, value), loc)
        return
    if isinstance(place, Place):
        cx.out.append(store(cx, place, value, loc, at))
        return
    if place.field is None:
        assign_part(cx, place, value, loc, at, lambda p, v: put(cx, p, v, loc, at))
        return
    own = own_class(place)
    if own is not None and own_class(value) is own:
        if is_atomic_record(place):
            from .atomic_steps import change_record  # loaded by kernels that have such

            change_record(cx, "store", place, (value,), None, loc)
            return
        value = cx.keep(value_if_own(cx, value, loc))
        for leaf, (_, number) in zip(leaves(place, loc), parts(value, ""), strict=True):
            cx.out.append(store(cx, leaf, number, loc, at))
        return
    if not isinstance(value, ViewRef) or value.field != place.field:
        hint = "store into its elements one by one"
        if own is not None:
            hint = f"make a record of it: {own.__name__}(...)"
        elif isinstance(place.field, Record):
            hint = f"store into its fields: {', '.join(n for n, _, _ in place.field.fields)}"
        raise type_fault(at, f"cannot store {describe(value)} into {place.field}", hint)
    loads = [cx.keep(load(cx, p, loc)) for p in leaves(value, loc)]
    for leaf, number in zip(leaves(place, loc), loads, strict=True):
        cx.out.append(store(cx, leaf, number, loc, at))


def _put_chosen(cx: Context, place: _Target, value: Value, loc: Loc, at: Loc) -> None:
    """Store where, or what, is chosen at run time."""
    from .chosen import for_each_option  # loaded by kernels that have such

    if isinstance(place, Chosen):
        kept = cx.keep(value)
        for_each_option(cx, place, lambda p: put(cx, p, kept, loc, at), loc)
    else:
        assert isinstance(value, Chosen)
        for_each_option(cx, value, lambda v: put(cx, place, v, loc, at), loc)


@STATEMENTS.of(hir.Update)
def _update(cx: Context, s: hir.Update) -> None:
    """Augmented assignment; the indices of an element are evaluated once."""
    if isinstance(s.target, hir.Local):
        old, value = cx.operands((s.target, s.value))
        own = own_class(old) is not None or own_class(value) is not None
        if own or is_vector(old) or is_vector(value):
            bind(cx, s.target.name, _own_operator(cx, s, old, value), s.loc)
            return
        result = binary(cx, s.op, scalar(old, s.loc), scalar(value, s.value.loc), s.loc)
        bind(cx, s.target.name, result, s.loc)
        return
    assert isinstance(s.target, hir.Subscript | hir.Attribute)
    place = _place_of(cx, s.target)
    if isinstance(place, ItemOf):
        _update_item(cx, s, place, None)
        return
    if isinstance(place, Chosen) or (isinstance(place, ViewRef) and place.field is None):
        emitted, right = cx.detached(s.value)
        if emitted:
            place = cx.keep(place)
            if isinstance(place, Chosen) and all(map(_is_plain, place.options)):
                old = cx.keep(read(cx, place, s.target.loc))  # Python reads the element first
                cx.out += emitted
                result = binary(cx, s.op, old, scalar(right, s.value.loc), s.loc)
                put(cx, place, result, s.loc, s.loc)
                return
            cx.out += emitted
        _update_part(cx, s, place, right)
        return
    if isinstance(place, ViewRef):
        if own_class(place) is not None:
            emitted, right = cx.detached(s.value)
            if emitted:
                place = cx.keep(place)
                cx.out += emitted
            _update_record(cx, s, place, right)
            return
        scalar(place, s.target.loc)
        raise AssertionError(f"a number: {place}")
    assert isinstance(place.view.type, ViewTy)
    atomic = is_atomic(place)
    if atomic:
        check_aligned(place, s.loc, s.op)
    kept = tuple(i if _pure(i) else cx.keep(i) for i in place.indices)
    byte = place.byte
    if byte is not None and not _pure(byte):
        byte = cx.keep(byte)
    place = Place(place.view, kept, byte, place.type)
    if atomic:
        _atomic_update(cx, s, place)
        return
    old = load(cx, place, s.target.loc)
    emitted, right = cx.detached(s.value)
    if emitted:  # Python reads the element first
        kept = tuple(cx.keep(i) for i in place.indices)
        place = Place(place.view, kept, cx.keep(byte), place.type)
        old = cx.keep(old)
        cx.out += emitted
    result = binary(cx, s.op, old, scalar(right, s.value.loc), s.loc)
    cx.out.append(store(cx, place, result, s.loc, s.loc))


def _update_record(cx: Context, s: hir.Update, place: ViewRef, right: Value) -> None:
    if is_atomic_record(place):
        from .atomic_steps import change_record  # loaded by kernels that have such

        change_record(cx, s.op, place, (right,), None, s.loc)
        return
    put(cx, place, _own_operator(cx, s, place, right), s.loc, s.loc)


def _own_operator(cx: Context, s: hir.Update, old: Value, value: Value) -> Value:
    """The operator of a class of records."""
    both = (s.target, s.value)
    return compare_or_compute(cx, s.op, old, value, hir.Operation(s.loc, s.op, both))


def _atomic_update(cx: Context, s: hir.Update, place: Place) -> None:
    """Augmented assignment to an element of a View with the atomic trait."""
    _check_atomic(s, place)
    emitted, right = cx.detached(s.value)
    if emitted:
        kept = tuple(cx.keep(i) for i in place.indices)
        place = Place(place.view, kept, cx.keep(place.byte), place.type)
        cx.out += emitted
    _change_atomically(cx, s, place, right)


def _change_atomically(cx: Context, s: hir.Update, place: Place, right: Value) -> None:
    value = of_element(cx, s.op, place.type, right, s.loc, s.value.loc)
    emit_atomic(cx, s.op, place, (value,), s.loc)


def _update_part(cx: Context, s: hir.Update, place: _Target, right: Value) -> None:
    """Augmented assignment to a part of a View, or to what is chosen at run time."""
    if isinstance(place, Chosen):
        from .chosen import for_each_option  # loaded by kernels that have such

        kept = cx.keep(right)
        for_each_option(cx, place, lambda p: _update_part(cx, s, p, kept), s.loc)
    elif isinstance(place, ViewRef) and place.field is None:
        at = s.value.loc
        assign_part(cx, place, right, s.loc, at, lambda p, v: _update_element(cx, s, p, v))
    elif isinstance(place, ItemOf):
        _update_item(cx, s, place, right)
    else:
        _update_element(cx, s, place, right)


def _update_item(cx: Context, s: hir.Update, item: ItemOf, right: Value | None) -> None:
    """Augmented assignment to an item of an object: both methods of its class."""
    item = ItemOf(item.owner, cx.keep(item.key))
    old = scalar(cx.keep(read(cx, item, s.target.loc)), s.target.loc)
    value = cx.value(s.value) if right is None else right
    put(cx, item, binary(cx, s.op, old, scalar(value, s.value.loc), s.loc), s.loc, s.loc)


def _update_element(cx: Context, s: hir.Update, place: Place | ViewRef, right: Value) -> None:
    """Augmented assignment to one element of a part of a View."""
    if isinstance(place, ViewRef):
        if own_class(place) is None:
            scalar(place, s.target.loc)
        _update_record(cx, s, place, right)
    elif is_atomic(place):
        check_aligned(place, s.loc, s.op)
        _check_atomic(s, place)
        _change_atomically(cx, s, place, right)
    else:
        old = load(cx, place, s.target.loc)
        result = binary(cx, s.op, old, scalar(right, s.value.loc), s.loc)
        cx.out.append(store(cx, place, result, s.loc, s.loc))


def _check_atomic(s: hir.Update, place: Place) -> None:
    if s.op not in ATOMICS:
        raise type_fault(
            s.loc,
            f"'{OPERATOR_SIGNS[s.op]}=' is not atomic, but {describe(place.view)} is",
            f"atomic are {', '.join(OPERATOR_SIGNS[o] + '=' for o in ATOMICS if o in _SIGNS)}",
        )


def _is_plain(place: Place | ViewRef) -> bool:
    """Whether it is an element that is not changed atomically."""
    return isinstance(place, Place) and not is_atomic(place)


def _pure(e: ir.Expr) -> bool:
    """Whether its value is the same if Views change between two evaluations."""
    return not isinstance(e, ir.Load | ir.Call) and all(_pure(a) for a in ir.operands(e))

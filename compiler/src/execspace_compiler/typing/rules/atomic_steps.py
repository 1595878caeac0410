"""Atomic steps of any function, and those on records: written in the language of kernels.

See `typing/words/atomics.py`. Loaded by kernels with atomic operations.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace
from types import FunctionType
from typing import Any

import execspace
from execspace.kernels import locks

from ... import ir
from ...ir.diagnostics import Fault, Loc, counted, type_fault
from ...ir.types import BOOL, INDEX, ViewTy
from ..context import CALLS, Call, Context
from ..value_queries import is_view, scalar
from ..value_types import describe
from ..values import Fixed, FunctionValue, Obj, Place, TupleValue, Value, ViewRef
from ..words import atomics
from .atomic_elements import LOCKS, of_element
from .memory import load, writable
from .records import own_class, record_value, value_if_own
from .storage import refuse_atomic
from .variables import variable
from .views import part_of

_OPERATORS: dict[str, Any] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
    "mod": operator.mod, "floordiv": operator.floordiv, "pow": operator.pow,
    "bitand": operator.and_, "bitor": operator.or_, "bitxor": operator.xor,
    "lshift": operator.lshift, "rshift": operator.rshift,
}  # fmt: skip
# What those above call, where a class may lack it.
_NEEDED: dict[str, tuple[Any, ...]] = {
    "min": (operator.lt,), "max": (operator.lt,), "nand": (operator.and_,),
}  # fmt: skip
_EFFECTS = (ir.Store, ir.Atomic, ir.Fail, ir.Print, ir.TeamStmt)
_WRITTEN: dict[str, Any] = {
    "min": atomics.least, "max": atomics.greatest, "nand": atomics.nand,
    "exchange": atomics.exchange, "store": atomics.exchange,
    "compare_exchange": atomics.compare_exchange,
}  # fmt: skip


def change_record(
    cx: Context, op: str, place: ViewRef, values: Sequence[Value], fetch: str | None, loc: Loc
) -> Value:
    """`es.atomic_add(A, i, record)` and its siblings, and `A[i] += record` of an atomic View."""
    own = own_class(place)
    if own is None:
        raise type_fault(
            loc,
            f"an atomic operation on elements of {place.field}, which have no values in kernels",
            "make the dtype a class of es.Record; or change fields one by one, of "
            'A.with_traits("atomic"): A[i].x += value',
        )
    if op == "load":
        return _under_lock(cx, atomics.load, (), place, (), loc)
    given = []
    for value in values:
        if own_class(value) is own:
            value = value_if_own(cx, value, loc)
        elif op in ("exchange", "store", "compare_exchange", "min", "max"):
            raise type_fault(
                loc,
                f"an atomic operation on elements of record {own.__name__} with {describe(value)}",
                f"make a record of it: {own.__name__}(...)",
            )
        given.append(value)
    value = given[0] if len(given) == 1 else TupleValue(tuple(given))
    assert isinstance(place.base.type, ViewTy)
    if op == "store" and place.base.type.shape is None:
        return _under_lock(cx, atomics.store, (), place, (value,), loc)
    with cx.collecting():  # faults are those of the user's line
        for needed in _NEEDED.get(op, ()):
            cx.call(Obj(needed, needed.__name__), (record_value(cx, place, loc), *given), {}, loc)
    name = _OPERATORS.get(op)
    step = _function(cx, _WRITTEN[op]) if name is None else Obj(name, f"operator.{name.__name__}")
    return _record_step(cx, step, place, value, fetch, loc)


def _record_step(
    cx: Context, step: Value, place: ViewRef, value: Value, fetch: str | None, loc: Loc
) -> Value:
    own = own_class(place)
    with cx.collecting() as emitted:  # faults are those of the user's line
        found = cx.call(step, (record_value(cx, place, loc), value), {}, loc)
    if own_class(found) is not own:
        raise type_fault(
            loc,
            f"an atomic step on record {own.__name__} gives {describe(found)}",
            f"return a record of it: {own.__name__}(...)",
        )
    new = ir.Const(fetch == "new", BOOL, loc)
    assert isinstance(place.base.type, ViewTy)
    if place.base.type.shape is not None:  # of one thread
        found = cx.call(_function(cx, atomics.own_record), (step, place, value, new), {}, loc)
    else:
        word = atomics.record if _is_plain(cx, emitted) else atomics.compared_record
        found = _under_lock(cx, word, (step,), place, (value,), loc, new)
    return found if fetch is not None else Obj(None, "None")


def _is_plain(cx: Context, body: Sequence[ir.Stmt]) -> bool:
    """Whether code only computes: it neither fails nor stores nor takes a lock."""
    functions = {f.name: f for f in cx.module.functions}
    bodies, seen = [tuple(body)], set()
    while bodies:
        part = bodies.pop()
        if any(isinstance(s, _EFFECTS) for s in ir.walk_statements(part)):
            return False
        for e in ir.walk_expressions(part):
            if isinstance(e, ir.Call) and e.function not in seen:
                seen.add(e.function)
                called = functions.get(e.function)
                if called is None or called.external is not None:
                    return False
                bodies.append(called.body)
    return True


def _under_lock(
    cx: Context, word: Any, step: tuple[Value, ...], place: ViewRef, value: tuple[Value, ...],
    loc: Loc, *new: Value,
) -> Value:  # fmt: skip
    """Call a word with the locks, and the number of the one that belongs to an element."""
    if LOCKS not in cx.types:
        raise locks.LocksWanted
    indices = tuple(d.index for d in place.dims if isinstance(d, Fixed))
    lock = ir.Beyond(place.base, indices, locks.COUNT, INDEX, loc)
    table = variable(cx, LOCKS, loc)
    args = (*step, _without_trait(place), *value, table, cx.keep(lock), *new)
    return cx.call(_function(cx, word), args, {}, loc)


def _without_trait(place: ViewRef) -> ViewRef:
    """An element whose accesses are plain, for what is done under a lock.

    The trait that it has instead tells the oracle that they do not race with others of this kind.
    """
    base = place.base
    assert isinstance(base.type, ViewTy)
    traits = (*(t for t in base.type.traits if t != "atomic"), "locked")
    return replace(place, base=ir.Var(base.name, replace(base.type, traits=traits), base.loc))


def _function(cx: Context, word: Any) -> FunctionValue:
    assert isinstance(word, FunctionType)
    return FunctionValue(cx.module.method(word), ())


# -- any function -------------------------------------------------------------------------------


def _check_result(cx: Context, name: str, place: Place, found: Value, loc: Loc) -> None:
    """A fault where the element cannot hold what a function gives."""
    try:
        of_element(cx, "exchange", place.type, found, loc, loc)
    except Fault:
        raise type_fault(
            loc,
            f"the function of {name} gives {describe(found)}, and the element is {place.type}",
            f"let it return es.{place.type}(...)",
        ) from None


@CALLS.of(execspace.atomic_fetch_oper, execspace.atomic_oper_fetch)
def _oper(cx: Context, call: Call) -> Value:
    args, loc = call.positional(), call.loc
    name = f"es.{call.target.__name__}"
    hint = f"write {name}(function, A, i, value)"
    if len(args) != 4:
        got = counted(len(args), "argument")
        raise type_fault(
            loc, f"{name} takes a function, a View, an index and a value, got {got}", hint
        )
    function, view, index, value = args
    if not is_view(view):
        raise type_fault(loc, f"{name} takes a View after the function, got {describe(view)}", hint)
    if isinstance(function, ir.Expr | TupleValue) or is_view(function):
        raise type_fault(loc, f"{name} takes a function first, got {describe(function)}", hint)
    keys = index.items if isinstance(index, TupleValue) else (index,)
    fetch = "new" if call.target is execspace.atomic_oper_fetch else "old"
    place = part_of(cx, view, list(keys), [loc] * len(keys), loc)
    if isinstance(place, Place):
        refuse_atomic(place, loc)
        writable(place.view, loc)
        with cx.collecting():  # faults are those of the user's line
            found = cx.call(function, (load(cx, place, loc), value), {}, loc)
            _check_result(cx, name, place, found, loc)
        new = ir.Const(fetch == "new", BOOL, loc)
        found = cx.call(_function(cx, atomics.number), (function, view, index, value, new), {}, loc)
        number: Value = cx.coerce(scalar(found, loc), place.type)
        return number
    if place.field is None:
        hint = "give an integer for each dimension"
        raise type_fault(loc, f"{name} changes one element, not {describe(place)}", hint)
    own = own_class(place)
    if own is None:
        return change_record(cx, "exchange", place, (value,), fetch, loc)
    writable(place.base, loc)
    value = value_if_own(cx, value, loc)
    return _record_step(cx, function, place, value, fetch, loc)

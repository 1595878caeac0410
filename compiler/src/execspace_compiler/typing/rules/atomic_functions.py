"""Rules of es.atomic_add and its siblings."""

from __future__ import annotations

from typing import Any

import execspace
from execspace.base.dataclass import dataclass

from ...ir.diagnostics import counted, type_fault
from ..context import CALLS, Call, Context
from ..value_queries import is_view
from ..value_types import describe
from ..values import Obj, Place, TupleValue, Value, ViewRef
from .atomic_elements import emit_atomic, of_element
from .atomic_steps import change_record
from .memory import writable
from .operators import constant
from .storage import refuse_atomic
from .views import part_of


@dataclass(frozen=True, slots=True)
class AtomicFunction:
    """Meaning of an atomic function: its operation, its values, and which value it returns."""

    op: str
    values: tuple[str, ...] = ("value",)
    fetch: str | None = None


def _atomic_functions() -> dict[Any, AtomicFunction]:
    ops = {
        "add": "add", "sub": "sub", "mul": "mul", "div": "truediv", "min": "min", "max": "max",
        "mod": "mod", "and": "bitand", "or": "bitor", "xor": "bitxor", "nand": "nand",
        "lshift": "lshift", "rshift": "rshift",
    }  # fmt: skip
    forms = {"atomic_{}": None, "atomic_fetch_{}": "old", "atomic_{}_fetch": "new"}
    found: dict[Any, AtomicFunction] = {}
    for form, fetch in forms.items():
        for name, op in ops.items():
            found[getattr(execspace, form.format(name))] = AtomicFunction(op, fetch=fetch)
        for name, op in (("inc", "add"), ("dec", "sub")):
            found[getattr(execspace, form.format(name))] = AtomicFunction(op, (), fetch)
    found[execspace.atomic_exchange] = AtomicFunction("exchange", fetch="old")
    both = ("expected value", "desired value")
    found[execspace.atomic_compare_exchange] = AtomicFunction("compare_exchange", both, "old")
    found[execspace.atomic_load] = AtomicFunction("load", (), "old")
    found[execspace.atomic_store] = AtomicFunction("store")
    return found


_FUNCTIONS = _atomic_functions()


@CALLS.of(*_FUNCTIONS)
def _atomic(cx: Context, call: Call) -> Value:
    args, loc = call.positional(), call.loc
    function, name = _FUNCTIONS[call.target], f"es.{call.target.__name__}"
    given = ["i", *(v.removesuffix(" value") for v in function.values)]
    hint = f"write {name}(A, {', '.join(given)})"
    if len(args) != 2 + len(function.values):
        what = ["a View", "an index", *(f"a{'n' * (v[0] in 'e')} {v}" for v in function.values)]
        takes = f"{', '.join(what[:-1])} and {what[-1]}"
        got = counted(len(args), "argument")
        raise type_fault(loc, f"{name} takes {takes}, got {got}", hint)
    view, index, *rest = args
    key = index.items if isinstance(index, TupleValue) else (index,)
    if not is_view(view):
        raise type_fault(loc, f"{name} takes a View first, got {describe(view)}", hint)
    place = part_of(cx, view, list(key), [loc] * len(key), loc)
    if isinstance(place, ViewRef) and place.field is not None:
        if function.op != "load":
            writable(place.base, loc)
        if function.op in ("add", "sub") and not function.values:
            rest = [constant(1, loc)]
        return change_record(cx, function.op, place, rest, function.fetch, loc)
    if not isinstance(place, Place):
        hint = "give an integer for each dimension"
        raise type_fault(loc, f"{name} changes a number, not {describe(place)}", hint)
    refuse_atomic(place, loc)
    if function.op != "load":
        writable(place.view, loc)
    if function.op == "truediv" and place.type.is_integer:
        function = AtomicFunction("floordiv", function.values, function.fetch)
    if function.op in ("add", "sub") and not function.values:
        rest = [constant(1, loc)]
    values = [of_element(cx, function.op, place.type, v, loc, loc) for v in rest]
    found = emit_atomic(cx, function.op, place, values, loc, function.fetch)
    return Obj(None, "None") if found is None else found

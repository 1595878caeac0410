"""Typing of atomic steps: es.atomic_add and its siblings, and Views with the atomic trait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import execspace

from .. import ir
from ..ir.diagnostics import Loc, counted, type_fault
from ..ir.ops import ATOMICS
from ..ir.types import PromotionError, Scalar, ViewTy, promote
from .captured_functions import FunctionCalls
from .rules.operators import constant
from .values import Obj, TupleValue, Value, describe, is_view, scalar
from .views import Place


@dataclass(frozen=True, slots=True)
class Word:
    """What an atomic function means: its operation, its values, and which value it returns."""

    op: str
    values: tuple[str, ...] = ("value",)
    fetch: str | None = None


def _words() -> dict[Any, Word]:
    ops = {
        "add": "add", "sub": "sub", "mul": "mul", "div": "truediv", "min": "min", "max": "max",
        "mod": "mod", "and": "bitand", "or": "bitor", "xor": "bitxor", "nand": "nand",
        "lshift": "lshift", "rshift": "rshift",
    }  # fmt: skip
    forms = {"atomic_{}": None, "atomic_fetch_{}": "old", "atomic_{}_fetch": "new"}
    found: dict[Any, Word] = {}
    for form, fetch in forms.items():
        for name, op in ops.items():
            found[getattr(execspace, form.format(name))] = Word(op, fetch=fetch)
        for name, op in (("inc", "add"), ("dec", "sub")):
            found[getattr(execspace, form.format(name))] = Word(op, (), fetch)
    found[execspace.atomic_exchange] = Word("exchange", fetch="old")
    both = ("expected value", "desired value")
    found[execspace.atomic_compare_exchange] = Word("compare_exchange", both, "old")
    found[execspace.atomic_load] = Word("load", (), "old")
    found[execspace.atomic_store] = Word("store")
    return found


ATOMIC_WORDS = _words()

_KINDS = {"b": "bools", "i": "integers", "f": "floats", "c": "complex numbers"}
_ALLOWED = {
    "add": "iufc", "sub": "iufc", "mul": "iufc", "truediv": "fc", "floordiv": "iuf", "mod": "iuf",
    "min": "iuf", "max": "iuf", "bitand": "biu", "bitor": "biu", "bitxor": "biu", "nand": "biu",
    "lshift": "iu", "rshift": "iu", "exchange": "biufc", "compare_exchange": "biufc",
    "load": "biufc", "store": "biufc",
}  # fmt: skip


class AtomicRules(FunctionCalls):
    """Atomic functions, and accesses to Views with the atomic trait."""

    def atomic_call(self, target: Any, args: Sequence[Value], loc: Loc) -> Value:
        """A call of an atomic function."""
        word, name = ATOMIC_WORDS[target], f"es.{target.__name__}"
        given = ["i", *(v.removesuffix(" value") for v in word.values)]
        hint = f"write {name}(A, {', '.join(given)})"
        if len(args) != 2 + len(word.values):
            what = ["a View", "an index", *(f"a{'n' * (v[0] in 'e')} {v}" for v in word.values)]
            takes = f"{', '.join(what[:-1])} and {what[-1]}"
            got = counted(len(args), "argument")
            raise type_fault(loc, f"{name} takes {takes}, got {got}", hint)
        view, index, *rest = args
        key = index.items if isinstance(index, TupleValue) else (index,)
        if not is_view(view):
            raise type_fault(loc, f"{name} takes a View first, got {describe(view)}", hint)
        place = self.part_of(view, list(key), [loc] * len(key), loc)
        if not isinstance(place, Place):
            hint = "give an integer for each dimension"
            if place.field is not None:
                hint = 'launch with A.with_traits("atomic") and change a field: A[i].x += value'
            raise type_fault(loc, f"{name} changes a number, not {describe(place)}", hint)
        if word.op != "load":
            self.writable(place.view, loc)
        if word.op == "truediv" and place.type.is_integer:
            word = Word("floordiv", word.values, word.fetch)
        if word.op in ("add", "sub") and not word.values:
            rest = [constant(1, loc)]
        values = [self.of_element(word.op, place.type, v, loc, loc) for v in rest]
        found = self.atomic(word.op, place, values, loc, word.fetch)
        return Obj(None, "None") if found is None else found

    def of_element(self, op: str, type: Scalar, value: Value, loc: Loc, at: Loc) -> Any:
        """The value of an atomic step, which stands `at` a place, in the type of the element."""
        _check_exists(op, type, loc)
        e = scalar(value, at)
        try:
            joined = promote(type, e.type)
        except PromotionError as error:
            message = f"an atomic step on {type} with {e.type}: {error}"
            raise type_fault(at, message, error.hint) from None
        if joined.strong != type.strong:
            raise type_fault(
                at,
                f"an atomic step on {type} with {e.type} would compute in {joined.strong}",
                f"convert the value: es.{type}(...)",
            )
        return self.coerce(e, type)

    def atomic(
        self, op: str, place: Place, values: Sequence[ir.Expr], loc: Loc, fetch: str | None = None
    ) -> ir.Expr | None:
        """Emit an atomic step on an element, given values of its type; its old or new value if
        wanted."""
        type = place.type
        if op in ("floordiv", "mod") and type.is_integer and _is_zero(values[0]):
            raise type_fault(
                loc,
                "integer division by zero",
                "divide by something else; 0.0 gives an infinity or a NaN",
            )
        name = None if fetch is None else self.temporary(type)
        step = ir.Atomic(
            name, op, place.view, place.indices, type, tuple(values), fetch or "old", loc,
            place.byte,
        )  # fmt: skip
        self.out.append(step)
        return None if name is None else ir.Var(name, type, loc)

    def check_aligned(self, place: Place, loc: Loc, op: str = "") -> None:
        """A fault for a number within a record that no atomic step `op` can change."""
        parts = place.type.name == "complex128" and op in ("add", "sub")  # as ir.Atomic.whole
        if place.byte is not None and not _aligned(place, not parts):
            raise type_fault(
                loc,
                f"the field of {place.type} is not aligned, so it cannot be changed atomically",
                "make the dtype with np.dtype(..., align=True)",
            )


def _check_exists(op: str, type: Scalar, loc: Loc) -> None:
    """A fault for an operation that elements of a type do not have."""
    allowed = _ALLOWED[op]
    if type.kind not in allowed:
        kinds = [_KINDS[k] for k in allowed if k != "u"]
        what = op if op in ("min", "max") else ATOMICS[op]
        raise type_fault(
            loc,
            f"there is no atomic {what!r} for elements of {type}",
            f"it exists for {' and '.join(', '.join(kinds).rsplit(', ', 1))}",
        )


def _is_zero(e: ir.Expr) -> bool:
    return isinstance(e, ir.Const) and e.value == 0


def _aligned(place: Place, whole: bool) -> bool:
    """Whether a number within a record lies at a multiple of its size, or that of its parts."""
    assert isinstance(place.view.type, ViewTy)
    size = place.type.itemsize // (1 if whole else 2)
    inside = place.byte is None or _is_multiple(place.byte, size)
    return inside and place.view.type.element.itemsize % size == 0


def _is_multiple(e: ir.Expr, size: int) -> bool:
    """Whether an offset is known to be a multiple of a size."""
    if isinstance(e, ir.Const):
        return bool(e.value % size == 0)
    if isinstance(e, ir.Op) and e.op in ("add", "mul"):
        found = [_is_multiple(a, size) for a in e.args]
        return all(found) if e.op == "add" else any(found)
    return size == 1

"""Atomic operations on elements: which types have which, and their operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from execspace.kernels.locks import TABLE

from ... import ir
from ...frontend.names import variable_name
from ...ir.diagnostics import Loc, type_fault
from ...ir.ops import ATOMICS
from ...ir.types import PromotionError, Scalar, ViewTy, promote
from ..context import Context
from ..value_queries import scalar
from ..values import Place, Value
from .storage import refuse_atomic

# The variable of the locks of records, in kernels that have them.
LOCKS = variable_name(TABLE)

_KINDS = {"b": "bools", "i": "integers", "f": "floats", "c": "complex numbers"}
_ALLOWED = {
    "add": "iufc", "sub": "iufc", "mul": "iufc", "truediv": "fc", "floordiv": "iuf", "mod": "iuf",
    "min": "iuf", "max": "iuf", "bitand": "biu", "bitor": "biu", "bitxor": "biu", "nand": "biu",
    "lshift": "iu", "rshift": "iu", "exchange": "biufc", "compare_exchange": "biufc",
    "load": "biufc", "store": "biufc",
}  # fmt: skip


def of_element(cx: Context, op: str, type: Scalar, value: Value, loc: Loc, at: Loc) -> Any:
    """An atomic operation's operand, converted to the type of the element; `at` locates it."""
    _check_exists(op, type, loc)
    e = scalar(value, at)
    try:
        joined = promote(type, e.type)
    except PromotionError as error:
        message = f"an atomic operation on {type} with {e.type}: {error}"
        raise type_fault(at, message, error.hint) from None
    if joined.strong != type.strong:
        raise type_fault(
            at,
            f"an atomic operation on {type} with {e.type} would compute in {joined.strong}",
            f"convert the value: es.{type}(...)",
        )
    return cx.coerce(e, type)


def emit_atomic(
    cx: Context,
    op: str,
    place: Place,
    values: Sequence[ir.Expr],
    loc: Loc,
    fetch: str | None = None,
) -> ir.Expr | None:
    """Emit an atomic operation on an element; returns its old or new value if `fetch` says so."""
    type = place.type
    if op in ("floordiv", "mod") and type.is_integer and _is_zero(values[0]):
        raise type_fault(
            loc,
            "integer division by zero",
            "divide by something else; 0.0 gives an infinity or a NaN",
        )
    name = None if fetch is None else cx.temporary(type)
    atomic = ir.Atomic(
        name, op, place.view, place.indices, type, tuple(values), fetch or "old", loc,
        place.byte,
    )  # fmt: skip
    cx.out.append(atomic)
    return None if name is None else ir.Var(name, type, loc)


def check_aligned(place: Place, loc: Loc, op: str = "") -> None:
    """A fault for a number that is not changed atomically: one of a storage type, or within a
    record and not aligned."""
    refuse_atomic(place, loc)
    parts = place.type.name == "complex128" and op in ("add", "sub")  # as ir.Atomic.indivisible
    if place.byte is not None and not _aligned(place, not parts):
        raise type_fault(
            loc,
            f"the field of {place.type} is not aligned, so it cannot be changed atomically",
            "make the dtype with np.dtype(..., align=True)",
        )


def _check_exists(op: str, type: Scalar, loc: Loc) -> None:
    """A fault for an operation that is not defined for elements of a type."""
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
    """Whether a number within a record is aligned to its size, or to that of its parts."""
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

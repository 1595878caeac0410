"""Elements of storage types: float32 once they are read, rounded once when they are stored."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from execspace.base.storage_types import FORMATS, pattern_of

from ... import ir
from ...ir.conversions import reading, rounding, to_odd
from ...ir.diagnostics import Loc, type_fault
from ...ir.types import FLOAT32, FLOAT64, INT64, UINT64, Scalar
from ..context import Context
from ..value_types import describe
from ..values import Place

_INSTEAD = "make its elements float32 or float16; bfloat16 and types of 8 bits only store numbers"


def refuse_atomic(place: Place, loc: Loc) -> None:
    """A fault for an atomic operation on an element of a storage type."""
    if place.type.storage:
        what = f"{describe(place.view)} of {place.type}"
        raise type_fault(loc, f"there are no atomic operations on elements of {what}", _INSTEAD)


def widened(cx: Context, e: ir.Expr, storage: str, loc: Loc) -> ir.Expr:
    """The float32 of an element that was loaded as its bits."""
    name = cx.module.conversion(
        f"_{storage}_as_float32", lambda name: reading(name, FORMATS[storage])
    )
    return ir.Call(name, (e,), FLOAT32, loc)


def narrowed(cx: Context, e: Any, storage: str, loc: Loc) -> ir.Expr:
    """Bits of the element that is nearest to a real number."""
    form = FORMATS[storage]
    word = Scalar(form.word)
    if isinstance(e, ir.Const):
        return ir.Const(pattern_of(_number(e), form), word, loc)
    source = e.type.strong
    if source.is_integer and source.bits >= 32:
        source = UINT64 if source == UINT64 else INT64
        name = cx.module.conversion(f"_{source}_as_odd", partial(to_odd, source=source))
        e = ir.Call(name, (cx.coerce(e, source),), FLOAT32, loc)
    elif source != FLOAT64:
        e = cx.coerce(e, FLOAT32)
    source = e.type.strong
    name = cx.module.conversion(
        f"_{source}_as_{storage}", lambda name: rounding(name, form, source)
    )
    return ir.Call(name, (e,), word, loc)


def _number(e: ir.Const) -> Any:
    """The number that a constant is: one of float32 may be written with more digits."""
    return np.dtype(e.type.name).type(e.value) if e.type.is_float else e.value

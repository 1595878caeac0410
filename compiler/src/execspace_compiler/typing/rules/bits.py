"""Numbers seen as others with the same bits: NumPy's `x.view(dtype)` of a scalar."""

from __future__ import annotations

import numpy as np

from execspace.contract.argtypes import SCALAR_TYPES
from execspace.contract.dtypes import NAMES

from ... import ir
from ...ir.diagnostics import type_fault
from ...ir.types import Scalar
from ..context import METHODS, Call, Context
from ..value_queries import scalar
from ..value_types import describe
from ..values import Obj, Value

_WORDS = {16: Scalar("uint16"), 32: Scalar("uint32"), 64: Scalar("uint64")}


@METHODS.of("view")
def _view(cx: Context, call: Call) -> Value:
    args, loc = call.positional(), call.loc
    if len(args) != 1:
        message = f"view takes 1 argument, got {len(args)}"
        raise type_fault(loc, message, "write x.view(es.int64)")
    e = scalar(call.owner, loc)
    to = number_type(args[0])
    if e.type.kind not in "iuf" or e.type.weak:
        made = {"f": "es.float64(x)", "i": "es.int64(x)"}.get(e.type.kind)
        hint = "integers and floats of fixed types have view"
        hint += f": {made} is one" if made and e.type.weak else ""
        raise type_fault(loc, f"{describe(e)} has no view", hint)
    if to is None or to.kind not in "iuf" or to.itemsize != e.type.itemsize:
        bits = e.type.bits
        kinds = ("int", "uint", "float") if bits in _WORDS else ("int", "uint")
        names = ", ".join(f"es.{kind}{bits}" for kind in kinds)
        hint = f"give a type of as many bytes: {names}"
        got = describe(args[0]) if to is None else str(to)
        raise type_fault(loc, f"cannot view {e.type} as {got}", hint)
    if to.is_float == e.type.is_float:
        return ir.Op("cast", (e,), to, loc) if to != e.type else e
    word = _WORDS[e.type.bits]
    if to.is_float:
        return ir.Op("bit_cast", (cx.coerce(e, word),), to, loc)
    found: Value = cx.coerce(ir.Op("bit_cast", (e,), word, loc), to)
    return found


def number_type(value: Value) -> Scalar | None:
    """That of `es.int64`, `np.int64` or `A.dtype`; None of what is no such type."""
    given = value.value if isinstance(value, Obj) else None
    if isinstance(given, np.dtype):
        return Scalar(given.name) if given.name in NAMES else None
    if not isinstance(given, type) or not issubclass(given, np.generic):
        return None
    name = given.__name__.rstrip("_")
    if name not in NAMES:  # np.longlong and the like have another name
        name = next((t.dtype for k, t in SCALAR_TYPES.items() if k is given), "")
    return Scalar(name) if name else None

"""What words of atomic operations do with a record as a whole, whatever its fields: see
`execspace.kernels.atomic_records`."""

from __future__ import annotations

from typing import Any

from execspace.kernels.atomic_records import same_bits, set_record

from ... import ir
from ...ir.types import BOOL, Scalar
from ..context import CALLS, Call, Context
from ..value_types import parts
from ..values import Obj, Value, ViewRef
from .assignments import put

_WORDS = {16: Scalar("uint16"), 32: Scalar("uint32"), 64: Scalar("uint64")}


@CALLS.of(set_record)
def _set_record(cx: Context, call: Call) -> Value:
    element, value = call.args
    assert isinstance(element, ViewRef)
    put(cx, element, value, call.loc, call.loc)
    return Obj(None, "None")


@CALLS.of(same_bits)
def _same_bits(cx: Context, call: Call) -> Value:
    """Whether two numbers or records of one type have the same bits."""
    a, b = ([v for _, v in parts(x, "")] for x in call.positional())
    found: Any = ir.Const(True, BOOL, call.loc)
    for x, y in zip(a, b, strict=True):
        for p, q in zip(_bits(x), _bits(y), strict=True):
            same: Any = ir.Op("eq", (p, q), BOOL, call.loc)
            first = isinstance(found, ir.Const)
            found = same if first else ir.Op("and", (found, same), BOOL, call.loc)
    result: Value = found
    return result


def _bits(x: Any) -> list[Any]:
    type = x.type.strong
    if type.kind == "c":
        real = Scalar("float32" if type.name == "complex64" else "float64")
        return [w for part in ("real", "imag") for w in _bits(ir.Op(part, (x,), real, x.loc))]
    return [ir.Op("bit_cast", (x,), _WORDS[type.bits], x.loc)] if type.is_float else [x]

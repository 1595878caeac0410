"""Arithmetic of float16 in languages that have none, where a number of this type is its bits.

Operands are widened to float32, and a result is rounded. What only moves or selects numbers, or
changes their signs, works on the bits, so NaNs keep theirs.
"""

from __future__ import annotations

import numpy as np

from ... import ir
from ...ir.types import Scalar

_WIDE = Scalar("float32")


def is_float16(e: ir.Expr) -> bool:
    """Whether the value of an expression is a float16."""
    return isinstance(e.type, Scalar) and e.type.name == "float16"


def bits_of(value: float) -> str:
    """The bits of a number, as an integer of the language."""
    return hex(int(np.float16(value).view(np.uint16)))


def in_float32(e: ir.Op) -> ir.Op:
    """The same operation of float32. Operands that are no constants have no names there."""
    return ir.Op(e.op, tuple(map(_wide, e.args)), _WIDE if is_float16(e) else e.type)


def _wide(e: ir.Expr) -> ir.Expr:
    if not is_float16(e):
        return e
    if isinstance(e, ir.Const):
        return ir.Const(float(np.float16(e.value)), _WIDE)
    return ir.Var("", _WIDE)

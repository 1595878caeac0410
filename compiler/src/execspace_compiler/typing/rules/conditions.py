"""Conditions: the truth of what a kernel tests, which may be an object as well as a number."""

from __future__ import annotations

from contextlib import suppress
from enum import Enum

import numpy as np

from ... import ir
from ...frontend import hir
from ...ir.diagnostics import Loc, type_fault
from ...ir.types import BOOL
from ..context import EXPRESSIONS, Context
from ..value_queries import scalar
from ..value_types import describe
from ..values import FunctionValue, Obj, Value
from .operators import truth


def condition(cx: Context, e: hir.Expr) -> ir.Expr:
    """Value of a condition."""
    if isinstance(e, hir.Logical):
        value = EXPRESSIONS[hir.Logical](cx, e, as_test=True)
    else:
        value = cx.value(e)
    if isinstance(value, Obj | FunctionValue):
        return ir.Const(bool(known_truth(value, e.loc)), BOOL, e.loc)
    return truth(cx, scalar(value, e.loc), e.loc)


def known_truth(value: Value, loc: Loc) -> bool | None:
    """Truth of a constant; None for a number that is known at run time only."""
    if isinstance(value, FunctionValue):
        return True
    if isinstance(value, Obj):
        return _object_truth(value, loc)
    number = scalar(value, loc)
    return bool(number.value) if isinstance(number, ir.Const) else None


def _object_truth(value: Obj, loc: Loc) -> bool:
    """Truth of an object, if it cannot differ in later launches."""
    held = value.value
    kind = type(held)
    if held is None or isinstance(held, str | bytes | type | Enum | np.dtype):
        with suppress(Exception):  # a metaclass may raise anything
            return bool(held)
    elif not hasattr(kind, "__bool__") and not hasattr(kind, "__len__"):
        return True
    raise type_fault(
        loc,
        f"whether {describe(value)} is true may change, and no launch would notice",
        "test it before the launch, and let the kernel read the bool",
    )

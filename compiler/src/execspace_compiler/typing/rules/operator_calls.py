"""Operators that are called as functions, `operator.add(a, b)` and `abs(a)`, with records.

Loaded by kernels that have such.
"""

from __future__ import annotations

import operator

from ...frontend import hir
from ...ir.ops import CALLEES
from ..context import Call, Context
from ..values import Value
from .binary_operators import compare_or_compute
from .own_records import absolute, unary_operator


def operator_call(cx: Context, call: Call) -> Value | None:
    """A call with records of a class; None for functions that are no operators."""
    if call.target in (abs, operator.abs):
        return absolute(cx, call)
    args, callee = call.positional(), CALLEES.get(call.target)
    if callee is None or callee.rule != "operator" or len(args) not in callee.arity:
        return None
    if len(args) == 1:
        return unary_operator(cx, callee.op, args[0], call.loc)
    unknown = hir.Operation(call.loc, callee.op, ())
    return compare_or_compute(cx, callee.op, args[0], args[1], unknown)

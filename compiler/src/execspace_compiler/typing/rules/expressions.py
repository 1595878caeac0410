"""Rules of literals, tuples and operators.

Python evaluates from left to right and each operand once. Values are trees without side effects
where that makes no difference; where it does (a helper that stores into a View, say), statements
are emitted, and values computed before them are kept in temporaries.
"""

from __future__ import annotations

from ...frontend import hir
from ...ir.diagnostics import syntax_fault
from ..context import EXPRESSIONS, Context
from ..value_queries import is_vector, scalar
from ..values import TupleValue, Value
from .binary_operators import compare_or_compute
from .conditions import condition
from .operators import constant, unary
from .records import own_class


@EXPRESSIONS.of(hir.Constant)
def _constant(cx: Context, e: hir.Constant) -> Value:
    return constant(e.value, e.loc)


@EXPRESSIONS.of(hir.Undefined)
def _undefined(cx: Context, e: hir.Undefined) -> Value:
    raise syntax_fault(e.loc, e.message, e.hint)


@EXPRESSIONS.of(hir.Tuple)
def _tuple(cx: Context, e: hir.Tuple) -> Value:
    return TupleValue(tuple(cx.operands(e.items)))


@EXPRESSIONS.of(hir.Operation)
def _operation(cx: Context, e: hir.Operation) -> Value:
    """A unary or binary operator; iterative for long sums, whose first operands nest."""
    chain = [e]
    while len(chain[-1].args) == 2 and isinstance(chain[-1].args[0], hir.Operation):
        chain.append(chain[-1].args[0])
    last = chain.pop()
    values = [] if last.op == "not" else cx.operands(last.args)
    if not values:
        result = unary(cx, "not", condition(cx, last.args[0]), last.loc)
    elif len(values) == 1:
        result = _unary(cx, last.op, values[0], last)
    else:
        result = compare_or_compute(cx, last.op, values[0], values[1], last)
    for n, outer in enumerate(reversed(chain)):
        emitted, right = cx.detached(outer.args[1])
        if emitted:
            result = cx.keep(result)
            cx.out += emitted
        result = compare_or_compute(cx, outer.op, cx.limit_depth(result, n), right, outer)
    return result


def _unary(cx: Context, op: str, value: Value, e: hir.Operation) -> Value:
    if own_class(value) is not None:
        from .own_records import unary_operator  # loaded by kernels that have such

        return unary_operator(cx, op, value, e.loc)
    if is_vector(value):
        from .simd_lanes import unary_operator as of_vector  # loaded by kernels that have such

        return of_vector(cx, op, value, e.loc)
    return unary(cx, op, scalar(value, e.args[0].loc), e.loc)

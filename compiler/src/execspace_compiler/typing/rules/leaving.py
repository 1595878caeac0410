"""Rules of return and assert, which leave a function."""

from __future__ import annotations

from ... import ir
from ...frontend import hir
from ...ir.diagnostics import Loc, type_fault
from ...ir.types import (
    BOOL,
    INT64,
    PromotionError,
    Scalar,
    TupleTy,
    Type,
    Vector,
    flat_scalars,
    promote,
)
from ..context import STATEMENTS, Context
from ..value_queries import is_view, scalar
from ..value_types import describe, parts
from ..values import Chosen, FunctionValue, Obj, TupleValue, Value, ViewRef
from .conditions import condition
from .failing import failure, leave
from .records import own_value_hint, value_if_own


@STATEMENTS.of(hir.Return)
def _return(cx: Context, s: hir.Return) -> None:
    """Return from the function; the result type joins those of all returns."""
    value: Value = Obj(None, "None") if s.value is None else cx.value(s.value)
    nothing = isinstance(value, Obj) and value.value is None
    if nothing and (cx.returns or cx.result is not None):
        raise type_fault(
            s.loc,
            "this path returns nothing, another returns a value"
            if not cx.returns
            else "this path of a reduction kernel returns nothing",
            "return a value on every path"
            if not cx.returns
            else "return the contribution of each index, for example 0.0 where there is none",
        )
    if cx.returns is False and not nothing:
        if cx.function.is_lambda:
            if isinstance(value, ir.Call):
                cx.out.append(ir.Evaluate(value, s.loc))
            return
        raise type_fault(
            s.loc,
            f"a kernel of {'an array reduction' if cx.array else 'parallel_for'} returns "
            f"nothing, got {describe(value)}",
            "join it into the array, or leave out the shape of the reducer"
            if cx.array
            else "store results in a View, or launch it with parallel_reduce",
        )
    if nothing:
        cx.returns_nothing = True
        leave(cx, [], s.loc)
        return
    if cx.returns_nothing:
        raise type_fault(
            s.loc,
            f"this path of '{cx.function.name}' returns {describe(value)}, another returns nothing",
            "return a value on every path, or on none",
        )
    assert s.value is not None
    if cx.indices and not cx.returns_nothing:
        value = value_if_own(cx, value, s.value.loc)  # read at once by the reduction
    joined = _join_results(cx.result, _returned(value, s.value.loc, not cx.returns), s.value.loc)
    if joined != cx.result:
        cx.result = joined
        cx.changed = True
    numbers = [e for _, e in parts(value, "")]
    pairs = zip(numbers, flat_scalars(joined), strict=True)
    leave(cx, [cx.coerce(e, t) for e, t in pairs], s.loc)


@STATEMENTS.of(hir.Assert)
def _assert(cx: Context, s: hir.Assert) -> None:
    """assert: a failure is recorded, and this call of the kernel ends."""
    if not cx.fails:
        cx.fails = cx.changed = True
    test = condition(cx, s.test)
    code = ir.Const(cx.module.assertion(s.loc, s.message), INT64, s.loc)
    body = tuple(failure(cx, code, s.loc))
    if isinstance(test, ir.Const):
        cx.out += [] if test.value else body
        return
    cx.out.append(ir.If(ir.Op("not", (test,), BOOL, s.loc), body, loc=s.loc))


def _returned(value: Value, loc: Loc, helper: bool) -> Type:
    """Type of a result: a number, of a helper also a vector, or a tuple of such."""
    if isinstance(value, TupleValue):
        items = tuple(_returned(v, loc, helper) for v in value.items)
        return TupleTy(items, value.names, value.own)
    if is_view(value) or isinstance(value, FunctionValue | ViewRef | Chosen):
        raise type_fault(
            loc,
            f"cannot return {describe(value)}: only numbers and tuples of numbers are returned",
            "call it where it is needed"
            if isinstance(value, FunctionValue)
            else own_value_hint(value)
            or "return an element, or let the caller pass the View to store into",
        )
    if helper and isinstance(value, ir.Expr) and isinstance(value.type, Vector):
        return value.type
    e: ir.Expr = scalar(value, loc)
    return e.type


def _join_results(a: Type | None, b: Type, loc: Loc) -> Type:
    if a is None:
        return b
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        try:
            return promote(a, b)
        except PromotionError as error:
            message = f"this path returns {b}, another returns {a}: {error}"
            raise type_fault(loc, message, error.hint) from None
    if isinstance(a, TupleTy) and isinstance(b, TupleTy) and a.own is not b.own:
        raise type_fault(
            loc, f"this path returns {b}, another returns {a}", "return records of one class"
        )
    if isinstance(a, TupleTy) and isinstance(b, TupleTy) and len(a.items) == len(b.items):
        pairs = zip(a.items, b.items, strict=True)
        items = tuple(_join_results(x, y, loc) for x, y in pairs)
        return a.of(items) if a.names == b.names else TupleTy(items)
    raise type_fault(
        loc,
        f"this path returns {b}, another returns {a}",
        "return the same number of values on every path",
    )

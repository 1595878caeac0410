"""Rules of `a if t else b`, and, or, and chained comparisons.

The result has the common type of all operands, even if a constant decides. Operands that a constant
rules out are typed for that purpose only, without emitting code; one that has a fault is ignored.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from execspace.base.dataclass import dataclass

from ... import ir
from ...frontend import hir
from ...ir.diagnostics import Loc, type_fault
from ...ir.types import BOOL, INDEX, PromotionError, Scalar, promote
from ..context import EXPRESSIONS, Context
from ..value_queries import is_view, scalar
from ..value_types import describe
from ..values import FunctionValue, Obj, TupleValue, Value
from .binary_operators import compare_or_compute
from .conditions import condition, known_truth
from .operators import either, truth
from .records import own_class

_TOGETHER = 16  # operands of and/or that nest in each other


@dataclass(frozen=True, slots=True)
class _Operand:
    """An operand of and/or: statements that it needs first, and its value.

    `decides`: False for a constant that leaves the decision to later operands.
    """

    emitted: list[ir.Stmt]
    value: Any
    decides: bool = True


@EXPRESSIONS.of(hir.Chain)
def _chain(cx: Context, e: hir.Chain) -> Value:
    """`a < b < c`: later operands are evaluated only if the tests so far hold."""
    left, right = cx.operands(e.args[:2])
    right = cx.keep(right)
    operands: list[_Operand] = []
    emitted: list[ir.Stmt] = []
    for n, op in enumerate(e.ops):
        with cx.collecting(emitted):
            if n:
                left, right = right, cx.value(e.args[n + 1])
                if n + 1 < len(e.ops):
                    right = cx.keep(right)
            pair = hir.Operation(e.loc, op, e.args[n : n + 2])
            test: Any = compare_or_compute(cx, op, left, right, pair)
        if isinstance(test, ir.Const) and test.value and n + 1 < len(e.ops):
            continue  # its statements go to the next test
        operands.append(_Operand(emitted, test))
        emitted = []
        if isinstance(test, ir.Const) and not test.value:
            break
    return _all_or_any(cx, operands, "and", e.loc)  # type: ignore[no-any-return]


@EXPRESSIONS.of(hir.Logical)
def _logical(cx: Context, e: hir.Logical, as_test: bool = False) -> Value:
    """and/or: for bools a bool, otherwise the deciding operand, as in Python.

    `as_test`: only its truth matters, so that operands may be objects as well as numbers.
    """
    operands: list[_Operand] = []
    carried: list[ir.Stmt] = []
    ruled_out: list[Scalar] = []
    for n, operand in enumerate(e.args):
        last = n + 1 == len(e.args)
        with cx.collecting(carried) as emitted:
            value = condition(cx, operand) if as_test else cx.value(operand)
            known = None if last else known_truth(value, operand.loc)
        carried = []
        if known is not None and known == (e.op == "and"):
            if isinstance(value, ir.Const):
                operands.append(_Operand([], value, False))
            carried = emitted
            continue
        if last or known is not None:
            if not (isinstance(value, ir.Expr) and isinstance(value.type, Scalar)):
                return _object(cx, operands, value, emitted, e)
            operands.append(_Operand(emitted, value))
            rest = e.args[n + 1 :]
            ruled_out = [t for a in rest if (t := _ruled_out_type(cx, a)) is not None]
            break
        operands.append(_Operand(emitted, scalar(value, operand.loc)))
    return _all_or_any(cx, operands, e.op, e.loc, ruled_out)  # type: ignore[no-any-return]


def _object(
    cx: Context, operands: list[_Operand], value: Value, emitted: list[ir.Stmt], e: hir.Logical
) -> Value:
    """The value of and/or if it is not a number: operands before it must be constants."""
    before = next((r.value for r in operands if r.decides), None)
    if before is not None:
        raise type_fault(
            e.loc,
            f"'{e.op}' cannot choose between {describe(before)} and {describe(value)}",
            "choose between numbers; for the rest use if and else around whole statements",
        )
    cx.out += emitted
    return value


def _all_or_any(
    cx: Context, operands: list[_Operand], op: str, loc: Loc, ruled_out: list[Scalar] | None = None
) -> Any:
    """The operand that decides, converted to the common type."""
    if len(operands) <= _TOGETHER:
        return _nested(cx, operands, op, loc, ruled_out or [])
    parts = [operands[n : n + _TOGETHER] for n in range(0, len(operands), _TOGETHER)]
    held = []
    for n, part in enumerate(parts):
        own = ruled_out if n + 1 == len(parts) and ruled_out else []
        with cx.collecting() as emitted:
            value = _nested(cx, part, op, loc, own)
        held.append((emitted, value))
    type = held[-1][1].type
    for _, value in reversed(held[:-1]):
        type = _common(value.type, type, f"'{op}'", loc)
    name = cx.temporary(type)
    result = ir.Var(name, type, loc)
    for n, (emitted, value) in enumerate(held):
        body = [*emitted, ir.Assign(name, cx.coerce(value, type), loc)]
        if n:
            test = truth(cx, result, loc)
            if op == "or":
                test = ir.Op("not", (test,), BOOL, loc)
            body = [ir.If(test, tuple(body), loc=loc)]
        cx.out += body
    return result


def _nested(
    cx: Context, operands: list[_Operand], op: str, loc: Loc, ruled_out: list[Scalar]
) -> Any:
    *before, last = operands
    emitted, rest = last.emitted, last.value
    for type in reversed(ruled_out):
        rest = _widened(cx, rest, type)
    for row in reversed(before):
        value = row.value
        if not row.decides:
            rest = _widened(cx, rest, value.type)
            continue
        with cx.collecting(list(row.emitted)) as found:
            if value.type == BOOL and rest.type == BOOL:
                rest = _joined(cx, op, value, emitted, rest, loc)
            else:
                common = _common(value.type, rest.type, f"'{op}'", loc)
                value = cx.keep(value)
                test = truth(cx, value, loc)
                if op == "or":
                    test = ir.Op("not", (test,), BOOL, loc)
                rest, value = cx.coerce(rest, common), cx.coerce(value, common)
                rest = _choose(cx, test, common, emitted, rest, [], value, loc)
        emitted = found
    cx.out += emitted
    return rest


def _widened(cx: Context, e: Any, type: Scalar) -> Any:
    """A number converted to its common type with one that is ruled out, if there is one."""
    try:
        common = promote(e.type, type)
    except PromotionError:
        return e
    found = cx.coerce(e, common)
    return found if found.type == common else replace(found, type=common)


def _ruled_out_type(cx: Context, e: hir.Expr) -> Scalar | None:
    """Type of a number that a constant rules out; None if it is no number or has a fault."""
    value = cx.dry_run(e)
    known = isinstance(value, ir.Expr) and isinstance(value.type, Scalar)
    return value.type if known else None  # type: ignore[union-attr,return-value]


def _joined(
    cx: Context, op: str, first: Any, emitted: list[ir.Stmt], second: Any, loc: Loc
) -> ir.Expr:
    """and/or of two bools, the second of which may need statements."""
    if not emitted:
        return either(first, second, op, loc)  # type: ignore[no-any-return]
    name = cx.temporary(BOOL)
    cx.out.append(ir.Assign(name, first, loc))
    test: ir.Expr = ir.Var(name, BOOL, loc)
    if op == "or":
        test = ir.Op("not", (test,), BOOL, loc)
    body = (*emitted, ir.Assign(name, second, loc))
    cx.out.append(ir.If(test, body, loc=loc))
    return ir.Var(name, BOOL, loc)


@EXPRESSIONS.of(hir.Conditional)
def _conditional(cx: Context, e: hir.Conditional) -> Value:
    """`a if test else b`; of an operand that is ruled out, only the type matters."""
    test = condition(cx, e.test)
    outcome = cx.decide(e, test)
    if outcome is not None:
        chosen, other = (e.then, e.orelse) if outcome else (e.orelse, e.then)
        value = cx.value(chosen)
        return _as_common(cx, value, cx.dry_run(other))
    before, then = cx.detached(e.then)
    otherwise, orelse = cx.detached(e.orelse)
    places = (e.then.loc, e.orelse.loc)
    return _select(cx, test, before, then, otherwise, orelse, e.loc, places)


def _as_common(cx: Context, value: Value, other: Value | None) -> Value:
    """A value converted to its common type with one that is ruled out; tuples item by item."""
    if isinstance(value, TupleValue) and isinstance(other, TupleValue):
        if len(value.items) != len(other.items) or value.own is not other.own:
            return value
        pairs = zip(value.items, other.items, strict=True)
        return value.of(tuple(_as_common(cx, a, b) for a, b in pairs))
    for one in (value, other):
        if not (isinstance(one, ir.Expr) and isinstance(one.type, Scalar)):
            return value
    return _widened(cx, value, other.type)  # type: ignore[union-attr,arg-type,no-any-return]


def _common(a: Scalar, b: Scalar, what: str, loc: Loc) -> Scalar:
    try:
        return promote(a, b)
    except PromotionError as error:
        raise type_fault(loc, f"{what} of {a} and {b}: {error}", error.hint) from None


def _select(
    cx: Context,
    test: ir.Expr,
    before: list[ir.Stmt],
    then: Value,
    otherwise: list[ir.Stmt],
    orelse: Value,
    loc: Loc,
    places: tuple[Loc, Loc],
) -> Value:
    if isinstance(then, TupleValue) and isinstance(orelse, TupleValue):
        if len(then.items) != len(orelse.items) or then.own is not orelse.own:
            raise type_fault(
                loc,
                f"cannot choose between {describe(then)} and {describe(orelse)}",
                "give both the same number of items"
                if then.own is orelse.own
                else "choose between records of one class",
            )
        test = cx.keep(test)
        if before or otherwise:
            cx.out.append(ir.If(test, tuple(before), tuple(otherwise), loc))
        pairs = zip(then.items, orelse.items, strict=True)
        chosen = tuple(_select(cx, test, [], a, [], b, loc, places) for a, b in pairs)
        return then.of(chosen) if then.names == orelse.names else TupleValue(chosen)
    if type(then) is type(orelse) and isinstance(then, Obj | FunctionValue) and then == orelse:
        return then
    if not any(isinstance(v, ir.Expr) and not is_view(v) for v in (then, orelse)):
        from .chosen import can_be_chosen, choice  # loaded by kernels that have such

        if can_be_chosen(then) and can_be_chosen(orelse):
            test = cx.keep(test)
            if before or otherwise:
                cx.out.append(ir.If(test, tuple(before), tuple(otherwise), loc))
            which = ir.Select(test, ir.Const(0, INDEX), ir.Const(1, INDEX), INDEX, loc)
            return choice(cx, which, (then, orelse), loc)
    for value in (then, orelse):
        if not (isinstance(value, ir.Expr) and isinstance(value.type, Scalar)):
            hint = "choose between numbers, Views or functions; use if and else for the rest"
            if own_class(then) is not None and own_class(then) is own_class(orelse):
                hint = "choose between values, which are .copy() of elements"
            if Obj(None, "None") in (then, orelse):
                hint = "kernels compute with numbers; math.nan can stand for a missing one"
            raise type_fault(
                loc, f"cannot choose between {describe(then)} and {describe(orelse)}", hint
            )
    a, b = scalar(then, places[0]), scalar(orelse, places[1])
    common = _common(a.type, b.type, "the choice", loc)
    return _choose(
        cx, test, common, before, cx.coerce(a, common), otherwise, cx.coerce(b, common), loc
    )


def _choose(
    cx: Context,
    test: ir.Expr,
    type: Scalar,
    before: list[ir.Stmt],
    then: Any,
    otherwise: list[ir.Stmt],
    orelse: Any,
    loc: Loc,
) -> ir.Expr:
    """One of two numbers of the same type, each with statements that compute it."""
    if not before and not otherwise:
        return ir.Select(test, then, orelse, type, loc)
    name = cx.temporary(type)
    yes = (*before, ir.Assign(name, then, loc))
    no = (*otherwise, ir.Assign(name, orelse, loc))
    cx.out.append(ir.If(test, yes, no, loc))
    return ir.Var(name, type, loc)

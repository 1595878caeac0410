"""Operators on two values: numbers, tuples, and compile-time objects where supported."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import ir
from ...frontend import hir
from ...ir.diagnostics import Loc, type_fault
from ...ir.types import BOOL, PY_INT
from ..context import Context
from ..value_queries import is_vector, is_view, scalar
from ..value_types import describe
from ..values import Obj, TupleValue, Value
from .operators import binary, either, unary
from .records import own_class, value_if_own


def _compares_itself(value: Any) -> bool:
    """Whether it is an object that may be equal to a number, such as a Fraction."""
    own: Any = type(value).__eq__
    plain = value is None or isinstance(value, str | bytes | type | np.dtype)
    return not plain and own is not object.__eq__


_MOST_ITEMS = 10_000


def _refuse_long(count: int, loc: Loc) -> None:
    """Refuse long tuples, since code is emitted for each item."""
    if count > _MOST_ITEMS:
        raise type_fault(
            loc,
            f"the tuple has {count:,} items, more than {_MOST_ITEMS:,}",
            "keep the numbers in es.local or a View",
        )


def compare_or_compute(cx: Context, op: str, a: Value, b: Value, e: hir.Operation) -> Value:
    """An operator on two values: numbers; for comparisons also tuples and constants."""
    if op in ("is", "is_not"):
        if not (isinstance(a, Obj) and isinstance(b, Obj)):
            none = Obj(None, "None")
            if none in (a, b):  # a number, a View or a function is not None
                return ir.Const(op == "is_not", BOOL, e.loc)
            raise type_fault(
                e.loc,
                f"'is' compares with None only, got {describe(a)} and {describe(b)}",
                "compare numbers with ==",
            )
        return ir.Const((a.value is b.value) == (op == "is"), BOOL, e.loc)
    if own_class(a) is not None or own_class(b) is not None:
        from .own_records import operator  # loaded by kernels that have such

        found = operator(cx, op, a, b, e)
        if found is not None:
            return found
        if op in ("eq", "ne"):
            return _equal_records(cx, op, a, b, e)
    if is_vector(a) or is_vector(b):
        from .simd_lanes import operator as of_vectors  # loaded by kernels that have such

        return of_vectors(cx, op, a, b, e)
    if isinstance(a, TupleValue) and isinstance(b, TupleValue) and op == "add":
        _refuse_long(len(a.items) + len(b.items), e.loc)
        return TupleValue((*a.items, *b.items))
    for items, times in ((a, b), (b, a)):
        repeats = isinstance(times, ir.Const) and times.type == PY_INT and op == "mul"
        if isinstance(items, TupleValue) and isinstance(times, ir.Const) and repeats:
            _refuse_long(len(items.items) * times.value, e.loc)
            return TupleValue(items.items * times.value)
    if op in ("in", "not_in"):
        return _membership(cx, op, a, b, e)
    if op in ("eq", "ne"):
        if isinstance(a, Obj) and isinstance(b, Obj):
            if any(isinstance(v.value, list | dict | set | bytearray) for v in (a, b)):
                raise type_fault(
                    e.loc,
                    f"whether {describe(a)} equals {describe(b)} may change unnoticed",
                    "compare before the launch, and let the kernel read the bool",
                )
            return ir.Const((a.value == b.value) == (op == "eq"), BOOL, e.loc)
        for one in (a, b):
            if isinstance(one, Obj):
                if _compares_itself(one.value):
                    raise type_fault(
                        e.loc,
                        f"{describe(a)} and {describe(b)} are compared by a class of Python",
                        "compare before the launch, or convert it to a number there",
                    )
                return ir.Const(op == "ne", BOOL, e.loc)
        if isinstance(a, TupleValue) and isinstance(b, TupleValue):
            return _equal_tuples(cx, op, a, b, e)
    locs = [x.loc for x in e.args]
    return binary(cx, op, scalar(a, locs[0]), scalar(b, locs[-1]), e.loc)


def _membership(cx: Context, op: str, a: Value, b: Value, e: Any) -> Value:
    if isinstance(a, Obj) and isinstance(b, Obj) and isinstance(b.value, str):
        return ir.Const((str(a.value) in b.value) == (op == "in"), BOOL, e.loc)
    if not isinstance(b, TupleValue):
        hint = "compare with each number, joined with or"
        if is_view(b):
            hint = "compare with its elements in a loop over range"
        raise type_fault(e.loc, f"'in' needs a tuple, got {describe(b)}", hint)
    a = cx.keep(a)
    result: Any = ir.Const(False, BOOL, e.loc)
    for n, item in enumerate(b.items):
        result = cx.limit_depth(result, n)
        result = either(result, _equal(cx, a, item, e), "or", e.loc)
    return result if op == "in" else unary(cx, "not", result, e.loc)


def _equal(cx: Context, a: Value, b: Value, e: Any) -> Any:
    """Whether two items are equal: a bool, which vectors do not give."""
    return scalar(compare_or_compute(cx, "eq", a, b, e), e.loc)


def _equal_records(cx: Context, op: str, a: Value, b: Value, e: hir.Operation) -> Value:
    """`a == b` without an `__eq__`: all fields are equal; and `a != b` without a `__ne__`."""
    if op == "ne":
        return unary(cx, "not", scalar(compare_or_compute(cx, "eq", a, b, e), e.loc), e.loc)
    if own_class(a) is not own_class(b):
        return ir.Const(False, BOOL, e.loc)
    left, right = value_if_own(cx, a, e.loc), value_if_own(cx, b, e.loc)
    assert isinstance(left, TupleValue) and isinstance(right, TupleValue)
    return _equal_tuples(cx, op, left, right, e)


def _equal_tuples(cx: Context, op: str, a: TupleValue, b: TupleValue, e: Any) -> Value:
    if len(a.items) != len(b.items):
        return ir.Const(op == "ne", BOOL, e.loc)
    result: Any = ir.Const(True, BOOL, e.loc)
    for n, (x, y) in enumerate(zip(a.items, b.items, strict=True)):
        result = cx.limit_depth(result, n)
        result = either(result, _equal(cx, x, y, e), "and", e.loc)
    return result if op == "eq" else unary(cx, "not", result, e.loc)

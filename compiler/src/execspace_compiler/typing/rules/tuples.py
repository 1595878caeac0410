"""Rules of Python's functions on tuples: enumerate, zip, reversed, tuple, sum, any and all; and of
isinstance and type, which tell records with operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from execspace import Record

from ... import ir
from ...ir.diagnostics import Loc, type_fault
from ...ir.types import BOOL
from ..context import CALLS, Call, Context
from ..value_queries import is_view, scalar
from ..value_types import describe
from ..values import Obj, TupleValue, Value
from .operators import binary, constant, either, truth
from .records import own_class


def _items(call: Call) -> tuple[Value, ...]:
    """Items of the one tuple that a function takes."""
    return _tuples(call)[0]


def _tuples(call: Call) -> list[tuple[Value, ...]]:
    """Items of the tuples that a function takes; all but zip take one."""
    args, target = call.positional(), call.target
    other = [a for a in args if not isinstance(a, TupleValue)]
    if other or not args or (len(args) > 1 and target is not zip):
        got = " and ".join(map(describe, args)) or "no arguments"
        many = "tuples" if target is zip else "one tuple"
        hint = "loop over range(A.extent(0)) and index A in the loop"
        if any(map(is_view, args)) and target in (sum, any, all):
            hint = "go through the elements in a loop over range, or launch parallel_reduce"
        elif any(map(is_view, args)) and target is tuple:
            hint = "name its elements: (A[0], A[1]), or use a part of it: A[0:2]"
        elif not any(map(is_view, args)):
            hint = f"write {target.__name__}({'a, b' if target is zip else '(a, b, c)'})"
        raise type_fault(call.loc, f"{target.__name__} takes {many} in a kernel, got {got}", hint)
    return [a.items for a in args if isinstance(a, TupleValue)]


@CALLS.of(enumerate)
def _enumerate(cx: Context, call: Call) -> Value:
    pairs = enumerate(_items(call))
    return TupleValue(tuple(TupleValue((constant(n, call.loc), v)) for n, v in pairs))


@CALLS.of(zip)
def _zip(cx: Context, call: Call) -> Value:
    rest = _zip_keywords(call.args, call.keywords, call.loc)
    rows = zip(*_tuples(replace(call, keywords=rest)), strict=False)
    return TupleValue(tuple(TupleValue(row) for row in rows))


@CALLS.of(reversed)
def _reversed(cx: Context, call: Call) -> Value:
    return TupleValue(_items(call)[::-1])


@CALLS.of(tuple)
def _tuple(cx: Context, call: Call) -> Value:
    return TupleValue(_items(call))


@CALLS.of(sum)
def _sum(cx: Context, call: Call) -> Value:
    total: Value = constant(0, call.loc)
    for n, item in enumerate(_items(call)):
        number = scalar(cx.limit_depth(total, n), call.loc)
        total = binary(cx, "add", number, scalar(item, call.loc), call.loc)
    return total


@CALLS.of(any, all)
def _any_or_all(cx: Context, call: Call) -> Value:
    op, loc = "or" if call.target is any else "and", call.loc
    result: Value = constant(op == "and", loc)
    for n, item in enumerate(_items(call)):
        result = cx.limit_depth(result, n)
        result = either(result, truth(cx, scalar(item, loc), loc), op, loc)
    return result


@CALLS.of(isinstance)
def _is_instance(cx: Context, call: Call) -> Value:
    args = call.positional()
    kinds = args[1].items if len(args) == 2 and isinstance(args[1], TupleValue) else args[1:]
    known = [k.value for k in kinds if isinstance(k, Obj) and isinstance(k.value, type)]
    own = own_class(args[0]) if args else None
    classes = own is not None or all(issubclass(k, Record) for k in known)
    if len(args) != 2 or len(known) != len(kinds) or not classes:
        raise type_fault(
            call.loc,
            f"isinstance takes a value and classes of es.Record in a kernel, got "
            f"{' and '.join(map(describe, args)) or 'no arguments'}",
            "ask for the class of a record, isinstance(x, Dual); that of all else is known when a "
            "kernel is compiled",
        )
    return ir.Const(own is not None and issubclass(own, tuple(known)), BOOL, call.loc)


@CALLS.of(type)
def _type(cx: Context, call: Call) -> Value:
    args = call.positional()
    own = own_class(args[0]) if len(args) == 1 else None
    if own is None:
        raise type_fault(
            call.loc,
            f"type takes one record of a class of es.Record in a kernel, got "
            f"{' and '.join(map(describe, args)) or 'no arguments'}",
            "x.dtype is the type of the elements of a View",
        )
    return Obj(own, own.__name__)


def _zip_keywords(
    args: Sequence[Value], keywords: Mapping[str, Value], loc: Loc
) -> dict[str, Value]:
    """Keywords of zip without `strict`, which is checked here: lengths of tuples are known."""
    strict = keywords.get("strict", ir.Const(False, BOOL, loc))
    if not isinstance(strict, ir.Const):
        what = f"zip takes a constant strict, got {describe(strict)}"
        raise type_fault(loc, what, "write strict=True or strict=False")
    lengths = [len(a.items) for a in args if isinstance(a, TupleValue)]
    if strict.value and len(lengths) == len(args) and len(set(lengths)) > 1:
        got = " and ".join(map(describe, args))
        message = f"zip with strict=True takes tuples of one length, got {got}"
        raise type_fault(loc, message, "give tuples of one length, or leave strict out")
    return {k: v for k, v in keywords.items() if k != "strict"}

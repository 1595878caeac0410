"""What is chosen at run time: one of several Views, parts of Views, functions or objects.

Each use becomes a branch for each of them, `use(x if t else y)` an `if t: use(x)` and `else:
use(y)`; so no later pass knows of choices, and every View keeps its own type and layout.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import ir
from ...ir.diagnostics import Loc, type_fault
from ...ir.types import BOOL, INDEX, PromotionError, Scalar, Vector, promote
from ..context import CALLED, Call, Context
from ..value_queries import is_view, scalar
from ..value_types import describe
from ..values import Chosen, FunctionValue, Obj, StructValue, TupleValue, Value, ViewRef
from .failing import bounded

_MOST = 64  # items of a tuple that an index chooses from


def can_be_chosen(value: Value) -> bool:
    """Whether a choice between such values is possible; numbers have choices of their own."""
    if isinstance(value, ViewRef):
        return value.field is None
    if isinstance(value, Obj):
        return callable(value.value)
    return is_view(value) or isinstance(value, Chosen | FunctionValue | StructValue)


def choice(cx: Context, which: ir.Expr, options: Sequence[Any], loc: Loc) -> Value:
    """One of several values by its number; choices among them become one choice."""
    first = options[0]
    if all(type(o) is type(first) and o == first for o in options):
        same: Value = first
        return same
    ranks = {_rank(o) for option in options for o in _single(option)}
    if len(ranks) > 1:
        a, b = (next(o for o in options if _rank(_single(o)[0]) == r) for r in sorted(ranks)[:2])
        raise type_fault(
            loc,
            f"cannot choose between {describe(a)} and {describe(b)}",
            "choose between Views of one rank, between functions, or between objects",
        )
    number = cx.keep(cx.coerce(which, INDEX))
    if not any(isinstance(o, Chosen) for o in options):
        return Chosen(number, tuple(options))
    flat: list[Any] = []
    owns: list[ir.Expr] = []
    for o in options:
        start = ir.Const(len(flat), INDEX, loc)
        own: ir.Expr = start
        if isinstance(o, Chosen):
            own = ir.Op("add", (o.which, start), INDEX, loc)
        owns.append(own)
        flat += _single(o)
    found = owns[-1]
    for n in reversed(range(len(owns) - 1)):
        test = ir.Op("eq", (number, ir.Const(n, INDEX, loc)), BOOL, loc)
        found = ir.Select(test, owns[n], found, INDEX, loc)
    return Chosen(cx.keep(found), tuple(flat))


def _single(value: Any) -> tuple[Any, ...]:
    return value.options if isinstance(value, Chosen) else (value,)


def _rank(value: Any) -> str:
    """What values of a choice must share."""
    if isinstance(value, ViewRef):
        return f"View of rank {len(value.spans)}"
    if is_view(value):
        return f"View of rank {value.type.rank}"
    return "function" if isinstance(value, Obj | FunctionValue) else type(value).__name__


def for_each_option(cx: Context, chosen: Chosen, action: Callable[[Any], Any], loc: Loc) -> None:
    """Do something with the value that is chosen."""
    bodies, _ = cx.of_each(chosen.options, action)
    cx.branches(chosen.which, bodies, loc)


def of_each_option(cx: Context, chosen: Chosen, action: Callable[[Any], Any], loc: Loc) -> Any:
    """What is computed of the value that is chosen; numbers take their common type."""
    bodies, found = cx.of_each(chosen.options, action)
    first = found[0]
    if not any(bodies) and all(type(v) is type(first) and v == first for v in found):
        if not isinstance(first, ir.Expr) or isinstance(first, ir.Const):
            return first
    if all(map(_is_number, found)):
        return _joined(cx, chosen.which, bodies, found, loc)
    if all(isinstance(v, TupleValue) and v.own is first.own for v in found):
        if len({len(v.items) for v in found}) == 1:
            cx.branches(chosen.which, bodies, loc)
            rows = zip(*(v.items for v in found), strict=True)
            again = [Chosen(chosen.which, row) for row in rows]
            items = tuple(of_each_option(cx, c, lambda v: v, loc) for c in again)
            return first.of(items)
    if all(isinstance(v, Obj) and v == first for v in found):
        cx.branches(chosen.which, bodies, loc)
        return first
    cx.set_to_zero(bodies, loc)
    cx.branches(chosen.which, bodies, loc)
    if any(_is_number(v) or (isinstance(v, Obj) and not can_be_chosen(v)) for v in found):
        pairs = ((v, w) for v in found for w in found)
        a, b = next((v, w) for v, w in pairs if _is_number(v) != _is_number(w) or v != w)
        raise type_fault(
            loc,
            f"a choice gives {describe(a)} or {describe(b)}",
            "let each of what is chosen from give a number, or nothing",
        )
    return Chosen(chosen.which, tuple(found))


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, ir.Expr)
        and isinstance(value.type, Scalar)
        and not isinstance(value.type, Vector)
    )


def _joined(
    cx: Context, which: ir.Expr, bodies: Sequence[list[ir.Stmt]], found: Sequence[Any], loc: Loc
) -> ir.Expr:
    """The number of the branch that runs."""
    type = found[0].type
    for e in found[1:]:
        try:
            type = promote(type, e.type)
        except PromotionError as error:
            message = f"the choice of {type} and {e.type}: {error}"
            raise type_fault(loc, message, error.hint) from None
    simple = not any(bodies) and all(isinstance(e, ir.Const | ir.Var | ir.Extent) for e in found)
    if simple:
        return _select(which, [cx.coerce(e, type) for e in found], 0, type, loc)
    name = cx.temporary(type)
    full = [
        [*body, ir.Assign(name, cx.coerce(e, type), loc)]
        for body, e in zip(bodies, found, strict=True)
    ]
    cx.branches(which, full, loc)
    return ir.Var(name, type, loc)


def _select(
    which: ir.Expr, numbers: Sequence[ir.Expr], first: int, type: Scalar, loc: Loc
) -> ir.Expr:
    """The number at a place, by a binary search."""
    if len(numbers) == 1:
        return numbers[0]
    half = len(numbers) // 2
    below = ir.Op("lt", (which, ir.Const(first + half, INDEX, loc)), BOOL, loc)
    yes = _select(which, numbers[:half], first, type, loc)
    no = _select(which, numbers[half:], first + half, type, loc)
    return ir.Select(below, yes, no, type, loc)


def item_at(cx: Context, base: TupleValue, index: ir.Expr, loc: Loc) -> Value:
    """The item of a tuple at an index that is known at run time only."""
    count = len(base.items)
    if not 1 <= count <= _MOST:
        hint = "keep the numbers in es.local, or capture a NumPy array"
        raise type_fault(
            loc,
            f"an index that is no constant chooses from tuples of 1 to {_MOST} items, got "
            f"{describe(base)}",
            hint if count else "it has no items",
        )
    size = ir.Const(count, INDEX, loc)
    inside = bounded(cx, cx.coerce(index, INDEX), size, "the index of a tuple", loc)
    which = cx.keep(inside)
    if all(map(can_be_chosen, base.items)):
        return choice(cx, which, base.items, loc)
    if all(isinstance(v, TupleValue) for v in base.items):
        found: Value = of_each_option(cx, Chosen(which, base.items), lambda v: v, loc)
        return found
    numbers = [cx.stable(scalar(v, loc)) for v in base.items]
    return _joined(cx, which, [[] for _ in numbers], numbers, loc)


@CALLED.of(Chosen)
def _called(cx: Context, call: Call) -> Value:
    """A call of a function or method that is chosen."""
    chosen = call.function
    assert isinstance(chosen, Chosen)

    def call_one(option: Any) -> Value:
        return cx.call(option, call.args, call.keywords, call.loc)

    found: Value = of_each_option(cx, chosen, call_one, call.loc)
    return found


def called_with(cx: Context, call: Call) -> Value | None:
    """A call of a function of the library with a View that is chosen; None if it gets none."""
    place = next((n for n, a in enumerate(call.args) if isinstance(a, Chosen)), None)
    if place is None:
        return None
    chosen = call.args[place]
    assert isinstance(chosen, Chosen)

    def call_one(option: Any) -> Value:
        args = (*call.args[:place], option, *call.args[place + 1 :])
        return cx.call(call.function, args, call.keywords, call.loc)

    found: Value = of_each_option(cx, chosen, call_one, call.loc)
    return found

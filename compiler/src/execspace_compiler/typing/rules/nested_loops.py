"""Loops over nested ranges, whose iterations are distributed over the members of a team."""

from __future__ import annotations

from ... import ir
from ...frontend import hir
from ...ir.diagnostics import syntax_fault
from ...ir.types import INDEX
from ..context import Context
from ..values import NestedRange, TupleValue, Value
from .assignments import assign
from .teams import index_variables


def split_loop(cx: Context, s: hir.ForEach, items: NestedRange) -> None:
    """A for loop over a nested range."""
    for inner in hir.walk(s.body):
        if isinstance(inner, hir.Return):
            hint = "leave the kernel before or after the loop"
            raise syntax_fault(inner.loc, f"return in a loop over {items.name}", hint)
    if hir.breaks(s.body):
        hint = "skip what must not be done with if, or write a loop over range"
        message = f"break in a loop over {items.name}, whose iterations run at once"
        raise syntax_fault(s.loc, message, hint)
    names = index_variables(cx, items)
    values: list[Value] = [ir.Var(n, INDEX, s.target.loc) for n in names]
    item = values[0] if len(values) == 1 else TupleValue(tuple(values))
    with cx.collecting() as body:
        assign(cx, s.target, item, s.loc, s.items.loc)
        body += cx.body_of_loop(s.body)
    cx.nested_ranges[id(s)] = items.name
    cx.out.append(ir.Split(items.level, names, items.starts, items.stops, tuple(body), s.loc))

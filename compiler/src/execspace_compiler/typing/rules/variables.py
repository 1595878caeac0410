"""Rules of local variables."""

from __future__ import annotations

from ...ir.diagnostics import Loc, type_fault
from ..context import Context, Pending
from ..values import Value, rebuild


def variable(cx: Context, name: str, loc: Loc) -> Value:
    """Value of a local variable or parameter."""
    if name in cx.own:
        name = cx.own[name]
    elif name in cx.several:
        hint = f"use '{loc.name(name)}' within the loop over the tuple, another name elsewhere"
        raise type_fault(loc, cx.several[name], hint)
    type = cx.types.get(name)
    if type is None:
        if cx.final:
            cx.unknown.setdefault(name, loc)
        raise Pending
    if name in cx.torn:
        raise Pending
    return rebuild(type, name, loc)

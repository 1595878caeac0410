"""es.local_deep_copy: a whole View or part of one is copied or filled by a thread or a team."""

from __future__ import annotations

from types import FunctionType

import execspace

from ... import ir
from ...ir.diagnostics import counted, type_fault
from ...ir.types import BOOL, ViewTy
from ..context import CALLS, Call, Context
from ..value_queries import is_view, whole
from ..value_types import describe
from ..values import FunctionValue, Obj, TeamValue, Value, ViewRef
from ..words import local_copies
from .assignments import put
from .memory import read, writable
from .views import part_of


@CALLS.of(execspace.local_deep_copy)
def _local_deep_copy(cx: Context, call: Call) -> Value:
    args, loc = call.positional(), call.loc
    if len(args) not in (2, 3):
        raise type_fault(
            loc,
            "es.local_deep_copy takes a destination and a source, got "
            f"{counted(len(args), 'argument')}",
            "write es.local_deep_copy(to, source), or with the team first",
        )
    if len(args) == 3 and not isinstance(args[0], TeamValue):
        raise type_fault(
            loc,
            f"es.local_deep_copy takes a team first of three arguments, got {describe(args[0])}",
            "write es.local_deep_copy(team, to, source)",
        )
    to, source = args[-2:]
    if not is_view(to) or (isinstance(to, ViewRef) and to.field is not None):
        raise type_fault(
            loc,
            f"es.local_deep_copy writes to a View, got {describe(to)}",
            "give the View or a part of it first: es.local_deep_copy(x[i, :], y[i, :])",
        )
    part = whole(to) if isinstance(to, ir.Var) else to
    assert isinstance(part, ViewRef) and isinstance(part.base.type, ViewTy)
    writable(part.base, loc)
    of_view = is_view(source)
    if len(args) == 3:
        left = ir.Const(part.base.type.layout == "left", BOOL, loc)
        function = local_copies.copy
        assert isinstance(function, FunctionType)
        copy = FunctionValue(cx.module.method(function), ())
        cx.call(copy, (args[0], to, source, ir.Const(of_view, BOOL, loc), left), {}, loc)
    elif part.spans:
        put(cx, part, source, loc, loc)
    else:
        place = part_of(cx, to, [], [], loc)
        number = read(cx, part_of(cx, source, [], [], loc), loc) if of_view else source
        put(cx, place, number, loc, loc)
    return Obj(None, "None")

"""Rules of what leaves a function: return, and assert."""

from __future__ import annotations

from ... import ir
from ...ir.diagnostics import Loc
from ...ir.types import INT64, flat_scalars
from ..context import Context


def leave(cx: Context, values: list[ir.Expr], loc: Loc, code: ir.Expr | None = None) -> None:
    """Return numbers, and in a helper with asserts the number of the one that failed."""
    if cx.fails and not cx.notes:
        values = [*values, code or ir.Const(0, INT64, loc)]
    if not values:
        cx.out.append(ir.Return(None, loc))
    elif len(values) == 1:
        cx.out.append(ir.Return(values[0], loc))
    else:
        cx.out.append(ir.Return(tuple(values), loc))


def failure(cx: Context, code: ir.Expr, loc: Loc) -> list[ir.Stmt]:
    """Statements that report a failed assertion and leave the function."""
    if cx.team is not None:
        return [ir.Fail(code, (cx.team.league_rank,), loc)]
    saved, cx.out = cx.out, []
    if cx.indices:
        cx.out.append(ir.Fail(code, cx.indices, loc))
    zeros = [cx.coerce(ir.Const(0, t.strong, loc), t) for t in flat_scalars(cx.result)]
    leave(cx, zeros, loc, code)
    found, cx.out = cx.out, saved
    return found

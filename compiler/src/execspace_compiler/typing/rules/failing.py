"""How calls end: what they return, and failures of assertions and of checks of indices."""

from __future__ import annotations

from ... import ir
from ...ir.diagnostics import Loc
from ...ir.types import BOOL, INDEX, INT64, flat_scalars
from ..context import Context


def leave(cx: Context, values: list[ir.Expr], loc: Loc, code: ir.Expr | None = None) -> None:
    """Return numbers; in a helper with asserts, also the number of the one that failed."""
    if cx.fails and not cx.records_failures:
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
    with cx.collecting() as found:
        if cx.indices:
            cx.out.append(ir.Fail(code, cx.indices, loc))
        zeros = [cx.coerce(ir.Const(0, t.strong, loc), t) for t in flat_scalars(cx.result)]
        leave(cx, zeros, loc, code)
    return found


def bounded(cx: Context, index: ir.Expr, extent: ir.Expr, what: str, loc: Loc) -> ir.Expr:
    """An index that the oracle checks, and under EXECSPACE_CHECK=bounds all spaces do."""
    if cx.module.checks_bounds:
        return checked_index(cx, index, extent, what, loc)
    return ir.Op("bounded", (index, extent), INDEX, loc)


def checked_index(cx: Context, index: ir.Expr, extent: ir.Expr, what: str, loc: Loc) -> ir.Expr:
    """An index that a failure is reported of where it is outside of an extent."""
    if isinstance(index, ir.Const) and isinstance(extent, ir.Const):
        if 0 <= index.value < extent.value:
            return index
    kept: ir.Expr = cx.keep(index)
    if not cx.fails:
        cx.fails = cx.changed = True
    code = ir.Const(cx.module.assertion(loc, f"{what} is out of bounds", bounds=True), INT64, loc)
    inside = ir.Op(
        "and",
        (
            ir.Op("ge", (kept, ir.Const(0, INDEX, loc)), BOOL, loc),
            ir.Op("lt", (kept, extent), BOOL, loc),
        ),
        BOOL,
        loc,
    )
    cx.out.append(ir.If(ir.Op("not", (inside,), BOOL, loc), tuple(failure(cx, code, loc)), loc=loc))
    return kept

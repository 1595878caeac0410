"""The innermost loop of a kernel in lanes: vectors of indices, the last one maybe in part."""

from __future__ import annotations

from .. import ir
from ..ir import Assign, Expr, For, If, Op, Stmt, integer, op, var
from ..ir.types import BOOL, INT64, Scalar, Vector, ViewTy
from ..spmd.form import LaneForm


def loop_in_lanes(
    locals_: dict[str, Scalar | ViewTy],
    passed: tuple[Expr, ...],
    d: int,
    first: Expr,
    last: Expr,
    form: LaneForm,
) -> Stmt:
    """A loop over `first <= i < last` in a dimension, a vector of indices at a time.

    `passed`: arguments of the kernel. Variables of the loop are added to `locals_`. Code for whole
    vectors has no masks, but takes as long again to compile; so only kernels get it that access
    Views so often that masks would cost.
    """
    lanes = form.lanes
    begin, end = f"_begin{d}", f"_end{d}"
    index = f"_i{d}"
    locals_ |= {n: INT64 for n in (begin, end)}
    kind, numbers = Vector("bool", lanes=lanes), Vector("int64", lanes=lanes)

    def call(mask: Expr) -> Stmt:
        return ir.Evaluate(ir.Call(form.body.name, (*passed, mask), INT64))

    each = Op("ramp", (ir.Const(0, INT64), ir.Const(1, INT64)), numbers)
    left = Op("broadcast", (op("sub", var(end), var(index)),), numbers)
    some = Op("lt", (each, left), kind)
    walk: list[Stmt] = [Assign(begin, first), Assign(end, last)]
    if form.accesses:
        whole = f"_whole{d}"
        locals_[whole] = INT64
        rest = op("truncmod", op("sub", var(end), var(begin)), integer(lanes))
        everyone = ir.Const(True, kind)
        walk += [
            Assign(whole, op("sub", var(end), rest)),
            For(index, var(begin), var(whole), integer(lanes), (call(everyone),)),
            If(op("lt", var(whole), var(end)), (Assign(index, var(whole)), call(some))),
        ]
    else:
        walk.append(For(index, var(begin), var(end), integer(lanes), (call(some),)))
    # A range may be empty, and its end before its begin.
    return If(Op("lt", (first, last), BOOL), tuple(walk))

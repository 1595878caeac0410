"""The innermost loop of a kernel in lanes: whole vectors of indices, then what is left of them."""

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

    `passed`: arguments of the kernel. Variables of the loop are added to `locals_`.
    """
    lanes = form.lanes
    begin, end, whole = f"_begin{d}", f"_end{d}", f"_whole{d}"
    locals_ |= {n: INT64 for n in (begin, end, whole)}
    everyone = ir.Const(True, Vector("bool", lanes=lanes))

    def call(mask: Expr) -> Stmt:
        return ir.Evaluate(ir.Call(form.body.name, (*passed, mask), INT64))

    count = op("sub", var(end), var(begin))
    rest = op("truncmod", count, integer(lanes))
    numbers = Vector("int64", lanes=lanes)
    each = Op("ramp", (ir.Const(0, INT64), ir.Const(1, INT64)), numbers)
    left = Op("broadcast", (op("sub", var(end), var(whole)),), numbers)
    some = Op("lt", (each, left), everyone.type)
    walk: tuple[Stmt, ...] = (
        Assign(begin, first),
        Assign(end, last),
        Assign(whole, op("sub", var(end), rest)),
        For(f"_i{d}", var(begin), var(whole), integer(lanes), (call(everyone),)),
        If(
            op("lt", var(whole), var(end)),
            (Assign(f"_i{d}", var(whole)), call(some)),
        ),
    )
    # A range may be empty, and its end before its begin.
    return If(Op("lt", (first, last), BOOL), walk)

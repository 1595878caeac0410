"""Scans over a range on hosts in lanes of vectors.

Contributions of neighbouring indices are computed at once, their prefixes one after the other, and
then what the kernel does with these at once again. So prefixes are those of a plain loop, to the
bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .. import ir
from ..ir import Expr, Stmt, Var, integer, op, var
from ..ir.types import Scalar, Vector, ViewTy
from ..passes.scan_parts import ScanParts
from ..reductions.running import lanes_from
from ..spmd.choice import Choice, Processor, chosen
from ..spmd.form import LaneForm, lane_form, program_of
from ..spmd.varying import NotVectorised
from .lanes import Turns, in_turn, over_vectors


def scan_choice(
    parts: ScanParts, called: Sequence[ir.Function], fastest: int, on: Processor, suffix: str = ""
) -> Choice:
    """How a scan runs: in lanes if that is worth it for one of its parts.

    `called`: functions that they call. `suffix`: of the names of forms, for each scan another one.
    Other parameters as those of `chosen`.
    """
    first, last = (*called, parts.contribution), (*called, parts.rest)
    if any(
        isinstance(s, ir.Fail) for f in (*first, parts.rest) for s in ir.walk_statements(f.body)
    ):
        # Calls that fail contribute nothing, and end before they have stored.
        return Choice(None, "it has assertions")
    own, behind = f"{suffix}__own", f"{suffix}__rest"
    given = len(parts.rest.parameters) - len(parts.contribution.parameters)
    choice = chosen(first, fastest, on, own)
    form = choice.form
    try:
        if form is None:
            varies = (None,) * given
            other = chosen(last, fastest, on, behind, last=varies)
            if other.form is None:
                return choice
            choice = other
            form = lane_form(program_of(first), fastest, other.form.lanes, own, on.contracts)
        results = form.findings.results
        live = results[len(results) - len(parts.live) :]
        steps = (*live, *((None,) * (given - len(live))))
        after = lane_form(program_of(last), fastest, form.lanes, behind, on.contracts, steps)
    except NotVectorised as reason:
        return Choice(None, str(reason))
    return Choice(replace(form, after=after), choice.why)


def scan_in_lanes(
    locals_: dict[str, Scalar | ViewTy],
    passed: tuple[Expr, ...],
    d: int | str,
    first: Expr,
    last: Expr,
    form: LaneForm,
    prefix: tuple[Expr, ...],
    turns: Turns,
) -> Stmt:
    """A loop over `first <= i < last`.

    `passed`: indices and arguments. `prefix`: what is joined so far, and `turns` how more is.
    """
    after = form.after
    assert after is not None
    end, index = f"_end{d}", f"_i{d}"
    arrays, types = [], []
    for n, e in enumerate(prefix):
        assert isinstance(e.type, Scalar)
        t = e.type.strong
        arrays.append(Var(f"_prefixes{d}_{n}", ViewTy(t, 1, "right", 0, False, (form.lanes,))))
        types.append(Vector(t.name, lanes=form.lanes))
    locals_ |= {a.name: a.type for a in arrays if isinstance(a.type, ViewTy)}
    keep = [ir.Store(a, (var("_lane"),), e) for a, e in zip(arrays, prefix, strict=True)]
    count = len(turns.names)
    whole = (lanes_from(integer(0), form.lanes),)

    def call(mask: Expr) -> list[Stmt]:
        left = op("sub", var(end), var(index))
        joins, got = in_turn(locals_, turns, form, passed, mask, left, keep)
        given = [ir.Load(a, whole, t) for a, t in zip(arrays, types, strict=True)]
        value = ir.Call(after.body.name, (*passed, *got[count:], *given, mask), ir.types.INT64)
        return [*joins, ir.Evaluate(value)]

    return over_vectors(locals_, d, first, last, form, call)

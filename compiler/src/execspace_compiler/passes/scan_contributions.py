"""The body of a scan that takes its contribution instead of computing it a second time.

A single-pass scan calls its kernel twice for each index, first for the contribution and then with
the prefix. Between the calls the contribution is kept in fast memory; computing it again would mean
reading the Views again.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .. import ir
from ..ir import Expr, Stmt, Var
from ..ir.rewriting import names_set, rewritten
from ..ir.types import ViewTy
from ..reductions.joins import Plain
from ..typing.lowered import Lowered

OWN = "_own_value"
_EXACT = ("sum", "prod", "min", "max", "band", "bor")


def given_contribution(
    lowered: Lowered, disjoint: bool, packed: bool = False
) -> ir.Function | None:
    """The body with another leading parameter, the contribution; None if that gains nothing.

    Also None if the state does not hold the contribution exactly.

    Parameters
    ----------
    lowered : Lowered
    disjoint : bool
        No View that is written overlaps another one.
    packed : bool
        For a pack, whose calls each take what the one before returned. Otherwise that is not
        needed, so only a body that uses its contribution gains.
    """
    body, reduction = lowered.body, lowered.reduction
    if reduction is None or len(reduction.joins) != 1:
        return None
    (join,) = reduction.joins
    if not isinstance(join, Plain) or len(reduction.contributions) != 1:
        return None
    (type,) = reduction.contributions
    if join.kind not in _EXACT or not np.can_cast(type.name, join.type.name, "safe"):
        return None
    returns = [s for s in ir.walk_statements(body.body) if isinstance(s, ir.Return)]
    last = body.body[-1] if body.body else None
    if len(returns) != 1 or last is not returns[0] or not isinstance(last, ir.Return):
        return None
    value = last.value
    if type.kind == "c" or value is None or isinstance(value, tuple) or value.type != type:
        return None
    own = Var(OWN, type)
    if isinstance(value, Var):
        statements = _assigned_once(body, value, own, 1 if packed else 2)
    else:
        statements = _replaced(body, value, own, 1 if packed else 2) if disjoint else None
    if statements is None:
        return None
    before, after = body.parameters[: lowered.leading], body.parameters[lowered.leading :]
    return replace(body, name=f"{body.name}_given", parameters=(*before, own, *after),
                   body=statements)  # fmt: skip


def _assigned_once(
    body: ir.Function, variable: Var, own: Var, uses: int
) -> tuple[Stmt, ...] | None:
    """The body of a kernel that returns a variable: its only assignment takes the contribution."""
    name = variable.name
    if name in {p.name for p in body.parameters} or names_set(body).count(name) != 1:
        return None
    reads = [e for e in ir.walk_expressions(body.body) if isinstance(e, Var) and e.name == name]
    found = [s for s in body.body if isinstance(s, ir.Assign) and s.name == name]
    if len(reads) < uses or len(found) != 1 or not _is_pure(found[0].value):
        return None
    return tuple(replace(s, value=own) if s is found[0] else s for s in body.body)


def _replaced(body: ir.Function, value: Expr, own: Var, uses: int) -> tuple[Stmt, ...] | None:
    """The body of a kernel that returns an expression: equal ones become the contribution."""
    written = ir.written_views(body)
    inner = _all_of(value)
    loads = [e for e in inner if isinstance(e, ir.Load)]
    changed = set(names_set(body))
    fixed = all(e.name not in changed for e in inner if isinstance(e, Var))
    plain = all(isinstance(e.view.type, ViewTy) and e.view.type.shape is None for e in loads)
    if not loads or not plain or not fixed or not _is_pure(value):
        return None
    if any(e.view.name in written for e in loads):
        return None
    if sum(e == value for e in ir.walk_expressions(body.body)) < uses:
        return None
    return tuple(_with(s, value, own) for s in body.body)


def _with(s: Stmt, value: Expr, own: Var) -> Stmt:
    def other(e: Expr) -> Expr:
        if e == value:
            return own
        return ir.with_operands(e, tuple(map(other, ir.operands(e))))

    return rewritten(s, other)


def _is_pure(e: Expr) -> bool:
    return not any(isinstance(x, ir.Call | ir.LoadAt) for x in _all_of(e))


def _all_of(e: Expr) -> list[Expr]:
    found = [e]
    for x in ir.operands(e):
        found += _all_of(x)
    return found


def exact_start(lowered: Lowered) -> float | None:
    """A start value that leaves every contribution unchanged, if the identity does not.

    The identity of a sum of floats, 0.0, turns -0.0 into 0.0.
    """
    assert lowered.reduction is not None
    (join,) = lowered.reduction.joins
    (state,) = join.states
    is_sum = isinstance(join, Plain) and join.kind == "sum"
    return -0.0 if is_sum and state.type.is_float else None

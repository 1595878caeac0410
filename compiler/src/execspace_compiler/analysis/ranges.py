"""Integers that are never negative, so that `//` and `%` need no fix-up for the sign.

These are indices of ranges that start at zero or above, extents, unsigned numbers, and sums,
products and quotients of these. Index arithmetic is assumed not to overflow; other integers may
wrap.
"""

from __future__ import annotations

from dataclasses import replace

from .. import ir
from ..ir import Const, Expr, Op, Select, Stmt, Var
from ..ir.types import INDEX_WEAK, INT64

_NEGATIVE = Const(-1, INT64)  # stands for an unknown value


def drop_sign_fixups(function: ir.Function, nonnegative: frozenset[str]) -> ir.Function:
    """Replace floor division by truncating division if both operands are known not negative.

    Parameters
    ----------
    nonnegative : frozenset of str
        Parameters that are known not to be negative.
    """
    known = _never_negative(function, nonnegative)
    return replace(function, body=_statements(function.body, known))


def _never_negative(function: ir.Function, start: frozenset[str]) -> set[str]:
    assignments: dict[str, list[Expr]] = {}
    for s in ir.walk_statements(function.body):
        if isinstance(s, ir.Assign):
            assignments.setdefault(s.name, []).append(s.value)
        elif isinstance(s, ir.For):
            # A rising counter stays above its start; a falling one above its stop.
            rising = isinstance(s.step, Const) and s.step.value > 0
            assignments.setdefault(s.name, []).append(s.start if rising else _NEGATIVE)
        elif isinstance(s, ir.Split):
            for name, lower in zip(s.names, s.starts, strict=True):
                assignments.setdefault(name, []).append(lower)
        else:
            for name in ir.names_set(s):
                assignments.setdefault(name, []).append(_NEGATIVE)
    known = set(start) | {n for n in assignments if n not in start}
    locals_ = function.locals
    known = {n for n in known if n in start or getattr(locals_[n], "is_integer", False)}
    # The greatest fixed point: assume all, then drop those that an assignment contradicts.
    changed = True
    while changed:
        changed = False
        for name, values in assignments.items():
            if name in known and not all(_nonnegative(v, known) for v in values):
                known.discard(name)
                changed = True
    return known


def _nonnegative(e: Expr, known: set[str]) -> bool:
    type = e.type
    match e:
        case Const():
            return bool(e.value >= 0) if isinstance(e.value, int) else False
        case Var():
            return e.name in known or getattr(type, "kind", "") == "u"
        case ir.Extent():
            return True
        case Select():
            return _nonnegative(e.then, known) and _nonnegative(e.orelse, known)
        case Op():
            if e.type.kind == "u":
                return True
            a = e.args
            if e.op in ("add", "mul") and e.type.weak != INDEX_WEAK:
                return False  # it may wrap
            if e.op in ("add", "mul", "truncdiv", "truncmod", "floordiv", "min", "bitor"):
                return all(_nonnegative(x, known) for x in a)
            if e.op in ("mod",):
                return _nonnegative(a[1], known)
            if e.op in ("max", "bitand"):
                return any(_nonnegative(x, known) for x in a)
            if e.op in ("rshift", "bounded"):
                return _nonnegative(a[0], known)
            if e.op == "cast":
                source = a[0].type
                small = getattr(source, "kind", "") == "u" and source.bits < e.type.bits  # type: ignore[union-attr]
                return small or (
                    getattr(source, "kind", "") == "i"
                    and source.bits <= e.type.bits  # type: ignore[union-attr]
                    and _nonnegative(a[0], known)
                )
        case ir.Load():
            return e.type.kind == "u"
    return False


def _positive(e: Expr) -> bool:
    return isinstance(e, Const) and isinstance(e.value, int) and e.value > 0


def _expression(e: Expr, known: set[str]) -> Expr:
    args = tuple(_expression(a, known) for a in ir.operands(e))
    if isinstance(e, Op):
        plain = {"floordiv": "truncdiv", "mod": "truncmod"}.get(e.op)
        proven = plain and e.type.is_integer and _nonnegative(args[0], known)
        if plain and proven and _positive(args[1]):
            return replace(e, op=plain, args=args)
    return ir.with_operands(e, args) if args else e


def _statements(body: tuple[Stmt, ...], known: set[str]) -> tuple[Stmt, ...]:
    return tuple(_statement(s, known) for s in body)


def _statement(s: Stmt, known: set[str]) -> Stmt:
    new = tuple(_expression(e, known) for e in ir.expressions(s))
    inner = tuple(_statements(body, known) for body in ir.bodies(s))
    return ir.with_bodies(ir.with_expressions(s, new), inner)

"""Rewriting of bodies in IR: what passes over expressions and statements have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from .. import ir
from . import Expr, Stmt, Var, integer, op
from .types import ViewTy


def rewritten(
    s: Stmt, change: Callable[[Expr], Expr], statement: Callable[[Stmt], Stmt] = lambda s: s
) -> Stmt:
    """Rewrite a statement by `statement`, its expressions by `change`, then those nested in it."""

    def all_of(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(rewritten(t, change, statement) for t in body)

    s = statement(s)
    s = ir.with_expressions(s, tuple(map(change, ir.expressions(s))))
    return ir.with_bodies(s, tuple(map(all_of, ir.bodies(s))))


def names_set(body: ir.Function) -> list[str]:
    """Names of variables that statements of a body set, as often as they do."""
    return names_set_in(body.body)


def names_set_in(*bodies: tuple[Stmt, ...]) -> list[str]:
    """Names of variables that statements set, nested ones included, as often as they do."""
    return [n for body in bodies for s in ir.walk_statements(body) for n in ir.names_set(s)]


def renamed(body: tuple[Stmt, ...], names: Mapping[str, Var]) -> tuple[Stmt, ...]:
    """A body with some variables replaced by others, Views included."""

    def view(v: Var) -> Var:
        new = names.get(v.name)
        return v if new is None else replace(v, name=new.name, type=new.type)

    def expression(e: Expr) -> Expr:
        e = ir.with_operands(e, tuple(map(expression, ir.operands(e))))
        if isinstance(e, Var):
            new = names.get(e.name)
            if new is None:
                return e
            type = new.type if isinstance(new.type, ViewTy) else e.type
            return replace(e, name=new.name, type=type)
        if isinstance(e, ir.Load | ir.Extent):
            return replace(e, view=view(e.view))
        if isinstance(e, ir.LoadAt):
            return replace(e, pointer=view(e.pointer))
        return e

    def name(n: str) -> str:
        return names[n].name if n in names else n

    def several(variables: tuple[Var, ...]) -> tuple[Var, ...]:
        return tuple(replace(v, name=name(v.name)) for v in variables)

    def statement(s: Stmt) -> Stmt:
        match s:
            case ir.Assign() | ir.For():
                return replace(s, name=name(s.name))
            case ir.Unpack() | ir.Split():
                return replace(s, names=tuple(map(name, s.names)))
            case ir.Atomic():
                own = None if s.name is None else name(s.name)
                return replace(s, name=own, view=view(s.view))
            case ir.Store() | ir.Scratch() | ir.Carve():
                return replace(s, view=view(s.view))
            case ir.Clear():
                return replace(s, array=view(s.array))
            case ir.Combine():
                return replace(s, states=several(s.states))
            case ir.Prefix():
                return replace(s, states=several(s.states), totals=several(s.totals))
            case ir.ScanRange():
                return replace(
                    s, name=name(s.name), states=several(s.states), own=several(s.own)
                )  # fmt: skip
            case ir.Broadcast():
                return replace(s, values=several(s.values))
        return s

    return tuple(rewritten(s, expression, statement) for s in body)


def delinearized(s: ir.Split, number: Expr) -> tuple[Expr, list[Stmt]]:
    """Trip count of a nested range, and statements that set its indices from a linear index."""
    extents = [
        op("max", op("sub", b, a), integer(0)) for a, b in zip(s.starts, s.stops, strict=True)
    ]
    total = extents[0]
    for e in extents[1:]:
        total = op("mul", total, e)
    rest = number
    indices: list[Stmt] = []
    for n in reversed(range(len(s.names))):
        at = rest if n == 0 else op("truncmod", rest, extents[n])
        indices.append(ir.Assign(s.names[n], op("add", s.starts[n], at)))
        rest = rest if n == 0 else op("truncdiv", rest, extents[n])
    return total, indices

"""Changes of a body in IR: what passes over expressions and statements have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from . import ir
from .ir import Expr, Stmt


def rewritten(
    s: Stmt, change: Callable[[Expr], Expr], statement: Callable[[Stmt], Stmt] = lambda s: s
) -> Stmt:
    """A statement, with those inside it, changed by `statement`, then its direct expressions."""

    def all_of(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(rewritten(t, change, statement) for t in body)

    s = statement(s)
    s = ir.with_expressions(s, tuple(map(change, ir.expressions(s))))
    if isinstance(s, ir.If):
        return replace(s, body=all_of(s.body), orelse=all_of(s.orelse))
    if isinstance(s, ir.For | ir.While):
        return replace(s, body=all_of(s.body))
    return s


def names_set(body: ir.Function) -> list[str]:
    """Names of variables that statements of a body set, as often as they do."""
    names: list[str] = []
    for s in ir.walk_statements(body.body):
        if isinstance(s, ir.Assign | ir.For | ir.Atomic) and s.name is not None:
            names.append(s.name)
        elif isinstance(s, ir.Unpack):
            names += s.names
    return names

"""Pairs of Views that must not overlap (alias) if a kernel is compiled as if none did.

Compilers vectorise and reorder only if they know that a store does not change other Views.
Launchers check the Views at each launch; if they overlap, a version that allows it is compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .. import ir
from ..ir.types import ViewTy
from ..typing.lowered import Lowered


def written_pairs(lowered: Lowered, patterns: Sequence[str]) -> list[tuple[ir.Var, ir.Var]]:
    """Pairs of Views of a launch, at least one of them written: they must not overlap.

    `patterns`: those that a space compiles for Views that do not; there are no pairs of others.
    """
    if lowered.spec.pattern not in patterns:
        return []
    written = lowered.written
    arguments = lowered.body.parameters[lowered.leading :]
    views = [p for p in arguments if isinstance(p.type, ViewTy)]
    return [
        (a, b)
        for n, a in enumerate(views)
        for b in views[n + 1 :]
        if a.name in written or b.name in written
    ]


def pairs_to_check(lowered: Lowered, patterns: Sequence[str]) -> list[tuple[ir.Var, ir.Var]]:
    """The pairs without the trait "restrict", which promises that they do not overlap."""
    return [
        (a, b)
        for a, b in written_pairs(lowered, patterns)
        if not any(isinstance(v.type, ViewTy) and "restrict" in v.type.traits for v in (a, b))
    ]


def reads_after_writing(lowered: Lowered) -> bool:
    """Whether one call of the kernel may read an element after it has stored one.

    Otherwise overlapping Views make no difference to the code of a single call.
    """
    return _Order().walk(lowered.body.body)


class _Order:
    """Goes through statements in their order."""

    def __init__(self) -> None:
        self.stored = False

    def walk(self, body: tuple[ir.Stmt, ...]) -> bool:
        for s in body:
            if self.loads(s) and (self.stored or isinstance(s, ir.Evaluate)):
                return True  # a call without a result stores, and perhaps before it reads
            if isinstance(s, ir.For | ir.While):
                stores = any(map(_stores, ir.walk_statements(s.body)))
                if stores and (self.loads(s) or any(map(self.loads, ir.walk_statements(s.body)))):
                    return True
                self.stored |= stores
            elif isinstance(s, ir.If):
                before = self.stored
                if self.walk(s.body):
                    return True
                after, self.stored = self.stored, before
                if self.walk(s.orelse):
                    return True
                self.stored |= after
            else:
                self.stored |= _stores(s)
        return False

    def loads(self, s: ir.Stmt) -> bool:
        """Whether a statement reads elements, without those nested in it."""
        bare = replace(s, body=()) if isinstance(s, ir.For | ir.While | ir.If) else s
        if isinstance(bare, ir.If):
            bare = replace(bare, orelse=())
        expressions = ir.walk_expressions((bare,))
        return isinstance(s, ir.Atomic) or any(_reads(e) for e in expressions)


def _reads(e: ir.Expr) -> bool:
    if isinstance(e, ir.Load):
        return _is_outer(e.view)
    return isinstance(e, ir.Call) and any(map(_is_outer, e.args))


def _stores(s: ir.Stmt) -> bool:
    if isinstance(s, ir.Store | ir.Atomic):
        return _is_outer(s.view)
    called = (e for e in ir.walk_expressions((s,)) if isinstance(e, ir.Call))
    return any(_is_outer(a) for e in called for a in e.args)


def _is_outer(e: ir.Expr) -> bool:
    """Whether it is a View rather than a local array."""
    return isinstance(e.type, ViewTy) and e.type.shape is None

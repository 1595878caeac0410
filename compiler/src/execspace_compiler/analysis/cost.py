"""Rough cost of one call of a kernel, which decides whether waking threads is worthwhile, and how
many a block of a device has."""

from __future__ import annotations

from .. import ir
from ..ir import Expr, For, If, Stmt, While
from ..ir.ops import FLOAT1, FLOAT2
from ..ir.types import ViewTy
from ..typing.lowered import Lowered


def cost(lowered: Lowered) -> int | None:
    """Rough number of operations in one call of a kernel; None if a trip count is unknown."""
    functions = lowered.joining or lowered.functions
    return _cost(functions[-1].body, {f.name: f for f in functions})


_LITTLE = 100  # operations beside which memory is what a device waits for


def little_moved(lowered: Lowered) -> int | None:
    """Bytes that one call of a kernel reads and writes, of each View an element, for others near it
    are in caches; None if it computes much, too."""
    total = cost(lowered)
    if total is None or total > _LITTLE:
        return None
    stored, loaded = {}, {}
    for f in lowered.joining or lowered.functions:
        for s in ir.walk_statements(f.body):
            if isinstance(s, ir.Store | ir.Atomic):
                stored[f.name, s.view.name] = _size(s.view)
        for e in ir.walk_expressions(f.body):
            if isinstance(e, ir.Load):
                loaded[f.name, e.view.name] = _size(e.view)
    return sum(stored.values()) + sum(loaded.values())


def _size(view: Expr) -> int:
    """Bytes of an element in memory; none of a private array."""
    assert isinstance(view.type, ViewTy)
    return view.type.element.itemsize if view.type.shape is None else 0


_HEAVY = 20  # a division or a mathematical function, in additions


def _cost(body: tuple[Stmt, ...], functions: dict[str, ir.Function]) -> int | None:
    total = 0
    for s in body:
        for e in ir.expressions(s):
            part = _expression_cost(e, functions)
            if part is None:
                return None
            total += part
        match s:
            case If():
                then, orelse = _cost(s.body, functions), _cost(s.orelse, functions)
                if then is None or orelse is None:
                    return None
                total += max(then, orelse)
            case For():
                inner = _cost(s.body, functions)
                values = [b.value for b in (s.start, s.stop, s.step) if isinstance(b, ir.Const)]
                if inner is None or len(values) < 3:
                    return None
                total += inner * len(range(*values))
            case While():
                return None
            case ir.Store():
                total += 1
            case ir.Atomic():
                total += _HEAVY
    return total


def _expression_cost(e: Expr, functions: dict[str, ir.Function]) -> int | None:
    total = 1
    if isinstance(e, ir.Op) and e.op not in ("add", "sub", "mul", "neg", "cast"):
        total = _HEAVY if e.op in _SLOW else 2
    if isinstance(e, ir.Call):
        called = functions[e.function]
        inner = None if called.external is not None else _cost(called.body, functions)
        if inner is None:
            return None
        total += inner
    for a in ir.operands(e):
        part = _expression_cost(a, functions)
        if part is None:
            return None
        total += part
    return total


_SLOW = frozenset(FLOAT1 + FLOAT2) | {
    "truediv", "floordiv", "mod", "truncdiv", "truncmod", "pow",
}  # fmt: skip

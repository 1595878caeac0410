"""How long a loop waits for its own results, in cycles.

What a round takes from the one before cannot begin earlier; all the rest processors do beside it.
Where the wait is longer than the work, there is room for a second vector.
"""

from __future__ import annotations

from collections.abc import Mapping

from .. import ir
from ..ir import Expr, Stmt
from ..ir.types import Scalar

_FLOAT, _DIVISION, _FUNCTION, _WHOLE, _PRODUCT, _LOAD = 4, 14, 20, 1, 8, 5
_DIVISIONS = frozenset(("truediv", "sqrt", "fmod", "truncdiv", "truncmod", "floordiv", "mod"))
_SIMPLE = frozenset(("add", "sub", "mul", "neg", "fma", "abs", "min", "max", "fmin", "fmax",
                     "minimum", "maximum", "cast", "bounded"))  # fmt: skip
_Depths = dict[str, float | None]
"""How long after the begin of a round variables and arrays are known; None: they do not depend on
what is carried."""


class Waits:
    """The waits of loops in functions."""

    def __init__(self, functions: Mapping[str, ir.Function]) -> None:
        self.functions = functions
        self._known: dict[str, float] = {}

    def of(self, s: ir.For | ir.While) -> float:
        """The longest wait from what a round takes to the same in the next round."""
        statements = [t for t in ir.walk_statements(s.body) if not isinstance(t, ir.For)]
        carried, known = set[str](), set[str]()
        for t in statements:
            carried |= _read(t) - known
            known |= _set(t)
        carried &= known
        depths: _Depths = dict.fromkeys(carried, 0.0)
        for t in statements:
            self.statement(t, depths)
        return max((depths[n] or 0.0 for n in carried), default=0.0)

    def statement(self, t: Stmt, depths: _Depths) -> None:
        found = [self.expression(e, depths) for e in ir.expressions(t)]
        after = max((d for d in found if d is not None), default=None)
        for name in _set(t):
            if isinstance(t, ir.Store) and depths.get(name) is not None:
                after = max(after or 0.0, depths[name] or 0.0)
            depths[name] = after

    def expression(self, e: Expr, depths: _Depths) -> float | None:
        """How long after the begin of a round an expression is known."""
        if isinstance(e, ir.Var):
            return depths.get(e.name)
        found = [self.expression(a, depths) for a in ir.operands(e)]
        if isinstance(e, ir.Load):
            found.append(depths.get(e.view.name))
        inner = [d for d in found if d is not None]
        if not inner:
            return None
        own = 0.0
        if isinstance(e, ir.Op):
            own = _latency(e)
        elif isinstance(e, ir.Load):
            own = _LOAD if e.view.name not in depths else 0
        elif isinstance(e, ir.Select):
            own = _WHOLE
        elif isinstance(e, ir.Call):
            own = self.call(e.function)
        return max(inner) + own

    def call(self, name: str) -> float:
        """From the arguments of a function to its results."""
        if name not in self._known:
            f = self.functions[name]
            self._known[name] = _FUNCTION
            if f.external is None:
                depths: _Depths = {p.name: 0.0 for p in f.parameters}
                results = [0.0]
                for s in ir.walk_statements(f.body):
                    if isinstance(s, ir.Return):
                        given = (self.expression(e, depths) for e in ir.expressions(s))
                        results += [d for d in given if d is not None]
                    self.statement(s, depths)
                self._known[name] = max(results)
        return self._known[name]


def _latency(e: ir.Op) -> float:
    kind = e.args[0].type
    assert isinstance(kind, Scalar)
    if e.op in _DIVISIONS:
        return _DIVISION
    if kind.is_float or kind.kind == "c":
        return _FLOAT if e.op in _SIMPLE or e.type.kind == "b" else _FUNCTION
    return _PRODUCT if e.op == "mul" else _WHOLE


def _read(t: Stmt) -> set[str]:
    every = ir.subexpressions(*ir.expressions(t))
    found = {e.name for e in every if isinstance(e, ir.Var)}
    return found | {e.view.name for e in every if isinstance(e, ir.Load)}


def _set(t: Stmt) -> set[str]:
    found = {*ir.names_set(t)}
    return found | {t.view.name} if isinstance(t, ir.Store) else found

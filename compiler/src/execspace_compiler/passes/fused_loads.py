"""Loads of a part of a fused kernel: what a call loads twice, it must see to be the same value.

An assembly statement stands behind each load of a part, and for compilers two such statements give
two values. Of a value that is used twice they choose other products to contract than of two values.
So a load that is repeated is done once, where the compilers of the kernel alone would see that
nothing was stored between; and what a part stored itself and loads next, they know.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .. import ir
from ..ir import Assign, Expr, Load, Stmt, Store, Var
from ..ir.types import Scalar, ViewTy

Known = dict[Load, Var]

_HARMLESS = (Assign, ir.If, ir.For, ir.While, ir.Break, ir.Continue, ir.Return)


class LoadsOnce:
    """Statements whose loads `change` puts behind barriers, each of them once.

    Parameters
    ----------
    change : callable
        What becomes of a load; the same one, if it has no barrier.
    prefix : str
        Of names of variables.
    locals_ : dict
        Gets the variables.
    effectful : frozenset of str
        Functions that may store.
    """

    def __init__(
        self,
        change: Callable[[Load], Expr],
        prefix: str,
        locals_: dict[str, Scalar | ViewTy],
        effectful: frozenset[str] = frozenset(),
    ) -> None:
        self._change = change
        self._prefix = prefix
        self._locals = locals_
        self._effectful = effectful
        self._variables: Known = {}

    def body(self, statements: tuple[Stmt, ...], known: Known | None = None) -> tuple[Stmt, ...]:
        """The statements, rewritten; `known` are elements whose values variables have."""
        known = {} if known is None else known
        done: list[Stmt] = []
        for s in statements:
            if isinstance(s, ir.If):
                done += self._branches(s, known)
                continue
            nested = ir.bodies(s)
            if nested:
                self._forget(known, s)
            before: list[Stmt] | None = None if nested or self._stores(s) else []
            new = tuple(self._expression(e, known, before) for e in ir.expressions(s))
            within = tuple(self.body(b, dict(known)) for b in nested)
            done += before or []
            changed = ir.with_bodies(ir.with_expressions(s, new), within)
            self._forget(known, s)
            if isinstance(s, Store) and isinstance(changed, Store):
                changed = self._stored(s, changed, known, done)
            done.append(changed)
        return tuple(done)

    def _branches(self, s: ir.If, known: Known) -> list[Stmt]:
        before: list[Stmt] | None = None if self._stores(s) else []
        tests = tuple(self._expression(e, known, before) for e in ir.expressions(s))
        ways = [dict(known) for _ in ir.bodies(s)]
        bodies = tuple(self.body(b, way) for b, way in zip(ir.bodies(s), ways, strict=True))
        known.clear()
        known |= {e: v for e, v in ways[0].items() if all(e in way for way in ways)}
        return [*(before or []), ir.with_bodies(ir.with_expressions(s, tests), bodies)]

    def _stored(self, old: Store, new: Store, known: Known, done: list[Stmt]) -> Store:
        """A store, of which what is loaded next is known."""
        type = old.value.type
        if not isinstance(old.view.type, ViewTy) or not isinstance(type, Scalar):
            return new
        load = Load(old.view, old.indices, type.strong, old.loc, old.byte)
        barred = self._change(load)
        if barred is load or old.view.type.element != type.strong or self._stores(old):
            return new
        variable = self._variable(load)
        done.append(Assign(variable.name, new.value, old.loc))
        known[load] = variable
        return replace(new, value=variable)

    def _variable(self, load: Load) -> Var:
        """The one that has the value of an element wherever that is known."""
        if load not in self._variables:
            assert isinstance(load.type, Scalar)
            name = f"{self._prefix}{len(self._variables)}"
            self._variables[load] = Var(name, load.type.strong)
            self._locals[name] = load.type.strong
        return self._variables[load]

    def _forget(self, known: Known, s: Stmt) -> None:
        """Drop what a statement, or one nested in it, may change."""
        for t in ir.walk_statements((s,)):
            if not isinstance(t, _HARMLESS) or self._stores(t):
                known.clear()
            for name in ir.names_set(t):
                for load in [k for k in known if _mentions(k, name)]:
                    del known[load]

    def _stores(self, s: Stmt) -> bool:
        """Whether an expression of the statement may store, for it calls what does."""
        found = ir.subexpressions(*ir.expressions(s))
        return any(isinstance(e, ir.Call) and e.function in self._effectful for e in found)

    def _expression(self, e: Expr, known: Known, before: list[Stmt] | None) -> Expr:
        """An expression; with `before`, all that it evaluates anyhow is loaded there."""
        if isinstance(e, Load) and e in known:
            return known[e]
        operands = ir.operands(e)
        conditional = isinstance(e, ir.Select) or getattr(e, "op", "") in ("and", "or")
        new = ir.with_operands(
            e,
            tuple(
                self._expression(o, known, None if conditional and n else before)
                for n, o in enumerate(operands)
            ),
        )
        if not isinstance(e, Load) or not isinstance(new, Load):
            return new
        value = self._change(new)
        if value is new or before is None:
            return value
        variable = self._variable(e)
        before.append(Assign(variable.name, value, e.loc))
        known[e] = variable
        return variable


def _mentions(load: Load, name: str) -> bool:
    return any(isinstance(e, Var) and e.name == name for e in ir.subexpressions(load))

"""Statements that an expression needs: temporaries, and Python's order of evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import ir
from ..frontend import hir
from ..ir.diagnostics import Fault, Loc, type_fault
from ..ir.types import BOOL, Scalar, Type
from .module import ModuleTyper
from .values import TupleValue, Value, rebuild
from .views import ViewRules

_NESTED = 32


class Pending(Exception):
    """A variable is read whose type is not known yet; a later walk will know it."""


class Emission(ViewRules):
    """Where statements go while expressions are typed."""

    module: ModuleTyper
    types: dict[str, Type]
    out: list[ir.Stmt]
    decided: dict[int, bool]  # outcome of constant tests, by `id` of the node
    tested: set[int]  # what has a test that is not the same constant each time
    unknown: dict[str, Loc]
    torn: dict[str, Fault]
    fails: bool
    name: str
    temporaries: int
    own_names: set[str]
    own: dict[str, str]  # variables that each round of a loop over a tuple has of its own
    several: dict[str, str]  # those, with why they cannot be read elsewhere

    def decide(
        self, node: hir.If | hir.Arm | hir.While | hir.Conditional, test: ir.Expr
    ) -> bool | None:
        """Outcome of a test that is a constant, else None; rounds of a loop may differ."""
        outcome = bool(test.value) if isinstance(test, ir.Const) else None
        if outcome is None or self.decided.setdefault(id(node), outcome) != outcome:
            self.tested.add(id(node))
        if id(node) in self.tested:
            self.decided.pop(id(node), None)
        return outcome

    # -- emission -----------------------------------------------------------------------------

    def temporary(self, type: Type) -> str:
        """A new variable."""
        self.temporaries += 1
        while f"_t{self.temporaries}" in self.own_names:
            self.temporaries += 1
        name = f"_t{self.temporaries}"
        self.types[name] = type
        return name

    def keep(self, value: Any) -> Any:
        """Put a value into temporaries that later statements do not touch."""
        if isinstance(value, TupleValue):
            return TupleValue(tuple(self.keep(item) for item in value.items), value.names)
        if isinstance(value, ir.Const) or not isinstance(value, ir.Expr):
            return value
        if not isinstance(value.type, Scalar):
            return value
        name = self.temporary(value.type)
        self.out.append(ir.Assign(name, value, value.loc))
        return ir.Var(name, value.type, value.loc)

    def settled(self, value: Any, n: int) -> Any:
        """The n-th step of what is computed step by step, in a temporary now and then.

        Compilers, ours too, take expressions of some hundred operations within each other only.
        """
        return self.keep(value) if n % _NESTED == _NESTED - 1 else value

    def apart(self, e: hir.Expr) -> tuple[list[ir.Stmt], Value]:
        """A value, and the statements that compute it, which are not emitted."""
        saved, self.out = self.out, []
        try:
            value = self.value(e)
        finally:
            emitted, self.out = self.out, saved
        return emitted, value

    def operands(self, exprs: Sequence[hir.Expr]) -> list[Value]:
        """Values of several expressions, in Python's order of evaluation."""
        done: list[Value] = []
        for e in exprs:
            emitted, value = self.apart(e)
            if emitted:
                done = [self.keep(v) for v in done]
                self.out += emitted
            done.append(value)
        return done

    def bind(self, name: str, value: Value, loc: Loc) -> None:
        """Assign to a local variable."""
        raise NotImplementedError

    def variable(self, name: str, loc: Loc) -> Value:
        """Value of a local variable or parameter."""
        if name in self.own:
            name = self.own[name]
        elif name in self.several:
            hint = f"use '{loc.name(name)}' within the loop over the tuple, another name elsewhere"
            raise type_fault(loc, self.several[name], hint)
        type = self.types.get(name)
        if type is None:
            if self.final:
                self.unknown.setdefault(name, loc)
            raise Pending
        if name in self.torn:
            raise Pending
        return rebuild(type, name, loc)

    def either(self, a: Any, b: Any, op: str, loc: Loc) -> Any:
        """and/or of two bools, either of which may be a constant."""
        for x, y in ((a, b), (b, a)):
            if isinstance(x, ir.Const):
                return y if bool(x.value) == (op == "and") else x
        return ir.Op(op, (a, b), BOOL, loc)

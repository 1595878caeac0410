"""Statements that an expression needs: temporaries, and Python's order of evaluation."""

from __future__ import annotations

from ..ir.diagnostics import Loc, type_fault
from .context import Pending
from .values import Value, rebuild
from .views import ViewRules


class Emission(ViewRules):
    """Where statements go while expressions are typed."""

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

"""Reductions in IR: the state that a reducer carries, and how values and states are joined.

Joins are marked `reduce_*`, which printers may reassociate; the user's own arithmetic is not
touched. A NaN among the contributions of a minimum or maximum makes the result NaN.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from execspace import DTypeError, Reducer

from . import ir
from .ir import Const, Expr, Op, Stmt, Var
from .types import Scalar


@dataclass(frozen=True, slots=True)
class State:
    """One word of a reduction's state."""

    name: str
    type: Scalar
    identity: Const

    @property
    def var(self) -> Var:
        """The accumulator variable."""
        return Var(self.name, self.type)


@dataclass(frozen=True, slots=True)
class Reduction:
    """A reducer for a contribution type.

    Attributes
    ----------
    kind : str
        "sum", "prod", "min" or "max".
    type : Scalar
        Type in which contributions are joined, and of the result.
    states : tuple of State
    """

    kind: str
    type: Scalar
    states: tuple[State, ...]

    def reset(self) -> list[Stmt]:
        """Set the state to the identity."""
        return [ir.Assign(s.name, s.identity) for s in self.states]

    def accumulate(self, value: Expr) -> list[Stmt]:
        """Join a contribution, already of the reduction's type, into the state."""
        acc = self.states[0]
        return [ir.Assign(acc.name, self._join(acc.var, value))]

    def merge(self, others: tuple[Expr, ...]) -> list[Stmt]:
        """Join another state into the state."""
        return self.accumulate(others[0])

    def final(self) -> Expr:
        """The result."""
        return self.states[0].var

    def locals(self) -> dict[str, Scalar]:
        """Types of the variables that these statements use."""
        return {s.name: s.type for s in self.states}

    def _join(self, a: Expr, b: Expr) -> Expr:
        if self.type.kind == "b":  # of bools: min is "and", max is "or"
            return Op("bitand" if self.kind == "min" else "bitor", (a, b), self.type)
        return Op(f"reduce_{self.kind}", (a, b), self.type)


def reduction_for(reducer: Reducer, contribution: Scalar) -> Reduction:
    """The Reduction of a reducer for what a kernel returns.

    Raises
    ------
    DTypeError
        If the reducer has no meaning for that type.
    """
    if reducer.kind not in ("sum", "prod", "min", "max"):
        raise DTypeError(
            f"reducer {reducer.name!r} cannot be compiled; expected es.Sum, es.Prod, es.Min or "
            f"es.Max."
        )
    type = Scalar(reducer.accumulator(contribution.name))
    if contribution.kind == "c" and type.kind != "c":
        raise DTypeError(f"{reducer.name} of complex contributions cannot give {type}.")
    identity = Const(np.asarray(reducer.identity(type.name)).item(), type)
    return Reduction(reducer.kind, type, (State("_acc", type, identity),))

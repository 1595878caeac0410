"""Reductions in IR: the state that a reducer carries, and how values and states are joined.

Joins are marked `reduce_*`, which printers may reassociate; the user's own arithmetic is not
touched. Floating minima and maxima carry a second word that remembers a NaN, so that the
first may be joined by plain comparisons at vector speed and the result still is NaN.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from execspace import DTypeError, Reducer

from . import ir
from .ir import Const, Expr, Op, Select, Stmt, Var
from .types import INT32, INT64, Scalar


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

    @property
    def watches_nan(self) -> bool:
        """Whether the second word of the state counts NaNs."""
        return len(self.states) == 2

    def reset(self) -> list[Stmt]:
        """Set the state to the identity."""
        return [ir.Assign(s.name, s.identity) for s in self.states]

    def accumulate(self, value: Expr) -> list[Stmt]:
        """Join a contribution, already of the reduction's type, into the state."""
        acc = self.states[0]
        if not self.watches_nan:
            return [ir.Assign(acc.name, self._join(acc.var, value))]
        v = Var("_v", self.type)
        flag = self.states[1]
        bad = Op("cast", (Op("ne", (v, v), Scalar("bool")),), flag.type)
        number = Select(Op("eq", (v, v), Scalar("bool")), v, acc.identity, self.type)
        return [
            ir.Assign("_v", value),
            ir.Assign(flag.name, Op("bitor", (flag.var, bad), flag.type)),
            ir.Assign(acc.name, self._join(acc.var, number)),
        ]

    def merge(self, others: tuple[Expr, ...]) -> list[Stmt]:
        """Join another state into the state."""
        acc = self.states[0]
        out: list[Stmt] = [ir.Assign(acc.name, self._join(acc.var, others[0]))]
        if self.watches_nan:
            flag = self.states[1]
            out.append(ir.Assign(flag.name, Op("bitor", (flag.var, others[1]), flag.type)))
        return out

    def final(self) -> Expr:
        """The result."""
        acc = self.states[0]
        if not self.watches_nan:
            return acc.var
        flag = self.states[1]
        any_nan = Op("ne", (flag.var, Const(0, flag.type)), Scalar("bool"))
        return Select(any_nan, Const(math.nan, self.type), acc.var, self.type)

    def locals(self) -> dict[str, Scalar]:
        """Types of the variables that these statements use."""
        found = {s.name: s.type for s in self.states}
        return {**found, "_v": self.type} if self.watches_nan else found

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
    states = [State("_acc", type, identity)]
    if reducer.kind in ("min", "max") and type.is_float:
        flag = INT32 if type.bits == 32 else INT64
        states.append(State("_nan", flag, Const(0, flag)))
    return Reduction(reducer.kind, type, tuple(states))

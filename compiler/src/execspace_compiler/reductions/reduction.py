"""Reductions in IR: the joins of all reducers of a launch, and how contributions are joined."""

from __future__ import annotations

from typing import Any

from execspace.base.dataclass import dataclass

from .. import ir
from ..ir import Assign, Expr, Stmt, Var
from ..ir.structures import dtype_names
from ..ir.types import (
    Scalar,
    TupleTy,
    ViewTy,
)
from .joins import (
    Compiled,
    Join,
    Partial,
    Plain,
    State,
    assigned,
    cast,
)

ARRAY = "_row"  # the array of an array reduction


@dataclass(frozen=True)
class Reduction:
    """The reducers of a launch, for the type that its kernel returns.

    Attributes
    ----------
    joins : tuple of Join
        One for each reducer.
    contributions : tuple of Scalar
        The kernel's results, tuples flattened; empty for an array reduction.
    several : bool
        The launch has a tuple of reducers.
    array : ViewTy or None
        Type of the array of an array reduction; `joins` then joins its elements.
    names : str
        Prefix of its variables' names: those of nested reductions must differ.
    """

    joins: tuple[Join, ...]
    contributions: tuple[Scalar, ...]
    several: bool = False
    array: ViewTy | None = None
    names: str = ""

    @property
    def states(self) -> tuple[State, ...]:
        """The state of all joins."""
        return tuple(s for j in self.joins for s in j.states)

    @property
    def operation(self) -> str | None:
        """ "sum", "min" and so on, if that is all that joins states."""
        only = self.joins[0] if len(self.joins) == 1 else None
        return only.kind if isinstance(only, Plain) else None

    @property
    def is_symmetric(self) -> bool:
        """Whether exchanged states are joined to the same bits."""
        return all(j.is_symmetric for j in self.joins)

    @property
    def functions(self) -> tuple[ir.Function, ...]:
        """Functions that the statements call and that must be added to the module."""
        return tuple(f for j in self.joins for f in j.functions)

    @property
    def value(self) -> Scalar | TupleTy:
        """Structure of the joined value before `finish`: of a scan's prefix."""
        found = tuple(j.structure if isinstance(j, Compiled) else j.result for j in self.joins)
        return TupleTy(found) if self.several else found[0]

    @property
    def result(self) -> Any:
        """Names of the result's dtypes, nested as the result is."""
        found = tuple(dtype_names(j.result) for j in self.joins)
        return found if self.several else found[0]

    def reset(self) -> list[Stmt]:
        """Set the state to the identity."""
        return [Assign(s.name, s.identity) for s in self.states]

    def accumulate(self, call: ir.Call) -> list[Stmt]:
        """Call the kernel and join what it returns into the state."""
        if self.single_use:
            return self.join_number(call)
        names = tuple(f"{self.names}_v{n}" for n in range(len(self.contributions)))
        return [assigned(names, call), *self.join_contributions()]

    @property
    def single_use(self) -> bool:
        """Whether there is one contribution, which the join uses once and so needs no variable."""
        return len(self.contributions) == 1 and all(j.single_use for j in self.joins)

    def partial(self, count: int) -> Partial | None:
        """As `Join.partial`, of a reduction with a single contribution."""
        if len(self.joins) != 1 or len(self.contributions) != 1:
            return None
        return self.joins[0].partial(self.contributions[0], count)

    def join_number(self, number: Expr) -> list[Stmt]:
        """Join a number into the state, if `single_use`."""
        (join,) = self.joins
        return join.accumulate((cast(number, join.takes[0]),))

    def join_contributions(self) -> list[Stmt]:
        """Join the contributions in the variables `_v0`, `_v1` and so on."""
        out: list[Stmt] = []
        rest = iter(range(len(self.contributions)))
        for join in self.joins:
            values: list[Expr] = []
            for wanted, n in zip(join.takes, rest, strict=False):
                value = cast(Var(f"{self.names}_v{n}", self.contributions[n]), wanted)
                if not isinstance(value, Var):
                    out.append(Assign(f"{self.names}_w{n}", value))
                    value = Var(f"{self.names}_w{n}", wanted)
                values.append(value)
            out += join.accumulate(tuple(values))
        return out

    def merge(self, others: tuple[Expr, ...]) -> list[Stmt]:
        """Join another state into the state."""
        if len(others) == 1:
            return self.joins[0].join(others)
        held = [Var(f"{self.names}_m{n}", s.type) for n, s in enumerate(self.states)]
        out: list[Stmt] = [Assign(h.name, o) for h, o in zip(held, others, strict=True)]
        rest = iter(held)
        for join in self.joins:
            out += join.join(tuple(next(rest) for _ in join.states))
        return out

    def prefix(self) -> tuple[Expr, ...]:
        """The value joined so far."""
        return tuple(e for j in self.joins for e in j.value())

    def finish(self) -> tuple[list[Stmt], tuple[Expr, ...]]:
        """Statements that compute the result, and the result's numbers."""
        statements: list[Stmt] = []
        numbers: list[Expr] = []
        for join in self.joins:
            more, values = join.finish()
            statements += more
            numbers += values
        return statements, tuple(numbers)

    def accumulate_function(self, name: str) -> ir.Function:
        """A function of the state and a contribution that returns the state with both joined."""
        given = [Var(f"{self.names}_v{n}", t) for n, t in enumerate(self.contributions)]
        parameters = (*(s.var for s in self.states), *given)
        body = (*self.join_contributions(), returned(tuple(s.var for s in self.states)))
        return self._function(name, parameters, body)

    def prefix_function(self, name: str) -> ir.Function:
        """A function that returns the value of a state."""
        parameters = tuple(s.var for s in self.states)
        return self._function(name, parameters, (returned(self.prefix()),))

    def merge_function(self, name: str) -> ir.Function:
        """A function that joins two states, the first of which precedes the second."""
        others = tuple(Var(f"{s.name}_b", s.type) for s in self.states)
        parameters = (*(s.var for s in self.states), *others)
        body = (*self.merge(others), returned(tuple(s.var for s in self.states)))
        return self._function(name, parameters, body)

    def result_function(self, name: str) -> ir.Function:
        """A function that returns the result of a state."""
        statements, numbers = self.finish()
        parameters = tuple(s.var for s in self.states)
        return self._function(name, parameters, (*statements, returned(numbers)))

    def _function(
        self, name: str, parameters: tuple[Var, ...], body: tuple[Stmt, ...]
    ) -> ir.Function:
        own = {p.name for p in parameters}
        types: dict[str, Scalar | ViewTy] = {n: t for n, t in self.locals().items() if n not in own}
        last = body[-1]
        assert isinstance(last, ir.Return) and last.value is not None
        numbers = last.value if isinstance(last.value, tuple) else (last.value,)
        return ir.Function(name, parameters, returned_type(numbers), types, body)

    def locals(self) -> dict[str, Scalar]:
        """Types of the variables that these statements use."""
        found = {s.name: s.type for s in self.states}
        found |= {f"{self.names}_m{n}": s.type for n, s in enumerate(self.states)}
        taken = [t for j in self.joins for t in j.takes]
        for n, (given, wanted) in enumerate(zip(self.contributions, taken, strict=False)):
            found |= {f"{self.names}_v{n}": given, f"{self.names}_w{n}": wanted}
        for join in self.joins:
            found |= join.temporaries()
        return found


def returned(numbers: tuple[Expr, ...]) -> Stmt:
    """A statement that returns numbers."""
    return ir.Return(numbers[0] if len(numbers) == 1 else numbers)


def returned_type(numbers: tuple[Expr, ...]) -> Scalar | TupleTy:
    """Type of a function that returns numbers."""
    types = tuple(e.type for e in numbers)
    found = types[0] if len(types) == 1 else TupleTy(types)
    assert isinstance(found, Scalar | TupleTy)
    return found

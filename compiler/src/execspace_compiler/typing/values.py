"""Values in typing rules: expressions, and aggregates that exist only at compile time.

A tuple, a subview or a function in a kernel is never an object at run time; it is replaced by
scalars in separate variables, see `value_types.py`.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from execspace.base.dataclass import dataclass

from .. import ir
from ..ir.types import (
    Element,
    Scalar,
    ViewTy,
)  # fmt: skip
from .definitions import Definition


@dataclass(frozen=True, slots=True)
class TupleValue:
    """A tuple: its items, and their names if it is a NamedTuple or record; `own` is the class of
    a record with operators."""

    items: tuple[Value, ...]
    names: tuple[str, ...] = ()
    own: type | None = None

    def of(self, items: tuple[Value, ...]) -> TupleValue:
        """Such a tuple of other items."""
        return TupleValue(items, self.names, self.own)


@dataclass(frozen=True, slots=True)
class StructValue:
    """An argument that is an instance of a dataclass: its fields by name, and those that are
    constants."""

    cls: type
    names: tuple[str, ...]
    items: tuple[Value, ...]
    constants: tuple[FixedField, ...]


@dataclass(frozen=True, slots=True)
class FixedField:
    """A field that is a constant; compared by its tag."""

    name: str
    tag: object
    value: Value = field(compare=False)


@dataclass(frozen=True, slots=True)
class Obj:
    """A compile-time object that is not a number: a library function, a type, a string, None."""

    value: Any
    path: str


@dataclass(frozen=True, slots=True)
class Method:
    """An attribute of a value that can only be called: `A.extent`."""

    owner: Value
    name: str


@dataclass(frozen=True, slots=True)
class ViewPart:
    """`z.real` or `z.imag` of a View of complex numbers, which can only be indexed."""

    view: Value
    name: str


@dataclass(frozen=True, slots=True)
class FunctionValue:
    """A Python function: its definition, and the variables and Views that it captures.

    `env` is None for a nested function within the function that defines it: there its variables
    are read at each call, as in Python.
    """

    definition: Definition
    env: tuple[tuple[str, Value], ...] | None


@dataclass(frozen=True, slots=True)
class Fixed:
    """A dimension of a View that a subview drops: its index."""

    index: ir.Expr


@dataclass(frozen=True, slots=True)
class Span:
    """A dimension that a subview keeps: its start, step and extent."""

    start: ir.Expr
    step: int
    extent: ir.Expr


@dataclass(frozen=True, slots=True)
class ViewRef:
    """A part of a View: one entry for each dimension of `base`; for part of a record also the
    field's type and its offset in bytes from the start of the element."""

    base: ir.Var
    dims: tuple[Fixed | Span, ...]
    field: Element | None = None
    byte: ir.Expr | None = None

    @property
    def spans(self) -> tuple[Span, ...]:
        """The dimensions of the part."""
        return tuple(d for d in self.dims if isinstance(d, Span))


@dataclass(frozen=True, slots=True)
class Place:
    """An element in memory (an lvalue)."""

    view: ir.Var
    indices: tuple[ir.Expr, ...]
    byte: ir.Expr | None
    type: Scalar


def is_atomic(place: Place) -> bool:
    """Whether it is accessed atomically, since its View has the atomic trait."""
    return isinstance(place.view.type, ViewTy) and "atomic" in place.view.type.traits


@dataclass(frozen=True, slots=True)
class TeamValue:
    """The handle of a team: rank and size of the league, and of the team."""

    league_rank: ir.Expr
    league_size: ir.Expr
    team_rank: ir.Expr
    team_size: ir.Expr


TEAM_PARTS = ("league_rank", "league_size", "team_rank", "team_size")


@dataclass(frozen=True, slots=True)
class NestedRange:
    """A range whose iterations are distributed over a level of a team; `name` is that in the
    source, such as "es.TeamThreadRange"."""

    level: str
    starts: tuple[ir.Expr, ...]
    stops: tuple[ir.Expr, ...]
    name: str


@dataclass(frozen=True, slots=True)
class Single:
    """`es.PerTeam(team)` or `es.PerThread(team)`: the argument of `es.single`."""

    team: TeamValue
    level: str


@dataclass(frozen=True, slots=True)
class ItemOf:
    """`owner[key]` of an object, to be read or stored by methods of its class."""

    owner: StructValue
    key: Value


@dataclass(frozen=True, slots=True)
class Chosen:
    """One of several Views, elements, functions or objects: `which` is its number at run time."""

    which: ir.Expr
    options: tuple[Any, ...]


Value = (
    ir.Expr | TupleValue | StructValue | Obj | Method | FunctionValue | ViewRef | TeamValue
    | NestedRange | Single | Chosen | ViewPart | ItemOf
)  # fmt: skip

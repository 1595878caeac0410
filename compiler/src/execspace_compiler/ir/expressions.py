"""Expressions of typed IR: each has a type and a Loc, and no side effects.

Conversions are explicit: operands of an operation have the type that it is computed in.
Integer arithmetic wraps.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from execspace.base.dataclass import dataclass

from .diagnostics import NOWHERE, Loc
from .types import BOOL, INDEX, INT64, Scalar, Type


@dataclass(frozen=True, slots=True)
class Const:
    """A number of a given type."""

    value: Any
    type: Scalar
    loc: Loc = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        value = np.dtype(self.type.name).type(self.value)
        text = repr(value.item())
        if self.type.is_float and value == value and abs(value) != np.inf:
            text = float(value).hex()
        return f"{text}:{self.type.strong}"


@dataclass(frozen=True, slots=True)
class Var:
    """A local variable or parameter."""

    name: str
    type: Type
    loc: Loc = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Op:
    """An operation on scalars; the names are the keys of `ops.OPERATIONS`."""

    op: str
    args: tuple[Expr, ...]
    type: Scalar
    loc: Loc = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"{self.op}:{self.type.strong}({', '.join(map(str, self.args))})"


@dataclass(frozen=True, slots=True)
class Select:
    """`then if test else orelse`; only the chosen side is evaluated."""

    test: Expr
    then: Expr
    orelse: Expr
    type: Scalar
    loc: Loc = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"select({self.test}, {self.then}, {self.orelse})"


@dataclass(frozen=True, slots=True)
class Load:
    """An element of a View or local array; of records the number `byte` bytes from its start.

    Of type Vector it is an element for each lane: subscripts are vectors, or are the same for all.
    Lanes for which `mask` does not hold read nothing; what they get is any number.
    """

    view: Var
    indices: tuple[Expr, ...]
    type: Scalar
    loc: Loc = field(default=NOWHERE, compare=False)
    byte: Expr | None = None
    mask: Expr | None = None

    def __str__(self) -> str:
        at = f"{self.view}[{', '.join(map(str, self.indices))}]"
        at = at if self.byte is None else f"{at}.({self.byte})"
        return at if self.mask is None else f"{at} if {self.mask}"


@dataclass(frozen=True, slots=True)
class LoadAt:
    """An entry of a row of scalars in generated code."""

    pointer: Var
    index: Expr
    type: Scalar
    loc: Loc = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"*({self.pointer} + {self.index})"


@dataclass(frozen=True, slots=True)
class Extent:
    """An extent of a View, int64."""

    view: Var
    dimension: int
    type: Scalar = INT64
    loc: Loc = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"extent({self.view}, {self.dimension})"


@dataclass(frozen=True, slots=True)
class Beyond:
    """By how many elements the address of an element of a View is beyond a multiple of `count`."""

    view: Var
    indices: tuple[Expr, ...]
    count: int
    type: Scalar = INDEX
    loc: Loc = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"beyond({self.view}[{', '.join(map(str, self.indices))}], {self.count})"


@dataclass(frozen=True, slots=True)
class Call:
    """A call of another function of the module that returns one scalar or nothing."""

    function: str
    args: tuple[Expr, ...]
    type: Scalar
    loc: Loc = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.args))})"


Expr = Const | Var | Op | Select | Load | LoadAt | Extent | Beyond | Call


# -- building blocks of generated IR ----------------------------------------------------------


def integer(value: int) -> Const:
    """A constant of index arithmetic, which is assumed not to overflow."""
    return Const(value, INDEX)


def var(name: str) -> Var:
    """A variable of index arithmetic."""
    return Var(name, INDEX)


def op(name: str, *args: Expr) -> Expr:
    """An operation in the type of its operands; comparisons give bool."""
    first = args[0].type
    assert isinstance(first, Scalar)
    return Op(name, args, BOOL if name in ("lt", "le", "gt", "ge", "eq", "ne") else first)

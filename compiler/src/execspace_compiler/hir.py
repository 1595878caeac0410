"""HIR: the kernel after names are resolved and Python's sugar is lowered, not yet typed.

Operators are names ("add", "lt", ...). Chained comparisons are conjunctions, `for ... else`
is a flag and an if, docstrings and annotations are gone. Every node has a Loc.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .diagnostics import Loc


@dataclass(frozen=True, slots=True)
class Node:
    """Base of HIR nodes."""

    loc: Loc


@dataclass(frozen=True, slots=True)
class Constant(Node):
    """A literal."""

    value: Any


@dataclass(frozen=True, slots=True)
class Local(Node):
    """A parameter or local variable."""

    name: str


@dataclass(frozen=True, slots=True)
class Outer(Node):
    """A value from an enclosing scope; `path` is its dotted name."""

    path: str
    value: Any


@dataclass(frozen=True, slots=True)
class Attribute(Node):
    """`base.name`, where `base` is not a module."""

    base: Expr
    name: str


@dataclass(frozen=True, slots=True)
class Subscript(Node):
    """`base[indices]`."""

    base: Expr
    indices: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Operation(Node):
    """An operator applied to one or two operands."""

    op: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Logical(Node):
    """Short-circuit "and" or "or"."""

    op: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Conditional(Node):
    """`then if test else orelse`."""

    test: Expr
    then: Expr
    orelse: Expr


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A call of a builtin, library function, cast, method or helper."""

    function: Expr
    args: tuple[Expr, ...]
    keywords: tuple[tuple[str, Expr], ...]


@dataclass(frozen=True, slots=True)
class Tuple(Node):
    """A tuple display."""

    items: tuple[Expr, ...]


Expr = (
    Constant | Local | Outer | Attribute | Subscript | Operation | Logical | Conditional | Call
    | Tuple
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Assign(Node):
    """`target = value`; a Tuple target unpacks."""

    target: Expr
    value: Expr


@dataclass(frozen=True, slots=True)
class Update(Node):
    """`target op= value`; the target's indices are evaluated once."""

    target: Expr
    op: str
    value: Expr


@dataclass(frozen=True, slots=True)
class If(Node):
    """Conditional statement."""

    test: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class For(Node):
    """`for name in range(start, stop, step)`."""

    name: str
    start: Expr
    stop: Expr
    step: Expr
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class While(Node):
    """`while test`."""

    test: Expr
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Break(Node):
    """`break`."""


@dataclass(frozen=True, slots=True)
class Continue(Node):
    """`continue`."""


@dataclass(frozen=True, slots=True)
class Return(Node):
    """`return value`."""

    value: Expr | None


@dataclass(frozen=True, slots=True)
class Evaluate(Node):
    """An expression as a statement."""

    value: Expr


Stmt = Assign | Update | If | For | While | Break | Continue | Return | Evaluate


@dataclass(frozen=True, slots=True)
class Function:
    """A function in HIR."""

    name: str
    parameters: tuple[str, ...]
    body: tuple[Stmt, ...]
    loc: Loc
    is_lambda: bool


def targets(s: Stmt) -> list[Local]:
    """Variables that a statement assigns, tuples taken apart."""
    if not isinstance(s, Assign | Update):
        return []
    todo: list[Expr] = [s.target]
    found = []
    while todo:
        t = todo.pop()
        if isinstance(t, Tuple):
            todo += t.items
        elif isinstance(t, Local):
            found.append(t)
    return found


def walk(body: Sequence[Stmt]) -> list[Stmt]:
    """All statements of a body, nested ones included, in order."""
    found: list[Stmt] = []
    for s in body:
        found.append(s)
        if isinstance(s, If):
            found += walk(s.body) + walk(s.orelse)
        elif isinstance(s, For | While):
            found += walk(s.body)
    return found


def always_returns(body: Sequence[Stmt]) -> bool:
    """Whether no path through a body reaches its end."""
    for s in body:
        if isinstance(s, Return):
            return True
        if isinstance(s, If) and always_returns(s.body) and always_returns(s.orelse):
            return True
        if isinstance(s, While) and isinstance(s.test, Constant) and s.test.value:
            if not any(isinstance(b, Break) for b in walk(s.body)):
                return True
    return False

"""HIR: the kernel with names resolved and Python's syntactic sugar lowered, not yet typed.

Operators are names ("add", "lt", ...). Chained comparisons are conjunctions, `for ... else` is a
flag and an if, docstrings and annotations are dropped. Every node has a Loc.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from execspace.base.dataclass import dataclass

from ..ir.diagnostics import Loc
from .names import Names


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
    value: Any = field(compare=False)
    names: Names = field(compare=False)


@dataclass(frozen=True, slots=True)
class Undefined(Node):
    """An undefined name: a fault where it is used, but not in code that is compiled out."""

    message: str
    hint: str


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
class Slice(Node):
    """`start:stop:step` in a subscript."""

    start: Expr | None
    stop: Expr | None
    step: Expr | None


@dataclass(frozen=True, slots=True)
class Operation(Node):
    """An operator applied to one or two operands."""

    op: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Chain(Node):
    """`a < b <= c`: each operand is evaluated once, and only while all tests hold."""

    ops: tuple[str, ...]
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


@dataclass(frozen=True, slots=True)
class Named(Node):
    """`(name := value)`."""

    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Lambda(Node):
    """A nested function or lambda, with the defaults of its last parameters."""

    function: Function
    defaults: tuple[tuple[str, Expr], ...]


Expr = (
    Constant | Local | Outer | Undefined | Attribute | Subscript | Slice | Operation | Chain
    | Logical | Conditional | Call | Tuple | Named | Lambda
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
class Arm(Node):
    """`elif test: body`."""

    test: Expr
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Cases(Node):
    """A long chain of if and elif."""

    arms: tuple[Arm, ...]
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
class ForEach(Node):
    """`for target in items` over a tuple: the body is unrolled."""

    target: Expr
    items: Expr
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


@dataclass(frozen=True, slots=True)
class Assert(Node):
    """`assert test, message`."""

    test: Expr
    message: str


Stmt = (
    Assign | Update | If | Cases | For | ForEach | While | Break | Continue | Return | Evaluate
    | Assert
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Function:
    """A function in HIR.

    `free` are variables of the enclosing function that it reads, and captured Views. If `strict`,
    its arithmetic is neither contracted nor reassociated. `static` are parameters of a nested
    function that are constants.
    """

    name: str
    parameters: tuple[str, ...]
    body: tuple[Stmt, ...]
    loc: Loc
    is_lambda: bool
    free: tuple[str, ...] = ()
    strict: bool = False
    static: tuple[str, ...] = ()


def children(e: Expr) -> tuple[Expr, ...]:
    """Direct subexpressions, in the order of evaluation."""
    match e:
        case Attribute():
            return (e.base,)
        case Subscript():
            return (e.base, *e.indices)
        case Slice():
            return tuple(x for x in (e.start, e.stop, e.step) if x is not None)
        case Operation() | Logical() | Chain():
            return e.args
        case Conditional():
            return (e.test, e.then, e.orelse)
        case Call():
            return (e.function, *e.args, *(v for _, v in e.keywords))
        case Tuple():
            return e.items
        case Named():
            return (e.value,)
        case Lambda():
            return tuple(v for _, v in e.defaults)
    return ()


def direct(s: Stmt) -> tuple[Expr, ...]:
    """Expressions of a statement, without those of nested statements."""
    match s:
        case Assign() | Update():
            return (s.value, s.target)
        case If() | While() | Assert():
            return (s.test,)
        case Cases():
            return tuple(arm.test for arm in s.arms)
        case For():
            return (s.start, s.stop, s.step)
        case ForEach():
            return (s.items,)
        case Return():
            return () if s.value is None else (s.value,)
        case Evaluate():
            return (s.value,)
    return ()


def named(e: Expr) -> list[str]:
    """Variables that an expression assigns."""
    found = []
    todo = [e]
    while todo:
        e = todo.pop()
        if isinstance(e, Named):
            found.append(e.name)
        todo += reversed(children(e))
    return found


def targets(s: Stmt) -> list[Local]:
    """Variables that a statement assigns, without those nested in it; tuples are flattened."""
    found = [Local(s.loc, n) for e in direct(s) for n in named(e)]
    if isinstance(s, For):
        found.append(Local(s.loc, s.name))
    if not isinstance(s, Assign | Update | ForEach):
        return found
    todo: list[Expr] = [s.target]
    while todo:
        t = todo.pop()
        if isinstance(t, Tuple):
            todo += t.items
        elif isinstance(t, Local):
            found.append(t)
    return found


def bodies(s: Stmt) -> tuple[tuple[Stmt, ...], ...]:
    """Alternatives: the branches of an if or a chain of elif; empty for other statements."""
    match s:
        case If():
            return (s.body, s.orelse)
        case Cases():
            return (*(arm.body for arm in s.arms), s.orelse)
    return ()


def walk(body: Sequence[Stmt]) -> list[Stmt]:
    """All statements of a body, nested ones included, in order."""
    found: list[Stmt] = []
    for s in body:
        found.append(s)
        for inner in bodies(s):
            found += walk(inner)
        if isinstance(s, For | ForEach | While):
            found += walk(s.body)
    return found


def leaves(body: Sequence[Stmt]) -> bool:
    """Whether a loop's body has a break or continue of that loop."""
    return any(isinstance(s, Break | Continue) or any(map(leaves, bodies(s))) for s in body)


def breaks(body: Sequence[Stmt]) -> bool:
    """Whether a loop's body has a break of that loop."""
    return any(isinstance(s, Break) or any(map(breaks, bodies(s))) for s in body)


def always_returns(body: Sequence[Stmt], decided: Mapping[int, bool]) -> bool:
    """Whether all paths through a body return.

    `decided` holds the outcome of tests that are compile-time constants, by `id` of the node.
    """
    for s in body:
        if isinstance(s, Return):
            return True
        if isinstance(s, If):
            branches = [s.body, s.orelse]
            if id(s) in decided:
                branches = [s.body if decided[id(s)] else s.orelse]
            if all(always_returns(b, decided) for b in branches):
                return True
        if isinstance(s, Cases):
            arms, certain = possible(s, decided)
            branches = [arm.body for arm in arms] + ([] if certain else [s.orelse])
            if all(always_returns(b, decided) for b in branches):
                return True
        if isinstance(s, While) and decided.get(id(s)) and not breaks(s.body):
            return True
    return False


def possible(s: Cases, decided: Mapping[int, bool]) -> tuple[list[Arm], bool]:
    """Arms that constant tests do not rule out, and whether the last one is always taken."""
    found = []
    for arm in s.arms:
        outcome = decided.get(id(arm))
        if outcome is not False:
            found.append(arm)
        if outcome:
            return found, True
    return found, False

"""Typed IR: structured control flow, every expression typed, every node with its Loc.

What the printers print. Conversions are explicit: operands of an operation have the type that
the operation works in. Integer arithmetic wraps. Expressions are free of side effects.
`str(function)` prints a canonical text, which is what caches hash.
"""

# ruff: noqa: PLC0414  # what ir_failures.py and ir_team.py define is part of the IR, and named as such
from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .diagnostics import NOWHERE, Loc
from .ir_failures import Fail as Fail
from .ir_failures import Failures as Failures
from .ir_failures import Print as Print
from .ir_team import COLLECTIVES as COLLECTIVES
from .ir_team import Barrier as Barrier
from .ir_team import Broadcast as Broadcast
from .ir_team import Carve as Carve
from .ir_team import Combine as Combine
from .ir_team import FromFirstLane as FromFirstLane
from .ir_team import LaneSync as LaneSync
from .ir_team import Pool as Pool
from .ir_team import Prefix as Prefix
from .ir_team import ScanRange as ScanRange
from .ir_team import Scratch as Scratch
from .ir_team import Split as Split
from .ir_team import TeamStmt as TeamStmt
from .types import BOOL, INDEX, INT64, Scalar, TupleTy, Type, ViewTy

if TYPE_CHECKING:
    from .variables import Declared


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
    """An element of a View or local array; of records the number `byte` bytes from its start."""

    view: Var
    indices: tuple[Expr, ...]
    type: Scalar
    loc: Loc = field(default=NOWHERE, compare=False)
    byte: Expr | None = None

    def __str__(self) -> str:
        at = f"{self.view}[{', '.join(map(str, self.indices))}]"
        return at if self.byte is None else f"{at}.({self.byte})"


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
class Call:
    """A call of another function of the module that returns one scalar or nothing."""

    function: str
    args: tuple[Expr, ...]
    type: Scalar
    loc: Loc = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.args))})"


Expr = Const | Var | Op | Select | Load | LoadAt | Extent | Call


@dataclass(frozen=True, slots=True)
class Assign:
    """Set a scalar variable; the value has the variable's type."""

    name: str
    value: Expr
    loc: Loc = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Unpack:
    """Call a function that returns several scalars and set a variable to each."""

    names: tuple[str, ...]
    value: Call
    loc: Loc = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Store:
    """Set an element of a View or local array; the value has the element's type.

    Of records it is the number `byte` bytes from the start of the element.
    """

    view: Var
    indices: tuple[Expr, ...]
    value: Expr
    loc: Loc = field(default=NOWHERE, compare=False)
    byte: Expr | None = None


@dataclass(frozen=True, slots=True)
class Clear:
    """Set all elements of a local array to zero."""

    array: Var
    loc: Loc = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Atomic:
    """Change an element as one indivisible step: `element = element op value`.

    `op` is an operation of ops.ATOMICS, `type` that of the element, and of `values` there are
    two for "compare_exchange" (expected, desired), none for "load" and one for the others.
    `name` receives the value before it (`fetch` "old") or after it ("new"); it is None where
    neither is wanted. "load" acquires, "store" releases, the exchanges do both; the others are
    relaxed. Only "add" and "sub" of complex128 without a name may change the two parts one
    after the other.
    """

    name: str | None
    op: str
    view: Var
    indices: tuple[Expr, ...]
    type: Scalar
    values: tuple[Expr, ...]
    fetch: str = "old"
    loc: Loc = field(default=NOWHERE, compare=False)
    byte: Expr | None = None

    @property
    def whole(self) -> bool:
        """Whether all bits of the element must change as one."""
        parts = self.type.name == "complex128" and self.op in ("add", "sub")
        return not parts or self.name is not None


@dataclass(frozen=True, slots=True)
class StoreAt:
    """Set an entry of a row of scalars in generated code."""

    pointer: Var
    index: Expr
    value: Expr
    loc: Loc = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class If:
    """Conditional statement."""

    test: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...] = ()
    loc: Loc = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class For:
    """Python's `for name in range(start, stop, step)` over int64, bounds evaluated once.

    `independent` says that iterations may run in any order or at once: its body is one call of
    a kernel, its step one.
    """

    name: str
    start: Expr
    stop: Expr
    step: Expr
    body: tuple[Stmt, ...]
    independent: bool = False
    loc: Loc = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class While:
    """Loop while a test holds."""

    test: Expr
    body: tuple[Stmt, ...]
    loc: Loc = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Break:
    """Leave the innermost loop."""

    loc: Loc = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Continue:
    """Go on with the innermost loop."""

    loc: Loc = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Return:
    """Leave the function with nothing, a number, or as many as its result is a tuple of."""

    value: Expr | tuple[Expr, ...] | None = None
    loc: Loc = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Evaluate:
    """Call a function for its effect."""

    value: Expr
    loc: Loc = field(default=NOWHERE, compare=False)


Stmt = (Assign | Unpack | Store | Atomic | StoreAt | Clear | Fail | Print | If | For | Failures
        | While | Break | Continue | Return | Evaluate | TeamStmt)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Function:
    """A function of typed IR.

    Attributes
    ----------
    name : str
    parameters : tuple of Var
    result : Scalar, TupleTy of scalars, or None
    locals : dict
        Type of each local variable, parameters not included: scalars, and local arrays.
    body : tuple of Stmt
    entry : bool
        Called from a launcher: Views arrive as addresses of their descriptors.
    strict : bool
        Its arithmetic is neither contracted nor reassociated, whatever the module allows.
    declared : Declared or None
        Names of the source and their types, for `explain`; None of generated functions.
    """

    name: str
    parameters: tuple[Var, ...]
    result: Scalar | TupleTy | None
    locals: dict[str, Scalar | ViewTy]
    body: tuple[Stmt, ...]
    entry: bool = False
    loc: Loc = field(default=NOWHERE, compare=False)
    strict: bool = False
    declared: Declared | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        from .ir_text import function_text  # which needs this module

        return function_text(self)


@dataclass(frozen=True, slots=True)
class Module:
    """The functions of one launch, callees first; the last ones are entries.

    `disjoint` says that no two Views of the launch overlap in memory.
    """

    functions: tuple[Function, ...]
    fma: bool = True
    fastmath: bool = False
    disjoint: bool = False

    def __str__(self) -> str:
        options = f"fma={self.fma} fastmath={self.fastmath} disjoint={self.disjoint}"
        return "\n\n".join([options, *map(str, self.functions)])

    def function(self, name: str) -> Function:
        """The function of that name."""
        return next(f for f in self.functions if f.name == name)


# -- building blocks of generated IR ----------------------------------------------------------


def integer(value: int) -> Const:
    """A constant of index arithmetic, which is taken not to overflow."""
    return Const(value, INDEX)


def var(name: str) -> Var:
    """A variable of index arithmetic."""
    return Var(name, INDEX)


def op(name: str, *args: Expr) -> Expr:
    """An operation in the type of its operands; comparisons give bool."""
    first = args[0].type
    assert isinstance(first, Scalar)
    return Op(name, args, BOOL if name in ("lt", "le", "gt", "ge", "eq", "ne") else first)


def walk_statements(body: tuple[Stmt, ...]) -> list[Stmt]:
    """All statements of a body, nested ones included, in order."""
    found: list[Stmt] = []
    for s in body:
        found.append(s)
        for body in bodies(s):
            found += walk_statements(body)
    return found


def bodies(s: Stmt) -> tuple[tuple[Stmt, ...], ...]:
    """Bodies of a statement that holds others."""
    match s:
        case If():
            return (s.body, s.orelse)
        case For() | While() | Split() | Pool():
            return (s.body,)
        case ScanRange():
            return (s.probe, s.body)
    return ()


def with_bodies(s: Stmt, new: tuple[tuple[Stmt, ...], ...]) -> Stmt:
    """The statement with other bodies, in the order of `bodies`."""
    match s:
        case If():
            return replace(s, body=new[0], orelse=new[1])
        case For() | While() | Split() | Pool():
            return replace(s, body=new[0])
        case ScanRange():
            return replace(s, probe=new[0], body=new[1])
    return s


def operands(e: Expr) -> tuple[Expr, ...]:
    """Direct subexpressions."""
    match e:
        case Op() | Call():
            return e.args
        case Select():
            return (e.test, e.then, e.orelse)
        case Load():
            return e.indices if e.byte is None else (*e.indices, e.byte)
        case LoadAt():
            return (e.index,)
    return ()


def with_operands(e: Expr, new: tuple[Expr, ...]) -> Expr:
    """The expression with other direct subexpressions, in the order of `operands`."""
    match e:
        case Op() | Call():
            return replace(e, args=new)
        case Select():
            return replace(e, test=new[0], then=new[1], orelse=new[2])
        case Load():
            rank = len(e.indices)
            return replace(e, indices=new[:rank], byte=new[rank] if len(new) > rank else None)
        case LoadAt():
            return replace(e, index=new[0])
    return e


def expressions(s: Stmt) -> tuple[Expr, ...]:
    """Expressions that stand directly in a statement."""
    match s:
        case Assign() | Evaluate() | Unpack():
            return (s.value,)
        case Store():
            return (*s.indices, s.value) if s.byte is None else (*s.indices, s.byte, s.value)
        case Atomic():
            return (*s.indices, *(() if s.byte is None else (s.byte,)), *s.values)
        case StoreAt():
            return (s.index, s.value)
        case If() | While():
            return (s.test,)
        case For():
            return (s.start, s.stop, s.step)
        case Failures():
            return (s.start, s.stop, s.call)
        case Return():
            if isinstance(s.value, tuple):
                return s.value
            return () if s.value is None else (s.value,)
        case Fail():
            return (s.code, *s.indices)
        case Print():
            return tuple(p[1] for p in s.parts if not isinstance(p, str))
        case Split():
            return (*s.starts, *s.stops)
        case ScanRange():
            return (s.start, s.stop)
        case Broadcast():
            return (s.rank,)
        case Scratch():
            return s.shape
        case Carve():
            return (*s.shape, s.offset)
        case Pool():
            return (s.nbytes,)
    return ()


def with_expressions(s: Stmt, new: tuple[Expr, ...]) -> Stmt:
    """The statement with other direct expressions, in the order of `expressions`."""
    match s:
        case Assign() | Evaluate():
            return replace(s, value=new[0])
        case Unpack():
            assert isinstance(new[0], Call)
            return replace(s, value=new[0])
        case Store() | Atomic():
            rank = len(s.indices)
            byte = None if s.byte is None else new[rank]
            if isinstance(s, Store):
                return replace(s, indices=new[:rank], byte=byte, value=new[-1])
            return replace(s, indices=new[:rank], byte=byte, values=new[len(new) - len(s.values) :])
        case StoreAt():
            return replace(s, index=new[0], value=new[1])
        case If() | While():
            return replace(s, test=new[0])
        case For():
            return replace(s, start=new[0], stop=new[1], step=new[2])
        case Failures():
            assert isinstance(new[2], Call)
            return replace(s, start=new[0], stop=new[1], call=new[2])
        case Return():
            if isinstance(s.value, tuple):
                return replace(s, value=new)
            return s if s.value is None else replace(s, value=new[0])
        case Fail():
            return replace(s, code=new[0], indices=new[1:])
        case Print():
            rest = iter(new)
            parts = tuple(p if isinstance(p, str) else (p[0], next(rest)) for p in s.parts)
            return replace(s, parts=parts)
        case Split():
            rank = len(s.names)
            return replace(s, starts=new[:rank], stops=new[rank:])
        case ScanRange():
            return replace(s, start=new[0], stop=new[1])
        case Broadcast():
            return replace(s, rank=new[0])
        case Scratch():
            return replace(s, shape=new)
        case Carve():
            return replace(s, shape=new[:-1], offset=new[-1])
        case Pool():
            return replace(s, nbytes=new[0])
    return s


def names_set(s: Stmt) -> tuple[str, ...]:
    """Scalar variables that a statement itself sets."""
    match s:
        case Assign() | For():
            return (s.name,)
        case Atomic():
            return () if s.name is None else (s.name,)
        case Unpack() | Split() | Failures():
            return s.names
        case Combine():
            return tuple(v.name for v in s.states)
        case Prefix():
            return tuple(v.name for v in (*s.states, *s.totals))
        case ScanRange():
            return (s.name, *(v.name for v in (*s.states, *s.own)))
        case Broadcast() | FromFirstLane():
            return tuple(v.name for v in s.values)
    return ()


def writes(s: Store | Atomic) -> bool:
    """Whether it is more than an atomic load."""
    return isinstance(s, Store) or s.op != "load"


def outcome(op: str, old: Expr, value: Expr, type: Scalar) -> Expr:
    """What an atomic step `op` of ops.ATOMICS stores, from the element and the value.

    Not for "load" and "compare_exchange", which need no arithmetic.
    """
    if op in ("exchange", "store"):
        return value
    if op == "nand":
        both = Op("bitand", (old, value), type)
        return Op("not" if type.kind == "b" else "invert", (both,), type)
    name = {"min": "minimum", "max": "maximum"}.get(op, op)
    return Op(name, (old, value), type)


def written_views(function: Function) -> frozenset[str]:
    """View parameters that a function may store into, itself or through a helper."""
    statements = walk_statements(function.body)
    names = {s.view.name for s in statements if isinstance(s, Store | Atomic) and writes(s)}
    for e in walk_expressions(function.body):
        if isinstance(e, Call):
            passed = (a for a in e.args if isinstance(a, Var) and isinstance(a.type, ViewTy))
            names |= {a.name for a in passed if isinstance(a.type, ViewTy) and not a.type.readonly}
    return frozenset(names)


def walk_expressions(body: tuple[Stmt, ...]) -> list[Expr]:
    """All expressions of a body, outer before inner."""
    todo = [e for s in walk_statements(body) for e in expressions(s)]
    found: list[Expr] = []
    while todo:
        e = todo.pop()
        found.append(e)
        todo += operands(e)
    return found

"""Statements of typed IR: structured control flow, Views, failures, teams.

A team has threads, and each thread has lanes. Levels: "thread" is the threads of a team, "vector"
the lanes of a thread, "team" all lanes of all threads. Code outside of loops over lanes is done
once for each thread.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .diagnostics import NOWHERE, Loc
from .expressions import Call, Const, Expr, Var
from .types import Scalar


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
    def indivisible(self) -> bool:
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


@dataclass(frozen=True, slots=True)
class Fail:
    """Report that assertion number `code` failed at these indices of the policy."""

    code: Expr
    indices: tuple[Expr, ...]
    loc: Loc = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Print:
    """Write text to standard output: constant strings, and numbers as a C conversion says.

    `parts` holds strings and (conversion without length modifier, number) pairs.
    """

    parts: tuple[str | tuple[str, Expr], ...]
    loc: Loc = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Failures:
    """Call a body for each `start <= name < stop`, in any order, and tell whether it failed.

    Attributes
    ----------
    names : tuple of str
        One variable: the call tells whether something failed, and so does the variable. Two: the
        call returns the number of an assertion that failed, or 0; they are set to the index of the
        first failure, `stop` if there is none, and to that number.
    count : int
        The greatest such number; 0 if it is not asked for.
    rows : bool
        It runs for many ranges, which may be short.
    bits : int
        Of what is computed to see whether something failed; 1 where comparisons give masks.
    """

    names: tuple[str, ...]
    name: str
    start: Expr
    stop: Expr
    call: Call
    count: int = 0
    rows: bool = False
    bits: int = 1
    loc: Loc = field(default=NOWHERE, compare=False)


# -- statements of a team; levels: see the head of this file --------------------------------------


@dataclass(frozen=True, slots=True)
class Barrier:
    """All threads of a team wait for each other, and then see what the others stored."""

    loc: Loc = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Split:
    """A nested range: its iterations are shared out among the members of a level.

    Member r of n has iterations r, r + n, r + 2n ... of it, of several names counted with the last
    one fastest. Variables that its body sets have no value at its begin and after it.
    """

    level: str
    names: tuple[str, ...]
    starts: tuple[Expr, ...]
    stops: tuple[Expr, ...]
    body: tuple[Stmt, ...]
    loc: Loc = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Combine:
    """Join the states that members hold in variables, in order of the members; all get the result.

    `merge` is a function of two states, each of the numbers `states`.
    """

    level: str
    states: tuple[Var, ...]
    merge: str
    loc: Loc = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Prefix:
    """Set each member's state to what the members before it hold, joined; of the first `identity`.

    `totals` get what all hold.
    """

    level: str
    states: tuple[Var, ...]
    totals: tuple[Var, ...]
    identity: tuple[Const, ...]
    merge: str
    loc: Loc = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class ScanRange:
    """A nested scan: iterations are shared out as those of `Split`.

    `probe` sets `own`, the state that the iteration contributes, where the prefix is not known.
    `body` is the iteration itself, with the prefix in `states`, and sets `own`, too. After it
    `states` hold the total.
    """

    level: str
    name: str
    start: Expr
    stop: Expr
    states: tuple[Var, ...]
    own: tuple[Var, ...]
    identity: tuple[Const, ...]
    merge: str
    probe: tuple[Stmt, ...]
    body: tuple[Stmt, ...]
    loc: Loc = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Broadcast:
    """Set variables of all threads to what those of the thread `rank` hold."""

    values: tuple[Var, ...]
    rank: Expr
    loc: Loc = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Scratch:
    """A View over memory that a team ("team") or each thread of it ("thread") has for itself.

    It has the same place each time that it is executed. `shape` is of the extents that the type of
    the View does not know.
    """

    view: Var
    shape: tuple[Expr, ...]
    level: int
    owner: str
    loc: Loc = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Carve:
    """Make a View over memory that begins `offset` bytes from a pointer; what is left of `Scratch`.

    `shape` is of all extents.
    """

    view: Var
    shape: tuple[Expr, ...]
    pool: Var
    offset: Expr
    loc: Loc = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Pool:
    """Statements with memory of so many bytes, which a pointer is set to."""

    pointer: Var
    nbytes: Expr
    body: tuple[Stmt, ...]
    loc: Loc = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class LaneSync:
    """The lanes of a thread wait for each other, and then see what the others stored."""

    loc: Loc = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class FromFirstLane:
    """Set variables of all lanes of a thread to what the first one holds."""

    values: tuple[Var, ...]
    loc: Loc = field(default=NOWHERE, compare=False)


TeamStmt = (
    Barrier | Split | Combine | Prefix | ScanRange | Broadcast | Scratch | Carve | Pool | LaneSync
    | FromFirstLane
)  # fmt: skip
COLLECTIVES = (Barrier, Combine, Prefix, ScanRange, Broadcast)


Stmt = (Assign | Unpack | Store | Atomic | StoreAt | Clear | Fail | Print | If | For | Failures
        | While | Break | Continue | Return | Evaluate | TeamStmt)  # fmt: skip

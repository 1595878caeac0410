"""Statements of typed IR: structured control flow, Views, failures, teams.

A team has threads, and each thread has lanes. Levels: "thread" is the threads of a team, "vector"
the lanes of a thread, "team" all lanes of all threads. Code outside loops over lanes runs once
for each thread.
"""

from __future__ import annotations

from dataclasses import field

from execspace.base.dataclass import dataclass

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

    For records, the scalar `byte` bytes from the start of the element. With a `mask` each lane for
    which it holds stores a lane of the value, which is a vector; of several at one place, any one.
    """

    view: Var
    indices: tuple[Expr, ...]
    value: Expr
    loc: Loc = field(default=NOWHERE, compare=False)
    byte: Expr | None = None
    mask: Expr | None = None


@dataclass(frozen=True, slots=True)
class Clear:
    """Set all elements of a local array to zero."""

    array: Var
    loc: Loc = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Atomic:
    """An atomic operation on an element: `element = element op value`.

    `op` is an operation of ops.ATOMICS and `type` the type of the element. `values` holds two for
    "compare_exchange" (expected, desired), none for "load" and one for the others. `name` receives
    the value before it (`fetch` "old") or after it ("new"), or is None if neither is used. "load"
    acquires, "store" releases, the exchanges do both; the others are relaxed. Only "add" and "sub"
    of complex128 without a name may update the two parts one after the other.
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
        """Whether all bits of the element must change in one operation."""
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
class Packed:
    """Copy neighbouring elements of a View to a local array, or back, by one access.

    Attributes
    ----------
    array, view : Var
    indices : tuple of Expr
        Subscripts of the first element, whose address is a multiple of the size of the array.
    store : bool
        From the array to the View.
    nontemporal : bool
        The launch does not access them again, so caches need not keep them.
    """

    array: Var
    view: Var
    indices: tuple[Expr, ...]
    store: bool
    nontemporal: bool = False
    loc: Loc = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class If:
    """Conditional statement; if `rare`, the test is hardly ever true."""

    test: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...] = ()
    loc: Loc = field(default=NOWHERE, compare=False)
    rare: bool = False


@dataclass(frozen=True, slots=True)
class For:
    """Python's `for name in range(start, stop, step)` over int64, bounds evaluated once.

    If `independent`, iterations may run in any order or concurrently: the body is one call of a
    kernel, and the step is one. If `rare`, it runs seldom, and compilers need not unroll it. If
    `nested`, it is a nested range of a team that a single thread runs, most often a short one. If
    `interleaved`, it does little but join numbers, and compilers with vectors run four of them at a
    time whatever else is in the loop, so that sums are the same. If `sequential`, each iteration
    takes a number from the one before, and compilers repeat the body.
    """

    name: str
    start: Expr
    stop: Expr
    step: Expr
    body: tuple[Stmt, ...]
    independent: bool = False
    loc: Loc = field(default=NOWHERE, compare=False)
    rare: bool = False
    nested: bool = False
    interleaved: bool = False
    sequential: bool = False


@dataclass(frozen=True, slots=True)
class While:
    """Loop while a test holds; if `rolled`, compilers need not unroll it."""

    test: Expr
    body: tuple[Stmt, ...]
    loc: Loc = field(default=NOWHERE, compare=False)
    rolled: bool = False


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
    """Return from the function: nothing, a scalar, or the scalars of a tuple."""

    value: Expr | tuple[Expr, ...] | None = None
    loc: Loc = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Evaluate:
    """Call a function for its side effects."""

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
    """Call a body for each `start <= name < stop`, in any order, and find out whether it failed.

    Attributes
    ----------
    names : tuple of str
        One variable: the call returns whether something failed, and so the variable is set. Two:
        the call returns the number of an assertion that failed, or 0; the variables are set to the
        index of the first failure (`stop` without one) and to that number.
    count : int
        The greatest such number; 0 if it is not asked for.
    rows : bool
        It runs for many ranges, which may be short.
    bits : int
        Width of what is computed to detect a failure; 1 where comparisons give masks.
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
    """A nested range: its iterations are distributed over the members of a level.

    Member r of n has iterations r, r + n, r + 2n ...; with several names, the last one varies
    fastest. Variables that the body sets are undefined at its start and after the range.
    """

    level: str
    names: tuple[str, ...]
    starts: tuple[Expr, ...]
    stops: tuple[Expr, ...]
    body: tuple[Stmt, ...]
    loc: Loc = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Together:
    """How several states of a member may be joined to at once, before they are joined themselves.

    `identity` is what each of them begins with. If `ordered`, the order of joins may be seen in the
    result. `operations` join the numbers of two states, if vectors of them are joined so.
    """

    identity: tuple[Const, ...]
    ordered: bool
    operations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Combine:
    """Join the members' states, in order of the members; all members get the result.

    `merge` is a function of two states, each made up of the variables `states`. `operation` is what
    it does if that is one of a number: "sum", "min" and so on. `is_symmetric` says that states may
    be exchanged: the result has the same bits. Without `together`, a member joins what it has one
    after the other.
    """

    level: str
    states: tuple[Var, ...]
    merge: str
    loc: Loc = field(default=NOWHERE, compare=False)
    operation: str | None = None
    is_symmetric: bool = False
    together: Together | None = None


@dataclass(frozen=True, slots=True)
class Prefix:
    """An exclusive scan over the members' states; the first one gets `identity`.

    `totals` receive the join of all states.
    """

    level: str
    states: tuple[Var, ...]
    totals: tuple[Var, ...]
    identity: tuple[Const, ...]
    merge: str
    loc: Loc = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class ScanRange:
    """A nested scan: iterations are distributed as those of `Split`.

    `probe` sets `own`, the state that the iteration contributes, before the prefix is known.
    `body` is the iteration itself, with the prefix in `states`; it sets `own`, too. After the scan
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
    """Set variables of all threads to the values that they have in thread `rank`."""

    values: tuple[Var, ...]
    rank: Expr
    loc: Loc = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Scratch:
    """A View over scratch memory of a team ("team") or of each thread of it ("thread").

    It has the same address each time that it is executed. `shape` holds the extents that are not
    part of the View's type.
    """

    view: Var
    shape: tuple[Expr, ...]
    level: int
    owner: str
    loc: Loc = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Carve:
    """A View over the memory `offset` bytes after a pointer; `Scratch` is lowered to it.

    `shape` holds all extents.
    """

    view: Var
    shape: tuple[Expr, ...]
    pool: Var
    offset: Expr
    loc: Loc = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Pool:
    """Allocate memory for the time that a body runs, and point a pointer to it."""

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
    """Broadcast variables of the first lane of a thread to its other lanes."""

    values: tuple[Var, ...]
    loc: Loc = field(default=NOWHERE, compare=False)


TeamStmt = (
    Barrier | Split | Combine | Prefix | ScanRange | Broadcast | Scratch | Carve | Pool | LaneSync
    | FromFirstLane
)  # fmt: skip
COLLECTIVES = (Barrier, Combine, Prefix, ScanRange, Broadcast)


Stmt = (Assign | Unpack | Store | Atomic | StoreAt | Packed | Clear | Fail | Print | If | For
        | Failures | While | Break | Continue | Return | Evaluate | TeamStmt)  # fmt: skip

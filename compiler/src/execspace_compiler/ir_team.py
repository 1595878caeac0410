"""Statements of typed IR that the members of a team do together, or share out among themselves.

A team has threads, and each thread has lanes. Levels: "thread" is the threads of a team, "vector"
the lanes of a thread, "team" all lanes of all threads. Code outside of loops over lanes is done
once for each thread.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .diagnostics import NOWHERE, Loc

if TYPE_CHECKING:
    from .ir import Const, Expr, Stmt, Var


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

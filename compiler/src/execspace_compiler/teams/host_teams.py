"""Lowering of team kernels for hosts: each team runs on one thread, as a range over the league.

A team of one thread becomes plain loops (single_thread.py); in a larger one, members are
interleaved between barriers (interleaving.py).
"""

from __future__ import annotations

from dataclasses import replace

from execspace.base.dataclass import dataclass

from .. import ir
from ..ir import Const, Expr, Stmt, Var, integer, op, var
from ..ir.rewriting import renamed, rewritten
from ..ir.types import INDEX, INT64, Type, ViewTy
from ..typing.lowered import Lowered
from ..typing.values import TEAM_PARTS
from .failures import reported_at_the_end, without_failed_members
from .host_limits import HOST_TEAMS
from .interleaving import Members
from .ranges import Ranges
from .scratch import Layout, scratch_layout, scratch_sizes
from .scratch_sizes import Sizes
from .single_thread import POOL, SingleThread


@dataclass(frozen=True)
class HostTeam:
    """A team kernel as the kernel of a range over the league.

    Attributes
    ----------
    lowered : Lowered
        Its body takes the league rank, the league size and, if there is scratch memory, `POOL`;
        then the kernel's parameters.
    layout : Layout
    league : str
        Parameter of the league size.
    """

    lowered: Lowered
    layout: Layout
    league: str

    def sizes(self, space: str, limits: tuple[int, int] = HOST_TEAMS.scratch) -> Sizes:
        """The check of a launch's scratch memory on a host space."""
        lowered = self.lowered
        parameters = lowered.body.parameters[lowered.leading :]
        name = lowered.kernel.name
        return scratch_sizes(name, self.layout, parameters, self.league, limits, space)

    @property
    def pool(self) -> tuple[Var, Expr] | None:
        """Pointer to the scratch memory, and its size in bytes, from the bounds."""
        if not self.layout:
            return None
        first, second = self.layout.nbytes
        nbytes = op("add", op("add", first, second), integer(self.layout.kept))
        return POOL, _with_bound(nbytes, self.league)


def host_team(lowered: Lowered, size: int, lanes: int, ranges: Ranges | None = None) -> HostTeam:
    """The kernel for teams of `size` threads of `lanes` lanes, each on one thread of the host;
    `ranges` writes the loops of nested ranges.

    Raises
    ------
    Fault
        For scratch memory whose size is not known before the launch.
    """
    lowered = without_failed_members(lowered)
    body = lowered.body
    rank = TEAM_PARTS.index("team_rank")
    league, threads = body.parameters[1], body.parameters[TEAM_PARTS.index("team_size")]
    body = _with_constant(body, threads.name, size)
    arguments = (league, *body.parameters[lowered.leading :])
    layout = scratch_layout(body, arguments, integer(size))
    member = body.parameters[rank].name
    ranges = ranges or Ranges()
    ranges.begin(body)
    if size == 1:
        body = _with_constant(body, member, 0)
        statements, locals_ = SingleThread(layout, ranges).block(body.body), dict(body.locals)
    else:
        functions = lowered.functions[:-1]
        members = Members(body, functions, member, size, lanes, layout, ranges)
        statements, locals_ = members.run()
        layout = members.layout
    head = body.parameters[: len(TEAM_PARTS)]
    own = (head[0], head[1], *((POOL,) if layout else ()))
    parameters = (*own, *body.parameters[len(TEAM_PARTS) :])
    locals_ |= ranges.locals
    locals_ |= {n: INT64 for n in _counters(statements) if n not in locals_}
    body = replace(body, parameters=parameters, body=statements, locals=locals_)
    leading = lowered.leading - len(TEAM_PARTS) + len(own)
    body = reported_at_the_end(body)
    functions = tuple(map(_in_plain_memory, (*lowered.functions[:-1], *ranges.functions, body)))
    return HostTeam(replace(lowered, functions=functions, leading=leading), layout, league.name)


def _in_plain_memory(f: ir.Function) -> ir.Function:
    """A function that takes scratch memory as plain memory."""

    def plain(type: Type) -> Type:
        if isinstance(type, ViewTy) and "group" in type.traits:
            return replace(type, traits=tuple(t for t in type.traits if t != "group"))
        return type

    types = {**{p.name: p.type for p in f.parameters}, **f.locals}
    new = {n: Var(n, plain(t)) for n, t in types.items() if plain(t) != t}
    if not new:
        return f
    parameters = tuple(new.get(p.name, p) for p in f.parameters)
    locals_ = {n: plain(t) for n, t in f.locals.items()}
    return replace(f, parameters=parameters, locals=locals_, body=renamed(f.body, new))  # type: ignore[arg-type]


def _with_bound(e: Expr, league: str) -> Expr:
    e = ir.with_operands(e, tuple(_with_bound(a, league) for a in ir.operands(e)))
    return var("_hi0") if isinstance(e, Var) and e.name == league else e


def _with_constant(body: ir.Function, name: str, value: int) -> ir.Function:
    """A body with a parameter replaced by a constant."""

    def change(e: Expr) -> Expr:
        e = ir.with_operands(e, tuple(map(change, ir.operands(e))))
        return Const(value, INDEX, e.loc) if isinstance(e, Var) and e.name == name else e

    return replace(body, body=tuple(rewritten(s, change) for s in body.body))


def _counters(statements: tuple[Stmt, ...]) -> list[str]:
    """Loop variables that lowering added."""
    names = [n for s in ir.walk_statements(statements) for n in ir.names_set(s)]
    return [n for n in names if n.startswith("_m_")]

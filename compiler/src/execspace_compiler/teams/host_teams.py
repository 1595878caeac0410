"""A team on one thread of a host: its kernel as that of a range over the league.

A team of one thread is plain loops (single_thread.py); in a larger one members take turns
(interleaving.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from execspace import TeamLimits

from .. import ir
from ..ir import Const, Expr, Stmt, Var, integer, op, var
from ..ir.rewriting import renamed, rewritten
from ..ir.types import INDEX, INT64, Type, ViewTy
from ..typing.lowered import Lowered
from ..typing.values import TEAM_PARTS
from .failures import reported_at_the_end, without_failed_members
from .interleaving import Members
from .scratch import Layout, Sizes, scratch_layout
from .single_thread import POOL, Alone

# Memory of level 0 should stay in the caches of a core.
HOST_TEAMS = TeamLimits(1024, 1024, 1 << 20, (1 << 20, 1 << 26))


@dataclass(frozen=True)
class HostTeam:
    """A team's kernel as that of a range over the league.

    Attributes
    ----------
    lowered : Lowered
        Its body takes the number of the team, the number of teams and, if there is scratch memory,
        `POOL`; then what the kernel takes.
    layout : Layout
    league : str
        Parameter of the number of teams.
    """

    lowered: Lowered
    layout: Layout
    league: str

    def sizes(self, space: str, limits: tuple[int, int] = HOST_TEAMS.scratch) -> Sizes:
        """What checks the scratch memory of a launch on a host space."""
        lowered = self.lowered
        parameters = lowered.body.parameters[lowered.leading :]
        name = lowered.kernel.name
        return Sizes(name, self.layout, parameters, self.league, limits, space)

    @property
    def pool(self) -> tuple[Var, Expr] | None:
        """Pointer to the scratch memory, and how many bytes it has, from the bounds."""
        if not self.layout:
            return None
        first, second = self.layout.nbytes
        nbytes = op("add", op("add", first, second), integer(self.layout.kept))
        return POOL, _with_bound(nbytes, self.league)


def host_team(lowered: Lowered, size: int, lanes: int) -> HostTeam:
    """The kernel for teams of `size` threads of `lanes` lanes, each on one thread of the host.

    Raises
    ------
    Fault
        For scratch memory of a size that is not known before the launch.
    """
    lowered = without_failed_members(lowered)
    body = lowered.body
    rank = TEAM_PARTS.index("team_rank")
    league, threads = body.parameters[1], body.parameters[TEAM_PARTS.index("team_size")]
    body = _with_constant(body, threads.name, size)
    arguments = (league, *body.parameters[lowered.leading :])
    layout = scratch_layout(body, arguments, integer(size))
    member = body.parameters[rank].name
    if size == 1:
        body = _with_constant(body, member, 0)
        statements, locals_ = Alone(layout).block(body.body), dict(body.locals)
    else:
        functions = lowered.functions[:-1]
        members = Members(body, functions, member, size, lanes, layout)
        statements, locals_ = members.run()
        layout = members.layout
    head = body.parameters[: len(TEAM_PARTS)]
    own = (head[0], head[1], *((POOL,) if layout else ()))
    parameters = (*own, *body.parameters[len(TEAM_PARTS) :])
    locals_ |= {n: INT64 for n in _counters(statements) if n not in locals_}
    body = replace(body, parameters=parameters, body=statements, locals=locals_)
    leading = lowered.leading - len(TEAM_PARTS) + len(own)
    body = reported_at_the_end(body)
    functions = tuple(map(_in_plain_memory, (*lowered.functions[:-1], body)))
    return HostTeam(replace(lowered, functions=functions, leading=leading), layout, league.name)


def _in_plain_memory(f: ir.Function) -> ir.Function:
    """A function for which scratch memory is memory as any other."""

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
    """A body in which a parameter is a constant."""

    def change(e: Expr) -> Expr:
        e = ir.with_operands(e, tuple(map(change, ir.operands(e))))
        return Const(value, INDEX, e.loc) if isinstance(e, Var) and e.name == name else e

    return replace(body, body=tuple(rewritten(s, change) for s in body.body))


def _counters(statements: tuple[Stmt, ...]) -> list[str]:
    """Loop variables that the walks here made."""
    names = [n for s in ir.walk_statements(statements) for n in ir.names_set(s)]
    return [n for n in names if n.startswith("_m_")]

"""Effects of a launch on Views: what tuning must restore, and what it must not change.

A team kernel may compute subscripts of Views from its team size. Another team size would then
access other elements, perhaps out of bounds; so tuning keeps the size.
"""

from __future__ import annotations

from execspace import Effects

from .. import ir
from ..ir import Split
from ..ir.types import ViewTy
from ..typing.lowered import Lowered
from ..typing.values import TEAM_PARTS


def effects_of(lowered: Lowered) -> Effects:
    """The effects of a launch; a View that is passed to a helper counts as read."""
    body, arguments = lowered.body, len(lowered.spec.arguments)
    named = {
        p.name: n
        for n, p in enumerate(body.parameters[lowered.leading :])
        if isinstance(p.type, ViewTy) and n < arguments
    }
    read: set[str] = set()
    for e in ir.walk_expressions(body.body):
        if isinstance(e, ir.Load):
            read.add(e.view.name)
        elif isinstance(e, ir.Call):
            read |= {a.name for a in e.args if isinstance(a, ir.Var)}
    read |= {s.view.name for s in ir.walk_statements(body.body) if isinstance(s, ir.Atomic)}
    written = {named[name] for name in lowered.written if name in named}
    out = range(arguments, arguments + len(lowered.spec.out))
    return Effects(
        written=frozenset(written).union(out),
        read=frozenset(named[name] for name in read if name in named),
        prints=lowered.prints,
        team_sized=lowered.spec.policy.kind == "team" and _team_sized(body, frozenset(named)),
    )


def _team_sized(body: ir.Function, views: frozenset[str]) -> bool:
    """Whether the kernel computes subscripts of Views from its team size or rank."""
    own = {body.parameters[TEAM_PARTS.index(part)].name for part in ("team_rank", "team_size")}
    known = -1
    while known != len(own):  # transitively
        known = len(own)
        for s in ir.walk_statements(body.body):
            own |= _set_from(s, own)
    for s in ir.walk_statements(body.body):
        if isinstance(s, ir.Store | ir.Atomic) and s.view.name in views:
            if any(_mentions(index, own) for index in s.indices):
                return True
    for e in ir.walk_expressions(body.body):
        if isinstance(e, ir.Load) and e.view.name in views:
            if any(_mentions(index, own) for index in e.indices):
                return True
        if isinstance(e, ir.Call) and any(_mentions(a, own) for a in e.args):
            if any(isinstance(a, ir.Var) and a.name in views for a in e.args):
                return True
    return False


def _set_from(s: ir.Stmt, own: set[str]) -> set[str]:
    """Names that a statement sets from names in `own`."""
    match s:
        case ir.Assign() if _mentions(s.value, own):
            return {s.name}
        case ir.Unpack() if _mentions(s.value, own):
            return set(s.names)
        case ir.For() if _mentions(_end(s.stop), own):  # its bound matters, not its step
            return {s.name}
        case Split():
            pairs = zip(s.names, s.stops, strict=True)
            return {name for name, stop in pairs if _mentions(stop, own)}
    return set()


def _end(stop: ir.Expr) -> ir.Expr:
    """The end of a range; if its step is checked for zero, the end in the source."""
    return stop.then if isinstance(stop, ir.Select) else stop


def _mentions(e: ir.Expr, names: set[str]) -> bool:
    if isinstance(e, ir.Var):
        return e.name in names
    return any(_mentions(part, names) for part in ir.operands(e))

"""Which Views a launch reads and which it writes: what tuning has to put back between launches."""

from __future__ import annotations

from execspace import Effects

from . import ir
from .pipeline import Lowered
from .types import ViewTy


def effects_of(lowered: Lowered) -> Effects:
    """The effects of a launch; a View that a helper gets counts as read."""
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
    written = {named[name] for name in ir.written_views(body) if name in named}
    out = range(arguments, arguments + len(lowered.spec.out))
    return Effects(
        written=frozenset(written).union(out),
        read=frozenset(named[name] for name in read if name in named),
        prints=lowered.prints,
    )

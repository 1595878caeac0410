"""Lowering of team statements for teams of one thread: plain loops, no barriers."""

from __future__ import annotations

from collections.abc import Callable

from .. import ir
from ..ir import Assign, Expr, Stmt, Var, integer
from ..ir.types import Pointer, Scalar
from .ranges import Ranges
from .scratch import Layout

POOL = Var("_scratch", Pointer(Scalar("uint8")))  # memory of the team that a thread runs


def joined(states: tuple[Var, ...], a: tuple[Expr, ...], b: tuple[Expr, ...], merge: str) -> Stmt:
    """Set variables to two states joined."""
    kind = states[0].type
    assert isinstance(kind, Scalar)
    call = ir.Call(merge, (*a, *b), kind.strong)
    if len(states) == 1:
        return Assign(states[0].name, call)
    return ir.Unpack(tuple(v.name for v in states), call)


def alone(
    s: Stmt, block: Callable[[tuple[Stmt, ...]], tuple[Stmt, ...]], ranges: Ranges
) -> list[Stmt] | None:
    """A team statement lowered for a single member; None for other statements."""
    match s:
        case ir.Barrier() | ir.Combine() | ir.Broadcast():
            return []
        case ir.Split():
            *outer, (name, first, last) = zip(s.names, s.starts, s.stops, strict=True)
            one = integer(1)
            loops = [(*o, one) for o in outer]
            return ranges.loop(s, loops, name, first, last, one, block(s.body))
        case ir.Prefix():
            pairs = zip(s.totals, s.states, strict=True)
            kept: list[Stmt] = [Assign(t.name, v) for t, v in pairs]
            return kept + [Assign(v.name, i) for v, i in zip(s.states, s.identity, strict=True)]
        case ir.ScanRange():
            join = joined(s.states, s.states, s.own, s.merge)
            return ranges.scan(s, block(s.body), block(s.probe), join)
    return None


class SingleThread:
    """Lowers the statements of a team of one thread."""

    def __init__(self, layout: Layout, ranges: Ranges) -> None:
        self.layout, self.ranges = layout, ranges

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        for s in body:
            if isinstance(s, ir.Scratch):
                place = self.layout.allocations[s.view.name]
                offset = self.layout.offset(s.view.name)
                out.append(ir.Carve(place.statement.view, place.shape, POOL, offset, s.loc))
                continue
            found = alone(s, self.block, self.ranges)
            if found is None:
                bodies = tuple(map(self.block, ir.bodies(s)))
                found = [ir.with_bodies(s, bodies)]
            out += found
        return tuple(out)

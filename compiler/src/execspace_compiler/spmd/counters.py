"""Counters of loops that lanes leave apart, as numbers of their own.

All lanes that are in a loop have done as many rounds, so what each round adds to is the same in
all of them: `n` in `while n < limit and ...: n += 1`. It varies behind the loop alone, where each
lane has what it had when it left. So the loop gets a variable of its own, and the other one is set
where lanes leave: to the eye that is the assignment behind the loop.
"""

from __future__ import annotations

from dataclasses import replace

from .. import ir
from ..ir import Assign, Op, Stmt, Var
from ..ir.marks import OWN
from ..ir.rewriting import names_set_in, renamed
from ..ir.types import Scalar


def is_capture(s: Stmt) -> bool:
    """Whether a statement stands for what lanes take with them when they leave the loop before."""
    return isinstance(s, Assign) and isinstance(s.value, Var) and OWN in s.value.name


def with_counters(f: ir.Function) -> ir.Function:
    """A function whose loops have counters of their own."""
    found = _Counters(f)
    body = found.block(f.body)
    return replace(f, body=body, locals={**f.locals, **found.locals}) if found.locals else f


class _Counters:
    def __init__(self, f: ir.Function) -> None:
        self.f = f
        self.locals: dict[str, Scalar] = {}

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        for s in body:
            before: list[Stmt] = []
            after: list[Stmt] = []
            if isinstance(s, ir.For | ir.While):
                for name, t in self.counted(s).items():
                    own = f"{name}{OWN}{len(self.locals) or ''}"
                    self.locals[own] = t
                    before.append(Assign(own, Var(name, t), s.loc))
                    after.append(Assign(name, Var(own, t), s.loc))
                    s = _renamed(s, name, Var(own, t))
            out += [*before, ir.with_bodies(s, tuple(map(self.block, ir.bodies(s)))), *after]
        return tuple(out)

    def counted(self, s: ir.For | ir.While) -> dict[str, Scalar]:
        """Variables that each round adds to, and that are read behind the loop."""
        found: dict[str, Scalar] = {}
        sets = names_set_in(s.body)
        for t in s.body:
            if any(isinstance(u, ir.Continue) for u in ir.own_statements((t,))):
                break
            if isinstance(t, Assign) and sets.count(t.name) == 1 and _adds(t):
                kind = self.f.locals.get(t.name)
                if isinstance(kind, Scalar) and OWN not in t.name and self.is_read_behind(s, t):
                    found[t.name] = kind
        return found

    def is_read_behind(self, s: Stmt, t: Assign) -> bool:
        def count(body: tuple[Stmt, ...]) -> int:
            every = ir.walk_expressions(body)
            return sum(isinstance(e, Var) and e.name == t.name for e in every)

        return count(self.f.body) > count((s,))


def _renamed(s: ir.For | ir.While, name: str, own: Var) -> ir.For | ir.While:
    """A loop with another variable in its body and its test."""
    (new,) = renamed((s,), {name: own})
    assert isinstance(new, ir.For | ir.While)
    if isinstance(s, ir.For):  # bounds are evaluated before the loop
        assert isinstance(new, ir.For)
        new = replace(new, start=s.start, stop=s.stop, step=s.step)
    return new


def _adds(s: Assign) -> bool:
    x = s.value
    return (
        isinstance(x, Op) and x.op in ("add", "sub") and x.type.is_integer
        and isinstance(x.args[0], Var) and x.args[0].name == s.name
        and isinstance(x.args[1], ir.Const)
    )  # fmt: skip

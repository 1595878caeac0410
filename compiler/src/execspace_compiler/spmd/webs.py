"""Variables that are used for one thing after another, as a variable for each.

Whether a variable is the same in all lanes is asked of its name, and so it is for all that it is
used for. Here each web gets a name of its own: assignments, and the reads that they reach. (G. J.
Chaitin et al., "Register Allocation via Coloring", Computer Languages 6, 1981.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from execspace.base.dataclass import dataclass

from .. import ir
from ..ir import Expr, Stmt, Var
from ..ir.marks import WEB
from ..ir.types import Scalar
from .counters import with_counters

_State = dict[str, frozenset[int]]
"""The assignments that reach some place, by the name of the variable."""


def with_webs(f: ir.Function) -> ir.Function:
    """A function with a variable for each web; its statements are all different objects."""
    body = _copied(f.body)
    webs = _Webs(f)
    webs.walk(body, {})
    return replace(f, body=webs.renamed(body), locals={**f.locals, **webs.locals})


def _copied(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    return tuple(
        replace(ir.with_bodies(s, tuple(map(_copied, ir.bodies(s))))) for s in body
    )  # fmt: skip


@dataclass
class _Exits:
    """What holds where a loop is left, and where it goes on."""

    leaves: list[_State] = field(default_factory=list)
    goes_on: list[_State] = field(default_factory=list)


class _Webs:
    """Finds webs: assignments that reach the same read are one."""

    def __init__(self, f: ir.Function) -> None:
        self.scalars = {n: t for n, t in f.locals.items() if isinstance(t, Scalar)}
        self.parents: list[int] = []
        self.first: dict[str, int] = {}  # what a variable holds before any assignment
        self.assigned: dict[tuple[int, str], int] = {}
        self.read: dict[tuple[int, str], int] = {}
        self.loops: list[_Exits] = []
        self.names: dict[int, str] = {}
        self.counts: dict[str, int] = {}
        self.locals: dict[str, Scalar] = {}
        for name in self.scalars:
            self.first[name] = self.new()
            self.names[self.first[name]] = name

    def new(self) -> int:
        self.parents.append(len(self.parents))
        return len(self.parents) - 1

    def root(self, n: int) -> int:
        while self.parents[n] != n:
            self.parents[n] = n = self.parents[self.parents[n]]
        return n

    def join(self, a: int, b: int) -> None:
        a, b = sorted((self.root(a), self.root(b)))
        self.parents[b] = a

    # -- what reaches what ------------------------------------------------------------------------

    def walk(self, body: tuple[Stmt, ...], state: _State | None) -> _State | None:
        """Follow statements; returns what holds behind them, None if nothing goes on there."""
        for s in body:
            if state is None:
                break
            state = self.statement(s, state)
        return state

    def statement(self, s: Stmt, state: _State) -> _State | None:
        match s:
            case ir.If():
                self.reads(s, state)
                then = self.walk(s.body, dict(state))
                return _joined(then, self.walk(s.orelse, dict(state)), self.first)
            case ir.While():
                return self.loop(s, state)
            case ir.For():
                self.reads(s, state)
                return self.loop(s, state)
            case ir.Break():
                self.loops[-1].leaves.append(state)
                return None
            case ir.Continue():
                self.loops[-1].goes_on.append(state)
                return None
            case ir.Return():
                self.reads(s, state)
                return None
        self.reads(s, state)
        for name in ir.names_set(s):
            self.assigns(s, name, state)
        return state

    def loop(self, s: ir.For | ir.While, state: _State) -> _State:
        """A loop, until nothing more reaches its head."""
        head = dict(state)
        while True:
            exits = _Exits()
            self.loops.append(exits)
            if isinstance(s, ir.While):
                self.reads(s, head)
            inside = dict(head)
            if isinstance(s, ir.For):
                self.assigns(s, s.name, inside)
            end = self.walk(s.body, inside)
            self.loops.pop()
            after = head
            for other in (end, *exits.goes_on):
                after = _joined(after, other, self.first) or after
            if after == head:
                for other in exits.leaves:
                    after = _joined(after, other, self.first) or after
                return dict(after)
            head = dict(after)

    def reads(self, s: Stmt, state: _State) -> None:
        for e in ir.subexpressions(*ir.expressions(s)):
            if isinstance(e, Var) and e.name in self.scalars:
                first, *others = state.get(e.name) or (self.first[e.name],)
                for n in others:
                    self.join(first, n)
                known = self.read.setdefault((id(s), e.name), first)
                self.join(known, first)

    def assigns(self, s: Stmt, name: str, state: _State) -> None:
        if name in self.scalars:
            if (id(s), name) not in self.assigned:
                self.assigned[id(s), name] = self.new()
            state[name] = frozenset((self.assigned[id(s), name],))

    # -- new names ----------------------------------------------------------------------------

    def name(self, n: int, name: str) -> str:
        """The name of a web."""
        root = self.root(n)
        if root not in self.names:
            count = self.counts[name] = self.counts.get(name, 0) + 1
            self.names[root] = name if count == 1 and self.is_unused(name) else (
                f"{name}{WEB}{count}"
            )  # fmt: skip
            self.locals[self.names[root]] = self.scalars[name]
        return self.names[root]

    def is_unused(self, name: str) -> bool:
        """Whether nobody reads a variable before it is assigned, so that its own name is free."""
        first = self.root(self.first[name])
        return not any(
            self.root(n) == first for (_, other), n in self.read.items() if other == name
        )

    def renamed(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Statements with the names of webs."""
        return tuple(self._renamed(s) for s in body)

    def _renamed(self, s: Stmt) -> Stmt:
        def expression(e: Expr) -> Expr:
            if isinstance(e, Var) and (id(s), e.name) in self.read:
                return replace(e, name=self.name(self.read[id(s), e.name], e.name))
            return ir.with_operands(e, tuple(map(expression, ir.operands(e))))

        def own(name: str) -> str:
            found = self.assigned.get((id(s), name))
            return name if found is None else self.name(found, name)

        new = ir.with_expressions(s, tuple(map(expression, ir.expressions(s))))
        match new:
            case ir.Assign() | ir.For():
                new = replace(new, name=own(new.name))
            case ir.Unpack():
                new = replace(new, names=tuple(map(own, new.names)))
            case ir.Atomic() if new.name is not None:
                new = replace(new, name=own(new.name))
        return ir.with_bodies(new, tuple(map(self.renamed, ir.bodies(s))))


def _joined(a: _State | None, b: _State | None, first: dict[str, int]) -> _State | None:
    """What may hold where two ways meet."""
    if a is None or b is None:
        return b if a is None else a
    return {
        n: a.get(n, frozenset((first[n],))) | b.get(n, frozenset((first[n],)))
        for n in a.keys() | b.keys()
    }


def prepared(functions: Sequence[ir.Function]) -> tuple[ir.Function, ...]:
    """Functions with a variable for each web, and counters of loops."""
    return tuple(with_webs(with_counters(with_webs(f))) for f in functions)

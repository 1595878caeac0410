"""Definite assignment: a variable that may be read before it has a value is a fault.

Python would raise UnboundLocalError at run time; compiled code would read garbage.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import hir
from .diagnostics import Reporter, syntax_fault


def check_assigned(function: hir.Function, reporter: Reporter) -> None:
    """Report each variable of a function that some path reads before assigning it."""
    _Checker(reporter).block(function.body, set(function.parameters))


class _Checker:
    def __init__(self, reporter: Reporter) -> None:
        self.reporter = reporter
        self.reported: set[str] = set()
        # Per enclosing loop: what is known wherever a break or a continue leaves its body.
        self.breaks: list[list[set[str]]] = []
        self.continues: list[list[set[str]]] = []

    def block(self, body: Sequence[hir.Stmt], known: set[str]) -> set[str] | None:
        """Names assigned after the body, or None if its end is never reached."""
        state: set[str] | None = set(known)
        for s in body:
            if state is None:
                return None
            state = self.statement(s, state)
        return state

    def statement(self, s: hir.Stmt, known: set[str]) -> set[str] | None:
        match s:
            case hir.Assign():
                self.read(s.value, known)
                return known | self.target(s.target, known)
            case hir.Update():
                self.read(s.target, known)
                self.read(s.value, known)
            case hir.If():
                self.read(s.test, known)
                then, orelse = self.block(s.body, known), self.block(s.orelse, known)
                if then is None or orelse is None:
                    return orelse if then is None else then
                return then & orelse
            case hir.For():
                for e in (s.start, s.stop, s.step):
                    self.read(e, known)
                ends, breaks = self.loop(s.body, known | {s.name})
                paths = ends + breaks
                return set.intersection(*paths) if _runs(s) and paths else known
            case hir.While():
                self.read(s.test, known)
                _, breaks = self.loop(s.body, known)
                if isinstance(s.test, hir.Constant) and s.test.value:  # only a break leaves it
                    return set.intersection(*breaks) if breaks else None
            case hir.Return():
                if s.value is not None:
                    self.read(s.value, known)
                return None
            case hir.Break():
                self.breaks[-1].append(known)
                return None
            case hir.Continue():
                self.continues[-1].append(known)
                return None
            case hir.Evaluate():
                self.read(s.value, known)
        return known

    def loop(
        self, body: Sequence[hir.Stmt], known: set[str]
    ) -> tuple[list[set[str]], list[set[str]]]:
        """What is known at the ends of an iteration, and where a break leaves."""
        self.breaks.append([])
        self.continues.append([])
        after = self.block(body, known)
        ends = self.continues.pop() + ([] if after is None else [after])
        return ends, self.breaks.pop()

    def target(self, t: hir.Expr, known: set[str]) -> set[str]:
        match t:
            case hir.Local():
                return {t.name}
            case hir.Tuple():
                names: set[str] = set()
                for item in t.items:
                    names |= self.target(item, known)
                return names
        self.read(t, known)
        return set()

    def read(self, e: hir.Expr, known: set[str]) -> None:
        match e:
            case hir.Local():
                if e.name not in known and e.name not in self.reported:
                    self.reported.add(e.name)
                    self.reporter.add(
                        syntax_fault(
                            e.loc,
                            f"'{e.name}' may be used before it has a value",
                            f"assign '{e.name}' on every path that leads here",
                        )
                    )
            case hir.Attribute():
                self.read(e.base, known)
            case hir.Subscript():
                self.read(e.base, known)
                for i in e.indices:
                    self.read(i, known)
            case hir.Operation() | hir.Logical():
                for a in e.args:
                    self.read(a, known)
            case hir.Conditional():
                for a in (e.test, e.then, e.orelse):
                    self.read(a, known)
            case hir.Call():
                for a in (e.function, *e.args, *(v for _, v in e.keywords)):
                    self.read(a, known)
            case hir.Tuple():
                for a in e.items:
                    self.read(a, known)


def _runs(s: hir.For) -> bool:
    """Whether a loop over constant bounds runs at least once."""
    values = [e.value for e in (s.start, s.stop, s.step) if isinstance(e, hir.Constant)]
    if len(values) != 3 or not all(isinstance(v, int) for v in values) or not values[2]:
        return False
    return len(range(*values)) > 0

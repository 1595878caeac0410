"""Definite assignment: refuses variables that may be read before they have a value.

Python would raise UnboundLocalError there, which a kernel cannot. Tests that are compile-time
constants leave one path only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..frontend import hir
from ..ir.diagnostics import Loc, Reporter, syntax_fault


def check_assigned(
    function: hir.Function,
    decided: Mapping[int, bool],
    known: set[str],
    nested: Mapping[int, str],
    reporter: Reporter,
) -> None:
    """Report every variable that may be read before it has a value.

    Parameters
    ----------
    decided : mapping
        Outcome of constant tests, by `id` of the If, Arm, While or Conditional.
    known : set of str
        Parameters and captured variables.
    nested : mapping
        Names of the ranges of loops over nested ranges, by `id` of the loop. Iterations run
        concurrently, so a variable that one sets is undefined in the next and after the loop.
    """
    _Checker(function, decided, nested, reporter).block(function.body, known)


class _Checker:
    def __init__(
        self,
        function: hir.Function,
        decided: Mapping[int, bool],
        nested: Mapping[int, str],
        reporter: Reporter,
    ) -> None:
        self.decided = decided
        self.ranges = nested
        self.lost: dict[str, tuple[str, Loc]] = {}  # variables undefined because of such a loop
        self.reporter = reporter
        self.reported: set[str] = set()
        self.breaks: list[list[set[str]]] = []
        self.continues: list[list[set[str]]] = []
        # A nested function reads its variables when it is called, so when its name is read.
        self.nested = {
            s.target.name: s.value.function.free
            for s in hir.walk(function.body)
            if isinstance(s, hir.Assign)
            and isinstance(s.target, hir.Local)
            and isinstance(s.value, hir.Lambda)
        }

    def block(self, body: Sequence[hir.Stmt], known: set[str]) -> set[str] | None:
        """Variables that have a value after a body; None if its end is unreachable."""
        current: set[str] | None = set(known)
        for s in body:
            if current is None:
                return None
            current = self.statement(s, current)
        return current

    def statement(self, s: hir.Stmt, known: set[str]) -> set[str] | None:
        match s:
            case hir.Assign():
                known = self.read(s.value, known)
                return known | self.target(s.target, known)
            case hir.Update():
                known = self.read(s.target, known)
                return self.read(s.value, known)
            case hir.If():
                known = self.read(s.test, known)
                if id(s) in self.decided:
                    return self.block(s.body if self.decided[id(s)] else s.orelse, known)
                then, orelse = self.block(s.body, known), self.block(s.orelse, known)
                if then is None or orelse is None:
                    return orelse if then is None else then
                return then & orelse
            case hir.Cases():
                return self.cases(s, known)
            case hir.For():
                for e in (s.start, s.stop, s.step):
                    known = self.read(e, known)
                ends, breaks = self.loop(s.body, known | {s.name})
                paths = ends + breaks
                return set.intersection(*paths) if _runs(s) and paths else known
            case hir.ForEach():
                known = self.read(s.items, known)
                if id(s) in self.ranges:
                    return self.nested_range(s, known)
                ends, breaks = self.loop(s.body, known | self.target(s.target, known))
                paths = ends + breaks
                runs = isinstance(s.items, hir.Tuple) and bool(s.items.items)
                return set.intersection(*paths) if runs and paths else known
            case hir.While():
                known = self.read(s.test, known)
                outcome = self.decided.get(id(s))
                if outcome is False:
                    return known
                _, breaks = self.loop(s.body, known)
                if outcome:  # only a break leaves it
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
                return self.read(s.value, known)
            case hir.Assert():
                return self.read(s.test, known)
        return known

    def cases(self, s: hir.Cases, known: set[str]) -> set[str] | None:
        """A chain of elif: a test is evaluated only if those before it fail."""
        ends = []
        arms, certain = hir.possible(s, self.decided)
        taken = set(map(id, arms))
        for arm in s.arms:
            known = self.read(arm.test, known)
            if id(arm) in taken:
                ends.append(self.block(arm.body, known))
            if certain and arm is arms[-1]:
                break
        else:
            ends.append(self.block(s.orelse, known))
        reached = [e for e in ends if e is not None]
        return set.intersection(*reached) if reached else None

    def nested_range(self, s: hir.ForEach, known: set[str]) -> set[str]:
        """A loop whose iterations run concurrently."""
        inside = [s, *hir.walk(s.body)]
        own = {t.name for inner in inside for t in hir.targets(inner)}
        for name in own:
            self.lost[name] = (self.ranges[id(s)], s.loc)
        self.loop(s.body, (known - own) | self.target(s.target, known))
        return known - own

    def loop(
        self, body: Sequence[hir.Stmt], known: set[str]
    ) -> tuple[list[set[str]], list[set[str]]]:
        """Variables known at the ends of an iteration, and at breaks."""
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

    def read(self, e: hir.Expr, known: set[str]) -> set[str]:
        """Variables that have a value after an expression."""
        match e:
            case hir.Local():
                self.need(e.name, e, known)
                for name in self.nested.get(e.name, ()):
                    if name != e.name:
                        self.need(name, e, known)
                return known
            case hir.Named():
                return self.read(e.value, known) | {e.name}
            case hir.Logical() | hir.Chain():
                sure = 1 if isinstance(e, hir.Logical) else 2
                after = known
                for n, a in enumerate(e.args):
                    after = self.read(a, after)
                    if n < sure:
                        known = after
                return known
            case hir.Conditional():
                known = self.read(e.test, known)
                if id(e) in self.decided:
                    return self.read(e.then if self.decided[id(e)] else e.orelse, known)
                return self.read(e.then, known) & self.read(e.orelse, known)
            case hir.Lambda() if e.function.is_lambda:
                for name in e.function.free:
                    self.need(name, e, known)
        parts = hir.children(e)
        rest: list[hir.Expr] = []
        while parts and isinstance(parts[0], hir.Operation):  # of a long sum, without recursion
            rest += reversed(parts[1:])
            parts = parts[0].args
        for c in (*parts, *reversed(rest)):
            known = self.read(c, known)
        return known

    def need(self, name: str, e: hir.Expr, known: set[str]) -> None:
        if name not in known and name not in self.reported:
            self.reported.add(name)
            own = e.loc.name(name) if isinstance(e, hir.Local) and e.name == name else name
            if name in self.lost:
                items, loc = self.lost[name]
                message = (
                    f"'{own}' is set in the loop over {items} of line {loc.line}, whose iterations "
                    f"run at once, so it has no value here"
                )
                hint = f"set '{own}' before it is read, or join numbers with es.parallel_reduce"
                self.reporter.add(syntax_fault(e.loc, message, hint))
                return
            self.reporter.add(
                syntax_fault(
                    e.loc,
                    f"'{own}' may be used before it has a value",
                    f"assign '{own}' on every path that leads here",
                )
            )


def _runs(s: hir.For) -> bool:
    """Whether a loop over constant bounds runs at least once."""
    values = [e.value for e in (s.start, s.stop, s.step) if isinstance(e, hir.Constant)]
    if len(values) != 3 or not all(isinstance(v, int) for v in values) or not values[2]:
        return False
    return len(range(*values)) > 0

"""Divergence checks of team kernels: barriers and collectives that not all members reach.

A uniformity analysis finds which values may differ between the threads of a team and between the
lanes of a thread. A collective under a divergent condition is refused, since some members would
wait forever. Loads from the same location are assumed to give the same value: if they do not, the
kernel has a race.
"""

from __future__ import annotations

from collections.abc import Sequence

from execspace import KernelSyntaxError
from execspace.base.dataclass import dataclass

from .. import ir
from ..ir import Expr, Stmt, Var
from ..ir.diagnostics import Diagnostic, Loc, Reporter
from ..ir.types import Scalar, TupleTy, ViewTy
from .inlining import single_exit

THREADS, LANES = 1, 2
OF_LEVEL = {"thread": THREADS, "vector": LANES, "team": THREADS | LANES}
_MEMBERS = {
    "thread": "threads of the team",
    "vector": "lanes of a thread",
    "team": "team's members",
}


@dataclass(frozen=True)
class _Cause:
    """Why control flow diverges: `bits` for which members, and a clause for people."""

    bits: int
    text: str
    range: str = ""  # level of a nested range


class Divergence:
    """Which variables of a body differ between members, at each point; see the methods.

    Attributes
    ----------
    values : dict
        Name of a variable -> bits, at the current point.
    ever : dict
        The same, for all points together.
    arrays : dict
        The same for private arrays and per-thread scratch, for all points together.
    """

    def __init__(
        self,
        body: ir.Function,
        rank: str,
        functions: Sequence[ir.Function],
        reporter: Reporter | None,
    ) -> None:
        self.body = body
        self.values: dict[str, int] = {rank: THREADS}
        self.ever: dict[str, int] = {}
        self.arrays: dict[str, int] = {}
        self.own: set[str] = set()  # private arrays that are created in the range over lanes
        self.reporter = reporter
        self.reported: set[Loc] = set()
        self.final = False
        self.stepping = _functions_with_atomics(functions)
        self.unread = {f.name: _unread(f) for f in functions}
        self.causes: list[_Cause] = []
        self.tests: dict[int, int] = {}  # bits of the condition of each statement, by `id`
        self.bodies = body.body

    def run(self, statements: tuple[Stmt, ...] | None = None) -> None:
        """Walk the body until nothing changes, then once more to report."""
        statements = self.bodies if statements is None else statements
        start = dict(self.values)
        while True:
            before = dict(self.arrays)
            self.values = dict(start)
            self.block(statements)
            if before == self.arrays:
                break
        self.final = True
        self.values = dict(start)
        self.block(statements)

    @property
    def control(self) -> int:
        """Bits of the members that diverge here."""
        found = 0
        for c in self.causes:
            found |= c.bits
        return found

    def of(self, e: Expr) -> int:
        """Bits of an expression."""
        found = 0
        if isinstance(e, Var):
            if isinstance(e.type, ViewTy):
                return self.arrays.get(e.name, 0)
            return self.values.get(e.name, 0)
        if isinstance(e, ir.Load):
            found = self.arrays.get(e.view.name, 0)
        elif isinstance(e, ir.Call) and e.function in self.stepping:
            found = THREADS | (LANES & self.control)
        unread = self.unread.get(e.function, frozenset()) if isinstance(e, ir.Call) else frozenset()
        for n, a in enumerate(ir.operands(e)):
            if n not in unread:
                found |= self.of(a)
        return found

    def block(self, body: tuple[Stmt, ...]) -> None:
        for s in body:
            self.statement(s)

    def under(self, cause: _Cause, *bodies: tuple[Stmt, ...]) -> None:
        """Alternative bodies, one of which is chosen by `cause`."""
        self.causes.append(cause)
        start = self.values
        after: dict[str, int] = {}
        for body in bodies:
            self.values = dict(start)
            self.block(body)
            after = _joined(after, self.values)
        self.values = after
        self.causes.pop()

    def loop(self, cause: _Cause, body: tuple[Stmt, ...], test: Expr | None = None) -> int:
        """A body that is repeated while `test` holds; returns the bits of its trip count."""
        bits, text = cause.bits, cause.text
        while True:
            start = dict(self.values)
            if test is not None:
                bits |= self.of(test)
            leaving = self.leaving(body)
            if leaving | bits != bits:
                bits |= leaving
                text = "some of them leave the loop before"
            self.under(_Cause(bits, text, cause.range), body)
            self.values = _joined(self.values, start)
            if self.values == start:
                return bits

    def leaving(self, body: tuple[Stmt, ...]) -> int:
        """Bits of the conditions under which a break or continue leaves a loop's body."""
        found = 0
        for s in body:
            if isinstance(s, ir.If):
                jumps = any(map(_jumps, (*s.body, *s.orelse)))
                if jumps:
                    found |= self.of(s.test)
                found |= self.leaving(s.body) | self.leaving(s.orelse)
        return found

    def set(self, names: tuple[str, ...], bits: int) -> None:
        for name in names:
            self.values[name] = bits
            self.ever[name] = self.ever.get(name, 0) | bits

    def statement(self, s: Stmt) -> None:
        match s:
            case ir.Assign():
                self.touch(s.value)
                self.set((s.name,), self.of(s.value) | self.control)
            case ir.Unpack() | ir.Evaluate():
                self.touch(s.value)
                if isinstance(s, ir.Unpack):
                    self.set(s.names, self.of(s.value) | self.control)
            case ir.Store() | ir.Atomic():
                self.change(s)
            case ir.Clear():
                self.own.add(s.array.name)
                self.arrays.setdefault(s.array.name, 0)
            case ir.If():
                bits = self.tests[id(s)] = self.of(s.test)
                text = f"the condition in line {s.loc.line} differs between them"
                self.under(_Cause(bits, text), s.body, s.orelse)
            case ir.For():
                bits = 0
                for e in (s.start, s.stop, s.step):
                    bits |= self.of(e)
                self.tests[id(s)] = bits
                self.set((s.name,), bits | self.control)
                self.loop(_Cause(bits, _repeated(s)), s.body)
            case ir.While():
                self.tests[id(s)] = self.loop(_Cause(0, _repeated(s)), s.body, s.test)
            case ir.Split():
                self.nested(s)
            case ir.Return():
                self.returned(s)
            case ir.Scratch():
                if s.owner == "thread":
                    self.arrays.setdefault(s.view.name, THREADS)
            case ir.Barrier() | ir.Combine() | ir.Prefix() | ir.ScanRange() | ir.Broadcast():
                self.collective(s)

    def touch(self, e: Expr) -> None:
        """A call may store into private arrays among its arguments."""
        calls = [e] if isinstance(e, ir.Call) else []
        for a in ir.operands(e):
            self.touch(a)
        for call in calls:
            for a in call.args:
                if isinstance(a, Var) and a.name in self.arrays:
                    self.arrays[a.name] |= self.of(call) | self.control

    def change(self, s: ir.Store | ir.Atomic) -> None:
        values = (s.value,) if isinstance(s, ir.Store) else s.values
        bits = self.control
        for e in (*s.indices, *values):
            bits |= self.of(e)
        name = s.view.name
        if name in self.arrays:
            self.arrays[name] |= bits
            private = isinstance(s.view.type, ViewTy) and s.view.type.shape is not None
            outside = private and name not in self.own and self.control & LANES
            if outside and any(c.range in ("vector", "team") for c in self.causes):
                self.report(
                    s.loc,
                    "a private array is changed in a range over lanes, which each have their own",
                    "make it within the loop, or use team.thread_scratch, which lanes share",
                )
        if isinstance(s, ir.Atomic) and s.name is not None:
            self.set((s.name,), THREADS | (LANES & self.control))

    def nested(self, s: ir.Split) -> None:
        outer = [c.range for c in self.causes if c.range]
        if outer and (s.level != "vector" or any(level != "thread" for level in outer)):
            self.report(
                s.loc,
                f"a range over the {_MEMBERS[s.level]} within one over the {_MEMBERS[outer[-1]]}",
                "ranges over lanes, es.ThreadVectorRange and es.ThreadVectorMDRange, may stand in "
                "es.TeamThreadRange and es.TeamThreadMDRange; write plain loops over range for "
                "the rest",
            )
        own, self.own = self.own, set()
        bits = OF_LEVEL[s.level]
        self.set(s.names, bits | self.control)
        text = f"it stands in the range over the {_MEMBERS[s.level]} of line {s.loc.line}"
        self.loop(_Cause(bits, text, s.level), s.body)
        self.own = own

    def collective(
        self, s: ir.Barrier | ir.Combine | ir.Prefix | ir.ScanRange | ir.Broadcast
    ) -> None:
        level = s.level if isinstance(s, ir.Combine | ir.Prefix | ir.ScanRange) else "thread"
        wanted = LANES if level == "vector" else THREADS | LANES
        cause = next((c for c in self.causes if c.bits & wanted), None)
        if cause is not None:
            what = {
                ir.Barrier: "team.barrier()", ir.Broadcast: "a broadcast", ir.Prefix: "team.scan",
            }.get(type(s), f"a collective of the {_MEMBERS[level]}")  # fmt: skip
            self.report(
                s.loc,
                f"not all {_MEMBERS['thread' if level == 'team' else level]} reach {what}: "
                f"{cause.text}",
                "let all of them come here, and put what only some do under a condition of its own",
            )
        keep = self.control
        self.uniform(s, level)
        match s:
            case ir.Combine():
                for v in s.states:
                    own = self.values.get(v.name, 0) | keep
                    self.set((v.name,), own & THREADS if level == "vector" else 0)
            case ir.Prefix():
                self.set(tuple(v.name for v in s.states), THREADS)
                self.set(tuple(v.name for v in s.totals), 0)
            case ir.Broadcast():
                self.set(tuple(v.name for v in s.values), 0)
            case ir.ScanRange():
                bits = OF_LEVEL[level]
                names = tuple(v.name for v in s.states)
                bounds = self.of(s.start) | self.of(s.stop)
                text = f"it stands in the scan of line {s.loc.line}"
                own = 0  # whether threads contribute different numbers to scans of their own
                while True:
                    self.set((s.name,), bits | keep | bounds)
                    self.set(names, bits | keep | bounds | own)
                    self.loop(_Cause(bits, text, level), (*s.probe, *s.body))
                    found = own
                    for e in s.own if level == "vector" else ():
                        found |= self.of(e) & THREADS
                    if found == own:
                        break
                    own = found
                left = keep & THREADS | own
                if level == "vector":
                    for name in names:
                        left |= self.values.get(name, 0) & THREADS
                self.set(names, left | (bounds & THREADS if level == "vector" else 0))

    def uniform(self, s: Stmt, level: str) -> None:
        """Check numbers that must be the same for all threads."""
        if isinstance(s, ir.Broadcast) and self.of(s.rank) & THREADS:
            self.report(
                s.loc,
                "the threads of the team name different ranks in a broadcast",
                "name the same thread in all of them: the rank of the one that has the value",
            )
        if isinstance(s, ir.ScanRange) and level != "vector":
            if (self.of(s.start) | self.of(s.stop)) & THREADS:
                self.report(
                    s.loc,
                    "the threads of the team give a scan different bounds",
                    "give the same bounds in all of them, as for the whole range",
                )

    def returned(self, s: ir.Return) -> None:
        values = s.value if isinstance(s.value, tuple) else (s.value,)
        if any(v is not None and (self.of(v) | self.control) & THREADS for v in values):
            self.report(
                s.loc,
                "the threads of the team return different values, but a team contributes once",
                "join what they have, and return that: return team.reduce(value)",
            )

    def report(self, loc: Loc, message: str, hint: str) -> None:
        if self.final and self.reporter is not None and loc not in self.reported:
            self.reported.add(loc)
            self.reporter.diagnostics.append(Diagnostic(loc, message, hint, KernelSyntaxError))


def _repeated(s: Stmt) -> str:
    return f"the rounds of the loop in line {s.loc.line} differ between them"


def _jumps(s: Stmt) -> bool:
    if isinstance(s, ir.If):
        return any(map(_jumps, (*s.body, *s.orelse)))
    return isinstance(s, ir.Break | ir.Continue | ir.Return)


def _joined(a: dict[str, int], b: dict[str, int]) -> dict[str, int]:
    return {n: a.get(n, 0) | b.get(n, 0) for n in {*a, *b}}


def _functions_with_atomics(functions: Sequence[ir.Function]) -> set[str]:
    found: set[str] = set()
    for f in functions:
        atomics = any(isinstance(s, ir.Atomic) for s in ir.walk_statements(f.body))
        calls = (e for e in ir.walk_expressions(f.body) if isinstance(e, ir.Call))
        if atomics or any(c.function in found for c in calls):
            found.add(f.name)
    return found


def _unread(f: ir.Function) -> frozenset[int]:
    """Positions of parameters that a function does not read; all parts of a team are passed."""
    read = {e.name for e in ir.walk_expressions(f.body) if isinstance(e, Var)}
    return frozenset(
        n for n, p in enumerate(f.parameters)
        if isinstance(p.type, Scalar) and p.name not in read
    )  # fmt: skip


def check_team(
    body: ir.Function, rank: str, functions: Sequence[ir.Function], reporter: Reporter
) -> None:
    """Report collectives that not all members of a team reach, and operations not allowed.

    Parameters
    ----------
    body : ir.Function
        The kernel, without team helpers.
    rank : str
        Variable of the team_rank.
    functions : sequence of ir.Function
        Its callees.
    """
    items = body.result.items if isinstance(body.result, TupleTy) else (body.result,)
    results = tuple(f"_result{n}" for n in range(len(items)))
    statements, _ = single_exit(body.body, results, "_left")
    Divergence(body, rank, functions, reporter).run(statements)
    if not reporter.diagnostics:
        Divergence(body, rank, functions, reporter).run()

"""Narrowing of integers to 32 bits where they fit, since devices emulate 64-bit arithmetic.

Intervals of all integers of a kernel follow from those of its arguments, extents and indices, which
are assumed to be within `LIMIT`; launches check that. Nothing wraps that would not wrap in 64 bits,
so the results are the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from .. import ir
from ..ir import Const, Expr, Stmt, Var
from ..ir.types import INDEX, INDEX_WEAK, Pointer, Scalar, ViewTy

LIMIT = 1 << 28  # for arguments, extents and bounds, so that sums of a few still fit
_LEAST, _MOST = -(2**31) + 1, 2**31 - 1
_ANY = -(2**63), 2**63 - 1
SHORT = Scalar("int32", INDEX_WEAK)

Interval = tuple[int, int] | None  # None: any

_ARITHMETIC = frozenset((
    "add", "sub", "mul", "neg", "abs", "min", "max", "minimum", "maximum", "mod", "floordiv",
    "truncdiv", "truncmod", "bitand", "bitor", "bitxor", "lshift", "rshift", "bounded",
))  # fmt: skip
# For operands other than the least number, which needs a special case.
_WITHOUT_LEAST = {"mod": "short_mod", "floordiv": "short_floordiv"}
_COMPARISONS = frozenset(("lt", "le", "gt", "ge", "eq", "ne"))


def is_profitable(functions: Sequence[ir.Function]) -> bool:
    """Whether functions have enough integer arithmetic for narrowing to pay off."""
    for f in functions:
        if any(isinstance(s, ir.For | ir.While) for s in ir.walk_statements(f.body)):
            return True
        for e in ir.walk_expressions(f.body):
            if isinstance(e, ir.Op) and e.op in ("mod", "floordiv", "abs") and _is_long(e.type):
                return True
    return False


def narrowed(
    functions: Sequence[ir.Function], known: Mapping[str, tuple[int, int]]
) -> tuple[ir.Function, ...]:
    """Functions with narrowed integers; callees first, the kernel last.

    Parameters
    ----------
    functions : sequence of ir.Function
    known : mapping
        Intervals of parameters of the kernel. Others, such as the prefix of a scan, are unbounded.
    """
    given: dict[str, list[Interval]] = {}
    done: list[ir.Function] = []
    for f in reversed(functions):  # callers first
        start: list[Interval]
        if f is functions[-1]:
            start = [known.get(p.name) for p in f.parameters]
        elif f.name in given:
            start = given[f.name]
        else:
            start = [None] * len(f.parameters)
        made = _Function(f, dict(zip((p.name for p in f.parameters), start, strict=True)))
        done.append(made.function())
        for name, intervals in made.calls.items():
            before = given.get(name)
            given[name] = (
                intervals
                if before is None
                else [_union(a, b) for a, b in zip(before, intervals, strict=True)]
            )
    return tuple(reversed(done))


def _is_long(t: object) -> bool:
    return isinstance(t, Scalar) and t.name == "int64"


def _fits(i: Interval) -> bool:
    return i is not None and i[0] >= _LEAST and i[1] <= _MOST


def _union(a: Interval, b: Interval) -> Interval:
    if a is None or b is None:
        return None
    return min(a[0], b[0]), max(a[1], b[1])


class _Function:
    """The intervals of a function's variables, and the function with short integers."""

    def __init__(self, f: ir.Function, parameters: dict[str, Interval]) -> None:
        self.f = f
        self.known: dict[str, Interval] = {}
        for p in f.parameters:
            if isinstance(p.type, Scalar):
                self.known[p.name] = parameters[p.name] if _is_long(p.type) else _of_type(p.type)
        self.short: set[str] = set()
        self.counters = _counters(f.body)
        self.calls: dict[str, list[Interval]] = {}

    def function(self) -> ir.Function:
        """The function."""
        fixed = {n for s in ir.walk_statements(self.f.body) for n in _fixed_names(s)}
        found = self.intervals(fixed)
        self.short = {
            n for n, t in self.f.locals.items()
            if _is_long(t) and n not in fixed and n in found and _fits(found[n])
        }  # fmt: skip
        self.known |= found
        body = self.block(self.f.body)
        locals_ = {n: SHORT.strong if n in self.short else t for n, t in self.f.locals.items()}
        return replace(self.f, body=body, locals=locals_)

    # -- intervals ----------------------------------------------------------------------------

    def intervals(self, fixed: set[str]) -> dict[str, Interval]:
        """Intervals of local variables: the union over all assignments."""
        statements = ir.walk_statements(self.f.body)
        start = dict(self.known)
        found: dict[str, Interval] = {}
        growing: set[str] = set(fixed)
        for n in fixed:
            if _is_long(self.f.locals.get(n)):
                self.known[n] = None
        round_ = 0
        while True:  # terminates: from the third round on, intervals that change are widened
            before = dict(found)
            for s in statements:
                for name, interval in self.assigned(s):
                    if name in growing:
                        interval = None
                    first = name not in found
                    found[name] = interval if first else _union(found[name], interval)
                    self.known[name] = found[name]
            if before == found:
                break
            if round_ >= 2:  # widening
                growing |= {n for n in found if before.get(n) != found[n]}
            round_ += 1
        self.known = start
        return found

    def assigned(self, s: Stmt) -> list[tuple[str, Interval]]:
        match s:
            case ir.Assign() if _is_long(s.value.type):
                interval = self.of(s.value)
                if s.name in self.counters and _step(s) and interval is not None:
                    end, steps = self.counters[s.name]
                    most = self.of(end)
                    interval = None if most is None else (interval[0], most[1] + steps)
                return [(s.name, interval)]
            case ir.For():
                start, stop = self.of(s.start), self.of(s.stop)
                if start is None or stop is None or not isinstance(s.step, Const):
                    return [(s.name, None)]
                if s.step.value > 0:
                    return [(s.name, (start[0], max(start[0], stop[1] - 1)))]
                return [(s.name, (min(start[1], stop[0] + 1), start[1]))]
        return [(n, None) for n in ir.names_set(s) if _is_long(self.f.locals.get(n))]

    def of(self, e: Expr) -> Interval:
        """The interval of an integer; None for other expressions."""
        match e:
            case Const():
                whole = e.type.is_integer or e.type.kind == "b"
                return (int(e.value), int(e.value)) if whole else None
            case Var():
                if e.name in self.known:
                    return self.known[e.name]
                return _of_type(e.type) if not _is_long(e.type) else None
            case ir.Extent():
                return 0, LIMIT
            case ir.Select():
                return _union(self.of(e.then), self.of(e.orelse))
            case ir.Op() if e.op == "cast" and _is_long(e.type):
                return self.of(e.args[0])
            case ir.Op() if e.op in _ARITHMETIC and _is_long(e.type):
                return _result(e, [self.of(a) for a in e.args])
        return _of_type(e.type)

    # -- expressions --------------------------------------------------------------------------

    def number(self, e: Expr) -> Expr:
        """An expression with the same value; int64 in 32 bits if it fits."""
        if not _is_long(e.type):
            return self.other(e)
        interval = self.of(e)
        match e:
            case Const() if _fits(interval):
                return Const(int(e.value), SHORT, e.loc)
            case Var() if e.name in self.short:
                return replace(e, type=SHORT)
            case Var() if _fits(interval):
                return ir.Op("cast", (e,), SHORT, e.loc)
            case ir.Extent() | ir.Load() | ir.Call() if _fits(interval):
                return ir.Op("cast", (self.other(e),), SHORT, e.loc)
            case ir.Op() if e.op == "cast" and _fits(interval):
                inner = self.number(e.args[0])
                return inner if inner.type == SHORT else ir.Op("cast", (inner,), SHORT, e.loc)
            case ir.Op() if e.op in _ARITHMETIC and _fits(interval):
                if all(_fits(self.of(a)) for a in e.args):
                    name = _WITHOUT_LEAST.get(e.op, e.op)
                    return ir.Op(name, tuple(map(self.shortened, e.args)), SHORT, e.loc)
            case ir.Select() if _fits(interval):
                then, orelse = self.number(e.then), self.number(e.orelse)
                if then.type == SHORT and orelse.type == SHORT:
                    return ir.Select(self.number(e.test), then, orelse, SHORT, e.loc)
        return self.other(e)

    def shortened(self, e: Expr) -> Expr:
        """An int64 that fits, as a short integer, even if its operands do not fit."""
        made = self.number(e)
        if _is_long(e.type) and made.type != SHORT:
            return ir.Op("cast", (made,), SHORT, e.loc)
        return made

    def other(self, e: Expr) -> Expr:
        """An expression of the same type, with short subexpressions."""
        if isinstance(e, ir.Op) and e.op in _COMPARISONS and _is_long(e.args[0].type):
            if all(_fits(self.of(a)) for a in e.args):
                return replace(e, args=tuple(map(self.shortened, e.args)))
        if isinstance(e, ir.Op) and e.op == "cast" and _is_long(e.args[0].type):
            return replace(e, args=(self.number(e.args[0]),))
        if isinstance(e, ir.Load):
            indices = tuple(map(self.index, e.indices))
            byte = None if e.byte is None else self.long(e.byte)
            return replace(e, indices=indices, byte=byte)
        if isinstance(e, ir.Call):
            self.record_call(e)
        if isinstance(e, Var) and e.name in self.short:
            return ir.Op("cast", (replace(e, type=SHORT),), INDEX, e.loc)
        return ir.with_operands(e, tuple(map(self.long, ir.operands(e))))

    def index(self, e: Expr) -> Expr:
        """A subscript, in the width that the source uses for offsets."""
        return self.number(e)

    def long(self, e: Expr) -> Expr:
        """An expression converted back to its original type."""
        made = self.number(e)
        if _is_long(e.type) and not _is_long(made.type):
            if isinstance(e, Const):
                return e
            assert isinstance(e.type, Scalar)
            return ir.Op("cast", (made,), e.type, e.loc)
        return made

    def record_call(self, call: ir.Call) -> None:
        """Record the argument intervals of a call."""
        new = [self.of(a) if _is_long(a.type) else None for a in call.args]
        known = self.calls.get(call.function)
        if known is not None:
            new = [_union(a, b) for a, b in zip(known, new, strict=True)]
        self.calls[call.function] = new

    # -- statements ---------------------------------------------------------------------------

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(map(self.statement, body))

    def statement(self, s: Stmt) -> Stmt:
        s = ir.with_bodies(s, tuple(map(self.block, ir.bodies(s))))
        match s:
            case ir.Assign() if s.name in self.short:
                return replace(s, value=self.shortened(s.value))
            case ir.For() if s.name in self.short:
                bounds = (s.start, s.stop, s.step)
                # The counter ends one step beyond the last number.
                stop, step = self.of(s.stop), self.of(s.step)
                beyond = None if stop is None or step is None else (
                    stop[0] + min(step[0], 0), stop[1] + max(step[1], 0)
                )  # fmt: skip
                if all(_fits(self.of(b)) for b in bounds) and _fits(beyond):
                    start, stop_, step_ = map(self.shortened, bounds)
                    return replace(s, start=start, stop=stop_, step=step_)
            case ir.Store() | ir.Atomic():
                made = ir.with_expressions(s, tuple(map(self.long, ir.expressions(s))))
                assert isinstance(made, ir.Store | ir.Atomic)
                return replace(made, indices=tuple(map(self.index, s.indices)))
        return ir.with_expressions(s, tuple(map(self.long, ir.expressions(s))))


def _step(s: Stmt) -> tuple[str, int] | None:
    """The variable to which a statement adds a constant above zero, and the constant."""
    match s:
        case ir.Assign(name, ir.Op("add", (Var() as a, Const() as b))):
            if a.name == name and _is_long(a.type) and b.value > 0:
                return name, int(b.value)
    return None


def _counters(body: tuple[Stmt, ...]) -> dict[str, tuple[Expr, int]]:
    """Variables that only steps of a while loop change, which goes on only below some end, and
    statements outside of it that take no steps.

    With the end, and by how much they may exceed it: by all steps of a round.
    """
    found: dict[str, tuple[Expr, int]] = {}
    everywhere = [name for s in ir.walk_statements(body) if (name := (_step(s) or ("",))[0])]
    for loop in ir.walk_statements(body):
        inner = ir.walk_statements(loop.body) if isinstance(loop, ir.While) else []
        if not isinstance(loop, ir.While) or any(isinstance(s, ir.While | ir.For) for s in inner):
            continue
        for name, end in _ends(loop.test):
            steps = [step[1] for s in inner if (step := _step(s)) and step[0] == name]
            changes = sum(ir.names_set(s).count(name) for s in inner)
            if len(steps) == changes == everywhere.count(name):
                found[name] = end, sum(steps)
    return found


def _ends(test: Expr) -> list[tuple[str, Expr]]:
    """Variables that a test wants to be less than, or at most, something else."""
    match test:
        case ir.Op("and", (a, b)):
            return [*_ends(a), *_ends(b)]
        case ir.Op("lt" | "le", (Var() as a, b)):
            return [(a.name, b)]
        case ir.Op("gt" | "ge", (a, Var() as b)):
            return [(b.name, a)]
    return []


def _fixed_names(s: Stmt) -> tuple[str, ...]:
    """Variables whose type is fixed by other functions."""
    return () if isinstance(s, ir.Assign | ir.For) else ir.names_set(s)


def _of_type(t: object) -> Interval:
    """The range of a type of at most 32 bits."""
    if isinstance(t, Pointer | ViewTy) or not isinstance(t, Scalar):
        return None
    if t.kind == "b":
        return 0, 1
    if not t.is_integer or t.bits > 32:
        return None
    return (0, 2**t.bits - 1) if t.kind == "u" else (-(2 ** (t.bits - 1)), 2 ** (t.bits - 1) - 1)


def _result(e: ir.Op, args: list[Interval]) -> Interval:
    """Interval of an operation, if nothing wraps."""
    found = _exact(e, args)
    return found if found is not None and found[0] >= -(2**63) and found[1] < 2**63 else None


def _exact(e: ir.Op, args: list[Interval]) -> Interval:
    a = args[0]
    b = args[1] if len(args) > 1 else None
    if e.op == "bounded":
        return a
    if e.op in ("mod", "truncmod") and b is not None and b[0] > 0 and (
        e.op == "mod" or (a is not None and a[0] >= 0)
    ):  # fmt: skip
        most = b[1] - 1
        return 0, most if a is None or a[0] < 0 else min(most, a[1])
    if e.op == "bitand" and any(x is not None and x[0] >= 0 for x in (a, b)):
        return 0, min(x[1] for x in (a, b) if x is not None and x[0] >= 0)
    if e.op in ("min", "minimum", "max", "maximum"):  # which bound what may be any number
        (low, high), (other_low, other_high) = a or _ANY, b or _ANY
        pick = min if e.op.startswith("min") else max
        return pick(low, other_low), pick(high, other_high)
    if a is None:
        return None
    if e.op == "neg":
        return -a[1], -a[0]
    if e.op == "abs":
        least = 0 if a[0] <= 0 <= a[1] else min(map(abs, a))
        return least, max(map(abs, a))
    if b is None:
        return None
    match e.op:
        case "add":
            return a[0] + b[0], a[1] + b[1]
        case "sub":
            return a[0] - b[1], a[1] - b[0]
        case "mul":
            corners = [x * y for x in a for y in b]
            return min(corners), max(corners)
        case "mod" | "truncmod" | "floordiv" | "truncdiv":
            size = max(map(abs, (*a, *b)))
            return -size, size
        case "bitor" | "bitxor" if a[0] >= 0 and b[0] >= 0:
            return 0, (1 << max(a[1], b[1]).bit_length()) - 1
        case "rshift":
            return min(a[0], 0), max(a[1], 0)
        case "lshift" if b[0] >= 0 and b[1] < 62:
            corners = [x << y for x in a for y in b]
            return min(corners), max(corners)
    return None

"""Loops with loop-carried memory dependences at subscripts that depend on data.

A histogram is one: whether two iterations update the same bin depends on data. Iterations of such a
loop must run in order, and compilers gain nothing by vectorising it. But the vectorisers of LLVM 15
to 17 do, and miscompile it, if the loop also stores elsewhere at a stride known only at run time:
they add run-time overlap checks, and then drop the dependences of a View on itself
(https://github.com/llvm/llvm-project/issues/69744). If subscripts have a constant step they compute
the dependence distance; such loops are left to them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from execspace.base.dataclass import dataclass

from .. import ir
from ..ir import Expr, Stmt
from ..ir.rewriting import names_set_in
from ..ir.types import Scalar

_Steps = Mapping[str, int | None]


@dataclass
class _Accesses:
    """Accesses of a loop to a View.

    `unknown`: its subscripts may be the same in different iterations.
    """

    loads: bool = False
    stores: bool = False
    unknown: bool = False

    def add(self, other: _Accesses) -> None:
        self.loads |= other.loads
        self.stores |= other.stores
        self.unknown |= other.unknown


def loops_with_dependences(functions: tuple[ir.Function, ...]) -> frozenset[int]:
    """The ids of loops with such dependences in a module, and of the loops around them."""
    found: set[int] = set()
    iterations = _Iterations({f.name: f for f in functions})

    def search(body: tuple[Stmt, ...]) -> bool:
        within = False
        for s in body:
            # A list, not a generator: all bodies must be searched.
            inside = any([search(b) for b in ir.bodies(s)])
            if isinstance(s, ir.For | ir.While):
                inside = inside or iterations.has_dependence(s)
                if inside:
                    found.add(id(s))
            within |= inside
        return within

    for f in functions:
        search(f.body)
    return frozenset(found)


class _Iterations:
    """Computes the steps of numbers between iterations of a loop, across calls, too.

    A step of None: not known to be the same in all iterations.
    """

    def __init__(self, functions: Mapping[str, ir.Function]) -> None:
        self.functions = functions
        self.calls: dict[tuple[str, tuple[int | None, ...]], dict[str, _Accesses]] = {}

    def has_dependence(self, loop: ir.For | ir.While) -> bool:
        """Whether an iteration may load an element that an earlier one stored."""
        if isinstance(loop, ir.For) and loop.independent:
            return False
        steps = dict.fromkeys(names_set_in(loop.body)) | _inductions(loop.body)
        if isinstance(loop, ir.For):
            by = loop.step.value if isinstance(loop.step, ir.Const) else 1  # it is not 0
            steps.setdefault(loop.name, int(by))
        accesses: dict[str, _Accesses] = {}
        if isinstance(loop, ir.While):
            self.look(loop.test, steps, accesses)
        self.walk(loop.body, steps, accesses)
        return any(u.loads and u.stores and u.unknown for u in accesses.values())

    def walk(
        self, body: tuple[Stmt, ...], steps: dict[str, int | None], accesses: dict[str, _Accesses]
    ) -> None:
        """Record accesses of statements, and the steps of variables that they set."""
        for s in body:
            for e in ir.expressions(s):
                self.look(e, steps, accesses)
            match s:
                case ir.Assign():
                    steps[s.name] = self.step(s.value, steps)
                    continue
                case ir.Store():
                    self.access(s.view.name, _subscripts(s), steps, accesses).stores = True
                case ir.StoreAt():
                    self.access(s.pointer.name, (s.index,), steps, accesses).stores = True
                case ir.Atomic():  # on a local array it is a load and a store
                    used = self.access(s.view.name, _subscripts(s), steps, accesses)
                    used.loads = used.stores = True
                case ir.Clear():
                    self.access(s.array.name, (), steps, accesses).stores = True
            changed = {*names_set_in(*ir.bodies(s)), *ir.names_set(s)}
            for inner in ir.bodies(s):
                within = {**steps, **(dict.fromkeys(changed) if _repeats(s) else {})}
                if isinstance(s, ir.For) and s.name not in names_set_in(s.body):
                    within[s.name] = self.step(s.start, steps)
                self.walk(inner, within, accesses)
            steps |= dict.fromkeys(changed)

    def look(self, e: Expr, steps: _Steps, accesses: dict[str, _Accesses]) -> None:
        """Record accesses of an expression, and of functions that it calls."""
        for a in ir.operands(e):
            self.look(a, steps, accesses)
        match e:
            case ir.Load():
                self.access(e.view.name, _subscripts(e), steps, accesses).loads = True
            case ir.LoadAt():
                self.access(e.pointer.name, (e.index,), steps, accesses).loads = True
            case ir.Call() if e.function in self.functions:
                names = [p.name for p in self.functions[e.function].parameters]
                passed = {
                    n: a.name for n, a in zip(names, e.args, strict=True) if isinstance(a, ir.Var)
                }
                for name, used in self.called(e, steps).items():
                    outer = passed.get(name, f"{e.function}.{name}")
                    accesses.setdefault(outer, _Accesses()).add(used)

    def called(self, e: ir.Call, steps: _Steps) -> dict[str, _Accesses]:
        """Accesses of a call, by the names of Views in the callee."""
        by = tuple(0 if _is_view(a) else self.step(a, steps) for a in e.args)
        key = (e.function, by)
        if key not in self.calls:
            f, accesses = self.functions[e.function], dict[str, _Accesses]()
            own = dict.fromkeys(f.locals)
            self.walk(
                f.body,
                {**own, **dict(zip((p.name for p in f.parameters), by, strict=True))},
                accesses,
            )
            self.calls[key] = accesses
        return self.calls[key]

    def access(
        self, name: str, subscripts: tuple[Expr, ...], steps: _Steps, accesses: dict[str, _Accesses]
    ) -> _Accesses:
        """The accesses to a View, including a new one."""
        by = [self.step(e, steps) for e in subscripts]
        used = accesses.setdefault(name, _Accesses())
        distinct = any(by)  # some subscript differs between all iterations
        used.unknown |= not distinct and None in by
        return used

    def step(self, e: Expr, steps: _Steps) -> int | None:
        """By how much a number grows from one iteration to the next."""
        if isinstance(e, ir.Var):
            return steps.get(e.name, 0)
        if isinstance(e, ir.Load | ir.LoadAt | ir.Call):
            return None
        inner = [self.step(a, steps) for a in ir.operands(e)]
        if not any(inner) and None not in inner:
            return 0
        t = e.type
        if not isinstance(e, ir.Op) or not isinstance(t, Scalar) or t.kind not in "iu":
            return None
        if t.itemsize < 4 or None in inner:  # narrow integers soon wrap around
            return None
        a, *rest = (step for step in inner if step is not None)
        found: int | None = None
        match e.op:
            case "add":
                found = a + rest[0]
            case "sub":
                found = a - rest[0]
            case "neg":
                found = -a
            case "mul":
                for step, factor in ((a, e.args[1]), (rest[0], e.args[0])):
                    if isinstance(factor, ir.Const):
                        found = step * int(factor.value)
            case "bounded" | "cast":
                found = a
        # A step that is a multiple of 2**bits wraps around to the same element.
        return None if found is not None and found % (1 << t.bits) == 0 != found else found


def _subscripts(s: ir.Load | ir.Store | ir.Atomic) -> tuple[Expr, ...]:
    return s.indices if s.byte is None else (*s.indices, s.byte)


def _is_view(e: Expr) -> bool:
    return isinstance(e, ir.Var) and not isinstance(e.type, Scalar)


def _repeats(s: Stmt) -> bool:
    return bool(ir.bodies(s)) and not isinstance(s, ir.If)


def _inductions(body: tuple[Stmt, ...]) -> dict[str, int | None]:
    """Induction variables, which each iteration changes once and by a constant, and their steps."""
    times = Counter(names_set_in(body))
    found: dict[str, int | None] = {}
    for s in body:
        if isinstance(s, ir.Continue) or not isinstance(s, ir.Assign) or times[s.name] > 1:
            if any(isinstance(inner, ir.Continue) for inner in ir.walk_statements((s,))):
                break  # an iteration may end before it changes later variables
            continue
        e = s.value
        if isinstance(e, ir.Op) and e.op in ("add", "sub") and isinstance(e.args[1], ir.Const):
            by = int(e.args[1].value) if e.type.is_integer else 0
            if by and isinstance(e.args[0], ir.Var) and e.args[0].name == s.name:
                found[s.name] = by if e.op == "add" else -by
    return found

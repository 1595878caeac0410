"""Which loops store elements that a later round may load, at places that are not known before.

A histogram is one: whether two rounds meet in a bin depends on data. Rounds of such a loop run in
order, and no compiler gains by vectorising it. But the vectorisers of LLVM 15 to 17 do, and wrongly
so, if the loop also stores elsewhere at a stride that is known at run time only: they look for
overlaps again at run time, and then forget what one View does to itself
(https://github.com/llvm/llvm-project/issues/69744). At places that grow by the same in each round
they find out how far apart rounds are that meet; such loops are left to them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from .. import ir
from ..ir import Expr, Stmt
from ..ir.rewriting import names_set_in
from ..ir.types import Scalar

_Steps = Mapping[str, int | None]


@dataclass
class _Uses:
    """What rounds of a loop do to a View: `unknown` if not all its places are known to be apart."""

    loads: bool = False
    stores: bool = False
    unknown: bool = False

    def add(self, other: _Uses) -> None:
        self.loads |= other.loads
        self.stores |= other.stores
        self.unknown |= other.unknown


def carrying_loops(functions: tuple[ir.Function, ...]) -> frozenset[int]:
    """The ids of such loops in the functions of a module, and of the loops around them."""
    found: set[int] = set()
    rounds = _Rounds({f.name: f for f in functions})

    def search(body: tuple[Stmt, ...]) -> bool:
        within = False
        for s in body:
            # No generator: all bodies are searched, whatever was found in the first.
            inside = any([search(b) for b in ir.bodies(s)])
            if isinstance(s, ir.For | ir.While):
                inside = inside or rounds.carry(s)
                if inside:
                    found.add(id(s))
            within |= inside
        return within

    for f in functions:
        search(f.body)
    return frozenset(found)


class _Rounds:
    """Follows by how much numbers grow from one round of a loop to the next, into calls too.

    A step of None: not by the same in each round, as far as can be told.
    """

    def __init__(self, functions: Mapping[str, ir.Function]) -> None:
        self.functions = functions
        self.calls: dict[tuple[str, tuple[int | None, ...]], dict[str, _Uses]] = {}

    def carry(self, loop: ir.For | ir.While) -> bool:
        """Whether a round may load what an earlier one stored, for all that can be known."""
        if isinstance(loop, ir.For) and loop.independent:
            return False
        steps = dict.fromkeys(names_set_in(loop.body)) | _counters(loop.body)
        if isinstance(loop, ir.For):
            by = loop.step.value if isinstance(loop.step, ir.Const) else 1  # it is not 0
            steps.setdefault(loop.name, int(by))
        uses: dict[str, _Uses] = {}
        if isinstance(loop, ir.While):
            self.look(loop.test, steps, uses)
        self.walk(loop.body, steps, uses)
        return any(u.loads and u.stores and u.unknown for u in uses.values())

    def walk(
        self, body: tuple[Stmt, ...], steps: dict[str, int | None], uses: dict[str, _Uses]
    ) -> None:
        """Note what statements do, and the steps of the variables that they set."""
        for s in body:
            for e in ir.expressions(s):
                self.look(e, steps, uses)
            match s:
                case ir.Assign():
                    steps[s.name] = self.step(s.value, steps)
                    continue
                case ir.Store():
                    self.use(s.view.name, _places(s), steps, uses).stores = True
                case ir.StoreAt():
                    self.use(s.pointer.name, (s.index,), steps, uses).stores = True
                case ir.Atomic():  # of a local array it is a load and a store
                    used = self.use(s.view.name, _places(s), steps, uses)
                    used.loads = used.stores = True
                case ir.Clear():
                    self.use(s.array.name, (), steps, uses).stores = True
            changed = {*names_set_in(*ir.bodies(s)), *ir.names_set(s)}
            for inner in ir.bodies(s):
                within = {**steps, **(dict.fromkeys(changed) if _repeats(s) else {})}
                if isinstance(s, ir.For) and s.name not in names_set_in(s.body):
                    within[s.name] = self.step(s.start, steps)
                self.walk(inner, within, uses)
            steps |= dict.fromkeys(changed)

    def look(self, e: Expr, steps: _Steps, uses: dict[str, _Uses]) -> None:
        """Note what an expression loads, and what functions do that it calls."""
        for a in ir.operands(e):
            self.look(a, steps, uses)
        match e:
            case ir.Load():
                self.use(e.view.name, _places(e), steps, uses).loads = True
            case ir.LoadAt():
                self.use(e.pointer.name, (e.index,), steps, uses).loads = True
            case ir.Call() if e.function in self.functions:
                names = [p.name for p in self.functions[e.function].parameters]
                passed = {
                    n: a.name for n, a in zip(names, e.args, strict=True) if isinstance(a, ir.Var)
                }
                for name, used in self.called(e, steps).items():
                    outer = passed.get(name, f"{e.function}.{name}")
                    uses.setdefault(outer, _Uses()).add(used)

    def called(self, e: ir.Call, steps: _Steps) -> dict[str, _Uses]:
        """What a call does to the Views of the function, by the names that they have there."""
        by = tuple(0 if _is_view(a) else self.step(a, steps) for a in e.args)
        key = (e.function, by)
        if key not in self.calls:
            f, uses = self.functions[e.function], dict[str, _Uses]()
            own = dict.fromkeys(f.locals)
            self.walk(
                f.body,
                {**own, **dict(zip((p.name for p in f.parameters), by, strict=True))},
                uses,
            )
            self.calls[key] = uses
        return self.calls[key]

    def use(
        self, name: str, places: tuple[Expr, ...], steps: _Steps, uses: dict[str, _Uses]
    ) -> _Uses:
        """The uses of a View, after one more at a place."""
        by = [self.step(e, steps) for e in places]
        used = uses.setdefault(name, _Uses())
        apart = any(by)  # some subscript is another one in each round
        used.unknown |= not apart and None in by
        return used

    def step(self, e: Expr, steps: _Steps) -> int | None:
        """By how much a number grows from one round to the next."""
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
        if t.itemsize < 4 or None in inner:  # narrow numbers begin again before long
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
        # What wraps around to where it was is in the same place.
        return None if found is not None and found % (1 << t.bits) == 0 != found else found


def _places(s: ir.Load | ir.Store | ir.Atomic) -> tuple[Expr, ...]:
    return s.indices if s.byte is None else (*s.indices, s.byte)


def _is_view(e: Expr) -> bool:
    return isinstance(e, ir.Var) and not isinstance(e.type, Scalar)


def _repeats(s: Stmt) -> bool:
    return bool(ir.bodies(s)) and not isinstance(s, ir.If)


def _counters(body: tuple[Stmt, ...]) -> dict[str, int | None]:
    """Variables that each round changes once, by a constant; and by how much."""
    times = Counter(names_set_in(body))
    found: dict[str, int | None] = {}
    for s in body:
        if isinstance(s, ir.Continue) or not isinstance(s, ir.Assign) or times[s.name] > 1:
            if any(isinstance(inner, ir.Continue) for inner in ir.walk_statements((s,))):
                break  # a round may end before it changes what comes now
            continue
        e = s.value
        if isinstance(e, ir.Op) and e.op in ("add", "sub") and isinstance(e.args[1], ir.Const):
            by = int(e.args[1].value) if e.type.is_integer else 0
            if by and isinstance(e.args[0], ir.Var) and e.args[0].name == s.name:
                found[s.name] = by if e.op == "add" else -by
    return found

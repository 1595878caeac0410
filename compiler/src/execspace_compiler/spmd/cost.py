"""What a call of a function costs, roughly, in additions: of the kernel, and of its form in lanes.

Both are counted alike, so the two can be compared. Nobody knows how often loops run and branches
are taken; both are taken to do so equally often.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from execspace.base.dataclass import dataclass

from .. import ir
from ..analysis.unrolling import trips
from ..ir import Expr, Stmt, Var
from ..ir.ops import FLOAT1, FLOAT2
from ..ir.rewriting import names_set_in
from ..ir.types import Scalar, Vector, ViewTy
from .form import MASK

_ROUNDS = 16  # of loops of unknown length
_MOST_ROUNDS = 64  # of others: what happens once before them is not to disappear
_WHOLE = 0.6  # an operation on integers
_WORD = 4  # bytes
_EARLY = 1.5  # times fewer rounds where one call leaves a loop
_LONGEST, _LONGEST_WHOLE = (
    1.5,
    2.5,
)  # times as many rounds for the lane that takes most; of integers
_BRANCH = 3  # now and then one is predicted wrongly
_DIVISION, _ROOT, _INTEGER_DIVISION, _FUNCTION, _ATOMIC = 8, 10, 20, 40, 20
_GATHER, _SCATTER = 4, 5  # for each lane: its address, the access, and its place in the vector
# More for each lane that goes along a row of its own: that is read from as many places of memory at
# once, while a call by itself reads one row, which processors fetch beforehand.
_ROW = 1
_IRREGULAR = 2  # more where addresses come from memory: all lanes wait for the last one
_PRIVATE = 6  # more for private arrays: what lanes have just stored anywhere is slow to come back
_CALL = 8  # of each lane: vectors are in memory meanwhile
_CHEAP_FUNCTIONS = frozenset(("floor", "ceil", "trunc", "rint", "copysign", "fabs"))
_ELSEWHERE = 100  # a function of the host
_BY_LANE = frozenset(("floordiv", "mod", "pow", "truncdiv", "truncmod"))
_FREE = frozenset(("bounded", "real", "imag", "lane", "low", "high"))


HasFunction = Callable[[str, str], bool]


def _every_function(name: str, kind: str) -> bool:
    return True


@dataclass(frozen=True)
class Machine:
    """What costs depend on: the bits of registers, whether there are instructions that gather, and
    which mathematical functions of which type have vector versions."""

    bits: int
    gathers: bool = False
    has_function: HasFunction = _every_function


class Costs:
    """Costs of functions on a machine; `free`: vectors of Views cost nothing."""

    def __init__(
        self, functions: Mapping[str, ir.Function], machine: Machine, free: bool = False
    ) -> None:
        self.functions = functions
        self.machine, self.bits, self.free = machine, machine.bits, free
        less = 1 if machine.gathers else 0
        self.gather, self.scatter = _GATHER - less, _SCATTER - less
        self.set_in_loops: frozenset[str] = frozenset()
        self.set_in_loop: frozenset[str] | None = None  # the innermost one, if there is any
        self._known: dict[str, float] = {}

    def of(self, name: str) -> float:
        """The cost of a call."""
        if name not in self._known:
            f, outer = self.functions[name], (self.set_in_loops, self.set_in_loop)
            self.set_in_loops, self.set_in_loop = frozenset(), None
            self._known[name] = _ELSEWHERE if f.external is not None else self.body(f.body)
            self.set_in_loops, self.set_in_loop = outer
        return self._known[name]

    def body(self, body: tuple[Stmt, ...]) -> float:
        return sum(map(self.statement, body))

    def round(self, s: ir.For | ir.While) -> float:
        """The cost of a round of a loop."""
        outer = self.set_in_loops, self.set_in_loop
        own = {s.name} if isinstance(s, ir.For) else set()
        self.set_in_loop = frozenset(own.union(names_set_in(s.body)))
        self.set_in_loops |= self.set_in_loop
        found = self.body(s.body) + 1
        self.set_in_loops, self.set_in_loop = outer
        return found

    def statement(self, s: Stmt) -> float:
        total = sum(map(self.expression, ir.expressions(s)))
        match s:
            case ir.Store():
                return total + self.access(s, s.value.type, stores=True)
            case ir.Atomic():
                return total + _ATOMIC
            case ir.If():
                likely = 0.02 if s.rare else 0.8 if _is_any(s.test) else 0.5
                inner = likely * self.body(s.body) + (1 - likely) * self.body(s.orelse)
                return total + inner + (0 if s.body == (ir.Break(),) else _BRANCH)
            case ir.For():
                known = trips(s)
                rounds = _rounds(s) if known is None else known
                if rounds > 1 << 40:
                    rounds = _ROUNDS
                if _is_left_early(s):
                    rounds = max(1, int(rounds / _EARLY))
                one = self.round(s)
                if self.runs_on_vectors(s):
                    one /= max(1, self.bits // _widest(s.body))
                return total + one * min(rounds, _MOST_ROUNDS)
            case ir.While():
                (*_, lanes) = (None, *(a.type for a in ir.operands(s.test) if _is_any(s.test)))
                if isinstance(lanes, Vector):  # one lane after another
                    return lanes.lanes * (self.round(s) + 1)
                longest = _longest(s) if _is_left_in_turn(s) else 1.0
                return (total + self.round(s)) * _ROUNDS * longest
            case ir.Print():
                return total + _ELSEWHERE
        return total

    def runs_on_vectors(self, s: ir.For) -> bool:
        """Whether a loop of numbers runs on vectors by itself: its iterations do not depend on each
        other but for sums of integers, and access elements that are next to each other."""
        inner = ir.walk_statements(s.body)
        if any(not isinstance(t, ir.Assign | ir.Store | ir.If) for t in inner):
            return False
        if any(isinstance(t, ir.If) and not _only_assigns(t) for t in inner):
            return False
        expressions = ir.walk_expressions(s.body)
        if any(isinstance(e.type, Vector) for e in expressions):
            return False
        if not all(self._is_straight(e.function) for e in expressions if isinstance(e, ir.Call)):
            return False
        set_so_far: set[str] = set()
        every = {t.name for t in inner if isinstance(t, ir.Assign)}
        for t in inner:
            for e in ir.subexpressions(*ir.expressions(t)):
                if isinstance(e, ir.Var) and e.name in every - set_so_far:
                    if not _is_join(t, e.name) or _reads(inner, e.name) > 1:
                        return False
            if isinstance(t, ir.Assign):
                set_so_far.add(t.name)
        places = [e for e in (*expressions, *inner) if isinstance(e, ir.Load | ir.Store)]
        return all(_is_row(p, s.name) for p in places)

    def _is_straight(self, name: str) -> bool:
        """Whether a function computes a number without branches."""
        f = self.functions[name]
        if f.external is not None:
            return False
        plain = all(
            isinstance(t, ir.Assign | ir.Unpack | ir.Return) or _is_unrolled(t)
            for t in ir.walk_statements(f.body)
        )
        calls = (e for e in ir.walk_expressions(f.body) if isinstance(e, ir.Call))
        return plain and all(self._is_straight(e.function) for e in calls)

    def registers(self, t: object) -> int:
        """Registers of a value; 1 for a number."""
        if not isinstance(t, Vector):
            return 1
        bits = 64 if t.name == "bool" else t.bits
        return max(1, -(-t.lanes * bits // self.bits))

    def expression(self, e: Expr) -> float:
        inner = sum(map(self.expression, ir.operands(e)))
        match e:
            case ir.Load():
                return inner + self.access(e, e.type, stores=False)
            case ir.Call():
                return inner + self.of(e.function) + 1
            case ir.Select():
                return inner + 2
            case ir.Op():
                return inner + self.operation(e)
        return inner

    def operation(self, e: ir.Op) -> float:
        """The cost of an operation."""
        name, kind = e.op, e.args[0].type
        assert isinstance(kind, Scalar)
        if name in _FREE:
            return 0
        count = max(self.registers(kind), self.registers(e.type))
        one: float = 1
        if name in _BY_LANE and not kind.is_float and isinstance(kind, Vector):
            by = e.args[1].value if isinstance(e.args[1], ir.Const) else 0
            if name in ("floordiv", "mod") and by > 0 and not by & (by - 1):
                return count
            return kind.lanes * (3 + self._number(e, kind))
        if name in ("truediv", "fmod"):
            one = _DIVISION
        elif name == "sqrt":
            one = _ROOT
        elif name in _BY_LANE:
            one = self._number(e, kind)
        elif name in FLOAT1 + FLOAT2 and name not in _CHEAP_FUNCTIONS:
            one = _FUNCTION
            if isinstance(kind, Vector) and not self.machine.has_function(name, kind.name):
                return kind.lanes * (one + _CALL)
        elif isinstance(kind, Vector) and name == "mul" and kind.is_integer and kind.bits == 64:
            one = 3 if self.machine.gathers else 12  # with AVX-512 one instruction
        elif name == "cast" and isinstance(kind, Vector) and {kind.kind, e.type.kind} > {"f"}:
            one = 2 * kind.lanes / count if 64 in (kind.bits, e.type.bits) else 1
        elif not isinstance(kind, Vector) and kind.kind in "biu":
            one = _WHOLE  # processors do more of them at once than of floats
        if kind.kind == "c":
            one *= 4 if name in ("mul", "truediv") else 2
        return one * count

    def _number(self, e: ir.Op, kind: Scalar) -> float:
        """Of an operation on integers that takes long: less if an operand is known."""
        if kind.is_float:
            return 2 * _DIVISION
        return 4 if isinstance(e.args[1], ir.Const) else _INTEGER_DIVISION

    def access(self, s: ir.Load | ir.Store, t: object, stores: bool) -> float:
        """The cost of a load or store; what is the same in each round is loaded before the loop."""
        if not stores and self._is_invariant(s):
            return 0
        if not isinstance(t, Vector):
            return 1
        view = s.view.type
        assert isinstance(view, ViewTy)
        if self.free and view.lanes == 1:
            return 0
        parts = 2 if t.kind == "c" else 1
        spread = [i for i in (*s.indices, s.byte) if i is not None and isinstance(i.type, Vector)]
        if not spread:
            return self.registers(t) * (1 if view.lanes > 1 else 2)
        (first, *others) = spread
        steps = first.args[1] if isinstance(first, ir.Op) and first.op == "ramp" else None
        d = next((n for n, i in enumerate(s.indices) if i is first), None)
        if steps is not None and not others and d is not None and view.lanes == 1:
            assert isinstance(steps, ir.Const)
            row = isinstance(view.element, Scalar) and parts == 1
            narrow = t.itemsize < _WORD and not self.machine.gathers  # has no masked accesses
            everyone = s.mask is None or s.mask == Var(MASK, s.mask.type)
            if narrow and not everyone:
                row = False
            if steps.value == 1 and (view.mapped or view.stride(d) == 1) and row:
                whole = self.registers(t) * (2 if stores else 1)
                if stores and not everyone and not self.machine.gathers:
                    return (whole + t.lanes * self.scatter) / 2  # one by one if some are off
                return whole
        more = _PRIVATE if view.lanes > 1 else _ROW if self._goes_along(s) else 0
        more += _IRREGULAR if any(_is_loaded(i) for i in s.indices) else 0
        return parts * t.lanes * ((self.scatter if stores else self.gather) + more)

    def _is_invariant(self, s: ir.Load | ir.Store) -> bool:
        """Whether it is of the same elements, for the same lanes, in each round of a loop."""
        if self.set_in_loop is None:
            return False
        given = [*s.indices, *(e for e in (s.byte, s.mask) if e is not None)]
        own = self.set_in_loop
        view = s.view.type
        if not isinstance(view, ViewTy) or view.shape is not None:  # private arrays change
            return False
        return not any(
            isinstance(e, ir.Load) or (isinstance(e, ir.Var) and e.name in own)
            for e in ir.subexpressions(*given)
        )

    def _goes_along(self, s: ir.Load | ir.Store) -> bool:
        """Whether each lane accesses another element in each round of a loop, all as far apart."""
        return any(
            isinstance(e, ir.Var) and not isinstance(e.type, Vector) and e.name in self.set_in_loops
            for i in s.indices
            for e in ir.subexpressions(i)
        )


def _rounds(s: ir.For) -> int:
    """Of a loop whose length is not known; a loop in a loop may begin or end at a number of that,
    and has half as many on average."""
    most = most_rounds(s)
    return _ROUNDS if most is None else min(_ROUNDS, (most + 1) // 2 + 1)


def most_rounds(s: ir.For) -> int | None:
    """How often a loop that ends at a known number can go round, if it begins at no other side of
    zero; None if it is not known where it ends."""
    if not isinstance(s.step, ir.Const) or not s.step.value:
        return None
    end = s.stop if s.step.value > 0 else s.start
    return abs(int(end.value)) // abs(int(s.step.value)) if isinstance(end, ir.Const) else None


def _is_left_early(s: ir.For) -> bool:
    """Whether a loop of one call ends before its range does; in lanes it goes on for others."""
    return any(
        isinstance(t, ir.If) and isinstance(t.test.type, Scalar) and not _asks_lanes(t)
        and any(isinstance(b, ir.Break | ir.Return) for b in t.body)
        for t in ir.walk_statements(s.body)
    )  # fmt: skip


def _asks_lanes(s: ir.If) -> bool:
    """Whether the test of a branch is whether any lane needs it."""
    return any(_is_any(e) for e in ir.subexpressions(s.test))


def _is_left_in_turn(s: ir.While) -> bool:
    """Whether some lanes leave a loop before others do."""
    ends = (t for t in s.body if isinstance(t, ir.If) and t.body == (ir.Break(),))
    return any(_is_any(e) for t in ends for e in ir.subexpressions(t.test))


def _longest(s: ir.While) -> float:
    """How many more rounds the lane that takes most has. Rounds that wait for floats take hardly
    longer in lanes than call by call; of integers processors do many at once."""
    kinds = (e.type for e in ir.walk_expressions(s.body))
    floats = any(isinstance(t, Scalar) and t.kind in "fc" for t in kinds)
    return _LONGEST if floats else _LONGEST_WHOLE


def _is_loaded(index: Expr) -> bool:
    """Whether a subscript is a number from memory."""
    return any(isinstance(e, ir.Load) for e in ir.subexpressions(index))


def _only_assigns(s: ir.If) -> bool:
    """Whether a branch is a mere choice of numbers."""
    return all(isinstance(t, ir.Assign) for t in (*s.body, *s.orelse))


def _is_unrolled(s: Stmt) -> bool:
    """Whether a loop has few iterations, and how many is known."""
    if not isinstance(s, ir.For):
        return False
    known = trips(s)
    return known is not None and known <= _ROUNDS


def _is_join(s: Stmt, name: str) -> bool:
    """Whether a statement adds to an integer, or takes the lesser, and does no more with it."""
    if not isinstance(s, ir.Assign) or s.name != name or not isinstance(s.value, ir.Op):
        return False
    x = s.value
    joins = x.op in ("add", "sub", "min", "max", "minimum", "maximum", "bitand", "bitor", "bitxor")
    return joins and x.type.is_integer and isinstance(x.args[0], ir.Var) and x.args[0].name == name


def _reads(inner: list[Stmt], name: str) -> int:
    """How often statements read a variable."""
    given = (e for t in inner for e in ir.subexpressions(*ir.expressions(t)))
    return sum(isinstance(e, ir.Var) and e.name == name for e in given)


def _is_any(test: Expr) -> bool:
    return isinstance(test, ir.Op) and test.op == "any"


def _is_row(place: ir.Load | ir.Store, index: str) -> bool:
    """Whether iterations access neighbours, or all the same element (which they must not store)."""
    view = place.view.type
    assert isinstance(view, ViewTy)
    for d, i in enumerate(place.indices):
        uses = any(isinstance(e, ir.Var) and e.name == index for e in ir.subexpressions(i))
        if uses and not view.mapped and view.stride(d) != 1:
            return False
    return place.byte is None


def _widest(body: tuple[Stmt, ...]) -> int:
    """Bits of the widest numbers in a loop."""
    kinds = [e.type for e in ir.walk_expressions(body) if isinstance(e.type, Scalar)]
    floats = [t.bits for t in kinds if t.is_float]
    return max(floats or [t.bits for t in kinds if t.is_integer] or [64])

"""Slopes: by how much numbers of a body grow from one index of a loop to the next.

A number with a constant slope stays between its values at the ends of a row. So conditions and
subscripts of this kind need to be checked only there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace

from .. import ir
from ..ir import Expr, Stmt, Var, integer, op
from ..ir.types import BOOL, INDEX_WEAK, ViewTy

_Slopes = Mapping[str, int | None]
FAILED = ir.Return(ir.Const(True, BOOL))  # in a test of a body


def slope_of(e: Expr, slopes: _Slopes) -> int | None:
    """By how much a number grows from one index to the next; None if that is not constant."""
    inner = [slope_of(a, slopes) for a in ir.operands(e)]
    if isinstance(e, Var):
        return slopes.get(e.name, 0)
    if all(slope == 0 for slope in inner):
        return 0
    if isinstance(e, ir.Op) and e.type.weak == INDEX_WEAK and None not in inner:
        a, *rest = (slope for slope in inner if slope is not None)
        match e.op:
            case "add":
                return a + rest[0]
            case "sub":
                return a - rest[0]
            case "neg":
                return -a
            case "mul":
                for slope, factor in ((a, e.args[1]), (rest[0], e.args[0])):
                    if isinstance(factor, ir.Const):
                        return slope * int(factor.value)
            case "bounded":
                return a
    return None


def is_convex(test: ir.Function, index: str) -> bool:
    """Whether all numbers that a test compares have a constant slope in an index."""
    *statements, _ = test.body  # the last one returns that none has failed
    slopes: dict[str, int | None] = {index: 1}
    for s in statements:
        match s:
            case ir.Assign():
                slope = slope_of(s.value, slopes)
                if slope is None or s.name in slopes:
                    return False
                slopes[s.name] = slope
            case ir.If() if (
                isinstance(s.test, ir.Op) and s.test.op == "not"
                and s.body == (FAILED,) and not s.orelse
            ):  # fmt: skip
                if not _holds_between(s.test.args[0], slopes):
                    return False
            case _:
                return False
    return True


def _holds_between(e: Expr, slopes: _Slopes) -> bool:
    """Whether a condition that holds at two indices holds at all indices between them."""
    if isinstance(e, ir.Op) and e.op == "and":
        return all(_holds_between(a, slopes) for a in e.args)
    if isinstance(e, ir.Op) and e.op in ("lt", "le", "gt", "ge", "eq"):
        return all(slope_of(a, slopes) is not None for a in e.args)
    return slope_of(e, slopes) == 0


def is_assertion(s: Stmt) -> bool:
    """Whether a statement of a kernel is just an assert."""
    return (
        isinstance(s, ir.If) and not s.orelse and len(s.body) == 2
        and isinstance(s.body[0], ir.Fail) and isinstance(s.body[1], ir.Return)
    )  # fmt: skip


def out_of_bounds(
    body: ir.Function,
    statements: tuple[Stmt, ...],
    index: str,
    failing: Collection[str],
    ordered: bool = False,
) -> ir.Function | None:
    """A function that returns whether loads after an assertion are out of bounds.

    If they are in bounds at both ends of a row, all elements exist that the calls of the row would
    load if nothing failed; so they may be loaded speculatively, before the assertions are tested.
    None if checking the ends is not enough. `failing`: names of helpers that assert. `ordered`: a
    call that fails ends the row, so all loads of other calls come after an assertion.
    """
    found = _Loads(statements, index, failing, ordered)
    if not found.walk(statements, certain=True):
        return None
    return replace(
        body, name=f"{body.name}__outside", result=BOOL, declared=None,
        body=(*found.made, ir.Return(ir.Const(False, BOOL))),
    )  # fmt: skip


class _Loads:
    """Finds loads after assertions, and builds statements that test whether they are in bounds.

    An assertion is one of a kernel, or of a test of passes/prechecks.py, which returns True.
    """

    def __init__(
        self, statements: tuple[Stmt, ...], index: str, failing: Collection[str], asserted: bool
    ) -> None:
        self.failing = failing
        self.made: list[Stmt] = []
        self.asserted = asserted  # an earlier assertion may have failed
        self.known: set[str] = set()  # loads that every call makes, or that were tested
        self.leaves = False  # a call may have ended without a failure
        self.times = Counter(n for s in ir.walk_statements(statements) for n in ir.names_set(s))
        # Slopes in the index, and in each enclosing loop's; before these, all known numbers.
        unknown: dict[str, int | None] = dict.fromkeys(self.times)
        self.slopes = [unknown, {**unknown, index: 1}]

    def walk(self, statements: tuple[Stmt, ...], certain: bool) -> bool:
        """Whether all loads after assertions are tested."""
        for s in statements:
            certain = certain and not self.leaves
            match s:
                case ir.If() if is_assertion(s) or s.body == (FAILED,):
                    if not self.look(s.test, certain):
                        return False
                    self.asserted = True
                    continue
                case ir.If():
                    if not self.look(s.test, certain):
                        return False
                    before = self.asserted
                    if not self.walk(s.body, False):
                        return False
                    after, self.asserted = self.asserted, before
                    if not self.walk(s.orelse, False):
                        return False
                    self.asserted |= after
                    continue
                case ir.For():
                    if not self.loop(s, certain):
                        return False
                    continue
                case ir.Return():
                    self.leaves = True
                case ir.While() | ir.Break() | ir.Continue() | ir.Atomic():
                    return False
                case ir.Store() if self.asserted and _is_own(s.view):
                    if not (certain and self.test(s)):
                        return False
            if not all(self.look(e, certain) for e in ir.expressions(s)):
                return False
            if isinstance(s, ir.Assign) and self.times[s.name] == 1 and self.is_known(s.value):
                self.made.append(s)
                for slopes in self.slopes:
                    slopes[s.name] = slope_of(s.value, slopes)
        return True

    def loop(self, loop: ir.For, certain: bool) -> bool:
        """As `walk`, for a loop: its first and last iterations are tested."""
        bounds = [e.value for e in (loop.start, loop.stop, loop.step) if isinstance(e, ir.Const)]
        if len(bounds) < 3 or self.times[loop.name] > 1:
            return False
        iterations = range(*map(int, bounds))
        changed = {n for s in ir.walk_statements(loop.body) for n in ir.names_set(s)}
        for slopes in self.slopes:
            slopes[loop.name] = 0
        self.slopes.append({**self.slopes[0], loop.name: 1})
        for n in dict.fromkeys((*iterations[:1], *iterations[-1:])):
            for slopes in self.slopes:
                slopes |= dict.fromkeys(changed)
            self.made.append(ir.Assign(loop.name, integer(n)))
            if not self.walk(loop.body, certain):
                return False
        self.slopes.pop()
        for slopes in self.slopes:
            slopes |= dict.fromkeys((*changed, loop.name))
        return True

    def look(self, e: Expr, certain: bool) -> bool:
        """Whether all loads of an expression are tested, or come before all assertions."""
        arms = isinstance(e, ir.Select) or (isinstance(e, ir.Op) and e.op in ("and", "or"))
        for n, a in enumerate(ir.operands(e)):
            if not self.look(a, certain and not (arms and n > 0)):
                return False
        if isinstance(e, ir.Call) and self.asserted:
            return False  # it may have a local array, and a subscript that is out of bounds
        if isinstance(e, ir.Call) and any(isinstance(a.type, ViewTy) for a in e.args):
            return e.function not in self.failing
        if not isinstance(e, ir.Load) or str(e) in self.known:
            return True
        if self.asserted and not (certain and self.test(e)):
            return False
        if certain and len(self.slopes) == 2 and all(map(self.is_steady, e.indices)):
            self.known.add(str(e))
        return True

    def is_known(self, e: Expr) -> bool:
        """Whether an expression can be evaluated in the test."""
        return _is_arithmetic(e) and slope_of(e, self.slopes[0]) is not None

    def is_steady(self, e: Expr) -> bool:
        return _is_arithmetic(e) and all(slope_of(e, s) is not None for s in self.slopes)

    def test(self, e: ir.Load | ir.Store) -> bool:
        """Test an access; returns whether that is possible."""
        view = e.view.type
        if not isinstance(view, ViewTy) or view.mapped or not all(map(self.is_steady, e.indices)):
            return False
        if e.byte is not None and not isinstance(e.byte, ir.Const):
            return False
        for d, i in enumerate(e.indices):
            end: Expr = ir.Extent(e.view, d) if view.shape is None else integer(view.shape[d])
            beyond = ir.Op("or", (op("lt", i, integer(0)), op("ge", i, end)), BOOL)
            self.made.append(ir.If(beyond, (FAILED,)))
        return True


def _is_own(view: Var) -> bool:
    """Whether an array is private to a call."""
    return isinstance(view.type, ViewTy) and view.type.shape is not None


def _is_arithmetic(e: Expr) -> bool:
    """Whether an expression has neither loads nor calls."""
    if isinstance(e, ir.Load | ir.LoadAt | ir.Call):
        return False
    return all(map(_is_arithmetic, ir.operands(e)))

"""Assertions that are tested for a strip of iterations before any of them runs.

A loop whose body may leave it is not vectorised. So where the assertions of a kernel can be told
without running it, hosts test them for a few hundred iterations first, in loops that vectorise;
if all hold, as they nearly always do, the strip runs a body without assertions. If one fails, the
strip runs the body as it is written, so each call of the kernel does what it would have done.

Iterations of a range may run in any order. So testing one before another has stored changes
nothing; only what a call itself stores before it asserts must be seen by the test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from . import ir
from .ir import Expr, Stmt, Var
from .modules import has_effects
from .ops import FLOAT1, FLOAT2
from .pipeline import Lowered
from .rewriting import rewritten
from .types import BOOL, INDEX_WEAK, Scalar, ViewTy

_Question = Callable[[Stmt], bool]

STRIP = 1024  # iterations: what a few Views have of them stays in the first cache
_MOST_TESTS = 4
_LONGEST = 16  # rounds of a loop that LLVM unrolls

# What is not vectorised, or costs so much that a branch beside it does not count.
_SCALAR = (
    frozenset(FLOAT1 + FLOAT2) - {"sqrt", "floor", "ceil", "trunc", "rint", "copysign"}
) | {"pow", "floordiv", "mod", "truncdiv", "truncmod"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Prechecks:
    """Functions that take the place of a body with assertions; all have its parameters.

    Attributes
    ----------
    tests : tuple of ir.Function
        Each tells whether an assertion fails in a call, provided that those before it hold.
    convex : tuple of bool
        Of each test whether it holds between two calls of a row if it holds in both.
    sound : ir.Function
        The body for calls in which none fails.
    functions : tuple of ir.Function
        All of these and the helpers that `sound` needs, callees first.
    """

    tests: tuple[ir.Function, ...]
    convex: tuple[bool, ...]
    sound: ir.Function
    functions: tuple[ir.Function, ...]


def prechecks_of(lowered: Lowered, disjoint: bool, innermost: int) -> Prechecks | None:
    """What tests the assertions of a kernel beforehand; None if it has none, if that cannot be
    done, or if its loop would not be vectorised without them.

    `disjoint`: Views do not overlap. `innermost`: the dimension of that loop.
    """
    if lowered.spec.policy.kind == "team" or lowered.spec.pattern == "scan" or lowered.prints:
        return None
    body = lowered.body
    if not any(isinstance(s, ir.Fail) for s in ir.walk_statements(body.body)):
        return None
    if not vectorises(lowered):
        return None
    helpers = {f.name: f for f in lowered.functions[:-1]}
    sound = _Sound(body, helpers)
    tests = _Tests(body, helpers, disjoint).functions()
    if tests is None or not sound.complete:
        return None
    index = body.parameters[innermost].name
    convex = tuple(_is_convex(t, index) for t in tests)
    return Prechecks(tests, convex, sound.body, (*sound.helpers, *tests, sound.body))


def _called(function: ir.Function, helpers: dict[str, ir.Function]) -> list[ir.Function]:
    """The helpers that a function calls, and those that they call."""
    found: dict[str, ir.Function] = {}
    todo = [function]
    while todo:
        for e in ir.walk_expressions(todo.pop().body):
            if isinstance(e, ir.Call) and e.function not in found:
                found[e.function] = helpers[e.function]
                todo.append(helpers[e.function])
    return list(found.values())


def vectorises(lowered: Lowered) -> bool:
    """Whether a loop over calls of a kernel may be vectorised, as far as can be seen here."""
    helpers = {f.name: f for f in lowered.functions[:-1]}
    return all(map(_vectorises, (lowered.body, *_called(lowered.body, helpers))))


def _vectorises(function: ir.Function) -> bool:
    """Whether nothing in a function hinders a vector loop over it."""
    for s in ir.walk_statements(function.body):
        if isinstance(s, ir.While | ir.Atomic | ir.Print | ir.TeamStmt):
            return False
        if isinstance(s, ir.For):
            bounds = [e.value for e in (s.start, s.stop, s.step) if isinstance(e, ir.Const)]
            if len(bounds) < 3 or len(range(*bounds)) > _LONGEST:
                return False
    found = ir.walk_expressions(function.body)
    return not any(isinstance(e, ir.Op) and e.op in _SCALAR for e in found)


def _is_assertion(s: Stmt) -> bool:
    """Whether a statement of a kernel is an assert and no more."""
    return (
        isinstance(s, ir.If) and not s.orelse and len(s.body) == 2
        and isinstance(s.body[0], ir.Fail) and isinstance(s.body[1], ir.Return)
    )  # fmt: skip


# -- teams ----------------------------------------------------------------------------------------


def reported_at_the_end(body: ir.Function) -> ir.Function:
    """The kernel of a team with its failures noted in variables, and reported when it ends.

    An assertion of a team does not leave at once, since others may wait for the member; what it
    guards is skipped, see team_failures.py. So it need not hinder a vector loop either; what would,
    is the atomic step that reports it.
    """
    marks: list[tuple[Var, ir.Fail]] = []

    def noted(statements: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        found: list[Stmt] = []
        for s in statements:
            alone = isinstance(s, ir.If) and not s.orelse and len(s.body) == 1
            if isinstance(s, ir.If) and alone and isinstance(s.body[0], ir.Fail):
                fail = s.body[0]
                if isinstance(fail.code, ir.Const):
                    mark = Var(f"_failed{len(marks)}", BOOL)
                    marks.append((mark, fail))
                    value = ir.Op("bitor", (mark, s.test), BOOL)
                    found.append(ir.Assign(mark.name, value, s.loc))
                    continue
            if isinstance(s, ir.Return):
                found += _reports(marks)
            found.append(ir.with_bodies(s, tuple(map(noted, ir.bodies(s)))))
        return tuple(found)

    statements = noted(body.body)
    if not marks:
        return body
    clear = [ir.Assign(mark.name, ir.Const(False, BOOL)) for mark, _ in marks]
    locals_ = {**body.locals, **{mark.name: BOOL for mark, _ in marks}}
    return replace(body, body=(*clear, *statements, *_reports(marks)), locals=locals_)


def _reports(marks: list[tuple[Var, ir.Fail]]) -> list[Stmt]:
    return [ir.If(mark, (fail,)) for mark, fail in marks]


# -- the body without assertions ------------------------------------------------------------------


class _Sound:
    """A body and its helpers without their assertions.

    A helper that asserts returns, behind its result, the number of the assertion that failed, or
    0; so a return of anything else is an assertion, or hands on one.
    """

    def __init__(self, body: ir.Function, helpers: dict[str, ir.Function]) -> None:
        failing = self._failing(body, helpers)
        self.names = {name: f"{name}__sound" for name in failing}
        self.complete = True
        self.helpers = tuple(
            self._version(f, self._hands_on) for f in helpers.values() if f.name in failing
        )
        self.body = self._version(body, _is_assertion)
        rest = ir.walk_statements(self.body.body)
        self.complete &= not any(isinstance(s, ir.Fail) for s in rest)

    def _failing(self, body: ir.Function, helpers: dict[str, ir.Function]) -> set[str]:
        """Names of the helpers that return the number of an assertion."""
        failing: set[str] = set()
        todo = [(body, [s.code for s in ir.walk_statements(body.body) if isinstance(s, ir.Fail)])]
        while todo:
            function, codes = todo.pop()
            wanted = {e.name for e in codes if isinstance(e, Var)}
            for s in ir.walk_statements(function.body):
                if isinstance(s, ir.Assign | ir.Unpack) and isinstance(s.value, ir.Call):
                    callee = s.value.function
                    if wanted.intersection(ir.names_set(s)) and callee not in failing:
                        failing.add(callee)
                        todo.append((helpers[callee], _codes(helpers[callee].body)))
        return failing

    def _hands_on(self, s: Stmt) -> bool:
        return (
            isinstance(s, ir.If) and not s.orelse and len(s.body) == 1
            and isinstance(s.body[0], ir.Return) and not _is_zero(_codes(s.body)[-1])
        )  # fmt: skip

    def _version(self, f: ir.Function, asserts: _Question) -> ir.Function:
        def expression(e: Expr) -> Expr:
            e = ir.with_operands(e, tuple(map(expression, ir.operands(e))))
            if isinstance(e, ir.Call) and e.function in self.names:
                return replace(e, function=self.names[e.function])
            return e

        body = tuple(rewritten(s, expression) for s in _without(f.body, asserts))
        name = self.names.get(f.name, f"{f.name}__sound")
        return replace(f, name=name, body=body, declared=None)


def _codes(body: tuple[Stmt, ...]) -> list[Expr]:
    """The last number of each return."""
    values = [s.value for s in ir.walk_statements(body) if isinstance(s, ir.Return)]
    last = [v[-1] if isinstance(v, tuple) else v for v in values]
    return [v for v in last if v is not None]


def _is_zero(e: Expr) -> bool:
    return isinstance(e, ir.Const) and e.value == 0


def _without(body: tuple[Stmt, ...], asserts: _Question) -> tuple[Stmt, ...]:
    """Statements without assertions."""
    kept = (s for s in body if not asserts(s))
    return tuple(
        ir.with_bodies(s, tuple(_without(inner, asserts) for inner in ir.bodies(s))) for s in kept
    )


# -- the tests ------------------------------------------------------------------------------------


class _Tests:
    """Functions that tell whether an assertion of a body fails, made of what that depends on."""

    def __init__(self, body: ir.Function, helpers: dict[str, ir.Function], disjoint: bool) -> None:
        self.body = body
        self.disjoint = disjoint
        effectful: set[str] = set()
        for f in helpers.values():  # callees come first
            if has_effects(f, frozenset(effectful)):
                effectful.add(f.name)
        self.effectful = effectful
        self.arrays = {n for n, t in body.locals.items() if isinstance(t, ViewTy)}
        self.kept: dict[str, Scalar] = {}
        last = max(n for n, s in enumerate(body.body) if _contains_fail(s))
        # What is stored is seen by later loads of the same place.
        self.statements = self._forwarded(body.body[: last + 1])
        self.needed: set[str] = set()
        self._find_needed()

    def functions(self) -> tuple[ir.Function, ...] | None:
        """The tests, in their order; None if an assertion depends on what the call does."""
        if not self._independent():
            return None
        groups = self._groups()
        return tuple(self._test(n, group) for n, group in enumerate(groups))

    def _test(self, number: int, group: range) -> ir.Function:
        statements: list[Stmt] = []
        for n, s in enumerate(self.statements[: group.stop]):
            statements += self._sliced((s,), n in group)
        statements.append(ir.Return(ir.Const(False, BOOL)))
        locals_ = {**self.body.locals, **self.kept}
        return replace(
            self.body, name=f"{self.body.name}__fails{number + 1}", result=BOOL, locals=locals_,
            body=tuple(statements), declared=None,
        )  # fmt: skip

    def _groups(self) -> list[range]:
        """Numbers of the statements whose assertions one test looks at.

        What an assertion loads is guarded by those before it. Where it loads more than they have,
        the next test looks at it, knowing that they hold; so no load has a condition.
        """
        seen: set[str] = set()
        ends: list[int] = []
        begun = False
        for n, s in enumerate(self.statements):
            sliced = self._sliced((s,), True)
            found = ir.walk_expressions(sliced)
            loads = {str(e) for e in found if isinstance(e, ir.Load | ir.Call)}
            if begun and not loads <= seen and len(ends) < _MOST_TESTS - 1:
                ends.append(n)
                begun = False
            seen |= loads
            begun |= _contains_fail(s)
        return [range(a, b) for a, b in zip([0, *ends], [*ends, len(self.statements)], strict=True)]

    def _sliced(self, body: tuple[Stmt, ...], asserts: bool) -> tuple[Stmt, ...]:
        """Those statements that an assertion depends on, without effects."""
        found: list[Stmt] = []
        for s in body:
            if isinstance(s, ir.Fail) or not self._is_needed(s):
                continue
            if _is_assertion(s):
                assert isinstance(s, ir.If)
                failed = ir.Return(ir.Const(True, BOOL))
                found += [replace(s, body=(failed,))] if asserts else []
            elif isinstance(s, ir.Return):
                found.append(ir.Return(ir.Const(False, BOOL)))
            else:
                inner = tuple(self._sliced(b, asserts) for b in ir.bodies(s))
                if not inner or any(inner):
                    found.append(ir.with_bodies(s, inner))
        return tuple(found)

    def _is_needed(self, s: Stmt) -> bool:
        match s:
            case ir.Fail() | ir.Return() | ir.Break() | ir.Continue():
                return True
            case ir.Store() | ir.Clear():
                name = s.view.name if isinstance(s, ir.Store) else s.array.name
                return name in self.arrays and name in self.needed
            case ir.Assign() | ir.Unpack():
                return not self.needed.isdisjoint(ir.names_set(s))
            case ir.If() | ir.For():
                return any(self._is_needed(t) for body in ir.bodies(s) for t in body)
        return False

    def _find_needed(self) -> None:
        """Names that assertions depend on: variables, and arrays of the kernel's own."""
        every = ir.walk_statements(self.statements)
        before = -1
        while before != len(self.needed):
            before = len(self.needed)
            for s in every:
                if self._is_needed(s) and not isinstance(s, ir.Fail | ir.Return):
                    self.needed |= _names(ir.expressions(s))

    def _independent(self) -> bool:
        """Whether assertions depend on nothing that the call of the kernel stores itself."""
        # The array of a reduction holds what other calls have left.
        stored = {p.name for p in self.body.parameters if _has_shape(p)}
        for s in self.statements:
            own, changed = (s,), _stored_by((s,), self.effectful)
            sliced = self._sliced(own, True)
            found = ir.walk_expressions(sliced)
            if any(isinstance(e, ir.Call) and not self._is_pure(e) for e in found):
                return False
            read = _read_by(found) - self.arrays
            # In a branch or loop the order is not looked at.
            written = stored | (changed if ir.bodies(s) else set())
            if read & written or (read and written - self.arrays and not self.disjoint):
                return False
            stored |= changed
        return True

    def _is_pure(self, e: ir.Call) -> bool:
        given = {a.name for a in e.args if isinstance(a, Var)}
        return e.function not in self.effectful and given.isdisjoint(self.arrays)

    def _forwarded(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Statements whose loads of what was just stored take the value that was stored."""
        known: dict[tuple[str, tuple[Expr, ...]], Var] = {}

        def other(e: Expr) -> Expr:
            e = ir.with_operands(e, tuple(map(other, ir.operands(e))))
            if isinstance(e, ir.Load) and e.byte is None:
                return known.get((e.view.name, e.indices), e)
            return e

        found: list[Stmt] = []
        for s in body:
            s = rewritten(s, other) if not ir.bodies(s) or not _changes(s, known) else s
            changed = _stored_by((s,), self.effectful)
            names = {n for t in ir.walk_statements((s,)) for n in ir.names_set(t)}
            alone = isinstance(s, ir.Store) and s.view.name not in self.arrays
            if alone and isinstance(s, ir.Store) and s.byte is None:
                kept = Var(f"_kept{len(self.kept)}", _scalar(s.value))
                self.kept[kept.name] = _scalar(s.value).strong
                found.append(ir.Assign(kept.name, s.value, s.loc))
                s = replace(s, value=kept)
            known = {
                (view, at): v for (view, at), v in known.items()
                if view not in changed and (self.disjoint or not changed)
                and names.isdisjoint(_names(at))
            }  # fmt: skip
            if alone and isinstance(s, ir.Store) and s.byte is None:
                assert isinstance(s.value, Var)
                known[s.view.name, s.indices] = s.value
            found.append(s)
        return tuple(found)


def _is_convex(test: ir.Function, index: str) -> bool:
    """Whether all that a test compares grows with an index steadily, by the same at each step."""
    *statements, _ = test.body  # the last one says that none has failed
    slopes: dict[str, int | None] = {index: 1}
    for s in statements:
        match s:
            case ir.Assign():
                slope = slope_of(s.value, slopes)
                if slope is None or s.name in slopes:
                    return False
                slopes[s.name] = slope
            case ir.If() if isinstance(s.test, ir.Op) and s.test.op == "not":
                if not _holds_between(s.test.args[0], slopes):
                    return False
            case _:
                return False
    return True


def _holds_between(e: Expr, slopes: Mapping[str, int | None]) -> bool:
    """Whether a condition that holds at two places holds at all between them."""
    if isinstance(e, ir.Op) and e.op == "and":
        return all(_holds_between(a, slopes) for a in e.args)
    if isinstance(e, ir.Op) and e.op in ("lt", "le", "gt", "ge", "eq"):
        return all(slope_of(a, slopes) is not None for a in e.args)
    return slope_of(e, slopes) == 0


def slope_of(e: Expr, slopes: Mapping[str, int | None]) -> int | None:
    """By how much a number grows from one index to the next; None if that is not the same
    everywhere."""
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


def _changes(s: Stmt, known: Iterable[tuple[str, tuple[Expr, ...]]]) -> bool:
    """Whether a branch or loop sets a variable of a known place, or stores anything."""
    inner = ir.walk_statements((s,))
    names = {n for t in inner for n in ir.names_set(t)}
    stores = any(isinstance(t, ir.Store | ir.Evaluate) for t in inner)
    return stores or any(names & _names(at) for _, at in known)


def _scalar(e: Expr) -> Scalar:
    assert isinstance(e.type, Scalar)
    return e.type


def _contains_fail(s: Stmt) -> bool:
    return any(isinstance(t, ir.Fail) for t in ir.walk_statements((s,)))


def _has_shape(v: Var) -> bool:
    return isinstance(v.type, ViewTy) and v.type.shape is not None


def _names(found: Iterable[Expr]) -> set[str]:
    """Names in expressions, those of Views included."""
    names: set[str] = set()
    todo = list(found)
    while todo:
        e = todo.pop()
        if isinstance(e, Var):
            names.add(e.name)
        elif isinstance(e, ir.Load | ir.Extent):
            names.add(e.view.name)
        todo += ir.operands(e)
    return names


def _read_by(found: Iterable[Expr]) -> set[str]:
    """Names of the Views that expressions read, helpers included."""
    names: set[str] = set()
    for e in found:
        if isinstance(e, ir.Load):
            names.add(e.view.name)
        elif isinstance(e, ir.Call):
            names |= {a.name for a in e.args if isinstance(a, Var) and isinstance(a.type, ViewTy)}
    return names


def _stored_by(body: tuple[Stmt, ...], effectful: set[str]) -> set[str]:
    """Names of the Views and arrays that statements store into, helpers included."""
    found = {s.view.name for s in ir.walk_statements(body) if isinstance(s, ir.Store)}
    for e in ir.walk_expressions(body):
        if isinstance(e, ir.Call) and e.function in effectful:
            found |= _read_by((e,))
    return found

"""Assertions that are tested for a strip of iterations before any of them runs.

A loop with early exits is not vectorised. So if the assertions of a kernel can be evaluated without
running it, hosts test them for a few hundred iterations first, in loops that vectorise; if all
hold, as they nearly always do, the strip runs a body without assertions. If one fails, the strip
runs the original body, so each call of the kernel behaves as written.

Iterations of a range may run in any order. So testing one before another has stored is allowed;
only stores of the same call before an assertion must be visible to its test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from execspace.base.dataclass import dataclass

from .. import ir
from ..analysis.slopes import is_assertion, is_convex, out_of_bounds
from ..analysis.unrolling import trips
from ..ir import Expr, Stmt, Var
from ..ir.ops import FLOAT1, FLOAT2
from ..ir.rewriting import rewritten
from ..ir.types import BOOL, Scalar
from ..typing.lowered import Lowered
from .failure_predicates import FailurePredicates

_Question = Callable[[Stmt], bool]

_SOUND = "__sound"  # ends the names of versions without assertions
_LONGEST = 16  # trip count of a loop that LLVM unrolls

# Operations that are not vectorised, or are so expensive that a branch does not matter.
_SCALAR = (
    frozenset(FLOAT1 + FLOAT2) - {"sqrt", "floor", "ceil", "trunc", "rint", "copysign"}
) | {"pow", "floordiv", "mod", "truncdiv", "truncmod"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Prechecks:
    """Functions that take the place of a body with assertions; all have its parameters.

    Attributes
    ----------
    ends : tuple of ir.Function
        Each returns whether a condition fails in a call, provided that the earlier ones returned
        that none does; conditions that hold at both ends of a row hold for the whole row.
    tests : tuple of ir.Function
        The same, for each call.
    sound : ir.Function
        The body for calls in which no assertion fails.
    fused : bool
        The sound body may run together with the tests: if one failed, its result is dropped.
    bits : int
        Width of the numbers that tests compare; 1 if comparisons give masks, and masked loads are
        as cheap as others.
    functions : tuple of ir.Function
        All of these and the helpers that `sound` needs, callees first.
    """

    ends: tuple[ir.Function, ...]
    tests: tuple[ir.Function, ...]
    sound: ir.Function
    fused: bool
    bits: int
    functions: tuple[ir.Function, ...]


def prechecks_of(lowered: Lowered, disjoint: bool, innermost: int, masks: bool) -> Prechecks | None:
    """Tests of a kernel's assertions beforehand; None if it has none, if that is impossible, or if
    its loop would not be vectorised without them.

    `disjoint`: Views do not overlap. `innermost`: the dimension of that loop. `masks`: masked
    loads are as cheap as others.
    """
    if lowered.spec.policy.kind == "team" or lowered.spec.pattern == "scan" or lowered.prints:
        return None
    body = lowered.body
    if not lowered.asserts:
        return None
    helpers = {f.name: f for f in lowered.functions[:-1]}
    if not is_vectorisable(body, helpers):
        return None
    sound = Sound(body, helpers)
    made = FailurePredicates(body, helpers, disjoint)
    tests = made.functions()
    if tests is None or not sound.complete:
        return None
    index = body.parameters[innermost].name
    n = next((n for n, t in enumerate(tests) if not is_convex(t, index)), len(tests))
    ends, tests = tests[:n], tests[n:]
    fused = False
    if tests:
        there = None
        if _only_joins(lowered, sound.body, made.effectful):
            there = out_of_bounds(body, body.body, index, sound.names)
        fused = there is not None
        if there is None and len(tests) > 1:
            frame = replace(body, locals={**body.locals, **made.kept})
            there = out_of_bounds(frame, made.sliced(), index, sound.names)
        if there is not None:
            ends = (*ends, *([there] if len(there.body) > 1 else []))
            tests = (made.together(n),)
    bits = bits_compared(tests, masks)
    return Prechecks(
        ends, tests, sound.body, fused, bits, (*sound.helpers, *ends, *tests, sound.body)
    )  # fmt: skip


def bits_compared(tests: Iterable[ir.Function], masks: bool) -> int:
    """`Prechecks.bits` of tests."""
    if masks:
        return 1
    compared = (
        a.type
        for t in tests
        for e in ir.walk_expressions(t.body)
        if isinstance(e, ir.Op) and e.type == BOOL
        for a in e.args
    )
    sizes = [t.itemsize // (2 if t.kind == "c" else 1) for t in compared if isinstance(t, Scalar)]
    return 8 * max([2, *sizes])


def _only_joins(lowered: Lowered, sound: ir.Function, effectful: set[str]) -> bool:
    """Whether calls only join a number, and terminate for any number."""
    if lowered.reduction is None:
        return False
    for s in ir.walk_statements(sound.body):
        if isinstance(s, ir.Evaluate | ir.Atomic):
            return False
        if isinstance(s, ir.Store) and s.view.name not in sound.locals:
            return False
    called = (e.function for e in ir.walk_expressions(sound.body) if isinstance(e, ir.Call))
    if any(name.removesuffix(_SOUND) in effectful for name in called):
        return False
    helpers = {f.name: f for f in (*lowered.functions[:-1], *lowered.reduction.functions)}
    joining = _called(lowered.reduction.accumulate_function("_step"), helpers)
    return all(_vectorises(f) and not _subscripts(f) for f in joining)


def _subscripts(function: ir.Function) -> bool:
    """Whether a function accesses elements at subscripts from arguments: maybe out of bounds."""
    places = [s.indices for s in ir.walk_statements(function.body) if isinstance(s, ir.Store)]
    places += [e.indices for e in ir.walk_expressions(function.body) if isinstance(e, ir.Load)]
    return not all(isinstance(i, ir.Const) for at in places for i in at)


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


def is_vectorisable(body: ir.Function, helpers: dict[str, ir.Function]) -> bool:
    """Whether a loop over calls of a kernel may be vectorised, as far as IR shows."""
    return all(map(_vectorises, (body, *_called(body, helpers))))


def _vectorises(function: ir.Function) -> bool:
    """Whether a loop over a function may be vectorised."""
    for s in ir.walk_statements(function.body):
        if isinstance(s, ir.While | ir.Atomic | ir.Print | ir.TeamStmt):
            return False
        if isinstance(s, ir.For) and not is_unrolled(s):
            return False
    found = ir.walk_expressions(function.body)
    return not any(isinstance(e, ir.Op) and e.op in _SCALAR for e in found)


def is_unrolled(loop: ir.For) -> bool:
    """Whether a loop is so short that LLVM unrolls it."""
    count = trips(loop)
    return count is not None and count <= _LONGEST


# -- the body without assertions ------------------------------------------------------------------


class Sound:
    """A body and its helpers without their assertions.

    A helper with assertions returns, after its result, the number of the one that failed, or 0; so
    a return of another number is a failed assertion, or propagates one.
    """

    def __init__(self, body: ir.Function, helpers: dict[str, ir.Function]) -> None:
        failing = self._failing(body, helpers)
        self.names = {name: f"{name}{_SOUND}" for name in failing}
        self.complete = True
        self.helpers = tuple(
            self._version(f, self._propagates) for f in helpers.values() if f.name in failing
        )
        self.body = self._version(body, is_assertion)
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

    def _propagates(self, s: Stmt) -> bool:
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
        name = self.names.get(f.name, f"{f.name}{_SOUND}")
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

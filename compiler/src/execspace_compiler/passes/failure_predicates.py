"""Failure predicates: functions that compute whether an assertion fails, without side effects.

They do not store. So a load of an element that the same call stored before is replaced by the
stored value.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .. import ir
from ..analysis.slopes import FAILED, is_assertion
from ..ir import Expr, Stmt, Var
from ..ir.rewriting import rewritten
from ..ir.types import BOOL, Scalar, ViewTy
from ..typing.module import has_effects

_MOST_TESTS = 4


class FailurePredicates:
    """Functions that return whether an assertion of a body fails, sliced from the body."""

    def __init__(
        self,
        body: ir.Function,
        helpers: dict[str, ir.Function],
        disjoint: bool,
    ) -> None:
        self.body = body
        self.disjoint = disjoint
        self.effectful = effectful_helpers(helpers.values())
        self.arrays = {n for n, t in body.locals.items() if isinstance(t, ViewTy)}
        self.kept: dict[str, Scalar] = {}
        last = max(n for n, s in enumerate(body.body) if contains_fail(s))
        # Forward stored values to later loads of the same element.
        self.statements = self._forwarded(body.body[: last + 1])
        self.needed: set[str] = set()
        self._find_needed()

    def functions(self) -> tuple[ir.Function, ...] | None:
        """The tests in order; None if an assertion depends on side effects of the call."""
        if not self._independent():
            return None
        return tuple(self._test(f"fails{n + 1}", group) for n, group in enumerate(self._groups()))

    def together(self, first: int) -> ir.Function:
        """The tests from number `first` on as one without early exits; loads may be speculative."""
        groups = self._groups()
        test = self._test("fails", range(groups[first].start, len(self.statements)))
        failed = Var("_any", BOOL)

        def all_of(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
            return tuple(map(statement, body))

        def statement(s: Stmt) -> Stmt:
            if isinstance(s, ir.If) and s.body == (FAILED,):
                return ir.Assign(failed.name, ir.Op("bitor", (failed, s.test), BOOL), s.loc)
            if isinstance(s, ir.Return):
                return replace(s, value=failed)
            return ir.with_bodies(s, tuple(map(all_of, ir.bodies(s))))

        body = (ir.Assign(failed.name, ir.Const(False, BOOL)), *all_of(test.body))
        return replace(test, body=body, locals={**test.locals, failed.name: BOOL})

    def sliced(self) -> tuple[Stmt, ...]:
        """The statements of all tests."""
        return self._sliced(self.statements, True)

    def _test(self, name: str, group: range) -> ir.Function:
        statements: list[Stmt] = []
        for n, s in enumerate(self.statements[: group.stop]):
            statements += self._sliced((s,), n in group)
        statements.append(ir.Return(ir.Const(False, BOOL)))
        locals_ = {**self.body.locals, **self.kept}
        return replace(
            self.body, name=f"{self.body.name}__{name}", result=BOOL, locals=locals_,
            body=tuple(statements), declared=None,
        )  # fmt: skip

    def _groups(self) -> list[range]:
        """Ranges of statements whose assertions are in the same test.

        Loads of an assertion are guarded by the assertions before it. If it loads more than they
        do, it belongs to the next test, which runs only if they hold; so no load is conditional.
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
            begun |= contains_fail(s)
        return [range(a, b) for a, b in zip([0, *ends], [*ends, len(self.statements)], strict=True)]

    def _sliced(self, body: tuple[Stmt, ...], asserts: bool) -> tuple[Stmt, ...]:
        """The backward slice of assertions: the statements that they depend on."""
        found: list[Stmt] = []
        for s in body:
            if isinstance(s, ir.Fail) or not self._is_needed(s):
                continue
            if is_assertion(s):
                assert isinstance(s, ir.If)
                found += [replace(s, body=(FAILED,))] if asserts else []
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
        """Names that assertions depend on: variables and local arrays."""
        every = ir.walk_statements(self.statements)
        before = -1
        while before != len(self.needed):
            before = len(self.needed)
            for s in every:
                if self._is_needed(s) and not isinstance(s, ir.Fail | ir.Return):
                    self.needed |= names_in(ir.expressions(s))

    def _independent(self) -> bool:
        """Whether assertions do not depend on stores of the same call."""
        # The array of a reduction holds results of other calls.
        stored = {p.name for p in self.body.parameters if _has_shape(p)}
        if self._is_filled_elsewhere():
            return False
        for s in self.statements:
            own, changed = (s,), stored_by((s,), self.effectful)
            sliced = self._sliced(own, True)
            found = ir.walk_expressions(sliced)
            if any(isinstance(e, ir.Call) and not self._is_pure(e) for e in found):
                return False
            read = read_by(found) - self.arrays
            # In a branch or loop the order is ignored.
            written = stored | (changed if ir.bodies(s) else set())
            if read & written or (read and written - self.arrays and not self.disjoint):
                return False
            stored |= changed
        return True

    def _is_filled_elsewhere(self) -> bool:
        """Whether helpers or atomic operations change a local array that tests need."""
        asked = self.arrays & self.needed
        for s in ir.walk_statements(self.statements):
            if isinstance(s, ir.Atomic) and s.view.name in asked:
                return True
        return any(
            isinstance(e, ir.Call) and e.function in self.effectful
            and not asked.isdisjoint(a.name for a in e.args if isinstance(a, Var))
            for e in ir.walk_expressions(self.statements)
        )  # fmt: skip

    def _is_pure(self, e: ir.Call) -> bool:
        given = {a.name for a in e.args if isinstance(a, Var)}
        return e.function not in self.effectful and given.isdisjoint(self.arrays)

    def _forwarded(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Statements with stored values forwarded to later loads."""
        known: dict[tuple[str, tuple[Expr, ...]], Var] = {}

        def other(e: Expr) -> Expr:
            e = ir.with_operands(e, tuple(map(other, ir.operands(e))))
            if isinstance(e, ir.Load) and e.byte is None:
                return known.get((e.view.name, e.indices), e)
            return e

        found: list[Stmt] = []
        for s in body:
            s = rewritten(s, other) if not ir.bodies(s) or not _changes(s, known) else s
            changed = stored_by((s,), self.effectful) | {
                t.array.name for t in ir.walk_statements((s,)) if isinstance(t, ir.Clear)
            }
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
                and (names | changed).isdisjoint(names_in(at))
            }  # fmt: skip
            if alone and isinstance(s, ir.Store) and s.byte is None:
                assert isinstance(s.value, Var)
                known[s.view.name, s.indices] = s.value
            found.append(s)
        return tuple(found)


def _changes(s: Stmt, known: Iterable[tuple[str, tuple[Expr, ...]]]) -> bool:
    """Whether a branch or loop stores, or sets a variable in the subscripts of known elements."""
    inner = ir.walk_statements((s,))
    names = {n for t in inner for n in ir.names_set(t)}
    stores = any(isinstance(t, ir.Store | ir.Evaluate) for t in inner)
    return stores or any(names & names_in(at) for _, at in known)


def _scalar(e: Expr) -> Scalar:
    assert isinstance(e.type, Scalar)
    return e.type


def contains_fail(s: Stmt) -> bool:
    """Whether a statement contains an assertion."""
    return any(isinstance(t, ir.Fail) for t in ir.walk_statements((s,)))


def _has_shape(v: Var) -> bool:
    return isinstance(v.type, ViewTy) and v.type.shape is not None


def names_in(found: Iterable[Expr]) -> set[str]:
    """Names in expressions, including Views."""
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


def read_by(found: Iterable[Expr]) -> set[str]:
    """Names of the Views that expressions read, also through helpers."""
    names: set[str] = set()
    for e in found:
        if isinstance(e, ir.Load):
            names.add(e.view.name)
        elif isinstance(e, ir.Call):
            names |= {a.name for a in e.args if isinstance(a, Var) and isinstance(a.type, ViewTy)}
    return names


def stored_by(body: tuple[Stmt, ...], effectful: set[str]) -> set[str]:
    """Names of the Views and arrays that statements store into, also through helpers."""
    found = {s.view.name for s in ir.walk_statements(body) if isinstance(s, ir.Store)}
    for e in ir.walk_expressions(body):
        if isinstance(e, ir.Call) and e.function in effectful:
            found |= read_by((e,))
    return found


def effectful_helpers(helpers: Iterable[ir.Function]) -> set[str]:
    """Names of the helpers that store into Views or print."""
    found: set[str] = set()
    for f in helpers:  # callees first
        if has_effects(f, frozenset(found)):
            found.add(f.name)
    return found

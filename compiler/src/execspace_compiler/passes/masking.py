"""Assertions of a parallel_for by masking: the code after them runs under a mask.

If masked stores are cheap on a processor, calls of the kernel need not exit early. The body returns
the number of the assertion that failed instead of reporting it, so that a loop over it has a single
exit and is vectorised; the first failure of a row is reported after the loop. The call itself is
unchanged, so nothing is read twice and its stores need no analysis.
"""

from __future__ import annotations

from dataclasses import replace

from execspace.base.dataclass import dataclass

from .. import ir
from ..analysis.slopes import slope_of
from ..ir import Stmt
from ..ir.types import BOOL, INT64, Scalar, ViewTy
from ..typing.lowered import Lowered
from .failure_predicates import (
    FailurePredicates,
    contains_fail,
    effectful_helpers,
    read_by,
    stored_by,
)
from .prechecks import is_vectorisable

_MOST = 4  # assertions, for each of which the loop carries a number


@dataclass(frozen=True, slots=True)
class Masked:
    """A body that returns failures instead of reporting them.

    Attributes
    ----------
    body : ir.Function
        Returns the number of the assertion that failed, or 0.
    assertions : int
        The greatest such number.
    clean : bool
        A failing call has stored nothing, so the original body may run again for it.
    tests : tuple of ir.Function
        Failure predicates that remain valid after other calls have stored; the body then returns
        only whether it failed. For rows, since it is cheaper to know at the end of each whether a
        call has failed than which one.
    """

    body: ir.Function
    assertions: int
    clean: bool
    tests: tuple[ir.Function, ...] = ()


def masked_of(lowered: Lowered, disjoint: bool, innermost: int) -> Masked | None:
    """The body of a kernel for a loop with masks; None without assertions, or if masks would cost
    more than tests beforehand. `disjoint`: Views do not overlap. `innermost`: the dimension of the
    loop.

    LLVM scalarises masked loads with a stride, and those of the same element for all lanes.
    """
    body = lowered.body
    if lowered.spec.policy.kind == "team" or lowered.spec.pattern != "for" or lowered.prints:
        return None
    if not lowered.asserts:
        return None
    helpers = {f.name: f for f in lowered.functions[:-1]}
    if not is_vectorisable(body, helpers) or not _contiguous(body, body.parameters[innermost].name):
        return None
    clean = _is_clean(lowered)
    if not clean and len(lowered.assertions) > _MOST:
        return None
    statements = _returning(body.body, body.parameters[: lowered.spec.policy.rank])
    if statements is None:
        return None
    statements = (*statements, ir.Return(ir.integer(0)))
    name = f"{body.name}__masked"
    tests = _tests_after(lowered, helpers) if clean and disjoint else ()
    if tests:
        statements = tuple(map(_reporting, statements))
    result = BOOL if tests else INT64
    version = replace(body, name=name, result=result, body=statements, declared=None)
    return Masked(version, len(lowered.assertions), clean, tests)


def _tests_after(lowered: Lowered, helpers: dict[str, ir.Function]) -> tuple[ir.Function, ...]:
    """Tests for the calls of rows, if calls do not store into the Views that tests read."""
    if lowered.spec.policy.rank == 1:
        return ()
    tests = FailurePredicates(lowered.body, helpers, True).functions() or ()
    read = {name for t in tests for name in read_by(ir.walk_expressions(t.body))}
    return () if read & lowered.written else tests


def _reporting(s: Stmt) -> Stmt:
    """A statement that returns whether an assertion failed, instead of its number."""
    if isinstance(s, ir.Return) and isinstance(s.value, ir.Expr):
        return replace(s, value=ir.op("ne", s.value, ir.integer(0)))
    return ir.with_bodies(s, tuple(tuple(map(_reporting, b)) for b in ir.bodies(s)))


def _is_clean(lowered: Lowered) -> bool:
    """Whether a call does not store into Views before its last assertion."""
    effectful = effectful_helpers(lowered.functions[:-1])
    statements = lowered.body.body
    before = statements[: 1 + max(n for n, s in enumerate(statements) if contains_fail(s))]
    return stored_by(before, effectful) <= lowered.body.locals.keys()


def _returning(body: tuple[Stmt, ...], indices: tuple[ir.Var, ...]) -> tuple[Stmt, ...] | None:
    """Statements that return the number of an assertion instead of reporting it."""
    found: list[Stmt] = []
    for n, s in enumerate(body):
        if isinstance(s, ir.Fail):
            after = body[n + 1] if n + 1 < len(body) else None
            if s.indices != indices or not isinstance(after, ir.Return):
                return None
            return (*found, replace(after, value=s.code))
        if isinstance(s, ir.Return):
            return (*found, replace(s, value=ir.integer(0)))
        inner = [_returning(b, indices) for b in ir.bodies(s)]
        if any(b is None for b in inner):
            return None
        found.append(ir.with_bodies(s, tuple(b for b in inner if b is not None)))
    return tuple(found)


def _contiguous(body: ir.Function, index: str) -> bool:
    """Whether all accesses of a body have unit stride in an index."""
    slopes: dict[str, int | None] = {index: 1}
    for s in ir.walk_statements(body.body):
        if isinstance(s, ir.Assign):
            slope = slope_of(s.value, slopes)
            slopes[s.name] = slope if slopes.get(s.name, slope) == slope else None
    accesses: list[ir.Load | ir.Store] = []
    for e in ir.walk_expressions(body.body):
        if isinstance(e, ir.Load):
            accesses.append(e)
        elif isinstance(e, ir.Call) and any(isinstance(a.type, ViewTy) for a in e.args):
            return False
    accesses += [s for s in ir.walk_statements(body.body) if isinstance(s, ir.Store)]
    return all(_is_contiguous(p, slopes) for p in accesses)


def _is_contiguous(place: ir.Load | ir.Store, slopes: dict[str, int | None]) -> bool:
    view = place.view.type
    if not isinstance(view, ViewTy) or view.shape is not None or view.mapped:
        return False
    if view.unit is None or place.byte is not None:
        return False
    if isinstance(view.element, Scalar) and view.element.kind == "c":
        return False  # the two parts are loaded with a stride
    found = [slope_of(i, slopes) for i in place.indices]
    return found.pop(view.unit) == 1 and not any(slope != 0 for slope in found)

"""Assertions of a parallel_for that leave nothing: what stands behind them runs under a mask.

Where a processor stores the lanes of a vector that a mask names at no cost, a call of the kernel
need not be left. The body returns the number of the assertion that failed instead of reporting
it, so that a loop over it has one end and is vectorised; the least failure of a row is reported
behind the loop. The call itself is the one that was written, so nothing is read twice and
no analysis of what it stores is needed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .. import ir
from ..analysis.slopes import slope_of
from ..ir import Stmt
from ..ir.types import BOOL, INT64, Scalar, ViewTy
from ..typing.lowered import Lowered
from .failure_predicates import Tests, contains_fail, effectful_helpers, read_by, stored_by
from .prechecks import vectorises

_MOST = 4  # assertions, each of which a loop carries a number for


@dataclass(frozen=True, slots=True)
class Masked:
    """A body that reports nothing.

    Attributes
    ----------
    body : ir.Function
        Returns the number of the assertion that failed, or 0.
    assertions : int
        The greatest such number.
    clean : bool
        A call has stored nothing where it fails, so the body as it is written may run again there.
    tests : tuple of ir.Function
        Those of `beforehand.Tests`, which may also be asked after other calls have stored; then
        the body tells only whether it failed. For rows: at the end of each it costs less to know
        whether a call has failed than which one.
    """

    body: ir.Function
    assertions: int
    clean: bool
    tests: tuple[ir.Function, ...] = ()


def masked_of(lowered: Lowered, disjoint: bool, innermost: int) -> Masked | None:
    """The body of a kernel for a loop with masks; None if it has no assertion, or if masks would
    cost more than tests beforehand. `disjoint`: Views do not overlap. `innermost`: the dimension of
    the loop.

    Under a mask LLVM loads what has a stride, or the same element for all lanes, lane by lane.
    """
    body = lowered.body
    if lowered.spec.policy.kind == "team" or lowered.spec.pattern != "for" or lowered.prints:
        return None
    if not any(isinstance(s, ir.Fail) for s in ir.walk_statements(body.body)):
        return None
    helpers = {f.name: f for f in lowered.functions[:-1]}
    if not vectorises(body, helpers) or not _contiguous(body, body.parameters[innermost].name):
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
    """Tests for the calls of rows, if nothing that they read is stored into by calls."""
    if lowered.spec.policy.rank == 1:
        return ()
    tests = Tests(lowered.body, helpers, True).functions() or ()
    read = {name for t in tests for name in read_by(ir.walk_expressions(t.body))}
    return () if read & ir.written_views(lowered.body) else tests


def _reporting(s: Stmt) -> Stmt:
    """A statement that returns whether an assertion failed instead of its number."""
    if isinstance(s, ir.Return) and isinstance(s.value, ir.Expr):
        return replace(s, value=ir.op("ne", s.value, ir.integer(0)))
    return ir.with_bodies(s, tuple(tuple(map(_reporting, b)) for b in ir.bodies(s)))


def _is_clean(lowered: Lowered) -> bool:
    """Whether a call stores nothing into Views before its last assertion."""
    effectful = effectful_helpers(lowered.functions[:-1])
    statements = lowered.body.body
    before = statements[: 1 + max(n for n, s in enumerate(statements) if contains_fail(s))]
    return stored_by(before, effectful) <= lowered.body.locals.keys()


def _returning(body: tuple[Stmt, ...], indices: tuple[ir.Var, ...]) -> tuple[Stmt, ...] | None:
    """Statements that return the number of an assertion where they would have reported it."""
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
    """Whether all elements that a body touches follow each other from one index to the next."""
    slopes: dict[str, int | None] = {index: 1}
    for s in ir.walk_statements(body.body):
        if isinstance(s, ir.Assign):
            slope = slope_of(s.value, slopes)
            slopes[s.name] = slope if slopes.get(s.name, slope) == slope else None
    places: list[ir.Load | ir.Store] = []
    for e in ir.walk_expressions(body.body):
        if isinstance(e, ir.Load):
            places.append(e)
        elif isinstance(e, ir.Call) and any(isinstance(a.type, ViewTy) for a in e.args):
            return False
    places += [s for s in ir.walk_statements(body.body) if isinstance(s, ir.Store)]
    return all(_is_contiguous(p, slopes) for p in places)


def _is_contiguous(place: ir.Load | ir.Store, slopes: dict[str, int | None]) -> bool:
    view = place.view.type
    if not isinstance(view, ViewTy) or view.shape is not None or view.mapped:
        return False
    if view.unit is None or place.byte is not None:
        return False
    if isinstance(view.element, Scalar) and view.element.kind == "c":
        return False  # its two parts are loaded with a stride
    found = [slope_of(i, slopes) for i in place.indices]
    return found.pop(view.unit) == 1 and not any(slope != 0 for slope in found)

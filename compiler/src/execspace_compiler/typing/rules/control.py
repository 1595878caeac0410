"""Rules of if and elif, loops over ranges and tuples, while, break and continue."""

from __future__ import annotations

from collections.abc import Sequence

from ... import ir
from ...frontend import hir
from ...ir.diagnostics import Fault, Loc, type_fault
from ...ir.types import BOOL, INDEX, INT64, Scalar
from ..context import STATEMENTS, Context
from ..value_queries import is_view, scalar
from ..value_types import describe, part_name, type_of
from ..values import NestedRange, TupleValue, Value
from .assignments import assign
from .conditions import condition
from .variables import joined, scalar_type, widen

_GROUP = 16  # tests of a chain of elif that nest in each other


@STATEMENTS.of(hir.If)
def _if(cx: Context, s: hir.If) -> None:
    """An if; if the test is a constant, only one side is compiled."""
    test = condition(cx, s.test)
    outcome = cx.decide(s, test)
    if outcome is not None:
        cx.out += cx.block(s.body if outcome else s.orelse)
        return
    body, orelse = cx.block(s.body), cx.block(s.orelse)
    cx.out.append(ir.If(test, tuple(body), tuple(orelse), s.loc))


@STATEMENTS.of(hir.Cases)
def _cases(cx: Context, s: hir.Cases) -> None:
    """A long chain of elif: the number of the arm is computed first, a group of tests at a time;
    a decision tree over it then selects the body, so that nesting stays shallow."""
    arms: list[tuple[list[ir.Stmt], ir.Expr, list[ir.Stmt]]] = []
    orelse: list[ir.Stmt] | None = None
    carried: list[ir.Stmt] = []
    for arm in s.arms:
        with cx.collecting(carried) as emitted:
            test = condition(cx, arm.test)
        outcome = cx.decide(arm, test)
        carried = emitted if outcome is not None else []
        if outcome is False:
            continue
        body = cx.block(arm.body)
        if outcome:
            orelse = body
            break
        arms.append((emitted, test, body))
    if orelse is None:
        orelse = cx.block(s.orelse)
    if not arms:
        cx.out += [*carried, *orelse]
        return
    last = ir.Const(len(arms), INDEX, s.loc)
    taken = ir.Var(cx.temporary(INDEX), INDEX, s.loc)
    cx.out.append(ir.Assign(taken.name, last, s.loc))
    for first in range(0, len(arms), _GROUP):
        inner: list[ir.Stmt] = carried if first + _GROUP >= len(arms) else []
        for n in reversed(range(first, min(first + _GROUP, len(arms)))):
            emitted, test, _ = arms[n]
            number = ir.Assign(taken.name, ir.Const(n, INDEX, s.loc), s.loc)
            inner = [*emitted, ir.If(test, (number,), tuple(inner), s.loc)]
        if first:
            untaken = ir.Op("eq", (taken, last), BOOL, s.loc)
            inner = [ir.If(untaken, tuple(inner), loc=s.loc)]
        cx.out += inner
    cx.out += _decision_tree([*(body for _, _, body in arms), orelse], 0, taken, s.loc)


@STATEMENTS.of(hir.While)
def _while(cx: Context, s: hir.While) -> None:
    """A while loop; a test that needs statements is moved into the loop."""
    with cx.collecting() as emitted:
        test = condition(cx, s.test)
    if cx.decide(s, test) is False:  # its body is not compiled, as that of an if
        cx.out += emitted
        return
    body = cx.body_of_loop(s.body)
    if emitted:
        done = ir.If(ir.Op("not", (test,), BOOL, s.loc), (ir.Break(s.loc),), loc=s.loc)
        body, test = [*emitted, done, *body], ir.Const(True, BOOL, s.loc)
    cx.out.append(ir.While(test, tuple(body), s.loc))


@STATEMENTS.of(hir.ForEach)
def _for_each(cx: Context, s: hir.ForEach) -> None:
    """A loop over a tuple, which is unrolled.

    If it has a break or continue, each iteration is a loop with a trip count of one, which they
    leave; a break also sets a flag that skips later iterations.
    """
    items = cx.keep(cx.value(s.items))
    if isinstance(items, NestedRange):
        from .nested_loops import split_loop  # loaded by kernels of teams

        split_loop(cx, s, items)
        return
    if not isinstance(items, TupleValue):
        hint = "write for k in range(n), or for v in (a, b, c)"
        if is_view(items):
            hint = "loop over range(A.extent(0)) and index A in the loop"
        raise type_fault(
            s.items.loc,
            f"a for loop in a kernel runs over range(...) or a tuple, got {describe(items)}",
            hint,
        )
    flag = cx.temporary(BOOL) if hir.breaks(s.body) else None
    if flag is not None:
        cx.out.append(ir.Assign(flag, ir.Const(False, BOOL, s.loc), s.loc))
    several = _of_several_kinds(cx, s.target, items.items)
    for n, item in enumerate(items.items):
        cx.iterations.append(f"{s.loc.line}_{s.loc.column}_{n}")
        outer = cx.own
        cx.own = {**outer, **{v: part_name(v, "_".join(cx.iterations)) for v in several}}
        try:
            with cx.collecting() as body:
                assign(cx, s.target, item, s.loc, s.items.loc)
                body += cx.body_of_loop(s.body, flag)
        finally:
            cx.own = outer
            cx.iterations.pop()
        if hir.leaves(s.body):
            name = cx.temporary(INDEX)
            zero, one = ir.Const(0, INDEX, s.loc), ir.Const(1, INDEX, s.loc)
            body = [ir.For(name, zero, one, one, tuple(body), loc=s.loc)]
        if flag is not None:
            going = ir.Op("not", (ir.Var(flag, BOOL, s.loc),), BOOL, s.loc)
            body = [ir.If(going, tuple(body), loc=s.loc)]
        cx.out += body


def _of_several_kinds(cx: Context, target: hir.Expr, values: Sequence[Value]) -> list[str]:
    """Variables of a loop over a tuple whose values have no common type: functions, say.

    Each iteration has its own such variable, which code outside the loop cannot read.
    """
    if isinstance(target, hir.Tuple):
        found = []
        for n, part in enumerate(target.items):
            if all(isinstance(v, TupleValue) and n < len(v.items) for v in values):
                items = [v.items[n] for v in values if isinstance(v, TupleValue)]
                found += _of_several_kinds(cx, part, items)
        return found
    if not isinstance(target, hir.Local):
        return []
    if all(isinstance(v, ir.Expr) and isinstance(v.type, Scalar) for v in values):
        return []
    try:
        types = [type_of(v, target.loc) for v in values]
        for type in types[1:]:
            types[0] = joined(types[0], type, target.name, target.loc, choices=False)
    except Fault as fault:
        cx.unreadable[target.name] = fault.diagnostics[0].message
        return [target.name]
    return []


@STATEMENTS.of(hir.For)
def _for(cx: Context, s: hir.For) -> None:
    """A loop over range."""
    bounds = []
    for e, value in zip((s.start, s.stop, s.step), cx.operands((s.start, s.stop, s.step)),
                        strict=True):  # fmt: skip
        bound = scalar(value, e.loc)
        if not bound.type.is_integer and bound.type.kind != "b":
            raise type_fault(
                e.loc, f"range takes integers, got {bound.type}", "convert it with int(...)"
            )
        bounds.append(cx.coerce(bound, INDEX))
    if isinstance(bounds[2], ir.Const) and bounds[2].value == 0:
        hint = "give a step of 1 or more, or of -1 or less"
        raise type_fault(s.step.loc, "the step of range is zero", hint)
    if not isinstance(bounds[2], ir.Const):
        # A step of zero at run time gives an empty loop, since kernels cannot raise.
        start, stop, step = bounds
        moves = ir.Op("ne", (step, ir.Const(0, INDEX)), BOOL, s.step.loc)
        bounds[1] = ir.Select(moves, stop, start, INDEX, s.step.loc)
        bounds[2] = ir.Select(moves, step, ir.Const(1, INDEX), INDEX, s.step.loc)
    name = variable = cx.own.get(s.name, s.name)
    widen(cx, variable, INDEX, s.loc)
    type = scalar_type(cx, variable)
    body: list[ir.Stmt] = []
    if type.strong != INT64 or s.name in {
        t.name for inner in hir.walk(s.body) for t in hir.targets(inner)
    }:
        # As in Python, assignments to the variable do not affect the loop's counter.
        name = f"_k{s.loc.line}_{s.loc.column}"
        cx.types[name] = INDEX
        body.append(ir.Assign(variable, cx.coerce(ir.Var(name, INDEX), type), s.loc))
    body += cx.body_of_loop(s.body)
    cx.out.append(ir.For(name, bounds[0], bounds[1], bounds[2], tuple(body), loc=s.loc))


def _decision_tree(
    bodies: Sequence[list[ir.Stmt]], first: int, number: ir.Var, loc: Loc
) -> list[ir.Stmt]:
    """Run the body with a given number, which counts from `first`, by binary search."""
    if len(bodies) == 1:
        return bodies[0]
    half = len(bodies) // 2
    below = ir.Op("lt", (number, ir.Const(first + half, INDEX, loc)), BOOL, loc)
    yes = _decision_tree(bodies[:half], first, number, loc)
    no = _decision_tree(bodies[half:], first + half, number, loc)
    return [ir.If(below, tuple(yes), tuple(no), loc)]


@STATEMENTS.of(hir.Break)
def _break(cx: Context, s: hir.Break) -> None:
    if cx.unrolled and cx.unrolled[-1] is not None:
        flag = cx.unrolled[-1]
        cx.out.append(ir.Assign(flag, ir.Const(True, BOOL, s.loc), s.loc))
    cx.out.append(ir.Break(s.loc))


@STATEMENTS.of(hir.Continue)
def _continue(cx: Context, s: hir.Continue) -> None:
    cx.out.append(ir.Continue(s.loc))


@STATEMENTS.of(hir.Evaluate)
def _evaluate(cx: Context, s: hir.Evaluate) -> None:
    value = cx.value(s.value)
    if isinstance(value, ir.Call):
        cx.out.append(ir.Evaluate(value, s.loc))

"""Rules of launches over nested ranges, and of reductions and scans over the members of a team.

They are typed like those of a launch; the function that they call takes the place of the kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import execspace
from execspace import Reducer
from execspace.base.errors import ExecspaceError
from execspace.reducers.base import as_reducer, is_made_alone

from ... import ir
from ...ir.diagnostics import Loc, syntax_fault, type_fault
from ...ir.rewriting import renamed
from ...ir.structures import strong
from ...ir.types import BOOL, INDEX, Scalar, TupleTy, Type
from ...reductions.building import ReductionBuilder
from ...reductions.reduction import Reduction
from ...reductions.running import joins_in_turn, running_values
from ..context import CALLS, METHODS, Call, Context
from ..scan_prefix import with_settled_prefix
from ..value_queries import refuse_vectors
from ..value_types import describe, parts, type_of
from ..values import FunctionValue, NestedRange, Obj, TupleValue, Value
from .refused import refused
from .teams import index_variables, team_arguments

_PATTERNS = {
    execspace.parallel_for: "parallel_for",
    execspace.parallel_reduce: "parallel_reduce",
    execspace.parallel_scan: "parallel_scan",
}


def made_reducer(
    cx: Context, kind: type[Reducer], args: Sequence[Value], keywords: Mapping[str, Value], loc: Loc
) -> Reducer:
    """`es.Sum(dtype=es.float32)` within a kernel."""
    if kind is not Reducer and kind.kind == "custom" and not is_made_alone(kind):
        # Launches check the captures of its join, and need an instance for that.
        name = kind.__name__
        message = f"a kernel cannot make {name}(...), a reducer of your own that has parameters"
        hint = f"write own = {name}(...) outside of the kernel, and reducer=own in it"
        raise type_fault(loc, message, hint)

    def constant(v: Value) -> Any:
        if isinstance(v, Obj):
            return v.value
        if isinstance(v, TupleValue):
            return tuple(map(constant, v.items))
        if isinstance(v, ir.Const):
            return v.value
        hint = "make it before the launch, and name it in the kernel"
        message = f"{kind.__name__} got {describe(v)}, which is not known when it is compiled"
        raise type_fault(loc, message, hint)

    given = {k: constant(v) for k, v in keywords.items()}
    values = tuple(map(constant, args))
    key = (kind, repr(values), repr(given))
    try:
        if key not in cx.module.reducers:  # the same object in each walk
            cx.module.reducers[key] = kind(*values, **given)
        return cx.module.reducers[key]
    except (TypeError, ExecspaceError) as error:
        raise type_fault(
            loc, f"{kind.__name__}: {error}".rstrip("."), "see its documentation"
        ) from None


def _reducers_of(value: Value | None, loc: Loc) -> Reducer | tuple[Reducer, ...]:
    def named(v: Value) -> Any:
        if isinstance(v, TupleValue):
            return tuple(map(named, v.items))
        if isinstance(v, Obj):
            return v.value
        hint = "write reducer=es.Max, for example"
        raise type_fault(loc, f"reducer= is {describe(v)}, expected a reducer", hint)

    try:
        found = as_reducer(execspace.Sum if value is None else named(value))
    except (TypeError, ExecspaceError) as error:
        raise type_fault(
            loc, f"reducer=: {error}".rstrip("."), "write reducer=es.Max, say"
        ) from None
    for r in found if isinstance(found, tuple) else (found,):
        if r.array_shape is not None:
            hint = "return a tuple, and give a tuple of reducers"
            raise syntax_fault(loc, f"{r.name} joins arrays, which nested ranges cannot", hint)
    return found


def _builder_of(cx: Context, reducers: Reducer | tuple[Reducer, ...], loc: Loc) -> ReductionBuilder:
    cx.reductions += 1
    captures = cx.module.captures_of_nested(reducers)
    return ReductionBuilder(cx.module, captures, loc, f"_r{cx.reductions}")


def _reduction_of(
    cx: Context, builder: ReductionBuilder, reducers: Any, value: Value, loc: Loc
) -> Reduction:
    if not isinstance(value, ir.Expr | TupleValue):
        hint = "return the contribution of each index"
        raise type_fault(loc, f"what is joined is {describe(value)}", hint)
    refuse_vectors(value, loc)
    try:
        reduction = builder.reduction(reducers, strong(type_of(value, loc)))
    except AssertionError:
        hint = "return numbers and tuples of numbers"
        raise type_fault(loc, f"cannot join {describe(value)}", hint) from None
    for name, type in reduction.locals().items():
        cx.types[name] = type
    cx.module.add(reduction.functions)
    return reduction


def _contributed(cx: Context, reduction: Reduction, value: Value, loc: Loc) -> list[ir.Stmt]:
    """Statements that join a contribution into the state."""
    numbers = [e for _, e in parts(value, "")]
    pairs = zip(numbers, reduction.contributions, strict=True)
    numbers = [cx.coerce(e, t) for e, t in pairs]
    if reduction.single_use:
        return reduction.join_number(numbers[0])
    own: list[ir.Stmt] = [
        ir.Assign(f"{reduction.names}_v{n}", e, loc) for n, e in enumerate(numbers)
    ]
    return [*own, *reduction.join_contributions()]


def _merge_function(cx: Context, reduction: Reduction) -> str:
    """A function that joins two states."""
    return cx.module.joining(cx.function.name, reduction)


def _finished(cx: Context, reduction: Reduction) -> Value:
    statements, numbers = reduction.finish()
    cx.out += statements
    found = tuple(j.result for j in reduction.joins)
    shape = TupleTy(found) if reduction.several else found[0]
    return _structured(shape, [cx.keep(n) for n in numbers])


@CALLS.of(*_PATTERNS)
def _launch(cx: Context, call: Call) -> Value:
    if not call.args or not isinstance(call.args[0], NestedRange):
        raise refused(call)
    pattern = _PATTERNS[call.target]
    return _nested_launch(cx, pattern, call.args[0], call.args[1:], call.keywords, call.loc)


def _nested_launch(
    cx: Context,
    pattern: str,
    items: NestedRange,
    args: Sequence[Value],
    keywords: Mapping[str, Value],
    loc: Loc,
) -> Value:
    """es.parallel_for, parallel_reduce or parallel_scan over a nested range."""
    keywords = {k: v for k, v in keywords.items() if k != "label"}
    unknown = [k for k in keywords if k != "reducer" or pattern == "parallel_for"]
    if unknown or not args:
        got = f"got {unknown[0]}=" if unknown else "got no function"
        hint = f"write es.{pattern}({items.name}(team, n), function)"
        raise syntax_fault(loc, f"es.{pattern} over a nested range {got}", hint)
    fn, rest = args[0], list(args[1:])
    if not isinstance(fn, FunctionValue | Obj):
        hint = "give a lambda or a function of the index"
        raise type_fault(loc, f"es.{pattern} takes a function, got {describe(fn)}", hint)
    if pattern == "parallel_scan":
        return _scan(cx, items, fn, rest, keywords, loc)
    names = index_variables(cx, items)
    indices: list[Value] = [ir.Var(n, INDEX, loc) for n in names]
    reduction: Reduction | None = None
    with cx.collecting() as body:
        value = cx.call(fn, [*indices, *rest], {}, loc)
        if pattern == "parallel_reduce":
            value = cx.keep(value) if isinstance(value, TupleValue) else value
            reducers = _reducers_of(keywords.get("reducer"), loc)
            reduction = _reduction_of(cx, _builder_of(cx, reducers, loc), reducers, value, loc)
            body += _contributed(cx, reduction, value, loc)
    split = ir.Split(items.level, names, items.starts, items.stops, tuple(body), loc)
    if reduction is None:
        cx.out.append(split)
        return Obj(None, "None")
    cx.out += [*reduction.reset(), split]
    states = tuple(s.var for s in reduction.states)
    merge = _merge_function(cx, reduction)
    together = None
    if not joins_in_turn(reduction):
        found = running_values(reduction)
        identity = tuple(s.identity for s in found.states)
        together = ir.Together(identity, found.ordered, found.operations)
    operation, symmetric = reduction.operation, reduction.is_symmetric
    cx.out.append(ir.Combine(items.level, states, merge, loc, operation, symmetric, together))
    return _finished(cx, reduction)


def _scan(
    cx: Context,
    items: NestedRange,
    fn: Value,
    rest: list[Value],
    keywords: Mapping[str, Value],
    loc: Loc,
) -> Value:
    if len(items.starts) != 1:
        hint = "scan over one index: the others are a loop in the function"
        message = f"es.parallel_scan over {items.name}, which has several indices"
        raise syntax_fault(loc, message, hint)
    (name,) = index_variables(cx, items)
    index = ir.Var(name, INDEX, loc)
    reducers = _reducers_of(keywords.get("reducer"), loc)
    builder = _builder_of(cx, reducers, loc)

    def scanned(prefix: Type, despite_faults: bool) -> tuple[tuple[ir.Stmt, ...], Reduction]:
        before = cx.module.despite_faults
        cx.module.despite_faults = despite_faults or before
        try:
            return _scan_body(cx, builder, reducers, prefix, fn, index, rest, True, loc)
        finally:
            cx.module.despite_faults = before

    body, reduction = with_settled_prefix(
        builder.guess(reducers, 1), scanned, lambda found: found[1].value, loc
    )
    prefix = reduction.value
    probe, _ = _scan_body(cx, builder, reducers, prefix, fn, index, rest, False, loc)
    states = tuple(s.var for s in reduction.states)
    own = tuple(ir.Var(f"{v.name}_own", v.type) for v in states)
    for v in own:
        cx.types[v.name] = v.type
    merge = _merge_function(cx, reduction)
    cx.out += reduction.reset()
    cx.out.append(
        ir.ScanRange(
            items.level, name, items.starts[0], items.stops[0], states, own,
            tuple(s.identity for s in reduction.states), merge, probe, body, loc,
        )
    )  # fmt: skip
    return _finished(cx, reduction)


def _scan_body(
    cx: Context,
    builder: ReductionBuilder,
    reducers: Any,
    prefix: Type,
    fn: Value,
    index: ir.Var,
    rest: list[Value],
    final: bool,
    loc: Loc,
) -> tuple[tuple[ir.Stmt, ...], Reduction]:
    """An iteration of a scan, which sets the state that it contributes."""
    held = [ir.Var(f"{builder.prefix}_prefix{n}", t) for n, t in enumerate(_scalars(prefix))]
    for v in held:
        cx.types[v.name] = v.type
    given = _structured(prefix, held)
    flag = ir.Const(final, BOOL, loc)
    with cx.collecting() as called:
        value = cx.call(fn, [index, given, flag, *rest], {}, loc)
        value = cx.keep(value) if isinstance(value, TupleValue) else value
        reduction = _reduction_of(cx, builder, reducers, value, loc)
        join = [*reduction.reset(), *_contributed(cx, reduction, value, loc)]
    if len(held) == len(reduction.prefix()):
        pairs = zip(held, _scalars(prefix), reduction.prefix(), strict=True)
        before: list[ir.Stmt] = [ir.Assign(v.name, cx.coerce(e, t), loc) for v, t, e in pairs]
    else:
        before = []
    own = {s.name: ir.Var(f"{s.name}_own", s.type) for s in reduction.states}
    return (*before, *called, *renamed(tuple(join), own)), reduction


@METHODS.of("reduce", "scan")
def _over_members(cx: Context, call: Call) -> Value:
    """team.reduce and team.scan: a value from each thread."""
    (_, given), loc = team_arguments(call), call.loc
    reducers = _reducers_of(given.get("reducer"), loc)
    value = cx.keep(given["value"])
    reduction = _reduction_of(cx, _builder_of(cx, reducers, loc), reducers, value, loc)
    cx.out += [*reduction.reset(), *_contributed(cx, reduction, value, loc)]
    states = tuple(s.var for s in reduction.states)
    merge = _merge_function(cx, reduction)
    if call.name == "reduce":
        cx.out.append(
            ir.Combine("thread", states, merge, loc, reduction.operation, reduction.is_symmetric)
        )
        return _finished(cx, reduction)
    totals = tuple(ir.Var(f"{v.name}_total", v.type) for v in states)
    for v in totals:
        cx.types[v.name] = v.type
    identity = tuple(s.identity for s in reduction.states)
    cx.out.append(ir.Prefix("thread", states, totals, identity, merge, loc))
    return _structured(reduction.value, [cx.keep(n) for n in reduction.prefix()])


def _structured(type: Type, numbers: Sequence[ir.Expr]) -> Value:
    """A value of a type, from its numbers."""
    rest = iter(numbers)

    def value(t: Type) -> Value:
        if isinstance(t, TupleTy):
            return TupleValue(tuple(map(value, t.items)), t.names, t.own)
        return next(rest)

    return value(type)


def _scalars(t: Type) -> tuple[Scalar, ...]:
    if isinstance(t, TupleTy):
        return tuple(s for i in t.items for s in _scalars(i))
    assert isinstance(t, Scalar)
    return (t,)

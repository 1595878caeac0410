"""Rules of helpers and nested functions: their captures and calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from execspace.contract.layout import layout_of

from ... import ir
from ...frontend import hir
from ...ir.diagnostics import Fault, Loc, type_fault
from ...ir.ops import CALLEES
from ...ir.types import BOOL, INT64, TupleTy, Type, Vector
from ..context import CALLED, EXPRESSIONS, Call, Context
from ..definitions import Captured, Definition, Nested
from ..value_types import as_parameter, constant_type, describe, parts, rebuild, type_of
from ..values import FunctionValue, Obj, TupleValue, Value
from .atomic_elements import LOCKS
from .failing import failure
from .variables import variable


@EXPRESSIONS.of(hir.Lambda)
def _nested(cx: Context, e: hir.Lambda) -> FunctionValue:
    """A function defined here: its variables are read when it is called."""
    definition = cx.module.nested(e.function)
    if not e.defaults:
        return FunctionValue(definition, None)
    values = cx.operands([v for _, v in e.defaults])
    pairs = zip(e.defaults, values, strict=True)
    return FunctionValue(definition, tuple((f"={n}", cx.keep(v)) for (n, _), v in pairs))


def _environment_of(cx: Context, fn: FunctionValue, loc: Loc) -> dict[str, Value]:
    """Current values of a function's captures."""
    definition = fn.definition
    known = dict(fn.env or ())
    if LOCKS in cx.types:
        known[LOCKS] = variable(cx, LOCKS, loc)
    if isinstance(definition, Nested):
        cx.module.enter(definition, "variables", loc)
        try:
            for name in definition.function.free:
                if name not in known:
                    known[name] = _closed(cx, variable(cx, name, loc), loc)
        finally:
            cx.module.leave()
    return known


def _closed(cx: Context, value: Value, loc: Loc) -> Value:
    """A value that may leave this function: nested functions become closures."""
    if isinstance(value, TupleValue):
        return value.of(tuple(_closed(cx, v, loc) for v in value.items))
    if isinstance(value, FunctionValue):
        return FunctionValue(value.definition, tuple(_environment_of(cx, value, loc).items()))
    return value


@CALLED.of(FunctionValue)
def _called(cx: Context, call: Call) -> Value:
    fn = call.function
    assert isinstance(fn, FunctionValue)
    return _function_call(cx, fn, call.args, call.keywords, call.loc)


def _function_call(
    cx: Context, fn: FunctionValue, args: Sequence[Value], keywords: Mapping[str, Value], loc: Loc
) -> Value:
    """Call of a helper or nested function; literals stay weakly typed in it."""
    definition = fn.definition
    if isinstance(definition, Captured):
        if definition.scope.fn in CALLEES:
            return cx.call(Obj(definition.scope.fn, definition.name), args, keywords, loc)
        definition.check_parameters(loc)
    given = {n: _closed(cx, v, loc) for n, v in definition.bind(args, keywords, loc).items()}
    missing = [n for n in definition.all_parameters if n not in given]
    environment = _environment_of(cx, fn, loc)
    for name in missing:
        default = environment.pop(f"={name}", None)
        if default is not None:
            given[name] = default
        elif not (isinstance(definition, Captured) and definition.has_default(name)):
            raise definition.missing(name, loc)
    try:
        function = definition.lowered(frozenset(n for n in missing if n not in given))
    except Fault as fault:
        raise fault.called(loc) from None
    values = {n: given[n] for n in function.parameters}
    values.update({n: environment[n] for n in function.free})
    return _invoke(cx, definition, function, values, loc)


def _parameter_type(definition: Definition, name: str, value: Value, loc: Loc) -> Type:
    """Type of a parameter or a free variable of a function that gets a value."""
    if name not in definition.static:
        return as_parameter(type_of(value, loc), name)
    known = constant_type(value, loc)
    if known is None:
        own = definition.own_name(name)
        raise type_fault(
            loc,
            f"the static parameter '{own}' of '{definition.name}' gets {describe(value)}, which "
            "is not known when the kernel is compiled",
            "pass a literal, a captured number or a static parameter; or drop es.static, if the "
            "same code can compute all values",
        )
    return as_parameter(known, name)


def _invoke(
    cx: Context, definition: Definition, function: hir.Function, values: dict[str, Value], loc: Loc
) -> Value:
    types = tuple((n, _parameter_type(definition, n, v, loc)) for n, v in values.items())
    signature = cx.module.helper(definition, function, types, loc)
    flat: list[ir.Expr] = []
    for (name, type), value in zip(types, values.values(), strict=True):
        pairs = zip(parts(value, name), parts(rebuild(type, name, loc), name), strict=True)
        flat += [e for (_, e), (_, own) in pairs if not isinstance(own, ir.Const)]
    call = ir.Call(signature.name, tuple(flat), INT64, loc)
    results = signature.results()
    if signature.fails:
        results = (*results, INT64)
    if not results:
        cx.out.append(ir.Evaluate(call, loc))
        return Obj(None, "None")
    if len(results) == 1:
        if signature.constant is not None:  # loops over it have a fixed length
            return _result(signature.result, [ir.Const(signature.constant, results[0], loc)])
        call = ir.Call(signature.name, tuple(flat), results[0].strong, loc)
        if not (signature.effects or signature.fails or isinstance(results[0], Vector)):
            typed = ir.Call(signature.name, tuple(flat), results[0], loc)
            return _result(signature.result, [typed])
    names = [cx.temporary(t) for t in results]
    if len(names) == 1:
        cx.out.append(ir.Assign(names[0], call, loc))
    else:
        cx.out.append(ir.Unpack(tuple(names), call, loc))
    found: list[ir.Expr] = [ir.Var(n, t, loc) for n, t in zip(names, results, strict=True)]
    if signature.fails:
        if not cx.fails:  # returns typed so far lack the number of the assertion
            cx.fails = cx.changed = True
        code = found.pop()
        failed = ir.Op("ne", (code, ir.Const(0, INT64, loc)), BOOL, loc)
        cx.out.append(ir.If(failed, tuple(failure(cx, code, loc)), loc=loc))
    return _result(signature.result, found)


def _result(type: Type | None, values: list[ir.Expr]) -> Value:
    if type is None:
        return Obj(None, "None")
    if isinstance(type, TupleTy):
        return TupleValue(tuple(_result(t, values) for t in type.items), type.names, type.own)
    return values.pop(0)


def layout_call(cx: Context, layout: str, args: tuple[ir.Expr, ...], loc: Loc) -> Value:
    """Call of the function of a layout."""
    found = layout_of(layout)
    assert found is not None
    return _function_call(cx, FunctionValue(cx.module.layout(layout, found), ()), args, {}, loc)

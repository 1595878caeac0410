"""Typing of functions in kernels: what they capture, and how they are called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from execspace.contract.layout import layout_of

from .. import ir
from ..frontend import hir
from ..ir.diagnostics import Fault, Loc
from ..ir.ops import CALLEES
from ..ir.types import BOOL, INT64, TupleTy, Type
from .definitions import Captured, Definition, Nested
from .values import FunctionValue, Obj, TupleValue, Value, as_parameter, parts, type_of

if TYPE_CHECKING:
    pass

from .emission import Emission


class FunctionCalls(Emission):
    """Calls of helpers and nested functions."""

    # -- functions ----------------------------------------------------------------------------

    def nested(self, e: hir.Lambda) -> FunctionValue:
        """A function defined here: its variables are read when it is called."""
        definition = self.module.nested(e.function)
        if not e.defaults:
            return FunctionValue(definition, None)
        values = self.operands([v for _, v in e.defaults])
        pairs = zip(e.defaults, values, strict=True)
        return FunctionValue(definition, tuple((f"={n}", self.keep(v)) for (n, _), v in pairs))

    def environment(self, fn: FunctionValue, loc: Loc) -> dict[str, Value]:
        """What a function captures, as it is now."""
        definition = fn.definition
        known = dict(fn.env or ())
        if isinstance(definition, Nested):
            self.module.enter(definition, "variables", loc)
            try:
                for name in definition.function.free:
                    if name not in known:
                        known[name] = self.closed(self.variable(name, loc), loc)
            finally:
                self.module.leave()
        return known

    def closed(self, value: Value, loc: Loc) -> Value:
        """A value that can leave this function: nested functions take their variables along."""
        if isinstance(value, TupleValue):
            return TupleValue(tuple(self.closed(v, loc) for v in value.items), value.names)
        if isinstance(value, FunctionValue):
            return FunctionValue(value.definition, tuple(self.environment(value, loc).items()))
        return value

    def function_call(
        self, fn: FunctionValue, args: Sequence[Value], keywords: dict[str, Value], loc: Loc
    ) -> Value:
        """Call of a helper or nested function; literals keep their weakness in it."""
        definition = fn.definition
        if isinstance(definition, Captured):
            callee = CALLEES.get(definition.scope.fn)
            if callee is not None:
                return self.call(Obj(definition.scope.fn, definition.name), args, keywords, loc)
        if isinstance(definition, Captured):
            definition.check_parameters(loc)
        given = {n: self.closed(v, loc) for n, v in definition.bind(args, keywords, loc).items()}
        missing = [n for n in definition.all_parameters if n not in given]
        environment = self.environment(fn, loc)
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
        return self._invoke(definition, function, values, loc)

    def _invoke(
        self, definition: Definition, function: hir.Function, values: dict[str, Value], loc: Loc
    ) -> Value:
        types = tuple((n, as_parameter(type_of(v, loc), n)) for n, v in values.items())
        signature = self.module.helper(definition, function, types, loc)
        flat = [e for n, v in values.items() for _, e in parts(v, n)]
        call = ir.Call(signature.name, tuple(flat), INT64, loc)
        results = signature.results()
        if signature.fails:
            results = (*results, INT64)
        if not results:
            self.out.append(ir.Evaluate(call, loc))
            return Obj(None, "None")
        if len(results) == 1:
            call = ir.Call(signature.name, tuple(flat), results[0].strong, loc)
            if not signature.effects and not signature.fails:
                typed = ir.Call(signature.name, tuple(flat), results[0], loc)
                return self._result(signature.result, [typed])
        names = [self.temporary(t) for t in results]
        if len(names) == 1:
            self.out.append(ir.Assign(names[0], call, loc))
        else:
            self.out.append(ir.Unpack(tuple(names), call, loc))
        found: list[ir.Expr] = [ir.Var(n, t, loc) for n, t in zip(names, results, strict=True)]
        if signature.fails:
            if not self.fails:  # what was returned before lacks the number of the assertion
                self.fails = self.changed = True
            code = found.pop()
            failed = ir.Op("ne", (code, ir.Const(0, INT64, loc)), BOOL, loc)
            self.out.append(ir.If(failed, tuple(self.failure(code, loc)), loc=loc))
        return self._result(signature.result, found)

    def _result(self, type: Type | None, values: list[ir.Expr]) -> Value:
        if type is None:
            return Obj(None, "None")
        if isinstance(type, TupleTy):
            return TupleValue(tuple(self._result(t, values) for t in type.items), type.names)
        return values.pop(0)

    def layout_call(self, layout: str, args: tuple[ir.Expr, ...], loc: Loc) -> Value:
        found = layout_of(layout)
        assert found is not None
        return self.function_call(
            FunctionValue(self.module.layout(layout, found), ()), args, {}, loc
        )

    def failure(self, code: ir.Expr, loc: Loc) -> list[ir.Stmt]:
        """Statements that report a failed assertion and leave the function."""
        raise NotImplementedError

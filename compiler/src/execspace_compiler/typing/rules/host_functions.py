"""Calls of host functions, which only spaces of the host can run."""

from __future__ import annotations

from collections.abc import Sequence

from execspace.kernels.host_functions import HostFunction

from ... import ir
from ...ir.diagnostics import counted, type_fault
from ...ir.types import INT64, Scalar
from ..context import Call, Context
from ..value_queries import scalar
from ..values import Obj, Value


def host_call(cx: Context, call: Call, target: HostFunction, args: Sequence[Value]) -> Value:
    """A call of code that is not in the module; it may have side effects."""
    loc = call.loc
    if cx.module.resolver is None:
        raise type_fault(
            loc,
            f"'{call.name}' is a function of the host, which this space cannot call",
            "write it as a plain Python function, which is compiled for every space, or run the "
            "kernel on a host space",
        )
    values = [scalar(a, loc) for a in args]
    for value in values:
        if value.type.kind == "c":
            raise type_fault(
                loc, f"'{call.name}' is given {value.type}", "host functions take real numbers"
            )
    types = tuple(v.type.name for v in values)
    try:
        f = cx.module.external(target, call.name, types)
    except TypeError as error:
        named = ", ".join(types) or "no arguments"
        raise type_fault(
            loc,
            f"'{call.name}' cannot be called with {named}: {error}",
            "set argtypes and restype of a function of C; for Numba's convert the arguments",
        ) from None
    if len(values) != len(f.parameters):
        raise type_fault(
            loc,
            f"'{call.name}' takes {counted(len(f.parameters), 'argument')}, got {len(values)}",
            "give it one number for each",
        )
    given = []
    for value, p in zip(values, f.parameters, strict=True):
        assert isinstance(p.type, Scalar)
        if value.type.kind == "f" and p.type.kind != "f":
            raise type_fault(
                loc,
                f"'{call.name}' takes {p.type}, got {value.type}",
                f"convert it: es.{p.type}(...)",
            )
        given.append(cx.coerce(value, p.type))
    if f.result is None:
        cx.out.append(ir.Evaluate(ir.Call(f.name, tuple(given), INT64, loc), loc))
        return Obj(None, "None")
    assert isinstance(f.result, Scalar)
    name = cx.temporary(f.result)
    cx.out.append(ir.Assign(name, ir.Call(f.name, tuple(given), f.result, loc), loc))
    return ir.Var(name, f.result, loc)

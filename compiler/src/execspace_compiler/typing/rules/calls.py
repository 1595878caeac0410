"""Rules of calls: lookup of the callee's rule, casts, named tuples, methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from execspace import Record, Reducer, SimdType
from execspace.base.storage_types import format_of, storage_dtype
from execspace.base.subclasses import fields_of, own_making, own_operator
from execspace.contract.argtypes import SCALAR_TYPES
from execspace.contract.dtypes import NAMES
from execspace.kernels.host_functions import HostFunction

from ... import ir
from ...frontend import hir
from ...ir.diagnostics import Fault, Loc, counted, type_fault
from ...ir.ops import CALLEES, Callee
from ...ir.types import BOOL, FLOAT32, PY_INT, Scalar
from ..context import CALLED, CALLS, EXPRESSIONS, METHODS, Call, Context, load_rules
from ..value_queries import extents, scalar
from ..value_types import describe
from ..values import Chosen, Method, Obj, StructValue, TupleValue, Value
from .host_functions import host_call
from .library import library_call
from .operators import truth
from .records import own_class
from .refused import own_code, refused
from .storage import narrowed, widened

# Module that defines functions which kernels call -> modules with rules of them.
_HOMES = {
    "builtins": ("tuples",),
    "execspace.kernels.atomic_records": ("whole_records",),
    "execspace.kernels.atomic_steps": ("atomic_steps",),
    "execspace.kernels.atomics": ("atomic_functions",),
    "execspace.kernels.bits": ("bits",),
    "execspace.kernels.language": ("local_arrays", "printf"),
    "execspace.kernels.refusals": ("refusals",),
    "execspace.kernels.simd": ("simd",),
    "execspace.launch.local_copies": ("local_copies",),
    "execspace.launch.nested": ("teams",),
    "execspace.launch.parallel": ("team_reductions",),
    "execspace.launch.parallel_reduce": ("team_reductions",),
    "execspace.views.interop": ("views",),
}


@EXPRESSIONS.of(hir.Call)
def _call(cx: Context, e: hir.Call) -> Value:
    values = cx.operands((e.function, *e.args, *(v for _, v in e.keywords)))
    args = values[1 : 1 + len(e.args)]
    rest = values[1 + len(e.args) :]
    keywords = {k: v for (k, _), v in zip(e.keywords, rest, strict=True)}
    return cx.call(values[0], args, keywords, e.loc)


@CALLED.of(Obj)
def _object(cx: Context, call: Call) -> Value:
    """A call of a function or class: by its own rule, by its kind of class, or by CALLEES."""
    target = call.target
    if any(isinstance(a, Chosen) for a in call.args):
        from .chosen import called_with  # loaded by kernels that have such

        found = called_with(cx, call)
        if found is not None:
            return found
    home = getattr(target, "__module__", None)
    for module in _HOMES.get(home, ()) if isinstance(home, str) else ():
        load_rules(module)
    if home in ("builtins", "_operator") and any(own_class(a) is not None for a in call.args):
        from .operator_calls import operator_call  # loaded by kernels that have such records

        found = operator_call(cx, call)
        if found is not None:
            return found
    try:
        rule, callee = CALLS.find(target), CALLEES.get(target)
    except TypeError:  # unhashable
        rule, callee = None, None
    if rule is not None:
        return rule(cx, call)
    if isinstance(target, type) and issubclass(target, Reducer):
        from .team_reductions import made_reducer  # loaded by kernels that make any

        return Obj(made_reducer(cx, target, call.args, call.keywords, call.loc), call.name)
    if isinstance(target, type) and issubclass(target, Record):
        from .own_records import made  # loaded by kernels that have such

        return made(cx, target, call.args, call.keywords, call.loc)
    if _is_named_tuple(target):
        name = own_making(target) or own_operator(target)
        if name is not None:
            raise own_code(call.name, target, name, call.loc)
        return _named_tuple(target, call.args, call.keywords, call.loc)
    if isinstance(target, SimdType):
        from .simd import made as vector_made  # loaded by kernels that have such

        return vector_made(cx, target, call)
    args = call.positional()
    if isinstance(target, HostFunction):
        return host_call(cx, call, target, args)
    if _is_word(target, callee, len(args)):
        from .words import word_call  # loaded by kernels that call any

        return word_call(cx, call, args)
    if target in (np.finfo, np.iinfo):
        from .words import type_facts

        return type_facts(cx, call, args)
    if callee is not None:
        return library_call(cx, callee, call.name, args, call.loc)
    if isinstance(target, type) and issubclass(target, np.generic):
        name = target.__name__.rstrip("_")
        if name not in NAMES:  # np.longlong and the like have another name
            name = next((t.dtype for k, t in SCALAR_TYPES.items() if k is target), "")
        if name:
            return cast(cx, Scalar(name), call.name, args, call.loc)
        if target.__module__ == "ml_dtypes":
            target = np.dtype(target)
    if isinstance(target, np.dtype) and (form := format_of(target)) is not None:
        return _rounded(cx, form.name, call.name, args, call.loc)
    if isinstance(target, np.dtype) and target.name in NAMES:
        return cast(cx, Scalar(target.name), call.name, args, call.loc)
    raise refused(call)


def _is_word(target: Any, callee: Callee | None, count: int) -> bool:
    """Whether a function is one that is written as kernels are."""
    if isinstance(target, type) or (callee is not None and count in callee.arity):
        return False
    from .words import is_word

    try:
        return is_word(target, count)
    except TypeError:  # unhashable
        return False


def _is_named_tuple(target: Any) -> bool:
    return isinstance(target, type) and issubclass(target, tuple) and hasattr(target, "_fields")


def _named_tuple(
    target: Any, args: Sequence[Value], keywords: Mapping[str, Value], loc: Loc
) -> TupleValue:
    """A NamedTuple: a tuple whose items have names; defaults are not supported."""
    fields = fields_of(target)
    given = {**dict(zip(fields, args, strict=False)), **keywords}
    if len(args) + len(keywords) != len(fields) or set(given) != set(fields):
        got = counted(len(args) + len(keywords), "value")
        message = f"{target.__name__} has {counted(len(fields), 'field')}, got {got}"
        raise type_fault(loc, message, f"give each of {', '.join(fields)} one value")
    return TupleValue(tuple(given[f] for f in fields), fields)


def cast(cx: Context, type: Scalar, path: str, args: Sequence[Value], loc: Loc) -> Value:
    """`es.float32(x)`."""
    if len(args) != 1:
        raise _one_argument(path, args, loc)
    e = scalar(args[0], loc)
    if e.type.kind == "c" and type.kind not in "cb":
        raise type_fault(loc, f"cannot cast {e.type} to {type}", "take its .real or abs()")
    if type == BOOL:
        return truth(cx, e, loc)
    if e.type.weak and e.type.strong == type and not isinstance(e, ir.Const):
        return ir.Op("cast", (e,), type, loc)  # the same number, but no longer weak
    value: Value = cx.coerce(e, type)
    return value


def _one_argument(path: str, args: Sequence[Value], loc: Loc) -> Fault:
    message = f"{path} takes 1 argument, got {len(args)}"
    return type_fault(loc, message, "cast one number at a time")


def _rounded(cx: Context, storage: str, path: str, args: Sequence[Value], loc: Loc) -> Value:
    """`es.bfloat16(x)`: the float32 that is read where x is stored."""
    if len(args) != 1:
        raise _one_argument(path, args, loc)
    e = scalar(args[0], loc)
    if e.type.kind == "c":
        raise type_fault(loc, f"cannot cast {e.type} to {storage}", "take its .real or abs()")
    bits = narrowed(cx, e, storage, loc)
    if isinstance(bits, ir.Const):
        number = np.array(bits.value, bits.type.name).view(storage_dtype(storage))
        return ir.Const(np.float32(number[()]), FLOAT32, loc)
    return widened(cx, bits, storage, loc)


# -- methods ------------------------------------------------------------------------------------


@CALLED.of(Method)
def _method(cx: Context, call: Call) -> Value:
    if isinstance(call.owner, StructValue):
        from .objects import method_call as of_object  # loaded by kernels that get such

        return of_object(cx, call)
    own = own_class(call.owner) or (call.owner.value if isinstance(call.owner, Obj) else None)
    if own is not None and not isinstance(own, SimdType):
        from .own_records import method_call  # loaded by kernels that have such

        return method_call(cx, own, call)
    return METHODS[call.name](cx, call)


@METHODS.of("conjugate")
def _conjugate(cx: Context, call: Call) -> Value:
    if call.positional():
        raise type_fault(
            call.loc,
            f"conjugate takes no arguments, got {len(call.args)}",
            "write z.conjugate()",
        )
    return library_call(cx, Callee("conj", "conj", (1,)), "conjugate", [call.owner], call.loc)


@METHODS.of("extent")
def _extent(cx: Context, call: Call) -> Value:
    return _size(call) or ir.Const(1, PY_INT, call.loc)


@METHODS.of("static_extent")
def _static_extent(cx: Context, call: Call) -> Value:
    size = _size(call)
    known = size.value if isinstance(size, ir.Const) else 0
    return ir.Const(known, PY_INT, call.loc)  # conditions on it are decided now


def _size(call: Call) -> ir.Expr | None:
    """The extent of a dimension that is asked for; None beyond the rank."""
    args, loc = call.positional(), call.loc
    sizes = extents(call.owner, loc)
    d = args[0] if len(args) == 1 else None
    if not isinstance(d, ir.Const) or not isinstance(d.value, int) or d.value < 0:
        got = describe(args[0]) if len(args) == 1 else counted(len(args), "argument")
        if isinstance(d, ir.Const):
            got = str(d.value)
        name = call.name
        raise type_fault(
            loc,
            f"{name} takes one constant dimension, got {got}",
            f"write {name}(0)"
            if len(sizes) < 2
            else f"write {name}(0) to {name}({len(sizes) - 1}), or loop over them one by one",
        )
    return sizes[d.value] if d.value < len(sizes) else None

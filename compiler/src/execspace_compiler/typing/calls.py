"""Typing rules of attributes, and of calls of whatever can be called."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

import execspace
from execspace.base.subclasses import fields_of, own_making, own_operator
from execspace.contract.argtypes import SCALAR_TYPES
from execspace.contract.dtypes import NAMES

from .. import ir
from ..ir.diagnostics import Fault, Loc, counted, syntax_fault, type_fault
from ..ir.ops import CALLEES, Callee
from ..ir.types import BOOL, INDEX, PY_INT, Record, Scalar
from .library import LibraryRules, indexable
from .values import (
    FunctionValue,
    Method,
    Obj,
    TeamValue,
    TupleValue,
    Value,
    ViewRef,
    describe,
    is_view,
    scalar,
    shown,
)

_NO_LAUNCH = (
    "kernels cannot launch kernels; write a loop over range, or with a TeamPolicy give a nested "
    "range such as es.TeamThreadRange(team, n)"
)
_INSTEAD: dict[Any, str] = {
    print: "print numbers with es.printf, or store them in a View",
    sum: "add up in a loop over range, or launch parallel_reduce",
    np.sum: "add up in a loop over range, or launch parallel_reduce",
    range: "range stands in a for loop only",
    list: "use es.local for a private array, or a View for data",
    dict: "use es.local for a private array, or a View for data",
    np.zeros: "write es.local(shape, dtype)",
    np.arange: "write range, which stands in a for loop only",
    np.linspace: "compute each number from its index: start + k * step",
    np.empty: "write es.local(shape, dtype)",
    execspace.View: "make it before the launch, or use es.local for a private array",
    execspace.parallel_for: _NO_LAUNCH,
    execspace.parallel_reduce: _NO_LAUNCH,
    execspace.parallel_scan: _NO_LAUNCH,
    isinstance: "the types of arguments are known when a kernel is compiled; write two kernels",
    super: (
        "give the method of the base class a name of its own, as in base_step = Base.step in the "
        "class, and call self.base_step(...)"
    ),
    getattr: "write the attribute's name: x.name",
    slice: "write A[start:stop], or es.subview(A, (start, stop))",
}


def instead_of(target: Any) -> str:
    """What to write instead of a call that kernels do not have."""
    try:
        hint = _INSTEAD.get(target)
    except TypeError:
        hint = None
    if hint is None and isinstance(target, ModuleType):
        hint = "call one of its functions"
    if hint is None and isinstance(target, type):
        hint = "kernels make no objects; cast numbers with es.float64(...) and its like"
    return hint or _by_origin(target)


_RANDOM = ("random", "numpy.random")
_OUTSIDE = ("io", "os", "posix", "nt", "sys", "time", "datetime", "logging", "execspace")


def _by_origin(target: Any) -> str:
    """What to write instead of a function, by where it comes from."""
    owner = getattr(target, "__self__", None)
    module = getattr(target, "__module__", None)
    if not isinstance(module, str):
        module = owner.__name__ if isinstance(owner, ModuleType) else type(owner).__module__
    if module.startswith(_RANDOM):
        return "write es.random_uniform(seed, i), or another random_... of execspace"
    if module.partition(".")[0] in _OUTSIDE or target in (input, eval, exec, compile, open):
        return (
            "call it on the host, before the launch or after it; what it returns can be an argument"
        )
    return "write it as a function of your own, which kernels can call"


def element_of_view(view: Any) -> Any:
    """Type of the elements of a View or a part of one."""
    type: Any = view.base.type if isinstance(view, ViewRef) else view.type
    return type.element


def no_keyword(name: str, keywords: dict[str, Value], loc: Loc) -> Fault:
    """The fault for a keyword argument of what has none."""
    given = next(iter(keywords))
    message = f"'{name}' takes no keyword argument '{given}' in a kernel"
    return syntax_fault(loc, message, "give the arguments by position")


def own_code(path: str, kind: type, name: str, loc: Loc) -> Fault:
    """The fault for a class of tuples or numbers that computes in a way of its own."""
    base = next((c for c in kind.__mro__ if c is tuple or c in SCALAR_TYPES), kind)
    what = (
        base.__name__ if base is tuple or base.__module__ == "numpy" else f"Python {base.__name__}"
    )
    hint = f"pass a plain {what}, and write '{name}' as a function that the kernel calls"
    if name in ("__new__", "__init__"):
        hint = f"write what '{name}' computes as a function that the kernel calls"
    whose = f"each '{path}'" if path.rpartition(".")[2] == kind.__name__ else f"'{path}'"
    message = f"{whose} is a {what} of a class whose own '{name}' kernels do not call"
    return type_fault(loc, message, hint)


def _is_named_tuple(target: Any) -> bool:
    return isinstance(target, type) and issubclass(target, tuple) and hasattr(target, "_fields")


def _named_tuple(
    target: Any, args: Sequence[Value], keywords: dict[str, Value], loc: Loc
) -> TupleValue:
    """A NamedTuple: a tuple whose items have names. Its defaults are not known here."""
    fields = fields_of(target)
    given = dict(zip(fields, args, strict=False)) | keywords
    if len(args) + len(keywords) != len(fields) or set(given) != set(fields):
        got = counted(len(args) + len(keywords), "value")
        message = f"{target.__name__} has {counted(len(fields), 'field')}, got {got}"
        raise type_fault(loc, message, f"give each of {', '.join(fields)} one value")
    return TupleValue(tuple(given[f] for f in fields), fields)


def _zip_keywords(args: Sequence[Value], keywords: dict[str, Value], loc: Loc) -> dict[str, Value]:
    """What is left when `strict` has been looked at: the lengths of tuples are known."""
    strict = keywords.get("strict", ir.Const(False, BOOL, loc))
    if not isinstance(strict, ir.Const):
        what = f"zip takes a constant strict, got {describe(strict)}"
        raise type_fault(loc, what, "write strict=True or strict=False")
    lengths = [len(a.items) for a in args if isinstance(a, TupleValue)]
    if strict.value and len(lengths) == len(args) and len(set(lengths)) > 1:
        got = " and ".join(map(describe, args))
        message = f"zip with strict=True takes tuples of one length, got {got}"
        raise type_fault(loc, message, "give tuples of one length, or leave strict out")
    return {k: v for k, v in keywords.items() if k != "strict"}


class CallRules(LibraryRules):
    """Typing of everything but names and statements; FunctionTyper adds those."""

    final: bool

    def function_call(
        self, fn: FunctionValue, args: Sequence[Value], keywords: dict[str, Value], loc: Loc
    ) -> Value:
        """Call of a helper or nested function."""
        raise NotImplementedError

    def team_attribute(self, team: TeamValue, name: str, loc: Loc) -> Value:
        """`team.league_rank` and its like."""
        raise NotImplementedError

    def team_call(
        self, function: Value, args: Sequence[Value], keywords: dict[str, Value], loc: Loc
    ) -> Value | None:
        """A call of a word of teams; None if it is none."""
        raise NotImplementedError

    def special_call(self, target: Any, args: Sequence[Value], loc: Loc) -> Value | None:
        """Call of a word of execspace itself; None if it is none."""
        raise NotImplementedError

    # -- attributes -------------------------------------------------------------------------

    def attribute(self, base: Value, name: str, loc: Loc) -> Value:
        """`A.shape`, `A.size`, `z.real` and their like."""
        if is_view(base):
            return self._view_attribute(base, name, loc)
        if isinstance(base, TeamValue):
            return self.team_attribute(base, name, loc)
        if isinstance(base, ir.Expr) and isinstance(base.type, Scalar):
            if name in ("real", "imag"):
                return self._part(name, base, loc)
            if name == "conjugate":
                return Method(base, name)
        hint = "numbers have real, imag and conjugate()"
        if isinstance(base, Obj | FunctionValue):
            # Of anything else an attribute may change, and no launch would notice.
            if isinstance(base, Obj) and isinstance(base.value, np.dtype):
                value = getattr(base.value, name, None)
                if isinstance(value, bool | int | float | complex | str | np.generic):
                    return self.constant(value, loc)
            hint = "compute it before the launch"
            if isinstance(base, Obj) and not isinstance(base.value, str | None):
                hint = (
                    f"objects can be neither assigned nor passed on; read {base.path}.{name} itself"
                )
        elif isinstance(base, TupleValue):
            if name in base.names:
                return base.items[base.names.index(name)]
            hint = "tuples have items and a len(...)"
            if base.names:
                hint = f"its fields are {', '.join(base.names)}"
        raise type_fault(loc, f"{describe(base)} has no attribute '{name}' in a kernel", hint)

    def _view_attribute(self, base: Any, name: str, loc: Loc) -> Value:
        extents = self.extents(base, loc)
        if name == "shape":
            return TupleValue(extents)
        if name in ("rank", "ndim"):
            return ir.Const(len(extents), PY_INT, loc)
        if name == "size":
            size: Value = extents[0] if extents else ir.Const(1, INDEX, loc)
            for e in extents[1:]:
                size = self.binary("mul", size, e, loc)
            return size
        if name == "extent":
            return Method(base, name)
        if name == "dtype":
            element = element_of_view(base)
            if isinstance(element, Scalar):
                return Obj(np.dtype(element.name), f"{element}")
        hint = "kernels know shape, size, rank, dtype and extent(d)"
        if name == "dtype":
            hint = "use the name of the structured dtype itself"
        elif isinstance(element_of_view(base), Record):
            hint = f"index it first: {shown(base)}[{', '.join('ijklmnpq'[: len(extents)])}].{name}"
        raise type_fault(loc, f"{describe(base)} has no attribute '{name}' in a kernel", hint)

    # -- calls ------------------------------------------------------------------------------

    def call(
        self, function: Value, args: Sequence[Value], keywords: dict[str, Value], loc: Loc
    ) -> Value:
        """A call of anything that kernels can call."""
        team = self.team_call(function, args, keywords, loc)
        if team is not None:
            return team
        if isinstance(function, FunctionValue):
            return self.function_call(function, args, keywords, loc)
        if isinstance(function, Method):
            if keywords:
                raise no_keyword(function.name, keywords, loc)
            return self._method(function, args, loc)
        if not isinstance(function, Obj):
            hint = "index it with square brackets" if indexable(function) else ""
            raise type_fault(
                loc, f"{describe(function)} cannot be called", hint or "write * for a product"
            )
        target = function.value
        if _is_named_tuple(target):
            name = own_making(target) or own_operator(target)
            if name is not None:
                raise own_code(function.path, target, name, loc)
            return _named_tuple(target, args, keywords, loc)
        if target is zip:
            keywords = _zip_keywords(args, keywords, loc)
        if target is execspace.local:
            args = [*args, *(v for k, v in keywords.items() if k == "dtype")]
            keywords = {k: v for k, v in keywords.items() if k != "dtype"}
        if keywords:
            raise no_keyword(function.path, keywords, loc)
        special = self.special_call(target, args, loc)
        if special is not None:
            return special
        try:
            callee = CALLEES.get(target)
        except TypeError:
            callee = None
        if callee is not None:
            return self._known(callee, function.path, args, loc)
        if isinstance(target, type) and issubclass(target, np.generic):
            name = target.__name__.rstrip("_")
            if name not in NAMES:  # np.longlong and its like have another name
                name = next((t.dtype for k, t in SCALAR_TYPES.items() if k is target), "")
            if name:
                return self._cast(Scalar(name), function.path, args, loc)
        if isinstance(target, np.dtype) and target.name in NAMES:
            return self._cast(Scalar(target.name), function.path, args, loc)
        raise syntax_fault(
            loc, f"'{function.path}' cannot be called in a kernel", instead_of(target)
        )

    def _method(self, method: Method, args: Sequence[Value], loc: Loc) -> Value:
        if method.name == "conjugate" and not args:
            return self._known(Callee("conj", "conj", (1,)), "conjugate", [method.owner], loc)
        if method.name == "conjugate":
            raise type_fault(
                loc, f"conjugate takes no arguments, got {len(args)}", "write z.conjugate()"
            )
        extents = self.extents(method.owner, loc)
        d = args[0] if len(args) == 1 else None
        if not isinstance(d, ir.Const) or not isinstance(d.value, int) or d.value < 0:
            got = describe(args[0]) if len(args) == 1 else counted(len(args), "argument")
            if isinstance(d, ir.Const):
                got = str(d.value)
            raise type_fault(
                loc,
                f"extent takes one constant dimension, got {got}",
                "write extent(0)"
                if len(extents) < 2
                else f"write extent(0) to extent({len(extents) - 1}), or loop over them one by one",
            )
        return extents[d.value] if d.value < len(extents) else ir.Const(1, PY_INT, loc)

    def _cast(self, type: Scalar, path: str, args: Sequence[Value], loc: Loc) -> Value:
        if len(args) != 1:
            raise type_fault(
                loc, f"{path} takes 1 argument, got {len(args)}", "cast one number at a time"
            )
        e = scalar(args[0], loc)
        if e.type.kind == "c" and type.kind not in "cb":
            raise type_fault(loc, f"cannot cast {e.type} to {type}", "take its .real or abs()")
        if type == BOOL:
            return self.truth(e, loc)
        if e.type.weak and e.type.strong == type and not isinstance(e, ir.Const):
            return ir.Op("cast", (e,), type, loc)  # the same number, but no longer weak
        value: Value = self.coerce(e, type)
        return value

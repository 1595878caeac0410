"""Functions that kernels cannot call, and what to write instead."""

from __future__ import annotations

from types import BuiltinFunctionType, ModuleType
from typing import Any

import numpy as np

import execspace
from execspace.contract.argtypes import SCALAR_TYPES

from ...ir.diagnostics import Fault, Loc, syntax_fault, type_fault
from ..context import Call

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


def _instead_of(target: Any) -> str:
    """What to write instead of an unsupported call."""
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


def refused(call: Call) -> Fault:
    """The fault for an unsupported call."""
    call.positional()
    name = f"'{call.name}'"
    if isinstance(call.target, BuiltinFunctionType | np.ufunc):  # perhaps by another name
        own = call.target.__name__
        if own != call.name.rpartition(".")[2]:
            name = f"{name}, which is the function '{own}',"
    message = f"{name} cannot be called in a kernel"
    return syntax_fault(call.loc, message, _instead_of(call.target))


def own_code(path: str, kind: type, name: str, loc: Loc) -> Fault:
    """The fault for a class of tuples or numbers that overrides a method."""
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

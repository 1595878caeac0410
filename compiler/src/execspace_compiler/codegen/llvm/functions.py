"""Calls of the C library's mathematical functions, by name, and in vector versions if they help."""

from __future__ import annotations

from ...ir.types import Scalar
from .emitter import Emitter
from .spelling import type_of

# Operation -> function for doubles; that for floats ends in f.
_NAMES = {"gamma": "tgamma"}
_KNOWN = frozenset((
    "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin",
    "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "gamma",
    "lgamma", "atan2", "hypot", "pow",
))  # fmt: skip

# They neither read nor write memory that programs see, so calls may be hoisted and dropped.
_PURE = "memory(none) nounwind willreturn nosync nofree"


def call_library(e: Emitter, name: str, args: list[str], t: Scalar) -> str:
    """Call the function of the C library for an operation on floats."""
    if name not in _KNOWN:
        raise AssertionError(f"operation {name} has no function in the C library")
    kind = type_of(t)
    function = _NAMES.get(name, name) + ("f" if t.bits == 32 else "")
    symbol = e.module.declare(function, kind, ", ".join([kind] * len(args)), _PURE)
    given = ", ".join(f"{kind} {a}" for a in args)
    return e.op(f"call {e.flags}{kind} {symbol}({given})")

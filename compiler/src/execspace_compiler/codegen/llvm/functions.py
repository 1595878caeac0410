"""Calls of the C library's mathematical functions, with vector versions where they serve.

exp and log of doubles and log of floats are code of our own (inline_functions.py). With fastmath,
loops take any vector version of the others; what is left of a loop and other code take libm's
function. Otherwise they take only versions within the errors that docs/semantics.md allows, and so
that a result depends on the argument alone (uniform_calls.py).
"""

from __future__ import annotations

from ...ir.types import Scalar, Vector
from .emitter import Emitter
from .inline_functions import fma, inline_function
from .spelling import type_of
from .uniform_calls import any_accuracy, uniform
from .vector_functions import ATTRIBUTES, declaration, vector_function
from .vector_math import VectorMath
from .vectors import each_lane, joined, part

# Operation -> function for doubles; that for floats ends in f.
_NAMES = {"gamma": "tgamma"}
_KNOWN = frozenset((
    "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin",
    "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "gamma",
    "lgamma", "atan2", "hypot", "pow",
))  # fmt: skip


def call_library(e: Emitter, name: str, args: list[str], t: Scalar) -> str:
    """Call the function of the C library for an operation on floats."""
    if name not in _KNOWN:
        raise AssertionError(f"operation {name} has no function in the C library")
    if isinstance(t, Vector):
        return _of_vector(e, name, args, t)
    kind = type_of(t)
    function = _NAMES.get(name, name) + ("f" if t.bits == 32 else "")
    given = ", ".join(f"{kind} {a}" for a in args)
    inlined = _inlined(e, name, args, t, 1)
    if inlined is not None:
        return inlined
    mappings: tuple[str, ...] = ()
    target = e.module.targeted
    versions = any_accuracy if e.flags.startswith("fast") else uniform
    found = versions(name, t.name, target.features, target.libraries)
    if found is not None:
        function, mappings = found.called, found.mappings
        if found not in e.module.linked:
            e.module.linked.append(found)
    symbol = e.module.declare(function, kind, ", ".join([kind] * len(args)), ATTRIBUTES)
    group = ""
    if mappings:
        for mapping in mappings:
            vector = vector_function(mapping)[0]
            e.module.globals[vector] = declaration(mapping, t.name)
            e.module.kept[vector] = None
        text = f'"vector-function-abi-variant"="{",".join(mappings)}"'
        group = f" {e.module.group(text)}"
    return e.op(f"call {e.flags}{kind} {symbol}({given}){group}")


def has_vectors(name: str, kind: str, target: VectorMath, fast: bool = False) -> bool:
    """Whether a function of vectors is more than calls for one lane after another."""
    if inline_function(name, kind, target.features, 2) is not None:
        return True
    versions = any_accuracy if fast else uniform
    found = versions(name, kind, target.features, target.libraries)
    return found is not None and bool(found.mappings)


def _inlined(e: Emitter, name: str, args: list[str], t: Scalar, lanes: int) -> str | None:
    """The call of a function that is code of our own; None for others."""
    found = inline_function(name, t.name, e.module.targeted.features, lanes)
    if found is None:
        return None
    function, text = found
    step, kind = fma(t.name, lanes)
    e.module.declare(step, kind, ", ".join([kind] * 3))
    e.module.functions[function] = text.rstrip()
    return e.op(f"call {kind} @{function}({kind} {args[0]})")


def _of_vector(e: Emitter, name: str, args: list[str], t: Vector) -> str:
    """The function of a vector: the one that a loop of numbers would call, or lane by lane."""
    inlined = _inlined(e, name, args, t, t.lanes) if t.lanes > 1 else None
    if inlined is not None:
        return inlined
    target = e.module.targeted
    versions = any_accuracy if e.flags.startswith("fast") else uniform
    found = versions(name, t.name, target.features, target.libraries)
    if found is None:
        return each_lane(e, args, t, t, lambda row: call_library(e, name, row, t.lane))
    named = {vector_function(m)[1]: m for m in found.mappings}
    if t.lanes > max(named, default=0):
        half = Vector(t.name, lanes=t.lanes // 2)
        if not named or half.lanes < min(named):
            return each_lane(e, args, t, t, lambda row: call_library(e, name, row, t.lane))
        a, b = (
            _of_vector(e, name, [part(e, v, t, first, half.lanes) for v in args], half)
            for first in (0, half.lanes)
        )
        return joined(e, a, b, half)
    if t.lanes not in named:
        return each_lane(e, args, t, t, lambda row: call_library(e, name, row, t.lane))
    if found not in e.module.linked:
        e.module.linked.append(found)
    mapping, kind = named[t.lanes], type_of(t)
    function = vector_function(mapping)[0]
    e.module.globals[function] = declaration(mapping, t.name)
    e.module.kept[function] = None
    given = ", ".join(f"{kind} {a}" for a in args)
    return e.op(f"call {e.flags}{kind} @{function}({given})")

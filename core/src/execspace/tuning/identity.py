"""What a tuned choice belongs to: a kernel, types of its arguments, a class of shapes, a device."""

from __future__ import annotations

import hashlib
import re
from enum import Enum
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np

from ..base.brief import brief
from ..contract.launch_spec import LaunchSpec, PolicySpec
from ..contract.space import ExecutionSpace
from ..kernels.captures import scope_of
from ..kernels.code_names import code_text
from ..kernels.kernel import Kernel
from ..plugins import registry as plugins
from ..plugins.probing import processor
from ..views.view import View
from .choices import extents_of

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def kernel_key(kernel: Kernel, spec: LaunchSpec) -> str:
    """A digest of the kernel's code, its options, the types of its arguments and its policy.

    Captured floats are left out: a step of time that changes does not make another kernel.
    """
    parts = [
        f"{kernel.fn.__module__}.{kernel.fn.__qualname__} fma={kernel.fma} fast={kernel.fastmath}",
        spec.pattern, repr(spec.policy), *map(str, spec.arguments), _reducers(spec.reducer),
        *map(str, spec.out), code_text(kernel.fn.__code__),
        *(f"{c.name}={_constant(c.value, c.tag)}" for c in spec.captures if c.argument is None),
    ]  # fmt: skip
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:24]


def _reducers(reducer: Any) -> str:
    """Reducers by what they are: two objects of one class are the same."""
    if isinstance(reducer, tuple):
        return " ".join(map(_reducers, reducer))
    kind = type(reducer)
    functions = (getattr(kind, name, None) for name in ("join", "final"))
    codes = [code_text(f.__code__) for f in functions if isinstance(f, FunctionType)]
    return f"{kind.__module__} {_ADDRESS.sub('', brief(reducer))} {codes}"


def _constant(value: Any, tag: object) -> str:
    scope = scope_of(value)
    if scope is not None:
        return code_text(scope.fn.__code__)
    if isinstance(value, float | complex | np.inexact):
        return type(value).__name__
    if isinstance(value, tuple):
        return f"({', '.join(_constant(v, tag) for v in value)})"
    if isinstance(value, int | str | np.generic | np.dtype | type | Enum):
        return repr(value)
    return repr(type(value))


def shape_class(extents: tuple[int, ...]) -> str:
    """Extents rounded up to powers of two: ranges of about the same shape share a choice."""
    return "x".join(str(0 if n < 1 else 1 << (n - 1).bit_length()) for n in extents)


def shapes_of(spec: PolicySpec, bounds: tuple[int, ...], arguments: tuple[Any, ...]) -> str:
    """The class of shapes of a launch; of teams with that of all Views, which tell what to do."""
    shapes = shape_class(extents_of(spec, bounds))
    if spec.kind == "team":
        views = (shape_class(a.shape) for a in arguments if isinstance(a, View))
        shapes = " ".join([shapes, *views])
    return shapes


@cache
def device_name(space: ExecutionSpace) -> str:
    """The device of a space in words, with the number of its threads where it is a host."""
    base = space.name.partition(":")[0]
    found = getattr(space, "description", "")
    if not isinstance(found, str) or not found:
        entry = plugins.loaded(base).spaces.get(base)
        found = "" if entry is None else plugins.probe(entry).device
    if found in ("", "host"):
        found = f"{processor()}, {space.concurrency} threads"
    return f"{base} on {found}"

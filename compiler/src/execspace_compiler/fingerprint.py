"""A fingerprint of a launch that needs no lowering: what lets a later process skip the front end.

It covers the bytecode of the kernel and all that its outer names stand for. Where a name stands
for something whose meaning cannot be written down (a helper function, an object), there is no
fingerprint and the kernel is lowered as usual.
"""

from __future__ import annotations

import inspect
from types import BuiltinFunctionType, FunctionType, ModuleType

import numpy as np

from execspace import Kernel, LaunchSpec, ViewType
from execspace.argtypes import SCALAR_TYPES
from execspace.captures import code_text, constant_tag, follow, loaded_names
from execspace.layout import layout_of


def fingerprint(kernel: Kernel, spec: LaunchSpec) -> str | None:
    """Text that is equal only for launches that lower to the same IR, or None."""
    mapped = any(isinstance(a, ViewType) and layout_of(a.layout) for a in spec.arguments)
    if spec.bound or mapped:
        return None
    hidden = {c.name for c in spec.captures if c.argument is not None}
    outer = []
    for path in sorted(set(loaded_names(kernel.fn.__code__))):
        carried = any(".".join(path[:n]) in hidden for n in range(1, len(path) + 1))
        meaning = "view" if carried else _meaning(kernel.fn, path)
        if meaning is None:
            return None
        outer.append(f"{'.'.join(path)}={meaning}")
    options = (
        f"fma={kernel.fma} fastmath={kernel.fastmath} name={kernel.name} debug={__debug__} "
        f"file={kernel.fn.__code__.co_filename}:{kernel.fn.__code__.co_firstlineno}"
    )
    return "\n".join([options, _spec(spec), code_text(kernel.fn.__code__), *outer])


def _spec(spec: LaunchSpec) -> str:
    policy = spec.policy
    captures = [f"{c.name}:{c.argument}" for c in spec.captures]
    return (
        f"{spec.pattern} {policy.kind} {policy.rank} {policy.iterate} {policy.tiled} "
        f"{policy.nonnegative} {spec.arguments} {captures} {spec.reducer!r} {spec.out}"
    )


def _meaning(fn: FunctionType, path: tuple[str, ...]) -> str | None:
    depth, value = follow(fn, path)
    while isinstance(value, ModuleType) and depth < len(path):
        value = getattr(value, path[depth], None)
        depth += 1
    if type(value) in SCALAR_TYPES or isinstance(value, str):
        return repr(constant_tag(value))
    if isinstance(value, BuiltinFunctionType | np.ufunc | type):
        module = getattr(value, "__module__", None) or "numpy"
        return f"{module}.{getattr(value, '__qualname__', value.__name__)}"
    if inspect.isfunction(value) and (value.__module__ or "").startswith("numpy"):
        return f"{value.__module__}.{value.__qualname__}"
    return None

"""A fingerprint of a launch without lowering, which lets later processes skip the front end.

It covers the source and the bytecode of the kernel and the values of its outer names, each
described completely or not at all: if one cannot be described (a helper, an object, a class or a
reducer of the user's), there is no fingerprint, and the kernel is lowered as usual. Code and
versions of the compilers are part of every key: see disk.py.
"""

from __future__ import annotations

import linecache
import sys
from operator import attrgetter
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from execspace import Kernel, LaunchSpec, Reducer, SimdType, ViewType
from execspace.base.config import checks
from execspace.contract.argtypes import SCALAR_TYPES
from execspace.contract.dtypes import dtype_of, record_class
from execspace.contract.layout import layout_of
from execspace.kernels.captures import constant_tag, follow
from execspace.kernels.code_names import code_text, loaded_names
from execspace.kernels.marks import is_marked
from execspace.launch.structs import StructType


class _Indescribable(Exception):
    """A value that cannot be described by all that lowering may depend on."""


def fingerprint(kernel: Kernel, spec: LaunchSpec) -> str | None:
    """A string that is equal only for launches that lower to the same IR, or None."""
    if kernel.parts:
        return None
    try:
        return "\n".join([*_kernel(kernel), *_spec(spec), *_names(kernel.fn, spec)])
    except _Indescribable:
        return None


def _kernel(kernel: Kernel) -> list[str]:
    """Its options, its code, and its source, of which the code does not keep everything."""
    code = kernel.fn.__code__
    options = (
        f"fma={kernel.fma} fastmath={kernel.fastmath} name={kernel.name} debug={__debug__} "
        f"file={code.co_filename}:{code.co_firstlineno} bounds={'bounds' in checks()}"
    )
    text = kernel.source
    if text is None:
        lines = linecache.getlines(code.co_filename, kernel.fn.__globals__)
        text = "".join(lines[code.co_firstlineno - 1 : _last_line(code)])
    if not text:
        raise _Indescribable
    return [options, code_text(code), code.co_linetable.hex(), repr(text)]


def _last_line(code: CodeType) -> int:
    found = max((line for _, _, line in code.co_lines() if line is not None), default=0)
    inner = (_last_line(c) for c in code.co_consts if isinstance(c, CodeType))
    return max(found, *inner, 0)


def _spec(spec: LaunchSpec) -> list[str]:
    # Users' own layouts and operators of records are functions; bound names are of any kind.
    views = [a for a in spec.arguments if isinstance(a, ViewType)]
    own = any(layout_of(a.layout) or record_class(dtype_of(a.dtype)) for a in views)
    if own or spec.bound or any(s is not None and _has_code(s) for s in spec.structs):
        raise _Indescribable
    return [
        spec.pattern,
        repr(sorted(vars(spec.policy).items())),
        repr(spec.arguments),
        repr([(c.name, c.argument) for c in spec.captures]),
        repr(spec.out),
        repr(spec.structs),
        described_reducer(spec.reducer),
    ]


def _has_code(struct: StructType) -> bool:
    """Whether kernels may use what classes of a struct define, whose code is not described."""
    own = (n for n in dir(struct.cls) if not n.startswith("__") and n not in struct.names)
    if not struct.is_tuple and any(own):
        return True
    return any(_has_code(item) for item in struct.items if isinstance(item, StructType))


def _names(fn: FunctionType, spec: LaunchSpec) -> list[str]:
    """The value of each outer name."""
    hidden = {c.name for c in spec.captures if c.argument is not None}
    found = []
    for path in sorted(set(loaded_names(fn.__code__))):
        carried = any(".".join(path[:n]) in hidden for n in range(1, len(path) + 1))
        found.append(f"{'.'.join(path)}={'view' if carried else described(_value(fn, path))}")
    return found


def _value(fn: FunctionType, path: tuple[str, ...]) -> Any:
    depth, value = follow(fn, path)
    while isinstance(value, ModuleType) and depth < len(path):
        value = getattr(value, path[depth], None)
        depth += 1
    return value


def described(value: Any) -> str:
    """A string that is equal only for values that lower alike; the one rule for all values.

    Raises
    ------
    _Indescribable
    """
    if value is None or type(value) in SCALAR_TYPES or type(value) in (str, SimdType):
        return repr(constant_tag(value))
    if type(value) is tuple:
        return f"({', '.join(map(described, value))})"
    return _library_name(value)


# Libraries whose objects compilers know by identity.
_LIBRARIES = ("math", "cmath", "numpy", "execspace", "builtins", "operator")


def _library_name(value: Any) -> str:
    """The unique qualified name of an object of a library."""
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    module = getattr(value, "__module__", None) or ("numpy" if type(value) is np.ufunc else None)
    if not isinstance(name, str) or not isinstance(module, str):
        raise _Indescribable
    own = isinstance(value, FunctionType) and is_marked(value)  # what it captures counts, too
    if own or module.partition(".")[0] not in _LIBRARIES:
        raise _Indescribable
    try:
        found = attrgetter(name)(sys.modules[module])
    except (KeyError, AttributeError):
        raise _Indescribable from None
    if found is not value:
        raise _Indescribable
    return f"{module}:{name}"


def described_reducer(reducer: Reducer | tuple[Reducer, ...] | None) -> str:
    """As `described`, for reducers; users' own reducers are functions and classes."""
    if reducer is None:
        return "no reducer"
    if isinstance(reducer, tuple):
        return f"({', '.join(map(described_reducer, reducer))})"
    kind = _library_name(type(reducer))
    held = ", ".join(f"{n}={described(v)}" for n, v in sorted(vars(reducer).items()))
    return f"{kind}({held})"
